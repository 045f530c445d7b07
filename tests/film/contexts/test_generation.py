"""Scores of all sentences in all contexts against one at a time, and the unigram model."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.contexts.generation import (  # noqa: E402
    encode_contexts,
    generation_terms,
    unigram_log_likelihood,
)
from film.contexts.generators import CENTRE, LEFT, RIGHT, Generator  # noqa: E402
from film.contexts.seq2seq import Size  # noqa: E402

MINI = Size(width=8, heads=2, encoder_layers=1, decoder_layers=2, inner=12)


def made(n=3):
    found = []
    for seed in range(n):
        torch.manual_seed(seed)
        model = Generator(11, MINI, max_length=9).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        found.append(model)
    return found


def sentences(n, seed, longest=7):
    rng = np.random.default_rng(seed)
    return rng.integers(3, 11, (n, longest)).astype(np.int32), rng.integers(0, longest + 1, n)


@torch.no_grad()
def looped(generators, centres, lefts, rights):
    """One sentence in one context by one generator at a time."""
    terms = np.zeros((len(centres[0]), len(lefts[0]), 3))
    for i, j, column in np.ndindex(*terms.shape):
        place = (CENTRE, LEFT, RIGHT)[column]
        given = [
            (ids[row : row + 1, : n[row]], n[row : row + 1])
            for (ids, n), row in ((lefts, j), (centres, i), (rights, j))
        ]
        model = generators[column]
        memories = [model.memory(*given[at], at) for at in range(3) if at != place]
        terms[i, j, column] = model.log_likelihood(memories, model.target(*given[place], place))
    return terms


@pytest.mark.parametrize("tokens_at_once", [1, 20, 2048])
@pytest.mark.parametrize("n_generators", [1, 3])
def test_terms_are_those_of_one_at_a_time(tokens_at_once, n_generators):
    generators = made(n_generators) * (3 // n_generators)
    given = sentences(3, 0), sentences(8, 1), sentences(8, 2, longest=5)
    contexts = encode_contexts(generators, *given[1:], tokens_at_once=tokens_at_once)
    found = generation_terms(generators, given[0], contexts, tokens_at_once=tokens_at_once)
    assert found.dtype == np.float32 and found.shape == (3, 8, 3)
    # Only the result is rounded to single precision.
    np.testing.assert_allclose(found, looped(generators, *given), rtol=1e-6)


def test_some_contexts():
    generators = made()
    contexts = encode_contexts(generators, sentences(8, 1), sentences(8, 2))
    whole = generation_terms(generators, sentences(2, 0), contexts)
    rows = [5, 1, 5]
    found = generation_terms(generators, sentences(2, 0), contexts.take(rows))
    np.testing.assert_allclose(found, whole[:, rows], rtol=1e-6)


def test_a_generator_of_all_places_encodes_once_for_all(monkeypatch):
    model = made(1)[0]
    encoded, memory = [], Generator.memory

    def counted(self, ids, lengths, place):
        encoded.extend([place] * len(ids))
        return memory(self, ids, lengths, place)

    monkeypatch.setattr(Generator, "memory", counted)
    contexts = encode_contexts([model] * 3, sentences(5, 1), sentences(5, 2))
    assert sorted(encoded) == [LEFT] * 5 + [RIGHT] * 5
    generation_terms([model] * 3, sentences(2, 0), contexts)
    assert encoded[10:] == [CENTRE] * 2


def test_nothing_that_is_given_changes():
    generators = made()
    given = [sentences(4, seed) for seed in range(3)]
    kept = [(ids.copy(), n.copy()) for ids, n in given]
    contexts = encode_contexts(generators, *given[1:])
    first = generation_terms(generators, given[0], contexts)
    np.testing.assert_array_equal(generation_terms(generators, given[0], contexts), first)
    for (ids, n), (ids_kept, n_kept) in zip(given, kept, strict=True):
        np.testing.assert_array_equal(ids, ids_kept)
        np.testing.assert_array_equal(n, n_kept)
    assert all(parameter.grad is None for model in generators for parameter in model.parameters())


def test_what_does_not_fit_is_refused():
    generators = made()
    with pytest.raises(ValueError, match="2 entries"):
        encode_contexts(generators[:2], sentences(4, 1), sentences(4, 2))
    with pytest.raises(ValueError, match="4 rows and rights 3"):
        encode_contexts(generators, sentences(4, 1), sentences(3, 2))
    contexts = encode_contexts(generators, sentences(4, 1), sentences(4, 2))
    generators[1].train()
    with pytest.raises(ValueError, match="training mode"):
        generation_terms(generators, sentences(2, 0), contexts)


def test_unigrams_are_those_of_a_loop():
    counts = [4, 0, 3, 2]
    total = sum(counts) + 4
    ids, lengths = [[0, 3, 1], [1, 9, 9], [7, 7, 7]], [3, 1, 0]
    expected = [
        sum(math.log((counts[token] + 1) / total) for token in [*row[:n], 2]) / (n + 1)
        for row, n in zip(ids, lengths, strict=True)
    ]
    np.testing.assert_allclose(unigram_log_likelihood(counts, ids, lengths), expected, rtol=1e-12)

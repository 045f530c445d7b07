"""Scores of all sentences in all contexts against one at a time, and the unigram model."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.contexts.generators import (  # noqa: E402  # noqa: E402
    CENTRE,
    LEFT,
    RIGHT,
    Generator,
    Size,
    encode_contexts,
    generation_terms,
    unigram_log_likelihood,
)

MINI = Size(width=8, heads=2, encoder_layers=1, decoder_layers=2, inner=12)


def made():
    torch.manual_seed(0)
    model = Generator(11, MINI, max_length=9).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def sentences(n, seed, longest=7):
    rng = np.random.default_rng(seed)
    return rng.integers(3, 11, (n, longest)).astype(np.int32), rng.integers(0, longest + 1, n)


@pytest.mark.parametrize("at_once", [3, 64])
@torch.no_grad()
def test_terms_are_those_of_one_sentence_in_one_context(at_once, monkeypatch):
    monkeypatch.setattr("film.contexts.generators.CONTEXTS_AT_ONCE", at_once)
    model = made()
    centres, lefts, rights = sentences(3, 0), sentences(8, 1), sentences(8, 2, longest=5)
    found = generation_terms(model, centres, encode_contexts(model, lefts, rights))
    assert found.dtype == np.float32 and found.shape == (3, 8, 3)
    for i, j, column in np.ndindex(3, 8, 3):
        place = (CENTRE, LEFT, RIGHT)[column]
        given = [
            (ids[row : row + 1, : n[row]], n[row : row + 1])
            for (ids, n), row in ((lefts, j), (centres, i), (rights, j))
        ]
        memories = [model.memory(*given[at], at) for at in range(3) if at != place]
        expected = float(model.log_likelihood(memories, *given[place], place))
        # Only the result is rounded to single precision.
        assert found[i, j, column] == pytest.approx(expected, rel=1e-6)


def test_unigrams_are_those_of_a_loop():
    counts = [4, 0, 3, 2]
    total = sum(counts) + 4
    ids, lengths = [[0, 3, 1], [1, 9, 9], [7, 7, 7]], [3, 1, 0]
    expected = [
        sum(math.log((counts[token] + 1) / total) for token in [*row[:n], 2]) / (n + 1)
        for row, n in zip(ids, lengths, strict=True)
    ]
    np.testing.assert_allclose(unigram_log_likelihood(counts, ids, lengths), expected, rtol=1e-12)

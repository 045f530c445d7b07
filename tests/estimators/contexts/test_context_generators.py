"""Generators of a model of contexts: their terms, their part in choosing contexts, training."""

import copy
import itertools

import numpy as np
import pytest

from estimators import ContextModel
from estimators.contexts.building import MAX_LENGTH
from estimators.contexts.context_model import ContextSpace
from estimators.contexts.network_training import GeneratorTask, token_counts
from film.contexts import CENTRE, END, LEFT, RIGHT, IdTable, encode_texts
from tests.estimators.tiny_documents import tiny_documents

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("tokenizers", reason="needs the extra contexts")
pytest.importorskip("sentencex", reason="needs the extra contexts")

DOCUMENTS = tiny_documents()
TEXTS = ["The cat sees the tree.", "A king follows the ship 5.", ""]
SMALL = {"generator": (16, 2, 1, 2, 32), "generator_epochs": 35, "n_contexts": 6}
SMALL |= {"device": "cpu", "random_state": 0}


@pytest.fixture(scope="module")
def model() -> ContextModel:
    return ContextModel(**SMALL).fit(DOCUMENTS)


def term(model: ContextModel, place: int, texts: list[str]) -> float:
    """Mean log-probability per token of one of three sentences, given the others, alone."""
    network = model.generators_[0]
    ids = [encode_texts(model.vocabulary_, [text], MAX_LENGTH).values for text in texts]
    rows = [(each[np.newaxis].astype(int), [len(each)]) for each in ids]
    with torch.inference_mode():
        memories = [network.memory(*rows[at], at) for at in (LEFT, CENTRE, RIGHT) if at != place]
        return float(network.log_likelihood(memories, *rows[place], place))


def test_terms_are_those_of_one_sentence_in_one_context(model):
    terms = model.terms(TEXTS, model.contexts_)
    for text, row in zip(TEXTS, terms, strict=True):
        for context, found in zip(model.contexts_, row, strict=True):
            left, right = model.corpus_.texts([context - 1, context + 1])
            expected = [term(model, at, [left, text, right]) for at in (CENTRE, LEFT, RIGHT)]
            # Sums of float32 in another order.
            np.testing.assert_allclose(found[1:], expected, rtol=1e-4)
    np.testing.assert_allclose(model.transform(TEXTS), terms.sum(axis=2), rtol=1e-6)
    rows = model.contexts_
    own = [rows[1:3], rows[2:], rows[1:3]]
    for number, found in enumerate(model.terms(TEXTS, own)):
        where = np.searchsorted(rows, own[number])
        np.testing.assert_allclose(found, terms[number][where], rtol=1e-4)


def test_a_weight_of_0_leaves_a_term_out(model):
    terms = model.terms(TEXTS, model.contexts_)
    # Without any weight generators are not used.
    assert not copy.copy(model).set_params(weights=(1, 0, 0, 0)).terms(TEXTS, [5])[..., 1:].any()
    for weights in itertools.product((0, 2.5), (0, 1), (0, 0.5), (0, 3)):
        if any(weights):
            model.set_params(weights=weights)
            found = model.transform(TEXTS)
            np.testing.assert_allclose(found, terms @ np.float32(weights), rtol=1e-5)
    model.set_params(weights=(1, 1, 1, 1))


def test_the_score_chooses_among_the_first_contexts_of_the_discriminator(model, monkeypatch):
    text, plain = "The cat sees the tree.", copy.copy(model)
    # The order alone, without the rules of diverse sets.
    monkeypatch.setattr(ContextSpace, "select", lambda _, places, size, excluded: places[:size])
    plain.set_params(weights=(1, 0, 0, 0))
    (by_discriminator,) = plain.contexts_of([text], 30)
    weights = (0, 1, 2, 0)
    (found,) = plain.set_params(weights=weights).contexts_of([text], 10)
    # Of three times as many as are wanted, the best.
    scores = plain.terms([text], by_discriminator)[0] @ np.float32(weights)
    np.testing.assert_array_equal(found, by_discriminator[np.argsort(-scores)[:10]])
    assert set(found.tolist()) != set(by_discriminator[:10].tolist())


def test_perplexity_is_that_of_a_loop_and_below_a_unigram_model(model):
    found = model.perplexities_
    assert set(found) == {"sentence", "left", "right", "unigram"}
    assert all(found[name] < 0.5 * found["unigram"] for name in ("sentence", "left", "right"))
    corpus = model.corpus_
    n_held = {
        document
        for document in range(6)
        if np.isclose(loop(model, document), found["sentence"], rtol=1e-4)
    }
    # One document is held out.
    assert len(n_held) == 1 and len(corpus.names) == 6


def loop(model: ContextModel, document: int) -> float:
    corpus = model.corpus_
    total, n_tokens = 0.0, 0
    for row in corpus.centres():
        if corpus.documents[row] == document:
            texts = corpus.texts([row - 1, row, row + 1])
            n = len(encode_texts(model.vocabulary_, [texts[1]], MAX_LENGTH).values) + 1
            total += n * term(model, CENTRE, texts)
            n_tokens += n
    return float(np.exp(-total / n_tokens))


def test_tokens_and_ends_of_sentences_are_counted():
    table = IdTable(np.array([5, 6, 6, 7, 7, 7], np.int32), np.array([0, 1, 3, 6]))
    expected = np.zeros(9)
    expected[[5, 7, END]] = 1, 3, 2
    np.testing.assert_array_equal(token_counts(table, np.array([0, 2]), 9), expected)


def test_batches_hold_each_centre_once_and_sentences_of_like_length():
    rng = np.random.default_rng(0)
    starts = np.r_[0, np.cumsum(rng.integers(1, 40, size=2000))]
    table = IdTable(np.zeros(starts[-1], np.int32), starts)
    task = GeneratorTask(None, table, np.arange(1, 1999), seed=0)
    first, again, other = task.batches(0), task.batches(0), task.batches(1)
    assert len(first) == len(other) == 42
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    for batches in (first, other):
        np.testing.assert_array_equal(np.sort(np.concatenate(batches)), np.arange(1, 1999))
    lengths = np.diff(starts)
    longest = [np.max([lengths[rows + step] for step in (-1, 0, 1)], axis=0) for rows in first]
    assert np.mean([np.ptp(each) for each in longest]) < 0.15 * 40

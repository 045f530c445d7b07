"""Batches of the discriminator: every centre once, in runs of neighbours and documents."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression

from estimators.contexts.parts.building import split_centres
from estimators.contexts.parts.discriminator_training import (
    RUN,
    RUNS_OF_DOCUMENT,
    batches_of,
    compared,
    fit_discriminator,
    run_order,
)

DOCUMENTS = np.repeat(np.arange(12), [100, 3, 1, 60, 80, 2, 41, 90, 33, 8, 7, 120])


def test_an_order_has_each_centre_once_and_neighbours_together():
    orders = [run_order(DOCUMENTS, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(orders[0], orders[1])
    assert orders[0].tolist() != orders[2].tolist()
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(len(DOCUMENTS)))
        is_next = (np.diff(order) == 1) & (np.diff(DOCUMENTS[order]) == 0)
        # One of RUN begins a run, and a few documents are shorter.
        assert is_next.mean() > 1 - 1.3 / RUN
        lengths = np.diff(np.flatnonzero(np.r_[True, np.diff(DOCUMENTS[order]) != 0, True]))
        assert lengths.max() >= RUN * (RUNS_OF_DOCUMENT - 1)
        # Documents are spread: no stretch of a few batches is of one alone.
        assert lengths.max() <= 3 * RUN * RUNS_OF_DOCUMENT


def looped_weights(rows, documents, codes):
    """Weight of each centre j between the neighbours of each i of a batch, one at a time."""
    found = {}
    for i in rows:
        kinds: dict[bool, list[int]] = {True: [], False: []}
        for j in rows:
            near = documents[i] == documents[j] and abs(i - j) < RUN
            if j != i and not near and codes[i] != codes[j]:
                kinds[bool(documents[i] == documents[j])].append(j)
        held = [kind for kind in kinds.values() if kind]
        if held:
            found[i, i] = 0.5
        found |= {(i, j): 0.5 / len(held) / len(kind) for kind in held for j in kind}
    total = sum(found.values())
    return {pair: weight / total for pair, weight in found.items()}


def corpus(strength, n=400):
    """Sentences on a unit sphere that drift from one to the next, more or less."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(n, 6))
    for row in range(1, n):
        states[row] += strength * states[row - 1] / np.linalg.norm(states[row - 1])
    states = (states / np.linalg.norm(states, axis=1, keepdims=True)).astype(np.float32)
    documents = np.repeat(np.arange(4), n // 4)
    return states, documents, np.flatnonzero(documents[2:] == documents[:-2]) + 1


def pairs_of(states, documents, codes, batches):
    """Similarity, truth and weight of every pair of some batches, in loops."""
    found = []
    for rows in batches:
        weights = looped_weights(rows.tolist(), documents, codes)
        for (i, j), weight in weights.items():
            alike = states[j].astype(float) @ (states[i - 1] + states[i + 1])
            found.append((alike, i == j, weight / len(batches)))
    x, is_true, weights = np.array(found).T
    return x, is_true == 1, weights


@pytest.mark.parametrize("n_batches", [2, 50])
def test_gain_and_bias_are_those_of_a_logistic_regression(n_batches, monkeypatch):
    monkeypatch.setattr("estimators.contexts.parts.discriminator_training.BATCH_SIZE", 32)
    states, documents, centres = corpus(1.5)
    codes = np.arange(400)
    codes[[5, 25, 140]] = 5
    batches = batches_of(centres, documents, 0, n_batches)
    x, is_true, weights = pairs_of(states, documents, codes, batches)
    free = LogisticRegression(C=1e9, tol=1e-9, max_iter=1000)
    # Weights add up to 1: many samples keep the penalty without effect.
    free.fit(x[:, np.newaxis], is_true, 1e4 * weights)
    assert free.coef_[0, 0] > 1.5
    given = compared(states, documents, codes, batches)
    (gain, bias), losses = fit_discriminator(given)
    # Both minimise to some digits of the loss.
    assert gain == pytest.approx(free.coef_[0, 0], rel=0.01)
    assert bias == pytest.approx(free.intercept_[0], abs=0.01)
    margins = np.where(is_true, 1, -1) * (gain * x + bias)
    loss = weights @ np.log1p(np.exp(-margins))
    assert losses == pytest.approx([loss], rel=1e-5)
    assert given.loss(gain, bias)[0] == pytest.approx(loss, rel=1e-5)


def test_the_gain_is_at_least_1():
    states, documents, centres = corpus(0.0)
    batches = batches_of(centres, documents, 0, 50)
    x, is_true, weights = pairs_of(states, documents, np.arange(400), batches)
    free = LogisticRegression(C=1e9).fit(x[:, np.newaxis], is_true, 1e4 * weights)
    assert free.coef_[0, 0] < 0.9
    (gain, bias), _ = fit_discriminator(compared(states, documents, np.arange(400), batches))
    signs = np.where(is_true, 1, -1)
    best = minimize_scalar(lambda bias: weights @ np.log1p(np.exp(-signs * (x + bias))))
    assert gain == 1 and bias == pytest.approx(best.x, abs=0.01)


def test_sentences_that_are_all_the_same_leave_the_numbers_as_they_were():
    states, documents, centres = corpus(1.0)
    given = compared(states, documents, np.zeros(400), batches_of(centres, documents, 0, 50))
    assert given is None and fit_discriminator(given) == ((5.0, -5.0), [])


def test_whole_documents_are_held_out():
    centres = np.flatnonzero(np.r_[False, DOCUMENTS[2:] == DOCUMENTS[:-2], False])
    learned, held = split_centres(centres, DOCUMENTS, seed=0)
    np.testing.assert_array_equal(np.sort(np.r_[learned, held]), centres)
    assert not set(DOCUMENTS[learned]) & set(DOCUMENTS[held])
    assert 0.02 * len(centres) <= len(held) <= 0.02 * len(centres) + 120
    learned, held = split_centres(np.arange(5), np.zeros(5, int), seed=0)
    assert len(learned) == 5 and not len(held)

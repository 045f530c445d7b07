"""Batches of the discriminator: every centre once, in runs of neighbours and documents."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression

from estimators.contexts.building import split_centres
from estimators.contexts.network_training import (
    RUN,
    RUNS_OF_DOCUMENT,
    DiscriminatorTask,
    fit_gain,
    run_order,
)
from film.contexts import Likeness

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


def test_the_loss_is_that_of_a_loop_over_pairs(monkeypatch):
    documents = np.repeat([0, 1, 2], [30, 14, 6])
    codes = np.arange(50)
    codes[[5, 25, 40]] = 5
    states = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float16)
    rows = np.array([2, 3, 5, 14, 25, 28, 32, 40, 46, 48])
    given = DiscriminatorTask(states, documents, codes, rows, seed=0)
    monkeypatch.setattr(given, "batches", lambda: [rows])
    head, states, total = Likeness(2.0, -1.0), states.astype(float), 0.0
    for (i, j), weight in looped_weights(rows, documents, codes).items():
        logit = 2 * (states[i - 1] + states[i + 1]) @ states[j] - 1
        total += weight * np.log1p(np.exp(-logit if i == j else logit))
    np.testing.assert_allclose(given.loss(head), total, rtol=1e-5)


def alike_task(strength, codes=None, n=400):
    """Sentences on a unit sphere that drift from one to the next, more or less."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(n, 6))
    for row in range(1, n):
        states[row] += strength * states[row - 1] / np.linalg.norm(states[row - 1])
    states = (states / np.linalg.norm(states, axis=1, keepdims=True)).astype(np.float32)
    documents = np.repeat(np.arange(4), n // 4)
    rows = np.flatnonzero(documents[2:] == documents[:-2]) + 1
    codes = np.arange(n) if codes is None else codes
    return DiscriminatorTask(states, documents, codes, rows, seed=0)


def pairs_of(given, n_batches):
    """Likeness, truth and weight of every pair of some batches, in loops."""
    states, found = given.fixed.astype(float), []
    batches = given.batches()[:n_batches]
    for rows in batches:
        weights = looped_weights(rows.tolist(), given.documents, given.codes)
        for (i, j), weight in weights.items():
            alike = states[j] @ (states[i - 1] + states[i + 1])
            found.append((alike, i == j, weight / len(batches)))
    x, is_true, weights = np.array(found).T
    return x, is_true == 1, weights


@pytest.mark.parametrize("n_batches", [2, 50])
def test_gain_and_bias_are_those_of_a_logistic_regression(n_batches, monkeypatch):
    place = "estimators.contexts.network_training"
    monkeypatch.setattr(f"{place}.BATCHES_OF_GAIN", n_batches)
    monkeypatch.setattr(f"{place}.SENTENCES_PER_STEP", 32)
    given = alike_task(1.5)
    x, is_true, weights = pairs_of(given, n_batches)
    free = LogisticRegression(C=1e9, tol=1e-9, max_iter=1000)
    # Weights add up to 1: many samples keep the penalty without effect.
    free.fit(x[:, np.newaxis], is_true, 1e4 * weights)
    assert free.coef_[0, 0] > 1.5
    head, learned = fit_gain(given, given)
    gain, bias = head
    # Both minimise to some digits of the loss.
    assert gain == pytest.approx(free.coef_[0, 0], rel=0.01)
    assert bias == pytest.approx(free.intercept_[0], abs=0.01)
    margins = np.where(is_true, 1, -1) * (gain * x + bias)
    (loss,) = learned.losses
    assert loss == pytest.approx(weights @ np.log1p(np.exp(-margins)), rel=1e-5)
    assert learned.scores == [(1, given.loss(head))] and learned.is_complete


def test_the_gain_is_at_least_1():
    given = alike_task(0.0)
    x, is_true, weights = pairs_of(given, 50)
    free = LogisticRegression(C=1e9).fit(x[:, np.newaxis], is_true, 1e4 * weights)
    assert free.coef_[0, 0] < 0.9
    head, learned = fit_gain(given, dataclasses.replace(given, centres=given.centres[:0]))
    assert head.gain == 1 and learned.scores == []
    signs = np.where(is_true, 1, -1)
    best = minimize_scalar(lambda bias: weights @ np.log1p(np.exp(-signs * (x + bias))))
    assert head.bias == pytest.approx(best.x, abs=0.01)


def test_the_gain_of_sentences_that_are_all_the_same_stays_as_it_was():
    given = alike_task(1.0, codes=np.zeros(400, int))
    head, learned = fit_gain(given, given)
    assert learned.losses == [] and learned.is_complete and head == (5, -5)


def test_whole_documents_are_held_out():
    centres = np.flatnonzero(np.r_[False, DOCUMENTS[2:] == DOCUMENTS[:-2], False])
    learned, held = split_centres(centres, DOCUMENTS, seed=0)
    np.testing.assert_array_equal(np.sort(np.r_[learned, held]), centres)
    assert not set(DOCUMENTS[learned]) & set(DOCUMENTS[held])
    assert 0.02 * len(centres) <= len(held) <= 0.02 * len(centres) + 120
    learned, held = split_centres(np.arange(5), np.zeros(5, int), seed=0)
    assert len(learned) == 5 and not len(held)

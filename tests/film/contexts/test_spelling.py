"""Weights and vectors of runs of characters, against loops and exact TF-IDF."""

import math

import numpy as np
import scipy.sparse as sp

from film.contexts import N_RUNS, run_vectors, run_weights, spelling_states


def test_weights_are_logarithms_of_rarity_and_at_least_0():
    frequencies = np.zeros(N_RUNS, dtype=int)
    frequencies[:6] = [1, 9, 48, 49, 50, 3]
    found = run_weights(frequencies, 50)
    assert found.shape == (N_RUNS,) and found.dtype == np.float32
    expected = [math.log(50 / 2), math.log(50 / 10), math.log(50 / 49), 0, 0, math.log(50 / 4)]
    np.testing.assert_allclose(found[:6], expected, rtol=1e-6)
    # What no sentence holds is as rare as can be.
    np.testing.assert_allclose(found[6:], math.log(50), rtol=1e-6)


def counts_of(n_texts=12, n_runs=40, seed=0):
    """Texts of some of a few runs that are spread over all columns."""
    rng = np.random.default_rng(seed)
    columns = rng.choice(N_RUNS, n_runs, replace=False)
    table = rng.poisson(0.7, size=(n_texts, n_runs))
    rows, places = np.nonzero(table)
    values = table[rows, places].astype(np.float32)
    counts = sp.csr_array((values, (rows, columns[places])), shape=(n_texts, N_RUNS))
    return counts, table, columns


def test_states_are_weighed_sums_of_vectors():
    counts, table, columns = counts_of()
    weights = np.random.default_rng(1).uniform(0, 3, N_RUNS).astype(np.float32)
    vectors = run_vectors(30, random_state=5)
    found = spelling_states(counts, weights, vectors)
    assert found.shape == (12, 30) and found.dtype == np.float32
    for state, row in zip(found, table, strict=True):
        total = np.zeros(30)
        for times, column in zip(row, columns, strict=True):
            total += times * weights[column] * vectors[[column]].toarray()[0]
        np.testing.assert_allclose(state, total / np.linalg.norm(total), atol=1e-6)


def test_cosines_are_about_those_of_tf_idf():
    counts, table, columns = counts_of()
    weights = run_weights(np.arange(N_RUNS) % 90, 100)
    states = spelling_states(counts, weights, run_vectors(4096, random_state=2))
    exact = table * weights[columns]
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    # An error of 1/64 is a deviation.
    np.testing.assert_allclose(states @ states.T, exact @ exact.T, atol=5 / 64)


def test_texts_without_a_run_that_tells_have_states_of_zeros():
    counts, _, columns = counts_of(3)
    counts = sp.csr_array(sp.vstack([counts, sp.csr_array((1, N_RUNS), dtype=np.float32)]))
    weights = np.ones(N_RUNS, dtype=np.float32)
    found = spelling_states(counts, weights, run_vectors(16))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 1, 0], atol=1e-6)
    weights[columns] = 0
    assert not spelling_states(counts, weights, run_vectors(16)).any()

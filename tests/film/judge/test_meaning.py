"""Cosines of encoders on a common scale."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from film.judge import UNRELATED_TEXTS, base_cosine, centred_cosines


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_base_is_the_mean_cosine_of_all_pairs(form):
    rows = unit(np.random.default_rng(0).random((9, 4)))
    expected = np.mean([a @ b for a, b in itertools.combinations(rows, 2)])
    with_zeros = np.concatenate([rows, np.zeros((3, 4))])
    assert base_cosine(form(with_zeros)) == pytest.approx(expected)


def test_the_base_has_limits():
    assert base_cosine(np.zeros((4, 2))) == base_cosine(np.eye(2)[:1]) == 0
    assert base_cosine(np.array([[1.0, 0.0], [-1.0, 0.0]])) == 0
    assert base_cosine(np.ones((3, 1))) == 0.99


def test_a_higher_level_of_all_cosines_changes_nothing():
    """An encoder that adds the same part to all vectors raises every cosine alike."""
    rng = np.random.default_rng(1)
    rows, pairs = unit(rng.random((30, 5))), rng.integers(0, 30, (50, 2))
    higher = np.column_stack([np.sqrt(0.5) * rows, np.full(30, np.sqrt(0.5))])
    found = [
        centred_cosines((some[pairs[:, 0]] * some[pairs[:, 1]]).sum(axis=1), base_cosine(some))
        for some in (rows, higher)
    ]
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)
    assert found[0].min() >= 0 and found[0].max() <= 1 + 1e-12


def test_unrelated_texts_share_no_rare_word():
    words = [set(text.lower().replace(",", "").split()) for text in UNRELATED_TEXTS]
    for first, second in itertools.combinations(words, 2):
        assert len({word for word in first & second if len(word) > 5}) == 0

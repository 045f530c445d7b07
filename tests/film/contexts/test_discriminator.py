"""The discriminator, and its loss against a loop over pairs."""

import itertools
import math

import numpy as np
import pytest

from film.contexts import Likeness, fit_loss, fit_weights


def looped_weights(documents, texts, excluded):
    """By the definition, one row after the other."""
    B = len(documents)
    weights = np.zeros((B, B))
    rows = []
    for i in range(B):
        negatives = [j for j in range(B) if texts[j] != texts[i] and not excluded[i, j]]
        same = [j for j in negatives if documents[j] == documents[i]]
        others = [j for j in negatives if documents[j] != documents[i]]
        kinds = [kind for kind in (same, others) if kind]
        for kind in kinds:
            for j in kind:
                weights[i, j] = 1 / len(kinds) / len(kind)
        if kinds:
            weights[i, i] = 1
            rows.append(i)
    return weights / (2 * len(rows))


BATCHES = {
    "mixed": ([0, 0, 0, 1, 1, 2], [5, 6, 5, 7, 8, 6]),
    "one document": ([4, 4, 4], [1, 2, 3]),
    "documents of one triple": ([4, 5, 6], [1, 2, 3]),
    "a row without negatives": ([0, 0, 0], [1, 1, 2]),
}


@pytest.mark.parametrize("case", BATCHES)
@pytest.mark.parametrize("leaves_out", [False, True])
def test_weights_are_those_of_the_definition(case, leaves_out):
    documents, texts = BATCHES[case]
    excluded = np.random.default_rng(3).random((len(texts), len(texts))) < 0.3
    excluded &= leaves_out
    found = fit_weights(documents, texts, excluded=excluded if leaves_out else None)
    expected = looped_weights(documents, texts, excluded)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_loss_is_the_looped_cross_entropy():
    weights = fit_weights(*BATCHES["mixed"])
    logits = 3 * np.random.default_rng(1).normal(size=(6, 6))
    expected = 0.0
    for i, j in itertools.product(range(6), range(6)):
        fits = 1 / (1 + math.exp(-logits[i, j]))
        expected -= float(weights[i, j]) * math.log(fits if i == j else 1 - fits)
    assert fit_loss(logits, weights) == pytest.approx(expected, rel=1e-9)


def test_likeness_is_one_product():
    left, right, centre = np.random.default_rng(0).normal(size=(3, 2, 7))
    head = Likeness(gain=9.0, bias=-2.0)
    found = (head.left(left) + head.right(right)) @ head.centre(centre).T
    np.testing.assert_allclose(found, 9 * (left + right) @ centre.T - 2)

"""Similarity less the density around both sides, as its definition says."""

import numpy as np
import pytest

from film.pairs import locally_scaled, neighbourhood_features

POINTS = np.random.default_rng(0).normal(size=(60, 5))
PAIRS = np.array([(0, 1), (6, 7), (9, 3), (4, 4), (20, 30)])
SIMILARITY = np.array([0.9, 0.1, -0.4, 1.0, 0.3])


def by_hand(pair, similarity, corpus, k, weight):
    units = POINTS / np.linalg.norm(POINTS, axis=1)[:, None]
    densities = []
    for text in pair:
        cosines = sorted((units[text] @ units[c] for c in corpus if c not in pair), reverse=True)
        densities.append(np.mean(cosines[:k]) if cosines else 0.0)
    return similarity - weight * (densities[0] + densities[1]) / 2


@pytest.mark.parametrize("corpus", [None, np.arange(0, 60, 3), np.array([0, 1])])
@pytest.mark.parametrize(("k", "weight"), [(1, 0.5), (7, 1.0), (100, 0.3)])
def test_it_is_its_definition(corpus, k, weight):
    counted = range(60) if corpus is None else corpus.tolist()
    found = locally_scaled(SIMILARITY, POINTS, PAIRS, corpus, k=k, weight=weight)
    wanted = [
        by_hand(pair, similarity, counted, k, weight)
        for pair, similarity in zip(PAIRS.tolist(), SIMILARITY, strict=True)
    ]
    assert np.allclose(found, wanted, rtol=0, atol=1e-12)
    turned = locally_scaled(SIMILARITY, POINTS, PAIRS[:, ::-1], corpus, k=k, weight=weight)
    assert np.allclose(turned, found, rtol=0, atol=1e-15)


def test_of_cosines_it_is_half_of_csls():
    units = POINTS / np.linalg.norm(POINTS, axis=1)[:, None]
    cosines = np.einsum("ij,ij->i", units[PAIRS[:, 0]], units[PAIRS[:, 1]])
    csls = neighbourhood_features(POINTS, PAIRS, k=4)[:, 2]
    found = locally_scaled(cosines, POINTS, PAIRS, k=4, weight=1)
    assert np.allclose(2 * found, csls, rtol=0, atol=1e-12)


def test_defaults_and_no_weight():
    np.testing.assert_array_equal(
        locally_scaled(SIMILARITY, POINTS, PAIRS),
        locally_scaled(SIMILARITY, POINTS, PAIRS, k=50, weight=0.5),
    )
    assert not np.allclose(
        locally_scaled(SIMILARITY, POINTS, PAIRS),
        locally_scaled(SIMILARITY, POINTS, PAIRS, k=51),
    )
    np.testing.assert_array_equal(locally_scaled(SIMILARITY, POINTS, PAIRS, weight=0), SIMILARITY)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"similarity": [0.1]}, r"shape \(1,\) for 5 pairs"),
        ({"weight": -0.1}, "weight must be a number that is at least 0, got -0.1"),
        ({"weight": np.nan}, "weight must be"),
        ({"weight": np.inf}, "weight must be"),
        ({"k": 0}, "k"),
        ({"pairs": PAIRS + 55}, "pairs"),
    ],
)
def test_wrong_input_is_named(changed, message):
    given = {"similarity": SIMILARITY, "points": POINTS, "pairs": PAIRS} | changed
    with pytest.raises(ValueError, match=message):
        locally_scaled(**given)

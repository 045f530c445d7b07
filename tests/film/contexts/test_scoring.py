import numpy as np
import pytest
from scipy.linalg import inv, sqrtm

from film.contexts import combine_terms, context_shares, whiten_scores

RNG = np.random.default_rng(0)


def test_equation_3_is_the_sum_of_its_four_terms():
    terms = -RNG.random((3, 5, 4))
    weights = np.array([0.5, 2.0, -1.0, 3.0])
    scores = combine_terms(terms, weights)
    assert scores.shape == (3, 5)
    for i in range(3):
        for j in range(5):
            by_hand = sum(weights[k] * terms[i, j, k] for k in range(4))
            assert scores[i, j] == pytest.approx(by_hand, rel=1e-12)


def test_a_term_without_weight_is_not_looked_at():
    assert combine_terms([-1.0, -np.inf, np.nan, -2.0], (1, 0, 0, 1)) == -3.0
    assert combine_terms([[-1.0, 0.0, 0.0, -2.0]], (0, 0, 0, 0)).tolist() == [0.0]


def test_a_term_that_is_not_finite_is_named():
    with pytest.raises(ValueError, match=r"terms must be finite.*\(0, 2\)"):
        combine_terms([[0, 0, np.nan, 0]])


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / (
        sum(x * x for x in a) ** 0.5 * sum(y * y for y in b) ** 0.5
    )


def test_shares_are_those_of_the_cosine_of_equation_4():
    v1, v2 = -RNG.random((2, 4, 7))
    for scale in (1.0, 1e-200, 1e200):
        shares = context_shares(scale * v1, v2)
        for k in range(4):
            assert shares[k].sum() == pytest.approx(cosine(v1[k], v2[k]), rel=1e-12)
            share = v1[k, 2] * v2[k, 2] / np.linalg.norm(v1[k]) / np.linalg.norm(v2[k])
            assert shares[k, 2] == pytest.approx(share, rel=1e-12)
    assert not context_shares(np.zeros(3), v1[0, :3]).any()
    for wrong in ([1.0, np.inf], [np.nan, 0.0]):
        with pytest.raises(ValueError, match="scores1 must be finite"):
            context_shares(wrong, [1.0, 2.0])


def made_scores(n_reference, n_contexts, seed=0):
    """Scores of 3 texts and some others, in contexts that go together in part."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(n_contexts, n_contexts)) + np.eye(n_contexts)
    found = rng.normal(size=(3 + n_reference, n_contexts)) @ mixed - rng.random(n_contexts)
    return found[:3], found[3:]


@pytest.mark.parametrize("shrinkage", [1e-3, 0.1, 2.0])
@pytest.mark.parametrize(("n_reference", "n_contexts"), [(40, 6), (6, 6), (5, 12), (2, 9), (9, 1)])
def test_whitened_scores_are_those_of_the_dense_formula(n_reference, n_contexts, shrinkage):
    scores, reference = made_scores(n_reference, n_contexts)
    mean = sum(reference) / n_reference
    covariance = sum(np.outer(row - mean, row - mean) for row in reference) / n_reference
    ridge = shrinkage * sum(covariance[k, k] for k in range(n_contexts)) / n_contexts
    root = inv(sqrtm(covariance + ridge * np.eye(n_contexts)).real)
    kept = scores.copy(), reference.copy()
    found = whiten_scores(scores, reference, shrinkage)
    assert found.shape == scores.shape
    np.testing.assert_allclose(found, (scores - mean) @ root, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(scores, kept[0])
    np.testing.assert_array_equal(reference, kept[1])


@pytest.mark.parametrize("scale", [1e-200, 3.0, 1e200])
@pytest.mark.parametrize("n_reference", [20, 4])
def test_the_unit_of_scores_plays_no_part(scale, n_reference):
    scores, reference = made_scores(n_reference, 7)
    found = whiten_scores(scale * scores, scale * reference)
    np.testing.assert_allclose(found, whiten_scores(scores, reference), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_reference", [1, 3, 50])
def test_a_reference_that_does_not_vary_centres_alone(n_reference):
    # The mean of such numbers is rounded.
    same = np.array([0.1, -0.7, 1 / 3])
    scores = [[1.0, 2.0, 3.0], [0.1, -0.7, 0.0]]
    found = whiten_scores(scores, np.tile(same, (n_reference, 1)))
    np.testing.assert_allclose(found, scores - same, atol=1e-12)

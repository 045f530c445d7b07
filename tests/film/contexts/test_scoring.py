import numpy as np
import pytest
from scipy.linalg import inv, sqrtm

from film.contexts import combine_terms, context_shares, context_similarity, whiten_scores

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


def test_terms_keep_their_precision():
    assert combine_terms(np.ones((2, 4), dtype=np.float32)).dtype == np.float32
    assert combine_terms([[1, 2, 3, 4]]).dtype == np.float64


@pytest.mark.parametrize(
    ("terms", "weights", "named"),
    [
        (np.zeros((2, 3)), (1, 1, 1, 1), "4 columns"),
        (np.zeros((2, 4)), (1, 1, 1), "weights"),
        (np.zeros((2, 4)), (1, 1, 1, np.nan), "weights"),
        ([[0, 0, np.nan, 0]], (1, 1, 1, 1), r"terms must be finite.*\(0, 2\)"),
    ],
)
def test_wrong_terms_are_named(terms, weights, named):
    with pytest.raises(ValueError, match=named):
        combine_terms(terms, weights)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / (
        sum(x * x for x in a) ** 0.5 * sum(y * y for y in b) ** 0.5
    )


def test_equation_4_is_the_cosine_of_the_scores():
    v1, v2, mean = -RNG.random((3, 4, 7))
    raw, centred = context_similarity(v1, v2), context_similarity(v1, v2, centre=mean)
    for k in range(4):
        assert raw[k] == pytest.approx(cosine(v1[k], v2[k]), rel=1e-12)
        assert centred[k] == pytest.approx(cosine(v1[k] - mean[k], v2[k] - mean[k]), rel=1e-9)


def test_the_mean_over_contexts_as_centre_gives_the_correlation():
    v = -RNG.random((2, 9))
    means = v.mean()
    shifted = context_similarity(v[0] - v[0].mean() + means, v[1] - v[1].mean() + means, means)
    assert shifted == pytest.approx(np.corrcoef(v)[0, 1], rel=1e-12)


def test_shares_of_contexts_sum_to_the_similarity():
    v1, v2 = RNG.normal(size=(2, 6, 30))
    for centre in (None, 0.3, v1.mean(axis=0)):
        shares = context_shares(v1, v2, centre)
        np.testing.assert_allclose(
            shares.sum(axis=-1), context_similarity(v1, v2, centre), rtol=0, atol=1e-12
        )


def test_similarity_is_symmetric_bounded_and_free_of_scale():
    v1, v2 = RNG.normal(size=(2, 50, 12))
    same = context_similarity(v1, v1)
    np.testing.assert_allclose(same, 1.0, rtol=0, atol=1e-12)
    assert (same <= 1.0).all()
    np.testing.assert_array_equal(context_similarity(v1, v2), context_similarity(v2, v1))
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(
            context_similarity(v1 * scale, v2), context_similarity(v1, v2), rtol=0, atol=1e-12
        )


def test_a_sentence_that_no_context_tells_from_others_has_similarity_0():
    assert context_similarity([-1.0, -2.0], [-3.0, -1.0], centre=[-1.0, -2.0]) == 0.0
    assert context_similarity(np.zeros((2, 0)), np.zeros((2, 0))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("v1", "v2", "centre", "named"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], None, "same contexts"),
        ([1.0, np.inf], [1.0, 2.0], None, "scores1 must be finite"),
        ([1.0, 2.0], [1.0, np.nan], None, "scores2 must be finite"),
        ([1.0, 2.0], [1.0, 2.0], [1.0, 2.0, 3.0], "centre must fit"),
        ([1.0, 2.0], [1.0, 2.0], np.nan, "centre must be finite"),
    ],
)
def test_wrong_scores_are_named(v1, v2, centre, named):
    with pytest.raises(ValueError, match=named):
        context_similarity(v1, v2, centre)


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


def test_the_share_that_is_added_is_a_tenth_unless_given():
    scores, reference = made_scores(20, 5)
    np.testing.assert_array_equal(
        whiten_scores(scores, reference), whiten_scores(scores, reference, 0.1)
    )


def test_whitened_scores_do_not_go_together():
    _, reference = made_scores(40, 6)
    found = whiten_scores(reference, reference, 1e-12)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(found.T @ found / 40, np.eye(6), atol=1e-6)


@pytest.mark.parametrize("n_reference", [40, 10])
def test_copies_of_a_context_change_whitened_cosines_little(n_reference):
    scores, reference = made_scores(n_reference, 8)
    copied = np.r_[np.arange(8), [0] * 20]

    def cosines(given, others, *shrinkage):
        a, b, c = whiten_scores(given, others, *shrinkage)
        return np.array([context_similarity(a, b), context_similarity(b, c)])

    plain = cosines(scores, reference, 1e-9)
    found = cosines(scores[:, copied], reference[:, copied], 1e-9)
    np.testing.assert_allclose(found, plain, atol=1e-5)
    # With a share that is not so small, less than without whitening.
    change = np.abs(
        cosines(scores[:, copied], reference[:, copied]) - cosines(scores, reference)
    ).max()
    a, b, c = scores - reference.mean(axis=0)
    raw = [context_similarity(a, b), context_similarity(b, c)]
    a, b, c = (scores - reference.mean(axis=0))[:, copied]
    raw_copied = [context_similarity(a, b), context_similarity(b, c)]
    assert change < 0.5 * np.abs(np.subtract(raw_copied, raw)).max()


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


@pytest.mark.parametrize(
    ("scores", "reference", "shrinkage", "named"),
    [
        ([[1.0, 2.0]], [[1.0, 2.0, 3.0]], 0.1, r"got shapes \(1, 2\) and \(1, 3\)"),
        ([1.0, 2.0], [[1.0, 2.0]], 0.1, "tables over the same contexts"),
        ([[1.0, 2.0]], [1.0, 2.0], 0.1, "tables over the same contexts"),
        ([[1.0, 2.0]], np.zeros((0, 2)), 0.1, "tables over the same contexts"),
        ([[1.0, np.nan]], [[1.0, 2.0]], 0.1, "scores must be finite"),
        ([[1.0, 2.0]], [[1.0, np.inf]], 0.1, "reference must be finite"),
        ([[1.0, 2.0]], [[1.0, 3.0]], 0.0, "shrinkage=0.0 must be above 0"),
        ([[1.0, 2.0]], [[1.0, 3.0]], np.nan, "shrinkage=nan must be above 0"),
    ],
)
def test_what_cannot_be_whitened_is_named(scores, reference, shrinkage, named):
    with pytest.raises(ValueError, match=named):
        whiten_scores(scores, reference, shrinkage)

import numpy as np
import pytest

from film.contexts import combine_terms, context_shares, context_similarity

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

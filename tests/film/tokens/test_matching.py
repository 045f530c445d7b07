import math

import numpy as np
import pytest

from film.tokens.matching import MATCHING, _token_scores, match, ragged_matching
from film.tokens.ragged import Ragged


def _similarity(a, b, cosine):
    product = math.fsum(a * b)
    if not cosine:
        return product
    norms = math.sqrt(math.fsum(a * a)) * math.sqrt(math.fsum(b * b))
    return product / norms if norms else 0.0


def looped(x1, x2, function, w1=None, w2=None, cosine=True):
    """Equations 1 and 2, token after token: scores of both sides, plan, similarity."""
    w1 = [1.0] * len(x1) if w1 is None else w1
    w2 = [1.0] * len(x2) if w2 is None else w2
    S = np.array([[_similarity(a, b, cosine) for b in x2] for a in x1])
    plan = np.zeros(S.shape)
    sides = []
    for similarities, weights, flow in ((S, w1, plan), (S.T, w2, plan.T)):
        scores = []
        for t, row in enumerate(similarities.tolist()):
            # By falling similarity, of equal ones the first.
            order = sorted(range(len(row)), key=lambda j: (-row[j], j))
            significance = row[order[0]]
            uniqueness = significance - row[order[1]] if len(row) > 1 else 0.0
            score = 0.0
            if function != "uniqueness":
                score += significance
                flow[t, order[0]] += weights[t] / (2 * sum(weights))
            if function != "significance":
                score += uniqueness
                if len(row) > 1:
                    flow[t, order[0]] += weights[t] / (2 * sum(weights))
                    flow[t, order[1]] -= weights[t] / (2 * sum(weights))
            scores.append(score)
        sides.append(scores)
    total = sum(w * m for w, m in zip(w1, sides[0], strict=True)) / (2 * sum(w1))
    total += sum(w * m for w, m in zip(w2, sides[1], strict=True)) / (2 * sum(w2))
    return sides[0], sides[1], plan, total


def _text(rng, length, h=6, sign=0):
    text = rng.standard_normal((length, h))
    return text if sign == 0 else sign * (np.abs(text) + 3)


SIZES = [(4, 7), (7, 4), (1, 1), (1, 2), (5, 1), (2, 2), (6, 6)]


@pytest.mark.parametrize("function", MATCHING)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cosine", [True, False])
@pytest.mark.parametrize("opposed", [False, True])
def test_one_pair_is_the_definition(function, sizes, weighted, cosine, opposed):
    rng = np.random.default_rng(sizes[0] * 10 + sizes[1])
    x1, x2 = _text(rng, sizes[0], sign=-opposed), _text(rng, sizes[1], sign=+opposed)
    weights = [rng.uniform(0.1, 5, size) if weighted else None for size in sizes]
    scores1, scores2, plan, similarity = looped(x1, x2, function, *weights, cosine)
    found = match(x1, x2, function, *weights, cosine)
    assert {np.asarray(part).dtype for part in found} == {np.dtype(np.float64)}
    np.testing.assert_allclose(found.scores1, scores1, atol=1e-12)
    np.testing.assert_allclose(found.scores2, scores2, atol=1e-12)
    np.testing.assert_allclose(found.plan, plan, atol=1e-12)
    assert found.similarity == pytest.approx(similarity, abs=1e-12)
    assert math.fsum(found.contributions.ravel()) == pytest.approx(similarity, abs=1e-12)
    S = [[_similarity(a, b, cosine) for b in x2] for a in x1]
    np.testing.assert_allclose(found.contributions, found.plan * S, atol=1e-12)
    tokens1, tokens2 = Ragged.from_rows([x1]), Ragged.from_rows([x2])
    streamed = ragged_matching(tokens1, tokens2, function, *weights, cosine)
    assert streamed[0] == pytest.approx(similarity, abs=1e-12)


def test_by_hand():
    x1 = [[1.0, 0.0], [0.0, 1.0]]
    x2 = [[1.0, 0.0], [0.6, 0.8], [0.6, 0.8]]
    # S = [[1, .6, .6], [0, .8, .8]]
    both = match(x1, x2)
    np.testing.assert_allclose(both.scores1, [1.4, 0.8])
    np.testing.assert_allclose(both.scores2, [2.0, 1.0, 1.0])
    assert both.similarity == pytest.approx(2.2 / 4 + 4 / 6)
    np.testing.assert_allclose(both.plan[0], [2 / 4 + 2 / 6, -1 / 4 - 1 / 6, -1 / 6])
    np.testing.assert_allclose(both.plan[1], [-1 / 6, 2 / 4 + 2 / 6, -1 / 4 + 2 / 6])
    np.testing.assert_allclose(match(x1, x2, "uniqueness").scores1, [0.4, 0.0])
    np.testing.assert_allclose(match(x1, x2, "significance").scores1, [1.0, 0.8])
    weighted = match(x1, x2, weights1=[3.0, 1.0], weights2=[1.0, 0.0, 0.0])
    assert weighted.similarity == pytest.approx((3 * 1.4 + 0.8) / 8 + 2.0 / 2)


@pytest.mark.parametrize("function", MATCHING)
def test_sides_are_alike_and_weights_have_no_unit(function):
    rng = np.random.default_rng(4)
    x1, x2 = _text(rng, 5), _text(rng, 7)
    w1, w2 = rng.uniform(1, 3, 5), rng.uniform(1, 3, 7)
    found = match(x1, x2, function, w1, w2)
    back = match(x2, x1, function, w2, w1)
    assert back.similarity == pytest.approx(float(found.similarity), abs=1e-12)
    np.testing.assert_allclose(back.plan.T, found.plan, atol=1e-12)
    scaled = match(x1 * 7, x2, function, w1 * 10, w2)
    np.testing.assert_allclose(scaled.contributions, found.contributions, atol=1e-12)
    ones = match(x1, x2, function, np.full(5, 2.0), np.full(7, 0.1))
    np.testing.assert_allclose(ones.plan, match(x1, x2, function).plan, atol=1e-12)


def test_zero_vectors_and_copies():
    zero = match(np.zeros((2, 3)), np.eye(3))
    assert zero.similarity == 0 and not zero.contributions.any()
    # Every token has two equal partners: the second is the runner-up, and takes one share back.
    copies = match(np.ones((2, 3)), np.ones((2, 3)), "both")
    assert copies.scores1.tolist() == pytest.approx([1, 1])
    np.testing.assert_allclose(copies.plan, [[1, 0.25], [0.25, -0.5]])


LENGTHS1, LENGTHS2 = [3, 9, 1, 4, 30, 2], [5, 1, 1, 8, 25, 2]


def _ragged(lengths, seed, h=6, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return Ragged.from_rows([_text(rng, n, h).astype(dtype) for n in lengths])


@pytest.mark.parametrize("function", MATCHING)
@pytest.mark.parametrize("cosine", [True, False])
@pytest.mark.parametrize("dtypes", [(np.float64,) * 2, (np.float32,) * 2, (np.float16, np.float32)])
def test_streamed_and_explained_pairs_agree(function, cosine, dtypes):
    tokens1, tokens2 = _ragged(LENGTHS1, 0, 64, dtypes[0]), _ragged(LENGTHS2, 1, 64, dtypes[1])
    w1 = np.random.default_rng(2).uniform(0.1, 4, len(tokens1.values))
    w2 = np.random.default_rng(3).uniform(0.1, 4, len(tokens2.values))
    streamed = ragged_matching(tokens1, tokens2, function, w1, w2, cosine)
    assert streamed.dtype == np.float64
    # Raw products are some ten times larger than cosines, and so is their rounding.
    atol = 1e-12 if dtypes[0] == np.float64 else 1e-6 if cosine else 3e-5
    for k, similarity in enumerate(streamed):
        at1, at2 = (slice(*tokens.starts[k : k + 2]) for tokens in (tokens1, tokens2))
        found = match(tokens1[k], tokens2[k], function, w1[at1], w2[at2], cosine)
        assert similarity == pytest.approx(float(found.similarity), rel=0, abs=atol)
        assert similarity == pytest.approx(found.contributions.sum(), rel=0, abs=atol)


@pytest.mark.parametrize("function", MATCHING)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("length", [2, 3, 4, 17, 300])
def test_the_two_best_are_found_by_any_selection_of_numpy(function, dtype, length):
    # Some of its kernels sort all of few numbers, and the one of long doubles does not.
    S = np.random.default_rng(length).permuted(np.arange(40.0 * length).reshape(40, length), axis=1)
    first, second = {"significance": (1, 0), "uniqueness": (1, 1), "both": (2, 1)}[function]
    ordered = np.sort(S, axis=1)
    wanted = first * ordered[:, -1] - second * ordered[:, -2]
    assert np.array_equal(_token_scores(S.astype(dtype), 1, function), wanted)
    assert np.array_equal(_token_scores(S.T.astype(dtype), 0, function), wanted)


@pytest.mark.parametrize("function", MATCHING)
def test_pairs_do_not_know_of_each_other(function):
    tokens1, tokens2 = _ragged(LENGTHS1, 2, dtype=np.float32), _ragged(LENGTHS2, 3)
    w1 = np.arange(1.0, len(tokens1.values) + 1)
    pairs = [[0, 5], [4, 4], [0, 5], [5, 0]]
    told = []
    found = ragged_matching(tokens1, tokens2, function, w1, pairs=pairs, advance=told.append)
    assert told == [4]
    for k, (i, j) in enumerate(pairs):
        own = w1[tokens1.starts[i] : tokens1.starts[i + 1]]
        alone = match(tokens1[i], tokens2[j], function, own)
        assert found[k] == pytest.approx(float(alone.similarity), abs=1e-12)


@pytest.mark.parametrize("function", MATCHING)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_weights_are_no_weights(function, dtype):
    tokens1, tokens2 = _ragged(LENGTHS1, 6, dtype=dtype), _ragged(LENGTHS2, 7, dtype=dtype)
    for value in (1, 0.3, 5e-324, 1e308):
        for x1, x2 in zip(tokens1, tokens2, strict=True):
            ours = match(x1, x2, function, np.full(len(x1), value), np.full(len(x2), value))
            for part, plain in zip(ours, match(x1, x2, function), strict=True):
                np.testing.assert_array_equal(part, plain)
        flat = np.full(len(tokens1.values), value), np.full(len(tokens2.values), value)
        np.testing.assert_array_equal(
            ragged_matching(tokens1, tokens2, function, *flat),
            ragged_matching(tokens1, tokens2, function),
        )


def test_zero_weights_leave_tokens_out():
    rng = np.random.default_rng(5)
    x1, x2 = _text(rng, 4), _text(rng, 3)
    w1 = np.array([0.0, 1.0, 2.0, 0.0])
    found = match(x1, x2, "both", w1)
    assert found.similarity == pytest.approx(looped(x1, x2, "both", w1)[3], abs=1e-12)
    tokens1, tokens2 = Ragged.from_rows([x1]), Ragged.from_rows([x2])
    streamed = ragged_matching(tokens1, tokens2, "both", w1)
    assert streamed[0] == pytest.approx(float(found.similarity), abs=1e-12)


def test_an_unknown_function_is_named():
    with pytest.raises(ValueError, match="function='all' must be one of"):
        match([[1.0]], [[1.0]], "all")  # type: ignore[arg-type]

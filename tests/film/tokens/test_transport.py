import builtins
import importlib.util
import itertools
import math
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.optimize

from film.tokens import exact_transport as _exact_transport
from film.tokens import token_pairs as _token_pairs
from film.tokens import transport
from film.tokens.ragged import Ragged

transport_plan: Any = transport.transport_plan
ragged_similarities: Any = transport.ragged_similarities
METHODS = transport.METHODS
RELAXED = ("rcmd1", "rcmd2", "rcmd")
OF_MEANS = ("avg", "rcmd+avg")
exact = pytest.param(
    "cmd", marks=pytest.mark.skipif(importlib.util.find_spec("ot") is None, reason="no POT")
)
ALL = [exact if method == "cmd" else method for method in METHODS]
WEIGHTED = [method for method in ALL if method != "cls"]


def _text(rng, length, h=6):
    return rng.standard_normal((length, h))


def _negative(rng, length, h=6):
    """A text whose tokens all point away from those of `_text` + 5."""
    return -np.abs(rng.standard_normal((length, h))) - 5


def _cosine(a, b):
    norms = math.sqrt(math.fsum(a * a)) * math.sqrt(math.fsum(b * b))
    return math.fsum(a * b) / norms if norms else 0.0


def _weights(rng, length):
    """Weights of which, but for the first token's, some are zero."""
    weights = rng.uniform(0.1, 5, length) * (rng.random(length) < 0.7)
    weights[0] = 2.0
    return weights


def _exact_cost(M, a, b):
    """Optimum of the linear programme, by a solver that knows nothing of transport."""
    L1, L2 = M.shape
    sums = np.vstack([np.kron(np.eye(L1), np.ones(L2)), np.kron(np.ones(L1), np.eye(L2))])
    return scipy.optimize.linprog(M.ravel(), A_eq=sums, b_eq=np.concatenate([a, b])).fun


def looped(x1, x2, method, w1=None, w2=None):
    """The definitions, one pair of tokens after the other: similarity and plan (None for cmd)."""
    L1, L2 = len(x1), len(x2)
    a = [w / math.fsum(w1) for w in w1] if w1 is not None else [1 / L1] * L1
    b = [w / math.fsum(w2) for w in w2] if w2 is not None else [1 / L2] * L2
    S = [[_cosine(a, b) for b in x2] for a in x1]
    T = np.zeros((L1, L2))
    if method == "cmd":
        return 1 - _exact_cost(1 - np.array(S), a, b), None
    if method == "cls":
        T[0, 0] = 1
    if method in ("avg", "rcmd+avg"):
        share = 1 if method == "avg" else 0.5
        s1 = sum(mass * x for mass, x in zip(a, x1, strict=True))
        s2 = sum(mass * x for mass, x in zip(b, x2, strict=True))
        norms = np.linalg.norm(s1) * np.linalg.norm(s2)
        for i in range(L1):
            for j in range(L2):
                size = np.linalg.norm(x1[i]) * np.linalg.norm(x2[j])
                T[i, j] = share * a[i] * b[j] * size / norms if norms else 0
    share = {"rcmd": 0.5, "rcmd+avg": 0.25}.get(method, 1)
    if method in ("rcmd1", "rcmd", "rcmd+avg"):
        for i in range(L1):
            T[i, S[i].index(max(S[i]))] += a[i] * share
    if method in ("rcmd2", "rcmd", "rcmd+avg"):
        for j in range(L2):
            column = [row[j] for row in S]
            T[column.index(max(column)), j] += b[j] * share
    return math.fsum(T[i, j] * S[i][j] for i in range(L1) for j in range(L2)), T


SIZES = [(4, 7), (7, 4), (1, 1), (1, 5), (5, 1), (6, 6)]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("opposed", [False, True])
def test_one_pair_is_the_definition(method, sizes, opposed):
    rng = np.random.default_rng(sum(sizes))
    x1 = _negative(rng, sizes[0]) if opposed else _text(rng, sizes[0])
    x2 = _text(rng, sizes[1]) + 5 * opposed
    assert (_check_definition(x1, x2, method, None, None) < 0) >= opposed


@pytest.mark.parametrize("method", WEIGHTED)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("sides", ["1", "2", "12"])
def test_one_weighted_pair_is_the_definition(method, sizes, sides):
    rng = np.random.default_rng(sum(sizes))
    x1, x2 = _text(rng, sizes[0]), _text(rng, sizes[1])
    w1 = _weights(rng, sizes[0]) if "1" in sides else None
    w2 = _weights(rng, sizes[1]) if "2" in sides else None
    _check_definition(x1, x2, method, w1, w2)


def _check_definition(x1, x2, method, w1, w2):
    similarity, plan = looped(x1, x2, method, w1, w2)
    found = transport_plan(x1, x2, method, weights1=w1, weights2=w2)
    assert found.similarity == pytest.approx(similarity, abs=1e-9)
    tokens1, tokens2 = Ragged.from_rows([x1]), Ragged.from_rows([x2])
    streamed = ragged_similarities(tokens1, tokens2, method, weights1=w1, weights2=w2)
    assert streamed[0] == pytest.approx(similarity, abs=1e-9)
    assert math.fsum(found.contributions.ravel()) == pytest.approx(similarity, abs=1e-9)
    assert 1 - (found.plan * found.cost).sum() == pytest.approx(similarity, abs=1e-9)
    if plan is not None:
        np.testing.assert_allclose(found.plan, plan, rtol=1e-12, atol=1e-15)
    return similarity


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_contributions_are_the_plan_on_cosines_and_sum_to_the_similarity(method, dtype):
    rng = np.random.default_rng(0)
    x1, x2 = _text(rng, 30, 96).astype(dtype), _text(rng, 40, 96).astype(dtype)
    found = transport_plan(x1, x2, method)
    assert {part.dtype for part in found} == {np.dtype(np.float64)}
    S = np.array([[_cosine(a, b) for b in x2.astype(float)] for a in x1.astype(float)])
    np.testing.assert_allclose(found.contributions, found.plan * S, atol=1e-12)
    assert math.fsum(found.contributions.ravel()) == pytest.approx(found.similarity, abs=1e-12)
    # 1 - Σ T∘M, the paper's distance turned around.
    assert 1 - (found.plan * found.cost).sum() == pytest.approx(found.similarity, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_plan_has_its_marginals_and_no_relaxed_one_costs_more(seed):
    pytest.importorskip("ot")
    rng = np.random.default_rng(seed)
    x1, x2 = _text(rng, 5), _text(rng, 8)
    plan, *relaxed = (transport_plan(x1, x2, method).plan for method in ("cmd", "rcmd1", "rcmd2"))
    assert (plan >= 0).all()
    np.testing.assert_allclose(plan.sum(axis=1), 1 / 5, atol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / 8, atol=1e-12)
    S = 1 - transport_plan(x1, x2).cost
    assert min((each * S).sum() for each in relaxed) >= (plan * S).sum()


def test_average_plan_has_the_cost_of_equation_3():
    rng = np.random.default_rng(4)
    x1, x2 = _text(rng, 3), _text(rng, 4)
    found = transport_plan(x1, x2, "avg")
    s = np.linalg.norm(x1.mean(axis=0)) * np.linalg.norm(x2.mean(axis=0))
    for i, a in enumerate(x1):
        for j, b in enumerate(x2):
            ratio = s / (np.linalg.norm(a) * np.linalg.norm(b))
            assert found.cost[i, j] == pytest.approx(ratio - _cosine(a, b))
    assert found.plan.sum() != pytest.approx(1, abs=1e-3)
    assert found.similarity == pytest.approx(_cosine(x1.mean(axis=0), x2.mean(axis=0)))


def test_the_joint_plan_is_the_mean_of_two_and_costs_what_they_cost():
    rng = np.random.default_rng(5)
    x1, x2 = _text(rng, 3), _text(rng, 4)
    found, relaxed, means = (transport_plan(x1, x2, kind) for kind in ("rcmd+avg", "rcmd", "avg"))
    np.testing.assert_allclose(found.plan, (relaxed.plan + means.plan) / 2)
    assert found.similarity == pytest.approx((relaxed.similarity + means.similarity) / 2)
    assert abs(relaxed.similarity - means.similarity) > 1e-3
    paid = [each.plan * each.cost for each in (relaxed, means)]
    np.testing.assert_allclose(found.plan * found.cost, (paid[0] + paid[1]) / 2, atol=1e-12)
    S = 1 - relaxed.cost
    np.testing.assert_allclose(found.cost, (relaxed.plan + 1 / 12) / (2 * found.plan) - S)
    # Where nothing is sent, the cost is that of "rcmd".
    x2 = [[1.0, 0.0], [0.6, 0.8]]
    nowhere = transport_plan([[1.0, 0.0]], x2, "rcmd+avg", weights2=[1, 0])
    assert nowhere.plan.tolist() == [[1, 0]]
    np.testing.assert_allclose(nowhere.cost, [[0, 0.4]], atol=1e-15)


def test_of_equal_cosines_the_first_counts():
    x1, x2 = [[1.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [3.0, 0.0], [1.0, 0.0]]
    assert transport_plan(x1, x2, "rcmd1").plan.tolist() == [[0, 0.5, 0], [0, 0.5, 0]]
    plan = transport_plan(x1, x2, "rcmd2").plan
    np.testing.assert_allclose(plan, [[1 / 3, 1 / 3, 1 / 3], [0, 0, 0]])


@pytest.mark.parametrize("method", ALL)
def test_sides_are_alike_and_lengths_of_vectors_count_in_avg_alone(method):
    rng = np.random.default_rng(9)
    x1, x2 = _text(rng, 5), _text(rng, 7)
    found = transport_plan(x1, x2, method)
    swapped = {"rcmd1": "rcmd2", "rcmd2": "rcmd1"}.get(method, method)
    back = transport_plan(x2, x1, swapped)
    assert back.similarity == pytest.approx(float(found.similarity), abs=1e-12)
    np.testing.assert_allclose(back.plan.T, found.plan, atol=1e-12)
    for scale in (1e-100, 1e100):
        scaled = transport_plan(x1 * scale, x2, method)
        np.testing.assert_allclose(scaled.contributions, found.contributions, atol=1e-12)
        np.testing.assert_allclose(scaled.cost, found.cost, atol=1e-12)
    longer = x1 * rng.uniform(0.1, 10, size=(5, 1))
    same = transport_plan(longer, x2, method).similarity == pytest.approx(float(found.similarity))
    assert same == (method not in OF_MEANS)
    assert transport_plan(x1, x1, method).similarity == pytest.approx(1)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zeros", [[0], [0, 1, 2]])
def test_zero_vectors_have_cosine_zero(method, dtype, zeros):
    rng = np.random.default_rng(10)
    x1, x2 = _text(rng, 3).astype(dtype), _text(rng, 4).astype(dtype)
    x1[zeros] = 0
    # Not zero, but without a reciprocal.
    x1[zeros[-1], 0] = np.finfo(dtype).smallest_subnormal
    found = transport_plan(x1, x2, method)
    for part in found:
        assert np.isfinite(part).all()
    if dtype == np.float64:
        assert not found.contributions[zeros].any()
    texts1, texts2 = Ragged.from_rows([x1]), Ragged.from_rows([x2])
    streamed = ragged_similarities(texts1, texts2, method)
    assert np.isfinite(streamed[0])
    # Means and first tokens are compared in float64, where such a number has a reciprocal.
    if dtype == np.float64 or method not in (*OF_MEANS, "cls"):
        x1[zeros] = 0
        plain = transport_plan(x1, x2, method).similarity
        assert streamed[0] == pytest.approx(float(plain), abs=1e-6)
    if len(zeros) == 3 and dtype == np.float64:
        assert found.similarity == streamed[0] == 0


NOTHING, ONE, TWO = np.zeros((1, 3)), np.array([[1.0, 2.0, 2.0]]), np.array([[0.0, -3.0, 4.0]])
DEGENERATE = {
    "one token of zeros": NOTHING,
    "zeros alone": np.vstack([NOTHING, NOTHING]),
    "zeros first": np.vstack([NOTHING, ONE, TWO]),
    "zeros between": np.vstack([ONE, NOTHING, NOTHING, TWO]),
    "no mean": np.vstack([ONE, -ONE]),
    "no mean, and zeros": np.vstack([ONE, NOTHING, 2 * ONE, -3 * ONE]),
    "no zeros": np.vstack([ONE, TWO, -TWO, 5 * ONE]),
}


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_and_contributions_give_the_similarity_of_any_text(method, weighted):
    for pair in itertools.product(DEGENERATE, repeat=2):
        x1, x2 = (DEGENERATE[name] for name in pair)
        weights = {}
        if weighted and method != "cls":
            # All of it may be that of tokens of zeros.
            weights = {"weights1": np.arange(len(x1))[::-1] + (len(x1) == 1)}
        found = transport_plan(x1, x2, method, **weights)
        assert all(np.isfinite(part).all() for part in found) and (found.plan >= 0).all(), pair
        similarity = pytest.approx(found.similarity, abs=1e-12)
        assert 1 - (found.plan * found.cost).sum() == similarity, pair
        assert found.contributions.sum() == similarity, pair
        rows = Ragged.from_rows([x1]), Ragged.from_rows([x2])
        assert ragged_similarities(*rows, method, **weights)[0] == similarity, pair


@pytest.mark.parametrize("method", WEIGHTED)
def test_tokens_without_weight_send_nothing_yet_are_partners(method):
    rng = np.random.default_rng(11)
    x1, x2 = _text(rng, 6), _text(rng, 5)
    x2[4] = x1[0]
    w1, w2 = np.array([1.0, 2, 0, 3, 0, 1]), np.array([1.0, 0, 2, 1, 0])
    found = transport_plan(x1, x2, method, weights1=w1, weights2=w2)
    some1, some2 = w1 > 0, w2 > 0
    without = transport_plan(x1[some1], x2[some2], method, weights1=w1[some1], weights2=w2[some2])
    if method in ("cmd", "avg"):
        assert found.similarity == pytest.approx(float(without.similarity), abs=1e-12)
        assert not found.plan[~some1].any() and not found.plan[:, ~some2].any()
        np.testing.assert_allclose(found.plan[np.ix_(some1, some2)], without.plan, atol=1e-12)
    elif method == "rcmd+avg":
        assert found.plan[0, 4] == pytest.approx(1 / 7 / 4)
    elif method != "rcmd2":
        assert found.plan[0, 4] == pytest.approx(1 / 7 * (1 if method == "rcmd1" else 0.5))
        assert found.similarity > without.similarity
    if method in ("cmd", "rcmd1"):
        np.testing.assert_allclose(found.plan.sum(axis=1), w1 / 7, atol=1e-12)
    if method in ("cmd", "rcmd2"):
        np.testing.assert_allclose(found.plan.sum(axis=0), w2 / 4, atol=1e-12)
    assert np.isfinite(found.cost).all()


@pytest.mark.parametrize("method", WEIGHTED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 6, 64])
def test_equal_weights_are_no_weights(method, dtype, width):
    lengths1, lengths2 = [3, 9, 1, 30], [10, 1, 7, 25]
    tokens1, tokens2 = (
        _ragged(lengths, seed, width, dtype) for seed, lengths in enumerate((lengths1, lengths2))
    )
    for value in (1, 0.3, 5e-324, 1e308):
        for x1, x2 in zip(tokens1, tokens2, strict=True):
            equal = {"weights1": np.full(len(x1), value), "weights2": np.full(len(x2), value)}
            ours, plain = transport_plan(x1, x2, method, **equal), transport_plan(x1, x2, method)
            for part, expected in zip(ours, plain, strict=True):
                np.testing.assert_array_equal(part, expected)
        flat = {
            "weights1": np.full(len(tokens1.values), value),
            "weights2": np.full(len(tokens2.values), value),
        }
        np.testing.assert_array_equal(
            ragged_similarities(tokens1, tokens2, method, **flat),
            ragged_similarities(tokens1, tokens2, method),
        )


@pytest.mark.parametrize("method", WEIGHTED)
def test_weights_have_no_unit(method):
    rng = np.random.default_rng(12)
    x1, x2 = _text(rng, 6), _text(rng, 9)
    w1, w2 = _weights(rng, 6), _weights(rng, 9)
    tokens1, tokens2 = Ragged.from_rows([x1]), Ragged.from_rows([x2])
    found = transport_plan(x1, x2, method, weights1=w1, weights2=w2)
    for scale1, scale2 in ((7, 0.01), (3e307, 1e-300), (1e-300, 3e307)):
        scaled = {"weights1": w1 * scale1, "weights2": w2 * scale2}
        again = transport_plan(x1, x2, method, **scaled)
        np.testing.assert_allclose(again.plan, found.plan, atol=1e-12)
        for similarity in (
            again.similarity,
            ragged_similarities(tokens1, tokens2, method, **scaled)[0],
        ):
            assert similarity == pytest.approx(float(found.similarity), abs=1e-12)


LENGTHS1, LENGTHS2 = [3, 9, 1, 4, 30, 2], [5, 1, 1, 8, 25, 2]


def _ragged(lengths, seed, h=6, dtype: Any = np.float64, offset=0.0):
    rng = np.random.default_rng(seed)
    return Ragged.from_rows([(_text(rng, n, h) + offset).astype(dtype) for n in lengths])


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("dtypes", [(np.float16, np.float16), (np.float32, np.float64)])
def test_streamed_and_explained_similarities_agree(method, dtypes):
    tokens1 = _ragged(LENGTHS1, 0, h=384, dtype=dtypes[0], offset=0.3)
    tokens2 = _ragged(LENGTHS2, 1, h=384, dtype=dtypes[1], offset=0.3)
    streamed = ragged_similarities(tokens1, tokens2, method)
    for a, b, similarity in zip(tokens1, tokens2, streamed, strict=True):
        found = transport_plan(a, b, method)
        assert similarity == pytest.approx(float(found.similarity), abs=1e-6)
        assert similarity == pytest.approx(found.contributions.sum(), abs=1e-6)


@pytest.mark.parametrize("method", ALL)
def test_pairs_do_not_know_of_each_other(method):
    tokens1 = _ragged(LENGTHS1, 2, h=32, dtype=np.float32)
    tokens2 = _ragged(LENGTHS2, 3, h=32, dtype=np.float32)
    pairs = np.array([[0, 5], [4, 4], [0, 5], [5, 0], [2, 2]])
    found = ragged_similarities(tokens1, tokens2, method, pairs=pairs)
    np.testing.assert_array_equal(
        ragged_similarities(tokens1[pairs[:, 0]], tokens2[pairs[:, 1]], method), found
    )
    for k, pair in enumerate(pairs):
        assert ragged_similarities(tokens1, tokens2, method, pairs=[pair])[0] == found[k]
    assert ragged_similarities(tokens1, tokens2, method, pairs=[]).shape == (0,)
    one = ragged_similarities(tokens1, tokens1, method, pairs=[[1, 4]])
    assert one[0] == ragged_similarities(tokens1, tokens1[:], method, pairs=[[1, 4]])[0]


@pytest.mark.parametrize("method", WEIGHTED)
def test_streamed_pairs_take_the_weights_of_their_texts(method):
    tokens1, tokens2 = _ragged(LENGTHS1, 2), _ragged(LENGTHS2, 3)
    rng = np.random.default_rng(14)
    texts1, texts2 = ([_weights(rng, n) for n in lengths] for lengths in (LENGTHS1, LENGTHS2))
    w1, w2 = np.concatenate(texts1), np.concatenate(texts2)
    before = w1.copy()
    pairs = [[0, 5], [4, 4], [0, 5], [5, 0], [2, 2], [1, 3]]
    found = ragged_similarities(tokens1, tokens2, method, weights1=w1, weights2=w2, pairs=pairs)
    for k, (i, j) in enumerate(pairs):
        similarity, _ = looped(tokens1[i], tokens2[j], method, texts1[i], texts2[j])
        assert found[k] == pytest.approx(similarity, abs=1e-9)
    np.testing.assert_array_equal(w1, before)
    joined = ragged_similarities(tokens1, tokens1, method, weights1=w1, weights2=before[::-1])
    assert joined[0] == pytest.approx(
        looped(tokens1[0], tokens1[0], method, texts1[0], before[::-1][:3])[0], abs=1e-9
    )


def test_texts_without_tokens_may_stand_by():
    tokens = Ragged.from_rows([np.eye(2), np.zeros((0, 2))])
    assert ragged_similarities(tokens, tokens, pairs=[[0, 0]]).tolist() == [1]
    around = Ragged.from_rows([np.zeros((0, 2)), np.eye(2), np.zeros((0, 2)), np.ones((1, 2))])
    weights = [3.0, 1.0, 0.5]
    found = ragged_similarities(
        around, around, "rcmd1", weights1=weights, weights2=weights, pairs=[[1, 1], [3, 3], [1, 3]]
    )
    np.testing.assert_allclose(found, [1, 1, np.sqrt(0.5)])
    assert not len(ragged_similarities(tokens[1:], tokens[1:], weights1=[], weights2=[], pairs=[]))
    # So may texts without weight.
    with np.errstate(all="raise"):
        found = ragged_similarities(around, around, weights1=[1, 1, 0], pairs=[[1, 3]])
    assert found[0] == pytest.approx(np.sqrt(0.5))
    assert ragged_similarities(Ragged.from_rows([]), tokens[:0]).shape == (0,)


def test_progress_is_told_in_blocks(monkeypatch):
    monkeypatch.setattr(_token_pairs, "TOLD", 4)
    monkeypatch.setattr(_token_pairs, "ROWS", 5)
    tokens = _ragged([2, 3, 1] * 3, 4)
    told = []
    found = ragged_similarities(tokens, tokens[::-1], advance=told.append)
    assert told == [4, 4, 1]
    expected = [looped(a, b, "rcmd")[0] for a, b in zip(tokens, tokens[::-1], strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    told.clear()
    ragged_similarities(tokens[:4], tokens[:4], advance=told.append)
    assert told == [4]


@pytest.mark.slow
def test_processes_do_not_change_exact_transport(monkeypatch):
    pytest.importorskip("ot")
    monkeypatch.setattr(_exact_transport, "SENT", 3)
    # The first block takes longest, and is still the first.
    tokens1 = _ragged([150, *LENGTHS1], 5, h=64, dtype=np.float32)
    tokens2 = _ragged([140, *LENGTHS2], 6, h=64, dtype=np.float32)
    told = []
    found = ragged_similarities(tokens1, tokens2, "cmd", n_jobs=2, advance=told.append)
    np.testing.assert_array_equal(found, ragged_similarities(tokens1, tokens2, "cmd"))
    assert told == [3, 3, 1]
    rng = np.random.default_rng(16)
    for w2 in (None, rng.uniform(0, 1, len(tokens2.values))):
        given = {"weights1": rng.integers(0, 3, len(tokens1.values)) + 1e-9, "weights2": w2}
        weighted = ragged_similarities(tokens1, tokens2, "cmd", n_jobs=2, **given)
        np.testing.assert_array_equal(
            weighted, ragged_similarities(tokens1, tokens2, "cmd", **given)
        )
        assert (weighted != found).any()
    assert not len(ragged_similarities(tokens1[:0], tokens2[:0], "cmd", n_jobs=2))


def test_blocks_of_pairs_come_back_in_their_order(monkeypatch):
    pytest.importorskip("ot")
    monkeypatch.setattr(_exact_transport, "SENT", 3)
    tokens1, tokens2 = _ragged(LENGTHS1, 5), _ragged(LENGTHS2, 6)
    told = []
    # Threads start at once, and processes in seconds.
    with joblib.parallel_config(backend="threading"):
        found = ragged_similarities(tokens1, tokens2, "cmd", n_jobs=2, advance=told.append)
    np.testing.assert_array_equal(found, ragged_similarities(tokens1, tokens2, "cmd"))
    assert told == [3] * (len(found) // 3) + [len(found) % 3] * (len(found) % 3 > 0)


@pytest.mark.parametrize("sides", [(0,), (1,), (0, 1)])
def test_the_solver_is_spared_tokens_without_mass(sides, monkeypatch):
    ot = pytest.importorskip("ot")
    given = []
    solve = ot.emd

    def watched(mass1, mass2, *args, **settings):
        given.append((len(mass1), len(mass2)))
        return solve(mass1, mass2, *args, **settings)

    monkeypatch.setattr(ot, "emd", watched)
    weights = [np.ones(4), np.ones(5)]
    for side in sides:
        weights[side][:2] = 0
    x1, x2 = np.random.default_rng(0).standard_normal((2, 5, 3))
    plan = transport_plan(x1[:4], x2, "cmd", weights1=weights[0], weights2=weights[1]).plan
    assert given == [tuple(np.count_nonzero(w) for w in weights)]
    np.testing.assert_allclose(plan.sum(axis=1), weights[0] / weights[0].sum(), atol=1e-15)
    np.testing.assert_allclose(plan.sum(axis=0), weights[1] / weights[1].sum(), atol=1e-15)


def test_a_solver_that_stops_early_is_an_error(monkeypatch):
    pytest.importorskip("ot")
    monkeypatch.setattr(_exact_transport, "MAX_ITERATIONS", 1)
    rng = np.random.default_rng(0)
    with (
        pytest.warns(UserWarning, match="numItermax"),
        pytest.raises(RuntimeError, match="stopped before the optimum"),
    ):
        transport_plan(_text(rng, 8), _text(rng, 9), "cmd")


def test_a_missing_solver_is_named_before_any_work(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ot" else found(name)
    )
    with pytest.raises(ImportError, match=r"film-metric\[transport\]"):
        transport_plan([[1.0]], [[1.0]], "cmd")
    for n_jobs in (1, 2):
        with pytest.raises(ImportError, match=r"film-metric\[transport\]"):
            ragged_similarities(Ragged.from_rows([]), Ragged.from_rows([]), "cmd", n_jobs=n_jobs)


def test_the_solver_is_loaded_for_exact_transport_alone(monkeypatch):
    def load(name, *args, **kwargs):
        assert name.split(".")[0] != "ot"
        return true_import(name, *args, **kwargs)

    true_import = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", load)
    tokens = _ragged([2], 0)
    for method in (*RELAXED, *OF_MEANS, "cls"):
        transport_plan(tokens[0], tokens[0], method)
        ragged_similarities(tokens, tokens, method)


def _with_nan():
    tokens = _ragged([1, 2, 3], 0)
    values = tokens.values.copy()
    values[3, 2] = np.nan
    return Ragged(values, tokens.starts)


def test_bad_input_is_named_before_any_work():
    tokens = _with_nan()
    for method, message in (("wmd", "method='wmd' must be one of"), ("rcmd", "holds NaN")):
        with pytest.raises(ValueError, match=message):
            transport_plan(tokens[2], tokens[0], method)
        with pytest.raises(ValueError, match=message):
            ragged_similarities(tokens, tokens, method, advance=pytest.fail)

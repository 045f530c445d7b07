import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, recall_score

from film.pairs.log_loss import binary_log_loss
from film.pairs.neighbours import cells as _cells
from film.pairs.neighbours import cosines as _cosines
from film.pairs.neighbours import rank_search as _rank_search
from film.pairs.neighbours.cosines import (
    directions,
    exact_cosines,
    exact_units,
    product_bound,
    tie_width,
)
from film.pairs.priors import prior_weights, shift_prior
from film.pairs.ranks import INFINITE_RANK, effective_ranks, neighbour_ranks, rates_over_k


def _closeness(x, z):
    """cos(x, z)·|cos(x, z)|·‖x‖², which orders as the cosine does, in exact arithmetic."""
    product = sum((a * b for a, b in zip(x, z, strict=True)), Fraction(0))
    return product * abs(product) / sum(b * b for b in z)


def exact_ranks(points, pairs, corpus=None):
    """Ranks by a loop in rational arithmetic: no rounding, no blocks, no sharing."""
    rows = [[Fraction(float(value)) for value in row] for row in points]
    corpus = range(len(rows)) if corpus is None else corpus
    ranks = np.zeros((len(pairs), 2), dtype=np.int64)
    for i, pair in enumerate(pairs):
        for side in (0, 1):
            x, other = pair[side], pair[1 - side]
            if x == other:
                continue
            if not any(rows[x]) or not any(rows[other]):
                ranks[i, side] = INFINITE_RANK
                continue
            limit = _closeness(rows[x], rows[other])
            ranks[i, side] = sum(
                _closeness(rows[x], rows[z]) > limit
                for z in corpus
                if z not in (x, other) and any(rows[z])
            )
    return ranks


def _random(rng):
    return rng.standard_normal((60, 6))


def _float32(rng):
    return rng.standard_normal((60, 6)).astype(np.float32)


def _tied(rng):
    # Small integers: many equal cosines between different directions, many zero rows.
    return rng.integers(-1, 2, size=(60, 3)).astype(float)


def _duplicated(rng):
    points = rng.standard_normal((8, 5))[rng.integers(8, size=60)]
    points[rng.integers(60, size=6)] = 0
    return points


def _near_tied(rng):
    # Families 1e-9 apart, where float32 sees one cosine and float64 several.
    return rng.standard_normal((6, 5))[np.arange(60) % 6] + 1e-9 * rng.standard_normal((60, 5))


def _near_tied_copies(rng):
    return _near_tied(rng)[rng.integers(20, size=60)]


def _opposite(rng):
    return rng.choice([-1.0, 1.0], size=(60, 1)) * rng.uniform(1, 2, size=(60, 1))


KINDS = [_random, _float32, _tied, _duplicated, _near_tied, _near_tied_copies, _opposite]


def _case(kind, seed=0, n_pairs=40):
    rng = np.random.default_rng(seed)
    points = kind(rng)
    pairs = rng.integers(len(points), size=(n_pairs, 2))
    # Within a family the cosines are 1 − 1e-18: beyond float64, hence ties by definition.
    left, right = points[pairs[:, 0]], points[pairs[:, 1]]
    family = (left != right).any(axis=1) & (np.abs(left - right).max(axis=1) < 1e-7)
    pairs = pairs[~family]
    return points, pairs, rng


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_are_the_exact_loops(kind, seed):
    points, pairs, _ = _case(kind, seed)
    np.testing.assert_array_equal(neighbour_ranks(points, pairs), exact_ranks(points, pairs))


@pytest.mark.parametrize("kind", KINDS)
def test_corpus_without_the_pairs(kind):
    points, pairs, rng = _case(kind)
    corpus = np.setdiff1d(np.arange(60), pairs[:15].ravel())
    assert len(corpus) > 20
    corpus = rng.permutation(corpus)
    np.testing.assert_array_equal(
        neighbour_ranks(points, pairs, corpus), exact_ranks(points, pairs, corpus)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_and_chunks_change_nothing(kind, monkeypatch):
    points, pairs, _ = _case(kind)
    expected = neighbour_ranks(points, pairs)
    for n_queries in (1, 2, 7, 1000):
        monkeypatch.setattr(_rank_search, "_BLOCK_QUERIES", n_queries)
        monkeypatch.setattr(_rank_search, "_TILE_BYTES", 4 * 255 * n_queries)
        monkeypatch.setattr(_rank_search, "_TILE_ROWS", min(255, 3 * n_queries))
        np.testing.assert_array_equal(neighbour_ranks(points, pairs), expected)
    monkeypatch.setattr(_cosines, "_CHUNK_NUMBERS", 11)
    np.testing.assert_array_equal(neighbour_ranks(points, pairs), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_length_of_rows_does_not_matter(kind):
    points, pairs, rng = _case(kind)
    points = points.astype(np.float64)
    ranks = neighbour_ranks(points, pairs)
    # Not powers of two: rounding parts multiples of a row, and they must still tie.
    scaled = points * rng.uniform(0.1, 10, size=(60, 1))
    if kind not in (_near_tied, _near_tied_copies):
        np.testing.assert_array_equal(neighbour_ranks(scaled, pairs), ranks)
    powers = np.ldexp(1.0, rng.integers(-900, 900, size=(60, 1)))
    np.testing.assert_array_equal(neighbour_ranks(points * powers, pairs), ranks)


def test_what_float64_cannot_tell_is_a_tie():
    points = _near_tied(np.random.default_rng(0))
    # All ten of a family have cosine 1 − 1e-18 with one another.
    np.testing.assert_array_equal(neighbour_ranks(points, [[0, 6], [12, 54]]), 0)


def test_a_gap_of_just_the_width_of_ties_is_a_tie():
    # Of length 1 in float64, with cosines of 0, the width and a step more with the first row.
    points = np.array([[1.0, 0.0], [0.0, 1.0], [tie_width(2), 1.0]])
    assert neighbour_ranks(points, [[0, 1]]).tolist() == [[0, 1]]
    points[2, 0] = np.nextafter(tie_width(2), 1)
    assert neighbour_ranks(points, [[0, 1]]).tolist() == [[1, 1]]


def test_copies_of_a_query_stand_before_a_partner_that_is_farther_than_the_width_of_ties():
    # With cosines of 1 − 8ε, the width, and of 1 − 32ε: c² + 2(1 − c) is 1 in float64.
    eps = np.finfo(float).eps
    for gap, rank in ((tie_width(2), 0), (32 * eps, 1)):
        partner = [1 - gap, np.sqrt(2 * gap)]
        points = np.array([[1.0, 0.0], partner, [1.0, 0.0]])
        np.testing.assert_array_equal(exact_units(points, np.arange(3)), points)
        assert neighbour_ranks(points, [[0, 1]])[0, 0] == rank


def test_no_pairs():
    assert neighbour_ranks(np.eye(3), []).shape == (0, 2)
    assert neighbour_ranks(np.eye(3), np.empty((0, 2), int)).dtype == np.int64


def test_thousands_of_copies_cost_one_and_multiples_little_memory(monkeypatch):
    monkeypatch.setattr(_cells, "usable_cores", lambda: 1)
    rng = np.random.default_rng(0)
    points = rng.standard_normal((12_000, 16))
    points[:5000] = points[0]
    assert len(np.unique(directions(points, np.arange(12_000)))) == 7001
    pairs = np.column_stack([np.arange(5000), np.arange(5000)[::-1]])
    np.testing.assert_array_equal(neighbour_ranks(points, pairs), 0)
    # Multiples are copies only up to rounding, so that each is weighed in float64.
    points[:2000] *= rng.uniform(0.5, 2, size=(2000, 1))
    pairs = np.column_stack([np.arange(300), np.arange(11_000, 11_300)])
    tracemalloc.start()
    ranks = neighbour_ranks(points, pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (ranks[:, 0] >= 4999).all()
    assert peak < 64 * 2**20


@pytest.mark.slow
def test_many_doubtful_columns_stay_within_bounds(monkeypatch):
    # The bound is that of one thread.
    monkeypatch.setattr(_cells, "usable_cores", lambda: 1)
    # Orthogonal halves: every column of the other half ties with x′ at cosine 0. One point in
    # many pairs has all its doubts in one block: 600 · 3999 indices would be 18 MiB.
    rng = np.random.default_rng(0)
    points = np.zeros((8000, 4))
    points[:4000, :2] = rng.uniform(0.1, 1, size=(4000, 2))
    points[4000:, 2:] = rng.uniform(0.1, 1, size=(4000, 2))
    pairs = np.column_stack([np.zeros(600, int), np.arange(4000, 4600)])
    tracemalloc.start()
    ranks = neighbour_ranks(points, pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(ranks, 3999)
    assert peak < 32 * 2**20


@pytest.mark.parametrize("d", [1, 3, 100, 1000])
def test_float32_products_stay_within_their_bound(d):
    rng = np.random.default_rng(d)
    # All entries positive is the hard case: every term of the product has full weight.
    points = np.abs(rng.standard_normal((400, d)))
    rows = np.arange(400)
    single = exact_units(points, rows).astype(np.float32)
    products = (single @ single.T).astype(np.float64)
    for i in range(0, 400, 57):
        error = np.abs(products[i] - exact_cosines(points, np.array([i]), rows)).max()
        assert error <= product_bound(d)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 100, 1000])
def test_equal_cosines_stay_within_the_tie_width(d):
    rng = np.random.default_rng(d)
    x, z = rng.standard_normal((2, d))
    multiples = np.vstack([x, z * rng.uniform(0.1, 10, size=(2000, 1))])
    cosines = exact_cosines(multiples, np.array([0]), np.arange(1, 2001))
    assert np.ptp(cosines) <= tie_width(d)
    assert abs(cosines[0] - x @ z / np.linalg.norm(x) / np.linalg.norm(z)) <= d * 4e-16


def test_float64_cosines_do_not_depend_on_company():
    points = np.random.default_rng(0).standard_normal((50, 37))
    rows = np.arange(50)
    together = exact_cosines(points, rows[::-1], rows)
    alone = [exact_cosines(points, rows[[49 - i]], rows[[i]])[0] for i in rows]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, exact_cosines(points, rows, rows[::-1]))


def test_directions_are_told_apart_to_the_bit():
    points = np.array([[0.0, 1], [0, 0], [-0.0, 2], [0, 1 + 1e-15], [1e-15, 1], [-0.0, 0], [3, 4]])
    found = directions(points, np.array([0, 1, 2, 3, 4, 5]))
    assert found.tolist() == [0, -1, 0, 0, 4, -1, -1]


def test_colliding_hashes_leave_rows_apart(monkeypatch):
    class Ones:
        def integers(self, *_, size, dtype):
            return np.zeros(size, dtype)

    points, pairs, _ = _case(_duplicated)
    expected = neighbour_ranks(points, pairs)
    # Multipliers of 1 make the hash a plain sum, so that permuted rows collide.
    monkeypatch.setattr(np.random, "default_rng", lambda _: Ones())
    mirrored = np.vstack([points, points[:, ::-1]])
    assert directions(np.array([[1.0, 2.0], [2.0, 1.0]]), np.arange(2)).tolist() == [0, 1]
    np.testing.assert_array_equal(neighbour_ranks(mirrored, pairs, np.arange(60)), expected)


@pytest.mark.parametrize(
    ("points", "pairs", "options", "error", "message"),
    [
        (np.eye(3)[0], [[0, 1]], {}, ValueError, r"points must have shape \(n, d\)"),
        (np.empty((0, 3)), [], {}, ValueError, "at least 1"),
        ([["a", "b"]], [[0, 0]], {}, TypeError, "points must be a dense array"),
        ([[1.0], [np.nan]], [[0, 1]], {}, ValueError, "points.1, 0. is nan"),
        ([[1.0], [np.inf]], [[0, 0]], {}, ValueError, "points.1, 0. is inf"),
        (np.eye(3), [[0, 3]], {}, ValueError, r"pairs\[0\] is \[0, 3\]"),
        (np.eye(3), [[0, 1], [-1, 1]], {}, ValueError, r"pairs\[1\]"),
        (np.eye(3), [[0, 1, 2]], {}, ValueError, r"pairs must have shape \(n, 2\)"),
        (np.eye(3), [[0.0, 1.0]], {}, TypeError, "pairs must hold integers"),
        (np.eye(3), [[0, 1]], {"corpus": []}, ValueError, "corpus is empty"),
        (np.eye(3), [[0, 1]], {"corpus": [1, 2, 1]}, ValueError, "corpus names row 1 2 times"),
        (np.eye(3), [[0, 1]], {"corpus": [5]}, ValueError, r"corpus\[0\] is 5"),
        (np.eye(3), [[0, 1]], {"corpus": [True] * 3}, TypeError, "flatnonzero for a mask"),
    ],
)
def test_bad_input_is_named(points, pairs, options, error, message):
    with pytest.raises(error, match=message):
        neighbour_ranks(points, pairs, **options)


RANKS = np.array([[0, 4], [2, 1], [9, 0], [3, 3], [INFINITE_RANK, 0]])


@pytest.mark.parametrize("mode", ["both", "either"])
def test_one_effective_rank_answers_every_k(mode):
    combine = np.logical_and if mode == "both" else np.logical_or
    for k in range(1, 12):
        expected = combine(RANKS[:, 0] < k, RANKS[:, 1] < k)
        np.testing.assert_array_equal(effective_ranks(RANKS, mode) < k, expected)
        np.testing.assert_array_equal(effective_ranks(RANKS[:, ::-1], mode) < k, expected)


def _judged(seed=0, n=400):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    effective = (rng.exponential(20, size=n) * (2 - y)).astype(np.int64)
    effective[rng.integers(n, size=20)] = INFINITE_RANK
    return effective, y


def test_rates_are_scikit_learns_at_each_k():
    effective, y = _judged()
    ks = [36, 1, 5, 200, 5]
    rates = rates_over_k(effective, y, ks)
    np.testing.assert_array_equal(rates.ks, ks)
    for i, k in enumerate(ks):
        called = effective < k
        (tn, fp), (fn, tp) = confusion_matrix(y, called)
        assert rates.true_positives[i] == tp and rates.false_positives[i] == fp
        assert rates.true_negatives[i] == tn and rates.false_negatives[i] == fn
        assert rates.tpr[i] == pytest.approx(recall_score(y, called))
        assert rates.tnr[i] == pytest.approx(recall_score(y, called, pos_label=0))
        assert rates.fpr[i] == pytest.approx(1 - rates.tnr[i])
        assert rates.fnr[i] == pytest.approx(1 - rates.tpr[i])
        assert rates.accuracy[i] == pytest.approx(accuracy_score(y, called))
        assert rates.inside_rate[i] == pytest.approx((tp + 1) / (tp + fp + 2))
        assert rates.outside_rate[i] == pytest.approx((fn + 1) / (fn + tn + 2))
        p = np.where(called, rates.inside_rate[i], rates.outside_rate[i])
        assert rates.log_loss[i] == pytest.approx(log_loss(y, p))


def test_log_loss_at_another_prior_is_that_of_weighted_rows():
    effective, y = _judged(1)
    rates = rates_over_k(effective, y, [1, 10, 10**6])
    share, prior = float(np.mean(y)), 0.1746
    at_prior = rates.log_loss_at(prior)
    for i, k in enumerate(rates.ks):
        p = np.where(effective < k, rates.inside_rate[i], rates.outside_rate[i])
        expected = binary_log_loss(y, shift_prior(p, share, prior), prior_weights(y, prior))
        assert at_prior[i] == pytest.approx(expected)
    np.testing.assert_allclose(rates.log_loss_at(share), rates.log_loss)
    np.testing.assert_allclose(rates_over_k(effective, y, [1]).log_loss_at(prior), at_prior[:1])


def test_no_ks_and_frozen():
    rates = rates_over_k([0, 2], [1, 0], [])
    assert rates.tpr.shape == rates.log_loss_at(0.5).shape == (0,)
    with pytest.raises(AttributeError):
        setattr(rates, "tpr", rates.fpr)  # noqa: B010


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: effective_ranks(RANKS, "all"),  # type: ignore
            ValueError,
            "mode must be 'both' or 'either', got 'all'",
        ),
        (lambda: effective_ranks([1, 2]), ValueError, r"ranks must have shape \(n, 2\)"),
        (lambda: effective_ranks([[0.5, 1]]), TypeError, "ranks must hold integers"),
        (
            lambda: effective_ranks([[-1, 1]]),
            ValueError,
            r"ranks\[0\] is \[-1, 1\], but ranks must not be negative",
        ),
        (lambda: rates_over_k([0, 1], [1, 1], [1]), ValueError, "only the class 1"),
        (lambda: rates_over_k([0, 1], [0, 0], [1]), ValueError, "only the class 0"),
        (lambda: rates_over_k([0, 1], [1], [1]), ValueError, r"must have shape \(1,\), as y has"),
        (lambda: rates_over_k([0, 1], [1, 0], [0]), ValueError, "ks must be at least 1"),
        (lambda: rates_over_k([0, 1], [1, 0], [1.5]), TypeError, "ks must hold integers"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()

"""Expected precision against known truth, and rounds against a loop."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, logit

from film.judge import expected_precision, matching_rounds

N_ROWS, N_OTHERS = 600, 8


def _table(seed, share=0.2, shift=0.0, size=2, fall=0.5, apart=5.0):
    """Pairs of rows, their log-odds, and which are duplicates, in groups of a size."""
    rng = np.random.default_rng(seed)
    n_groups = int(share * N_ROWS / size)
    members = np.arange(n_groups * size).reshape(n_groups, size)
    i, j = np.triu_indices(size, 1)
    same = np.column_stack([members[:, i].ravel(), members[:, j].ravel()])
    first = np.repeat(np.arange(N_ROWS), N_OTHERS)
    other = np.column_stack([first, (first + 1 + rng.integers(size, N_ROWS - size, len(first)))])
    other[:, 1] %= N_ROWS
    other = np.unique(np.sort(other, axis=1), axis=0)
    other = other[(other[:, 0] // size != other[:, 1] // size) | (other[:, 0] >= n_groups * size)]
    pairs = np.concatenate([same, other])
    # Neighbours are the upper end of all pairs: their scores fall off exponentially.
    odds = np.concatenate(
        [rng.normal(apart - 3, 1, len(same)), -3.5 + rng.exponential(fall, len(other))]
    )
    order = rng.permutation(len(pairs))
    return pairs[order], expit(odds + shift)[order], np.arange(len(pairs))[order] < len(same)


def _f1(scores, same, threshold):
    listed = scores >= threshold
    return 2 * same[listed].sum() / max(1, listed.sum() + same.sum())


def slow_rounds(pairs, scores, n_rounds):
    expected = np.full(len(pairs), n_rounds)
    used = [set() for _ in range(n_rounds)]
    for place in np.argsort(-scores, kind="stable").tolist():
        ends = set(pairs[place].tolist())
        for number in range(n_rounds):
            if not ends & used[number]:
                used[number] |= ends
                expected[place] = number
                break
    return expected


def slow_evidence(X, counts, weight, mean, spread, offset, start):
    """The highest penalised likelihood of counts, and half the logarithm of its curvature less."""

    beta = start
    for _ in range(100):
        expected = np.exp(X @ beta + offset) * weight
        slope = X.T @ (expected - weight * counts) + (beta - mean) / spread**2
        if np.abs(slope).max() < 1e-6:  # of a convex function: this is its lowest point
            break
        curvature = X.T * expected @ X + np.diag(1 / spread**2)
        step = np.linalg.solve(curvature, slope)
        beta = beta - step / max(1, np.abs(step).max())
    else:
        raise AssertionError("no highest point found")
    loss = np.sum(expected - weight * counts * (X @ beta + offset))
    loss += np.sum(((beta - mean) / spread) ** 2) / 2
    curvature = X.T * expected @ X + np.diag(1 / spread**2)
    return -loss - np.linalg.slogdet(curvature)[1] / 2, beta


def slow_two_parts(x, differs):
    """The bin of the lower mode and the valley; None if there is one part or many above differ."""
    edges = np.linspace(-14, 7, 85)
    counts = np.histogram(x, edges)[0]
    for _ in range(2):
        padded = np.pad(counts, 2)
        counts = [padded[i : i + 5] @ [1, 2, 3, 2, 1] / 9 for i in range(84)]
    run, depths = [], {}
    for i in range(40, 84):  # from -4 on
        lower = min(max(counts[: i + 1]), max(counts[i:]))
        if counts[i] < 0.6 * lower and lower >= 20 and np.mean(x < edges[i + 1]) > 0.1:
            run = [*run, i] if i - 1 in run else [i]
            depths[i] = counts[i] / lower
    if not run:
        return None, None
    valley = edges[min(run, key=depths.get)]
    if np.mean(differs[x >= valley]) > 1 / 3 or np.mean(x[x >= valley] > 0) < 1 / 3:
        return None, None
    return max(0, int(np.argmax(counts[: run[0]])) - 32), valley


def slow_expected(
    pairs,
    scores,
    two_tables=False,
    one_to_one=False,
    by_column=False,
    alone=False,
    differs=None,
):
    """Precision, recall, their intervals and F1 by the model, for one of its cases at a time."""
    x = logit(np.clip(scores, 1e-9, 1 - 1e-9))
    rows_of = [set(side) for side in pairs.T.tolist()]
    n_rows = min(map(len, rows_of)) if two_tables else len(set.union(*rows_of))
    differs = np.zeros(len(x), bool) if differs is None else differs
    lower = valley = None
    if by_column and not two_tables:
        lower, valley = slow_two_parts(x[scores < 1], differs[scores < 1])
    pairs, scores, x = (values[x >= -6] for values in (pairs, scores, x))
    rounds = slow_rounds(pairs, scores, 5)[scores < 1]
    x = x[scores < 1]
    edges = np.linspace(-6, 7, 53)
    counts = np.array([np.histogram(x[rounds == k], edges)[0] for k in range(5)])
    later = np.pad(counts[1:].sum(axis=0), 2)
    smooth = [later[i : i + 5] @ [1, 2, 3, 2, 1] / 9 for i in range(52)]
    first = int(np.argmax(smooth)) if lower is None else lower
    first = min(first, 20)  # where the log-odds are -1
    rows, weight, at = [], [], []
    for k, n in enumerate(counts):
        for i in range(first, 52):
            depth = (i - first) / 4
            changes = [max(depth - knot, 0) for knot in (1, 2, 3, 4)]
            levels = [float(k == number) for number in (1, 2, 3, 4)]
            rows.append([1, depth, *changes, *levels, np.log(1 + k) * depth])
            about = (n[max(i - 1, first)] + 2 * n[i] + n[min(i + 1, 51)]) / 4
            weight.append(1 / (8 + 0.2**2 * about))
            at.append((edges[i] + 0.125, k))
    X, weight, (middles, k) = np.array(rows), np.array(weight), np.array(at).T
    mean = np.array([0, -0.8, -0.2, -0.2, -0.2, -0.2, 0, 0, 0, 0, -0.25])
    spread = np.array([100, 1, 0.5, 0.5, 0.5, 0.5, 1, 1, 1, 1, 0.4])
    kinds = [(0.02, 0.6, 2.8, 0.4), (0.15, 0.25, 2.8, 0.4), (1.0, 0.15, 4.0, 0.25)]
    usual_crossing = {False: [(0.8, 1), (-0.3, 1.2)], True: [(2, 1), (2, 2)]}
    centre, width = (0, 0.5) if alone else usual_crossing[by_column][two_tables]
    if valley is not None:
        centre, width = valley, 1.0
    listed = rounds == 0 if one_to_one else np.ones(len(x), dtype=bool)
    thresholds = np.arange(1, 100) / 100
    cell = (x[:, None] >= logit(thresholds)).sum(axis=1) * 9 + rounds
    means = x.copy()
    for one in set(cell):
        means[cell == one] = x[cell == one].mean()
    from_here = (x[:, None] >= logit(thresholds)) & listed[:, None]
    n, start = from_here.sum(axis=0), mean.copy()
    prior, evidence, true, whole = [], [], [], []
    slopes = (1.2, 1.8, 2.6, 3.8, 5.5)
    for t, b, (r, share, usual, sd) in itertools.product(np.arange(-4, 4.5, 0.5), slopes, kinds):
        offset = np.log1p(np.exp(b * (middles - t)) * r**k)
        value, start = slow_evidence(
            X, counts[:, first:].ravel(), weight, mean, spread, offset, start
        )
        evidence.append(value)
        chance = expit(b * (means - t) + rounds * np.log(r))
        prior.append(
            np.log(share) - ((t - centre) / width) ** 2 / 2 - (np.log(b / usual) / sd) ** 2 / 2
        )
        if two_tables:
            prior[-1] -= (chance.sum() / n_rows / 0.4) ** 2 / 2
        true.append(chance @ from_here)
        whole.append(chance @ listed)
    prior, evidence, true = np.array(prior), np.array(evidence), np.array(true)
    usual, learned = (np.exp(v - v.max()) for v in (prior, prior + evidence))
    of_usual = 0.1 if two_tables else 0.3
    weights = of_usual * usual / usual.sum() + (1 - of_usual) * learned / learned.sum()

    def quantiles(values):
        order = np.argsort(values)
        total = np.cumsum(weights[order])
        return [values[order][np.flatnonzero(total >= share)[0]] for share in (0.05, 0.5, 0.95)]

    precision = np.array(
        [
            quantiles(v) if m else [0, 0, 0]
            for v, m in zip(true.T / np.maximum(n, 1)[:, None], n, strict=True)
        ]
    )
    recall = np.array([quantiles(values / whole) for values in true.T])
    more = 0.015 * n_rows  # agreed duplicates
    f1 = [
        weights @ (2 * (v + more) / (m + more + np.array(whole) + more))
        for v, m in zip(true.T, n, strict=True)
    ]
    return n, np.maximum.accumulate(precision), recall, f1


def check_model(pairs, scores, **given):
    found = expected_precision(pairs, scores, **given)
    n, precision, recall, f1 = slow_expected(pairs, scores, **given)
    assert found.thresholds.tolist() == (np.arange(1, 100) / 100).tolist()
    assert found.n_pairs.tolist() == n.tolist()
    np.testing.assert_allclose(found.f1, f1, atol=1e-6)
    for (low, middle, high), interval, value in (
        (precision.T, found.precision_interval, found.precision),
        (recall.T, found.recall_interval, found.recall),
    ):
        np.testing.assert_allclose(np.column_stack([low, high]), interval, atol=1e-6)
        np.testing.assert_allclose(middle, value, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "size", "shift"),
    [
        ({}, 4, 0.0),
        ({"by_column": True}, 4, 0.5),
        ({"by_column": True, "alone": True}, 4, 0.5),
        ({"two_tables": True}, 2, -2.7),
        ({"two_tables": True, "one_to_one": True, "by_column": True}, 2, 3.5),
    ],
)
def test_the_model_is_that_of_loops(given, size, shift):
    pairs, scores, _ = _table(0, shift=shift, size=size)
    scores[:2] = 1.0, 0.0
    check_model(pairs, scores, **given)


def test_the_model_of_two_parts_is_that_of_loops():
    pairs, scores, same = _table(0, share=0.9, size=8, fall=0.2, apart=5.0)
    n_others = (~same).sum()
    assert 0.1 * n_others < same.sum() > 0.1 * len(same)
    check_model(pairs, scores, by_column=True)
    found = expected_precision(pairs, scores, by_column=True)
    assert _f1(scores, same, found.best_threshold) > 0.99
    far = np.where(same, scores, expit(logit(scores) - 6.0))
    assert (far[~same] < expit(-6)).mean() > 0.5
    check_model(pairs, far, by_column=True)
    found = expected_precision(pairs, far, by_column=True)
    assert _f1(far, same, found.best_threshold) > 0.99
    # Variants of one product are above the valley too, but many of their pairs differ.
    for given, is_lower in ((same, False), (same & (np.arange(len(same)) % 4 == 0), True)):
        check_model(pairs, far, by_column=True, differs=given)
        other = expected_precision(pairs, far, by_column=True, differs=given)
        assert (other.best_threshold == found.best_threshold) == is_lower


def test_scores_that_are_not_transitive_raise_the_threshold():
    pairs, scores, _ = _table(1, share=0.9, size=6, apart=4.0)

    def ask_group(more):
        return np.where(more[:, 0] // 6 == more[:, 1] // 6, 0.99, 0.02)

    def ask_none(more):
        return np.full(len(more), 0.02)

    unknown = expected_precision(pairs, scores)
    group = expected_precision(pairs, scores, ask=ask_group)
    none = expected_precision(pairs, scores, ask=ask_none)
    assert group.best_threshold == unknown.best_threshold < none.best_threshold
    assert none.at(0.7)["precision"] < group.at(0.7)["precision"]


def test_the_model_of_few_pairs_is_that_of_loops():
    check_model(np.array([[0, 1]]), np.array([0.9]))
    check_model(np.array([[0, 1], [0, 2], [1, 2]]), np.array([0.9, 0.4, 0.3]))


@pytest.mark.parametrize("share", [0.05, 0.6])
@pytest.mark.parametrize("is_clear", [True, False])
def test_intervals_hold_the_truth_and_the_threshold_is_nearly_the_best(is_clear, share):
    held, lost = [], []
    for (shift, size), seed in itertools.product([(-0.5, 2), (-0.5, 4), (1.0, 4)], range(2)):
        # The best F1 is 0.93 to 0.99 where duplicates are clear, and down to 0.55 otherwise.
        kind = {"fall": 0.5, "apart": 5.0} if is_clear else {"fall": 0.7, "apart": 4.0}
        pairs, scores, same = _table(seed, share, shift, size, **kind)
        expected = expected_precision(pairs, scores)
        for threshold in (0.3, 0.5, 0.8):
            low, high = expected.at(threshold)["precision_interval"]
            true = same[scores >= threshold].mean()
            # A share of n pairs differs from its expectation by chance.
            chance = np.sqrt(0.25 / (scores >= threshold).sum())
            held.append(low - chance <= true <= high + chance)
        best = max(_f1(scores, same, t) for t in expected.thresholds)
        lost.append(best - _f1(scores, same, expected.best_threshold))
    assert np.mean(held) >= 0.9
    if is_clear:
        assert np.mean(lost) < (0.12 if share == 0.05 else 0.04)


@pytest.mark.parametrize("given", [{}, {"two_tables": True, "by_column": True}])
def test_few_pairs_are_listed_where_there_is_no_duplicate(given):
    for seed in range(2):
        pairs, scores, _ = _table(seed, share=0)
        expected = expected_precision(pairs, scores, **given)
        assert (scores >= expected.best_threshold).sum() < 0.05 * N_ROWS
        assert expected.threshold_for(0.95) is None
        assert expected.at(0.05)["precision"] < 0.1


def test_two_tables_have_one_partner_per_row():
    pairs, scores, same = _table(3)
    both = expected_precision(pairs, scores, two_tables=True)
    single = expected_precision(pairs, scores, two_tables=True, one_to_one=True)
    first = matching_rounds(pairs, scores, 1) == 0
    assert single.n_pairs[19] == (first & (scores >= 0.2)).sum() < both.n_pairs[19]
    true = same[first & (scores >= 0.2)].mean()
    low, high = single.at(0.2)["precision_interval"]
    assert low <= true <= high
    assert single.precision[19] > both.precision[19]


@pytest.mark.parametrize("seed", range(4))
def test_precision_never_falls_and_recall_never_rises(seed):
    expected = expected_precision(*_table(seed, shift=seed / 2)[:2])
    assert (np.diff(expected.precision) >= 0).all()
    assert (np.diff(expected.precision_interval, axis=0) >= 0).all()
    assert (np.diff(expected.recall) <= 1e-12).all()
    for value, interval in (
        (expected.precision, expected.precision_interval),
        (expected.recall, expected.recall_interval),
    ):
        assert (interval[:, 0] <= value).all() and (value <= interval[:, 1]).all()
        assert (interval >= 0).all() and (interval <= 1 + 1e-12).all()


def test_order_and_numbers_of_rows_do_not_matter():
    pairs, scores, _ = _table(0)
    rng = np.random.default_rng(1)
    renamed, order = rng.permutation(N_ROWS), rng.permutation(len(pairs))
    first = expected_precision(pairs, scores)
    again = expected_precision(renamed[pairs][order][:, ::-1], scores[order])
    for name in ("n_pairs", "precision", "precision_interval", "recall", "f1"):
        assert getattr(first, name) == pytest.approx(getattr(again, name), abs=1e-6), name


def test_a_required_precision_is_that_of_the_lower_end():
    expected = expected_precision(*_table(0, apart=6.0)[:2])
    threshold = expected.threshold_for(0.9)
    assert threshold is not None
    at, before = expected.at(threshold), expected.at(threshold - 0.01)
    assert at["precision_interval"][0] >= 0.9 > before["precision_interval"][0]
    assert at["precision"] >= 0.9
    assert expected.threshold_for(at["precision_interval"][0]) == threshold


def test_more_of_the_same_pairs_change_little():
    pairs, scores, _ = _table(0)
    copies = np.concatenate([pairs + N_ROWS * number for number in range(10)])
    few, many = expected_precision(pairs, scores), expected_precision(copies, np.tile(scores, 10))
    assert many.n_pairs.tolist() == (10 * few.n_pairs).tolist()
    np.testing.assert_allclose(many.precision[20:], few.precision[20:], atol=0.1)


def test_a_pair_alone_has_a_threshold():
    expected = expected_precision(np.array([[0, 1]]), np.array([0.9]))
    assert expected.n_pairs.tolist() == [1] * 90 + [0] * 9
    assert expected.threshold_for(1e-6) == 0.01


def test_copies_are_partners_but_no_pairs():
    pairs, scores, _ = _table(0)
    copies = np.array([[0, N_ROWS]])
    more = expected_precision(np.concatenate([pairs, copies]), np.append(scores, 1.0))
    assert more.n_pairs.tolist() == expected_precision(pairs, scores).n_pairs.tolist()
    rounds = matching_rounds(np.concatenate([pairs, copies]), np.append(scores, 1.0), 5)
    assert rounds[-1] == 0
    assert (rounds[:-1][(pairs == 0).any(axis=1)] > 0).all()


def test_without_pairs_the_threshold_is_one_half():
    expected = expected_precision(np.empty((0, 2), dtype=np.intp), np.empty(0))
    assert expected.best_threshold == 0.5
    assert not expected.n_pairs.any() and expected.threshold_for(0.1) is None
    low = expected_precision(np.array([[0, 1]]), np.array([0.0]))
    assert low.best_threshold == 0.5


def test_a_table_of_near_copies_alone_keeps_its_pairs():
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(0, 100, (900, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    scores = expit(rng.normal(2.2, 0.4, len(pairs)))
    expected = expected_precision(pairs, scores)
    assert (scores >= expected.best_threshold).mean() > 0.95


@pytest.mark.parametrize("seed", range(5))
def test_rounds_equal_those_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    pairs = np.unique(np.sort(rng.integers(0, 40, (300, 2)), axis=1), axis=0)
    pairs = rng.permutation(pairs[pairs[:, 0] < pairs[:, 1]])
    # Many scores are equal.
    scores = rng.integers(0, 20, len(pairs)) / 20
    n_rounds = 4
    expected = slow_rounds(pairs, scores, n_rounds)
    assert matching_rounds(pairs, scores, n_rounds).tolist() == expected.tolist()

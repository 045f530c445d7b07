"""Expected precision and recall of scores by threshold, from one table and without labels."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from film.judge.closed_paths import Transitivity, transitivity

__all__ = ["ExpectedPrecision", "chances_by_case", "expected_precision", "matching_rounds"]

Floats = NDArray[np.float64]

N_ROUNDS = 5
FALLBACK = {False: 0.3, True: 0.1}
"""Weight of what holds for tables in general, within one table and between two; the rest is learned
from the pairs at hand."""

_INTERVAL = (0.05, 0.5, 0.95)
_THRESHOLDS = np.arange(1, 100) / 100
_EDGES = np.arange(-6, 7.01, 0.25)
"""Bins of log-odds; pairs below the first bin are no duplicates."""

_WIDE_EDGES = np.arange(-14, 7.01, 0.25)
"""Bins in which scores may fall into two parts."""

_HIGHEST_MODE = -1.0
"""Where all candidates score high, they are a family of near copies."""

_VALLEY, _LOWER_PART, _FEWEST, _THIRD = 0.6, 0.1, 20, 1 / 3
"""By column, scores of one table fall into two parts if counts between them are below this share of
the highest count on either side, and the lower part has this share of all pairs, and this many in a
bin. The upper part holds duplicates if at most a third of its pairs differ, as variants do, and at
least a third have a score above one half. Otherwise both parts hold other pairs.

Chosen on generated tables of people, works and products, with groups of up to ten rows.
"""

_CROSSINGS = np.arange(-4, 4.01, 0.5)
_SLOPES = np.array([1.2, 1.8, 2.6, 3.8, 5.5])
_LATER = ((0.02, 0.6, 2.8, 0.4), (0.15, 0.25, 2.8, 0.4), (1.0, 0.15, 4.0, 0.25))
"""Odds of a pair of the second round, as a share of those of the first: mostly pairs, some groups,
mostly groups. Then the weight of each case, and the usual slope and its spread (of its logarithm).
"""

_USUAL_CROSSING = {False: (0.8, 1.0), True: (-0.3, 1.2)}
"""Mean and spread within one table, and between two."""

_CROSSING_BY_COLUMN = {False: (2.0, 1.0), True: (2.0, 2.0)}
"""With the evidence of columns, which is also learned from mere near copies."""

_CROSSING_ALONE = (0.0, 0.5)
"""Where many columns decide alone, by EM, within one table."""

_SPREAD_OF_VALLEY = 1.0
"""Where scores lie in two parts, the odds are even near the valley."""

_PER_ROW = 0.4
"""Spread of the half-normal prior of the number of duplicates per row, between two tables."""

_AGREED = 0.015
"""Duplicates that are added, as a share of the rows, to those found, listed and sought before F1 is
maximised: in a table without duplicates, the best list is an empty one."""

_CLOSED, _FEW_ROWS = (0.85, 0.1), 50
"""In groups of duplicates, most paths of two pairs are closed: usual share and its spread. Up to
`_FEW_ROWS` rows or paths say nothing."""

_N_KNOTS = 4
_SHARPER = -0.25
_NULL_MEAN = np.array([0.0, -0.8, *[-0.2] * _N_KNOTS, *[0.0] * (N_ROUNDS - 1), _SHARPER])
_NULL_SPREAD = np.array([100.0, 1.0, *[0.5] * _N_KNOTS, *[1.0] * (N_ROUNDS - 1), 0.4])
"""Of the coefficients of the density of other pairs: level, slope, changes of the slope, level of
each later round, and how much steeper later rounds fall."""

_NOISE, _MISFIT = 8.0, 0.2
"""The variance of a count n is taken as 8 n + (0.2 n)²: pairs depend on each other, and no density
fits exactly."""


@dataclass(frozen=True, eq=False)
class ExpectedPrecision:
    """Estimated precision and recall by threshold.

    Attributes
    ----------
    thresholds : ndarray of float64, shape (n,)
        0.01, 0.02, …, 0.99.
    n_pairs : ndarray of int, shape (n,)
        Number of pairs from each threshold on, without copies.
    precision : ndarray of float64, shape (n,)
        Expected share of duplicates among them. It never falls from one threshold to the next.
    precision_interval : ndarray of float64, shape (n, 2)
        Its 90 % interval.
    recall : ndarray of float64, shape (n,)
        Of the duplicates among all given pairs, the expected share from each threshold on.
    recall_interval : ndarray of float64, shape (n, 2)
        Its 90 % interval.
    f1 : ndarray of float64, shape (n,)
        Expected F1, with a few duplicates per hundred rows added to true positives, listed pairs
        and all duplicates.
    """

    thresholds: Floats
    n_pairs: NDArray[np.intp]
    precision: Floats
    precision_interval: Floats
    recall: Floats
    recall_interval: Floats
    f1: Floats

    @property
    def best_threshold(self) -> float:
        """Threshold of the highest expected F1: of equal ones, the nearest to one half."""
        best = self.thresholds[self.f1 >= self.f1.max() - 1e-9]
        return float(best[np.abs(best - 0.5).argmin()])

    def threshold_for(self, precision: float) -> float | None:
        """Return the lowest threshold whose interval is above a precision, or None.

        Parameters
        ----------
        precision : float
            Above 0, below 1.
        """
        enough = np.flatnonzero((self.precision_interval[:, 0] >= precision) & (self.n_pairs > 0))
        return float(self.thresholds[enough[0]]) if len(enough) else None

    def at(self, threshold: float) -> dict[str, Any]:
        """Return precision and recall from the nearest threshold on, as numbers and intervals."""
        row = int(np.abs(self.thresholds - threshold).argmin())
        return {
            "threshold": float(self.thresholds[row]),
            "pairs": int(self.n_pairs[row]),
            "precision": float(self.precision[row]),
            "precision_interval": tuple(self.precision_interval[row].tolist()),
            "recall": float(self.recall[row]),
            "recall_interval": tuple(self.recall_interval[row].tolist()),
        }


class _Cases(NamedTuple):
    """Every possible relation of scores to duplicates that is weighed, (n_cases,) each.

    At log-odds x in round k = 0, 1, … the odds that a pair is a duplicate are
    exp(slope (x − crossing)) · later^k.
    """

    crossing: Floats
    slope: Floats
    later: Floats
    log_prior: Floats

    def log_odds(self, x: Floats, rounds: NDArray[np.intp]) -> Floats:
        """Return the log-odds of duplicates, (n_cases, n), at n log-odds and rounds."""
        raised = self.slope[:, None] * (x - self.crossing[:, None])
        return raised + np.log(self.later)[:, None] * rounds


def expected_precision(
    pairs: NDArray[np.intp],
    scores: Floats,
    *,
    two_tables: bool = False,
    one_to_one: bool = False,
    by_column: bool = False,
    alone: bool = False,
    differs: NDArray[np.bool_] | None = None,
    ask: Callable[[NDArray[np.intp]], Floats] | None = None,
) -> ExpectedPrecision:
    """Estimate precision and recall by threshold, without labels.

    Parameters
    ----------
    pairs : ndarray of int, shape (n, 2)
        Distinct pairs of neighbours. Rows of two tables have different numbers.
    scores : ndarray of float64, shape (n,)
        Scores of `film.judge.general_weights`. Pairs with a score of 1 are copies: they count as
        partners, but not as pairs.
    two_tables : bool, default=False
        Whether each pair has one row of either table.
    one_to_one : bool, default=False
        Whether only the pairs of the first round are listed.
    by_column : bool, default=False
        Whether the scores hold the evidence of columns (`film.judge.log_odds_with_columns`).
    alone : bool, default=False
        Whether columns decide alone (`film.judge.separating_column_weights`).
    differs : ndarray of bool, shape (n,), optional
        By column, whether each pair differs in a number, a name or the like (`pair_kinds`); by
        default none does.
    ask : function, optional
        Returns the scores of further pairs, within one table, by which
        `film.judge.transitivity` is measured.

    Returns
    -------
    expected : ExpectedPrecision

    Notes
    -----
    Pairs are put into rounds: first the best partner of each row, then the best of the other pairs,
    and so on (`matching_rounds`). If a row has one duplicate, its pairs of later rounds are not
    duplicates, and show how high non-duplicates score in this table. So the counts of scores in
    round k are modelled as

        exp(g(x) + c_k + s log(k + 1) x) · (1 + exp(b (x − t)) r^k),

    where x are the log-odds of scores. The first factor is the density of pairs that are not
    duplicates: g is piecewise linear, with a decreasing slope by preference. The second factor adds
    the duplicates: t is where the odds are even, b is their slope, and r is near 0 where duplicates
    come in pairs and 1 where they come in large groups. Each (t, b, r) on a grid is weighed by the
    penalised likelihood of the counts (quasi-Poisson, Laplace's approximation) and by what is usual
    in other tables. With a weight of `FALLBACK`, the counts are ignored, so a table that does not
    fit the model gets a usual threshold. Between two tables, a row has at most one partner, so
    cases with many duplicates per row of the smaller table are less likely. Some duplicates are
    added to all counts in F1, so that few pairs of a table without duplicates are listed.

    If scores of records in one table lie in two parts, the odds are even near the valley between
    them. This does not hold if over a third of the pairs above it differ in a number or the like,
    as variants of a product do, or if less than a third have a score above one half.

    In groups, two duplicates of one row are duplicates of each other. If scores are not transitive,
    cases with groups are less likely. This can only raise the best threshold.

    O(n log n), and about 0.2 s for the grid.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import expected_precision
    >>> rng = np.random.default_rng(0)
    >>> pairs = np.array([(i, 300 + (i + j) % 300) for i in range(300) for j in range(5)])
    >>> duplicate = (pairs[:, 1] - pairs[:, 0] == 300) & (pairs[:, 0] < 100)
    >>> log_odds = rng.normal(np.where(duplicate, 2, -3), 1)
    >>> expected = expected_precision(pairs, 1 / (1 + np.exp(-log_odds)), two_tables=True)
    >>> 0.1 < expected.best_threshold < 0.8, round(expected.at(0.5)["precision"], 1)
    (True, 1.0)
    """
    x, rounds = _placed(pairs, scores)
    kept = (scores < 1) & (x >= _EDGES[0])
    n_rows = _n_rows(pairs, two_tables)
    lower = valley = None
    if by_column and not two_tables:
        others = scores < 1
        none = np.zeros(len(x), dtype=bool)
        lower, valley = _two_parts(x[others], (none if differs is None else differs)[others])
    cases = _cases(two_tables, by_column, alone, valley)
    weights = _weights(x[kept], rounds[kept], cases, n_rows, two_tables, lower)
    every = [weights]
    if ask is not None:
        closed = transitivity(pairs[kept], scores[kept], expit(_CROSSINGS), ask)
        every.append(_normalized(np.log(weights) + _log_closed(cases, closed, n_rows)))
    if one_to_one:
        kept &= rounds == 0
    added = _AGREED * max(1, n_rows)
    estimates = [_by_threshold(x[kept], rounds[kept], cases, weights, added) for weights in every]
    return max(estimates, key=lambda estimate: estimate.best_threshold)


def chances_by_case(
    pairs: NDArray[np.intp], scores: Floats, *, two_tables: bool = False
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Estimate, without labels, the share of duplicates among pairs of about equal scores.

    Parameters
    ----------
    pairs, scores, two_tables
        As in `expected_precision`, without copies.

    Returns
    -------
    cells : ndarray of int, shape (n,)
        Number of the cell of each pair. All pairs of a cell are of one round, and have scores
        between the same two of 0, 0.01, …, 1.
    chances : ndarray of float64, shape (n_cases, n_cells)
        Share of duplicates in each cell, for each model of how scores relate to duplicates.
    weights : ndarray of float64, shape (n_cases,)
        Weight of each model; they sum to 1.
    """
    x, rounds = _placed(pairs, scores)
    kept = x >= _EDGES[0]
    cases = _cases(two_tables)
    weights = _weights(x[kept], rounds[kept], cases, _n_rows(pairs, two_tables), two_tables)
    _, cells, means, of_round = _cells(x, rounds)[:4]
    return cells, expit(cases.log_odds(means, of_round)), weights


def _placed(pairs: NDArray[np.intp], scores: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the log-odds and the round of each pair."""
    x = logit(np.clip(scores, 1e-9, 1 - 1e-9))
    likely = np.flatnonzero(x >= _EDGES[0])
    rounds = np.full(len(pairs), N_ROUNDS)
    rounds[likely] = matching_rounds(pairs[likely], scores[likely], N_ROUNDS)
    return x, rounds


def _n_rows(pairs: NDArray[np.intp], two_tables: bool) -> int:
    """Return the number of rows that have neighbours; of two tables, that of the smaller one."""
    if two_tables:
        return min(len(np.unique(side)) for side in pairs.T)
    return len(np.unique(pairs))


def _weights(
    x: Floats,
    rounds: NDArray[np.intp],
    cases: _Cases,
    n_rows: int,
    two_tables: bool,
    lower: int | None = None,
) -> Floats:
    """Weigh the cases by the counts of scores in each round, and by what is usual.

    ``lower`` is the bin of the mode of the lower part, if scores lie in two parts.
    """
    if not len(x):
        return _normalized(cases.log_prior)
    _, _, means, of_round, n = _cells(x, rounds)
    per_row = expit(cases.log_odds(means, of_round)) @ n / n_rows
    log_prior = cases.log_prior - (per_row / _PER_ROW) ** 2 / 2 * two_tables
    counts = np.array([np.histogram(x[rounds == k], _EDGES)[0] for k in range(N_ROUNDS)])
    learned = _normalized(log_prior + _log_likelihood(counts.astype(float), cases, lower))
    usual = FALLBACK[two_tables]
    return (1 - usual) * learned + usual * _normalized(log_prior)


def matching_rounds(pairs: NDArray[np.intp], scores: Floats, n_rounds: int) -> NDArray[np.intp]:
    """Return the round in which each pair is matched, (n,); ``n_rounds`` if in none.

    A round takes pairs by decreasing score, unless one of their rows has a pair in it already, and
    leaves the others to the next round. Of equal scores, the first pair comes first.

    Parameters
    ----------
    pairs : ndarray of int, shape (n, 2)
        Distinct pairs.
    scores : ndarray of float64, shape (n,)
        Scores of the pairs.
    n_rounds : int
        Number of rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import matching_rounds
    >>> pairs = np.array([[0, 1], [1, 2], [2, 3], [0, 2]])
    >>> matching_rounds(pairs, np.array([0.9, 0.8, 0.7, 0.6]), 2).tolist()
    [0, 1, 0, 2]
    """
    order = np.argsort(-scores, kind="stable")
    n_rows = int(pairs.max(initial=-1)) + 1
    rounds = np.full(len(pairs), n_rounds)
    left, first, second = order, *pairs[order].T
    for number in range(n_rounds):
        free, a, b = left, first, second
        while len(free):
            # The best pair of each row: of repeated assignments, the last one stays.
            place = np.arange(len(free))
            best, other = np.full((2, n_rows), len(free))
            best[a[::-1]], other[b[::-1]] = place[::-1], place[::-1]
            best = np.minimum(best, other)
            taken = (best[a] == place) & (best[b] == place)
            rounds[free[taken]] = number
            used = np.zeros(n_rows, dtype=bool)
            used[a[taken]] = used[b[taken]] = True
            kept = ~(used[a] | used[b])
            free, a, b = free[kept], a[kept], b[kept]
        kept = rounds[left] == n_rounds
        left, first, second = left[kept], first[kept], second[kept]
    return rounds


def _log_closed(cases: _Cases, closed: Transitivity, n_rows: int) -> Floats:
    """Return how likely the transitivity is by case, up to a constant."""
    # From here on, pairs of the second round are duplicates.
    lowest = cases.crossing - np.log(cases.later) / cases.slope
    place = np.minimum(np.searchsorted(_CROSSINGS, lowest), len(_CROSSINGS) - 1)
    misses = np.maximum(_CLOSED[0] - closed.shares, 0) / _CLOSED[1]
    more = np.maximum(np.minimum(closed.n_paths, n_rows) - _FEW_ROWS, 0)
    return (-(misses**2) / 2 * more / (more + _FEW_ROWS))[place]


def _cases(
    two_tables: bool, by_column: bool = False, alone: bool = False, valley: float | None = None
) -> _Cases:
    grid = itertools.product(_CROSSINGS, _SLOPES, _LATER)
    rows = np.array([(t, b, *kind) for t, b, kind in grid])
    crossing, slope, later, share, usual_slope, spread = rows.T
    mean, sd = (_CROSSING_BY_COLUMN if by_column else _USUAL_CROSSING)[two_tables]
    if alone and not two_tables:
        mean, sd = _CROSSING_ALONE
    if valley is not None:
        mean, sd = valley, _SPREAD_OF_VALLEY
    log_prior = (
        np.log(share)
        - ((crossing - mean) / sd) ** 2 / 2
        - (np.log(slope / usual_slope) / spread) ** 2 / 2
    )
    return _Cases(crossing, slope, later, log_prior)


def _log_likelihood(counts: Floats, cases: _Cases, lower: int | None) -> Floats:
    """Return the likelihood of counts, (n_rounds, n_bins), by case, up to a constant."""
    # Below the mode, most pairs are no candidates.
    mode = int(_smoothed(counts[1:].sum(axis=0)).argmax()) if lower is None else lower
    first = min(mode, int(np.searchsorted(_EDGES, _HIGHEST_MODE)))
    x = ((_EDGES[1:] + _EDGES[:-1]) / 2)[first:]
    counts = counts[:, first:]
    depth = x - x[0]
    shape = [np.ones_like(x), depth, *(np.maximum(depth - i, 0) for i in range(1, _N_KNOTS + 1))]
    design = np.array(
        [
            np.column_stack([*shape, *np.tile(np.eye(N_ROUNDS)[k, 1:], (len(x), 1)).T,
                             np.log1p(k) * depth])
            for k in range(N_ROUNDS)
        ]
    ).reshape(-1, len(_NULL_MEAN))  # fmt: skip
    rounds = np.repeat(np.arange(N_ROUNDS), len(x))
    offset = np.logaddexp(0, cases.log_odds(np.tile(x, N_ROUNDS), rounds))
    padded = np.pad(counts, ((0, 0), (1, 1)), mode="edge")
    about = (padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]) / 4
    weight = 1 / (_NOISE + _MISFIT**2 * about.ravel())
    return _penalised_poisson(design, counts.ravel(), weight, offset)


def _smoothed(counts: Floats) -> Floats:
    return np.convolve(counts, [1, 2, 3, 2, 1], "same") / 9


def _two_parts(x: Floats, differs: NDArray[np.bool_]) -> tuple[int, float] | tuple[None, None]:
    """Return the bin of the mode before the last deep valley, and the log-odds of the valley.

    Both are None if scores are in one part, or the valley is below all crossings. Variants of a
    product or a work lie above a valley too, but many of their pairs differ. So do people of one
    family or town, but few of their scores are above one half.
    """
    counts = _smoothed(_smoothed(np.histogram(x, _WIDE_EDGES)[0].astype(float)))
    total = np.searchsorted(np.sort(x), _WIDE_EDGES[1:])
    before = np.maximum.accumulate(counts)
    least = np.minimum(before, np.maximum.accumulate(counts[::-1])[::-1])
    depth = counts / np.maximum(least, 1e-9)
    is_deep = (depth < _VALLEY) & (least >= _FEWEST) & (total > _LOWER_PART * len(x))
    places = np.flatnonzero(is_deep & (_WIDE_EDGES[:-1] >= _CROSSINGS[0]))
    if not len(places):
        return None, None
    # The last run of adjacent places.
    run = places[places - np.arange(len(places)) == places[-1] - len(places) + 1]
    valley = float(_WIDE_EDGES[run[depth[run].argmin()]])
    above = x >= valley
    if differs[above].mean() > _THIRD or (x[above] > 0).mean() < _THIRD:
        return None, None
    n_more = len(_WIDE_EDGES) - len(_EDGES)
    return max(0, int(counts[: run[0]].argmax()) - n_more), valley


def _penalised_poisson(X: Floats, counts: Floats, weight: Floats, offset: Floats) -> Floats:
    """Fit log-linear densities with given offsets, (n_cases, n); return their evidence.

    The coefficients have normal priors (`_NULL_MEAN`, `_NULL_SPREAD`). Newton's method with halved
    steps, for all cases at once.
    """
    n_cases, p = len(offset), X.shape[1]
    penalty = 1 / _NULL_SPREAD**2
    products = (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    beta = np.tile(_NULL_MEAN, (n_cases, 1))
    start = np.exp(np.minimum(beta @ X.T + offset, 30)) @ weight
    beta[:, 0] += np.log(counts @ weight + 0.5) - np.log(start)

    def objective(beta: Floats) -> tuple[Floats, Floats]:
        log_mean = np.minimum(beta @ X.T + offset, 30)
        fit = (counts * log_mean - np.exp(log_mean)) @ weight
        return fit - (beta - _NULL_MEAN) ** 2 @ penalty / 2, np.exp(log_mean) * weight

    def curvature(mean: Floats) -> Floats:
        return (mean @ products).reshape(n_cases, p, p) + np.diag(penalty)

    value, mean = objective(beta)
    for _ in range(40):
        gradient = (counts * weight - mean) @ X - (beta - _NULL_MEAN) * penalty
        step = np.linalg.solve(curvature(mean), gradient[..., None])[..., 0]
        size = np.ones(n_cases)
        for _ in range(12):
            new = beta + size[:, None] * step
            new_value, new_mean = objective(new)
            worse = new_value < value - 1e-9
            if not worse.any():
                break
            size[worse] /= 2
        better = new_value >= value - 1e-9
        gain = np.where(better, new_value - value, 0).max()
        beta[better], value[better], mean[better] = (
            new[better],
            new_value[better],
            new_mean[better],
        )
        if gain < 1e-4:
            break
    return value - np.linalg.slogdet(curvature(mean))[1] / 2


def _normalized(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def _by_threshold(
    x: Floats, rounds: NDArray[np.intp], cases: _Cases, weights: Floats, n_agreed: float
) -> ExpectedPrecision:
    """Sum the probabilities of pairs from each threshold on, and weigh the cases."""
    row, _, means, of_round, n = _cells(x, rounds)
    expected = expit(cases.log_odds(means, of_round)) * n
    from_here = row >= np.arange(len(_THRESHOLDS) + 1)[:, None]
    true = expected @ from_here.T
    n_pairs = from_here @ n
    with np.errstate(invalid="ignore"):
        precision = true[:, 1:] / n_pairs[1:]
        recall = true[:, 1:] / true[:, :1]
    f1 = weights @ (2 * (true[:, 1:] + n_agreed) / (n_pairs[1:] + true[:, :1] + 2 * n_agreed))
    low, middle, high = _monotone(_quantiles(precision, weights))
    recall_low, recall_middle, recall_high = _quantiles(recall, weights)
    return ExpectedPrecision(
        _THRESHOLDS.copy(),
        n_pairs[1:],
        middle,
        np.column_stack([low, high]),
        recall_middle,
        np.column_stack([recall_low, recall_high]),
        f1,
    )


def _cells(
    x: Floats, rounds: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Put pairs of one round that lie between two thresholds into one cell.

    Returns the number of thresholds up to each cell, the cell of each pair, and the mean log-odds,
    the round and the number of pairs of each cell.
    """
    lines = np.concatenate([[-np.inf], logit(_THRESHOLDS), [np.inf]])
    cell = (np.searchsorted(lines, x, side="right") - 1) * (N_ROUNDS + 1) + rounds
    used, where, n = np.unique(cell, return_inverse=True, return_counts=True)
    means = np.bincount(where, x, minlength=len(used)) / np.maximum(n, 1)
    return used // (N_ROUNDS + 1), where, means, used % (N_ROUNDS + 1), n


def _quantiles(values: Floats, weights: Floats) -> Floats:
    """Return the ends and the middle of the interval of values, (3, n), over the cases."""
    order = np.argsort(values, axis=0)
    below = np.cumsum(weights[order], axis=0)
    places = [np.minimum((below < share).sum(axis=0), len(values) - 1) for share in _INTERVAL]
    ordered = np.take_along_axis(values, order, axis=0)
    return np.array([ordered[place, np.arange(values.shape[1])] for place in places])


def _monotone(precision: Floats) -> Floats:
    """Let precision never fall with the threshold; where there are no pairs, it stays."""
    return np.maximum.accumulate(np.nan_to_num(precision), axis=1)

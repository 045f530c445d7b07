"""Figures of tables with intervals, and differences of two rows on the same drawn pairs.

A draw is a number of times that each pair counts, so that each figure is a weighted one: sorted
once, all draws of an AUC or a rank correlation cost one cumulative sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.pair_rows import PairRow
from film.pairs import shift_prior

N_DRAWS = 2000
LEVEL = 95.0
PRIOR = 0.1746
"""Share of duplicates in Kaggle's test set."""

_BLOCK = 2**21
"""Numbers that a block of draws holds at once."""

Figure = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[Any]], NDArray[np.float64]]
"""Values, labels and draws (b, n) → the figure of each draw, (b,)."""


class Interval(NamedTuple):
    """A value and the percentiles of its bootstrap draws."""

    value: float
    low: float
    high: float

    @property
    def stands(self) -> bool:
        """Whether zero lies outside of the interval."""
        return not self.low <= 0 <= self.high


def drawn(
    n_pairs: int,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    groups: NDArray[np.intp] | None = None,
) -> NDArray[np.uint16]:
    """Draw pairs with replacement: how often each counts, shape (n_draws, n_pairs).

    Every row of a table is judged on the same draws. Where ``groups`` are given, the pairs of a
    group, which shared texts link, are drawn together, since they are no independent evidence.
    """
    units = np.arange(n_pairs) if groups is None else np.unique(groups, return_inverse=True)[1]
    n = int(units.max()) + 1
    rows = np.random.default_rng(seed).integers(0, n, size=(n_draws, n))
    counts = np.stack([np.bincount(row, minlength=n) for row in rows]).astype(np.uint16)
    return counts if groups is None else counts[:, units]


def roc_auc(
    values: NDArray[np.float64], labels: NDArray[np.float64], draws: NDArray[Any]
) -> NDArray[np.float64]:
    """Area under the ROC curve of each draw; ½ where a draw lacks a class.

    With P and N the weights of both classes that share a value, ``Σ P (N before + N / 2)`` over
    the product of their sums.
    """
    order, starts = _ties(values)
    outcome = labels[order] == 1
    found = np.full(len(draws), 0.5)
    for rows, weights in _blocks(draws):
        sorted_ = weights[:, order]
        positive = np.add.reduceat(sorted_ * outcome, starts, axis=1)
        negative = np.add.reduceat(sorted_ * ~outcome, starts, axis=1)
        before = np.cumsum(negative, axis=1) - negative / 2
        both = positive.sum(axis=1) * negative.sum(axis=1)
        area = (positive * before).sum(axis=1)
        found[rows] = np.divide(area, both, out=np.full(len(both), 0.5), where=both > 0)
    return found


def spearman_of(
    values: NDArray[np.float64], labels: NDArray[np.float64], draws: NDArray[Any]
) -> NDArray[np.float64]:
    """Rank correlation × 100 of each draw; 0 where one side is constant."""
    found = np.zeros(len(draws))
    for rows, weights in _blocks(draws):
        total = weights.sum(axis=1, keepdims=True)
        ranks = [_ranks(side, weights) for side in (values, labels)]
        ranks = [r - (weights * r).sum(axis=1, keepdims=True) / total for r in ranks]
        dot, one, two = (
            (weights * a * b).sum(axis=1)
            for a, b in (ranks, (ranks[0], ranks[0]), (ranks[1], ranks[1]))
        )
        lengths = np.sqrt(one * two)
        found[rows] = np.divide(100 * dot, lengths, out=np.zeros(len(dot)), where=lengths > 0)
    return found


def accuracy(
    values: NDArray[np.float64], labels: NDArray[np.float64], draws: NDArray[Any]
) -> NDArray[np.float64]:
    """Share of pairs on the right side of one half, of each draw."""
    return _mean(((values > 0.5) == (labels == 1)).astype(np.float64), draws)


def log_loss(
    values: NDArray[np.float64], labels: NDArray[np.float64], draws: NDArray[Any]
) -> NDArray[np.float64]:
    """Mean log loss of each draw, in nats."""
    return _mean(_losses(values, labels), draws)


def log_loss_at(share: float, prior: float = PRIOR) -> Figure:
    """Log loss where the share of positives is ``prior``, of probabilities that hold at another.

    Probabilities are shifted, and both classes weighted to the prior.
    """

    def figure(values: Any, labels: Any, draws: Any) -> NDArray[np.float64]:
        losses = _losses(shift_prior(values, share, prior).astype(np.float64), labels)
        sides = [_mean(losses, draws * (labels == label)) for label in (0, 1)]
        return (1 - prior) * sides[0] + prior * sides[1]

    return figure


def figures_of(row: PairRow) -> dict[str, Figure]:
    """Figures that a row has, by the name of their column in tables."""
    if not row.on.binary:
        return {"spearman": spearman_of}
    if row.share is None:
        return {"roc_auc": roc_auc}
    return {
        "roc_auc": roc_auc,
        "accuracy": accuracy,
        "log_loss": log_loss,
        "log_loss_at_prior": log_loss_at(row.share),
    }


def compare_rows(
    first: PairRow,
    second: PairRow,
    *,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    only: str | None = None,
) -> dict[str, tuple[float, float, Interval]]:
    """Compare two rows of the same pairs by every figure that both have.

    Parameters
    ----------
    first, second : PairRow
        Rows on the same pairs.
    n_draws, seed : int
        Draws of pairs; groups of linked pairs are drawn whole.
    only : str, default=None
        The one figure to compare by. None: all.

    Returns
    -------
    compared : dict of (float, float, Interval)
        Figure of the first, of the second, and the first less the second with its 95 % interval.
        A row of several seeds has the mean of their figures, and its seeds are drawn too.

    Raises
    ------
    ValueError
        If the rows were measured on other pairs.

    Notes
    -----
    Of S seeds drawn with replacement, deviations from their mean are scaled by √(S / (S − 1)),
    since a sample of S deviates too little. 2,000 draws of 5,000 pairs take about a second per
    figure.
    """
    return {
        name: (one, two, interval(one - two, gaps))
        for name, (one, two, gaps) in _compared(first, second, n_draws, seed, only).items()
    }


def compare_parts(
    first: dict[str, PairRow],
    second: dict[str, PairRow],
    *,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> dict[str, tuple[float, float, Interval]]:
    """Compare two rows that were measured on several sets, by the mean over sets of each figure.

    Parameters
    ----------
    first, second : dict of PairRow
        Parts of both rows by the name of the set; sets that both have count.
    n_draws, seed : int
        As in `compare_rows`; every set is drawn by itself.

    Returns
    -------
    compared : dict of (float, float, Interval)
        As of `compare_rows`, for every figure that several sets have.

    Raises
    ------
    ValueError
        If a set of both was measured on other pairs.
    """
    found: dict[str, list[tuple[float, float, NDArray[np.float64]]]] = {}
    for number, part in enumerate(sorted(first.keys() & second.keys())):
        compared = _compared(first[part], second[part], n_draws, seed + number, None)
        for name, told in compared.items():
            found.setdefault(name, []).append(told)
    means = {}
    for name, parts in found.items():
        if len(parts) > 1:
            ones, twos, gaps = zip(*parts, strict=True)
            one, two = float(np.mean(ones)), float(np.mean(twos))
            means[name] = (one, two, interval(one - two, np.mean(gaps, axis=0)))
    return means


def spearman(similarity: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """Rank correlation × 100; 0 where the similarity is constant."""
    return float(spearman_of(similarity, scores, np.ones((1, len(scores))))[0])


def correlation(
    similarity: NDArray[np.float64], scores: NDArray[np.float64], draws: NDArray[Any]
) -> Interval:
    """Rank correlation × 100 with its 95 % interval over draws of pairs."""
    return interval(spearman(similarity, scores), spearman_of(similarity, scores, draws))


def difference(
    similarity: NDArray[np.float64],
    rival: NDArray[np.float64],
    scores: NDArray[np.float64],
    draws: NDArray[Any],
) -> Interval:
    """How much a row is ahead of a rival, in points, both judged on the same drawn pairs."""
    found = spearman_of(similarity, scores, draws) - spearman_of(rival, scores, draws)
    return interval(spearman(similarity, scores) - spearman(rival, scores), found)


def _compared(
    first: PairRow, second: PairRow, n_draws: int, seed: int, only: str | None
) -> dict[str, tuple[float, float, NDArray[np.float64]]]:
    """Give each figure of both rows, and the difference of each draw."""
    if first.on.name != second.on.name:
        raise ValueError(
            f"{first.case!r} and {second.case!r} were measured on other pairs: measure both on the "
            "same ones"
        )
    on, both = first.on, (figures_of(first), figures_of(second))
    draws = drawn(len(on.labels), n_draws, seed, on.groups)
    whole = np.ones((1, len(on.labels)))
    compared = {}
    for name in both[0]:
        if name not in both[1] or only not in (None, name):
            continue
        values, found = [], []
        for number, (row, figures) in enumerate(zip((first, second), both, strict=True)):
            sides = list(row.values.values())
            values.append(
                float(np.mean([figures[name](side, on.labels, whole)[0] for side in sides]))
            )
            by_seed = np.stack([figures[name](side, on.labels, draws) for side in sides])
            found.append(_over_seeds(by_seed, np.random.default_rng([seed, number])))
        compared[name] = (values[0], values[1], found[0] - found[1])
    return compared


def interval(value: float, found: NDArray[np.float64]) -> Interval:
    """Give a value with the percentiles of its draws."""
    low, high = np.percentile(found, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def _over_seeds(by_seed: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Mean over seeds of each draw, (n_seeds, n_draws) → (n_draws,), with seeds drawn too."""
    n_seeds, n_draws = by_seed.shape
    mean = by_seed.mean(axis=0)
    if n_seeds == 1:
        return mean
    chosen = rng.integers(0, n_seeds, size=(n_seeds, n_draws))
    drawn_mean = np.take_along_axis(by_seed, chosen, axis=0).mean(axis=0)
    return mean + np.sqrt(n_seeds / (n_seeds - 1)) * (drawn_mean - mean)


def _losses(p: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    return -np.where(labels == 1, np.log(p), np.log1p(-p))


def _mean(values: NDArray[np.float64], draws: NDArray[Any]) -> NDArray[np.float64]:
    weights = np.asarray(draws, dtype=np.float64)
    total = weights.sum(axis=1)
    return np.divide(weights @ values, total, out=np.zeros(len(total)), where=total > 0)


def _ties(values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Order of values, and where each run of equal ones starts in it."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    return order, np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))


def _ranks(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean rank of each value in each draw, up to a constant, (b, n)."""
    order, starts = _ties(values)
    run = np.empty(len(values), dtype=np.intp)
    run[order] = np.cumsum(np.isin(np.arange(len(values)), starts)) - 1
    tied = np.add.reduceat(weights[:, order], starts, axis=1)
    return (np.cumsum(tied, axis=1) - tied / 2)[:, run]


def _blocks(draws: NDArray[Any]) -> Any:
    step = max(1, _BLOCK // draws.shape[1])
    for start in range(0, len(draws), step):
        rows = slice(start, start + step)
        yield rows, np.asarray(draws[rows], dtype=np.float64)

"""Precision and recall from a person's answers to some pairs, and which pair to ask about next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

from film.judge.expected import chances_by_case

__all__ = ["Review", "ReviewEstimate"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

Answers = dict[int, bool | None]

N_STRATA = 5
"""Strata from the threshold on, and as many below."""

SPREADS = np.array([0.3, 0.6, 1.0, 1.6, 2.5])
"""How far the log-odds of a stratum may be off those that are expected without labels."""

FREEDOM = 4
"""Degrees of freedom of t for their deviations: of each spread equally often."""

SURE, KEPT, WIDER = 1.0, (0.45, 0.7), 0.3
"""Beyond log-odds of ±`SURE`, expectations are cut to this share, of likely and of unlikely pairs,
and for each unit the spread grows by this share: tables have pairs that no score explains."""

_STEPS = np.linspace(-7, 7, 29)
"""Deviations of a stratum that are weighed."""

N_DRAWS = 4000
LEVEL = 0.95
EVERY = 10
"""One in so many questions is about a pair below the threshold where a precision is to be shown.

With 5, the tables of `benchmarks.review` needed a tenth more answers until precision was known."""

HEDGED = 0.1
"""Where no precision is to be shown, questions are spread as if no listed stratum had a share of
duplicates nearer to 0 or 1: a few equal answers must not end the questions about a stratum."""

FAR = 200
"""If so many more answers would not show a precision, it cannot be shown."""


@dataclass(frozen=True)
class ReviewEstimate:
    """Precision and recall of a threshold.

    Attributes
    ----------
    n_answers : int
        Number of answers that count as a sample.
    precision, recall : float
        Share of duplicates among the listed pairs, and share of the duplicates among all pairs that
        is listed.
    precision_interval, recall_interval : tuple of (float, float)
        Their 95 % intervals.
    """

    n_answers: int
    precision: float
    precision_interval: tuple[float, float]
    recall: float
    recall_interval: tuple[float, float]


class _Counts(NamedTuple):
    """Counts by stratum, (n_strata,) each."""

    asked: Floats
    answers: Floats
    duplicates: Floats
    sample: Floats
    sample_duplicates: Floats


class Review:
    """Choose pairs to ask a person about, and estimate precision and recall from the answers.

    Parameters
    ----------
    pairs : ndarray of int, shape (n, 2)
        Distinct pairs of neighbours, without copies.
    scores : ndarray of float64, shape (n,)
        Their scores, by `film.judge.general_weights`.
    threshold : float
        Pairs are listed from this score on.
    order : ndarray of float64, shape (n,)
        Random numbers, all different: in each stratum, pairs are asked in this order. The same pair
        should get the same number in each session, for instance from a hash of its texts.
    two_tables : bool, default=False
        Whether each pair has one row of either table.

    Attributes
    ----------
    strata : ndarray of int, shape (n,)
        Stratum of each pair, by the expected probability of a duplicate, highest first; strata of
        listed pairs come first.
    sizes : ndarray of int, shape (n_strata,)
        Number of pairs in each stratum.
    n_listed : int
        Number of strata of listed pairs.

    Notes
    -----
    In stratum h with N_h pairs, the first n_h pairs of the order are a simple random sample: each
    is included with probability n_h / N_h. An answer to a pair is not part of the sample if an
    earlier pair of its stratum was not asked; it then counts only for its own pair. So answers that
    were given for other reasons, or for another threshold, cause no bias.

    p_h is the share of duplicates in a stratum. Its log-odds come from one of the models of
    `film.judge.expected_precision`, shrunk towards ±1, plus a deviation with a mixture of t
    distributions. The answers change how much each model counts. If the scores are misleading,
    each stratum is estimated from its answers. The pairs without an answer are binomial. The
    interval of precision is the shortest that holds 95 % of 4,000 draws. That of recall also holds
    their 2.5 and 97.5 % quantiles: few answers are about the many unlikely pairs, which may be
    misses, so its draws have a long tail. Coverage is measured in ``benchmarks/review.py``.

    O(n log n) to begin with. Questions and estimates take the same time, whatever n.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import Review
    >>> rng = np.random.default_rng(0)
    >>> pairs = np.array([(i, 300 + (i + j) % 300) for i in range(300) for j in range(5)])
    >>> duplicate = (pairs[:, 1] - pairs[:, 0] == 300) & (pairs[:, 0] < 100)
    >>> scores = 1 / (1 + np.exp(-rng.normal(np.where(duplicate, 2, -3), 1)))
    >>> review = Review(pairs, scores, 0.5, rng.random(1500), two_tables=True)
    >>> answers = {}
    >>> for _ in range(40):
    ...     (row,) = review.questions(answers)
    ...     answers[row] = bool(duplicate[row])
    >>> found = review.estimate(answers)
    >>> low, high = found.precision_interval
    >>> found.n_answers, bool(low <= duplicate[scores >= 0.5].mean() <= high)
    (40, True)
    """

    def __init__(
        self,
        pairs: Rows,
        scores: Floats,
        threshold: float,
        order: Floats,
        *,
        two_tables: bool = False,
    ) -> None:
        cells, chances, weights = chances_by_case(pairs, scores, two_tables=two_tables)
        self._log_weights = np.log(np.maximum(weights, 1e-300))
        listed = np.asarray(scores) >= threshold
        # A cell on both sides of the threshold is two.
        cells, place = np.unique(2 * cells + ~listed, return_inverse=True)
        n = np.bincount(place, minlength=len(cells)).astype(float)
        chances = chances[:, cells // 2]
        of_cell = _strata(weights @ chances, n, cells % 2 == 0)
        self.n_listed = len(set(of_cell[cells % 2 == 0].tolist()))
        self.strata: Rows = of_cell[place]
        n_strata = int(of_cell.max(initial=-1)) + 1
        member = of_cell[:, None] == np.arange(n_strata)
        self.sizes: Rows = (n @ member).astype(np.intp)
        means = np.clip(chances @ (n[:, None] * member) / self.sizes, 1e-6, 1 - 1e-6)
        expected = logit(means)
        beyond = np.maximum(np.abs(expected) - SURE, 0)
        self._log_odds = np.sign(expected) * (
            np.abs(expected) - (1 - np.where(expected > 0, *KEPT)) * beyond
        )
        self._widths = 1 + WIDER * beyond
        moved = self._log_odds[..., None] + self._widths[..., None] * _STEPS
        self._log_p, self._log_q = log_expit(moved), log_expit(-moved)
        density = (1 + (_STEPS / SPREADS[:, None]) ** 2 / FREEDOM) ** (-(FREEDOM + 1) / 2)
        self._log_prior = np.log((density / SPREADS[:, None]).sum(axis=0))
        by_order = np.lexsort((order, self.strata))
        self._queues = np.split(by_order, np.cumsum(self.sizes)[:-1])
        self._rank = np.empty(len(by_order), dtype=np.intp)
        self._rank[by_order] = np.arange(len(by_order))

    def estimate(self, answers: Answers) -> ReviewEstimate:
        """Estimate precision and recall.

        Parameters
        ----------
        answers : dict of int to bool or None
            Rows that were asked, and whether they are duplicates; None for skipped rows.
        """
        return self._summary(self._counts(answers))

    def forecast(
        self, answers: Answers, n: int = 20, precision: float | None = None
    ) -> ReviewEstimate:
        """Estimate what n more answers would say if they come as expected.

        Parameters
        ----------
        answers, precision
            As in `questions`.
        n : int, default=20
            Number of further answers.
        """
        counts = self._counts(answers)
        draws = self._draws(counts)
        places = self._allocation(counts, draws, n, precision)
        more = np.bincount(places, minlength=len(self.sizes)).astype(float)
        found = more * draws.mean(axis=0)
        return self._summary(
            _Counts(
                counts.asked + more,
                counts.answers + more,
                counts.duplicates + found,
                counts.sample + more,
                counts.sample_duplicates + found,
            )
        )

    def questions(self, answers: Answers, n: int = 1, precision: float | None = None) -> list[int]:
        """Choose the rows to ask about next; fewer than n, or none, if no more are left.

        Parameters
        ----------
        answers : dict of int to bool or None
            As in `estimate`.
        n : int, default=1
            Number of rows.
        precision : float, optional
            Precision to show. If given, most questions are about listed pairs.

        Notes
        -----
        First comes one question for each listed stratum, the likeliest first, and then one for each
        other stratum. After that, the next stratum is the one whose answer lowers the variance of
        the estimate most, of precision and of recall in turns. Without a precision to show, shares
        of listed strata count as no nearer to 0 or 1 than `HEDGED`.
        """
        counts = self._counts(answers)
        places = self._allocation(counts, self._draws(counts), n, precision)
        rows: list[int] = []
        for stratum in places:
            taken = set(rows)
            queue = (int(row) for row in self._queues[stratum])
            rows.append(next(row for row in queue if row not in answers and row not in taken))
        return rows

    def state(
        self, answers: Answers, precision: float
    ) -> Literal["shown", "open", "refuted", "far"]:
        """Return whether the answers show that the listed pairs have a precision.

        Parameters
        ----------
        answers : dict of int to bool or None
            As in `estimate`.
        precision : float
            The wanted precision.

        Returns
        -------
        state : {"shown", "open", "refuted", "far"}
            "shown" or "refuted" if the interval lies above or below the precision; "far" if even
            `FAR` more answers would not show it.
        """
        low, high = self.estimate(answers).precision_interval
        if low >= precision:
            return "shown"
        if high < precision:
            return "refuted"
        later = self.forecast(answers, FAR, precision)
        return "open" if later.precision_interval[0] >= precision else "far"

    def for_page(self, n: int) -> dict[str, Any]:
        """Return what a page needs to ask and to estimate by itself.

        Parameters
        ----------
        n : int
            Most pairs of a stratum to ask about.

        Returns
        -------
        data : dict
            For JSON: the first n rows of each stratum in the order of questions ("queues"),
            "sizes", the number of listed strata ("nListed"), the log-odds and widths of every case
            and stratum and the log-weights of cases ("model"), and the constants ("rule").
        """
        likely = np.maximum(self._log_weights - self._log_weights.max(), -50)
        return {
            "queues": [queue[:n].tolist() for queue in self._queues],
            "sizes": self.sizes.tolist(),
            "nListed": self.n_listed,
            "model": {
                "weights": likely.round(3).tolist(),
                "logOdds": self._log_odds.round(3).tolist(),
                "widths": self._widths.round(3).tolist(),
            },
            "rule": {
                "steps": _STEPS.tolist(),
                "logPrior": self._log_prior.round(4).tolist(),
                "draws": N_DRAWS,
                "level": LEVEL,
                "every": EVERY,
                "hedged": HEDGED,
                "far": FAR,
            },
        }

    def place(self, row: int) -> tuple[int, int]:
        """Return the stratum of a row, and its rank in the order of questions."""
        stratum = int(self.strata[row])
        return stratum, int(self._rank[row] - self.sizes[:stratum].sum())

    def _counts(self, answers: Answers) -> _Counts:
        counts = _Counts(*np.zeros((5, len(self.sizes))))
        starts = np.cumsum(self.sizes) - self.sizes
        first_left = [
            next((rank for rank, row in enumerate(queue) if row not in answers), len(queue))
            for queue in self._queues
        ]
        for row, answer in answers.items():
            stratum = self.strata[row]
            counts.asked[stratum] += 1
            if answer is None:
                continue
            counts.answers[stratum] += 1
            counts.duplicates[stratum] += answer
            if self._rank[row] - starts[stratum] < first_left[stratum]:
                counts.sample[stratum] += 1
                counts.sample_duplicates[stratum] += answer
        return counts

    def _draws(self, counts: _Counts) -> Floats:
        """Draw shares of duplicates in each stratum, (N_DRAWS, n_strata), given the sample."""
        n, k = counts.sample, counts.sample_duplicates
        log_each = self._log_prior + k[:, None] * self._log_p + (n - k)[:, None] * self._log_q
        top = log_each.max(axis=-1, keepdims=True)
        each = np.exp(log_each - top)
        total = each.sum(axis=-1)
        log_weights = self._log_weights + (np.log(total) + top[..., 0]).sum(axis=-1)
        weights = np.exp(log_weights - log_weights.max())
        rng = np.random.default_rng(0)
        case = rng.choice(len(weights), N_DRAWS, p=weights / weights.sum())
        below = np.cumsum(each, axis=-1)[case]
        aim = rng.random((N_DRAWS, len(n), 1)) * total[case][..., None]
        place = np.minimum((below < aim).sum(axis=-1), len(_STEPS) - 1)
        step = _STEPS[place] + (rng.random(place.shape) - 0.5) * (_STEPS[1] - _STEPS[0])
        return expit(self._log_odds[case] + self._widths[case] * step)

    def _summary(self, counts: _Counts) -> ReviewEstimate:
        rng = np.random.default_rng(1)
        left = np.round(self.sizes - counts.answers).astype(np.intp)
        unseen = rng.binomial(left, self._draws(counts))
        true = counts.duplicates + unseen
        listed = true[:, : self.n_listed].sum(axis=1)
        n_listed = self.sizes[: self.n_listed].sum()
        both = [listed / max(n_listed, 1), listed / np.maximum(true.sum(axis=1), 1)]
        precision, recall = _shortest(both[0]), _with_both_tails(both[1])
        return ReviewEstimate(
            round(float(counts.sample.sum())),
            float(both[0].mean()), precision, float(both[1].mean()), recall,
        )  # fmt: skip

    def _allocation(
        self, counts: _Counts, draws: Floats, n: int, precision: float | None
    ) -> list[int]:
        """Return the strata of the next n questions."""
        mean = np.clip(draws.mean(axis=0), 1e-6, 1 - 1e-6)
        is_listed = np.arange(len(mean)) < self.n_listed
        true = self.sizes * mean
        if precision:
            spread, variance = mean * (1 - mean), draws.var(axis=0)
        else:
            hedged = np.where(is_listed, np.clip(mean, HEDGED, 1 - HEDGED), mean)
            spread = hedged * (1 - hedged)
            variance = spread / (counts.asked + 1)
        inside, outside = true[is_listed].sum(), true[~is_listed].sum()
        of_precision = np.where(is_listed, self.sizes, 0.0)
        of_recall = self.sizes * np.where(is_listed, outside, inside)
        every = EVERY if precision else 2
        more = np.zeros(len(mean))
        places: list[int] = []
        while len(places) < n and (counts.asked + more < self.sizes).any():
            free = counts.asked + more < self.sizes
            new = free & (counts.asked + more == 0)
            by_recall = (counts.asked + more).sum() % every == every - 1
            # Each answer shrinks the variance v of a share to v s / (s + v), with s its spread.
            left = variance * spread / (spread + more * variance)
            gain = (of_recall if by_recall else of_precision) ** 2 * left**2 / (spread + left)
            if precision and not by_recall:
                new &= is_listed
            place = int(new.argmax() if new.any() else np.where(free, gain, -1.0).argmax())
            places.append(place)
            more[place] += 1
        return places


def _strata(chances: Floats, n: Floats, listed: NDArray[np.bool_]) -> Rows:
    """Cut cells into strata of about equal spread, by decreasing chance; listed ones come first."""
    strata = np.empty(len(chances), dtype=np.intp)
    first = 0
    for side in (listed, ~listed):
        order = np.flatnonzero(side)[np.argsort(-chances[side], kind="stable")]
        if not len(order):
            continue
        spread = n[order] * np.sqrt(chances[order] * (1 - chances[order]))
        middle = np.cumsum(spread) - spread / 2
        cut = np.minimum(N_STRATA * middle / max(spread.sum(), 1e-300), N_STRATA - 1)
        _, strata[order] = np.unique(cut.astype(np.intp), return_inverse=True)
        strata[order] += first
        first = int(strata[order].max()) + 1
    return strata


def _shortest(values: Floats) -> tuple[float, float]:
    """Return the shortest interval of 95 % of the values."""
    ordered = np.sort(values)
    n_inside = int(np.ceil(LEVEL * len(ordered)))
    widths = ordered[n_inside - 1 :] - ordered[: len(ordered) - n_inside + 1]
    start = int(widths.argmin())
    return float(ordered[start]), float(ordered[start + n_inside - 1])


def _with_both_tails(values: Floats) -> tuple[float, float]:
    """Return the shortest interval, widened to the quantiles that leave 2.5 % at either end."""
    low, high = _shortest(values)
    ends = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    first, last = np.quantile(values, ends, method="inverted_cdf").tolist()
    return min(low, first), max(high, last)

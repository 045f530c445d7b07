"""Exact neighbour ranks of pairs, and the Pairwise kNN rule for every k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.checks import (
    binary_labels,
    both_classes,
    check_at_least_one,
    check_length,
    checked_corpus,
    checked_integers,
    checked_points,
)
from film.pairs.neighbours.cosines import directions
from film.pairs.neighbours.rank_search import RankSearch
from film.pairs.priors import shift_prior

INFINITE_RANK = int(np.iinfo(np.int64).max)
"""Rank of a pair with a zero row, which is not among the k nearest for any k."""

Mode = Literal["both", "either"]


def neighbour_ranks(
    points: ArrayLike,
    pairs: ArrayLike,
    corpus: ArrayLike | None = None,
    *,
    k_max: int | None = None,
) -> NDArray[np.int64]:
    """Count, for each side of each pair, the points closer to it than its partner.

    rank(x → x′) is the number of corpus points strictly closer to x by cosine than x′ is, without x
    and x′ themselves. x′ is among the k nearest neighbours of x if the rank is below k (section 3.3
    of the FILM paper), so one rank decides for every k.

    Parameters
    ----------
    points : array-like of float, shape (n, d)
        Dense rows of any length, float32 or float64. Only their direction matters.
    pairs : array-like of int, shape (n_pairs, 2)
        Row indices of x and x′; ``n_pairs`` may be 0.
    corpus : array-like of int, shape (m,), optional
        Row indices of the points to count, without repeats; all rows if None. x and x′ need not be
        among them.
    k_max : int, optional
        At least 1. Higher ranks are returned as k_max, which suffices for the rule at every
        k ≤ k_max and is much faster (see Notes). None: no limit.

    Returns
    -------
    ranks : ndarray of int64, shape (n_pairs, 2)
        Columns rank(x → x′) and rank(x′ → x). A zero row has no direction: it is never counted,
        and a pair with a zero row has rank `INFINITE_RANK`, or k_max if given. A pair of an index
        with itself has rank 0, even for a zero row.

    Raises
    ------
    TypeError
        If points is sparse or not numeric, or pairs or corpus do not hold integers.
    ValueError
        If a shape is wrong, points contain NaN or infinity, an index is out of range, corpus is
        empty or repeats an index, or k_max < 1.

    Notes
    -----
    Blocks of cosines are computed in float32. The error of a product of unit rows is at most
    ``γ = (d + 4)u / (1 − (d + 4)u)``, u = 2⁻²⁴, for any order of summation (Higham, *Accuracy and
    Stability of Numerical Algorithms*, 2002, section 3.1; Σ|xᵢzᵢ| ≤ 1). Cosines within γ of the
    threshold are computed again in float64 and summed along a fixed tree, so neither blocks nor the
    order of pairs change the result.

    In float64, two cosines tie if they differ by at most ``2(log₂ d + 3)ε``, the largest rounding
    difference of two equal cosines (4e-15 at d = 100). So copies and multiples of x′ never count.

    With k_max, the result is exactly ``numpy.minimum(neighbour_ranks(...), k_max)``: only points
    that provably do not matter are skipped. The corpus is divided into cells around centres. Each
    query first counts the cells around its own; a pair with k_max closer points there is done. For
    other pairs, a cell is skipped if the angles between query, centre and the cell's farthest
    point show that all of its points are too far. A query also skips a cell if the Cauchy-Schwarz
    inequality shows this, from a quarter of the coordinates and the component along the centre.
    Both bounds allow for the error of float32. A text in many pairs is scanned once.

    The time is at most O(q m d) for q distinct queries and m distinct directions in the corpus;
    with k_max and clustered points, it is a small share of this. Memory in addition to the input is
    O(m d) float32 and the blocks. Points with exactly the same direction are computed once. Blocks
    of queries run in threads, one per core.

    Examples
    --------
    >>> import numpy as np
    >>> from film.pairs import neighbour_ranks
    >>> angles = np.deg2rad([0, 10, 30, 35, 90])
    >>> points = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> neighbour_ranks(points, [[0, 2], [2, 3]])
    array([[1, 2],
           [0, 0]])
    >>> neighbour_ranks(points, [[0, 2], [2, 3]], k_max=1)
    array([[1, 1],
           [0, 0]])
    """
    if k_max is not None:
        check_at_least_one("k_max", k_max)
    array = checked_points(points)
    n = len(array)
    listed = checked_integers("pairs", pairs, width=2, below=n)
    members = checked_corpus(corpus, n)
    origin, target = listed.ravel(), listed[:, ::-1].ravel()
    used = np.zeros(n, dtype=bool)
    used[members] = True
    in_corpus = used.copy()
    used[origin] = True
    direction = directions(array, np.flatnonzero(used))
    source, goal = direction[origin], direction[target]
    ranks = np.zeros(len(origin), dtype=np.int64)
    ranks[((source < 0) | (goal < 0)) & (origin != target)] = INFINITE_RANK
    # No point is closer to a point than its copy, so copies need no search.
    searched = np.flatnonzero((source >= 0) & (goal >= 0) & (source != goal))
    if len(searched):
        counted = direction[members]
        copies = np.bincount(counted[counted >= 0], minlength=n)
        keys, task_of = np.unique(source[searched] * n + goal[searched], return_inverse=True)
        tasks = keys // n, keys % n
        search = RankSearch(array, copies, *tasks, k_max)
        closer = search.closer_points()
        # Copies of x are closer than x′, like x itself, which is left out.
        others = copies[source[searched]] - in_corpus[origin[searched]]
        ranks[searched] = closer[task_of] + others * search.self_is_closer()[task_of]
    ranks = ranks if k_max is None else np.minimum(ranks, k_max)
    return ranks.reshape(listed.shape)


def effective_ranks(ranks: ArrayLike, mode: Mode = "both") -> NDArray[np.int64]:
    """Reduce both ranks of a pair to the rank that decides the rule at every k.

    Parameters
    ----------
    ranks : array-like of int, shape (n, 2)
        From `neighbour_ranks`.
    mode : {"both", "either"}, default="both"
        "both" takes the larger rank, so each text must be near the other (the paper's rule);
        "either" takes the smaller.

    Returns
    -------
    effective : ndarray of int64, shape (n,)
        A pair is similar at k if this is below k. Swapping x and x′ changes nothing.

    Raises
    ------
    TypeError
        If ranks do not hold integers.
    ValueError
        If the shape is wrong, a rank is negative or the mode is unknown.

    Examples
    --------
    >>> from film.pairs import effective_ranks
    >>> effective_ranks([[0, 4], [2, 1]]), effective_ranks([[0, 4], [2, 1]], mode="either")
    (array([4, 2]), array([0, 1]))
    """
    array = checked_integers("ranks", ranks, width=2)
    if mode == "both":
        return array.max(axis=1)
    if mode == "either":
        return array.min(axis=1)
    raise ValueError(f"mode must be 'both' or 'either', got {mode!r}: choose one of the two.")


@dataclass(frozen=True)
class Rates:
    """Results of the Pairwise kNN rule at each k; all arrays have shape (len(ks),).

    Attributes
    ----------
    ks : ndarray of int64
        The values of k.
    true_positives, false_positives, true_negatives, false_negatives : ndarray of int64
        Counts of the rule's decisions; "positive" means duplicate.
    tpr, tnr, fpr, fnr : ndarray of float64
        True positive, true negative, false positive and false negative rate (figure 4 of the FILM
        paper).
    accuracy : ndarray of float64
        Share of correct decisions.
    inside_rate, outside_rate : ndarray of float64
        Share of duplicates among pairs inside k and outside k, smoothed as
        ``(count + 1) / (total + 2)`` (Laplace's rule), so never 0 or 1.
    log_loss : ndarray of float64
        Log loss, in nats, if pairs inside k have the probability inside_rate, and all others
        outside_rate.
    """

    ks: NDArray[np.int64]
    true_positives: NDArray[np.int64]
    false_positives: NDArray[np.int64]
    true_negatives: NDArray[np.int64]
    false_negatives: NDArray[np.int64]
    tpr: NDArray[np.float64]
    tnr: NDArray[np.float64]
    fpr: NDArray[np.float64]
    fnr: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    inside_rate: NDArray[np.float64]
    outside_rate: NDArray[np.float64]
    log_loss: NDArray[np.float64]

    def log_loss_at(self, prior: float) -> NDArray[np.float64]:
        """Return the log loss on a population with another share of duplicates.

        Rows are reweighted to the prior, and Bayes' rule shifts both rates to it.

        Parameters
        ----------
        prior : float in (0, 1)
            Share of duplicates there.

        Returns
        -------
        log_loss : ndarray of float64, shape (len(ks),)
            In nats; equal to the attribute ``log_loss`` at the prior of the data.

        Raises
        ------
        ValueError
            If prior lies outside (0, 1).
        """
        n_positive = self.true_positives + self.false_negatives
        n_negative = self.true_negatives + self.false_positives
        share = float(n_positive[0] / (n_positive[0] + n_negative[0])) if len(self.ks) else prior
        inside = shift_prior(self.inside_rate, share, prior)
        outside = shift_prior(self.outside_rate, share, prior)
        positive = _cost(self.true_positives, inside, self.false_negatives, outside) / n_positive
        negative = _cost(self.false_positives, 1 - inside, self.true_negatives, 1 - outside)
        return prior * positive + (1 - prior) * negative / n_negative


def rates_over_k(effective: ArrayLike, y: ArrayLike, ks: ArrayLike) -> Rates:
    """Evaluate the Pairwise kNN rule at many k from one array of ranks.

    Parameters
    ----------
    effective : array-like of int, shape (n,)
        From `effective_ranks`.
    y : array-like of shape (n,)
        1 for duplicates, 0 for others; both must occur.
    ks : array-like of int, shape (n_ks,)
        Values of k, each at least 1, in any order.

    Returns
    -------
    rates : Rates
        Arrays over ``ks``.

    Raises
    ------
    TypeError
        If the ranks or ks do not hold integers.
    ValueError
        If lengths differ, a rank is negative, some k < 1, y is not binary, or y has only one class.

    Notes
    -----
    The ranks of each class are sorted once, O(n log n), and each k looked up in them,
    O(n_ks log n).

    Examples
    --------
    >>> from film.pairs import rates_over_k
    >>> rates = rates_over_k([0, 2, 5, 9], y=[1, 1, 0, 0], ks=[1, 3, 6])
    >>> rates.tpr, rates.fpr
    (array([0.5, 1. , 1. ]), array([0. , 0. , 0.5]))
    >>> rates.accuracy
    array([0.75, 1.  , 0.75])
    >>> rates.inside_rate
    array([0.66666667, 0.75      , 0.6       ])
    """
    array = checked_integers("effective", effective)
    counts_at = checked_integers("ks", ks)
    if len(counts_at):
        check_at_least_one("ks", int(counts_at.min()))
    outcome = binary_labels(y)
    check_length("effective", array, len(outcome))
    both_classes(outcome)
    n_positive = int(np.count_nonzero(outcome))
    n_negative = len(outcome) - n_positive
    true_positive = np.searchsorted(np.sort(array[outcome]), counts_at, side="left")
    false_positive = np.searchsorted(np.sort(array[~outcome]), counts_at, side="left")
    false_negative, true_negative = n_positive - true_positive, n_negative - false_positive
    inside_rate = (true_positive + 1) / (true_positive + false_positive + 2)
    outside_rate = (false_negative + 1) / (false_negative + true_negative + 2)
    cost = _cost(true_positive, inside_rate, false_negative, outside_rate) + _cost(
        false_positive, 1 - inside_rate, true_negative, 1 - outside_rate
    )
    return Rates(
        ks=counts_at,
        true_positives=true_positive,
        false_positives=false_positive,
        true_negatives=true_negative,
        false_negatives=false_negative,
        tpr=true_positive / n_positive,
        tnr=true_negative / n_negative,
        fpr=false_positive / n_negative,
        fnr=false_negative / n_positive,
        accuracy=(true_positive + true_negative) / len(array),
        inside_rate=inside_rate,
        outside_rate=outside_rate,
        log_loss=cost / len(array),
    )


def _cost(n_inside: Any, p_inside: Any, n_outside: Any, p_outside: Any) -> NDArray[np.float64]:
    return -(n_inside * np.log(p_inside) + n_outside * np.log(p_outside))

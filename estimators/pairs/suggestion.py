"""Pairs of texts that are most useful to label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist
from sklearn.preprocessing import StandardScaler

from estimators.inputs import TextIndex, check_integer, check_pair_labels, check_pairs
from estimators.pairs.lexical import LexicalFeatures
from film.checks import checked_integers

CANDIDATES = 2000
"""So many pairs, drawn at random, stand for a larger pool: an answer takes a few seconds."""
LARGEST = 4.0
"""Standard deviations at which features are cut: one far value must not be all of a distance."""
BANDWIDTH = 0.3
"""Scale of the kernel, in median distances of the pool."""
_BLOCK = 512
_SAMPLE = 1000


def suggest_pairs(
    pairs: Any, n: int, *, labelled: Any = None, y: Any = None, random_state: int = 0
) -> NDArray[np.intp]:
    """Choose the pairs to label next, so that the labelled pairs represent all pairs.

    The mean of the standardised `LexicalFeatures` of the chosen pairs is as close as possible to
    the mean of all pairs (kernel herding). Choices depend only on texts, never on answers. So the
    labels need no weights, and probabilities stay unbiased. Pairs that you labelled for other
    reasons count too: later choices make up for what they do not cover.

    Parameters
    ----------
    pairs : array-like of str, shape (n_pairs, 2)
        All pairs, labelled or not.
    n : int
        Number of pairs to choose.
    labelled : array-like of int, shape (n_labelled,), default=None
        Rows of pairs that have been asked. They, and the same pairs in other order or spelling,
        are not suggested again.
    y : array-like of shape (n_labelled,), default=None
        Answers for ``labelled``, of two classes; None or NaN for a skipped pair, in place of which
        a similar pair is chosen. By default, all rows of ``labelled`` count as answered.
    random_state : int, default=0
        Seeds the draw of candidates. The same input gives the same rows.

    Returns
    -------
    rows : ndarray of intp, shape (n,)
        Rows of pairs, in order of choice; fewer than n if fewer are left. No pair occurs twice, in
        any order or spelling. Two pairs share a text only if there are no other pairs.

    Raises
    ------
    TypeError, ValueError
        If a text is missing, rows are not integers or out of range, or y does not fit them.

    See Also
    --------
    few_label_duplicates : A classifier for the labels.

    Notes
    -----
    With the kernel ``k(x, z) = exp(−‖x − z‖ / h)``, h being `BANDWIDTH` times the median distance,
    and t pairs labelled or chosen already, the next pair is the unlabelled ``argmax_x Σ_z w_z k(x,
    z) − Σ_{i ≤ t} k(x, x_i) / (t + 1)``. This greedily lowers the distance between the kernel means
    of the chosen pairs and of the pool.

    From a pool larger than `CANDIDATES`, this many unlabelled pairs are drawn with equal
    probability. Costs O(n_pairs) to normalise texts, `LexicalFeatures` of candidates and labelled
    pairs, and their pairwise distances.

    References
    ----------
    Chen, Welling and Smola, *Super-samples from kernel herding*, 2010.

    Examples
    --------
    >>> from estimators.pairs import suggest_pairs
    >>> from film.datasets import make_question_pairs
    >>> data = make_question_pairs(300, random_state=0)
    >>> first = suggest_pairs(data.pairs, 20)
    >>> more = suggest_pairs(data.pairs, 10, labelled=first, y=data.y[first])
    >>> len(more), set(first) & set(more)
    (10, set())
    """
    pairs = check_pairs(pairs)
    n = check_integer("n", n, 1)
    seed = check_integer("random_state", random_state, 0)
    asked = checked_integers("labelled", [] if labelled is None else labelled, below=len(pairs))
    answered = _answered(y, asked)

    codes = np.sort(TextIndex().add_pairs(pairs), axis=1)
    asked, left = _unlike(codes, asked), _unlike(codes, np.arange(len(pairs)), without=asked)
    if len(left) == 0:
        return left
    drawn = left
    if len(left) > CANDIDATES:
        drawn = np.sort(np.random.default_rng(seed).choice(left, CANDIDATES, replace=False))
    # The asked ones belong to what the labels are to stand for.
    rows = np.concatenate([drawn, asked])
    features = LexicalFeatures().fit(pairs[rows]).transform(pairs[rows])
    chosen = _representative(
        features,
        n,
        weights=np.repeat([len(left) / len(drawn), 1.0], [len(drawn), len(asked)]),
        known=len(drawn) + np.flatnonzero(_alike(codes, asked, answered)),
        n_free=len(drawn),
        members=codes[rows],
    )
    return rows[chosen]


def _representative(
    features: NDArray[np.float64],
    n: int,
    *,
    weights: NDArray[np.float64],
    known: NDArray[np.intp],
    n_free: int,
    members: NDArray[np.intp],
) -> list[int]:
    """Choose up to n of the first ``n_free`` points by kernel herding.

    A point that shares a member with a chosen one waits until no other point is left.
    """
    X = np.clip(StandardScaler().fit_transform(features), -LARGEST, LARGEST)
    distances = pdist(X[:: -(-len(X) // _SAMPLE)])
    scale = BANDWIDTH * float(np.median(distances[distances > 0])) if distances.any() else 1.0
    target = _kernel_sums(X, X, weights / weights.sum(), scale)
    covered = _kernel_sums(X, X[known], np.ones(len(known)), scale)
    left, free = np.arange(len(X)) < n_free, np.ones(len(X), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < n and left.any():
        allowed = left & free if (left & free).any() else left
        gain = target - covered / (len(known) + len(chosen) + 1)
        best = int(np.where(allowed, gain, -np.inf).argmax())
        chosen.append(best)
        left[best] = False
        free &= ~np.isin(members, members[best]).any(axis=1)
        covered += _kernel_sums(X, X[best : best + 1], np.ones(1), scale)
    return chosen


def _kernel_sums(
    X: NDArray[np.float64], Z: NDArray[np.float64], weights: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """``Σ_z w_z exp(−‖x − z‖ / scale)`` at every x."""
    sums = np.zeros(len(X))
    for start in range(0, len(Z), _BLOCK):
        block = slice(start, start + _BLOCK)
        # No BLAS: equal points must have equal sums, whatever kernel multiplies.
        sums += (np.exp(-cdist(X, Z[block]) / scale) * weights[block]).sum(axis=1)
    return sums


def _unlike(
    codes: NDArray[np.intp], rows: NDArray[np.intp], without: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Keep the first of rows that read alike, and none that reads like one of others."""
    _, first = np.unique(codes[rows], axis=0, return_index=True)
    kept = np.sort(rows[np.sort(first)])
    return kept if without is None else kept[~_alike(codes, kept, without)]


def _alike(
    codes: NDArray[np.intp], rows: NDArray[np.intp], others: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Say which rows read like one of the others."""
    read = {tuple(code) for code in codes[others].tolist()}
    return np.array([tuple(code) in read for code in codes[rows].tolist()], dtype=bool)


def _answered(y: Any, asked: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows whose answer was not skipped."""
    if y is None:
        return asked
    answers = np.asarray(y)
    if answers.shape != asked.shape:
        raise ValueError(
            f"y has shape {answers.shape}, but {len(asked)} rows are labelled: give one answer per "
            "row, None or NaN where it was skipped"
        )
    # NaN alone is unlike itself.
    given = np.array([a is not None and bool(a == a) for a in answers.tolist()], dtype=bool)
    rows, answers = asked[given], np.asarray(answers[given].tolist())
    if len(rows):
        check_pair_labels(answers, len(rows), allow_one_class=True)
    return rows

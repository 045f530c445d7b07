"""Weights of the agreement in each column, learned from the pairs of a table without labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, logit
from scipy.stats import entropy

from film.compare import LEVELS_OF_SIMILARITY, N_LEVELS

__all__ = [
    "ColumnWeights",
    "effects_with_columns",
    "em_column_weights",
    "fit_column_weights",
    "log_odds_with_columns",
    "separating_column_weights",
    "uninformative_columns",
]

Floats = NDArray[np.float64]

_PRIOR_PAIRS = 10.0
"""Pairs that are added to each level, with the share of duplicates among all pairs."""

_KEPT = 0.7
"""Share of the log-odds that is kept: the joined text has said part of what the columns say."""

_KEPT_ALONE = 0.3
"""The same where columns decide alone: they depend on each other."""

_AMBIGUOUS = {False: 0.2, True: 0.1}
_FEWEST_COLUMNS = {False: 6, True: 1}
"""By whether there are two tables, in which most rows have one duplicate at most."""

_CONFIRMED = 0.95

_MOST_FOR_DIFFERENCE = 0.1
"""Highest mean weight of different cells, in nats. Where a column says nothing it is near 0."""

_LEAST_INFORMATION = 0.01
_LEAST_SHARE = 0.005
_LEAST_SUM = 1.0
"""Nats per duplicate, of a column and of all columns together."""
_FEWEST_DUPLICATES = 10
"""Fewest pairs with a chance above one half, below which no column is left out."""


@dataclass(frozen=True, eq=False)
class ColumnWeights:
    """Weights of evidence by column and level of agreement.

    Attributes
    ----------
    start : float
        Log-odds that the levels are added to.
    weights : ndarray of float64, shape (n_columns, n_levels)
        What each level of agreement of each column adds.
    alone : bool
        Whether the columns decide alone (`separating_column_weights`).
    """

    start: float
    weights: Floats
    alone: bool = False

    def effects(self, levels: NDArray[np.intp]) -> Floats:
        """Return what each column adds to the log-odds, (n, n_columns), for levels of that shape.

        Levels are those of `film.compare.agreement_levels`.
        """
        return self.weights[np.arange(len(self.weights)), levels]

    def log_odds(self, levels: NDArray[np.intp]) -> Floats:
        """Return the evidence of all columns, (n,)."""
        return self.start + self.effects(levels).sum(axis=1)


def fit_column_weights(levels: NDArray[np.intp], chances: Floats) -> ColumnWeights:
    """Learn weights of agreement by column, given probabilities of duplicates from other evidence.

    Parameters
    ----------
    levels : ndarray of int, shape (n, n_columns)
        Levels of agreement of each pair, from `film.compare.agreement_levels`.
    chances : ndarray of float64, shape (n,)
        Chance of each pair to be a duplicate, from the general formula.

    Returns
    -------
    weights : ColumnWeights

    Notes
    -----
    One step of the EM algorithm of Fellegi and Sunter's model (Winkler, 1988): the weight of a
    level is log m / u, where m is its share among duplicates and u that among other pairs, both
    counted by probabilities, so uncertain probabilities shrink it to 0. Among levels of equal
    information, weights do not fall as the similarity rises. Columns depend on each other, so the
    sum of weights is calibrated: evidence b is replaced by a + s b, 0 <= s <= 1, of the highest
    likelihood of the chances, and the log-odds of their mean are subtracted. Further EM steps make
    the weights worse, because any common cause of agreement, such as the same artist, then counts
    as identity.

    O(n · n_columns).

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import fit_column_weights
    >>> levels = np.array([[9], [9], [2], [2]] * 100)
    >>> weights = fit_column_weights(levels, np.array([0.9, 0.9, 0.1, 0.1] * 100))
    >>> np.sign(weights.effects(np.array([[9], [2]]))).ravel().tolist()
    [1.0, -1.0]
    """
    prior, found = _log_ratios(levels, chances)
    sums = ColumnWeights(0.0, found).log_odds(levels)
    offset, slope = _calibration(sums, chances, prior)
    return ColumnWeights(offset - prior, slope * found)


def em_column_weights(
    levels: NDArray[np.intp], chances: Floats, n_steps: int = 30
) -> ColumnWeights:
    """Fit Fellegi and Sunter's model by EM.

    Parameters
    ----------
    levels : ndarray of int, shape (n, n_columns)
        As in `fit_column_weights`.
    chances : ndarray of float64, shape (n,)
        Chances to start from.
    n_steps : int, default=30
        Number of steps.

    Returns
    -------
    weights : ColumnWeights
        Their log-odds are those of a duplicate: ``start`` is that of the share of duplicates.

    Notes
    -----
    The weights of `fit_column_weights` before calibration, with the chances replaced by those of
    the weights after each step. O(n_steps · n · n_columns).

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import em_column_weights
    >>> levels = np.tile([[9, 9], [2, 9], [2, 2], [2, 2]], (100, 1))
    >>> weights = em_column_weights(levels, np.tile([0.6, 0.3, 0.1, 0.1], 100))
    >>> (weights.log_odds(levels[:4]) > 0).tolist()
    [True, False, False, False]
    """
    weights = ColumnWeights(*_log_ratios(levels, chances))
    for _ in range(n_steps - 1):
        weights = ColumnWeights(*_log_ratios(levels, expit(weights.log_odds(levels))))
    return weights


def separating_column_weights(
    levels: NDArray[np.intp], chances: Floats, *, two_tables: bool = False
) -> ColumnWeights | None:
    """Learn the weights of columns by EM, if columns alone tell duplicates from other pairs.

    Parameters
    ----------
    levels, chances
        As in `em_column_weights`.
    two_tables : bool, default=False
        Whether each pair has one row of either table.

    Returns
    -------
    weights : ColumnWeights or None
        None unless, after 30 steps of EM, the chances p are nearly certain, with
        sum(min(p, 1 − p)) < 0.2 sum(p), in two tables 0.1 sum(p), and hold 95 % of the pairs that
        were likely at the start. In one table, six columns are needed: fewer often agree because
        two products have the same brand and size. None too if different cells of a column count
        for duplicates, by over 0.1 nats on average: then EM told other kinds of pairs apart, such
        as complete and incomplete records.

    Notes
    -----
    One example is records of people with many columns. If a person has ten rows, ranks among
    neighbours, and with them the general formula, are misleading. The log-odds are multiplied by
    0.3, as columns depend on each other.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import separating_column_weights
    >>> levels = np.tile([[9] * 6, [2, 9, 2, 2, 2, 2], [2] * 6, [9, 2, 2, 2, 2, 2]], (100, 1))
    >>> chances = np.tile([0.9, 0.1, 0.1, 0.1], 100)
    >>> separating_column_weights(levels, chances).alone
    True
    >>> separating_column_weights(levels[:, :5], chances) is None
    True
    """
    if levels.shape[1] < _FEWEST_COLUMNS[two_tables]:
        return None
    weights = em_column_weights(levels, chances)
    found = expit(weights.log_odds(levels))
    likely = chances >= 0.5
    certain = np.minimum(found, 1 - found).sum() < _AMBIGUOUS[two_tables] * found.sum()
    if not (certain and likely.any() and (found[likely] >= 0.5).mean() >= _CONFIRMED):
        return None
    differ = (levels >= 2) & ((levels - 2) % LEVELS_OF_SIMILARITY == 0)
    by_column = (weights.effects(levels) * differ).sum(axis=0)
    if (by_column > _MOST_FOR_DIFFERENCE * differ.sum(axis=0)).any():
        return None
    return ColumnWeights(_KEPT_ALONE * weights.start, _KEPT_ALONE * weights.weights, alone=True)


def uninformative_columns(levels: NDArray[np.intp], chances: Floats) -> NDArray[np.bool_]:
    """Return which columns agree among duplicates as they do among other pairs, (n_columns,).

    Parameters
    ----------
    levels : ndarray of int, shape (n, n_columns)
        As in `fit_column_weights`.
    chances : ndarray of float64, shape (n,)
        Chance of each pair to be a duplicate, by all evidence.

    Notes
    -----
    Such as the time when a row was written, or its number. The information of a column is the
    divergence sum(m log(m / u)) of its shares of levels among duplicates (m) and other pairs (u),
    less what chance alone gives, mean and standard deviation: (k − 1 + sqrt(2 (k − 1))) / (2 d) for
    k levels and d duplicates. A column is uninformative if both cells are given in half of the
    pairs, and it has less than 0.01 nats or less than 0.5 % of the sum of all columns. None is if
    this sum is below 1, or if fewer than ten pairs have a chance above one half: then too few
    duplicates are known. Values of a column that one table leaves empty may be in another column
    there, so such a column stays.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import uninformative_columns
    >>> levels = np.tile([[9, 9], [9, 2], [2, 9], [2, 2]], (100, 1))
    >>> uninformative_columns(levels, np.tile([0.99, 0.99, 0.01, 0.01], 100)).tolist()
    [False, True]
    """
    information = np.empty(levels.shape[1])
    for column, of_column in enumerate(levels.T):
        n_pairs = np.bincount(of_column, minlength=N_LEVELS).astype(np.float64)
        n_duplicates = np.bincount(of_column, chances, N_LEVELS)
        some = n_pairs > 0
        others = (n_pairs - n_duplicates)[some] + 0.5
        free = some.sum() - 1
        by_chance = (free + np.sqrt(2 * free)) / (2 * max(1e-9, n_duplicates.sum()))
        information[column] = entropy(n_duplicates[some] + 1e-12, others) - by_chance
    least = max(_LEAST_INFORMATION, _LEAST_SHARE * information.sum())
    is_given = (levels >= 2).mean(axis=0) >= 0.5
    can_tell = information.sum() >= _LEAST_SUM and (chances > 0.5).sum() >= _FEWEST_DUPLICATES
    return is_given & (information < least) & can_tell


def _log_ratios(levels: NDArray[np.intp], chances: Floats) -> tuple[float, Floats]:
    """Return the log-odds of the mean chance, and log m / u by column and level."""
    share = float(np.clip(chances.mean(), 1e-9, 1 - 1e-9))
    prior = float(logit(share))
    found = np.zeros((levels.shape[1], N_LEVELS))
    for column, of_column in enumerate(levels.T):
        n_pairs = np.bincount(of_column, minlength=N_LEVELS).astype(np.float64)
        n_duplicates = np.bincount(of_column, chances, N_LEVELS)
        log_ratio = logit((n_duplicates + _PRIOR_PAIRS * share) / (n_pairs + _PRIOR_PAIRS)) - prior
        for first in range(2, N_LEVELS, LEVELS_OF_SIMILARITY):
            some = slice(first, first + LEVELS_OF_SIMILARITY)
            log_ratio[some] = isotonic_regression(log_ratio[some], weights=n_pairs[some] + 1e-9).x
        found[column] = log_ratio
    return prior, found


def _calibration(evidence: Floats, chances: Floats, prior: float) -> tuple[float, float]:
    """Return offset and slope of the logistic regression of chances on the evidence."""

    def loss(at: Floats) -> tuple[float, Floats]:
        odds = at[0] + at[1] * evidence
        gap = expit(odds) - chances
        mean = float(np.mean(np.logaddexp(0, odds) - chances * odds))
        return mean, np.array([gap.mean(), (gap * evidence).mean()])

    bounds = [(None, None), (0.0, 1.0)]
    best = minimize(loss, [prior, 1.0], jac=True, method="L-BFGS-B", bounds=bounds)
    return float(best.x[0]), float(best.x[1])


def log_odds_with_columns(
    general: Floats, weights: ColumnWeights, levels: NDArray[np.intp]
) -> Floats:
    """Add the evidence of columns to the log-odds of the joined texts.

    Parameters
    ----------
    general : ndarray of float64, shape (n,)
        Log-odds by the general formula (`film.judge.general_log_odds`).
    weights : ColumnWeights
        Weights of the columns.
    levels : ndarray of int, shape (n, n_columns)
        Levels of agreement of each pair.

    Returns
    -------
    log_odds : ndarray of float64, shape (n,)
        0.7 times the sum, because both use the same cells; or the log-odds of the columns alone.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import ColumnWeights, log_odds_with_columns
    >>> weights = ColumnWeights(0.5, np.array([[0.0, 1.5]]))
    >>> log_odds_with_columns(np.array([1.0]), weights, np.array([[1]])).round(1).tolist()
    [2.1]
    """
    columns = weights.log_odds(levels)
    return columns if weights.alone else _KEPT * (general + columns)


def effects_with_columns(
    start: float, general: Floats, weights: ColumnWeights, levels: NDArray[np.intp]
) -> tuple[float, Floats]:
    """Split `log_odds_with_columns` into the effects of the general formula and of each column.

    Parameters
    ----------
    start : float
        Log-odds that the effects of the general formula are added to.
    general : ndarray of float64, shape (n, n_groups)
        These effects (`film.judge.general_effects`).
    weights, levels
        As in `log_odds_with_columns`.

    Returns
    -------
    start : float
        Log-odds that all effects are added to.
    effects : ndarray of float64, shape (n, n_groups + n_columns)
        First those of the general formula, then those of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from film.judge import ColumnWeights, effects_with_columns
    >>> weights = ColumnWeights(0.5, np.array([[0.0, 1.5]]))
    >>> start, effects = effects_with_columns(1.0, np.array([[2.0]]), weights, np.array([[1]]))
    >>> round(start, 2), effects.round(2).tolist()
    (1.05, [[1.4, 1.05]])
    """
    of_general, of_columns = (0.0, 1.0) if weights.alone else (_KEPT, _KEPT)
    effects = np.hstack([of_general * general, of_columns * weights.effects(levels)])
    return of_general * start + of_columns * weights.start, effects

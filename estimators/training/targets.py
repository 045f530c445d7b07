"""Validation of training rows and targets, for each objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from estimators.inputs import (
    check_pair_labels,
    check_pair_scores,
    check_pairs,
    check_real,
    encode_labels,
)

RELATIONS = ("entailment", "neutral", "contradiction")
"""Classes of natural language inference, closest first; labels may be their numbers."""
WITHOUT_Y = ("contrastive", "triplet")
ROUNDING = 1e-6
"""Similarities of float32 tokens that differ by less, relative to the largest, count as equal."""
LINE_ROWS = 10_000
"""Rows used to fit the line to y; more would hardly change it."""
Held = tuple[np.ndarray, np.ndarray | None]


def check_rows(
    rows: Any, objective: str, name: str = "pairs", *, trains: bool = False
) -> np.ndarray:
    """Check rows of 2 texts, or of 3 if the objective allows it."""
    shape = getattr(rows, "shape", None)
    if shape is None and isinstance(rows, (list, tuple)) and rows:
        shape = len(rows), len(rows[0]) if isinstance(rows[0], (list, tuple, np.ndarray)) else 0
    has_three = shape is not None and len(shape) == 2 and shape[1] == 3
    needs_three = objective == "triplet" and trains
    n_columns = 3 if needs_three or (has_three and objective in WITHOUT_Y) else 2
    found = check_pairs(rows, n_columns=n_columns, name=name, encodable=True, fits=True)
    if found.shape[1] == 3:
        for row, texts in enumerate(found.tolist()):
            if len(set(texts)) < 3:
                raise ValueError(
                    f"{name} row {row} holds one text twice, {texts!r}; a text, its partner and a "
                    "negative must differ: drop the row"
                )
    return found


def check_targets(y: Any, rows: np.ndarray, objective: str, trains: bool) -> np.ndarray | None:
    """Return validated targets: scores, labels as 0.0 and 1.0, classes, or None for partners.

    Raises
    ------
    ValueError
        If y is missing, not expected, constant, or does not fit the rows.
    """
    if objective in WITHOUT_Y:
        if y is not None:
            raise ValueError(
                f"y is given, but objective={objective!r} takes none: its rows are partners; "
                "give y=None, or another objective"
            )
        if trains and objective == "contrastive" and len(rows) < 2:
            raise ValueError("pairs has 1 row, but negatives come from other rows; give at least 2")
        return None
    if y is None:
        if trains:
            raise ValueError(
                f"y is None, but objective={objective!r} learns from it; give one per pair, or "
                "epochs=0 to train nothing"
            )
        return None
    return (
        relation_numbers(y, len(rows)) if objective == "nli" else _numbers(y, len(rows), objective)
    )


def relation_numbers(y: Any, n: int) -> np.ndarray:
    """Turn relations, given by name or number, into their numbers in `RELATIONS`, as floats.

    Raises
    ------
    ValueError
        If their number is wrong, one is invalid, or all are the same.
    """
    given = np.asarray(y, dtype=object)
    if given.shape != (n,):
        raise ValueError(f"y has shape {given.shape} for {n} pairs: give one relation per pair")
    numbers: dict[Any, int] = {name: number for number, name in enumerate(RELATIONS)}
    numbers |= {number: number for number in range(len(RELATIONS))}
    found = np.empty(n)
    for row, relation in enumerate(given.tolist()):
        is_plain = isinstance(relation, (str, int, float)) and not isinstance(relation, bool)
        if not is_plain or relation not in numbers:
            raise ValueError(
                f"y row {row} is {relation!r}; it must be one of "
                f"{', '.join(map(repr, RELATIONS))}, or 0, 1 and 2 for them in this order: drop "
                "rows without an agreed relation"
            )
        found[row] = numbers[relation]
    if len(set(found)) == 1:
        raise ValueError(f"y is {given[0]!r} for all {n} pairs: give pairs of different relations")
    return found


def labels_in_order(y: Any, objective: str) -> np.ndarray | None:
    """Return the label of other pairs and that of duplicates; None without labels."""
    if objective != "binary" or y is None:
        return None
    classes, duplicate, _ = encode_labels(y)
    return classes if classes[1] == duplicate else classes[::-1]


def check_judged(name: str, rows: Any, y: Any, objective: str) -> Held:
    """Check rows and y for a score: y must be None for three columns and only then."""
    checked = check_rows(rows, objective, name)
    if checked.shape[1] == 3:
        if y is not None:
            raise ValueError(f"{name} has three columns, which have no y; give y=None")
        return checked, None
    if y is None:
        raise ValueError(f"y of {name} is None; give one per pair")
    if objective == "nli":
        # From closest to farthest relation, so that ranks agree with the similarity.
        return checked, len(RELATIONS) - 1 - relation_numbers(y, len(checked))
    return checked, _numbers(y, len(checked), objective)


def check_eval_set(eval_set: Any, objective: str) -> Held | None:
    """Check a tuple of rows and y."""
    if eval_set is None:
        return None
    if not isinstance(eval_set, (tuple, list)) or len(eval_set) != 2:
        raise TypeError("eval_set must be a tuple (rows, y); y is None for triplets of texts")
    return check_judged("eval_set[0]", eval_set[0], eval_set[1], objective)


def _numbers(y: Any, n: int, objective: str) -> np.ndarray:
    if objective != "binary":
        return check_pair_scores(y, n)
    return encode_labels(check_pair_labels(y, n))[2].astype(np.float64)


def check_range(score_range: Any) -> None:
    """Raise unless a range of scores is None or two numbers in order."""
    if score_range is None:
        return
    is_pair = isinstance(score_range, (tuple, list)) and len(score_range) == 2
    if not is_pair:
        raise TypeError(f"score_range={score_range!r} must be a tuple of two numbers, or None")
    low, high = (check_real("score_range", each, -np.inf) for each in score_range)
    if low >= high:
        raise ValueError(f"score_range={score_range!r} must hold the lower score first")


def as_cosines(y: np.ndarray, score_range: Any) -> np.ndarray:
    """Scale scores from a range to cosines from 0 to 1; without a range they are cosines.

    Raises
    ------
    ValueError
        If a score is out of range.
    """
    low, high = (-1.0, 1.0) if score_range is None else map(float, score_range)
    outside = np.flatnonzero((y < low) | (y > high))
    if len(outside):
        raise ValueError(
            f"y row {outside[0]} is {y[outside[0]]:g}, but objective='l2' learns "
            + (
                "the cosine itself, from -1 to 1: give score_range=(lowest, greatest) of the unit, "
                "such as (0, 5) for STS, or objective='regression', which takes any unit"
                if score_range is None
                else f"scores of score_range={tuple(score_range)!r}: widen it, or correct y"
            )
        )
    return y if score_range is None else (y - low) / (high - low)


def units_of(
    objective: str, given: Held, held: Held | None
) -> tuple[np.ndarray | None, Callable[[np.ndarray], tuple[float, float]]]:
    """Choose rows to fit the line to y, and the function that fits it.

    ``given`` are the rows and y of a fit; ``held`` are those of its eval_set, which are preferred.
    Rows are None if y has no units, and at most `LINE_ROWS`.
    """
    rows, y = given if held is None or held[1] is None else held
    if objective == "nli" or y is None:
        return None, lambda similarity: (1.0, 0.0)
    chosen = rows_of_line(y)
    fitted = fitted_curve if objective == "binary" else fitted_line
    return rows[chosen], lambda similarity: fitted(similarity, y[chosen])


def rows_of_line(y: np.ndarray) -> np.ndarray:
    """Choose at most `LINE_ROWS` rows, evenly by the rank of y, including the extremes."""
    if len(y) <= LINE_ROWS:
        return np.arange(len(y))
    ranks = np.linspace(0, len(y) - 1, LINE_ROWS).round().astype(np.intp)
    return np.sort(np.argsort(y, kind="stable")[ranks])


def rank_correlation(scores: np.ndarray, y: Any) -> float:
    """Spearman's correlation."""
    found: Any = spearmanr(scores, y)
    return float(found.statistic)


def fitted_line(similarity: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and intercept of the least-squares line; slope 0 if similarities are equal."""
    if np.ptp(similarity) <= ROUNDING * np.abs(similarity).max():
        return 0.0, float(y.mean())
    slope, intercept = np.polyfit(similarity, y, 1)
    return float(slope), float(intercept)


def fitted_curve(similarity: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Slope and intercept of the logistic regression of labels 0 and 1."""
    spread = float(similarity.std()) or 1.0
    # Regularised, because the slope would diverge if a trained model separates all rows.
    model = LogisticRegression(C=100.0).fit(similarity[:, np.newaxis] / spread, labels)
    return float(model.coef_[0, 0]) / spread, float(model.intercept_[0])

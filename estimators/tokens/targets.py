"""What rows and targets of a training must be, for each objective."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from estimators.inputs import check_pair_labels, check_pair_scores, check_pairs

ROUNDING = 1e-6
"""Similarities of float32 tokens that differ by less, of the largest, are taken for equal."""
Held = tuple[np.ndarray, np.ndarray | None]


def check_rows(rows: Any, objective: str, name: str = "pairs") -> np.ndarray:
    """Check rows of 2 texts, or of 3 where the objective is contrastive and they have so many."""
    shape = getattr(rows, "shape", None)
    if shape is None and isinstance(rows, (list, tuple)) and rows:
        shape = len(rows), len(rows[0]) if isinstance(rows[0], (list, tuple, np.ndarray)) else 0
    has_three = shape is not None and len(shape) == 2 and shape[1] == 3
    n_columns = 3 if has_three and objective == "contrastive" else 2
    found = check_pairs(rows, n_columns=n_columns, name=name, encodable=True)
    if found.shape[1] == 3:
        for row, texts in enumerate(found.tolist()):
            if len(set(texts)) < 3:
                raise ValueError(
                    f"{name} row {row} holds one text twice, {texts!r}; a text, its partner and a "
                    "negative must differ: drop the row"
                )
    return found


def check_targets(y: Any, rows: np.ndarray, objective: str, trains: bool) -> np.ndarray | None:
    """Check what is to be learned: scores, labels as 0.0 and 1.0, or None for partners.

    Raises
    ------
    ValueError
        If y is missing, not wanted, constant, or does not fit the rows.
    """
    if objective == "contrastive":
        if y is not None:
            raise ValueError(
                "y is given, but every row of objective='contrastive' belongs together as it is; "
                "give y=None, or another objective"
            )
        if trains and len(rows) < 2:
            raise ValueError("pairs has 1 row: others must be its negatives; give at least 2")
        return None
    if y is None:
        if trains:
            raise ValueError(
                f"y is None, but objective={objective!r} learns from it; give one per pair, or "
                "epochs=0 to train nothing"
            )
        return None
    return _numbers(y, len(rows), objective)


def check_judged(name: str, rows: Any, y: Any, objective: str) -> Held:
    """Check rows and y that a score is made of: y is None for three columns, and only there."""
    checked = check_rows(rows, objective, name)
    if checked.shape[1] == 3:
        if y is not None:
            raise ValueError(f"{name} has three columns, which have no y; give y=None")
        return checked, None
    if y is None:
        raise ValueError(f"y of {name} is None; give one per pair")
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
    labels = check_pair_labels(y, n)
    return (labels == np.unique(labels)[1]).astype(np.float64)


def fitted_line(similarity: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and intercept of the least squares line; level where similarities are equal."""
    if np.ptp(similarity) <= ROUNDING * np.abs(similarity).max():
        return 0.0, float(y.mean())
    slope, intercept = np.polyfit(similarity, y, 1)
    return float(slope), float(intercept)


def fitted_curve(similarity: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Slope and intercept of the logistic regression of labels 0 and 1."""
    spread = float(similarity.std()) or 1.0
    # Where a trained model tells all rows apart, the curve would rise without end.
    model = LogisticRegression(C=100.0).fit(similarity[:, np.newaxis] / spread, labels)
    return float(model.coef_[0, 0]) / spread, float(model.intercept_[0])

"""Metrics of probabilities, and precision and recall by threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from film.pairs import (
    ThresholdCurve,
    binary_log_loss,
    calibration_error,
    calibration_interval,
    prior_weights,
    shift_prior,
    threshold_curve,
    threshold_for_precision,
)

N_BOOT = 1000
METHOD = (
    "95 % intervals by Wilson's method with the effective number of pairs: pairs that share "
    "texts, directly or through other pairs, count as dependent"
)
_GRID = np.round(np.append(np.arange(0.05, 0.96, 0.05), 0.99), 2)
_NAMES = {"precision": "precision", "recall": "recall", "f1": "F1"}


def figures(
    y: NDArray[np.int64],
    p: NDArray[np.float64],
    *,
    prior_from: float,
    prior: float | None = None,
    calibration: bool = True,
) -> dict[str, Any]:
    """Compute metrics of the probabilities of pairs.

    Parameters
    ----------
    y : ndarray of int, shape (n,)
        1 for duplicates, 0 for others.
    p : ndarray of float, shape (n,)
        Probability of a duplicate, which holds at ``prior_from``.
    prior_from : float in (0, 1)
        Prior of the model.
    prior : float in (0, 1), optional
        Share of duplicates for a further log loss: rows weighted and probabilities shifted to it.
    calibration : bool, default=True
        Whether to bootstrap the calibration error, which takes a thousand rounds.

    Returns
    -------
    figures : dict
        By name; None where one class alone leaves a figure undefined.
    """
    both = 0 < y.mean() < 1
    record: dict[str, Any] = {
        "pairs": len(y),
        "share of duplicates": float(y.mean()),
        "prior of the model": prior_from,
        "accuracy": float(((p > 0.5) == (y == 1)).mean()),
        "log loss": binary_log_loss(y, p),
    }
    if prior is not None:
        record[f"log loss at prior {prior:g}"] = (
            binary_log_loss(y, shift_prior(p, prior_from, prior), prior_weights(y, prior))
            if both
            else None
        )
    record["ROC AUC"] = float(roc_auc_score(y, p)) if both else None
    if calibration:
        record["calibration error"] = calibration_error(y, p)
        low, high = calibration_interval(y, p, n_boot=N_BOOT, random_state=0)
        record["calibration error, low end of 95 % interval"] = low
        record["calibration error, high end of 95 % interval"] = high
    return record


def as_text(record: Mapping[str, Any]) -> str:
    """Format figures in two columns."""
    return two_columns({name: _shown(value) for name, value in record.items()})


def two_columns(lines: Mapping[str, str]) -> str:
    """Format names and texts, one line each."""
    width = max(map(len, lines))
    return "".join(f"{name:<{width}}  {text}\n" for name, text in lines.items())


def _shown(value: Any) -> str:
    if value is None:
        return "undefined: the labels are all the same"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Thresholds:
    """Metrics at round thresholds, and the threshold that keeps a required precision."""

    prior: float
    curve: ThresholdCurve
    rounded: ThresholdCurve
    wanted: float | None
    chosen: int | None

    def as_record(self) -> dict[str, Any]:
        """Return everything by name, for JSON."""
        record: dict[str, Any] = {
            "share of duplicates": self.prior,
            "intervals": METHOD,
            "at": [_record(self.rounded, row) for row in range(len(self.rounded))],
        }
        if self.wanted is not None:
            suggested = None if self.chosen is None else _record(self.curve, self.chosen)
            record |= {"wanted precision": self.wanted, "suggested": suggested}
        return record

    def as_text(self) -> str:
        """Format the figures as a table, followed by the suggestion."""
        head = f"{'threshold':<11}" + "".join(f"{name:<26}" for name in _NAMES.values()) + "pairs\n"
        rows = "".join(_line(self.rounded, row) for row in range(len(self.rounded)))
        return (
            f"by threshold, at a share of {self.prior:.2%} duplicates\n"
            f"{head}{rows}{METHOD}\n{self.advice()}"
        )

    def advice(self) -> str:
        """Return the sentence that suggests a threshold; empty if no precision is required."""
        if self.wanted is None:
            return ""
        low = self.curve.precision_interval[:, 0]
        if self.chosen is None:
            best = int(np.argmax(low))
            return (
                f"for precision {self.wanted:g}: no threshold is known to reach it on these "
                f"{int(self.curve.selected.max())} pairs; from {self.curve.thresholds[best]:.4f} "
                f"on it is at least {low[best]:.4f}\n"
            )
        at = _record(self.curve, self.chosen)
        return (
            f"for precision {self.wanted:g}: threshold {at['threshold']:.6g}, where precision "
            f"is {at['precision']:.4f}, at least {at['precision low']:.4f}, and recall "
            f"{at['recall']:.4f} ({at['recall low']:.4f} to {at['recall high']:.4f})\n"
        )


def thresholds_of(
    y: NDArray[np.int64],
    p: NDArray[np.float64],
    groups: NDArray[Any],
    *,
    prior_from: float,
    prior: float | None = None,
    precision: float | None = None,
) -> Thresholds:
    """Measure thresholds on labelled pairs.

    Parameters
    ----------
    y, p, prior_from
        As in `figures`; both labels occur.
    groups : ndarray of shape (n,)
        Groups of dependent pairs.
    prior : float in (0, 1), optional
        Share of duplicates to which rows are weighted and probabilities shifted. None leaves both.
    precision : float in (0, 1), optional
        Wanted precision.
    """
    weights = None
    if prior is not None:
        p = shift_prior(p, prior_from, prior).astype(np.float64, copy=False)
        weights = prior_weights(y, prior)
    curve, rounded = (
        threshold_curve(y, p, groups=groups, weights=weights, thresholds=at)
        for at in (None, _GRID[_GRID <= p.max()])
    )
    chosen = None if precision is None else threshold_for_precision(curve, precision)
    return Thresholds(y.mean() if prior is None else prior, curve, rounded, precision, chosen)


def _record(curve: ThresholdCurve, row: int) -> dict[str, Any]:
    record: dict[str, Any] = {"threshold": float(curve.thresholds[row])}
    for attribute, name in _NAMES.items():
        low, high = getattr(curve, f"{attribute}_interval")[row].tolist()
        record[name] = float(getattr(curve, attribute)[row])
        record |= {f"{name} low": low, f"{name} high": high}
    return record | {"pairs": int(curve.selected[row])}


def _line(curve: ThresholdCurve, row: int) -> str:
    at = _record(curve, row)
    cells = "".join(
        f"{at[name]:.4f} ({at[f'{name} low']:.4f} to {at[f'{name} high']:.4f})  "
        for name in _NAMES.values()
    )
    return f"{at['threshold']:<11.2f}{cells}{at['pairs']}\n"

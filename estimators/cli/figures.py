"""How good probabilities are, in a few figures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from film.pairs import (
    binary_log_loss,
    calibration_error,
    calibration_interval,
    prior_weights,
    shift_prior,
)

N_BOOT = 1000


def figures(
    y: NDArray[np.int64],
    p: NDArray[np.float64],
    *,
    prior_from: float,
    prior: float | None = None,
    calibration: bool = True,
) -> dict[str, Any]:
    """Judge probabilities of pairs.

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
    found: dict[str, Any] = {
        "pairs": len(y),
        "share of duplicates": float(y.mean()),
        "prior of the model": prior_from,
        "accuracy": float(((p > 0.5) == (y == 1)).mean()),
        "log loss": binary_log_loss(y, p),
    }
    if prior is not None:
        found[f"log loss at prior {prior:g}"] = (
            binary_log_loss(y, shift_prior(p, prior_from, prior), prior_weights(y, prior))
            if both
            else None
        )
    found["ROC AUC"] = float(roc_auc_score(y, p)) if both else None
    if calibration:
        found["calibration error"] = calibration_error(y, p)
        low, high = calibration_interval(y, p, n_boot=N_BOOT, random_state=0)
        found["calibration error, low end of 95 % interval"] = low
        found["calibration error, high end of 95 % interval"] = high
    return found


def as_text(found: dict[str, Any]) -> str:
    """Lay figures out in two columns."""
    width = max(map(len, found))
    return "".join(f"{name:<{width}}  {_shown(value)}\n" for name, value in found.items())


def _shown(value: Any) -> str:
    if value is None:
        return "undefined: the labels are all the same"
    return f"{value:.4f}" if isinstance(value, float) else str(value)

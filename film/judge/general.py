"""One formula for pairs of texts of any table, fitted to many public sets at once."""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from film.compare import DIFFERENCES, PAIR_FEATURES

__all__ = [
    "GENERAL_FEATURES",
    "GeneralWeights",
    "fit_general",
    "general_features",
    "general_weights",
    "pair_kinds",
]

GENERAL_FEATURES: dict[str, int] = {
    "coverage of the longer": 1,
    "coverage of the shorter": 1,
    "cosine": 1,
    "replaced": -1,
    "doubtful spelling": -1,
    "rank, with numbers": -1,
    "margin, with numbers": 1,
    "number shared": 1,
    "code shared": 1,
    "number missing": -1,
    **{f"{name} differs": -1 for name in DIFFERENCES},
    "number differs, with numbers": -1,
    "any difference, by coverage": -1,
}
"""Names of the features, and the sign of their weights."""

_NOTHING_SHARED = -4.0
_SHARED = 0.15
"""Coverage of the longer text, or cosine, below which log-odds fall by up to 4.

Candidates of public tables share more, so no weight of this can be fitted to them.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GeneralWeights:
    """Weights of the general formula.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_features,)
        Of `GENERAL_FEATURES`.
    intercept : float
        Set by hand, so that 0 is a fair threshold for one table; the best one differs by table.
    """

    weights: Floats
    intercept: float

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of pairs, (n,), from `general_features`."""
        names = list(GENERAL_FEATURES)
        longer, cosine = (
            features[:, names.index(name)] for name in ("coverage of the longer", "cosine")
        )
        missing = np.maximum(1 - np.maximum(longer, cosine) / _SHARED, 0)
        return features @ self.weights + self.intercept + _NOTHING_SHARED * missing


@functools.cache
def general_weights() -> GeneralWeights:
    """Return the weights that come with the package; ``benchmarks.general`` makes them."""
    data = importlib.resources.files("film.judge").joinpath("general.json").read_text("utf-8")
    saved: Any = json.loads(data)
    named = saved["weights"]
    return GeneralWeights(np.array([named[name] for name in GENERAL_FEATURES]), saved["intercept"])


def general_features(pairs: Floats, cosines: Floats, near: Floats, number_share: float) -> Floats:
    """Combine what is known of pairs into the features of the general formula.

    Parameters
    ----------
    pairs : ndarray of float64, shape (n, 14)
        From `film.compare.pair_features`.
    cosines : ndarray of float64, shape (n,)
        Cosines of the texts.
    near : ndarray of float64, shape (n, 2)
        Ranks and margins from `neighbour_features`.
    number_share : float
        Share of numbers and codes among the words of the table. From 0.03 to 0.13, the weights pass
        from those of sentences to those of records, in which a differing number says less, and
        neighbours say more.

    Returns
    -------
    features : ndarray of float64, shape (n, n_features)
        The columns of `GENERAL_FEATURES`.
    """
    column = dict(zip(PAIR_FEATURES, pairs.T, strict=True))
    numeric = float(np.clip((number_share - 0.03) / 0.1, 0, 1))
    longer = column["coverage of the longer"]
    rank, margin = near[:, 0] / np.log(6), np.clip(near[:, 1], -0.5, 0.5)
    number = column["number differs"]
    others = np.max([column[f"{name} differs"] for name in DIFFERENCES[1:]], axis=0)
    values = {
        **column,
        "cosine": cosines,
        "doubtful spelling": np.minimum(5 * column["doubtful spelling"], 1),
        "rank, with numbers": rank * numeric,
        "margin, with numbers": margin * numeric,
        "number missing": column["number missing"] * (1 - numeric),
        "number differs": number * (1 - numeric),
        "number differs, with numbers": number * numeric,
        "any difference, by coverage": np.maximum(number * (1 - numeric), others) * longer**2,
    }
    return np.column_stack([values[name] for name in GENERAL_FEATURES])


def fit_general(
    sets: Sequence[tuple[Floats, NDArray[np.int_], Floats]], penalty: float = 0.002
) -> Floats:
    """Fit one logistic regression to many sets, with signs of weights given.

    Parameters
    ----------
    sets : sequence of (features, labels, sample weights)
        Each set has an intercept of its own: its share of duplicates and how hard they are to tell
        say nothing about other sets.
    penalty : float
        Of half the squared weights.

    Returns
    -------
    weights : ndarray of float64, shape (n_features,)
        Those of `GENERAL_FEATURES`, all of their sign or 0.
    """
    signs = np.array(list(GENERAL_FEATURES.values()), dtype=np.float64)
    X = np.concatenate([features for features, *_ in sets]) * signs
    y = np.concatenate([labels for _, labels, _ in sets]).astype(np.float64)
    w = np.concatenate([weights for *_, weights in sets])
    w = w / w.sum()
    owner = np.repeat(np.arange(len(sets)), [len(labels) for _, labels, _ in sets])
    n = X.shape[1]

    def objective(values: Floats) -> tuple[float, Floats]:
        beta, intercepts = values[:n], values[n:]
        z = X @ beta + intercepts[owner]
        loss = w @ (np.logaddexp(0, z) - y * z) + penalty / 2 * (beta @ beta)
        error = w * (expit(z) - y)
        slopes: Any = np.bincount(owner, error, minlength=len(sets))
        return float(loss), np.concatenate([X.T @ error + penalty * beta, slopes])

    bounds = [(0, None)] * n + [(None, None)] * len(sets)
    found: Any = minimize(
        objective,
        np.zeros(n + len(sets)),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 1000},
    )
    return found.x[:n] * signs


def pair_kinds(pairs: Floats) -> NDArray[np.object_]:
    """Name what sets the texts of each pair apart.

    Parameters
    ----------
    pairs : ndarray of float64, shape (n, 14)
        From `film.compare.pair_features`.

    Returns
    -------
    kinds : ndarray of object, shape (n,)
        "differs in" a number, code, unit, negation, opposite, choice (a colour, a day) or order:
        the first that holds, and only if at least two thirds of the weight of the longer text is
        shared. "spelling" if all words match, but for
        frequent words that only one text has. Otherwise "similar".
    """
    column = dict(zip(PAIR_FEATURES, pairs.T, strict=True))
    kinds = np.full(len(pairs), "similar", dtype=object)
    nothing_replaced = column["replaced"] == 0
    kinds[nothing_replaced & (column["coverage of the longer"] >= 0.9)] = "spelling"
    close = column["coverage of the longer"] >= 2 / 3
    names = {"antonym": "opposite"}
    for name in reversed(DIFFERENCES):
        differs = column[f"{name} differs"] > 0
        kinds[close & differs] = f"differs in {names.get(name, name)}"
    return kinds

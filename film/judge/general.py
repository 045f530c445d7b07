"""One formula for pairs of texts of any table, fitted to many public sets at once."""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from film.compare import DIFFERENCES, PAIR_FEATURES, record_share

__all__ = [
    "GENERAL_FEATURES",
    "MEANING_FEATURES",
    "NOTHING_SHARED",
    "GeneralWeights",
    "fit_general",
    "general_features",
    "general_log_odds",
    "general_weights",
    "meaning_features",
    "pair_kinds",
]

GENERAL_FEATURES: dict[str, int] = {
    "coverage of the longer": 1,
    "coverage of the shorter": 1,
    "cosine": 1,
    "replaced": -1,
    "only one replaced": -1,
    "doubtful spelling": -1,
    "rank, with numbers": -1,
    "margin, with numbers": 1,
    "number shared": 1,
    "code shared": 1,
    "number missing": -1,
    **{f"{name} differs": -1 for name in DIFFERENCES},
    "number differs, with numbers": -1,
    "any difference, by coverage": -1,
    "nothing shared": -1,
}
"""Names of the features, and the sign of their weights."""

_BY_COVERAGE = (
    "doubtful spelling",
    *(f"{name} differs" for name in ("negation", "antonym", "choice", "order")),
)

MEANING_FEATURES: dict[str, int] = {
    "meaning": 1,
    "meaning or coverage": 1,
    "only one replaced": -1,
    **{f"{name}, by coverage": -1 for name in _BY_COVERAGE},
    "any difference, by coverage": -1,
    "nothing shared": -1,
}
"""As `GENERAL_FEATURES`, for sentences with an encoder.

Its cosine replaces shared words, and differences count only if nearly all else is shared.
"""

NOTHING_SHARED = -4.0
"""Weight of "nothing shared", the only one that is not fitted.

Candidates of public tables share more, so they cannot show it.
"""

_COVERAGE_POWER = 1.25
"""Makes shared words count less than the same share of meaning."""

_SHARED = 0.15
"""What pairs share if "nothing shared" is 0: coverage of the longer text, cosine or meaning."""

_EQUAL = 0.999
"""Coverage of the longer text from which on all words are the same."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GeneralWeights:
    """Weights of the general formula.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_features,)
        Of `GENERAL_FEATURES` or `MEANING_FEATURES`.
    intercept : float
        Set by hand, so that 0 is a reasonable threshold; the best threshold differs from table to
        table.
    """

    weights: Floats
    intercept: float

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of pairs, (n,), from `general_features`."""
        return features @ self.weights + self.intercept


@functools.cache
def general_weights(meaning: bool = False) -> GeneralWeights:
    """Return the weights that come with the package; ``benchmarks.general`` makes them.

    Parameters
    ----------
    meaning : bool, default=False
        Whether those of `MEANING_FEATURES` instead of `GENERAL_FEATURES`.
    """
    data = importlib.resources.files("film.judge").joinpath("general.json").read_text("utf-8")
    saved: Any = json.loads(data)["with encoder" if meaning else "without encoder"]
    names = MEANING_FEATURES if meaning else GENERAL_FEATURES
    return GeneralWeights(np.array([saved["weights"][name] for name in names]), saved["intercept"])


def general_log_odds(
    pairs: Floats,
    cosines: Floats,
    near: Floats,
    number_share: float,
    meanings: Floats | None = None,
) -> Floats:
    """Return the log-odds of pairs by the weights of the package, shape (n,).

    Parameters
    ----------
    pairs, cosines, near, number_share
        As in `general_features`.
    meanings : ndarray of float64, shape (n,), optional
        From `centred_cosines`. The weights of `MEANING_FEATURES` count in tables of sentences, and
        less in tables of records.
    """
    odds = general_weights().log_odds(general_features(pairs, cosines, near, number_share))
    if meanings is None:
        return odds
    share = record_share(number_share)
    by_meaning = general_weights(True).log_odds(meaning_features(pairs, cosines, meanings))
    return share * odds + (1 - share) * by_meaning


def general_features(pairs: Floats, cosines: Floats, near: Floats, number_share: float) -> Floats:
    """Combine what is known of pairs into the features of the general formula.

    Parameters
    ----------
    pairs : ndarray of float64, shape (n, 16)
        From `film.compare.pair_features`.
    cosines : ndarray of float64, shape (n,)
        Cosines of the texts.
    near : ndarray of float64, shape (n, 2)
        Ranks and margins from `neighbour_features`. They never lower the log-odds of pairs with the
        same words.
    number_share : float
        Share of numbers and codes among the words of the table. In tables of records
        (`film.compare.record_share`), a different number counts less, and neighbours count more.

    Returns
    -------
    features : ndarray of float64, shape (n, n_features)
        The columns of `GENERAL_FEATURES`.
    """
    column = dict(zip(PAIR_FEATURES, pairs.T, strict=True))
    numeric = record_share(number_share)
    rank, margin = near[:, 0] / np.log(6), np.clip(near[:, 1], -0.5, 0.5)
    differs = np.max([column[f"{name} differs"] for name in DIFFERENCES], axis=0)
    is_same = (column["coverage of the longer"] > _EQUAL) & (differs == 0)
    # Other texts cannot be more like a text than the same words.
    rank[is_same], margin[is_same] = np.minimum(rank, 0)[is_same], np.maximum(margin, 0)[is_same]
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
        "any difference, by coverage": np.maximum(number * (1 - numeric), others)
        * column["coverage apart"] ** 2,
        "nothing shared": _nothing_shared(column["coverage of the longer"], cosines),
    }
    return np.column_stack([values[name] for name in GENERAL_FEATURES])


def meaning_features(pairs: Floats, cosines: Floats, meanings: Floats) -> Floats:
    """Combine what is known of pairs of sentences, with an encoder.

    Parameters
    ----------
    pairs, cosines
        As in `general_features`.
    meanings : ndarray of float64, shape (n,)
        From `centred_cosines`.

    Returns
    -------
    features : ndarray of float64, shape (n, n_features)
        The columns of `MEANING_FEATURES`.
    """
    values = dict(zip(PAIR_FEATURES, pairs.T, strict=True))
    longer, apart = values["coverage of the longer"], values["coverage apart"]
    values["doubtful spelling"] = np.minimum(5 * values["doubtful spelling"], 1)
    differs = np.max([values[f"{name} differs"] for name in DIFFERENCES], axis=0)
    values |= {f"{name}, by coverage": values[name] * apart**4 for name in _BY_COVERAGE}
    values["any difference, by coverage"] = differs * apart**4
    values["meaning"] = meanings
    values["meaning or coverage"] = np.maximum(meanings, longer**_COVERAGE_POWER)
    values["nothing shared"] = _nothing_shared(longer, np.maximum(cosines, meanings))
    return np.column_stack([values[name] for name in MEANING_FEATURES])


def _nothing_shared(longer: Floats, cosines: Floats) -> Floats:
    return np.maximum(1 - np.maximum(longer, cosines) / _SHARED, 0)


def fit_general(
    sets: Sequence[tuple[Floats, NDArray[np.int_], Floats]],
    names: Mapping[str, int] = GENERAL_FEATURES,
    *,
    penalty: float = 0.002,
) -> Floats:
    """Fit one logistic regression to many sets, with signs of weights given.

    Parameters
    ----------
    sets : sequence of (features, labels, sample weights)
        Each set has its own intercept, because the share of duplicates and their difficulty differ
        between sets.
    names : mapping of str to int
        `GENERAL_FEATURES` or `MEANING_FEATURES`, whichever the features are.
    penalty : float
        Of half the squared weights.

    Returns
    -------
    weights : ndarray of float64, shape (n_features,)
        All of their sign or 0; that of "nothing shared" is `NOTHING_SHARED`.
    """
    signs = np.array(list(names.values()), dtype=np.float64)
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

    bounds: list[Any] = [(0, None)] * n + [(None, None)] * len(sets)
    given = list(names).index("nothing shared")
    bounds[given] = (0, 0)
    found: Any = minimize(
        objective,
        np.zeros(n + len(sets)),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 1000},
    )
    weights = found.x[:n] * signs
    weights[given] = NOTHING_SHARED
    return weights


def pair_kinds(pairs: Floats) -> NDArray[np.object_]:
    """Return how the texts of each pair differ.

    Parameters
    ----------
    pairs : ndarray of float64, shape (n, 16)
        From `film.compare.pair_features`.

    Returns
    -------
    kinds : ndarray of object, shape (n,)
        "differs in" a number, code, unit, negation, opposite, choice (a colour, a day) or order:
        the first that holds, and only if at least two thirds of the weight of the longer text is
        shared. "spelling" if all words match, except frequent words that only one text has.
        Otherwise "similar".
    """
    column = dict(zip(PAIR_FEATURES, pairs.T, strict=True))
    kinds = np.full(len(pairs), "similar", dtype=object)
    nothing_replaced = (column["replaced"] == 0) & (column["doubtful spelling"] == 0)
    kinds[nothing_replaced & (column["coverage of the longer"] >= 0.9)] = "spelling"
    close = column["coverage apart"] >= 2 / 3
    names = {"antonym": "opposite"}
    for name in reversed(DIFFERENCES):
        differs = column[f"{name} differs"] > 0
        kinds[close & differs] = f"differs in {names.get(name, name)}"
    return kinds

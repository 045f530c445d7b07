"""Validation of the fields of explanations."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from estimators.inputs import check_integer

_SUM_TOLERANCE = 1e-6
"""Allowed error of the sum of contributions, absolute below 1 and relative above."""


def checked_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an `Explanation` as consistent arrays, lists and numbers."""
    parts: dict[str, Any] = {}
    for side in "12":
        parts[f"tokens{side}"] = tokens = list(given[f"tokens{side}"])
        for mask in (f"special{side}", f"unknown{side}"):
            parts[mask] = _mask(mask, given[mask], len(tokens))
        parts[f"offsets{side}"] = _array(
            f"offsets{side}", given[f"offsets{side}"], (len(tokens), 2), int
        )
    shape = len(parts["tokens1"]), len(parts["tokens2"])
    parts["contributions"] = shares = _contributions(given["contributions"], shape)
    parts["similarity"] = similarity = float(_array("similarity", given["similarity"], ()))
    left_out = check_integer("n_rest", given["n_rest"], 0)
    if not left_out:
        _check_sum("contributions", shares.sum(), similarity)
    for side, n, axis in zip("12", shape, (1, 0), strict=True):
        name = f"totals{side}"
        if left_out:
            parts[name] = _array(name, given[name], (n,))
            _check_sum(name, parts[name].sum(), similarity)
        else:
            parts[name] = np.asarray(shares.sum(axis=axis)).ravel()
    return parts


def checked_context_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a `ContextExplanation` as consistent arrays and lists."""
    contexts = [(before, after) for before, after in given["contexts"]]
    n = len(contexts)
    parts: dict[str, Any] = {"contexts": contexts, "rows": _array("rows", given["rows"], (n,), int)}
    shapes = {"contributions": (n,), "weights": (4,), "terms1": (n, 4), "terms2": (n, 4)}
    parts |= {name: _array(name, given[name], shape) for name, shape in shapes.items()}
    parts |= {name: _mask(name, given[name], n) for name in ("chosen1", "chosen2")}
    parts["similarity"] = float(_array("similarity", given["similarity"], ()))
    parts["n_rest"] = check_integer("n_rest", given["n_rest"], 0)
    parts["rest"] = rest = float(given["rest"])
    _check_sum("contributions and rest", parts["contributions"].sum() + rest, parts["similarity"])
    return parts


def as_mapping(contributions: Any) -> dict[str, Any]:
    """Return sparse contributions as lists that JSON can hold."""
    entries = contributions.tocoo()
    return {
        "shape": list(entries.shape),
        "rows": entries.row.tolist(),
        "columns": entries.col.tolist(),
        "values": entries.data.tolist(),
    }


def _array(name: str, value: Any, shape: tuple[int, ...], dtype: Any = float) -> NDArray[Any]:
    """Return a finite array of a given shape."""
    array = np.asarray(value, dtype=dtype)
    if array.size == 0 == prod(shape):  # an empty list has no number of columns
        array = array.reshape(shape)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite and have shape {shape}, got shape {array.shape}")
    return array


def _mask(name: str, mask: Any, n: int) -> NDArray[np.bool_]:
    return _array(name, np.zeros(n) if mask is None else mask, (n,), bool)


def _contributions(contributions: Any, shape: tuple[int, int]) -> Any:
    """Return contributions of a given shape as a `csr_array` if sparse, else an array."""
    if isinstance(contributions, Mapping):  # from `as_mapping`
        values, rows, columns = (contributions[name] for name in ("values", "rows", "columns"))
        places = np.asarray(rows, dtype=int), np.asarray(columns, dtype=int)
        contributions = sp.coo_array((values, places), shape=tuple(contributions["shape"]))
    if not sp.issparse(contributions):
        return _array("contributions", contributions, shape)
    array: Any = sp.csr_array(contributions, dtype=np.float64)
    array.sum_duplicates()
    if array.shape != shape:
        raise ValueError(f"contributions must have shape {shape}, got shape {array.shape}")
    return array


def _check_sum(name: str, total: Any, similarity: float) -> None:
    if not abs(total - similarity) <= _SUM_TOLERANCE * max(1.0, abs(similarity)):
        raise ValueError(
            f"{name} sum to {total:.9g}, but similarity is {similarity:.9g}: they must agree "
            f"within {_SUM_TOLERANCE:g}; sum in float64, and give all contributions, those of "
            "special tokens included."
        )

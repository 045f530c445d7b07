"""Validation of the fields of explanations."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from estimators.inputs import check_integer

_SUM_TOLERANCE = 1e-6
"""Allowed error of the sum of contributions, absolute below 1 and relative above."""

_KINDS = {"booleans": "b", "integers": "iu", "numbers": "fiu"}


def checked_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an `Explanation` as consistent arrays, lists and numbers."""
    parts: dict[str, Any] = {}
    for side in "12":
        tokens = given[f"tokens{side}"]
        if isinstance(tokens, str):
            raise TypeError(f"tokens{side} is one string; give a list of tokens.")
        parts[f"tokens{side}"] = tokens = list(tokens)
        n, text, name = len(tokens), given[f"text{side}"], f"offsets{side}"
        _check_strings({f"text{side}": text} | {f"tokens{side}[{i}]": t for i, t in _each(tokens)})
        for mask in (f"special{side}", f"unknown{side}"):
            parts[mask] = _checked_mask(mask, given[mask], n)
        parts[name] = offsets = _checked_array(name, given[name], (n, 2), "integers")
        start, end = offsets.T
        for wrong in np.flatnonzero((start < 0) | (start > end) | (end > len(text)))[:1].tolist():
            raise ValueError(
                f"{name}[{wrong}] is {offsets[wrong].tolist()}, but the text has {len(text)} "
                "characters: give 0 <= start <= end <= length, and (0, 0) for special tokens."
            )
    _check_strings({"title": given["title"]})
    shape = len(parts["tokens1"]), len(parts["tokens2"])
    parts["contributions"] = shares = _checked_contributions(given["contributions"], shape)
    parts["similarity"] = similarity = _checked_similarity(given["similarity"])
    left_out = check_integer("n_rest", given["n_rest"], 0)
    if left_out and (parts["special1"].any() or parts["special2"].any()):
        raise ValueError(
            f"n_rest={left_out}, but there are special tokens, whose share of the rest is unknown: "
            "give all contributions."
        )
    if not left_out:
        _check_sum("contributions", shares.sum(), similarity)
    for side, n, axis in zip("12", shape, (1, 0), strict=True):
        name = f"totals{side}"
        if left_out:
            parts[name] = _checked_array(name, given[name], (n,), "numbers")
            _check_sum(name, parts[name].sum(), similarity)
        else:
            parts[name] = np.asarray(shares.sum(axis=axis)).ravel()
    return parts


def checked_context_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a `ContextExplanation` as consistent arrays and lists."""
    contexts = [tuple(context) for context in given["contexts"]]
    for place, context in _each(contexts):
        if len(context) != 2:
            raise ValueError(
                f"contexts[{place}] holds {len(context)} texts: give those before and after the gap"
            )
        _check_strings({f"contexts[{place}][{side}]": text for side, text in _each(context)})
    _check_strings({name: given[name] for name in ("text1", "text2", "title")})
    n = len(contexts)
    parts: dict[str, Any] = {"contexts": contexts}
    parts["rows"] = _checked_array("rows", given["rows"], (n,), "integers")
    shapes = {"contributions": (n,), "weights": (4,), "terms1": (n, 4), "terms2": (n, 4)}
    for name, shape in shapes.items():
        parts[name] = _checked_array(name, given[name], shape, "numbers")
    for name in ("chosen1", "chosen2"):
        parts[name] = _checked_mask(name, given[name], n)
    parts["similarity"] = _checked_similarity(given["similarity"])
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


def _each(values: Any) -> list[tuple[int, Any]]:
    return list(enumerate(values))


def _check_strings(named: Mapping[str, Any]) -> None:
    for name, value in named.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; give a str.")


def _checked_array(
    name: str,
    value: Any,
    shape: tuple[int, ...],
    kind: Literal["booleans", "integers", "numbers"],
) -> NDArray[Any]:
    """Return an array of a given shape, of booleans, integers or finite numbers."""
    array = np.asarray(value)
    # An empty list has no number of columns and no dtype.
    empty = array.size == 0 == prod(shape)
    if not empty and (array.shape != shape or array.dtype.kind not in _KINDS[kind]):
        raise ValueError(
            f"{name} must hold {kind} and have shape {shape}, got {array.dtype} and shape "
            f"{array.shape}; the first dimension counts tokens (with special ones and without "
            "padding) or contexts."
        )
    array = array.reshape(shape).astype({"booleans": bool, "integers": int}.get(kind, float))
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} must be finite, but it holds NaN or infinity: set the similarity of texts "
            "with zero vectors to 0."
        )
    return array


def _checked_mask(name: str, mask: Any, n: int) -> NDArray[np.bool_]:
    return _checked_array(name, np.zeros(n, dtype=bool) if mask is None else mask, (n,), "booleans")


def _checked_similarity(similarity: Any) -> float:
    return float(_checked_array("similarity", similarity, (), "numbers"))


def _checked_contributions(contributions: Any, shape: tuple[int, int]) -> Any:
    """Return finite contributions of a given shape as a `csr_array` if sparse, else an array."""
    if isinstance(contributions, Mapping):  # from `as_mapping`
        values, rows, columns = (contributions[name] for name in ("values", "rows", "columns"))
        places = np.asarray(rows, dtype=int), np.asarray(columns, dtype=int)
        contributions = sp.coo_array((values, places), shape=tuple(contributions["shape"]))
    if not sp.issparse(contributions):
        return _checked_array("contributions", contributions, shape, "numbers")
    array: Any = sp.csr_array(contributions, dtype=np.float64)
    array.sum_duplicates()
    _checked_array("contributions", array.data, (array.nnz,), "numbers")
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

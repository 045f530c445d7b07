"""Validation of the fields of explanations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from estimators.inputs import check_integer

_SUM_TOLERANCE = 1e-6
"""Allowed error of the sum of contributions, absolute below 1 and relative above."""

_DIRECTION = "but it holds NaN or infinity: set the similarity of texts with zero vectors to 0."


def checked_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an `Explanation` as consistent arrays, lists and numbers."""
    parts: dict[str, Any] = {}
    for name in ("text1", "text2", "title"):
        _check_string(name, given[name])
    for side in "12":
        name, tokens = f"tokens{side}", given[f"tokens{side}"]
        if isinstance(tokens, str):
            raise TypeError(f"{name} is one string; give a list of tokens.")
        parts[name] = tokens = list(tokens)
        for position, token in enumerate(tokens):
            _check_string(f"{name}[{position}]", token)
        for mask in (f"special{side}", f"unknown{side}"):
            parts[mask] = _checked_mask(mask, given[mask], len(tokens))
        offsets = f"offsets{side}"
        parts[offsets] = _checked_offsets(offsets, given[offsets], tokens, given[f"text{side}"])
    shape = (len(parts["tokens1"]), len(parts["tokens2"]))
    parts["contributions"] = contributions = _checked_contributions(given["contributions"], shape)
    parts["similarity"] = similarity = _checked_similarity(given["similarity"])
    n_rest = check_integer("n_rest", given["n_rest"], 0)
    if not n_rest:
        _check_sum("contributions", float(contributions.sum()), similarity)
    elif parts["special1"].any() or parts["special2"].any():
        raise ValueError(
            f"n_rest={n_rest}, but there are special tokens, whose share of the rest is unknown: "
            "give all contributions."
        )
    for side, n, axis in zip("12", shape, (1, 0), strict=True):
        name = f"totals{side}"
        parts[name] = (
            _checked_totals(name, given[name], n, similarity)
            if n_rest
            else np.asarray(contributions.sum(axis=axis)).ravel()
        )
    return parts


def checked_context_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a `ContextExplanation` as consistent arrays and lists."""
    parts: dict[str, Any] = {}
    for name in ("text1", "text2", "title"):
        _check_string(name, given[name])
    parts["contexts"] = contexts = [tuple(context) for context in given["contexts"]]
    for place, context in enumerate(contexts):
        if len(context) != 2:
            raise ValueError(
                f"contexts[{place}] holds {len(context)} texts: give those before and after the gap"
            )
        for side, text in enumerate(context):
            _check_string(f"contexts[{place}][{side}]", text)
    n = len(contexts)
    shapes = {"rows": (n,), "contributions": (n,), "weights": (4,)}
    for name, shape in (shapes | {"terms1": (n, 4), "terms2": (n, 4)}).items():
        array = np.asarray(given[name], dtype=np.int64 if name == "rows" else np.float64)
        # An empty list has no number of columns.
        array = array.reshape(shape) if array.size == 0 == n else array
        if array.shape != shape or not np.isfinite(array).all():
            raise ValueError(
                f"{name} must be finite and have shape {shape}, got shape {array.shape}"
            )
        parts[name] = array
    for name in ("chosen1", "chosen2"):
        parts[name] = _checked_mask(name, given[name], n, "context")
    parts["similarity"] = similarity = _checked_similarity(given["similarity"])
    parts["n_rest"] = check_integer("n_rest", given["n_rest"], 0)
    parts["rest"] = rest = float(given["rest"])
    _check_sum(
        "contributions and rest", float(parts["contributions"].sum()) + rest, similarity, "contexts"
    )
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


def _check_string(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; give a str.")


def _checked_mask(name: str, mask: Any, n: int, of: str = "token") -> NDArray[np.bool_]:
    if mask is None:
        return np.zeros(n, dtype=bool)
    array = np.asarray(mask)
    if array.size and array.dtype != np.bool_:
        raise TypeError(f"{name} must hold booleans, got dtype {array.dtype}: give a mask.")
    if array.shape != (n,):
        raise ValueError(
            f"{name} has shape {array.shape}, but there are {n} {of}s: give one per {of}."
        )
    return array.astype(bool)


def _checked_offsets(name: str, offsets: Any, tokens: list[str], text: str) -> NDArray[np.int64]:
    array = np.asarray(offsets)
    if array.shape == (0,):
        array = np.zeros((0, 2), dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers, got dtype {array.dtype}.")
    if array.shape != (len(tokens), 2):
        raise ValueError(
            f"{name} has shape {array.shape}, but there are {len(tokens)} tokens: give shape "
            f"({len(tokens)}, 2), start and end of each token."
        )
    start, end = array.T
    wrong = np.flatnonzero((start < 0) | (start > end) | (end > len(text)))
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}] is {array[wrong[0]].tolist()}, but the text has {len(text)} "
            "characters: give 0 <= start <= end <= length, and (0, 0) for special tokens."
        )
    return array.astype(np.int64)


def _checked_contributions(contributions: Any, shape: tuple[int, int]) -> Any:
    """Return finite contributions of a given shape as a `csr_array` if sparse, else an array."""
    if isinstance(contributions, Mapping):
        contributions = _from_mapping(contributions)
    if sp.issparse(contributions):
        array: Any = sp.csr_array(contributions, dtype=np.float64)
        array.sum_duplicates()
        numbers = array.data
    else:
        array = numbers = np.asarray(contributions, dtype=np.float64)
        # An empty list has no number of columns.
        if array.size == 0 == shape[0] * shape[1]:
            array = array.reshape(shape)
    if array.shape != shape:
        raise ValueError(
            f"contributions has shape {array.shape}, but there are {shape[0]} tokens in tokens1 "
            f"and {shape[1]} in tokens2: give shape {shape}, with special tokens and without "
            "padding."
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"contributions must be finite, {_DIRECTION}")
    return array


def _checked_similarity(similarity: Any) -> float:
    number = float(similarity)
    if not np.isfinite(number):
        raise ValueError(f"similarity must be finite, {_DIRECTION}")
    return number


def _checked_totals(name: str, totals: Any, n: int, similarity: float) -> NDArray[np.float64]:
    if totals is None:
        raise ValueError(
            f"{name} is None, but n_rest says that contributions are left out: give the sum of "
            "all contributions of each token."
        )
    array = np.asarray(totals, dtype=np.float64)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise ValueError(
            f"{name} must be finite and have shape {(n,)}, one number per token, got shape "
            f"{array.shape}"
        )
    _check_sum(name, float(array.sum()), similarity)
    return array


def _check_sum(
    name: str, total: float, similarity: float, of: str = "tokens, special ones included"
) -> None:
    if not abs(total - similarity) <= _SUM_TOLERANCE * max(1.0, abs(similarity)):
        raise ValueError(
            f"{name} sum to {total:.9g}, but similarity is {similarity:.9g}: they must "
            f"agree within {_SUM_TOLERANCE:g}; sum in float64, and give contributions of all "
            f"{of}."
        )


def _from_mapping(data: Mapping[str, Any]) -> Any:
    if set(data) != {"shape", "rows", "columns", "values"}:
        raise ValueError(
            f"contributions has the keys {sorted(data)}: give a matrix, or the shape, rows, "
            "columns and values of to_dict()"
        )
    places = (np.asarray(data["rows"], dtype=int), np.asarray(data["columns"], dtype=int))
    return sp.coo_array((data["values"], places), shape=tuple(data["shape"]))


def check_keys(cls: Any, data: Mapping[str, Any]) -> None:
    """Raise ValueError if keys are unknown, or a field without default is missing."""
    missing = {field.name for field in fields(cls) if field.default is MISSING} - set(data)
    unknown = set(data) - {field.name for field in fields(cls)}
    if missing or unknown:
        raise ValueError(
            f"data lacks {sorted(missing)} and has unknown {sorted(unknown)}: give the output "
            "of to_dict()."
        )

"""Checks of the parts of an `Explanation`: texts, tokens, their places, and contributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

SUM_TOLERANCE = 1e-6
"""Most by which contributions may miss the similarity, absolute below 1 and relative above."""

_DIRECTION = "but it holds NaN or infinity: a text without direction has similarity 0."


def check_string(name: str, value: Any) -> None:
    """Refuse what is not a string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; give a str.")


def checked_mask(name: str, mask: Any, n: int) -> NDArray[np.bool_]:
    """Give one boolean per token, by default all false."""
    if mask is None:
        return np.zeros(n, dtype=bool)
    array = np.asarray(mask)
    if array.size and array.dtype != np.bool_:
        raise TypeError(f"{name} must hold booleans, got dtype {array.dtype}: give a mask.")
    if array.shape != (n,):
        raise ValueError(
            f"{name} has shape {array.shape}, but there are {n} tokens: give one per token."
        )
    return array.astype(bool)


def checked_offsets(name: str, offsets: Any, tokens: list[str], text: str) -> NDArray[np.int64]:
    """Give the start and end of each token within its text."""
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


def checked_contributions(contributions: Any, shape: tuple[int, int]) -> Any:
    """Give finite contributions of a shape, sparse ones as a `csr_array`, others as an array."""
    if isinstance(contributions, Mapping):
        contributions = _from_mapping(contributions)
    if sp.issparse(contributions):
        array: Any = sp.csr_array(contributions, dtype=np.float64)
        array.sum_duplicates()
        numbers = array.data
    else:
        array = numbers = np.asarray(contributions, dtype=np.float64)
        # A list of no rows cannot say how many columns it has.
        if array.size == 0 == shape[0] * shape[1]:
            array = array.reshape(shape)
    if array.shape != shape:
        raise ValueError(
            f"contributions has shape {array.shape}, but there are {shape[0]} tokens in tokens1 "
            f"and {shape[1]} in tokens2: give shape {shape}, special tokens included and padding "
            "cut off."
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"contributions must be finite, {_DIRECTION}")
    return array


def checked_similarity(similarity: Any) -> float:
    """Give a finite similarity as a float."""
    number = float(similarity)
    if not np.isfinite(number):
        raise ValueError(f"similarity must be finite, {_DIRECTION}")
    return number


def checked_totals(name: str, totals: Any, n: int, similarity: float) -> NDArray[np.float64]:
    """Give what each of n tokens adds to a similarity."""
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
    check_sum(name, float(array.sum()), similarity)
    return array


def check_sum(name: str, total: float, similarity: float) -> None:
    """Refuse parts that do not sum to the similarity."""
    if abs(total - similarity) > SUM_TOLERANCE * max(1.0, abs(similarity)):
        raise ValueError(
            f"{name} sum to {total:.9g}, but similarity is {similarity:.9g}: they must "
            f"agree within {SUM_TOLERANCE:g}; sum in float64, and give contributions of all "
            "tokens, special ones included."
        )


def as_mapping(contributions: Any) -> dict[str, Any]:
    """Give sparse contributions as lists, ready for JSON."""
    entries = contributions.tocoo()
    return {
        "shape": list(entries.shape),
        "rows": entries.row.tolist(),
        "columns": entries.col.tolist(),
        "values": entries.data.tolist(),
    }


def _from_mapping(data: Mapping[str, Any]) -> Any:
    if set(data) != {"shape", "rows", "columns", "values"}:
        raise ValueError(
            f"contributions has the keys {sorted(data)}: give a matrix, or the shape, rows, "
            "columns and values of to_dict()"
        )
    places = (np.asarray(data["rows"], dtype=int), np.asarray(data["columns"], dtype=int))
    return sp.coo_array((data["values"], places), shape=tuple(data["shape"]))

"""Checks of what a page shows, made before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def check_keys(name: str, entry: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raise unless an entry has all keys."""
    missing = [key for key in keys if key not in entry]
    if missing:
        raise ValueError(f"{name} lacks {missing}; it must have {list(keys)}, got {sorted(entry)}")


def finite(name: str, value: Any) -> float:
    """Float that is neither NaN nor infinite."""
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r} ({type(value).__name__})")
    return value


def checked_text(i: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    """One distinct text with its copies."""
    name = f"data['texts'][{i}]"
    check_keys(name, entry, ("id", "text", "copies"))
    return {
        "id": _string(f"{name}['id']", entry["id"]),
        "text": _string(f"{name}['text']", entry["text"]),
        "copies": [_string(f"{name}['copies']", copy) for copy in entry["copies"]],
    }


def checked_tokens(
    tokens: Mapping[Any, Any], texts: Sequence[Mapping[str, Any]]
) -> dict[str, list[list[int]]]:
    """Offsets of the tokens of texts, by the text's number as JSON writes it."""
    checked = {}
    for i, offsets in tokens.items():
        if not 0 <= int(i) < len(texts):
            raise ValueError(f"data['tokens'] names text {i!r}; there are {len(texts)}, from 0")
        name = f"data['tokens'][{i!r}]"
        checked[str(int(i))] = _checked_offsets(name, offsets, texts[int(i)]["text"])
    return checked


def _floats(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a table of numbers: {error}") from error


def _triples(name: str, triples: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of indices and one of finite numbers."""
    array = _floats(name, triples if len(triples) else np.empty((0, 3)))
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"{name} must have shape (n, 3), got {array.shape}")
    whole = (array[:, :2] == np.floor(array[:, :2])).all(axis=1)
    wrong = np.flatnonzero(~(whole & np.isfinite(array).all(axis=1)))
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}] must be two whole numbers and a finite one, "
            f"got {array[wrong[0]].tolist()}"
        )
    return array[:, :2].astype(np.int64), array[:, 2]


def _rows(indices: np.ndarray, values: np.ndarray) -> list[list[float]]:
    return [[a, b, value] for (a, b), value in zip(indices.tolist(), values.tolist(), strict=True)]


def checked_merges(merges: Any, n: int) -> list[list[float]]:
    """Check that merges are a tree in falling score."""
    name = "data['merges']"
    nodes, scores = _triples(name, merges)
    wrong = np.flatnonzero(
        (nodes < 0).any(1) | (nodes >= n + np.arange(len(nodes))[:, None]).any(1)
    )
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}] joins {nodes[wrong[0]].tolist()}; nodes there must be from 0 to "
            f"{n + wrong[0] - 1}: {n} texts and the merges before it"
        )
    node, count = np.unique(nodes, return_counts=True)
    if (count > 1).any():
        raise ValueError(
            f"{name} joins node {node[count > 1][0]} more than once; a tree joins once"
        )
    rising = np.flatnonzero(np.diff(scores) > 0)
    if len(rising):
        raise ValueError(
            f"{name} must be in falling score, got {scores[rising[0]]} before "
            f"{scores[rising[0] + 1]} at position {rising[0] + 1}; sort them"
        )
    return _rows(nodes, scores)


def checked_pairs(pairs: Any, n: int) -> list[list[float]]:
    """Direct scores, each pair once."""
    name = "data['pairs']"
    indices, scores = _triples(name, pairs)
    wrong = np.flatnonzero(
        ((indices < 0) | (indices >= n)).any(1) | (indices[:, 0] == indices[:, 1])
    )
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}] is {indices[wrong[0]].tolist()}; it must name two different of "
            f"{n} texts, from 0"
        )
    ordered, count = np.unique(np.sort(indices, axis=1), axis=0, return_counts=True)
    if (count > 1).any():
        raise ValueError(f"{name} has {ordered[count > 1][0].tolist()} twice; give each pair once")
    return _rows(indices, scores)


def checked_alignments(
    alignments: Mapping[str, Any], tokens: Mapping[str, list[list[int]]]
) -> dict[str, list[list[float]]]:
    """Links between the tokens of two texts."""
    checked = {}
    for key, links in alignments.items():
        name = f"data['alignments'][{key!r}]"
        sides = key.split(",")
        if len(sides) != 2 or not all(side in tokens for side in sides):
            raise ValueError(f"{name}: its key must be 'i,j', both of them in data['tokens']")
        indices, contributions = _triples(name, links)
        limits = [len(tokens[side]) for side in sides]
        if ((indices < 0) | (indices >= limits)).any():
            raise ValueError(f"{name} must name tokens below {limits}, from 0")
        checked[key] = _rows(indices, contributions)
    return checked


def _checked_offsets(name: str, offsets: Any, text: str) -> list[list[int]]:
    array = np.asarray(offsets if len(offsets) else np.empty((0, 2), int))
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers of shape (n, 2), got shape {array.shape}")
    wrong = np.flatnonzero(
        (array[:, 0] < 0) | (np.diff(array)[:, 0] < 0) | (array[:, 1] > len(text))
    )
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}] is {array[wrong[0]].tolist()}; it must be a start and an end, in "
            f"order, within the {len(text)} characters of its text"
        )
    return array.tolist()


def checked_explanation(i: int, pair: Mapping[str, Any]) -> dict[str, Any]:
    """Texts, tokens and contributions of one explanation."""
    name = f"explanations[{i}]"
    sides = [f"{key}{side}" for side in (1, 2) for key in ("text", "offsets", "special")]
    check_keys(name, pair, [*sides, "contributions", "similarity", "title"])
    checked: dict[str, Any] = {
        "similarity": finite(f"{name}['similarity']", pair["similarity"]),
        "title": str(pair["title"]),
    }
    for side in (1, 2):
        text = _string(f"{name}['text{side}']", pair[f"text{side}"])
        offsets = _checked_offsets(f"{name}['offsets{side}']", pair[f"offsets{side}"], text)
        special = np.asarray(pair[f"special{side}"], dtype=bool)
        if special.shape != (len(offsets),):
            raise ValueError(
                f"{name}['special{side}'] must have one entry a token, {len(offsets)}, "
                f"got shape {special.shape}"
            )
        checked |= {f"text{side}": text, f"offsets{side}": offsets}
        checked[f"special{side}"] = special.tolist()
    shape = (len(checked["offsets1"]), len(checked["offsets2"]))
    matrix = _floats(f"{name}['contributions']", pair["contributions"])
    if not matrix.size and 0 in shape:
        matrix = matrix.reshape(shape)
    if matrix.shape != shape or not np.isfinite(matrix).all():
        raise ValueError(
            f"{name}['contributions'] must be finite, one row a token of text1 and one column a "
            f"token of text2, {shape}; got shape {matrix.shape}"
        )
    return checked | {"contributions": np.round(matrix, 6).tolist()}


def checked_verdict(i: int, verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Probability of a pair and what spoke for it."""
    name = f"verdicts[{i}]"
    check_keys(name, verdict, ("probability", "members", "features"))
    probability = finite(f"{name}['probability']", verdict["probability"])
    if not 0 <= probability <= 1:
        raise ValueError(f"{name}['probability'] must be in [0, 1], got {probability}")
    checked: dict[str, Any] = {"probability": probability}
    for kind in ("members", "features"):
        for entry in verdict[kind]:
            check_keys(f"{name}[{kind!r}]", entry, ("name", "value", "effect"))
        checked[kind] = [
            {
                "name": str(entry["name"]),
                "value": entry["value"],
                "effect": finite(f"{name}: effect of {entry['name']!r}", entry["effect"]),
            }
            for entry in verdict[kind]
        ]
    return checked

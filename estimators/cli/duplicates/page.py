"""Data of the page of duplicates."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.inspection import explain_words, shown_words
from estimators.pairs import is_predictor

ALIGNED_PAIRS = 1000
LINKS = 12
_LEAST = 0.005


def page_data(
    finder: Any,
    threshold: float,
    linkage: str,
    must_link: Any = (),
    cannot_link: Any = (),
    apart: Any = None,
) -> dict[str, Any]:
    """Collect groups, scores and word alignments for `estimators.inspection.duplicates_page`.

    They are of all texts that are in a pair or group at half of ``threshold``, to which the slider
    goes down; copies are one entry. Words are aligned in the best `ALIGNED_PAIRS` pairs. Records
    have the values of each column, and what each column adds, in place of alignments. The other
    arguments are those of `DuplicateFinder.groups`.
    """
    cells = finder.cells_
    lowest = threshold / 2
    known = {"must_link": must_link, "cannot_link": cannot_link, "apart": apart}
    groups = finder.groups(lowest, linkage=linkage, **known)
    found = finder.find(threshold=lowest, cannot_link=cannot_link)
    rows = np.union1d(found.pairs, np.flatnonzero(groups.labels >= 0)).astype(int).tolist()
    place: dict[int, int] = {}
    texts: list[dict[str, Any]] = []
    of_row: dict[int, int] = {}
    for row in rows:
        name = str(finder.ids_[row])
        of_row[row] = place.setdefault(int(finder.codes_[row]), len(texts))
        if of_row[row] < len(texts):
            texts[of_row[row]]["copies"].append(name)
        elif cells is None:
            texts.append({"id": name, "text": finder.texts_[row], "copies": []})
        else:
            values = [column[row] for column in cells.values()]
            texts.append({"id": name, "cells": values, "copies": []})
    similar = np.flatnonzero(found.kind != "copy")
    pairs = [(of_row[a], of_row[b]) for a, b in found.pairs[similar].tolist()]
    by_column, effect_of = _effects(found)
    aligned, tokens = {}, {}
    if cells is None:
        aligned, tokens = _alignments(finder, pairs[:ALIGNED_PAIRS], texts)
    notes = [f"Groups by {linkage} link of {found.score_name}. Exact copies are one entry."]
    if cells is None and len(pairs) > ALIGNED_PAIRS:
        notes.append(f"Words are aligned in the {ALIGNED_PAIRS} pairs with the best scores.")
    return {
        "score_name": found.score_name,
        "threshold": threshold,
        "lowest": lowest,
        "texts": texts,
        "merges": _merges(groups.merges, len(finder.texts_), of_row, len(texts)),
        "pairs": [
            (*pair, *_answer(found, place), *effect_of[place : place + 1])
            for pair, place in zip(pairs, similar.tolist(), strict=True)
        ],
        **by_column,
        "alignments": aligned,
        "tokens": tokens,
        "notes": notes,
        "n_rows": len(finder.texts_),
    }


def match_data(found: Any, threshold: float, n_rows: int) -> dict[str, Any]:
    """Collect the data of `duplicates_page` for matches between two tables.

    ``found`` is what `DuplicateFinder.match` returns. There is one group per new row, with the rows
    that it matches, the best first.
    """
    texts: list[dict[str, Any]] = []
    first: dict[int, int] = {}
    pairs: list[tuple[Any, ...]] = []
    by_column, effect_of = _effects(found)
    cells = None if found.records is None else found.records.cells()
    by_row = np.argsort(found.pairs[:, 0], kind="stable")
    for place in by_row.tolist():
        new = int(found.pairs[place, 0])
        if new not in first:
            first[new] = len(texts)
            texts.append(_entry(found, cells, place, 0))
        answer = *_answer(found, place), *effect_of[place : place + 1]
        pairs.append((first[new], len(texts), *answer))
        texts.append(_entry(found, cells, place, 1))
    merges = []
    node = {place: place for place in first.values()}
    for new, old, score, *_ in sorted(pairs, key=lambda pair: -pair[2]):
        merges.append((node[new], old, score))
        node[new] = len(texts) + len(merges) - 1
    return {
        "score_name": found.score_name,
        "threshold": threshold,
        "lowest": threshold,
        "texts": texts,
        "merges": merges,
        "pairs": pairs,
        **by_column,
        "notes": ["Each group is a new row, first, with the known rows that it matches."],
        "n_rows": n_rows,
        "across": True,
    }


def _answer(found: Any, place: int) -> tuple[float, str]:
    """Return the score of a pair, and its kind if little else differs."""
    kind = found.kind[place]
    return float(found.scores[place]), kind if kind.startswith("differs") else ""


def _effects(found: Any) -> tuple[dict[str, Any], list[int]]:
    """Return columns and the different effects of their agreement, and which each pair has."""
    if found.records is None:
        return {}, []
    none = np.zeros(len(found))
    effects = found.records.effects()
    names = list(found.records.columns)
    table = np.array([effects.get(name, none) for name in names]).T.round(3)
    different, effect_of = np.unique(table, axis=0, return_inverse=True)
    keys = {"columns": names}
    if effects:
        return keys | {"effects": different.tolist()}, effect_of.ravel().tolist()
    return keys, []


def _entry(found: Any, cells: Any, place: int, side: int) -> dict[str, Any]:
    content = {"text": found.texts[place, side]}
    if cells is not None:
        content = {"cells": cells[place, side].tolist()}
    return {"id": str(found.ids[place, side]), **content, "copies": []}


def _merges(
    merges: np.ndarray, n_rows: int, of_row: dict[int, int], n_texts: int
) -> list[tuple[int, int, float]]:
    """Renumber merges of rows as merges of different texts."""
    node = dict(of_row)
    renumbered = []
    for i, (a, b, score) in enumerate(merges.tolist()):
        first, second = node[int(a)], node[int(b)]
        node[n_rows + i] = first
        if first != second:
            node[n_rows + i] = n_texts + len(renumbered)
            renumbered.append((first, second, score))
    return renumbered


def _alignments(
    finder: Any, pairs: list[tuple[int, int]], texts: list[dict[str, Any]]
) -> tuple[dict[str, list[tuple[int, int, float]]], dict[int, list[tuple[int, int]]]]:
    """Align words with an embedder whose cosine splits into words."""
    aligned: dict[str, list[tuple[int, int, float]]] = {}
    tokens: dict[int, list[tuple[int, int]]] = {}
    embedder = _embedder(finder) if pairs else None
    if embedder is None:
        return aligned, tokens
    wanted = np.array([[texts[i]["text"] for i in pair] for pair in pairs], dtype=object)
    for (i, j), explanation in zip(pairs, explain_words(embedder, wanted), strict=True):
        shown = shown_words(explanation)
        numbers = iter(shown["links"])
        links = [link for link in zip(numbers, numbers, numbers, strict=True) if link[2] >= _LEAST]
        aligned[f"{i},{j}"] = sorted(links, key=lambda link: -link[2])[:LINKS]
        tokens[i], tokens[j] = shown["words1"], shown["words2"]
    return aligned, tokens


def _embedder(finder: Any) -> Any:
    """Return the embedder behind the scores, or behind the first member that is one."""
    if finder.classifier is None:
        return finder.vectorizer_
    members = (member for _, member in finder.classifier.members_)
    return next((member for member in members if not is_predictor(member)), None)

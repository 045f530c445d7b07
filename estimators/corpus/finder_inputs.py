"""Validate the inputs of a duplicate finder: texts, ids, blocks, and linked pairs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from estimators.corpus.column_evidence import cells_by_column, only_columns
from estimators.corpus.growth import Wanted
from estimators.inputs import (
    check_choice,
    check_integer,
    check_real,
    check_texts,
    check_verbose,
    column_names,
    is_missing,
    numbers_rows,
    record_texts,
)
from film.corpus import must_link_path
from film.text import copy_key

MOST_PAIRS = 100_000_000
"""Maximal number of pairs of rows in a match: some 10 GB."""

USUAL_THRESHOLD = 0.5
"""Lowest score where none is given, for probabilities and for cosines."""

IdPairs = Iterable[tuple[Any, Any]]


def check_settings(settings: dict[str, Any]) -> None:
    """Check the parameters of a `DuplicateFinder` that do not depend on a classifier."""
    check_integer("n_neighbors", settings["n_neighbors"], 1)
    check_choice("index", settings["index"], ("auto", "exact", "approximate"))
    check_integer("random_state", settings["random_state"], 0)
    check_verbose(settings["verbose"])
    embedder = settings["embedder"]
    if not (embedder is None or callable(getattr(embedder, "transform", embedder))):
        raise TypeError(f"embedder={embedder!r} must be a fitted transformer, a callable or None")
    for name in ("prior", "classifier_prior"):
        if settings["classifier"] is None and settings[name] is not None:
            raise ValueError(
                f"{name}={settings[name]!r} applies to the probabilities of a classifier, but "
                f"classifier is None; set classifier too, or {name}=None"
            )


def checked_corpus(texts: Any, encoder: Any = None) -> list[str]:
    """Return the texts of a corpus as a list, rejecting a dict of ids to texts.

    With an encoder, halves of surrogate pairs are rejected too.
    """
    if isinstance(texts, dict):
        raise TypeError("texts is a dict; give the list of its texts, and its keys as ids")
    return check_texts(texts, encodable=encoder is not None)


def checked_rows(
    rows: Any, compare: Any = None, columns: Sequence[str] | None = None, encoder: Any = None
) -> tuple[list[str], tuple[str, ...] | None]:
    """Return the text of each row, and the columns if the rows are records.

    Rows are records if they come as a frame of several columns, or ``compare`` names some.
    ``columns`` are those of `fit`, which new records need too. Without either, columns that number
    the rows are left out.
    """
    if compare is not None and not isinstance(compare, dict | list | tuple):
        raise TypeError(
            f"compare={compare!r} must be a list of columns, a dict from column to kind, or None"
        )
    is_frame = hasattr(rows, "columns")
    if columns is None and compare is None and not (is_frame and len(column_names(rows)) > 1):
        return checked_corpus(rows, encoder), None
    if not (is_frame or isinstance(rows, dict)):
        raise TypeError(
            f"the rows are compared by column, but are a {type(rows).__name__}: give a frame with "
            f"the columns {', '.join(columns or compare or ())}"
        )
    names, texts = record_texts(rows, columns or (list(compare) if compare else None))
    if columns is None and compare is None:
        cells = zip(names, cells_by_column(texts), strict=True)
        kept = tuple(name for name, column in cells if not numbers_rows(name, column))
        if kept and len(kept) < len(names):
            names, texts = kept, only_columns(texts, names, kept)
    return checked_corpus(texts, encoder), names


def checked_ids(ids: Any, n_rows: int, known: Sequence[Any]) -> np.ndarray:
    """Return the ids of rows, unique among themselves and the known ids."""
    names = list(range(len(known), len(known) + n_rows)) if ids is None else list(ids)
    if len(names) != n_rows:
        raise ValueError(f"ids has {len(names)} entries for {n_rows} texts; give one per text")
    place = {name: row for row, name in enumerate(known)}
    for row, name in enumerate(names, start=len(known)):
        if is_missing(name) or name != name:
            raise ValueError(
                f"ids[{row - len(known)}] is missing ({name!r}); give every text an id, or none"
            )
        if place.setdefault(name, row) != row:
            raise ValueError(
                f"ids[{row - len(known)}] is {name!r}, the id of row {place[name]} already; ids "
                "must be unique"
            )
    array = np.empty(n_rows, dtype=object)
    array[:] = names
    return array


def checked_blocks(blocks: Any, n_rows: int) -> list[Hashable] | None:
    """Return the blocks of the rows, or None if all rows are compared with each other."""
    if blocks is None:
        return None
    given = list(blocks)
    if len(given) != n_rows:
        raise ValueError(f"blocks has {len(given)} entries for {n_rows} texts; give one per text")
    for row, block in enumerate(given):
        if is_missing(block) or block != block or not isinstance(block, Hashable):
            raise ValueError(
                f"blocks[{row}] is {block!r}; give hashable values that equal themselves, "
                "or drop that row"
            )
    return given


def checked_limits(method: str, threshold: float | None, budget: int | None) -> Wanted:
    """Return the lowest score or the largest number of pairs, or that it is to be estimated."""
    if threshold is None and budget is None:
        return Wanted(USUAL_THRESHOLD, is_estimated=True)
    if threshold is not None and budget is not None:
        raise ValueError(
            f"{method}() takes either threshold or budget, got threshold={threshold!r} and "
            f"budget={budget!r}: give the lowest score, or the number of pairs"
        )
    lowest = 0.0 if threshold is None else check_real("threshold", threshold, 0, 1)
    return Wanted(lowest, None if budget is None else check_integer("budget", budget, 1))


def distinct_texts(rows: list[str], blocks: list[int]) -> tuple[list[str], list[int], np.ndarray]:
    """Return the unique texts of rows, the block of each, and each row's unique text."""
    units: dict[tuple[int, str], int] = {}
    spelt: list[str] = []
    unit_of = np.full(len(rows), -1, dtype=np.intp)
    for row, unit in enumerate(zip(blocks, map(copy_key, rows), strict=True)):
        if unit[1]:
            unit_of[row] = units.setdefault(unit, len(spelt))
            if unit_of[row] == len(spelt):
                spelt.append(rows[row])
    return spelt, [block for block, _ in units], unit_of


def rows_of_pairs(
    pairs: np.ndarray, unit_of: np.ndarray, code_of: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Repeat pairs of texts for all their rows; return positions of the pairs, and both rows.

    ``unit_of`` and ``code_of`` hold the text of each row on either side, −1 for none.
    """
    n_pairs = _n_rows(pairs[:, 0], unit_of) @ _n_rows(pairs[:, 1], code_of)
    if n_pairs > MOST_PAIRS:
        raise ValueError(
            f"the result has {n_pairs:,} pairs of rows, because many rows of both tables have the "
            "same text; keep one row of each text in one table"
        )
    first, row = _repeated(pairs[:, 0], unit_of)
    second, other = _repeated(pairs[first, 1], code_of)
    return first[second], np.column_stack([row[second], other])


def _n_rows(texts: np.ndarray, text_of: np.ndarray) -> np.ndarray:
    """Count the rows that have each text."""
    return np.bincount(text_of[text_of >= 0], minlength=texts.max(initial=-1) + 1)[texts]


def _repeated(texts: np.ndarray, text_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat texts for each of their rows; return positions of the texts, and rows."""
    told = np.flatnonzero(text_of >= 0)
    rows = told[np.argsort(text_of[told], kind="stable")]
    starts = np.searchsorted(text_of[rows], texts)
    times = _n_rows(texts, text_of)
    place = np.repeat(np.arange(len(texts)), times)
    nth = np.arange(len(place)) - np.repeat(np.cumsum(times) - times, times)
    return place, rows[starts[place] + nth]


class KnownPairs:
    """Pairs of unique texts known to mean the same, or to differ.

    Parameters
    ----------
    must_link, cannot_link : iterable of (id, id), or None
        Pairs of rows by their ids.
    ids : ndarray of object, shape (n_rows,)
        Ids of all rows.
    codes, blocks : ndarray of int, shape (n_rows,)
        Unique text of each row, −1 for empty texts, and its block.
    groups : ndarray of int, shape (n_rows,), optional
        Group of each row, −1 for none. Its rows must be linked, except those of a group with a
        pair of ``cannot_link``.

    Attributes
    ----------
    must, cannot : ndarray of int, shape (m, 2)
        Unique pairs of text numbers, the lower one first.

    Raises
    ------
    ValueError
        If an id is unknown, or pairs contradict each other, copies or blocks; ids are named.
    """

    def __init__(
        self,
        must_link: IdPairs | None,
        cannot_link: IdPairs | None,
        ids: np.ndarray,
        codes: np.ndarray,
        blocks: np.ndarray,
        groups: np.ndarray | None = None,
    ) -> None:
        self.must = self.cannot = np.empty((0, 2), dtype=np.intp)
        if must_link is None and cannot_link is None and groups is None:
            return
        place = {name: row for row, name in enumerate(ids.tolist())}
        same = rows_of_ids("must_link", must_link, place)
        apart = rows_of_ids("cannot_link", cannot_link, place)
        for a, b in same:
            if codes[a] < 0 or codes[b] < 0:
                empty = ids[a] if codes[a] < 0 else ids[b]
                raise ValueError(
                    f"must_link joins the rows {ids[a]!r} and {ids[b]!r}, but {empty!r} has no "
                    "text; drop that pair"
                )
            if blocks[a] != blocks[b]:
                raise ValueError(
                    f"must_link joins the rows {ids[a]!r} and {ids[b]!r} of different blocks, "
                    "which are not compared; drop that pair, or the blocks"
                )
        for a, b in apart:
            if codes[a] == codes[b] >= 0:
                raise ValueError(
                    f"cannot_link separates the rows {ids[a]!r} and {ids[b]!r}, which are copies "
                    "of one text; drop that pair, or give them different blocks"
                )
        if groups is not None:
            same = np.concatenate([_links_within(groups, codes, apart), same])
        self.must = _unique_pairs(codes[same])
        self.cannot = _unique_pairs(codes[apart])
        path = must_link_path(self.must, self.cannot, int(codes.max(initial=-1)) + 1)
        if path:
            # Name the caller's rows, not other copies of their texts.
            row_of = {int(codes[row]): row for row in np.ravel([*same, *apart]).tolist()}
            names = [repr(ids[row_of[code]]) for code in path]
            raise ValueError(
                f"cannot_link separates the rows {names[0]} and {names[-1]}, but must_link joins "
                f"them: {' – '.join(names)}; drop one of these pairs"
            )


def rows_of_ids(name: str, pairs: IdPairs | None, place: dict[Any, int]) -> np.ndarray:
    """Return the rows of pairs of ids, (n, 2); ``place`` maps ids to rows."""
    rows = []
    for position, pair in enumerate(() if pairs is None else pairs):
        ends = [pair] if isinstance(pair, str) else list(pair)
        if len(ends) != 2:
            raise ValueError(f"{name}[{position}] is {pair!r}; give a pair of ids")
        for end in ends:
            if end not in place:
                raise ValueError(f"{name}[{position}] names {end!r}, which is not the id of a row")
        rows.append([place[end] for end in ends])
    return np.array(rows, dtype=np.intp).reshape(-1, 2)


def _links_within(groups: np.ndarray, codes: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Link the rows of each group to its first, except groups with two texts that are apart."""
    kept = np.flatnonzero(groups >= 0)
    of_text = np.full(codes.max(initial=-1) + 2, -1)
    of_text[codes[kept]] = groups[kept]
    a, b = of_text[codes[apart]].T
    kept = kept[~np.isin(groups[kept], a[a == b])]
    _, first, group = np.unique(groups[kept], return_index=True, return_inverse=True)
    return np.column_stack([kept[first][group], kept])


def _unique_pairs(pairs: np.ndarray) -> np.ndarray:
    """Return unique, sorted pairs of different texts, the lower number first."""
    told = (pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    return np.unique(np.sort(pairs[told], axis=1), axis=0)


def are_among(pairs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether each pair, the lower number first, is in another set of pairs."""
    if not len(pairs) or not len(others):
        return np.zeros(len(pairs), dtype=bool)
    width = int(max(pairs.max(), others.max())) + 1
    return np.isin(pairs[:, 0] * width + pairs[:, 1], others[:, 0] * width + others[:, 1])

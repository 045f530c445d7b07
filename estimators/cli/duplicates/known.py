"""Inputs of ``film duplicates`` besides the table: a collection and labelled pairs."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click
from filelock import Timeout

from estimators.cli import models, reading
from estimators.cli.console import Failure, note
from estimators.cli.options import LABEL_COLUMNS
from estimators.cli.tables import Table, escape_formula
from estimators.inputs import split_columns
from estimators.persistence import HEADER
from film.datasets import lock_beside, unlock
from film.text import copy_key

Pairs = list[tuple[Any, Any]]


class Collection:
    """A saved finder and where it is kept.

    Parameters
    ----------
    path : str
        A file of ``film duplicates --save``.
    device : str, optional
        Where its classifier computes.
    to_add : bool
        Whether rows are to be added: then other commands that add wait until this one ends.
    """

    def __init__(self, path: str, device: str | None, to_add: bool) -> None:
        self.path = path
        if to_add:
            click.get_current_context().with_resource(alone_at(path))
        self._stamp = _stamp(path)
        self.finder = models.load_model(path, device)
        if (
            type(self.finder).__name__ != "DuplicateFinder"
            or not self.finder.__sklearn_is_fitted__()
        ):
            raise Failure(
                f"--against {path} holds a {type(self.finder).__name__}, not a collection; give a "
                "table, or a file that film duplicates --save wrote"
            )

    def check_new(self, ids: Sequence[Any]) -> None:
        """Raise if a new row has an id that the collection already has, as a number or a text."""
        there = {str(name) for name in self.finder.ids_.tolist()}
        taken = [str(name) for name in ids if str(name) in there]
        if taken:
            raise Failure(
                f"{self.path} already has the id {taken[0][:60]!r} ({len(taken):,} of {len(ids):,} "
                "new ids); new rows need new ids: name another column by --id, or leave out --add"
            )

    def whole(self, like: Table) -> Table:
        """Return all rows as a table of the format of another: texts, or compared columns."""
        columns = self.finder.cells_ or {"text": self.finder.texts_.tolist()}
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        return replace(like, columns=list(columns), rows=rows, lines=[], source=self.path)

    def save(self) -> None:
        """Save the collection, unless another command has changed it."""
        from estimators.persistence import save_model

        if _stamp(self.path) != self._stamp:
            raise Failure(
                f"{self.path} changed while this command ran, so nothing was added; run "
                "the command again"
            )
        save_model(self.finder, self.path)


def is_collection(path: str) -> bool:
    """Whether a file holds a model, rather than a table."""
    if path == "-" or not os.path.isfile(path) or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return HEADER in archive.namelist()


@contextmanager
def alone_at(path: str) -> Iterator[None]:
    """Lock a collection against other commands that write it."""
    lock = lock_beside(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        note(f"waiting for another command to finish writing {path}")
        lock.acquire()
    try:
        yield
    finally:
        unlock(lock)


def _stamp(path: str) -> tuple[int, int, int]:
    state = os.stat(path)
    return state.st_ino, state.st_mtime_ns, state.st_size


def blocks_of(table: Table, columns: Sequence[str]) -> list[str] | None:
    """Return the blocking key of each row: its cells in some columns, as one text."""
    if not columns:
        return None
    if len(set(columns)) < len(columns):
        raise click.UsageError(f"--within names a column twice: {', '.join(columns)}")
    cells = list(zip(*(table.column(name) for name in columns), strict=True))
    empty = sum(not any(cell.strip() for cell in each) for each in cells)
    if empty:
        note(
            f"{table.source}: {empty} rows are empty in {', '.join(map(repr, columns))}; they are "
            "compared with each other"
        )
    return [repr(each) for each in cells]


def labelled_rows(path: str, encoding: str | None) -> tuple[str, Table, Any, Any]:
    """Read a table of labels: its path, the table, the rows with a label, and their labels.

    Labels are as for ``film train``.
    """
    table = reading.open_table(path, encoding)
    label = reading.choose_column(table, None, LABEL_COLUMNS, "--not-same", "the labels")
    return path, table, *reading.labels_of(table, label)


def known_pairs(
    path: str, table: Table, rows: Any, labels: Any, finder: Any
) -> tuple[Pairs, Pairs]:
    """Return the pairs of ids labelled 1, and those labelled 0.

    Pairs are known by their texts, whichever rows have them; where the file has none, by id1 and
    id2, or by the columns that are compared, as left_name, right_name and so on.
    """
    ids, blocks, codes, cells = finder.ids_, finder.blocks_, finder.codes_, finder.cells_
    columns = reading.pair_columns_of(table)
    named = {name.strip().lower(): name for name in table.columns}
    by_id = not columns and {"id1", "id2"} <= named.keys()
    paired = split_columns(table.columns).paired
    holders: dict[tuple[str, ...], dict[int, int]]
    if columns:
        holders = _rows_by_cells([(text,) for text in finder.texts_], blocks)
        names = columns[:1]
    elif by_id:
        holders = {(str(name),): {0: row} for row, name in enumerate(ids)}
        names = [(named["id1"], named["id2"])]
    elif cells is not None and cells.keys() <= paired.keys():
        holders = _rows_by_cells([*zip(*cells.values(), strict=True)], blocks)
        names = [paired[name] for name in cells]
    else:
        compared = "" if cells is None else ", nor left_ and right_ of all compared columns"
        raise Failure(
            f"--not-same {path} has no columns text1 and text2, nor id1 and id2{compared}; give a "
            "file of labelled pairs"
        )
    sides = (zip(*map(table.column, side), strict=True) for side in zip(*names, strict=True))
    ends = list(zip(*sides, strict=True))
    same: Pairs = []
    apart: Pairs = []
    n_unknown = 0
    for row, judged in zip(rows.tolist(), labels.tolist(), strict=True):
        one, other = (end if by_id else _key(end) for end in ends[row])
        ours, theirs = holders.get(one, {}), holders.get(other, {})
        found = [(ours[block], theirs[block]) for block in ours.keys() & theirs.keys()]
        if not judged and (one == other or any(codes[a] == codes[b] >= 0 for a, b in found)):
            silent = ", ".join(finder.left_out_)
            raise Failure(
                f"--not-same {path}, line {table.lines[row]}, labels a text and its exact copy as "
                "different; drop that line"
                + (f", or name the columns to compare (left out: {silent})" if silent else "")
            )
        if one == other:
            continue
        n_unknown += not found
        (same if judged else apart).extend((ids[a], ids[b]) for a, b in sorted(found))
    if n_unknown:
        note(
            f"{path}: {n_unknown} of {len(rows)} labelled pairs "
            f"{'is' if n_unknown == 1 else 'are'} not in the table"
        )
    return same, apart


def _rows_by_cells(
    rows: Sequence[Sequence[str]], blocks: Any
) -> dict[tuple[str, ...], dict[int, int]]:
    """Return the first row of each text or record, by its key and then by block."""
    found: dict[tuple[str, ...], dict[int, int]] = {}
    for row, (cells, block) in enumerate(zip(rows, blocks.tolist(), strict=True)):
        # The page's download may have put an apostrophe in front.
        for key in {_key(cells), _key(map(escape_formula, cells))}:
            if any(key):
                found.setdefault(key, {}).setdefault(block, row)
    return found


def _key(cells: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(copy_key, cells))


def refuse_contradictions(error: ValueError, path: str) -> Failure:
    """Rephrase a contradiction between labels in terms of the file."""
    text = str(error).replace("cannot_link separates", "label 0 separates")
    text = text.replace("must_link joins", "label 1 joins").replace("that pair", "that line")
    return Failure(f"--not-same {path}: {text.replace('one of these pairs', 'one of their lines')}")

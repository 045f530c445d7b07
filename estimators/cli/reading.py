"""Read the inputs of the commands: tables, columns, labels. ``given`` holds a command's options."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from estimators.cli.console import Failure, counted, have, note
from estimators.cli.options import LABEL_COLUMNS, PAIR_COLUMNS, TEXT_COLUMNS
from estimators.cli.tables import Table, cell_text, read_table, scan_table
from estimators.inputs import RecordPairs, is_duplicate_label, split_columns
from film.compare import COLUMN_KINDS
from film.text import normalize_text

ID_COLUMNS = ("id",)
TEST_ID_COLUMNS = ("test_id", "id")
_PAIR_OPTIONS, _SIDE_OPTIONS = "--text1 and --text2", "--left and --right"

# What programs write for a cell without a value.
_STAND_INS = frozenset("nan none null nil na n/a #n/a <na> #ref! #value! #name? #div/0!".split())
_LONGEST_STAND_IN = 12
_SHOWN = 5
# Of shared words as evidence: 0.5 is chance, and real labels lie above.
_REVERSED, _LEAST_OF_A_CLASS = 0.35, 20
_LOOKED_AT_TEXTS, _LOOKED_AT_LETTERS = 1000, 200


def open_table(source: str, encoding: str | None) -> Table:
    """Read a table, and print the notes of its reader."""
    table = read_table(source, encoding=encoding)
    for text in table.notes:
        note(text)
    return table


def choose_column(table: Table, named: Any, choices: Sequence[str], option: str, what: str) -> Any:
    """Return the named columns, or the only column with a usual name."""
    if named is not None:
        table.column(named)
        if not isinstance(named, str) and len(set(named)) < len(named):
            raise click.UsageError(f"{option} names a column twice: {', '.join(named)}")
        return named
    found = [name for name in table.columns if name.strip().lower() in choices]
    if len(found) == 1:
        return found[0]
    raise Failure(_unclear(table, found, [repr(name) for name in choices], option, what))


def texts_of(table: Table, named: Any) -> list[str]:
    """Return the texts of one or several joined columns, and print notes on odd texts."""
    column = choose_column(table, named, TEXT_COLUMNS, "--text", "the texts")
    return joined_texts(table, [column] if isinstance(column, str) else column, "--text")


def joined_texts(table: Table, columns: Sequence[str], option: str) -> list[str]:
    """Return the joined cells of columns that an option names, and print notes on odd texts."""
    texts = table.column(columns[0] if len(columns) == 1 else columns)
    _note_on_texts(table, np.array(texts, dtype=object).reshape(-1, 1), columns, option)
    return texts


def compared_kinds(compare: Sequence[str]) -> dict[str, str]:
    """Return the kind of each column of ``--compare``, "" where it is to be recognised."""
    kinds: dict[str, str] = {}
    for value in compare:
        name, _, kind = value.rpartition(":")
        if not name:
            name, kind = value, ""
        elif kind not in COLUMN_KINDS:
            raise click.UsageError(
                f"--compare {value}: {kind!r} is not a kind; give one of {', '.join(COLUMN_KINDS)}"
            )
        if name in kinds:
            raise click.UsageError(f"--compare names column {name!r} twice")
        kinds[name] = kind
    return kinds


def choose_id_column(table: Table, named: str | None) -> str | None:
    """Return the column of ids, or None if no column is named or has a usual name."""
    if named is None and not any(name.strip().lower() in ID_COLUMNS for name in table.columns):
        return None
    return choose_column(table, named, ID_COLUMNS, "--id", "the ids")


def _check_two(first: str | None, second: str | None, options: str, remedy: str) -> None:
    """Raise unless both options are given, with different values, or neither."""
    if (first is None) != (second is None):
        raise click.UsageError(f"give both {options}, or neither")
    if first is not None and first == second:
        raise click.UsageError(f"{options} are both {first!r}; {remedy}")


def choose_pair_columns(table: Table, given: Any) -> tuple[str, str]:
    """Return both columns of a pair: those of ``--text1`` and ``--text2``, or usual ones."""
    _check_two(given.text1, given.text2, _PAIR_OPTIONS, "name two columns")
    if given.text1 is not None:
        for name in (given.text1, given.text2):
            table.column(name)
        return given.text1, given.text2
    found = pair_columns_of(table)
    if len(found) == 1:
        return found[0]
    usual = [f"{first!r} and {second!r}" for first, second in PAIR_COLUMNS]
    several = [" and ".join(names) for names in found]
    raise Failure(_unclear(table, several, usual, _PAIR_OPTIONS, "the pairs"))


def pair_columns_of(table: Table) -> list[tuple[str, str]]:
    """Return the usual pairs of columns that a table has."""
    named = {name.strip().lower(): name for name in reversed(table.columns)}
    return [(named[a], named[b]) for a, b in PAIR_COLUMNS if a in named and b in named]


def _unclear(
    table: Table, found: Sequence[str], choices: Sequence[str], option: str, what: str
) -> str:
    if found:
        return (
            f"{table.source}: {', '.join(map(repr, found))} may all be {what}; choose by {option}"
        )
    return (
        f"{table.source} has no column {' or '.join(choices)} for {what}; it has {_shown(table)}: "
        f"name yours by {option}"
    )


def pairs_of(table: Table, given: Any) -> NDArray[np.object_]:
    """Return the pairs, shape (n, 2), and print notes on odd texts."""
    columns = choose_pair_columns(table, given)
    pairs = np.array([*zip(*map(table.column, columns), strict=True)], dtype=object)
    _note_on_texts(table, pairs, columns, _PAIR_OPTIONS)
    return pairs


def records_of(
    table: Table, given: Any, columns: Sequence[str] | None = None
) -> RecordPairs | None:
    """Return the pairs of records of a table; None if it has pairs of texts.

    ``columns`` are those to compare; None is all but ids.
    """
    left, right = given.left, given.right
    _check_two(left, right, _SIDE_OPTIONS, "name the two sides")
    chosen = left is not None or columns is not None
    if (given.text1, given.text2) != (None, None):
        if chosen:
            raise click.UsageError(
                f"{_PAIR_OPTIONS} are for pairs of texts; leave them out for records of columns"
            )
        return None
    if not chosen and pair_columns_of(table):
        return None
    split = split_columns(table.columns, left, right)
    paired = split.paired
    fault = ""
    if columns is None:
        paired = {name: both for name, both in paired.items() if name.lower() not in ID_COLUMNS}
        if not paired and not chosen:
            return None
        if not paired:
            fault = f"no column is on both sides by --left {left} and --right {right}"
        elif split.one_sided:
            names = ", ".join(map(repr, split.one_sided[:5]))
            fault = f"only one side has {names}; rename or drop such columns"
    elif absent := [name for name in columns if name not in paired]:
        fault = f"the column to compare, {absent[0]!r}, is not on both sides; name the sides by "
        fault += _SIDE_OPTIONS
    if fault:
        raise Failure(f"{table.source}: {fault}: the table has {_shown(table)}")
    paired = {name: paired[name] for name in columns or paired}
    read = [{name: table.column(both[n]) for name, both in paired.items()} for n in (0, 1)]
    records = RecordPairs(*read)
    used = [name for both in paired.values() for name in both]
    _note_on_texts(table, records.texts(), used, _SIDE_OPTIONS)
    return records


def pairs_for(classifier: Any, table: Table, given: Any) -> NDArray[np.object_]:
    """Return the pairs that a model scores, shape (n, 2): texts, or records as texts."""
    columns = getattr(classifier, "columns_", None)
    if columns is None:
        if (given.left, given.right) != (None, None):
            raise click.UsageError(
                f"{_SIDE_OPTIONS} are for a model that film train fitted to records of several "
                f"columns; this one compares two texts: give {_PAIR_OPTIONS}"
            )
        return pairs_of(table, given)
    records = records_of(table, given, columns)
    assert records is not None  # since the columns are known
    return records.texts(columns)


def _shown(table: Table) -> str:
    return ", ".join(repr(name[:60]) for name in table.columns)


def named_pairs(given: Any) -> Iterator[tuple[Any, str, str]]:
    """Yield ids and pairs of the table ``test``; a CSV file is read row by row."""
    table, numbered = scan_table(given.test, given.encoding)
    for text in table.notes:
        note(text)
    column = choose_column(table, given.name, TEST_ID_COLUMNS, "--id", "the ids")
    couple = choose_pair_columns(table, given)
    places = [table.columns.index(each) for each in (column, *couple)]
    seen: dict[str, int] = {}
    n_empty, has_text = 0, False
    for line, cells in numbered:
        name, text, other = (cell_text(cells[place]) for place in places)
        _keep_id(seen, name, line, table, column)
        n_empty += not (text.strip() and other.strip())
        has_text = has_text or bool(text.strip() or other.strip())
        yield name, text, other
    if not seen:
        raise Failure(f"{table.source} has a header, but no rows")
    if not has_text:
        raise Failure(_no_text(table, couple, _PAIR_OPTIONS))
    if n_empty:
        note(f"{table.source}: {n_empty} of {len(seen)} rows {have(n_empty)} an empty text")


class LabelledPairs(NamedTuple):
    """The rows of a table that have a label."""

    table: Table
    column: str
    pairs: NDArray[np.object_]
    y: NDArray[np.int64]
    records: RecordPairs | None = None

    def check_labels(self, what: str) -> None:
        """Raise if all labels are the same."""
        if self.y.min() == self.y.max():
            raise Failure(
                f"{self.table.source}: each label in column {self.column!r} is {self.y[0]} (rows: "
                f"{len(self.y)}); {what} needs duplicates and others"
            )


def read_labelled_pairs(
    given: Any, classifier: Any = None, columns: Sequence[str] | None = None
) -> LabelledPairs:
    """Read the table ``pairs``, to train a model or to measure a ``classifier``.

    ``columns`` are those of records to train on; None is all.
    """
    table = open_table(given.pairs, given.encoding)
    records = None
    if classifier is None:
        records = records_of(table, given, columns)
    if records is None and getattr(classifier, "columns_", None) is None:
        choose_pair_columns(table, given)
    column = choose_column(table, given.label, LABEL_COLUMNS, "--label", "the labels")
    rows, y = labels_of(table, column)
    if records is None:
        labelled = LabelledPairs(table, column, pairs_for(classifier, table, given)[rows], y)
    else:
        labelled = LabelledPairs(table, column, records.texts()[rows], y, records[rows])
    _note_on_labels(labelled)
    return labelled


def _note_on_labels(labelled: LabelledPairs) -> None:
    """Warn if pairs labelled duplicate share fewer words than the others."""
    step = max(1, len(labelled.y) // _LOOKED_AT_TEXTS)
    y = labelled.y[::step].astype(bool)
    if min(y.sum(), (~y).sum()) < _LEAST_OF_A_CLASS:
        return
    words = [[set(normalize_text(text).split()) for text in row] for row in labelled.pairs[::step]]
    alike = np.array([len(a & b) / max(len(a | b), 1) for a, b in words])
    order = np.subtract.outer(alike[y], alike[~y])
    area = float((order > 0).mean() + (order == 0).mean() / 2)
    if area < _REVERSED:
        note(
            f"{labelled.table.source}: pairs labelled 1 share fewer words than those labelled 0 "
            f"(ROC AUC of shared words {area:.2f}); 1 must mean duplicate, so check that "
            f"column {labelled.column!r} is not inverted"
        )


def _note_on_texts(
    table: Table, rows: NDArray[np.object_], columns: Sequence[str], option: str
) -> None:
    """Warn if texts are missing, or if the features do not suit their language.

    Raises
    ------
    Failure
        When there is no text at all, with the columns and the option that names others.
    """
    if not any(map(str.strip, rows.ravel().tolist())):
        raise Failure(_no_text(table, columns, option))
    empty = [row for row, cells in enumerate(rows) if not all(text.strip() for text in cells)]
    if empty:
        note(
            f"{table.source}: {len(empty)} of {len(rows)} rows {have(len(empty))} an empty text, "
            f"{_lines(table, empty)}"
        )
    stand_ins = [row for row, cells in enumerate(rows) if any(map(_is_stand_in, cells))]
    if stand_ins:
        cell = next(text for text in rows[stand_ins[0]] if _is_stand_in(text))
        note(
            f"{table.source}: {len(stand_ins)} of {len(rows)} rows {have(len(stand_ins))} a text "
            f"such as {cell!r}, {_lines(table, stand_ins)}; it counts as a text, so empty the "
            "cell if the text is missing"
        )
    if not mostly_latin(rows.ravel()):
        note(
            f"{table.source}: most letters are not Latin; word features are tuned for English, so "
            "check the results on some pairs"
        )


def _no_text(table: Table, columns: Sequence[str], option: str) -> str:
    named = " and ".join(repr(name[:60]) for name in columns)
    return (
        f"{table.source}: column{'s' * (len(columns) > 1)} {named}, for the texts, "
        f"{'are' if len(columns) > 1 else 'is'} empty in every row; name the columns that "
        f"hold texts by {option}: it has {_shown(table)}"
    )


def _is_stand_in(text: str) -> bool:
    return len(text) <= _LONGEST_STAND_IN and text.strip().lower() in _STAND_INS


def mostly_latin(texts: NDArray[np.object_]) -> bool:
    """Return whether at least half of the letters of a sample are Latin."""
    step = max(1, len(texts) // _LOOKED_AT_TEXTS)
    letters: dict[str, int] = {}
    for text in texts[::step]:
        for letter in text[:_LOOKED_AT_LETTERS]:
            if letter.isalpha():
                letters[letter] = letters.get(letter, 0) + 1
    latin = sum(n for c, n in letters.items() if unicodedata.name(c, "").startswith("LATIN"))
    return 2 * latin >= sum(letters.values())


def labels_of(table: Table, column: str) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the rows that have a label, and their labels."""
    cells = [cell.strip() for cell in table.column(column)]
    said = {cell: is_duplicate_label(cell) for cell in set(cells) if cell}
    wrong = [row for row, cell in enumerate(cells) if cell and said[cell] is None]
    if wrong:
        shown = table.column(column)[wrong[0]][:60]
        raise Failure(
            f"{table.source}: {len(wrong)} of {len(cells)} labels in column {column!r} are neither "
            f"0 nor 1, nor words such as 'match' and 'nonmatch'; the first is {shown!r}, "
            f"{_lines(table, wrong)}; correct them, or leave cells without a label empty"
        )
    rows = [row for row, cell in enumerate(cells) if cell]
    if not rows:
        raise Failure(f"{table.source}: no cell of column {column!r} holds a label")
    if len(rows) < len(cells):
        left_out = counted(len(cells) - len(rows), "row")
        note(f"{table.source}: left out {left_out} without a label")
    words = {cell: is_it for cell, is_it in said.items() if cell not in ("0", "1")}
    if words:
        sides = [sorted(cell for cell in words if words[cell] is side) for side in (True, False)]
        shown = [", ".join(map(repr, cells)) or "none" for cells in sides]
        note(f"{table.source}: {shown[0]} means duplicate, {shown[1]} means not")
    return np.array(rows), np.array([int(bool(said[cells[row]])) for row in rows])


def unique_ids(table: Table, column: str) -> list[Any]:
    """Return the ids of the rows: numbers where all came as numbers, else texts.

    Raises
    ------
    Failure
        If an id is empty or occurs twice.
    """
    ids = table.column(column)
    seen: dict[str, int] = {}
    for name, line in zip(ids, table.lines, strict=True):
        _keep_id(seen, name, line, table, column)
    values = [cells[table.columns.index(column)] for cells in table.rows]
    are_numbers = all(type(value) in (int, float) for value in values)
    # As numbers 1 and 1.0 are the same.
    return values if are_numbers and len(set(values)) == len(values) else ids


def _keep_id(seen: dict[str, int], name: str, line: int, table: Table, column: str) -> None:
    """Keep the line of an id; raise if the id is empty or was seen before."""
    if not name.strip() or name in seen:
        what = f"id {name[:60]!r} twice" if name.strip() else "a row without an id"
        where = f"lines {seen[name]}, {line}" if name.strip() else f"line {line}"
        raise Failure(
            f"{table.source}: column {column!r} has {what}, {where}; ids must tell rows apart: "
            "correct them, or name another column by --id"
        )
    seen[name] = line


def _lines(table: Table, rows: Sequence[int]) -> str:
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    word = "line" if len(rows) == 1 else "lines"
    return f"{word} {', '.join(str(table.lines[row]) for row in rows[:_SHOWN])}{more}"

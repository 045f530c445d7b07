"""Pairs of records: rows of two tables with the same columns."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimators.inputs.parameters import check_choice
from film.compare import COLUMN_KINDS, RECOGNISED, column_kind, parsed_share

CELL_END = "\x1f"
"""Separates the cells of a record that is written as one text: ASCII's unit separator.

It counts as white space, so that texts of records are compared like the joined cells.
"""

SIDES = (
    ("left_", "right_"),
    ("ltable_", "rtable_"),
    ("_left", "_right"),
    ("_l", "_r"),
    ("_1", "_2"),
    ("_x", "_y"),
)
"""Prefixes and suffixes that tell the columns of the two records of a row apart."""

_NAMES_OF_ROW_NUMBERS = frozenset("# index nr nr. no no. row".split())


class RecordPairs:
    """Pairs of records, as samples for classifiers of pairs and for cross-validation.

    Parameters
    ----------
    left, right : frame or mapping of str to sequence, n rows each
        Records of each pair: row i of ``left`` and row i of ``right``. Columns of the same name are
        compared. Cells are texts, numbers or dates; None, NaN, NA and empty texts are missing.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns, in the order of ``left``.
    left, right : ndarray of object, shape (n, n_columns)
        Cells as texts, with "" where a value is missing.
    shape : tuple of int
        (n, 2): the number of pairs, and of records in a pair.

    Raises
    ------
    TypeError
        If an argument is not a frame, or a cell is not a text, number or date.
    ValueError
        If numbers of rows differ, a column is on one side only, there is no column or no row, or
        a name occurs twice.

    See Also
    --------
    record_pairs : Recognise the sides of one wide frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from estimators.inputs import RecordPairs
    >>> left = pd.DataFrame({"name": ["Ann Lee", "Bo Li"], "age": [31, None]})
    >>> right = pd.DataFrame({"age": [31, 40], "name": ["Lee, Ann", "B. Li"]})
    >>> pairs = RecordPairs(left, right)
    >>> pairs
    RecordPairs(n_pairs=2, columns=('name', 'age'))
    >>> pairs[[1]].left.tolist()
    [['Bo Li', '']]
    """

    def __init__(self, left: Any, right: Any) -> None:
        sides = [_columns_of(frame, name) for frame, name in ((left, "left"), (right, "right"))]
        ours, theirs = sides
        if not set(ours) & set(theirs):
            raise ValueError(
                f"left and right have no column in common: left has {_named(ours)}, right has "
                f"{_named(theirs)}; give columns that are compared the same name"
            )
        for has, lacks, name in ((ours, theirs, "left"), (theirs, ours, "right")):
            alone = [column for column in has if column not in lacks]
            if alone:
                raise ValueError(
                    f"column {alone[0]!r} is only in {name} ({len(alone)} such): columns of both "
                    "frames need the same names; rename or drop it"
                )
        self.columns = tuple(ours)
        self.left, self.right = (_cells(side, self.columns) for side in (ours, theirs))
        if len(self.left) != len(self.right):
            raise ValueError(
                f"left has {len(self.left)} rows and right {len(self.right)}: row i of one is "
                "compared with row i of the other"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of pairs, and 2."""
        return len(self.left), 2

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, rows: Any) -> RecordPairs:
        if isinstance(rows, tuple):  # scikit-learn asks for [rows, ...]
            rows = rows[0]
        some = object.__new__(RecordPairs)
        some.columns = self.columns
        places = np.atleast_1d(np.arange(len(self))[rows])
        some.left, some.right = self.left[places], self.right[places]
        return some

    def __repr__(self) -> str:
        return f"RecordPairs(n_pairs={len(self)}, columns={self.columns!r})"

    def texts(self, columns: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Write each record as one text, with its cells in the order of some columns.

        Parameters
        ----------
        columns : sequence of str, default=None
            All columns, in any order. None is `columns`.

        Returns
        -------
        pairs : ndarray of str, shape (n, 2)
            Cells are separated by `CELL_END`, which counts as white space.

        Raises
        ------
        ValueError
            If the columns differ from those of the records.
        """
        columns = self.columns if columns is None else tuple(columns)
        missing = [column for column in columns if column not in self.columns]
        other = [column for column in self.columns if column not in columns]
        if missing or other:
            what = f"lack column {missing[0]!r}" if missing else f"have a column {other[0]!r} more"
            raise ValueError(
                f"the records {what}: expected {_named(columns)}, got {_named(self.columns)}"
            )
        order = [self.columns.index(column) for column in columns]
        pairs = np.empty((len(self), 2), dtype=object)
        for number, side in enumerate((self.left, self.right)):
            pairs[:, number] = [CELL_END.join(row) for row in side[:, order].tolist()]
        return pairs


def record_pairs(frame: Any, left: str | None = None, right: str | None = None) -> RecordPairs:
    """Read both records of each row of a wide frame.

    Parameters
    ----------
    frame : frame or mapping of str to sequence
        Columns of both records: ``left_x`` and ``right_x``, ``x_l`` and ``x_r``, ``x_1`` and
        ``x_2`` and the like (`SIDES`), or a column index of two levels, one of which holds the
        two sides.
    left, right : str, default=None
        Prefixes or suffixes of the two sides. None: the first of `SIDES` that leaves no column
        alone.

    Returns
    -------
    pairs : RecordPairs
        Pairs.

    Raises
    ------
    ValueError
        If no sides are recognised, or a column is on one side only or on neither.

    Examples
    --------
    >>> from estimators.inputs import record_pairs
    >>> record_pairs({"name_l": ["a"], "name_r": ["b"], "age_l": [1], "age_r": [2]})
    RecordPairs(n_pairs=1, columns=('name', 'age'))
    """
    names = column_names(frame)
    if (left is None) != (right is None):
        raise ValueError(f"left={left!r} and right={right!r}: give both, or neither")
    if names and all(isinstance(name, tuple) and len(name) == 2 for name in names):
        return _from_levels(frame, names)
    split = split_columns(names, left, right)
    if not split.paired:
        tried = ", ".join(f"{a} with {b}" for a, b in ([(left, right)] if left else SIDES))
        raise ValueError(
            f"no columns of two records are recognised (tried {tried}) among {_named(names)}: "
            "give RecordPairs(left, right), or rename them"
        )
    if alone := [*split.one_sided, *split.others]:
        raise ValueError(
            f"column {alone[0]!r} has no partner on the other side ({len(alone)} such): drop it or "
            "rename it"
        )
    return RecordPairs(
        {name: frame[ours] for name, (ours, _) in split.paired.items()},
        {name: frame[theirs] for name, (_, theirs) in split.paired.items()},
    )


def record_texts(
    frame: Any, columns: Sequence[str] | None = None
) -> tuple[tuple[str, ...], list[str]]:
    """Write each row of a frame as one text.

    Parameters
    ----------
    frame : frame or mapping of str to sequence
        Cells as in `RecordPairs`.
    columns : sequence of str, default=None
        Names of the columns to write, in order; all if None.

    Returns
    -------
    columns : tuple of str
        Names of the columns.
    texts : list of str
        Cells are separated by `CELL_END`, which counts as white space.

    Raises
    ------
    TypeError, ValueError
        If a column is missing, or as in `RecordPairs`.
    """
    given = _columns_of(frame, "the table")
    names = tuple(given if columns is None else columns)
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"the table lacks column {missing[0]!r}: it has {_named(given)}")
    return names, [CELL_END.join(row) for row in _cells(given, names).tolist()]


def numbers_rows(name: str, cells: Sequence[str]) -> bool:
    """Tell whether a column only numbers the rows of its table.

    Parameters
    ----------
    name : str
        Name of the column.
    cells : sequence of str
        Its cells.

    Returns
    -------
    numbers : bool
        True if the column is an index that pandas wrote, without a name or as "Unnamed: 0", and its
        cells are different whole numbers. True too if its name is index, row, nr, no or #, and its
        cells are the numbers from 0 or from 1 in order. False for a single row.

    Examples
    --------
    >>> from estimators.inputs import numbers_rows
    >>> numbers_rows("Unnamed: 0", ["7", "3"]), numbers_rows("no", ["1", "2"])
    (True, True)
    >>> numbers_rows("no", ["7", "3"]), numbers_rows("age", ["1", "2"])
    (False, False)
    """
    name, n = name.strip().lower(), len(cells)
    is_index = not name or re.fullmatch(r"unnamed: 0(\.\d+)*", name) is not None
    if n < 2 or not (is_index or name in _NAMES_OF_ROW_NUMBERS):
        return False
    if not all(re.fullmatch(r"\s*\d+\s*", cell) for cell in cells):
        return False
    numbers = list(map(int, cells))
    if is_index:
        return len(set(numbers)) == n
    return numbers in (list(range(n)), list(range(1, n + 1)))


def joined_cells(record: str) -> str:
    """Return a text unchanged, and a record as its cells that are not empty, joined by a space."""
    if CELL_END not in record:
        return record
    return " ".join(cell for cell in record.split(CELL_END) if cell.strip())


def checked_kinds(
    values: Mapping[str, list[str]], given: Mapping[str, str], name: str
) -> dict[str, str]:
    """Return the kind of each column that has a value, given or recognised.

    Parameters
    ----------
    values : mapping of str to list of str
        Cells of each column.
    given : mapping of str to str
        Kinds of some columns; "" is recognised.
    name : str
        Name of the parameter ``given``, for errors.

    Raises
    ------
    ValueError
        If a column or kind is unknown, or fewer than half of the values of a column fit its kind.

    Warns
    -----
    UserWarning
        If a column has no value, or more than a tenth of its values do not fit the given kind.
    """
    unknown = [column for column in given if column not in values]
    if unknown:
        raise ValueError(
            f"{name} names a column {unknown[0]!r}, which the records lack: they have "
            f"{', '.join(map(repr, values))}"
        )
    kinds = {}
    for column, cells in values.items():
        if not any(map(str.strip, cells)):
            warnings.warn(
                f"column {column!r} has no value in any record: it is left out",
                UserWarning,
                stacklevel=4,
            )
            continue
        kind = given.get(column)
        if kind:
            check_choice(f"{name}[{column!r}]", kind, COLUMN_KINDS)
            share = parsed_share(cells, kind)
            told = f"{1 - share:.0%} of the values of column {column!r} are no {kind}"
            if share < 0.5:
                raise ValueError(f"{told}: give another kind, or leave it to be recognised")
            if share < RECOGNISED:
                warnings.warn(f"{told}; they count as missing", UserWarning, stacklevel=4)
        kinds[column] = kind or column_kind(cells, column)
    return kinds


def as_records(pairs: Any) -> RecordPairs | None:
    """Return pairs of records as such; None for pairs of texts, which have two columns."""
    if isinstance(pairs, RecordPairs):
        return pairs
    if not hasattr(pairs, "columns"):
        return None
    names = column_names(pairs)
    levels = bool(names) and all(isinstance(name, tuple) and len(name) == 2 for name in names)
    if not levels and (len(names) <= 2 or not split_columns(names).paired):
        return None
    return record_pairs(pairs)


def column_names(frame: Any) -> list[Any]:
    """Return the names of a frame's or mapping's columns."""
    return list(getattr(frame, "column_names", None) or getattr(frame, "columns", frame))


class SplitColumns(NamedTuple):
    """Columns of wide frames: both of a common name, those of one side alone, and others."""

    paired: dict[str, tuple[Any, Any]]
    one_sided: list[Any]
    others: list[Any]


def split_columns(
    names: Sequence[Any], left: str | None = None, right: str | None = None
) -> SplitColumns:
    """Assign the columns of a wide frame to the two records of each row.

    ``left`` and ``right`` are prefixes or suffixes; without them, those of `SIDES` by which most
    columns have partners.
    """
    places = SIDES if left is None or right is None else ((left, right),)
    return max((_split(names, *sides) for sides in places), key=lambda split: len(split.paired))


def _split(names: Sequence[Any], left: str, right: str) -> SplitColumns:
    def bare(name: str, side: str) -> str | None:
        """Return the name without its side; sides that begin with "_" are suffixes."""
        found = name.removesuffix(side) if side.startswith("_") else name.removeprefix(side)
        if found == name and not side.endswith("_"):
            found = name.removesuffix(side)
        return found if found != name and found else None

    ours = {rest: name for name in names if (rest := bare(str(name), left))}
    theirs = {rest: name for name in names if (rest := bare(str(name), right))}
    paired = {rest: (name, theirs[rest]) for rest, name in ours.items() if rest in theirs}
    used = {name for pair in paired.values() for name in pair}
    sided = {*ours.values(), *theirs.values()}
    alone = [name for name in names if name in sided and name not in used]
    return SplitColumns(paired, alone, [name for name in names if name not in sided])


def _from_levels(frame: Any, names: list[tuple[Any, Any]]) -> RecordPairs:
    values = [list(dict.fromkeys(name[level] for name in names)) for level in (0, 1)]
    levels = [level for level in (0, 1) if len(values[level]) == 2]
    if not levels:
        raise ValueError(
            f"the two levels of the columns name no two sides: {_named(names)}; give "
            "RecordPairs(left, right)"
        )
    usual = [{side.strip("_") for side in sides} for sides in SIDES]
    level = max(levels, key=lambda level: {str(side) for side in values[level]} in usual)
    given = [
        {name[1 - level]: frame[name] for name in names if name[level] == side}
        for side in values[level]
    ]
    return RecordPairs(*given)


def _columns_of(frame: Any, name: str) -> dict[str, Any]:
    if not (hasattr(frame, "columns") or hasattr(frame, "keys")):
        raise TypeError(f"{name} is a {type(frame).__name__}: give a frame, or a dict of columns")
    names = [str(column) for column in column_names(frame)]
    twice = [column for column in names if names.count(column) > 1]
    if twice:
        raise ValueError(f"{name} has two columns {twice[0]!r}: rename one")
    return {str(column): frame[column] for column in column_names(frame)}


def _cells(columns: dict[str, Any], names: Sequence[str]) -> NDArray[np.object_]:
    read = [_texts(name, columns[name]) for name in names]
    if len({len(column) for column in read}) > 1:
        raise ValueError("the columns have different numbers of rows")
    if not read[0]:
        raise ValueError("there are no rows: give at least one pair of records")
    cells = np.empty((len(read[0]), len(read)), dtype=object)
    for number, column in enumerate(read):
        cells[:, number] = column
    return cells


def _texts(name: str, column: Any) -> list[str]:
    given = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return [_text(name, row, value) for row, value in enumerate(given)]


def _text(name: str, row: int, value: Any) -> str:
    if isinstance(value, str):
        return value.replace(CELL_END, " ")
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{float(value):.15g}"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, int | np.integer | np.bool_ | Decimal):
        return str(value)
    raise TypeError(
        f"column {name!r}, row {row} is {value!r:.60} ({type(value).__name__}): give texts, "
        "numbers or dates"
    )


def _named(names: Any) -> str:
    shown = [repr(str(name)[:60]) for name in list(names)[:8]]
    return ", ".join(shown) + (", ..." if len(names) > 8 else "")

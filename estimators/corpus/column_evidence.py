"""Compare records column by column, without labels."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.process import cpdist

from estimators.corpus.text_space import TextSpace, row_products
from estimators.inputs import CELL_END, as_texts, distinct_texts
from estimators.persistence import savable
from film.compare import (
    GIVEN_NAMES,
    MEASURED,
    agreement_levels,
    are_names,
    comparable_cell,
    is_day_first,
    name_difference,
    name_reason,
    natural_order,
    number_agreement,
    parsed,
    role_of_names,
    same_values,
    with_usual_words,
)
from film.text import normalize_text

MOST_OF_ROLE = 1000
"""Texts to which `role_of_texts` looks."""

_MOST_STATES = 20
"""Number of different texts up to which a column may hold states or sources of records."""
_OWN_VALUES = 0.9
"""Different values per given cell from which on a column holds keys or times of the rows."""
_SAME_VALUES = 0.5
"""Share of the different values of two columns that both have, as two places of a trip do."""
_DAYS_OF_BIRTHS = 40 * 365
"""Days that dates of birth span at least, without the first and the last tenth of them."""


class PairedCells(NamedTuple):
    """The cells of pairs of records.

    Attributes
    ----------
    first, second : sequence of str
        The records of each pair.
    columns : tuple of (list of str, ndarray of int, ndarray of int)
        For each column: its distinct cells; the distinct pairs of cells, as numbers of cells,
        (n, 2); and for each pair of records, the number of its pair of cells, (n_pairs,).
    """

    first: Sequence[str]
    second: Sequence[str]
    columns: tuple[tuple[list[str], np.ndarray, np.ndarray], ...]


@savable
class ColumnEvidence:
    """Levels of agreement of pairs of records, by column.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns, in the order of the cells.
    kinds : dict of str to str
        Kind of each column to compare, one of `film.compare.COLUMN_KINDS`.
    records : sequence of str
        All records of a table, or of two: cells are separated by U+001F.

    Attributes
    ----------
    has_many_texts : list of bool
        Whether each column holds texts, of which over 20 differ, as names do and states do not.
    may_say_nothing : list of bool
        Whether each column may be left out (`film.judge.uninformative_columns`): dates, and keys,
        of which rows share few. Sizes or accounts tell variants apart, of which a table may have
        more than duplicates.
    """

    def __init__(
        self, columns: tuple[str, ...], kinds: dict[str, str], records: Sequence[str]
    ) -> None:
        self.kinds = kinds
        self.n_records = len(records)
        self._places = [columns.index(name) for name in kinds]
        self._counts: list[dict[str, int]] = []
        self._day_first: list[bool] = []
        self._are_births: list[bool] = []
        self._are_names: list[bool] = []
        self._roles: list[str] = []
        self.has_many_texts: list[bool] = []
        self.may_say_nothing: list[bool] = []
        cells = cells_by_column(records)
        for place, kind in zip(self._places, kinds.values(), strict=True):
            counts: Counter[str] = Counter()
            if kind not in MEASURED:
                for cell, n_cells in Counter(cells[place]).items():
                    counts.update(dict.fromkeys(normalize_text(cell).split(), n_cells))
            self._counts.append(dict(counts))
            self._day_first.append(kind == "date" and is_day_first(cells[place]))
            self._are_births.append(
                kind == "date" and _are_births(parsed(cells[place], kind, self._day_first[-1]))
            )
            written = {cell: comparable_cell(cell, kind) for cell in dict.fromkeys(cells[place])}
            # Misspelt names are rare, but most of the different ones.
            role = ""
            if kind == "text":
                named = {cell: as_name(cell, "first") for cell in written}
                role = role_of_names([named[cell] for cell in cells[place]])
            self._roles.append(role)
            self._are_names.append(
                kind == "text" and (role != "" or are_names([*written.values()]))
            )
            self.has_many_texts.append(kind == "text" and len(written) > _MOST_STATES)
            n_given = sum(map(bool, cells[place]))
            are_keys = len(written) >= _OWN_VALUES * n_given and not self.has_many_texts[-1]
            self.may_say_nothing.append(kind == "date" or are_keys)
        self._find_people(cells)
        self._crossing = [*self._columns_of_same_values(cells)]

    def _find_people(self, cells: Sequence[Sequence[str]]) -> None:
        """Let only the first column, or both parts of a name in the first two, be of people.

        Other columns name an author, a doctor or a clerk, who may differ in rows of one record.
        """
        leading = [n for n, role in enumerate(self._roles) if role or self.has_many_texts[n]][:2]
        roles = [self._roles[number] for number in leading]
        people: dict[int, str] = {}
        if roles and roles[0] in GIVEN_NAMES:
            people[leading[0]] = roles[0]
        if "all" in roles and len(roles) == 2:
            given = roles.index("all")
            family = [
                words for cell in cells[self._places[leading[1 - given]]] if (words := cell.split())
            ]
            if 2 * sum(len(words) == 1 for words in family) > len(family):
                people = {leading[given]: "all", leading[1 - given]: "family"}
        for number, role in enumerate(self._roles):
            if role in GIVEN_NAMES or number in people:
                self._roles[number] = people.get(number, "")

    def _columns_of_same_values(self, cells: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
        """Yield pairs of columns that hold the same values, such as both places of a trip.

        Names of people are none: given and family names are often exchanged by mistake.
        """
        kinds = list(self.kinds.values())
        values = {
            number: set(map(normalize_text, cells[place])) - {""}
            for number, place in enumerate(self._places)
            if kinds[number] not in MEASURED and not self._roles[number]
        }
        for a, b in itertools.combinations(values, 2):
            n_shared = len(values[a] & values[b])
            if n_shared > 1 and n_shared >= _SAME_VALUES * max(len(values[a]), len(values[b])):
                yield a, b

    def check_state(self) -> None:
        """Compare names as other text, if an earlier version saved this."""
        vars(self).setdefault("may_say_nothing", [True] * len(self.kinds))
        vars(self).setdefault("_crossing", [])
        vars(self).setdefault("_are_names", [False] * len(self.kinds))
        vars(self).setdefault("_roles", [""] * len(self.kinds))
        vars(self).setdefault("_are_births", [False] * len(self.kinds))
        vars(self).setdefault("has_many_texts", [False] * len(self.kinds))

    def paired(self, first: Sequence[str], second: Sequence[str]) -> PairedCells:
        """Return the cells of pairs of records, by column."""
        return PairedCells(first, second, tuple(self._pairs_of_cells(first, second)))

    def written_alike(self, paired: PairedCells) -> tuple[Sequence[str], Sequence[str]]:
        """Return pairs of records in which the same values of a column are written alike.

        Points are left out: their digits differ at nearly equal places too.
        """
        kinds = list(self.kinds.values())
        points = {place for place, kind in zip(self._places, kinds, strict=True) if kind == "point"}
        changed: dict[int, list[tuple[int, str]]] = {}
        for number, (cells, pairs, pair_of) in enumerate(paired.columns):
            other = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
            same = np.zeros(len(pairs), dtype=bool)
            same[other] = same_values(cells, pairs[other], kinds[number], self._day_first[number])
            for row in np.flatnonzero(same[pair_of]).tolist() if same.any() else ():
                written = cells[pairs[pair_of[row]].min()]
                changed.setdefault(row, []).append((self._places[number], written))
        if not points and not changed:
            return paired.first, paired.second
        found: list[list[str]] = []
        for side in (paired.first, paired.second):
            records = list(side)
            for row in range(len(records)) if points else changed:
                cells = records[row].split(CELL_END)
                for place, cell in changed.get(row, ()):
                    cells[place] = cell
                for place in points:
                    cells[place] = ""
                records[row] = CELL_END.join(cells)
            found.append(records)
        return found[0], found[1]

    def levels(self, space: TextSpace, paired: PairedCells) -> np.ndarray:
        """Return the levels of agreement of pairs of records, (n_pairs, n_columns).

        Texts are compared in the space of the joined texts, and by their sorted letters.
        """
        found = np.empty((len(paired.first), len(self.kinds)), dtype=np.intp)
        for number, (cells, pairs, pair_of) in enumerate(paired.columns):
            found[:, number] = self._of_cells(number, cells, pairs, space)[pair_of]
        return found

    def differences(self, paired: PairedCells) -> np.ndarray:
        """Return in what names and addresses of pairs of records differ that are not the same.

        Values of `film.compare.name_difference` as an object array, (n_pairs, n_columns), with
        "alias" instead of "name" if both were born on the same day, and "order" for values that two
        columns of equal values exchange, such as both places of a trip.
        """
        first, second = paired.first, paired.second
        found = np.full((len(first), len(self.kinds)), "", dtype=object)
        born_alike = np.zeros(len(first), dtype=bool)
        words = functools.cache(normalize_text)
        for number, (cells, pairs, pair_of) in enumerate(paired.columns):
            if self._are_births[number]:
                a, b = parsed(cells, "date", self._day_first[number])[pairs].T
                born_alike |= (a == b)[pair_of]
            role = self._roles[number]
            if not role:
                continue
            written = [as_name(cell, role) for cell in cells]
            both = [(written[a], written[b]) for a, b in pairs.tolist()]
            differ = np.array([name_difference(a, b, role) for a, b in both], dtype=object)
            found[:, number] = differ[pair_of]
            if role not in GIVEN_NAMES:
                continue
            for row in np.flatnonzero(found[:, number] == "name").tolist():
                # A given name may be in another column of the other record.
                elsewhere = words(first[row]), words(second[row])
                found[row, number] = name_difference(*both[int(pair_of[row])], role, elsewhere)
        found[(found == "name") & born_alike[:, None]] = "alias"
        for left, right in self._crossing if len(first) else ():
            (a, b), (c, d) = (
                [
                    np.array(
                        [words(record.split(CELL_END)[self._places[number]]) for record in side]
                    )
                    for number in (left, right)
                ]
                for side in (first, second)
            )
            found[(a == d) & (b == c) & (a != b), left] = "order"
        return found

    def reasons(self, first: Sequence[str], second: Sequence[str]) -> list[dict[str, str]]:
        """Say for each pair, by column, how names and addresses differ that are not the same."""
        found: list[dict[str, str]] = [{} for _ in first]
        differences = self.differences(self.paired(first, second))
        for row, number in np.argwhere(differences != "").tolist():
            both = first[row], second[row]
            if differences[row, number] == "order":
                found[row][list(self.kinds)[number]] = "exchanged with another column"
                continue
            a, b = (
                as_name(record.split(CELL_END)[self._places[number]], self._roles[number])
                for record in both
            )
            elsewhere = normalize_text(both[0]), normalize_text(both[1])
            reason = name_reason(a, b, self._roles[number], elsewhere)
            born = ", born on the same day" if differences[row, number] == "alias" else ""
            found[row][list(self.kinds)[number]] = reason + born
        return found

    def _pairs_of_cells(
        self, first: Sequence[str], second: Sequence[str]
    ) -> Iterator[tuple[list[str], np.ndarray, np.ndarray]]:
        """Yield the entry of each column in `PairedCells.columns`."""
        records, codes = distinct_texts(
            np.column_stack([as_texts(list(side)) for side in (first, second)])
        )
        columns = cells_by_column(records)
        for place in self._places:
            cells, cell_of = distinct_texts(as_texts(columns[place] if columns else []))
            # Distinct numbers are several times faster than distinct rows.
            keys, pair_of = np.unique(cell_of[codes] @ [len(cells), 1], return_inverse=True)
            pair_of = pair_of.astype(np.int32)
            yield cells, np.column_stack(np.divmod(keys, len(cells))), pair_of

    def _of_cells(
        self, number: int, cells: list[str], pairs: np.ndarray, space: TextSpace
    ) -> np.ndarray:
        kind = list(self.kinds.values())[number]
        if kind in MEASURED:
            values = parsed(cells, kind, self._day_first[number])
            a, b = values[pairs].T
            return number_agreement(a, b, np.isnan(values[pairs]).sum(axis=1), kind)
        written = [comparable_cell(cell, kind) for cell in cells]
        if self._are_names[number]:
            written = [with_usual_words(cell) for cell in written]
        n_missing = np.array([not cell for cell in written])[pairs].sum(axis=1)
        words, letters = (row_products(rows, rows, pairs) for rows in space.parts(written))
        a, b = as_texts(written)[pairs].T.tolist()
        ordered = cpdist(a, b, scorer=fuzz.token_sort_ratio) / 100
        similarity = np.maximum(words, (letters + ordered) / 2)
        information = self._information(number, cells)[pairs].min(axis=1)
        return agreement_levels(similarity, information, n_missing)

    def _information(self, number: int, cells: list[str]) -> np.ndarray:
        """Return the information of cells, in units of that of a word that one record has."""
        counts, most = self._counts[number], np.log(max(2, self.n_records))
        return np.array(
            [
                sum(
                    1 - np.log(counts.get(word, 1)) / most
                    for word in sorted(set(normalize_text(cell).split()))
                )
                for cell in cells
            ]
        )


def role_of_texts(texts: Sequence[str]) -> str:
    """Return what most texts are: names of people or companies, addresses; empty if neither."""
    some = texts[:: max(1, len(texts) // MOST_OF_ROLE)]
    return role_of_names([as_name(text, "first") for text in some])


def as_name(cell: str, role: str) -> str:
    """Write a cell as `film.compare.name_difference` takes it."""
    # Columns of role "last" have the family name first in every cell.
    return comparable_cell(natural_order(cell) if role == "first" else cell, "text")


def _are_births(days: np.ndarray) -> bool:
    known = days[~np.isnan(days)]
    return bool(len(known)) and np.ptp(np.quantile(known, [0.1, 0.9])) >= _DAYS_OF_BIRTHS


def cells_by_column(records: Sequence[str]) -> list[list[str]]:
    """Return the cells of each column, from records whose cells are separated by U+001F."""
    return [
        list(column) for column in zip(*(record.split(CELL_END) for record in records), strict=True)
    ]


def only_columns(records: Sequence[str], columns: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Return records that have only some of their columns."""
    places = [list(columns).index(name) for name in kept]
    cells = (record.split(CELL_END) for record in records)
    return [CELL_END.join(row[place] for place in places) for row in cells]


def given_in_both(first: str, second: str) -> tuple[str, str]:
    """Return two records with only the cells that both give."""
    both = zip(first.split(CELL_END), second.split(CELL_END), strict=True)
    kept = [(a, b) if a.strip() and b.strip() else ("", "") for a, b in both]
    return CELL_END.join(a for a, _ in kept), CELL_END.join(b for _, b in kept)

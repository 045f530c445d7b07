"""Results of a duplicate finder: pairs, groups, and rows close to a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimators.corpus.general_scores import AgreementScores
from estimators.inputs import CELL_END, column_names, is_missing
from film.judge import ExpectedPrecision


class _Table:
    """A result that can be converted to a table."""

    def rows(self) -> list[dict[str, Any]]:
        """Return the result as a list of dictionaries, one per row of the table."""
        raise NotImplementedError

    def _columns(self) -> list[str]:
        """Return the keys of each row, also for an empty table."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the result as a pandas DataFrame."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_frame() needs pandas: pip install pandas, or use rows()"
            ) from error
        return pandas.DataFrame(self.rows(), columns=self._columns())


@dataclass(frozen=True, eq=False)
class PairedRecords:
    """Both records of each pair, column by column.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.
    texts : ndarray of object, shape (n, 2)
        Records as texts, whose cells are separated by U+001F.
    agreement : AgreementScores or None
        What columns add to general scores; None with a classifier.
    """

    columns: tuple[str, ...]
    texts: np.ndarray
    agreement: AgreementScores | None = None

    def cells(self) -> np.ndarray:
        """Return the cells, an array of object of shape (n, 2, n_columns)."""
        split = [text.split(CELL_END) for text in self.texts.ravel().tolist()]
        return np.array(split, dtype=object).reshape(-1, 2, len(self.columns))

    def effects(self) -> dict[str, np.ndarray]:
        """Return what each column adds to the log-odds of each pair; empty with a classifier."""
        return {} if self.agreement is None else self.agreement.of_columns(*self.texts.T.tolist())


@dataclass(frozen=True, eq=False, repr=False)
class DuplicatePairs(_Table):
    """Pairs of rows that may be duplicates, by decreasing score.

    Attributes
    ----------
    pairs : ndarray of int, shape (n, 2)
        Row positions, the lower one first; in `DuplicateFinder.match`, the new row first.
    scores : ndarray of float64, shape (n,)
        Scores in [0, 1].
    ids : ndarray of object, shape (n, 2)
        Ids of the rows.
    texts : ndarray of object, shape (n, 2)
        Texts of the rows.
    kind : ndarray of object, shape (n,)
        "copy" if the texts are equal by `film.text.copy_key`. Without classifier and embedder,
        "spelling" if they differ in spelling or format only, or "differs in number", "code",
        "unit", "negation", "opposite", "choice" (a colour, a day) or "order", if little else
        differs (`film.judge.pair_kinds`). Records differ in a "name" or "number" too if columns
        of names and addresses tell so (`film.compare.name_difference`). With an embedder,
        "indistinct" if their vectors are equal. Otherwise "similar".
    score_name : str
        "score"; "similarity" with an embedder, or "probability" with a classifier.
    index : str
        How neighbours were searched: "exact", "rare terms" or "cells".
    recall : float
        Share of the nearest neighbours that the search found, estimated on a sample; 1 if exact.
    prior : float or None
        Share of duplicates among candidate pairs for which the probabilities are calibrated.
    n_cut : int
        Number of unique texts that may have further pairs with equally high scores, because
        200,000 further candidates had been searched.
    threshold : float
        Lowest score that was given or estimated; 0 with a budget.
    expected : ExpectedPrecision or None
        Estimated precision and recall by threshold, if the threshold was estimated (for general
        scores). Copies do not count.
    n_ties : int
        With ``one_to_one``, the number of pairs whose rows have another pair of the same score.
    records : PairedRecords or None
        Cells and the effects of columns, if the rows are records.
    is_by_group : bool
        Whether all pairs of rows of one group are listed, also below the threshold.
    """

    pairs: np.ndarray
    scores: np.ndarray
    ids: np.ndarray
    texts: np.ndarray
    kind: np.ndarray
    score_name: str
    index: str
    recall: float
    prior: float | None
    n_cut: int
    threshold: float = 0.0
    expected: ExpectedPrecision | None = None
    n_ties: int = 0
    records: PairedRecords | None = None
    is_by_group: bool = False

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"<DuplicatePairs: {len(self)} pairs by {self.score_name}, {self.index} index>"

    def names_of_sides(self) -> list[str]:
        """Return text1 and text2, or of records left_name, right_name and so on for each column."""
        if self.records is None:
            return ["text1", "text2"]
        return [f"{side}_{name}" for name in self.records.columns for side in ("left", "right")]

    def sides(self) -> list[list[str]]:
        """Return both texts of each pair, or both cells of each column, side by side."""
        if self.records is None:
            return self.texts.tolist()
        cells = self.records.cells().transpose(0, 2, 1)
        return cells.reshape(-1, 2 * len(self.records.columns)).tolist()

    def _columns(self) -> list[str]:
        return ["id1", "id2", self.score_name, "kind", *self.names_of_sides()]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per pair: id1, id2, score, kind, and both sides.

        They are text1 and text2, or of records left_name, right_name and so on for each column.
        """
        names = self._columns()
        ids, scores, kinds = self.ids.tolist(), self.scores.tolist(), self.kind.tolist()
        return [
            dict(zip(names, (*both, score, kind, *sides), strict=True))
            for both, score, kind, sides in zip(ids, scores, kinds, self.sides(), strict=True)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class DuplicateGroup:
    """Rows that mean the same.

    Attributes
    ----------
    members : ndarray of int, shape (size,)
        Row positions, ascending.
    ids, texts : ndarray of object, shape (size,)
        Ids and texts of the rows.
    score : float
        Link at which the last two parts of the group were merged; 1 if all rows are exact copies or
        known to belong together.
    weakest_pair : tuple of int
        Rows of the two texts with the lowest score.
    weakest_score : float
        Their score.
    n_unscored : int
        Number of pairs of texts in the group without a score, which count as 0 in links. See
        `DuplicateGroups.n_incomplete`.
    """

    members: np.ndarray
    ids: np.ndarray
    texts: np.ndarray
    score: float
    weakest_pair: tuple[int, int]
    weakest_score: float
    n_unscored: int

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.members)

    def __repr__(self) -> str:
        return f"<DuplicateGroup of {self.size}, score {self.score:.3f}: {self.texts[0]!r}, …>"


@dataclass(frozen=True, eq=False, repr=False)
class DuplicateGroups(_Table):
    """Groups of at least two rows, by decreasing score; a sequence of `DuplicateGroup`.

    Attributes
    ----------
    groups : list of DuplicateGroup
        Sorted by decreasing score, then by decreasing size.
    labels : ndarray of int, shape (n_rows,)
        Position in ``groups`` of each row's group, −1 for rows without a group.
    numbers : ndarray of int, shape (n_groups,)
        Number of each group: its position, unless groups were remembered
        (`DuplicateFinder.remember_groups`).
    renumbered : dict of int to int
        For each remembered number that did not stay, because groups were merged, the number of the
        group now.
    merges : ndarray of float64, shape (n_merges, 3)
        Node, node, score, by decreasing score: `film.corpus.cut(merges, n_rows, t)` returns the
        groups at any higher threshold t.
    threshold : float
        Lowest score of a merge.
    linkage : str
        "average" or "complete".
    score_name, index, recall, prior, n_cut, expected
        As in `DuplicatePairs`.
    n_incomplete : int
        Number of unique texts in connected parts that were too large to compare all pairs, where
        pairs that are not candidates count as 0: more than 1000 texts connected by pairs at or
        above the threshold, or parts left over after a million further pairs.
    """

    groups: list[DuplicateGroup]
    labels: np.ndarray
    merges: np.ndarray
    threshold: float
    linkage: str
    score_name: str
    index: str
    recall: float
    prior: float | None
    n_cut: int
    n_incomplete: int
    numbers: np.ndarray
    renumbered: dict[int, int]
    expected: ExpectedPrecision | None = None

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, position: int) -> DuplicateGroup:
        return self.groups[position]

    def __iter__(self) -> Iterator[DuplicateGroup]:
        return iter(self.groups)

    def __repr__(self) -> str:
        n_rows = int((self.labels >= 0).sum())
        return (
            f"<DuplicateGroups: {len(self)} groups of {n_rows} rows, {self.linkage} "
            f"{self.score_name} from {self.threshold:g}>"
        )

    def keep(self, rule: str | Sequence[Any] = "first") -> np.ndarray:
        """Choose one row of each group.

        Parameters
        ----------
        rule : {"first", "longest"} or sequence of shape (n_rows,), default="first"
            The first row, the row with the most characters, or the row with the largest value; the
            first of equal ones.

        Returns
        -------
        kept : ndarray of int, shape (n_rows,)
            The row kept for each row: itself if it is kept or in no group.

        Raises
        ------
        ValueError
            If the rule is unknown, or the number of values differs from the number of rows.
        """
        if isinstance(rule, str) and rule not in ("first", "longest"):
            raise ValueError(
                f"rule={rule!r} must be 'first', 'longest' or one value per row, the largest kept"
            )
        if not isinstance(rule, str) and len(rule) != len(self.labels):
            raise ValueError(
                f"rule has {len(rule)} values for {len(self.labels)} rows; give one per row"
            )
        kept = np.arange(len(self.labels))
        for group in self.groups:
            best = 0
            if isinstance(rule, str) and rule == "longest":
                best = max(range(group.size), key=lambda place: len(group.texts[place]))
            elif not isinstance(rule, str):
                values = [rule[row] for row in group.members.tolist()]
                best = max(range(group.size), key=values.__getitem__)
            kept[group.members] = group.members[best]
        return kept

    def golden(self, table: Any) -> tuple[dict[str, list[Any]], list[list[int]]]:
        """Merge the rows of each group into one row, and keep other rows unchanged.

        Parameters
        ----------
        table : frame or mapping of str to sequence
            Columns of n_rows values each: any columns, compared or not.

        Returns
        -------
        columns : dict of str to list
            One value per group or other row, in the order of first rows: the most frequent value
            of the group that is not missing; on a tie the longest, and then the first. None, NaN
            and blank texts are missing.
        sources : list of list of int
            The rows that were merged into each row.

        Raises
        ------
        ValueError
            If the number of values differs from the number of rows.

        Examples
        --------
        >>> from estimators import DuplicateFinder
        >>> people = {"name": ["Ann Lee", "Lee, Ann", "Bo"], "town": ["", "Ulm", "Bonn"]}
        >>> groups = DuplicateFinder(compare=["name"]).fit(people).groups(threshold=0.5)
        >>> groups.golden(people)
        ({'name': ['Lee, Ann', 'Bo'], 'town': ['Ulm', 'Bonn']}, [[0, 1], [2]])
        """
        sources: dict[int, list[int]] = {}
        for row, kept in enumerate(self.keep().tolist()):
            sources.setdefault(kept, []).append(row)
        columns = {}
        for name in column_names(table):
            values = list(table[name])
            if len(values) != len(self.labels):
                raise ValueError(
                    f"column {name!r} has {len(values)} values for {len(self.labels)} rows; give "
                    "the table that was fitted"
                )
            columns[name] = [_usual([values[row] for row in rows]) for rows in sources.values()]
        return columns, list(sources.values())

    def _columns(self) -> list[str]:
        return ["group", "size", self.score_name, "weakest", "row", "id", "text"]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per member: group, size, score, weakest, row, id, text."""
        return [
            {
                "group": number,
                "size": group.size,
                self.score_name: group.score,
                "weakest": group.weakest_score,
                "row": row,
                "id": name,
                "text": text,
            }
            for number, group in zip(self.numbers.tolist(), self.groups, strict=True)
            for row, name, text in zip(
                group.members.tolist(), group.ids.tolist(), group.texts.tolist(), strict=True
            )
        ]


def _usual(values: list[Any]) -> Any:
    """Return the most frequent value, on a tie the longest; a missing one if all are missing."""
    told = [value for value in values if not is_missing(value) and str(value).strip()]
    counts = Counter(map(str, told))
    return max(told, key=lambda value: (counts[str(value)], len(str(value))), default=values[0])


@dataclass(frozen=True, eq=False, repr=False)
class Matches(_Table):
    """Rows closest to a query, by decreasing score.

    Attributes
    ----------
    members : ndarray of int, shape (n,)
        Row positions.
    scores : ndarray of float64, shape (n,)
        Scores in [0, 1].
    ids, texts, kind : ndarray of object, shape (n,)
        As in `DuplicatePairs`.
    score_name : str
        "similarity" or "probability".
    """

    members: np.ndarray
    scores: np.ndarray
    ids: np.ndarray
    texts: np.ndarray
    kind: np.ndarray
    score_name: str

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        return f"<Matches: {len(self)} rows by {self.score_name}>"

    def _columns(self) -> list[str]:
        return ["row", "id", self.score_name, "kind", "text"]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per row: row, id, score, kind, text."""
        return [
            {"row": row, "id": name, self.score_name: score, "kind": kind, "text": text}
            for row, name, score, kind, text in zip(
                self.members.tolist(),
                self.ids.tolist(),
                self.scores.tolist(),
                self.kind.tolist(),
                self.texts.tolist(),
                strict=True,
            )
        ]

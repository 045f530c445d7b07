"""What a duplicate finder answers: pairs, groups, and rows near a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


class _Table:
    """A result that can be read as a table."""

    def rows(self) -> list[dict[str, Any]]:
        """Give the result as a list of dictionaries, one per row of the table."""
        raise NotImplementedError

    def _columns(self) -> list[str]:
        """Name the keys of each row, which an empty table has too."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Give the result as a pandas DataFrame."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_frame() needs pandas: pip install pandas, or use rows()"
            ) from error
        return pandas.DataFrame(self.rows(), columns=self._columns())


@dataclass(frozen=True, eq=False, repr=False)
class DuplicatePairs(_Table):
    """Pairs of rows that may be duplicates, the best-scored first.

    Attributes
    ----------
    pairs : ndarray of int, shape (n, 2)
        Row positions, the lower one first; from `DuplicateFinder.match`, the new row first.
    scores : ndarray of float64, shape (n,)
        In [0, 1].
    ids : ndarray of object, shape (n, 2)
        Ids of the rows.
    texts : ndarray of object, shape (n, 2)
        Their texts.
    kind : ndarray of object, shape (n,)
        "copy" where the texts are equal by `film.text.copy_key`; "indistinct" where they differ,
        but the similarity cannot see how, since their vectors are equal; else "similar".
    score_name : str
        "similarity", or "probability" where a classifier scored.
    index : str
        How neighbours were searched: "exact", or the name of the library.
    recall : float
        Share of the nearest neighbours that the index found, measured on a sample; 1 if exact.
    prior : float or None
        Share of duplicates among candidate pairs that probabilities hold at.
    n_cut : int
        Different texts that may have more pairs as good as these: their candidates stopped growing
        when 200,000 had been looked up besides the first.
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

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"<DuplicatePairs: {len(self)} pairs by {self.score_name}, {self.index} index>"

    def _columns(self) -> list[str]:
        return ["id1", "id2", self.score_name, "kind", "text1", "text2"]

    def rows(self) -> list[dict[str, Any]]:
        """Give one dictionary per pair: id1, id2, score, kind, text1, text2."""
        return [
            {"id1": a, "id2": b, self.score_name: score, "kind": kind, "text1": s, "text2": t}
            for (a, b), score, kind, (s, t) in zip(
                self.ids.tolist(),
                self.scores.tolist(),
                self.kind.tolist(),
                self.texts.tolist(),
                strict=True,
            )
        ]


@dataclass(frozen=True, eq=False, repr=False)
class DuplicateGroup:
    """Rows that mean the same.

    Attributes
    ----------
    members : ndarray of int, shape (size,)
        Row positions, rising.
    ids, texts : ndarray of object, shape (size,)
        Their ids and texts.
    score : float
        Link at which the last two parts of the group were merged; 1 for exact copies.
    weakest_pair : tuple of int
        The rows of the two texts with the lowest score of their own.
    weakest_score : float
        Their score.
    n_unscored : int
        Pairs of different texts in the group that have no score; they count as 0 in links. See
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
    """Groups of two rows or more, the best-scored first; a sequence of `DuplicateGroup`.

    Attributes
    ----------
    groups : list of DuplicateGroup
        Sorted by falling score, then by falling size.
    labels : ndarray of int, shape (n_rows,)
        Position in ``groups`` of each row's group, −1 where it has none.
    merges : ndarray of float64, shape (n_merges, 3)
        Node, node, score, falling to the threshold: `film.corpus.cut(merges, n_rows, t)` gives
        the groups at any t above it.
    threshold : float
        Lowest score of a merge.
    linkage : str
        "average" or "complete".
    score_name, index, recall, prior, n_cut
        As in `DuplicatePairs`.
    n_incomplete : int
        Different texts in parts too large to compare each text with all others, where a pair that
        is no candidate counts as 0: more than 1000 texts connected by pairs of at least the
        threshold, or what is left when a million pairs were added.
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
            The first row, the one with the most characters, or the one with the largest value.
            Of equal ones the first.

        Returns
        -------
        kept : ndarray of int, shape (n_rows,)
            The row that stands for each row; itself where it is kept or in no group.

        Raises
        ------
        ValueError
            If the rule is unknown, or there is not one value per row.
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

    def _columns(self) -> list[str]:
        return ["group", "size", self.score_name, "weakest", "row", "id", "text"]

    def rows(self) -> list[dict[str, Any]]:
        """Give one dictionary per member: group, size, score, weakest, row, id, text."""
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
            for number, group in enumerate(self.groups)
            for row, name, text in zip(
                group.members.tolist(), group.ids.tolist(), group.texts.tolist(), strict=True
            )
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Matches(_Table):
    """Rows nearest to a query, the best-scored first.

    Attributes
    ----------
    members : ndarray of int, shape (n,)
        Row positions.
    scores : ndarray of float64, shape (n,)
        In [0, 1].
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
        """Give one dictionary per row: row, id, score, kind, text."""
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

"""Datasets of sentence pairs, and the list of sentences excluded from training."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from film.datasets.formats.lines import sound_lines, wrong_line
from film.text import text_hash

_HASH = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, eq=False)
class QuestionPairs:
    """Question pairs with labels.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2), dtype object
        The two questions of each pair, as `str`.
    y : ndarray of shape (n,), dtype int, or None
        1 for duplicates, 0 for others; None if the source has no labels.
    ids : ndarray of shape (n,), dtype object
        The name of each pair, as `str`; the ``test_id`` of a submission.
    n_skipped : int, default=0
        Number of invalid rows that were left out.
    skipped : tuple of (int, str), default=()
        Line number, from 1, and reason of each row left out.

    Raises
    ------
    ValueError
        If lengths or shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([["Is tea hot?", "Is tea warm?"]], dtype=object)
    >>> data = QuestionPairs(pairs, y=np.array([1]), ids=np.array(["0"], dtype=object))
    >>> len(data), data.n_skipped
    (1, 0)
    """

    pairs: np.ndarray
    y: np.ndarray | None
    ids: np.ndarray
    n_skipped: int = 0
    skipped: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        """Reject arrays that do not describe the same n pairs."""
        _check_shapes(self.pairs, y=self.y, ids=self.ids)
        if self.n_skipped != len(self.skipped):
            raise ValueError(
                f"n_skipped is {self.n_skipped}, but skipped lists {len(self.skipped)} rows"
            )

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Sentence pairs with graded similarity.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2), dtype object
        The two sentences of each pair, as `str`.
    scores : ndarray of shape (n,), dtype float64
        Similarity from 0, unrelated, to 5, equivalent; in SICK from 1.
    genres : ndarray of shape (n,), dtype object
        The genre of each pair, such as ``"main-captions"``, or its subset.

    Raises
    ------
    ValueError
        If lengths or shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([["A man sings.", "A man is singing."]], dtype=object)
    >>> data = ScoredPairs(pairs, np.array([4.8]), np.array(["captions"], dtype=object))
    >>> len(data), float(data.scores[0])
    (1, 4.8)
    """

    pairs: np.ndarray
    scores: np.ndarray
    genres: np.ndarray

    def __post_init__(self) -> None:
        """Reject arrays that do not describe the same n pairs."""
        _check_shapes(self.pairs, scores=self.scores, genres=self.genres)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Sentence pairs with named relations.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2), dtype object
        Premise and hypothesis of each pair, as `str`.
    labels : ndarray of shape (n,), dtype object
        ``"contradiction"``, ``"entailment"`` or ``"neutral"``.
    n_skipped : int, default=0
        Number of rows left out because annotators disagreed or a sentence is missing.

    Raises
    ------
    ValueError
        If lengths or shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([["A man sings.", "Nobody sings."]], dtype=object)
    >>> data = LabelledPairs(pairs, np.array(["contradiction"], dtype=object), n_skipped=2)
    >>> len(data), data.labels[0]
    (1, 'contradiction')
    """

    pairs: np.ndarray
    labels: np.ndarray
    n_skipped: int = 0

    def __post_init__(self) -> None:
        """Reject arrays that do not describe the same n pairs."""
        _check_shapes(self.pairs, labels=self.labels)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)


_Pairs = TypeVar("_Pairs", QuestionPairs, ScoredPairs, LabelledPairs)


def read_excluded(path: str | os.PathLike[str]) -> frozenset[str]:
    r"""Read the list of sentences that are excluded from training and model selection.

    Parameters
    ----------
    path : str or path-like
        A file with one `film.text.text_hash` per line; blank lines are skipped.

    Returns
    -------
    excluded : frozenset of str
        The 16-digit hashes.

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ValueError
        If a line is not 16 hexadecimal digits; the message names the first one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "exclude.txt"
    >>> _ = path.write_text("aed7b9613b8c8ba9\n")
    >>> read_excluded(path)
    frozenset({'aed7b9613b8c8ba9'})
    >>> folder.cleanup()
    """
    hashes = set()
    for line in sound_lines(path):
        digits = line.text.strip().lower()
        if digits and not _HASH.fullmatch(digits):
            reason = (
                f"{digits[:60]!r} is not a hash of 16 hexadecimal digits; give one "
                "film.text.text_hash per line"
            )
            raise wrong_line(path, line.number, reason)
        hashes.add(digits)
    return frozenset(hashes - {""})


def drop_excluded(data: _Pairs, excluded: Collection[str]) -> tuple[_Pairs, int]:
    """Remove pairs that contain an excluded sentence.

    Parameters
    ----------
    data : QuestionPairs, ScoredPairs or LabelledPairs
        The pairs.
    excluded : collection of str
        Hashes from `read_excluded`; use a set for speed.

    Returns
    -------
    kept : QuestionPairs, ScoredPairs or LabelledPairs
        The other pairs in order; fields that are not per pair are unchanged.
    n_dropped : int
        Number of pairs removed.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([["A man is playing a guitar.", "Hi"], ["Hi", "Hello"]], dtype=object)
    >>> data = QuestionPairs(pairs, y=None, ids=np.array(["7", "8"], dtype=object))
    >>> kept, n_dropped = drop_excluded(data, {"aed7b9613b8c8ba9"})
    >>> kept.ids.tolist(), n_dropped
    (['8'], 1)
    """
    keep = np.array(
        [
            text_hash(first) not in excluded and text_hash(second) not in excluded
            for first, second in data.pairs
        ],
        dtype=bool,
    )
    values = {field.name: getattr(data, field.name) for field in fields(data)}
    kept = {name: each[keep] for name, each in values.items() if isinstance(each, np.ndarray)}
    return replace(data, **kept), int(len(keep) - keep.sum())


def _check_shapes(pairs: np.ndarray, **columns: np.ndarray | None) -> None:
    """Raise unless there are n pairs and every given column has n values."""
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"pairs must have shape (n, 2), got {pairs.shape}")
    for name, values in columns.items():
        if values is not None and values.shape != (len(pairs),):
            raise ValueError(
                f"{name} must have shape ({len(pairs)},) like pairs, got {values.shape}"
            )

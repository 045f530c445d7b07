"""Triplets of sentences from sections of Wikipedia: reader and score."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.datasets.formats.lines import read_lines
from film.datasets.formats.tables import read_table

_COLUMNS = (("Sentence1",), ("Sentence2",), ("Sentence3",))


def read_sections(path: str | os.PathLike[str]) -> NDArray[np.object_]:
    r"""Read a file of the Wikipedia sections triplets, such as ``test.csv``.

    Commas part the cells, quotation marks hold them together, and the header names the columns
    Sentence1, Sentence2 and Sentence3; other columns are passed over. A byte order mark, Windows
    line ends and compression by gzip are accepted.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file.

    Returns
    -------
    triplets : ndarray of shape (n, 3), dtype object
        Anchor, a sentence of the same section, and one of another section of the same article.

    Raises
    ------
    FileNotFoundError
        When there is no file at `path`.
    ValueError
        When a column is missing or there twice, a row has too many or too few cells, a sentence is
        blank, bytes are not UTF-8, quotes do not close, or there is no row; wrong rows are named
        by line.

    References
    ----------
    L. Ein Dor, Y. Mass, A. Halfon, E. Venezian, I. Shnayderman, R. Aharonov, N. Slonim. "Learning
    Thematic Similarity Metric from Article Sections Using Triplet Networks." ACL 2018.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "test.csv"
    >>> _ = path.write_text('id,Sentence1,Sentence2,Sentence3\n0,"One, two",Three,Four\n')
    >>> read_sections(path).tolist()
    [['One, two', 'Three', 'Four']]
    >>> folder.cleanup()
    """
    rows = read_table(path, read_lines(path), _COLUMNS, _fault, quoted=True)
    return np.array(rows, dtype=object)


def triplet_accuracy(to_same: ArrayLike, to_other: ArrayLike) -> float:
    """Return the share of triplets whose anchor is more similar to its own section's sentence.

    Parameters
    ----------
    to_same : array-like of shape (n,)
        Similarity of each anchor to the sentence of its section.
    to_other : array-like of shape (n,)
        Similarity to the sentence of the other section; negated distances do as well.

    Returns
    -------
    accuracy : float
        From 0 to 1. A tie is no success, so a constant similarity has accuracy 0; chance is 0.5.

    Raises
    ------
    ValueError
        When there is no triplet, the lengths differ, or a similarity is not a number.

    Examples
    --------
    >>> triplet_accuracy([0.9, 0.4, 0.5], [0.1, 0.6, 0.5])
    0.3333333333333333
    """
    same, other = (np.asarray(values, dtype=np.float64) for values in (to_same, to_other))
    if same.ndim != 1 or same.shape != other.shape or len(same) == 0:
        raise ValueError(
            "to_same and to_other must hold one similarity per triplet, got the shapes "
            f"{same.shape} and {other.shape}"
        )
    if np.isnan(same).any() or np.isnan(other).any():
        raise ValueError("to_same and to_other must be numbers, got NaN")
    return float(np.mean(same > other))


def _fault(cells: Sequence[str]) -> str:
    for (name,), cell in zip(_COLUMNS, cells, strict=True):
        if not cell:
            return f"{name} is missing"
    return ""

"""Triplets of sentences from Wikipedia sections: reader and accuracy."""

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

    Cells are separated by commas and may be quoted; the header names the columns Sentence1,
    Sentence2 and Sentence3, and other columns are ignored. Byte order marks, Windows line ends and
    gzip compression are accepted.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file.

    Returns
    -------
    triplets : ndarray of shape (n, 3), dtype object
        Anchor, a sentence of the same section, and a sentence of another section of the article.

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ValueError
        If a column is missing or repeated, quotes do not close, there are no rows, or rows are
        invalid, each named by its line: too many or too few cells, a blank sentence, or bytes that
        are not UTF-8.

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
    """Return the fraction of triplets whose anchor is more similar to the same section's sentence.

    Parameters
    ----------
    to_same : array-like of shape (n,)
        Similarity of each anchor to the sentence of the same section.
    to_other : array-like of shape (n,)
        Similarity to the sentence of the other section. Negated distances also work.

    Returns
    -------
    accuracy : float
        From 0 to 1. A tie counts as wrong, so a constant similarity has accuracy 0; chance is 0.5.

    Raises
    ------
    ValueError
        If there are no triplets, lengths differ, or a similarity is NaN.

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

"""Reader of the STS Benchmark: sentence pairs with graded similarity."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["ScoredPairs", "read_sts_benchmark"]

_COLUMNS = "genre, file, year, id, score, sentence1, sentence2"
_PROBLEMS_SHOWN = 10


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Sentence pairs with graded similarity, as one source gave them.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2), dtype object
        The two sentences of each pair, as `str`.
    scores : ndarray of shape (n,), dtype float64
        Similarity from 0, unrelated, to 5, equivalent.
    genres : ndarray of shape (n,), dtype object
        The kind of text each pair comes from, such as ``"main-captions"``.

    Raises
    ------
    ValueError
        When the lengths or shapes do not fit together.

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
        """Refuse arrays that do not describe the same n pairs."""
        if self.pairs.ndim != 2 or self.pairs.shape[1] != 2:
            raise ValueError(f"pairs must have shape (n, 2), got {self.pairs.shape}")
        for name, values in (("scores", self.scores), ("genres", self.genres)):
            if values.shape != (len(self.pairs),):
                raise ValueError(
                    f"{name} must have shape ({len(self.pairs)},) like pairs, got {values.shape}"
                )

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)


def read_sts_benchmark(path: str | os.PathLike[str]) -> ScoredPairs:
    r"""Read a file of the STS Benchmark: ``sts-train.csv``, ``sts-dev.csv`` or ``sts-test.csv``.

    Despite their name the files are parted by tabs, without header and without quoting: a
    quotation mark is an ordinary character. Columns are genre, file, year, id, score,
    sentence1, sentence2, and in some rows licence notes after them, which are dropped. A byte
    order mark and Windows line ends are accepted, blank lines passed over.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file.

    Returns
    -------
    data : ScoredPairs
        Sentences as written, scores from 0 to 5.

    Raises
    ------
    FileNotFoundError
        When there is no file at `path`.
    ValueError
        When rows are wrong, each named by its line: fewer than seven columns, a blank sentence,
        a score that is no number from 0 to 5, bytes that are not UTF-8. When no row is left.

    References
    ----------
    D. Cer, M. Diab, E. Agirre, I. Lopez-Gazpio, L. Specia. "SemEval-2017 Task 1: Semantic
    Textual Similarity." SemEval 2017.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "sts-dev.csv"
    >>> row = "main-news\tMSRpar\t2012dev\t7\t3.200\tHe said \"no.\tHe refused."
    >>> _ = path.write_text(row + "\n", encoding="utf-8")
    >>> data = read_sts_benchmark(path)
    >>> data.pairs.tolist(), data.scores.tolist()
    ([['He said "no.', 'He refused.']], [3.2])
    >>> folder.cleanup()
    """
    pairs: list[list[str]] = []
    scores: list[float] = []
    genres: list[str] = []
    problems: list[str] = []
    # Bytes are parted at \n alone: str.splitlines would also part at characters inside sentences.
    for number, raw in enumerate(Path(path).read_bytes().split(b"\n"), start=1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r")
        except UnicodeDecodeError as error:
            problems.append(f"line {number}: not UTF-8 ({error.reason} at byte {error.start})")
            continue
        if not line.strip():
            continue
        cells = line.split("\t")
        fault = _fault(cells)
        if fault:
            problems.append(f"line {number}: {fault}")
            continue
        genres.append(cells[0])
        scores.append(float(cells[4]))
        pairs.append([cells[5], cells[6]])
    if problems:
        shown = "; ".join(problems[:_PROBLEMS_SHOWN])
        rest = len(problems) - _PROBLEMS_SHOWN
        raise ValueError(
            f"{path} has {len(problems)} wrong rows of {len(problems) + len(pairs)}: {shown}"
            f"{f'; and {rest} more' if rest > 0 else ''}; expected tab-separated columns "
            f"{_COLUMNS}, without quoting; correct or remove those lines"
        )
    if not pairs:
        raise ValueError(f"{path} is empty; expected tab-separated columns {_COLUMNS}")
    return ScoredPairs(
        np.array(pairs, dtype=object), np.array(scores), np.array(genres, dtype=object)
    )


def _fault(cells: list[str]) -> str:
    """Say what is wrong with a row, or return the empty string."""
    if len(cells) < 7:
        return f"7 columns expected, {len(cells)} found"
    try:
        score = float(cells[4])
    except ValueError:
        score = math.nan
    if not 0 <= score <= 5:
        return f"score must be a number from 0 to 5, got {cells[4][:60]!r}"
    for name, cell in (("sentence1", cells[5]), ("sentence2", cells[6])):
        if not cell.strip():
            return f"{name} is missing"
    return ""

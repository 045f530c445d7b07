"""Readers of the public sets of sentence pairs with graded similarity: STS and SICK."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from film.text import text_hash

__all__ = ["ScoredPairs", "drop_listed", "read_sick", "read_sts_benchmark"]

_BENCHMARK = (
    "expected tab-separated columns genre, file, year, id, score, sentence1, sentence2, without "
    "quoting"
)
_SICK_COLUMNS = ("sentence_A", "sentence_B", "relatedness_score")
_SICK = f"expected a header and tab-separated columns, {', '.join(_SICK_COLUMNS)} among them"
_PROBLEMS_SHOWN = 10


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Sentence pairs with graded similarity, as one source gave them.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2), dtype object
        The two sentences of each pair, as `str`.
    scores : ndarray of shape (n,), dtype float64
        Similarity from 0, unrelated, to 5, equivalent; in SICK from 1.
    genres : ndarray of shape (n,), dtype object
        The kind of text each pair comes from, such as ``"main-captions"``, or its subset.

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
    for number, line, broken in numbered_lines(path):
        cells = line.split("\t")
        if not line.strip() and not broken:
            continue
        if fault := broken or _benchmark_fault(cells):
            problems.append(f"line {number}: {fault}")
            continue
        genres.append(cells[0])
        scores.append(float(cells[4]))
        pairs.append([cells[5], cells[6]])
    refuse(path, problems, len(pairs), _BENCHMARK)
    return scored_pairs(path, pairs, scores, genres, _BENCHMARK)


def read_sick(path: str | os.PathLike[str]) -> ScoredPairs:
    r"""Read a file of SICK, such as ``SICK_test_annotated.txt``.

    Its columns are parted by tabs without quoting and found by the header. A byte order mark and
    Windows line ends are accepted, blank lines passed over.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file.

    Returns
    -------
    data : ScoredPairs
        Sentences as written, relatedness from 1 to 5, genre "SICK" throughout.

    Raises
    ------
    FileNotFoundError
        When there is no file at `path`.
    ValueError
        When the header lacks sentence_A, sentence_B or relatedness_score. When rows are wrong,
        each named by its line: more or fewer columns than the header, a blank sentence, a score
        that is no number from 1 to 5, bytes that are not UTF-8. When no row is left.

    References
    ----------
    M. Marelli, S. Menini, M. Baroni, L. Bentivogli, R. Bernardi, R. Zamparelli. "A SICK Cure for
    the Evaluation of Compositional Distributional Semantic Models." LREC 2014.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "SICK_trial.txt"
    >>> header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    >>> _ = path.write_text(header + "\n4\tA boy sits\tNobody sits\t3.6\tCONTRADICTION\n")
    >>> data = read_sick(path)
    >>> data.pairs.tolist(), data.scores.tolist()
    ([['A boy sits', 'Nobody sits']], [3.6])
    >>> folder.cleanup()
    """
    lines = numbered_lines(path)
    header = next(lines, (1, "", ""))[1].split("\t")
    missing = [name for name in _SICK_COLUMNS if name not in header]
    if missing:
        raise ValueError(f"{path}, line 1: the header lacks {', '.join(missing)}; {_SICK}")
    first, second, score = (header.index(name) for name in _SICK_COLUMNS)
    pairs: list[list[str]] = []
    scores: list[float] = []
    problems: list[str] = []
    for number, line, broken in lines:
        cells = line.split("\t")
        if not line.strip() and not broken:
            continue
        fault = broken or count_fault(cells, len(header))
        fault = fault or score_fault(cells[score], 1) or pair_fault(cells[first], cells[second])
        if fault:
            problems.append(f"line {number}: {fault}")
            continue
        pairs.append([cells[first], cells[second]])
        scores.append(float(cells[score]))
    refuse(path, problems, len(pairs), _SICK)
    return scored_pairs(path, pairs, scores, ["SICK"] * len(pairs), _SICK)


def drop_listed(data: ScoredPairs, excluded: Collection[str]) -> tuple[ScoredPairs, int]:
    """Leave out the pairs that hold an excluded sentence, as `film.datasets.drop_excluded` does.

    Parameters
    ----------
    data : ScoredPairs
        n pairs.
    excluded : collection of str
        Hashes as `film.datasets.read_excluded` gives them; a set, for speed.

    Returns
    -------
    kept : ScoredPairs
        The other pairs in their order.
    n_dropped : int
        How many pairs were left out.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([["A man is playing a guitar.", "Hi"], ["Hi", "Hello"]], dtype=object)
    >>> data = ScoredPairs(pairs, np.array([0.0, 4.5]), np.array(["a", "b"], dtype=object))
    >>> kept, n_dropped = drop_listed(data, {"aed7b9613b8c8ba9"})
    >>> kept.scores.tolist(), n_dropped
    ([4.5], 1)
    """
    listed = np.array(
        [
            text_hash(first) in excluded or text_hash(second) in excluded
            for first, second in data.pairs
        ],
        dtype=bool,
    )
    kept = ScoredPairs(data.pairs[~listed], data.scores[~listed], data.genres[~listed])
    return kept, int(listed.sum())


def numbered_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str, str]]:
    """Give number, text and fault of each line."""
    # Bytes are parted at \n alone: str.splitlines would also part at characters inside sentences.
    lines = Path(path).read_bytes().split(b"\n")
    if not lines[-1]:
        del lines[-1]
    for number, raw in enumerate(lines, start=1):
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r"), ""
        except UnicodeDecodeError as error:
            yield number, "", f"not UTF-8 ({error.reason} at byte {error.start})"


def refuse(path: str | os.PathLike[str], problems: list[str], n_right: int, expected: str) -> None:
    """Raise one error for all wrong rows of a file."""
    if problems:
        rest = len(problems) - _PROBLEMS_SHOWN
        raise ValueError(
            f"{path} has {len(problems)} wrong rows of {len(problems) + n_right}: "
            f"{'; '.join(problems[:_PROBLEMS_SHOWN])}{f'; and {rest} more' if rest > 0 else ''}; "
            f"{expected}; correct or remove those lines"
        )


def scored_pairs(
    path: str | os.PathLike[str],
    pairs: list[list[str]],
    scores: list[float],
    genres: list[str],
    expected: str,
) -> ScoredPairs:
    """Make arrays of what was read; there must be something."""
    if not pairs:
        raise ValueError(f"{path} holds no scored pair; {expected}")
    return ScoredPairs(
        np.array(pairs, dtype=object), np.array(scores), np.array(genres, dtype=object)
    )


def _benchmark_fault(cells: list[str]) -> str:
    if len(cells) < 7:
        return f"7 columns expected, {len(cells)} found"
    return score_fault(cells[4], 0) or pair_fault(cells[5], cells[6])


def count_fault(cells: list[str], expected: int) -> str:
    """Say what is wrong with the number of columns, or return the empty string."""
    return "" if len(cells) == expected else f"{expected} columns expected, {len(cells)} found"


def score_fault(text: str, lowest: int) -> str:
    """Say what is wrong with a score, or return the empty string."""
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if lowest <= score <= 5:
        return ""
    return f"score must be a number from {lowest} to 5, got {text[:60]!r}"


def pair_fault(first: str, second: str) -> str:
    """Say what is wrong with two sentences, or return the empty string."""
    for name, sentence in (("sentence1", first), ("sentence2", second)):
        if not sentence.strip():
            return f"{name} is missing"
    return ""

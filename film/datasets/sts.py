"""Readers of public datasets of sentence pairs with graded similarity: STS and SICK."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from film.datasets.formats.lines import Line, read_lines, wrong_line, wrong_rows
from film.datasets.formats.tables import header_names
from film.datasets.pairs import ScoredPairs

_YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
_STS_B, _SICK_TEST = "STSBenchmark/sts-test.csv", "SICK/SICK_test_annotated.txt"
_BENCHMARK = (
    "expected tab-separated columns genre, file, year, id, score, sentence1, sentence2, without "
    "quoting"
)
_SICK_COLUMNS = ("sentence_A", "sentence_B", "relatedness_score")
_SICK = f"expected a header and tab-separated columns, {', '.join(_SICK_COLUMNS)} among them"


def read_sts_benchmark(path: str | os.PathLike[str]) -> ScoredPairs:
    r"""Read a file of the STS Benchmark: ``sts-train.csv``, ``sts-dev.csv`` or ``sts-test.csv``.

    Despite their name the files are tab-separated, without header and without quoting: a quotation
    mark is an ordinary character. Columns are genre, file, year, id, score, sentence1 and
    sentence2; some rows have licence notes after them, which are dropped. Byte order marks and
    Windows line ends are accepted, blank lines skipped.

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
        If there is no file at `path`.
    ValueError
        If no row is left, or rows are invalid, each named by its line: fewer than seven columns, a
        blank sentence, a score that is not a number from 0 to 5, or bytes that are not UTF-8.

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
    lines = (line for line in read_lines(path) if not line.is_blank)
    rows = _read_rows(path, lines, _benchmark_fault, _BENCHMARK)
    return _scored_pairs(path, [(row[0], row[4], row[5], row[6]) for row in rows], _BENCHMARK)


def read_sick(path: str | os.PathLike[str]) -> ScoredPairs:
    r"""Read a file of SICK, such as ``SICK_test_annotated.txt``.

    Columns are tab-separated without quoting and found by the header in any case. Byte order marks
    and Windows line ends are accepted, blank lines skipped.

    Parameters
    ----------
    path : str or path-like
        A UTF-8 file.

    Returns
    -------
    data : ScoredPairs
        Sentences as written, relatedness from 1 to 5, genre "SICK".

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ValueError
        If the header lacks sentence_A, sentence_B or relatedness_score or repeats one, no row is
        left, or rows are invalid, each named by its line: more or fewer columns than the header, a
        blank sentence, a score that is not a number from 1 to 5, or bytes that are not UTF-8.

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
    lines = (line for line in read_lines(path) if not line.is_blank)
    header = next(lines, Line(1, ""))
    columns = header_names(header.cells())
    missing = [name for name in _SICK_COLUMNS if name.casefold() not in columns]
    twice = [name for name in _SICK_COLUMNS if columns.count(name.casefold()) > 1]
    if header.fault_without_quoting or missing or twice:
        wrong = f"lacks {', '.join(missing)}" if missing else f"names {', '.join(twice)} twice"
        reason = header.fault_without_quoting or f"the header {wrong}; {_SICK}"
        raise wrong_line(path, header.number, reason)
    first, second, score = (columns.index(name.casefold()) for name in _SICK_COLUMNS)

    def fault(cells: list[str]) -> str:
        return (
            _count_fault(cells, len(columns))
            or _score_fault(cells[score], 1)
            or _pair_fault(cells[first], cells[second])
        )

    rows = _read_rows(path, lines, fault, _SICK)
    rows = [("SICK", row[score], row[first], row[second]) for row in rows]
    return _scored_pairs(path, rows, _SICK)


def read_sts_year(folder: str | os.PathLike[str]) -> ScoredPairs:
    r"""Read the test set of one year of STS, 2012 to 2016, in SentEval's layout.

    A subset has two files: ``STS.input.<subset>.txt``, with two sentences per line, separated by a
    tab and without quoting, and ``STS.gs.<subset>.txt``, with the score of the same line. Pairs
    with a blank score line were never scored and are dropped. Other files are ignored, including
    ``STS.gs.ALL.txt``, which repeats the rest, and ``STS.gs.SMT.txt`` of 2013, whose sentences are
    not public.

    Parameters
    ----------
    folder : str or path-like
        For example ``STS12-en-test``.

    Returns
    -------
    data : ScoredPairs
        The subsets, sorted by name and concatenated; `genres` are the subset names.

    Raises
    ------
    FileNotFoundError
        If the folder or one of the two files of a subset is missing, or there is no subset.
    ValueError
        If the two files of a subset differ in length, no pair has a score, or a line is invalid:
        not two columns, a blank sentence, a score that is not a number from 0 to 5, or bytes that
        are not UTF-8.

    References
    ----------
    A. Conneau, D. Kiela. "SentEval: An Evaluation Toolkit for Universal Sentence
    Representations." LREC 2018.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> inputs, gold = (pathlib.Path(folder.name) / f"STS.{x}.belief.txt" for x in ("input", "gs"))
    >>> _ = inputs.write_text("one\tan other\nhi\thello\n"), gold.write_text("\n4.50\n")
    >>> data = read_sts_year(folder.name)
    >>> data.pairs.tolist(), data.scores.tolist(), data.genres.tolist()
    ([['hi', 'hello']], [4.5], ['belief'])
    >>> folder.cleanup()
    """
    names = [path.name for path in Path(folder).iterdir()] if Path(folder).is_dir() else []
    inputs, gold = (
        {name[len(start) : -len(".txt")] for name in names if _is_subset(name, start)}
        for start in ("STS.input.", "STS.gs.")
    )
    subsets = sorted((inputs | gold - {"SMT"}) - {"ALL"})
    if not subsets:
        raise FileNotFoundError(
            f"{folder} has no STS.input.<subset>.txt; give a folder such as STS12-en-test"
        )
    rows = [(subset, *row) for subset in subsets for row in _read_subset(Path(folder), subset)]
    return _scored_pairs(folder, rows, "expected a score in some line of STS.gs.*.txt")


def read_sts_sets(folder: str | os.PathLike[str]) -> dict[str, ScoredPairs]:
    """Read the seven common test sets of sentence similarity.

    Parameters
    ----------
    folder : str or path-like
        Contains ``STS12-en-test`` to ``STS16-en-test``, ``STSBenchmark`` and ``SICK``, the folders
        that SentEval's download script creates.

    Returns
    -------
    sets : dict of str to ScoredPairs
        "STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK", in this order; the public
        files hold 3108, 1500, 3750, 3000, 1186, 1379 and 4927 pairs. The sets overlap.

    Raises
    ------
    FileNotFoundError
        If one of them is missing; the message says where to get it.
    ValueError
        If a line is invalid, as in `read_sts_year`, `read_sts_benchmark` and `read_sick`.

    Examples
    --------
    >>> read_sts_sets("nowhere")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: nowhere lacks STS12-en-test, STS13-en-test, ... get SentEval ...
    """
    root = Path(folder)
    years = {name: root / f"{name}-en-test" for name in _YEARS}
    missing = [path.name for path in years.values() if not path.is_dir()]
    missing += [name for name in (_STS_B, _SICK_TEST) if not (root / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder} lacks {', '.join(missing)}; the sets are public: get SentEval "
            "(facebookresearch/SentEval on GitHub) and run get_transfer_data.bash in its folder "
            "data/downstream, then move the folder SICK that it creates into the folder STS next "
            "to it, and pass the folder STS"
        )
    sets = {name: read_sts_year(path) for name, path in years.items()}
    return sets | {"STS-B": read_sts_benchmark(root / _STS_B), "SICK": read_sick(root / _SICK_TEST)}


def _is_subset(name: str, start: str) -> bool:
    return name.startswith(start) and name.endswith(".txt")


def _read_subset(folder: Path, subset: str) -> list[tuple[str, str, str]]:
    """Return score and sentences of the scored pairs of a subset."""
    inputs, gold = (folder / f"STS.{what}.{subset}.txt" for what in ("input", "gs"))
    sentences = list(read_lines(inputs))
    marks = [line._replace(text=line.text.strip()) for line in read_lines(gold)]
    for longer, other in ((sentences, marks), (marks, sentences)):
        while len(longer) > len(other) and longer[-1].is_blank:
            longer.pop()
    pairs = _read_rows(inputs, sentences, _sentences_fault, "expected sentence, tab, sentence")
    scores = _read_rows(gold, marks, _mark_fault, "expected a score or a blank line")
    if len(sentences) != len(marks):
        shorter = min(len(sentences), len(marks))
        raise ValueError(
            f"{inputs} has {len(sentences)} lines and {gold.name} {len(marks)}, but a line of one "
            f"belongs to the same line of the other: line {shorter + 1} has no partner; download "
            "both files again"
        )
    return [
        (mark, first, second)
        for (mark,), (first, second) in zip(scores, pairs, strict=True)
        if mark
    ]


def _read_rows(
    path: str | os.PathLike[str],
    lines: Iterable[Line],
    fault_of: Callable[[list[str]], str],
    expected: str,
) -> list[list[str]]:
    """Return the cells of each line, or raise one error that names all invalid lines."""
    rows: list[list[str]] = []
    problems: list[tuple[int, str]] = []
    for line in lines:
        cells = line.cells()
        if fault := line.fault_without_quoting or fault_of(cells):
            problems.append((line.number, fault))
        else:
            rows.append(cells)
    if problems:
        raise wrong_rows(path, problems, len(rows), f"{expected}; correct or remove those lines")
    return rows


def _scored_pairs(
    path: str | os.PathLike[str], rows: list[tuple[str, str, str, str]], expected: str
) -> ScoredPairs:
    """Return rows of genre, score and two sentences as arrays; at least one is required."""
    if not rows:
        raise ValueError(f"{path} holds no scored pair; {expected}")
    return ScoredPairs(
        pairs=np.array([row[2:] for row in rows], dtype=object),
        scores=np.array([float(row[1]) for row in rows]),
        genres=np.array([row[0] for row in rows], dtype=object),
    )


def _benchmark_fault(cells: list[str]) -> str:
    if len(cells) < 7:
        return f"7 columns expected, {len(cells)} found"
    return _score_fault(cells[4], 0) or _pair_fault(cells[5], cells[6])


def _sentences_fault(cells: list[str]) -> str:
    return _count_fault(cells, 2) or _pair_fault(*cells)


def _mark_fault(cells: list[str]) -> str:
    return _count_fault(cells, 1) or (_score_fault(cells[0], 0) if cells[0] else "")


def _count_fault(cells: list[str], expected: int) -> str:
    return "" if len(cells) == expected else f"{expected} columns expected, {len(cells)} found"


def _score_fault(text: str, lowest: int) -> str:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if lowest <= score <= 5:
        return ""
    return f"score must be a number from {lowest} to 5, got {text[:60]!r}"


def _pair_fault(first: str, second: str) -> str:
    for name, sentence in (("sentence1", first), ("sentence2", second)):
        if not sentence.strip():
            return f"{name} is missing"
    return ""

"""The test sets of STS, year by year and together, in SentEval's layout."""

from __future__ import annotations

import os
from pathlib import Path

from film.datasets.sts import (
    ScoredPairs,
    count_fault,
    numbered_lines,
    pair_fault,
    read_sick,
    read_sts_benchmark,
    refuse,
    score_fault,
    scored_pairs,
)

__all__ = ["read_sts_sets", "read_sts_year"]

_YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
_STS_B, _SICK_TEST = "STSBenchmark/sts-test.csv", "SICK/SICK_test_annotated.txt"


def read_sts_year(folder: str | os.PathLike[str]) -> ScoredPairs:
    r"""Read the test set of one year of STS, 2012 to 2016, in SentEval's layout.

    A subset is ``STS.input.<subset>.txt``, two sentences a line parted by a tab and without
    quoting, and ``STS.gs.<subset>.txt``, the score of the same line. Pairs whose score line is
    blank were never scored and are dropped. Other files are passed over, also ``STS.gs.ALL.txt``,
    which repeats the rest, and ``STS.gs.SMT.txt`` of 2013, whose sentences are not public.

    Parameters
    ----------
    folder : str or path-like
        Such as ``STS12-en-test``.

    Returns
    -------
    data : ScoredPairs
        The subsets one after another, sorted by name; `genres` are these names.

    Raises
    ------
    FileNotFoundError
        When the folder or one of the two files of a subset is missing, or there is no subset.
    ValueError
        When the two files of a subset differ in length, or a line is wrong: not two columns, a
        blank sentence, a score that is no number from 0 to 5, bytes that are not UTF-8. When no
        pair has a score.

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
    names = [path.name for path in Path(folder).iterdir()]
    inputs, gold = (
        {name[len(start) : -len(".txt")] for name in names if _is_subset(name, start)}
        for start in ("STS.input.", "STS.gs.")
    )
    subsets = sorted((inputs | gold - {"SMT"}) - {"ALL"})
    if not subsets:
        raise FileNotFoundError(
            f"{folder} has no STS.input.<subset>.txt; give a folder such as STS12-en-test"
        )
    pairs: list[list[str]] = []
    scores: list[float] = []
    genres: list[str] = []
    for subset in subsets:
        subset_pairs, subset_scores = _read_subset(Path(folder), subset)
        pairs += subset_pairs
        scores += subset_scores
        genres += [subset] * len(subset_pairs)
    return scored_pairs(
        folder, pairs, scores, genres, "expected a score in some line of STS.gs.*.txt"
    )


def read_sts_sets(folder: str | os.PathLike[str]) -> dict[str, ScoredPairs]:
    """Read the seven test sets on which sentence similarity is commonly reported.

    Parameters
    ----------
    folder : str or path-like
        Holds ``STS12-en-test`` to ``STS16-en-test``, ``STSBenchmark`` and ``SICK``, the folders
        that SentEval's download script makes.

    Returns
    -------
    sets : dict of str to ScoredPairs
        "STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK", in this order; the public
        files hold 3108, 1500, 3750, 3000, 1186, 1379 and 4927 pairs. The sets overlap.

    Raises
    ------
    FileNotFoundError
        When one of them is missing, with what to do.
    ValueError
        When a line is wrong, as in `read_sts_year`, `read_sts_benchmark` and `read_sick`.

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
            "data/downstream, then move the folder SICK, which it makes there, into the folder "
            "STS beside it, and give this folder STS"
        )
    sets = {name: read_sts_year(path) for name, path in years.items()}
    return sets | {"STS-B": read_sts_benchmark(root / _STS_B), "SICK": read_sick(root / _SICK_TEST)}


def _is_subset(name: str, start: str) -> bool:
    return name.startswith(start) and name.endswith(".txt")


def _read_subset(folder: Path, subset: str) -> tuple[list[list[str]], list[float]]:
    inputs, gold = (folder / f"STS.{what}.{subset}.txt" for what in ("input", "gs"))
    sentences, marks = list(numbered_lines(inputs)), list(numbered_lines(gold))
    if len(sentences) != len(marks):
        shorter = min(len(sentences), len(marks))
        raise ValueError(
            f"{inputs} has {len(sentences)} lines and {gold.name} {len(marks)}, but a line of one "
            f"belongs to the same line of the other: line {shorter + 1} has no partner; get both "
            "files anew"
        )
    pairs: list[list[str]] = []
    scores: list[float] = []
    wrong_pairs: list[str] = []
    wrong_scores: list[str] = []
    for (number, line, broken), (_, mark, broken_mark) in zip(sentences, marks, strict=True):
        cells = line.split("\t")
        if fault := broken or count_fault(cells, 2) or pair_fault(*cells):
            wrong_pairs.append(f"line {number}: {fault}")
        scored = bool(mark.strip())
        if fault := broken_mark or (score_fault(mark, 0) if scored else ""):
            wrong_scores.append(f"line {number}: {fault}")
        elif scored:
            pairs.append(cells)
            scores.append(float(mark))
    total = len(sentences)
    refuse(inputs, wrong_pairs, total - len(wrong_pairs), "expected sentence, tab, sentence")
    refuse(gold, wrong_scores, total - len(wrong_scores), "expected a score or a blank line")
    return pairs, scores

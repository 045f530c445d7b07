"""Readers of sentence pairs with graded similarity: STS 2012 to 2016, STS-B and SICK."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.data.pairs import ScoredPairs

YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")


def read_sts_benchmark(path: Path) -> ScoredPairs:
    """Read ``sts-train.csv``, ``sts-dev.csv`` or ``sts-test.csv``: tabs, no header, no quoting.

    Cer et al., "SemEval-2017 Task 1: Semantic Textual Similarity" (2017).
    """
    return _scored((row[0], row[4], row[5], row[6]) for row in _rows(path))


def read_sick(path: Path) -> ScoredPairs:
    """Read a file of SICK, such as ``SICK_test_annotated.txt``, with scores from 1 to 5.

    Marelli et al., "A SICK Cure for the Evaluation of Compositional Distributional Semantic Models"
    (2014).
    """
    header, *rows = _rows(path)
    places = map(header.index, ("relatedness_score", "sentence_A", "sentence_B"))
    score, first, second = places
    return _scored(("SICK", row[score], row[first], row[second]) for row in rows)


def read_sts_year(folder: Path) -> ScoredPairs:
    """Read the test set of one year, in SentEval's layout; genres are its subsets.

    Line n of ``STS.gs.<subset>.txt`` scores line n of ``STS.input.<subset>.txt``; a pair with a
    blank score is left out.
    """
    found = []
    for path in sorted(folder.glob("STS.input.*.txt")):
        subset = path.name.removeprefix("STS.input.").removesuffix(".txt")
        marks = [cells[0] for cells in _rows(folder / f"STS.gs.{subset}.txt", blank=True)]
        for mark, sides in zip(marks, _rows(path, blank=True), strict=True):
            if mark.strip():
                found.append((subset, mark, *sides))
    return _scored(found)


def read_sts_sets(folder: Path) -> dict[str, ScoredPairs]:
    """Read the seven common test sets, "STS12" to "STS16", "STS-B" and "SICK"."""
    if not (folder / "STSBenchmark").is_dir():
        raise FileNotFoundError(
            f"{folder} has no STSBenchmark; run get_transfer_data.bash of facebookresearch/SentEval"
        )
    sets = {year: read_sts_year(folder / f"{year}-en-test") for year in YEARS}
    sets["STS-B"] = read_sts_benchmark(folder / "STSBenchmark" / "sts-test.csv")
    return sets | {"SICK": read_sick(folder / "SICK" / "SICK_test_annotated.txt")}


def _rows(path: Path, *, blank: bool = False) -> list[list[str]]:
    """Return the tab-separated cells of lines, blank lines among them where they count."""
    lines = path.read_bytes().decode("utf-8-sig").removesuffix("\n").split("\n")
    return [line.rstrip("\r").split("\t") for line in lines if blank or line.strip()]


def _scored(rows: Iterable[tuple[str, ...]]) -> ScoredPairs:
    table = np.array(list(rows), dtype=object)
    return ScoredPairs(table[:, 2:], table[:, 1].astype(np.float64), table[:, 0])

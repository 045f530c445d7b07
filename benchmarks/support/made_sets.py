"""Made files in the form of public sets, for runs without them."""

from __future__ import annotations

import csv
from pathlib import Path

from film.datasets import make_question_pairs

_TOPICS = ("GC", "GM", "DP")
_LABELS = ("entailment", "neutral", "contradiction")


def made_nli(folder: Path, n: int = 60) -> str:
    """Write pairs with relations in the form of MultiNLI, and return the file's path."""
    data = make_question_pairs(n, random_state=3)
    rows = ("\t".join([_LABELS[row % 3], *pair]) for row, pair in enumerate(data.pairs.tolist()))
    path = folder / "made_nli.txt"
    path.write_text("\n".join(["gold_label\tsentence1\tsentence2", *rows]), encoding="utf-8")
    return str(path)


def made_afs(folder: Path, n: int = 40) -> str:
    """Write scored pairs in the form of Argument Facet Similarity, and return the folder."""
    data = make_question_pairs(3 * n, random_state=4)
    assert data.y is not None
    place = folder / "made_afs"
    place.mkdir(exist_ok=True)
    for number, topic in enumerate(_TOPICS):
        rows = slice(number, None, 3)
        _write(
            place / f"ArgPairs_{topic}.csv",
            ["regression_label", "sentence_1", "sentence_2"],
            [
                [5.0 * label, *pair]
                for label, pair in zip(data.y[rows], data.pairs[rows].tolist(), strict=True)
            ],
        )
    return str(place)


def made_sections(folder: Path, n: int = 40) -> str:
    """Write triplets in the form of the Wikipedia sections, and return the file's path."""
    data = make_question_pairs(3 * n, random_state=5)
    assert data.y is not None
    similar = data.pairs[data.y == 1]
    others = [*similar[1:, 0], similar[0, 0]]
    path = folder / "made_sections.csv"
    rows = [[i, *row, other] for i, (row, other) in enumerate(zip(similar, others, strict=True))]
    _write(path, ["Id", "Sentence1", "Sentence2", "Sentence3"], rows)
    return str(path)


def _write(path: Path, header: list[str], rows: list[list[object]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)

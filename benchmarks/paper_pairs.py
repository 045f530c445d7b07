"""The example pairs of two papers: CLRCMD's Figure 2 and token matching's Figure 2.

``python -m benchmarks.paper_pairs [--data DIR] [--out DIR] [--quick]``. DIR is laid out as for
`benchmarks.sts`. The sentences are not part of the project: they are found in STS13 and STS-B by
words that the papers tell. Recorded are the similarities, which the annotators' score from 0 to 5
stands beside, and the share of each sum that its ten largest contributions make up.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

from benchmarks.data.sts import read_sts_sets
from benchmarks.support.folders import data_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import RCMDRegressor, TokenMatchingRegressor

LARGEST = 10
FIGURES = {
    "CLRCMD, positive": ("STS13", {"realize", "comprehend", "nature"}),
    "CLRCMD, neutral": ("STS13", {"25", "august", "19", "july"}),
    "CLRCMD, negative": ("STS13", {"after", "riots", "curfew", "bans"}),
    "token matching": ("STS-B", {"performing", "card", "trick", "cards"}),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    options = parser_of("paper_pairs", __doc__, "folder of the STS sets").parse_args(arguments)
    with reading("paper_pairs"):
        pairs = find_pairs(data_folder(options.data, "sts"))
    for case, (pair, score) in pairs.items():
        figures = {"annotators": score} | measured(pair)
        Results("paper_pairs", options).tell(case, figures, seed=None)
    return 0


def find_pairs(folder: Path) -> dict[str, tuple[tuple[str, str], float]]:
    """Each figure's pair and its score, by the words that are in it.

    Raises
    ------
    ValueError
        If not exactly one pair of a set holds the words.
    """
    sets = read_sts_sets(folder)
    found = {}
    for figure, (name, words) in FIGURES.items():
        data = sets[name]
        rows = [
            i
            for i, (a, b) in enumerate(data.pairs)
            if words <= {*re.findall(r"\w+", f"{a} {b}".lower())}
        ]
        if len(rows) != 1:
            raise ValueError(f"{len(rows)} pairs of {name} hold {sorted(words)}, where 1 should")
        first, second = data.pairs[rows[0]]
        found[figure] = (str(first), str(second)), float(data.scores[rows[0]])
    return found


def measured(pair: tuple[str, str]) -> dict[str, float]:
    """Similarities of one pair, and how few pairs of tokens make them."""
    models = {
        "rcmd": RCMDRegressor(),
        "avg": RCMDRegressor(plan="avg"),
        "matching": TokenMatchingRegressor(),
    }
    found = {}
    for name, model in models.items():
        model.fit([pair])
        found[f"similarity_{name}"] = float(model.similarity([pair])[0])
        found[f"largest_{name}"] = share_of_largest(model.explain([pair])[0].contributions)
    return found


def share_of_largest(contributions: np.ndarray) -> float:
    """Share that the largest contributions have of the sum of absolute ones."""
    sizes = np.sort(np.abs(contributions), axis=None)[::-1]
    return float(sizes[:LARGEST].sum() / sizes.sum())


if __name__ == "__main__":
    sys.exit(main())

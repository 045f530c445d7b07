"""Thresholds that `DuplicateFinder` estimates without labels, against those that labels choose.

``python -m benchmarks.thresholds [--data DIR] [--out DIR] [--quick]``. DIR holds tables; without
it, the folder of FILM_DATA is taken. Each table is measured by column and by joined cells, as it
is, with a tenth of its duplicates, and with none: of the others, one row is removed. The general
formula was fitted to these tables, and the constants of `film.judge.expected_precision` were
chosen on them.

Reported are F1 from a score of one half on, from the estimated threshold on and at the best
threshold, the number of pairs from the estimated threshold on, and the precision that was
expected, with its 90 % interval, and is true. Copies are left out, and duplicates that are no
candidates count as missed. Of two tables, the pairs are those of `film.judge.one_to_one`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.general import Gold, Rows, joined, read_tables
from benchmarks.support.folders import data_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators.corpus import USUAL_THRESHOLD, DuplicateFinder
from film.datasets import make_question_pairs
from film.judge import expected_precision, one_to_one

SHARES = {"": 1.0, ", few duplicates": 0.1, ", no duplicates": 0.0}
"""Share of the duplicates that stay in each measurement of a table."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    options = parser_of("thresholds", __doc__, "holds tables").parse_args(arguments)
    with reading("thresholds"):
        tables = generated() if options.quick else read_tables(data_folder(options.data))
    results = Results("thresholds", options)
    for name, (sides, gold) in tables.items():
        kind = "one table" if len(sides) == 1 else "one to one"
        has_columns = len(sides[0][0]) > 2
        for end, share in SHARES.items():
            few = thinned(sides, gold, share)
            for how in ["by column", "joined cells"] if has_columns else ["texts"]:
                by_column = how == "by column"
                row = figures(
                    *candidates(*few, by_column=by_column),
                    two_tables=len(sides) == 2,
                    by_column=by_column,
                )
                results.tell(f"{kind}: {name}, {how}{end}", row)
    return 0


def generated() -> dict[str, tuple[list[Rows], Gold]]:
    """Make two small tables of questions, and one of both."""
    data = make_question_pairs(150, random_state=1)
    pairs = data.pairs[data.y == 1].tolist()
    sides = [[{"id": f"{s}{i}", "text": pair[s]} for i, pair in enumerate(pairs)] for s in (0, 1)]
    gold = {(f"0{i}", f"1{i}") for i in range(len(pairs))}
    return {"questions": (sides, gold), "both": ([sides[0] + sides[1]], gold)}


def cells_of(rows: Rows) -> dict[str, list[str]]:
    """Return the cells of each column but the ids."""
    return {name: [row[name] for row in rows] for name in rows[0] if name != "id"}


def thinned(sides: Sequence[Rows], gold: Gold, share: float) -> tuple[list[Rows], Gold]:
    """Keep a share of the duplicates; of the others, remove one row each, of the two by turns."""
    order = np.random.default_rng(0).permutation(len(gold))
    lost = [sorted(gold)[place] for place in order[round(share * len(gold)) :].tolist()]
    gone = {pair[number % 2] for number, pair in enumerate(lost)}
    kept = [[row for row in side if row["id"] not in gone] for side in sides]
    return kept, {(a, b) for a, b in gold if a not in gone and b not in gone}


def candidates(
    sides: Sequence[Rows], gold: Gold, *, by_column: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, bool]:
    """Score the candidates of a table, but copies.

    Returns pairs, scores, labels, the number of duplicates, and whether columns decide alone. Pairs
    are numbers of rows, which differ between the sides.
    """
    ids = [row["id"] for side in sides for row in side]
    given: list[Any] = [cells_of(side) if by_column else joined(side) for side in sides]
    finder = DuplicateFinder(compare=dict.fromkeys(given[0], "") if by_column else None)
    if len(sides) == 1:
        found = finder.fit(given[0]).find(threshold=0)
        pairs = found.pairs
    else:
        finder.fit(given[0], beside=given[1])
        found = finder.match(given[1], threshold=0)
        pairs = found.pairs[:, ::-1] + np.array([0, len(sides[0])])
    n = len(sides[0])
    place = {(len(sides) == 2 and row >= n, name): row for row, name in enumerate(ids)}
    ends = [(place.get((False, a)), place.get((len(sides) == 2, b))) for a, b in gold]
    known = {frozenset(pair) for pair in ends if None not in pair}
    labels = np.array([frozenset(pair) in known for pair in pairs.tolist()], dtype=bool)
    copies = found.kind == "copy"
    n_duplicates = len(known) - int(labels[copies].sum())
    records: Any = found.records
    alone = by_column and records.agreement.weights.alone
    return pairs[~copies], found.scores[~copies], labels[~copies], n_duplicates, alone


def figures(
    pairs: np.ndarray,
    scores: np.ndarray,
    labels: np.ndarray,
    n_duplicates: int,
    alone: bool = False,
    *,
    two_tables: bool,
    by_column: bool = False,
) -> dict[str, float]:
    """Compare thresholds of candidates; of two tables, each row has at most one partner."""
    expected = expected_precision(
        pairs,
        scores,
        two_tables=two_tables,
        one_to_one=two_tables,
        by_column=by_column,
        alone=alone,
    )
    if two_tables:
        chosen, _ = one_to_one(pairs, scores)
        scores, labels = scores[chosen], labels[chosen]
    order = np.argsort(-scores, kind="stable")
    best = 2 * np.cumsum(labels[order]) / (np.arange(1, len(order) + 1) + n_duplicates)
    own = labels[scores >= expected.best_threshold]
    at = expected.at(expected.best_threshold)
    row = {
        "duplicates": n_duplicates,
        "listed": len(own),
        "own_threshold": expected.best_threshold,
        "expected_precision": at["precision"],
        "expected_low": at["precision_interval"][0],
        "expected_high": at["precision_interval"][1],
    }
    if not n_duplicates:
        return row
    return row | {
        "half_f1": _f1(labels[scores >= USUAL_THRESHOLD], n_duplicates),
        "own_f1": _f1(own, n_duplicates),
        "best_f1": float(best.max(initial=0)),
        "true_precision": float(own.mean()) if len(own) else 0.0,
    }


def _f1(listed: np.ndarray, n_duplicates: int) -> float:
    return 2 * float(listed.sum()) / max(1, len(listed) + n_duplicates)


if __name__ == "__main__":
    sys.exit(main())

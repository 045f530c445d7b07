"""Tables of records without labels: by column, by joined cells, and by Fellegi and Sunter's model.

``python -m benchmarks.linkage [--data DIR] [--out DIR] [--quick] [--tables NAME ...] [--rivals
DIR]``. DIR holds tables; without it, the folder of FILM_DATA is taken. People and products are
generated too. Two tables are matched one to one. Each method chooses its own threshold; the best
threshold is what it could reach among its pairs. Each table is also compared with five columns that
say nothing: a time, a key, a count, a source and a status. The rival is fitted to the same
candidates and levels of agreement, by 30 steps of EM from our scores, and lists pairs whose
probability is at least one half. It uses all columns. With ``--rivals``, only Splink is compared,
in an environment of its own in DIR, on tables that it suits, with processor time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from benchmarks.general import Gold, Rows, joined, read_rows, read_tables
from benchmarks.rivals.environment import SCRIPTS, rival_python
from benchmarks.support.folders import data_folder
from benchmarks.support.run import Results, parser_of, reading
from benchmarks.thresholds import cells_of
from estimators import DuplicateFinder
from film.datasets import make_records
from film.judge import em_column_weights, one_to_one

FROM_PAIRS = ("walmart-amazon", "fodors-zagats")
PARTS = ("train", "valid", "test")
LEAST = 0.01
_FEBRL = {
    **dict.fromkeys(("given_name", "surname"), "name"),
    **dict.fromkeys(("address_1", "suburb"), "text"),
    **dict.fromkeys(("street_number", "state"), "exact"),
    **dict.fromkeys(("postcode", "soc_sec_id"), "code"),
    "date_of_birth": "date",
}
SPLINK = {
    "generated people": {
        **{"name": "name", "born": "date", "street": "text", "town": "name", "phone": "code"},
        "location": "point",
    },
    "febrl1": _FEBRL,
    "febrl3": _FEBRL,
    "dblp-acm": {"title": "text", "authors": "text", "venue": "exact", "year": "exact"},
}
"""How Splink compares the columns of a table."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = parser_of("linkage", __doc__, "holds tables")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="only these tables")
    parser.add_argument("--rivals", metavar="DIR", help="compare with Splink, in this environment")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with reading("linkage"):
        if options.quick:
            tables: dict[str, tuple[list[Rows], Gold]] = generated()
        else:
            folder = data_folder(options.data)
            tables = read_tables(folder) | generated(500)
            tables |= {
                f"{name}, made from pairs": _from_pairs(folder / "tables" / "labelled" / name)
                for name in FROM_PAIRS
            }
    results = Results("linkage", options)
    chosen = {name: table for name, table in tables.items() if name in (options.tables or tables)}
    for name, (sides, gold) in chosen.items():
        if len(sides) == 1:
            gold = {(min(pair), max(pair)) for pair in gold}
        if options.rivals:
            if name in SPLINK:
                start = time.process_time()
                ours = _matched([cells_of(rows) for rows in sides], sides, gold)[0]
                ours["processor"] = time.process_time() - start
                theirs = _splink(options.rivals, SPLINK[name], sides, gold)
                results.tell(f"{name}: by column", ours, bench="splink")
                results.tell(f"{name}: Splink", theirs, bench="splink")
            continue
        columns, finder, found = _matched([cells_of(rows) for rows in sides], sides, gold)
        noisy, *_ = _matched([cells_of(rows) for rows in _with_noise(sides)], sides, gold)
        if finder.left_out_:
            kept = {name: finder.kinds_.get(name, "text") for name in cells_of(sides[0])}
            _, finder, found = _matched([cells_of(rows) for rows in sides], sides, gold, kept)
        cells, *_ = _matched([joined(rows) for rows in sides], sides, gold)
        rival = _fellegi_sunter(finder, found, sides, gold)
        results.tell(f"{name}: by column", columns, rival="joined cells", beside=cells)
        results.tell(f"{name}: by column, with five columns of noise", noisy)
        results.tell(f"{name}: joined cells", cells)
        results.tell(f"{name}: Fellegi-Sunter", rival)
    return 0


def _splink(folder: str, kinds: dict[str, str], sides: list[Rows], gold: Gold) -> dict[str, float]:
    """Run Splink in the environment of its own."""
    python = rival_python(folder, ("splink==5.*", "pandas"))
    with tempfile.TemporaryDirectory() as work:
        place = Path(work)
        (place / "columns.json").write_text(json.dumps(kinds), encoding="utf-8")
        tables = [place / f"{number}.csv" for number in range(len(sides))]
        for path, rows in zip(tables, sides, strict=True):
            pd.DataFrame(rows)[["id", *kinds]].to_csv(path, index=False)
        command = [python, SCRIPTS / "splink_rival.py", place / "columns.json", place / "out.csv"]
        done = subprocess.run([*command, *tables], stdout=subprocess.PIPE, text=True, check=True)
        found = pd.read_csv(place / "out.csv", dtype={"id1": str, "id2": str})
    scores = found["probability"].to_numpy()
    pairs = found[["id1", "id2"]].to_numpy().tolist()
    if len(sides) == 1:
        pairs = [sorted(pair) for pair in pairs]
    order = np.argsort(-scores, kind="stable")
    if len(sides) == 2:
        places = [{row["id"]: place for place, row in enumerate(rows)} for rows in sides]
        numbers = np.array([[places[0][a], places[1][b]] for a, b in pairs])
        order = order[one_to_one(numbers[order], scores[order])[0]]
    hits = np.cumsum([tuple(pairs[row]) in gold for row in order.tolist()])
    f1 = 2 * hits / (np.arange(1, len(hits) + 1) + len(gold))
    n_listed = int((scores[order] >= 0.5).sum())
    spent = json.loads(done.stdout.splitlines()[-1])
    return {"own_f1": float(f1[n_listed - 1]), "best_f1": float(f1.max()), **spent}


def _with_noise(sides: list[Rows]) -> list[Rows]:
    rng = np.random.default_rng(0)

    def noise(number: int) -> dict[str, str]:
        return {
            "written": str(np.datetime64("2020-01-01T00:00:00") + rng.integers(0, 10**8)),
            "key": rng.bytes(16).hex(),
            "count": str(rng.integers(0, 500)),
            "source": "AB"[number],
            "status": str(rng.choice(["active", "inactive", "pending"])),
        }

    return [[row | noise(number) for row in rows] for number, rows in enumerate(sides)]


def _matched(
    given: list[Any], sides: list[Rows], gold: Gold, kinds: dict[str, str] | None = None
) -> tuple[dict[str, float], Any, Any]:
    """Return figures, the fitted finder, and its candidates."""
    start = time.perf_counter()
    columns = dict.fromkeys(given[-1], "") if isinstance(given[-1], dict) else None
    finder = DuplicateFinder(compare=kinds or columns)
    if len(given) == 1:
        found = finder.fit(given[0]).find()
    else:
        finder.fit(given[1], beside=given[0])
        found = finder.match(given[0], one_to_one=True)
    seconds = time.perf_counter() - start
    own = _f1(_ids(found.pairs, sides), gold)
    every = _candidates(finder, given, threshold=LEAST, single=True)
    hits = np.cumsum([pair in gold for pair in _ids(every.pairs, sides)])
    best = 2 * hits / (np.arange(1, len(hits) + 1) + len(gold))
    row = {"own_f1": own, "best_f1": float(best.max(initial=0.0)), "seconds": seconds}
    return row, finder, _candidates(finder, given, threshold=0.0)


def _candidates(finder: Any, given: list[Any], threshold: float, single: bool = False) -> Any:
    if len(given) == 1:
        return finder.find(threshold=threshold)
    return finder.match(given[0], threshold=threshold, one_to_one=single)


def _ids(pairs: np.ndarray, sides: list[Rows]) -> list[tuple[str, str]]:
    """Return pairs of ids, the lower one first within one table."""
    pairs_of_ids = [(sides[0][a]["id"], sides[-1][b]["id"]) for a, b in pairs.tolist()]
    return pairs_of_ids if len(sides) == 2 else [(min(pair), max(pair)) for pair in pairs_of_ids]


def _f1(found: list[tuple[str, str]], gold: Gold) -> float:
    hits = sum(pair in gold for pair in found)
    return 2 * hits / max(1, len(found) + len(gold))


def _fellegi_sunter(finder: Any, found: Any, sides: list[Rows], gold: Gold) -> dict[str, float]:
    """Fit Fellegi and Sunter's model by EM to the candidates, from their general scores."""
    start = time.perf_counter()
    evidence, space = finder._scores.columns, finder._scores.index.space
    cells = [
        ["\x1f".join(row) for row in zip(*cells_of(rows).values(), strict=True)] for rows in sides
    ]
    first, second = (
        [of[row] for row in rows]
        for of, rows in zip((cells[0], cells[-1]), found.pairs.T, strict=True)
    )
    levels = evidence.levels(space, evidence.paired(first, second))
    chances = expit(em_column_weights(levels, found.scores).log_odds(levels))
    likely = np.flatnonzero(chances >= 0.5)
    pairs = found.pairs[likely]
    if len(sides) == 2:
        pairs = pairs[one_to_one(pairs, chances[likely])[0]]
    order = np.argsort(-chances, kind="stable")
    if len(sides) == 2:
        order = order[one_to_one(found.pairs[order], chances[order])[0]]
    hits = np.cumsum([pair in gold for pair in _ids(found.pairs[order], sides)])
    best = 2 * hits / (np.arange(1, len(hits) + 1) + len(gold))
    seconds = time.perf_counter() - start
    own = _f1(_ids(pairs, sides), gold)
    return {"own_f1": own, "best_f1": float(best.max(initial=0.0)), "seconds": seconds}


def _from_pairs(folder: Path) -> tuple[list[Rows], Gold]:
    """Make two tables of the records of labelled pairs."""
    pairs = [row for part in PARTS for row in read_rows(folder / f"{part}.csv.gz")]
    sides: list[Rows] = []
    numbers: list[dict[tuple[str, ...], str]] = []
    for side in ("left_", "right_"):
        names = [name for name in pairs[0] if name.startswith(side)]
        records = dict.fromkeys(tuple(row[name] for name in names) for row in pairs)
        numbers.append({record: str(number) for number, record in enumerate(records)})
        bare = [name.removeprefix(side) for name in names]
        sides.append(
            [
                {"id": number, **dict(zip(bare, record, strict=True))}
                for record, number in numbers[-1].items()
            ]
        )
    gold = {pair for row in pairs if row["label"] == "1" for pair in _numbered(row, numbers)}
    return sides, gold


def _numbered(
    row: dict[str, str], numbers: list[dict[tuple[str, ...], str]]
) -> Iterator[tuple[str, str]]:
    records = [
        tuple(value for name, value in row.items() if name.startswith(side))
        for side in ("left_", "right_")
    ]
    yield numbers[0][records[0]], numbers[1][records[1]]


def generated(n_entities: int = 60) -> dict[str, tuple[list[Rows], Gold]]:
    """Make a table of people, and one of products."""
    tables = {}
    for kind in ("people", "products"):
        frame, entities = make_records(kind, n_entities, random_state=0)
        frame.insert(0, "id", [str(row) for row in range(len(frame))])
        same = np.argwhere(np.triu(entities[:, None] == entities, 1)).tolist()
        gold = {(str(a), str(b)) for a, b in same}
        tables[f"generated {kind}"] = ([frame.to_dict("records")], gold)
        if "location" in frame:
            bare = frame.drop(columns="location")
            tables["generated people without points"] = ([bare.to_dict("records")], gold)
    return tables


if __name__ == "__main__":
    sys.exit(main())

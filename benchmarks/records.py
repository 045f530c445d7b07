"""Labelled pairs of records: `record_duplicates`, the joined cells, and a forest by column.

``python -m benchmarks.records [--data DIR] [--out DIR] [--quick]``. DIR holds tables/labelled;
without it, the folder of FILM_DATA is taken. Each model is fitted to the training pairs. Test pairs
are judged by the threshold with the highest F1 on the validation pairs, and by one half.
`record_duplicates` and the forest have the median of five seeds, and `record_duplicates` with the
packaged encoder as a member, if it is installed, of three. The forest learns from the usual
similarities of each column, by rapidfuzz. The last set is generated: candidate pairs of one table
of people, each of whom is in one part, so that common records link nearly all pairs of a part.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.distance import JaroWinkler, Levenshtein
from rapidfuzz.process import cpdist
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score, f1_score

from benchmarks.general import read_rows
from benchmarks.support.folders import data_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import DuplicateFinder, RecordPairs, fast_duplicates, record_duplicates
from estimators.encoders import resolve_encoder
from film.compare import column_kind, parsed
from film.datasets import make_records
from film.pairs import calibration_error

NAMES = ("amazon-google", "walmart-amazon", "dblp-acm", "fodors-zagats")
PARTS = ("train", "valid", "test")
N_SEEDS, N_ENCODER_SEEDS = 5, 3
LEAST = 0.001
"""Lowest score of a candidate pair of generated people."""

Part = tuple[RecordPairs, np.ndarray]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    options = parser_of("records", __doc__, "holds tables").parse_args(arguments)
    warnings.simplefilter("ignore")
    with reading("records"):
        sets = {} if options.quick else _read(data_folder(options.data))
        sets |= _generated(60 if options.quick else 750)
    results = Results("records", options)
    n_seeds = 1 if options.quick else N_SEEDS
    encoder = resolve_encoder("none" if options.quick else "auto", 1)
    for name, parts in sets.items():
        forest = _median([_forest(parts, seed) for seed in range(n_seeds)])
        ours = _median([_columns(parts, seed) for seed in range(n_seeds)])
        rival = "forest by column"
        results.tell(f"{name}: record_duplicates", ours, rival=rival, beside=forest)
        if encoder.encoder is not None:
            meant = [_columns(parts, seed, encoder.encoder) for seed in range(N_ENCODER_SEEDS)]
            results.tell(f"{name}: record_duplicates, {encoder.name}", _median(meant))
        results.tell(f"{name}: {rival}", forest)
        results.tell(f"{name}: fast_duplicates, joined cells", _joined(parts))
    return 0


def _columns(parts: dict[str, Part], seed: int, encoder: Any = None) -> dict[str, float]:
    start = time.perf_counter()
    model = record_duplicates(random_state=seed)
    if encoder is not None:
        model.members.append(("cosine", encoder))
    model.fit(*parts["train"])
    p = {part: model.predict_proba(parts[part][0])[:, 1] for part in PARTS[1:]}
    return _figures(parts, p, start)


def _joined(parts: dict[str, Part]) -> dict[str, float]:
    start = time.perf_counter()
    texts = {part: _cells_as_text(records) for part, (records, _) in parts.items()}
    model = fast_duplicates().fit(texts["train"], parts["train"][1])
    p = {part: model.predict_proba(texts[part])[:, 1] for part in PARTS[1:]}
    return _figures(parts, p, start)


def _cells_as_text(records: RecordPairs) -> np.ndarray:
    pairs = np.empty((len(records), 2), dtype=object)
    for side, cells in enumerate((records.left, records.right)):
        pairs[:, side] = [" ".join(filter(None, row)) for row in cells.tolist()]
    return pairs


def _forest(parts: dict[str, Part], seed: int) -> dict[str, float]:
    start = time.perf_counter()
    records = parts["train"][0]
    kinds = [
        column_kind([*records.left[:, column], *records.right[:, column]])
        for column in range(len(records.columns))
    ]
    model = RandomForestClassifier(300, n_jobs=-1, random_state=seed)
    model.fit(_similarities(records, kinds), parts["train"][1])
    p = {}
    for part in PARTS[1:]:
        both: Any = model.predict_proba(_similarities(parts[part][0], kinds))
        p[part] = both[:, 1]
    return _figures(parts, p, start)


def _similarities(records: RecordPairs, kinds: list[str]) -> np.ndarray:
    """Compare each column by five similarities, or by the relative difference of numbers."""
    scorers: Any = (
        JaroWinkler.similarity,
        Levenshtein.normalized_similarity,
        fuzz.token_sort_ratio,
        fuzz.token_set_ratio,
        fuzz.partial_ratio,
    )
    blocks = []
    for column, kind in enumerate(kinds):
        first, second = (side[:, column].tolist() for side in (records.left, records.right))
        empty = np.array([not (a and b) for a, b in zip(first, second, strict=True)])
        if kind == "number":
            a, b = parsed(first, kind), parsed(second, kind)
            found = (np.abs(a - b) / np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-9))[:, None]
        else:
            found = np.column_stack([cpdist(first, second, scorer=of) for of in scorers])
        found = found.astype(np.float64)
        found[empty] = np.nan
        blocks.append(found)
    return np.nan_to_num(np.column_stack(blocks), nan=-1.0)


def _figures(parts: dict[str, Part], p: dict[str, np.ndarray], start: float) -> dict[str, float]:
    seconds = time.perf_counter() - start
    valid, test = parts["valid"][1], parts["test"][1]
    places = np.unique(p["valid"].round(3))
    chosen = max(places, key=lambda place: f1_score(valid, p["valid"] >= place))
    precision: Any = average_precision_score(test, p["test"])
    return {
        "f1": float(f1_score(test, p["test"] >= chosen)),
        "half_f1": float(f1_score(test, p["test"] > 0.5)),
        "average_precision": precision,
        "calibration": calibration_error(test, p["test"]),
        "seconds": seconds,
    }


def _median(rows: list[dict[str, float]]) -> dict[str, float]:
    return {metric: float(np.median([row[metric] for row in rows])) for metric in rows[0]}


def _read(folder: Path) -> dict[str, dict[str, Part]]:
    place = folder / "tables" / "labelled"
    return {
        name: {part: read_part(place / name / f"{part}.csv.gz") for part in PARTS} for name in NAMES
    }


def read_part(path: Path) -> Part:
    """Read labelled pairs of records."""
    rows = read_rows(path)
    names = [name.removeprefix("left_") for name in rows[0] if name.startswith("left_")]
    sides = [
        {name: [row[side + name] for row in rows] for name in names} for side in ("left_", "right_")
    ]
    return RecordPairs(*sides), np.array([int(row["label"]) for row in rows])


def _generated(n_people: int) -> dict[str, dict[str, Part]]:
    """Pair the rows of a table of people, a third of the people in each part."""
    table, people = make_records("people", n_people, random_state=1)
    rows = DuplicateFinder().fit(table).find(threshold=LEAST).pairs
    part_of = (people * len(PARTS) // n_people)[rows]
    parts = {}
    for number, part in enumerate(PARTS):
        left, right = rows[(part_of == number).all(axis=1)].T
        sides = (table.iloc[side].reset_index(drop=True) for side in (left, right))
        parts[part] = RecordPairs(*sides), (people[left] == people[right]).astype(int)
    return {"generated people": parts}


if __name__ == "__main__":
    sys.exit(main())

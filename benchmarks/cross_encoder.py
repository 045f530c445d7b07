"""`CrossEncoderRegressor` trained on Quora's labels: one model that reads both texts of a pair.

``python -m benchmarks.cross_encoder [--data DIR] [--seeds N] [--dtype NAME] [--keep DIR] [--out
DIR] [--quick]``. DIR holds quora, sts, banking77 and clinc150; without it, ``$FILM_DATA``. It
learns from Quora's train file without a question-disjoint tenth, which chooses its best weights,
and is judged on Quora dev, on texts of another kind, the pairs of intents of
`benchmarks.intents`, and on the test file of STS-B. Beside it stands what it started from: the
cosine of mean vectors. "predict" are seconds for 10,000 new pairs. What each says of every pair is
kept, for `benchmarks.compare`. With ``--keep``, trained models are kept in a folder, and taken from
there where they are. ``--quick`` trains one step on few rows and records only where ``--out`` says
so.

all-MiniLM-L6-v2 saw Quora's duplicates, and so did what starts from it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.intents import labels_of, read_sets
from benchmarks.support.bootstrap import spearman
from benchmarks.support.folders import data_folder
from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.quora_data import NEW_PAIRS, Splits, new_pairs, read_folder
from benchmarks.support.recipes import CROSS_ENCODER
from benchmarks.support.records import record
from benchmarks.support.significance import record_differences
from benchmarks.tables import newest
from estimators import CrossEncoderRegressor, RCMDRegressor, disjoint_pairs_split
from film.datasets import read_sts_benchmark

QUICK: dict[str, Any] = {"epochs": 1, "train_batch_size": 32}
QUICK_PAIRS = 40
DEV = "Quora dev"
UNITS = {"training_seconds": "s", "predict": "s"}
Judged = dict[str, tuple[np.ndarray, np.ndarray]]


def main(arguments: list[str] | None = None) -> int:
    """Measure and record; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cross_encoder", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="holds quora, sts, banking77 and clinc150")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="runs; 2")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder to start from")
    parser.add_argument("--device", metavar="NAME")
    parser.add_argument("--dtype", metavar="NAME", help="such as bfloat16")
    parser.add_argument("--keep", metavar="DIR", help="keep trained models here, or take them")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="few rows and one step")
    options = parser.parse_args(arguments)
    try:
        folder = data_folder(options.data)
        data = read_folder(
            folder / "quora", on_error="raise", limit=300 if options.quick else None, seed=0
        )
        judged = read_judged(folder, data, options.quick)
    except (OSError, ValueError) as error:
        print(f"benchmarks.cross_encoder: {error}", file=sys.stderr)
        return 2
    label = "all-MiniLM-L6-v2" if options.model is None else Path(options.model).name
    label = label if options.dtype is None else f"{label}, {options.dtype}"
    new = new_pairs(data, QUICK_PAIRS if options.quick else NEW_PAIRS)
    reads = {"device": options.device, "dtype": options.dtype}
    cosine = RCMDRegressor(options.model, plan="avg", **reads).fit(data.train[:1])
    _tell(f"{label}: cosine of mean vectors", None, cosine, judged, new, {}, options)
    case = f"{label}: cross-encoder"
    for seed in range(options.seeds):
        model, found = trained(data, seed, reads, options)
        _tell(case, seed, model, judged, new, found, options)
    if options.out or not options.quick:
        if options.seeds > 1:
            _tell_mean(case, options)
        record_differences("cross_encoder", options.out)
    return 0


def read_judged(folder: Path, data: Splits, quick: bool) -> Judged:
    """Read pairs and labels, or scores, that are judged, by the name of their set."""
    sts = read_sts_benchmark(folder / "sts" / "STSBenchmark" / "sts-test.csv")
    judged = {DEV: (data.dev, np.asarray(data.y_dev))}
    for name, found in read_sets(folder, 400 if quick else 5000).items():
        judged[name] = (found.pairs, labels_of(found))
    judged["STS-B"] = (sts.pairs, sts.scores)
    few = slice(QUICK_PAIRS) if quick else slice(None)
    return {name: (pairs[few], y[few]) for name, (pairs, y) in judged.items()}


def trained(
    data: Splits, seed: int, reads: dict[str, Any], options: argparse.Namespace
) -> tuple[CrossEncoderRegressor, dict[str, float]]:
    """Train on Quora's labels, or take the model that was kept; with what is known of the run."""
    train, held, y, y_held = disjoint_pairs_split(
        data.train, data.y_train, test_size=0.1, random_state=0
    )
    with tempfile.TemporaryDirectory() as scratch:
        kept = Path(options.keep or scratch, f"cross-{seed}")
        found: dict[str, float] = {}
        if not kept.exists():
            settings = CROSS_ENCODER | (QUICK if options.quick else {})
            model = CrossEncoderRegressor(
                options.model, random_state=seed, verbose=1, **reads, **settings
            )
            start = time.perf_counter()
            model.fit(train, y, eval_set=(held, y_held)).save(kept)
            found["training_seconds"] = round(time.perf_counter() - start, 1)
        model = CrossEncoderRegressor.load(kept, **reads)
    found["held_out_auc"] = float(roc_auc_score(y_held, model.similarity(held)))
    return model, found


def _tell(
    case: str,
    seed: int | None,
    model: Any,
    judged: Judged,
    new: np.ndarray,
    found: dict[str, float],
    options: argparse.Namespace,
) -> None:
    """Print and record a row, and what it says of each pair."""
    records = bool(options.out) or not options.quick
    for name, (pairs, y) in judged.items():
        said = model.similarity(pairs)
        figure = spearman(said, y) if name == "STS-B" else float(roc_auc_score(y, said))
        found = found | {_metric(name): figure}
        if records:
            told: dict[str, Any] = {"seed": seed, "folder": options.out}
            own = case if name == DEV else f"{name}: {case}"
            record_pairs("cross_encoder", own, pairs, y, said, **told)
    start = time.perf_counter()
    model.similarity(new)
    found = found | {"predict": round(time.perf_counter() - start, 1)}
    known = case if seed is None else f"{case}, seed {seed}"
    print(f"{known}:", {name: round(value, 4) for name, value in found.items()}, flush=True)
    for metric, value in found.items() if records else ():
        unit = UNITS.get(metric, "")
        record("cross_encoder", known, metric, round(value, 5), unit, seed=seed, folder=options.out)


def _metric(name: str) -> str:
    """Name the figure of a set as tables do."""
    return {DEV: "roc_auc", "STS-B": "STS-B"}.get(name, f"{name}_auc")


def _tell_mean(case: str, options: argparse.Namespace) -> None:
    """Record the mean over seeds."""
    known = newest("cross_encoder", options.out)
    runs = [known[f"{case}, seed {seed}"] for seed in range(options.seeds)]
    shared = set.intersection(*(set(run) for run in runs)) - set(UNITS)
    for metric in [name for name in runs[0] if name in shared]:
        value = float(np.mean([run[metric]["value"] for run in runs]))
        name = f"{case}, mean of {len(runs)} seeds"
        record("cross_encoder", name, metric, round(value, 5), folder=options.out)


if __name__ == "__main__":
    sys.exit(main())

"""`similarity_in`, similarity less what is usual in a collection, beside similarity alone.

``python -m benchmarks.local_scaling [--model FOLDER ...] [--data DIR] [--dtype NAME] [--out DIR]
[--quick]``. Models are folders that `RCMDRegressor.save` wrote; without any it is the packaged one,
as it is. The data folder holds quora, clinc150 and banking77; without ``--data`` it is
``$FILM_DATA``. Neighbours and weights are compared on a question-disjoint tenth of Quora's train
file, in its own texts, by which the defaults were chosen, and on pairs of intents of clinc150.
Quora dev, in the texts of dev and test, and pairs of intents of banking77 are judged by the
defaults alone. The packaged model saw Quora's duplicates and NLI.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.intents import read_sets
from benchmarks.support.folders import data_folder
from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.quora_data import read_folder
from benchmarks.support.records import record
from benchmarks.support.significance import record_differences
from estimators import RCMDRegressor, disjoint_pairs_split

SETTINGS = {
    "roc_auc": (50, 0.5),
    "auc_10": (10, 0.5),
    "auc_200": (200, 0.5),
    "auc_quarter": (50, 0.25),
    "auc_whole": (50, 1.0),
}
"""Neighbours and weights that are compared, by metric; the first are the defaults."""
PACKAGED = "all-MiniLM-L6-v2"


class Judged(NamedTuple):
    """Pairs, labels, and the texts among which they are compared."""

    pairs: np.ndarray
    y: np.ndarray
    collection: list[str]
    chooses: bool


def main(arguments: list[str] | None = None) -> int:
    """Measure and record; the exit status is 2 where data or a model cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_scaling", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="holds quora, clinc150 and banking77")
    parser.add_argument("--model", action="append", metavar="FOLDER", help="of RCMDRegressor.save")
    parser.add_argument("--dtype", help="such as bfloat16")
    parser.add_argument("--device")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="few pairs, recorded with --out alone")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    try:
        sets = read_judged(data_folder(options.data), options.quick)
        models = [(name, load) for name, load in _loaders(options)]
    except (OSError, ValueError) as error:
        print(f"benchmarks.local_scaling: {error}", file=sys.stderr)
        return 2
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for model, load in models:
        with tempfile.TemporaryDirectory() as cache:
            regressor = load(cache)
            for name, judged in sets.items():
                for case, said in scored(regressor, judged).items():
                    aucs = {key: float(roc_auc_score(judged.y, s)) for key, s in said.items()}
                    found.setdefault((name, case), []).append(aucs)
                    title = f"{name}: {model}: {case}"
                    _tell(title, aucs, options)
                    if not judged.chooses and (options.out or not options.quick):
                        pairs = judged.pairs, judged.y, said["roc_auc"]
                        record_pairs("local_scaling", title, *pairs, folder=options.out)
    if len(models) > 1:
        for (name, case), rows in found.items():
            means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
            _tell(f"{name}: mean of {len(models)}: {case}", means, options)
    if options.out or not options.quick:
        record_differences("local_scaling", options.out)
    return 0


def read_judged(folder: Path, quick: bool) -> dict[str, Judged]:
    """Read pairs to choose by, and pairs to judge."""
    n = 300 if quick else None
    data = read_folder(folder / "quora", on_error="raise", limit=None, seed=0)
    _, held, _, y_held = disjoint_pairs_split(
        data.train, data.y_train, test_size=0.1, random_state=0
    )
    held, y_held = held[:n], y_held[:n]
    dev, y_dev = data.dev[:n], data.y_dev[:n]
    asked = [*dev.ravel(), *data.test[:n].ravel()]
    sets = {
        "held tenth of Quora's train file": Judged(held, y_held, [*held.ravel()], chooses=True),
        "Quora dev": Judged(dev, y_dev, asked, chooses=False),
    }
    for name, found in read_sets(folder, 300 if quick else 5000).items():
        assert found.y is not None
        texts = [*found.pairs.ravel()]
        sets[f"intents of {name}"] = Judged(found.pairs, found.y, texts, name == "clinc150")
    return sets


def scored(model: RCMDRegressor, judged: Judged) -> dict[str, dict[str, np.ndarray]]:
    """Similarity alone and in the collection, by metric; all settings where these are to choose."""
    alone = model.similarity(judged.pairs)
    among = {}
    for metric, (k, weight) in SETTINGS.items():
        if judged.chooses or metric == "roc_auc":
            among[metric] = model.similarity_in(judged.pairs, judged.collection, k, weight)
    return {"alone": {"roc_auc": alone}, "in its collection": among}


def _loaders(options: argparse.Namespace) -> list[tuple[str, Any]]:
    """Give a name of each model, and what loads it with a folder for encodings."""
    common = {"device": options.device, "dtype": options.dtype}
    kind = "" if options.dtype is None else f", {options.dtype}"

    def of(place: str) -> Any:
        RCMDRegressor.load(place, **common)  # raises where it cannot be read, before any work
        return lambda cache: RCMDRegressor.load(place, cache=cache, **common)

    def packaged(cache: str) -> RCMDRegressor:
        return RCMDRegressor(cache=cache, **common).fit([("a text", "another")])

    if not options.model:
        return [(f"{PACKAGED}{kind}", packaged)]
    return [(f"{Path(place).name}{kind}", of(place)) for place in options.model]


def _tell(case: str, aucs: dict[str, float], options: argparse.Namespace) -> None:
    print(case, {metric: round(auc, 4) for metric, auc in aucs.items()}, flush=True)
    if options.out or not options.quick:
        for metric, auc in aucs.items():
            record("local_scaling", case, metric, auc, folder=options.out)


if __name__ == "__main__":
    sys.exit(main())

"""One encoder alone on Quora, without and with the neighbourhoods of its own vectors.

``python -m benchmarks.one_encoder --trained DIR [--trained DIR ...] [--data DIR] [--dtype NAME]
[--cache DIR] [--out DIR] [--quick] [--similarity]`` judges Quora dev by models that
``benchmarks.rcmd_train --save`` kept, averages among them, and by the packaged one as it is:

- "similarity": that of the plan it was trained for, and of an average and the packaged one the mean
  of RCMD and the cosine of mean vectors; beside it that of the question-disjoint tenth of the train
  file that trained no model;
- "classifier": `DuplicateClassifier` with the model's mean vectors as its only member and a
  logistic regression on what it says of them, among which is how near other texts of the corpus
  lie; fitted on that tenth, which is as small as what a user with few labels has. In collection
  mode the texts of dev and test are the corpus; inductive mode has none.

Models of one recipe that differ in their seed alone, whose folders end in it, have a mean.
DIR of ``--data`` holds Quora's train.csv and dev.csv; without it ``$FILM_DATA/quora`` is taken.
``--quick`` takes few pairs and records only where ``--out`` says so; ``--similarity`` leaves the
classifiers out.

all-MiniLM-L6-v2 saw Quora's duplicates, and so did what starts from it.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.support.folders import data_folder
from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.quora_data import Splits, read_folder
from benchmarks.support.records import record
from benchmarks.support.significance import record_differences
from estimators import DuplicateClassifier, RCMDRegressor, SentenceEncoder, disjoint_pairs_split

MODES = ("collection", "inductive")
PACKAGED = "all-MiniLM-L6-v2"
SIMILARITY = "similarity"
PARAMETERS = "film_regressor.json"
"""What `RCMDRegressor.save` writes beside a model, and `average_models` does not."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and record; the exit status is 2 where data or a model cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_encoder", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with Quora's train.csv and dev.csv")
    parser.add_argument("--trained", metavar="DIR", action="append", default=[], help="a model")
    parser.add_argument("--device", metavar="NAME")
    parser.add_argument("--dtype", metavar="NAME", help="such as bfloat16")
    parser.add_argument("--cache", metavar="DIR", help="keep encodings of texts here")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="few pairs")
    parser.add_argument("--similarity", action="store_true", help="without the classifiers")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    reads = {"device": options.device, "dtype": options.dtype}
    try:
        folder = data_folder(options.data, "quora")
        data = read_folder(folder, on_error="raise", limit=300 if options.quick else None, seed=0)
        folders: dict[str, Any] = {Path(name).name: name for name in options.trained}
        if len(folders) < len(options.trained):
            raise ValueError(
                f"--trained {' '.join(options.trained)} holds two folders of one name, which names "
                "rows: rename one"
            )
        models = {name: read_model(place, reads) for name, place in folders.items()}
    except (OSError, ValueError) as error:
        print(f"benchmarks.one_encoder: {error}", file=sys.stderr)
        return 2
    folders[PACKAGED] = None
    models = {PACKAGED: untrained(None, reads)} | models
    found: dict[str, dict[str, float]] = {}
    for name, model in models.items():
        embedder = SentenceEncoder(folders[name], cache=options.cache, **reads)
        held_out, modes = held_out_auc(model, data), () if options.similarity else MODES
        for case, said in judgements(model, embedder, data, modes).items():
            more = {"held_out_auc": held_out} if case == SIMILARITY else {}
            found[f"{name}: {case}"] = _tell(name, case, said, more, data, options)
    for case, row in means_over_seeds(found).items():
        print(f"{case}:", {metric: round(value, 4) for metric, value in row.items()}, flush=True)
        for metric, value in row.items() if _records(options) else ():
            record("one_encoder", case, metric, round(value, 5), folder=options.out)
    if _records(options):
        record_differences("one_encoder", options.out)
    return 0


def read_model(place: str, reads: dict[str, Any]) -> RCMDRegressor:
    """Read a model, which has a plan of its own unless it is an average."""
    is_average = Path(place).is_dir() and not Path(place, PARAMETERS).exists()
    return untrained(place, reads) if is_average else RCMDRegressor.load(place, **reads)


def untrained(place: str | None, reads: dict[str, Any]) -> RCMDRegressor:
    """Give a model as it is, by the mean of RCMD and the cosine of mean vectors."""
    return RCMDRegressor(place, plan="rcmd+avg", **reads).fit([("a text", "another")])


def judgements(
    model: RCMDRegressor, embedder: Any, data: Splits, modes: Sequence[str]
) -> dict[str, np.ndarray]:
    """Similarities of dev's pairs by a model, and probabilities by the classifier of each mode."""
    said = {SIMILARITY: model.similarity(data.dev)}
    for mode in modes:
        said[f"classifier, {mode}"] = probabilities(embedder, data, mode)
    return said


def probabilities(embedder: Any, data: Splits, mode: str) -> np.ndarray:
    """Probabilities of dev's pairs by the neighbourhoods of one frozen embedder."""
    held, y_held = tenth(data)
    corpus = [*data.dev.ravel(), *data.test.ravel()] if mode == "collection" else None
    classifier = DuplicateClassifier(
        [("encoder", embedder)],
        features=None,
        final_estimator=LogisticRegression(max_iter=1000),
        corpus=corpus,
        random_state=0,
    )
    classifier.fit(held, y_held)
    return classifier.predict_proba(data.dev)[:, 1]


def held_out_auc(model: RCMDRegressor, data: Splits) -> float:
    """AUC of the similarity on the tenth of train."""
    held, y_held = tenth(data)
    return float(roc_auc_score(y_held, model.similarity(held)))


def tenth(data: Splits) -> tuple[np.ndarray, np.ndarray]:
    """Give pairs and labels of the tenth of train that no recipe of `rcmd_train` learns from."""
    _, held, _, y_held = disjoint_pairs_split(
        data.train, data.y_train, test_size=0.1, random_state=0
    )
    return held, y_held


def means_over_seeds(rows: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Mean of the rows of models whose names differ in the number at their end alone."""
    groups: dict[str, list[dict[str, float]]] = {}
    for title, row in rows.items():
        model, _, case = title.partition(": ")
        start, _, seed = model.rpartition("-")
        if seed.isdigit():
            groups.setdefault(f"{start}|{case}", []).append(row)
    means = {}
    for key, group in groups.items():
        start, _, case = key.partition("|")
        name = f"{start}, mean of {len(group)} seeds: {case}"
        means[name] = {m: float(np.mean([row[m] for row in group])) for m in group[0]}
    return {name: row for name, row in means.items() if ", mean of 1 seeds" not in name}


def _tell(
    name: str,
    case: str,
    said: np.ndarray,
    more: dict[str, float],
    data: Splits,
    options: argparse.Namespace,
) -> dict[str, float]:
    """Print and record a row, and what it says of each pair."""
    y = np.asarray(data.y_dev)
    found = {"roc_auc": float(roc_auc_score(y, said))} | more
    if case != SIMILARITY:
        found["accuracy"] = float(np.mean((said > 0.5) == y))
    title = f"{name}: {case}"
    print(f"{title}:", {metric: round(value, 4) for metric, value in found.items()}, flush=True)
    if _records(options):
        record_pairs("one_encoder", title, data.dev, y, said, folder=options.out)
        for metric, value in found.items():
            record("one_encoder", title, metric, round(value, 5), folder=options.out)
    return found


def _records(options: argparse.Namespace) -> bool:
    return bool(options.out) or not options.quick


if __name__ == "__main__":
    sys.exit(main())

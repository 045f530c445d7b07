"""How good `fast_duplicates` is by the number of labels, from none on.

``python -m benchmarks.few_labels [--data DIR] [--out DIR] [--quick]``. DIR holds quora and tables;
without it, the folder of FILM_DATA is taken. Labelled pairs are drawn at random from those of
training, ten times, 5,000 twice, and test pairs are scored: Quora's dev.csv, and the test files of
two pairs of shops. No labels: the general score, for the test pairs as a table.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

from benchmarks.general import read_labelled
from benchmarks.support.folders import data_folder
from benchmarks.support.quora_data import read_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import DuplicateFinder, fast_duplicates
from film.datasets import make_question_pairs

SIZES = (30, 100, 300, 1000, 5000)
SHOPS = ("amazon-google", "walmart-amazon")
N_DRAWS, N_DRAWS_OF_MANY, MANY = 10, 2, 5000

Pairs = tuple[Any, Any]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    options = parser_of("few_labels", __doc__, "holds quora and tables").parse_args(arguments)
    warnings.simplefilter("ignore")
    with reading("few_labels"):
        sets = generated() if options.quick else _read(data_folder(options.data))
    results = Results("few_labels", options)
    for name, (train, test) in sets.items():
        pairs, y = test
        texts, codes = np.unique(pairs, return_inverse=True)
        rows: Any = codes.reshape(-1, 2).tolist()
        found = DuplicateFinder().fit(texts.tolist()).score_pairs(rows)[0]
        results.tell(f"{name}: no labels", _figures(y, found))
        for n in SIZES[:2] if options.quick else SIZES:
            n_draws = 1 if options.quick else N_DRAWS_OF_MANY if n >= MANY else N_DRAWS
            rows = [_fitted(train, test, n, seed) for seed in range(n_draws)]
            means = {metric: float(np.mean([row[metric] for row in rows])) for metric in rows[0]}
            means["lowest_auc"] = min(row["roc_auc"] for row in rows)
            results.tell(f"{name}: {n} labels, mean of {n_draws} draws", means)
    return 0


def _fitted(train: Pairs, test: Pairs, n: int, seed: int) -> dict[str, float]:
    rows = np.random.default_rng(seed).permutation(len(train[1]))[:n]
    model = fast_duplicates(random_state=seed).fit(train[0][rows], train[1][rows])
    p = model.predict_proba(test[0])[:, 1]
    return _figures(test[1], p) | {"log_loss": log_loss(test[1], p)}


def _figures(y: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    precision: Any = average_precision_score(y, scores)
    return {"roc_auc": float(roc_auc_score(y, scores)), "average_precision": precision}


def _read(folder: Path) -> dict[str, tuple[Pairs, Pairs]]:
    quora = read_folder(folder / "quora", limit=None, seed=0)
    sets: Any = {"Quora": ((quora.train, quora.y_train), (quora.dev, quora.y_dev))}
    for name in SHOPS:
        sets[name] = tuple(read_labelled(folder, name, part) for part in ("train", "test"))
    return sets


def generated() -> dict[str, tuple[Pairs, Pairs]]:
    """Make a small set of generated pairs, for training and for testing."""
    data = make_question_pairs(300, random_state=0)
    y = np.asarray(data.y)
    return {"generated": ((data.pairs[:200], y[:200]), (data.pairs[200:], y[200:]))}


if __name__ == "__main__":
    sys.exit(main())

"""What a search over 55 k × 3 margins × 5 folds costs, against its 16 plain fits.

``python -m benchmarks.grid [--data DIR] [--pairs N]``, one process. The fits of a search differ
in margin and fold alone; k comes from ranks that are cached, so it should cost next to nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from benchmarks.support.quora_data import Splits, generated, read_folder
from benchmarks.support.records import record
from estimators import FILM, DisjointPairsKFold, PairwiseKNNClassifier

MARGINS = (0.1, 0.2, 0.5)


def main(arguments: list[str] | None = None) -> int:
    """Time both and record the ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grid", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with Quora's train.csv")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--pairs", type=int, default=8000)
    parser.add_argument("--rank", type=int, default=600)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    n = 600 if options.quick else options.pairs
    rank = 60 if options.quick else options.rank
    data: Splits = (
        read_folder(Path(options.data), on_error="raise", limit=n, seed=0)
        if options.data
        else generated(round(n / 0.64), 0)
    )
    film = FILM(d=min(100, rank), rank=rank, random_state=0)
    embedder = Pipeline([("tfidf", TfidfVectorizer(dtype=np.float32)), ("film", film)])
    folds = DisjointPairsKFold(5, random_state=0)
    pairs, y = data.train, data.y_train

    started = time.perf_counter()
    plain = PairwiseKNNClassifier(embedder, cv=2)
    for margin in MARGINS:
        for train, test in folds.split(pairs, y):
            rule = clone(plain).set_params(embedder__film__margin=margin)
            rule.fit(pairs[train], y[train]).predict_proba(pairs[test])
    clone(plain).fit(pairs, y)
    plain_seconds = time.perf_counter() - started

    with tempfile.TemporaryDirectory() as cache:
        started = time.perf_counter()
        search = GridSearchCV(
            PairwiseKNNClassifier(embedder, cv=2, memory=cache),
            {"k": range(1, 56), "embedder__film__margin": MARGINS},
            cv=folds,
            scoring="neg_log_loss",
        ).fit(pairs, y)
        grid_seconds = time.perf_counter() - started
    ratio = grid_seconds / plain_seconds
    print(f"grid {grid_seconds:.1f} s, 16 plain fits {plain_seconds:.1f} s, ratio {ratio:.3f}")
    print("chosen", search.best_params_, "log loss", -search.best_score_)
    record(
        "grid",
        f"{data.name}, {len(pairs)} pairs, rank {rank}: 55 k x 3 margins x 5 folds + refit",
        "seconds",
        round(grid_seconds, 2),
        "s",
        rival="16 plain fits",
        rival_value=round(plain_seconds, 2),
        seed=0,
        folder=options.out,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Time, peak memory and quality of one FILM fit, decomposition included, beside its rivals.

"eigen" and "cayley" minimise one objective at one margin, so that ``objective`` compares between
them, and ``lower_bound`` is below every map of as many dimensions.

``python -m benchmarks.film_speed [--data DIR]``. Every case runs in a process of its own, so that
its peak memory is its own, one after the other on the same machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from benchmarks.quora import pair_cosines
from benchmarks.support.quora_data import Splits, splits_of
from benchmarks.support.run import Results, in_process, parser_of
from estimators import FILM, MiniBatchFILM
from estimators.inputs import TextIndex, as_texts
from film.metric import triplets_from_pairs

CASES = (
    "FILM eigen",
    "FILM cayley",
    "FILM minibatch",
    "TruncatedSVD alone",
)
RIVAL = "TruncatedSVD alone"


def main(arguments: list[str] | None = None) -> int:
    """Run all cases, or one of them where this is its process."""
    parser = parser_of("film_speed", __doc__, "folder with Quora's train.csv and dev.csv")
    parser.add_argument("--rank", type=int, default=600)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    rank = min(options.rank, 100) if options.quick else options.rank
    if options.case:
        data = splits_of(options, 20_000, 1500)
        print(json.dumps(measure(options.case, data, rank)))
        return 0
    results = Results("film_speed", options)
    name = "quora" if options.data else "generated"
    found = {
        case: in_process("film_speed", options, "--case", case, "--rank", str(rank))
        for case in CASES
    }
    for case, row in found.items():
        results.tell(f"{name}, rank {rank}: {case}", row, rival=RIVAL, beside=found[RIVAL])
    return 0


def measure(case: str, data: Splits, rank: int) -> dict[str, float]:
    """Fit one case."""
    warnings.simplefilter("ignore")
    index = TextIndex()
    codes = index.add_pairs(data.train)
    index.add([""])
    vectors = TfidfVectorizer().fit(index.texts)
    X = vectors.transform(as_texts(index.texts))
    model: Any
    started = time.perf_counter()
    if case == RIVAL:
        model = TruncatedSVD(rank, n_iter=4, random_state=0).fit(X)
    else:
        triplets = triplets_from_pairs(
            codes,
            data.y_train,
            len(index.texts),
            n_random=5,
            null=len(index.texts) - 1,
            random_state=0,
        )
        solver = case.split()[1]
        if solver == "minibatch":
            # One pass in large batches: what a corpus too large for the others would get.
            model = MiniBatchFILM(
                rank=min(rank, 100), batch_size=8192, max_iter=1, random_state=0
            ).fit(X, triplets)
        else:
            model = FILM(rank=rank, solver=solver, random_state=0).fit(X, triplets)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000

    class Both:
        transform = staticmethod(lambda texts: model.transform(vectors.transform(texts)))

    auc = roc_auc_score(data.y_dev, pair_cosines(Both, data.dev))
    row = {"seconds": round(seconds, 2), "peak": round(peak), "roc_auc": round(float(auc), 4)}
    if isinstance(model, MiniBatchFILM):
        row |= {"rounds": model.n_steps_, "objective": round(float(model.loss_curve_[-1]), 6)}
    elif case != RIVAL:
        row["rounds"] = model.n_iter_
        row["objective"] = float(np.round(model.objective_, 6))
        row["lower_bound"] = float(np.round(model.lower_bound_, 6))
    return row


if __name__ == "__main__":
    sys.exit(main())

"""Exact neighbour ranks up to k_max beside one sweep of all cosines, on FILM's map of a corpus.

``python -m benchmarks.ranks [--sizes 50000 537000]``. The sweep multiplies every text with every
other, in float32 by the same threads, and looks at nothing: less than any search without bounds.
It runs once in each case, the ranks three times, of which the median counts. Where ranks up to
k_max differ from ranks counted whole, the run fails. ``--cache`` keeps the maps; a case is recorded
as soon as it is measured.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.support.bench_corpus import bench_corpus
from benchmarks.support.records import record
from estimators import FILM
from film.metric import triplets_from_pairs
from film.pairs import neighbour_ranks

SIZES = (50_000, 537_000)
K_MAX = 55
# Pairs that FILM learns from, and pairs whose ranks are also counted whole.
TRAINED_PAIRS, CHECKED_PAIRS = 100_000, 1_000
SWEEP_ROWS = 256
UNITS = {"search": "s", "sweep": "s"}


def main(arguments: list[str] | None = None) -> int:
    """Measure each size; status 1 where a rank is not the one counted whole."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
    parser.add_argument("--rank", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cache", metavar="DIR", default="out/ranks", help="keeps the maps")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    if options.quick:
        options.sizes, options.rank, options.repeats = [2000], 40, 1
    for n in options.sizes:
        points, pairs = mapped(n, options.rank, Path(options.cache))
        row = measure(points, pairs, options.repeats)
        case = f"{len(pairs)} pairs of {n} texts, rank {options.rank}, up to {K_MAX}"
        print(case, row, flush=True)
        if row["agreement"] < 1:
            print("benchmarks.ranks: ranks differ from those counted whole", file=sys.stderr)
            return 1
        if options.quick and not options.out:
            continue
        for metric, value in row.items():
            record("ranks", case, metric, value, UNITS.get(metric, ""), seed=0, folder=options.out)
    return 0


def mapped(n: int, rank: int, cache: Path) -> tuple[np.ndarray, np.ndarray]:
    """Give FILM's map of a bench corpus in float32, and its pairs."""
    path = cache / f"{n}-{rank}.npz"
    if path.exists():
        with np.load(path) as kept:
            return kept["points"], kept["pairs"]
    corpus = bench_corpus(n)
    X = TfidfVectorizer().fit_transform(corpus.texts)
    trained = slice(0, TRAINED_PAIRS)
    triplets = triplets_from_pairs(
        corpus.pairs[trained],
        (corpus.kinds[trained] == "copy").astype(int),
        n,
        n_random=5,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = FILM(d=min(100, rank), rank=rank, random_state=0).fit(X, triplets).transform(X)
    points = points.astype(np.float32)
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, points=points, pairs=corpus.pairs)
    unfinished.replace(path)
    return points, corpus.pairs


def measure(points: np.ndarray, pairs: np.ndarray, repeats: int) -> dict[str, float]:
    """Time one sweep and some searches; check a part of the ranks."""
    sweep = swept(points)
    print(f"sweep of {len(points)} texts: {sweep:.1f} s", flush=True)
    seconds, ranks = [], np.empty(0)
    for _ in range(repeats):
        started = time.perf_counter()
        ranks = neighbour_ranks(points, pairs, k_max=K_MAX)
        seconds.append(time.perf_counter() - started)
        print(f"ranks: {seconds[-1]:.1f} s", flush=True)
    whole = neighbour_ranks(points, pairs[:CHECKED_PAIRS])
    agreement = np.mean(np.minimum(whole, K_MAX) == ranks[:CHECKED_PAIRS])
    return {
        "search": round(float(np.median(seconds)), 2),
        "sweep": round(sweep, 2),
        "of_sweep": round(float(np.median(seconds)) / sweep, 4),
        "inside": round(float(np.mean(ranks < K_MAX)), 4),
        "agreement": float(agreement),
    }


def swept(points: np.ndarray) -> float:
    """Seconds in which all cosines are multiplied, block by block into the same memory."""
    units = points / np.maximum(np.linalg.norm(points, axis=1), 1e-30)[:, None]
    block = np.empty((SWEEP_ROWS, len(units)), dtype=np.float32)
    started = time.perf_counter()
    for start in range(0, len(units), SWEEP_ROWS):
        rows = units[start : start + SWEEP_ROWS]
        np.matmul(rows, units.T, out=block[: len(rows)])
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())

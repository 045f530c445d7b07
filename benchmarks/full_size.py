"""The whole job at the size of all of Quora: seconds and peak memory of each stage.

``python -m benchmarks.full_size`` takes the bench corpus with as many texts and pairs as Quora
Question Pairs has (537,933 and 404,290), and does what the paper gives 20 to 30 minutes: word
TF-IDF, decomposition, FILM with 100 dimensions, the ranks of all pairs from both sides up to 55,
and the rates of the Pairwise kNN rule at the best k. Questions of a fifth of the pairs, and of no
other pair, are held out: FILM and the rates come from the rest, the figures from these. Each stage
is recorded as it ends. Memory is that of the process, texts included.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from benchmarks.support.bench_corpus import PAIRS_PER_TEXT, bench_corpus
from benchmarks.support.records import record
from estimators import FILM
from film.corpus import connected_groups
from film.metric import triplets_from_pairs
from film.pairs import (
    calibration_error,
    effective_ranks,
    neighbour_ranks,
    rates_over_k,
    row_cosines,
)

K_MAX = 55
HELD_OUT = 5
"""One pair of so many is held out."""
PARTS = ("truncated_svd", "solve")
"""Functions of the fit that are rows of their own."""


class Stages:
    """Seconds and peak memory of stages, recorded one by one."""

    def __init__(self, title: str, folder: str | None, keep: bool) -> None:
        self.total, self.peak = 0.0, 0.0
        self._title, self._folder, self._keep = title, folder, keep

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, float]]:
        """Time what happens inside; figures put into the dictionary are recorded with it."""
        _forget_peak()
        figures: dict[str, float] = {}
        started = time.perf_counter()
        yield figures
        seconds, peak = time.perf_counter() - started, _peak()
        self.total, self.peak = self.total + seconds, max(self.peak, peak)
        self.row(name, {"seconds": seconds, "peak": peak} | figures)

    def row(self, name: str, figures: dict[str, float]) -> None:
        """Print and record figures."""
        figures = {key: round(float(value), 4) for key, value in figures.items()}
        print(name, figures, flush=True)
        for metric, value in figures.items() if self._keep else ():
            unit = {"seconds": "s", "peak": "MB"}.get(metric, "")
            case = f"{self._title}: {name}"
            record("full_size", case, metric, value, unit, seed=0, folder=self._folder)


def main(arguments: list[str] | None = None) -> int:
    """Run every stage once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.full_size", description=__doc__)
    parser.add_argument("--size", type=int, default=537_933, help="texts")
    parser.add_argument("--rank", type=int, default=300)
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="3000 texts, rank 60, 20 dimensions")
    options = parser.parse_args(arguments)
    if options.quick:
        options.size, options.rank, options.dimensions = 3000, 60, 20
    n_pairs = round(PAIRS_PER_TEXT * options.size)
    title = f"{options.size:,} texts, {n_pairs:,} pairs, rank {options.rank}"
    stages = Stages(title, options.out, bool(options.out) or not options.quick)
    run(options.size, n_pairs, options.rank, options.dimensions, stages)
    return 0


def run(size: int, n_pairs: int, rank: int, d: int, stages: Stages) -> None:
    """Do the job; the corpus itself is made before the clock starts."""
    warnings.simplefilter("ignore")
    corpus = bench_corpus(size, n_pairs)
    texts, pairs, y = [*corpus.texts, ""], corpus.pairs, corpus.kinds == "copy"
    held_out = held_out_pairs(pairs, size)
    with stages.stage("vectorise"):
        X = TfidfVectorizer(dtype=np.float32).fit_transform(texts)
    profiler = cProfile.Profile()
    with stages.stage("fit FILM") as figures:
        triplets = triplets_from_pairs(
            pairs[~held_out], y[~held_out], len(texts), n_random=5, null=size, random_state=0
        )
        model = profiler.runcall(FILM(d=d, rank=rank, random_state=0).fit, X, triplets)
        figures |= {"n_triplets": len(triplets), "rounds": model.n_iter_}
    stats: dict[Any, Any] = pstats.Stats(profiler).stats  # pyright: ignore
    for name in PARTS:
        seconds = sum(row[3] for key, row in stats.items() if key[2] == name)
        stages.row(f"fit FILM, of that {name}", {"seconds": seconds})
    with stages.stage("map all texts"):
        points = model.transform(X)
    with stages.stage("ranks of all pairs, both ways"):
        ranks = neighbour_ranks(points, pairs, k_max=K_MAX)
    with stages.stage("rates and calibration") as figures:
        effective = effective_ranks(ranks)
        rates = rates_over_k(effective[~held_out], y[~held_out], range(1, K_MAX + 1))
        best = int(rates.log_loss.argmin())
        k, truth = int(rates.ks[best]), y[held_out]
        inside = effective[held_out] < k
        p = np.where(inside, rates.inside_rate[best], rates.outside_rate[best])
        cosines = row_cosines(points[pairs[held_out, 0]], points[pairs[held_out, 1]])
        figures |= {
            "k": k,
            "accuracy": (inside == truth).mean(),
            "calibration_error": calibration_error(truth, p),
            "roc_auc": roc_auc_score(truth, cosines),
        }
    stages.row("all stages", {"seconds": stages.total, "peak": stages.peak})


def held_out_pairs(pairs: np.ndarray, n_texts: int) -> np.ndarray:
    """Pairs of a fifth of the groups of texts that pairs join, but for the largest group."""
    groups = connected_groups(pairs, n_texts)[pairs[:, 0]]
    found, sizes = np.unique(groups, return_counts=True)
    small = found[sizes < max(2, len(pairs) // HELD_OUT)]
    rng = np.random.default_rng(0)
    order = rng.permutation(small)
    counts = sizes[np.searchsorted(found, order)].cumsum()
    return np.isin(groups, order[counts <= len(pairs) // HELD_OUT])


def _peak() -> float:
    """Most MB that this process held since `_forget_peak`, or ever where the system cannot say."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return float(line.split()[1]) / 1000
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _forget_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    sys.exit(main())

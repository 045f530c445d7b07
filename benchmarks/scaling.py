"""Time and peak memory against the number of texts, with all rows in blocks on disk; then Dask.

``python -m benchmarks.scaling [--sizes 50000 100000 ...]`` vectorises, fits FILM, maps and counts
ranks, each size in a process of its own that reads its texts from blocks. Then the same on a local
Dask cluster, two worker processes against one, each with one BLAS thread and one core, with the
ranks of all pairs; what is left to the process that asks, such as solving for the map, has all
cores in both runs. Beside it stands what two processes of nothing but matrix products reach on two
cores of the machine, against one. A row is recorded as soon as it is measured, and a case that this
commit has recorded is not measured again.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from benchmarks.support.bench_corpus import bench_corpus
from benchmarks.support.records import RESULTS, commit, record
from estimators import FILM, fit_vectorizer, transform_blocks
from film.corpus import RowBlocks, cut_rows, write_blocks
from film.metric import triplets_from_pairs
from film.pairs import block_ranks

BENCH = "scaling"
SIZES = (50_000, 100_000, 250_000, 500_000, 1_000_000)
DASK_SIZE = 200_000
MOST_PAIRS = 404_290
RANKED_PAIRS = 30_000
PRODUCT_SECONDS = 5
K_MAX = 55
STAGES = ("vectorise", "fit", "transform", "ranks")


def main(arguments: list[str] | None = None) -> int:
    """Run all cases, or the one whose process this is."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{BENCH}", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
    parser.add_argument("--dask-size", type=int, default=DASK_SIZE, metavar="N")
    parser.add_argument("--repeats", type=int, default=3, help="of the runs on Dask")
    parser.add_argument("--rank", type=int, default=300)
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--work", metavar="DIR", help="folder for the blocks; a temporary one")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.sizes, options.dask_size, options.rank, options.repeats = [500, 1000], 500, 20, 1
    if options.stage:
        name, _, n = options.stage.partition(" ")
        run = {
            "corpus": make_corpus,
            "alone": alone,
            "dask1": on_dask,
            "dask2": on_dask,
            "products": products,
        }[name]
        print(json.dumps(run(Path(options.work), int(n), options.rank, name)))
        return 0
    fits: dict[int, float] = {}
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        for n in options.sizes:
            case = f"{n} texts, rank {options.rank}"
            row = recorded(case, options.out)
            if row is None:
                _process(options, folder, f"corpus {n}")
                row = _process(options, folder, f"alone {n}")
                _record(options, case, row)
            print(case, row, flush=True)
            fits[n] = row["vectorise"] + row["fit"]
        if len(fits) > 1:
            slope = np.polyfit(np.log(list(fits)), np.log(list(fits.values())), 1)[0]
            print(f"log-log slope of vectorise and fit: {slope:.2f}", flush=True)
            span = f"{min(fits)} to {max(fits)} texts, rank {options.rank}"
            if recorded(span, options.out) is None:
                _record(options, span, {"slope": round(float(slope), 3)})
        _compare(options, folder)
        _compare_products(options, folder)
    return 0


def _compare(options: argparse.Namespace, folder: str) -> None:
    """Two workers against one, in turns, by the median of each stage."""
    n = options.dask_size
    case = f"Dask, two workers, {n} texts, rank {options.rank}"
    if recorded(case, options.out) is not None:
        return
    _process(options, folder, f"corpus {n}")
    runs: dict[str, list[dict[str, float]]] = {"dask1": [], "dask2": []}
    for _ in range(options.repeats):
        for name, rows in runs.items():
            rows.append(_process(options, folder, f"{name} {n}"))
            print(name, rows[-1], flush=True)
    one, two = (
        {key: float(np.median([row[key] for row in rows])) for key in rows[0]}
        for rows in runs.values()
    )
    for row in (one, two):
        row["total"] = round(sum(row[stage] for stage in STAGES), 2)
    ratio = {"speedup": round(one["total"] / two["total"], 3)}
    print(case, two, "one worker", one, ratio, flush=True)
    _record(options, case.replace("two workers", "one worker"), one)
    _record(options, case, two | ratio, rival="one worker", rivals=one)


def _compare_products(options: argparse.Namespace, folder: str) -> None:
    """Compare what two cores do of the same products at once with what one does."""
    case = "two processes of matrix products, one core each"
    if recorded(case, options.out) is not None or len(os.sched_getaffinity(0)) < 2:
        return
    ratios = []
    for _ in range(options.repeats):
        one, two = (_products_at_once(options, folder, n) for n in (1, 2))
        ratios.append(two / one)
    row = {"speedup": round(float(np.median(ratios)), 3)}
    print(case, row, flush=True)
    _record(options, case, row)


def _products_at_once(options: argparse.Namespace, folder: str, n: int) -> float:
    with ThreadPoolExecutor(n) as pool:
        rows = pool.map(lambda core: _process(options, folder, f"products {core}"), range(n))
        return sum(row["rate"] for row in rows)


def products(work: Path, n: int, rank: int, name: str) -> dict[str, float]:
    """Products of single-precision matrices a second, for some seconds on core number ``n``."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[n]})
    A = np.ones((1000, 1000)).astype(np.float32)
    done, passed, started = 0, 0.0, time.perf_counter()
    with threadpool_limits(1):
        while passed < PRODUCT_SECONDS:
            np.dot(A, A)
            done, passed = done + 1, time.perf_counter() - started
    return {"rate": done / passed}


def make_corpus(work: Path, n: int, rank: int, name: str) -> dict[str, float]:
    """Write the texts in blocks, and the pairs, apart from what is measured."""
    n_pairs = min(MOST_PAIRS, round(0.75 * n))
    corpus = bench_corpus(n, n_pairs)
    size = max(100, min(65_536, n // 8))
    write_blocks(work / f"texts{n}", cut_rows(corpus.texts, size))
    np.savez(work / f"pairs{n}.npz", pairs=corpus.pairs, y=corpus.kinds == "copy")
    return {}


def alone(work: Path, n: int, rank: int, name: str) -> dict[str, float]:
    """Run all stages in this process, with as many BLAS threads as there are."""
    row = stages(work, n, rank)
    return row | {"peak": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)}


def on_dask(work: Path, n: int, rank: int, name: str) -> dict[str, float]:
    """Run all stages on a local cluster of so many workers."""
    with workers(int(name[-1])), parallel_config("dask", n_jobs=4):
        return stages(work, n, rank, n_ranked=None)


@contextmanager
def workers(n_workers: int) -> Iterator[None]:
    """Hold a local cluster whose workers have one core and one BLAS thread each.

    A cluster of one thread is left out by joblib, which would run its tasks here, on all cores: a
    worker that is alone has two threads for its one core.
    """
    import dask
    from distributed import Client, LocalCluster

    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": dict.fromkeys(threads, 1)}),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=2 if n_workers == 1 else 1,
            processes=True,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        # The workers import before the clock runs. Each has a core of its own, so that one worker
        # is not helped by threads of ours on a core that a second one would have.
        client.run(_import)
        cores = sorted(os.sched_getaffinity(0))
        for number, address in enumerate(client.scheduler_info()["workers"]):
            client.run(_pin, cores[number % len(cores)], workers=[address])
        yield


def _pin(core: int) -> None:
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def _import() -> None:
    for name in ("sklearn.feature_extraction.text", "estimators.inputs", "film.pairs"):
        module = importlib.import_module(name)
        for exported in getattr(module, "__all__", ()):
            getattr(module, exported, None)


def stages(work: Path, n: int, rank: int, n_ranked: int | None = RANKED_PAIRS) -> dict[str, float]:
    """Seconds of each stage, from texts in blocks to ranks of some pairs or of all."""
    warnings.simplefilter("ignore")
    texts = RowBlocks(work / f"texts{n}")
    known = np.load(work / f"pairs{n}.npz")
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=work) as folder:
        started = time.perf_counter()

        def told(stage: str) -> None:
            nonlocal started
            now = time.perf_counter()
            seconds[stage], started = round(now - started, 2), now

        vectorizer = fit_vectorizer(TfidfVectorizer(dtype=np.float32, min_df=2), texts)
        X = transform_blocks(vectorizer, texts, f"{folder}/x")
        told("vectorise")
        triplets = triplets_from_pairs(known["pairs"], known["y"], n, n_random=5, random_state=0)
        metric = FILM(d=min(100, rank // 2), rank=rank, random_state=0).fit(X, triplets)
        told("fit")
        Y = transform_blocks(metric, X, f"{folder}/y")
        told("transform")
        pairs = known["pairs"][:n_ranked]
        ranks = block_ranks(Y, pairs, k_max=K_MAX)
        told("ranks")
        ordered = (ranks.max(axis=1) < 10) == known["y"][: len(pairs)]
    return seconds | {"accuracy": round(float(ordered.mean()), 4), "features": X.shape[1]}


def recorded(case: str, folder: str | None) -> dict[str, float] | None:
    """Figures of a case that this commit has recorded, by metric."""
    path = Path(folder or RESULTS) / f"{BENCH}.jsonl"
    if not path.exists():
        return None
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    found = {
        row["metric"]: row["value"]
        for row in rows
        if row["case"] == case and row["commit"] == commit()
    }
    return found or None


def _record(
    options: argparse.Namespace,
    case: str,
    row: dict[str, float],
    rival: str | None = None,
    rivals: dict[str, float] | None = None,
) -> None:
    units = dict.fromkeys((*STAGES, "total"), "s") | {"peak": "MB"}
    if options.quick and not options.out:
        return
    for metric, value in row.items():
        record(
            BENCH,
            case,
            metric,
            value,
            units.get(metric, ""),
            rival=rival,
            rival_value=(rivals or {}).get(metric),
            seed=0,
            folder=options.out,
        )


def _process(options: argparse.Namespace, folder: str, stage: str) -> dict[str, Any]:
    command = [sys.executable, "-m", f"benchmarks.{BENCH}", "--stage", stage, "--work", folder]
    command += ["--rank", str(options.rank)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())

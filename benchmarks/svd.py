"""Truncated SVD of a corpus as large as all of Quora: time, memory and captured energy of rivals.

``python -m benchmarks.svd [--ranks 300 1000]`` decomposes TF-IDF of the bench corpus, 537,933
texts. Captured energy is Σσ² as a share of that of the converged decomposition, which ARPACK's row
confirms where it ends in time. scikit-learn and fbpca take the fewest iterations that reach 0.995
of it, found beforehand on XᵀX, where their subspaces are the same. Every run has a process of its
own; seconds are medians of three where one takes under a minute. ``profile`` says where the seconds
of ours go, beside the rate of a product of two large matrices.

Rows are recorded as they are measured, and ``--work`` keeps them: a second call goes on where the
first was stopped. fbpca (``pip install film-metric[bench]``) and PRIMME (``pip install primme``,
which is built from source) are left out where absent.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import resource
import statistics
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.extmath import randomized_svd

from benchmarks.support.bench_corpus import bench_corpus
from benchmarks.support.records import commit, record
from film.metric import project, truncated_svd

SHARE = 0.995
RIVAL = "scikit-learn"
OURS = "film, block Krylov"
CASES = (RIVAL, OURS, "fbpca", "PRIMME", "ARPACK", "profile")
PACKAGES = {"fbpca": "fbpca", "PRIMME": "primme"}
UNITS = {"seconds": "s", "peak": "MB", "gemm_rate": "Gflop/s"}
MOST_ITERATIONS = 12
PRIMME_TOLERANCE = 1e-2
SHORT = 60.0
"""Seconds under which a run is repeated."""
STAGES = {
    "XᵀX": ("gram.py", "feature_gram"),
    "products with XᵀX": ("gram.py", "times"),
    "orthogonalisation against the space": ("krylov.py", "_next_block"),
    "orthogonalisation inside blocks": ("krylov.py", "orthonormalise"),
    "eigenvalues, to know when to stop": ("krylov.py", "_captured"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run all cases at each rank, or one of them where this is its process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.svd", description=__doc__)
    parser.add_argument("--size", type=int, default=537_933, help="texts")
    parser.add_argument("--ranks", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--work", metavar="DIR", default="out/svd", help="matrix and finished rows")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds for one run")
    parser.add_argument("--quick", action="store_true", help="3000 texts at rank 40")
    parser.add_argument("--case", choices=(*CASES, "reference"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.size, options.ranks = 3000, [40]
    folder = Path(options.work) / str(options.size)
    folder.mkdir(parents=True, exist_ok=True)
    if options.case:
        X = sp.csr_array(sp.load_npz(folder / "X.npz"))
        print(json.dumps(measure(X, options.case, options.ranks[0], _reference(folder, options))))
        return 0
    shape = _make_matrix(folder, options.size)
    for rank in options.ranks:
        title = f"{shape}, rank {rank}"
        print(title, flush=True)
        reference = _once(folder, options, rank, "reference")
        if reference is None:
            print(f"no reference within {options.time_limit:g} s", flush=True)
            continue
        rival: dict[str, float] = {}
        for case in CASES:
            if case in PACKAGES and find_spec(PACKAGES[case]) is None:
                print(f"{case}: not installed, left out", flush=True)
                continue
            row = _once(folder, options, rank, case)
            print(case, row or f"more than {options.time_limit:g} s, or failed", flush=True)
            if row is None or row.pop("old", False):
                continue
            rival = row if case == RIVAL else rival
            if options.quick and not options.out:
                continue
            for metric, value in row.items():
                stage = case == "profile" and metric not in UNITS
                kind = "profile" if case == "profile" else "rivals"
                name = metric if stage else "all" if case == "profile" else case
                record(
                    "svd",
                    f"{kind}: {title}: {name}",
                    "seconds" if stage else metric,
                    value,
                    "s" if stage else UNITS.get(metric, ""),
                    rival=RIVAL,
                    rival_value=rival.get(metric),
                    seed=0,
                    folder=options.out,
                )
    return 0


def measure(X: Any, case: str, rank: int, reference: dict[str, float]) -> dict[str, float]:
    """Run one case once."""
    warnings.simplefilter("ignore")
    if case == "reference":
        energy = _energy(truncated_svd(X, rank, tol=1e-6, random_state=0).singular_values)
        return {"energy": energy, "iterations": fewest_iterations(X, rank, SHARE * energy)}
    if case == "profile":
        return profile(X, rank)
    iterations = int(reference["iterations"])
    started = time.perf_counter()
    if case == RIVAL:
        values = randomized_svd(X, rank, n_iter=iterations, random_state=0)[1]
    elif case == OURS:
        values = truncated_svd(X, rank, random_state=0).singular_values
    elif case == "fbpca":
        from fbpca import pca

        np.random.seed(0)  # noqa: NPY002, for fbpca draws from it
        values = pca(sp.csr_matrix(X), rank, raw=True, n_iter=iterations, l=rank + 10)[1]
    elif case == "PRIMME":
        from primme import svds as primme_svds

        values = primme_svds(sp.csr_matrix(X), rank, tol=PRIMME_TOLERANCE)[1]
    else:
        values = svds(X, rank, solver="arpack", rng=0)[1]
    row = {"seconds": time.perf_counter() - started, "peak": _peak()}
    row["captured"] = round(_energy(values) / reference["energy"], 5)
    return row | ({"iterations": iterations} if case in (RIVAL, "fbpca") else {})


def fewest_iterations(X: Any, rank: int, energy: float) -> int:
    """Power iterations after which a randomized SVD with ten spare columns captures the energy.

    After q of them its basis is that of X Z, with Z of the span of (XᵀX)^q Ω, so that what it
    captures are eigenvalues of (GZ)ᵀ(GZ) relative to ZᵀGZ, G = XᵀX.
    """
    G = sp.csr_array(X.T @ X)
    Z = np.random.default_rng(0).standard_normal((X.shape[1], rank + 10)).astype(X.dtype)
    for q in range(MOST_ITERATIONS):
        Z = np.linalg.qr(Z)[0]
        image = project(G, Z.T)
        inner, outer = (np.asarray(M.T @ image, dtype=float) for M in (Z, image))
        half = np.linalg.inv(np.linalg.cholesky(inner))
        captured = np.linalg.eigvalsh(half @ outer @ half.T)[-rank:].sum()
        print(f"rank {rank}, {q} iterations: {captured / energy * SHARE:.4f}", file=sys.stderr)
        if captured >= energy:
            return q
        Z = image
    return MOST_ITERATIONS


def profile(X: Any, rank: int) -> dict[str, float]:
    """Seconds of the stages of one decomposition, and the rate of a plain product."""
    a = np.ones((4000, 4000), dtype=np.float32)
    rates = []
    for _ in range(4):
        started = time.perf_counter()
        a @ a
        rates.append(2 * len(a) ** 3 / (time.perf_counter() - started) / 1e9)
    profiler = cProfile.Profile()
    started = time.perf_counter()
    profiler.runcall(truncated_svd, X, rank, random_state=0)
    row = {"seconds": time.perf_counter() - started, "gemm_rate": max(rates)}
    stats: dict[Any, Any] = pstats.Stats(profiler).stats  # pyright: ignore
    for stage, (file, name) in STAGES.items():
        row[stage] = _cumulated(stats, file, name)
    row["V = X U diag(1/σ)"] = _cumulated(stats, "products.py", "threaded_product", "truncated_svd")
    row["all else"] = row["seconds"] - sum(v for stage, v in row.items() if stage not in UNITS)
    return row


def _cumulated(stats: dict[Any, Any], file: str, name: str, caller: str | None = None) -> float:
    seconds = 0.0
    for (path, _, function), (_, _, _, total, callers) in stats.items():
        if path.endswith(f"decomposition/{file}") and function == name:
            parts = [times[3] for source, times in callers.items() if source[2] == caller]
            seconds += sum(parts) if caller else total
    return seconds


def _once(
    folder: Path, options: argparse.Namespace, rank: int, case: str
) -> dict[str, float] | None:
    """Give the row of a case; one that was measured by an earlier call is marked ``old``."""
    # What is ours is measured again when it has changed.
    of = f" at {commit()}" if case in (OURS, "profile") else ""
    path = folder / f"{case} {rank}{of}.json".replace(" ", "_").replace(",", "")
    if path.exists():
        return json.loads(path.read_text()) | {"old": True}
    command = [sys.executable, "-m", "benchmarks.svd", "--case", case, "--ranks", str(rank)]
    command += ["--size", str(options.size), "--work", options.work]
    rows: list[dict[str, float]] = []
    while len(rows) < 3:
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, timeout=options.time_limit, check=True
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            break
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        if case in ("reference", "profile") or rows[-1]["seconds"] > SHORT:
            break
    if not rows:
        return None
    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    if "seconds" in middle:
        middle = {key: round(value, 5 if key == "captured" else 2) for key, value in middle.items()}
    if "captured" in middle:
        middle["runs"] = len(rows)
    path.write_text(json.dumps(middle))
    return middle


def _reference(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    path = folder / f"reference_{options.ranks[0]}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def _make_matrix(folder: Path, size: int) -> str:
    """TF-IDF of the bench corpus, made once; gives its shape in words."""
    path = folder / "X.npz"
    if not path.exists():
        texts = bench_corpus(size, 0).texts
        made = TfidfVectorizer(dtype=np.float32).fit_transform(texts)
        sp.save_npz(folder / "made.npz", sp.csr_array(made), compressed=False)
        (folder / "made.npz").replace(path)
    X = sp.load_npz(path)
    return f"{X.shape[0]:,} × {X.shape[1]:,}"


def _energy(values: np.ndarray) -> float:
    return float(np.square(values, dtype=np.float64).sum())


def _peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)


if __name__ == "__main__":
    sys.exit(main())

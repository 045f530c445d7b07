"""FILM-BERT beside FILM over the same frozen model: the FILM paper's Tables 1 and 3.

``python -m benchmarks.triplet_network [--data DIR] [--out DIR] [--quick] [--inside]`` takes a
folder with train.csv and dev.csv of Quora Question Pairs; without ``--data`` it makes pairs itself.
Question-disjoint, four fifths of train give the triplets, by FILM's own generator, and the last
fifth the calibration of the cosine and the k of the Pairwise kNN rule; dev is judged once by each.
All texts are encoded once by the packaged all-MiniLM-L6-v2, which saw Quora's duplicates when it
was made. Ranks run over the texts of train and dev (collection mode).

Every case has a process of its own, one after the other, with one thread, so that its seconds and
its peak memory are its own; encoding is not in them. ``--inside`` judges no dev pair: the same and
further networks are compared by the AUC of their cosine on the last fifth of train, in rows whose
names say "inside train". ``--quick`` takes few pairs and triplets, and records only where ``--out``
says so.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.quora_data import generated, read_folder
from benchmarks.support.records import record
from benchmarks.support.significance import record_differences
from estimators import FILM, DisjointPairsKFold, TokenEncoder, TripletNetwork
from estimators.inputs import TextIndex
from film.metric import triplets_from_pairs
from film.pairs import binary_log_loss, effective_ranks, neighbour_ranks, row_cosines
from film.tokens import Ragged

LENGTH = 32
KS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 36, 45, 55, 70, 100)
JUDGED = ("calibration", "y_calibration", "judged", "y_judged")
BASELINE = "mean of token vectors"
LEARNED = {"d": 100, "rank": 384, "whitening": 0.5, "margin": 1.0}
FEW, MANY = 2_000, 20_000
"""Triplets that a core learns from in a minute: by 3 × 3 kernels, and along length."""
ALONG = {"axes": "length", "train_batch_size": 64}
WIDE = ALONG | {"channels": [256, 256, 256], "readout": "mean"}
FROM_MEANS = ALONG | {"residual": True, "width": 384, "channels": [64, 64, 64]}
CASES: dict[str, tuple[int, dict[str, Any] | None]] = {
    f"{MANY} triplets: FILM of means": (MANY, None),
    f"{MANY} triplets: along length, from the means, hinge, margin 1": (
        MANY,
        FROM_MEANS | {"margin": 1.0},
    ),
    f"{MANY} triplets: along length, wider, mean readout, hinge, margin 1": (
        MANY,
        WIDE | {"margin": 1.0},
    ),
    f"{MANY} triplets: along length, N-pair": (MANY, ALONG | {"objective": "n_pair"}),
    f"{FEW} triplets: FILM of means": (FEW, None),
    f"{FEW} triplets: 3 × 3, hinge": (FEW, {}),
    f"{MANY} triplets: along length, hinge": (MANY, ALONG),
    f"{FEW} triplets: 3 × 3, N-pair": (FEW, {"objective": "n_pair"}),
    f"{MANY} triplets: 3 × 3, N-pair": (MANY, {"objective": "n_pair"}),
    f"{MANY} triplets: along length, wider, mean readout, N-pair": (
        MANY,
        WIDE | {"objective": "n_pair"},
    ),
    "all triplets: FILM of means": (0, None),
    f"{MANY} triplets: along length, from the means, N-pair": (
        MANY,
        FROM_MEANS | {"objective": "n_pair"},
    ),
}
"""By name: triplets learned from, 0 for all, and parameters of the network, None for FILM."""
TRIES: dict[str, tuple[int, dict[str, Any] | None]] = {
    f"{MANY} triplets: along length, from the means, hinge, margin 0.5": (
        MANY,
        FROM_MEANS | {"margin": 0.5},
    ),
    f"{2 * MANY} triplets: along length, from the means, hinge, margin 1.5": (
        2 * MANY,
        FROM_MEANS | {"margin": 1.5},
    ),
    f"{MANY} triplets: along length, from the means, mean readout, hinge, margin 1, two passes": (
        MANY,
        FROM_MEANS | {"margin": 1.0, "readout": "mean", "epochs": 2},
    ),
}
"""Networks that were compared inside train alone."""
INSIDE = ("roc_auc", "training_seconds", "peak")
"""Figures that hold inside train, whose judged pairs also set the calibration and the k."""
PROBABILITIES = "probabilities.npy"
UNITS = {"training_seconds": "s", "peak": "MB"}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.triplet_network", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--data", metavar="DIR", help="folder with train.csv and dev.csv")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--cache", metavar="DIR", help="folder that keeps encodings of texts")
    parser.add_argument("--model", help="frozen model, by default the packaged one")
    parser.add_argument("--quick", action="store_true", help="few pairs, under a minute")
    parser.add_argument("--inside", action="store_true", help="compare inside train, not on dev")
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose names hold this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case:
        print(json.dumps(run_case(Path(options.folder), json.loads(options.case), options.seed)))
        return 0
    try:
        name, pairs, problem = make_problem(options)
    except (OSError, ValueError) as error:
        print(f"benchmarks.triplet_network: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        for file, array in problem.items():
            np.save(Path(scratch, f"{file}.npy"), array)
        labels, share = problem["y_judged"], float(problem["y_calibration"].mean())
        del problem
        cases: dict[str, tuple[int, Any]] = {BASELINE: (-1, None)} | CASES
        if options.inside:
            cases |= TRIES
        chosen = {n: c for n, c in cases.items() if options.only in n or n == BASELINE}
        if options.quick:
            chosen = {n: (min(c[0], 300), c[1]) for n, c in chosen.items()}
        baseline: dict[str, float] = {}
        for case, (n_triplets, params) in chosen.items():
            row = in_process(Path(scratch), n_triplets, params, options)
            if options.inside:
                row = {metric: row[metric] for metric in INSIDE}
            baseline = baseline or row
            shown = ", ".join(f"{metric} {value:.4g}" for metric, value in row.items())
            print(f"{name}: {case}: {shown}", flush=True)
            if options.out or not options.quick:
                title = f"{name}: {case}{' (quick)' if options.quick else ''}"
                _record(title, row, baseline, options)
                p = np.load(Path(scratch, PROBABILITIES))
                record_pairs(
                    "triplet_network", title, pairs, labels, p,
                    share=None if options.inside else share, seed=options.seed, folder=options.out,
                )  # fmt: skip
    if options.out or not options.quick:
        record_differences("triplet_network", options.out)
    return 0


def make_problem(options: argparse.Namespace) -> tuple[str, np.ndarray, dict[str, np.ndarray]]:
    """Name of the data, the pairs judged, and arrays that a case needs."""
    if options.data is None:
        data = generated(600 if options.quick else 8000, options.seed)
    else:
        limit = 600 if options.quick else None
        data = read_folder(Path(options.data), on_error="raise", limit=limit, seed=options.seed)
    index = TextIndex("token_text")
    null = int(index.add([""])[0])
    train, dev = index.add_pairs(data.train), index.add_pairs(data.dev)
    folds = DisjointPairsKFold(5, random_state=options.seed).split(data.train, data.y_train)
    fitted, held = next(iter(folds))
    kept = fitted[(train[fitted] != null).all(axis=1)]
    # Random dissimilar texts are drawn from those that are fitted, and from no others.
    used, local = np.unique(np.append(train[kept].ravel(), null), return_inverse=True)
    triplets = triplets_from_pairs(
        local[:-1].reshape(-1, 2), data.y_train[kept], len(used),
        n_random=5, null=int(local[-1]), random_state=options.seed,
    )  # fmt: skip
    encoder = TokenEncoder(
        options.model, max_length=LENGTH, device="cpu", cache=options.cache, verbose=1
    ).fit(index.texts)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "max_length=|.*texts have tokens", UserWarning)
        tokens = encoder.transform(index.texts)
    # Means and networks alike leave special tokens in, and give a text without words 0.
    means = np.add.reduceat(tokens.values, tokens.starts[:-1], axis=0) / tokens.lengths[:, None]
    means[null] = 0
    pairs, judged = (data.dev, data.y_dev), dev
    if options.inside:
        pairs, judged = (data.train[held], data.y_train[held]), train[held]
    return (
        f"{data.name}{', inside train' if options.inside else ''}",
        pairs[0],
        {
            "values": tokens.values.astype(np.float16),
            "starts": tokens.starts,
            "is_special": np.asarray(tokens.is_special),
            "means": means.astype(np.float32),
            "triplets": used[triplets],
            "calibration": train[held],
            "y_calibration": data.y_train[held],
            "judged": judged,
            "y_judged": pairs[1],
        },
    )


def in_process(
    folder: Path, n_triplets: int, params: dict[str, Any] | None, options: argparse.Namespace
) -> dict[str, float]:
    """Run a case in a process of its own with one thread."""
    command = [sys.executable, "-m", "benchmarks.triplet_network", "--folder", str(folder)]
    command += ["--case", json.dumps([n_triplets, params]), "--seed", str(options.seed)]
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, env=os.environ | one,
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def run_case(folder: Path, case: list[Any], seed: int) -> dict[str, float]:
    """Fit one case and judge it."""
    n_triplets, params = case
    given = {path.stem: path for path in folder.glob("*.npy")}
    triplets = np.load(given["triplets"])
    if 0 < n_triplets < len(triplets):
        rng = np.random.default_rng(seed)
        triplets = triplets[np.sort(rng.choice(len(triplets), n_triplets, replace=False))]
    used, local = np.unique(triplets, return_inverse=True)
    local = local.reshape(-1, 3)
    started = time.perf_counter()
    if params is None:
        points = np.load(given["means"])
        if n_triplets >= 0:
            warnings.simplefilter("ignore")
            metric = FILM(random_state=seed, **LEARNED).fit(points[used], local)
            seconds, points = time.perf_counter() - started, metric.transform(points)
        else:
            seconds = 0.0
    else:
        tokens = Ragged(
            *(np.load(given[name]) for name in ("values", "starts")),
            is_special=np.load(given["is_special"]),
        )
        network = TripletNetwork(
            length=LENGTH, states="float16", device="cpu", random_state=seed, **params
        ).fit(tokens[used], local)
        seconds = time.perf_counter() - started
        points = network.transform(tokens)
    peak = peak_memory()
    found, p = judge(points, {name: np.load(given[name]) for name in JUDGED})
    np.save(folder / PROBABILITIES, p)
    return found | {"training_seconds": round(seconds, 1), "peak": round(peak)}


def peak_memory() -> float:
    """Most memory that this program held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # the other figure counts what the parent held when it forked
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def judge(points: np.ndarray, data: dict[str, np.ndarray]) -> tuple[dict[str, float], np.ndarray]:
    """Decide by a calibrated cosine, whose probabilities come second, and by the kNN rule."""
    pairs = {"calibration": data["calibration"], "judged": data["judged"]}
    y = {name: data[f"y_{name}"] for name in pairs}
    cosines = {n: row_cosines(points[c[:, 0]], points[c[:, 1]]) for n, c in pairs.items()}
    head = LogisticRegression(C=100).fit(cosines["calibration"][:, None], y["calibration"])
    p = head.predict_proba(cosines["judged"][:, None])[:, 1]
    corpus = np.arange(len(points))
    ranks = {
        n: effective_ranks(neighbour_ranks(points, c, corpus), "both") for n, c in pairs.items()
    }
    right = [((ranks["calibration"] < k) == y["calibration"]).mean() for k in KS]
    k = KS[int(np.argmax(right))]
    return {
        "roc_auc": float(roc_auc_score(y["judged"], cosines["judged"])),
        "accuracy": float(((p > 0.5) == y["judged"]).mean()),
        "log_loss": binary_log_loss(y["judged"], p),
        "rule_accuracy": float(((ranks["judged"] < k) == y["judged"]).mean()),
        "k": float(k),
    }, p


def _record(
    case: str, row: dict[str, float], baseline: dict[str, float], options: argparse.Namespace
) -> None:
    for metric, value in row.items():
        if metric != "k":
            record(
                "triplet_network",
                case,
                metric,
                value,
                UNITS.get(metric, ""),
                rival=BASELINE,
                rival_value=baseline[metric],
                seed=options.seed,
                folder=options.out,
            )


if __name__ == "__main__":
    sys.exit(main())

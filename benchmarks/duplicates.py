"""Duplicate classification without a GPU, beside rivals: metrics, time and memory.

``python -m benchmarks.duplicates --data DIR`` fits on ``DIR/train.csv`` and judges ``DIR/dev.csv``.
Without ``--data`` it runs on pairs that it generates itself. The metric learners of the package
metric-learn run in an environment that the benchmark makes for them (``--rivals`` names it), since
they need an older scikit-learn. ``--quick`` records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.quora import pair_cosines
from benchmarks.rivals.environment import SCRIPTS, rival_python
from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.quora_data import (
    NEW_PAIRS,
    Splits,
    generated,
    new_pairs,
    read_folder,
)
from benchmarks.support.records import record
from benchmarks.support.significance import record_differences
from estimators import FILM, DisjointPairsKFold, LexicalFeatures, fast_duplicates, question_groups
from estimators.inputs import TextIndex, as_texts
from film.corpus import connected_groups
from film.metric import triplets_from_pairs
from film.pairs import (
    NEIGHBOURHOOD_NAMES,
    binary_log_loss,
    calibration_band,
    calibration_error,
    calibration_interval,
    prior_weights,
    row_cosines,
    shift_prior,
)

PRIOR = 0.1746
HELD_OUT = "a held-out fold of train, collection"
LEFT_OUT = {
    "neighbours": NEIGHBOURHOOD_NAMES,
    "ranks and neighbours": ("rank", *NEIGHBOURHOOD_NAMES),
}
"""Columns by what they tell."""
CASES = ("collection", "inductive", HELD_OUT)
RIVALS = ("ITML", "SCML", "LMNN", "NCA", "NCA of scikit-learn")
RIVAL_PACKAGES = ("metric-learn==0.7.0", "scikit-learn==1.5.2", "numpy<2.3", "scipy<1.16")
REDUCED = 100
UNITS = {"seconds": "s", "peak": "MB", "predict": "s"}
TFIDF = "TF-IDF cosine, logistic regression"
LEXICAL = "lexical features, logistic regression"
STACK = "fast_duplicates"


def main(arguments: list[str] | None = None) -> int:
    """Run everything, or one case; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.duplicates", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with Quora's train.csv and dev.csv")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--rivals", metavar="DIR", default="out/rivals", help="their environment")
    parser.add_argument("--rival-pairs", type=int, default=6000, help="pairs they learn from")
    parser.add_argument("--time-limit", type=float, default=900.0, help="seconds a rival may take")
    parser.add_argument("--only", choices=("stack", "metric"), help="one half of the benchmark")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    try:
        data = _data(options)
    except (OSError, ValueError) as error:
        print(f"benchmarks.duplicates: {error}", file=sys.stderr)
        return 2
    name = "quora" if options.data else "generated"
    if options.case:
        if options.case == HELD_OUT:
            data = held_out_fold(data)
        rows, probabilities = measure_stack(data, options.case, options.quick)
        for case, p in probabilities.items():
            _keep_pairs(f"{name}: {STACK}, {case}", p, data, options)
        print(json.dumps(rows))
        return 0
    if options.only != "metric":
        _stack_rows(data, options, name)
    if options.only != "stack":
        _metric_rows(data, options, name)
    if options.out or not options.quick:
        record_differences("duplicates", options.out)
    return 0


def measure_stack(
    data: Splits, case: str, quick: bool
) -> tuple[dict[str, dict[str, float]], dict[str, np.ndarray]]:
    """Fit the classifier in one mode; judge it on dev, and the same with less of the corpus.

    Gives the figures of all, and their probabilities.
    """
    corpus = None if case == "inductive" else [*data.dev.ravel(), *data.test.ravel()]
    small = {"d": 20, "rank": 60, "cv": 2} if quick else {}
    started = time.perf_counter()
    model = fast_duplicates(corpus=corpus, **small).fit(data.train, data.y_train, data.similar)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    inputs = model.inputs(data.dev)
    share, groups = float(data.y_train.mean()), question_groups(data.dev)
    p = {case: model.probabilities_of(inputs, data.dev)[:, 1]}
    rows = {case: judged(p[case], data.y_dev, share, groups)}
    new = new_pairs(data, 100 if quick else NEW_PAIRS)
    started = time.perf_counter()
    model.predict_proba(new)
    predicted = time.perf_counter() - started
    rows[case] |= {
        "seconds": round(seconds, 1),
        "peak": round(peak),
        "predict": round(predicted, 1),
    }
    for left_out, columns in LEFT_OUT.items():
        names = enumerate(model.feature_names_out_)
        kept = [i for i, name in names if not any(f": {column}" in name for column in columns)]
        plain: Any = clone(model.final_estimator_)
        if getattr(plain, "monotonic_cst", None) is not None:
            plain.set_params(monotonic_cst=np.asarray(plain.monotonic_cst)[kept])
        plain.fit(model.out_of_fold_[:, kept], data.y_train)
        less = f"{case}, without {left_out}"
        p[less] = plain.predict_proba(inputs[:, kept])[:, 1]
        rows[less] = judged(p[less], data.y_dev, share, groups)
    return rows, p


def held_out_fold(data: Splits) -> Splits:
    """Take a question-disjoint seventh of train, about as many pairs as dev, in the place of dev.

    It says how good the classifier is where questions are new and the share of duplicates is not.
    """
    kept, held = next(DisjointPairsKFold(7, random_state=5).split(data.train, data.y_train))
    similar = data.similar
    if similar is not None:
        groups = question_groups(np.concatenate([data.train, similar]))
        similar = similar[~np.isin(groups[len(data.train) :], groups[held])]
    return replace(
        data,
        train=data.train[kept],
        y_train=data.y_train[kept],
        dev=data.train[held],
        y_dev=data.y_train[held],
        test=data.test[:0],
        similar=similar,
    )


def judged(
    p: np.ndarray, y: np.ndarray, share: float, groups: np.ndarray | None = None
) -> dict[str, float]:
    """All figures of probabilities learned where the share of duplicates was ``share``.

    "perfect" names the band in which a perfectly calibrated model's calibration error lies, where
    the pairs of a group of linked questions depend on each other.
    """
    low, high = calibration_interval(y, p, n_bins=15, random_state=0)
    at_prior = shift_prior(p, share, PRIOR)
    ends = calibration_band(y, p, groups, n_bins=15, random_state=0)
    independent = calibration_band(y, p, n_bins=15, random_state=0)
    return {
        "perfect_low": ends[0],
        "perfect_high": ends[1],
        "perfect_high_independent": independent[1],
        "roc_auc": float(roc_auc_score(y, p)),
        "accuracy": float(np.mean((p > 0.5) == y)),
        "log_loss": binary_log_loss(y, p),
        "log_loss_at_prior": binary_log_loss(y, at_prior, prior_weights(y, PRIOR)),
        "calibration_error": float(calibration_error(y, p, n_bins=15)),
        "calibration_low": float(low),
        "calibration_high": float(high),
    }


def _stack_rows(data: Splits, options: argparse.Namespace, name: str) -> None:
    share = float(data.y_train.mean())
    rows: dict[str, dict[str, float]] = {}
    texts = np.unique(data.train.ravel())
    groups = question_groups(data.dev)
    tfidf = TfidfVectorizer().fit(as_texts(texts.tolist()))
    head = LogisticRegression().fit(pair_cosines(tfidf, data.train)[:, None], data.y_train)
    p = head.predict_proba(pair_cosines(tfidf, data.dev)[:, None])[:, 1]
    rows[TFIDF] = judged(p, data.y_dev, share, groups)
    _keep_pairs(f"{name}: {TFIDF}", p, data, options)
    started = time.perf_counter()
    lexical = make_pipeline(
        LexicalFeatures(), StandardScaler(), LogisticRegression(max_iter=2000)
    ).fit(data.train, data.y_train)
    seconds = time.perf_counter() - started
    p = lexical.predict_proba(data.dev)[:, 1]
    rows[LEXICAL] = judged(p, data.y_dev, share, groups) | {"seconds": round(seconds, 1)}
    _keep_pairs(f"{name}: {LEXICAL}", p, data, options)
    for case in CASES:
        command = [sys.executable, "-m", "benchmarks.duplicates", "--case", case]
        command += ["--data", options.data] if options.data else []
        command += ["--quick"] if options.quick else []
        command += ["--out", options.out] if options.out else []
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        rows |= {f"{STACK}, {key}": row for key, row in found.items()}
    baseline = rows[LEXICAL]
    for case, row in rows.items():
        print(case, {key: round(value, 4) for key, value in row.items()}, flush=True)
        if options.quick and not options.out:
            continue
        for metric, value in row.items():
            record(
                "duplicates",
                f"{name}: {case}",
                metric,
                value,
                UNITS.get(metric, ""),
                rival=LEXICAL,
                rival_value=baseline.get(metric),
                seed=0,
                folder=options.out,
            )


def _keep_pairs(case: str, p: np.ndarray, data: Splits, options: argparse.Namespace) -> None:
    if options.quick and not options.out:
        return
    share = float(data.y_train.mean())
    record_pairs("duplicates", case, data.dev, data.y_dev, p, share=share, folder=options.out)


def _metric_rows(data: Splits, options: argparse.Namespace, name: str) -> None:
    """FILM and its rivals on the same reduced features, pairs and triplets."""
    n_pairs = min(options.rival_pairs, 300 if options.quick else len(data.train), len(data.train))
    problem, dev = reduced_problem(data, n_pairs, 20 if options.quick else REDUCED)
    rows = {"no learning": {"roc_auc": _auc(np.eye(problem["points"].shape[1]), dev, data.y_dev)}}
    rows["FILM"] = _film_row(problem, dev, data.y_dev)
    python = rival_python(options.rivals, RIVAL_PACKAGES)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "found.npz")
        np.savez(source, **problem)
        script = SCRIPTS / "metric_rivals.py"
        for rival in RIVALS:
            command = [str(python), str(script), rival, str(source), str(target)]
            started = time.perf_counter()
            try:
                subprocess.run(
                    command, check=True, capture_output=True, text=True, timeout=options.time_limit
                )
            except subprocess.TimeoutExpired:
                rows[f"{rival} (no result in time)"] = {"seconds": options.time_limit}
                continue
            except subprocess.CalledProcessError as error:
                said = (error.stderr.strip() or f"exit status {error.returncode}").splitlines()[-1]
                seconds = round(time.perf_counter() - started, 1)
                rows[f"{rival} (failed: {said})"] = {"seconds": seconds}
                continue
            found = np.load(target)
            rows[rival] = {
                "seconds": round(float(found["seconds"]), 2),
                "roc_auc": _auc(found["components"], dev, data.y_dev),
            }
    finished = [rival for rival in RIVALS if rival in rows]
    best = max(finished, key=lambda rival: rows[rival]["roc_auc"], default=None)
    for case, row in rows.items():
        print(case, row, flush=True)
        if options.quick and not options.out:
            continue
        for metric, value in row.items():
            record(
                "metric_learners",
                f"{name}, {n_pairs} pairs, {problem['points'].shape[1]} features: {case}",
                metric,
                value,
                UNITS.get(metric, ""),
                rival=best,
                rival_value=rows[best].get(metric) if best else None,
                seed=0,
                folder=options.out,
            )


def reduced_problem(
    data: Splits, n_pairs: int, n_features: int
) -> tuple[dict[str, Any], tuple[np.ndarray, np.ndarray]]:
    """Points, pairs, triplets and groups of some training pairs, and both sides of dev."""
    pairs, y = data.train[:n_pairs], data.y_train[:n_pairs]
    index = TextIndex()
    codes = index.add_pairs(pairs)
    tfidf = TfidfVectorizer(sublinear_tf=True).fit(as_texts(index.texts))
    svd = TruncatedSVD(n_features, random_state=0).fit(tfidf.transform(as_texts(index.texts)))

    def reduce(texts: Any) -> np.ndarray:
        return np.asarray(normalize(svd.transform(tfidf.transform(texts))))

    groups = connected_groups(codes[y == 1], len(index.texts))
    sizes = np.bincount(groups)
    problem = {
        "points": reduce(as_texts(index.texts)),
        "pairs": codes,
        "y": y,
        "triplets": triplets_from_pairs(codes, y, len(index.texts), n_random=5, random_state=0),
        "groups": groups,
        "grouped": sizes[groups] > 1,
        "d": n_features // 2,
    }
    return problem, (reduce(data.dev[:, 0]), reduce(data.dev[:, 1]))


def _film_row(problem: dict[str, Any], dev: Any, y: np.ndarray) -> dict[str, float]:
    points = problem["points"]
    index = len(points)
    started = time.perf_counter()
    # FILM's own way with labelled pairs: their triplets, with a zero row for lone negatives.
    triplets = triplets_from_pairs(
        problem["pairs"], problem["y"], index + 1, n_random=5, null=index, random_state=0
    )
    with_null = np.vstack([points, np.zeros((1, points.shape[1]))])
    film = FILM(d=int(problem["d"]), rank=points.shape[1], random_state=0).fit(with_null, triplets)
    seconds = time.perf_counter() - started
    return {"seconds": round(seconds, 2), "roc_auc": _auc(film.components_, dev, y)}


def _auc(components: np.ndarray, dev: Any, y: np.ndarray) -> float:
    """ROC AUC by cosine or by the learned distance, whichever serves the map better."""
    first, second = (side @ np.asarray(components).T for side in dev)
    distance = np.linalg.norm(first - second, axis=1)
    return float(max(roc_auc_score(y, row_cosines(first, second)), roc_auc_score(y, -distance)))


def _data(options: argparse.Namespace) -> Splits:
    if options.data:
        return read_folder(
            Path(options.data), on_error="raise", limit=1500 if options.quick else None, seed=0
        )
    return generated(600 if options.quick else 20000, 0)


if __name__ == "__main__":
    sys.exit(main())

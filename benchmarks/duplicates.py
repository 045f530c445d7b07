"""Duplicate classification without a GPU, with what is simpler next to it: metrics, time, memory.

``python -m benchmarks.duplicates --data DIR`` fits on ``DIR/train.csv`` and judges ``DIR/dev.csv``.
Without ``--data`` it runs on pairs that it generates itself. ``--quick`` records only where
``--out`` says so.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.quora import pair_cosines
from benchmarks.support.quora_data import NEW_PAIRS, Splits, new_pairs, splits_of
from benchmarks.support.run import Results, in_process, parser_of, reading
from estimators import DisjointPairsKFold, LexicalFeatures, fast_duplicates, question_groups
from estimators.inputs import as_texts
from film.pairs import (
    NEIGHBOURHOOD_NAMES,
    binary_log_loss,
    calibration_error,
    calibration_interval,
    prior_weights,
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
TFIDF = "TF-IDF cosine, logistic regression"
LEXICAL = "lexical features, logistic regression"
STACK = "fast_duplicates"


def main(arguments: list[str] | None = None) -> int:
    """Run everything, or one case; the exit status is 2 where the data cannot be read."""
    parser = parser_of("duplicates", __doc__, "folder with Quora's train.csv and dev.csv")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with reading("duplicates"):
        data = splits_of(options, 20_000, 600)
    name, results = "quora" if options.data else "generated", Results("duplicates", options)
    share = float(data.y_train.mean())
    if options.case:
        if options.case == HELD_OUT:
            data = held_out_fold(data)
            share = float(data.y_train.mean())
        rows, found = measure_stack(data, options.case, options.quick)
        for case, p in found.items():
            results.keep(f"{name}: {STACK}, {case}", data.dev, data.y_dev, p, share=share)
        print(json.dumps(rows))
        return 0
    rows, found = measure_baselines(data)
    for case, p in found.items():
        results.keep(f"{name}: {case}", data.dev, data.y_dev, p, share=share)
    for case in CASES:
        measured = in_process("duplicates", options, "--case", case)
        rows |= {f"{STACK}, {key}": row for key, row in measured.items()}
    for case, row in rows.items():
        results.tell(f"{name}: {case}", row, rival=LEXICAL, beside=rows[LEXICAL])
    results.compare()
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


DRAWS = 1000
"""Draws of `calibration_band`."""


def calibration_band(
    y: np.ndarray, p: np.ndarray, groups: np.ndarray | None = None, random_state: int = 0
) -> tuple[float, float]:
    """Return the middle 95 % of the calibration errors of a perfect model with these rows.

    Without groups, outcomes are drawn from the probabilities. With groups, rows of one group may
    depend on each other: each draw flips the signs of the residuals y − p of whole groups. This is
    the wild cluster bootstrap (Cameron, Gelbach and Miller, "Bootstrap-based improvements for
    inference with clustered errors", 2008), if residuals have mean 0 in every bin.
    """
    rng, n = np.random.default_rng(random_state), len(p)
    _, value, counts = np.unique(p, return_inverse=True, return_counts=True)
    after = np.cumsum(counts)
    # Bins of equal size, with equal probabilities in one bin, as in `calibration_error`.
    bins = (15 * (2 * after - counts) // (2 * n))[value]
    if groups is None:
        residuals = ((rng.random(n) < p) - p for _ in range(DRAWS))
    else:
        names, group = np.unique(groups, return_inverse=True)
        residuals = ((y - p) * rng.choice([-1.0, 1.0], len(names))[group] for _ in range(DRAWS))
    errors = [np.abs(np.bincount(bins, weights=residual)).sum() / n for residual in residuals]
    low, high = np.quantile(errors, [0.025, 0.975])
    return float(low), float(high)


def judged(
    p: np.ndarray, y: np.ndarray, share: float, groups: np.ndarray | None = None
) -> dict[str, float]:
    """All figures of probabilities learned where the share of duplicates was ``share``.

    "perfect" names the band in which a perfectly calibrated model's calibration error lies, where
    the pairs of a group of linked questions depend on each other.
    """
    low, high = calibration_interval(y, p, n_bins=15, random_state=0)
    at_prior = shift_prior(p, share, PRIOR)
    ends = calibration_band(y, p, groups)
    independent = calibration_band(y, p)
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


def measure_baselines(
    data: Splits,
) -> tuple[dict[str, dict[str, float]], dict[str, np.ndarray]]:
    """Judge the cosine of TF-IDF and lexical features, each with a logistic regression on top."""
    share, groups = float(data.y_train.mean()), question_groups(data.dev)
    tfidf = TfidfVectorizer().fit(as_texts(np.unique(data.train.ravel()).tolist()))
    head = LogisticRegression().fit(pair_cosines(tfidf, data.train)[:, None], data.y_train)
    p = {TFIDF: head.predict_proba(pair_cosines(tfidf, data.dev)[:, None])[:, 1]}
    started = time.perf_counter()
    lexical = make_pipeline(
        LexicalFeatures(), StandardScaler(), LogisticRegression(max_iter=2000)
    ).fit(data.train, data.y_train)
    seconds = time.perf_counter() - started
    p[LEXICAL] = lexical.predict_proba(data.dev)[:, 1]
    rows = {case: judged(values, data.y_dev, share, groups) for case, values in p.items()}
    rows[LEXICAL]["seconds"] = round(seconds, 1)
    return rows, p


if __name__ == "__main__":
    sys.exit(main())

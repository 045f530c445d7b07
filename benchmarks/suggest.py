"""200 suggested labels against 200 random ones, for the same classifier.

``python -m benchmarks.suggest [--data DIR] [--out DIR] [--quick]``. The pool is Quora's train with
its labels hidden; ten seeds start from nothing and ask for 50 labels at a time, and
`few_label_duplicates` is fitted at 50, 100 and 200 of them and judged on dev. Differences are
paired by seed (draw of candidates, random order, trees), with Student's 95 % interval of their
mean. Without ``--data`` pairs are generated. ``--quick`` records only where ``--out`` says so.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from benchmarks.support.quora_data import Splits, splits_of
from benchmarks.support.run import Results, parser_of, refused
from estimators.pairs import DuplicateClassifier, few_label_duplicates, suggest_pairs
from film.pairs import binary_log_loss

BATCH = 50
BUDGETS = (50, 100, 200)
SEEDS, QUICK_SEEDS = 10, 2
METRICS = ("roc_auc", "accuracy", "log_loss")
SUGGESTED, RANDOM = "suggested", "random"


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = parser_of("suggest", __doc__, "folder with Quora's train.csv and dev.csv")
    options = parser.parse_args(arguments)
    # A pair that stands in Quora with both labels is part of the task.
    warnings.filterwarnings("ignore", message=".*occur with both labels")
    seeds = range(QUICK_SEEDS if options.quick else SEEDS)
    try:
        data = splits_of(options, 4000, 1000, limit=800)
        found = compare(data, seeds, rank=50 if options.quick else 300)
    except (OSError, ValueError) as error:
        return refused("suggest", error)
    results = Results("suggest", options)
    start, end = f"{data.name}: ", " (quick)" if options.quick else ""
    for budget in BUDGETS:
        means = {}
        for way in (RANDOM, SUGGESTED):
            mean, spread = (f(found[way, budget], axis=0) for f in (np.mean, np.std))
            means[way] = dict(zip(METRICS, mean, strict=True))
            row = means[way] | {f"{m}_std": s for m, s in zip(METRICS, spread, strict=True)}
            rival = {"rival": RANDOM, "beside": means[RANDOM]} if way == SUGGESTED else {}
            case = f"{start}{budget} labels, {way}, mean of {len(seeds)} seeds{end}"
            results.tell(case, row, seed=None, **rival)
        apart = differences(found, budget)
        row = {
            metric + part: value
            for part, values in zip(("", "_low", "_high"), apart, strict=True)
            for metric, value in zip(METRICS, values, strict=True)
        }
        case = f"{budget} labels, {SUGGESTED} less {RANDOM}, {len(seeds)} paired seeds{end}"
        results.tell(start + case, row, seed=None)
    return 0


def compare(data: Splits, seeds: range, rank: int) -> dict[tuple[str, int], np.ndarray]:
    """Judge both ways of choosing at each budget: METRICS, one row a seed."""
    if len(data.train) < max(BUDGETS):
        raise ValueError(f"the pool holds {len(data.train)} pairs, fewer than {max(BUDGETS)}")
    rows: dict[tuple[str, int], list] = {(w, b): [] for w in (SUGGESTED, RANDOM) for b in BUDGETS}
    model = few_label_duplicates(data.train, rank=rank)
    for seed in seeds:
        orders = {
            SUGGESTED: suggested(data, seed),
            RANDOM: np.random.default_rng(seed).permutation(len(data.train)),
        }
        for way, order in orders.items():
            for budget in BUDGETS:
                rows[way, budget].append(judge(model, data, order[:budget], seed))
        auc = {way: rows[way, max(BUDGETS)][-1][0] for way in orders}
        print(f"seed {seed}: ROC AUC at {max(BUDGETS)} labels {auc}", flush=True)
    return {key: np.array(values) for key, values in rows.items()}


def suggested(data: Splits, seed: int) -> np.ndarray:
    """Rows in the order of asking; only the labels asked for are looked at."""
    rows = np.empty(0, dtype=np.intp)
    while len(rows) < max(BUDGETS):
        more = suggest_pairs(
            data.train, BATCH, labelled=rows, y=data.y_train[rows], random_state=seed
        )
        if len(more) == 0:
            raise ValueError(f"the pool ran out at {len(rows)} different pairs")
        rows = np.concatenate([rows, more])
    return rows


def judge(
    model: DuplicateClassifier, data: Splits, rows: np.ndarray, seed: int
) -> tuple[float, ...]:
    """METRICS on dev of a model fitted to the labels of some rows."""
    fresh = clone(model).set_params(random_state=seed, final_estimator__random_state=seed)
    p = fresh.fit(data.train[rows], data.y_train[rows]).predict_proba(data.dev)[:, 1]
    hits = (p > 0.5) == data.y_dev
    return float(roc_auc_score(data.y_dev, p)), float(hits.mean()), binary_log_loss(data.y_dev, p)


def differences(
    found: dict[tuple[str, int], np.ndarray], budget: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Suggested less random, paired by seed: the mean of each of METRICS and its 95 % interval."""
    apart = found[SUGGESTED, budget] - found[RANDOM, budget]
    n = len(apart)
    half = student.ppf(0.975, n - 1) * apart.std(axis=0, ddof=1) / np.sqrt(n)
    mean = apart.mean(axis=0)
    return mean, mean - half, mean + half


if __name__ == "__main__":
    sys.exit(main())

"""Whether the intervals of a review hold the truth, and how many answers it needs.

``python -m benchmarks.review [--data DIR] [--out DIR] [--quick]``. DIR holds tables; without it,
the folder of FILM_DATA is taken. `film.judge.Review` chooses pairs, in batches of `BATCH`, and the
true labels answer. Coverage is the share of reviews whose interval holds the true precision or
recall of the candidates. Its constants were chosen on these tables, but `HEDGED`, on other ones.

Then the answers until the interval of precision is ±.03, at the threshold whose true precision is
nearest to .95: of `Review`, looked at after every `STEP` answers, and of pairs drawn at random,
with Wilson's interval, from all candidates and from the listed ones. Figures are means over
reviews.

Last, models of 100 answers about the training pairs of amazon-google, as ``film review --model``
fits them, on the test pairs: F1 from the threshold on that the command prints, from one half on,
and at the best threshold. Medians of five seeds.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve

from benchmarks.general import read_tables
from benchmarks.records import read_part
from benchmarks.support.folders import data_folder
from benchmarks.support.run import Results, parser_of, reading
from benchmarks.thresholds import candidates, generated
from estimators import record_duplicates
from estimators.cli import Asked, candidate_pairs
from estimators.corpus import USUAL_THRESHOLD
from film.judge import Review, expected_precision
from film.pairs import threshold_of_best_f1

LOW_AND_HIGH = {
    "abt-buy": (0.2, 0.4),
    "amazon-google": (0.15, 0.4),
    "dblp-acm": (0.3, 0.7),
    "cddb": (0.3, 0.8),
    "febrl3": (0.04, 0.3),
}
PRECISE = ("abt-buy", "dblp-acm", "febrl1", "febrl3")
NUMBERS = (30, 60, 100, 200)
N_REVIEWS = 8
BATCH = 10
STEP = 5
GOAL, HALF_WIDTH = 0.95, 0.03
MOST = 1000
SHOP = "amazon-google"
LABELS, N_SEEDS = 100, 5


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    options = parser_of("review", __doc__, "holds tables").parse_args(arguments)
    with reading("review"):
        tables = generated() if options.quick else read_tables(data_folder(options.data))
    results = Results("review", options)
    thresholds = {"both": (0.3,)} if options.quick else LOW_AND_HIGH
    n_reviews = 2 if options.quick else N_REVIEWS
    scored = {name: (candidates(*table), len(table[0]) == 2) for name, table in tables.items()}
    every: list[dict[int, list[float]]] = []
    for name, given in thresholds.items():
        for threshold in given:
            found = coverage(*scored[name], threshold, n_reviews)
            every.append(found)
            for n, row in found.items():
                results.tell(f"{name} from {threshold}: {n} answers", named(row))
    for n in NUMBERS:
        mean = np.mean([found[n] for found in every], axis=0)
        results.tell(f"mean of all: {n} answers", named(mean))
    for name in ("both",) if options.quick else PRECISE:
        results.tell(f"answers for ±.03: {name}", answers_needed(*scored[name], n_reviews))
    if not options.quick:
        results.tell(SHOP, learned(options.data, SHOP), bench="reviewed_models")
    return 0


def learned(data: str | None, name: str) -> dict[str, float]:
    """Fit models to answers about training pairs, and judge test pairs by them."""
    place = data_folder(data) / "tables" / "labelled" / name
    (train, y), (test, truth) = (read_part(place / f"{part}.csv.gz") for part in ("train", "test"))
    label_of = dict(zip(map(tuple, train.texts().tolist()), y.tolist(), strict=True))
    row_of = {tuple(pair): row for row, pair in enumerate(train.texts().tolist())}
    asked = Asked(train.texts(), None, dict.fromkeys(train.columns, ""))
    found = []
    for seed in range(N_SEEDS):
        given: Any = SimpleNamespace(source=name)
        candidates = candidate_pairs(asked, given, seed)
        threshold = expected_precision(candidates.ends, candidates.scores).best_threshold
        order = candidates.order(seed)
        review = Review(candidates.ends, candidates.scores, threshold, order)
        pairs = [tuple(pair) for pair in candidates.texts.tolist()]
        labels = np.array([label_of[pair] for pair in pairs])
        answers: dict[int, bool | None] = {}
        ask(review, answers, labels, LABELS)
        rows = np.array([row_of[pairs[row]] for row in answers])
        known = [*dict.fromkeys(candidates.pool(seed).ravel().tolist())]
        chosen = np.array([*answers])
        model = record_duplicates(corpus=known, random_state=seed)
        p = model.fit(train[rows], labels[chosen]).predict_proba(test)[:, 1]
        own_threshold = threshold_of_best_f1(model.predict_proba(train)[:, 1])
        precision, recall, _ = precision_recall_curve(truth, p)
        best = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
        ap: Any = average_precision_score(truth, p)
        half: Any = f1_score(truth, p >= USUAL_THRESHOLD)
        own: Any = f1_score(truth, p >= own_threshold)
        found.append(
            {"own_f1": own, "half_f1": half, "best_f1": best.max(), "average_precision": ap}
        )
    return {each: float(np.median([row[each] for row in found])) for each in found[0]}


def named(row: Any) -> dict[str, float]:
    """Name the figures of a number of answers."""
    names = ("precision_covered", "precision_width", "recall_covered", "recall_width")
    return dict(zip(names, map(float, row), strict=True))


def coverage(
    scored: Any, two_tables: bool, threshold: float, n_reviews: int
) -> dict[int, list[float]]:
    """Return by number of answers how often intervals hold the truth, and their mean widths."""
    pairs, scores, labels, *_ = scored
    listed = scores >= threshold
    truth = labels[listed].mean(), labels[listed].sum() / labels.sum()
    rows: dict[int, list[Any]] = {n: [] for n in NUMBERS}
    for seed in range(n_reviews):
        order = np.random.default_rng(seed).random(len(scores))
        review = Review(pairs, scores, threshold, order, two_tables=two_tables)
        answers: dict[int, bool | None] = {}
        for n in NUMBERS:
            ask(review, answers, labels, n)
            found = review.estimate(answers)
            row = []
            for value, (low, high) in zip(
                truth, (found.precision_interval, found.recall_interval), strict=True
            ):
                row += [low - 1e-9 <= value <= high + 1e-9, high - low]
            rows[n].append(row)
    return {n: np.mean(np.array(each, dtype=float), axis=0).tolist() for n, each in rows.items()}


def ask(
    review: Review, answers: dict[int, bool | None], labels: Any, n: int, goal: float | None = None
) -> None:
    """Ask in batches until there are n answers, or none is left."""
    while len(answers) < n:
        rows = review.questions(answers, min(BATCH, n - len(answers)), goal)
        if not rows:
            return
        answers.update((row, bool(labels[row])) for row in rows)


def answers_needed(scored: Any, two_tables: bool, n_reviews: int) -> dict[str, float]:
    """Return the numbers of answers for an interval of ±`HALF_WIDTH` of a precision near `GOAL`."""
    pairs, scores, labels, *_ = scored
    grid = np.arange(1, 100) / 100
    true = np.array([labels[scores >= t].mean() if (scores >= t).any() else 0 for t in grid])
    threshold = float(grid[np.abs(true - GOAL).argmin()])
    listed = scores >= threshold
    value = labels[listed].mean()
    needed, covered, random = [], [], []
    for seed in range(n_reviews):
        rng = np.random.default_rng(seed)
        review = Review(pairs, scores, threshold, rng.random(len(scores)), two_tables=two_tables)
        answers: dict[int, bool | None] = {}
        low, high = 0.0, 1.0
        while high - low > 2 * HALF_WIDTH and len(answers) < MOST:
            before = len(answers)
            ask(review, answers, labels, before + STEP, GOAL)
            if len(answers) == before:
                break
            low, high = review.estimate(answers).precision_interval
        needed.append(len(answers))
        covered.append(low <= value <= high)
        drawn = rng.permutation(np.flatnonzero(listed))
        n = np.arange(1, len(drawn) + 1)
        enough = wilson_width(np.cumsum(labels[drawn]), n) <= 2 * HALF_WIDTH
        random.append(int(n[enough][0]) if enough.any() else len(drawn))
    return {
        "threshold": threshold,
        "true_precision": float(value),
        "answers": float(np.mean(needed)),
        "covered": float(np.mean(covered)),
        "random_listed": float(np.mean(random)),
        "random_candidates": float(np.mean(random) / listed.mean()),
    }


def wilson_width(found: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the widths of Wilson's 95 % intervals."""
    z = ndtri(0.975)
    p = found / n
    return 2 * z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))


if __name__ == "__main__":
    sys.exit(main())

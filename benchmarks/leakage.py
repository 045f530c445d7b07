"""What folds make of pure noise: texts and labels are drawn apart, so that the truth is one half.

``python -m benchmarks.leakage [--out DIR] [--quick]`` takes seconds and no data. Triplets: points
of a normal distribution in clusters of three; a sum of outer products learns them by heart, and
`FILM` learns them as usual. Pairs: texts of random words, again in clusters of three, and the
cosine of FILM over TF-IDF; two clusters are a family of pairs. A row is the mean over ten seeds of
the score out of fold.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, cross_val_score

from benchmarks.support.records import record
from estimators import FILM, DisjointPairsKFold, Triplets
from film.metric import triplets_from_pairs
from film.pairs import row_cosines

N_POINTS, SIZE, WIDTH, N_WORDS, TEXT = 300, 3, 200, 400, 8
SEEDS, QUICK_SEEDS = 10, 2
BY_ROWS, BY_ANCHOR, DISJOINT = "folds of rows", "folds of anchors", "question-disjoint folds"


class OuterProducts(BaseEstimator):
    """Bilinear similarity that adds up its triplets."""

    def fit(self, X: Any, y: Any = None) -> OuterProducts:
        """Sum anchor ⊗ (similar − dissimilar)."""
        anchors, similar, dissimilar = (X.points[column] for column in X.triplets.T)
        self.weights_ = anchors.T @ (similar - dissimilar)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Give the share of triplets in the right order."""
        anchors, similar, dissimilar = (X.points[column] for column in X.triplets.T)
        return float(np.mean(np.sum((anchors @ self.weights_) * (similar - dissimilar), 1) > 0))


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leakage", description=__doc__)
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="two seeds")
    options = parser.parse_args(arguments)
    # Noise gives FILM nothing to settle on.
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(QUICK_SEEDS if options.quick else SEEDS):
        for case, value in (triplets_of_noise(seed) | pairs_of_noise(seed)).items():
            found.setdefault(case, []).append(value)
    for (case, metric), values in found.items():
        mean = float(np.mean(values))
        print(f"{case}: {metric} {mean:.3f}, spread {np.std(values, ddof=1):.3f}")
        if options.out or not options.quick:
            record("leakage", case, metric, mean, folder=options.out)
            record("leakage", case, "spread", float(np.std(values, ddof=1)), folder=options.out)
    return 0


def triplets_of_noise(seed: int) -> dict[tuple[str, str], float]:
    """Share of triplets in the right order, by learner and kind of folds."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((N_POINTS, WIDTH))
    mates = [(a, b) for a, b in _within_clusters() for _ in range(8)]
    other = rng.integers(0, N_POINTS, len(mates))
    rows = [(a, b, c) for (a, b), c in zip(mates, other, strict=True) if a // SIZE != c // SIZE]
    view = Triplets(points, rows)
    anchors = np.array(rows)[:, 0]
    splits = {
        BY_ROWS: KFold(5, shuffle=True, random_state=seed),
        BY_ANCHOR: list(GroupKFold(5).split(anchors, groups=anchors)),
        DISJOINT: DisjointPairsKFold(5, random_state=seed),
    }
    learners = {"learned by heart": OuterProducts(), "FILM": FILM(d=20, random_state=seed)}
    return {
        (f"triplets, {name}: {folds}", "triplets"): cross_val_score(learner, view, cv=cv).mean()
        for name, learner in learners.items()
        for folds, cv in splits.items()
    }


def pairs_of_noise(seed: int) -> dict[tuple[str, str], float]:
    """Area under the curve of the cosine of FILM, by kind of folds."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{i}" for i in range(N_WORDS)])
    texts = np.array([" ".join(rng.choice(words, TEXT)) for _ in range(N_POINTS)], dtype=object)
    same = [(a, b) for a, b in _within_clusters() if a < b]
    # Two clusters are a family: each text is in two pairs within its own, and in two across.
    firsts = range(0, N_POINTS, 2 * SIZE)
    across = [(i, SIZE + (i + j) % SIZE) for i in range(SIZE) for j in range(2)]
    apart = [(first + a, first + b) for first in firsts for a, b in across]
    pairs, y = texts[np.array(same + apart)], np.repeat([1, 0], len(same))
    X = TfidfVectorizer().fit_transform(texts)
    rows = np.array(same + apart)
    splits = {
        BY_ROWS: KFold(5, shuffle=True, random_state=seed),
        DISJOINT: DisjointPairsKFold(5, random_state=seed),
    }
    found = {}
    for folds, cv in splits.items():
        areas = []
        for train, test in cv.split(pairs, y):
            triplets = triplets_from_pairs(
                rows[train], y[train], N_POINTS, n_random=4, random_state=seed
            )
            Y = FILM(d=20, random_state=seed).fit(X, triplets).transform(X)
            areas.append(roc_auc_score(y[test], row_cosines(Y[rows[test, 0]], Y[rows[test, 1]])))
        found[f"pairs, cosine of FILM: {folds}", "roc_auc"] = float(np.mean(areas))
    return found


def _within_clusters() -> list[tuple[int, int]]:
    """All ordered pairs of two points of one cluster."""
    starts = range(0, N_POINTS, SIZE)
    members = [(s + i, s + j) for s in starts for i in range(SIZE) for j in range(SIZE)]
    return [(a, b) for a, b in members if a != b]


if __name__ == "__main__":
    sys.exit(main())

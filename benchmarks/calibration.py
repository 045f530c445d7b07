"""Whether calibrating the probabilities of `fast_duplicates` again makes them better.

``python -m benchmarks.calibration [--data DIR] [--out DIR] [--quick]``. DIR holds quora; without
it, the folder of FILM_DATA is taken. The classifier learns from pairs of train.csv, drawn at
random. Each method learns from its probabilities out of fold, which are question-disjoint, and
changes those of `N_TEST` pairs of dev.csv. Figures are means over draws.

- as they are: the classifier's probabilities.
- Platt: a line in log-odds. Platt, "Probabilistic outputs for support vector machines", 1999.
- beta: log-odds linear in log p and log (1 − p), with coefficients of the right sign. Kull, Silva
  Filho and Flach, "Beta calibration", 2017.
- isotonic: a rising step function, kept between 1 / (n + 2) and 1 − 1 / (n + 2).
- Venn–Abers: two isotonic fits, with the pair as a duplicate and as another, give p₁ and p₀; then
  p₁ / (1 − p₀ + p₁). ``width`` is the mean of p₁ − p₀. Vovk, Petej and Fedorova, "Large-scale
  probabilistic predictors with and without guarantees of validity", 2015.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from benchmarks.few_labels import generated
from benchmarks.support.folders import data_folder
from benchmarks.support.quora_data import read_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import fast_duplicates
from film.pairs import calibration_error

DRAWS = {50: 5, 200: 5, 1000: 3, 5000: 1}
N_TEST = 5000
GRID = 200
"""Quantiles of the test scores at which Venn–Abers is fitted; others are interpolated."""

Floats = np.ndarray


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    options = parser_of("calibration", __doc__, "holds quora").parse_args(arguments)
    warnings.simplefilter("ignore")
    with reading("calibration"):
        if options.quick:
            ((train, y), (test, truth)) = generated()["generated"]
        else:
            read = read_folder(data_folder(options.data) / "quora", limit=None, seed=0)
            train, y, test, truth = read.train, read.y_train, read.dev, read.y_dev
    results = Results("calibration", options)
    rows = np.random.default_rng(0).permutation(len(truth))[:N_TEST]
    for n, n_draws in {50: 1}.items() if options.quick else DRAWS.items():
        found: dict[str, list[dict[str, float]]] = {}
        for seed in range(n_draws):
            drawn = np.random.default_rng(seed).permutation(len(y))[:n]
            model = fast_duplicates(random_state=seed).fit(train[drawn], y[drawn])
            known, p = model.out_of_fold_probabilities(), model.predict_proba(test[rows])[:, 1]
            for name, row in figures(known, y[drawn], p, truth[rows]).items():
                found.setdefault(name, []).append(row)
        for name, each in found.items():
            means = {metric: float(np.mean([row[metric] for row in each])) for metric in each[0]}
            results.tell(f"{min(n, len(y)):,} labels: {name}", means)
    return 0


def figures(known: Floats, y: Floats, p: Floats, truth: Floats) -> dict[str, dict[str, float]]:
    """Return log loss and calibration error of each method that learns from (known, y)."""
    low, high = venn_abers(known, y, p)
    methods = {
        "as they are": p,
        "Platt": _platt(known, y, p),
        "beta": _beta(known, y, p),
        "isotonic": _isotonic(known, y, p),
        "Venn–Abers": high / (1 - low + high),
    }
    return {
        name: {
            "log_loss": float(log_loss(truth, np.clip(q, 1e-6, 1 - 1e-6))),
            "calibration": float(calibration_error(truth, q)),
        }
        | ({"width": float((high - low).mean())} if name == "Venn–Abers" else {})
        for name, q in methods.items()
    }


def _u(p: Floats) -> Floats:
    return logit(np.clip(p, 1e-6, 1 - 1e-6))


def _platt(known: Floats, y: Floats, p: Floats) -> Floats:
    line = LogisticRegression(C=1e6).fit(_u(known)[:, None], y)
    return line.predict_proba(_u(p)[:, None])[:, 1]


def _beta(known: Floats, y: Floats, p: Floats) -> Floats:
    def inputs(of: Floats) -> Floats:
        return np.column_stack([np.log(expit(_u(of))), -np.log(expit(-_u(of)))])

    line = LogisticRegression(C=1e6, max_iter=1000).fit(inputs(known), y)
    kept = line.coef_[0] > 0
    if kept.all() or not kept.any():
        return line.predict_proba(inputs(p))[:, 1]
    line.fit(inputs(known)[:, kept], y)
    return line.predict_proba(inputs(p)[:, kept])[:, 1]


def _isotonic(known: Floats, y: Floats, p: Floats) -> Floats:
    fit = IsotonicRegression(out_of_bounds="clip").fit(known, y)
    edge = 1 / (len(y) + 2)
    return np.clip(fit.predict(p), edge, 1 - edge)


def venn_abers(known: Floats, y: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Return the lower and upper probability of each pair."""
    grid = np.unique(np.quantile(p, np.linspace(0, 1, GRID)))
    ends: Any = ([], [])
    for score in grid:
        for label in (0, 1):
            fit = IsotonicRegression().fit([*known, score], [*y, label])
            ends[label].append(fit.predict([score])[0])
    low, high = (np.interp(p, grid, end) for end in ends)
    return low, high


if __name__ == "__main__":
    sys.exit(main())

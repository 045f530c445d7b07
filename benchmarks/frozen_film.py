"""FILM over the frozen vectors and tokens of a sentence encoder, on question pairs.

``python -m benchmarks.frozen_film [--data DIR] [--out DIR] [--cache DIR] [--quick] [--search]
[--rule]`` fits on ``train.csv`` and ``extra_duplicates.csv`` of Quora and reports on ``dev.csv``,
which shares no question with them: the AUC of cosines, the Pairwise kNN rule, the FILM paper's task
of section 4, similar questions retrieved from the pool, and a logistic regression on what a space
says of a pair and of the neighbourhoods of its texts. All texts are normalised alike first:
the further duplicates have neither case nor punctuation, so that a model could read the file off
the style. ``--cache`` keeps encodings and fits, so that a second run takes minutes. ``--search``
shows how settings do on question-disjoint folds of the training pairs, by which the ones here were
chosen. ``--rule`` does the rows of the Pairwise kNN rule alone, or its search, by the accuracy out
of fold. Without ``--data`` and FILM_DATA, pairs are generated. The packaged all-MiniLM-L6-v2 was
itself trained on Quora's duplicates: its figures are no figures of unseen questions.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, normalize

from benchmarks.one_encoder import MODES, probabilities
from benchmarks.support.folders import film_data
from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.quora_data import Splits, apart, generated, read_folder
from benchmarks.support.records import record
from benchmarks.support.significance import record_differences
from estimators import (
    FILM,
    DisjointPairsKFold,
    PairwiseKNNClassifier,
    RCMDRegressor,
    SentenceEncoder,
    TokenEncoder,
    TokenFILM,
    TokenMatchingRegressor,
    disjoint_pairs_split,
)
from estimators.inputs import TextIndex, as_texts
from film.metric import triplets_from_pairs
from film.pairs import (
    Rates,
    binary_log_loss,
    effective_ranks,
    prior_weights,
    rates_over_k,
    row_cosines,
    shift_prior,
)
from film.text import normalize_text

NAME = "MiniLM"
ENCODER = {"dtype": "bfloat16", "max_length": 64, "batch_size": 64}
BASELINE = f"{NAME} cosine"
KS = (*range(1, 56), *range(60, 101, 10), *range(125, 401, 25), *range(450, 801, 50))
PRIOR = 0.1746
DEPTHS = (1, 5, 20)
QUICK_PAIRS = 300


@dataclass(frozen=True)
class Settings:
    """What ``--search`` compares; the defaults are what was chosen, in folds of train."""

    d: int = 200
    whitening: float = 0.25
    margin: float = 0.02
    threshold: float | None = 0.75
    similar_weight: float = 1.0
    n_random: int = 1
    n_similar: int | None = 0
    """Further duplicates that are used, of a random order; None for all."""
    words: float = 0.0
    """Weight of TF-IDF beside the vectors; 0 leaves it out."""
    copies: float | None = None
    """Of the Pairwise kNN rule."""

    def metric(self, seed: int) -> FILM:
        """Make the unfitted FILM."""
        return FILM(
            self.d,
            margin=self.margin,
            threshold=self.threshold,
            similar_weight=self.similar_weight,
            whitening=self.whitening,
            max_iter=20,
            random_state=seed,
        )


PLAIN = Settings(d=200, whitening=0.5, margin=1.0, threshold=None, n_random=5)
CHOSEN = Settings()
FURTHER = Settings(n_similar=None, similar_weight=0.3)
SOME = Settings(n_similar=5_000, similar_weight=0.8)
UNION = Settings(words=0.5)
CASES = {
    "FILM": PLAIN,
    "FILM, further duplicates": replace(PLAIN, n_similar=None),
    "FILM, threshold": CHOSEN,
    "FILM, threshold, further duplicates": FURTHER,
    "FILM, threshold, 5,000 further duplicates": SOME,
    "FILM, threshold, TF-IDF beside": UNION,
}
CLASSIFIER_CASES = {
    case: CASES[case] for case in ("FILM, threshold", "FILM, threshold, further duplicates")
}
"""The cases whose neighbourhoods are read too: what was chosen without and with duplicates."""
RULE = Settings(d=12, whitening=0.75)
ONCE = replace(RULE, copies=0.9)
RULE_CASES = {
    "FILM, threshold": CHOSEN,
    "FILM, threshold, d=12": RULE,
    "FILM, threshold, d=12, copies once": ONCE,
}
"""The cases of the Pairwise kNN rule: the best cosine, and what was chosen for the rule."""
CANDIDATES = (
    PLAIN,
    replace(PLAIN, n_similar=None),
    CHOSEN,
    replace(CHOSEN, d=300),
    replace(CHOSEN, threshold=0.85),
    replace(CHOSEN, margin=0.1),
    replace(CHOSEN, similar_weight=1.5),
    FURTHER,
    replace(FURTHER, similar_weight=0.5),
    replace(FURTHER, similar_weight=0.2),
    SOME,
    replace(SOME, similar_weight=1.0),
    *(replace(SOME, n_similar=n, similar_weight=w) for n in (10_000, 20_000) for w in (0.5, 0.8)),
    UNION,
)
RULE_CANDIDATES = (
    CHOSEN,
    *(replace(CHOSEN, d=d) for d in (8, 12, 16, 32)),
    *(replace(RULE, d=d) for d in (8, 10, 12, 14, 16, 24)),
    *(replace(RULE, whitening=whitening) for whitening in (0.5, 1.0)),
    replace(RULE, threshold=0.65, similar_weight=0.5),
    replace(RULE, margin=0.005),
    replace(RULE, n_random=3),
    replace(RULE, words=0.5),
    replace(PLAIN, d=16),
    ONCE,
    *(replace(RULE, copies=copies) for copies in (0.85, 0.88, 0.93, 0.95)),
    *(replace(ONCE, d=16, copies=copies) for copies in (0.8, 0.85)),
)
VECTORS: dict[str, np.ndarray] = {}
"""Vector of each text, so that folds and fits do not cut and look up the same texts again."""


class KnownVectors(TransformerMixin, BaseEstimator):
    """Vectors of texts that were encoded before, of length one."""

    def fit(self, texts: Any, y: Any = None) -> KnownVectors:
        """Learn nothing."""
        return self

    def transform(self, texts: Any) -> np.ndarray:
        """Look the vectors up; a text without words is a row of zeros."""
        return np.stack([VECTORS[normalize_text(text)] for text in texts])

    def __sklearn_is_fitted__(self) -> bool:
        """Nothing is learned."""
        return True


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.frozen_film",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", metavar="DIR", help="folder with Quora's train.csv and dev.csv")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--cache", metavar="DIR", help="folder of your own for encodings and fits")
    parser.add_argument("--model", help="another model than the packaged all-MiniLM-L6-v2")
    parser.add_argument("--quick", action="store_true", help="some hundred pairs, under a minute")
    parser.add_argument("--search", action="store_true", help="compare settings in folds of train")
    parser.add_argument("--rule", action="store_true", help="the Pairwise kNN rule alone")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        data = normalised(load(options))
        if options.rule:
            data = replace(data, similar=None)  # it learns from labelled pairs alone
    except (OSError, ValueError) as error:
        print(f"benchmarks.frozen_film: {error}", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", ".*texts have tokens unknown to the model")
    with TemporaryDirectory() as scratch:
        options.cache = options.cache or scratch
        encode(data, options)
        if options.search:
            (search_rule if options.rule else search)(data, options)
        else:
            tables = (cosine_rows, rule_rows, retrieval_rows, classifier_rows)
            for rows_of in (rule_rows,) if options.rule else tables:
                write(rows_of(data, options), data, options)
            if not options.rule and (options.out or not options.quick):
                record_differences("frozen_film", options.out)
    return 0


def load(options: argparse.Namespace) -> Splits:
    """Read Quora's files, or generate pairs where there are none."""
    folder = options.data
    if folder is None and film_data() is not None:
        folder = Path(film_data() or "") / "quora"
    if folder is None:
        return generated(QUICK_PAIRS if options.quick else 4000, options.seed)
    limit = QUICK_PAIRS if options.quick else None
    return read_folder(Path(folder), on_error="raise", limit=limit, seed=options.seed)


def normalised(data: Splits) -> Splits:
    """Spell all texts alike."""

    def spelt(pairs: np.ndarray) -> np.ndarray:
        return as_texts([normalize_text(t) for t in pairs.ravel()]).reshape(pairs.shape)

    similar = None if data.similar is None else spelt(data.similar)
    parts = {name: spelt(getattr(data, name)) for name in ("train", "dev", "test")}
    return replace(data, **parts, similar=similar)


def encode(data: Splits, options: argparse.Namespace) -> None:
    """Fill the table of vectors."""
    started = time.perf_counter()
    encoder = SentenceEncoder(options.model, **ENCODER, cache=encodings(options))
    parts = [data.train, data.dev, data.test, *([] if data.similar is None else [data.similar])]
    texts = sorted({text for part in parts for text in part.ravel()})
    vectors = normalize(encoder.fit_transform(texts))
    VECTORS.clear()
    VECTORS.update(zip(texts, vectors, strict=True))
    VECTORS[""] = np.zeros_like(vectors[0])
    say(f"{len(texts)} texts encoded or read in {time.perf_counter() - started:.0f} s")


def encodings(options: argparse.Namespace) -> Path:
    """Folder of encodings inside the one of the cache."""
    return Path(options.cache) / "encodings"


def embedder(settings: Settings, seed: int) -> Pipeline:
    """Texts → learned vectors. The vectors that go into FILM are blocks of rows of length one."""
    source: Any = KnownVectors()
    if settings.words:
        # Reduced first: dense columns make a sparse matrix slower than a dense one.
        words = make_pipeline(
            TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True, dtype=np.float32),
            LSA(300, random_state=seed),
            Normalizer(),
        )
        source = FeatureUnion(
            [("vectors", source), ("words", words)], transformer_weights={"words": settings.words}
        )
    return make_pipeline(source, settings.metric(seed))


class LSA(TruncatedSVD):
    """Latent semantic analysis of as many components as there are."""

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Reduce the number of components to those of X."""
        self.n_components = min(self.n_components, X.shape[1] - 1)
        return super().fit_transform(X)


def fitted(
    settings: Settings, pairs: np.ndarray, y: np.ndarray, similar: Any, seed: int
) -> Pipeline:
    """Fit an embedder on labelled pairs, and further duplicates where the settings use them."""
    if settings.n_similar != 0 and similar is not None:
        order = np.random.default_rng(0).permutation(len(similar))
        similar = similar[order[: settings.n_similar]]
        pairs, y = np.vstack([pairs, similar]), np.append(y, np.ones(len(similar), dtype=int))
    return embedder(settings, seed).fit(*mined(pairs, y, settings.n_random, seed))


def mined(pairs: np.ndarray, y: np.ndarray, n_random: int, seed: int) -> tuple[Any, np.ndarray]:
    """Give texts, and triplets of them."""
    index = TextIndex()
    null = int(index.add([""])[0])
    codes = index.add_pairs(pairs)
    worded = (codes != null).all(axis=1)
    triplets = triplets_from_pairs(
        codes[worded],
        y[worded],
        len(index.texts),
        n_random=n_random,
        null=null,
        random_state=seed,
    )
    return as_texts(index.texts), triplets


def cosine(embed: Callable[[Any], Any], pairs: np.ndarray) -> np.ndarray:
    """Cosine of the two texts of each pair."""
    texts, codes = np.unique(pairs.ravel(), return_inverse=True)
    points, codes = embed(texts), codes.reshape(-1, 2)
    return np.asarray(row_cosines(points[codes[:, 0]], points[codes[:, 1]]))


def search(data: Splits, options: argparse.Namespace) -> None:
    """Print the AUC of each candidate, the mean over three question-disjoint folds of train."""
    n_folds, seed = 3, options.seed
    for settings in (None, *CANDIDATES):
        found = []
        for rows, held in DisjointPairsKFold(n_folds, random_state=seed).split(data.train):
            embed = KnownVectors()
            if settings is not None:
                similar = apart(data.similar, data.train[held])
                embed = fitted(settings, data.train[rows], data.y_train[rows], similar, seed)
            scores = cosine(embed.transform, data.train[held])
            found.append(roc_auc_score(data.y_train[held], scores))
        say(f"search: {settings or BASELINE}: {np.mean(found):.4f} ± {np.std(found):.4f}")


def search_rule(data: Splits, options: argparse.Namespace) -> None:
    """Print the accuracy of the Pairwise kNN rule at the best k of each candidate, out of fold."""
    for settings in RULE_CANDIDATES:
        for mode, rule in rules(settings, data, options).items():
            rates = rates_out_of_fold(rule.fit_out_of_fold(data.train, data.y_train), data)
            best = rates.accuracy.argmax()
            say(f"search: {mode}: {settings}: {rates.accuracy[best]:.4f}, k={rates.ks[best]}")


def cosine_rows(data: Splits, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """AUC on dev of cosines, and of similarities of tokens."""
    scores = {BASELINE: cosine(KnownVectors().transform, data.dev)}
    for case, settings in CASES.items():
        started = time.perf_counter()
        model = fitted(settings, data.train, data.y_train, data.similar, options.seed)
        took = time.perf_counter() - started
        scores[f"{NAME}, {case}"] = cosine(model.transform, data.dev)
        metric: Any = model[-1]
        say(f"{case}: {took:.0f} s, {metric.n_triplets_} triplets, {metric.convergence_reason_}")
        EMBEDDERS[case] = model
    encoder = TokenEncoder(options.model, **ENCODER, cache=encodings(options))
    tokens = TokenFILM(encoder, random_state=options.seed).fit(data.train, data.y_train)
    kinds = {"RCMD": RCMDRegressor, "token matching": TokenMatchingRegressor}
    for name, kind in kinds.items():
        plain = kind(options.model, **ENCODER, cache=encodings(options))
        for case, model in ((name, plain), (f"TokenFILM, {name}", kind(FrozenEstimator(tokens)))):
            scores[f"{NAME}, {case}"] = model.fit(data.dev[:1]).similarity(data.dev)
    for case, values in scores.items():
        if options.out or not options.quick:
            title = f"cosine: {data.name}: {case}"
            record_pairs(
                "frozen_film", title, data.dev, data.y_dev, np.float32(values), folder=options.out
            )
    return {
        f"cosine: {case}": {"roc_auc": float(roc_auc_score(data.y_dev, values))}
        for case, values in scores.items()
    }


EMBEDDERS: dict[str, Pipeline] = {}
"""Fitted embedders of this run."""


def rules(
    settings: Settings, data: Splits, options: argparse.Namespace
) -> dict[str, PairwiseKNNClassifier]:
    """Make the unfitted rule of either mode. Both share the fits of their embedders."""
    known = [*data.train.ravel(), *data.dev.ravel()]
    return {
        mode: PairwiseKNNClassifier(
            embedder(settings, options.seed),
            corpus=corpus,
            cv=3,
            count="questions",
            copies=settings.copies,
            n_random=settings.n_random,
            memory=str(Path(options.cache) / "fits"),
            random_state=options.seed,
        )
        for mode, corpus in (("collection", known), ("inductive", None))
    }


def rates_out_of_fold(ranks: np.ndarray, data: Splits) -> Rates:
    """Rates of the rule over `KS`, from out-of-fold ranks of the training pairs."""
    return rates_over_k(effective_ranks(ranks, "both"), data.y_train, list(KS))


def rule_rows(data: Splits, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Figures of the Pairwise kNN rule, k chosen by accuracy out of fold inside train."""
    rows, share = {}, float(data.y_train.mean())
    for case, settings in RULE_CASES.items():
        for mode, rule in rules(settings, data, options).items():
            rule.fit(data.train, data.y_train)
            rates = rates_out_of_fold(rule.out_of_fold_ranks_, data)
            rule.set_params(k=int(rates.ks[rates.accuracy.argmax()]))
            rule.fit(data.train, data.y_train)  # ranks come from the cache
            p = rule.predict_proba(data.dev)[:, 1]
            dev_ranks = effective_ranks(rule.rank(data.dev), "both")
            say(f"{case}, {mode}: k={rule.k} out of fold, accuracy {rates.accuracy.max():.4f}")
            rows[f"rule: {NAME}, {case}: Pairwise kNN, {mode}"] = {
                "roc_auc": float(roc_auc_score(data.y_dev, -np.minimum(dev_ranks, 10**9))),
                "accuracy": float(accuracy_score(data.y_dev, rule.predict(data.dev))),
                "log_loss": binary_log_loss(data.y_dev, p),
                "log_loss_at_prior": binary_log_loss(
                    data.y_dev, shift_prior(p, share, PRIOR), prior_weights(data.y_dev, PRIOR)
                ),
            }
    return rows


def classifier_rows(data: Splits, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """AUC and accuracy on dev by `benchmarks.one_encoder.probabilities` of each space.

    FILM learns from nine tenths of the training pairs, and the regression from the other tenth.
    """
    rest, held, y_rest, _ = disjoint_pairs_split(
        data.train, data.y_train, test_size=0.1, random_state=0
    )
    similar = apart(data.similar, held)
    spaces: dict[str, Any] = {BASELINE: KnownVectors()}
    for case, settings in CLASSIFIER_CASES.items():
        spaces[f"{NAME}, {case}"] = fitted(settings, rest, y_rest, similar, options.seed)
    rows = {}
    for case, space in spaces.items():
        for mode in MODES:
            p = probabilities(FrozenEstimator(space), data, mode)
            title = f"classifier: {data.name}: {case}, {mode}"
            if options.out or not options.quick:
                record_pairs("frozen_film", title, data.dev, data.y_dev, p, folder=options.out)
            rows[f"classifier: {case}, {mode}"] = {
                "roc_auc": float(roc_auc_score(data.y_dev, p)),
                "accuracy": float(np.mean((p > 0.5) == data.y_dev)),
            }
    return rows


def retrieval_rows(data: Splits, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Share of dev questions with a duplicate among the nearest 1, 5 and 20 of the pool.

    The pool is every question of train and dev; a question is asked where dev lists a duplicate
    of it, and is itself left out.
    """
    texts = np.unique(np.concatenate([data.train.ravel(), data.dev.ravel()]))
    words = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True, dtype=np.float32)
    X: Any = words.fit_transform(texts)
    over_words = make_pipeline(words, FILM(100, margin=0.2, random_state=options.seed))
    over_words.fit(*mined(data.train, data.y_train, 5, options.seed))
    points = {
        "TF-IDF": X,
        "LSA, rank 300": LSA(300, random_state=options.seed).fit_transform(X),
        "TF-IDF, FILM": over_words.transform(texts),
        BASELINE: KnownVectors().transform(texts),
    }
    points |= {f"{NAME}, {case}": model.transform(texts) for case, model in EMBEDDERS.items()}
    pairs = data.dev[data.y_dev == 1]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    asked = np.searchsorted(texts, np.vstack([pairs, pairs[:, ::-1]]))
    return {f"retrieval: {case}": recalls(normalize(rows), asked) for case, rows in points.items()}


def recalls(unit: Any, asked: np.ndarray) -> dict[str, float]:
    """Recall at `DEPTHS` of (question, duplicate) rows: of a question the best duplicate counts."""
    questions, place = np.unique(asked[:, 0], return_inverse=True)
    best = np.full(len(questions), np.iinfo(np.int64).max)
    other = unit.T.tocsc() if sp.issparse(unit) else np.ascontiguousarray(unit.T)
    for first in range(0, len(questions), 512):
        block = np.arange(first, min(first + 512, len(questions)))
        similarity = unit[questions[block]] @ other
        similarity = similarity.toarray() if sp.issparse(similarity) else similarity
        similarity[np.arange(len(block)), questions[block]] = -np.inf
        rows = np.flatnonzero((place >= block[0]) & (place <= block[-1]))
        reached = similarity[place[rows] - first, asked[rows, 1]]
        ranks = (similarity[place[rows] - first] > reached[:, None]).sum(axis=1)
        np.minimum.at(best, place[rows], ranks)
    return {f"recall_{depth}": float((best < depth).mean()) for depth in DEPTHS}


def write(rows: dict[str, dict[str, float]], data: Splits, options: argparse.Namespace) -> None:
    """Print the rows, and record them unless they are of a quick run."""
    for title, row in rows.items():
        say(f"{title}: " + ", ".join(f"{metric} {value:.4f}" for metric, value in row.items()))
        if not options.out and options.quick:
            continue
        kind, case = title.split(": ", 1)
        for metric, value in row.items():
            record(
                "frozen_film",
                f"{kind}: {data.name}: {case}",
                metric,
                value,
                seed=options.seed,
                folder=options.out,
            )


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""Every estimator on odd texts: finite numbers in their range, or a clear refusal."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.sparse import random_array
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks.faulty.odd_texts import odd_pairs
from benchmarks.faulty.readers import Late, Tally, limits
from estimators import (
    FILM,
    ContextModel,
    ContextRegressor,
    CrossEncoderRegressor,
    DisjointPairsKFold,
    DuplicateFinder,
    LexicalFeatures,
    MiniBatchFILM,
    PairTeacher,
    PairwiseKNNClassifier,
    RCMDRegressor,
    SentenceEncoder,
    SurrogateRegressor,
    TokenEncoder,
    TokenFILM,
    TokenMatchingRegressor,
    TokenWeights,
    TripletNetwork,
    WordDifferences,
    fast_duplicates,
    few_label_duplicates,
    make_encoder,
    save_model,
)
from estimators.cli import main as film
from estimators.cli import read_table, write_table
from film.datasets import make_documents, make_question_pairs
from film.text import copy_key, normalize_text, token_text

BATCH = 20
ALONE = ("FILM.fit", "MiniBatchFILM.fit")
"""Cases whose input is one matrix, and no pair."""
Check = Callable[[np.ndarray], Any]


def neural_estimators(folder: Path) -> dict[str, Check]:
    """Make a small random model, and give what to do with odd pairs by what stands on it."""
    data = make_question_pairs(60, random_state=0)
    model = make_encoder(
        data.pairs.ravel().tolist(), folder / "tiny", width=16, layers=1, heads=2, random_state=0
    )
    sentences = SentenceEncoder(model).fit(["a text"])
    tokens = TokenEncoder(model).fit(["a text"])
    rcmd = RCMDRegressor(model, epochs=0).fit(data.pairs, data.y)
    surrogate = SurrogateRegressor(model, epochs=0).fit(data.pairs, data.y)
    cross = CrossEncoderRegressor(model, epochs=0.2, max_length=64).fit(data.pairs, data.y)
    masses = TokenFILM(TokenEncoder(model), d=4).fit(data.pairs, data.y)
    texts = data.pairs.ravel()
    network = TripletNetwork(TokenEncoder(model), channels=(2, 2, 2), width=4, length=32)
    network.fit(texts, np.arange(len(texts)) % 4)
    contexts = _contexts(model, folder / "contexts")
    origin = ContextRegressor(str(folder / "contexts"), n_contexts=8).fit(data.pairs, data.y)
    matching = TokenMatchingRegressor(model).fit(data.pairs, data.y)
    return {
        "SentenceEncoder.transform": lambda odd: _finite(sentences.transform(odd.ravel())),
        "TokenEncoder.transform": lambda odd: _finite(tokens.transform(odd.ravel()).values),
        "RCMDRegressor.similarity": lambda odd: _within(rcmd.similarity(odd), -1.001, 1.001),
        "RCMDRegressor.explain": lambda odd: [one._repr_html_() for one in rcmd.explain(odd[:4])],
        "SurrogateRegressor.predict": lambda odd: _finite(surrogate.predict(odd)),
        "CrossEncoderRegressor.predict": lambda odd: _finite(cross.predict(odd)),
        "TokenFILM.transform": lambda odd: _finite(masses.transform(odd.ravel()).values),
        "TripletNetwork.transform": lambda odd: _finite(network.transform(odd.ravel())),
        "TokenWeights.fit": lambda odd: _finite(
            TokenWeights(model, steps=1, batch_size=4).fit(odd.ravel()).token_weights_
        ),
        "ContextModel.transform": lambda odd: _finite(contexts.transform(odd.ravel())),
        "ContextRegressor.predict": lambda odd: _finite(origin.predict(odd)),
        "TokenMatchingRegressor.similarity": lambda odd: _finite(matching.similarity(odd)),
        "TokenMatchingRegressor.predict": lambda odd: _finite(matching.predict(odd)),
    }


def estimators(scratch: Path, seed: int = 0) -> dict[str, Check]:
    """Fit each estimator to plain texts, and give what to do with odd pairs, by name."""
    data = make_question_pairs(300, random_state=seed)
    pairs, y = data.pairs, np.asarray(data.y)
    words = TfidfVectorizer(token_pattern=r"\S+")
    fast = fast_duplicates(d=10, rank=30, cv=2).fit(pairs, y)
    few = few_label_duplicates(pairs[:40]).fit(pairs[:40], y[:40])
    knn = PairwiseKNNClassifier(make_pipeline(words, FILM(d=8, rank=20)), k=3).fit(pairs, y)
    lexical, differences = LexicalFeatures().fit(pairs), WordDifferences().fit(pairs)
    finder = DuplicateFinder().fit(np.unique(pairs))
    place = Path(scratch)
    save_model(fast, place / "fast.film")
    rng = np.random.default_rng(seed)
    return {
        "fast_duplicates.predict_proba": lambda odd: _probabilities(fast.predict_proba(odd)),
        "fast_duplicates.familiarity": lambda odd: _within(fast.familiarity(odd), 0, 1),
        "fast_duplicates.explain": lambda odd: [
            (str(found), found._repr_html_()) for found in fast.explain(odd[:2])
        ],
        "fast_duplicates.fit": lambda odd: _probabilities(
            fast_duplicates(d=4, rank=8, cv=2)
            .fit(np.vstack([pairs[:60], odd]), np.append(y[:60], np.arange(len(odd)) % 2))
            .predict_proba(odd)
        ),
        "few_label_duplicates.predict_proba": lambda odd: _probabilities(few.predict_proba(odd)),
        "PairwiseKNNClassifier.predict_proba": lambda odd: _probabilities(knn.predict_proba(odd)),
        "LexicalFeatures.transform": lambda odd: _finite(lexical.transform(odd)),
        "LexicalFeatures.fit": lambda odd: LexicalFeatures().fit(odd).transform(odd),
        "WordDifferences.transform": lambda odd: _finite(differences.transform(odd).data),
        "DuplicateFinder.query": lambda odd: [finder.query(text, k=3) for text in odd[:4, 0]],
        "DuplicateFinder.fit": lambda odd: DuplicateFinder().fit(odd.ravel()).groups(threshold=0.8),
        "DisjointPairsKFold.split": lambda odd: _disjoint(odd),
        "PairTeacher.fit": lambda odd: _finite(
            PairTeacher(
                make_pipeline(LexicalFeatures(), LogisticRegression()),
                embedder=words,
                n_pairs=20,
                random_state=0,
            )
            .fit(np.vstack([pairs[:60], odd]), np.append(y[:60], np.arange(len(odd)) % 2))
            .scores_
        ),
        "film score": lambda odd: _command("score", odd, place, "--model", "fast.film"),
        "film explain": lambda odd: _command("explain", odd[:4], place, "--model", "fast.film"),
        "film duplicates": lambda odd: _command("duplicates", odd, place),
        "FILM.fit": lambda odd: _film(FILM(d=3, rank=6, max_iter=5), rng),
        "MiniBatchFILM.fit": lambda odd: _film(MiniBatchFILM(d=3, max_iter=3), rng),
        "film.text": lambda odd: [_settled(text) for text in odd.flat],
    }


def tried(check: Check, n: int, seed: int, batch: int = BATCH) -> Tally:
    """Judge so many odd pairs, in batches, and count what happens; a batch fails as a whole."""
    tally, rng = Tally(), np.random.default_rng(seed)
    for start in range(0, n, batch):
        odd = odd_pairs(min(batch, n - start), rng)
        try:
            with warnings.catch_warnings(), limits(60):
                warnings.simplefilter("ignore")
                check(odd)
            tally.read += len(odd)
        except (ValueError, TypeError) as error:
            if str(error) and not isinstance(error, UnicodeError):
                tally.refused += len(odd)
            else:
                tally.fail(repr(error)[:200], repr(odd.tolist()).encode(), len(odd))
        except Late:
            tally.fail("more than 60 s", repr(odd.tolist()).encode(), len(odd))
        except Exception as error:
            tally.fail(repr(error)[:200], repr(odd.tolist()).encode(), len(odd))
    return tally


def _film(model: Any, rng: np.random.Generator) -> None:
    """Fit to a sparse matrix with zero rows, copies, and numbers of all sizes."""
    n = int(rng.integers(8, 40))
    X = random_array((n, int(rng.integers(7, 30))), density=float(rng.random()), rng=rng).tocsr()
    X.data *= 10.0 ** rng.integers(-12, 12, len(X.data)).astype(float)
    triplets = np.array([rng.permutation(n)[:3] for _ in range(int(rng.integers(1, 60)))])
    _finite(model.fit(X, triplets).transform(X))


def _contexts(model: Path, folder: Path) -> ContextModel:
    """Learn contexts from made documents, and save them."""
    documents = make_documents(12, random_state=0)
    found = ContextModel(n_contexts=8, random_state=0).fit(documents)
    found.save(folder)
    return found


def _command(name: str, odd: np.ndarray, folder: Path, *options: str) -> None:
    """Run a command on a table of the texts; what it says to the user is a refusal."""
    write_table(folder / "odd.csv", ["question1", "question2"], odd.tolist())
    arguments = [name, "odd.csv", *options, "--quiet", "--out"]
    arguments += ["out.jsonl", "--html", "out.html"] if name == "explain" else ["out.csv"]
    arguments += ["--text", "question1"] if name == "duplicates" else []
    before = os.getcwd()
    os.chdir(folder)
    try:
        film(arguments, standalone_mode=False)
    except click.ClickException as error:
        raise ValueError(error.format_message()) from error
    finally:
        os.chdir(before)
    if name == "score":
        table = read_table(folder / "out.csv")
        if len(table) != len(odd):
            raise AssertionError(f"{len(odd)} rows went in, {len(table)} came out")
        _within(np.array([float(row[2]) for row in table.rows]), 0, 1)


def _disjoint(odd: np.ndarray) -> None:
    for train, test in DisjointPairsKFold(2, random_state=0).split(odd, np.arange(len(odd)) % 2):
        if {*map(copy_key, odd[train].flat)} & {*map(copy_key, odd[test].flat)}:
            raise AssertionError("a text stands on both sides of a split")


def _settled(text: str) -> None:
    """Texts are read to a form that reading again leaves as it is."""
    for read in (normalize_text, token_text, copy_key):
        once = read(text)
        if read(once) != once:
            raise AssertionError(f"{read.__name__} of {text!r}: {once!r} reads as {read(once)!r}")


def _probabilities(found: np.ndarray) -> None:
    _within(found, 0, 1)
    if not np.allclose(found.sum(axis=1), 1):
        raise AssertionError("probabilities do not sum to 1")


def _within(found: np.ndarray, low: float, high: float) -> None:
    _finite(found)
    if (found < low).any() or (found > high).any():
        raise AssertionError(f"values outside of {low} to {high}")


def _finite(found: np.ndarray) -> None:
    if not np.isfinite(found).all():
        raise AssertionError("values that are not finite")

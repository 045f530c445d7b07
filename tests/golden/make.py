"""Write the saved models of this folder and what they predict: ``python -m tests.golden.make``.

They were written with the code of commit c49577d, the first that people saved models with, and
must load and predict the same ever after. Never write them anew with later code: add files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from estimators import (
    FILM,
    DisjointPairsKFold,
    DuplicateFinder,
    LexicalFeatures,
    PairwiseKNNClassifier,
    RCMDRegressor,
    SentenceEncoder,
    TokenEncoder,
    TokenMatchingRegressor,
    TokenWeights,
    WordDifferences,
    fast_duplicates,
    few_label_duplicates,
    save_model,
)
from film.datasets import make_question_pairs
from tests.estimators.tiny_model import MAX_TOKENS, PAIRS, SCORES, make_tiny_model

FOLDER = Path(__file__).parent
TINY = "tiny"
"""The model of the encoders, named as seen from this folder."""
N_TREES = 2000
"""Pairs from which the final model is boosted trees."""


def archives() -> Iterator[tuple[str, Any, str | None, Any]]:
    """Yield name, model, and the method and argument whose result is kept, if any."""
    few = make_question_pairs(80, random_state=0)
    new = make_question_pairs(60, random_state=7).pairs[:12]
    asked = few.pairs[:4].tolist() + new.tolist()
    texts = sorted({text for pair in few.pairs.tolist() for text in pair})
    groups = np.arange(len(texts)) % 10
    unseen = [text for pair in new[:6] for text in pair] + ["", "an unknown wyvern"]

    logistic = fast_duplicates(d=8, rank=30, cv=2).fit(few.pairs, few.y)
    yield "fast_logistic", logistic, "predict_proba", asked
    shifted = fast_duplicates(d=8, rank=30, cv=2, prior=0.17, corpus=unseen[:-2])
    yield "fast_corpus", shifted.fit(few.pairs[:40], few.y[:40]), "predict_proba", asked
    # The same pairs again and again make the other final model, of few words.
    again = np.arange(N_TREES) % 30
    trees = fast_duplicates(d=4, rank=16, cv=2).fit(few.pairs[again], few.y[again])
    yield "fast_trees", trees, "predict_proba", asked
    labelled = few_label_duplicates(few.pairs[:60], rank=20).set_params(cv=2, final_estimator=None)
    yield "few_labels", labelled.fit(few.pairs[:40], few.y[:40]), "predict_proba", asked
    for solver in ("eigen", "cayley", "minibatch"):
        metric = FILM(d=8, rank=30, solver=solver, max_iter=5, random_state=0)
        space = make_pipeline(TfidfVectorizer(), metric).fit(texts, groups)
        yield f"film_{solver}", space, "transform", unseen
    for count in ("texts", "questions"):
        embedder = make_pipeline(TfidfVectorizer(), FILM(d=8, rank=30, random_state=0))
        rule = PairwiseKNNClassifier(embedder, k=3, cv=2, count=count).fit(few.pairs, few.y)
        yield f"knn_{count}", rule, "predict_proba", asked
    yield "lexical", LexicalFeatures().fit(few.pairs), "transform", asked
    differences = make_pipeline(WordDifferences(), LogisticRegression()).fit(few.pairs, few.y)
    yield "words", differences, "predict_proba", asked
    yield "folds", DisjointPairsKFold(3, random_state=1), None, None
    yield "unfitted_finder", DuplicateFinder(n_neighbors=7, prior=0.1), None, None
    yield "unfitted_rcmd", RCMDRegressor(similarity="avg", epochs=2.0), None, None

    short = [text for pair in PAIRS for text in pair]
    encoder: dict[str, Any] = {"max_length": MAX_TOKENS, "device": "cpu"}
    yield "sentence_encoder", SentenceEncoder(TINY, **encoder).fit(short), "transform", short
    yield "token_encoder", TokenEncoder(TINY, **encoder).fit(short), None, None
    weights = TokenWeights(TINY, steps=3, random_state=0, device="cpu").fit(short)
    yield "token_weights", weights, None, None
    matching = TokenMatchingRegressor(TINY, weights=weights, **encoder).fit(PAIRS, SCORES)
    yield "token_matching", matching, "predict", PAIRS
    yield "rcmd_archive", RCMDRegressor(TINY, **encoder).fit(PAIRS, SCORES), "predict", PAIRS


def folders() -> Iterator[tuple[str, Any]]:
    """Yield name and regressor of what is saved as a folder."""
    shared: dict[str, Any] = {"max_length": MAX_TOKENS, "device": "cpu", "random_state": 0}
    trained = RCMDRegressor(
        TINY, epochs=2, train_batch_size=2, learning_rate=1e-3, weights={"cat": 2.0, "the": 0.0},
        **shared,
    )  # fmt: skip
    yield "rcmd_trained", trained.fit(PAIRS, SCORES)
    binary = RCMDRegressor(TINY, similarity="avg", objective="binary", **shared)
    yield "rcmd_binary", binary.fit(PAIRS, ["n", "y", "n", "y"])


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values), 9).tolist()


def main() -> None:
    """Write all files."""
    os.chdir(FOLDER)
    make_tiny_model(Path(TINY))
    expected: dict[str, Any] = {}
    for name, model, method, argument in archives():
        save_model(model, f"{name}.film")
        expected[name] = {"class": type(model).__name__, "method": method}
        if method is not None:
            result = getattr(model, method)(argument)
            expected[name] |= {"argument": argument, "result": _rounded(result)}
    for name, model in folders():
        model.save(name)
        matching = TokenMatchingRegressor(name, max_length=MAX_TOKENS, device="cpu")
        expected[name] = {
            "argument": PAIRS,
            "result": _rounded(model.predict(PAIRS)),
            "matching": _rounded(matching.fit(PAIRS, SCORES).predict(PAIRS)),
        }
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    Path("expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

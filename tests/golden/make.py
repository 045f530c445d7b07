"""Write the saved models of this folder and what they predict: ``python -m tests.golden.make``.

They were written with the code of commit 8896d3a, and must load and predict the same ever after.
Never write them anew with later code: add files. ``tiny`` is the model of their encoders.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from estimators import (
    FILM,
    AllowSharedQuestions,
    ContextModel,
    CrossEncoderRegressor,
    DisjointPairsKFold,
    DuplicateClassifier,
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
    save_model,
)
from film.datasets import make_question_pairs
from tests.estimators.tiny_documents import tiny_documents
from tests.estimators.tiny_model import PAIRS, SCORES
from tests.golden.outcome import outcome

FOLDER = Path(__file__).parent
TINY = "tiny"
SHORT = [text for pair in PAIRS for text in pair]
NEURAL: dict[str, Any] = {"max_length": 64, "device": "cpu"}
SEEDED: dict[str, Any] = NEURAL | {"random_state": 0}
Call = tuple[str, Any]
"""Name of an attribute or method, and the argument of the latter."""


def archives() -> Iterator[tuple[str, Any, list[Call]]]:
    """Yield name, model, and the calls whose results are kept."""
    few = make_question_pairs(50, random_state=0)
    new = make_question_pairs(60, random_state=7).pairs[:8]
    asked = few.pairs[:3].tolist() + new.tolist()
    texts = sorted({text for pair in few.pairs.tolist() for text in pair})
    unseen = [text for pair in new[:4] for text in pair] + ["", "an unknown wyvern"]
    groups = np.arange(len(texts)) % 8
    probabilities: list[Call] = [("predict_proba", asked)]
    known: list[Call] = [*probabilities, ("trained_on", asked)]

    # Saved before and after the figures out of fold were asked for, which drops the texts.
    logistic = fast_duplicates(d=6, rank=20, cv=2).fit(few.pairs, few.y)
    yield "fast_logistic", logistic, [*known, ("out_of_fold_probabilities", {})]
    boosted = fast_duplicates(d=4, rank=16, cv=2).set_params(
        final_estimator=HistGradientBoostingClassifier(max_iter=10, random_state=0),
        neighbourhood=5,
        prior=0.17,
        corpus=unseen[:-2],
    )
    boosted.fit(few.pairs, few.y).out_of_fold_probabilities()
    yield "fast_trees", boosted, [*known, ("out_of_fold_probabilities", {})]
    labelled = few_label_duplicates(few.pairs, rank=10, cv=2)
    labelled.set_params(final_estimator__n_estimators=20)
    yield "few_labels", labelled.fit(few.pairs[:40], few.y[:40]), known
    members: list[tuple[str, Any]] = [
        ("rule", PairwiseKNNClassifier(_space(), k=4, cv=2)),
        ("batches", _space(MiniBatchFILM(6, rank=20, batch_size=64, max_iter=5, random_state=0))),
        ("encoder", SentenceEncoder(TINY, **NEURAL)),
        ("rcmd", RCMDRegressor(TINY, plan="avg", **NEURAL)),
    ]
    mixed = DuplicateClassifier(
        members, LogisticRegression(), features=None, cv=4, member_cv={"batches": 2}
    )
    yield "mixed_members", mixed.fit(few.pairs, few.y), known

    for solver in ("eigen", "cayley"):
        yield f"film_{solver}", _space(solver=solver).fit(texts, groups), [("transform", unseen)]
    rows = np.random.default_rng(0).normal(size=(30, 6))
    steps = MiniBatchFILM(d=3, batch_size=16, random_state=0)
    for _ in range(3):
        steps.partial_fit(rows, np.arange(30) % 3)
    yield "film_batches", steps, [("transform", rows[:4].tolist()), ("loss_curve_", None)]
    rule = PairwiseKNNClassifier(_space(), k=3, cv=2, count="questions", mode="either")
    kept = [*probabilities, ("predict", asked), ("rank", asked)]
    yield "knn_questions", rule.fit(few.pairs, few.y), kept
    collection = PairwiseKNNClassifier(k=3, cv=2, corpus=unseen)
    yield "knn_collection", collection.fit(few.pairs, few.y), kept
    yield "lexical", LexicalFeatures().fit(few.pairs), [("transform", asked)]
    words = make_pipeline(WordDifferences(), LogisticRegression()).fit(few.pairs, few.y)
    yield "words", words, probabilities
    teacher = PairTeacher(
        make_pipeline(LexicalFeatures(), LogisticRegression(max_iter=1000)),
        embedder=TfidfVectorizer(), n_neighbors=2, random_state=0,
    )  # fmt: skip
    yield "teacher", teacher.fit(few.pairs, few.y), [("scores_", None), ("folds_", None)]

    calls: list[Call] = [
        ("find", {"threshold": 0.3}),
        ("match", {"texts": unseen[:6], "threshold": 0.1}),
        ("query", {"text": unseen[0], "k": 4}),
    ]
    finder = DuplicateFinder(n_neighbors=4).fit(texts[:50])
    finder.find(threshold=0.3)
    yield "finder", finder.add(texts[50:60]), calls
    judging = DuplicateFinder(logistic, _space().fit(texts, groups), 4, prior=0.1)
    blocks = [len(text) % 2 for text in texts[:40]]
    ids = [f"row {row}" for row in range(40)]
    yield "finder_of_classifier", judging.fit(texts[:40], ids, blocks), calls[:1]
    yield "folds", DisjointPairsKFold(3, random_state=1), [("n_splits", None)]
    yield "shared_folds", AllowSharedQuestions(KFold(4)), [("get_n_splits", {})]

    vectors: list[Call] = [("transform", SHORT)]
    whole = SentenceEncoder(TINY, pooling="max", whiten=2, **NEURAL).fit(SHORT)
    yield "sentence_encoder", whole, vectors
    yield "token_encoder", TokenEncoder(TINY, **NEURAL).fit(SHORT), [("transform", SHORT[:3])]
    labels = np.arange(len(SHORT)) % 2
    metric = TokenFILM(TokenEncoder(TINY, **NEURAL), d=4, random_state=0)
    yield "token_film", metric.fit(PAIRS, [1, 0, 1, 0]), vectors
    network = TripletNetwork(
        TokenEncoder(TINY, **NEURAL), length=8, channels=(2, 2, 2), width=4, random_state=0
    )
    yield "triplet_network", network.fit(SHORT, labels), vectors
    weights = TokenWeights(TINY, steps=3, random_state=0, device="cpu").fit(SHORT)
    yield "token_weights", weights, [("token_weights_", None), ("loss_curve_", None)]
    judged: list[Call] = [("predict", PAIRS), ("similarity", PAIRS)]
    matching = TokenMatchingRegressor(TINY, weights=weights, matching="significance", **NEURAL)
    yield "token_matching", matching.fit(PAIRS, SCORES), judged
    yield "token_rcmd", RCMDRegressor(TINY, **NEURAL).fit(PAIRS, SCORES), judged
    trained: dict[str, Any] = SEEDED | {"epochs": 1, "train_batch_size": 2}
    crossed = CrossEncoderRegressor(TINY, **trained | {"train_max_length": 32})
    yield "token_cross", crossed.fit(PAIRS, SCORES), judged[:1]
    surrogate = SurrogateRegressor(TINY, score_range=(0, 5), **trained)
    yield "token_surrogate", surrogate.fit(PAIRS, SCORES), judged[:1]
    contexts = ContextModel(
        reader="lstm", width=8, n_contexts=6, vocabulary_size=300, batch_size=32,
        discriminator_epochs=1, generator=None, device="cpu", random_state=0,
    )  # fmt: skip
    yield "token_contexts", contexts.fit(tiny_documents()), [("transform", ["The cat sees it."])]


def folders() -> Iterator[tuple[str, Any]]:
    """Yield name and regressor of what is saved as a folder."""
    trained: dict[str, Any] = SEEDED | {
        "epochs": 1,
        "train_batch_size": 2,
        "learning_rate": 1e-3,
    }
    weights = TokenWeights(TINY, steps=3, random_state=0, device="cpu").fit(SHORT)
    yield "folder_scored", RCMDRegressor(TINY, weights=weights, **trained).fit(PAIRS, SCORES)


def _space(metric: Any = None, solver: str = "eigen") -> Any:
    if metric is None:
        metric = FILM(6, rank=20, solver=solver, max_iter=5, random_state=0)
    return make_pipeline(TfidfVectorizer(), metric)


def _kept(model: Any, calls: list[Call]) -> dict[str, Any]:
    results = [np.round(np.asarray(outcome(model, *call), dtype=float), 9) for call in calls]
    return {
        "class": type(model).__name__,
        "calls": [
            {"name": name, "argument": given, "result": result.tolist()}
            for (name, given), result in zip(calls, results, strict=True)
        ],
    }


def main() -> None:
    """Write all files."""
    os.chdir(FOLDER)
    expected: dict[str, Any] = {}
    for name, model, calls in archives():
        save_model(model, f"{name}.film")
        expected[name] = _kept(model, calls)
    for name, model in folders():
        model.save(name)
        expected[name] = _kept(model, [("predict", PAIRS), ("similarity", PAIRS)])
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    Path("expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Recipes by which token similarity is trained: rows, what chooses the best weights, settings."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from benchmarks.data.sts import read_sts_benchmark
from benchmarks.support.judges import Judges
from benchmarks.support.quora_data import apart
from benchmarks.support.recipes import SETTINGS
from benchmarks.support.training_rows import (
    caption_triplets,
    nearest_pairs,
    pairs_of_all_ranks,
    question_triplets,
    read_captions,
    read_choice,
)
from estimators import (
    PairTeacher,
    RCMDRegressor,
    SentenceEncoder,
    accurate_duplicates,
    disjoint_pairs_split,
)


@dataclass(frozen=True)
class Recipe:
    """Rows, what chooses the best weights, and settings."""

    rows: np.ndarray
    y: np.ndarray | None
    eval_set: tuple[np.ndarray, np.ndarray]
    settings: dict[str, Any]
    is_transfer: bool


def here(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Duplicate questions and captions, by contrast."""
    n = 64 if options.quick else HERE_ROWS
    captions = read_captions(folder / "multi30k", judges.excluded)
    questions = question_triplets(judges.quora, n, options.model, seed=0)
    rows = np.concatenate([questions, caption_triplets(captions, n, options.model, seed=0)])
    return Recipe(
        rows,
        None,
        choice_rows(folder, judges),
        SETTINGS["here"],
        is_transfer=True,
    )


def quora(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Labelled pairs of questions."""
    train, held, y_train, y_held = quora_folds(judges)
    n = 64 if options.quick else None
    return Recipe(
        train[:n],
        y_train[:n],
        (held[:n], y_held[:n]),
        SETTINGS["quora"],
        is_transfer=True,
    )


def labels(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Labelled pairs at a higher rate."""
    recipe = quora(folder, judges, options)
    return Recipe(recipe.rows, recipe.y, recipe.eval_set, SETTINGS["labels"], is_transfer=True)


def teacher(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Labelled pairs, and near pairs scored by a teacher."""
    return _taught(quora(folder, judges, options), options, "teacher")


def collection(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Labelled pairs, and near pairs of the texts of the tenth held out, scored by a teacher.

    The labels of the tenth are not learned from: it stands for a collection of unlabelled texts.
    """
    recipe = quora(folder, judges, options)
    texts = sorted(set(recipe.eval_set[0].ravel()))
    return _taught(recipe, options, "collection", texts)


def further(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Labelled pairs, and near pairs of the texts of further duplicates, scored by a teacher.

    None of these questions is linked to one of the tenth held out. That they are duplicates of each
    other is not told. With ``--larger``, the teacher is that model, trained on the same labels.
    """
    recipe = quora(folder, judges, options)
    similar = apart(judges.quora.similar, recipe.eval_set[0])
    if similar is None:
        raise ValueError("the recipe further needs extra_duplicates.csv beside Quora's train.csv")
    texts = sorted(set(similar[: 64 if options.quick else None].ravel()))
    name, larger = "further", None
    if options.larger is not None:
        name = f"further-by-{Path(options.larger).name}"
        larger = FrozenEstimator(RCMDRegressor.load(options.larger, **_reads(options)))
    return _taught(recipe, options, name, texts, FURTHER_ROWS, larger)


def _taught(
    recipe: Recipe,
    options: argparse.Namespace,
    name: str,
    corpus: list[str] | None = None,
    n_pairs: int | None = None,
    larger: Any = None,
) -> Recipe:
    near = f"-{options.near}-near" if options.near else ""
    place = options.checkpoint and f"{options.checkpoint}/{name}{near}"
    small = {"d": 2, "rank": 2, "cv": 2} if options.quick else {}
    n = options.near or (20 if options.quick else n_pairs or NEAR_ROWS)
    cache = place and f"{place}/encodings"
    made = near_pair_teacher(options.model, n, _reads(options), cache, corpus, **small)
    made.set_params(checkpoint=place)
    if larger is not None:
        made.set_params(estimator=larger)
    settings = SETTINGS["teacher"] | {"teacher": made}
    return Recipe(recipe.rows, recipe.y, recipe.eval_set, settings, is_transfer=True)


def near_pair_teacher(
    model: str | None,
    n_pairs: int,
    settings: dict[str, Any],
    cache: str | None,
    corpus: list[str] | None = None,
    **stack: Any,
) -> PairTeacher:
    """Stacks without a trained transformer, which score near pairs of three folds' texts.

    A stack knows what the similarity that learns from it does not: words and characters, numbers,
    negations, and how densely texts lie around a pair. With a corpus, one stack that knows it
    scores the near pairs of its texts.
    """
    teacher = accurate_duplicates(
        encoder=model, epochs=0, cache=cache, corpus=corpus, **settings, **stack
    )
    embedder = SentenceEncoder(model, cache=cache, **settings)
    return PairTeacher(
        teacher,
        embedder=embedder,
        n_neighbors=4,
        n_pairs=n_pairs,
        cv=3,
        corpus=corpus,
        random_state=0,
        verbose=1,
    )


def larger(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """Captions and questions, scored by the mean vectors of a larger model."""
    if options.larger is None:
        raise ValueError("the recipe larger needs --larger FOLDER, the model that scores")
    n = 64 if options.quick else LARGER_ROWS
    captions = read_captions(folder / "multi30k", judges.excluded).texts
    rng = np.random.default_rng(0)
    images = rng.permutation(len(captions))[: n // 5]
    questions = judges.quora.train[rng.permutation(len(judges.quora.train))[: n // 2]]
    rows = np.concatenate(
        [
            pairs_of_all_ranks(texts.ravel(), n, options.model, seed=0)
            for texts in (captions[images], questions)
        ]
    )
    scores = RCMDRegressor(options.larger, **_of_means(options)).fit(rows).predict(rows)
    return Recipe(rows, scores, choice_rows(folder, judges), SETTINGS["larger"], is_transfer=True)


def sts(folder: Path, judges: Judges, options: argparse.Namespace) -> Recipe:
    """STS-B's own train file."""
    n = 64 if options.quick else None
    pairs, scores = (part[:n] for part in sts_file(folder, "train"))
    dev, y_dev = (part[:n] for part in sts_file(folder, "dev"))
    if options.larger is not None:
        judged = {*judges.sets["STS-B"].pairs.ravel(), *dev.ravel()}
        rows = nearest_pairs(pairs, n or NEAREST_ROWS, options.model, judged, seed=0)
        reader = RCMDRegressor.load(options.larger, **_of_means(options))
        pairs, scores = np.concatenate([pairs, rows]), np.append(scores, reader.predict(rows))
    return Recipe(pairs, scores, (dev, y_dev), SETTINGS["sts"], is_transfer=False)


HERE_ROWS = 4_000
"""Of each kind: 63 steps, after the rows that choose had gained nothing between 25 and 50."""
NEAR_ROWS = 40_000
"""Near pairs that a teacher scores."""
FURTHER_ROWS = 60_000
"""Those of the texts of further duplicates: nearly twice as many as are labelled."""
LARGER_ROWS = 10_000
"""Pairs of each kind that a larger model scores."""
NEAREST_ROWS = 5_000
"""Near pairs of STS-B's sentences that it scores: fewer than are labelled."""
RECIPES = {
    "here": here,
    "quora": quora,
    "labels": labels,
    "teacher": teacher,
    "collection": collection,
    "further": further,
    "larger": larger,
    "sts": sts,
}


def choice_rows(folder: Path, judges: Judges) -> tuple[np.ndarray, np.ndarray]:
    """Scored pairs of other files than the test sets, by which a run's best weights are chosen."""
    choice = read_choice(folder / "sts", judges.excluded)
    return choice.pairs, choice.scores


def kinds_of_rows(folder: Path, judges: Judges) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Scored pairs of each kind by which shares of models are chosen, outside of all test sets."""
    choice = read_choice(folder / "sts", judges.excluded)
    kinds = {
        str(genre): (choice.pairs[choice.genres == genre], choice.scores[choice.genres == genre])
        for genre in np.unique(choice.genres)
    }
    _, held, _, y_held = quora_folds(judges)
    return kinds | {"Quora, held fold": (held, y_held)}


def quora_folds(judges: Judges) -> list[np.ndarray]:
    """Split Quora's train file question-disjoint: pairs, a tenth held out, and labels of both."""
    return disjoint_pairs_split(
        judges.quora.train, judges.quora.y_train, test_size=0.1, random_state=0
    )


def _of_means(options: argparse.Namespace) -> dict[str, Any]:
    return {"plan": "avg", **_reads(options)}


def _reads(options: argparse.Namespace) -> dict[str, Any]:
    return {"device": options.device, "dtype": options.dtype}


def sts_file(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Read pairs and scores of a part of STS-B."""
    data = read_sts_benchmark(folder / "sts" / "STSBenchmark" / f"sts-{part}.csv")
    return data.pairs, data.scores

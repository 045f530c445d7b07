"""Settings of the recipes by which token similarity is trained."""

from __future__ import annotations

from typing import Any

from estimators import PairTeacher, SentenceEncoder, accurate_duplicates

SETTINGS: dict[str, dict[str, Any]] = {
    "here": {"objective": "contrastive", "epochs": 1, "eval_steps": 15},
    "quora": {"objective": "binary", "epochs": 0.5, "eval_steps": 70},
    "labels": {
        "objective": "binary",
        "epochs": 2,
        "eval_steps": 182,
        "learning_rate": 2e-4,
    },
    "larger": {"epochs": 1, "eval_steps": 20},
    "sts": {
        "epochs": 2,
        "eval_steps": 36,
        "train_max_length": 64,
        "train_batch_size": 64,
        "learning_rate": 1e-4,
    },
    "paper": {"objective": "contrastive", "epochs": 3},
}
"""Parameters of `RCMDRegressor` by the name of the recipe in `benchmarks.rcmd_train`."""
SETTINGS["teacher"] = SETTINGS["labels"] | {"epochs": 1, "eval_steps": 150}


def near_pair_teacher(
    model: str | None,
    n_pairs: int,
    settings: dict[str, Any],
    folder: str | None,
    **stack: Any,
) -> PairTeacher:
    """Stacks without a trained transformer, which score near pairs of three folds' texts.

    A stack knows what the similarity that learns from it does not: words and characters, numbers,
    negations, and how densely texts lie around a pair.
    """
    cache = folder and f"{folder}/encodings"
    teacher = accurate_duplicates(encoder=model, epochs=0, cache=cache, **settings, **stack)
    embedder = SentenceEncoder(model, cache=cache, **settings)
    return PairTeacher(
        teacher,
        embedder=embedder,
        n_neighbors=4,
        n_pairs=n_pairs,
        cv=3,
        random_state=0,
        checkpoint=folder,
        verbose=1,
    )

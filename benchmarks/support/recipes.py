"""Settings of the recipes by which token similarity is trained."""

from __future__ import annotations

from typing import Any

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
}
"""Parameters of `RCMDRegressor` by the name of the recipe in `benchmarks.rcmd_train`."""
SETTINGS["teacher"] = SETTINGS["labels"] | {"epochs": 1, "eval_steps": 150}

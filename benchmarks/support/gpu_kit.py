"""What a run on a GPU takes along, in one folder: weights in half precision, rows to train on."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.support.recipes import SETTINGS
from film.datasets import make_question_pairs

KIT = Path(__file__).parents[2] / "out" / "gpu"
MODEL = "all-MiniLM-L6-v2"
RECIPES = ("here", "quora", "sts")
MOST_HELD = 1_000
GENERATED = 8_000


class Rows(NamedTuple):
    """What a recipe trains on and what chooses its best weights."""

    source: str
    rows: np.ndarray
    y: np.ndarray | None
    held: np.ndarray
    y_held: np.ndarray

    def first(self, n: int) -> Rows:
        """Give at most n rows of each kind."""
        y = None if self.y is None else self.y[:n]
        return Rows(self.source, self.rows[:n], y, self.held[:n], self.y_held[:n])


def prepare(data: Path | None, model: str | None = None, *, quick: bool = False) -> None:
    """Write the packaged model in half precision, and the recipes' rows where there is data."""
    from estimators.encoders import Transformer

    kit = KIT
    kit.mkdir(parents=True, exist_ok=True)
    Transformer(model, "cpu", "float16", 0).save(kit / MODEL)
    for name, found in (_recipes(data, model, quick) if data else {}).items():
        with gzip.open(_file(kit, name), "wt", encoding="utf-8") as file:
            json.dump({key: _plain(value) for key, value in found.items()}, file)


def weights(kit: Path | None = None) -> str | None:
    """Give the folder of the weights taken along; None where there are the packaged ones alone.

    Raises
    ------
    FileNotFoundError
        If there are none.
    """
    from estimators.encoders import find_model

    folder = (kit or KIT) / MODEL
    if folder.is_dir():
        return str(folder)
    try:
        find_model(None)
    except ImportError as error:
        raise FileNotFoundError(
            f"no weights: {folder} is not there, and the extra minilm is not installed; run "
            "`make gpu-weights` where it is, and take the folder out/gpu along"
        ) from error
    return None


def recipe_rows(name: str, kit: Path | None = None) -> Rows:
    """Give the rows of a recipe: those taken along, else generated ones of the same form."""
    path = _file(kit or KIT, name)
    if not path.is_file():
        return _generated(name)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = json.load(file)
    y = None if found["y"] is None else np.array(found["y"])
    rows, held = (np.array(found[key], dtype=object) for key in ("rows", "held"))
    return Rows("its own rows", rows, y, held, np.array(found["y_held"]))


def _file(kit: Path, name: str) -> Path:
    return kit / f"rows_{name}.json.gz"


def _recipes(data: Path, model: str | None, quick: bool) -> dict[str, dict[str, Any]]:
    # What reads the sets needs more packages than a run on a GPU does.
    from benchmarks.support import training_recipes

    options = argparse.Namespace(quick=quick, model=model, larger=None)
    judges = training_recipes.Judges(data, quick)
    found = {}
    for name in RECIPES:
        recipe = training_recipes.RECIPES[name](data, judges, options)
        held, y_held = recipe.eval_set
        some = np.random.default_rng(0).permutation(len(held))[:MOST_HELD]
        found[name] = {"rows": recipe.rows, "y": recipe.y} | {
            "held": held[some],
            "y_held": y_held[some],
        }
    return found


def _plain(value: np.ndarray | None) -> Any:
    return None if value is None else value.tolist()


def _generated(name: str) -> Rows:
    data = make_question_pairs(GENERATED, random_state=0)
    y = np.asarray(data.y)
    held = slice(MOST_HELD)
    rows, y_rows = data.pairs[MOST_HELD:], y[MOST_HELD:]
    if SETTINGS[name].get("objective") == "contrastive":
        pairs = rows[y_rows == 1]
        others = np.roll(pairs[:, 1], 1)
        kept = (others != pairs[:, 0]) & (others != pairs[:, 1]) & (pairs[:, 0] != pairs[:, 1])
        rows, y_rows = np.column_stack([pairs, others])[kept], None
    return Rows("generated rows", rows, y_rows, data.pairs[held], y[held])

"""Training of token similarity by four recipes, with what it does to STS, iSTS and Quora.

``python -m benchmarks.rcmd_train [--recipe NAME ...] [--data DIR] [--seeds N] [--out DIR]
[--quick]``. The data folder holds the folders quora, sts, ists, multi30k and ``exclude.txt``;
without ``--data`` it is ``$FILM_DATA``. Recipes:

- ``here``: Quora's duplicates with hard negatives, and captions of images, by contrast. Transfer
  protocol: no row with a sentence of an evaluation set trains or chooses; all seven sets.
- ``quora``: Quora's labelled pairs, by their order; a question-disjoint tenth of them chooses.
- ``labels``: the same rows, twice over at four times the rate.
- ``sts``: STS-B's train file, chosen on its dev file. Supervised protocol: STS-B's test file alone.

Every recipe trains RCMD and, on the same rows and steps, the cosine of mean vectors ("avg"). With
``--plan cls`` it trains the cosine of [CLS], SimCSE's form. ``--save`` keeps the trained models.
``--quick`` trains a few steps on few rows and records only where ``--out`` says so. What a model
says of each pair is kept, for `benchmarks.compare`. The packaged model saw Quora's duplicates and
NLI before: its figures are no evidence for new data. ``--dtype bfloat16`` is faster, also on a CPU
that has instructions for it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.support.folders import data_folder
from benchmarks.support.judges import PLANS, Judges
from benchmarks.support.run import Results, parser_of, reading
from benchmarks.support.training_recipes import RECIPES, Recipe
from estimators import RCMDRegressor
from estimators.encoders import check_new_folder

DEFAULT_PLANS = ("rcmd", "avg")
DEFAULT_RECIPES = ["here", "quora", "sts"]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = parser_of("rcmd_train", __doc__, "folder of quora, sts, ists and multi30k")
    parser.add_argument("--recipe", action="append", choices=RECIPES)
    parser.add_argument("--plan", action="append", choices=PLANS)
    parser.add_argument("--seeds", type=int, metavar="N", help="runs of each; 3")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder")
    parser.add_argument("--device", metavar="NAME")
    parser.add_argument("--dtype", metavar="NAME")
    parser.add_argument("--epochs", type=float, metavar="N", help="in place of the recipe's")
    parser.add_argument("--save", metavar="DIR", help="keep trained models in this folder")
    options = parser.parse_args(arguments)
    with reading("rcmd_train"):
        folder = data_folder(options.data)
        for name in options.recipe or DEFAULT_RECIPES:
            _check_kept(name, options)
            judges = Judges(folder, options.quick)
            _run_recipe(name, RECIPES[name](folder, judges, options), judges, options)
    return 0


def _run_recipe(name: str, recipe: Recipe, judges: Judges, options: argparse.Namespace) -> None:
    label = "all-MiniLM-L6-v2" if options.model is None else Path(options.model).name
    if options.dtype is not None:
        label = f"{label}, {options.dtype}"
    seeds, results = _seeds(options), Results("rcmd_train", options)
    run = name if options.epochs is None else f"{name}, {options.epochs:g} epochs"
    for plan in options.plan or DEFAULT_PLANS:
        common = {"plan": plan, "device": options.device, "dtype": options.dtype}
        start = RCMDRegressor(options.model, **common).fit(recipe.eval_set[0])
        said = judges.said(start, recipe.is_transfer)
        untrained = judges.judged(start, said)
        results.tell(f"{label}: {plan}: untrained", untrained, seed=None)
        judges.keep(results, f"{label}: {plan}: untrained", said, None)
        settings: dict[str, Any] = common | recipe.settings
        case = f"{label}: {run}: {plan}"
        if options.quick:
            settings |= {"epochs": 1, "train_batch_size": 16}
        if options.epochs is not None:
            settings["epochs"] = options.epochs
        own = []
        before: Any = {"rival": "untrained", "beside": untrained}
        for seed in seeds:
            model = RCMDRegressor(options.model, random_state=seed, verbose=1, **settings)
            start = time.perf_counter()
            if recipe.y is None:
                model.set_params(objective="contrastive")
                model.fit(recipe.rows, eval_set=recipe.eval_set)
            else:
                model.fit(recipe.rows, recipe.y, eval_set=recipe.eval_set)
            seconds = time.perf_counter() - start
            said = judges.said(model, recipe.is_transfer)
            found = judges.judged(model, said)
            judges.keep(results, case, said, seed)
            found["training_seconds"] = seconds
            found["steps"] = len(model.loss_curve_)
            found["chosen_by"] = 100 * max(score for _, score in model.scores_)
            own.append(found)
            one = f"{case}, seed {seed}"
            results.tell(one, found, seed=None, bench="rcmd_train_seeds", **before)
            if options.save:
                model.save(_kept(name, plan, seed, options))
        means = {metric: float(np.mean([found[metric] for found in own])) for metric in own[0]}
        judged = "mean" if recipe.is_transfer else "STS-B"
        if len(own) > 1:
            means["spread"] = float(np.std([found[judged] for found in own], ddof=1))
        results.tell(f"{case}, mean of {len(own)} seeds", means, seed=None, **before)


def _seeds(options: argparse.Namespace) -> range:
    return range(options.seeds or (1 if options.quick else 3))


def _kept(name: str, plan: str, seed: int, options: argparse.Namespace) -> Path:
    """Give the folder in which a trained model is kept."""
    passes = "" if options.epochs is None else f"-{options.epochs:g}-epochs"
    return Path(options.save, f"{name}{passes}-{plan}-{seed}")


def _check_kept(name: str, options: argparse.Namespace) -> None:
    """Raise before any training where a model could not be kept after it."""
    if options.save:
        for plan in options.plan or DEFAULT_PLANS:
            for seed in _seeds(options):
                check_new_folder(_kept(name, plan, seed, options))


if __name__ == "__main__":
    sys.exit(main())

"""Training of token similarity by four recipes, with what it does to STS, iSTS and Quora.

``python -m benchmarks.rcmd_train [--recipe NAME ...] [--data DIR] [--seeds N] [--out DIR]
[--average DIR --average DIR ... [--share N ...]] [--quick]``. The data folder holds the folders
quora, sts, ists, multi30k and ``exclude.txt``; without ``--data`` it is ``$FILM_DATA``. Recipes:

- ``here``: Quora's duplicates with hard negatives, and captions of images, by contrast. Transfer
  protocol: no row with a sentence of an evaluation set trains or chooses; all seven sets.
- ``quora``: Quora's labelled pairs, by their order; a question-disjoint tenth of them chooses.
- ``labels``: the same rows, twice over at four times the rate.
- ``teacher``: the same once, and near pairs of their texts, scored by stacks of three folds.
- ``collection``: the same once, and near pairs of the held-out tenth's texts, scored by one stack.
- ``further``: the same once, and 60,000 near pairs of further duplicates' texts, scored likewise,
  or with ``--larger FOLDER`` by that model, trained on the same labels.
- ``larger``: captions and questions, each with others from the nearest to the farthest, scored by
  the mean vectors of a larger model (``--larger FOLDER``), as it is. Transfer protocol.
- ``sts``: STS-B's train file, chosen on its dev file. Supervised protocol: STS-B's test file alone.
  With ``--larger FOLDER``, a model fitted on that file, near pairs of its sentences beside them,
  scored by that model.

Every recipe trains RCMD and, on the same rows and steps, the cosine of mean vectors ("avg"). With
``--plan cls`` it trains the cosine of [CLS], SimCSE's form. Seeds below ``--first-seed`` that are
recorded count in the mean of all.
With ``--average``, nothing is trained: the average of models that ``--save`` kept is judged by the
transfer protocol, or with ``--recipe sts`` by the supervised one; with a ``--share`` for each, what
these lack to 1 is the share of the model they started from, ``--model``. With ``--weights words``
punctuation has no mass. ``--quick`` trains a few steps on few rows and records only where ``--out``
says so. What a model says of each pair is kept, for `benchmarks.compare`. The packaged model saw
Quora's duplicates and NLI before: its figures are no evidence for new data. ``--dtype bfloat16`` is
faster, also on a CPU that has instructions for it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.support.folders import data_folder
from benchmarks.support.judges import PLANS, Judges
from benchmarks.support.run import Results, parser_of, reading
from benchmarks.support.training_recipes import RECIPES, Recipe, kinds_of_rows, sts_file
from benchmarks.tables import newest
from estimators import RCMDRegressor, average_models
from estimators.encoders import check_new_folder

DEFAULT_PLANS = ("rcmd", "avg")
DEFAULT_RECIPES = ["here", "quora", "sts"]
TAKE_LARGER = ("larger", "sts", "further")
TAKE_NEAR = ("teacher", "collection", "further")
"""Recipes that read these options; rows of others would be named by what did nothing."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = parser_of("rcmd_train", __doc__, "folder of quora, sts, ists and multi30k")
    parser.add_argument("--recipe", action="append", choices=RECIPES)
    parser.add_argument("--plan", action="append", choices=PLANS)
    parser.add_argument("--seeds", type=int, metavar="N", help="runs of each; 3")
    parser.add_argument("--first-seed", type=int, default=0, metavar="N", help="of the runs; 0")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder")
    parser.add_argument("--larger", metavar="FOLDER", help="a model that scores rows")
    parser.add_argument("--device", metavar="NAME")
    parser.add_argument("--dtype", metavar="NAME")
    parser.add_argument("--epochs", type=float, metavar="N", help="in place of the recipe's")
    parser.add_argument("--rate", type=float, metavar="N", help="of learning, likewise")
    parser.add_argument("--near", type=int, metavar="N", help="pairs that a teacher scores")
    parser.add_argument(
        "--weights",
        choices=["learned", "words"],
        help="of tokens: trained with the model, or none for punctuation",
    )
    parser.add_argument("--checkpoint", metavar="DIR", help="keep runs here, and go on from there")
    parser.add_argument("--trained-only", action="store_true", help="judge no untrained model")
    parser.add_argument("--average", action="append", metavar="DIR", help="judge this average")
    parser.add_argument("--share", action="append", type=float, metavar="N", help="of --average")
    parser.add_argument(
        "--save", metavar="DIR", help="keep trained models in this folder, or the average as it"
    )
    options = parser.parse_args(arguments)
    if options.share and not options.average:
        parser.error("--share is the share of an --average; give both or neither")
    if options.weights == "learned" and options.average:
        parser.error("--weights learned trains, and an --average is judged as it is; give words")
    asked = options.recipe or DEFAULT_RECIPES
    for name, value, users in (
        ("larger", options.larger, TAKE_LARGER),
        ("near", options.near, TAKE_NEAR),
    ):
        if value is not None and not set(asked) <= set(users):
            parser.error(
                f"--{name} is of the recipes {', '.join(users)} alone, not of {', '.join(asked)}: "
                "leave it out, or run the others by themselves"
            )
    if options.near is not None and options.near < 1:
        parser.error(f"--near {options.near} must be at least 1 pair")
    with reading("rcmd_train"):
        folder = data_folder(options.data)
        if options.average:
            _judge_average(folder, options)
            return 0
        for name in asked:
            _check_kept(name, options)
            judges = Judges(folder, options.quick)
            _run_recipe(name, RECIPES[name](folder, judges, options), judges, options)
    return 0


def _run_recipe(name: str, recipe: Recipe, judges: Judges, options: argparse.Namespace) -> None:
    label = "all-MiniLM-L6-v2" if options.model is None else Path(options.model).name
    if options.dtype is not None:
        label = f"{label}, {options.dtype}"
    seeds, results = _seeds(name, options), Results("rcmd_train", options)
    run = name if options.epochs is None else f"{name}, {options.epochs:g} epochs"
    run = run if options.rate is None else f"{run}, rate {options.rate:g}"
    run = run if options.near is None else f"{run}, {options.near} near pairs"
    run = run if options.weights is None else f"{run}, {options.weights} weights"
    pairs = "near pairs by" if name == "sts" else "by"
    run = run if options.larger is None else f"{run}, {pairs} {Path(options.larger).name}"
    for plan in options.plan or DEFAULT_PLANS:
        common = {"plan": plan, "device": options.device, "dtype": options.dtype}
        untrained = None
        if not options.trained_only:
            fixed = {"weights": "words"} if options.weights == "words" else {}
            start = RCMDRegressor(options.model, **common, **fixed).fit(recipe.eval_set[0])
            said = judges.said(start, recipe.is_transfer)
            untrained = judges.judged(start, said)
            results.tell(f"{label}: {plan}: untrained", untrained, seed=None)
            judges.keep(results, f"{label}: {plan}: untrained", said, None)
        settings: dict[str, Any] = common | recipe.settings | {"weights": options.weights}
        case = f"{label}: {run}: {plan}"
        if options.quick:
            settings |= {"epochs": 1, "train_batch_size": 16}
        if options.epochs is not None:
            settings["epochs"] = options.epochs
        if options.rate is not None:
            settings["learning_rate"] = options.rate
        own = []
        before: Any = {"rival": "untrained", "beside": untrained} if untrained else {}
        for seed in seeds:
            if options.checkpoint:
                settings["checkpoint"] = _kept(name, plan, seed, options, options.checkpoint)
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
        # Seeds that another run records meanwhile count too.
        runs = _recorded(case, seeds.start, options) + own
        means = {metric: float(np.mean([found[metric] for found in runs])) for metric in own[0]}
        judged = "mean" if recipe.is_transfer else "STS-B"
        if len(runs) > 1:
            means["spread"] = float(np.std([found[judged] for found in runs], ddof=1))
        results.tell(f"{case}, mean of {len(runs)} seeds", means, seed=None, **before)


def _seeds(name: str, options: argparse.Namespace) -> range:
    n = options.seeds or (1 if options.quick else 3)
    return range(options.first_seed, options.first_seed + n)


def _recorded(case: str, n: int, options: argparse.Namespace) -> list[dict[str, float]]:
    """Give the figures of the first seeds, or nothing where one of them is not recorded."""
    if options.quick and not options.out:
        return []
    known = newest("rcmd_train_seeds", options.out)
    found = [known.get(f"{case}, seed {seed}", {}) for seed in range(n)]
    if not all(found):
        return []
    return [{metric: row["value"] for metric, row in cells.items()} for cells in found]


def _kept(
    name: str, plan: str, seed: int, options: argparse.Namespace, folder: str | None = None
) -> Path:
    """Give the folder in which a trained model is kept, or another one of that name."""
    passes = "" if options.epochs is None else f"-{options.epochs:g}-epochs"
    rate = "" if options.rate is None else f"-rate-{options.rate:g}"
    near = "" if options.near is None else f"-{options.near}-near"
    weighed = "" if options.weights is None else f"-{options.weights}"
    teacher = "" if options.larger is None else f"-by-{Path(options.larger).name}"
    kind = f"{name}{passes}{rate}{near}{weighed}{teacher}"
    return Path(folder or options.save, f"{kind}-{plan}-{seed}")


def _check_kept(name: str, options: argparse.Namespace) -> None:
    """Raise before any training where a model could not be kept after it."""
    if options.save:
        for plan in options.plan or DEFAULT_PLANS:
            for seed in _seeds(name, options):
                check_new_folder(_kept(name, plan, seed, options))


def _judge_average(folder: Path, options: argparse.Namespace) -> None:
    (models, shares, names), results = _shared(options), Results("rcmd_train", options)
    judges = Judges(folder, options.quick)
    is_transfer = options.recipe != ["sts"]
    kinds = kinds_of_rows(folder, judges) if is_transfer else {"STS-B dev": sts_file(folder, "dev")}
    with tempfile.TemporaryDirectory() as scratch:
        average = Path(options.save or Path(scratch, "average"))
        average_models(models, average, weights=shares)
        for plan in options.plan or DEFAULT_PLANS:
            common = {"plan": plan, "device": options.device, "dtype": options.dtype}
            common["weights"] = options.weights
            model = RCMDRegressor(average, **common).fit([("a text", "another")])
            said = judges.said(model, is_transfer)
            found = judges.judged(model, said)
            found["chosen_by"] = 100 * float(
                np.mean([model.score(*rows) for rows in kinds.values()])
            )
            kinds_of = [options.dtype, options.weights and f"weights of {options.weights}"]
            kind = "".join(f", {each}" for each in kinds_of if each)
            results.tell(f"{names}{kind}: {plan}", found, seed=None)
            judges.keep(results, f"{names}{kind}: {plan}", said, None)


def _shared(options: argparse.Namespace) -> tuple[list[Any], list[float] | None, str]:
    """Give models, the share of each in the average, and a name for it."""
    names = [Path(kept).name for kept in options.average]
    if options.share is None:
        return options.average, None, f"average of {' and '.join(names)}"
    if len(options.share) != len(names):
        raise ValueError(f"{len(names)} --average need as many --share, got {len(options.share)}")
    parts = " + ".join(
        f"{share:g} {name}" for share, name in zip(options.share, names, strict=True)
    )
    shares = [1 - sum(options.share), *options.share]
    return [options.model, *options.average], shares, f"start + {parts}"


if __name__ == "__main__":
    sys.exit(main())

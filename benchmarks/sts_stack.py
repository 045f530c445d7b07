"""Supervised STS-B by several similarities and word features joined, chosen inside train.

``python -m benchmarks.sts_stack [--data DIR] [--dtype NAME] [--keep DIR] [--out DIR] [--quick]``
fits on ``sts-train.csv`` alone and reports Spearman × 100 out of fold in train, by which everything
is chosen, and of ``sts-dev.csv`` and ``sts-test.csv``, which choose nothing. Joined are

- RCMD, or the plan that ``--plan`` names, trained by the settings of
  ``benchmarks.rcmd_train --recipe sts``; no file chooses its best weights. Training pairs are
  judged by models of the other two of three question-disjoint parts;
- its similarities of 13 kinds: by plans, by token matching, with rare tokens counted more; and
  those of the same model, untrained;
- what the elements of |u - v| and u * v say, u and v its untrained mean vectors: a regression of
  five question-disjoint folds;
- `LexicalFeatures`;
- with ``--cross MODEL``, ``packaged`` for the packaged one, a cross-encoder that starts from there;
  training pairs are judged as by RCMD.

Boosted trees and support vectors learn from them, and the mean of both is the answer. The encoder
has 22.7 M parameters; the joint model holds it twice, trained and as it was. With ``--packaged`` it
holds the packaged model too, whose untrained similarities and vectors stand beside those of
``--model``. With ``--keep``, trained models are kept in a folder, and taken from there where they
are. With ``--models N`` each trained model is the average of N, by as many seeds; with ``--whole
DIR`` a model that ``benchmarks.rcmd_train`` kept is also in the average of the one that learned the
whole file, which judges dev and test: dev has chosen such a model's best weights. ``What each
method says of the test pairs is kept, for `benchmarks.compare`. ``--quick`` takes 120 pairs a file
and one step of training, and records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, VotingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from benchmarks.sts import first_pairs
from benchmarks.sts_film import FILES, correlations, find_folder
from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.recipes import SETTINGS
from benchmarks.support.records import record
from estimators import (
    CrossEncoderRegressor,
    DisjointPairsKFold,
    LexicalFeatures,
    RCMDRegressor,
    TokenEncoder,
    average_models,
)
from estimators.tokens import weights_of_tokens
from film.datasets import ScoredPairs, read_sts_benchmark
from film.tokens import ragged_matching, ragged_similarities

QUICK_PAIRS = 120
TRAINED, CROSSED, JOINED = "{}, trained", "cross-encoder, trained", "all joined"
UNTRAINED = ("{}, untrained", "untrained similarities and words")
PARTS, FOLDS = 3, 5
"""Of train for the members that are trained, and for what is fitted in seconds."""
CROSS_SETTINGS = {"epochs": 4, "learning_rate": 1e-4, "max_length": 128}
"""Of the cross-encoder: one out of fold figure of train was looked at, and nothing else tried."""
MEASURES = 13
"""Similarities by one encoder."""
SHOWN = {"rcmd": "RCMD", "rcmd+avg": "RCMD + AVG"}
"""Plans that train; AVG is among the similarities, and with it one of them says the other."""


class Columns(NamedTuple):
    """What is known of pairs, one row a pair; the first similarity is that of the trained plan."""

    trained: np.ndarray
    untrained: np.ndarray
    elements: list[np.ndarray]
    lexical: np.ndarray
    crossed: np.ndarray


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sts_stack", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with sts-train.csv and the others")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder")
    parser.add_argument(
        "--packaged", action="store_true", help="the packaged model stands beside --model"
    )
    parser.add_argument("--cross", metavar="MODEL", help="start of a cross-encoder beside them")
    parser.add_argument("--plan", choices=SHOWN, default="rcmd", help="of the trained models")
    parser.add_argument("--dtype", metavar="NAME")
    parser.add_argument("--device", metavar="NAME")
    parser.add_argument("--keep", metavar="DIR", help="keep trained models here, or take them")
    parser.add_argument(
        "--models", type=int, default=1, metavar="N", help="seeds whose average each RCMD is; 1"
    )
    parser.add_argument(
        "--whole", action="append", default=[], metavar="DIR", help="of the whole file, also in it"
    )
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="120 pairs a file, one step")
    parser.add_argument("--parts", type=int, default=PARTS, metavar="N", help="of train; 3")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        train, *others = (read_sts_benchmark(find_folder(options.data) / f) for f in FILES)
    except (OSError, ValueError) as error:
        print(f"benchmarks.sts_stack: {error}", file=sys.stderr)
        return 2
    if options.quick:
        train, *others = (first_pairs(data, QUICK_PAIRS) for data in (train, *others))
    joined = [train, *others]
    shared = {"device": options.device, "dtype": options.dtype}
    rarity: Any = RCMDRegressor(options.model, weights="idf", **shared).fit(train.pairs)
    words = LexicalFeatures().fit(train.pairs)
    trained = trained_similarities(
        train, [data.pairs for data in others], rarity.token_weights_, options
    )
    untrained = [options.model, None] if options.packaged else [options.model]
    encoders = [TokenEncoder(model, **shared).fit(["a text"]) for model in untrained]
    crossed = cross_encoded(train, [data.pairs for data in others], options)
    columns = []
    for of_trained, of_crossed, data in zip(trained, crossed, joined, strict=True):
        found = [
            similarities(encoder, data.pairs, rarity.token_weights_, options.plan)
            for encoder in encoders
        ]
        similar, elements = zip(*found, strict=True)
        of_words = words.transform(data.pairs)
        columns.append(
            Columns(of_trained, np.column_stack(similar), list(elements), of_words, of_crossed)
        )
    label = "all-MiniLM-L6-v2" if options.model is None else Path(options.model).name
    label = label if options.dtype is None else f"{label}, {options.dtype}"
    for case, answers in judged(train, columns, options.seed).items():
        found = {
            part: rank_correlation(answer, data.scores)
            for part, answer, data in zip(("train", "dev", "test"), answers, joined, strict=True)
        }
        shown = ", ".join(f"{part} {value:.2f}" for part, value in found.items())
        known = _known(case, options)
        print(f"{label}: {known}: {shown}", flush=True)
        if options.quick and not options.out:
            continue
        for part, value in found.items():
            record(
                "sts_stack",
                f"{label}: {known}",
                f"stsb_{part}",
                round(value, 4),
                "x100",
                seed=options.seed,
                folder=options.out,
            )
        test, seed = joined[-1], options.seed
        record_pairs(
            "sts_stack", f"{label}: {known}", test.pairs, test.scores, answers[-1],
            seed=seed, folder=options.out,
        )  # fmt: skip
    return 0


def _known(case: str, options: argparse.Namespace) -> str:
    """Tell what a case is of."""
    if case == CROSSED:
        return f"{case}, {options.parts} parts"
    shown = SHOWN[options.plan]
    parts = [case.format(shown)]
    if options.plan != "rcmd" and shown not in parts[0]:
        parts.append(shown)
    if case not in UNTRAINED:
        parts.append(_made(options))
    if options.packaged and case in (UNTRAINED[1], JOINED):
        parts.append("beside the packaged model's")
    if options.cross and case == JOINED:
        parts.append("and a cross-encoder")
    return ", ".join(parts)


def _made(options: argparse.Namespace) -> str:
    """Tell how the trained models were made."""
    made = f"{options.parts} parts"
    if options.models > 1:
        made = f"{made}, averages of {options.models}"
    if options.whole:
        names = " and ".join(Path(folder).name for folder in options.whole)
        made = f"{made}, with {names} in that of the whole file"
    return made


def similarities(
    encoder: Any, pairs: np.ndarray, table: np.ndarray, plan: str
) -> tuple[np.ndarray, Any]:
    """Similarities of pairs by one encoder, (n, `MEASURES`), and elements of the mean vectors.

    The first is that of the plan; ``table`` holds the rarity of each entry of the vocabulary.
    """
    texts, codes = np.unique(pairs.ravel(), return_inverse=True)
    codes = codes.reshape(-1, 2)
    tokens = encoder.transform(texts)
    rarity = weights_of_tokens(table, np.asarray(tokens.ids), tokens.starts)
    words = tokens.without_special()

    def moved(plan: Any, w: np.ndarray | None = None) -> np.ndarray:
        return ragged_similarities(tokens, tokens, plan, weights1=w, weights2=w, pairs=codes)

    def matched(function: Any, w: np.ndarray | None = None) -> np.ndarray:
        return ragged_matching(tokens, tokens, function, w, w, pairs=codes)

    # The order of a pair says nothing.
    sides, rare_sides = (
        np.sort([moved("rcmd1", w), moved("rcmd2", w)], axis=0) for w in (None, rarity)
    )
    columns = [
        moved(plan),
        moved("avg"),
        moved("cls"),
        *sides,
        moved("rcmd", rarity),
        moved("avg", rarity),
        *rare_sides,
        ragged_similarities(words, words, "rcmd", pairs=codes),
        matched("both"),
        matched("both", rarity),
        matched("uniqueness", rarity),
    ]
    means = np.stack([rows.mean(axis=0, dtype=np.float64) for rows in tokens])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    u, v = means[codes[:, 0]], means[codes[:, 1]]
    return np.column_stack(columns), np.hstack([np.abs(u - v), u * v])


def trained_similarities(
    train: ScoredPairs, others: list[np.ndarray], table: np.ndarray, options: argparse.Namespace
) -> list[np.ndarray]:
    """Similarities of the training pairs, out of fold, and those of the other files' pairs."""
    settings: dict[str, Any] = dict(SETTINGS["sts"])
    if options.quick:
        settings |= {"epochs": 1, "train_batch_size": QUICK_PAIRS}
    out_of_fold = np.empty((len(train), MEASURES))
    for part, (rows, held) in enumerate(_parts(train, options)):
        model = _trained(
            f"{options.plan}-{part}-of-{options.parts}", train, rows, settings, options
        )
        out_of_fold[held] = similarities(model.encoder_, train.pairs[held], table, options.plan)[0]
    model = _trained(options.plan, train, np.arange(len(train)), settings, options, options.whole)
    return [
        out_of_fold,
        *(similarities(model.encoder_, pairs, table, options.plan)[0] for pairs in others),
    ]


def cross_encoded(
    train: ScoredPairs, others: list[np.ndarray], options: argparse.Namespace
) -> list[np.ndarray]:
    """Scores by cross-encoders, (n, 1), of the training pairs out of fold; (n, 0) without them."""
    sides = [train.pairs, *others]
    if not options.cross:
        return [np.empty((len(pairs), 0)) for pairs in sides]
    out_of_fold = np.empty((len(train), 1))
    for part, (rows, held) in enumerate(_parts(train, options)):
        model = _cross_encoder(f"cross-{part}-of-{options.parts}", train, rows, options)
        out_of_fold[held, 0] = model.predict(train.pairs[held])
    model = _cross_encoder("cross", train, np.arange(len(train)), options)
    return [out_of_fold, *(model.predict(pairs)[:, np.newaxis] for pairs in others)]


def judged(
    train: ScoredPairs, columns: list[Columns], seed: int
) -> dict[str, tuple[np.ndarray, ...]]:
    """Scores of the pairs of each file by each method; those of train are out of fold."""
    said = [
        fitted(_support_vectors(1 / of_files[0].shape[1]), list(of_files), train, seed)
        for of_files in zip(*(part.elements for part in columns), strict=True)
    ]
    alone = [
        np.column_stack([part.untrained, *(each[i] for each in said)])
        for i, part in enumerate(columns)
    ]
    inputs = {
        "trained {} and words": [(part.trained, part.lexical) for part in columns],
        UNTRAINED[1]: [(alone[i], part.lexical) for i, part in enumerate(columns)],
        JOINED: [
            (part.trained, alone[i], part.lexical, part.crossed) for i, part in enumerate(columns)
        ],
    }
    found = {
        UNTRAINED[0]: tuple(part.untrained[:, 0] for part in columns),
        TRAINED: tuple(part.trained[:, 0] for part in columns),
    }
    if columns[0].crossed.size:
        found[CROSSED] = tuple(part.crossed[:, 0] for part in columns)
    for case, parts in inputs.items():
        tables = [np.column_stack(part) for part in parts]
        found[case] = tuple(fitted(joint_model(seed), tables, train, seed))
    return found


def fitted(model: Any, inputs: list[np.ndarray], train: ScoredPairs, seed: int) -> list[np.ndarray]:
    """Predictions of every file's rows, of train by question-disjoint folds."""
    out_of_fold = np.empty(len(train))
    folds = DisjointPairsKFold(FOLDS, random_state=seed)
    for rows, held in folds.split(train.pairs, train.scores):
        fresh: Any = clone(model)
        fresh.fit(inputs[0][rows], train.scores[rows])
        out_of_fold[held] = fresh.predict(inputs[0][held])
    whole: Any = clone(model)
    whole.fit(inputs[0], train.scores)
    return [out_of_fold, *(whole.predict(rows) for rows in inputs[1:])]


def joint_model(seed: int) -> VotingRegressor:
    """Boosted trees and support vectors, whose mean is the answer."""
    trees = HistGradientBoostingRegressor(
        learning_rate=0.05,
        max_iter=150,
        max_leaf_nodes=15,
        min_samples_leaf=30,
        l2_regularization=5.0,
        random_state=seed,
    )
    return VotingRegressor([("trees", trees), ("support vectors", _support_vectors(0.01))])


def rank_correlation(similarity: np.ndarray, scores: np.ndarray) -> float:
    """Spearman's ρ, times 100."""
    return correlations(similarity, scores)["spearman"]


def _support_vectors(gamma: Any) -> Any:
    return make_pipeline(StandardScaler(), SVR(C=1.0, gamma=gamma, cache_size=500))


def _parts(train: ScoredPairs, options: argparse.Namespace) -> Any:
    folds = DisjointPairsKFold(options.parts, random_state=options.seed)
    return folds.split(train.pairs, train.scores)


def _cross_encoder(
    name: str, train: ScoredPairs, rows: np.ndarray, options: argparse.Namespace
) -> CrossEncoderRegressor:
    """Train a cross-encoder on some pairs, or take it from where it was kept."""
    common = {"device": options.device, "dtype": options.dtype}
    kept = Path(options.keep, f"{name}-{options.seed}") if options.keep else None
    if kept is not None and kept.exists():
        return CrossEncoderRegressor.load(kept, **common)
    settings: dict[str, Any] = dict(CROSS_SETTINGS)
    if options.quick:
        settings |= {"epochs": 1, "train_batch_size": QUICK_PAIRS}
    start = None if options.cross == "packaged" else options.cross
    model = CrossEncoderRegressor(
        start, random_state=options.seed, verbose=1, **common, **settings
    ).fit(train.pairs[rows], train.scores[rows])
    if kept is not None:
        model.save(kept)
    return model


def _trained(
    name: str,
    train: ScoredPairs,
    rows: np.ndarray,
    settings: dict[str, Any],
    options: argparse.Namespace,
    others: Sequence[str] = (),
) -> Any:
    """Train models on some pairs, or take them from where they were kept, and average all."""
    common = {"plan": options.plan, "device": options.device, "dtype": options.dtype}
    with tempfile.TemporaryDirectory() as scratch:
        found = []
        for seed in range(options.seed, options.seed + options.models):
            kept = Path(options.keep or scratch, f"{name}-{seed}")
            if not kept.exists():
                model = RCMDRegressor(
                    options.model, random_state=seed, verbose=1, **common, **settings
                )
                model.fit(train.pairs[rows], train.scores[rows]).save(kept)
            found.append(kept)
        found += others
        if len(found) == 1:
            return RCMDRegressor.load(found[0], device=options.device, dtype=options.dtype)
        average_models(found, Path(scratch, "average"))
        return RCMDRegressor(Path(scratch, "average"), **common).fit(train.pairs[:1])


if __name__ == "__main__":
    sys.exit(main())

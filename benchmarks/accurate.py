"""`accurate_duplicates` on Quora dev: what it reaches, what each member costs and is worth.

``python -m benchmarks.accurate --data DIR --cache FOLDER`` fits on ``DIR/train.csv`` and the extra
duplicates, and judges ``DIR/dev.csv``, in collection and in inductive mode. Each member is fitted
alone first, for its seconds, and read from the folder for the whole, so that the command may be
interrupted and goes on. ``--members`` names those that take part: without "rcmd" no transformers
model is trained. With ``--teacher`` that member also learns from 20,000 near pairs, which stacks of
the other members score, those of a fold by stacks of its own. ``--encoder none`` is without any
encoder. Without ``--data`` it runs on pairs that it generates itself, without an encoder.
``--whole`` fits and judges all members together alone, and has seconds of the fit where the folder
was empty. ``--quick`` records only where ``--out`` says so.

``--candidates`` are members beside those of the preset (`candidates`). ``--inside`` judges no dev
pair: members, candidates, and trees of the final model are compared in question-disjoint folds of
the training pairs, by what each member says of them out of fold. By this the preset is chosen.

all-MiniLM-L6-v2, the default encoder, saw Quora's duplicates, as all-mpnet-base-v2 did, and so did
what is built on them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline

from benchmarks.duplicates import judged
from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.quora_data import (
    NEW_PAIRS,
    Splits,
    generated,
    new_pairs,
    read_folder,
)
from benchmarks.support.recipes import CROSS_ENCODER
from benchmarks.support.records import record
from benchmarks.support.significance import TAUGHT, record_differences
from benchmarks.support.training_recipes import near_pair_teacher
from benchmarks.triplet_network import FROM_MEANS, MANY
from estimators import (
    FILM,
    ContextRegressor,
    CrossEncoderRegressor,
    DuplicateClassifier,
    RCMDRegressor,
    SentenceEncoder,
    TokenEncoder,
    TokenFILM,
    TokenMatchingRegressor,
    TripletNetwork,
    accurate_duplicates,
    question_groups,
)
from estimators.pairs import LIGHT, NO_ENCODER

Cases = dict[str, tuple[list[str], dict[str, float]]]
"""The members of each row, and its seconds."""
Rows = tuple[dict[str, dict[str, float]], dict[str, np.ndarray]]
"""The figures of each row, and what it says of each pair."""
MODES = ("collection", "inductive")
UNITS = {"fit": "s", "predict": "s"}
DEFAULT = "all-MiniLM-L6-v2"
SAW = {DEFAULT: "MiniLM", "all-mpnet-base-v2": "mpnet"}
CONTEXTS = 50
"""Contexts a text of the candidate "origin": a pair costs four times as many scorings."""
TAUGHT_ROWS = 20_000
"""Near pairs that a teacher scores, beside the labelled ones of train."""
SMALLER_TREES: dict[str, Any] = {
    "max_leaf_nodes": 15,
    "min_samples_leaf": 60,
    "max_iter": 300,
    "learning_rate": 0.05,
    "max_features": 1.0,
}


def main(arguments: list[str] | None = None) -> int:
    """Measure and record; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accurate", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with Quora's train.csv and dev.csv")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--cache", metavar="FOLDER", help="keep fitted members and encodings here")
    parser.add_argument("--encoder", help="name or folder; none is without any")
    parser.add_argument("--epochs", type=float, default=1.0, help="of the member rcmd")
    parser.add_argument("--dtype", help="of the encoders, such as bfloat16")
    parser.add_argument("--members", help="those that take part, with commas between")
    parser.add_argument("--modes", default=",".join(MODES), help="with commas between")
    parser.add_argument("--candidates", default="", help="beside, with commas between")
    parser.add_argument("--contexts", metavar="DIR", help="a saved ContextModel, for origin")
    parser.add_argument("--device", help="of the encoder")
    parser.add_argument("--teacher", action="store_true", help="of the member rcmd")
    parser.add_argument("--whole", action="store_true", help="no rows without members, or of one")
    parser.add_argument("--inside", action="store_true", help="compare inside train, not on dev")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    try:
        data = _data(options)
        model = chosen(options, options.encoder if options.data else NO_ENCODER)
        preset = [name for name, _ in model.members]
        added = [name for name in options.candidates.split(",") if name]
        model = with_candidates(model, added, options.contexts)
    except (OSError, ValueError) as error:
        print(f"benchmarks.accurate: {error}", file=sys.stderr)
        return 2
    name, share = "quora" if options.data else "generated", float(data.y_train.mean())
    # Only of these encoders is it known what they saw.
    encodes = any(member not in LIGHT for member, _ in model.members)
    known = SAW.get(Path(options.encoder or DEFAULT).name)
    saw = f", {known} saw Quora" if encodes and known else ""
    saw += TAUGHT if options.teacher else ""
    saw += ", on a GPU" if encodes and (options.device or "cpu").startswith("cuda") else ""
    with tempfile.TemporaryDirectory() as scratch:
        cache = options.cache or scratch
        for mode in options.modes.split(","):
            model.set_params(memory=cache, corpus=_corpus(data, mode))
            cases = (fitted_whole if options.whole else fitted)(model, data, preset)
            judge = compared_inside if options.inside else measured
            rows, said = judge(model, data, cases)
            on, labels = (data.train, data.y_train) if options.inside else (data.dev, data.y_dev)
            place = f"{mode}, inside train" if options.inside else mode
            for case, row in rows.items():
                print(f"{place}: {case}", {k: round(v, 4) for k, v in row.items()}, flush=True)
                title = f"{name}{saw}: {place}: {case}"
                if options.out or not options.quick:
                    record_pairs(
                        "accurate", title, on, labels, said[case], share=share, folder=options.out
                    )
                    _record(title, row, rows["all"], options.out)
    if options.out or not options.quick:
        record_differences("accurate", options.out)
    return 0


def chosen(options: argparse.Namespace, encoder: Any) -> DuplicateClassifier:
    """Make the classifier of the members that take part, or raise ValueError."""
    small = {"d": 20, "rank": 60, "cv": 4, "neighbourhood": 5} if options.quick else {}
    place = Path(options.cache, "encodings") if options.cache else None
    model = accurate_duplicates(
        encoder=encoder,
        epochs=options.epochs,
        dtype=options.dtype,
        device=options.device,
        cache=place,
        **small,
    )
    if options.teacher:
        if "rcmd" not in dict(model.members):
            raise ValueError("--teacher is of the member rcmd: give an encoder, and epochs above 0")
        reads = {"device": options.device, "dtype": options.dtype}
        n = 20 if options.quick else TAUGHT_ROWS
        taught = near_pair_teacher(encoder, n, reads, place and str(place), **small)
        model.set_params(rcmd__teacher=taught)
    if options.members is None:
        return model
    wanted = options.members.split(",")
    there = [name for name, _ in model.members]
    if unknown := set(wanted) - set(there):
        raise ValueError(f"--members {sorted(unknown)}: give some of {', '.join(there)}")
    own = {name: n for name, n in (model.member_cv or {}).items() if name in wanted}
    members = [member for member in model.members if member[0] in wanted]
    return model.set_params(members=members, member_cv=own or None)


def fitted(model: DuplicateClassifier, data: Splits, preset: list[str]) -> Cases:
    """Fit each member alone, for its seconds, then all; name the rows and the members of each.

    The rows are all members of the preset, without each of them, with each other one, and the light
    ones. Each has the seconds of the member by which it differs: "fit", and "predict" for 10,000
    pairs of new texts, on this machine as it is.
    """
    # Before the whole: what is in the cache costs nothing any more.
    costs = {name: _cost(name, model, data) for name, _ in model.members}
    started = time.perf_counter()
    model.fit(data.train, data.y_train, data.similar)
    whole = sum((costs[name]["fit"] for name in preset), time.perf_counter() - started)
    cases: Cases = {"all": (preset, {"fit": whole})}
    for name in preset if len(preset) > 1 else []:
        cases[f"without {name}"] = [other for other in preset if other != name], costs[name]
    for name, _ in model.members[len(preset) :]:
        cases[f"with {name}"] = [*preset, name], costs[name]
    light = [name for name in preset if name in LIGHT]
    return cases | ({"light": (light, {})} if light and light != preset else {})


def fitted_whole(model: DuplicateClassifier, data: Splits, preset: list[str]) -> Cases:
    """Fit all together; seconds are told where nothing was kept that a fit can read."""
    folder = Path(str(model.memory))
    is_fresh = not folder.is_dir() or not any(folder.iterdir())
    started = time.perf_counter()
    model.fit(data.train, data.y_train, data.similar)
    return {"all": (preset, {"fit": time.perf_counter() - started} if is_fresh else {})}


def measured(model: DuplicateClassifier, data: Splits, cases: Cases) -> Rows:
    """Judge dev by a final model of the members of each row.

    Gives the figures of each row, and its probabilities of dev's pairs.
    """
    share, groups = float(data.y_train.mean()), question_groups(data.dev)
    rows: dict[str, dict[str, float]] = {}
    said: dict[str, np.ndarray] = {}
    for case, (names, seconds) in cases.items():
        less = model if len(names) == len(model.members) else model.pruned(names)
        said[case] = less.probabilities_of(less.inputs(data.dev), data.dev)[:, 1]
        rows[case] = judged(said[case], data.y_dev, share, groups) | seconds
        if "predict" not in seconds:
            rows[case]["predict"] = _seconds(less, new_pairs(data, NEW_PAIRS))
    return rows, said


def candidates(model: DuplicateClassifier, contexts: str | None = None) -> dict[str, Any]:
    """Make members beside those of the preset, on the encoder of its member "cosine", by name.

    - "vectors": `FILM` on the encoder's vectors, "tokens": RCMD in the metric of `TokenFILM`;
    - "untrained": RCMD as it is, "matching": token matching;
    - "network": `TripletNetwork` along the length, from the mean vectors, 20,000 triplets;
    - "cross": `CrossEncoderRegressor`, by the settings of `benchmarks.cross_encoder`;
    - "origin", where a folder is given: similarity by `CONTEXTS` contexts a text, of the
      `ContextModel` in it.
    """
    encoder = dict(model.members).get("cosine")
    if not isinstance(encoder, SentenceEncoder):
        return {}
    seed = model.random_state
    reads: dict[str, Any] = {
        name: getattr(encoder, name) for name in ("model", "max_length", "device", "dtype")
    }
    tokens = TokenEncoder(**reads, cache=encoder.cache)
    metric = FILM(
        d=300,
        rank=400,
        threshold=0.85,
        margin=0.02,
        similar_weight=0.3,
        whitening=0.25,
        max_iter=20,
        random_state=seed,
    )
    by_contexts = (
        {} if contexts is None else {"origin": ContextRegressor(contexts, n_contexts=CONTEXTS)}
    )
    along = FROM_MEANS | {"max_triplets": MANY, "margin": 1.0, "random_state": seed}
    return {
        "vectors": make_pipeline(clone(encoder), metric),
        "tokens": RCMDRegressor(TokenFILM(tokens, random_state=seed)),
        "untrained": RCMDRegressor(**reads, cache=encoder.cache),
        "matching": TokenMatchingRegressor(**reads, cache=encoder.cache),
        "network": TripletNetwork(tokens, **along),
        "cross": CrossEncoderRegressor(**(CROSS_ENCODER | reads | {"random_state": seed})),
        **by_contexts,
    }


def with_candidates(
    model: DuplicateClassifier, names: list[str], contexts: str | None = None
) -> DuplicateClassifier:
    """Add candidates; a stack without an encoder stays as it is.

    Those that train a transformers model have as many folds of their own as the preset's have.
    """
    if "origin" in names and contexts is None:
        raise ValueError("--candidates origin needs --contexts FOLDER, of a saved ContextModel")
    found = candidates(model, contexts)
    if not found:
        return model
    if unknown := set(names) - set(found):
        raise ValueError(f"--candidates {sorted(unknown)}: give some of {', '.join(found)}")
    own = {"cross": 2} if "cross" in names else {}
    members = [*model.members, *((name, found[name]) for name in names)]
    return model.set_params(members=members, member_cv={**(model.member_cv or {}), **own} or None)


def compared_inside(model: DuplicateClassifier, data: Splits, cases: Cases) -> Rows:
    """Judge training pairs by final models of other folds; rows as `measured` gives them.

    One row more is of smaller trees, and there is none of the light members.
    """
    share, groups = float(data.y_train.mean()), question_groups(data.train)
    splits = StratifiedGroupKFold(4, shuffle=True, random_state=0)
    folds = list(splits.split(data.train, data.y_train, groups))
    finals = {case: (*row, {}) for case, row in cases.items() if case != "light"}
    if isinstance(model.final_estimator_, HistGradientBoostingClassifier):
        finals["smaller trees"] = cases["all"][0], {}, SMALLER_TREES
    rows: dict[str, dict[str, float]] = {}
    said: dict[str, np.ndarray] = {}
    for case, (names, seconds, trees) in finals.items():
        less = model.pruned(names)
        p = np.empty(len(data.train))
        for train, test in folds:
            final = clone(less.final_estimator_).set_params(**trees)
            final.fit(less.out_of_fold_[train], data.y_train[train])
            p[test] = final.predict_proba(less.out_of_fold_[test])[:, 1]
        rows[case], said[case] = judged(p, data.y_train, share, groups) | seconds, p
    return rows, said


def _cost(name: str, model: DuplicateClassifier, data: Splits) -> dict[str, float]:
    """Give the seconds of one member, from the cache where an interrupted run took them."""
    member = dict(model.members)[name]
    own = {one: n for one, n in (model.member_cv or {}).items() if one == name}
    settings: dict[str, Any] = _options(model) | {"features": None, "member_cv": own or None}
    alone = DuplicateClassifier([(name, member)], **settings)
    told = f"{name} {len(data.train)} {own} {member!r}".encode()
    place = Path(str(model.memory), f"seconds-{name}-{sha256(told).hexdigest()[:16]}.json")
    if place.exists():
        return json.loads(place.read_text(encoding="utf8"))
    started = time.perf_counter()
    alone.fit(data.train, data.y_train, data.similar)
    cost = {"fit": time.perf_counter() - started}
    cost["predict"] = _seconds(alone, new_pairs(data, NEW_PAIRS))
    place.write_text(json.dumps(cost), encoding="utf8")
    return cost


def _corpus(data: Splits, mode: str) -> list[str] | None:
    return [*data.dev.ravel(), *data.test.ravel()] if mode == "collection" else None


def _options(model: DuplicateClassifier) -> dict[str, Any]:
    kept = ("cv", "neighbourhood", "corpus", "memory", "random_state")
    return {name: value for name, value in model.get_params(deep=False).items() if name in kept}


def _seconds(model: DuplicateClassifier, pairs: np.ndarray) -> float:
    started = time.perf_counter()
    model.predict_proba(pairs)
    return round(time.perf_counter() - started, 1)


def _record(case: str, row: dict[str, float], whole: dict[str, float], folder: str | None) -> None:
    for metric, value in row.items():
        record(
            "accurate",
            case,
            metric,
            round(value, 1) if metric in UNITS else value,
            UNITS.get(metric, ""),
            rival="all",
            rival_value=whole.get(metric),
            seed=0,
            folder=folder,
        )


def _data(options: argparse.Namespace) -> Splits:
    if options.data:
        limit = 1500 if options.quick else None
        return read_folder(Path(options.data), on_error="raise", limit=limit, seed=0)
    return generated(600 if options.quick else 20000, 0)


if __name__ == "__main__":
    sys.exit(main())

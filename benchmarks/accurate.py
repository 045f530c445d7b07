"""`accurate_duplicates` on Quora dev: what it reaches, what each member costs and is worth.

``python -m benchmarks.accurate --data DIR --cache FOLDER`` fits on ``DIR/train.csv`` and the extra
duplicates, and judges ``DIR/dev.csv``, in collection and in inductive mode. Each member is fitted
alone first, for its seconds, and read from the folder for the whole, so that the command may be
interrupted and goes on. ``--members`` names those that take part: without "rcmd" no transformers
model is trained. ``--encoder none`` is without any encoder. Without ``--data`` it runs on pairs
that it generates itself, without an encoder. ``--whole`` fits and judges all members together
alone, and has seconds of the fit where the folder was empty. ``--quick`` records only where
``--out`` says so.

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

from benchmarks.duplicates import judged
from benchmarks.support.quora_data import NEW_PAIRS, Splits, new_pairs, splits_of
from benchmarks.support.run import Results, parser_of, reading
from estimators import DuplicateClassifier, accurate_duplicates, question_groups
from estimators.encoders import NO_ENCODER
from estimators.pairs import LIGHT

Cases = dict[str, tuple[list[str], dict[str, float]]]
"""The members of each row, and its seconds."""
Rows = tuple[dict[str, dict[str, float]], dict[str, np.ndarray]]
"""The figures of each row, and what it says of each pair."""
MODES = ("collection", "inductive")
DEFAULT = "all-MiniLM-L6-v2"
SAW = {DEFAULT: "MiniLM", "all-mpnet-base-v2": "mpnet"}


def main(arguments: list[str] | None = None) -> int:
    """Measure and record; the exit status is 2 where the data cannot be read."""
    parser = parser_of("accurate", __doc__, "folder with Quora's train.csv and dev.csv")
    parser.add_argument("--cache", metavar="FOLDER", help="keep fitted members and encodings here")
    parser.add_argument("--encoder", help="name or folder; none is without any")
    parser.add_argument("--epochs", type=float, default=1.0, help="of the member rcmd")
    parser.add_argument("--dtype", help="of the encoders, such as bfloat16")
    parser.add_argument("--members", help="those that take part, with commas between")
    parser.add_argument("--modes", default=",".join(MODES), help="with commas between")
    parser.add_argument("--device", help="of the encoder")
    parser.add_argument("--whole", action="store_true", help="no rows without members, or of one")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with reading("accurate"):
        data = splits_of(options, 20_000, 600)
        model = chosen(options, options.encoder if options.data else NO_ENCODER)
    name, share = "quora" if options.data else "generated", float(data.y_train.mean())
    # Only of these encoders is it known what they saw.
    encodes = any(member not in LIGHT for member, _ in model.members)
    known = SAW.get(Path(options.encoder or DEFAULT).name)
    saw = f", {known} saw Quora" if encodes and known else ""
    saw += ", on a GPU" if encodes and (options.device or "cpu").startswith("cuda") else ""
    results = Results("accurate", options)
    with tempfile.TemporaryDirectory() as scratch:
        for mode in options.modes.split(","):
            model.set_params(memory=options.cache or scratch, corpus=_corpus(data, mode))
            cases = (fitted_whole if options.whole else fitted)(model, data)
            rows, said = measured(model, data, cases)
            for case, row in rows.items():
                title = f"{name}{saw}: {mode}: {case}"
                results.keep(title, data.dev, data.y_dev, said[case], share=share)
                results.tell(title, row, rival="all", beside=rows["all"])
    results.compare()
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
    if options.members is None:
        return model
    wanted = options.members.split(",")
    there = [name for name, _ in model.members]
    if unknown := set(wanted) - set(there):
        raise ValueError(f"--members {sorted(unknown)}: give some of {', '.join(there)}")
    own = {name: n for name, n in (model.member_cv or {}).items() if name in wanted}
    members = [member for member in model.members if member[0] in wanted]
    return model.set_params(members=members, member_cv=own or None)


def fitted(model: DuplicateClassifier, data: Splits) -> Cases:
    """Fit each member alone, for its seconds, then all; name the rows and the members of each.

    The rows are all members, without each of them, and the light ones. Each has the seconds of the
    member by which it differs: "fit", and "predict" for 10,000 pairs of new texts, on this machine
    as it is.
    """
    # Before the whole: what is in the cache costs nothing any more.
    names = [name for name, _ in model.members]
    costs = {name: _cost(name, model, data) for name in names}
    started = time.perf_counter()
    model.fit(data.train, data.y_train, data.similar)
    whole = sum((costs[name]["fit"] for name in names), time.perf_counter() - started)
    cases: Cases = {"all": (names, {"fit": whole})}
    for name in names if len(names) > 1 else []:
        cases[f"without {name}"] = [other for other in names if other != name], costs[name]
    light = [name for name in names if name in LIGHT]
    return cases | ({"light": (light, {})} if light and light != names else {})


def fitted_whole(model: DuplicateClassifier, data: Splits) -> Cases:
    """Fit all together; seconds are told where nothing was kept that a fit can read."""
    folder = Path(str(model.memory))
    is_fresh = not folder.is_dir() or not any(folder.iterdir())
    started = time.perf_counter()
    model.fit(data.train, data.y_train, data.similar)
    names = [name for name, _ in model.members]
    return {"all": (names, {"fit": time.perf_counter() - started} if is_fresh else {})}


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


if __name__ == "__main__":
    sys.exit(main())

"""Memory of a process that does the same work again and again.

``python -m benchmarks.soak`` fits, asks, explains, queries, saves and reads for a while, each case
in a process of its own, on other rows each round. The first third of the time is warm-up. Growth
compares the memory that the process holds (resident, after a garbage collection) at the end with
that after the warm-up, each the median of a tenth of the rounds that count. The exit status is 1
where a case grew by more than 2 %. ``--quick`` does a few rounds of each in one process, and
records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from benchmarks.support.records import RESULTS, commit, record
from estimators import (
    FILM,
    DuplicateFinder,
    MiniBatchFILM,
    PairwiseKNNClassifier,
    RCMDRegressor,
    SentenceEncoder,
    TokenMatchingRegressor,
    fast_duplicates,
    few_label_duplicates,
    load_model,
    make_encoder,
    save_model,
)
from estimators.cli import read_table, write_table
from film.datasets import make_question_pairs

BENCH = "soak"
MOST_GROWTH = 2.0
"""Percent."""
LEAST_ROUNDS = 12
Round = Callable[[int], object]


def main(arguments: list[str] | None = None) -> int:
    """Run all cases, or the one whose process this is."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{BENCH}", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="of each case, warm-up included")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.seconds = 0
    if options.case:
        print(json.dumps(soaked(options.case, options.seconds)))
        return 0
    n_grown = 0
    for case in [case for case in CASES if options.only in case]:
        row = _recorded(case, options.out)
        if row is None:
            run = soaked if options.quick else _process
            row = run(case, options.seconds)
            for metric, value in row.items():
                if options.out or not options.quick:
                    record(BENCH, case, metric, value, folder=options.out)
        print(case, row, flush=True)
        n_grown += row["growth_percent"] > MOST_GROWTH
    print(f"{n_grown} of the cases grew by more than {MOST_GROWTH} %")
    return 1 if n_grown and not options.quick else 0


def soaked(case: str, seconds: float) -> dict[str, float]:
    """Do the rounds of a case for so long, and give what the process held.

    Parameters
    ----------
    case : str
        One of `CASES`.
    seconds : float
        How long; at least 12 rounds are done.

    Returns
    -------
    row : dict
        "rounds" after the warm-up, "warm_megabytes", "end_megabytes", and "growth_percent".
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        do = CASES[case](Path(folder))
        held: list[int] = []
        n_warm, started = 0, time.perf_counter()
        while len(held) < LEAST_ROUNDS or time.perf_counter() < started + seconds:
            do(len(held))
            gc.collect()
            held.append(memory())
            warming = time.perf_counter() < started + seconds / 3
            n_warm = len(held) if warming else max(n_warm, LEAST_ROUNDS // 3)
    return judged(held[n_warm:])


def judged(held: list[int]) -> dict[str, float]:
    """Compare the memory at the end with that at the start; bytes after each round."""
    tenth = max(1, len(held) // 10)
    warm, end = float(np.median(held[:tenth])), float(np.median(held[-tenth:]))
    return {
        "rounds": len(held),
        "warm_megabytes": warm / 1e6,
        "end_megabytes": end / 1e6,
        "growth_percent": 100 * (end / warm - 1),
    }


def memory() -> int:
    """Bytes of memory that this process holds now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _process(case: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", f"benchmarks.{BENCH}", "--case", case]
    command += ["--seconds", str(seconds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _recorded(case: str, folder: str | None) -> dict[str, float] | None:
    """Read what this commit has recorded of a case; None where that is not all."""
    path, found = Path(folder or RESULTS) / f"{BENCH}.jsonl", {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        row = json.loads(line)
        if row["case"] == case and row["commit"] == commit():
            found[row["metric"]] = row["value"]
    return found if "growth_percent" in found else None


DATA = make_question_pairs(400, random_state=0)
TEXTS = sorted({*DATA.pairs.flat})


def _rows(turn: int, n: int) -> np.ndarray:
    return np.random.default_rng(turn).choice(len(DATA.pairs), n, replace=False)


def _classifier(folder: Path) -> Round:
    def do(turn: int) -> None:
        rows = _rows(turn, 80)
        model = fast_duplicates(d=8, rank=30, cv=2).fit(DATA.pairs[rows], DATA.y[rows])
        model.predict_proba(DATA.pairs[_rows(turn + 1, 50)])
        _pages(model.explain(DATA.pairs[rows[:3]]))

    return do


def _asked_classifier(folder: Path) -> Round:
    model = fast_duplicates(d=8, rank=30, cv=2).fit(DATA.pairs, DATA.y)

    def do(turn: int) -> None:
        rows = _rows(turn, 50)
        model.predict_proba(DATA.pairs[rows])
        model.familiarity(DATA.pairs[rows])
        _pages(model.explain(DATA.pairs[rows[:2]]))

    return do


def _few_labels(folder: Path) -> Round:
    def do(turn: int) -> None:
        rows = _rows(turn, 80)
        model = few_label_duplicates(DATA.pairs, rank=20, cv=2)
        model.fit(DATA.pairs[rows], DATA.y[rows]).predict_proba(DATA.pairs[:20])

    return do


def _rule(folder: Path) -> Round:
    def do(turn: int) -> None:
        rows = _rows(turn, 200)
        space = make_pipeline(TfidfVectorizer(), FILM(d=8, rank=30))
        model = PairwiseKNNClassifier(space, k=5, cv=2).fit(DATA.pairs[rows], DATA.y[rows])
        model.predict_proba(DATA.pairs[_rows(turn + 1, 50)])

    return do


def _metric(folder: Path) -> Round:
    X = TfidfVectorizer().fit_transform(TEXTS)
    batches = MiniBatchFILM(d=8, rank=20, batch_size=64, random_state=0)

    def do(turn: int) -> None:
        rng = np.random.default_rng(turn)
        labels = rng.integers(0, 40, X.shape[0])
        FILM(d=8, rank=40, max_iter=20, random_state=turn).fit(X, labels).transform(X)
        batches.partial_fit(X, labels).transform(X)

    return do


def _finder(folder: Path) -> Round:
    finder = DuplicateFinder().fit(TEXTS)

    def do(turn: int) -> None:
        rng = np.random.default_rng(turn)
        for text in rng.choice(TEXTS, 20).tolist():
            finder.query(f"{text} {turn}", k=5)
        again = DuplicateFinder().fit(rng.choice(TEXTS, 300, replace=False).tolist())
        again.find(threshold=0.5)
        again.groups(threshold=0.8)

    return do


def _regressor(epochs: float) -> Callable[[Path], Round]:
    def prepare(folder: Path) -> Round:
        model = _encoder(folder)
        asked = RCMDRegressor(model, epochs=0).fit(DATA.pairs, DATA.y)

        def do(turn: int) -> None:
            rows = _rows(turn, 48)
            given = asked
            if epochs:
                given = RCMDRegressor(model, epochs=epochs, train_batch_size=16, random_state=turn)
                given.fit(DATA.pairs[rows], DATA.y[rows])
            given.predict(DATA.pairs[rows])
            _pages(given.explain(DATA.pairs[rows[:3]]))

        return do

    return prepare


def _matching(folder: Path) -> Round:
    model = _encoder(folder)
    matching = TokenMatchingRegressor(model).fit(DATA.pairs, DATA.y)
    sentences = SentenceEncoder(model).fit(TEXTS)

    def do(turn: int) -> None:
        rows = _rows(turn, 48)
        matching.similarity(DATA.pairs[rows])
        sentences.transform(DATA.pairs[rows, 0])

    return do


def _files(folder: Path) -> Round:
    model = fast_duplicates(d=8, rank=30, cv=2).fit(DATA.pairs, DATA.y)
    names = ("t.csv", "t.jsonl", "t.csv.gz", "t.xlsx", "t.parquet")

    def do(turn: int) -> None:
        save_model(model, folder / "model.film")
        load_model(folder / "model.film").predict_proba(DATA.pairs[_rows(turn, 20)])
        rows = DATA.pairs[_rows(turn, 100)].tolist()
        for name in names:
            write_table(folder / name, ["question1", "question2"], rows)
            read_table(folder / name)

    return do


def _encoder(folder: Path) -> Path:
    return make_encoder(TEXTS, folder / "tiny", width=32, layers=2, heads=2, random_state=0)


def _pages(explanations: list) -> None:
    for one in explanations:
        one._repr_html_()


CASES: dict[str, Callable[[Path], Round]] = {
    "fast_duplicates: fit, predict, explain": _classifier,
    "fast_duplicates: predict, familiarity, explain": _asked_classifier,
    "few_label_duplicates: fit, predict": _few_labels,
    "PairwiseKNNClassifier: fit, predict": _rule,
    "FILM and MiniBatchFILM: fit, transform": _metric,
    "DuplicateFinder: query, fit, find, groups": _finder,
    "RCMDRegressor: train, predict, explain": _regressor(1),
    "RCMDRegressor: predict, explain": _regressor(0),
    "TokenMatchingRegressor, SentenceEncoder: similarity, transform": _matching,
    "models and tables: save, load, write, read": _files,
}

if __name__ == "__main__":
    sys.exit(main())

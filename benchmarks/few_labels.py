"""How good classifiers are by the number of labels, from none on.

``python -m benchmarks.few_labels [--data DIR] [--out DIR] [--quick]``. DIR holds quora and tables;
without it, the folder of FILM_DATA is taken. Classifiers are those of ``film train``:
`fast_duplicates` for texts, also with MiniLM, and `record_duplicates` for records. Labelled pairs
are drawn at random from those of training, several times, and test pairs are scored: Quora's
dev.csv, and the test files of two pairs of shops. No labels: the general score, for the test pairs
as a table; classifiers of records with few labels use it too, as ``film score`` does. The stack
alone: the final model without the general formula.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

from benchmarks.records import read_part
from benchmarks.support.folders import data_folder
from benchmarks.support.quora_data import read_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import (
    AnyEncoder,
    DuplicateFinder,
    RecordPairs,
    SentenceEncoder,
    fast_duplicates,
    record_duplicates,
)
from film.datasets import make_question_pairs

SHOPS = ("amazon-google", "walmart-amazon")
DRAWS = {30: 10, 100: 10, 300: 10, 1000: 5, 5000: 2}
DRAWS_WITH_ENCODER = {300: 3, 3000: 1, 20_000: 1}
DRAWS_OF_SHOPS = {100: 5}

Pairs = tuple[Any, Any]


class Case(NamedTuple):
    """Pairs to learn from and to score, and draws by the number of labels."""

    train: Pairs
    test: Pairs
    draws: dict[int, int]
    encoder: Any = None
    alone: bool = False


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    options = parser_of("few_labels", __doc__, "holds quora and tables").parse_args(arguments)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as cache:
        with reading("few_labels"):
            quick = options.quick
            cases = _generated_cases() if quick else _read(data_folder(options.data), cache)
        results = Results("few_labels", options)
        for name, case in cases.items():
            general = _unlabelled(case)
            results.tell(f"{name}: no labels", _figures(case.test[1], general))
            for n, n_draws in case.draws.items():
                rows = [_fitted(case, n, seed, general) for seed in range(n_draws)]
                means = {each: float(np.mean([row[each] for row in rows])) for each in rows[0]}
                means["lowest_auc"] = min(row["roc_auc"] for row in rows)
                results.tell(f"{name}: {n} labels, mean of {n_draws} draws", means)
    return 0


def _unlabelled(case: Case) -> np.ndarray:
    pairs = case.test[0]
    if isinstance(pairs, RecordPairs):
        rows = pd.DataFrame(np.vstack([pairs.left, pairs.right]), columns=list(pairs.columns))
        codes: Any = rows.groupby(list(rows), sort=False, dropna=False).ngroup().to_numpy()
        texts: Any = rows.drop_duplicates()
    else:
        texts, codes = np.unique(pairs.T.ravel(), return_inverse=True)
        texts = texts.tolist()
    ids = codes.reshape(2, -1).T.tolist()
    return DuplicateFinder(encoder=case.encoder).fit(texts).score_pairs(ids)[0]


def _fitted(case: Case, n: int, seed: int, general: np.ndarray) -> dict[str, float]:
    pairs, y = case.train
    rows = np.random.default_rng(seed).permutation(len(y))[:n]
    make = record_duplicates if isinstance(pairs, RecordPairs) else fast_duplicates
    model = make(random_state=seed)
    if case.encoder is not None:
        model.members.append(("cosine", case.encoder))
    model.fit(pairs[rows], y[rows])
    pairs, y = case.test
    known = {"general": general} if model.takes_general else {}
    p = model.predict_proba(pairs, **known)[:, 1]
    found = _figures(y, p) | {"log_loss": log_loss(y, p)}
    if case.alone:
        stack = model.probabilities_of(model.inputs(pairs))[:, 1]
        found["stack_alone"] = _figures(y, stack)["average_precision"]
    return found


def _figures(y: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    precision: Any = average_precision_score(y, scores)
    return {"roc_auc": float(roc_auc_score(y, scores)), "average_precision": precision}


def _read(folder: Path, cache: str) -> dict[str, Case]:
    quora = read_folder(folder / "quora", limit=None, seed=0)
    pairs = (quora.train, quora.y_train), (quora.dev, quora.y_dev)
    cases = {"Quora": Case(*pairs, DRAWS)}
    for name in SHOPS:
        place = folder / "tables" / "labelled" / name
        train, test = (read_part(place / f"{part}.csv.gz") for part in ("train", "test"))
        draws = DRAWS_OF_SHOPS | {len(train[1]): 1}
        cases[f"{name}, by column"] = Case(train, test, draws, alone=True)
    encoder = AnyEncoder(SentenceEncoder(cache=cache))
    return cases | {"Quora, MiniLM": Case(*pairs, DRAWS_WITH_ENCODER, encoder)}


def _generated_cases() -> dict[str, Case]:
    train, test = generated()["generated"]
    return {"generated": Case(train, test, {30: 1, 100: 1}, alone=True)}


def generated() -> dict[str, tuple[Pairs, Pairs]]:
    """Make a small set of generated pairs, for training and for testing."""
    data = make_question_pairs(300, random_state=0)
    y = np.asarray(data.y)
    return {"generated": ((data.pairs[:200], y[:200]), (data.pairs[200:], y[200:]))}


if __name__ == "__main__":
    sys.exit(main())

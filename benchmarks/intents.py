"""A classifier fitted on Quora, applied unchanged to texts of another kind: pairs of intents.

``python -m benchmarks.intents --data DIR`` fits on ``DIR/quora/train.csv`` and judges pairs made
of ``DIR/clinc150`` and ``DIR/banking77`` (5,000 each, seed 0); without ``--data``, the folder of
FILM_DATA. Half of the pairs share an intent; half of the others are among the 20 nearest by TF-IDF,
which works against TF-IDF itself, so the same is shown without the nearer half of the others.
``--quick`` runs on a part and records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.quora import pair_cosines
from benchmarks.support.folders import data_folder
from benchmarks.support.quora_data import Splits, read_folder
from benchmarks.support.records import record
from estimators import LexicalFeatures, fast_duplicates
from film.datasets import (
    QuestionPairs,
    make_intent_pairs,
    read_banking77,
    read_clinc150,
    read_excluded,
)

BASELINE = "TF-IDF cosine, words"
BAR, EASIER = "intent_auc", "easier_auc"


def main(arguments: list[str] | None = None) -> int:
    """Run it; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intents", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="holds quora, clinc150 and banking77")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    try:
        folder = data_folder(options.data)
        sets = read_sets(folder, 400 if options.quick else 5000)
        data = read_folder(
            folder / "quora", on_error="raise", limit=600 if options.quick else None, seed=0
        )
    except (OSError, ValueError) as error:
        print(f"benchmarks.intents: {error}", file=sys.stderr)
        return 2
    scores = baselines(sets, data)
    for mode in ("inductive", "collection"):
        for name, p in judged_by_stack(sets, data, mode, options.quick).items():
            scores[name][f"fast_duplicates fitted on Quora, {mode}"] = p
    for name, methods in scores.items():
        y = _labels(sets[name])
        easier = without_near_others(methods[BASELINE], y)
        for method, values in methods.items():
            row = {
                BAR: float(roc_auc_score(y, values)),
                EASIER: float(roc_auc_score(y[easier], values[easier])),
            }
            print(f"{name}: {method}", {key: round(value, 4) for key, value in row.items()})
            if options.quick and not options.out:
                continue
            rivals = {BAR: roc_auc_score(y, methods[BASELINE])}
            rivals[EASIER] = roc_auc_score(y[easier], methods[BASELINE][easier])
            for metric, value in row.items():
                record(
                    "intents",
                    f"{name}: {method}",
                    metric,
                    round(value, 5),
                    rival=BASELINE,
                    rival_value=round(float(rivals[metric]), 5),
                    seed=0,
                    folder=options.out,
                )
    return 0


def read_sets(folder: Path, n_pairs: int) -> dict[str, QuestionPairs]:
    """Make the pairs of both sets, without listed sentences."""
    listed = folder / "exclude.txt"
    excluded = read_excluded(listed) if listed.is_file() else frozenset()
    clinc = read_clinc150(folder / "clinc150" / "data_full.json", excluded)
    banking = folder / "banking77"
    read = {
        "clinc150": clinc,
        "banking77": read_banking77([banking / "train.csv", banking / "test.csv"], excluded),
    }
    for name, texts in read.items():
        print(f"{name}: {len(texts)} texts, {texts.n_excluded} listed ones left out")
    return {name: make_intent_pairs(texts, n_pairs) for name, texts in read.items()}


def baselines(
    sets: dict[str, QuestionPairs], data: Splits
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Score by TF-IDF cosine, fitted on each set's own texts, and by lexical features of Quora."""
    lexical = make_pipeline(
        LexicalFeatures(), StandardScaler(), LogisticRegression(max_iter=2000)
    ).fit(data.train, data.y_train)
    scores = {}
    for name, found in sets.items():
        texts = np.unique(found.pairs)
        words = TfidfVectorizer(token_pattern=r"\w+").fit(texts)
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit(texts)
        scores[name] = {
            BASELINE: pair_cosines(words, found.pairs),
            "TF-IDF cosine, characters": pair_cosines(letters, found.pairs),
            "lexical features fitted on Quora": lexical.predict_proba(found.pairs)[:, 1],
        }
    return scores


def judged_by_stack(
    sets: dict[str, QuestionPairs], data: Splits, mode: str, quick: bool
) -> dict[str, NDArray[np.float64]]:
    """Probabilities of the stack; in collection mode ranks run over the sets' texts too."""
    corpus = None
    if mode == "collection":
        corpus = np.unique(np.concatenate([found.pairs.ravel() for found in sets.values()]))
    small = {"d": 20, "rank": 60, "cv": 2} if quick else {}
    model = fast_duplicates(corpus=corpus, **small).fit(data.train, data.y_train, data.similar)
    return {name: model.predict_proba(found.pairs)[:, 1] for name, found in sets.items()}


def without_near_others(cosine: NDArray[np.float64], y: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Choose all pairs of one intent, and of the others the half less alike by TF-IDF."""
    others = np.flatnonzero(y == 0)
    near = others[np.argsort(-cosine[others], kind="stable")[: len(others) // 2]]
    kept = np.ones(len(y), dtype=bool)
    kept[near] = False
    return kept


def _labels(found: QuestionPairs) -> NDArray[np.intp]:
    assert found.y is not None
    return np.asarray(found.y)


if __name__ == "__main__":
    sys.exit(main())

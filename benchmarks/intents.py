"""A classifier fitted on Quora, applied unchanged to texts of another kind: pairs of intents.

``python -m benchmarks.intents --data DIR`` fits on ``DIR/quora/train.csv`` and judges pairs made
of ``DIR/clinc150`` and ``DIR/banking77`` (5,000 each, seed 0); without ``--data``, the folder of
FILM_DATA. Half of the pairs share an intent; half of the others are among the 20 nearest by TF-IDF,
which works against TF-IDF itself, so the same is shown without the nearer half of the others.
The share of pairs that are unlike the training pairs is recorded too. ``--accurate CACHE`` measures
`accurate_duplicates` alone, inductive, whose members are read from the folder where
``python -m benchmarks.accurate --cache CACHE`` left them. With ``--pairs N``, it is fitted here to
N of Quora's pairs, without the member "rcmd". ``--quick`` runs on a part and records only where
``--out`` says so.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.accurate import chosen
from benchmarks.data.excluded import read_excluded
from benchmarks.data.intents import make_intent_pairs, read_banking77, read_clinc150
from benchmarks.quora import pair_cosines
from benchmarks.support.folders import data_folder
from benchmarks.support.quora_data import Splits, read_folder
from benchmarks.support.run import Results, parser_of, reading
from estimators import (
    DuplicateClassifier,
    LexicalFeatures,
    RCMDRegressor,
    SentenceEncoder,
    fast_duplicates,
)
from film.datasets import QuestionPairs

BASELINE = "TF-IDF cosine, words"
STACK = "fast_duplicates fitted on Quora"
ACCURATE = "accurate_duplicates{} Quora, which MiniLM saw"
BAR, EASIER = "intent_auc", "easier_auc"


def main(arguments: list[str] | None = None) -> int:
    """Run it; the exit status is 2 where the data cannot be read."""
    parser = parser_of("intents", __doc__, "holds quora, clinc150 and banking77")
    parser.add_argument("--accurate", metavar="CACHE", help="folder of benchmarks.accurate")
    parser.add_argument(
        "--pairs", type=int, metavar="N", help="fit --accurate to N of Quora's pairs"
    )
    parser.add_argument("--dtype", help="of its member rcmd, as benchmarks.accurate had it")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with reading("intents"):
        folder = data_folder(options.data)
        sets = read_sets(folder, 400 if options.quick else 5000)
        limit = 600 if options.quick else options.pairs
        data = read_folder(folder / "quora", limit=limit, seed=0)
    told = Told(sets, baselines(sets, data), float(data.y_train.mean()), options)
    for name, methods in told.compared.items() if not options.pairs else ():
        for method, values in methods.items():
            told.tell(name, method, values)
    if options.accurate:
        settings = argparse.Namespace(
            **{"encoder": None, "cache": options.accurate, "dtype": options.dtype},
            **{
                "epochs": 0.0 if options.pairs else 1.0,
                "device": None,
                "members": None,
                "quick": options.quick,
            },
            teacher=False,
        )
        model = chosen(settings, None).set_params(memory=options.accurate)
        model.fit(data.train, data.y_train, data.similar)
        fitted = (
            f" without rcmd fitted on {options.pairs:,} pairs of" if options.pairs else " fitted on"
        )
        told.tell_stack(model, f"{ACCURATE.format(fitted)}, inductive")
    else:
        for mode in ("inductive", "collection"):
            model = fitted_stack(sets, data, mode, options.quick)
            told.tell_stack(model, f"{STACK}, {mode}")
        for method, values in neural_baselines(sets, options.quick).items():
            for name, similarity in values.items():
                told.tell(name, method, similarity)
    told.results.compare()
    return 0


class Told:
    """Prints and records what methods say of the pairs of each set."""

    def __init__(
        self,
        sets: dict[str, QuestionPairs],
        compared: dict[str, dict[str, NDArray[np.float64]]],
        share: float,
        options: argparse.Namespace,
    ) -> None:
        self.sets, self.compared, self.share = sets, compared, share
        self.results = Results("intents", options)

    def tell(
        self, name: str, method: str, values: NDArray[np.float64], share: float | None = None
    ) -> None:
        """Tell a row, and keep what it says of each pair."""
        found, baseline = self.sets[name], self.compared[name][BASELINE]
        y = labels_of(found)
        parts = {BAR: slice(None), EASIER: without_near_others(baseline, y)}
        row, beside = (
            {metric: float(roc_auc_score(y[some], side[some])) for metric, some in parts.items()}
            for side in (values, baseline)
        )
        self.results.tell(f"{name}: {method}", row, rival=BASELINE, beside=beside)
        self.results.keep(f"{name}: {method}", found.pairs, y, values, share=share)

    def tell_stack(self, model: DuplicateClassifier, method: str) -> None:
        """Tell what a classifier, and the general formula in it, say of each set."""
        for name, found in self.sets.items():
            self.tell(name, method, model.predict_proba(found.pairs)[:, 1], self.share)
            moved = float(np.mean(model.familiarity(found.pairs) <= 0.5))
            self.results.tell(f"{name}: {method}", {"moved": moved})


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
        print(f"{name}: {len(texts.texts)} texts, {texts.n_excluded} listed ones left out")
    return {name: make_intent_pairs(texts, n_pairs) for name, texts in read.items()}


def baselines(
    sets: dict[str, QuestionPairs], data: Splits
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Score by TF-IDF cosine, fitted on each set's own texts, and by lexical features of Quora."""
    lexical = make_pipeline(
        LexicalFeatures(), StandardScaler(), LogisticRegression(max_iter=2000)
    ).fit(data.train, data.y_train)
    features = lexical[0]
    characters = np.asarray(features.get_feature_names_out()).tolist().index("character cosine")
    scores = {}
    for name, found in sets.items():
        texts = np.unique(found.pairs)
        words = TfidfVectorizer(token_pattern=r"\w+").fit(texts)
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit(texts)
        scores[name] = {
            BASELINE: pair_cosines(words, found.pairs),
            "TF-IDF cosine, characters": pair_cosines(letters, found.pairs),
            "character cosine, rarity of Quora": features.transform(found.pairs)[:, characters],
            "lexical features fitted on Quora": lexical.predict_proba(found.pairs)[:, 1],
        }
    return scores


def neural_baselines(
    sets: dict[str, QuestionPairs], quick: bool
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Score by MiniLM untrained here: its cosine, and RCMD. None without the extra neural."""
    if quick or find_spec("transformers") is None:
        return {}
    encoder = make_pipeline(SentenceEncoder()).fit(["a text"])
    rcmd = RCMDRegressor(epochs=0)
    rows: dict[str, dict[str, NDArray[np.float64]]] = {"MiniLM cosine": {}, "untrained RCMD": {}}
    for name, found in sets.items():
        rows["MiniLM cosine"][name] = pair_cosines(encoder, found.pairs)
        rcmd.fit(found.pairs[:2], np.array([0.0, 1.0]))
        rows["untrained RCMD"][name] = rcmd.similarity(found.pairs)
    return rows


def fitted_stack(
    sets: dict[str, QuestionPairs], data: Splits, mode: str, quick: bool
) -> DuplicateClassifier:
    """Fit the stack on Quora; in collection mode ranks run over the sets' texts too."""
    corpus = None
    if mode == "collection":
        corpus = np.unique(np.concatenate([found.pairs.ravel() for found in sets.values()]))
    small = {"d": 20, "rank": 60, "cv": 2} if quick else {}
    return fast_duplicates(corpus=corpus, **small).fit(data.train, data.y_train, data.similar)


def without_near_others(cosine: NDArray[np.float64], y: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Choose all pairs of one intent, and of the others the half less alike by TF-IDF."""
    others = np.flatnonzero(y == 0)
    near = others[np.argsort(-cosine[others], kind="stable")[: len(others) // 2]]
    kept = np.ones(len(y), dtype=bool)
    kept[near] = False
    return kept


def labels_of(found: QuestionPairs) -> NDArray[np.intp]:
    """Labels of pairs that have some."""
    assert found.y is not None
    return np.asarray(found.y)


if __name__ == "__main__":
    sys.exit(main())

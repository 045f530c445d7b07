"""Readers of texts labelled with an intent, and pairs made of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.data.excluded import text_hash
from film.datasets import QuestionPairs
from film.text import normalize_text


class IntentTexts(NamedTuple):
    """Different texts, the intent of each, and how many were excluded."""

    texts: NDArray[np.object_]
    intents: NDArray[np.object_]
    n_excluded: int


def read_clinc150(path: Path, excluded: Collection[str] = ()) -> IntentTexts:
    """Read ``data_full.json`` of CLINC150, without texts that are out of scope.

    S. Larson et al. "An Evaluation Dataset for Intent Classification and Out-of-Scope Prediction."
    EMNLP 2019. Texts whose hash is excluded are left out.
    """
    lists = json.loads(path.read_text(encoding="utf-8"))
    rows = (row for entries in lists.values() for row in entries if row[1] != "oos")
    return _different(rows, excluded)


def read_banking77(paths: Sequence[Path], excluded: Collection[str] = ()) -> IntentTexts:
    """Read ``train.csv`` and ``test.csv`` of BANKING77, in this order.

    I. Casanueva et al. "Efficient Intent Detection with Dual Sentence Encoders." 2020.
    """
    rows = []
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            rows += [(row["text"].strip(), row["category"]) for row in csv.DictReader(file)]
    return _different(rows, excluded)


def make_intent_pairs(data: IntentTexts, n_pairs: int = 5000, n_nearest: int = 20) -> QuestionPairs:
    """Draw pairs of texts: half with the same intent, a quarter random and a quarter hard.

    A hard pair is a text and one of its nearest texts of other intents, by the cosine of word
    TF-IDF. Texts with the same intent need not have the same meaning: the labels are a proxy.

    Parameters
    ----------
    data : IntentTexts
        Enough texts for so many different pairs of each kind, else the search does not end.
    n_pairs : int, default=5000
        Number of pairs. With the defaults the pairs of a set are always the same.
    n_nearest : int, default=20
        Number of neighbours that hard pairs are drawn from.

    Returns
    -------
    pairs : QuestionPairs
        In random order; label 1 for the same intent.
    """
    names, intent = np.unique(data.intents, return_inverse=True)
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(intent == code) for code in range(len(names))]
    anchors = np.flatnonzero(np.bincount(intent)[intent] > 1)
    vectorizer = TfidfVectorizer(preprocessor=normalize_text, tokenizer=str.split)
    vectorizer.set_params(token_pattern=None)
    vectors = csr_array(vectorizer.fit_transform(data.texts))
    inverted = csr_array(vectors.T)

    def same(anchor: int) -> NDArray[np.intp]:
        group = members[intent[anchor]]
        return group[group != anchor]

    def other(anchor: int) -> NDArray[np.intp]:
        return np.flatnonzero(intent != intent[anchor])

    def near(anchor: int) -> NDArray[np.intp]:
        # Rounded, so that ties go to the earlier text on every machine.
        similarity = np.round((vectors[[anchor]] @ inverted).toarray().ravel(), 9)
        similarity[intent == intent[anchor]] = -1.0
        nearest = np.argsort(-similarity, kind="stable")[:n_nearest]
        return nearest[similarity[nearest] >= 0]

    n_same, n_near = n_pairs // 2, (n_pairs - n_pairs // 2) // 2
    everyone = np.arange(len(data.texts))
    taken: set[tuple[int, int]] = set()
    rows = _drawn(n_same, anchors, same, taken, rng)
    rows += _drawn(n_pairs - n_same - n_near, everyone, other, taken, rng)
    rows += _drawn(n_near, everyone, near, taken, rng)
    order = rng.permutation(n_pairs)
    ids = np.arange(n_pairs).astype(str).astype(object)
    return QuestionPairs(data.texts[np.array(rows)[order]], (order < n_same).astype(int), ids)


def _drawn(
    count: int,
    pool: NDArray[np.intp],
    partners: Callable[[int], NDArray[np.intp]],
    taken: set[tuple[int, int]],
    rng: np.random.Generator,
) -> list[tuple[int, int]]:
    """Draw different pairs of an anchor and one of its partners, and add them to ``taken``."""
    rows: list[tuple[int, int]] = []
    while len(rows) < count:
        anchor = int(rng.choice(pool))
        partner = int(rng.choice(partners(anchor)))
        key = (min(anchor, partner), max(anchor, partner))
        if key not in taken:
            taken.add(key)
            rows.append((anchor, partner))
    return rows


def _different(rows: Iterable[Sequence[str]], excluded: Collection[str]) -> IntentTexts:
    kept: dict[str, Sequence[str]] = {}
    n_excluded = 0
    for row in rows:
        if text_hash(row[0]) in excluded:
            n_excluded += 1
        else:
            kept.setdefault(normalize_text(row[0]), row)
    texts, intents = np.array(list(kept.values()), dtype=object).T
    return IntentTexts(texts, intents, n_excluded)

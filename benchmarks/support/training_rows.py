"""Rows to train similarity on: questions with hard negatives, captions, scored sentences."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.data.excluded import text_hash
from benchmarks.data.pairs import ScoredPairs, drop_excluded
from benchmarks.data.sts import read_sick, read_sts_benchmark
from benchmarks.support.quora_data import Splits
from estimators import SentenceEncoder, question_groups
from film.text import normalize_text

NEAR = (5, 50)
"""Ranks between which a hard negative is drawn: closer ones are often unlabelled duplicates."""


class Captions(NamedTuple):
    """Captions of images, shape (images, 5), without those that stand in an evaluation set."""

    texts: np.ndarray
    n_excluded: int


def read_captions(folder: Path, excluded: frozenset[str]) -> Captions:
    """Read ``train.1.en.gz`` to ``train.5.en.gz``, one caption of an image a line."""
    columns = []
    for number in range(1, 6):
        with gzip.open(folder / f"train.{number}.en.gz", "rt", encoding="utf-8") as file:
            columns.append([line.strip() for line in file])
    texts = np.array(columns, dtype=object).T
    kept = np.array([not any(text_hash(text) in excluded for text in row) for row in texts])
    return Captions(texts[kept], int((~kept).sum()))


def read_choice(folder: Path, excluded: frozenset[str]) -> ScoredPairs:
    """Scored pairs of STS-B's and SICK's train and dev files without a sentence of a test set.

    SICK's scores, 1 to 5, are brought to STS's unit, 0 to 5.
    """
    parts = []
    for name in ("sts-train.csv", "sts-dev.csv"):
        parts.append(drop_excluded(read_sts_benchmark(folder / "STSBenchmark" / name), excluded)[0])
    for name in ("SICK_train.txt", "SICK_trial.txt"):
        data = drop_excluded(read_sick(folder / "SICK" / name), excluded)[0]
        parts.append(ScoredPairs(data.pairs, (data.scores - 1) * 1.25, data.genres))
    return ScoredPairs(
        np.concatenate([part.pairs for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.genres for part in parts]),
    )


def question_triplets(data: Splits, n: int, model: str | None, seed: int) -> np.ndarray:
    """Duplicates with a question that is none: one labelled so, or else a near one.

    All texts are normalised alike, since the files differ in case and punctuation, and a model
    would read the file off the style.
    """
    rng = np.random.default_rng(seed)
    labelled = _normalized(data.train)
    is_same = np.asarray(data.y_train) == 1
    positives = labelled[is_same]
    if data.similar is not None:
        positives = np.concatenate([positives, _normalized(data.similar)])
    positives = positives[positives[:, 0] != positives[:, 1]]
    positives = positives[rng.permutation(len(positives))[:n]]
    others = defaultdict(list)
    for first, second in labelled[~is_same].tolist():
        others[first].append(second)
        others[second].append(first)
    return _with_negatives(positives, others, model, rng)


def caption_triplets(captions: Captions, n: int, model: str | None, seed: int) -> np.ndarray:
    """Two captions of one image with a near one of another image."""
    rng = np.random.default_rng(seed)
    images = rng.permutation(len(captions.texts))
    rows = []
    for image in np.resize(images, n):
        first, second = rng.choice(5, 2, replace=False)
        rows.append(captions.texts[image, [first, second]])
    pairs = np.array(rows, dtype=object)
    return _with_negatives(pairs[pairs[:, 0] != pairs[:, 1]], {}, model, rng)


def _with_negatives(
    pairs: np.ndarray, labelled: dict[str, list[str]], model: str | None, rng: np.random.Generator
) -> np.ndarray:
    """Put a third text beside every pair: labelled as another, or near the first by ``model``."""
    groups = dict(zip(pairs.ravel().tolist(), np.repeat(question_groups(pairs), 2), strict=True))
    texts = list(groups)
    of = np.array([groups[text] for text in texts])
    number = {text: place for place, text in enumerate(texts)}
    points = _unit_points(texts, model)
    firsts = np.array([number[text] for text in pairs[:, 0]])
    found = np.empty((len(pairs), 3), dtype=object)
    found[:, :2] = pairs
    for start in range(0, len(pairs), 512):
        block = slice(start, start + 512)
        near = points[firsts[block]] @ points.T
        most = min(NEAR[1], len(texts) - 1)
        for row, cosines in zip(range(start, len(pairs)), near, strict=False):
            ranked = np.argpartition(-cosines, most)[:most]
            ranked = ranked[np.argsort(-cosines[ranked])]
            ranked = ranked[of[ranked] != of[firsts[row]]][NEAR[0] :]
            known = [t for t in labelled.get(pairs[row, 0], []) if t != pairs[row, 1]]
            choice = known or [texts[place] for place in ranked] or texts
            found[row, 2] = str(rng.choice(np.array(choice, dtype=object)))
    return found[[len(set(row)) == 3 for row in found.tolist()]]


def _unit_points(texts: list[str], model: str | None) -> np.ndarray:
    """Vectors of texts by their first 32 tokens, of length 1, in float32."""
    points = SentenceEncoder(model, max_length=32).fit_transform(texts).astype(np.float32)
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)


def _normalized(pairs: np.ndarray) -> np.ndarray:
    flat = [normalize_text(text) for text in pairs.ravel().tolist()]
    found = np.empty(len(flat), dtype=object)
    found[:] = flat
    found = found.reshape(pairs.shape)
    return found[(found != "").all(axis=1)]

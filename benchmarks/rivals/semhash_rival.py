"""Deduplicate by semhash: a script for an environment of its own, without this project.

``python semhash_rival.py TEXTS.json OUT.npz``. Its own model comes from a hub; it gets vectors
of character trigrams in 256 dimensions, so that the search is compared and not the encoder.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from semhash import SemHash
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

LOWEST = 0.5


class Encoder:
    """What semhash asks for: ``encode``."""

    def __init__(self, texts: list[str]) -> None:
        self.row = {text: i for i, text in enumerate(texts)}
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
        X = letters.fit_transform(texts)
        points = TruncatedSVD(min(256, *X.shape) - 1, random_state=0).fit_transform(X)
        lengths = np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
        self.points = (points / lengths).astype(np.float32)

    def encode(self, sentences: Any, **options: Any) -> np.ndarray:
        """Embed texts of the corpus."""
        return self.points[[self.row[text] for text in sentences]]


def main() -> None:
    """Deduplicate and write pairs, scores and seconds."""
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        texts = json.load(file)
    started = time.perf_counter()
    found = SemHash.from_records(texts, model=Encoder(texts)).self_deduplicate(threshold=LOWEST)
    seconds = time.perf_counter() - started
    row = {text: i for i, text in reversed(list(enumerate(texts)))}
    pairs, scores = [], []
    for item in found.filtered:
        if not item.exact:
            pairs.append((row[item.record], row[item.duplicate_of]))
            scores.append(item.score)
    np.savez(target, pairs=np.array(pairs), scores=np.array(scores), seconds=seconds)


if __name__ == "__main__":
    main()

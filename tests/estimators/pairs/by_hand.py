"""What classifiers of pairs ask of an embedder, from the definition, and embedders to ask it of."""

import json
import re
import zlib
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone

from film.metric.triplets import triplets_from_pairs
from film.text import normalize_text


def write_line(path, content):
    with open(path, "a", encoding="utf-8", errors="surrogatepass") as file:
        file.write(json.dumps(content) + "\n")


def lines_of(path):
    path = Path(path)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


@cache
def vector_of(word, d):
    seed = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    return np.random.default_rng(seed).standard_normal(d)


class WordVectors(TransformerMixin, BaseEstimator):
    """Sum of a fixed random vector a word, case and all; writes to `path` in its own way."""

    def __init__(self, path="", d=5):
        self.path = path
        self.d = d

    def transform(self, texts):
        points = np.zeros((len(texts), self.d))
        for point, text in zip(points, texts, strict=True):
            for word in re.findall(r"\w+", text):
                point += vector_of(word, self.d)
        return points


def clusters_of(links):
    """Cluster of each linked text, by merging sets."""
    clusters = {}
    for first, second in links:
        merged = clusters.get(first, {first}) | clusters.get(second, {second})
        clusters.update(dict.fromkeys(merged, merged))
    return clusters


class TextsByHand:
    """Texts of pairs and the embedder fitted to some of them, as the documentation defines it."""

    def __init__(self, embedder, pairs, y, *, corpus=None, similar=()):
        self.embedder, self.y = embedder, np.asarray(y)
        self.spelling = {}
        for text in [*sorted({*np.ravel(pairs), *np.ravel(similar)}), *sorted(corpus or ())]:
            self.spelling.setdefault(normalize_text(text), text)
        self.pairs, self.similar = (
            [tuple(map(normalize_text, pair)) for pair in some] for some in (pairs, similar)
        )
        self.corpus = None if corpus is None else {*map(normalize_text, corpus)}

    def told(self, rows):
        """Labelled pairs, with the similar ones that no path joins to another pair."""
        held_out = {text for i in range(len(self.y)) if i not in rows for text in self.pairs[i]}
        clusters = clusters_of(self.pairs + self.similar)
        free = [pair for pair in self.similar if not clusters[pair[0]] & held_out]
        pairs = [self.pairs[i] for i in rows] + free
        return pairs, [*self.y[list(rows)], *[1] * len(free)]

    def fit(self, rows):
        pairs, labels = self.told(rows)
        texts = sorted({"", *(self.spelling[text] for pair in pairs for text in pair)})
        place = {normalize_text(text): i for i, text in enumerate(texts)}
        triplets = triplets_from_pairs(
            np.array([[place[first], place[second]] for first, second in pairs]),
            np.array(labels),
            len(texts),
            n_random=5,
            null=0,
            random_state=0,
        )
        return clone(self.embedder).fit(np.array(texts, dtype=object), triplets)

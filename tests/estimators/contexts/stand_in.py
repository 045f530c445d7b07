"""A model of contexts that needs no training: words are random vectors, a sentence their sum."""

import zlib
from functools import cache

import numpy as np
from sklearn.base import BaseEstimator

WIDTH = 16
N_CONTEXTS = 60
WORDS = (
    "a the how do i learn chess play well what is best way to old earth age of cat dog sat on mat "
    "run"
).split()


class Corpus:
    """Sentences of five words."""

    sentences = tuple(" ".join(WORDS[i : i + 5]) for i in range(len(WORDS) - 4))

    def centres(self):
        return np.arange(1, len(self.sentences) - 1)

    def texts(self, rows):
        return [self.sentences[row] for row in rows]


class StandIn(BaseEstimator):
    """What a pair regressor needs of a fitted ContextModel, in closed form."""

    corpus_ = Corpus()

    def __init__(self, size=8, weights=(1.0, 1.0, 1.0, 1.0)):
        self.size = size
        self.weights = weights

    def fit(self, documents=None, y=None):
        rng = np.random.default_rng(0)
        self.points_ = rng.normal(size=(4, N_CONTEXTS, WIDTH))
        self.calls_ = {"contexts_of": [], "terms": []}
        return self

    def contexts_of(self, texts, n_contexts=None):
        assert not isinstance(texts, str)
        self.calls_["contexts_of"] += texts
        rows = np.arange(N_CONTEXTS) + 100
        found = []
        for text in texts:
            if not set(text.lower().split()) & set(WORDS):
                found.append(np.empty(0, dtype=np.int64))
                continue
            scores = self.terms([text], rows, counted=False)[0] @ np.asarray(self.weights)
            found.append(rows[np.argsort(-scores, kind="stable")[: n_contexts or self.size]])
        return found

    def terms(self, texts, contexts, counted=True):
        if len(contexts) and np.ndim(contexts[0]):
            return [self.terms([text], own)[0] for text, own in zip(texts, contexts, strict=True)]
        if counted:
            self.calls_["terms"] += [(text, tuple(contexts)) for text in texts]
        logits = np.einsum(
            "td,kcd->tck", vectors(texts), self.points_[:, np.asarray(contexts) - 100]
        )
        return -np.logaddexp(0, -logits).astype(np.float32)

    def levels(self, texts):
        return self.terms(texts, np.arange(N_CONTEXTS) + 100, counted=False)[..., 0].mean(axis=1)

    def reference_terms(self, contexts):
        texts = [" ".join(WORDS[i : i + 3]) for i in range(len(WORDS) - 2)]
        first = self.terms(texts, contexts, counted=False)[..., 0]
        return first - self.levels(texts)[:, np.newaxis]

    def context_texts(self, rows):
        return [(f"<b>Before {row}</b>.", f"After {row}.") for row in rows]


def vectors(texts):
    return np.array([sum(map(_word, text.lower().split()), np.zeros(WIDTH)) for text in texts])


@cache
def _word(word):
    rng = np.random.default_rng(zlib.crc32(word.encode()))
    return rng.normal(size=WIDTH) / 2

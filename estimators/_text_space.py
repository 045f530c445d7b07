"""Vectors of texts: sparse ones that scores are made of, and dense ones to look neighbours up."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from estimators._texts import as_texts
from film.lowrank import truncated_svd
from film.text import normalize_text

LOOKUP_DIMENSIONS = 256


class TextSpace:
    """Texts as unit rows, by an embedder or by TF-IDF of words and character trigrams.

    Parameters
    ----------
    embedder : callable or fitted transformer, optional
        Texts → vectors, dense or sparse.
    random_state : int
        Seeds the decomposition of sparse vectors.
    """

    def __init__(self, embedder: Any, random_state: int) -> None:
        self.embedder = embedder
        self.random_state = random_state
        self.n_fitted = 0
        self._axes: Any = None

    def fit(self, texts: list[str]) -> TextSpace:
        """Learn vocabularies, and the dense space of sparse vectors."""
        self.n_fitted = len(texts)
        if self.embedder is None:
            form: dict[str, Any] = {
                "preprocessor": normalize_text,
                "sublinear_tf": True,
                "dtype": np.float32,
            }
            self._words = TfidfVectorizer(token_pattern=r"\S+", **form).fit(texts)
            self._trigrams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), **form)
            self._trigrams.fit(texts)
        wide = self._vectors(texts)[1]
        if sp.issparse(wide):
            rank = min(LOOKUP_DIMENSIONS, *wide.shape)
            # Two iterations find as many neighbours as four do.
            factors = truncated_svd(wide, rank, n_iter=2, random_state=self.random_state)
            self._axes = factors.right
        return self

    def transform(self, texts: list[str]) -> tuple[Any, np.ndarray]:
        """Give the rows whose products are similarities, and dense float32 unit rows."""
        vectors, wide = self._vectors(texts)
        points = wide if self._axes is None else normalize(wide @ self._axes)
        return vectors, np.ascontiguousarray(points, dtype=np.float32)

    def _vectors(self, texts: list[str]) -> tuple[Any, Any]:
        if self.embedder is None:
            trigrams = sp.csr_array(self._trigrams.transform(texts))
            words = self._words.transform(texts)
            both = sp.hstack([words, trigrams], format="csr") * np.float32(np.sqrt(0.5))
            return sp.csr_array(both), trigrams
        embed = getattr(self.embedder, "transform", self.embedder)
        given = embed(as_texts(texts))
        vectors: Any = sp.csr_array(given) if sp.issparse(given) else np.asarray(given)
        if vectors.ndim != 2 or vectors.shape[0] != len(texts) or vectors.dtype.kind not in "fiu":
            raise ValueError(
                f"embedder gave {vectors.dtype} of shape {vectors.shape} for {len(texts)} texts; "
                "it must give one row of numbers a text"
            )
        stored: Any = vectors.data if sp.issparse(vectors) else vectors
        if not np.isfinite(stored).all():
            raise ValueError("embedder gave NaN or infinity; its vectors must be finite")
        unit = normalize(vectors.astype(np.float32, copy=False))
        return unit, unit


def row_products(rows: Any, others: Any, pairs: np.ndarray) -> np.ndarray:
    """Products of the rows that each pair names, within [0, 1]: cosines, negative ones as 0."""
    left, right = rows[pairs[:, 0]], others[pairs[:, 1]]
    if sp.issparse(left):
        products = np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()
    else:
        products = np.einsum("ij,ij->i", left, right, dtype=np.float64)
    return np.clip(products, 0.0, 1.0)

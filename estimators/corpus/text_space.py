"""Vectors of texts: sparse ones that scores are made of, and dense ones to look neighbours up."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import normalize

from estimators.corpus.packed_texts import pack, unpack
from estimators.inputs import as_texts
from estimators.persistence import savable
from film.metric import truncated_svd
from film.text import words_and_symbols

LOOKUP_DIMENSIONS = 256
_FORMS: dict[str, dict[str, Any]] = {
    "words": {"token_pattern": r"\S+"},
    "trigrams": {"analyzer": "char_wb", "ngram_range": (3, 3)},
}


@savable
class TextSpace:
    """Texts as unit rows, by an embedder or by TF-IDF of words and character trigrams.

    Parameters
    ----------
    embedder : callable or fitted transformer, optional
        Texts → vectors, dense or sparse.
    random_state : int
        Seeds the decomposition of sparse vectors.

    Attributes
    ----------
    n_fitted : int
        Number of texts that the space was learned from: those with a vector.
    """

    def __init__(self, embedder: Any, random_state: int) -> None:
        self.embedder = embedder
        self.random_state = random_state
        self.n_fitted = 0
        self._words, self._trigrams = Terms("words"), Terms("trigrams")
        self._axes: Any = None

    def fit(self, texts: list[str]) -> TextSpace:
        """Learn vocabularies, and the dense space of sparse vectors."""
        if self.embedder is None:
            self._words.fit(texts)
            self._trigrams.fit(texts)
        wide = self._vectors(texts)[1]
        self.n_fitted = int(np.count_nonzero(abs(wide).sum(axis=1)))
        if sp.issparse(wide):
            rank = min(LOOKUP_DIMENSIONS, *wide.shape)
            if rank:
                factors = truncated_svd(wide, rank, random_state=self.random_state)
                self._axes = factors.right
            else:
                self._axes = np.zeros((wide.shape[1], 1), dtype=np.float32)
        return self

    def extended(self, texts: list[str]) -> TextSpace:
        """Give a space that also tells the new terms of these texts apart.

        They weigh what a term of no text of `fit` weighs. The dense space stays.
        """
        if self.embedder is not None:
            return self
        larger = TextSpace(None, self.random_state)
        larger.n_fitted, larger._axes = self.n_fitted, self._axes
        larger._words = self._words.extended(texts)
        larger._trigrams = self._trigrams.extended(texts)
        return larger

    def widened(self, vectors: Any, before: TextSpace) -> Any:
        """Give vectors of the space before it was extended the columns of this one."""
        if self.embedder is not None:
            return vectors
        n_words, n_trigrams = len(before._words), len(before._trigrams)
        more = len(self._words) - n_words, len(self._trigrams) - n_trigrams
        csr: Any = sp.csr_array
        blank = [csr((vectors.shape[0], n), dtype=vectors.dtype) for n in more]
        parts = [vectors[:, :n_words], blank[0], vectors[:, n_words:], blank[1]]
        return sp.csr_array(sp.hstack(parts, format="csr"))

    def transform(self, texts: list[str]) -> tuple[Any, np.ndarray]:
        """Give the rows whose products are similarities, and dense float32 unit rows.

        Terms that no text of the corpus has count in the length of a row: they are a difference
        from every text of it.
        """
        vectors, wide = self._vectors(texts)
        points = wide
        if self._axes is not None:
            points = normalize(wide[:, : len(self._axes)] @ self._axes)
        return vectors, np.ascontiguousarray(points, dtype=np.float32)

    def vectorizer(self) -> Any:
        """Give the embedder, or what it is by default as a transformer of scikit-learn."""
        if self.embedder is not None:
            return self.embedder
        return FeatureUnion(
            [("words", self._words.vectorizer()), ("trigrams", self._trigrams.vectorizer())]
        )

    def _vectors(self, texts: list[str]) -> tuple[Any, Any]:
        if self.embedder is None:
            trigrams = self._trigrams.transform(texts)
            both = sp.hstack([self._words.transform(texts), trigrams], format="csr")
            return sp.csr_array(both * np.float32(np.sqrt(0.5))), trigrams
        embed = getattr(self.embedder, "transform", self.embedder)
        given = embed(as_texts(texts))
        vectors: Any = sp.csr_array(given) if sp.issparse(given) else np.asarray(given)
        if vectors.ndim != 2 or vectors.shape[0] != len(texts) or vectors.dtype.kind not in "fiu":
            raise ValueError(
                f"embedder gave {vectors.dtype} of shape {vectors.shape} for {len(texts)} texts; "
                "it must give one row of numbers per text"
            )
        stored: Any = vectors.data if sp.issparse(vectors) else vectors
        if not np.isfinite(stored).all():
            raise ValueError("embedder gave NaN or infinity; its vectors must be finite")
        unit = normalize(vectors.astype(np.float32, copy=False))
        return unit, unit


@savable
class Terms:
    """TF-IDF of the terms of one form, with a vocabulary that can be extended.

    Rows are those of `TfidfVectorizer`, but terms without a column count in their length.

    Parameters
    ----------
    form : {"words", "trigrams"}
        What a term is.
    """

    def __init__(self, form: str) -> None:
        self.form = form
        self._columns: dict[str, int] | None = {}
        self._packed: Any = None
        self._idf = np.ones(1, dtype=np.float32)

    def __len__(self) -> int:
        return len(self._idf) - 1

    def __getstate__(self) -> dict[str, Any]:
        """State whose terms are arrays, which files hold and read much faster."""
        return {**self.__dict__, "_columns": None, "_packed": pack(list(self._column))}

    def fit(self, texts: list[str]) -> Terms:
        """Learn the terms of texts, and what each weighs."""
        analyze = self._analyzer()
        n_texts_with = Counter(term for text in texts for term in set(analyze(text)))
        self._columns = {term: column for column, term in enumerate(sorted(n_texts_with))}
        # The last entry is that of a term in no text.
        known = np.array([*(n_texts_with[term] for term in self._column), 0])
        self._idf = (np.log((1 + len(texts)) / (1 + known)) + 1).astype(np.float32)
        return self

    def extended(self, texts: list[str]) -> Terms:
        """Give these terms and those that texts have besides."""
        analyze = self._analyzer()
        new = {term for text in texts for term in analyze(text)} - self._column.keys()
        larger = Terms(self.form)
        larger._columns = self._column | {
            term: column for column, term in enumerate(sorted(new), start=len(self))
        }
        larger._idf = np.append(self._idf, np.full(len(new), self._idf[-1]))
        return larger

    def transform(self, texts: list[str]) -> Any:
        """Give unit rows, (n_texts, n_terms), float32."""
        analyze = self._analyzer()
        rows: list[int] = []
        columns: list[int] = []
        counts: list[int] = []
        for row, text in enumerate(texts):
            terms = Counter(analyze(text))
            rows += [row] * len(terms)
            columns += [self._column.get(term, -1) for term in terms]
            counts += terms.values()
        row, column = np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp)
        values = (1 + np.log(np.array(counts, dtype=np.float32))) * self._idf[column]
        lengths = np.sqrt(np.bincount(row, values * values, minlength=len(texts)))
        values /= lengths[row].astype(np.float32)
        known = column >= 0
        shape = (len(texts), len(self))
        return sp.csr_array((values[known], (row[known], column[known])), shape=shape)

    def vectorizer(self) -> TfidfVectorizer:
        """Give the same weights as a transformer of scikit-learn."""
        vectorizer = _vectorizer(self.form, list(self._column))
        vectorizer.idf_ = self._idf[:-1]
        return vectorizer

    @property
    def _column(self) -> dict[str, int]:
        """Column of each term."""
        if self._columns is None:
            terms = unpack(self._packed)
            self._columns, self._packed = {term: i for i, term in enumerate(terms)}, None
            if len(self._columns) != len(self):
                raise ValueError("saved terms and their weights do not belong together")
        return self._columns

    def _analyzer(self) -> Any:
        return _vectorizer(self.form, None).build_analyzer()


def _vectorizer(form: str, vocabulary: list[str] | None) -> TfidfVectorizer:
    settings: dict[str, Any] = {"sublinear_tf": True, "dtype": np.float32, **_FORMS[form]}
    return TfidfVectorizer(preprocessor=words_and_symbols, vocabulary=vocabulary, **settings)


def row_products(rows: Any, others: Any, pairs: np.ndarray) -> np.ndarray:
    """Products of the rows that each pair names, within [0, 1]: cosines, negative ones as 0."""
    left, right = rows[pairs[:, 0]], others[pairs[:, 1]]
    if sp.issparse(left):
        products = np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()
    else:
        products = np.einsum("ij,ij->i", left, right, dtype=np.float64)
    return np.clip(products, 0.0, 1.0)

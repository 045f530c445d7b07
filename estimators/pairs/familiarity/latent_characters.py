"""How near texts are to others by the parts of words that they share or that go together."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from estimators.inputs import word_gram_counts
from estimators.persistence import savable
from film.metric import truncated_svd
from film.pairs import mean_of_nearest

N_HASHES = 2**14
N_AXES = 200
WHOLE = 4000
"""Length of vectors in whole numbers: products of two stay below 2²⁴ with 200 axes."""


@savable
class LatentCharacters:
    """Texts in the space of the leading singular vectors of their character n-grams.

    Latent semantic analysis of two to four characters inside words, counted by 2¹⁴ hashes and
    weighed by TF-IDF. Vectors of length 1 are kept in whole numbers of 1/4000, whose products
    single precision sums up without rounding: what stands beside a text in a batch changes nothing.

    Parameters
    ----------
    texts : list of str
        As `film.text.token_text` spells them.
    random_state : int
        Seeds the decomposition.
    """

    def __init__(self, texts: list[str], random_state: int) -> None:
        counts = word_gram_counts(_reader(), texts)
        self.weigh = TfidfTransformer(sublinear_tf=True).fit(counts)
        rows: Any = self.weigh.transform(counts)
        factors = truncated_svd(rows, min(N_AXES, *rows.shape), random_state=random_state)
        self.axes = factors.right.astype(np.float16)
        self.points = self._whole(rows).astype(np.int16)

    def nearness(self, texts: list[str]) -> np.ndarray:
        """Mean cosine of each text with its five nearest, (n,)."""
        rows = self.weigh.transform(word_gram_counts(_reader(), texts))
        return mean_of_nearest(self._whole(rows), self.points.astype(np.float32)) / WHOLE**2

    def _whole(self, rows: Any) -> np.ndarray:
        vectors = rows.astype(np.float64) @ self.axes.astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.rint(WHOLE / np.maximum(lengths, 1e-9) * vectors).astype(np.float32)


def _reader() -> HashingVectorizer:
    options: dict[str, Any] = {"dtype": np.float32, "norm": None}
    return HashingVectorizer(
        n_features=N_HASHES,
        analyzer="char_wb",
        ngram_range=(2, 4),
        alternate_sign=False,
        lowercase=False,
        **options,
    )

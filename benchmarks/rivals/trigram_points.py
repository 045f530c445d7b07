"""Character trigrams in 256 dimensions: what scripts of rivals embed by, without this project."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer


def trigram_points(texts: list[str]) -> np.ndarray:
    """Give unit rows of float32."""
    tfidf = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True, dtype=np.float32
    )
    X = tfidf.fit_transform(texts)
    rank = min(256, X.shape[1] - 1, len(texts) - 1)
    points = TruncatedSVD(rank, random_state=0).fit_transform(X)
    lengths = np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    return (points / lengths).astype(np.float32)

"""The discriminator: how well a sentence fits between two others, by fixed vectors of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Discriminator(NamedTuple):
    """Logit that a sentence fits its context, from unit vectors w of sentences (Section 3.2.1).

    It is ``gain <w_i, w_<i + w_>i> + bias``, one product of a vector of the sentence and a vector
    of its context. So vectors are computed once, and one product of matrices gives all sentences in
    all contexts.

    Parameters
    ----------
    gain : float, default=5
        Weight of the similarity, at least 0.
    bias : float, default=-5
        Logit of a sentence that has nothing in common with its neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> w = np.eye(3, dtype=np.float32)
    >>> model = Discriminator(4.0, -1.0)
    >>> model.contexts(w[:1], w[1:2]) @ model.centres(w).T
    array([[ 3.,  3., -1.]], dtype=float32)
    """

    gain: float = 5
    bias: float = -5

    def centres(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors (b, q + 2) of sentences with unit vectors (b, q)."""
        ones = np.ones((len(states), 1), dtype=np.float32)
        return np.hstack([states * np.float32(self.gain**0.5), ones, ones * np.float32(self.bias)])

    def contexts(
        self, left: NDArray[np.float32], right: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return vectors (b, q + 2) of contexts from the unit vectors of both sides."""
        ones = np.ones((len(left), 1), dtype=np.float32)
        return np.hstack([(left + right) * np.float32(self.gain**0.5), 0 * ones, ones])


def fit_weights(
    documents: ArrayLike, texts: ArrayLike, *, excluded: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Weights of all sentences in all contexts of a batch, for the binary cross-entropy.

    Sentence i fits context i. All other sentences are negatives; half of their weight is on
    sentences of the same document (all of it if there is only one kind). Positives and negatives
    have equal weight in total.

    Parameters
    ----------
    documents : array-like of int, shape (b,)
        Document of each sentence.
    texts : array-like of int, shape (b,)
        Numbers that are equal for equal texts, which are not negatives of each other.
    excluded : array-like of bool, shape (b, b), default=None
        Further pairs of contexts (rows) and sentences (columns) to leave out.

    Returns
    -------
    weights : ndarray of float64, shape (b, b)
        They sum to 1; 0 in rows without a negative.

    Examples
    --------
    >>> fit_weights([0, 0, 1], [0, 1, 2])[0].round(4).tolist()
    [0.1667, 0.0833, 0.0833]
    """
    documents, texts = np.asarray(documents), np.asarray(texts)
    allowed = texts[:, None] != texts
    if excluded is not None:
        allowed &= ~np.asarray(excluded)
    same = documents[:, None] == documents
    kinds = [(allowed & kind).astype(np.float64) for kind in (same, ~same)]
    shares = sum(kind / np.maximum(kind.sum(axis=1, keepdims=True), 1) for kind in kinds)
    total = np.asarray(shares).sum(axis=1, keepdims=True)
    has_negative = total[:, 0] > 0
    both = shares / np.maximum(total, 1) + np.diag(has_negative.astype(np.float64))
    return both / (2 * max(int(has_negative.sum()), 1))

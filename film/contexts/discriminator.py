"""The discriminator: how well a sentence fits its context, and its loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

GAIN = 5.0
"""Initial logit that a neighbour adds to a sentence with the same words."""


class Likeness(NamedTuple):
    """Logit that a sentence fits between two others, by how similar it is to them.

    With fixed vectors v of the three sentences, such as those of `spelling_states`, it is
    ``g <v_i, v_<i + v_>i> + d``. It is one product, ``<centre(v_i), left(v_<i) + right(v_>i)>``: so
    the vectors of sentences are computed once, and one product of matrices gives all sentences in
    all contexts.

    Parameters
    ----------
    gain : float, default=5
        The number g, at least 0.
    bias : float, default=-5
        The number d. Sentences without a word in common do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from film.contexts import Likeness
    >>> head, states = Likeness(), np.eye(3)
    >>> contexts = head.left(states[:1]) + head.right(states[1:2])
    >>> (head.centre(states) @ contexts.T).ravel().round(6).tolist()
    [0.0, 0.0, -5.0]
    """

    gain: float = GAIN
    bias: float = -GAIN

    def centre(self, states: NDArray[np.floating]) -> NDArray[np.floating]:
        """Vectors of centre sentences, (b, n + 2), from fixed vectors (b, n)."""
        return self._vectors(states, 1.0, self.bias)

    def left(self, states: NDArray[np.floating]) -> NDArray[np.floating]:
        """Vectors of left sentences."""
        return self._vectors(states, 0.0, 1.0)

    def right(self, states: NDArray[np.floating]) -> NDArray[np.floating]:
        """Vectors of right sentences."""
        return self._vectors(states, 0.0, 0.0)

    def _vectors(self, states: NDArray[np.floating], *ends: float) -> NDArray[np.floating]:
        columns = np.tile(np.asarray(ends, states.dtype), (len(states), 1))
        return np.hstack([states * states.dtype.type(self.gain**0.5), columns])


def fit_weights(
    documents: ArrayLike, texts: ArrayLike, *, excluded: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Weights of all centres of a batch in all its contexts, the true centres on the diagonal.

    True centres have half of the total weight, negatives the other half. In each row, half of the
    negatives' weight goes to centres of the same document and half to centres of other documents;
    if one kind is missing, all weight goes to the other (Section 3.2.1). A centre with the same
    text as the row's is never a negative.

    Parameters
    ----------
    documents : array-like of int, shape (B,)
        Document of each triple of sentences.
    texts : array-like of int, shape (B,)
        Code of the text of each triple's centre: equal texts, equal codes.
    excluded : array-like of bool, shape (B, B), default=None
        Further centres j that are not negatives of row i, such as sentences of context i itself.

    Returns
    -------
    weights : ndarray of float64, shape (B, B)
        They sum to 1. A row without a negative has no weight; without any negative, all are 0.

    Examples
    --------
    >>> (fit_weights([0, 0, 1], [5, 6, 7]) * 12).round(6)
    array([[2., 1., 1.],
           [1., 2., 1.],
           [1., 1., 2.]])
    """
    documents, texts = np.asarray(documents), np.asarray(texts)
    allowed = texts[:, np.newaxis] != texts
    if excluded is not None:
        allowed &= ~np.asarray(excluded)
    same = documents[:, np.newaxis] == documents
    parts = np.stack([allowed & same, allowed & ~same]).astype(float)
    shares = (parts / np.maximum(parts.sum(axis=2, keepdims=True), 1)).sum(axis=0)
    kinds = shares.sum(axis=1, keepdims=True)
    has_negative = kinds[:, 0] > 0
    n_rows = max(int(has_negative.sum()), 1)
    return (shares / np.maximum(kinds, 1) + np.diag(has_negative)) / (2 * n_rows)


def fit_loss(logits: NDArray[np.floating], weights: NDArray[np.floating]) -> float:
    """Weighted binary cross-entropy of all centres of a batch in all its contexts.

    Parameters
    ----------
    logits : ndarray of float, shape (B, B)
        Logit that centre j fits into context i: ``(left(l) + right(r)) @ centre(s).T``.
    weights : ndarray of float, shape (B, B)
        From `fit_weights`.

    Returns
    -------
    loss : float
        In nats; log 2 for logits of 0.

    Examples
    --------
    >>> import numpy as np
    >>> from film.contexts import fit_loss, fit_weights
    >>> weights = fit_weights([0, 1], [0, 1])
    >>> round(fit_loss(np.array([[9.0, -9.0], [-9.0, 9.0]]), weights), 4)
    0.0001
    """
    signs = 2 * np.eye(len(logits)) - 1
    return float((np.logaddexp(0, -signs * logits) * weights).sum())

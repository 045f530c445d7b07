"""Chunks: their tokens, their scores and their alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


def word_spans(words: Sequence[str]) -> NDArray[np.int64]:
    """Return the character span of each word in the sentence ``" ".join(words)``.

    Parameters
    ----------
    words : sequence of str, length n_words

    Returns
    -------
    spans : ndarray of int64, shape (n_words, 2)
        Start of each word and the position after its end.

    Examples
    --------
    >>> word_spans(["a", "cat"])
    array([[0, 1],
           [2, 5]])
    """
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1
    return np.column_stack([ends - lengths, ends])


def chunk_membership(
    chunks: Sequence[Sequence[int]], word_spans: ArrayLike, token_spans: ArrayLike
) -> NDArray[np.bool_]:
    """Find the tokens of each chunk: those that overlap one of its words.

    Parameters
    ----------
    chunks : sequence of sequences of int, length n_chunks
        Positions of the words of each chunk, from 0.
    word_spans : array-like of int, shape (n_words, 2)
        Start of each word and the position after its end, as returned by `word_spans`.
    token_spans : array-like of int, shape (n_tokens, 2)
        The same for each token of the same text. Special tokens have an empty span, such as
        (0, 0), and are in no chunk.

    Returns
    -------
    membership : ndarray of bool, shape (n_chunks, n_tokens)
        A token that crosses the boundary between two chunks is in both.

    Raises
    ------
    ValueError
        If spans do not have shape (n, 2) or end before they begin, or a chunk names a word that
        does not exist.

    Notes
    -----
    is_overlap of the CLRCMD paper, section 4.3. O(n_words n_tokens).

    Examples
    --------
    "unhappy cats" as [CLS] un ##happy cats [SEP], in two chunks:

    >>> token_spans = [(0, 0), (0, 2), (2, 7), (8, 12), (0, 0)]
    >>> chunk_membership([[0], [1]], word_spans(["unhappy", "cats"]), token_spans).astype(int)
    array([[0, 1, 1, 0, 0],
           [0, 0, 0, 1, 0]])
    """
    words, tokens = _spans("word_spans", word_spans), _spans("token_spans", token_spans)
    shared = (words[:, :1] < tokens[:, 1]) & (tokens[:, 0] < words[:, 1:])
    # An empty span strictly inside a word passes the comparison above.
    shared &= tokens[:, 0] < tokens[:, 1]
    membership = np.zeros((len(chunks), len(tokens)), dtype=bool)
    for row, chunk in zip(membership, chunks, strict=True):
        places = list(chunk)
        if any(not 0 <= place < len(words) for place in places):
            raise ValueError(
                f"chunks must hold positions of words from 0 to {len(words) - 1}, got {places}"
            )
        row[:] = shared[places].any(axis=0)
    return membership


def chunk_scores(
    contributions: ArrayLike,
    membership1: ArrayLike,
    membership2: ArrayLike,
    pooling: Literal["mean", "sum"] = "mean",
) -> NDArray[np.float64]:
    """Pool the contributions of token pairs over the chunks that contain them.

    With c₁(i) the tokens of chunk i, ``C_ij = Σ_{k∈c₁(i)} Σ_{l∈c₂(j)} contributions_kl``, divided
    by ``|c₁(i)| |c₂(j)|`` for the mean (CLRCMD paper, section 4.3, whose displayed equation writes
    T∘M for the contributions).

    Parameters
    ----------
    contributions : array-like of float, shape (n_tokens1, n_tokens2)
    membership1 : array-like of bool, shape (n_chunks1, n_tokens1)
    membership2 : array-like of bool, shape (n_chunks2, n_tokens2)
        From `chunk_membership`.
    pooling : {"mean", "sum"}, default="mean"
        "mean" follows the paper. "sum" favours long chunks; if the chunks cover each token once,
        its scores sum to the similarity minus the contributions of special tokens.

    Returns
    -------
    scores : ndarray of float64, shape (n_chunks1, n_chunks2)
        0 for a chunk without tokens, for example after truncation.

    Raises
    ------
    ValueError
        If shapes do not fit, contributions contain NaN or infinity, or pooling is unknown.

    Examples
    --------
    >>> chunk_scores([[0.2, 0.0], [0.1, 0.3]], [[True, True]], [[True, False], [False, True]])
    array([[0.15, 0.15]])
    """
    if pooling not in ("mean", "sum"):
        raise ValueError(f"pooling must be 'mean' or 'sum', got {pooling!r}")
    shares = np.asarray(contributions, dtype=np.float64)
    members1, members2 = np.asarray(membership1, dtype=bool), np.asarray(membership2, dtype=bool)
    for name, members in (("membership1", members1), ("membership2", members2)):
        if members.ndim != 2:
            raise ValueError(f"{name} must have shape (n_chunks, n_tokens), got {members.shape}")
    expected = (members1.shape[1], members2.shape[1])
    if shares.shape != expected:
        raise ValueError(
            f"contributions must have shape {expected}, one row per token of membership1 and one "
            f"column per token of membership2, got {shares.shape}"
        )
    if not np.isfinite(shares).all():
        raise ValueError("contributions hold NaN or infinity; compute them from finite features")
    totals = members1.astype(np.float64) @ shares @ members2.T.astype(np.float64)
    if pooling == "sum":
        return totals
    sizes = np.outer(members1.sum(axis=1), members2.sum(axis=1))
    return totals / np.maximum(sizes, 1)


def chunk_cosines(
    x1: ArrayLike, x2: ArrayLike, membership1: ArrayLike, membership2: ArrayLike
) -> NDArray[np.float64]:
    """Compare chunks by the cosine of their summed token vectors.

    A preposition in a chunk lowers this cosine less than it lowers the mean of `chunk_scores`, and
    a chunk without a partner gets no large score.

    Parameters
    ----------
    x1, x2 : array-like of float, shapes (n_tokens1, h) and (n_tokens2, h)
        Contextual token vectors of both texts.
    membership1, membership2 : array-like of bool, shapes (c1, n_tokens1) and (c2, n_tokens2)
        From `chunk_membership`.

    Returns
    -------
    cosines : ndarray of float64, shape (c1, c2)
        0 for a chunk without tokens or whose vectors sum to zero.

    Raises
    ------
    ValueError
        If shapes do not fit or a vector is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> chunk_cosines(np.eye(2), [[3.0, 3.0]], [[True, True], [True, False]], [[True]]).round(3)
    array([[1.   ],
           [0.707]])
    """
    chunks1 = _chunk_vectors("1", x1, membership1)
    chunks2 = _chunk_vectors("2", x2, membership2)
    if chunks1.shape[1] != chunks2.shape[1]:
        raise ValueError(
            f"x1 and x2 must have the same width, got {chunks1.shape[1]} and {chunks2.shape[1]}"
        )
    return chunks1 @ chunks2.T


def _chunk_vectors(side: str, x: ArrayLike, membership: ArrayLike) -> NDArray[np.float64]:
    """Sum the vectors of each chunk and scale the sums to unit length."""
    vectors, members = checked_tokens(side, x, membership)
    return unit_rows(members.astype(np.float64) @ vectors)


def checked_tokens(
    side: str, x: ArrayLike, membership: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Check the token vectors and membership of one side and return them as arrays."""
    vectors, members = np.asarray(x, dtype=np.float64), np.asarray(membership, dtype=bool)
    if vectors.ndim != 2 or members.ndim != 2 or members.shape[1] != len(vectors):
        raise ValueError(
            f"x{side} must have shape (n_tokens, h) and membership{side} (n_chunks, n_tokens), got "
            f"{vectors.shape} and {members.shape}"
        )
    if not np.isfinite(vectors).all():
        raise ValueError(f"x{side} holds NaN or infinity; encode that text again")
    return vectors, members


def unit_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale rows to unit length; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


def with_neighbours(scores: ArrayLike, share: float = 0.1) -> NDArray[np.float64]:
    """Add a fraction of the neighbouring chunks' scores to each chunk score.

    ``C'_ij = C_ij + share · (C_{i-1,j-1} + C_{i+1,j+1}) / 2``, where neighbours outside the text
    count as 0. Texts with the same meaning mostly have the same order, so two chunks between
    aligned chunks probably correspond even if their words differ.

    Parameters
    ----------
    scores : array-like of float, shape (n_chunks1, n_chunks2)
        Chunk scores, such as those of `chunk_cosines`, in text order.
    share : float, default=0.1
        At least 0; 0 leaves the scores unchanged.

    Returns
    -------
    supported : ndarray of float64, shape (n_chunks1, n_chunks2)
        A new array.

    Raises
    ------
    ValueError
        If scores are not two-dimensional or not finite, or share is negative or not finite.

    Examples
    --------
    >>> with_neighbours([[0.9, 0.1, 0.0], [0.2, 0.3, 0.1], [0.0, 0.1, 0.7]], share=0.5).round(3)
    array([[0.975, 0.125, 0.   ],
           [0.225, 0.7  , 0.125],
           [0.   , 0.15 , 0.775]])
    """
    table = np.array(scores, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(
            f"scores must have shape (n_chunks1, n_chunks2) and be finite, got shape {table.shape}"
        )
    if not 0 <= share < np.inf:
        raise ValueError(f"share must be finite and at least 0, got {share!r}")
    supported = table.copy()
    supported[1:, 1:] += share / 2 * table[:-1, :-1]
    supported[:-1, :-1] += share / 2 * table[1:, 1:]
    return supported


def mutual_maxima(scores: ArrayLike, above: float = 0.0) -> list[tuple[int, int]]:
    """Align chunks that are each other's best match and score above a limit.

    ``a(i, j) = [j = argmax_j′ C_ij′] [i = argmax_i′ C_i′j]`` (CLRCMD paper, section 4.3), with the
    added condition C_ij > above.

    Parameters
    ----------
    scores : array-like of float, shape (n_chunks1, n_chunks2)
    above : float, default=0.0
        Scores must exceed this limit.

    Returns
    -------
    aligned : list of (int, int)
        Pairs of a row and a column, in row order. Each row and column occurs at most once; ties go
        to the first.

    Raises
    ------
    ValueError
        If scores are not two-dimensional or contain NaN.

    Examples
    --------
    >>> mutual_maxima([[0.9, 0.8, 0.0], [0.7, 0.1, 0.2], [-0.3, -0.2, -0.1]])
    [(0, 0)]
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or np.isnan(table).any():
        raise ValueError(
            f"scores must have shape (n_chunks1, n_chunks2) without NaN, got shape {table.shape}"
        )
    if not table.size:
        return []
    best_column, best_row = table.argmax(axis=1), table.argmax(axis=0)
    rows = np.arange(len(table))
    mutual = (best_row[best_column] == rows) & (table[rows, best_column] > above)
    return [(int(row), int(best_column[row])) for row in np.flatnonzero(mutual)]


def _spans(name: str, spans: Any) -> NDArray[np.int64]:
    array = np.asarray(spans)
    if array.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be integers of shape (n, 2), got {array.dtype} of shape {array.shape}"
        )
    if (array[:, 0] > array[:, 1]).any() or (array < 0).any():
        raise ValueError(f"{name} must begin at 0 or later and not end before they begin")
    return array.astype(np.int64)

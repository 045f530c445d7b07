"""Chunks: their tokens, their scores and their alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

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
    words, tokens = (np.reshape(spans, (-1, 2)) for spans in (word_spans, token_spans))
    shared = (words[:, :1] < tokens[:, 1]) & (tokens[:, 0] < words[:, 1:])
    # An empty span strictly inside a word passes the comparison above.
    shared &= tokens[:, 0] < tokens[:, 1]
    membership = np.zeros((len(chunks), len(tokens)), dtype=bool)
    for row, chunk in zip(membership, chunks, strict=True):
        row[:] = shared[list(map(int, chunk))].any(axis=0)
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
        If pooling is unknown.

    Examples
    --------
    >>> chunk_scores([[0.2, 0.0], [0.1, 0.3]], [[True, True]], [[True, False], [False, True]])
    array([[0.15, 0.15]])
    """
    if pooling not in ("mean", "sum"):
        raise ValueError(f"pooling must be 'mean' or 'sum', got {pooling!r}")
    shares = np.asarray(contributions, dtype=np.float64)
    members1, members2 = np.asarray(membership1, dtype=bool), np.asarray(membership2, dtype=bool)
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

    Examples
    --------
    >>> import numpy as np
    >>> chunk_cosines(np.eye(2), [[3.0, 3.0]], [[True, True], [True, False]], [[True]]).round(3)
    array([[1.   ],
           [0.707]])
    """
    chunks1, chunks2 = (
        unit_rows(np.asarray(membership, dtype=np.float64) @ np.asarray(x, dtype=np.float64))
        for membership, x in ((membership1, x1), (membership2, x2))
    )
    return chunks1 @ chunks2.T


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

    Examples
    --------
    >>> with_neighbours([[0.9, 0.1, 0.0], [0.2, 0.3, 0.1], [0.0, 0.1, 0.7]], share=0.5).round(3)
    array([[0.975, 0.125, 0.   ],
           [0.225, 0.7  , 0.125],
           [0.   , 0.15 , 0.775]])
    """
    table = np.array(scores, dtype=np.float64)
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

    Examples
    --------
    >>> mutual_maxima([[0.9, 0.8, 0.0], [0.7, 0.1, 0.2], [-0.3, -0.2, -0.1]])
    [(0, 0)]
    """
    table = np.asarray(scores, dtype=np.float64)
    if not table.size:
        return []
    best_column, best_row = table.argmax(axis=1), table.argmax(axis=0)
    rows = np.arange(len(table))
    mutual = (best_row[best_column] == rows) & (table[rows, best_column] > above)
    return [(int(row), int(best_column[row])) for row in np.flatnonzero(mutual)]


def joined_chunks(
    x1: ArrayLike,
    x2: ArrayLike,
    membership1: ArrayLike,
    membership2: ArrayLike,
    scores: ArrayLike,
    aligned: Sequence[tuple[int, int]],
    above: float = 0.0,
    gain: float = 0.5,
) -> list[tuple[int, int]]:
    """Align unaligned chunks with a chunk that already has a partner.

    "Terminals 1 and 6" corresponds to "terminal 1" and to "to terminal 6", but `mutual_maxima`
    allows only one partner. With s_kl the cosine of tokens k and l, an unaligned chunk j joins the
    chunk i that scores highest with it if i has a partner p, ``C_ij > above`` and j covers part of
    i better than p does: ``Σ_{k∈i} max(0, max_{l∈j} s_kl − max_{l∈p} s_kl) > gain``. The rule is
    symmetric in the two texts.

    Parameters
    ----------
    x1, x2 : array-like of float, shapes (n_tokens1, h) and (n_tokens2, h)
        Contextual token vectors of both texts.
    membership1, membership2 : array-like of bool, shapes (c1, n_tokens1) and (c2, n_tokens2)
        From `chunk_membership`.
    scores : array-like of float, shape (c1, c2)
        Chunk scores, such as those of `chunk_cosines` or `with_neighbours`.
    aligned : sequence of (int, int)
        Partners, each chunk at most once, such as those of `mutual_maxima`.
    above : float, default=0.0
        Scores must exceed this limit.
    gain : float, default=0.5
        Minimum improvement, in tokens: a token that the partner does not cover (cosine 0) and the
        unaligned chunk repeats (cosine 1) counts 1.

    Returns
    -------
    joined : list of (int, int)
        New pairs of a row and a column, in order. Each unaligned chunk is in at most one pair. Ties
        go to the first chunk.

    Notes
    -----
    This rule is not from a paper. O(h n_tokens1 n_tokens2), plus the chunks.

    Examples
    --------
    The first chunk has two tokens; each chunk of the second text covers one.

    >>> import numpy as np
    >>> from film.tokens import chunk_cosines, mutual_maxima
    >>> x1, x2 = np.eye(2), np.eye(2)
    >>> whole, parts = [[True, True]], [[True, False], [False, True]]
    >>> scores = chunk_cosines(x1, x2, whole, parts)
    >>> joined_chunks(x1, x2, whole, parts, scores, mutual_maxima(scores))
    [(0, 1)]
    """
    vectors1, vectors2, table = (np.asarray(each, dtype=np.float64) for each in (x1, x2, scores))
    members1, members2 = np.asarray(membership1, dtype=bool), np.asarray(membership2, dtype=bool)
    cosines = unit_rows(vectors1) @ unit_rows(vectors2).T
    partners = dict(aligned)
    turned = {j: i for i, j in partners.items()}
    found = _joins(cosines, members1, members2, table, partners, above, gain)
    found_turned = _joins(cosines.T, members2, members1, table.T, turned, above, gain)
    return sorted([*found, *((i, j) for j, i in found_turned)])


def _joins(
    cosines: NDArray[np.float64],
    members1: NDArray[np.bool_],
    members2: NDArray[np.bool_],
    scores: NDArray[np.float64],
    partners: dict[int, int],
    above: float,
    gain: float,
) -> list[tuple[int, int]]:
    """Pair aligned rows with unaligned columns that cover part of the row better."""
    joined = []
    for column in sorted(set(range(len(members2))) - set(partners.values())):
        row = int(scores[:, column].argmax()) if len(scores) else -1
        if row not in partners or not scores[row, column] > above:
            continue
        # A chunk without tokens has the lowest possible cosines.
        said, said_by_partner = (
            cosines[np.ix_(members1[row], members2[chunk])].max(axis=1, initial=-1.0)
            for chunk in (column, partners[row])
        )
        if np.maximum(said - said_by_partner, 0.0).sum() > gain:
            joined.append((row, column))
    return joined

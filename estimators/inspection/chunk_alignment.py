"""Alignment of the chunks of two texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inspection.printable import printable_text
from film.tokens import chunk_membership, mutual_maxima

_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class ChunkAlignment:
    """Scores between the chunks of two texts, and the aligned pairs.

    Returned by `Explanation.chunks` and `RCMDRegressor.align`.

    Parameters
    ----------
    chunks1, chunks2 : list of str
        Texts of the chunks, n1 and n2 of them.
    scores : array-like of float, shape (n1, n2)
        Contribution of each pair of chunks to the similarity, or its own similarity.
    above : float, default=0.0
        Chunks align only if their score is above this.
    joined : list of (int, int), default=[]
        Further aligned pairs, for instance from `film.tokens.joined_chunks`.

    Attributes
    ----------
    scores : ndarray of float64
        The parameter as an array; the others are stored unchanged.

    Raises
    ------
    ValueError
        If `scores` does not have shape (n1, n2) or is not finite, or `joined` holds a position
        out of range.

    Examples
    --------
    >>> from estimators.inspection import ChunkAlignment
    >>> aligned = ChunkAlignment(
    ...     chunks1=["A man", "sings"], chunks2=["Someone"], scores=[[0.2], [0.1]]
    ... )
    >>> aligned.pairs
    [(0, 0)]
    >>> print(aligned)
    +0.2000  A man ~ Someone
    not aligned in 1: sings
    """

    chunks1: list[str]
    chunks2: list[str]
    scores: Any
    above: float = 0.0
    joined: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Check the scores and the joined pairs."""
        shape = (len(self.chunks1), len(self.chunks2))
        scores = np.asarray(self.scores, dtype=np.float64)
        # An empty list has no number of columns.
        if scores.size == 0 == shape[0] * shape[1]:
            scores = scores.reshape(shape)
        if scores.shape != shape or not np.isfinite(scores).all():
            raise ValueError(
                f"scores must be finite and have shape {shape}, chunks1 by chunks2, got shape "
                f"{scores.shape}"
            )
        if not all(0 <= i < shape[0] and 0 <= j < shape[1] for i, j in self.joined):
            raise ValueError(
                f"joined must hold positions of {shape[0]} and {shape[1]} chunks, got {self.joined}"
            )
        object.__setattr__(self, "scores", scores)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Aligned chunks as sorted positions (i, j).

        These are the mutual best matches with a score above the limit, and the joined pairs.
        """
        return sorted({*mutual_maxima(self.scores, above=self.above), *self.joined})

    def to_dict(self) -> dict[str, Any]:
        """Return lists, strings and numbers that JSON can hold.

        Returns
        -------
        data : dict
            Keys "chunks1", "chunks2", "scores" and "pairs", whose items are lists of two.
        """
        return {
            "chunks1": list(self.chunks1),
            "chunks2": list(self.chunks2),
            "scores": self.scores.tolist(),
            "pairs": [list(pair) for pair in self.pairs],
        }

    def __str__(self) -> str:
        names1, names2 = (
            [printable_text(chunk, _SHOWN_CHARACTERS) for chunk in chunks]
            for chunks in (self.chunks1, self.chunks2)
        )
        lines = [f"{self.scores[i, j]:+.4f}  {names1[i]} ~ {names2[j]}" for i, j in self.pairs]
        for side, names in enumerate((names1, names2)):
            aligned = {pair[side] for pair in self.pairs}
            left = [name for place, name in enumerate(names) if place not in aligned]
            if left:
                lines.append(f"not aligned in {side + 1}: {' | '.join(left)}")
        return "\n".join(lines)


def find_chunks(
    name: str, chunks: Any, text: str, token_spans: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.bool_]]:
    """Return the text of each chunk and a mask of its tokens, shape (n_chunks, n_tokens).

    `Explanation.chunks` describes valid chunks and how strings are located.
    """
    if isinstance(chunks, str):
        raise TypeError(f"{name} is one string; give a list of chunks, such as ['A man', 'sings'].")
    spans: list[tuple[int, int]] = []
    members: list[range] = []
    taken = np.zeros(len(text), dtype=bool)
    begin = 0
    for position, chunk in enumerate(chunks):
        title = f"{name}[{position}]"
        first, after = len(spans), begin
        for piece in _pieces(title, chunk):
            if isinstance(piece, str):
                span = _find(title, piece, after, text, taken, token_spans)
            else:
                span = _checked_span(title, piece, text)
            spans.append(span)
            taken[slice(*span)] = True
            after = span[1]
        begin = spans[first][1]
        members.append(range(first, len(spans)))
    texts = [" … ".join(text[slice(*spans[i])] for i in chunk) for chunk in members]
    return texts, chunk_membership(members, spans, token_spans)


def _pieces(title: str, chunk: Any) -> list[str | tuple[int, int]]:
    """Return the strings and pairs of integers that a chunk consists of."""
    if whole := _piece(chunk):
        return whole
    parts = chunk if isinstance(chunk, (Sequence, np.ndarray)) else ()
    pieces = [_piece(part) for part in parts]
    if not pieces or not all(pieces):
        raise TypeError(
            f"{title} is {chunk!r}; give a string of the text, a pair (start, end) of characters, "
            "or a list of those for a chunk with gaps."
        )
    return [part for piece in pieces for part in piece]


def _piece(value: Any) -> list[str | tuple[int, int]]:
    """Wrap a string or a pair of integers in a list; return an empty list for anything else."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (Sequence, np.ndarray)) and len(value) == 2:
        start, end = value
        if isinstance(start, Integral) and isinstance(end, Integral):
            return [(int(start), int(end))]
    return []


def _checked_span(title: str, span: tuple[int, int], text: str) -> tuple[int, int]:
    start, end = span
    if not 0 <= start < end <= len(text):
        raise ValueError(
            f"{title} has {span}, but the text has {len(text)} characters: give 0 <= start < end "
            "<= length."
        )
    return span


def _find(
    title: str,
    piece: str,
    after: int,
    text: str,
    taken: NDArray[np.bool_],
    token_spans: NDArray[np.int64],
) -> tuple[int, int]:
    if not piece.strip():
        raise ValueError(f"{title} has {piece!r}, which is blank: give non-blank text.")
    size = len(piece)
    places = [match.start() for match in re.finditer(f"(?={re.escape(piece)})", text)]
    free = [(at, at + size) for at in places if at >= after and not taken[at : at + size].any()]
    for span in free:
        if not any(_inside_word(text, edge) for edge in span):
            return span
    for span in free:
        if not any(_inside_token(text, edge, token_spans) for edge in span):
            return span
    raise ValueError(
        f"{title} has {piece!r}, which is not in the text after character {after} "
        f"(text: {printable_text(text, _SHOWN_CHARACTERS)!r}): give chunks in the order and "
        "spelling of the text, made of whole words, or pairs (start, end) of characters."
    )


def _inside_word(text: str, edge: int) -> bool:
    return bool(re.match(r"\w\w", text[max(edge - 1, 0) : edge + 1]))


def _inside_token(text: str, edge: int, token_spans: NDArray[np.int64]) -> bool:
    # Some tokenisers include the preceding blank in a token.
    return any(text[start:edge].strip() and text[edge:end].strip() for start, end in token_spans)

"""Contribution of each pair of tokens to the similarity of two texts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from estimators.inputs import check_integer
from estimators.inspection.chunk_alignment import ChunkAlignment, find_chunks
from estimators.inspection.explanation_checks import as_mapping, checked_parts
from estimators.inspection.pages.fragment import explanation_html
from estimators.inspection.printable import printable_text
from film.tokens import chunk_scores

_SHOWN_PAIRS = 10
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Explanation:
    """Contribution of each pair of tokens to the similarity of two texts.

    Parameters
    ----------
    text1, text2 : str
        The two texts.
    tokens1, tokens2 : list of str
        Their tokens, t1 and t2 of them, including special tokens.
    offsets1, offsets2 : array-like of int, shapes (t1, 2) and (t2, 2)
        Position of the first character of each token, and of the character after its last; (0, 0)
        for special tokens.
    contributions : array-like or sparse array of float, shape (t1, t2)
        Contributions to the similarity, which is their sum; may be negative. For long texts, pass
        only the largest, as a sparse array with ``n_rest`` and both totals.
    similarity : float
        The estimator's raw similarity.
    special1, special2 : array-like of bool, shapes (t1,) and (t2,), optional
        Tokens that are not part of the text, such as [CLS]. Displays leave them out and state
        what they contribute. By default there are none.
    title : str, default=""
        Heading, for instance the name of the estimator.
    n_rest : int, default=0
        Number of small contributions that are left out.
    totals1, totals2 : array-like of float, shapes (t1,) and (t2,), optional
        Sum of all contributions of each token, including those left out. They are computed if
        nothing is left out.
    unknown1, unknown2 : array-like of bool, shapes (t1,) and (t2,), optional
        Tokens unknown to the model, which it cannot tell apart. By default there are none.

    Attributes
    ----------
    offsets1, offsets2, contributions, totals1, totals2, special1, special2, unknown1, unknown2
        The parameters as arrays, sparse contributions as a csr_array; the others are stored
        unchanged.

    Raises
    ------
    TypeError
        If texts, tokens or title are not strings.
    ValueError
        If a shape or dtype does not fit, an offset lies outside its text, a number is not finite,
        or the sum of the contributions (the totals, if some are left out) differs from the
        similarity by more than 1e-6.

    See Also
    --------
    explain_words : Explanations for a linear embedder.

    Notes
    -----
    This explains the similarity, not a probability derived from it. To change the title, use
    ``dataclasses.replace``.

    Examples
    --------
    >>> from estimators.inspection import Explanation
    >>> explanation = Explanation(
    ...     text1="Hi you",
    ...     text2="Hello",
    ...     tokens1=["[CLS]", "Hi", "you"],
    ...     tokens2=["[CLS]", "Hello"],
    ...     offsets1=[(0, 0), (0, 2), (3, 6)],
    ...     offsets2=[(0, 0), (0, 5)],
    ...     contributions=[[0.1, 0.0], [0.0, 0.5], [0.0, -0.2]],
    ...     similarity=0.4,
    ...     special1=[True, False, False],
    ...     special2=[True, False],
    ... )
    >>> explanation.top(1)
    [('Hi', 'Hello', 0.5)]
    >>> print(explanation)
    similarity 0.4000
    1: Hi you
    2: Hello
      +0.5000  Hi ~ Hello
      -0.2000  you ~ Hello
      +0.1000  special tokens
    """

    text1: str
    text2: str
    tokens1: list[str]
    tokens2: list[str]
    offsets1: Any
    offsets2: Any
    contributions: Any
    similarity: float
    special1: Any = None
    special2: Any = None
    title: str = ""
    n_rest: int = 0
    totals1: Any = None
    totals2: Any = None
    unknown1: Any = None
    unknown2: Any = None

    def __post_init__(self) -> None:
        for name, value in checked_parts(vars(self)).items():
            object.__setattr__(self, name, value)

    @property
    def rest(self) -> float:
        """Sum of the contributions that are left out; 0 if there are none."""
        return self.similarity - float(self.contributions.sum()) if self.n_rest else 0.0

    @property
    def truncation(self) -> str:
        """Sentence about the contributions that are left out, or an empty string."""
        if not self.n_rest:
            return ""
        kept = int(sp.coo_array(self.contributions).count_nonzero())
        held = float(self.contributions.sum())
        share = f" ({held / self.similarity:.0%})" if self.similarity else ""
        return (
            f"Only the {kept:,} largest of {kept + self.n_rest:,} word pairs are kept: they add "
            f"{held:+.3f} to the similarity of {self.similarity:.3f}{share}, all others together "
            f"{self.rest:+.3f}."
        )

    @property
    def unknown_note(self) -> str:
        """Sentence with the number of unknown tokens, or an empty string."""
        counts = [
            f"{int(unknown.sum()):,} of {int((~special).sum()):,} in text {side}"
            for side, unknown, special in (
                (1, self.unknown1, self.special1),
                (2, self.unknown2, self.special2),
            )
            if unknown.any()
        ]
        if not counts:
            return ""
        return f"Tokens unknown to the model, which it cannot tell apart: {', '.join(counts)}."

    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the contributions as a heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure that grows with the number of tokens.
        **kwargs
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        ax : matplotlib Axes
            With the heat map as its image and a colour scale beside it.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Notes
        -----
        Blue adds to the similarity, red reduces it. Special tokens are not drawn, nor are others
        than the 60 with the largest contributions of a longer text; lines below state the sums.
        Letters missing from the current font come from another installed font (Noto or a system
        font); if none has them, matplotlib warns and draws boxes.
        """
        from estimators.inspection.displays.alignment import plot_contributions

        return plot_contributions(self, ax, **kwargs)

    def top(self, n: int = 10) -> list[tuple[str, str, float]]:
        """Pairs of tokens with the largest contributions, positive or negative.

        Parameters
        ----------
        n : int, default=10
            Maximal number of pairs.

        Returns
        -------
        pairs : list of (str, str, float)
            Token of each text and contribution, by decreasing absolute value; ties in the order of
            the texts. Special tokens and pairs without a contribution are left out.
        """
        check_integer("n", n, 1)
        entries = self._entries()
        order = np.argsort(-np.abs(entries.data), kind="stable")[:n]
        return [
            (self.tokens1[i], self.tokens2[j], float(value))
            for i, j, value in zip(
                entries.row[order], entries.col[order], entries.data[order], strict=True
            )
        ]

    def chunks(
        self, chunks1: Any, chunks2: Any, pooling: Literal["mean", "sum"] = "mean"
    ) -> ChunkAlignment:
        """Score each chunk of the first text against each chunk of the second, and align them.

        Parameters
        ----------
        chunks1, chunks2 : list of str or of (int, int), lengths n1 and n2
            Chunks of each text: strings, in the order and spelling of the text, or pairs of the
            position of the first character and of the character after the last. A chunk with gaps
            is a list of these.
        pooling : {"mean", "sum"}, default="mean"
            How to pool the contributions of the tokens of both chunks. The paper uses the mean.
            Sums favour long chunks; if the chunks cover every token once, they add up to the
            similarity without the special tokens.

        Returns
        -------
        aligned : ChunkAlignment
            With `scores` of shape (n1, n2) and `pairs`, the mutual best matches. A chunk without
            tokens, for instance in a truncated part of the text, has score 0.

        Raises
        ------
        TypeError
            If a chunk is not a string, a pair of integers or a list of these.
        ValueError
            If a chunk is blank or not in the text, `pooling` is unknown, or contributions are
            left out.

        See Also
        --------
        film.tokens.chunks : The scores and the alignment.

        Notes
        -----
        CLRCMD paper, section 4.3. A token belongs to every chunk that shares a character with it;
        special tokens belong to no chunk. A string matches its first occurrence as whole words
        after the start of the previous chunk that overlaps no previous chunk. Without such an
        occurrence, as in scripts without blanks, it matches the first that cuts no token.

        Examples
        --------
        >>> from estimators.inspection import Explanation
        >>> explanation = Explanation(
        ...     text1="a cat sleeps",
        ...     text2="cats doze",
        ...     tokens1=["a", "cat", "sleeps"],
        ...     tokens2=["cats", "doze"],
        ...     offsets1=[(0, 1), (2, 5), (6, 12)],
        ...     offsets2=[(0, 4), (5, 9)],
        ...     contributions=[[0.1, 0.0], [0.5, 0.0], [0.0, 0.2]],
        ...     similarity=0.8,
        ... )
        >>> print(explanation.chunks(["a cat", "sleeps"], [(0, 4), (5, 9)]))
        +0.3000  a cat ~ cats
        +0.2000  sleeps ~ doze
        """
        if self.n_rest:
            raise ValueError(
                f"{self.n_rest} contributions are left out, so chunks cannot be scored: keep all "
                "of them, for instance by explain_words(embedder, pairs, "
                f"keep={len(self.tokens1) * len(self.tokens2)})."
            )
        tokens1 = np.where(self.special1[:, None], 0, self.offsets1)
        tokens2 = np.where(self.special2[:, None], 0, self.offsets2)
        texts1, members1 = find_chunks("chunks1", chunks1, self.text1, tokens1)
        texts2, members2 = find_chunks("chunks2", chunks2, self.text2, tokens2)
        shares = self.contributions
        matrix = shares.toarray() if sp.issparse(shares) else shares
        scores = chunk_scores(matrix, members1, members2, pooling)
        return ChunkAlignment(chunks1=texts1, chunks2=texts2, scores=scores)

    @property
    def special_contribution(self) -> float:
        """Sum of the contributions that involve a special token."""
        if not (self.special1.any() or self.special2.any()):
            return 0.0
        return float(self.contributions.sum() - self._entries().data.sum())

    def to_html(self, standalone: bool = False) -> str:
        """Return both texts as HTML; pointing at a word highlights its partners.

        Parameters
        ----------
        standalone : bool, default=False
            Whether to return a whole page instead of a fragment.

        Returns
        -------
        html : str
            HTML without external resources; all texts are escaped. A page can hold any number of
            fragments. Without scripts, words keep their shades and list their partners in a
            tooltip.
        """
        return explanation_html(self, standalone)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_dict(self) -> dict[str, Any]:
        """Return lists, strings and numbers that JSON can hold.

        Returns
        -------
        data : dict
            Keys are the parameters, so that ``Explanation(**data)`` is the same again. Sparse
            contributions become a dictionary of
            ``shape``, ``rows``, ``columns`` and ``values``, others a list of rows.
        """
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        if sp.issparse(self.contributions):
            data["contributions"] = as_mapping(self.contributions)
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in data.items()
        }

    def __repr__(self) -> str:
        return (
            f"<Explanation similarity={self.similarity:.4f}, {len(self.tokens1)} x "
            f"{len(self.tokens2)} tokens, text1={printable_text(self.text1, 40)!r}, "
            f"text2={printable_text(self.text2, 40)!r}>"
        )

    def __str__(self) -> str:
        heading = f"{printable_text(self.title, _SHOWN_CHARACTERS)}: " if self.title else ""
        lines = [
            f"{heading}similarity {self.similarity:.4f}",
            f"1: {printable_text(self.text1, _SHOWN_CHARACTERS)}",
            f"2: {printable_text(self.text2, _SHOWN_CHARACTERS)}",
        ]
        shown = self.top(_SHOWN_PAIRS)
        for token1, token2, value in shown:
            names = [printable_text(token, _SHOWN_CHARACTERS) for token in (token1, token2)]
            lines.append(f"  {value:+.4f}  {' ~ '.join(names)}")
        entries = self._entries()
        others = int(np.count_nonzero(entries.data)) - len(shown) + self.n_rest
        if others:
            rest = entries.data.sum() - sum(value for _, _, value in shown) + self.rest
            lines.append(f"  {rest:+.4f}  {others:,} other pair{'s' * (others > 1)}")
        if self.special1.any() or self.special2.any():
            lines.append(f"  {self.special_contribution:+.4f}  special tokens")
        if self.n_rest:
            lines.append(self.truncation)
        if self.unknown_note:
            lines.append(self.unknown_note)
        return "\n".join(lines)

    def _entries(self) -> Any:
        """Nonzero contributions of pairs of ordinary tokens, in the order of the texts."""
        entries = sp.coo_array(self.contributions)
        ordinary = ~(self.special1[entries.row] | self.special2[entries.col]) & (entries.data != 0)
        order = np.flatnonzero(ordinary)
        order = order[np.lexsort((entries.col[order], entries.row[order]))]
        places = (entries.row[order], entries.col[order])
        return sp.coo_array((entries.data[order], places), shape=entries.shape)


def token_side(side: int, text: str, tokens: Any, encoder: Any) -> dict[str, Any]:
    """Return the parameters of an `Explanation` for one text, from its encoded tokens.

    Parameters
    ----------
    side : {1, 2}
        Which of both texts it is.
    text : str
        The text.
    tokens : Ragged
        Its tokens alone, from ``encoder``.
    encoder : TokenEncoder or TokenFILM
        Fitted.

    Returns
    -------
    parameters : dict
        Text, tokens, offsets and masks. Tokens are spelled as in the text; those without characters
        as in the vocabulary.
    """
    spans, names = np.asarray(tokens.spans).reshape(-1, 2), encoder.token_names(tokens.ids)
    spelled = [text[a:b] or name for (a, b), name in zip(spans.tolist(), names, strict=True)]
    return {
        f"text{side}": text,
        f"tokens{side}": spelled,
        f"offsets{side}": spans,
        f"special{side}": np.asarray(tokens.is_special),
        f"unknown{side}": encoder.loaded().is_unknown(tokens.ids),
    }

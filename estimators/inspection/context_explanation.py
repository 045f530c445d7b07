"""Contribution of each context to the similarity of two texts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs import check_integer
from estimators.inspection.explanation_checks import checked_context_parts
from estimators.inspection.pages.contexts import contexts_html
from estimators.inspection.printable import printable_text
from film.contexts import TERMS, combine_terms

_SHOWN_CONTEXTS = 5
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ContextExplanation:
    """Contribution of each context to the similarity of two texts.

    A context is the sentence before a gap and the sentence after it. Each text has a score in each
    context, which measures how well it fits the gap. The similarity is the cosine of the two score
    vectors, centred where the estimator centres them (contexts paper, Eq. 3 and 4).

    Parameters
    ----------
    text1, text2 : str
        The two texts.
    contexts : list of (str, str)
        Sentences before and after the gap of each context, n of them.
    rows : array-like of int, shape (n,)
        Row of the corpus sentence removed from each gap.
    chosen1, chosen2 : array-like of bool, shape (n,)
        Whether a context was chosen for the first text, and for the second.
    terms1, terms2 : array-like of float, shape (n, 4)
        Terms of Eq. 3 for each text: log-probability that the text fits the context
        ("discriminator"), and mean log-probability per token of the text in the context
        ("sentence"), of the sentence before the gap ("left") and of the sentence after it
        ("right").
    weights : array-like of float, shape (4,)
        λ of Eq. 3.
    contributions : array-like of float, shape (n,)
        Shares of the similarity; may be negative.
    similarity : float
        The estimator's raw similarity: the sum of the contributions and ``rest``.
    title : str, default=""
        Heading, for instance the name of the estimator.
    n_rest : int, default=0
        Number of contexts left out because they contribute little.
    rest : float, default=0.0
        Sum of their contributions. It is 0 if ``n_rest`` is 0, except for two equal texts without
        contexts, whose similarity is 1.

    Attributes
    ----------
    rows, chosen1, chosen2, terms1, terms2, weights, contributions
        The parameters as arrays; the others are stored unchanged.

    Raises
    ------
    TypeError
        If a text or title is not a string.
    ValueError
        If a shape or dtype does not fit, a number is not finite, or the sum of the contributions
        and ``rest`` differs from the similarity by more than 1e-6.

    See Also
    --------
    Explanation : Contributions of pairs of tokens.

    Examples
    --------
    >>> from estimators.inspection import ContextExplanation
    >>> explanation = ContextExplanation(
    ...     text1="He sang.",
    ...     text2="He slept.",
    ...     contexts=[("He took the guitar.", "All clapped."), ("It was late.", "He woke up.")],
    ...     rows=[7, 12],
    ...     chosen1=[True, False],
    ...     chosen2=[False, True],
    ...     terms1=[[-0.1, -2.0, -3.0, -2.0], [-1.0, -4.0, -3.0, -2.5]],
    ...     terms2=[[-0.9, -3.0, -3.5, -3.0], [-0.2, -2.0, -2.5, -2.0]],
    ...     weights=[1, 1, 1, 1],
    ...     contributions=[-0.5, 0.1],
    ...     similarity=-0.4,
    ... )
    >>> explanation.scores1
    array([ -7.1, -10.5])
    >>> explanation.top(1)
    [('He took the guitar.', 'All clapped.', -0.5)]
    >>> print(explanation)
    similarity -0.4000
    1: He sang.
    2: He slept.
      -0.5000  He took the guitar. [...] All clapped.
               1:   -7.10 = discriminator -0.10, sentence -2.00, left -3.00, right -2.00  (its own)
               2:  -10.40 = discriminator -0.90, sentence -3.00, left -3.50, right -3.00
      +0.1000  It was late. [...] He woke up.
               1:  -10.50 = discriminator -1.00, sentence -4.00, left -3.00, right -2.50
               2:   -6.70 = discriminator -0.20, sentence -2.00, left -2.50, right -2.00  (its own)
    """

    text1: str
    text2: str
    contexts: list[tuple[str, str]]
    rows: Any
    chosen1: Any
    chosen2: Any
    terms1: Any
    terms2: Any
    weights: Any
    contributions: Any
    similarity: float
    title: str = ""
    n_rest: int = 0
    rest: float = 0.0

    def __post_init__(self) -> None:
        for name, value in checked_context_parts(vars(self)).items():
            object.__setattr__(self, name, value)

    @property
    def scores1(self) -> NDArray[np.float64]:
        """Scores of the first text in each context, Eq. 3, before any centring."""
        return combine_terms(self.terms1, self.weights)

    @property
    def scores2(self) -> NDArray[np.float64]:
        """Scores of the second text in each context, Eq. 3, before any centring."""
        return combine_terms(self.terms2, self.weights)

    @property
    def truncation(self) -> str:
        """Sentence about the contexts that are left out, or an empty string."""
        if not self.n_rest:
            return ""
        n = len(self.contexts)
        return (
            f"Only the {n:,} of {n + self.n_rest:,} contexts that contribute most are kept: they "
            f"add {self.contributions.sum():+.3f} to the similarity of {self.similarity:.3f}, all "
            f"others together {self.rest:+.3f}."
        )

    @property
    def note(self) -> str:
        """Sentence for pairs without any context, or an empty string."""
        if self.contexts or self.n_rest:
            return ""
        if self.text1 == self.text2:
            return "The texts are equal; the corpus has no context for them."
        return "The corpus has no context for either text, so their similarity means nothing."

    def top(self, n: int = 10) -> list[tuple[str, str, float]]:
        """Contexts with the largest contributions, positive or negative.

        Parameters
        ----------
        n : int, default=10
            Maximal number of contexts.

        Returns
        -------
        contexts : list of (str, str, float)
            Sentences before and after the gap, and the contribution, by decreasing absolute value;
            ties in the order of the corpus.
        """
        check_integer("n", n, 1)
        return [
            (*self.contexts[place], float(self.contributions[place])) for place in self._order()[:n]
        ]

    def records(self, n: int | None = None) -> list[dict[str, Any]]:
        """Return all data on the contexts with the largest contributions.

        Parameters
        ----------
        n : int, default=None
            Maximal number of contexts; None returns all that are kept.

        Returns
        -------
        records : list of dict
            In the order of `top`, with keys ``left``, ``right``, ``row``, ``contribution`` and
            ``sides``: for each text its ``score``, its ``terms`` (λ times each term, by name; they
            sum to the score) and ``own``, whether the context was chosen for that text.
        """
        if n is not None:
            check_integer("n", n, 1)
        sides = [
            (self.scores1, self.terms1 * self.weights, self.chosen1),
            (self.scores2, self.terms2 * self.weights, self.chosen2),
        ]
        return [
            {
                "left": self.contexts[place][0],
                "right": self.contexts[place][1],
                "row": int(self.rows[place]),
                "contribution": float(self.contributions[place]),
                "sides": [
                    {
                        "score": float(scores[place]),
                        "terms": dict(zip(TERMS, weighted[place].tolist(), strict=True)),
                        "own": bool(chosen[place]),
                    }
                    for scores, weighted, chosen in sides
                ],
            }
            for place in self._order()[:n]
        ]

    def to_html(self, standalone: bool = False) -> str:
        """Return both texts and the contexts with the largest contributions as HTML.

        Parameters
        ----------
        standalone : bool, default=False
            Whether to return a whole page instead of a fragment.

        Returns
        -------
        html : str
            HTML without scripts or external resources; all texts are escaped.
        """
        return contexts_html(self, standalone)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_dict(self) -> dict[str, Any]:
        """Return lists, strings and numbers that JSON can hold.

        Returns
        -------
        data : dict
            Keys are the parameters, so that ``ContextExplanation(**data)`` is the same again.
        """
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["contexts"] = [list(context) for context in self.contexts]
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in data.items()
        }

    def __repr__(self) -> str:
        return (
            f"<ContextExplanation similarity={self.similarity:.4f}, {len(self.contexts)} contexts, "
            f"text1={printable_text(self.text1, 40)!r}, text2={printable_text(self.text2, 40)!r}>"
        )

    def __str__(self) -> str:
        heading = f"{_line(self.title)}: " if self.title else ""
        lines = [
            f"{heading}similarity {self.similarity:.4f}",
            f"1: {_line(self.text1)}",
            f"2: {_line(self.text2)}",
        ]
        shown = self.records(_SHOWN_CONTEXTS)
        for record in shown:
            context = f"{_line(record['left'])} [...] {_line(record['right'])}"
            lines.append(f"  {record['contribution']:+.4f}  {context}")
            for side, scored in enumerate(record["sides"], start=1):
                terms = ", ".join(f"{name} {value:.2f}" for name, value in scored["terms"].items())
                own = "  (its own)" if scored["own"] else ""
                lines.append(f"           {side}: {scored['score']:7.2f} = {terms}{own}")
        others = len(self.contexts) - len(shown) + self.n_rest
        if others:
            rest = self.similarity - sum(record["contribution"] for record in shown)
            lines.append(f"  {rest:+.4f}  {others:,} other context{'s' * (others > 1)}")
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)

    def _order(self) -> list[int]:
        return np.argsort(-np.abs(self.contributions), kind="stable").tolist()


def _line(text: str) -> str:
    return printable_text(text, _SHOWN_CHARACTERS)

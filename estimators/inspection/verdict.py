"""Why a `DuplicateClassifier` judged a pair as it did."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from estimators._members import columns
from estimators.inspection._printable import printable
from estimators.inspection.explanation import Explanation
from estimators.inspection.words import explain_words

SHOWN_FEATURES = 8
SHOWN_WORDS = 10
SHOWN_CHARACTERS = 200
EDGE = 1e-9


@dataclass(frozen=True)
class Evidence:
    """What one input said.

    Attributes
    ----------
    name : str
        Member or feature.
    value : float
        What it said: a member's cosine or verdict, a feature's value.
    effect : float
        Change of the log-odds of "duplicate" against the same pair with this input (all columns
        of a member) at its median over the training pairs. Inputs overlap, so effects need not
        sum to the log-odds.
    """

    name: str
    value: float
    effect: float


@dataclass(frozen=True)
class Verdict:
    """Explanation of one probability.

    Attributes
    ----------
    text1, text2 : str
        The pair.
    probability : float
        Of being a duplicate, at the classifier's prior.
    members : list of Evidence
        What each member said, strongest effect first.
    features : list of Evidence
        What each lexical feature said, strongest effect first.
    words : dict of str to Explanation
        Of the members that `explain_words` can take apart: word-to-word contributions that sum
        to that member's cosine.
    terms : dict of str to list of (str, float)
        Of linear members on sparse features, such as `WordDifferences`: the features that weighed
        most, with their log-odds.
    """

    text1: str
    text2: str
    probability: float
    members: list[Evidence]
    features: list[Evidence]
    words: dict[str, Explanation]
    terms: dict[str, list[tuple[str, float]]]

    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the word-to-word contributions of the first member that has them.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw.
        **kwargs : dict
            As `Explanation.plot`.

        Returns
        -------
        display : AlignmentDisplay
            The picture.

        Raises
        ------
        ValueError
            If no member can be taken apart into words.
        """
        return self._first_words().plot(ax=ax, **kwargs)

    def top(self, n: int = 10) -> list[tuple[str, str, float]]:
        """Strongest word pairs of the first member that has them.

        Parameters
        ----------
        n : int, default=10
            How many.

        Returns
        -------
        strongest : list of (str, str, float)
            As `Explanation.top`.
        """
        return self._first_words().top(n)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain JSON types.

        Returns
        -------
        data : dict
            Keys are the attributes.
        """
        return {
            "text1": self.text1,
            "text2": self.text2,
            "probability": self.probability,
            "members": [vars(evidence).copy() for evidence in self.members],
            "features": [vars(evidence).copy() for evidence in self.features],
            "words": {name: words.to_dict() for name, words in self.words.items()},
            "terms": {name: [list(term) for term in terms] for name, terms in self.terms.items()},
        }

    def __str__(self) -> str:
        lines = [
            f"{self.probability:.1%} duplicate",
            *(f"  {_line(text)}" for text in (self.text1, self.text2)),
        ]
        for title, found in (("member", self.members), ("feature", self.features)):
            for evidence in found[:SHOWN_FEATURES]:
                value = f"{evidence.value:.3g}"
                lines.append(f"  {evidence.effect:+6.2f}  {title} {_line(evidence.name)} = {value}")
        for name, terms in self.terms.items():
            said = ", ".join(
                f"{_line(term)} {weight:+.2f}" for term, weight in terms[:SHOWN_FEATURES]
            )
            lines.append(f"  {_line(name)}: {said}")
        for name, words in self.words.items():
            said = ", ".join(f"{_line(a)} - {_line(b)} {c:+.2f}" for a, b, c in words.top(5))
            lines.append(f"  {_line(name)}, cosine {words.similarity:.3f}: {said}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [*self.members, *self.features[:SHOWN_FEATURES]]
        cells = "".join(
            f"<tr><td>{_html(row.name)}</td><td>{row.value:.3g}</td><td>{row.effect:+.2f}</td></tr>"
            for row in rows
        )
        words = (
            "".join(
                f"<p>{_html(name)}</p>{found._repr_html_()}" for name, found in self.words.items()
            )
            or f"<p>{_html(self.text1)}<br>{_html(self.text2)}</p>"
        )
        terms = "".join(
            f"<p>{_html(name)}: "
            + ", ".join(f"{_html(term)} ({weight:+.2f})" for term, weight in said)
            + "</p>"
            for name, said in self.terms.items()
        )
        return (
            f"<div><p><b>{self.probability:.1%} duplicate</b></p>{words}<table><thead><tr>"
            "<th>input</th><th>value</th><th>effect (log-odds)</th></tr></thead><tbody>"
            f"{cells}</tbody></table>{terms}</div>"
        )

    def _first_words(self) -> Explanation:
        if not self.words:
            raise ValueError(
                "no member of this classifier can be taken apart into words: give it one that "
                "ends in FILM after a TfidfVectorizer"
            )
        return next(iter(self.words.values()))


def explain_verdicts(classifier: Any, pairs: NDArray[np.object_]) -> list[Verdict]:
    """Explain what a fitted `DuplicateClassifier` says about checked pairs.

    Parameters
    ----------
    classifier : DuplicateClassifier
        Fitted.
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.

    Returns
    -------
    verdicts : list of Verdict
        One a pair.

    Notes
    -----
    One prediction of the final model an input, beside one look of every member at the pairs.
    """
    inputs = classifier.inputs(pairs)
    probabilities = classifier.probabilities_of(inputs)[:, 1]
    names = classifier.feature_names_out_
    spans = _member_columns(classifier)
    n_said = sum(len(span) for span in spans.values())

    def effect(columns: Any) -> NDArray[np.float64]:
        changed = inputs.copy()
        changed[:, columns] = classifier.typical_[columns]
        return _log_odds(probabilities) - _log_odds(classifier.probabilities_of(changed)[:, 1])

    of_members = {name: effect(span) for name, span in spans.items()}
    of_features = {column: effect([column]) for column in range(n_said, len(names))}
    words, terms = {}, {}
    for name, member in classifier.members_:
        if len(spans[name]) > 1:
            try:
                words[name] = explain_words(member, pairs)
            except TypeError:  # an embedder without words, such as a neural one
                continue
        elif (names_of_terms := _term_names(member)) is not None:
            terms[name] = _strongest_terms(member, names_of_terms, pairs)
    found = []
    for row, (text1, text2) in enumerate(pairs):
        members = [
            Evidence(name, float(inputs[row, span[0]]), float(of_members[name][row]))
            for name, span in spans.items()
        ]
        features = [
            Evidence(names[column], float(inputs[row, column]), float(change[row]))
            for column, change in of_features.items()
        ]
        found.append(
            Verdict(
                text1,
                text2,
                float(probabilities[row]),
                sorted(members, key=_strength),
                sorted(features, key=_strength),
                {name: said[row] for name, said in words.items()},
                {name: said[row] for name, said in terms.items()},
            )
        )
    return found


def _html(text: str) -> str:
    # A lone surrogate cannot be written to any file.
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def _line(text: str) -> str:
    return printable(text, SHOWN_CHARACTERS)


def _strength(evidence: Evidence) -> float:
    return -abs(evidence.effect)


def _log_odds(p: NDArray[np.float64]) -> NDArray[np.float64]:
    p = np.clip(p, EDGE, 1 - EDGE)
    return np.log(p) - np.log1p(-p)


def _member_columns(classifier: Any) -> dict[str, list[int]]:
    spans: dict[str, list[int]] = {}
    start = 0
    for name, member in classifier.members_:
        stop = start + len(columns(member))
        spans[name] = list(range(start, stop))
        start = stop
    return spans


def _term_names(member: Any) -> Any:
    """Names of the features of a linear member, None of any other."""
    if not (isinstance(member, Pipeline) and hasattr(member[-1], "coef_")):
        return None
    try:
        return member[:-1].get_feature_names_out()
    except AttributeError:  # a step names nothing
        return None


def _strongest_terms(member: Any, names: Any, pairs: Any) -> list[list[tuple[str, float]]]:
    features = sp.csr_array(member[:-1].transform(pairs))
    coefficients = member[-1].coef_
    weights = np.ravel(coefficients.toarray() if sp.issparse(coefficients) else coefficients)
    said = []
    for row in range(len(pairs)):
        start, stop = features.indptr[row : row + 2]
        columns = features.indices[start:stop]
        products = features.data[start:stop] * weights[columns]
        order = np.argsort(-np.abs(products), kind="stable")[:SHOWN_WORDS]
        said.append([(str(names[columns[i]]), float(products[i])) for i in order])
    return said

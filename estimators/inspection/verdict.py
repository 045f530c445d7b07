"""Why a `DuplicateClassifier` judged a pair as it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from scipy.special import expit

from estimators.inspection.explanation import Explanation
from estimators.inspection.members import FittedLine, explain_members
from estimators.inspection.pages.fragment import verdict_html
from estimators.inspection.printable import percent, printable_text
from film.pairs import shapley_effects
from film.text import copy_key

"""Familiarity below which a pair is told to be unlike the fitted texts."""

SHOWN_STEPS = 8
SHOWN_WORDS = 10
SHOWN_CHARACTERS = 200
SHOWN_DIFFERENCES = 5
COMPARED_CHARACTERS = 1000
EDGE = 1e-9
ROUNDING = 1e-6


@dataclass(frozen=True)
class Evidence:
    """What one input of the classifier adds.

    Attributes
    ----------
    name : str
        Member or feature.
    value : float
        Its value for this pair: a member's cosine or verdict, a feature's value.
    effect : float
        Change of the log-odds of "duplicate" on the way from the typical pair to this one.
    typical : float
        Its value in the typical pair: the median over the training pairs.
    """

    name: str
    value: float
    effect: float
    typical: float


@dataclass(frozen=True)
class Step:
    """One line of the way from the typical pair to this one.

    Attributes
    ----------
    name : str
        Member or feature, or how many others stand in this line together.
    value, typical : float or None
        For this pair and for the typical one; None of several inputs.
    effect : float
        Change of the log-odds.
    probability : float
        Of a duplicate after this step and those before it.
    """

    name: str
    value: float | None
    typical: float | None
    effect: float
    probability: float


@dataclass(frozen=True)
class Verdict:
    """Explanation of one probability.

    Attributes
    ----------
    text1, text2 : str
        The pair.
    probability : float
        Of being a duplicate, at the classifier's prior.
    baseline : float
        Probability of the typical pair, all of whose inputs are at their median over the training
        pairs. The explanation starts there.
    members : list of Evidence
        What each member adds, strongest effect first.
    features : list of Evidence
        What each lexical feature adds, strongest effect first. The effects of members and features
        sum to the log-odds of `probability` less those of `baseline`, less that of `sameness`.
    words : dict of str to Explanation
        Of the members that can be taken apart: contributions that sum to that member's cosine or
        `similarity`, by words where `explain_words` can, else by the tokens of its encoder.
    terms : dict of str to list of (str, float)
        Of linear members on sparse features, such as `WordDifferences`: the features that weighed
        most, with their log-odds.
    sameness : Evidence or None
        That the texts are copies or nearly so, where this alone makes the probability as high as
        it is: the last step, behind the effects of members and features.
    unseen : str
        The difference between the texts that neither a member nor a feature sees; empty where
        some input sees that they differ, and for copies.
    offsets : dict of str to float
        Of the members in `terms`: log-odds of the intercept and of the features that are left out
        there. With the terms they sum to the member's own log-odds.
    familiarity : float or None
        How like the fitted texts these are, from 0 to 1; None where the model does not know.
    familiarity_limit : float
        At it or below, the texts are of another kind than those of the fit.
    lines : dict of str to FittedLine
        Of the members in `words` that were fitted to the labels: how their value follows from the
        similarity to which their words sum.
    """

    text1: str
    text2: str
    probability: float
    baseline: float
    members: list[Evidence]
    features: list[Evidence]
    words: dict[str, Explanation]
    terms: dict[str, list[tuple[str, float]]]
    sameness: Evidence | None = None
    unseen: str = ""
    offsets: dict[str, float] = field(default_factory=dict)
    familiarity: float | None = None
    lines: dict[str, FittedLine] = field(default_factory=dict)
    familiarity_limit: float = 0.0

    def steps(self, n: int = SHOWN_STEPS) -> list[Step]:
        """Lead from the typical pair to this one, the strongest inputs first.

        Parameters
        ----------
        n : int, default=8
            Inputs with a line of their own; the others share one, and `sameness` is the last.

        Returns
        -------
        steps : list of Step
            The last one's probability is that of the pair.
        """
        inputs = sorted([*self.members, *self.features], key=_strength)
        lines: list[tuple[str, float | None, float | None, float]] = [
            (one.name, one.value, one.typical, one.effect) for one in inputs[:n]
        ]
        if others := inputs[n:]:
            name = f"{len(others)} other input{'s' * (len(others) > 1)}"
            lines.append((name, None, None, sum(one.effect for one in others)))
        if self.sameness is not None:
            lines.append((self.sameness.name, None, None, self.sameness.effect))
        start = float(_log_odds(np.array(self.baseline)))
        log_odds = accumulate((effect for *_, effect in lines), initial=start)
        next(log_odds)
        return [Step(*line, float(expit(z))) for line, z in zip(lines, log_odds, strict=True)]

    @property
    def familiarity_note(self) -> str:
        """Say how familiar the texts are, as a warning where they are not; empty for None."""
        if self.familiarity is None:
            return ""
        told = f"familiarity {self.familiarity:.2f}"
        if not self._unfamiliar:
            return told
        return f"{told}: the texts are unlike those that the model was fitted to; rely less on it"

    def line_note(self, name: str) -> str:
        """Say how a member comes from its similarity to its value; empty where they are one."""
        line = self.lines.get(name)
        if line is None or line == FittedLine(1.0, 0.0):
            return ""
        return line.told(name, self.words[name].similarity)

    @property
    def _unfamiliar(self) -> bool:
        return self.familiarity is not None and self.familiarity <= self.familiarity_limit

    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the word-to-word contributions of the first member that has them.

        Parameters
        ----------
        ax, **kwargs
            As in `AlignmentDisplay.plot`.

        Returns
        -------
        display : AlignmentDisplay
            With the artists as attributes.

        Raises
        ------
        ValueError
            If no member can be taken apart into words.
        """
        return self._first_words().plot(ax=ax, **kwargs)

    def top(self, n: int = 10) -> list[tuple[str, str, float]]:
        """Strongest word pairs of the first member that has them, as `Explanation.top`."""
        return self._first_words().top(n)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain JSON types.

        Returns
        -------
        data : dict
            Keys are the attributes.
        """
        return vars(self) | {
            "members": [vars(evidence).copy() for evidence in self.members],
            "features": [vars(evidence).copy() for evidence in self.features],
            "words": {name: words.to_dict() for name, words in self.words.items()},
            "terms": {name: [list(term) for term in terms] for name, terms in self.terms.items()},
            "lines": {name: vars(line).copy() for name, line in self.lines.items()},
            "sameness": None if self.sameness is None else vars(self.sameness).copy(),
        }

    def __str__(self) -> str:
        lines = [
            f"{percent(self.probability)} duplicate",
            *(f"  {_line(text)}" for text in (self.text1, self.text2)),
            *([f"  {_line(self.unseen)}"] if self.unseen else []),
            *([f"  {self.familiarity_note}"] if self._unfamiliar else []),
            f"  {percent(self.baseline):>7}  for a typical pair; then, the strongest first:",
        ]
        for step in self.steps():
            value = (
                "" if step.value is None else f" = {step.value:.3g} (typical {step.typical:.3g})"
            )
            lines.append(f"  {_move(step)}  {_line(step.name)}{value}")
        lines.append(f"  {percent(self.probability):>7}  for this pair")
        for name, terms in self.terms.items():
            weighed = ", ".join(
                f"{_line(term)} {weight:+.2f}" for term, weight in terms[:SHOWN_WORDS]
            )
            rest = self.offsets.get(name, 0.0)
            lines.append(
                f"  Words of {_line(name)}, in log-odds: {weighed or 'none'}; all others and the "
                f"intercept {rest:+.2f}"
            )
        for name, words in self.words.items():
            met = ", ".join(f"{_line(a)} - {_line(b)} {c:+.2f}" for a, b, c in words.top(5))
            lines.append(
                f"  Words of {_line(name)}, which sum to its "
                f"{'similarity' if words.title else 'cosine'} of {words.similarity:.3f}: "
                f"{met or 'none'}"
            )
            if note := self.line_note(name):
                lines.append(f"    {_line(note)}")
            if words.truncation:
                lines.append(f"    {words.truncation}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return verdict_html(self)

    def _first_words(self) -> Explanation:
        if not self.words:
            raise ValueError(
                "no member of this classifier can be taken apart into words: give it one that "
                "ends in FILM after a TfidfVectorizer or a SentenceEncoder"
            )
        return next(iter(self.words.values()))


def explain_verdicts(
    pairs: NDArray[np.object_],
    probability_of: Callable[..., NDArray[np.float64]],
    inputs: NDArray[np.float64],
    inputs_of_copies: NDArray[np.float64],
    samenesses: list[str],
    *,
    typical: NDArray[np.float64],
    members: list[tuple[str, Any, list[int]]],
    feature_names: list[str],
    familiarities: NDArray[np.float64] | None = None,
    familiarity_limit: float = 0.0,
) -> list[Verdict]:
    """Explain the probabilities that a stack of members and features gives to pairs.

    Parameters
    ----------
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    probability_of : callable
        (m, n_inputs) inputs → (m,) probabilities of a duplicate; as a second argument it takes
        the pairs that the inputs are of, and then heeds their sameness.
    inputs, inputs_of_copies : ndarray of float64, shape (n_pairs, n_inputs)
        Of the pairs, and of each first text beside itself.
    samenesses : list of str
        How far the texts of each pair are the same, in words.
    typical : ndarray of float64, shape (n_inputs,)
        Inputs of the typical pair.
    members : list of (str, estimator, list of int)
        Name, fitted member and its columns of the inputs, from the first on.
    feature_names : list of str
        Of the other inputs.
    familiarities : ndarray of float64, shape (n_pairs,), default=None
        How like the fitted texts those of each pair are.
    familiarity_limit : float, default=0.0
        At it or below, texts are of another kind than those of the fit.

    Returns
    -------
    verdicts : list of Verdict
        One per pair.

    Notes
    -----
    Effects are Shapley values over sampled orders (`film.pairs.shapley_effects`): some 16
    predictions of the final model per input and pair.
    """
    probabilities = probability_of(inputs, pairs)
    gains = _log_odds(probabilities) - _log_odds(probability_of(inputs))
    unseen = _unseen_differences(pairs, inputs, inputs_of_copies)
    n_features = len(feature_names)
    features = range(len(typical) - n_features, len(typical))
    groups = [*(columns for _, _, columns in members), *([column] for column in features)]
    effects = shapley_effects(lambda X: _log_odds(probability_of(X)), inputs, typical, groups)
    baseline = float(probability_of(typical[None, :])[0])
    labels = [*(name for name, _, _ in members), *feature_names]
    words, terms, offsets, lines = explain_members(members, pairs, SHOWN_WORDS)
    verdicts = []
    for row, (text1, text2) in enumerate(pairs):
        evidence = [
            Evidence(label, float(inputs[row, of[0]]), float(effect), float(typical[of[0]]))
            for label, of, effect in zip(labels, groups, effects[row], strict=True)
        ]
        sameness = Evidence(samenesses[row], 1.0, float(gains[row]), 0.0)
        verdicts.append(
            Verdict(
                text1=text1,
                text2=text2,
                probability=float(probabilities[row]),
                baseline=baseline,
                members=sorted(evidence[: len(members)], key=_strength),
                features=sorted(evidence[len(members) :], key=_strength),
                words={name: of_member[row] for name, of_member in words.items()},
                terms={name: of_member[row] for name, of_member in terms.items()},
                offsets={name: of_member[row] for name, of_member in offsets.items()},
                lines={name: of_member[row] for name, of_member in lines.items()},
                sameness=sameness if gains[row] > 0 else None,
                unseen=unseen[row],
                familiarity=None if familiarities is None else float(familiarities[row]),
                familiarity_limit=familiarity_limit,
            )
        )
    return verdicts


def _unseen_differences(
    pairs: NDArray[np.object_],
    inputs: NDArray[np.float64],
    inputs_of_copies: NDArray[np.float64],
) -> list[str]:
    """Say how texts differ where all inputs are those of a text with itself."""
    blind = np.abs(inputs - inputs_of_copies).max(axis=1) <= ROUNDING
    notes = []
    for (text1, text2), is_blind in zip(pairs, blind, strict=True):
        if not is_blind or copy_key(text1) == copy_key(text2):
            notes.append("")
            continue
        left, right = (copy_key(text)[:COMPARED_CHARACTERS] for text in (text1, text2))
        parts = [
            f"{left[edit.src_start : edit.src_end]!r} / {right[edit.dest_start : edit.dest_end]!r}"
            for edit in Levenshtein.opcodes(left, right)
            if edit.tag != "equal"
        ]
        shown = ", ".join(parts[:SHOWN_DIFFERENCES]) or "what stands far behind"
        more = ", ..." if len(parts) > SHOWN_DIFFERENCES else ""
        notes.append(f"no member or feature sees that the texts differ in {shown}{more}")
    return notes


def _move(step: Step) -> str:
    sign = "+" if step.effect > 0 else "-" if step.effect < 0 else " "
    return f"{percent(step.probability):>7} {sign}"


def _line(text: str) -> str:
    return printable_text(text, SHOWN_CHARACTERS)


def _strength(evidence: Evidence) -> float:
    return -abs(evidence.effect)


def _log_odds(p: NDArray[np.float64]) -> NDArray[np.float64]:
    p = np.clip(p, EDGE, 1 - EDGE)
    return np.log(p) - np.log1p(-p)

"""Explanations of the predictions of a `DuplicateClassifier`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from estimators.inspection.explanation import Explanation
from estimators.inspection.left_out_words import EDGE, WordEffect, word_effects
from estimators.inspection.members import explain_members
from estimators.inspection.pages.fragment import verdict_html
from estimators.inspection.printable import percent, printable_text
from film.judge import describe_differences, without_differences
from film.pairs import shapley_effects
from film.text import copy_key

SHOWN_STEPS = 8
SHOWN_WORDS = 10
SHOWN_CHARACTERS = 200
SHOWN_DIFFERENCES = 5
COMPARED_CHARACTERS = 1000
ROUNDING = 1e-6


NUMBERS = ("numbers shared", "numbers unshared", "symbols unshared")
ORDER = (
    *("negation on one side", "negated words unshared", "different question words"),
    *("same first word", "same last word", "same first words", "same last words"),
)
_OF_INPUT = {
    **dict.fromkeys(NUMBERS, "numbers and codes"),
    **dict.fromkeys(ORDER, "negation and order"),
    "general formula": "what holds for texts in general",
    "familiarity": "what holds for texts in general",
}


@dataclass(frozen=True)
class Evidence:
    """Effect of one input of the classifier.

    Attributes
    ----------
    name : str
        Member or feature.
    value : float
        Value for this pair: a member's cosine or prediction, or a feature's value.
    effect : float
        Change in the log-odds of "duplicate" between the typical pair and this one.
    typical : float
        Value in the typical pair: the median over the training pairs.
    """

    name: str
    value: float
    effect: float
    typical: float


@dataclass(frozen=True)
class Step:
    """One step of the explanation, from the typical pair to this one.

    Attributes
    ----------
    name : str
        Member or feature, or the number of other inputs in this step.
    value, typical : float or None
        Values for this pair and for the typical pair; None if the step combines several inputs.
    effect : float
        Change in the log-odds.
    probability : float
        Probability of a duplicate after this step.
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
        Probability of a duplicate, at the classifier's prior.
    baseline : float
        Probability of the typical pair, whose inputs are the medians over the training pairs. The
        explanation starts here.
    members : list of Evidence
        Effect of each member, strongest first.
    features : list of Evidence
        Effect of each lexical feature, strongest first. The effects of members, features and
        `sameness` sum to the log-odds of `probability` minus those of `baseline`.
    words : dict of str to Explanation
        For each member that can be explained, contributions that sum to its cosine or similarity:
        by words where `explain_words` supports the member, else by the tokens of its encoder.
    terms : dict of str to list of (str, float)
        For each linear member on sparse features, such as `WordDifferences`, the features with
        the largest log-odds.
    sameness : Evidence or None
        The last step, if the probability is raised because the texts are copies or nearly so.
    unseen : str
        Description of a difference between the texts that no member or feature represents; empty
        if some input does, and for copies.
    offsets : dict of str to float
        For each member in `terms`, the log-odds of the intercept and of all other features. Adding
        the terms yields the member's log-odds.
    familiarity : float or None
        Similarity of the texts to the training texts, from 0 to 1; None if unknown.
    familiarity_limit : float
        Texts at or below this familiarity count as unlike the training texts.
    difference : str
        How the texts differ, and by which words; empty for copies.
    columns : dict of str to (str, str)
        For pairs of records, both cells of each column. `features` then has one entry per column,
        with the effect of all its features; its value is that of the feature in brackets.
    groups : dict of str to float
        Effect of each group of inputs, strongest first: all inputs of a group change at once. Empty
        for records, whose effects are by column. The
        effects of groups and `sameness` sum to the log-odds of `probability` minus those of
        `baseline`.
    without : dict of str to float
        Probability of the pair without the words by which the texts differ; these words are the
        key. Empty if no words differ, or if a text has no other words.
    by_word : list of WordEffect
        What each word adds to the log-odds, measured by leaving it out
        (`estimators.inspection.word_effects`), in the order of the texts. Empty for records and for
        pairs of more than 200 words.
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
    familiarity_limit: float = 0.0
    difference: str = ""
    columns: dict[str, tuple[str, str]] = field(default_factory=dict)
    groups: dict[str, float] = field(default_factory=dict)
    without: dict[str, float] = field(default_factory=dict)
    by_word: list[WordEffect] = field(default_factory=list)

    def steps(self, n: int | None = None) -> list[Step]:
        """Return the steps from the typical pair to this one, the strongest first.

        Parameters
        ----------
        n : int, optional
            Number of single inputs with a step of their own; the others share one. By default, each
            step is one of `groups`, if there are any. `sameness` comes last.

        Returns
        -------
        steps : list of Step
            The last step has the probability of the pair.
        """
        by_group = n is None and bool(self.groups)
        n = SHOWN_STEPS if n is None else n
        inputs = [] if by_group else sorted([*self.members, *self.features], key=_strength)
        lines: list[tuple[str, float | None, float | None, float]] = [
            (one.name, one.value, one.typical, one.effect) for one in inputs[:n]
        ]
        if by_group:
            lines = [(name, None, None, effect) for name, effect in self.groups.items()]
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
        """State the familiarity of the texts, with a warning if it is low; empty if unknown."""
        if self.familiarity is None:
            return ""
        told = f"familiarity {self.familiarity:.2f}"
        if not self._unfamiliar:
            return told
        return f"{told}: the texts are unlike the training texts; rely less on this result"

    @property
    def without_notes(self) -> list[str]:
        """Lines about the probability without the differing words."""
        return [f"without {words}: {percent(p)}" for words, p in self.without.items()]

    @property
    def _unfamiliar(self) -> bool:
        return self.familiarity is not None and self.familiarity <= self.familiarity_limit

    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the pairwise word contributions of the first member that has them.

        Parameters
        ----------
        ax, **kwargs
            As in `Explanation.plot`.

        Returns
        -------
        ax : matplotlib Axes
            With the heat map.

        Raises
        ------
        ValueError
            If no member can be explained by words.
        """
        return self._first_words().plot(ax=ax, **kwargs)

    def top(self, n: int = 10) -> list[tuple[str, str, float]]:
        """Return the word pairs of the first member that has them, as in `Explanation.top`."""
        return self._first_words().top(n)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types.

        Returns
        -------
        data : dict
            Keys are the attributes.
        """
        words = {name: explanation.to_dict() for name, explanation in self.words.items()}
        return asdict(replace(self, words={})) | {"words": words}

    def __str__(self) -> str:
        lines = [
            f"{percent(self.probability)} duplicate",
            *(f"  {_line(text)}" for text in self._shown_texts()),
            *(f"  {_line(note)}" for note in (self.difference, self.unseen) if note),
            *([f"  {self.familiarity_note}"] if self._unfamiliar else []),
            f"  {percent(self.baseline):>7}  for a typical pair; then, the strongest first:",
        ]
        for step in self.steps():
            value = (
                "" if step.value is None else f" = {step.value:.3g} (typical {step.typical:.3g})"
            )
            lines.append(f"  {_move(step)}  {_line(step.name)}{value}")
        lines.append(f"  {percent(self.probability):>7}  for this pair")
        lines += [f"  {percent(p):>7}  without {_line(words)}" for words, p in self.without.items()]
        for text in (1, 2) if self.by_word else ():
            ranked = sorted((one for one in self.by_word if one.text == text), key=_strength)
            added = ", ".join(
                f"{_line(one.word)} {one.effect:+.2f}" for one in ranked[:SHOWN_WORDS]
            )
            lines.append(f"  Words of text {text} add to the log-odds: {added or 'none'}")
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
            if words.truncation:
                lines.append(f"    {words.truncation}")
        return "\n".join(lines)

    def _shown_texts(self) -> list[str]:
        if not self.columns:
            return [self.text1, self.text2]
        return [f"{name}: {a or '-'} | {b or '-'}" for name, (a, b) in self.columns.items()]

    def _repr_html_(self) -> str:
        return verdict_html(self)

    def _first_words(self) -> Explanation:
        if not self.words:
            raise ValueError(
                "no member of this classifier can be explained by words: give it one that "
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
    columns_of_features: list[str] | None = None,
    cells: list[dict[str, tuple[str, str]]] | None = None,
    predict: Callable[[NDArray[np.object_]], NDArray[np.float64]] | None = None,
) -> list[Verdict]:
    """Explain the probabilities of a stack of members and features.

    Parameters
    ----------
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    probability_of : callable
        (m, n_inputs) inputs → (m,) probabilities of a duplicate. The optional second argument is
        the pairs of the inputs; it adds the effect of sameness.
    inputs, inputs_of_copies : ndarray of float64, shape (n_pairs, n_inputs)
        Inputs of the pairs, and of each first text paired with itself.
    samenesses : list of str
        Description of how far the texts of each pair are the same.
    typical : ndarray of float64, shape (n_inputs,)
        Inputs of the typical pair.
    members : list of (str, estimator, list of int)
        Name, fitted member and its columns of the inputs; the members' columns come first.
    feature_names : list of str
        Names of the other inputs.
    familiarities : ndarray of float64, shape (n_pairs,), default=None
        Similarity of each pair to the training texts.
    familiarity_limit : float, default=0.0
        Texts at or below this familiarity count as unlike the training texts.
    columns_of_features : list of str, default=None
        For records, the column of each feature; those of one column share an effect.
    cells : list of dict of str to (str, str), default=None
        For records, both cells of each column, one dict per pair.
    predict : callable, optional
        (m, 2) texts → (m,) probabilities, for pairs without some of their words.

    Returns
    -------
    verdicts : list of Verdict
        One per pair.

    Notes
    -----
    Effects are Shapley values over sampled orders (`film.pairs.shapley_effects`). They need about
    16 predictions of the final model per input and pair. Effects of words need two predictions of
    the whole stack per word.
    """
    probabilities = probability_of(inputs, pairs)
    gains = _log_odds(probabilities) - _log_odds(probability_of(inputs))
    unseen = _unseen_differences(pairs, inputs, inputs_of_copies)
    differences = describe_differences(*pairs.T.tolist())
    n_features = len(feature_names)
    by_name: dict[str, list[int]] = {}
    for place, name in enumerate(columns_of_features or feature_names, len(typical) - n_features):
        by_name.setdefault(name, []).append(place)
    if columns_of_features is not None:
        feature_names = [
            name if len(places) == 1 else f"{name} ({_feature(feature_names, places, typical)})"
            for name, places in by_name.items()
        ]
    groups = [*(columns for _, _, columns in members), *by_name.values()]
    effects = shapley_effects(lambda X: _log_odds(probability_of(X)), inputs, typical, groups)
    baseline = float(probability_of(typical[None, :])[0])
    labels = [*(name for name, _, _ in members), *feature_names]
    words, terms, offsets = explain_members(members, pairs, SHOWN_WORDS)
    of_group = _grouped(labels, members, groups)
    by_group = shapley_effects(
        lambda X: _log_odds(probability_of(X)), inputs, typical, list(of_group.values())
    )
    # The effects of records are grouped by column.
    without = _without(pairs, predict)
    by_word = [[]] * len(pairs) if predict is None else word_effects(pairs, predict)
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
                sameness=sameness if gains[row] > 0 else None,
                difference=differences[row] if copy_key(text1) != copy_key(text2) else "",
                unseen=unseen[row],
                familiarity=None if familiarities is None else float(familiarities[row]),
                familiarity_limit=familiarity_limit,
                columns={} if cells is None else cells[row],
                groups={} if cells is not None else _strongest_first(of_group, by_group[row]),
                without=without[row],
                by_word=by_word[row],
            )
        )
    return verdicts


def _feature(names: list[str], places: list[int], typical: NDArray[np.float64]) -> str:
    """Return the name of the first feature of a column, without that of the column."""
    return names[places[0] - len(typical) + len(names)].rpartition(": ")[2]


def _grouped(
    labels: list[str], members: list[tuple[str, Any, list[int]]], columns: list[list[int]]
) -> dict[str, list[int]]:
    """Return the columns of each group of inputs that change together."""
    found: dict[str, list[int]] = {}
    for place, (label, of) in enumerate(zip(labels, columns, strict=True)):
        group = _OF_INPUT.get(label, "wording")
        if place < len(members):
            group = "meaning" if _is_encoder(members[place][1]) else "what labels taught"
        found.setdefault(group, []).extend(of)
    return found


def _is_encoder(member: Any) -> bool:
    """Return whether a member compares vectors of a language model."""
    known = member.estimator if isinstance(member, FrozenEstimator) else member
    first = known[0] if isinstance(known, Pipeline) else known
    return hasattr(first, "encode") or hasattr(first, "slope_")


def _strongest_first(names: Iterable[str], effects: NDArray[np.float64]) -> dict[str, float]:
    pairs = zip(names, effects.tolist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: -abs(pair[1])))


def _without(
    pairs: NDArray[np.object_], predict: Callable[..., NDArray[np.float64]] | None
) -> list[dict[str, float]]:
    """Return the probability of each pair without its differing words."""
    found: list[dict[str, float]] = [{} for _ in pairs]
    shorter = [without_differences(a, b) for a, b in pairs.tolist()]
    rows = [row for row, (_, _, words) in enumerate(shorter) if words]
    if predict is None or not rows:
        return found
    left = np.array([shorter[row][:2] for row in rows], dtype=object)
    for row, p in zip(rows, predict(left).tolist(), strict=True):
        found[row] = {shorter[row][2]: p}
    return found


def _unseen_differences(
    pairs: NDArray[np.object_],
    inputs: NDArray[np.float64],
    inputs_of_copies: NDArray[np.float64],
) -> list[str]:
    """Describe the differences of texts whose inputs equal those of a text and its copy."""
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
        shown = ", ".join(parts[:SHOWN_DIFFERENCES]) or "their later parts"
        more = ", ..." if len(parts) > SHOWN_DIFFERENCES else ""
        notes.append(f"no member or feature represents these differences: {shown}{more}")
    return notes


def _move(step: Step) -> str:
    sign = "+" if step.effect > 0 else "-" if step.effect < 0 else " "
    return f"{percent(step.probability):>7} {sign}"


def _line(text: str) -> str:
    return printable_text(text, SHOWN_CHARACTERS)


def _strength(evidence: Evidence | WordEffect) -> float:
    return -abs(evidence.effect)


def _log_odds(p: NDArray[np.float64]) -> NDArray[np.float64]:
    p = np.clip(p, EDGE, 1 - EDGE)
    return np.log(p) - np.log1p(-p)

"""Explanations of general scores, which need no labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scipy.special import expit, logit

from estimators.inspection.pages.base import escaped, whole_page
from estimators.inspection.printable import printable_text, side_by_side

_CHARACTERS = 200
_SHOWN = 0.005
"""Effects below this are not shown."""
_LOWERED = -0.2
"""Effects at or below this are shown with the score that the pair would have without them."""


@dataclass(frozen=True)
class ScoreExplanation:
    """Explanation of one score of `DuplicateFinder`, by groups of evidence.

    Attributes
    ----------
    text1, text2 : str
        The pair.
    score : float
        Score of the pair.
    start : float
        Score that the effects start from: that of a pair without any evidence.
    effects : dict of str to float
        What each group of `film.judge.EVIDENCE` adds to the log-odds. Empty for copies and for
        empty texts, which the formula does not score. Otherwise the log-odds of `start` and the
        effects sum to the log-odds of the score. The score is 0 if nothing is shared, and at most
        0.999.
    kind : str
        As in `DuplicatePairs`.
    difference : str
        How the texts differ, and by which words; empty for copies.
    cells : dict of str to (str, str)
        Both cells of each column of records.
    reasons : dict of str to str
        For groups of columns, how names and addresses differ (`film.compare.name_reason`).
    """

    text1: str
    text2: str
    score: float
    start: float
    effects: dict[str, float]
    kind: str
    difference: str
    cells: dict[str, tuple[str, str]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def without(self, group: str) -> float:
        """Return the score if a group of evidence added nothing.

        Raises
        ------
        KeyError
            If there is no such group.
        """
        effect = self.effects[group]
        return float(expit(logit(self.start) + sum(self.effects.values()) - effect))

    def lines(self) -> list[str]:
        """Describe the difference, and each group that adds to the score or lowers it."""
        lines = [self.difference] if self.difference else []
        if not self.effects:
            return [*lines, self.kind] if self.kind == "copy" else lines
        lines.append(f"start at {self.start:.2f}; then, in log-odds:")
        for group, effect in sorted(self.effects.items(), key=lambda item: -abs(item[1])):
            if abs(effect) >= _SHOWN:
                less = f" (without it: {self.without(group):.2f})" if effect <= _LOWERED else ""
                why = f", {self.reasons[group]}" if group in self.reasons else ""
                lines.append(f"{effect:+.2f} {group}{why}{less}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types; keys are the attributes."""
        return vars(self) | {"effects": dict(self.effects)}

    def __str__(self) -> str:
        lines = [printable_text(line, _CHARACTERS) for line in self.lines()]
        texts = [printable_text(text, _CHARACTERS) for text in (self.text1, self.text2)]
        shown = [*(side_by_side(self.cells) or texts), *lines]
        return "\n".join([f"score {self.score:.2f}", *(f"  {line}" for line in shown)])

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escaped(line)}</li>" for line in self.lines())
        texts = f"<p>{escaped(self.text1)}<br>{escaped(self.text2)}</p>"
        if self.cells:
            rows = (
                "".join(f"<td>{escaped(cell)}</td>" for cell in (name, *pair))
                for name, pair in self.cells.items()
            )
            texts = f'<table class="columns">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'
        return f"<div><p><b>score {self.score:.2f}</b></p>{texts}<ul>{lines}</ul></div>"


def scores_page(explanations: Sequence[ScoreExplanation]) -> str:
    """Return a page of explanations of scores."""
    return whole_page(
        "Explanations of scores", "".join(each._repr_html_() for each in explanations)
    )

"""Explanations and verdicts as HTML for notebooks, and the word display of all pages."""

from __future__ import annotations

import re
from typing import Any

from estimators.inspection.pages.base import (
    REPLACEMENT,
    as_json,
    escaped,
    script_of,
    template,
    whole_page,
)
from estimators.inspection.pages.shown_words import shown_words
from estimators.inspection.printable import percent

_PARTNERS_IN_TOOLTIP = 5
# Characters that change the writing direction would also reverse the numbers of a tooltip.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_HINT = "Point at a word to see its partners: blue adds to the similarity, orange reduces it."


def explanation_html(explanation: Any, standalone: bool) -> str:
    """Return an `Explanation` as an HTML fragment or page.

    Without scripts, the static texts remain; otherwise the script replaces them. The script looks
    for boxes that no script has started yet. So fragments need no names, equal explanations have
    equal HTML, and a page may show the same explanation twice.
    """
    shown = shown_words(explanation)
    largest = max(map(abs, [*shown["sums1"], *shown["sums2"]]), default=0.0) or 1.0
    names = [
        [shown[f"text{side}"][start:end] for start, end in shown[f"words{side}"]] for side in (1, 2)
    ]
    named: list[list[list[tuple[str, float]]]] = [[[] for _ in words] for words in names]
    links = iter(shown["links"])
    for row, column, value in zip(links, links, links, strict=True):
        named[0][row].append((names[1][column], value))
        named[1][column].append((names[0][row], value))
    texts = [
        _line(
            shown[f"text{side}"],
            shown[f"words{side}"],
            [value / largest for value in shown[f"sums{side}"]],
            named[side - 1],
        )
        for side in (1, 2)
    ]
    notes = [_HINT]
    if shown["hidden"] is not None:
        notes.append(f"Special tokens, not shown, add {shown['hidden']:+.4f}.")
    if shown["truncation"]:
        notes.append(shown["truncation"])
    heading = f"{explanation.title}: " if explanation.title and not standalone else ""
    body = (
        f"<p><strong>{escaped(heading)}similarity {explanation.similarity:.4f}</strong></p>"
        f'<div class="words" data-pair="{escaped(as_json(shown))}">'
        f"{''.join(texts)}</div>"
        + "".join(f'<p class="quiet">{escaped(note)}</p>' for note in notes)
    )
    script = script_of("words.js")
    if standalone:
        # Until the script runs, the shades of words are in their style attributes.
        rules = ("style-src-attr 'unsafe-inline'",)
        return whole_page(explanation.title or "Explanation", body, script=script, rules=rules)
    style = template("words.css")
    return (
        f'<div class="film explanation"><style>{style}</style>{body}</div><script>{script}</script>'
    )


def verdict_html(verdict: Any) -> str:
    """Return a `Verdict` as an HTML fragment: its words, then the steps from the typical pair."""
    rows = [_row("A typical pair", "", "", percent(verdict.baseline))]
    for step in verdict.steps():
        values = ("", "") if step.value is None else (f"{step.value:.3g}", f"{step.typical:.3g}")
        sign = "▲" if step.effect > 0 else "▼" if step.effect < 0 else ""
        rows.append(_row(step.name, *values, f"{sign} {percent(step.probability)}"))
    rows.append(_row("This pair", "", "", percent(verdict.probability), inside="<b>{}</b>"))
    head = _row("Input", "This pair", "Typical pair", "Probability so far", tag="th")
    added = "".join(_added(verdict, side) for side in (1, 2)) if verdict.by_word else ""
    words = [
        f"<p>{escaped(name)}</p>{explanation_html(explanation, False)}"
        for name, explanation in verdict.words.items()
    ] or ([] if added else [_texts(verdict)])
    terms = [
        f"<p>{escaped(name)}: "
        + ", ".join(f"<bdi>{escaped(term)}</bdi> ({weight:+.2f})" for term, weight in weighed)
        + f"; all others and the intercept ({verdict.offsets.get(name, 0.0):+.2f})</p>"
        for name, weighed in verdict.terms.items()
    ]
    told = [verdict.difference, *verdict.without_notes, verdict.unseen, verdict.familiarity_note]
    notes = "".join(f"<p>{escaped(note)}</p>" for note in told if note)
    return (
        f"<div><p><b>{percent(verdict.probability)} duplicate</b></p>{notes}{added}{''.join(words)}"
        f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>{''.join(terms)}</div>"
    )


def _added(verdict: Any, side: int) -> str:
    """Return a text whose words are shaded by what they add to the log-odds."""
    largest = max(abs(one.effect) for one in verdict.by_word) or 1.0
    shown = [one for one in verdict.by_word if one.text == side]
    spans, shares = [(one.start, one.end) for one in shown], [one.effect / largest for one in shown]
    added = [[("log-odds", one.effect)] for one in shown]
    return _line((verdict.text1, verdict.text2)[side - 1], spans, shares, added)


def _texts(verdict: Any) -> str:
    """Return both texts, those of records as a table of their columns."""
    if not verdict.columns:
        return f"<p>{escaped(verdict.text1)}<br>{escaped(verdict.text2)}</p>"
    rows = (_row(name, *cells) for name, cells in verdict.columns.items())
    head = _row("Column", "First record", "Second record", tag="th")
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _row(*cells: str, tag: str = "td", inside: str = "{}") -> str:
    marked = (f"<{tag}>{inside.format(escaped(cell))}</{tag}>" for cell in cells)
    return f"<tr>{''.join(marked)}</tr>"


def _line(
    text: str,
    spans: list[tuple[int, int]],
    shares: list[float],
    partners: list[list[tuple[str, float]]],
) -> str:
    parts, done = [], 0
    for (start, end), share, met in zip(spans, shares, partners, strict=True):
        word = escaped(text[start:end])
        parts.append(escaped(text[done:start]))
        parts.append(f'<span class="word"{_shade(share)}{_tooltip(met)}>{word}</span>')
        done = end
    parts.append(escaped(text[done:]))
    return f'<p class="sentence" dir="auto">{"".join(parts)}</p>'


def _shade(share: float) -> str:
    """Return the shade of ``words.css`` as an attribute, for use without a style sheet."""
    if abs(share) < 0.005:  # invisible
        return ""
    colour = "37,117,235" if share > 0 else "224,86,32"
    return f' style="background-color:rgba({colour},{0.58 * (0.2 + 0.8 * abs(share)):.3f})"'


def _tooltip(partners: list[tuple[str, float]]) -> str:
    strongest = sorted(partners, key=lambda partner: -abs(partner[1]))[:_PARTNERS_IN_TOOLTIP]
    tooltip = ", ".join(f"{word} {value:+.2g}" for word, value in strongest)
    return f' title="{escaped(_DIRECTION.sub(REPLACEMENT, tooltip))}"' if tooltip else ""

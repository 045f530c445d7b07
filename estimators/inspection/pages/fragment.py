"""Explanations and verdicts as HTML for notebooks, and the words of a pair for any page."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from estimators.inspection.pages.base import as_json, escaped, script_of, template, whole_page
from estimators.inspection.pages.shown_words import ShownWords, shown_words
from estimators.inspection.printable import percent

_PARTNERS_IN_TOOLTIP = 5
# Characters that turn the direction of writing would turn the numbers of a tooltip too.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_HINT = "Point at a word to see its partners: blue adds to the similarity, orange takes from it."


def words_of_pair(explanation: Any, words: ShownWords | None = None) -> dict[str, Any]:
    """Give what the script ``words.js`` shows; three numbers per link, one after the other."""
    words = words or shown_words(explanation)
    values = np.round(words.entries.data, 6)
    kept = np.flatnonzero(values)
    links = zip(
        words.entries.row[kept].tolist(),
        words.entries.col[kept].tolist(),
        values[kept].tolist(),
        strict=True,
    )
    return {
        "text1": explanation.text1,
        "text2": explanation.text2,
        "title": explanation.title,
        "similarity": explanation.similarity,
        "words1": words.spans1,
        "words2": words.spans2,
        "sums1": np.round(words.sums1, 6).tolist(),
        "sums2": np.round(words.sums2, 6).tolist(),
        "links": [number for link in links for number in link],
        "hidden": words.hidden if words.n_hidden else 0,
        "truncation": explanation.truncation,
    }


def explanation_html(explanation: Any, standalone: bool) -> str:
    """Fragment or page of an `Explanation`.

    Both texts stand there for where no script runs; else the script shows them anew. It looks for
    boxes that no script has started yet, so fragments need no names, the same explanation gives
    the same HTML, and a page may show it twice.
    """
    words = shown_words(explanation)
    entries = words.entries
    largest = float(np.abs([*words.sums1, *words.sums2]).max(initial=0.0)) or 1.0
    shown1 = [explanation.text1[start:end] for start, end in words.spans1]
    shown2 = [explanation.text2[start:end] for start, end in words.spans2]
    texts = [
        _line(explanation.text1, words.spans1, words.sums1 / largest, entries.tocsr(), shown2),
        _line(explanation.text2, words.spans2, words.sums2 / largest, entries.T.tocsr(), shown1),
    ]
    notes = [_HINT]
    if words.n_hidden:
        notes.append(f"Special tokens, not shown, add {words.hidden:+.4f}.")
    if explanation.truncation:
        notes.append(explanation.truncation)
    heading = f"{explanation.title}: " if explanation.title and not standalone else ""
    body = (
        f"<p><strong>{escaped(heading)}similarity {explanation.similarity:.4f}</strong></p>"
        f'<div class="words" data-pair="{escaped(as_json(words_of_pair(explanation, words)))}">'
        f"{''.join(texts)}</div>"
        + "".join(f'<p class="quiet">{escaped(note)}</p>' for note in notes)
    )
    script = script_of("words.js")
    if standalone:
        # The shades of words that no script has shown yet stand in their attributes.
        rules = ("style-src-attr 'unsafe-inline'",)
        return whole_page(explanation.title or "Explanation", body, script=script, rules=rules)
    style = template("words.css")
    return (
        f'<div class="film explanation"><style>{style}</style>{body}</div><script>{script}</script>'
    )


def verdict_html(verdict: Any) -> str:
    """Fragment of a `Verdict`: its words, then the way from the typical pair to this one."""
    rows = [_row("A typical pair", "", "", percent(verdict.baseline))]
    for step in verdict.steps():
        values = ("", "") if step.value is None else (f"{step.value:.3g}", f"{step.typical:.3g}")
        sign = "▲" if step.effect > 0 else "▼" if step.effect < 0 else ""
        rows.append(_row(step.name, *values, f"{sign} {percent(step.probability)}"))
    rows.append(_row("This pair", "", "", percent(verdict.probability), inside="<b>{}</b>"))
    head = _row("Input", "This pair", "Typical pair", "Probability so far", tag="th")
    words = [
        f"<p>{escaped(name)}</p>{explanation_html(explanation, False)}"
        for name, explanation in verdict.words.items()
    ] or [f"<p>{escaped(verdict.text1)}<br>{escaped(verdict.text2)}</p>"]
    terms = [
        f"<p>{escaped(name)}: "
        + ", ".join(f"<bdi>{escaped(term)}</bdi> ({weight:+.2f})" for term, weight in weighed)
        + "</p>"
        for name, weighed in verdict.terms.items()
    ]
    unseen = f"<p>{escaped(verdict.unseen)}</p>" if verdict.unseen else ""
    return (
        f"<div><p><b>{percent(verdict.probability)} duplicate</b></p>{unseen}{''.join(words)}"
        f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>{''.join(terms)}</div>"
    )


def _row(*cells: str, tag: str = "td", inside: str = "{}") -> str:
    marked = (f"<{tag}>{inside.format(escaped(cell))}</{tag}>" for cell in cells)
    return f"<tr>{''.join(marked)}</tr>"


def _line(
    text: str,
    spans: list[tuple[int, int]],
    shares: np.ndarray,
    contributions: Any,
    partners: list[str],
) -> str:
    parts, done = [], 0
    for row, ((start, end), share) in enumerate(zip(spans, shares.tolist(), strict=True)):
        tooltip = _tooltip(contributions, row, partners)
        word = escaped(text[start:end])
        parts.append(escaped(text[done:start]))
        parts.append(f'<span class="word"{_shade(share)}{tooltip}>{word}</span>')
        done = end
    parts.append(escaped(text[done:]))
    return f'<p class="sentence" dir="auto">{"".join(parts)}</p>'


def _shade(share: float) -> str:
    """Give the shade of ``words.css``, written out for where no style sheet has an effect."""
    if abs(share) < 0.005:  # could not be told from none
        return ""
    colour = "37,117,235" if share > 0 else "224,86,32"
    return f' style="background-color:rgba({colour},{0.58 * (0.2 + 0.8 * abs(share)):.3f})"'


def _tooltip(contributions: Any, row: int, partners: list[str]) -> str:
    stretch = slice(*contributions.indptr[row : row + 2])
    columns, values = contributions.indices[stretch], contributions.data[stretch]
    order = np.argsort(-np.abs(values), kind="stable")[:_PARTNERS_IN_TOOLTIP]
    named = (f"{partners[columns[k]]} {values[k]:+.2g}" for k in order)
    tooltip = _DIRECTION.sub("\N{REPLACEMENT CHARACTER}", ", ".join(named))
    return f' title="{escaped(tooltip)}"' if tooltip else ""

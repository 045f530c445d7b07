"""Explanations by contexts as HTML: a fragment for notebooks, or a page."""

from __future__ import annotations

from typing import Any

from estimators.inspection.pages.base import escaped, template, whole_page

_SHOWN = 10
_HINT = (
    "Each row is a context from the corpus: a sentence before and a sentence after a gap. Both "
    "texts are scored in the gap. Contexts that fit both texts well, or both badly, add to the "
    "similarity. ● marks the text for which a context was chosen. A score is the sum of four "
    "log-probabilities: that the text fits (discriminator), and, per token, of the text in the gap "
    "(sentence), of the sentence before it (left) and of the sentence after it (right)."
)


def contexts_html(explanation: Any, standalone: bool) -> str:
    """Return a `ContextExplanation` as an HTML fragment or page without scripts."""
    body = f"{_pair(explanation, with_title=not standalone)}{_quiet(_HINT)}"
    if standalone:
        return whole_page(explanation.title or "Explanation", body)
    return f'<div class="film explanation"><style>{template("words.css")}</style>{body}</div>'


def _pair(explanation: Any, with_title: bool) -> str:
    heading = f"{explanation.title}: " if explanation.title and with_title else ""
    texts = "".join(
        f'<p class="sentence" dir="auto"><span class="quiet">{number}</span> {escaped(text)}</p>'
        for number, text in (("1", explanation.text1), ("2", explanation.text2))
    )
    notes = [note for note in (explanation.truncation, explanation.note) if note]
    return (
        f"<p><strong>{escaped(heading)}similarity {explanation.similarity:.4f}</strong></p>"
        f"{texts}{_table(explanation)}{''.join(map(_quiet, notes))}"
    )


def _table(explanation: Any) -> str:
    records = explanation.records()
    if not records:
        return ""
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("Adds", "Before the gap", "After the gap", "Score of 1", "Score of 2")
    )

    def part(some: list[dict[str, Any]]) -> str:
        rows = "".join(map(_row, some))
        return (
            '<div class="scroll" tabindex="0"><table class="contexts"><thead><tr>'
            f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    first, others = records[:_SHOWN], records[_SHOWN:]
    if not others:
        return part(first)
    more = f"<summary>{len(others):,} more context{'s' * (len(others) > 1)}</summary>"
    return f"{part(first)}<details>{more}{part(others)}</details>"


def _row(record: dict[str, Any]) -> str:
    contribution = record["contribution"]
    sign = "+" if contribution > 0 else "-"
    shade = f' data-sign="{sign}"' if contribution else ""
    cells = [f"<td><mark{shade}>{contribution:+.4f}</mark></td>"]
    cells += [f'<td dir="auto">{escaped(record[side])}</td>' for side in ("left", "right")]
    for scored in record["sides"]:
        terms = "<br>".join(f"{name} {value:.2f}" for name, value in scored["terms"].items())
        own = " ●" if scored["own"] else ""
        cells.append(
            f"<td><strong>{scored['score']:.2f}{own}</strong><br>"
            f'<span class="quiet">{terms}</span></td>'
        )
    return f"<tr>{''.join(cells)}</tr>"


def _quiet(text: str) -> str:
    return f'<p class="quiet">{escaped(text)}</p>'

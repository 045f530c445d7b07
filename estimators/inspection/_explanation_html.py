"""Both texts of an explanation as HTML: pointing at a word highlights its partners."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import numpy as np

_PARTNERS_IN_TOOLTIP = 5

_STYLE = """
.film-explanation{line-height:1.9;margin:1em 0;max-width:60em;color:inherit;overflow-wrap:anywhere}
.film-explanation p{margin:.3em 0}
.film-explanation .film-text{font-size:1.1em;white-space:pre-wrap}
.film-explanation .film-word{border-radius:.2em;cursor:default}
.film-explanation .film-word:focus-visible,
.film-explanation .film-word.film-on{outline:2px solid currentColor}
.film-explanation .film-note{font-size:.85em;line-height:1.4}
.film-explanation .film-partners{min-height:1.4em}
"""

# Colours are translucent, so that they keep the contrast of text on light and on dark pages.
_SCRIPT = """
(function () {
  function shade(word, share) {
    word.style.backgroundColor = share === 0 ? "transparent" :
      "rgba(" + (share > 0 ? "37,117,235" : "224,86,32") + "," +
      (0.08 + 0.5 * Math.min(1, Math.abs(share))).toFixed(3) + ")";
  }
  function start(box) {
    box.dataset.ready = "1";
    var table = JSON.parse(box.dataset.contributions);
    var sides = [0, 1].map(function (side) {
      return Array.prototype.slice.call(box.querySelectorAll(".film-side" + side + " .film-word"));
    });
    var note = box.querySelector(".film-partners"), resting = note.textContent, largest = 0;
    table.forEach(function (row) {
      row.forEach(function (value) { largest = Math.max(largest, Math.abs(value)); });
    });
    function rest() {
      sides.forEach(function (words) {
        words.forEach(function (word) {
          word.classList.remove("film-on");
          shade(word, +word.dataset.share);
        });
      });
      note.textContent = resting;
    }
    function show(side, i) {
      rest();
      sides[side].forEach(function (word) { shade(word, 0); });
      var word = sides[side][i], found = [];
      word.classList.add("film-on");
      sides[1 - side].forEach(function (partner, j) {
        var value = side ? table[j][i] : table[i][j];
        shade(partner, largest ? value / largest : 0);
        if (value) { found.push([value, partner.textContent]); }
      });
      found.sort(function (a, b) { return Math.abs(b[0]) - Math.abs(a[0]); });
      note.textContent = word.textContent + ": " + (found.slice(0, 5).map(function (one) {
        return one[1] + " " + (one[0] < 0 ? "\\u2212" : "+") + Math.abs(one[0]).toPrecision(2);
      }).join(", ") || "no partner");
    }
    sides.forEach(function (words, side) {
      words.forEach(function (word, i) {
        word.removeAttribute("title");
        word.tabIndex = 0;
        word.addEventListener("mouseenter", function () { show(side, i); });
        word.addEventListener("focus", function () { show(side, i); });
        word.addEventListener("click", function () { show(side, i); });
        word.addEventListener("mouseleave", rest);
        word.addEventListener("blur", rest);
      });
    });
  }
  var boxes = document.querySelectorAll(".film-explanation:not([data-ready])");
  Array.prototype.forEach.call(boxes, start);
})();
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{font-family:system-ui,sans-serif;margin:2em}}</style>
</head>
<body>
{body}
</body>
</html>
"""


def explanation_html(explanation: Any, standalone: bool) -> str:
    """Fragment or page of an `Explanation`.

    The script looks for boxes that no script has started yet, so fragments need no names, the same
    explanation gives the same HTML, and a page may show it twice.
    """
    groups1 = _groups(explanation.offsets1, explanation.special1)
    groups2 = _groups(explanation.offsets2, explanation.special2)
    table = _summed(_summed(explanation.contributions, groups1).T, groups2).T
    shown1 = [explanation.text1[start:end] for start, end, _ in groups1]
    shown2 = [explanation.text2[start:end] for start, end, _ in groups2]
    lines = [
        _line(0, explanation.text1, groups1, table, shown2),
        _line(1, explanation.text2, groups2, table.T, shown1),
    ]
    heading = f"{explanation.title}: " if explanation.title else ""
    rest = explanation.similarity - float(table.sum())
    hidden = len(explanation.tokens1) + len(explanation.tokens2)
    hidden -= sum(len(members) for _, _, members in groups1 + groups2)
    notes = [
        f"<p><strong>{_safe(heading)}similarity {explanation.similarity:.4f}</strong></p>",
        *lines,
        '<p class="film-note film-partners" aria-live="polite">Point at a word to see its '
        "partners: blue adds to the similarity, orange takes from it.</p>",
    ]
    if hidden:
        notes.append(f'<p class="film-note">Special tokens, not shown, add {rest:+.4f}.</p>')
    numbers = json.dumps([[float(f"{value:.4g}") for value in row] for row in table.tolist()])
    body = (
        f'<div class="film-explanation" data-contributions="{numbers}">'
        f"<style>{_STYLE}</style>{''.join(notes)}</div><script>{_SCRIPT}</script>"
    )
    if not standalone:
        return body
    return _PAGE.format(title=_safe(explanation.title or "Explanation"), body=body)


def _groups(offsets: np.ndarray, special: np.ndarray) -> list[tuple[int, int, list[int]]]:
    """Stretches of text to show, each with its tokens; tokens that overlap share a stretch.

    Byte-level tokenisers cut one character into several tokens with the same offsets. Tokens
    without characters cannot be shown.
    """
    visible = np.flatnonzero(~special & (offsets[:, 0] < offsets[:, 1]))
    groups: list[tuple[int, int, list[int]]] = []
    for token in sorted(visible.tolist(), key=lambda t: offsets[t].tolist()):
        start, end = offsets[token].tolist()
        if groups and start < groups[-1][1]:
            first, last, members = groups[-1]
            groups[-1] = (first, max(last, end), [*members, token])
        else:
            groups.append((start, end, [token]))
    return groups


def _summed(contributions: np.ndarray, groups: list[tuple[int, int, list[int]]]) -> np.ndarray:
    """Rows of the tokens of each group added up."""
    sums = [contributions[members].sum(axis=0) for _, _, members in groups]
    return np.array(sums).reshape(len(groups), contributions.shape[1])


def _line(
    side: int,
    text: str,
    groups: list[tuple[int, int, list[int]]],
    table: np.ndarray,
    partners: list[str],
) -> str:
    totals = table.sum(axis=1)
    largest = float(np.abs(totals).max(initial=0.0)) or 1.0
    parts, done = [], 0
    for (start, end, _), row, total in zip(groups, table, totals, strict=True):
        share = float(total) / largest
        parts.append(_safe(text[done:start]))
        parts.append(
            f'<span class="film-word" data-share="{share:.4g}" style="{_shade(share)}" '
            f'title="{_safe(_tooltip(row, partners))}">{_safe(text[start:end])}</span>'
        )
        done = end
    parts.append(_safe(text[done:]))
    return f'<p class="film-text film-side{side}" dir="auto">{"".join(parts)}</p>'


def _shade(share: float) -> str:
    if share == 0:
        return ""
    colour = "37,117,235" if share > 0 else "224,86,32"
    return f"background-color:rgba({colour},{0.08 + 0.5 * abs(share):.3f})"


def _tooltip(row: np.ndarray, partners: list[str]) -> str:
    order = np.argsort(-np.abs(row), kind="stable")[:_PARTNERS_IN_TOOLTIP]
    return ", ".join(f"{partners[j]} {row[j]:+.2g}" for j in order if row[j]) or "no partner"


def _safe(text: str) -> str:
    # A lone surrogate cannot be written to any file.
    return escape(text.encode("utf-8", "replace").decode("utf-8"), quote=True)

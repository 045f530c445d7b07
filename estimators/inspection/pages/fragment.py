"""Both texts of an explanation as HTML: pointing at a word highlights its partners."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from estimators.inspection.shown_words import escaped, shown_words

_PARTNERS_IN_TOOLTIP = 5
# Characters that turn the direction of writing would turn the numbers of a tooltip too.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")

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
    var sides = [0, 1].map(function (side) {
      return Array.prototype.slice.call(box.querySelectorAll(".film-side" + side + " .film-word"));
    });
    var partners = sides.map(function (words) { return words.map(function () { return []; }); });
    var note = box.querySelector(".film-partners"), resting = note.textContent, largest = 0;
    JSON.parse(box.dataset.contributions).forEach(function (one) {
      partners[0][one[0]].push([one[1], one[2]]);
      partners[1][one[1]].push([one[0], one[2]]);
      largest = Math.max(largest, Math.abs(one[2]));
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
      sides.forEach(function (words) { words.forEach(function (word) { shade(word, 0); }); });
      var word = sides[side][i];
      word.classList.add("film-on");
      var found = partners[side][i].slice().sort(function (a, b) {
        return Math.abs(b[1]) - Math.abs(a[1]);
      });
      found.forEach(function (one) { shade(sides[1 - side][one[0]], one[1] / largest); });
      // A text that turns the direction of writing must not turn the numbers after it.
      function say(text) {
        var isolated = document.createElement("bdi");
        isolated.textContent = text;
        note.appendChild(isolated);
      }
      note.textContent = "";
      say(word.textContent);
      note.appendChild(document.createTextNode(found.length ? ": " : ": no partner"));
      found.slice(0, 5).forEach(function (one, rank) {
        if (rank) { note.appendChild(document.createTextNode(", ")); }
        say(sides[1 - side][one[0]].textContent);
        note.appendChild(document.createTextNode(" " + (one[1] < 0 ? "\\u2212" : "+") +
          Math.abs(one[1]).toPrecision(2)));
      });
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
    words = shown_words(explanation)
    entries = words.entries
    shown1 = [explanation.text1[start:end] for start, end in words.spans1]
    shown2 = [explanation.text2[start:end] for start, end in words.spans2]
    heading = f"{explanation.title}: " if explanation.title else ""
    notes = [
        f"<p><strong>{escaped(heading)}similarity {explanation.similarity:.4f}</strong></p>",
        _line(0, explanation.text1, words.spans1, words.sums1, entries.tocsr(), shown2),
        _line(1, explanation.text2, words.spans2, words.sums2, entries.T.tocsr(), shown1),
        '<p class="film-note film-partners" aria-live="polite">Point at a word to see its '
        "partners: blue adds to the similarity, orange takes from it.</p>",
    ]
    if words.n_hidden:
        notes.append(
            f'<p class="film-note">Special tokens, not shown, add {words.hidden:+.4f}.</p>'
        )
    if explanation.truncation:
        notes.append(f'<p class="film-note">{escaped(explanation.truncation)}</p>')
    rounded = zip(
        entries.row.tolist(), entries.col.tolist(), np.round(entries.data, 6).tolist(), strict=True
    )
    numbers = json.dumps([list(entry) for entry in rounded if entry[2]], separators=(",", ":"))
    body = (
        f'<div class="film-explanation" data-contributions="{numbers}">'
        f"<style>{_STYLE}</style>{''.join(notes)}</div><script>{_SCRIPT}</script>"
    )
    if not standalone:
        return body
    return _PAGE.format(title=escaped(explanation.title or "Explanation"), body=body)


def _line(
    side: int,
    text: str,
    spans: list[tuple[int, int]],
    sums: np.ndarray,
    contributions: Any,
    partners: list[str],
) -> str:
    largest = float(np.abs(sums).max(initial=0.0)) or 1.0
    parts, done = [], 0
    for row, ((start, end), total) in enumerate(zip(spans, sums, strict=True)):
        share = float(total) / largest
        parts.append(escaped(text[done:start]))
        parts.append(
            f'<span class="film-word" data-share="{share:.3g}"{_shade(share)}'
            f"{_tooltip(contributions, row, partners)}>{escaped(text[start:end])}</span>"
        )
        done = end
    parts.append(escaped(text[done:]))
    return f'<p class="film-text film-side{side}" dir="auto">{"".join(parts)}</p>'


def _shade(share: float) -> str:
    if abs(share) < 0.005:  # could not be told from none
        return ""
    colour = "37,117,235" if share > 0 else "224,86,32"
    return f' style="background-color:rgba({colour},{0.08 + 0.5 * abs(share):.3f})"'


def _tooltip(contributions: Any, row: int, partners: list[str]) -> str:
    stretch = slice(*contributions.indptr[row : row + 2])
    columns, values = contributions.indices[stretch], contributions.data[stretch]
    order = np.argsort(-np.abs(values), kind="stable")[:_PARTNERS_IN_TOOLTIP]
    named = (f"{partners[columns[k]]} {values[k]:+.2g}" for k in order)
    said = _DIRECTION.sub("\N{REPLACEMENT CHARACTER}", ", ".join(named))
    return f' title="{escaped(said)}"' if said else ""

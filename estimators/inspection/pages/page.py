"""Pages of duplicates and of explanations: one self-contained HTML file each, no network."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from estimators.inspection.explanation import Explanation
from estimators.inspection.pages.base import script_of, template, whole_page
from estimators.inspection.pages.shown_words import shown_words
from estimators.inspection.verdict import Verdict
from film.datasets import atomic_writer


def duplicates_page(data: Mapping[str, Any], *, title: str = "Duplicates") -> str:
    """Make a page that shows groups of duplicates and regroups them by a threshold.

    Parameters
    ----------
    data : dict
        Left unchanged. Its keys:

        score_name : {"probability", "similarity"}
            What the scores are.
        threshold : float
            Where the slider starts, at least ``lowest``.
        lowest : float
            The lowest threshold for which ``merges`` are complete.
        texts : list of dict
            One per distinct text: ``id`` (str), ``text`` (str) and ``copies`` (ids of its
            exact copies, list of str).
        merges : list of (a, b, score)
            A hierarchical clustering in falling score. A node below n = ``len(texts)`` is
            a text, n + i is the i-th merge. Cut at t, the merges with ``score >= t`` stay.
        pairs : list of (i, j, score)
            Direct scores of two texts, each pair at most once, in any order of i and j.
        alignments : dict, optional
            ``"i,j"`` to a list of (k, l, contribution): token k of text i and token l of
            text j.
        tokens : dict, optional
            i to the (start, end) of each token of text i, in characters of ``text``; needed
            for each text that is named in ``alignments``.
        notes : list of str, optional
            Shown above the groups.
        n_rows : int, optional
            Rows of the whole table; without, those of ``texts`` and their copies.
        across : bool, optional
            Whether each group is a row of one table and its matches in another.
    title : str, default="Duplicates"
        Title and heading of the page.

    Returns
    -------
    html : str
        For `write_page`. A group is a merge that the cut keeps, or one text with exact
        copies. Its first member is the one that comes first in ``texts``.

    Raises
    ------
    TypeError, ValueError
        If a value is neither text nor a finite number.

    Notes
    -----
    Data go in as JSON within an inert ``script`` element, with ``<``, ``>``, ``&`` and the
    two Unicode line separators escaped; the script makes text nodes of them, never markup.
    A content security policy lets no other script run, no request leave and no string
    become markup. Lone surrogates, which UTF-8 cannot hold, are shown as U+FFFD.

    O(texts + merges + pairs) time here, and in the browser for each threshold.

    Examples
    --------
    >>> from estimators.inspection import duplicates_page
    >>> html = duplicates_page(
    ...     {
    ...         "score_name": "similarity",
    ...         "threshold": 0.8,
    ...         "lowest": 0.5,
    ...         "texts": [
    ...             {"id": "7", "text": "Reset my password", "copies": ["12"]},
    ...             {"id": "9", "text": "How to reset a password?", "copies": []},
    ...         ],
    ...         "merges": [(0, 1, 0.84)],
    ...         "pairs": [(0, 1, 0.84)],
    ...     }
    ... )
    >>> html.startswith("<!doctype html>"), "://" in html
    (True, False)
    """
    defaults = {"alignments": {}, "tokens": {}, "notes": []}
    content = defaults | dict(data)
    # What is judged in a browser belongs to these texts, in this order.
    texts = json.dumps([[entry["id"], entry["text"]] for entry in content["texts"]])
    content["key"] = hashlib.sha256(texts.encode()).hexdigest()
    return _page("duplicates", content, title)


def explanations_page(
    pairs: Iterable[Explanation | Verdict], *, title: str = "Explanations"
) -> str:
    """Make a page that shows which words of two texts meet, pair by pair.

    Parameters
    ----------
    pairs : iterable of Explanation or Verdict
        One per pair. A verdict leads from the typical pair's probability to this one's, and brings
        the words of its first member that has them.
    title : str, default="Explanations"
        Title and heading of the page.

    Returns
    -------
    html : str
        For `write_page`. Contributions and effects are rounded to six decimals.

    See Also
    --------
    duplicates_page : Says how hostile texts are kept from running.

    Examples
    --------
    >>> from estimators.inspection import Explanation, explanations_page
    >>> explanation = Explanation(
    ...     text1="a cat",
    ...     text2="cats",
    ...     tokens1=["a", "cat"],
    ...     tokens2=["cats"],
    ...     offsets1=[[0, 1], [2, 5]],
    ...     offsets2=[[0, 4]],
    ...     contributions=[[0.0], [0.7]],
    ...     similarity=0.7,
    ... )
    >>> "a cat" in explanations_page([explanation])
    True
    """
    return _page("explanations", {"pairs": [_entry(pair) for pair in pairs]}, title)


def write_page(html: str, path: str | os.PathLike[str]) -> None:
    """Write a page as UTF-8, whole or not at all.

    Parameters
    ----------
    html : str
        From `duplicates_page` or `explanations_page`.
    path : str or path-like
        The file to make or to replace.

    Raises
    ------
    OSError
        As in `film.datasets.atomic_writer`.
    """
    with atomic_writer(path, newline="\n") as handle:
        handle.write(html)


def _entry(pair: Explanation | Verdict) -> dict[str, Any]:
    if isinstance(pair, Explanation):
        return shown_words(pair)
    words = next(iter(pair.words.values()), None)
    texts = {"text1": pair.text1, "text2": pair.text2} if words is None else shown_words(words)
    return texts | {"verdict": _verdict(pair)}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    inputs = [("member", one) for one in verdict.members]
    inputs += [("feature", one) for one in verdict.features]
    return {
        "probability": verdict.probability,
        "baseline": verdict.baseline,
        "steps": [
            vars(one) | {"kind": kind, "effect": round(one.effect, 6)}
            for kind, one in sorted(inputs, key=lambda input: -abs(input[1].effect))
        ],
        "sameness": verdict.sameness
        and {"name": verdict.sameness.name, "effect": round(verdict.sameness.effect, 6)},
        "unseen": verdict.unseen,
        "familiarity": verdict.familiarity_note,
        "lines": [note for name in verdict.lines if (note := verdict.line_note(name))],
    }


def _page(name: str, data: Mapping[str, Any], title: str) -> str:
    script = script_of("words.js", "common.js", f"{name}.js")
    return whole_page(title, template(f"{name}.html"), script=script, data=data)

"""Self-contained HTML pages of duplicates and of explanations."""

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
    """Return a page that shows groups of duplicates and regroups them by a threshold.

    Parameters
    ----------
    data : dict
        Not changed. Its keys:

        score_name : {"probability", "similarity"}
            Kind of score.
        threshold : float
            Initial threshold, at least ``lowest``.
        lowest : float
            Lowest threshold for which ``merges`` is complete.
        texts : list of dict
            One per distinct text: ``id`` (str), ``text`` (str) and ``copies`` (ids of its
            exact copies, list of str). Records have ``cells`` (list of str) in place of ``text``.
        merges : list of (a, b, score)
            A hierarchical clustering in order of decreasing score. A node below
            n = ``len(texts)`` is a text, node n + i is the i-th merge. The groups at threshold t
            use the merges with ``score >= t``.
        pairs : list of (i, j, score), (i, j, score, kind) or (i, j, score, kind, k)
            Scores of compared texts, each pair at most once, with i and j in any order. A kind,
            such as "differs in number", is shown next to the score unless it is empty; k is a
            place in ``effects``.
        columns : list of str, optional
            Names of the columns of records.
        effects : list of list of float, optional
            What each column adds to the log-odds; pairs with the same numbers share them.
        alignments : dict, optional
            ``"i,j"`` to a list of (k, l, contribution): token k of text i and token l of
            text j.
        tokens : dict, optional
            i to the (start, end) of each token of text i, in characters of ``text``; needed
            for each text named in ``alignments``.
        notes : list of str, optional
            Shown above the groups.
        n_rows : int, optional
            Number of rows of the table; by default, the texts and their copies.
        across : bool, optional
            Whether each group consists of a row of one table and its matches in another table.
    title : str, default="Duplicates"
        Title and heading of the page.

    Returns
    -------
    html : str
        For `write_page`. A group is a merge at or above the threshold, or one text with exact
        copies. Its first member is the first in the order of ``texts``.

    Raises
    ------
    TypeError, ValueError
        If a value is neither a text nor a finite number.

    Notes
    -----
    The data are JSON in an inert ``script`` element, with ``<``, ``>``, ``&`` and the two Unicode
    line separators escaped. The script creates text nodes, never markup. A content security
    policy forbids other scripts, requests, and markup made from strings. Lone surrogates, which
    UTF-8 cannot hold, are shown as U+FFFD.

    Takes O(texts + merges + pairs) time here, and in the browser for each threshold.

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
    defaults = {"alignments": {}, "tokens": {}, "notes": [], "columns": [], "effects": []}
    content = defaults | dict(data)
    # Decisions made in the browser belong to these texts in this order.
    shown = [[each["id"], each.get("cells") or each["text"]] for each in content["texts"]]
    texts = json.dumps(shown)
    content["key"] = hashlib.sha256(texts.encode()).hexdigest()
    return _page("duplicates", content, title)


def explanations_page(
    pairs: Iterable[Explanation | Verdict], *, title: str = "Explanations"
) -> str:
    """Return a page that shows the matching words of each pair of texts.

    Parameters
    ----------
    pairs : iterable of Explanation or Verdict
        One per pair. A verdict adds the steps from the typical pair's probability to this one's,
        with the words of its first member that has them.
    title : str, default="Explanations"
        Title and heading of the page.

    Returns
    -------
    html : str
        For `write_page`. Contributions and effects are rounded to six decimals.

    See Also
    --------
    duplicates_page : Describes the protection against hostile texts.

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
    """Write a page as UTF-8, atomically.

    Parameters
    ----------
    html : str
        From `duplicates_page` or `explanations_page`.
    path : str or path-like
        File to create or replace.

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
    return texts | _added(pair, texts) | {"verdict": _verdict(pair)}


def _added(verdict: Verdict, shown: dict[str, Any]) -> dict[str, list[float]]:
    """Return what words add to the log-odds, if the shown words are the same."""
    found = {}
    for text in (1, 2):
        words = [one for one in verdict.by_word if one.text == text]
        if not verdict.by_word or [(one.start, one.end) for one in words] != shown.get(
            f"words{text}"
        ):
            return {}
        found[f"added{text}"] = [round(one.effect, 6) for one in words]
    return found


def _verdict(verdict: Verdict) -> dict[str, Any]:
    inputs = [("member", vars(one)) for one in verdict.members]
    inputs += [("feature", vars(one)) for one in verdict.features]
    if verdict.groups:
        groups = verdict.groups.items()
        inputs = [("group", {"name": name, "effect": effect}) for name, effect in groups]
    return {
        "probability": verdict.probability,
        "baseline": verdict.baseline,
        "steps": [
            one | {"kind": kind, "effect": round(one["effect"], 6)}
            for kind, one in sorted(inputs, key=lambda input: -abs(input[1]["effect"]))
        ],
        "sameness": verdict.sameness
        and {"name": verdict.sameness.name, "effect": round(verdict.sameness.effect, 6)},
        "difference": "; ".join([verdict.difference, *verdict.without_notes]),
        "unseen": verdict.unseen,
        "familiarity": verdict.familiarity_note,
    }


def _page(name: str, data: Mapping[str, Any], title: str) -> str:
    script = script_of("words.js", "common.js", f"{name}.js")
    return whole_page(title, template(f"{name}.html"), script=script, data=data)

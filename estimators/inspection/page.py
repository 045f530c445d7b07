"""Pages of duplicates and of explanations: one self-contained HTML file each, no network."""

from __future__ import annotations

import base64
import hashlib
import html as markup
import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

import numpy as np

from estimators.inspection._page_checks import (
    check_keys,
    checked_alignments,
    checked_explanation,
    checked_merges,
    checked_pairs,
    checked_text,
    checked_tokens,
    checked_verdict,
    finite,
)
from film.datasets.writing import atomic_writer

__all__ = ["duplicates_page", "explanations_page", "write_page"]

_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_SURROGATE_OR_NUL = re.compile("[\ud800-\udfff\0]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


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
    title : str, default="Duplicates"
        Title and heading of the page.

    Returns
    -------
    html : str
        For `write_page`. A group is a merge that the cut keeps, or one text with exact
        copies. Its first member is the one that comes first in ``texts``.

    Raises
    ------
    TypeError
        If an id, a text or the title is not a string.
    ValueError
        If a key is missing, an index is out of range or used twice, merges are not in
        falling score, or a number is NaN or infinite. The message names the place.

    Notes
    -----
    Data go in as JSON within an inert ``script`` element, with ``<``, ``>``, ``&`` and the
    two Unicode line separators escaped; the script makes text nodes of them, never markup.
    A content security policy lets no other script run, no request leave and no string
    become markup. Lone surrogates, which UTF-8 cannot hold, are shown as U+FFFD.

    O(texts + merges + pairs) time here, and in the browser for each threshold.

    Examples
    --------
    >>> from estimators.inspection.page import duplicates_page
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
    check_keys("data", data, ("score_name", "threshold", "lowest", "texts", "merges", "pairs"))
    if data["score_name"] not in ("probability", "similarity"):
        raise ValueError(
            f"data['score_name'] must be 'probability' or 'similarity', got {data['score_name']!r}"
        )
    lowest, threshold = (finite(f"data[{key!r}]", data[key]) for key in ("lowest", "threshold"))
    if threshold < lowest:
        raise ValueError(
            f"data['threshold'] must be at least data['lowest'] = {lowest}, got {threshold}: "
            "merges below lowest are not known; lower lowest or raise the threshold"
        )
    texts = [checked_text(i, text) for i, text in enumerate(data["texts"])]
    tokens = checked_tokens(data.get("tokens") or {}, texts)
    content = {
        "score_name": data["score_name"],
        "threshold": threshold,
        "lowest": lowest,
        "texts": texts,
        "merges": checked_merges(data["merges"], len(texts)),
        "pairs": checked_pairs(data["pairs"], len(texts)),
        "alignments": checked_alignments(data.get("alignments") or {}, tokens),
        "tokens": tokens,
        "notes": [str(note) for note in data.get("notes") or ()],
    }
    return _page("duplicates", content, title)


def explanations_page(
    explanations: Sequence[Mapping[str, Any]],
    *,
    title: str = "Explanations",
    verdicts: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """Make a page that shows which words of two texts meet, pair by pair.

    Parameters
    ----------
    explanations : list of dict
        One per pair, left unchanged: ``text1``, ``text2`` (str); ``offsets1`` (m, 2) and
        ``offsets2`` (n, 2), start and end of each token in characters; ``contributions``
        (m, n); ``special1`` (m,) and ``special2`` (n,), true for tokens that are no part of
        the text; ``similarity`` (float); ``title`` (str). Other keys are left aside.
    title : str, default="Explanations"
        Title and heading of the page.
    verdicts : list of dict, optional
        One per explanation: ``probability`` in [0, 1], ``members`` and ``features``, both
        lists of dicts of ``name``, ``value`` and ``effect`` (in log-odds).

    Returns
    -------
    html : str
        For `write_page`. Contributions are rounded to six decimals.

    Raises
    ------
    TypeError
        If a text or the title is not a string.
    ValueError
        If a key is missing, a shape is wrong, an offset lies outside its text, or a number
        is NaN or infinite. The message names the place.

    See Also
    --------
    duplicates_page : Says how hostile texts are kept from running.

    Examples
    --------
    >>> from estimators.inspection.page import explanations_page
    >>> pair = {
    ...     "text1": "a cat",
    ...     "text2": "cats",
    ...     "offsets1": [[0, 1], [2, 5]],
    ...     "offsets2": [[0, 4]],
    ...     "contributions": [[0.0], [0.7]],
    ...     "special1": [False, False],
    ...     "special2": [False],
    ...     "similarity": 0.7,
    ...     "title": "",
    ... }
    >>> "a cat" in explanations_page([pair])
    True
    """
    pairs = [checked_explanation(i, pair) for i, pair in enumerate(explanations)]
    if verdicts is not None:
        if len(verdicts) != len(pairs):
            raise ValueError(
                f"verdicts must have one entry an explanation, got {len(verdicts)} for {len(pairs)}"
            )
        verdicts = [checked_verdict(i, verdict) for i, verdict in enumerate(verdicts)]
    return _page("explanations", {"pairs": pairs, "verdicts": verdicts}, title)


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
        As in `film.datasets.writing.atomic_writer`.
    """
    with atomic_writer(path, newline="\n") as handle:
        handle.write(html)


def _page(name: str, content: Mapping[str, Any], title: str) -> str:
    """Fill the template: every script and style of the page is known to its policy by hash."""
    if not isinstance(title, str):
        raise TypeError(f"title must be a string, got {title!r}")
    style = _template("page.css")
    script = f'(() => {{\n"use strict";\n{_template("common.js")}{_template(f"{name}.js")}}})();\n'
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {_source(style)}",
            f"script-src {_source(script)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
    return Template(_template("page.html")).substitute(
        policy=policy,
        title=markup.escape(_SURROGATE_OR_NUL.sub(_REPLACEMENT, title)),
        style=style,
        body=_template(f"{name}.html"),
        data=_as_json(content),
        script=script,
    )


def _template(name: str) -> str:
    folder = resources.files("estimators.inspection") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """Name a script or style by its hash, as content security policies do."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _as_json(content: Mapping[str, Any]) -> str:
    """JSON that no HTML parser can take for markup; outside strings it has none of these."""
    try:
        plain = json.dumps(
            content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_number
        )
    except ValueError as error:
        raise ValueError(f"values must be finite numbers or text: {error}") from error
    return _UNSAFE.sub(_escaped, plain)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return _REPLACEMENT if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"


def _number(value: Any) -> Any:
    """Plain number of a NumPy one."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"values must be numbers or text, got {value!r} ({type(value).__name__})")

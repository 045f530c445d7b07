"""The prose of a Markdown document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

_BLANK = re.compile(r"\n[^\S\n]*\n\s*")
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?=[\w\"'-]+[ \t]*:)(?:.*\n)*?(?:---|\.\.\.)[ \t]*\n"
    r"|\+\+\+[ \t]*\n(?=[\w\"'-]+[ \t]*=)(?:.*\n)*?\+\+\+[ \t]*\n"
)
_FOOTNOTE = re.compile(r"\[\^[^\[\]\n]+\]:?")
_TAGS = re.compile(
    r"<!--.*?-->|<(script|style)\b.*?</\1>|</?[a-z][^<>]*>", re.IGNORECASE | re.DOTALL
)


def markdown_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a Markdown document, without headings, rules, tables and code.

    Parameters
    ----------
    text : str
        A document with line feeds as line ends.

    Yields
    ------
    paragraph : str
        Without marks of emphasis, links, footnotes and HTML.

    Raises
    ------
    ImportError
        When `markdown-it-py` is not installed.
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise ImportError(
            "reading Markdown needs markdown-it-py: pip install 'film-metric[contexts]'."
        ) from error
    front = _FRONT_MATTER.match(text)
    text = _FOOTNOTE.sub("", text[front.end() :] if front else text)
    # Books indent verse, so indented lines are not code.
    tokens: Any = MarkdownIt("commonmark").enable("table").disable("code").parse(text)
    lines = text.split("\n")
    ended: Any = [*tokens, None]
    for token, inside in pairwise(ended):
        if token.type == "html_block":
            yield from _BLANK.split(_TAGS.sub(" ", token.content))
        elif token.type == "fence" and not _is_closed(token, lines):
            yield from _BLANK.split(token.content)
        elif token.type == "paragraph_open" or _is_prose(token, inside):
            yield "".join(map(_shown, inside.children))


def _is_closed(fence: Any, lines: list[str]) -> bool:
    last = lines[fence.map[1] - 1].strip(" \t>")
    return fence.map[1] > fence.map[0] + 1 and last.startswith(fence.markup)


def _is_prose(token: Any, inside: Any) -> bool:
    """Return whether a parsed heading is really a paragraph above a rule, which is prose."""
    return token.type == "heading_open" and token.markup in "-=" and "\n" in inside.content


def _shown(token: Any) -> str:
    """Return the visible text of a piece of a paragraph."""
    if token.type in ("softbreak", "hardbreak") or token.content.lower().startswith("<br"):
        return " "
    return token.content if token.type in ("text", "text_special", "code_inline") else ""

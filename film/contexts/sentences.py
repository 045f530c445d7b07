"""Split a document into sentences, without its markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

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


MAX_CHARACTERS = 500
"""Maximum length of a sentence in characters."""

_BLANK = re.compile(r"\n[^\S\n]*\n\s*")
_LINE_END = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
# Byte order marks, soft hyphens, joiners of width zero and control characters.
_UNSEEN = re.compile("[\ufeff\u00ad\u200b\u2060\x00-\x08\x0e-\x1b\x7f]")
# An apostrophe between letters is part of a word.
_QUOTES = re.compile(r"[\"“”„«»‘]|(?<!\w)['’]|['’](?!\w)")
_CLOSING = "\"”’'»“"
_ENUMERATOR = re.compile(r"\(?\d{1,4}[.)]$")
_CUTS = (re.compile(r"[;:]\s|--|[—–]"), re.compile(r",\s"), re.compile(r"\s"))


def plain_text(text: str, markdown: bool = True) -> str:
    r"""Reduce a document to its paragraphs of prose, separated by blank lines.

    Lines of a paragraph are joined, and white space becomes single spaces. Paragraphs without a
    letter or number, such as ``* * *``, are dropped, and so are invisible characters: byte order
    marks, soft hyphens, control characters.

    Parameters
    ----------
    text : str
        A document, with any line ends.
    markdown : bool, default=True
        Whether to read Markdown: front matter, headings, rules, tables, blocks of code, HTML
        comments, images and link definitions are dropped; the marks of emphasis, quotes, lists,
        links, footnotes and HTML tags are removed and their text is kept; entities are resolved.
        Otherwise only blank lines separate paragraphs.

    Returns
    -------
    prose : str
        Paragraphs joined by ``"\n\n"``, each without a line end.

    Raises
    ------
    TypeError
        When `text` is not a string.

    Notes
    -----
    Indented lines are prose, not code, since books indent verse. A line of dashes below more than
    one line of text is a rule, not a heading. If a code fence is never closed, only the fence is
    dropped. Time is linear in the length of `text`.

    Examples
    --------
    >>> plain_text("# A Tale\n\n-----\nIt was *very*\ncold.\n\nHe slept.")
    'It was very cold.\n\nHe slept.'
    >>> plain_text("# 1 item\nis left.", markdown=False)
    '# 1 item is left.'
    """
    if not isinstance(text, str):
        raise TypeError(
            f"text must be a str, got {text!r} of type {type(text).__name__}; decode bytes"
        )
    lines = _LINE_END.sub("\n", _UNSEEN.sub("", text))
    paragraphs = markdown_paragraphs(lines) if markdown else _BLANK.split(lines)
    shown = (" ".join(paragraph.split()) for paragraph in paragraphs)
    return "\n\n".join(paragraph for paragraph in shown if _says_something(paragraph))


def split_sentences(
    text: str, language: str = "en", *, max_characters: int = MAX_CHARACTERS
) -> list[str]:
    r"""Split prose into its sentences.

    The rules of `sentencex` for about 300 languages find the ends, without a model. These rules
    never split a quotation, so quotation marks are hidden from them: a long speech is split into
    its sentences. A lower-case continuation after a quoted exclamation or question
    (``"Why?" she asked.``) belongs to the same sentence.

    Parameters
    ----------
    text : str
        Paragraphs separated by blank lines, as `plain_text` returns. No sentence crosses a blank
        line.
    language : str, default="en"
        ISO 639 code. For codes unknown to `sentencex`, the rules of a related language or of
        English are used.
    max_characters : int, default=500
        Longer sentences are cut into pieces of at most this length: at the last semicolon, colon
        or dash in the second half of a piece, else at a comma, else between words, else inside a
        word.

    Returns
    -------
    sentences : list of str
        In order, stripped, each with at least one letter or number. A fragment without either,
        such as a single dash, is joined to its neighbour in the paragraph.

    Raises
    ------
    ImportError
        When `sentencex` is not installed.
    ValueError
        If `max_characters` is below 20.

    Notes
    -----
    Time is linear in the length of `text`.

    Examples
    --------
    >>> split_sentences('"It is late. Must you go?" asked Mr. Poe. He had to.')
    ['"It is late.', 'Must you go?" asked Mr. Poe.', 'He had to.']
    """
    if max_characters < 20:
        raise ValueError(f"max_characters must be at least 20, got {max_characters!r}")
    try:
        # A compiled module without stubs.
        from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError as error:
        raise ImportError(
            "splitting documents into sentences needs sentencex: "
            "pip install 'film-metric[contexts]'."
        ) from error
    sentences: list[str] = []
    for lines in _BLANK.split(text):
        if not _says_something(lines):
            continue
        paragraph = " ".join(lines.split())
        parts = _parts(paragraph, segment(language, _QUOTES.sub(" ", paragraph)))
        for sentence in _joined(parts):
            whole = len(sentence) <= max_characters
            pieces = [sentence] if whole else _cut(sentence, max_characters)
            sentences += filter(_says_something, pieces)
    return sentences


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))


def _parts(paragraph: str, segments: list[str]) -> Iterator[str]:
    """Yield the parts of a paragraph that the segments of its masked copy cover."""
    start = place = 0
    for segment in segments[:-1]:
        place += len(segment)
        # Hidden marks count as white space: closing ones stay, opening ones go to what follows.
        end = place
        stem = start + len(paragraph[start:place].rstrip().rstrip("\"“”„«»‘’' \t"))
        while end > stem and not paragraph[end - 1].isspace():
            end -= 1
        yield paragraph[start:end]
        start = end
    yield paragraph[start:]


def _joined(parts: Iterator[str]) -> Iterator[str]:
    """Yield sentences; fragments without a letter or number are joined to their neighbours."""
    held: list[str] = []
    speaks = False
    for part in map(str.strip, parts):
        if not part:
            continue
        says = _says_something(part)
        continued = held and says and held[-1][-1] in _CLOSING and part[0].islower()
        numbered = len(held) == 1 and _ENUMERATOR.match(held[0])
        if speaks and says and not continued and not numbered:
            yield " ".join(held)
            held, speaks = [], False
        held.append(part)
        speaks = speaks or says
    if held:
        yield " ".join(held)


def _cut(sentence: str, most: int) -> Iterator[str]:
    """Cut a sentence into pieces of at most `most` characters."""
    start = 0
    while len(sentence) - start > most:
        end = start + most
        for pattern in _CUTS:
            places = [m.end() for m in pattern.finditer(sentence, start + most // 2, end)]
            if places:
                end = places[-1]
                break
        yield sentence[start:end].strip()
        start = end
        while start < len(sentence) and sentence[start].isspace():
            start += 1
    yield sentence[start:].strip()

"""The prose of a Markdown document."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_QUOTE = re.compile(r"(?: {0,3}>[ \t]?)+")
_BULLET = re.compile(r"[ \t]*[-*+][ \t]+(?=\S)")
_NUMBER = re.compile(r"[ \t]*(\d{1,9})[.)][ \t]+(?=\S)")
_TABLE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$")
_DEFINITION = re.compile(r" {0,3}\[([^\]]+)\]:[ \t]*")
_META = re.compile(r"[\w.\"'-]+[ \t]*[:=]|[ \t]|#|-(?:[ \t]|$)|[\]})]|$")
_META_ENDS = {"---": ("---", "..."), "+++": ("+++",)}

_UNSHOWN = re.compile(r"<!--|<script\b|<style\b", re.IGNORECASE)
_ENDS = {"<!--": "-->", "<script": "</script>", "<style": "</style>"}
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_CODE = re.compile(r"(?<!`)(`{1,5})(?!`)([^`]+)\1(?!`)")
_IMAGE = re.compile(r"!\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])")
_LINK = re.compile(r"\[([^\[\]]+)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])")
_FOOTNOTE = re.compile(r"\[\^[^\[\]]+\]")
_EMPHASIS = re.compile(r"(?<!\*)\*{1,3}(?!\*)|(?<!_)_{1,3}(?!_)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_LOWERED = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
# Escaped characters wait in a private area of Unicode until the marks around them are gone.
_HIDDEN = 0xF0000


def markdown_paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a Markdown document, without headings, rules, tables and code.

    Parameters
    ----------
    text : str
        With line feeds at the ends of lines.

    Yields
    ------
    paragraph : str
        Lines joined by a space, marks of emphasis, links and HTML removed.
    """
    for lines in _blocks(_without_unshown(text).split("\n")):
        paragraph = " ".join(line.strip().removesuffix("\\") for line in lines)
        yield _shown(paragraph)


def _without_unshown(text: str) -> str:
    """Remove comments, scripts and styles; where one never ends, its start is text."""
    kept, at, lowered = [], 0, None
    endless: set[str] = set()
    for mark in _UNSHOWN.finditer(text):
        opening = mark.group().lower()
        if mark.start() < at or opening in endless:
            continue
        if lowered is None:
            # One character for each, unlike str.lower.
            lowered = text.translate(_LOWERED)
        end = lowered.find(_ENDS[opening], mark.end())
        if end < 0:
            endless.add(opening)
            continue
        kept.append(text[at : mark.start()])
        at = end + len(_ENDS[opening])
    return " ".join([*kept, text[at:]])


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the lines of each paragraph, without the marks that make them one."""
    block: list[str] = []
    in_list = False
    k = _after_metadata(lines)
    fences = _fences(lines)
    while k < len(lines):
        quote = _QUOTE.match(lines[k])
        line = lines[k][quote.end() :] if quote else lines[k]
        starts, lists = not line.strip(), False
        if k in fences:
            starts, line, k = True, "", fences[k]
        elif _UNDERLINE.match(line) and len(block) == 1:
            # Above a longer paragraph the line is read as a rule, so that no prose is lost.
            block, line = [], ""
        elif "|" in line and _TABLE.match(line):
            if block and "|" in block[-1]:
                block.pop()
            starts, line = True, ""
            while k + 1 < len(lines) and "|" in lines[k + 1]:
                k += 1
        elif _HEADING.match(line) or _RULE.match(line) or _UNDERLINE.match(line):
            starts, line = True, ""
        elif mark := _BULLET.match(line) or _opening_number(line, bool(block) and not in_list):
            starts, line, lists = True, line[mark.end() :], True
        elif mark := _DEFINITION.match(line):
            starts, line = True, line[mark.end() :] if mark.group(1).startswith("^") else ""
        if starts and block:
            yield block
            block = []
        if line.strip():
            in_list = lists or (in_list and bool(block))
            block.append(line)
        k += 1
    if block:
        yield block


def _opening_number(line: str, inside: bool) -> re.Match[str] | None:
    """Match the number of a list's item; inside a paragraph only 1 opens a list."""
    mark = _NUMBER.match(line)
    return mark if mark and (not inside or mark.group(1) == "1") else None


def _after_metadata(lines: list[str]) -> int:
    """Return the first line after YAML or TOML front matter."""
    ends = _META_ENDS.get(lines[0].rstrip(), ())
    for k in range(1, len(lines) if ends else 0):
        if lines[k].rstrip() in ends:
            return k + 1 if k > 1 else 0
        if not _META.match(lines[k]) or (k == 1 and not lines[k].strip()):
            break
    return 0


def _fences(lines: list[str]) -> dict[int, int]:
    """Map the first line of each block of code to its last; a fence never closed to itself."""
    blocks: dict[int, int] = {}
    opened, mark = None, ""
    for k, line in enumerate(lines):
        found = _FENCE.match(line)
        if not found:
            continue
        if opened is None:
            opened, mark = k, found.group(1)
            blocks[k] = k
        elif found.group(1).startswith(mark) and line.strip() == found.group(1):
            blocks[opened], opened = k, None
        else:
            blocks[k] = k
    return blocks


def _shown(text: str) -> str:
    """Return what a reader sees of a paragraph."""
    if "\\" in text:
        text = _ESCAPE.sub(lambda match: chr(_HIDDEN + ord(match.group(1))), text)
    if "`" in text:
        text = _CODE.sub(lambda match: _hide(match.group(2)), text)
    if "[" in text:
        text = _FOOTNOTE.sub("", _LINK.sub(r"\1", _IMAGE.sub("", text)))
    if "<" in text:
        text = _TAG.sub("", re.sub(r"<br\s*/?>", " ", text))
    if "*" in text or "_" in text:
        text = _without_emphasis(text)
    if "&" in text:
        text = html.unescape(text)
    if any(_HIDDEN <= ord(letter) < _HIDDEN + 128 for letter in set(text)):
        text = text.translate({_HIDDEN + code: code for code in range(128)})
    return text


def _hide(text: str) -> str:
    return "".join(chr(_HIDDEN + ord(c)) if c.isascii() and not c.isalnum() else c for c in text)


def _without_emphasis(text: str) -> str:
    """Remove pairs of marks that open before a word and close after one; others are text."""
    opened: dict[str, list[tuple[int, int]]] = {"*": [], "_": []}
    dropped: list[tuple[int, int]] = []
    for mark in _EMPHASIS.finditer(text):
        start, end = mark.span()
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        opens, closes = not after.isspace(), not before.isspace()
        if mark.group()[0] == "_":
            opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
        stack = opened[mark.group()[0]]
        while closes and stack and start < end:
            first, last = stack.pop()
            width = min(last - first, end - start)
            dropped += [(last - width, last), (start, start + width)]
            start += width
            if first < last - width:
                stack.append((first, last - width))
        if opens and start < end:
            stack.append((start, end))
    kept, at = [], 0
    for start, end in sorted(dropped):
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])

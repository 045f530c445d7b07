"""Check that a regular expression finds the tokens of any text in bounded time."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any, NamedTuple

LONGEST = 500
MOST_PATHS = 100
"""Maximal number of paths through the alternatives of a pattern."""

MOST_OPEN = 2
"""Maximal number of repeats that can share a sequence of characters: time grows with its power."""

# Python's own parser, because no other one knows its whole syntax.
_parser: Any = importlib.import_module("re._parser")
_ALPHABET = frozenset(map(chr, range(0x250))) | frozenset("٣अबя中あ한 ​‘’“”–—…€\ufeff😀")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}


class _Piece(NamedTuple):
    """A part of a path: its possible characters, first characters, and number of repeats."""

    characters: frozenset[str]
    first: frozenset[str]
    is_open: bool  # whether it has more than one length, and no bound on it or a larger one than 1
    is_needed: bool


_Path = list[_Piece]


def check_token_pattern(pattern: Any) -> None:
    r"""Raise an error if a pattern can take very long for some text.

    Backtracking may try all ways to divide a sequence of characters among repeats. Therefore, each
    round of a nested repeat must begin with a character that nothing else in it can match. At most
    two consecutive repeats may match the same characters, or one if these include a space.

    Raises
    ------
    ValueError
        If a pattern may take longer, or contains a back-reference.

    Examples
    --------
    >>> from estimators.persistence.token_patterns import check_token_pattern
    >>> check_token_pattern(r"(?u)\b\w\w+\b")
    >>> check_token_pattern(r"(\w+)+$")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: token_pattern '(\\w+)+$' may take endless time for a text: it has repeats ...
    """
    if not isinstance(pattern, str):
        return
    try:
        if len(pattern) > LONGEST:
            raise _TooSlow(f"it has {len(pattern):,} characters")
        tree = _parser.parse(pattern)
        for path in _paths(tree, _Characters(tree, pattern)):
            _check_path(path)
    except (_TooSlow, re.error, RecursionError, OverflowError) as error:
        shown = pattern if len(pattern) < 100 else pattern[:100] + "…"
        raise ValueError(
            f"token_pattern {shown!r} may take endless time for a text: "
            f"{error if isinstance(error, _TooSlow) else 'it cannot be read'}; use a simpler one, "
            r"such as '\w+'"
        ) from None


class _TooSlow(Exception):
    """Reason why a pattern is rejected."""


class _Characters:
    """Characters of an alphabet that a single-character part of a pattern matches."""

    def __init__(self, tree: Any, pattern: str) -> None:
        self._flags = tree.state.flags & re.ASCII
        self._folds = re.search(r"\(\?[a-zA-Z]*i", pattern) is not None
        self._alphabet = _ALPHABET | frozenset(pattern)

    def __call__(self, name: str, value: Any) -> frozenset[str] | None:
        """Return the characters; None if the part is not a single character."""
        if name == "ANY":
            return self._alphabet
        if name in ("LITERAL", "NOT_LITERAL"):
            found = self._of(name.removeprefix("NOT_"), value)
            return self._alphabet - found if name == "NOT_LITERAL" else found
        if name != "IN":
            return None
        items = [(str(kind), item) for kind, item in value]
        found = frozenset().union(*(self._of(*item) for item in items if item[0] != "NEGATE"))
        return self._alphabet - found if items[0][0] == "NEGATE" else found

    def _of(self, kind: str, value: Any) -> frozenset[str]:
        if kind == "CATEGORY":
            name = str(value).removeprefix("CATEGORY_")
            one = re.compile(_CATEGORIES[name.removeprefix("NOT_")], self._flags)
            is_not = name.startswith("NOT_")
            return frozenset(c for c in self._alphabet if (one.match(c) is None) == is_not)
        low, high = value if kind == "RANGE" else (value, value)
        found = {c for c in self._alphabet if low <= ord(c) <= high} | {chr(low), chr(high)}
        if self._folds:
            found |= {other for c in found for other in (c.lower(), c.upper())}
        return frozenset(found)


def _paths(tree: Any, characters: _Characters) -> list[_Path]:
    """Return all paths through the alternatives of a pattern."""
    ways: list[_Path] = [[]]
    for op, value in tree:
        more = _ways(str(op), value, characters)
        if len(ways) * len(more) > MOST_PATHS:
            raise _TooSlow(f"it has more than {MOST_PATHS} ways through its alternatives")
        ways = [before + after for before, after in product(ways, more)]
    return ways


def _ways(name: str, value: Any, characters: _Characters) -> list[_Path]:
    found = characters(name, value)
    if found is not None:
        return [[_Piece(found, found, False, True)]]
    if name == "AT":
        return [[]]
    if name in ("ASSERT", "ASSERT_NOT"):
        for path in _paths(value[1], characters):
            _check_path(path)
        return [[]]
    if name in ("SUBPATTERN", "ATOMIC_GROUP"):
        return _paths(value[3] if name == "SUBPATTERN" else value, characters)
    if name == "BRANCH":
        return [path for part in value[1] for path in _paths(part, characters)]
    if name in _REPEATS:
        least, most, body = value
        return _repeated(least, most, body, characters)
    raise _TooSlow("it refers back to a group" if "GROUPREF" in name else f"it has {name}")


def _repeated(least: int, most: int, body: Any, characters: _Characters) -> list[_Path]:
    paths = _paths(body, characters)
    if most <= 1:
        return paths if least else [*paths, []]
    is_one = len(paths) == 1 and all(p.is_needed and not p.is_open for p in paths[0])
    if not is_one or any(str(op) in ("ASSERT", "ASSERT_NOT") for op, _ in body):
        _check_rounds(paths)
    pieces = [piece for path in paths for piece in path]
    whole = frozenset[str]().union(*(piece.characters for piece in pieces))
    first = frozenset[str]().union(*(path[0].first for path in paths if path))
    is_open = least != most or not is_one
    return [[_Piece(whole, first, is_open, least > 0)]]


def _check_rounds(paths: list[_Path]) -> None:
    """Raise an error unless the first character determines where a round of a repeat begins."""
    if not all(path and path[0].is_needed and not path[0].is_open for path in paths):
        raise _TooSlow("it has repeats within repeats")
    firsts = [path[0].characters for path in paths]
    others = [piece for path in paths for piece in path[1:]]
    if any(a & b for a, b in combinations(firsts, 2)) or any(
        first & piece.characters for first in firsts for piece in others
    ):
        raise _TooSlow("it has repeats within repeats")
    # Each round multiplies the paths, so only one is allowed per round.
    if any(sum(piece.is_open for piece in path) > 1 for path in paths):
        raise _TooSlow("it has repeats within repeats")


def _check_path(path: _Path) -> None:
    """Raise an error if too many repeats can share a sequence of characters."""
    for piece, sharing in _shared(path):
        if sharing > (1 if " " in piece.characters else MOST_OPEN):
            raise _TooSlow(f"{sharing} repeats can share a run of characters")


def _shared(path: _Path) -> Iterator[tuple[_Piece, int]]:
    """Yield each repeat, and the number of repeats up to it that can share a sequence with it."""
    for at, piece in enumerate(path):
        if not piece.is_open:
            continue
        sharing = 1
        for before, other in enumerate(path[:at]):
            ends = any(
                p.is_needed and not p.first & other.characters for p in path[before + 1 : at]
            )
            sharing += other.is_open and not ends and bool(other.characters & piece.first)
        yield piece, sharing

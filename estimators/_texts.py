"""Unique texts of pairs, numbered alike on every side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from film.text import normalize_text


class TextIndex:
    """Number texts so that those that read alike after normalisation share a number.

    Attributes
    ----------
    texts : list of str
        The first text seen of each number.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}
        self._raw: dict[str, int] = {}

    def add(self, texts: Iterable[str]) -> np.ndarray:
        """Give the numbers of texts, new ones where needed."""
        return np.fromiter((self._code(text) for text in texts), dtype=np.intp)

    def add_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """Give the (n, c) numbers of checked pairs."""
        return self.add(pairs.ravel()).reshape(pairs.shape)

    def _code(self, raw: str) -> int:
        code = self._raw.get(raw)
        if code is None:
            code = self._codes.setdefault(normalize_text(raw), len(self.texts))
            if code == len(self.texts):
                self.texts.append(raw)
            self._raw[raw] = code
        return code


def as_texts(texts: list[str]) -> np.ndarray:
    """Object array of strings; a fixed-width array of real questions is 200 times larger."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def check_texts(texts: Any, name: str) -> list[str]:
    """List of strings, or an error that names the first element that is none."""
    if isinstance(texts, str):
        raise TypeError(f"{name} is one string; give a list of texts, for instance [{texts!r}]")
    found = list(texts)
    for position, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(
                f"{name}[{position}] = {text!r} is {type(text).__name__}, not a string; drop "
                "missing texts first"
            )
    if not found:
        raise ValueError(f"{name} is empty; give at least one text, or None")
    return found

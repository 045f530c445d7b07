"""Unique texts of pairs, numbered alike on every side, and short numbers to know them by."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.persistence import savable
from film.text import normalize_text, token_text

READINGS: dict[str, Callable[[str], str]] = {
    "normalize_text": normalize_text,
    "token_text": token_text,
}
"""Ways to tell whether two texts read alike, by the name that saved models keep."""


@savable
class TextIndex:
    """Number texts so that those that read alike, by a name in `READINGS`, share a number.

    Attributes
    ----------
    texts : list of str
        The first text seen of each number.
    """

    reading = "normalize_text"  # of indexes that were saved without it

    def __init__(self, reading: str = "normalize_text") -> None:
        self.reading = reading
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
            code = self._codes.setdefault(READINGS[self.reading](raw), len(self.texts))
            if code == len(self.texts):
                self.texts.append(raw)
            self._raw[raw] = code
        return code


def as_texts(texts: list[str]) -> np.ndarray:
    """Object array of strings; a fixed-width array of real questions is 200 times larger."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def distinct_texts(pairs: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Give the texts of checked pairs, sorted and each once, and their (n, c) numbers.

    As `numpy.unique` does, which sorts the texts of all pairs instead of those that differ.
    """
    texts = sorted(set(pairs.flat))
    number = {text: place for place, text in enumerate(texts)}
    codes = np.fromiter(map(number.__getitem__, pairs.flat), dtype=np.intp, count=pairs.size)
    return texts, codes.reshape(pairs.shape)


def check_texts(texts: Any, name: str = "texts", *, encodable: bool = False) -> list[str]:
    """Give the texts of an iterable, or of a frame's one column, as a list of at least one.

    With ``encodable``, for tokenizers, half of a surrogate pair is refused and every text is a
    plain str. Errors start with ``name`` and name the first element that is wrong.
    """
    if isinstance(texts, str):
        raise TypeError(f"{name} is one string; give a list of texts, for instance [{texts!r}]")
    if not isinstance(texts, Iterable):
        raise TypeError(f"{name} is {texts!r}; give a list of texts, or one column of a table")
    given: Any = texts
    shape = np.shape(given) if hasattr(given, "shape") else ()
    if len(shape) > 1:
        if shape[1:] != (1,):
            columns = ", ".join(repr(str(column)) for column in getattr(given, "columns", ()))
            named = f" with the columns {columns}" if columns else ""
            raise ValueError(
                f"{name} has shape {shape}{named}; give the one column that holds the texts"
            )
        # Iterating over a frame would give its column's name.
        given = np.asarray(given, dtype=object)[:, 0]
    found = given.to_pylist() if hasattr(given, "to_pylist") else list(given)  # pyarrow's column
    for position, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(
                f"{name}[{position}] = {text!r:.200} is {type(text).__name__}, not a string; "
                f"{_remedy(text)}"
            )
    if not found:
        raise ValueError(f"{name} is empty; give at least one text")
    if encodable:
        found = [str(text) for text in found]
        check_encodable(found, lambda place: f"{name}[{place}]")
    return found


def check_encodable(texts: Iterable[str], place_of: Callable[[int], str]) -> None:
    """Raise where a text is no Unicode, by the name of its place."""
    for place, text in enumerate(texts):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{place_of(place)} has half of a surrogate pair at character {error.start}, which "
                "stands for no character: read the source with the right encoding, or drop the text"
            ) from None


def place_pairs(
    known: list[str], pairs: np.ndarray, reading: str = "normalize_text"
) -> tuple[list[str], np.ndarray]:
    """Give numbers to the texts of pairs beside known texts.

    Parameters
    ----------
    known : list of str
        Texts as `reading` gives them, each once.
    pairs : ndarray of str, shape (n, 2)
        Checked pairs.
    reading : str, default="normalize_text"
        Name in `READINGS`.

    Returns
    -------
    new : list of str
        Texts that are not known, as they are spelled: they are numbered from ``len(known)`` on.
        Spellings of one new text may embed apart; were one to stand for all, a prediction would
        depend on which pair of the batch came first.
    codes : ndarray of int, shape (n, 2)
        Numbers. Texts of a pair that read alike share one, whichever comes first.
    """
    number = {text: code for code, text in enumerate(known)}
    spelt, position = distinct_texts(pairs)
    normal = [READINGS[reading](text) for text in spelt]
    code = np.array([number.get(text, -1) for text in normal], dtype=np.intp)
    is_new = np.flatnonzero(code < 0)
    code[is_new] = len(known) + np.arange(len(is_new))
    _, same = distinct_texts(as_texts(normal))
    codes = code[position]
    alike = same[position[:, 0]] == same[position[:, 1]]
    codes[alike] = codes[alike].min(axis=1, keepdims=True)
    return [spelt[row] for row in is_new], codes


def tags_of_texts(tags: Any) -> Any:
    """Say in an estimator's tags that it takes texts, and as a classifier two classes."""
    tags.input_tags.two_d_array, tags.input_tags.string = False, True
    if tags.classifier_tags is not None:
        tags.classifier_tags.multi_class = False
    return tags


def _remedy(value: Any) -> str:
    if isinstance(value, bytes):
        return "decode it first"
    if isinstance(value, list | tuple | dict | set):
        return "give one text per entry"
    is_missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    if is_missing or (isinstance(value, float) and value != value):
        return "drop missing texts first"
    return "convert it with str()"


def fingerprints(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Give a number for each text, equal for texts that are equal after normalisation.

    It is the first 8 bytes of BLAKE2b of the normalised text. Among a million remembered texts,
    one new text in 18 million million is taken for a known one.
    """
    digests = [_eight_bytes(normalize_text(text)) for text in texts]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _eight_bytes(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()

"""Number the unique texts of pairs, and compute short fingerprints of texts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.inputs.records import CELL_END
from estimators.persistence import savable
from film.text import normalize_text, token_text

READINGS: dict[str, Callable[[str], str]] = {
    "normalize_text": normalize_text,
    "token_text": token_text,
}
"""Normalisations that make texts equal, by their name in saved models."""


@savable
class TextIndex:
    """Number texts so that those equal under a normalisation of `READINGS` share a number.

    Attributes
    ----------
    texts : list of str
        The first text of each number.
    """

    def __init__(self, reading: str = "normalize_text") -> None:
        self.reading = reading
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}
        self._raw: dict[str, int] = {}

    def add(self, texts: Iterable[str]) -> np.ndarray:
        """Return the numbers of texts; new texts get new numbers."""
        return np.fromiter((self._code(text) for text in texts), dtype=np.intp)

    def add_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """Return the (n, c) numbers of checked pairs."""
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
    """Return an object array of strings; fixed-width arrays can be 200 times larger."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def distinct_texts(pairs: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the sorted unique texts of checked pairs, and their (n, c) numbers.

    Equals `numpy.unique`, but sorts only the unique texts.
    """
    texts = sorted(set(pairs.flat))
    number = {text: place for place, text in enumerate(texts)}
    codes = np.fromiter(map(number.__getitem__, pairs.flat), dtype=np.intp, count=pairs.size)
    return texts, codes.reshape(pairs.shape)


def numbered_texts(texts: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the different texts, in the order of their first places, and each text's number."""
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.intp)
    return list(numbers), codes


def check_texts(texts: Any, name: str = "texts", *, encodable: bool = False) -> list[str]:
    """Return the texts of an iterable, or of a frame with one column, as a non-empty list.

    ``encodable``, for tokenizers, rejects lone surrogates, converts every text to a plain str, and
    writes a space between the cells of a record: tokenizers would join their words.
    Errors start with ``name`` and name the first wrong element.
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
                f"{name} has shape {shape}{named}; give the column that holds the texts"
            )
        # Iterating over a frame would yield its column name.
        given = np.asarray(given, dtype=object)[:, 0]
    found = given.to_pylist() if hasattr(given, "to_pylist") else list(given)  # pyarrow column
    for position, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(
                f"{name}[{position}] = {text!r:.200} is {type(text).__name__}, not a string; "
                f"{_remedy(text)}"
            )
    if not found:
        raise ValueError(f"{name} is empty; give at least one text")
    if encodable:
        found = [str(text).replace(CELL_END, " ") for text in found]
        check_encodable(found, lambda place: f"{name}[{place}]")
    return found


def check_encodable(texts: Iterable[str], place_of: Callable[[int], str]) -> None:
    """Raise an error that names the first text with a lone surrogate."""
    for place, text in enumerate(texts):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{place_of(place)} has half of a surrogate pair at character {error.start}, which "
                "is not a character: read the source with the right encoding, or drop the text"
            ) from None


def place_pairs(known: list[str], pairs: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Assign numbers to the texts of pairs, given known texts.

    Parameters
    ----------
    known : list of str
        Unique texts, as `film.text.token_text` returns them.
    pairs : ndarray of str, shape (n, 2)
        Checked pairs.

    Returns
    -------
    new : list of str
        Unknown texts as spelled, numbered from ``len(known)`` on. Different spellings of a new
        text stay separate, because their embeddings may differ; otherwise a prediction would
        depend on the order of the pairs.
    codes : ndarray of int, shape (n, 2)
        Numbers. Texts of one pair that are equal when normalised share a number.
    """
    number = {text: code for code, text in enumerate(known)}
    spelt, position = distinct_texts(pairs)
    normal = [token_text(text) for text in spelt]
    code = np.array([number.get(text, -1) for text in normal], dtype=np.intp)
    is_new = np.flatnonzero(code < 0)
    code[is_new] = len(known) + np.arange(len(is_new))
    _, same = distinct_texts(as_texts(normal))
    codes = code[position]
    alike = same[position[:, 0]] == same[position[:, 1]]
    codes[alike] = codes[alike].min(axis=1, keepdims=True)
    return [spelt[row] for row in is_new], codes


def tags_of_texts(tags: Any, *, needs_y: bool | None = None) -> Any:
    """Declare text input, and two classes for a classifier, in an estimator's tags.

    ``needs_y`` says whether `fit` needs y; None leaves it as it is.
    """
    tags.input_tags.two_d_array, tags.input_tags.string = False, True
    if tags.classifier_tags is not None:
        tags.classifier_tags.multi_class = False
    if needs_y is not None:
        tags.target_tags.required = needs_y
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
    """Return a number for each text, equal for texts that are equal after normalisation.

    It is the first 8 bytes of the BLAKE2b hash of the normalised text. Among a million stored
    texts, a new text collides with probability 1 in 18 million million.
    """
    digests = [_eight_bytes(normalize_text(text)) for text in texts]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _eight_bytes(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()

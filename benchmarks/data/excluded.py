"""Sentences that are excluded from training and from the choice of models, by their hashes."""

from __future__ import annotations

import hashlib
import os
import re

_HASH = re.compile(r"[0-9a-f]{16}")
_NOT_ASCII_WORD = re.compile(r"[^a-z0-9]+")


def text_hash(text: str) -> str:
    """Name a sentence by 16 hexadecimal digits, as the lists of excluded sentences do.

    The first 16 digits of the SHA-1 of the text in lower case, every run of characters
    outside a-z0-9 replaced by one space, stripped.

    Parameters
    ----------
    text : str
        Any text. All texts without an ASCII letter or digit share one hash.

    Returns
    -------
    digits : str
        16 lower-case hexadecimal digits.

    Examples
    --------
    >>> text_hash("A man is playing a guitar.")
    'aed7b9613b8c8ba9'
    >>> text_hash("a man is -- playing a guitar") == text_hash("A man is playing a guitar.")
    True
    """
    ascii_words = _NOT_ASCII_WORD.sub(" ", text.lower()).strip()
    return hashlib.sha1(ascii_words.encode("ascii"), usedforsecurity=False).hexdigest()[:16]


def read_excluded(path: str | os.PathLike[str]) -> frozenset[str]:
    r"""Read the list of sentences that are excluded from training and model selection.

    Parameters
    ----------
    path : str or path-like
        A file with one `text_hash` per line; blank lines are skipped.

    Returns
    -------
    excluded : frozenset of str
        The 16-digit hashes.

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ValueError
        If a line is not 16 hexadecimal digits; the message names the first one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "exclude.txt"
    >>> _ = path.write_text("aed7b9613b8c8ba9\n")
    >>> read_excluded(path)
    frozenset({'aed7b9613b8c8ba9'})
    >>> folder.cleanup()
    """
    hashes = set()
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            digits = line.strip().lower()
            if digits and not _HASH.fullmatch(digits):
                raise ValueError(
                    f"{path}, line {number}: {digits[:60]!r} is not a hash of 16 hexadecimal "
                    "digits; give one text_hash per line"
                )
            hashes.add(digits)
    return frozenset(hashes - {""})

"""Detect encodings of scripts other than Latin by which decodes bytes to everyday text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection
from functools import cache

# First and last row of everyday characters, their first column, and their least share of a text.
# An encoding stands before those that would take its texts for their own: hangul have the codes
# of Chinese characters, but few of those have the codes of hangul.
_ROWS = {
    "cp932": (0x82, 0x97, 0x40, 0.9),
    "euc_jp": (0xA4, 0xA5, 0xA1, 0.2),  # Kana alone: its other characters have Chinese codes.
    "cp949": (0xB0, 0xC8, 0xA1, 0.95),
    "gb18030": (0xB0, 0xD7, 0xA1, 0.9),
    "big5": (0xA4, 0xC6, 0x40, 0.9),
}
# The letters that make up most of a text, where each is one byte.
_FREQUENT = {
    "cp1251": "оеаинтсрвлкмдпу",
    "koi8_r": "оеаинтсрвлкмдпу",
    "cp1253": "αοιετνσςηυρπκμλόίάέή",
    "cp1255": "יוהלאתרבשמנ",
    "cp1256": "اليمونترةبعدسف",
    "cp874": "านรกอเงมยลวดทสตคหแ่้ัีิ",
}
_LEAST = 0.6
_LETTERS = r"[^\W\d_\x00-\x7f]|[\u0e30-\u0e4e]"
_LETTER = re.compile(_LETTERS)
# Words of another script. Accented Latin letters have ASCII letters beside them, or none at all.
_WORD = re.compile(rf"(?<![A-Za-z])(?:{_LETTERS}){{2,}}(?![A-Za-z])")


def script_encoding(sample: bytes) -> str | None:
    """Return the encoding in which bytes are everyday text of a script other than Latin.

    Examples
    --------
    >>> script_encoding("Как сбросить пароль?".encode("koi8_r"))
    'koi8_r'
    >>> script_encoding("Où est ma commande à Noël?".encode("cp1252"))
    """
    for encoding, (first, last, column, least) in _ROWS.items():
        usual = _characters(encoding, first, last, column)
        if _share(usual, _LETTER, sample, encoding) >= least:
            return encoding
    shares = {name: _share(usual, _WORD, sample, name) for name, usual in _FREQUENT.items()}
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= _LEAST else None


def _share(usual: Collection[str], part: re.Pattern[str], sample: bytes, encoding: str) -> float:
    """Return the share of common letters in parts of a text; 0 if the bytes do not decode."""
    try:
        # The last character may be cut.
        text = codecs.getincrementaldecoder(encoding)().decode(sample).lower()
    except UnicodeDecodeError:
        return 0.0
    n_usual = sum(letter in usual for found in part.findall(text) for letter in found)
    return n_usual / max(len(_LETTER.findall(text)), 1)


@cache
def _characters(encoding: str, first: int, last: int, column: int) -> frozenset[str]:
    codes = [bytes([a, b]) for a in range(first, last + 1) for b in range(column, 0xFF)]
    characters = (code.decode(encoding, "replace") for code in codes)
    return frozenset(filter(_LETTER.fullmatch, characters))

"""Decode text in common encodings."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection
from functools import cache

_UTF8_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_PAGE = re.compile(r"\s*<(!--|\?xml|(!doctype|html|head|body|table|meta|script)\b)", re.IGNORECASE)
_NOT_ASCII = re.compile(b"[\x80-\xff]")
_SAMPLE = 2**16
_FEWEST = 8
"""Bytes beyond ASCII, of which fewer do not tell an encoding."""
_LINE_END = re.compile("\r\n|\r|\n")
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


def decoded(data: bytes, encoding: str | None, source: str, notes: list[str]) -> tuple[str, str]:
    """Return the text and the encoding it was in, as `read_table` documents."""
    if encoding is None and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif encoding is None and data.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    elif encoding is None:
        return _guessed(data, source, notes)
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError as error:
        # Of a file with a byte order mark, the error counts from behind it.
        before = error.object[: error.start].replace(b"\0", b"")
        raise ValueError(
            f"{source}, line {line_of(before.decode('latin-1'))}: "
            f"byte 0x{error.object[error.start]:02x} is not {encoding}; "
            "give the encoding that the file is in, or save it again as UTF-8"
        ) from error
    except (LookupError, UnicodeError, ValueError, TypeError) as error:
        # Some names that Python knows are no encodings of text, such as "undefined" and "idna".
        raise ValueError(
            f"encoding={encoding!r} is unknown or cannot read {source}; use for instance 'utf-8', "
            "'cp1252', 'utf-16' or 'shift_jis', or leave it out"
        ) from error


def refuse_other_kinds(text: str, source: str) -> None:
    """Raise if a text is a web page or holds control characters."""
    if _PAGE.match(text):
        raise ValueError(
            f"{source} is a web page or XML, not a table, such as a page that asks to log in; "
            "download the table itself, or save it as CSV in UTF-8"
        )
    place = text.find("\0")
    if place >= 0:
        raise ValueError(
            f"{source} is not a text table: line {line_of(text[:place])} holds a NUL byte; save it "
            "as CSV in UTF-8, or give encoding='utf-16-le' if it is UTF-16 without its mark"
        )


def line_of(before: str) -> int:
    """Return the number, from 1, of the line that follows a text."""
    return 1 + len(_LINE_END.findall(before))


def _guessed(data: bytes, source: str, notes: list[str]) -> tuple[str, str]:
    """Return UTF-8 or the encoding of another script if they fit, else Windows-1252."""
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        start = error.start
    if encoding := _other_script(data):
        raise ValueError(
            f"{source} is not UTF-8 but looks like {encoding}; give encoding={encoding!r}, or save "
            "the file again as UTF-8"
        )
    wrong = data[start : start + 1]
    line = line_of(data[:start].decode("utf-8"))
    as_windows = wrong.decode("cp1252", "replace")
    sequence = _UTF8_SEQUENCE.search(data)
    if sequence:
        known = line_of(data[: sequence.start()].decode("cp1252", "replace"))
        raise ValueError(
            f"{source} mixes encodings: line {line} holds byte 0x{wrong.hex()} ({as_windows!r} in "
            f"Windows-1252), but line {known} holds {sequence[0].decode('utf-8', 'replace')!r} in "
            "UTF-8; correct either line and save the file as UTF-8, or give "
            "encoding='cp1252' if all of it is Windows-1252"
        )
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError as error:
        line = line_of(data[: error.start].decode("cp1252"))
        raise ValueError(
            f"{source}, line {line}: byte 0x{data[error.start]:02x} is neither UTF-8 nor "
            "Windows-1252; give encoding=, or save the file again as UTF-8"
        ) from error
    notes.append(
        f"{source} is not UTF-8 (line {line}), so it was read as Windows-1252, in which that line "
        f"has {as_windows!r}; if letters look wrong, save it as UTF-8 or give its encoding."
    )
    return text, "cp1252"


def _other_script(data: bytes) -> str | None:
    """Return the encoding of a script other than Latin, from the line of the first odd byte on."""
    start = next(_NOT_ASCII.finditer(data)).start()
    sample = data[data.rfind(b"\n", 0, start) + 1 :][:_SAMPLE]
    odd = len(_NOT_ASCII.findall(sample))
    # A file that is UTF-8 but for some bytes is damaged, or joined from two.
    is_utf8 = 2 * sum(map(len, _UTF8_SEQUENCE.findall(sample))) > odd
    return None if odd < _FEWEST or is_utf8 else script_encoding(sample)


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

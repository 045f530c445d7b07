"""Lines of a file, and errors that name them; used by every reader."""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from film.unpacking import unpacking

_ROWS_SHOWN = 10
_UTF_16 = "not UTF-8 but UTF-16; save the file as UTF-8"
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive; unpack it, and give the file inside",
    b"BZh91AY&SY": "compressed by bzip2; unpack it first",
    b"\xfd7zXZ\x00": "compressed by xz; unpack it first",
    codecs.BOM_UTF16_LE: _UTF_16,
    codecs.BOM_UTF16_BE: _UTF_16,
}
"""Descriptions of unsupported files by their first bytes."""
_CHARACTERS_SHOWN = 80


class Line(NamedTuple):
    """A line of a file.

    Parameters
    ----------
    number : int
        Counted from 1.
        The line with its line end; U+FFFD replaces invalid bytes.
    fault : str, default=""
        Why bytes are invalid and what to do; empty if all are valid.
    repair : str, default=""
        How a line that is not UTF-8 was read; empty for UTF-8.
    """

    number: int
    text: str
    fault: str = ""
    repair: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether the line is valid and contains only whitespace."""
        return not self.fault and not self.text.strip()

    @property
    def fault_without_quoting(self) -> str:
        """Return what is wrong with a line of an unquoted table."""
        if not self.fault and "\r" in self.text.rstrip("\r\n"):
            return "a carriage return inside the line; save the file with line feeds as line ends"
        return self.fault

    def cells(self) -> list[str]:
        """Return the tab-separated cells of a line, without quoting."""
        return self.text.rstrip("\r\n").split("\t")


def read_lines(path: str | os.PathLike[str], *, or_windows: bool = False) -> Iterator[Line]:
    """Yield the lines of a UTF-8 file, without its byte order mark.

    Only line feeds end a line: `str.splitlines` would also split inside sentences.

    Parameters
    ----------
    path : str or path-like
        The file, optionally compressed with gzip under any name.
    or_windows : bool, default=False
        Whether to read lines that are not UTF-8 as Windows-1252, a superset of Latin-1.

    Yields
    ------
    line : Line
        Invalid bytes are reported in the line's `fault`, so that a reader can list all of them.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no file at `path`.
    ValueError
        If a compressed file is truncated or damaged, or decompresses to more than `size_limit`
        bytes, or if the file is in UTF-16 or in another compressed format.
    """
    for number, content in read_bytes(path):
        try:
            yield Line(number, content.decode("utf-8"))
        except UnicodeDecodeError as error:
            yield _repaired(number, content, error.start, or_windows)


def read_bytes(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each line, before `read_lines` decodes them."""
    if not Path(path).exists():
        raise FileNotFoundError(
            f"path: there is no file {os.fspath(path)!r}; give the path of a downloaded file"
        )
    if Path(path).is_dir():
        raise IsADirectoryError(
            f"path: {os.fspath(path)!r} is a folder; give the path of a file inside it"
        )
    with open(path, "rb") as handle:
        head = handle.read(max(map(len, _OTHER_KINDS)))
    if kind := next((what for start, what in _OTHER_KINDS.items() if head.startswith(start)), ""):
        raise wrong_line(path, 1, kind)
    is_packed = head.startswith(b"\x1f\x8b")
    with gzip.open(path, "rb") if is_packed else open(path, "rb") as handle:
        number = 0
        lines = unpacking(handle, Path(path).stat().st_size, path) if is_packed else handle
        try:
            for number, raw in enumerate(lines, start=1):
                yield number, raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = f"the compressed file is cut or broken after it ({error}); download it again"
            raise wrong_line(path, number, reason) from error


def is_text(text: str) -> bool:
    """Return whether UTF-8 can encode a text; JSON can contain lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def sound_lines(path: str | os.PathLike[str]) -> Iterator[Line]:
    """Yield lines as `read_lines` does, but raise ValueError for a line that is not UTF-8."""
    for line in read_lines(path):
        if line.fault:
            raise wrong_line(path, line.number, line.fault)
        yield line


def _repaired(number: int, content: bytes, place: int, or_windows: bool) -> Line:
    wrong = "not UTF-8"
    if or_windows:
        try:
            text = content.decode("cp1252")
            return Line(number, text, repair="read as Windows-1252, since it is not UTF-8")
        except UnicodeDecodeError as error:
            wrong, place = "neither UTF-8 nor Windows-1252", error.start
    fault = f"{wrong} (byte {place + 1} is 0x{content[place]:02x}; save the file as UTF-8)"
    return Line(number, content.decode("utf-8", errors="replace"), fault)


def wrong_line(
    path: str | os.PathLike[str], number: int, reason: str, text: str | None = None
) -> ValueError:
    """Return the error for one line, quoting `text` if given."""
    shown = "" if text is None else f"; it reads {text[:_CHARACTERS_SHOWN]!r}"
    return ValueError(f"{path}, line {number}: {reason}{shown}")


def wrong_rows(
    path: str | os.PathLike[str], problems: Sequence[tuple[int, str]], n_right: int, remedy: str
) -> ValueError:
    """Return one error for all invalid rows of a file, each with its line and the reason."""
    shown = "; ".join(f"line {number}: {reason}" for number, reason in problems[:_ROWS_SHOWN])
    rest = len(problems) - _ROWS_SHOWN
    return ValueError(
        f"{path} has {len(problems)} wrong rows of {len(problems) + n_right}: {shown}"
        f"{f'; and {rest} more' if rest > 0 else ''}; {remedy}"
    )

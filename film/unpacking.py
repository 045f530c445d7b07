"""Compressed data of strangers: how much it may unpack to, so that no file fills the memory."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any, Protocol

__all__ = ["LEAST_LIMIT", "MOST_TIMES", "check_member", "size_limit", "unpacking"]

LEAST_LIMIT = 2**28
"""Bytes that every file may unpack to."""
MOST_TIMES = 100
"""A larger file may unpack to as many times its own size; 3 to 40 are usual."""
_CHUNK = 2**16


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


def size_limit(packed: int) -> int:
    """Return the bytes that a file may unpack to.

    Parameters
    ----------
    packed : int
        Its own size in bytes.

    Returns
    -------
    limit : int
        256 MiB, or 100 times the size where that is more.

    Examples
    --------
    >>> from film.unpacking import size_limit
    >>> size_limit(1000), size_limit(10**8)
    (268435456, 10000000000)
    """
    return max(LEAST_LIMIT, MOST_TIMES * packed)


def unpacking(stream: _Stream, packed: int, source: Any) -> io.BufferedReader:
    r"""Return a stream of unpacked data that stops at the limit.

    Parameters
    ----------
    stream : binary stream
        Unpacks as it is read, and no more than it is asked for, as those of `gzip`, `bz2` and
        `zipfile` do.
    packed : int
        Size of the packed data in bytes.
    source : path or str
        What messages call it.

    Returns
    -------
    stream : io.BufferedReader
        Raises ValueError as soon as more than `size_limit` bytes come out of it, whatever size
        the data declares.

    Examples
    --------
    >>> import gzip, io
    >>> from film.unpacking import unpacking
    >>> packed = gzip.compress(b"a text\n")
    >>> unpacking(gzip.GzipFile(fileobj=io.BytesIO(packed)), len(packed), "a.gz").read()
    b'a text\n'
    """
    return io.BufferedReader(_Limited(stream, packed, source), _CHUNK)


def check_member(info: zipfile.ZipInfo, data: bytes) -> None:
    """Raise unless a member of a zip archive unpacks to the size that it declares.

    Readers stop at the declared size, but may have unpacked all of the member in memory by then.
    The sum of the declared sizes is the caller's to check before.

    Parameters
    ----------
    info : zipfile.ZipInfo
        A member.
    data : bytes
        The archive.

    Raises
    ------
    ValueError
        Where the size is another, or the member is packed by a method that no writer of models
        or workbooks uses.
    """
    if info.compress_type == zipfile.ZIP_STORED:
        size = info.compress_size
    elif info.compress_type == zipfile.ZIP_DEFLATED:
        # Name and extra field lie between a member's own header of 30 bytes and its data.
        at = info.header_offset
        name, extra = (int.from_bytes(data[at + n : at + n + 2], "little") for n in (26, 28))
        start = at + 30 + name + extra
        size = _inflated_size(memoryview(data)[start : start + info.compress_size], info.file_size)
    else:
        raise ValueError(f"{info.filename!r} is packed by another method than deflation")
    if size != info.file_size:
        raise ValueError(f"{info.filename!r} is not of the {info.file_size} bytes it declares")


def _inflated_size(packed: memoryview, most: int) -> int:
    """Size of deflated data, or any greater than ``most`` as soon as it is that."""
    inflater, size = zlib.decompressobj(-zlib.MAX_WBITS), 0
    for start in range(0, len(packed), _CHUNK):
        rest: Any = packed[start : start + _CHUNK]
        while rest and size <= most and not inflater.eof:
            size += len(inflater.decompress(rest, _CHUNK))
            rest = inflater.unconsumed_tail
    while size <= most and not inflater.eof:
        found = len(inflater.decompress(b"", _CHUNK))
        if not found:
            break
        size += found
    return size


class _Limited(io.RawIOBase):
    """Counts what comes out of a stream."""

    def __init__(self, stream: _Stream, packed: int, source: Any):
        self._stream, self._packed, self._source = stream, packed, source
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        found = self._stream.read(len(buffer))
        self._size += len(found)
        limit = size_limit(self._packed)
        if self._size > limit:
            raise ValueError(
                f"{self._source} was refused: its {self._packed:,} bytes unpack to more than "
                f"{limit:,}, the limit, so that no file fills the memory; where you know that it "
                "is as large as that, unpack it first and give what it holds"
            )
        buffer[: len(found)] = found
        return len(found)

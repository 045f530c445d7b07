"""Data of strangers: how much it may unpack to, and arrays that compiled code may follow."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from typing import Any, Protocol

import numpy as np
from numpy.lib import format as npy

__all__ = [
    "LEAST_LIMIT",
    "MOST_TIMES",
    "MOST_TIMES_IN_MEMORY",
    "check_array",
    "check_member",
    "check_sparse",
    "json_size",
    "size_limit",
    "unpacking",
]

LEAST_LIMIT = 2**28
"""Bytes that every file may unpack to."""
MOST_TIMES = 100
"""A larger file may unpack to as many times its own size; 3 to 40 are usual."""
MOST_TIMES_IN_MEMORY = 3
"""Memory that reading a model or a block takes, at most, in times of what it may unpack to."""
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
        Unpacks only as many bytes as are read, like the streams of `gzip`, `bz2` and `zipfile`.
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


def check_array(stream: Any, size: int, source: Any) -> None:
    """Raise unless an array in NumPy's format is as large as its header says, before it is read.

    Parameters
    ----------
    stream : binary stream
        At the start of the array; the header is read from it.
    size : int
        Bytes of the array, header included.
    source : path or str
        What messages call it.

    Raises
    ------
    ValueError
        Where the size is another, or the array holds pickled objects.
    """
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(stream)
    if version not in readers:
        raise ValueError(f"{source} is an array of format {version}, which is not read")
    shape, _, dtype = readers[version](stream)
    if dtype.hasobject:
        raise ValueError(f"{source} holds pickled objects")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise ValueError(f"{source} is not of the size that its header says")


def check_sparse(matrix: Any) -> Any:
    """Give a sparse matrix back, or raise where compiled code would follow an index out of it.

    Parameters
    ----------
    matrix : sparse array or matrix
        In one of the formats CSR and CSC, of any numbers.

    Returns
    -------
    matrix : sparse array or matrix
        The same.

    Raises
    ------
    ValueError
        Where an index lies outside of the shape, the rows do not follow each other, or the format
        is another.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from film.unpacking import check_sparse
    >>> check_sparse(sp.csr_array(np.eye(2))).nnz
    2
    """
    if matrix.format not in ("csr", "csc"):
        raise ValueError(f"sparse format {matrix.format!r} is not supported; use 'csr' or 'csc'")
    # Where the last of them says that there are no entries, scipy looks at none.
    if (np.diff(matrix.indptr) < 0).any():
        raise ValueError("indptr of a sparse matrix must not fall")
    if matrix.data.dtype.kind not in "biufc":
        raise ValueError(f"entries of a sparse matrix are {matrix.data.dtype}, not numbers")
    matrix.check_format(full_check=True)
    return matrix


def json_size(content: bytes) -> int:
    """Most bytes, within a factor of two, that JSON takes once it is read, from its signs alone.

    A dict of one entry takes 40 times its four signs, and a text that holds one character of a
    high plane takes four bytes for each of the others.

    Parameters
    ----------
    content : bytes
        JSON, in UTF-8.

    Returns
    -------
    size : int
        Of the objects of Python.

    Examples
    --------
    >>> from film.unpacking import json_size
    >>> json_size(b"[{}, {}, {}]")
    956
    """
    wide = 4 if b"\\u" in content or not content.isascii() else 1
    signs = {b"{": 240, b"[": 96, b":": 100, b",": 64}
    return wide * len(content) + sum(size * content.count(sign) for sign, size in signs.items())


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
                f"{limit:,} bytes, the limit that protects the memory; if the file is really that "
                "large, unpack it first"
            )
        buffer[: len(found)] = found
        return len(found)

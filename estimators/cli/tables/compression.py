"""Compressed files: detected by their first bytes, written according to their suffix."""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import IO, Any

from film.unpacking import unpacking

COMPRESSIONS = (".gz", ".bz2", ".zip")
_NOT_READ = {
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"\x04\x22\x4d\x18": "LZ4",
}
"""Compressions that are recognised and refused, by the first bytes of a file."""


def inner_name(name: str) -> str:
    """Drop the suffix of a compression."""
    path = PurePath(name)
    return str(path.with_suffix("")) if path.suffix.lower() in COMPRESSIONS else name


def decompressed(data: bytes, name: str, source: str) -> tuple[bytes, str]:
    """Return the content of a gz, bz2 or zip file, and the name that tells its format.

    Files that are not compressed, and Excel workbooks, are returned unchanged. ``source`` is the
    name of the file in messages. Raises ValueError if the file is damaged, has another compression,
    is an archive of several files, or unpacks to more than `film.unpacking.size_limit` bytes.
    """
    for start, kind in _NOT_READ.items():
        if data.startswith(start):
            raise ValueError(
                f"{source} is compressed by {kind}, which is not supported; unpack it, or "
                "compress the table as .gz, .bz2 or .zip"
            )
    try:
        if data.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                return unpacking(packed, len(data), source).read(), inner_name(name)
        if data.startswith(b"BZh"):
            with bz2.BZ2File(io.BytesIO(data)) as packed:
                return unpacking(packed, len(data), source).read(), inner_name(name)
        if data.startswith(b"PK\x03\x04"):
            return _only_member(data, name, source)
    except MemoryError:
        raise
    except Exception as error:  # zipfile and its like raise many kinds of errors
        if type(error) is ValueError:
            raise
        kind = {b"\x1f": "gzipped", b"B": "a bz2 file", b"P": "a zip archive"}[data[:1]]
        raise ValueError(
            f"{source} is {kind}, but encrypted, damaged or cut short ({error}); unpack it first, "
            "or copy it again"
        ) from error
    return data, name


def _only_member(data: bytes, name: str, source: str) -> tuple[bytes, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [
            member
            for member in archive.infolist()
            # Macs add a folder of their own to every archive.
            if not member.is_dir() and not member.filename.startswith("__MACOSX/")
        ]
        names = [member.filename for member in members]
        if "[Content_Types].xml" in names:
            return data, name
        if "film-metric.json" in names:
            raise ValueError(f"{source} is a model, where a table is needed; give it by --model")
        if "content.xml" in names:
            raise ValueError(
                f"{source} is a document of LibreOffice or OpenOffice; save it as .xlsx or CSV"
            )
        if len(members) != 1:
            raise ValueError(
                f"{source} is a zip archive of {len(members)} files"
                f"{': ' + ', '.join(names[:5]) if names else ''}; unpack it, and give one of them"
            )
        with archive.open(members[0]) as packed:
            return unpacking(packed, len(data), source).read(), names[0]


@contextmanager
def compressor(handle: IO[bytes], name: str) -> Iterator[Any]:
    """Yield a binary stream that compresses into a file according to its suffix."""
    suffix = PurePath(name).suffix.lower()
    if suffix == ".gz":
        # Without the time, the same table gives the same bytes.
        with gzip.GzipFile(PurePath(name).stem, "wb", fileobj=handle, mtime=0) as packed:
            yield packed
    elif suffix == ".bz2":
        with bz2.BZ2File(handle, "wb") as packed:
            yield packed
    elif suffix == ".zip":
        with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open(PurePath(name).stem, "w", force_zip64=True) as packed:
                yield packed
    else:
        yield handle

"""Documents from files and folders."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from film.unpacking import unpacking

_PLAIN = (".txt", ".text")
_MARKDOWN = (".md", ".markdown")
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_documents(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Iterator[tuple[str, str]]:
    """Yield documents from Markdown and text files, one at a time.

    Parameters
    ----------
    paths : path or iterable of paths
        Files and folders; each file is a document. From a folder and its subfolders, files are read
        in the order of their names if the names end in ``.md``, ``.markdown``, ``.txt`` or
        ``.text``, optionally followed by ``.gz``; hidden files are skipped. A file that you pass
        yourself may have any name.
    encoding : str, default="utf-8"
        Encoding of files without a byte order mark.
    errors : {"strict", "replace"}, default="strict"
        Whether bytes that are invalid in `encoding` raise an error, or are replaced by U+FFFD.

    Yields
    ------
    name : str
        The path inside the given folder, with ``/`` as separator; the name of a given file.
    text : str
        The whole document, decoded.

    Raises
    ------
    FileNotFoundError
        If a path does not exist; raised before the first document is read.
    ValueError
        If there is no file to read, bytes are invalid in `encoding`, a compressed file is damaged
        or unpacks to more than `size_limit` bytes, or `encoding` is unknown.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (pathlib.Path(folder) / "tale.txt").write_text("It was cold. He slept.")
    ...     list(read_documents(folder))
    [('tale.txt', 'It was cold. He slept.')]
    """
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ValueError(
            f"encoding must be the name of an encoding, such as 'latin-1', got {encoding!r}"
        ) from error
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = _files([Path(path) for path in given])
    return ((name, _read(path, encoding, errors)) for name, path in files)


def is_plain(name: str) -> bool:
    """Return whether a name is that of a plain text, which is never read as Markdown.

    Parameters
    ----------
    name : str
        Name of a file.

    Returns
    -------
    plain : bool
        Whether it ends in ``.txt`` or ``.text``, optionally followed by ``.gz``.
    """
    return name.lower().removesuffix(".gz").endswith(_PLAIN)


def _files(paths: list[Path]) -> list[tuple[str, Path]]:
    files: list[tuple[str, Path]] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"paths: there is no file or folder {os.fspath(path)!r}; give the folder of the "
                "documents or the files themselves"
            )
        if not path.is_dir():
            files.append((path.name, path))
            continue
        inside = [(file.relative_to(path), file) for file in path.rglob("*") if file.is_file()]
        files += [
            (name.as_posix(), file)
            for name, file in sorted(inside)
            if file.name.lower().removesuffix(".gz").endswith(_PLAIN + _MARKDOWN)
            and not any(part.startswith(".") for part in name.parts)
        ]
    if not files:
        shown = ", ".join(repr(os.fspath(path)) for path in paths[:5]) or "an empty list"
        raise ValueError(
            f"paths: there is no document in {shown}; documents of a folder end in "
            f"{', '.join(_MARKDOWN + _PLAIN)} or one of these and .gz"
        )
    return files


def _read(path: Path, encoding: str, errors: str) -> str:
    content = path.read_bytes()
    if path.suffix.lower() == ".gz":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
                content = unpacking(packed, len(content), path).read()
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"{path} is not a complete gzip file ({error}); copy or download it again"
            ) from error
    marked = [name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)]
    used = marked[0] if marked else encoding
    try:
        return content.decode(used, errors)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: byte {error.start + 1} is 0x{content[error.start]:02x}, which "
            f"is not {used}; save the file as UTF-8, or name its encoding (encoding='latin-1'); "
            "errors='replace' of read_documents puts U+FFFD there"
        ) from error

"""Read the zip archive of a saved model, its header and metadata, within size limits."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import pickle
import platform
import re
import zipfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from film.text import printable_text
from film.unpacking import check_array, check_member, json_size, size_limit

FORMAT = 1
HEADER = "film-metric.json"
SCHEMA = "schema.json"
BUNDLE = "model.film"
"""File in the folder of a self-contained model that holds everything except parts' models."""
REGRESSOR = "film_regressor.json"
"""File in the folder of a saved regressor, next to its model."""
CONTEXT_MODEL = "context_model.json"
"""File in the folder of a saved context model, next to its parts."""
# The version of skops; other versions have other forms of entries.
_PROTOCOL = 2
_MEMBER = re.compile(r"[\w-]+\.(json|npy|npz|bin)", re.ASCII)


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the metadata of a saved model, without loading it.

    Parameters
    ----------
    path : str or path-like
        A file or folder written by `save_model`, or a folder saved by a regressor or
        `ContextModel`.

    Returns
    -------
    metadata : dict
        "class", the name of the model's class; "date", when it was saved, in ISO format and UTC;
        "versions", a dict by package; "metadata", the dict given to `save_model`. The
        date is None and the metadata empty if the file does not record them. Everything comes
        from the file and is not verified.

    Raises
    ------
    FileNotFoundError
        If `path` does not exist.
    ValueError
        If it is not a saved model, is damaged, or has a later format.

    See Also
    --------
    save_model : Writes the metadata.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from estimators import FILM, read_metadata, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "metric.film"
    ...     save_model(FILM(d=10), path, metadata={"rows": 1000})
    ...     found = read_metadata(path)
    >>> found["class"], found["metadata"]
    ('FILM', {'rows': 1000})
    """
    if (Path(path) / BUNDLE).is_file():
        path = Path(path) / BUNDLE
    if Path(path).is_dir():
        return _of_folder(Path(path))
    header, schema, _ = open_archive(path)
    return _metadata(header, schema.get("__class__"))


class TooLarge(ValueError):
    """A file would unpack to more than the limit."""


class OpenArchive:
    """Archive of a saved model, checked for complete members within the size limit.

    Parameters
    ----------
    path : path
        Path shown in messages.
    data : bytes
        Content of the file.
    limit : int
        Maximal number of bytes to unpack, and to build from the file.

    Attributes
    ----------
    left : int
        Bytes of the limit that are not used yet.
    """

    def __init__(self, path: str | os.PathLike[str], data: bytes, limit: int) -> None:
        self.path, self.limit, self.left, self._packed = path, limit, limit, len(data)
        self.archive = zipfile.ZipFile(io.BytesIO(data))
        infos = self.archive.infolist()
        self._sizes = {info.filename: info.file_size for info in infos}
        self._check_total()
        if len(self._sizes) < len(infos):
            raise ValueError("it holds two members with the same name")
        for info in infos:
            if not _MEMBER.fullmatch(info.filename) or info.is_dir():
                raise ValueError(f"it holds {info.filename!r}, which does not belong to a model")
            check_member(info, data)
        for info in infos:
            if info.filename.endswith(".npy"):
                with self.archive.open(info) as stream:
                    check_array(stream, info.file_size, repr(info.filename))
            elif info.filename.endswith(".npz"):
                self._check_arrays(info)

    def spend(self, size: int) -> None:
        """Count bytes that will be built.

        Raises
        ------
        TooLarge
            If they exceed the limit.
        """
        self.left -= size
        if self.left < 0:
            raise self._too_large(f"more than {self.limit:,} in memory")

    def take(self, name: str) -> bytes:
        """Return the bytes of a member, and count its unpacked size."""
        self.spend(self._sizes[name])
        return self.archive.read(name)

    def json(self, name: str) -> Any:
        """Return the content of a JSON member, and count its size."""
        content = self.archive.read(name)
        self.spend(json_size(content))
        return json.loads(content)

    def digest(self, header: dict[str, Any]) -> str:
        """Return the hash that the header should hold."""
        others = [name for name in self._sizes if name != HEADER]
        return digest_of(header, ((name, self.archive.read(name)) for name in others))

    def _check_arrays(self, info: zipfile.ZipInfo) -> None:
        """Check a sparse matrix, which is an archive inside the archive."""
        inner = self.archive.read(info)
        with zipfile.ZipFile(io.BytesIO(inner)) as arrays:
            self._sizes[info.filename] += sum(each.file_size for each in arrays.infolist())
            self._check_total()
            for each in arrays.infolist():
                check_member(each, inner)
                with arrays.open(each) as stream:
                    check_array(stream, each.file_size, repr(each.filename))

    def _check_total(self) -> None:
        total = sum(self._sizes.values())
        if total > self.limit:
            raise self._too_large(f"{total:,}")

    def _too_large(self, size: str) -> TooLarge:
        return TooLarge(
            f"{self.path} was refused: its {self._packed:,} bytes would unpack to {size}; the "
            f"limit of {self.limit:,} protects the memory. If you know that the model is that "
            "large, give load_model a larger max_size"
        )


def open_archive(
    path: str | os.PathLike[str], max_size: int | None = None
) -> tuple[dict[str, Any], dict[str, Any], OpenArchive]:
    """Return header, schema and archive of a file within limits; errors as in `load_model`."""
    if not Path(path).exists():
        raise FileNotFoundError(f"path: there is no file {os.fspath(path)!r}; give a model file")
    if Path(path).is_dir():
        raise FileNotFoundError(
            f"{os.fspath(path)} is a folder without {BUNDLE}: it is not a self-contained model; "
            "load a folder that a regressor saved with the load method of its class"
        )
    data = Path(path).read_bytes()
    if data[:1] == pickle.PROTO:
        raise ValueError(
            f"{path} is a pickle, which can run any code when loaded, so it was not read; save "
            "the model with save_model"
        )
    limit = size_limit(len(data)) if max_size is None else max_size
    try:
        archive = OpenArchive(path, data, limit)
        header = archive.json(HEADER)
        number = header["format"]
        known = type(number) is int and number <= FORMAT
        schema = archive.json(SCHEMA) if known else {}
        if not isinstance(header["versions"], dict) or (known and schema["protocol"] != _PROTOCOL):
            raise ValueError("wrong header")
        if known and header.get("digest", digest := archive.digest(header)) != digest:
            raise ValueError("its members were not saved together")
    except (MemoryError, TooLarge):
        raise
    except Exception as error:  # broken archives and contents raise many kinds of errors
        raise ValueError(
            f"{path} is not a model file, or was truncated ({type(error).__name__}: "
            f"{printable_text(str(error), 500)}); copy it again, or save the model with save_model"
        ) from error
    if not known:
        raise ValueError(
            f"{path} has format {number!r}, this version of film-metric reads up to {FORMAT}; "
            "install a newer film-metric"
        )
    return header, schema, archive


def digest_of(header: dict[str, Any], members: Iterable[tuple[str, bytes]]) -> str:
    """Return the hash of a header without its own hash, and of all members by name.

    It detects damage, not manipulation: anyone who changes a file can recompute the hash.
    """
    content: list[Any] = [{name: said for name, said in header.items() if name != "digest"}]
    content += sorted([name, hashlib.sha256(member).hexdigest()] for name, member in members)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def now() -> str:
    """Return the current time in ISO format and UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect a saved model."""
    found = {"python": platform.python_version()}
    for package in ("film-metric", "scikit-learn", "numpy"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _metadata(header: dict[str, Any], name: Any) -> dict[str, Any]:
    """Return the result of `read_metadata`, with defaults for missing entries."""
    date, metadata = header.get("date"), header.get("metadata")
    return {
        "class": str(name),
        "date": date if isinstance(date, str) else None,
        "versions": header.get("versions") or {},
        "metadata": metadata if isinstance(metadata, dict) else {},
    }


def _of_folder(folder: Path) -> dict[str, Any]:
    path = folder / (CONTEXT_MODEL if (folder / CONTEXT_MODEL).is_file() else REGRESSOR)
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no {REGRESSOR}: it is not a saved regressor, nor a ContextModel, which "
            f"has {CONTEXT_MODEL}"
        )
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return _metadata(found, found["class"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged ({error!r}); fetch or save it again") from error

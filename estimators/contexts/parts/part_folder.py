"""The folder of a model of contexts: parts by what they are made of, each whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from estimators.training import Checkpoint
from film.datasets import atomic_writer

FORMAT = 1
PART, WEIGHTS, RUN = "part.json", "weights.safetensors", "run"
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*(/[\w-]+(\.[\w-]+)*)*", re.ASCII)


class ScratchFolder:
    """A new folder that is removed when nothing holds this object any more, or Python ends.

    Attributes
    ----------
    name : str
        Where it is.
    """

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="context-model-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


class PartFolder:
    """One part of a model: arrays and JSON in a folder named by what the part is made of.

    Parts of equal making are made once, whichever model asks: models that differ in their
    generator share corpus, vocabulary and discriminator.

    Parameters
    ----------
    root : Path
        Folder of all parts.
    kind : str
        "vocabulary", "discriminator", ...
    made_of : dict
        What the part depends on, as JSON holds it.

    Attributes
    ----------
    folder : Path
        Of the part; may be missing.
    """

    def __init__(self, root: Path, kind: str, made_of: dict[str, Any]) -> None:
        self.made_of = json.loads(json.dumps({"format": FORMAT, **made_of}))
        text = json.dumps([kind, self.made_of], sort_keys=True)
        key = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        self.folder = root / f"{kind}-{key}"

    @property
    def name(self) -> str:
        """Of the folder in that of the model."""
        return self.folder.name

    def complete(self) -> dict[str, Any] | None:
        """Give what was said of the part, or None where it is not finished."""
        if not (self.folder / PART).is_file():
            return None
        said = read_part(self.folder)
        return said if said["is_complete"] else None

    def checkpoint(self) -> Checkpoint:
        """Where a run of training keeps its state until the part is finished."""
        return Checkpoint(self.folder / RUN, self.made_of)

    @contextmanager
    def file(self, name: str) -> Iterator[Any]:
        """Open a file of the part for writing bytes; it has the name once it is whole."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_writer(self.folder / name, "wb") as handle:
            yield handle

    def finish(
        self,
        said: dict[str, Any],
        arrays: dict[str, np.ndarray] | None = None,
        *,
        is_complete: bool = True,
        digest: str | None = None,
    ) -> dict[str, Any]:
        """Write arrays and what is to be known of the part, which makes it one.

        A part whose weights lie in other files gives their ``digest``.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        if arrays is not None:
            from safetensors.numpy import save

            data = save(arrays)
            digest = hashlib.blake2b(data, digest_size=16).hexdigest()
            with self.file(WEIGHTS) as handle:
                handle.write(data)
        text = {
            "made_of": self.made_of,
            "weights": digest,
            "is_complete": is_complete,
            "said": said,
        }
        with self.file(PART) as handle:
            handle.write(json.dumps(text, indent=1, allow_nan=False).encode())
        if is_complete:
            shutil.rmtree(self.folder / RUN, ignore_errors=True)
        return read_part(self.folder)


def part_path(root: Path, name: str) -> Path:
    """Give the folder of a part, or raise ValueError unless it lies in ``root`` itself."""
    path = root / name
    if Path(name).name != name or path.resolve().parent != root.resolve():
        raise ValueError(
            f"a part of the model lies outside of its folder {root}, in {name!r}; give the folder "
            "that ContextModel.save wrote"
        )
    return path


def read_part(folder: Path) -> dict[str, Any]:
    """Give the JSON of a part.

    Raises
    ------
    FileNotFoundError, ValueError
        If the part is not there, damaged, or of another version.
    """
    path = folder / PART
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is not there or not whole: fit the model again")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        version = found["made_of"]["format"]
        _ = found["weights"], found["is_complete"], found["said"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error!r}); delete {folder} and fit again") from error
    if version != FORMAT:
        raise ValueError(f"{path} has format {version!r}, which this version does not read")
    return found


def read_weights(folder: Path) -> dict[str, np.ndarray]:
    """Give the arrays of a part.

    Raises
    ------
    FileNotFoundError, ValueError
        If they are not there, or not those that were written.
    """
    from safetensors.numpy import load

    path, said = folder / WEIGHTS, read_part(folder)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there: fit the model again")
    data = path.read_bytes()
    if hashlib.blake2b(data, digest_size=16).hexdigest() != said["weights"]:
        raise ValueError(f"{path} is damaged or was changed; delete {folder} and fit again")
    return load(data)


@contextmanager
def array_writer(path: Path, shape: tuple[int, ...], dtype: Any) -> Iterator[np.ndarray]:
    """Give an array on disk to fill; it has the name ``path`` once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    found = np.lib.format.open_memmap(partial, "w+", dtype, shape)
    try:
        yield found
        found.flush()
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def packed_files(root: Path, folders: dict[str, str]) -> dict[str, np.ndarray]:
    """Give the bytes of all files of some folders of ``root``, each by the name it is to have."""
    found = {}
    for new, folder in folders.items():
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root / folder)
            if path.is_file() and RUN not in inside.parts:
                name = (Path(new) / inside).as_posix()
                found[name] = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    return found


def unpack_files(root: Path, files: dict[str, np.ndarray]) -> None:
    """Write the files that `packed_files` gave.

    Raises
    ------
    ValueError
        If a name would lead out of ``root``.
    """
    for name, data in files.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"the model holds a file {name!r}, which is no name of a part's")
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(np.asarray(data, dtype=np.uint8).tobytes())


def new_folder(target: Path, write: Callable[[Path], Any]) -> None:
    """Make a new folder of what ``write`` puts into one, whole or not at all.

    Raises
    ------
    OSError
        If it cannot be written; nothing stays then.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        write(partial)
        mask = os.umask(0)
        os.umask(mask)
        partial.chmod(0o777 & ~mask)
        partial.replace(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise

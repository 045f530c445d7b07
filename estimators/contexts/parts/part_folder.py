"""The folder of a model of contexts; each part is named by a hash of its settings."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from film.datasets import atomic_writer

FORMAT = 1
PART, WEIGHTS, RUN = "part.json", "weights.safetensors", "run.pt"
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*(/[\w-]+(\.[\w-]+)*)*", re.ASCII)


class ScratchFolder:
    """A new folder, removed when this object is no longer used or Python ends.

    Attributes
    ----------
    name : str
        Its path.
    """

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="context-model-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


class PartFolder:
    """One part of a model: arrays and JSON in a folder named by a hash of its settings.

    The JSON is written last, so a part without it is unfinished.

    Parameters
    ----------
    root : Path
        Folder of the model.
    kind : str
        First half of the name.
    made_of : dict
        Everything that the part depends on, as JSON; its hash is the second half of the name.
    """

    def __init__(self, root: Path, kind: str, made_of: dict[str, Any]) -> None:
        self.made_of = json.loads(json.dumps({"format": FORMAT, **made_of}))
        text = json.dumps([kind, self.made_of], sort_keys=True)
        self.name = f"{kind}-{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"
        self.folder = root / self.name
        self.run_file = self.folder / RUN

    def is_complete(self) -> bool:
        """Return whether the part is finished; if not, create its folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return (self.folder / PART).is_file() and read_part(self.folder)["is_complete"]

    def finish(
        self,
        said: dict[str, Any],
        arrays: dict[str, np.ndarray] | None = None,
        *,
        is_complete: bool = True,
    ) -> None:
        """Write arrays as safetensors, and then the JSON.

        Parameters
        ----------
        said : dict
            Any JSON to keep with the part.
        arrays : dict of str to ndarray, default=None
            Arrays to keep.
        is_complete : bool, default=True
            False for an interrupted training: the part is usable, and the next fit continues.
        """
        digest = None
        if arrays is not None:
            from safetensors.numpy import save

            data = save(arrays)
            digest = _digest(data)
            (self.folder / WEIGHTS).write_bytes(data)
        text = {
            "made_of": self.made_of,
            "weights": digest,
            "is_complete": is_complete,
            "said": said,
        }
        with atomic_writer(self.folder / PART) as handle:
            json.dump(text, handle, indent=1, allow_nan=False)
        if is_complete:
            self.run_file.unlink(missing_ok=True)


def part_path(root: Path, name: str) -> Path:
    """Return the folder of a part, or raise ValueError unless it is directly inside ``root``."""
    path = root / name
    if Path(name).name != name or path.resolve().parent != root.resolve():
        raise ValueError(
            f"a part of the model lies outside of its folder {root}, in {name!r}; give the folder "
            "that ContextModel.save wrote"
        )
    return path


def read_part(folder: Path) -> dict[str, Any]:
    """Return the JSON of a part.

    Raises
    ------
    FileNotFoundError, ValueError
        If the part is missing, damaged, or from another version.
    """
    path = folder / PART
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is missing or not finished: fit the model again")
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
    """Return the arrays of a part.

    Raises
    ------
    FileNotFoundError, ValueError
        If they are missing or have changed.
    """
    from safetensors.numpy import load

    data = (folder / WEIGHTS).read_bytes()
    if _digest(data) != read_part(folder)["weights"]:
        raise ValueError(f"{folder / WEIGHTS} was changed; delete {folder} and fit again")
    return load(data)


def open_array(path: Path) -> np.ndarray:
    """Memory-map an array; raise ValueError if it is damaged."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is damaged ({error}); fit the model again") from error


def packed_files(root: Path, folders: dict[str, str]) -> dict[str, np.ndarray]:
    """Return the bytes of all files of some folders of ``root``, by their new names."""
    found = {}
    for new, folder in folders.items():
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.name != RUN:
                name = (Path(new) / path.relative_to(root / folder)).as_posix()
                found[name] = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    return found


def unpack_files(root: Path, files: dict[str, np.ndarray]) -> None:
    """Write the files of `packed_files`; raise ValueError if a name leaves ``root``."""
    for name, data in files.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"the model contains a file {name!r}, which does not belong to a part")
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(np.asarray(data, dtype=np.uint8).tobytes())


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()

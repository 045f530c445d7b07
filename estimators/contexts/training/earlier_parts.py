"""Read the parts of models of contexts that earlier versions saved."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from film.contexts import read_corpus
from film.unpacking import check_array


def part_reader(root: Path) -> Callable[[str], bytes]:
    """Return a function from a name in a folder to the bytes of this file.

    It raises ValueError for a file that is not directly in a folder of ``root``.
    """

    def read(name: str) -> bytes:
        path = (root / name).resolve()
        if path.parent.parent != root.resolve():
            raise ValueError(f"{name!r} lies outside of the folder of the model, {root}")
        return path.read_bytes()

    return read


def read_parts(
    read: Callable[[str], bytes], parts: dict[str, str], **settings: Any
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return settings and arrays of a model, as `build` makes them.

    Parameters
    ----------
    read : callable
        From the name of a file, such as "corpus/hashes.bin", to its bytes.
    parts : dict of str to str
        Folder of each part, by kind.
    **settings
        "seed" and "sides" of the model.

    Raises
    ------
    KeyError, OSError, ValueError
        If a part is missing or damaged.
    """
    corpus = read_corpus(lambda name: read(f"{parts['corpus']}/{name}"))
    said = {kind: json.loads(read(f"{name}/part.json")) for kind, name in parts.items()
            if kind != "corpus"}  # fmt: skip
    settings |= {"names": corpus.names, "chunk_length": corpus.chunk_length}
    settings["tokenizer"] = said["vocabulary"]["said"]["tokenizer"]
    settings["max_length"] = said["vocabulary"]["made_of"]["max_length"]
    settings |= {kind: said[kind]["made_of"] for kind in ("discriminator", "generator")
                 if kind in said}  # fmt: skip
    text = "\n".join(corpus.sentences).encode()
    arrays = {"text": np.frombuffer(text, dtype=np.uint8), "documents": corpus.documents}
    arrays["codes"] = corpus.codes
    for kind in ("retrieval", "spelling", "discriminator", "generator"):
        if kind in said:
            weights = _weights(read, parts[kind], said[kind]["weights"])
            arrays |= {f"{kind}.{name}": each for name, each in weights.items()}
    content = read(f"{parts['discriminator']}/contexts.npy")
    check_array(io.BytesIO(content), len(content), "contexts.npy")
    arrays["contexts"] = np.load(io.BytesIO(content), allow_pickle=False)
    return settings, arrays


def _weights(read: Callable[[str], bytes], part: str, digest: str) -> dict[str, np.ndarray]:
    from safetensors.numpy import load

    data = read(f"{part}/weights.safetensors")
    if hashlib.blake2b(data, digest_size=16).hexdigest() != digest:
        raise ValueError(f"{part}/weights.safetensors was changed")
    return load(data)

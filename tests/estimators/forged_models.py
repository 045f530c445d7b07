"""Model files that are taken apart and put together again, changed."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np


def members_of(path: Path) -> dict[str, bytes]:
    """Members of a model file; its header without the hash of the rest."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(content["film-metric.json"])
    header.pop("digest", None)
    return content | {"film-metric.json": json.dumps(header).encode()}


def write_members(path: Path, content: dict[str, bytes], packing: int = zipfile.ZIP_STORED) -> None:
    """Write a model file of members."""
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def node(kind, name, **entries):
    """An entry of a schema, of a class or function by its name."""
    module, _, short = name.rpartition(".")
    return {"__loader__": f"{kind}Node", "__module__": module, "__class__": short, **entries}


def plain(value):
    """A text, number or list."""
    return node("Json", "builtins.str", content=json.dumps(value), is_json=True)


def row(*items, kind="List", name=None, **more):
    """A list, or another sequence."""
    return node(kind, name or f"builtins.{kind.lower()}", content=list(items), **more)


def mapping(**values):
    """A dict of texts to entries."""
    keys = row(*[node("Type", "builtins.str") for _ in values])
    return node("Dict", "builtins.dict", content=values, key_types=keys)


def reduced(name, *arguments):
    """A call."""
    return node("ConstructorFromReduce", name, content=row(*arguments, kind="Tuple"))


def array_file(values, **options):
    """An array as NumPy writes it."""
    buffer = io.BytesIO()
    np.save(buffer, values, **options)
    return buffer.getvalue()

"""Model files that are taken apart and put together again, changed."""

import json
import zipfile
from pathlib import Path


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

"""Every reader of a file on damaged files: it reads them, or says clearly what is wrong."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import resource
import signal
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data.excluded import read_excluded, text_hash
from benchmarks.faulty.damage import damaged
from estimators import LexicalFeatures, load_model, read_metadata, save_model
from estimators.cli import read_table
from film.contexts import read_documents

CLEAR = (ValueError, TypeError, OSError, ImportError)
"""What a reader may raise; of these, a message that names the file or what is wrong in it."""
UNCLEAR = (UnicodeError, json.JSONDecodeError, zipfile.BadZipFile, io.UnsupportedOperation)
"""Errors of others, which happen to be of those kinds and name no file."""
MOST_SECONDS = 10
MOST_BYTES = 2 * 2**30

TEXTS = ("How do I learn chess?", "What is the best way to learn chess?", "Where is Paris?", "Hi")


@dataclass
class Tally:
    """What became of the inputs of one case."""

    read: int = 0
    refused: int = 0
    failed: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        """All of them."""
        return self.read + self.refused + self.failed

    def fail(self, kind: str, content: bytes = b"", n: int = 1) -> None:
        """Count failures of a kind, and keep the first."""
        self.failed += n
        self.kinds[kind] += 1
        if self.kinds[kind] == 1:
            self.examples.append((kind, content))


class Late(BaseException):
    """Too many seconds were spent; of no kind that a reader catches."""


@contextmanager
def limits(seconds: int = MOST_SECONDS) -> Iterator[None]:
    """Interrupt what takes too long, and refuse memory beyond what a small file can need."""

    def ring(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    size, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, hard))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))


def readers(folder: Path) -> dict[str, tuple[Path, Callable[[Path], Any]]]:
    """Write a whole file for each reader, and give the reader beside it."""
    story = '# A tale\n\nIt was cold. "Who?" he said.\n\n- one\n- two\n\n`x` and [a link](b).\n'
    (folder / "saved").mkdir()
    objects = [{"text": text, "n": n, "x": None} for n, text in enumerate(TEXTS)]
    table = "id;text\n" + "".join(f'{n};"{text}"\n' for n, text in enumerate(TEXTS))
    whole: dict[str, tuple[str, bytes, Callable[[Path], Any]]] = {
        "read_excluded": (
            "exclude.txt",
            "".join(text_hash(text) + "\n" for text in TEXTS).encode(),
            read_excluded,
        ),
        "read_table, CSV": ("t.csv", table.encode(), read_table),
        "read_table, no suffix": ("table", table.encode(), read_table),
        "read_table, UTF-16": ("wide.tsv", table.replace(";", "\t").encode("utf-16"), read_table),
        "read_table, JSON": ("t.json", json.dumps(objects).encode(), read_table),
        "read_table, JSON lines": (
            "t.jsonl",
            "".join(json.dumps(row) + "\n" for row in objects).encode(),
            read_table,
        ),
        "read_table, gzip": ("t.csv.gz", gzip.compress(table.encode()), read_table),
        "read_table, zip": ("t.csv.zip", _zipped("t.csv", table.encode()), read_table),
        "read_table, bz2": ("t.csv.bz2", bz2.compress(table.encode()), read_table),
        "read_table, Excel": ("t.xlsx", _excel(), read_table),
        "read_table, Parquet": ("t.parquet", _parquet(objects), read_table),
        "read_documents": ("tale.md", story.encode(), lambda path: list(read_documents(path))),
        "read_metadata, of a folder": (
            "saved/film_regressor.json",
            json.dumps({"class": "RCMDRegressor", "format": 1, "versions": {}}).encode(),
            lambda path: read_metadata(path.parent),
        ),
        "load_model": ("model.film", _model(folder / "made.film"), load_model),
        "read_metadata": ("metadata.film", _model(folder / "again.film"), read_metadata),
    }
    found = {}
    for name, (place, content, reader) in whole.items():
        path = folder / place
        path.write_bytes(content)
        reader(path)  # what is whole is read
        found[name] = path, reader
    return found


def fuzzed(path: Path, reader: Callable[[Path], Any], n: int, seed: int) -> Tally:
    """Read so many damaged copies of a whole file in its place, and count what happens."""
    tally, content = Tally(), path.read_bytes()
    rng = np.random.default_rng(seed)
    try:
        for _ in range(n):
            judge(tally, path, reader, damaged(content, rng))
    finally:
        path.write_bytes(content)
    return tally


def judge(tally: Tally, path: Path, reader: Callable[[Path], Any], content: bytes) -> None:
    """Read a file of this content, and count what happens."""
    path.write_bytes(content)
    try:
        with warnings.catch_warnings(), limits():
            warnings.simplefilter("ignore")
            reader(path)
        tally.read += 1
    except UNCLEAR as error:
        tally.fail(f"{type(error).__name__} of another", content)
    except CLEAR as error:
        if str(error):
            tally.refused += 1
        else:
            tally.fail(f"{type(error).__name__} without a word", content)
    except Late:
        tally.fail(f"more than {MOST_SECONDS} s", content)
    except Exception as error:
        tally.fail(type(error).__name__, content)


def _zipped(name: str, content: bytes) -> bytes:
    place = io.BytesIO()
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return place.getvalue()


def _excel() -> bytes:
    from openpyxl import Workbook

    book, place = Workbook(), io.BytesIO()
    sheet: Any = book.active
    for row in (["id", "text"], *enumerate(TEXTS)):
        sheet.append(list(row))
    book.save(place)
    return place.getvalue()


def _parquet(objects: list[dict[str, Any]]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    place = io.BytesIO()
    columns = {"text": [row["text"] for row in objects], "n": [row["n"] for row in objects]}
    parquet.write_table(pyarrow.table(columns), place)
    return place.getvalue()


def _model(path: Path) -> bytes:
    save_model(LexicalFeatures().fit([TEXTS[:2], TEXTS[2:]]), path)
    return path.read_bytes()

"""Models of strangers: whole ones with one change each, by what is in them.

A change keeps the rest whole: hashes are made again, so that nothing but the checks of what is
inside stands between a file and the memory, the disk and compiled code. Every file is read, and
used where it was read, in a process of its own, which may open nothing but that file, start
nothing, take no more memory than is promised, and no more than 10 seconds.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from threadpoolctl import threadpool_limits

from benchmarks.faulty.readers import CLEAR, MOST_BYTES, MOST_SECONDS, UNCLEAR, Tally
from estimators import DuplicateFinder, fast_duplicates, load_model, save_model
from film.datasets import make_question_pairs
from film.unpacking import MOST_TIMES_IN_MEMORY, size_limit

Members = dict[str, bytes]
HEADER = "film-metric.json"
NUMBERS = (-1, 0, 1, 2, 10**6, 2**31 - 1, 2_000_000_000, 2**63 - 1, -(2**63), 10**12, 1e308, None)
TEXTS = ("filename", "../x", "/dev/zero", "/etc/passwd", "\x1b[2J", "cuda", "auto", "", "a" * 999)
READ, REFUSED, UNCLEAR_WORDS, OPENED, STARTED, MEMORY = range(10, 16)
_WORDS = {
    UNCLEAR_WORDS: "an error of another kind",
    OPENED: "a file beside it was opened",
    STARTED: "a process or connection was started",
    MEMORY: "more memory than promised",
}
_OWN = tuple({*filter(None, sys.path), sys.prefix, sys.base_prefix, "/proc", "/sys", "/usr"})
_STARTS = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect"}
)


@dataclass(frozen=True)
class Stranger:
    """A kind of file: its whole members, how they are written, and what reads and uses them."""

    members: Members
    write: Callable[[Path, Members], None]
    read: Callable[[Path], Any]
    use: Callable[[Any], Any]


def strangers(folder: Path) -> dict[str, Stranger]:
    """Make a whole file of each kind."""
    data = make_question_pairs(80, random_state=0)
    texts = sorted({*data.pairs.flat})
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    trees = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4)
    splines = make_pipeline(SplineTransformer(n_knots=3), trees)
    words = make_pipeline(TfidfVectorizer(), LogisticRegression())
    finder = DuplicateFinder().fit(texts[:60])
    finder.find(threshold=0.5)
    folds = KFold(3, shuffle=True, random_state=np.random.RandomState(0))
    models: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "words": (words.fit(texts[:80], y), lambda model: model.predict_proba(texts[80:])),
        "trees": (ExtraTreesClassifier(3).fit(X, y), lambda model: model.predict_proba(X)),
        "boosting": (splines.fit(X, y), lambda model: model.predict_proba(X)),
        "folds": (folds, lambda model: list(model.split(X))),
        "finder": (finder, lambda model: (model.query(texts[0]), model.find(threshold=0.5))),
        "duplicates": (
            fast_duplicates(d=4, rank=10, cv=2).fit(data.pairs, data.y),
            lambda model: model.predict_proba(data.pairs[:4]),
        ),
    }
    found = {}
    for name, (model, use) in models.items():
        path = folder / f"{name}.film"
        save_model(model, path)
        with zipfile.ZipFile(path) as archive:
            members = _numbered({each: archive.read(each) for each in archive.namelist()})
        found[f"a model, {name}"] = Stranger(members, _write_model, load_model, use)
    return found


def changed(members: Members, rng: np.random.Generator) -> Members:
    """Change one thing: a value of JSON, an array, or which member is which."""
    found = dict(members)
    names = sorted(found)
    weights = np.array([4.0 if name.endswith(".json") else 1.0 for name in names])
    name = names[int(rng.choice(len(names), p=weights / weights.sum()))]
    if rng.random() < 0.05:
        other = names[int(rng.integers(len(names)))]
        found[name], found[other] = found[other], found[name]
    elif rng.random() < 0.02:
        del found[name]
    elif name.endswith(".json"):
        found[name] = json.dumps(_changed_json(json.loads(found[name]), rng)).encode()
    elif name.endswith(".npy"):
        found[name] = _array_file(_changed_array(np.load(io.BytesIO(found[name])), rng), rng)
    elif name.endswith(".npz"):
        parts = dict(np.load(io.BytesIO(found[name])))
        part = sorted(parts)[int(rng.integers(len(parts)))]
        parts[part] = _changed_array(parts[part], rng)
        buffer = io.BytesIO()
        (np.savez_compressed if rng.random() < 0.2 else np.savez)(buffer, **parts)
        found[name] = buffer.getvalue()
    return found


def tried(stranger: Stranger, folder: Path, seed: int, n: int, seconds: float) -> Tally:
    """Read so many files, each with one change, or as many as there is time for.

    Parameters
    ----------
    stranger : Stranger
        Whole.
    folder : Path
        Empty; files are written there, one at a time.
    seed : int
        Of the changes: input number i has the same for one seed, however many there are.
    n : int
        Inputs.
    seconds : float
        After which no other begins; 0 is no end.
    """
    tally, started = Tally(), time.monotonic()
    place = folder / "made"
    for number in range(n):
        if seconds and time.monotonic() - started > seconds:
            break
        members = changed(stranger.members, np.random.default_rng([seed, number]))
        stranger.write(place, members)
        status = _alone(stranger, place)
        if status == READ:
            tally.read += 1
        elif status == REFUSED:
            tally.refused += 1
        else:
            kind = f"more than {MOST_SECONDS} s" if status is None else f"ended with {status}"
            buffer = io.BytesIO()
            _write_model(buffer, members)
            tally.fail(_WORDS.get(status or 0, kind), buffer.getvalue())
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    return tally


def whole(stranger: Stranger, folder: Path) -> bool:
    """Whether the file without a change is read and used, under all limits."""
    stranger.write(folder / "made", stranger.members)
    return _alone(stranger, folder / "made") == READ


def quiet_threads() -> Any:
    """Keep compiled code from threads that no fork survives."""
    return threadpool_limits(1)


def _alone(stranger: Stranger, path: Path) -> int | None:
    """Status of a process that reads and uses a file; None where it takes too long."""
    process = os.fork()
    if process == 0:
        status = UNCLEAR_WORDS
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            status = _judged(stranger, path)
        finally:
            os._exit(status)
    # The machine may be busy: it is the process's own seconds that are limited.
    deadline = time.monotonic() + 6 * MOST_SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(status)
            return None if status == -signal.SIGXCPU else status
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def _judged(stranger: Stranger, path: Path) -> int:
    files = [path] if path.is_file() else list(path.iterdir())
    promised = MOST_TIMES_IN_MEMORY * size_limit(sum(file.stat().st_size for file in files))
    before = _memory("VmRSS")
    used = _memory("VmSize")
    most = used + promised + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
    sys.addaudithook(_watch(path))
    warnings.simplefilter("ignore")
    try:
        found = stranger.read(path)
    except UNCLEAR:
        return UNCLEAR_WORDS
    except CLEAR as error:
        return REFUSED if str(error) and _memory("VmHWM") - before < promised else UNCLEAR_WORDS
    except MemoryError:
        return MEMORY
    if _memory("VmHWM") - before > promised:
        return MEMORY
    try:
        stranger.use(found)
    except MemoryError:
        return MEMORY
    except Exception:  # what was read may be wrong on purpose, and say so in any way
        return READ
    return READ


def _watch(path: Path) -> Callable[[str, Any], None]:
    """Audit hook that ends the process where it opens or starts what it must not."""

    def hook(event: str, arguments: Any) -> None:
        if event in _STARTS:
            os._exit(STARTED)
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            name = os.path.abspath(os.fsdecode(arguments[0]))
            if not name.startswith((str(path), *_OWN)):
                os._exit(OPENED)

    return hook


def _memory(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def _write_model(place: Any, members: Members) -> None:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _numbered(members: Members) -> Members:
    """Name arrays by their order instead of addresses, and drop the hash over the whole."""
    schema, header = json.loads(members["schema.json"]), json.loads(members[HEADER])
    del header["digest"]
    numbers: dict[Any, int] = {}
    found = {HEADER: json.dumps(header).encode()}
    for part, key in _places(schema):
        if key == "__id__":
            part[key] = numbers.setdefault(part[key], len(numbers) + 1)
        elif key == "file":
            stem, _, suffix = part[key].partition(".")
            name = f"{numbers.setdefault(int(stem), len(numbers) + 1)}.{suffix}"
            found[name], part[key] = members[part[key]], name
    return found | {"schema.json": json.dumps(schema).encode()}


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a tree of JSON with every key of it."""
    stack = [tree]
    while stack:
        part = stack.pop()
        keys: Any = part if isinstance(part, dict) else range(len(part))
        for key in list(keys):
            yield part, key
            if isinstance(part[key], dict | list):
                stack.append(part[key])


def _changed_json(tree: Any, rng: np.random.Generator) -> Any:
    places = list(_places(tree)) if isinstance(tree, dict | list) else []
    if not places:
        return _value(tree, rng)
    part, key = places[int(rng.integers(len(places)))]
    other_part, other_key = places[int(rng.integers(len(places)))]
    value, draw = part[key], rng.random()
    if draw < 0.45:
        part[key] = _value(value, rng)
    elif draw < 0.6:
        part[key], other_part[other_key] = other_part[other_key], value
    elif draw < 0.7:
        part[key] = json.loads(json.dumps(other_part[other_key]))
    elif draw < 0.8:
        del part[key]
    elif draw < 0.87 and isinstance(value, dict):
        for _ in range(int(rng.choice([2, 60, 300]))):
            value = {**part[key], "content": [value], "__loader__": "ListNode"}
            value |= {"__module__": "builtins", "__class__": "list"}
        part[key] = value
    elif draw < 0.94 and isinstance(value, dict):
        part[key] = [value] * int(rng.choice([2, 1000]))
    elif isinstance(value, dict) and "__id__" in value:
        numbers = [p["__id__"] for p, k in places if k == "__id__"]
        value["__id__"] = numbers[int(rng.integers(len(numbers)))]
    else:
        part[key] = [{}] * 10**6
    return tree


def _value(value: Any, rng: np.random.Generator) -> Any:
    """Another value; what is JSON in a text stays JSON."""
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except ValueError:
            return TEXTS[int(rng.integers(len(TEXTS)))]
        return json.dumps(_changed_json(inner, rng))
    return (*NUMBERS, *TEXTS, [], {}, True)[int(rng.integers(len(NUMBERS) + len(TEXTS) + 3))]


def _changed_array(array: Any, rng: np.random.Generator) -> Any:
    draw, found = rng.random(), np.array(array)
    if draw < 0.6 and found.size:
        flat = found.reshape(-1)
        at = int(rng.integers(flat.size))
        names = flat.dtype.names
        target = flat[names[int(rng.integers(len(names)))]] if names else flat
        value: Any = NUMBERS[int(rng.integers(len(NUMBERS)))]
        if target.dtype.kind == "f":
            value = (np.nan, np.inf, -np.inf, 1e308, 0.0)[int(rng.integers(5))]
        elif target.dtype.kind in "iu":
            limits = np.iinfo(target.dtype)
            value = min(max(int(value or 0), limits.min), limits.max)
        with np.errstate(over="ignore"), suppress(TypeError, ValueError):
            target[at] = value
        return found
    if draw < 0.7:
        return found[: len(found) // 2] if found.ndim else found.reshape(1)
    if draw < 0.8:
        return found.reshape(-1) if found.ndim > 1 else found.reshape(1, -1)
    if draw < 0.9 and not found.dtype.names:
        with suppress(TypeError, ValueError):  # texts that are no numbers
            return found.astype(("<f4", "<i8", "<u1", "<c16", "S3")[int(rng.integers(5))])
    return np.resize(found, (int(rng.choice([0, 3, 10**6])), *found.shape[1:]))


def _array_file(array: Any, rng: np.random.Generator) -> bytes:
    buffer = io.BytesIO()
    if rng.random() < 0.1:
        shape = (int(rng.choice([10**10, 2**62])),)
        header = np.lib.format.header_data_from_array_1_0(array) | {"shape": shape}
        np.lib.format.write_array_header_1_0(buffer, header)
        return buffer.getvalue() + array.tobytes()
    np.save(buffer, array)
    return buffer.getvalue()

"""Jobs that are killed, or meet a full disk, at random moments: what is left, and what resumes."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.faulty.readers import Tally
from estimators import (
    DuplicateFinder,
    SentenceEncoder,
    fast_duplicates,
    load_model,
    make_encoder,
    save_model,
)
from estimators.cli import main as film
from estimators.cli import write_table
from film.datasets import make_question_pairs

MOST_SECONDS = 120


@dataclass(frozen=True)
class Job:
    """A piece of long work on files of a folder.

    Attributes
    ----------
    run : callable
        Does the work in the folder, from the start or from what is there.
    outcome : callable
        Reads what the work is about from the folder, None where it is not there yet; anything but
        the outcome of a whole run, or None, is a fault.
    before : bytes or None
        The outcome in the prepared folder, which may stand as long as the work is not done.
    """

    run: Callable[[Path], Any]
    outcome: Callable[[Path], bytes | None]
    before: bytes | None = None


def jobs(prepared: Path) -> dict[str, Job]:
    """Make the files that jobs begin with, in a folder that each fault gets a copy of."""
    import torch

    torch.set_num_threads(1)  # a fork has no other threads
    data = make_question_pairs(240, random_state=0)
    y: Any = data.y
    texts = sorted({*data.pairs.flat})
    make_encoder(texts, prepared / "tiny", width=16, layers=1, heads=2, random_state=0)
    model = fast_duplicates(d=4, rank=10, cv=2).fit(data.pairs[:80], y[:80])
    other = fast_duplicates(d=4, rank=10, cv=2).fit(data.pairs[80:160], y[80:160])
    finder = DuplicateFinder().fit(texts[:100])
    save_model(model, prepared / "model.film")
    save_model(finder, prepared / "finder.film")
    rows = [(n, a, b) for n, (a, b) in enumerate(np.tile(data.pairs, (40, 1)).tolist())]
    write_table(prepared / "test.csv", ["test_id", "question1", "question2"], rows)

    def judged(folder: Path) -> bytes:
        found = load_model(folder / "model.film").predict_proba(data.pairs[160:])
        return np.ascontiguousarray(found).tobytes()

    def submit(folder: Path) -> None:
        arguments = ["submit", "test.csv", "--model", "model.film", "--out", "out.csv", "--quiet"]
        _at(folder, lambda: film(arguments, standalone_mode=False))

    def encode(folder: Path) -> None:
        encoder = SentenceEncoder(folder / "tiny", cache=folder / "cache", batch_size=1)
        np.save(folder / "part.npy", encoder.fit_transform(texts))
        (folder / "part.npy").replace(folder / "vectors.npy")

    def fit(folder: Path) -> None:
        found = fast_duplicates(d=4, rank=10, cv=3, memory=folder / "memory")
        save_model(found.fit(data.pairs[:160], y[:160]), folder / "model.film")

    def add(folder: Path) -> None:
        known = load_model(folder / "finder.film")
        if len(known.ids_) < 200:
            save_model(known.add(texts[100:200]), folder / "finder.film")

    def known(folder: Path) -> bytes:
        found = load_model(folder / "finder.film")
        return repr([found.query(text, k=3) for text in texts[:5]]).encode()

    before = np.ascontiguousarray(model.predict_proba(data.pairs[160:])).tobytes()
    return {
        "save_model over a model": Job(
            lambda folder: save_model(other, folder / "model.film"), judged, before
        ),
        "film submit": Job(submit, lambda folder: _content(folder / "out.csv")),
        "SentenceEncoder(cache=)": Job(encode, lambda folder: _content(folder / "vectors.npy")),
        "DuplicateClassifier(memory=)": Job(fit, judged, before),
        "DuplicateFinder.add and save": Job(add, known, known(prepared)),
    }


def broken(job: Job, prepared: Path, scratch: Path, n: int, seed: int) -> Tally:
    """Kill a job, or fill its disk, n times, look at what is left, and let it go on.

    "read" counts runs that end with the outcome of an undisturbed one, "failed" all others, such
    as a wrong outcome, or one that is there before it is whole.
    """
    tally, rng = Tally(), np.random.default_rng(seed)
    whole = scratch / "whole"
    shutil.copytree(prepared, whole)
    started = time.perf_counter()
    if _child(lambda: job.run(whole), None, None) != 0:
        tally.fail("the undisturbed run failed")
        return tally
    seconds = time.perf_counter() - started
    expected = job.outcome(whole)
    largest = max(path.stat().st_size for path in whole.rglob("*") if path.is_file())
    for _ in range(n):
        place = scratch / "broken"
        shutil.copytree(prepared, place)
        full = rng.random() < 0.3
        after = None if full else float(rng.uniform(0, 1.1 * seconds))
        size = int(largest * rng.random() ** 2) if full else None
        _child(lambda place=place: job.run(place), after, size)
        kind = "full disk" if full else "kill"
        try:
            left = job.outcome(place)
            if left is not None and left not in (expected, job.before):
                tally.fail(f"{kind}: an outcome that is not whole")
            elif _child(lambda place=place: job.run(place), None, None) != 0:
                tally.fail(f"{kind}: the run after it failed")
            elif job.outcome(place) != expected:
                tally.fail(f"{kind}: another outcome than undisturbed")
            else:
                tally.read += 1
        except Exception as error:
            tally.fail(f"{kind}: {type(error).__name__}: {error}"[:200])
        shutil.rmtree(place)
    shutil.rmtree(whole)
    return tally


def _child(work: Callable[[], Any], kill_after: float | None, most_bytes: int | None) -> int:
    """Do work in a process of its own, and give its status; −9 where it was killed."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            if most_bytes is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
            work()
            status = 0
        except SystemExit as error:
            status = int(error.code or 0) if isinstance(error.code, int | None) else 1
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(status)
    deadline = time.monotonic() + (MOST_SECONDS if kill_after is None else kill_after)
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _at(folder: Path, work: Callable[[], Any]) -> None:
    os.chdir(folder)
    work()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None

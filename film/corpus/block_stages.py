"""Write, map and sum row blocks with joblib.

Every stage is a map or a sum over blocks; tasks are sent the function, a folder name and numbers.
So the same call runs in one process, in several with ``joblib.parallel_config(n_jobs=2)``, and on a
cluster with a shared file system with ``joblib.parallel_config(backend="dask")``.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from film.corpus.row_blocks import (
    MANIFEST,
    Entry,
    RowBlocks,
    encode,
    finish,
    held_folder,
    save_block,
    whole_entries,
)

__all__ = ["map_blocks", "sum_blocks", "write_blocks"]

MOST_SUMMANDS = 16
"""Maximum number of tasks of a sum. Each returns one summand, which may be 100 MB."""
Progress = Callable[[str], None] | None


def write_blocks(
    folder: str | os.PathLike[str],
    blocks: Iterable[Any],
    *,
    made_by: dict[str, Any] | None = None,
    progress: Progress = None,
) -> RowBlocks:
    """Write blocks as they arrive, with one in memory at a time.

    If a run is interrupted, call it again with the same blocks: finished blocks are verified and
    kept.

    Parameters
    ----------
    folder : path
        Created if it does not exist; otherwise it must be empty or contain row blocks.
    blocks : iterable of list of str, of sparse matrices or of arrays
        At least one block of rows, all with the same number of columns; `cut_rows` splits a stream
        of texts into blocks.
    made_by : dict, optional
        JSON values that describe how the blocks are made; part of the digest.
    progress : callable, optional
        Called with a short text after each block.

    Returns
    -------
    blocks : RowBlocks
        The blocks, opened.

    Raises
    ------
    FileExistsError
        If the folder contains other files, or finished blocks made differently or with other rows,
        for example from a larger corpus.
    BlockingIOError
        If another process is writing there.
    OSError
        If writing fails, for example on a full disk; finished blocks are kept.
    TypeError, ValueError
        If a block is invalid or no block is given.

    Examples
    --------
    >>> import tempfile
    >>> from film.corpus import cut_rows, write_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_blocks(folder, cut_rows(("a", "b", "c"), 2)).edges
    array([0, 2, 3])
    """
    making = {"stage": "write", **(made_by or {})}
    with held_folder(folder, making) as target:
        there = whole_entries(target, making)
        finished = RowBlocks(target).n_blocks if (target / MANIFEST).exists() else None
        entries: list[Entry] = []
        for number, rows in enumerate(blocks):
            entry = there.get(number)
            if entry is None or not _same(target, entry, rows):
                if finished is not None and (entry is not None or number >= finished):
                    raise _other_rows(target, number)
                entry = save_block(target, number, rows, making)
            entries.append(entry)
            if progress is not None:
                progress(f"block {number + 1}")
        if not entries:
            raise ValueError("blocks is empty; give at least one block of rows")
        if finished is not None and len(entries) < finished:
            raise _other_rows(target, len(entries))
        return finish(target, entries, making)


def map_blocks(
    function: Callable[[Any, int], Any],
    blocks: RowBlocks,
    folder: str | os.PathLike[str],
    *,
    made_by: dict[str, Any],
    n_jobs: int | None = None,
    progress: Progress = None,
) -> RowBlocks:
    """Apply a function to each block and write the results with the same edges.

    Finished blocks of earlier runs are kept; damaged blocks are computed again.

    Parameters
    ----------
    function : callable
        Called with the rows of a block and the number of its first row; returns as many rows: a
        list of str, a sparse matrix or an array. It must depend on its block only and, with several
        processes, be picklable.
    blocks : RowBlocks
        The source.
    folder : path
        As in `write_blocks`.
    made_by : dict
        JSON values that identify the function and everything it depends on except the block; the
        digest of the source is added. Blocks made differently are never mixed with these.
    n_jobs : int, optional
        Number of processes, as in joblib; None uses `joblib.parallel_config`, else one.
    progress : callable, optional
        As in `write_blocks`.

    Returns
    -------
    blocks : RowBlocks
        The results, opened.

    Raises what `write_blocks` raises, and ValueError if the number of rows changes.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from film.corpus import map_blocks, write_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_blocks(f"{folder}/x", [np.eye(2), np.ones((1, 2))])
    ...     Y = map_blocks(lambda rows, start: -rows, X, f"{folder}/y", made_by={"stage": "minus"})
    ...     Y.block(1)
    array([[-1., -1.]])
    """
    making = {**made_by, "source": blocks.digest}
    with held_folder(folder, making) as target:
        entries = whole_entries(target, making)
        missing = [number for number in range(blocks.n_blocks) if number not in entries]
        work: Any = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_map_one)(function, blocks, number, target, making) for number in missing
        )
        for done, (number, entry) in enumerate(work, start=blocks.n_blocks - len(missing) + 1):
            entries[number] = entry
            if progress is not None:
                progress(f"block {done} of {blocks.n_blocks}")
        return finish(target, [entries[number] for number in range(blocks.n_blocks)], making)


def sum_blocks(
    function: Callable[[Any, int], Any],
    blocks: RowBlocks,
    *,
    n_parts: int = MOST_SUMMANDS,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Any:
    """Sum the results of a function over blocks.

    Parameters
    ----------
    function : callable
        Called with the rows of a block and the number of its first row; returns a new object that
        supports ``+=``: an array, a sparse matrix or a `collections.Counter`. With several
        processes it must be picklable.
    blocks : RowBlocks
        The source.
    n_parts : int, default=16
        Maximum number of runs of blocks, and so of processes that share the work. Each returns one
        summand.
    n_jobs : int, optional
        As in `map_blocks`.
    progress : callable, optional
        As in `write_blocks`.

    Returns
    -------
    total : object
        The sum. Blocks are added in runs and the runs in order, so a deterministic function gives
        the same result for every ``n_jobs``.

    Notes
    -----
    Memory: the sum and one summand per process.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from film.corpus import sum_blocks, write_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_blocks(folder, [np.eye(2), np.ones((1, 2))])
    ...     sum_blocks(lambda rows, start: rows.sum(axis=0), X)
    array([2., 2.])
    """
    runs = np.array_split(np.arange(blocks.n_blocks), min(blocks.n_blocks, n_parts))
    parallel: Any = Parallel(n_jobs=n_jobs, return_as="generator")
    parts = parallel(delayed(_sum_run)(function, blocks, run.tolist()) for run in runs)

    def counted(parts: Iterable[Any]) -> Iterator[Any]:
        for done, part in enumerate(parts, start=1):
            yield part
            if progress is not None:
                progress(f"part {done} of {len(runs)}")

    return reduce(operator.iadd, counted(parts))


def _map_one(
    function: Callable[[Any, int], Any],
    blocks: RowBlocks,
    number: int,
    folder: Path,
    made_by: dict[str, Any],
) -> tuple[int, Entry]:
    rows = function(blocks.block(number), int(blocks.edges[number]))
    entry = save_block(folder, number, rows, made_by)
    if entry.n_rows != blocks.entries[number].n_rows:
        raise ValueError(
            f"function returned {entry.n_rows} rows for block {number} of "
            f"{blocks.entries[number].n_rows} rows; it must return one per row"
        )
    return number, entry


def _sum_run(function: Callable[[Any, int], Any], blocks: RowBlocks, numbers: list[int]) -> Any:
    parts = (function(blocks.block(number), int(blocks.edges[number])) for number in numbers)
    return reduce(operator.iadd, parts)


def _same(folder: Path, entry: Entry, rows: Any) -> bool:
    return (folder / entry.file).read_bytes() == encode(rows)[1]


def _other_rows(folder: Path, number: int) -> FileExistsError:
    return FileExistsError(
        f"folder: {folder} holds finished blocks of other rows: number {number} differs; remove "
        "the folder or give another one"
    )

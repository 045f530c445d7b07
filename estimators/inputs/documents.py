"""Read documents from texts, named texts, files or folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from estimators.inputs.texts import check_encodable
from film.contexts import read_documents


def check_documents(documents: Any) -> Callable[[], Iterator[tuple[str, str]]]:
    """Return a function that yields (name, text) of each document, from the first on every call.

    Parameters
    ----------
    documents : str, path-like, or iterable of str, of (str, str) or of path-like
        A folder of ``.md`` and ``.txt`` files or one such file; or texts, pairs of name and text,
        or paths.

    Returns
    -------
    read : callable
        Yields the documents. Files are read one at a time.

    Raises
    ------
    TypeError, ValueError
        If an entry has another type, or there are no documents; the message names "documents".
    FileNotFoundError
        If a file is missing.
    """
    if isinstance(documents, (str, os.PathLike)):
        path = Path(documents).expanduser()
        if not path.exists():
            shown = os.fspath(documents)[:80]
            raise ValueError(
                f"documents={shown!r}: no such file or folder; give a folder of .md and "
                ".txt files, or a list of texts"
            )
        read_documents(path)
        return lambda: read_documents(path)
    if not isinstance(documents, Iterable):
        raise TypeError(
            f"documents is {documents!r}; give a list of texts, of (name, text), or a folder"
        )
    given: Any = documents
    if np.ndim(given) == 2 and np.shape(given)[1] == 1:
        given = np.asarray(given, dtype=object)[:, 0]
    found = given.to_pylist() if hasattr(given, "to_pylist") else list(given)  # pyarrow column
    if not found:
        raise ValueError("documents is empty; give at least one document")
    if all(isinstance(each, os.PathLike) for each in found):
        paths = [Path(each).expanduser() for each in found]
        read_documents(paths)
        return lambda: read_documents(paths)
    pairs = []
    for number, each in enumerate(found):
        pair = (f"document {number + 1}", each) if isinstance(each, str) else each
        is_pair = isinstance(pair, (tuple, list, np.ndarray)) and len(pair) == 2
        if not is_pair or not all(isinstance(part, str) for part in pair):
            raise TypeError(
                f"documents[{number}] = {str(each)[:80]!r} is {type(each).__name__}; give texts, "
                "pairs (name, text), or paths, all of one kind"
            )
        pairs.append((str(pair[0]), str(pair[1])))
    check_encodable((text for _, text in pairs), lambda number: f"documents[{number}]")
    return lambda: iter(pairs)

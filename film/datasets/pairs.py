"""Question pairs, and the list of sentences excluded from training."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import numpy as np

_HASH = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, eq=False)
class QuestionPairs:
    """Question pairs with labels.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2), dtype object
        The two questions of each pair, as `str`.
    y : ndarray of shape (n,), dtype int, or None
        1 for duplicates, 0 for others; None if the source has no labels.
    ids : ndarray of shape (n,), dtype object
        The name of each pair, as `str`; the ``test_id`` of a submission.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([["Is tea hot?", "Is tea warm?"]], dtype=object)
    >>> data = QuestionPairs(pairs, y=np.array([1]), ids=np.array(["0"], dtype=object))
    >>> len(data)
    1
    """

    pairs: np.ndarray
    y: np.ndarray | None
    ids: np.ndarray

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)


def read_excluded(path: str | os.PathLike[str]) -> frozenset[str]:
    r"""Read the list of sentences that are excluded from training and model selection.

    Parameters
    ----------
    path : str or path-like
        A file with one `film.text.text_hash` per line; blank lines are skipped.

    Returns
    -------
    excluded : frozenset of str
        The 16-digit hashes.

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ValueError
        If a line is not 16 hexadecimal digits; the message names the first one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "exclude.txt"
    >>> _ = path.write_text("aed7b9613b8c8ba9\n")
    >>> read_excluded(path)
    frozenset({'aed7b9613b8c8ba9'})
    >>> folder.cleanup()
    """
    hashes = set()
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            digits = line.strip().lower()
            if digits and not _HASH.fullmatch(digits):
                raise ValueError(
                    f"{path}, line {number}: {digits[:60]!r} is not a hash of 16 hexadecimal "
                    "digits; give one film.text.text_hash per line"
                )
            hashes.add(digits)
    return frozenset(hashes - {""})

"""Argument Facet Similarity: reader with repair of damaged bytes, folds and scores."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from film.datasets.formats.lines import Line, read_bytes
from film.datasets.formats.tables import read_table
from film.datasets.pairs import ScoredPairs

_TOPICS = {
    "ArgPairs_GC.csv": "gun control",
    "ArgPairs_GM.csv": "gay marriage",
    "ArgPairs_DP.csv": "death penalty",
}
_COLUMNS = (("regression_label",), ("sentence_1",), ("sentence_2",))


def read_afs(folder: str | os.PathLike[str]) -> ScoredPairs:
    r"""Read the pairs of arguments of Argument Facet Similarity.

    The three files are quoted CSV tables; the columns regression_label, sentence_1 and sentence_2
    are found by the header. The files are not UTF-8: quotation marks and dashes went from UTF-8
    through Windows-1252 to Mac Roman, so that an apostrophe is the three bytes 89 db aa. Such
    sequences are restored; other bytes of a line that is not UTF-8 are read as Windows-1252.

    Parameters
    ----------
    folder : str or path-like
        Contains ``ArgPairs_GC.csv``, ``ArgPairs_GM.csv`` and ``ArgPairs_DP.csv``: gun control, gay
        marriage, death penalty.

    Returns
    -------
    data : ScoredPairs
        Pairs in the order of the topics above; scores from 0 to 5, means over annotators; `genres`
        are the topics.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file lacks one of the three columns, has unclosed quotes or no rows, or has invalid
        rows, each named by its line: a blank sentence, a score that is not a number from 0 to 5,
        too few columns, or invalid bytes.

    References
    ----------
    A. Misra, B. Ecker, M. Walker. "Measuring the Similarity of Sentential Arguments in Dialog."
    SIGDIAL 2016.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> row = b'2.5,"It\x89\xdb\xaas late, so go.",Stay.\n'
    >>> for topic in ("GC", "GM", "DP"):
    ...     path = pathlib.Path(folder.name) / f"ArgPairs_{topic}.csv"
    ...     _ = path.write_bytes(b"regression_label,sentence_1,sentence_2\n" + row)
    >>> data = read_afs(folder.name)
    >>> data.pairs[0].tolist(), float(data.scores[0]), data.genres[0]
    (['It’s late, so go.', 'Stay.'], 2.5, 'gun control')
    >>> folder.cleanup()
    """
    root = Path(folder)
    if missing := [name for name in _TOPICS if not (root / name).is_file()]:
        raise FileNotFoundError(
            f"{folder} lacks {', '.join(missing)}; the set is public: get Argument Facet "
            "Similarity (AFS) from the Natural Language and Dialogue Systems lab of UC Santa Cruz "
            "and give the folder of its files"
        )
    rows = [
        (topic, *row)
        for name, topic in _TOPICS.items()
        for row in read_table(root / name, _lines(root / name), _COLUMNS, _fault, quoted=True)
    ]
    return ScoredPairs(
        pairs=np.array([row[2:] for row in rows], dtype=object),
        scores=np.array([float(row[1]) for row in rows]),
        genres=np.array([row[0] for row in rows], dtype=object),
    )


def afs_folds(n_pairs: int, n_folds: int = 10, seed: int = 0) -> NDArray[np.int64]:
    """Return the fold of each pair, for the cross-validation used with this dataset.

    Parameters
    ----------
    n_pairs : int
        At least `n_folds`.
    n_folds : int, default=10
        At least 2.
    seed : int, default=0
        Seed of the assignment.

    Returns
    -------
    folds : ndarray of shape (n_pairs,)
        Numbers from 0 to n_folds - 1; the folds' sizes differ by at most one pair.

    Raises
    ------
    ValueError
        If there are fewer pairs than folds, or fewer than two folds.

    Notes
    -----
    Folds are over pairs, as in Misra et al.: a sentence can be in several folds, so a model may
    have seen single sentences of its test fold.

    Examples
    --------
    >>> afs_folds(5, 2, seed=1).tolist()
    [0, 0, 1, 0, 1]
    """
    if not 2 <= n_folds <= n_pairs:
        raise ValueError(f"n_folds={n_folds} must be from 2 to the number of pairs, {n_pairs}")
    return np.random.default_rng(seed).permutation(n_pairs) % n_folds


def afs_correlations(
    scores: ArrayLike, predicted: ArrayLike, folds: ArrayLike | None = None
) -> tuple[float, float]:
    """Return the Pearson and Spearman correlations of predictions with scores.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of the annotators.
    predicted : array-like of shape (n,)
        Scores of a model; in cross-validation, of the model that was not fitted on the pair.
    folds : array-like of shape (n,), default=None
        The fold of each pair; the correlations are then means over folds, because models of
        different folds may differ in scale. None uses all pairs at once.

    Returns
    -------
    pearson, spearman : float
        From -1 to 1; 0 for a fold with constant predictions or scores.

    Raises
    ------
    ValueError
        If lengths differ, a number is not finite, or a fold has fewer than two pairs.

    Examples
    --------
    >>> afs_correlations([1.0, 2.0, 3.0], [0.1, 0.2, 0.9])  # doctest: +ELLIPSIS
    (0.917..., 1.0)
    """
    from scipy.stats import rankdata

    gold, said = (np.asarray(values, dtype=np.float64) for values in (scores, predicted))
    of = np.zeros(len(gold), dtype=np.int64) if folds is None else np.asarray(folds)
    if gold.ndim != 1 or not gold.shape == said.shape == of.shape:
        raise ValueError(
            f"scores, predicted and folds must have the same length, got {gold.shape}, "
            f"{said.shape} and {of.shape}"
        )
    for name, values in (("scores", gold), ("predicted", said)):
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"{name}[{row}]={values[row]} must be a finite number")
    numbers, sizes = np.unique(of, return_counts=True)
    if len(numbers) == 0 or sizes.min() < 2:
        raise ValueError("folds: every fold needs two pairs or more to correlate")
    pearson, spearman = [], []
    for number in numbers:
        here, there = gold[of == number], said[of == number]
        pearson.append(_pearson(here, there))
        spearman.append(_pearson(rankdata(here), rankdata(there)))
    return float(np.mean(pearson)), float(np.mean(spearman))


def _pearson(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _fault(cells: Sequence[str]) -> str:
    try:
        score = float(cells[0])
    except ValueError:
        score = math.nan
    if not 0 <= score <= 5:
        return f"regression_label must be a number from 0 to 5, got {cells[0][:60]!r}"
    for name, sentence in zip(("sentence_1", "sentence_2"), cells[1:], strict=True):
        if not sentence:
            return f"{name} is missing"
    return ""


def _lines(path: Path) -> Iterator[Line]:
    for number, content in read_bytes(path):
        try:
            yield Line(number, content.decode("utf-8"))
        except UnicodeDecodeError:
            text = _DAMAGED.sub(lambda found: _WHOLE[found[0]], content.decode("latin-1"))
            if wrong := next((character for character in text if character in _NOTHING), ""):
                fault = f"byte 0x{ord(wrong):02x} is invalid; save the file as UTF-8"
                yield Line(number, text, fault)
            else:
                yield Line(number, text, repair="read as Mac Roman or Windows-1252")


def _damaged(character: str) -> str:
    """Return, as Latin-1, the bytes that a character became on its way to Mac Roman.

    Characters that Mac Roman lacks became underscores; bytes undefined in Windows-1252 stayed.
    """
    through = (
        bytes([byte]).decode("cp1252") if bytes([byte]).decode("cp1252", "ignore") else chr(byte)
        for byte in character.encode("utf-8")
    )
    return "".join(
        c
        if c in _NOTHING
        else c.encode("mac_roman", "replace").replace(b"?", b"_").decode("latin-1")
        for c in through
    )


_NOTHING = frozenset("\x81\x8d\x8f\x90\x9d")
"""Bytes that Windows-1252 does not define."""
_HIGH = map(chr, range(0x80, 0x100))
_WHOLE = {
    character: character.encode("latin-1").decode("cp1252", "ignore") or character
    for character in _HIGH
} | {_damaged(character): character for character in "éèêëáàâäíîïóôöúûüçñ£§°\xa0–—‘’“”•…"}
_DAMAGED = re.compile("|".join(sorted(map(re.escape, _WHOLE), key=len, reverse=True)))

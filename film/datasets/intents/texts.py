"""Readers of texts labelled with an intent."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from film.datasets.formats.lines import is_text, read_lines, sound_lines
from film.datasets.formats.tables import read_table
from film.text import normalize_text, text_hash

_OUT_OF_SCOPE = "oos"
_COLUMNS = (("text",), ("category",))


@dataclass(frozen=True, eq=False)
class IntentTexts:
    """Texts with the intent of each.

    Parameters
    ----------
    texts : ndarray of shape (n,), dtype object
        Texts as written, distinct after `film.text.normalize_text`.
    intents : ndarray of shape (n,), dtype object
        Name of each text's intent.
    n_excluded : int, default=0
        Number of texts left out because they are on the exclusion list.
    n_repeated : int, default=0
        Number of texts left out because they repeat an earlier one.
    """

    texts: NDArray[np.object_]
    intents: NDArray[np.object_]
    n_excluded: int = 0
    n_repeated: int = 0

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.texts)


def read_clinc150(
    path: str | os.PathLike[str], excluded: Collection[str] = frozenset()
) -> IntentTexts:
    r"""Read the CLINC150 texts that have an intent.

    Parameters
    ----------
    path : str or path-like
        ``data_full.json`` or another file of the same form: an object of lists of
        ``[text, intent]``. All lists are read in file order, without out-of-scope texts (intent
        "oos").
    excluded : collection of str, default=frozenset()
        Hashes from `film.datasets.read_excluded`.

    Returns
    -------
    data : IntentTexts
        Texts and intents.

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ValueError
        If the file does not have this form.

    References
    ----------
    S. Larson et al. "An Evaluation Dataset for Intent Classification and Out-of-Scope
    Prediction." EMNLP 2019.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "data.json"
    >>> lists = {"train": [["hi there", "greeting"]], "oos_train": [["why is tea", "oos"]]}
    >>> _ = path.write_text(json.dumps(lists))
    >>> data = read_clinc150(path)
    >>> data.texts.tolist(), data.intents.tolist()
    (['hi there'], ['greeting'])
    >>> folder.cleanup()
    """
    wrong = f"{path} is not a JSON object of lists of [text, intent], as data_full.json is"
    text = "".join(line.text for line in sound_lines(path))
    try:
        lists = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{wrong}: {error}") from error
    if not isinstance(lists, dict):
        raise ValueError(wrong)
    rows: list[tuple[str, str]] = []
    for name, entries in lists.items():
        for number, entry in enumerate(entries if isinstance(entries, list) else [entries]):
            if not (
                isinstance(entry, list)
                and len(entry) == 2
                and all(isinstance(cell, str) and cell.strip() and is_text(cell) for cell in entry)
            ):
                raise ValueError(f"{wrong}: entry {number} of {name!r} is {str(entry)[:80]!r}")
            if entry[1] != _OUT_OF_SCOPE:
                rows.append((entry[0], entry[1]))
    return _unique(rows, excluded, path)


def read_banking77(
    paths: Sequence[str | os.PathLike[str]], excluded: Collection[str] = frozenset()
) -> IntentTexts:
    r"""Read the texts of BANKING77.

    Parameters
    ----------
    paths : sequence of str or path-like
        Files such as ``train.csv`` and ``test.csv``, with the columns text and category,
        concatenated in order.
    excluded : collection of str, default=frozenset()
        Hashes from `film.datasets.read_excluded`.

    Returns
    -------
    data : IntentTexts
        Texts, and categories as intents.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file has other columns, or a row lacks a text or a category.

    References
    ----------
    I. Casanueva et al. "Efficient Intent Detection with Dual Sentence Encoders." 2020.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "train.csv"
    >>> _ = path.write_text("text,category\nWhere is my card?,card_arrival\n")
    >>> read_banking77([path]).intents.tolist()
    ['card_arrival']
    >>> folder.cleanup()
    """
    if isinstance(paths, str | os.PathLike):
        raise TypeError(f"paths={paths!r} is one path; give a list of them")
    rows: list[tuple[str, str]] = []
    for path in paths:
        for text, category in read_table(path, read_lines(path), _COLUMNS, _fault, quoted=True):
            rows.append((text, category))
    return _unique(rows, excluded, ", ".join(map(str, paths)))


def _fault(cells: Sequence[str]) -> str:
    return "" if all(cells) else "the text or the category is missing"


def _unique(rows: list[tuple[str, str]], excluded: Collection[str], source: Any) -> IntentTexts:
    kept: dict[str, tuple[str, str]] = {}
    n_excluded = n_repeated = 0
    for text, intent in rows:
        normal = normalize_text(text)
        if text_hash(text) in excluded:
            n_excluded += 1
        elif normal in kept:
            n_repeated += 1
        else:
            kept[normal] = (text, intent)
    if not kept:
        raise ValueError(f"{source} holds no text with an intent that is not excluded")
    texts, intents = np.array([*kept.values()], dtype=object).T
    return IntentTexts(texts, intents, n_excluded, n_repeated)

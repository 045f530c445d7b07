"""Texts labelled with an intent, and pairs made of them: same intent or another."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from film.datasets.lines import sound_lines, wrong_line
from film.datasets.pairs import QuestionPairs
from film.text import normalize_text, text_hash

__all__ = ["IntentTexts", "make_intent_pairs", "read_banking77", "read_clinc150"]

_OUT_OF_SCOPE = "oos"
_ATTEMPTS = 50


@dataclass(frozen=True, eq=False)
class IntentTexts:
    """Texts with the intent of each, as one source gave them.

    Parameters
    ----------
    texts : ndarray of shape (n,), dtype object
        Texts as written, each once after `film.text.normalize_text`.
    intents : ndarray of shape (n,), dtype object
        Name of each text's intent.
    n_excluded : int, default=0
        Number of texts left out because they are listed as excluded.
    n_repeated : int, default=0
        Number of texts left out because an earlier one reads the same.
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
    r"""Read the texts of CLINC150 that belong to an intent.

    Parameters
    ----------
    path : str or path-like
        ``data_full.json`` or another file of the same form: an object of lists of
        ``[text, intent]``. All lists are read, in the file's order; texts out of scope
        (intent "oos") are not.
    excluded : collection of str, default=frozenset()
        Hashes as `film.datasets.read_excluded` gives them.

    Returns
    -------
    data : IntentTexts
        Texts and intents.

    Raises
    ------
    FileNotFoundError
        When there is no file at `path`.
    ValueError
        When it is not such a file.

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
    try:
        lists = json.loads("".join(line.text for line in sound_lines(path)))
    except json.JSONDecodeError as error:
        raise ValueError(f"{wrong}: {error}") from error
    if not isinstance(lists, dict):
        raise ValueError(wrong)
    rows: list[tuple[str, str]] = []
    for name, entries in lists.items():
        for number, entry in enumerate(entries if isinstance(entries, list) else [entries]):
            if not (
                isinstance(entry, list)
                and len(entry) == 2
                and all(isinstance(cell, str) and cell.strip() for cell in entry)
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
        read one after the other.
    excluded : collection of str, default=frozenset()
        Hashes as `film.datasets.read_excluded` gives them.

    Returns
    -------
    data : IntentTexts
        Texts, and categories as intents.

    Raises
    ------
    FileNotFoundError
        When a file is missing.
    ValueError
        When a file has other columns, or a row lacks a text or a category.

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
        reader = csv.DictReader(line.text for line in sound_lines(path))
        try:
            if not {"text", "category"} <= set(reader.fieldnames or ()):
                raise ValueError(
                    f"{path} has the columns {reader.fieldnames}; expected text and category"
                )
            for row in reader:
                text, category = ((row[name] or "").strip() for name in ("text", "category"))
                if not text or not category:
                    reason = "the text or the category is missing; complete the row or remove it"
                    raise wrong_line(path, reader.line_num, reason)
                rows.append((text, category))
        except csv.Error as error:
            reason = f"broken quoting or line end ({error})"
            raise wrong_line(path, reader.line_num, reason) from error
    return _unique(rows, excluded, ", ".join(map(str, paths)))


def make_intent_pairs(
    data: IntentTexts, n_pairs: int = 5000, *, n_nearest: int = 20, random_state: int = 0
) -> QuestionPairs:
    """Draw pairs of texts: half of one intent, a quarter at random and a quarter hard.

    Half of the pairs share an intent (label 1). Of the rest (label 0), half are two texts of
    different intents at random, and half are a text and one of the ``n_nearest`` texts of
    other intents that are nearest to it by the cosine of the TF-IDF of their words.

    Parameters
    ----------
    data : IntentTexts
        At least two intents, one of them with two texts.
    n_pairs : int, default=5000
        Pairs to draw, at least 4.
    n_nearest : int, default=20
        Neighbours that hard pairs are drawn from, at least 1.
    random_state : int, default=0
        Seed: the same texts and seed give the same pairs.

    Returns
    -------
    pairs : QuestionPairs
        Pairs in random order, none of them twice; `ids` number them.

    Raises
    ------
    ValueError
        When the data holds too few texts or intents for so many different pairs.

    Notes
    -----
    Sharing an intent is wider than meaning the same: the labels are a proxy. Anchors are
    drawn uniformly over texts. O(n_pairs · n) for the neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> texts = np.array(["red car", "a red car", "blue bus", "the blue bus"], dtype=object)
    >>> intents = np.array(["car", "car", "bus", "bus"], dtype=object)
    >>> found = make_intent_pairs(IntentTexts(texts, intents), 4, n_nearest=1)
    >>> sorted(found.y.tolist())
    [0, 0, 1, 1]
    """
    if n_pairs < 4 or n_nearest < 1:
        raise ValueError(
            f"n_pairs must be at least 4 and n_nearest at least 1, got {n_pairs} and {n_nearest}"
        )
    names, intent = np.unique(data.intents, return_inverse=True)
    sizes = np.bincount(intent, minlength=len(names))
    if len(names) < 2 or sizes.max() < 2:
        raise ValueError(
            f"data holds {len(data)} texts of {len(names)} intent(s): give at least two intents, "
            "one of them with two texts"
        )
    rng = np.random.default_rng(random_state)
    members = [np.flatnonzero(intent == code) for code in range(len(names))]
    anchors = np.flatnonzero(sizes[intent] > 1)
    vectors = _tfidf([normalize_text(text) for text in data.texts])

    def same(anchor: int) -> NDArray[np.intp]:
        group = members[intent[anchor]]
        return group[group != anchor]

    def other(anchor: int) -> NDArray[np.intp]:
        return np.flatnonzero(intent != intent[anchor])

    def near(anchor: int) -> NDArray[np.intp]:
        similarity = (vectors @ vectors[[anchor]].T).toarray().ravel()
        similarity[intent == intent[anchor]] = -1.0
        # Stable, so that ties go to the earlier text on every machine.
        nearest = np.argsort(-similarity, kind="stable")[:n_nearest]
        return nearest[similarity[nearest] >= 0]

    n_same, n_near = n_pairs // 2, (n_pairs - n_pairs // 2) // 2
    everyone = np.arange(len(data))
    taken: set[tuple[int, int]] = set()
    rows, labels = [], []
    for count, pool, partners, label in (
        (n_same, anchors, same, 1),
        (n_pairs - n_same - n_near, everyone, other, 0),
        (n_near, everyone, near, 0),
    ):
        rows += _drawn(count, pool, partners, taken, rng)
        labels += [label] * count
    order = rng.permutation(n_pairs)
    codes = np.asarray(rows, dtype=np.intp)[order]
    ids = np.array([str(number) for number in range(n_pairs)], dtype=object)
    return QuestionPairs(data.texts[codes], np.asarray(labels)[order], ids)


def _drawn(
    count: int,
    pool: NDArray[np.intp],
    partners: Any,
    taken: set[tuple[int, int]],
    rng: np.random.Generator,
) -> list[tuple[int, int]]:
    """Draw different pairs of an anchor and one of its partners, and note them as taken."""
    rows: list[tuple[int, int]] = []
    for _ in range(_ATTEMPTS * count):
        if len(rows) == count:
            return rows
        anchor = int(rng.choice(pool))
        partner = int(rng.choice(partners(anchor)))
        key = (min(anchor, partner), max(anchor, partner))
        if key not in taken:
            taken.add(key)
            rows.append((anchor, partner))
    if len(rows) == count:
        return rows
    raise ValueError(
        f"the texts give only {len(rows)} of {count} different pairs of one kind: ask for fewer "
        "pairs, or give more texts"
    )


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


def _tfidf(texts: list[str]) -> sp.csr_array:
    """Rows of unit length: counts of words times ``ln((1 + n) / (1 + df)) + 1``."""
    number: dict[str, int] = {}
    places = [
        (row, number.setdefault(word, len(number)))
        for row, text in enumerate(texts)
        for word in text.split()
    ]
    rows, columns = np.asarray(places, dtype=np.intp).reshape(-1, 2).T
    counts: Any = sp.csr_array(
        (np.ones(len(places)), (rows, columns)), shape=(len(texts), max(len(number), 1))
    )
    counts.sum_duplicates()
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    weighted: Any = counts @ sp.diags_array(np.log((1 + len(texts)) / (1 + frequency)) + 1)
    length = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    return sp.csr_array(sp.diags_array(1 / np.where(length > 0, length, 1)) @ weighted)

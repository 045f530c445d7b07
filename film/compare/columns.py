"""Features of two records, by column and across columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from film.text import normalize_text

__all__ = [
    "CROSSING_FEATURES",
    "LEFTOVER_FEATURES",
    "NUMBER_FEATURES",
    "SPELLING_FEATURES",
    "comparable_cell",
    "crossing_features",
    "leftover_features",
    "number_features",
    "spelling_features",
]

Floats = NDArray[np.float64]
Rarity = Callable[[str], float]

SPELLING_FEATURES = (
    "equal",
    "edits",
    "sorted words",
    "common words",
    "contained",
    "initials",
    "shorter",
    "longer",
)
NUMBER_FEATURES = ("relative difference", "equal", "difference", "larger")
CROSSING_FEATURES = ("in the other, least", "in the other, most")
LEFTOVER_FEATURES = (
    "shared rarity",
    "rarest shared",
    "left over, least",
    "left over, most",
    "rarest left over, least",
    "rarest left over, most",
    "rarest shared code",
    "rarest code left over, least",
    "rarest code left over, most",
    "codes within words",
    "numbers shared",
    "numbers left over",
    "numbers left over on both sides",
)


def comparable_cell(value: str, kind: str) -> str:
    """Normalise a cell, so that values of one kind that mean the same become equal.

    Parameters
    ----------
    value : str
        The cell.
    kind : str
        One of `film.compare.COLUMN_KINDS`. A phone keeps its digits, a code its letters and digits
        without separators, a web address the part after its scheme. Other cells become lower-case
        words.

    Examples
    --------
    >>> from film.compare import comparable_cell
    >>> comparable_cell("404/351 -9533", "phone"), comparable_cell("DSC-W120/B", "code")
    ('4043519533', 'dscw120b')
    """
    if kind == "phone":
        return "".join(filter(str.isdigit, value))
    words = normalize_text(value)
    if kind == "web":
        return words.removeprefix("https ").removeprefix("http ").removeprefix("www ")
    return words.replace(" ", "") if kind == "code" else words


def spelling_features(first: Sequence[str], second: Sequence[str]) -> Floats:
    """Compare cells by their letters.

    Parameters
    ----------
    first, second : sequence of str
        Cells of each pair of records, as `comparable_cell` writes them.

    Returns
    -------
    features : ndarray of float64, shape (n_pairs, 8)
        The columns of `SPELLING_FEATURES`, symmetric; NaN where a cell is empty. *Edits* is the
        Levenshtein similarity, *sorted words* that of the words in alphabetical order, *common
        words* that of the common words with either cell, *contained* whether one cell of at least
        three letters is part of the other, *initials* the share of the words of the shorter cell
        that are words, or initials, of the other; the lengths are in letters.

    Examples
    --------
    >>> from film.compare import SPELLING_FEATURES, spelling_features
    >>> values = spelling_features(["j smith"], ["smith jane"])[0].round(2).tolist()
    >>> dict(zip(SPELLING_FEATURES, values))["initials"]
    1.0
    """
    pairs = {pair: row for row, pair in enumerate(dict.fromkeys(zip(first, second, strict=True)))}
    a, b = [one for one, _ in pairs], [other for _, other in pairs]
    squashed = [(one.replace(" ", ""), other.replace(" ", "")) for one, other in pairs]
    lengths = np.array([(len(one), len(other)) for one, other in pairs], dtype=np.float64)
    lengths = lengths.reshape(-1, 2)
    found = np.column_stack(
        [
            [one == other for one, other in squashed],
            cpdist(a, b, scorer=Levenshtein.normalized_similarity),
            cpdist(a, b, scorer=fuzz.token_sort_ratio) / 100,
            cpdist(a, b, scorer=fuzz.token_set_ratio) / 100,
            [
                min(len(one), len(other)) >= 3 and (one in other or other in one)
                for one, other in squashed
            ],
            [_initials(one.split(), other.split()) for one, other in pairs],
            lengths.min(axis=1),
            lengths.max(axis=1),
        ]
    ).astype(np.float64)
    found[(lengths == 0).any(axis=1)] = np.nan
    return found[[pairs[pair] for pair in zip(first, second, strict=True)]]


def _initials(first: list[str], second: list[str]) -> float:
    fewer, more = sorted((first, second), key=len)
    if len(fewer) == len(more):
        return max(_share_met(fewer, more), _share_met(more, fewer))
    return _share_met(fewer, more)


def _share_met(words: list[str], others: list[str]) -> float:
    known = set(others) | {word[0] for word in others}
    single = {word for word in others if len(word) == 1}
    met = sum(word in known or word[0] in single for word in words)
    return met / max(len(words), 1)


def number_features(first: Floats, second: Floats) -> Floats:
    """Compare numbers.

    Parameters
    ----------
    first, second : ndarray of float, shape (n_pairs,)
        Numbers, NaN where they are missing.

    Returns
    -------
    features : ndarray of float64, shape (n_pairs, 4)
        The columns of `NUMBER_FEATURES`, symmetric; NaN where a number is missing. The *relative
        difference* |a − b| / max(|a|, |b|) is 0 for two zeros and at most 2; the *difference* is
        log(1 + |a − b|), and *larger* is max(|a|, |b|).

    Examples
    --------
    >>> import numpy as np
    >>> from film.compare import number_features
    >>> number_features(np.array([20.0]), np.array([25.0])).round(2).tolist()
    [[0.2, 0.0, 1.79, 25.0]]
    """
    gap = np.abs(first - second)
    larger = np.maximum(np.abs(first), np.abs(second))
    equal = np.where(np.isnan(gap), np.nan, gap == 0)
    relative = gap / np.where(larger == 0, 1.0, larger)
    return np.column_stack([relative, equal, np.log1p(gap), larger])


def crossing_features(
    cells: tuple[Sequence[str], Sequence[str]],
    records: tuple[Sequence[str], Sequence[str]],
    rarity: Rarity,
) -> Floats:
    """Look for the words of a column anywhere in the other record.

    Parameters
    ----------
    cells : pair of sequence of str
        Words of the column, of the first and second record of each pair.
    records : pair of sequence of str
        Words of all columns of the first and second record.
    rarity : callable
        Weight of a word.

    Returns
    -------
    features : ndarray of float64, shape (n_pairs, 2)
        Weight of the words of a cell that the other record has in any column, over the weight of
        all its words: the lower and the higher of both cells that are not empty; NaN if both are.
        So a value in a wrong column is found.

    Examples
    --------
    >>> from film.compare import crossing_features
    >>> cells, records = (["acme"], [""]), (["lamp acme"], ["acme lamp red"])
    >>> crossing_features(cells, records, lambda word: 1.0).tolist()
    [[1.0, 1.0]]
    """
    first = _shares_within(cells[0], records[1], rarity)
    second = _shares_within(cells[1], records[0], rarity)
    return np.column_stack([np.fmin(first, second), np.fmax(first, second)])


def _shares_within(cells: Sequence[str], records: Sequence[str], rarity: Rarity) -> Floats:
    found = np.full(len(cells), np.nan)
    sets: dict[str, frozenset[str]] = {}
    for row, (cell, record) in enumerate(zip(cells, records, strict=True)):
        if cell:
            words = sets.setdefault(cell, frozenset(cell.split()))
            others = sets.setdefault(record, frozenset(record.split()))
            whole = sum(map(rarity, sorted(words)))
            found[row] = sum(map(rarity, sorted(words & others))) / whole if whole > 0 else np.nan
    return found


def leftover_features(first: Sequence[str], second: Sequence[str], rarity: Rarity) -> Floats:
    """Compare records by the words that they share and those that are left over.

    Parameters
    ----------
    first, second : sequence of str
        Words of all columns of each pair of records.
    rarity : callable
        Weight of a word.

    Returns
    -------
    features : ndarray of float64, shape (n_pairs, 13)
        The columns of `LEFTOVER_FEATURES`, symmetric. *Shared rarity* is the weight of the shared
        words divided by the weight of all words. *Left over* is the weight of the words that only
        one record has, the lower and the higher of both records; *rarest* the weight of one word.
        Codes are words with digits of at least three letters; *codes within words* is the share of
        codes that the other record has when its spaces are dropped.

    Examples
    --------
    >>> from film.compare import LEFTOVER_FEATURES, leftover_features
    >>> found = leftover_features(["sony dsc120 silver"], ["sony dsc130"], lambda word: 1.0)
    >>> values = dict(zip(LEFTOVER_FEATURES, found[0].tolist()))
    >>> values["shared rarity"], values["rarest code left over, least"]
    (0.25, 1.0)
    """
    words: dict[str, tuple[frozenset[str], frozenset[str], frozenset[str], str]] = {}
    for text in dict.fromkeys([*first, *second]):
        every = frozenset(text.split())
        with_digits = {word for word in every if any(map(str.isdigit, word))}
        codes = frozenset(word for word in with_digits if len(word) >= 3)
        numbers = frozenset(word for word in with_digits if word.isdigit())
        words[text] = every, codes, numbers, text.replace(" ", "")

    def rarest(some: frozenset[str]) -> float:
        return max(map(rarity, some), default=0.0)

    rows = []
    for text, other in zip(first, second, strict=True):
        (a, codes_a, numbers_a, letters_a), (b, codes_b, numbers_b, letters_b) = (
            words[text],
            words[other],
        )
        # Sorted, so that sums are equal in every process.
        both, rest = (
            sum(map(rarity, sorted(a & b))),
            [sum(map(rarity, sorted(x))) for x in (a - b, b - a)],
        )
        rare = [rarest(a - b), rarest(b - a)]
        codes = [rarest(codes_a - codes_b), rarest(codes_b - codes_a)]
        within = sum(code in letters_b for code in codes_a) + sum(
            code in letters_a for code in codes_b
        )
        numbers = [len(numbers_a - numbers_b), len(numbers_b - numbers_a)]
        rows.append(
            (
                both / max(both + sum(rest), 1e-9),
                rarest(a & b),
                min(rest),
                max(rest),
                min(rare),
                max(rare),
                rarest(codes_a & codes_b),
                min(codes),
                max(codes),
                within / max(len(codes_a) + len(codes_b), 1),
                len(numbers_a & numbers_b),
                sum(numbers),
                min(numbers),
            )
        )
    return np.array(rows, dtype=np.float64).reshape(-1, len(LEFTOVER_FEATURES))

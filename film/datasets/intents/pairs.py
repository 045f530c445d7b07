"""Pairs of texts with the same or different intents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from film.datasets.intents.texts import IntentTexts
from film.datasets.pairs import QuestionPairs
from film.text import normalize_text

_ATTEMPTS = 50


def make_intent_pairs(
    data: IntentTexts, n_pairs: int = 5000, *, n_nearest: int = 20, random_state: int = 0
) -> QuestionPairs:
    """Draw pairs of texts: half with the same intent, a quarter random and a quarter hard.

    Half of the pairs share an intent (label 1). Of the rest (label 0), half are two random texts of
    different intents, and half are a text and one of its ``n_nearest`` nearest texts of other
    intents, by the cosine of word TF-IDF (`film.text.normalize_text`; idf
    ``ln((1 + n) / (1 + df)) + 1``). With the defaults, `read_clinc150` gives a fixed set for model
    selection and `read_banking77` one for testing.

    Parameters
    ----------
    data : IntentTexts
        At least two intents, one of them with two texts.
    n_pairs : int, default=5000
        Number of pairs, at least 4.
    n_nearest : int, default=20
        Number of neighbours that hard pairs are drawn from, at least 1.
    random_state : int, default=0
        Seed; the same texts and seed give the same pairs.

    Returns
    -------
    pairs : QuestionPairs
        Distinct pairs in random order; `ids` number them.

    Raises
    ------
    ValueError
        If there are too few texts or intents for so many distinct pairs.

    Notes
    -----
    Texts with the same intent need not have the same meaning: the labels are a proxy. The hard
    pairs are hard especially for TF-IDF, which selects them. Anchors are drawn uniformly over
    texts. O(n_pairs · n) for the neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from film.datasets import IntentTexts, make_intent_pairs
    >>> texts = np.array(["red car", "a red car", "blue bus", "the blue bus"], dtype=object)
    >>> intents = np.array(["car", "car", "bus", "bus"], dtype=object)
    >>> pairs = make_intent_pairs(IntentTexts(texts, intents), 4, n_nearest=1)
    >>> sorted(pairs.y.tolist())
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
    vectors = _tfidf([normalize_text(text).split() for text in data.texts])
    inverted = csr_array(vectors.T)

    def same(anchor: int) -> NDArray[np.intp]:
        group = members[intent[anchor]]
        return group[group != anchor]

    def other(anchor: int) -> NDArray[np.intp]:
        return np.flatnonzero(intent != intent[anchor])

    def near(anchor: int) -> NDArray[np.intp]:
        # Rounded, so that ties go to the earlier text on every machine.
        similarity = np.round((vectors[[anchor]] @ inverted).toarray().ravel(), 9)
        similarity[intent == intent[anchor]] = -1.0
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
    partners: Callable[[int], NDArray[np.intp]],
    taken: set[tuple[int, int]],
    rng: np.random.Generator,
) -> list[tuple[int, int]]:
    """Draw distinct pairs of an anchor and one of its partners, and add them to ``taken``."""
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


def _tfidf(texts: list[list[str]]) -> csr_array:
    """Return unit TF-IDF vectors of tokenised texts, (n, number of words)."""
    words = {
        word: column for column, word in enumerate(sorted({w for text in texts for w in text}))
    }
    columns = np.array([words[word] for text in texts for word in text], dtype=np.intp)
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    counts = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(texts), len(words)))
    counts.sum_duplicates()
    frequency = np.bincount(counts.indices, minlength=len(words))
    weighted = csr_array(counts @ diags_array(np.log((1 + len(texts)) / (1 + frequency)) + 1))
    lengths = np.sqrt(np.asarray(weighted.power(2).sum(axis=1)).ravel())
    return csr_array(diags_array(1 / np.where(lengths > 0, lengths, 1)) @ weighted)

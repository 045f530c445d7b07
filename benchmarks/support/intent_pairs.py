"""Pairs of texts that are labelled with an intent: same intent or another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from film.datasets import IntentTexts, QuestionPairs
from film.text import normalize_text

_ATTEMPTS = 50


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
    # Words of one letter count as others do.
    vectors: Any = TfidfVectorizer(token_pattern=r"\S+").fit_transform(
        [normalize_text(text) for text in data.texts]
    )

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

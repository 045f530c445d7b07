"""Score pairs of sentences of any corpus, as training data of a surrogate."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import combinations, count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from estimators.contexts.context_regressor import has_words, shared_copy
from estimators.inputs import (
    as_texts,
    check_integer,
    check_seed,
    check_texts,
    check_verbose,
    checked_memory,
)
from film.contexts import nearest_rows
from film.text import normalize_text

SPLITS = ("train", "dev", "test")
FARTHEST = 300
"""Largest rank among an anchor's neighbours from which its partners are drawn."""
GROUP, GROUPS = 4, 24
"""Sentences per group, an anchor and its neighbours, and groups per chunk. The sentences of a chunk
form some 300 pairs, so each sentence is prepared once."""
HELD_OUT_EVERY = 8
"""Chunks between two chunks with pairs of one held-out split, which then has 1 % of all pairs."""
LEAST_HELD_OUT, LEAST_SENTENCES = 24, 24
"""Least number of sentences of dev and of test, and of all sentences per four of them."""
MOST_EMPTY = 50
"""Number of chunks without a new pair after which the search ends."""

Pair = tuple[int, int]
Nearest = Callable[[NDArray[np.intp]], NDArray[np.intp]]
"""Rows to the rows of their `FARTHEST` nearest sentences, nearest first."""


def planned_chunks(
    n_sentences: int, nearest: list[Nearest], seed: int
) -> Iterator[list[tuple[Pair, str]]]:
    """Yield chunks of different pairs with their splits, until no new pairs are found.

    Parameters
    ----------
    n_sentences : int
        Number of sentences, which are identified by their rows.
    nearest : list of callable
        Searches for nearest sentences, used in turn.
    seed : int
        Seed. The plan does not depend on scores.
    """
    split = np.zeros(n_sentences, dtype=np.int8)
    n_held_out = max(LEAST_HELD_OUT, round(0.01 * n_sentences))
    n_held_out = min(n_held_out, GROUP * (n_sentences // LEAST_SENTENCES))
    rows = np.random.default_rng([seed, 2**32]).permutation(n_sentences)
    split[rows[:n_held_out]], split[rows[n_held_out : 2 * n_held_out]] = 1, 2
    seen: set[Pair] = set()
    n_empty = 0
    for number in count():
        rng = np.random.default_rng([seed, number])
        chosen: dict[Pair, str] = {}
        for kind, name in enumerate(SPLITS):
            n_groups = GROUPS if kind == 0 else 2 * (number % HELD_OUT_EVERY == 0)
            groups = _groups(np.flatnonzero(split == kind), n_groups, nearest, rng)
            chosen |= dict.fromkeys(_new_pairs(groups, rng, seen), name)
        seen.update(chosen)
        n_empty = 0 if chosen else n_empty + 1
        if n_empty > MOST_EMPTY:
            return
        # The first pairs of a chunk are like the whole.
        pairs = list(chosen.items())
        yield [pairs[place] for place in rng.permutation(len(pairs)).tolist()]


def _groups(
    rows: NDArray[np.intp], n_groups: int, nearest: list[Nearest], rng: np.random.Generator
) -> list[list[int]]:
    """Draw groups of different rows: anchors, and neighbours of each at several distances."""
    anchors = rng.permutation(rows)[: min(n_groups, len(rows) // GROUP)]
    if not len(anchors):
        return []
    found = [search(anchors) for search in nearest]
    # Of few sentences, the farthest of all are not neighbours.
    farthest = max(1, min(FARTHEST, len(rows) // 10))
    free = np.zeros(rows.max() + 1, dtype=bool)
    free[rows], free[anchors] = True, False
    groups = []
    for place, anchor in enumerate(anchors.tolist()):
        group = [anchor]
        for member in range(1, GROUP):
            near = found[(place + member) % len(found)][place]
            near = near[near < len(free)]
            near = near[free[near]]
            # Uniform in the logarithm of the rank: the nearest are the rarest.
            near = near[int(farthest ** rng.random()) - 1 :]
            partner = int(near[0] if len(near) else rng.permutation(np.flatnonzero(free))[0])
            free[partner] = False
            group.append(partner)
        groups.append(group)
    return groups


def _new_pairs(groups: list[list[int]], rng: np.random.Generator, seen: set[Pair]) -> list[Pair]:
    """Draw new pairs of neighbours within groups, and as many of random sentences between them."""
    inside = [_ordered(*pair) for group in groups for pair in combinations(group, 2)]
    between = [_ordered(a, b) for one, other in combinations(groups, 2) for a in one for b in other]
    drawn = [between[place] for place in rng.permutation(len(between)).tolist()]
    drawn = [pair for pair in drawn if pair not in seen][: len(inside)]
    return [*(pair for pair in inside if pair not in seen), *drawn]


def _ordered(one: int, other: int) -> Pair:
    return (one, other) if one < other else (other, one)


_LEAST = 4
"""Least number of sentences of a harvest: one group."""
_ENCODED_AT_ONCE = 1000


class HarvestedPairs(NamedTuple):
    """Pairs with their scores, of `harvest`.

    Attributes
    ----------
    pairs : ndarray of str objects, shape (n, 2)
        Texts.
    scores : ndarray of float64, shape (n,)
        Similarities.
    splits : ndarray of str objects, shape (n,)
        "train", "dev" or "test".
    """

    pairs: NDArray[np.object_]
    scores: NDArray[np.float64]
    splits: NDArray[np.object_]


def harvest(
    model: Any,
    sentences: Any,
    *,
    n_pairs: int,
    memory: Any = None,
    random_state: Any = None,
    verbose: int = 0,
) -> HarvestedPairs:
    """Score pairs of sentences over the whole range of similarity.

    Random pairs alone are all far apart, so a model would only learn a constant. So half of the
    pairs are neighbours at several distances.

    Parameters
    ----------
    model : ContextRegressor
        Fitted, or any other regressor of pairs with a ``similarity``.
    sentences : array-like of str
        Sentences to pair. Sentences that are equal after normalisation count once; sentences
        without words are left out.
    n_pairs : int
        Number of pairs.
    memory : str or joblib.Memory, default=None
        Cache of finished chunks of some 300 pairs, so that an interrupted or longer run continues,
        with the same model, sentences and seed. Use a private folder, because its files are
        unpickled.
    random_state : int, RandomState or None, default=None
        Seeds the choice of pairs.
    verbose : int, default=0
        Whether to show progress.

    Returns
    -------
    harvested : HarvestedPairs
        ``pairs``, ``scores`` and ``splits``.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid or fewer than four sentences are left; raised before any pair is
        scored.

    Warns
    -----
    UserWarning
        If there are fewer pairs than ``n_pairs``.

    See Also
    --------
    SurrogateRegressor : Learns from the scores.

    Notes
    -----
    About 1 % of the pairs are dev and 1 % test; the others are train. No sentence is in two splits,
    so nothing leaks between them. 1 % of the sentences belong to dev and 1 % to test, but of some
    hundred sentences at least 24 each. Below 24 sentences, no sentence is held out.

    Sentences are drawn in groups: one sentence and three of its neighbours, whose ranks, from 1 to
    300 and at most a tenth of all sentences, are uniform in the logarithm. Neighbours by TF-IDF of
    words and bigrams alternate with neighbours by the discriminator's scores, if the model has one.
    Half of the pairs come from one group, the others from two, so each sentence's contexts are
    chosen once for some six pairs. The plan depends only on the sentences and the seed.

    Examples
    --------
    >>> harvested = harvest(origin, sentences, n_pairs=20_000)  # doctest: +SKIP
    """
    if not callable(getattr(model, "similarity", None)) or isinstance(model, type):
        raise TypeError(
            f"model={model!r} must be a fitted ContextRegressor, or have a similarity of pairs"
        )
    from tqdm.auto import tqdm

    check_integer("n_pairs", n_pairs, 1)
    check_verbose(verbose)
    similarities: Any = checked_memory(memory).cache(_similarities)
    texts = _usable(sentences)
    seed = int(check_seed(random_state).randint(2**31 - 1))
    rows: list[tuple[str, str, float, str]] = []
    shown = {"desc": "harvest", "unit": " pairs", "disable": not verbose}
    with tqdm(total=n_pairs, **shown) as bar:
        for chunk in planned_chunks(len(texts), _searches(texts, model), seed):
            if len(rows) == n_pairs:
                break
            pairs = [(texts[one], texts[other]) for (one, other), _ in chunk]
            scores = similarities(model, np.array(pairs, dtype=object).reshape(-1, 2))
            found = zip(pairs, scores.tolist(), (split for _, split in chunk), strict=True)
            rows += [(*pair, score, split) for pair, score, split in found][: n_pairs - len(rows)]
            bar.update(len(rows) - bar.n)
    if len(rows) < n_pairs:
        warnings.warn(
            f"the {len(texts)} sentences gave {len(rows)} pairs, not n_pairs={n_pairs}: give more "
            "sentences",
            UserWarning,
            stacklevel=2,
        )
    table = np.array(rows, dtype=object).reshape(-1, 4)
    return HarvestedPairs(table[:, :2], table[:, 2].astype(np.float64), table[:, 3])


def _similarities(model: Any, pairs: NDArray[np.object_]) -> NDArray[np.float64]:
    scores = np.asarray(model.similarity(pairs), dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("model gave a similarity that is not finite")
    return scores


def _usable(sentences: Any) -> list[str]:
    """Return the different sentences that have words, in order."""
    given = check_texts(sentences, "sentences", encodable=True)
    different: dict[str, str] = {}
    for text in given:
        if has_words(text):
            different.setdefault(normalize_text(text), text)
    if len(different) < _LEAST:
        raise ValueError(
            f"only {len(different)} of {len(given)} sentences are usable (different, with words); "
            f"give at least {_LEAST}, and some thousand to learn from"
        )
    return list(different.values())


def _searches(texts: list[str], model: Any) -> list[Nearest]:
    """Return searches by TF-IDF, and by the scores of a model of contexts in its fixed contexts."""
    tfidf: Any = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b")
    words = tfidf.fit_transform(as_texts(texts))
    by_word = words.tocsc()

    def by_words(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        return nearest_rows(words[rows], by_word, FARTHEST)[0]

    contexts: Any = getattr(model, "context_model_", None)
    if not hasattr(contexts, "transform"):
        return [by_words]
    # The discriminator alone is fast. Its scores are all negative, so their mean is subtracted.
    encoder = shared_copy(contexts).set_params(weights=(1, 0, 0, 0))
    starts = range(0, len(texts), _ENCODED_AT_ONCE)
    blocks = [encoder.transform(texts[start : start + _ENCODED_AT_ONCE]) for start in starts]
    vectors: Any = np.concatenate(blocks).astype(np.float32)
    vectors = normalize(vectors - vectors.mean(axis=0))

    def by_vectors(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        products = vectors[rows] @ vectors.T
        return np.argsort(-products, axis=1, kind="stable")[:, :FARTHEST]

    return [by_words, by_vectors]

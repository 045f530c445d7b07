"""Training data of a triplet network: given or mined triplets of texts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from estimators.inputs import labels_or_triplets, nothing_mined
from estimators.training.loop.batches import Examples
from estimators.training.loop.objectives import NPairs, Objective, TripletOrder
from estimators.training.loop.text_vectors import TextVectors
from estimators.training.triplets.token_states import (
    Texts,
    checked_texts,
    distinct_states,
    mean_vectors,
    taken,
)
from film.corpus import connected_groups
from film.metric import nearest_dissimilar, ordered_share, triplets_from_labels


class Given(NamedTuple):
    """Texts with their labels or triplets."""

    texts: Texts
    labels: np.ndarray | None
    triplets: np.ndarray | None


def checked(X: Any, y: Any, name: str = "X") -> Given:
    """Check texts or token vectors, and their labels or triplets."""
    texts = checked_texts(X, name)
    if y is None:
        raise ValueError("y is None; give group labels, or triplets of shape (n_triplets, 3)")
    return Given(texts, *labels_or_triplets(y, len(texts)))


def triplets_of(
    given: Given, encoder: Any, seed: int, *, n_random: int, n_nearest: int, most: int | None
) -> np.ndarray:
    """Return given triplets, or triplets mined from labels; at most ``most``, drawn at random.

    Nearest texts are found by the mean of their token vectors.
    """
    rng, triplets = np.random.default_rng([seed, 3]), given.triplets
    if triplets is None:
        assert given.labels is not None

        def nearest(anchors: np.ndarray, groups: np.ndarray) -> np.ndarray:
            means = mean_vectors(encoder, given.texts)
            return nearest_dissimilar(means, anchors, groups, n_nearest)

        triplets = triplets_from_labels(
            given.labels,
            n_random=n_random,
            nearest=nearest if n_nearest else None,
            random_state=rng,
        )
        if len(triplets) == 0:
            raise nothing_mined(given.labels)
    if most is not None and len(triplets) > most:
        triplets = triplets[np.sort(rng.choice(len(triplets), most, replace=False))]
    return triplets


def examples_of(
    triplets: np.ndarray, texts: Texts, encoder: Any, *, length: int, verbose: int
) -> Examples:
    """Return triplets as training rows, with the token vectors of their texts."""
    used, local = np.unique(triplets, return_inverse=True)
    states, numbers = distinct_states(encoder, taken(texts, used), length, verbose)
    return Examples(states, numbers[local.reshape(-1, 3)], None, None)


def objective_of(name: str, examples: Examples) -> Objective:
    """Return the objective with this name."""
    if name == "triplet":
        return TripletOrder()
    # All texts without words count as one text, which is similar to none.
    similar, states = examples.codes[:, :2], examples.tokens
    similar = similar[(states.n_tokens[similar] > 0).all(axis=1)]
    return NPairs(connected_groups(similar, len(states.n_tokens)))


def order_of(network: TextVectors, examples: Examples) -> float:
    """Fraction of triplets in the right order by the cosine of a network's vectors."""
    return ordered_share(network.vectors(examples.tokens), examples.codes)

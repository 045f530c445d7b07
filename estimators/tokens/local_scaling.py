"""Similarity of pairs in a collection, from one encoding of each of its texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from estimators.inputs import check_texts
from estimators.tokens.blocks import Block, check_tokens
from film.pairs import locally_scaled


def checked_collection(collection: Any, encoder: Any, special_tokens: bool) -> list[str]:
    """Give the different texts of a collection, or raise where one has no token."""
    texts = list(dict.fromkeys(check_texts(collection, name="collection", encodable=True)))
    column = np.array(texts, dtype=object)[:, None]
    check_tokens(encoder, column, special_tokens, "collection", "text")
    return texts


def similarity_in(
    pairs: np.ndarray,
    collection: list[str],
    blocks: Callable[[np.ndarray], Iterator[Block]],
    similarities: Callable[..., np.ndarray],
    n_neighbors: int,
    weight: float,
) -> np.ndarray:
    """Take the density of a collection from the similarity of pairs.

    Parameters
    ----------
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    collection : list of str
        Different texts.
    blocks : callable
        Gives pairs in encoded blocks.
    similarities : callable
        Gives the similarity of the pairs of a block.
    n_neighbors, weight : int and float
        As in `film.pairs.locally_scaled`.

    Returns
    -------
    similarity : ndarray of float64, shape (n_pairs,)
        In the order of the pairs.
    """
    points: dict[str, np.ndarray] = {}
    found: list[np.ndarray] = []
    for block in blocks(pairs):
        found.append(similarities(block.tokens, block.weights, block.codes, block.advance))
        points |= _means(block)
    others = np.array([text for text in collection if text not in points], dtype=object)
    if len(others):
        for block in blocks(np.column_stack([others, others])):
            points |= _means(block)
            block.advance(len(block.codes))
    number = {text: place for place, text in enumerate(points)}
    return locally_scaled(
        np.concatenate(found),
        np.array(list(points.values())),
        [[number[str(text)] for text in pair] for pair in pairs.tolist()],
        [number[text] for text in collection],
        k=n_neighbors,
        weight=weight,
    )


def _means(block: Block) -> dict[str, np.ndarray]:
    """Vector of each text in the direction of the weighted mean of its tokens."""
    values = np.asarray(block.tokens.values)
    if block.weights is not None:
        values = values * block.weights[:, None]
    return dict(zip(block.texts, np.add.reduceat(values, block.tokens.starts[:-1]), strict=True))

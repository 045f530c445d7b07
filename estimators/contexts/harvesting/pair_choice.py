"""Which pairs of sentences to score: groups of neighbours at several distances, and random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SPLITS = ("train", "dev", "test")
SHARE = 0.01
"""Share of the pairs, and of the sentences, in each of dev and test."""
BANDS = ((1, 3), (2, 20), (20, 300))
"""Ranks among an anchor's neighbours from which its partners are drawn."""
FARTHEST = BANDS[-1][1]
_GROUP = 1 + len(BANDS)
_GROUPS = 24
"""Groups per chunk. Their sentences form some 300 pairs, so each sentence is prepared once."""
_GROUPS_HELD_OUT = 2
"""Groups of a chunk from dev or test."""
_LEAST_HELD_OUT = 6
"""Groups of dev and of test, if there are enough sentences."""
_LEAST_SENTENCES = 24
"""Sentences per held-out group."""
_MOST_EMPTY = 50
"""Number of chunks without a new pair after which the search ends."""

Nearest = Callable[[NDArray[np.intp]], NDArray[np.intp]]
"""Rows to the rows of their `FARTHEST` nearest sentences, nearest first, shape (q, FARTHEST)."""


class Chosen(NamedTuple):
    """A pair of sentences, by their rows, and the number of its split."""

    one: int
    other: int
    split: int


class PairChoice:
    """Plan of a harvest, which depends on sentences, seed and shares, but not on scores.

    Parameters
    ----------
    n_sentences : int
        Number of sentences, which are identified by their rows.
    nearest : list of callable
        Searches for nearest sentences, used in turn.
    near : float
        Share of pairs of neighbours.
    seed : int
        Seed.
    """

    def __init__(self, n_sentences: int, nearest: list[Nearest], near: float, seed: int) -> None:
        self.n_sentences, self.nearest, self.near, self.seed = n_sentences, nearest, near, seed
        self._split = np.zeros(n_sentences, dtype=np.int8)
        n_groups = max(_LEAST_HELD_OUT, round(SHARE * n_sentences / _GROUP))
        n_groups = min(n_groups, n_sentences // _LEAST_SENTENCES)
        rng = np.random.default_rng([seed, 2**32])
        self._held_out: dict[int, list[list[int]]] = {}
        for split in range(1, len(SPLITS)):
            self._held_out[split] = self._groups(rng, n_groups)
            for group in self._held_out[split]:
                self._split[group] = split

    def chunks(self) -> Iterator[list[Chosen]]:
        """Yield chunks of different pairs, until no new pairs are found."""
        seen: set[tuple[int, int]] = set()
        counts, n_empty = [0] * len(SPLITS), 0
        for number in count():
            rng = np.random.default_rng([self.seed, number])
            chosen: dict[tuple[int, int], int] = {}
            due = sum(counts) + _GROUPS * _GROUP * (_GROUP - 1) // 2
            for split, groups in self._held_out.items():
                if counts[split] < SHARE * due:
                    drawn = rng.permutation(len(groups))[:_GROUPS_HELD_OUT]
                    pairs = self._pairs([groups[place] for place in drawn], rng, seen)
                    if not pairs:  # these are done: any two that are held out, then
                        alone = [[row] for group in groups for row in group]
                        pairs = _random_pairs(alone, rng, 6, seen)
                    chosen |= dict.fromkeys(pairs, split)
            chosen |= dict.fromkeys(self._pairs(self._groups(rng), rng, seen), 0)
            pairs = [Chosen(*pair, split) for pair, split in chosen.items()]
            seen.update(chosen)
            for split in chosen.values():
                counts[split] += 1
            n_empty = 0 if pairs else n_empty + 1
            if n_empty > _MOST_EMPTY:
                return
            # The first pairs of a chunk are like the whole.
            yield [pairs[place] for place in rng.permutation(len(pairs)).tolist()]

    def _groups(self, rng: np.random.Generator, n_groups: int = _GROUPS) -> list[list[int]]:
        """Draw groups of different sentences that are not held out."""
        free = np.flatnonzero(self._split == 0)
        anchors = rng.permutation(free)[: min(n_groups, len(free) // _GROUP)]
        rows = [nearest(anchors) for nearest in self.nearest]
        # Of few sentences, the farthest of all are not neighbours.
        farthest = max(1, self.n_sentences // 10)
        taken = set(anchors.tolist())
        groups = []
        for place, anchor in enumerate(anchors.tolist()):
            group = [anchor]
            for band, (low, high) in enumerate(BANDS):
                low, high = min(low, farthest), min(high, farthest)
                near = rows[(place + band) % len(rows)][place]
                allowed = [row for row in near.tolist() if row != anchor and not self._split[row]]
                # Uniform in the logarithm of the rank: the nearest of a band are the rarest.
                rank = round(low * (high / low) ** rng.random())
                left = [row for row in allowed[rank - 1 :] if row not in taken]
                if not left:
                    left = [row for row in rng.permutation(free).tolist() if row not in taken]
                taken.add(left[0])
                group.append(left[0])
            groups.append(group)
        return groups

    def _pairs(
        self, groups: list[list[int]], rng: np.random.Generator, seen: set[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Draw new pairs of neighbours within groups, and of random sentences between them."""
        inside = [_ordered(*pair) for group in groups for pair in combinations(group, 2)]
        if not self.near:
            return _random_pairs(groups, rng, len(inside), seen)
        n_between = round(len(inside) * (1 - self.near) / self.near)
        inside = [pair for pair in inside if pair not in seen]
        return [*inside, *_random_pairs(groups, rng, n_between, seen)]


def _random_pairs(
    groups: list[list[int]], rng: np.random.Generator, n: int, seen: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    pairs = [_ordered(a, b) for one, other in combinations(groups, 2) for a in one for b in other]
    new = [pair for pair in pairs if pair not in seen]
    return [new[place] for place in rng.permutation(len(new))[:n].tolist()]


def _ordered(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)

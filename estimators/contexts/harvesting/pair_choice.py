"""Which pairs of sentences to score: groups of neighbours at several distances, and random ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SPLITS = ("train", "dev", "test")
SHARE = 0.01
"""Of the pairs, and of the sentences, in each of dev and test."""
BANDS = ((1, 3), (2, 20), (20, 300))
"""Ranks among an anchor's neighbours from which its partners are drawn."""
FARTHEST = BANDS[-1][1]
_GROUP = 1 + len(BANDS)
_GROUPS = 24
"""Groups of a chunk: their sentences meet in some 300 pairs, so that each is prepared once."""
_GROUPS_HELD_OUT = 2
"""Those of a chunk from dev or test."""
_LEAST_HELD_OUT = 6
"""Groups of dev and of test, where there are sentences enough."""
_LEAST_SENTENCES = 24
"""Sentences for each group that is held out."""

Nearest = Callable[[NDArray[np.intp]], NDArray[np.intp]]
"""Rows to the rows of their `FARTHEST` nearest sentences, nearest first, shape (q, FARTHEST)."""


class Chosen(NamedTuple):
    """A pair of sentences, by their rows, and the number of its split."""

    one: int
    other: int
    split: int


class PairChoice:
    """Plan of a harvest: the same for the same sentences, seed and shares, whatever the scores.

    Parameters
    ----------
    n_sentences : int
        Different sentences, named by their rows.
    nearest : list of callable
        One or more measures of nearness, each as `Nearest`.
    near : float
        Share of the pairs that are drawn among neighbours, from 0 to 1.
    seed : int
        Of the random numbers.

    Notes
    -----
    A group is a sentence and one neighbour of it out of each band of ranks, the measures taking
    turns. Neighbours pair within their group, random pairs between the groups of a chunk.

    A share of the sentences is held out for dev and test before all, in whole groups, so that their
    near neighbours come with them. Both sentences of a pair are of one split: none is in two.
    """

    def __init__(self, n_sentences: int, nearest: list[Nearest], near: float, seed: int) -> None:
        self.n_sentences, self.near, self.seed = n_sentences, near, seed
        self._nearest = nearest
        # Of few sentences, the farthest of all are not neighbours.
        self._farthest = max(1, n_sentences // 10)
        self._split = np.zeros(n_sentences, dtype=np.int8)
        self._seen: set[tuple[int, int]] = set()
        self._counts = [0] * len(SPLITS)
        self._held_out = self._hold_out()

    def split_of(self, row: int) -> int:
        """Give the number of the split that a sentence belongs to."""
        return int(self._split[row])

    def add(self, pairs: list[Chosen]) -> None:
        """Remember pairs that are done."""
        for pair in pairs:
            self._seen.add(_ordered(pair.one, pair.other))
            self._counts[pair.split] += 1

    def chunk(self, number: int) -> list[Chosen]:
        """Plan one chunk of new pairs; it depends on the pairs of all chunks before.

        Parameters
        ----------
        number : int
            Of the chunk, from 0.

        Returns
        -------
        pairs : list of Chosen
            May be empty, where what was drawn is done already.
        """
        rng = np.random.default_rng([self.seed, number])
        chosen: dict[tuple[int, int], int] = {}
        due = sum(self._counts) + _GROUPS * _GROUP * (_GROUP - 1) // 2
        for split, groups in self._held_out.items():
            if self._counts[split] < SHARE * due:
                drawn = rng.permutation(len(groups))[:_GROUPS_HELD_OUT]
                pairs = self._pairs([groups[place] for place in drawn], rng)
                if not pairs:  # these are done: any two that are held out, then
                    pairs = self._random_pairs([[row] for group in groups for row in group], rng, 6)
                chosen |= dict.fromkeys(pairs, split)
        chosen |= dict.fromkeys(self._pairs(self._groups(rng), rng), 0)
        pairs = [Chosen(*pair, split) for pair, split in chosen.items()]
        # Of a chunk that is cut, what is done is like the whole.
        return [pairs[place] for place in rng.permutation(len(pairs)).tolist()]

    def _hold_out(self) -> dict[int, list[list[int]]]:
        """Set groups aside for every split but the first."""
        n = self.n_sentences
        n_groups = min(max(_LEAST_HELD_OUT, round(SHARE * n / _GROUP)), n // _LEAST_SENTENCES)
        rng = np.random.default_rng([self.seed, 2**32])
        held_out = {}
        for split in range(1, len(SPLITS)):
            held_out[split] = self._groups(rng, n_groups)
            for group in held_out[split]:
                self._split[group] = split
        return held_out

    def _groups(self, rng: np.random.Generator, n_groups: int = _GROUPS) -> list[list[int]]:
        """Draw groups of different sentences that are not held out."""
        free = np.flatnonzero(self._split == 0)
        anchors = rng.permutation(free)[: min(n_groups, len(free) // _GROUP)]
        rows = [nearest(anchors) for nearest in self._nearest]
        taken = set(anchors.tolist())
        groups = []
        for place, anchor in enumerate(anchors.tolist()):
            group = [anchor]
            for band, (low, high) in enumerate(BANDS):
                low, high = (min(rank, self._farthest) for rank in (low, high))
                near = rows[(place + band) % len(rows)][place]
                allowed = [row for row in near.tolist() if row != anchor and not self._split[row]]
                # Uniform in the logarithm of the rank: the nearest of a band are the rarest.
                rank = round(low * (high / low) ** rng.random())
                left = [row for row in allowed[rank - 1 :] if row not in taken]
                partner = left[0] if left else self._any(free, taken, rng)
                taken.add(partner)
                group.append(partner)
            groups.append(group)
        return groups

    @staticmethod
    def _any(free: NDArray[np.intp], taken: set[int], rng: np.random.Generator) -> int:
        left = [row for row in rng.permutation(free).tolist() if row not in taken]
        return left[0]

    def _pairs(self, groups: list[list[int]], rng: np.random.Generator) -> list[tuple[int, int]]:
        """Draw new pairs of neighbours within groups, and of random sentences between them."""
        inside = [_ordered(*pair) for group in groups for pair in combinations(group, 2)]
        n_between = len(inside)
        if self.near:
            n_between = round(len(inside) * (1 - self.near) / self.near)
        else:
            inside = []
        inside = [pair for pair in inside if pair not in self._seen]
        return [*inside, *self._random_pairs(groups, rng, n_between)]

    def _random_pairs(
        self, groups: list[list[int]], rng: np.random.Generator, n: int
    ) -> list[tuple[int, int]]:
        between = [
            pair
            for one, other in combinations(groups, 2)
            for pair in (_ordered(a, b) for a in one for b in other)
            if pair not in self._seen
        ]
        return [between[place] for place in rng.permutation(len(between))[:n].tolist()]


def _ordered(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)

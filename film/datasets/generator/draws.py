"""Fast single random draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

_Item = TypeVar("_Item")


class Draws:
    """Random draws from blocks of uniform numbers, because single NumPy draws are slow."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._block: list[float] = []

    def uniform(self) -> float:
        """Return a number in [0, 1)."""
        if not self._block:
            self._block = self._generator.random(4096).tolist()
        return self._block.pop()

    def below(self, bound: int) -> int:
        """Return one of 0 … bound - 1."""
        return int(self.uniform() * bound)

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.uniform() < probability

    def one(self, items: Sequence[_Item]) -> _Item:
        """Return one of the items."""
        return items[self.below(len(items))]

    def common(self, items: Sequence[_Item]) -> _Item:
        """Return one of the items; earlier items are more frequent."""
        return items[int(self.uniform() ** 2 * len(items))]

    def other(self, items: Sequence[_Item], than: _Item) -> _Item:
        """Return an item other than `than`; earlier items are more frequent."""
        return self.common([item for item in items if item != than])

    def order(self, n: int) -> list[int]:
        """Return 0 … n - 1 in random order."""
        return self._generator.permutation(n).tolist()


def generator_of(random_state: object) -> np.random.Generator:
    """Return a random generator for a seed or another source of randomness."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31 - 1)))
    try:
        return np.random.default_rng(random_state)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be None, an integer of at least 0, a Generator or a "
            f"RandomState, got {random_state!r}"
        ) from error

"""Kinds of numbers that options take."""

from __future__ import annotations

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range of numbers; nan, which lies outside of no range, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Give the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number; give one such as 0.5.", param, ctx)
        return number


PRIOR = FiniteRange(0, 1, min_open=True, max_open=True)
"""A share of duplicates."""

SHARE = FiniteRange(0, 1)
"""A probability or similarity."""

POSITIVE_SHARE = FiniteRange(0, 1, min_open=True)

SEED = click.IntRange(0, 2**32 - 1)
"""What NumPy's random states take."""

seed_option = click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Seed of what is drawn at random."
)

"""The general score of pairs, which needs no model, at the command line."""

from __future__ import annotations

from typing import Any

import click

from estimators.cli.console import verbosity
from estimators.cli.options import chosen_encoder
from estimators.encoders import NO_ENCODER


def check_without_model(model: str | None, contexts: int | None, encoder: str) -> None:
    """Raise if an option needs a model that is not given, or excludes the given one."""
    if model is None and contexts is not None:
        raise click.UsageError("--contexts is for a model; give --model too")
    if model is not None and encoder != NO_ENCODER:
        raise click.UsageError("--encoder adds to the general score; leave out --model")


def finder_of_pairs(texts: Any, encoder: str, device: str | None) -> Any:
    """Fit a `DuplicateFinder` to the texts of all pairs; they are their own ids."""
    from estimators.corpus import DuplicateFinder

    every = list(dict.fromkeys(texts.ravel().tolist()))
    finder = DuplicateFinder(
        encoder=chosen_encoder(encoder, len(every)), device=device, verbose=verbosity()
    )
    return finder.fit(every, ids=every)

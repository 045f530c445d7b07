"""Load the models and encoders that options name."""

from __future__ import annotations

import os
from typing import Any

import click

from estimators.cli.console import Failure, note
from estimators.cli.options import NO_ENCODER


def load_model(path: str, device: str | None = None) -> Any:
    """Load a file of `estimators.save_model`."""
    if path == "-":
        raise click.UsageError("--model - : a model is read from a file, not from standard input")
    from estimators import persistence

    if os.path.isdir(path) and not persistence.is_bundle(path):
        raise click.UsageError(
            f"--model {path} is a folder, and not one of film train --accurate; models of "
            "similarity are used in Python: CLASS.load(folder).similarity(pairs)"
        )
    return persistence.load_model(path, device=device)


def load_classifier(path: str, device: str | None = None) -> Any:
    """Load a fitted classifier."""
    model = load_model(path, device)
    from estimators.pairs import DuplicateClassifier

    if not isinstance(model, DuplicateClassifier) or not hasattr(model, "members_"):
        raise Failure(
            f"{path} holds a {type(model).__name__} that cannot score pairs; give a model that "
            "film train or film review wrote"
        )
    return model


def chosen_encoder(name: str, n_texts: int) -> str | None:
    """Print which encoder ``--encoder`` selects for distinct texts; return its name or folder."""
    # Loaded here: scikit-learn takes a second.
    from estimators.encoders import resolve_encoder

    choice = resolve_encoder(name, n_texts)
    if name != NO_ENCODER:
        note(choice.reason)
    return None if choice.encoder is None else choice.name

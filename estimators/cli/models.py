"""Load the models and encoders that options name."""

from __future__ import annotations

import importlib
import os
from typing import Any

import click

from estimators.cli.console import Failure, note, verbosity
from estimators.cli.options import NO_ENCODER

FOLDERS = {
    "ContextModel": ("contexts", "by contexts of its corpus (Origin)"),
    "SurrogateRegressor": ("contexts", "by the cosine of sentence vectors"),
    "CrossEncoderRegressor": ("training", "by reading both texts together"),
    "RCMDRegressor": ("tokens", "by transport between tokens"),
}
"""Classes whose models are folders: the package of each, and how it predicts similarities."""
MOST_TOKENS = 64
"""Tokens of a sentence that a transformers model reads."""


def load_model(path: str, device: str | None = None) -> Any:
    """Load a file of `estimators.save_model`."""
    if path == "-":
        raise click.UsageError("--model - : a model is read from a file, not from standard input")
    from estimators import persistence

    if os.path.isdir(path) and not persistence.is_bundle(path):
        raise click.UsageError(
            f"--model {path} is a folder; give a file, or the folder of film train --accurate"
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


def is_folder(path: str) -> bool:
    """Return whether a path is the folder of a model of similarities."""
    from estimators.persistence import is_bundle

    return path != "-" and os.path.isdir(path) and not is_bundle(path)


def load_folder(path: str, device: str | None = None) -> Any:
    """Load the fitted model of a folder, whatever its class."""
    from estimators.persistence import read_metadata

    try:
        kind = read_metadata(path)["class"]
    except FileNotFoundError as error:
        raise Failure(
            f"--model {path} is a folder without a model ({error}); give a model that film train "
            "or film review wrote, or that an estimator saved"
        ) from error
    if kind not in FOLDERS:
        raise Failure(
            f"--model {path} holds a {kind}, which cannot score pairs; give one of "
            f"{', '.join(FOLDERS)}"
        )
    package = importlib.import_module(f"estimators.{FOLDERS[kind][0]}")
    return getattr(package, kind).load(path, device=device)


def load_regressor(path: str, pairs: Any, contexts: int | None, device: str | None) -> Any:
    """Load the model of a folder, ready to score pairs.

    Parameters
    ----------
    path : str
        The folder.
    pairs : array-like of str, shape (n, 2)
        Pairs that are to be scored.
    contexts : int, optional
        Contexts per sentence, for a `ContextModel` alone.
    device : str, optional
        Where it computes.
    """
    model = load_folder(path, device)
    kind = type(model).__name__
    told = f"similarity by {kind} of {path}, {FOLDERS[kind][1]}"
    if kind == "ContextModel":
        from estimators.contexts import ContextRegressor

        told += f", {contexts or model.n_contexts} contexts a sentence"
        # Without scores, no pair is judged here.
        model = ContextRegressor(model, n_contexts=contexts).fit(pairs)
    elif contexts is not None:
        raise Failure(f"--contexts {contexts} is for a ContextModel; {path} is {kind}")
    note(told)
    return model.set_params(verbose=verbosity())


def chosen_encoder(name: str, n_texts: int) -> str | None:
    """Print which encoder ``--encoder`` selects for distinct texts; return its name or folder."""
    # Loaded here: scikit-learn takes a second.
    from estimators.encoders import resolve_encoder

    choice = resolve_encoder(name, n_texts)
    if name != NO_ENCODER:
        note(choice.reason)
    return None if choice.encoder is None else choice.name

"""Models saved as folders, which predict similarities instead of probabilities."""

from __future__ import annotations

import importlib
import os
from typing import Any

import click

from estimators.cli.console import Failure, note, verbosity

_ROOMS = {
    "ContextModel": "contexts",
    "SurrogateRegressor": "contexts",
    "CrossEncoderRegressor": "training",
    "RCMDRegressor": "tokens",
}
"""The room of each class whose models are folders."""
WAYS = {
    "ContextModel": "by contexts of its corpus (Origin)",
    "SurrogateRegressor": "by the cosine of sentence vectors",
    "CrossEncoderRegressor": "by reading both texts together",
    "RCMDRegressor": "by transport between tokens",
}


MOST_TOKENS = 64
"""Tokens of a sentence that a transformers model reads."""


def is_folder(path: str) -> bool:
    """Return whether a path is the folder of a model of similarities."""
    from estimators.persistence import is_bundle

    return path != "-" and os.path.isdir(path) and not is_bundle(path)


def checked_folder(path: str, contexts: int | None) -> bool:
    """Return whether a model is a folder; raise if the options do not suit it."""
    folder = is_folder(path)
    if not folder and contexts is not None:
        raise click.UsageError(
            f"--contexts {contexts} needs the folder of a ContextModel as --model"
        )
    return folder


def load_folder(path: str, device: str | None = None) -> Any:
    """Load the fitted model of a folder, whatever its class."""
    from estimators.persistence import read_metadata

    try:
        kind = read_metadata(path)["class"]
    except FileNotFoundError as error:
        raise Failure(
            f"--model {path} is a folder without a model ({error}); give a model that film train, "
            "film review or film contexts wrote"
        ) from error
    if kind not in _ROOMS:
        raise Failure(
            f"--model {path} holds a {kind}, which cannot score pairs; give one of "
            f"{', '.join(_ROOMS)}"
        )
    room = importlib.import_module(f"estimators.{_ROOMS[kind]}")
    return getattr(room, kind).load(path, device=device)


def load_encoder(name: str, device: str | None = None) -> Any:
    """Load a fitted model that has sentence vectors.

    Parameters
    ----------
    name : str
        Folder of a model with vectors, such as a `SurrogateRegressor`, or folder or hub name of a
        transformers model, which reads `MOST_TOKENS` of each.
    device : str, optional
        Where it computes.
    """
    from estimators.persistence import read_metadata

    try:
        read_metadata(name)
    except FileNotFoundError:
        from estimators.encoders import SentenceEncoder

        try:
            encoder = SentenceEncoder(name, max_length=MOST_TOKENS, device=device)
            return encoder.fit(["a text"])
        except (OSError, ValueError) as error:
            raise Failure(str(error).replace("model=", "--encoder ", 1)) from error
    model = load_folder(name, device)
    if not hasattr(model, "transform"):
        raise Failure(
            f"--encoder {name} holds a {type(model).__name__}, which has no sentence vectors;"
            " give a SurrogateRegressor, a ContextModel or a transformers model"
        )
    return model


class FolderModel:
    """A model saved as a folder, which scores pairs.

    Parameters
    ----------
    path : str
        The folder.
    pairs : array-like of str, shape (n, 2)
        Pairs that are to be scored.
    n_contexts : int, optional
        Contexts per sentence, for a `ContextModel` alone.
    device : str, optional
        Where it computes.
    """

    def __init__(
        self, path: str, pairs: Any, n_contexts: int | None = None, device: str | None = None
    ) -> None:
        model = load_folder(path, device)
        self.kind = type(model).__name__
        self.name = f"{self.kind} of {path}, {WAYS[self.kind]}"
        if self.kind == "ContextModel":
            from estimators.contexts import ContextRegressor

            size = model.n_contexts if n_contexts is None else n_contexts
            self.name += f", {size} contexts a sentence"
            # Without scores, no pair is judged here.
            model = ContextRegressor(model, n_contexts=n_contexts).fit(pairs)
        elif n_contexts is not None:
            raise Failure(f"--contexts {n_contexts} is for a ContextModel; {path} is {self.kind}")
        self.regressor: Any = model.set_params(verbose=verbosity())
        self.pairs = pairs
        note(f"similarity by {self.name}")

    def similarity(self) -> list[float]:
        """Score the pairs."""
        return self.regressor.similarity(self.pairs).tolist()

    def explain(self) -> list[Any]:
        """Explain the similarity of the pairs."""
        return self.regressor.explain(self.pairs)

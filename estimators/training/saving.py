"""Save a fitted regressor as a folder: the model in transformers' layout and the rest as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from estimators.encoders import find_model
from estimators.persistence import REGRESSOR, read_fitted, write_fitted
from estimators.training.targets import labels_in_order

Model = TypeVar("Model")
LEFT_OUT = {"model", "cache", "device", "weights", "random_state", "teacher"}
"""Parameters that are not saved: they belong to a machine or to the fit."""


class Fitted(NamedTuple):
    """The fitted attributes of a regressor, without its model."""

    slope: float
    intercept: float
    classes: Any
    loss_curve: list[float]
    scores: list[tuple[int, float]]


def write_regressor(path: Any, regressor: Any, more: Callable[[Path], Any] | None = None) -> None:
    """Write a fitted regressor and the files of ``more`` to a new folder, atomically."""
    transformer = regressor.encoder_.loaded()
    weights, table = None, getattr(regressor, "token_weights_", None)
    if table is not None:
        vocabulary = transformer.tokenizer.get_vocab().items()
        weights = {token: float(table[entry]) for token, entry in sorted(vocabulary)}
    classes = getattr(regressor, "classes_", None)
    fitted = {
        "slope": regressor.slope_,
        "intercept": regressor.intercept_,
        "classes": None if classes is None else np.asarray(classes).tolist(),
        "token_weights": weights,
        "loss_curve": regressor.loss_curve_,
        "scores": [list(score) for score in regressor.scores_],
    }

    def write(folder: Path) -> None:
        transformer.save(folder)
        if more is not None:
            more(folder)

    write_fitted(path, REGRESSOR, regressor, fitted, write=write, left_out=LEFT_OUT)


def read_regressor(kind: type, name: Any, params: dict[str, Any]) -> tuple[Any, Fitted]:
    """Return an unfitted regressor and the fitted attributes that `write_regressor` saved."""
    folder = find_model(name)
    with read_fitted(kind, folder, REGRESSOR) as said:
        given = {**said["params"], "model": folder}
        if said["token_weights"] is not None:
            given["weights"] = said["token_weights"]
        return kind(**given | params), Fitted(
            float(said["slope"]),
            float(said["intercept"]),
            said["classes"],
            list(said["loss_curve"]),
            [tuple(score) for score in said["scores"]],
        )


def load(cls: Any, path: str | os.PathLike[str], **params: Any) -> Any:
    """Load a fitted model from a folder written by `save`, without network access.

    Parameters
    ----------
    path : str or path-like
        The folder.
    **params
        As in `from_pretrained`, which also lists the errors.

    Returns
    -------
    model : estimator
        Fitted.
    """
    check_local_folder(path)
    return cls.from_pretrained(path, **params)


def finished(model: Any, y: Any, line: tuple[float, float], run: Any, **learned: Any) -> Any:
    """Set the fitted attributes together.

    Parameters
    ----------
    model : estimator
        Its fit ends.
    y : array-like or None
        As given to `fit`.
    line : tuple of (slope, intercept)
        From similarity to y.
    run : Training or None
        None if nothing was trained.
    **learned
        Further fitted attributes.
    """
    losses = [] if run is None else run.losses
    scores = [] if run is None else [(score.step, score.score) for score in run.scores]
    fitted = Fitted(*line, labels_in_order(y, model.objective), losses, scores)
    return set_fitted(model, fitted, **learned)


def set_fitted(model: Model, fitted: Fitted, **learned: Any) -> Model:
    """Set the fitted attributes of a regressor, with others by name, and return it."""
    vars(model).pop("classes_", None)
    if fitted.classes is not None:
        learned["classes_"] = np.asarray(fitted.classes)
    vars(model).update(
        learned,
        slope_=fitted.slope,
        intercept_=fitted.intercept,
        loss_curve_=fitted.loss_curve,
        scores_=fitted.scores,
    )
    return model


def check_local_folder(path: Any) -> None:
    """Raise FileNotFoundError unless a path is a folder, to avoid network access."""
    if not Path(path).expanduser().is_dir():
        raise FileNotFoundError(
            f"path={os.fspath(path)!r} is not a folder; for a name on the hub use from_pretrained"
        )

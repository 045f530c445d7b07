"""Save a fitted regressor as a folder: the model in transformers' layout and the rest as JSON."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from estimators.encoders import find_model, write_folder
from estimators.persistence import REGRESSOR, drop_parameters, now, versions
from estimators.training.targets import labels_in_order

FORMAT = 1
Model = TypeVar("Model")
LEFT_OUT = {"model", "cache", "checkpoint", "device", "weights", "random_state", "teacher"}
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
    params = regressor.get_params(deep=False)
    said = {
        "format": FORMAT,
        "class": type(regressor).__name__,
        "date": now(),
        "versions": versions(),
        "params": {n: plain(n, value) for n, value in params.items() if n not in LEFT_OUT},
        "slope": regressor.slope_,
        "intercept": regressor.intercept_,
        "classes": None if classes is None else np.asarray(classes).tolist(),
        "token_weights": weights,
        "loss_curve": regressor.loss_curve_,
        "scores": [list(score) for score in regressor.scores_],
    }
    text = json.dumps(said, indent=1, allow_nan=False)

    def write(folder: Path) -> None:
        transformer.save(folder)
        (folder / REGRESSOR).write_text(text, encoding="utf-8")
        if more is not None:
            more(folder)

    write_folder(path, write)


def read_regressor(kind: type, name: Any, params: dict[str, Any]) -> tuple[Any, Fitted]:
    """Return an unfitted regressor and the fitted attributes that `write_regressor` saved.

    ``name`` is a local folder or a repository on the Hugging Face hub; ``params`` override saved
    parameters.

    Raises
    ------
    FileNotFoundError, ValueError
        If nothing was saved there, it is damaged or has another class or version, or a parameter
        does not exist.
    """
    folder = find_model(name)
    path = folder / REGRESSOR
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no {REGRESSOR}: it is not a saved regressor; for a plain transformers "
            f"model give {kind.__name__}(model=...)"
        )
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        version = said["format"]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is damaged ({error!r}); fetch or save it again") from error
    if version != FORMAT:
        raise ValueError(f"{path} has format {version!r}, which this version does not read")
    try:
        if said["class"] != kind.__name__:
            raise ValueError(f"it is a {said['class']}, not a {kind.__name__}")
        drop_parameters(kind.__name__, said["params"])
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
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be used: {error}") from error


def plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON holds it, or raise ValueError."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(f"{name}[{key!r}]", each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(f"{name}[{place}]", each) for place, each in enumerate(value)]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(
        f"{name}={value!r} cannot be saved as JSON; set it to a plain value before saving"
    )


def upload(repo_id: str, folder: Path, *, private: bool | None, token: Any) -> str:
    """Upload a folder to the Hugging Face hub and return its URL."""
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    name = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
    return str(api.upload_folder(repo_id=name, folder_path=folder).commit_url)


def push_to_hub(self: Any, repo_id: str, *, private: bool | None = None, token: Any = None) -> str:
    """Save the fitted model to a repository on the Hugging Face hub.

    Parameters
    ----------
    repo_id : str
        "user/name"; created if it does not exist.
    private : bool, default=None
        Whether a new repository is private; None uses the account's default.
    token : str, default=None
        Access token; None uses the one of the hub login.

    Returns
    -------
    address : str
        URL of the commit.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "model")
        self.save(folder)
        return upload(repo_id, folder, private=private, token=token)


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

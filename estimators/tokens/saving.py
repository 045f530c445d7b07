"""A fitted regressor as a folder: the model in transformers' layout, and the rest as JSON."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import Transformer, find_model
from estimators.persistence import REGRESSOR, now, rename_parameters, versions
from estimators.tokens.trained_regressor import TrainedRegressor

FORMAT = 1


class SavedRegressor(TrainedRegressor):
    """Base of `RCMDRegressor`: fitted models in folders and on the hub."""

    loss_curve_: list[float]
    scores_: list[Any]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model into a new folder: safetensors and JSON, no code.

        The folder is a model of transformers too: `AutoModel` reads it, without the head.

        Parameters
        ----------
        path : str or path-like
            A folder that is not there, or empty.

        Raises
        ------
        FileExistsError
            If something is there already.
        ValueError
            If a parameter cannot be written as JSON.
        OSError
            If the folder cannot be written; nothing stays then.
        """
        check_is_fitted(self, "encoder_")
        transformer = self.encoder_._loaded()
        left_out = {"model", "cache", "checkpoint", "device", "weights", "random_state"}
        params = {
            name: plain(name, value)
            for name, value in self.get_params(deep=False).items()
            if name not in left_out
        }
        weights = None
        if self.token_weights_ is not None:
            table = self.token_weights_
            vocabulary = transformer.tokenizer.get_vocab().items()
            weights = {token: float(table[entry]) for token, entry in sorted(vocabulary)}
        classes = getattr(self, "classes_", None)
        said = {
            "class": type(self).__name__,
            "date": now(),
            "versions": versions(),
            "params": params,
            "slope": self.slope_,
            "intercept": self.intercept_,
            "classes": None if classes is None else np.asarray(classes).tolist(),
            "token_weights": weights,
            "loss_curve": self.loss_curve_,
            "scores": [list(score) for score in self.scores_],
        }
        write_folder(path, transformer, said)

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str], **params: Any) -> Self:
        """Load a fitted model that `save` or `push_to_hub` wrote.

        Parameters
        ----------
        name : str or path-like
            Local folder, or name of a repository on the Hugging Face hub.
        **params
            Parameters to change, such as ``device`` or ``cache``.

        Returns
        -------
        model : RCMDRegressor
            Fitted. Its ``model`` is the folder, so that another `fit` goes on from its weights.

        Raises
        ------
        FileNotFoundError
            If there is no such folder or repository, or it holds no saved regressor.
        ValueError, TypeError
            If a file is damaged, of another class or version, or a parameter is wrong.
        """
        folder, said = read_folder(name)
        try:
            if said["class"] != cls.__name__:
                raise ValueError(f"it is a {said['class']}, not a {cls.__name__}")
            rename_parameters(said["class"], said["params"])
            saved = {**said["params"], "model": folder, "weights": said["token_weights"]}
            model = cls(**saved | params)
            slope, intercept = float(said["slope"]), float(said["intercept"])
            curve, scores = list(said["loss_curve"]), [tuple(score) for score in said["scores"]]
            classes = said["classes"]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{folder / REGRESSOR} cannot be used: {error}") from error
        model._check_parameters()
        encoder = model._encoder().fit(["a text"])
        model._check_encoder(encoder)
        model.token_weights_ = model._vocabulary_weights(encoder, np.empty((0, 2), dtype=object))
        model.encoder_, model.slope_, model.intercept_ = encoder, slope, intercept
        model.loss_curve_, model.scores_ = curve, scores
        if classes is not None:
            vars(model)["classes_"] = np.array(classes)
        return model

    @classmethod
    def load(cls, path: str | os.PathLike[str], **params: Any) -> Self:
        """Load a fitted model from the folder that `save` wrote; the network is never asked.

        Parameters
        ----------
        path : str or path-like
            The folder.
        **params
            As in `from_pretrained`.

        Returns
        -------
        model : RCMDRegressor
            Fitted.

        Raises
        ------
        FileNotFoundError
            If there is no such folder, or it holds no saved regressor.
        ValueError, TypeError
            As in `from_pretrained`.
        """
        if not Path(path).expanduser().is_dir():
            raise FileNotFoundError(
                f"path={os.fspath(path)!r} is no folder; for a name on the hub use from_pretrained"
            )
        return cls.from_pretrained(path, **params)

    def push_to_hub(self, repo_id: str, *, private: bool | None = None, token: Any = None) -> str:
        """Save the fitted model to a repository on the Hugging Face hub.

        Parameters
        ----------
        repo_id : str
            "user/name"; made if it is not there.
        private : bool, default=None
            Whether a new repository is private; None is the account's own setting.
        token : str, default=None
            Access token; None is the one of the hub's login.

        Returns
        -------
        address : str
            Of the commit.
        """
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "model")
            self.save(folder)
            return upload(repo_id, folder, private=private, token=token)


def check_new_folder(path: Any) -> Path:
    """Give a path at which there is nothing but perhaps an empty folder.

    Raises
    ------
    FileExistsError
        If there is something.
    """
    target = Path(path).expanduser()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(
            f"path={os.fspath(target)!r} is already there; give a new folder, or delete it first"
        )
    return target


def write_folder(path: Any, transformer: Transformer, said: dict[str, Any] | None) -> None:
    """Write a model, its head and what else is to be known into a new folder.

    Raises
    ------
    FileExistsError
        If there is something at ``path``, other than an empty folder.
    OSError
        If it cannot be written; nothing stays then.
    """
    target = check_new_folder(path)
    text = (
        None if said is None else json.dumps({"format": FORMAT, **said}, indent=1, allow_nan=False)
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        transformer.save(partial)
        if text is not None:
            (partial / REGRESSOR).write_text(text, encoding="utf-8")
        # mkdtemp makes folders for their owner alone.
        partial.chmod(0o777 & ~_umask())
        partial.replace(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def read_folder(model: Any) -> tuple[Path, dict[str, Any]]:
    """Give the local folder of a saved regressor, and what is said there.

    Raises
    ------
    FileNotFoundError
        If it is no such folder and no such name on the hub, or was not written by `write_folder`.
    ValueError
        If it is damaged or of another version.
    """
    folder = find_model(model)
    path = folder / REGRESSOR
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no {REGRESSOR}: it is no saved regressor; for a plain transformers "
            "model give RCMDRegressor(model=...)"
        )
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        version = found["format"]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is damaged ({error!r}); fetch or save it again") from error
    if version != FORMAT:
        raise ValueError(f"{path} has format {version!r}, which this version does not read")
    return folder, found


def plain(name: str, value: Any) -> Any:
    """Give a parameter as JSON holds it.

    Raises
    ------
    ValueError
        If JSON cannot hold it.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(f"{name}[{key!r}]", each) for key, each in value.items()}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(
        f"{name}={value!r} cannot be saved as JSON; set it to a plain value before saving"
    )


def upload(repo_id: str, folder: Path, *, private: bool | None, token: Any) -> str:
    """Put a folder on the Hugging Face hub and give its address."""
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    name = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
    return str(api.upload_folder(repo_id=name, folder_path=folder).commit_url)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

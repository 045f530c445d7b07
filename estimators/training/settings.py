"""Settings and checkpoints of a training run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from estimators.encoders import DTYPES
from estimators.inputs import check_choice, check_folder, check_integer, check_real, check_seed
from film.training import Trainable

STATE, PROGRESS = "state.safetensors", "state.json"
FORMAT = 1


class Checkpoint:
    """The latest state of a run.

    Parameters
    ----------
    folder : str or path-like
        Created if it does not exist. Belongs to one run.
    run : dict
        What defines the run, as JSON: model, data, settings.
    """

    def __init__(self, folder: str | os.PathLike[str], run: dict[str, Any]) -> None:
        self.folder = Path(folder).expanduser()
        self.run = json.loads(json.dumps(run))
        self._newest: str | None = None

    def save(self, step: int, arrays: dict[str, np.ndarray], said: dict[str, Any]) -> None:
        """Replace the saved state.

        Raises
        ------
        OSError
            If writing fails, or another process has written there since this run last loaded or
            saved; the previous state stays.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / ".lock"):
            steps = _steps(self.folder)
            if steps and self._newest not in (None, steps[-1].name):
                raise OSError(
                    f"checkpoint={str(self.folder)!r}: another process has written "
                    f"{steps[-1].name} there; train with one process, or give each a folder"
                )
            self._write(step, arrays, said)

    def _write(self, step: int, arrays: dict[str, np.ndarray], said: dict[str, Any]) -> None:
        from safetensors.numpy import save_file

        partial, whole = self.folder / "partial", self.folder / f"step-{step:09d}"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        save_file(arrays, partial / STATE)
        text = json.dumps({"format": FORMAT, "run": self.run, "step": step, "said": said})
        (partial / PROGRESS).write_text(text, encoding="utf-8")
        for path in (partial / STATE, partial / PROGRESS):
            with path.open("rb") as handle:
                os.fsync(handle.fileno())
        shutil.rmtree(whole, ignore_errors=True)
        # Only a complete state gets this name.
        partial.rename(whole)
        self._newest = whole.name
        for other in _steps(self.folder):
            if other != whole:
                shutil.rmtree(other, ignore_errors=True)

    def load(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Return the saved arrays and metadata, or None if nothing was saved yet.

        Raises
        ------
        ValueError
            If a file is damaged, or the state belongs to another run.
        """
        steps = _steps(self.folder)
        self._newest = steps[-1].name if steps else ""
        if not steps:
            return None
        from safetensors.numpy import load_file

        newest = steps[-1]
        try:
            found = json.loads((newest / PROGRESS).read_text(encoding="utf-8"))
            arrays = load_file(newest / STATE)
            run, said = found["run"], found["said"]
            is_known = found["format"] == FORMAT
        except MemoryError:
            raise
        except Exception as error:  # a damaged file can raise many types
            raise ValueError(
                f"checkpoint={str(self.folder)!r}: {newest.name} is damaged "
                f"({type(error).__name__}: {str(error)[:200]}); delete that folder to train from "
                "the start"
            ) from error
        if not is_known:
            raise ValueError(
                f"checkpoint={str(self.folder)!r} has format {found['format']!r}, which this "
                "version does not read; use another folder"
            )
        differ = [name for name in self.run if run.get(name) != self.run[name]]
        if differ:
            shown = ", ".join(
                f"{name} {run.get(name)!r}, not {self.run[name]!r}" for name in differ
            )
            raise ValueError(
                f"checkpoint={str(self.folder)!r} belongs to another run ({shown}); use another "
                "folder, or delete this one to train from the start"
            )
        return arrays, said


def run_of(model: str, settings: Any, **data: tuple[np.ndarray, Any] | None) -> dict[str, Any]:
    """Describe a run: the digest of a model, settings, and rows with their targets."""
    digests: dict[str, Any] = {}
    for name, given in data.items():
        digests[name] = None
        if given is not None:
            rows, targets = given
            digest = hashlib.blake2b(repr(rows.tolist()).encode(), digest_size=16)
            digest.update(b"" if targets is None else targets.tobytes())
            digests[name] = digest.hexdigest()
    return {"model": model, **digests, **asdict(settings)}


def saved_seed(folder: str | os.PathLike[str]) -> int | None:
    """Return the seed of the run in a folder, for a run without a seed of its own."""
    for newest in _steps(Path(folder).expanduser())[-1:]:
        try:
            found = json.loads((newest / PROGRESS).read_text(encoding="utf-8"))
            return int(found["run"]["seed"])
        except Exception:
            return None  # Loading reports the error.
    return None


def _steps(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("step-*") if path.is_dir())


OF_TOKENS = ("regression", "binary", "contrastive")
"""Objectives of `RCMDRegressor`."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run; with the examples they determine the result on CPU."""

    method: Trainable
    objective: str
    temperature: float
    learning_rate: float
    epochs: float
    batch_size: int
    micro_batch_size: int | None
    eval_steps: int
    special_tokens: bool
    dtype: str
    seed: int
    margin: float | None = None  # for triplets only
    weight_rate: float | None = None  # learning rate of token weights, if they are learned


WEIGHT_RATE = 20
"""Learning rate of token weights, which start at 1, as a multiple of the model's.

An entry in a single batch keeps moving by Adam's momentum, by about 30 learning rates in total.
"""


def check_training_parameters(estimator: Any, objectives: Sequence[str] = OF_TOKENS) -> None:
    """Raise if a training parameter is wrong; the message names it."""
    check_choice("objective", estimator.objective, objectives)
    if estimator.dtype is not None:
        check_choice("dtype", estimator.dtype, DTYPES)
    check_seed(estimator.random_state)
    for name, low in (("epochs", 0), ("temperature", 1e-6), ("learning_rate", 0)):
        check_real(name, getattr(estimator, name), low)
    least = 2 if estimator.objective in ("contrastive", "n_pair") else 1
    check_integer("train_batch_size", estimator.train_batch_size, least)
    for name in ("train_max_length", "eval_steps"):
        check_integer(name, getattr(estimator, name), 1)
    if estimator.micro_batch_size is not None:
        check_integer("micro_batch_size", estimator.micro_batch_size, 1)
    check_folder("checkpoint", estimator.checkpoint)


def training_settings(estimator: Any, learns_weights: bool = False) -> Settings:
    """Return the settings of a run; if no seed is set, use that of the checkpoint's run."""
    seed = None
    if estimator.random_state is None and estimator.checkpoint is not None:
        seed = saved_seed(estimator.checkpoint)
    if seed is None:
        seed = int(check_seed(estimator.random_state).randint(2**31 - 1))
    return Settings(
        method=estimator.plan,
        objective=estimator.objective,
        temperature=float(estimator.temperature),
        learning_rate=float(estimator.learning_rate),
        epochs=float(estimator.epochs),
        batch_size=estimator.train_batch_size,
        micro_batch_size=estimator.micro_batch_size,
        eval_steps=estimator.eval_steps,
        special_tokens=bool(estimator.special_tokens),
        dtype=estimator.dtype or "float32",
        seed=seed,
        margin=float(estimator.margin) if estimator.objective == "triplet" else None,
        weight_rate=WEIGHT_RATE * float(estimator.learning_rate) if learns_weights else None,
    )

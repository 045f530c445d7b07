"""Load a transformers model from its folder: complete, safe and without terminal output."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from estimators.encoders.declared_layers import read_declared
from estimators.inputs import check_integer
from film.corpus import checked_device

_MOST_LAYERS = 200
_MOST_LEFT_OUT = 10_000_000
"""Weights that may be missing: the unused pooler's, and those tied to other weights."""
SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


def import_torch() -> Any:
    """Import torch, or raise an error that names the extra to install."""
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{error.name or 'torch'} is not installed; neural encoders need the extra neural "
            "(pip install 'film-metric[neural]')"
        ) from error
    return torch


def check_device(torch: Any, device: Any) -> str:
    """Return the name of a device that torch can use here; None selects one.

    Raises ValueError as `film.corpus.checked_device` does.
    """
    if device is None:
        # If several processes were launched, each has its own GPU.
        own = os.environ.get("LOCAL_RANK")
        gpu = "cuda" if own is None else f"cuda:{own}"
        return gpu if torch.cuda.is_available() else "cpu"
    place = checked_device(device)
    return "cpu" if place.type == "cpu" else str(place)


def read_head(path: Path, width: int) -> dict[str, np.ndarray]:
    """Read the weights of a linear layer; raise an error if they are damaged or do not fit.

    The layer is a head of this package, or a layer of sentence-transformers.
    """
    from safetensors.numpy import load_file

    try:
        found = {name.removeprefix("linear."): value for name, value in load_file(path).items()}
        shapes = {name: value.shape for name, value in found.items()}
    except MemoryError:
        raise
    except Exception as error:  # from safetensors, the file system, or dtypes unknown to numpy
        raise ValueError(f"{path} is damaged ({error}); fetch or save the model again") from error
    n_out = len(found["bias"]) if shapes.get("bias") else 0
    if not n_out or shapes != {"weight": (n_out, width), "bias": (n_out,)}:
        raise ValueError(f"{path} is not a layer of width {width}, but {shapes}; save it again")
    return {name: value.astype(np.float32) for name, value in found.items()}


def read_model(folder: Path, dtype: Any) -> tuple[Any, Any]:
    """Return tokenizer and model of a folder; raise an error if one is incomplete or unsafe."""
    from transformers import AutoModel, AutoTokenizer

    try:
        _check_config(folder)
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, **SAFE)
        module, report = AutoModel.from_pretrained(
            folder,
            dtype=dtype,
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **SAFE,
        )
    except MemoryError:
        raise
    except Exception as error:  # ours, and those of transformers, tokenizers and safetensors
        raise _cannot_load(folder, error) from error
    _check_weights_used(folder, report)
    if not tokenizer.is_fast:
        raise ValueError(
            f"model folder {folder} has a slow tokenizer, {type(tokenizer).__name__}, without "
            "character offsets; save a fast one there (tokenizer.json)"
        )
    entries = module.get_input_embeddings().num_embeddings
    if len(tokenizer) > entries:
        raise ValueError(
            f"model folder {folder}: the tokenizer has {len(tokenizer)} entries and the model "
            f"only {entries}; use the model's own tokenizer"
        )
    return tokenizer, module


def _check_config(folder: Path) -> None:
    """Raise an error if config.json describes a model far larger than its weight files."""
    from safetensors import safe_open

    weights, n_weights = 0, 0
    for path in folder.glob("model*.safetensors"):
        with safe_open(path, framework="numpy") as file:
            for name in file.keys():
                weights += math.prod(file.get_slice(name).get_shape())
                n_weights += 1
    config = folder / "config.json"
    described = _described(folder, config.read_bytes(), max(n_weights, _MOST_LAYERS))
    if described > 2 * weights + _MOST_LEFT_OUT:
        raise ValueError(
            f"config.json describes {described:,} weights, but the files "
            f"hold {weights:,}; config.json and weights are from different models"
        )


@functools.lru_cache(maxsize=16)
def _described(folder: Path, content: bytes, most_layers: int) -> float:
    """Count the weights that a config describes; infinity if it has too many layers."""
    import torch
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.from_pretrained(folder, **SAFE)
    for name, value in config.to_dict().items():
        if re.search("layer|group|expert|block", name) and type(value) is int:
            if value > most_layers:
                return math.inf
    # Tensors on this device take no memory.
    with torch.device("meta"):
        module = AutoModel.from_config(config, trust_remote_code=False)
    return sum(part.numel() for part in module.parameters())


def _cannot_load(folder: Path, error: Exception) -> ValueError:
    return ValueError(
        f"model folder {folder} cannot be loaded as a transformers model with its tokenizer "
        f"({type(error).__name__}: {str(error)[:500]}); fetch or save it again"
    )


def _check_weights_used(folder: Path, report: dict[str, Any]) -> None:
    """Raise an error if transformers left weights random, except those of the unused pooler."""
    misfits = [entry if isinstance(entry, str) else entry[0] for entry in report["mismatched_keys"]]
    for problem, names in (
        ("of another shape than in config.json", misfits),
        ("missing", sorted(name for name in report["missing_keys"] if "pooler" not in name)),
    ):
        if names:
            raise ValueError(
                f"model folder {folder}: weights of {len(names)} parts are {problem}, such as "
                f"{names[0]}; config.json and weights are from different models"
            )


def most_tokens_of(tokenizer: Any, module: Any, declared: int | None) -> int | None:
    """Return the smallest declared limit on tokens; None if there is no limit."""
    limits = [
        declared,
        getattr(module.config, "max_position_embeddings", None),
        tokenizer.model_max_length,
    ]
    table: Any = getattr(getattr(module, "embeddings", None), "position_embeddings", None)
    if getattr(table, "padding_idx", None) is not None:
        # RoBERTa starts counting positions after that of the padding.
        limits.append(table.num_embeddings - table.padding_idx - 1)
    known = [int(limit) for limit in limits if limit is not None and 0 < limit < 10**9]
    return min(known, default=None)


def check_length(
    name: str, length: Any, tokenizer: Any, most: int | None, *, pair: bool = False
) -> int:
    """Return a valid number of tokens; raise an error if a model with limit ``most`` rejects it."""
    special = tokenizer.num_special_tokens_to_add(pair=pair)
    length = check_integer(name, length, special + 1)
    if most is not None and length > most:
        raise ValueError(
            f"{name}={length} is more than the {most} tokens this model takes, by its positions, "
            "its tokenizer or a declared max_seq_length; lower it or use another model"
        )
    return length


def check_lengths(folder: Path, lengths: dict[str, Any]) -> None:
    """Check lengths against the model in a folder, without reading its weights.

    Parameters
    ----------
    folder : Path
        Folder with config and tokenizer.
    lengths : dict of str to int
        Numbers of tokens by parameter name.

    Raises
    ------
    ImportError
        If torch or transformers is missing.
    TypeError, ValueError
        If a length is not an integer or is out of range, or the model cannot be created.
    """
    tokenizer, most = _limits(folder)
    for name, length in lengths.items():
        check_length(name, length, tokenizer, most)


def usual_length(folder: Path, usual: int = 128) -> int:
    """Return the usual number of tokens, or as many as the model in a folder takes if fewer.

    Raises as `check_lengths` does.
    """
    most = _limits(folder)[1]
    return usual if most is None else min(usual, most)


def _limits(folder: Path) -> tuple[Any, int | None]:
    """Return the tokenizer and the most tokens of a model, without reading its weights."""
    torch = import_torch()
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    with quiet(0):
        try:
            declared = read_declared(folder).most_tokens
            tokenizer: Any = AutoTokenizer.from_pretrained(folder, **SAFE)
            config = AutoConfig.from_pretrained(folder, **SAFE)
            with torch.device("meta"):
                module = AutoModel.from_config(config, trust_remote_code=False)
        except MemoryError:
            raise
        except Exception as error:  # transformers and tokenizers have their own types
            raise _cannot_load(folder, error) from error
    return tokenizer, most_tokens_of(tokenizer, module, declared)


@contextmanager
def quiet(verbose: int) -> Iterator[None]:
    """Silence transformers on the terminal; this package raises errors for what matters."""
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )
    from transformers.utils import logging

    level, shows_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    shows_download = not are_progress_bars_disabled()
    # This switch also applies to huggingface_hub.
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if verbose and shows_download:
        enable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shows_bar:
            logging.enable_progress_bar()
        (enable_progress_bars if shows_download else disable_progress_bars)()

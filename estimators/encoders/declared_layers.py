"""Read the layers that a folder in sentence-transformers' layout declares."""

from __future__ import annotations

import json
from pathlib import Path, PurePath
from typing import Any, NamedTuple

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

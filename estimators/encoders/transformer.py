"""A frozen transformers model: loading, tokenising, and encoding in batches by length."""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from estimators.encoders.model_files import (
    HEAD,
    check_folder,
    find_model,
    model_digest,
    read_declared,
)
from estimators.inputs import check_choice, check_integer
from film.networks import checked_device
from film.tokens import Ragged

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

    Raises ValueError as `film.networks.checked_device` does.
    """
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    place = checked_device(device)
    return "cpu" if place.type == "cpu" else str(place)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a safetensors file as float32; raise an error if it is damaged."""
    from safetensors.numpy import load_file

    try:
        return {name: value.astype(np.float32) for name, value in load_file(path).items()}
    except MemoryError:
        raise
    except Exception as error:  # from safetensors, the file system, or dtypes unknown to numpy
        raise ValueError(f"{path} is damaged ({error}); fetch or save the model again") from error


def read_head(path: Path, width: int) -> dict[str, np.ndarray]:
    """Read the weights of a linear layer; raise an error if they are damaged or do not fit.

    The layer is a head of this package, or a layer of sentence-transformers.
    """
    found = {name.removeprefix("linear."): value for name, value in read_arrays(path).items()}
    shapes = {name: value.shape for name, value in found.items()}
    n_out = len(found["bias"]) if shapes.get("bias") else 0
    if not n_out or shapes != {"weight": (n_out, width), "bias": (n_out,)}:
        raise ValueError(f"{path} is not a layer of width {width}, but {shapes}; save it again")
    return found


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


DTYPES = ("float32", "float16", "bfloat16")
# Batches of 512 to 1,024 tokens, or 32 short sentences, were fastest on two cores.
TOKENS_PER_TEXT = 32
TEXTS_PER_CALL = 4096


def default_batch_size(device: str) -> int:
    """Return the number of short sentences per batch that suits a torch device."""
    return 512 if device.partition(":")[0] == "cuda" else 32


@dataclass(frozen=True)
class Tokens:
    """Concatenated tokens of texts; columns as in `film.tokens.Ragged`."""

    starts: np.ndarray
    ids: np.ndarray
    spans: np.ndarray
    is_special: np.ndarray
    is_cut: np.ndarray  # (n,) whether max_length truncated the text
    types: np.ndarray | None = None  # 0 in the first, 1 in the second text of a pair

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each text."""
        return np.diff(self.starts)


class Transformer:
    """A model in evaluation mode with its tokenizer.

    Parameters
    ----------
    model : str, path-like or None
        Hub name, local folder, or None for the packaged model.
    device : str or None
        Torch device; None is "cuda" if torch sees a GPU, else "cpu".
    dtype : {"float32", "float16", "bfloat16"} or None
        Precision of the model; None is float32.
    verbose : int
        Whether to show the progress of a download.

    Attributes
    ----------
    width : int
        Length of a token vector.
    most_tokens : int or None
        Maximal number of tokens, if the model or a declared max_seq_length limits it.
    pooling : {"mean", "cls", "max"}
        Pooling declared in sentence-transformers' layout; "mean" without a declaration.
    head : torch.nn.Linear or None
        Learned layer after the model, applied to every token.
    file_digest : str
        Digest of the model files.
    digest : str
        The same, or another name if the weights have changed since loading.
    """

    def __init__(self, model: Any, device: Any, dtype: Any, verbose: int) -> None:
        torch = import_torch()
        self.dtype = check_choice("dtype", "float32" if dtype is None else dtype, DTYPES)
        self.device = check_device(torch, device)
        with quiet(verbose):
            folder = find_model(model)
            weights = check_folder(folder)
            self.pooling, declared, dense = read_declared(folder)
            self.tokenizer, self.module = read_model(folder, getattr(torch, self.dtype))
        self.module.requires_grad_(False).to(self.device)
        self.head: Any = None
        # An affine layer commutes with mean pooling, so it can be applied to the tokens.
        head = folder / HEAD if dense is None else dense
        if head.is_file():
            self._take_head(read_head(head, self.module.config.hidden_size))
        self.most_tokens = most_tokens_of(self.tokenizer, self.module, declared)
        self.width = self._probe(folder)
        self.file_digest = model_digest(folder, weights)
        self.digest = self.file_digest

    def check_max_length(
        self, max_length: Any, name: str = "max_length", *, pair: bool = False
    ) -> int:
        """Return ``max_length``; raise an error if the model does not accept texts that long."""
        return check_length(name, max_length, self.tokenizer, self.most_tokens, pair=pair)

    def puts_special_token_first(self) -> bool:
        """Return whether every text begins with a special token."""
        return bool(self.tokenize(["a"], 8).is_special[:1].any())

    def is_unknown(self, ids: Any) -> np.ndarray:
        """Return which tokens replace pieces missing from the vocabulary, such as [UNK]."""
        entry = self.tokenizer.unk_token_id
        return np.zeros(len(ids), dtype=bool) if entry is None else np.asarray(ids) == entry

    def unknown_shares(self, tokens: Tokens | Ragged) -> np.ndarray:
        """Return the share of unknown tokens in each text, ignoring special ones; 0 if empty."""
        text = np.repeat(np.arange(len(tokens.lengths)), tokens.lengths)
        kept = ~np.asarray(tokens.is_special)
        n_texts = len(tokens.lengths)
        unknown = np.bincount(text[kept & self.is_unknown(tokens.ids)], minlength=n_texts)
        return unknown / np.maximum(np.bincount(text[kept], minlength=n_texts), 1)

    def tokenize(self, texts: list[str], max_length: int) -> Tokens:
        """Split texts into at most ``max_length`` tokens each, including special tokens.

        The texts must be encodable as UTF-8.
        """
        return self._tokens(max_length, texts)

    def tokenize_pairs(self, first: list[str], second: list[str], max_length: int) -> Tokens:
        """Split pairs of texts into one token sequence each, joined by the model's tokenizer.

        If a pair exceeds ``max_length`` tokens, its longer text is truncated. Character spans are
        left out, because they would refer to two texts.
        """
        return self._tokens(max_length, first, second)

    def _tokens(self, max_length: int, *sides: list[str]) -> Tokens:
        is_pair = len(sides) > 1
        # Training holds both orders of all pairs, which spans and wide ids would make much larger.
        kinds = {"ids": np.int32 if is_pair else np.int64, "special_tokens_mask": bool}
        kinds |= {"type_ids": np.int8} if is_pair else {"offsets": np.int64}
        columns: dict[str, list[np.ndarray]] = {name: [] for name in kinds}
        is_cut = []
        for encoding in self._encodings(max_length, *sides):
            is_cut.append(bool(encoding.overflowing))
            for name, kind in kinds.items():
                columns[name].append(np.array(getattr(encoding, name), dtype=kind).ravel())
        lengths = [len(ids) for ids in columns["ids"]]
        joined: dict[str, Any] = {name: np.concatenate(parts) for name, parts in columns.items()}
        reads_types = "token_type_ids" in self.tokenizer.model_input_names
        return Tokens(
            starts=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            ids=joined["ids"],
            spans=joined.get("offsets", np.zeros(0, dtype=np.int64)).reshape(-1, 2),
            is_special=joined["special_tokens_mask"],
            is_cut=np.array(is_cut, dtype=bool),
            types=joined.get("type_ids") if reads_types else None,
        )

    def _encodings(self, max_length: int, *sides: list[str]) -> Iterator[Any]:
        # Encoding objects are large, so they are converted to arrays block by block.
        for start in range(0, len(sides[0]), TEXTS_PER_CALL):
            yield from self.tokenizer(
                *(side[start : start + TEXTS_PER_CALL] for side in sides),
                truncation=True,
                max_length=max_length,
                padding=False,
                return_offsets_mapping=True,
                return_special_tokens_mask=True,
            ).encodings

    def encode(
        self,
        tokens: Tokens,
        rows: np.ndarray,
        reduce: Callable[[Any, Any], Any],
        batch_size: int | None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Run the model on selected texts, longest first.

        Parameters
        ----------
        tokens : Tokens
            Tokens of all texts.
        rows : ndarray of int, shape (m,)
            Texts to encode; each must have a token.
        reduce : callable
            ``reduce(features, mask)`` receives the (b, L, h) float32 and (b, L) bool tensors of a
            batch and returns a tensor whose rows follow the order of the texts.
        batch_size : int or None
            A batch has at most ``32 * batch_size`` tokens including padding, and at least one
            text. None is `default_batch_size` of the device.

        Yields
        ------
        batch : ndarray of int, shape (b,)
            Some of ``rows``.
        values : ndarray of float32, shape (r, h)
            Result of ``reduce``.

        Raises
        ------
        MemoryError
            If a single text exceeds the memory of the GPU.
        ValueError
            If the model returns values that are not finite.
        """
        import torch

        lengths = tokens.lengths
        # Neighbours of equal length need no padding; the longest come first to fail early.
        order = rows[np.argsort(-lengths[rows], kind="stable")]
        budget = TOKENS_PER_TEXT * (batch_size or default_batch_size(self.device))
        done = 0
        while done < len(order):
            longest = int(lengths[order[done]])
            batch = order[done : done + max(1, budget // longest)]
            values = None
            with torch.inference_mode():
                try:
                    features, mask = self.forward(tokens, batch)
                    values = reduce(features, mask).cpu().numpy()
                except torch.cuda.OutOfMemoryError as error:
                    if len(batch) == 1:
                        raise MemoryError(
                            f"device={self.device!r} has too little memory for one text of "
                            f"{longest} tokens; lower max_length or use device='cpu'"
                        ) from error
            # Outside the except block, the error no longer keeps the batch's tensors alive.
            if values is None:
                torch.cuda.empty_cache()
                budget = longest * (len(batch) // 2)
                continue
            if not np.isfinite(values).all():
                raise ValueError(
                    f"the model returns values that are not finite in dtype={self.dtype!r}; "
                    "its weights are damaged or too large for this precision: try dtype='float32'"
                )
            yield batch, values
            done += len(batch)

    def forward(self, tokens: Tokens, batch: np.ndarray) -> tuple[Any, Any]:
        """Run the model on one batch, with gradients if torch and the weights require them.

        ``batch`` holds indices of texts, each with a token.

        Returns
        -------
        features : tensor of float32, shape (b, L, h)
            Token vectors, padded to the longest text.
        mask : tensor of bool, shape (b, L)
            True at tokens.
        """
        import torch

        lengths = tokens.starts[batch + 1] - tokens.starts[batch]
        kept = np.arange(lengths.max()) < lengths[:, np.newaxis]
        padding = self.tokenizer.pad_token_id
        ids = np.full(kept.shape, 0 if padding is None else padding, dtype=np.int64)
        places = np.repeat(tokens.starts[batch] - np.cumsum(lengths) + lengths, lengths)
        source = places + np.arange(len(places))
        ids[kept] = tokens.ids[source]
        mask, more = torch.from_numpy(kept).to(self.device), {}
        if tokens.types is not None:
            types = np.zeros(kept.shape, dtype=np.int64)
            types[kept] = tokens.types[source]
            more["token_type_ids"] = torch.from_numpy(types).to(self.device)
        output = self.module(
            input_ids=torch.from_numpy(ids).to(self.device), attention_mask=mask.long(), **more
        )
        features = output.last_hidden_state.float()
        return (features if self.head is None else self.head(features)), mask

    def add_head(self) -> None:
        """Add a linear layer after the model, initially the identity, unless there is one."""
        if self.head is None:
            eye = np.eye(self.width, dtype=np.float32)
            self._take_head({"weight": eye, "bias": np.zeros(self.width, dtype=np.float32)})

    def arrays(self) -> dict[str, np.ndarray]:
        """Return copies of all weights as float32, those of the head under "head."."""
        parts = {f"model.{name}": value for name, value in self.module.state_dict().items()}
        if self.head is not None:
            parts |= {f"head.{name}": value for name, value in self.head.state_dict().items()}
        return {
            name: (value.float() if value.is_floating_point() else value).cpu().numpy().copy()
            for name, value in parts.items()
        }

    def adopt(self, arrays: dict[str, np.ndarray]) -> None:
        """Load weights from `arrays`, and change the digest."""
        import torch

        parts: dict[str, dict[str, Any]] = {"model": {}, "head": {}}
        digest = hashlib.blake2b(self.file_digest.encode(), digest_size=16)
        for name, value in sorted(arrays.items()):
            part, _, rest = name.partition(".")
            parts[part][rest] = value
            digest.update(name.encode() + np.ascontiguousarray(value).tobytes())
        self.module.load_state_dict({k: torch.from_numpy(v) for k, v in parts["model"].items()})
        if parts["head"]:
            self._take_head(parts["head"])
        self.digest = digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Write model, tokenizer and head in transformers' layout, as safetensors and JSON."""
        from safetensors.numpy import save_file

        with quiet(0):
            self.module.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
        if self.head is not None:
            parts = self.head.state_dict()
            save_file({name: value.cpu().numpy() for name, value in parts.items()}, folder / HEAD)

    def set_dtype(self, dtype: str) -> None:
        """Change the precision inside the model."""
        import torch

        self.module.to(getattr(torch, dtype))
        self.dtype = dtype

    def _take_head(self, arrays: dict[str, np.ndarray]) -> None:
        import torch

        if self.head is None:
            n_out, n_in = arrays["weight"].shape
            # The random initial weights are never used and must not change the random state.
            self.head = torch.nn.utils.skip_init(torch.nn.Linear, n_in, n_out)
            self.head.requires_grad_(False).to(self.device)
        self.head.load_state_dict({name: torch.from_numpy(v) for name, v in arrays.items()})

    def _probe(self, folder: Path) -> int:
        """Encode one text, so that unsupported models fail here, and return the width."""
        import torch

        tokens = self.tokenize(["a probe"], 8)
        try:
            with torch.inference_mode():
                features, _ = self.forward(tokens, np.array([0]))
        except MemoryError:
            raise
        except Exception as error:  # unsupported models fail anywhere in their forward pass
            raise ValueError(
                f"model folder {folder}: {type(self.module).__name__} returns no token vectors for "
                f"a text ({error}); use a text encoder, such as BERT or RoBERTa"
            ) from error
        return features.shape[-1]

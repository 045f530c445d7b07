"""Models of this package for sentence-transformers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from estimators.encoders.frozen_encoder import SentenceEncoder, TokenEncoder
from estimators.encoders.model_files import HEAD, POOLING_KEYS, write_folder
from estimators.encoders.transformer import Transformer


def export_sentence_transformers(encoder: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted encoder into a new folder in the layout of sentence-transformers.

    ``SentenceTransformer(path).encode`` then returns the vectors of the encoder's ``transform``.
    For a token model, such as `RCMDRegressor`, it returns means of token vectors; their cosine
    approximates its similarity but does not equal it.

    Parameters
    ----------
    encoder : SentenceEncoder, TokenEncoder, RCMDRegressor, SurrogateRegressor or another that has \
`encoder_`
        Fitted.
    path : str or path-like
        A folder that does not exist or is empty.

    Raises
    ------
    TypeError
        If the encoder is not supported.
    ValueError
        If a learned layer cannot follow the pooling, as with ``pooling="max"``.
    FileExistsError, OSError
        If ``path`` is not empty or cannot be written.

    Notes
    -----
    A linear layer after the model and the whitening become one layer after the pooling: both are
    affine, and the mean of affine images is the affine image of the mean. Weights keep the
    precision of the encoder. Files are safetensors and JSON, without code.

    Examples
    --------
    >>> from estimators import SentenceEncoder
    >>> from estimators.encoders import export_sentence_transformers
    >>> encoder = SentenceEncoder().fit(["a text"])  # doctest: +SKIP
    >>> export_sentence_transformers(encoder, "minilm")  # doctest: +SKIP
    """
    found = getattr(encoder, "encoder_", encoder)
    if not isinstance(found, (SentenceEncoder, TokenEncoder)):
        raise TypeError(
            f"encoder is {type(encoder).__name__}, which has no transformers model: give a fitted "
            "SentenceEncoder, TokenEncoder, RCMDRegressor or SurrogateRegressor"
        )
    check_is_fitted(found, "model_digest_")
    transformer = found.loaded()
    pooling = getattr(found, "pooling_", "mean")
    dense = _layer(found, transformer)
    if transformer.head is not None and pooling == "max":
        raise ValueError(
            "pooling='max' takes the maximum after the model's learned layer, but the layout of "
            "sentence-transformers puts that layer last: fit with pooling='mean' or 'cls'"
        )

    def write(folder: Path) -> None:
        from safetensors.numpy import save_file

        transformer.save(folder)
        (folder / HEAD).unlink(missing_ok=True)
        parts = [("", "Transformer"), ("1_Pooling", "Pooling")]
        _write(folder / "sentence_bert_config.json", {"max_seq_length": found.max_length})
        versions = {"__version__": {}, "prompts": {}, "similarity_fn_name": "cosine"}
        _write(folder / "config_sentence_transformers.json", versions)
        modes = {key: name == pooling for name, key in POOLING_KEYS.items()}
        _write(
            folder / "1_Pooling" / "config.json",
            {"word_embedding_dimension": transformer.module.config.hidden_size, **modes},
        )
        if dense is not None:
            weight, bias = (np.ascontiguousarray(part, dtype=np.float32) for part in dense)
            said = {
                "in_features": weight.shape[1],
                "out_features": weight.shape[0],
                "bias": True,
                "activation_function": "torch.nn.modules.linear.Identity",
            }
            _write(folder / "2_Dense" / "config.json", said)
            layer = {"linear.weight": weight, "linear.bias": bias}
            save_file(layer, folder / "2_Dense" / "model.safetensors")
            parts.append(("2_Dense", "Dense"))
        _write(
            folder / "modules.json",
            [
                {
                    "idx": number,
                    "name": str(number),
                    "path": place,
                    "type": f"sentence_transformers.models.{kind}",
                }
                for number, (place, kind) in enumerate(parts)
            ],
        )

    write_folder(path, write)


def _layer(encoder: Any, transformer: Transformer) -> tuple[np.ndarray, np.ndarray] | None:
    """Return weight and bias of the linear map after the pooling, or None without one."""
    weight, bias = np.eye(transformer.width), np.zeros(transformer.width)
    components = getattr(encoder, "components_", None)
    if transformer.head is None and components is None:
        return None
    if transformer.head is not None:
        learned = transformer.head.state_dict()
        weight, bias = (learned[name].double().cpu().numpy() for name in ("weight", "bias"))
    if components is not None:
        weight, bias = components @ weight, components @ (bias - encoder.mean_)
    return weight, bias


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")

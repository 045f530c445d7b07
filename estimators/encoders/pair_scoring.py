"""Score pairs of texts that a transformers model reads together, in both orders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from estimators.encoders.model_files import PAIR_HEAD, find_model
from estimators.encoders.token_encoder import TokenEncoder
from estimators.encoders.transformer import Transformer

PAIRS_AT_ONCE = 8192
"""Number of pairs whose tokens, in both orders, are held at once."""


def read_pair_head(path: Path, width: int) -> dict[str, np.ndarray]:
    """Read the weights of a `ScoringHead`; raise an error if they are damaged or do not fit."""
    from safetensors.numpy import load_file

    expected = {
        "dense.weight": (width, width),
        "dense.bias": (width,),
        "score.weight": (1, width),
        "score.bias": (1,),
    }
    try:
        found = load_file(path)
        shapes = {name: value.shape for name, value in found.items()}
    except MemoryError:
        raise
    except Exception as error:  # from safetensors, the file system, or dtypes unknown to numpy
        raise ValueError(f"{path} is damaged ({error}); fetch or save the model again") from error
    if shapes != expected:
        raise ValueError(f"{path} does not score vectors of width {width}, but {shapes}")
    return {name: value.astype(np.float32) for name, value in found.items()}


def load_with_head(
    encoder: TokenEncoder, texts: Any, *, needs_head: bool
) -> dict[str, np.ndarray] | None:
    """Load an encoder's model, and return its scoring network if the folder has one.

    Raises ValueError if the tokenizer has no first token for pairs, or if ``needs_head`` and there
    is no network.
    """
    transformer = encoder.fit(texts).loaded()
    transformer.check_max_length(encoder.max_length, pair=True)
    if not transformer.puts_special_token_first():
        raise ValueError(
            f"model={encoder.model!r} has a tokenizer without a first token for the pair, such as "
            "[CLS]; use another model"
        )
    path = find_model(encoder.model) / PAIR_HEAD
    if path.is_file():
        return read_pair_head(path, transformer.width)
    if needs_head:
        raise ValueError(
            f"model={encoder.model!r} has no network that scores pairs ({PAIR_HEAD}); set "
            "epochs above 0 to train one, or give a folder written by CrossEncoderRegressor.save"
        )
    return None


def head_arrays(head: Any) -> dict[str, np.ndarray]:
    """Return copies of the weights of a `ScoringHead`."""
    return {name: value.cpu().numpy().copy() for name, value in head.state_dict().items()}


def score_pairs(
    transformer: Transformer,
    head: Any,
    pairs: np.ndarray,
    *,
    max_length: int,
    batch_size: int | None,
    advance: Callable[[float], Any],
) -> tuple[np.ndarray, int]:
    """Score pairs, averaged over both orders.

    Parameters
    ----------
    transformer : Transformer
        The model.
    head : ScoringHead or dict of ndarray
        Network that scores the first token, in evaluation mode on the model's device; or its
        weights.
    pairs : ndarray of str, shape (n, 2)
        Texts.
    max_length : int
        As in `Transformer.tokenize_pairs`.
    batch_size : int or None
        As in `Transformer.encode`.
    advance : callable
        Called with the number of finished pairs.

    Returns
    -------
    scores : ndarray of float64, shape (n,)
        Mean over both orders, hence symmetric.
    n_cut : int
        Number of pairs with a text truncated by ``max_length``.
    """
    if isinstance(head, dict):
        head = _head(head, transformer.device)
    found, n_cut = np.empty(len(pairs)), 0
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        block = pairs[start : start + PAIRS_AT_ONCE]
        first, second = block[:, 0].tolist(), block[:, 1].tolist()
        tokens = transformer.tokenize_pairs(first + second, second + first, max_length)
        n_cut += int(tokens.is_cut[: len(block)].sum())
        scores = np.empty(2 * len(block))

        def reduced(features: Any, mask: Any) -> Any:
            return head(features[:, 0])

        rows = np.arange(len(scores))
        for batch, values in transformer.encode(tokens, rows, reduced, batch_size):
            scores[batch] = values
            advance(len(batch) / 2)
        found[start : start + len(block)] = (scores[: len(block)] + scores[len(block) :]) / 2
    return found, n_cut


def _head(arrays: dict[str, np.ndarray], device: str) -> Any:
    import torch

    from film.networks import ScoringHead

    # The random initial weights are never used and must not change the caller's random state.
    with torch.random.fork_rng(devices=[]):
        head = ScoringHead(len(arrays["dense.bias"]))
    head.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    return head.to(device).requires_grad_(False).eval()

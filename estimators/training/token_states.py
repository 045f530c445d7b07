"""Texts as token vectors of a frozen model, and a network that reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import clone

from estimators.encoders import TokenEncoder, warn_of_cuts, warn_of_unknown
from estimators.inputs import check_texts, numbered_texts
from film.tokens import Ragged

TOKENS_PER_BATCH = 1024
"""Maximum tokens of similar-length texts that pass through the network together."""


class TokenStates:
    """Frozen token vectors of texts, concatenated; the training loop counts a text as one token.

    The network returns one vector per text.

    Parameters
    ----------
    values : ndarray of float16 or float32, shape (N, h)
        Vectors of the tokens of all texts.
    lengths : ndarray of int, shape (n,)
        Number of tokens of each text; may be 0.
    """

    def __init__(self, values: np.ndarray, lengths: np.ndarray) -> None:
        self.values, self.n_tokens = values, lengths
        self.token_starts = np.concatenate([[0], np.cumsum(lengths)])
        self.lengths = np.ones(len(lengths), dtype=np.int64)
        self.starts = np.arange(len(lengths) + 1)
        self.is_special = np.zeros(len(lengths), dtype=bool)

    def padded(self, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrices of texts, padded with zeros, and their masks."""
        lengths = self.n_tokens[texts]
        mask = np.arange(max(1, lengths.max())) < lengths[:, np.newaxis]
        x = np.zeros((*mask.shape, self.values.shape[1]), dtype=np.float32)
        places = np.repeat(self.token_starts[texts] - np.cumsum(lengths) + lengths, lengths)
        x[mask] = self.values[places + np.arange(len(places))]
        return x, mask


class TextVectors:
    """Gives a network that returns one vector per text the interface of a transformer.

    Parameters
    ----------
    network : torch.nn.Module
        Called with token vectors (b, L, h) and their mask (b, L); returns vectors (b, w).
    width : int
        Width w of a vector.
    device : str
        Device of the network.
    dtype : {"float32", "float16", "bfloat16"}
        Precision of its products; weights stay in float32.
    """

    head: Any = None

    def __init__(self, network: Any, width: int, device: str, dtype: str) -> None:
        self.module, self.width = network.to(device), width
        self.device, self.dtype = device, dtype

    def forward(self, tokens: TokenStates, batch: np.ndarray) -> tuple[Any, Any]:
        """Return vectors of texts, (b, 1, w), and a mask of ones, (b, 1)."""
        import torch

        # Texts of equal length need little padding.
        order = np.argsort(-tokens.n_tokens[batch], kind="stable")
        found, done = [], 0
        while done < len(order):
            longest = max(1, int(tokens.n_tokens[batch[order[done]]]))
            some = order[done : done + max(1, TOKENS_PER_BATCH // longest)]
            x, mask = (
                torch.from_numpy(part).to(self.device) for part in tokens.padded(batch[some])
            )
            found.append(self.module(x, mask).float())
            done += len(some)
        back = torch.from_numpy(np.argsort(order)).to(self.device)
        vectors = torch.cat(found)[back]
        return vectors[:, None], torch.ones(len(batch), 1, dtype=torch.bool, device=self.device)

    def vectors(self, tokens: TokenStates) -> np.ndarray:
        """Return vectors of all texts without gradients, float32, shape (n, w)."""
        import torch

        half = self.dtype != "float32"
        kind = torch.device(self.device).type
        with (
            torch.inference_mode(),
            torch.autocast(kind, getattr(torch, self.dtype)) if half else nullcontext(),
        ):
            return self.forward(tokens, np.arange(len(tokens.n_tokens)))[0][:, 0].cpu().numpy()

    def arrays(self) -> dict[str, np.ndarray]:
        """Copy all weights."""
        state = self.module.state_dict()
        return {name: value.detach().cpu().numpy().copy() for name, value in state.items()}

    def adopt(self, arrays: dict[str, np.ndarray]) -> None:
        """Load weights returned by `arrays`.

        Raises
        ------
        ValueError
            If they belong to another network.
        """
        import torch

        try:
            # Arrays may be read-only views of a file.
            self.module.load_state_dict({n: torch.from_numpy(v.copy()) for n, v in arrays.items()})
        except RuntimeError as error:
            raise ValueError(f"weights are those of another network: {str(error)[:300]}") from error

    def set_dtype(self, dtype: str) -> None:
        """Change the precision of products."""
        self.dtype = dtype


TEXTS_AT_ONCE = 4096
Texts = list[str] | Ragged


def checked_texts(X: Any, name: str) -> Texts:
    """Check texts, or token vectors of texts.

    Raises
    ------
    TypeError, ValueError
        If a text is missing or not a str, there are no texts, or a token vector is not finite.
    """
    if not isinstance(X, Ragged):
        return check_texts(X, name, encodable=True)
    if len(X) == 0:
        raise ValueError(f"{name} is empty; give at least one text")
    if X.values.dtype.kind != "f" or not np.isfinite(X.values).all():
        raise ValueError(f"{name} must hold finite floats as token vectors")
    return X


def fitted_encoder(encoder: TokenEncoder | None, length: int) -> TokenEncoder:
    """Return a fitted copy of an encoder, or of the packaged one, that truncates at a length."""
    copied: Any = TokenEncoder() if encoder is None else clone(encoder)
    copied.set_params(max_length=min(copied.max_length, length))
    return copied.fit(["a text"])


def taken(texts: Texts, rows: np.ndarray) -> Texts:
    """Return selected texts."""
    return texts[rows] if isinstance(texts, Ragged) else [texts[row] for row in rows.tolist()]


def distinct_states(
    encoder: TokenEncoder | None, texts: Texts, length: int, verbose: int
) -> tuple[TokenStates, np.ndarray]:
    """Encode each distinct text once.

    Returns
    -------
    states : TokenStates
        States of the distinct texts.
    numbers : ndarray of int, shape (n_texts,)
        Number of each text among them. Token vectors passed by the caller count as distinct.
    """
    if isinstance(texts, Ragged):
        values, lengths = _kept(texts, length)
        return TokenStates(values.astype(np.float32, copy=False), lengths), np.arange(len(texts))
    unique, numbers = numbered_texts(texts)
    encoder = _needed(encoder)
    # Tokenising is fast and gives the array size needed.
    n_tokens = encoder.loaded().tokenize(unique, encoder.max_length).starts[-1]
    values = np.empty((n_tokens, encoder.n_features_out_), dtype=np.float32)
    counts, done = [], 0
    for rows, n_kept in _encoded(encoder, unique, length, verbose):
        values[done : done + len(rows)] = rows
        done += len(rows)
        counts.append(n_kept)
    return TokenStates(values[:done], np.concatenate(counts)), numbers


def vectors_of(
    network: TextVectors, encoder: TokenEncoder | None, texts: Texts, length: int, verbose: int
) -> np.ndarray:
    """Return the network's vectors of texts, with one block of token vectors in memory."""
    if isinstance(texts, Ragged):
        width = network.module.n_features
        if texts.values.shape[1] != width:
            raise ValueError(
                f"X has token vectors of width {texts.values.shape[1]}, and the network was fitted "
                f"on {width}"
            )
        starts = range(0, len(texts), TEXTS_AT_ONCE)
        blocks = (_kept(texts[start : start + TEXTS_AT_ONCE], length) for start in starts)
        numbers = np.arange(len(texts))
    else:
        unique, numbers = numbered_texts(texts)
        blocks = _encoded(_needed(encoder), unique, length, verbose)
    found = []
    for block in blocks:
        found.append(network.vectors(TokenStates(*block)))
    return np.concatenate(found)[numbers]


def _encoded(
    encoder: TokenEncoder, unique: list[str], length: int, verbose: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield token vectors and token counts of blocks of texts; warn once about truncation."""
    from tqdm.auto import tqdm

    transformer, n_cut, unknown = encoder.loaded(), 0, []
    with tqdm(total=len(unique), desc="encode", unit="text", disable=not verbose) as bar:
        for start in range(0, len(unique), TEXTS_AT_ONCE):
            tokens, is_cut = encoder.encode(unique[start : start + TEXTS_AT_ONCE], warns=False)
            n_cut += int(is_cut.sum())
            unknown.append(transformer.unknown_shares(tokens))
            yield _kept(tokens, length)
            bar.update(len(is_cut))
    most = transformer.most_tokens
    # Attribute the warning to the caller of `fit` or `transform`.
    warn_of_cuts(n_cut, len(unique), encoder.max_length, most, stacklevel=6)
    warn_of_unknown(np.concatenate(unknown), stacklevel=6)


def _needed(encoder: TokenEncoder | None) -> TokenEncoder:
    if encoder is None:
        raise ValueError(
            "X holds texts, and the network was fitted on token vectors; give Ragged token vectors "
            "of the same model"
        )
    return encoder


def _kept(tokens: Ragged, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first tokens of each text and their number, which is 0 without words."""
    has_words = tokens.lengths > 0
    if tokens.is_special is not None:
        text = np.repeat(np.arange(len(tokens)), tokens.lengths)
        n_words = np.bincount(text[~np.asarray(tokens.is_special)], minlength=len(tokens))
        has_words &= n_words > 0
    n_kept = np.where(has_words, np.minimum(tokens.lengths, length), 0)
    if (n_kept == tokens.lengths).all():
        return tokens.values, n_kept
    within = np.arange(len(tokens.values)) - np.repeat(tokens.starts[:-1], tokens.lengths)
    return tokens.values[within < np.repeat(n_kept, tokens.lengths)], n_kept

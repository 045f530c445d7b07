"""Texts, or their token vectors, as frozen input of a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from estimators.encoders import TokenEncoder, warn_of_cuts, warn_of_unknown
from estimators.inputs import check_texts
from estimators.training.loop.text_vectors import TextVectors, TokenStates
from film.tokens import Ragged

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


def mean_vectors(encoder: TokenEncoder | None, texts: Texts) -> np.ndarray:
    """Return the mean token vector of each text, zero if it has no tokens."""
    if isinstance(texts, Ragged):
        found = np.zeros((len(texts), texts.values.shape[1]))
        for row, values in enumerate(texts):
            if len(values):
                found[row] = values.mean(axis=0)
        return found
    return _needed(encoder).encode_means(texts)[0]


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
    unique, numbers = _distinct(texts)
    encoder = _needed(encoder)
    # Tokenising is fast and gives the array size needed.
    n_tokens = encoder.loaded().tokenize(unique, encoder.max_length).starts[-1]
    values = np.empty((n_tokens, encoder.n_features_out_), dtype=np.float32)
    counts, done = [], 0
    for rows, n_kept in _encoded(encoder, unique, length, verbose, stacklevel=7):
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
        unique, numbers = _distinct(texts)
        blocks = _encoded(_needed(encoder), unique, length, verbose, stacklevel=6)
    found = []
    for block in blocks:
        found.append(network.vectors(TokenStates(*block)))
    return np.concatenate(found)[numbers]


def _distinct(texts: list[str]) -> tuple[list[str], np.ndarray]:
    known: dict[str, int] = {}
    numbers = np.array([known.setdefault(text, len(known)) for text in texts], dtype=np.intp)
    return list(known), numbers


def _encoded(
    encoder: TokenEncoder, unique: list[str], length: int, verbose: int, stacklevel: int
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
    warn_of_cuts(n_cut, len(unique), encoder.max_length, most, stacklevel=stacklevel)
    warn_of_unknown(np.concatenate(unknown), stacklevel=stacklevel)


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

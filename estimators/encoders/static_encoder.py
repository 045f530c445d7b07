"""Text vectors from a table of token vectors, without torch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from estimators.encoders.frozen_encoder import FrozenEncoder
from estimators.encoders.model_files import MODULES, WEIGHTS, find_model, model_digest
from estimators.inputs import check_texts
from estimators.persistence import savable

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
NESTED = "0_StaticEmbedding"
"""Folder that holds table and tokenizer in sentence-transformers' layout."""
TABLES = ("embeddings", "embedding.weight")
"""Name of the table in model2vec's and in sentence-transformers' files."""
MOST_TOKENS = 512
"""Tokens read per text unless the folder declares another number, as in model2vec."""
TEXTS_PER_CALL = 4096


@savable
@dataclass(eq=False, repr=False)
class StaticEncoder(ClassNamePrefixFeaturesOutMixin, FrozenEncoder):
    """Encode texts as the mean of fixed vectors of their tokens, without torch.

    It encodes tens of thousands of short texts per second on a processor. It needs the packages
    tokenizers and safetensors (the extra static).

    Parameters
    ----------
    model : str or path-like
        Hub name, or a folder with tokenizer.json and a safetensors file, in the layout of

        - model2vec: "embeddings", and perhaps "weights" and "mapping" of tokens,
        - sentence-transformers with one StaticEmbedding,
        - or without a config.json: one table with a row per token.

    Attributes
    ----------
    n_features_out_ : int
        Length d of the vectors.
    model_digest_ : str
        Digest of the model files.

    See Also
    --------
    SentenceEncoder : Vectors from a transformers model, which uses the order of words.
    AnyEncoder : Recognises such a folder.

    References
    ----------
    Tulkens and van Dongen, Model2Vec: fast state-of-the-art static embeddings (2024).

    Notes
    -----
    With the table E (V, d), a weight w per token and the tokens t of a text, the vector is
    Σ_t w_t E_t, scaled to length 1. Weights by frequency (Zipf's law) are part of the table or of
    "weights" in model2vec's files. Special and unknown tokens do not count. A text has at most
    512 tokens, or as many as max_length in config.json.

    Examples
    --------
    >>> from estimators import StaticEncoder
    >>> encoder = StaticEncoder("minishlab/potion-base-8M")  # doctest: +SKIP
    >>> encoder.fit_transform(["How old is Earth?", "Hi"]).shape  # doctest: +SKIP
    (2, 256)
    """

    model: Any

    def fit(self, texts: Any, y: Any = None) -> StaticEncoder:
        """Load the model.

        Parameters
        ----------
        texts : iterable of str
            Only checked.
        y : object, default=None
            Not used.

        Returns
        -------
        self : StaticEncoder
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If texts are wrong, or a file of the model is damaged or does not fit the others.
        FileNotFoundError, ImportError
            If the model or a package that reads it is missing.
        """
        check_texts(texts, encodable=True)
        table: Any = self._load()
        self.set_transformer(table)
        self.n_features_out_ = table.vectors.shape[1]
        return self

    def transform(self, texts: Any) -> np.ndarray:
        """Encode texts.

        Parameters
        ----------
        texts : iterable of str
            At least one; a text may be empty.

        Returns
        -------
        vectors : ndarray of float32, shape (n, n_features_out_)
            Rows of length 1; zero for a text without any known token.

        Raises
        ------
        TypeError, ValueError
            If texts are wrong, or the model's files have changed since fitting.
        """
        table: Any = self.loaded()
        return table.encode(check_texts(texts, encodable=True))

    def digest_of(self, folder: Path) -> str:
        """Return the digest of the model files in a folder; raise an error if they are damaged."""
        check_is_fitted(self, "model_digest_")
        return TokenTable(folder).digest

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    def _load(self) -> Any:
        return TokenTable(find_model(self.model))


class TokenTable:
    """Token vectors and tokenizer of a folder.

    Raises FileNotFoundError, ImportError or ValueError if they cannot be read.

    Attributes
    ----------
    vectors : ndarray of float32, shape (n_vectors, d)
    rows : ndarray of int, shape (n_tokens,)
        Row of each token.
    weights : ndarray of float32, shape (n_tokens,)
        Zero for the unknown token.
    digest, file_digest : str
        Digest of the files.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ImportError(
                f"{error.name} is not installed; static encoders need the extra static "
                "(pip install 'film-metric[static]')"
            ) from error
        files = static_files(folder)
        if files is None:
            raise FileNotFoundError(
                f"model folder {folder} has no static token vectors; give a folder with "
                f"{TOKENIZER} and one safetensors file, as model2vec writes it"
            )
        self.place, self.path = files
        try:
            tensors = load_file(self.path)
            tokenizer: Any = Tokenizer.from_file(str(self.place / TOKENIZER))
            self.length = _config(self.place).get("max_length", MOST_TOKENS)
        except MemoryError:
            raise
        except Exception as error:  # safetensors and tokenizers have their own types
            raise ValueError(
                f"model folder {folder} cannot be read ({error}); fetch or save it again"
            ) from error
        vocabulary = tokenizer.get_vocab()
        n_tokens = max(vocabulary.values(), default=-1) + 1
        self.vectors, self.rows, self.weights = _checked(self.path, tensors, n_tokens)
        unknown = json.loads(tokenizer.to_str())["model"]
        number = unknown.get("unk_id", vocabulary.get(unknown.get("unk_token")))
        if number is not None:
            self.weights[number] = 0
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.most_letters = None
        if self.length is not None:
            tokenizer.enable_truncation(self.length)
            # As in model2vec, so that a very long text is not split to be cut afterwards.
            self.most_letters = self.length * int(np.median([len(token) for token in vocabulary]))
        self.tokenizer = tokenizer
        self.digest = self.file_digest = model_digest(self.place, [self.path])

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return the unit vectors of texts."""
        parts = [self._sums(part) @ self.vectors for part in _parts(texts)]
        return np.asarray(normalize(np.concatenate(parts), copy=False))

    def _sums(self, texts: list[str]) -> Any:
        """Return the weight of each row of the table in each text, as a sparse matrix."""
        cut = [text[: self.most_letters] for text in texts]
        ids = [
            encoding.ids
            for encoding in self.tokenizer.encode_batch_fast(cut, add_special_tokens=False)
        ]
        ends = np.concatenate([[0], np.cumsum([len(each) for each in ids])])
        tokens = np.fromiter(chain.from_iterable(ids), np.intp, count=ends[-1])
        shape = len(texts), len(self.vectors)
        return sp.csr_array((self.weights[tokens], self.rows[tokens], ends), shape=shape)

    def save(self, folder: Path) -> None:
        """Copy the files into a folder."""
        shutil.copy(self.path, folder / WEIGHTS)
        for name in (TOKENIZER, CONFIG):
            if (self.place / name).is_file():
                shutil.copy(self.place / name, folder / name)


def static_files(folder: Path) -> tuple[Path, Path] | None:
    """Return the folder of the tokenizer and the file of the token vectors, or None."""
    for place in (folder / NESTED, folder):
        tables = sorted(place.glob("*.safetensors"))
        if len(tables) == 1 and (place / TOKENIZER).is_file():
            try:
                kind = _config(place).get("model_type", "model2vec")
                layers = _layers(folder)
            except ValueError:  # the reader of transformers' folders names the damage
                return None
            is_static = kind == "model2vec" and layers <= {"StaticEmbedding", "Normalize"}
            return (place, tables[0]) if is_static else None
    return None


def _layers(folder: Path) -> set[str]:
    """Return the kinds of layers that a folder in sentence-transformers' layout declares."""
    path = folder / MODULES
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return {str(layer.get("type")).rpartition(".")[2] for layer in found}


def _config(place: Path) -> dict[str, Any]:
    path = place / CONFIG
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds no settings")
    return found


def _checked(
    path: Path, tensors: dict[str, np.ndarray], n_tokens: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return table, row and weight of each token; raise ValueError if they do not fit."""
    wide = [name for name, value in tensors.items() if value.ndim == 2]
    named = [name for name in TABLES if name in wide] or wide
    shapes = {name: value.shape for name, value in tensors.items()}
    if len(named) != 1:
        raise ValueError(f"{path} must hold one table of token vectors, but holds {shapes}")
    vectors = tensors[named[0]].astype(np.float32)
    rows = tensors.get("mapping", np.arange(len(vectors))).astype(np.intp)
    weights = tensors.get("weights", np.ones(len(rows))).astype(np.float32)
    if not (
        vectors.size
        and n_tokens <= len(rows) == len(weights)
        and rows.ndim == weights.ndim == 1
        and 0 <= rows.min(initial=0) <= rows.max(initial=0) < len(vectors)
    ):
        raise ValueError(
            f"{path} holds {shapes}, which does not fit the {n_tokens} tokens of {TOKENIZER}; use "
            "the model's own tokenizer"
        )
    if not (np.isfinite(vectors).all() and np.isfinite(weights).all()):
        raise ValueError(f"{path} holds numbers that are NaN or infinite; fetch it again")
    return vectors, rows, weights


def _parts(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), TEXTS_PER_CALL):
        yield texts[start : start + TEXTS_PER_CALL]

"""Vectors by frozen encoders, shared by members that begin with the same encoder."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from estimators.encoders import AnyEncoder, SentenceEncoder, StaticEncoder, is_fitted
from estimators.inputs import as_texts, transformed_by_words
from estimators.pairs.stack.member_folds import is_frozen

_CHANGES_NO_VECTOR = ("batch_size", "cache", "device", "verbose")
_PLAIN = (str, int, float, os.PathLike, type(None))


def frozen_start(member: Any) -> tuple[Any, Any]:
    """Split an embedder into its frozen first encoder and the rest; each may be None.

    The rest of a pipeline keeps its steps, fitted or not.
    """
    first = member.steps[0][1] if isinstance(member, Pipeline) else member
    encodes = isinstance(first, SentenceEncoder | StaticEncoder | AnyEncoder)
    if not (encodes and is_frozen(first)):
        return None, member
    rest = member.steps[1:] if isinstance(member, Pipeline) else []
    return first, Pipeline(rest) if rest else None


class Encodings:
    """Vectors of texts by frozen encoders, each text encoded once by each of them.

    They are kept as long as this object: for one fit or one prediction.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Any, dict[str, int], list[Any]]] = {}

    def __reduce__(self) -> Any:
        # Other processes and caches start empty.
        return Encodings, ()

    def vectors(self, encoder: Any, texts: list[str]) -> np.ndarray:
        """Return the (n, h) vectors of texts by an encoder, which is fitted if necessary."""
        # An object is known by its identity, as long as it is kept with its vectors.
        kept = [
            (name, str(value) if isinstance(value, _PLAIN) else id(value))
            for name, value in encoder.get_params(deep=False).items()
            if name not in _CHANGES_NO_VECTOR
        ]
        key = f"{type(encoder).__name__} {kept}"
        _, places, blocks = self._kept.setdefault(key, (encoder.get_params(), {}, []))
        new = [text for text in dict.fromkeys(texts) if text not in places]
        if new:
            fitted = encoder if is_fitted(encoder) else encoder.fit(new[:1])
            start = len(places)
            places.update((text, start + number) for number, text in enumerate(new))
            try:
                points = fitted.transform(as_texts(new))
                blocks.append(points if sp.issparse(points) else np.asarray(points))
            except BaseException:
                for text in new:
                    del places[text]
                raise
        if len(blocks) > 1:
            blocks[:] = [
                sp.vstack(blocks, format="csr")
                if sp.issparse(blocks[0])
                else np.concatenate(blocks)
            ]
        return blocks[0][[places[text] for text in texts]]

    def embed(self, fitted: Any, texts: list[str]) -> np.ndarray:
        """Return dense vectors of texts by a fitted embedder, (n, d)."""
        encoder, rest = frozen_start(fitted)
        if encoder is None:
            points = transformed_by_words(fitted, as_texts(texts))
        else:
            points = self.vectors(encoder, texts)
            points = points if rest is None else rest.transform(points)
        if sp.issparse(points):
            raise TypeError(
                "embedder gives sparse vectors; end it with a step that gives dense ones, such as "
                "FILM or TruncatedSVD"
            )
        try:
            vectors = np.asarray(points)
        except ValueError:  # rows of several lengths, as of tokens
            vectors = np.empty(0)
        if vectors.ndim != 2:
            raise TypeError(
                f"embedder returns {type(points).__name__}, not one vector per text; use "
                "an embedder such as SentenceEncoder"
            )
        return vectors

    def fit(self, embedder: Any, texts: list[str], triplets: Any) -> Any:
        """Fit an unfitted embedder to texts and triplets of their positions."""
        encoder, rest = frozen_start(embedder)
        if encoder is None:
            return embedder.fit(as_texts(texts), triplets)
        encoder.fit(texts[:1])
        if rest is not None:
            # The steps are those of the embedder itself, which this fits.
            rest.fit(self.vectors(encoder, texts), triplets)
        return embedder

"""Text vectors from a frozen transformers model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from estimators.encoders.frozen_encoder import FrozenEncoder
from estimators.inputs import check_choice, check_integer, check_texts
from estimators.persistence import savable

POOLINGS = ("mean", "cls", "max")
ROWS_PER_BLOCK = 8192


@savable
@dataclass(eq=False, repr=False)
class SentenceEncoder(ClassNamePrefixFeaturesOutMixin, FrozenEncoder):
    """Encode texts as one vector each with a frozen transformers model.

    Token vectors are pooled batch by batch, so they never fill the memory for a large corpus. Use
    it before `FILM` in a pipeline, or as a member of `DuplicateClassifier`.

    Parameters
    ----------
    model : str or path-like, default=None
        Hub name or local folder, as in `TokenEncoder`; None is the packaged all-MiniLM-L6-v2.
    pooling : {"mean", "cls", "max"}, default=None
        Mean of all tokens, including special tokens; the first token, if the tokenizer adds a
        special one; or the maximum of each coordinate. None takes the pooling that the folder
        declares in sentence-transformers' layout (modules.json), "mean" without a declaration.
    whiten : bool or int, default=False
        Whether to centre and scale vectors so that those of the fitted texts have identity
        covariance. True keeps all components that vary, a number only the strongest. True needs
        more distinct texts than h; use at least ten times as many for a reliable covariance.
    max_length, batch_size, device, dtype, cache, verbose
        As in `TokenEncoder`. The cache holds pooled vectors before whitening.

    Attributes
    ----------
    n_features_out_ : int
        Length h of the vectors.
    mean_ : ndarray of float64, shape (h,), or None
        Mean of the fitted texts' vectors; None without whitening.
    components_ : ndarray of float64, shape (n_features_out_, h), or None
        Whitening map: eigenvectors of the covariance divided by the roots of their eigenvalues,
        strongest first; None without whitening.
    pooling_ : {"mean", "cls", "max"}
        How token vectors are pooled.
    model_digest_ : str
        Digest of the model files.

    See Also
    --------
    TokenEncoder : One vector per token.

    References
    ----------
    Su et al., Whitening sentence representations for better semantics and faster retrieval (2021).

    Notes
    -----
    Vectors are not normalised to unit length, even if the folder declares it; cosines are the
    same. The model dominates the running time. Whitening adds O(n h² + h³) in float64.

    Examples
    --------
    >>> from estimators.encoders import SentenceEncoder
    >>> SentenceEncoder().fit_transform(["How old is Earth?", "Hi"]).shape  # doctest: +SKIP
    (2, 384)
    """

    model: Any = None
    _: KW_ONLY
    pooling: str | None = None
    whiten: bool | int = False
    max_length: int = 128
    batch_size: int | None = None
    device: Any = None
    dtype: Any = None
    cache: Any = None
    verbose: int = 0

    def fit(self, texts: Any, y: Any = None) -> SentenceEncoder:
        """Load the model and, if ``whiten`` is set, learn the whitening map.

        Parameters
        ----------
        texts : iterable of str
            Encoded only if ``whiten`` is not False.
        y : object, default=None
            Not used.

        Returns
        -------
        self : SentenceEncoder
            Fitted.

        Raises
        ------
        TypeError, ValueError
            As in `TokenEncoder.fit`, or if the texts are too few or too alike to whiten.
        FileNotFoundError, ImportError
            As in `TokenEncoder.fit`.
        """
        self._fit(texts, wanted=False)
        return self

    def fit_transform(self, texts: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the vectors of the same texts, which are encoded once.

        Parameters
        ----------
        texts : iterable of str
            As in `fit`.
        y : object, default=None
            Not used.

        Returns
        -------
        vectors : ndarray of float32, shape (n, n_features_out_)
            As returned by `transform`.
        """
        return self._fit(texts, wanted=True)

    def transform(self, texts: Any) -> np.ndarray:
        """Encode texts.

        Parameters
        ----------
        texts : iterable of str
            At least one; a text may be empty.

        Returns
        -------
        vectors : ndarray of float32, shape (n, n_features_out_)
            In the order of the texts. A text without any token has a zero vector before
            whitening.

        Raises
        ------
        TypeError, ValueError, MemoryError, OSError
            As in `TokenEncoder.transform`.
        """
        transformer = self.loaded()
        sentences = check_texts(texts, encodable=True)
        return self._whitened(self._pooled(sentences, transformer, self.pooling_))

    def _fit(self, texts: Any, *, wanted: bool) -> Any:
        """Fit, and return the vectors of the texts if ``wanted``."""
        if self.pooling is not None:
            check_choice("pooling", self.pooling, POOLINGS)
        whitens = self.whiten is not False
        if whitens and self.whiten is not True:
            check_integer("whiten", self.whiten, 1)
        sentences = check_texts(texts, encodable=True)
        transformer = self._load()
        width = transformer.width
        if whitens and self.whiten is not True and self.whiten > width:
            raise ValueError(
                f"whiten={self.whiten} is more than the {width} components of this model's "
                "vectors; lower it, or use True for all"
            )
        pooling = transformer.pooling if self.pooling is None else self.pooling
        if pooling == "cls" and not transformer.puts_special_token_first():
            raise ValueError(
                "pooling='cls' needs a special first token, which this model's tokenizer does "
                "not add; use pooling='mean'"
            )
        if self.whiten is True and (n_distinct := len(set(sentences))) <= width:
            raise ValueError(
                f"whiten=True needs more distinct texts than the {width} components of the "
                f"vectors, got {n_distinct}; give more texts, or fewer components as a number"
            )
        vectors = self._pooled(sentences, transformer, pooling) if wanted or whitens else None
        mean, components = None, None
        if whitens:
            assert vectors is not None
            mean, components = _whitening(vectors, None if self.whiten is True else self.whiten)
        self.set_transformer(transformer)
        self.pooling_ = pooling
        self.mean_, self.components_ = mean, components
        self.n_features_out_ = width if components is None else len(components)
        return self._whitened(vectors) if wanted else None

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    def _pooled(self, sentences: list[str], transformer: Any, pooling: str) -> np.ndarray:
        values, _, codes = self._encode(
            transformer, sentences, POOLERS[pooling], pooling, one_row=True
        )
        return values if len(values) == len(codes) else values[codes]

    def _whitened(self, vectors: Any) -> np.ndarray:
        if self.components_ is None:
            return vectors
        found = np.empty((len(vectors), len(self.components_)), dtype=np.float32)
        for rows in _blocks(len(vectors)):
            found[rows] = (vectors[rows] - self.mean_) @ self.components_.T
        return found


def _mean(features: Any, mask: Any) -> Any:
    kept = mask.unsqueeze(-1)
    return (features * kept).sum(1) / kept.sum(1)


def _first(features: Any, mask: Any) -> Any:
    return features[:, 0]


def _greatest(features: Any, mask: Any) -> Any:
    return features.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(1)


POOLERS = {"mean": _mean, "cls": _first, "max": _greatest}


def _whitening(vectors: np.ndarray, count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean, and the map to ``count`` uncorrelated components of unit variance."""
    n, width = vectors.shape
    mean = vectors.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((width, width))
    for rows in _blocks(n):
        centred = vectors[rows] - mean
        scatter += centred.T @ centred
    variances, axes = np.linalg.eigh(scatter / max(n - 1, 1))
    variances, axes = variances[::-1], axes[:, ::-1]
    # A final layer norm keeps vectors in a hyperplane, and some models have dead coordinates;
    # constant components cannot be scaled. Encodings are accurate to about 1e-5, so smaller shares
    # of the largest spread are rounding errors.
    rank = int((variances > 1e-10 * max(variances[0], np.finfo(float).tiny)).sum())
    if rank == 0 or rank < (count or 0):
        remedy = f"give more texts, or whiten={rank} or less" if rank else "give more texts"
        raise ValueError(
            f"whiten={True if count is None else count}: the vectors of the {n} texts vary in "
            f"only {rank} components; {remedy}"
        )
    count = rank if count is None else count
    components = (axes[:, :count] / np.sqrt(variances[:count])).T
    signs = np.sign(components[np.arange(count), np.abs(components).argmax(axis=1)])
    return mean, components * signs[:, np.newaxis]


def _blocks(n: int) -> list[slice]:
    return [slice(first, first + ROWS_PER_BLOCK) for first in range(0, n, ROWS_PER_BLOCK)]

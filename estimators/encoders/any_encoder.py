"""Encoders of any library, and the choice of one."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from estimators.encoders.frozen_encoder import SentenceEncoder
from estimators.encoders.model_files import PACKAGE, SHORT_NAME, check_folder, find_model
from estimators.encoders.static_encoder import StaticEncoder, static_files
from estimators.encoders.transformer import usual_length
from estimators.inputs import (
    as_texts,
    check_integer,
    check_texts,
    check_verbose,
    cloned,
    showing_progress,
    tags_of_texts,
)
from estimators.persistence import savable

PROBE = "a"
"""Stands in for a text where all are empty, to learn the length of the vectors."""


@savable
@dataclass(eq=False, repr=False)
class AnyEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Encode texts as unit vectors with any encoder.

    Use it as the first step of a pipeline, for instance before `FILM`. `DuplicateClassifier`,
    `PairwiseKNNClassifier` and `PairTeacher` apply it to objects with ``encode`` and to functions.

    Parameters
    ----------
    encoder : str, path-like, object or callable
        One of

        - the name or folder of a model, as for `StaticEncoder` or for `SentenceEncoder`, which
          then reads up to 128 tokens per text,
        - an object with ``encode(texts)``, such as a ``SentenceTransformer`` or a model2vec
          ``StaticModel``,
        - a transformer with ``transform(texts)``; a fitted transformer is not fitted again, and a
          copy of an unfitted one is fitted,
        - a function of a list of texts.

        All of them return one row of numbers per text.
    verbose : int, default=0
        Whether encoders of this package show progress.

    Attributes
    ----------
    encoder_ : object
        What encodes: a `StaticEncoder` or `SentenceEncoder` for a name or folder, a fitted
        transformer, or ``encoder`` itself.
    n_features_out_ : int
        Length d of the vectors.

    See Also
    --------
    resolve_encoder : Also takes "auto" and "none".

    Notes
    -----
    Copies by `sklearn.base.clone` share an object or function, because a copy of a model would
    take its memory again. `save_model` saves names and folders as references, with the digest of
    the model's files, and transformers with their content; it refuses other objects and functions.

    Examples
    --------
    >>> import numpy as np
    >>> from estimators import AnyEncoder
    >>> def letters(texts):
    ...     return np.array([[text.count("a"), text.count("b")] for text in texts])
    >>> AnyEncoder(letters).fit_transform(["aaabbbb", "b", ""])
    array([[0.6, 0.8],
           [0. , 1. ],
           [0. , 0. ]], dtype=float32)
    """

    encoder: Any
    _: KW_ONLY
    verbose: int = 0

    def fit(self, texts: Any, y: Any = None) -> AnyEncoder:
        """Load the model, or fit a copy of a transformer that is not fitted.

        Parameters
        ----------
        texts : iterable of str
            At least one. Only transformers that are not fitted learn from them.
        y : object, default=None
            Passed on to such a transformer.

        Returns
        -------
        self : AnyEncoder
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If ``encoder`` is not one of the above, or does not return one row of finite numbers
            per text.
        FileNotFoundError, ImportError
            If a model is not there or not installed.
        """
        check_verbose(self.verbose)
        check_encoder(self.encoder)
        sentences = check_texts(texts, encodable=not hasattr(self.encoder, "transform"))
        encoder = self.encoder
        if isinstance(encoder, (str, os.PathLike)):
            encoder = _of_folder(encoder).fit(sentences[:1])
        elif hasattr(encoder, "transform") and not is_fitted(encoder):
            fresh = cloned("encoder", encoder)
            with showing_progress(fresh, self.verbose):
                encoder = fresh.fit(as_texts(sentences), y)
        width = _rows(encoder, [next(filter(str.strip, sentences), PROBE)]).shape[1]
        self.encoder_, self.n_features_out_ = encoder, width
        return self

    def transform(self, texts: Any) -> Any:
        """Encode texts; equal texts are encoded once.

        Parameters
        ----------
        texts : iterable of str
            At least one; texts may be empty.

        Returns
        -------
        vectors : ndarray or csr_array of float32, shape (n, n_features_out_)
            Rows of length 1. The row of a text without any character other than white space is
            zero, and so is one that the encoder returns as zero. Sparse if the encoder's vectors
            are sparse.

        Raises
        ------
        TypeError, ValueError
            If the encoder does not return one row of finite numbers per text.
        """
        check_is_fitted(self, "encoder_")
        sentences = check_texts(texts, encodable=not hasattr(self.encoder_, "transform"))
        number: dict[str, int] = {}
        codes = np.array(
            [number.setdefault(text, len(number)) if text.strip() else -1 for text in sentences]
        )
        with showing_progress(self.encoder_, self.verbose):
            vectors = _rows(self.encoder_, list(number) or [PROBE])
        if vectors.shape[1] != self.n_features_out_:
            raise ValueError(
                f"encoder {encoder_name(self.encoder)} returned vectors of length "
                f"{vectors.shape[1]}, but of length {self.n_features_out_} in fit; it must return "
                "vectors of one length"
            )
        if len(number) == len(codes):
            return vectors
        zero = np.zeros((1, vectors.shape[1]), dtype=np.float32)
        if sp.issparse(vectors):
            return sp.csr_array(sp.vstack([vectors, sp.csr_array(zero)], format="csr"))[codes]
        return np.concatenate([vectors, zero])[codes]

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

    def __sklearn_clone__(self) -> Any:
        if isinstance(self.encoder, (str, os.PathLike)) or hasattr(self.encoder, "get_params"):
            return super().__sklearn_clone__()
        return type(self)(self.encoder, verbose=self.verbose)

    def check_savable(self) -> None:
        """Raise ValueError if the encoder is an object or function that no file can hold."""
        for encoder in (self.encoder, getattr(self, "encoder_", None)):
            if not (
                encoder is None
                or isinstance(encoder, (str, os.PathLike))
                or hasattr(encoder, "transform")
            ):
                raise ValueError(
                    f"model: encoder {encoder_name(encoder)} is code or an object of another "
                    "package, which a model file cannot hold; save that model in a folder, give "
                    "encoder= its name or folder instead, and fit again"
                )


def _of_folder(model: Any) -> Any:
    """Return an unfitted encoder for the name or folder of a model."""
    folder = find_model(model)
    if static_files(folder) is not None:
        return StaticEncoder(model)
    check_folder(folder)
    return SentenceEncoder(model, max_length=usual_length(folder))


def as_transformer(encoder: Any) -> Any:
    """Wrap a function or an object with ``encode`` in an `AnyEncoder`; return others unchanged.

    So the parameter ``embedder`` of an estimator also takes encoders of other packages.
    """
    if hasattr(encoder, "get_params") or isinstance(encoder, (type, str)):
        return encoder
    return AnyEncoder(encoder) if hasattr(encoder, "encode") or callable(encoder) else encoder


def check_encoder(encoder: Any) -> None:
    """Raise TypeError unless ``encoder`` is one that `AnyEncoder` takes."""
    allowed = (
        "give the name or folder of a model, an object with encode(texts) or transform(texts), or "
        "a function of a list of texts"
    )
    if isinstance(encoder, type):
        name = encoder.__name__
        raise TypeError(f"encoder={name} is a class; give an instance, such as {name}(...)")
    if not (
        isinstance(encoder, (str, os.PathLike))
        or hasattr(encoder, "encode")
        or hasattr(encoder, "transform")
        or callable(encoder)
    ):
        raise TypeError(f"encoder={encoder!r:.200} encodes no texts; {allowed}")


def encoder_name(encoder: Any) -> str:
    """Return a short name of an encoder: its own, or that of its class or function."""
    if isinstance(encoder, (str, os.PathLike)):
        return os.fspath(encoder)
    own = getattr(encoder, "__qualname__", None)
    return own if isinstance(own, str) else type(encoder).__name__


def is_fitted(estimator: Any) -> bool:
    """Whether a transformer is fitted, or needs no fit."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    except (AttributeError, TypeError):  # not an estimator of scikit-learn
        return True
    return True


def _rows(encoder: Any, texts: list[str]) -> Any:
    """Return float32 unit rows of texts, dense or sparse."""
    if hasattr(encoder, "transform"):
        given = encoder.transform(as_texts(texts))
    else:
        given = getattr(encoder, "encode", encoder)(texts)
    if hasattr(given, "detach"):  # a torch tensor, perhaps on a GPU
        given = given.detach().cpu().numpy()
    name = f"encoder {encoder_name(encoder)}"
    try:
        rows: Any = sp.csr_array(given) if sp.issparse(given) else np.asarray(given)
    except ValueError:  # rows of several lengths
        raise TypeError(
            f"{name} returned rows of several lengths; it must return one vector per text"
        ) from None
    if rows.ndim != 2 or rows.shape[0] != len(texts) or rows.dtype.kind not in "fiu":
        raise TypeError(
            f"{name} returned {rows.dtype} of shape {rows.shape} for {len(texts)} texts; it must "
            "return one row of numbers per text"
        )
    if not np.isfinite(rows.data if sp.issparse(rows) else rows).all():
        raise ValueError(f"{name} returned NaN or infinity; its vectors must be finite")
    if sp.issparse(rows):
        wide = rows.astype(np.float64)
        lengths = np.sqrt(np.asarray(wide.multiply(wide).sum(axis=1)).ravel())
        wide.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(wide.indptr))
        return wide.astype(np.float32)
    if rows.dtype != np.float64:
        rows = rows.astype(np.float32, copy=False)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    unit = rows / np.where(lengths > 0, lengths, 1)[:, np.newaxis].astype(rows.dtype)
    return np.ascontiguousarray(unit, dtype=np.float32)


NO_ENCODER = "none"
"""The ``encoder`` that stands for none."""

AUTO_SECONDS = 120
TEXTS_PER_SECOND = 400
"""Short texts that the packaged model encodes per second on 2 cores, as measured.

It is a constant, so that the choice does not depend on the machine or its load.
"""


class EncoderChoice(NamedTuple):
    """An encoder and why it was chosen."""

    encoder: AnyEncoder | None
    """Not fitted yet; None for no encoder."""
    name: str
    """Name for users; "none" for no encoder."""
    reason: str
    """What was chosen and why, in one sentence without a full stop."""


def resolve_encoder(encoder: Any, n_texts: int | None = None) -> EncoderChoice:
    """Return the encoder that the argument ``encoder`` selects.

    Parameters
    ----------
    encoder : object
        None or "none" for no encoder, "auto", or what `AnyEncoder` takes: the name or folder of a
        model, an object with ``encode`` or ``transform``, or a function of a list of texts.

        "auto" is the packaged all-MiniLM-L6-v2 if it is installed and encodes ``n_texts`` short
        texts in two minutes on 2 cores without a GPU, otherwise no encoder.
    n_texts : int, default=None
        Number of distinct texts to encode. None: "auto" assumes few.

    Returns
    -------
    choice : EncoderChoice
        Named tuple of encoder, name and reason.

    Raises
    ------
    TypeError
        If ``encoder`` encodes no texts.
    FileNotFoundError, ImportError
        If there is no model of that name, or it is not installed.

    See Also
    --------
    AnyEncoder : Fits and applies the encoder.

    Examples
    --------
    >>> from estimators.encoders import resolve_encoder
    >>> resolve_encoder("none").reason
    'no encoder'
    >>> choice = resolve_encoder(lambda texts: [[len(text), 1.0] for text in texts])
    >>> choice.encoder.fit_transform(["one", "three"]).shape
    (2, 2)
    """
    if n_texts is not None:
        check_integer("n_texts", n_texts, 0)
    if encoder is None or (isinstance(encoder, str) and encoder == NO_ENCODER):
        return _none("no encoder")
    if isinstance(encoder, str) and encoder == "auto":
        return _automatic(n_texts)
    if isinstance(encoder, str) and not encoder.strip():
        raise ValueError(f"encoder={encoder!r} is empty; give 'auto', 'none', a name or a folder")
    check_encoder(encoder)
    if isinstance(encoder, (str, os.PathLike)):
        try:
            find_model(encoder)
        except (FileNotFoundError, ImportError) as error:
            raise type(error)(str(error).replace("model=", "encoder=")) from error
    name = encoder_name(encoder)
    return EncoderChoice(AnyEncoder(encoder), name, f"encoder {name}, as given")


def _automatic(n_texts: int | None) -> EncoderChoice:
    missing = [name for name in (PACKAGE, "torch", "transformers") if find_spec(name) is None]
    if missing:
        return _none(
            f"no encoder, because the packaged {SHORT_NAME} is not installed "
            "(pip install 'film-metric[minilm]')"
        )
    if n_texts is not None and n_texts > AUTO_SECONDS * TEXTS_PER_SECOND:
        minutes = n_texts / TEXTS_PER_SECOND / 60
        return _none(
            f"no encoder, because {n_texts:,} texts would take the packaged {SHORT_NAME} about "
            f"{minutes:.0f} minutes on 2 cores, and auto takes at most {AUTO_SECONDS // 60}; "
            f"name {SHORT_NAME} to use it anyway"
        )
    return EncoderChoice(
        AnyEncoder(SHORT_NAME), SHORT_NAME, f"encoder {SHORT_NAME}, because it is installed"
    )


def _none(reason: str) -> EncoderChoice:
    return EncoderChoice(None, NO_ENCODER, reason)

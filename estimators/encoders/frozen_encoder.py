"""Frozen transformers models as encoders of sentences and of tokens."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from estimators.encoders.encoding_cache import EncodingCache, text_key
from estimators.encoders.model_files import check_folder as check_model
from estimators.encoders.model_files import model_digest
from estimators.encoders.transformer import Tokens, Transformer
from estimators.inputs import (
    check_choice,
    check_folder,
    check_integer,
    check_texts,
    check_verbose,
    numbered_texts,
    tags_of_texts,
)
from estimators.persistence import savable
from film.threads import FIRST_USE
from film.tokens import Ragged


class FrozenEncoder(TransformerMixin, BaseEstimator):
    """Base of estimators on a frozen model: parameters, loading, pickling, repeated texts."""

    model: Any
    max_length: int
    batch_size: int | None
    device: Any
    dtype: Any
    cache: Any
    verbose: int
    _learned: dict[str, np.ndarray]

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

    def __getstate__(self) -> Any:
        # Weights are read again from the model's files, so that copies are small and hold no code.
        # Only weights learned since then are copied, as arrays.
        state: Any = super().__getstate__()
        state = {name: value for name, value in state.items() if name != "_transformer"}
        if "_learned" not in state and state.get("model_digest_") != state.get("_file_digest"):
            state["_learned"] = self._transformer.arrays()
        return state

    def _load(self) -> Transformer:
        """Check the parameters and load the model."""
        if self.batch_size is not None:
            check_integer("batch_size", self.batch_size, 1)
        check_verbose(self.verbose)
        check_integer("max_length", self.max_length, 1)
        check_folder("cache", self.cache)
        transformer = Transformer(self.model, self.device, self.dtype, self.verbose)
        transformer.check_max_length(self.max_length)
        return transformer

    def set_transformer(self, transformer: Transformer) -> Self:
        """Use this model from now on, loaded or trained elsewhere."""
        self._transformer = transformer
        self.model_digest_, self._file_digest = transformer.digest, transformer.file_digest
        return self

    def write_model(self, folder: Path) -> str:
        """Write the fitted model into a folder in transformers' layout and return its digest."""
        self.loaded().save(folder)
        return self.digest_of(folder)

    def digest_of(self, folder: Path) -> str:
        """Return the digest of the model files in a folder; raise an error if they are damaged."""
        check_is_fitted(self, "model_digest_")
        return model_digest(folder, check_model(folder))

    def check_digest(self, digest: str) -> None:
        """Raise ValueError if the fitted files have another digest."""
        check_is_fitted(self, "model_digest_")
        if digest != self._file_digest:
            raise ValueError(
                f"the files of model={self.model!r} have changed since fitting; fit again, "
                f"or restore the files (digest {self._file_digest[:12]})"
            )

    def move_to(self, place: str, digest: str) -> None:
        """Read the model from another place from now on, whose files have the given digest."""
        check_is_fitted(self, "model_digest_")
        self.model, self.model_digest_, self._file_digest = place, digest, digest
        for name in ("_transformer", "_learned"):
            vars(self).pop(name, None)

    def loaded(self) -> Transformer:
        """Return the fitted model; a copy loads it first."""
        check_is_fitted(self, "model_digest_")
        with FIRST_USE:
            if "_transformer" not in vars(self):
                self._transformer = self._loaded_again()
                vars(self).pop("_learned", None)
        return self._transformer

    def _loaded_again(self) -> Transformer:
        transformer = self._load()
        self.check_digest(transformer.file_digest)
        if "_learned" in vars(self):
            transformer.adopt(self._learned)
            transformer.digest = self.model_digest_
        return transformer

    def _encode(
        self,
        transformer: Transformer,
        texts: list[str],
        reduce: Callable[[Any, Any], Any],
        kind: str,
        *,
        one_row: bool,
        warns: bool = True,
    ) -> tuple[np.ndarray, Tokens, np.ndarray]:
        """Encode each unique text once.

        ``reduce`` is as in `Transformer.encode` and returns one row per text or per token. The
        cache stores its results under the name ``kind``.

        Returns
        -------
        values : ndarray of float32, shape (r, h)
            Rows of the unique texts; zero for a text without tokens if there is one row per text.
        tokens : Tokens
            Tokens of the unique texts.
        codes : ndarray of int, shape (n,)
            Index of each text among the unique texts.
        """
        from tqdm.auto import tqdm

        unique, codes = numbered_texts(texts)
        tokens = transformer.tokenize(unique, self.max_length)
        if warns:
            n_cut = int(tokens.is_cut[codes].sum())
            warn_of_cuts(n_cut, len(texts), self.max_length, transformer.most_tokens, stacklevel=6)
            warn_of_unknown(transformer.unknown_shares(tokens)[codes], stacklevel=6)
        has_tokens = tokens.lengths > 0
        starts = np.arange(len(unique) + 1) if one_row else tokens.starts
        values = np.zeros((starts[-1], transformer.width), dtype=np.float32)
        settings = [transformer.digest, self.max_length, transformer.dtype, kind]
        opened = nullcontext() if self.cache is None else EncodingCache(self.cache, settings)
        shown = {"desc": "encode", "unit": "text", "disable": not self.verbose}
        with opened as cache, tqdm(total=int(has_tokens.sum()), **shown) as bar:
            keys = [] if cache is None else [text_key(text) for text in unique]
            missing = has_tokens
            for row, found in () if cache is None else cache.read(keys):
                place = values[starts[row] : starts[row + 1]]
                if missing[row] and found.size == place.size:
                    place[:] = found.reshape(place.shape)
                    missing[row] = False
                    bar.update()
            todo = np.flatnonzero(missing)
            for batch, rows in transformer.encode(tokens, todo, reduce, self.batch_size):
                ends = np.cumsum(starts[batch + 1] - starts[batch])
                for row, part in zip(batch, np.split(rows, ends[:-1]), strict=True):
                    values[starts[row] : starts[row + 1]] = part
                    if cache is not None:
                        cache.add(keys[row], part)
                bar.update(len(batch))
        return values, tokens, codes


def warn_of_cuts(n_cut: int, n: int, length: int, most: int | None, stacklevel: int) -> None:
    """Warn if ``max_length`` truncated texts, and state the model's maximum."""
    if n_cut:
        limit = "" if most is None else f" (this model takes up to {most})"
        warnings.warn(
            f"max_length={length} cut {n_cut} of {n} texts: their ends were not read; "
            f"raise max_length{limit} or shorten the texts",
            UserWarning,
            stacklevel=stacklevel,
        )


def warn_of_unknown(shares: np.ndarray, stacklevel: int) -> None:
    """Warn of texts with unknown tokens, given their share in each text."""
    n_some, n_all = int((shares > 0).sum()), int((shares == 1).sum())
    if n_some:
        warnings.warn(
            f"{n_some} of {len(shares)} texts have tokens unknown to the model"
            f"{f', {n_all} of them no known token' if n_all else ''}: all unknown tokens "
            "look the same to it, so such texts seem alike whatever they mean; see "
            "unknown_shares, or use a model for their language",
            UserWarning,
            stacklevel=stacklevel,
        )


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


@savable
@dataclass(eq=False, repr=False)
class TokenEncoder(FrozenEncoder):
    """Encode texts as one vector per token with a frozen transformers model.

    Nothing is trained. Tokens include special ones such as [CLS] and [SEP]. Repeated texts are
    encoded once, and batches hold texts of similar length. Padding does not affect results: a text
    alone has the same vectors up to 1e-5 in float32.

    Parameters
    ----------
    model : str or path-like, default=None
        Name of a model on the Hugging Face hub, or a local folder, which needs no network. None is
        the packaged all-MiniLM-L6-v2 (extra ``minilm``). Weights are read from safetensors only;
        the model's own code is never run.
    max_length : int, default=128
        Maximal number of tokens per text, including special tokens. A single warning counts the
        truncated texts.
    batch_size : int, default=None
        A batch has at most ``32 * batch_size`` tokens: about ``batch_size`` short sentences, or
        fewer long ones. None is 512 on a GPU and 32 elsewhere. Batches are halved if the GPU runs
        out of memory.
    device : str, default=None
        Torch device, such as "cpu" or "cuda:1". None is "cuda" if torch sees a GPU, else
        "cpu".
    dtype : {"float32", "float16", "bfloat16"}, default=None
        Precision inside the model. None is float32 on every device, so that results agree
        across devices; half precision is faster on GPUs. Results are always float32.
    cache : str or path-like, default=None
        Your own folder for encodings, stored by model, ``max_length``, ``dtype`` and text. Texts
        in the cache are not encoded again, even after an interrupt. It takes 4 bytes per token and
        dimension.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    n_features_out_ : int
        Width h of the vectors.
    model_digest_ : str
        Digest of the model files. Copies by pickle or deepcopy hold the digest but no weights:
        they read them again on first use, and raise an error if the files have changed.

    See Also
    --------
    SentenceEncoder : One vector per text.

    Notes
    -----
    The model dominates the running time: some hundreds of short sentences per second for MiniLM
    on two cores. The result takes 4 h bytes per token.

    Examples
    --------
    >>> from estimators.encoders import TokenEncoder
    >>> texts = ["How old is Earth?", "Hi"]
    >>> tokens = TokenEncoder().fit_transform(texts)  # doctest: +SKIP
    >>> tokens.lengths, tokens.values.shape  # doctest: +SKIP
    (array([7, 3]), (10, 384))
    """

    model: Any = None
    _: KW_ONLY
    max_length: int = 128
    batch_size: int | None = None
    device: Any = None
    dtype: Any = None
    cache: Any = None
    verbose: int = 0

    def fit(self, texts: Any, y: Any = None) -> TokenEncoder:
        """Load the model; nothing is learned from the texts.

        Parameters
        ----------
        texts : iterable of str
            Checked, not encoded.
        y : object, default=None
            Not used.

        Returns
        -------
        self : TokenEncoder
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, not a string or holds a lone surrogate, a parameter is out of
            range, or the model's files are damaged, unsafe or not supported.
        FileNotFoundError
            If the model or one of its files is missing.
        ImportError
            If torch, transformers or the packaged model is not installed.
        """
        check_texts(texts, encodable=True)
        transformer = self._load()
        self.n_features_out_ = transformer.width
        return self.set_transformer(transformer)

    def transform(self, texts: Any) -> Ragged:
        """Encode texts.

        Parameters
        ----------
        texts : iterable of str
            At least one; a text may be empty.

        Returns
        -------
        tokens : Ragged
            Float32 vectors of the n texts in their order, with vocabulary ids, character spans in
            the original text ((0, 0) for special tokens), and a mask of the special tokens.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, not a string or holds a lone surrogate.
        MemoryError
            If a single text exceeds the memory of the GPU.
        OSError
            If the cache cannot be read or written.
        """
        return self.encode(texts)[0]

    def token_names(self, ids: Any) -> list[str]:
        """Return vocabulary entries as the model spells them.

        Parameters
        ----------
        ids : array-like of int, shape (N,)
            Token ids, for instance from `transform`.

        Returns
        -------
        names : list of str
            Names such as "[CLS]", "earth" and "##ing".
        """
        return self.loaded().tokenizer.convert_ids_to_tokens(np.asarray(ids).tolist())

    def encode(self, texts: Any, *, warns: bool = True) -> tuple[Ragged, np.ndarray]:
        """Encode texts, and return a mask of the texts that ``max_length`` truncated."""
        transformer = self.loaded()
        values, tokens, codes = self._encode(
            transformer,
            check_texts(texts, encodable=True),
            lambda features, mask: features[mask],
            "tokens",
            one_row=False,
            warns=warns,
        )
        found = Ragged(
            values,
            tokens.starts,
            ids=tokens.ids,
            spans=tokens.spans,
            is_special=tokens.is_special,
        )
        return found if len(found) == len(codes) else found[codes], tokens.is_cut[codes]

    def encode_means(self, texts: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Encode texts as the means of their token vectors, including special tokens.

        Parameters
        ----------
        texts : iterable of str
            As in `transform`, but without warnings of truncated texts and unknown tokens.

        Returns
        -------
        vectors : ndarray of float32, shape (n, h)
            As from `SentenceEncoder` with ``pooling="mean"``; both share one cache.
        is_cut : ndarray of bool, shape (n,)
            Texts that ``max_length`` truncated.
        unknown : ndarray of float64, shape (n,)
            Share of unknown tokens in each text.
        """
        transformer = self.loaded()
        values, tokens, codes = self._encode(
            transformer,
            check_texts(texts, encodable=True),
            POOLERS["mean"],
            "mean",
            one_row=True,
            warns=False,
        )
        unknown = transformer.unknown_shares(tokens)
        return values[codes], tokens.is_cut[codes], unknown[codes]

"""Base class of the estimators on a frozen transformers model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from estimators.encoders.encoding_cache import EncodingCache, text_key
from estimators.encoders.model_files import check_folder as check_model
from estimators.encoders.model_files import model_digest
from estimators.encoders.transformer import Tokens, Transformer
from estimators.inputs import check_folder, check_integer, check_verbose, tags_of_texts
from film.threads import FIRST_USE


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

        numbers: dict[str, int] = {}
        codes = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.intp)
        unique = list(numbers)
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

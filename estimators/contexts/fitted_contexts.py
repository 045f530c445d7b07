"""What a fitted model of contexts answers: scores, contexts of a text, their terms and texts."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from estimators.contexts.context_space import STRATEGIES, ContextSpace
from estimators.contexts.parts.fitting import CORPUS
from estimators.contexts.parts.part_folder import (
    ScratchFolder,
    packed_files,
    part_path,
    unpack_files,
)
from estimators.contexts.parts.recipe import weights_of
from estimators.encoders import check_device
from estimators.inputs import check_choice, check_integer, check_texts, tags_of_texts
from film.contexts import combine_terms
from film.threads import FIRST_USE

CONTEXTS_TRIED = 8
"""Candidates per wanted context from which a diverse set is chosen; more where these do not do."""

RANKED_PER_WANTED = 3
"""Contexts that Eq. 3 puts in order per wanted one, so that it has some to choose from."""


class FittedContexts(TransformerMixin, BaseEstimator):
    """Base of `ContextModel`: all but how it learns."""

    folder: Any
    n_contexts: int
    n_retrieved: int
    n_ranked: int | None
    prior: str
    weights: Any
    diverse: bool
    device: Any
    contexts_: np.ndarray
    encoder_: Any
    _parts: dict[str, str]
    _digest: str
    _seed: int
    _sides: int
    _root: str
    _files: dict[str, np.ndarray]

    def transform(self, texts: Any) -> np.ndarray:
        """Score texts in the contexts of ``contexts_`` (Eq. 3).

        Parameters
        ----------
        texts : iterable of str
            At least one; a text may be empty.

        Returns
        -------
        scores : ndarray of float32, shape (n, n_contexts)
            Log-probabilities, weighed and added: at most 0, the greater, the better the text fits.

        Raises
        ------
        TypeError, ValueError
            If a text is missing.
        FileNotFoundError, ValueError
            If files of the model have moved or changed.
        """
        space = self._space()
        different, codes = _unique(check_texts(texts, encodable=True))
        sentences = space.read(different)
        weights = weights_of(self, space.generators != [])
        rows = [self.contexts_] * len(different)
        terms = space.terms(sentences, rows, generates=bool(weights[1:].any()))
        scores = [combine_terms(each, weights) for each in terms]
        return np.asarray(scores, dtype=np.float32)[codes]

    def contexts_of(
        self, texts: Any, n_contexts: Any = None, *, strategy: str = "two-step"
    ) -> list[np.ndarray]:
        """Choose the contexts that each text fits best (C_s, Section 3.3).

        Parameters
        ----------
        texts : iterable of str
            Sentences.
        n_contexts : int, default=None
            Contexts of each; None: the parameter.
        strategy : {"two-step", "discriminator", "random"}, default="two-step"
            "two-step": the discriminator ranks the contexts of retrieved chunks, then all others;
            Eq. 3 puts the first ``n_ranked`` in order. "discriminator": the same, of all chunks.
            "random": drawn by text and seed.

        Returns
        -------
        contexts : list of ndarray of int64
            Rows of centre sentences, the best first. Contexts in which the text itself stands are
            left out. Fewer than wanted where a small corpus has no more that differ.

        Raises
        ------
        TypeError, ValueError
            If a text is missing or a parameter is wrong.

        Warns
        -----
        UserWarning
            Once, with their number, where the corpus has no word of a text, which gets the
            contexts of ``contexts_``.
        """
        space = self._space()
        different, codes = _unique(check_texts(texts, encodable=True))
        size = check_integer("n_contexts", self.n_contexts if n_contexts is None else n_contexts, 1)
        check_choice("strategy", strategy, STRATEGIES)
        sentences = space.read(different)
        own = space.own_places(different)
        weights = weights_of(self, space.generators != [])
        found, unknown = [], []
        n_ranked = RANKED_PER_WANTED * size if self.n_ranked is None else self.n_ranked
        ranked = space.candidates(sentences, strategy, self.n_retrieved, self._seed)
        for number, (first, is_known) in enumerate(ranked):
            head = np.empty(0, dtype=np.int64)
            if not is_known:
                unknown.append(different[number])
                first = partial(_first_of, space.place(self.contexts_))
            elif strategy != "random" and weights[1:].any():
                head = space.by_score(
                    sentences.take([number]), first(n_ranked), own[number], weights
                )
            tried = max(CONTEXTS_TRIED * size, n_ranked)
            while True:
                candidates = first(tried)
                rest = candidates[~np.isin(candidates, head)]
                chosen = space.select(np.r_[head, rest], size, own[number], self.diverse)
                if len(chosen) == size or len(candidates) < tried:
                    break
                tried *= 4
            found.append(space.centres[chosen])
        if unknown:
            warnings.warn(
                f"the corpus has no word of {len(unknown)} of {len(different)} texts, such as "
                f"{unknown[0][:60]!r}: they get contexts of the fixed set, which say little of "
                "them; fit on documents of their language and subject",
                UserWarning,
                stacklevel=2,
            )
        return [found[code].copy() for code in codes]

    def terms(self, texts: Any, contexts: Any) -> Any:
        """Give the terms of Eq. 3 of texts in contexts, before they are weighed.

        Parameters
        ----------
        texts : iterable of str
            Sentences.
        contexts : array-like of int, shape (n_contexts,), or list of n such
            Contexts of all texts, or of each.

        Returns
        -------
        terms : ndarray of float32, shape (n, n_contexts, 4), or list of (n_contexts_i, 4)
            log p(y = 1 | s, c) by the parameter ``prior``, and the mean
            log-probabilities per token of the sentence, of its left and of its right; 0 for terms
            that the model does not have, and for all of generators where ``weights`` give them
            none. A list where texts have different numbers of contexts.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, or a row is no context.
        """
        space = self._space()
        texts = check_texts(texts, encodable=True)
        rows = _checked_contexts(contexts, len(texts))
        different, codes = _unique(texts)
        sentences = space.read(different).take(codes)
        weights = weights_of(self, space.generators != [])
        found = space.terms(sentences, rows, generates=bool(weights[1:].any()))
        same = len({len(each) for each in rows}) == 1
        return np.stack(found) if same else found

    def levels(self, texts: Any) -> np.ndarray:
        """Give how well each text fits any context: its mean first term over ``contexts_``.

        Parameters
        ----------
        texts : iterable of str
            Sentences.

        Returns
        -------
        levels : ndarray of float32, shape (n,)
            Means of log p(y = 1 | s, c).

        Raises
        ------
        TypeError, ValueError
            If a text is missing.
        """
        space = self._space()
        different, codes = _unique(check_texts(texts, encodable=True))
        return space.levels(space.read(different), self.contexts_)[codes]

    def reference_terms(self, contexts: Any) -> np.ndarray:
        """Give how much better sentences of the corpus fit some contexts than any.

        Parameters
        ----------
        contexts : array-like of int, shape (n_contexts,)
            Rows of centre sentences.

        Returns
        -------
        terms : ndarray of float32, shape (R, n_contexts)
            log p(y = 1 | s, c) less the level of s, of R = 500 sentences, or as many as there are,
            always the same: what `film.contexts.whiten_scores` compares contexts by.

        Raises
        ------
        ValueError
            If a row is no context.
        """
        space = self._space()
        (rows,) = _checked_contexts(contexts, 1)
        with FIRST_USE:
            if not hasattr(self, "_reference_levels") or self._reference_levels[0] is not space:
                self._reference_levels = space, space.levels(space.reference, self.contexts_)
            levels = self._reference_levels[1]
        return space.reference_terms(space.place(rows)) - levels[:, np.newaxis]

    def context_texts(self, rows: Any) -> list[tuple[str, str]]:
        """Give the sentences of contexts.

        Parameters
        ----------
        rows : array-like of int, shape (n,)
            Contexts, by the rows of their centres.

        Returns
        -------
        texts : list of (str, str)
            Left and right of each; several sentences of a side are joined.
        """
        space = self._space()
        rows = space.centres[space.place(rows)]
        sides = np.arange(1, self._sides + 1)
        found = []
        for row in rows:
            left, right = space.corpus.texts(row - sides[::-1]), space.corpus.texts(row + sides)
            found.append((" ".join(left), " ".join(right)))
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Give names of the columns of `transform`: the rows of their contexts.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str objects, shape (n_contexts,)
            Such as "context1234".
        """
        check_is_fitted(self, "contexts_")
        return np.array([f"context{row}" for row in self.contexts_], dtype=object)

    @property
    def corpus_(self) -> Any:
        """Sentences, documents and chunks."""
        return self._space().corpus

    @property
    def vocabulary_(self) -> str:
        """The tokenizer as JSON."""
        return self._space().tokenizer

    @property
    def discriminator_(self) -> Any:
        """The trained network."""
        return self._space().network

    @property
    def generators_(self) -> list[Any]:
        """Generators of sentences, lefts and rights."""
        return self._space().generators

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        left_out = {"_opened", "_scratch", "_reference_levels"}
        state = {name: value for name, value in state.items() if name not in left_out}
        if "_parts" in state and self.folder is None and "_files" not in state:
            # A temporary folder goes with the model, so a copy carries what is in it.
            state["_parts"], state["_files"] = self._packed()
            del state["_root"]
        return state

    def carry_files(self) -> None:
        """Hold the files of ``folder`` in the model itself, which then needs no folder.

        Raises
        ------
        FileNotFoundError
            If the folder is not there.
        """
        check_is_fitted(self, "contexts_")
        if "_files" not in vars(self):
            self._parts, self._files = self._packed()
        self.folder = None
        for name in ("_opened", "_reference_levels", "_root", "_scratch"):
            vars(self).pop(name, None)

    def _packed(self) -> tuple[dict[str, str], dict[str, np.ndarray]]:
        """Names that the parts have in a copy, also a corpus from elsewhere, and their files."""
        names = self._parts | {CORPUS: CORPUS}
        folders = {names[kind]: folder for kind, folder in self._parts.items()}
        return names, packed_files(self._place, folders)

    @property
    def _place(self) -> Path:
        """Folder of the parts; files of a copy are written to a new one when first used."""
        with FIRST_USE:
            if "_files" in vars(self) and "_scratch" not in vars(self):
                scratch = ScratchFolder()
                unpack_files(Path(scratch.name), self._files)
                for name in self._parts.values():
                    part_path(Path(scratch.name), name)
                self._root, self._scratch = scratch.name, scratch
        places = [Path(self._root)]
        if self.folder is not None:
            # A folder that was moved is found by the parameter.
            places.insert(0, Path(self.folder).expanduser().absolute())
        for place in places:
            if part_path(place, self._parts["discriminator"]).is_dir():
                return place
        raise FileNotFoundError(
            f"the folder {places[0]} of this ContextModel is not there or lacks "
            f"{self._parts['discriminator']}; where it was moved, give its place by "
            "set_params(folder=...), else fit again"
        )

    def _space(self) -> ContextSpace:
        check_is_fitted(self, "contexts_")
        with FIRST_USE:
            if "_opened" not in vars(self) or self._opened.prior != self.prior:
                import torch

                self._opened = ContextSpace(
                    self._place,
                    self._parts,
                    digest=self._digest,
                    sides=self._sides,
                    encoder=self.encoder_,
                    device=check_device(torch, self.device),
                    prior=self.prior,
                )
            return self._opened


def _first_of(places: np.ndarray, size: int) -> np.ndarray:
    return places[:size]


def _unique(texts: list[str]) -> tuple[list[str], np.ndarray]:
    """Different texts in order, and the number of each text among them."""
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.intp)
    return list(numbers), codes


def _checked_contexts(contexts: Any, n: int) -> list[np.ndarray]:
    try:
        given = [np.asarray(each) for each in contexts]
    except TypeError:
        raise TypeError(
            f"contexts is {contexts!r}; give rows of contexts, or a list of n such"
        ) from None
    if given and all(each.ndim == 0 for each in given):
        given = [np.asarray(contexts)] * n
    if not all(each.size for each in given) or not given:
        raise ValueError("contexts holds an empty set; give at least one row for each text")
    if len(given) != n or any(each.ndim != 1 or each.dtype.kind not in "iu" for each in given):
        raise ValueError(
            f"contexts must be rows (integers) for all texts, or a list of {n} such, one for each"
        )
    return [each.astype(np.int64) for each in given]

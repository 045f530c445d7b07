"""FILM on the tokens of a frozen transformers model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import TokenEncoder, Transformer
from estimators.inputs import (
    TextIndex,
    check_integer,
    check_pair_labels,
    check_pairs,
    check_real,
    check_seed,
    check_verbose,
    cloned,
    encode_labels,
    tags_of_texts,
)
from estimators.metric.film import FILM
from estimators.persistence import savable
from film.metric import symmetric_root, triplets_from_pairs
from film.tokens import Ragged, token_triplets


@savable
@dataclass(eq=False, repr=False)
class TokenFILM(BaseEstimator):
    """Learn a linear map of token vectors from labelled pairs of texts.

    A token should be closer to its best match in a duplicate text than to its best match in a
    non-duplicate text: FILM on triplets of tokens. The map follows a frozen `TokenEncoder`. Pass
    the `TokenFILM` as ``model`` to `RCMDRegressor` or `TokenMatchingRegressor`; their contributions
    still sum to the similarity.

    Parameters
    ----------
    encoder : TokenEncoder, default=None
        Returns the token vectors; None means ``TokenEncoder()``, the packaged all-MiniLM-L6-v2.
        Special tokens such as [CLS] are learned from and mapped like others. A ``cache`` of the
        encoder stores vectors before the map, so every fit can use it.
    d : int, default=200
        Dimensions of the learned space, at most the width of the vectors.
    margin : float, default=0.05
        Minimum advantage of matches in duplicates, as in `FILM`.
    threshold : float in [0, 1] or None, default=0.8
        Cosine that matches in duplicates should exceed and other matches should not. None compares
        them with each other, as in the paper, with a ``margin`` of about 1. See `FILM`.
    whitening : float in [0, 1], default=0.25
        Exponent α of the coordinates v σ^(1−α), as in `FILM`.
    n_random : int, default=1
        Random texts that are not known duplicates, per anchor text, in addition to labelled
        non-duplicates.
    n_anchors : int, default=5000
        Maximum number of anchor texts, drawn at random.
    max_iter : int, default=50
        Maximum number of rounds, as in `FILM`.
    tol : float, default=1e-2
        Tolerance, as in `FILM`.
    random_state : int, RandomState or None, default=None
        Seeds mining and the draw of anchors.
    verbose : int, default=0
        Above 0, a progress bar.

    Attributes
    ----------
    encoder_ : TokenEncoder
        The fitted encoder.
    components_ : ndarray of shape (d, h)
        L, with rows in order of decreasing weight, scaled to keep the mean squared length of the
        training vectors.
    n_triplets_ : int
        Number of token triplets learned from.
    n_features_out_ : int
        Width of the mapped vectors, d.
    convergence_reason_ : str
        Why fitting stopped, with advice.

    See Also
    --------
    FILM : The same metric for any vectors.
    RCMDRegressor : Transport between tokens.

    Notes
    -----
    Costs the encoding of the anchors' texts and their partners, about five texts per anchor, and
    O(m h d) per round for m tokens of anchors. Memory is about 16 h bytes per token. Vectors are
    scaled to unit length before learning. The defaults were chosen on a question-disjoint fold of
    Quora's training pairs with all-MiniLM-L6-v2, by the AUC of RCMD.

    Examples
    --------
    >>> from estimators import RCMDRegressor, TokenFILM
    >>> pairs = [("How old is Earth?", "What is the age of the Earth?"), ("How old?", "How far?")]
    >>> model = RCMDRegressor(TokenFILM(d=50)).fit(pairs, [1, 0])  # doctest: +SKIP
    >>> model.explain(pairs[:1])[0].top(1)  # doctest: +SKIP
    [('Earth', 'Earth', 0.1...)]
    """

    encoder: Any = None
    _: KW_ONLY
    d: int = 200
    margin: float = 0.05
    threshold: float | None = 0.8
    whitening: float = 0.25
    n_random: int = 1
    n_anchors: int = 5000
    max_iter: int = 50
    tol: float = 1e-2
    random_state: Any = None
    verbose: int = 0

    def fit(self, pairs: Any, y: Any, similar: Any = None) -> TokenFILM:
        """Learn the map.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; order within a pair does not matter.
        y : array-like of shape (n_pairs,)
            Two classes: numbers, the larger for duplicates, or words such as "match" and
            "nonmatch" (see `estimators.inputs.duplicate_class`).
        similar : array-like of str, shape (n_similar, 2), default=None
            More duplicate pairs. If their spelling differs from that of ``pairs`` (case,
            punctuation), normalise both in the same way, or the map learns the spelling.

        Returns
        -------
        self : TokenFILM
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y does not have two classes, a parameter is out of range, or no
            triplet can be mined. Raised before encoding.
        FileNotFoundError, ImportError
            If the encoder's model or a required package is missing.
        """
        encoder, metric, rng = self._checked()
        pairs = check_pairs(pairs, encodable=True, fits=True)
        labels = _labels_of(y, len(pairs))
        if similar is not None:
            pairs = np.vstack([pairs, check_pairs(similar, name="similar", encodable=True)])
            labels = np.append(labels, np.ones(len(pairs) - len(labels), dtype=int))
        texts, triplets = self._mined(pairs, labels, rng)
        tokens, _ = encoder.fit(texts).encode(texts, warns=False)
        # A final row of zeros represents the null text, which has no tokens.
        X = np.vstack([tokens.values, np.zeros_like(tokens.values[:1])])
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(X.dtype).tiny)
        unit = Ragged(X[:-1], np.append(tokens.starts, tokens.starts[-1]))
        found = token_triplets(unit, triplets)
        if not len(found):
            raise ValueError("no text of the pairs has a token; give texts that the model can read")
        metric.set_params(rank=X.shape[1]).fit(X, found)
        L = metric.components_
        mapped = np.square(X @ L.T, dtype=np.float64).sum()
        self.components_ = L * np.float32(np.sqrt(np.square(X, dtype=np.float64).sum() / mapped))
        self.encoder_, self.n_triplets_ = encoder, metric.n_triplets_
        self.n_features_out_ = len(L)
        self.convergence_reason_ = metric.convergence_reason_
        return self

    def transform(self, texts: Any) -> Ragged:
        """Encode texts and map their tokens.

        Parameters
        ----------
        texts : iterable of str
            At least one text; texts may be empty.

        Returns
        -------
        tokens : Ragged
            As `TokenEncoder.transform` returns, with width d.

        Raises
        ------
        TypeError, ValueError, MemoryError, OSError
            As in `TokenEncoder.transform`.
        """
        return self.encode(texts)[0]

    def encode(self, texts: Any, *, warns: bool = True) -> tuple[Ragged, np.ndarray]:
        """Encode texts and map their tokens; also return which texts were truncated."""
        check_is_fitted(self)
        tokens, is_cut = self.encoder_.encode(texts, warns=warns)
        mapped = Ragged(
            tokens.values @ self.components_.T,
            tokens.starts,
            ids=tokens.ids,
            spans=tokens.spans,
            is_special=tokens.is_special,
        )
        return mapped, is_cut

    def token_names(self, ids: Any) -> list[str]:
        """Return vocabulary entries as the model spells them, as in `TokenEncoder`."""
        check_is_fitted(self)
        return self.encoder_.token_names(ids)

    def loaded(self) -> Transformer:
        """Return the frozen model, without the map."""
        check_is_fitted(self)
        return self.encoder_.loaded()

    @property
    def max_length(self) -> int:
        """Maximum number of tokens per text."""
        check_is_fitted(self)
        return self.encoder_.max_length

    def standalone(self) -> TokenEncoder:
        """Return an encoder whose model includes the map as a linear layer, as `RCMDRegressor` has.

        Returns
        -------
        encoder : TokenEncoder
            Fitted. Its vectors have the model's width h, and the lengths and cosines of the vectors
            from `transform`, up to rounding.
        """
        check_is_fitted(self)
        encoder: Any = cloned("encoder", self.encoder_).set_params(cache=None)
        model = encoder.fit(["a text"]).loaded()
        model.add_head()
        arrays, root = model.arrays(), symmetric_root(self.components_)
        for part in ("head.weight", "head.bias"):
            arrays[part] = (root @ arrays[part]).astype(np.float32)
        model.adopt(arrays)
        return encoder.set_transformer(model)

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__(), needs_y=True)

    def _checked(self) -> tuple[TokenEncoder, FILM, np.random.Generator]:
        encoder = TokenEncoder() if self.encoder is None else cloned("encoder", self.encoder)
        if not isinstance(encoder, TokenEncoder):
            raise TypeError(f"encoder={self.encoder!r} must be a TokenEncoder or None")
        check_integer("d", self.d, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_integer("n_anchors", self.n_anchors, 1)
        check_integer("n_random", self.n_random, 0)
        check_real("margin", self.margin, 0)
        check_real("whitening", self.whitening, 0, 1)
        if self.threshold is not None:
            check_real("threshold", self.threshold, 0, 1)
        check_real("tol", self.tol, 0)
        check_verbose(self.verbose)
        seed = int(check_seed(self.random_state).randint(2**31 - 1))
        metric = FILM(
            self.d,
            margin=self.margin,
            threshold=self.threshold,
            whitening=self.whitening,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=seed,
            verbose=self.verbose,
        )
        return encoder, metric, np.random.default_rng(seed)

    def _mined(
        self, pairs: np.ndarray, labels: np.ndarray, rng: np.random.Generator
    ) -> tuple[list[str], np.ndarray]:
        """Return texts of anchors and partners, and triplets; the number after the last is null."""
        index = TextIndex("token_text")
        # Sorted, so that the order within pairs does not matter.
        null = int(index.add(sorted({"", *pairs.flat}))[0])
        codes = index.add_pairs(pairs)
        worded = (codes != null).all(axis=1)
        triplets = triplets_from_pairs(
            codes[worded],
            labels[worded],
            len(index.texts),
            n_random=self.n_random,
            null=null,
            random_state=rng,
        )
        if not labels[worded].any() or not len(triplets):
            raise ValueError(
                f"no triplet can be mined from the {len(pairs)} pairs: they need at least one "
                "duplicate pair and a third text; give more pairs"
            )
        anchors = np.unique(triplets[:, 0])
        if len(anchors) > self.n_anchors:
            anchors = rng.choice(anchors, self.n_anchors, replace=False)
            triplets = triplets[np.isin(triplets[:, 0], anchors)]
        used = np.setdiff1d(triplets, [null])
        local = np.where(triplets == null, len(used), np.searchsorted(used, triplets))
        return [index.texts[code] for code in used], local


def _labels_of(y: Any, n_pairs: int) -> np.ndarray:
    try:
        if y is None:
            raise ValueError("y is None.")
        return encode_labels(check_pair_labels(y, n_pairs))[2]
    except ValueError as error:
        raise ValueError(
            f"y must hold the two classes that TokenFILM learns from: {error} For a regressor of "
            "other scores, fit a TokenFILM on labelled pairs first and pass "
            "FrozenEstimator(token_film) to the regressor."
        ) from error

"""Similarity of texts by matching their contextual tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.inputs import check_bool, check_choice, check_pair_scores, check_pairs
from estimators.persistence import savable
from estimators.tokens.blocks import vocabulary_table
from estimators.tokens.token_regressor import TokenRegressor
from estimators.training import units_of
from film.tokens import MATCHING, Function, Ragged, match, ragged_matching


@savable
class TokenMatchingRegressor(TokenRegressor):
    """Judge pairs by how well, and how uniquely, their tokens match, and explain why.

    A token's score is its best match on the other side, and what that match has over the second
    best: significance and uniqueness, ``2 max - 2nd max`` together. A text's score is the weighted
    mean over its tokens, a pair's the mean of both sides. This is the matching of Wang and Yu,
    "Going beyond sentence embeddings: a token-level matching algorithm" (2023). The model is used
    as it is.

    Parameters
    ----------
    model : str, path-like or TokenFILM, default=None
        Name of a model on the Hugging Face hub or a local folder; None is the packaged
        all-MiniLM-L6-v2 (extra ``minilm``). A `TokenFILM` is cloned, learns from the labelled pairs
        of `fit`, and has an encoder of its own; in a FrozenEstimator it stays as it was fitted.
    matching : {"both", "significance", "uniqueness"}, default="both"
        Score of a token: ``2 max - 2nd max``, ``max``, or ``max - 2nd max``.
    cosine : bool, default=True
        Whether tokens are compared by cosine, or by raw products as in the paper.
    special_tokens : bool, default=True
        Whether tokens such as [CLS] and [SEP] take part.
    weights : {"idf", "words"}, TokenWeights or mapping of str to float, default=None
        Weight of each token. None: all alike. "idf": rare ones more, counted on the texts of
        `fit`. "words": none for tokens without letter or digit. A fitted `TokenWeights`: as it
        learned. A mapping from tokens of the vocabulary, 1 for others.
    max_length, batch_size, device, dtype, cache
        As in `TokenEncoder`.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    encoder_ : TokenEncoder or TokenFILM
        Gives the token vectors.
    slope_, intercept_ : float
        Least squares line from similarity to the y of `fit`; 1 and 0 without y. Fitted on 10,000
        pairs, evenly by y, of more.
    token_weights_ : ndarray of float64, shape (n_vocabulary,), or None
        Weight of each entry of the vocabulary.

    See Also
    --------
    RCMDRegressor : Transport between tokens.
    TokenWeights : Learns weights from a corpus.
    film.tokens.match : The equations.

    Notes
    -----
    Time is that of encoding; matching a pair of 20 tokens takes some 45 µs on one core. Memory and
    texts whose tokens all weigh nothing are as with `RCMDRegressor`.

    Examples
    --------
    >>> from estimators import TokenMatchingRegressor
    >>> pairs = [("A man plays a guitar.", "Someone is playing guitar."), ("Hi", "Bye")]
    >>> model = TokenMatchingRegressor().fit(pairs, [4.5, 1.0])  # doctest: +SKIP
    >>> model.predict(pairs)  # doctest: +SKIP
    array([4.5, 1. ])
    """

    def __init__(
        self,
        model: Any = None,
        *,
        matching: Function = "both",
        cosine: bool = True,
        special_tokens: bool = True,
        weights: Any = None,
        max_length: int = 128,
        batch_size: int | None = None,
        device: Any = None,
        dtype: Any = None,
        cache: Any = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.matching: Function = matching
        self.cosine = cosine
        self.special_tokens = special_tokens
        self.weights = weights
        self.max_length = max_length
        self.batch_size = batch_size
        self.device = device
        self.dtype = dtype
        self.cache = cache
        self.verbose = verbose

    def fit(self, pairs: Any, y: Any = None) -> TokenMatchingRegressor:
        """Load the model, count words where the weights ask for it, and learn the units of y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; their order does not matter.
        y : array-like of float, shape (n_pairs,), default=None
            Similarity of each pair in any unit, or labels 0 and 1. None: `predict` gives
            `similarity`, and no pair is encoded here.

        Returns
        -------
        self : TokenMatchingRegressor
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y does not fit the pairs, holds NaN or is constant, or a parameter
            is wrong; before any work.
        FileNotFoundError, ImportError
            If the model, or a package for it, is not there.
        """
        pairs = check_pairs(pairs, encodable=True, fits=True)
        y = None if y is None else check_pair_scores(y, len(pairs))
        self._check_parameters()
        encoder = self._fitted_encoder(pairs, y)
        table = vocabulary_table(encoder, self.weights, pairs)
        shown, fit_line = units_of("regression", (pairs, y), None)
        line = (1.0, 0.0) if shown is None else fit_line(self._scores(encoder, table, shown))
        self.encoder_, self.token_weights_ = encoder, table
        self.slope_, self.intercept_ = line
        return self

    @property
    def _title(self) -> str:
        return "token matching"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("matching", self.matching, MATCHING)
        check_bool("cosine", self.cosine)

    def _similarities(self, tokens: Ragged, weights: Any, codes: Any, advance: Any) -> np.ndarray:
        return ragged_matching(
            tokens,
            tokens,
            self.matching,
            weights,
            weights,
            self.cosine,
            pairs=codes,
            advance=advance,
        )

    def _contributions(self, x1: Any, w1: Any, x2: Any, w2: Any) -> tuple[Any, np.ndarray]:
        found = match(x1, x2, self.matching, w1, w2, self.cosine)
        return found.similarity, found.contributions

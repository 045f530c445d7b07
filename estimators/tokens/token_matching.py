"""Text similarity by matching contextual tokens."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from estimators.inputs import check_bool, check_choice, check_pair_scores, check_pairs
from estimators.persistence import savable
from estimators.tokens.token_regressor import TokenRegressor, vocabulary_table
from estimators.training import units_of
from film.tokens import MATCHING, Function, Ragged, match, ragged_matching


@savable
@dataclass(eq=False, repr=False)
class TokenMatchingRegressor(TokenRegressor):
    """Predict the similarity of pairs by how well and how uniquely tokens match, with explanations.

    The score of a token combines its best match on the other side (significance) and the margin of
    that match over the second best (uniqueness), ``2 max - 2nd max`` together. The score of a text
    is the weighted mean over its tokens, that of a pair the mean of both sides. This is the
    matching of Wang and Yu, "Going beyond sentence embeddings: a token-level matching algorithm"
    (2023). The model is not trained.

    Parameters
    ----------
    model : str, path-like or TokenFILM, default=None
        Name of a model on the Hugging Face hub or a local folder; None is the packaged
        all-MiniLM-L6-v2 (extra ``minilm``). A `TokenFILM` is cloned, fitted on the labelled pairs
        of `fit`, and has its own encoder; in a FrozenEstimator it stays as fitted.
    matching : {"both", "significance", "uniqueness"}, default="both"
        Score of a token: ``2 max - 2nd max``, ``max``, or ``max - 2nd max``.
    cosine : bool, default=True
        Whether to compare tokens by cosine or, as in the paper, by dot product.
    special_tokens : bool, default=True
        Whether tokens such as [CLS] and [SEP] are included.
    weights : {"idf", "words"}, TokenWeights or mapping of str to float, default=None
        Token weights. None: equal. "idf": more for rare tokens, counted on the texts of `fit`.
        "words": 0 for tokens without a letter or digit. A fitted `TokenWeights`: its learned
        weights. A mapping from vocabulary tokens; others have weight 1.
    max_length, batch_size, device, dtype, cache
        As in `TokenEncoder`.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    encoder_ : TokenEncoder or TokenFILM
        The encoder of tokens.
    slope_, intercept_ : float
        Least-squares line from similarity to the y of `fit`; 1 and 0 without y. Fitted on at most
        10,000 pairs, spread evenly over y.
    token_weights_ : ndarray of float64, shape (n_vocabulary,), or None
        Weight of each vocabulary entry.

    See Also
    --------
    RCMDRegressor : Transport between tokens.
    TokenWeights : Learns weights from a corpus.
    film.tokens.match : The equations.

    Notes
    -----
    Encoding takes most of the time; matching a pair of 20 tokens takes about 45 µs on one core.
    Memory use and texts whose tokens all have weight 0 are handled as in `RCMDRegressor`.

    Examples
    --------
    >>> from estimators import TokenMatchingRegressor
    >>> pairs = [("A man plays a guitar.", "Someone is playing guitar."), ("Hi", "Bye")]
    >>> model = TokenMatchingRegressor().fit(pairs, [4.5, 1.0])  # doctest: +SKIP
    >>> model.predict(pairs)  # doctest: +SKIP
    array([4.5, 1. ])
    """

    model: Any = None
    _: KW_ONLY
    matching: Function = "both"
    cosine: bool = True
    special_tokens: bool = True
    weights: Any = None
    max_length: int = 128
    batch_size: int | None = None
    device: Any = None
    dtype: Any = None
    cache: Any = None
    verbose: int = 0

    def fit(self, pairs: Any, y: Any = None) -> TokenMatchingRegressor:
        """Load the model, count tokens if the weights need it, and fit the line to y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; their order does not matter.
        y : array-like of float, shape (n_pairs,), default=None
            Similarity of each pair in any unit, or labels 0 and 1. If None, `predict` returns
            `similarity`, and `fit` encodes no pairs.

        Returns
        -------
        self : TokenMatchingRegressor
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y does not fit the pairs, contains NaN or is constant, or a
            parameter is wrong. Raised before encoding.
        FileNotFoundError, ImportError
            If the model or a required package is missing.
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

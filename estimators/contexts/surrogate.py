"""A Siamese encoder that learns similarities from scores, relations or triplets."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import TokenEncoder, warn_of_cuts, warn_of_unknown
from estimators.persistence import savable
from estimators.tokens import TokenRegressor, check_tokens, coded_blocks
from estimators.training import (
    OBJECTIVES,
    as_cosines,
    check_eval_set,
    check_range,
    check_rows,
    check_targets,
    check_training_parameters,
    finished,
    load,
    read_regressor,
    set_fitted,
    train,
    units_of,
    write_regressor,
)
from film.pairs import row_cosines
from film.tokens import transport_plan

TEXTS_AT_ONCE = 65_536
"""Different texts whose vectors are in memory at once: 100 MB at width 384."""
PAIRS_AT_ONCE = 8192


@savable
@dataclass(eq=False, repr=False)
class SurrogateRegressor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TokenRegressor):
    """Learn one vector per text whose cosines are similarities, and explain them by tokens.

    The same transformers model encodes each text on its own. The text's vector is the mean of its
    token vectors, including special tokens. This is the surrogate of Sun et al., "Sentence
    Similarity Based on Contexts" (2022, Section 3.4), which learns the scores of a slower model,
    and the network of Reimers and Gurevych, "Sentence-BERT" (2019), with its other objectives.

    Parameters
    ----------
    model : str or path-like, default=None
        Name of a model on the Hugging Face hub, or a local folder, such as one from
        `make_encoder` or `save`; None is the packaged all-MiniLM-L6-v2 (extra ``minilm``).
    objective : {"l2", "regression", "binary", "contrastive", "nli", "triplet"}, default="l2"
        What to learn. "l2": cosines, by squared error. "regression": the order of scores in any
        unit; large differences count more. "binary": two labels. "contrastive": rows of two or
        three columns, as in `RCMDRegressor`. "nli": whether the first text of a pair entails the
        second, contradicts it, or neither, with a linear layer on both vectors and their absolute
        difference, which is dropped after training. "triplet": rows of three columns; the cosine of
        the first and second text should exceed that of the first and third by 0.2.
    score_range : tuple of (float, float), default=None
        For "l2": values of y that mean the cosines 0 and 1, such as (0, 5) for STS. None: y
        contains cosines, from -1 to 1.
    epochs : float, default=1
        Passes over the training rows. 0: no training.
    learning_rate : float, default=5e-5
        Initial learning rate; it falls linearly to 0.
    train_batch_size : int, default=64
        Rows per batch.
    train_max_length : int, default=64
        Maximum number of tokens per text in training.
    random_state : int, RandomState or None, default=None
        As in `RCMDRegressor`.
    max_length, batch_size, device, dtype, cache
        As in `TokenEncoder`. Training uses float32 weights. The cache stores vectors of texts.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    encoder_ : TokenEncoder
        Encoder of the tokens.
    slope_, intercept_ : float
        Least squares line from similarity to y, or to log-odds for labels; 1 and 0 without y and
        for "nli". Fitted on ``eval_set`` if it has y. Of more than 10,000 rows, 10,000 are used,
        evenly by y.
    classes_ : ndarray of shape (2,)
        For "binary", the label of non-duplicates and the label of duplicates; `predict` returns the
        probability of the second.
    token_weights_ : None
        All tokens have equal weights.
    loss_curve_ : list of float
        Loss of each step.
    scores_ : list of (int, float)
        Steps and score of each evaluation, every 250 steps.

    See Also
    --------
    CrossEncoderRegressor : Reads both texts at once; slower, and often better.
    RCMDRegressor : Compares tokens instead of their means.
    make_encoder : A random model of given size, to train from scratch.

    Notes
    -----
    Each different text is encoded once, so n² similarities of n texts cost n encodings. Batches
    contain texts of similar length. `explain` divides the cosine of means among pairs of tokens:
    the share of tokens x_i and y_j is their inner product, divided by the numbers of tokens and
    the norms of the means. All shares sum to the cosine.

    ``SentenceEncoder(folder)`` with the saved folder returns the vectors of `transform`.

    Examples
    --------
    >>> from estimators import SurrogateRegressor
    >>> pairs = [("A man plays a guitar.", "Someone is playing guitar."), ("Hi", "Bye")]
    >>> model = SurrogateRegressor(score_range=(0, 5)).fit(pairs, [4.5, 1.0])  # doctest: +SKIP
    >>> model.transform(["A man plays a guitar."]).shape  # doctest: +SKIP
    (1, 384)
    """

    plan = "avg"
    special_tokens = True
    weights = None
    # Settings of training that the loop reads.
    temperature, margin = 0.05, 0.2
    micro_batch_size, eval_steps = None, 250

    model: Any = None
    _: KW_ONLY
    objective: str = "l2"
    score_range: Any = None
    epochs: float = 1
    learning_rate: float = 5e-5
    train_batch_size: int = 64
    train_max_length: int = 64
    random_state: Any = None
    max_length: int = 128
    batch_size: int | None = None
    device: Any = None
    dtype: Any = None
    cache: Any = None
    verbose: int = 0

    def fit(self, pairs: Any, y: Any = None, *, eval_set: Any = None) -> SurrogateRegressor:
        """Load the model, train it if ``epochs`` is above 0, and learn the units of y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_rows, 2) or (n_rows, 3)
            Texts; three columns for "triplet", and two or three for "contrastive".
        y : array-like, shape (n_rows,), default=None
            Scores; two labels for "binary"; for "nli" 0, 1, 2 or "entailment", "neutral",
            "contradiction". None for "contrastive" and "triplet", and without training.
        eval_set : tuple of (rows, y), default=None
            Rows and y for `score`, by which the best weights are chosen. With scikit-learn's
            metadata routing: ``set_fit_request(eval_set=True)``.

        Returns
        -------
        self : SurrogateRegressor
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y does not fit the rows and ``objective``, is constant, or for
            "l2" is out of range, two texts of a triplet are identical, or a parameter is invalid;
            raised before any work.
        FileNotFoundError, ImportError
            If the model, or a package for it, is missing.
        MemoryError
            If the GPU has too little memory.

        Warns
        -----
        UserWarning
            If Ctrl-C stopped the training; the best model so far is kept.
        """
        self._check_parameters()
        rows = check_rows(pairs, self.objective, trains=self.epochs > 0)
        targets = check_targets(y, rows, self.objective, trains=self.epochs > 0)
        learned = targets
        if self.epochs and self.objective == "l2":
            learned = as_cosines(np.asarray(targets), self.score_range)
        held = check_eval_set(eval_set, self.objective)
        encoder = self._encoder()
        if self.epochs:
            encoder.set_params(dtype="float32", cache=None)
        encoder.fit(rows[0])
        # Results of a failing fit must not mix with those of an earlier fit.
        run = None
        if self.epochs:
            check_tokens(encoder, rows, special_tokens=True)
            run = train(
                self,
                encoder.loaded(),
                rows,
                learned,
                weigh=None,
                evaluate=None if held is None else lambda: self._judged(encoder, None, *held),
                with_head=False,
            )
            encoder.set_transformer(run.transformer).set_params(dtype=self.dtype, cache=self.cache)
        shown, fit_line = units_of(self.objective, (rows, targets), held)
        line = (1.0, 0.0) if shown is None else fit_line(self._scores(encoder, None, shown))
        return finished(self, y, line, run, encoder_=encoder, token_weights_=None)

    def transform(self, texts: Any) -> np.ndarray:
        """Encode texts as one vector each, whose cosines are similarities.

        Parameters
        ----------
        texts : iterable of str
            At least one; a text may be empty.

        Returns
        -------
        vectors : ndarray of float32, shape (n, h)
            In the order of the texts, not normalised. Texts of similar length are encoded together;
            a single text has the same vector, to 1e-5.

        Raises
        ------
        TypeError, ValueError
            If a text is missing or not a str.

        Warns
        -----
        UserWarning
            As in `similarity`.
        """
        check_is_fitted(self, "encoder_")
        vectors, is_cut, unknown = self.encoder_.encode_means(texts)
        self._warn(self.encoder_, int(is_cut.sum()), unknown)
        return vectors

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a new folder, as safetensors and JSON without code.

        The folder is also a transformers model: `SentenceEncoder` and `AutoModel` can read it.

        Parameters
        ----------
        path : str or path-like
            A folder that does not exist or is empty.

        Raises
        ------
        FileExistsError, ValueError, OSError
            As in `RCMDRegressor.save`.
        """
        check_is_fitted(self, "encoder_")
        write_regressor(path, self)

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str], **params: Any) -> Self:
        """Load a fitted model that `save` wrote.

        Parameters
        ----------
        name : str or path-like
            Local folder, or name of a repository on the Hugging Face hub.
        **params
            Parameters to change, such as ``device`` or ``cache``.

        Returns
        -------
        model : SurrogateRegressor
            Fitted. Its ``model`` is the folder, so another `fit` continues from its weights.

        Raises
        ------
        FileNotFoundError, ValueError, TypeError
            As in `RCMDRegressor.from_pretrained`.
        """
        model, fitted = read_regressor(cls, name, params)
        model._check_parameters()
        encoder = model._encoder().fit(["a text"])
        return set_fitted(model, fitted, encoder_=encoder, token_weights_=None)

    load = classmethod(load)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Refused: `fit` takes pairs of texts, and `transform` single ones."""
        raise TypeError("fit_transform: call fit with pairs of texts, then transform with texts")

    @property
    def _n_features_out(self) -> int:
        return self.encoder_.loaded().width

    @property
    def _title(self) -> str:
        return "cosine of means"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training_parameters(self, tuple(OBJECTIVES))
        check_range(self.score_range)

    def _scores(self, encoder: TokenEncoder, table: Any, pairs: np.ndarray) -> np.ndarray:
        """Cosines of vectors, which need no tokens to be held."""
        from tqdm.auto import tqdm

        found, unknown, n_cut = [], [], 0
        with tqdm(total=len(pairs), desc=type(self).__name__, disable=not self.verbose) as bar:
            for texts, codes in coded_blocks(pairs, TEXTS_AT_ONCE):
                vectors, is_cut, shares = encoder.encode_means(texts)
                for rows in np.split(codes, range(PAIRS_AT_ONCE, len(codes), PAIRS_AT_ONCE)):
                    found.append(row_cosines(*(vectors[side] for side in rows.T)))
                unknown.append(shares[codes].ravel())
                n_cut += int(is_cut[codes].sum())
                bar.update(len(codes))
        self._warn(encoder, n_cut, np.concatenate(unknown))
        return np.concatenate(found)

    def _warn(self, encoder: TokenEncoder, n_cut: int, unknown: np.ndarray) -> None:
        most = encoder.loaded().most_tokens
        warn_of_cuts(n_cut, len(unknown), encoder.max_length, most, stacklevel=5)
        warn_of_unknown(unknown, stacklevel=5)

    def _contributions(self, x1: Any, w1: Any, x2: Any, w2: Any) -> tuple[Any, np.ndarray]:
        found = transport_plan(x1, x2, "avg", weights1=w1, weights2=w2)
        return found.similarity, found.contributions

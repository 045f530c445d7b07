"""Cross-encoder: a transformer that reads both texts of a pair together and scores the pair."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import (
    PAIR_HEAD,
    TokenEncoder,
    Transformer,
    find_model,
    read_arrays,
)
from estimators.inputs import check_pairs, check_verbose, tags_of_texts
from estimators.persistence import savable
from estimators.training.loop import train_pairs
from estimators.training.saving import (
    finished,
    load,
    read_regressor,
    set_fitted,
    write_regressor,
)
from estimators.training.settings import check_training_parameters
from estimators.training.targets import (
    check_eval_set,
    check_judged,
    check_rows,
    check_targets,
    rank_correlation,
    units_of,
)

PAIRS_AT_ONCE = 8192
"""Number of pairs whose tokens, in both orders, are held at once."""


def read_pair_head(path: Path, width: int) -> dict[str, np.ndarray]:
    """Read the weights of a `ScoringHead`; raise an error if they are damaged or do not fit."""
    expected = {
        "dense.weight": (width, width),
        "dense.bias": (width,),
        "score.weight": (1, width),
        "score.bias": (1,),
    }
    found = read_arrays(path)
    shapes = {name: value.shape for name, value in found.items()}
    if shapes != expected:
        raise ValueError(f"{path} does not score vectors of width {width}, but {shapes}")
    return found


def load_with_head(
    encoder: TokenEncoder, texts: Any, *, needs_head: bool
) -> dict[str, np.ndarray] | None:
    """Load an encoder's model, and return its scoring network if the folder has one.

    Raises ValueError if the tokenizer has no first token for pairs, or if ``needs_head`` and there
    is no network.
    """
    transformer = encoder.fit(texts).loaded()
    transformer.check_max_length(encoder.max_length, pair=True)
    if not transformer.puts_special_token_first():
        raise ValueError(
            f"model={encoder.model!r} has a tokenizer without a first token for the pair, such as "
            "[CLS]; use another model"
        )
    path = find_model(encoder.model) / PAIR_HEAD
    if path.is_file():
        return read_pair_head(path, transformer.width)
    if needs_head:
        raise ValueError(
            f"model={encoder.model!r} has no network that scores pairs ({PAIR_HEAD}); set "
            "epochs above 0 to train one, or give a folder written by CrossEncoderRegressor.save"
        )
    return None


def head_arrays(head: Any) -> dict[str, np.ndarray]:
    """Return copies of the weights of a `ScoringHead`."""
    return {name: value.cpu().numpy().copy() for name, value in head.state_dict().items()}


def score_pairs(
    transformer: Transformer,
    head: Any,
    pairs: np.ndarray,
    *,
    max_length: int,
    batch_size: int | None,
    advance: Callable[[float], Any],
) -> tuple[np.ndarray, int]:
    """Score pairs, averaged over both orders.

    Parameters
    ----------
    transformer : Transformer
        The model.
    head : ScoringHead or dict of ndarray
        Network that scores the first token, in evaluation mode on the model's device; or its
        weights.
    pairs : ndarray of str, shape (n, 2)
        Texts.
    max_length : int
        As in `Transformer.tokenize_pairs`.
    batch_size : int or None
        As in `Transformer.encode`.
    advance : callable
        Called with the number of finished pairs.

    Returns
    -------
    scores : ndarray of float64, shape (n,)
        Mean over both orders, hence symmetric.
    n_cut : int
        Number of pairs with a text truncated by ``max_length``.
    """
    if isinstance(head, dict):
        head = _head(head, transformer.device)
    found, n_cut = np.empty(len(pairs)), 0
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        block = pairs[start : start + PAIRS_AT_ONCE]
        first, second = block[:, 0].tolist(), block[:, 1].tolist()
        tokens = transformer.tokenize_pairs(first + second, second + first, max_length)
        n_cut += int(tokens.is_cut[: len(block)].sum())
        scores = np.empty(2 * len(block))

        def reduced(features: Any, mask: Any) -> Any:
            return head(features[:, 0])

        rows = np.arange(len(scores))
        for batch, values in transformer.encode(tokens, rows, reduced, batch_size):
            scores[batch] = values
            advance(len(batch) / 2)
        found[start : start + len(block)] = (scores[: len(block)] + scores[len(block) :]) / 2
    return found, n_cut


def _head(arrays: dict[str, np.ndarray], device: str) -> Any:
    import torch

    from film.networks import ScoringHead

    # The random initial weights are never used and must not change the caller's random state.
    with torch.random.fork_rng(devices=[]):
        head = ScoringHead(len(arrays["dense.bias"]))
    head.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    return head.to(device).requires_grad_(False).eval()


OBJECTIVES = ("regression", "binary")
Head = dict[str, np.ndarray]


@savable
@dataclass(eq=False, repr=False)
class CrossEncoderRegressor(RegressorMixin, BaseEstimator):
    """Predict the similarity of pairs with a transformers model that reads both texts together.

    The model's tokenizer joins the texts as "[CLS] s1 [SEP] s2 [SEP]", and a small network scores
    the vector of [CLS]: the BERT-style model of Sun et al., "Sentence Similarity Based on Contexts"
    (2022, Section 5.6). Every layer sees both texts, which predicts better than comparing text
    vectors but has to run for every pair. The score of a pair is the mean over both orders.

    Parameters
    ----------
    model : str or path-like, default=None
        Name of a model on the Hugging Face hub or a local folder, for example from `make_encoder`
        or `save`; None is the packaged all-MiniLM-L6-v2 (extra ``minilm``).
    objective : {"regression", "binary"}, default="regression"
        Training data. "regression": scores of pairs in any unit, by squared error. "binary": two
        labels of pairs, by cross-entropy.
    epochs : float, default=1
        Training passes over the rows. Each pass reads each pair in one order, drawn at random, and
        the next pass in the other order. 0 uses a model written by `save` as it is.
    learning_rate : float, default=5e-5
        Initial learning rate; it falls linearly to 0.
    train_batch_size : int, default=32
        Rows per batch.
    train_max_length : int, default=128
        Maximum number of tokens of both texts of a pair in training.
    micro_batch_size, eval_steps, random_state
        As in `RCMDRegressor`, with pairs encoded instead of texts.
    max_length : int, default=256
        Maximum number of tokens of both texts of a pair; the longer text is truncated, with one
        warning that counts the pairs.
    batch_size, device, dtype
        As in `TokenEncoder`. Training uses float32 weights.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    encoder_ : TokenEncoder
        The encoder.
    head_ : dict of ndarray
        Weights of the network that scores [CLS].
    slope_, intercept_ : float
        Line from similarity to y, by least squares, or to log-odds for labels. Fitted on
        ``eval_set`` if given, else on the rows of `fit`; on at most 10,000 rows, spread evenly
        over y.
    classes_ : ndarray of shape (2,)
        For "binary": the labels of other pairs and of duplicates; `predict` returns the probability
        of duplicates.
    loss_curve_ : list of float
        Loss of each step.
    scores_ : list of (int, float)
        Step and score of each evaluation.

    See Also
    --------
    SurrogateRegressor : One vector per text, which can be stored.

    Notes
    -----
    Every pair costs two encodings of both texts, so that the order of a pair does not matter. A
    `SurrogateRegressor` encodes each distinct text once, at half the length. Pairs are processed in
    blocks of 8192, sorted by length. Training costs one order per row and epoch.

    Examples
    --------
    >>> from estimators import CrossEncoderRegressor
    >>> pairs = [("A man plays a guitar.", "Someone is playing guitar."), ("Hi", "Bye")]
    >>> model = CrossEncoderRegressor(epochs=4).fit(pairs, [4.5, 1.0])  # doctest: +SKIP
    >>> model.predict(pairs)  # doctest: +SKIP
    array([4.5, 1. ])
    """

    # Required by the training loop.
    plan = "cls"
    temperature = 1.0
    special_tokens = True
    encoder_: TokenEncoder = field(init=False)
    head_: Head = field(init=False)
    slope_: float = field(init=False)
    intercept_: float = field(init=False)

    model: Any = None
    _: KW_ONLY
    objective: str = "regression"
    epochs: float = 1
    learning_rate: float = 5e-5
    train_batch_size: int = 32
    train_max_length: int = 128
    micro_batch_size: Any = None
    eval_steps: int = 250
    random_state: Any = None
    max_length: int = 256
    batch_size: int | None = None
    device: Any = None
    dtype: Any = None
    verbose: int = 0

    def fit(self, pairs: Any, y: Any = None, *, eval_set: Any = None) -> CrossEncoderRegressor:
        """Load the model, train it if ``epochs`` is above 0, and fit the line to y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : array-like, shape (n_pairs,), default=None
            Scores in any unit, or two labels for "binary". None to use the model untrained with
            `predict` returning `similarity`.
        eval_set : tuple of (pairs, y), default=None
            Pairs and y for `score`, to select the best weights.

        Returns
        -------
        self : CrossEncoderRegressor
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y does not fit the pairs and ``objective`` or is constant,
            a parameter is wrong, or the model
            is untrained and has no scoring network. Raised before training.
        FileNotFoundError, ImportError
            If the model or a required package is missing.
        MemoryError
            If GPU memory is too small.

        Warns
        -----
        UserWarning
            If pairs are truncated, or Ctrl-C stops the training; the best model so far is kept.
        """
        self._check_parameters()
        rows = check_rows(pairs, self.objective)
        targets = check_targets(y, rows, self.objective, trains=self.epochs > 0)
        held = check_eval_set(eval_set, self.objective)
        encoder = self._encoder()
        if self.epochs:
            encoder.set_params(dtype="float32")
        head = load_with_head(encoder, rows[0], needs_head=not self.epochs)
        run = None
        if self.epochs:
            transformer = encoder.loaded()

            def evaluate(head: Any) -> float:
                assert held is not None
                return rank_correlation(self._outputs(transformer, head, held[0])[0], held[1])

            run = train_pairs(
                self, transformer, rows, np.asarray(targets), head=head,
                evaluate=None if held is None else evaluate,
            )  # fmt: skip
            encoder.set_transformer(run.transformer).set_params(dtype=self.dtype)
            head = head_arrays(run.objective.module)
        assert head is not None
        shown, fit_line = units_of(self.objective, (rows, targets), held)
        line = (1.0, 0.0) if shown is None else fit_line(self._scores(encoder, head, shown))
        return finished(self, y, line, run, encoder_=encoder, head_=head)

    def similarity(self, pairs: Any) -> np.ndarray:
        """Return the similarity of pairs, the mean over both orders.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Any number of pairs; they are processed in blocks.

        Returns
        -------
        similarity : ndarray of float64, shape (n_pairs,)
            Higher is more similar: y in standard deviations from its mean, or log-odds of a
            duplicate.

        Raises
        ------
        TypeError, ValueError
            If a text is missing. Raised before encoding.

        Warns
        -----
        UserWarning
            Once, with the number of truncated pairs.
        """
        check_is_fitted(self, "encoder_")
        return self._scores(self.encoder_, self.head_, check_pairs(pairs, encodable=True))

    def predict(self, pairs: Any) -> np.ndarray:
        """Predict the similarity in the units of y, or the probability of a duplicate.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        predicted : ndarray of float64, shape (n_pairs,)
            ``intercept_ + slope_ * similarity(pairs)``, or the probability of these log-odds.
        """
        check_is_fitted(self, "encoder_")
        pairs = check_pairs(pairs, encodable=True)
        predicted = self.intercept_ + self.slope_ * self._scores(self.encoder_, self.head_, pairs)
        return expit(predicted) if hasattr(self, "classes_") else predicted

    def score(self, pairs: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return Spearman's rank correlation of `predict` and y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : array-like, shape (n_pairs,)
            Similarities in any unit, or labels.
        sample_weight : None
            Not supported, because ranks have no weights; raises ValueError.

        Returns
        -------
        score : float
            From -1 to 1.
        """
        check_is_fitted(self, "encoder_")
        if sample_weight is not None:
            raise ValueError("sample_weight has no meaning for a rank correlation; leave it out")
        rows, targets = check_judged("pairs", pairs, y, self.objective)
        return rank_correlation(self.predict(rows), targets)

    def explain(self, pairs: Any) -> list[Any]:
        """Explain similarities by leaving out words.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        explanations : list of Explanation
            One per pair; contributions sum to `similarity`. The contribution of a word is the loss
            without it (`film.pairs.left_out_contributions`); the special token gets the rest. Texts
            of t1 and t2 words cost t1 + t2 + min(t1, 12) · min(t2, 12) more scorings.
        """
        from estimators.training.left_out import explain_left_out

        check_is_fitted(self, "encoder_")
        checked = check_pairs(pairs, encodable=True)
        scores, read = self._scores(self.encoder_, self.head_, checked), self.encoder_.loaded()
        return explain_left_out(
            lambda rows: self._outputs(read, self.head_, rows)[0], checked, scores
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a new folder as safetensors and JSON.

        ``path`` and errors are as in `RCMDRegressor.save`.
        """
        check_is_fitted(self, "encoder_")
        from safetensors.numpy import save_file

        write_regressor(path, self, lambda folder: save_file(self.head_, folder / PAIR_HEAD))

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str], **params: Any) -> Self:
        """Load a fitted model written by `save`; see `RCMDRegressor`."""
        model, fitted = read_regressor(cls, name, params)
        model._check_parameters()
        encoder = model._encoder()
        head = load_with_head(encoder, ["a text"], needs_head=True)
        return set_fitted(model, fitted, encoder_=encoder, head_=head or {})

    load = classmethod(load)

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__(), needs_y=False)

    def _check_parameters(self) -> None:
        check_training_parameters(self, OBJECTIVES)
        check_verbose(self.verbose)

    def _encoder(self) -> TokenEncoder:
        return TokenEncoder(
            self.model,
            max_length=self.max_length,
            batch_size=self.batch_size,
            device=self.device,
            dtype=self.dtype,
        )

    def _outputs(self, transformer: Transformer, head: Any, pairs: np.ndarray) -> Any:
        from tqdm.auto import tqdm

        with tqdm(total=len(pairs), desc=type(self).__name__, disable=not self.verbose) as bar:
            return score_pairs(
                transformer, head, pairs,
                max_length=self.max_length, batch_size=self.batch_size, advance=bar.update,
            )  # fmt: skip

    def _scores(self, encoder: TokenEncoder, head: Head, pairs: np.ndarray) -> np.ndarray:
        scores, n_cut = self._outputs(encoder.loaded(), head, pairs)
        if n_cut:
            warnings.warn(
                f"max_length={self.max_length} cut {n_cut} of {len(pairs)} pairs; raise "
                "max_length or shorten the texts",
                UserWarning,
                stacklevel=3,
            )
        return scores

"""Text similarity as relaxed optimal transport between contextual tokens."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import check_choice, check_integer, check_pairs, check_real
from estimators.persistence import savable
from estimators.tokens.token_regressor import TokenRegressor, check_tokens, vocabulary_table
from estimators.tokens.token_weights import training_weights
from estimators.training import (
    check_eval_set,
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
from film.tokens import METHODS, Ragged, check_solver, ragged_similarities, transport_plan


def check_sources(regressor: Any, scored: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Check additional training data and return the scored pairs.

    Raises
    ------
    TypeError, ValueError
        If ``scored`` or ``teacher`` is wrong or conflicts with other parameters.
    """
    teacher = regressor.teacher
    if teacher is not None and not (hasattr(teacher, "fit") and hasattr(teacher, "get_params")):
        raise TypeError(f"teacher={teacher!r} must be a PairTeacher, or None")
    for name, given in (("teacher", teacher), ("scored", scored)):
        if given is not None and not (regressor.objective == "binary" and regressor.epochs):
            raise ValueError(
                f"{name} is given, but only objective='binary' with epochs above 0 learns from "
                f"scores, not objective={regressor.objective!r}, epochs={regressor.epochs}; leave "
                f"{name} out"
            )
    if scored is None:
        return None
    if not isinstance(scored, (tuple, list)) or len(scored) != 2:
        raise TypeError("scored must be a tuple (pairs, probabilities)")
    return check_scored(*scored)


def check_scored(pairs: Any, probabilities: Any) -> tuple[np.ndarray, np.ndarray]:
    """Check pairs and their probabilities of being duplicates."""
    rows = check_pairs(pairs, name="scored[0]", encodable=True)
    found = np.asarray(probabilities, dtype=np.float64)
    if found.shape != (len(rows),):
        raise ValueError(
            f"scored[1] has shape {found.shape} for {len(rows)} pairs: give one probability per "
            "pair"
        )
    for row, value in enumerate(found.tolist()):
        check_real(f"scored[1][{row}]", value, 0, 1)
    return rows, found


def with_scored(
    regressor: Any, labelled: tuple[np.ndarray, np.ndarray], scored: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Append scored pairs, including those of the teacher, to labelled ones."""
    parts = [labelled] if scored is None else [labelled, scored]
    if regressor.teacher is not None:
        teacher: Any = clone(regressor.teacher)
        teacher.fit(*labelled)
        parts.append(check_scored(teacher.pairs_, teacher.scores_))
    rows, targets = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(targets)


def check_plan(regressor: Any) -> None:
    """Raise if the plan is unknown or conflicts with other parameters."""
    plan = regressor.plan
    check_choice("plan", plan, METHODS)
    if regressor.epochs and plan == "cmd":
        raise ValueError(
            "plan='cmd' cannot be trained; train with plan='rcmd', save the model "
            "and give it to RCMDRegressor(model=..., plan='cmd')"
        )
    if plan == "cls" and regressor.weights is not None:
        raise ValueError("plan='cls' compares one token per text; give weights=None")
    if plan == "cls" and not regressor.special_tokens:
        raise ValueError("plan='cls' compares [CLS] tokens; give special_tokens=True")
    if plan == "cmd":
        check_solver()


@savable
@dataclass(eq=False, repr=False)
class RCMDRegressor(TokenRegressor):
    """Predict the similarity of pairs by transport between contextual tokens, with explanations.

    Tokens of one text are matched with those of the other by cosine; a plan weights the matches.
    This is RCMD of Lee et al., "Toward interpretable semantic textual similarity via optimal
    transport-based contrastive sentence learning" (2022), and its variants.

    Parameters
    ----------
    model : str, path-like or TokenFILM, default=None
        Name of a model on the Hugging Face hub or a local folder; None is the packaged
        all-MiniLM-L6-v2 (extra ``minilm``). A `TokenFILM` is cloned, fitted on the labelled pairs
        of `fit`, and has its own encoder; in a FrozenEstimator it stays as fitted. Training starts
        from its map.
    plan : {"rcmd", "rcmd1", "rcmd2", "cmd", "avg", "rcmd+avg", "cls"}, default="rcmd"
        Transport plan. "rcmd": each token goes to its best match on the other side, in both
        directions. "rcmd1" and "rcmd2": only from the first or the second text, so order matters.
        "cmd": exact optimal transport (extra ``transport``). "avg": the cosine of mean vectors.
        "rcmd+avg": the mean of "rcmd" and "avg". "cls": the cosine of first tokens.
    objective : {"regression", "binary", "contrastive"}, default="regression"
        Training data. "regression": scores of pairs in any unit, learned by rank, with large
        differences weighted more. "binary": two labels of pairs. "contrastive": rows of texts that
        belong together, in two columns, or three with a hard negative. Partners and hard negatives
        of the other rows of a batch are negatives, except partners of rows that share a text with
        the row, and hard negatives that are one of its own texts.
    epochs : float, default=0
        Training passes over the rows. 0 uses the model without training.
    temperature : float, default=0.05
        Divisor of similarities in the loss.
    learning_rate : float, default=5e-5
        Initial learning rate; it falls linearly to 0.
    train_batch_size : int, default=128
        Rows per batch. With "contrastive" a batch has B texts, B partners and B hard negatives.
    train_max_length : int, default=32
        Maximum number of tokens per text in training.
    micro_batch_size : int, default=None
        Texts encoded at a time in training. Saves memory at the cost of one more encoding;
        gradients stay exact, with other dropout masks. None encodes a whole batch.
    eval_steps : int, default=250
        Steps between evaluations.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and dropout.
    special_tokens : bool, default=True
        Whether tokens such as [CLS] and [SEP] are included.
    weights : {"idf", "words"}, TokenWeights or mapping of str to float, default=None
        Token masses. None: equal. "idf": more for rare tokens, counted on the texts of `fit`.
        "words": 0 for tokens without a letter or digit. A mapping from vocabulary tokens; others
        have mass 1.
    teacher : PairTeacher, default=None
        For "binary": scores similar pairs of the texts of `fit` as extra training data. It is not
        saved and not needed to predict.
    max_length, batch_size, device, dtype, cache
        As in `TokenEncoder`. Training uses float32 weights.
    n_jobs : int, default=1
        Number of processes for "cmd".
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    encoder_ : TokenEncoder or TokenFILM
        The encoder of tokens.
    slope_, intercept_ : float
        Line from similarity to y, by least squares, or to log-odds for labels; 1 and 0 without y.
        Fitted on ``eval_set`` if it has y, else on the rows of `fit`; on at most 10,000 rows,
        spread evenly over y.
    classes_ : ndarray of shape (2,)
        For "binary": the labels of other pairs and of duplicates; `predict` returns the probability
        of duplicates.
    loss_curve_ : list of float
        Loss of each step.
    scores_ : list of (int, float)
        Step and score of each evaluation.
    token_weights_ : ndarray of float64, shape (n_vocabulary,), or None
        Mass of each vocabulary entry.

    See Also
    --------
    TokenMatchingRegressor : Also uses how unique a match is.
    film.tokens.transport_plan : The equations.

    Notes
    -----
    Encoding takes most of the time; the transport of a pair of 20 tokens takes about 40 µs on one
    core. Pairs are processed in blocks, so memory does not grow with their number; use a ``cache``
    if texts recur in different blocks. If all tokens of a text have weight 0, they count equally.

    Training takes about three encodings of the rows. With an ``eval_set`` the weights with the best
    score are kept. A trained model has one additional linear layer, which starts as the identity.

    Examples
    --------
    >>> from estimators import RCMDRegressor
    >>> pairs = [("A man plays a guitar.", "Someone is playing guitar."), ("Hi", "Bye")]
    >>> model = RCMDRegressor().fit(pairs, [4.5, 1.0])  # doctest: +SKIP
    >>> model.explain(pairs[:1])[0].top(1)  # doctest: +SKIP
    [('guitar', 'guitar', 0.1...)]
    """

    model: Any = None
    _: KW_ONLY
    plan: Any = "rcmd"
    objective: str = "regression"
    epochs: float = 0
    temperature: float = 0.05
    learning_rate: float = 5e-5
    train_batch_size: int = 128
    train_max_length: int = 32
    micro_batch_size: Any = None
    eval_steps: int = 250
    random_state: Any = None
    special_tokens: bool = True
    weights: Any = None
    teacher: Any = None
    max_length: int = 128
    batch_size: int | None = None
    device: Any = None
    dtype: Any = None
    cache: Any = None
    n_jobs: int = 1
    verbose: int = 0

    def fit(
        self, pairs: Any, y: Any = None, *, eval_set: Any = None, scored: Any = None
    ) -> RCMDRegressor:
        """Load the model, train it if ``epochs`` is above 0, and fit the line to y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_rows, 2) or (n_rows, 3)
            Texts. Three columns, only with ``objective="contrastive"``, are a text, its partner and
            a text that is not a partner.
        y : array-like, shape (n_rows,), default=None
            Scores in any unit, or two labels for "binary". None for "contrastive", or to use the
            model untrained with `predict` returning `similarity`.
        eval_set : tuple of (rows, y), default=None
            Rows and y for `score`, to select the best weights. For scikit-learn's metadata routing:
            ``set_fit_request(eval_set=True)``.
        scored : tuple of (pairs, probabilities), default=None
            For "binary": additional pairs with probabilities of being duplicates, from 0 to 1.

        Returns
        -------
        self : RCMDRegressor
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y does not fit the rows and ``objective``, or is constant, two
            texts of a triplet are identical, ``scored`` does not fit, or a parameter is wrong.
            Raised before training.
        FileNotFoundError, ImportError
            If the model or a required package is missing.
        MemoryError
            If GPU memory is too small.

        Warns
        -----
        UserWarning
            If Ctrl-C stops the training; the best model so far is kept.
        """
        self._check_parameters()
        rows = check_rows(pairs, self.objective)
        targets = check_targets(y, rows, self.objective, trains=self.epochs > 0)
        held = check_eval_set(eval_set, self.objective)
        more = check_sources(self, scored)
        encoder = self._encoder_to_train(rows, y) if self.epochs else self._fitted_encoder(rows, y)
        self._check_encoder(encoder)
        table = vocabulary_table(encoder, self.weights, rows)
        # Set attributes only at the end, so that a failed fit leaves the earlier fit consistent.
        run = None
        if self.epochs:
            given = rows, targets
            if targets is not None and self.objective == "binary":
                given = with_scored(self, (rows, targets), more)
            check_tokens(encoder, given[0], self.special_tokens)
            weigh = None
            if table is not None:
                weigh = partial(training_weights, table, special=self.special_tokens)
            run = train(
                self,
                encoder.loaded(),
                *given,
                weigh=weigh,
                evaluate=None if held is None else lambda: self._judged(encoder, table, *held),
            )
            encoder.set_transformer(run.transformer).set_params(dtype=self.dtype, cache=self.cache)
        shown, fit_line = units_of(self.objective, (rows, targets), held)
        line = (1.0, 0.0) if shown is None else fit_line(self._scores(encoder, table, shown))
        return finished(self, y, line, run, encoder_=encoder, token_weights_=table)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a new folder as safetensors and JSON.

        transformers can read the folder with `AutoModel`, without the head.

        Parameters
        ----------
        path : str or path-like
            A new or empty folder.

        Raises
        ------
        FileExistsError, ValueError, OSError
            If the folder is not empty, a parameter cannot be written as JSON, or the folder cannot
            be written; nothing is left behind.
        """
        check_is_fitted(self, "encoder_")
        write_regressor(path, self._with_plain_model())

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str], **params: Any) -> Self:
        """Load a fitted model written by `save`.

        Parameters
        ----------
        name : str or path-like
            Local folder or name of a repository on the Hugging Face hub.
        **params
            Parameters to change, such as ``device`` or ``cache``.

        Returns
        -------
        model : RCMDRegressor
            Fitted. Its ``model`` is the folder, so that another `fit` continues from its weights.

        Raises
        ------
        FileNotFoundError
            If the folder or repository does not exist or has no saved regressor.
        ValueError, TypeError
            If a file is damaged or has another class or version, or a parameter is wrong.
        """
        model, fitted = read_regressor(cls, name, params)
        model._check_parameters()
        encoder = model._fitted_encoder(np.array([["a text"]]), None)
        model._check_encoder(encoder)
        table = vocabulary_table(encoder, model.weights, np.empty((0, 2), dtype=object))
        return set_fitted(model, fitted, encoder_=encoder, token_weights_=table)

    load = classmethod(load)

    @property
    def _title(self) -> str:
        return self.plan.upper()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training_parameters(self)
        check_plan(self)
        check_integer("n_jobs", self.n_jobs, 1)

    def _check_encoder(self, encoder: Any) -> None:
        if self.plan == "cls" and not encoder.loaded().puts_special_token_first():
            raise ValueError(
                "plan='cls' needs a first token that represents the text, and this model's "
                "tokenizer adds none; use plan='rcmd'"
            )

    def _similarities(self, tokens: Ragged, weights: Any, codes: Any, advance: Any) -> np.ndarray:
        weighed = {"weights1": weights, "weights2": weights}
        return ragged_similarities(
            tokens, tokens, self.plan, **weighed, pairs=codes, n_jobs=self.n_jobs, advance=advance
        )

    def _contributions(self, x1: Any, w1: Any, x2: Any, w2: Any) -> tuple[Any, np.ndarray]:
        found = transport_plan(x1, x2, self.plan, weights1=w1, weights2=w2)
        return found.similarity, found.contributions

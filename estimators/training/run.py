"""A run of training by the parameters of an estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from estimators.encoders import Tokens, Transformer
from estimators.training.batches import Examples
from estimators.training.checkpoint import Checkpoint, run_of
from estimators.training.loop import Training
from estimators.training.settings import training_settings


def train(
    estimator: Any,
    transformer: Transformer,
    rows: np.ndarray,
    targets: np.ndarray | None,
    *,
    weigh: Callable[[Tokens], np.ndarray] | None,
    eval_set: tuple[np.ndarray, np.ndarray | None] | None,
    evaluate: Callable[[], float] | None,
    with_head: bool = True,
) -> Training:
    """Train a model in place.

    Parameters
    ----------
    estimator : estimator
        Whose parameters `check_training_parameters` accepts.
    transformer, evaluate
        As in `Training`; the former is left in the estimator's precision.
    rows, targets : ndarray of str, shape (n, 2) or (n, 3), and of float64, shape (n,), or None
        Checked: scores, or 0 and 1; None for a contrastive loss.
    weigh : callable or None
        Gives the weight of each token of the texts; None: all alike.
    eval_set : tuple of (rows, targets) or None
        What ``evaluate`` scores; the checkpoint keeps its digest.
    with_head : bool, default=True
        Whether a linear layer is put after the model.

    Returns
    -------
    run : Training
        Done.
    """
    length = transformer.check_max_length(estimator.train_max_length, "train_max_length")
    if with_head:
        transformer.add_head()
    texts, codes = np.unique(rows.ravel(), return_inverse=True)
    tokens = transformer.tokenize(texts.tolist(), length)
    examples = Examples(
        tokens, codes.reshape(rows.shape), targets, None if weigh is None else weigh(tokens)
    )
    settings, checkpoint = training_settings(estimator), None
    if estimator.checkpoint is not None:
        run = run_of(transformer.file_digest, settings, rows=(rows, targets), eval_set=eval_set)
        checkpoint = Checkpoint(estimator.checkpoint, run)
    training = Training(
        transformer,
        examples,
        settings,
        evaluate=evaluate,
        checkpoint=checkpoint,
        verbose=estimator.verbose,
    )
    training.run()
    if estimator.dtype is not None:
        transformer.set_dtype(estimator.dtype)
    return training

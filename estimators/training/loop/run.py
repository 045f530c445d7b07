"""Run the training that an estimator's parameters describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from estimators.encoders import Tokens, Transformer
from estimators.training.loop.batches import Examples
from estimators.training.loop.checkpoint import Checkpoint, run_of
from estimators.training.loop.objectives import Objective, PairScore
from estimators.training.loop.settings import Settings, training_settings
from estimators.training.loop.text_vectors import TextVectors
from estimators.training.loop.training import Training


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
    masses: Any = None,
) -> Training:
    """Train a model in place.

    Parameters
    ----------
    estimator : estimator
        Parameters are validated by `check_training_parameters`.
    transformer, evaluate
        As in `Training`; the transformer ends in the estimator's precision.
    rows, targets : ndarray of str, shape (n, 2) or (n, 3), and of float64, shape (n,), or None
        Validated. Targets are scores, or 0 and 1; None for a contrastive loss.
    weigh : callable or None
        Returns the weight of each token of the texts; None means equal weights.
    eval_set : tuple of (rows, targets) or None
        Data of ``evaluate``; the checkpoint stores its digest.
    with_head : bool, default=True
        Whether to append a linear layer to the model.
    masses : torch.nn.Module or None
        As in `Training`; excludes ``weigh``.
        As in `Training`; without ``weigh``.

    Returns
    -------
    run : Training
        The finished run.
    """
    length = transformer.check_max_length(estimator.train_max_length, "train_max_length")
    if with_head:
        transformer.add_head()
    texts, codes = np.unique(rows.ravel(), return_inverse=True)
    tokens = transformer.tokenize(texts.tolist(), length)
    examples = Examples(
        tokens, codes.reshape(rows.shape), targets, None if weigh is None else weigh(tokens)
    )
    return run_examples(
        estimator,
        transformer,
        examples,
        rows=(rows, targets),
        eval_set=eval_set,
        evaluate=evaluate,
        masses=masses,
    )


def train_pairs(
    estimator: Any,
    transformer: Transformer,
    rows: np.ndarray,
    targets: np.ndarray,
    *,
    head: dict[str, np.ndarray] | None,
    eval_set: tuple[np.ndarray, np.ndarray | None] | None,
    evaluate: Callable[[Any], float] | None,
) -> Training:
    """Train a cross-encoder in place.

    Parameters
    ----------
    estimator, transformer, rows, eval_set
        As in `train`, with two columns.
    targets : ndarray of float64, shape (n,)
        Scores, learned in standard deviations from their mean, or 0 and 1.
    head : dict of ndarray or None
        Initial weights of the network that scores the first token.
    evaluate : callable or None
        Returns the score of the current model with a given head.

    Returns
    -------
    run : Training
        The finished run; ``objective.module`` is the head.
    """
    length = transformer.check_max_length(estimator.train_max_length, "train_max_length", pair=True)
    first, second = rows[:, 0].tolist(), rows[:, 1].tolist()
    tokens = transformer.tokenize_pairs(first + second, second + first, length)
    # Both orders of row i.
    codes = np.arange(2 * len(rows)).reshape(2, -1).T
    is_binary = estimator.objective == "binary"
    y = targets if is_binary else (targets - targets.mean()) / targets.std()
    dropout = getattr(transformer.module.config, "hidden_dropout_prob", 0.1)
    objective = PairScore(is_binary, dropout, head)
    return run_examples(
        estimator,
        transformer,
        Examples(tokens, codes, y, None),
        rows=(rows, targets),
        eval_set=eval_set,
        evaluate=None if evaluate is None else lambda: evaluate(objective.module),
        objective=objective,
    )


def run_examples(
    estimator: Any,
    transformer: Transformer | TextVectors,
    examples: Examples,
    *,
    rows: tuple[np.ndarray, Any],
    eval_set: tuple[np.ndarray, Any] | None,
    evaluate: Callable[[], float] | None,
    objective: Objective | None = None,
    masses: Any = None,
    settings: Settings | None = None,
) -> Training:
    """Train on examples made from rows; the checkpoint stores the digest of the rows.

    ``settings`` default to those of the estimator.
    """
    if settings is None:
        settings = training_settings(estimator, masses is not None)
    checkpoint = None
    if estimator.checkpoint is not None:
        run = run_of(transformer.file_digest, settings, rows=rows, eval_set=eval_set)
        checkpoint = Checkpoint(estimator.checkpoint, run)
    training = Training(
        transformer,
        examples,
        settings,
        objective=objective,
        masses=masses,
        evaluate=evaluate,
        checkpoint=checkpoint,
        verbose=estimator.verbose,
    )
    training.run()
    if estimator.dtype is not None:
        transformer.set_dtype(estimator.dtype)
    return training

"""The training loop of transformers models and networks of token vectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from estimators.encoders import Tokens, Transformer
from estimators.inputs import bars_stay, keeps_unfinished
from estimators.training.objectives import (
    OBJECTIVES,
    Batch,
    Examples,
    Objective,
    PairScore,
    chunks_of,
    padded,
)
from estimators.training.settings import Settings, training_settings
from estimators.training.token_states import TextVectors
from film.training import cached_backward

LARGEST_GRADIENT = 1.0
"""Maximum gradient norm, as in SimCSE."""
TOKENS_AT_ONCE = 2048
"""Maximum tokens of similar-length texts that pass through the model together."""


class Score(NamedTuple):
    """Evaluation score after a number of steps."""

    step: int
    score: float


class Training:
    """A training run.

    Parameters
    ----------
    transformer : Transformer or TextVectors
        In float32; its weights are changed in place.
    examples : Examples
        At least one row, or two for a contrastive loss.
    settings : Settings
        Validated.
    objective : Objective or None
        The loss; None uses the one that the settings name.
    evaluate : callable or None
        Returns the score of the current model, higher is better. `run` ends with the best-scoring
        weights, or with the last ones if None.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    losses : list of float
        Loss of each step.
    scores : list of Score
        All evaluations.
    best : Score or None
        The best evaluation.
    """

    def __init__(
        self,
        transformer: Transformer | TextVectors,
        examples: Examples,
        settings: Settings,
        *,
        objective: Objective | None = None,
        evaluate: Callable[[], float] | None,
        verbose: int,
    ) -> None:
        import torch

        self.transformer: Any = transformer
        self.examples, self.settings = examples, settings
        self.evaluate, self.verbose = evaluate, verbose
        self.steps_per_epoch = -(-len(examples.codes) // settings.batch_size)
        self.total = max(1, round(settings.epochs * self.steps_per_epoch))
        self.objective = OBJECTIVES[settings.objective]() if objective is None else objective
        with torch.random.fork_rng(devices=self._devices):
            self.objective.start(transformer.width, settings, transformer.device)
        modules = [transformer.module, transformer.head, self.objective.module]
        self.modules = torch.nn.ModuleList([each for each in modules if each is not None])
        self.modules.requires_grad_(True)
        self.parameters = list(self.modules.parameters())
        # Fused updates take one pass over the weights; float16 needs gradient scaling instead.
        fused = True if transformer.device == "cpu" and settings.dtype != "float16" else None
        self.optimizer = torch.optim.Adam(self.parameters, lr=settings.learning_rate, fused=fused)
        kind = torch.device(transformer.device).type
        self.scaler = torch.amp.GradScaler(kind, enabled=settings.dtype == "float16")
        self.step, self.losses, self.scores = 0, [], []
        self.best: Score | None = None
        self.best_state: dict[str, Any] | None = None
        self._epoch: tuple[int, np.ndarray] | None = None

    def run(self) -> None:
        """Train; the transformer ends with the best weights, frozen and in evaluation mode.

        Raises
        ------
        MemoryError
            If GPU memory is too small, with a smaller size to try.
        ValueError
            If the loss is not finite.
        """
        import torch
        from tqdm.auto import tqdm

        try:
            # Do not disturb the caller's random state.
            with (
                torch.random.fork_rng(devices=self._devices),
                tqdm(
                    total=self.total,
                    desc="train",
                    disable=not self.verbose,
                    leave=bars_stay(),
                ) as progress,
            ):
                while self.step < self.total:
                    self._take_step()
                    progress.update()
                    if self.step % self.settings.eval_steps == 0 or self.step == self.total:
                        self._judge()
                    shown = {"loss": f"{self.losses[-1]:.4f}"}
                    if self.scores:
                        shown["score"] = f"{self.scores[-1].score:.4f}"
                    progress.set_postfix(shown)
        except KeyboardInterrupt:
            if not keeps_unfinished():
                raise
            of_best = f"the best model so far, of step {self.best.step}" if self.best else "it"
            warnings.warn(
                f"training was interrupted after step {self.step} of {self.total}; {of_best} is "
                "kept",
                UserWarning,
                stacklevel=5,
            )
        finally:
            self.modules.requires_grad_(False).eval()
            self.optimizer.zero_grad(set_to_none=True)
        if self.best_state is not None:
            self.modules.load_state_dict(self.best_state)
        # Names the model by its new weights.
        self.transformer.adopt(self.transformer.arrays())

    def backward(self, rows: np.ndarray) -> float:
        """Backpropagate the loss of some rows of the examples, and return it."""
        import torch

        settings, codes = self.settings, self._codes(rows)
        texts = codes.T.ravel()
        order = np.argsort(-self.examples.tokens.lengths[texts], kind="stable")
        parts = chunks_of(
            self.examples.tokens.lengths[texts[order]],
            settings.micro_batch_size,
            TOKENS_AT_ONCE if self.transformer.device == "cpu" else None,
        )

        def encode(chunk: slice) -> Any:
            features, mask = self._forward(texts[order[chunk]])
            return features[mask]

        def loss(flat: list[Any]) -> Any:
            parts = padded(self.examples, torch.cat(flat), texts, order, settings.special_tokens)
            return self.scaler.scale(self.objective.loss(self._batch(parts, rows, codes)))

        if settings.micro_batch_size is None:
            value = loss([encode(part) for part in parts])
            value.backward()
            value = float(value.detach())
        else:
            value = cached_backward(encode, parts, loss)
        return value / self.scaler.get_scale()

    def _take_step(self) -> None:
        import torch

        settings = self.settings
        epoch, place = divmod(self.step, self.steps_per_epoch)
        # The same split as np.array_split, computed for one batch only.
        least, extra = divmod(len(self.examples.codes), self.steps_per_epoch)
        start = place * least + min(place, extra)
        rows = self._order(epoch)[start : start + least + (place < extra)]
        seed = np.random.SeedSequence([settings.seed, self.step])
        torch.manual_seed(int(seed.generate_state(1, np.uint64)[0]) >> 1)
        self.modules.train()
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate * (1 - self.step / self.total)
        try:
            value = self.backward(rows)
            if not np.isfinite(value):
                raise ValueError(
                    f"the loss is {value} at step {self.step}: lower learning_rate="
                    f"{settings.learning_rate}, or give dtype='float32'"
                )
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.parameters, LARGEST_GRADIENT)
            self.scaler.step(self.optimizer)
            self.scaler.update()
        except torch.cuda.OutOfMemoryError as error:
            size = settings.micro_batch_size or self._codes(rows).size
            raise MemoryError(
                f"device={self.transformer.device!r} has too little memory for a step of "
                f"{len(rows)} rows; give micro_batch_size={max(1, size // 2)}, which "
                f"keeps gradients exact, or a lower train_max_length"
            ) from error
        self.optimizer.zero_grad(set_to_none=True)
        self.modules.eval()
        self.losses.append(value)
        self.step += 1

    def _order(self, epoch: int) -> np.ndarray:
        if self._epoch is None or self._epoch[0] != epoch:
            rng = np.random.default_rng([self.settings.seed, epoch])
            self._epoch = epoch, rng.permutation(len(self.examples.codes))
        return self._epoch[1]

    def _forward(self, texts: np.ndarray) -> tuple[Any, Any]:
        import torch

        half = self.settings.dtype != "float32"
        kind = torch.device(self.transformer.device).type
        with torch.autocast(kind, getattr(torch, self.settings.dtype)) if half else nullcontext():
            return self.transformer.forward(self.examples.tokens, texts)

    def _codes(self, rows: np.ndarray) -> np.ndarray:
        return self.objective.chosen(self.examples.codes, rows, self.step // self.steps_per_epoch)

    def _batch(self, parts: tuple[Any, Any, Any], rows: np.ndarray, codes: np.ndarray) -> Batch:
        """Stack the texts of rows column by column."""
        import torch

        b, k = codes.shape
        x, mask, weights = (
            (None,) * k if part is None else part.view(k, b, *part.shape[1:]) for part in parts
        )
        y = self.examples.y
        y = None if y is None else torch.from_numpy(y[rows]).to(self.transformer.device)
        return Batch(x, mask, weights, codes, y, self.settings)

    @property
    def _devices(self) -> list[str]:
        return [] if self.transformer.device == "cpu" else [self.transformer.device]

    def _judge(self) -> None:
        if self.evaluate is None:
            return
        found = Score(self.step, float(self.evaluate()))
        self.scores.append(found)
        if self.best is None or found.score > self.best.score:
            self.best = found
            self.best_state = {n: v.clone() for n, v in self.modules.state_dict().items()}


def train(
    estimator: Any,
    transformer: Transformer,
    rows: np.ndarray,
    targets: np.ndarray | None,
    *,
    weigh: Callable[[Tokens], np.ndarray] | None,
    evaluate: Callable[[], float] | None,
    with_head: bool = True,
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
    with_head : bool, default=True
        Whether to append a linear layer to the model.

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
    return run_examples(estimator, transformer, examples, evaluate=evaluate)


def train_pairs(
    estimator: Any,
    transformer: Transformer,
    rows: np.ndarray,
    targets: np.ndarray,
    *,
    head: dict[str, np.ndarray] | None,
    evaluate: Callable[[Any], float] | None,
) -> Training:
    """Train a cross-encoder in place.

    Parameters
    ----------
    estimator, transformer, rows
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
        evaluate=None if evaluate is None else lambda: evaluate(objective.module),
        objective=objective,
    )


def run_examples(
    estimator: Any,
    transformer: Transformer | TextVectors,
    examples: Examples,
    *,
    evaluate: Callable[[], float] | None,
    objective: Objective | None = None,
    settings: Settings | None = None,
) -> Training:
    """Train on examples; ``settings`` default to those of the estimator."""
    training = Training(
        transformer,
        examples,
        settings or training_settings(estimator),
        objective=objective,
        evaluate=evaluate,
        verbose=estimator.verbose,
    )
    training.run()
    if estimator.dtype is not None:
        transformer.set_dtype(estimator.dtype)
    return training

"""What a regressor on token vectors needs to train its model."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from estimators.encoders import DTYPES, TokenEncoder, Tokens
from estimators.inputs import check_choice, check_integer, check_real, check_seed
from estimators.tokens.targets import OBJECTIVES, Held
from estimators.tokens.token_regressor import TokenRegressor
from estimators.tokens.vocabulary import weights_of_tokens
from estimators.training import (
    Checkpoint,
    Examples,
    Settings,
    Training,
    check_checkpoint_folder,
    saved_seed,
)


class TrainedRegressor(TokenRegressor):
    """Base of `RCMDRegressor`: the run of a training from parameters and checked rows."""

    plan: Any
    objective: str
    epochs: float
    temperature: float
    learning_rate: float
    train_batch_size: int
    train_max_length: int
    micro_batch_size: Any
    accumulation_steps: int
    eval_steps: int
    patience: Any
    checkpoint: Any
    random_state: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("objective", self.objective, OBJECTIVES)
        if self.dtype is not None:
            check_choice("dtype", self.dtype, DTYPES)
        check_seed(self.random_state)
        check_real("epochs", self.epochs, 0)
        check_real("temperature", self.temperature, 1e-6)
        check_real("learning_rate", self.learning_rate, 0)
        least = 2 if self.objective == "contrastive" else 1
        check_integer("train_batch_size", self.train_batch_size, least)
        check_integer("train_max_length", self.train_max_length, 1)
        check_integer("accumulation_steps", self.accumulation_steps, 1)
        check_integer("eval_steps", self.eval_steps, 1)
        for name in ("micro_batch_size", "patience"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1)
        if self.checkpoint is not None:
            check_checkpoint_folder(self.checkpoint)

    def _train(
        self,
        encoder: TokenEncoder,
        table: np.ndarray | None,
        rows: np.ndarray,
        targets: np.ndarray | None,
        held: Held | None,
    ) -> tuple[list[float], list[tuple[int, float]]]:
        """Train the encoder's model in place, and give losses and scores of the run."""
        transformer = encoder._loaded()
        length = transformer.check_max_length(self.train_max_length, "train_max_length")
        transformer.add_head()
        texts, codes = np.unique(rows.ravel(), return_inverse=True)
        tokens = transformer.tokenize(texts.tolist(), length)
        examples = Examples(
            tokens,
            codes.reshape(rows.shape),
            targets,
            None if table is None else _masses(table, tokens, self.special_tokens),
        )
        settings = self._settings()
        checkpoint = None
        if self.checkpoint is not None:
            run = {
                "model": transformer.file_digest,
                "rows": _digest(rows, targets),
                "eval_set": None if held is None else _digest(*held),
                **asdict(settings),
            }
            checkpoint = Checkpoint(self.checkpoint, run)
        training = Training(
            transformer,
            examples,
            settings,
            evaluate=None if held is None else lambda: self._judged(encoder, table, *held),
            checkpoint=checkpoint,
            verbose=self.verbose,
        )
        training.run()
        if self.dtype is not None:
            transformer.set_dtype(self.dtype)
        encoder._keep(transformer)
        return training.losses, [(score.step, score.score) for score in training.scores]

    def _settings(self) -> Settings:
        seed = None
        if self.random_state is None and self.checkpoint is not None:
            seed = saved_seed(self.checkpoint)
        if seed is None:
            seed = int(check_seed(self.random_state).randint(2**31 - 1))
        return Settings(
            method=self.plan,
            is_contrastive=self.objective == "contrastive",
            temperature=float(self.temperature),
            learning_rate=float(self.learning_rate),
            epochs=float(self.epochs),
            batch_size=self.train_batch_size,
            micro_batch_size=self.micro_batch_size,
            accumulation_steps=self.accumulation_steps,
            eval_steps=self.eval_steps,
            patience=self.patience,
            special_tokens=bool(self.special_tokens),
            dtype=self.dtype or "float32",
            seed=seed,
        )

    def _judged(
        self, encoder: TokenEncoder, table: Any, rows: np.ndarray, targets: np.ndarray | None
    ) -> float:
        if targets is None:
            near = self._scores(encoder, table, rows[:, [0, 1]])
            return float(np.mean(near > self._scores(encoder, table, rows[:, [0, 2]])))
        found: Any = spearmanr(self._scores(encoder, table, rows), targets)
        return float(found.statistic)


def _masses(table: np.ndarray, tokens: Tokens, special_tokens: bool) -> np.ndarray:
    """Weight of every token, 0 for special ones that take no part."""
    kept = np.full(len(tokens.ids), special_tokens) | ~tokens.is_special
    starts = np.concatenate([[0], np.cumsum(kept)])[tokens.starts]
    found = np.zeros(len(kept))
    found[kept] = weights_of_tokens(table, tokens.ids[kept], starts)
    return found


def _digest(rows: np.ndarray, targets: np.ndarray | None) -> str:
    digest = hashlib.blake2b(repr(rows.tolist()).encode(), digest_size=16)
    digest.update(b"" if targets is None else targets.tobytes())
    return digest.hexdigest()

"""Train the generator, one network that learns all three tasks, and measure its perplexity."""

from __future__ import annotations

import copy
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from film.contexts import END, IdTable

PLACES = ("left", "sentence", "right")
"""Names of the generated sentences, in the order of places."""
BATCH_SIZE = 48
"""Contexts per step."""
BATCHES_OF_POOL = 50
"""Number of batches that are sorted by length together, so that padding is short."""
MOST_HELD_OUT = 2048
"""Maximum number of held-out centres for evaluation and perplexity."""
LEARNING_RATE = 3e-3
"""Peak learning rate, after a linear warm-up; it then falls linearly to 0."""
LARGEST_GRADIENT = 1.0
"""Norm to which gradients are clipped."""
N_EVALUATIONS = 10
"""Number of evaluations, spread evenly over a run."""
WARM_UP = 0.02
"""Share of a run with a rising learning rate."""


class Learned(NamedTuple):
    """Results of a run."""

    losses: list[float]
    """Loss of each step, in nats per token."""
    scores: list[tuple[int, float]]
    """Steps and held-out loss of each evaluation."""
    is_complete: bool
    """False if Ctrl-C ended it."""


class GeneratorTask:
    """Batches and loss of a generator.

    Parameters
    ----------
    network : torch.nn.Module
        A `Generator`.
    table : IdTable
        Tokens of all sentences of the corpus.
    centres : ndarray of int
        Rows of the sentences between two others.
    seed : int
        Seeds the order of batches.
    """

    def __init__(self, network: Any, table: IdTable, centres: np.ndarray, *, seed: int) -> None:
        self.network, self.table, self.centres, self.seed = network, table, centres, seed
        self.lengths = np.asarray(table.lengths)

    def batches(self, epoch: int) -> list[np.ndarray]:
        """Return the rows of the centres of each batch; every centre is in one of them."""
        rng = np.random.default_rng([self.seed, 2, epoch])
        rows = self.centres[rng.permutation(len(self.centres))]
        n_batches = -(-len(rows) // BATCH_SIZE)
        # Contexts are sorted by their longest sentence, since all others are padded to it.
        longest = np.max([self.lengths[rows + step] for step in (-1, 0, 1)], axis=0)
        pool = np.arange(len(rows)) // (BATCH_SIZE * BATCHES_OF_POOL)
        batches = np.array_split(rows[np.lexsort((longest, pool))], n_batches)
        return [batches[number] for number in rng.permutation(n_batches)]

    def loss(self, rows: np.ndarray, places: Any = (0, 1, 2)) -> Any:
        """Return the cross-entropy of the sentences at some places, in nats per token."""
        return self.network.loss([self.table.padded(rows + step) for step in (-1, 0, 1)], places)

    def held_out_loss(self) -> float:
        """Return the mean loss of fixed batches."""
        return float(np.mean([float(self.loss(rows)) for rows in self._evaluated()]))

    def perplexities(self, counts: np.ndarray) -> dict[str, float]:
        """Return the perplexity per token of each task, ends included, and of a unigram model.

        Parameters
        ----------
        counts : ndarray of int
            Numbers of each token in training, which give the unigram model.
        """
        import torch

        sums, n_tokens = dict.fromkeys(PLACES, 0.0), dict.fromkeys(PLACES, 0)
        batches = self._evaluated()
        for rows in batches:
            for place, name in enumerate(PLACES):
                n = int(self.lengths[rows + place - 1].sum()) + len(rows)
                with torch.inference_mode():
                    sums[name] += n * float(self.loss(rows, (place,)))
                n_tokens[name] += n
        found = {name: float(np.exp(sums[name] / n_tokens[name])) for name in PLACES}
        held = token_counts(self.table, np.concatenate(batches), len(counts))
        logs = np.log((counts + 1) / (counts + 1).sum())
        return found | {"unigram": float(np.exp(-(held @ logs) / held.sum()))}

    def _evaluated(self) -> list[np.ndarray]:
        return self.batches(0)[: max(1, MOST_HELD_OUT // BATCH_SIZE)]


def token_counts(table: IdTable, rows: np.ndarray, n_tokens: int) -> np.ndarray:
    """Return how often each token occurs in sentences, and the end once per sentence."""
    inside = np.zeros(len(table), dtype=bool)
    inside[rows] = True
    within = np.repeat(inside, np.asarray(table.lengths))
    counts = np.bincount(np.asarray(table.values)[within], minlength=n_tokens)
    counts[END] = len(rows)
    return counts


def train_generator(
    task: GeneratorTask, test: GeneratorTask | None, epochs: float, seconds: Any, verbose: int
) -> Learned:
    """Train a network in place with Adam, and keep the weights of the best evaluation.

    Parameters
    ----------
    task, test : GeneratorTask
        Batches to train with, and held-out ones to evaluate; ``test`` may be None.
    epochs : float
        Passes over the batches.
    seconds : float or None
        Maximum seconds of training; the learning rate then falls with time.
    verbose : int
        Whether to show progress.

    Raises
    ------
    ValueError
        If a loss is not finite.

    Warns
    -----
    UserWarning
        If Ctrl-C ended the training.
    """
    import torch
    from tqdm.auto import tqdm

    network, n_batches = task.network, len(task.batches(0))
    total = max(epochs > 0, round(epochs * n_batches))
    network.requires_grad_(True)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    losses: list[float] = []
    scores: list[tuple[int, float]] = []
    best, rows, used, is_complete = None, [], 0.0, True

    def progress() -> float:
        by_steps = len(losses) / total if total else 1.0
        return max(by_steps, used / (seconds or np.inf))

    try:
        with tqdm(total=total, desc="generator", disable=not verbose) as bar:
            while progress() < 1:
                started = time.monotonic()
                epoch, place = divmod(len(losses), n_batches)
                rows = rows if place else task.batches(epoch)
                network.train()
                rise = min(1.0, (progress() + 1 / total) / WARM_UP)
                for group in optimizer.param_groups:
                    group["lr"] = LEARNING_RATE * rise * (1 - progress())
                loss = task.loss(rows[place])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(network.parameters(), LARGEST_GRADIENT)
                optimizer.step()
                network.eval()
                if not np.isfinite(value := float(loss.detach())):
                    raise ValueError(f"the loss of the generator is {value} at step {len(losses)}")
                losses.append(value)
                used += time.monotonic() - started
                is_due = progress() >= 1 or int(progress() * N_EVALUATIONS) > len(scores)
                if test is not None and is_due:
                    with torch.inference_mode():
                        score = test.held_out_loss()
                    if not scores or score < min(score for _, score in scores):
                        best = copy.deepcopy(network.state_dict())
                    scores.append((len(losses), score))
                bar.update()
    except KeyboardInterrupt:
        is_complete = False
        warnings.warn(
            f"training of the generator was interrupted after step {len(losses)} of {total}; its "
            "best weights are kept",
            UserWarning,
            stacklevel=5,
        )
    finally:
        network.requires_grad_(False).eval()
    if best is not None:
        network.load_state_dict(best)
    return Learned(losses, scores, is_complete)

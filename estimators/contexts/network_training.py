"""Training of a model of contexts: its discriminator, and its generator."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from film.contexts import (
    END,
    IdTable,
    Likeness,
    fit_loss,
    fit_weights,
    unigram_log_likelihood,
)

LARGEST_GRADIENT = 1.0
"""Norm to which gradients are clipped."""
N_EVALUATIONS = 10
"""Number of evaluations, spread evenly over a run."""
WARM_UP = 0.02
"""Share of a run with a rising learning rate."""


class Learned(NamedTuple):
    """Results of a run."""

    losses: list[float]
    """Loss of each step."""
    scores: list[tuple[int, float]]
    """Steps and held-out loss of each evaluation."""
    is_complete: bool
    """False if Ctrl-C ended it."""


def train_network(
    task: GeneratorTask,
    epochs: float,
    learning_rate: float,
    seed: int,
    *,
    evaluate: Callable[[], float] | None,
    verbose: int,
) -> Learned:
    """Train a generator in place with Adam, and keep the weights of the best evaluation.

    Parameters
    ----------
    task : GeneratorTask
        The generator and its batches.
    epochs, learning_rate : float
        Passes over the batches, and the peak rate after a linear warm-up; it then falls linearly
        to 0.
    seed : int
        Seeds dropout.
    evaluate : callable or None
        Returns the held-out loss of the current network; lower is better.
    verbose : int
        Whether to show progress.

    Raises
    ------
    ValueError
        If the loss is not finite.
    """
    import torch
    from tqdm.auto import tqdm

    network, n_batches = task.network, len(task.batches(0))
    total = max(epochs > 0, round(epochs * n_batches))
    parameters = [each for each in network.parameters() if each.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=learning_rate)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / (WARM_UP * total or 1)) * (1 - step / (total or 1)),
    )
    losses: list[float] = []
    scores: list[tuple[int, float]] = []
    best, rows, is_complete = None, [], True
    devices = [p.device for p in parameters if p.device.type != "cpu"][:1]
    try:
        # The caller's random state does not change.
        with (
            torch.random.fork_rng(devices=devices),
            tqdm(total=total, desc="generator", disable=not verbose) as bar,
        ):
            torch.manual_seed(seed)
            while len(losses) < total:
                epoch, place = divmod(len(losses), n_batches)
                rows = rows if place else task.batches(epoch)
                network.train()
                loss = task.loss(rows[place])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, LARGEST_GRADIENT)
                optimizer.step()
                rate.step()
                network.eval()
                if not np.isfinite(value := float(loss.detach())):
                    raise ValueError(f"the loss of the generator is {value} at step {len(losses)}")
                losses.append(value)
                is_due = len(losses) * N_EVALUATIONS // total > len(scores)
                if evaluate is not None and (is_due or len(losses) == total):
                    with torch.inference_mode():
                        score = float(evaluate())
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
        network.eval()
    if best is not None:
        network.load_state_dict(best)
    return Learned(losses, scores, is_complete)


SENTENCES_PER_STEP = 192
"""Sentences and contexts per step; each sentence is compared with each context."""
RUN, RUNS_OF_DOCUMENT = 8, 3
"""Neighbouring centres per run, whose sentences also serve as left and right sentences, and runs
of one document per batch, which are each other's negatives."""
MOST_HELD_OUT = 2048
"""Maximum number of held-out centres of an evaluation or a perplexity, which takes seconds."""
BATCHES_OF_GAIN = 50
"""Batches used to fit the two numbers."""


@dataclass
class DiscriminatorTask:
    """Batches of sentences and contexts, whose likeness a discriminator weighs.

    Parameters
    ----------
    fixed : ndarray of float, shape (n_sentences, n_fixed)
        Fixed vectors of all sentences of the corpus.
    documents, codes : ndarray of int64, shape (n_sentences,)
        Document of each sentence, and a number that is the same for equal sentences.
    centres : ndarray of int
        Rows of the sentences to learn from.
    seed : int
        Seeds the order of centres.
    """

    fixed: np.ndarray
    documents: np.ndarray
    codes: np.ndarray
    centres: np.ndarray
    seed: int

    def batches(self) -> list[np.ndarray]:
        """Return the rows of the centres of each batch; every centre is in one of them."""
        order = run_order(self.documents[self.centres], np.random.default_rng([self.seed, 0]))
        return np.array_split(self.centres[order], max(1, round(len(order) / SENTENCES_PER_STEP)))

    def likeness(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the likeness of all centres of a batch to all its contexts, and their weights."""
        left, centre, right = (self.fixed[rows + step].astype(np.float32) for step in (-1, 0, 1))
        documents = self.documents[rows]
        # A sentence's neighbours may replace each other.
        near = np.abs(rows[:, np.newaxis] - rows) < RUN
        near &= documents[:, np.newaxis] == documents
        weights = fit_weights(documents, self.codes[rows], excluded=near)
        return (left + right) @ centre.T, weights

    def loss(self, head: Likeness) -> float:
        """Return the mean loss of fixed batches."""
        batches = self.batches()[: max(1, MOST_HELD_OUT // SENTENCES_PER_STEP)]
        found = map(self.likeness, batches)
        return float(np.mean([fit_loss(head.gain * x + head.bias, shares) for x, shares in found]))


def fit_gain(task: DiscriminatorTask, held_out: DiscriminatorTask) -> tuple[Likeness, Learned]:
    """Return gain and bias with the least loss.

    The gain is at least 1, since similar sentences fit together even if a small corpus does not
    show it.

    Parameters
    ----------
    task : DiscriminatorTask
        Its first batches are used.
    held_out : DiscriminatorTask
        Its loss is the score, if it has any centres.

    Returns
    -------
    head : Likeness
        Without any negatives, the default.
    learned : Learned
        One step, or none without any negatives.
    """
    found = []
    for rows in task.batches()[:BATCHES_OF_GAIN]:
        x, shares = task.likeness(rows)
        if shares.any():
            signs = 2 * np.eye(len(rows)) - 1
            found.append([each.astype(np.float64).ravel() for each in (x, signs, shares)])
    if not found:
        return Likeness(), Learned([], [], True)
    x, signs, shares = (np.concatenate(each) for each in zip(*found, strict=True))
    shares = shares / len(found)

    def loss(given: np.ndarray) -> tuple[float, list[float]]:
        margins = signs * (given[0] * x + given[1])
        slopes = -shares * signs * expit(-margins)
        return float(shares @ np.logaddexp(0, -margins)), [float(slopes @ x), float(slopes.sum())]

    bounds = [(1.0, None), (None, None)]
    best = minimize(loss, (5.0, -1.0), jac=True, bounds=bounds, method="L-BFGS-B")
    head = Likeness(*map(float, best.x))
    scores = [(1, held_out.loss(head))] if len(held_out.centres) else []
    return head, Learned([float(best.fun)], scores, True)


def run_order(documents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Order centres so that runs of neighbours and of centres of one document stay together.

    Parameters
    ----------
    documents : ndarray of int, shape (n,)
        Document of each centre; centres of one document are consecutive.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    order : ndarray of int, shape (n,)
        Positions of the centres.
    """
    groups = []
    for document in np.split(np.arange(len(documents)), np.flatnonzero(np.diff(documents)) + 1):
        # Runs of a document start at a random position, so all neighbours meet over time.
        cuts = np.arange(rng.integers(1, RUN + 1), len(document), RUN)
        runs = np.split(document, cuts)
        shuffled = [runs[place] for place in rng.permutation(len(runs))]
        for start in range(0, len(runs), RUNS_OF_DOCUMENT):
            groups.append(np.concatenate(shuffled[start : start + RUNS_OF_DOCUMENT]))
    return np.concatenate([groups[place] for place in rng.permutation(len(groups))])


PLACES = ("left", "sentence", "right")
"""Names of the generated sentences, in the order of places."""
CONTEXTS_PER_STEP = 48
"""Contexts per step."""
BATCHES_OF_POOL = 50
"""Number of batches that are sorted by length together, so that padding is short."""


class GeneratorTask:
    """Batches and loss of a generator, for `train_network`.

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
        n_batches = -(-len(rows) // CONTEXTS_PER_STEP)
        # Contexts are sorted by their longest sentence, since all others are padded to it.
        longest = np.max([self.lengths[rows + step] for step in (-1, 0, 1)], axis=0)
        pool = np.arange(len(rows)) // (CONTEXTS_PER_STEP * BATCHES_OF_POOL)
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
        counts : ndarray of int, shape (n_tokens,)
            Token counts of the training sentences.

        Returns
        -------
        perplexities : dict of str to float
            By the names in `PLACES`, and "unigram" for sentences by token frequencies alone.
        """
        import torch

        names = [*PLACES, "unigram"]
        sums, n_tokens = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0)
        for rows in self._evaluated():
            for place, name in enumerate(PLACES):
                n = int(self.lengths[rows + place - 1].sum()) + len(rows)
                with torch.inference_mode():
                    sums[name] += n * float(self.loss(rows, place))
                n_tokens[name] += n
            ids, lengths = self.table.padded(rows)
            means = unigram_log_likelihood(counts, ids, lengths)
            sums["unigram"] -= float((means * (lengths + 1)).sum())
        n_tokens["unigram"] = n_tokens["sentence"]
        return {name: float(np.exp(sums[name] / n_tokens[name])) for name in names}

    def _evaluated(self) -> list[np.ndarray]:
        return self.batches(0)[: max(1, MOST_HELD_OUT // CONTEXTS_PER_STEP)]


def token_counts(table: IdTable, rows: np.ndarray, n_tokens: int) -> np.ndarray:
    """Count the tokens of sentences; the end of each sentence counts as `END`."""
    inside = np.zeros(len(table), dtype=bool)
    inside[rows] = True
    within = np.repeat(inside, np.asarray(table.lengths))
    counts = np.bincount(np.asarray(table.values)[within], minlength=n_tokens)
    counts[END] = len(rows)
    return counts

"""Training of the networks of contexts: the loop, the discriminator's task and the generator's."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from film.contexts import END, IdTable, unigram_log_likelihood

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
    task: Any,
    title: str,
    epochs: float,
    learning_rate: float,
    seed: int,
    *,
    evaluate: Callable[[], float] | None,
    verbose: int,
) -> Learned:
    """Train a network in place with Adam, and keep the weights of the best evaluation.

    Parameters
    ----------
    task : DiscriminatorTask or GeneratorTask
        Has ``network``, ``batches(epoch)`` and ``loss(batch)``.
    title : str
        Name of the network for progress and warnings.
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
            tqdm(total=total, desc=title, disable=not verbose) as bar,
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
                    raise ValueError(f"the loss of the {title} is {value} at step {len(losses)}")
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
            f"training of the {title} was interrupted after step {len(losses)} of {total}; its "
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


def sentence_states(network: Any, tokens: Any, fixed: Any) -> Any:
    """Return the states of sentences by their tokens, or else their fixed vectors, as a tensor."""
    import torch

    if tokens is not None:
        return network.states(*tokens)
    device = next(network.parameters()).device
    return torch.from_numpy(np.asarray(fixed, dtype=np.float32)).to(device)


@dataclass
class DiscriminatorTask:
    """Batches and loss of a discriminator, for `train_network`.

    Parameters
    ----------
    network : torch.nn.Module
        A `Discriminator` of tokens, or a `Likeness` of fixed vectors.
    table : IdTable or None
        Tokens of all sentences of the corpus, if the network reads tokens.
    fixed : ndarray of float, shape (n_sentences, n_fixed), or None
        Fixed vectors of all sentences, if it does not.
    documents, codes : ndarray of int64, shape (n_sentences,)
        Document of each sentence, and a number that is the same for equal sentences.
    centres : ndarray of int
        Rows of the sentences to learn from.
    seed : int
        Seeds the order of centres.
    """

    network: Any
    table: Any
    fixed: Any
    documents: np.ndarray
    codes: np.ndarray
    centres: np.ndarray
    seed: int

    def batches(self, epoch: int) -> list[np.ndarray]:
        """Return the rows of the centres of each batch; every centre is in one of them."""
        order = run_order(self.documents[self.centres], np.random.default_rng([self.seed, epoch]))
        return np.array_split(self.centres[order], max(1, round(len(order) / SENTENCES_PER_STEP)))

    def encoded(self, rows: np.ndarray) -> tuple[Any, Any]:
        """Return the vectors of centres and of their contexts, two tensors of shape (n, q)."""
        needed, place = np.unique(rows[:, np.newaxis] + [-1, 0, 1], return_inverse=True)
        left, centre, right = place.reshape(-1, 3).T
        tokens = None if self.table is None else self.table.padded(needed)
        fixed = None if self.fixed is None else self.fixed[needed]
        states = sentence_states(self.network, tokens, fixed)
        lefts, rights = self.network.left(states), self.network.right(states)
        return self.network.centre(states[centre]), lefts[left] + rights[right]

    def contexts(self, rows: np.ndarray) -> np.ndarray:
        """Return the vectors of the contexts of some centres, (n, q)."""
        import torch

        with torch.inference_mode():
            return self.encoded(rows)[1].cpu().numpy()

    def logits(self, rows: np.ndarray) -> tuple[Any, Any]:
        """Return the logits of all centres of a batch in all its contexts, and their weights."""
        import torch

        from film.contexts import fit_weights

        centres, contexts = self.encoded(rows)
        documents, codes = self.documents[rows], self.codes[rows]
        # A sentence's neighbours may replace each other.
        near = np.abs(rows[:, np.newaxis] - rows) < RUN
        near &= documents[:, np.newaxis] == documents
        on_device = (torch.from_numpy(each).to(centres.device) for each in (documents, codes, near))
        documents, codes, near = on_device
        return contexts @ centres.T, fit_weights(documents, codes, excluded=near)

    def loss(self, rows: np.ndarray) -> Any:
        """Return the cross-entropy of all centres of a batch in all its contexts (`fit_loss`)."""
        from film.contexts import fit_loss

        return fit_loss(*self.logits(rows))

    def held_out_loss(self) -> float:
        """Return the mean loss of fixed batches."""
        batches = self.batches(0)[: max(1, MOST_HELD_OUT // SENTENCES_PER_STEP)]
        return float(np.mean([float(self.loss(rows)) for rows in batches]))


def fit_gain(task: DiscriminatorTask, evaluate: Callable[[], float] | None) -> Learned:
    """Set gain and bias, the only parameters of the default `Likeness`, to the least loss.

    The gain is at least 1, since similar sentences fit together even if a small corpus does not
    show it.

    Parameters
    ----------
    task : DiscriminatorTask
        Its first batches are used.
    evaluate : callable or None
        Returns the loss of held-out rows.

    Returns
    -------
    learned : Learned
        One step; without any negatives there is no step, and both numbers stay.
    """
    import torch

    head = task.network
    start = {name: value.clone() for name, value in head.state_dict().items()}
    found = []
    with torch.inference_mode():
        head.root_gain.fill_(1.0)
        head.bias.zero_()
        for rows in task.batches(0)[:BATCHES_OF_GAIN]:
            logits, weights = task.logits(rows)
            if weights.any():
                signs = 2 * torch.eye(len(rows)) - 1
                found.append([each.double().cpu().ravel() for each in (logits, signs, weights)])
    if not found:
        head.load_state_dict(start)
        return Learned([], [], True)
    x, signs, shares = (torch.cat(each).numpy() for each in zip(*found, strict=True))
    shares = shares / len(found)

    def loss(given: np.ndarray) -> tuple[float, list[float]]:
        margins = signs * (given[0] * x + given[1])
        slopes = -shares * signs * expit(-margins)
        return float(shares @ np.logaddexp(0, -margins)), [float(slopes @ x), float(slopes.sum())]

    bounds = [(1.0, None), (None, None)]
    best = minimize(loss, (5.0, -1.0), jac=True, bounds=bounds, method="L-BFGS-B")
    with torch.inference_mode():
        head.root_gain.fill_(float(np.sqrt(best.x[0])))
        head.bias.fill_(float(best.x[1]))
        scores = [] if evaluate is None else [(1, evaluate())]
    return Learned([float(best.fun)], scores, True)


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

"""Training of the discriminator: its batches and its loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from estimators.contexts.training.network_training import Learned

BATCH_SIZE = 192
"""Sentences and contexts per step; each sentence is compared with each context."""
RUN, RUNS_OF_DOCUMENT = 8, 3
"""Neighbouring centres per run, whose sentences also serve as left and right sentences, and runs
of one document per batch, which are each other's negatives."""
MOST_HELD_OUT = 2048
"""Maximum number of held-out centres of an evaluation, which takes some seconds."""
BATCHES_OF_GAIN = 50
"""Batches used to fit the two numbers."""


def sentence_states(network: Any, tokens: Any, fixed: Any) -> Any:
    """Return the states of sentences, a tensor of shape (n, width).

    Parameters
    ----------
    network : torch.nn.Module
        A `Discriminator`, or an `Interaction` over fixed vectors alone.
    tokens : tuple (ids, lengths) or None
        Tokens of the sentences, if the network reads tokens.
    fixed : ndarray of float, shape (n, n_fixed), or None
        Fixed vectors of the sentences, appended to the network's states.
    """
    import torch

    device = next(network.parameters()).device
    parts = []
    if tokens is not None:
        parts.append(network.states(*tokens))
    if fixed is not None:
        parts.append(torch.from_numpy(np.asarray(fixed, dtype=np.float32)).to(device))
    return torch.cat(parts, dim=1)


@dataclass
class DiscriminatorTask:
    """Batches and loss of a discriminator, for `train_network`.

    Parameters
    ----------
    network : torch.nn.Module
        A `Discriminator`, or an `Interaction` over fixed vectors alone.
    table : IdTable or None
        Tokens of all sentences of the corpus, if the network reads tokens.
    fixed : ndarray of float, shape (n_sentences, n_fixed), or None
        Fixed vectors of all sentences.
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
        return np.array_split(self.centres[order], max(1, round(len(order) / BATCH_SIZE)))

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
        batches = self.batches(0)[: max(1, MOST_HELD_OUT // BATCH_SIZE)]
        return float(np.mean([float(self.loss(rows)) for rows in batches]))


def fit_gain(task: DiscriminatorTask, evaluate: Callable[[], float] | None) -> Learned:
    """Set gain and bias, the only parameters of the default `Interaction`, to the least loss.

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

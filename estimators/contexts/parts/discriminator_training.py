"""Training of the discriminator: which sentences meet in a batch, and what it costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from estimators.contexts.parts.network_training import Learned

RUN, RUNS_OF_DOCUMENT = 8, 3
"""A batch takes runs of so many neighbouring centres, whose sentences serve as left, centre and
right ones, and so many runs of one document, which are each other's negatives."""
MOST_HELD_OUT = 2048
"""Held-out centres on which training is judged: some seconds each time."""
BATCHES_OF_GAIN = 50
"""Batches by which two numbers are fitted."""
ROWS_OF_BLOCK = 8192
"""Sentences whose states are computed and held at once."""


class SentenceStates:
    """States of the sentences of a corpus, and the vectors by which they judge each other.

    Parameters
    ----------
    network : torch.nn.Module
        A `Discriminator` or `BagDiscriminator`; or an `Interaction` over fixed states alone.
    table : IdTable or None
        Tokens of the sentences, where the network reads them.
    frozen : ndarray of float, shape (n_sentences, width), or None
        Fixed states of all sentences; where the network reads tokens, they stand behind its own.
    device : str
        Where the network is.
    """

    def __init__(self, network: Any, table: Any, frozen: Any, device: str) -> None:
        self.network, self.table, self.frozen, self.device = network, table, frozen, device

    def of_rows(self, rows: np.ndarray) -> Any:
        """States of sentences of the corpus, a tensor of shape (n, width)."""
        tokens = None if self.table is None else self.table.padded(rows)
        return self.of(tokens, None if self.frozen is None else self.frozen[rows])

    def of(self, tokens: Any, fixed: Any) -> Any:
        """States of sentences by their tokens (ids, lengths) and fixed states, or one of both."""
        import torch

        parts = []
        if tokens is not None:
            given = (torch.from_numpy(np.asarray(each, dtype=np.int64)) for each in tokens)
            parts.append(self.network.states(*(each.to(self.device) for each in given)))
        if fixed is not None:
            states = torch.from_numpy(np.asarray(fixed, dtype=np.float32))
            parts.append(states.to(self.device))
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def contexts_of(self, states: Any, place: np.ndarray, sides: int) -> Any:
        """Vectors of contexts: the mean of those of their sentences, left and right added.

        Parameters
        ----------
        states : tensor, shape (n, width)
            Of some sentences.
        place : ndarray of int, shape (c, 2 * sides + 1)
            Where among them the sentences of each context are, from the first on.
        sides : int
            Sentences to the left, and to the right.

        Returns
        -------
        vectors : tensor, shape (c, q)
            Their product with the vector of a centre sentence is its logit.
        """
        lefts, rights = self.network.left(states), self.network.right(states)
        parts = [lefts[place[:, k]] for k in range(sides)]
        parts += [rights[place[:, k]] for k in range(sides + 1, 2 * sides + 1)]
        return sum(parts[1:], start=parts[0]) / sides


class DiscriminatorTask:
    """Batches and loss of a discriminator, as `train_network` takes them.

    Parameters
    ----------
    states : SentenceStates
        With the network to train.
    centres : ndarray of int, shape (n,)
        Rows to learn from, ascending.
    documents : ndarray of int, shape (n_sentences,)
        Document of each sentence.
    codes : ndarray of int, shape (n_sentences,)
        Equal for equal texts.
    sides, batch_size, seed : int
        Sentences a side; triples of a batch; seed of the batches.
    """

    def __init__(
        self,
        states: SentenceStates,
        centres: np.ndarray,
        documents: np.ndarray,
        codes: np.ndarray,
        *,
        sides: int,
        batch_size: int,
        seed: int,
    ) -> None:
        self.states, self.centres, self.codes = states, centres, codes
        self.documents = documents
        self.sides, self.batch_size, self.seed = sides, batch_size, seed

    def batches(self, epoch: int) -> list[np.ndarray]:
        """Rows of the centres of each batch, every centre in one of them."""
        order = run_order(self.documents[self.centres], np.random.default_rng([self.seed, epoch]))
        n_batches = max(1, round(len(order) / self.batch_size))
        return np.array_split(self.centres[order], n_batches)

    def loss(self, rows: np.ndarray) -> Any:
        """Cross-entropy of all centres of a batch in all its contexts (`fit_loss`)."""
        from film.contexts import fit_loss

        logits, weights = self.logits(rows)
        # Without anything to tell apart, a step of no effect.
        return logits.sum() * 0 if weights is None else fit_loss(logits, weights)

    def logits(self, rows: np.ndarray) -> tuple[Any, Any]:
        """Logits of all centres of a batch in all its contexts, and their weights.

        The weights are None where there is nothing to tell apart.
        """
        import torch

        from film.contexts import fit_weights

        states, network = self.states, self.states.network
        around = rows[:, np.newaxis] + np.arange(-self.sides, self.sides + 1)
        needed, place = np.unique(around, return_inverse=True)
        place = place.reshape(around.shape)
        found = states.of_rows(needed)
        contexts = states.contexts_of(found, place, self.sides)
        logits = contexts @ network.centre(found[place[:, self.sides]]).T
        documents, codes = self.documents[rows], self.codes[rows]
        near = np.abs(rows[:, np.newaxis] - rows) < max(RUN, self.sides + 1)
        near &= documents[:, np.newaxis] == documents
        if (near | (codes[:, np.newaxis] == codes)).all():
            return logits, None
        on_device = (torch.from_numpy(each).to(logits.device) for each in (documents, codes, near))
        documents, codes, near = on_device
        return logits, fit_weights(documents, codes, excluded=near)

    def held_out_loss(self) -> float:
        """Mean loss of batches that are always the same."""
        batches = self.batches(0)[: max(1, MOST_HELD_OUT // self.batch_size)]
        return float(np.mean([float(self.loss(rows)) for rows in batches]))


def fit_gain(task: DiscriminatorTask, judge: Callable[[], float] | None) -> Learned:
    """Set the gain and the bias of an `Interaction` that has nothing else, to those of least loss.

    The gain is at least 1: sentences that are alike fit together, whatever a small corpus says.

    Parameters
    ----------
    task : DiscriminatorTask
        Some batches of it are looked at.
    judge : callable or None
        Gives the loss of held-out rows.

    Returns
    -------
    learned : Learned
        One step; none, and both numbers as they were, where there is nothing to tell apart.
    """
    import torch

    started = time.perf_counter()
    head = task.states.network
    start = {name: value.clone() for name, value in head.state_dict().items()}
    likeness, targets, weights = [], [], []
    with torch.inference_mode():
        head.root_gain.fill_(1.0)
        head.bias.zero_()
        for rows in task.batches(0)[:BATCHES_OF_GAIN]:
            logits, given = task.logits(rows)
            if given is not None:
                likeness.append(logits.double().cpu().numpy().ravel())
                targets.append(np.eye(len(rows)).ravel())
                weights.append(given.double().cpu().numpy().ravel())
    if not likeness:
        head.load_state_dict(start)
        return Learned([], [], time.perf_counter() - started, True)
    x, signs = np.concatenate(likeness), 2 * np.concatenate(targets) - 1
    shares = np.concatenate(weights) / len(weights)

    def loss(given: np.ndarray) -> tuple[float, list[float]]:
        margins = signs * (given[0] * x + given[1])
        slopes = -shares * signs * expit(-margins)
        return float(shares @ np.logaddexp(0, -margins)), [float(slopes @ x), float(slopes.sum())]

    bounds = [(1.0, None), (None, None)]
    found = minimize(loss, (5.0, -1.0), jac=True, bounds=bounds, method="L-BFGS-B")
    with torch.inference_mode():
        head.root_gain.fill_(float(np.sqrt(found.x[0])))
        head.bias.fill_(float(found.x[1]))
        scores = [] if judge is None else [(1, judge())]
    return Learned([float(found.fun)], scores, time.perf_counter() - started, True)


def run_order(documents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Order centres so that short runs of neighbours, and runs of one document, stay together.

    Parameters
    ----------
    documents : ndarray of int, shape (n,)
        Document of each centre, ascending.
    rng : Generator
        Draws where runs begin, which of a document stand together, and their order.

    Returns
    -------
    order : ndarray of int, shape (n,)
        A permutation.
    """
    n = len(documents)
    is_first = np.r_[True, documents[1:] != documents[:-1]]
    first = np.flatnonzero(is_first)
    number = np.cumsum(is_first) - 1
    place = np.arange(n) - first[number]
    # Runs of a document begin at another place each time, so that all neighbours meet.
    offset = rng.integers(RUN, size=len(first))
    in_document = (place + offset[number]) // RUN
    begins = is_first | np.r_[True, in_document[1:] != in_document[:-1]]
    run = np.cumsum(begins) - 1
    document_of_run = number[begins]
    shuffled = rng.permutation(len(document_of_run))
    shuffled = shuffled[np.argsort(document_of_run[shuffled], kind="stable")]
    owner = document_of_run[shuffled]
    since = np.arange(len(owner)) - np.searchsorted(owner, owner)
    group_begins = (since % RUNS_OF_DOCUMENT) == 0
    group = np.cumsum(group_begins) - 1
    rank_of_group = rng.permutation(group[-1] + 1)
    rank = np.empty(len(owner), dtype=np.int64)
    rank[shuffled[np.argsort(rank_of_group[group], kind="stable")]] = np.arange(len(owner))
    return np.argsort(rank[run], kind="stable")


def write_context_vectors(
    write: Callable[[slice, np.ndarray], None],
    states: SentenceStates,
    centres: np.ndarray,
    sides: int,
    advance: Callable[[str], None] | None,
) -> None:
    """Compute the vectors of all contexts of a corpus, block by block.

    Parameters
    ----------
    write : callable
        Takes the contexts of a block, by their place among ``centres``, and their vectors
        (b, q), float32.
    states : SentenceStates
        With a trained network.
    centres : ndarray of int, shape (n,)
        Rows of the contexts, ascending.
    sides : int
        Sentences a side.
    advance : callable or None
        Called after each block.
    """
    import torch

    with torch.inference_mode():
        for start in range(0, len(centres), ROWS_OF_BLOCK):
            block = slice(start, min(start + ROWS_OF_BLOCK, len(centres)))
            around = centres[block][:, np.newaxis] + np.arange(-sides, sides + 1)
            needed, place = np.unique(around, return_inverse=True)
            found = states.of_rows(needed)
            vectors = states.contexts_of(found, place.reshape(around.shape), sides)
            write(block, vectors.cpu().numpy())
            if advance is not None:
                advance(f"{block.stop} of {len(centres)}")

"""Training of the generator: one network that learns all three tasks, and its perplexity."""

from __future__ import annotations

from typing import Any

import numpy as np

from film.contexts import END, IdTable, unigram_log_likelihood

PLACES = ("left", "sentence", "right")
"""Names of the generated sentences, in the order of places."""
BATCH_SIZE = 48
"""Contexts per step."""
BATCHES_OF_POOL = 50
"""Number of batches that are sorted by length together, so that padding is short."""
MOST_HELD_OUT = 2048
"""Maximum number of held-out centres for evaluation and perplexity."""


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
        return self.batches(0)[: max(1, MOST_HELD_OUT // BATCH_SIZE)]


def token_counts(table: IdTable, rows: np.ndarray, n_tokens: int) -> np.ndarray:
    """Count the tokens of sentences; the end of each sentence counts as `END`."""
    inside = np.zeros(len(table), dtype=bool)
    inside[rows] = True
    within = np.repeat(inside, np.asarray(table.lengths))
    counts = np.bincount(np.asarray(table.values)[within], minlength=n_tokens)
    counts[END] = len(rows)
    return counts

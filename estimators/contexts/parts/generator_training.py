"""Training of the generators: one network that learns all three tasks, and its perplexity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from estimators.contexts.parts.building import split_centres
from estimators.contexts.parts.network_training import adopt_arrays, arrays_of, train_network
from estimators.contexts.parts.part_folder import PartFolder, read_part, read_weights
from estimators.contexts.parts.pretrained import (
    encode_corpus,
    files_digest,
    load_pretrained,
    open_pretrained,
    save_pretrained,
)
from estimators.contexts.parts.recipe import Recipe
from film.contexts import END, IdTable, SentenceCorpus, unigram_log_likelihood, vocabulary_size

PLACES = ("left", "sentence", "right")
"""Names of what is generated, in the order of places."""
BATCHES_OF_POOL = 50
"""Sentences of like length stand in a batch: so many batches are sorted by length together."""
MOST_HELD_OUT = 2048
"""Held-out centres on which training is judged, and perplexity is measured."""
N_FREQUENT = 1000
"""Tokens that are told apart in one step; rare ones in two, for a fraction of the products."""


class GeneratorTask:
    """Batches and loss of a generator, as `train_network` takes them.

    Parameters
    ----------
    network : Generator
        That is trained.
    table : IdTable
        Tokens of the sentences.
    centres : ndarray of int, shape (n,)
        Rows to learn from, ascending.
    batch_size, seed : int
        Contexts of a batch; seed of the batches.
    """

    def __init__(
        self, network: Any, table: IdTable, centres: np.ndarray, *, batch_size: int, seed: int
    ) -> None:
        self.network, self.table, self.centres = network, table, centres
        self.batch_size, self.seed = batch_size, seed
        self.lengths = np.asarray(table.lengths)

    def batches(self, epoch: int) -> list[np.ndarray]:
        """Rows of the centres of each batch, every centre in one of them."""
        rng = np.random.default_rng([self.seed, 2, epoch])
        rows = self.centres[rng.permutation(len(self.centres))]
        n_batches = -(-len(rows) // self.batch_size)
        # Of contexts of like length the longest sentence counts, as all are padded to it.
        longest = np.max([self.lengths[rows + step] for step in (-1, 0, 1)], axis=0)
        pool = np.arange(len(rows)) // (self.batch_size * BATCHES_OF_POOL)
        batches = np.array_split(rows[np.lexsort((longest, pool))], n_batches)
        return [batches[number] for number in rng.permutation(n_batches)]

    def loss(self, rows: np.ndarray, places: Any = (0, 1, 2)) -> Any:
        """Cross-entropy of the sentences at some places, in nats per token."""
        return self.network.loss([self.table.padded(rows + step) for step in (-1, 0, 1)], places)

    def held_out_loss(self) -> float:
        """Mean loss of batches that are always the same."""
        return float(np.mean([float(self.loss(rows)) for rows in self._judged()]))

    def perplexities(self, counts: np.ndarray) -> dict[str, float]:
        """Perplexity per token of each task, ends of sentences included, and of a unigram model.

        Parameters
        ----------
        counts : ndarray of int, shape (n_tokens,)
            Of tokens in the sentences that were learned from, as `unigram_log_likelihood` takes
            them.
        """
        import torch

        sums: dict[str, float] = dict.fromkeys([*PLACES, "unigram"], 0.0)
        n_tokens: dict[str, int] = dict.fromkeys(PLACES, 0)
        for rows in self._judged():
            for place, name in enumerate(PLACES):
                n = int(self.lengths[rows + place - 1].sum()) + len(rows)
                with torch.inference_mode():
                    sums[name] += n * float(self.loss(rows, place))
                n_tokens[name] += n
            ids, lengths = self.table.padded(rows)
            means = unigram_log_likelihood(counts, ids, lengths)
            sums["unigram"] -= float((means * (lengths + 1)).sum())
        n_tokens["unigram"] = n_tokens["sentence"]
        return {name: float(np.exp(sums[name] / n_tokens[name])) for name in sums}

    def _judged(self) -> list[np.ndarray]:
        return self.batches(0)[: max(1, MOST_HELD_OUT // self.batch_size)]


def build_generator(
    root: Path, corpus: SentenceCorpus, table: IdTable, tokenizer: str, source: str, recipe: Recipe
) -> tuple[str, bool]:
    """Train the generator.

    Parameters
    ----------
    source : str
        Name of the part that the table is of.

    Returns
    -------
    name : str
        Of the part.
    is_complete : bool
        False where training was interrupted.
    """
    plan, is_pretrained = recipe.generator_plan, isinstance(recipe.generator, Path)
    said = {
        "from": corpus.digest if is_pretrained else source,
        "plan": vars(plan),
        "size": files_digest(recipe.generator) if is_pretrained else recipe.generator,
        "is_pretrained": is_pretrained,
        "sides": recipe.sides,
        "n_tokens": vocabulary_size(tokenizer),
        "max_length": recipe.max_length,
        "batch_size": recipe.generator_batch_size,
        "held_out": recipe.held_out,
    }
    part = PartFolder(root, "generator", said)
    if (found := part.complete()) is not None:
        return part.name, found["is_complete"]
    documents = np.asarray(corpus.documents, dtype=np.int64)
    # Those of the discriminator, so that the same documents are held out.
    centres = corpus.centres(recipe.sides)
    learned_from, held = split_centres(centres, documents, recipe.held_out, plan.seed)
    if is_pretrained:
        network = load_pretrained(recipe.generator, recipe.max_length, recipe.device)
        table = encode_corpus(corpus, network)
        table.write(part.folder)
        counts = token_counts(table, learned_from, len(network.tokenizer))
    else:
        counts = token_counts(table, learned_from, said["n_tokens"])
        network = generator_of(said, recipe.device, counts=counts, seed=plan.seed)
    network.requires_grad_(True)
    settings = {"batch_size": recipe.generator_batch_size, "seed": plan.seed}
    task = GeneratorTask(network, table, learned_from, **settings)
    test = GeneratorTask(network, table, held, **settings)
    run = train_network(
        network,
        task.batches,
        task.loss,
        plan,
        judge=test.held_out_loss if len(held) else None,
        checkpoint=part.checkpoint() if recipe.keeps else None,
        verbose=recipe.verbose,
        title="generator",
    )
    part.finish(
        {
            "losses": run.losses,
            "scores": run.scores,
            "seconds": run.seconds,
            "perplexities": test.perplexities(counts) if len(held) else {},
        },
        None if is_pretrained else arrays_of(network),
        is_complete=run.is_complete,
        digest=save_pretrained(part, network) if is_pretrained else None,
    )
    return part.name, run.is_complete


def token_counts(table: IdTable, rows: np.ndarray, n_tokens: int) -> np.ndarray:
    """Count tokens of sentences; the end of each counts as `END`, where a unigram model looks."""
    inside = np.zeros(len(table), dtype=bool)
    inside[rows] = True
    lengths = np.asarray(table.lengths)
    counts = np.bincount(np.asarray(table.values)[np.repeat(inside, lengths)], minlength=n_tokens)
    counts[END] = len(rows)
    return counts


def generator_of(said: dict[str, Any], device: str, *, counts: Any = None, seed: int = 0) -> Any:
    """Give an untrained generator by what its part is made of."""
    import torch

    from film.contexts import Generator, Size

    size = said["size"]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        found = Generator(
            said["n_tokens"],
            size if isinstance(size, str) else Size(*size),
            max_length=said["max_length"],
            n_frequent=N_FREQUENT,
            # Hardly any sentence is seen twice.
            dropout=0.0,
            counts=counts,
        )
    return found.to(device).eval()


def open_generator(folder: Path, device: str, table: IdTable) -> tuple[Any, IdTable]:
    """Give the trained generator of a part, and the corpus in its tokens."""
    said = read_part(folder)["made_of"]
    if said["is_pretrained"]:
        return open_pretrained(folder, device)
    network = generator_of(said, device)
    adopt_arrays(network, read_weights(folder))
    return network.requires_grad_(False).eval(), table

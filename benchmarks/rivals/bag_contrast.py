"""Bags of words contrasted on a corpus: next sentences, or two crops of one passage.

A sentence is the sum of its words' vectors. Each of two texts that belong together has to find the
other among the batch (InfoNCE, both ways): a sentence and its next one, or two random crops of one
passage (arXiv 2508.03453). From scratch, on one core, in minutes: what a slower method has to beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.book_words import BookWords

NEXT, CROPS = "next sentence", "crops"


class BagSettings(NamedTuple):
    """How bags are trained; crops and passages count words."""

    positives: str = NEXT
    width: int = 300
    epochs: float = 4.0
    batch: int = 512
    learning_rate: float = 1e-3
    temperature: float = 0.05
    passage: int = 60
    crop: tuple[int, int] = (10, 30)
    idf_power: float = 1.0
    seed: int = 0


class Bags:
    """Vectors of words that were trained, and of texts as sums of them."""

    def __init__(self, corpus: BookWords, vectors: NDArray[np.float32]) -> None:
        self.corpus, self.vectors = corpus, vectors

    def transform(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Sum the vectors of each text's words."""
        return np.stack([self.vectors[self.corpus.numbers(text)].sum(axis=0) for text in texts])


def train_bags(corpus: BookWords, settings: BagSettings) -> Bags:
    """Train on the whole corpus, `epochs` times over."""
    import torch
    from torch.nn import functional

    rng = np.random.default_rng(settings.seed)
    torch.manual_seed(settings.seed)
    idf = corpus.idf()
    start = rng.standard_normal((len(idf), settings.width)) / np.sqrt(settings.width)
    start *= ((idf / idf.mean()) ** settings.idf_power)[:, None]
    bags = torch.nn.EmbeddingBag.from_pretrained(
        torch.tensor(start, dtype=torch.float32), freeze=False, mode="sum", sparse=True
    )
    scale = torch.tensor(1 / settings.temperature, requires_grad=True)
    optimizers: list[Any] = [
        torch.optim.SparseAdam(list(bags.parameters()), lr=settings.learning_rate),
        torch.optim.Adam([scale], lr=settings.learning_rate),
    ]
    pairs = _next_pairs if settings.positives == NEXT else _crop_pairs
    n_examples = len(corpus.documents)
    n_steps = max(1, int(settings.epochs * n_examples / settings.batch))
    for step in range(n_steps):
        texts = pairs(corpus, settings, rng)
        sides = [functional.normalize(bags(*map(torch.from_numpy, side)), dim=1) for side in texts]
        logits = scale * sides[0] @ sides[1].T
        true = torch.arange(len(logits))
        loss = functional.cross_entropy(logits, true) + functional.cross_entropy(logits.T, true)
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = settings.learning_rate * (1 - step / n_steps)
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    return Bags(corpus, bags.weight.detach().numpy())


Flat = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Words of all texts, one after another, and where each text begins."""


def _next_pairs(
    corpus: BookWords, settings: BagSettings, rng: np.random.Generator
) -> tuple[Flat, Flat]:
    rows = rng.integers(0, len(corpus.documents) - 1, size=settings.batch)
    rows = np.unique(rows[corpus.documents[rows] == corpus.documents[rows + 1]])
    first, second = (
        _flat(corpus.ids, corpus.starts[at], corpus.starts[at + 1]) for at in (rows, rows + 1)
    )
    return first, second


def _crop_pairs(
    corpus: BookWords, settings: BagSettings, rng: np.random.Generator
) -> tuple[Flat, Flat]:
    """Two spans of words of each of some passages; a passage ends with its document."""
    opens = corpus.starts[np.searchsorted(corpus.documents, np.unique(corpus.documents))]
    closes = np.append(opens[1:], len(corpus.ids))
    begin = rng.integers(0, len(corpus.ids), size=settings.batch)
    end = np.minimum(begin + settings.passage, closes[np.searchsorted(opens, begin, "right") - 1])
    sides = []
    for _ in range(2):
        lengths = rng.integers(settings.crop[0], settings.crop[1] + 1, size=len(begin))
        lengths = np.minimum(lengths, end - begin)
        at = begin + rng.integers(0, end - begin - lengths + 1)
        sides.append(_flat(corpus.ids, at, at + lengths))
    return sides[0], sides[1]


def _flat(ids: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]) -> Flat:
    lengths = end - begin
    starts = np.cumsum(lengths) - lengths
    places = np.arange(lengths.sum()) + np.repeat(begin - starts, lengths)
    return ids[places], starts

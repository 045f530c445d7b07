"""What a step of training minimises: its rows and the loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from estimators.training.settings import Settings
from film.training import (
    allpairs_similarity,
    contrastive_loss,
    entailment_loss,
    l2_loss,
    n_pair_loss,
    pairwise_logistic_loss,
    rowpairs_similarity,
    triplet_loss,
    unit_rows,
    weighted_mean,
)


class Examples(NamedTuple):
    """Training rows; distinct texts are stored once."""

    tokens: Any  # Tokens, or TokenStates of a network over frozen vectors
    codes: np.ndarray  # (n, k) text numbers of each row: anchor, partner, optional hard negative
    y: np.ndarray | None  # (n,)
    weights: np.ndarray | None  # (N,), one per token of `tokens`


def chunks_of(lengths: np.ndarray, most_texts: int | None, most_tokens: int | None) -> list[slice]:
    """Split texts, sorted by length, into runs within the limits of texts and padded tokens."""
    found, start = [], 0
    while start < len(lengths):
        size = len(lengths) - start
        if most_texts is not None:
            size = min(size, most_texts)
        if most_tokens is not None:
            size = min(size, max(1, most_tokens // int(lengths[start])))
        found.append(slice(start, start + size))
        start += size
    return found


def padded(
    examples: Examples,
    flat: Any,
    texts: np.ndarray,
    order: np.ndarray,
    special_tokens: bool,
) -> tuple[Any, Any, Any]:
    """Reorder encoded tokens from ``order`` to their texts, shape (b, L, h).

    Returns
    -------
    x, mask, weights : tensors, shapes (b, L, h), (b, L) and (b, L)
        The mask excludes padding, and special tokens unless they are used; weights are None if
        the examples have none.
    """
    import torch

    tokens, device = examples.tokens, flat.device
    lengths = tokens.lengths[texts]
    longest = int(lengths.max())
    sorted_lengths = lengths[order]
    within = np.arange(sorted_lengths.sum()) - np.repeat(
        np.cumsum(sorted_lengths) - sorted_lengths, sorted_lengths
    )
    place = np.repeat(order * longest, sorted_lengths) + within
    source = np.repeat(tokens.starts[texts[order]], sorted_lengths) + within
    kept = np.zeros(len(texts) * longest, dtype=bool)
    kept[place] = special_tokens | ~tokens.is_special[source]
    values = flat.new_zeros(len(kept), flat.shape[1])
    values = values.index_copy(0, torch.from_numpy(place).to(device), flat)
    weights = None
    if examples.weights is not None:
        table = np.zeros(len(kept), dtype=np.float32)
        table[place] = examples.weights[source]
        weights = torch.from_numpy(table).to(device).view(len(texts), longest)
    mask = torch.from_numpy(kept).to(device)
    shape = len(texts), longest
    return values.view(*shape, -1), mask.view(shape), weights


def excluded(rows: np.ndarray) -> np.ndarray:
    """Return which candidates to leave out of a row's loss because they may be true partners.

    Rows are (anchor, partner, ...); candidates are the partners of all rows, then their negatives.
    Excluded are partners of other rows that share a text with the row, and negatives that are a
    text of the row. The row's own partner stays.
    """
    mine = rows[:, :2, np.newaxis]
    is_linked = (mine == rows[:, 0]).any(axis=1) | (mine == rows[:, 1]).any(axis=1)
    np.fill_diagonal(is_linked, False)
    others = [(mine == rows[:, j]).any(axis=1) for j in range(2, rows.shape[1])]
    return np.concatenate([is_linked, *others], axis=1)


class Batch(NamedTuple):
    """A batch: the texts of its rows, column by column."""

    x: Any  # (k, B, L, h)
    mask: Any  # (k, B, L)
    weights: Any  # (k, B, L), or k times None
    codes: np.ndarray  # (B, k) texts of the rows
    y: Any  # (B,), or None
    settings: Settings

    def similarity(self, first: int, second: int) -> Any:
        """Similarity of two columns, row by row."""
        x, mask, weights = self.x, self.mask, self.weights
        return rowpairs_similarity(
            x[first], x[second], mask[first], mask[second], self.settings.method,
            weights1=weights[first], weights2=weights[second],
        )  # fmt: skip


class Objective:
    """A loss, its own trainable weights, and the texts of a row that it uses.

    Attributes
    ----------
    module : torch.nn.Module or None
        Weights that are trained with the model's.
    """

    module: Any = None

    def start(self, width: int, settings: Settings, device: str) -> None:
        """Create ``module`` for token vectors of this width; may change torch's random state."""

    def chosen(self, codes: np.ndarray, rows: np.ndarray, epoch: int) -> np.ndarray:
        """Return the texts of rows that an epoch uses, shape (b, k)."""
        return codes[rows]

    def loss(self, batch: Batch) -> Any:
        """Return the loss of a batch."""
        raise NotImplementedError


class Ranking(Objective):
    """Pairs with higher scores should be more similar; scale and offset do not matter."""

    def loss(self, batch: Batch) -> Any:
        """`pairwise_logistic_loss`."""
        return pairwise_logistic_loss(batch.similarity(0, 1), batch.y, batch.settings.temperature)


class Contrast(Objective):
    """A text should be closer to its partner than to partners and negatives of other rows."""

    def loss(self, batch: Batch) -> Any:
        """`contrastive_loss` with the partners and hard negatives of all rows as candidates."""
        import torch

        settings, x, mask, weights = batch.settings, batch.x, batch.mask, batch.weights
        if settings.dtype != "float32":
            # Half-precision products are fast; they are summed in float32.
            x = x.to(getattr(torch, settings.dtype))
        weighed = weights[0] is not None
        similarity = allpairs_similarity(
            x[0], x[1:].flatten(0, 1), mask[0], mask[1:].flatten(0, 1), settings.method,
            weights1=weights[0], weights2=weights[1:].flatten(0, 1) if weighed else None,
        )  # fmt: skip
        left_out = torch.from_numpy(excluded(batch.codes)).to(x.device)
        return contrastive_loss(similarity, settings.temperature, left_out)


class Cosine(Objective):
    """The similarity of a pair should equal its score."""

    def loss(self, batch: Batch) -> Any:
        """`l2_loss`."""
        return l2_loss(batch.similarity(0, 1), batch.y)


class TripletOrder(Objective):
    """The second text of a row should be closer to the first than the third is, by a margin."""

    def loss(self, batch: Batch) -> Any:
        """`triplet_loss`."""
        margin = batch.settings.margin
        assert margin is not None
        return triplet_loss(batch.similarity(0, 1), batch.similarity(0, 2), margin)


class NPairs(Objective):
    """A text should have a higher cosine with its partner than with other texts of the batch.

    Partners of other rows of the same group, and negatives in the group, are excluded.

    Parameters
    ----------
    groups : ndarray of int, shape (n_texts,)
        Texts of one group are similar, those of different groups dissimilar.
    """

    def __init__(self, groups: np.ndarray) -> None:
        self.groups = groups

    def loss(self, batch: Batch) -> Any:
        """`n_pair_loss` of vectors of length 1/√τ."""
        import torch

        unit = unit_rows(batch.x[:, :, 0]) / batch.settings.temperature**0.5
        left_out = torch.from_numpy(excluded(self.groups[batch.codes])).to(unit.device)
        return n_pair_loss(unit[0], unit[1:].flatten(0, 1), left_out)


class Entailment(Objective):
    """Predict entailment, neutrality or contradiction from the vectors of two texts."""

    def start(self, width: int, settings: Settings, device: str) -> None:
        """Create the linear layer from both vectors and their difference to three classes."""
        import torch

        torch.manual_seed(settings.seed)
        self.module = torch.nn.Linear(3 * width, 3).to(device)

    def loss(self, batch: Batch) -> Any:
        """`entailment_loss`."""
        masses = [
            mask.to(x.dtype) if weights is None else weights
            for x, mask, weights in zip(batch.x, batch.mask, batch.weights, strict=True)
        ]
        u, v = map(weighted_mean, batch.x, masses, batch.mask)
        return entailment_loss(u, v, batch.y.long(), self.module)


class PairScore(Objective):
    """Score a pair that the model reads as one sequence, in an order drawn for each row.

    Column 0 of the codes has pairs in the given order, column 1 reversed. The seed draws the order
    of each row; the next epoch uses the other order.

    Parameters
    ----------
    is_binary : bool
        Whether scores are labels 0 and 1, to learn their log-odds.
    dropout : float
        Dropout rate of the head.
    arrays : dict of ndarray or None
        Initial weights of the head; None means random.
    """

    def __init__(
        self, is_binary: bool, dropout: float = 0.1, arrays: dict[str, np.ndarray] | None = None
    ) -> None:
        self.is_binary, self.dropout, self.given = is_binary, dropout, arrays
        self._turned: np.ndarray | None = None

    def start(self, width: int, settings: Settings, device: str) -> None:
        """Create the head."""
        import torch

        from film.networks import ScoringHead

        torch.manual_seed(settings.seed)
        self._rng = np.random.default_rng([settings.seed, 2])
        head = ScoringHead(width, self.dropout)
        if self.given is not None:
            head.load_state_dict({n: torch.from_numpy(v) for n, v in self.given.items()})
        self.module = head.to(device)

    def chosen(self, codes: np.ndarray, rows: np.ndarray, epoch: int) -> np.ndarray:
        """Return one order of each row."""
        if self._turned is None:
            self._turned = self._rng.integers(2, size=len(codes))
        return codes[rows, (self._turned[rows] + epoch) % 2][:, np.newaxis]

    def loss(self, batch: Batch) -> Any:
        """`l2_loss`, or the cross-entropy of labels."""
        import torch

        found = self.module(batch.x[0][:, 0])
        if not self.is_binary:
            return l2_loss(found, batch.y)
        return torch.nn.functional.binary_cross_entropy_with_logits(found, batch.y.to(found.dtype))


OBJECTIVES: dict[str, type[Objective]] = {
    "regression": Ranking,
    "binary": Ranking,
    "contrastive": Contrast,
    "l2": Cosine,
    "nli": Entailment,
    "triplet": TripletOrder,
}
"""Objectives by their names in the parameter ``objective``."""

"""Training objectives: losses on the token vectors of a batch of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from estimators.training.loop.batches import excluded
from estimators.training.loop.processes import Processes
from estimators.training.loop.settings import Settings
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


class Batch(NamedTuple):
    """A batch: the texts of this process, column by column, and row data of all processes."""

    x: Any  # (k, b, L, h)
    mask: Any  # (k, b, L)
    weights: Any  # (k, b, L), or k times None
    codes: np.ndarray  # (B, k) texts of the rows of all processes
    y: np.ndarray | None  # (B,)
    settings: Settings
    processes: Processes

    @property
    def own_y(self) -> Any:
        """Targets of this process's rows, on the device of its texts."""
        import torch

        assert self.y is not None
        own = self.y[self.processes.rank :: self.processes.size]
        return torch.from_numpy(own).to(self.x.device)

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
        """Return the loss of a batch; its mean over processes has the gradient of all rows."""
        raise NotImplementedError


class Ranking(Objective):
    """Pairs with higher scores should be more similar; scale and offset do not matter."""

    def loss(self, batch: Batch) -> Any:
        """`pairwise_logistic_loss` over the rows of all processes."""
        import torch

        found, processes = batch.similarity(0, 1), batch.processes
        y = np.asarray(batch.y)
        scores = np.concatenate([y[rank :: processes.size] for rank in processes.order])
        similarity = torch.cat(processes.gather(found))
        wanted = torch.from_numpy(scores).to(found.device)
        return pairwise_logistic_loss(similarity, wanted, batch.settings.temperature)


class Contrast(Objective):
    """A text should be closer to its partner than to partners and negatives of other rows."""

    def loss(self, batch: Batch) -> Any:
        """`contrastive_loss` with candidates of all processes."""
        import torch

        settings, processes, codes = batch.settings, batch.processes, batch.codes
        x, mask, weights = batch.x, batch.mask, batch.weights
        if settings.dtype != "float32":
            # Half-precision products are fast; they are summed in float32.
            x = x.to(getattr(torch, settings.dtype))
        others = [
            torch.cat([part for column in columns for part in column])
            for columns in (
                [processes.gather_padded(part[j]) for j in range(1, codes.shape[1])]
                for part in ((x, mask) if weights[0] is None else (x, mask, weights))
            )
        ]
        similarity = allpairs_similarity(
            x[0], others[0], mask[0], others[1], settings.method,
            weights1=weights[0], weights2=others[2] if len(others) > 2 else None,
        )  # fmt: skip
        left_out = excluded(
            codes[processes.rank :: processes.size],
            [codes[rank :: processes.size] for rank in processes.order],
        )
        return contrastive_loss(
            similarity, settings.temperature, torch.from_numpy(left_out).to(similarity.device)
        )


class Cosine(Objective):
    """The similarity of a pair should equal its score."""

    def loss(self, batch: Batch) -> Any:
        """`l2_loss`."""
        return l2_loss(batch.similarity(0, 1), batch.own_y)


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
        """`n_pair_loss` of vectors of length 1/√τ, with candidates of all processes."""
        import torch

        processes, groups = batch.processes, self.groups[batch.codes]
        unit = unit_rows(batch.x[:, :, 0])
        scaled = unit / batch.settings.temperature**0.5
        others = [part for j in range(1, len(scaled)) for part in processes.gather(scaled[j])]
        left_out = excluded(
            groups[processes.rank :: processes.size],
            [groups[rank :: processes.size] for rank in processes.order],
        )
        return n_pair_loss(
            scaled[0], torch.cat(others), torch.from_numpy(left_out).to(scaled.device)
        )


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
        return entailment_loss(u, v, batch.own_y.long(), self.module)


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
            return l2_loss(found, batch.own_y)
        return torch.nn.functional.binary_cross_entropy_with_logits(
            found, batch.own_y.to(found.dtype)
        )


OBJECTIVES: dict[str, type[Objective]] = {
    "regression": Ranking,
    "binary": Ranking,
    "contrastive": Contrast,
    "l2": Cosine,
    "nli": Entailment,
    "triplet": TripletOrder,
}
"""Objectives by their names in the parameter ``objective``."""

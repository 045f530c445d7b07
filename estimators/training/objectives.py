"""What a step of training minimises: its rows, those of other processes, and the loss."""

from __future__ import annotations

import os
from collections.abc import Callable
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
    masses: Callable[[Any], Any] | None = None,
) -> tuple[Any, Any, Any]:
    """Reorder encoded tokens from ``order`` to their texts, shape (b, L, h).

    ``masses`` returns learned token weights from vocabulary entries.

    Returns
    -------
    x, mask, weights : tensors, shapes (b, L, h), (b, L) and (b, L)
        The mask excludes padding, and special tokens unless they are used; weights are None if
        there are no given or learned weights.
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
    elif masses is not None:
        entries = np.zeros(len(kept), dtype=np.int64)
        entries[place] = tokens.ids[source]
        weights = masses(torch.from_numpy(entries).to(device)).view(len(texts), longest)
    mask = torch.from_numpy(kept).to(device)
    shape = len(texts), longest
    return values.view(*shape, -1), mask.view(shape), weights


def excluded(own: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    """Return which candidates to leave out of a row's loss because they may be true partners.

    Rows are (anchor, partner, ...); candidates are the partners of all parts, then their negatives.
    Excluded are partners of other rows that share a text with the row, and negatives that are a
    text of the row. The row's own partner stays.
    """
    rows = np.concatenate(parts)
    mine = own[:, :2, np.newaxis]
    is_linked = (mine == rows[:, 0]).any(axis=1) | (mine == rows[:, 1]).any(axis=1)
    columns = [is_linked, *((mine == rows[:, j]).any(axis=1) for j in range(2, rows.shape[1]))]
    found = np.concatenate(columns, axis=1)
    found[np.arange(len(own)), np.arange(len(own))] = False
    return found


class Processes:
    """The processes of a run; a single one unless several were launched.

    Parameters
    ----------
    device : str
        Device of this process.

    Attributes
    ----------
    size : int
        Number of processes.
    rank : int
        Number of this process, from 0.
    order : list of int
        All process numbers, this one first: the order of gathered parts.

    Raises
    ------
    ImportError
        If there are several processes and Accelerate is not installed.
    """

    def __init__(self, device: str) -> None:
        self.size, self.rank, self._state = 1, 0, None
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            try:
                from accelerate import PartialState
            except ImportError as error:
                raise ImportError(
                    "training was launched with several processes, which needs Accelerate; "
                    "install the extra distributed (pip install 'film-metric[distributed]')"
                ) from error
            self._state = PartialState(cpu=device == "cpu")
            self.size, self.rank = self._state.num_processes, self._state.process_index
        others = [rank for rank in range(self.size) if rank != self.rank]
        self.order = [self.rank, *others]

    @property
    def is_main(self) -> bool:
        """Whether this process writes files."""
        return self.rank == 0

    def gather(self, x: Any) -> list[Any]:
        """Return equal-shaped tensors of all processes in ``order``, with gradients."""
        if self.size == 1:
            return [x]
        from torch.distributed.nn.functional import all_gather

        found = all_gather(x.contiguous())
        return [found[rank] for rank in self.order]

    def gather_padded(self, x: Any) -> list[Any]:
        """Gather texts, shape (b, L, ...), whose L may differ between processes."""
        if self.size == 1:
            return [x]
        import torch

        longest = torch.tensor(x.shape[1], device=x.device)
        torch.distributed.all_reduce(longest, torch.distributed.ReduceOp.MAX)
        padding = [0, 0] * (x.ndim - 2) + [0, int(longest) - x.shape[1]]
        if x.dtype == torch.bool:
            # Communication does not support bool.
            padded = torch.nn.functional.pad(x.to(torch.uint8), padding)
            found = [torch.empty_like(padded) for _ in range(self.size)]
            torch.distributed.all_gather(found, padded)
            return [found[rank].bool() for rank in self.order]
        return self.gather(torch.nn.functional.pad(x, padding))

    def average_gradients(self, parameters: list[Any]) -> None:
        """Set the gradient of every parameter to the mean over processes."""
        if self.size == 1:
            return
        import torch

        for parameter in parameters:
            # A parameter without a gradient has none in any process.
            if parameter.grad is not None:
                torch.distributed.all_reduce(parameter.grad)
                parameter.grad /= self.size

    def mean(self, value: float) -> float:
        """Mean of a number over processes."""
        if self.size == 1:
            return value
        return sum(self._told(value)) / self.size

    def agree(self, value: float) -> float:
        """Return the number of the first process."""
        return value if self.size == 1 else self._told(value)[0]

    def _told(self, value: float) -> list[float]:
        import torch

        found: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(found, value)
        return found


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

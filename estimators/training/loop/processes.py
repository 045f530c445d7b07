"""Communication between the processes that train one model."""

from __future__ import annotations

import os
from typing import Any


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

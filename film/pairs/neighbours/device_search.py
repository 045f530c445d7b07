"""Counts of closer points for `film.pairs.ranks`, computed by torch on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from film.corpus import checked_device, whole_float32
from film.pairs.neighbours.cosines import Integers
from film.pairs.neighbours.rank_search import Block, RankSearch

# Rows and tasks of one tile on the device: 256 MiB of cosines.
_DEVICE_ROWS, _DEVICE_TASKS = 2**14, 2**12
_BLOCK_QUERIES = 2**16


def closer_on_device(search: RankSearch, device: str) -> NDArray[np.int64]:
    """Count, per task, the same numbers as `RankSearch.closer_points`.

    All products are computed: on a GPU, this is faster than finding out which to skip.
    """
    import torch

    place = checked_device(device)
    corpus = torch.from_numpy(search.corpus_rows).to(place)
    n = len(search.queries)
    closer = np.empty(len(search.origin), dtype=np.int64)
    with whole_float32():
        counts = [
            DeviceBlock(search, start, min(start + _BLOCK_QUERIES, n), corpus).count()
            for start in range(0, n, _BLOCK_QUERIES)
        ]
    closer[search.task_order] = np.concatenate(counts)
    return closer


class DeviceBlock(Block):
    """The counts of the tasks of some queries, with tiles on a device."""

    def __init__(self, search: RankSearch, first: int, last: int, corpus: Any) -> None:
        super().__init__(search, first, last)
        self.corpus = corpus

    def count(self) -> NDArray[np.int64]:
        """Count over the whole corpus."""
        for first in range(0, len(self.query), _DEVICE_TASKS):
            tasks = np.arange(first, min(first + _DEVICE_TASKS, len(self.query)))
            rows = self._sent(self.rows[self.query[tasks]])
            surely, surely_not = self._sent(self.surely[tasks]), self._sent(self.surely_not[tasks])
            for start in range(0, len(self.corpus), _DEVICE_ROWS):
                cosines = self.corpus[start : start + _DEVICE_ROWS] @ rows.T
                self._leave_out(cosines, start, tasks)
                sure = cosines > surely
                found = sure.sum(dim=0)
                copies = self.search.copies[start : start + _DEVICE_ROWS]
                repeated = np.flatnonzero(copies > 1)
                if len(repeated):
                    # Sums of integers, exact in float64.
                    more = self._sent(copies[repeated] - 1.0)
                    found = found + (more @ sure[self._sent(repeated)].to(more.dtype)).long()
                self.closer[tasks] += found.cpu().numpy()
                doubtful = ((cosines > surely_not) & ~sure).nonzero().cpu().numpy()
                self._put_aside(tasks[doubtful[:, 1]], start + doubtful[:, 0])
        self._settle()
        return self.closer

    def _sent(self, array: np.ndarray) -> Any:
        import torch

        return torch.from_numpy(np.ascontiguousarray(array)).to(self.corpus.device)

    def _leave_out(self, cosines: Any, start: int, tasks: Integers) -> None:
        """Remove each task's own direction and its goal's from a tile."""
        for places in (self.own_place[tasks], self.goal_place[tasks]):
            at = places - start
            inside = np.flatnonzero((at >= 0) & (at < len(cosines)))
            cosines[self._sent(at[inside]), self._sent(inside)] = -2.0

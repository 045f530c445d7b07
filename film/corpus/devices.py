"""Torch devices: validation, and nearest-neighbour search on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["checked_device", "whole_float32"]

BLOCK_NUMBERS = 2**24
"""Cosines that a device holds at a time: 64 MB, plus a few times as much to sort them."""

GROUP = 32
"""Adjacent entries that are skipped together."""

_LOW = 2**32 - 1
_NOTHING = int(np.iinfo(np.int64).min)


def checked_device(device: str) -> Any:
    """Return the named torch device.

    Parameters
    ----------
    device : str
        For example "cuda".

    Returns
    -------
    place : torch.device
        A device that works on this machine.

    Raises
    ------
    ImportError
        If torch is not installed.
    ValueError
        If torch does not know the device or cannot use it here.

    Examples
    --------
    >>> from film.corpus import checked_device
    >>> checked_device("cpu")
    device(type='cpu')
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs torch: give device=None, or pip install 'film-metric[neural]'"
        ) from error
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device={device!r} must be a device of torch such as 'cuda' or 'cpu', or device=None"
        ) from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device={device!r} is asked for, but torch sees no GPU: give 'cpu' or device=None, or "
            "install torch for CUDA"
        )
    try:
        float(torch.zeros((), device=place))
    except MemoryError:
        raise
    except Exception as error:  # each torch backend raises its own type
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"device={device!r} does not compute here ({said}); give 'cpu' or device=None"
        ) from error
    return place


@contextmanager
def whole_float32() -> Iterator[None]:
    """Multiply in full float32 precision, whatever precision torch is set to use.

    Examples
    --------
    >>> import torch
    >>> from film.corpus import whole_float32
    >>> with whole_float32():
    ...     torch.get_float32_matmul_precision()
    'highest'
    """
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class BestOnDevice:
    """The k largest cosines found so far for each query, computed on a device.

    A cosine and its point are packed into one integer, ordered by cosine and then by ascending
    point number. Keys are therefore unique, and the k largest are the same on every device.
    """

    def __init__(self, queries: NDArray[np.float32], k: int, place: Any) -> None:
        import torch

        self._k, self._place = k, place
        self._queries = self._sent(queries)
        self._keys = torch.full((len(queries), k), _NOTHING, device=place)

    def compare(
        self, rows: NDArray[np.intp], points: NDArray[np.float32], members: NDArray[np.intp]
    ) -> None:
        """Compare distinct queries with points numbered ``members``."""
        import torch

        columns, numbers = self._sent(points).T, _LOW - self._sent(members)
        step = max(1, BLOCK_NUMBERS // len(members))
        for first in range(0, len(rows), step):
            some = self._sent(rows[first : first + step])
            # Adding 0.0 turns −0.0 into 0.0.
            bits = (self._queries[some] @ columns + 0.0).view(torch.int32)
            # Flip the bits of negative numbers, whose integers are in reverse order.
            bits ^= bits >> 31 & 0x7FFFFFFF
            keys = bits.long() << 32 | numbers
            both = torch.cat([self._keys[some], _leading(keys, self._k)], dim=1)
            self._keys[some] = both.topk(self._k).values

    def sorted(self) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the points and their cosines, shape (n, k), largest first."""
        keys = self._keys.cpu().numpy()
        bits = (keys >> 32).astype(np.int32)
        bits ^= bits >> 31 & 0x7FFFFFFF
        nothing = keys == _NOTHING
        positions = np.where(nothing, -1, _LOW - (keys & _LOW)).astype(np.intp)
        return positions, np.where(nothing, np.float32(-np.inf), bits.view(np.float32))

    def _sent(self, array: NDArray[Any]) -> Any:
        import torch

        return torch.tensor(np.ascontiguousarray(array), device=self._place)


def _leading(keys: Any, k: int) -> Any:
    """Discard most entries of each row that cannot be among its k largest; entries are unique."""
    import torch

    n_groups = keys.shape[1] // GROUP
    if n_groups <= k:
        return keys
    whole = n_groups * GROUP
    groups = keys[:, :whole].unflatten(1, (n_groups, GROUP))
    # The k largest entries lie in the k groups with the largest maxima.
    chosen = groups.amax(dim=2).topk(k).indices
    kept = groups.take_along_dim(chosen[:, :, None], dim=1).flatten(1)
    return torch.cat([kept, keys[:, whole:]], dim=1)

"""Threads: how many cores there are, one BLAS thread where more are slower, and first use."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

FIRST_USE = threading.RLock()
"""Held while an object makes at its first use what it left out of a copy, such as a network.

Several threads may ask a copy at once: one of them makes it, and the others wait.
"""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread.

    NumPy and SciPy each bring a pool of BLAS threads that spin while they wait. Factorisations of
    a few hundred rows gain nothing from threads on an idle machine and lose a factor of 10 to 100
    where the two pools, or other programs, share its cores.

    Examples
    --------
    >>> from film.threads import one_blas_thread
    >>> with one_blas_thread():
    ...     pass
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


def usable_cores() -> int:
    """Count the cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()

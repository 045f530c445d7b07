"""Closed standard streams, and signals that end the process."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


class Ended(KeyboardInterrupt):
    """Raised at a signal that ends the process, so that unfinished files are removed.

    Parameters
    ----------
    number : int
        Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def occupy_closed_streams() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise the next files that are opened would get their numbers, and messages of libraries
    would be written into them. `sys.stdin` and `sys.stdout` stay None, by which commands know that
    there is no input or output; messages have no other place, so that `sys.stderr` swallows them.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is the one of this stream.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")


def heed_signals() -> None:
    """Raise `Ended` at SIGTERM and SIGHUP, except where the parent process ignores them."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP.
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def exit_status(error: KeyboardInterrupt) -> int:
    """Return 128 and the number of the signal, as shells do."""
    return 128 + (error.number if isinstance(error, Ended) else signal.SIGINT)


def _end(number: int, _: Any) -> None:
    signal.signal(number, signal.SIG_IGN)  # Cleaning up is not interrupted by a second one.
    raise Ended(number)

"""Reasons why an iteration stopped, with advice."""

from __future__ import annotations

from enum import Enum


class StopReason(Enum):
    """Why rounds or batches stopped; the value describes the outcome and remedy.

    Examples
    --------
    >>> from film.metric import StopReason
    >>> StopReason.MAX_ITER.converged
    False
    >>> StopReason.MAX_ITER.value
    'not converged: max_iter was reached; raise max_iter or loosen tol'
    """

    ALL_ACTIVE = (
        "converged: every anchor stays active at this margin, so the first map is the minimum; "
        "a smaller margin would deactivate satisfied anchors"
    )
    BOUND = (
        "converged: the objective is within tol of a lower bound, and so of its minimum; "
        "no action is needed"
    )
    AGREED = (
        "converged: descents from several starts end within half of tol of the lowest; no action "
        "is needed"
    )
    PASSES = (
        "converged: a pass over the batches lowered their mean loss by less than a third of tol; "
        "no action is needed"
    )
    STALLED = (
        "not converged: too few of the descents from several starts agree within half of tol, and "
        "the lower bound is more than tol away; raise d, which leaves fewer local minima, or "
        "loosen tol"
    )
    MAX_ITER = "not converged: max_iter was reached; raise max_iter or loosen tol"
    NO_MARGIN = (
        "not converged: with no margin the map of zeros costs nothing, so the first map was kept; "
        "give a margin above 0"
    )
    NO_DIRECTION = (
        "not converged: no direction brings similar points closer than dissimilar ones, so the "
        "first map was kept; check the triplets"
    )
    INTERRUPTED = (
        "not converged: interrupted from the keyboard, and the best map so far was kept; fit "
        "again to continue"
    )

    @property
    def converged(self) -> bool:
        """Whether the result is a solution within the tolerance."""
        return self.value.startswith("converged")

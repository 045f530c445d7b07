"""Question pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class QuestionPairs:
    """Question pairs with labels.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2), dtype object
        The two questions of each pair, as `str`.
    y : ndarray of shape (n,), dtype int, or None
        1 for duplicates, 0 for others; None if the source has no labels.
    ids : ndarray of shape (n,), dtype object
        The name of each pair, as `str`; the ``test_id`` of a submission.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([["Is tea hot?", "Is tea warm?"]], dtype=object)
    >>> data = QuestionPairs(pairs, y=np.array([1]), ids=np.array(["0"], dtype=object))
    >>> len(data)
    1
    """

    pairs: np.ndarray
    y: np.ndarray | None
    ids: np.ndarray

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

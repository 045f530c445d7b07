"""What every source of question pairs returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["QuestionPairs"]


@dataclass(frozen=True, eq=False)
class QuestionPairs:
    """Question pairs with their labels, as one source gave them.

    Parameters
    ----------
    pairs : ndarray of shape (n, 2), dtype object
        The two questions of each pair, as `str`.
    y : ndarray of shape (n,), dtype int, or None
        1 for duplicates, 0 for others; None where the source has no labels.
    ids : ndarray of shape (n,), dtype object
        The name of each pair, as `str`; what a submission calls ``test_id``.
    n_skipped : int, default=0
        Number of wrong rows that were left out.
    skipped : tuple of (int, str), default=()
        Line, counted from 1, and reason of each row left out.

    Raises
    ------
    ValueError
        When the lengths or shapes do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([["Is tea hot?", "Is tea warm?"]], dtype=object)
    >>> data = QuestionPairs(pairs, y=np.array([1]), ids=np.array(["0"], dtype=object))
    >>> len(data), data.n_skipped
    (1, 0)
    """

    pairs: np.ndarray
    y: np.ndarray | None
    ids: np.ndarray
    n_skipped: int = 0
    skipped: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        """Refuse arrays that do not describe the same n pairs."""
        if self.pairs.ndim != 2 or self.pairs.shape[1] != 2:
            raise ValueError(f"pairs must have shape (n, 2), got {self.pairs.shape}")
        n_pairs = len(self.pairs)
        if self.y is not None and self.y.shape != (n_pairs,):
            raise ValueError(f"y must have shape ({n_pairs},) like pairs, got {self.y.shape}")
        if self.ids.shape != (n_pairs,):
            raise ValueError(f"ids must have shape ({n_pairs},) like pairs, got {self.ids.shape}")
        if self.n_skipped != len(self.skipped):
            raise ValueError(
                f"n_skipped is {self.n_skipped}, but skipped lists {len(self.skipped)} rows"
            )

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

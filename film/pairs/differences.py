"""Shared and unshared features of two texts."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp


def shared_and_unshared(first: Any, second: Any) -> sp.csr_array:
    """Split the features of each pair into the shared and the unshared part.

    A linear model over the two halves learns more than a cosine. For example, a shared "India"
    means little, but an "India" in only one text means that the questions differ.

    Parameters
    ----------
    first, second : sparse matrix of shape (n, D)
        Non-negative features of the two texts of each pair, such as counts or TF-IDF weights.

    Returns
    -------
    features : csr_array of shape (n, 2 D)
        ``[min(x, x′) | |x − x′|]``. Swapping x and x′ changes nothing; x + x′ is
        ``2 min(x, x′) + |x − x′|``.

    Raises
    ------
    ValueError
        If the shapes differ.

    Notes
    -----
    O(nnz) time and memory.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from film.pairs import shared_and_unshared
    >>> shared_and_unshared(sp.csr_array([[1, 2, 0]]), sp.csr_array([[0, 1, 3]])).toarray()
    array([[0, 1, 0, 1, 1, 3]])
    """
    x, z = sp.csr_array(first), sp.csr_array(second)
    if x.shape != z.shape:
        raise ValueError(
            f"first has shape {x.shape} and second {z.shape}: give one row per pair and the same "
            "features on both sides"
        )
    shared = x.minimum(z)
    # Not abs(x - z), which wraps around for unsigned counts.
    return sp.csr_array(sp.hstack([shared, x.maximum(z) - shared], format="csr"))

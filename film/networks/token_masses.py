"""How much each entry of a vocabulary weighs, learned along with a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

__all__ = ["TokenMasses"]


class TokenMasses(torch.nn.Module):
    """One positive weight per entry of a vocabulary, ``softplus(θ)``, which starts at 1.

    Wang and Yu, "Going beyond sentence embeddings: a token-level matching algorithm" (2023), learn
    such weights with the model too: in SimCSE, and in any sign. In a batch only the entries of its
    tokens get a gradient, so an entry that no text has keeps its weight of 1.

    Parameters
    ----------
    n_entries : int
        Entries of the vocabulary.

    Raises
    ------
    ValueError
        If ``n_entries`` is below 1.

    Examples
    --------
    >>> import torch
    >>> from film.networks import TokenMasses
    >>> masses = TokenMasses(3)
    >>> masses(torch.tensor([[0, 2]])).shape, masses.table().tolist()
    (torch.Size([1, 2]), [1.0, 1.0, 1.0])
    """

    def __init__(self, n_entries: int) -> None:
        super().__init__()
        if n_entries < 1:
            raise ValueError(f"n_entries={n_entries} must be 1 or more")
        # softplus of this is 1.
        self.start = math.log(math.expm1(1.0))
        self.theta = torch.nn.Parameter(torch.full((n_entries,), self.start))

    def forward(self, ids: Any) -> Any:
        """Weight tokens.

        Parameters
        ----------
        ids : tensor of int64, any shape
            Entries.

        Returns
        -------
        weights : tensor of float32, the same shape
            All above 0.
        """
        return torch.nn.functional.softplus(self.theta[ids])

    def table(self) -> np.ndarray:
        """Give the weight of every entry, shape (n_entries,), float64; exactly 1 where it began."""
        theta = self.theta.detach().double().cpu().numpy()
        began = theta == np.float32(self.start)
        return np.where(began, 1.0, np.logaddexp(0.0, theta))

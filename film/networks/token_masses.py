"""Token masses by vocabulary entry, learned with a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

__all__ = ["TokenMasses"]


class TokenMasses(torch.nn.Module):
    """One positive weight per vocabulary entry, ``softplus(θ)``, initially 1.

    Wang and Yu, "Going beyond sentence embeddings: a token-level matching algorithm" (2023), learn
    weights of any sign with SimCSE. Only entries that occur in a batch get a gradient, so an entry
    that never occurs keeps its weight of 1.

    Parameters
    ----------
    n_entries : int
        Size of the vocabulary.

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
        # softplus of this is 1.
        self.start = math.log(math.expm1(1.0))
        self.theta = torch.nn.Parameter(torch.full((n_entries,), self.start))

    def forward(self, ids: Any) -> Any:
        """Return the weights of tokens.

        Parameters
        ----------
        ids : tensor of int64, any shape
            Vocabulary entries.

        Returns
        -------
        weights : tensor of float32, the same shape
            Positive weights.
        """
        return torch.nn.functional.softplus(self.theta[ids])

    def table(self) -> np.ndarray:
        """Return the weights of all entries, shape (n_entries,), float64; untrained ones are 1."""
        theta = self.theta.detach().double().cpu().numpy()
        began = theta == np.float32(self.start)
        return np.where(began, 1.0, np.logaddexp(0.0, theta))

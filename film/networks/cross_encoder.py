"""Scoring head of a cross-encoder, which reads both texts as one sequence."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["ScoringHead"]


class ScoringHead(torch.nn.Module):
    """Score a pair of texts from the [CLS] vector of "[CLS] s1 [SEP] s2 [SEP]".

    ``v · tanh(W x + b) + c``, as BERT classifies sentence pairs (Devlin et al., 2019) and as
    Section 5.6 of "Sentence Similarity Based on Contexts" (Sun et al., 2022) scores them.

    Parameters
    ----------
    width : int
        Width h of x.
    dropout : float, default=0.1
        Dropout rate of ``tanh(W x + b)``.

    Examples
    --------
    >>> import torch
    >>> from film.networks import ScoringHead
    >>> ScoringHead(4).eval()(torch.zeros(2, 4)).shape
    torch.Size([2])
    """

    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(width, width)
        self.dropout = torch.nn.Dropout(dropout)
        self.score = torch.nn.Linear(width, 1)

    def forward(self, first: Any) -> Any:
        """Score pairs.

        Parameters
        ----------
        first : tensor of float, shape (n, h)
            First token vector of each pair, in any precision.

        Returns
        -------
        scores : tensor, shape (n,)
            Unbounded scores: the log-odds of a label, or a similarity.
        """
        # A trained token map returns half precision under autocast.
        first = first.to(self.dense.weight.dtype)
        return self.score(self.dropout(torch.tanh(self.dense(first))))[:, 0]

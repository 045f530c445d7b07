"""The similarity of two texts from the first token of both, read as one."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["ScoringHead"]


class ScoringHead(torch.nn.Module):
    """A number for a pair of texts from the vector of [CLS] of "[CLS] s1 [SEP] s2 [SEP]".

    ``v · tanh(W x + b) + c``, as BERT classifies pairs of sentences (Devlin et al., 2019), and as
    Section 5.6 of "Sentence Similarity Based on Contexts" (Sun et al., 2022) scores them.

    Parameters
    ----------
    width : int
        Length h of x.
    dropout : float, default=0.1
        Share of ``tanh(W x + b)`` that is left out in training.

    Raises
    ------
    ValueError
        If ``width`` is below 1 or ``dropout`` not in [0, 1).

    Examples
    --------
    >>> import torch
    >>> from film.networks import ScoringHead
    >>> ScoringHead(4).eval()(torch.zeros(2, 4)).shape
    torch.Size([2])
    """

    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        if width < 1:
            raise ValueError(f"width={width} must be 1 or more")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout={dropout} must be from 0 to below 1")
        self.dense = torch.nn.Linear(width, width)
        self.dropout = torch.nn.Dropout(dropout)
        self.score = torch.nn.Linear(width, 1)

    def forward(self, first: Any) -> Any:
        """Score pairs.

        Parameters
        ----------
        first : tensor of float, shape (n, h)
            Vector of the first token of each pair, in any precision.

        Returns
        -------
        scores : tensor, shape (n,)
            Without bounds: the log-odds of a label, or a similarity.
        """
        # A trained map of tokens gives them in half precision under autocast.
        first = first.to(self.dense.weight.dtype)
        return self.score(self.dropout(torch.tanh(self.dense(first))))[:, 0]

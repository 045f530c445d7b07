"""A discriminator that reads a sentence as a bag of words: a fast rival of the BiLSTM."""

from __future__ import annotations

from typing import Any

import torch

from film.contexts.discriminator import Interaction
from film.training import unit_rows

__all__ = ["BagDiscriminator"]


class BagDiscriminator(torch.nn.Module):
    """Probability that three sentences are consecutive, each read as a bag of its tokens.

    The state of a sentence is the sum of the vectors of its tokens, each with a weight of its own,
    brought to one length; `Interaction` judges three of them. Vectors, weights and that length are
    learned. It takes the place of `Discriminator`, learns far faster, and starts where the words
    that sentences share make them fit: from equal maps of centre, left and right.

    Parameters
    ----------
    n_tokens : int
        Entries of the vocabulary.
    width : int, default=300
        Width of vectors, states and the `Interaction`.
    interaction : {"bilinear", "concatenation"}, default="bilinear"
        Kind of `Interaction`.
    vectors : array-like of float, shape (n_tokens, width), default=None
        Vectors that tokens start from; None: random ones.
    weights : array-like of float, shape (n_tokens,), default=None
        Weights that tokens start from, at least 0, such as inverse document frequencies; None:
        all 1.
    n_alike : int, default=0
        As in `Discriminator`: entries that a caller puts behind `states`.

    Raises
    ------
    ValueError
        If a number is out of range or a shape does not fit.

    Examples
    --------
    >>> import torch
    >>> from film.contexts import BagDiscriminator
    >>> model = BagDiscriminator(50, width=4).eval()
    >>> states = model.states(torch.tensor([[1, 2, 3], [3, 1, 2]]), torch.tensor([3, 3]))
    >>> states.shape, bool(torch.allclose(states[0], states[1]))
    (torch.Size([2, 4]), True)
    """

    def __init__(
        self,
        n_tokens: int,
        *,
        width: int = 300,
        interaction: Any = "bilinear",
        vectors: Any = None,
        weights: Any = None,
        n_alike: int = 0,
    ) -> None:
        super().__init__()
        if isinstance(n_tokens, bool) or not isinstance(n_tokens, int) or n_tokens < 1:
            raise ValueError(f"n_tokens={n_tokens!r} must be an integer of at least 1")
        self.interaction = Interaction(width + n_alike, interaction, width, n_alike)
        self.embedding = torch.nn.Embedding(n_tokens, width)
        self.roots = torch.nn.Parameter(torch.ones(n_tokens))
        self.length = torch.nn.Parameter(torch.tensor(2.0))
        with torch.no_grad():
            torch.nn.init.normal_(self.embedding.weight, std=0.1)
            if vectors is not None:
                self.embedding.weight.copy_(_given("vectors", vectors, (n_tokens, width)))
            if weights is not None:
                start = _given("weights", weights, (n_tokens,))
                if not (start >= 0).all():
                    raise ValueError("weights must be at least 0")
                self.roots.copy_(start.sqrt())
            head = self.interaction
            for part in (head.centres, head.lefts, head.rights):
                rank = len(part.weight) - 1
                part.weight[:, :width] = 0
                part.weight[rank] = 0
                part.weight[:rank, :width] = torch.eye(width)[:rank]

    def states(self, ids: Any, lengths: Any) -> Any:
        """Encode sentences, each by itself.

        Parameters
        ----------
        ids : array-like of int, shape (b, L)
            Tokens; behind a sentence's end anything in [0, n_tokens).
        lengths : array-like of int, shape (b,)
            Tokens of each sentence, in [0, L].

        Returns
        -------
        states : tensor, shape (b, width)
            Of one length; zeros for a sentence without a token.
        """
        device = self.roots.device
        ids = torch.as_tensor(ids, dtype=torch.int64, device=device)
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device=device)
        inside = torch.arange(ids.shape[1], device=device) < lengths[:, None]
        # Squares keep weights from turning negative.
        weights = self.roots[ids].square() * inside
        found = (weights[:, None] @ self.embedding(ids)).squeeze(1)
        return unit_rows(found) * self.length

    def centre(self, states: Any) -> Any:
        """Vectors of centre sentences: ``logit = <centre(s), left(l) + right(r)>``."""
        return self.interaction.centre(states)

    def left(self, states: Any) -> Any:
        """Vectors of left sentences."""
        return self.interaction.left(states)

    def right(self, states: Any) -> Any:
        """Vectors of right sentences."""
        return self.interaction.right(states)


def _given(name: str, values: Any, shape: tuple[int, ...]) -> Any:
    start = torch.as_tensor(values, dtype=torch.float32)
    if tuple(start.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(start.shape)}; it must be {shape}")
    return start

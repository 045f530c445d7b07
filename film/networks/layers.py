"""Networks over token vectors, and what is learned beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch


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


Axes = Literal["both", "length"]
AXES: tuple[Axes, ...] = get_args(Axes)
"""Axes of the convolutions: tokens and vector components, or tokens only."""
Readout = Literal["max", "mean"]
READOUTS: tuple[Readout, ...] = get_args(Readout)
"""Final pooling."""
LEAST_LENGTH = 8
"""Three halvings reduce this many tokens to one."""


class TokenConvolutions(torch.nn.Module):
    """Compute one vector per text from its token vectors: the network of FILM-BERT.

    Section 3.4 of the FILM paper, after Hoffer and Ailon (2015): three convolutions, each followed
    by max-pooling of 2 and a ReLU, then a fourth convolution and a pooling over all positions. The
    same network encodes anchor, similar and dissimilar texts, which are compared by cosine (Eq.
    29).

    Parameters
    ----------
    n_features : int
        Width h of the token vectors.
    channels : sequence of 3 int, default=(32, 64, 128)
        Output channels of the first three convolutions.
    width : int, default=128
        Output channels of the fourth convolution: the size of a text vector.
    axes : {"both", "length"}, default="both"
        "both" treats the token matrix, tokens × h, as an image with one channel, with kernels of
        3 × 3 and poolings of 2 × 2. The components of a token vector have no natural order, so
        "length" uses them as h channels, with kernels over 3 tokens and poolings of 2 tokens.
    readout : {"max", "mean"}, default="max"
        The final pooling.
    residual : bool, default=False
        Whether to add a linear map of the mean token vector, which the paper does not have. It
        starts as the identity if ``width`` equals h and otherwise as a random projection, and the
        fourth convolution starts at 0, so the network starts at the cosine of means.

    Notes
    -----
    Padding is masked in each layer: it is set to -inf before max-pooling and to 0 before the next
    convolution. The vector of a text does not depend on the amount or values of padding.

    A text of n tokens costs, in multiplications, about ``n h (9 c₁ + 9 c₁ c₂ / 4 + 9 c₂ c₃ / 16 +
    9 c₃ w / 64)`` for "both" (145 million for 32 tokens of 384), and ``n (3 h c₁ + 3 c₁ c₂ / 2 +
    3 c₂ c₃ / 4 + 3 c₃ w / 8)`` for "length" (2.3 million).

    Examples
    --------
    >>> import torch
    >>> from film.networks import TokenConvolutions
    >>> network = TokenConvolutions(6, (2, 3, 4), 5)
    >>> tokens, mask = torch.randn(2, 9, 6), torch.arange(9) < torch.tensor([[9], [4]])
    >>> network(tokens, mask).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        n_features: int,
        channels: Sequence[int] = (32, 64, 128),
        width: int = 128,
        *,
        axes: Axes = "both",
        readout: Readout = "max",
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.axes, self.readout, self.n_features = axes, readout, n_features
        first, across = (1, 3) if axes == "both" else (n_features, 1)
        sizes = [first, *channels, width]
        layers = [
            torch.nn.Conv2d(sizes[i], sizes[i + 1], (3, across), padding=(1, across // 2))
            for i in range(4)
        ]
        for layer in layers:
            # He et al. (2015): preserves the scale through ReLUs.
            torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                torch.nn.init.zeros_(layer.bias)
        self.layers = torch.nn.ModuleList(layers)
        self.line: Any = None
        if residual:
            torch.nn.init.zeros_(layers[3].weight)
            self.line = torch.nn.Linear(n_features, width, bias=False)
            if width == n_features:
                torch.nn.init.eye_(self.line.weight)
            else:
                torch.nn.init.orthogonal_(self.line.weight)

    def forward(self, tokens: Any, mask: Any) -> Any:
        """Compute one vector per text.

        Parameters
        ----------
        tokens : tensor of float, shape (B, L, h)
            Token vectors of B texts.
        mask : tensor of bool, shape (B, L)
            True at tokens, False at padding. Padding may hold any values, including NaN. A text may
            have no token.

        Returns
        -------
        vectors : tensor, shape (B, width)
            0 for a text without tokens.
        """
        x, is_empty = tokens.masked_fill(~mask[:, :, None], 0.0), ~mask.any(dim=1)
        line = 0.0
        if self.line is not None:
            line = self.line(x.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1))
        # (B, channels, L, across)
        x = x[:, None] if self.axes == "both" else x.transpose(1, 2)[..., None]
        for layer in self.layers[:3]:
            x = layer(x).masked_fill(~mask[:, None, :, None], -math.inf)
            # For "length" the last axis has size 1, and pooling leaves it unchanged.
            # max and ReLU commute, and ReLU also turns -inf into 0.
            x = torch.relu(torch.nn.functional.max_pool2d(x, 2, ceil_mode=True))
            mask = _halved(mask)
        x, kept = self.layers[3](x), mask[:, None, :, None]
        if self.readout == "max":
            found = x.masked_fill(~kept, -math.inf).amax(dim=(2, 3))
        else:
            n_left = mask.sum(dim=1, keepdim=True).clamp(min=1) * x.shape[3]
            found = x.masked_fill(~kept, 0.0).sum(dim=(2, 3)) / n_left
        return (found + line).masked_fill(is_empty[:, None], 0.0)


def _halved(mask: Any) -> Any:
    """Return which adjacent token pairs contain a token."""
    even, odd = mask[:, ::2], mask[:, 1::2]
    return even | torch.nn.functional.pad(odd, (0, even.shape[1] - odd.shape[1]))

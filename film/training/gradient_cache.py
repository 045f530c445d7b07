"""Exact gradients of a loss over a large batch, encoded a few texts at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def cached_backward(
    encode: Callable[[Any], Any], chunks: Sequence[Any], loss: Callable[[list[Any]], Any]
) -> float:
    """Add the gradient of a loss to the parameters of an encoder, holding one chunk's graph.

    Every chunk is encoded without a graph; the loss gives the gradient for what the encoder gave;
    and every chunk is encoded again, with the same random numbers and a graph, to carry that
    gradient on. This is GradCache of Gao et al., "Scaling deep contrastive learning batch size
    under memory limited setup" (2021).

    Parameters
    ----------
    encode : callable
        Gives the tensor of a chunk. It may draw from torch's global random state.
    chunks : sequence
        Whatever ``encode`` takes.
    loss : callable
        Gives a scalar tensor from the list of the chunks' tensors.

    Returns
    -------
    value : float
        Of the loss; parameters have its gradient added to theirs, equal to that of one backward
        pass over all chunks at once but for rounding.

    Notes
    -----
    Costs one more encoding of all chunks, about a third of a training step. Memory holds all
    outputs and one chunk's graph.

    Examples
    --------
    >>> import torch
    >>> from film.training import cached_backward
    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> chunks = [torch.tensor([[1.0]]), torch.tensor([[2.0]])]
    >>> value = cached_backward(layer, chunks, lambda found: torch.cat(found).sum())
    >>> layer.weight.grad
    tensor([[3.]])
    """
    import torch

    states, leaves = [], []
    for chunk in chunks:
        states.append(_random_state())
        with torch.no_grad():
            leaves.append(encode(chunk).detach().requires_grad_())
    value = loss(leaves)
    value.backward()
    for chunk, state, leaf in zip(chunks, states, leaves, strict=True):
        with _restored(state):
            encode(chunk).backward(leaf.grad)
    return float(value.detach())


def _random_state() -> tuple[Any, Any]:
    import torch

    on_gpu = torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
    return torch.get_rng_state(), on_gpu


@contextmanager
def _restored(state: tuple[Any, Any]) -> Iterator[None]:
    """Draw the same random numbers again, then go on where drawing had come to."""
    import torch

    devices = [] if state[1] is None else [torch.cuda.current_device()]
    with torch.random.fork_rng(devices=devices):
        torch.set_rng_state(state[0])
        if state[1] is not None:
            torch.cuda.set_rng_state(state[1])
        yield

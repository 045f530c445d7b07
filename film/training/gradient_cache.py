"""Exact gradients of a loss over a large batch, encoded in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def cached_backward(
    encode: Callable[[Any], Any], chunks: Sequence[Any], loss: Callable[[list[Any]], Any]
) -> float:
    """Backpropagate a loss over many chunks, keeping the graph of one chunk at a time.

    Every chunk is encoded without a graph; the loss computes the gradient with respect to the
    outputs; then every chunk is encoded again, with the same random numbers and a graph, to
    backpropagate that gradient. This is GradCache of Gao et al., "Scaling deep contrastive
    learning batch size under memory limited setup" (2021).

    Parameters
    ----------
    encode : callable
        Returns the tensor of a chunk. It may use torch's global random state.
    chunks : sequence
        Inputs of ``encode``.
    loss : callable
        Returns a scalar tensor from the list of the chunks' tensors.

    Returns
    -------
    value : float
        The loss. Its gradient is added to those of the parameters and equals, up to rounding, that
        of one backward pass over all chunks.

    Notes
    -----
    Encodes all chunks once more, about a third of a training step. Memory holds all outputs and
    the graph of one chunk.

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
    """Draw the same random numbers again, then restore the current state."""
    import torch

    devices = [] if state[1] is None else [torch.cuda.current_device()]
    with torch.random.fork_rng(devices=devices):
        torch.set_rng_state(state[0])
        if state[1] is not None:
            torch.cuda.set_rng_state(state[1])
        yield

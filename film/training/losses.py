"""Losses on text similarities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def contrastive_loss(similarity: Any, temperature: float = 0.05, excluded: Any = None) -> Any:
    """Contrastive loss: each text should be closest to its own partner.

    The mean over rows i of ``log Σ_j exp(s_ij / τ) - s_ii / τ``, where the sum skips ``excluded``
    columns j. Without exclusions it is the cross-entropy of SimCSE (Gao et al., 2021, Eq. 1 and 5),
    as CLRCMD uses it.

    Parameters
    ----------
    similarity : tensor of float, shape (B, C)
        Similarity s of B texts with C >= B candidates: the partners in order, then any others.
    temperature : float, default=0.05
        τ, greater than 0. Lower values put more weight on the closest wrong partners.
    excluded : tensor of bool, shape (B, C), default=None
        True where a text must not count as a wrong partner, for example because it has the same
        meaning. A row's own partner cannot be excluded.

    Returns
    -------
    loss : tensor, shape ()
        Has the type of ``similarity``. At least 0; log C if all similarities are equal.

    Notes
    -----
    Time and memory are O(B C).

    Examples
    --------
    >>> import torch
    >>> from film.training import contrastive_loss
    >>> contrastive_loss(torch.tensor([[0.9, 0.2], [0.1, 0.8]]), temperature=0.5)
    tensor(0.2204)
    """
    import torch

    scaled = similarity / temperature
    if excluded is not None:
        scaled = scaled.masked_fill(excluded, -math.inf)
    return torch.nn.functional.cross_entropy(
        scaled, torch.arange(len(similarity), device=similarity.device)
    )


def pairwise_logistic_loss(similarity: Any, scores: Any, temperature: float = 0.05) -> Any:
    """Pairwise logistic loss: pairs with higher scores should have higher similarities.

    RankNet (Burges et al., 2005). With s the similarities and y the scores of n pairs, it is the
    mean of ``log(1 + exp((s_i - s_j) / τ))`` over all i, j with ``y_i < y_j``, weighted by
    ``y_j - y_i``. The scale and offset of the scores do not matter. With labels 0 and 1 it is, in
    units of log 2, a smooth upper bound of 1 − ROC AUC. Each pair's gradient is at most its share
    of the weights divided by τ; in CoSENT's ``log(1 + Σ exp((s_i - s_j) / τ))`` one pair with a
    wrong score may outweigh all others.

    Parameters
    ----------
    similarity : tensor of float, shape (n,)
        Similarity s of n pairs.
    scores : tensor, shape (n,)
        Scores y of the pairs.
    temperature : float, default=0.05
        τ, greater than 0. Lower values reduce the loss of correctly ordered pairs.

    Returns
    -------
    loss : tensor, shape ()
        Has the type of ``similarity``; 0 if all scores are equal.

    Notes
    -----
    Time and memory are O(n²).

    Examples
    --------
    >>> import torch
    >>> from film.training import pairwise_logistic_loss
    >>> pairwise_logistic_loss(torch.tensor([0.9, 0.8]), torch.tensor([4.5, 1.0]), temperature=0.1)
    tensor(0.3133)
    """
    import torch

    y = scores.to(similarity.dtype)
    weights = (y - y[:, None]).clamp(min=0)
    costs = weights * torch.nn.functional.softplus((similarity[:, None] - similarity) / temperature)
    total = weights.sum()
    return costs.sum() / torch.where(total > 0, total, torch.ones_like(total))


def l2_loss(similarity: Any, scores: Any) -> Any:
    """Squared-error loss: the similarity of each pair should equal its score.

    The mean over pairs of ``(s - y)²``, used in Section 3.4 of "Sentence Similarity Based on
    Contexts" (Sun et al., 2022) to train its surrogate: s is the cosine of two sentence vectors
    and y the target similarity.

    Parameters
    ----------
    similarity : tensor of float, shape (n,)
        Similarity s of n >= 1 pairs.
    scores : tensor, shape (n,)
        Scores y of the pairs, on the scale of s.

    Returns
    -------
    loss : tensor, shape ()
        Has the type of ``similarity``; 0 if all similarities equal their scores.

    Notes
    -----
    Time and memory are O(n).

    Examples
    --------
    >>> import torch
    >>> from film.training import l2_loss
    >>> l2_loss(torch.tensor([0.5, 1.0]), torch.tensor([1.0, 1.0]))
    tensor(0.1250)
    """
    return (similarity - scores.to(similarity.dtype)).square().mean()


def triplet_loss(near: Any, far: Any, margin: float = 0.2) -> Any:
    """Triplet loss: each text should be closer to its partner than to its negative, by a margin.

    The mean over rows of ``max(0, m + d⁺ - d⁻)`` with cosine distances ``d = 1 - s``, which is
    ``max(0, m - s⁺ + s⁻)``.

    Parameters
    ----------
    near : tensor of float, shape (n,)
        Similarity s⁺ of n >= 1 texts and their partners.
    far : tensor of float, shape (n,)
        Similarity s⁻ of the same texts and their negatives.
    margin : float, default=0.2
        m, at least 0.

    Returns
    -------
    loss : tensor, shape ()
        Has the type of ``near``; 0 if every partner is closer by at least the margin.

    Notes
    -----
    Time and memory are O(n).

    Examples
    --------
    >>> import torch
    >>> from film.training import triplet_loss
    >>> triplet_loss(torch.tensor([0.9, 0.5]), torch.tensor([0.1, 0.6]), margin=0.5)
    tensor(0.3000)
    """
    return (margin - near + far).clamp(min=0).mean()


def n_pair_loss(anchors: Any, candidates: Any, excluded: Any = None) -> Any:
    """N-pair loss: each text should have the largest dot product with its own partner.

    The N-pair loss of Sohn (2016, Eq. 6 and 7): the mean over rows i of
    ``log(1 + Σ_{j≠i} exp(x_i · c_j - x_i · c_i))``, where the sum skips ``excluded`` candidates.
    Each row uses all other candidates as negatives. For vectors of length 1/√τ it equals
    `contrastive_loss` of the cosines with temperature τ.

    Parameters
    ----------
    anchors : tensor of float, shape (B, w)
        Vectors x of B >= 1 texts.
    candidates : tensor of float, shape (C, w)
        Vectors c with C >= B: the partners of all texts in order, then any others.
    excluded : tensor of bool, shape (B, C), default=None
        True where a candidate must not count as a wrong partner, as in `contrastive_loss`.

    Returns
    -------
    loss : tensor, shape ()
        Has the type of ``anchors``. At least 0; log C if all products are equal.

    Notes
    -----
    Time is O(B C w), memory O(B C).

    Examples
    --------
    >>> import torch
    >>> from film.training import n_pair_loss
    >>> n_pair_loss(torch.eye(2), 2 * torch.eye(2))
    tensor(0.1269)
    """
    return contrastive_loss(anchors @ candidates.T, 1.0, excluded)


def entailment_loss(u: Any, v: Any, labels: Any, head: Any) -> Any:
    """Entailment loss: predict the relation of two texts from their sentence vectors.

    The cross-entropy of ``softmax(W (u, v, |u - v|))``, with which SBERT (Reimers and Gurevych,
    2019, Section 3) learns from natural language inference.

    Parameters
    ----------
    u, v : tensor of float, shape (n, h)
        Vectors of the first and second texts of n >= 1 pairs. The order matters.
    labels : tensor of int64, shape (n,)
        Class of each pair.
    head : callable
        Returns logits, shape (n, n_classes), for concatenated vectors, shape (n, 3 h), such as
        ``torch.nn.Linear(3 * h, 3)``.

    Returns
    -------
    loss : tensor, shape ()
        Mean negative log-probability of the pairs' classes.

    Notes
    -----
    Time is O(n h n_classes).

    Examples
    --------
    >>> import torch
    >>> from film.training import entailment_loss
    >>> u, v = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [0.0]])
    >>> def head(joined):  # the closer, the more of class 0
    ...     return torch.cat([-joined[:, 2:], joined[:, 2:]], dim=1)
    >>> entailment_loss(u, v, torch.tensor([0, 1]), head)
    tensor(0.3556)
    """
    import torch

    return torch.nn.functional.cross_entropy(head(torch.cat([u, v, (u - v).abs()], dim=1)), labels)


def weighted_mean(tokens: Any, weights: Any, mask: Any) -> Any:
    """Compute the weighted mean of each text's token vectors.

    Wang and Yu (2023, "Token Weighting") use the sum of ``w_i t_i``, which has the same direction.

    Parameters
    ----------
    tokens : tensor of float, shape (B, L, h)
        Vectors t of the tokens of B texts.
    weights : tensor of float, shape (B, L)
        Token weights w, in any scale and of the same type.
    mask : tensor of bool, shape (B, L)
        True at tokens, False at padding. Padding may hold any values, including NaN. Each text has
        a token, and its weights do not sum to 0.

    Returns
    -------
    means : tensor, shape (B, h)
        ``Σ w_i t_i / Σ w_i``.

    Notes
    -----
    Time and memory are O(B L h).

    Examples
    --------
    >>> import torch
    >>> from film.training import weighted_mean
    >>> tokens = torch.tensor([[[4.0, 0.0], [0.0, 4.0], [9.0, 9.0]]])
    >>> weighted_mean(tokens, torch.tensor([[3.0, 1.0, 5.0]]), torch.tensor([[True, True, False]]))
    tensor([[3., 1.]])
    """
    kept = weights.masked_fill(~mask, 0.0)
    shares = kept / kept.sum(dim=1, keepdim=True)
    padded = tokens.masked_fill(~mask[:, :, None], 0.0)
    return (shares[:, None, :] @ padded)[:, 0]


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

"""Losses on similarities of texts, differentiable in them."""

from __future__ import annotations

import math
from typing import Any


def contrastive_loss(similarity: Any, temperature: float = 0.05, excluded: Any = None) -> Any:
    """Ask of each text that its own partner is the closest of all.

    The mean over rows i of ``log Σ_j exp(s_ij / τ) - s_ii / τ``, where the sum leaves out columns j
    that are ``excluded``. Where none is, it is the cross-entropy of SimCSE (Gao et al., 2021, Eq. 1
    and 5), as CLRCMD uses it.

    Parameters
    ----------
    similarity : tensor of float, shape (B, C)
        Similarity s of B texts with C >= B: the partners of all in order, then any others.
    temperature : float, default=0.05
        τ, greater than 0. The lower, the more the closest of the others count.
    excluded : tensor of bool, shape (B, C), default=None
        True where a text is not taken for a wrong partner, such as one that means the same. A
        row's own partner cannot be left out.

    Returns
    -------
    loss : tensor, shape ()
        Of the type of ``similarity``. It is never negative, and log C where all are alike.

    Raises
    ------
    TypeError, ValueError
        If a shape, a type or ``temperature`` is wrong, or ``excluded`` holds a row's own partner.

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

    _check(similarity, temperature)
    shape = tuple(similarity.shape)
    if similarity.ndim != 2 or not 1 <= shape[0] <= shape[1]:
        raise ValueError(
            f"similarity has shape {shape}; it must be (B, C) with C >= B >= 1, the partner of "
            "row i in column i"
        )
    scaled = similarity / temperature
    if excluded is not None:
        _check_excluded(excluded, shape)
        scaled = scaled.masked_fill(excluded, -math.inf)
    return torch.nn.functional.cross_entropy(
        scaled, torch.arange(shape[0], device=similarity.device)
    )


def pairwise_logistic_loss(similarity: Any, scores: Any, temperature: float = 0.05) -> Any:
    """Ask of all pairs of texts that those scored higher are more similar.

    RankNet (Burges et al., 2005). With s the similarities and y the scores of n pairs, it is the
    mean of ``log(1 + exp((s_i - s_j) / τ))`` over all i, j with ``y_i < y_j``, weighed by
    ``y_j - y_i``: each order of two pairs counts by how much their scores differ. Any unit and zero
    of the scores will do. With labels 0 and 1 it is, in units of log 2, a smooth upper bound of 1
    less the area under the ROC curve; with probabilities of a teacher an order counts by how much
    surer the teacher is of one pair than of the other. No pair pulls by more than its share of the
    weights over τ. In CoSENT's ``log(1 + Σ exp((s_i - s_j) / τ))`` a single pair that is scored
    wrongly may outweigh all others.

    Parameters
    ----------
    similarity : tensor of float, shape (n,)
        Similarity s of n pairs.
    scores : tensor, shape (n,)
        Their scores y.
    temperature : float, default=0.05
        τ, greater than 0. The lower, the less ordered pairs count.

    Returns
    -------
    loss : tensor, shape ()
        Of the type of ``similarity``; 0 where all scores are equal.

    Raises
    ------
    TypeError, ValueError
        If a shape, a type or ``temperature`` is wrong.

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

    _check(similarity, temperature)
    _check_ranked(similarity, "scores", scores)
    y = scores.to(similarity.dtype)
    weights = (y - y[:, None]).clamp(min=0)
    costs = weights * torch.nn.functional.softplus((similarity[:, None] - similarity) / temperature)
    total = weights.sum()
    return costs.sum() / torch.where(total > 0, total, torch.ones_like(total))


def l2_loss(similarity: Any, scores: Any) -> Any:
    """Ask of the similarity of each pair of texts that it is the pair's score.

    The mean over pairs of ``(s - y)²``, by which Section 3.4 of "Sentence Similarity Based on
    Contexts" (Sun et al., 2022) trains its surrogate: s is the cosine of two sentence vectors and y
    the similarity to learn.

    Parameters
    ----------
    similarity : tensor of float, shape (n,)
        Similarity s of n >= 1 pairs.
    scores : tensor, shape (n,)
        Their scores y, in the unit of s.

    Returns
    -------
    loss : tensor, shape ()
        Of the type of ``similarity``; 0 where all are equal to their scores.

    Raises
    ------
    TypeError, ValueError
        If a shape or a type is wrong.

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
    _check_floats("similarity", similarity)
    _check_rows({"similarity": similarity, "scores": scores})
    return (similarity - scores.to(similarity.dtype)).square().mean()


def triplet_loss(near: Any, far: Any, margin: float = 0.2) -> Any:
    """Ask of each text that its partner is closer than its negative, by a margin.

    The mean over rows of ``max(0, m + d⁺ - d⁻)`` with the cosine distances ``d = 1 - s``, so of
    ``max(0, m - s⁺ + s⁻)``.

    Parameters
    ----------
    near : tensor of float, shape (n,)
        Similarity s⁺ of n >= 1 texts and their partners.
    far : tensor of float, shape (n,)
        Similarity s⁻ of the same texts and their negatives.
    margin : float, default=0.2
        m, 0 or more: what is asked for beyond the right order.

    Returns
    -------
    loss : tensor, shape ()
        Of the type of ``near``; 0 where every partner is closer by the margin or more.

    Raises
    ------
    TypeError, ValueError
        If a shape, a type or ``margin`` is wrong.

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
    for name, given in (("near", near), ("far", far)):
        _check_floats(name, given)
    _check_rows({"near": near, "far": far})
    if not (0 <= margin < math.inf):
        raise ValueError(f"margin={margin!r} must be a finite number, 0 or more")
    return (margin - near + far).clamp(min=0).mean()


def n_pair_loss(anchors: Any, candidates: Any, excluded: Any = None) -> Any:
    """Ask of each text that its own partner has the greatest product with it of all candidates.

    The N-pair loss of Sohn (2016, Eq. 6 and 7): the mean over rows i of
    ``log(1 + Σ_{j≠i} exp(x_i · c_j - x_i · c_i))``, where the sum leaves out candidates that are
    ``excluded``. Where a triplet has one negative, each row has all others' here. For vectors of
    length 1/√τ products are cosines divided by τ, and the loss is `contrastive_loss` of the
    cosines.

    Parameters
    ----------
    anchors : tensor of float, shape (B, w)
        Vectors x of B >= 1 texts.
    candidates : tensor of float, shape (C, w)
        Vectors c with C >= B: the partners of all texts in order, then any others.
    excluded : tensor of bool, shape (B, C), default=None
        True where a candidate is not taken for a wrong partner, as in `contrastive_loss`.

    Returns
    -------
    loss : tensor, shape ()
        Of the type of ``anchors``. It is never negative, and log C where all are alike.

    Raises
    ------
    TypeError, ValueError
        If a shape or a type is wrong, or ``excluded`` holds a row's own partner.

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
    for name, given in (("anchors", anchors), ("candidates", candidates)):
        _check_floats(name, given)
    shapes = tuple(anchors.shape), tuple(candidates.shape)
    if any(len(shape) != 2 for shape in shapes) or shapes[0][1] != shapes[1][1]:
        raise ValueError(
            f"anchors has shape {shapes[0]} and candidates {shapes[1]}; they must be (B, w) and "
            "(C, w)"
        )
    return contrastive_loss(anchors @ candidates.T, 1.0, excluded)


def entailment_loss(u: Any, v: Any, labels: Any, head: Any) -> Any:
    """Ask of two sentence vectors that the relation of the texts can be read off them.

    The cross-entropy of ``softmax(W (u, v, |u - v|))``, by which SBERT (Reimers and Gurevych, 2019,
    Section 3) learns from natural language inference.

    Parameters
    ----------
    u, v : tensor of float, shape (n, h)
        Vectors of the first and the second texts of n >= 1 pairs. The order of a pair counts.
    labels : tensor of int64, shape (n,)
        Class of each pair.
    head : callable
        Gives the logits, shape (n, n_classes), of joined vectors, shape (n, 3 h):
        ``torch.nn.Linear(3 * h, 3)``.

    Returns
    -------
    loss : tensor, shape ()
        Mean over pairs of the negative log-probability of their class.

    Raises
    ------
    TypeError, ValueError
        If a shape or a type is wrong.

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

    for name, given in (("u", u), ("v", v)):
        _check_floats(name, given)
    if u.ndim != 2 or u.shape != v.shape or tuple(labels.shape) != (len(u),) or len(u) == 0:
        raise ValueError(
            f"u has shape {tuple(u.shape)}, v {tuple(v.shape)} and labels {tuple(labels.shape)}; "
            "they must be (n, h), (n, h) and (n,) with n >= 1"
        )
    return torch.nn.functional.cross_entropy(head(torch.cat([u, v, (u - v).abs()], dim=1)), labels)


def _check(similarity: Any, temperature: float) -> None:
    _check_floats("similarity", similarity)
    if not (0 < temperature < math.inf):
        raise ValueError(f"temperature={temperature!r} must be a finite number above 0")


def _check_ranked(similarity: Any, name: str, given: Any) -> None:
    if similarity.ndim != 1 or tuple(given.shape) != tuple(similarity.shape):
        raise ValueError(
            f"similarity has shape {tuple(similarity.shape)} and {name} {tuple(given.shape)}; "
            "both must be (n,)"
        )


def _check_floats(name: str, given: Any) -> None:
    import torch

    if not isinstance(given, torch.Tensor) or not given.is_floating_point():
        raise TypeError(f"{name} must be a tensor of floats, got {_kind(given)}")


def _check_rows(given: dict[str, Any]) -> None:
    """Raise unless tensors have one number for each of n >= 1 rows."""
    shapes = [tuple(each.shape) for each in given.values()]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1 or 0 in shapes[0]:
        said = " and ".join(f"{name} {shape}" for name, shape in zip(given, shapes, strict=True))
        raise ValueError(f"shapes are {said}; all must be (n,) with n >= 1")


def _check_excluded(excluded: Any, shape: tuple[int, ...]) -> None:
    import torch

    if not isinstance(excluded, torch.Tensor) or excluded.dtype != torch.bool:
        raise TypeError(f"excluded must be a tensor of bool, got {_kind(excluded)}")
    if tuple(excluded.shape) != shape:
        raise ValueError(
            f"excluded has shape {tuple(excluded.shape)}; it must be that of similarity, {shape}"
        )
    own = excluded.diagonal()
    if own.any():
        row = int(own.int().argmax())
        raise ValueError(
            f"excluded[{row}, {row}] is True, but column {row} holds the partner of row {row}, "
            "which cannot be left out; set the diagonal to False"
        )


def _kind(value: Any) -> str:
    """Type of a value, and of its elements where it is a tensor."""
    return str(getattr(value, "dtype", type(value).__name__))

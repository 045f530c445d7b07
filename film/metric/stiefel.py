"""Geometry of the Stiefel manifold: points, the tangent gradient, and the Cayley step.

A point of St(r, d) is an ``(r, d)`` array P with orthonormal columns, ``Pᵀ P = I``; it is the
unknown of FILM's Problem (19). Equation numbers are those of the FILM paper, section 3.2.
Functions accept and return float32 or float64, and cost O(r d²) unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

FloatArray = NDArray[np.floating[Any]]


def orthonormality_tolerance(r: int, dtype: Any = np.float64) -> float:
    """Compute how far ``Pᵀ P`` may differ from I, entrywise, by rounding alone.

    ``10 · eps · √r``: rounding errors of a dot product of r terms grow as √r, and the factor 10
    allows for the few products and the solve that lead to a point.

    Examples
    --------
    >>> from film.metric.stiefel import orthonormality_tolerance
    >>> orthonormality_tolerance(100) < 1e-13 < orthonormality_tolerance(100, "float32")
    True
    """
    return 10.0 * float(np.finfo(dtype).eps) * float(np.sqrt(r))


def random_point(
    r: int,
    d: int,
    random_state: int | np.random.Generator | None = None,
    dtype: DTypeLike = np.float64,
) -> FloatArray:
    """Draw a point of St(r, d), ``1 <= d <= r``, uniformly.

    Parameters
    ----------
    r, d : int
        Shape of the point.
    random_state : int, Generator or None, default=None
        Source of randomness. The same seed gives the same point in float64 and, rounded, in
        float32.
    dtype : dtype, default=float64
        float32 or float64.

    Returns
    -------
    P : ndarray of shape (r, d)
        The polar factor of a Gaussian matrix, which is uniform (Haar) on the manifold.

    Examples
    --------
    >>> from film.metric.stiefel import random_point
    >>> random_point(5, 2, random_state=0, dtype="float32").dtype.name
    'float32'
    """
    gaussian = np.random.default_rng(random_state).standard_normal((r, d))
    return polar_retraction(gaussian).astype(dtype, copy=False)


def polar_retraction(P: FloatArray) -> FloatArray:
    """Compute the point of St(r, d) nearest to P in the Frobenius norm.

    Parameters
    ----------
    P : ndarray of shape (r, d), d <= r
        Any finite matrix.

    Returns
    -------
    P : ndarray of shape (r, d)
        ``W Zᵀ`` where ``P = W diag(ω) Zᵀ`` is the thin SVD (Absil and Malick, 2012); the polar
        factor of P. If P has rank below d the nearest point is not unique, and one of
        them is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.stiefel import polar_retraction
    >>> P = np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> np.allclose(polar_retraction(P), np.eye(3, 2))
    True
    """
    left, _, right = np.linalg.svd(P, full_matrices=False)
    return left @ right


def without_drift(P: FloatArray) -> FloatArray:
    """Return P, projected by `polar_retraction` if it is off the manifold by more than rounding."""
    gram = P.T @ P
    gram.flat[:: len(gram) + 1] -= 1
    drift = float(np.abs(gram).max())
    return polar_retraction(P) if drift > orthonormality_tolerance(len(P), P.dtype) else P


def tangent_gradient(P: FloatArray, G: FloatArray) -> FloatArray:
    """Turn a Euclidean gradient into the direction of steepest ascent on St(r, d).

    Parameters
    ----------
    P : ndarray of shape (r, d)
        A point of the manifold.
    G : ndarray of shape (r, d)
        Euclidean gradient ∇ϕ(P).

    Returns
    -------
    Z : ndarray of shape (r, d)
        ``F(P) = G - P Gᵀ P`` (Eq. 21): the gradient in the canonical metric. It is tangent at P,
        ``Pᵀ Z + Zᵀ P = 0``, and zero exactly at critical points. The map is not a projection:
        applied to a tangent vector Z it gives ``Z + P Pᵀ Z``.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.stiefel import tangent_gradient
    >>> tangent_gradient(np.eye(3, 1), np.array([[5.0], [1.0], [0.0]])).ravel()
    array([0., 1., 0.])
    """
    return G - P @ (G.T @ P)


def cayley_curve(P: FloatArray, G: FloatArray) -> Callable[[float], FloatArray]:
    """Prepare steps from P along the manifold, against the gradient G, by Cayley transforms.

    Parameters
    ----------
    P : ndarray of shape (r, d)
        A point of the manifold.
    G : ndarray of shape (r, d)
        Euclidean gradient ∇ϕ(P).

    Returns
    -------
    curve : callable
        Maps a step τ, in units of P over units of G, to the point
        ``(I + τ/2 A)⁻¹ (I - τ/2 A) P`` with ``A = G Pᵀ - P Gᵀ``; its derivative in τ at 0 is
        ``-F(P)`` (`tangent_gradient`), and a negative step goes uphill. Shared products are
        computed once. It does not keep references to P or G.

    Notes
    -----
    Each step solves a (2d, 2d) system (Eq. 25) in O(r d² + d³) if 2d <= r, else an (r, r) system
    (Eq. 24) in O(r³). If d = r the manifold has two components (determinants 1 and -1), and no step
    leaves the component it starts in.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric.stiefel import cayley_curve
    >>> curve = cayley_curve(np.eye(3, 1), np.array([[0.0], [1.0], [0.0]]))
    >>> curve(2.0).ravel().round(6) + 0.0
    array([ 0., -1.,  0.])
    """
    point = P.copy()
    r, d = point.shape
    # A does not change if P S with symmetric S is subtracted from G. Removing the symmetric part of
    # PᵀG gives a gradient that vanishes at a critical point, instead of large terms that cancel.
    inner = point.T @ G
    free = G - point @ ((inner + inner.T) / 2)
    # Scale columns to unit size to keep the systems well conditioned for any objective. In float64,
    # because squares of small float32 entries would underflow.
    size = float(np.linalg.norm(free.astype(np.float64, copy=False))) / float(np.sqrt(d))
    if size == 0.0:
        return lambda step: point.copy()
    prepare = _woodbury_move if 2 * d <= r else _direct_move
    move = prepare(point, free / point.dtype.type(size))
    return lambda step: without_drift(move(float(step) * size))


def _woodbury_move(point: FloatArray, gradient: FloatArray) -> Callable[[float], FloatArray]:
    """Eq. 25; the small system is solved in float64."""
    d = point.shape[1]
    F = np.hstack([gradient, point])
    gram = (F.T @ F).astype(np.float64)
    # The rows of Gᵀ F with G = [P, -∇ϕ] are those of Fᵀ F, reordered and with a sign change.
    product = np.vstack([gram[d:], -gram[:d]])
    identity = np.eye(2 * d)

    def move(step: float) -> FloatArray:
        weights = np.linalg.solve(identity + (step / 2) * product, step * product[:, d:])
        return point - F @ weights.astype(point.dtype)

    return move


def _direct_move(point: FloatArray, gradient: FloatArray) -> Callable[[float], FloatArray]:
    """Eq. 24; ``(I + τ/2 A)⁻¹ (I - τ/2 A) P = P - (I + τ/2 A)⁻¹ τ A P``."""
    outer = gradient @ point.T
    A = (outer - outer.T).astype(np.float64)
    AP = A @ point
    identity = np.eye(len(point))

    def move(step: float) -> FloatArray:
        change = np.linalg.solve(identity + (step / 2) * A, step * AP)
        return (point - change).astype(point.dtype, copy=False)

    return move

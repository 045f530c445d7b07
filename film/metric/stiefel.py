"""Geometry of the Stiefel manifold: points, the tangent gradient, and the Cayley step.

A point of St(r, d) is an ``(r, d)`` array P with orthonormal columns, ``Pᵀ P = I``; it is the
unknown of FILM's Problem (19). Equations are those of the FILM paper, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = [
    "cayley_curve",
    "cayley_step",
    "check_point",
    "orthonormality_tolerance",
    "polar_retraction",
    "random_point",
    "tangent_gradient",
]

FloatArray = NDArray[np.floating[Any]]
CayleyForm = Literal["auto", "woodbury", "direct"]


def orthonormality_tolerance(r: int, dtype: DTypeLike = np.float64) -> float:
    """Say how far an entry of ``Pᵀ P`` may lie from ``I`` by rounding alone.

    Parameters
    ----------
    r : int
        Length of a column.
    dtype : dtype, default=float64
        float32 or float64.

    Returns
    -------
    float
        ``10 · eps · √r``: rounding errors of a dot product of r terms grow as √r, and 10 is
        room for the handful of products and the solve that lead to a point.

    Examples
    --------
    >>> from film.metric import orthonormality_tolerance
    >>> orthonormality_tolerance(100) < 1e-13 < orthonormality_tolerance(100, "float32")
    True
    """
    return 10.0 * _eps(np.dtype(dtype)) * float(np.sqrt(r))


def check_point(P: ArrayLike, tolerance: float | None = None) -> tuple[bool, str]:
    """Say whether P is a point of St(r, d), and if not, why.

    Parameters
    ----------
    P : array of shape (r, d)
        The candidate.
    tolerance : float, optional
        Largest allowed absolute entry of ``Pᵀ P - I``. By default
        `orthonormality_tolerance` of r and P's dtype.

    Returns
    -------
    ok : bool
        True where P lies on the manifold within the tolerance.
    reason : str
        Empty where ``ok``; otherwise what is wrong, in words.

    Notes
    -----
    Costs O(r d²).

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import check_point
    >>> check_point(np.eye(4, 2))
    (True, '')
    >>> check_point(2 * np.eye(4, 2))[1]
    'PᵀP differs from the identity by 3 at most, more than the tolerance 4.44e-15'
    """
    array = np.asarray(P)
    if array.dtype.kind not in "fiu":
        return False, f"the entries must be real numbers, got dtype {array.dtype}"
    if array.ndim != 2:
        return False, f"a point has shape (r, d), got shape {array.shape}"
    r, d = array.shape
    if not 1 <= d <= r:
        return False, f"a point of shape (r, d) needs 1 <= d <= r, got shape {array.shape}"
    array = _as_floating(array)
    if not np.isfinite(array).all():
        return False, "the entries must be finite, got NaN or infinity"
    if tolerance is None:
        tolerance = orthonormality_tolerance(r, array.dtype)
    drift = _drift(array)
    # "not <=" rather than ">": an overflow to NaN in the product must not pass.
    if not drift <= tolerance:
        return False, (
            f"PᵀP differs from the identity by {drift:.3g} at most, "
            f"more than the tolerance {tolerance:.3g}"
        )
    return True, ""


def random_point(
    r: int,
    d: int,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    dtype: DTypeLike = np.float64,
) -> FloatArray:
    """Draw a point of St(r, d) uniformly.

    Parameters
    ----------
    r, d : int
        Shape of the point, ``1 <= d <= r``.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness. The same seed gives the same point in float64 and, rounded, in
        float32.
    dtype : dtype, default=float64
        float32 or float64.

    Returns
    -------
    ndarray of shape (r, d)
        The polar factor of a Gaussian matrix, which is uniform (Haar) on the manifold.

    Raises
    ------
    ValueError
        If ``1 <= d <= r`` does not hold, or dtype is neither float32 nor float64.

    Notes
    -----
    Costs O(r d²).

    Examples
    --------
    >>> from film.metric import check_point, random_point
    >>> point = random_point(5, 2, random_state=0, dtype="float32")
    >>> point.dtype.name, check_point(point)[0]
    ('float32', True)
    """
    if not 1 <= d <= r:
        raise ValueError(
            f"d must satisfy 1 <= d <= r, got d={d} and r={r}; reduce d or raise the rank r"
        )
    wanted = np.dtype(dtype)
    if wanted not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {wanted}")
    if isinstance(random_state, np.random.RandomState):
        gaussian = random_state.standard_normal((r, d))
    else:
        gaussian = np.random.default_rng(random_state).standard_normal((r, d))
    point: FloatArray = polar_retraction(gaussian)
    return point if wanted == point.dtype else point.astype(np.float32)


def polar_retraction(P: ArrayLike) -> FloatArray:
    """Return the point of St(r, d) nearest to P in the Frobenius norm.

    Parameters
    ----------
    P : array of shape (r, d), d <= r
        Any finite matrix.

    Returns
    -------
    ndarray of shape (r, d)
        ``W Zᵀ`` where ``P = W diag(ω) Zᵀ`` is the thin SVD (Absil and Malick, 2012); the polar
        factor of P. Where P has lower rank than d the nearest point is not unique, and one of
        them is returned.

    Raises
    ------
    ValueError
        If P is not a matrix with ``1 <= d <= r``, or holds NaN or infinity.

    Notes
    -----
    Costs O(r d²). float32 stays float32.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import polar_retraction
    >>> np.allclose(polar_retraction([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), np.eye(3, 2))
    True
    """
    array = _checked_matrix("P", P)
    left, _, right = np.linalg.svd(array, full_matrices=False)
    return left @ right


def tangent_gradient(P: ArrayLike, G: ArrayLike) -> FloatArray:
    """Turn a Euclidean gradient into the direction of steepest ascent on St(r, d).

    Parameters
    ----------
    P : array of shape (r, d)
        A point of the manifold.
    G : array of shape (r, d)
        Euclidean gradient ∇ϕ(P).

    Returns
    -------
    Z : ndarray of shape (r, d), dtype of P
        ``F(P) = G - P Gᵀ P`` (Eq. 21): the gradient in the canonical metric. It is tangent at P,
        ``Pᵀ Z + Zᵀ P = 0``, and zero exactly at critical points.

    Raises
    ------
    ValueError
        If the shapes differ, are no (r, d) with ``1 <= d <= r``, or an entry is NaN or infinite.

    Notes
    -----
    Costs O(r d²). The map is not a projection: applied to a tangent vector Z it gives
    ``Z + P Pᵀ Z``.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import tangent_gradient
    >>> tangent_gradient(np.eye(3, 1), np.array([[5.0], [1.0], [0.0]])).ravel()
    array([0., 1., 0.])
    """
    point, gradient = _checked_pair(P, G)
    return gradient - point @ (gradient.T @ point)


def cayley_step(
    P: ArrayLike,
    G: ArrayLike,
    step: float,
    *,
    form: CayleyForm = "auto",
    tolerance: float | None = None,
) -> FloatArray:
    """Move from P against the gradient G along the manifold by a Cayley transform.

    Parameters
    ----------
    P : array of shape (r, d)
        A point of the manifold.
    G : array of shape (r, d)
        Euclidean gradient ∇ϕ(P).
    step : float
        Step length τ, in units of P over units of G. Finite; a negative one goes uphill.
    form : {"auto", "woodbury", "direct"}, default="auto"
        Which of two equal forms is computed: "woodbury" solves a (2d, 2d) system (Eq. 25),
        "direct" an (r, r) one (Eq. 24), "auto" the smaller.
    tolerance : float, optional
        Drift of ``Pᵀ P`` from I above which the result is put back on the manifold by
        `polar_retraction`. By default `orthonormality_tolerance`.

    Returns
    -------
    ndarray of shape (r, d), dtype of P
        ``(I + τ/2 A)⁻¹ (I - τ/2 A) P`` with ``A = G Pᵀ - P Gᵀ``; its derivative in τ at 0 is
        ``-F(P)`` (`tangent_gradient`).

    Raises
    ------
    ValueError
        If shapes differ, are no (r, d) with ``1 <= d <= r``, an entry or the step is not finite,
        or `form` is unknown.

    See Also
    --------
    cayley_curve : The same for many steps from one point.

    Notes
    -----
    Costs O(r d² + d³) in the woodbury form, O(r³) in the direct one. Where d = r the manifold has
    two components (determinant 1 and -1), and no step leaves the one it starts in.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import cayley_step
    >>> P, G = np.eye(3, 1), np.array([[0.0], [1.0], [0.0]])
    >>> cayley_step(P, G, 2.0).ravel().round(6) + 0.0
    array([ 0., -1.,  0.])
    """
    return cayley_curve(P, G, form=form, tolerance=tolerance)(step)


def cayley_curve(
    P: ArrayLike,
    G: ArrayLike,
    *,
    form: CayleyForm = "auto",
    tolerance: float | None = None,
) -> Callable[[float], FloatArray]:
    """Prepare ``τ ↦ cayley_step(P, G, τ)``, so that a line search pays for its products once.

    Parameters
    ----------
    P, G, form, tolerance
        As in `cayley_step`.

    Returns
    -------
    callable
        Maps a step τ to a point of the manifold. It holds no reference to P's or G's memory, and
        raises ValueError as `cayley_step` does.

    Examples
    --------
    >>> import numpy as np
    >>> from film.metric import cayley_curve
    >>> curve = cayley_curve(np.eye(3, 1), np.array([[0.0], [1.0], [0.0]]))
    >>> np.array_equal(curve(0.0), np.eye(3, 1))
    True
    """
    point, gradient = _checked_pair(P, G)
    point = point.copy()
    r, d = point.shape
    if form not in ("auto", "woodbury", "direct"):
        raise ValueError(f"form must be 'auto', 'woodbury' or 'direct', got {form!r}")
    if form == "auto":
        form = "woodbury" if 2 * d <= r else "direct"
    limit = orthonormality_tolerance(r, point.dtype) if tolerance is None else tolerance

    # A is the same for G - P S with any symmetric S. Taking out the symmetric part of PᵀG leaves
    # a gradient that vanishes at a critical point, instead of a large one that cancels there.
    inner = point.T @ gradient
    free = gradient - point @ ((inner + inner.T) / 2)
    # Columns of unit size keep the systems well scaled whatever the units of the objective.
    # In float64: squares of small float32 entries would vanish.
    size = float(np.linalg.norm(free.astype(np.float64, copy=False))) / float(np.sqrt(d))
    if size == 0.0:
        move: Callable[[float], FloatArray] = lambda _: point.copy()  # noqa: E731
    elif form == "woodbury":
        move = _woodbury_move(point, free / point.dtype.type(size))
    else:
        move = _direct_move(point, free / point.dtype.type(size))

    def curve(step: float) -> FloatArray:
        if not np.isfinite(step):
            raise ValueError(f"step must be finite, got {step!r}")
        moved = move(float(step) * size)
        return polar_retraction(moved) if _drift(moved) > limit else moved

    return curve


def _woodbury_move(point: FloatArray, gradient: FloatArray) -> Callable[[float], FloatArray]:
    """Eq. 25; the small system is solved in float64, where it costs little."""
    d = point.shape[1]
    F = np.hstack([gradient, point])
    gram = (F.T @ F).astype(np.float64)
    # Rows of Gᵀ F with G = [P, -∇ϕ] are those of Fᵀ F in another order and with a sign.
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


def _eps(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype).eps)


def _drift(point: FloatArray) -> float:
    gram = point.T @ point
    gram.flat[:: len(gram) + 1] -= 1
    return float(np.abs(gram).max())


def _as_floating(array: NDArray[Any]) -> FloatArray:
    keep = array.dtype in (np.dtype(np.float32), np.dtype(np.float64))
    return array if keep else array.astype(np.float64)


def _checked_matrix(name: str, matrix: ArrayLike) -> FloatArray:
    array = np.asarray(matrix)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if array.ndim != 2 or not 1 <= array.shape[1] <= array.shape[0]:
        raise ValueError(f"{name} must have shape (r, d) with 1 <= d <= r, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity; keep the last good point")
    return _as_floating(array)


def _checked_pair(P: ArrayLike, G: ArrayLike) -> tuple[FloatArray, FloatArray]:
    point, gradient = _checked_matrix("P", P), _checked_matrix("G", G)
    if gradient.shape != point.shape:
        raise ValueError(f"G must have the shape of P, {point.shape}, got {gradient.shape}")
    return point, gradient.astype(point.dtype, copy=False)

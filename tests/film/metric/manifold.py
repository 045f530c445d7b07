"""What tests ask of a point of the Stiefel manifold."""

import numpy as np

from film.metric.stiefel import orthonormality_tolerance


def on_manifold(P):
    """Whether the columns are orthonormal but for rounding."""
    return np.abs(P.T @ P - np.eye(P.shape[1])).max() <= orthonormality_tolerance(len(P), P.dtype)

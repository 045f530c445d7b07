"""Triplets as samples for cross-validation."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from film.metric import check_triplets


class Triplets:
    """Triplets as samples for scikit-learn's model selection, without copying X.

    Cross-validation slices X but would pass a separate array of triplets whole, with indices
    that no longer match. Indexing this view selects triplets and keeps the same points.

    Parameters
    ----------
    X : ndarray, sparse matrix or frame, shape (n, D)
        Vectors of the points. Neither copied nor changed.
    T : array-like of int, shape (t, 3)
        Rows of X: (anchor, similar, dissimilar), three different ones.

    Attributes
    ----------
    points : ndarray, sparse matrix or frame, shape (n, D)
        ``X`` itself.
    triplets : ndarray of intp, shape (t, 3)
        The checked triplets.
    n_points : int
        Number of rows of ``X`` when the first view was made.
    shape : tuple of int
        (t, D): the number of samples, then the width of the points.

    Raises
    ------
    TypeError, ValueError
        If X is not two-dimensional or is already a `Triplets`; if T is not an integer array of
        shape (t, 3), is empty, has a row out of range, or repeats a point in a triplet.

    See Also
    --------
    DisjointPairsKFold : Folds of triplets that share no points.

    Notes
    -----
    Conversion to an array raises an error, because a triplet has three rows of X. An empty
    selection raises an error, too.

    Examples
    --------
    >>> import numpy as np
    >>> from estimators.inputs import Triplets
    >>> view = Triplets(np.eye(4), [[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    >>> view
    Triplets(n_triplets=3, n_points=4, n_features=4)
    >>> view[[0, 2]].triplets
    array([[0, 1, 2],
           [2, 3, 0]])
    >>> view[[0, 2]].points is view.points
    True
    """

    def __init__(self, X: Any, T: ArrayLike) -> None:
        if isinstance(X, Triplets):
            raise TypeError("X is already Triplets: pass its points, Triplets(X.points, T).")
        shape = getattr(X, "shape", None)
        if shape is None or len(shape) != 2:
            raise TypeError(
                f"X must be an array, sparse matrix or frame of shape (n, D), got "
                f"{type(X).__name__} of shape {shape}: vectorise texts first, or use np.asarray(X)."
            )
        self.points = X
        self.n_points = int(shape[0])
        self.triplets = check_triplets(T, self.n_points)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of triplets and number of features of the points."""
        return len(self.triplets), int(self.points.shape[1])

    @property
    def ndim(self) -> int:
        """Number of dimensions, 2."""
        return 2

    def __len__(self) -> int:
        """Return the number of triplets."""
        return len(self.triplets)

    def __getitem__(self, key: Any) -> Triplets:
        """Select triplets by indices, mask, slice or number; the points stay the same."""
        rows = key[0] if isinstance(key, tuple) else key  # scikit-learn asks for [rows, ...]
        chosen = self.triplets[np.atleast_1d(np.arange(len(self))[rows])]
        if len(chosen) == 0:
            raise ValueError(
                f"the selection holds none of the {len(self)} triplets: select at least one "
                "(fewer folds, or more triplets)."
            )
        view = copy.copy(self)
        view.triplets = chosen
        return view

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Raise TypeError, because a triplet is not a row of X."""
        raise TypeError(
            "Triplets is not an array of features; this estimator or transformer does not "
            "accept triplets: transform X first, then wrap it as Triplets(X, T) for a metric "
            "learner such as FILM."
        )

    def __repr__(self) -> str:
        """Show the numbers of triplets, points and features."""
        return (
            f"Triplets(n_triplets={len(self)}, n_points={self.n_points}, "
            f"n_features={self.shape[1]})"
        )


def labels_or_triplets(
    targets: Any, n_points: int
) -> tuple[NDArray[Any] | None, NDArray[np.intp] | None]:
    """Check the target of a metric: group labels of points, or triplets of their rows.

    Parameters
    ----------
    targets : array-like of shape (n_points,), or of int, shape (t, 3)
        Labels, or triplets.
    n_points : int
        Number of rows of X.

    Returns
    -------
    labels, triplets : ndarray or None
        One is None.

    Raises
    ------
    ValueError
            If the numbers of labels and points differ, no triplet can be mined from the labels, or
            triplets are invalid as in `film.metric.check_triplets`.

    Examples
    --------
    >>> from estimators.inputs import labels_or_triplets
    >>> labels_or_triplets(["a", "b", "a"], 3)[0].tolist()
    ['a', 'b', 'a']
    >>> labels_or_triplets([[0, 2, 1]], 3)[1].tolist()
    [[0, 2, 1]]
    """
    array = np.asarray(targets)
    if array.ndim == 2 and array.shape[1] == 3:
        return None, check_triplets(array, n_points)
    labels = column_or_1d(targets, warn=True)
    if len(labels) != n_points:
        raise ValueError(
            f"y has {len(labels)} labels for {n_points} rows of X; give one label per "
            "row, or triplets of shape (n_triplets, 3)"
        )
    with warnings.catch_warnings():
        # Groups of duplicates are small, so there can be nearly as many classes as samples.
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        check_classification_targets(labels)
    counts = np.unique(labels, return_counts=True)[1]
    if len(counts) < 2 or counts.max() < 2:
        raise nothing_mined(labels)
    return labels, None


def nothing_mined(labels: NDArray[Any]) -> ValueError:
    """Return the error that explains why labels yield no triplet."""
    n_classes = len(np.unique(labels))
    return ValueError(
        f"no triplet can be mined from y: it has {n_classes} class"
        f"{'' if n_classes == 1 else 'es'} for {len(labels)} samples; at least two "
        "classes are needed, one of them with two samples or more"
    )

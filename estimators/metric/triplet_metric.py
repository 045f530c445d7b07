"""Base class of metrics learned from triplets: data and transformation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from estimators.inputs import (
    Triplets,
    check_integer,
    check_real,
    check_seed,
    check_verbose,
    keeps_unfinished,
    labels_or_triplets,
    nothing_mined,
)
from film.metric import (
    StopReason,
    ordered_share,
    project,
    triplets_from_labels,
)


class TripletMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of linear maps L, in ``components_``, learned from triplets.

    Subclasses define these parameters and ``_learn``.
    """

    d: int
    rank: int
    margin: float
    n_random: int
    max_iter: int
    tol: float
    random_state: Any
    verbose: int
    components_: np.ndarray

    def _learn(self, points: Any, labels: Any, triplets: Any, rng: np.random.Generator) -> None:
        """Set the fitted attributes from labels or triplets."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn the map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Triplets
            Rows; float32 stays float32. `Triplets` contains its own triplets.
        y : array-like of shape (n_samples,) or of int, shape (n_triplets, 3)
            Group labels, from which triplets are mined, or triplets of row indices (anchor,
            similar, dissimilar). None with `Triplets`.

        Returns
        -------
        self : object
            Fitted.

        Raises
        ------
        ValueError
            If X contains NaN or infinity, a triplet is out of range or repeats a point, no triplet
            can be mined, or a parameter is out of range. An earlier fit is then kept.
        """
        self._check_parameters()
        with self._unchanged_on_error():
            points, labels, triplets = self._check_data(X, y, reset=True)
            if not _any_nonzero(points):
                raise ValueError(
                    "X has only zeros, so there is nothing to learn from; check the data"
                )
            self._learn(points, labels, triplets, self._generator())
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Map rows to the learned space.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Y : ndarray of shape (n_samples, d)
            L x, to compare by cosine. Zero rows stay zero.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return project(X, self.components_.astype(X.dtype, copy=False))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the fraction of triplets in the right order by cosine in the learned space.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Triplets
            Rows.
        y : array-like of shape (n_samples,) or of int, shape (n_triplets, 3)
            Triplets, or labels from which they are mined, seeded by ``random_state`` (0 if None).

        Returns
        -------
        share : float
            From 0 to 1; a tie counts as one half.
        """
        check_is_fitted(self)
        points, labels, triplets = self._check_data(X, y, reset=False)
        if triplets is None:
            triplets = self._mined(labels, self._generator(default=0))
        used, triplets = np.unique(triplets, return_inverse=True)
        Y = project(in_units(points[used])[0], self.components_.astype(points.dtype, copy=False))
        return ordered_share(Y, triplets.reshape(-1, 3))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        for name in ("d", "rank", "n_random", "max_iter"):
            check_integer(name, getattr(self, name), 1)
        check_real("margin", self.margin, 0)
        check_real("tol", self.tol, 0)
        check_verbose(self.verbose)

    def _check_data(
        self, X: Any, y: Any, *, reset: bool
    ) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
        """Return points and either labels or validated triplets."""
        if isinstance(X, Triplets):
            if y is not None:
                raise ValueError("y must be None where X is Triplets, which holds its triplets")
            points, targets = X.points, X.triplets
            if points.shape[0] != X.n_points:
                raise ValueError(
                    f"the points of Triplets now have {points.shape[0]} rows, not the "
                    f"{X.n_points} its triplets were made for; slice the Triplets, not its points"
                )
        elif y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; give "
                "group labels, or triplets of shape (n_triplets, 3)"
            )
        else:
            points, targets = X, y
        _refuse_texts(points, type(self).__name__)
        points: Any = validate_data(
            self,
            points,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_min_samples=2,
        )
        labels, triplets = labels_or_triplets(targets, points.shape[0])
        return points, labels, triplets

    def _mined(self, labels: Any, rng: np.random.Generator) -> np.ndarray:
        """Mine triplets from labels."""
        triplets = triplets_from_labels(labels, n_random=self.n_random, random_state=rng)
        if len(triplets) == 0:
            raise nothing_mined(labels)
        return triplets

    def _generator(self, default: int | None = None) -> np.random.Generator:
        seed = default if self.random_state is None else self.random_state
        return np.random.default_rng(check_seed(seed).randint(2**31 - 1))

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Restore the previous state if fitting raises."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _set_reason(self, reason: StopReason) -> None:
        if reason is StopReason.INTERRUPTED and not keeps_unfinished():
            raise KeyboardInterrupt
        self.convergence_reason_ = reason.value
        if not reason.converged:
            note = f"{type(self).__name__}: {reason.value}"
            warnings.warn(note, ConvergenceWarning, stacklevel=4)

    def _warn_reduced(self, rank: int, d: int, shape: tuple[int, int], stacklevel: int = 4) -> None:
        # A rank above that of X loses nothing.
        if d == self.d:
            return
        if rank < self.rank or rank < d:
            note = (
                f"rank={self.rank} and d={self.d} were reduced to {rank} and {d}: X of shape "
                f"{shape} has no higher rank; set rank and d lower to silence this"
            )
        else:
            note = (
                f"d={self.d} was reduced to {d}, because rank={self.rank} leaves no more "
                "dimensions; set d lower or rank higher"
            )
        warnings.warn(note, UserWarning, stacklevel=stacklevel)


def in_units(X: Any) -> tuple[Any, float]:
    """Return X divided by its largest entry, and that entry, to keep squares in range.

    float64 is divided by the entry itself, so that scaling X changes the result only by rounding;
    float32 is divided by the next power of two, which is exact.
    """
    entries = X.data if sp.issparse(X) else X
    largest = float(np.abs(entries).max(initial=0))
    if largest == 0:
        return X, 1.0
    if X.dtype == np.float32:
        largest = float(np.exp2(np.frexp(largest)[1]))
    return X / X.dtype.type(largest), largest


def in_rounded_units(X: Any) -> tuple[Any, float]:
    """Return X as `in_units` does, rounded to float32, so that scaling X does not change it.

    Used for descents that amplify differences in the last bits.
    """
    X, unit = in_units(X)
    return X.astype(np.float32).astype(X.dtype), unit


def _refuse_texts(X: Any, name: str) -> None:
    """Raise if rows are texts, which need a vectorizer first."""
    if hasattr(X, "iloc"):
        X = X.iloc[:1].to_numpy()
    first = X[:1].ravel() if isinstance(X, np.ndarray) else X[:1] if isinstance(X, list) else ()
    for value in first:
        if isinstance(value, str):
            raise ValueError(
                f"X holds texts, such as {value[:60]!r}, but {name} needs numbers; put a "
                f"vectoriser before it: make_pipeline(TfidfVectorizer(), {name}())"
            )


def _any_nonzero(X: Any) -> bool:
    if not sp.issparse(X):
        return bool(np.any(X))
    # SciPy sums duplicates in place before counting, so copy the caller's matrix.
    return bool((X if X.has_canonical_format else X.copy()).count_nonzero())

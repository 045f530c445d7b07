"""FILM as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from estimators.inputs import (
    Triplets,
    check_choice,
    check_integer,
    check_real,
    check_seed,
    check_verbose,
    progress_bar,
)
from estimators.persistence import savable
from film.metric import (
    StopReason,
    anchor_sums,
    batch_step,
    check_triplets,
    initial_components,
    nearest_dissimilar,
    ordered_share,
    project,
    solve,
    triplets_from_labels,
    truncated_svd,
)

SOLVERS = ("eigen", "cayley", "minibatch")


@savable
class FILM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Fast, interpretable, low-rank metric learning from triplets.

    Learns a linear map L in whose space similar rows of X have a higher cosine than dissimilar
    ones. X is reduced to X ≈ V diag(σ) Uᵀ first; the map is found inside that space and written
    back as weights of the original features, so each of its dimensions can be read.

    Parameters
    ----------
    d : int, default=100
        Dimensions of the learned space.
    rank : int, default=600
        Rank of the decomposition of X. ``rank`` > min(n_samples, n_features) and ``d`` > ``rank``
        are reduced with one warning, which names what was too large.
    margin : float, default=0.2
        By how much a similar point must be closer, relative to the mean squared length ‖y‖² of
        the closed-form map of all anchors, which is the same for "eigen" and "cayley". Large
        values keep every anchor in play; small ones concentrate on violated ones.
    whitening : float in [0, 1], default=0.5
        Exponent α of the coordinates v σ^(1−α): 1 is the paper's full whitening, 0 keeps the
        data's own scale. "minibatch" does without.
    solver : {"eigen", "cayley", "minibatch"}, default="eigen"
        "eigen" moves towards the closed form for the anchors now active, as far as the objective
        falls; "cayley" descends on the Stiefel manifold as in the paper, on the same objective;
        "minibatch" never decomposes all of X.
    n_random : int, default=5
        Random dissimilar points an anchor, where triplets are mined from labels.
    n_nearest : int, default=0
        Nearest dissimilar points an anchor, where triplets are mined from labels.
    max_iter : int, default=50
        Most rounds; passes over the triplets for "minibatch".
    tol : float, default=1e-2
        Stop when the objective is above a lower bound of its minimum by this share, or less, of
        itself and of what the map lowers it by, or when eight rounds of "eigen" lowered it by less
        than a tenth of that; for "minibatch", when a pass lowered the mean loss by less than a
        third of this share.
    batch_size : int, default=1024
        Triplets a batch, for "minibatch".
    random_state : int, RandomState or None, default=None
        Seeds the decomposition, mining and batches.
    verbose : int, default=0
        Above 0, a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        L, rows by decreasing weight.
    n_iter_ : int
        Rounds, or batches, done.
    objective_ : float
        Σ max(0, z + m) + ½‖s‖² of the map kept, in units of the first map's leading weight; the
        last of ``loss_curve_`` for "minibatch". With the same data, triplets and margin it
        compares between "eigen" and "cayley".
    lower_bound_ : float
        No map of d dimensions has a lower objective; 0 for "minibatch", where none is known.
    loss_curve_ : ndarray of shape (n_iter_,)
        That objective per round, which never rises for "eigen"; for "minibatch" the mean hinge of
        a batch's anchors before its step, in units of the batch's mean ‖y‖².
    gradient_norm_curve_ : ndarray
        Norm of the gradient per round: of the objective with its hinge smoothed, with respect to
        P diag(√s), for "eigen"; ‖F(P)‖ of f2 at the round's start (paper, figure 2) for "cayley";
        empty for "minibatch".
    active_share_ : float
        Share of anchors whose hinge was active in the last round.
    convergence_reason_ : str
        Why fitting ended, and what to do about it.
    singular_values_ : ndarray of shape (rank,)
        σ of X; not set by "minibatch".
    n_triplets_ : int
        Triplets learned from.
    n_features_in_ : int
        Features of X.

    See Also
    --------
    PairwiseKNNClassifier : Decides on pairs of texts by neighbour ranks in this space.
    Triplets : Samples that are triplets, for cross-validation.

    References
    ----------
    "FILM: Fast, Interpretable, and Low-rank Metric learning for sentence matching", algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from estimators import FILM
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 6)) + 3 * np.outer(y, [1, 0, 0, 0, 0, 0])
    >>> metric = FILM(d=2, rank=6, random_state=0).fit(X, y)
    >>> metric.transform(X).shape
    (40, 2)
    >>> metric.score(X, y) > 0.8
    True
    """

    def __init__(
        self,
        d: int = 100,
        *,
        rank: int = 600,
        margin: float = 0.2,
        whitening: float = 0.5,
        solver: str = "eigen",
        n_random: int = 5,
        n_nearest: int = 0,
        max_iter: int = 50,
        tol: float = 1e-2,
        batch_size: int = 1024,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.d = d
        self.rank = rank
        self.margin = margin
        self.whitening = whitening
        self.solver = solver
        self.n_random = n_random
        self.n_nearest = n_nearest
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> FILM:
        """Learn the map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Triplets
            Rows; float32 stays float32. `Triplets` carries its own triplets.
        y : array-like of shape (n_samples,) or of int, shape (n_triplets, 3)
            Group labels, from which triplets are mined, or triplets of row indices (anchor,
            similar, dissimilar). None with `Triplets`.

        Returns
        -------
        self : FILM
            Fitted.

        Raises
        ------
        ValueError
            If X holds NaN or infinity, a triplet is out of range or repeats a point, no triplet
            can be mined, or a parameter is out of range. A fitted state stays as it was.

        Notes
        -----
        Costs O(nnz r + D r²) for the decomposition and O(m r d + r³) per round, m anchors.
        """
        self._check_parameters()
        with _unchanged_on_error(self):
            points, labels, triplets = self._check_data(X, y, reset=True)
            if not _any_nonzero(points):
                raise ValueError(
                    "X has only zeros, so there is nothing to learn from; check the data"
                )
            rng = _generator(self.random_state)
            if self.solver == "minibatch":
                triplets = self._mined(points, labels, rng) if triplets is None else triplets
                return self._fit_batches(points, triplets, rng)
            return self._fit_full(points, labels, triplets, rng)

    def partial_fit(self, X: Any, y: Any = None) -> FILM:
        """Take one mini-batch step, from a random projection or the map fitted so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Triplets
            The batch's rows.
        y : array-like of shape (n_samples,) or of int, shape (n_triplets, 3)
            Labels or triplets of the batch, as in `fit`.

        Returns
        -------
        self : FILM
            With the step taken.
        """
        self._check_parameters()
        first = not hasattr(self, "components_")
        with _unchanged_on_error(self):
            points, labels, triplets = self._check_data(X, y, reset=first)
            rng = _generator(self.random_state)
            triplets = self._mined(points, labels, rng) if triplets is None else triplets
            if first:
                D = points.shape[1]
                d = min(self.d, D)
                if d < self.d:
                    self._warn_reduced(min(self.rank, D), d, points.shape, stacklevel=3)
                self.components_ = initial_components(d, D, rng, points.dtype)
                self.n_iter_ = 0
                self.loss_curve_ = np.empty(0)
            self._n_batches = getattr(self, "_n_batches", self.n_iter_)
            self._take_batch(points, triplets, rng)
            self.n_triplets_ = len(triplets)
            self.convergence_reason_ = "partial_fit: one step a call; convergence is the caller's"
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
            L x; compare by cosine. Rows of zeros stay zeros.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return project(X, self.components_.astype(X.dtype, copy=False))

    def score(self, X: Any, y: Any = None) -> float:
        """Share of triplets that cosine in the learned space orders rightly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Triplets
            Rows.
        y : array-like of shape (n_samples,) or of int, shape (n_triplets, 3)
            Triplets, or labels from which they are mined, seeded by ``random_state`` (0 if None).

        Returns
        -------
        share : float
            From 0 to 1; a tie counts one half.
        """
        check_is_fitted(self)
        points, labels, triplets = self._check_data(X, y, reset=False)
        if triplets is None:
            seed = 0 if self.random_state is None else self.random_state
            triplets = self._mined(points, labels, _generator(seed))
        used, triplets = np.unique(triplets, return_inverse=True)
        Y = project(points[used], self.components_.astype(points.dtype, copy=False))
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
        for name in ("d", "rank", "max_iter", "batch_size"):
            check_integer(name, getattr(self, name), 1)
        for name in ("n_random", "n_nearest"):
            check_integer(name, getattr(self, name), 0)
        if self.n_random + self.n_nearest == 0:
            raise ValueError("n_random=0 and n_nearest=0 leave nothing to mine; raise one of them")
        check_real("margin", self.margin, 0)
        check_real("whitening", self.whitening, 0, 1)
        check_real("tol", self.tol, 0)
        check_choice("solver", self.solver, SOLVERS)
        check_verbose(self.verbose)

    def _check_data(
        self, X: Any, y: Any, *, reset: bool
    ) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
        """Points, and either labels or checked triplets."""
        if isinstance(X, Triplets):
            if y is not None:
                raise ValueError("y must be None where X is Triplets, which holds its triplets")
            points, triplets = X.points, X.triplets
            if points.shape[0] != X.n_points:
                raise ValueError(
                    f"the points of Triplets now have {points.shape[0]} rows, not the "
                    f"{X.n_points} its triplets were made for; slice the Triplets, not its points"
                )
            points = self._check_points(points, reset)
            return points, None, check_triplets(triplets, points.shape[0])
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; give "
                "group labels, or triplets of shape (n_triplets, 3)"
            )
        points = self._check_points(X, reset)
        targets = np.asarray(y)
        if targets.ndim == 2 and targets.shape[1] == 3:
            return points, None, check_triplets(targets, points.shape[0])
        labels = column_or_1d(y, warn=True)
        if len(labels) != points.shape[0]:
            raise ValueError(
                f"y has {len(labels)} labels for {points.shape[0]} rows of X; give one label a "
                "row, or triplets of shape (n_triplets, 3)"
            )
        with warnings.catch_warnings():
            # Groups of duplicates are small, so there may be nearly as many as samples.
            warnings.filterwarnings(
                "ignore", "The number of unique classes is greater", UserWarning
            )
            check_classification_targets(labels)
        counts = np.unique(labels, return_counts=True)[1]
        if len(counts) < 2 or counts.max() < 2:
            raise _nothing_mined(len(counts), len(labels))
        return points, labels, None

    def _check_points(self, X: Any, reset: bool) -> Any:
        return validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_min_samples=2,
        )

    def _mined(
        self, points: Any, labels: np.ndarray | None, rng: np.random.Generator, space: Any = None
    ) -> np.ndarray:
        assert labels is not None
        dense = space

        def nearest(anchors: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
            coordinates = dense
            if coordinates is None:
                rank = min(self.rank, *points.shape)
                low = truncated_svd(points, rank, random_state=rng)
                coordinates = low.left * low.singular_values
            return nearest_dissimilar(coordinates, anchors, groups, count)

        triplets = triplets_from_labels(
            labels,
            n_nearest=self.n_nearest,
            n_random=self.n_random,
            nearest=nearest,
            random_state=rng,
        )
        if len(triplets) == 0:
            raise _nothing_mined(len(np.unique(labels)), len(labels))
        return triplets

    def _fit_full(
        self,
        points: Any,
        labels: np.ndarray | None,
        triplets: np.ndarray | None,
        rng: np.random.Generator,
    ) -> FILM:
        rank = min(self.rank, *points.shape)
        with progress_bar(self.verbose, "FILM") as progress:
            low = truncated_svd(points, rank, random_state=rng, progress=progress)
            sigma = low.singular_values / low.singular_values[0]
            d = min(self.d, len(sigma))
            self._warn_reduced(len(sigma), d, points.shape)
            # A NumPy number as parameter would turn float32 into float64.
            whitening = float(self.whitening)
            # In place: at full size each (n, rank) copy is a fifth of the peak memory.
            coordinates = low.left
            coordinates *= sigma ** (1 - whitening)
            if triplets is None:
                space = coordinates * sigma**whitening if self.n_nearest else None
                triplets = self._mined(points, labels, rng, space)
            anchors, pulls = anchor_sums(triplets, coordinates)
            solution = solve(
                coordinates[anchors],
                pulls,
                np.einsum("nr,nr->r", coordinates, coordinates) / len(coordinates),
                d,
                margin=float(self.margin),
                method="eigen" if self.solver == "eigen" else "cayley",
                max_iter=self.max_iter,
                tol=self.tol,
                random_state=rng,
                progress=progress,
            )
        weighted = solution.P * np.sqrt(solution.s) / (sigma**whitening)[:, None]
        self.components_ = np.ascontiguousarray((low.right @ weighted).T)
        self.singular_values_ = low.singular_values
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.objective
        self.lower_bound_ = solution.lower_bound
        self.loss_curve_ = solution.loss_curve
        self.gradient_norm_curve_ = solution.gradient_norms
        self.active_share_ = float(solution.active_shares[-1]) if solution.n_iter else 1.0
        self.n_triplets_ = len(triplets)
        self._n_batches = 1 + len(anchors) // self.batch_size
        self._set_reason(solution.reason)
        return self

    def _fit_batches(self, points: Any, triplets: np.ndarray, rng: np.random.Generator) -> FILM:
        rank = min(self.rank, *points.shape)
        d = min(self.d, rank)
        self._warn_reduced(rank, d, points.shape)
        self.components_ = initial_components(d, points.shape[1], rng, points.dtype)
        self._n_batches, self.n_iter_, self.loss_curve_ = 0, 0, np.empty(0)
        reason = StopReason.MAX_ITER
        with progress_bar(self.verbose, "FILM") as progress:
            try:
                for _ in range(self.max_iter):
                    before = len(self.loss_curve_)
                    for batch in _batches(triplets, self.batch_size, rng):
                        rows, local = np.unique(batch, return_inverse=True)
                        self._take_batch(points[rows], local.reshape(-1, 3), rng)
                        if progress is not None:
                            progress(f"loss {self.loss_curve_[-1]:.4g}")
                    if _pass_settled(self.loss_curve_, before, self.tol):
                        reason = StopReason.PASSES
                        break
            except KeyboardInterrupt:
                if not self.n_iter_:
                    raise
                reason = StopReason.INTERRUPTED
        self.objective_ = float(self.loss_curve_[-1])
        self.lower_bound_ = 0.0
        self.gradient_norm_curve_ = np.empty(0)
        self.n_triplets_ = len(triplets)
        self._set_reason(reason)
        return self

    def _take_batch(self, points: Any, triplets: np.ndarray, rng: np.random.Generator) -> None:
        self._n_batches += 1
        step = batch_step(
            self.components_,
            points,
            triplets,
            n_steps=self._n_batches,
            margin=float(self.margin),
            rank=self.rank,
            random_state=rng,
        )
        self.components_ = step.components
        self.active_share_ = step.active_share
        self.loss_curve_ = np.append(self.loss_curve_, step.loss)
        self.objective_ = step.loss
        self.n_iter_ += 1

    def _set_reason(self, reason: StopReason) -> None:
        self.convergence_reason_ = reason.value
        if not reason.converged:
            warnings.warn(f"FILM: {reason.value}", ConvergenceWarning, stacklevel=4)

    def _warn_reduced(self, rank: int, d: int, shape: tuple[int, int], stacklevel: int = 4) -> None:
        if rank < self.rank or rank < d < self.d:
            note = (
                f"rank={self.rank} and d={self.d} were reduced to {rank} and {d}: X of shape "
                f"{shape} has no higher rank; set rank and d lower to silence this"
            )
        elif d < self.d:
            note = (
                f"d={self.d} was reduced to {d}, for rank={self.rank} leaves no more dimensions; "
                "set d lower or rank higher"
            )
        else:
            return
        warnings.warn(note, UserWarning, stacklevel=stacklevel)


@contextmanager
def _unchanged_on_error(estimator: FILM) -> Iterator[None]:
    """Give the estimator back the state it had, where fitting raises."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def _nothing_mined(n_classes: int, n_samples: int) -> ValueError:
    return ValueError(
        f"no triplet can be mined from y: it has {n_classes} class"
        f"{'' if n_classes == 1 else 'es'} for {n_samples} samples; at least two "
        "classes are needed, one of them with two samples or more"
    )


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_seed(random_state).randint(2**31 - 1))


def _any_nonzero(X: Any) -> bool:
    if not sp.issparse(X):
        return bool(np.any(X))
    # SciPy sums duplicates in place before it counts, and the matrix is the caller's.
    return bool((X if X.has_canonical_format else X.copy()).count_nonzero())


def _batches(triplets: np.ndarray, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Batches of whole anchors, in random order."""
    anchors, position = np.unique(triplets[:, 0], return_inverse=True)
    place = rng.permutation(len(anchors))[position]
    order = np.argsort(place, kind="stable")
    n_batches = max(1, round(len(triplets) / size))
    counts = np.bincount(place)
    # An anchor goes where its first triplet would; split, its average would be two others.
    batch = (np.cumsum(counts) - counts) * n_batches // len(triplets)
    edges = np.flatnonzero(np.diff(batch[place[order]])) + 1
    return np.split(triplets[order], edges)


def _pass_settled(losses: np.ndarray, start: int, tol: float) -> bool:
    """Whether the mean loss of a pass (batch_size fixed) fell by less than tol / 3 of itself."""
    now = losses[start:]
    before = losses[max(0, start - len(now)) : start]
    return len(before) == len(now) and bool(before.mean() - now.mean() <= tol / 3 * before.mean())

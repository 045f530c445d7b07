"""Mini-batch FILM as a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from estimators.inputs import check_integer, progress_bar
from estimators.metric.triplet_metric import TripletMetric, in_rounded_units
from estimators.persistence import savable
from film.metric import StopReason, anchor_batches, batch_step, initial_components, pass_settled


@savable
@dataclass(eq=False, repr=False)
class MiniBatchFILM(TripletMetric):
    """FILM on mini-batches of triplets, without decomposing all of X.

    L starts as a random projection. Each batch decomposes only its own rows and moves L within
    their row space by a projected gradient step, with a decreasing step size.

    Parameters
    ----------
    d : int, default=100
        Number of dimensions of the learned space.
    rank : int, default=600
        Maximum number of singular directions per batch, at most min(n_samples, n_features). A
        warning is raised if this leaves fewer than ``d`` dimensions.
    margin : float, default=0.2
        Minimum advantage of similar over dissimilar points, relative to the batch's mean squared
        length ‖y‖².
    n_random : int, default=5
        Random dissimilar points per anchor when triplets are mined from labels.
    max_iter : int, default=50
        Maximum number of passes over the triplets.
    tol : float, default=1e-2
        Stop when a pass lowers the mean loss by less than a third of this fraction.
    batch_size : int, default=1024
        Approximate number of triplets per batch; the triplets of an anchor stay together.
    random_state : int, RandomState or None, default=None
        Seeds the first map, mining, batches and their decompositions.
    verbose : int, default=0
        Above 0, a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        L.
    n_steps_ : int
        Number of batches processed by `fit` and `partial_fit`.
    n_iter_ : int
        Number of passes over the triplets that `fit` started; not set by `partial_fit`.
    loss_curve_ : ndarray of shape (n_steps_,)
        Mean hinge loss of each batch's anchors before its step, in units of the mean ‖y‖².
    active_share_ : float
        Fraction of the last batch's anchors with an active hinge.
    convergence_reason_ : str
        Why fitting stopped, with advice.
    n_triplets_ : int
        Number of triplets in the last call of `fit` or `partial_fit`.
    n_features_in_ : int
        Number of features of X.

    See Also
    --------
    FILM : Uses all triplets at once and finds a better map if X can be decomposed.

    Examples
    --------
    >>> import numpy as np
    >>> from estimators import MiniBatchFILM
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 6)) + 3 * np.outer(y, [1, 0, 0, 0, 0, 0])
    >>> metric = MiniBatchFILM(d=2, rank=6, random_state=0)
    >>> for batch in np.split(rng.permutation(40), 4):
    ...     metric = metric.partial_fit(X[batch], y[batch])
    >>> metric.n_steps_, metric.transform(X).shape
    (4, (40, 2))
    """

    d: int = 100
    _: KW_ONLY
    rank: int = 600
    margin: float = 0.2
    n_random: int = 5
    max_iter: int = 50
    tol: float = 1e-2
    batch_size: int = 1024
    random_state: Any = None
    verbose: int = 0

    def partial_fit(self, X: Any, y: Any = None) -> MiniBatchFILM:
        """Take one mini-batch step from the current map, or from a random projection.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Triplets
            The batch's rows.
        y : array-like of shape (n_samples,) or of int, shape (n_triplets, 3)
            Labels or triplets of the batch, as in `fit`.

        Returns
        -------
        self : MiniBatchFILM
            The estimator itself.
        """
        self._check_parameters()
        first = not hasattr(self, "components_")
        with self._unchanged_on_error():
            points, labels, triplets = self._check_data(X, y, reset=first)
            points, rng = in_rounded_units(points)[0], self._generator()
            triplets = self._mined(labels, rng) if triplets is None else triplets
            if first:
                D = points.shape[1]
                d = min(self.d, D)
                if d < self.d:
                    self._warn_reduced(min(self.rank, D), d, points.shape, stacklevel=3)
                self._begin(d, points, rng)
            self._take_batch(points, triplets, rng)
            self.n_triplets_ = len(triplets)
            self.convergence_reason_ = "partial_fit: one step per call; convergence is not checked"
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("batch_size", self.batch_size, 1)

    def _learn(self, points: Any, labels: Any, triplets: Any, rng: np.random.Generator) -> None:
        points = in_rounded_units(points)[0]
        triplets = self._mined(labels, rng) if triplets is None else triplets
        rank = min(self.rank, *points.shape)
        d = min(self.d, rank)
        self._warn_reduced(rank, d, points.shape)
        self._begin(d, points, rng)
        reason, directed = StopReason.MAX_ITER, False
        with progress_bar(self.verbose, "MiniBatchFILM") as progress:
            try:
                for passes in range(1, self.max_iter + 1):
                    self.n_iter_, before = passes, self.n_steps_
                    for batch in anchor_batches(triplets, self.batch_size, rng):
                        rows, local = np.unique(batch, return_inverse=True)
                        directed |= self._take_batch(points[rows], local.reshape(-1, 3), rng)
                        if progress is not None:
                            progress(f"loss {self.loss_curve_[-1]:.4g}")
                    if pass_settled(self.loss_curve_, before, self.tol):
                        reason = StopReason.PASSES if directed else StopReason.NO_DIRECTION
                        break
            except KeyboardInterrupt:
                if not self.n_steps_:
                    raise
                reason = StopReason.INTERRUPTED
        self.n_triplets_ = len(triplets)
        self._set_reason(reason)

    def _begin(self, d: int, points: Any, rng: np.random.Generator) -> None:
        self.components_ = initial_components(d, points.shape[1], rng, points.dtype)
        self.n_steps_, self.loss_curve_ = 0, np.empty(0)

    def _take_batch(self, points: Any, triplets: np.ndarray, rng: np.random.Generator) -> bool:
        """Take a step and return whether the batch had a useful direction."""
        step = batch_step(
            self.components_,
            points,
            triplets,
            n_steps=self.n_steps_ + 1,
            margin=float(self.margin),
            rank=self.rank,
            random_state=rng,
        )
        self.n_steps_ += 1
        self.components_ = step.components
        self.active_share_ = step.active_share
        self.loss_curve_ = np.append(self.loss_curve_, step.loss)
        return step.directed

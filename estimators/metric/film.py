"""FILM as a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from estimators.inputs import check_choice, check_real, checked_memory, progress_bar
from estimators.metric.triplet_metric import TripletMetric, in_units
from estimators.persistence import savable
from film.metric import (
    anchor_sums,
    solve,
    threshold_pulls,
    truncated_svd,
)

SOLVERS = ("eigen", "cayley")
# Maximum fraction of the captured energy that the decomposition may miss. Quora's AUC does not
# improve with a lower value.
_MISSING = 1e-2


@savable
@dataclass(eq=False, repr=False)
class FILM(TripletMetric):
    """Fast, interpretable, low-rank metric learning from triplets.

    Learns a linear map L that gives similar rows of X a higher cosine than dissimilar ones. X is
    first reduced to X ≈ V diag(σ) Uᵀ; the map is learned in that space and expressed as weights of
    the original features, so its dimensions can be interpreted.

    Parameters
    ----------
    d : int, default=100
        Number of dimensions of the learned space.
    rank : int, default=600
        Rank of the decomposition of X, at most min(n_samples, n_features), which keeps all of X. A
        warning is raised if this leaves fewer than ``d`` dimensions.
    margin : float, default=0.5
        Minimum advantage of similar over dissimilar points, relative to the mean squared length
        ‖y‖² under the closed-form map of all anchors, which is the same for both solvers. Large
        values keep every anchor active; small ones concentrate on violated triplets.
    threshold : float in [0, 1], default=None
        None compares the two pairs of a triplet with each other, as in the paper. With a cosine τ,
        the similar point should be closer to the anchor than τ and the dissimilar one farther, with
        one hinge per pair; rows are scaled to unit length. Use it with a ``margin`` of a few
        hundredths for vectors whose cosine is already a good similarity, such as those of a
        `SentenceEncoder`; see `film.metric.threshold_pulls`.
    similar_weight : float, default=1.0
        Weight of similar pairs with a ``threshold``; dissimilar pairs have weight 1. Lower it if
        there are many more similar pairs than hard dissimilar ones.
    whitening : float in [0, 1], default=0.75
        Exponent α of the coordinates v σ^(1−α): 1 is the paper's full whitening, 0 keeps the scale
        of the data.
    solver : {"eigen", "cayley"}, default="eigen"
        "eigen" steps towards the closed form for the currently active anchors as long as the
        objective falls; "cayley" minimises the same objective on the Stiefel manifold, as in the
        paper.
    n_random : int, default=5
        Random dissimilar points per anchor when triplets are mined from labels.
    max_iter : int, default=100
        Maximum number of rounds, including those that polish maps.
    tol : float, default=1e-2
        Stop when the gap between the objective and a lower bound is at most this fraction of the
        objective and of its decrease. After four rounds of slower progress, L-BFGS polishes the
        map and random other maps until eight agree with the lowest within half of ``tol``.
    memory : str or joblib.Memory, default=None
        Cache of the decomposition, by X, ``rank`` and ``random_state``, for fits that differ only
        in other parameters, as in a grid search. It stores (n_samples + n_features) · rank numbers.
        Use a private folder, because its files are unpickled.
    random_state : int, RandomState or None, default=None
        Seeds the decomposition, mining, the start of "cayley" and random maps.
    verbose : int, default=0
        Above 0, a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        L, with rows in order of decreasing weight.
    n_iter_ : int
        Number of rounds.
    objective_ : float
        Σ max(0, z + m) + ½‖s‖² of the final map, in units of the first map's leading weight.
        Comparable between solvers for the same data, triplets and margin.
    lower_bound_ : float
        Lower bound of the objective over all maps of d dimensions.
    loss_curve_ : ndarray of shape (n_iter_,)
        Lowest objective up to each round.
    gradient_norm_curve_ : ndarray of shape (n_iter_,)
        Gradient norm per round. For "eigen": of the smoothed objective with respect to P diag(√s).
        For "cayley": ‖F(P)‖ of f2 at the start of the round (paper, figure 2).
    active_share_ : float
        Fraction of anchors with an active hinge in the last round.
    convergence_reason_ : str
        Why fitting stopped, with advice.
    singular_values_ : ndarray of shape (rank,)
        σ of X.
    n_triplets_ : int
        Number of training triplets.
    n_features_in_ : int
        Number of features of X.

    See Also
    --------
    MiniBatchFILM : Never decomposes all of X.
    PairwiseKNNClassifier : Classifies pairs of texts by neighbour ranks in this space.
    Triplets : Samples that are triplets, for cross-validation.

    Notes
    -----
    With "eigen", `fit` uses float32 for sparse X, even if X is float64. It costs as much as
    `film.metric.truncated_svd` plus O(m r d + r³) per round, for m anchors or, with a threshold,
    pairs.

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

    d: int = 100
    _: KW_ONLY
    rank: int = 600
    margin: float = 0.5
    threshold: float | None = None
    similar_weight: float = 1.0
    whitening: float = 0.75
    solver: str = "eigen"
    n_random: int = 5
    max_iter: int = 100
    tol: float = 1e-2
    memory: Any = None
    random_state: Any = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("whitening", self.whitening, 0, 1)
        if self.threshold is not None:
            check_real("threshold", self.threshold, 0, 1)
        check_real("similar_weight", self.similar_weight, 0)
        if self.solver == "minibatch":
            raise ValueError(f"solver={self.solver!r} is a separate estimator: MiniBatchFILM")
        check_choice("solver", self.solver, SOLVERS)
        checked_memory(self.memory)

    def _learn(self, points: Any, labels: Any, triplets: Any, rng: np.random.Generator) -> None:
        rank = min(self.rank, *points.shape)
        dtype = points.dtype
        points, unit = in_units(points)
        if self.threshold is not None:
            points, unit = normalize(points), 1.0
        with progress_bar(self.verbose, "FILM") as progress:
            decompose: Any = checked_memory(self.memory).cache(_decomposed, ignore=["progress"])
            # For sparse rows the error of the randomised decomposition is far above float32
            # rounding.
            if self.solver == "eigen" and sp.issparse(points):
                points = points.astype(np.float32)
            low, rng = decompose(points, rank, rng, progress)
            right, singular_values = low.right, low.singular_values
            sigma = singular_values / singular_values[0]
            d = min(self.d, len(sigma))
            self._warn_reduced(len(sigma), d, points.shape)
            # A NumPy scalar would turn float32 into float64.
            whitening = float(self.whitening)
            scale = sigma ** (1 - whitening)
            # In place, because each (n, rank) copy is a fifth of the peak memory. Cached arrays may
            # be read-only memory maps.
            coordinates = np.require(low.left, requirements="W")
            del low
            coordinates *= scale
            if triplets is None:
                triplets = self._mined(labels, rng)
            anchors, pulls = self._pulled(triplets, coordinates)
            second_moment = np.einsum("nr,nr->r", coordinates, coordinates) / len(coordinates)
            # Only the anchors are needed from here on.
            del coordinates
            if self.solver != "eigen":
                # It amplifies differences in the last digits, which a factor of X makes.
                for sums in (anchors, pulls, second_moment):
                    sums[...] = sums.astype(np.float32)
            solution = solve(
                anchors,
                pulls,
                second_moment,
                d,
                margin=float(self.margin),
                solver=self.solver,
                max_iter=self.max_iter,
                tol=self.tol,
                random_state=rng,
                progress=progress,
            )
        weighted = solution.P * np.sqrt(solution.s) / (sigma**whitening)[:, None]
        self.components_ = np.ascontiguousarray((right @ weighted).T, dtype=dtype)
        self.singular_values_ = singular_values.astype(dtype) * dtype.type(unit)
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.objective
        self.lower_bound_ = solution.lower_bound
        self.loss_curve_ = solution.loss_curve
        self.gradient_norm_curve_ = solution.gradient_norms
        self.active_share_ = float(solution.active_shares[-1]) if solution.n_iter else 1.0
        self.n_triplets_ = len(triplets)
        self._set_reason(solution.reason)

    def _pulled(self, triplets: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of anchors and their pulls."""
        if self.threshold is None:
            anchors, pulls = anchor_sums(triplets, points)
        else:
            anchors, pulls = threshold_pulls(
                triplets, points, float(self.threshold), float(self.similar_weight)
            )
        return points[anchors], pulls


def _decomposed(
    points: Any, rank: int, rng: np.random.Generator, progress: Any
) -> tuple[Any, np.random.Generator]:
    """Return the decomposition and the state of the generator after it."""
    return truncated_svd(points, rank, tol=_MISSING, random_state=rng, progress=progress), rng

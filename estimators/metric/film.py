"""FILM as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from estimators.inputs import check_choice, check_real, checked_memory, progress_bar
from estimators.metric.triplet_metric import TripletMetric, in_rounded_units, in_units
from estimators.persistence import savable
from film.corpus import RowBlocks, checked_device
from film.metric import (
    RowsOnDevice,
    anchor_sums,
    block_moments,
    block_svd,
    solve,
    threshold_pulls,
    truncated_svd,
)

SOLVERS = ("eigen", "cayley")
# Share of the captured energy that the decomposition may lack, about what four subspace iterations
# left. Three question-disjoint folds of Quora's training pairs were no better for less: AUC .7465,
# and .7451 at 2e-3.
_MISSING = 1e-2


@savable
class FILM(TripletMetric):
    """Fast, interpretable, low-rank metric learning from triplets.

    Learns a linear map L in whose space similar rows of X have a higher cosine than dissimilar
    ones. X is reduced to X ≈ V diag(σ) Uᵀ first; the map is learned inside that space and written
    back as weights of the original features, so each of its dimensions can be read.

    Parameters
    ----------
    d : int, default=100
        Dimensions of the learned space.
    rank : int, default=600
        Rank of the decomposition of X, at most min(n_samples, n_features), where X is kept whole.
        Where that leaves fewer than ``d`` dimensions, one warning names what was too large.
    margin : float, default=0.5
        By how much a similar point must be closer, relative to the mean squared length ‖y‖² of
        the closed-form map of all anchors, which is the same for "eigen" and "cayley". Large
        values keep every anchor in play; small ones concentrate on violated ones.
    threshold : float in [0, 1], default=None
        None compares the pairs of a triplet with each other, as the paper does. A cosine τ: the
        similar point of every triplet is to be closer to the anchor than τ, and the dissimilar one
        farther, one hinge per pair; rows are brought to length one for it. It fits vectors whose
        cosine is a good similarity already, such as those of a `SentenceEncoder`, with a
        ``margin`` of some hundredths: `film.metric.threshold_pulls`.
    similar_weight : float, default=1.0
        Weight of a similar pair under a ``threshold``, where a dissimilar one has 1. Lower where
        many more similar pairs than hard dissimilar ones are known.
    whitening : float in [0, 1], default=0.75
        Exponent α of the coordinates v σ^(1−α): 1 is the paper's full whitening, 0 keeps the
        data's own scale.
    solver : {"eigen", "cayley"}, default="eigen"
        "eigen" moves towards the closed form for the anchors now active, as far as the objective
        falls; "cayley" descends on the Stiefel manifold as in the paper, on the same objective.
    n_random : int, default=5
        Random dissimilar points per anchor, where triplets are mined from labels.
    n_nearest : int, default=0
        Nearest dissimilar points per anchor, where triplets are mined from labels.
    max_iter : int, default=100
        Most rounds, maps that are polished included.
    tol : float, default=1e-2
        Stop when the objective is above a lower bound of its minimum by this share, or less, of
        itself and of what the map lowers it by. Where eight rounds lowered it by less than that,
        L-BFGS polishes the map and others drawn at random, until eight end within half of that of
        the lowest.
    memory : str or joblib.Memory, default=None
        Where to cache the decomposition, by X, ``rank`` and ``random_state``: fits that differ in
        other parameters, as in a search, share it. It must be a folder of your own, and takes
        (n_samples + n_features) · rank numbers. None caches nothing; nor do blocks on disk.
    device : str, default=None
        Device of torch that multiplies the anchors in every round, such as "cuda"; it holds
        2 · m · rank numbers. None leaves that to NumPy. Maps are the same to rounding.
    random_state : int, RandomState or None, default=None
        Seeds the decomposition, mining, the start of "cayley" and maps drawn at random.
    verbose : int, default=0
        Above 0, a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        L, rows by decreasing weight.
    n_iter_ : int
        Rounds done.
    objective_ : float
        Σ max(0, z + m) + ½‖s‖² of the map kept, in units of the first map's leading weight. With
        the same data, triplets and margin it compares between solvers.
    lower_bound_ : float
        No map of d dimensions has a lower objective.
    loss_curve_ : ndarray of shape (n_iter_,)
        Lowest objective up to each round, which never rises.
    gradient_norm_curve_ : ndarray of shape (n_iter_,)
        Norm of the gradient per round: of the objective with its hinge smoothed, with respect to
        P diag(√s), for "eigen"; ‖F(P)‖ of f2 at the round's start (paper, figure 2) for "cayley".
    active_share_ : float
        Share of anchors whose hinge was active in the last round.
    convergence_reason_ : str
        Why fitting ended, and what to do about it.
    singular_values_ : ndarray of shape (rank,)
        σ of X.
    n_triplets_ : int
        Triplets learned from.
    n_features_in_ : int
        Features of X.

    See Also
    --------
    MiniBatchFILM : Never decomposes all of X.
    PairwiseKNNClassifier : Decides on pairs of texts by neighbour ranks in this space.
    Triplets : Samples that are triplets, for cross-validation.

    Notes
    -----
    X may also be `film.corpus.RowBlocks`, rows in blocks on disk: `fit` then sums over the blocks,
    through joblib, and holds XᵀX and what grows with the triplets, but no V. The map is that of
    the same rows in memory up to the accuracy of the decomposition, and where rows are cut into
    other blocks, up to rounding in the first rounds; later ones may amplify it until the maps
    part, with objectives about as low. See ``docs/scaling.md``.

    With "eigen", `fit` learns from sparse X in float32, also where X and the components are
    float64. It costs what `film.metric.truncated_svd` does and O(m r d + r³) per round, for m
    anchors or, with a threshold, pairs.

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
        margin: float = 0.5,
        threshold: float | None = None,
        similar_weight: float = 1.0,
        whitening: float = 0.75,
        solver: str = "eigen",
        n_random: int = 5,
        n_nearest: int = 0,
        max_iter: int = 100,
        tol: float = 1e-2,
        memory: Any = None,
        device: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.d = d
        self.rank = rank
        self.margin = margin
        self.threshold = threshold
        self.similar_weight = similar_weight
        self.whitening = whitening
        self.solver = solver
        self.n_random = n_random
        self.n_nearest = n_nearest
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    _takes_blocks = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("whitening", self.whitening, 0, 1)
        if self.threshold is not None:
            check_real("threshold", self.threshold, 0, 1)
        check_real("similar_weight", self.similar_weight, 0)
        if self.solver == "minibatch":
            raise ValueError(f"solver={self.solver!r} is an estimator of its own: MiniBatchFILM")
        check_choice("solver", self.solver, SOLVERS)
        checked_memory(self.memory)
        if self.device is not None:
            checked_device(self.device)

    def _learn(self, points: Any, labels: Any, triplets: Any, rng: np.random.Generator) -> None:
        rank = min(self.rank, *points.shape)
        on_disk, dtype = isinstance(points, RowBlocks), points.dtype
        # The descent of "cayley" branches on last digits.
        points, unit = (in_units if self.solver == "eigen" else in_rounded_units)(points)
        if self.threshold is not None:
            points, unit = normalize(points), 1.0
        with progress_bar(self.verbose, "FILM") as progress:
            # Blocks on disk keep what is finished themselves.
            memory = checked_memory(None if on_disk else self.memory)
            decompose: Any = memory.cache(_decomposed, ignore=["progress"])
            # Sparse rows are texts, many of them, and what their decomposition leaves to chance is
            # far above the rounding of float32.
            if self.solver == "eigen" and sp.issparse(points):
                points = points.astype(np.float32)
            low, rng = decompose(points, rank, rng, progress)
            right, singular_values = low.right, low.singular_values
            sigma = singular_values / singular_values[0]
            d = min(self.d, len(sigma))
            self._warn_reduced(len(sigma), d, points.shape)
            # A NumPy number as parameter would turn float32 into float64.
            whitening = float(self.whitening)
            scale = sigma ** (1 - whitening)
            if on_disk:
                triplets = self._mined(points, labels, rng) if triplets is None else triplets
                axes = right * (scale / singular_values)
                anchors, pulls = block_moments(points, triplets, axes, progress=progress)
                second_moment = np.square(scale) / points.shape[0]
            else:
                # In place: at full size each (n, rank) copy is a fifth of the peak memory. A memory
                # may give arrays that are mapped for reading alone.
                coordinates = np.require(low.left, requirements="W")
                del low
                coordinates *= scale
                if triplets is None:
                    space = coordinates * sigma**whitening if self.n_nearest else None
                    triplets = self._mined(points, labels, rng, space)
                    del space
                anchors, pulls = self._pulled(triplets, coordinates)
                second_moment = np.einsum("nr,nr->r", coordinates, coordinates) / len(coordinates)
                # What follows reads the anchors alone.
                del coordinates
            if self.device is not None:
                anchors, pulls = (RowsOnDevice(rows, self.device) for rows in (anchors, pulls))
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
        """Coordinates of anchors, and the directions in which they are pulled."""
        if self.threshold is None:
            anchors, pulls = anchor_sums(triplets, points)
        else:
            anchors, pulls = threshold_pulls(
                triplets, points, float(self.threshold), float(self.similar_weight)
            )
        return points[anchors], pulls

    def _checked_blocks(self, points: RowBlocks, *, reset: bool) -> RowBlocks:
        if self.threshold is not None:
            raise ValueError(
                f"threshold={self.threshold} needs all points in memory, and X is RowBlocks; "
                "leave it at None"
            )
        return super()._checked_blocks(points, reset=reset)


def _decomposed(
    points: Any, rank: int, rng: np.random.Generator, progress: Any
) -> tuple[Any, np.random.Generator]:
    """Give the decomposition, and the generator as it is afterwards."""
    decompose: Any = block_svd if isinstance(points, RowBlocks) else truncated_svd
    return decompose(points, rank, tol=_MISSING, random_state=rng, progress=progress), rng

"""Groups to learn from, and small metrics of each kind."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from estimators import FILM, MiniBatchFILM
from film.metric.triplets import triplets_from_labels

FULL = ["eigen", "cayley"]
solvers = pytest.mark.parametrize("solver", [*FULL, "minibatch"])
# Reductions and unfinished rounds are what small problems are about; tests of warnings say so.
quiet = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:rank=:UserWarning"
)


def groups(seed=0, n=120, D=20, n_groups=6, noise=1.0, distraction=6.0):
    """Groups that differ in a few features, under louder ones that say nothing."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_groups)
    X = noise * rng.standard_normal((n, D))
    X[:, :5] += 2 * rng.standard_normal((n_groups, 5))[labels]
    X[:, 5:10] += distraction * rng.standard_normal((n, 5))
    return X, labels


def mined(labels, seed=1, n_random=3):
    return triplets_from_labels(labels, n_random=n_random, random_state=seed)


def small(solver="eigen", **parameters):
    """FILM with one of its solvers, or MiniBatchFILM."""
    settings = {"d": 4, "rank": 12, "random_state": 0} | parameters
    if solver == "minibatch":
        return MiniBatchFILM(**({"batch_size": 256} | settings))
    return FILM(solver=solver, **settings)


def cosines(Y):
    return normalize(Y) @ normalize(Y).T

"""Fit one metric learner of another package: a script for an environment of its own.

``python metric_rivals.py NAME DATA.npz OUT.npz`` reads points, pairs, triplets and groups,
and writes the learned map with the seconds of its fit. It imports nothing of this project.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np


def fit(name: str, data: Any) -> np.ndarray:
    """Give the (d, D) map that the rival learned."""
    X, d = data["points"], int(data["d"])
    if name == "ITML":
        from metric_learn import ITML

        pairs, y = data["pairs"], np.where(data["y"] == 1, 1, -1)
        return ITML(preprocessor=X, random_state=0).fit(pairs, y).components_
    if name == "SCML":
        from metric_learn import SCML

        return SCML(preprocessor=X, random_state=0).fit(data["triplets"]).components_
    grouped = np.flatnonzero(data["grouped"])
    X, groups = X[grouped], data["groups"][grouped]
    if name == "LMNN":
        from metric_learn import LMNN

        return LMNN(n_neighbors=1, random_state=0).fit(X, groups).components_
    if name == "NCA":
        from metric_learn import NCA

        return NCA(n_components=d, random_state=0).fit(X, groups).components_
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return NeighborhoodComponentsAnalysis(d, random_state=0).fit(X, groups).components_


def main() -> None:
    """Fit and write."""
    warnings.simplefilter("ignore")
    name, source, target = sys.argv[1:]
    data = dict(np.load(source))
    # Imports are no part of a fit.
    if name == "NCA of scikit-learn":
        import sklearn.neighbors  # noqa: F401
    else:
        import metric_learn  # noqa: F401
    started = time.perf_counter()
    components = fit(name, data)
    np.savez(target, components=components, seconds=time.perf_counter() - started)


if __name__ == "__main__":
    main()

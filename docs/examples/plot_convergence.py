"""
How FILM converges
==================

This example draws the paper's Figures 1 and 2 for both solvers: the true objective by round, with
its lower bound, and the norm of the gradient.
"""

# %%
# Each solver is fitted to triplets of generated question pairs.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer

from estimators import FILM
from film.datasets import make_question_pairs
from film.metric import triplets_from_pairs

data = make_question_pairs(300, random_state=0)
texts, rows = np.unique(data.pairs.ravel().astype(str), return_inverse=True)
X = TfidfVectorizer().fit_transform(texts)
triplets = triplets_from_pairs(rows.reshape(-1, 2), data.y, len(texts), n_random=1, random_state=0)
# Solvers warn if they stop above the bound. The curves show this anyway.
warnings.simplefilter("ignore", ConvergenceWarning)
models = {
    solver: FILM(d=20, rank=100, solver=solver, max_iter=60, random_state=0).fit(X, triplets)
    for solver in ("eigen", "cayley")
}
for solver, model in models.items():
    print(f"{solver}: {model.n_iter_} rounds, objective {model.objective_:.3f}")

# %%
# No map of 20 dimensions can be below the dashed line.

figure, (above, below) = plt.subplots(
    2, sharex=True, figsize=(6, 5), layout="constrained", height_ratios=(3, 2)
)
for (solver, model), colour in zip(models.items(), ("C0", "C1"), strict=True):
    above.plot(model.loss_curve_, label=solver, color=colour)
    above.axhline(model.lower_bound_, color=colour, linestyle="--", linewidth=1)
    below.semilogy(np.maximum(model.gradient_norm_curve_, 1e-12), color=colour)
above.set_ylabel("objective")
above.legend()
below.set(xlabel="round", ylabel="norm of the gradient")
plt.show()

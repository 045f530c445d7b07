"""float32 against float64 on matrices that are bad for it, within bounds that are derived.

Both are given the same numbers: X is rounded to float32 first, so that only the arithmetic differs.
With u = 2⁻²⁴ the unit roundoff of float32, a product summed over h terms in any order is off by at
most γ_h = h u / (1 − h u) times the sum of its absolute terms (Higham, *Accuracy and Stability of
Numerical Algorithms*, 2002, section 3.1). From that:

- SVD. What is decomposed is XᵀX, computed with an error E, ‖E‖ ≤ γ_n ‖X‖²_F. Eigenvalues σ² move by
  at most ‖E‖ (Weyl); singular values below √(‖E‖) are noise, and dropped. Small matrices are
  decomposed themselves: σ moves by ‖X‖_F u times a small power of the sizes.
- Ranks are decided in float64, where float32 cannot: they are equal, not close.
- Tokens. Unit vectors are rounded three times an entry at most, so that a cosine is off by at most
  γ_{h+8}. RCMD, a mean of maxima, and CMD, the optimum of a transport, move no more than the
  largest cosine does; token matching, 2 max − 2nd, three times that. AVG is the cosine of mean
  vectors, whose error is that of the sum over its length: γ Σ‖x‖ / ‖Σx‖ for each side.
- Priors. The odds are products and quotients of four numbers: p′ is off by at most 12 u p′ (1 − p′)
  and its own rounding. The prior π solves Σ sᵢ(π) = 0, so that it moves by at most
  Σ |∂sᵢ/∂pᵢ| |Δpᵢ| / |Σ ∂sᵢ/∂π| to first order; twice that is allowed.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from estimators import FILM
from film.metric import truncated_svd
from film.pairs import estimate_prior, neighbour_ranks, shift_prior
from film.tokens import Ragged, ragged_matching, ragged_similarities, transport_plan

U = float(np.finfo(np.float32).eps) / 2


def gamma(n):
    return n * U / (1 - n * U)


def hilbert(n, D):
    return 1.0 / (np.arange(n)[:, None] + np.arange(D) + 1.0)


def scales(n, D):
    return np.random.default_rng(0).standard_normal((n, D)) * 10.0 ** np.linspace(-8, 8, D)


def near_copies(n, D):
    rng = np.random.default_rng(1)
    half = rng.standard_normal((n, (D + 1) // 2))
    return np.hstack([half, half + 1e-6 * rng.standard_normal(half.shape)])[:, :D]


def near_constant(n, D):
    return 1.0 + 1e-6 * np.random.default_rng(2).standard_normal((n, D))


BAD = pytest.mark.parametrize("make", [hilbert, scales, near_copies, near_constant])


def both(make, n, D):
    single = make(n, D).astype(np.float32)
    return single, single.astype(np.float64)


@BAD
@pytest.mark.parametrize("shape", [(300, 24), (24, 300), (400, 120)])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_singular_values_move_by_no_more_than_their_gram_matrix(make, shape, wrap):
    single, double = both(make, *shape)
    rank = 6
    exact = np.linalg.svd(double, compute_uv=False)
    error = gamma(max(shape) + 4) * np.square(double).sum()
    for X, bound in ((single, error), (double, error * 2.0**-29)):
        low = truncated_svd(wrap(X), rank, tol=0, random_state=0)
        values = low.singular_values.astype(np.float64)
        assert np.isfinite(low.left).all() and np.isfinite(low.right).all()
        # The value itself is stored with an error of its own.
        stored = 4 * np.finfo(X.dtype).eps * values**2
        assert (np.abs(values**2 - exact[: len(values)] ** 2) <= bound + stored).all()
        # What was dropped is no more than noise of the same size, or the documented 10 √eps.
        floor = max(bound, (10 * exact[0]) ** 2 * np.finfo(X.dtype).eps)
        assert (exact[len(values) : rank] ** 2 <= 4 * floor).all()
        gram = low.right.T.astype(np.float64) @ low.right
        assert np.abs(gram - np.eye(len(values))).max() <= 200 * np.finfo(X.dtype).eps


@BAD
@pytest.mark.parametrize("solver", ["eigen", "cayley"])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_map_of_float32_is_worth_as_much(make, solver):
    """Maps are compared by what they are for, since an anchor at its hinge may fall on either side.

    X is small and decomposed itself, with an error of γ ‖X‖ at most, so that V diag(σ) is off by
    that and V by γ σ₁ / σ_r. A product of two rows is off by twice as much, and the objective is a
    sum of hinges that are 1-Lipschitz in such products, once for y and once for its pulls. Beside
    that, rounds of different rounding may end apart by the tolerance that they stop at, 1e-3 of
    the objective each.
    """
    single, double = both(make, 120, 16)
    labels = np.arange(120) % 5
    left = truncated_svd(single, 5, random_state=0).left
    rank = left.shape[1]
    values = np.linalg.svd(double, compute_uv=False)
    error = gamma(124) * values[0] / values[rank - 1]
    settings = {"d": min(3, rank), "rank": rank, "solver": solver, "random_state": 0}
    objectives = []
    for X in (single, double):
        film = FILM(**settings).fit(X, labels)
        assert np.isfinite(film.components_).all() and np.isfinite(film.transform(X)).all()
        objectives.append(film.objective_)
    if rank == 1 and np.ptp(left) <= 100 * np.finfo(np.float32).eps * np.abs(left).max():
        # All rows are one point to float32, and what pulls them is rounding: its sign decides
        # whether there is a direction, and another BLAS rounds to another.
        return
    assert objectives[0] == pytest.approx(objectives[1], rel=2e-3 + 4 * error)


def between(points, pairs):
    """Least and most points that may stand in between, where cosines tie within rounding."""
    units = points.astype(np.longdouble)
    units /= np.sqrt(np.square(units).sum(axis=1, keepdims=True))
    cosines = units @ units.T
    width = 2 * (np.ceil(np.log2(points.shape[1])) + 3) * np.finfo(np.float64).eps
    low, high = [], []
    for x, other in [*pairs, *pairs[:, ::-1]]:
        row = np.delete(cosines[x], [x, other]) - cosines[x, other]
        low.append(int((row > 2 * width).sum()))
        high.append(int((row > -2 * width).sum()))
    return np.array(low).reshape(2, -1).T, np.array(high).reshape(2, -1).T


@BAD
def test_ranks_of_float32_are_those_of_float64_to_the_last_one(make):
    single, double = both(make, 150, 12)
    pairs = np.random.default_rng(3).integers(0, 150, (200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    ranks = neighbour_ranks(double, pairs)
    np.testing.assert_array_equal(neighbour_ranks(single, pairs), ranks)
    low, high = between(double, pairs)
    assert (low <= ranks).all() and (ranks <= high).all()
    assert low.max() > 100


def texts_of(values):
    lengths = np.tile([3, 1, 7, 5, 9, 4, 1, 6], 5)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Ragged(values[: starts[-1]], starts)


METHODS = ("avg", "cmd", "rcmd1", "rcmd2", "rcmd", "rcmd+avg", "cls")


@BAD
@pytest.mark.parametrize("method", METHODS)
def test_transport_moves_by_no_more_than_the_cosines(make, method):
    single, double = both(make, 180, 24)
    if method == "cmd":
        pytest.importorskip("ot", reason="needs the extra transport")
    pairs = np.random.default_rng(4).integers(0, 40, (60, 2))
    first, second = texts_of(single), texts_of(double)
    found = ragged_similarities(first, first, method, pairs=pairs)
    exact = ragged_similarities(second, second, method, pairs=pairs)
    bound = np.full(len(pairs), gamma(24 + 8))
    if method in ("avg", "rcmd+avg"):
        lost = [
            np.linalg.norm(text, axis=1).sum() / np.linalg.norm(text.sum(axis=0)) for text in second
        ]
        bound = bound * np.take(lost, pairs).sum(axis=1)
    assert np.isfinite(found).all()
    assert (np.abs(found - exact) <= bound).all()
    for one, other in pairs[:5]:
        plan = transport_plan(
            single[first.starts[one] : first.starts[one + 1]], second[int(other)], method
        )
        assert plan.contributions.sum() == pytest.approx(plan.similarity, abs=1e-6)


@BAD
@pytest.mark.parametrize("function", ["significance", "uniqueness", "both"])
def test_matching_moves_by_no_more_than_three_cosines(make, function):
    single, double = both(make, 180, 24)
    pairs = np.random.default_rng(4).integers(0, 40, (60, 2))
    found, exact = (
        ragged_matching(texts, texts, function, pairs=pairs)
        for texts in (texts_of(single), texts_of(double))
    )
    assert (np.abs(found - exact) <= 3 * gamma(24 + 8)).all()


@pytest.mark.parametrize("exponent", [-120, -100, -60, 0, 60, 100, 120])
def test_the_length_of_tokens_changes_no_cosine(exponent):
    """A power of two changes no digit, and squares of float32 are summed where they fit."""
    values = np.random.default_rng(5).standard_normal((180, 24)).astype(np.float32)
    pairs = np.array([[0, 2], [3, 4], [5, 7]])
    for of in (ragged_similarities, ragged_matching):
        scores = [
            of(texts, texts, pairs=pairs)
            for texts in (texts_of(values), texts_of(np.ldexp(values, exponent)))
        ]
        np.testing.assert_allclose(scores[0], scores[1], rtol=0, atol=2 * U)


def probabilities():
    small = 10.0 ** -np.arange(1.0, 38.0)
    near_one = np.arange(1, 2000, 37) * 2 * U
    middle = np.random.default_rng(6).uniform(0, 1, 300)
    return np.concatenate([[0.0, 1.0], small, 1 - near_one, middle]).astype(np.float32)


@pytest.mark.parametrize("start", [1e-6, 0.1746, 0.3692, 0.5, 1 - 1e-6])
@pytest.mark.parametrize("end", [1e-6, 0.1746, 0.5, 1 - 1e-6])
def test_shifted_priors_are_off_by_their_rounding(start, end):
    p = probabilities()
    found, exact = shift_prior(p, start, end), shift_prior(p.astype(np.float64), start, end)
    assert found.dtype == np.float32
    normal = exact >= np.finfo(np.float32).tiny
    bound = 12 * U * exact * (1 - exact) + 2 * U * exact
    assert (np.abs(found - exact)[normal] <= bound[normal]).all()
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("prior", [0.01, 0.1746, 0.5, 0.99])
def test_an_estimated_prior_moves_by_the_error_of_its_probabilities(prior):
    rng = np.random.default_rng(7)
    p = np.where(rng.random(2000) < prior, rng.beta(8, 1, 2000), rng.beta(1, 8, 2000))
    single = p.astype(np.float32)
    even = shift_prior(single.astype(np.float64), 0.3692, 0.5)
    found, exact = estimate_prior(single, 0.3692), estimate_prior(single.astype(np.float64), 0.3692)
    inside = exact * even + (1 - exact) * (1 - even)
    moved = 12 * U * even * (1 - even) + 2 * U * even
    bound = np.sum(moved / inside**2) / np.sum((2 * even - 1) ** 2 / inside**2)
    assert abs(found - exact) <= 2 * bound + 2e-12

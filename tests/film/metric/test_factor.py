"""The descent on a factor of the map, against closed forms, finite differences and brute force."""

from itertools import islice

import numpy as np
import pytest

from film.metric.factor import (
    _best_length,
    _Direction,
    _images,
    _Plane,
    _towards,
    descend_factor,
    rank_bound,
    smoothed_hinge,
)

M, R, D, UNIT = 30, 6, 3, 4.0
seeds = pytest.mark.parametrize("seed", range(3))


class Problem:
    """Anchors that are pulled hither and thither, and FILM's objective of a factor, by loops."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.rng, self.margin = rng, 0.7
        self.anchors = rng.standard_normal((M, R))
        self.pulls = UNIT * (0.3 * self.anchors + 0.5 * rng.standard_normal((M, R))) / 5
        self.B = 0.8 * rng.standard_normal((R, D))

    def hinge(self, B):
        pairs = zip(self.anchors, self.pulls, strict=True)
        return np.array([self.margin - v @ B @ B.T @ a / UNIT for v, a in pairs])

    def loss(self, B, width=0.0):
        x = self.hinge(B)
        values = np.maximum(x, 0) if width == 0 else [rounded(each, width) for each in x]
        return np.sum(values) + 0.5 * np.sum((B @ B.T) ** 2)

    def gradient(self, B, width):
        found = np.empty_like(B)
        for entry in np.ndindex(B.shape):
            move = np.zeros_like(B)
            move[entry] = 1e-6
            found[entry] = (self.loss(B + move, width) - self.loss(B - move, width)) / 2e-6
        return found

    def symmetric(self, weights):
        total = sum(
            weight * np.outer(a, v) / UNIT
            for weight, a, v in zip(weights, self.pulls, self.anchors, strict=True)
        )
        return (total + total.T) / 2

    def plane(self, n, size=1.0):
        moves = [0.5 * size * self.rng.standard_normal((R, D)) for _ in range(n)]
        directions = [_Direction(D, _images(self.anchors, self.pulls, D, UNIT)) for D in moves]
        images = _images(self.anchors, self.pulls, self.B, UNIT)
        return moves, directions, _Plane(self.B, images, self.hinge(self.B), directions)


def rounded(x, width):
    """(x + w/2)² / 2w where |x| < w/2, and max(0, x) elsewhere."""
    return (x + width / 2) ** 2 / (2 * width) if abs(x) < width / 2 else max(0.0, x)


@pytest.mark.parametrize("width", [0.3, 1.0, 7.0])
def test_the_smoothed_hinge_is_the_parabola_and_its_slope(width):
    x = np.linspace(-2 * width, 2 * width, 401)
    values, slopes = smoothed_hinge(x, width)
    assert np.allclose(values, [rounded(each, width) for each in x], atol=1e-14 * width)
    above = values - np.maximum(x, 0)
    assert (above >= -1e-15 * width).all()
    assert above.max() == pytest.approx(width / 8) == above[200]
    step = 1e-6 * width
    difference = (smoothed_hinge(x + step, width)[0] - smoothed_hinge(x - step, width)[0]) / step
    assert np.allclose(slopes, difference / 2, atol=1e-5)
    assert np.array_equal(slopes, np.clip(slopes, 0, 1))


@seeds
@pytest.mark.parametrize("d", [1, 3, R])
def test_the_bound_is_the_least_of_what_fixed_activities_cost_in_d_dimensions(seed, d):
    problem = Problem(seed)
    activity = problem.rng.random(M)
    S = problem.symmetric(activity) - 0.2 * np.eye(R)
    bound, s, P = rank_bound(S, activity, 0.7, d)
    k = np.linalg.eigvalsh(S)[::-1][:d]
    assert bound == pytest.approx(0.7 * activity.sum() - 0.5 * np.sum(np.maximum(k, 0) ** 2))
    assert sorted(s) == pytest.approx(sorted(np.maximum(k, 0)), abs=1e-14)
    assert np.allclose(P.T @ P, np.eye(d))

    def cost(M):
        return 0.7 * activity.sum() - np.sum(M * S) + 0.5 * np.sum(M**2)

    best = (P * s) @ P.T
    assert cost(best) == pytest.approx(bound)
    for _ in range(30):
        factor = P * np.sqrt(s) + 0.3 * problem.rng.standard_normal((R, d))
        assert cost(factor @ factor.T) >= bound


@seeds
@pytest.mark.parametrize("n", [1, 2])
def test_a_plane_holds_the_objective_of_what_its_directions_lead_to(seed, n):
    problem = Problem(seed)
    moves, directions, plane = problem.plane(n)
    for t in problem.rng.standard_normal((5, n)):
        B = problem.B + np.tensordot(t, moves, 1)
        assert plane.loss(t) == pytest.approx(problem.loss(B))
        for width in (0.1, 2.0):
            assert plane._model(t, width)[0] == pytest.approx(problem.loss(B, width))
    t = problem.rng.standard_normal(n)
    wanted = np.tensordot(t, moves, 1)
    found = plane.combined(t)
    assert np.allclose(found.move, wanted)
    for image, rows in zip(found.images, (problem.anchors, problem.pulls / UNIT), strict=True):
        assert np.allclose(image, rows @ wanted)
    assert found.images[0] is directions[0].images[0]


@seeds
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("width", [0.5, 3.0])
def test_slope_and_curvature_in_a_plane_are_those_of_finite_differences(seed, n, width):
    _, _, plane = Problem(seed).plane(n)
    for t in np.random.default_rng(seed).standard_normal((5, n)):
        _, gradient, hessian = plane._model(t, width)
        for i, e in enumerate(1e-5 * np.eye(n)):
            above, below = plane._model(t + e, width), plane._model(t - e, width)
            assert gradient[i] == pytest.approx((above[0] - below[0]) / 2e-5, rel=1e-5, abs=1e-6)
            # The curvature jumps where an anchor enters the parabola; none does within 1e-5.
            assert hessian[i] == pytest.approx((above[1] - below[1]) / 2e-5, rel=1e-4, abs=1e-4)


@seeds
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("width", [0.02, 0.5])
def test_the_minimum_of_a_plane_is_one(seed, n, width):
    _, _, plane = Problem(seed).plane(n)
    t = plane.minimum(width)
    value, gradient, hessian = plane._model(t, width)
    assert value < plane._model(np.zeros(n), width)[0]
    # Newton's steps end where less than a billionth is promised.
    assert gradient @ np.linalg.solve(hessian, gradient) <= 1e-8 * value
    assert (np.linalg.eigvalsh(hessian) > 0).all()
    # In other units, of powers of two, the objective is another and the place is the same.
    for c in (2.0**-5, 2.0**5):
        other = Problem(seed)
        other.B, other.pulls, other.margin = c * other.B, c**2 * other.pulls, c**4 * other.margin
        assert np.allclose(other.plane(n, c)[2].minimum(c**4 * width), t, atol=1e-6)


def test_a_plane_without_directions_to_go_stays():
    problem = Problem(0)
    zero = np.zeros((R, D))
    direction = _Direction(zero, _images(problem.anchors, problem.pulls, zero, UNIT))
    images = _images(problem.anchors, problem.pulls, problem.B, UNIT)
    plane = _Plane(problem.B, images, problem.hinge(problem.B), [direction])
    with np.errstate(all="raise"):
        assert plane.minimum(0.5).tolist() == [0.0]


@seeds
def test_the_move_to_another_factor_is_the_shortest(seed):
    problem = Problem(seed)
    goal = problem.rng.standard_normal((R, D))
    move = _towards(problem.B, goal)
    reached = problem.B + move
    assert np.allclose(reached @ reached.T, goal @ goal.T)
    for _ in range(50):
        turned = goal @ np.linalg.qr(problem.rng.standard_normal((D, D)))[0]
        assert np.linalg.norm(turned - problem.B) >= np.linalg.norm(move)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_length_is_within_a_millionth_above_the_minimum(seed):
    rng = np.random.default_rng(seed)
    pulled, square = rng.normal(0.3, 1, 20), rng.uniform(1, 40)

    def cost(t):
        return np.maximum(0.5 - np.multiply.outer(t, pulled), 0).sum(axis=-1) + t**2 * square / 2

    # It is where an anchor turns, at 0.5/p, or where a parabola between two of these is lowest.
    turns = 0.5 / pulled[pulled > 0]
    edges = np.sort(np.append(turns, [0.0, 1.0]).clip(0, 1))
    middles = (edges[1:] + edges[:-1]) / 2
    lowest = [pulled[0.5 - t * pulled > 0].sum() / square for t in middles]
    candidates = np.append(np.clip(lowest, edges[:-1], edges[1:]), edges)
    wanted = candidates[cost(candidates).argmin()]
    found = _best_length(pulled, 0.5, square)
    assert 0 <= found - wanted <= 2.0**-20 * (1 + 1e-9)


def beyond(plane, step):
    """Length of what of a step is in no combination of the columns."""
    return np.linalg.norm(
        step.ravel() - plane @ np.linalg.lstsq(plane, step.ravel(), rcond=None)[0]
    )


@seeds
def test_rounds_describe_themselves_and_never_rise(seed):
    problem = Problem(seed)
    margin, S_all = problem.margin, problem.symmetric(np.ones(M))
    given = problem.anchors.copy(), problem.pulls.copy(), S_all.copy(), problem.B.copy()
    args = problem.anchors, problem.pulls, UNIT, S_all, problem.B, margin
    rounds = list(islice(descend_factor(*args), 500))
    assert np.array_equal(rounds[0].B, problem.B)
    root = np.linalg.norm(rounds[1].B) / np.linalg.norm(problem.B)
    assert np.allclose(rounds[1].B, root * problem.B)
    square, pulled = np.sum((problem.B.T @ problem.B) ** 2), margin - problem.hinge(problem.B)
    assert root**2 == pytest.approx(_best_length(pulled, margin, square))
    width, before, last, mean, moved = 0.3 * margin, np.inf, None, np.ones(M), []
    by_own: list[float] = []
    for number, at in enumerate(rounds):
        x = problem.hinge(at.B)
        assert np.allclose(at.hinge, x)
        assert at.loss == pytest.approx(problem.loss(at.B))
        assert at.loss <= before * (1 + 1e-12)
        if last is not None and np.array_equal(at.B, last):
            # Nothing was lower in that plane.
            width, before = max(width / 2, 1e-4 * margin), at.loss
        smoothing = problem.loss(at.B, width) - problem.loss(at.B)
        # Slow rounds lead to a finer hinge, down to a hundredth of the margin.
        if before - at.loss <= max(smoothing, 3e-3 * at.loss) and width > 0.01 * margin:
            width = max(width / 2, 0.01 * margin)
            smoothing = problem.loss(at.B, width) - problem.loss(at.B)
        assert at.smoothing == pytest.approx(smoothing, abs=1e-9)
        slopes = smoothed_hinge(x, width)[1]
        norm = 2 * np.linalg.norm(at.B @ at.B.T @ at.B - problem.symmetric(slopes) @ at.B)
        assert at.gradient_norm == pytest.approx(norm, rel=1e-9)
        if width > 0.002 * margin:  # beside it, a difference would step across the hinge's edge
            norm = np.linalg.norm(problem.gradient(at.B, width))
            assert at.gradient_norm == pytest.approx(norm, rel=1e-4, abs=1e-5)
        # The bound of the mean of activities, or of the last ones, which then begin it anew.
        mean = mean + max(3 / (3 + number), 0.2) * (slopes - mean)
        found = [rank_bound(problem.symmetric(a), a, margin, D) for a in (mean, slopes)]
        higher = found[1][0] >= found[0][0]
        assert at.bound == pytest.approx(found[higher][0], rel=1e-9)
        mean = slopes if higher else mean
        # The next map lies in the span of the last move and of the ways to one closed form, or to
        # both where the last round lowered little.
        stuck = before - at.loss <= 3e-4 * at.loss
        forms = found[1:] if higher else found if stuck else found[:1]
        ways = [_towards(at.B, P * np.sqrt(s)) for _, s, P in forms]
        step = rounds[min(number + 1, len(rounds) - 1)].B - at.B
        if number and step.any():
            plane = np.array([each.ravel() for each in (*ways, *moved)]).T
            assert beyond(plane, step) <= 1e-9 + 1e-4 * np.linalg.norm(step)
            if len(ways) == 2:
                rest = beyond(np.delete(plane, 1, axis=1), step)
                by_own.append(rest / np.linalg.norm(step))
            moved = [step]
        else:
            moved = []
        assert at.bound <= rounds[-1].loss * (1 + 1e-12)
        before, last = at.loss, at.B
    # The ways to both count, where there are two.
    assert np.mean(np.array(by_own) > 1e-4) > 0.9
    # They end where none was lower at the finest.
    assert len(rounds) < 500
    assert width == pytest.approx(1e-4 * margin)
    assert rounds[-1].loss < 0.99 * rounds[1].loss < rounds[0].loss
    assert max(at.bound for at in rounds) > 0.98 * rounds[-1].loss
    left = problem.anchors, problem.pulls, S_all, problem.B
    assert all(np.array_equal(*both) for both in zip(left, given, strict=True))

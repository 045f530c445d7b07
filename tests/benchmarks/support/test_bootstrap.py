import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.metrics import roc_auc_score

from benchmarks.support.bootstrap import (
    accuracy,
    compare_parts,
    compare_rows,
    correlation,
    difference,
    drawn,
    log_loss,
    log_loss_at,
    roc_auc,
    spearman,
    spearman_of,
)
from benchmarks.support.pair_rows import PairRow, PairSet
from film.pairs import binary_log_loss, prior_weights, shift_prior


def rho(first, second):
    return 100 * float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def sample(n=60):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, n).astype(float)
    return scores + rng.normal(size=n), scores + 2 * rng.normal(size=n), scores


def judged_pairs(n=80, seed=0):
    """Labels and rounded probabilities: some share a value."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.4).astype(float)
    p = 1 / (1 + np.exp(-(3 * labels - 1.5 + 2 * rng.normal(size=n))))
    return np.round(p, 1).clip(0.05, 0.95), labels


def row(values, on, share: float | None = 0.4, case="a"):
    return PairRow(case, on, values, share)


def pair_set(labels, groups=None):
    return PairSet("x", labels, np.arange(len(labels)) if groups is None else groups)


def test_spearman_is_the_correlation_of_ranks_and_zero_for_a_constant():
    good, _, scores = sample()
    assert spearman(good, scores) == pytest.approx(rho(good, scores), abs=1e-10)
    assert spearman(np.ones(60), scores) == 0


def test_intervals_are_percentiles_of_the_drawn_pairs():
    good, poor, scores = sample()
    draws = drawn(60, 50)
    taken = [np.repeat(np.arange(60), counts) for counts in draws]
    values = [rho(good[rows], scores[rows]) for rows in taken]
    assert correlation(good, scores, draws) == pytest.approx(
        [rho(good, scores), *np.percentile(values, [2.5, 97.5])], abs=1e-9
    )
    gaps = [v - rho(poor[rows], scores[rows]) for v, rows in zip(values, taken, strict=True)]
    found = difference(good, poor, scores, draws)
    expected = [rho(good, scores) - rho(poor, scores), *np.percentile(gaps, [2.5, 97.5])]
    assert found == pytest.approx(expected, abs=1e-9)
    # Pairing tells two rows apart that their own intervals would not.
    assert found.high - found.low < np.ptp([*correlation(poor, scores, draws)[1:]]) + 30
    assert difference(good, good, scores, draws) == (0, 0, 0)


def test_draws_are_the_same_for_every_row():
    assert drawn(30, 5).tolist() == drawn(30, 5).tolist() != drawn(30, 5, seed=1).tolist()
    assert drawn(30, 5).shape == (5, 30)
    assert (drawn(3, 100).sum(axis=1) == 3).all()


def test_linked_pairs_are_drawn_together():
    groups = np.array([5, 0, 5, 2, 0, 5])
    draws = drawn(6, 200, groups=groups)
    assert np.array_equal(draws[:, 0], draws[:, 2]) and np.array_equal(draws[:, 0], draws[:, 5])
    assert np.array_equal(draws[:, 1], draws[:, 4])
    assert np.array_equal(draws[:, [0, 1, 3]].sum(axis=1), np.full(200, 3))


@pytest.mark.parametrize(
    ("figure", "plain"),
    [
        (roc_auc, lambda p, y: roc_auc_score(y, p)),
        (accuracy, lambda p, y: np.mean((p > 0.5) == (y == 1))),
        (log_loss, lambda p, y: sklearn_log_loss(y, p)),
        (
            log_loss_at(0.4),
            lambda p, y: binary_log_loss(y, shift_prior(p, 0.4, 0.1746), prior_weights(y, 0.1746)),
        ),
        (spearman_of, lambda p, y: rho(p, y)),
    ],
    ids=["roc_auc", "accuracy", "log_loss", "log_loss_at", "spearman"],
)
def test_a_figure_of_draws_is_that_of_the_pairs_drawn(figure, plain):
    p, labels = judged_pairs()
    draws = drawn(len(p), 30, seed=3)
    taken = [np.repeat(np.arange(len(p)), counts) for counts in draws]
    expected = [plain(p[rows], labels[rows]) for rows in taken]
    assert figure(p, labels, draws) == pytest.approx(expected, abs=1e-9)


def test_a_draw_without_one_of_the_classes_says_nothing():
    found = roc_auc(np.array([0.1, 0.9]), np.array([0.0, 1.0]), np.array([[2, 0], [1, 1]]))
    assert found.tolist() == [0.5, 1.0]


def test_rows_are_compared_on_the_same_draws():
    p, labels = judged_pairs(200)
    rival = np.clip(p + np.random.default_rng(1).normal(scale=0.3, size=200), 0.05, 0.95)
    on = pair_set(labels)
    compared = compare_rows(row({None: p}, on), row({None: rival}, on), n_draws=300)
    assert list(compared) == ["roc_auc", "accuracy", "log_loss", "log_loss_at_prior"]
    draws = drawn(200, 300)
    gaps = roc_auc(p, labels, draws) - roc_auc(rival, labels, draws)
    one, two, gap = compared["roc_auc"]
    assert (one, two) == pytest.approx((roc_auc_score(labels, p), roc_auc_score(labels, rival)))
    assert gap == pytest.approx([one - two, *np.percentile(gaps, [2.5, 97.5])])
    assert gap.stands and compared["log_loss"][2].value < 0
    same = compare_rows(row({None: p}, on), row({None: p}, on), n_draws=50)
    assert not any(gap.stands for _, _, gap in same.values())


def test_scores_are_compared_by_what_needs_no_probability():
    p, labels = judged_pairs()
    on = pair_set(labels)
    assert list(compare_rows(row({None: p}, on), row({None: p}, on, None), n_draws=5)) == [
        "roc_auc"
    ]
    graded = pair_set(np.arange(80.0))
    compared = compare_rows(row({None: p}, graded, None), row({None: p}, graded, None), n_draws=5)
    assert list(compared) == ["spearman"]


def test_linked_pairs_widen_an_interval():
    p, labels = judged_pairs(50)
    rival = np.clip(p + np.random.default_rng(1).normal(scale=0.3, size=50), 0.05, 0.95)
    # Each pair eight times over: eight times as many pairs, and no more evidence.
    many = np.tile(np.arange(50), 8)
    alone, linked = (
        compare_rows(row({None: p[many]}, on), row({None: rival[many]}, on), n_draws=1000)
        for on in (pair_set(labels[many]), pair_set(labels[many], many))
    )
    widths = [found["roc_auc"][2].high - found["roc_auc"][2].low for found in (alone, linked)]
    # √8 = 2.8, within what 1,000 draws leave uncertain.
    assert 2.3 < widths[1] / widths[0] < 3.4


def test_the_spread_over_seeds_widens_an_interval_by_what_it_is():
    labels = np.tile([0.0, 1.0], 500)
    rng = np.random.default_rng(0)
    on = pair_set(labels)
    flat = np.full(1000, 0.5)
    # Accuracies of three seeds, .6, .7 and .8: a mean of .7 with standard error .1 / √3.
    seeds = {
        seed: np.where(rng.permutation(1000) < 1000 * share, labels, 1 - labels) * 0.8 + 0.1
        for seed, share in enumerate((0.6, 0.7, 0.8))
    }
    one, _, gap = compare_rows(row(seeds, on), row({None: flat}, on), n_draws=3000)["accuracy"]
    assert one == pytest.approx(0.7)
    # Resampling three seeds has 10 outcomes: of their percentiles, ± 1.41 to ± 2.1 standard errors.
    assert 1.3 * 0.1 / 3**0.5 < (gap.high - gap.low) / 2 < 2.2 * 0.1 / 3**0.5


def test_rows_on_other_pairs_are_not_compared():
    p, labels = judged_pairs()
    other = PairSet("y", labels, np.arange(80))
    with pytest.raises(ValueError, match="measured on other pairs"):
        compare_rows(row({None: p}, pair_set(labels)), row({None: p}, other))


def test_rows_on_several_sets_are_compared_by_the_mean_of_each_figure():
    """Sets are independent: of two alike, the mean varies by 1/√2 of what one does."""
    first, second = {}, {}
    good, poor, scores = sample(400)
    for number, part in enumerate(("one", "other")):
        on = PairSet(part, scores, np.arange(400))
        first[part] = row({None: good - number * scores / 4}, on, None)
        second[part] = row({None: poor}, on, None)
    binary = pair_set(judged_pairs()[1])
    first["labels"] = row({None: judged_pairs()[0]}, binary, None)
    second["labels"] = row({None: judged_pairs(seed=1)[0]}, binary, None)
    first["alone"] = first["one"]
    found = compare_parts(first, second, n_draws=2000)
    # One set alone has an AUC.
    assert set(found) == {"spearman"}
    one, two, gap = found["spearman"]
    each = [compare_rows(first[p], second[p], n_draws=2000)["spearman"] for p in ("one", "other")]
    assert one == pytest.approx(np.mean([told[0] for told in each]), abs=1e-9)
    assert two == pytest.approx(np.mean([told[1] for told in each]), abs=1e-9)
    assert gap.value == pytest.approx(one - two) and gap.stands
    widths = [told[2].high - told[2].low for told in each]
    assert gap.high - gap.low == pytest.approx(np.mean(widths) / np.sqrt(2), rel=0.1)
    second["other"] = row({None: poor}, PairSet("others", scores, np.arange(400)), None)
    with pytest.raises(ValueError, match="measured on other pairs"):
        compare_parts(first, second)

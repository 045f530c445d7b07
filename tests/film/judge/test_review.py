import numpy as np
import pytest
from scipy.special import expit, logit

from film.judge import Review
from film.judge.expected import chances_by_case
from film.judge.review import FREEDOM, KEPT, SPREADS, SURE, WIDER

N = 400


def table(seed=0, n=N):
    """Candidates of n rows of two tables: pairs, scores and whether they are duplicates."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, n + (i + j) % n) for i in range(n) for j in range(5)])
    true = (pairs[:, 1] - pairs[:, 0] == n) & (pairs[:, 0] < n // 2)
    return pairs, expit(rng.normal(np.where(true, 1.5, -3), 1.3)), true


def review_of(seed=0, threshold=0.3):
    pairs, scores, true = table()
    order = np.random.default_rng(seed).random(len(pairs))
    return Review(pairs, scores, threshold, order, two_tables=True), scores, true, order


def answered(review, true, n, precision=None, answers=None):
    answers = dict(answers or {})
    while len(answers) < n:
        rows = review.questions(answers, min(5, n - len(answers)), precision)
        answers |= {row: bool(true[row]) for row in rows}
    return answers


def test_listed_strata_come_first_and_the_likeliest_of_them():
    review, scores, true, _ = review_of()
    assert np.bincount(review.strata).tolist() == review.sizes.tolist()
    assert ((review.strata < review.n_listed) == (scores >= 0.3)).all()
    shares = [true[review.strata == stratum].mean() for stratum in range(len(review.sizes))]
    inside, outside = np.split(np.array(shares), [review.n_listed])
    assert inside[0] > inside[-1] and outside[0] > outside[-1]


def test_each_stratum_is_asked_about_once_and_the_listed_ones_first():
    review, *_ = review_of()
    rows = review.questions({}, len(review.sizes))
    assert review.strata[rows].tolist() == list(range(len(review.sizes)))


def test_a_stratum_is_asked_in_the_given_order():
    review, _, true, order = review_of()
    answers = answered(review, true, 100)
    for stratum, size in enumerate(review.sizes):
        mine = [row for row in answers if review.strata[row] == stratum]
        members = np.flatnonzero(review.strata == stratum)
        assert mine == members[np.argsort(order[members])][: len(mine)].tolist()
        assert len(mine) <= size


def test_where_a_precision_is_wanted_most_questions_are_about_listed_pairs():
    review, scores, true, _ = review_of()
    listed = [scores[list(answered(review, true, 60, goal))] >= 0.3 for goal in (0.95, None)]
    assert np.mean(listed[0]) > 0.75 > np.mean(listed[1])


def test_no_row_is_asked_twice_and_all_are_asked_in_the_end():
    review, _, true, _ = review_of()
    rows = review.questions({}, 10**6)
    assert sorted(rows) == list(range(len(true)))
    assert review.questions(dict.fromkeys(rows, True)) == []


def test_answers_to_all_pairs_leave_no_doubt():
    review, scores, true, _ = review_of()
    found = review.estimate(dict(enumerate(true.tolist())))
    precision, recall = true[scores >= 0.3].mean(), true[scores >= 0.3].sum() / true.sum()
    assert found.n_answers == len(true)
    np.testing.assert_allclose(found.precision_interval, precision)
    np.testing.assert_allclose(found.recall_interval, recall)


def test_an_answer_out_of_order_counts_for_itself_alone():
    review, _, true, _ = review_of()
    answers = answered(review, true, 30)
    before = review.estimate(answers)
    last = [row for row in review.questions({}, 10**6) if review.strata[row] == 0][-1]
    after = review.estimate({**answers, last: False})
    assert after.n_answers == before.n_answers == 30
    assert before.precision - 2 / review.sizes.sum() ** 0.5 < after.precision < before.precision


def test_pairs_nobody_could_tell_are_no_answers_and_do_not_end_the_sample():
    review, _, true, _ = review_of()
    answers = answered(review, true, 40)
    first = next(iter(answers))
    assert review.estimate(answers | {first: None}).n_answers == 39


def test_the_estimate_is_that_of_its_model_by_weighing_draws_from_the_prior():
    review, scores, true, _ = review_of()
    answers = answered(review, true, 40)
    pairs = table()[0]
    cells, chances, weights = chances_by_case(pairs, scores, two_tables=True)
    rng = np.random.default_rng(0)
    m = 200_000
    cases = rng.choice(len(weights), m, p=weights)
    log_likelihood = np.zeros(m)
    listed = np.zeros(m)
    for stratum in range(len(review.sizes)):
        members = np.flatnonzero(review.strata == stratum)
        odds = logit(chances[:, cells[members]].mean(axis=1))
        far = np.maximum(np.abs(odds) - SURE, 0)
        cut = np.sign(odds) * (np.minimum(np.abs(odds), SURE) + np.where(odds > 0, *KEPT) * far)
        spread = rng.choice(SPREADS, m)
        step = np.clip(spread * rng.standard_t(FREEDOM, m), -7.25, 7.25)
        p = expit(np.clip(cut[cases] + (1 + WIDER * far[cases]) * step, -30, 30))
        given = [answers[row] for row in members if row in answers]
        log_likelihood += sum(given) * np.log(p) + (len(given) - sum(given)) * np.log1p(-p)
        if stratum < review.n_listed:
            listed += sum(given) + p * (len(members) - len(given))
    weight = np.exp(log_likelihood - log_likelihood.max())
    expected = np.average(listed, weights=weight) / review.sizes[: review.n_listed].sum()
    assert review.estimate(answers).precision == pytest.approx(expected, abs=0.015)


def test_intervals_hold_the_truth_and_narrow():
    inside, widths = [], []
    for seed in range(6):
        review, scores, true, _ = review_of(seed)
        truth = true[scores >= 0.3].mean(), true[scores >= 0.3].sum() / true.sum()
        answers: dict = {}
        for n in (30, 90):
            answers = answered(review, true, n, None, answers)
            found = review.estimate(answers)
            ends = found.precision_interval, found.recall_interval
            inside += [low <= value <= high for value, (low, high) in zip(truth, ends, strict=True)]
            widths.append([high - low for low, high in ends])
    assert np.mean(inside) > 0.9
    early, late = np.array(widths).reshape(6, 2, 2).mean(axis=0)
    assert (late < 0.85 * early).all()


def test_recall_is_held_where_few_answers_are_about_many_unlikely_pairs():
    inside = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        pairs = np.array([(i, 1500 + (i + j) % 1500) for i in range(1500) for j in range(10)])
        true = (pairs[:, 1] - pairs[:, 0] == 1500) & (pairs[:, 0] < 280)
        scores = expit(rng.normal(np.where(true, 2.2, -3.4), 1.3))
        review = Review(pairs, scores, 0.8, rng.random(len(pairs)))
        low, high = review.estimate(answered(review, true, 30)).recall_interval
        inside.append(low <= true[scores >= 0.8].sum() / true.sum() <= high)
    assert np.mean(inside) > 0.9


def test_a_forecast_is_about_what_comes():
    review, _, true, _ = review_of()
    answers = answered(review, true, 30)
    width = lambda found: np.diff(found.precision_interval)[0]  # noqa: E731
    told = review.forecast(answers, 60)
    assert told.n_answers == 90
    assert width(told) < width(review.estimate(answers))
    assert width(told) == pytest.approx(width(review.estimate(answered(review, true, 90))), rel=0.4)


def test_whether_a_precision_is_shown():
    review, _, true, _ = review_of(threshold=0.5)
    answers = answered(review, true, 60, 0.9)
    assert review.state(answers, 0.5) == "shown"
    assert review.state(answers, 0.999) == "refuted"
    low, high = review.estimate(answers).precision_interval
    assert review.state(answers, high - 1e-3) == "far"
    assert review.state(answers, low + 1e-3) == "open"


def test_without_pairs_above_the_threshold_there_is_still_a_review():
    review, _, true, _ = review_of(threshold=0.999999)
    assert review.n_listed == 0
    assert review.estimate(answered(review, true, 20)).precision == 0

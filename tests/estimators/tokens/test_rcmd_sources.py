"""RCMDRegressor learns from labels and a teacher's scores together."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from estimators import (
    PairTeacher,
    RCMDRegressor,
)
from estimators.training.loop import Training
from tests.estimators.tokens.test_rcmd_training import LABELS, PAIRS, make

torch = pytest.importorskip("torch", reason="needs the extra neural")

NOUNS = "chess cat dog mat age earth way run".split()
SCORED = [(f"the {noun} sat", f"how old is the {noun}") for noun in NOUNS]
P = np.linspace(0.1, 0.9, len(SCORED))


class ByLength(RegressorMixin, BaseEstimator):
    """Judges pairs without a model: 0.5 for texts of like length, less for others."""

    def fit(self, pairs, y):
        return self

    def predict(self, pairs):
        return np.array([0.5 / (1 + abs(len(a) - len(b))) for a, b in pairs])


def binary(folder, **params):
    return make(folder, **{"objective": "binary", "train_batch_size": 24} | params)


def mean_cost_of_orders(s, y, temperature):
    total = weight = 0.0
    for i in range(len(s)):
        for j in range(len(s)):
            if y[i] < y[j]:
                total += (y[j] - y[i]) * np.log1p(np.exp((s[i] - s[j]) / temperature))
                weight += y[j] - y[i]
    return total / weight


def test_labels_and_scores_are_one_loss(sober_model):
    model = binary(sober_model, epochs=1, temperature=0.2).fit(PAIRS, LABELS, scored=(SCORED, P))
    before = binary(sober_model, epochs=0).fit(PAIRS, LABELS)
    s = before.similarity([*PAIRS, *SCORED])
    y = [*(float(label == "same") for label in LABELS), *P]
    assert model.loss_curve_ == pytest.approx([mean_cost_of_orders(s, y, 0.2)], rel=1e-5)


def test_units_are_those_of_the_labels_alone(sober_model):
    # Scores that contradict the labels must not turn the curve.
    wrong = (PAIRS, [0.2 if label == "same" else 0.8 for label in LABELS])
    still = {"learning_rate": 0.0}
    one = binary(sober_model, **still).fit(PAIRS, LABELS)
    two = binary(sober_model, **still).fit(PAIRS, LABELS, scored=wrong)
    assert (one.slope_, one.intercept_) == pytest.approx((two.slope_, two.intercept_))
    assert two.classes_.tolist() == ["other", "same"]


def test_a_teacher_is_its_near_pairs_and_scores(sober_model):
    teacher = PairTeacher(ByLength(), random_state=0)
    made = PairTeacher(ByLength(), random_state=0).fit(PAIRS, LABELS)
    one = binary(sober_model, teacher=teacher).fit(PAIRS, LABELS)
    two = binary(sober_model).fit(PAIRS, LABELS, scored=(made.pairs_, made.scores_))
    assert one.loss_curve_ == two.loss_curve_
    np.testing.assert_array_equal(one.similarity(PAIRS), two.similarity(PAIRS))
    assert not hasattr(teacher, "pairs_") and one.teacher is teacher


def test_a_model_is_saved_without_its_teacher(sober_model, tmp_path):
    model = binary(sober_model, teacher=PairTeacher(ByLength(), random_state=0)).fit(PAIRS, LABELS)
    model.save(tmp_path / "model")
    again = RCMDRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(PAIRS), model.predict(PAIRS))
    assert again.teacher is None


@pytest.mark.parametrize(
    ("params", "fit", "error", "message"),
    [
        ({"teacher": 3}, {}, TypeError, "teacher=3 must be a PairTeacher"),
        ({"objective": "regression"}, {"scored": (SCORED, P)}, ValueError, "scored is given"),
        ({"epochs": 0}, {"scored": (SCORED, P)}, ValueError, "scored is given.*epochs=0"),
        ({"epochs": 0, "teacher": PairTeacher()}, {}, ValueError, "teacher is given"),
        ({"weights": "learned"}, {}, ValueError, "weights='learned' must be None, 'idf'"),
        ({}, {"scored": SCORED}, TypeError, "scored must be a tuple"),
        ({}, {"scored": (SCORED, P[:-1])}, ValueError, r"scored\[1\] has shape \(7,\) for 8"),
        ({}, {"scored": (SCORED, P + 0.2)}, ValueError, r"scored\[1\]\[7\]"),
        ({}, {"scored": (SCORED, P * np.nan)}, (TypeError, ValueError), r"scored\[1\]\[0\]"),
        ({}, {"scored": ([("a", None)], [0.5])}, (TypeError, ValueError), r"scored\[0\]"),
        ({"plan": "cls", "weights": "idf"}, {}, ValueError, "plan='cls'"),
    ],
)
def test_what_is_wrong_is_named_before_any_work(
    sober_model, params, fit, error, message, monkeypatch
):
    monkeypatch.setattr(Training, "run", lambda self: pytest.fail("work was begun"))
    y = [float(label == "same") for label in LABELS]
    with pytest.raises(error, match=message):
        binary(sober_model, **params).fit(PAIRS, y, **fit)

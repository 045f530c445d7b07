"""RCMDRegressor learns from labels and a teacher's scores together, and weights along with it."""

import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from estimators import (
    PairTeacher,
    RCMDRegressor,
    TokenEncoder,
    TokenMatchingRegressor,
)
from estimators.persistence import REGRESSOR
from estimators.training.loop import Training
from tests.estimators.tiny_model import MAX_TOKENS
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


def test_a_run_with_a_teacher_goes_on_to_the_same_weights(sober_model, tmp_path, monkeypatch):
    teacher = PairTeacher(ByLength(), random_state=0)
    settings = {"teacher": teacher, "eval_steps": 1, "epochs": 3, "weights": "learned"}
    whole = binary(sober_model, **settings).fit(PAIRS, LABELS)
    step, fit = Training._take_step, ByLength.fit

    def killed(self):
        if self.step == 2:
            raise RuntimeError("killed")
        step(self)

    monkeypatch.setattr(Training, "_take_step", killed)
    with pytest.raises(RuntimeError, match="killed"):
        binary(sober_model, checkpoint=tmp_path, **settings).fit(PAIRS, LABELS)
    monkeypatch.setattr(Training, "_take_step", step)
    fits: list = []
    monkeypatch.setattr(ByLength, "fit", lambda *a: (fits.append(1), fit(*a))[1])
    again = binary(sober_model, checkpoint=tmp_path, **settings).fit(PAIRS, LABELS)
    assert not fits and len(list((tmp_path / "teacher").glob("fold-*.json"))) == 2
    assert again.loss_curve_ == whole.loss_curve_
    np.testing.assert_array_equal(again.similarity(PAIRS), whole.similarity(PAIRS))
    np.testing.assert_array_equal(again.token_weights_, whole.token_weights_)


@pytest.mark.parametrize("objective", ["regression", "binary", "contrastive"])
@pytest.mark.parametrize("plan", ["rcmd", "avg"])
def test_weights_that_learn_have_the_gradient_of_the_loss(sober_model, objective, plan):
    y = None if objective == "contrastive" else [float(label == "same") for label in LABELS]
    settings = {"objective": objective, "plan": plan, "train_batch_size": 16, "epochs": 1}
    kept: list = []

    def weights_of(run):
        [gradient] = [p.grad.clone() for p in run.masses.parameters()]
        kept.append((gradient, run.losses))

    model = make(sober_model, weights="learned", random_state=0, **settings)
    usual = torch.optim.Adam.step
    runs: list = []
    start = Training.__init__

    def started(self, *args, **kwargs):
        start(self, *args, **kwargs)
        runs.append(self)

    def stepped(self, *args, **kwargs):
        weights_of(runs[0])
        return usual(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "__init__", started)
        patch.setattr(torch.optim.Adam, "step", stepped)
        patch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *a, **k: None)
        model.fit(PAIRS, y)
    gradient = kept[0][0].numpy()
    # The loss of a rate of 0 with the weight of one token moved, both ways.
    vocabulary = model.encoder_.loaded().tokenizer.get_vocab()
    slope = 1 / (1 + np.exp(-np.log(np.expm1(1.0))))  # of softplus at the start
    for token in ("cat", "the", "[CLS]"):
        costs = []
        for move in (1e-2, -1e-2):
            still = make(sober_model, weights={token: 1 + move}, learning_rate=0, **settings)
            costs.append(still.fit(PAIRS, y).loss_curve_[0])
        expected = slope * (costs[0] - costs[1]) / 2e-2
        assert gradient[vocabulary[token]] == pytest.approx(expected, rel=2e-2, abs=2e-4), token
    assert np.abs(gradient).max() > 1e-2
    assert gradient[vocabulary["שלום"]] == 0


def test_learned_weights_are_positive_and_one_where_no_text_has_the_token(sober_model, tmp_path):
    model = binary(sober_model, weights="learned").fit(PAIRS, LABELS)
    vocabulary = model.encoder_.loaded().tokenizer.get_vocab()
    table = model.token_weights_
    assert (table > 0).all() and table[vocabulary["שלום"]] == 1.0
    assert abs(table[vocabulary["cat"]] - 1) > 1e-3
    sums = [explanation.contributions.sum() for explanation in model.explain(PAIRS)]
    np.testing.assert_allclose(sums, model.similarity(PAIRS), rtol=0, atol=1e-6)
    model.save(tmp_path / "model")
    again = RCMDRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.token_weights_, table)
    np.testing.assert_array_equal(again.similarity(PAIRS), model.similarity(PAIRS))
    said = json.loads((tmp_path / "model" / REGRESSOR).read_text(encoding="utf-8"))
    matching = TokenMatchingRegressor(
        tmp_path / "model", weights=said["token_weights"], max_length=MAX_TOKENS, device="cpu"
    ).fit(PAIRS)
    np.testing.assert_array_equal(matching.token_weights_, table)


def test_the_best_weights_are_kept_with_the_best_model(sober_model, monkeypatch):
    scores, tables = iter([0.5, 0.9, 0.1]), []
    monkeypatch.setattr(
        RCMDRegressor,
        "_judged",
        lambda self, encoder, table, *held: (tables.append(table), next(scores))[1],
    )
    model = binary(sober_model, weights="learned", eval_steps=1, epochs=3).fit(
        PAIRS, LABELS, eval_set=(PAIRS[:4], LABELS[:2] + LABELS[4:6])
    )
    np.testing.assert_array_equal(model.token_weights_, tables[1])
    assert not np.array_equal(tables[1], tables[2])


@pytest.mark.parametrize("micro", [None, 3])
def test_micro_batches_learn_the_same_weights(sober_model, micro):
    whole = binary(sober_model, weights="learned").fit(PAIRS, LABELS)
    model = binary(sober_model, weights="learned", micro_batch_size=micro).fit(PAIRS, LABELS)
    np.testing.assert_allclose(model.token_weights_, whole.token_weights_, rtol=1e-2)


@pytest.mark.parametrize(
    ("params", "fit", "error", "message"),
    [
        ({"teacher": 3}, {}, TypeError, "teacher=3 must be a PairTeacher"),
        ({"objective": "regression"}, {"scored": (SCORED, P)}, ValueError, "scored is given"),
        ({"epochs": 0}, {"scored": (SCORED, P)}, ValueError, "scored is given.*epochs=0"),
        ({"epochs": 0, "teacher": PairTeacher()}, {}, ValueError, "teacher is given"),
        ({"epochs": 0, "weights": "learned"}, {}, ValueError, "weights='learned' needs epochs"),
        ({}, {"scored": SCORED}, TypeError, "scored must be a tuple"),
        ({}, {"scored": (SCORED, P[:-1])}, ValueError, r"scored\[1\] has shape \(7,\) for 8"),
        ({}, {"scored": (SCORED, P + 0.2)}, ValueError, r"scored\[1\]\[7\]"),
        ({}, {"scored": (SCORED, P * np.nan)}, (TypeError, ValueError), r"scored\[1\]\[0\]"),
        ({}, {"scored": ([("a", None)], [0.5])}, (TypeError, ValueError), r"scored\[0\]"),
        ({"plan": "cls", "weights": "learned"}, {}, ValueError, "plan='cls'"),
    ],
)
def test_what_is_wrong_is_named_before_any_work(
    sober_model, params, fit, error, message, monkeypatch
):
    monkeypatch.setattr(Training, "run", lambda self: pytest.fail("work was begun"))
    y = [float(label == "same") for label in LABELS]
    with pytest.raises(error, match=message):
        binary(sober_model, **params).fit(PAIRS, y, **fit)
    with pytest.raises(ValueError, match="weights='learned' must be None, 'idf', 'words'"):
        TokenMatchingRegressor(sober_model, weights="learned").fit(PAIRS)


def test_the_device_of_a_teacher_is_checked_before_any_model_is_loaded(sober_model, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(TokenEncoder, "loaded", lambda self: pytest.fail("a model was loaded"))
    teacher = PairTeacher(RCMDRegressor(sober_model, objective="binary", device="cuda"))
    with pytest.raises(ValueError, match=r"teacher: device='cuda' .* give 'cpu' or device=None"):
        binary(sober_model, teacher=teacher).fit(PAIRS, LABELS)

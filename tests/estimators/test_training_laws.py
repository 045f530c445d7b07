"""Laws that every estimator keeps which is trained step by step; a new one joins `TRAINED`."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from estimators import (
    CrossEncoderRegressor,
    RCMDRegressor,
    SurrogateRegressor,
    TokenEncoder,
    read_metadata,
)
from estimators import TripletNetwork as Network
from estimators.training.loop import Training
from tests.estimators.tiny_model import MAX_TOKENS

pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("transformers", reason="needs the extra neural")

NOUNS = ("chess", "cat", "dog", "mat", "age", "earth", "way", "run")
PAIRS = [(f"how do i learn {noun}", f"the best way to learn {noun}") for noun in NOUNS]
PAIRS += [(f"the {noun} sat", f"old {noun} sat on") for noun in NOUNS]
SCORES = [1 - (row % 8) / 8 for row in range(16)]
RELATIONS = [("entailment", "neutral", "contradiction")[row % 3] for row in range(16)]
TEXTS = [text for pair in PAIRS for text in pair]
GROUPS = list(np.arange(32) // 2 % 8)
TOKENS = {"max_length": MAX_TOKENS, "train_max_length": MAX_TOKENS}


class Trained(NamedTuple):
    """A kind of estimator, its parameters and its data."""

    kind: Any
    params: dict[str, Any]
    X: Any
    y: Any


TRAINED = {
    "RCMDRegressor": Trained(RCMDRegressor, TOKENS, PAIRS, SCORES),
    "CrossEncoderRegressor": Trained(CrossEncoderRegressor, TOKENS, PAIRS, SCORES),
    "SurrogateRegressor": Trained(SurrogateRegressor, TOKENS, PAIRS, SCORES),
    "SurrogateRegressor nli": Trained(
        SurrogateRegressor, TOKENS | {"objective": "nli"}, PAIRS, RELATIONS
    ),
    "TripletNetwork": Trained(
        Network, {"channels": (3, 4, 5), "width": 6, "max_triplets": 16}, TEXTS, GROUPS
    ),
}
cases = pytest.mark.parametrize("case", TRAINED.values(), ids=TRAINED)


def fitted(case, folder, *, evaluated=False, steps=None, **params):
    """Fit with six rows per step, three steps an epoch."""
    model = folder if case.kind is not Network else TokenEncoder(str(folder), device="cpu")
    params = {"epochs": 2, "learning_rate": 1e-3, "train_batch_size": 6, **params}
    made = case.kind(model, device="cpu", random_state=0, **case.params, **params)
    if steps is not None:
        made.eval_steps = steps
    n = 6 if case.kind is not Network else 12
    return made.fit(case.X, case.y, eval_set=(case.X[:n], case.y[:n]) if evaluated else None)


def said(model):
    return model.transform(TEXTS) if isinstance(model, Network) else model.similarity(PAIRS)


def stopping(monkeypatch, at, error):
    step = Training._take_step

    def stopped(self):
        if self.step == at:
            raise error
        step(self)

    monkeypatch.setattr(Training, "_take_step", stopped)


@cases
def test_ctrl_c_keeps_the_best_so_far(case, tiny_model, monkeypatch):
    stopping(monkeypatch, 3, KeyboardInterrupt())
    with pytest.warns(UserWarning, match="interrupted after step 3 of 6; the best") as caught:
        model: Any = fitted(case, tiny_model, evaluated=True, steps=1)
    assert caught[0].filename == __file__ and len(model.loss_curve_) == 3
    n = 12 if case.kind is Network else 6
    best = max(score for _, score in model.scores_)
    # The line to the units of y may fall.
    assert abs(model.score(case.X[:n], case.y[:n])) == pytest.approx(abs(best))
    if isinstance(case.y[0], float):
        line = np.polyfit(model.similarity(case.X[:n]), case.y[:n], 1)
        assert (model.slope_, model.intercept_) == pytest.approx(tuple(line))


@pytest.mark.parametrize("kind", [RCMDRegressor, CrossEncoderRegressor])
def test_labels_are_learned_and_predicted_as_probabilities(kind, sober_model):
    pairs = [
        (f"how do i learn {noun}", other.format(noun))
        for noun in NOUNS
        for other in ("the best way to learn {}", "old {} sat on the mat")
    ]
    labels = np.tile(["same", "other"], len(NOUNS))
    settings = {"epochs": 40, "train_batch_size": 16, "learning_rate": 3e-3, **TOKENS}
    model: Any = kind(sober_model, objective="binary", device="cpu", random_state=0, **settings)
    p = model.fit(pairs, labels).predict(pairs)
    assert model.classes_.tolist() == ["other", "same"]
    assert ((p > 0.5) == (labels == "same")).all() and 0 < p.min() and p.max() < 1
    model.set_params(objective="regression", epochs=1).fit(pairs, p)
    assert not hasattr(model, "classes_")


@cases
def test_a_saved_folder_is_the_same_model_of_its_own_kind_alone(case, tiny_model, tmp_path):
    model = fitted(case, tiny_model, evaluated=True)
    model.save(tmp_path / "saved")
    again = case.kind.load(tmp_path / "saved", device="cpu")
    for name in {"transform", "predict"} & {*dir(model)}:
        asked = PAIRS if name == "predict" else TEXTS
        np.testing.assert_array_equal(getattr(again, name)(asked), getattr(model, name)(asked))
    assert (again.loss_curve_, again.scores_) == (model.loss_curve_, model.scores_)
    told = read_metadata(tmp_path / "saved")
    assert told["class"] == case.kind.__name__ and told["date"] and "numpy" in told["versions"]
    with pytest.raises(FileExistsError, match="already there"):
        model.save(tmp_path / "saved")
    for kind in {each.kind for each in TRAINED.values()} - {case.kind, Network}:
        with pytest.raises(ValueError, match=f"it is a {case.kind.__name__}, not a"):
            kind.load(tmp_path / "saved")


@cases
def test_steps_lower_the_loss(case, sober_model):
    curve = fitted(case, sober_model, epochs=20, learning_rate=3e-3).loss_curve_
    # The last epoch of three steps beside the first.
    assert np.mean(curve[-3:]) < 0.7 * np.mean(curve[:3])


@cases
def test_half_precision_trains_float32_weights(case, tiny_model):
    half, exact = fitted(case, tiny_model, dtype="bfloat16"), fitted(case, tiny_model)
    np.testing.assert_allclose(said(half), said(exact), atol=0.2)
    assert half.loss_curve_ != exact.loss_curve_


@cases
def test_micro_batches_keep_gradients_exact(case, sober_model):
    if case.kind is SurrogateRegressor:
        pytest.skip("it has no micro batches")
    whole, parts = (fitted(case, sober_model, micro_batch_size=size) for size in (None, 3))
    assert parts.loss_curve_[:2] == pytest.approx(whole.loss_curve_[:2], rel=1e-4)

"""CrossEncoderRegressor: what it reads, learns, predicts in both orders, keeps and refuses."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn import base

from estimators import CrossEncoderRegressor, RCMDRegressor
from estimators.encoders.transformer import Transformer
from estimators.training.loop import Training
from tests.estimators.tiny_model import MAX_TOKENS

torch = pytest.importorskip("torch", reason="needs the extra neural")
transformers = pytest.importorskip("transformers", reason="needs the extra neural")

clone: Any = base.clone
NOUNS = ("chess", "cat", "dog", "mat", "age", "earth", "way", "run")
PAIRS = [
    (f"how do i learn {noun}", other.format(noun))
    for noun in NOUNS
    for other in ("the best way to learn {}", "old {} sat on the mat")
]
SCORES = [4.0 - row % 2 * 3 + row / 20 for row in range(16)]
LABELS = ["other" if row % 2 else "same" for row in range(16)]


def make(folder, **parameters) -> Any:
    settings = {
        "max_length": MAX_TOKENS,
        "train_max_length": MAX_TOKENS,
        "device": "cpu",
        "epochs": 2,
        "train_batch_size": 6,
        "learning_rate": 1e-3,
        "random_state": 0,
    }
    return CrossEncoderRegressor(folder, **settings | parameters)


@pytest.fixture(scope="module")
def fitted(tiny_model) -> Any:
    return make(tiny_model).fit(PAIRS, SCORES)


def scores_alone(folder, head, pairs) -> np.ndarray:
    """Scores of pairs that go through the model of a folder one by one, in one order."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    weights = {name: value.astype(np.float64) for name, value in head.items()}
    found = []
    for first, second in pairs:
        with torch.no_grad():
            output = model(**tokenizer(first, second, return_tensors="pt"))
        x = output.last_hidden_state[0, 0].double().numpy()
        hidden = np.tanh(weights["dense.weight"] @ x + weights["dense.bias"])
        found.append(float(weights["score.weight"][0] @ hidden + weights["score.bias"][0]))
    return np.array(found)


def test_similarity_is_the_mean_score_of_both_orders_read_alone(fitted, tmp_path):
    fitted.save(tmp_path / "saved")
    there = scores_alone(tmp_path / "saved", fitted.head_, PAIRS)
    back = scores_alone(tmp_path / "saved", fitted.head_, [pair[::-1] for pair in PAIRS])
    assert np.abs(there - back).max() > 1e-3
    np.testing.assert_allclose(fitted.similarity(PAIRS), (there + back) / 2, rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        fitted.predict(PAIRS), fitted.intercept_ + fitted.slope_ * fitted.similarity(PAIRS)
    )


def test_types_tell_the_texts_of_a_pair_apart(tiny_model):
    transformer = Transformer(tiny_model, "cpu", None, 0)
    first, second = ["a cat", "the dog"], ["the dog sat on the mat", ""]
    tokens = transformer.tokenize_pairs(first, second, MAX_TOKENS)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model)
    expected = tokenizer(first, second)
    for row in range(2):
        place = slice(*tokens.starts[row : row + 2])
        assert tokens.ids[place].tolist() == expected["input_ids"][row]
        assert tokens.types is not None
        assert tokens.types[place].tolist() == expected["token_type_ids"][row]
    assert not tokens.is_cut.any()
    cut = transformer.tokenize_pairs(first, second, 6)
    assert cut.is_cut.tolist() == [True, False] and cut.lengths.tolist() == [6, 5]


def first_outputs(folder, **parameters) -> tuple[np.ndarray, float]:
    """Scores of the pairs in the orders of the first step, before it."""
    found: list = []
    backward = Training.backward

    def kept(self, rows):
        if not found:
            chosen = self.objective.chosen(self.examples.codes, np.arange(16), 0)[:, 0]
            turned = chosen >= 16
            pairs = [pair[::-1] if t else pair for pair, t in zip(PAIRS, turned, strict=True)]
            head = {n: v.numpy().copy() for n, v in self.objective.module.state_dict().items()}
            found.append((scores_alone(folder, head, pairs), turned))
        return backward(self, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "backward", kept)
        model = make(folder, epochs=1, train_batch_size=16, **parameters)
        model.fit(PAIRS, LABELS if parameters.get("objective") == "binary" else SCORES)
    scores, turned = found[0]
    assert 0 < turned.sum() < 16
    return scores, model.loss_curve_[0]


def test_losses_are_the_squared_error_in_standard_deviations_and_cross_entropy(sober_model):
    outputs, loss = first_outputs(sober_model)
    y = (np.array(SCORES) - np.mean(SCORES)) / np.std(SCORES)
    assert loss == pytest.approx(np.mean((outputs - y) ** 2), rel=1e-4)
    outputs, loss = first_outputs(sober_model, objective="binary")
    p = expit(outputs)
    is_same = np.array(LABELS) == "same"
    assert loss == pytest.approx(-np.mean(np.log(np.where(is_same, p, 1 - p))), rel=1e-4)


def test_every_pair_is_read_in_the_other_order_in_the_next_epoch(sober_model):
    seen: list = []
    chosen = pair_orders = None
    with pytest.MonkeyPatch.context() as patch:
        backward = Training.backward

        def kept(self, rows):
            nonlocal chosen
            chosen = self._codes(np.arange(16))[:, 0]
            seen.append(chosen)
            return backward(self, rows)

        patch.setattr(Training, "backward", kept)
        make(sober_model, epochs=3, train_batch_size=16).fit(PAIRS, SCORES)
    pair_orders = np.array(seen) >= 16
    assert (np.array(seen) % 16 == np.arange(16)).all()
    assert (pair_orders[0] != pair_orders[1]).all() and (pair_orders[0] == pair_orders[2]).all()


def test_it_starts_from_a_trained_similarity_in_half_precision_too(tiny_model, tmp_path):
    start = RCMDRegressor(tiny_model, epochs=1, max_length=MAX_TOKENS, train_max_length=16)
    start.fit(PAIRS, SCORES).save(tmp_path / "start")
    exact, short = (
        make(tmp_path / "start", dtype=dtype).fit(PAIRS, SCORES).similarity(PAIRS)
        for dtype in ("float32", "bfloat16")
    )
    np.testing.assert_allclose(short, exact, rtol=0, atol=0.2)


def test_another_fit_goes_on_from_the_weights_those_of_the_head_included(tiny_model, tmp_path):
    model = make(tiny_model, objective="binary").fit(PAIRS, LABELS)
    model.save(tmp_path / "saved")
    again = CrossEncoderRegressor.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.predict(PAIRS), model.predict(PAIRS))
    still = clone(again).set_params(epochs=0).fit(PAIRS)
    np.testing.assert_array_equal(still.similarity(PAIRS), model.similarity(PAIRS))
    more = clone(again).set_params(learning_rate=0).fit(PAIRS, LABELS)
    np.testing.assert_allclose(more.similarity(PAIRS), model.similarity(PAIRS), atol=1e-6)


def test_a_damaged_head_is_refused(fitted, tmp_path):
    from safetensors.numpy import save_file

    fitted.save(tmp_path / "saved")
    path = tmp_path / "saved" / "film_pair_head.safetensors"
    save_file({"dense.bias": np.zeros(3, dtype=np.float32)}, path)
    with pytest.raises(ValueError, match="does not score vectors of width 32"):
        CrossEncoderRegressor.load(tmp_path / "saved")
    path.write_bytes(b"torn")
    with pytest.raises(ValueError, match=r"film_pair_head\.safetensors is damaged"):
        CrossEncoderRegressor.load(tmp_path / "saved")
    path.unlink()
    with pytest.raises(ValueError, match="no network that scores pairs"):
        CrossEncoderRegressor.load(tmp_path / "saved")


def test_cut_pairs_are_counted_in_one_warning(tiny_model):
    model = make(tiny_model, max_length=9, train_max_length=9)
    for call in (lambda: model.fit(PAIRS, SCORES), lambda: model.predict(PAIRS)):
        with pytest.warns(UserWarning, match=r"max_length=9 cut 16 of 16 pairs") as caught:
            call()
        assert len(caught) == 1 and caught[0].filename == __file__


@pytest.mark.parametrize(
    ("parameters", "rows", "y", "message"),
    [
        ({}, [(*PAIRS[0], "a")], [1.0], "pairs row 0 holds 3 entries"),
        ({}, PAIRS, None, "y is None, but objective='regression'"),
        ({"objective": "contrastive"}, PAIRS, None, "objective='contrastive'"),
        ({"epochs": 0}, PAIRS, SCORES, "no network that scores pairs"),
        ({"max_length": 500}, PAIRS, SCORES, "max_length=500"),
        ({"train_max_length": 500}, PAIRS, SCORES, "train_max_length=500"),
        # A pair has three special tokens.
        ({"max_length": 3}, PAIRS, SCORES, "max_length=3 must be 4 or more"),
        ({"train_max_length": 3}, PAIRS, SCORES, "train_max_length=3 must be 4 or more"),
    ],
)
def test_bad_input_is_named_before_any_step(tiny_model, monkeypatch, parameters, rows, y, message):
    monkeypatch.setattr(Training, "run", lambda self: pytest.fail("work began"))
    with pytest.raises((TypeError, ValueError), match=message):
        make(tiny_model, **parameters).fit(rows, y)

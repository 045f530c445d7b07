"""Average of models: their weights, and models that do not fit together."""

import numpy as np
import pytest

from estimators import RCMDRegressor, average_models
from estimators.encoders.transformer import Transformer
from tests.estimators.tiny_model import MAX_TOKENS, PAIRS, SCORES, make_tiny_model

torch = pytest.importorskip("torch", reason="needs the extra neural")
transformers = pytest.importorskip("transformers", reason="needs the extra neural")


@pytest.fixture
def trained(tiny_model, tmp_path) -> str:
    RCMDRegressor(
        tiny_model, max_length=MAX_TOKENS, epochs=2, learning_rate=1e-2, random_state=0,
        train_max_length=MAX_TOKENS, device="cpu",
    ).fit(PAIRS, SCORES).save(tmp_path / "trained")  # fmt: skip
    return str(tmp_path / "trained")


def arrays(model) -> dict[str, np.ndarray]:
    regressor = RCMDRegressor(model, max_length=MAX_TOKENS, device="cpu").fit(PAIRS)
    return regressor.encoder_.loaded().arrays()


@pytest.mark.parametrize(
    ("weights", "share"), [(None, 0.5), ([3, 1], 0.25), ([0, 2], 1.0), ([-1, 3], 1.5)]
)
def test_weights_are_averaged_with_the_head(tiny_model, trained, tmp_path, weights, share):
    average_models([tiny_model, trained], tmp_path / "both", weights=weights)
    start, end, found = arrays(tiny_model), arrays(trained), arrays(tmp_path / "both")
    width = len(end["head.bias"])
    start |= {"head.weight": np.eye(width), "head.bias": np.zeros(width)}
    assert found.keys() == end.keys()
    assert any(np.abs(end[name] - start[name]).max() > 1e-3 for name in end)
    for name, values in found.items():
        np.testing.assert_allclose(
            values, (1 - share) * start[name] + share * end[name], rtol=0, atol=1e-6
        )


def test_whole_numbers_stay_as_they_are(tiny_model, tmp_path, monkeypatch):
    # Three thirds of a whole number may be a little less, which a cast would cut to the one below.
    original = Transformer.__init__

    def with_table(self, *args):
        original(self, *args)
        self.module.register_buffer("table", torch.arange(1000))

    adopted = []
    monkeypatch.setattr(Transformer, "__init__", with_table)
    monkeypatch.setattr(Transformer, "adopt", lambda self, arrays: adopted.append(arrays))
    average_models([tiny_model] * 3, tmp_path / "both")
    table = adopted[0]["model.table"]
    assert table.dtype == np.int64
    np.testing.assert_array_equal(table, np.arange(1000))


def test_models_of_another_shape_or_vocabulary_are_refused(tiny_model, tmp_path):
    wide = make_tiny_model(tmp_path / "wide", hidden_size=64)
    with pytest.raises(ValueError, match=r"models\[1\]=.*another shape or vocabulary"):
        average_models([tiny_model, wide], tmp_path / "both")
    assert not (tmp_path / "both").exists()


def test_bad_input_is_named_before_any_work(tiny_model, trained, tmp_path):
    for models in ([tiny_model], str(tiny_model), None):
        with pytest.raises(ValueError, match="list of at least two models"):
            average_models(models, tmp_path / "both")
    both = [tiny_model, trained]
    with pytest.raises(ValueError, match=r"weights has shape \(3,\); give one for each of 2"):
        average_models(both, tmp_path / "both", weights=[1, 1, 1])
    for weights in ([1, -1], [1, -2], [0, 0], [np.nan, 1], [np.inf, 1]):
        with pytest.raises(ValueError, match="finite, with a sum above 0"):
            average_models(both, tmp_path / "both", weights=weights)
    with pytest.raises(ValueError, match=r"weights=.* must be numbers, one per model"):
        average_models(both, tmp_path / "both", weights=["much", "little"])
    with pytest.raises(FileExistsError, match="already there"):
        average_models(both, trained)
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        average_models([tiny_model, str(tmp_path / "none")], tmp_path / "both")
    assert not (tmp_path / "both").exists()

"""A fitted RCMDRegressor in a folder: whole, plain, and never code."""

import json
from pathlib import Path

import numpy as np
import pytest

from estimators import RCMDRegressor, TokenEncoder
from tests.estimators.tiny_model import MAX_TOKENS, PAIRS, SCORES

torch = pytest.importorskip("torch", reason="needs the extra neural")
transformers = pytest.importorskip("transformers", reason="needs the extra neural")


@pytest.fixture(scope="module")
def fitted(tiny_model) -> RCMDRegressor:
    return RCMDRegressor(
        tiny_model, max_length=MAX_TOKENS, epochs=2, train_batch_size=2, learning_rate=1e-3,
        random_state=0, device="cpu", weights={"cat": 2.0, "the": 0.0},
    ).fit(PAIRS, SCORES)  # fmt: skip


@pytest.fixture
def saved(fitted, tmp_path) -> Path:
    fitted.save(tmp_path / "saved")
    return tmp_path / "saved"


def test_whoever_may_read_the_folder_may_read_its_files(saved, tmp_path):
    (tmp_path / "usual").write_text("", encoding="utf-8")
    usual = (tmp_path / "usual").stat().st_mode
    assert {path.stat().st_mode for path in saved.iterdir()} == {usual}


def test_the_folder_is_a_model_for_every_encoder(fitted, saved):
    text = PAIRS[0][0]
    by_encoder = TokenEncoder(saved, max_length=MAX_TOKENS, device="cpu").fit([text])
    np.testing.assert_array_equal(
        by_encoder.transform([text])[0], fitted.encoder_.transform([text])[0]
    )
    loaded = transformers.AutoModel.from_pretrained(saved, use_safetensors=True)
    mine = fitted.encoder_.loaded().module.state_dict()
    assert all(torch.equal(value, mine[name]) for name, value in loaded.state_dict().items())
    assert not list(saved.glob("*.bin")) and not list(saved.glob("*.pt"))


def test_training_goes_on_from_a_saved_model(fitted, saved):
    again = RCMDRegressor.load(saved, epochs=1, learning_rate=0.0, weights=None)
    still = again.fit(PAIRS, SCORES).similarity(PAIRS)
    plain = RCMDRegressor(saved, max_length=MAX_TOKENS, device="cpu").fit(PAIRS)
    np.testing.assert_allclose(still, plain.similarity(PAIRS), rtol=0, atol=1e-6)


def test_untrained_and_binary_models_are_saved_too(tiny_model, tmp_path):
    plain = RCMDRegressor(tiny_model, max_length=MAX_TOKENS, plan="avg").fit(PAIRS)
    plain.save(tmp_path / "plain")
    again = RCMDRegressor.load(tmp_path / "plain")
    np.testing.assert_array_equal(again.similarity(PAIRS), plain.similarity(PAIRS))
    assert not (tmp_path / "plain" / "film_head.safetensors").exists()
    binary = RCMDRegressor(tiny_model, max_length=MAX_TOKENS, objective="binary")
    binary.fit(PAIRS, ["n", "y", "n", "y"]).save(tmp_path / "binary")
    again = RCMDRegressor.load(tmp_path / "binary")
    assert again.classes_.tolist() == ["n", "y"]
    np.testing.assert_array_equal(again.predict(PAIRS), binary.predict(PAIRS))


def test_nothing_saved_is_overwritten_and_nothing_half_stays(fitted, saved, monkeypatch):
    before = (saved / "film_regressor.json").read_bytes()
    with pytest.raises(FileExistsError, match="already there; give a new folder"):
        fitted.save(saved)
    assert (saved / "film_regressor.json").read_bytes() == before

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr("estimators.encoders.transformer.Transformer.save", full)
    with pytest.raises(OSError, match="disk full"):
        fitted.save(saved.parent / "other")
    assert sorted(path.name for path in saved.parent.iterdir()) == ["saved"]


def test_a_parameter_json_cannot_hold_is_named(tiny_model, tmp_path):
    model = RCMDRegressor(tiny_model, max_length=MAX_TOKENS).fit(PAIRS)
    model.set_params(eval_steps=object())
    with pytest.raises(ValueError, match=r"eval_steps=.* cannot be saved"):
        model.save(tmp_path / "saved")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda said: "{", "cannot be used"),
        (lambda said: json.dumps({"slope": 1}), "cannot be used"),
        (lambda said: json.dumps(said | {"format": 99}), "format, 99"),
        (lambda said: json.dumps(said | {"class": "Other"}), "it is a Other"),
        (lambda said: json.dumps(said | {"params": {"unknown": 1}}), "cannot be used"),
        (lambda said: json.dumps(said | {"slope": "steep"}), "cannot be used"),
        (lambda said: json.dumps(said | {"params": {"epochs": -1}}), "epochs=-1"),
    ],
)
def test_damaged_descriptions_are_refused(saved, change, message):
    path = saved / "film_regressor.json"
    path.write_text(change(json.loads(path.read_text())))
    with pytest.raises(ValueError, match=message):
        RCMDRegressor.load(saved)


def test_damaged_heads_and_missing_folders_are_refused(saved, tiny_model, tmp_path):
    head = saved / "film_head.safetensors"
    whole = head.read_bytes()
    head.write_bytes(whole[:-8])
    with pytest.raises(ValueError, match=r"film_head.safetensors is damaged"):
        RCMDRegressor.load(saved)
    from safetensors.numpy import save_file

    save_file({"weight": np.zeros((2, 2), np.float32), "bias": np.zeros(2, np.float32)}, head)
    with pytest.raises(ValueError, match="is not a layer of width 32"):
        RCMDRegressor.load(saved)
    with pytest.raises(FileNotFoundError, match="no RCMDRegressor was saved there"):
        RCMDRegressor.load(tiny_model)
    with pytest.raises(FileNotFoundError, match="use from_pretrained"):
        RCMDRegressor.load(tmp_path / "nowhere")


def test_another_head_is_another_model_for_the_cache(saved, tmp_path):
    from safetensors.numpy import load_file, save_file

    def vector(folder):
        encoder = TokenEncoder(folder, max_length=MAX_TOKENS, cache=tmp_path / "cache")
        return encoder.fit(["cat"]).transform(["cat"])[0]

    before = vector(saved)
    head = load_file(saved / "film_head.safetensors")
    save_file({**head, "bias": head["bias"] + 1}, saved / "film_head.safetensors")
    assert np.abs(vector(saved) - before).max() > 0.5

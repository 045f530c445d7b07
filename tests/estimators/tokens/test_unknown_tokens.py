"""Regressors on token vectors: what they do not know, and what they leave behind."""

import re
import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("transformers", reason="needs the extra neural")

from estimators import (  # noqa: E402
    RCMDRegressor,
    SentenceEncoder,
    TokenEncoder,
    TokenMatchingRegressor,
)
from estimators.training.objectives import excluded  # noqa: E402
from tests.estimators.tiny_model import MAX_TOKENS, PAIRS, SCORES  # noqa: E402


def state_of(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def test_a_failed_refit_leaves_the_fitted_state_as_it_was(tiny_model, monkeypatch):
    model: Any = RCMDRegressor(
        tiny_model,
        max_length=MAX_TOKENS,
        epochs=2,
        train_batch_size=2,
        random_state=0,
        device="cpu",
    ).fit(PAIRS, SCORES)
    before, predicted = state_of(model), model.predict(PAIRS)
    assert len(model.loss_curve_) == 4
    # A check that comes after the model is loaded: no token is left of the last text.
    model.set_params(special_tokens=False)
    with pytest.raises(ValueError, match="which has no tokens except special ones"):
        model.fit([*PAIRS, ("a", " ")], [*SCORES, 1.0])
    model.set_params(special_tokens=True)
    assert state_of(model).keys() == before.keys()
    assert all(state_of(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.predict(PAIRS), predicted)

    def broken(*args):
        raise RuntimeError("after the training")

    monkeypatch.setattr(RCMDRegressor, "_similarities", broken)
    with pytest.raises(RuntimeError, match="after the training"):
        model.fit(PAIRS[:2], SCORES[:2])
    assert all(state_of(model)[name] is value for name, value in before.items())


def test_texts_that_a_batch_calls_partners_are_no_negatives():
    # Texts 0 to 6; rows of anchor, partner and hard negative. Rows 0 and 1 share text 1; the
    # negative of row 2 is the anchor of row 0.
    codes = np.array([[0, 1, 5], [2, 1, 6], [3, 4, 0]])
    left_out = excluded(codes)
    expected = np.zeros((3, 6), dtype=bool)
    for row, (anchor, partner, _) in enumerate(codes):
        for other, (anchor2, partner2, negative2) in enumerate(codes):
            shares = {anchor, partner} & {anchor2, partner2}
            expected[row, other] = other != row and bool(shares)
            expected[row, 3 + other] = negative2 in {anchor, partner}
    np.testing.assert_array_equal(left_out, expected)
    assert left_out.sum() == 3


STRANGE = [("你好", "再见"), ("😀", "😡"), ("the cat", "the 猫"), ("a cat", "a dog")]
MODELS = (RCMDRegressor, TokenMatchingRegressor)


@pytest.mark.parametrize("kind", MODELS)
def test_unknown_tokens_are_counted_in_one_warning(tiny_model, kind):
    model = kind(tiny_model, max_length=MAX_TOKENS, device="cpu").fit(PAIRS)
    for method in (model.similarity, model.predict, model.explain):
        with pytest.warns(UserWarning, match="5 of 8 texts have tokens unknown to") as caught:
            method(STRANGE)
        assert len(caught) == 1 and ", 4 of them no known token" in str(caught[0].message)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.similarity(PAIRS)
        model.unknown_shares(STRANGE)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("special_tokens", [True, False])
@pytest.mark.filterwarnings("ignore:.* texts have tokens that the model does not:UserWarning")
def test_pairs_of_unknown_tokens_can_be_told_apart(tiny_model, kind, special_tokens):
    settings = {"max_length": MAX_TOKENS, "device": "cpu", "special_tokens": special_tokens}
    model = kind(tiny_model, **settings).fit(PAIRS)
    # Both read as [UNK] alone, so the model cannot tell them from copies.
    similarity = model.similarity(STRANGE)
    assert np.isfinite(similarity).all()
    copies = model.similarity([(text, text) for text, _ in STRANGE[:2]])
    np.testing.assert_allclose(similarity[:2], copies, atol=1e-5)
    shares = model.unknown_shares(STRANGE)
    assert shares.shape == (4, 2)
    np.testing.assert_array_equal(shares[[0, 1, 3]], [[1, 1], [1, 1], [0, 0]])
    assert shares[2, 0] == 0 < shares[2, 1] < 1
    said = [explanation.unknown_note for explanation in model.explain(STRANGE)]
    for note, (first, second) in zip(said, shares, strict=True):
        counted = re.findall(r"(\d+) of (\d+) in text (\d)", note)
        found = {side: int(some) / int(every) for some, every, side in counted}
        assert (found.get("1", 0.0), found.get("2", 0.0)) == (first, second)
    (explanation,) = model.explain(STRANGE[:1])
    assert explanation.unknown_note in str(explanation)
    assert type(explanation)(**explanation.to_dict()).unknown_note == said[0]


def test_encoders_warn_of_unknown_tokens_too(tiny_model):
    for kind in (SentenceEncoder, TokenEncoder):
        encoder = kind(tiny_model, max_length=MAX_TOKENS, device="cpu").fit(["a"])
        with pytest.warns(UserWarning, match="2 of 3 texts have tokens unknown to"):
            encoder.transform(["你好", "再见", "a cat"])

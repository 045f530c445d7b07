"""Regressors on token vectors: what they do not know, and what they leave behind."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("transformers", reason="needs the extra neural")

from estimators import RCMDRegressor  # noqa: E402
from estimators._training import _excluded  # noqa: E402
from film.losses import contrastive_loss  # noqa: E402
from tests.estimators.tiny_model import MAX_TOKENS, PAIRS, SCORES, make_tiny_model  # noqa: E402


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


def state_of(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def test_11_a_failed_refit_leaves_the_fitted_state_as_it_was(tiny, monkeypatch):
    model = RCMDRegressor(
        tiny, max_length=MAX_TOKENS, epochs=2, train_batch_size=2, random_state=0, device="cpu"
    ).fit(PAIRS, SCORES)
    before, predicted = state_of(model), model.predict(PAIRS)
    assert len(model.loss_curve_) == 4
    # A check that comes after the model is loaded: no token is left of the last text.
    model.set_params(special_tokens=False)
    with pytest.raises(ValueError, match="which has no token but special ones"):
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


def test_11_texts_that_a_batch_calls_partners_are_no_negatives():
    # Texts 0 to 6; rows of anchor, partner and hard negative. Rows 0 and 1 share text 1; the
    # negative of row 2 is the anchor of row 0.
    codes = np.array([[0, 1, 5], [2, 1, 6], [3, 4, 0]])
    left_out = _excluded(codes, [codes])
    expected = np.zeros((3, 6), dtype=bool)
    for row, (anchor, partner, _) in enumerate(codes):
        for other, (anchor2, partner2, negative2) in enumerate(codes):
            shares = {anchor, partner} & {anchor2, partner2}
            expected[row, other] = other != row and bool(shares)
            expected[row, 3 + other] = negative2 in {anchor, partner}
    np.testing.assert_array_equal(left_out, expected)
    assert left_out.sum() == 3
    # They are in no row's denominator: the loss does not depend on how close they are.
    similarity = torch.zeros(3, 6)
    closer = torch.where(torch.from_numpy(left_out), 0.9, 0.0)
    losses = [
        contrastive_loss(values, 0.05, torch.from_numpy(left_out))
        for values in (similarity, closer)
    ]
    assert losses[0] == losses[1] < contrastive_loss(similarity, 0.05)
    assert "but for the partners of rows that share a text" in " ".join(
        (RCMDRegressor.__doc__ or "").split()
    )

"""Ctrl-C within a fit that is part of another ends both, and no cache takes it as finished."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from estimators import (
    FILM,
    DuplicateClassifier,
    MiniBatchFILM,
    PairwiseKNNClassifier,
    RCMDRegressor,
    TokenWeights,
)
from estimators.inputs import finished_fits_only, keeps_unfinished
from estimators.metric import film as _film
from estimators.metric import minibatch_film as _minibatch_film
from film.datasets import make_question_pairs
from tests.estimators.tiny_model import PAIRS, SCORES

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
DATA = make_question_pairs(60, random_state=0)
SPACE = make_pipeline(TfidfVectorizer(), FILM(d=4, rank=12, max_iter=3, tol=0, random_state=0))


class Fuse:
    """Does what a function or method does, but for one call, in which Ctrl-C comes."""

    def __init__(self, patch, owner, name, at):
        self.honest, self.n_calls, self.at = getattr(owner, name), 0, at
        patch.setattr(owner, name, lambda *args, **rest: self(*args, **rest))

    def __call__(self, *args, **rest):
        self.n_calls += 1
        if self.n_calls == self.at:
            raise KeyboardInterrupt
        return self.honest(*args, **rest)


class FuseInRounds(Fuse):
    """Lets Ctrl-C come in FILM's second round of one call of its solver."""

    def __call__(self, *args, **rest):
        self.n_calls += 1
        if self.n_calls == self.at:
            rounds = []

            def progress(text):
                rounds.append(text)
                if len(rounds) == 2:
                    raise KeyboardInterrupt

            rest["progress"] = progress
        return self.honest(*args, **rest)


@pytest.mark.parametrize(
    "make",
    [
        lambda memory: DuplicateClassifier([("film", SPACE)], features=None, cv=3, memory=memory),
        lambda memory: PairwiseKNNClassifier(SPACE, 3, cv=3, memory=memory),
    ],
    ids=["DuplicateClassifier", "PairwiseKNNClassifier"],
)
def test_a_member_cut_short_is_not_cached_and_the_fit_goes_on_from_the_last_whole_one(
    make, tmp_path, monkeypatch
):
    whole = make(None).fit(DATA.pairs, DATA.y)
    with pytest.MonkeyPatch.context() as patch:
        fuse = FuseInRounds(patch, _film, "solve", at=2)
        with pytest.raises(KeyboardInterrupt):
            make(str(tmp_path)).fit(DATA.pairs, DATA.y)
        assert fuse.n_calls == 2
    counted = Fuse(monkeypatch, _film, "solve", at=None)
    again = make(str(tmp_path)).fit(DATA.pairs, DATA.y)
    n_again = counted.n_calls
    counted.n_calls = 0
    make(None).fit(DATA.pairs, DATA.y)
    assert n_again == counted.n_calls - 1
    np.testing.assert_array_equal(again.predict_proba(DATA.pairs), whole.predict_proba(DATA.pairs))


def test_film_is_not_kept_half_learned_where_it_is_a_part(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 4
    for model, fuse in [
        (FILM(random_state=0), lambda: FuseInRounds(monkeypatch, _film, "solve", at=1)),
        (
            MiniBatchFILM(random_state=0, batch_size=5),
            lambda: Fuse(monkeypatch, _minibatch_film, "batch_step", at=3),
        ),
    ]:
        model.fit(X, y)
        before = model.components_
        fuse()
        with finished_fits_only(), pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert model.components_ is before
        monkeypatch.undo()
        fuse()
        assert "interrupted" in model.fit(X, y).convergence_reason_


def test_networks_and_weights_are_not_kept_half_learned_where_they_are_parts(
    tiny_model, monkeypatch
):
    from estimators.encoders.transformer import Transformer
    from estimators.training.loop import Training

    given = {"device": "cpu", "max_length": 32, "random_state": 0}
    network = RCMDRegressor(tiny_model, epochs=3, train_batch_size=2, **given)
    weights = TokenWeights(tiny_model, steps=4, **given)
    texts = [text for pair in PAIRS for text in pair]
    for model, data, owner, name, at in [
        (network, (PAIRS, SCORES), Training, "_take_step", 3),
        (weights, (texts,), Transformer, "forward", 5),
    ]:
        with pytest.MonkeyPatch.context() as patch:
            Fuse(patch, owner, name, at)
            with finished_fits_only(), pytest.raises(KeyboardInterrupt):
                model.fit(*data)
        assert not hasattr(model, "token_weights_")
        with pytest.MonkeyPatch.context() as patch:
            Fuse(patch, owner, name, at)
            model.fit(*data)
        assert 0 < len(model.loss_curve_) < 4
    assert keeps_unfinished()

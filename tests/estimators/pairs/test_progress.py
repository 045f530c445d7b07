"""Progress of a stack: bars that end at their totals, and members that show bars of their own."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from tqdm import tqdm

from estimators import FILM, CrossEncoderRegressor, DuplicateClassifier, PairTeacher, RCMDRegressor
from film.datasets import make_question_pairs

# Small problems are reduced and left unconverged, and tiny models know few words.
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
DATA = make_question_pairs(120, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object), np.asarray(DATA.y)


class Length(ClassifierMixin, BaseEstimator):
    """Pair classifier by the length of texts, of no package that shows progress."""

    def __init__(self, verbose=0):
        self.verbose = verbose

    def fit(self, pairs, y):
        assert self.verbose == 0
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, pairs):
        return np.array([float(len(one) - len(other)) for one, other in pairs])


@pytest.fixture
def bars(monkeypatch):
    """Every bar that is shown, with its texts, in the order of their beginnings."""
    shown = []

    class Recorded(tqdm):
        def __init__(self, *args, **params):
            super().__init__(*args, **params)
            self.texts = []
            if not self.disable:
                shown.append(self)

        def set_postfix_str(self, s="", refresh=True):
            self.texts.append(s)
            super().set_postfix_str(s, refresh)

    monkeypatch.setattr("tqdm.auto.tqdm", Recorded)
    return shown


def ended(bar):
    return bar.n == bar.total


@pytest.mark.parametrize(("cv", "n_refits"), [(2, 4), (3, 3)])
def test_bars_of_a_stack_end_at_their_totals_and_name_what_is_fitted(bars, cv, n_refits):
    film = make_pipeline(TfidfVectorizer(), FILM(8, rank=10, random_state=0))
    members = [("film", film), ("length", Length())]
    model = DuplicateClassifier(members, features=None, cv=cv, verbose=1).fit(PAIRS, Y)
    whole, *own = bars
    assert ended(whole) and whole.total == (3 + 1) * (cv + 1) + 5 and whole.leave
    assert whole.texts[2:5] == [f"film, fold 1 of {cv}"] * 2 + [f"film, fold 2 of {cv}"]
    assert [bar.desc for bar in own] == ["FILM"] * (cv + 1)
    assert not any(bar.leave for bar in own)
    assert dict(model.members_)["film"][-1].verbose == film[-1].verbose == 0
    bars.clear()
    model.out_of_fold_probabilities()
    nested, *own = bars
    assert nested.desc == "out of fold" and ended(nested) and nested.total == (3 + 1) * n_refits
    assert nested.texts[0] == f"film, nested fit 1 of {n_refits}" and len(own) == n_refits
    # Standing alone, a bar stays.
    bars.clear()
    texts, triplets = [" ".join(pair) for pair in PAIRS.tolist()], [(0, 1, 2), (3, 4, 5)]
    film.set_params(film__verbose=1).fit(texts, triplets)
    assert [bar.leave for bar in bars] == [True]


def test_a_member_that_trains_shows_its_steps_and_is_the_same(bars, tiny_model, tmp_path):
    pytest.importorskip("transformers", reason="needs the extra neural")
    rcmd = RCMDRegressor(
        str(tiny_model), objective="binary", epochs=0.5, train_batch_size=16,
        device="cpu", max_length=32, random_state=0,
    )  # fmt: skip
    members = [("length", Length()), ("rcmd", rcmd)]
    model = DuplicateClassifier(members, features=None, cv=4, member_cv={"rcmd": 2}, verbose=1)
    fitted = model.fit(PAIRS, Y)
    # Three trainings, each of which counts for thirty fits of the other.
    assert ended(bars[0]) and bars[0].total == 5 + 3 * 30 + 5
    trainings = [bar for bar in bars if bar.desc == "train"]
    assert len(trainings) == 3 and all(map(ended, trainings))
    assert dict(fitted.members_)["rcmd"].verbose == rcmd.verbose == 0
    out_of_fold = fitted.out_of_fold_
    kept = model.set_params(memory=str(tmp_path), verbose=0)
    bars.clear()
    assert np.array_equal(kept.fit(PAIRS, Y).out_of_fold_, out_of_fold) and not bars
    # What was fitted silently is not fitted again to show it.
    assert np.array_equal(kept.set_params(verbose=1).fit(PAIRS, Y).out_of_fold_, out_of_fold)
    assert [bar.desc for bar in bars] == ["DuplicateClassifier"] and ended(bars[0])


def test_a_teacher_shows_its_folds_and_what_it_teaches_with(bars, monkeypatch):
    asked = []

    def fit(self, pairs, y):
        asked.append(self.verbose)
        return self

    def predict(self, pairs):
        asked.append(self.verbose)
        return np.full(len(pairs), 0.5)

    monkeypatch.setattr(CrossEncoderRegressor, "fit", fit)
    monkeypatch.setattr(CrossEncoderRegressor, "predict", predict)
    estimator = CrossEncoderRegressor(objective="binary")
    PairTeacher(estimator, cv=3, random_state=0, verbose=1).fit(PAIRS, Y)
    (bar,) = bars
    assert bar.desc == "teacher" and ended(bar) and bar.total == 3
    assert asked == [1] * 6 and estimator.verbose == 0

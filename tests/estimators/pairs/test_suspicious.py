import numpy as np
import pytest

from estimators import fast_duplicates, suspicious_labels
from film.datasets import make_question_pairs

DATA = make_question_pairs(240, random_state=0)


class Known:
    """A classifier whose probabilities out of fold are given."""

    def __init__(self, p=None):
        self.p = p

    def get_params(self, deep=True):
        return {"p": self.p}

    def fit(self, pairs, y):
        self.y = y
        return self

    def out_of_fold_probabilities(self):
        return np.array(self.p)


def found(pairs, y, p):
    return suspicious_labels(pairs, y, classifier=Known(p))


def test_wrong_labels_come_first():
    y = np.array(DATA.y)
    wrong = np.arange(0, 240, 24)
    y[wrong] = 1 - y[wrong]
    ranked = suspicious_labels(DATA.pairs, y)
    assert set(ranked.rows[:3].tolist()) <= set(wrong.tolist())
    assert len(ranked) < 60
    assert (np.diff(ranked.suspicions) <= 0).all()
    assert ((ranked.suspicions > 0) & (ranked.suspicions <= 1)).all()


def test_of_contradictory_labels_the_most_doubtful_is_listed():
    pairs = [("a", "b"), ("B", "c"), ("a", "c"), ("x", "y"), ("z", "w")]
    ranked = found(pairs, [1, 1, 0, 1, 0], [0.9, 0.6, 0.1, 0.9, 0.1])
    assert ranked.rows.tolist() == [1]
    assert ranked.suspicions[0] == pytest.approx(0.4 / (1 - 0.9 * 0.6 * 0.9))
    assert ranked.probabilities.tolist() == [0.6]
    assert [sorted(chain) for chain in ranked.chains] == [[0, 2]]


def test_a_text_that_differs_from_its_copy_is_certainly_wrong():
    pairs = [("a", "A"), ("b", "c"), ("d", "e")]
    ranked = found(pairs, ["no", "yes", "no"], [0.9, 0.9, 0.1])
    assert (ranked.rows[0], ranked.suspicions[0], ranked.chains[0]) == (0, 1.0, [])


def test_what_the_model_contradicts_needs_confidence():
    pairs = [(f"a{i}", f"b{i}") for i in range(6)]
    ranked = found(pairs, [1, 1, 1, 0, 0, 0], [0.9, 0.8, 0.1, 0.2, 0.1, 0.55])
    assert ranked.rows.tolist() == [2] and ranked.suspicions.tolist() == [0.9]
    assert len(ranked) == 1


def test_labels_must_be_of_two_classes():
    with pytest.raises(ValueError, match="one class"):
        suspicious_labels(DATA.pairs, np.ones(240))


def test_the_given_classifier_is_not_fitted():
    classifier = fast_duplicates(rank=20, cv=2)
    assert len(suspicious_labels(DATA.pairs, DATA.y, classifier=classifier))
    assert not hasattr(classifier, "members_")

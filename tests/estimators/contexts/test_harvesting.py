"""Pairs of sentences over the whole range of similarity, and their scores."""

from itertools import combinations
from zlib import crc32

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from estimators.contexts import harvest
from film.datasets import make_question_pairs

SENTENCES = sorted({*make_question_pairs(400, random_state=0).pairs.ravel()})


class Cosine:
    """Scores pairs by the words that they share."""

    def similarity(self, pairs):
        words = [[{*text.lower().split()} for text in pair] for pair in np.asarray(pairs).tolist()]
        return np.array([len(a & b) / (len(a) * len(b)) ** 0.5 for a, b in words])


def run(n_pairs=700, model=None, **settings):
    return harvest(model or Cosine(), SENTENCES, n_pairs=n_pairs, **{"random_state": 3} | settings)


@pytest.fixture(scope="module")
def whole():
    return run()


def test_the_rows_are_different_pairs_with_their_scores(whole):
    pairs, scores, splits = whole
    assert pairs.shape == (700, 2) and set(splits) == {"train", "dev", "test"}
    assert len({frozenset(pair) for pair in pairs.tolist()}) == 700
    assert all(one != other for one, other in pairs.tolist())
    assert {*pairs.ravel()} <= set(SENTENCES)
    np.testing.assert_array_equal(scores, Cosine().similarity(pairs))


def test_no_sentence_is_in_two_splits(whole):
    pairs, _, splits = whole
    for one, other in combinations(("train", "dev", "test"), 2):
        assert not {*pairs[splits == one].ravel()} & {*pairs[splits == other].ravel()}


def test_a_hundredth_is_held_out_each():
    # Whole bunches of some 24 pairs are held out.
    splits = run(5000).splits.tolist()
    for split in ("dev", "test"):
        assert 50 <= splits.count(split) <= 75


def test_half_of_the_pairs_are_neighbours(whole):
    random = np.random.default_rng(0).choice(np.array(SENTENCES, dtype=object), (2000, 2))
    high = np.mean(whole.scores > np.quantile(Cosine().similarity(random), 0.9))
    assert 0.25 < high < 0.55


class Asked(Cosine):
    """Stops in the third chunk."""

    n_asked = 0

    def __getstate__(self):
        return {}

    def similarity(self, pairs):
        Asked.n_asked += 1
        if Asked.n_asked == 3:
            raise KeyboardInterrupt
        return super().similarity(pairs)


def test_an_interrupted_harvest_continues_and_one_in_parts_is_the_same(whole, tmp_path):
    kept = {"model": Asked(), "memory": tmp_path / "kept"}
    with pytest.raises(KeyboardInterrupt):
        run(**kept)
    for n in (100, 300, 700):
        found = run(n, **kept)
        for part, every in zip(found, whole, strict=True):
            assert part.tolist() == every[:n].tolist()
    assert Asked.n_asked == 4
    assert run(random_state=4).pairs.tolist() != whole.pairs.tolist()


def test_scores_of_a_model_of_contexts_find_neighbours_too():
    class Contexts(BaseEstimator):
        weights = (1, 1, 1, 1)

        def __init__(self, weights=weights):
            self.weights = weights

        def transform(self, texts):
            assert self.weights == (1, 0, 0, 0)
            # All negative, as log-probabilities are; what differs is random.
            return -100 + np.array(
                [np.random.default_rng(crc32(t.encode())).normal(size=8) for t in texts]
            )

    model = Cosine()
    model.context_model_ = Contexts()
    own, words = (run(288, model=each).scores.mean() for each in (model, Cosine()))
    assert model.context_model_.weights == (1, 1, 1, 1)
    # Neighbours of random vectors share few words.
    assert own < words - 0.01


@pytest.mark.parametrize("n", [4, 5, 23, 24, 60])
def test_few_sentences_give_all_their_pairs(n):
    with pytest.warns(UserWarning, match=f"the {n} sentences gave"):
        found = harvest(Cosine(), SENTENCES[:n], n_pairs=10_000, random_state=0)
    splits = found.splits.tolist()
    assert set(splits) == ({"train"} if n < 24 else {"train", "dev", "test"})
    n_train = n - 2 * 4 * (n // 24)
    most = n_train * (n_train - 1) // 2
    assert 0.8 * most <= splits.count("train") <= most


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": object()}, TypeError, "model=.* must be a fitted ContextRegressor"),
        ({"model": Cosine}, TypeError, "model=.* must be a fitted ContextRegressor"),
        ({"sentences": "text"}, TypeError, "sentences is one string"),
        ({"sentences": ["a", None]}, TypeError, r"sentences\[1\] = None"),
        ({"sentences": ["a", "A!", "?", "b", "c"]}, ValueError, "only 3 of 5 sentences"),
        ({"n_pairs": 0}, ValueError, "n_pairs=0"),
        ({"memory": 5}, ValueError, "memory"),
        ({"random_state": "x"}, ValueError, "random_state='x'"),
        ({"verbose": -1}, ValueError, "verbose=-1"),
    ],
)
def test_wrong_arguments_raise_before_any_work(changes, error, message):
    given = {"model": Cosine(), "sentences": SENTENCES, "n_pairs": 10} | changes
    with pytest.raises(error, match=message):
        harvest(given.pop("model"), given.pop("sentences"), **given)


def test_scores_that_are_not_finite_are_refused():
    class Wrong(Cosine):
        def similarity(self, pairs):
            return np.full(len(pairs), np.nan)

    with pytest.raises(ValueError, match="not finite"):
        run(model=Wrong())

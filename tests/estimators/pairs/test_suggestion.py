import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler

from estimators.inputs import TextIndex
from estimators.pairs import suggestion
from estimators.pairs.lexical import LexicalFeatures
from estimators.pairs.suggestion import suggest_pairs
from film.datasets import make_question_pairs


@pytest.fixture(scope="module")
def data():
    return make_question_pairs(300, random_state=0)


@pytest.fixture(scope="module")
def first(data):
    return suggest_pairs(data.pairs, 40)


def questions(pairs):
    return np.sort(TextIndex().add_pairs(np.asarray(pairs, dtype=object)), axis=1)


def standard_features(pairs):
    return StandardScaler().fit_transform(LexicalFeatures().fit(pairs).transform(pairs))


def slow_selection(X, n, weights, known, n_free, members):
    """The same choice, from the whole kernel and every mean anew."""
    X = np.clip(X, -suggestion.LARGEST, suggestion.LARGEST)
    distances = cdist(X, X)
    above = distances[np.triu_indices(len(X), 1)]
    K = np.exp(-distances / (suggestion.BANDWIDTH * np.median(above[above > 0])))
    target, chosen = K @ (weights / weights.sum()), []
    for _ in range(n):
        left = [row for row in range(n_free) if row not in chosen]
        used = {part for row in chosen for part in members[row]}
        left = [row for row in left if not used & set(members[row])] or left
        there = [*known, *chosen]
        gain = target - sum((K[row] for row in there), np.zeros(len(X))) / (len(there) + 1)
        chosen.append(max(left, key=gain.__getitem__))
    return chosen


@pytest.mark.parametrize("block", [7, 512])
def test_choices_are_those_of_the_whole_kernel(data, first, monkeypatch, block):
    monkeypatch.setattr(suggestion, "_BLOCK", block)
    codes, rest = questions(data.pairs), np.setdiff1d(np.arange(300), first)
    assert len(np.unique(codes, axis=0)) == len(codes)
    X = standard_features(data.pairs)
    none = np.array([], dtype=int)
    assert first.tolist() == slow_selection(X, 40, np.ones(300), none, 300, codes)
    rows = np.concatenate([rest, first])
    more = suggest_pairs(data.pairs, 150, labelled=first)
    X = standard_features(data.pairs[rows])
    known = np.arange(260, 300)
    assert (
        more.tolist()
        == rows[slow_selection(X, 150, np.ones(300), known, 260, codes[rows])].tolist()
    )


def test_no_two_pairs_share_a_question_while_others_are_left(data, first):
    codes = questions(data.pairs[first])
    counts = np.bincount(codes.ravel())
    assert counts.max() == 1


def test_answers_change_no_choice(data, first):
    """Whatever depended on answers could bias what is learned from them."""
    more = suggest_pairs(data.pairs, 30, labelled=first, y=data.y[first])
    assert len(more) == 30 and not set(more) & set(first)
    turned = np.random.default_rng(0).permutation(data.y[first])
    for y in (turned, np.ones(40), None):
        assert suggest_pairs(data.pairs, 30, labelled=first, y=y).tolist() == more.tolist()
    assert suggest_pairs(data.pairs, 70).tolist() != [*first, *more]


def test_suggested_pairs_stand_for_the_pool():
    """Their features' means are nearer to the pool's than those of 19 in 20 random draws."""
    pool = make_question_pairs(2000, random_state=0)
    pairs = pool.pairs[:400]
    Z = np.clip(standard_features(pairs), -suggestion.LARGEST, suggestion.LARGEST)

    def error(rows):
        return np.linalg.norm(Z[rows].mean(axis=0) - Z.mean(axis=0))

    rng, rows = np.random.default_rng(0), np.empty(0, dtype=int)
    for n in (50, 10, 40):
        rows = np.append(rows, suggest_pairs(pairs, n, labelled=rows, y=pool.y[rows]))
    for n in (50, 100):
        random = [error(rng.permutation(400)[:n]) for _ in range(200)]
        assert error(rows[:n]) < np.quantile(random, 0.05)


def test_one_batch_is_several(data, first):
    """What is asked for in parts is what is asked for at once, up to shared questions."""
    codes = questions(data.pairs)
    at_once = suggest_pairs(data.pairs, 20)
    rows = at_once[:0]
    for _ in range(4):
        rows = np.append(rows, suggest_pairs(data.pairs, 5, labelled=rows))
    apart = len(np.unique(codes[rows])) == 2 * len(rows)
    assert not apart or rows.tolist() == at_once.tolist()
    assert rows[:5].tolist() == at_once[:5].tolist()


def test_pairs_labelled_for_another_reason_are_made_up_for(data):
    X = LexicalFeatures().fit(data.pairs).transform(data.pairs)
    alike = np.argsort(X[:, 0])[-40:]
    more = suggest_pairs(data.pairs, 40, labelled=alike)
    plain = suggest_pairs(data.pairs, 40)
    assert X[more, 0].mean() < X[plain, 0].mean() < X[alike, 0].mean()


def test_the_same_pair_in_other_order_or_spelling_is_no_other_pair(data):
    pairs = data.pairs[:60]
    shouted = np.vectorize(str.upper, otypes=[object])(pairs[:, ::-1])
    both = np.vstack([pairs, shouted])
    rows = suggest_pairs(both, 120)
    assert len(rows) == 60 and len(np.unique(rows % 60)) == 60
    more = suggest_pairs(both, 120, labelled=[3, 64, 5])
    assert set(range(60)) - {3, 4, 5} == set((more % 60).tolist())


def test_skipped_pairs_are_not_asked_again_and_stand_for_nothing(data, first):
    answers = data.y[first].astype(object)
    answers[::2] = None
    found = suggest_pairs(data.pairs, 20, labelled=first, y=answers)
    as_nan = np.where([a is None for a in answers], np.nan, data.y[first].astype(float))
    assert found.tolist() == suggest_pairs(data.pairs, 20, labelled=first, y=as_nan).tolist()
    assert not set(found) & set(first)
    assert found.tolist() != suggest_pairs(data.pairs, 20, labelled=first).tolist()
    words = np.where(data.y[first] == 1, "same", "other")
    all_given = suggest_pairs(data.pairs, 20, labelled=first, y=words)
    assert all_given.tolist() == suggest_pairs(data.pairs, 20, labelled=first).tolist()


def test_a_large_pool_is_drawn_from_by_the_seed(data, first, monkeypatch):
    monkeypatch.setattr(suggestion, "CANDIDATES", 50)
    once = suggest_pairs(data.pairs, 10, random_state=1)
    assert once.tolist() == suggest_pairs(data.pairs, 10, random_state=1).tolist()
    assert once.tolist() != suggest_pairs(data.pairs, 10, random_state=2).tolist()
    assert len(suggest_pairs(data.pairs, 300)) == 50
    more = suggest_pairs(data.pairs, 300, labelled=first, y=data.y[first])
    assert not set(more) & set(first)


def test_what_is_left_is_given_and_then_nothing(data):
    everything = np.arange(40)
    few = suggest_pairs(data.pairs[:40], 10, labelled=everything[:-3], y=data.y[:37])
    assert sorted(few.tolist()) == [37, 38, 39]
    none = suggest_pairs(data.pairs[:40], 10, labelled=everything, y=data.y[:40])
    assert none.shape == (0,) and none.dtype.kind == "i"


def test_frames_lists_and_empty_labels_will_do(data, first):
    frame = pd.DataFrame(data.pairs)
    assert suggest_pairs(frame, 40, labelled=[], y=[]).tolist() == first.tolist()
    listed = [tuple(pair) for pair in data.pairs]
    labelled, y = first.tolist(), data.y[first].tolist()
    expected = suggest_pairs(data.pairs, 5, labelled=first, y=data.y[first])
    assert suggest_pairs(listed, 5, labelled=labelled, y=y).tolist() == expected.tolist()


def test_two_answers_are_enough_to_go_on(data):
    rows = [int(np.flatnonzero(data.y == 0)[0]), int(np.flatnonzero(data.y == 1)[0])]
    assert len(suggest_pairs(data.pairs, 5, labelled=rows, y=[0, 1])) == 5


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n": 0}, ValueError, "n=0 must be 1 or more"),
        ({"n": 2.0}, TypeError, "n=2.0 must be an integer"),
        ({"random_state": -1}, ValueError, "random_state=-1"),
        ({"labelled": [0, 300]}, ValueError, r"\[1\] is 300, but labelled must lie .* 0 and 299"),
        ({"labelled": [-1]}, ValueError, r"labelled\[0\] is -1"),
        ({"labelled": [True, False]}, TypeError, "flatnonzero"),
        ({"labelled": [[0]]}, ValueError, "labelled must have shape"),
        ({"labelled": [0, 1], "y": [1]}, ValueError, "but 2 rows are labelled"),
        ({"y": [1]}, ValueError, "but 0 rows are labelled"),
        ({"labelled": [0, 1, 2], "y": [0, 1, 2]}, ValueError, "y holds 3 classes"),
        ({"pairs": [("a", None)]}, ValueError, "pairs row 0, column 1 is missing"),
        ({"pairs": [("?", "!")]}, ValueError, "no word at all"),
    ],
)
def test_bad_input_is_named(data, arguments, error, message):
    given = {"pairs": data.pairs, "n": 3} | arguments
    with pytest.raises(error, match=message):
        suggest_pairs(given.pop("pairs"), given.pop("n"), **given)

"""The made question pairs are consistent, hard for word overlap, and learnable."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from film.datasets import make_question_pairs
from film.datasets.generator import lexicon, meanings, wording
from film.datasets.generator.lexicon import TOPICS, Topic
from film.text import normalize_text


def graph(data):
    """Return unique normalised texts, the pairs as indices, both kinds of components."""
    texts = np.array([normalize_text(text) for text in data.pairs.ravel()])
    unique, edges = np.unique(texts, return_inverse=True)
    edges = edges.reshape(-1, 2)

    def components(some):
        size = (len(unique), len(unique))
        links = sp.coo_array((np.ones(len(some)), (some[:, 0], some[:, 1])), shape=size)
        return connected_components(links, directed=False)[1]

    return unique, edges, components(edges), components(edges[data.y == 1])


def labels(data):
    assert data.y is not None
    return data.y


@pytest.fixture(scope="module")
def data():
    return make_question_pairs(6000, random_state=0)


def test_size_share_and_types(data):
    assert data.pairs.shape == (6000, 2) and data.pairs.dtype == object
    assert all(type(text) is str and text.strip() for text in data.pairs.ravel())
    assert data.y is not None and data.y.sum() == 2220 and set(data.y.tolist()) == {0, 1}
    assert data.ids.tolist() == [str(i) for i in range(6000)]


@pytest.mark.parametrize("n_samples", [1, 2, 3, 7, 100, 1001])
def test_number_of_pairs_is_exact(n_samples):
    made = make_question_pairs(n_samples, random_state=3)
    assert len(made) == n_samples
    assert made.y is not None and made.y.sum() == round(0.37 * n_samples)


def test_same_seed_same_pairs():
    one, two, other = (make_question_pairs(300, random_state=seed) for seed in (5, 5, 6))
    assert one.pairs.tolist() == two.pairs.tolist() and labels(one).tolist() == labels(two).tolist()
    assert one.pairs.tolist() != other.pairs.tolist()
    made = make_question_pairs(300, random_state=np.random.default_rng(5))
    assert made.pairs.tolist() == one.pairs.tolist()
    legacy = [
        make_question_pairs(50, random_state=np.random.RandomState(5)).pairs.tolist()
        for _ in range(2)
    ]
    assert legacy[0] == legacy[1]


def test_no_question_is_paired_with_itself_and_no_pair_comes_twice(data):
    _, edges, _, _ = graph(data)
    assert np.all(edges[:, 0] != edges[:, 1])
    assert len(np.unique(np.sort(edges, axis=1), axis=0)) == len(edges)


@pytest.mark.parametrize("seed", range(3))
def test_labels_agree_with_the_closure_of_the_duplicates(seed):
    data = make_question_pairs(3000, random_state=seed)
    _, edges, _, cluster = graph(data)
    same = cluster[edges[:, 0]] == cluster[edges[:, 1]]
    np.testing.assert_array_equal(same, data.y == 1)


def test_labels_stay_consistent_where_meanings_are_few_and_wordings_shared(monkeypatch):
    things = (("tea", "a brew"), ("beer", "a brew"), ("coffee", "tea"))
    crowded = {
        "drinks": Topic(("buy", "sell"), ("cheap", "old"), ("friends", "sugar"), True, things)
    }
    for module in (meanings, wording):
        monkeypatch.setattr(module, "TOPICS", crowded)
        monkeypatch.setattr(module, "PLACES", {"Rome": ("Rome",), "Oslo": ("Oslo",)})
        monkeypatch.setattr(module, "UNITS", {"days": (("in {} days",), (2, 3))})
        monkeypatch.setattr(module, "AUDIENCES", {"alone": ("alone",), "at night": ("at night",)})
    monkeypatch.setattr(meanings, "INTENTS", {"how": (), "why": ()})
    monkeypatch.setattr(wording, "VERBS", {"buy": ("buy",), "sell": ("sell",)})
    monkeypatch.setattr(wording, "QUALITIES", {"cheap": ("cheap",), "old": ("old",)})
    monkeypatch.setattr(wording, "INTENTS", {"how": ("How to {act}?",), "why": ("Why {act}?",)})
    monkeypatch.setattr(wording, "SWITCHES", ("From {old} to {new} {rest}?",))
    for seed in range(20):
        data = make_question_pairs(150, random_state=seed)
        _, edges, component, cluster = graph(data)
        same = cluster[edges[:, 0]] == cluster[edges[:, 1]]
        np.testing.assert_array_equal(same, data.y == 1)
        assert np.all(edges[:, 0] != edges[:, 1])
        # A family: up to 3 + 2 links of its first meaning, and 3 for each of 3 others.
        assert np.bincount(component[edges[:, 0]]).max() <= 14


def test_questions_are_many_and_used_again_in_small_families(data):
    unique, edges, component, cluster = graph(data)
    assert 4000 < len(unique) < 9000
    assert np.bincount(component[edges[:, 0]]).max() < 0.05 * len(edges)
    assert np.bincount(component[edges[:, 0]]).max() <= 14
    sizes = np.bincount(cluster)
    assert np.sum(sizes > 2) > 200


def test_the_order_within_a_pair_and_among_pairs_says_nothing(data):
    half = labels(data)[:3000].mean() - labels(data)[3000:].mean()
    longer = np.array([len(first) > len(second) for first, second in data.pairs])
    # Four standard errors of a difference of two shares, and of a share.
    assert abs(half) < 4 * np.sqrt(0.37 * 0.63 * 2 / 3000)
    assert abs(longer.mean() - 0.5) < 0.05


def test_word_overlap_is_weak(data):
    unique, edges, _, _ = graph(data)
    words = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b").fit_transform(unique)
    overlap = words[edges[:, 0]].multiply(words[edges[:, 1]]).sum(axis=1)
    assert 0.68 < roc_auc_score(data.y, np.ravel(overlap)) < 0.82


def test_negatives_hold_near_misses_and_unrelated_pairs(data):
    shared = np.array(
        [
            len(a & b) / len(a | b)
            for a, b in (
                (set(normalize_text(first).split()), set(normalize_text(second).split()))
                for first, second in data.pairs[data.y == 0]
            )
        ]
    )
    assert np.mean(shared > 0.6) > 0.1
    assert np.mean(shared < 0.2) > 0.1


def test_some_near_misses_only_change_a_number_a_place_or_a_negation(data):
    negatives = {
        frozenset(set(normalize_text(first).split()) ^ set(normalize_text(second).split()))
        for first, second in data.pairs[data.y == 0]
    }
    assert any(len(odd) == 2 and all(word.isdigit() for word in odd) for odd in negatives)
    places = {place.lower() for place in lexicon.PLACES}
    assert any(len(odd) == 2 and odd <= places for odd in negatives)
    assert frozenset(("with", "without")) in negatives
    assert frozenset() in negatives, "roles swapped: the same words, another meaning"


@pytest.mark.parametrize("n_samples", [0, -1, 2.5, "10", None, True])
def test_wrong_numbers_of_pairs(n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1, got"):
        make_question_pairs(n_samples)


@pytest.mark.parametrize("seed", [-1, "seed", 0.5])
def test_wrong_seeds(seed):
    with pytest.raises(ValueError, match="random_state must be"):
        make_question_pairs(10, random_state=seed)


def test_no_wording_stands_for_two_meanings():
    tables = {
        "verbs": lexicon.VERBS.values(),
        "qualities": lexicon.QUALITIES.values(),
        "places": lexicon.PLACES.values(),
        "audiences": lexicon.AUDIENCES.values(),
        "aids": lexicon.AIDS.values(),
        **{name: topic.things for name, topic in TOPICS.items()},
    }
    for name, rows in tables.items():
        wordings = [words for row in rows for words in row]
        assert len(wordings) == len(set(wordings)), name
    assert all(
        number in lexicon.NUMBER_WORDS for _, values in lexicon.UNITS.values() for number in values
    )

"""Duplicates of a corpus: candidates, scores, groups, growth, interruption, odd texts."""

import itertools
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from estimators import load_model, save_model
from estimators.corpus import corpus_index as _corpus_index
from estimators.corpus import finder_inputs as _finder_inputs
from estimators.corpus import growth as _growth
from estimators.corpus import neighbour_table as _neighbour_table
from estimators.corpus import pair_probabilities as _pair_probabilities
from estimators.corpus import text_space as _text_space
from estimators.corpus.duplicate_finder import DuplicateFinder
from film.compare import WordRarity, comparable_tokens, pair_features
from film.corpus import component_pairs as _parts
from film.corpus.clusters import cut, link_scores
from film.judge import general_features, general_weights, neighbour_features, pair_kinds
from film.pairs.priors import estimate_prior, shift_prior
from film.text import copy_key, normalize_text

WORDS = "tea milk sugar cup spoon table chair door window lamp book pen river stone tree".split()


def _corpus(n=120, seed=0):
    """Sentences of few words, so that many are alike; some repeat in another spelling."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(2, 6))) for _ in range(n)]
    for row in rng.choice(n, n // 5, replace=False):
        texts[row] = " " + texts[rng.integers(n)].upper()
    return texts


def _length_embedder(texts):
    """Count of each word: dense vectors that need no fitting."""
    return np.array([[text.lower().count(word) for word in WORDS] for text in texts], dtype=float)


def _placed_embedder(texts):
    """Sum of each word's vector by its place: no two texts are equally near a third."""
    known = np.random.default_rng(5).standard_normal((len(WORDS), 12))
    rows = np.zeros((len(texts), 12))
    for row, text in zip(rows, texts, strict=True):
        for place, word in enumerate(normalize_text(text).split()):
            row += (1 + place / 7) * known[WORDS.index(word)]
    return rows


PLANE = np.random.default_rng(0).standard_normal((3000, 24))
PLANE[1500:] = PLANE[:1500] + 0.1 * PLANE[1500:]


def _numbered_embedder(texts):
    """Rows of a table of 1500 points and their near-duplicates."""
    return PLANE[[int(text.split()[1]) for text in texts]]


_trigrams = (
    TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True).fit(WORDS).transform
)


class Overlap:
    """Probability by the share of common words; counts what it is asked."""

    classes_ = np.array([0, 1])
    prior_ = 0.4

    def __init__(self, fail_at=None):
        self.fail_at = fail_at
        self.asked = []

    def predict_proba(self, pairs):
        assert pairs.dtype == object
        if self.fail_at is not None and len(self.asked) == self.fail_at:
            self.fail_at = None
            raise KeyboardInterrupt
        self.asked.append([tuple(pair) for pair in pairs.tolist()])
        shared = []
        for a, b in pairs:
            a, b = (set(normalize_text(text).split()) for text in (a, b))
            shared.append(len(a & b) / len(a | b))
        p = 0.05 + 0.9 * np.array(shared)
        return np.column_stack([1 - p, p])


def _brute_pairs(unique, points, k):
    """Pairs of rows of which one is among the k nearest others, up to ties."""
    cosines = points @ points.T
    np.fill_diagonal(cosines, -np.inf)
    kth = np.sort(cosines, axis=1)[:, -k]
    sure = cosines > kth[:, None] + 1e-5
    possible = cosines >= kth[:, None] - 1e-5
    return sure | sure.T, possible | possible.T


def _unique(texts):
    first = {}
    for row, text in enumerate(texts):
        if copy_key(text):
            first.setdefault(copy_key(text), row)
    return first


def _unit(vectors):
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def _same(one, other):
    np.testing.assert_array_equal(one.pairs, other.pairs)
    np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(one.kind, other.kind)


@pytest.mark.parametrize("k", [1, 4])
def test_candidates_are_the_nearest_by_a_loop(k):
    texts = _corpus()
    first = _unique(texts)
    points = _unit(_length_embedder([texts[row] for row in first.values()]))
    found = DuplicateFinder(embedder=_length_embedder, n_neighbors=k).fit(texts).find(threshold=0)
    rows = list(first.values())
    position = {row: i for i, row in enumerate(rows)}
    similar = found.kind != "copy"
    pairs = np.array([[position[a], position[b]] for a, b in found.pairs[similar]])
    sure, possible = _brute_pairs(rows, points, k)
    given = np.zeros_like(sure)
    given[pairs[:, 0], pairs[:, 1]] = given[pairs[:, 1], pairs[:, 0]] = True
    assert not (sure & ~given).any()
    assert not (given & ~possible).any()
    cosines = np.clip((points @ points.T)[pairs[:, 0], pairs[:, 1]], 0, 0.999)
    np.testing.assert_allclose(found.scores[similar], cosines, atol=1e-6)


def test_terms_do_not_depend_on_blocks_of_texts_or_the_size_of_the_alphabet(monkeypatch):
    texts = ["tea, tea and café", "a cup of tea", "", "お茶を飲む", "tea cup"] * 3
    known, new = (_text_space.TextSpace(None) for _ in range(2))
    expected = known.fit_transform(texts, [])
    monkeypatch.setattr(_text_space, "BLOCK_TEXTS", 2)
    monkeypatch.setattr(_text_space, "MOST_CODES", 0)
    np.testing.assert_array_equal(new.fit_transform(texts, []).toarray(), expected.toarray())
    np.testing.assert_array_equal(new.transform(texts).toarray(), expected.toarray())


def test_default_score_is_the_general_formula_of_text_cosine_and_neighbours():
    texts = [*_corpus(60), "tea c", "tea b door", "c"]
    rows = list(_unique(texts).values())
    unique = [texts[row] for row in rows]
    form = {"sublinear_tf": True}
    words = TfidfVectorizer(token_pattern=r"\S+", **form)
    words = words.fit_transform(map(normalize_text, unique))
    trigrams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), **form)
    trigrams = trigrams.fit_transform(map(normalize_text, unique))
    mean = ((words @ words.T + trigrams @ trigrams.T) / 2).toarray()
    # With all pairs as candidates, neighbours are known without the search.
    found = DuplicateFinder(n_neighbors=len(texts)).fit(texts).find(threshold=0)
    similar = found.kind != "copy"
    position = {row: i for i, row in enumerate(rows)}
    pairs = np.array([[position[a], position[b]] for a, b in found.pairs[similar]])
    cosines = np.minimum(mean[pairs[:, 0], pairs[:, 1]], 0.999)
    rarity = WordRarity(map(comparable_tokens, unique))
    alone = pair_features(*([unique[i] for i in side] for side in pairs.T.tolist()), rarity)
    near = neighbour_features(pairs, cosines, pairs, cosines)
    odds = general_weights().log_odds(general_features(alone, cosines, near, rarity.number_share))
    expected = np.where((cosines > 0) | (alone[:, 0] > 0), 1 / (1 + np.exp(-odds)), 0)
    np.testing.assert_allclose(found.scores[similar], expected, atol=1e-5)
    assert found.kind[similar].tolist() == pair_kinds(alone).tolist()


def test_copies_are_found_whatever_n_neighbors():
    texts = ["tea cup", "Tea  CUP", "milk", "\ttea cup", "sugar", "MILK"]
    found = DuplicateFinder(n_neighbors=1).fit(texts, ids=list("abcdef")).find(threshold=1)
    assert found.pairs.tolist() == [[0, 1], [0, 3], [2, 5]]
    assert found.ids.tolist() == [["a", "b"], ["a", "d"], ["c", "f"]]
    assert found.texts.tolist() == [
        ["tea cup", "Tea  CUP"],
        ["tea cup", "\ttea cup"],
        ["milk", "MILK"],
    ]
    assert found.kind.tolist() == ["copy"] * 3
    assert found.scores.tolist() == [1.0] * 3


def test_the_same_words_in_another_order_are_no_copy():
    texts = ["from tea to milk", "from milk to tea", "stone", "Stone"]
    found = DuplicateFinder().fit(texts).find(threshold=0.1)
    assert found.pairs.tolist() == [[2, 3], [0, 1]]
    assert found.kind.tolist() == ["copy", "differs in order"]
    assert found.scores[1] < 0.9 < found.scores[0] == 1


def _constant_embedder(texts):
    return np.ones((len(texts), 1))


def test_of_equal_scores_copies_come_first_and_then_lower_rows():
    texts = ["tea", "milk", "Milk", "Tea", "pen"]
    finder = DuplicateFinder(embedder=_constant_embedder).fit(texts)
    found = finder.find(threshold=0.999)
    assert found.pairs.tolist() == [[0, 3], [1, 2], [0, 1], [0, 4], [1, 4]]
    assert found.kind.tolist() == ["copy"] * 2 + ["indistinct"] * 3
    assert found.scores.tolist() == [1] * 2 + [0.999] * 3
    assert finder.query("MILK", k=3).members.tolist() == [1, 2, 0]


def test_scores_fall_and_a_threshold_or_budget_takes_the_best():
    finder = DuplicateFinder(None, _trigrams, 4).fit(_corpus())
    # All pairs there are, whatever the candidates.
    every = DuplicateFinder(None, _trigrams, 200).fit(_corpus()).find(threshold=0)
    assert np.all(np.diff(every.scores) <= 0)
    assert np.all(every.pairs[:, 0] < every.pairs[:, 1])
    assert len(np.unique(every.pairs, axis=0)) == len(every)
    assert len(finder.find(threshold=0)) < len(every) / 2
    for n in (1, 40, 10**6):
        some = finder.find(budget=n)
        np.testing.assert_array_equal(some.pairs, every.pairs[:n])
    limit = float(every.scores[len(every) // 2])
    np.testing.assert_array_equal(
        finder.find(threshold=limit).pairs, every.pairs[every.scores >= limit]
    )


def test_what_a_similarity_is_called():
    finder = DuplicateFinder().fit(_corpus())
    for result in (finder.find(budget=3), finder.groups(), finder.query("tea")):
        assert result.score_name == "score"
    assert DuplicateFinder(None, _trigrams).fit(_corpus()).find(budget=3).score_name == "similarity"
    found = finder.find(budget=3)
    assert (found.index, found.recall, found.prior) == ("exact", 1.0, None)


def test_tables():
    pandas = pytest.importorskip("pandas")
    finder = DuplicateFinder().fit(["tea cup", "Tea cup", "stone"], ids=["x", "y", "z"])
    found, groups, matches = finder.find(budget=5), finder.groups(), finder.query("stone", k=1)
    assert found.rows()[0] == {
        "id1": "x",
        "id2": "y",
        "score": 1.0,
        "kind": "copy",
        "text1": "tea cup",
        "text2": "Tea cup",
    }
    assert [row["id"] for row in groups.rows()] == ["x", "y"]
    assert groups.rows()[1]["row"] == 1
    assert matches.rows() == [{"row": 2, "id": "z", "score": 1.0, "kind": "copy", "text": "stone"}]
    for result in (found, groups, matches):
        frame = result.to_frame()
        assert isinstance(frame, pandas.DataFrame)
        assert frame.to_dict("records") == result.rows()


@pytest.mark.parametrize("block", [1, 7, 4096])
def test_blocks_change_nothing(block, monkeypatch):
    # A product of one row is rounded otherwise than one of many, which decides between equally near
    # texts; in this embedder there are none.
    texts = _corpus()
    expected = DuplicateFinder(Overlap(), _placed_embedder, 3).fit(texts).find(threshold=0)
    monkeypatch.setattr(_neighbour_table, "BLOCK_ROWS", block)
    monkeypatch.setattr(_pair_probabilities, "BLOCK_PAIRS", block)
    monkeypatch.setattr(_corpus_index, "BLOCK_PAIRS", block)
    _same(DuplicateFinder(Overlap(), _placed_embedder, 3).fit(texts).find(threshold=0), expected)
    plain = DuplicateFinder(None, _placed_embedder, 3).fit(texts).find(threshold=0)
    monkeypatch.undo()
    _same(DuplicateFinder(None, _placed_embedder, 3).fit(texts).find(threshold=0), plain)


def test_texts_are_embedded_as_they_are_first_spelt():
    seen = []

    def embedder(texts):
        seen.extend(texts)
        return _length_embedder(texts)

    finder = DuplicateFinder(Overlap(), embedder=embedder).fit(["Tea, CUP?", "tea, cup?", "Milk!"])
    finder.add(["River & tea", "MILK!"])
    assert set(seen) == {"Tea, CUP?", "Milk!", "River & tea"}
    finder.find(threshold=0)
    assert ("Tea, CUP?", "River & tea") in finder.classifier.asked[0]


# Groups


@pytest.mark.parametrize("linkage", ["average", "complete"])
@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_groups_are_the_clustering_of_the_scored_pairs(linkage, threshold):
    texts = _corpus()
    vectors = DuplicateFinder().fit(texts).vectorizer_
    finder = DuplicateFinder(None, vectors, 6).fit(texts)
    # Whatever the candidates are, groups are those of the scores of all pairs.
    found = DuplicateFinder(None, vectors, 200).fit(texts).find(threshold=0)
    similar = found.kind != "copy"
    merges = link_scores(
        found.pairs[similar], found.scores[similar], len(texts), method=linkage, threshold=threshold
    )
    # The clustering of first rows, and each copy with the first row of its text.
    label = cut(merges, len(texts), threshold)
    first = _unique(texts)
    label = label[[first[copy_key(text)] for text in texts]]
    expected = {tuple(np.flatnonzero(label == g)) for g in set(label) if (label == g).sum() > 1}
    groups = finder.groups(threshold, linkage=linkage)
    assert {tuple(group.members) for group in groups} == expected
    order = [(-group.score, -group.size) for group in groups]
    assert order == sorted(order)
    scored = {tuple(pair): score for pair, score in zip(found.pairs, found.scores, strict=True)}
    for number, group in enumerate(groups):
        assert set(np.flatnonzero(groups.labels == number)) == set(group.members)
        assert group.ids.tolist() == group.members.tolist()
        assert group.texts.tolist() == [texts[row] for row in group.members]
        inner = sorted({first[copy_key(text)] for text in group.texts})
        links = [pair for pair in itertools.combinations(inner, 2)]
        assert group.n_unscored == 0
        if links:
            weakest = min(scored[pair] for pair in links)
            assert group.weakest_score == pytest.approx(weakest, abs=1e-12)
            assert scored[group.weakest_pair] == pytest.approx(weakest, abs=1e-12)
            assert group.score >= threshold
        else:
            assert (group.weakest_score, group.score) == (1, 1)
            assert group.weakest_pair == tuple(group.members[:2])
    assert (groups.labels < 0).sum() == len(texts) - sum(group.size for group in groups)


def test_a_groups_score_is_its_lowest_merge():
    texts = ["tea milk sugar cup", "tea milk sugar", "stone river", "Stone river", "tree"]
    finder = DuplicateFinder(embedder=_length_embedder).fit(texts)
    copies, pair = finder.groups(0.5)
    assert copies.members.tolist() == [2, 3]
    assert pair.members.tolist() == [0, 1]
    assert pair.score == pair.weakest_score == pytest.approx(np.sqrt(3 / 4))


def test_merges_answer_every_higher_threshold():
    finder = DuplicateFinder(n_neighbors=6).fit(_corpus())
    low = finder.groups(0.4)
    assert np.all(np.diff(low.merges[:, 2]) <= 0)
    for threshold in (0.4, 0.6, 0.9):
        high = finder.groups(threshold)
        label = cut(low.merges, len(finder.texts_), threshold)
        sizes = np.bincount(label)
        assert len(high) == (sizes > 1).sum()
        for group in high:
            assert len(set(label[group.members])) == 1
            assert sizes[label[group.members[0]]] == group.size


def test_a_chain_of_similar_texts_is_not_one_group():
    texts = [" ".join(WORDS[i : i + 4]) for i in range(10)]
    finder = DuplicateFinder(embedder=_length_embedder).fit(texts)
    assert len(finder.find(threshold=0.7)) == 9
    for linkage in ("average", "complete"):
        assert max(group.size for group in finder.groups(0.7, linkage=linkage)) == 2


# Growth


@pytest.mark.parametrize("embedder", [None, _placed_embedder, "sparse"])
@pytest.mark.parametrize("searched", [False, True])
def test_adding_is_one_search_over_all_rows_in_the_same_space(embedder, searched):
    texts = _corpus(150)
    if embedder == "sparse":
        embedder = TfidfVectorizer().fit(texts)
    finder = DuplicateFinder(embedder=embedder, n_neighbors=3).fit(texts[:90])
    expected = DuplicateFinder(embedder=embedder, n_neighbors=3).fit(texts[:90])
    if searched:
        finder.find(budget=1)
    for start in (90, 100, 130):
        stop = {90: 100, 100: 130, 130: 150}[start]
        finder.add(texts[start:stop])
        if searched:
            finder.find(budget=1)
    expected.add(texts[90:])
    one = finder.find(threshold=0.3)
    _same(one, expected.find(threshold=0.3))
    assert finder.ids_.tolist() == list(range(150))
    if embedder is _placed_embedder:
        _same(one, DuplicateFinder(embedder=embedder, n_neighbors=3).fit(texts).find(threshold=0.3))


def test_adding_asks_the_classifier_about_new_pairs_only():
    texts = _corpus(100)
    model = Overlap()
    finder = DuplicateFinder(model, n_neighbors=3, embedder=_placed_embedder).fit(texts[:80])
    finder.find(budget=1)
    finder.add(texts[80:])
    found = finder.find(threshold=0)
    asked = [frozenset(map(copy_key, pair)) for block in model.asked for pair in block]
    assert len(asked) == len(set(asked))
    whole = DuplicateFinder(Overlap(), n_neighbors=3, embedder=_placed_embedder).fit(texts)
    _same(found, whole.find(threshold=0))


def test_a_corpus_that_has_more_than_doubled_gets_a_space_of_its_own():
    texts = _corpus(90)
    finder = DuplicateFinder(n_neighbors=4).fit(texts[:20])
    finder.find(budget=1)
    finder.add(texts[20:])
    _same(finder.find(threshold=0), DuplicateFinder(n_neighbors=4).fit(texts).find(threshold=0))
    # Unknown words, had the space stayed.
    small = DuplicateFinder().fit(["tea"]).add(["quasi stellar radio", "quasi stellar sources"])
    assert small.find(threshold=0.3).pairs.tolist() == [[1, 2]]


def test_a_failed_addition_leaves_the_finder_as_it_was():
    def strict(texts):
        if any("bad" in text for text in texts):
            raise RuntimeError("no vector")
        return _length_embedder(texts)

    texts = _corpus(40)
    finder = DuplicateFinder(embedder=strict).fit(texts)
    before = finder.find(threshold=0)
    for more, ids, error in (
        (["bad tea"], None, RuntimeError),
        (["tea lamp pen", None], None, TypeError),
        (["tea lamp pen"], [3], ValueError),
        ([], None, ValueError),
    ):
        with pytest.raises(error):
            finder.add(more, ids=ids)
    _same(finder.find(threshold=0), before)
    assert finder.n_unique_ == len(_unique(texts))
    # A text of the failed addition is still new.
    assert finder.add(["tea lamp pen"]).n_unique_ == len(_unique([*texts, "tea lamp pen"]))


def _on_a_circle(texts):
    """Text is an angle in degrees: the score of two is the cosine of their difference."""
    angles = np.deg2rad([float(text) for text in texts])
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _numbers(groups):
    """Number of each row's group, −1 for none."""
    return np.append(groups.numbers, -1)[groups.labels].tolist()


@pytest.mark.parametrize(
    ("old", "threshold", "new", "free", "numbers", "renumbered"),
    [
        ([40, 45, 0, 4], 0.985, [9, 41], [0, 0, 1, 1, 1, 0], [1, 1, 0, 0, 0, 1], {}),
        ([0, 5, 90], 0.985, [180], [0, 0, -1, -1], [0, 0, -1, -1], {}),
        ([40, 45, 90, 0, 5], 0.985, [91], [1, 1, 0, 2, 2, 0], [0, 0, 2, 1, 1, 2], {}),
        ([0, 2, 20, 22], 0.95, [12, 14], [0] * 6, [0] * 6, {1: 0}),
        ([0, 15], 0.96, [17, 18, 19], [-1, 0, 0, 0, 0], [0, 0, 0, 0, 0], {}),
    ],
    ids=["joined", "no partner", "new group", "merged", "never split"],
)
def test_remembered_groups_keep_their_rows_and_numbers(
    old, threshold, new, free, numbers, renumbered
):
    texts = [str(angle) for angle in (*old, *new)]
    finder = DuplicateFinder(embedder=_on_a_circle).fit(texts[: len(old)])
    groups = finder.groups(threshold)
    assert groups.numbers.tolist() == [*range(len(groups))]
    assert _numbers(finder.add(texts[len(old) :]).groups(threshold)) == free
    finder.fit(texts[: len(old)]).remember_groups(groups).add(texts[len(old) :])
    groups = finder.groups(threshold)
    assert _numbers(groups) == numbers and groups.renumbered == renumbered
    assert [row["group"] for row in groups.rows()] == [
        number for number, group in zip(groups.numbers, groups, strict=True) for _ in group.members
    ]


def test_numbers_of_groups_hold_over_additions_in_any_order_and_saving(tmp_path):
    texts = [text for text in dict.fromkeys(_corpus(90, seed=4)) if text.strip()]
    rng = np.random.default_rng(0)
    finder = DuplicateFinder().fit(texts[:40], texts[:40])
    n_merged = 0
    for _ in range(4):
        order = rng.permutation(texts[40:]).tolist()
        finder.fit(texts[:40], texts[:40])
        last = {}
        for start in range(0, len(order) + 1, 10):
            groups = finder.groups(0.6)
            number = dict(zip(finder.ids_.tolist(), _numbers(groups), strict=True))
            for name, before in last.items():
                if before >= 0:
                    assert number[name] == groups.renumbered.get(before, before)
            used = {*last.values()}
            n_merged += len(groups.renumbered)
            assert set(groups.renumbered) <= used and not {*groups.renumbered} & {*number.values()}
            assert max(used, default=-1) < min({*number.values()} - used - {-1}, default=10**6)
            last = number
            save_model(finder.remember_groups(groups), tmp_path / "known.film")
            finder = load_model(tmp_path / "known.film")
            if start < len(order):
                finder.add(order[start : start + 10], order[start : start + 10])
    assert n_merged


def test_labels_split_remembered_groups():
    finder = DuplicateFinder(embedder=_on_a_circle).fit(list("3601249"))
    finder.remember_groups(finder.groups(0.99))
    assert set(_numbers(finder.groups(0.99))) == {0}
    groups = finder.groups(0.99, cannot_link=[(1, 0)])
    numbers = _numbers(groups)
    assert numbers[0] == 0 and numbers[1] == 1
    again = finder.remember_groups(groups).groups(0.99, cannot_link=[(0, 1)])
    assert _numbers(again) == numbers and not again.renumbered
    finder.add(["5"])
    with pytest.raises(ValueError, match=r"groups has 7 rows, but the finder 8: .*after the last"):
        finder.remember_groups(groups)
    # A number is not given twice, though its group is gone.
    finder = DuplicateFinder(embedder=_on_a_circle).fit(["0", "2", "20", "22"])
    finder.remember_groups(finder.groups(0.95)).add(["12", "14"])
    finder.remember_groups(finder.groups(0.95)).add(["90", "91"])
    assert _numbers(finder.groups(0.95)) == [0] * 6 + [2, 2]


def test_remembered_pairs_are_those_of_later_calls():
    finder = DuplicateFinder(embedder=_on_a_circle).fit(["0", "1", "90", "91"])
    finder.remember_pairs([(0, 2)], [(0, 1)])
    assert finder.find(threshold=0.9).pairs.tolist() == [[2, 3]]
    assert _numbers(finder.groups(0.99)) == [0, -1, 0, -1]
    finder.add(["92"])
    with pytest.raises(ValueError, match="cannot_link separates the rows 0 and 2, but must_link"):
        finder.remember_pairs([(1, 2), (0, 1)], [(2, 0)]).groups(0.9, must_link=[(0, 2)])
    assert finder.find(threshold=0.9).pairs[:, 0].min() == 2
    # Newer pairs of the same rows replace older ones.
    finder.remember_pairs([(1, 0)], [(0, 2)])
    assert _numbers(finder.groups(0.99))[:2] == [0, 0]
    assert finder.groups(0.99, cannot_link=[(1, 0)]).labels[0] == -1
    assert _numbers(finder.fit(["0", "90"]).groups(0.5)) == [-1, -1]


# Queries


def test_a_query_finds_the_nearest_rows():
    texts = _corpus()
    finder = DuplicateFinder(embedder=_length_embedder).fit(
        texts, ids=[f"r{i}" for i in range(120)]
    )
    query = "tea cup river"
    cosines = _unit(_length_embedder(texts)) @ _unit(_length_embedder([query]))[0]
    matches = finder.query(query, k=7)
    assert len(matches) == 7
    np.testing.assert_allclose(matches.scores, np.sort(cosines)[::-1][:7], atol=1e-6)
    np.testing.assert_allclose(cosines[matches.members], matches.scores, atol=1e-6)
    assert matches.ids.tolist() == [f"r{row}" for row in matches.members]
    assert matches.texts.tolist() == [texts[row] for row in matches.members]
    assert set(matches.kind) == {"similar"}


def test_a_query_gives_all_copies_of_its_own_text_first():
    texts = ["cup tea", "tea cup", "Tea cup ", "stone"]
    matches = DuplicateFinder().fit(texts).query("TEA CUP", k=3)
    assert matches.members.tolist() == [1, 2, 0]
    assert matches.kind.tolist() == ["copy", "copy", "spelling"]
    assert matches.scores[:2].tolist() == [1, 1]
    assert DuplicateFinder().fit(texts).query("TEA CUP", k=1).members.tolist() == [1]


@pytest.mark.parametrize("prior", [0.2, None, "estimate"])
def test_a_query_by_a_classifier(prior):
    texts = _corpus()
    model = Overlap()
    finder = DuplicateFinder(model, prior=prior).fit(texts)
    matches = finder.query("tea cup lamp", k=3)
    assert matches.score_name == "probability"
    pairs = np.array([["tea cup lamp", text] for text in matches.texts], dtype=object)
    held = finder.find(budget=1).prior
    assert (held is None) == (prior is None)
    expected = shift_prior(model.predict_proba(pairs)[:, 1], 0.4, 0.4 if held is None else held)
    np.testing.assert_allclose(matches.scores, expected)
    assert np.all(np.diff(matches.scores) <= 0)


def test_a_query_without_any_match():
    finder = DuplicateFinder().fit(["tea", "milk"])
    assert len(finder.query("?!")) == 0
    assert len(finder.query("zzzz")) == 0
    assert len(DuplicateFinder(embedder=_constant_embedder).fit(["tea", "milk"]).query(" \t")) == 0
    assert len(DuplicateFinder().fit(["?"]).query("tea")) == 0
    with pytest.raises(TypeError, match="text"):
        finder.query(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="k=0"):
        finder.query("tea", k=0)


# Classifier


@pytest.mark.parametrize(("prior", "own"), [(None, 0.4), (0.1, 0.4), ("estimate", 0.4), (0.1, 0.7)])
def test_probabilities_are_shifted_to_the_prior(prior, own):
    model, of_classifier = Overlap(), None if own == 0.4 else own
    finder = DuplicateFinder(model, n_neighbors=4, prior=prior, classifier_prior=of_classifier)
    found = finder.fit(_corpus()).find(threshold=0)
    similar = found.kind != "copy"
    raw = model.predict_proba(found.texts[similar])[:, 1]
    wanted = estimate_prior(raw, own) if prior == "estimate" else prior
    expected = raw if wanted is None else shift_prior(raw, own, wanted)
    np.testing.assert_allclose(found.scores[similar], expected)
    assert found.prior == (None if wanted is None else pytest.approx(wanted))
    assert set(found.scores[~similar]) == {1.0}
    assert found.score_name == "probability"


def test_no_candidates_leave_the_prior():
    finder = DuplicateFinder(Overlap(), prior="estimate").fit(["tea", "Tea"])
    found = finder.find(threshold=0)
    assert found.pairs.tolist() == [[0, 1]]
    assert found.prior == 0.4


@pytest.mark.parametrize(
    ("changes", "parameters", "error", "message"),
    [
        ({"classes_": None}, {}, ValueError, "its classes_ are None"),
        ({"classes_": np.arange(3)}, {}, ValueError, "two classes"),
        (
            {"prior_": None},
            {"prior": "estimate"},
            ValueError,
            "give it as classifier_prior, or set prior=None",
        ),
        ({}, {"prior": 1.0}, ValueError, "prior=1.0 must lie strictly between 0 and 1"),
        ({}, {"prior": "guess"}, ValueError, "prior='guess' must be one of 'estimate'"),
        ({}, {"prior": 0.1, "classifier_prior": 0}, ValueError, "classifier_prior=0 must lie"),
    ],
)
def test_a_wrong_classifier_is_named(changes, parameters, error, message):
    model = Overlap()
    for name, value in changes.items():
        setattr(model, name, value)
    with pytest.raises(error, match=re.escape(message)):
        DuplicateFinder(model, **parameters).fit(["tea", "milk"])


def test_no_classifier_and_a_bad_one():
    with pytest.raises(TypeError, match="has no predict_proba"):
        DuplicateFinder(classifier=3).fit(["tea", "milk"])
    model = Overlap()
    model.predict_proba = lambda pairs: np.full((len(pairs), 1), 0.5)
    with pytest.raises(ValueError, match=r"returned an array of shape \(1, 1\) for 1 pairs"):
        DuplicateFinder(model).fit(["tea cup", "tea"]).find(threshold=0)
    model.predict_proba = lambda pairs: np.full((len(pairs), 2), np.nan)
    with pytest.raises(ValueError, match=r"numbers in \[0, 1\]"):
        DuplicateFinder(model).fit(["tea cup", "tea"]).find(threshold=0)


# Interruption


def test_an_interrupted_scoring_goes_on_where_it_stopped(monkeypatch):
    monkeypatch.setattr(_pair_probabilities, "BLOCK_PAIRS", 50)
    texts = _corpus()
    model = Overlap(fail_at=1)
    finder = DuplicateFinder(model, n_neighbors=4).fit(texts)
    with pytest.raises(KeyboardInterrupt):
        finder.find(threshold=0)
    assert len(model.asked) == 1
    found = finder.find(threshold=0)
    asked = [pair for block in model.asked for pair in block]
    assert len(asked) == len(set(asked)) == (found.kind != "copy").sum() > 100
    _same(found, DuplicateFinder(Overlap(), n_neighbors=4).fit(texts).find(threshold=0))


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("grown", [False, True])
def test_an_interrupted_search_goes_on_where_it_stopped(monkeypatch, tmp_path, grown, saved):
    monkeypatch.setattr(_neighbour_table, "BLOCK_ROWS", 16)
    texts = _corpus()
    finder = DuplicateFinder(n_neighbors=4).fit(texts[:100] if grown else texts)
    if grown:
        finder.find(budget=1)
        finder.add(texts[100:])
    asked = []
    real = _neighbour_table.SparseSearch.__call__

    def counting(search, queries, k):
        if len(asked) == 2:
            asked.append(0)
            raise KeyboardInterrupt
        asked.append(queries.shape[0])
        return real(search, queries, k)

    monkeypatch.setattr(_neighbour_table.SparseSearch, "__call__", counting)
    with pytest.raises(KeyboardInterrupt):
        finder.find(threshold=0)
    if saved:
        save_model(finder, tmp_path / "half.film")
        finder = load_model(tmp_path / "half.film")
    found = finder.find(threshold=0)
    assert sum(asked) == finder.n_unique_
    monkeypatch.undo()
    expected = DuplicateFinder(n_neighbors=4).fit(texts[:100] if grown else texts)
    if grown:
        expected.add(texts[100:])
    _same(found, expected.find(threshold=0))


# Approximate index


def test_approximate_neighbours_with_their_recall(monkeypatch):
    texts = [f"text {i}" for i in range(3000)]
    embedder = _numbered_embedder
    exact = DuplicateFinder(embedder=embedder, n_neighbors=5).fit(texts)
    rough = clone(exact).set_params(embedder=embedder, index="approximate").fit(texts[:2900])
    rough.find(budget=1)
    rough.add(texts[2900:])
    monkeypatch.setattr(_corpus_index, "EXACT_LIMIT", 2999)
    auto = DuplicateFinder(embedder=embedder, n_neighbors=5).fit(texts)
    monkeypatch.setattr(_neighbour_table, "SAMPLE_ROWS", 3000)
    truth = exact.find(threshold=0)
    cosines = _unit(PLANE) @ _unit(PLANE).T
    np.fill_diagonal(cosines, -1)
    nearest = np.argsort(-cosines, axis=1)[:, :5]
    for finder in (rough, auto):
        found = finder.find(threshold=0)
        assert found.index == finder.index_ == "cells"
        given = finder._scores.index._table._table["point"]
        share = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(nearest, given, strict=True)])
        assert found.recall == pytest.approx(share, abs=1e-3)
        assert 0.3 < found.recall < 1
        copies = finder.find(threshold=0.97)
        assert len(copies) > 1400
        assert len(copies) > 0.95 * (truth.scores >= 0.97).sum()
        assert finder.query("text 7", k=2).members.tolist() == [7, 1507]
    again = pickle.loads(pickle.dumps(rough))
    assert again.query("text 7", k=2).members.tolist() == [7, 1507]
    other = DuplicateFinder(embedder=embedder, n_neighbors=5, random_state=1).fit(texts)
    assert len(other.find(threshold=0)) != len(auto.find(threshold=0))
    grown = DuplicateFinder(embedder=embedder, n_neighbors=5).fit(texts[:2000])
    assert grown.index_ == "exact"
    assert grown.add(texts[2000:]).index_ == "cells"
    monkeypatch.setattr(_corpus_index, "EXACT_LIMIT", 3000)
    at_limit = DuplicateFinder(embedder=embedder, n_neighbors=5).fit(texts)
    assert at_limit.index_ == "exact"


# Odd corpora


def test_one_or_two_rows():
    finder = DuplicateFinder().fit(["tea"])
    assert len(finder.find(threshold=0)) == len(finder.groups(0.1)) == 0
    assert finder.query("tea").members.tolist() == [0]
    assert DuplicateFinder().fit(["tea", "milk"]).find(threshold=0.1).pairs.tolist() == []
    assert DuplicateFinder().fit(["tea cup", "tea"]).find(threshold=0.1).pairs.tolist() == [[0, 1]]


def test_all_rows_alike():
    finder = DuplicateFinder().fit(["Tea?"] * 2000)
    found = finder.find(threshold=0)
    # Rows are paired with the first, not with each other: two million pairs would say no more.
    assert found.pairs.tolist() == [[0, row] for row in range(1, 2000)]
    (group,) = finder.groups()
    assert group.size == 2000
    assert finder.n_unique_ == 1


def test_empty_texts_are_nobodys_duplicates():
    finder = DuplicateFinder().fit(["", "tea", "\t", "  ", "", "Tea"])
    assert finder.n_empty_ == 4
    assert finder.find(threshold=0).pairs.tolist() == [[1, 5]]
    assert [group.members.tolist() for group in finder.groups()] == [[1, 5]]
    nothing = DuplicateFinder().fit(["", " "])
    assert len(nothing.find(threshold=0)) == len(nothing.groups()) == 0
    assert nothing.add(["tea cup", "tea cups"]).find(threshold=0.3).pairs.tolist() == [[2, 3]]


def test_texts_of_punctuation_have_copies_but_no_neighbours():
    finder = DuplicateFinder().fit(["?!", "tea", "...", "?!", "?"])
    assert (finder.n_empty_, finder.n_without_vector_) == (0, 3)
    assert finder.find(threshold=0).pairs.tolist() == [[0, 3]]
    only = DuplicateFinder().fit(["?!", "...", "?!"])
    assert only.find(threshold=0).kind.tolist() == ["copy"]
    assert only.add(["tea cup", "tea cups"]).find(threshold=0.3).pairs.tolist() == [[0, 2], [3, 4]]


def test_zero_vectors_have_copies_but_no_neighbours():
    texts = ["zzz", "tea cup", "yyy", "tea", "ZZZ"]
    finder = DuplicateFinder(embedder=_length_embedder).fit(texts)
    assert finder.n_without_vector_ == 2
    assert finder.find(threshold=0).pairs.tolist() == [[0, 4], [1, 3]]
    assert finder.query("Zzz").members.tolist() == [0, 4]
    none = DuplicateFinder(embedder=_length_embedder).fit(["zzz", "yyy"])
    assert len(none.find(threshold=0)) == len(none.query("zzz xxx")) == 0


def test_negative_cosines_score_zero():
    def opposite(texts):
        return np.array([[1.0] if "tea" in text else [-1.0] for text in texts])

    found = DuplicateFinder(embedder=opposite).fit(["tea", "milk"]).find(threshold=0)
    assert found.scores.tolist() == [0.0]
    assert len(DuplicateFinder(embedder=opposite).fit(["tea", "milk"]).groups(0.01)) == 0


def test_long_texts_other_languages_and_emoji():
    rng = np.random.default_rng(0)
    long = " ".join(rng.choice(WORDS, 20_000))
    assert len(long) > 90_000
    texts = [
        long,
        long.replace("tea", "coffee", 3),
        "Как мне выучить шахматы?",
        "Как выучить шахматы?",
        "我怎样才能学会下国际象棋",
        "我怎样才能学会下国际象棋呢",
        "كيف أتعلم الشطرنج؟",
        "كيف يمكن أن أتعلم الشطرنج",
        "tea 🙂 time",
        "tea time 🙂🙂",
        "चाय कैसे बनाएं",
    ]
    found = DuplicateFinder().fit(texts).find(threshold=0.4)
    assert found.pairs[found.kind == "copy"].tolist() == []
    expected = [[2 * i, 2 * i + 1] for i in range(5)]
    assert sorted(found.pairs[found.kind != "copy"].tolist()) == expected


# Input


@pytest.mark.parametrize(
    ("texts", "ids", "error", "message"),
    [
        (["a", "b"], [1], ValueError, "ids has 1 entries for 2 texts"),
        (["a", "b", "c", "d"], ["x", "y", "x", "y"], ValueError, "ids[2] is 'x', the id of row 0"),
    ],
)
def test_bad_texts_and_ids_are_named(texts, ids, error, message):
    with pytest.raises(error, match=re.escape(message)):
        DuplicateFinder().fit(texts, ids=ids)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"random_state": None}, TypeError, "random_state=None must be an integer"),
        ({"embedder": 3}, TypeError, "embedder=3 must be a fitted transformer"),
        ({"embedder": lambda texts: np.ones(3)}, ValueError, "returned float64 of shape (3,)"),
        ({"embedder": lambda texts: np.ones((3, 2))}, ValueError, "of shape (3, 2) for 2 texts"),
        ({"embedder": lambda texts: [[np.nan]] * 2}, ValueError, "embedder returned NaN"),
        ({"embedder": lambda texts: sp.csr_array([[np.inf]] * 2)}, ValueError, "returned NaN"),
        ({"embedder": lambda texts: np.array([["a"]] * 2)}, ValueError, "row of numbers per text"),
    ],
)
def test_wrong_parameters_are_named(parameters, error, message):
    finder = DuplicateFinder(**parameters)
    with pytest.raises(error, match=re.escape(message)):
        finder.fit(["tea", "milk"])
    assert not hasattr(finder, "ids_")


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("find", {"threshold": 0.5, "budget": 3}, "either threshold or budget"),
        ("find", {"threshold": 1.5}, "threshold=1.5"),
        ("find", {"budget": 0}, "budget=0"),
        ("groups", {"threshold": 0}, "threshold=0 would group all rows"),
        ("groups", {"threshold": 1.1}, "threshold=1.1"),
        ("groups", {"linkage": "single"}, "linkage='single' must be one of 'average', 'complete'"),
    ],
)
def test_wrong_questions_are_named(method, arguments, message):
    finder = DuplicateFinder().fit(["tea", "milk"])
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(finder, method)(**arguments)


@pytest.mark.parametrize("name", [None, "nan", "NA", "NaT"])
@pytest.mark.parametrize("of", ["ids", "blocks"])
def test_an_id_or_a_block_that_is_missing_is_named(of, name):
    if name in ("NA", "NaT"):
        missing = getattr(pytest.importorskip("pandas"), name)
    else:
        missing = name and float(name)
    said = r"ids\[1\] is missing \((None|nan|<NA>|NaT)\)" if of == "ids" else r"blocks\[1\] is"
    with pytest.raises((TypeError, ValueError), match=said):
        DuplicateFinder().fit(["a b", "a c"], **{of: ["x", missing]})


# Families of near copies

NAMES = (
    "Anna Boris Carla David Elena Farid Greta Hassan Irina Jonas Kofi Lena Marco Nadia Oskar Petra "
    "Quentin Rosa Stefan Tariq Uma Viktor Wanda Xenia Yusuf Zora Bjorn Celia Dimitri Esther"
).split()
LETTER = "Dear {}, your order has been shipped and will arrive at your address within three days"


def _misspelt(n, seed=0):
    """Texts that differ in one letter too many."""
    rng = np.random.default_rng(seed)
    text = "The meeting about the budget of the northern office is moved to noon in room twelve"
    places = rng.permutation(26 * len(text))[:n]
    return [
        text[:i] + chr(97 + letter) + text[i:] for i, letter in np.column_stack(divmod(places, 26))
    ]


@pytest.mark.parametrize("with_others", [False, True])
@pytest.mark.parametrize(
    "family",
    [[LETTER.format(name) for name in NAMES], _misspelt(40), _misspelt(100)],
    ids=["names", "40", "100"],
)
def test_a_family_of_near_copies_is_one_group(family, with_others):
    others = [f"{text} {i}" for i, text in enumerate(_corpus(200))] if with_others else []
    groups = DuplicateFinder().fit([*others, *family]).groups(0.5)
    size = max(group.size for group in groups)
    assert size == len(family)
    assert groups[groups.labels[-1]].members[0] == len(others)
    assert groups[groups.labels[-1]].n_unscored == groups.n_incomplete == groups.n_cut == 0
    kept = groups.keep("first")
    assert len(set(kept[len(others) :])) == 1


def test_golden_values_are_the_most_frequent_then_the_longest_then_the_first():
    texts = ["a red lamp", "A red lamp", "a RED lamp", "b", "a red LAMP"]
    groups = DuplicateFinder().fit(texts).groups(0.5)
    frame = pd.DataFrame(
        {
            "often": ["x", "longest", "", "other", "x"],
            "long": ["ab", "abc", "xyz", "other", "b"],
            "number": [np.nan, 2.5, np.nan, np.nan, np.nan],
            "nothing": [None, None, None, None, None],
        }
    )
    columns, sources = groups.golden(frame)
    assert sources == [[0, 1, 2, 4], [3]]
    assert columns["often"] == ["x", "other"] and columns["long"] == ["abc", "other"]
    assert columns["number"][0] == 2.5 and np.isnan(columns["number"][1])
    assert columns["nothing"] == [None, None]
    with pytest.raises(ValueError, match="column 'often' has 4 values for 5 rows"):
        groups.golden(frame[:4])


def test_small_families_change_no_weight():
    weights = _text_space.family_weights([*_misspelt(9), *_corpus(50)])
    assert (weights == 1).all()
    weights = _text_space.family_weights([*_misspelt(10), *map(str, range(1000, 2200))])
    assert (weights == 1).all()
    weights = _text_space.family_weights([*_misspelt(10), "tea", "milk", *_misspelt(5, 1)])
    np.testing.assert_allclose(weights, [*[1 / 15] * 10, 1, 1, *[1 / 15] * 5])


def test_parts_too_large_to_be_compared_whole_are_told(monkeypatch):
    texts = _misspelt(40)
    finder = DuplicateFinder(n_neighbors=5).fit(texts)
    monkeypatch.setattr(_growth, "MOST_GROWN", 0)
    monkeypatch.setattr(_parts, "LARGEST_PART", 39)
    with pytest.warns(UserWarning, match="40 of 40 different texts are in parts too large"):
        groups = finder.groups(0.5)
    assert groups.n_incomplete == groups.n_cut == 40
    assert max(group.size for group in groups) < 40
    monkeypatch.undo()
    assert len(finder.groups(0.5)) == 1


def test_a_classifier_is_asked_once_about_what_groups_need_besides():
    texts = _corpus()
    model = Overlap()
    finder = DuplicateFinder(model, n_neighbors=2, embedder=_placed_embedder).fit(texts)
    finder.find(threshold=0)
    n_candidates = sum(map(len, model.asked))
    groups = finder.groups(0.6)
    asked = [frozenset(map(copy_key, pair)) for block in model.asked for pair in block]
    assert len(asked) == len(set(asked)) > n_candidates
    assert all(group.n_unscored == 0 for group in groups)
    finder.groups(0.6)
    assert len(asked) == sum(map(len, model.asked))


# Candidates grow


@pytest.mark.parametrize("blocks", [None, 3])
@pytest.mark.parametrize(
    ("embedder", "k"),
    [(_trigrams, 5), (_trigrams, 10), (_placed_embedder, 1), (_placed_embedder, 3)],
)
def test_an_answer_does_not_depend_on_the_number_of_candidates(embedder, k, blocks):
    texts = [*_misspelt(60), *_corpus()] if embedder is _trigrams else _corpus(200)
    blocks = blocks and [row % blocks for row in range(len(texts))]
    some, every = (
        DuplicateFinder(None, embedder, n).fit(texts, blocks=blocks) for n in (k, len(texts))
    )
    for limits in ({"threshold": 0.7}, {"budget": 50}, {"budget": 300}, {"budget": 10**6}):
        found = some.find(**limits)
        _same(found, every.find(**limits))
        assert found.n_cut == 0
    new = [*texts[::3], *_misspelt(30, seed=1)] if embedder is None else _corpus(50, seed=1)
    inside = blocks and [row % 3 for row in range(len(new))]
    for limits in ({"threshold": 0.6}, {"budget": 10}, {"budget": 900}):
        _same(some.match(new, blocks=inside, **limits), every.match(new, blocks=inside, **limits))


def test_pairs_that_are_left_out_do_not_count_among_the_best():
    texts = _misspelt(30)
    finder = DuplicateFinder(n_neighbors=2).fit(texts)
    best = finder.find(budget=400)
    apart = best.pairs[:200]
    rest = finder.find(budget=200, cannot_link=apart.tolist())
    np.testing.assert_array_equal(rest.pairs, best.pairs[200:])


def test_where_candidates_are_cut_is_told(monkeypatch):
    texts = _misspelt(40)
    finder = DuplicateFinder(None, DuplicateFinder().fit(texts).vectorizer_).fit(texts)
    assert (len(finder.find(threshold=0.8)), finder.find(threshold=0.8).n_cut) == (780, 0)
    # Room for 20 candidates of 25 texts.
    monkeypatch.setattr(_growth, "MOST_GROWN", 519)
    found = finder.find(threshold=0.8)
    assert found.n_cut == 15 + 25 and len(found) < 780
    monkeypatch.setattr(_growth, "MOST_GROWN", 0)
    assert finder.match(texts, threshold=0.8).n_cut == 40
    assert finder.find(threshold=0.999).n_cut == 0
    assert len(finder.find(threshold=0)) < 400


def test_all_rows_of_the_corpus_that_match_are_listed(monkeypatch):
    old = ["Tea cup", "stone", "tea  cup", "tea cups", "TEA CUP", "", "tea cups"]
    finder = DuplicateFinder().fit(old, ids=list("abcdefg"))
    found = finder.match(["tea cup", "", "pen", "TEA cup"], threshold=0.4)
    copies, similar = ("a", "c", "e"), ("d", "g")
    expected = [(new, row) for new in (0, 3) for row in copies]
    expected += [(new, row) for new in (0, 3) for row in similar]
    assert [(int(new), row) for new, row in found.ids] == expected
    assert found.kind.tolist() == ["copy"] * 6 + ["spelling"] * 4
    assert finder.match(["tea cup", "TEA cup"], budget=4).ids[:, 1].tolist() == ["a", "c", "e", "a"]
    monkeypatch.setattr(_finder_inputs, "MOST_PAIRS", 9)
    with pytest.raises(ValueError, match="the result has 10 pairs of rows"):
        finder.match(["tea cup", "TEA cup"], threshold=0.4)


def test_candidates_of_two_corpora_are_the_nearest_of_either():
    rng = np.random.default_rng(0)
    vectors = {f"text {i}": vector for i, vector in enumerate(rng.normal(size=(90, 6)))}
    texts = list(vectors)
    sides = {"fitted": texts[:30], "asked": texts[30:]}
    for one, other in (sides.values(), list(sides.values())[::-1]):
        finder = DuplicateFinder(
            embedder=lambda some: np.array([vectors[text] for text in some]), n_neighbors=4
        ).fit(one, beside=other)
        found = finder.match(other, threshold=0)
        unit = [
            np.array([vectors[text] / np.linalg.norm(vectors[text]) for text in side])
            for side in (other, one)
        ]
        cosines = unit[0] @ unit[1].T
        order, reverse = (np.argsort(-side, axis=1)[:, :4] for side in (cosines, cosines.T))
        sides_of = [
            [(a, b) for a, near in enumerate(order.tolist()) for b in near],
            [(a, b) for b, near in enumerate(reverse.tolist()) for a in near],
        ]
        # The larger side has no more than the smaller: its most similar.
        few, many = sorted(sides_of, key=len)
        assert len(few) < len(many)
        many = sorted(many, key=lambda pair: -cosines[pair])[: len(few)]
        expected = {*few, *many}
        assert set(map(tuple, found.pairs.tolist())) == expected
        # Of a corpus that was fitted alone, those of the new texts.
        assert len(finder.fit(one).match(other, threshold=0)) == 4 * len(other)


@pytest.mark.parametrize("limits", [{"threshold": 0.6}, {"threshold": 0.8}, {"budget": 70}])
@pytest.mark.parametrize("with_blocks", [False, True])
@pytest.mark.parametrize("index", ["exact", "approximate"])
def test_which_of_two_corpora_is_fitted_does_not_matter(limits, with_blocks, index):
    letters = [LETTER.format(name) for name in NAMES]
    two = [LETTER.format("Zoe"), *_corpus(80)], [*letters, *_corpus(120, seed=1), letters[3]]
    answers = []
    for one, other in (two, two[::-1]):
        blocks = [[len(text) % 2 for text in texts] if with_blocks else None for texts in two]
        if one is two[1]:
            blocks.reverse()
        finder = DuplicateFinder(index=index).fit(one, blocks=blocks[0], beside=other)
        answers.append(finder.match(other, blocks=blocks[1], **limits))
    reverse, forth = answers
    pairs = list(map(tuple, forth.pairs.tolist()))
    assert len(pairs) >= 31 and sorted(pairs) == sorted(map(tuple, reverse.pairs[:, ::-1].tolist()))
    np.testing.assert_allclose(forth.scores, reverse.scores, atol=1e-6)


@pytest.mark.parametrize("threshold", [0.1, 0.5])
def test_one_to_one_has_the_highest_total_of_all_pairs(threshold):
    finder = DuplicateFinder(n_neighbors=100).fit(_corpus(50))
    new = [*_corpus(40, seed=1), WORDS[0], WORDS[0]]
    every = finder.match(new, threshold=threshold)
    found = finder.match(new, threshold=threshold, one_to_one=True)
    table = np.zeros((len(new), 50))
    table[every.pairs[:, 0], every.pairs[:, 1]] = every.scores
    rows, columns = linear_sum_assignment(table, maximize=True)
    assert len(every) > len(found) > 10
    assert all(len(np.unique(side)) == len(found) for side in found.pairs.T)
    assert found.scores.sum() == pytest.approx(table[rows, columns].sum())
    np.testing.assert_array_equal(found.scores, table[*found.pairs.T])
    assert np.all(np.diff(found.scores) <= 0) and found.scores.min() >= threshold
    kinds = dict(zip(map(tuple, every.pairs.tolist()), every.kind, strict=True))
    assert [kinds[tuple(pair)] for pair in found.pairs.tolist()] == found.kind.tolist()
    tied = [
        sum(every.scores[(every.pairs == pair).any(axis=1)] == score) > 1
        for pair, score in zip(found.pairs, found.scores, strict=True)
    ]
    assert found.n_ties == sum(tied) > 0 and every.n_ties == 0


def test_one_to_one_takes_the_best_of_a_budget():
    finder = DuplicateFinder(n_neighbors=100).fit(_corpus(50))
    new = _corpus(40, seed=1)
    found = finder.match(new, budget=5, one_to_one=True)
    every = finder.match(new, threshold=0.01, one_to_one=True)
    np.testing.assert_allclose(found.scores, every.scores[:5])
    nothing = finder.match(["zyzzyx"], threshold=0.5, one_to_one=True)
    assert len(nothing) == nothing.n_ties == 0

"""An encoder next to the comparison of words: candidates, scores, growth, matches, saving."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from estimators import load_model, save_model
from estimators.corpus.duplicate_finder import DuplicateFinder
from film.judge import UNRELATED_TEXTS, base_cosine, centred_cosines
from film.text import normalize_text

WORDS = "tea milk sugar cup spoon table chair door window lamp book pen river stone tree".split()
SYNONYMS: dict[str, str] = dict(
    zip(WORDS[:6], "brew dairy sweet mug ladle desk".split(), strict=True)
)
PLACES: dict[str, int] = {word: i % 40 for i, word in enumerate(WORDS)}
PLACES |= {other: PLACES[word] for word, other in SYNONYMS.items()}


def by_meaning(texts):
    """Count words by meaning; unknown ones have places of their own."""
    rows = np.zeros((len(texts), 60))
    for row, text in zip(rows, texts, strict=True):
        for word in normalize_text(text).split():
            row[PLACES.get(word, 40 + sum(map(ord, word)) % 20)] += 1
    return rows


def higher(texts):
    """The same encoder with all cosines at half the way to 1."""
    rows = by_meaning(texts)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.sqrt(0.5) * np.column_stack([rows, np.ones(len(rows))])


def corpus(n=80, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(3, 7))) for _ in range(n)]
    other = [" ".join(SYNONYMS.get(word, word) for word in text.split()) for text in texts[:20]]
    return list(dict.fromkeys(texts + other))


def scores_of(found):
    return dict(zip(map(tuple, found.texts.tolist()), found.scores.tolist(), strict=True))


TEXTS = ["tea milk sugar", "brew dairy sweet", "tea milk sugar stone", "river tree door"]


def test_an_encoder_that_contradicts_spelling_changes_the_ranking():
    plain = DuplicateFinder().fit(TEXTS).find(threshold=0)
    both = DuplicateFinder(encoder=by_meaning).fit(TEXTS).find(threshold=0)
    in_other_words, one_more = tuple(TEXTS[:2]), (TEXTS[0], TEXTS[2])
    spelled, meant = scores_of(plain), scores_of(both)
    assert spelled.get(in_other_words, 0) < 0.1 < spelled[one_more]
    assert meant[in_other_words] > meant[one_more] > 0.5
    assert plain.score_name == both.score_name == "score"


def test_a_score_does_not_depend_on_the_order_of_the_rows():
    texts = corpus()
    # Of equally near texts, the first ones are candidates; here all are.
    forth, back = (
        scores_of(DuplicateFinder(encoder=by_meaning, n_neighbors=99).fit(some).find(threshold=0))
        for some in (texts, texts[::-1])
    )
    assert {frozenset(pair) for pair in forth} == {frozenset(pair) for pair in back}
    for (first, second), score in forth.items():
        assert back[second, first] == pytest.approx(score, abs=1e-5)


def test_the_usual_level_of_cosines_does_not_matter():
    texts = corpus()
    one, other = (
        scores_of(DuplicateFinder(encoder=some, n_neighbors=99).fit(texts).find(threshold=0))
        for some in (by_meaning, higher)
    )
    assert one.keys() == other.keys()
    # Cosines of texts that are no copies are limited to .999, of which half is .9995.
    np.testing.assert_allclose(list(one.values()), [other[pair] for pair in one], atol=3e-3)


def nearest(vectors, k):
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    last = np.sort(cosines, axis=1)[:, -k]
    return cosines >= last[:, None] + 1e-6, cosines >= last[:, None] - 1e-6


@pytest.mark.parametrize("k", [3, 5])
def test_candidates_are_those_of_words_and_the_nearest_by_the_encoder(k):
    texts = corpus()
    plain = DuplicateFinder(n_neighbors=k).fit(texts).find(threshold=0)
    found = DuplicateFinder(n_neighbors=k, encoder=by_meaning).fit(texts).find(threshold=0)
    vectors = by_meaning(texts)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spelled, given = set(map(tuple, plain.pairs.tolist())), set(map(tuple, found.pairs.tolist()))
    sure, possible = nearest(vectors, k)
    pairs = [(a, b) for a in range(len(texts)) for b in range(a + 1, len(texts))]
    sure = {(a, b) for a, b in pairs if sure[a, b] or sure[b, a]}
    possible = {(a, b) for a, b in pairs if possible[a, b] or possible[b, a]}
    assert spelled | sure <= given <= spelled | possible
    assert sure - spelled


def test_meanings_are_centred_cosines():
    texts = corpus()
    finder = DuplicateFinder(encoder=higher).fit(texts)
    pairs = np.random.default_rng(0).integers(0, len(texts), (50, 2))
    vectors = higher(texts)
    cosines = np.minimum((vectors[pairs[:, 0]] * vectors[pairs[:, 1]]).sum(axis=1), 0.999)
    expected = centred_cosines(cosines, base_cosine(higher(UNRELATED_TEXTS)))
    meanings = finder._scores.index.meanings(pairs)
    assert meanings is not None
    np.testing.assert_allclose(meanings, expected, atol=1e-5)


@pytest.mark.parametrize("encoder", [by_meaning, TfidfVectorizer(), TfidfVectorizer().fit(WORDS)])
def test_added_rows_and_all_rows_have_the_same_pairs(encoder):
    texts = corpus()
    grown = DuplicateFinder(n_neighbors=3, encoder=encoder).fit(texts[:60])
    known = grown.find(threshold=0.3)
    assert len(known)
    grown.add(texts[60:])
    found = grown.find(threshold=0.05)
    assert set(map(tuple, known.pairs.tolist())) <= set(map(tuple, found.pairs.tolist()))
    scores, kind = grown.score_pairs(found.ids.tolist())
    np.testing.assert_allclose(scores, found.scores, atol=1e-6)
    assert kind.tolist() == found.kind.tolist()
    assert found.pairs.max() >= 60


def test_an_interrupted_growth_reads_all_texts_again(monkeypatch):
    texts = corpus()
    finder = DuplicateFinder(encoder=by_meaning).fit(texts[:60])
    expected = DuplicateFinder(encoder=by_meaning).fit(texts[:60]).add(texts[70:]).find(budget=50)
    index = finder._scores.index
    with monkeypatch.context() as patch:

        def interrupted(*given):
            raise KeyboardInterrupt

        patch.setattr(index, "_take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            finder.add(texts[60:70])
    assert finder.n_unique_ == 60
    found = finder.add(texts[70:]).find(budget=50)
    assert index.meaning is not None and finder.n_unique_ == len(index.meaning.texts)
    assert found.pairs.tolist() == expected.pairs.tolist()
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)


def test_a_query_finds_a_text_in_other_words():
    finder = DuplicateFinder(encoder=by_meaning).fit([*corpus(), "mug ladle desk"])
    assert finder.query("cup spoon table", k=1).texts.tolist() == ["mug ladle desk"]
    assert finder.query("cup spoon table", k=1).scores[0] > 0.5


def test_texts_without_vector_have_neighbours_by_the_encoder_alone():
    texts = ["!", "?", "tea"]
    finder = DuplicateFinder(encoder=lambda some: np.ones((len(some), 1))).fit(texts)
    assert finder.n_without_vector_ == 0
    assert DuplicateFinder().fit(texts).n_without_vector_ == 2
    assert (0, 1) in map(tuple, finder.find(threshold=0).pairs.tolist())


def test_each_text_is_encoded_once_and_growth_encodes_new_ones_alone():
    seen = []

    def counting(texts):
        seen.extend(texts)
        return by_meaning(texts)

    texts = corpus()
    finder = DuplicateFinder(encoder=counting).fit(texts[:60] + texts[:5])
    finder.find(threshold=0.1)
    assert sum(text in set(texts) for text in seen) <= 60 + 1  # one probes the width
    seen.clear()
    finder.add(texts[60:])
    finder.groups(0.5)
    assert sorted(seen) == sorted(texts[60:])


def test_a_saved_finder_keeps_its_encoder(tmp_path):
    texts = corpus()
    finder = DuplicateFinder(encoder=TfidfVectorizer(analyzer="char", ngram_range=(2, 2)))
    finder.fit(texts[:60])
    expected = finder.find(threshold=0.1)
    save_model(finder, tmp_path / "finder.film")
    loaded = load_model(tmp_path / "finder.film")
    found = loaded.find(threshold=0.1)
    assert found.pairs.tolist() == expected.pairs.tolist()
    np.testing.assert_array_equal(found.scores, expected.scores)
    more, again = (some.add(texts[60:]).find(threshold=0.1) for some in (finder, loaded))
    np.testing.assert_array_equal(more.scores, again.scores)
    with pytest.raises(ValueError, match="by_meaning"):
        save_model(DuplicateFinder(encoder=by_meaning).fit(texts), tmp_path / "function.film")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"encoder": by_meaning, "embedder": by_meaning}, ValueError, "which embedder replaces"),
        ({"encoder": 3}, TypeError, "encoder=3 encodes no texts"),
        ({"encoder": "no-such/model"}, FileNotFoundError, "encoder="),
        ({"encoder": lambda texts: np.ones(3)}, TypeError, "must return one row"),
    ],
)
def test_impossible_encoders_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        DuplicateFinder(**settings).fit(TEXTS)


def test_none_and_the_word_none_are_no_encoder():
    one, other = (
        DuplicateFinder(encoder=some).fit(TEXTS).find(threshold=0) for some in (None, "none")
    )
    np.testing.assert_array_equal(one.scores, other.scores)

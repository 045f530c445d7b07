from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, Normalizer

from estimators import FILM, MiniBatchFILM
from estimators.inspection import explain_words
from estimators.inspection import words as words_module
from estimators.metric import words_of_dimension
from film.text import normalize_text

WORDS = (
    "how do i learn play the guitar in new york What's Best way don't état machine-learning "
    "C++ (quickly), guitar? - !!! 東京 दिल्ली state of art 10 bucks/day"
).split()


def random_texts(n, seed=0):
    rng = np.random.default_rng(seed)
    spaces = [" ", "  ", "\n"]
    texts = []
    for _ in range(n):
        words = rng.choice(WORDS, size=rng.integers(0, 14))
        texts.append("".join(word + spaces[rng.integers(3)] for word in words))
    return texts


TEXTS = random_texts(60)
LABELS = np.arange(60) % 12
# Words that fitting never saw stand among them, and blank texts.
PAIRS = [*zip(random_texts(12, 1), random_texts(12, 2), strict=True), ("", "the guitar"), ("", " ")]
PAIRS += [("zzz qqq", "the guitar"), ("the guitar", "The Guitar!")]


def chars(**options):
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), **options)


def analysed_by(analyzer: Any):
    return CountVectorizer(analyzer=analyzer)


def film(**options):
    return FILM(d=12, rank=20, random_state=0, **options)


EMBEDDERS: dict[str, Any] = {
    "tfidf": TfidfVectorizer(),
    "counts": CountVectorizer(binary=True),
    "bigrams": TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, strip_accents="unicode"),
    "trigrams": CountVectorizer(ngram_range=(2, 3), stop_words="english"),
    "characters": chars(),
    "characters across words": TfidfVectorizer(analyzer="char", ngram_range=(1, 5)),
    "own analyser": analysed_by(lambda text: [*text.split(), f"long {len(text)}"]),
    "nothing but a constant": analysed_by(lambda text: ["constant", text[:0]]),
    "svd": make_pipeline(TfidfVectorizer(), TruncatedSVD(4, random_state=0)),
    "batches": make_pipeline(TfidfVectorizer(), MiniBatchFILM(5, rank=20, random_state=0)),
    "film": make_pipeline(TfidfVectorizer(preprocessor=normalize_text), film()),
    "single": make_pipeline(TfidfVectorizer(dtype=np.float32), film()),  # type: ignore
    "normalised": make_pipeline(
        chars(), TruncatedSVD(6, random_state=0), Normalizer(), FILM(3, rank=6, random_state=0)
    ),
    "steps": make_pipeline(
        CountVectorizer(), MaxAbsScaler(), TfidfTransformer(), "passthrough", Normalizer("l1")
    ),
    "union": make_pipeline(
        FeatureUnion(
            [
                ("words", TfidfVectorizer(ngram_range=(1, 2), preprocessor=normalize_text)),
                ("none", "drop"),
                ("chars", Pipeline([("count", chars(use_idf=False)), ("norm", Normalizer())])),
                ("inner", FeatureUnion([("counts", CountVectorizer())])),
            ],
            transformer_weights={"words": 0.3, "chars": 2.0},
        ),
        film(),
        Normalizer(),
    ),
    "nested": make_pipeline(
        make_pipeline(CountVectorizer(), TfidfTransformer()), make_pipeline(film(), None)
    ),
}


@pytest.fixture(scope="module")
def fitted():
    cache = {}

    def fit(name) -> Any:
        if name not in cache:
            cache[name] = EMBEDDERS[name].fit(TEXTS, LABELS)
        return cache[name]

    return fit


def cosine(embedder, text1, text2):
    first, second = (
        np.asarray(v.todense() if hasattr(v, "todense") else v, dtype=np.float64).ravel()
        for v in (embedder.transform([text1]), embedder.transform([text2]))
    )
    norms = np.linalg.norm(first) * np.linalg.norm(second)
    return first @ second / norms if norms else 0.0


@pytest.mark.filterwarnings("ignore:.*token_pattern.*", "ignore:.*stop_words.*")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", EMBEDDERS)
def test_contributions_sum_to_the_cosine(name, fitted):
    embedder = fitted(name)
    explanations = explain_words(embedder, PAIRS)
    tolerance = 1e-6 if name == "single" else 1e-9
    for (text1, text2), told in zip(PAIRS, explanations, strict=True):
        assert (told.text1, told.text2) == (text1, text2)
        assert told.similarity == pytest.approx(cosine(embedder, text1, text2), abs=tolerance)
        assert told.contributions.sum() == pytest.approx(told.similarity, abs=1e-12)
        assert told.contributions.shape == (len(told.tokens1), len(told.tokens2))
        for text, tokens, offsets in (
            (text1, told.tokens1, told.offsets1),
            (text2, told.tokens2, told.offsets2),
        ):
            assert tokens == [text[start:end] for start, end in offsets]
    assert any(told.similarity > 0.1 for told in explanations)


@pytest.mark.parametrize("name", ["tfidf", "film"])
def test_word_weights_are_split_by_count(name, fitted):
    """Every contribution of single words is x_w (L'L)_ww' x_w', over counts and lengths."""
    embedder = fitted(name)
    vectorizer = embedder if name == "tfidf" else embedder[0]
    vocabulary = vectorizer.vocabulary_
    L = np.eye(len(vocabulary)) if name == "tfidf" else embedder[-1].components_
    text1, text2 = "guitar the, Guitar unknown learn", "learn the guitar in york"
    (told,) = explain_words(embedder, [(text1, text2)])
    assert told.tokens1 == ["guitar", "the", "Guitar", "unknown", "learn"]
    x1, x2 = vectorizer.transform([text1, text2]).toarray()
    lengths = np.linalg.norm(L @ x1) * np.linalg.norm(L @ x2)
    for i, word in enumerate(told.tokens1):
        for j, partner in enumerate(told.tokens2):
            w, v = vocabulary.get(word.lower()), vocabulary.get(partner)
            expected = 0.0 if w is None else x1[w] * (L[:, w] @ L[:, v]) * x2[v] / lengths
            if word.lower() == "guitar":
                expected /= 2
            assert told.contributions[i, j] == pytest.approx(expected, abs=1e-12)


def test_character_ngrams_go_to_the_words_they_are_in():
    text1, text2 = "guitar, tar! (art) banana, an", "tart, tar. (a banana"
    vectorizer = chars().fit([text1, text2])
    (told,) = explain_words(vectorizer, [(text1, text2)])
    analyze = vectorizer.build_analyzer()
    sides = []
    for text in (text1, text2):
        x = vectorizer.transform([text]).toarray()[0]
        # White space parts what "char_wb" looks at, so each part can be counted by itself.
        counts = [Counter(analyze(part)) for part in text.split()]
        total = sum(counts, Counter())
        rows = np.zeros((len(counts), len(x)))
        for row, count in enumerate(counts):
            for term, n in count.items():
                rows[row, vectorizer.vocabulary_[term]] = x[vectorizer.vocabulary_[term]] * n
                rows[row, vectorizer.vocabulary_[term]] /= total[term]
        sides.append(rows)
    expected = sides[0] @ sides[1].T
    expected /= np.linalg.norm(sides[0].sum(axis=0)) * np.linalg.norm(sides[1].sum(axis=0))
    np.testing.assert_allclose(told.contributions, expected, atol=1e-12)


def shares(vectorizer, text, feature, partner):
    """Share of a feature that each word of the text holds, read off a partner of only it."""
    (told,) = explain_words(vectorizer, [(text, partner)])
    column = told.contributions.sum(axis=1)
    assert vectorizer.transform([partner]).indices.tolist() == [vectorizer.vocabulary_[feature]]
    return column / column.sum()


LETTERS = "abcdefghijkl"


@pytest.mark.parametrize(
    ("options", "text", "feature", "expected"),
    [
        # A bigram of words goes to both of them, and a word of two windows gets both shares.
        ({}, "new york is in new york city", "new york", [1 / 4] * 2 + [0] * 2 + [1 / 4] * 2 + [0]),
        ({}, "ha ha ha so", "ha ha", [1 / 4, 1 / 2, 1 / 4, 0]),
        # Over stop words, the shortest window counts.
        (
            {"stop_words": ["of", "the", "so"]},
            "so state of the art so",
            "state art",
            [0, *[1 / 4] * 4, 0],
        ),
        # Characters across words.
        ({"analyzer": "char", "ngram_range": (3, 3)}, "a bat bay cat", "t b", [0, 0.5, 0.5, 0]),
        # Windows go as far as the n-grams.
        (
            {"analyzer": "char", "ngram_range": (1, 17)},
            " ".join(LETTERS),
            " ".join(LETTERS[1:10]),
            [0, *[1 / 9] * 9, 0, 0],
        ),
    ],
)
def test_a_feature_is_split_over_the_words_of_its_windows(options, text, feature, expected):
    vectorizer = CountVectorizer(**{"ngram_range": (2, 2)} | options, vocabulary=[feature])
    np.testing.assert_allclose(shares(vectorizer, text, feature, feature), expected, atol=1e-12)


def test_what_no_window_has_is_split_over_all_words():
    long = " ".join(LETTERS)
    vectorizer = analysed_by(lambda text: ["long"] if len(text) > 18 else [text])
    vectorizer.fit([long])
    found = shares(vectorizer, long, "long", long)
    np.testing.assert_allclose(found, np.full(12, 1 / 12), atol=1e-12)


def test_features_of_blank_texts_have_a_token():
    constant = analysed_by(lambda text: ["constant"]).fit(["x"])
    (told,) = explain_words(constant, [(" ", "")])
    assert (told.tokens1, told.tokens2) == ([" "], [""])
    assert told.contributions.tolist() == [[1.0]]


@pytest.mark.parametrize("name", ["union", "characters across words"])
def test_sides_are_alike_and_pairs_do_not_meet(name, fitted):
    embedder = fitted(name)
    together = explain_words(embedder, PAIRS)
    for (text1, text2), told in zip(PAIRS, together, strict=True):
        (turned,) = explain_words(embedder, [(text2, text1)])
        np.testing.assert_allclose(turned.contributions, told.contributions.T, atol=1e-12)
    text = max(TEXTS, key=len)
    (same,) = explain_words(embedder, [(text, text)])
    assert same.similarity == pytest.approx(1)


def test_a_fixed_vocabulary_needs_no_fitting():
    vectorizer = CountVectorizer(vocabulary=["guitar", "learn"])
    (told,) = explain_words(vectorizer, [("learn guitar", "guitar")])
    assert told.similarity == pytest.approx(1 / np.sqrt(2))


def test_dimensions_name_their_strongest_features(fitted):
    embedder = fitted("union")
    names, row = embedder[0].get_feature_names_out(), embedder[1].components_[2]
    words = words_of_dimension(embedder, 2, n=7)
    assert len(words) == 7 and any(weight < 0 for _, weight in words)
    by_name = dict(zip(names, row, strict=True))
    assert all(by_name[name] == weight for name, weight in words)
    sizes = [abs(weight) for _, weight in words]
    assert sizes == sorted(np.abs(row))[::-1][:7]
    everything = words_of_dimension(embedder, 2, n=10**6)
    assert dict(everything) == {name: weight for name, weight in by_name.items() if weight}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_dimensions_of_two_maps_are_those_of_their_product(fitted):
    embedder = fitted("normalised")
    L = embedder[-1].components_ @ embedder[1].components_
    words = dict(words_of_dimension(embedder, 1, n=10**6))
    names = embedder[0].get_feature_names_out()
    np.testing.assert_allclose([words[name] for name in names], L[1], atol=1e-12)


def test_words_of_weight_zero_are_left_out():
    lsa = make_pipeline(CountVectorizer(), TruncatedSVD(1, random_state=0)).fit(["a1 b1", "a1 c1"])
    svd: Any = lsa[-1]
    svd.components_[:] = [[0.0, -2.0, 1.0]]
    assert words_of_dimension(lsa, 0) == [("b1", -2.0), ("c1", 1.0)]


UNSUPPORTED: list[tuple[Any, str]] = [
    (HashingVectorizer(), "'embedder' is HashingVectorizer"),
    (FunctionTransformer(), "'embedder' is FunctionTransformer"),
    (Pipeline([("hash", HashingVectorizer()), ("film", film())]), "'hash' is Hashing"),
    (Pipeline([("v", TfidfVectorizer()), ("pca", PCA(2))]), "'pca' is PCA"),
    (
        Pipeline([("v", CountVectorizer()), ("svd", TruncatedSVD(2)), ("scale", MaxAbsScaler())]),
        "'scale' is MaxAbsScaler",
    ),
    (
        FeatureUnion([("v", CountVectorizer()), ("p", "passthrough")]),
        "'embedder__p' is 'passthrough'",
    ),
    (
        Pipeline(
            [("u", FeatureUnion([("lsa", make_pipeline(CountVectorizer(), TruncatedSVD(2)))]))]
        ),
        "'u__lsa__truncatedsvd' is TruncatedSVD",
    ),
    (CountVectorizer(input="filename"), "input='filename'"),
    (Pipeline([("nothing", "passthrough")]), "has no step"),
    (None, "has no step"),
]


@pytest.mark.parametrize(("embedder", "message"), UNSUPPORTED, ids=lambda value: str(value)[:40])
def test_unsupported_steps_are_named(embedder, message):
    with pytest.raises(TypeError, match=r"TfidfVectorizer|read the files first") as caught:
        explain_words(embedder, [("a", "b")])
    assert message in str(caught.value)
    with pytest.raises(TypeError):
        words_of_dimension(embedder, 0)


def test_bad_arguments_are_named(fitted):
    for embedder in (TfidfVectorizer(), make_pipeline(TfidfVectorizer(), film())):
        with pytest.raises(NotFittedError):
            explain_words(embedder, [("a", "b")])
    with pytest.raises(ValueError, match="pairs row 0, column 1 is missing"):
        explain_words(fitted("tfidf"), [("a", None)])
    with pytest.raises(TypeError, match="no learned map"):
        words_of_dimension(fitted("tfidf"), 0)
    with pytest.raises(ValueError, match="dimension=12 must be below 12"):
        words_of_dimension(fitted("film"), 12)
    with pytest.raises(ValueError, match="dimension=-1"):
        words_of_dimension(fitted("film"), -1)
    with pytest.raises(ValueError, match="n=0"):
        words_of_dimension(fitted("film"), 0, n=0)


@pytest.mark.parametrize(("n_words", "size", "n_tokens"), [(4, 1, 4), (5, 2, 3), (40, 10, 4)])
def test_a_long_text_is_explained_by_runs_of_words(n_words, size, n_tokens, monkeypatch):
    monkeypatch.setattr(words_module, "MOST_TOKENS", 4)
    tfidf = TfidfVectorizer().fit(TEXTS)
    long = " ".join(np.resize(["learn", "guitar,", "new", "york"], n_words))
    (found,) = explain_words(tfidf, [(long, "play the guitar in new york")])
    runs = [long.split()[first : first + size] for first in range(0, n_words, size)]
    assert found.tokens1 == [" ".join(run).rstrip(",") for run in runs]
    assert len(found.tokens1) == n_tokens
    one, other = tfidf.transform([long, "play the guitar in new york"]).toarray()
    assert found.similarity == pytest.approx(one @ other)
    assert found.contributions.sum() == pytest.approx(one @ other)


def test_an_explanation_of_very_long_texts_ends():
    """Products of all words with all others would take hours, and terabytes."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 20_000)) for _ in range(2)]
    (found,) = explain_words(TfidfVectorizer().fit(TEXTS), [texts])
    assert len(found.tokens1) <= 2000 and len(found.tokens2) <= 2000
    assert 0 < found.similarity <= 1 + 1e-12

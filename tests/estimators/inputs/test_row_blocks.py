import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from estimators import FILM, MiniBatchFILM, fit_vectorizer, transform_blocks
from film.corpus import cut_rows, write_blocks
from film.datasets import make_question_pairs
from film.metric import triplets_from_pairs

QUESTIONS = make_question_pairs(120, random_state=0)
TEXTS = [text for pair in QUESTIONS.pairs for text in pair]
PAIRS = np.arange(len(TEXTS)).reshape(-1, 2)
TRIPLETS = triplets_from_pairs(PAIRS, QUESTIONS.y, len(TEXTS), n_random=3, random_state=0)


@pytest.fixture
def texts(tmp_path):
    return write_blocks(tmp_path / "texts", cut_rows(TEXTS, 53))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"dtype": np.float32, "sublinear_tf": True},
        {"min_df": 3, "max_df": 0.2, "smooth_idf": False},
        {"analyzer": "char_wb", "ngram_range": (3, 3), "max_features": 90},
        {"max_features": 30, "binary": True, "use_idf": False},
        {"vocabulary": ["the", "how", "nowhere"]},
    ],
    ids=str,
)
def test_a_vectorizer_is_fitted_as_to_all_texts_at_once(texts, tmp_path, parameters):
    expected = TfidfVectorizer(**parameters)
    X = expected.fit_transform(TEXTS)
    fitted = fit_vectorizer(TfidfVectorizer(**parameters), texts)
    assert fitted.vocabulary_ == expected.vocabulary_
    blocks = transform_blocks(fitted, texts, tmp_path / "x")
    assert blocks.dtype == X.dtype
    # The logarithm of a whole array may differ from that of its parts in the last bit.
    eps = np.finfo(X.dtype).eps
    assert abs(blocks.to_memory() - X).max() <= 4 * eps


def test_one_text_is_enough_to_fit(tmp_path):
    one = ["tea or tea"]
    fitted = fit_vectorizer(TfidfVectorizer(), write_blocks(tmp_path / "one", [one]))
    expected = TfidfVectorizer().fit(one)
    assert fitted.vocabulary_ == expected.vocabulary_
    np.testing.assert_allclose(fitted.idf_, expected.idf_, rtol=1e-15)


def test_what_cannot_be_fitted_is_told(texts, tmp_path):
    with pytest.raises(TypeError, match="must be a TfidfVectorizer"):
        fit_vectorizer(HashingVectorizer(), texts)
    with pytest.raises(ValueError, match="none of the"):
        fit_vectorizer(TfidfVectorizer(min_df=2, max_df=2), write_blocks(tmp_path / "t", [["a b"]]))
    with pytest.raises(ValueError, match="max_df=2 is 2 texts, fewer"):
        fit_vectorizer(TfidfVectorizer(min_df=3, max_df=2), texts)
    numbers = write_blocks(tmp_path / "numbers", [np.eye(2)])
    with pytest.raises(TypeError, match="not of texts"):
        fit_vectorizer(TfidfVectorizer(), numbers)


def film(**parameters):
    return FILM(**({"d": 5, "rank": 30, "random_state": 0, "max_iter": 200} | parameters))


def test_film_on_blocks_is_film_in_memory(texts, tmp_path):
    vectorizer = fit_vectorizer(TfidfVectorizer(), texts)
    X = transform_blocks(vectorizer, texts, tmp_path / "x")
    whole = X.to_memory()
    # With as many dimensions as coordinates there is one best map.
    metric = film(d=30)
    on_disk, in_memory = (clone(metric).fit(rows, TRIPLETS) for rows in (X, whole))
    exact = np.linalg.svd(whole.toarray(), compute_uv=False)[:30]
    np.testing.assert_allclose(on_disk.singular_values_, exact, rtol=1e-9)
    np.testing.assert_allclose(in_memory.singular_values_, exact, rtol=0.05)
    assert on_disk.objective_ == pytest.approx(in_memory.objective_, rel=0.05)
    scores = [each.score(whole, TRIPLETS) for each in (on_disk, in_memory)]
    # In memory a hundredth of the captured energy may be missing, so that coordinates differ.
    assert scores[0] == pytest.approx(scores[1], abs=0.02) and scores[0] > 0.8
    assert on_disk.score(X, TRIPLETS) == scores[0]
    Y = transform_blocks(on_disk, X, tmp_path / "y")
    np.testing.assert_allclose(Y.to_memory(), on_disk.transform(whole), atol=1e-12)
    other = write_blocks(tmp_path / "other", [whole[:40], whole[40:]])
    recut = clone(metric).fit(other, TRIPLETS)
    np.testing.assert_allclose(recut.singular_values_, on_disk.singular_values_, rtol=1e-9)
    difference = recut.components_ - on_disk.components_
    assert abs(difference).max() < 1e-9 * abs(on_disk.components_).max()
    # With fewer dimensions, the rounds amplify a last bit of XᵀX until it switches an anchor's
    # hinge: after five rounds maps are 1e-14 apart, after twenty 1e-12, and then they may part.
    assert film().fit(X, TRIPLETS).score(X, TRIPLETS) > 0.8
    with pytest.warns(ConvergenceWarning, match="max_iter was reached"):
        early, recut = (film(max_iter=5).fit(each, TRIPLETS).components_ for each in (X, other))
    assert abs(recut - early).max() < 1e-9 * abs(early).max()
    again, first = (film().fit(X, TRIPLETS).components_ for _ in range(2))
    assert np.array_equal(again, first)


def test_film_mines_triplets_of_labels_for_blocks(texts, tmp_path):
    vectorizer = fit_vectorizer(TfidfVectorizer(), texts)
    X = transform_blocks(vectorizer, texts, tmp_path / "x")
    metric = film().fit(X, np.repeat(np.arange(len(PAIRS)), 2))
    assert metric.n_features_in_ == X.shape[1] and metric.n_triplets_ > len(TEXTS)


def test_what_needs_rows_in_memory_is_refused(texts, tmp_path):
    X = write_blocks(tmp_path / "x", [np.eye(4)])
    T = [[0, 1, 2]]
    for metric, error, what in [
        (film(threshold=0.5), ValueError, "threshold=0.5 needs all points in memory"),
        (film(n_nearest=2), ValueError, "n_nearest=2 needs all points in memory"),
        (MiniBatchFILM(), TypeError, "one by one to partial_fit"),
    ]:
        with pytest.raises(error, match=what):
            metric.fit(X, T)
    with pytest.raises(TypeError, match="blocks of texts"):
        film().fit(texts, T)
    with pytest.raises(ValueError, match="only zeros"):
        film().fit(write_blocks(tmp_path / "zeros", [np.zeros((4, 3))]), T)


def test_a_killed_transformation_goes_on(texts, tmp_path):
    calls = []

    class Stopped(TfidfVectorizer):
        def transform(self, raw_documents):
            calls.append(len(raw_documents))
            if len(calls) == 3:
                raise KeyboardInterrupt
            return super().transform(raw_documents)

    globals()["Stopped"] = Stopped
    Stopped.__qualname__ = "Stopped"
    vectorizer = fit_vectorizer(Stopped(), texts)
    with pytest.raises(KeyboardInterrupt):
        transform_blocks(vectorizer, texts, tmp_path / "x")
    blocks = transform_blocks(vectorizer, texts, tmp_path / "x")
    assert len(calls) == 3 + texts.n_blocks - 2
    assert abs(blocks.to_memory() - TfidfVectorizer().fit_transform(TEXTS)).max() < 1e-15


def test_partial_fit_learns_from_a_stream_of_labelled_pairs():
    vectorizer = HashingVectorizer(n_features=2**12, alternate_sign=False)
    metric = MiniBatchFILM(d=20, rank=100, random_state=0)
    X = vectorizer.transform(TEXTS)
    scores = []
    for _ in range(2):
        for start in range(0, len(PAIRS), 30):
            some = slice(start, start + 30)
            n = len(PAIRS[some])
            local = np.arange(2 * n).reshape(-1, 2)
            triplets = triplets_from_pairs(
                local, QUESTIONS.y[some], 2 * n, n_random=5, random_state=start
            )
            metric.partial_fit(X[2 * start : 2 * (start + n)], triplets)
            scores.append(metric.score(X, TRIPLETS))
    assert scores[-1] > scores[0] + 0.02 and scores[-1] > 0.85

import numpy as np
import pytest

from film.tokens.chunks import (
    chunk_cosines,
    chunk_membership,
    chunk_scores,
    mutual_maxima,
    with_neighbours,
    word_spans,
)


def test_words_stand_where_the_joined_sentence_has_them():
    words = ["A", "naïve", "😀", "cat."]
    sentence = " ".join(words)
    assert [sentence[start:end] for start, end in word_spans(words)] == words
    assert word_spans([]).shape == (0, 2)


def test_tokens_belong_to_the_chunks_whose_words_they_overlap():
    # "can't stop . now": [CLS] can ' t stop . now [SEP], and an empty token inside "stop".
    spans = [(0, 0), (0, 3), (3, 4), (4, 5), (6, 10), (8, 8), (11, 12), (13, 16), (0, 0)]
    words = word_spans(["can't", "stop", ".", "now"])
    expected = [
        [0, 1, 1, 1, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0, 0],
    ]
    found = chunk_membership([[0, 3], [1], [2]], words, spans)
    assert found.dtype == bool and found.tolist() == np.array(expected, dtype=bool).tolist()


def test_a_token_over_a_boundary_is_in_both_chunks_and_a_blank_is_in_none():
    words = word_spans(["New", "York", "City"])
    # "New York" as one token; " City" with the blank before it; the blank alone.
    found = chunk_membership([[0], [1], [2]], words, [(0, 8), (8, 13), (8, 9)])
    assert found.astype(int).tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_membership_is_a_shared_character_for_random_spans():
    rng = np.random.default_rng(0)
    for _ in range(50):
        words = word_spans(["x" * n for n in rng.integers(1, 5, size=6)])
        tokens = np.sort(rng.integers(0, words[-1, 1] + 3, size=(8, 2)), axis=1)
        chunks = [rng.choice(6, size=rng.integers(1, 4), replace=False).tolist() for _ in range(4)]
        characters = [{c for w in chunk for c in range(*words[w])} for chunk in chunks]
        expected = [[bool(own & set(range(*token))) for token in tokens] for own in characters]
        assert chunk_membership(chunks, words, tokens).tolist() == expected


def test_membership_without_words():
    tokens = [(0, 1), (1, 2), (2, 3)]
    assert chunk_membership([], [], tokens).shape == (0, 3)
    assert chunk_membership([[]], [], tokens).tolist() == [[False] * 3]


def test_membership_without_chunks_or_tokens():
    assert chunk_membership([], [[0, 1]], [[0, 1]]).shape == (0, 1)
    assert chunk_membership([[0]], [[0, 1]], []).shape == (1, 0)
    assert chunk_membership([[]], [[0, 1]], [[0, 1]]).tolist() == [[False]]


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_block_means_or_sums(seed):
    rng = np.random.default_rng(seed)
    contributions = rng.normal(size=(7, 9))
    first, second = rng.random((3, 7)) < 0.5, rng.random((4, 9)) < 0.5
    first[0], second[1] = False, False
    # One token each.
    first[1], second[0] = np.arange(7) == 2, np.arange(9) == 5
    means, sums = np.zeros((3, 4)), np.zeros((3, 4))
    for i in range(3):
        for j in range(4):
            block = contributions[np.ix_(first[i], second[j])]
            sums[i, j] = block.sum()
            means[i, j] = block.mean() if block.size else 0
    np.testing.assert_allclose(chunk_scores(contributions, first, second), means, atol=1e-14)
    summed = chunk_scores(contributions, first, second, pooling="sum")
    np.testing.assert_allclose(summed, sums, atol=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_mutual_maxima_against_a_loop(seed):
    rng = np.random.default_rng(seed)
    # Whole numbers, so that there are ties, zeros and negative rows.
    scores = rng.integers(-3, 4, size=rng.integers(1, 6, size=2)).astype(float)
    expected = [
        (i, j)
        for i, row in enumerate(scores.tolist())
        for j, value in enumerate(row)
        if value > 0
        and row.index(max(row)) == j
        and scores[:, j].tolist().index(scores[:, j].max()) == i
    ]
    assert mutual_maxima(scores) == expected


def test_no_chunks_align_to_nothing():
    assert mutual_maxima(np.zeros((0, 3))) == [] and mutual_maxima(np.zeros((3, 0))) == []


@pytest.mark.parametrize("seed", range(3))
def test_cosines_of_chunks_against_a_loop(seed):
    rng = np.random.default_rng(seed)
    x1, x2 = rng.standard_normal((5, 4)), rng.standard_normal((6, 4))
    m1, m2 = rng.random((3, 5)) < 0.5, rng.random((2, 6)) < 0.5
    m1[0], m2[1] = False, [True, *[False] * 5]
    found = chunk_cosines(x1, x2, m1, m2)
    for i in range(3):
        for j in range(2):
            a, b = x1[m1[i]].sum(axis=0), x2[m2[j]].sum(axis=0)
            length = np.linalg.norm(a) * np.linalg.norm(b)
            assert found[i, j] == pytest.approx(a @ b / length if length else 0, abs=1e-12)
    np.testing.assert_allclose(chunk_cosines(10 * x1, x2, m1, m2), found, atol=1e-12)


def test_only_scores_above_the_limit_align():
    scores = [[0.5, 0.1], [0.2, 0.3]]
    assert mutual_maxima(scores, above=0.3) == [(0, 0)]
    assert mutual_maxima(scores, above=0.29) == [(0, 0), (1, 1)]
    assert mutual_maxima([[-0.5]], above=-1.0) == [(0, 0)]


@pytest.mark.parametrize("seed", range(5))
def test_neighbours_support_a_score_by_definition(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(0, 5, size=2)
    scores = rng.normal(size=shape)
    kept = scores.copy()
    found = with_neighbours(scores, 0.3)
    for i in range(shape[0]):
        for j in range(shape[1]):
            before = scores[i - 1, j - 1] if i and j else 0
            after = scores[i + 1, j + 1] if i + 1 < shape[0] and j + 1 < shape[1] else 0
            assert found[i, j] == pytest.approx(scores[i, j] + 0.3 * (before + after) / 2)
    np.testing.assert_array_equal(scores, kept)
    np.testing.assert_array_equal(with_neighbours(scores, 0), kept)
    np.testing.assert_array_equal(with_neighbours(scores), with_neighbours(scores, 0.1))
    # Nothing changes where both texts are turned round, or change places.
    np.testing.assert_allclose(with_neighbours(scores[::-1, ::-1], 0.3)[::-1, ::-1], found)
    np.testing.assert_allclose(with_neighbours(scores.T, 0.3).T, found)


def test_a_verb_between_aligned_chunks_aligns():
    scores = [[0.9, 0.1, 0.0], [0.2, 0.3, 0.1], [0.0, 0.1, 0.7]]
    assert mutual_maxima(scores, above=0.35) == [(0, 0), (2, 2)]
    assert mutual_maxima(with_neighbours(scores), above=0.35) == [(0, 0), (1, 1), (2, 2)]

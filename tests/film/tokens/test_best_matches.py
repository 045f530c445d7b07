"""Triplets of tokens against loops."""

import numpy as np
import pytest

from film.metric import check_triplets
from film.tokens import Ragged, token_triplets


def texts_of(lengths, seed=0, width=5):
    rng = np.random.default_rng(seed)
    return Ragged.from_rows([rng.normal(size=(n, width)).astype(np.float32) for n in lengths])


def cosine(x, y):
    return float(np.dot(x.astype(float), y.astype(float)) / np.linalg.norm(x) / np.linalg.norm(y))


def looped(tokens, triplets):
    found = []
    for anchor, *others in triplets:
        for i in range(tokens.starts[anchor], tokens.starts[anchor + 1]):
            row = [i]
            for other in others:
                places = range(tokens.starts[other], tokens.starts[other + 1])
                cosines = [cosine(tokens.values[i], tokens.values[j]) for j in places]
                row.append(places[int(np.argmax(cosines))] if cosines else len(tokens.values))
            if row[1] != row[2]:
                found.append(row)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_they_are_those_of_a_loop(seed):
    lengths = [3, 1, 4, 2, 5, 0]
    tokens = texts_of(lengths, seed)
    # The last text is empty: a match in it is the row after all tokens.
    triplets = [[0, 1, 2], [2, 0, 4], [4, 3, 1], [2, 0, 1], [3, 5, 0], [1, 2, 5], [0, 1, 2]]
    found = token_triplets(tokens, triplets)
    assert found.tolist() == looped(tokens, triplets)
    check_triplets(found, len(tokens.values) + 1)


def test_lengths_of_tokens_change_nothing():
    tokens = texts_of([4, 4, 4])
    scales = np.random.default_rng(1).uniform(0.1, 10, size=(12, 1)).astype(np.float32)
    scaled = Ragged(tokens.values * scales, tokens.starts)
    triplets = [[0, 1, 2], [1, 2, 0]]
    np.testing.assert_array_equal(
        token_triplets(tokens, triplets), token_triplets(scaled, triplets)
    )


def test_two_empty_texts_are_no_triplet():
    tokens = Ragged.from_rows([np.ones((2, 3)), np.zeros((0, 3)), np.zeros((0, 3))])
    assert token_triplets(tokens, [[0, 1, 2]]).shape == (0, 3)
    for nothing in (np.empty((0, 3), dtype=int), []):
        found = token_triplets(tokens, nothing)
        assert found.shape == (0, 3) and found.dtype == np.intp


def test_a_vector_of_zeros_is_the_best_match_where_all_others_are_opposite():
    tokens = Ragged.from_rows([[[1.0, 0.0]], [[-1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0]]])
    assert token_triplets(tokens, [[0, 1, 2]]).tolist() == [[0, 2, 3]]


def test_a_text_of_one_token_is_no_empty_one():
    tokens = Ragged.from_rows([np.eye(2), np.ones((1, 2)), np.zeros((0, 2))])
    assert token_triplets(tokens, [[0, 1, 2]]).tolist() == [[0, 2, 3], [1, 2, 3]]
    assert token_triplets(tokens, [[0, 2, 1]]).tolist() == [[0, 3, 2], [1, 3, 2]]
    # One text three times is no triplet that anyone mines, and all its numbers are texts.
    assert token_triplets(tokens, [[1, 1, 1]]).tolist() == [[2, 2, 2]]


def test_a_vector_of_zeros_is_none_where_another_is_near():
    x, zero = np.array([1.0, 0.5]), np.zeros(2)
    tokens = Ragged.from_rows([[x], [zero, x], [zero, -x]])
    with np.errstate(all="raise"):
        assert token_triplets(tokens, [[0, 1, 2]]).tolist() == [[0, 2, 3]]

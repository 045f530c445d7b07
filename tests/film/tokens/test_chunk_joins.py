import numpy as np
import pytest

from film.tokens.chunks import chunk_cosines, joined_chunks, mutual_maxima, with_neighbours


def random_chunks(rng, n_tokens):
    """Chunks of tokens in order, some tokens in none, as a membership table."""
    places = rng.integers(-1, 4, size=n_tokens)
    return np.array([places == chunk for chunk in range(4)])


def joined_by_a_loop(x1, x2, members1, members2, scores, aligned, above, gain):
    found = set()
    for x, y, own, other, table, links, turned in (
        (x1, x2, members1, members2, scores, aligned, False),
        (x2, x1, members2, members1, scores.T, [(j, i) for i, j in aligned], True),
    ):
        partners = dict(links)
        for j in range(len(other)):
            i = max(range(len(own)), key=lambda row, j=j, table=table: table[row, j])
            if j in partners.values() or i not in partners or table[i, j] <= above:
                continue
            total = 0.0
            for k in np.flatnonzero(own[i]):
                best = [-1.0, -1.0]
                for place, chunk in enumerate((j, partners[i])):
                    for token in np.flatnonzero(other[chunk]):
                        norms = np.linalg.norm(x[k]) * np.linalg.norm(y[token])
                        best[place] = max(best[place], x[k] @ y[token] / norms)
                total += max(0.0, best[0] - best[1])
            if total > gain:
                found.add((j, i) if turned else (i, j))
    return sorted(found)


@pytest.mark.parametrize("gain", [0.2, 0.5])
def test_joined_chunks_by_a_loop(gain):
    rng = np.random.default_rng(0)
    n_joined = 0
    for _ in range(150):
        x1, x2 = rng.normal(size=(9, 3)), rng.normal(size=(7, 3))
        m1, m2 = random_chunks(rng, 9), random_chunks(rng, 7)
        scores = with_neighbours(chunk_cosines(x1, x2, m1, m2))
        aligned = mutual_maxima(scores, above=0.3)
        found = joined_chunks(x1, x2, m1, m2, scores, aligned, above=0.3, gain=gain)
        assert found == joined_by_a_loop(x1, x2, m1, m2, scores, aligned, 0.3, gain)
        n_joined += len(found)
        # Texts may change places, and lengths of vectors do not count.
        turned = [(j, i) for i, j in aligned]
        again = joined_chunks(3 * x2, x1, m2, m1, scores.T, turned, above=0.3, gain=gain)
        assert sorted((i, j) for j, i in again) == found
    assert n_joined > 10


def test_a_chunk_joins_where_it_says_what_the_partner_does_not():
    # "terminals 1 and 6" for "terminal 1" and "terminal 6".
    terminal, one, six = np.eye(3)
    whole, parts = [[True] * 3], [[True, True, False, False], [False, False, True, True]]
    x1, x2 = np.array([terminal, one, six]), np.array([terminal, one, terminal, six])
    scores = np.array([[0.8, 0.79]])
    assert joined_chunks(x1, x2, whole, parts, scores, [(0, 0)]) == [(0, 1)]
    assert joined_chunks(x1, x2, whole, parts, scores, [(0, 1)]) == [(0, 0)]
    # It says one token more, which is a gain of 1 and not above that.
    assert joined_chunks(x1, x2, whole, parts, scores, [(0, 0)], gain=1.0) == []
    # What only repeats the partner does not join, nor does anything to a chunk without partner.
    repeated = np.array([terminal, one, terminal, one])
    assert joined_chunks(x1, repeated, whole, parts, scores, [(0, 0)]) == []
    assert joined_chunks(x1, x2, whole, parts, scores, []) == []
    # The limit holds for the score of the pair that joins.
    assert joined_chunks(x1, x2, whole, parts, scores, [(0, 0)], above=0.79) == []
    assert joined_chunks(x1, x2, whole, parts, scores, [(0, 0)], above=0.78) == [(0, 1)]


def test_a_chunk_joins_its_best_alone():
    x1, x2 = np.eye(4), np.eye(4)
    m1 = np.array([[True, True, False, False], [False, False, True, True]])
    m2 = np.array(
        [[True, False, False, False], [False, False, True, False], [False, True, False, True]]
    )
    scores = np.array([[0.7, 0.0, 0.6], [0.0, 0.7, 0.5]])
    aligned = [(0, 0), (1, 1)]
    # The third chunk says a token of both, and is nearer to the first.
    assert joined_chunks(x1, x2, m1, m2, scores, aligned) == [(0, 2)]
    assert joined_chunks(x1, x2, m1, m2, scores[:, [0, 1, 2]][::-1], [(1, 0), (0, 1)]) == [(1, 2)]


def test_chunks_without_tokens_join_nothing():
    x = np.eye(2)
    m1, m2 = [[True, True]], [[True, False], [False, False]]
    assert joined_chunks(x, x, m1, m2, [[0.9, 0.8]], [(0, 0)]) == []
    assert joined_chunks(x, x, np.zeros((0, 2)), m2, np.zeros((0, 2)), []) == []
    assert joined_chunks(x, x, m2, np.zeros((0, 2)), np.zeros((2, 0)), []) == []

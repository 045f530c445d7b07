import numpy as np
import pytest

from film.contexts import diverse_contexts, make_corpus, own_places, select_contexts, word_sets

WORDS = ["a", "b", "cc", "dd", "eee", "fff", "gggg", "hhhh"]


def jaccard(a, b):
    return len(a & b) / len(a | b) if a | b else 1.0


def greedy(centres, chunks, words, size, excluded):
    chosen = []
    for k in range(len(centres)):
        if centres[k] in excluded or len(chosen) == size:
            continue
        if any(chunks[k] == chunks[j] for j in chosen):
            continue
        if all(jaccard(words[k], words[j]) < 0.5 for j in chosen):
            chosen.append(k)
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_selection_is_that_of_comparing_all_with_all(seed):
    rng = np.random.default_rng(seed)
    m = 60
    centres = rng.permutation(200)[:m]
    words = [frozenset(rng.choice(WORDS, size=rng.integers(0, 7)).tolist()) for _ in range(m)]
    for chunks in (centres // 4, centres):
        excluded = rng.choice(centres, 5)
        chosen = select_contexts(centres, chunks, words, 12, excluded=excluded)
        assert chosen.dtype == np.int64
        assert chosen.tolist() == greedy(centres, chunks, words, 12, excluded)


def test_own_places_hold_every_context_with_the_sentence():
    assert own_places([3, 4, 10]).tolist() == [2, 3, 4, 5, 9, 10, 11]
    assert own_places([]).tolist() == []


@pytest.fixture(scope="module")
def corpus():
    documents = [
        " ".join(f"Word{k} {'un' * k}der tale{d}x{k} ended." for k in range(30)) for d in range(4)
    ]
    return make_corpus(documents, chunk_length=5)


def test_a_fixed_set_keeps_the_rules_and_is_the_same_each_time(corpus):
    rows = diverse_contexts(corpus, 20, random_state=3)
    assert len(set(rows.tolist())) == 20 and (np.diff(rows) > 0).all()
    assert np.isin(rows, corpus.centres()).all()
    assert len(set(corpus.chunks[rows].tolist())) == 20
    words = word_sets(corpus.texts(rows - 1))
    assert all(jaccard(words[i], words[j]) < 0.5 for i in range(20) for j in range(i))
    np.testing.assert_array_equal(rows, diverse_contexts(corpus, 20, random_state=3))
    assert rows.tolist() != diverse_contexts(corpus, 20, random_state=4).tolist()


def test_a_corpus_too_small_says_what_it_has(corpus):
    with pytest.raises(ValueError, match=r"size must be at most 2\d .*got 25"):
        diverse_contexts(corpus, 25)


def test_a_corpus_without_contexts_says_so():
    corpus = make_corpus(["One. Two.", "Three."])
    with pytest.raises(
        ValueError, match="at most 0 for this corpus, got 1: it has 3 sentences, 0 of"
    ):
        diverse_contexts(corpus, 1)

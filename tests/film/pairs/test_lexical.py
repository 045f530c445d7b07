"""Lexical features of pairs, against plain Python on sets and lists of words."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from rapidfuzz import distance, fuzz

from film.pairs import (
    EDIT_NAMES,
    OVERLAP_NAMES,
    SEQUENCE_NAMES,
    SIGN_NAMES,
    are_spelled_alike,
    edit_features,
    overlap_features,
    pair_cosines,
    row_cosines,
    sequence_features,
    sign_features,
    spelled_alike,
)
from film.pairs.lexical import overlap
from film.pairs.lexical.edits import EDIT_CHARACTERS
from film.pairs.lexical.sequences import QUESTION_WORDS
from film.pairs.lexical.signs import NEGATIONS

STOP = frozenset("the a of is".split())
WORDS = "is what how not isn t red car 5 10km the a of blue été 東京 where can never".split()


def random_sentences(n, seed):
    rng = np.random.default_rng(seed)
    return [rng.choice(WORDS, size=rng.integers(0, 9)).tolist() for _ in range(n)]


def random_pairs(n, seed):
    """Sentences beside others, beside themselves, and beside nothing."""
    first, second = random_sentences(n, seed), random_sentences(n, seed + 1)
    return [*first, first[0], [], [], first[1]], [*second, first[0], [], first[1], []]


def named(names, features):
    return [dict(zip(names, row, strict=True)) for row in features.tolist()]


def sparse_or_dense(kind, values):
    return values if kind == "dense" else sp.csr_array(values)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_row_cosines_are_those_of_a_loop(kind):
    rng = np.random.default_rng(0)
    first = rng.standard_normal((40, 6)) * (rng.random((40, 6)) < 0.6)
    second = rng.standard_normal((40, 6)) * np.logspace(-6, 6, 40)[:, None]
    first[3], second[5], first[7], second[7] = 0, 0, 0, 0
    wanted = [
        0.0 if not (x.any() and z.any()) else math.fsum(x * z) / math.hypot(*x) / math.hypot(*z)
        for x, z in zip(first, second, strict=True)
    ]
    x, z = sparse_or_dense(kind, first), sparse_or_dense(kind, second)
    found = row_cosines(x, z)
    # Dot products and lengths of six entries: a few roundings of 1e-16.
    assert np.allclose(found, wanted, rtol=0, atol=1e-14)
    assert np.array_equal(found, row_cosines(z, x))
    assert found[[3, 5, 7]].tolist() == [0, 0, 0]


def test_single_precision_rows_are_summed_in_double():
    rng = np.random.default_rng(1)
    dense = rng.standard_normal((3, 20_000)).astype(np.float32)
    found = row_cosines(dense, dense[::-1].copy())
    assert found.dtype == np.float64
    double = dense.astype(np.float64)
    # Each product is rounded once at most, the sum is not.
    assert np.allclose(found, row_cosines(double, double[::-1]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_no_rows_have_no_cosines(kind):
    empty = sparse_or_dense(kind, np.zeros((0, 4)))
    assert row_cosines(empty, empty).shape == (0,)


def bags(sentences):
    """Counts over WORDS; features must look at which words occur, not how often."""
    counts = np.zeros((len(sentences), len(WORDS)))
    for row, words in enumerate(sentences):
        for word in words:
            counts[row, WORDS.index(word)] += 1
    return sp.csr_array(counts)


RARITY = np.random.default_rng(5).random(len(WORDS)) * 8 + 1


def overlap_by_hand(x, z):
    weight = dict(zip(WORDS, RARITY, strict=True))
    x, z = set(x), set(z)
    shared, only_x, only_z = x & z, x - z, z - x
    w_both, w_x, w_z = (math.fsum(weight[w] for w in words) for words in (shared, only_x, only_z))
    top_both, top_x, top_z = (
        max((weight[w] for w in words), default=0.0) for words in (shared, only_x, only_z)
    )
    return {
        "words shared": len(shared),
        "words in the shorter": min(len(x), len(z)),
        "words in the longer": max(len(x), len(z)),
        "share of all words": len(shared) / len(x | z) if x | z else 0.0,
        "share of the shorter's words": len(shared) / min(len(x), len(z)) if x and z else 0.0,
        "rarity shared": w_both,
        "rarity unshared, lesser side": min(w_x, w_z),
        "rarity unshared, greater side": max(w_x, w_z),
        "share of all rarity": w_both / (w_both + w_x + w_z) if x | z else 0.0,
        "rarest shared word": top_both,
        "rarest unshared word, lesser side": min(top_x, top_z),
        "rarest unshared word, greater side": max(top_x, top_z),
    }


def test_overlaps_are_those_of_sets_of_words(monkeypatch):
    first, second = random_pairs(60, seed=10)
    rows, n = bags([*first, *second]), len(first)
    pairs = np.column_stack([np.arange(n), n + np.arange(n)])
    found = overlap_features(rows, pairs, RARITY)
    for row, features in enumerate(named(OVERLAP_NAMES, found)):
        assert features == pytest.approx(overlap_by_hand(first[row], second[row]), abs=1e-12)
    assert np.array_equal(found, overlap_features(rows, pairs[:, ::-1], RARITY))
    assert (bags([*first, *second]) != rows).nnz == 0  # the argument is as it was
    monkeypatch.setattr(overlap, "_BLOCK_PAIRS", 7)
    assert np.array_equal(found, overlap_features(rows, pairs, RARITY))


def test_stored_zeros_are_no_words():
    values, columns, starts = [0.0, 3.0, 1.0, 1.0], [0, 1, 0, 1], [0, 2, 4]
    stored = sp.csr_array((np.array(values), np.array(columns), np.array(starts)), shape=(2, 3))
    plain = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    pairs, rarity = np.array([[0, 1]]), np.array([1.0, 2.0, 3.0])
    wanted = overlap_features(plain, pairs, rarity)
    assert np.array_equal(overlap_features(stored, pairs, rarity), wanted)
    assert stored.nnz == 4


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (2, 3)])
def test_texts_without_words_overlap_in_nothing(shape):
    pairs = np.repeat(np.arange(shape[0])[:, None], 2, axis=1)
    found = overlap_features(sp.csr_array(shape), pairs, np.ones(shape[1]))
    assert np.array_equal(found, np.zeros((shape[0], len(OVERLAP_NAMES))))


def shared_start(x, z):
    return next((i for i in range(min(len(x), len(z))) if x[i] != z[i]), min(len(x), len(z)))


def sequence_by_hand(x, z):
    text_x, text_z = " ".join(x), " ".join(z)
    content_x, content_z = ({w for w in words if w not in STOP} for words in (x, z))
    only_x, only_z = content_x - content_z, content_z - content_x
    numbers_x, numbers_z = ({w for w in words if set(w) & set("0123456789")} for words in (x, z))
    both_ask = bool(x and z) and x[0] in QUESTION_WORDS and z[0] in QUESTION_WORDS
    return {
        "same first word": bool(x and z) and x[0] == z[0],
        "same last word": bool(x and z) and x[-1] == z[-1],
        "same first words": shared_start(x, z),
        "same last words": shared_start(x[::-1], z[::-1]),
        "content words shared": len(content_x & content_z),
        "share of all content words": (
            len(content_x & content_z) / len(content_x | content_z) if content_x | content_z else 0
        ),
        "share of the shorter's content words": (
            len(content_x & content_z) / min(len(content_x), len(content_z))
            if content_x and content_z
            else 0
        ),
        "content words unshared, lesser side": min(len(only_x), len(only_z)),
        "content words unshared, greater side": max(len(only_x), len(only_z)),
        "numbers shared": len([w for w in numbers_x if w in numbers_z]),
        "numbers unshared": len([w for w in numbers_x | numbers_z if (w in x) != (w in z)]),
        "negation on one side": any(w in NEGATIONS for w in x) != any(w in NEGATIONS for w in z),
        "different question words": both_ask and x[0] != z[0],
        "characters in the longer": max(len(text_x), len(text_z)),
        "difference in characters": abs(len(text_x) - len(text_z)),
    }


def test_sequences_are_those_of_lists_of_words():
    first, second = random_pairs(200, seed=20)
    found = sequence_features(first, second, STOP)
    for row, features in enumerate(named(SEQUENCE_NAMES, found)):
        wanted = {name: float(v) for name, v in sequence_by_hand(first[row], second[row]).items()}
        assert features == pytest.approx(wanted, abs=1e-15)
    assert np.array_equal(found, sequence_features(second, first, list(STOP)))
    # Features that never vary would be tested in name only.
    assert (found.std(axis=0) > 0).all()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("can i go", "can t i go", 1),
        ("can i go", "could i go", 0),
        ("i don t go", "i never go", 0),
        ("go", "nobody goes", 1),
        ("i cant", "i can", 1),
        ("", "no", 1),
    ],
)
def test_negation_is_found_in_what_normalisation_leaves(first, second, expected):
    features = sequence_features([first.split()], [second.split()], ())
    assert named(SEQUENCE_NAMES, features)[0]["negation on one side"] == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("why go", "how go", 1),
        ("why go", "why go", 0),
        ("why go", "please go", 0),
        ("go why", "go how", 0),
        ("why", "", 0),
    ],
)
def test_question_words_count_where_both_texts_begin_with_one(first, second, expected):
    features = sequence_features([first.split()], [second.split()], ())
    assert named(SEQUENCE_NAMES, features)[0]["different question words"] == expected


def random_texts(n, seed):
    return [" ".join(words) for words in random_sentences(n, seed)]


def test_edits_are_those_of_the_library():
    first, second = random_texts(80, 30), random_texts(80, 31)
    found = edit_features(first, second)
    for row, (x, z) in enumerate(zip(first, second, strict=True)):
        assert found[row].tolist() == [
            fuzz.ratio(x, z) / 100,
            fuzz.partial_ratio(x, z) / 100,
            fuzz.token_sort_ratio(x, z) / 100,
            fuzz.token_set_ratio(x, z) / 100,
            distance.JaroWinkler.similarity(x, z),
        ]
    assert ((found >= 0) & (found <= 1)).all()
    assert np.array_equal(found, edit_features(second, first))


def test_edit_similarity_is_that_of_insertions_and_deletions():
    def common_subsequence(x, z):
        table = np.zeros((len(x) + 1, len(z) + 1), dtype=int)
        for i, a in enumerate(x):
            for j, b in enumerate(z):
                best = max(table[i, j + 1], table[i + 1, j])
                table[i + 1, j + 1] = table[i, j] + 1 if a == b else best
        return table[-1, -1]

    first, second = random_texts(15, 40), random_texts(15, 41)
    found = named(EDIT_NAMES, edit_features(first, second))
    for x, z, features in zip(first, second, found, strict=True):
        wanted = 2 * common_subsequence(x, z) / (len(x) + len(z)) if x or z else 1.0
        assert features["edit similarity"] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("length", [5, 12, 64, 65, 130])
def test_a_best_part_is_looked_for_in_either_text(length):
    # Not every library finds the same best part from both sides of texts of one length.
    rng = np.random.default_rng(length)
    first, second = (
        ["".join(rng.choice(list("abc "), length + rng.integers(2))) for _ in range(100)]
        for _ in range(2)
    )
    assert np.array_equal(edit_features(first, second), edit_features(second, first))


def test_texts_are_cut_before_edits_are_counted():
    head = "ab" * (EDIT_CHARACTERS // 2)
    assert edit_features([head + "x" * 100_000], [head]).tolist() == [[1.0] * 5]
    assert edit_features([head[:-1] + "x"], [head])[0, 0] == pytest.approx(0.999, abs=1e-12)


def test_texts_of_no_letters_have_edits_too():
    found = edit_features(["", ""], ["", "a"])
    assert np.isfinite(found).all()
    assert named(EDIT_NAMES, found)[0]["edit similarity"] == 1
    assert found[1].tolist() == [0] * 5


def test_many_pairs_are_spelled_alike_where_each_is():
    first, second = random_pairs(300, seed=70)
    slips = [
        ("learn", "laern"),
        ("learn", "learnt"),
        ("learn", "yearn"),
        ("12345", "12346"),
        ("can not", "cannot"),
        ("c c", "cc"),
    ]
    for words in random_sentences(60, 72):
        for left, right in slips:
            place = len(words) // 2
            first.append([*words[:place], *left.split(), *words[place:]])
            second.append([*words[:place], *right.split(), *words[place:]])
    found = are_spelled_alike(first, second)
    assert found.tolist() == [spelled_alike(*pair) for pair in zip(first, second, strict=True)]
    assert found.tolist() == sign_features(first, second)[:, 3].tolist()
    assert 100 < found.sum() < len(found) - 100


@pytest.mark.parametrize("features", [sequence_features, sign_features])
def test_sequences_that_are_one_object_are_read_as_copies_of_it(features):
    sentences = random_sentences(20, seed=80)
    rng = np.random.default_rng(81)
    pairs = rng.integers(0, 20, (200, 2))
    more = (STOP,) if features is sequence_features else ()
    shared = features(*([sentences[i] for i in side] for side in pairs.T), *more)
    apart = features(*([list(sentences[i]) for i in side] for side in pairs.T), *more)
    assert np.array_equal(shared, apart)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_cosines_of_listed_rows_are_those_of_rows_beside_rows(kind, monkeypatch):
    monkeypatch.setattr(overlap, "_BLOCK_PAIRS", 7)
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((30, 6)) * (rng.random((30, 6)) < 0.6)
    rows[4] = 0
    rows, pairs = sparse_or_dense(kind, rows), rng.integers(0, 30, (100, 2))
    pairs[5] = 4
    first, second = pairs.T
    assert np.array_equal(pair_cosines(rows, pairs), row_cosines(rows[first], rows[second]))
    assert pair_cosines(rows, pairs[:0]).shape == (0,)


def test_names_are_as_many_as_columns_even_of_no_pairs():
    for names, features in [
        (SEQUENCE_NAMES, sequence_features([], [], STOP)),
        (EDIT_NAMES, edit_features([], [])),
        (SIGN_NAMES, sign_features([], [])),
        (OVERLAP_NAMES, overlap_features(sp.csr_array((0, 2)), np.empty((0, 2), int), np.ones(2))),
    ]:
        assert features.shape == (0, len(names))
        assert features.dtype == np.float64
        assert len(set(names)) == len(names)


def test_sides_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"second is shorter than first \(1 and 2"):
        sequence_features([["a"], ["b"]], [["a"]], ())
    with pytest.raises(ValueError, match=r"first is shorter than second \(1 and 2"):
        edit_features(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="second is shorter"):
        sign_features([["a"], ["b"]], [["a"]])


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ("is c++ hard", "is c# hard", [2, 0, 2, 0]),
        ("price is -5", "price is 5 %", [2, 0, 3, 0]),
        ("😀 😀 yes", "😀 yes", [1, 0, 1, 0]),
        ("cats not dogs", "dogs not cats", [0, 2, 4, 0]),
        ("i don t know", "i know don t", [0, 1, 2, 0]),
        ("learn python now", "learn pyhton now", [0, 0, 2, 1]),
        ("learn python", "learn python", [0, 0, 0, 1]),
        ("can not go", "cannot go", [0, 0, 3, 1]),
        ("the hollywood film", "the bollywood film", [0, 0, 2, 0]),
        ("iran or iraq", "iraq or iraq", [0, 0, 2, 0]),
        ("item 12345", "item 12346", [0, 0, 2, 0]),
        ("1 2", "12", [0, 0, 3, 0]),
        ("", "", [0, 0, 0, 0]),
    ],
)
def test_signs_negation_order_and_spelling(first, second, wanted):
    for left, right in ((first, second), (second, first)):
        assert sign_features([left.split()], [right.split()]).tolist() == [wanted]

"""Numbers of unique texts, and lists of texts checked."""

import re

import numpy as np
import pytest

from estimators._pairs import check_pairs, normalized_codes
from estimators._texts import TextIndex, as_texts, check_texts


def test_texts_that_read_alike_share_a_number():
    index = TextIndex()
    codes = index.add(["Who?", "who", "Why", "  WHO!! ", "ＷＨＹ"])
    assert codes.tolist() == [0, 0, 1, 0, 1]
    assert codes.dtype == np.intp
    assert index.texts == ["Who?", "Why"]


def test_numbers_stay_as_more_texts_come():
    index = TextIndex()
    first = index.add(["b", "a"])
    assert index.add(["c", "A", "B?"]).tolist() == [2, 1, 0]
    assert index.add(["b", "a"]).tolist() == first.tolist()
    assert index.texts == ["b", "a", "c"]


def test_texts_without_words_are_one_text():
    index = TextIndex()
    assert index.add(["", "  \n", "?!", "x"]).tolist() == [0, 0, 0, 1]
    assert index.texts == ["", "x"]


def test_no_texts_give_no_numbers():
    codes = TextIndex().add([])
    assert codes.shape == (0,)
    assert codes.dtype == np.intp


def test_numbers_of_pairs_are_those_of_the_folds():
    rng = np.random.default_rng(0)
    forms = ["q{}", "Q{}?", " q{} ", "(q{})"]
    texts = [forms[rng.integers(4)].format(i) for i in rng.integers(0, 20, 80)]
    pairs = check_pairs(list(zip(texts[:40], texts[40:], strict=True)))
    index = TextIndex()
    codes = index.add_pairs(pairs)
    assert codes.shape == (40, 2)
    assert np.array_equal(codes, normalized_codes(pairs))
    assert len(index.texts) == codes.max() + 1
    assert index.add(index.texts).tolist() == list(range(len(index.texts)))


def test_no_pairs_keep_their_two_columns():
    assert TextIndex().add_pairs(np.empty((0, 2), dtype=object)).shape == (0, 2)


def test_arrays_of_texts_hold_references():
    texts = ["a", "b" * 20_000, ""]
    array = as_texts(texts)
    assert array.shape == (3,)
    assert array.dtype == object
    assert all(held is text for held, text in zip(array, texts, strict=True))


@pytest.mark.parametrize(
    "texts", [["a", "b"], ("a", "b"), np.array(["a", "b"]), (t for t in "ab"), {"a": 1, "b": 2}]
)
def test_any_iterable_of_texts_becomes_a_list(texts):
    assert check_texts(texts, "corpus") == ["a", "b"]


def test_series_of_texts_become_a_list():
    pandas = pytest.importorskip("pandas")
    assert check_texts(pandas.Series(["a", "b"], index=[7, 8]), "corpus") == ["a", "b"]


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("one text", TypeError, "corpus is one string; give a list of texts, for instance ['one"),
        (["a", None], TypeError, "corpus[1] = None is NoneType, not a string"),
        (["a", "b", float("nan")], TypeError, "corpus[2] = nan is float, not a string"),
        ([b"a"], TypeError, "corpus[0] = b'a' is bytes, not a string"),
        ([("a", "b")], TypeError, "corpus[0] = ('a', 'b') is tuple, not a string"),
        ([], ValueError, "corpus is empty; give at least one text, or None"),
    ],
)
def test_what_is_no_list_of_texts_is_named(texts, error, message):
    with pytest.raises(error, match=re.escape(message)):
        check_texts(texts, "corpus")

"""Numbers of unique texts, and lists of texts checked."""

import re

import numpy as np
import pandas as pd
import pytest

from estimators.inputs.pairs import check_pairs
from estimators.inputs.texts import TextIndex, as_texts, check_texts, place_pairs
from film.text import token_text


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


def test_texts_of_pairs_are_numbered_by_first_appearance():
    pairs = check_pairs([("B b", "a"), ("  b, B!", "c"), ("A", "b b?")])
    index = TextIndex()
    codes = index.add_pairs(pairs)
    assert codes.tolist() == [[0, 1], [0, 2], [1, 0]]
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
    assert check_texts(pd.Series(["a", "b"], index=[7, 8]), "corpus") == ["a", "b"]


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("one text", TypeError, "corpus is one string; give a list of texts, for instance ['one"),
        (["a", None], TypeError, "corpus[1] = None is NoneType, not a string"),
        (["a", "b", float("nan")], TypeError, "corpus[2] = nan is float, not a string"),
        ([b"a"], TypeError, "corpus[0] = b'a' is bytes, not a string"),
        ([("a", "b")], TypeError, "corpus[0] = ('a', 'b') is tuple, not a string"),
        *(
            ([value], TypeError, remedy)
            for value, remedy in (
                *((value, "drop missing") for value in (None, float("nan"), pd.NA, pd.NaT)),
                *((7, "convert it with str()"), (b"a", "decode it")),
                *((["a", "b"], "one text per entry"), (np.zeros(2), "convert it")),
            )
        ),
        ([], ValueError, "corpus is empty; give at least one text"),
    ],
)
def test_what_is_no_list_of_texts_is_named(texts, error, message):
    with pytest.raises(error, match=re.escape(message)):
        check_texts(texts, "corpus")


def test_cells_of_records_are_words_apart_for_tokenizers():
    record, text = "red lamp\x1f\x1f12", "red lamp  12"
    assert check_texts([record], encodable=True) == [text]
    assert check_pairs([(record, "a")], encodable=True).tolist() == [[text, "a"]]
    assert check_texts([record]) == [record]
    assert check_pairs([(record, "a")]).tolist() == [[record, "a"]]


KNOWN = ["who is it", "why not", "red car"]


def placed(pairs):
    """Reading of each new number, and numbers."""
    new, codes = place_pairs(KNOWN, check_pairs(pairs))
    return new, codes.tolist()


def test_known_texts_keep_their_numbers_however_they_are_spelt():
    new, codes = placed([("Who is it?", "RED car"), ("Why not", "why NOT!!"), ("red-car", "new")])
    assert new == ["new"]
    assert codes == [[0, 2], [1, 1], [2, 3]]
    assert placed([("WHO IS IT", "red car.")]) == ([], [[0, 2]])


def test_new_texts_are_numbered_after_the_known_ones_each_spelling_apart():
    new, codes = placed([("zebra", "Zebra zoo"), ("Zebra", "zebra"), ("Zebra zoo", "zoo")])
    numbers = {text: len(KNOWN) + place for place, text in enumerate(new)}
    assert set(new) == {"zebra", "Zebra", "Zebra zoo", "zoo"}
    assert codes[0] == [numbers["zebra"], numbers["Zebra zoo"]]
    assert codes[2] == [numbers["Zebra zoo"], numbers["zoo"]]
    # They read alike, so they are one point, and it is not of those that the others are.
    assert codes[1] == [numbers["Zebra"]] * 2


def test_which_text_of_a_pair_comes_first_moves_no_number():
    rng = np.random.default_rng(0)
    forms = ["q{}", "Q{}?", " q{} ", "Who is it", "who IS it"]
    texts = [forms[rng.integers(5)].format(rng.integers(4)) for _ in range(120)]
    pairs = np.array(texts, dtype=object).reshape(-1, 2)
    new, codes = place_pairs(KNOWN, pairs)
    again, swapped = place_pairs(KNOWN, pairs[:, ::-1])
    assert new == again
    assert np.array_equal(codes, swapped[:, ::-1])
    alike = [token_text(a) == token_text(b) for a, b in pairs]
    assert np.array_equal(codes[:, 0] == codes[:, 1], alike)
    for (first, second), pair_codes in zip(pairs, codes, strict=True):
        for text, code in zip((first, second), pair_codes, strict=True):
            held = KNOWN[code] if code < len(KNOWN) else new[code - len(KNOWN)]
            assert token_text(held) == token_text(text)


def test_pairs_beside_nothing_known_are_all_new():
    new, codes = place_pairs([], check_pairs([("b", "a"), ("", "?")]))
    assert sorted(new) == ["", "?", "a", "b"]
    assert [[new[code] for code in row] for row in codes.tolist()] == [["b", "a"], ["", ""]]
    assert codes.dtype == np.intp

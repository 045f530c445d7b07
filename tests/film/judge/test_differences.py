"""The line on what sets two texts apart, by example."""

import pytest

from film.judge import describe_differences, without_differences


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a 128 GB phone", "a 256gb phone", "differs in number: 128 / 256gb"),
        ("a 2 kg bag", "a 2 lb bag", "differs in number: 2000, g / 2, lb"),
        ("flat 2, 2 Elm St", "flat 3, 2 Elm St", "differs in number: 2 / 3"),
        ("due 2024-03-03", "due 2024-03-09", "differs in number: 2024-03-03 / 2024-03-09"),
        ("my acount", "My account!", "differs in spelling: acount / account"),
        ("the café", "The cafe", "the words are the same"),
        ("how to cook rice", "how to cook pasta", "differs in words: rice / pasta"),
        ("how to cook rice", "cook rice", "differs in spelling: how, to / nothing"),
        ("Paris to Rome", "Rome to Paris", "differs in order"),
        ("it is open", "it is not open", "differs in negation: nothing / not"),
        ("Tee mit Milch", "Tee ohne Milch", "differs in negation: mit / ohne"),
        ("thé avec sucre", "thé sans sucre", "differs in negation: avec / sans"),
        ("té con azúcar", "té sin azúcar", "differs in opposite: con / sin"),
        ("te med socker", "te utan socker", "differs in opposite: med / utan"),
        ("無線 有糖", "無線 无糖", "differs in opposite: 有糖 / 无糖"),
        ("şekerli çay", "şekersiz çay", "differs in opposite: şekerli / şekersiz"),
        ("nemluvím česky", "mluvím česky", "differs in opposite: nemluvím / mluvím"),
        ("red sofa lamp tea cup", "nut", "differs in words: red, sofa, lamp, tea, cup / nut"),
        ("buy pc case", "buy x lamp", "differs in words: pc, case / lamp"),
        ("one two three four five six", "", "differs in words: four, five, six / nothing"),
        (
            "red sofa lamp tea cup pan",
            "nut",
            "differs in words: red, sofa, lamp, tea, cup, ... / nut",
        ),
    ],
)
def test_what_sets_texts_apart(first, second, expected):
    assert describe_differences([first, second], [second, "y"])[0] == expected
    left, _, right = expected.partition(": ")[2].partition(" / ")
    turned = f"{expected.partition(': ')[0]}: {right} / {left}" if right else expected
    assert describe_differences([second], [first]) == [turned]


@pytest.mark.parametrize(
    ("pair", "left"),
    [
        (("a red, red car", "a red car"), ("a red car", "a red car", "red / nothing")),
        (("same words", "Same words!"), ("same words", "Same words!", "")),
        (("x", "y"), ("x", "y", "")),
        (("", "y z"), ("", "y z", "")),
    ],
)
def test_differing_words_are_left_out(pair, left):
    assert without_differences(*pair) == left

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import train_test_split

from estimators.inputs import (
    CELL_END,
    DisjointPairsKFold,
    RecordPairs,
    as_records,
    check_pairs,
    disjoint_pairs_split,
    numbers_rows,
    question_groups,
    record_pairs,
)
from film.text import normalize_text, token_text

LEFT = {"name": ["Ann", "Bo", None], "age": [31, np.nan, 7]}
RIGHT = {"age": [31.5, 4, 7], "name": ["ann", "b", "c"]}
WIDE = {
    "left_ right_": ["left_name", "left_age", "right_age", "right_name"],
    "ltable_ rtable_": ["ltable_name", "rtable_age", "ltable_age", "rtable_name"],
    "_l _r": ["name_l", "age_l", "age_r", "name_r"],
    "_1 _2": ["name_1", "name_2", "age_1", "age_2"],
    "_x _y": ["name_x", "age_x", "age_y", "name_y"],
    "_left _right": ["name_left", "age_left", "age_right", "name_right"],
}


def wide(columns: list[str]) -> pd.DataFrame:
    second = ("right", "rtable", "_r", "_2", "_y")
    return pd.DataFrame(
        {
            column: (RIGHT if any(s in column for s in second) else LEFT)[
                "name" if "name" in column else "age"
            ]
            for column in columns
        }
    )


def same(found: RecordPairs, other: RecordPairs) -> bool:
    return found.texts(("name", "age")).tolist() == other.texts(("name", "age")).tolist()


def test_records_hold_texts_in_the_order_of_the_left_columns():
    pairs = RecordPairs(pd.DataFrame(LEFT), pl.DataFrame(RIGHT))
    assert pairs.columns == ("name", "age")
    assert pairs.left.tolist() == [["Ann", "31"], ["Bo", ""], ["", "7"]]
    assert pairs.right.tolist() == [["ann", "31.5"], ["b", "4"], ["c", "7"]]
    assert pairs.shape == (3, 2)
    assert len(pairs[[2, 0]]) == 2
    assert pairs[np.array([False, True, True])].left[0, 0] == "Bo"


def test_a_record_reads_like_its_joined_cells():
    ((text, _),) = RecordPairs({"a": ["x-1"], "b": ["Y"]}, {"a": ["z"], "b": [None]}).texts()
    assert text == f"x-1{CELL_END}Y"
    assert normalize_text(text) == "x 1 y"
    assert token_text(text) == token_text("x-1 Y")
    assert text.split() == ["x-1", "Y"]


def test_cells_of_any_type_become_texts():
    given = [
        1,
        2.0,
        0.1,
        np.int64(3),
        True,
        datetime.date(2020, 1, 31),
        pd.NA,
        pd.NaT,
        Decimal("1.5"),
    ]
    records = RecordPairs({"a": given}, {"a": given})
    assert records.left[:, 0].tolist() == [
        "1",
        "2",
        "0.1",
        "3",
        "True",
        "2020-01-31",
        "",
        "",
        "1.5",
    ]
    with pytest.raises(TypeError, match="column 'a', row 1 is \\[1\\]"):
        RecordPairs({"a": ["x", [1]]}, {"a": ["x", "y"]})


@pytest.mark.parametrize("columns", WIDE.values(), ids=WIDE)
def test_wide_frames_are_recognised(columns: list[str]):
    expected = RecordPairs(LEFT, RIGHT)
    frame = wide(columns)
    found = as_records(frame)
    assert found is not None
    assert same(found, expected)
    assert same(record_pairs(pa.Table.from_pandas(frame)), expected)
    assert check_pairs(frame).shape == (3, 2)


def test_two_levels_of_columns_are_recognised_either_way():
    columns = [("l", "name"), ("l", "age"), ("r", "name"), ("r", "age")]
    frame = wide(WIDE["_l _r"])[["name_l", "age_l", "name_r", "age_r"]]
    for order in (columns, [column[::-1] for column in columns]):
        frame.columns = pd.MultiIndex.from_tuples(order)
        found = as_records(frame)
        assert found is not None
        assert same(found, RecordPairs(LEFT, RIGHT))


def test_sides_can_be_named():
    frame = {"a.name": ["x"], "b.name": ["y"]}
    assert record_pairs(frame, "a.", "b.").right.tolist() == [["y"]]
    frame = {"name-a": ["x"], "name-b": ["y"]}
    assert record_pairs(frame, "-a", "-b").right.tolist() == [["y"]]


def test_two_columns_stay_texts():
    frame = pd.DataFrame({"left_text": ["a", "b"], "right_text": ["c", "d"]})
    assert as_records(frame) is None
    assert check_pairs(frame).tolist() == [["a", "c"], ["b", "d"]]
    with pytest.raises(ValueError, match="has 3 columns"):
        check_pairs(pd.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]}))


BAD = {
    "column 'age' is only in left (1 such)": lambda: RecordPairs(LEFT, {"name": ["a", "b", "c"]}),
    "no column in common: left has 'name', 'age', right has 'title'": lambda: RecordPairs(
        LEFT, {"title": ["a", "b", "c"]}
    ),
    "left has 3 rows and right 1": lambda: RecordPairs(LEFT, {"name": ["a"], "age": [1]}),
    "there are no rows": lambda: RecordPairs({"a": []}, {"a": []}),
    "column 'right_x' has no partner on the other side (1 such)": lambda: record_pairs(
        {"left_a": ["a"], "right_a": ["b"], "right_x": ["c"]}
    ),
    "column 'label' has no partner": lambda: record_pairs(
        {"left_a": ["a"], "right_a": ["b"], "label": [1]}
    ),
    "no columns of two records are recognised (tried l. with r.)": lambda: record_pairs(
        {"left_a": ["a"], "right_a": ["b"]}, "l.", "r."
    ),
    "give both, or neither": lambda: record_pairs({"left_a": ["a"]}, "left_"),
    "the records lack column 'city'": lambda: RecordPairs(LEFT, RIGHT).texts(["name", "city"]),
    "the records have a column 'age' more": lambda: RecordPairs(LEFT, RIGHT).texts(["name"]),
}


@pytest.mark.parametrize(("message", "make"), BAD.items())
def test_bad_records_raise_an_error_that_says_what_to_do(message: str, make):
    with pytest.raises(ValueError) as caught:
        make()
    assert message in str(caught.value)


def test_no_frame_is_a_type_error():
    with pytest.raises(TypeError, match="left is a list"):
        RecordPairs([("a",)], RIGHT)


def test_folds_and_splits_share_no_record():
    names = [f"person {number // 2}" for number in range(12)]
    pairs = RecordPairs({"name": names, "no": [1] * 12}, {"name": names[::-1], "no": [2] * 12})
    groups = question_groups(pairs)
    for train, test in DisjointPairsKFold(3, random_state=0).split(pairs, [0, 1] * 6):
        assert not set(groups[train]) & set(groups[test])
    first, second = disjoint_pairs_split(pairs, test_size=0.3, random_state=0)
    assert isinstance(first, RecordPairs)
    assert not {*first.texts().flat} & {*second.texts().flat}
    some, _ = train_test_split(pairs, random_state=0)
    assert isinstance(some, RecordPairs)


@pytest.mark.parametrize(
    ("name", "cells", "numbers"),
    [
        ("Unnamed: 0", "0 1 2", True),
        ("Unnamed: 0.1", "17 4 9", True),
        ("", "17 4 9", True),
        ("Unnamed: 0", "4 4 9", False),
        ("Unnamed: 0", "a 4 9", False),
        ("Unnamed: 3", "0 1 2", False),
        ("index", "0 1 2", True),
        ("Row", "1 2 3", True),
        ("#", "1 2 3", True),
        ("no.", "1 2 3", True),
        ("nr", "1 3 2", False),
        ("no", "2 3 4", False),
        ("no", "0 1.5 2", False),
        ("no", "1", False),
        ("age", "1 2 3", False),
    ],
)
def test_numbers_of_rows_are_known_by_name_and_order(name, cells, numbers):
    assert numbers_rows(name, cells.split()) == numbers

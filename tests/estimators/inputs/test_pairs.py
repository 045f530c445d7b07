"""Pairs and labels: what is taken, what is refused, and in which words."""

import numpy as np
import pytest
from scipy import sparse

from estimators.inputs.pairs import (
    check_pair_labels,
    check_pair_scores,
    check_pairs,
    conflicting_pairs,
)

PAIRS = [("What is AI?", "What's AI?"), ("Who am I?", ""), ("x" * 50, "y")]


class PolarsLike:
    """A frame of two columns that is neither pandas nor an array."""

    def __init__(self, columns, values):
        self.columns = columns
        self._values = values

    def to_numpy(self):
        return np.array(self._values, dtype=object)


class ColumnsOnly:
    """The least of a frame: column names, and a column by name."""

    columns = ("question1", "question2")

    def __getitem__(self, name):
        return [row[self.columns.index(name)] for row in PAIRS]


def good_inputs():
    objects = np.array(PAIRS, dtype=object)
    rows = np.empty(len(PAIRS), dtype=object)
    rows[:] = PAIRS
    # numpy has them since its version 2.
    widths = getattr(np.dtypes, "StringDType", None)
    newer = {"variable-width array": np.array(PAIRS, dtype=widths())} if widths else {}
    return newer | {
        "list of tuples": PAIRS,
        "list of lists": [list(row) for row in PAIRS],
        "list of arrays": [np.array(row) for row in PAIRS],
        "tuple of tuples": tuple(PAIRS),
        "object array": objects,
        "fixed-width array": np.array(PAIRS),
        "array of tuples": rows,
        "zip": zip(*zip(*PAIRS, strict=True), strict=True),
        "polars-like": PolarsLike(["a", "b"], PAIRS),
        "columns only": ColumnsOnly(),
    }


@pytest.mark.parametrize("kind", good_inputs())
def test_every_container_gives_the_same_object_array(kind):
    checked = check_pairs(good_inputs()[kind])
    assert checked.dtype == object
    assert checked.shape == (3, 2)
    assert [tuple(row) for row in checked.tolist()] == PAIRS
    assert all(isinstance(text, str) for text in checked.flat)


@pytest.mark.parametrize("dtype", ["object", "string", "category", "str"])
def test_pandas_frame(dtype):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(PAIRS, columns=["question1", "question2"], index=[7, 7, 9]).astype(dtype)
    assert [tuple(row) for row in check_pairs(frame).tolist()] == PAIRS
    if dtype == "str" and pd.__version__ < "3":
        return  # it made a text of None
    frame = frame.astype(object)
    frame.iloc[2, 1] = None
    with pytest.raises(ValueError, match="row 2, column 1 is missing"):
        check_pairs(frame.astype(dtype))


def test_polars_frame_and_pyarrow_table():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = pl.DataFrame(PAIRS, schema=["question1", "question2"], orient="row")
    assert [tuple(row) for row in check_pairs(frame).tolist()] == PAIRS
    columns = [pa.chunked_array([column[:1], column[1:]]) for column in zip(*PAIRS, strict=True)]
    table = pa.table(columns, names=["question1", "question2"])
    assert [tuple(row) for row in check_pairs(table).tolist()] == PAIRS
    with pytest.raises(ValueError, match=r"has 2 columns \(question1, question2\), but 3"):
        check_pairs(table, n_columns=3)
    with pytest.raises(ValueError, match="row 1, column 0 is missing"):
        check_pairs(pa.table({"a": ["x", None], "b": ["y", "z"]}))


def test_good_object_array_is_not_copied_and_another_not_changed():
    array = np.array(PAIRS, dtype=object)
    assert check_pairs(array) is array
    array = np.array(PAIRS)
    check_pairs(array)
    assert array.dtype.kind == "U"


BAD_PAIRS = [
    ([("a", "b"), ("c", None)], ValueError, r"pairs row 1, column 1 is missing \(None\): drop"),
    ([("a", "b"), (float("nan"), "c")], ValueError, r"row 1, column 0 is missing \(nan\)"),
    (np.array([["a", "b"], [np.nan, "c"]], dtype=object), ValueError, "row 1, column 0 is missing"),
    ([("a", "b"), ("c", 3)], TypeError, r"row 1, column 1 is 3 \(int\).*str\(\)"),
    ([("a", b"b")], TypeError, r"row 0, column 1 is b'b' \(bytes\).*decode"),
    ([("a", "b"), ("c", ["d"])], TypeError, r"row 1, column 1 is \['d'\] \(list\)"),
    (np.arange(4).reshape(2, 2), TypeError, r"row 0, column 0 is 0 \(int\)"),
    (["ab", "cd"], TypeError, r"row 0 is one text, 'ab', where a tuple of 2 texts is needed.*zip"),
    (np.array(["ab", "cd"]), TypeError, "row 0 is one text"),
    ([("a", "b"), "cd"], TypeError, "row 1 is one text, 'cd'"),
    ([("a", "b"), None], ValueError, r"row 1 is missing \(None\)"),
    ([("a", "b"), {"c": "d"}], TypeError, r"row 1 is \{'c': 'd'\} \(dict\)"),
    ([("a", "b"), ("c",)], ValueError, r"row 1 holds 1 entries, \['c'\]"),
    ([("a", "b", "c"), ("d", "e", "f")], ValueError, "row 0 holds 3 entries"),
    (np.array([["a", "b", "c"]], dtype=object), ValueError, r"shape \(1, 3\).*2 text columns"),
    (np.full((1, 2, 2), "a", dtype=object), ValueError, r"shape \(1, 2, 2\)"),
    ([], ValueError, "pairs is empty: give at least one"),
    (np.empty((0, 2), dtype=object), ValueError, "pairs is empty"),
    ("ab", TypeError, r"pairs is 'ab' \(str\)"),
    ({"a": "b"}, TypeError, r"\(dict\).*list of tuples"),
    (5, TypeError, r"pairs is 5 \(int\)"),
    (sparse.csr_array(np.eye(2)), TypeError, "tuple of 2 texts is needed"),
    (PolarsLike(["a"], [["b"]]), ValueError, r"has 1 columns \(a\).*question1"),
    (PolarsLike(["a", "b"], [["b", None]]), ValueError, "row 0, column 1 is missing"),
]


@pytest.mark.parametrize(("pairs", "error", "words"), BAD_PAIRS)
def test_bad_pairs_name_row_value_and_remedy(pairs, error, words):
    with pytest.raises(error, match=words):
        check_pairs(pairs)


def test_error_uses_the_given_name_and_stays_short():
    assert check_pairs([("a", "b", "c")], n_columns=3).shape == (1, 3)
    with pytest.raises(TypeError, match="corpus_pairs row 0") as caught:
        check_pairs(["long " * 4000], name="corpus_pairs")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "y",
    [[0, 1, 1], [True, False, True], ["0", "1", "0"], ["same", "other", "same"], [-1.0, 1.0, 1.0]],
)
def test_any_two_classes_pass_in_their_own_values(y):
    assert check_pair_labels(y, 3).tolist() == y
    assert check_pair_labels(np.array([0, 1, 1], dtype=object), 3).dtype.kind == "i"
    assert check_pair_labels([1, 1], 2, allow_one_class=True).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0, 1], "y has 2 labels for 3 pairs"),
        ([0, 1, None], r"y row 2 is missing \(None\)"),
        ([0, float("nan"), 1], r"y row 1 is missing \(nan\)"),
        ([0, 1, 2], r"3 classes \(\[0, 1, 2\]\)"),
        ([1, 1, 1], r"one class only \(1\)"),
        ([0.1, 0.7, 0.1], "continuous"),
        ([[0, 1], [1, 0], [0, 0]], "1d"),
    ],
)
def test_bad_labels_are_named(y, words):
    with pytest.raises(ValueError, match=words):
        check_pair_labels(y, 3)


@pytest.mark.parametrize(
    "y",
    [
        [0, 5, 2.5],
        [True, False, True],
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1.0, 2.0, 3.0]),
        np.array([1, 2.5, np.float32(3)], dtype=object),
        np.array([[1.0], [2.0], [3.0]]),
        (-1e300, 0, 1e300),
    ],
)
def test_scores_become_floats(y):
    scores = check_pair_scores(y, 3)
    assert scores.dtype == np.float64 and scores.shape == (3,)
    expected = np.asarray(y, dtype=float).ravel().tolist()
    assert scores.tolist() == expected
    scores[0] = 7
    assert np.asarray(y, dtype=float).ravel().tolist() == expected


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1, 2], "y has 2 scores for 3 pairs: give one per pair"),
        ([1, 2, 3, 4], "y has 4 scores for 3 pairs"),
        ([0, float("nan"), 1], r"y row 1 is nan, not a finite number \(1 in all\)"),
        ([0, np.inf, -np.inf], r"y row 1 is inf, not a finite number \(2 in all\)"),
        ([0, 1, None], "y row 2 is None"),
        ([0, "1", 2], "y row 0 is '0'"),
        (np.array([0, "many", 2], dtype=object), "y row 1 is 'many'.*1 in all.*convert it"),
        ([0, 1, 2j], "Complex data"),
        ([0.5, 0.5, 0.5], "y is 0.5 for all 3 pairs: give pairs of different similarity"),
        ([[0, 1], [1, 0], [0, 0]], "1d"),
        (None, "1d"),
    ],
)
def test_bad_scores_are_named(y, words):
    with pytest.raises(ValueError, match=words):
        check_pair_scores(y, 3)


def test_conflicts_ignore_order_case_and_punctuation():
    pairs = [("a", "b"), ("c", "d"), ("B?", "A"), ("c", "d"), ("D", "C!"), ("a", "b"), ("e", "f")]
    conflicts = conflicting_pairs(pairs, ["no", "no", "yes", "no", "yes", "no", "yes"])
    assert [rows.tolist() for rows in conflicts] == [[0, 2, 5], [1, 3, 4]]
    assert conflicting_pairs(PAIRS, [0, 1, 0]) == conflicting_pairs(PAIRS, [1, 1, 1]) == []


def test_conflicts_equal_brute_force():
    rng = np.random.default_rng(0)
    pairs = [tuple(map(str, row)) for row in rng.integers(0, 8, size=(120, 2))]
    y = rng.integers(0, 2, size=120)
    seen = {}
    for row, pair in enumerate(pairs):
        seen.setdefault(frozenset(pair), []).append(row)
    expected = [rows for rows in seen.values() if len({int(y[row]) for row in rows}) == 2]
    assert len(expected) > 5
    assert [rows.tolist() for rows in conflicting_pairs(pairs, y)] == expected

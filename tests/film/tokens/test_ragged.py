import dataclasses
import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import resample

from film.tokens.ragged import Ragged

LENGTHS = [3, 0, 1, 5, 2]


def _texts(lengths=LENGTHS, h=4, dtype=np.float32):
    N = sum(lengths)
    starts = np.cumsum([0, *lengths])
    special = np.zeros(N, dtype=bool)
    special[starts[:-1][np.array(lengths) > 0]] = True
    return Ragged(
        values=np.arange(N * h, dtype=dtype).reshape(N, h),
        starts=starts,
        ids=np.arange(N) + 100,
        spans=np.arange(2 * N).reshape(N, 2),
        is_special=special,
    )


def _rows(texts, name):
    column = getattr(texts, name)
    return [column[a:b].tolist() for a, b in itertools.pairwise(texts.starts)]


def _assert_same(found, expected):
    assert found.lengths.tolist() == expected.lengths.tolist()
    for name in ("values", "ids", "spans", "is_special"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        if theirs is None:
            assert ours is None
        else:
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)


def test_an_integer_gives_a_view_of_one_text():
    texts = _texts()
    assert texts[3].tolist() == texts.values[4:9].tolist()
    assert texts[-1].tolist() == texts.values[9:].tolist()
    # The first and the last from both ends are there; the next ones are not.
    for first, last in ((0, 4), (-5, -1)):
        assert texts[first].tolist() == texts.values[:3].tolist()
        assert texts[last].tolist() == texts.values[9:].tolist()
        assert texts[[last, first]].values.tolist() == texts.values[[9, 10, 0, 1, 2]].tolist()
    assert texts[np.int32(1)].shape == (0, 4)
    assert np.shares_memory(texts[0], texts.values)
    assert [row.shape for row in texts] == [(length, 4) for length in LENGTHS]
    np.testing.assert_array_equal(np.concatenate(list(texts)), texts.values)


def test_an_integer_costs_the_same_in_any_number_of_texts():
    texts = Ragged(np.ones((1, 3)), np.append(np.zeros(1_000_000, dtype=np.int64), 1))
    tracemalloc.start()
    assert len(texts[-1]) == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000


@pytest.mark.parametrize(
    "index",
    [
        slice(1, 4),
        slice(None),
        slice(3, 1),
        slice(None, None, 2),
        slice(None, None, -1),
        slice(-2, 99),
        [4, 0, 0, 3],
        [-1, 1],
        [],
        range(2),
        np.array([2, 1], dtype=np.uint8),
        [True, False, False, True, True],
        np.zeros(5, dtype=bool),
        ([3, 1], Ellipsis),
        (slice(0, 2), Ellipsis),
    ],
    ids=str,
)
def test_any_other_index_gives_texts_with_all_columns(index):
    texts = _texts()
    plain = index[0] if isinstance(index, tuple) else index
    if not isinstance(plain, slice):
        plain = np.array(plain, dtype=None if len(plain) else int)
    kept = np.arange(len(texts))[plain].tolist()
    found = texts[index]
    assert isinstance(found, Ragged)
    assert found.lengths.tolist() == [LENGTHS[i] for i in kept]
    for name in ("values", "ids", "spans", "is_special"):
        rows = _rows(texts, name)
        assert _rows(found, name) == [rows[i] for i in kept]
        assert getattr(found, name).dtype == getattr(texts, name).dtype


def test_a_slice_is_a_view_and_an_index_is_not():
    texts = _texts()
    assert np.shares_memory(texts[2:].values, texts.values)
    assert not np.shares_memory(texts[[2, 3]].values, texts.values)


def test_columns_may_be_missing():
    texts = Ragged(np.ones((3, 2)), [0, 1, 3])
    for found in (texts[:1], texts[[0]]):
        assert found.ids is None and found.spans is None and found.is_special is None


def test_size():
    texts = _texts()
    assert (len(texts), texts.shape, texts.ndim) == (5, (5,), 1)
    assert texts.lengths.tolist() == LENGTHS
    assert repr(texts) == "Ragged(n=5, tokens=11, width=4, columns=['ids', 'spans', 'is_special'])"


def test_scikit_learn_slices_it():
    texts = _texts()
    train, test, y_train, y_test = train_test_split(texts, np.arange(5), random_state=0)
    _assert_same(train, texts[y_train])
    _assert_same(test, texts[y_test])
    assert len(list(KFold(5).split(texts))) == 5
    assert isinstance(resample(texts, random_state=0), Ragged)


def test_it_can_be_pickled_and_not_be_changed():
    texts = _texts()
    _assert_same(pickle.loads(pickle.dumps(texts)), texts)
    with pytest.raises(dataclasses.FrozenInstanceError):
        texts.ids = None


def test_rows_are_joined():
    texts = _texts()
    columns = {name: _rows(texts, name) for name in ("ids", "spans", "is_special")}
    _assert_same(Ragged.from_rows(list(texts), **columns), texts)
    assert Ragged.from_rows([]).shape == (0,)
    empty = Ragged.from_rows([], ids=[], spans=[], is_special=[])
    assert (empty.ids.shape, empty.spans.shape, empty.is_special.shape) == ((0,), (0, 2), (0,))


def test_special_tokens_are_left_out():
    texts = _texts()
    found = texts.without_special()
    assert found.lengths.tolist() == [2, 0, 0, 4, 1]
    assert not found.is_special.any()
    for name in ("values", "ids", "spans"):
        assert _rows(found, name) == [row[1:] for row in _rows(texts, name)]
    # The last token, and only one.
    end = Ragged(np.eye(3), [0, 1, 3], is_special=[False, False, True]).without_special()
    assert end.starts.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="is_special is None"):
        Ragged(np.eye(2), [0, 2]).without_special()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"values": np.ones(4)}, ValueError, r"values must have shape \(N, h\)"),
        ({"values": np.ones((2, 2), dtype=int)}, TypeError, "values must be of a float type"),
        ({"starts": [0.0, 2.0]}, ValueError, "starts must be integers"),
        ({"starts": [[0, 2]]}, ValueError, "starts must be integers"),
        ({"starts": np.zeros(0, dtype=int)}, ValueError, "starts must be integers"),
        ({"starts": [0, 1]}, ValueError, "from 0 to the 2 rows .* got 0 to 1"),
        ({"starts": [1, 2]}, ValueError, "from 0 to the 2 rows .* got 1 to 2"),
        ({"starts": [0, 2, 1, 2]}, ValueError, "falls after entry 1"),
        ({"ids": [1]}, ValueError, r"ids must have shape \(2,\)"),
        ({"ids": [1.0, 2.0]}, TypeError, "ids must be integers, got float64"),
        ({"spans": [1, 2]}, ValueError, r"spans must have shape \(2, 2\)"),
        ({"spans": np.ones((2, 2))}, TypeError, "spans must be integers"),
        ({"is_special": [0, 1]}, TypeError, "is_special must be boolean"),
        ({"is_special": [True]}, ValueError, r"is_special must have shape \(2,\)"),
    ],
)
def test_parts_that_do_not_fit_are_named(change, error, message):
    with pytest.raises(error, match=message):
        Ragged(**{"values": np.ones((2, 2)), "starts": [0, 1, 2], **change})


@pytest.mark.parametrize(
    "index",
    [5, -6, [0, 5], [-6], [True, False], [[0, 1]], [0.5], "a", 1.5, True, (0, 1), (Ellipsis,)],
    ids=str,
)
def test_bad_indices_are_refused(index):
    with pytest.raises(IndexError):
        _texts()[index]


def test_bad_rows_and_parts_are_named():
    for rows in ([np.ones((1, 2)), np.ones((1, 3))], [np.ones(2)]):
        with pytest.raises(ValueError):
            Ragged.from_rows(rows)
    with pytest.raises(ValueError, match="ids must have one entry per text"):
        Ragged.from_rows([np.ones((1, 2)), np.ones((2, 2))], ids=[[1, 2], [3]])

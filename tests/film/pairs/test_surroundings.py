"""Rows drawn towards their neighbours in a collection, against a loop over the definition."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from film.pairs import drawn_to_neighbours
from film.pairs.shift import surroundings

RNG = np.random.default_rng(3)
COLLECTION = np.abs(RNG.normal(size=(30, 6))) * (RNG.random((30, 6)) < 0.6)
ROWS = np.vstack([COLLECTION[:4] * 3, np.abs(RNG.normal(size=(5, 6))), np.zeros((1, 6))])


def unit(row):
    length = np.sqrt((row * row).sum())
    return row / length if length else row


def by_hand(rows, collection, k, weight, centred):
    rows, collection = [[unit(row) for row in one] for one in (rows, collection)]
    if centred:
        mean = sum(collection) / (len(collection) + k)
        rows, collection = [[unit(row - mean) for row in one] for one in (rows, collection)]
    drawn = []
    for row in rows:
        cosines = [(float(row @ one), one) for one in collection]
        others = sorted((c for c in cosines if c[0] <= 1 - 1e-6), key=lambda c: -c[0])[:k]
        moved = row + weight / k * sum(max(0.0, c) * one for c, one in others)
        drawn.append(unit(moved))
    return np.array(drawn)


@pytest.mark.parametrize(("k", "weight"), [(1, 0.5), (4, 1.0), (7, 0.0), (50, 0.5)])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_rows_are_drawn_as_the_definition_says(kind, k, weight):
    found = drawn_to_neighbours(kind(ROWS), kind(COLLECTION), k=k, weight=weight)
    assert issparse(found) == (kind is csr_array) and found.dtype == np.float32
    dense = found.toarray() if issparse(found) else found
    centred = kind is np.asarray
    # Sums of tens of products of float32.
    expected = by_hand(ROWS, COLLECTION, k, weight, centred)
    assert dense == pytest.approx(expected, abs=1e-5)


def test_blocks_change_nothing(monkeypatch):
    whole = drawn_to_neighbours(ROWS, COLLECTION, k=3)
    monkeypatch.setattr("film.pairs.shift.surroundings._BLOCK_BYTES", 4 * 30 * 2)
    assert drawn_to_neighbours(ROWS, COLLECTION, k=3) == pytest.approx(whole, abs=1e-6)


def test_a_copy_in_the_collection_is_no_neighbour():
    alone = drawn_to_neighbours(csr_array([[1.0, 0.0]]), csr_array([[2.0, 0.0]]), k=1)
    assert alone.toarray().tolist() == [[1.0, 0.0]]
    zeros = drawn_to_neighbours(csr_array([[0.0, 0.0]]), csr_array([[2.0, 0.0]]), k=1)
    assert zeros.toarray().tolist() == [[0.0, 0.0]]


def test_above_the_border_alone_a_point_is_the_row_itself():
    border = np.float32(surroundings._SAME)
    for cosine, kept in (
        (border, [border, 0.0]),
        (np.nextafter(border, np.float32(1)), [0.0, 0.5]),
    ):
        cosines = np.array([[cosine, 0.5]], dtype=np.float32)
        assert surroundings._nearest_alone(cosines, 1).toarray().tolist() == [kept]


def test_texts_of_one_cloud_come_closer_and_those_of_two_do_not():
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(8)[:2], 40, axis=0)
    points = centres + rng.normal(scale=0.35, size=(80, 8))
    drawn = drawn_to_neighbours(points, points, k=20, weight=0.5)
    before = drawn_to_neighbours(points, points, k=20, weight=0.0)
    assert (drawn @ drawn.T)[:40, :40].mean() > (before @ before.T)[:40, :40].mean() + 0.05
    apart = [(rows @ rows.T)[:40, 40:].mean() for rows in (before, drawn)]
    assert apart[1] < apart[0] + 0.02


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_rows_of_zeros_divide_by_nothing(kind):
    nothing = kind(np.zeros((2, 6)))
    with np.errstate(all="raise"):
        found = drawn_to_neighbours(nothing, nothing)
    assert found.shape == (2, 6) and abs(found).sum() == 0


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("exponents", [(-600, 600), (-100, 100), (-1000, -990), (900, 1000)])
def test_rows_may_be_of_any_length(kind, exponents):
    # Squares of these are beyond float32, or beyond float64; powers of two round nothing.
    rng = np.random.default_rng(0)
    rows, among = (
        np.ldexp(points, rng.integers(*exponents, size=(len(points), 1)))
        for points in (ROWS, COLLECTION)
    )
    with np.errstate(over="raise", invalid="raise"):
        found = drawn_to_neighbours(kind(rows), kind(among), k=4)
    wanted = drawn_to_neighbours(kind(ROWS), kind(COLLECTION), k=4)
    assert abs(found - wanted).max() == 0


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_largest_entry_of_a_row_may_be_negative(kind):
    row = kind([[-1.0, 2.0**-100]])
    drawn = drawn_to_neighbours(row, row, weight=0.0, k=1)
    assert (drawn if kind is np.asarray else drawn.toarray())[0, 0] == -1


@pytest.mark.parametrize("dtype", [np.float32, int, bool])
def test_rows_may_be_of_any_kind_of_number(dtype):
    rows, among = (3 * ROWS).astype(dtype), (3 * COLLECTION).astype(dtype)
    given = [rows.copy(), among.copy()]
    wanted = drawn_to_neighbours(rows.astype(float), among.astype(float), k=3)
    assert drawn_to_neighbours(rows, among, k=3) == pytest.approx(wanted, abs=1e-6)
    found = drawn_to_neighbours(csr_array(rows), csr_array(among), k=3)
    wanted = drawn_to_neighbours(csr_array(rows.astype(float)), csr_array(among.astype(float)), k=3)
    assert found.toarray() == pytest.approx(wanted.toarray(), abs=1e-6)
    for after, before in zip((rows, among), given, strict=True):
        np.testing.assert_array_equal(after, before)


def test_twenty_neighbours_weigh_half_by_default():
    usual = drawn_to_neighbours(ROWS, COLLECTION)
    np.testing.assert_array_equal(usual, drawn_to_neighbours(ROWS, COLLECTION, k=20, weight=0.5))
    for other in ({"k": 21, "weight": 0.5}, {"k": 20, "weight": 0.6}):
        assert not np.array_equal(usual, drawn_to_neighbours(ROWS, COLLECTION, **other))


@pytest.mark.parametrize(("n_bytes", "rows"), [(4 * 50 * 3, 3), (4 * 50 * 4 - 1, 3), (1, 1)])
def test_a_block_is_as_large_as_its_bytes_and_a_row_at_least(n_bytes, rows, monkeypatch):
    blocks = []
    alone = surroundings._nearest_alone

    def watched(cosines, k):
        blocks.append(cosines.shape)
        return alone(cosines, k)

    monkeypatch.setattr(surroundings, "_nearest_alone", watched)
    monkeypatch.setattr(surroundings, "_BLOCK_BYTES", n_bytes)
    points = np.random.default_rng(0).normal(size=(59, 4))
    drawn_to_neighbours(points[:9], points[9:], k=2)
    assert blocks == [(rows, 50)] * (9 // rows)


def test_cosines_are_never_whole(monkeypatch):
    rows, collection = np.random.default_rng(0).normal(size=(2, 1200, 2))
    monkeypatch.setattr(surroundings, "_BLOCK_BYTES", 4 * 1200 * 10)
    tracemalloc.start()
    drawn_to_neighbours(rows, collection, k=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1200 * 1200 * 4 / 4

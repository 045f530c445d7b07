import numpy as np
import pytest
import scipy.sparse as sp

from film.compare import (
    CROSSING_FEATURES,
    LEFTOVER_FEATURES,
    NUMBER_FEATURES,
    SPELLING_FEATURES,
    comparable_cell,
    crossing_features,
    leftover_features,
    number_features,
    partner_features,
    spelling_features,
)

CELLS = ["ann lee", "lee ann", "a lee", "dsc w120", "dscw120", "", "zoë", "vldb journal"]
RARITY = {"the": 0.1, "sony": 1.0, "dsc120": 3.0, "dsc130": 3.0, "2007": 2.0, "2008": 2.0}


def one_rarity(word: str) -> float:
    return RARITY.get(word, 1.5)


def spelling(a: str, b: str) -> dict[str, float]:
    return dict(zip(SPELLING_FEATURES, spelling_features([a], [b])[0].tolist(), strict=True))


def leftover(a: str, b: str) -> dict[str, float]:
    found = leftover_features([a], [b], one_rarity)[0].tolist()
    return dict(zip(LEFTOVER_FEATURES, found, strict=True))


def test_cells_of_a_kind_are_equal_when_they_mean_the_same():
    assert comparable_cell("404/351 -9533", "phone") == comparable_cell("(404) 351.9533", "phone")
    assert comparable_cell("DSC-W120", "code") == comparable_cell("dsc w120", "code")
    assert comparable_cell("https://Lee.org/a", "web") == comparable_cell("lee.org/a", "web")
    assert comparable_cell("Ann  LEE!", "text") == "ann lee"


def test_spelling_is_symmetric_and_missing_where_a_cell_is():
    pairs = [(a, b) for a in CELLS for b in CELLS]
    first, second = zip(*pairs, strict=True)
    found = spelling_features(first, second)
    np.testing.assert_array_equal(found, spelling_features(second, first))
    empty = [not (a and b) for a, b in pairs]
    assert np.isnan(found[empty]).all()
    assert np.isfinite(found[~np.array(empty)]).all()
    shares = np.delete(found, [SPELLING_FEATURES.index(n) for n in ("shorter", "longer")], axis=1)
    assert np.nanmin(shares) >= 0
    assert np.nanmax(shares) <= 1


def test_spelling_sees_order_spaces_initials_and_parts():
    assert spelling("ann lee", "lee ann")["sorted words"] == 1
    assert spelling("ann lee", "lee ann")["edits"] < 0.6
    assert spelling("dsc w120", "dscw120")["equal"] == 1
    assert spelling("j smith", "smith jane")["initials"] == 1
    assert spelling("jane smith", "smith j m")["initials"] == 1
    assert spelling("k smith", "smith jane")["initials"] == 0.5
    assert spelling("vldb", "the vldb journal")["contained"] == 1
    assert spelling("ab", "abc")["contained"] == 0
    assert spelling("abc", "abcd")["shorter"] == 3


def test_numbers_are_compared_relative_to_the_larger():
    a, b = np.array([20.0, 0, -1, np.nan, 5]), np.array([25.0, 0, 1, 3, np.nan])
    found = number_features(a, b)
    np.testing.assert_array_equal(found, number_features(b, a))
    by_name = dict(zip(NUMBER_FEATURES, found.T, strict=True))
    np.testing.assert_allclose(by_name["relative difference"][:3], [0.2, 0, 2])
    np.testing.assert_array_equal(by_name["equal"][:3], [0, 1, 0])
    np.testing.assert_allclose(by_name["difference"][:3], np.log([6, 1, 3]))
    assert np.isnan(found[3:]).all()


def test_a_value_in_the_wrong_column_is_found_across_columns():
    cells, records = (["sony"], [""]), (["sony dsc120"], ["dsc120 camera by sony"])
    assert crossing_features(cells, records, one_rarity).tolist() == [[1, 1]]
    cells = ["sony dsc120"], ["camera"]
    least, most = crossing_features(cells, (["sony dsc120"], ["sony camera"]), one_rarity)[0]
    assert (least, most) == (0, 0.25)
    assert np.isnan(crossing_features(([""], [""]), (["a"], ["b"]), one_rarity)).all()
    assert len(CROSSING_FEATURES) == 2


def test_what_is_left_over_weighs_by_rarity():
    found = leftover("sony dsc120 the", "sony dsc130")
    assert found["shared rarity"] == pytest.approx(1 / (1 + 3.1 + 3))
    assert found["rarest shared"] == 1
    assert (found["left over, least"], found["left over, most"]) == (3, pytest.approx(3.1))
    assert found["rarest code left over, least"] == 3
    assert found["rarest shared code"] == 0
    found = leftover("office 2007", "office 2008")
    assert (found["numbers shared"], found["numbers left over"]) == (0, 2)
    assert found["numbers left over on both sides"] == 1
    assert leftover("dsc120 x200", "dsc 120 silver")["codes within words"] == pytest.approx(2 / 3)
    texts = ["sony dsc120 the", "sony", "", "office 2007 2008"]
    first, second = zip(*[(a, b) for a in texts for b in texts], strict=True)
    np.testing.assert_array_equal(
        leftover_features(first, second, one_rarity), leftover_features(second, first, one_rarity)
    )


@pytest.mark.parametrize("one_table", [False, True])
def test_the_best_partner_equals_a_loop_over_all_known_records(one_table):
    rng = np.random.default_rng(0)
    points = rng.random((30, 8)) * (rng.random((30, 8)) < 0.5) + 1e-3
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    names = np.arange(30)
    known = np.arange(5, 25)
    pairs = rng.integers(0, 30, (60, 2))
    rows = sp.csr_array(points)
    given = rows[known], names, names[known]
    found = partner_features(rows, pairs, *given, one_table=one_table)
    for (a, b), (rank, margin) in zip(pairs.tolist(), found.tolist(), strict=True):
        mine = points[a] @ points[b]
        left_out = (a, b) if one_table else (b,)
        others = [points[a] @ points[c] for c in known.tolist() if c not in left_out]
        assert rank == pytest.approx(np.log1p(sum(other > mine + 1e-9 for other in others)))
        assert margin == pytest.approx(mine - max(others))


def test_blocks_of_partners_give_what_all_at_once_gives(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    rows = sp.csr_array(rng.random((20, 5)))
    pairs, names = rng.integers(0, 20, (40, 2)), np.arange(20)
    whole = partner_features(rows, pairs, rows, names, names)
    monkeypatch.setattr("film.compare.partners._BLOCK_CELLS", 45)
    np.testing.assert_array_equal(partner_features(rows, pairs, rows, names, names), whole)

"""Shares of lines and branches, of a small run and of made counts."""

import json

from benchmarks.covered import BARS, QUICK, ROOT, main, rooms


def test_counts_add_up_by_room_and_package():
    one = {"lines": 8, "all_lines": 10, "branches": 1, "all_branches": 4, "missing": [3, (4, 5)]}
    two = {"lines": 5, "all_lines": 5, "branches": 2, "all_branches": 2, "missing": []}
    files = {"film/pairs/ranks.py": one, "film/pairs/shift/priors.py": two, "film/text.py": two}
    found = rooms({**files, "film/__init__.py": two})
    assert set(found) == {*BARS, "film.pairs", "film.text"}
    assert dict(found["film.pairs"]) == {
        **{"lines": 13, "all_lines": 15},
        **{"branches": 3, "all_branches": 6},
    }
    assert found["film"]["all_lines"] == 25


def test_a_quick_run_counts_what_its_tests_run(tmp_path):
    assert all((ROOT / test).is_file() for test in QUICK)
    assert main(["--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "covered.jsonl").read_text().splitlines()]
    shares = {(row["case"], row["metric"]): row["value"] for row in rows}
    # Few tests run few of all lines; of a room that they are not about, none but its face.
    assert 1 < shares["film", "lines_run"] < 60
    assert shares["estimators", "lines_run"] < shares["film.pairs", "lines_run"] < 100
    assert shares["estimators", "branches_run"] == 0

"""The benchmark of ranks, at its smallest size."""

import json

from benchmarks import ranks


def test_a_quick_run_records_ranks_that_agree(tmp_path):
    arguments = ["--quick", "--out", str(tmp_path), "--cache", str(tmp_path / "maps")]
    assert ranks.main(arguments) == 0
    lines = (tmp_path / "ranks.jsonl").read_text(encoding="utf-8").splitlines()
    row = {line["metric"]: line["value"] for line in map(json.loads, lines)}
    assert set(row) == {"search", "sweep", "of_sweep", "inside", "agreement"}
    assert row["agreement"] == 1 and 0.2 < row["inside"] < 1
    assert row["of_sweep"] > 0  # the seconds of so few texts may round to 0
    assert [path.name for path in (tmp_path / "maps").iterdir()] == ["2000-40.npz"]

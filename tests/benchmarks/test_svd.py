"""The benchmark of decompositions: its count of iterations, and what it keeps between calls."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from benchmarks.svd import CASES, OURS, RIVAL, fewest_iterations, main


@pytest.mark.parametrize("share", [0.6, 0.95, 0.995])
def test_the_fewest_iterations_are_those_of_scikit_learn(share):
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(3.0 / np.arange(1, 151), (400, 150)).astype(np.float64))
    energy = share * np.square(np.linalg.svd(X.toarray(), compute_uv=False)[:20]).sum()
    q = fewest_iterations(X, 20, energy)
    captured = [
        np.mean(
            [
                np.square(randomized_svd(X, 20, n_iter=n, random_state=seed)[1]).sum()
                for seed in range(5)
            ]
        )
        for n in (q - 1, q)
        if n >= 0
    ]
    # Other draws of the start: within a hundredth of the share.
    assert captured[-1] > 0.99 * energy
    assert len(captured) == 1 or captured[0] < 1.01 * energy


def test_a_second_call_goes_on_where_the_first_was_stopped(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.svd.CASES", (RIVAL, OURS, "profile"))
    monkeypatch.setattr("benchmarks.svd.SHORT", 0.0)
    monkeypatch.delenv("FILM_DATA", raising=False)
    arguments = ["--quick", "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    path = tmp_path / "out" / "svd.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {RIVAL, OURS, "all"} <= {row["case"].split(": ")[2] for row in rows}
    captured = {row["case"]: row["value"] for row in rows if row["metric"] == "captured"}
    assert all(0.99 <= value <= 1 + 1e-5 for value in captured.values()) and len(captured) == 2
    profiled = [row for row in rows if row["case"].startswith("profile: ")]
    stages = [row["value"] for row in profiled if not row["case"].endswith(": all")]
    whole = next(row["value"] for row in profiled if row["case"].endswith(": all"))
    assert len(stages) == 7 and sum(stages) == pytest.approx(whole, abs=0.1)
    assert main(arguments) == 0
    again = path.read_text(encoding="utf-8").splitlines()
    assert len(again) == len(rows)
    assert set(CASES) > {RIVAL, OURS, "profile"}

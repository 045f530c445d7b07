"""The benchmark of solvers: its objective is that of the solution, and its counts add up."""

import json

import pytest

from benchmarks.solvers import LBFGS, Outcome, main, objective, problem, summary
from film.metric import solve


def test_the_objective_is_that_of_the_solver():
    task = problem(9)
    found = solve(*task.arguments, margin=task.margin, solver="eigen", max_iter=5, tol=1e-2)
    assert objective(task, found.P * found.s**0.5) == pytest.approx(found.objective, rel=1e-9)


def test_claims_are_wrong_where_another_solver_is_lower():
    def row(value, converged):
        other = Outcome(2.0, False, 1.0)
        return {"FILM eigen": Outcome(value, converged, 1.0), "FILM cayley": other, LBFGS: other}

    found = [row(2.01, True), row(2.1, True), row(2.1, False), row(1.0, True)]
    counted = summary(found, "FILM eigen")
    assert (counted["wrong_claims"], counted["claimed_percent"]) == (1, 75.0)
    assert (counted["near_percent"], counted["worst_percent"]) == (50.0, 5.0)


def test_a_row_for_each_solver(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.solvers.find_spec", lambda package: None)
    assert main(["--problems", "1", "--out", str(tmp_path)]) == 0
    lines = (tmp_path / "solvers.jsonl").read_text("utf-8").splitlines()
    cases = {json.loads(line)["case"] for line in lines}
    solvers = ("FILM eigen", "FILM cayley", LBFGS)
    assert cases == {f"1 {of}: {name}" for of in ("problems", "of them") for name in solvers}

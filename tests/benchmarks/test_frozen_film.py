"""Recalls against a loop, one spelling for all texts, and a quick run from end to end."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks import frozen_film
from benchmarks.one_encoder import tenth
from benchmarks.support.quora_data import generated

TINY = str(Path(__file__).parents[1] / "golden" / "tiny")


def looped(points, asked, depths):
    best = {}
    for question, duplicate in asked.tolist():
        closer = sum(
            points[question] @ points[other] > points[question] @ points[duplicate]
            for other in range(len(points))
            if other != question
        )
        best[question] = min(best.get(question, len(points)), closer)
    return {f"recall_{k}": np.mean([rank < k for rank in best.values()]) for k in depths}


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_matrix])
def test_recalls_are_those_of_a_loop(wrap):
    rng = np.random.default_rng(0)
    points = normalize(rng.integers(0, 3, size=(40, 4)).astype(float) + np.eye(40, 4))
    asked = rng.integers(0, 40, size=(30, 2))
    asked = asked[asked[:, 0] != asked[:, 1]]
    assert frozen_film.recalls(wrap(points), asked) == pytest.approx(
        looped(points, asked, frozen_film.DEPTHS)
    )


def test_all_texts_are_spelt_alike_before_they_are_mixed():
    data = frozen_film.normalised(generated(60, 0))
    texts = [*data.train.ravel(), *data.dev.ravel()]
    assert all(text == text.lower() and "?" not in text for text in texts)
    assert data.train.shape == generated(60, 0).train.shape


def test_further_duplicates_are_used_only_where_a_case_says_so():
    by_case = {case: settings.n_similar != 0 for case, settings in frozen_film.CASES.items()}
    assert all(used == ("further duplicates" in case) for case, used in by_case.items())


def rule_titles():
    return {
        f"rule: generated: MiniLM, {case}: Pairwise kNN, {mode}"
        for case in frozen_film.RULE_CASES
        for mode in ("collection", "inductive")
    }


def test_the_rule_is_shown_in_few_dimensions_beside_the_metric_of_the_best_cosine():
    full, few, once = frozen_film.RULE_CASES.values()
    assert full in frozen_film.CASES.values()
    assert few.d == min(case.d for case in (full, few, *frozen_film.CASES.values()))
    assert {full, few, once} <= set(frozen_film.RULE_CANDIDATES)
    assert few.copies is None and replace(once, copies=None) == few


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_rule_runs_and_is_searched_alone(tmp_path, monkeypatch, capsys):
    pytest.importorskip("transformers", reason="needs the extra neural")
    monkeypatch.delenv("FILM_DATA", raising=False)
    monkeypatch.setattr(frozen_film, "QUICK_PAIRS", 80)
    few = frozen_film.RULE
    monkeypatch.setattr(frozen_film, "RULE_CANDIDATES", (few,))
    quick = ["--quick", "--rule", "--model", TINY, "--out", str(tmp_path / "rows")]
    assert frozen_film.main([*quick, "--cache", str(tmp_path / "cache")]) == 0
    lines = (tmp_path / "rows" / "frozen_film.jsonl").read_text().splitlines()
    assert {json.loads(line)["case"] for line in lines} == rule_titles()
    ran = capsys.readouterr().out
    assert frozen_film.main([*quick, "--cache", str(tmp_path / "cache"), "--search"]) == 0
    searched = capsys.readouterr().out
    for mode in ("collection", "inductive"):
        told = next(
            line
            for line in ran.splitlines()
            if line.startswith(f"FILM, threshold, d={few.d}, {mode}: ")
        )
        found = next(
            line for line in searched.splitlines() if line.startswith(f"search: {mode}: {few}: ")
        )
        assert found.split(": ")[-1].split(", ")[0] == told.split("accuracy ")[-1]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_quick_run_records_every_row(tmp_path, monkeypatch):
    pytest.importorskip("transformers", reason="needs the extra neural")
    monkeypatch.delenv("FILM_DATA", raising=False)
    done = frozen_film.main(["--quick", "--model", TINY, "--out", str(tmp_path)])
    assert done == 0
    rows = [json.loads(line) for line in (tmp_path / "frozen_film.jsonl").read_text().splitlines()]
    kinds = {row["case"].split(": ")[0] for row in rows}
    assert kinds == {"cosine", "rule", "retrieval", "classifier"}
    cosines = [row for row in rows if row["case"].startswith("cosine")]
    assert len(cosines) == len(frozen_film.CASES) + 5
    assert {row["case"] for row in rows if row["case"].startswith("rule")} == rule_titles()
    assert all(0 <= row["value"] <= 1 for row in cosines)
    kept = (tmp_path / "pairs" / "frozen_film.jsonl").read_text().splitlines()
    judged = [row for row in rows if row["case"].startswith("classifier")]
    spaces = ("cosine", *(f", {case}" for case in frozen_film.CLASSIFIER_CASES))
    assert {row["case"] for row in judged} == {
        f"classifier: generated: MiniLM{space if space[0] == ',' else f' {space}'}, {mode}"
        for space in spaces
        for mode in ("collection", "inductive")
    }
    judged += cosines
    assert {json.loads(line).get("case") for line in kept} >= {row["case"] for row in judged}


def test_a_space_that_is_judged_by_a_regression_knows_no_question_of_its_pairs(monkeypatch):
    """The pairs that fit the regression, and further duplicates of theirs, train no FILM."""
    data = frozen_film.normalised(generated(400, 0))
    held, _ = tenth(data)
    linked = np.array([[held[0, 0], "a text"], ["a text", "another"], ["x", "y"]], dtype=object)
    data = replace(data, similar=linked)
    fits, regressions = [], []
    monkeypatch.setattr(frozen_film, "fitted", lambda *given: fits.append(given) or None)
    monkeypatch.setattr(frozen_film, "FrozenEstimator", lambda space: space)
    monkeypatch.setattr(
        frozen_film,
        "probabilities",
        lambda space, data, mode: regressions.append(mode) or np.zeros(len(data.dev)),
    )
    options = argparse.Namespace(seed=0, quick=True, out=None)
    rows = frozen_film.classifier_rows(data, options)
    assert len(rows) == len(regressions) == 2 * (len(fits) + 1)
    questions = set(held.ravel())
    for _, pairs, y, similar, _ in fits:
        assert not questions & set(pairs.ravel())
        assert len(pairs) == len(y) == len(data.train) - len(held)
        assert similar.tolist() == [["x", "y"]]

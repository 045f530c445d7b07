import json
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import duplicates
from benchmarks.duplicates import HELD_OUT, RIVALS, held_out_fold, judged, main, reduced_problem
from benchmarks.support import records
from benchmarks.support.bootstrap import figures_of
from benchmarks.support.pair_rows import read_pair_rows
from benchmarks.support.quora_data import generated
from film.pairs import NEIGHBOURHOOD_NAMES

LEXICAL = "lexical features, logistic regression"
JUDGED = {
    "roc_auc",
    "accuracy",
    "log_loss",
    "log_loss_at_prior",
    "calibration_error",
    "calibration_low",
    "calibration_high",
    "perfect_low",
    "perfect_high",
    "perfect_high_independent",
}
# Stands in for the script that runs in the rivals' environment: some rivals fail, in two ways.
STAND_IN = """
import os, sys
import numpy as np
name, source, target = sys.argv[1:]
points = np.load(source)["points"]
if name == "ITML":
    print("a warning", file=sys.stderr)
    raise ValueError("not positive definite")
if name == "LMNN":
    os._exit(3)
# NCA finds everything equal, the others learn nothing.
components = np.eye(points.shape[1]) * (name != "NCA")
np.savez(target, components=components, seconds=1.25)
"""


@pytest.fixture(scope="module")
def data():
    return generated(300, 0)


def rows_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return {(row["case"], row["metric"]): row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    out = tmp_path_factory.mktemp("duplicates")
    assert main(["--quick", "--only", "stack", "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["duplicates.jsonl", "pairs"]
    rows = rows_of(out / "duplicates.jsonl")
    kept = read_pair_rows("duplicates", out)
    assert set(kept) == {case for case, _ in rows}
    # What is kept of each pair gives the figures of the table again.
    for case, row in kept.items():
        for name, figure in figures_of(row).items():
            whole = figure(row.values[None], row.on.labels, np.ones((1, len(row.on.labels))))
            assert whole == pytest.approx(rows[case, name]["value"], abs=1e-3)
    return rows


def test_a_folder_without_the_file_exits_with_2(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("benchmarks.duplicates: ") and "holds no train.csv" in said


def test_a_train_file_without_labels_exits_with_2(tmp_path, capsys):
    (tmp_path / "train.csv").write_text("question1,question2\na b,c d\n", encoding="utf-8")
    assert main(["--data", str(tmp_path)]) == 2
    assert "is_duplicate" in capsys.readouterr().err


def test_stack_records_each_case_with_all_its_metrics(stack):
    timed = {"seconds"}
    measured = timed | {"peak", "predict"}
    expected = {
        "TF-IDF cosine, logistic regression": JUDGED,
        LEXICAL: JUDGED | timed,
    }
    for mode in ("collection", "inductive", HELD_OUT):
        expected |= {
            f"fast_duplicates, {mode}": JUDGED | measured,
            f"fast_duplicates, {mode}, without neighbours": JUDGED,
            f"fast_duplicates, {mode}, without ranks and neighbours": JUDGED,
        }
    assert set(stack) == {(f"generated: {c}", m) for c, ms in expected.items() for m in ms}
    assert {m: row["unit"] for (_, m), row in stack.items() if row["unit"]} == {
        "seconds": "s",
        "peak": "MB",
        "predict": "s",
    }


def test_stack_values_are_possible_and_the_models_beat_chance(stack):
    for case in {case for case, _ in stack}:
        value = {metric: stack[case, metric]["value"] for metric in JUDGED}
        assert 0.6 < value["roc_auc"] < 1
        assert 0.5 < value["accuracy"] < 1
        assert 0 < value["log_loss"] < np.log(2)
        assert 0 <= value["calibration_low"] <= value["calibration_error"]
        assert value["calibration_error"] <= value["calibration_high"] <= 1
    # numpy and scikit-learn alone take tens of megabytes, and no quick run takes 10 gigabytes.
    peak = stack["generated: fast_duplicates, inductive", "peak"]["value"]
    assert 20 < peak < 10_000


def test_stack_stands_beside_the_lexical_baseline(stack):
    for (_, metric), row in stack.items():
        assert row["rival"] == LEXICAL
        baseline = stack.get((f"generated: {LEXICAL}", metric))
        assert row["rival_value"] == (baseline and baseline["value"])


def test_mode_and_ranks_make_different_rows(stack):
    modes = ("collection", "inductive")
    less = ("", ", without neighbours", ", without ranks and neighbours")
    cases = [f"generated: fast_duplicates, {m}{r}" for m in modes for r in less]
    assert len({stack[case, "log_loss"]["value"] for case in cases}) == 6


def test_collection_adds_the_questions_of_dev_and_test_and_ranks_are_left_out(data, monkeypatch):
    asked = []

    class Final:
        def get_params(self, deep=True):
            return {}

        def fit(self, X, y):
            asked.append(X)
            return self

        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    class Model:
        feature_names_out_ = (
            "cosine",
            "film: rank of first",
            f"film: {NEIGHBOURHOOD_NAMES[-1]}",
            "length",
        )
        final_estimator_ = Final()

        def fit(self, pairs, y, similar):
            assert pairs is data.train and similar is data.similar
            self.out_of_fold_ = np.tile([0.0, 1.0, 3.0, 2.0], (len(y), 1))
            return self

        def inputs(self, pairs):
            assert pairs is data.dev
            return np.column_stack([np.full(len(pairs), 0.25), *[data.y_dev] * 3])

        def probabilities_of(self, inputs, pairs=None):
            return np.column_stack([1 - inputs[:, 1], inputs[:, 1]])

        def predict_proba(self, pairs):
            timed.append(pairs)

    corpora, timed = [], []

    def stand_in(*, corpus, **small):
        corpora.append(corpus)
        return Model()

    monkeypatch.setattr(duplicates, "fast_duplicates", stand_in)
    rows, p = duplicates.measure_stack(data, "collection", quick=True)
    assert set(p) == set(rows)
    less = "collection, without neighbours"
    assert set(rows) == {"collection", less, "collection, without ranks and neighbours"}
    duplicates.measure_stack(data, "inductive", quick=True)
    assert set(corpora[0]) == {*data.dev.ravel(), *data.test.ravel()}
    assert corpora[1] is None
    known = {*data.train.flat, *data.dev.flat, *data.test.flat}
    assert [pairs.shape for pairs in timed] == [(100, 2)] * 2
    assert not set(timed[0].flat) & known
    np.testing.assert_array_equal(asked[0], np.tile([0.0, 1.0, 2.0], (len(data.y_train), 1)))
    np.testing.assert_array_equal(asked[1], np.tile([0.0, 2.0], (len(data.y_train), 1)))
    assert rows["collection"]["roc_auc"] == 1.0
    assert rows["collection, without ranks and neighbours"]["roc_auc"] == 0.5


def test_the_held_out_fold_shares_no_question_with_what_is_learned(data):
    # More duplicates of every question of train: only those of the kept ones may stay.
    similar = np.array([[text, f"more of {text}"] for text in data.train[:, 0]], dtype=object)
    fold = held_out_fold(replace(data, similar=similar))
    n = len(data.train)
    assert len(fold.train) + len(fold.dev) == n and 0.1 < len(fold.dev) / n < 0.2
    held = set(fold.dev.ravel())
    assert held.isdisjoint(fold.train.ravel()) and held.isdisjoint(fold.similar.ravel())
    assert set(fold.train[:, 0]) == set(fold.similar[:, 0])
    assert {*fold.dev.ravel(), *fold.train.ravel()} == set(data.train.ravel())
    known = dict(zip(map(tuple, data.train), data.y_train, strict=True))
    assert [known[tuple(pair)] for pair in fold.dev] == fold.y_dev.tolist()
    assert held_out_fold(data).similar is None


def test_judged_by_hand():
    y = np.array([0, 0, 1, 1])
    p = np.array([0.1, 0.6, 0.5, 0.9])
    found = judged(p, y, 0.25)
    assert set(found) == JUDGED
    # Of four pairs of a duplicate and another, only 0.5 against 0.6 is the wrong way round.
    assert found["roc_auc"] == 0.75
    # 0.6 is wrong, and one half does not say "duplicate".
    assert found["accuracy"] == 0.5
    loss = -np.mean(np.log([0.9, 0.4, 0.5, 0.9]))
    assert found["log_loss"] == pytest.approx(loss, rel=1e-12)
    # Odds are carried from the share learned from, 1 : 3; the rows are weighed from 1 : 1.
    odds = p / (1 - p) * (0.1746 / 0.8254) / (1 / 3)
    said = np.where(y == 1, odds / (1 + odds), 1 / (1 + odds))
    at_prior = -np.sum(np.where(y == 1, 0.1746, 0.8254) * np.log(said)) / 2
    assert found["log_loss_at_prior"] == pytest.approx(at_prior, rel=1e-12)
    # Four rows, 15 bins: each row alone in its bin.
    assert found["calibration_error"] == pytest.approx((0.1 + 0.6 + 0.5 + 0.1) / 4, rel=1e-12)
    assert found["calibration_low"] <= found["calibration_error"] <= found["calibration_high"]


def test_judged_takes_15_bins_of_equal_mass_and_is_seeded():
    rng = np.random.default_rng(0)
    p = np.sort(rng.uniform(size=60))
    y = (rng.uniform(size=60) < p).astype(int)
    found = judged(p, y, 0.5)
    bins = zip(np.split(p, 15), np.split(y, 15), strict=True)
    error = np.mean([abs(said.mean() - seen.mean()) for said, seen in bins])
    assert found["calibration_error"] == pytest.approx(error, rel=1e-12)
    assert found["calibration_low"] < found["calibration_high"]
    assert judged(p, y, 0.5) == found


def test_reduced_problem_holds_what_the_rivals_learn_from(data):
    problem, (first, second) = reduced_problem(data, 50, 6)
    texts = np.unique(data.train[:50])
    assert problem["points"].shape == (len(texts), 6)
    assert first.shape == second.shape == (len(data.dev), 6)
    lengths = np.linalg.norm(problem["points"], axis=1)
    assert np.allclose(lengths[lengths > 0], 1)
    assert problem["pairs"].shape == (50, 2) and problem["d"] == 3
    np.testing.assert_array_equal(problem["y"], data.y_train[:50])
    same = problem["groups"][problem["pairs"]]
    assert (same[problem["y"] == 1, 0] == same[problem["y"] == 1, 1]).all()
    alone = np.setdiff1d(np.arange(len(texts)), problem["pairs"][problem["y"] == 1])
    np.testing.assert_array_equal(np.flatnonzero(~problem["grouped"]), alone)
    i, j, k = problem["triplets"].T
    assert (problem["groups"][i] == problem["groups"][j]).all() and (i != k).all()


@pytest.fixture
def rivals(tmp_path, monkeypatch, data):
    """Rivals by a script of our own; SCML is one that never ends. Gives the commands that ran."""
    (tmp_path / "metric_rivals.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.setattr(duplicates, "SCRIPTS", tmp_path)
    monkeypatch.setattr(duplicates, "rival_python", lambda *_: Path(duplicates.sys.executable))
    monkeypatch.setattr(duplicates, "_data", lambda _: data)
    ran = []

    def run(command, **options):
        ran.append(command[2])
        limit = options.pop("timeout")
        assert limit == 77.0
        if command[2] == "SCML":
            raise subprocess.TimeoutExpired(command, limit)
        return subprocess.run(command, **options)

    stand_in = SimpleNamespace(
        run=run,
        TimeoutExpired=subprocess.TimeoutExpired,
        CalledProcessError=subprocess.CalledProcessError,
    )
    monkeypatch.setattr(duplicates, "subprocess", stand_in)
    return ran


METRIC = ["--quick", "--only", "metric", "--time-limit", "77"]


def test_rivals_that_fail_or_do_not_end_have_rows_that_say_so(rivals, tmp_path):
    assert main([*METRIC, "--rival-pairs", "40", "--out", str(tmp_path)]) == 0
    assert rivals == list(RIVALS)
    found = rows_of(tmp_path / "metric_learners.jsonl")
    title = "generated, 40 pairs, 20 features: "
    both, seconds, quality = {"seconds", "roc_auc"}, {"seconds"}, {"roc_auc"}
    expected = {
        "no learning": quality,
        "FILM": both,
        "ITML (failed: ValueError: not positive definite)": seconds,
        "SCML (no result in time)": seconds,
        "LMNN (failed: exit status 3)": seconds,
        "NCA": both,
        "NCA of scikit-learn": both,
    }
    assert set(found) == {(title + case, m) for case, metrics in expected.items() for m in metrics}
    value = {(case.removeprefix(title), m): row["value"] for (case, m), row in found.items()}
    assert np.isfinite(list(value.values())).all()
    assert value["SCML (no result in time)", "seconds"] == 77
    assert value["NCA", "seconds"] == 1.25
    assert value["NCA", "roc_auc"] == 0.5 < value["no learning", "roc_auc"]
    best = "NCA of scikit-learn"
    assert value[best, "roc_auc"] == value["no learning", "roc_auc"]
    for (_, metric), row in found.items():
        assert row["rival"] == best
        assert row["rival_value"] == value[best, metric]


def test_without_any_finished_rival_film_is_still_recorded(rivals, tmp_path, monkeypatch):
    monkeypatch.setattr(duplicates, "RIVALS", ("ITML", "SCML"))
    assert main([*METRIC, "--out", str(tmp_path)]) == 0
    found = rows_of(tmp_path / "metric_learners.jsonl")
    cases = [case.split(": ", 1)[1] for case, metric in found if metric == "roc_auc"]
    assert cases == ["no learning", "FILM"]
    assert all(row["rival"] is None and row["rival_value"] is None for row in found.values())


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_run_records_only_where_out_says_so(quick, rivals, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(duplicates, "RIVALS", ("NCA",))
    forwarded = []

    def run(command, **options):
        if command[1] != "-m":
            return subprocess.run(command, **options)
        forwarded.append((command[command.index("--case") + 1], "--quick" in command))
        return SimpleNamespace(stdout='a line before\n{"some case": {"peak": 3}}\n')

    monkeypatch.setattr(duplicates.subprocess, "run", run)
    options = ["--time-limit", "77", "--rival-pairs", "40", *(["--quick"] if quick else [])]
    assert main(options) == 0
    shown = capsys.readouterr().out
    assert LEXICAL in shown and "FILM" in shown
    assert "fast_duplicates, some case {'peak': 3}" in shown
    assert forwarded == [("collection", quick), ("inductive", quick), (HELD_OUT, quick)]
    written = sorted(path.name for path in tmp_path.glob("results/*"))
    assert written == ([] if quick else ["duplicates.jsonl", "metric_learners.jsonl", "pairs"])

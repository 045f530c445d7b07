import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.accurate import SAW, candidates, compared_inside, main, with_candidates
from benchmarks.support.pair_rows import read_pair_rows
from benchmarks.support.quora_data import NEW_PAIRS, generated, new_pairs
from estimators import (
    FILM,
    DuplicateClassifier,
    PairTeacher,
    accurate_duplicates,
    question_groups,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_quick_run_records_every_member_in_both_modes(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.accurate.NEW_PAIRS", 50)
    monkeypatch.setattr("benchmarks.accurate.generated", lambda n, seed: generated(200, seed))
    out = tmp_path / "out"
    assert main(["--quick", "--members", "film,words", "--out", str(out)]) == 0
    lines = (out / "accurate.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {(row["case"], row["metric"]): row for row in map(json.loads, lines)}
    for mode in ("collection", "inductive"):
        for case in ("all", "without film", "without words"):
            for metric in ("accuracy", "log_loss", "log_loss_at_prior", "calibration_error"):
                assert np.isfinite(rows[f"generated: {mode}: {case}", metric]["value"])
            assert rows[f"generated: {mode}: {case}", "fit"]["unit"] == "s"
            low, high = (
                rows[f"generated: {mode}: {case}", f"perfect_{end}"]["value"]
                for end in ("low", "high")
            )
            assert 0 <= low <= high
    kept = read_pair_rows("accurate", out)
    assert len(kept) == 6
    for case, row in kept.items():
        assert roc_auc_score(row.on.labels, row.values[None]) == pytest.approx(
            rows[case, "roc_auc"]["value"], abs=1e-3
        )


def test_members_and_trees_are_compared_inside_train(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.accurate.generated", lambda n, seed: generated(200, seed))
    out = tmp_path / "out"
    assert main(["--quick", "--inside", "--modes", "inductive", "--out", str(out)]) == 0
    kept = read_pair_rows("accurate", out)
    start = "generated: inductive, inside train: "
    names = ("film", "characters", "words")
    assert kept.keys() == {start + "all", *(f"{start}without {name}" for name in names)}
    assert all(len(row.on.labels) == len(generated(200, 0).train) for row in kept.values())
    row = kept[start + "all"]
    assert roc_auc_score(row.on.labels, row.values[None]) > 0.7


@pytest.mark.parametrize(("inside", "place"), [([], ""), (["--inside"], ", inside train")])
def test_members_are_timed_before_the_whole_has_put_its_fits_into_the_cache(
    inside, place, tmp_path, monkeypatch
):
    monkeypatch.setattr("benchmarks.accurate.NEW_PAIRS", 50)
    monkeypatch.setattr("benchmarks.accurate.generated", lambda n, seed: generated(200, seed))
    fit, fitted = DuplicateClassifier.fit, []

    def with_another(model, names, contexts):
        return model.set_params(members=[*model.members, ("again", clone(model.members[-1][1]))])

    def spy(self, *given):
        fitted.append([name for name, _ in self.members])
        return fit(self, *given)

    monkeypatch.setattr("benchmarks.accurate.with_candidates", with_another)
    monkeypatch.setattr(DuplicateClassifier, "fit", spy)
    options = ["--quick", "--members", "film,words", "--modes", "inductive", *inside]
    assert main([*options, "--out", str(tmp_path)]) == 0
    assert fitted == [["film"], ["words"], ["again"], ["film", "words", "again"]]
    cases = ("all", "without film", "without words", "with again")
    kept = read_pair_rows("accurate", tmp_path)
    assert {case.partition(": ")[2] for case in kept} == {f"inductive{place}: {c}" for c in cases}


def test_the_whole_alone_is_timed_where_nothing_was_kept(tiny_model, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.accurate.NEW_PAIRS", 20)
    monkeypatch.setattr("benchmarks.accurate._data", lambda options: generated(200, 0))
    monkeypatch.setitem(SAW, tiny_model.name, "it")
    options = ["--quick", "--whole", "--data", str(tmp_path), "--encoder", str(tiny_model)]
    options += ["--members", "words,cosine", "--modes", "inductive", "--device", "cpu"]
    options += ["--cache", str(tmp_path / "cache"), "--out"]
    rows = []
    for place in (tmp_path / "first", tmp_path / "second"):
        assert main([*options, str(place)]) == 0
        lines = (place / "accurate.jsonl").read_text(encoding="utf-8").splitlines()
        rows.append({row["metric"]: row for row in map(json.loads, lines)})
    for found in rows:
        assert {row["case"] for row in found.values()} == {"quora, it saw Quora: inductive: all"}
        assert found["predict"]["value"] >= 0 and found["roc_auc"]["value"] > 0.5
    assert rows[0]["fit"]["value"] > 0 and "fit" not in rows[1]
    assert rows[0]["roc_auc"]["value"] == rows[1]["roc_auc"]["value"]


def test_a_teacher_scores_near_pairs_of_what_the_member_learns_from(
    tiny_model, tmp_path, monkeypatch
):
    data, taught = generated(200, 0), []
    fit = PairTeacher.fit

    def spy(self, pairs, y, **given):
        taught.append({*np.ravel(pairs)})
        return fit(self, pairs, y, **given)

    monkeypatch.setattr("benchmarks.accurate.NEW_PAIRS", 20)
    monkeypatch.setattr("benchmarks.accurate._data", lambda options: data)
    monkeypatch.setattr(PairTeacher, "fit", spy)
    options = ["--quick", "--teacher", "--data", str(tmp_path), "--encoder", str(tiny_model)]
    options += ["--members", "words,rcmd", "--modes", "inductive", "--epochs", "0.3"]
    assert main([*options, "--out", str(tmp_path / "out")]) == 0
    lines = (tmp_path / "out" / "accurate.jsonl").read_text(encoding="utf-8").splitlines()
    cases = {row["case"] for row in map(json.loads, lines)}
    assert "quora, with a teacher: inductive: without rcmd" in cases
    assert all(case.startswith("quora, with a teacher: ") for case in cases)
    one, other, whole = taught
    assert not one & other and one | other == whole == {*data.train.ravel()}


class ByQuestion(ClassifierMixin, BaseEstimator):
    """Knows each question's group by the row number in its only column."""

    groups: np.ndarray

    def fit(self, X, y):
        self.classes_, self.known_ = np.array([0, 1]), set(self.groups[X[:, 0].astype(int)])
        return self

    def predict_proba(self, X):
        assert not self.known_ & set(self.groups[X[:, 0].astype(int)])
        return np.column_stack([1 - X[:, 0] / 1000, X[:, 0] / 1000])


def test_a_final_model_inside_train_never_saw_the_questions_that_it_judges():
    data = generated(200, 0)
    ByQuestion.groups = question_groups(data.train)
    numbers = np.arange(len(data.train))[:, None]
    model = SimpleNamespace(
        members=[("words", None)], final_estimator_=ByQuestion(), out_of_fold_=numbers
    )
    model.pruned = lambda names: model
    _, said = compared_inside(model, data, {"all": (["words"], {})})
    np.testing.assert_array_equal(said["all"], numbers[:, 0] / 1000)


def test_candidates_stand_on_the_encoder_of_the_preset():
    model = accurate_duplicates(encoder="a/model", dtype="bfloat16", max_length=64)
    found = candidates(model)
    reads = ("a/model", "bfloat16", 64)
    encoders = {name: found[name] for name in ("untrained", "matching", "cross")}
    encoders["vectors"], metric = (step for _, step in found["vectors"].steps)
    encoders |= {"tokens": found["tokens"].model.encoder, "network": found["network"].encoder}
    assert isinstance(metric, FILM) and encoders.keys() == found.keys()
    for encoder in encoders.values():
        assert (encoder.model, encoder.dtype, encoder.max_length) == reads
    added = with_candidates(model, ["matching", "cross"])
    assert [name for name, _ in added.members][-3:] == ["rcmd", "matching", "cross"]
    assert added.member_cv == {"rcmd": 2, "cross": 2}
    plain = accurate_duplicates(encoder="none")
    assert with_candidates(plain, ["cross"]).members == plain.members
    with pytest.raises(
        ValueError, match=r"--candidates \['nobody'\]: give some of vectors, tokens"
    ):
        with_candidates(accurate_duplicates(), ["nobody"])
    name, origin = with_candidates(model, ["origin"], "a/folder").members[-1]
    assert (name, origin.context_model) == ("origin", "a/folder")
    with pytest.raises(ValueError, match="--candidates origin needs --contexts FOLDER"):
        with_candidates(accurate_duplicates(), ["origin"])


def test_a_candidate_has_a_row_and_its_seconds():
    data = generated(200, 0)
    columns = np.column_stack([np.arange(len(data.train)) % 7, data.y_train])
    members = [("words", None), ("candidate", None)]
    model = SimpleNamespace(members=members)

    def pruned(names):
        used = [i for i, (name, _) in enumerate(members) if name in names]
        return SimpleNamespace(final_estimator_=LogisticRegression(), out_of_fold_=columns[:, used])

    model.pruned, model.final_estimator_ = pruned, LogisticRegression()
    cases = {"all": (["words"], {}), "with candidate": (["words", "candidate"], {"fit": 3.0})}
    rows, said = compared_inside(model, data, cases)
    assert list(rows) == ["all", "with candidate"] == list(said)
    assert rows["with candidate"]["roc_auc"] == 1 > rows["all"]["roc_auc"]
    assert rows["with candidate"]["fit"] == 3 and "fit" not in rows["all"]


def test_timed_pairs_are_new():
    data = generated(100, 0)
    pairs = new_pairs(data, NEW_PAIRS)
    assert pairs.shape == (NEW_PAIRS, 2)
    assert not set(pairs.flat) & {*data.train.flat, *data.dev.flat, *data.test.flat}
    assert len(set(map(tuple, pairs.tolist()))) > 0.9 * NEW_PAIRS


def test_what_cannot_run_is_named(tmp_path, capsys):
    assert main(["--quick", "--members", "nobody"]) == 2
    assert "--members ['nobody']: give some of film, characters, words" in capsys.readouterr().err
    assert main(["--quick", "--teacher"]) == 2
    assert "--teacher is of the member rcmd: give an encoder" in capsys.readouterr().err
    assert main(["--data", str(tmp_path)]) == 2
    assert "holds no train.csv" in capsys.readouterr().err

import json
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from benchmarks import sts_stack
from benchmarks.sts_stack import (
    CROSSED,
    JOINED,
    MEASURES,
    SHOWN,
    TRAINED,
    UNTRAINED,
    Columns,
    fitted,
    judged,
    main,
    rank_correlation,
    similarities,
)
from benchmarks.support import records
from benchmarks.support.bootstrap import spearman
from benchmarks.support.pair_rows import read_pair_rows
from estimators import CrossEncoderRegressor, RCMDRegressor, TokenEncoder, average_models
from film.datasets import ScoredPairs, read_sts_benchmark

NOUNS = ("chess", "cat", "dog", "mat", "age", "earth", "way", "run")
VERBS = ("sat", "runs", "is old", "learn well")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("stsb")
    for part in ("train", "dev", "test"):
        rows = [
            f"main-news\tMSRpar\t2012\t{i}\t{i % 5}\ta {noun} {verb}"
            f"\tthe {noun} {verb}{' on mat' * (i % 5)}\n"
            for i, (noun, verb) in enumerate((noun, verb) for noun in NOUNS for verb in VERBS)
        ]
        (root / f"sts-{part}.csv").write_text("".join(rows), encoding="utf-8")
    return root


def test_without_data_it_exits_with_2(monkeypatch, capsys):
    monkeypatch.delenv("FILM_DATA", raising=False)
    assert main(["--quick"]) == 2
    assert capsys.readouterr().err.startswith("benchmarks.sts_stack: no data")


@pytest.mark.parametrize("plan", SHOWN)
def test_it_runs_records_and_takes_models_that_were_kept(
    folder, tiny_model, tmp_path, monkeypatch, plan
):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    arguments = ["--quick", "--data", str(folder), "--model", str(tiny_model)]
    arguments += [] if plan == "rcmd" else ["--plan", plan]
    arguments += ["--parts", "2", "--keep", str(tmp_path / "kept"), "--out"]
    assert main([*arguments, str(tmp_path / "first")]) == 0
    kept = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert kept == [f"{plan}-0", f"{plan}-0-of-2-0", f"{plan}-1-of-2-0"]
    assert {RCMDRegressor.load(tmp_path / "kept" / name).plan for name in kept} == {plan}
    monkeypatch.setattr(RCMDRegressor, "save", None)  # what is kept is not trained again
    assert main([*arguments, str(tmp_path / "second")]) == 0
    first, second = (
        {
            (row["case"], row["metric"]): row["value"]
            for row in map(
                json.loads, (tmp_path / name / "sts_stack.jsonl").read_text().splitlines()
            )
        }
        for name in ("first", "second")
    )
    assert first == second and len(first) == 5 * 3
    for case, row in read_pair_rows("sts_stack", tmp_path / "first").items():
        value = spearman(row.values[0], row.on.labels)
        assert first[case, "stsb_test"] == pytest.approx(value, abs=1e-3)
    kept = str(tmp_path / "kept" / f"{plan}-0-of-2-0")
    assert main([*arguments, str(tmp_path / "third"), "--whole", kept]) == 0
    lines = (tmp_path / "third" / "sts_stack.jsonl").read_text().splitlines()
    more = {(row["case"], row["metric"]): row["value"] for row in map(json.loads, lines)}
    start = f"{tiny_model.name}: {SHOWN[plan]}, trained, 2 parts"
    case = f"{start}, with {plan}-0-of-2-0 in that of the whole file"
    assert more[case, "stsb_train"] == first[start, "stsb_train"]
    average_models([tmp_path / "kept" / f"{plan}-0", kept], tmp_path / "average")
    test = read_sts_benchmark(folder / "sts-test.csv").pairs[:120]
    average = RCMDRegressor(tmp_path / "average", plan=plan).fit(test[:1]).similarity(test)
    scores = read_sts_benchmark(folder / "sts-test.csv").scores[:120]
    assert more[case, "stsb_test"] == pytest.approx(rank_correlation(average, scores), abs=1e-3)
    assert not (tmp_path / "results").exists()
    cases = {case.removeprefix(f"{tiny_model.name}: ") for case, _ in first}
    name, of_joined = SHOWN[plan], "" if plan == "rcmd" else f", {SHOWN[plan]}"
    assert cases > {f"{name}, untrained", f"{name}, trained, 2 parts"}
    assert cases > {f"{UNTRAINED[1]}{of_joined}", f"{JOINED}{of_joined}, 2 parts"}
    assert not any("{" in case for case in cases)


def test_training_pairs_are_judged_without_their_own_scores():
    rng = np.random.default_rng(0)
    pairs = np.array([(f"a {i}", f"b {i}") for i in range(60)], dtype=object)
    train = ScoredPairs(pairs, rng.uniform(0, 5, 60), np.full(60, "", dtype=object))
    X = rng.normal(size=(60, 2))
    nearest = KNeighborsRegressor(1)
    held, again = fitted(nearest, [X, X], train, 0)
    # Whoever sees a row's own score gives it back.
    np.testing.assert_array_equal(again, train.scores)
    assert not np.isclose(held, train.scores).any()


def test_all_joined_is_ahead_of_each_where_each_knows_a_part():
    rng = np.random.default_rng(0)
    n = 400
    pairs = np.array([(f"a {i}", f"b {i}") for i in range(n)], dtype=object)
    parts = rng.normal(size=(3, n))
    train = ScoredPairs(pairs, parts.sum(axis=0), np.full(n, "", dtype=object))
    second = np.tile(parts[1], (2, 1)).T
    columns = Columns(parts[:1].T, second, [second], parts[2:].T, np.empty((n, 0)))
    found = judged(train, [columns, columns], seed=0)
    assert CROSSED not in found
    held = {case: rank_correlation(answers[0], train.scores) for case, answers in found.items()}
    assert max(held, key=held.__getitem__) == JOINED and held[JOINED] > 90
    assert held[TRAINED] == pytest.approx(rank_correlation(parts[0], train.scores))


def test_vectors_of_every_untrained_model_say_something():
    rng = np.random.default_rng(0)
    n = 400
    pairs = np.array([(f"a {i}", f"b {i}") for i in range(n)], dtype=object)
    parts = rng.normal(size=(2, n))
    train = ScoredPairs(pairs, parts.sum(axis=0), np.full(n, "", dtype=object))
    nothing, elements = np.zeros((n, 1)), [np.tile(part, (2, 1)).T for part in parts]
    held = [
        rank_correlation(judged(train, [columns] * 2, seed=0)[UNTRAINED[1]][0], train.scores)
        for columns in (
            Columns(nothing, nothing, elements[:1], nothing, nothing),
            Columns(nothing, nothing, elements, nothing, nothing),
        )
    ]
    assert held[0] < 80 and held[1] > 90


def test_a_cross_encoder_is_joined_and_shown():
    rng = np.random.default_rng(0)
    n = 400
    pairs = np.array([(f"a {i}", f"b {i}") for i in range(n)], dtype=object)
    parts = rng.normal(size=(2, n))
    train = ScoredPairs(pairs, parts.sum(axis=0), np.full(n, "", dtype=object))
    first, second = parts[:1].T, parts[1:].T
    columns = Columns(first, first, [first], first, second)
    found = judged(train, [columns, columns], seed=0)
    held = {case: rank_correlation(answers[0], train.scores) for case, answers in found.items()}
    assert held[CROSSED] == pytest.approx(rank_correlation(parts[1], train.scores))
    assert max(held, key=held.__getitem__) == JOINED and held[JOINED] > 90


def test_a_cross_encoder_judges_pairs_of_parts_that_it_did_not_learn(
    folder, tiny_model, tmp_path, monkeypatch
):
    learned = []

    class Noted(CrossEncoderRegressor):
        def fit(self, pairs, y, **given):
            learned.append({tuple(pair) for pair in pairs})
            return super().fit(pairs, y, **given)

        def predict(self, pairs):
            judged_of.append((len(learned), {tuple(pair) for pair in pairs}))
            return super().predict(pairs)

    judged_of = []
    monkeypatch.setattr(sts_stack, "CrossEncoderRegressor", Noted)
    arguments = ["--quick", "--data", str(folder), "--model", str(tiny_model), "--parts", "2"]
    arguments += ["--cross", str(tiny_model), "--keep", str(tmp_path / "kept"), "--out"]
    assert main([*arguments, str(tmp_path)]) == 0
    train = {tuple(pair) for pair in read_sts_benchmark(folder / "sts-train.csv").pairs}
    assert len(learned) == 3 and learned[2] == train
    for number, held in judged_of[:2]:
        assert learned[number - 1] | held == train and not learned[number - 1] & held
    assert [number for number, _ in judged_of] == [1, 2, 3, 3]
    kept = {path.name for path in (tmp_path / "kept").glob("cross*")}
    assert kept == {"cross-0", "cross-0-of-2-0", "cross-1-of-2-0"}
    monkeypatch.setattr(Noted, "fit", None)  # what is kept is not trained again
    assert main([*arguments, str(tmp_path / "again")]) == 0
    first, again = (
        [
            (row["case"], row["metric"], row["value"])
            for row in map(json.loads, (part / "sts_stack.jsonl").read_text().splitlines())
        ]
        for part in (tmp_path, tmp_path / "again")
    )
    assert first == again
    cases = {case.removeprefix(f"{tiny_model.name}: ") for case, *_ in first}
    assert {f"{CROSSED}, 2 parts", f"{JOINED}, 2 parts, and a cross-encoder"} < cases


def test_the_packaged_model_stands_beside_another(folder, tiny_model, tmp_path, monkeypatch):
    asked = []

    def encoder_of(model, **shared):
        asked.append(model)
        return TokenEncoder(str(tiny_model), **shared)

    monkeypatch.setattr(sts_stack, "TokenEncoder", encoder_of)
    arguments = ["--quick", "--data", str(folder), "--model", str(tiny_model), "--packaged"]
    assert main([*arguments, "--parts", "2", "--out", str(tmp_path)]) == 0
    assert asked == [str(tiny_model), None]
    lines = (tmp_path / "sts_stack.jsonl").read_text().splitlines()
    cases = {row["case"].removeprefix(f"{tiny_model.name}: ") for row in map(json.loads, lines)}
    beside = "beside the packaged model's"
    assert {case for case in cases if beside in case} == {
        f"{UNTRAINED[1]}, {beside}",
        f"{JOINED}, 2 parts, {beside}",
    }


@pytest.mark.parametrize("plan", SHOWN)
def test_similarities_are_those_of_each_pair_alone_in_any_order(tiny_model, plan):
    pairs = np.array([("a cat sat", "the cat sat"), ("old earth", "old earth")], dtype=object)
    encoder = TokenEncoder(str(tiny_model)).fit(["a text"])
    table: Any = RCMDRegressor(str(tiny_model), weights="idf").fit(pairs).token_weights_
    found, elements = similarities(encoder, pairs, table, plan)
    assert found.shape == (2, MEASURES)
    alone, one = similarities(encoder, pairs[1:], table, plan)
    turned, same = similarities(encoder, pairs[:, ::-1], table, plan)
    np.testing.assert_allclose(found[1:], alone, atol=1e-5)
    np.testing.assert_allclose(elements[1:], one, atol=1e-5)
    np.testing.assert_allclose(found, turned, atol=1e-5)
    np.testing.assert_allclose(elements, same, atol=1e-5)
    plain = RCMDRegressor(str(tiny_model), plan=plan).fit(pairs)
    np.testing.assert_allclose(found[:, 0], plain.similarity(pairs), atol=1e-5)
    # Equal texts: no difference, and products that sum to the squared length 1.
    width = elements.shape[1] // 2
    np.testing.assert_allclose(elements[1, :width], 0, atol=1e-6)
    assert elements[1, width:].sum() == pytest.approx(1)

import json
import runpy
import sys
from itertools import combinations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import rankdata

from benchmarks import sts
from benchmarks.sts import CLS, bertscore, contribution_gaps, main, measured, methods
from benchmarks.support import records
from benchmarks.support.bootstrap import spearman
from benchmarks.support.pair_rows import parts_of_rows, read_pair_rows
from estimators import TokenEncoder
from estimators.tokens import rcmd
from film.datasets import ScoredPairs
from film.tokens.matching import match
from film.tokens.transport import transport_plan

SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK")
RIVAL = "BERTScore, its package"
SENTENCES = (
    ("how do i learn chess", "what is best way to learn chess", 4.5),
    ("a cat sat on mat", "the dog runs well", 1.0),
    ("old earth", "what is age of earth?", 3.0),
    ("the cat runs!", "the cat sat, a dog sat on mat.", 2.0),
)
PAIRS = np.array([row[:2] for row in SENTENCES], dtype=object)
# Stands in for the script that runs in the rival's environment: shared words, and what came.
STAND_IN = """
import json, sys
source, target, model, layers = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    pairs = json.load(file)
with open({seen!r}, "a", encoding="utf-8") as file:
    file.write(json.dumps([pairs, model, layers]) + "\\n")
scores = [len(set(a.split()) & set(b.split())) / len(a + b) for a, b in pairs]
with open(target, "w", encoding="utf-8") as file:
    json.dump({{"scores": scores, "seconds": 1.0}}, file)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The seven sets of four pairs each, told apart by a word."""
    root = tmp_path_factory.mktemp("sts")
    for year in range(12, 17):
        place = root / f"STS{year}-en-test"
        place.mkdir()
        lines = [f"{a}\t{b} {'a b e'.split()[year % 3]}\n" for a, b, _ in SENTENCES]
        (place / "STS.input.images.txt").write_text("".join(lines), encoding="utf-8")
        scores = "".join(f"{score}\n" for *_, score in SENTENCES)
        (place / "STS.gs.images.txt").write_text(scores, encoding="utf-8")
    (root / "STSBenchmark").mkdir()
    lines = [f"main-news\tMSRpar\t2012\t7\t{score}\t{a}\t{b}\n" for a, b, score in SENTENCES]
    (root / "STSBenchmark" / "sts-test.csv").write_text("".join(lines), encoding="utf-8")
    (root / "SICK").mkdir()
    lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"]
    lines += [f"{i}\t{a}\t{b}\t{s}\tNEUTRAL\n" for i, (a, b, s) in enumerate(SENTENCES, 1)]
    path = root / "SICK" / "SICK_test_annotated.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return root


def stand_in(patch, place):
    """Put our script in the rival's place; gives the file of what it was called with."""
    (place / "bertscore_rival.py").write_text(
        STAND_IN.format(seen=str(place / "seen.jsonl")), encoding="utf-8"
    )
    patch.setattr(sts, "SCRIPTS", place)
    patch.setattr(sts, "rival_python", lambda *_: Path(sys.executable))
    return place / "seen.jsonl"


@pytest.fixture(scope="module")
def quick(folder, tiny_model, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch, tmp_path_factory.mktemp("rival"))
        options = ["--quick", "--data", str(folder), "--out", str(out), "--model", str(tiny_model)]
        assert main(options) == 0
    found: dict = {path.name: rows_of(path) for path in out.glob("*.jsonl")}
    return found | {"pairs": parts_of_rows(read_pair_rows("sts", out))}


def rows_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return {(row["case"], row["metric"]): row for row in map(json.loads, lines)}


@pytest.mark.parametrize("given", [True, False])
def test_a_folder_without_the_sets_exits_with_2(given, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FILM_DATA", str(tmp_path))
    monkeypatch.setattr(sts, "rival_python", None)
    assert main(["--data", str(tmp_path)] if given else []) == 2
    said = capsys.readouterr().err
    named = tmp_path if given else tmp_path / "sts"
    assert said.startswith(f"benchmarks.sts: {named} lacks STS12-en-test")


def test_a_folder_that_is_no_environment_of_the_rival_exits_with_2(folder, tmp_path, capsys):
    (tmp_path / "thesis.tex").touch()
    assert main(["--data", str(folder), "--rivals", str(tmp_path)]) == 2
    assert "a folder with other files" in capsys.readouterr().err


def test_each_method_has_all_sets_and_stands_beside_cls(quick, tiny_model):
    assert set(quick) == {"sts.jsonl", "contributions.jsonl", "pairs"}
    found = quick["sts.jsonl"]
    cases = [*methods(str(tiny_model)), RIVAL]
    assert len(cases) == 21
    expected = {(f"tiny: {case}", m) for case in cases for m in (*SETS, "mean")}
    expected |= {(f"tiny: {case}", "gain_over_cls") for case in cases if case != CLS}
    assert set(found) == expected
    for (case, metric), row in found.items():
        base = found.get((f"tiny: {CLS}", metric))
        assert row["unit"] == ""
        if case == f"tiny: {CLS}":
            assert row["rival"] is None and row["rival_value"] is None
        else:
            assert row["rival"] == CLS
            assert row["rival_value"] == (base and base["value"])


def test_what_is_kept_of_each_pair_has_the_figures_of_the_sets(quick):
    found = quick["sts.jsonl"]
    assert set(quick["pairs"]) == {case for case, _ in found}
    for case, parts in quick["pairs"].items():
        assert set(parts) == set(SETS)
        for name, row in parts.items():
            value = spearman(row.values[None], row.on.labels)
            assert found[case, name]["value"] == pytest.approx(value, abs=1e-3)


def test_means_and_gains_follow_from_the_sets(quick):
    found = quick["sts.jsonl"]
    for case in {case for case, _ in found}:
        mean = np.mean([found[case, name]["value"] for name in SETS])
        assert found[case, "mean"]["value"] == pytest.approx(mean, abs=1e-3)
        if case != f"tiny: {CLS}":
            gain = mean - found[f"tiny: {CLS}", "mean"]["value"]
            assert found[case, "gain_over_cls"]["value"] == pytest.approx(gain, abs=2e-3)


def test_contributions_are_recorded_for_all_methods(quick):
    found = quick["contributions.jsonl"]
    kinds = ["rcmd", "rcmd1", "rcmd2", "cmd", "avg", "rcmd+avg", "cls"]
    kinds += [f"matching, {function}" for function in ("both", "significance", "uniqueness")]
    assert set(found) == {(f"tiny: {kind}", "largest_gap") for kind in kinds}
    assert all(0 <= row["value"] < 1e-6 for row in found.values())


@pytest.mark.parametrize("quick_run", [True, False])
def test_a_quick_run_records_only_where_out_says_so(
    quick_run, folder, tiny_model, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(sts, "methods", lambda *_: {CLS: lambda pairs: np.arange(len(pairs))})
    monkeypatch.setattr(sts, "contribution_gaps", lambda *_: {"rcmd": 1e-8})
    monkeypatch.setattr(sts, "rival_python", None)
    options = ["--data", str(folder), "--no-rivals", "--model", "first/tiny", "--model", "other"]
    assert main([*options, *(["--quick"] if quick_run else [])]) == 0
    shown = capsys.readouterr().out
    assert f"tiny: {CLS}: mean " in shown and f"other: {CLS}: mean " in shown
    assert RIVAL not in shown and "tiny: rcmd: contributions miss" in shown
    written = sorted(path.name for path in tmp_path.glob("results/*.jsonl"))
    assert written == ([] if quick_run else ["contributions.jsonl", "sts.jsonl"])


def test_a_quick_run_takes_some_pairs_with_their_own_scores():
    pairs = np.array([[f"a{i}", f"b{i}"] for i in range(100)], dtype=object)
    data = ScoredPairs(pairs, np.arange(100.0), np.array([f"g{i}" for i in range(100)]))
    some = sts.first_pairs(data, 60)
    rows = some.scores.astype(int).tolist()
    assert len(set(rows)) == 60 and rows != list(range(60))
    assert some.pairs.tolist() == pairs[rows].tolist()
    assert some.genres.tolist() == [f"g{i}" for i in rows]
    assert len(sts.first_pairs(data, 200)) == 100


def test_measured_is_spearman_by_set_and_its_mean():
    rng = np.random.default_rng(0)
    sets, said = {}, {}
    for name, n in (("one", 20), ("two", 7)):
        pairs = np.array([[f"{name}{i}", "x"] for i in range(n)], dtype=object)
        # Ties on both sides, for which ranks are means.
        sets[name] = ScoredPairs(pairs, rng.integers(0, 4, n).astype(float), np.full(n, "g"))
        said |= {pair[0]: float(rng.integers(0, 5)) for pair in pairs}
    row = measured(lambda pairs: np.array([said[first] for first, _ in pairs]), sets)
    by_hand = {
        name: 100
        * np.corrcoef(rankdata([said[first] for first, _ in d.pairs]), rankdata(d.scores))[0, 1]
        for name, d in sets.items()
    }
    assert set(row) == {"one", "two", "mean"}
    assert row["one"] == pytest.approx(by_hand["one"], rel=1e-12)
    assert row["two"] == pytest.approx(by_hand["two"], rel=1e-12)
    assert row["mean"] == pytest.approx((by_hand["one"] + by_hand["two"]) / 2, rel=1e-12)


@pytest.fixture(scope="module")
def similarities(tiny_model):
    return {case: of(PAIRS) for case, of in methods(str(tiny_model)).items()}


def test_two_methods_are_the_same_only_where_the_definition_is(similarities):
    same = {
        (one, other)
        for one, other in combinations(similarities, 2)
        if np.allclose(similarities[one], similarities[other], atol=1e-6)
    }
    # Significance is the mean of the best cosines, with weights as well.
    assert same == {("RCMD", "matching, significance")} | {
        ("RCMD, words", "matching, significance, words")
    }


def test_methods_are_what_they_are_called(similarities, tiny_model):
    tokens = TokenEncoder(tiny_model).fit_transform(PAIRS.ravel().tolist())
    sides = list(zip(list(tokens)[::2], list(tokens)[1::2], strict=True))
    inner = list(tokens.without_special())
    inner = list(zip(inner[::2], inner[1::2], strict=True))

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    expected = {
        CLS: [cosine(a[0], b[0]) for a, b in sides],
        "mean pooling": [cosine(a.mean(axis=0), b.mean(axis=0)) for a, b in sides],
        "max pooling": [cosine(a.max(axis=0), b.max(axis=0)) for a, b in sides],
        "RCMD": [transport_plan(a, b, "rcmd").similarity for a, b in sides],
        "RCMD, without special tokens": [transport_plan(a, b, "rcmd").similarity for a, b in inner],
        "CMD": [transport_plan(a, b, "cmd").similarity for a, b in sides],
    }
    for function in ("both", "significance", "uniqueness"):
        expected[f"matching, {function}"] = [match(a, b, function).similarity for a, b in sides]
    for case, values in expected.items():
        np.testing.assert_allclose(similarities[case], values, atol=1e-5, err_msg=case)


def test_a_similarity_that_is_not_the_sum_of_its_contributions_shows(tiny_model, monkeypatch):
    honest = rcmd.ragged_similarities

    def shifted(tokens1, tokens2, method, **rest):
        found = honest(tokens1, tokens2, method, **rest)
        found[2] -= 0.25 * (method == "cmd")
        return found

    monkeypatch.setattr(rcmd, "ragged_similarities", shifted)
    gaps = contribution_gaps(str(tiny_model), None, PAIRS)
    assert gaps.pop("cmd") == pytest.approx(0.25, abs=1e-6)
    assert len(gaps) == 9 and max(gaps.values()) < 1e-6


def test_bertscore_gives_its_script_the_pairs_the_model_and_its_layers(
    tiny_model, tmp_path, monkeypatch
):
    seen = stand_in(monkeypatch, tmp_path)
    pairs = np.array([["a é b", "a é"], ["cat", "dog"]], dtype=object)
    scores = bertscore(str(tiny_model), pairs, Path(sys.executable))
    assert scores.tolist() == [2 / 8, 0.0]
    assert json.loads(seen.read_text(encoding="utf-8")) == [pairs.tolist(), str(tiny_model), "2"]


def test_the_script_of_the_rival_scores_firsts_against_seconds(tmp_path, monkeypatch):
    package = ModuleType("bert_score")
    asked = []

    def score(*texts, **settings):
        asked.append((*texts, settings))
        return np.array([9, 9]), np.array([8, 8]), np.array([0.5, 0.25])

    vars(package)["score"] = score
    monkeypatch.setitem(sys.modules, "bert_score", package)
    source, target = tmp_path / "pairs.json", tmp_path / "scores.json"
    source.write_text(json.dumps([["a", "b"], ["c", "d"]]), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["x", str(source), str(target), "folder", "6"])
    runpy.run_path(str(sts.SCRIPTS / "bertscore_rival.py"), run_name="__main__")
    found = json.loads(target.read_text(encoding="utf-8"))
    assert found["scores"] == [0.5, 0.25] and found["seconds"] >= 0
    ((first, second, settings),) = asked
    assert (first, second) == (["a", "c"], ["b", "d"])
    assert settings["model_type"] == "folder" and settings["num_layers"] == 6
    assert settings["device"] == "cpu"

import argparse
import json

import numpy as np
import pytest

from benchmarks import contexts_surrogate
from benchmarks.contexts import main
from benchmarks.contexts_surrogate import Harvested
from benchmarks.support.context_bench import SAMPLE, Bench
from benchmarks.support.made_sets import made_afs, made_nli, made_sections
from film.datasets import read_afs, read_nli, read_sections

pytest.importorskip("torch", reason="needs the extra neural")

CASES = ("speed", "surrogates", "partial", "supervised", "sections", "harvest-size")
STARTS = ("Surrogate from scratch", "Surrogate from MiniLM", "MiniLM as it is")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surrogates")
    cases = [part for case in (*CASES, "structures", "examples") for part in ("--case", case)]
    assert main([*cases, "--quick", "--out", str(folder)]) == 0
    lines = (folder / "contexts.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {(row["case"], row["metric"]): row["value"] for row in rows}


def test_every_table_has_its_rows(found):
    expected = {("1: as they come", "sentences_a_second"), ("1: length batching", "times_as_fast")}
    for start in STARTS:
        expected |= {(f"2: {start}, then NLI", "STS-B"), (f"3: {start}, STS-B train", "STS-B")}
        expected |= {(f"5: {start}", "triplets")}
        expected |= {(f"10: {start}", f"example_{number}") for number in (1, 2, 3)}
    for start in STARTS[:2]:
        expected |= {(f"2: {start}", name) for name in ("held_out", "held_out_pearson", "STS-B")}
        expected |= {(f"{SAMPLE}{start}", "sample_low"), (f"2: {start}", "seconds")}
    for kind in ("Siamese", "both texts at once"):
        for start in ("from scratch", "from MiniLM"):
            expected |= {(f"5.6: {kind}, {start}", name) for name in ("L2", "held_out", "sample")}
    assert expected <= set(found)
    assert [found["10: annotators", f"example_{n}"] for n in (1, 2, 3)] == [4.4, 0.8, 1.4]
    assert len([case for case, metric in found if case.startswith("8: ")]) == 6


def test_the_ratio_of_speeds_is_that_of_its_rows(found):
    speeds = [
        found[f"1: {kind}", "sentences_a_second"] for kind in ("length batching", "as they come")
    ]
    assert found["1: length batching", "times_as_fast"] == pytest.approx(
        speeds[0] / speeds[1], rel=1e-3
    )


def test_a_share_of_a_harvest_leaves_what_is_held_out():
    pairs = np.array([["a", "b"]] * 10, dtype=object)
    rows = Harvested(pairs, np.arange(10.0), pairs[:3], np.arange(3.0))
    part = rows.first(0.3)
    assert part.scores.tolist() == [0, 1, 2] and len(part.held) == 3
    assert len(rows.first(0.01).pairs) == 2


def test_a_set_that_no_option_names_is_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FILM_DATA", str(tmp_path))
    assert main(["--case", "sections", "--work", str(tmp_path)]) == 2
    assert "--sections names no set" in capsys.readouterr().err


def test_facets_are_judged_by_fold_with_models_that_did_not_see_it(tmp_path, monkeypatch):
    seen = []

    class Model:
        def __init__(self, trains):
            self.trains = trains

        def fit(self, pairs, y=None):
            seen.append((self.trains, {tuple(pair) for pair in pairs.tolist()}))
            return self

        def similarity(self, pairs):
            if self.trains:
                assert not seen[-1][1] & {tuple(pair) for pair in pairs.tolist()}
            return np.arange(len(pairs))

    monkeypatch.setattr(contexts_surrogate, "_folders", lambda bench: {"ours": "folder"})
    monkeypatch.setattr(contexts_surrogate, "_start", lambda bench: None)
    monkeypatch.setattr(
        contexts_surrogate, "_surrogate", lambda bench, folder, **more: Model(more["epochs"] > 0)
    )
    bench = Bench(
        argparse.Namespace(
            quick=True, work=tmp_path, out=str(tmp_path), data=None, afs=None, epochs=1
        )
    )
    contexts_surrogate.measure_afs(bench)
    assert sum(trains for trains, _ in seen) == 2 * 10
    rows = [json.loads(line) for line in (tmp_path / "contexts.jsonl").read_text().splitlines()]
    assert {row["case"] for row in rows} == {
        *("4: ours", "4: ours, 10 folds", "4: MiniLM as it is", "4: MiniLM as it is, 10 folds")
    }


def test_made_sets_have_the_forms_of_the_public_ones(tmp_path):
    facets = read_afs(made_afs(tmp_path, 10))
    assert len(facets) == 30 and set(facets.scores) == {0.0, 5.0}
    triplets = read_sections(made_sections(tmp_path, 10))
    assert triplets.shape[1] == 3 and all(len(set(row)) == 3 for row in triplets.tolist())
    pairs = read_nli(made_nli(tmp_path, 9))
    assert sorted(set(pairs.labels)) == ["contradiction", "entailment", "neutral"]

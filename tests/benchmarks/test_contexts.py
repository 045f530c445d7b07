import argparse
import itertools
import json

import numpy as np
import pytest

from benchmarks import contexts_origin, contexts_rivals
from benchmarks.contexts import main
from benchmarks.support import context_bench
from benchmarks.support.bootstrap import difference, spearman
from benchmarks.support.context_bench import SAMPLE, Bench, fingerprint
from film.datasets import read_sts_benchmark

pytest.importorskip("torch", reason="needs the extra neural")


def rows(folder):
    lines = (folder / "contexts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def values(folder):
    return {(row["case"], row["metric"]): row["value"] for row in rows(folder)}


def run(folder, *cases):
    arguments = [part for case in cases for part in ("--case", case)]
    assert main([*arguments, "--quick", "--out", str(folder)]) == 0
    return values(folder)


@pytest.fixture(scope="module")
def rivals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rivals")
    return run(folder, "rivals"), folder


def test_every_rival_has_its_row_with_interval_and_seconds(rivals):
    found, _ = rivals
    cases = {case for case, _ in found}
    assert len(cases) == 7 and all(case.startswith(SAMPLE) for case in cases)
    for case in cases:
        assert found[case, "sample_low"] <= found[case, "sample"] <= found[case, "sample_high"]
        assert {metric for name, metric in found if name == case} == {
            *("sample", "sample_low", "sample_high"),
            *("seconds", "choice", "STS-B"),
        }


def test_rows_are_kept_for_differences_to_later_ones(rivals):
    found, folder = rivals
    bench = quick_bench(folder)
    kept = bench.kept()
    assert set(kept) == {case for case, _ in found}
    for case, similarity in kept.items():
        value = spearman(similarity, bench.sample.scores)
        assert value == pytest.approx(found[case, "sample"], abs=1e-4)
    first, second = list(kept)[:2]
    bench.tell_lead(first, second)
    label = f"lead: {first.removeprefix(SAMPLE)} over {second.removeprefix(SAMPLE)}"
    told = values(folder)
    expected = difference(kept[first], kept[second], bench.sample.scores, bench.draws)
    for metric, value in zip(("ahead", "ahead_low", "ahead_high"), expected, strict=True):
        assert told[label, metric] == pytest.approx(value, abs=1e-4)
    with pytest.raises(ValueError, match="row 'nothing' was not measured; run its case first"):
        bench.tell_lead(first, "nothing")


def quick_bench(folder):
    return Bench(argparse.Namespace(quick=True, work=folder / "work", out=str(folder), data=None))


def test_a_trial_records_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(context_bench, "RESULTS", tmp_path)
    bench = Bench(argparse.Namespace(quick=True, work=tmp_path / "w", out=None, data=None))
    bench.tell_row("case", np.arange(len(bench.sample.pairs)))
    assert not (tmp_path / "contexts.jsonl").exists()
    assert list(bench.kept()) == ["case"] and bench._rows_path.is_relative_to(tmp_path / "w")


def test_the_sample_is_stated(tmp_path):
    sts = tmp_path / "sts" / "STSBenchmark"
    sts.mkdir(parents=True)
    lines = (f"g\tf\ty\t{i}\t{i % 6}\tone {i}\ttwo {i}\n" for i in range(500))
    (sts / "sts-test.csv").write_text("".join(lines))
    options = argparse.Namespace(quick=False, work=tmp_path, out=None, data=str(tmp_path))
    bench = Bench(options)
    chosen = np.random.default_rng(0).permutation(500)[:400]
    data = read_sts_benchmark(sts / "sts-test.csv")
    assert bench.sample.pairs.tolist() == data.pairs[chosen].tolist()
    assert bench.sample.scores.tolist() == data.scores[chosen].tolist()
    assert len(bench.test.pairs) == 500 and bench.draws.shape == (2000, 400)


def test_data_that_is_missing_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("FILM_DATA", raising=False)
    arguments = ["--case", "rivals", "--work", str(tmp_path)]
    assert main(arguments) == 2
    assert "no data: name the folder that holds sts, books" in capsys.readouterr().err
    assert main([*arguments, "--data", str(tmp_path)]) == 2


def test_chunks_are_consecutive_sentences_of_a_document(tmp_path):
    bench = quick_bench(tmp_path)
    chunks = contexts_rivals._chunks(bench)
    corpus = bench.corpus
    assert len(chunks) == corpus.n_chunks
    rows = np.flatnonzero(corpus.chunks == 3)
    assert chunks[3] == " ".join(corpus.texts(rows))
    documents = bench.documents()
    assert sum(map(len, documents)) == corpus.n_sentences
    assert documents[1] == corpus.texts(np.flatnonzero(corpus.documents == 1))


WEIGHTS = (
    *("", ", λ = 1", ", λ chosen"),
    *(f", {which} alone" for which in contexts_origin.ALONE),
)
CHOSEN_ON = f"choice_{contexts_origin.N_TUNED}"


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("origin")
    cases = ("origin", "sizes", "terms", "choice", "scoring-speed", "whole")
    return run(folder, *cases), folder


def test_origin_has_rows_of_all_weights_and_centres(origin):
    found, folder = origin
    for weights, centre in itertools.product(WEIGHTS, contexts_origin.CENTRINGS):
        kind = weights + centre
        case = f"{SAMPLE}Origin from scratch{kind}"
        assert found[case, "sample_low"] <= found[case, "sample"] <= found[case, "sample_high"]
        assert ((case, "choice") in found) == (weights == "")
        assert (case, CHOSEN_ON) in found and case in quick_bench(folder).kept()
    for centre in contexts_origin.CENTRINGS:
        assert (f"whole: Origin from scratch, 12 contexts{centre}", "STS-B") in found
    case = f"{SAMPLE}Origin from scratch, scores in the fixed set"
    assert {"sample", "choice"} <= {metric for name, metric in found if name == case}
    # Two texts a pair, in six contexts of either text, for 24 pairs.
    assert found[f"{SAMPLE}Origin from scratch", "scorings"] == 24 * 2 * 12
    chosen = found[f"{SAMPLE}Origin from scratch, λ chosen", CHOSEN_ON]
    assert chosen >= found[f"{SAMPLE}Origin from scratch, λ = 1", CHOSEN_ON] - 1e-3


def test_ablations_share_their_first_row(origin):
    found, _ = origin
    row = found[f"{SAMPLE}Origin from scratch", "sample"]
    # A quick run's weights are 1, as those of Table 9.
    for same in ("9: Origin from scratch", "5.4: two-step choice", "7: 6 contexts"):
        assert found[same, "sample"] == row
    leads = {key[0]: value for key, value in found.items() if key[1] == "ahead"}
    for case, value in leads.items():
        kind = next(
            (each for each in contexts_origin.CENTRINGS if each and case.endswith(each)), ""
        )
        beside = found[f"{SAMPLE}Origin from scratch{kind}", "sample"]
        # Both are rounded to four digits.
        assert value == pytest.approx(found[case, "sample"] - beside, abs=2e-4)
    ways = ("two-step choice", "without diversity", "random contexts, draw 1")
    assert {case for case, _ in found if case.startswith("5.4: ")} == {
        f"5.4: {way}{kind}"
        for way in (*ways, "discriminator over all, no retrieval")
        for kind in contexts_origin.CENTRINGS
    }


def test_scoring_in_batches_is_measured_against_one_at_a_time(origin):
    found, _ = origin
    case = "speed: a sentence in 12 contexts"
    ratio = found[case, "scorings_a_second"] / found[f"{case}, one at a time", "scorings_a_second"]
    assert found[case, "times_as_fast"] == pytest.approx(ratio, rel=1e-3)


def test_random_contexts_are_the_same_for_the_same_text():
    class Model:
        sides = 1

        class corpus_:
            @staticmethod
            def centres(sides):
                return np.arange(100) * 10

    drawn = contexts_origin._at_random(Model, 0)
    first, second, again = drawn(["a", "b", "a"], 5)
    assert first.tolist() == again.tolist() != second.tolist()
    assert set(first) <= set(range(0, 1000, 10)) and len(set(first)) == 5
    assert first.tolist() != contexts_origin._at_random(Model, 1)(["a"], 5)[0].tolist()
    assert len(drawn(["a"], 500)[0]) == 100


def test_models_that_differ_do_not_share_terms():
    class Model:
        contexts_, corpus_ = np.arange(9), argparse.Namespace(digest="abc")

        def __init__(self, term=-1.0, **params):
            self.term, self.params = term, params

        def get_params(self, deep):
            return self.params

        def terms(self, texts, contexts):
            return np.full((len(texts), len(contexts), 4), self.term)

    one = fingerprint(Model(width=3, folder="a"))
    assert one == fingerprint(Model(width=3, folder="b", verbose=1))
    assert one != fingerprint(Model(width=4)) and one != fingerprint(Model(-2.0, width=3))

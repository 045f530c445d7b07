"""The benchmark learns from allowed texts alone, and reports what the estimators give."""

import gzip
import json

import numpy as np
import pytest
from scipy.stats import spearmanr

pytest.importorskip("transformers", reason="needs the extra neural")

from benchmarks import token_weights
from benchmarks.support import records
from benchmarks.token_weights import SEEDS, corpus, main, read_kinds, similarities
from estimators import RCMDRegressor, TokenMatchingRegressor
from estimators.tokens.token_weights import TokenWeights
from film.text import text_hash

SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK")
SENTENCES = (
    ("how do i learn chess", "what is best way to learn chess", 4.5),
    ("a cat sat on mat", "the dog runs well", 1.0),
    ("old earth", "what is age of earth?", 3.0),
    ("the cat runs!", "the cat sat, a dog sat on mat.", 2.0),
)
PAIRS = np.array([row[:2] for row in SENTENCES], dtype=object)
QUESTIONS = [
    ("how old is earth", "what is age of the old earth"),
    ("how do i play chess", "A cat, sat on MAT!"),
    ("what is best way to play", "how do i run"),
]
CAPTIONS = [
    ["a dog on a mat", "the dog sat"],
    ["a cat runs", "the dog runs well"],
    ["the old dog", "a dog and cat play"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The seven sets, questions, captions of three images, and what is excluded of them."""
    root = tmp_path_factory.mktemp("data")
    for year in range(12, 17):
        place = root / "sts" / f"STS{year}-en-test"
        place.mkdir(parents=True)
        lines = [f"{a}\t{b} {'a b e'.split()[year % 3]}\n" for a, b, _ in SENTENCES]
        (place / "STS.input.images.txt").write_text("".join(lines), encoding="utf-8")
        scores = "".join(f"{score}\n" for *_, score in SENTENCES)
        (place / "STS.gs.images.txt").write_text(scores, encoding="utf-8")
    (root / "sts" / "STSBenchmark").mkdir()
    lines = [f"main-news\tMSRpar\t2012\t7\t{score}\t{a}\t{b}\n" for a, b, score in SENTENCES]
    path = root / "sts" / "STSBenchmark" / "sts-test.csv"
    path.write_text("".join(lines), encoding="utf-8")
    (root / "sts" / "SICK").mkdir()
    lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"]
    lines += [f"{i}\t{a}\t{b}\t{s}\tNEUTRAL\n" for i, (a, b, s) in enumerate(SENTENCES, 1)]
    path = root / "sts" / "SICK" / "SICK_test_annotated.txt"
    path.write_text("".join(lines), encoding="utf-8")
    (root / "quora").mkdir()
    lines = ["id,qid1,qid2,question1,question2,is_duplicate\n"]
    lines += [f'{i},{i},{i + 9},"{a}","{b}",0\n' for i, (a, b) in enumerate(QUESTIONS)]
    (root / "quora" / "train.csv").write_text("".join(lines), encoding="utf-8")
    (root / "multi30k").mkdir()
    for number in range(5):
        lines = [f"{image[number % 2]}\n" for image in CAPTIONS]
        path = root / "multi30k" / f"train.{number + 1}.en.gz"
        path.write_bytes(gzip.compress("".join(lines).encode()))
    hashes = "".join(f"{text_hash(text)}\n" for text in PAIRS.ravel())
    (root / "exclude.txt").write_text(hashes, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def learned(tiny_model):
    return TokenWeights(tiny_model, steps=3, random_state=0, device="cpu").fit(PAIRS.ravel())


def rows_of(path):
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(row["case"], row["metric"], row["seed"]): row for row in rows}


def test_no_sentence_of_an_evaluation_set_is_learned_from(folder):
    questions, captions = read_kinds(folder)
    # "A cat, sat on MAT!" reads as one of theirs, and so does a caption of the second image.
    kept = {text for pair in (QUESTIONS[0], QUESTIONS[2]) for text in pair}
    assert questions == sorted(kept)
    assert captions == sorted({*CAPTIONS[0], *CAPTIONS[2]})


def test_a_corpus_has_equally_many_texts_of_each_kind(monkeypatch):
    kinds = [[f"q{i}" for i in range(50)], [f"c{i}" for i in range(80)]]
    one = corpus(kinds, 0)
    assert len(set(one)) == 100 and [text[0] for text in one] == ["q"] * 50 + ["c"] * 50
    assert one == corpus(kinds, 0) != corpus(kinds, 1)
    monkeypatch.setattr(token_weights, "TEXTS_OF_A_KIND", 20)
    assert [text[0] for text in corpus(kinds, 0)] == ["q"] * 20 + ["c"] * 20


def test_similarities_are_those_of_the_estimators(tiny_model, learned):
    found = {case: of(PAIRS) for case, of in similarities(str(tiny_model), {7: learned}).items()}
    estimators = {"matching": TokenMatchingRegressor, "RCMD": RCMDRegressor}
    kinds = {"none": None, "idf": "idf", "learned, seed 7": learned}
    assert list(found) == [f"{function}, {kind}" for function in estimators for kind in kinds]
    for case, values in found.items():
        function, kind = case.split(", ", 1)
        model = estimators[function](str(tiny_model), weights=kinds[kind], device="cpu").fit(PAIRS)
        np.testing.assert_allclose(values, model.similarity(PAIRS), atol=1e-6, err_msg=case)
    assert len({values.tobytes() for values in found.values()}) == 6


@pytest.fixture(scope="module")
def quick(folder, tiny_model, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    options = ["--quick", "--data", str(folder), "--out", str(out), "--model", str(tiny_model)]
    assert main(options) == 0
    assert [path.name for path in out.iterdir()] == ["token_weights.jsonl"]
    return rows_of(out / "token_weights.jsonl")


def test_means_spreads_and_rivals_follow_from_the_seeds(quick):
    cases = set()
    for function in ("matching", "RCMD"):
        name = f"tiny: {function}"
        kinds = {kind: f"{name}, {kind}" for kind in ("none", "idf", "learned")}
        one = f"{kinds['learned']}, one seed"
        for metric in (*SETS, "mean"):
            values = [quick[one, metric, seed]["value"] for seed in SEEDS]
            row = quick[kinds["learned"], metric, None]
            assert row["value"] == pytest.approx(np.mean(values))
            best = max(("none", "idf"), key=lambda kind: quick[kinds[kind], "mean", None]["value"])
            assert row["rival"] == best
            assert row["rival_value"] == quick[kinds[best], metric, None]["value"]
            cases |= {(one, metric, seed) for seed in SEEDS}
            cases |= {(case, metric, None) for case in kinds.values()}
        means = [quick[one, "mean", seed]["value"] for seed in SEEDS]
        spread = quick[kinds["learned"], "spread", None]
        assert spread["value"] == pytest.approx(np.std(means, ddof=1))
        cases.add((kinds["learned"], "spread", None))
    assert set(quick) == cases


def test_values_are_spearman_of_the_estimators(quick, tiny_model):
    scores = [row[2] for row in SENTENCES]
    model = TokenMatchingRegressor(str(tiny_model), weights="idf", device="cpu").fit(PAIRS)
    expected = 100 * spearmanr(model.similarity(PAIRS), scores).statistic
    assert quick["tiny: matching, idf", "STS-B", None]["value"] == pytest.approx(expected)


@pytest.mark.parametrize("is_quick", [True, False])
def test_a_quick_run_is_short_and_records_only_where_out_says_so(
    is_quick, folder, tiny_model, tmp_path, monkeypatch, capsys
):
    fitted = []

    class Watched(TokenWeights):
        def fit(self, corpus, y=None):
            fitted.append((self.steps, self.random_state))
            return self.set_params(steps=1)._fit(corpus)

        def _fit(self, corpus):
            return super().fit(corpus)

    monkeypatch.setattr(token_weights, "TokenWeights", Watched)
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    options = ["--data", str(folder), "--model", str(tiny_model)]
    assert main([*options, *(["--quick"] if is_quick else [])]) == 0
    steps = token_weights.QUICK_STEPS if is_quick else TokenWeights().steps
    assert fitted == [(steps, seed) for seed in SEEDS]
    shown = capsys.readouterr().out
    assert "strongest: " in shown and "weakest: " in shown
    assert "tiny: matching, learned: " in shown and "tiny: RCMD, idf: " in shown
    assert (tmp_path / "results").exists() == (not is_quick)


@pytest.mark.parametrize("given", [True, False])
def test_a_folder_without_the_data_exits_with_2(given, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FILM_DATA", str(tmp_path))
    assert main(["--data", str(tmp_path)] if given else []) == 2
    assert capsys.readouterr().err.startswith(f"benchmarks.token_weights: {tmp_path / 'sts'} lacks")


def test_a_folder_without_the_list_of_what_is_excluded_exits_with_2(folder, tmp_path, capsys):
    (tmp_path / "sts").symlink_to(folder / "sts")
    assert main(["--data", str(tmp_path)]) == 2
    assert "exclude.txt" in capsys.readouterr().err


def test_weights_that_trained_with_a_model_are_judged_on_its_tokens(
    folder, tiny_model, tmp_path, capsys
):
    pairs = [*QUESTIONS, ("the cat runs", "the dog sat")]
    common = {"model": str(tiny_model), "objective": "binary", "device": "cpu", "random_state": 0}
    taught = RCMDRegressor(**common, weights="learned", learning_rate=1e-2, epochs=9)
    taught.fit(pairs, [1, 0, 0, 0]).save(tmp_path / "taught")
    options = ["--quick", "--data", str(folder), "--out", str(tmp_path), "--joint"]
    assert main([*options, str(tmp_path / "taught")]) == 0
    rows = rows_of(tmp_path / "token_weights.jsonl")
    plain = RCMDRegressor(str(tmp_path / "taught"), device="cpu").fit(PAIRS)
    scores = [row[2] for row in SENTENCES]
    for model, kind in ((taught, "trained jointly"), (plain, "no weights")):
        expected = 100 * spearmanr(model.similarity(PAIRS), scores).statistic
        found = rows[f"taught: RCMD, {kind}", "STS-B", None]["value"]
        assert found == pytest.approx(expected, abs=1e-2)
        assert (f"taught: matching, {kind}", "mean", None) in rows
    told = rows["taught: matching, trained jointly", "mean", None]
    assert told["rival_value"] == rows["taught: matching, no weights", "mean", None]["value"]
    assert "weights, least" in capsys.readouterr().out
    RCMDRegressor(**common, epochs=1).fit(pairs, [1, 0, 0, 0]).save(tmp_path / "plain")
    assert main([*options, str(tmp_path / "plain")]) == 2
    assert "was trained without weights of tokens" in capsys.readouterr().err

"""Models in folders: similarities, explanations, facts, and the training of a surrogate."""

import errno
import json
import os

import numpy as np
import pytest
from scipy.stats import spearmanr

from estimators import CrossEncoderRegressor, SurrogateRegressor
from estimators.cli import models as _models
from estimators.contexts import ContextRegressor, harvest, read_harvest
from film.text import text_hash
from tests.estimators.cli.commands import refused, run, write_csv
from tests.estimators.contexts.stand_in import Corpus, StandIn
from tests.estimators.tiny_documents import tiny_documents
from tests.estimators.tiny_model import PAIRS, SCORES, WORDS

pytest.importorskip("transformers", reason="needs the extra neural")

SENTENCES = [f"{a} {b} {c}" for a in WORDS[5:17] for b in WORDS[17:22] for c in WORDS[22:24]]


@pytest.fixture(scope="module")
def surrogate(tiny_model, tmp_path_factory):
    """A folder of a surrogate; tests only read it."""
    folder = tmp_path_factory.mktemp("surrogates") / "model"
    model = SurrogateRegressor(tiny_model, epochs=0, device="cpu", max_length=64)
    model.fit(PAIRS, SCORES).save(folder)
    return folder


class _Corpus(Corpus):
    n_sentences, n_documents = 40, 2


class _Contexts(StandIn):
    """The stand-in with what a folder and a corpus tell of a model."""

    corpus_, is_complete_, n_contexts = _Corpus(), True, 8
    loss_curve_, scores_, perplexities_ = (), (), {}


@pytest.fixture
def contexts(tmp_path, monkeypatch):
    """A folder that is read as a model of contexts."""
    folder = tmp_path / "contexts"
    folder.mkdir()
    said = {"class": "ContextModel", "date": "2026-01-01", "versions": {"python": "3"}}
    (folder / "context_model.json").write_text(json.dumps(said))
    _Contexts.__name__ = "ContextModel"
    monkeypatch.setattr(_models, "load_folder", lambda path, device=None: _Contexts().fit())
    return folder


@pytest.fixture
def table(tmp_path):
    rows = [[f"p{i}", *pair] for i, pair in enumerate(PAIRS)]
    return write_csv(tmp_path / "pairs.csv", ["id", "text1", "text2"], rows)


def origin():
    return ContextRegressor(StandIn().fit()).fit(PAIRS)


def test_a_surrogate_scores_pairs(surrogate, table):
    ran = run("score", table, "-m", surrogate)
    assert ran.code == 0, ran.err
    assert f"similarity by SurrogateRegressor of {surrogate}, by the cosine" in ran.err
    found = [float(row["similarity"]) for row in ran.rows]
    wanted = SurrogateRegressor.load(surrogate).similarity(PAIRS)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert list(ran.rows[0]) == ["id", "text1", "text2", "similarity"]


@pytest.fixture(scope="module")
def cross(tiny_model, tmp_path_factory):
    """A folder of a cross-encoder; tests only read it."""
    folder = tmp_path_factory.mktemp("cross") / "model"
    model = CrossEncoderRegressor(
        tiny_model, epochs=0.1, device="cpu", max_length=64, train_max_length=64, random_state=0
    )
    model.fit(PAIRS, SCORES).save(folder)
    return folder


def test_a_cross_encoder_scores_pairs_and_says_why(cross, table):
    scored = run("score", table, "-m", cross)
    assert scored.code == 0 and "by reading both texts together" in scored.err
    explained = run("explain", table, "-m", cross, "--format", "jsonl")
    assert explained.code == 0, explained.err
    for row, record, pair in zip(scored.rows, explained.records, PAIRS, strict=True):
        assert record["tokens1"] == ["[rest]", *pair[0].split()]
        total = np.sum(record["contributions"])
        assert total == pytest.approx(float(row["similarity"]), abs=1e-5)


def test_contexts_score_pairs(contexts, table):
    ran = run("score", table, "-m", contexts)
    assert "similarity by ContextModel of " in ran.err and "8 contexts a sentence" in ran.err
    found = [float(row["similarity"]) for row in ran.rows]
    np.testing.assert_allclose(found, origin().similarity(PAIRS), atol=1e-9)
    ran = run("score", table, "-m", contexts, "--contexts", 3, "--as", "near", "--threshold", 0.1)
    found = [float(row["near"]) for row in ran.rows]
    fewer = ContextRegressor(StandIn().fit(), n_contexts=3).fit(PAIRS).similarity(PAIRS)
    np.testing.assert_allclose(found, fewer, atol=1e-9)
    assert [int(row["near_duplicate"]) for row in ran.rows] == (fewer > 0.1).astype(int).tolist()
    assert run("score", table, "-m", contexts, "--quiet").err == ""


def test_contexts_explain_in_the_terminal_and_on_a_page(contexts, table, tmp_path):
    ran = run("explain", table, "-m", contexts)
    assert ran.out == "\n".join(f"{each}\n" for each in origin().explain(PAIRS))
    assert "[...] After" in ran.out and "discriminator -" in ran.out
    page = tmp_path / "page.html"
    pair = ["the cat <b>sat</b>", "a dog sat"]
    assert run("explain", "-p", *pair, "-m", contexts, "--html", page).code == 0
    html = page.read_text(encoding="utf-8")
    assert "the cat &lt;b&gt;sat" in html and "&lt;b&gt;Before" in html and "<b>Before" not in html
    ran = run("explain", table, "-m", contexts, "-f", "jsonl", "--contexts", 2)
    assert [len(record["contexts"]) <= 4 for record in ran.records] == [True] * len(PAIRS)


def test_a_surrogate_explains_by_tokens(surrogate, table, tmp_path):
    ran = run("explain", table, "-m", surrogate, "--html", tmp_path / "p.html", "-o", "-")
    explanations = SurrogateRegressor.load(surrogate).explain(PAIRS)
    assert ran.out == "\n".join(f"{each}\n" for each in explanations)
    assert "chess" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_facts_of_folders(contexts):
    said = json.loads(run("info", contexts, "-f", "json").out)
    assert (said["kind"], said["sentences"], said["documents"]) == ("ContextModel", 40, 2)
    assert said["training finished"] is True and said["contexts per sentence"] == 8
    assert said["saved"] == "2026-01-01"


def test_facts_of_a_surrogate(surrogate):
    said = json.loads(run("info", surrogate, "-f", "json").out)
    assert said["kind"] == "SurrogateRegressor" and said["objective"] == "l2"
    assert said["size in bytes"] == sum(file.stat().st_size for file in surrogate.rglob("*.*"))
    text = run("info", surrogate).out
    assert "judges pairs" in text and "by the cosine of sentence vectors" in text


def sentences_table(folder, texts=SENTENCES):
    return write_csv(folder / "sentences.csv", ["text"], [[text] for text in texts])


def test_a_harvest_and_its_continuation(contexts, tmp_path):
    out, model = tmp_path / "scored.csv", ["-m", contexts, "--contexts", 4]
    table = sentences_table(tmp_path)
    ran = run("harvest", table, *model, "-o", out, "--pairs", 30, "--seed", 1)
    assert ran.code == 0, ran.err
    assert f"{out} holds 30 pairs, 30 of them new." in ran.err
    ran = run("harvest", table, *model, "-o", out, "--pairs", 50, "--seed", 1)
    assert f"{out} holds 50 pairs, 20 of them new." in ran.err
    expected = tmp_path / "expected.csv"
    model = ContextRegressor(StandIn().fit(), n_contexts=4).fit(PAIRS)
    harvest(model, SENTENCES, expected, n_pairs=50, random_state=1)
    assert out.read_bytes() == expected.read_bytes()


def test_a_harvest_within_a_time_and_without_excluded_sentences(contexts, tmp_path):
    table, out = sentences_table(tmp_path), tmp_path / "scored.csv"
    ran = run("harvest", table, "-m", contexts, "-o", out, "--pairs", 30, "--seconds", 0)
    assert "holds 0 pairs, 0 of them new. --seconds are over" in ran.err
    hashes = tmp_path / "exclude.txt"
    hashes.write_text("".join(f"{text_hash(text)}\n" for text in SENTENCES[::2]))
    out = tmp_path / "other.csv"
    ran = run("harvest", table, "-m", contexts, "-o", out, "--pairs", 30, "--exclude", hashes)
    assert ran.code == 0, ran.err
    assert {*read_harvest(out).pairs.ravel()} <= set(SENTENCES[1::2])


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A harvest of scores that a bag of words can learn."""

    class Overlap:
        def similarity(self, pairs):
            words = [[{*text.split()} for text in pair] for pair in pairs.tolist()]
            return np.array([len(a & b) / len(a | b) for a, b in words])

    path = tmp_path_factory.mktemp("scored") / "scored.csv"
    harvest(Overlap(), SENTENCES, path, n_pairs=600, random_state=0)
    return path


def test_a_surrogate_learns_from_a_harvest(scored, tiny_model, tmp_path):
    folder = tmp_path / "surrogate"
    start = ["--start", tiny_model, "--epochs", 1, "--max-length", 64]
    ran = run("train", scored, "--surrogate", "-m", folder, *start)
    assert ran.code == 0, ran.err
    pairs, scores, splits = read_harvest(scored)
    n_train, n_dev = (int((splits == split).sum()) for split in ("train", "dev"))
    assert f"training on {n_train} pairs, {n_dev} more choose" in ran.err
    assert "pairs of other sentences: correlation" in ran.err and "wrote" in ran.err
    model = SurrogateRegressor.load(folder)
    assert model.objective == "l2" and model.scores_
    rows = splits == "train"
    before = SurrogateRegressor(tiny_model, epochs=0, device="cpu", max_length=64).fit(PAIRS)
    learned, untrained = (
        spearmanr(each.similarity(pairs[rows]), scores[rows]).statistic for each in (model, before)
    )
    assert learned > untrained


def test_a_surrogate_learns_from_a_table_of_scores(tiny_model, tmp_path):
    rows = [[*pair, score] for pair, score in zip(PAIRS * 3, SCORES * 3, strict=True)]
    table = write_csv(tmp_path / "sts.csv", ["text1", "text2", "gold"], rows)
    folder = tmp_path / "surrogate"
    start = ["--start", tiny_model, "-l", "gold", "--max-length", 64]
    more = ["--score-range", 0, 5, "--epochs", 1, "--cache", tmp_path / "kept"]
    ran = run("train", table, "--surrogate", "-m", folder, *start, *more)
    assert ran.code == 0, ran.err
    assert SurrogateRegressor.load(folder).score_range == [0, 5]
    assert (tmp_path / "kept").is_dir() and "training on 12 pairs, 0 more" in ran.err
    refusal = refused("train", table, "--surrogate", "-m", tmp_path / "other", *start)
    assert "--score-range" in refusal
    assert "--max-length 128 is more than the 64 tokens" in refused(
        "train", table, "--surrogate", "-m", tmp_path / "other", *start[:-2], *more[:3]
    )
    assert not (tmp_path / "other").exists()


def test_contexts_are_learned_from_documents(tmp_path):
    pytest.importorskip("sentencex", reason="needs the extra contexts")
    documents, model = tmp_path / "documents", tmp_path / "model"
    documents.mkdir()
    for number, text in enumerate(tiny_documents()):
        (documents / f"{number}.md").write_text(text, encoding="utf-8")
    small = ["--contexts", 6, "--generator", "none"]
    ran = run("contexts", documents, "-m", model, *small)
    assert ran.code == 0, ran.err
    assert f"wrote {model} (a ContextModel of 120 sentences in 6 documents)" in ran.err
    pairs = [["The cat sees the tree.", "A cat sees a tree."], ["The king", "the king"]]
    table = write_csv(tmp_path / "pairs.csv", ["text1", "text2"], pairs)
    ran = run("score", table, "-m", model)
    assert ran.code == 0 and "6 contexts a sentence" in ran.err, ran.err
    found = [float(row["similarity"]) for row in ran.rows]
    expected = ContextRegressor(model).fit(pairs).similarity(pairs)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    ran = run("explain", table, "-m", model)
    assert ran.out.count("contexts: similarity") == 2 and "[...]" in ran.out
    said = json.loads(run("info", model, "-f", "json").out)
    assert (said["kind"], said["sentences"], said["documents"]) == ("ContextModel", 120, 6)
    assert said["held-out loss of the discriminator"] > 0 and said["perplexity"] is None
    files = sorted(documents.iterdir())
    ran = run("contexts", *files[:3], *files[3:], "-m", tmp_path / "again", *small)
    assert "120 sentences in 6 documents" in ran.err
    for path in files:
        path.write_text(path.read_text(encoding="utf-8"), encoding="utf-16-le")
    model = tmp_path / "third"
    ran = run("contexts", documents, "-m", model, *small, "--encoding", "utf-16-le")
    assert f"wrote {model} (a ContextModel of 120 sentences in 6 documents)" in ran.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("none", "no such file or folder"),
        ("one.md", "give longer documents"),
        ("one.md -m one.md", "one.md' is a file"),
        ("one.md -m .", "already exists; give a new folder"),
        ("bad.txt", "bad.txt"),
        ("latin.txt", "name its encoding (--encoding 'latin-1')"),
        ("latin.txt --encoding klingon", "encoding must be the name of an encoding"),
        ("few.md", "--contexts 500 is more than there are"),
        ("few.md", "give --contexts a lower number"),
        ("few.md --seconds 0", "--seconds"),
    ],
)
def test_documents_that_cannot_be_learned_from(line, message, tmp_path, monkeypatch):
    pytest.importorskip("sentencex", reason="needs the extra contexts")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.md").write_text("Only one sentence.", encoding="utf-8")
    (tmp_path / "few.md").write_text(tiny_documents()[0], encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(b"\xfa broken \x80")
    (tmp_path / "latin.txt").write_bytes("Ein schöner Tag. ".encode("latin-1") * 4)
    assert message in refused("contexts", "-m", "new", *line.split())


def test_a_surrogate_from_scratch_has_a_vocabulary_of_its_own(scored, tmp_path):
    folder = tmp_path / "surrogate"
    ran = run("train", scored, "--surrogate", "-m", folder, "--scratch", "--epochs", 0.1)
    assert ran.code == 0, ran.err
    words = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    assert "chess" in words and len(words) < 200


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """A folder of files, by the names that the table of refusals uses."""
    columns = ["text1", "text2", "score", "split"]
    write_csv(tmp_path / "words.csv", columns, [["a", "b", "x", "train"]])
    write_csv(tmp_path / "held.csv", columns, [["a", "b", 1, "held"]])
    write_csv(tmp_path / "one.csv", columns, [["a", "b", 1, "train"]])
    write_csv(tmp_path / "few.csv", ["text"], [[text] for text in SENTENCES[:3]])
    write_csv(tmp_path / "harvested.csv", ["text1", "text2"], [])
    sentences_table(tmp_path)
    for name in ("empty", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "other" / "film_regressor.json").write_text('{"class": "Other"}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


NO_MODEL = "no film_regressor.json"
NEEDS_CONTEXTS = "--contexts needs the folder of a ContextModel"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("score {table} -m {surrogate} --contexts 3", "--contexts 3 is for a ContextModel"),
        ("score {table} -m {model} --contexts 3", NEEDS_CONTEXTS),
        ("explain {table} -m {model} --contexts 3", NEEDS_CONTEXTS),
        ("score {table} -m {model} --threshold -0.5", "probabilities are from 0 to 1"),
        ("score {table} -m empty", NO_MODEL),
        ("explain {table} -m empty", NO_MODEL),
        ("harvest sentences.csv -m empty -o out.csv --pairs 9", NO_MODEL),
        ("info empty", NO_MODEL),
        ("score {table} -m other", "holds a Other, which cannot score pairs"),
        ("harvest {sentences} -o - --pairs 9", "continues an unfinished file"),
        ("harvest {sentences} -o sentences.csv --pairs 9", "would overwrite the input"),
        ("harvest {sentences} -o harvested.csv --pairs 9", "not a file of harvested pairs"),
        ("harvest few.csv -m {surrogate} -o out.csv --pairs 9", "give at least 4"),
        ("train {scored} --rank 5", "--rank is not for --surrogate"),
        ("train {labelled} -m new --epochs 2", "--epochs needs --surrogate"),
        ("train {scored} --scratch --start x", "not both"),
        ("train one.csv --surrogate -m one.csv", "give a new folder"),
        ("train {labelled} --surrogate -m new", "has no column 'score' or 'similarity'"),
        ("train words.csv --surrogate -m new", "the score 'x' in line 2 is not a number"),
        ("train held.csv --surrogate -m new", "column 'split' holds 'held'"),
        ("train one.csv --surrogate -m new", "has 1 pairs to train on"),
    ],
)
def test_what_does_not_fit_is_refused(line, message, surrogate, cross, scored, table, shelf, odd):
    before = sorted(odd.iterdir())
    names = {
        "sentences": f"sentences.csv -m {surrogate}",
        "scored": f"{scored} --surrogate -m new",
        "labelled": shelf / "train.csv",
        "model": shelf / "model.skops",
    }
    named = line.format(surrogate=surrogate, cross=cross, table=table, **names)
    assert message in refused(*named.split())
    assert sorted(odd.iterdir()) == before


def test_a_full_disk_while_harvesting_is_told_and_continued(contexts, tmp_path, monkeypatch):
    table, out = sentences_table(tmp_path), tmp_path / "scored.csv"
    command = ["harvest", table, "-m", contexts, "-o", out, "--pairs", 400]

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert run(*command[:-1], 300).code == 0
    with monkeypatch.context() as patch:
        patch.setattr("film.datasets.writing.os.fsync", full)
        said = refused(*command)
    assert "No space left on device" in said and "Its 300 pairs are kept; make room" in said
    assert f"{out} holds 400 pairs, 100 of them new." in run(*command).err

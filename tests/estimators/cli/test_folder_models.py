"""Models in folders: similarities, explanations and facts."""

import json

import numpy as np
import pytest

from estimators import CrossEncoderRegressor, SurrogateRegressor
from estimators.cli import models as _models
from estimators.contexts import ContextRegressor
from tests.estimators.cli.commands import refused, run, write_csv
from tests.estimators.contexts.stand_in import Corpus, StandIn
from tests.estimators.tiny_model import PAIRS, SCORES

pytest.importorskip("transformers", reason="needs the extra neural")


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


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """A folder of files, by the names that the table of refusals uses."""
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
        ("info empty", NO_MODEL),
        ("score {table} -m other", "holds a Other, which cannot score pairs"),
    ],
)
def test_what_does_not_fit_is_refused(line, message, surrogate, cross, table, shelf, odd):
    before = sorted(odd.iterdir())
    model = shelf / "model.skops"
    named = line.format(surrogate=surrogate, cross=cross, table=table, model=model)
    assert message in refused(*named.split())
    assert sorted(odd.iterdir()) == before

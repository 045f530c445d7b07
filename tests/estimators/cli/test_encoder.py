"""``--encoder`` of the commands that compare texts, and of ``film train``."""

import json

import numpy as np
import pytest

from estimators import DuplicateFinder, fast_duplicates, load_model, record_duplicates
from estimators.encoders import AnyEncoder
from estimators.encoders import any_encoder as _resolve
from tests.estimators.cli.commands import refused, run, write_csv

pytest.importorskip("tokenizers")
pytest.importorskip("safetensors")

from tests.estimators.encoders.static_models import WORDS, make_static_model
from tests.estimators.pairs.test_record_features import products


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return list(dict.fromkeys(" ".join(rng.choice(WORDS, rng.integers(2, 6))) for _ in range(40)))


@pytest.fixture(scope="module")
def place(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("encoder")
    make_static_model(folder / "static")
    write_csv(folder / "texts.csv", ["id", "text"], enumerate(texts))
    pairs = zip(texts[::2], texts[1::2], strict=False)
    write_csv(folder / "pairs.csv", ["text1", "text2"], pairs)
    return folder


def scores_of(ran):
    assert ran.code == 0, ran.err
    return {(row["text1"], row["text2"]): float(row["score"]) for row in ran.rows}


def test_duplicates_are_those_of_a_finder_with_this_encoder(place, texts, tmp_path):
    encoder = ["--encoder", place / "static"]
    ran = run("duplicates", place / "texts.csv", "--threshold", 0.05, *encoder)
    found = DuplicateFinder(encoder=place / "static").fit(texts).find(threshold=0.05)
    expected = dict(zip(map(tuple, found.texts.tolist()), found.scores.tolist(), strict=True))
    assert scores_of(ran) == pytest.approx(expected)
    assert f"encoder {place / 'static'}, as given" in ran.err
    plain = run("duplicates", place / "texts.csv", "--threshold", 0.05)
    assert scores_of(plain) != pytest.approx(expected) and "encoder" not in plain.err
    none = run("duplicates", place / "texts.csv", "--threshold", 0.05, "--encoder", "none")
    assert (none.out, none.err) == (plain.out, plain.err)


def test_a_collection_keeps_its_encoder(place, tmp_path):
    encoder, known = ["--encoder", place / "static"], tmp_path / "known.film"
    run("duplicates", place / "texts.csv", "--save", known, *encoder)
    new = write_csv(tmp_path / "new.csv", ["id", "text"], [["n", "an old dog sat"]])
    matched = run("duplicates", new, "--against", known, "--budget", 3)
    again = run("duplicates", new, "--against", place / "texts.csv", "--budget", 3, *encoder)
    assert scores_of(matched).keys() == scores_of(again).keys()
    said = refused("duplicates", new, "--against", known, *encoder)
    assert "--encoder is fixed when a collection is saved" in said


def test_given_pairs_are_scored_with_it(place, texts):
    ran = run("score", place / "pairs.csv", "--encoder", place / "static")
    finder = DuplicateFinder(encoder=place / "static").fit(texts, ids=texts)
    pairs = list(zip(texts[::2], texts[1::2], strict=False))
    found = dict(zip(pairs, finder.score_pairs(pairs)[0].tolist(), strict=True))
    assert scores_of(ran) == pytest.approx(found)
    assert scores_of(run("score", place / "pairs.csv")) != pytest.approx(found)


def test_questions_come_from_its_neighbours_too(place, tmp_path):
    labels = tmp_path / "labels.csv"
    label = ["review", place / "texts.csv", "--labels", labels, "-n", 3]
    ran = run(*label, "--encoder", place / "static", stdin="y\nn\ny\n")
    assert ran.code == 0 and f"encoder {place / 'static'}, as given" in ran.err
    said = refused("review", place / "pairs.csv", "--labels", labels, "--encoder", place / "static")
    assert "--encoder finds pairs of a table of texts; leave it out" in said


def test_a_trained_model_has_it_as_a_member(place, tmp_path):
    rng = np.random.default_rng(0)
    pairs = [" ".join(rng.choice(WORDS, 4)) for _ in range(60)]
    rows = [[text, " ".join(rng.permutation(text.split())), 1] for text in pairs[:30]]
    rows += [[first, second, 0] for first, second in zip(pairs[30:], pairs[:30], strict=True)]
    table = write_csv(tmp_path / "train.csv", ["text1", "text2", "label"], rows)
    train = ["train", table, "--rank", 5, "--folds", 2]
    ran = run(*train, "-m", tmp_path / "m.film", "--encoder", place / "static")
    assert ran.code == 0 and f"encoder {place / 'static'}, as given" in ran.err
    model = load_model(tmp_path / "m.film")
    assert [name for name, _ in model.members] == ["film", "words", "cosine"]
    expected = fast_duplicates(rank=5, cv=2)
    expected.members.append(("cosine", AnyEncoder(place / "static")))
    texts = np.array([row[:2] for row in rows], dtype=object)
    expected.fit(texts, [row[2] for row in rows])
    assert model.predict_proba(texts) == pytest.approx(expected.predict_proba(texts))
    scored = run("score", place / "pairs.csv", "-m", tmp_path / "m.film")
    assert scored.code == 0, scored.err
    said = refused(
        "train", table, "-m", tmp_path / "n", "--encoder", place / "static", "--accurate"
    )
    assert "--encoder is not for --accurate" in said


@pytest.fixture(scope="module")
def of_records(place):
    """Train a model of records with an encoder."""
    frame, y = products(120)
    frame.assign(label=y).to_csv(place / "records.csv", index=False)
    ran = run(
        *("train", place / "records.csv", "-m", place / "r.film", "--folds", 2),
        *("--encoder", place / "static"),
    )
    assert ran.code == 0, ran.err
    assert f"encoder {place / 'static'}, as given" in ran.err
    assert "columns compared: title (text)" in ran.err
    return frame, y


def test_a_trained_model_of_records_has_it_as_a_member(place, of_records):
    frame, y = of_records
    expected = record_duplicates(cv=2)
    expected.members.append(("cosine", AnyEncoder(place / "static")))
    p = expected.fit(frame, y).predict_proba(frame)[:, 1]
    assert [name for name, _ in load_model(place / "r.film").members] == ["cosine"]
    scored = run("score", place / "records.csv", "-m", place / "r.film")
    assert [float(row["probability"]) for row in scored.rows] == pytest.approx(p)
    measured = run("evaluate", place / "records.csv", "-m", place / "r.film", "--format", "json")
    assert json.loads(measured.out)["accuracy"] == pytest.approx(((p > 0.5) == y).mean())
    explained = run("explain", place / "records.csv", "-m", place / "r.film", "-f", "jsonl")
    for one, probability in zip(explained.records[:5], p, strict=False):
        assert one["probability"] == pytest.approx(probability)
        assert [member["name"] for member in one["members"]] == ["cosine"]


@pytest.mark.parametrize(("choice", "told"), [("none", ""), ("auto", "no encoder, because")])
def test_records_without_an_encoder_are_compared_as_by_default(
    place, of_records, tmp_path, monkeypatch, choice, told
):
    monkeypatch.setattr(_resolve, "find_spec", lambda name: None)
    ran = run(
        *("train", place / "records.csv", "-m", tmp_path / "m.film", "--folds", 2),
        *("--encoder", choice),
    )
    assert ran.code == 0, ran.err
    assert told in ran.err and ("encoder" in ran.err) == bool(told)
    assert load_model(tmp_path / "m.film").members == []


def test_auto_says_what_it_chose(place, monkeypatch):
    monkeypatch.setattr(_resolve, "find_spec", lambda name: None)
    for command in ("duplicates", "score"):
        table = place / ("texts.csv" if command == "duplicates" else "pairs.csv")
        ran = run(command, table, "--encoder", "auto")
        assert ran.code == 0 and "film: no encoder, because the packaged" in ran.err
        assert ran.out == run(command, table).out


def test_impossible_encoders_are_refused(place):
    said = refused("duplicates", place / "texts.csv", "--encoder", place / "texts.csv")
    assert "--encoder" in said
    said = refused("score", place / "pairs.csv", "-m", place / "static", "--encoder", "auto")
    assert "--encoder adds to the general score; leave out --model" in said

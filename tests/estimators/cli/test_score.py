import json
from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from estimators import (
    DuplicateClassifier,
    DuplicateFinder,
    SentenceEncoder,
    fast_duplicates,
    load_model,
    save_model,
)
from estimators.cli.tables import read_table
from tests.estimators.cli.commands import refused, run, write_csv


@pytest.fixture(scope="module")
def expected(shelf):
    table = read_table(shelf / "dev.csv")
    pairs = list(zip(table.column("question1"), table.column("question2"), strict=True))
    return load_model(shelf / "model.skops").predict_proba(pairs)[:, 1]


def test_columns_are_carried_through(shelf, expected):
    ran = run("score", shelf / "dev.csv", "--model", shelf / "model.skops")
    assert ran.code == 0 and "unlike the training texts" not in ran.err
    table = read_table(shelf / "dev.csv")
    assert list(ran.rows[0]) == [*table.columns, "probability", "duplicate", "familiarity"]
    assert [list(row.values())[:-3] for row in ran.rows] == table.rows
    np.testing.assert_allclose([float(row["probability"]) for row in ran.rows], expected)
    assert [row["duplicate"] for row in ran.rows] == [str(int(p > 0.5)) for p in expected]
    pairs = list(zip(table.column("question1"), table.column("question2"), strict=True))
    familiar = load_model(shelf / "model.skops").familiarity(pairs)
    found = [float(row["familiarity"]) for row in ran.rows]
    np.testing.assert_allclose(found, familiar, atol=5.1e-5)


def test_threshold_and_names(shelf, expected):
    threshold = float(np.sort(expected)[30])  # a pair right at it is one
    arguments = ["-m", shelf / "model.skops", "--threshold", threshold, "--as", "said"]
    ran = run("score", shelf / "dev.csv", *arguments)
    assert [int(row["said_duplicate"]) for row in ran.rows] == (expected >= threshold).tolist()
    assert 0 < sum(expected >= threshold) < len(expected)
    assert "said" in ran.rows[0] and "probability" not in ran.rows[0]
    assert "said_familiarity" in ran.rows[0] and "familiarity" not in ran.rows[0]


def test_the_form_of_the_input_is_kept_and_an_option_wins(shelf, tmp_path):
    lines = '{"text1": "Is tea hot?", "text2": "How hot is tea?", "n": 1}\n'
    ran = run("score", "-", "-m", shelf / "model.skops", stdin=lines)
    added = ["score", "duplicate", "familiarity"]
    assert list(ran.records[0]) == ["text1", "text2", "n", *added]
    ran = run("score", "-", "-m", shelf / "model.skops", "-f", "tsv", stdin=lines)
    assert ran.out.startswith("text1\ttext2\tn\tscore\tduplicate\tfamiliarity\n")
    out = tmp_path / "scored.dat"
    run("score", "-", "-m", shelf / "model.skops", "-f", "tsv", "-o", out, stdin=lines)
    assert "\t" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "pairs",
    [
        [("One row", "One row only")],
        [("same", "same")] * 5,
        [("", ""), ("", "word")],
        [("?!", "...")],
        [("a " * 50_000, "b " * 50_000)],
        [("日本語の文です", "これは日本語の文"), ("как дела", "как вы")],
        [("\x1b[2J \U0001f600", "line\nbreak")],
    ],
    ids=["one row", "identical", "empty", "no words", "100 kB", "not Latin", "controls"],
)
def test_odd_texts_are_scored(shelf, tmp_path, pairs):
    path = write_csv(tmp_path / "odd.csv", ["Text1", "TEXT2 "], pairs)
    ran = run("score", path, "-m", shelf / "model.skops")
    assert ran.code == 0, ran.err
    assert [(row["Text1"], row["TEXT2 "]) for row in ran.rows] == pairs
    assert all(0 <= float(row["score"]) <= 1 for row in ran.rows)
    assert ("most letters are not Latin" in ran.err) == (pairs[0][0] == "日本語の文です")
    assert ("empty text" in ran.err) == (pairs[0] == ("", ""))


def test_files_that_are_no_model(shelf, tmp_path):
    dev, other = shelf / "dev.csv", tmp_path / "other.skops"
    assert "not a model file" in refused("score", dev, "-m", shelf / "train.csv")
    save_model(LogisticRegression(), other)
    assert "LogisticRegression" in refused("score", dev, "-m", other)
    save_model(fast_duplicates(), other)
    assert "film train" in refused("score", dev, "-m", other)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("no/out.csv", "does not exist"),
        (".", "is a folder"),
        ("file/out.csv", "is a file"),
        ("bad.csv", "would overwrite the input"),
        ("{model}", "would overwrite the input"),
        ("link.csv", "would overwrite the input"),
        ("out.xls", ".xls is not a format that can be written"),
    ],
)
def test_places_are_looked_at_before_the_work(shelf, tmp_path, monkeypatch, out, message):
    # The input is bad too: the place must be what is told.
    for name in ("bad.csv", "file"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "link.csv").symlink_to(tmp_path / "bad.csv")
    monkeypatch.chdir(tmp_path)
    model = shelf / "model.skops"
    assert message in refused("score", "bad.csv", "-m", model, "-o", out.format(model=model))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.csv", "file", "link.csv"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_encoder_meets_each_text_once(shelf, tiny_model, tmp_path, monkeypatch):
    table = read_table(shelf / "train.csv")
    pairs = list(zip(table.column("question1"), table.column("question2"), strict=True))[:60]
    labels = [int(cell) for cell in table.column("is_duplicate")][:60]
    encoder = SentenceEncoder(str(tiny_model), device="cpu", max_length=32)
    model = DuplicateClassifier([("cosine", encoder)], cv=2).fit(pairs, labels)
    save_model(model, tmp_path / "model.film")
    table = read_table(shelf / "dev.csv")
    new = np.array([table.column("question1"), table.column("question2")], dtype=object).T
    apart = model.predict_proba(new)[:, 1], model.familiarity(new)
    encoded, transform = [], SentenceEncoder.transform

    def counting(self, texts):
        encoded.extend(texts)
        return transform(self, texts)

    monkeypatch.setattr(SentenceEncoder, "transform", counting)
    once = sorted({*new.flat} - {text for pair in pairs for text in pair})
    score = ["score", shelf / "dev.csv", "--model", tmp_path / "model.film"]
    ran = run(*score)
    assert sorted(encoded) == once
    assert [float(row["probability"]) for row in ran.rows] == apart[0].tolist()
    assert [float(row["familiarity"]) for row in ran.rows] == np.round(apart[1], 4).tolist()
    encoded.clear()
    model.explain(new)
    # Also without the words by which the texts differ.
    assert set(once) <= set(encoded) and max(Counter(encoded).values()) <= 2


def test_texts_of_another_kind_are_warned_of_and_get_scores(shelf):
    rows = [
        ("Der Hund schläft im Garten.", "Im Garten schläft der Hund."),
        ("😀😀", "🚀"),
        ("", "x"),
    ]
    lines = "".join(json.dumps({"text1": a, "text2": b}) + "\n" for a, b in rows)
    plain = run("score", "-", "-m", shelf / "model.skops", stdin=lines)
    assert (plain.code, [row["familiarity"] for row in plain.records[1:]]) == (0, [0.0, 0.0])
    assert "3 of 3 pairs are unlike the training texts" in plain.err
    assert list(plain.records[0]) == ["text1", "text2", "score", "duplicate", "familiarity"]
    scores = [row["score"] for row in plain.records]
    assert scores[0] > max(scores[1:])
    named = run("score", "-", "-m", shelf / "model.skops", "--as", "p", stdin=lines)
    assert [row["p"] for row in named.records] == scores
    assert "p_familiarity" in named.records[0]


def test_what_a_pipe_cannot_take_as_excel_is_kept_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("estimators.cli.tables.writing._MOST_ROWS", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "kept"))
    (tmp_path / "kept").mkdir()
    path = write_csv(tmp_path / "t.csv", ["text"], [("tea",)] * 3)
    message = refused("duplicates", path, "--format", "xlsx")
    (kept,) = (tmp_path / "kept").iterdir()
    assert f"the result is in {kept}" in message
    assert len(read_table(kept)) == 2


def test_without_a_model_pairs_are_scored_by_the_general_score(tmp_path):
    pairs = [
        ("a 128 GB phone", "a 256 GB phone"),
        ("reset my password", "hello, please reset my pasword"),
        ("reset my password", "Reset my password"),
        ("the lamp is broken", ""),
    ]
    table = write_csv(tmp_path / "pairs.csv", ["text1", "text2"], pairs)
    ran = run("score", table)
    assert ran.code == 0
    assert list(ran.rows[0]) == ["text1", "text2", "score", "duplicate", "kind"]
    assert [row["kind"] for row in ran.rows] == ["differs in number", "similar", "copy", "similar"]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    scores, _ = DuplicateFinder().fit(texts, ids=texts).score_pairs(pairs)
    np.testing.assert_allclose([float(row["score"]) for row in ran.rows], scores)
    assert scores[2] == 1 and scores[3] == 0 and scores[0] < scores[1]

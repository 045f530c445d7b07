import os
import re
import signal
from types import SimpleNamespace

import click
import numpy as np
import pandas as pd
import pytest

from estimators import load_model
from estimators.cli import main
from estimators.cli.commands import review
from estimators.cli.labelling import candidates as _candidates
from estimators.cli.tables import read_table
from estimators.corpus.duplicate_finder import DuplicateFinder
from film.judge import ExpectedPrecision
from film.text import normalize_text
from tests.estimators.cli.commands import finished, refused, run, start, wait_for, write_csv
from tests.estimators.corpus.test_records import people, with_noise


def key(pair):
    return tuple(sorted(map(normalize_text, pair)))


def answered(path):
    return [(row[:2], row[2]) for row in read_table(path).rows]


def asked(err):
    """Pairs as they were shown, in order."""
    lines = err.splitlines()
    return [
        (lines[i + 1].strip(), lines[i + 2].strip())
        for i, line in enumerate(lines)
        if line[:1].isdigit() and "/" in line
    ]


def test_answers_are_kept_in_order(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    ran = run("review", shelf / "dev.csv", "--labels", labels, "-n", 4, stdin="y\nn\ns\nY\n")
    assert (ran.code, ran.out) == (0, "")
    assert read_table(labels).columns == ["text1", "text2", "label"]
    assert [label for _, label in answered(labels)] == ["1", "0", "", "1"]
    assert [tuple(pair) for pair, _ in answered(labels)] == asked(ran.err)
    assert f"4 answers are in {labels}" in ran.err
    dev = {tuple(row[1:3]) for row in read_table(shelf / "dev.csv").rows}
    assert {tuple(pair) for pair, _ in answered(labels)} <= dev


def test_no_pair_is_asked_twice_also_later(shelf, tmp_path):
    arguments = ["review", shelf / "dev.csv", "--labels", tmp_path / "labels.jsonl"]
    run(*arguments, "-n", 15, stdin="n\n" * 15)
    run(*arguments, "-n", 15, stdin="s\n" * 15)
    ran = run(*arguments, "-n", 100, stdin="y\n" * 100)
    assert "all pairs have been asked" in ran.err
    pairs = [key(pair) for pair, _ in answered(tmp_path / "labels.jsonl")]
    dev = {key(row[1:3]) for row in read_table(shelf / "dev.csv").rows}
    assert len(pairs) == len(set(pairs)) == len(dev)
    labels = [label for _, label in answered(tmp_path / "labels.jsonl")]
    assert labels[:30] == ["0"] * 15 + [""] * 15


def test_undo_goes_back_to_the_start(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    arguments = ["review", shelf / "dev.csv", "--labels", labels]
    ran = run(*arguments, stdin="u\ny\nu\n")
    assert "nothing to undo" in ran.err and "no answers yet" in ran.err
    assert not labels.exists()
    ran = run(*arguments, "-n", 2, stdin="y\nu\nn\nn\n")
    shown = asked(ran.err)
    assert shown[0] == shown[2] != shown[1]
    assert [label for _, label in answered(labels)] == ["0", "0"]
    assert [tuple(pair) for pair, _ in answered(labels)] == [shown[0], shown[3]]


def test_undo_reaches_back_over_a_batch(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    stdin = "n\n" * 10 + "u\ny\nn\n"
    run("review", shelf / "dev.csv", "--labels", labels, "-n", 11, stdin=stdin)
    assert [label for _, label in answered(labels)] == ["0"] * 9 + ["1", "0"]


def test_other_words_are_no_answers(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    stdin = "yes\nunsure\nnot sure\nsame\nquite alike\nNo: other year\nskip\n"
    ran = run("review", shelf / "dev.csv", "--labels", labels, "-n", 3, stdin=stdin)
    assert [label for _, label in answered(labels)] == ["1", "0", ""]
    assert ran.err.count("answer y (same)") == 4


def test_answers_written_by_hand_are_understood(shelf, tmp_path):
    rows = [
        [*row[1:3], label]
        for row, label in zip(read_table(shelf / "dev.csv").rows, ["yes", "0.0", " "], strict=False)
    ]
    labels = write_csv(tmp_path / "labels.csv", ["text1", "text2", "label"], rows)
    ran = run("review", shelf / "dev.csv", "--labels", labels, "-n", 1, stdin="n\n")
    # They stay as they were written; the session counts them as answers.
    assert [label for _, label in answered(labels)] == ["yes", "0.0", " ", "0"]
    assert "4 answers are in" in ran.err and "(1 same, 2 different, 1 skipped)" in ran.err


def test_other_input_is_asked_again(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    ran = run("review", shelf / "dev.csv", "--labels", labels, "-n", 1, stdin="maybe\n\n7\nyes\n")
    assert ran.err.count("answer y (same), n (different)") == 3
    assert [label for _, label in answered(labels)] == ["1"]


@pytest.fixture
def answered_before(shelf, tmp_path):
    """Answers to 20 pairs of dev.csv, from an earlier session."""
    rows = [[*row[1:3], row[4]] for row in read_table(shelf / "dev.csv").rows]
    return write_csv(tmp_path / "labels.csv", ["text1", "text2", "label"], rows[:20])


def test_the_model_is_fitted_on_the_answers_and_anew_every_ten(
    shelf, tmp_path, answered_before, monkeypatch
):
    model = tmp_path / "m.skops"
    monkeypatch.setattr(review, "TREES", 7)
    arguments = ["review", shelf / "dev.csv", "--labels", answered_before, "--model", model]
    # A skipped pair teaches nothing.
    ran = run(*arguments, "-n", 12, stdin="n\n" * 11 + "s\n")
    assert ran.code == 0, ran.err
    told = [f"wrote {model}, fitted on {n} labels" for n in (20, 30, 31)]
    assert all(line in ran.err for line in told) and ran.err.count("wrote") == 3
    fitted = load_model(model)
    assert len(fitted.out_of_fold_) == 31
    answers = [label for _, label in answered(answered_before) if label]
    assert fitted.train_prior_ == answers.count("1") / 31
    # Trees: of 50 labels and of 200 they make more than a logistic regression.
    assert len(fitted.final_estimator_.estimators_) == 7
    assert run("score", shelf / "dev.csv", "-m", model).code == 0


def test_too_few_answers_make_no_model(shelf, tmp_path):
    labels, model = tmp_path / "labels.csv", tmp_path / "m.skops"
    for stdin in ("", "y\n", "y\ny\ny\n"):
        # "label" is an earlier name of the command.
        ran = run("label", shelf / "dev.csv", "--labels", labels, "--model", model, stdin=stdin)
        assert ran.code == 0 and "no model yet" in ran.err
        assert not model.exists()


def test_a_table_of_texts_gives_its_neighbours(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    ran = run("review", shelf / "texts.csv", "--labels", labels, "-n", 12, stdin="n\n" * 12)
    assert ran.code == 0, ran.err
    texts = {normalize_text(row[1]) for row in read_table(shelf / "texts.csv").rows}
    for pair, _ in answered(labels):
        assert set(key(pair)) <= texts and key(pair)[0] != key(pair)[1]


NOTHING_GIVEN = SimpleNamespace(
    text=None, text1=None, text2=None, left=None, right=None, compare=()
)


def candidates(path):
    with click.Context(main):
        table = read_table(path)
        asked = _candidates.asked_of(table, NOTHING_GIVEN)
        return _candidates.candidate_pairs(asked, table, 0)


def test_candidates_are_different_texts_once_each(tmp_path):
    rows = [["a b", "c"], ["C!", "A b"], ["same", "Same"], ["", "d"], ["e", "f"]]
    path = write_csv(tmp_path / "t.csv", ["text1", "text2"], rows)
    found = candidates(path)
    assert found.texts.tolist() == [["a b", "c"], ["e", "f"]]
    assert found.ends.tolist() == [[0, 1], [2, 3]]
    assert found.rows == {("a b", "c"): 0, ("e", "f"): 1}


def test_scores_of_candidates_are_those_of_the_finder(shelf):
    found = candidates(shelf / "texts.csv")
    texts = read_table(shelf / "texts.csv").column("text")
    every = DuplicateFinder().fit(texts).find(threshold=0)
    scores = dict(zip(map(key, every.texts), every.scores, strict=True))
    assert [scores[key(pair)] for pair in found.texts] == found.scores.tolist()


def test_a_model_learns_from_few_unlabelled_pairs_of_every_score(monkeypatch, shelf):
    monkeypatch.setattr(_candidates, "POOL", 40)
    found = candidates(shelf / "texts.csv")
    pool = found.pool(0)
    assert len(pool) == 40
    drawn = np.array([found.scores[found.rows[key(pair)]] for pair in pool])
    # Most neighbours are far; high ones are drawn beyond their share.
    assert np.mean(drawn > 0.5) > 1.5 * np.mean(found.scores > 0.5)


def test_of_many_pairs_some_are_drawn(monkeypatch, shelf):
    monkeypatch.setattr(_candidates, "MOST_PAIRS", 30)
    assert len(candidates(shelf / "dev.csv").texts) <= 30


def test_the_order_of_questions_depends_on_the_texts_and_the_seed(shelf):
    found = candidates(shelf / "texts.csv")
    half = found._replace(rows=dict(list(found.rows.items())[::2]))
    assert half.order(3).tolist() == found.order(3)[::2].tolist() != found.order(4)[::2].tolist()
    assert len(set(found.order(3).tolist())) == len(found.rows)


def test_an_estimate_follows_each_answer(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    ran = run("review", shelf / "texts.csv", "--labels", labels, "--threshold", 0.4, stdin="y\nn\n")
    told = re.findall(r"at threshold 0\.40: precision (\d+) % .*; with 20 more answers", ran.err)
    assert len(told) == 2 and int(told[1]) < int(told[0])


def test_it_stops_where_a_precision_is_shown_or_cannot_be(shelf, tmp_path):
    table = shelf / "texts.csv"
    for answer, told in (("y", "answers show a precision of at least 60%"), ("n", "below 60%")):
        labels = tmp_path / f"{answer}.csv"
        arguments = ["review", table, "--labels", labels, "--precision", 0.6, "--threshold", 0.3]
        ran = run(*arguments, "-n", 90, stdin=f"{answer}\n" * 90)
        assert told in ran.err
        assert 30 <= len(answered(labels)) < 90


@pytest.mark.parametrize("name", ["labels.csv", "labels.tsv", "labels.jsonl"])
def test_reasons_by_key_or_in_words_get_a_column_with_the_first_of_them(shelf, tmp_path, name):
    labels = tmp_path / name
    arguments = ["review", shelf / "dev.csv", "--labels", labels]
    run(*arguments, "-n", 2, stdin="yes\nNo.\n")
    assert read_table(labels).columns == ["text1", "text2", "label"]
    before = answered(labels)
    ran = run(*arguments, "-n", 5, stdin="n2\nn 7\nn\ns: Other Size\nY, 1\nu\nn\n")
    assert "reasons have the keys 1 to 6" in ran.err and "for 1 number, 1 Other Size" in ran.err
    found = read_table(labels)
    assert found.columns == ["text1", "text2", "label", "reason"]
    assert answered(labels)[:2] == before
    rows = zip(found.column("label"), found.column("reason"), strict=True)
    assert [list(row) for row in rows] == [
        ["1", ""], ["0", ""], ["0", "number"], ["0", ""], ["", "Other Size"], ["0", ""],
    ]  # fmt: skip


def test_reasons_for_records_are_their_columns(tmp_path):
    rows = [["Red inn", "5"], ["Red inns", "5"], ["Blue inn", "7"], ["Blue inns", "8"]]
    table = write_csv(tmp_path / "t.csv", ["name", "seats"], rows)
    labels = tmp_path / "labels.csv"
    ran = run("review", table, "--labels", labels, "-n", 1, stdin="n 2\n")
    assert "1 name, 2 seats" in ran.err
    assert read_table(labels).column("reason") == ["seats"]


def test_answers_keep_columns_that_say_nothing(tmp_path):
    frame = with_noise(people(300, n_twice=200)[0])
    frame.to_csv(tmp_path / "people.csv", index_label="id")
    told = run("review", tmp_path / "people.csv", "--labels", tmp_path / "l.csv", stdin="y2\nq\n")
    assert "left out, because they say nothing about duplicates: written, key" in told.err
    rows = pd.read_csv(tmp_path / "l.csv", dtype=str, keep_default_na=False)
    names = [f"{side}_{name}" for name in frame for side in ("left", "right")]
    assert list(rows) == [*names, "label", "reason"] and rows["reason"].tolist() == ["born"]
    both = {tuple(rows[f"{side}_{name}"][0] for name in frame) for side in ("left", "right")}
    assert both <= set(frame.itertuples(index=False, name=None)) and len(both) == 2


def test_two_people_are_asked_the_same_and_their_agreement_is_told(shelf, tmp_path):
    mine, hers = tmp_path / "mine.csv", tmp_path / "hers.csv"
    table = shelf / "texts.csv"
    run("review", table, "--labels", hers, "-n", 5, stdin="y\nn\ny\ny\ns\n")
    arguments = ["review", table, "--labels", mine, "--second", hers]
    ran = run(*arguments, "-n", 5, stdin="y\nn\ny\nn\ny\n")
    both = {key(pair) for pair, _ in answered(mine)} & {key(pair) for pair, _ in answered(hers)}
    assert len(both) >= 4
    assert "both have answered 4 pairs, and agree on 75%, kappa 0.50" in ran.err
    nothing = run("review", table, "--labels", mine, "--second", tmp_path / "no.csv", stdin="q\n")
    assert "no pair has answers of both people" in nothing.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("- --labels new.csv", "must be a file"),
        ("same.csv --labels new.csv", "no pair of two different texts"),
        ("{dev} --labels {dev}", "would overwrite"),
        ("{dev} --labels other.csv", "is not a file of answers: it has the columns 'a'"),
        ("{dev} --labels perhaps.csv", "'perhaps', line 2"),
        ("{dev} --labels new.csv --text question1 --text1 question1", "--text1 and --text2"),
        ("{dev} --labels no/labels.csv", "does not exist"),
    ],
)
def test_what_cannot_be_labelled(shelf, tmp_path, monkeypatch, line, message):
    monkeypatch.chdir(tmp_path)
    write_csv("same.csv", ["text"], [["same"], ["Same"], ["?"]])
    write_csv("other.csv", ["a"], [["b"]])
    write_csv("perhaps.csv", ["text1", "text2", "label"], [["a", "b", "perhaps"]])
    assert message in refused("review", *line.format(dev=shelf / "dev.csv").split())


def test_hostile_texts_cannot_steer_the_terminal(tmp_path):
    rows = [["\x1b[2J" + "long " * 30_000, "b"]]
    path = write_csv(tmp_path / "t.csv", ["text1", "text2"], rows)
    labels = tmp_path / "labels.csv"
    ran = run("review", path, "--labels", labels, stdin="n\n")
    assert "\x1b" not in ran.err and len(ran.err) < 3000
    assert read_table(labels).rows[0][0] == rows[0][0]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_answers_survive_an_interruption(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    process = start("review", shelf / "dev.csv", "--labels", labels)
    wait_for(process, b"[y/n/s/u/q] ")
    process.stdin.write(b"y\n")
    process.stdin.flush()
    wait_for(process, b"[y/n/s/u/q] ")
    process.send_signal(signal.SIGINT)
    ended, out, err = finished(process)
    assert (ended, out) == (130, "")
    assert [label for _, label in answered(labels)] == ["1"]
    assert f"1 answer is in {labels} (1 same, 0 different, 0 skipped); the same" in err
    assert "Traceback" not in err


def test_the_threshold_of_a_precision_holds_a_share_of_the_duplicates():
    thresholds = np.array([0.3, 0.6, 0.9])
    ends = np.zeros((3, 2))

    def expected(recall):
        counts, precision = np.array([9, 5, 1]), np.array([0.4, 0.7, 0.99])
        f1 = np.array([0.6, 0.5, 0.1])
        return ExpectedPrecision(thresholds, counts, precision, ends, recall, ends, f1)

    assert review._lowest_of(expected(np.array([1.0, 0.8, 0.3])), 0.95) == 0.9
    assert review._lowest_of(expected(np.array([1.0, 0.8, 0.05])), 0.95) == 0.3
    assert review._lowest_of(expected(np.array([1.0, 0.8, 0.05])), 0.65) == 0.6


@pytest.mark.parametrize("is_html", [False, True])
def test_answers_about_rows_that_the_table_lacks_are_told(tmp_path, is_html):
    frame, _ = people(60, n_twice=30)
    frame.to_csv(tmp_path / "people.csv", index=False)
    given = "review", tmp_path / "people.csv", "--labels", tmp_path / "labels.csv"
    assert "does not have" not in run(*given, "-n", 3, stdin="y\ny\ny\n").err
    more = ("--html", tmp_path / "page.html") if is_html else ("-n", 1)
    assert "does not have" not in run(*given, *more, stdin="q\n").err
    answers = pd.read_csv(tmp_path / "labels.csv", dtype=str)
    answers.loc[:1, "left_born"] = "15.10.1989"
    answers.to_csv(tmp_path / "labels.csv", index=False)
    ran = run(*given, *more, stdin="q\n")
    assert f"2 of 3 answers in {tmp_path / 'labels.csv'} are about rows that" in ran.err
    assert len(pd.read_csv(tmp_path / "labels.csv")) == 3

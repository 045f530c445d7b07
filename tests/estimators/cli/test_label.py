import os
import signal

import click
import numpy as np
import pytest

from estimators import load_model
from estimators.cli import main
from estimators.cli.commands import label
from estimators.cli.labelling import candidates as _candidates
from estimators.cli.tables import read_table
from estimators.corpus.duplicate_finder import DuplicateFinder
from estimators.pairs.suggestion import suggest_pairs
from film.text import normalize_text
from tests.estimators.cli.commands import finished, refused, run, start, wait_for, write_csv


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
    ran = run("label", shelf / "dev.csv", "--labels", labels, "-n", 4, stdin="y\nn\ns\nY\n")
    assert (ran.code, ran.out) == (0, "")
    assert read_table(labels).columns == ["text1", "text2", "label"]
    assert [label for _, label in answered(labels)] == ["1", "0", "", "1"]
    assert [tuple(pair) for pair, _ in answered(labels)] == asked(ran.err)
    assert f"4 answers are in {labels}" in ran.err
    dev = {tuple(row[1:3]) for row in read_table(shelf / "dev.csv").rows}
    assert {tuple(pair) for pair, _ in answered(labels)} <= dev


def test_no_pair_is_asked_twice_also_later(shelf, tmp_path):
    arguments = ["label", shelf / "dev.csv", "--labels", tmp_path / "labels.jsonl"]
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
    ran = run(
        "label",
        shelf / "dev.csv",
        "--labels",
        labels,
        "-n",
        2,
        stdin="u\ny\ny\n"[:2] + "y\nu\nn\nn\n",
    )
    assert "nothing to undo" in ran.err
    shown = asked(ran.err)
    assert shown[0] == shown[1] == shown[3] != shown[2]
    assert [label for _, label in answered(labels)] == ["0", "0"]
    assert [tuple(pair) for pair, _ in answered(labels)] == [shown[0], shown[4]]


def test_undoing_everything_leaves_a_fresh_start(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    ran = run("label", shelf / "dev.csv", "--labels", labels, stdin="y\nu\n")
    assert ran.code == 0 and "no answers yet" in ran.err
    assert not labels.exists()


def test_undo_reaches_back_over_a_batch(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    stdin = "n\n" * 10 + "u\ny\nn\n"
    run("label", shelf / "dev.csv", "--labels", labels, "-n", 11, stdin=stdin)
    assert [label for _, label in answered(labels)] == ["0"] * 9 + ["1", "0"]


def test_answers_written_by_hand_are_understood(shelf, tmp_path):
    rows = [
        [*row[1:3], label]
        for row, label in zip(read_table(shelf / "dev.csv").rows, ["yes", "0.0", " "], strict=False)
    ]
    labels = write_csv(tmp_path / "labels.csv", ["text1", "text2", "label"], rows)
    ran = run("label", shelf / "dev.csv", "--labels", labels, "-n", 1, stdin="n\n")
    # They stay as they were written; the session counts them as answers.
    assert [label for _, label in answered(labels)] == ["yes", "0.0", " ", "0"]
    assert "4 answers are in" in ran.err and "(1 same, 2 different, 1 skipped)" in ran.err


def test_other_input_is_asked_again(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    ran = run("label", shelf / "dev.csv", "--labels", labels, "-n", 1, stdin="maybe\n\n7\nyes\n")
    assert ran.err.count("answer y (same), n (different)") == 3
    assert [label for _, label in answered(labels)] == ["1"]


@pytest.fixture
def answered_before(shelf, tmp_path):
    """Answers to 20 pairs of dev.csv, from an earlier session."""
    rows = [[*row[1:3], row[4]] for row in read_table(shelf / "dev.csv").rows]
    return write_csv(tmp_path / "labels.csv", ["text1", "text2", "label"], rows[:20])


def test_the_model_is_fitted_on_the_answers(shelf, tmp_path, answered_before):
    model = tmp_path / "m.skops"
    arguments = ["label", shelf / "dev.csv", "--labels", answered_before, "--model", model]
    ran = run(*arguments, "-n", 1, stdin="s\n")
    assert ran.code == 0, ran.err
    # A skipped pair teaches nothing.
    assert ran.err.count(f"wrote {model}, fitted on 20 labels") == ran.err.count("wrote") == 1
    fitted = load_model(model)
    assert len(fitted.out_of_fold_) == 20
    answers = [label for _, label in answered(answered_before)]
    assert fitted.train_prior_ == answers.count("1") / 20
    # Trees: of 50 labels and of 200 they make more than a logistic regression.
    assert len(fitted.final_estimator_.estimators_) == label.TREES
    assert run("score", shelf / "dev.csv", "-m", model).code == 0


def test_the_model_is_fitted_anew_every_ten_answers(monkeypatch, shelf, tmp_path, answered_before):
    given = []

    def suggest(pairs, n, *, labelled, y, random_state):
        given.append([(key(pairs[row]), answer) for row, answer in zip(labelled, y, strict=True)])
        return suggest_pairs(pairs, n, labelled=labelled, y=y, random_state=random_state)

    monkeypatch.setattr(label, "suggest_pairs", suggest)
    model = tmp_path / "m.skops"
    arguments = ["label", shelf / "dev.csv", "--labels", answered_before, "--model", model]
    ran = run(*arguments, "-n", 12, stdin="n\n" * 12)
    for n in (20, 30, 32):
        assert f"wrote {model}, fitted on {n} labels" in ran.err
    assert ran.err.count("fitted on") == 3
    # Each time with all the answers that there are.
    first, second = ({pair: answer for pair, answer in asked} for asked in given)
    rows = answered(answered_before)
    assert second == {key(pair): int(answer) for pair, answer in rows[:30]}
    assert first == {key(pair): int(answer) for pair, answer in rows[:20]}


def test_too_few_answers_make_no_model(shelf, tmp_path):
    labels, model = tmp_path / "labels.csv", tmp_path / "m.skops"
    arguments = ["label", shelf / "dev.csv", "--labels", labels, "--model", model]
    for stdin in ("", "y\n", "y\ny\ny\n"):
        ran = run(*arguments, stdin=stdin)
        assert ran.code == 0 and "no model yet" in ran.err
        assert not model.exists()


def test_a_table_of_texts_gives_its_neighbours(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    ran = run("label", shelf / "texts.csv", "--labels", labels, "-n", 12, stdin="n\n" * 12)
    assert ran.code == 0, ran.err
    texts = {normalize_text(row[1]) for row in read_table(shelf / "texts.csv").rows}
    for pair, _ in answered(labels):
        assert set(key(pair)) <= texts and key(pair)[0] != key(pair)[1]


def candidates(path):
    with click.Context(main):
        return _candidates.candidate_pairs(read_table(path), None, None, None, 0)


def test_candidates_are_different_texts_once_each(tmp_path):
    rows = [["a b", "c"], ["C!", "A b"], ["same", "Same"], ["", "d"], ["e", "f"]]
    path = write_csv(tmp_path / "t.csv", ["text1", "text2"], rows)
    assert candidates(path).tolist() == [["a b", "c"], ["e", "f"]]


def test_many_candidates_are_thinned_evenly(monkeypatch, shelf, tmp_path):
    monkeypatch.setattr(_candidates, "POOL", 40)
    pairs = candidates(shelf / "texts.csv")
    assert len(pairs) == 40
    texts = read_table(shelf / "texts.csv").column("text")
    found = DuplicateFinder().fit(texts).find(threshold=0)
    scores = dict(zip(map(key, found.texts), found.scores, strict=True))
    drawn = np.array([scores[key(pair)] for pair in pairs])
    # Most neighbours are far; high ones are drawn beyond their share.
    assert np.mean(drawn > 0.5) > 1.5 * np.mean(found.scores > 0.5)


def test_what_cannot_be_labelled(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    dev = shelf / "dev.csv"
    assert "must be a file" in refused("label", "-", "--labels", labels)
    path = write_csv(tmp_path / "one.csv", ["text"], [["same"], ["Same"], ["?"]])
    assert "no pair of two different texts" in refused("label", path, "--labels", labels)
    assert "would overwrite" in refused("label", dev, "--labels", dev)
    message = refused("label", shelf / "train.csv", "--labels", write_csv(labels, ["a"], [["b"]]))
    assert "not a file of answers" in message and "'a'" in message
    write_csv(labels, ["text1", "text2", "label"], [["a", "b", "perhaps"]])
    assert "'perhaps', line 2" in refused("label", dev, "--labels", labels)
    options = ["--text", "question1", "--text1", "question1"]
    assert "--text1 and --text2" in refused("label", dev, "--labels", tmp_path / "x", *options)
    assert "does not exist" in refused("label", dev, "--labels", tmp_path / "no" / "labels.csv")
    assert "--text" in refused("label", write_csv(path, ["a"], [["b"]]), "--labels", tmp_path / "x")


def test_hostile_texts_cannot_steer_the_terminal(tmp_path):
    rows = [["\x1b[2J" + "long " * 30_000, "b"]]
    path = write_csv(tmp_path / "t.csv", ["text1", "text2"], rows)
    labels = tmp_path / "labels.csv"
    ran = run("label", path, "--labels", labels, stdin="n\n")
    assert "\x1b" not in ran.err and len(ran.err) < 3000
    assert read_table(labels).rows[0][0] == rows[0][0]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_answers_survive_an_interruption(shelf, tmp_path):
    labels = tmp_path / "labels.csv"
    process = start("label", shelf / "dev.csv", "--labels", labels)
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

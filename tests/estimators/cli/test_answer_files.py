"""Answers are never lost, whoever else writes to their file."""

import codecs
import errno
import io
import os
import signal

import click
import pytest

from estimators.cli import main
from estimators.cli.commands import review
from estimators.cli.labelling.answers import Answers, pair_key
from estimators.cli.tables import read_table, writing
from film.datasets import atomic_writer
from tests.estimators.cli.commands import finished, run, start, write_csv

PROMPT = b"[y/n/s/u/q] "
posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
WORDS = "red blue old new fast slow warm cold big small dry wet".split()
PAIRS = [(f"{a} house", f"{b} house") for a in WORDS[:6] for b in WORDS[6:]]


@pytest.fixture
def inside_command():
    """Notes go where those of a command go."""
    with click.Context(main):
        yield


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "pairs.csv", ["text1", "text2"], PAIRS)


@pytest.fixture
def labels(tmp_path):
    return tmp_path / "labels.csv"


def keys(path):
    """Pairs of a file, sorted, as often as they are there."""
    found = read_table(path)
    texts = zip(found.column("text1"), found.column("text2"), strict=True)
    return sorted(pair_key(pair) for pair in texts)


STARTED = []


@pytest.fixture(autouse=True)
def _end_all():
    yield
    while STARTED:
        with STARTED.pop() as started:
            started.kill()


def process(*arguments, **keywords):
    STARTED.append(start(*arguments, **keywords))
    return STARTED[-1]


def question(started):
    """Read until the next question; gives its pair."""
    said = b""
    while PROMPT not in said and (more := started.stderr.read1()):
        said += more
    assert PROMPT in said, said
    return asked_in(said.decode())


def asked_in(said):
    return pair_key([line.strip() for line in said.splitlines()[-3:-1]])


class Typed(io.RawIOBase):
    """Standard input of a session in this process, in which things happen between two answers."""

    def __init__(self, lines):
        self.lines = lines

    def readable(self):
        return True

    def readinto(self, buffer):
        line = next(self.lines, b"")
        buffer[: len(line)] = line
        return len(line)


def review_typed(table, labels, lines):
    """Run a session that reads each line when it asks for one."""
    return run("review", table, "--labels", labels, stdin=io.BufferedReader(Typed(lines)))


def answer(started, text):
    started.stdin.write(text)
    started.stdin.flush()


ADD_MANY = """
import sys
from estimators.cli.labelling.answers import Answers
from estimators.cli.console import Application
import click
with click.Context(Application("film")):
    answers = Answers(sys.argv[1])
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        answers.add((f"{sys.argv[2]} {number}", "other"), "1")
        print(f"{sys.argv[2]} {number}", flush=True)
"""


def adder(labels, name, n):
    return process(labels, name, n, program=("-c", ADD_MANY))


def test_two_sessions_on_one_file_keep_all_answers(table, labels):
    def typed():
        # The first pair is asked already, so both sessions answer it.
        assert run("review", table, "--labels", labels, stdin="n\ny\nq\n").code == 0
        yield b"y\n"
        yield b"s\nq\n"

    assert review_typed(table, labels, typed()).code == 0
    found = read_table(labels).rows
    assert [row[2] for row in found] == ["0", "1", "1", ""]
    asked = [pair_key(row[:2]) for row in found]
    assert asked[0] == asked[2] and len(set(asked)) == 3


def test_writing_at_the_same_time_loses_nothing(labels, inside_command):
    other = adder(labels, "a", 30)
    answers = Answers(str(labels))
    answer(other, b"\n")
    for number in range(30):
        assert other.stdout.readline()
        answers.add((f"b {number}", "other"), "1")
    assert other.wait(120) == 0, other.stderr.read()
    expected = sorted(pair_key((f"{name} {n}", "other")) for name in "ab" for n in range(30))
    assert keys(labels) == expected


@posix
def test_a_killed_session_loses_no_answer_and_leaves_no_lock(labels):
    started = adder(labels, "a", 10_000)
    answer(started, b"\n")
    kept = [started.stdout.readline().decode().strip() for _ in range(15)]
    started.kill()
    started.wait()
    found = keys(labels)
    assert {pair_key((text, "other")) for text in kept} <= set(found)
    # One more may have been written, but not yet acknowledged.
    assert len(found) == len(set(found))
    Answers(str(labels)).add(("next", "one"), "0")
    assert len(keys(labels)) == len(found) + 1


@posix
def test_a_review_killed_after_some_answers_asks_the_same_next_question(table, labels):
    started = process("review", table, "--labels", labels)
    asked = [question(started)]
    for reply in (b"y\n", b"n\n", b"s\n"):
        answer(started, reply)
        asked.append(question(started))
    started.kill()
    assert started.wait() < 0
    rows = read_table(labels).rows
    assert [pair_key(row[:2]) for row in rows] == asked[:3]
    assert [row[2] for row in rows] == ["1", "0", ""]
    again = run("review", table, "--labels", labels, stdin="y\nq\n")
    assert again.code == 0 and asked_in(again.err.split(PROMPT.decode())[0] + "\n") == asked[3]
    after = read_table(labels).rows
    assert after[:3] == rows
    assert (pair_key(after[3][:2]), after[3][2:]) == (asked[3], ["1"])


def test_a_row_added_by_hand_meanwhile_is_kept(table, labels):
    kept = []

    def typed():
        yield b"y\n"
        kept.append(labels.read_text(encoding="utf-8") + '"by, hand",other,0\n')
        labels.write_text(kept[0], encoding="utf-8")
        yield b"n\nq\n"

    assert review_typed(table, labels, typed()).code == 0
    assert labels.read_text(encoding="utf-8").startswith(kept[0])
    assert len(read_table(labels)) == 3


def test_what_an_editor_saved_over_is_put_back(labels, inside_command, capsys):
    answers = Answers(str(labels))
    answers.add(("a", "b"), "1")
    opened = labels.read_bytes()
    answers.add(("c", "d"), "0")
    answers.add(("e", "f"), "")
    labels.write_bytes(opened.replace(b",1", b",0") + b"x,y,1\n")
    answers.restore()
    assert "2 answers of this session were missing from" in capsys.readouterr().err
    # What was corrected by hand is not.
    assert read_table(labels).rows == [
        ["a", "b", "0"],
        ["x", "y", "1"],
        ["c", "d", "0"],
        ["e", "f", ""],
    ]
    labels.write_bytes(opened)
    answers.add(("g", "h"), "1")
    assert [row[0] for row in read_table(labels).rows] == ["a", "c", "e", "g"]


@pytest.mark.parametrize(
    "before",
    [
        codecs.BOM_UTF8 + 'text1;text2;label;who\r\n"a;b";ä;1;me\r\n'.encode(),
        "text1;text2;label\r\ncafé;thé;1\r\n".encode("cp1252"),
        "text1\ttext2\tlabel\r\na\t世界\t0\r\n".encode("utf-16"),
        b'label,"text1",text2\n1,"line one\nline ""two""",b',
        b"text1,text2,label\n\na,b,yes\n\n",
        b"text1,text2,label\r\n",
        b'{"text1": "a", "n": 7, "text2": "b", "label": null}\n',
        b"",
    ],
    ids=["excel", "cp1252", "utf-16", "no end", "blank lines", "header", "json", "empty"],
)
def test_what_stands_in_the_file_stays(tmp_path, inside_command, before):
    labels = tmp_path / ("labels.jsonl" if before[:1] == b"{" else "labels.csv")
    labels.write_bytes(before)
    known = read_table(labels) if len(before) > 20 else None
    answers = Answers(str(labels))
    for pair in (("c; d, e", 'quote " and\nline'), ("tab\there", "carriage\rreturn"), ("ü", "😀")):
        answers.add(pair, "1")
    again = read_table(labels)
    pairs, y = Answers(str(labels)).labelled()
    assert pairs[-2].tolist() == ["tab\there", "carriage\rreturn"] and y[-3:].tolist() == [1] * 3
    assert labels.read_bytes().startswith(codecs.BOM_UTF8) == (not before.isascii())
    for _ in range(3):
        assert answers.undo()
    if known is not None:
        assert again.rows[: len(known)] == known.rows and len(again) == len(known) + 3
        assert (again.columns, again.format) == (known.columns, known.format)
        assert again.delimiter == known.delimiter
        assert read_table(labels).rows == known.rows


def test_undo_takes_back_no_row_of_others(labels):
    mine, theirs = Answers(str(labels)), Answers(str(labels))
    mine.add(("a", "b"), "1")
    theirs.add(("a\nb", "b"), "0")
    mine.add(("c", "d"), "1")
    theirs.add(("e", "f"), "0")
    assert mine.undo() and mine.undo() and theirs.undo()
    assert read_table(labels).rows == [["a\nb", "b", "0"]]
    theirs.add(("g", "h"), "1")
    labels.write_text("text1,text2,label\ng,h,0\n", encoding="utf-8")
    assert not theirs.undo()
    assert read_table(labels).rows == [["g", "h", "0"]]


def test_contradicting_answers_are_both_kept(labels):
    one, other = Answers(str(labels)), Answers(str(labels))
    one.add(("a", "b"), "1")
    other.add(("B", "a!"), "0")
    assert [row[2] for row in read_table(labels).rows] == ["1", "0"]
    assert one.by_key() and other.labelled()[1].tolist() == [1, 0]


def test_answers_of_another_session_are_not_asked_again(table, labels):
    def typed():
        other = Answers(str(labels))
        for pair in PAIRS:
            other.add(pair, "0")
        yield b"y\n"

    ran = review_typed(table, labels, typed())
    assert ran.code == 0 and "all pairs have been asked" in ran.err
    # The question that stood there already was answered, too.
    assert len(keys(labels)) == len(PAIRS) + 1


@pytest.fixture
def interruptible():
    """Ctrl-C interrupts, though a shell that starts tests in the background makes it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@posix
@pytest.mark.usefixtures("interruptible")
def test_an_interruption_waits_until_the_answer_is_kept(labels, monkeypatch):
    answers = Answers(str(labels))

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return atomic_writer(*arguments)

    monkeypatch.setattr(writing, "atomic_writer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        answers.add(("a", "b"), "1")
    assert read_table(labels).rows == [["a", "b", "1"]]


def full(*_):
    raise OSError(errno.ENOSPC, "no space left")


def test_an_answer_that_cannot_be_kept_is_shown(table, labels, monkeypatch):
    assert run("review", table, "--labels", labels, "-n", 1, stdin="y\n").code == 0
    before = labels.read_bytes()
    monkeypatch.setattr(writing, "atomic_writer", full)
    ran = run("review", table, "--labels", labels, "-n", 2, stdin="n\ny\n")
    assert ran.code == 2 and "no space left" in ran.err and "Traceback" not in ran.err
    assert "this answer was not kept: [" in ran.err and ' house", "0"]' in ran.err
    assert labels.read_bytes() == before


def test_in_a_terminal_a_failed_save_can_be_tried_again(table, labels, monkeypatch):
    tries = iter([full, full, atomic_writer])
    monkeypatch.setattr(writing, "atomic_writer", lambda *a: next(tries)(*a))
    monkeypatch.setattr(review, "_is_terminal", lambda: True)
    ran = run("review", table, "--labels", labels, "-n", 1, stdin="y\n\n\n")
    assert ran.code == 0 and ran.err.count("press Enter to try again") == 2
    assert [row[2] for row in read_table(labels).rows] == ["1"]
    monkeypatch.setattr(writing, "atomic_writer", full)
    ran = run("review", table, "--labels", labels, "-n", 1, stdin="y\nq\n")
    assert ran.code == 2 and "this answer was not kept" in ran.err


def test_a_session_that_holds_the_lock_is_named(labels, monkeypatch):
    held, other = Answers(str(labels)), Answers(str(labels))
    monkeypatch.setattr(other._lock, "timeout", 0.05)
    with held._lock, pytest.raises(Exception, match="locked by another session"):
        other.add(("a", "b"), "1")
    other.add(("a", "b"), "1")
    assert not list(labels.parent.glob(".*"))


def test_a_closed_input_and_bytes_of_no_text_are_no_traceback(table, labels):
    arguments = ["review", table, "--labels", labels, "-n", 1]
    if os.name != "nt":
        code, _, err = finished(process(*arguments, closed=(0,)))
        assert code == 2 and "standard input is closed" in err and "Traceback" not in err
    assert run(*arguments, stdin=b"\xff\xfe\nn\n").code == 0
    assert [row[2] for row in read_table(labels).rows] == ["0"]


def test_a_file_that_gets_reasons_keeps_its_other_cells(labels, inside_command):
    labels.write_text('text1;text2;label;who\nb;c;1;me\nd;e;;"x;y"\n', encoding="utf-8")
    Answers(str(labels)).add(("f", "g"), "0", "number; size")
    lines = ["text1;text2;label;who;reason", "b;c;1;me;", 'd;e;;"x;y";', 'f;g;0;;"number; size"']
    assert sorted(labels.read_text(encoding="utf-8").replace('"', "").splitlines()) == sorted(
        line.replace('"', "") for line in lines
    )
    Answers(str(labels)).add(("h", "i"), "1")
    assert read_table(labels).rows[-1] == ["h", "i", "1", "", ""]

import os
import signal
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from estimators import pairs
from estimators.cli import app as _app
from estimators.cli import process
from estimators.cli import reading as _reading
from estimators.cli.commands import score
from film.datasets import make_question_pairs
from tests.estimators.cli.commands import (
    finished,
    refused,
    run,
    start,
    wait_for,
    write_csv,
)


def test_results_and_notes_are_kept_apart(shelf):
    table = "text1,text2\nкак дела,дела как\n"
    ran = run("score", "-", "-m", shelf / "model.skops", stdin=table)
    assert ran.code == 0
    assert ran.out.startswith("text1,text2,score,duplicate,familiarity\nкак дела,дела как,0.")
    language, familiarity = ran.err.splitlines()
    assert language.startswith("film: standard input: most letters are not")
    assert familiarity.startswith("film: 1 of 1 pairs are unlike the training texts")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    "sent", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)]
)
def test_a_signal_that_ends_the_process_leaves_nothing_half_written(sent, shelf, tmp_path):
    data: Any = make_question_pairs(4000, random_state=0)
    rows = [[*pair, y] for pair, y in zip(data.pairs.tolist(), data.y.tolist(), strict=True)]
    path = write_csv(tmp_path / "train.csv", ["text1", "text2", "label"], rows)
    cache, model = tmp_path / "cache", tmp_path / "m.skops"
    model.write_bytes(b"old")
    running = start("train", path, "-m", model, "--cache", cache)
    wait_for(running, b"training on 4000 pairs")
    running.send_signal(sent)
    code, out, err = finished(running)
    assert (code, out) == (128 + sent, "")
    assert f"film: interrupted; no model was written; finished folds are in {cache}" in err
    assert "Traceback" not in err
    assert model.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "m.skops", "train.csv"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_file_that_is_half_written_goes_with_the_process(tmp_path):
    code = (
        "import signal, sys\n"
        "from estimators.cli.process import heed_signals\n"
        "from film.datasets import atomic_writer\n"
        "heed_signals()\n"
        "with atomic_writer(sys.argv[1]) as handle:\n"
        "    handle.write('half')\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "out.csv"], capture_output=True)
    assert b"Ended: 15" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal_that_the_parent_ignores_is_ignored(monkeypatch):
    """As below `nohup`."""
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    monkeypatch.setattr(signal, "signal", None)
    process.heed_signals()


@pytest.mark.skipif(os.name == "nt", reason="closes streams as a shell does")
def test_with_no_stream_open_the_result_is_in_its_file(shelf, tmp_path):
    """As in a daemon."""
    out = tmp_path / "out"
    call = ["info", shelf / "model.skops", "--out", out]
    assert finished(start(*call, closed=(0, 1, 2))) == (0, "", "")
    assert out.stat().st_size > 0
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.skipif(os.name == "nt", reason="closes streams as a shell does")
@pytest.mark.parametrize(
    ("closed", "arguments", "message"),
    [
        ((1,), ["info", "model.skops"], "standard output is closed; give --out FILE"),
        ((0,), ["score", "-", "-m", "model.skops"], "standard input is closed; give the name of"),
    ],
)
def test_a_closed_stream_that_is_needed_is_named(closed, arguments, message, shelf, tmp_path):
    files = {path.name: path for path in shelf.iterdir()} | {"{out}": tmp_path / "labels.csv"}
    code, out, err = finished(start(*[files.get(part, part) for part in arguments], closed=closed))
    assert (code, out) == (2, "")
    assert message in err and "Traceback" not in err
    # It was found before any work.
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no /dev/fd")
def test_a_pipe_or_a_device_is_no_file_to_write_to(shelf):
    assert "/dev/null is a device" in refused("info", shelf / "model.skops", "--out", "/dev/null")
    ends = os.pipe()
    said = refused("info", shelf / "model.skops", "--out", f"/dev/fd/{ends[1]}")
    for end in ends:
        os.close(end)
    assert f"/dev/fd/{ends[1]} is a device or pipe" in said and "space" not in said


@pytest.mark.parametrize(
    "line",
    [
        "duplicates {shelf}/texts.csv",
        "duplicates {shelf}/texts.csv --against {shelf}/texts.csv",
        "explain {shelf}/dev.csv --model {shelf}/model.skops",
        "evaluate {shelf}/dev.csv --model {shelf}/model.skops",
    ],
)
def test_pages_name_files_without_their_folders(line, shelf, tmp_path):
    page = tmp_path / "page.html"
    assert run(*line.format(shelf=shelf).split(), "--html", page).code == 0
    text = page.read_text("utf-8")
    assert str(shelf) not in text
    assert line.startswith("explain") or "texts.csv" in text or "dev.csv" in text


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_that_has_seen_enough_is_no_error(shelf):
    with start("score", shelf / "dev.csv", "-m", shelf / "model.skops") as running:
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_behind_standard_output(shelf):
    with open("/dev/full", "w") as full:
        running = start("info", shelf / "model.skops", stdout=full)
    code, _, err = finished(running)
    assert code == 2
    assert err == (
        "film: error: standard output could not be written: No space left on device; free some "
        "space, or give --out FILE on another disk\n"
    )


@pytest.mark.parametrize("command", _app.COMMANDS)
def test_help_has_examples(command):
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"\n    film {command} " in ran.out.split("Examples:")[1]
    assert "--quiet" in ran.out and run(command, "-h").out == ran.out
    assert f"\n  {command} " in run("--help").out


def test_only_our_own_checks_are_the_users_fault(monkeypatch, shelf):
    arguments = ["score", shelf / "dev.csv", "-m", shelf / "model.skops"]
    judge = "duplicate_probabilities"

    def raising(error):
        def read(*args, **kwargs):
            raise error

        return read

    # What is raised here comes from the module of the tests, as it would from a library.
    monkeypatch.setattr(pairs, judge, raising(ValueError("of a library")))
    with pytest.raises(ValueError, match="of a library"):
        run(*arguments)
    # No frame of the library tells that this one is not our own.
    monkeypatch.setattr(pairs, judge, lambda *args, **kwargs: np.ones(7))
    with pytest.raises(ValueError, match="zip"):
        run(*arguments)
    monkeypatch.setattr(pairs, judge, raising(TypeError("a bug")))
    with pytest.raises(TypeError, match="a bug"):
        run(*arguments)
    monkeypatch.setattr(pairs, judge, raising(MemoryError()))
    assert "not enough memory" in refused(*arguments)
    # What a check of ours says is kept, and the notes of any error.
    failed = "member 'rcmd' failed in fold 2 of 2"
    for error, text in (
        (MemoryError("the GPU is full"), f"error: the GPU is full {failed}"),
        (ValueError("no"), f"error: no {failed}"),
    ):
        error.add_note(failed)
        made: dict = {"__name__": "estimators.made", "error": error}
        exec("def fail(*_, **__):\n    raise error", made)
        monkeypatch.setattr(pairs, judge, made["fail"])
        assert text in refused(*arguments)
    monkeypatch.setattr(pairs, judge, raising(OSError(5, "no way")))
    assert "no way" in refused(*arguments)
    monkeypatch.setattr(pairs, judge, raising(KeyboardInterrupt()))
    ran = run(*arguments)
    assert ran.code == 130 and "film: interrupted; nothing was written" in ran.err


def test_warnings_for_users_are_notes(monkeypatch, shelf):
    def read(*args, **kwargs):
        warnings.warn("look here", UserWarning, stacklevel=1)
        warnings.warn("for developers", RuntimeWarning, stacklevel=1)
        return _reading.read_table(*args, **kwargs)

    monkeypatch.setattr(score.reading, "open_table", lambda path, encoding: read(path))
    arguments = ["score", shelf / "dev.csv", "-m", shelf / "model.skops"]
    before = warnings.showwarning
    ran = run(*arguments)
    assert ran.err == "film: look here\n"
    assert warnings.showwarning is before
    assert run(*arguments, "--quiet").err == ""


def test_the_text_of_a_note_does_not_steer_the_terminal(shelf, tmp_path):
    path = write_csv(tmp_path / "t.csv", ["\x1b[2Jleft", "right"], [["a", "b"]])
    assert "\x1b" not in refused("score", path, "-m", shelf / "model.skops")


def test_commands_are_quiet_when_asked(shelf, tmp_path):
    ran = run("duplicates", shelf / "texts.csv", "-q", "--html", tmp_path / "p.html")
    assert (ran.code, ran.out, ran.err) == (0, "", "")

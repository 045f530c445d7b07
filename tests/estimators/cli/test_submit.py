import numpy as np
import pytest

from estimators import load_model
from estimators.cli.tables import read_table
from estimators.pairs import submission
from film.pairs.priors import shift_prior
from tests.estimators.cli.commands import refused, run, write_csv


def test_the_submission(shelf, tmp_path):
    out = tmp_path / "submission.csv"
    arguments = ["-m", shelf / "model.skops", "--prior", 0.1746, "--out", out]
    ran = run("submit", shelf / "dev.csv", *arguments)
    assert (ran.code, ran.out) == (0, "")
    table = read_table(shelf / "dev.csv")
    pairs = list(zip(table.column("question1"), table.column("question2"), strict=True))
    model = load_model(shelf / "model.skops")
    expected = shift_prior(model.predict_proba(pairs)[:, 1], model.train_prior_, 0.1746)
    written = read_table(out)
    assert written.columns == ["test_id", "is_duplicate"]
    assert written.column("test_id") == table.column("id")
    np.testing.assert_allclose([float(p) for p in written.column("is_duplicate")], expected)


def test_without_a_prior_that_of_the_model_stays(shelf, tmp_path):
    rows = [["7", "a b", "b a"]]
    path = write_csv(tmp_path / "t.csv", ["test_id", "question1", "question2"], rows)
    run("submit", path, "-m", shelf / "model.skops", "-o", tmp_path / "s.csv")
    expected = load_model(shelf / "model.skops").predict_proba([("a b", "b a")])[0, 1]
    assert float(read_table(tmp_path / "s.csv").rows[0][1]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("columns", "rows", "options", "expected"),
    [
        (["question1", "question2"], [["a", "b"]], [], ["'test_id' or 'id'", "--id"]),
        (["id", "question1", "question2"], [["1", "a", "b"], ["1", "c", "d"]], [], ["lines 2, 3"]),
        (["id", "question1", "question2"], [["1", "a", "b"], [" ", "c", "d"]], [], ["line 3"]),
        (["id", "test_id", "text1", "text2"], [["1", "1", "a", "b"]], [], ["may all be"]),
        (["id", "text1", "text2"], [["1", "a", "b"]], ["--id", "name"], ["no column 'name'"]),
    ],
)
def test_ids_must_tell_rows_apart(shelf, tmp_path, columns, rows, options, expected):
    path = write_csv(tmp_path / "t.csv", columns, rows)
    arguments = ["-m", shelf / "model.skops", "-o", tmp_path / "s.csv", *options]
    message = refused("submit", path, *arguments)
    for part in expected:
        assert part in message
    assert not (tmp_path / "s.csv").exists()


def test_a_killed_submission_goes_on(shelf, tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "BLOCK", 7)
    arguments = ["-m", shelf / "model.skops", "-o", tmp_path / "s.csv"]
    run("submit", shelf / "dev.csv", *arguments)
    expected = (tmp_path / "s.csv").read_text()
    (tmp_path / "s.csv").unlink()
    probabilities, calls = submission._probabilities, []

    def stopped(model, pairs):
        calls.append(len(pairs))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return probabilities(model, pairs)

    monkeypatch.setattr(submission, "_probabilities", stopped)
    ran = run("submit", shelf / "dev.csv", *arguments)
    assert ran.code == 130 and "run the same command to continue" in ran.err
    assert not (tmp_path / "s.csv").exists() and (tmp_path / "s.csv.parts").is_dir()
    assert run("submit", shelf / "dev.csv", *arguments).code == 0
    n_blocks = -(-len(read_table(shelf / "dev.csv")) // 7)
    assert len(calls) == n_blocks + 1
    assert (tmp_path / "s.csv").read_text() == expected
    assert not (tmp_path / "s.csv.parts").exists()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("1,a,b\n2,c\n", "line 3 has 2 cells, and the header 3"),
        ('1,a,b\n2,c,"d\n', "from line 3 on has broken quoting"),
        ("", "no rows"),
    ],
)
def test_a_file_with_a_wrong_row_is_refused(shelf, tmp_path, rows, expected):
    path = tmp_path / "t.csv"
    path.write_text("test_id,question1,question2\n" + rows)
    arguments = ["-m", shelf / "model.skops", "-o", tmp_path / "s.csv"]
    assert expected in refused("submit", path, *arguments)
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from estimators.pairs import submission
from estimators.pairs.submission import (
    duplicate_probabilities,
    keep_pairs,
    write_kept_predictions,
    write_predictions,
)
from film.pairs.priors import shift_prior


class Lengths:
    """Says of a pair what the lengths of its texts say, and remembers how many it was asked."""

    prior_ = 0.4

    def __init__(self):
        self.asked = []

    def predict_proba(self, pairs):
        self.asked.append(len(pairs))
        p = np.array([len(a) / (len(a) + len(b)) for a, b in pairs])
        return np.column_stack([1 - p, p])


PAIRS = [("a" * n, "b" * m) for n in range(1, 5) for m in range(1, 3)]


def test_blocks_change_nothing_and_are_told(monkeypatch):
    monkeypatch.setattr(submission, "BLOCK", 3)
    model, told = Lengths(), []
    whole = Lengths().predict_proba(PAIRS)[:, 1]
    parts = duplicate_probabilities(model, PAIRS, advance=told.append)
    np.testing.assert_array_equal(parts, whole)
    assert model.asked == told == [3, 3, 2]


def read(path):
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_the_file_holds_shifted_probabilities(tmp_path):
    path = tmp_path / "submission.csv"
    said = write_predictions(Lengths(), PAIRS, list("stuvwxyz"), path, prior=0.1746)
    expected = shift_prior(Lengths().predict_proba(PAIRS)[:, 1], 0.4, 0.1746)
    rows = read(path)
    assert list(rows[0]) == ["test_id", "is_duplicate"]
    assert [row["test_id"] for row in rows] == list("stuvwxyz")
    np.testing.assert_allclose([float(row["is_duplicate"]) for row in rows], expected, rtol=1e-12)
    np.testing.assert_array_equal(said, [float(row["is_duplicate"]) for row in rows])


def test_without_a_prior_they_stay(tmp_path):
    said = write_predictions(Lengths(), PAIRS, list("stuvwxyz"), tmp_path / "s.csv")
    np.testing.assert_array_equal(said, Lengths().predict_proba(PAIRS)[:, 1])


def test_another_prior_from_is_used(tmp_path):
    said = write_predictions(
        Lengths(), PAIRS, list("stuvwxyz"), tmp_path / "s.csv", prior=0.2, prior_from=0.2
    )
    np.testing.assert_allclose(said, Lengths().predict_proba(PAIRS)[:, 1], rtol=1e-12)


@pytest.mark.parametrize(
    ("ids", "prior", "message"),
    [(list("stuvwxy"), 0.2, "7 entries for 8 pairs"), (list("stuvwxyz"), 1.0, "prior_to")],
)
def test_bad_arguments_are_found_before_the_work(tmp_path, ids, prior, message):
    model = Lengths()
    with pytest.raises(ValueError, match=message):
        write_predictions(model, PAIRS, ids, tmp_path / "s.csv", prior=prior)
    assert model.asked == []
    assert not (tmp_path / "s.csv").exists()


def test_kept_predictions_are_those_in_memory_and_are_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "BLOCK", 3)
    pairs = keep_pairs(
        ((name, *pair) for name, pair in zip("stuvwxyz", PAIRS, strict=True)), tmp_path / "p"
    )
    settings = {"model_digest": "lengths", "prior": 0.1746}
    told = []
    mean = write_kept_predictions(
        Lengths(), pairs, tmp_path / "s.csv", tmp_path / "j", advance=told.append, **settings
    )
    said = write_predictions(
        Lengths(), PAIRS, list("stuvwxyz"), tmp_path / "w.csv", prior=settings["prior"]
    )
    assert told == [3, 3, 2] and mean == pytest.approx(said.mean(), rel=1e-12)
    assert (tmp_path / "s.csv").read_text() == (tmp_path / "w.csv").read_text()
    with pytest.raises(FileExistsError, match="another run, with other model"):
        write_kept_predictions(
            Lengths(), pairs, tmp_path / "s.csv", tmp_path / "j", model_digest="another"
        )
    with pytest.raises(ValueError, match="prior"):
        write_kept_predictions(
            Lengths(), pairs, tmp_path / "s.csv", tmp_path / "j", model_digest="lengths", prior=1.5
        )


def test_probabilities_that_are_none_are_refused_in_blocks(tmp_path):
    pairs = keep_pairs([("a", "b", "c")], tmp_path / "p")
    model = SimpleNamespace(predict_proba=lambda pairs: np.full((len(pairs), 2), np.nan))
    with pytest.raises(ValueError, match="finite and in"):
        write_kept_predictions(model, pairs, tmp_path / "s.csv", tmp_path / "j", model_digest="nan")
    assert not (tmp_path / "s.csv").exists()

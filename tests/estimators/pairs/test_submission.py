import csv
from types import SimpleNamespace

import numpy as np
import pytest

from estimators.pairs import submission
from estimators.pairs.submission import duplicate_probabilities, write_submission
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


@pytest.mark.parametrize(
    ("prior", "start", "expected"),
    [
        ({"prior": 0.1746}, 0.4, 0.1746),
        ({}, 0.4, 0.4),
        ({"prior": 0.2, "prior_from": 0.2}, 0.2, 0.2),
    ],
)
def test_the_file_holds_shifted_probabilities(tmp_path, monkeypatch, prior, start, expected):
    monkeypatch.setattr(submission, "BLOCK", 3)
    names = ["a,b", 'c"d', *"uvwxyz"]
    named = ((name, *pair) for name, pair in zip(names, PAIRS, strict=True))
    path, told = tmp_path / "s.csv", []
    mean = write_submission(Lengths(), named, path, advance=told.append, **prior)
    rows = read(path)
    assert list(rows[0]) == ["test_id", "is_duplicate"]
    assert [row["test_id"] for row in rows] == names
    wanted = shift_prior(Lengths().predict_proba(PAIRS)[:, 1], start, expected)
    found = [float(row["is_duplicate"]) for row in rows]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert told == [3, 3, 2] and mean == pytest.approx(wanted.mean(), rel=1e-12)
    with pytest.raises(ValueError, match="prior"):
        write_submission(Lengths(), [], path, prior=1.5)


def test_scores_are_kept_by_pairs_and_model(tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "BLOCK", 3)
    model, rows = Lengths(), [(n, *pair) for n, pair in enumerate(PAIRS)]

    def asked(rows, digest):
        model.asked.clear()
        write_submission(
            model, rows, tmp_path / "s.csv", memory=str(tmp_path / "kept"), model_digest=digest
        )
        return model.asked

    assert asked(rows[:6], "one") == [3, 3]
    assert asked(rows, "one") == [2]
    assert asked([*rows[:3], (9, "other", "text"), *rows[4:]], "one") == [3]
    assert asked(rows, "another") == [3, 3, 2]


def test_probabilities_that_are_none_are_refused_in_blocks(tmp_path):
    model = SimpleNamespace(predict_proba=lambda pairs: np.full((len(pairs), 2), np.nan))
    with pytest.raises(ValueError, match="finite and in"):
        write_submission(model, [("a", "b", "c")], tmp_path / "s.csv")
    assert not (tmp_path / "s.csv").exists()

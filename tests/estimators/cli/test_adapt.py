"""``--adapt``: every command judges a table by the verdicts of ``film score --adapt``."""

import json
from copy import copy

import numpy as np
import pytest
from scipy.special import logit
from sklearn.metrics import log_loss

from estimators import UnfamiliarTextsWarning, load_model
from estimators.cli.tables import read_table, stream
from estimators.corpus import DuplicateFinder
from estimators.pairs import submission
from estimators.pairs.familiarity import domain
from tests.estimators.cli.commands import refused, run, write_csv

# The last one has no label.
ROWS = [
    ("Der Hund schläft im Garten.", "Im Garten schläft der Hund.", 1),
    ("Der Hund schläft im Garten.", "Die Katze schläft im Haus.", 0),
    ("Wie alt ist die Katze?", "Wie alt ist denn die Katze?", 1),
    ("Wie alt ist die Katze?", "Wo steht das Haus?", 0),
    ("Wo steht das Haus?", "Wo ist der Garten?", ""),
]
SHARE = "untrained similarity gets 100% of the weight in these scores"


@pytest.fixture(autouse=True)
def _few_texts_are_enough(monkeypatch):
    monkeypatch.setattr(domain, "FEWEST_TEXTS", 1)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A folder with pairs.csv and texts.csv in a language that the model was not trained on."""
    folder = tmp_path_factory.mktemp("foreign")
    columns = ["id", "text1", "text2", "is_duplicate"]
    write_csv(folder / "pairs.csv", columns, [[f"p{i}", *row] for i, row in enumerate(ROWS)])
    texts = sorted({text for row in ROWS for text in row[:2]})
    write_csv(folder / "texts.csv", ["id", "text"], [[f"t{i}", t] for i, t in enumerate(texts)])
    return folder


@pytest.fixture
def adapted(shelf):
    """The command on a table, with the model of the shelf adapted."""

    def judge(command, table, *options):
        ran = run(command, table, "-m", shelf / "model.skops", "--adapt", *options)
        assert ran.code == 0, ran.err
        assert SHARE in ran.err and "have a familiarity of at most" not in ran.err
        return ran

    return judge


@pytest.fixture
def scores(adapted, foreign):
    return [float(row["probability"]) for row in adapted("score", foreign / "pairs.csv").rows]


def test_explanations_sum_to_the_adapted_probability(adapted, foreign, scores):
    records = adapted("explain", foreign / "pairs.csv", "-f", "jsonl").records
    np.testing.assert_allclose([record["probability"] for record in records], scores, rtol=1e-9)
    for record in records:
        parts = [*record["members"], *record["features"]]
        assert "similarity within the collection" in [part["name"] for part in parts]
        moves = [part["effect"] for part in parts]
        if record["sameness"]:
            moves.append(record["sameness"]["effect"])
        start, end = logit(record["baseline"]), logit(record["probability"])
        assert start + sum(moves) == pytest.approx(end, abs=1e-6)


def test_figures_are_of_the_adapted_probabilities(adapted, foreign, scores):
    ran = adapted("evaluate", foreign / "pairs.csv", "-f", "json")
    y = [row[2] for row in ROWS[:-1]]
    assert json.loads(ran.out)["log loss"] == pytest.approx(log_loss(y, scores[:-1]), rel=1e-9)


@pytest.mark.parametrize("most", [5000, 4])
@pytest.mark.parametrize("large", [stream.LARGE, 0])
def test_a_submission_in_blocks_is_adapted_to_the_same_texts(
    adapted, foreign, tmp_path, monkeypatch, large, most
):
    monkeypatch.setattr(domain, "MOST_TEXTS", most)
    monkeypatch.setattr(stream, "LARGE", large)
    monkeypatch.setattr(submission, "BLOCK", 2)
    wanted = adapted("score", foreign / "pairs.csv").rows
    adapted("submit", foreign / "pairs.csv", "-o", tmp_path / "s.csv")
    found = read_table(tmp_path / "s.csv").column("is_duplicate")
    np.testing.assert_allclose(
        np.array(found, dtype=float), [float(row["probability"]) for row in wanted], rtol=1e-9
    )


def test_a_submission_goes_on_with_adapted_blocks_alone(
    shelf, adapted, foreign, scores, tmp_path, monkeypatch
):
    monkeypatch.setattr(submission, "BLOCK", 2)
    judged, out = submission._judged, ["-o", tmp_path / "s.csv"]

    def stopped(read, rows, start):
        if start == 2:
            raise KeyboardInterrupt
        return judged(read, rows, start)

    with monkeypatch.context() as patch:
        patch.setattr(submission, "_judged", stopped)
        assert run("submit", foreign / "pairs.csv", "-m", shelf / "model.skops", *out).code == 130
    adapted("submit", foreign / "pairs.csv", *out)
    found = np.array(read_table(tmp_path / "s.csv").column("is_duplicate"), dtype=float)
    np.testing.assert_allclose(found, scores, rtol=1e-9)


def test_duplicates_are_judged_by_a_model_adapted_to_the_collection(
    shelf, adapted, foreign, tmp_path
):
    texts = foreign / "texts.csv"
    collection = read_table(texts).column("text")
    model = load_model(shelf / "model.skops")
    finder = DuplicateFinder(copy(model).adapt(collection)).fit(collection)
    known = tmp_path / "known.film"
    ran = adapted("duplicates", texts, "--budget", 9, "--save", known)
    wanted = finder.find(budget=9).scores
    np.testing.assert_allclose([float(row["score"]) for row in ran.rows], wanted)
    with pytest.warns(UnfamiliarTextsWarning):
        plain = DuplicateFinder(model).fit(collection)
    assert not np.allclose(wanted, plain.find(budget=9).scores)

    new = write_csv(tmp_path / "new.csv", ["id", "text"], [["n", "Wo steht denn das Haus?"]])
    matched = adapted("duplicates", new, "--against", texts, "--budget", 3)
    assert (
        matched.rows
        and matched.out == run("duplicates", new, "--against", known, "--budget", 3).out
    )
    told = refused("duplicates", new, "--against", known, "--adapt")
    assert "--adapt is fixed when a collection is saved; give it with --save instead" in told
    told = refused("duplicates", new, "--against", known, "--precision", 0.5)
    assert "--precision was measured without --adapt" in told


def test_duplicates_say_when_texts_are_unfamiliar(shelf, foreign):
    model = ["-m", shelf / "model.skops"]
    ran = run("duplicates", foreign / "texts.csv", *model)
    assert "7 of 7 texts looked at have a familiarity of at most" in ran.err
    assert "--adapt at the command line, lets untrained similarity count the more" in ran.err
    assert "familiarity" not in run("duplicates", shelf / "texts.csv", *model).err


def test_what_does_not_fit_is_refused_before_any_work(shelf, tmp_path):
    for command in ("score", "explain"):
        told = refused(command, "none.csv", "-m", tmp_path, "--adapt")
        assert "--adapt is for a model file" in told
    model = ["-m", shelf / "model.skops", "--adapt"]
    assert "give --model too" in refused("duplicates", "none.csv", "--adapt")
    told = refused("duplicates", "none.csv", *model, "--precision", 0.9)
    assert "--precision was measured without --adapt" in told
    assert "the texts of a table; give PAIRS" in refused("explain", "-p", "a", "b", *model)

"""What people try first, with the mistakes that they make: an answer, or what to do instead."""

import re
from contextlib import chdir

import numpy as np
import pandas as pd
import pytest

from estimators import FILM, DuplicateFinder, MiniBatchFILM
from film.datasets import make_question_pairs
from tests.estimators.cli.commands import run


def film(folder, *args):
    """Run the command; return its status and what it says on standard error."""
    with chdir(folder):
        ran = run(*args)
    return ran.code, ran.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Made tables, and a small model of them."""
    path = tmp_path_factory.mktemp("tables")
    data = make_question_pairs(240, random_state=0)
    table = pd.DataFrame(data.pairs, columns=["text1", "text2"]).assign(label=data.y)
    table.to_csv(path / "pairs.csv", index=False)
    table.assign(label=1 - data.y).to_csv(path / "reversed.csv", index=False)
    few = pd.concat([table[table.label == label][:5] for label in (0, 1)])
    few.to_csv(path / "few.csv", index=False)
    status, said = film(
        path, "train", "pairs.csv", "--model", "m.film", "--rank", "9", "--folds", "2"
    )
    assert status == 0 and "fewer words" not in said, said
    return path


def test_labels_the_other_way_round_are_told(folder):
    for command in ("evaluate", "train"):
        target = "m.film" if command == "evaluate" else "other.film"
        more = ["--rank", "9", "--folds", "2"] if command == "train" else []
        status, said = film(folder, command, "reversed.csv", "--model", target, *more)
        assert status == 0
        assert "pairs labelled 1 share fewer words than those labelled 0 (ROC AUC of" in said
        assert "check that column 'label' is not inverted" in said
    assert "fewer words" not in film(folder, "evaluate", "pairs.csv", "--model", "m.film")[1]


def test_a_warning_of_every_fold_is_told_once(folder):
    status, said = film(
        folder, "train", "few.csv", "--model", "few.film", "--rank", "50", "--folds", "2"
    )
    assert status == 0 and len(re.findall("were reduced to", said)) == 1, said


def test_a_model_given_as_a_table_is_named(folder):
    status, said = film(folder, "score", "m.film", "--model", "m.film")
    assert status == 2 and "m.film is a model, where a table is needed; give it by --model" in said


@pytest.mark.parametrize(
    ("value", "remedy"),
    [(None, "drop missing"), (float("nan"), "drop missing"), (pd.NA, "drop missing"),
     (pd.NaT, "drop missing"), (7, r"convert it with str\(\)"), (b"a", "decode it"),
     (["a", "b"], "one text per entry"), (np.zeros(2), "convert it")],
)  # fmt: skip
def test_what_is_no_text_comes_with_its_own_remedy(value, remedy):
    with pytest.raises(TypeError, match=rf"texts\[1\] = .* not a string; .*{remedy}"):
        DuplicateFinder().fit(["a", value])


def test_tables_of_nothing_have_their_columns():
    finder = DuplicateFinder().fit(["one text"])
    found = finder.find(budget=3)
    assert found.to_frame().columns.tolist() == [
        "id1", "id2", found.score_name, "kind", "text1", "text2"]  # fmt: skip
    groups = finder.groups(threshold=0.9)
    assert groups.to_frame().columns.tolist() == [
        "group", "size", groups.score_name, "weakest", "row", "id", "text"]  # fmt: skip
    near = finder.query("", k=1)
    assert near.to_frame().columns.tolist() == ["row", "id", near.score_name, "kind", "text"]
    full = DuplicateFinder().fit(["one text", "one text"])
    for some, none in (
        (full.find(budget=1), found),
        (full.groups(threshold=0.9), groups),
        (full.query("one text", k=1), near),
    ):
        assert list(some.rows()[0]) == some.to_frame().columns.tolist()
        assert some.to_frame().columns.tolist() == none.to_frame().columns.tolist()


@pytest.mark.parametrize("metric", [FILM, MiniBatchFILM])
@pytest.mark.parametrize(
    "X", [["Is tea hot?", "Why?"], np.array(["Is tea hot?", "Why?"], dtype=object),
          np.array(["Is tea hot?", "Why?"]), pd.Series(["Is tea hot?", "Why?"])],
)  # fmt: skip
def test_texts_given_to_a_metric_come_with_the_remedy(metric, X):
    message = rf"X holds texts, such as 'Is tea hot\?', but {metric.__name__} needs numbers; put"
    with pytest.raises(ValueError, match=message):
        metric().fit(X, [0, 1])

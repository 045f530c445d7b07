import itertools
import json
import re

import numpy as np
import pytest

from estimators import load_model
from estimators.cli.duplicates.page import LINKS, page_data
from estimators.cli.duplicates.tables import expected_lines
from estimators.cli.tables import read_table
from estimators.corpus.duplicate_finder import DuplicateFinder
from tests.estimators.cli.commands import refused, run, write_csv


@pytest.fixture(scope="module")
def table(shelf):
    return read_table(shelf / "texts.csv")


@pytest.fixture(scope="module")
def finder(table):
    return DuplicateFinder().fit(table.column("text"), table.column("id"))


def test_pairs_without_a_model(shelf, finder):
    ran = run("duplicates", shelf / "texts.csv", "--threshold", 0.6)
    found = finder.find(threshold=0.6)
    assert ran.code == 0
    assert list(ran.rows[0]) == ["id1", "id2", "score", "kind", "text1", "text2"]
    assert [[row["id1"], row["id2"]] for row in ran.rows] == found.ids.tolist()
    assert [[row["text1"], row["text2"]] for row in ran.rows] == found.texts.tolist()
    assert [row["kind"] for row in ran.rows] == found.kind.tolist()
    np.testing.assert_allclose([float(row["score"]) for row in ran.rows], found.scores)
    assert ran.rows[0]["kind"] == "copy" and f"{len(found)} pairs with a score" in ran.err


def test_the_default_threshold_depends_on_the_score(shelf, finder):
    ran = run("duplicates", shelf / "texts.csv", "--threshold", "auto")
    found = finder.find()
    assert ran.rows == run("duplicates", shelf / "texts.csv").rows and len(ran.rows) == len(found)
    assert f"with a score of {found.threshold:g} or more" in ran.err
    model = load_model(shelf / "model.skops")
    judged = DuplicateFinder(model, prior=0.5).fit(finder.texts_)
    arguments = ["-m", shelf / "model.skops", "--prior", 0.5]
    ran = run("duplicates", shelf / "texts.csv", *arguments)
    expected = judged.find(threshold=0.5)
    assert 1 < len(ran.rows) == len(expected)
    np.testing.assert_allclose([float(row["score"]) for row in ran.rows], expected.scores)
    assert "with a probability of 0.5 or more, at a share of 50.00% duplicates" in ran.err
    assert "estimates from the scores" not in ran.err


@pytest.mark.parametrize("prior", [None, "estimate"])
def test_the_prior_is_estimated_when_asked_for(shelf, finder, prior):
    judged = DuplicateFinder(load_model(shelf / "model.skops"), prior=prior).fit(finder.texts_)
    expected = judged.find(budget=20)
    arguments = ["-m", shelf / "model.skops", "--budget", 20]
    given = ["--prior", prior] if prior else []
    ran = run("duplicates", shelf / "texts.csv", *arguments, *given)
    np.testing.assert_allclose([float(row["score"]) for row in ran.rows], expected.scores)
    share = f"at a share of {expected.prior:.2%}" if prior else ""
    assert share in ran.err and ("at a share" in ran.err) == bool(prior)


@pytest.mark.parametrize("linkage", ["average", "complete"])
def test_groups_carry_the_other_columns(shelf, table, finder, linkage):
    arguments = ["--groups", "--threshold", 0.4, "--linkage", linkage]
    ran = run("duplicates", shelf / "texts.csv", *arguments)
    assert ran.code == 0, ran.err
    groups = finder.groups(0.4, linkage=linkage)
    other = finder.groups(0.4, linkage={"average": "complete", "complete": "average"}[linkage])
    assert groups.labels.tolist() != other.labels.tolist()
    assert list(ran.rows[0]) == ["group", "id", "score", "weakest", "text", "area"]
    by_id = {row[0]: row[1:] for row in table.rows}
    assert all([row["text"], row["area"]] == by_id[row["id"]] for row in ran.rows)
    expected = [[str(number), name] for number, group in enumerate(groups, 1) for name in group.ids]
    assert [[row["group"], row["id"]] for row in ran.rows] == expected
    for row in ran.rows:
        group = groups[int(row["group"]) - 1]
        assert float(row["score"]) == pytest.approx(group.score)
        assert float(row["weakest"]) == pytest.approx(group.weakest_score)


def test_rows_are_numbered_from_one_without_ids(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["title"], [["a b"], ["c"], ["A  b"]])
    assert [list(row.values())[:4] for row in run("duplicates", path).rows] == [
        ["1", "3", "1.0", "copy"]
    ]


@pytest.mark.parametrize(
    "texts",
    [["alone"], ["same"] * 4, ["?"], ["日本語", "日本語 "], ["x " * 50_000, "X " * 50_000, "lamp"]],
    ids=["one row", "identical", "no words", "not Latin", "long"],
)
@pytest.mark.parametrize("options", [[], ["--groups"]])
def test_odd_tables(shelf, tmp_path, texts, options):
    path = write_csv(tmp_path / "odd.csv", ["text"], [[text] for text in texts])
    n = len(texts) - len(set(text.lower().strip() for text in texts))
    page = tmp_path / "page.html"
    for model in ([], ["-m", shelf / "model.skops"]):
        ran = run("duplicates", path, *options, *model, "-o", "-", "--html", page)
        assert ran.code == 0, ran.err
        ran = run("duplicates", path, *options, *model)
        assert ran.code == 0, ran.err
        copies = [row for row in ran.rows if row["score"] == "1.0"]
        assert len(copies) == (n and n + ("--groups" in options))
        assert page.exists()


def content_of(path):
    html = path.read_text(encoding="utf-8")
    (data,) = re.findall(r"<script[^>]*json[^>]*>(.*?)</script>", html, re.DOTALL)
    return json.loads(data)


def groups_of(content, threshold):
    """Groups of ids that the page shows at a threshold."""
    texts = content["texts"]
    parts = [[text["id"], *text["copies"]] for text in texts]
    alive = dict(enumerate(parts))
    for i, (a, b, score) in enumerate(content["merges"]):
        if score >= threshold:
            alive[len(texts) + i] = alive.pop(a) + alive.pop(b)
    return sorted(sorted(group) for group in alive.values() if len(group) > 1)


@pytest.mark.parametrize("with_model", [False, True])
def test_the_page_shows_the_groups_of_the_library(shelf, tmp_path, table, finder, with_model):
    page = tmp_path / "page.html"
    linkage = "average" if with_model else "complete"
    options = ["--threshold", 0.6, "--html", page, "--linkage", linkage]
    judged = finder
    if with_model:
        options += ["-m", shelf / "model.skops", "--prior", 0.5]
        judged = DuplicateFinder(load_model(shelf / "model.skops"), prior=0.5)
        judged.fit(table.column("text"), table.column("id"))
    ran = run("duplicates", shelf / "texts.csv", *options)
    assert (ran.code, ran.out) == (0, ""), ran.err
    content = content_of(page)
    assert (content["threshold"], content["lowest"]) == (0.6, 0.3)
    for threshold in (0.3, 0.6, 0.9):
        groups = judged.groups(threshold, linkage=linkage)
        expected = sorted(sorted(group.ids.tolist()) for group in groups)
        assert groups_of(content, threshold) == expected
    for key, links in content["alignments"].items():
        first, second = (content["texts"][int(i)]["text"] for i in key.split(","))
        tokens = [content["tokens"][i] for i in key.split(",")]
        assert 0 < len(links) <= 12
        for left, right, contribution in links:
            assert contribution > 0
            assert first[slice(*tokens[0][left])] and second[slice(*tokens[1][right])]
    assert len(content["alignments"]) == len(content["pairs"]) > 0


def test_the_page_aligns_the_words_of_long_texts():
    """Their contributions are kept in part, and sparse."""
    words = np.random.default_rng(0).choice([f"word{i}" for i in range(300)], 120)
    finder = DuplicateFinder().fit([" ".join(words), " ".join([*words, "more"]), "lamp post"])
    data = page_data(finder, 0.5, "average")
    links = data["alignments"]["0,1"]
    assert len(links) == LINKS and all(left == right for left, right, _ in links)
    first, both = len(words[0]), len(f"{words[0]} {words[1]}")
    assert data["tokens"][0][:2] == [(0, first), (first + 1, both)]


def test_page_and_table_together(shelf, tmp_path):
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    ran = run("duplicates", shelf / "texts.csv", "-b", 5, "-o", out, "--html", page)
    assert (ran.code, ran.out) == (0, "")
    scores = [float(score) for score in read_table(out).column("score")]
    assert content_of(page)["threshold"] == min(scores)


# The expected precision


SUBJECTS = "parcel invoice password refund printer meeting garden ticket holiday kitchen".split()
VERBS = "delivered cancelled forgotten repaired postponed measured painted ordered".split()
PLACES = "Oslo Madrid Vienna Nairobi Lima Hanoi".split()


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """A table of 480 sentences with 120 misspelt copies, and the two as tables of their own."""
    every = list(itertools.product(SUBJECTS, VERBS, PLACES))
    rows = [f"why was the {a} of customer {i} {b} in {c}" for i, (a, b, c) in enumerate(every)]
    again = [row.replace("customer", "custommer") for row in rows[::4]]
    folder = tmp_path_factory.mktemp("repeated")
    table = write_csv(folder / "table.csv", ["text"], [[row] for row in rows + again])
    known = write_csv(folder / "known.csv", ["text"], [[row] for row in rows])
    return table, known, write_csv(folder / "new.csv", ["text"], [[row] for row in again])


def test_the_expected_precision_is_told_and_shown(repeated, tmp_path):
    page = tmp_path / "page.html"
    ran = run("duplicates", repeated[0], "--html", page, "--out", tmp_path / "pairs.csv")
    finder = DuplicateFinder().fit(read_table(repeated[0]).column("text"))
    found = finder.find()
    assert found.expected is not None
    lines = expected_lines(found.expected, found.threshold)
    assert f"from {found.threshold:.2f} (chosen): {len(found)} pairs, precision" in "".join(lines)
    assert all(line in ran.err for line in lines)
    assert all(line in content_of(page)["notes"] for line in lines)
    right = [int(b) - int(a) for a, b in found.pairs if b - a and b >= 480 and (b - 480) * 4 == a]
    low, high = found.expected.at(found.threshold)["precision_interval"]
    assert low <= len(right) / len(found) <= high + 1e-3
    told = run("duplicates", repeated[0], "--threshold", 0.9).err
    assert "estimates from the scores" not in told


def test_a_precision_is_shown_without_a_model(repeated, chairs, tmp_path):
    table, known, new = repeated
    ran = run("duplicates", table, "--precision", 0.8)
    assert ran.code == 0 and "precision 0.8 is expected with 95 % confidence" in ran.err, ran.err
    found = DuplicateFinder().fit(read_table(table).column("text")).find()
    assert found.expected is not None
    threshold = found.expected.threshold_for(0.8)
    assert threshold is not None
    assert f"from {threshold:g} on, precision 0.8" in ran.err
    assert all(float(row["score"]) >= threshold for row in ran.rows) and len(ran.rows) > 100
    saved = tmp_path / "known.film"
    run("duplicates", known, "--save", saved, "--out", tmp_path / "pairs.csv")
    for other in (known, saved):
        ran = run("duplicates", new, "--against", other, "--one-to-one", "--precision", 0.8)
        assert ran.code == 0 and 100 < len(ran.rows) <= 120, ran.err
    message = refused("duplicates", chairs, "--precision", 0.99)
    assert "no threshold can be shown to have precision 0.99" in message and "--model" in message


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--threshold", 0.5, "--budget", 3], "give one"),
        (["--threshold", "best"], "'best' is not a valid"),
        (["--groups", "--budget", 3], "--threshold with --groups"),
        (["--golden", "g.csv", "--budget", 3], "--threshold with --golden"),
        (["--keep", "first", "--budget", 3], "--threshold with --keep"),
        (["--linkage", "average"], "--groups or --html"),
        (["--prior", "guess"], "'guess' is not a valid"),
        (["--prior", 1], "0<x<1"),
        (["--id", "area"], "id '0' twice, lines 2, 5"),
        (["--linkage", "single"], "'single' is not one of"),
        (["--one-to-one"], "--one-to-one compares two tables; give --against too"),
        (["--merge-differing"], "applies to --keep and --golden; give one too"),
        (["--merge-differing", "--groups"], "--keep and --golden; give one too"),
        (["--add"], "--add needs a collection"),
        (["--against", "OLD", "--add"], "--add needs a collection"),
        (["--against", "OLD", "--groups"], "--groups applies to one table"),
        (["--against", "OLD", "--keep", "first"], "--keep applies to one table"),
        (["--mapping", "m.csv"], "--mapping lists the rows that --keep removes"),
        (["--keep", "text"], "--keep text: its cells must be all numbers or all dates"),
        (["--keep", "nothing"], "no column 'nothing'"),
        (["--within", "town"], "no column 'town'"),
        (["--not-same", "OLD"], "for the labels"),
    ],
)
def test_options_that_do_not_fit(shelf, options, expected):
    options = [shelf / "texts.csv" if option == "OLD" else option for option in options]
    assert expected in refused("duplicates", shelf / "texts.csv", *options)


def test_columns_that_cannot_be_told(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id"], [["a"]])
    message = refused("duplicates", path)
    assert "it has 'id'" in message and "--text" in message
    path = write_csv(tmp_path / "t.csv", ["text", "score"], [["a", "b"]])
    message = refused("duplicates", path, "--groups")
    assert "'score', which is also a column of the table of groups" in message
    assert run("duplicates", path).code == 0


CHAIRS = [
    ("b1", "wooden garden chair"),
    ("b2", "wooden garden chairs"),
    ("b3", "Wooden garden chair"),
    ("b4", "invoice 10243 for the red sofa is unpaid"),
    ("b5", "invoice 10234 for the red sofa is unpaid now"),
    ("b6", "blue office lamps"),
]


@pytest.fixture
def chairs(tmp_path):
    return write_csv(tmp_path / "chairs.csv", ["id", "text"], CHAIRS)


def test_each_row_has_one_partner_at_most(chairs, tmp_path):
    rows = [
        ("a1", "wooden garden chair"),
        ("a2", "a blue office lamp"),
        ("a3", "invoice 10234 for the red sofa is unpaid"),
        ("a4", "invoice 10234 for a red sofa"),
    ]
    few = write_csv(tmp_path / "few.csv", ["id", "text"], rows)
    every = run("duplicates", few, "--against", chairs, "--threshold", 0.1)
    ran = run("duplicates", few, "--against", chairs, "--one-to-one", "--threshold", 0.1)
    assert ran.code == 0, ran.err
    pairs = [(row["id1"], row["id2"]) for row in ran.rows]
    # Either copy of a1 will do; a3 and a4 are both nearest to b5.
    assert dict(pairs)["a1"] in ("b1", "b3") and dict(pairs)["a2"] == "b6"
    assert {dict(pairs)["a3"], dict(pairs)["a4"]} == {"b4", "b5"}
    assert len(every.rows) > len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert "share a row with another pair of the same score: 1" in ran.err
    assert "same score" not in every.err and "with a score of 0.1 or more" in ran.err
    higher = run("duplicates", few, "--against", chairs, "--one-to-one", "--threshold", 0.9)
    assert 0 < len(higher.rows) < len(pairs)
    assert all(float(row["score"]) >= 0.9 for row in higher.rows)


def test_rows_that_differ_in_a_number_stay_unless_merged(chairs):
    keep = ("--keep", "first", "--threshold", 0.1)
    ran = run("duplicates", chairs, *keep)
    assert [row["id"] for row in ran.rows] == ["b1", "b4", "b5", "b6"]
    assert "number, code or the like: 1" in ran.err and "--merge-differing" in ran.err
    merged = run("duplicates", chairs, *keep, "--merge-differing")
    assert [row["id"] for row in merged.rows] == ["b1", "b4", "b6"]
    assert "differ in a number" not in merged.err


def test_similar_rows_stay_if_scores_cannot_say_whether_they_are_duplicates(tmp_path):
    issuers = "Ministry of Health", "Red Cross", "Railway Authority", "Central Bank", "Water Board"
    texts = [f"{issuer} annual report {year}" for year in range(1990, 2024) for issuer in issuers]
    rows = [[number, text] for number, text in enumerate([*texts, texts[0].upper()])]
    reports = write_csv(tmp_path / "reports.csv", ["id", "text"], rows)
    ran = run("duplicates", reports, "--keep", "first")
    assert "similar pairs stay" in ran.err
    assert len(ran.rows) == len(texts)
    threshold = re.search("--threshold ([.0-9]+) treats", ran.err)
    assert threshold is not None
    merged = run("duplicates", reports, "--keep", "first", "--threshold", threshold[1])
    assert len(merged.rows) < len(texts)
    warned = run("duplicates", reports, "--keep", "first", "--merge-differing")
    assert warned.rows == merged.rows
    assert "check some" in warned.err and "similar pairs stay" not in warned.err + merged.err


def test_rows_labelled_duplicates_go_whatever_differs(chairs, tmp_path):
    known = write_csv(tmp_path / "known.csv", ["id1", "id2", "label"], [["b5", "b4", 1]])
    keep = ("--keep", "first", "--threshold", 0.1)
    ran = run("duplicates", chairs, *keep, "--not-same", known)
    assert ran.code == 0, ran.err
    assert [row["id"] for row in ran.rows] == ["b1", "b4", "b6"]
    assert "their rows stay" not in ran.err

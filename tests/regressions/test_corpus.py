"""Duplicates of a whole corpus: what came out wrong without a word, and what was missing."""

import csv
import inspect
import itertools
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.feature_extraction.text import TfidfVectorizer

from estimators import DuplicateFinder, load_model, save_model
from estimators.cli import main
from estimators.cli.duplicates.known import alone_at
from estimators.corpus import EXACT_LIMIT, neighbour_table
from film.corpus import cut, link_scores, must_link_path
from film.text import words_and_symbols
from tests.estimators.cli.commands import run, write_csv

WORDS = "tea milk sugar cup spoon table chair door window lamp book pen river stone tree".split()


def corpus(n=120, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(3, 7))) for _ in range(n)]
    for row in rng.choice(n, n // 6, replace=False):
        texts[row] = texts[rng.integers(n)].upper()
    return texts


def placed(texts):
    """Sum of each word's vector by its place: no two texts are equally near a third."""
    known = np.random.default_rng(5).standard_normal((len(WORDS), 12))
    rows = np.zeros((len(texts), 12))
    for row, text in zip(rows, texts, strict=True):
        for place, word in enumerate(text.lower().split()):
            row += (1 + place / 7) * known[WORDS.index(word)]
    return rows


def same(one, other):
    np.testing.assert_array_equal(one.pairs, other.pairs)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.kind, other.kind)
    np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=1e-6)


def test_46_tables_whose_rows_are_all_copies_of_each_other():
    row = pd.DataFrame({"name": ["Ann Lee"], "city": ["Ulm"]})
    finder = DuplicateFinder().fit(row, beside=row)
    assert finder.match(row).kind.tolist() == ["copy"]
    assert finder.explain([]) == []


# 02: a copy is a copy only when equal


@pytest.mark.parametrize(
    "texts",
    [
        ["C++ developer", "C# developer", "C developer"],
        ["Price is -5", "Price is 5%", "Price is 5"],
        ["कल मिलेंगे", "काल मिलेंगे", "किल मिलेंगे"],
        ["😀", "😡", "no emoji"],
        ["x² + 1", "x³ + 1", "x + 1"],
    ],
    ids=["symbols", "signs", "vowel signs", "emoji", "powers"],
)
def test_02_texts_that_differ_are_no_copies_and_less_than_certain(texts):
    finder = DuplicateFinder().fit(texts)
    found = finder.find(threshold=0)
    assert "copy" not in found.kind and "indistinct" not in found.kind
    assert finder.n_unique_ == 3
    assert found.scores.max(initial=0) < 0.95
    assert not len(finder.groups(0.95))
    assert "spelling" not in finder.query(texts[0], k=3).kind[1:]


def test_02_what_little_differs_is_named():
    texts = ["Invoice missing", "Invoice missing.", "missing invoice", "INVOICE  missing"]
    found = DuplicateFinder().fit(texts).find(threshold=0.5)
    kind = {tuple(pair): kind for pair, kind in zip(found.pairs.tolist(), found.kind, strict=True)}
    assert kind == {(0, 3): "copy", (0, 1): "spelling", (0, 2): "spelling", (1, 2): "spelling"}
    assert found.scores[found.kind == "copy"].tolist() == [1]
    constant = DuplicateFinder(embedder=lambda rows: np.ones((len(rows), 2)))
    assert constant.fit(["tea", "milk"]).find(threshold=0).kind.tolist() == ["indistinct"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++ or C#?", "c + + or c #"),
        ("at -5%, 3-4 or x-5", "at − 5 % 3 4 or x 5"),
        ("e-mail (old); it's", "e mail old it s"),
        ("चाय 😀😡", "चाय 😀 😡"),
        ("?!...", ""),
    ],
)
def test_02_words_and_symbols(text, expected):
    assert words_and_symbols(text) == expected


def test_02_ascii_characters_are_read_alike_beside_other_letters():
    for sign in map(chr, range(128)):
        for text in (f"a{sign}b", f"{sign}5", f"a {sign}{sign}", f"-{sign}"):
            assert words_and_symbols(f"é {text}") == f"é {words_and_symbols(text)}".strip()


def test_02_words_that_no_text_of_the_corpus_has_are_a_difference():
    finder = DuplicateFinder().fit(["tea cup", "milk jug", "stone"])
    known, unknown = (finder.query(text, k=1).scores[0] for text in ("tea cup", "tea cup zebra"))
    assert known == 1 and 0.3 < unknown < 0.9
    # Two added texts that share new words are as near as they would be in one corpus.
    finder = DuplicateFinder().fit(corpus(200))
    finder.add(["quasi stellar radio source", "quasi stellar radio sources", "tea milk zebra"])
    found = finder.find(threshold=0.6)
    assert [200, 201] in found.pairs.tolist()
    top = finder.query("quasi stellar radio source", k=1)
    assert (top.members.tolist(), top.kind.tolist()) == ([200], ["copy"])


# 04: memory


def test_04_too_many_neighbours_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(neighbour_table, "LARGEST_TABLE", 500)
    embedded = []

    def embedder(texts):
        embedded.append(len(texts))
        return np.ones((len(texts), 2))

    texts = [f"text {i}" for i in range(50)]
    message = "n_neighbors=1000000 with 50 different texts makes 2,450 candidates"
    with pytest.raises(ValueError, match=re.escape(message) + ".*n_neighbors=10 or less"):
        DuplicateFinder(embedder=embedder, n_neighbors=10**6).fit(texts)
    assert not embedded
    # The same rows in small blocks have few neighbours each.
    blocks = [i // 5 for i in range(50)]
    DuplicateFinder(embedder=embedder, n_neighbors=10**6).fit(texts, blocks=blocks)
    finder = DuplicateFinder(embedder=embedder, n_neighbors=10).fit(texts[:40])
    with pytest.raises(ValueError, match="n_neighbors=9 or less"):
        finder.add([*texts[40:], "a", "b", "c", "d", "e"])
    assert finder.n_unique_ == len(finder.ids_) == 40


# 10: odd input


def test_10_a_frame_of_one_column_is_its_texts():
    pandas = pytest.importorskip("pandas")
    texts = corpus(30)
    frame = pandas.DataFrame({"subject": texts, "area": 1})
    expected = DuplicateFinder().fit(texts).find(threshold=0)
    same(DuplicateFinder().fit(frame[["subject"]]).find(threshold=0), expected)
    same(DuplicateFinder().fit(frame["subject"]).find(threshold=0), expected)
    same(DuplicateFinder().fit(frame[["subject"]].to_numpy()).find(threshold=0), expected)
    same(DuplicateFinder().fit(text for text in texts).find(threshold=0), expected)
    finder = DuplicateFinder().fit(texts[:20])
    assert len(finder.add(frame[["subject"]][20:], ids=range(20, 30)).texts_) == 30
    # A frame of several columns holds records; an array names no columns.
    assert DuplicateFinder().fit(frame).columns_ == ("subject", "area")
    with pytest.raises(ValueError, match=r"texts has shape \(30, 2\).*the column"):
        DuplicateFinder().fit(frame.to_numpy())


@pytest.mark.parametrize(
    ("parameters", "texts", "error", "message"),
    [
        ({}, None, TypeError, "texts is None; give a list of texts"),
        ({}, {"a": "b"}, TypeError, "texts is a dict"),
        ({"prior": 0.2}, ["a", "b"], ValueError, "prior=0.2 applies to the probabilities"),
        ({"prior": "estimate"}, ["a", "b"], ValueError, "set classifier too, or prior=None"),
        ({"classifier_prior": 0.2}, ["a", "b"], ValueError, "classifier_prior=0.2 applies to"),
    ],
)
def test_10_what_cannot_be_meant_is_refused(parameters, texts, error, message):
    finder = DuplicateFinder(**parameters)
    with pytest.raises(error, match=re.escape(message)):
        finder.fit(texts)
    assert not hasattr(finder, "ids_")


# 13: two tables, saved collections


@pytest.mark.parametrize("index", ["exact", "approximate"])
@pytest.mark.parametrize("searched", [False, True])
def test_13_a_finder_is_saved_and_goes_on_as_it_was(tmp_path, index, searched):
    texts = corpus(100)
    blocks = [i % 2 for i in range(100)] if searched else None
    more = {"blocks": [0, 1, 7]} if searched else {}
    ids = [f"r{i}" for i in range(100)]
    finder = DuplicateFinder(n_neighbors=4, index=index).fit(texts, ids, blocks)
    if searched:
        finder.find(budget=1)
    save_model(finder, tmp_path / "known.film")
    again = load_model(tmp_path / "known.film")
    assert again.get_params() == finder.get_params()
    assert again.ids_.tolist() == ids and again.texts_.tolist() == texts
    assert (again.index_, again.n_unique_) == (finder.index_, finder.n_unique_)
    same(again.find(threshold=0.3), finder.find(threshold=0.3))
    new = ["tea milk cup", "river stone lamp", "zebra tea"]
    same(again.match(new, threshold=0, **more), finder.match(new, threshold=0, **more))
    assert again.query("tea milk", k=3).ids.tolist() == finder.query("tea milk", k=3).ids.tolist()
    for each in (again, finder):
        each.add(new, ids=["a", "b", "c"], **more)
    same(again.find(threshold=0.3), finder.find(threshold=0.3))
    assert again.groups(0.5).labels.tolist() == finder.groups(0.5).labels.tolist()


@pytest.mark.parametrize("ids", [None, [3, 1, 2, 10**9], ["3", "1", "é", ""], [1, "1", 2.5, 4]])
def test_13_ids_keep_their_type_when_saved(tmp_path, ids):
    texts = ["tea cup", "Tea cup", "lone \ud83d half", "stone"]
    finder = DuplicateFinder().fit(texts, ids)
    save_model(finder, tmp_path / "known.film")
    again = load_model(tmp_path / "known.film")
    assert [(type(x), x) for x in again.ids_] == [(type(x), x) for x in finder.ids_]
    assert again.texts_.tolist() == texts


def test_13_an_embedder_is_saved_once_and_set_params_does_not_change_what_is_fitted(tmp_path):
    texts = corpus(40)
    embedder = TfidfVectorizer().fit(texts)
    finder = DuplicateFinder(embedder=embedder).fit(texts)
    expected = finder.match(["tea milk river"], threshold=0)
    save_model(finder, tmp_path / "one.film")
    again = load_model(tmp_path / "one.film")
    assert again._scores.index.embedder is again.embedder is again._scores.index.space.embedder
    same(again.match(["tea milk river"], threshold=0), expected)
    finder.set_params(embedder=None)
    save_model(finder, tmp_path / "two.film")
    again = load_model(tmp_path / "two.film")
    assert again.embedder is None
    same(again.match(["tea milk river"], threshold=0), expected)


# 14: only within, never together


def test_14_only_rows_of_one_block_are_compared():
    texts = corpus(300)
    blocks = np.random.default_rng(0).integers(0, 25, 300).tolist()
    blocks[7] = "alone"
    whole = DuplicateFinder(embedder=placed, n_neighbors=4)
    found = whole.fit(texts, blocks=blocks).find(threshold=0)
    expected = {}
    for block in set(blocks):
        rows = [row for row in range(300) if blocks[row] == block]
        part = DuplicateFinder(embedder=placed, n_neighbors=4).fit([texts[row] for row in rows])
        inner = part.find(threshold=0)
        for (a, b), score in zip(inner.pairs.tolist(), inner.scores.tolist(), strict=True):
            expected[rows[a], rows[b]] = pytest.approx(score, abs=1e-6)
    pairs = map(tuple, found.pairs.tolist())
    assert dict(zip(pairs, found.scores.tolist(), strict=True)) == expected
    for group in whole.groups(0.5):
        assert len({blocks[row] for row in group.members}) == 1
    # What is nearest in a block may be far from nearest of all.
    unfiltered = DuplicateFinder(embedder=placed, n_neighbors=4).fit(texts).find(threshold=0)
    within = [pair for pair in unfiltered.pairs.tolist() if blocks[pair[0]] == blocks[pair[1]]]
    assert len(within) < 0.5 * len(expected)


def test_14_rows_added_to_blocks_are_found_there():
    texts, blocks = corpus(200), [i % 9 for i in range(200)]
    embedder = TfidfVectorizer().fit(texts)
    grown = DuplicateFinder(embedder=embedder, n_neighbors=3).fit(texts[:150], blocks=blocks[:150])
    grown.find(budget=1)
    grown.add(texts[150:170], blocks=blocks[150:170]).find(budget=1)
    found = grown.add(texts[170:], blocks=blocks[170:]).find(threshold=0.4)
    whole = DuplicateFinder(embedder=embedder, n_neighbors=3).fit(texts, blocks=blocks)
    expected = whole.find(threshold=0.4)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)
    copies = found.kind == "copy"
    np.testing.assert_array_equal(found.pairs[copies], expected.pairs[expected.kind == "copy"])
    matches = whole.match([texts[3], texts[3]], blocks=[3, 4], threshold=0)
    assert [0, 3] in matches.pairs.tolist()
    assert {blocks[row] for new, row in matches.pairs.tolist() if new == 1} == {4}
    assert len(whole.match([texts[3]], blocks=["elsewhere"], threshold=0)) == 0


def test_14_blocks_are_given_always_or_never():
    plain = DuplicateFinder().fit(["a", "b"])
    parted = DuplicateFinder().fit(["a", "b"], blocks=[1, 2])
    for method, limits in (("add", {}), ("match", {"threshold": 0})):
        with pytest.raises(ValueError, match=re.escape("fit() had none")):
            getattr(plain, method)(["c"], blocks=[1], **limits)
        with pytest.raises(ValueError, match="blocks are required"):
            getattr(parted, method)(["c"], **limits)


def greedy(dense, must, cannot, method):
    """Merge the closest two groups that may be merged, again and again; O(n^4)."""
    n = len(dense)
    groups = [{i} for i in range(n)]
    for a, b in must:
        one, other = (next(g for g in groups if point in g) for point in (a, b))
        if one is not other:
            one |= other
            groups.remove(other)
    scores = []
    apart = {frozenset(pair) for pair in map(tuple, cannot)}
    while True:
        best = (0.0, None)
        for one, other in itertools.combinations(groups, 2):
            pairs = list(itertools.product(sorted(one), sorted(other)))
            if any(frozenset(pair) in apart for pair in pairs):
                continue
            links = [dense[pair] for pair in pairs]
            link = np.mean(links) if method == "average" else min(links)
            if link > best[0] + 1e-12:
                best = (link, (one, other))
        if best[1] is None:
            return scores, groups
        scores.append(best[0])
        one, other = best[1]
        one |= other
        groups.remove(other)


@pytest.mark.parametrize("method", ["average", "complete"])
@pytest.mark.parametrize("seed", range(12))
def test_14_constrained_clustering_is_that_of_a_greedy_loop(method, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 14))
    dense = np.triu(rng.random((n, n)) * (rng.random((n, n)) < rng.uniform(0.4, 1)), 1)
    pairs = np.argwhere(dense > 0)
    scores = dense[pairs[:, 0], pairs[:, 1]]
    dense = dense + dense.T
    must = rng.integers(0, n, (int(rng.integers(0, 3)), 2))
    cannot = rng.integers(0, n, (int(rng.integers(0, 5)), 2))
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    for _ in range(20):
        if must_link_path(must, cannot, n) is None:
            break
        must = must[:-1]
    given = {"method": method, "must_link": must, "cannot_link": cannot}
    merges = link_scores(pairs, scores, n, **given)
    expected, groups = greedy(dense, must, cannot, method)
    free = merges[np.isfinite(merges[:, 2]), 2]
    np.testing.assert_allclose(free, expected, atol=1e-12)
    labels = cut(merges, n, 0)
    assert {frozenset(np.flatnonzero(labels == g)) for g in set(labels)} == set(
        map(frozenset, groups)
    )
    assert all(labels[a] == labels[b] for a, b in must)
    assert all(labels[a] != labels[b] for a, b in cannot)
    for threshold in (0.3, 0.7):
        some = link_scores(pairs, scores, n, threshold=threshold, **given)
        np.testing.assert_array_equal(cut(some, n, 0), cut(merges, n, threshold))
    order = rng.permutation(len(pairs))
    given |= {"must_link": must[::-1, ::-1], "cannot_link": cannot[::-1, ::-1]}
    again = link_scores(pairs[order, ::-1], scores[order], n, **given)
    np.testing.assert_array_equal(cut(again, n, 0), labels)


def test_14_known_pairs_hold_in_groups_and_pairs():
    texts = ["tea cup", "tea cups", "tea  CUP", "stone river", "the river of stones", "lamp"]
    finder = DuplicateFinder().fit(texts, list("abcdef"))
    free = {tuple(group.ids) for group in finder.groups(0.3)}
    assert ("a", "b", "c") in free
    for linkage in ("average", "complete"):
        groups = finder.groups(
            0.3, linkage=linkage, cannot_link=[("c", "b")], must_link=[("f", "d")]
        )
        found = {tuple(group.ids) for group in groups}
        assert ("a", "c") in found and not any({"a", "b"} <= set(ids) for ids in found)
        assert any({"d", "f"} <= set(ids) for ids in found)
        (joined,) = [group for group in groups if "f" in group.ids]
        assert joined.weakest_score < 0.3 and joined.n_unscored >= 0
    pairs = finder.find(threshold=0.01, cannot_link=[("b", "a")]).ids.tolist()
    assert ["a", "c"] in pairs and ["a", "b"] not in pairs
    assert ["a", "b"] in finder.find(threshold=0.01).ids.tolist()


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"cannot_link": [("a", "c")]}, "separates the rows 'a' and 'c', which are copies"),
        (
            {"cannot_link": [("a", "e")], "must_link": [("b", "a"), ("e", "b")]},
            "cannot_link separates the rows 'a' and 'e', but must_link joins them: 'a' – 'b' – 'e'",
        ),
        ({"cannot_link": [("c", "d")], "must_link": [("a", "d")]}, "but must_link joins them: "),
        ({"must_link": [("a", "z")]}, "must_link[0] names 'z', which is not the id of a row"),
        ({"must_link": ["ab"]}, "must_link[0] is 'ab'; give a pair of ids"),
        ({"must_link": [("a", "g")]}, "'g' has no text"),
    ],
)
def test_14_contradictions_name_the_rows(known, message):
    texts = ["tea cup", "tea cups", "tea  CUP", "stone river", "the river of stones", "lamp", ""]
    finder = DuplicateFinder().fit(texts, list("abcdefg"))
    with pytest.raises(ValueError, match=re.escape(message)):
        finder.groups(0.3, **known)


def test_14_known_pairs_do_not_join_blocks():
    finder = DuplicateFinder().fit(["tea", "tea"], ["a", "b"], blocks=[1, 2])
    with pytest.raises(ValueError, match="of different blocks"):
        finder.groups(0.3, must_link=[("a", "b")])
    assert len(finder.groups(0.3, cannot_link=[("a", "b")])) == 0


# The command


def film(*arguments):
    """Run the command; gives its exit status, rows and messages."""
    ran = run(*arguments)
    return ran.code, ran.rows, ran.err


@pytest.fixture
def shop(tmp_path):
    old = [["o1", "red tea cup", "x"], ["o2", "blue milk jug", "y"], ["o3", "old stone lamp", "x"]]
    new = [
        ["n1", "Red  tea cup", "x"],
        ["n2", "red tea cups", "y"],
        ["n3", "garden chair", "x"],
        ["n4", "garden chairs", "x"],
    ]
    columns = ["id", "text", "shop"]
    return write_csv(tmp_path / "old.csv", columns, old), write_csv(
        tmp_path / "new.csv", columns, new
    )


def test_13_only_pairs_across_two_tables(shop, tmp_path):
    old, new = shop
    code, rows, err = film("duplicates", new, "--against", old, "--threshold", 0.3)
    assert code == 0, err
    assert [(row["id1"], row["id2"], row["kind"]) for row in rows] == [
        ("n1", "o1", "copy"),
        ("n2", "o1", "spelling"),
    ]
    assert [row["text1"] for row in rows] == ["Red  tea cup", "red tea cups"]
    assert film("duplicates", old, "--save", tmp_path / "known.film")[0] == 0
    # What is rare is learned from both tables, but of a collection when it is made.
    known = film("duplicates", new, "--against", tmp_path / "known.film", "--threshold", 0.3)[1]
    scores = [np.array([row.pop("score") for row in each], float) for each in (known, rows)]
    np.testing.assert_allclose(*scores, atol=0.01)
    assert known == rows
    out = tmp_path / "pairs.jsonl"
    page = tmp_path / "page.html"
    options = ["--threshold", 0.3, "--out", out, "--html", page]
    assert film("duplicates", new, "--against", old, *options)[0] == 0
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [record["id2"] for record in records] == ["o1", "o1"]
    assert "n2" in page.read_text(encoding="utf-8")


def test_13_a_collection_grows_by_what_is_added(shop, tmp_path):
    old, new = shop
    known = tmp_path / "known.film"
    assert film("duplicates", old, "--save", known)[0] == 0
    first = film("duplicates", new, "--against", known, "--add")
    assert [row["id1"] for row in first[1]] == ["n1", "n2"] and "known.film (7 rows" in first[2]
    assert load_model(known).ids_.tolist() == ["o1", "o2", "o3", "n1", "n2", "n3", "n4"]
    saved = known.read_bytes()
    code, rows, err = film("duplicates", new, "--against", known, "--add")
    assert (code, rows) == (2, []) and "already has the id 'n1'" in err
    assert known.read_bytes() == saved
    # Rows without ids are numbered on.
    more = write_csv(tmp_path / "more.csv", ["text"], [["garden chair"], ["zebra"]])
    code, rows, err = film("duplicates", more, "--against", known, "--add")
    pairs = [(row["id1"], row["id2"]) for row in rows]
    assert code == 0 and pairs == [("8", "n3"), ("8", "n4")], err
    assert len(load_model(known).ids_) == 9


def of_json(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("numbers", [[7, 1, 300], [1.5, 2, -3], ["7", "1", "300"], [7, "1", 2]])
def test_13_ids_that_come_as_numbers_stay_numbers(tmp_path, numbers):
    kept = numbers if {type(n) for n in numbers} <= {int, float} else [*map(str, numbers)]
    source, out, mapping = tmp_path / "t.jsonl", tmp_path / "out.jsonl", tmp_path / "m.jsonl"
    texts = ["Red tea cup", "red tea cup", "garden chair"]
    lines = (json.dumps({"id": n, "text": t}) for n, t in zip(numbers, texts, strict=True))
    source.write_text("\n".join(lines), encoding="utf-8")
    assert film("duplicates", source, "--out", out)[0] == 0
    (pair,) = of_json(out)
    assert [pair["id1"], pair["id2"]] == kept[:2]
    assert [type(pair[name]) for name in ("id1", "id2")] == [*map(type, kept[:2])]
    assert film("duplicates", source, "--groups", "--out", out)[0] == 0
    assert [row["id"] for row in of_json(out)] == kept[:2]
    ran = film("duplicates", source, "--keep", "first", "--mapping", mapping, "--out", out)
    assert ran[0] == 0, ran[2]
    assert [(row["id"], row["kept"]) for row in of_json(mapping)] == [(kept[1], kept[0])]
    assert [row["id"] for row in of_json(out)] == [numbers[0], numbers[2]]
    # A file of labels names rows by numbers or by texts.
    labels = write_csv(
        tmp_path / "labels.csv", ["id1", "id2", "label"], [[numbers[0], numbers[2], 1]]
    )
    code, _, err = film("duplicates", source, "--groups", "--not-same", labels, "--out", out)
    assert code == 0 and [row["id"] for row in of_json(out)] == kept, err
    # A collection keeps them too, and knows a number from its text only by how it looks.
    known = tmp_path / "known.film"
    assert film("duplicates", source, "--save", known, "--out", out)[0] == 0
    assert load_model(known).ids_.tolist() == kept
    assert film("duplicates", source, "--against", known, "--out", out)[0] == 0
    assert {(type(row["id2"]), row["id2"]) for row in of_json(out)} <= {(type(x), x) for x in kept}
    other = write_csv(tmp_path / "t.csv", ["id", "text"], [[numbers[0], "zebra"]])
    code, _, err = film("duplicates", other, "--against", known, "--add")
    assert code == 2 and f"already has the id '{numbers[0]}'" in err


def test_13_ids_that_are_one_number_but_two_texts_stay_texts(tmp_path):
    source, out = tmp_path / "t.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"id": 1, "text": "a b"}\n{"id": 1.0, "text": "A  b"}\n')
    assert film("duplicates", source, "--out", out)[0] == 0
    assert [(row["id1"], row["id2"]) for row in of_json(out)] == [("1", "1.0")]


def test_13_a_collection_that_changed_meanwhile_is_not_overwritten(shop, tmp_path, monkeypatch):
    old, new = shop
    known = tmp_path / "known.film"
    assert film("duplicates", old, "--save", known)[0] == 0
    real = DuplicateFinder.add

    def late(self, *arguments):
        save_model(DuplicateFinder().fit(["someone else's"]), known)
        return real(self, *arguments)

    monkeypatch.setattr(DuplicateFinder, "add", late)
    code, _, err = film("duplicates", new, "--against", known, "--add")
    assert code == 2 and "changed while this command ran" in err
    assert load_model(known).texts_.tolist() == ["someone else's"]


def test_44_two_processes_that_add_at_once_both_do(tmp_path):
    known = tmp_path / "known.film"
    old = write_csv(tmp_path / "old.csv", ["id", "text"], [["o", "zebra"]])
    assert film("duplicates", old, "--save", known)[0] == 0
    held = alone_at(str(known))
    held.__enter__()
    commands = []
    for name in "ab":
        rows = [[f"{name}{i}", f"{word} {name}"] for i, word in enumerate(WORDS)]
        new = write_csv(tmp_path / f"{name}.csv", ["id", "text"], rows)
        out = str(tmp_path / f"{name}.out.csv")
        commands.append(["duplicates", new, "--against", str(known), "--add", "--out", out])
    command = [sys.executable, "-m", "estimators.cli", *commands[0]]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert "waiting for another command to finish writing" in process.stderr.readline()
    held.__exit__(None, None, None)
    assert film(*commands[1])[0] == 0
    assert process.communicate(timeout=120)[1] and process.returncode == 0
    ids = load_model(known).ids_.tolist()
    assert sorted(ids) == sorted(["o", *(f"{name}{i}" for name in "ab" for i in range(len(WORDS)))])
    assert not list(tmp_path.glob(".*"))


def test_14_within_a_column_from_the_command_line(shop, tmp_path):
    old, new = shop
    rows = film("duplicates", new, "--threshold", 0.2, "--within", "shop")[1]
    assert [(row["id1"], row["id2"]) for row in rows] == [("n3", "n4")]
    rows = film("duplicates", new, "--threshold", 0.2)[1]
    assert ("n1", "n2") in [(row["id1"], row["id2"]) for row in rows]
    known = tmp_path / "known.film"
    assert film("duplicates", old, "--within", "shop", "--save", known)[0] == 0
    code, _, err = film("duplicates", new, "--against", known)
    assert code == 2 and "was saved with it" in err
    options = ["--against", known, "--within", "shop", "--threshold", 0.2]
    assert [row["id1"] for row in film("duplicates", new, *options)[1]] == ["n1"]


def test_14_judged_pairs_from_a_file(shop, tmp_path):
    _, new = shop
    judged = [
        ["red tea CUP", "red tea cups", 0],
        ["garden chair", "red tea cup", "1"],
        ["nowhere", "to be found", 1],
        ["red tea cup", "garden chairs", ""],
    ]
    labels = write_csv(tmp_path / "labels.csv", ["text1", "text2", "label"], judged)
    options = ["--groups", "--threshold", 0.2, "--not-same", labels]
    code, rows, err = film("duplicates", new, *options)
    assert code == 0 and "1 of 3 labelled pairs is not in the table" in err
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], set()).add(row["id"])
    assert {"n1", "n3"} <= next(ids for ids in groups.values() if "n1" in ids)
    assert not any({"n1", "n2"} <= ids for ids in groups.values())
    pairs = film("duplicates", new, "--threshold", 0.2, "--not-same", labels)[1]
    assert ("n1", "n2") not in [(row["id1"], row["id2"]) for row in pairs]
    by_id = write_csv(tmp_path / "ids.csv", ["id1", "id2", "label"], [["n2", "n1", 0]])
    rows = film("duplicates", new, "--threshold", 0.2, "--not-same", by_id)[1]
    assert ("n1", "n2") not in [(row["id1"], row["id2"]) for row in rows]
    judged.append(["red tea cups", "garden chair", 1])
    write_csv(tmp_path / "labels.csv", ["text1", "text2", "label"], judged)
    code, _, err = film("duplicates", new, *options)
    assert code == 2 and "label 0 separates the rows 'n1' and 'n2', but label 1 joins them" in err


def test_15_a_table_without_its_duplicates(tmp_path):
    rows = [
        ["a", "red tea cup", 9, "2026-01-02"],
        ["b", "lone lamp", 1, ""],
        ["c", "Red tea  cup", 10, "2025-12-31"],
        ["d", "red tea cup!!!", "", "2026-01-31"],
        ["e", "", 3, ""],
    ]
    table = write_csv(tmp_path / "t.csv", ["id", "text", "sold", "seen"], rows)
    expected = {"first": "a", "longest": "d", "sold": "c", "seen": "d"}
    for rule, kept in expected.items():
        out, mapping = tmp_path / "clean.csv", tmp_path / "gone.csv"
        code, _, err = film("duplicates", table, "--keep", rule, "-o", out, "--mapping", mapping)
        assert code == 0, err
        with open(out, encoding="utf-8", newline="") as handle:
            clean = list(csv.reader(handle))
        left = [row for row in rows if row[0] in {"b", "e", kept}]
        assert clean == [["id", "text", "sold", "seen"], *[list(map(str, row)) for row in left]]
        with open(mapping, encoding="utf-8", newline="") as handle:
            gone = list(csv.DictReader(handle))
        assert {row["id"] for row in gone} == {"a", "c", "d"} - {kept}
        assert {(row["kept"], row["group"]) for row in gone} == {(kept, "1")}


def test_15_every_group_keeps_one_row_and_nothing_else_goes():
    texts = corpus(150)
    groups = DuplicateFinder().fit(texts).groups(0.6)
    values = np.random.default_rng(0).integers(0, 5, 150).tolist()
    for rule in ("first", "longest", values):
        kept = groups.keep(rule)
        assert np.array_equal(kept[kept], kept)
        for group in groups:
            (row,) = set(kept[group.members].tolist())
            measure = [-i for i in range(150)] if rule == "first" else values
            measure = [len(text) for text in texts] if rule == "longest" else measure
            assert measure[row] == max(measure[i] for i in group.members)
            assert row == min(i for i in group.members if measure[i] == measure[row])
        alone = np.flatnonzero(groups.labels < 0)
        assert np.array_equal(kept[alone], alone)
    with pytest.raises(ValueError, match="rule='last'"):
        groups.keep("last")
    with pytest.raises(ValueError, match="rule has 2 values for 150 rows"):
        groups.keep([1, 2])


def test_10_the_terminal_and_the_page_count_the_same(shop, tmp_path):
    _, new = shop
    page = tmp_path / "page.html"
    _, _, err = film("duplicates", new, "--groups", "--threshold", 0.2, "-o", "-", "--html", page)
    assert "of 4 rows are duplicates of an earlier row" in err
    assert '"n_rows":4' in page.read_text(encoding="utf-8")


def test_10_texts_that_nothing_is_known_of_are_noted(tmp_path):
    table = write_csv(tmp_path / "t.csv", ["text"], [["..."]] * 60 + [["?!"]] * 7 + [["tea cup"]])
    code, rows, err = film("duplicates", table)
    assert code == 0 and len(rows) == 65 and {row["kind"] for row in rows} == {"copy"}
    assert "2 different texts have no word or trigram to compare" in err


def test_14_texts_that_the_page_made_safe_for_spreadsheets_are_known(tmp_path):
    table = write_csv(tmp_path / "t.csv", ["id", "text"], [["a", "=tea cup"], ["b", "=tea cups"]])
    labels = [["'=tea cup", "'=tea cups", 0]]
    labels = write_csv(tmp_path / "labels.csv", ["text1", "text2", "label"], labels)
    assert len(film("duplicates", table, "--threshold", 0.1)[1]) == 1
    code, rows, err = film("duplicates", table, "--threshold", 0.1, "--not-same", labels)
    assert (code, rows) == (0, []) and "not in the table" not in err


def test_43_every_text_that_says_how_far_search_is_exact_says_the_same():
    root = Path(__file__).parents[2]
    pages = [*root.glob("docs/**/*.md"), root / "README.md"]
    texts = {str(page.relative_to(root)): page.read_text(encoding="utf-8") for page in pages}
    texts["DuplicateFinder"] = inspect.getdoc(DuplicateFinder)
    texts["film duplicates"] = CliRunner().invoke(main, ["duplicates", "--help"]).stdout
    said = {
        name: set(re.findall(r"([\d,]{5,})\s+(?:different|unique)\s+texts", text))
        for name, text in texts.items()
    }
    named = {name for name, numbers in said.items() if numbers}
    told = ("limits.md", "duplicates.md")
    assert named == {"DuplicateFinder", "film duplicates", *(f"docs/{name}" for name in told)}
    assert set().union(*said.values()) == {f"{EXACT_LIMIT:,}"}


def test_43_every_extra_that_the_docs_name_is_one():
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = (root / "docs/install.md").read_text(encoding="utf-8").partition("| extra |")[2]
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.M)))
    assert set(named) <= set(project["optional-dependencies"]) and "files" in named

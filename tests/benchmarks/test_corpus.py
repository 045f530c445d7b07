import json
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import corpus
from benchmarks.corpus import known_texts, main, measure, pairwise, planted_figures, precision_at
from benchmarks.support import records
from benchmarks.support.quora_data import generated
from estimators import DuplicateFinder

AT = "recall at precision 0.95"

# Stands in for the script that runs in semhash's environment, and finds the last copy twice.
STAND_IN = """
import json, sys
import numpy as np
source, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    n = len(json.load(file))
np.savez(target, pairs=np.array([[n - 2, n - 1], [0, n - 1]]), scores=[0.9, 0.8], seconds=1.25)
"""


@pytest.fixture(scope="module")
def data():
    return generated(300, 0)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    out = tmp_path_factory.mktemp("corpus")
    with pytest.MonkeyPatch.context() as patch:
        # The case of a classifier has a test of its own.
        patch.setattr(corpus, "QUICK_CASES", ("plain", "planted", "groups"))
        assert main(["--quick", "--size", "400", "--out", str(out)]) == 0
    assert [path.name for path in out.iterdir()] == ["corpus.jsonl"]
    lines = (out / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return {(row["case"], row["metric"]): row for row in map(json.loads, lines)}


def test_a_folder_without_the_file_exits_with_2(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("benchmarks.corpus: ") and "holds no train.csv" in said


def test_quick_run_records_each_case_with_its_metrics(quick):
    plain = "generated: 400 questions, similarity at 0.8, exact index"
    planted = "generated: planted copies, 400 rows, similarity"
    expected = {(plain, metric) for metric in ("seconds", "peak", "pairs", "groups")}
    expected |= {(planted, metric) for metric in ("recall", "precision", "score", "seconds", AT)}
    for way in ("average link", "transitive closure"):
        for recall in (0.2, 0.3, 0.4):
            case = f"generated: groups by {way}, recall {recall}"
            expected |= {(case, "recall"), (case, "precision")}
            assert quick[case, "recall"]["value"] == recall
            assert 0 < quick[case, "precision"]["value"] <= 1
    assert set(quick) == expected
    value = {metric: quick[plain, metric]["value"] for metric in ("seconds", "peak")}
    # numpy and scikit-learn alone take tens of megabytes, and no quick run takes 10 gigabytes.
    assert value["seconds"] >= 0 and 20 < value["peak"] < 10_000
    assert quick[plain, "seconds"]["unit"] == "s" and quick[plain, "peak"]["unit"] == "MB"
    assert 0 < quick[plain, "groups"]["value"] <= quick[plain, "pairs"]["value"]
    # Recall steps by one copy of 40.
    assert 0.6 <= quick[planted, "recall"]["value"] <= 0.65
    assert quick[planted, "precision"]["value"] > 0.8
    assert 0.3 <= quick[planted, "score"]["value"] <= 1


def test_case_of_a_classifier_decides_and_is_titled_by_its_probability(data, monkeypatch):
    given = []

    def spy(classifier):
        given.append(classifier)
        return DuplicateFinder(classifier)

    monkeypatch.setattr(corpus, "DuplicateFinder", spy)
    found = measure(data, Namespace(size=60, quick=True), "classifier")
    assert given[0].predict_proba(data.dev).shape == (len(data.dev), 2)
    (title,) = found
    assert title.startswith("60 questions, probability at 0.8, ")
    assert set(found[title]) == {"seconds", "peak", "pairs", "groups"}


def test_recall_is_the_share_of_the_exhaustive_pairs_that_are_found(data, monkeypatch):
    pairs = {"exact": [[0, 1], [2, 3], [4, 5], [6, 7]], "approximate": [[1, 0], [5, 4], [8, 9]]}

    def made(index):
        return SimpleNamespace(
            fit=lambda _: SimpleNamespace(
                find=lambda threshold: SimpleNamespace(pairs=np.array(pairs[index]))
            )
        )

    monkeypatch.setattr(corpus, "DuplicateFinder", made)
    ((title, row),) = measure(data, Namespace(size=60, quick=True), "exhaustive").items()
    assert title == "60 questions, similarity at 0.8, against the exact index"
    assert (row["recall"], row["pairs"]) == (0.5, 4)


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_run_records_only_where_out_says_so(quick, tmp_path, monkeypatch, capsys, data):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(corpus, "_data", lambda _: data)
    ran = []

    def run(command, **_):
        ran.append(command[command.index("--case") + 1])
        assert ("--quick" in command) is quick
        assert command[command.index("--time-limit") + 1] == "77.0"
        assert command[command.index("--size") + 1] == "50"
        assert command[command.index("--rivals") + 1] == "their/folder"
        return SimpleNamespace(stdout='a line before\n{"some title": {"pairs": 3}}\n')

    monkeypatch.setattr(corpus, "subprocess", SimpleNamespace(run=run, PIPE=subprocess.PIPE))
    options = ["--time-limit", "77", "--size", "50", "--rivals", "their/folder"]
    assert main([*options, *(["--quick"] if quick else [])]) == 0
    assert "some title {'pairs': 3}" in capsys.readouterr().out
    assert ran == list(corpus.QUICK_CASES if quick else corpus.CASES)
    assert (tmp_path / "results").exists() is not quick


def test_known_texts_joins_labelled_and_further_duplicates(data):
    small = replace(
        data,
        train=np.array([["a", "b"], ["c", "d"]], dtype=object),
        y_train=np.array([1, 0]),
        dev=np.array([["e", "f"], ["g", "h"]], dtype=object),
        y_dev=np.array([1, 0]),
        test=np.array([["i", "j"], ["a", "i"]], dtype=object),
        similar=np.array([["b", "e"]], dtype=object),
    )
    texts, clusters = known_texts(small, 100)
    assert sorted(texts) == list("abcdefghij")
    together = {
        frozenset(text for text, other in zip(texts, clusters, strict=True) if other == cluster)
        for cluster in clusters
    }
    assert together == {frozenset("abef"), *(frozenset(text) for text in "cdghij")}
    fewer, their_clusters = known_texts(small, 4)
    assert fewer == texts[:4] and their_clusters.tolist() == clusters[:4].tolist()
    # A drawn part, not the first questions.
    assert texts != sorted(texts)


@pytest.fixture
def planted(monkeypatch):
    """What the rival is given: 36 texts, 4 copies, and where they come from."""
    seen = []

    def keep(_, every, origin, cluster, __):
        seen.append((every, origin, cluster))
        return {}

    monkeypatch.setattr(corpus, "_rival", keep)
    texts = [" ".join(f"word{j}of{i}" for j in range(8)) for i in range(40)]
    clusters = np.arange(40) + 100
    for _ in range(2):
        assert corpus._planted(texts, clusters, Namespace(), "semhash") == {}
    return texts, clusters, *seen


def test_a_tenth_of_the_rows_are_edited_copies_of_kept_texts(planted):
    texts, clusters, (every, origin, cluster), _ = planted
    assert every[:36] == texts[:36] and len(every) == 40
    assert (origin[:36] == -1).all()
    assert len(set(origin[36:])) == 4 and (origin[36:] >= 0).all() and (origin[36:] < 36).all()
    np.testing.assert_array_equal(cluster, clusters[[*range(36), *origin[36:]]])
    for copy, source in zip(every[36:], origin[36:], strict=True):
        assert copy != texts[source]
        # No word stands in two texts, and an edit changes two words at most.
        assert len(set(copy.replace("?", "").split()) & set(texts[source].split())) >= 2


def test_copies_are_the_same_in_each_run(planted):
    _, _, first, second = planted
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1], second[1])


# Rows 0 to 4 are texts of which 0 and 1 are known duplicates; rows 5 to 9 are copies of them.
ORIGIN = np.array([-1, -1, -1, -1, -1, 0, 1, 2, 3, 4])
CLUSTER = np.array([0, 0, 2, 3, 4, 0, 0, 2, 3, 4])


def test_planted_figures_by_hand():
    # By falling score: a copy and its origin, copies of known duplicates, a wrong pair, two more
    # copies and origins, and then, at a recall of 60 %, wrong pairs. Two originals do not count.
    pairs = np.array([[4, 6], [0, 5], [5, 6], [5, 9], [2, 3], [6, 1], [2, 7], [8, 9]])
    scores = np.array([0.31, 0.9, 0.8, 0.7, 0.99, 0.6, 0.5, 0.4])
    found = planted_figures(pairs, scores, ORIGIN, CLUSTER)
    assert found == {"recall": 3 / 5, "precision": 4 / 5, "score": 0.5, AT: 1 / 5}


def test_planted_figures_below_the_recall_asked_for_have_no_score():
    pairs, scores = np.array([[5, 0], [5, 9], [6, 7]]), np.array([0.5, 0.9, 0.1])
    found = planted_figures(pairs, scores, ORIGIN, CLUSTER)
    assert found == {"recall": 1 / 5, "precision": 1 / 3, AT: 0.0}


def test_two_copies_of_one_text_are_a_right_pair_without_known_clusters():
    origin = np.array([-1, -1, 0, 0])
    found = planted_figures(np.array([[2, 3]]), np.array([0.5]), origin, np.arange(4))
    assert found == {"recall": 0.0, "precision": 1.0, AT: 0.0}


def test_pairwise_agrees_with_all_pairs_looked_at():
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels, truth = rng.integers(-1, 4, 12), rng.integers(0, 4, 12)
        both = found = true = 0
        for i, j in combinations(range(12), 2):
            together = labels[i] == labels[j] >= 0
            both += together and truth[i] == truth[j]
            found += together
            true += truth[i] == truth[j]
        recall, precision = pairwise(labels, truth)
        assert recall == pytest.approx(both / true)
        assert precision == pytest.approx(both / found)


def test_pairwise_without_any_group_has_no_recall_and_no_error():
    assert pairwise(np.full(4, -1), np.zeros(4, dtype=int)) == (0.0, 1.0)


def test_precision_at_takes_the_best_threshold_that_reaches_the_recall():
    curve = [(0.5, 0.3), (0.4, 0.6), (0.3, 0.5), (0.1, 0.9)]
    assert precision_at(curve, 0.3) == 0.6
    assert precision_at(curve, 0.5) == 0.3
    assert precision_at(curve, 0.6) is None


def test_groups_are_judged_by_labels_and_further_duplicates(data, monkeypatch):
    truths = []
    monkeypatch.setattr(corpus, "pairwise", lambda _, truth: truths.append(truth) or (0.35, 0.5))
    more = data.dev[:1]
    rows = measure(data, Namespace(), "groups")
    # No threshold reached a recall of 0.4.
    assert set(rows) == {
        f"groups by {way}, recall {recall}"
        for way in ("average link", "transitive closure")
        for recall in (0.2, 0.3)
    }
    n_texts, n_groups = len(truths[0]), len(set(truths[0]))
    assert n_texts == len(np.unique(data.train))
    measure(replace(data, similar=more), Namespace(), "groups")
    assert len(truths[-1]) == n_texts + 2 and len(set(truths[-1])) == n_groups + 1


def run_rival(monkeypatch, folder, script, run=subprocess.run):
    """Rows of the rival's case, where this script stands in for it."""
    (folder / "semhash_rival.py").write_text(script, encoding="utf-8")
    monkeypatch.setattr(corpus, "SCRIPTS", folder)
    monkeypatch.setattr(corpus, "rival_python", lambda *_: Path(sys.executable))
    stand_in = SimpleNamespace(
        run=run,
        TimeoutExpired=subprocess.TimeoutExpired,
        CalledProcessError=subprocess.CalledProcessError,
    )
    monkeypatch.setattr(corpus, "subprocess", stand_in)
    options = Namespace(size=40, quick=True, rivals="", time_limit=77.0)
    return measure(generated(300, 0), options, "semhash")


TITLE = "planted copies, 40 rows, semhash"


def test_the_rival_is_judged_as_the_finder_is(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "RECALL", 0.0)
    found = run_rival(monkeypatch, tmp_path, STAND_IN)
    assert set(found) == {TITLE}
    assert found[TITLE]["seconds"] == 1.25 and found[TITLE]["score"] == 0.9


def test_a_rival_that_fails_has_a_row_that_says_so(tmp_path, monkeypatch):
    found = run_rival(monkeypatch, tmp_path, "raise ImportError('no such encoder')")
    (title,) = found
    assert title == f"{TITLE} (failed: ImportError: no such encoder)"
    assert set(found[title]) == {"seconds"} and found[title]["seconds"] >= 0


def test_a_rival_that_ends_without_a_word_has_its_exit_status_in_the_row(tmp_path, monkeypatch):
    found = run_rival(monkeypatch, tmp_path, "import os; os._exit(3)")
    assert list(found) == [f"{TITLE} (failed: exit status 3)"]


def test_a_rival_that_does_not_end_has_a_row_that_says_so(tmp_path, monkeypatch):
    def run(command, timeout, **_):
        assert timeout == 77.0
        raise subprocess.TimeoutExpired(command, timeout)

    found = run_rival(monkeypatch, tmp_path, "", run)
    assert found == {f"{TITLE} (no result in time)": {"seconds": 77.0}}


def test_a_million_texts_are_judged_by_their_known_meanings(monkeypatch):
    monkeypatch.delenv("FILM_DATA", raising=False)
    found = measure(generated(300, 0), Namespace(texts=300), "million")
    (title,) = found
    assert title == "300 texts of books, similarity at 0.5, exact index"
    assert {"recall", "precision", AT, "seconds", "peak", "pairs"} <= set(found[title])
    assert found[title]["recall"] > 0.5


@pytest.mark.parametrize(
    ("rival", "module"), [("mining", "sentence_transformers"), ("minhash", "datasketch")]
)
def test_scripts_of_rivals_find_a_near_copy(rival, module, tmp_path):
    pytest.importorskip(module)
    rng = np.random.default_rng(0)
    texts = [" ".join(f"word{i}" for i in rng.integers(1000, size=8)) for _ in range(30)]
    source, target = tmp_path / "texts.json", tmp_path / "pairs.npz"
    source.write_text(json.dumps([*texts, texts[7] + " too"]), encoding="utf-8")
    script = corpus.SCRIPTS / f"{rival}_rival.py"
    subprocess.run([sys.executable, str(script), str(source), str(target)], check=True)
    found = np.load(target)
    assert found["pairs"][found["scores"].argmax()].tolist() == [7, 30]

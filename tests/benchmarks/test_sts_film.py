import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import sts_film
from benchmarks.sts_film import (
    Settings,
    beside,
    fit_film,
    graded_triplets,
    main,
    pair_cosines,
    ranked_partners,
)
from benchmarks.support.folders import film_data

needs_data = pytest.mark.skipif(
    film_data() is None, reason="FILM_DATA is not set: the STS Benchmark is not here"
)


def test_without_data_it_says_where_to_get_it_and_exits_with_2(monkeypatch, capsys):
    monkeypatch.delenv("FILM_DATA", raising=False)
    assert main(["--quick"]) == 2
    assert "http://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark" in capsys.readouterr().err


def test_a_folder_without_the_files_exits_with_2(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    assert "does not hold sts-train.csv" in capsys.readouterr().err


def test_wrong_rows_exit_with_2_and_are_named(tmp_path, capsys):
    for name in sts_film.FILES:
        (tmp_path / name).write_text("genre\tfile\tyear\t1\tfive\ta\tb\n", encoding="utf-8")
    assert main(["--data", str(tmp_path)]) == 2
    assert "line 1: score must be a number" in capsys.readouterr().err


def test_triplets_take_clear_pairs_only():
    codes = np.array([[0, 1], [2, 3], [4, 5], [6, 6]])
    scores = np.array([4.0, 1.0, 2.8, 5.0])
    found = graded_triplets(codes, scores, 7, Settings(n_random=0), 0)
    # Sentences 2 and 3 have no similar partner: the zero row 7 stands in.
    assert found.tolist() == [[2, 7, 3], [3, 7, 2]]


def test_partners_are_ranked_where_their_scores_are_far_enough_apart():
    codes = np.array([[0, 1], [2, 0], [0, 3], [0, 3], [0, 0]])
    scores = np.array([2.9, 1.5, 0.4, 5.0, 5.0])
    found = ranked_partners(codes, scores, 1.2)
    assert sorted(found.tolist()) == [[0, 1, 2], [0, 1, 3], [0, 3, 1], [0, 3, 2]]


def test_random_dissimilar_sentences_never_include_the_zero_row():
    codes = np.array([[0, 1]])
    found = graded_triplets(codes, np.array([5.0]), 4, Settings(n_random=50), 0)
    assert set(found[:, 2]) == {2, 3}


def test_cosine_is_zero_without_known_features_and_tfidf_beside_film_changes_it():
    pairs = np.array(
        [["red car here", "red auto here"], ["blue sky above", "red car above"]] * 6, dtype=object
    )
    pairs += np.array([[f" w{i // 4}"] for i in range(12)], dtype=object)
    metric = fit_film(pairs, np.array([5.0, 0.0] * 6), Settings(n_random=2, rank=5, d=3), 0)
    asked = np.array([["red car", "red auto"], ["red car", "!!"]], dtype=object)
    alone = pair_cosines(metric.transform, asked)
    both = pair_cosines(beside(metric, pairs.ravel(), 1.0), asked)
    tfidf = pair_cosines(metric[0].transform, asked)
    assert alone[1] == both[1] == tfidf[1] == 0
    low, high = sorted((alone[0], tfidf[0]))
    assert low < both[0] < high


@needs_data
def test_quick_run_beats_chance_and_records_every_row(tmp_path):
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    lines = Path(tmp_path, "sts_film.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    test = {r["case"]: r["value"] for r in rows if r["metric"] == "pearson" and "test" in r["case"]}
    assert len(test) == 6 and len(rows) == 24
    assert test["STS-B test: FILM cosine (quick)"] > 60
    assert all(r["rival_value"] is not None for r in rows)


def test_glove_stands_beside_but_where_it_is_left_out_or_a_run_is_quick(tmp_path, monkeypatch):
    for name in sts_film.FILES:
        lines = [f"genre\tfile\tyear\t{i}\t{i}\ta {'b ' * i}c\ta c\n" for i in range(5)]
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
    asked = []

    def lengths(environment, folder, left_out=frozenset()):
        asked.append((environment, folder, len(left_out) > 100))
        return lambda pairs: np.array([float(len(first)) for first, _ in pairs])

    monkeypatch.setattr(sts_film, "mean_glove", lengths)
    fitted = {sts_film.BASELINE: lengths(None, None)}
    monkeypatch.setattr(sts_film, "fit_all", lambda *_: dict(fitted))
    asked.clear()
    arguments = ["--data", str(tmp_path), "--out", str(tmp_path)]
    assert main([*arguments, "--quick"]) == main([*arguments, "--no-rivals"]) == 0
    assert asked == [] and "GloVe" not in (tmp_path / "sts_film.jsonl").read_text()
    assert main([*arguments, "--rivals", "place", "--glove", "files"]) == 0
    assert asked == [("place", "files", False), ("place", "files", True)]
    rows = map(json.loads, (tmp_path / "sts_film.jsonl").read_text().splitlines())
    found = {row["case"]: row["value"] for row in rows if row["metric"] == "pearson"}
    # The longer the first sentence, the higher the score.
    assert found["STS-B test: averaged GloVe, cosine"] == pytest.approx(100)
    assert found["STS-B dev: averaged GloVe without stop words, cosine"] == pytest.approx(100)

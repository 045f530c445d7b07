import os
from pathlib import Path

import pytest

from film.datasets import drop_listed, read_excluded, read_sick, read_sts_sets, read_sts_year

REAL = Path(os.environ.get("FILM_DATA", "")) / "sts"
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


def write_subset(folder, subset, *rows):
    """Write both files of a subset from (line of sentences, score) each."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, what in enumerate(("input", "gs")):
        lines = "".join(row[place] + "\n" for row in rows)
        (folder / f"STS.{what}.{subset}.txt").write_bytes(lines.encode())


def write_sets(root):
    for year in range(12, 17):
        write_subset(root / f"STS{year}-en-test", "images", (f"a{year}\tb", "3"))
    (root / "STSBenchmark").mkdir()
    row = "main-news\tMSRpar\t2012\t7\t2.5\tbench\tmark\n"
    (root / "STSBenchmark" / "sts-test.csv").write_text(row)
    (root / "SICK").mkdir()
    (root / "SICK" / "SICK_test_annotated.txt").write_text(SICK + "\n1\tsi\tck\t4\tNEUTRAL\n")


def test_subsets_follow_each_other_by_name_and_unscored_pairs_are_dropped(tmp_path):
    write_subset(tmp_path, "surprise.OnWN", ('say "no\tx\u2028y', "0"), ("c\td\r", "5.00\r"))
    write_subset(
        tmp_path, "belief", ("one\ttwo", ""), ("e  f\tg", "4.66666666666667"), ("h\ti", " ")
    )
    data = read_sts_year(tmp_path)
    assert data.pairs.tolist() == [["e  f", "g"], ['say "no', "x\u2028y"], ["c", "d"]]
    assert data.scores.tolist() == [4.66666666666667, 0, 5]
    assert data.genres.tolist() == ["belief", "surprise.OnWN", "surprise.OnWN"]


def test_subsets_are_sorted_by_name(tmp_path):
    for subset in "hdbgface":
        write_subset(tmp_path, subset, (f"{subset}\tx", "1"))
    assert read_sts_year(tmp_path).genres.tolist() == list("abcdefgh")


def test_files_that_are_no_subset_are_passed_over(tmp_path):
    write_subset(tmp_path, "images", ("a\tb", "1"))
    for name in (
        "STS.gs.ALL.txt",
        "STS.gs.SMT.txt",
        "STS.input.ALL.txt",
        "STS.input.images.LICENSE",
        "STS.gs.images.LICENSE",
        "STS2016.input.images.ascii",
        "LICENSE.txt",
    ):
        (tmp_path / name).write_text("no pair\n")
    assert read_sts_year(tmp_path).pairs.tolist() == [["a", "b"]]
    # With its sentences it is a subset like the others.
    write_subset(tmp_path, "SMT", ("c\td", "2"))
    assert read_sts_year(tmp_path).genres.tolist() == ["SMT", "images"]


@pytest.mark.parametrize("missing", ["input", "gs"])
def test_half_a_subset_is_refused(tmp_path, missing):
    write_subset(tmp_path, "belief", ("a\tb", "1"))
    write_subset(tmp_path, "images", ("a\tb", "1"))
    (tmp_path / f"STS.{missing}.belief.txt").unlink()
    with pytest.raises(FileNotFoundError, match=rf"STS\.{missing}\.belief\.txt"):
        read_sts_year(tmp_path)


def test_a_folder_without_subsets_is_refused(tmp_path):
    (tmp_path / "STS.gs.ALL.txt").write_text("1\n")
    with pytest.raises(FileNotFoundError, match=r"has no STS\.input"):
        read_sts_year(tmp_path)
    with pytest.raises(FileNotFoundError, match="none"):
        read_sts_year(tmp_path / "none")


@pytest.mark.parametrize(
    ("row", "file", "reason"),
    [
        (("alone", "1"), "input", "line 2: 2 columns expected, 1 found"),
        (("alone", ""), "input", "line 2: 2 columns expected, 1 found"),
        (("a\tb\tc", "1"), "input", "line 2: 2 columns expected, 3 found"),
        (("", "1"), "input", "line 2: 2 columns expected, 1 found"),
        ((" \tb", "1"), "input", "line 2: sentence1 is missing"),
        (("a\t", "1"), "input", "line 2: sentence2 is missing"),
        (("a\tb", "high"), "gs", "line 2: score must be a number from 0 to 5, got 'high'"),
        (("a\tb", "nan"), "gs", "line 2: score must be a number from 0 to 5, got 'nan'"),
        (("a\tb", "-0.1"), "gs", "line 2: score must be a number from 0 to 5, got '-0.1'"),
        (("a\tb", "5.5"), "gs", "line 2: score must be a number from 0 to 5, got '5.5'"),
    ],
)
def test_wrong_lines_are_named_with_their_file(tmp_path, row, file, reason):
    write_subset(tmp_path, "images", ("a\tb", "1"), row, ("c\td", "2"))
    with pytest.raises(
        ValueError, match=rf"STS\.{file}\.images\.txt has 1 wrong rows of 3"
    ) as caught:
        read_sts_year(tmp_path)
    assert reason in str(caught.value)


@pytest.mark.parametrize("file", ["input", "gs"])
def test_bytes_that_are_not_utf8_are_named_with_their_file(tmp_path, file):
    write_subset(tmp_path, "images", ("a\tb", "1"))
    (tmp_path / f"STS.{file}.images.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(ValueError, match=rf"STS\.{file}\.images\.txt.*line 1: not UTF-8"):
        read_sts_year(tmp_path)


@pytest.mark.parametrize(("n_inputs", "n_scores"), [(3, 2), (2, 3)])
def test_files_of_different_length_are_refused(tmp_path, n_inputs, n_scores):
    (tmp_path / "STS.input.images.txt").write_text("a\tb\n" * n_inputs)
    (tmp_path / "STS.gs.images.txt").write_text("1\n" * n_scores)
    message = rf"STS\.input\.images\.txt has {n_inputs} lines and STS\.gs\.images\.txt {n_scores},"
    with pytest.raises(ValueError, match=rf"{message}.*line 3 has no partner"):
        read_sts_year(tmp_path)


def test_a_last_blank_score_counts_as_a_line(tmp_path):
    (tmp_path / "STS.input.images.txt").write_text("a\tb\nc\td")
    (tmp_path / "STS.gs.images.txt").write_text("1\n\n")
    assert read_sts_year(tmp_path).pairs.tolist() == [["a", "b"]]


def test_a_year_without_any_score_is_refused(tmp_path):
    write_subset(tmp_path, "images", ("a\tb", ""))
    with pytest.raises(ValueError, match="no scored pair"):
        read_sts_year(tmp_path)


def test_seven_sets_are_read_in_order(tmp_path):
    write_sets(tmp_path)
    sets = read_sts_sets(tmp_path)
    assert list(sets) == ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK"]
    assert [data.pairs[0, 0] for data in sets.values()] == [
        *("a12", "a13", "a14", "a15", "a16"),
        *("bench", "si"),
    ]


@pytest.mark.parametrize(
    "name", ["STS14-en-test", "STSBenchmark/sts-test.csv", "SICK/SICK_test_annotated.txt"]
)
def test_a_missing_set_is_named_with_the_way_to_get_it(tmp_path, name):
    write_sets(tmp_path)
    (tmp_path / name).rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match=rf"lacks {name};.*SentEval"):
        read_sts_sets(tmp_path)


def test_all_missing_sets_are_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"lacks STS12-en-test, .*STS16-en-test, STSB.*SICK/"
    ):
        read_sts_sets(tmp_path / "none")


@pytest.mark.skipif(
    not os.environ.get("FILM_DATA") or not REAL.is_dir(),
    reason="FILM_DATA does not name a folder with sts/STS12-en-test",
)
def test_the_public_files_have_their_sizes():
    sets = read_sts_sets(REAL)
    sizes = {name: len(data) for name, data in sets.items()}
    assert sizes == {
        "STS12": 3108,
        "STS13": 1500,
        "STS14": 3750,
        "STS15": 3000,
        "STS16": 1186,
        "STS-B": 1379,
        "SICK": 4927,
    }
    assert sorted(set(sets["STS13"].genres)) == ["FNWN", "OnWN", "headlines"]
    train = read_sick(REAL / "SICK" / "SICK_train.txt")
    kept, n_dropped = drop_listed(train, read_excluded(REAL.parent / "exclude.txt"))
    assert (len(kept), n_dropped) == (60, 4440)

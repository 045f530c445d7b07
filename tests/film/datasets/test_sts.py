import os
from pathlib import Path

import numpy as np
import pytest

from film.datasets import (
    ScoredPairs,
    drop_excluded,
    read_excluded,
    read_sick,
    read_sts_benchmark,
    read_sts_sets,
    read_sts_year,
)
from film.text import text_hash

REAL = Path(os.environ.get("FILM_DATA", "")) / "sts"
ROW = "main-news\tMSRpar\t2012dev\t{id}\t{score}\t{first}\t{second}"


def write(folder: Path, *lines: str, end: str = "\n", encoding: str = "utf-8") -> Path:
    path = folder / "sts-dev.csv"
    path.write_bytes("".join(line + end for line in lines).encode(encoding))
    return path


def row(first: str = "a b", second: str = "a c", score: str = "2.500", id: int = 1) -> str:
    return ROW.format(id=id, score=score, first=first, second=second)


def test_sentences_scores_and_genres_are_read_as_written(tmp_path):
    data = read_sts_benchmark(write(tmp_path, row("A  man.", "Ein Mönch №5"), row(score="5")))
    assert data.pairs.tolist() == [["A  man.", "Ein Mönch №5"], ["a b", "a c"]]
    assert data.pairs.dtype == object
    assert data.scores.tolist() == [2.5, 5.0]
    assert data.scores.dtype == np.float64
    assert data.genres.tolist() == ["main-news", "main-news"]


def test_quotation_marks_are_ordinary_characters(tmp_path):
    data = read_sts_benchmark(write(tmp_path, row('"Open', 'said "no"'), row('" again', "x")))
    assert data.pairs.tolist() == [['"Open', 'said "no"'], ['" again', "x"]]


def test_licence_columns_after_the_sentences_are_dropped(tmp_path):
    data = read_sts_benchmark(write(tmp_path, row() + "\tlicence\tmore"))
    assert data.pairs.tolist() == [["a b", "a c"]]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("main-news\tMSRpar\t2012dev\t1\t3.0\talone", "line 3: 7 columns expected, 6 found"),
        (row(score="high"), "line 3: score must be a number from 0 to 5, got 'high'"),
        (row(score="nan"), "line 3: score must be a number from 0 to 5, got 'nan'"),
        (row(score="5.1"), "line 3: score must be a number from 0 to 5, got '5.1'"),
        (row(score="-1"), "line 3: score must be a number from 0 to 5, got '-1'"),
        (row(first=" "), "line 3: sentence1 is missing"),
        (row(second=""), "line 3: sentence2 is missing"),
    ],
)
def test_wrong_rows_are_named_by_line(tmp_path, line, reason):
    with pytest.raises(ValueError, match="1 wrong rows of 2") as caught:
        read_sts_benchmark(write(tmp_path, row(), "", line))
    assert reason in str(caught.value)


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"sts-dev\.csv holds no scored pair"):
        read_sts_benchmark(write(tmp_path, "", ""))


def test_arrays_of_different_lengths_are_refused():
    pairs = np.array([["a", "b"]], dtype=object)
    with pytest.raises(ValueError, match=r"scores must have shape \(1,\)"):
        ScoredPairs(pairs, np.zeros(2), np.array(["g"], dtype=object))
    with pytest.raises(ValueError, match=r"pairs must have shape \(n, 2\)"):
        ScoredPairs(pairs[0], np.zeros(2), np.array(["g"] * 2, dtype=object))


SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


def sick_row(first="A boy", second="A girl", score="3.6"):
    return f"4\t{first}\t{second}\t{score}\tNEUTRAL"


def test_sick_is_read_as_written(tmp_path):
    data = read_sick(write(tmp_path, SICK, sick_row('The "boy\x85', "№5"), sick_row(score="1")))
    assert data.pairs.tolist() == [['The "boy\x85', "№5"], ["A boy", "A girl"]]
    assert data.pairs.dtype == data.genres.dtype == object
    assert data.scores.tolist() == [3.6, 1.0] and data.scores.dtype == np.float64
    assert data.genres.tolist() == ["SICK", "SICK"]


def test_sick_with_windows_line_ends_in_places_byte_order_mark_and_blank_lines(tmp_path):
    header = "relatedness_score\tsentence_A\tmore\tsentence_B\r"
    path = write(tmp_path, header, "5\ta\t-\tb", "", "1.5\tc\t-\td\r", encoding="utf-8-sig")
    data = read_sick(path)
    assert data.pairs.tolist() == [["a", "b"], ["c", "d"]]
    assert data.scores.tolist() == [5, 1.5]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("4\tA boy\tA girl\t3.6", "line 4: 5 columns expected, 4 found"),
        (sick_row() + "\tmore", "line 4: 5 columns expected, 6 found"),
        (sick_row(score=""), "line 4: score must be a number from 1 to 5, got ''"),
        (sick_row(score="0.9"), "line 4: score must be a number from 1 to 5, got '0.9'"),
        (sick_row(score="5.1"), "line 4: score must be a number from 1 to 5, got '5.1'"),
        (sick_row(first=""), "line 4: sentence1 is missing"),
        (sick_row(second=" "), "line 4: sentence2 is missing"),
    ],
)
def test_wrong_rows_of_sick_are_named_by_line(tmp_path, line, reason):
    with pytest.raises(ValueError, match=r"1 wrong rows of 2.*relatedness_score") as caught:
        read_sick(write(tmp_path, SICK, sick_row(), "", line))
    assert reason in str(caught.value)


def test_sick_without_its_header_or_rows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="line 1: the header lacks sentence_A, sentence_B, relat"):
        read_sick(write(tmp_path, sick_row()))
    with pytest.raises(ValueError, match="the header lacks sentence_B; expected"):
        read_sick(write(tmp_path, SICK.replace("sentence_B", "sentence_C"), sick_row()))
    with pytest.raises(ValueError, match="line 1: the header lacks"):
        read_sick(write(tmp_path))
    with pytest.raises(ValueError, match="holds no scored pair"):
        read_sick(write(tmp_path, SICK, ""))
    with pytest.raises(FileNotFoundError):
        read_sick(tmp_path / "none.txt")


def test_pairs_with_a_listed_sentence_are_dropped():
    pairs = np.array([["One!", "x"], ["y", "z"], ["x", "ONE"], ["z", "y"]], dtype=object)
    data = ScoredPairs(pairs, np.arange(4.0), np.array(list("abcd"), dtype=object))
    kept, n_dropped = drop_excluded(data, {text_hash("one"), text_hash("other")})
    assert n_dropped == 2
    assert kept.pairs.tolist() == [["y", "z"], ["z", "y"]]
    assert kept.scores.tolist() == [1, 3] and kept.genres.tolist() == ["b", "d"]
    nothing, n_dropped = drop_excluded(data, {text_hash(text) for text in ("x", "y")})
    assert len(nothing) == 0 and nothing.pairs.shape == (0, 2) and n_dropped == 4
    assert len(drop_excluded(nothing, set())[0]) == 0


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


@pytest.mark.parametrize(("n_inputs", "n_scores"), [(3, 2), (2, 3)])
def test_files_of_different_length_are_refused(tmp_path, n_inputs, n_scores):
    (tmp_path / "STS.input.images.txt").write_text("a\tb\n" * n_inputs)
    (tmp_path / "STS.gs.images.txt").write_text("1\n" * n_scores)
    message = rf"STS\.input\.images\.txt has {n_inputs} lines and STS\.gs\.images\.txt {n_scores},"
    with pytest.raises(ValueError, match=rf"{message}.*line 3 has no partner"):
        read_sts_year(tmp_path)


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
    kept, n_dropped = drop_excluded(train, read_excluded(REAL.parent / "exclude.txt"))
    assert (len(kept), n_dropped) == (60, 4440)

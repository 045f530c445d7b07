from pathlib import Path

import numpy as np
import pytest

from film.datasets import ScoredPairs, drop_listed, read_sick, read_sts_benchmark
from film.text import text_hash

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


def test_windows_line_ends_byte_order_mark_and_blank_lines(tmp_path):
    data = read_sts_benchmark(
        write(tmp_path, row(), "", row(second="last"), end="\r\n", encoding="utf-8-sig")
    )
    assert data.pairs[:, 1].tolist() == ["a c", "last"]
    assert data.genres[0] == "main-news"


def test_a_line_separator_inside_a_sentence_does_not_end_the_row(tmp_path):
    data = read_sts_benchmark(write(tmp_path, row("one\u2028still one\x85two")))
    assert data.pairs[0, 0] == "one\u2028still one\x85two"


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


def test_bytes_that_are_not_utf8_are_named_by_line(tmp_path):
    with pytest.raises(ValueError, match="line 2: not UTF-8"):
        read_sts_benchmark(write(tmp_path, "", row("caf\xe9"), encoding="latin-1"))


def test_many_wrong_rows_are_counted(tmp_path):
    with pytest.raises(ValueError, match=r"12 wrong rows of 12.*and 2 more"):
        read_sts_benchmark(write(tmp_path, *["bad"] * 12))


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"sts-dev\.csv holds no scored pair"):
        read_sts_benchmark(write(tmp_path, "", ""))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_sts_benchmark(tmp_path / "none.csv")


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


def test_bytes_of_sick_that_are_not_utf8_are_named_by_line(tmp_path):
    with pytest.raises(ValueError, match="line 2: not UTF-8"):
        read_sick(write(tmp_path, SICK, sick_row("caf\xe9"), encoding="latin-1"))


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
    kept, n_dropped = drop_listed(data, {text_hash("one"), text_hash("other")})
    assert n_dropped == 2
    assert kept.pairs.tolist() == [["y", "z"], ["z", "y"]]
    assert kept.scores.tolist() == [1, 3] and kept.genres.tolist() == ["b", "d"]
    nothing, n_dropped = drop_listed(data, {text_hash(text) for text in ("x", "y")})
    assert len(nothing) == 0 and nothing.pairs.shape == (0, 2) and n_dropped == 4
    assert len(drop_listed(nothing, set())[0]) == 0

import numpy as np
import pytest
from scipy.stats import rankdata

from film.datasets import afs_correlations, afs_folds, read_afs

HEADER = "regression_label,uniqueRowNo,datasetId_1,id_1,id_2,sentence_1,sentence_2"
FILES = ("ArgPairs_GC.csv", "ArgPairs_GM.csv", "ArgPairs_DP.csv")


def row(score="2.5", first="Guns kill.", second="People kill."):
    return f"{score},1,2,3,4,{first},{second}"


def write(folder, *lines, end="\n", encoding="utf-8", name=FILES[0]):
    for each in FILES:
        (folder / each).write_text(f"{HEADER}\n{row()}\n")
    content = "".join(line + end for line in (HEADER, *lines))
    (folder / name).write_bytes(content.encode(encoding) if encoding else content)
    return folder


def test_topics_come_in_their_order_with_their_pairs(tmp_path):
    data = read_afs(write(tmp_path, row("0", "a", "b"), row("5", "c", "d")))
    assert data.pairs[:2].tolist() == [["a", "b"], ["c", "d"]]
    assert data.scores.tolist() == [0, 5, 2.5, 2.5]
    assert data.genres.tolist() == ["gun control"] * 2 + ["gay marriage", "death penalty"]


def test_quotes_hold_commas_quotes_and_lines_together(tmp_path):
    data = read_afs(write(tmp_path, row(first='"One, ""two""\nthree"', second='"x"'), row()))
    assert data.pairs[0].tolist() == ['One, "two"\nthree', "x"]
    assert data.pairs[1].tolist() == ["Guns kill.", "People kill."]


@pytest.mark.parametrize("text", ["‘It’s’", "“so”", "a – b — c…", "• one", "“café”", "a\xa0b"])
def test_what_went_through_mac_roman_comes_back(tmp_path, text):
    # By the way that the damage went: UTF-8 read as Windows-1252, saved as Mac Roman.
    characters = (
        bytes([b]).decode("cp1252") if b != 0x9D else "\x9d" for b in text.encode("utf-8")
    )
    damaged = b"".join(
        b"\x9d" if c == "\x9d" else b"_" if c == "¦" else c.encode("mac_roman") for c in characters
    )
    assert damaged != text.encode()
    folder = write(tmp_path, row())
    (folder / FILES[1]).write_bytes(f"{HEADER}\n1,1,2,3,4,".encode() + damaged + b",x\n")
    assert read_afs(folder).pairs[1].tolist() == [text, "x"]


def test_other_bytes_of_a_line_are_windows_1252_and_utf8_stays(tmp_path):
    lines = (row(first="caf\xe9 \x93so\x94"), row(first="x"))
    data = read_afs(write(tmp_path, *lines, encoding="latin-1"))
    assert data.pairs[0, 0] == "café “so”"
    assert read_afs(write(tmp_path, row(first="é’ ‰ÛÏ"))).pairs[0, 0] == "é’ ‰ÛÏ"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (row(score=""), "line 3: regression_label must be a number from 0 to 5, got ''"),
        (row(score="5.1"), "got '5.1'"),
        (row(score="nan"), "got 'nan'"),
        (row(first=" "), "line 3: sentence_1 is missing"),
        (row(second=""), "line 3: sentence_2 is missing"),
        ("1,2,3", "line 3: 7 columns expected, 3 found"),
        (row(first="a\x81b"), "line 3: byte 0x81 is invalid; save the file as UTF-8"),
    ],
)
def test_wrong_rows_are_named_by_file_and_line(tmp_path, line, reason):
    with pytest.raises(ValueError, match=r"ArgPairs_GC\.csv has 1 wrong rows of 2") as caught:
        read_afs(write(tmp_path, row(), line, encoding="latin-1"))
    assert reason in str(caught.value)


def test_missing_columns_rows_quotes_and_files_are_named(tmp_path):
    folder = write(tmp_path)
    with pytest.raises(ValueError, match=r"GC\.csv holds a header but no rows"):
        read_afs(folder)
    (folder / FILES[0]).write_text("label,sentence_1\n1,a\n")
    with pytest.raises(ValueError, match="lacks the columns regression_label, sentence_2; its"):
        read_afs(folder)
    with pytest.raises(ValueError, match=r"line 4: broken quoting .* from line 2 on"):
        read_afs(write(tmp_path, row(first='"open'), row(), row()))
    (folder / FILES[2]).unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks ArgPairs_DP\.csv; the set is public"):
        read_afs(folder)


def correlations(first, second):
    ranks = rankdata(first), rankdata(second)
    return [float(np.corrcoef(*values)[0, 1]) for values in ((first, second), ranks)]


def test_folds_part_the_pairs_evenly_and_by_seed():
    folds = afs_folds(23)
    assert sorted(np.bincount(folds).tolist()) == [2] * 7 + [3] * 3
    assert folds.tolist() == afs_folds(23).tolist() != afs_folds(23, seed=1).tolist()
    for n_folds in (1, 24):
        with pytest.raises(ValueError, match=f"n_folds={n_folds} must be from 2 to the number"):
            afs_folds(23, n_folds)


def test_correlations_are_numpys_and_means_over_folds():
    rng = np.random.default_rng(0)
    scores, predicted = rng.integers(0, 6, 60).astype(float), rng.normal(size=60)
    folds = afs_folds(60, 4)
    expected = pytest.approx(correlations(scores, predicted), abs=1e-12)
    assert list(afs_correlations(scores, predicted)) == expected
    parts = [folds == number for number in range(4)]
    expected = np.mean([correlations(scores[part], predicted[part]) for part in parts], axis=0)
    assert list(afs_correlations(scores, predicted, folds)) == pytest.approx(expected, abs=1e-12)
    # A scale of its own for each fold is no fault of the model of that fold.
    scaled = afs_correlations(scores, predicted * (folds + 1) + folds, folds)
    assert list(scaled) == pytest.approx(expected, abs=1e-12)


def test_what_cannot_be_correlated_is_refused_or_zero():
    assert afs_correlations([1, 2, 3], [1, 1, 1]) == (0, 0)
    with pytest.raises(ValueError, match=r"predicted\[1\]=nan must be a finite number"):
        afs_correlations([1, 2], [1, np.nan])
    with pytest.raises(ValueError, match="must have the same length"):
        afs_correlations([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="every fold needs two pairs"):
        afs_correlations([1, 2, 3], [1, 2, 3], [0, 0, 1])

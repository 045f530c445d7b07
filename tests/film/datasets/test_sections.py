import gzip

import pytest

from film.datasets import read_sections, triplet_accuracy

HEADER = "Id,Title,Sentence1,Sentence2,Sentence3"


def write(folder, *lines, end="\n", encoding="utf-8"):
    path = folder / "test.csv"
    path.write_bytes("".join(line + end for line in lines).encode(encoding))
    return path


def test_anchor_same_and_other_are_read_as_written(tmp_path):
    rows = ('1,Tea,"Tea, hot.",It ""is"" drunk.,"Grown ""high"".\nIn Asia."', "2,Tea,a,b,c")
    triplets = read_sections(write(tmp_path, HEADER, *rows))
    assert triplets[0].tolist() == [
        "Tea, hot.",
        'It ""is"" drunk.',
        'Grown "high".\nIn Asia.',
    ]
    assert triplets[1].tolist() == ["a", "b", "c"]
    assert triplets.dtype == object


def test_columns_are_found_by_name_and_not_by_place(tmp_path):
    path = write(tmp_path, "Sentence3, sentence1 ,Sentence2", "c,a,b")
    assert read_sections(path).tolist() == [["a", "b", "c"]]


def test_byte_order_mark_windows_line_ends_and_gzip_are_accepted(tmp_path):
    path = write(tmp_path, HEADER, "", "1,T,a,b,c", end="\r\n", encoding="utf-8-sig")
    assert read_sections(path).tolist() == [["a", "b", "c"]]
    content = path.read_bytes()
    path.write_bytes(gzip.compress(content))
    assert read_sections(path).tolist() == [["a", "b", "c"]]
    path.write_bytes(gzip.compress(content)[:-9])
    with pytest.raises(ValueError, match=r"compressed file is cut or broken .*download it again"):
        read_sections(path)


def test_missing_columns_and_wrong_rows_are_named(tmp_path):
    with pytest.raises(ValueError, match="lacks the columns Sentence1, Sentence3; its header has"):
        read_sections(write(tmp_path, "Id,Sentence2", "1,b"))
    with pytest.raises(ValueError, match="line 3: Sentence2 is missing; line 4: 5 columns expect"):
        read_sections(write(tmp_path, HEADER, "1,T,a,b,c", "2,T,a, ,c", "3,T,a"))
    with pytest.raises(ValueError, match="line 2: not UTF-8"):
        read_sections(write(tmp_path, HEADER, "1,T,caf\xe9,b,c", encoding="cp1252"))
    with pytest.raises(ValueError, match="broken quoting"):
        read_sections(write(tmp_path, HEADER, '1,T,"a"b,b,c'))
    with pytest.raises(ValueError, match="lacks the columns"):
        read_sections(write(tmp_path))


def test_accuracy_counts_strict_successes():
    assert triplet_accuracy([0.9, 0.4, 0.5, 0.3], [0.1, 0.6, 0.5, 0.2]) == 0.5
    for wrong in (([], []), ([1.0], [1.0, 2.0])):
        with pytest.raises(ValueError, match="one similarity per triplet"):
            triplet_accuracy(*wrong)
    with pytest.raises(ValueError, match="NaN"):
        triplet_accuracy([float("nan")], [0.0])

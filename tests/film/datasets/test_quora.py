"""Every public form of the Quora file, and what can be wrong with it."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from film.datasets import QuestionPairs, drop_excluded, read_excluded, read_quora
from film.text import text_hash

HEADER = "id,qid1,qid2,question1,question2,is_duplicate\n"
REAL = Path(os.environ.get("FILM_DATA", "")) / "quora"
needs_data = pytest.mark.skipif(
    not os.environ.get("FILM_DATA") or not REAL.is_dir(),
    reason="FILM_DATA does not name a folder with quora/train.csv",
)


@pytest.fixture
def write(tmp_path):
    def written(content, name="pairs.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return written


def labels(data):
    assert data.y is not None
    return data.y


def test_kaggle_train(write):
    path = write(
        '"id","qid1","qid2","question1","question2","is_duplicate"\n'
        '"0","1","2","What is ""it"", then?","Why?","0"\n'
        '"7","3","4","How?\nReally how?","How, really?","1"\n'
    )
    data = read_quora(path)
    assert data.pairs.tolist() == [
        ['What is "it", then?', "Why?"],
        ["How?\nReally how?", "How, really?"],
    ]
    assert data.pairs.dtype == object and type(data.pairs[0, 0]) is str
    assert labels(data).tolist() == [0, 1]
    assert np.issubdtype(labels(data).dtype, np.integer)
    assert data.ids.tolist() == ["0", "7"]
    assert (data.n_skipped, data.skipped) == (0, ())


def test_kaggle_test_has_no_labels(write):
    data = read_quora(write('"test_id","question1","question2"\n"11","a?","b?"\n'))
    assert data.y is None
    assert data.ids.tolist() == ["11"]


def test_original_tsv_with_quoted_records_over_two_lines(write):
    path = write(
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
        '0\t1\t2\t"How, in ""C"",\nis it done?"\tA 5" disk?\t1\n'
        "1\t3\t4\tWhat, no quotes?\tNone.\t0\n",
        "quora_duplicate_questions.tsv",
    )
    data = read_quora(path)
    assert data.pairs.tolist() == [
        ['How, in "C",\nis it done?', 'A 5" disk?'],
        ["What, no quotes?", "None."],
    ]
    assert labels(data).tolist() == [1, 0]


def test_tokenised_tsv_has_no_header_and_no_quoting(write):
    path = write(
        "1\t\"what 's that ?\tit 's \"\" what ?\t404\n0\t`` a '' ?\tb , c\t405\n", "dev.tsv"
    )
    data = read_quora(path)
    assert data.pairs.tolist() == [["\"what 's that ?", 'it \'s "" what ?'], ["`` a '' ?", "b , c"]]
    assert labels(data).tolist() == [1, 0]
    assert data.ids.tolist() == ["404", "405"]


def test_question_columns_alone_get_numbered(write):
    data = read_quora(write("question1,question2\na b,c d\ne f,g h\n"))
    assert data.y is None
    assert data.ids.tolist() == ["0", "1"]


def test_columns_in_another_order(write):
    data = read_quora(write("is_duplicate,question2,question1\n1,second,first\n"))
    assert data.pairs.tolist() == [["first", "second"]]
    assert labels(data).tolist() == [1]


def test_hostile_unicode_comes_through(write):
    questions = ["什么\u2028是\uff1f\u2029", "\u202eabc\x00\x85\x0b\x0c", "👩\u200d💻" * 50, "Z͑ͫa̴"]
    rows = "".join(f"{i},1,2,{text},x,1\n" for i, text in enumerate(questions))
    assert read_quora(write(HEADER + rows)).pairs[:, 0].tolist() == questions
    rows = "".join(f"1\t{text}\tx\t{i}\n" for i, text in enumerate(questions))
    assert read_quora(write(rows, "t.tsv")).pairs[:, 0].tolist() == questions


WRONG = (
    HEADER  # line 1
    + '0,1,2,"right\nright?",b,1\n'  # 2 and 3
    + "1,1,2,,b,0\n"  # 4
    + '2,1,2,"a\na",  ,0\n'  # 5 and 6
    + HEADER  # 7
    + "3,1,2,a,b,2\n"  # 8
    + "4,1,2,a,b\n"  # 9
    + "x5,1,2,a,b,0\n"  # 10
    + '6,1,2,"a" a,b,0\n'  # 11
    + "7,1,two,a,b,0\n"  # 12
    + "8,1,2,last,b,0\n"  # 13
)
FAULTS = (
    (4, "question1 is missing"),
    (5, "question2 is missing"),
    (7, "repeated header"),
    (8, "is_duplicate must be 0 or 1, got '2'"),
    (9, "6 columns expected, 5 found"),
    (10, "id must be a whole number, got 'x5'"),
    (11, "broken quoting"),
    (12, "qid2 must be a whole number, got 'two'"),
)


def test_all_wrong_rows_are_named_in_one_error(write):
    with pytest.raises(ValueError, match="8 wrong rows of 10") as info:
        read_quora(write(WRONG))
    for line, reason in FAULTS:
        assert f"line {line}: {reason}" in str(info.value)
    assert "on_error='skip'" in str(info.value) and "pairs.csv" in str(info.value)


def test_wrong_rows_are_skipped_and_counted(write):
    data = read_quora(write(WRONG), on_error="skip")
    assert data.pairs[:, 0].tolist() == ["right\nright?", "last"]
    assert data.ids.tolist() == ["0", "8"] and labels(data).tolist() == [1, 0]
    assert data.n_skipped == len(FAULTS)
    assert [line for line, _ in data.skipped] == [line for line, _ in FAULTS]
    for (_, reason), (_, expected) in zip(data.skipped, FAULTS, strict=True):
        assert reason.startswith(expected)


def test_of_many_wrong_rows_ten_are_shown(write):
    with pytest.raises(ValueError, match=r"line 11: .*; and 15 more") as info:
        read_quora(write(HEADER + "0,1,2,,b,1\n" * 25 + "0,1,2,a,b,1\n"))
    assert str(info.value).count("line ") == 10


def test_joined_files_with_a_mark_and_another_header_inside(write):
    path = write("question1,question2\na,b\n\ufeffquestion1,question2\nc,d\n" + HEADER)
    data = read_quora(path, on_error="skip")
    assert data.skipped == ((3, "repeated header"), (5, "repeated header"))


def test_broken_test_ids(write):
    path = write('"test_id","question1","question2"\n"0","a","b"\nlife in dublin?"\n"2","c","d"\n')
    data = read_quora(path, on_error="skip")
    assert data.ids.tolist() == ["0", "2"]
    assert [line for line, _ in data.skipped] == [3]
    path = write("test_id,question1,question2\n0,a,b\nHow?,c,d\n1.5,c,d\n²,c,d\n")
    assert [line for line, _ in read_quora(path, on_error="skip").skipped] == [3, 4, 5]


@pytest.mark.parametrize("n_after", [3, 500])
def test_a_quote_that_never_closes_costs_one_row(write, n_after):
    rows = "".join(f"{i},1,2,a{i},b,0\n" for i in range(1, n_after + 1))
    data = read_quora(write(HEADER + '0,1,2,"open,b,0\n' + rows), on_error="skip")
    assert len(data) == n_after
    assert [line for line, _ in data.skipped] == [2]
    assert "quoting" in data.skipped[0][1]


@pytest.mark.parametrize(
    ("n_between", "closing"), [(20, 'x" \tb'), (20, 'x"\tb\tc'), (300, 'x"\tb')]
)
def test_a_quote_closed_by_a_stray_one_later_costs_one_row(write, n_between, closing):
    rows = "".join(f"a{i}\tb\n" for i in range(n_between))
    path = write(f'question1\tquestion2\n"open\tb\n{rows}{closing}\n', "pairs.tsv")
    data = read_quora(path, on_error="skip")
    assert data.skipped[0][0] == 2 and "quot" in data.skipped[0][1]
    assert data.pairs[:n_between].tolist() == [[f"a{i}", "b"] for i in range(n_between)]


def test_wrong_tokenised_rows(write):
    path = write("1\ta\tb\t0\n2\ta\tb\t1\n0\ta\t\t2\n0\ta\tb\n0\tc\td\t4\n", "t.tsv")
    data = read_quora(path, on_error="skip")
    assert data.ids.tolist() == ["0", "4"]
    assert [line for line, _ in data.skipped] == [2, 3, 4]


def test_bytes_that_are_not_utf8_are_named_by_line(write):
    content = HEADER.encode() + b'0,1,2,a,b,1\n1,1,2,"two\ncaf\xe9",b,1\n'
    with pytest.raises(ValueError, match=r"line 3: line 4 is not UTF-8 \(byte 4 is 0xe9"):
        read_quora(write(content))
    assert read_quora(write(content), on_error="skip").ids.tolist() == ["0"]
    with pytest.raises(ValueError, match=r"line 1: not UTF-8"):
        read_quora(write(HEADER.encode("utf-16")), on_error="skip")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("text_a,text_b\nx,y\n", r"\['text_a', 'text_b'\]"),
        ("a\tb\tc\td\n1\t2\t3\t4\n", r"\['a', 'b', 'c', 'd'\]"),
        (HEADER.replace("is_duplicate", "is_dupliacte") + "0,1,2,a,b,1\n", "'is_dupliacte'"),
        ("question1,question2,question2\na,b,c\n", "named twice"),
        ("just some text\n", r"\['just some text'\]"),
    ],
)
def test_unknown_columns_are_listed(write, content, found):
    with pytest.raises(ValueError, match=found) as info:
        read_quora(write(content), on_error="skip")
    assert "question1" in str(info.value)


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", "  \r\n"])
def test_empty_files(write, content):
    with pytest.raises(ValueError, match=r"pairs\.csv is empty"):
        read_quora(write(content))


def test_files_without_a_right_row(write):
    with pytest.raises(ValueError, match="header but no question pairs"):
        read_quora(write(HEADER))
    with pytest.raises(ValueError, match="line 2: question1 is missing; no valid row is left"):
        read_quora(write(HEADER + "0,1,2,,b,1\n"), on_error="skip")


def test_on_error_is_checked_before_the_file(tmp_path):
    with pytest.raises(ValueError, match="on_error must be 'raise' or 'skip', got 'ignore'"):
        read_quora(tmp_path / "gone.csv", on_error="ignore")


def test_reading_is_linear_in_the_rows(write):
    path = write(HEADER + "".join(f'{i},1,2,"a {i}","b\n{i}",0\n' for i in range(40_000)))
    start = time.process_time()
    assert len(read_quora(path)) == 40_000
    # About 0.3 s; a reader that rescans would take minutes.
    assert time.process_time() - start < 5


def test_excluded_sentences_are_dropped_and_counted(write):
    path = write(f"{text_hash('A b, c!')}\r\n\n{text_hash('x')}\n", "exclude.txt")
    excluded = read_excluded(path)
    assert excluded == {text_hash("a b c"), text_hash("x")}
    data = read_quora(
        write("id,question1,question2,is_duplicate\n0,a,b,1\n1,q,A B C,0\n2,X?,q,1\n")
    )
    kept, n_dropped = drop_excluded(data, excluded)
    assert n_dropped == 2
    assert (kept.pairs.tolist(), labels(kept).tolist(), kept.ids.tolist()) == (
        [["a", "b"]],
        [1],
        ["0"],
    )
    assert len(data) == 3, "the argument stays as it was"
    unlabelled = QuestionPairs(data.pairs, None, data.ids)
    assert drop_excluded(unlabelled, excluded)[0].y is None
    assert drop_excluded(drop_excluded(data, excluded)[0], {text_hash("a")})[0].pairs.shape == (
        0,
        2,
    )


@pytest.mark.parametrize("line", ["not a hash", "0123456789abcde", "0123456789abcdef0"])
def test_a_list_that_is_no_list_of_hashes(write, line):
    with pytest.raises(ValueError, match=r"line 2: .* is not a hash of 16"):
        read_excluded(write(f"0123456789abcdef\n{line}\n"))


@pytest.mark.parametrize(
    ("pairs", "y", "ids", "message"),
    [
        ((3,), (3,), (3,), "pairs must have shape"),
        ((3, 3), (3,), (3,), "pairs must have shape"),
        ((3, 2), (2,), (3,), "y must have shape"),
        ((3, 2), (3,), (4,), "ids must have shape"),
    ],
)
def test_question_pairs_must_fit_together(pairs, y, ids, message):
    with pytest.raises(ValueError, match=message):
        QuestionPairs(np.empty(pairs, object), np.zeros(y, int), np.empty(ids, object))
    with pytest.raises(ValueError, match="n_skipped is 2"):
        QuestionPairs(np.empty((1, 2), object), None, np.empty(1, object), n_skipped=2)


@needs_data
@pytest.mark.parametrize(
    ("name", "n_pairs", "share", "n_excluded"),
    [
        ("train.csv", 38_727, 0.364, 2),
        ("dev.csv", 5_397, 0.383, 5_397),
        ("test.csv", 7_844, None, 7_844),
        ("extra_duplicates.csv", 54_427, None, 0),
    ],
)
def test_real_files(name, n_pairs, share, n_excluded):
    data = read_quora(REAL / name)
    assert len(data) == n_pairs and data.n_skipped == 0
    if share is None:
        assert data.y is None
    else:
        assert labels(data).mean() == pytest.approx(share, abs=0.0005)
    assert len(set(data.ids.tolist())) == n_pairs
    assert drop_excluded(data, read_excluded(REAL.parent / "exclude.txt"))[1] == n_excluded


@pytest.mark.parametrize(("n_lines", "n_skipped"), [(100, 0), (101, 101)])
def test_a_record_has_at_most_100_lines(write, n_lines, n_skipped):
    question = "\n".join(f"line {i}" for i in range(n_lines))
    path = write(f'{HEADER}0,1,2,"{question}",b,0\n6,7,8,c,d,1\n')
    data = read_quora(path, on_error="skip")
    assert (data.n_skipped, len(data)) == (n_skipped, 1 if n_skipped else 2)


def test_a_record_is_not_blamed_for_lines_that_it_gave_back(write):
    """The quote that opens in line 2 never closes, and line 3 is another record, not UTF-8."""
    path = write(HEADER.encode() + b'0,1,2,"a,b,0\n3,4,5,\xe9,b,0\n6,7,8,c,d,1\n')
    data = read_quora(path, on_error="skip")
    assert data.pairs.tolist() == [["c", "d"]]
    assert [line for line, _ in data.skipped] == [2, 3]
    assert "quoting" in data.skipped[0][1]
    assert "line 3" not in data.skipped[0][1]


def test_a_quoted_record_of_two_lines_has_as_many_cells_as_the_header(write):
    path = write(f'{HEADER}0,1,2,"a,b,0\n3",4,5,6\n6,7,8,c,d,1\n')
    data = read_quora(path, on_error="skip")
    assert data.pairs.tolist() == [["c", "d"]]
    assert data.skipped[0] == (2, "a quote opens and lines up to 3 do not fit")

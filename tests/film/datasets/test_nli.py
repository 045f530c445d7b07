import gzip
import json

import numpy as np
import pytest

from film.datasets import LabelledPairs, drop_excluded, read_nli
from film.text import text_hash

TABLE = "gold_label\tsentence1_parse\tsentence1\tsentence2\tlabel1"
ALL_NLI = "split\tdataset\tfilename\tsentence1\tsentence2\tlabel"


def write(folder, *lines, end="\n", encoding="utf-8", name="nli.txt"):
    path = folder / name
    path.write_bytes("".join(line + end for line in lines).encode(encoding))
    return path


def item(label="neutral", first="A boy.", second: object = "Two boys."):
    return json.dumps({"gold_label": label, "sentence1": first, "sentence2": second, "x": [1]})


def test_json_lines_and_tables_hold_the_same(tmp_path):
    rows = [("neutral", 'A "boy.', "Two\u2028é."), ("-", "a", "b"), ("entailment", "c", "d")]
    rows += [("contradiction", "e", " ")]
    lines = [item(*row) for row in rows]
    table = [TABLE, *("\t".join([label, "( )", *texts, label]) for label, *texts in rows)]
    all_nli = [ALL_NLI, *("\t".join(["train", "SNLI", "f", b, c, a]) for a, b, c in rows)]
    for content in (lines, table, all_nli):
        data = read_nli(write(tmp_path, *content))
        assert data.pairs.tolist() == [['A "boy.', "Two\u2028é."], ["c", "d"]]
        assert data.labels.tolist() == ["neutral", "entailment"]
        assert data.n_skipped == 2


def test_marks_line_ends_blank_lines_and_gzip_are_accepted(tmp_path):
    for content in ([item(), item("entailment")], [TABLE, "neutral\t\tA boy.\tTwo boys.\t"]):
        path = write(tmp_path, "", *content, end="\r\n", encoding="utf-8-sig")
        path.write_bytes(gzip.compress(path.read_bytes()))
        assert read_nli(path).pairs[0].tolist() == ["A boy.", "Two boys."]


def test_a_split_is_chosen_by_its_column(tmp_path):
    lines = [ALL_NLI, *(f"{split}\tS\tf\ta\t{split}\tneutral" for split in ("train", "dev"))]
    assert read_nli(write(tmp_path, *lines), "dev").pairs.tolist() == [["a", "dev"]]
    assert len(read_nli(write(tmp_path, *lines))) == 2
    with pytest.raises(ValueError, match="no pair of the split 'test'"):
        read_nli(write(tmp_path, *lines), "test")
    with pytest.raises(ValueError, match="lacks the columns split"):
        read_nli(write(tmp_path, TABLE, "neutral\t\ta\tb\t"), "dev")
    with pytest.raises(ValueError, match="split='dev' is for tables"):
        read_nli(write(tmp_path, item()), "dev")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (item("maybe"), "line 2: the label must be contradiction, entailment, neutral or -, got"),
        ("[1]", "line 2: not a JSON object"),
        ("{", "line 2: not JSON ("),
        (item(second=3), "line 2: sentence2 is not text"),
        ('{"gold_label": "neutral", "sentence1": "a"}', "line 2: sentence2 is missing"),
        ("caf\xe9", "line 2: not UTF-8"),
    ],
)
def test_wrong_lines_are_named(tmp_path, line, reason):
    with pytest.raises(ValueError, match="1 wrong rows of 2") as caught:
        read_nli(write(tmp_path, item(), line, encoding="latin-1"))
    assert reason in str(caught.value)


def test_wrong_tables_are_named(tmp_path):
    with pytest.raises(ValueError, match="lacks the columns gold_label or label, sentence2; its"):
        read_nli(write(tmp_path, "sentence1\tscore", "a\t1"))
    with pytest.raises(ValueError, match="line 2: 5 columns expected, 2 found"):
        read_nli(write(tmp_path, TABLE, "neutral\ta"))
    with pytest.raises(ValueError, match="line 2: the label must be"):
        read_nli(write(tmp_path, TABLE, "0\t\ta\tb\t"))
    with pytest.raises(ValueError, match="no pair with one of the labels"):
        read_nli(write(tmp_path, TABLE, "-\t\ta\tb\t"))


def test_excluded_sentences_are_dropped_with_their_labels():
    pairs = np.array([["a", "b"], ["c", "d"]], dtype=object)
    data = LabelledPairs(pairs, np.array(["neutral", "entailment"], dtype=object), 3)
    kept, n_dropped = drop_excluded(data, {text_hash("b")})
    assert (kept.labels.tolist(), n_dropped, kept.n_skipped) == (["entailment"], 1, 3)
    with pytest.raises(ValueError, match=r"labels must have shape \(2,\)"):
        LabelledPairs(pairs, np.array(["neutral"], dtype=object))

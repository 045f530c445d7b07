"""Files as people and programs leave them: read rightly, or refused by file, line and remedy."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest

from film.datasets import (
    read_afs,
    read_banking77,
    read_clinc150,
    read_excluded,
    read_ists,
    read_nli,
    read_quora,
    read_sections,
    read_sick,
    read_sts_benchmark,
    read_sts_year,
    read_wa,
)

GENRE = "main-news\tMSRpar\t2012test\t"
WA = """<sentence id="1" status="">
// A cat
// It
<source>
1 A :
2 cat :
</source>
<translation>
1 It :
</translation>
<alignment>
1 2 <==> 1 // EQUI // 5 // A cat <==> It
</alignment>
</sentence>
"""
TEXTS = {
    "quora": "id,qid1,qid2,question1,question2,is_duplicate\n0,1,2,Why?,How?,1\n1,3,4,a,b,0\n",
    "sts_benchmark": f"{GENRE}24\t2.5\ta\tb\n{GENRE}25\t5\tc\td\n",
    "sick": "pair_ID\tsentence_A\tsentence_B\trelatedness_score\n1\ta\tb\t3.3\n2\tc\td\t5\n",
    "sts_year": "a\tb\nc\td\n",
    "wa": WA,
    "ists": "[ A cat ]\n",
    "nli": "gold_label\tsentence1\tsentence2\nneutral\ta\tb\nentailment\tc\td\n",
    "nli_lines": '{"gold_label": "neutral", "sentence1": "a", "sentence2": "b"}\n' * 2,
    "sections": "id,Sentence1,Sentence2,Sentence3\n0,a,b,c\n1,d,e,f\n",
    "afs": "regression_label,sentence_1,sentence_2\n2.5,a,b\n0,c,d\n",
    "banking77": "text,category\na,b\nc,d\n",
    "clinc150": '{"train": [["a", "b"], ["c", "d"]]}\n',
    "excluded": "aed7b9613b8c8ba9\n",
}


def reading(kind, folder, content):
    """Put the content where a reader looks for it, and read."""
    data = content if isinstance(content, bytes) else content.encode()
    path = folder / "own.txt"
    if kind == "sts_year":
        path = folder / "STS.input.own.txt"
        (folder / "STS.gs.own.txt").write_text("1\n2\n")
    elif kind == "ists":
        (folder / "STSint.input.own.wa").write_text(WA)
        path = folder / "STSint.input.own.sent1.chunk.txt"
        (folder / "STSint.input.own.sent2.chunk.txt").write_text("[ It ]\n")
    elif kind == "afs":
        path = folder / "ArgPairs_GC.csv"
        for topic in ("GM", "DP"):
            (folder / f"ArgPairs_{topic}.csv").write_text(TEXTS["afs"])
    if data:
        path.write_bytes(data)
    read = {
        "quora": read_quora, "sts_benchmark": read_sts_benchmark, "sick": read_sick,
        "sts_year": lambda path: read_sts_year(path.parent), "wa": read_wa,
        "ists": lambda path: read_ists(path.parent, "own"), "nli": read_nli, "nli_lines": read_nli,
        "sections": read_sections, "afs": lambda path: read_afs(path.parent),
        "banking77": lambda path: read_banking77([path]), "clinc150": read_clinc150,
        "excluded": read_excluded,
    }  # fmt: skip
    return read[kind](path)


@pytest.mark.parametrize("kind", TEXTS)
def test_marks_line_ends_blank_lines_and_gzip_change_nothing(tmp_path, kind):
    text = TEXTS[kind]
    n_rows = len(reading(kind, tmp_path, text))
    odd = ["\ufeff" + text, text.replace("\n", "\r\n"), text.rstrip("\n"),
           gzip.compress(text.encode())]  # fmt: skip
    if kind != "ists":
        odd.append(text + "\n\n")
    if kind not in ("sts_year", "ists"):  # whose lines belong to those of another file
        odd.append("\n\n" + text)
    for content in odd:
        assert len(reading(kind, tmp_path, content)) == n_rows, content


@pytest.mark.parametrize("kind", sorted(TEXTS.keys() - {"afs"}))
def test_bytes_that_are_no_text_are_named_by_file_and_line(tmp_path, kind):
    # 0x81 stands for nothing in Windows-1252 either, which the alignments may be in.
    line, _, rest = TEXTS[kind].encode().partition(b"\n")
    fault = r"(not UTF-8|neither UTF-8 nor Windows-1252) \(byte 2 is 0x81; save the file as UTF-8\)"
    with pytest.raises(ValueError, match=rf"own.*line 1: {fault}"):
        reading(kind, tmp_path, line[:1] + b"\x81" + line[1:] + b"\n" + rest)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_place_without_a_file_is_named(tmp_path, kind):
    with pytest.raises(FileNotFoundError):
        reading(kind, tmp_path, "")
    (tmp_path / "own.txt").mkdir()
    if kind not in ("sts_year", "ists", "afs"):
        with pytest.raises(IsADirectoryError, match="is a folder; give the path of a file inside"):
            reading(kind, tmp_path, "")


def zipped(data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("own.csv", data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (zipped, r"line 1: a zip archive; unpack it"),
        (bz2.compress, r"line 1: compressed by bzip2; unpack it"),
        (lzma.compress, r"line 1: compressed by xz; unpack it"),
        (lambda data: data.decode().encode("utf-16"), "line 1: not UTF-8 but UTF-16; save the"),
        (lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"), "not UTF-8 but UTF-16"),
        (lambda data: gzip.compress(data)[:-9], "line 0: the compressed file is cut or broken"),
    ],
)
@pytest.mark.parametrize("kind", TEXTS)
def test_files_of_another_kind_are_named_with_the_remedy(tmp_path, kind, change, message):
    with pytest.raises(ValueError, match=message):
        reading(kind, tmp_path, change(TEXTS[kind].encode()))


@pytest.mark.parametrize("kind", sorted(TEXTS.keys() - {"wa", "ists", "nli_lines", "excluded"}))
def test_lone_carriage_returns_never_join_lines_in_silence(tmp_path, kind):
    content = TEXTS[kind].replace("\n", "\r")
    if kind == "clinc150":  # white space in JSON
        assert len(reading(kind, tmp_path, content)) == 2
        return
    with pytest.raises(ValueError, match=r"line 1: .*carriage return.*; save the file"):
        reading(kind, tmp_path, content)


@pytest.mark.parametrize("kind", ["quora", "sick", "nli", "sections", "afs", "banking77"])
def test_names_of_columns_count_without_case_and_white_space(tmp_path, kind):
    header, rest = TEXTS[kind].split("\n", 1)
    mark = "," if "," in header else "\t"
    odd = mark.join(f" {name.title()} " for name in header.split(mark))
    assert len(reading(kind, tmp_path, f"{odd}\n{rest}")) == len(
        reading(kind, tmp_path, TEXTS[kind])
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("quora", "line 4: repeated header"),
        ("sick", "line 4: score must be a number from 1 to 5, got 'relatedness_score'"),
        ("nli", "line 4: repeated header; correct or remove"),
        ("sections", "line 4: repeated header"),
        ("afs", "line 4: repeated header"),
        ("banking77", "line 4: repeated header"),
    ],
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_files_joined_with_their_headers_are_refused_by_line(tmp_path, kind, message, mark):
    with pytest.raises(ValueError, match=message if not mark or kind != "nli" else "line 4"):
        reading(kind, tmp_path, f"{TEXTS[kind]}{mark}{TEXTS[kind]}")


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("sections", "2,so, then,b,c", "line 4: 4 columns expected, 5 found"),
        ("afs", "1,so, then,b", "line 4: 3 columns expected, 4 found"),
        ("banking77", "so, then,b", "line 4: 2 columns expected, 3 found"),
        ("nli", "neutral\ta\tb\tc", "line 4: 3 columns expected, 4 found"),
    ],
)
def test_a_row_with_a_cell_too_many_is_not_shifted_in_silence(tmp_path, kind, row, message):
    with pytest.raises(ValueError, match=message):
        reading(kind, tmp_path, f"{TEXTS[kind]}{row}\n")
    # As spreadsheets leave them.
    first = TEXTS[kind].split("\n")[1]
    blank = ",," if "," in first else "\t\t"
    assert len(reading(kind, tmp_path, TEXTS[kind].replace(first, first + blank))) == len(
        reading(kind, tmp_path, TEXTS[kind])
    )


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        ("sick", "pair_ID", "Sentence_A", "line 1: the header names sentence_A twice"),
        ("nli", "gold_label", "sentence1\tgold_label", "several columns sentence1; rename"),
        ("sections", "id,", "sentence1,", "several columns sentence1"),
        ("banking77", "text,", "text,text,", "several columns text"),
    ],
)
def test_a_column_that_is_there_twice_is_refused(tmp_path, kind, old, new, message):
    with pytest.raises(ValueError, match=message):
        reading(kind, tmp_path, TEXTS[kind].replace(old, new))


@pytest.mark.parametrize("kind", ["sections", "afs", "banking77", "quora"])
def test_a_huge_cell_is_named_for_what_it_is(tmp_path, kind):
    text = TEXTS[kind].replace("a,b", f"{'a' * 140_000},b")
    with pytest.raises(ValueError, match="cell of more than 131,072 characters; is a quotation"):
        reading(kind, tmp_path, text)


@pytest.mark.parametrize("kind", ["nli_lines", "clinc150"])
@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5000, '"\\ud800"'])
def test_json_that_python_cannot_take_is_a_plain_error(tmp_path, kind, value):
    with pytest.raises(ValueError, match=r"own\.txt"):
        reading(kind, tmp_path, TEXTS[kind].replace('"b"', value))


def test_blank_lines_at_the_end_of_one_file_have_no_partner(tmp_path):
    for text in ("a\tb\nc\td\n\n", "a\tb\nc\td\n \n\n"):
        assert len(reading("sts_year", tmp_path, text)) == 2
    with pytest.raises(FileNotFoundError, match=r"nowhere has no STS\.input"):
        read_sts_year(tmp_path / "nowhere")


@pytest.mark.parametrize("line", ["( A cat )", "{ A } { cat }", "A | cat"])
def test_chunks_in_other_marks_are_refused(tmp_path, line):
    with pytest.raises(ValueError, match="has no square bracket in any line; write chunks as"):
        reading("ists", tmp_path, line + "\n")

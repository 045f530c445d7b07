"""Readers of files as they are, with what they had to repair."""

import warnings

import pytest

from film.datasets import read_ists, read_quora, read_wa
from film.datasets.formats.chunk_lines import read_chunk_line

# Pair 252 of the official test set of answers-students, as it stands there.
WORDS1 = "Bulb A is not in a closed path.".split()
WORDS2 = "Terminal 1 is separated by the gap .".split()
WA = """<sentence id="252" status="">
// Bulb A is not in a closed path.
// Terminal 1 is separated by the gap .
<source>
{source}
</source>
<translation>
{translation}
</translation>
<alignment>
1 2 <==> 1 2 // EQUI // 5 // Bulb A <==> Terminal 1
</alignment>
</sentence>
"""
CHUNKS1 = "[ Bulb A ] [is not ] [ in a closed path ]"
CHUNKS2 = "[ Terminal 1 ] [ is separated ] [ by the gap . ]"


def put(folder, chunks1=CHUNKS1, chunks2=CHUNKS2, encoding="utf-8", newline="\n", wa=None):
    numbered = {
        side: "\n".join(f"{number} {word} : " for number, word in enumerate(words, start=1))
        for side, words in (("source", WORDS1), ("translation", WORDS2))
    }
    stem = "STSint.testinput.answers-students"
    texts = {"wa": wa or WA.format(**numbered), "sent1.chunk.txt": chunks1 + "\n"}
    for name, text in (texts | {"sent2.chunk.txt": chunks2 + "\n"}).items():
        (folder / f"{stem}.{name}").write_bytes(text.replace("\n", newline).encode(encoding))


def test_the_official_test_files_are_read_and_repairs_reported(tmp_path):
    put(tmp_path)
    with pytest.warns(UserWarning, match=r"2 places were repaired, the first .*chunk\.txt, line 1"):
        (pair,) = read_ists(tmp_path, "answers-students")
    assert pair.words1 == tuple(WORDS1)
    assert pair.chunks1 == ((0, 1), (2, 3), (4, 5, 6, 7))
    assert pair.chunks2 == ((0, 1), (2, 3), (4, 5, 6, 7))
    name = "STSint.testinput.answers-students.sent1.chunk.txt, line 1: "
    assert pair.repairs == (f"{name}brackets without a blank", f"{name}'path' for 'path.'")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_what_needs_no_repair_is_read_without_a_word(tmp_path, encoding, newline):
    put(tmp_path, "[ Bulb A ]  [ is not ] [ in a\tclosed path. ] ", encoding=encoding,
        newline=newline)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (pair,) = read_ists(tmp_path, "answers-students")
    assert pair.repairs == () and len(pair.chunks1) == 3


def test_lines_of_windows_1252_are_read_and_reported(tmp_path):
    wa = '<sentence id="1" status="">\n// caf\xe9 it\u2019s\n// x\n<source>\n1 caf\xe9 :\n'
    wa += "2 it\u2019s :\n</source>\n<translation>\n1 x :\n</translation>\n<alignment>\n"
    wa += "</alignment>\n</sentence>\n"
    put(tmp_path, "[ caf\xe9 ] [ it's ]", "[ x ]", encoding="cp1252", wa=wa)
    with pytest.warns(UserWarning, match="5 places were repaired"):
        (pair,) = read_ists(tmp_path, "answers-students")
    assert pair.words1 == ("caf\xe9", "it\u2019s") and pair.chunks1 == ((0,), (1,))
    assert [repair.split(", ")[1] for repair in pair.repairs] == [
        "line 2: read as Windows-1252", "line 5: read as Windows-1252",
        "line 6: read as Windows-1252", "line 1: read as Windows-1252",
        "line 1: \"it's\" for 'it\u2019s'",
    ]  # fmt: skip
    with pytest.warns(UserWarning, match="3 places were repaired"):
        read_wa(tmp_path / "STSint.testinput.answers-students.wa")


@pytest.mark.parametrize(
    ("line", "words", "chunks", "repairs"),
    [
        ("[a b] [c]", "a b c", ((0, 1), (2,)), ["brackets without a blank"]),
        ("[ a b ] [ c . ]", "a b c.", ((0, 1), (2,)), ["'c .' for 'c.'"]),
        ("[ a b ] [ c ] [ . ]", "a b c.", ((0, 1), (2,)), ["'c .' for 'c.'"]),
        ("[ a b. ]", "a b .", ((0, 1, 2),), ["'b.' for 'b .'"]),
        ('[ "a" ] [ b ]', "“a” b", ((0,), (1,)), ["'\"a\"' for '“a”'"]),
        ("[ `` a '' ]", '" a "', ((0, 1, 2),), ["\"`` a ''\" for '\" a \"'"]),
        ("[ a b ]", "a , b", ((0, 1, 2),), ["'' for ','"]),
        ("[ a ] [ ] [ b ]", "a b", ((0,), (1,)), ["empty brackets"]),
        ("[ a [ b ]", "a b", ((0,), (1,)), ["a bracket inside of brackets"]),
        ("[ a ] ] [ b ]", "a b", ((0,), (1,)), ["a bracket that closes nothing"]),
        ("[ a ] [ b", "a b", ((0,), (1,)), ["a bracket that is not closed"]),
        ("[ a ] b .", "a b .", ((0,), (1, 2)), ["words outside of brackets"]),
        ("[ in [ 1 ] ]", "in 1", ((0,), (1,)),
         ["a bracket inside of brackets", "a bracket that closes nothing"]),
    ],
)  # fmt: skip
def test_odd_lines_of_chunks_are_read_where_there_is_one_way(line, words, chunks, repairs):
    assert read_chunk_line(line, tuple(words.split())) == (chunks, repairs)


@pytest.mark.parametrize(
    ("line", "words", "reason"),
    [
        ("[ a c ]", "a b c", "not those of the sentence"),
        ("[ a b c ]", "a b", "not those of the sentence"),
        ("[ b a ]", "a b", "not those of the sentence"),
        ("[ A ]", "a", "not those of the sentence"),
        ("", "a", "not those of the sentence"),
        ("[ clo ] [ sed ]", "closed", "'closed' is split between two chunks"),
        ("[ a ] [ b ]", "a , b", "the chunk of the word ',' is not clear"),
        ("[ a b ]", "a b .", r"the chunk of the word '\.' is not clear"),
    ],
)
def test_nothing_is_guessed(line, words, reason):
    with pytest.raises(ValueError, match=reason):
        read_chunk_line(line, tuple(words.split()))


def test_a_header_with_a_bare_carriage_return_is_refused_by_name_and_line(tmp_path):
    path = tmp_path / "train.csv"
    path.write_bytes(b"id,qid\ris_d")
    with pytest.raises(ValueError, match=r"train\.csv.*line end"):
        read_quora(path)

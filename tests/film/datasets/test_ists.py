from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from film.datasets import read_ists, read_wa
from film.tokens.alignments import AlignedPair, Alignment, align_chunks
from tests.film.datasets.wa_files import write_wa

# As the official files have it: a blank at the end of lines, two empty lines after a pair.
BLOCK = """<sentence id="1" status="">
// A cat & dog : sat .
// It sat
<source>
1 A :\x20
2 cat :\x20
3 & :\x20
4 dog :\x20
5 : :\x20
6 sat :\x20
7 . :\x20
</source>
<translation>
1 It :\x20
2 sat :\x20
</translation>
<alignment>
1 2 4 <==> 1 // SPE1_FACT // 3 // A cat dog <==> It\x20
6 <==> 2 // EQUI // 5 // sat <==> sat\x20
7 <==> 0 // NOALI // NIL // . <==> -not aligned-\x20
</alignment>
</sentence>


"""
PAIR = AlignedPair(
    "1",
    ("A", "cat", "&", "dog", ":", "sat", "."),
    ("It", "sat"),
    alignments=(
        Alignment((0, 1, 3), (0,), "SPE1_FACT", 3.0, "A cat dog <==> It"),
        Alignment((5,), (1,), "EQUI", 5.0, "sat <==> sat"),
        Alignment((6,), (), "NOALI", None, ". <==> -not aligned-"),
    ),
)
CHUNKS1 = "[ A cat ] [ & ] [ dog ] [ : ] [ sat ] [ . ] \n"
CHUNKS2 = "[ It ] [ sat ]\n"


def put(folder: Path, text: str, name: str = "own.wa", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def put_source(
    folder: Path, wa: str = BLOCK, chunks1: str = CHUNKS1, prefix: str = "input"
) -> None:
    put(folder, wa, f"STSint.{prefix}.images.wa")
    put(folder, chunks1, f"STSint.{prefix}.images.sent1.chunk.txt")
    put(folder, CHUNKS2, f"STSint.{prefix}.images.sent2.chunk.txt")


def test_pairs_are_read_as_written(tmp_path):
    assert read_wa(put(tmp_path, BLOCK)) == [PAIR]


def test_the_official_form_is_written_to_the_byte(tmp_path):
    second = BLOCK.replace('id="1"', 'id="2"')
    write_wa(tmp_path / "own.wa", [PAIR, replace(PAIR, id="2")])
    assert (tmp_path / "own.wa").read_bytes() == (BLOCK + second).encode()


def test_hand_corrected_lines_line_ends_and_byte_order_mark(tmp_path):
    text = BLOCK.replace(" \n", "\n").replace("2 sat :", "2 sat:").replace("1 It :", "1  It :  ")
    text = text.replace("1  It", "1 It").replace("</source>\n", "</source>\n\n")
    text = text.replace("// A cat & dog", "// A  cat & dog").replace("\n", "\r\n")
    assert read_wa(put(tmp_path, text, encoding="utf-8-sig")) == [PAIR]


def test_scores_comments_and_odd_fields(tmp_path):
    lines = "1<==>2 1 //EQUI// 4.25 // see http://x // y <==> z\n0 <==> 2 // ALIC // nil\n"
    head, tail = BLOCK.split("1 2 4 <==>")[0], "</alignment>\n</sentence>"
    assert read_wa(put(tmp_path, head + lines + tail))[0].alignments == (
        Alignment((0,), (1, 0), "EQUI", 4.25, "see http://x // y <==> z"),
        Alignment((), (1,), "ALIC", None, ""),
    )


def test_a_score_of_zero_is_not_nil(tmp_path):
    zero = replace(PAIR, alignments=(Alignment((0,), (), "NOALI", 0.0),))
    write_wa(tmp_path / "own.wa", [zero])
    back = read_wa(tmp_path / "own.wa")[0].alignments[0].score
    assert back == 0 and back is not None


def test_a_carriage_return_inside_a_comment_does_not_end_the_line(tmp_path):
    odd = replace(PAIR, alignments=(Alignment((0,), (), "NOALI", None, "a\rb"),))
    write_wa(tmp_path / "own.wa", [odd])
    assert read_wa(tmp_path / "own.wa") == [odd]


def test_what_is_written_is_read_back(tmp_path):
    rng = np.random.default_rng(0)
    letters = np.array(list("ab:/<>=&[]\"'№ç\u2028\x85\xa0"))

    def word() -> str:
        return "".join(rng.choice(letters, size=rng.integers(1, 5)))

    pairs = []
    for number in range(200):
        words = [tuple(word() for _ in range(rng.integers(1, 6))) for _ in range(2)]
        alignments = []
        for _ in range(rng.integers(0, 4)):
            sides = [
                tuple(rng.permutation(len(side))[: rng.integers(0, len(side) + 1)].tolist())
                for side in words
            ]
            if any(sides):
                score = None if rng.random() < 0.3 else 5 * rng.random()
                comment = " ".join(word() for _ in range(rng.integers(0, 3)))
                alignments.append(Alignment(sides[0], sides[1], "REL_POL", score, comment))
        pairs.append(AlignedPair(str(number), words[0], words[1], alignments=tuple(alignments)))
    write_wa(tmp_path / "own.wa", pairs)
    assert read_wa(tmp_path / "own.wa") == pairs


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ('id="1"', 'id=""', 1, "<sentence id"),
        ("// It sat", "It sat", 3, "a sentence after // expected"),
        ("// It sat", "//", 3, "a sentence after // expected"),
        ("<source>", "<words>", 4, "<source> expected"),
        ("3 & :", "4 & :", 7, "'3 WORD :' expected"),
        ("3 & :", "3 & x :", 7, "'3 WORD :' expected"),
        ("3 & :", "3 and :", 7, "the sentence is 'A cat & dog : sat .'"),
        ("7 . : \n", "", 11, "6 words for the 7 of"),
        ("7 . : \n", "7 . :\n8 . :\n", 12, "the sentence is"),
        ("<translation>", "<target>", 13, "<translation> expected"),
        ("<alignment>", "", 18, "<alignment> expected"),
        ("6 <==> 2 //", "6 == 2 //", 19, "'POSITIONS <==> POSITIONS"),
        ("6 <==> 2 // EQUI // 5 // sat <==> sat", "6 <==> 2 // EQUI", 19, "'POSITIONS <==>"),
        ("6 <==> 2 //", "6 <==> x //", 19, "positions must be 0 or numbers from 1, got 'x'"),
        ("6 <==> 2 //", "6 <==> //", 19, "positions must be 0 or numbers from 1, got ''"),
        ("6 <==> 2 //", "6 <==> 3 //", 19, "names word 3 of a sentence of 2 words"),
        ("6 <==> 2 //", "8 <==> 2 //", 19, "names word 8 of a sentence of 7 words"),
        ("6 <==> 2 //", "0 6 <==> 2 //", 19, r"positions1 must be distinct and at least 0"),
        ("6 <==> 2 //", "6 <==> 2 2 //", 19, r"positions2 must be distinct and at least 0"),
        ("7 <==> 0 //", "0 <==> 0 //", 20, "both empty"),
        ("EQUI //", "EQUI FACT //", 19, "type must be a label"),
        ("// 5 //", "// six //", 19, "score must be NIL or a number, got 'six'"),
        ("// 5 //", "// 5.5 //", 19, "score must be a number from 0 to 5 or None, got 5.5"),
        ("// 5 //", "// nan //", 19, "score must be a number from 0 to 5 or None, got nan"),
        ("// 5 //", "// -1 //", 19, "score must be a number from 0 to 5 or None, got -1"),
        ("</sentence>", "</pair>", 22, "</sentence> expected"),
    ],
)
def test_wrong_lines_are_named_by_file_and_line(tmp_path, old, new, line, reason):
    assert BLOCK.count(old) == 1
    with pytest.raises(ValueError) as caught:
        read_wa(put(tmp_path, BLOCK.replace(old, new)))
    assert f"own.wa, line {line}: " in str(caught.value) and reason in str(caught.value)


def test_an_id_used_twice_a_file_cut_short_an_empty_file_and_wrong_bytes(tmp_path):
    with pytest.raises(ValueError, match=r"line 25: id '1' was used in line 1 already"):
        read_wa(put(tmp_path, BLOCK + BLOCK))
    with pytest.raises(ValueError, match="ends inside a <sentence>; is the file complete"):
        read_wa(put(tmp_path, BLOCK[: BLOCK.index("7 <==>")]))
    with pytest.raises(ValueError, match="has no pairs"):
        read_wa(put(tmp_path, "\n"))
    with pytest.raises(ValueError, match="line 6: neither UTF-8 nor Windows-1252"):
        read_wa(put(tmp_path, BLOCK.replace("2 cat", "2 c\x81t"), encoding="latin-1"))
    with pytest.raises(ValueError, match="line 1: contains NUL, so it is not UTF-8 text"):
        read_wa(put(tmp_path, BLOCK, encoding="utf-16-le"))
    with pytest.raises(FileNotFoundError):
        read_wa(tmp_path / "none.wa")


@pytest.mark.parametrize("prefix", ["input", "testinput"])
def test_a_source_comes_with_its_chunks(tmp_path, prefix):
    put_source(tmp_path, prefix=prefix)
    pair = read_ists(tmp_path, "images")[0]
    chunks1 = ((0, 1), (2,), (3,), (4,), (5,), (6,))
    assert pair == replace(PAIR, chunks1=chunks1, chunks2=((0,), (1,)))


def test_each_bracket_is_a_boundary(tmp_path):
    put_source(tmp_path, chunks1="[ A [ cat & ] dog ] [ ] [ : sat .\n")
    with pytest.warns(UserWarning, match="places were repaired"):
        assert read_ists(tmp_path, "images")[0].chunks1 == ((0,), (1, 2), (3,), (4, 5, 6))


@pytest.mark.parametrize("line", ["[ A cat ] [ dog & : sat . ]", "[ A cat & dog ]", "[ ]"])
def test_chunks_of_other_words_are_named_by_line(tmp_path, line):
    put_source(tmp_path, BLOCK + BLOCK.replace('"1"', '"2"'), CHUNKS1 + line + "\n")
    with pytest.raises(ValueError, match=r"sent1.chunk.txt, line 2: (the words in|the chunk of)"):
        read_ists(tmp_path, "images")


@pytest.mark.parametrize("chunks", ["", CHUNKS1 + CHUNKS1, "\n" + CHUNKS1])
def test_lines_of_chunks_must_be_as_many_as_pairs(tmp_path, chunks):
    put_source(tmp_path, chunks1=chunks)
    with pytest.raises(ValueError, match=r"sent1.chunk.txt has \d lines for 1 pairs"):
        read_ists(tmp_path, "images")


def test_empty_lines_after_the_last_chunks_do_not_count(tmp_path):
    put_source(tmp_path, chunks1=CHUNKS1 + "\n \n")
    assert len(read_ists(tmp_path, "images")[0].chunks1) == 6


def test_missing_and_ambiguous_sources(tmp_path):
    with pytest.raises(FileNotFoundError, match="sources there: none"):
        read_ists(tmp_path, "images")
    put_source(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"neither STSint.input.news.wa.*there: images$"):
        read_ists(tmp_path, "news")
    put_source(tmp_path, prefix="testinput")
    with pytest.raises(ValueError, match="training and the test set"):
        read_ists(tmp_path, "images")
    (tmp_path / "STSint.input.images.wa").unlink()
    (tmp_path / "STSint.testinput.images.sent2.chunk.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"sent2.chunk.txt"):
        read_ists(tmp_path, "images")


def test_aligned_chunks_become_alignments_and_the_rest_is_left_over(tmp_path):
    put_source(tmp_path)
    pair = read_ists(tmp_path, "images")[0]
    assert align_chunks(pair, [(4, 1), (0, 0)]).alignments == (
        Alignment((5,), (1,), "EQUI", 5.0, "sat <==> sat"),
        Alignment((0, 1), (0,), "EQUI", 5.0, "A cat <==> It"),
        Alignment((2,), (), "NOALI", None, "& <==> -not aligned-"),
        Alignment((3,), (), "NOALI", None, "dog <==> -not aligned-"),
        Alignment((4,), (), "NOALI", None, ": <==> -not aligned-"),
        Alignment((6,), (), "NOALI", None, ". <==> -not aligned-"),
    )
    assert align_chunks(pair, []).alignments[-1] == Alignment(
        (), (1,), "NOALI", None, "-not aligned- <==> sat"
    )
    assert pair.alignments == PAIR.alignments


@pytest.mark.parametrize("aligned", [(6, 0), (0, 2), (-1, 0), (0, -1)])
def test_unknown_chunks_are_refused(tmp_path, aligned):
    put_source(tmp_path)
    with pytest.raises(ValueError, match="but pair 1 has 6 and 2 chunks"):
        align_chunks(read_ists(tmp_path, "images")[0], [aligned])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": 'a"b'}, "id must be text"),
        ({"id": ""}, "id must be text"),
        ({"words1": ()}, "words1 must be words"),
        ({"words2": ("It", "s t")}, "words2 must be words"),
        ({"words2": ("It", "")}, "words2 must be words"),
        ({"chunks1": ((0, 1), (1,))}, "chunks1 must be groups"),
        ({"chunks2": ((0,), (2,))}, "chunks2 must be groups"),
        ({"chunks2": ((-1,),)}, "chunks2 must be groups"),
        ({"chunks2": ((0,), ())}, "chunks2 must be groups"),
        ({"alignments": (Alignment((7,), (), "NOALI", None),)}, "names word 8 of"),
        ({"alignments": (Alignment((0,), (2,), "EQUI", 5.0),)}, "names word 3 of"),
    ],
)
def test_pairs_that_do_not_fit_together(changes, reason):
    with pytest.raises(ValueError, match=reason):
        replace(PAIR, **changes)


@pytest.mark.parametrize("comment", [" a", "a ", "a\nb", "\t"])
def test_comments_a_line_cannot_hold(comment):
    with pytest.raises(ValueError, match="comment must be one line"):
        Alignment((0,), (0,), "EQUI", 5.0, comment)


@pytest.mark.parametrize("label", ["", "A B", "A//B"])
def test_types_a_line_cannot_hold(label):
    with pytest.raises(ValueError, match="type must be a label"):
        Alignment((0,), (0,), label, 5.0)

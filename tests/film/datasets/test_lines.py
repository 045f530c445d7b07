"""What every reader of public files does alike: which lines there are, and how errors name them."""

import numpy as np
import pytest

from film.datasets import (
    read_banking77,
    read_clinc150,
    read_excluded,
    read_nli,
    read_quora,
    read_sections,
    read_sick,
    read_sts_benchmark,
    read_wa,
)
from film.datasets.formats.lines import Line, read_lines

HASH = "0123456789abcdef"
NLI = "gold_label\tsentence1\tsentence2"
SICK = "sentence_A\tsentence_B\trelatedness_score"
WA = (
    '<sentence id="1">\n// a\n// b\n<source>\n1 a :\n</source>\n<translation>\n1 b :\n'
    "</translation>\n<alignment>\n</alignment>\n</sentence>"
)
READERS = {
    "quora": (read_quora, "question1,question2\na,b\nc,d"),
    "excluded": (read_excluded, f"{HASH}\n{HASH}\n{HASH}"),
    "sts-b": (read_sts_benchmark, "\n".join(["g\tf\ty\t1\t2.5\ta\tb"] * 3)),
    "sick": (read_sick, f"{SICK}\na\tb\t2\nc\td\t3"),
    "banking77": (lambda path: read_banking77([path]), "text,category\na,b\nc,d"),
    "clinc150": (read_clinc150, '{"train": [["a", "b"],\n["c", "d"],\n["e", "f"]]}'),
    "wa": (read_wa, WA),
    "sections": (read_sections, "Sentence1,Sentence2,Sentence3\na,b,c\nd,e,f"),
    "nli": (read_nli, f"{NLI}\nneutral\ta\tb\nneutral\tc\td"),
}


@pytest.fixture(params=READERS)
def reader(request, tmp_path):
    """Read bytes by each reader in turn; `content` is a sound file for it."""
    read, content = READERS[request.param]

    def read_bytes(data):
        path = tmp_path / "file.txt"
        path.write_bytes(data)
        return contents(read(path))

    read_bytes.content = content.encode()
    read_bytes.read = read
    return read_bytes


def contents(data):
    parts = (getattr(data, name, None) for name in ("pairs", "texts"))
    array = next((part for part in parts if part is not None), None)
    array = data if isinstance(data, np.ndarray) else array
    return data if array is None else array.tolist()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "byte order mark"])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"], ids=["cut", "ended", "blank line"])
def test_marks_and_line_ends_are_all_the_same(reader, mark, line_end, end):
    data = mark + (reader.content + end).replace(b"\n", line_end)
    assert reader(data) == reader(reader.content)


def test_bytes_that_are_no_text_are_named_by_file_and_line(reader):
    # 0x81 stands for nothing in Windows-1252 either, which the alignments may be in.
    lines = reader.content.split(b"\n")
    lines[1] = lines[1][:1] + b"\x81" + lines[1][1:]
    fault = r"(not UTF-8|neither UTF-8 nor Windows-1252) \(byte 2 is 0x81; save the file as UTF-8\)"
    with pytest.raises(ValueError, match=rf"file\.txt.*line 2: {fault}"):
        reader(b"\n".join(lines))


def test_a_place_without_a_file_is_named(reader, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*gone\.txt.*give the path of a"):
        reader.read(tmp_path / "gone.txt")
    with pytest.raises(IsADirectoryError, match="is a folder; give the path of a file inside"):
        reader.read(tmp_path)


def test_only_line_feeds_end_a_line(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffone\u2028\x85still\rone\r\n\ufefftwo\n".encode() + b"caf\xe9\n\x81")
    lines = list(read_lines(path))
    assert lines[:2] == [Line(1, "one\u2028\x85still\rone\r\n"), Line(2, "\ufefftwo\n")]
    assert [line.text for line in lines[2:]] == ["caf\ufffd\n", "\ufffd"]
    assert lines[2].fault.startswith("not UTF-8 (byte 4 is 0xe9;") and not lines[2].repair
    windows = list(read_lines(path, or_windows=True))
    assert windows[:2] == lines[:2]
    assert windows[2] == Line(3, "café\n", repair="read as Windows-1252, since it is not UTF-8")
    assert windows[3].fault.startswith("neither UTF-8 nor Windows-1252 (byte 1 is 0x81;")

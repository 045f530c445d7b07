"""Which lines a file of text holds."""

from film.datasets.formats.lines import Line, read_lines


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

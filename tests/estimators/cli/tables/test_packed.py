"""Compressed tables go in and out, are refused where they are damaged, and fill no memory."""

import gzip
import io
import json

import pytest

from estimators.cli.tables import format_of, read_table, write_table
from film.contexts import read_documents
from tests.estimators.cli.tables.tables import TEXT, given, packed, zipped

SUFFIXES = [".gz", ".bz2", ".zip", ""]
ROWS = [[7, "Is tea hot?", True, None, ["a", {"b": 0.5}]], [8, "=1+1", False, "x", []]]
COLUMNS = ["id", "text", "flag", "hole", "nested"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["own.jsonl", "own.json"])
def test_json_values_go_through_unchanged(tmp_path, name, suffix):
    path = tmp_path / (name + suffix)
    assert write_table(path, COLUMNS, ROWS) == 2
    table = read_table(path)
    assert (table.columns, table.rows) == (COLUMNS, ROWS)
    assert [type(cell) for cell in table.rows[0]] == [int, str, bool, type(None), list]
    assert table.format == name.split(".")[1]
    assert table.column("nested") == ['["a", {"b": 0.5}]', "[]"]
    assert table.column("flag") == ["true", "false"] and table.column("hole") == ["", "x"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["own.csv", "own.tsv", "own.xlsx", "own.parquet"])
def test_compressed_tables_in_and_out(tmp_path, name, suffix):
    rows = [["1", "a, b\tc"], ["2", 'said "so"']]
    path = tmp_path / (name + suffix)
    write_table(path, ["id", "text"], rows)
    table = read_table(path)
    assert (table.columns, table.rows) == (["id", "text"], rows)
    assert table.format == format_of(path) == name.split(".")[1]
    first = path.read_bytes()[:2]
    assert first == {".gz": b"\x1f\x8b", ".bz2": b"BZ", ".zip": b"PK"}.get(suffix, first)
    # A second program makes the same of it.
    theirs = given(tmp_path, packed(b"id,text\n1,x\n", suffix), f"theirs.csv{suffix}")
    assert read_table(theirs).rows == [["1", "x"]]
    assert read_table(io.BytesIO(packed(b"id\ttext\n1\tx\n", suffix, "own.tsv"))).format == "tsv"


WHOLE = gzip.compress(TEXT.encode() * 50, mtime=0)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        *(
            ("own.csv.gz", data, "is gzipped, but .* damaged or cut short")
            for data in (WHOLE[:-9], WHOLE[:40], WHOLE[:10] + b"\xff" * 20, WHOLE[:-8] + bytes(8))
        ),
        ("own.zip", packed(b"id\n1\n" * 99, ".zip")[:-30], "zip archive, but .* damaged"),
        ("own.bz2", packed(b"id\n1\n" * 99, ".bz2")[:-9], "bz2 file, but .* damaged"),
        # The flag says UTF-8, and the first byte of a sequence stands alone.
        (
            "own.csv.zip",
            zipped({"é.csv": "id\n1\n"}).replace("é".encode(), b"\xc3("),
            "is a zip archive, but .* damaged",
        ),
    ],
)
def test_damaged_files_are_named(tmp_path, name, data, message):
    with pytest.raises(ValueError, match=message) as info:
        read_table(given(tmp_path, data, name))
    assert name in str(info.value)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zip"])
def test_a_table_that_unpacks_to_more_than_its_limit_is_refused(tmp_path, small_limit, suffix):
    large = packed(b"id,text\n" + b"1,x\n" * (small_limit // 2), suffix)
    path = given(tmp_path, large, f"own.csv{suffix}")
    assert path.stat().st_size < small_limit / 100
    with pytest.raises(ValueError, match=r"refused: its .* bytes unpack to more than 1,000,000"):
        read_table(path)
    path.write_bytes(packed(b"id,text\n" + b"1,x\n" * (small_limit // 5), suffix))
    assert len(read_table(path)) == small_limit // 5


def test_documents_by_gzip_stop_at_the_limit(tmp_path, small_limit):
    path = given(tmp_path, gzip.compress(b"x" * 10 * small_limit), "own.txt.gz")
    with pytest.raises(ValueError, match="unpack to more than 1,000,000"):
        list(read_documents(path))


@pytest.mark.parametrize("name", ["own.jsonl", "own.json"])
def test_keys_of_its_own_for_every_object_are_refused(tmp_path, small_limit, name):
    objects = [json.dumps({f"key {n}": n}) for n in range(500)]
    text = "\n".join(objects) if name[-1] == "l" else f"[{','.join(objects)}]"
    with pytest.raises(ValueError, match="500 objects have 500 different keys"):
        read_table(given(tmp_path, text, name))

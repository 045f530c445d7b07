import errno
import io
import json
import pickle
import shutil

import numpy as np
import pytest
import scipy.sparse as sp
from filelock import FileLock
from joblib import parallel_config

from film.corpus import RowBlocks, cut_rows, map_blocks, row_blocks, sum_blocks, write_blocks

TEXTS = ["one\nline", "", "ünïcode — 東京", 'a "quote"', "last"]


def _sparse(n=23, d=7, seed=0):
    return sp.random_array(
        (n, d), density=0.4, format="csr", random_state=np.random.default_rng(seed)
    )


def _parts(rows, size):
    return [rows[start : start + size] for start in range(0, rows.shape[0], size)]


def double(rows, start):
    return rows * 2


def gram(rows, start):
    return (rows.T @ rows).toarray()


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_texts_come_back(tmp_path, size):
    blocks = write_blocks(tmp_path, cut_rows(iter(TEXTS), size))
    assert blocks.has_texts and blocks.shape == (5, 1)
    assert [text for block in blocks for text in block] == TEXTS
    assert blocks.rows([4, 0, 0, 2]) == [TEXTS[row] for row in (4, 0, 0, 2)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dense", [False, True])
def test_numbers_come_back(tmp_path, dtype, dense):
    X = _sparse().astype(dtype)
    X = X.toarray() if dense else X
    blocks = write_blocks(tmp_path, _parts(X, 5))
    assert blocks.shape == X.shape and blocks.dtype == dtype and blocks.n_blocks == 5
    whole = blocks.to_memory()
    assert sp.issparse(whole) != dense
    asked = np.array([22, 3, 3, 0, 11])
    some = blocks.rows(asked)
    for found, expected in ((whole, X), (some, X[asked]), (blocks.rows([]), X[:0])):
        difference = abs(found - expected)
        assert found.shape == expected.shape and found.dtype == dtype
        assert difference.sum() == 0
    with pytest.raises(IndexError, match="23"):
        blocks.rows([23])


def test_the_same_rows_have_the_same_digest_and_others_another(tmp_path):
    X = _sparse()
    digests = {
        write_blocks(tmp_path / name, _parts(rows, size)).digest
        for name, rows, size in [("a", X, 5), ("b", X, 5), ("c", X, 6), ("d", 2 * X, 5)]
    }
    assert len(digests) == 3


def test_they_travel_by_name(tmp_path):
    blocks = write_blocks(tmp_path, _parts(_sparse(4000), 1000))
    sent = pickle.dumps(blocks)
    assert len(sent) < 2000
    assert abs(pickle.loads(sent).block(2) - blocks.block(2)).sum() == 0


def test_a_map_and_a_sum_are_those_of_one_block(tmp_path):
    X = _sparse(200)
    blocks = write_blocks(tmp_path / "x", _parts(X, 7))
    assert blocks.n_blocks > 16
    seen = []
    doubled = map_blocks(
        double, blocks, tmp_path / "y", made_by={"stage": "double"}, progress=seen.append
    )
    assert len(seen) == blocks.n_blocks and "of 29" in seen[-1]
    assert np.array_equal(doubled.edges, blocks.edges)
    assert abs(doubled.to_memory() - 2 * X).sum() == 0
    np.testing.assert_allclose(sum_blocks(gram, blocks), gram(X, 0), rtol=1e-12)


def test_the_number_of_processes_changes_no_bit(tmp_path):
    blocks = write_blocks(tmp_path, _parts(_sparse(200).astype(np.float32), 7))
    alone = sum_blocks(gram, blocks)
    with parallel_config("threading", n_jobs=3):
        assert np.array_equal(sum_blocks(gram, blocks), alone)


class Counted:
    """Doubles rows, counts its calls, and is stopped at one of them."""

    def __init__(self, stop=None, error=KeyboardInterrupt):
        self.calls, self.stop, self.error = 0, stop, error

    def __call__(self, rows, start=0):
        self.calls += 1
        if self.calls == self.stop:
            raise self.error
        return rows * 2


def test_an_interrupted_map_goes_on_where_it_stopped(tmp_path):
    blocks = write_blocks(tmp_path / "x", _parts(_sparse(), 5))
    made = {"stage": "double"}
    with pytest.raises(KeyboardInterrupt):
        map_blocks(Counted(4), blocks, tmp_path / "y", made_by=made)
    with pytest.raises(FileNotFoundError, match="no finished"):
        RowBlocks(tmp_path / "y")
    rest = Counted()
    resumed = map_blocks(rest, blocks, tmp_path / "y", made_by=made)
    assert rest.calls == 2
    whole = map_blocks(double, blocks, tmp_path / "z", made_by=made)
    assert resumed.digest == whole.digest
    again = Counted()
    map_blocks(again, blocks, tmp_path / "y", made_by=made)
    assert again.calls == 0
    assert {path.suffix for path in (tmp_path / "y").iterdir()} == {".npz", ".json"}


def test_a_torn_block_is_not_read_and_is_made_again(tmp_path):
    blocks = write_blocks(tmp_path / "x", _parts(_sparse(), 5))
    made = {"stage": "double"}
    whole = map_blocks(double, blocks, tmp_path / "y", made_by=made)
    file = tmp_path / "y" / whole.entries[2].file
    content = file.read_bytes()
    for damaged in (content[:-1], content[:90] + b"!" + content[91:]):
        file.write_bytes(damaged)
        with pytest.raises(OSError, match=r"torn or was changed.*call the function"):
            whole.block(2)
        with pytest.raises(OSError, match="torn"):
            sum_blocks(gram, whole)
        mended = Counted()
        assert map_blocks(mended, blocks, tmp_path / "y", made_by=made).digest == whole.digest
        assert mended.calls == 1
    file.unlink()
    with pytest.raises(FileNotFoundError, match="is missing"):
        whole.block(2)


def test_a_torn_entry_counts_for_nothing(tmp_path):
    blocks = write_blocks(tmp_path / "x", _parts(_sparse(), 5))
    with pytest.raises(KeyboardInterrupt):
        map_blocks(Counted(4), blocks, tmp_path / "y", made_by={})
    entry = tmp_path / "y" / "block-000001.entry"
    entry.write_bytes(entry.read_bytes()[:-9])
    rest = Counted()
    map_blocks(rest, blocks, tmp_path / "y", made_by={})
    assert rest.calls == 3


def test_blocks_of_another_run_are_never_mixed_in(tmp_path):
    blocks = write_blocks(tmp_path / "x", _parts(_sparse(), 5))
    others = write_blocks(tmp_path / "other", _parts(_sparse(seed=1), 5))
    made = {"stage": "double", "rank": 3}
    with pytest.raises(KeyboardInterrupt):
        map_blocks(Counted(4), others, tmp_path / "y", made_by=made)
    whole = map_blocks(double, blocks, tmp_path / "y", made_by=made)
    assert abs(whole.to_memory() - 2 * blocks.to_memory()).sum() == 0
    with pytest.raises(FileExistsError, match=r"another run, with other rank.*3.*4.*remove"):
        map_blocks(double, blocks, tmp_path / "y", made_by=made | {"rank": 4})
    with pytest.raises(FileExistsError, match="another run, with other source"):
        map_blocks(double, others, tmp_path / "y", made_by=made)


def test_a_corpus_that_shrank_or_changed_is_told(tmp_path):
    write_blocks(tmp_path, cut_rows(TEXTS, 2))
    write_blocks(tmp_path, cut_rows(TEXTS, 2))
    for texts, number in ((TEXTS[:4], 2), ([*TEXTS[:3], "x", "y"], 1), ([*TEXTS, "x", "y"], 2)):
        with pytest.raises(FileExistsError, match=f"other rows: number {number}.*remove"):
            write_blocks(tmp_path, cut_rows(texts, 2))
    assert RowBlocks(tmp_path).rows(range(5)) == TEXTS


def test_an_interrupted_writing_may_end_with_fewer_rows(tmp_path):
    def stopped():
        yield from cut_rows(TEXTS[:4], 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_blocks(tmp_path, stopped())
    blocks = write_blocks(tmp_path, cut_rows(TEXTS[:2], 2))
    assert blocks.n_blocks == 1 and len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_keeps_what_is_finished(tmp_path, monkeypatch):
    blocks = write_blocks(tmp_path / "x", _parts(_sparse(), 5))
    replace, room = row_blocks.replace_file, iter([True, True, True, True, False])

    def full(path, content, durable=False):
        if not next(room):
            path.with_name(f".{path.name}.{'0' * 12}.part").write_bytes(content[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(path, content, durable)

    monkeypatch.setattr(row_blocks, "replace_file", full)
    with pytest.raises(OSError, match=r"No space.*finished blocks are kept: free") as caught:
        map_blocks(double, blocks, tmp_path / "y", made_by={})
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    rest = Counted()
    map_blocks(rest, blocks, tmp_path / "y", made_by={})
    assert rest.calls == 3
    assert not list((tmp_path / "y").glob(".*.part"))


def test_folders_with_other_things_in_them_are_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(FileExistsError, match=r"mine\.txt"):
        write_blocks(tmp_path, [TEXTS])
    with pytest.raises(NotADirectoryError, match="is a file"):
        write_blocks(tmp_path / "mine.txt", [TEXTS])
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_one_run_writes_at_a_time(tmp_path):
    with (
        FileLock(tmp_path / ".lock"),
        pytest.raises(BlockingIOError, match="another process writes"),
    ):
        write_blocks(tmp_path, [TEXTS])


def test_damaged_manifests_are_refused(tmp_path):
    write_blocks(tmp_path, [TEXTS])
    manifest = tmp_path / "blocks.json"
    record = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(record | {"made_by": {"stage": "other"}}))
    with pytest.raises(ValueError, match="was changed or has another version"):
        RowBlocks(tmp_path)
    manifest.write_text("{")
    with pytest.raises(ValueError, match="is not a row-block manifest"):
        RowBlocks(tmp_path)
    shutil.rmtree(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no finished row blocks"):
        RowBlocks(tmp_path)


def test_blocks_of_a_wrong_kind_are_refused(tmp_path):
    with pytest.raises(ValueError, match="blocks is empty"):
        write_blocks(tmp_path / "a", [])
    with pytest.raises(TypeError, match="row 1 of a block is int"):
        write_blocks(tmp_path / "b", [["a", 1]])
    with pytest.raises(ValueError, match="shape"):
        write_blocks(tmp_path / "c", [np.zeros(3)])
    with pytest.raises(ValueError, match="one column or more"):
        write_blocks(tmp_path / "c", [np.zeros((3, 0))])
    with pytest.raises(ValueError, match="different kinds"):
        write_blocks(tmp_path / "d", [np.zeros((1, 3)), np.zeros((1, 4))])
    with pytest.raises(ValueError, match="size=0"):
        next(cut_rows(TEXTS, 0))
    blocks = write_blocks(tmp_path / "e", [TEXTS])
    with pytest.raises(ValueError, match="one per row"):
        map_blocks(lambda texts, start: texts[1:], blocks, tmp_path / "f", made_by={})


@pytest.mark.parametrize("content", ["-1", "null", "[]", '"a"', "{}", '{"digest": 1}', "{"])
def test_a_manifest_of_another_form_is_named(tmp_path, content):
    write_blocks(tmp_path, [["a"]])
    (tmp_path / "blocks.json").write_text(content)
    with pytest.raises(ValueError, match=r"blocks\.json is not a row-block manifest"):
        RowBlocks(tmp_path)


def forged(folder, rows, content=None, **changed):
    """Blocks of one file whose bytes or entry are others, with every hash made again."""
    write_blocks(folder, [rows])
    manifest = folder / "blocks.json"
    record = json.loads(manifest.read_text())
    del record["digest"]
    entry = record["blocks"][0]
    if content is not None:
        (folder / entry["file"]).write_bytes(content)
        entry |= {"size": len(content), "hash": row_blocks.content_hash(content)}
    entry |= changed
    digest = row_blocks.content_hash(json.dumps(record, sort_keys=True).encode())
    manifest.write_text(json.dumps(record | {"digest": digest}))


def sparse_file(save=np.savez, **changed):
    buffer = io.BytesIO()
    X = _sparse()
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    save(buffer, **parts | changed)
    return buffer.getvalue()


def moved(name, at, value):
    array = getattr(_sparse(), name).copy()
    array[at] = value
    return {name: array}


def array_file(rows, **header):
    buffer = io.BytesIO()
    npy = np.lib.format
    npy.write_array_header_1_0(buffer, npy.header_data_from_array_1_0(rows) | header)
    return buffer.getvalue() + rows.tobytes()


HOSTILE = {
    "a column too far": (_sparse(), sparse_file(**moved("indices", 3, 2_000_000_000))),
    "a negative column": (_sparse(), sparse_file(**moved("indices", 3, -1))),
    "rows that end before they begin": (_sparse(), sparse_file(**moved("indptr", 2, -9))),
    "no entries, and rows of many": (_sparse(), sparse_file(**moved("indptr", -1, 0))),
    "objects": (_sparse(), sparse_file(data=np.array(["a"] * _sparse().nnz))),
    "zeros that unpack": (_sparse(), sparse_file(np.savez_compressed, data=np.zeros(9_000_000))),
    "another shape": (_sparse(), sparse_file(shape=(23, 9))),
    "rows that are not there": (np.eye(3), array_file(np.eye(3), shape=(10**10, 3))),
    "another type": (np.eye(3), array_file(np.eye(3), descr="<i8")),
    "no text": (TEXTS, json.dumps([*TEXTS[1:], {}]).encode()),
    "too few texts": (TEXTS, json.dumps(["a" * 500]).encode()),
    "a nest": (TEXTS, b"[" * 100_000),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_block_of_a_stranger_is_refused_before_compiled_code_follows_it(tmp_path, case):
    forged(tmp_path, *HOSTILE[case])
    blocks = RowBlocks(tmp_path)
    with pytest.raises(ValueError, match=r"block-000000\.\w+ is not the block that blocks\.json"):
        blocks.to_memory()


@pytest.mark.parametrize("file", ["/dev/zero", "../secret", "block-000000.npy/../x", "blocks.json"])
def test_a_block_lies_in_its_folder(tmp_path, file):
    forged(tmp_path, np.eye(2), file=file)
    with pytest.raises(ValueError, match=r"blocks\.json is not a row-block manifest"):
        RowBlocks(tmp_path)


@pytest.mark.parametrize("rows", [np.eye(2), _sparse(), TEXTS], ids=["numbers", "sparse", "texts"])
def test_a_manifest_claims_no_more_rows_than_its_files_can_hold(tmp_path, rows):
    forged(tmp_path, rows, n_rows=2_000_000_000)
    with pytest.raises(ValueError, match=r"blocks\.json is not a row-block manifest"):
        RowBlocks(tmp_path)
    shutil.rmtree(tmp_path)
    forged(tmp_path, rows, n_rows=2_000_000_000, size=16_000_000_000)
    with pytest.raises(OSError, match="is torn or was changed"):
        RowBlocks(tmp_path).to_memory()


def test_a_device_is_not_read_as_a_block(tmp_path):
    forged(tmp_path, np.eye(2))
    path = tmp_path / "block-000000.npy"
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="is torn or was changed: its 0 bytes"):
        RowBlocks(tmp_path).block(0)

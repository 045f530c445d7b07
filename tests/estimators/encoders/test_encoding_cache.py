import sqlite3

import numpy as np
import pytest

import estimators.encoders.encoding_cache as module
from estimators.encoders.encoding_cache import EncodingCache, text_key
from estimators.inputs import check_folder

KEYS = [text_key(str(i)) for i in range(1200)]


def values(i: int) -> np.ndarray:
    return np.random.default_rng(i).normal(size=(1 + i % 7, 4)).astype(np.float32)


def fill(folder, keys=KEYS, settings=("model", 128)):
    with EncodingCache(folder, list(settings)) as cache:
        for i, key in enumerate(keys):
            cache.add(key, values(i))
    return cache.path


def read(folder, keys=KEYS, settings=("model", 128)):
    with EncodingCache(folder, list(settings)) as cache:
        return dict(cache.read(keys))


def test_gives_back_what_was_added(tmp_path):
    fill(tmp_path / "new" / "folder")
    found = read(tmp_path / "new" / "folder", [KEYS[5], text_key("unknown"), *KEYS[600:]])
    assert set(found) == {0, *range(2, 602)}
    np.testing.assert_array_equal(found[0].reshape(-1, 4), values(5))
    np.testing.assert_array_equal(found[2].reshape(-1, 4), values(600))


def test_other_settings_never_meet(tmp_path):
    fill(tmp_path)
    for settings in (("model", 64), ("other", 128), ("model",)):
        assert read(tmp_path, settings=settings) == {}
    assert len(read(tmp_path)) == len(KEYS)


def test_the_last_values_of_a_text_count(tmp_path):
    for i in (1, 2):
        with EncodingCache(tmp_path, []) as cache:
            cache.add(KEYS[0], values(i))
    np.testing.assert_array_equal(read(tmp_path, KEYS[:1], [])[0].reshape(-1, 4), values(2))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_interrupted_work_is_kept(tmp_path, error):
    with pytest.raises(error), EncodingCache(tmp_path, []) as cache:
        cache.add(KEYS[0], values(0))
        raise error
    assert set(read(tmp_path, KEYS, [])) == {0}


def test_long_work_is_written_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BYTES_TO_COMMIT", 100)
    with EncodingCache(tmp_path, []) as cache:
        for i in range(10):
            cache.add(KEYS[i], np.ones((1, 10)))
        # As another process sees it; three arrays of 40 bytes are over 100.
        assert len(read(tmp_path, KEYS, [])) == 9


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.6, 0.9, 0.99])
def test_a_cut_file_is_noticed_and_begun_again(tmp_path, share):
    path = fill(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    if share:
        with pytest.warns(UserWarning, match=f"{path.name} is damaged"):
            found = read(tmp_path)
    else:
        found = read(tmp_path)
    for i, array in found.items():
        np.testing.assert_array_equal(array.reshape(-1, 4), values(i))
    fill(tmp_path)
    assert len(read(tmp_path)) == len(KEYS)


def test_a_file_with_other_tables_is_begun_again(tmp_path):
    path = fill(tmp_path)
    path.unlink()
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE encodings (name TEXT)")
    base.close()
    with pytest.warns(UserWarning, match="damaged"):
        assert read(tmp_path) == {}
    fill(tmp_path)
    assert len(read(tmp_path)) == len(KEYS)


def test_beginning_again_leaves_no_journal(tmp_path):
    path = fill(tmp_path)
    path.write_bytes(b"no database at all" * 1000)
    journal = path.with_name(f"{path.name}-journal")
    journal.write_bytes(b"of an older state")
    with pytest.warns(UserWarning, match="damaged"):
        read(tmp_path)
    assert not journal.exists()


@pytest.mark.filterwarnings("ignore:cache file")
def test_no_damage_gives_wrong_values_or_an_error(tmp_path):
    path = fill(tmp_path, KEYS[:100])
    content = path.read_bytes()
    random = np.random.default_rng(0)
    for end in (1000, 5000, len(content)) * 5:
        changed = np.frombuffer(content, dtype=np.uint8).copy()
        places = random.integers(0, end, size=random.integers(1, 40))
        changed[places] = random.integers(0, 256, size=len(places))
        path.write_bytes(changed.tobytes())
        for i, array in read(tmp_path, KEYS[:100]).items():
            np.testing.assert_array_equal(array.reshape(-1, 4), values(i))
        fill(tmp_path, KEYS[:100])


def test_changed_bytes_are_not_given(tmp_path):
    path = fill(tmp_path, KEYS[:3])
    content = values(1).tobytes()
    found = path.read_bytes()
    assert found.count(content) == 1
    path.write_bytes(found.replace(content, bytes(len(content))))
    assert set(read(tmp_path, KEYS[:3])) == {0, 2}


@pytest.mark.parametrize("value", ["CAST(x'ff' AS TEXT)", "NULL", "7"])
def test_rows_of_another_type_are_not_given(tmp_path, value):
    path = fill(tmp_path, KEYS[:2])
    with sqlite3.connect(path) as base:
        base.execute(f"UPDATE encodings SET bytes = {value} WHERE key = ?", [KEYS[0]])
    base.close()
    assert set(read(tmp_path, KEYS[:2])) == {1}


def test_values_of_another_text_are_not_given(tmp_path):
    path = fill(tmp_path, KEYS[:2])
    with sqlite3.connect(path) as base:
        base.execute(
            "UPDATE encodings SET (bytes, checksum) = "
            "(SELECT bytes, checksum FROM encodings WHERE key = ?)",
            [KEYS[0]],
        )
    base.close()
    assert set(read(tmp_path, KEYS[:2])) == {0}


def test_a_file_that_cannot_be_made_is_a_clear_error(tmp_path):
    cache = EncodingCache(tmp_path, [])
    cache.path.mkdir()
    with pytest.raises(OSError, match=f"{cache.path.name} cannot be used.*another folder"):
        list(cache.read(KEYS))


def test_no_file_without_anything_to_keep(tmp_path):
    with EncodingCache(tmp_path, []):
        pass
    assert list(tmp_path.iterdir()) == []


def test_folders_are_checked(tmp_path):
    (tmp_path / "file").write_text("")
    assert check_folder("cache", None) is None
    assert check_folder("cache", str(tmp_path / "new")) == tmp_path / "new"
    with pytest.raises(NotADirectoryError, match="is a file; give a folder"):
        check_folder("cache", tmp_path / "file")
    with pytest.raises(TypeError, match="cache=3 must be"):
        check_folder("cache", 3)

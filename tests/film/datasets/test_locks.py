"""Locks that leave no file, and still let one writer in at a time."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import Timeout

from film.datasets import lock_beside, unlock


def test_a_lock_whose_file_is_removed_still_keeps_others_out(tmp_path):
    path = tmp_path / "count"
    path.write_text("0", encoding="utf-8")

    def count(_):
        lock = lock_beside(path)
        for _ in range(50):
            lock.acquire(poll_interval=0.001)
            path.write_text(str(int(path.read_text("utf-8")) + 1), encoding="utf-8")
            unlock(lock)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    assert path.read_text("utf-8") == "200"
    assert [each.name for each in tmp_path.iterdir()] == ["count"]


def test_who_has_no_lock_removes_none(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    held, other = lock_beside(tmp_path / "file"), lock_beside(tmp_path / "link", timeout=0)
    held.acquire()
    with pytest.raises(Timeout):
        other.acquire()
    unlock(other)
    assert held.is_locked and (tmp_path / ".file.lock").exists()
    unlock(held)
    other.acquire()
    unlock(other)

"""Files are written whole or not at all."""

import errno
import os
import subprocess
import sys

import pytest

from film.datasets import atomic_writer
from film.datasets import writing as module


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def write(path, text="whole"):
    with atomic_writer(path) as handle:
        handle.write(text)


class FullDisk:
    """A handle on a disk that takes `room` characters and no more."""

    def __init__(self, handle, room):
        self._handle = handle
        self._room = room

    def write(self, text):
        self._room -= len(text)
        if self._room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._handle.write(text)

    def __getattr__(self, name):
        return getattr(self._handle, name)


@pytest.fixture
def full_disk(monkeypatch):
    def opened(*args, **kwargs):
        return FullDisk(open(*args, **kwargs), 200)

    monkeypatch.setattr(module, "open", opened, raising=False)


def test_file_appears_only_when_whole(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")
    with atomic_writer(path) as handle:
        handle.write("new é")
        assert path.read_text(encoding="utf-8") == "old"
    assert path.read_text(encoding="utf-8") == "new é"
    assert names(tmp_path) == ["out.txt"]


def test_bytes_and_newlines(tmp_path):
    with atomic_writer(tmp_path / "raw", mode="wb") as handle:
        handle.write(b"\x00\xff\r\n")
    assert (tmp_path / "raw").read_bytes() == b"\x00\xff\r\n"
    with atomic_writer(tmp_path / "text", newline="\r\n") as handle:
        handle.write("a\n")
    assert (tmp_path / "text").read_bytes() == b"a\r\n"


def test_full_disk_leaves_the_old_file_and_no_other(tmp_path, full_disk):
    path = tmp_path / "submission.csv"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(
        OSError, match=r"could not write .*submission\.csv.*free some space"
    ) as info:
        write(path, "0.25\n" * 1000)
    assert info.value.errno == errno.ENOSPC
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["submission.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a Unix matter")
def test_a_real_limit_on_size(tmp_path):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="could not write"):
            write(tmp_path / "new.csv", "0.25\n" * 5000)
        left = names(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert left == []


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt(), OSError(2, "x", "other")])
def test_errors_of_the_caller_pass_through_and_leave_nothing(tmp_path, error):
    with pytest.raises(type(error)) as info, atomic_writer(tmp_path / "new") as handle:
        handle.write("half")
        raise error
    assert info.value is error
    assert names(tmp_path) == []


def test_text_that_has_no_bytes_leaves_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError), atomic_writer(tmp_path / "new") as handle:
        handle.write("\ud800")
    assert names(tmp_path) == []


def test_missing_folder_is_named_with_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder .*nowhere .*make it first"):
        write(tmp_path / "nowhere" / "out.csv")


def test_folder_and_file_mixed_up(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(NotADirectoryError, match="is a file"):
        write(tmp_path / "file" / "out.csv")
    with pytest.raises(IsADirectoryError, match="add a file name"):
        write(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_devices_are_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(FileExistsError, match="device or pipe"):
        write(path)
    assert path.is_fifo() and names(tmp_path) == ["pipe"]


def test_unwritable_folder_is_named_with_the_remedy(tmp_path, monkeypatch):
    def denied(path, *args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(module, "open", denied, raising=False)
    with pytest.raises(PermissionError, match=r"could not write .*change the permissions"):
        write(tmp_path / "out.csv")


@pytest.mark.parametrize("mode", ["a", "r", "x", "w+"])
def test_other_modes_are_refused(tmp_path, mode):
    with (
        pytest.raises(ValueError, match="mode must be 'w' or 'wb'"),
        atomic_writer(tmp_path / "out", mode=mode),
    ):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits are a Unix matter")
def test_permissions_are_kept_and_links_followed(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    with atomic_writer(link) as handle:
        handle.write("new")
    assert link.is_symlink() and path.read_text(encoding="utf-8") == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_long_and_foreign_file_names(tmp_path):
    path = tmp_path / ("质" * 80 + ".csv")
    write(path)
    assert names(tmp_path) == [path.name]


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    program = (
        "import os, signal, sys\n"
        "from film.datasets import atomic_writer\n"
        "with atomic_writer(sys.argv[1]) as handle:\n"
        "    handle.write('half')\n"
        "    handle.flush()\n"
        "    if sys.argv[2] == 'kill':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    path = tmp_path / "own.csv"
    command = [sys.executable, "-c", program, str(path)]
    killed = subprocess.run([*command, "kill"])
    assert killed.returncode < 0
    (stale,) = tmp_path.iterdir()
    writing = subprocess.Popen(
        [*command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writing.stdout.readline() == "open\n"
    # A file that is new may be one that is being made.
    write(path)
    assert stale.exists()
    for part in tmp_path.glob(".*.part"):
        os.utime(part, (0, 0))
    other = tmp_path / ".notes.part"
    other.write_text("not ours")
    os.utime(other, (0, 0))
    write(path)
    assert not stale.exists() and other.exists()
    # Another process still writes to its own.
    assert len(list(tmp_path.glob(".own.csv.*.part"))) == 1
    writing.communicate("")
    assert writing.returncode == 0 and path.read_text() == "half"
    assert sorted(item.name for item in tmp_path.iterdir()) == [".notes.part", "own.csv"]

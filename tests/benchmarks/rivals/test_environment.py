import sys
from pathlib import Path

import pytest

from benchmarks.rivals import environment
from benchmarks.rivals.environment import rival_python


@pytest.fixture
def ran(monkeypatch):
    """Commands that would have run, in an environment without anything in it."""
    commands = []

    def create(place, with_pip, clear):
        assert with_pip and clear
        place.mkdir(parents=True, exist_ok=True)
        (place / "pyvenv.cfg").touch()

    def run(command, check):
        assert check
        commands.append(command)

    monkeypatch.setattr(environment.venv, "create", create)
    monkeypatch.setattr(environment.subprocess, "run", run)
    return commands


def test_packages_are_installed_once(tmp_path, ran, monkeypatch):
    monkeypatch.chdir(tmp_path)
    python = rival_python("new/one", ("a==1", "b<2"))
    assert python.is_absolute() and python.is_relative_to(tmp_path / "new" / "one")
    assert python.name == "python" and python.parent.name in Path(sys.executable).parent.name
    assert [command[1:] for command in ran] == [["-m", "pip", "install", "--quiet", "a==1", "b<2"]]
    assert Path(ran[0][0]).name == "python"
    assert rival_python("new/one", ("a==1", "b<2")) == python and len(ran) == 1


def test_one_left_half_made_is_made_again(tmp_path, ran):
    (tmp_path / "pyvenv.cfg").touch()
    rival_python(tmp_path, ("a",))
    assert len(ran) == 1 and (tmp_path / "ready").exists()


def test_a_failed_installation_is_not_ready(tmp_path, ran, monkeypatch):
    def fail(*_, **__):
        raise OSError("no pip")

    monkeypatch.setattr(environment.subprocess, "run", fail)
    with pytest.raises(OSError, match="no pip"):
        rival_python(tmp_path / "new", ("a",))
    assert not (tmp_path / "new" / "ready").exists()


def test_a_folder_with_other_files_is_left_as_it_is(tmp_path, ran):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match="a folder with other files; give a new or empty"):
        rival_python(tmp_path, ("a",))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"] and ran == []


def test_an_empty_folder_is_taken(tmp_path, ran):
    rival_python(tmp_path, ("a",))
    assert len(ran) == 1

"""Completion in the shells themselves, set up as docs/install.md says."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = "#!{}\nfrom estimators.cli.__main__ import run\nrun()\n"
STARTED = {"bash": "--rcfile {}/.bashrc -i", "zsh": "-i"}
SECONDS = 120
TYPED = {
    "film dup": "film duplicates ",
    "film train --lab": "film train --label ",
    "film train pairs.csv --cache sto": "film train pairs.csv --cache stories/",
}


@pytest.fixture
def home(tmp_path):
    """A folder with `film`, a table and a folder, and the documented lines of each shell."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/film"
    program.write_text(PROGRAM.format(sys.executable))
    program.chmod(0o755)
    (tmp_path / "pairs.csv").write_text("text1,text2\na,b\n")
    (tmp_path / "stories").mkdir()
    text = (ROOT / "docs/install.md").read_text("utf-8").split("## Shell completion")[1]
    for line, name in re.findall(r"^(.+?) +# ~/(\S+)$", text, re.M):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as handle:
            handle.write(f"{line}\n")
    return tmp_path


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG")}
    return kept | {
        "HOME": str(home),
        "ZDOTDIR": str(home),
        "PATH": f"{home}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TERM": "dumb",
    }


def typed(shell, home, keys):
    """Type keys and a tab into a shell on a terminal of its own; return what the line becomes."""
    path = shutil.which(shell)
    assert path
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.execve(path, [shell, *STARTED[shell].format(home).split()], environment(home))
    seen = b""
    try:
        # The answer differs from what was typed, which the terminal shows too.
        os.write(terminal, b"echo RE''ADY\n")
        for awaited, then in ((b"READY", keys + "\t"), (TYPED[keys].encode(), "")):
            end = time.monotonic() + SECONDS
            while awaited not in seen and time.monotonic() < end:
                if select.select([terminal], [], [], 1)[0]:
                    seen += os.read(terminal, 65_536)
            if then:
                seen = b""
                os.write(terminal, then.encode())
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    return seen.decode(errors="replace")


@pytest.mark.parametrize("keys", TYPED)
@pytest.mark.parametrize("shell", STARTED)
def test_bash_and_zsh_complete_commands_options_and_names_of_files(shell, keys, home):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert TYPED[keys] in typed(shell, home, keys)


def test_fish_completes_commands_options_and_names_of_files(home):
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed")
    queries = "; echo =; ".join(f'complete -C "{keys}"' for keys in TYPED)
    done = subprocess.run(
        [fish, "-c", queries], env=environment(home), cwd=home, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = [block.strip().split("\t")[0] for block in done.stdout.split("=\n")]
    assert found == [line.split()[-1] for line in TYPED.values()]


def test_commands_are_completed_without_loading_them(home):
    code = (
        "import sys; from estimators.cli import main; from click.shell_completion import *;"
        "found = ShellComplete(main, {}, 'film', '_F').get_completions([], '');"
        "print(len(found), [f.help for f in found][0]);"
        "print({'numpy', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(home), capture_output=True, text=True
    )
    assert done.stdout.split("\n")[:2] == ["9 Learn from labelled pairs.", "set()"], done.stderr

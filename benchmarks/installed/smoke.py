"""What an installed copy must do: a script for its environment, without this repository.

``python -I smoke.py FOLDER [STEP ...]`` works in an empty folder, and prints each step that holds.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

COMMAND = Path(sys.executable).parent / "film"
COMPLETES = """\
eval "$(_FILM_COMPLETE=bash_source film)"
complete -p film
COMP_WORDS=(film dup) COMP_CWORD=1
_film_completion film
COMP_WORDS=(film train --lab) COMP_CWORD=2
_film_completion film
printf '%s\\n' "${COMPREPLY[@]}"
"""


def main(folder: Path, chosen: list[str]) -> int:
    """Do everything, or the steps that are named."""
    for step in (versions, no_torch, classifier, metric, finder, command_line, completion):
        if step.__name__ in (chosen or [step.__name__]):
            step(folder)
            print(step.__name__, flush=True)
    return 0


def versions(folder: Path) -> None:
    """Compare the versions of both packages, the distribution and the command."""
    told = {import_module(name).__version__ for name in ("film", "estimators")}
    assert told == {version("film-metric")}
    assert f"version {told.pop()}" in _film(folder, "--version")


def no_torch(folder: Path) -> None:
    """Load no torch unasked, and name the extra where it is asked for and not there."""
    from estimators import RCMDRegressor

    assert "torch" not in sys.modules
    if not find_spec("torch"):
        try:
            RCMDRegressor().fit([("a", "b"), ("c", "d")], [1, 0])
        except ImportError as error:
            assert "pip install 'film-metric[neural]'" in str(error), error
        else:
            raise AssertionError("RCMDRegressor was fitted without torch")


def classifier(folder: Path) -> None:
    """Teach a classifier, explain it, and get the same from its file."""
    import numpy as np

    from estimators import fast_duplicates, load_model, save_model
    from film.datasets import make_question_pairs

    data = make_question_pairs(150, random_state=0)
    model = fast_duplicates(random_state=0).fit(data.pairs[:100], data.y[:100])
    probabilities = model.predict_proba(data.pairs[100:])
    assert np.isfinite(probabilities).all()
    assert "0." in str(model.explain(data.pairs[100:101])[0])
    save_model(model, folder / "model.film")
    again = load_model(folder / "model.film").predict_proba(data.pairs[100:])
    np.testing.assert_array_equal(again, probabilities)


def metric(folder: Path) -> None:
    """Bring rows of one label together by a metric."""
    import numpy as np

    from estimators import FILM

    labels = np.arange(60) % 3
    X = np.random.default_rng(0).normal(size=(60, 8)) + np.eye(8)[labels]
    assert FILM(d=2, random_state=0).fit(X, labels).score(X, labels) > 0.6


def finder(folder: Path) -> None:
    """Find the copies of a corpus."""
    from estimators import DuplicateFinder

    texts = ["How do I learn chess?", "how do i learn chess", "Where is the sea?"]
    assert DuplicateFinder().fit(texts).find(threshold=0.9).pairs.tolist() == [[0, 1]]


def command_line(folder: Path) -> None:
    """Learn, score, explain and find by the command, from tables."""
    from film.datasets import make_question_pairs

    data = make_question_pairs(120, random_state=1)
    with open(folder / "pairs.csv", "w", encoding="utf-8", newline="") as file:
        rows = [[*pair, label] for pair, label in zip(data.pairs.tolist(), data.y, strict=True)]
        csv.writer(file).writerows([["text1", "text2", "label"], *rows])
    _film(folder, "train", "pairs.csv", "--model", "trained.film", "--rank", "20", "--folds", "2")
    scored = _film(folder, "score", "pairs.csv", "--model", "trained.film")
    assert scored.startswith("text1,text2,label,probability,") and scored.count("\n") == 121
    _film(folder, "explain", "pairs.csv", "--model", "trained.film", "--html", "page.html")
    assert "</html>" in (folder / "page.html").read_text(encoding="utf-8")
    assert "copy" in _film(folder, "duplicates", "pairs.csv", "--text", "text1")


def completion(folder: Path) -> None:
    """Complete a command and an option in bash, where there is one."""
    bash = shutil.which("bash")
    if bash is None:
        return
    where = os.environ | {"PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [bash, "--norc", "-ec", COMPLETES], capture_output=True, text=True, env=where, cwd=folder
    )
    lines = done.stdout.splitlines()
    assert lines[1:] == ["duplicates", "--label"] and "-F _film_completion" in lines[0], done


def _film(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(COMMAND), *arguments], cwd=folder, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, (arguments, done.stderr)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

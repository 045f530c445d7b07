"""Start, messages and files of the command line, one test per thing that was wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from estimators.persistence import load_model, save_model
from film.datasets import make_question_pairs, write_table

ROOT = Path(__file__).parents[2]


def python(*arguments, **keywords):
    """Run Python in a process of its own, as a user does."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        **keywords,
    )


def loaded_by(*arguments):
    """Give the modules that a command has loaded when it ends."""
    program = (
        "import sys\nfrom estimators.cli import main\n"
        "try:\n    main(sys.argv[1:], prog_name='film')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = python("-c", program, *arguments)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """A folder with train.csv and model.skops, which tests only read."""
    folder = tmp_path_factory.mktemp("shelf")
    data = make_question_pairs(200, random_state=0)
    rows = [[*pair, y] for pair, y in zip(data.pairs.tolist(), data.y.tolist(), strict=True)]
    write_table(folder / "train.csv", ["question1", "question2", "is_duplicate"], rows)
    small = ["--rank", 20, "--folds", 2]
    command = ["-m", "estimators.cli", "train", folder / "train.csv"]
    trained = python(*command, "--model", folder / "model.skops", *small)
    assert trained.returncode == 0, trained.stderr
    (folder / "train.err").write_text(trained.stderr, encoding="utf-8")
    return folder


def test_19_importing_the_packages_loads_no_library():
    program = "import sys, film, estimators, estimators.inspection; print(*sys.modules)"
    loaded = {name.split(".")[0] for name in python("-c", program).stdout.split()}
    assert "estimators" in loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "skops", "torch", "joblib"}


def test_19_public_names_load_when_first_used():
    program = (
        "import sys, estimators\n"
        # Its name is that of its module, which must not take its place.
        "import estimators.fast_duplicates\n"
        "assert callable(estimators.fast_duplicates)\n"
        "assert 'RCMDRegressor' in dir(estimators) and 'estimators.rcmd' not in sys.modules\n"
        "from estimators import RCMDRegressor\n"
        "assert RCMDRegressor is sys.modules['estimators.rcmd'].RCMDRegressor\n"
    )
    assert python("-c", program).stderr == ""


def test_19_every_public_name_is_there():
    import estimators
    from estimators import inspection

    for package in (estimators, inspection):
        assert len(package.__all__) > 5
        for name in package.__all__:
            assert getattr(package, name).__name__ == name


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_19_help_and_version_load_no_library(option):
    loaded = loaded_by(option)
    assert "click" in loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "estimators.cli.train"}


def test_19_scoring_loads_what_it_needs_alone(shelf):
    loaded = loaded_by("score", shelf / "train.csv", "-m", shelf / "model.skops")
    assert "sklearn" in loaded and "skops" in loaded
    unused = {"torch", "pytest", "matplotlib", "sklearn.gaussian_process", "estimators.inspection"}
    assert not loaded & unused


def test_19_a_saved_vocabulary_is_one_entry(shelf, tmp_path):
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer().fit([" ".join(f"word{i}" for i in range(3000))])
    words.twice_ = [words.vocabulary_, words.vocabulary_]
    save_model(words, tmp_path / "words.skops")
    import zipfile

    with zipfile.ZipFile(tmp_path / "words.skops") as archive:
        schema = json.loads(archive.read("schema.json"))
    assert json.dumps(schema).count("__loader__") < 100
    again = load_model(tmp_path / "words.skops")
    assert again.vocabulary_ == words.vocabulary_
    assert again.twice_[0] is again.twice_[1] is again.vocabulary_


def test_18_version_has_one_source():
    import estimators
    import film

    assert python("-m", "estimators.cli", "--version").stdout.split()[-1] == film.__version__
    assert estimators.__version__ is film.__version__
    assert 'version = "' not in (ROOT / "pyproject.toml").read_text("utf-8").split("[tool.")[0]


def test_18_help_of_all_commands_is_that_of_each():
    from estimators.cli import _app, main

    for name in _app.COMMANDS:
        assert main.get_command(None, name).name == name

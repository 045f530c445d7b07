"""How the command starts, what it refuses, and what it says of files."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest

from estimators import load_model, save_model
from estimators.cli import app as _app
from estimators.cli import console as _console
from estimators.cli import main
from estimators.cli.options import FiniteRange
from estimators.cli.tables import write_table
from tests.estimators.cli.commands import ROOT, run
from tests.estimators.forged_models import members_of, write_members


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


def test_importing_the_packages_loads_no_library():
    program = (
        "import sys, film, film.datasets, estimators, estimators.inspection; print(*sys.modules)"
    )
    loaded = {name.split(".")[0] for name in python("-c", program).stdout.split()}
    assert "estimators" in loaded
    assert not loaded & set("numpy scipy sklearn pandas skops torch joblib matplotlib".split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_no_library(option):
    loaded = loaded_by(option)
    assert "click" in loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "estimators.cli.commands.train"}


def test_scoring_loads_what_it_needs_alone(shelf):
    loaded = loaded_by("score", shelf / "train.csv", "-m", shelf / "model.skops")
    assert "sklearn" in loaded
    unused = {"torch", "skops", "matplotlib", "sklearn.gaussian_process", "estimators.inspection"}
    assert not loaded & unused


def test_a_saved_vocabulary_is_one_entry(shelf, tmp_path):
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer().fit([" ".join(f"word{i}" for i in range(3000))])
    words.twice_ = [words.vocabulary_, words.vocabulary_]
    save_model(words, tmp_path / "words.skops")
    with zipfile.ZipFile(tmp_path / "words.skops") as archive:
        schema = json.loads(archive.read("schema.json"))
    assert json.dumps(schema).count("__loader__") < 100
    again = load_model(tmp_path / "words.skops")
    assert again.vocabulary_ == words.vocabulary_
    assert again.twice_[0] is again.twice_[1] is again.vocabulary_


def test_version_has_one_source():
    import estimators
    import film

    assert run("--version").out.split()[-1] == film.__version__
    assert estimators.__version__ is film.__version__
    assert 'version = "' not in (ROOT / "pyproject.toml").read_text("utf-8").split("[tool.")[0]


@pytest.fixture(autouse=True)
def loaded_once():
    """Models are read here as the command reads them."""


@pytest.fixture(scope="module")
def odd(shelf, tmp_path_factory):
    """A folder with odd files, by the names that the table of invocations uses."""
    folder = tmp_path_factory.mktemp("odd")
    for name in ("train.csv", "model.skops"):
        (folder / name).write_bytes((shelf / name).read_bytes())
    files = {
        "empty.csv": b"",
        "zero.csv": b"question1,question2,is_duplicate\na b,c d,0\ne f,g h,0\n",
        "words.csv": b"question1,question2,is_duplicate\na,b,maybe\n",
        "texts.csv": b"id,text\n1,Is tea hot?\n1,Is tea warm?\n",
        "noid.csv": b"id,text\n1,Is tea hot?\n,Is tea warm?\n",
        "both.csv": b"text,title\na,b\n",
        "taken.csv": b"question1,question2,probability,score\na,b,c,d\n",
        "pickle.skops": b"\x80\x04.",
        "text.skops": b"hello",
        "answers.csv": b"a,b\n1,2\n",
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    return folder


ODD = [
    ("merge", "No such command 'merge'"),
    ("harvest", "Do this in Python: estimators.harvest("),
    ("tarin", "No such command 'tarin'. Did you mean 'train'?"),
    ("score", "Missing argument 'PAIRS'"),
    ("score train.csv -m none.skops", "there is no file 'none.skops'"),
    ("score none.csv -m model.skops", "there is no file 'none.csv'"),
    ("score . -m model.skops", "'.' is a folder"),
    ("score train.csv -m .", "--model . is a folder"),
    ("score train.csv -m -", "a model is read from a file"),
    ("score train.csv -m pickle.skops", "is a pickle"),
    ("score train.csv -m text.skops", "text.skops"),
    ("score model.skops -m model.skops", "is a model, where a table is needed; give it by --model"),
    ("score - -m -", "only one input can be -"),
    ("score - -m model.skops", "standard input is empty"),
    ("score empty.csv -m model.skops", "is empty"),
    ("score taken.csv -m model.skops", "--as NAME"),
    ("score train.csv -m model.skops --threshold nan", "'--threshold': 'nan' is not a number"),
    ("score train.csv -m model.skops --encoding undefined", "--encoding 'undefined' is unknown"),
    ("score train.csv -m model.skops --encoding utf-16", "line 1: byte 0x71 is not utf-16"),
    ("score train.csv -m model.skops -1 question1", "both --text1 and --text2"),
    ("score train.csv -m model.skops -1 q -2 question2", "no column 'q'"),
    ("score train.csv -m model.skops -o out.docx", ".docx is not a format that can be written"),
    ("score train.csv -m model.skops -o out.json -f csv", "--out out.json ends in json"),
    ("score train.csv -m model.skops -f xml", "'xml' is not one of"),
    ("train train.csv -m m.skops --seed 99999999999999999999", "'--seed'"),
    ("train train.csv -m -", "--model - cannot be standard output"),
    ("train train.csv -m .", "is a folder"),
    ("train train.csv -m m.skops --cache model.skops", "'--cache': Directory 'model.skops' is a"),
    ("train train.csv -m m.skops --cache model.skops/x", "--cache model.skops/x cannot be made"),
    ("train train.csv -m m.skops --folds 900", "--folds 900"),
    ("train train.csv -m m.skops --text text", "--text names a column of --corpus"),
    ("train train.csv -m m.skops --corpus train.csv", "name yours by --text"),
    ("train train.csv -m m.skops --label similar", "'similar'"),
    ("train train.csv -m train.csv", "would overwrite"),
    ("train - -m m.skops --corpus -", "only one input"),
    ("train zero.csv -m m.skops", "each label in column 'is_duplicate' is 0"),
    ("train words.csv -m m.skops", "neither 0 nor 1"),
    ("duplicates texts.csv", "id '1' twice, lines 2, 3"),
    ("duplicates noid.csv", "a row without an id, line 3"),
    ("duplicates both.csv", "may all be the texts; choose by --text"),
    ("duplicates both.csv -t text -t text", "names a column twice"),
    ("duplicates both.csv -t text -t body", "no column 'body'"),
    ("duplicates both.csv -t text --html -", "--html - cannot be standard output"),
    ("duplicates both.csv -t text --prior .2", "--prior"),
    ("explain -m model.skops", "give a table PAIRS, or --text-pair"),
    ("explain -p a b --compare name", "--compare names columns of PAIRS; leave it out"),
    ("explain -p a b -1 name", "--text1 names columns of PAIRS; leave it out"),
    ("explain -p a b --right r_", "--right names columns of PAIRS; leave it out"),
    ("explain train.csv -m model.skops --html -", "--html - cannot be"),
    ("explain -p a b -m model.skops --html no/page.html", "does not exist"),
    ("evaluate words.csv -m model.skops", "neither 0 nor 1"),
    ("evaluate train.csv -m model.skops --html -", "--html - cannot be standard output"),
    ("evaluate train.csv -m model.skops -l none", "no column 'none'"),
    ("submit train.csv -m model.skops -o s.csv", "by --id"),
    ("submit train.csv -m model.skops -o s.json --id question1", "a submission is CSV"),
    ("label both.csv --labels -", "--labels - cannot be standard output"),
    ("label both.csv --labels answers.csv -t text", "answers.csv"),
    ("info folder", "is a folder"),
    ("info model.skops -o model.skops", "would overwrite the input"),
]


@pytest.mark.parametrize(("line", "message"), ODD)
def test_odd_invocations_end_in_a_line_that_says_why(odd, monkeypatch, line, message):
    monkeypatch.chdir(odd)
    before = sorted(odd.iterdir())
    result = run(*line.split(), stdin="")
    assert result.code == 2
    assert result.out == ""
    said = " ".join(result.err.split())
    assert message in said and "Traceback" not in said
    assert "Errno" not in said
    # Notes and the usage of the command may stand before the one error.
    assert result.err.lower().count("error:") == 1
    assert sorted(odd.iterdir()) == before


def test_every_number_is_finite_and_every_seed_fits():
    for name in _app.COMMANDS:
        for param in main.get_command(click.Context(main), name).params:
            if isinstance(param.type, click.types.FloatParamType):
                assert isinstance(param.type, FiniteRange), (name, param.name)
            if param.name == "seed":
                assert param.type.max == 2**32 - 1


def test_an_interruption_tells_what_was_written(shelf, tmp_path, monkeypatch):
    from estimators.cli import writing as _writing

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_writing, "note", interrupted)
    out = tmp_path / "out.csv"
    ran = run("score", shelf / "train.csv", "-m", shelf / "model.skops", "-o", out)
    assert ran.code == 130 and out.exists()
    assert f"film: interrupted; only {out} was written" in ran.err
    assert "nothing was written" not in ran.err


@pytest.mark.parametrize("module", ["click", "sklearn"])
def test_an_interruption_while_loading_is_no_traceback(shelf, module):
    program = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from estimators.cli.__main__ import run\n"
        "run()\n"
    )
    done = python("-c", program, "score", shelf / "train.csv", "-m", shelf / "model.skops")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "\nfilm: interrupted; nothing was written\n"


def test_a_torn_file_of_the_cache_is_one_note(shelf, tmp_path):
    few = "".join((shelf / "train.csv").read_text("utf-8").splitlines(keepends=True)[:101])
    (tmp_path / "few.csv").write_text(few, "utf-8")
    command = ["train", tmp_path / "few.csv", "-m", tmp_path / "m.skops", "--rank", 20]
    command += ["--folds", 2, "--cache", tmp_path / "cache"]
    assert run(*command).code == 0
    torn = list((tmp_path / "cache").rglob("output.pkl"))
    assert torn
    for path in torn:
        path.write_bytes(path.read_bytes()[:20])
    again = run(*command)
    assert again.code == 0 and "Traceback" not in again.err
    assert "film: a finished part in --cache is damaged, so it is computed again" in again.err


def test_ids_stand_as_they_are(odd):
    texts = "id,text\n 1 ,Is tea hot?\n2 ,Is tea hot?\n"
    (row,) = csv.DictReader(io.StringIO(run("duplicates", "-", stdin=texts).out))
    assert (row["id1"], row["id2"]) == (" 1 ", "2 ")


@pytest.mark.parametrize("name", ["own.xlsx", "own.parquet", "own.json.zip", "own.tsv.bz2"])
def test_commands_take_and_give_every_form(shelf, tmp_path, name):
    write_table(tmp_path / name, ["id", "text1", "text2"], [["a", "Is tea hot?", "Is tea hot?"]])
    out = tmp_path / f"out-{name}"
    ran = run("score", tmp_path / name, "-m", shelf / "model.skops", "-o", out)
    assert ran.code == 0, ran.err
    from estimators.cli.tables import read_table

    table = read_table(out)
    assert table.column("id") == ["a"] and table.column("duplicate") == ["1"]
    # A format that is no text does not go to standard output unasked.
    ran = run("score", tmp_path / name, "-m", shelf / "model.skops")
    assert "duplicate" in ran.out.split("\n")[0] or name.startswith("own.json")


def test_several_text_columns_are_joined():
    table = "id,title,body\n1,Tea,is it hot?\n2,,Tea is it hot?\n3,Cats,purr\n"
    ran = run("duplicates", "-", "-t", "title", "-t", "body", stdin=table)
    (row,) = csv.DictReader(io.StringIO(ran.out))
    assert (row["id1"], row["id2"], row["text1"]) == ("1", "2", "Tea is it hot?")


def test_a_submission_goes_to_standard_output(shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = "test_id,question1,question2\n5,Is tea hot?,Is tea hot?\n"
    ran = run("submit", "-", "-m", shelf / "model.skops", "-o", "-", stdin=table)
    assert ran.code == 0, ran.err
    assert re.fullmatch(r"test_id,is_duplicate\n5,[01]\.\d+\n", ran.out)
    assert list(tmp_path.iterdir()) == []


def test_formulas_are_escaped_when_asked(shelf, tmp_path):
    table = "id,text1,text2\n=1+1,Is tea hot?,Is tea hot?\n"
    command = ["score", "-", "-m", shelf / "model.skops"]
    assert run(*command, stdin=table).out.split("\n")[1].startswith("=1+1,")
    escaped = run(*command, "--escape-formulas", stdin=table).out
    assert escaped.split("\n")[1].startswith("'=1+1,")


def test_info_tells_what_a_model_is(shelf):
    told = json.loads(run("info", shelf / "model.skops", "--format", "json").out)
    assert told["kind"] == "DuplicateClassifier" and told["trained on"] == ["train.csv"]
    assert told["pairs"] == 300 and 0 < told["share of duplicates"] < 1
    assert told["prior"] == told["share of duplicates"]
    assert {"ROC AUC", "log loss", "calibration error"} < set(told["out of fold"])
    assert re.match(r"\d{4}-\d\d-\d\dT", told["saved"])
    text = run("info", shelf / "model.skops").out
    assert "train.csv" in text and "out of fold, ROC AUC" in text


def test_info_says_what_a_model_without_metadata_does_not_tell(tmp_path):
    content = members_of(ROOT / "tests" / "golden" / "fast_trees.film")
    header = json.loads(content["film-metric.json"])
    del header["date"]
    path = tmp_path / "model.film"
    write_members(path, content | {"film-metric.json": json.dumps(header).encode()})
    told = run("info", path).out
    assert re.search(r"saved +unknown: not recorded in the file", told)
    assert re.search(r"trained on +unknown", told) and re.search(r"pairs +\d+", told)


def test_what_is_written_is_said_with_rows_and_size(shelf, tmp_path):
    out = tmp_path / "out.csv"
    ran = run("score", shelf / "train.csv", "-m", shelf / "model.skops", "-o", out)
    size = out.stat().st_size
    shown = f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB"
    assert f"film: wrote {out} (300 rows, {shown})" in ran.err
    assert "model.skops (a model of 300 pairs, " in (shelf / "train.err").read_text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rank=20 and cv=5 do not go", "--rank 20 and --folds 5 do not go"),
        ("give prior=None to go on", "leave out --prior to go on"),
        ("prior must lie in (0, 1)", "--prior must lie in (0, 1)"),
        ("random_state=-1 is no seed", "--seed -1 is no seed"),
        ("give encoding=, or save it again", "give --encoding, or save it again"),
        ("path: there is no file", "there is no file"),
        ("d=100 and a model must fit", "d=100 and a model must fit"),
        ("see n_rank=3", "see n_rank=3"),
    ],
)
def test_messages_name_options(text, expected):
    command = main.get_command(click.Context(main), "train")
    assert _console.by_options(text, command) == expected


def test_help_and_readme_agree_on_names():
    """Every option of film that README and the guides write is one of the command it is for."""
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(document.read_text("utf-8") for document in documents)
    lines = re.findall(r"film (" + "|".join(_app.COMMANDS) + r")\b([^`\n]*)", text)
    assert len(lines) > 4
    for name, rest in lines:
        params = main.get_command(click.Context(main), name).params
        known = {option for param in params for option in [*param.opts, *param.secondary_opts]}
        for option in re.findall(r"(?<!\S)--?[a-z][a-z0-9-]*", rest):
            assert option in known | {"--help", "-h"}, (name, option)
    for name in re.findall(r"`film ([a-z]+)", text):
        assert name in {**_app.COMMANDS, **_app.EARLIER_NAMES}, name


def test_an_empty_film_data_is_not_set(monkeypatch, tmp_path):
    from benchmarks.support.folders import data_folder, film_data

    monkeypatch.setenv("FILM_DATA", "")
    assert film_data() is None
    with pytest.raises(FileNotFoundError, match="neither --data nor FILM_DATA"):
        data_folder(None, "sts")
    assert data_folder("here", "sts") == Path("here")
    monkeypatch.setenv("FILM_DATA", str(tmp_path))
    assert data_folder(None, "sts") == tmp_path / "sts"
    for path in (ROOT / "benchmarks").rglob("*.py"):
        if path.name != "folders.py":
            assert 'environ.get("FILM_DATA"' not in path.read_text("utf-8"), path

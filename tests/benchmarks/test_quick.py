"""Every benchmark runs with ``--quick`` on small made data, and records what it measures."""

import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# {data}: the folder of made sets; {model}: a tiny random transformer.
RUNS = {
    "quora": "--quick --rank 40 --d 10 --folds 2",
    "duplicates": "--quick",
    "accurate": "--quick --members film,words --modes inductive",
    "intents": "--quick --data {data}",
    "general": "--quick",
    "thresholds": "--quick",
    "review": "--quick",
    "few_labels": "--quick",
    "explanations": "--quick",
    "linkage": "--quick",
    "records": "--quick",
    "encoders": "--quick --data {data} --encoder {model}",
    "corpus": "--quick --size 400 --only planted groups",
    "solvers": "--quick",
    "sts": "--quick --data {data}/sts --model {model}",
    "ists": "--quick --data {data}/ists/train --model {model}",
    "rcmd_train": "--quick --recipe here --recipe sts --plan rcmd --data {data} --model {model}",
    "contexts": "--quick",
    "gpu": "--quick",
    "compatibility": "--quick",
    "mutants": "--quick --n 3 --modules tokens/chunks --keep {work}/kept.jsonl",
    "release": "--quick",
    "trust": "--quick --parts readers,estimators --inputs 5",
}
SLOW = (
    *("accurate", "compatibility", "contexts", "corpus", "duplicates"),
    *("encoders", "explanations", "few_labels", "gpu", "intents", "ists", "linkage", "quora"),
    *("rcmd_train", "records", "release", "solvers", "sts", "trust"),
)
NO_RUN = {"compare", "tables"}
NEEDS_TORCH = ("encoders", "sts", "ists", "rcmd_train", "contexts", "gpu")


def main_of(name):
    return importlib.import_module(f"benchmarks.{name}").main


# joblib says so of a memory that is slow, as on a busy machine.
@pytest.mark.filterwarnings("ignore:Persisting input arguments:UserWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in RUNS]
)
def test_a_quick_run_records_what_it_measures(name, data, tmp_path, monkeypatch, request):
    if name in NEEDS_TORCH:
        pytest.importorskip("transformers", reason="needs the extra neural")
    monkeypatch.delenv("FILM_DATA", raising=False)
    model = request.getfixturevalue("tiny_model") if "{model}" in RUNS[name] else ""
    options = RUNS[name].format(data=data, model=model, work=tmp_path).split()
    assert main_of(name)([*options, "--out", str(tmp_path / "out")]) == 0
    if name == "quora":
        assert json.loads((tmp_path / "out" / "metrics.json").read_text())["dev"]
        assert (tmp_path / "out" / "submission.csv").is_file()
        return
    rows = [
        json.loads(line)
        for path in (tmp_path / "out").glob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert rows and {"bench", "case", "metric", "value", "hardware", "commit"} <= set(rows[0])
    failed = [row for row in rows if row["metric"] == "failed"]
    assert not any(row["value"] for row in failed)


def test_every_benchmark_has_a_quick_run():
    names = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"__init__"}
    assert names - NO_RUN == set(RUNS)


@pytest.mark.parametrize(
    "name", ["quora", "duplicates", "corpus", "sts", "rcmd_train", "intents", "general"]
)
def test_missing_data_is_named_and_exits_with_2(name, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("FILM_DATA", raising=False)
    options = ["--out", str(tmp_path / "out")] if name == "quora" else []
    with pytest.raises(SystemExit, match="2"):
        main_of(name)(["--data", str(tmp_path / "none"), *options])
    assert f"benchmarks.{name}: " in capsys.readouterr().err


def test_pages_name_benchmarks_that_are_there_or_are_listed_as_gone():
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), ROOT / "Makefile"]
    about = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    gone = re.findall(r"`(\w+)`", about.partition("Gone are:")[2])
    known = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} | {"NAME", "support", "md"}
    for page in pages:
        named = re.findall(r"\bbenchmarks\.([a-zA-Z]\w+)", page.read_text(encoding="utf-8"))
        assert set(named) <= known | set(gone), page


def test_commands_on_pages_have_the_options_and_cases_of_their_scripts(capsys):
    pytest.importorskip("transformers", reason="needs the extra neural")
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages).replace("\\\n", " ")
    checked = 0
    for name in sorted({*RUNS, "tables"}):
        with pytest.raises(SystemExit):
            main_of(name)(["--help"])
        shown = capsys.readouterr().out
        for options in re.findall(rf"python -m benchmarks\.{name}\b([^`\n]*)", text):
            words = options.split()
            for word, value in zip(words, [*words, ""][1:], strict=True):
                if word.startswith("--"):
                    assert word in shown, (name, options)
                    checked += 1
                if word == "--case":
                    assert value in re.split(r"[{},\s]+", shown), (name, options)
    assert checked > 10

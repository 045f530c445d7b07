"""The site of docs/: every page is in a table of contents, and every public name has one."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import estimators
from estimators import load_model
from film.unpacking import LEAST_LIMIT, MOST_TIMES, MOST_TIMES_IN_MEMORY

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
pytestmark = pytest.mark.filterwarnings("error")


def script(name):
    spec = spec_from_file_location(f"{name}_of_docs", DOCS / f"{name}.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def conf(tmp_path):
    for name in ("docutils", "latex2mathml"):
        if find_spec(name) is None:
            pytest.skip("needs the extra docs")
    module = script("conf")
    module.HERE = tmp_path
    return module


def test_every_page_is_in_the_table_of_contents():
    entries = set(re.findall(r"^[\w/-]+$", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE))
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert pages - {"index"} == entries - {"api/index", "gallery/index"}


def test_the_reference_has_every_public_name(conf):
    conf.write_reference()
    pages = {path.stem: path.read_text("utf-8") for path in (conf.HERE / "api").glob("*.rst")}
    for name in set(estimators.__all__) - {"__version__"}:
        assert f"\n   {name}\n" in pages["estimators"]
    assert "\n   solve\n" in pages["film.metric"]
    assert "\n   export_sentence_transformers\n" in pages["estimators.encoders"]
    assert "check_device" not in pages["estimators.encoders"]
    rooms = {path.parent.name for path in (conf.ROOT / "film").glob("*/__init__.pyi")}
    assert {f"film.{room}" for room in rooms} <= set(pages)
    assert all(f"\n   {room}\n" in pages["index"] for room in set(pages) - {"index"})
    assert "``BEGIN`` = ``" in pages["film.contexts"]


def test_signs_that_restructuredtext_would_replace_are_escaped(conf):
    lines = ["|T| of shape (n_, d)", "``a | b``", ">>> a | b"]
    conf.escape_signs(None, "class", "X", None, None, lines)
    assert lines == [r"\|T\| of shape (n\_, d)", "``a | b``", ">>> a | b"]


def test_the_citation_has_the_version_of_the_package():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {estimators.__version__}\n" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_the_command(shell):
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "_FILM_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "film tr",
        "COMP_CWORD": "1" if shell != "fish" else "tr",
    }
    code = "from estimators.cli.__main__ import run; run()"
    program = "import sys; sys.argv = ['film']; " + code
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert "train" in done.stdout


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<p id="top"><a href="b.html#here">b</a><a href="#top">a</a>')
    (tmp_path / "b.html").write_text('<p id="here"><a href="https://example.org/a.html">c</a>')
    assert script("dead_links").dead_links(tmp_path) == []
    for page in ("<a href='c.html'>", "<a href='b.html#there'>", "<script src='//host/x.js'>"):
        (tmp_path / "a.html").write_text(page)
        assert len(script("dead_links").dead_links(tmp_path)) == 1, page


def test_what_security_promises_is_tested():
    told = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    rows = [line for line in told.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 6
    for row in rows:
        named = re.findall(r"`(test\w+|tests/[\w/.]+)`", row.split("|")[-2])
        assert named, row
        for name in named:
            assert f"def {name}(" in sources or (ROOT / name).is_file(), name


def test_the_limits_on_size_are_those_of_the_code():
    limit = f"{LEAST_LIMIT // 2**20} MiB,? or {MOST_TIMES} times"
    memory = f"at most {MOST_TIMES_IN_MEMORY} times"
    told = [(ROOT / name).read_text(encoding="utf-8") for name in ("SECURITY.md", "docs/saving.md")]
    for text in [*told, load_model.__doc__ or ""]:
        assert re.search(limit, " ".join(text.split())) and memory in " ".join(text.split())

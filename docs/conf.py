"""How Sphinx builds these pages: ``make docs``, without network."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from inspect import isclass, isroutine
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from film import __version__ as release  # noqa: E402

project = "film-metric"
author = "The film-metric developers"
project_copyright = author
html_title = f"film-metric {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["examples", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# `NAME` in a docstring links where NAME is public, and is code elsewhere.
default_role = "py:obj"
nitpick_ignore_regex = [(r"py:(obj|class|meth|attr|func|data|exc)", r".*")]
autosummary_generate = True
autosummary_imported_members = True
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
autoclass_content = "class"
napoleon_numpy_docstring = True
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 5,
    "plot_gallery": True,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "parallel": 2,
    "copyfile_regex": r"",
}

TRAILING = re.compile(r"(?<=[(, ])(\w+)_(?=[,)])")
FACE_NAME = re.compile(r"\b(\w+) as \1\b")
# Of this room, the names that are for users and not in the package's own face.
CHOSEN = {"estimators.encoders": {"export_sentence_transformers"}}
ROOMS = [
    "estimators",
    "estimators.metric",
    "estimators.inspection",
    "estimators.encoders",
    *(f"film.{path.parent.name}" for path in sorted((ROOT / "film").glob("*/__init__.pyi"))),
]


def write_reference() -> None:
    """Write one page per room that lists every name of its face."""
    folder = HERE / "api"
    folder.mkdir(exist_ok=True)
    shown: set[str] = set()
    for room in ROOMS:
        stub = ROOT.joinpath(*room.split("."), "__init__.pyi").read_text("utf-8")
        names = [name for name in FACE_NAME.findall(stub) if name not in shown]
        names = [name for name in names if name in CHOSEN.get(room, names)]
        if room.startswith("estimators"):
            shown |= {*names}  # a name of the package is not listed again under its room
        write_where_new(folder / f"{room}.rst", page_of(room, names))
    write_where_new(
        folder / "index.rst",
        "\n".join(
            ["API reference", "=============", "", ".. toctree::", "   :maxdepth: 1", ""]
            + [f"   {room}" for room in ROOMS]
            + [""]
        ),
    )


def page_of(room: str, names: list[str]) -> str:
    """List classes, functions and constants of a room, with its first line above."""
    module = import_module(room)
    kinds: dict[str, list[str]] = {"Classes": [], "Functions": [], "Constants": []}
    for name in names:
        value = getattr(module, name)
        kind = "Classes" if isclass(value) else "Functions" if isroutine(value) else "Constants"
        kinds[kind].append(name)
    lines = [room, "=" * len(room), "", f".. currentmodule:: {room}", ""]
    lines += [(module.__doc__ or "").strip().splitlines()[0], ""]
    for kind, members in kinds.items():
        if not members:
            continue
        lines += [kind, "-" * len(kind), ""]
        if kind == "Constants":
            lines += [f"- ``{name}`` = ``{getattr(module, name)!r}``" for name in members]
        else:
            lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
            lines += [f"   {name}" for name in members]
        lines += [""]
    return "\n".join(lines)


def write_where_new(path: Path, text: str) -> None:
    """Leave a file alone that says the same, so that Sphinx does not read it again."""
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def links_within(app: Any, name: str, source: list[str]) -> None:
    """Lead links to README, and to the script of an example, to the pages that show them here."""
    text = source[0].replace("](../README.md", "](index.md")
    source[0] = re.sub(r"\]\(examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)


def is_left_out(
    app: Any, what: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what torch's modules bring, and what scikit-learn's do beside the usual."""
    module = getattr(value, "__module__", None) or ""
    ours = module.startswith(("film", "estimators"))
    usual = name in {"fit_transform", "get_params", "set_params", "get_feature_names_out"}
    inherited = isroutine(value) or module.startswith("sklearn.utils")
    return True if inherited and not ours and not usual else None


def escape_signs(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Keep |T| for a number of things, and n_ in a shape, which reStructuredText would replace."""
    for i, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        parts = line.split("``")
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[i] = TRAILING.sub(r"\1\\_", "``".join(parts))


def inline_math(self: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    self.body.append(convert(node.astext()))
    raise SkipNode


def displayed_math(self: Any, node: Any) -> None:
    """Write a displayed formula as MathML."""
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def only_this_branch(
    app: Any, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Show in the navigation of a page its own branch alone, not 300 pages of the reference."""
    whole = context["toctree"]
    context["toctree"] = lambda **options: whole(**options | {"collapse": True})


def setup(app: Any) -> None:
    """Connect what stands above."""
    write_reference()
    app.connect("source-read", links_within)
    app.connect("html-page-context", only_this_branch, priority=400)
    app.connect("autodoc-skip-member", is_left_out)
    app.connect("autodoc-process-docstring", escape_signs, priority=400)
    app.add_html_math_renderer("mathml", (inline_math, None), (displayed_math, None))


html_math_renderer = "mathml"

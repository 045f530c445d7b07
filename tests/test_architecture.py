import ast
import importlib
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> set[str]:
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("film", {"sklearn", "estimators", "benchmarks", "tests"}),
        ("estimators", {"benchmarks", "tests"}),
    ],
)
def test_arrows_go_one_way(package: str, forbidden: set[str]):
    files = sorted((ROOT / package).rglob("*.py"))
    assert len(files) > 5
    for path in files:
        assert not imported(path) & forbidden, path


def test_the_mathematics_prints_nothing():
    for path in (ROOT / "film").rglob("*.py"):
        calls = [
            node.func.id
            for node in nodes(path)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        assert "print" not in calls, path


PACKAGES = ("film", "estimators")
ROOMS = {
    "estimators": (
        *("cli", "corpus", "pairs", "contexts", "tokens", "training"),
        *("inspection", "metric", "encoders", "inputs", "persistence"),
    ),
    "film": (
        *("datasets", "contexts", "networks", "judge", "compare"),
        *("pairs", "metric", "tokens", "training", "corpus"),
    ),
}
"""From the top down: a room imports from those after it alone."""


def modules() -> dict[str, Path]:
    """Every module of both packages but their faces, by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
            found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


def room(module: str) -> str | None:
    """The room that a module stands in; None for what stands beside the rooms."""
    parts = module.split(".")
    is_room = len(parts) > 1 and parts[0] in PACKAGES and (ROOT / parts[0] / parts[1]).is_dir()
    return ".".join(parts[:2]) if is_room else None


@cache
def face(name: str) -> dict[str, str]:
    """The module of each name that a package or room exports."""
    stub = ROOT / name.replace(".", "/") / "__init__.pyi"
    if not stub.exists():
        return {}
    lines = ast.parse(stub.read_text(encoding="utf-8")).body
    return {
        alias.name: f"{name}.{line.module}"
        for line in lines
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


@cache
def imports(path: Path) -> list[tuple[str, str]]:
    """(module, name) of every name that a file imports, inside functions too."""
    return [
        (node.module or "", alias.name)
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def home(module: str, name: str) -> str:
    """The module that an imported name comes from, through faces."""
    while name in face(module):
        module = face(module)[name]
    return f"{module}.{name}" if f"{module}.{name}" in MODULES else module


@cache
def arrows() -> dict[str, set[str]]:
    """The modules that each module imports from."""
    return {
        module: {home(*each) for each in imports(path) if each[0].split(".")[0] in PACKAGES}
        - {module}
        for module, path in MODULES.items()
    }


def test_imports_of_ours_have_the_form_that_these_tests_read():
    for path in [*MODULES.values(), *ROOT.glob("benchmarks/**/*.py")]:
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: a relative import"
            elif isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
                assert not names & {*PACKAGES, "benchmarks"}, f"{path}: not from ... import ..."


def test_no_module_is_in_a_circle():
    left = set(MODULES)
    for _ in MODULES:
        used = {target for module in left for target in arrows()[module]}
        left = {module for module in left if module in used and arrows()[module] & left}
    assert not left, f"circle among {sorted(left)}"


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows_between_rooms_go_down(package):
    rooms = ROOMS[package]
    folders = {path.name for path in (ROOT / package).iterdir() if (path / "__init__.py").exists()}
    assert folders == set(rooms)
    for module, targets in arrows().items():
        here = room(module)
        for there in {room(target) for target in targets} - {here, None}:
            if here and there and here.split(".")[0] == there.split(".")[0] == package:
                down = rooms.index(there.split(".")[1]) > rooms.index(here.split(".")[1])
                assert down, f"{module} imports from {there}"


def test_a_room_is_entered_by_its_face():
    files = [
        *MODULES.items(),
        *((f"benchmarks.{p.stem}", p) for p in ROOT.glob("benchmarks/**/*.py")),
    ]
    assert len(files) > 100
    for module, path in files:
        for source, name in imports(path):
            if room(source) and room(source) != room(module):
                assert source == room(source), f"{module} imports past a face: {source}.{name}"
                assert not name.startswith("_"), f"{module} imports {source}.{name}"


def test_benchmarks_keep_what_is_private_to_a_file_in_it():
    for path in ROOT.glob("benchmarks/**/*.py"):
        assert path.name == "__init__.py" or not path.name.startswith("_"), path
        for source, name in imports(path):
            assert not name.startswith("_"), f"{path} imports {source}.{name}"


@pytest.mark.parametrize("name", [*PACKAGES, *sorted({r for m in MODULES if (r := room(m))})])
def test_a_face_exports_what_is_there(name):
    package = importlib.import_module(name)
    for exported, module in face(name).items():
        # Once the module of that name is loaded, it would stand in the place of what it exports.
        assert f"{name}.{exported}" not in MODULES
        assert hasattr(package, exported), f"{module} has no {exported}"


def test_modules_have_no_underscore():
    for module in MODULES:
        assert not module.rpartition(".")[2].startswith("_") or module.endswith("__main__"), module


def test_no_file_reads_what_is_private_to_another_of_ours():
    private = {
        module: {
            node.attr if isinstance(node, ast.Attribute) else node.name
            for node in nodes(path)
            if (isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls"))
            or isinstance(node, ast.FunctionDef)
        }
        for module, path in MODULES.items()
    }
    for module, path in MODULES.items():
        read = {
            node.attr
            for node in nodes(path)
            if isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr)
        }
        for other in set(private) - {module}:
            foreign = (read & private[other]) - private[module]
            assert not foreign, f"{module} reads {sorted(foreign)} of {other}"


def test_what_catches_everything_says_why_or_raises_it_again():
    """A broad handler hides bugs as well as what it is meant for."""
    found = 0
    for path in MODULES.values():
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in nodes(path):
            if not isinstance(node, ast.ExceptHandler):
                continue
            caught = "" if node.type is None else ast.unparse(node.type)
            if caught and not re.search(r"\b(Base)?Exception\b", caught):
                continue
            found += 1
            last, to = node.body[-1], node.body[0].end_lineno
            raised_again = isinstance(last, ast.Raise) and last.exc is None
            assert raised_again or "# " in "".join(lines[node.lineno - 1 : to]), (path, node.lineno)
    assert found > 10


def test_whoever_turns_every_error_into_one_lets_memory_errors_through():
    """A file is not damaged where memory is short: each such place raises MemoryError as it is."""
    wrong, n_seen = [], 0
    for path in MODULES.values():
        for node in nodes(path):
            if not isinstance(node, ast.Try):
                continue
            names = [ast.unparse(each.type) if each.type else "" for each in node.handlers]
            if "Exception" not in names:
                continue
            place = names.index("Exception")
            turned = [part for part in ast.walk(node.handlers[place])
                      if isinstance(part, ast.Raise) and part.exc is not None]  # fmt: skip
            n_seen += bool(turned)
            if turned and not any("MemoryError" in name for name in names[:place]):
                wrong.append(f"{path}:{node.lineno}")
    assert n_seen > 8 and not wrong


def test_the_continuous_integration_names_tests_that_exist():
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    listed = re.search(r"^numeric=\((.*?)^\)", script, re.MULTILINE | re.DOTALL)
    assert listed
    paths = subprocess.check_output(
        ["bash", "-c", f"printf '%s\\n' {' '.join(listed[1].split())}"], text=True
    ).split()
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path.partition("::")[0]).exists()] == []

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


def test_importing_the_packages_loads_nothing_heavy():
    program = (
        "import sys, film, estimators, film.datasets;"
        "print([name for name in ('torch', 'transformers', 'matplotlib')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_mathematics_prints_nothing():
    for path in (ROOT / "film").rglob("*.py"):
        calls = [
            node.func.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        assert "print" not in calls, path

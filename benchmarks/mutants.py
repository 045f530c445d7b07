"""Which changes of a formula no test notices: mutants of `film`'s mathematics, killed or alive.

``python -m benchmarks.mutants --n 1000`` changes one operator, comparison, constant or sign of a
module at a time, in a copy of the repository, and runs the tests that mirror the module's place
until one fails. A mutant that none kills is printed with its line: a gap of the tests, or a change
without effect. ``--modules`` names other ones, ``--seed`` other mutants; each result is kept as it
comes in ``--keep``, so that the command may be interrupted and goes on.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.support.records import record

ROOT = Path(__file__).parent.parent
MODULES = {
    "metric/objective": ["metric/test_objective.py", "metric/test_solver.py"],
    "metric/solver": ["metric/test_solver.py"],
    "metric/descent": ["metric/test_descent.py", "metric/test_solver.py"],
    "metric/stiefel": ["metric/test_stiefel.py"],
    "metric/contributions": ["metric/test_contributions.py"],
    "metric/triplets": ["metric/test_triplets.py"],
    "pairs/ranks": ["pairs/test_ranks.py"],
    "pairs/neighbours/rank_search": ["pairs/test_ranks.py", "pairs/test_bounded_ranks.py"],
    "pairs/neighbours/neighbourhoods": ["pairs/test_neighbourhoods.py"],
    "pairs/shift/priors": ["pairs/test_priors.py"],
    "pairs/shift/surroundings": ["pairs/test_surroundings.py"],
    "tokens/transport": ["tokens/test_transport.py"],
    "tokens/matching": ["tokens/test_matching.py"],
    "tokens/chunks": ["tokens/test_chunks.py"],
    "training/allpairs": ["training/test_allpairs.py"],
}
"""Modules of `film`, and the tests of `tests/film` that are about them."""
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.USub: ast.UAdd, ast.Not: ast.UAdd},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
}
SECONDS = 240


def main(arguments: list[str] | None = None) -> int:
    """Run it, and print what lives."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--n", type=int, default=100, help="mutants, drawn over all modules")
    parser.add_argument("--modules", default=",".join(MODULES), help="with commas between")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", metavar="FILE", default="mutants.jsonl")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    options = parser.parse_args(arguments)
    chosen = options.modules.split(",")
    if unknown := set(chosen) - set(MODULES):
        parser.error(f"--modules {sorted(unknown)}: give some of {', '.join(MODULES)}")
    places = [(name, at) for name in chosen for at in range(len(list(_places(_tree(name)))))]
    order = np.random.default_rng(options.seed).permutation(len(places))[: options.n]
    keep = Path(options.keep)
    done = [json.loads(line) for line in keep.read_text().splitlines()] if keep.exists() else []
    known = {(one["module"], one["place"]): one for one in done}
    with tempfile.TemporaryDirectory() as scratch:
        clone = Path(scratch, "repository")
        shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".git", ".venv", "out", "*.pyc"))
        for name in sorted({places[number][0] for number in order}):
            if not _passes(clone, name):
                print(f"{name}: its tests fail without any change", file=sys.stderr)
                return 2
        for number in order:
            name, at = places[number]
            if (name, at) not in known:
                known[name, at] = tried(clone, name, at)
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(known[name, at]) + "\n")
            found = known[name, at]
            if not found["killed"]:
                print(f"alive: film/{name}.py:{found['line']}: {found['change']}", flush=True)
    for name in ["all", *chosen]:
        some = [known[places[n]] for n in order if name in ("all", places[n][0])]
        killed = sum(one["killed"] for one in some)
        if some:
            print(f"{name}: {killed} of {len(some)} killed")
            record("mutants", name, "mutants", len(some), seed=options.seed, folder=options.out)
            record("mutants", name, "killed", killed, seed=options.seed, folder=options.out)
    return 0


def tried(clone: Path, name: str, at: int) -> dict[str, Any]:
    """Change one place of a module in a clone, run its tests, and put the module back."""
    path = clone / "film" / f"{name}.py"
    before = path.read_text(encoding="utf-8")
    line, change, after = mutant(before, at)
    path.write_text(after, encoding="utf-8")
    try:
        killed = not _passes(clone, name)
    finally:
        path.write_text(before, encoding="utf-8")
    return {"module": name, "place": at, "line": line, "change": change, "killed": killed}


def mutant(source: str, at: int) -> tuple[int, str, str]:
    """Change one place of a source, and give its line, what changed, and the source then."""
    tree = ast.parse(source)
    node, field, number = list(_places(tree))[at]
    line, before = getattr(node, "lineno", 0), ast.unparse(node)
    _change(node, field, number)
    return line, f"{before}  ->  {ast.unparse(node)}", ast.unparse(tree)


def _tree(name: str) -> ast.AST:
    return ast.parse((ROOT / "film" / f"{name}.py").read_text(encoding="utf-8"))


def _places(tree: ast.AST) -> Iterator[tuple[Any, str, int]]:
    """Walk the operators, comparisons and numbers of functions, in the order of the source."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        # Types say nothing at run time, and defaults of messages change no result.
        for part in ("annotation", "returns"):
            if (noted := getattr(node, part, None)) is not None:
                skipped |= {id(each) for each in ast.walk(noted)}
        if isinstance(node, ast.Raise | ast.JoinedStr):
            skipped |= {id(each) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.AugAssign):
            if type(node.op) in OPERATORS:
                yield node, "op", 0
        elif isinstance(node, ast.Compare):
            yield from ((node, "ops", n) for n, op in enumerate(node.ops) if type(op) in OPERATORS)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            yield node, "value", 0


def _change(node: Any, field: str, number: int) -> None:
    if field == "ops":
        node.ops[number] = OPERATORS[type(node.ops[number])]()
    elif field == "op":
        node.op = OPERATORS[type(node.op)]()
    elif isinstance(node.value, bool):
        node.value = not node.value
    else:
        node.value = copy.copy(node.value) + 1


def _passes(clone: Path, name: str) -> bool:
    tests = [str(Path("tests/film", test)) for test in MODULES[name]]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        ran = subprocess.run(
            command,
            cwd=clone,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "PYTHONPATH": str(clone)},
        ).returncode
    except subprocess.TimeoutExpired:
        return False  # a mutant that never ends is noticed too
    return ran == 0


if __name__ == "__main__":
    sys.exit(main())

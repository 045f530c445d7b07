"""Single changes of a module's formulas: operators, comparisons, signs, numbers, flags."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.USub: ast.UAdd, ast.Not: ast.UAdd},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
}


NEUTRAL = frozenset(
    "copy check_finite strict frozen eq assume_unique center_dual check_marginals".split()
)
"""Arguments that change no result, only what is spent or what is refused."""
SIZES = re.compile(
    "_?BLOCK_(BYTES|ROWS|CELLS|PAIRS|QUERIES)|_LEAST_QUERIES|_TILE_BYTES|TILE(_ON_CUDA)?|_GROUP_CELLS|_ROWS"
    "|_TRIPLETS|SENT"
)
"""Names of constants that say how much is done at once; tests set them to sizes of their own."""


class Mutant(NamedTuple):
    """A module with one change."""

    key: str
    """Function, statement before and after: the same wherever these stand in the file."""
    line: int
    source: str
    """The whole module after the change."""


def mutants(source: str) -> list[Mutant]:
    """Change every place of a source in turn."""
    tree = ast.parse(source)
    homes = dict(_homes(tree, _Home("", tree)))
    parts = [ast.unparse(part) for part in tree.body]
    part_of = {id(node): n for n, part in enumerate(tree.body) for node in ast.walk(part)}
    found = []
    seen: Counter[str] = Counter()
    for node, field, number in list(_places(tree)):
        name, statement = homes[id(node)]
        before = _first_line(statement)
        old = _set(node, field, number, _other(node, field, number))
        key = f"{name}: {before}  ->  {_first_line(statement)}"
        # Only the changed part is written anew: a whole module takes most of the time.
        changed = part_of[id(node)]
        after = [*parts[:changed], ast.unparse(tree.body[changed]), *parts[changed + 1 :]]
        _set(node, field, number, old)
        seen[key] += 1
        key += f" #{seen[key]}" * (seen[key] > 1)
        found.append(Mutant(key, node.lineno, "\n".join(after)))
    return found


class _Home(NamedTuple):
    """Where a node stands."""

    name: str
    """Of the innermost function or class, dotted."""
    statement: ast.AST


def _homes(node: ast.AST, home: _Home) -> Iterator[tuple[int, _Home]]:
    for child in ast.iter_child_nodes(node):
        inside = home._replace(statement=child) if isinstance(child, ast.stmt) else home
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{home.name}.{child.name}".strip(".")
            inside = _Home(name, child)
        yield id(child), inside
        yield from _homes(child, inside)


def _first_line(statement: ast.AST) -> str:
    """Write a statement on one line: of a loop, a condition or a function its head alone."""
    lines = ast.unparse(statement).splitlines()
    return next(line for line in lines if not line.startswith("@"))


def _places(tree: ast.AST) -> Iterator[tuple[Any, str, int]]:
    """Walk the operators, comparisons and numbers, but for those that can change no result."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        # Types say nothing at run time, and texts of messages change no result.
        for part in ("annotation", "returns"):
            if (noted := getattr(node, part, None)) is not None:
                skipped |= {id(each) for each in ast.walk(noted)}
        targets = [each for one in getattr(node, "targets", ()) for each in ast.walk(one)]
        named = [each.id for each in targets if isinstance(each, ast.Name)]
        neutral = isinstance(node, ast.keyword) and node.arg in NEUTRAL
        size = bool(named) and all(SIZES.fullmatch(name) for name in named)
        if isinstance(node, ast.Raise | ast.JoinedStr) or neutral or size:
            skipped |= {id(each) for each in ast.walk(node)}
        # Of a negative number the sign is changed.
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            skipped |= {id(node.operand)} if isinstance(node.operand, ast.Constant) else set()
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


def _other(node: Any, field: str, number: int) -> Any:
    if field == "value":
        return not node.value if isinstance(node.value, bool) else node.value + 1
    return OPERATORS[type(node.ops[number] if field == "ops" else node.op)]()


def _set(node: Any, field: str, number: int, value: Any) -> Any:
    """Put a value in a field of a node, and return what stood there."""
    if field == "ops":
        old, node.ops[number] = node.ops[number], value
    else:
        old = getattr(node, field)
        setattr(node, field, value)
    return old

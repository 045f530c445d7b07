"""Mutants change one thing each, and are told apart by the tests of a module."""

import ast
import sys
from types import ModuleType

import pytest

from benchmarks.mutants import MODULES, ROOT, arguments_of, source
from benchmarks.mutation.changes import mutants
from benchmarks.mutation.runs import exchange

SOURCE = '''
from functools import cached_property, lru_cache
LIMIT = 7
SHARE = 1 / 2
NAMES = {"one": 1}

def f(a: int = 3, *, flag: bool = True) -> "x + y":
    """A text with 1 number."""
    if a < 2 and flag:
        raise ValueError(f"a={a + 1}")
    return -a * 2.5

@lru_cache(maxsize=9)
def g(x):
    def inner(y):
        return y + x
    return inner(x) + 1

def k():
    return LIMIT * SHARE + NAMES["one"]

class C:
    n = 4

    @staticmethod
    def h(x=5):
        return x - 6

    @cached_property
    def p(self):
        return -self.n
'''


def test_every_operator_comparison_and_number_has_one_mutant():
    found = mutants(SOURCE)
    assert sorted(one.key for one in found) == sorted(
        [
            ": LIMIT = 7  ->  LIMIT = 8",
            ": SHARE = 1 / 2  ->  SHARE = 1 * 2",
            ": SHARE = 1 / 2  ->  SHARE = 2 / 2",
            ": SHARE = 1 / 2  ->  SHARE = 1 / 3",
            ": NAMES = {'one': 1}  ->  NAMES = {'one': 2}",
            "k: return LIMIT * SHARE + NAMES['one']  ->  return LIMIT / SHARE + NAMES['one']",
            "k: return LIMIT * SHARE + NAMES['one']  ->  return LIMIT * SHARE - NAMES['one']",
            "f: def f(a: int=3, *, flag: bool=True) -> 'x + y':  ->  "
            "def f(a: int=4, *, flag: bool=True) -> 'x + y':",
            "f: def f(a: int=3, *, flag: bool=True) -> 'x + y':  ->  "
            "def f(a: int=3, *, flag: bool=False) -> 'x + y':",
            "f: if a < 2 and flag:  ->  if a < 2 or flag:",
            "f: if a < 2 and flag:  ->  if a <= 2 and flag:",
            "f: if a < 2 and flag:  ->  if a < 3 and flag:",
            "f: return -a * 2.5  ->  return -a / 2.5",
            "f: return -a * 2.5  ->  return +a * 2.5",
            "f: return -a * 2.5  ->  return -a * 3.5",
            "g: def g(x):  ->  def g(x):",  # the decorator stands on a line of its own
            "g.inner: return y + x  ->  return y - x",
            "g: return inner(x) + 1  ->  return inner(x) - 1",
            "g: return inner(x) + 1  ->  return inner(x) + 2",
            "C: n = 4  ->  n = 5",
            "C.h: def h(x=5):  ->  def h(x=6):",
            "C.h: return x - 6  ->  return x + 6",
            "C.h: return x - 6  ->  return x - 7",
            "C.p: return -self.n  ->  return +self.n",
        ]
    )
    for one in found:
        assert 2 <= one.line <= 31
        assert ast.dump(ast.parse(one.source)) != ast.dump(ast.parse(SOURCE))


def test_mutants_of_one_statement_keep_apart():
    keys = [one.key for one in mutants("def f(x):\n    return x + 1\n    return x + 1\n")]
    assert keys == [
        "f: return x + 1  ->  return x - 1",
        "f: return x + 1  ->  return x - 1 #2",
        "f: return x + 1  ->  return x + 2",
        "f: return x + 1  ->  return x + 2 #2",
    ]


def test_what_no_result_depends_on_is_left_alone():
    source = "_BLOCK_QUERIES, _LEAST_QUERIES = 2**4, 3\n_BLOCK_ROWS = 2**4\n"
    source += "def f(x):\n    return x.astype(int, copy=False).sum(axis=-1)\n"
    assert [one.key for one in mutants(source)] == [
        "f: return x.astype(int, copy=False).sum(axis=-1)  ->  "
        "return x.astype(int, copy=False).sum(axis=+1)"
    ]


@pytest.mark.parametrize(
    ("key", "call", "before", "after"),
    [
        ("f: return -a * 2.5  ->  return +a * 2.5", "f()", -7.5, 7.5),
        (
            "f: def f(a: int=3, *, flag: bool=True) -> 'x + y':  ->  "
            "def f(a: int=4, *, flag: bool=True) -> 'x + y':",
            "f()",
            -7.5,
            -10.0,
        ),
        ("g.inner: return y + x  ->  return y - x", "g(4)", 9, 1),
        ("C.h: return x - 6  ->  return x - 7", "C.h()", -1, -2),
        ("C.h: def h(x=5):  ->  def h(x=6):", "C.h()", -1, 0),
        (": LIMIT = 7  ->  LIMIT = 8", "k()", 4.5, 5.0),
        (": SHARE = 1 / 2  ->  SHARE = 1 * 2", "k()", 4.5, 15),
        (": NAMES = {'one': 1}  ->  NAMES = {'one': 2}", "k()", 4.5, 5.5),
        (": NAMES = {'one': 1}  ->  NAMES = {'one': 2}", "NAMES['one']", 1, 2),
        ("C.p: return -self.n  ->  return +self.n", "C().p", -4, 4),
    ],
)
def test_the_code_of_a_loaded_function_is_exchanged(monkeypatch, key, call, before, after):
    module = ModuleType("mutated")
    module.__file__ = "mutated.py"
    exec(compile(SOURCE, "mutated.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "mutated", module)
    assert eval(call, dict(module.__dict__)) == before
    held = dict(module.__dict__)  # as one who imported the names before
    held["g"].cache_clear()
    one = next(one for one in mutants(SOURCE) if one.key == key)
    exchange("mutated", one.source)
    assert eval(call, held) == after


@pytest.mark.parametrize("name", MODULES)
def test_each_module_and_its_tests_are_there_and_each_argument_is_about_a_mutant(name):
    assert all((ROOT / "tests" / "film" / test).is_file() for test in MODULES[name])
    keys = {one.key for one in mutants(source(name))}
    assert set(arguments_of(name)) <= keys
    assert all(len(text) > 20 for text in arguments_of(name).values())

"""Mutants change one thing each, and are told apart by the tests of a module."""

import ast

import pytest

from benchmarks.mutants import MODULES, ROOT, _places, mutant

SOURCE = '''
def f(a: int = 3, *, flag: bool = True) -> "x + y":
    """A text with 1 number."""
    if a < 2 and flag:
        raise ValueError(f"a={a + 1}")
    return -a * 2.5
'''


def test_every_operator_comparison_and_number_of_a_function_has_one_mutant():
    count = len(list(_places(ast.parse(SOURCE))))
    changes = [mutant(SOURCE, at)[1] for at in range(count)]
    assert sorted(changes) == sorted(
        [
            "3  ->  4",
            "True  ->  False",
            "a < 2 and flag  ->  a < 2 or flag",
            "a < 2  ->  a <= 2",
            "2  ->  3",
            "-a * 2.5  ->  -a / 2.5",
            "-a  ->  +a",
            "2.5  ->  3.5",
        ]
    )
    for at in range(count):
        line, _, after = mutant(SOURCE, at)
        assert 2 <= line <= 6
        assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(SOURCE))


@pytest.mark.parametrize("name", MODULES)
def test_each_module_and_its_tests_are_there(name):
    assert (ROOT / "film" / f"{name}.py").is_file()
    assert all((ROOT / "tests" / "film" / test).is_file() for test in MODULES[name])

"""Which changes of a formula no test notices: mutants of `film`'s mathematics, killed or alive.

``python -m benchmarks.mutants`` changes one operator, comparison, number or sign of a module at a
time, in a copy of the repository, and runs the doctests of the module and the tests that mirror its
place until one fails. A mutant that none kills is printed: a gap of the tests, or a change without
effect, which `ARGUMENTS` says of it and why. Settings that by name change no result, such as the
size of a block, are left alone. ``--n`` takes some at random, ``--seed`` others,
``--modules`` those of some modules. Each result is kept as it comes in ``--keep``: a command that
was interrupted goes on, and one that is run again runs the survivors of modules whose tests have
changed since, and all mutants of modules that have. The exit status is 1 where a survivor has no
argument. ``--quick`` takes ten, and records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.mutation.changes import Mutant, mutants
from benchmarks.mutation.runs import Tests, copied
from benchmarks.support.records import record

ROOT = Path(__file__).parent.parent
ARGUMENTS = Path(__file__).parent / "mutation" / "survivors.toml"
"""Why no test can kill a mutant, or need: by module and by the mutant's key."""
RANKS = ["pairs/test_ranks.py", "pairs/test_bounded_ranks.py"]
MODULES = {
    "metric/objective": ["metric/test_objective.py", "metric/test_solver.py"],
    "metric/solver": ["metric/test_solver.py"],
    "metric/factor": ["metric/test_factor.py", "metric/test_solver.py"],
    "metric/descent": ["metric/test_descent.py", "metric/test_solver.py"],
    "metric/stiefel": ["metric/test_stiefel.py"],
    "metric/contributions": ["metric/test_contributions.py"],
    "metric/triplets": ["metric/test_triplets.py"],
    "compare/features": ["compare/test_features.py", "compare/test_order.py"],
    "compare/normalize": ["compare/test_normalize.py"],
    "compare/order": ["compare/test_order.py", "compare/test_features.py"],
    "compare/words": ["compare/test_words.py"],
    "judge/adjacent": ["judge/test_adjacent.py"],
    "judge/assignment": ["judge/test_assignment.py"],
    "judge/differences": ["judge/test_differences.py"],
    "judge/expected": ["judge/test_expected.py"],
    "judge/general": ["judge/test_general.py"],
    "judge/meaning": ["judge/test_meaning.py"],
    "judge/neighbours": ["judge/test_neighbours.py"],
    "pairs/ranks": RANKS,
    "pairs/neighbours/rank_search": RANKS,
    "pairs/neighbours/bounds": RANKS,
    "pairs/neighbours/neighbourhoods": ["pairs/test_neighbourhoods.py"],
    "pairs/priors": ["pairs/test_priors.py"],
    "tokens/transport": ["tokens/test_transport.py"],
    "tokens/exact_transport": ["tokens/test_transport.py"],
    "tokens/matching": ["tokens/test_matching.py"],
    "tokens/best_matches": ["tokens/test_best_matches.py", "tokens/test_matching.py"],
    "tokens/chunks": ["tokens/test_chunks.py", "tokens/test_chunk_joins.py"],
    "training/allpairs": ["training/test_allpairs.py"],
}
"""Modules of `film`, and the tests of `tests/film` that are about them."""


def main(arguments: list[str] | None = None) -> int:
    """Run it; the exit status is 1 where a survivor has no argument."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--n", type=int, help="mutants, drawn over all modules; all by default")
    parser.add_argument("--modules", default=",".join(MODULES), help="with commas between")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", metavar="FILE", default="out/mutants.jsonl")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    chosen = options.modules.split(",")
    if unknown := set(chosen) - set(MODULES):
        parser.error(f"--modules {sorted(unknown)}: give some of {', '.join(MODULES)}")
    places = [(name, one) for name in chosen for one in mutants(source(name))]
    n = 10 if options.quick else options.n
    order = np.random.default_rng(options.seed).permutation(len(places))[:n]
    picked = sorted((places[number] for number in order), key=lambda one: chosen.index(one[0]))
    rows = _rows(picked, Path(options.keep))
    if rows is None:
        return 2
    n_unargued = 0
    for name in ["all", *chosen]:
        some = [row for row in rows if name in ("all", row["module"])]
        alive = [row for row in some if not row["killed"]]
        argued = sum(row["key"] in arguments_of(row["module"]) for row in alive)
        if some:
            row = {"mutants": len(some), "killed": len(some) - len(alive), "argued": argued}
            print(name, row, flush=True)
            for metric, value in row.items():
                if options.out or not options.quick:
                    record("mutants", name, metric, value, seed=options.seed, folder=options.out)
        if name == "all":
            n_unargued = len(alive) - argued
    return 1 if n_unargued else 0


def source(name: str) -> str:
    """Read a module of `film`."""
    return (ROOT / "film" / f"{name}.py").read_text(encoding="utf-8")


def arguments_of(name: str) -> dict[str, str]:
    """Why no test can kill a mutant of a module, or need, by the mutants' keys."""
    return tomllib.loads(ARGUMENTS.read_text(encoding="utf-8")).get(name, {})


def _rows(picked: list[tuple[str, Mutant]], keep: Path) -> list[dict[str, Any]] | None:
    """Results of mutants, kept or new; None where tests fail without any change."""
    keep.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in keep.read_text().splitlines()] if keep.exists() else []
    known = {(row["module"], row["key"]): row for row in done}
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        clone = copied(ROOT, Path(scratch))
        for name, some in groupby(picked, key=lambda one: one[0]):
            paths = [Path("film", f"{name}.py"), *(Path("tests/film", t) for t in MODULES[name])]
            # Of the copy, for the repository may change meanwhile.
            source_state, *tests_state = [_digest(clone / path) for path in paths]
            state = {"source": source_state, "tests": " ".join(tests_state)}
            tests = None
            for _, one in some:
                row = known.get((name, one.key))
                if row is None or not _holds(row, state):
                    tests = tests or Tests(clone, name, MODULES[name])
                    if not tests.passed:
                        print(f"{name}: its tests fail without any change", file=sys.stderr)
                        return None
                    killed = tests.killed(one.source)
                    row = {"module": name, "key": one.key, "killed": killed, **state}
                    with keep.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
                if not row["killed"]:
                    said = "argued" if one.key in arguments_of(name) else "alive"
                    print(f"{said}: film/{name}.py:{one.line}: {one.key}", flush=True)
                rows.append(row)
            if tests:
                tests.close()
    return rows


def _holds(row: dict[str, Any], state: dict[str, str]) -> bool:
    """Whether a result that was kept says the same of the module and its tests as they are."""
    same = row["source"] == state["source"]
    return same and (row["killed"] or row["tests"] == state["tests"])


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())

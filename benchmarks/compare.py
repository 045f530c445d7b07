"""Say of two rows of a table whether their difference stands.

``python -m benchmarks.compare BENCH "row A" "row B"`` prints, for every figure that both rows have,
their values, the difference and its 95 % interval over paired bootstrap draws: of pairs, those that
shared texts link drawn together, and of seeds where a row has several. A difference stands when the
interval leaves zero out. Rows on several sets are compared on each, and by the mean over sets.
Without rows it lists those of the benchmark. A row may be named by any part of its name that no
other row has. ``--record`` compares every row with its reference row
(`benchmarks.support.significance`) and records by how much its AUC, or its mean rank correlation
over several sets, is ahead, which tables show; benchmarks that keep pairs do so at their end.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.support.bootstrap import N_DRAWS, Interval, compare_parts, compare_rows
from benchmarks.support.pair_rows import PairRow, parts_of_rows, read_pair_rows
from benchmarks.support.significance import record_differences


def main(arguments: list[str] | None = None) -> int:
    """Compare two rows, or list them; the exit status is 2 where a row is not there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("bench", metavar="BENCH", help="such as duplicates or intents")
    parser.add_argument("rows", metavar="ROW", nargs="*", help="two rows of its table")
    parser.add_argument("--out", metavar="DIR", help="where --out of the benchmark pointed to")
    parser.add_argument("--draws", type=int, default=N_DRAWS, metavar="N")
    parser.add_argument("--record", action="store_true", help="the differences that tables show")
    options = parser.parse_args(arguments)
    rows = parts_of_rows(read_pair_rows(options.bench, options.out))
    try:
        if not rows:
            raise ValueError(f"no pairs of {options.bench!r} were kept: run its benchmark")
        if options.record:
            found = record_differences(options.bench, options.out, options.draws)
            print(f"{len(found)} rows compared with their reference")
            return 0
        if not options.rows:
            for case, parts in rows.items():
                pairs = sum(len(row.on.labels) for row in parts.values())
                print(f"{case}  ({pairs} pairs{_sets(parts)}{_seeds(parts)})")
            return 0
        if len(options.rows) != 2:
            raise ValueError(f"{len(options.rows)} row(s) named: name two, or none to list them")
        names = [_chosen(rows, name) for name in options.rows]
        first, second = (rows[name] for name in names)
        shared = sorted(first.keys() & second.keys())
        if not shared:
            raise ValueError(f"{names[0]!r} and {names[1]!r} have no set of pairs in common")
        compared = {
            part: compare_rows(first[part], second[part], n_draws=options.draws) for part in shared
        }
    except ValueError as error:
        print(f"benchmarks.compare: {error}", file=sys.stderr)
        return 2
    for letter, name, parts in zip("AB", names, (first, second), strict=True):
        print(f"{letter}: {name}{_seeds(parts)}")
    for part, figures in compared.items():
        on = first[part].on
        print(
            f"{part}{': ' if part else ''}{len(on.labels)} pairs in {int(on.groups.max()) + 1} "
            "groups that shared texts link"
        )
        _tell(figures)
    if len(shared) > 1:
        print(f"mean over {len(shared)} sets, of what several have")
        _tell(compare_parts(first, second, n_draws=options.draws))
    return 0


def _tell(figures: dict[str, tuple[float, float, Interval]]) -> None:
    for name, (one, two, gap) in figures.items():
        verdict = "stands" if gap.stands else "does not stand"
        print(
            f"{name}: A {one:.5g}, B {two:.5g}, A - B {gap.value:+.5f} "
            f"[{gap.low:+.5f}, {gap.high:+.5f}]: {verdict}"
        )


def _chosen(rows: dict[str, dict[str, PairRow]], name: str) -> str:
    if name in rows:
        return name
    found = [case for case in rows if name in case]
    if len(found) != 1:
        raise ValueError(f"{name!r} is part of {len(found)} rows; choose of {sorted(rows)}")
    return found[0]


def _sets(parts: dict[str, PairRow]) -> str:
    return f" of {len(parts)} sets" if len(parts) > 1 else ""


def _seeds(parts: dict[str, PairRow]) -> str:
    seeds = sorted({seed for row in parts.values() for seed in row.values if seed is not None})
    if not seeds:
        return ""
    return f", seed {seeds[0]} alone" if len(seeds) == 1 else f", mean of seeds {seeds}"


if __name__ == "__main__":
    sys.exit(main())

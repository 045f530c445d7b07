"""Find duplicate records by Splink 5: a script for an environment of its own, without this project.

``python splink_rival.py COLUMNS.json OUT.csv LEFT.csv [RIGHT.csv]``. Tables have a column id;
COLUMNS tells which others to compare, and how: name, text, date, code, exact or point. Comparisons
come from Splink's library; u is estimated from random pairs, m by EM. Nothing is tuned to a table.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from typing import Any

import pandas as pd
import splink.comparison_library as cl
from splink import Linker, SettingsCreator, block_on
from splink.backends.duckdb import DuckDBAPI

MOST_PAIRS = 2e6
"""Pairs of a blocking rule, above which it is left out."""


def comparison(name: str, kind: str) -> Any:
    """Choose a comparison of Splink's library by the kind of a column."""
    if kind == "date":
        return cl.DateOfBirthComparison(name, input_is_string=True)
    if kind == "point":
        return cl.DistanceInKMAtThresholds(f"{name}_lat", f"{name}_lon", [0.1, 1, 10])
    if kind == "name":
        compared: Any = cl.NameComparison(name)
    elif kind == "text":
        compared = cl.JaroWinklerAtThresholds(name, [0.95, 0.88, 0.75])
    elif kind == "code":
        compared = cl.DamerauLevenshteinAtThresholds(name, [1, 2])
    else:
        compared = cl.ExactMatch(name)
    return compared.configure(term_frequency_adjustments=True)


def rules_of(kinds: dict[str, str]) -> list[tuple[str, ...]]:
    """Return the expressions that pairs share: cells, and the beginnings of two of them."""
    texts = [name for name, kind in kinds.items() if kind in ("name", "text")]
    starts = [f"substr({name}, 1, 4)" for name in texts]
    alone = [(name,) for name, kind in kinds.items() if kind != "point"]
    last = [(f"split_part({name}, ' ', -1)", *starts[:1]) for name in texts[1:]]
    return [*alone, *((a, b) for a in starts for b in starts if a < b), *last]


def n_pairs(rule: tuple[str, ...], tables: list[pd.DataFrame]) -> int:
    """Return how many pairs of rows share the values of a rule."""
    counts = []
    for table in (tables[0], tables[-1]):
        keys = pd.Series("", index=table.index)
        for part in rule:
            name = part.split("(")[-1].split(",")[0]
            cells = table[name]
            if part.startswith("substr"):
                cells = cells.str[:4]
            elif part.startswith("split"):
                cells = cells.str.split(" ").str[-1]
            keys = keys + "\0" + cells
        counts.append(keys.value_counts())
    return int((counts[0] * counts[1]).sum())


def main() -> None:
    """Fit and predict; write id1, id2 and probability, and print the seconds."""
    columns, target, *sources = sys.argv[1:]
    with open(columns, encoding="utf-8") as file:
        kinds: dict[str, str] = json.load(file)
    tables = [pd.read_csv(source, dtype=str) for source in sources]
    started, processor = time.perf_counter(), time.process_time()
    for table in tables:
        for name, kind in kinds.items():
            if kind == "point":
                ends = table[name].str.split(", ", expand=True).astype(float)
                table[f"{name}_lat"], table[f"{name}_lon"] = ends[0], ends[1]
            elif kind == "date" and table[name].str.fullmatch(r"\d{8}").mean() > 0.5:
                table[name] = table[name].str.replace(
                    r"(\d{4})(\d\d)(\d\d)", r"\1-\2-\3", regex=True
                )
    rules = [rule for rule in rules_of(kinds) if n_pairs(rule, tables) <= MOST_PAIRS]
    settings = SettingsCreator(
        link_type="dedupe_only" if len(tables) == 1 else "link_only",
        unique_id_column_name="id",
        comparisons=[comparison(name, kind) for name, kind in kinds.items()],
        blocking_rules_to_generate_predictions=[block_on(*rule) for rule in rules],
    )
    database = DuckDBAPI()
    linker = Linker([database.register(table) for table in tables], settings)
    names = [name for name, kind in kinds.items() if kind != "point"]
    both = [block_on(*pair) for pair in pairwise(names)]
    linker.training.estimate_probability_two_random_records_match(both, recall=0.7)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=0)
    for name in names[:4]:
        try:
            linker.training.estimate_parameters_using_expectation_maximisation(block_on(name))
        except Exception as error:  # such as no pair that shares a value
            print(f"{name}: {error}", file=sys.stderr)
    found = linker.inference.predict(threshold_match_probability=0.001).as_pandas_dataframe()
    spent = {"seconds": time.perf_counter() - started, "processor": time.process_time() - processor}
    pairs = found[["id_l", "id_r", "match_probability"]]
    pairs.columns = ["id1", "id2", "probability"]
    pairs.to_csv(target, index=False)
    print(json.dumps(spent))


if __name__ == "__main__":
    main()

"""Rewrite the tables of README.md from the result files.

``python -m benchmarks.tables`` replaces what stands between ``<!-- table NAME -->`` and
``<!-- end -->`` with the newest result of each case; ``--check`` only says whether it would.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks.support.records import RESULTS

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
HEADINGS = {
    "roc_auc": "ROC AUC",
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "log_loss_at_prior": "log loss at 17.46 %",
    "calibration_error": "calibration error",
    "calibration_low": "95 % from",
    "calibration_high": "to",
    "perfect_low": "perfect model, 95 % from",
    "perfect_high": "to",
    "perfect_high_independent": "to, pairs independent",
    "precision": "precision",
    "recall": "recall",
    "pearson": "Pearson × 100",
    "spearman": "Spearman × 100",
    "seconds": "seconds",
    "peak": "peak MB",
    "rounds": "rounds",
    "objective": "objective",
    "lower_bound": "lower bound",
    "pairs": "pairs",
    "groups": "groups",
    "STS12": "STS12",
    "STS13": "STS13",
    "STS14": "STS14",
    "STS15": "STS15",
    "STS16": "STS16",
    "STS-B": "STS-B",
    "SICK": "SICK",
    "mean": "mean of seven",
    "gain_over_cls": "gain over [CLS]",
    "f1_clrcmd": "F1, CLRCMD's protocol",
    "f1_official": "F1, official",
    "rcmd_percent": "RCMD, % of encoding",
    "matching_percent": "matching, % of encoding",
    "sentences_a_second": "sentences a second",
    "times_as_fast": "times as fast",
    "largest_difference": "largest difference",
    "largest_gap": "largest gap",
    "times_smaller": "times smaller than sparse",
    "needed": "MB needed, not run",
    "kernel_times_as_fast": "times as fast as without the kernel",
    "time_ratio": "time / mean pooling",
    "peak_ratio": "memory / mean pooling",
    "f1_images": "F1 images",
    "f1_headlines": "F1 headlines",
    "f1_chunks_images": "F1 images, chunk vectors",
    "f1_chunks_headlines": "F1 headlines, chunk vectors",
    "quora_auc": "ROC AUC, Quora dev",
    "intent_auc": "ROC AUC",
    "easier_auc": "ROC AUC, without the nearer half of the others",
    "training_seconds": "seconds",
    "steps": "steps",
    "spread": "spread over seeds",
}


def main(arguments: list[str] | None = None) -> int:
    """Rewrite the tables, or with ``--check`` exit with 1 where they are not up to date."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    old = README.read_text(encoding="utf-8")
    new = BLOCK.sub(lambda found: found[1] + table(found[2]) + found[3], old)
    if options.check:
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


def table(bench: str) -> str:
    """One table: a row a case, a column a metric, and what it was measured on."""
    path = RESULTS / f"{bench}.jsonl"
    if not path.is_file():
        return "not measured\n"
    cells: dict[str, dict[str, dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        # Later lines are newer: they take the place of the older ones, keeping their order.
        cells.setdefault(row["case"], {})[row["metric"]] = row
    metrics = [name for name in HEADINGS if any(name in row for row in cells.values())]
    rivals = sorted({r["rival"] for row in cells.values() for r in row.values() if r["rival"]})
    with_rival = bench == "grid"
    heads = ["", *(HEADINGS[name] for name in metrics), *(rivals if with_rival else [])]
    lines = [_line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
    for case, row in cells.items():
        values = [_shown(row[name]["value"]) if name in row else "" for name in metrics]
        if with_rival:
            values += [_shown(next(iter(row.values()))["rival_value"])]
        lines.append(_line([case, *values]))
    last = next(reversed(next(reversed(cells.values())).values()))
    versions = ", ".join(f"{name} {number}" for name, number in last["versions"].items())
    return "".join(lines) + f"\n{last['hardware']}; {versions}; {last['date']}.\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _shown(value: float) -> str:
    if isinstance(value, int) or (float(value).is_integer() and abs(value) >= 10):
        return str(int(value))
    if 0 < abs(value) < 1e-3:
        return f"{value:.0e}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.4f}"


if __name__ == "__main__":
    sys.exit(main())

"""Fill README.md and docs/ with the newest results.

``python -m benchmarks.tables`` writes what belongs between two kinds of markers and their end,
``<!-- end -->``; ``--check`` only says whether anything would change.

``<!-- table NAME | ROWS | COLUMNS -->``
    The newest result of each case of a benchmark, a part of one, or a table of `PICKS`, `PAPERS`
    or `HEADLINES`. At most ten rows are in sight, the rest is folded: the first ten, or those
    whose case the regular expression ROWS finds. COLUMNS names the metrics to show: a, b, c.
``<!-- figure BENCH | CASE | METRIC | FORMAT -->``
    One figure in a sentence, by a format of Python.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from benchmarks.support.papers import PAPERS
from benchmarks.support.picks import PICKS
from benchmarks.support.records import RESULTS

ROOT = Path(__file__).parent.parent
PLACE = re.compile(r"<!-- (table|figure) (.*?) -->.*?<!-- end -->", re.DOTALL)
IN_SIGHT = 10
PART = "__"
"""Between a benchmark and the part of it that a table shows."""


class Headline(NamedTuple):
    """One row of the table of headlines: a case of ours and its rival, by the same metrics."""

    task: str
    bench: str
    metrics: Sequence[str]
    ours: Sequence[str]
    rival: Sequence[str]
    """Names to show, and the cases of the result file."""
    less_is_better: bool = False
    """Whether the lower of the two first metrics is the better one."""


_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
HEADINGS: dict[str, str] = _FILE["headings"]
"""How tables call a metric, where its own name would not do."""
HEADLINES = tuple(Headline(**row) for row in _FILE["headlines"])

Row: TypeAlias = dict[str, dict[str, Any]]
"""Results of a case by metric."""


def main(arguments: list[str] | None = None) -> int:
    """Fill all places, or with ``--check`` exit with 1 where one is not up to date."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    stale = 0
    for path in documents():
        old = path.read_text(encoding="utf-8")
        new = PLACE.sub(_filled, old)
        stale += new != old
        if not options.check:
            path.write_text(new, encoding="utf-8")
    return int(options.check and stale > 0)


def documents() -> list[Path]:
    """List README.md and the pages of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _filled(place: re.Match[str]) -> str:
    parts = [" ".join(part.split()) for part in re.split(r"\s\|(?=\s)", place[2])]
    text = f"\n{table(*parts)}" if place[1] == "table" else figure(*parts)
    return f"<!-- {place[1]} {place[2]} -->{text}<!-- end -->"


def figure(bench: str, case: str, metric: str, form: str = "") -> str:
    """Give the newest value of one metric."""
    value = newest(bench)[case][metric]["value"]
    return format(value, form) if form else _shown(value)


def table(name: str, rows: str = "", columns: str = "") -> str:
    """One table: a row per case, a column per metric, and what it was measured on."""
    if name == "headlines":
        return _headlines()
    if name in PAPERS:
        return _pieces(name)
    cells = _picked(name) if name in PICKS else newest(name)
    if not cells:
        return "not measured\n"
    found = dict.fromkeys(metric for row in cells.values() for metric in row)
    found = [metric for metric in found if not metric.endswith(("_low", "_high", "_std"))]
    metrics = columns.split(", ") if columns else found
    compared = {r["rival"] for row in cells.values() for m, r in row.items() if m.endswith("ahead")}
    head = [_line(["", *map(_heading, metrics)]), _line(["---", *["---:"] * len(metrics)])]
    lines = {}
    for case, row in cells.items():
        other = "reference" if f"{_start(name)}{case}" in compared else ""
        values = [_cell(row, m) or (other if m.endswith("ahead") else "") for m in metrics]
        lines[case] = _line([case, *values])
    shown = [case for case in lines if re.search(rows, case)][:IN_SIGHT]
    rest = [case for case in lines if case not in shown]
    used = [row[m] for row in cells.values() for m in metrics if m in row]
    # Differences are made from what was measured before.
    used = [result for result in used if "ahead" not in result["metric"]] or used
    text = "".join([*head, *(lines[case] for case in shown)]) + _measured_on(used)
    if rest:
        folded = "".join([*head, *(lines[case] for case in rest)])
        text += f"\n<details><summary>{len(rest)} more</summary>\n\n{folded}\n</details>\n\n"
    return text


def newest(bench: str, folder: str | Path | None = None) -> dict[str, Row]:
    """Give the newest result by case and metric; empty where nothing was measured.

    ``contexts__5_4`` is the part of the benchmark ``contexts`` whose cases begin with "5.4: ".
    """
    start = _start(bench)
    path = Path(folder or RESULTS) / f"{bench.partition(PART)[0]}.jsonl"
    cells: dict[str, Row] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        row = json.loads(line)
        if not row["case"].startswith(start):
            continue
        # Later lines are newer: they take the place of the older ones, keeping their order.
        cells.setdefault(row["case"].removeprefix(start), {})[row["metric"]] = row
    return cells


def _start(bench: str) -> str:
    """Give how the cases of a part of a benchmark begin."""
    part = bench.partition(PART)[2]
    return f"{part.replace('_', '.')}: " if part else ""


def _picked(name: str) -> dict[str, Row]:
    """Newest results of the rows that a table picks, by their names and headings there."""
    rows: dict[str, Row] = {}
    for pick in PICKS[name]:
        cells = newest(pick.bench).get(pick.case, {})
        rows[pick.name] = {
            heading: cells[metric] for heading, metric in pick.metrics.items() if metric in cells
        }
    return {pick: row for pick, row in rows.items() if row}


def _pieces(paper: str) -> str:
    """Tables and figures of a paper, with results of ours."""
    lines = [_line(["", "the paper", "ours", "how"]), _line(["---"] * 4)]
    for piece in PAPERS[paper]:
        shown = []
        for name, bench, case, metric, times in piece.ours:
            value = newest(bench).get(case, {}).get(metric, {}).get("value")
            shown.append(f"{name} {'not measured' if value is None else _shown(times * value)}")
        ours = "; ".join(filter(None, [", ".join(shown), piece.why]))
        lines.append(_line([piece.name, piece.paper, ours or "–", piece.how or "–"]))
    return "".join(lines)


def _headlines() -> str:
    lines = [_line(["", "measure", "here", "compared with"]), _line(["---"] * 4)]
    used: list[dict[str, Any]] = []
    for row in HEADLINES:
        cells = newest(row.bench)
        sides = [[cells[case][name] for name in row.metrics] for _, case in (row.ours, row.rival)]
        sign = -1 if row.less_is_better else 1
        first, second = (sign * side[0]["value"] for side in sides)
        figures = [
            f"{_bold(' / '.join(_shown(result['value']) for result in side), won)}, {name}"
            for side, won, (name, _) in zip(
                sides, (first > second, second > first), (row.ours, row.rival), strict=True
            )
        ]
        lines.append(_line([row.task, " / ".join(map(_heading, row.metrics)), *figures]))
        used += [result for side in sides for result in side]
    return "".join(lines) + _measured_on(used)


def _measured_on(results: list[dict[str, Any]]) -> str:
    """Hardware, versions of the newest result, and dates."""
    newest = max(results, key=lambda result: result["date"])
    hardware = " and ".join(dict.fromkeys(result["hardware"] for result in results))
    versions = ", ".join(f"{name} {number}" for name, number in newest["versions"].items())
    dates = sorted({result["date"] for result in results})
    days = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    text = f"\n{hardware}; {versions}; {days}"
    if len(benches := {result["bench"] for result in results}) == 1:
        bench = benches.pop()
        here = (ROOT / "benchmarks" / f"{bench}.py").is_file()
        text += f"; `python -m benchmarks.{bench}`" if here else f"; commit {newest['commit'][:7]}"
    return f"{text}.\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _heading(metric: str) -> str:
    return HEADINGS.get(metric, metric.replace("_", " "))


def _cell(row: Row, metric: str) -> str:
    """Show a value with its interval, a version, or under "rival" what the row is compared with."""
    if metric == "rival":
        result = next((r for r in row.values() if r["rival_value"] is not None), None)
        return f"{result['rival'] or ''} {_shown(result['rival_value'])}".strip() if result else ""
    if metric not in row:
        return next(iter(row.values()))["versions"].get(metric, "")
    value = row[metric]["value"]
    stem = metric.removesuffix("_error")
    low, high = (row.get(f"{stem}_{end}", {}).get("value") for end in ("low", "high"))
    if low is None or high is None:
        return _shown(value)
    if not metric.endswith("ahead"):
        return f"{_shown(value)} [{_shown(low)}, {_shown(high)}]"
    digits = 4 if metric in ("auc_ahead", "f1_ahead") else 2
    level = "level, " if low <= 0 <= high else ""
    return f"{level}{value:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


def _bold(text: str, really: bool) -> str:
    return f"**{text}**" if really else text


def _shown(value: float) -> str:
    if isinstance(value, int) or (float(value).is_integer() and abs(value) >= 10):
        return str(int(value))
    if 0 < abs(value) < 1e-3:
        return f"{value:.0e}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.4f}"


if __name__ == "__main__":
    sys.exit(main())

"""Rewrite the tables of README.md and docs/ from the result files.

``python -m benchmarks.tables`` replaces what stands between ``<!-- table NAME -->`` and
``<!-- end -->`` with the newest result of each case; ``--check`` only says whether it would.
The table ``headlines`` picks a few results of several benchmarks, and what they compare with;
`PICKS` has tables that join rows of
several benchmarks, and `PAPERS` the tables and figures of the papers.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.papers import PAPERS
from benchmarks.support.picks import PICKS
from benchmarks.support.records import RESULTS
from benchmarks.support.significance import (
    AHEAD,
    DIFFERENCES,
    F1_AHEAD,
    MEAN_AHEAD,
    shown_difference,
)

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
PART = "__"
"""Stands between a benchmark and the part of it that a table shows."""
HEADINGS = {
    "roc_auc": "ROC AUC",
    "accuracy": "accuracy",
    "rule_accuracy": "accuracy of the kNN rule",
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
    "recall at precision 0.95": "recall at precision 0.95",
    "recall_1": "recall at 1",
    "recall_5": "at 5",
    "recall_20": "at 20",
    "pearson": "Pearson × 100",
    "spearman": "Spearman × 100",
    "seconds": "seconds",
    "processor": "processor, s",
    "processor of the exact index": "exact index, processor, s",
    "seconds after a kill": "seconds to finish after a kill",
    "share done again": "share done again",
    "fit": "fit, s",
    "predict": "10,000 new pairs, s",
    "vectorise": "vectorise, s",
    "transform": "transform, s",
    "ranks": "ranks, s",
    "search": "ranks of all pairs, s",
    "sweep": "one sweep of all cosines, s",
    "of_sweep": "ranks / sweep",
    "inside": "share of ranks below k_max",
    "agreement": "ranks as counted whole",
    "total": "all, s",
    "slope": "log-log slope of vectorise and fit",
    "speedup": "times as fast as one",
    "features": "features",
    "peak": "peak MB",
    "sample": "400 pairs",
    "sample_low": "95 % from",
    "sample_high": "to",
    "ahead": "points ahead",
    "ahead_low": "95 % from",
    "ahead_high": "to",
    "choice": "rows to choose by",
    "choice_200": "200 of them",
    "choice_60": "60 of them, 20 contexts each",
    "held_out_loss": "held-out loss, nats",
    "perplexity": "perplexity",
    "held_out": "held-out Origin scores, Spearman × 100",
    "held_out_pearson": "Pearson × 100",
    "L2": "squared error",
    "triplets": "triplet accuracy",
    "words": "words",
    "scorings": "scorings",
    "scorings_a_second": "scorings per second",
    "example_1": "example 1",
    "example_2": "example 2",
    "example_3": "example 3",
    "rounds": "rounds",
    "captured": "captured energy",
    "n_triplets": "triplets",
    "iterations": "iterations",
    "runs": "runs",
    "gemm_rate": "Gflop/s of a product",
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
    "stsb_train": "STS-B train, out of fold",
    "stsb_dev": "dev",
    "stsb_test": "test",
    "mean": "mean of seven",
    "gain_over_cls": "gain over [CLS]",
    "f1_clrcmd": "F1 on train files, CLRCMD's protocol",
    "f1_official": "F1 on train files, official",
    "rcmd_percent": "RCMD, % of encoding",
    "matching_percent": "matching, % of encoding",
    "sentences_a_second": "sentences per second",
    "times_as_fast": "times as fast",
    "mean_cosine": "mean cosine",
    "least_cosine": "least cosine",
    "largest_difference": "largest difference",
    "largest_gap": "largest gap",
    "times_smaller": "times smaller than sparse",
    "needed": "MB needed, not run",
    "kernel_times_as_fast": "times as fast as without the kernel",
    "time_ratio": "time / mean pooling",
    "peak_ratio": "memory / mean pooling",
    "f1_images": "F1 images, train",
    "f1_headlines": "F1 headlines, train",
    "f1_chunks_images": "F1 images, train, chunk vectors",
    "f1_chunks_headlines": "F1 headlines, train, chunk vectors",
    "quora_auc": "ROC AUC, Quora dev",
    "intent_auc": "ROC AUC",
    "familiarity_auc": "ROC AUC, Quora dev against it",
    "familiarity_mean": "mean familiarity",
    "auc_seen": "clinc150",
    "auc_unseen": "clinc150, by weights of prose and headlines",
    "auc_banking77": "banking77",
    "held_out_auc": "AUC of the held-out tenth of train",
    "clinc150_auc": "AUC on clinc150",
    "banking77_auc": "on banking77",
    "auc_captions": "captions",
    "flagged": "share flagged",
    "limit": "at a familiarity of or below",
    "untrained_share": "share of untrained similarity after adapt",
    "easier_auc": "ROC AUC, without the nearer half of the others",
    "words_per_text": "words per text",
    "auc_words": "TF-IDF of words",
    "auc_trigrams": "of trigrams",
    "auc_trained": "`fast_duplicates`",
    "auc_english": "the same, from English",
    "unknown_share": "unknown to MiniLM",
    "auc_minilm": "MiniLM, cosine",
    "auc_rcmd": "MiniLM, RCMD",
    "copies": "copies",
    "annotators": "annotators, 0 to 5",
    "similarity_rcmd": "RCMD",
    "largest_rcmd": "its ten largest",
    "similarity_avg": "mean pooling",
    "largest_avg": "its ten largest",
    "similarity_matching": "matching",
    "largest_matching": "its ten largest",
    "training_seconds": "seconds",
    "inputs": "inputs",
    "read": "as they should",
    "refused": "refused, with a message",
    "failed": "failed",
    "warm_megabytes": "MB after warm-up",
    "end_megabytes": "MB at the end",
    "growth_percent": "growth, %",
    "edges_whole": "edges of a whole file",
    "edges": "edges reached",
    "mutants": "mutants",
    "killed": "killed by a test",
    "argued": "alive, and argued",
    "lines_run": "lines run by a test, %",
    "branches_run": "branches, %",
    "near_percent": "within 1 % of the best, %",
    "worst_percent": "worst, % above",
    "median_seconds": "median seconds",
    "claimed_percent": "said converged, %",
    "wrong_claims": "wrong claims",
    "steps": "steps",
    "spread": "spread over seeds",
    "wheel": "wheel, MB",
    "source": "source distribution, MB",
    "core": "core install, MB",
    "core_compiled": "with bytecode, MB",
    "passed": "tests passed",
    "skipped": "skipped",
    AHEAD: "AUC ahead of the reference, 95 %",
    F1_AHEAD: "F1 on train files, CLRCMD's protocol, ahead of the reference, 95 %",
    MEAN_AHEAD: "mean ahead of the reference, 95 %",
}
HEADINGS_OF_GPU = {
    "gradient_error": "relative error of gradients",
    "examples_a_second": "rows per second",
    "first_loss": "loss, first 5 steps",
    "last_loss": "loss, last 5 steps",
    "chosen_by": "held-out score × 100 (untrained)",
}


MADE = tuple(metric for metrics in DIFFERENCES for metric in metrics)
"""Metrics that are made from kept pairs, on any machine."""


class Headline(NamedTuple):
    """One row of the table of headlines: a case of ours and its rival, by the same metrics."""

    task: str
    bench: str
    metrics: tuple[str, ...]
    ours: tuple[str, str]
    rival: tuple[str, str]
    """Names to show, and the cases of the result file."""
    less_is_better: bool = False
    """Whether the lower of the two first metrics is the better one."""


_MINILM = "all-MiniLM-L6-v2"
_BATCH = "CPU, 2 torch threads: 128 x 256 texts, 32 tokens, width 768"
HEADLINES = (
    Headline(
        "Duplicate questions, Quora",
        "duplicates",
        ("roc_auc", "accuracy"),
        ("`fast_duplicates`", "quora: fast_duplicates, inductive"),
        ("TF-IDF cosine", "quora: TF-IDF cosine, logistic regression"),
    ),
    Headline(
        "The same pairs",
        "duplicates",
        ("log_loss_at_prior",),
        ("`fast_duplicates`", "quora: fast_duplicates, inductive"),
        ("lexical features alone", "quora: lexical features, logistic regression"),
        less_is_better=True,
    ),
    Headline(
        "Metric learners, 6,000 pairs of Quora",
        "metric_learners",
        ("roc_auc", "seconds"),
        ("`FILM`", "quora, 6000 pairs, 100 features: FILM"),
        ("NCA of scikit-learn", "quora, 6000 pairs, 100 features: NCA of scikit-learn"),
    ),
    Headline(
        "Edited copies among 100,000 questions",
        "corpus",
        ("recall at precision 0.95", "seconds"),
        ("`DuplicateFinder`", "quora: planted copies, 100000 rows, similarity"),
        ("MinHash of datasketch", "quora: planted copies, 100000 rows, minhash"),
    ),
    Headline(
        "Seven STS sets, nothing trained",
        "sts",
        ("mean",),
        ("`RCMDRegressor`", f"{_MINILM}: RCMD"),
        ("mean pooling of the same model", f"{_MINILM}: mean pooling"),
    ),
    Headline(
        "STS-B test, from 91 books and no labels",
        "contexts",
        ("STS-B",),
        ("`ContextRegressor`", "whole: Origin from scratch, 500 contexts"),
        ("TF-IDF of characters", "sample: TF-IDF of characters"),
    ),
    Headline(
        "Similarities of 128 × 256 texts in training",
        "rcmd_memory",
        ("peak", "seconds"),
        ("ours", f"{_BATCH}, ours"),
        ("sparse form of CLRCMD", f"{_BATCH}, sparse form of CLRCMD"),
        less_is_better=True,
    ),
)


def main(arguments: list[str] | None = None) -> int:
    """Rewrite the tables, or with ``--check`` exit with 1 where they are not up to date."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    stale = 0
    for path in documents():
        old = path.read_text(encoding="utf-8")
        new = BLOCK.sub(lambda block: block[1] + table(block[2]) + block[3], old)
        stale += new != old
        if not options.check:
            path.write_text(new, encoding="utf-8")
    return int(options.check and stale > 0)


def documents() -> list[Path]:
    """List README.md and the pages of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def table(bench: str) -> str:
    """One table: a row per case, a column per metric, and what it was measured on."""
    if bench == "headlines":
        return _headlines()
    if bench in PAPERS:
        return _pieces(bench)
    cells = _picked(bench) if bench in PICKS else newest(bench)
    if not cells:
        return "not measured\n"
    headings = HEADINGS | HEADINGS_OF_GPU if bench == "gpu" else HEADINGS
    if bench == "compatibility":
        return _by_versions(cells)
    metrics = [name for name in headings if any(name in row for row in cells.values())]
    rivals = sorted({r["rival"] for row in cells.values() for r in row.values() if r["rival"]})
    with_rival = bench == "grid"
    heads = ["", *(headings[name] for name in metrics), *(rivals if with_rival else [])]
    lines = [_line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
    shown = [each for each in DIFFERENCES if each[0] in metrics]
    references = {
        row[ahead]["rival"] for ahead, *_ in shown for row in newest(bench).values() if ahead in row
    }
    for case, row in cells.items():
        values = [_cell(row[name]) if name in row else "" for name in metrics]
        of = "reference" if f"{_start(bench)}{case}" in references else ""
        for each in shown:
            told = shown_difference(row, each) if each[0] in row else of
            values[metrics.index(each[0])] = told
        if with_rival:
            values += [_shown(next(iter(row.values()))["rival_value"])]
        lines.append(_line([case, *values]))
    # Differences are made from what was measured before.
    measured = [r for row in cells.values() for m, r in row.items() if m not in MADE]
    return "".join(lines) + _measured_on(measured)


def newest(bench: str, folder: str | Path | None = None) -> dict[str, dict[str, dict[str, Any]]]:
    """Give the newest result by case and metric; empty where nothing was measured.

    ``contexts__5_4`` is the part of the benchmark ``contexts`` whose cases begin with "5.4: ".
    """
    start = _start(bench)
    path = Path(folder or RESULTS) / f"{bench.partition(PART)[0]}.jsonl"
    cells: dict[str, dict[str, dict[str, Any]]] = {}
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


def _picked(name: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Newest results of the rows that a table picks, by their names and headings there."""
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for pick in PICKS[name]:
        cells = newest(pick.bench).get(pick.case, {})
        rows[pick.name] = {
            heading: cells[metric] for heading, metric in pick.metrics.items() if metric in cells
        }
    return {pick: row for pick, row in rows.items() if row}


def _by_versions(cells: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Show a row for each set of versions."""
    packages = ["python", "numpy", "scipy", "scikit-learn", "torch", "transformers"]
    counts = ["passed", "failed", "skipped"]
    lines = [_line(["", *packages, *(HEADINGS[name] for name in counts)])]
    lines += [_line([*["---"] * (len(packages) + 1), *["---:"] * len(counts)])]
    for case, row in cells.items():
        versions = row["passed"]["versions"]
        numbers = [versions.get(name, "–") for name in packages]
        lines.append(_line([case, *numbers, *(_cell(row[name]) for name in counts)]))
    return "".join(lines) + f"\n{row['passed']['hardware']}; {row['passed']['date']}.\n"


def _pieces(paper: str) -> str:
    """Tables and figures of a paper, with results of ours beside them."""
    lines = [_line(["", "the paper", "ours", "how"]), _line(["---"] * 4)]
    for piece in PAPERS[paper]:
        shown = []
        for name, bench, case, metric, times in piece.ours:
            value = newest(bench).get(case, {}).get(metric, {}).get("value")
            figure = "not measured" if value is None else _shown(times * value)
            shown.append(f"{name} {figure}".strip())
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
        measure = " / ".join(HEADINGS[name] for name in row.metrics)
        lines.append(_line([row.task, measure, *figures]))
        used += [result for side in sides for result in side]
    return "".join(lines) + _measured_on(used)


def _measured_on(results: list[dict[str, Any]]) -> str:
    """Hardware, versions of the newest result, and dates."""
    newest = max(results, key=lambda result: result["date"])
    hardware = " and ".join(dict.fromkeys(result["hardware"] for result in results))
    versions = ", ".join(f"{name} {number}" for name, number in newest["versions"].items())
    dates = sorted({result["date"] for result in results})
    return f"\n{hardware}; {versions}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}.\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _cell(result: dict[str, Any]) -> str:
    untrained = f" ({_shown(result['rival_value'])})" if result["metric"] == "chosen_by" else ""
    return _shown(result["value"]) + untrained


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

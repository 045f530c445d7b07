"""Duplicates of a whole corpus: time, memory, planted copies, groups, and rivals.

``python -m benchmarks.corpus --data DIR`` takes Quora's questions; without ``--data`` it takes
texts that it generates itself. Rivals are semhash, on trigrams in 256 dimensions as the finder's
candidates are, and MinHash of datasketch, in an environment that the benchmark makes for them
(``--rivals`` names it). The last
case is a million texts of `benchmarks.support.bench_corpus`. A ``--quick`` run leaves rivals and
the million out, and records only where ``--out`` says so. ``--only CASE ...`` runs some cases.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.rivals.environment import SCRIPTS, rival_python
from benchmarks.support.bench_corpus import bench_corpus
from benchmarks.support.edits import edited, mistyped
from benchmarks.support.quora_data import Splits, splits_of
from benchmarks.support.run import Results, in_process, parser_of, reading
from estimators import DuplicateFinder, fast_duplicates
from estimators.inputs import TextIndex
from film.corpus import connected_groups

QUICK_CASES = ("plain", "classifier", "planted", "typos", "groups")
RIVALS = ("semhash", "minhash")
CASES = (*QUICK_CASES, *RIVALS, "million")
PACKAGES = ("semhash==0.5.0", "datasketch>=1.6", "numpy", "scikit-learn")
PLANTED_SHARE = 0.1
RECALL, PRECISION = 0.6, 0.95


def main(arguments: list[str] | None = None) -> int:
    """Run all cases, each in a process of its own; status 2 where the data cannot be read."""
    parser = parser_of("corpus", __doc__, "folder with Quora's files")
    parser.add_argument("--rivals", metavar="DIR", default="out/near", help="their environment")
    parser.add_argument("--time-limit", type=float, default=3600.0, help="seconds for a rival")
    parser.add_argument("--size", type=int, default=100_000, help="questions of the corpus")
    parser.add_argument("--texts", type=int, default=1_000_000, help="texts of the last case")
    parser.add_argument("--only", nargs="+", choices=CASES, help="cases to run")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    with reading("corpus"):
        data = splits_of(options, 20_000, 600)
    if options.case:
        print(json.dumps(measure(data, options, options.case)))
        return 0
    results, name = Results("corpus", options), "quora" if options.data else "generated"
    own = ["--size", str(options.size), "--rivals", options.rivals]
    own += ["--time-limit", str(options.time_limit), "--texts", str(options.texts)]
    for case in options.only or (QUICK_CASES if options.quick else CASES):
        for title, row in in_process("corpus", options, "--case", case, *own).items():
            results.tell(f"{name}: {title}", row)
    return 0


def measure(data: Splits, options: argparse.Namespace, case: str) -> dict[str, dict[str, float]]:
    """Run one case; gives rows by title."""
    if case == "groups":
        return _groups(data)
    if case == "million":
        return _many(options.texts)
    texts, clusters = known_texts(data, options.size)
    if case in ("planted", "typos", *RIVALS):
        return _planted(texts, clusters, options, case)
    classifier = None
    if case == "classifier":
        small = {"d": 20, "rank": 60, "cv": 2} if options.quick else {}
        classifier = fast_duplicates(**small).fit(data.train, data.y_train, data.similar)
    started = time.perf_counter()
    finder = DuplicateFinder(classifier).fit(texts)
    found = finder.find(threshold=0.8)
    groups = finder.groups(threshold=0.8)
    seconds = time.perf_counter() - started
    score = "probability" if classifier else "similarity"
    row = {
        "seconds": round(seconds, 1),
        "peak": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000),
        "pairs": len(found.pairs),
        "groups": len(groups.groups),
    }
    return {f"{len(texts)} questions, {score} at 0.8, {found.index} index": row}


def known_texts(data: Splits, size: int) -> tuple[list[str], np.ndarray]:
    """Give unique questions, and which of them are known duplicates of each other."""
    index = TextIndex()
    codes = index.add_pairs(data.train)
    similar = codes[data.y_train == 1]
    for pairs, y in ((data.dev, data.y_dev), (data.test, None), (data.similar, 1)):
        if pairs is None:
            continue
        more = index.add_pairs(pairs)
        same = more if np.ndim(y) == 0 and y == 1 else more[y == 1] if y is not None else more[:0]
        similar = np.vstack([similar, same])
    clusters = connected_groups(similar, len(index.texts))
    rng = np.random.default_rng(0)
    kept = rng.permutation(len(index.texts))[:size]
    return [index.texts[i] for i in kept], clusters[kept]


def _planted(
    texts: list[str], clusters: np.ndarray, options: argparse.Namespace, case: str
) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(1)
    n = int(len(texts) * (1 - PLANTED_SHARE))
    texts, clusters = texts[:n], clusters[:n]
    origins = rng.choice(n, int(n * PLANTED_SHARE / (1 - PLANTED_SHARE)), replace=False)
    change = mistyped if case == "typos" else edited
    every = texts + [change(texts[i], rng) for i in origins]
    origin = np.concatenate([np.full(n, -1), origins])
    cluster = np.concatenate([clusters, clusters[origins]])
    started = time.perf_counter()
    if case not in RIVALS:
        finder = DuplicateFinder().fit(every)
        found = finder.find(threshold=0.3)
        seconds = time.perf_counter() - started
        row = planted_figures(found.pairs, found.scores, origin, cluster)
        copies = "copies with typos" if case == "typos" else "copies"
        return {f"planted {copies}, {len(every)} rows, similarity": row | {"seconds": seconds}}
    return _rival(case, every, origin, cluster, options)


def _many(n: int) -> dict[str, dict[str, float]]:
    """Find the duplicates of a corpus of books in which copies and near misses are known."""
    corpus = bench_corpus(n)
    origin = np.where(corpus.meanings == np.arange(n), -1, corpus.meanings)
    started = time.perf_counter()
    finder = DuplicateFinder(verbose=1).fit(corpus.texts)
    found = finder.find(threshold=0.5)
    seconds = time.perf_counter() - started
    row = planted_figures(found.pairs, found.scores, origin, corpus.meanings)
    row |= {"seconds": round(seconds, 1), "pairs": len(found.pairs)}
    row["peak"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
    return {f"{n} texts of books, similarity at 0.5, {found.index} index": row}


def planted_figures(
    pairs: np.ndarray, scores: np.ndarray, origin: np.ndarray, cluster: np.ndarray
) -> dict[str, float]:
    """Precision of the pairs with a planted side, at the score where 60 % of copies are found.

    And the share of copies that is found at the lowest score where precision is 95 %.

    A pair is right where its two rows have one origin, or their origins are known duplicates. A
    copy is found where a pair joins it to its origin.
    """
    planted = origin >= 0
    touched = planted[pairs].any(axis=1)
    pairs, scores = pairs[touched], scores[touched]
    order = np.argsort(-scores, kind="stable")
    pairs = pairs[order]
    source = np.where(planted, origin, np.arange(len(origin)))
    right = cluster[pairs[:, 0]] == cluster[pairs[:, 1]]
    right |= source[pairs[:, 0]] == source[pairs[:, 1]]
    home = (origin[pairs[:, 0]] == pairs[:, 1]) | (origin[pairs[:, 1]] == pairs[:, 0])
    recall = np.cumsum(home) / planted.sum()
    precision = np.cumsum(right) / np.arange(1, len(right) + 1)
    row = {"recall": float(recall[-1]), "precision": float(precision[-1])}
    good = np.flatnonzero(precision >= PRECISION)
    row["recall at precision 0.95"] = float(recall[good[-1]]) if len(good) else 0.0
    if recall[-1] >= RECALL:
        at = int(np.searchsorted(recall, RECALL))
        row |= {
            "recall": float(recall[at]),
            "precision": float(precision[at]),
            "score": float(scores[order][at]),
        }
    return row


def _groups(data: Splits) -> dict[str, dict[str, float]]:
    """Pairwise precision of groups against transitive closure at equal recall."""
    index = TextIndex()
    codes = index.add_pairs(data.train)
    truth = connected_groups(codes[data.y_train == 1], len(index.texts))
    if data.similar is not None:
        more = index.add_pairs(data.similar)
        similar = np.vstack([codes[data.y_train == 1], more])
        truth = connected_groups(similar, len(index.texts))
    finder = DuplicateFinder().fit(index.texts)
    thresholds = np.linspace(0.3, 0.95, 27)
    found = finder.find(threshold=float(thresholds[0]))
    closure, linked = [], []
    for threshold in thresholds:
        kept = found.scores >= threshold
        labels = connected_groups(found.pairs[kept], len(index.texts))
        closure.append(pairwise(labels, truth))
        linked.append(pairwise(finder.groups(threshold=float(threshold)).labels, truth))
    rows: dict[str, dict[str, float]] = {}
    for recall in (0.2, 0.3, 0.4):
        for name, curve in (("average link", linked), ("transitive closure", closure)):
            precision = precision_at(curve, recall)
            if precision is not None:
                rows[f"groups by {name}, recall {recall}"] = {
                    "recall": recall,
                    "precision": precision,
                }
    return rows


def pairwise(labels: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Recall and precision over pairs of rows in one group; negative labels stand alone."""
    labels = np.where(labels < 0, labels.max() + 1 + np.arange(len(labels)), labels)
    _, both = np.unique(np.column_stack([labels, truth]), axis=0, return_counts=True)
    n_both, n_found, n_true = (
        float((counts * (counts - 1) / 2).sum())
        for counts in (
            both.astype(float),
            np.unique(labels, return_counts=True)[1].astype(float),
            np.unique(truth, return_counts=True)[1].astype(float),
        )
    )
    return n_both / n_true, n_both / n_found if n_found else 1.0


def precision_at(curve: list[tuple[float, float]], recall: float) -> float | None:
    """Best precision of a threshold that reaches a recall; None where none does."""
    reached = [precision for found, precision in curve if found >= recall]
    return max(reached) if reached else None


def _rival(
    name: str,
    texts: list[str],
    origin: np.ndarray,
    cluster: np.ndarray,
    options: argparse.Namespace,
) -> dict[str, dict[str, float]]:
    """Run a rival's script in the environment of its own."""
    python = rival_python(options.rivals, PACKAGES)
    script = SCRIPTS / f"{name}_rival.py"
    title = f"planted copies, {len(texts)} rows, {name}"
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "texts.json"), Path(folder, "pairs.npz")
        source.write_text(json.dumps(texts), encoding="utf-8")
        command = [str(python), str(script), str(source), str(target)]
        subprocess.run(command, check=True, timeout=options.time_limit)
        found = np.load(target)
        row = planted_figures(found["pairs"], found["scores"], origin, cluster)
        row["seconds"] = float(found["seconds"])
    return {title: row}


if __name__ == "__main__":
    sys.exit(main())

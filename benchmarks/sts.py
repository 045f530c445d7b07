"""Untrained token similarities on the seven STS sets, beside pooling and BERTScore.

``python -m benchmarks.sts [--data DIR] [--model NAME ...] [--out DIR] [--quick]``. DIR is laid out
as SentEval's downstream/STS with SICK beside it; without it ``$FILM_DATA/sts`` is taken. Reported
is Spearman × 100, subsets of a year joined. Nothing is trained, and nothing is chosen here: every
method is the same on all sets. What each says of every pair is kept, so that `benchmarks.compare`
says of any two whether their difference stands. BERTScore runs by its own package with the same
encoder, in an environment that the benchmark makes (``--rivals`` names it; ``--no-rivals`` leaves
it out).
``--quick`` takes 60 pairs a set and records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

from benchmarks.rivals.environment import SCRIPTS, rival_python
from benchmarks.support.folders import data_folder
from benchmarks.support.pair_rows import record_pairs
from benchmarks.support.records import record
from benchmarks.support.significance import record_differences
from estimators import RCMDRegressor, TokenEncoder, TokenMatchingRegressor
from estimators.encoders import find_model
from estimators.tokens import weights_of_tokens
from film.datasets import ScoredPairs, read_sts_sets
from film.pairs import row_cosines
from film.tokens import Ragged, ragged_matching, ragged_similarities

BERTSCORE = ("bert-score==0.3.13", "transformers<5", "torch==2.13.0", "numpy<2.5")
QUICK_PAIRS = 60
CLS = "[CLS]"
WHITENED = 256
"""Components kept, as Su et al. (2021) keep of base models."""
Similarity = Callable[[np.ndarray], np.ndarray]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sts", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder of the seven sets")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument(
        "--model", action="append", metavar="NAME", help="hub name or folder; may be repeated"
    )
    parser.add_argument("--rivals", metavar="DIR", default="out/bertscore", help="its environment")
    parser.add_argument("--no-rivals", action="store_true")
    parser.add_argument("--quick", action="store_true", help="60 pairs a set")
    options = parser.parse_args(arguments)
    try:
        sets = read_sts_sets(data_folder(options.data, "sts"))
        python = None if options.no_rivals else rival_python(options.rivals, BERTSCORE)
    except (OSError, ValueError) as error:
        print(f"benchmarks.sts: {error}", file=sys.stderr)
        return 2
    if options.quick:
        sets = {name: first_pairs(data, QUICK_PAIRS) for name, data in sets.items()}
    with tempfile.TemporaryDirectory() as cache:
        for model in options.model or [None]:
            _run_model(model, sets, cache, python, options)
    if options.out or not options.quick:
        record_differences("sts", options.out)
    return 0


def _run_model(
    model: str | None,
    sets: dict[str, ScoredPairs],
    cache: str,
    python: Path | None,
    options: argparse.Namespace,
) -> None:
    label = "all-MiniLM-L6-v2" if model is None else Path(model).name
    found: dict[str, dict[str, float]] = {}
    known = methods(model)
    if python is not None:
        known["BERTScore, its package"] = lambda pairs: bertscore(model, pairs, python)
    for case, similarity in known.items():
        said = {name: similarity(data.pairs) for name, data in sets.items()}
        found[case] = correlations(said, sets)
        _tell(label, case, found, options)
        if options.out or not options.quick:
            keep_pairs("sts", f"{label}: {case}", said, sets, options.out)
    for case, gap in contribution_gaps(model, cache, sets["STS-B"].pairs).items():
        print(f"{label}: {case}: contributions miss the similarity by at most {gap:.1e}")
        if options.out or not options.quick:
            record("contributions", f"{label}: {case}", "largest_gap", gap, folder=options.out)


def methods(model: str | None) -> dict[str, Similarity]:
    """All untrained similarities by name, each from pairs to numbers.

    The texts of a set are encoded once for all of them.
    """
    encoder = TokenEncoder(model).fit(["a text"])
    known: dict[int, tuple[np.ndarray, Ragged, np.ndarray]] = {}

    def encoded(pairs: np.ndarray) -> tuple[Ragged, np.ndarray]:
        # The array is kept too, so that its identity stays its own.
        if id(pairs) not in known:
            texts, codes = np.unique(pairs.ravel(), return_inverse=True)
            known[id(pairs)] = pairs, encoder.transform(texts), codes.reshape(-1, 2)
        return known[id(pairs)][1:]

    def weighed(pairs: np.ndarray, tokens: Ragged, kind: str | None) -> np.ndarray | None:
        table = RCMDRegressor(model, weights=kind).fit(pairs).token_weights_
        if table is None:
            return None
        return weights_of_tokens(table, np.asarray(tokens.ids), tokens.starts)

    def pooled(pool: Callable[[np.ndarray], np.ndarray], whiten: bool = False) -> Similarity:
        def similarity(pairs: np.ndarray) -> np.ndarray:
            tokens, codes = encoded(pairs)
            points = np.stack([pool(rows) for rows in tokens])
            if whiten:
                kept = min(WHITENED, len(points) // 2)
                points = PCA(kept, whiten=True, svd_solver="full").fit_transform(points)
            return row_cosines(points[codes[:, 0]], points[codes[:, 1]])

        return similarity

    def transport_plan(kind: Any = "rcmd", special: bool = True, weights: Any = None) -> Similarity:
        def similarity(pairs: np.ndarray) -> np.ndarray:
            tokens, codes = encoded(pairs)
            tokens = tokens if special else tokens.without_special()
            w = weighed(pairs, tokens, weights)
            return ragged_similarities(tokens, tokens, kind, weights1=w, weights2=w, pairs=codes)

        return similarity

    def matching(function: Any, weights: str | None) -> Similarity:
        def similarity(pairs: np.ndarray) -> np.ndarray:
            tokens, codes = encoded(pairs)
            w = weighed(pairs, tokens, weights)
            return ragged_matching(tokens, tokens, function, w, w, pairs=codes)

        return similarity

    found = {
        CLS: transport_plan("cls"),
        "mean pooling": transport_plan("avg"),
        "max pooling": pooled(lambda rows: rows.max(axis=0)),
        "mean pooling, 256 whitened components of the set": pooled(
            lambda rows: rows.mean(axis=0), whiten=True
        ),
        "mean pooling, words": transport_plan("avg", weights="words"),
        "RCMD": transport_plan(),
        "RCMD, without special tokens": transport_plan(special=False),
        "RCMD, words": transport_plan(weights="words"),
        "RCMD + AVG": transport_plan("rcmd+avg"),
        "RCMD + AVG, words": transport_plan("rcmd+avg", weights="words"),
        "CMD": transport_plan("cmd"),
    }
    for function in ("both", "significance", "uniqueness"):
        for weights in (None, "idf", "words"):
            name = f"matching, {function}" + (f", {weights}" if weights else "")
            found[name] = matching(function, weights)
    return found


def measured(similarity: Similarity, sets: dict[str, ScoredPairs]) -> dict[str, float]:
    """Spearman × 100 on every set, and their mean."""
    return correlations({name: similarity(data.pairs) for name, data in sets.items()}, sets)


def correlations(said: dict[str, np.ndarray], sets: dict[str, ScoredPairs]) -> dict[str, float]:
    """Spearman × 100 of what was said of the pairs of every set, and their mean."""
    row = {
        name: 100 * float(spearmanr(values, sets[name].scores).statistic)
        for name, values in said.items()
    }
    row["mean"] = float(np.mean(list(row.values())))
    return row


def keep_pairs(
    bench: str,
    case: str,
    said: dict[str, np.ndarray],
    sets: dict[str, ScoredPairs],
    folder: str | None,
    seed: int | None = None,
) -> None:
    """Keep what a row says of the pairs of every set."""
    for name, values in said.items():
        data, told = sets[name], {"part": name, "seed": seed, "folder": folder}
        record_pairs(bench, case, data.pairs, data.scores, values, **told)


def contribution_gaps(model: str | None, cache: str, pairs: np.ndarray) -> dict[str, float]:
    """Largest distance of a pair's sum of contributions from its similarity, by method."""
    models = {
        kind: RCMDRegressor(model, plan=kind, cache=cache)
        for kind in ("rcmd", "rcmd1", "rcmd2", "cmd", "avg", "rcmd+avg", "cls")
    }
    models |= {
        f"matching, {function}": TokenMatchingRegressor(model, matching=function, cache=cache)
        for function in ("both", "significance", "uniqueness")
    }
    gaps = {}
    for name, estimator in models.items():
        said = estimator.fit(pairs).similarity(pairs)
        sums = [explanation.contributions.sum() for explanation in estimator.explain(pairs)]
        gaps[name] = float(np.abs(said - sums).max())
    return gaps


def bertscore(model: str | None, pairs: np.ndarray, python: Path) -> np.ndarray:
    """F1 of the package bert-score, by the interpreter that has it, on the same last layer."""
    folder = find_model(model)
    with open(folder / "config.json", encoding="utf-8") as file:
        layers = json.load(file)["num_hidden_layers"]
    script = SCRIPTS / "bertscore_rival.py"
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch, "pairs.json"), Path(scratch, "scores.json")
        source.write_text(json.dumps(pairs.tolist()), encoding="utf-8")
        command = [str(python), str(script), str(source), str(target), str(folder), str(layers)]
        subprocess.run(command, check=True)
        return np.array(json.loads(target.read_text(encoding="utf-8"))["scores"])


def _tell(
    label: str, case: str, found: dict[str, dict[str, float]], options: argparse.Namespace
) -> None:
    row = found[case]
    shown = " ".join(f"{name} {value:.1f}" for name, value in row.items() if name != "mean")
    print(f"{label}: {case}: mean {row['mean']:.2f} | {shown}", flush=True)
    if options.quick and not options.out:
        return
    base = {} if case == CLS else found[CLS]
    gain = {"gain_over_cls": row["mean"] - base["mean"]} if base else {}
    for metric, value in (row | gain).items():
        record(
            "sts",
            f"{label}: {case}",
            metric,
            round(value, 3),
            rival=CLS if base else None,
            rival_value=round(base[metric], 3) if metric in base else None,
            folder=options.out,
        )


def first_pairs(data: ScoredPairs, n: int) -> ScoredPairs:
    """Give some of the pairs, at random and always the same."""
    rows = np.random.default_rng(0).permutation(len(data))[:n]
    return ScoredPairs(data.pairs[rows], data.scores[rows], data.genres[rows])


if __name__ == "__main__":
    sys.exit(main())

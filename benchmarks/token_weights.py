"""Token weights learned from texts against none and idf, on the seven STS sets.

``python -m benchmarks.token_weights [--data DIR] [--model NAME] [--out DIR] [--quick]``. DIR has
the folders ``quora``, ``multi30k`` and ``sts`` and the list ``exclude.txt``; without it
``$FILM_DATA`` is taken. Three times, with another seed, `TokenWeights` learns with its defaults
from as many Quora questions as captions, none of which is a sentence of an evaluation set. Reported
is Spearman × 100 of token matching and RCMD with these weights, with idf of each set's own texts,
and with none; the defaults were chosen on other rows. With ``--joint DIR``, a model that
``benchmarks.rcmd_train --weights learned --save`` kept, whose weights trained with it, both are
measured on its tokens with these weights and with none, and nothing else is learned. ``--quick``
takes 60 pairs a set and a few steps and records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sts import QUICK_PAIRS, Similarity, first_pairs, measured
from benchmarks.support.folders import data_folder
from benchmarks.support.records import record
from benchmarks.support.training_rows import read_captions
from estimators import RCMDRegressor, TokenEncoder, TokenMatchingRegressor
from estimators.tokens import TokenWeights, weights_of_tokens
from film.datasets import (
    ScoredPairs,
    drop_excluded,
    read_excluded,
    read_quora,
    read_sts_sets,
)
from film.tokens import Ragged, ragged_matching, ragged_similarities

SEEDS = (0, 1, 2)
TEXTS_OF_A_KIND = 10_000
QUICK_STEPS = 4


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.token_weights", description=__doc__)
    parser.add_argument("--data", metavar="DIR", help="folder of the data")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder")
    parser.add_argument("--joint", metavar="DIR", help="a trained model that has weights")
    parser.add_argument("--quick", action="store_true", help="60 pairs a set, a few steps")
    options = parser.parse_args(arguments)
    try:
        folder = data_folder(options.data)
        sets = read_sts_sets(folder / "sts")
        kinds = read_kinds(folder)
        taught = read_joint(options.joint) if options.joint else None
    except (OSError, ValueError) as error:
        print(f"benchmarks.token_weights: {error}", file=sys.stderr)
        return 2
    if options.quick:
        sets = {name: first_pairs(data, QUICK_PAIRS) for name, data in sets.items()}
    records = bool(options.out) or not options.quick
    if taught is not None:
        tell_joint(options.joint, taught, sets, options.out, records)
        return 0
    shorter = {"steps": QUICK_STEPS} if options.quick else {}
    learned = {}
    for seed in SEEDS:
        start = time.perf_counter()
        learned[seed] = TokenWeights(options.model, random_state=seed, **shorter).fit(
            corpus(kinds, seed)
        )
        seconds = time.perf_counter() - start
        print(f"seed {seed}: {len(learned[seed].weights_)} tokens in {seconds:.0f} s", flush=True)
        for title, words in (
            ("strongest", learned[seed].strongest(12)),
            ("weakest", learned[seed].weakest(12)),
        ):
            print(f"  {title}: " + ", ".join(f"{token} {weight:.2f}" for token, weight in words))
    label = "all-MiniLM-L6-v2" if options.model is None else Path(options.model).name
    found = {
        case: measured(similarity, sets)
        for case, similarity in similarities(options.model, learned).items()
    }
    for function in ("matching", "RCMD"):
        tell(label, function, found, options.out, records)
    return 0


def read_kinds(folder: Path) -> list[list[str]]:
    """Different questions and captions that are no sentence of an evaluation set."""
    excluded = read_excluded(folder / "exclude.txt")
    questions, _ = drop_excluded(read_quora(folder / "quora" / "train.csv"), excluded)
    captions = read_captions(folder / "multi30k", excluded).texts
    return [sorted(set(texts.ravel().tolist())) for texts in (questions.pairs, captions)]


def corpus(kinds: list[list[str]], seed: int) -> list[str]:
    """Equally many texts of each kind, drawn without return."""
    rng = np.random.default_rng(seed)
    size = min(TEXTS_OF_A_KIND, *map(len, kinds))
    return [texts[i] for texts in kinds for i in rng.choice(len(texts), size, replace=False)]


def similarities(model: str | None, learned: dict[int, TokenWeights]) -> dict[str, Similarity]:
    """Give matching and RCMD with each kind of weights; a set's texts are encoded once for all."""
    encoder = TokenEncoder(model).fit(["a text"])
    known: dict[int, tuple[np.ndarray, Ragged, np.ndarray]] = {}

    def encoded(pairs: np.ndarray) -> tuple[Ragged, np.ndarray]:
        # The array is kept too, so that its identity stays its own.
        if id(pairs) not in known:
            texts, codes = np.unique(pairs.ravel(), return_inverse=True)
            known[id(pairs)] = pairs, encoder.transform(texts), codes.reshape(-1, 2)
        return known[id(pairs)][1:]

    def similarity(function: str, weights: Any) -> Similarity:
        def of(pairs: np.ndarray) -> np.ndarray:
            tokens, codes = encoded(pairs)
            w = None
            if weights is not None:
                table = getattr(weights, "token_weights_", None)
                if table is None:
                    table = TokenMatchingRegressor(model, weights=weights).fit(pairs).token_weights_
                w = weights_of_tokens(table, np.asarray(tokens.ids), tokens.starts)
            if function == "matching":
                return ragged_matching(tokens, tokens, "both", w, w, pairs=codes)
            return ragged_similarities(tokens, tokens, "rcmd", weights1=w, weights2=w, pairs=codes)

        return of

    kinds: dict[str, Any] = {"none": None, "idf": "idf"}
    kinds |= {f"learned, seed {seed}": weights for seed, weights in learned.items()}
    return {
        f"{function}, {name}": similarity(function, weights)
        for function in ("matching", "RCMD")
        for name, weights in kinds.items()
    }


def read_joint(folder: str) -> RCMDRegressor:
    """Load a trained model, or raise ValueError where it has no weights of its own."""
    taught = RCMDRegressor.load(folder)
    if taught.token_weights_ is None:
        raise ValueError(
            f"--joint {folder} was trained without weights of tokens: give a model that "
            "benchmarks.rcmd_train --weights learned --save kept"
        )
    return taught


def tell_joint(
    folder: str,
    taught: RCMDRegressor,
    sets: dict[str, ScoredPairs],
    out: Any,
    records: bool,
) -> None:
    """Print and record both functions on the tokens of a model, by its weights and by none."""
    weights = np.asarray(taught.token_weights_)
    spread = np.quantile(weights, [0, 0.05, 0.5, 0.95, 1]).round(3)
    print("weights, least, 5 %, median, 95 % and greatest:", *spread)
    found = {
        case: measured(similarity, sets)
        for case, similarity in similarities(folder, {0: taught}).items()
        if not case.endswith("idf")
    }
    for function in ("matching", "RCMD"):
        none = found[f"{function}, none"]
        for name in ("none", "learned"):
            row = found[f"{function}, {name}" + (", seed 0" if name == "learned" else "")]
            kind = "trained jointly" if name == "learned" else "no weights"
            case = f"{Path(folder).name}: {function}, {kind}"
            print(f"{case}:", " ".join(f"{m} {value:.1f}" for m, value in row.items()), flush=True)
            for metric, value in row.items() if records else ():
                known: dict[str, Any] = {"folder": out}
                if name == "learned":
                    known |= {"rival": "no weights", "rival_value": none[metric]}
                record("token_weights", case, metric, value, **known)


def tell(
    label: str, function: str, found: dict[str, dict[str, float]], out: Any, records: bool
) -> None:
    """Print and record one function with no weights, idf, and the mean and spread of learned."""
    none, idf = found[f"{function}, none"], found[f"{function}, idf"]
    seeds = {seed: found[f"{function}, learned, seed {seed}"] for seed in SEEDS}
    learned = {metric: float(np.mean([row[metric] for row in seeds.values()])) for metric in none}
    spread = float(np.std([row["mean"] for row in seeds.values()], ddof=1))
    for name, row in (("none", none), ("idf", idf), ("learned", learned)):
        shown = " ".join(f"{metric} {value:.1f}" for metric, value in row.items())
        more = f" (spread over seeds {spread:.2f})" if name == "learned" else ""
        print(f"{label}: {function}, {name}: {shown}{more}", flush=True)
    if not records:
        return
    write = {"folder": out}
    for name, row in (("none", none), ("idf", idf)):
        for metric, value in row.items():
            record("token_weights", f"{label}: {function}, {name}", metric, value, **write)
    case = f"{label}: {function}, learned"
    for seed, row in seeds.items():
        for metric, value in row.items():
            record("token_weights", f"{case}, one seed", metric, value, seed=seed, **write)
    for metric, value in learned.items():
        best = "none" if none["mean"] >= idf["mean"] else "idf"
        rival_value = {"none": none, "idf": idf}[best][metric]
        record("token_weights", case, metric, value, rival=best, rival_value=rival_value, **write)
    record("token_weights", case, "spread", spread, **write)


if __name__ == "__main__":
    sys.exit(main())

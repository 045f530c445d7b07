"""Weights by which a classifier tells texts like those of its fit from others, and their worth.

``python -m benchmarks.familiarity [--data DIR] [--cache FOLDER] [--dtype NAME] [--out DIR]`` counts
Quora's training questions and tells held-out pairs of them from pairs of other kinds: intents
(``DIR/clinc150``), sentences that follow each other (``DIR/books``) and headlines (``DIR/ists``).
It prints the weights that ``estimators/pairs/familiarity/weights.py`` holds, and records the ROC
AUC of held-out training pairs against intents, by weights that halves of all kinds gave and by
weights that saw no intents ("unseen"): by these two, statistics are chosen. Reported alone are
Quora dev against banking77 and against captions of multi30k. Each statistic is also left out.
Of each kind it records the share of pairs that `DuplicateClassifier.familiarity_limit_` flags, by
the weights that the package has; ``--limits`` records these shares, by words alone, and no weights.
``--quick`` runs on a part and records only where ``--out`` says so.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.intents import MOST_FAMILIAR, read_other_kinds, read_sets
from benchmarks.support.folders import data_folder
from benchmarks.support.quora_data import read_folder
from benchmarks.support.run import Results, parser_of, refused
from estimators import SentenceEncoder, question_groups
from estimators.inputs import as_texts
from estimators.pairs import (
    OTHER_KINDS,
    VECTOR_STATISTICS,
    WEIGHTS,
    WORD_STATISTICS,
    Familiarity,
    held_out_texts,
)
from film.contexts import plain_text, split_sentences
from film.pairs import familiarities, standardised

QUORA, DEV = "Quora, held out", "Quora dev"
SOURCES = ("clinc150", "books", "headlines of iSTS")
"""Where the `OTHER_KINDS` come from, in their order."""
REPORTED = {"banking77": "auc_banking77", "captions of multi30k": "auc_captions"}
Rows = dict[str, NDArray[np.float64]]


def main(arguments: list[str] | None = None) -> int:
    """Run it; the exit status is 2 where the data cannot be read."""
    parser = parser_of("familiarity", __doc__, "holds quora, clinc150 and the others")
    parser.add_argument("--cache", metavar="FOLDER", help="keep encodings here")
    parser.add_argument("--dtype", help="of the encoder, such as bfloat16")
    parser.add_argument(
        "--limits",
        action="store_true",
        help="record shares flagged, by words alone, and no weights",
    )
    options = parser.parse_args(arguments)
    try:
        folder = data_folder(options.data)
        limit = 600 if options.quick else None
        quora = read_folder(folder / "quora", on_error="raise", limit=limit, seed=0)
        sets = read_sets(folder, 400 if options.quick else 5000)
        kinds = {name: found.pairs[:MOST_FAMILIAR] for name, found in sets.items()}
        kinds |= read_other_kinds(folder) | {"books": sentence_pairs(folder / "books")}
        kinds[DEV] = quora.dev[:MOST_FAMILIAR]
        if missing := [name for name in (*SOURCES, *REPORTED) if name not in kinds]:
            raise FileNotFoundError(f"{folder} lacks {', '.join(missing)}")
    except (OSError, ValueError) as error:
        return refused("familiarity", error)
    embed, results = None, Results("familiarity_weights", options)
    if find_spec("transformers") is not None and not (options.quick or options.limits):
        encoder = SentenceEncoder(cache=options.cache, dtype=options.dtype).fit(["a text"])
        embed = encoder.transform
    names = [*WORD_STATISTICS, *(VECTOR_STATISTICS if embed else ())]
    known, rows = statistics_of(quora.train, kinds, embed)
    for case, found in flagged(known, rows).items():
        results.tell(case, found, bench="familiarity_limit")
    if options.limits:
        return 0
    columns = {"words alone": list(range(len(WORD_STATISTICS)))}
    if embed:
        columns["words and vectors"] = list(range(len(names)))
    for label, used in columns.items():
        print(f"{label}:", shown(*weights_of({k: z[:, used] for k, z in rows.items()})))
        results.tell(label, aucs({name: z[:, used] for name, z in rows.items()}))
        for left in used:
            kept = [column for column in used if column != left]
            some = {name: z[:, kept] for name, z in rows.items()}
            results.tell(f"{label}, without {names[left]}", aucs(some))
    return 0


def sentence_pairs(folder: Path, n: int = MOST_FAMILIAR) -> NDArray[np.object_]:
    """Draw pairs of sentences of books that follow each other, 4 to 40 words long each."""
    rng = np.random.default_rng(0)
    files = sorted(folder.glob("*.md"))
    pairs = []
    for file in files:
        text = plain_text(file.read_text(encoding="utf-8"))
        found = [line for line in split_sentences(text) if 4 <= len(line.split()) <= 40]
        for row in rng.permutation(max(0, len(found) - 1))[: -(-n // len(files))]:
            pairs.append(found[row : row + 2])
    if not pairs:
        raise FileNotFoundError(f"{folder} has no file *.md with sentences")
    return as_texts([text for pair in pairs for text in pair]).reshape(-1, 2)


def statistics_of(
    train: NDArray[np.object_], kinds: dict[str, NDArray[np.object_]], embed: Any
) -> tuple[Familiarity, Rows]:
    """Give the statistics of pairs of each kind, and of held-out training pairs, standardised."""
    known, held = counted(train, embed)
    rows = {}
    for name, pairs in {QUORA: train[held], **kinds}.items():
        print(f"{name}: {len(pairs)} pairs", flush=True)
        rows[name] = standardised(known.of_both(pairs, embed), known.means, known.deviations)
    return known, rows


def counted(train: NDArray[np.object_], embed: Any = None) -> tuple[Familiarity, NDArray[np.bool_]]:
    """Count the texts of training pairs, and tell which pairs were left out."""
    texts, codes = np.unique(train.ravel(), return_inverse=True)
    codes = codes.reshape(train.shape)
    groups = np.empty(len(texts), dtype=np.intp)
    groups[codes] = question_groups(train)[:, None]
    known = Familiarity(texts.tolist(), codes, groups, embed)
    return known, held_out_texts(groups, 0)[codes[:, 0]]


def flagged(known: Familiarity, rows: Rows) -> dict[str, dict[str, float]]:
    """Share of pairs of each kind that is no more familiar than the limit."""
    ends = {"": len(WORD_STATISTICS)}
    if known.vectors is not None:
        ends |= {", by vectors too": len(WORD_STATISTICS) + len(VECTOR_STATISTICS)}
    found = {}
    for (end, n), limit in zip(ends.items(), known.limits, strict=False):
        for name, z in rows.items():
            told = familiarities(z[:, :n], 0, 1, *WEIGHTS[n])
            found[f"{name}{end}"] = {"flagged": np.mean(told <= limit), "limit": limit}
    return found


def weights_of(
    rows: Rows, sources: tuple[str, ...] = SOURCES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit weights and intercepts of the kinds against held-out pairs of the fitted kind."""
    parts = [rows[name] for name in (QUORA, *sources)]
    kind = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    model = LogisticRegression(max_iter=5000).fit(np.concatenate(parts), kind)
    if len(parts) == 2:
        return model.coef_, model.intercept_
    return model.coef_[1:] - model.coef_[0], model.intercept_[1:] - model.intercept_[0]


def shown(weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> str:
    """Show weights and intercepts as the module of weights has them."""
    lines = [
        f"    ({', '.join(f'{value:.2f}' for value in row)}),  # {kind}"
        for row, kind in zip(weights, OTHER_KINDS, strict=True)
    ]
    return "\n".join(["(", *lines, ")", f"({', '.join(f'{value:.2f}' for value in intercepts)})"])


def aucs(rows: Rows) -> dict[str, float]:
    """ROC AUC of pairs of the fitted kind against others: by halves, by unseen kinds, reported."""
    taught = {name: z[::2] for name, z in rows.items()}
    judged = {name: z[1::2] for name, z in rows.items()}
    by_half, by_others = weights_of(taught), weights_of(taught, SOURCES[1:])
    by_all = weights_of(rows)
    found = {
        "auc_seen": _auc(judged[QUORA], judged[SOURCES[0]], by_half),
        "auc_unseen": _auc(judged[QUORA], judged[SOURCES[0]], by_others),
    }
    for name, metric in REPORTED.items():
        found[metric] = _auc(rows[DEV], rows[name], by_all)
    return found


def _auc(like: NDArray[np.float64], other: NDArray[np.float64], weights: Any) -> float:
    told = familiarities(np.concatenate([like, other]), 0, 1, *weights)
    return float(roc_auc_score(np.repeat([1, 0], [len(like), len(other)]), told))


if __name__ == "__main__":
    sys.exit(main())

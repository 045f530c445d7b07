"""Chunk alignment on SemEval-2016 task 2 (iSTS) with gold chunks, untrained.

``python -m benchmarks.ists [--data DIR] [--model NAME] [--out DIR] [--quick]``. DIR holds
``STSint.input.*`` files, or those of the test; without it ``$FILM_DATA/ists/train`` is taken.
Reported is the alignment F1 under both protocols: CLRCMD's, which keeps gold alignments of score 3
or more, and the official one. Scores of chunks are block means of contributions, aligned where they
are mutual maxima above 0, as in CLRCMD's section 4.3; "chunk vectors" are cosines of summed
token vectors, aligned above `LIMIT`, which was chosen on these train files; "and neighbours" adds
a share of the cosines of the chunks before and after, and "joined" lets one chunk stand for two, as
`align` does; both were chosen on answers-students alone. How much the F1 of a method is ahead of
that of RCMD has its 95 % interval: a paired bootstrap over pairs of sentences, those that shared
sentences link drawn together. ``--quick`` takes 40 pairs a source.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.data.alignments import (
    AlignedPair,
    align_chunks,
    link_weights,
    score_alignments,
)
from benchmarks.data.ists import read_ists
from benchmarks.support.bootstrap import N_DRAWS, Interval, drawn, interval
from benchmarks.support.folders import data_folder
from benchmarks.support.run import Results, parser_of, reading
from benchmarks.support.significance import F1_DIFFERENCE
from estimators import TokenEncoder, question_groups
from film.tokens import (
    Ragged,
    chunk_cosines,
    chunk_membership,
    chunk_scores,
    joined_chunks,
    match,
    mutual_maxima,
    transport_plan,
    with_neighbours,
    word_spans,
)

SOURCES = ("images", "headlines", "answers-students")
PROTOCOLS: tuple[Literal["clrcmd", "official"], ...] = ("clrcmd", "official")
RCMD = "RCMD"
VECTORS = (
    "chunk vectors",
    "chunk vectors and neighbours",
    "chunk vectors and neighbours, joined",
)
LIMIT = 0.3
SHARE, SHARED_LIMIT = 0.1, 0.42
"""The defaults of `align`."""
PLANS = ("AVG", "dense (all cosines)", RCMD, "RCMD + AVG", "CMD", "matching")
QUICK_PAIRS = 40
Contributions = Callable[[np.ndarray, np.ndarray], np.ndarray]


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    parser = parser_of("ists", __doc__, "folder with STSint.input.* files")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder")
    options = parser.parse_args(arguments)
    with reading("ists"):
        folder = data_folder(options.data, "ists", "train")
        data = {source: read_ists(folder, source) for source in SOURCES}
    label = "all-MiniLM-L6-v2" if options.model is None else Path(options.model).name
    encoder = TokenEncoder(options.model).fit(["a text"])
    results = Results("ists", options)
    for source, pairs in data.items():
        gold = pairs[:QUICK_PAIRS] if options.quick else pairs
        tokens = encoder.transform(
            [" ".join(w) for pair in gold for w in (pair.words1, pair.words2)]
        )
        aligned = alignments(gold, tokens)
        found = {
            method: {
                f"f1_{protocol}": score_alignments(gold, links, protocol).f1
                for protocol in PROTOCOLS
            }
            for method, links in aligned.items()
        }
        start = f"{label}: {source}: "
        for method, row in found.items():
            results.tell(start + method, row, rival=RCMD, beside=found[RCMD], seed=None)
        against = dict.fromkeys(F1_DIFFERENCE, found[RCMD]["f1_clrcmd"])
        for method, gap in differences(gold, aligned, RCMD).items():
            row = dict(zip(F1_DIFFERENCE, gap, strict=True))
            results.tell(start + method, row, rival=start + RCMD, beside=against, seed=None)
    return 0


def differences(
    gold: list[AlignedPair],
    aligned: dict[str, list[AlignedPair]],
    against: str,
    n_draws: int = N_DRAWS,
) -> dict[str, Interval]:
    """How much the F1 of each method, by CLRCMD's protocol, is ahead of that of another one."""
    sentences = [[" ".join(words) for words in (pair.words1, pair.words2)] for pair in gold]
    draws = drawn(len(gold), n_draws, groups=question_groups(sentences))
    whole = np.ones((1, len(gold)))
    f1 = {
        method: [f1_of(link_weights(gold, links, "clrcmd"), each) for each in (whole, draws)]
        for method, links in aligned.items()
    }
    value, spread = f1[against]
    return {
        method: interval(float(own[0] - value[0]), drawn_ - spread)
        for method, (own, drawn_) in f1.items()
        if method != against
    }


def f1_of(weights: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """F1 of draws, (n_draws, n_pairs), from the weights of links by pair."""
    system, found, gold, covered = (draws @ weights).T
    # 2 P R / (P + R); where no link is shared, both are 0.
    over = covered * system + found * gold
    return np.divide(2 * found * covered, over, out=np.zeros(len(over)), where=over > 0)


def alignments(gold: list[AlignedPair], tokens: Ragged) -> dict[str, list[AlignedPair]]:
    """Align every pair by every method."""
    plans: dict[str, Contributions] = {
        "AVG": lambda x1, x2: transport_plan(x1, x2, "avg").contributions,
        "dense (all cosines)": lambda x1, x2: 1 - transport_plan(x1, x2, "rcmd").cost,
        RCMD: lambda x1, x2: transport_plan(x1, x2, "rcmd").contributions,
        "RCMD + AVG": lambda x1, x2: transport_plan(x1, x2, "rcmd+avg").contributions,
        "CMD": lambda x1, x2: transport_plan(x1, x2, "cmd").contributions,
        "matching": lambda x1, x2: match(x1, x2).contributions,
    }
    found: dict[str, list[AlignedPair]] = {name: [] for name in (*plans, *VECTORS)}
    for number, pair in enumerate(gold):
        sides = (2 * number, 2 * number + 1)
        x1, x2 = (tokens[side] for side in sides)
        members1, members2 = (
            chunk_membership(chunks, word_spans(words), _spans(tokens, side))
            for chunks, words, side in zip(
                (pair.chunks1, pair.chunks2), (pair.words1, pair.words2), sides, strict=True
            )
        )
        for name, contributions in plans.items():
            scores = chunk_scores(contributions(x1, x2), members1, members2)
            found[name].append(align_chunks(pair, mutual_maxima(scores)))
        cosines = chunk_cosines(x1, x2, members1, members2)
        supported = with_neighbours(cosines, SHARE)
        best = mutual_maxima(supported, above=SHARED_LIMIT)
        joined = joined_chunks(x1, x2, members1, members2, supported, best, above=SHARED_LIMIT)
        aligned = (mutual_maxima(cosines, above=LIMIT), best, [*best, *joined])
        for name, links in zip(VECTORS, aligned, strict=True):
            found[name].append(align_chunks(pair, links))
    return found


def _spans(tokens: Ragged, text: int) -> Any:
    spans: Any = tokens.spans
    return spans[tokens.starts[text] : tokens.starts[text + 1]]


if __name__ == "__main__":
    sys.exit(main())

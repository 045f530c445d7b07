"""Origin: its rows on the sample, the ablations of the paper, its cost, and the whole test file."""

from __future__ import annotations

import itertools
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.quora import pair_cosines
from benchmarks.support.bootstrap import spearman
from benchmarks.support.context_bench import SAMPLE, SEED, Bench
from benchmarks.support.context_terms import ONES, SampleTerms

ORIGIN = "Origin from scratch"
SIZES = (20, 50, 100, 200, 500, 1000)
WITHOUT = {
    "discriminative": (0.0, 1.0, 1.0, 1.0),
    "sentence": (1.0, 0.0, 1.0, 1.0),
    "left context": (1.0, 1.0, 0.0, 1.0),
    "right context": (1.0, 1.0, 1.0, 0.0),
    "both contexts": (1.0, 1.0, 0.0, 0.0),
}
ALONE = {
    "discriminative": (1.0, 0.0, 0.0, 0.0),
    "sentence": (0.0, 1.0, 0.0, 0.0),
    "both contexts": (0.0, 0.0, 1.0, 1.0),
}
CENTRINGS = {"": "whitened", ", centred": "contexts", ", raw": "raw"}
N_RANDOM = 3
"""Draws of random contexts."""


def measure_origin(bench: Bench) -> None:
    """Measure the sample: raw and centred, and next to TF-IDF of characters."""
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), max_features=200_000)
    corpus = bench.corpus
    letters.fit(corpus.sentences)
    rival = f"{SAMPLE}TF-IDF of characters"
    bench.tell_row(rival, pair_cosines(letters, bench.sample.pairs))
    found = spearman(pair_cosines(letters, bench.test.pairs), bench.test.scores)
    bench.tell(rival, "STS-B", found)
    model, terms = bench.origin(), _sample_terms(bench)
    ways = {"": model.weights}
    if model.generators_:
        ways |= {", λ = 1": ONES} | {f", {which} alone": each for which, each in ALONE.items()}
    for (which, weights), (kind, centre) in itertools.product(ways.items(), CENTRINGS.items()):
        row = f"{SAMPLE}{ORIGIN}{which}{kind}"
        bench.tell_row(row, terms.similarity(weights, centre=centre))
    fixed = f"{SAMPLE}{ORIGIN}, scores in the fixed set"
    bench.tell_row(fixed, pair_cosines(model, bench.sample.pairs))
    _tell_cost(bench, f"{SAMPLE}{ORIGIN}", terms)
    bench.tell_lead(f"{SAMPLE}{ORIGIN}", rival)


def measure_sizes(bench: Bench) -> None:
    """Measure Table 7: the first so many contexts of each sentence."""
    model, weights = bench.origin(), bench.origin().weights
    terms = bench.terms(model, "origin", bench.sample, bench.size, weights=weights)
    for size in [size for size in (*SIZES, terms.size) if size <= terms.size]:
        found = terms.similarity(weights, size=size)
        bench.tell(f"7: {size} contexts", "sample", spearman(found, bench.sample.scores), seed=SEED)
        if size == terms.size:
            return


def measure_terms(bench: Bench) -> None:
    """Measure Table 9: terms of Eq. 3 left out, in the same contexts, and terms alone."""
    terms = _sample_terms(bench)
    bench.tell_row(f"9: {ORIGIN}", terms.similarity())
    for name, weights in WITHOUT.items():
        bench.tell_row(f"9: without {name}", terms.similarity(weights), rival=f"9: {ORIGIN}")
    for name, weights in ALONE.items():
        bench.tell_row(f"9: {name} alone", terms.similarity(weights), rival=f"9: {ORIGIN}")


def measure_choice(bench: Bench) -> None:
    """Measure Section 5.4: contexts at random, and without diversity."""
    model, size = bench.origin(), bench.size
    weights = model.weights
    chosen = _sample_terms(bench)
    for kind, centre in CENTRINGS.items():
        bench.tell_row(f"5.4: two-step choice{kind}", chosen.similarity(weights, centre=centre))

    def alike(texts: list[str], n: int) -> list[NDArray[np.int64]]:
        model.set_params(diverse=False)
        try:
            return model.contexts_of(texts, n)
        finally:
            model.set_params(diverse=True)

    ways: dict[str, Any] = {
        "without diversity": alike,
    }
    for seed in range(1 if bench.quick else N_RANDOM):
        ways[f"random contexts, draw {seed + 1}"] = _at_random(model, seed)
    for way, choose in ways.items():
        terms = bench.terms(
            model, f"origin, {way}", bench.sample, size, choose=choose, weights=weights
        )
        for kind, centre in CENTRINGS.items():
            found = terms.similarity(weights, centre=centre)
            bench.tell_row(f"5.4: {way}{kind}", found, rival=f"5.4: two-step choice{kind}")


def measure_whole(bench: Bench) -> None:
    """Measure the whole test file: λ = 1, raw too, and λ of the rows to choose by."""
    size = bench.options.contexts or (12 if bench.quick else 500)
    model = bench.origin()
    terms = bench.terms(model, "origin", bench.test, size, weights=model.weights)
    case = f"whole: {ORIGIN}, {terms.size} contexts"
    for kind, found in {
        "": terms.similarity(model.weights),
        ", centred": terms.similarity(model.weights, centre="contexts"),
        ", raw": terms.similarity(model.weights, centre="raw"),
    }.items():
        bench.tell(f"{case}{kind}", "STS-B", spearman(found, bench.test.scores))
    _tell_cost(bench, case, terms)


def _tell_cost(bench: Bench, case: str, terms: SampleTerms) -> None:
    n = int((~np.isnan(terms.terms[..., 0])).sum())
    bench.tell(case, "scorings", n)
    bench.tell(case, "seconds", terms.seconds, "s")


def _sample_terms(bench: Bench) -> SampleTerms:
    return bench.terms(bench.origin(), "origin", bench.sample, bench.size)


def _at_random(model: Any, seed: int) -> Any:
    """Contexts at random, those of a text always the same."""
    centres = model.corpus_.centres()

    def drawn(text: str, n: int) -> NDArray[np.int64]:
        rng = np.random.default_rng([seed, crc32(text.encode())])
        return rng.choice(centres, min(n, len(centres)), replace=False)

    return lambda texts, n: [drawn(text, n) for text in texts]

"""Origin: its rows on the sample, the ablations of the paper, its cost, and the whole test file."""

from __future__ import annotations

import itertools
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals.sentence_vectors import cosine_of
from benchmarks.support.bootstrap import spearman
from benchmarks.support.context_bench import SAMPLE, SEED, Bench, Clock, whole_score
from benchmarks.support.context_terms import ONES, SampleTerms, tuned_weights
from estimators import SentenceEncoder
from estimators.contexts import shared_copy

ORIGIN = "Origin from scratch"
PRETRAINED = "Origin from MiniLM, which saw NLI"
SIZES = (20, 50, 100, 200, 500, 1000)
SHARES = (0.125, 0.25, 0.5, 1.0)
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
DISCRIMINATORS = {
    "three maps of spelling": {"reader": "maps"},
    "a bag beside spelling": {"reader": "bag", "discriminator_seconds": 150},
    "a BiLSTM beside spelling": {"reader": "lstm", "discriminator_seconds": 600},
    "a BiLSTM alone": {"reader": "lstm", "lexical": False, "discriminator_seconds": 600},
    "a bag in Eq. 1 as printed": {
        **{"reader": "bag", "interaction": "concatenation", "lexical": False},
        **{"discriminator_seconds": 60},
    },
}
"""What discriminators learn beside the default's."""
CENTRINGS = {"": "whitened", ", centred": "contexts", ", raw": "raw"}
N_TUNED = 200
"""Rows to choose by on which λ is chosen: generators take seconds for each."""
SHAPES = {"two sentences a side": {"sides": 2}, "chunks of 30 sentences": {"chunk_length": 30}}
SHARE_PRETRAINED = 0.1
"""Of the documents that a pretrained encoder reads: it takes minutes for each tenth."""
N_WITH_GENERATOR, N_CONTEXTS_WITH_GENERATOR = 60, 20
"""Pairs and contexts of each sentence where priors are compared beside a generator."""
N_RANDOM = 3
"""Draws of random contexts."""
N_TIMED, N_ALONE = 8, 60
"""Sentences scored in batches, and scorings made one at a time."""


def measure_origin(bench: Bench) -> None:
    """Measure the sample: raw and centred, λ = 1 and chosen on the rows to choose by."""
    _measure_rows(bench, ORIGIN, bench.origin())


def measure_pretrained(bench: Bench) -> None:
    """Measure the same with frozen vectors of MiniLM, on a tenth of the documents."""
    documents = _share_of(bench.raw_documents(), SHARE_PRETRAINED)
    model = bench.context_model("pretrained", documents, encoder=SentenceEncoder(), generator=None)
    _measure_rows(bench, PRETRAINED, model, name="pretrained")


def measure_discriminators(bench: Bench) -> None:
    """Measure discriminators that learn more, and Eq. 1 as printed; none has generators.

    Eq. 1 ranks contexts alike for all sentences.
    """
    rival = f"eq1: {ORIGIN}, discriminative alone"
    for name, changes in {ORIGIN: {}, **DISCRIMINATORS}.items():
        given = {"generator": None, **changes}
        if bench.quick:
            given.pop("discriminator_seconds", None)
        model = bench.context_model("discriminators", **given)
        terms = bench.terms(model, name, bench.sample, bench.size)
        choice = bench.terms(model, name, bench.choice, bench.size)
        case = rival if name == ORIGIN else f"eq1: {name}"
        for kind, centre in CENTRINGS.items():
            found = terms.similarity(ALONE["discriminative"], centre=centre)
            beside = None if case == rival else rival + kind
            bench.tell_row(case + kind, found, rival=beside)
            value = whole_score(choice.similarity(centre=centre), bench.choice)
            bench.tell(case + kind, "choice", value)
        if model.scores_:
            bench.tell(case, "held_out_loss", model.scores_[-1][1])


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


def measure_prior(bench: Bench) -> None:
    """Measure the first term of Eq. 3 by both priors, alone and beside those of a generator."""
    documents = _share_of(bench.raw_documents(), 1 if bench.quick else SHARE_PRETRAINED)
    trained = {} if bench.quick else {"generator": "tiny", "generator_seconds": 150.0}
    shapes: dict[str, tuple[dict[str, Any], Any, int]] = {
        "discriminator": ({"generator": None}, bench.choice, bench.size),
        "and a tiny generator": (
            {**trained, "weights": ONES},
            bench.choice.first(N_WITH_GENERATOR),
            min(N_CONTEXTS_WITH_GENERATOR, bench.size),
        ),
    }
    for name, (changes, rows, size) in shapes.items():
        metric = "choice" if rows is bench.choice else "choice_60"
        fitted = bench.context_model("prior", documents, **changes)
        for prior in ("corpus", "training"):
            model = shared_copy(fitted).set_params(prior=prior)
            label = f"prior {prior}, {name}"
            terms = bench.terms(model, label, rows, size, weights=ONES)
            for kind, centre in CENTRINGS.items():
                value = whole_score(terms.similarity(ONES, centre=centre), rows)
                bench.tell(f"prior: {prior}, {name}{kind}", metric, value)


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
        "discriminator over all, no retrieval": _by(model, "discriminator"),
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


def measure_training_size(bench: Bench) -> None:
    """Measure Table 6: models of a share of the documents."""
    documents = bench.raw_documents()
    for share in SHARES[-2:] if bench.quick else SHARES:
        if share == 1:
            model, name = bench.origin(), "origin"
        else:
            name = f"share {share}"
            model = bench.context_model(name, _share_of(documents, share), generator=None)
        words = sum(
            len(text.split()) for text in model.corpus_.texts(np.arange(model.corpus_.n_sentences))
        )
        weights = model.weights
        terms = bench.terms(model, name, bench.sample, bench.size, weights=weights)
        case = f"6: {100 * share:g} % of the documents"
        bench.tell(case, "words", words)
        bench.tell_row(case, terms.similarity(weights))


def measure_sides(bench: Bench) -> None:
    """Measure contexts of more sentences on each side, and other lengths of chunks."""
    row = f"sides: {ORIGIN}"
    bench.tell_row(row, _sample_terms(bench).similarity(bench.origin().weights))
    for name, changes in SHAPES.items():
        model = bench.context_model(name, generator=None, **changes)
        terms = bench.terms(model, name, bench.sample, bench.size, weights=model.weights)
        bench.tell_row(f"sides: {name}", terms.similarity(model.weights), rival=row)


def measure_perplexity(bench: Bench) -> None:
    """Measure the generator on held-out documents, beside a unigram model."""
    for name, value in bench.origin().perplexities_.items():
        bench.tell(f"perplexity: {name}", "perplexity", value)


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


def measure_scoring_speed(bench: Bench) -> None:
    """Time a sentence against |C| contexts in batches, and one context at a time."""
    model = shared_copy(bench.origin()).set_params(weights=ONES)
    size = min(500, len(model.contexts_))
    contexts = model.contexts_of(bench.sample.pairs[:1, 0].tolist(), size)[0]
    texts = bench.sample.pairs[:N_TIMED, 1].tolist()
    model.terms(texts[:1], contexts)
    clock = Clock()
    for text in texts:
        model.terms([text], contexts)
    batched = len(texts) * len(contexts) / clock.seconds
    clock = Clock()
    for context in contexts[:N_ALONE]:
        model.terms(texts[:1], [context])
    alone = len(contexts[:N_ALONE]) / clock.seconds
    case = f"speed: a sentence in {len(contexts)} contexts"
    bench.tell(case, "scorings_a_second", batched)
    bench.tell(f"{case}, one at a time", "scorings_a_second", alone)
    bench.tell(case, "times_as_fast", batched / alone, rival=f"{case}, one at a time")


def _measure_rows(bench: Bench, case: str, model: Any, name: str = "origin") -> None:
    first = model.weights
    plain = bench.terms(model, name, bench.choice, bench.size, weights=first)
    chosen_on = bench.choice.first(N_TUNED)
    terms = bench.terms(model, name, bench.sample, bench.size)
    choice = bench.terms(model, name, chosen_on, bench.size) if model.generators_ else plain
    tuned = tuned_weights(choice, chosen_on.scores) if model.generators_ else first
    print(f"{case}: chosen λ = {tuned}; λ = 1 is {ONES}")
    ways = {"": first}
    if model.generators_:
        ways |= {", λ = 1": ONES, ", λ chosen": tuned}
        ways |= {f", {which} alone": weights for which, weights in ALONE.items()}
    for (which, weights), (kind, centre) in itertools.product(ways.items(), CENTRINGS.items()):
        row = f"{SAMPLE}{case}{which}{kind}"
        bench.tell_row(row, terms.similarity(weights, centre=centre))
        if not which:
            value = whole_score(plain.similarity(weights, centre=centre), bench.choice)
            bench.tell(row, "choice", value)
        if model.generators_:
            value = whole_score(choice.similarity(weights, centre=centre), chosen_on)
            bench.tell(row, f"choice_{N_TUNED}", value)
    row = f"{SAMPLE}{case}, scores in the fixed set"
    similarity = cosine_of(model.transform)
    bench.tell_row(row, similarity(bench.sample.pairs))
    bench.tell(row, "choice", whole_score(similarity(bench.choice.pairs), bench.choice))
    _tell_cost(bench, f"{SAMPLE}{case}", terms)
    for rival in bench.kept():
        if rival.startswith(SAMPLE) and not rival.startswith(
            (f"{SAMPLE}{ORIGIN}", f"{SAMPLE}{case}")
        ):
            bench.tell_lead(f"{SAMPLE}{case}", rival)


def _tell_cost(bench: Bench, case: str, terms: SampleTerms) -> None:
    n = int((~np.isnan(terms.terms[..., 0])).sum())
    bench.tell(case, "scorings", n)
    bench.tell(case, "seconds", terms.seconds, "s")


def _sample_terms(bench: Bench) -> SampleTerms:
    return bench.terms(bench.origin(), "origin", bench.sample, bench.size)


def _share_of(documents: list[Any], share: float) -> list[Any]:
    """Draw documents, always the same; those of a smaller share are among them."""
    order = np.random.default_rng(SEED).permutation(len(documents))
    return [documents[row] for row in sorted(order[: max(1, round(share * len(documents)))])]


def _by(model: Any, strategy: str) -> Any:
    return lambda texts, n: model.contexts_of(texts, n, strategy=strategy)


def _at_random(model: Any, seed: int) -> Any:
    """Contexts at random, those of a text always the same."""
    centres = model.corpus_.centres(model.sides)

    def drawn(text: str, n: int) -> NDArray[np.int64]:
        rng = np.random.default_rng([seed, crc32(text.encode())])
        return rng.choice(centres, min(n, len(centres)), replace=False)

    return lambda texts, n: [drawn(text, n) for text in texts]

"""Surrogates of Origin: how fast, how good, and what they learn from how many pairs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.sts import read_sts_benchmark, read_sts_sets
from benchmarks.support.bootstrap import spearman
from benchmarks.support.context_bench import SAMPLE, SEED, Bench, Clock
from estimators import (
    SurrogateRegressor,
    make_encoder,
)
from estimators.contexts import ContextRegressor, harvest, read_harvest, run_counts
from film.contexts import N_RUNS, run_vectors, run_weights

SCRATCH, PRETRAINED = "Surrogate from scratch", "Surrogate from MiniLM"
MINILM = "MiniLM as it is"
N_SPEED, N_AT_ONCE = 2000, 32
SCRATCH_RATE = 3e-4
"""Learning rate of what starts from scratch."""
N_VOCABULARY = 200_000
"""Sentences that the vocabulary of an encoder from scratch is learned from."""


class Harvested(NamedTuple):
    """Rows of a harvest, those to train on and those held out."""

    pairs: NDArray[np.object_]
    scores: NDArray[np.float64]
    held: NDArray[np.object_]
    held_scores: NDArray[np.float64]

    def first(self, share: float) -> Harvested:
        """Give a share of the rows to train on."""
        n = max(2, round(share * len(self.pairs)))
        return self._replace(pairs=self.pairs[:n], scores=self.scores[:n])


def measure_speed(bench: Bench) -> None:
    """Measure Table 1: sentences per second with and without batches of like length."""
    texts = _sentences(bench, 100 if bench.quick else N_SPEED)
    model = _untrained(bench)
    model.transform(texts[:64])
    clock = Clock()
    model.transform(texts)
    sorted_speed = len(texts) / clock.seconds
    clock = Clock()
    for start in range(0, len(texts), N_AT_ONCE):
        model.transform(texts[start : start + N_AT_ONCE])
    as_given = len(texts) / clock.seconds
    bench.tell("1: as they come", "sentences_a_second", as_given)
    bench.tell("1: length batching", "sentences_a_second", sorted_speed)
    ratio = sorted_speed / as_given
    bench.tell("1: length batching", "times_as_fast", ratio, rival="1: as they come")


def measure_surrogates(bench: Bench) -> None:
    """Measure Table 2: Surrogates on the sample and the seven sets, nothing labelled."""
    rows = _harvested(bench)
    for case, model in _surrogates(bench, rows).items():
        _tell_held_out(bench, case, model, rows)
        bench.tell_row(f"{SAMPLE}{case}", model.similarity(bench.sample.pairs))
        _tell_sets(bench, f"2: {case}", model.similarity)
    starts = {f"{SCRATCH}, before training": _scratch(bench)}
    if not bench.quick:
        starts[MINILM] = None
    for case, start in starts.items():
        model = _surrogate(bench, start, epochs=0).fit(rows.pairs[:2])
        _tell_held_out(bench, case, model, rows)
        _tell_sets(bench, f"2: {case}", model.similarity)


def measure_supervised(bench: Bench) -> None:
    """Measure Table 3: STS-B train, reported on STS-B test alone."""
    if bench.quick:
        train, dev = bench.choice, bench.choice
    else:
        folder = bench.data / "sts" / "STSBenchmark"
        train, dev = (read_sts_benchmark(folder / f"sts-{part}.csv") for part in ("train", "dev"))
    epochs = 0.5 if bench.quick else bench.options.epochs
    for case, folder in {**_folders(bench), MINILM: _start(bench)}.items():
        model = _surrogate(bench, folder, score_range=(0, 5), epochs=epochs)
        model.fit(train.pairs, train.scores, eval_set=(dev.pairs, dev.scores))
        found = spearman(model.similarity(bench.test.pairs), bench.test.scores)
        bench.tell(f"3: {case}, STS-B train", "STS-B", found)


def _harvested(bench: Bench) -> Harvested:
    """Pairs scored by Origin: those of the file given, or ones that are scored here, once a run."""
    path = Path(bench.options.harvest or bench.work / "harvest.csv")
    if not (bench.options.harvest or bench.harvest_done):
        regressor = ContextRegressor(bench.origin(), n_contexts=bench.size).fit([("a b", "b c")])
        found = harvest(
            regressor,
            _sentences(bench, 300 if bench.quick else bench.options.sentences),
            path,
            n_pairs=300 if bench.quick else bench.options.pairs,
            seconds=bench.options.seconds,
            exclude=frozenset() if bench.quick else bench.excluded,
            random_state=SEED,
            verbose=not bench.quick,
        )
        bench.harvest_done = True
        print(f"{path}: {found}")
    rows = read_harvest(path)
    is_train = rows.splits == "train"
    return Harvested(
        rows.pairs[is_train], rows.scores[is_train], rows.pairs[~is_train], rows.scores[~is_train]
    )


def _surrogates(bench: Bench, rows: Harvested) -> dict[str, Any]:
    """Surrogates trained on a harvest, or read where an earlier run has trained them."""
    found = {}
    for case, start in ((SCRATCH, _scratch(bench)), (PRETRAINED, _start(bench))):
        folder = bench.work / "models" / case.replace(" ", "_")
        if folder.exists():
            found[case] = SurrogateRegressor.load(folder)
            continue
        clock = Clock()
        model = _surrogate(bench, start, epochs=_epochs(bench), **_rate(bench, start))
        model.fit(rows.pairs, rows.scores)
        bench.tell(f"2: {case}", "seconds", clock.seconds, "s")
        model.save(folder)
        found[case] = model
    return found


def _folders(bench: Bench) -> dict[str, str]:
    """Folders of the trained surrogates."""
    _surrogates(bench, _harvested(bench))
    return {
        case: str(bench.work / "models" / case.replace(" ", "_")) for case in (SCRATCH, PRETRAINED)
    }


def _surrogate(bench: Bench, folder: str | None, **settings: Any) -> SurrogateRegressor:
    # A quick run has few steps, so they are long.
    shared = {"learning_rate": 3e-3} if bench.quick else {}
    shared |= {"random_state": SEED, "verbose": not bench.quick}
    return SurrogateRegressor(folder, **shared, **settings)


def _rate(bench: Bench, start: str | None) -> dict[str, float]:
    """Learning rate: what is pretrained keeps its default."""
    return {"learning_rate": SCRATCH_RATE} if start is not None and not bench.quick else {}


def _untrained(bench: Bench) -> SurrogateRegressor:
    model = _surrogate(bench, _start(bench), epochs=0, batch_size=N_AT_ONCE)
    return model.fit([("a", "b")])


def _epochs(bench: Bench) -> float:
    return 1 if bench.quick else bench.options.epochs


def _scratch(bench: Bench) -> str:
    """Folder of an encoder from scratch: its vocabulary is of the corpus, its words are spelled."""
    folder = bench.work / "models" / "random_encoder"
    if not folder.exists():
        texts = _sentences(bench, N_VOCABULARY)
        sizes = {"width": 384, "layers": 1, "heads": 6, "vocabulary_size": 16_000}
        if bench.quick:
            sizes = {"width": 16, "layers": 1, "heads": 2, "vocabulary_size": 400}
            texts += bench.choice.pairs.ravel().tolist() + bench.test.pairs.ravel().tolist()
        settings = {"max_length": 256, "random_state": SEED, **sizes}
        with tempfile.TemporaryDirectory() as scratch:
            plain = make_encoder(texts, Path(scratch) / "plain", **settings)
            pieces = (plain / "vocab.txt").read_text(encoding="utf-8").split("\n")
        vectors = _word_vectors(texts, pieces, sizes["width"])
        make_encoder(texts, folder, vectors=vectors, **settings)
    return str(folder)


def _word_vectors(
    texts: list[str], pieces: list[str], width: int
) -> dict[str, NDArray[np.float32]]:
    """Vectors of pieces of words by their spelling, the rarer, the longer."""
    weights = run_weights(np.bincount(run_counts(texts).indices, minlength=N_RUNS), len(texts))
    words = [piece.removeprefix("##") for piece in pieces if not piece.startswith("[")]
    names = [piece for piece in pieces if not piece.startswith("[")]
    vectors = run_counts(words).multiply(weights[np.newaxis]) @ run_vectors(width, SEED)
    return dict(zip(names, vectors.toarray(), strict=True))


def _start(bench: Bench) -> str | None:
    """MiniLM; in a quick run the random encoder."""
    return _scratch(bench) if bench.quick else None


def _sentences(bench: Bench, n: int) -> list[str]:
    """Sentences of the corpus, at random and always the same."""
    corpus = bench.corpus
    rows = np.random.default_rng(SEED).permutation(corpus.n_sentences)[:n]
    return corpus.texts(rows)


def _tell_held_out(bench: Bench, case: str, model: Any, rows: Harvested) -> None:
    found = model.similarity(rows.held)
    bench.tell(f"2: {case}", "held_out", spearman(found, rows.held_scores))
    pearson = float(np.corrcoef(found, rows.held_scores)[0, 1])
    bench.tell(f"2: {case}", "held_out_pearson", 100 * pearson)


def _tell_sets(bench: Bench, case: str, similarity: Any) -> None:
    if bench.quick:
        bench.tell(case, "STS-B", spearman(similarity(bench.test.pairs), bench.test.scores))
        return
    values = []
    for name, data in read_sts_sets(bench.data / "sts").items():
        values.append(spearman(similarity(data.pairs), data.scores))
        bench.tell(case, name, values[-1])
    bench.tell(case, "mean", float(np.mean(values)))

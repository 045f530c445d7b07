"""Build the parts of a model of contexts, each from earlier parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from estimators.contexts.parts.discriminator_training import (
    BATCHES,
    HELD_OUT_BATCHES,
    batches_of,
    compared,
    fit_discriminator,
)
from estimators.contexts.parts.generator_training import (
    GeneratorTask,
    Learned,
    token_counts,
    train_generator,
)
from estimators.contexts.parts.text_counts import hashed_counts, run_counts
from estimators.inputs import cloned, progress_bar
from film.contexts import (
    N_RUNS,
    SentenceCorpus,
    diverse_contexts,
    encode_texts,
    run_vectors,
    run_weights,
    spelling_states,
    train_vocabulary,
    vocabulary_size,
)

VOCABULARY_SIZE = 8000
MAX_LENGTH = 48
"""Maximum number of tokens per sentence; longer sentences are cut."""
SPELLING_WIDTH = 512
"""Width of the vectors of spelling; the error of cosines is about 1/√512."""
HELD_OUT = 0.02
"""Share of the corpus, in whole documents, held out to evaluate training."""
ROWS_OF_BLOCK = 8192


class Parts(NamedTuple):
    """What a model of contexts has learned."""

    settings: dict[str, Any]
    """Values for JSON: names of documents, seed, and tokenizer and settings of the generator."""
    arrays: dict[str, np.ndarray]
    """Sentences, tables and weights by name; names of weights begin with their network's."""
    attributes: dict[str, Any]
    """Fitted attributes of the model."""


def build(model: Any, corpus: SentenceCorpus, device: str, seed: int) -> Parts:
    """Make all parts of a `ContextModel` with valid parameters.

    Raises
    ------
    ValueError
        If the corpus has too few contexts.
    """
    attributes: dict[str, Any] = {"contexts_": _fixed_set(model, corpus, seed)}
    settings = {"seed": seed, "names": corpus.names, "chunk_length": corpus.chunk_length}
    text = "\n".join(corpus.sentences).encode()
    arrays = {"text": np.frombuffer(text, dtype=np.uint8), "documents": corpus.documents}
    arrays |= {"codes": corpus.codes, **_retrieval(corpus, model.verbose)}
    attributes["encoder_"] = None
    if model.encoder is None:
        arrays["spelling.weights"] = _spelling_weights(corpus, model.verbose)
        encode: Any = Spelling(arrays["spelling.weights"], seed)
    else:
        encode = cloned("encoder", model.encoder).fit(corpus.sentences)
        attributes["encoder_"] = encode
    blocks = _blocks(model.verbose, "encode the corpus", corpus.n_sentences)
    states = _joined(corpus.n_sentences, (encoded(encode, corpus.texts(rows)) for rows in blocks))
    learned_from, held = split_centres(corpus.centres(), corpus.documents, seed)
    data = states, corpus.documents, corpus.codes
    batches = batches_of(learned_from, corpus.documents, seed, BATCHES)
    network, losses = fit_discriminator(compared(*data, batches))
    scores = []
    if len(held):
        test = compared(*data, batches_of(held, corpus.documents, seed, HELD_OUT_BATCHES))
        scores = [] if test is None else [(1, test.loss(*network)[0])]
    attributes |= {"loss_curve_": losses, "scores_": scores}
    centres = corpus.centres()
    blocks = _blocks(model.verbose, "contexts", len(centres))
    sides = ((states[centres[rows] + k].astype(np.float32) for k in (-1, 1)) for rows in blocks)
    arrays["contexts"] = _joined(len(centres), (network.contexts(*both) for both in sides))
    arrays["discriminator.root_gain"] = np.array([network.gain**0.5], dtype=np.float32)
    arrays["discriminator.bias"] = np.array([network.bias], dtype=np.float32)
    run, perplexities = Learned([], [], True), {}
    if model.generator is not None:
        run, perplexities = _generator(model, corpus, settings, arrays, device)
    attributes |= {"generator_loss_curve_": run.losses, "generator_scores_": run.scores}
    attributes |= {"perplexities_": perplexities, "is_complete_": run.is_complete}
    return Parts(settings, arrays, attributes)


def _fixed_set(model: Any, corpus: SentenceCorpus, seed: int) -> np.ndarray:
    """Choose the contexts of the fixed set."""
    n = len(corpus.centres())
    if n < 2:
        raise ValueError(
            f"documents hold {corpus.n_sentences} sentences in {corpus.n_documents} documents, "
            f"and {n} of the sentences have a neighbour on each side, which is too few to learn "
            "from; give longer documents"
        )
    try:
        return diverse_contexts(corpus, int(model.n_contexts), random_state=seed)
    except ValueError as error:
        raise ValueError(
            f"n_contexts={model.n_contexts} is more than there are ({error}); give n_contexts= "
            "a lower number, or more documents"
        ) from error


def _retrieval(corpus: SentenceCorpus, verbose: int) -> dict[str, np.ndarray]:
    """Return TF-IDF of words and bigrams of all chunks."""
    with progress_bar(verbose, "retrieval"):
        counts = hashed_counts(corpus.chunk_texts())
        weigher = TfidfTransformer().fit(counts)
        # A column without a chunk would have the largest weight.
        idf = np.where(counts.getnnz(axis=0) > 0, weigher.idf_, 0).astype(np.float32)
        points: Any = weigher.transform(counts, copy=False)
    kinds = {"data": np.float32, "indices": np.int32, "indptr": np.int64}
    arrays = {name: getattr(points, name).astype(kind) for name, kind in kinds.items()}
    return {f"retrieval.{name}": each for name, each in (arrays | {"idf": idf}).items()}


def _spelling_weights(corpus: SentenceCorpus, verbose: int) -> np.ndarray:
    """Return weights of character n-grams from the corpus."""
    frequencies = np.zeros(N_RUNS, dtype=np.int64)
    for rows in _blocks(verbose, "spelling", corpus.n_sentences):
        counts = run_counts(corpus.texts(rows))
        frequencies += np.bincount(counts.indices, minlength=N_RUNS)
    return run_weights(frequencies, corpus.n_sentences)


def _generator(
    model: Any,
    corpus: SentenceCorpus,
    settings: dict[str, Any],
    arrays: dict[str, np.ndarray],
    device: str,
) -> tuple[Learned, dict[str, float]]:
    """Train the generator; add it to settings and arrays; return its run and perplexities."""
    seed = settings["seed"]
    with progress_bar(model.verbose, "vocabulary"):
        tokenizer = train_vocabulary(corpus.sentences, VOCABULARY_SIZE)
        table = encode_texts(tokenizer, corpus.sentences, MAX_LENGTH)
    size = model.generator if isinstance(model.generator, str) else list(map(int, model.generator))
    given = {"size": size, "n_tokens": vocabulary_size(tokenizer), "max_length": MAX_LENGTH}
    settings |= {"tokenizer": tokenizer, "max_length": MAX_LENGTH, "generator": given}
    # The same documents are held out as for the discriminator.
    learned_from, held = split_centres(corpus.centres(), corpus.documents, seed)
    counts = token_counts(table, learned_from, given["n_tokens"])
    network = generator_of(given, device, counts=counts, seed=seed)
    task, test = (GeneratorTask(network, table, rows, seed=seed) for rows in (learned_from, held))
    test = test if len(held) else None
    limits = float(model.generator_epochs), model.generator_seconds
    run = train_generator(task, test, *limits, model.verbose)
    for name, value in network.state_dict().items():
        arrays[f"generator.{name}"] = value.cpu().numpy().copy()
    return run, {} if test is None else test.perplexities(counts)


class Spelling:
    """A transformer from texts to vectors by the spelling of their words.

    Parameters
    ----------
    weights : ndarray of float32, shape (N_RUNS,)
        Weights of character n-grams.
    seed : int
        Seeds their vectors.
    """

    def __init__(self, weights: np.ndarray, seed: int) -> None:
        self.weights, self.vectors = weights, run_vectors(SPELLING_WIDTH, seed)

    def transform(self, texts: Iterable[str]) -> np.ndarray:
        """Return vectors of texts, (n, SPELLING_WIDTH)."""
        return spelling_states(run_counts(texts), self.weights, self.vectors)


def encoded(encoder: Any, texts: list[str]) -> np.ndarray:
    """Return the vectors of texts by an encoder, of length 1, as an array of float32.

    Raises
    ------
    ValueError
        If the encoder does not return a finite vector for each.
    """
    found = encoder.transform(texts)
    found = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float32)
    if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
        raise ValueError(
            f"encoder={encoder!r} must give one finite vector per text, got shape {found.shape}"
        )
    units: Any = normalize(found)
    return units


def generator_of(
    settings: dict[str, Any], device: str, *, counts: Any = None, seed: int = 0
) -> Any:
    """Return an untrained generator with some settings."""
    import torch

    from film.contexts import Generator

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        found = Generator(
            settings["n_tokens"], settings["size"], max_length=settings["max_length"],
            counts=counts,
        )  # fmt: skip
    return found.requires_grad_(False).to(device).eval()


def split_centres(
    centres: np.ndarray, documents: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Hold out whole documents with at least a share `HELD_OUT` of the centres.

    The last document is never held out, so a single document is used for training.
    """
    of_centre = documents[centres]
    numbers, counts = np.unique(of_centre, return_counts=True)
    order = np.random.default_rng([seed, 1]).permutation(len(numbers))
    until = np.cumsum(counts[order]) - counts[order] < HELD_OUT * len(centres)
    is_held = np.isin(of_centre, numbers[order[until]][: len(numbers) - 1])
    return centres[~is_held], centres[is_held]


def _joined(n: int, blocks: Iterable[np.ndarray]) -> np.ndarray:
    """Join n rows that come in blocks, in half precision."""
    found, start = np.empty((0, 0), dtype=np.float16), 0
    for block in blocks:
        if not start:
            found = np.empty((n, block.shape[1]), dtype=np.float16)
        found[start : start + len(block)] = block
        start += len(block)
    return found


def _blocks(verbose: int, title: str, n: int) -> Iterator[np.ndarray]:
    """Yield rows of n sentences or contexts, block by block, and show progress."""
    with progress_bar(verbose, title) as advance:
        for start in range(0, n, ROWS_OF_BLOCK):
            stop = min(start + ROWS_OF_BLOCK, n)
            yield np.arange(start, stop)
            if advance is not None:
                advance(f"{stop} of {n}")

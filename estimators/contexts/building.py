"""Build the parts of a model of contexts, each from earlier parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

from estimators.contexts.network_training import (
    DiscriminatorTask,
    GeneratorTask,
    fit_gain,
    token_counts,
    train_network,
)
from estimators.inputs import cloned, progress_bar, word_gram_counts
from film.contexts import (
    N_RUNS,
    Likeness,
    SentenceCorpus,
    diverse_contexts,
    encode_texts,
    run_vectors,
    run_weights,
    spelling_states,
    train_vocabulary,
    vocabulary_size,
)

N_FEATURES = 2**20
"""Number of hash values of words and bigrams; a table of their names would need far more memory
than the rest of retrieval."""
N_GRAMS = 2, 5
"""Lengths of runs, including the marks of a word's ends."""
_WORD = re.compile(r"\w+")


def hashed_counts(texts: Iterable[str]) -> Any:
    """Count words and bigrams of texts, in hashed columns."""
    no_norm: Any = None
    vectorizer = HashingVectorizer(
        ngram_range=(1, 2),
        token_pattern=r"(?u)\b\w+\b",
        n_features=N_FEATURES,
        alternate_sign=False,
        norm=no_norm,
    )
    return vectorizer.transform(texts)


def run_counts(texts: Iterable[str]) -> sp.csr_array:
    """Count the character n-grams of length 2 to 5 in the words of texts.

    Words are lower-cased, without punctuation. The start and end of a word count as characters.

    Parameters
    ----------
    texts : iterable of str
        n of them.

    Returns
    -------
    counts : csr array of float32, shape (n, N_RUNS)
        The column of a run is its hash.

    Examples
    --------
    >>> from estimators.contexts import run_counts
    >>> int(run_counts(["The cat!"]).sum())
    20
    """
    no_norm: Any = None
    float32: Any = np.float32
    vectorizer = HashingVectorizer(
        analyzer="char_wb",
        ngram_range=N_GRAMS,
        n_features=N_RUNS,
        norm=no_norm,
        alternate_sign=False,
        preprocessor=_words,
        dtype=float32,
    )
    return sp.csr_array(word_gram_counts(vectorizer, list(texts)))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


VOCABULARY_SIZE = 8000
MAX_LENGTH = 48
"""Maximum number of tokens per sentence; longer sentences are cut."""
SPELLING_WIDTH = 512
"""Width of the vectors of spelling; the error of cosines is about 1/√512."""
GENERATOR_LEARNING_RATE = 3e-3
HELD_OUT = 0.02
"""Share of the corpus, in whole documents, held out to evaluate training."""
ROWS_OF_BLOCK = 8192


class Parts(NamedTuple):
    """What a model of contexts has learned."""

    settings: dict[str, Any]
    """Values for JSON: names of documents, tokenizer, seed and settings of networks."""
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
    fixed_set = _fixed_set(model, corpus, seed)
    settings: dict[str, Any] = {"seed": seed}
    settings |= {"names": corpus.names, "chunk_length": corpus.chunk_length}
    text = "\n".join(corpus.sentences).encode()
    arrays = {"text": np.frombuffer(text, dtype=np.uint8), "documents": corpus.documents}
    arrays |= {"codes": corpus.codes, **_retrieval(corpus, model.verbose)}
    encoder = None
    if model.encoder is None:
        arrays["spelling.weights"] = _spelling_weights(corpus, model.verbose)
        encode: Any = Spelling(arrays["spelling.weights"], seed)
    else:
        encode = encoder = cloned("encoder", model.encoder).fit(corpus.sentences)
    blocks = _blocks(model.verbose, "encode the corpus", corpus.n_sentences)
    fixed = _joined(corpus.n_sentences, (encoded(encode, corpus.texts(rows)) for rows in blocks))
    attributes = {"contexts_": fixed_set, "encoder_": encoder, "perplexities_": {}}
    attributes |= {"generator_loss_curve_": [], "generator_scores_": []}
    run, weights = _discriminator(corpus, fixed, seed, model.verbose)
    arrays |= weights
    attributes |= {"loss_curve_": run.losses, "scores_": run.scores}
    attributes["is_complete_"] = run.is_complete
    if model.generator is not None:
        with progress_bar(model.verbose, "vocabulary"):
            tokenizer = train_vocabulary(corpus.sentences, VOCABULARY_SIZE)
            table = encode_texts(tokenizer, corpus.sentences, MAX_LENGTH)
        settings |= {"tokenizer": tokenizer, "max_length": MAX_LENGTH}
        size = model.generator
        size = size if isinstance(size, str) else [int(each) for each in size]
        n_tokens = vocabulary_size(tokenizer)
        given = {"size": size, "n_tokens": n_tokens, "max_length": MAX_LENGTH}
        settings["generator"] = given
        run, weights, perplexities = _generator(model, corpus, table, given, device, seed)
        arrays |= weights
        attributes |= {"generator_loss_curve_": run.losses, "generator_scores_": run.scores}
        attributes["perplexities_"] = perplexities
        attributes["is_complete_"] &= run.is_complete
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
            "a lower number or more documents"
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


def _discriminator(
    corpus: SentenceCorpus, fixed: np.ndarray, seed: int, verbose: int
) -> tuple[Any, dict[str, np.ndarray]]:
    """Fit the discriminator; return its run, its numbers and the vectors of all contexts."""
    centres = corpus.centres()
    task, test = (
        DiscriminatorTask(fixed, corpus.documents, corpus.codes, rows, seed)
        for rows in split_centres(centres, corpus.documents, seed)
    )
    head, run = fit_gain(task, test)
    blocks = (centres[rows] for rows in _blocks(verbose, "contexts", len(centres)))
    found = (
        head.left(fixed[rows - 1].astype(np.float32))
        + head.right(fixed[rows + 1].astype(np.float32))
        for rows in blocks
    )
    arrays = {"contexts": _joined(len(centres), found)}
    arrays["discriminator.root_gain"] = np.array(head.gain**0.5, dtype=np.float32)
    return run, arrays | {"discriminator.bias": np.array(head.bias, dtype=np.float32)}


def discriminator_of(arrays: dict[str, np.ndarray]) -> Likeness:
    """Return the discriminator of a saved model."""
    gain, bias = (arrays[f"discriminator.{name}"].item() for name in ("root_gain", "bias"))
    return Likeness(gain**2, bias)


def _generator(
    model: Any,
    corpus: SentenceCorpus,
    table: Any,
    settings: dict[str, Any],
    device: str,
    seed: int,
) -> tuple[Any, dict[str, np.ndarray], dict[str, float]]:
    """Train the generator; return its run, its weights and its perplexities."""
    # The same documents are held out as for the discriminator.
    learned_from, held = split_centres(corpus.centres(), corpus.documents, seed)
    counts = token_counts(table, learned_from, settings["n_tokens"])
    network = generator_of(settings, device, counts=counts, seed=seed)
    task, test = (GeneratorTask(network, table, rows, seed=seed) for rows in (learned_from, held))
    run = train_network(
        task, model.generator_epochs, GENERATOR_LEARNING_RATE, seed,
        evaluate=test.held_out_loss if len(held) else None, verbose=model.verbose,
    )  # fmt: skip
    perplexities = test.perplexities(counts) if len(held) else {}
    return run, arrays_of(network, "generator."), perplexities


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

    from film.contexts import Generator, Size

    size = settings["size"]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        found = Generator(
            settings["n_tokens"],
            size if isinstance(size, str) else Size(*size),
            max_length=settings["max_length"],
            # Hardly any sentence is seen twice.
            dropout=0.0,
            counts=counts,
        )
    return found.to(device).eval()


def arrays_of(network: Any, prefix: str) -> dict[str, np.ndarray]:
    """Return copies of all weights of a network, by name."""
    found = network.state_dict().items()
    return {prefix + name: value.detach().cpu().numpy().copy() for name, value in found}


def adopt_arrays(network: Any, arrays: dict[str, np.ndarray], prefix: str) -> Any:
    """Put the weights that `arrays_of` returned into a network, and return it ready for use."""
    import torch

    own = {name: each for name, each in arrays.items() if name.startswith(prefix)}
    state = {name.removeprefix(prefix): torch.tensor(each) for name, each in own.items()}
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError(f"weights do not fit the network: {str(error)[:300]}") from error
    return network.requires_grad_(False).eval()


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
    """Return blocks of n rows in all as one array in half precision."""
    found, start = np.empty((0, 0), dtype=np.float16), 0
    for block in blocks:
        if not start:
            found = np.empty((n, block.shape[1]), dtype=np.float16)
        found[start : start + len(block)] = block
        start += len(block)
    return found


def _blocks(verbose: int, title: str, n: int) -> Iterator[np.ndarray]:
    """Yield rows from 0 to n in blocks, and show progress."""
    with progress_bar(verbose, title) as advance:
        for start in range(0, n, ROWS_OF_BLOCK):
            stop = min(start + ROWS_OF_BLOCK, n)
            yield np.arange(start, stop)
            if advance is not None:
                advance(f"{stop} of {n}")

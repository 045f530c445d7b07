"""The parts of a model of contexts, made one after the other, each from those before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from estimators.contexts.parts.discriminator_training import (
    DiscriminatorTask,
    SentenceStates,
    fit_gain,
    write_context_vectors,
)
from estimators.contexts.parts.network_training import adopt_arrays, arrays_of, train_network
from estimators.contexts.parts.part_folder import PartFolder, array_writer, read_part, read_weights
from estimators.contexts.parts.recipe import Recipe
from estimators.contexts.parts.text_counts import N_FEATURES, hashed_counts, run_counts
from estimators.inputs import progress_bar
from film.contexts import (
    N_RUNS,
    IdTable,
    SentenceCorpus,
    encode_texts,
    run_vectors,
    run_weights,
    spelling_states,
    train_vocabulary,
    vocabulary_size,
    word_vectors,
)

CORPUS = "corpus"
SPELLING_WIDTH = 512
"""Of the vectors by which sentences are spelled alike: cosines are off by some 1/√512."""
ROWS_OF_BLOCK = 8192


def build_table(root: Path, corpus: SentenceCorpus, recipe: Recipe) -> str:
    """Learn a vocabulary and encode all sentences; give the part's name."""
    said = {
        "corpus": corpus.digest,
        "size": recipe.vocabulary_size,
        "max_length": recipe.max_length,
    }
    part = PartFolder(root, "vocabulary", said)
    if part.complete() is None:
        with progress_bar(recipe.verbose, "vocabulary") as advance:
            tokenizer = train_vocabulary(corpus.iterate_texts(), recipe.vocabulary_size)
            table = encode_texts(
                tokenizer,
                corpus.iterate_texts(),
                recipe.max_length,
                advance=advance and (lambda n: advance(f"{n} sentences")),
            )
        table.write(part.folder)
        part.finish({"tokenizer": tokenizer})
    return part.name


def open_table(folder: Path) -> tuple[IdTable, str]:
    """Give the tokens of all sentences, memory-mapped, and the tokenizer as JSON."""
    return IdTable.read(folder), str(read_part(folder)["said"]["tokenizer"])


def open_array(path: Path) -> np.ndarray:
    """Map an array on disk.

    Raises
    ------
    FileNotFoundError, ValueError
        If it is not there, or damaged.
    """
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is not there: fit the model again") from None
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is damaged ({error}); fit the model again") from error


def build_retrieval(root: Path, corpus: SentenceCorpus, verbose: int) -> str:
    """Weigh words and bigrams of all chunks by TF-IDF; give the part's name."""
    part = PartFolder(root, "retrieval", {"corpus": corpus.digest, "n_features": N_FEATURES})
    if part.complete() is None:
        with progress_bar(verbose, "retrieval"):
            counts = hashed_counts(corpus.chunk_texts())
            weigher = TfidfTransformer().fit(counts)
            # Columns of no chunk know nothing, and their weight would be the greatest.
            idf = np.where(counts.getnnz(axis=0) > 0, weigher.idf_, 0).astype(np.float32)
            points: Any = weigher.transform(counts, copy=False)
        arrays = {
            "idf": idf,
            "data": points.data.astype(np.float32),
            "indices": points.indices.astype(np.int32),
            "indptr": points.indptr.astype(np.int64),
        }
        part.finish({"n_chunks": corpus.n_chunks}, arrays)
    return part.name


class Spelling:
    """States of texts by the spelling of their words, as an encoder without parameters to fit.

    Parameters
    ----------
    weights : ndarray of float32, shape (n_runs,)
        Of runs of characters.
    seed : int
        Of their vectors.
    """

    def __init__(self, weights: np.ndarray, seed: int) -> None:
        self.weights, self.vectors = weights, run_vectors(SPELLING_WIDTH, seed)

    def transform(self, texts: Iterable[str]) -> np.ndarray:
        """Vectors of texts, (n, SPELLING_WIDTH)."""
        return spelling_states(run_counts(texts), self.weights, self.vectors)


def build_spelling(root: Path, corpus: SentenceCorpus, recipe: Recipe) -> str:
    """Weigh runs of characters by the sentences of the corpus; give the part's name."""
    seed = recipe.discriminator.seed
    part = PartFolder(root, "spelling", {"corpus": corpus.digest, "seed": seed})
    if part.complete() is None:
        frequencies = np.zeros(N_RUNS, dtype=np.int64)
        with progress_bar(recipe.verbose, "spelling") as advance:
            for rows in blocks(corpus.n_sentences):
                frequencies += np.bincount(run_counts(corpus.texts(rows)).indices, minlength=N_RUNS)
                if advance is not None:
                    advance(f"{rows[-1] + 1} sentences")
        part.finish({}, {"weights": run_weights(frequencies, corpus.n_sentences)})
    return part.name


def open_spelling(folder: Path) -> Spelling:
    """Give the encoder of a part."""
    return Spelling(read_weights(folder)["weights"], read_part(folder)["made_of"]["seed"])


def build_frozen_states(root: Path, corpus: SentenceCorpus, encoder: Any, recipe: Recipe) -> str:
    """Encode all sentences by a fitted encoder, block by block; give the part's name."""
    said = {"corpus": corpus.digest, "encoder": joblib.hash(encoder), "norm": "l2"}
    part = PartFolder(root, "encodings", said)
    if part.complete() is None:
        with progress_bar(recipe.verbose, "encode the corpus") as advance:
            names = []
            for rows in blocks(corpus.n_sentences):
                # A block that is whole is kept, so that an interrupted run goes on.
                path = part.folder / f"block-{rows[0]:010d}.npy"
                if not path.exists():
                    found = encoded(encoder, corpus.texts(rows)).astype(np.float16)
                    with part.file(path.name) as handle:
                        np.save(handle, found)
                names.append(path)
                if advance is not None:
                    advance(f"{rows[-1] + 1} sentences")
        width = open_array(names[0]).shape[1]
        shape = corpus.n_sentences, width
        with array_writer(part.folder / "states.npy", shape, np.float16) as states:
            for rows, path in zip(blocks(corpus.n_sentences), names, strict=True):
                states[rows[0] : rows[-1] + 1] = np.load(path)
        part.finish({"width": width})
        for path in names:
            path.unlink()
    return part.name


def encoded(encoder: Any, texts: list[str]) -> np.ndarray:
    """Vectors of texts, brought to length 1, as an array of float32.

    Raises
    ------
    ValueError
        If the encoder gives something else than a finite vector for each.
    """
    found = encoder.transform(texts)
    found = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float32)
    if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
        raise ValueError(
            f"encoder={encoder!r} must give one finite vector per text, got shape {found.shape}"
        )
    units: Any = normalize(found)
    return units


def build_discriminator(
    root: Path,
    corpus: SentenceCorpus,
    table: IdTable,
    tokenizer: str,
    frozen: Any,
    recipe: Recipe,
    made_of: list[str],
) -> tuple[str, bool]:
    """Train the discriminator and compute the vectors of all contexts.

    Returns
    -------
    name : str
        Of the part.
    is_complete : bool
        False where training was interrupted.
    """
    plan, reads_tokens = recipe.discriminator, recipe.reader in ("bag", "lstm")
    said = {
        "from": made_of,
        "plan": vars(plan),
        "sides": recipe.sides,
        "reader": recipe.reader,
        "width": recipe.width,
        "interaction": recipe.interaction,
        "batch_size": recipe.batch_size,
        "held_out": recipe.held_out,
        "word_vectors": recipe.word_vectors and reads_tokens,
        "n_fixed": 0 if frozen is None else int(frozen.shape[1]),
        "n_tokens": vocabulary_size(tokenizer) if reads_tokens else None,
    }
    part = PartFolder(root, "discriminator", said)
    if (found := part.complete()) is not None:
        return part.name, found["is_complete"]
    centres = corpus.centres(recipe.sides)
    documents = np.asarray(corpus.documents, dtype=np.int64)
    learned_from, held = split_centres(centres, documents, recipe.held_out, plan.seed)
    vectors = None
    if said["word_vectors"]:
        with progress_bar(recipe.verbose, "word vectors"):
            vectors = start_vectors(table, said["n_tokens"], recipe.width, plan.seed)
    rarity = token_rarity(table, said["n_tokens"]) if recipe.reader == "bag" else None
    network = discriminator_of(said, recipe.device, vectors=vectors, weights=rarity, seed=plan.seed)
    states = SentenceStates(network, table if reads_tokens else None, frozen, recipe.device)
    codes = text_codes(corpus)
    settings = {"sides": recipe.sides, "batch_size": recipe.batch_size, "seed": plan.seed}
    task = DiscriminatorTask(states, learned_from, documents, codes, **settings)
    test = DiscriminatorTask(states, held, documents, codes, **settings)
    judge = test.held_out_loss if len(held) else None
    if recipe.reader == "fixed":
        run = fit_gain(task, judge)
    else:
        run = train_network(
            network,
            task.batches,
            task.loss,
            plan,
            judge=judge,
            checkpoint=part.checkpoint() if recipe.keeps else None,
            verbose=recipe.verbose,
            title="discriminator",
        )
    with progress_bar(recipe.verbose, "contexts") as advance:
        width = int(network.left(states.of_rows(centres[:1])).shape[1])
        path = part.folder / "contexts.npy"
        with array_writer(path, (len(centres), width), np.float16) as array:

            def write(block: slice, found: np.ndarray) -> None:
                array[block] = found

            write_context_vectors(write, states, centres, recipe.sides, advance)
    part.finish(
        {"losses": run.losses, "scores": run.scores, "seconds": run.seconds},
        arrays_of(network),
        is_complete=run.is_complete,
    )
    return part.name, run.is_complete


def discriminator_of(
    said: dict[str, Any], device: str, *, vectors: Any = None, weights: Any = None, seed: int = 0
) -> Any:
    """Give an untrained discriminator by what its part is made of."""
    import torch

    from film.contexts import BagDiscriminator, Discriminator, Interaction

    width, kind, n_fixed = said["width"], said["interaction"], said["n_fixed"]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if said["reader"] in ("fixed", "maps"):
            n_alike = n_fixed if said["reader"] == "fixed" else 0
            found = Interaction(n_fixed, kind, width, n_alike)
        elif said["reader"] == "bag":
            found = BagDiscriminator(
                said["n_tokens"],
                width=width,
                interaction=kind,
                vectors=vectors,
                weights=weights,
                n_alike=n_fixed,
            )
        else:
            found = Discriminator(
                said["n_tokens"],
                hidden=width,
                interaction=kind,
                width=width,
                vectors=vectors,
                n_alike=n_fixed,
            )
    return found.to(device).eval()


def open_discriminator(folder: Path, device: str) -> Any:
    """Give the trained discriminator of a part."""
    network = discriminator_of(read_part(folder)["made_of"], device)
    adopt_arrays(network, read_weights(folder))
    return network.requires_grad_(False).eval()


def token_rarity(table: IdTable, n_tokens: int) -> np.ndarray:
    """Inverse document frequency of each token, over sentences: log(n / (1 + n of the token))."""
    return np.maximum(np.log(len(table) / (1 + sentence_frequencies(table, n_tokens))), 0)


def sentence_frequencies(table: IdTable, n_tokens: int) -> np.ndarray:
    """Sentences that each token stands in."""
    counts = np.zeros(n_tokens)
    lengths = np.asarray(table.lengths)
    for rows in blocks(len(table)):
        values = table.values[table.starts[rows[0]] : table.starts[rows[-1] + 1]]
        sentence = np.repeat(np.arange(len(rows)), lengths[rows])
        different = np.unique(sentence * n_tokens + values)
        counts += np.bincount(different % n_tokens, minlength=n_tokens)
    return counts


def start_vectors(table: Any, n_tokens: int, size: int, seed: int) -> np.ndarray:
    """Word vectors of the corpus as start values, and small random ones where it has none."""
    found = word_vectors(table.values, table.starts, n_tokens, size, random_state=seed)
    rng = np.random.default_rng(seed)
    # Entries of the size that networks start from.
    found = found * 0.1 * np.sqrt(size)
    empty = ~found.any(axis=1)
    found[empty] = rng.normal(scale=0.1, size=(int(empty.sum()), size))
    return found.astype(np.float32)


def split_centres(
    centres: np.ndarray, documents: np.ndarray, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Hold out whole documents, drawn until they have that share of the centres.

    Where there is one document alone, or a share of 0, nothing is held out.
    """
    of_centre = documents[centres]
    numbers, counts = np.unique(of_centre, return_counts=True)
    order = np.random.default_rng([seed, 1]).permutation(len(numbers))
    until = np.cumsum(counts[order]) - counts[order] < share * len(centres)
    held = numbers[order[until]][: len(numbers) - 1] if share > 0 else numbers[:0]
    is_held = np.isin(of_centre, held)
    return centres[~is_held], centres[is_held]


def text_codes(corpus: SentenceCorpus) -> np.ndarray:
    """Numbers of sentences, equal where they read alike."""
    return np.fromiter(
        (_hash(text) for text in corpus.iterate_texts()), np.int64, corpus.n_sentences
    )


def _hash(text: str) -> int:
    data = " ".join(text.lower().split()).encode("utf-8")
    return int.from_bytes(hashlib.blake2b(data, digest_size=7).digest())


def blocks(n: int) -> list[np.ndarray]:
    """Cut rows into blocks."""
    return [np.arange(i, min(i + ROWS_OF_BLOCK, n)) for i in range(0, n, ROWS_OF_BLOCK)]

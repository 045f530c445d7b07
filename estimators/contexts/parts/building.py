"""Build the parts of a model of contexts, each from earlier parts."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from estimators.contexts.parts.discriminator_training import DiscriminatorTask, fit_gain
from estimators.contexts.parts.generator_training import GeneratorTask, token_counts
from estimators.contexts.parts.network_training import (
    Plan,
    adopt_arrays,
    arrays_of,
    train_network,
)
from estimators.contexts.parts.part_folder import PartFolder, open_array, read_part, read_weights
from estimators.contexts.parts.text_counts import N_FEATURES, hashed_counts, run_counts
from estimators.inputs import cloned, progress_bar
from film.contexts import (
    N_RUNS,
    IdTable,
    SentenceCorpus,
    diverse_contexts,
    encode_texts,
    run_vectors,
    run_weights,
    spelling_states,
    train_vocabulary,
    vocabulary_size,
    word_vectors,
    write_corpus,
)

CORPUS = "corpus"
VOCABULARY_SIZE = 8000
MAX_LENGTH = 48
"""Maximum number of tokens per sentence; longer sentences are cut."""
SPELLING_WIDTH = 512
"""Width of the vectors of spelling; the error of cosines is about 1/√512."""
LEARNING_RATE, GENERATOR_LEARNING_RATE = 1e-3, 3e-3
HELD_OUT = 0.02
"""Share of the corpus, in whole documents, held out to evaluate training."""
N_FREQUENT = 1000
"""Tokens that a generator predicts in one step; rare tokens take two steps, which is faster."""
ROWS_OF_BLOCK = 8192


class PartBuilder:
    """Make the parts of a `ContextModel` in a folder, except parts that exist.

    Parameters
    ----------
    model : ContextModel
        With valid parameters.
    documents : callable, SentenceCorpus or path of one
        Result of `check_documents`, or a corpus.
    root : Path
        Folder of the model.
    device : str
        Device for training networks.
    seed : int
        Seed.
    """

    def __init__(self, model: Any, documents: Any, root: Path, device: str, seed: int) -> None:
        self.model, self.root, self.device, self.seed = model, root, device, seed
        self.verbose, self.sides = model.verbose, int(model.sides)
        if isinstance(documents, SentenceCorpus):
            self.corpus = documents
        elif not callable(documents):
            self.corpus = SentenceCorpus(documents)
        else:
            texts: Any = documents()
            with progress_bar(self.verbose, "corpus") as advance:
                self.corpus = write_corpus(
                    root / CORPUS, texts, advance=advance and (lambda n: advance("documents"))
                )
        self.centres = self.corpus.centres(self.sides)
        self.documents = np.asarray(self.corpus.documents, dtype=np.int64)

    def build(self) -> tuple[dict[str, str], dict[str, Any]]:
        """Make all parts and choose the fixed set of contexts.

        Returns
        -------
        parts : dict of str to str
            Names of the folders in ``root`` by kind; that of the corpus may be a path elsewhere.
        learned : dict
            Fitted attributes of the model.
        """
        model = self.model
        contexts = self.fixed_set()
        is_ours = self.corpus.folder == (self.root / CORPUS).absolute()
        parts = {CORPUS: CORPUS if is_ours else os.fspath(self.corpus.folder)}
        parts["vocabulary"] = self.vocabulary()
        parts["retrieval"] = self.retrieval()
        encoder, fixed = None, None
        made_of = [parts["vocabulary"]] if model.reader == "lstm" else []
        if model.lexical or not made_of:
            if model.encoder is None:
                parts["spelling"] = self.spelling()
                encode: Any = open_spelling(self.root / parts["spelling"])
            else:
                texts = list(self.corpus.iterate_texts())
                encode = encoder = cloned("encoder", model.encoder).fit(texts)
            encodings = self.encodings(encode)
            fixed = open_array(self.root / encodings / "states.npy")
            made_of.append(encodings)
        table, tokenizer = open_vocabulary(self.root / parts["vocabulary"])
        n_tokens = vocabulary_size(tokenizer)
        parts["discriminator"] = self.discriminator(table, n_tokens, fixed, made_of)
        if model.generator is not None:
            parts["generator"] = self.generator(table, n_tokens, parts["vocabulary"])
        made = {kind: read_part(self.root / n) for kind, n in parts.items() if kind != CORPUS}
        said, generated = made["discriminator"]["said"], made.get("generator", {}).get("said", {})
        return parts, {
            "encoder_": encoder,
            "contexts_": contexts,
            "loss_curve_": said["losses"],
            "scores_": [tuple(each) for each in said["scores"]],
            "generator_loss_curve_": generated.get("losses", []),
            "generator_scores_": [tuple(each) for each in generated.get("scores", [])],
            "perplexities_": generated.get("perplexities", {}),
            "is_complete_": all(part["is_complete"] for part in made.values()),
            "_digest": digest_of(self.corpus, self.root, parts),
            "_sides": self.sides,
            "_seed": self.seed,
        }

    def fixed_set(self) -> np.ndarray:
        """Choose the contexts of the fixed set."""
        model, corpus = self.model, self.corpus
        if len(self.centres) < 2:
            raise ValueError(
                f"documents hold {corpus.n_sentences} sentences in {corpus.n_documents} documents, "
                f"and {len(self.centres)} of the sentences have sides={self.sides} neighbours on "
                "each side, which is too few to learn from; give longer documents"
            )
        rules: dict[str, Any] = {"max_jaccard": 0.5 if model.diverse else np.inf}
        rules |= {"one_per_chunk": model.diverse, "random_state": self.seed, "sides": self.sides}
        try:
            return diverse_contexts(corpus, int(model.n_contexts), **rules)
        except ValueError as error:
            raise ValueError(
                f"n_contexts={model.n_contexts} is more than there are ({error}); give n_contexts= "
                "a lower number, more documents, or, in Python, diverse=False"
            ) from error

    def vocabulary(self) -> str:
        """Learn a vocabulary and encode all sentences; return the part's name."""
        part = self._part("vocabulary", size=VOCABULARY_SIZE, max_length=MAX_LENGTH)
        if not part.is_complete():
            with progress_bar(self.verbose, "vocabulary"):
                tokenizer = train_vocabulary(self.corpus.iterate_texts(), VOCABULARY_SIZE)
                table = encode_texts(tokenizer, self.corpus.iterate_texts(), MAX_LENGTH)
                table.write(part.folder)
            part.finish({"tokenizer": tokenizer})
        return part.name

    def retrieval(self) -> str:
        """Compute TF-IDF of words and bigrams of all chunks; return the part's name."""
        part = self._part("retrieval", n_features=N_FEATURES)
        if not part.is_complete():
            with progress_bar(self.verbose, "retrieval"):
                counts = hashed_counts(self.corpus.chunk_texts())
                weigher = TfidfTransformer().fit(counts)
                # A column without a chunk would have the largest weight.
                idf = np.where(counts.getnnz(axis=0) > 0, weigher.idf_, 0).astype(np.float32)
                points: Any = weigher.transform(counts, copy=False)
            kinds = {"data": np.float32, "indices": np.int32, "indptr": np.int64}
            arrays = {name: getattr(points, name).astype(kind) for name, kind in kinds.items()}
            part.finish({}, {"idf": idf, **arrays})
        return part.name

    def spelling(self) -> str:
        """Compute weights of character n-grams from the corpus; return the part's name."""
        part = self._part("spelling", seed=self.seed)
        if not part.is_complete():
            frequencies = np.zeros(N_RUNS, dtype=np.int64)
            for rows in self._blocks("spelling", self.corpus.n_sentences):
                counts = run_counts(self.corpus.texts(rows))
                frequencies += np.bincount(counts.indices, minlength=N_RUNS)
            part.finish({}, {"weights": run_weights(frequencies, self.corpus.n_sentences)})
        return part.name

    def encodings(self, encoder: Any) -> str:
        """Encode all sentences by a fitted encoder, on disk; return the part's name."""
        part = self._part("encodings", encoder=joblib.hash(encoder), norm="l2")
        if not part.is_complete():
            blocks = self._blocks("encode the corpus", self.corpus.n_sentences)
            found = (encoded(encoder, self.corpus.texts(rows)) for rows in blocks)
            write_rows(part.folder / "states.npy", self.corpus.n_sentences, found)
            part.finish({})
        return part.name

    def discriminator(self, table: IdTable, n_tokens: int, fixed: Any, made_of: list[str]) -> str:
        """Train the discriminator and encode all contexts; return the part's name."""
        model, reads_tokens = self.model, self.model.reader == "lstm"
        plan = self._plan("discriminator", LEARNING_RATE)
        part = self._part(
            "discriminator",
            **{"from": made_of, "plan": vars(plan), "sides": self.sides, "reader": model.reader},
            width=int(model.width),
            interaction=model.interaction,
            n_fixed=0 if fixed is None else int(fixed.shape[1]),
            n_tokens=n_tokens if reads_tokens else None,
        )
        if part.is_complete():
            return part.name
        vectors = start_vectors(table, n_tokens, model.width, self.seed) if reads_tokens else None
        network = discriminator_of(part.made_of, self.device, vectors=vectors, seed=self.seed)
        data = network, table if reads_tokens else None, fixed, self.documents, self.corpus.codes
        task, test = (
            DiscriminatorTask(*data, rows, sides=self.sides, seed=self.seed)
            for rows in split_centres(self.centres, self.documents, self.seed)
        )
        evaluate = test.held_out_loss if len(test.centres) else None
        if model.reader == "fixed":
            run = fit_gain(task, evaluate)
        else:
            run = self._trained(part, task, plan, evaluate, "discriminator")
        blocks = self._blocks("contexts", len(self.centres))
        found = (task.contexts(self.centres[rows]) for rows in blocks)
        write_rows(part.folder / "contexts.npy", len(self.centres), found)
        said = {"losses": run.losses, "scores": run.scores}
        part.finish(said, arrays_of(network), is_complete=run.is_complete)
        return part.name

    def generator(self, table: IdTable, n_tokens: int, vocabulary: str) -> str:
        """Train the generator and measure its perplexity; return the part's name."""
        plan, size = self._plan("generator", GENERATOR_LEARNING_RATE), self.model.generator
        part = self._part(
            "generator",
            **{"from": vocabulary, "plan": vars(plan), "sides": self.sides},
            size=size if isinstance(size, str) else [int(each) for each in size],
            n_tokens=n_tokens,
            max_length=MAX_LENGTH,
        )
        if part.is_complete():
            return part.name
        # The same documents are held out as for the discriminator.
        learned_from, held = split_centres(self.centres, self.documents, self.seed)
        counts = token_counts(table, learned_from, n_tokens)
        network = generator_of(part.made_of, self.device, counts=counts, seed=self.seed)
        task = GeneratorTask(network, table, learned_from, seed=self.seed)
        test = GeneratorTask(network, table, held, seed=self.seed)
        evaluate = test.held_out_loss if len(held) else None
        run = self._trained(part, task, plan, evaluate, "generator")
        perplexities = test.perplexities(counts) if len(held) else {}
        said = {"losses": run.losses, "scores": run.scores, "perplexities": perplexities}
        part.finish(said, arrays_of(network), is_complete=run.is_complete)
        return part.name

    def _part(self, kind: str, **made_of: Any) -> PartFolder:
        return PartFolder(self.root, kind, {"corpus": self.corpus.digest, **made_of})

    def _plan(self, network: str, learning_rate: float) -> Plan:
        epochs, seconds = (getattr(self.model, f"{network}_{n}") for n in ("epochs", "seconds"))
        return Plan(float(epochs), learning_rate, seconds and float(seconds), self.seed)

    def _trained(self, part: PartFolder, task: Any, plan: Plan, evaluate: Any, title: str) -> Any:
        return train_network(
            task.network,
            task.batches,
            task.loss,
            plan,
            evaluate=evaluate,
            state_file=None if self.model.folder is None else part.run_file,
            verbose=self.verbose,
            title=title,
        )

    def _blocks(self, title: str, n: int) -> Iterator[np.ndarray]:
        """Yield rows from 0 to n in blocks, and show progress."""
        with progress_bar(self.verbose, title) as advance:
            for start in range(0, n, ROWS_OF_BLOCK):
                stop = min(start + ROWS_OF_BLOCK, n)
                yield np.arange(start, stop)
                if advance is not None:
                    advance(f"{stop} of {n}")


def digest_of(corpus: SentenceCorpus, root: Path, parts: dict[str, str]) -> str:
    """Return a digest of a fitted model's corpus and weights."""
    weights = {k: read_part(root / name)["weights"] for k, name in parts.items() if k != CORPUS}
    text = json.dumps([corpus.digest, weights], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def open_vocabulary(folder: Path) -> tuple[IdTable, str]:
    """Return the tokens of all sentences, memory-mapped, and the tokenizer as JSON."""
    return IdTable.read(folder), str(read_part(folder)["said"]["tokenizer"])


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


def open_spelling(folder: Path) -> Spelling:
    """Return the encoder of a part."""
    return Spelling(read_weights(folder)["weights"], read_part(folder)["made_of"]["seed"])


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


def write_rows(path: Path, n: int, blocks: Iterable[np.ndarray]) -> None:
    """Write blocks of n rows of one width as an array in half precision."""
    array, start = None, 0
    for block in blocks:
        if array is None:
            shape = n, block.shape[1]
            array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
        array[start : start + len(block)] = block
        start += len(block)


def discriminator_of(
    said: dict[str, Any], device: str, *, vectors: Any = None, seed: int = 0
) -> Any:
    """Return an untrained discriminator with the settings of its part."""
    import torch

    from film.contexts import Discriminator, Interaction

    width, kind, n_fixed = said["width"], said["interaction"], said["n_fixed"]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if said["reader"] == "lstm":
            found: Any = Discriminator(
                said["n_tokens"], hidden=width, interaction=kind, width=width, n_alike=n_fixed,
                vectors=vectors,
            )  # fmt: skip
        else:
            n_alike = n_fixed if said["reader"] == "fixed" else 0
            found = Interaction(n_fixed, kind, width, n_alike)
    return found.to(device).eval()


def open_discriminator(folder: Path, device: str) -> Any:
    """Return the trained discriminator of a part."""
    network = discriminator_of(read_part(folder)["made_of"], device)
    return adopt_arrays(network, read_weights(folder))


def start_vectors(table: Any, n_tokens: int, size: int, seed: int) -> np.ndarray:
    """Return word vectors of the corpus; small random vectors for words without one."""
    found = word_vectors(table.values, table.starts, n_tokens, size, random_state=seed)
    rng = np.random.default_rng(seed)
    # Entries are as large as the initial values of networks.
    found = found * 0.1 * np.sqrt(size)
    empty = ~found.any(axis=1)
    found[empty] = rng.normal(scale=0.1, size=(int(empty.sum()), size))
    return found.astype(np.float32)


def generator_of(said: dict[str, Any], device: str, *, counts: Any = None, seed: int = 0) -> Any:
    """Return an untrained generator with the settings of its part."""
    import torch

    from film.contexts import Generator, Size

    size = said["size"]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        found = Generator(
            said["n_tokens"],
            size if isinstance(size, str) else Size(*size),
            max_length=said["max_length"],
            n_frequent=N_FREQUENT,
            # Hardly any sentence is seen twice.
            dropout=0.0,
            counts=counts,
        )
    return found.to(device).eval()


def open_generator(folder: Path, device: str) -> Any:
    """Return the trained generator of a part."""
    return adopt_arrays(generator_of(read_part(folder)["made_of"], device), read_weights(folder))


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

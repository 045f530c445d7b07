"""Contexts for sentences: retrieval, ranking, a diverse set, and the terms of their scores."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from estimators.contexts.parts.building import (
    encoded,
    open_array,
    open_discriminator,
    open_spelling,
    open_table,
)
from estimators.contexts.parts.discriminator_training import SentenceStates
from estimators.contexts.parts.fitting import CORPUS, digest_of
from estimators.contexts.parts.generator_training import open_generator
from estimators.contexts.parts.part_folder import part_path, read_part, read_weights
from estimators.contexts.parts.recipe import PRIORS
from estimators.contexts.parts.text_counts import hashed_counts
from estimators.inputs import check_choice
from film.contexts import (
    SentenceCorpus,
    combine_terms,
    encode_contexts,
    encode_texts,
    generation_terms,
    nearest_rows,
    own_places,
    select_contexts,
    word_sets,
)
from film.unpacking import check_sparse

SENTENCES_AT_ONCE = 32
"""Sentences whose logits with all contexts of the corpus are held at once."""
CONTEXTS_AT_ONCE = 16384
"""Contexts whose vectors are held in float32 at once."""
ENCODED_AT_ONCE = 512
"""Contexts of which generators keep their states at once: some 100 KB each for a tiny one."""
N_REFERENCE = 500
"""Sentences of the corpus by whose scores contexts are compared."""
STRATEGIES = ("two-step", "discriminator", "random")


class Sentences(NamedTuple):
    """Sentences that are asked about, read once."""

    texts: list[str]
    ids: np.ndarray  # (n, L)
    lengths: np.ndarray  # (n,)
    vectors: np.ndarray  # (n, q) float32: the centre vectors of the discriminator

    def take(self, rows: Any) -> Sentences:
        """Give some of them."""
        texts = [self.texts[row] for row in rows]
        return Sentences(texts, self.ids[rows], self.lengths[rows], self.vectors[rows])


class ContextSpace:
    """The parts of a fitted model of contexts, opened.

    Parameters
    ----------
    root : Path
        Folder of the parts.
    parts : dict of str to str
        Name of each part's folder in ``root``; that of the corpus may be a path.
    digest : str
        Of the corpus and weights, from `digest_of`.
    sides : int
        Sentences a side.
    encoder : estimator or None
        Fitted, where the discriminator learned on its vectors.
    device : str
        Where networks compute.
    prior : {"corpus", "training"}
        As in `ContextModel`.

    Raises
    ------
    FileNotFoundError, ValueError
        If a part is missing, damaged, or not the one that was fitted.
    """

    def __init__(
        self,
        root: Path,
        parts: dict[str, str],
        *,
        digest: str,
        sides: int,
        encoder: Any,
        device: str,
        prior: str,
    ) -> None:
        self.prior = check_choice("prior", prior, PRIORS)
        # A corpus that was given may lie elsewhere.
        for kind, name in parts.items():
            if kind != CORPUS:
                part_path(root, name)
        self.corpus = SentenceCorpus(root / parts[CORPUS], verify=False)
        if digest_of(self.corpus, root, parts) != digest:
            raise ValueError(
                f"the corpus in {self.corpus.folder} or the networks in {root} are not those that "
                "were fitted: they were made again from other documents or settings; fit again"
            )
        self.sides, self.device = sides, device
        self.centres = self.corpus.centres(sides)
        self.chunks = np.asarray(self.corpus.chunks)[self.centres]
        self.table, self.tokenizer = open_table(root / parts["vocabulary"])
        self.max_length = int(read_part(root / parts["vocabulary"])["made_of"]["max_length"])
        self.network = open_discriminator(root / parts["discriminator"], device)
        self.reads_tokens = hasattr(self.network, "states")
        # What gives the fixed states, if there are any.
        self.fixed = encoder
        if "spelling" in parts:
            self.fixed = open_spelling(root / parts["spelling"])
        # One network for all three tasks.
        self.generators: list[Any] = []
        self.generator_table = self.table
        if "generator" in parts:
            network, self.generator_table = open_generator(
                root / parts["generator"], device, self.table
            )
            self.generators = [network] * 3
        self._encoded: dict[bytes, Any] = {}
        self.contexts = open_array(root / parts["discriminator"] / "contexts.npy")
        if len(self.contexts) != len(self.centres):
            raise ValueError(f"{root / parts['discriminator']} is not of this corpus; fit again")
        found = read_weights(root / parts["retrieval"])
        self.idf = found.pop("idf")
        shape = self.corpus.n_chunks, len(self.idf)
        points = sp.csr_array((found["data"], found["indices"], found["indptr"]), shape=shape)
        self.points = check_sparse(points).tocsc()

    def read(self, texts: list[str]) -> Sentences:
        """Tokens and vectors of sentences."""
        import torch

        table = encode_texts(self.tokenizer, texts, self.max_length)
        ids, lengths = table.padded(np.arange(len(texts)))
        fixed = None
        if self.fixed is not None:
            # As the states of the corpus, which are kept in half of the precision.
            fixed = encoded(self.fixed, texts).astype(np.float16)
        states = SentenceStates(self.network, None, None, self.device)
        with torch.inference_mode():
            found = states.of((ids, lengths) if self.reads_tokens else None, fixed)
            vectors = self.network.centre(found).float().cpu().numpy()
        return Sentences(texts, np.asarray(ids), np.asarray(lengths), vectors)

    def place(self, rows: Any) -> np.ndarray:
        """Places among the contexts of their centres' rows.

        Raises
        ------
        ValueError
            If a row is none of a context.
        """
        rows = np.asarray(rows, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.centres, rows), len(self.centres) - 1)
        wrong = self.centres[found] != rows
        if wrong.any():
            raise ValueError(
                f"contexts must be rows of sentences with {self.sides} neighbours on each side, "
                f"got {rows[wrong][0]}"
            )
        return found

    def own_places(self, texts: list[str]) -> list[np.ndarray]:
        """Rows of the contexts in which each text stands, in the middle or at a side."""
        return [own_places(rows, self.sides) for rows in self.corpus.rows_of(texts)]

    def discriminator_logits(self, sentences: Sentences) -> np.ndarray:
        """Logits of sentences in all contexts, (n, n_contexts) float32: one product a block."""
        found = np.empty((len(sentences.texts), len(self.contexts)), dtype=np.float32)
        for start in range(0, len(self.contexts), CONTEXTS_AT_ONCE):
            block = slice(start, start + CONTEXTS_AT_ONCE)
            vectors = np.asarray(self.contexts[block], dtype=np.float32)
            np.matmul(sentences.vectors, vectors.T, out=found[:, block])
        return found

    def discriminator_term(
        self, sentences: Sentences, numbers: np.ndarray, places: np.ndarray
    ) -> np.ndarray:
        """Give log p(y = 1 | s, c) of sentences, by number, in contexts, by place; (k,) float32."""
        found = np.empty(len(numbers), dtype=np.float32)
        for start in range(0, len(numbers), CONTEXTS_AT_ONCE):
            block = slice(start, start + CONTEXTS_AT_ONCE)
            # A set that many sentences share is read once.
            different, inverse = np.unique(places[block], return_inverse=True)
            vectors = np.asarray(self.contexts[different], dtype=np.float32)
            logits = np.einsum(
                "kq,kq->k", sentences.vectors[numbers[block]], vectors[inverse], dtype=np.float64
            )
            found[block] = self.log_fit(logits)
        return found

    def log_fit(self, logits: np.ndarray) -> np.ndarray:
        """Give log p(y = 1) by the prior: of Eq. 1, or where one context of all is the true one."""
        n_false = len(self.centres) if self.prior == "corpus" else 1
        return -np.logaddexp(0, float(np.log(n_false)) - logits)

    @functools.cached_property
    def reference(self) -> Sentences:
        """Sentences of the corpus, always the same, by whose scores contexts are compared."""
        n = min(N_REFERENCE, len(self.centres))
        rows = np.random.default_rng(0).choice(self.centres, n, replace=False)
        return self.read([str(text) for text in self.corpus.texts(np.sort(rows))])

    def levels(self, sentences: Sentences, rows: np.ndarray) -> np.ndarray:
        """Give the mean of log p(y = 1 | s, c) of each sentence over contexts, (n,)."""
        vectors = np.asarray(self.contexts[self.place(rows)], dtype=np.float32)
        return self.log_fit(sentences.vectors @ vectors.T).mean(axis=1)

    def reference_terms(self, places: np.ndarray) -> np.ndarray:
        """Give log p(y = 1 | s, c) of the reference sentences in contexts, by place; (R, m)."""
        vectors = np.asarray(self.contexts[places], dtype=np.float32)
        return self.log_fit(self.reference.vectors @ vectors.T)

    def terms(
        self, sentences: Sentences, rows: list[np.ndarray], *, generates: bool = True
    ) -> list[np.ndarray]:
        """Terms of Eq. 3 of each sentence in its contexts, (m, 4) float32 each.

        Parameters
        ----------
        sentences : Sentences
            Each with its own contexts.
        rows : list of ndarray of int64, shape (m,)
            Contexts of each. Sentences that share a set are scored in it together.
        generates : bool, default=True
            Whether the terms of the generators are wanted; else they are 0.
        """
        lengths = [len(each) for each in rows]
        numbers = np.repeat(np.arange(len(rows)), lengths)
        places = self.place(np.concatenate(rows))
        flat = np.zeros((len(places), 4), dtype=np.float32)
        flat[:, 0] = self.discriminator_term(sentences, numbers, places)
        found = np.split(flat, np.cumsum(lengths)[:-1])
        if generates and self.generators:
            sharing: dict[bytes, list[int]] = {}
            for number, each in enumerate(rows):
                sharing.setdefault(each.tobytes(), []).append(number)
            for same in sharing.values():
                terms = self.generation_terms(sentences.take(same), rows[same[0]])
                for number, each in zip(same, terms, strict=True):
                    found[number][:, 1:] = each
        return found

    def generation_terms(self, sentences: Sentences, rows: np.ndarray) -> np.ndarray:
        """Terms of the generators of all sentences in all contexts, (n, m, 3) float32.

        What the generators keep of the contexts of one set is kept until another set is asked for.
        """
        found = np.empty((len(sentences.texts), len(rows), 3), dtype=np.float32)
        given = sentences.ids, sentences.lengths
        if self.generator_table is not self.table:
            # A pretrained model has tokens of its own.
            given = self.generators[0].encode(sentences.texts)
        encoded = self._encoded if len(rows) <= ENCODED_AT_ONCE else {}
        for start in range(0, len(rows), ENCODED_AT_ONCE):
            block = rows[start : start + ENCODED_AT_ONCE]
            key = block.tobytes()
            if key not in encoded:
                encoded.clear()
                sides = (self.generator_table.padded(block + step) for step in (-1, 1))
                encoded[key] = encode_contexts(self.generators, *sides)
            found[:, start : start + len(block)] = generation_terms(
                self.generators, given, encoded[key]
            )
        return found

    def by_score(
        self, sentence: Sentences, places: np.ndarray, excluded: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Put the contexts of one sentence in order of Eq. 3, those excluded left out; places."""
        places = places[~np.isin(self.centres[places], excluded)]
        if not len(places):
            return places
        (terms,) = self.terms(sentence, [self.centres[places]])
        return places[np.lexsort((places, -combine_terms(terms, weights)))]

    def retrieved(self, texts: list[str], n: int) -> list[np.ndarray]:
        """Chunks that share words or bigrams with each text, the n with the greatest products."""
        queries = sp.csr_array(hashed_counts(texts))
        queries = sp.csr_array(queries.multiply(self.idf[np.newaxis]))
        chunks, products = nearest_rows(queries, self.points, n, return_products=True)
        return [row[values > 0] for row, values in zip(chunks, products, strict=True)]

    def candidates(
        self, sentences: Sentences, strategy: str, n_retrieved: int, seed: int
    ) -> Iterator[tuple[Callable[[int], np.ndarray], bool]]:
        """Contexts of each sentence, the most promising first.

        Yields
        ------
        first : callable
            Gives the places of so many of them.
        is_known : bool
            False where the corpus has no word of the sentence, so that none is promising.
        """
        for start in range(0, len(sentences.texts), SENTENCES_AT_ONCE):
            rows = np.arange(start, min(start + SENTENCES_AT_ONCE, len(sentences.texts)))
            block = sentences.take(rows)
            if strategy == "random":
                for text in block.texts:
                    # By the text, so that a sentence gets the same alone and among others.
                    rng = np.random.default_rng([seed, *text.encode()])
                    order = rng.permutation(len(self.centres))
                    yield (lambda size, order=order: order[:size]), True
                continue
            chunks = self.retrieved(block.texts, n_retrieved)
            for logits, wanted in zip(self.discriminator_logits(block), chunks, strict=True):
                allowed = np.zeros(self.corpus.n_chunks, dtype=bool)
                allowed[wanted if strategy == "two-step" else slice(None)] = True
                yield _best_first(logits, allowed[self.chunks]), len(wanted) > 0

    def select(
        self, places: np.ndarray, size: int, excluded: np.ndarray, diverse: bool
    ) -> np.ndarray:
        """Choose from contexts in order, diverse ones or the first; places."""
        rows = self.centres[places]
        if not diverse:
            return places[~np.isin(rows, excluded)][:size]
        words = word_sets(self.corpus.texts(rows - 1))
        chosen = select_contexts(rows, self.chunks[places], words, size, excluded=excluded)
        return places[chosen]


def _best_first(logits: np.ndarray, allowed: np.ndarray) -> Callable[[int], np.ndarray]:
    """Give the places of the greatest logits, those allowed before all others."""

    def first(size: int) -> np.ndarray:
        found = []
        for kind in (np.flatnonzero(allowed), np.flatnonzero(~allowed)):
            wanted = min(size - sum(map(len, found)), len(kind))
            if wanted > 0:
                values = logits[kind]
                if wanted < len(kind):
                    least = np.partition(values, len(kind) - wanted)[len(kind) - wanted]
                    kind, values = kind[values >= least], values[values >= least]
                found.append(kind[np.lexsort((kind, -values))[:wanted]])
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    return first

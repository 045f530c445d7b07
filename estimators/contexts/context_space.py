"""Choose contexts for sentences (retrieval, ranking, diversity), and score sentences in them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from estimators.contexts.training.building import (
    Spelling,
    adopt_arrays,
    discriminator_of,
    encoded,
    generator_of,
)
from estimators.contexts.training.discriminator_training import sentence_states
from estimators.contexts.training.text_counts import hashed_counts
from film.contexts import (
    SentenceCorpus,
    combine_terms,
    encode_contexts,
    encode_texts,
    generation_terms,
    largest_first,
    nearest_rows,
    own_places,
    select_contexts,
    word_sets,
)
from film.unpacking import check_sparse

N_RETRIEVED = 20_000
"""Number of chunks that TF-IDF retrieves for the discriminator."""
SENTENCES_AT_ONCE = 32
"""Sentences whose logits in all contexts are in memory at once."""
N_REFERENCE = 500
"""Number of fixed sentences whose scores compare contexts."""


class Sentences(NamedTuple):
    """Sentences to be scored."""

    texts: list[str]
    vectors: np.ndarray  # (n, q) float32: the centre vectors of the discriminator

    def take(self, rows: Any) -> Sentences:
        """Return some of them."""
        return Sentences([self.texts[row] for row in rows], self.vectors[rows])


class ContextSpace:
    """The opened parts of a fitted `ContextModel`.

    Parameters
    ----------
    settings, arrays : dict
        As in `Parts`.
    fixed : ndarray of int
        Rows of the fixed set of contexts.
    encoder : transformer or None
        Fitted; None if states come from spelling or from the network alone.
    device : str
        Device of the networks.

    Raises
    ------
    KeyError, ValueError
        If a part is missing or damaged.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        arrays: dict[str, np.ndarray],
        *,
        fixed: np.ndarray,
        encoder: Any,
        device: str,
    ) -> None:
        self.corpus = SentenceCorpus(
            arrays["text"].tobytes().decode().split("\n"),
            arrays["documents"],
            settings["names"],
            chunk_length=settings["chunk_length"],
            codes=arrays["codes"],
        )
        self.sides, self.fixed = settings["sides"], fixed
        self.centres = self.corpus.centres(self.sides)
        self.chunks = self.corpus.chunks[self.centres]
        self.prior = "corpus"
        self.tokenizer, self.max_length = settings.get("tokenizer"), settings.get("max_length")
        self.network = discriminator_of(settings["discriminator"], device)
        adopt_arrays(self.network, arrays, "discriminator.")
        # The encoder of the fixed vectors, if there are any.
        spelling = arrays.get("spelling.weights")
        self.encoder = encoder if spelling is None else Spelling(spelling, settings["seed"])
        self.generators: list[Any] = []
        if "generator" in settings:
            generator = generator_of(settings["generator"], device)
            # One network for all three tasks.
            self.generators = [adopt_arrays(generator, arrays, "generator.")] * 3
        self._encoded: Any = b"", None
        self.contexts = arrays["contexts"]
        self.idf = arrays["retrieval.idf"]
        parts = (arrays[f"retrieval.{name}"] for name in ("data", "indices", "indptr"))
        shape = self.corpus.n_chunks, len(self.idf)
        self.points = check_sparse(sp.csr_array(tuple(parts), shape=shape)).tocsc()

    def read(self, texts: list[str]) -> Sentences:
        """Return vectors of sentences."""
        import torch

        fixed = None
        if self.encoder is not None:
            # As the states of the corpus, which are kept in half of the precision.
            fixed = encoded(self.encoder, texts).astype(np.float16)
        tokens = self.tokens(texts) if hasattr(self.network, "states") else None
        with torch.inference_mode():
            states = sentence_states(self.network, tokens, fixed)
            vectors = self.network.centre(states).float().cpu().numpy()
        return Sentences(texts, vectors)

    def tokens(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return tokens of texts, padded, and their numbers."""
        table = encode_texts(str(self.tokenizer), texts, self.max_length)
        return table.padded(np.arange(len(texts)))

    def place(self, rows: Any) -> np.ndarray:
        """Return the positions of contexts, given the rows of their centres.

        Raises
        ------
        ValueError
            If a row is not the centre of a context.
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

    def log_fit(self, sentences: Sentences, rows: np.ndarray) -> np.ndarray:
        """Return log p(y = 1 | s, c) of all sentences in all contexts, (n, m) float32.

        The prior says that one of all n contexts is true, -log(1 + n exp(-z)) for the logit z, or
        one of two, as in training (Eq. 1).
        """
        vectors = np.asarray(self.contexts[self.place(rows)], dtype=np.float64)
        logits = sentences.vectors @ vectors.T
        # The prior of training is for one false context.
        n_false = len(self.centres) if self.prior == "corpus" else 1
        return -np.logaddexp(0, np.log(n_false) - logits).astype(np.float32)

    @functools.cached_property
    def reference(self) -> Sentences:
        """Fixed sentences of the corpus; their scores compare contexts."""
        n = min(N_REFERENCE, len(self.centres))
        rows = np.random.default_rng(0).choice(self.centres, n, replace=False)
        return self.read(self.corpus.texts(np.sort(rows)))

    @functools.cached_property
    def reference_levels(self) -> np.ndarray:
        """Mean first terms of the reference sentences over the fixed set, (R, 1)."""
        return self.log_fit(self.reference, self.fixed).mean(axis=1)[:, np.newaxis]

    def terms(
        self, sentences: Sentences, rows: list[np.ndarray], *, generates: bool = True
    ) -> list[np.ndarray]:
        """Return the terms of Eq. 3 of each sentence in its contexts, (m, 4) float32 each.

        Parameters
        ----------
        sentences : Sentences
            n of them.
        rows : list of n ndarrays of int
            Contexts of each, by the rows of their centres.
        generates : bool, default=True
            Whether to compute the terms of generators; otherwise they are 0.
        """
        found: list[Any] = [None] * len(rows)
        sharing: dict[bytes, list[int]] = {}
        for number, each in enumerate(rows):
            sharing.setdefault(each.tobytes(), []).append(number)
        for same in sharing.values():
            group, contexts = sentences.take(same), rows[same[0]]
            terms = np.zeros((len(same), len(contexts), 4), dtype=np.float32)
            terms[..., 0] = self.log_fit(group, contexts)
            if generates and self.generators:
                terms[..., 1:] = self._generation_terms(group, contexts)
            for number, each in zip(same, terms, strict=True):
                found[number] = each
        return found

    def _generation_terms(self, sentences: Sentences, rows: np.ndarray) -> np.ndarray:
        # The fixed set is used many times.
        key, contexts = self._encoded
        if key != rows.tobytes():
            sides = (self.tokens(self.corpus.texts(rows + step)) for step in (-1, 1))
            contexts = encode_contexts(self.generators[0], *sides)
            self._encoded = rows.tobytes(), contexts
        return generation_terms(self.generators[0], self.tokens(sentences.texts), contexts)

    def candidates(
        self, sentences: Sentences, strategy: str, seed: int
    ) -> Iterator[tuple[Callable[[int], np.ndarray], bool]]:
        """Rank contexts for each sentence.

        Parameters
        ----------
        sentences : Sentences
            n of them.
        strategy : {"two-step", "discriminator", "random"}
            As in `ContextModel.contexts_of`.
        seed : int
            Seed of random contexts.

        Yields
        ------
        first : callable
            Maps a number n to the positions of the n best contexts, best first.
        is_known : bool
            Whether the corpus contains a word of the sentence.
        """
        for start in range(0, len(sentences.texts), SENTENCES_AT_ONCE):
            stop = min(start + SENTENCES_AT_ONCE, len(sentences.texts))
            block = sentences.take(np.arange(start, stop))
            if strategy == "random":
                for text in block.texts:
                    # By the text, so that a sentence gets the same alone and among others.
                    rng = np.random.default_rng([seed, *text.encode()])
                    order = rng.permutation(len(self.centres))
                    yield (lambda size, order=order: order[:size]), True
                continue
            logits = np.empty((len(block.texts), len(self.contexts)), dtype=np.float32)
            for first in range(0, len(self.contexts), 16_384):
                vectors = np.asarray(self.contexts[first : first + 16_384], dtype=np.float32)
                logits[:, first : first + 16_384] = block.vectors @ vectors.T
            for line, chunks in zip(logits, self._retrieved(block.texts), strict=True):
                allowed = np.zeros(self.corpus.n_chunks, dtype=bool)
                allowed[chunks if strategy == "two-step" else slice(None)] = True
                first_of = functools.partial(_best_first, line, allowed[self.chunks])
                yield first_of, len(chunks) > 0

    def _retrieved(self, texts: list[str]) -> list[np.ndarray]:
        """Return the chunks with the largest TF-IDF products with each text."""
        queries = sp.csr_array(sp.csr_array(hashed_counts(texts)).multiply(self.idf[np.newaxis]))
        chunks, products = nearest_rows(queries, self.points, N_RETRIEVED)
        return [row[values > 0] for row, values in zip(chunks, products, strict=True)]

    def by_score(
        self, sentence: Sentences, places: np.ndarray, excluded: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Sort the contexts of one sentence by Eq. 3, without excluded ones; return positions."""
        places = places[~np.isin(self.centres[places], excluded)]
        if not len(places):
            return places
        (terms,) = self.terms(sentence, [self.centres[places]])
        return places[np.lexsort((places, -combine_terms(terms, weights)))]

    def own_places(self, texts: list[str]) -> list[np.ndarray]:
        """Return the rows of the contexts that contain each text, as centre or on a side."""
        return [own_places(rows, self.sides) for rows in self.corpus.rows_of(texts)]

    def select(
        self, places: np.ndarray, size: int, excluded: np.ndarray, diverse: bool
    ) -> np.ndarray:
        """Choose diverse contexts or the first from ranked contexts; return positions."""
        rows = self.centres[places]
        if not diverse:
            return places[~np.isin(rows, excluded)][:size]
        words = word_sets(self.corpus.texts(rows - 1))
        chosen = select_contexts(rows, self.chunks[places], words, size, excluded=excluded)
        return places[chosen]


def _best_first(logits: np.ndarray, allowed: np.ndarray, size: int) -> np.ndarray:
    """Return the places of the greatest logits, those allowed before all others."""
    first, last = np.flatnonzero(allowed), np.flatnonzero(~allowed)
    first = first[largest_first(logits[first], size)]
    last = last[largest_first(logits[last], size - len(first))]
    return np.concatenate([first, last])

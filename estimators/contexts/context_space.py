"""Choose contexts for sentences (retrieval, ranking, diversity), and score sentences in them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from estimators.contexts.parts.building import Spelling, encoded, generator_of
from estimators.contexts.parts.earlier_parts import TokenReader
from estimators.contexts.parts.text_counts import hashed_counts
from film.contexts import (
    Discriminator,
    SentenceCorpus,
    combine_terms,
    encode_texts,
    generation_terms,
    largest_first,
    nearest_rows,
    select_contexts,
    word_sets,
)
from film.unpacking import check_sparse

N_RETRIEVED = 20_000
"""Number of chunks that TF-IDF retrieves for the discriminator."""
SENTENCES_AT_ONCE = 32
"""Sentences whose logits in all contexts are in memory at once."""
CONTEXTS_TRIED = 8
"""Candidates per wanted context for a diverse set; more are tried if these do not suffice."""
RANKED_PER_WANTED = 3
"""Contexts that Eq. 3 ranks per wanted context."""
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
        self.fixed, self.centres = fixed, self.corpus.centres()
        self.chunks = self.corpus.chunks[self.centres]
        self.prior = "corpus"
        self.tokenizer, self.max_length = settings.get("tokenizer"), settings.get("max_length")
        spelling = arrays.get("spelling.weights")
        self.encoder = encoder if spelling is None else Spelling(spelling, settings["seed"])
        self.generator: Any = None
        if "generator" in settings:
            import torch

            state = {name.removeprefix("generator."): torch.tensor(each)
                     for name, each in arrays.items() if name.startswith("generator.")}  # fmt: skip
            self.generator = generator_of(settings["generator"], device)
            try:
                self.generator.load_state_dict(state)
            except RuntimeError as error:
                raise ValueError(f"weights do not fit the network: {str(error)[:300]}") from error
        self.reader = None
        if "discriminator.lstm.weight_hh_l0" in arrays:
            self.reader = TokenReader(arrays)
        else:
            root, bias = (float(arrays[f"discriminator.{n}"].sum()) for n in ("root_gain", "bias"))
            self.network = Discriminator(root**2, bias)
        self.contexts = arrays["contexts"]
        self.idf = arrays["retrieval.idf"]
        parts = (arrays[f"retrieval.{name}"] for name in ("data", "indices", "indptr"))
        shape = self.corpus.n_chunks, len(self.idf)
        self.points = check_sparse(sp.csr_array(tuple(parts), shape=shape)).tocsc()

    def read(self, texts: list[str]) -> Sentences:
        """Return vectors of sentences."""
        # As the states of the corpus, which are kept in half of the precision.
        states = encoded(self.encoder, texts).astype(np.float16).astype(np.float32)
        if self.reader is None:
            return Sentences(texts, self.network.centres(states))
        table = encode_texts(str(self.tokenizer), texts, self.max_length)
        ids = np.split(table.values, table.starts[1:-1])
        return Sentences(texts, self.reader.centres(ids, states))

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
                "contexts must be rows of sentences with a neighbour on each side, got "
                f"{rows[wrong][0]}"
            )
        return found

    def log_fit(self, sentences: Sentences, rows: np.ndarray) -> np.ndarray:
        """Return log p(y = 1 | s, c) of all sentences in all contexts, (n, m) float32.

        The prior says that one of all n contexts is true, -log(1 + n exp(-z)) for the logit z, or
        one of two, as in training (Eq. 1).
        """
        vectors = np.asarray(self.contexts[self.place(rows)], dtype=np.float64)
        logits = sentences.vectors @ vectors.T
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
            Whether to compute the terms of the generator; otherwise they are 0.
        """
        found: list[Any] = [None] * len(rows)
        sharing: dict[bytes, list[int]] = {}
        for number, each in enumerate(rows):
            sharing.setdefault(each.tobytes(), []).append(number)
        for same in sharing.values():
            group, contexts = sentences.take(same), rows[same[0]]
            terms = np.zeros((len(same), len(contexts), 4), dtype=np.float32)
            terms[..., 0] = self.log_fit(group, contexts)
            if generates and self.generator is not None:
                sides = (self.tokens(self.corpus.texts(contexts + step)) for step in (-1, 1))
                terms[..., 1:] = generation_terms(self.generator, self.tokens(group.texts), *sides)
            for number, each in zip(same, terms, strict=True):
                found[number] = each
        return found

    def choose(
        self, texts: list[str], size: int, weights: np.ndarray
    ) -> tuple[list[np.ndarray], list[str]]:
        """Choose the contexts of each text (Section 3.3).

        Parameters
        ----------
        texts : list of str
            Different sentences.
        size : int
            Contexts of each.
        weights : ndarray, shape (4,)
            λ of Eq. 3.

        Returns
        -------
        contexts : list of ndarray of int64
            Rows of their centres, best first.
        unknown : list of str
            Texts of which the corpus has no word; they get contexts of the fixed set.
        """
        sentences, own = self.read(texts), self.corpus.rows_of(texts)
        found, unknown = [], []
        for number, (best, is_known) in enumerate(self._ranked(sentences)):
            # The contexts that contain the text, as centre or on a side.
            barred = (own[number][:, np.newaxis] + [-1, 0, 1]).ravel()
            head = np.empty(0, dtype=np.int64)
            if not is_known:
                unknown.append(texts[number])
            elif weights[1:].any():
                head = best(RANKED_PER_WANTED * size)
                head = head[~np.isin(self.centres[head], barred)]
                (terms,) = self.terms(sentences.take([number]), [self.centres[head]])
                head = head[np.lexsort((head, -combine_terms(terms, weights)))]
            tried = CONTEXTS_TRIED * size
            while True:
                candidates = best(tried)
                places = np.r_[head, candidates[~np.isin(candidates, head)]]
                rows = self.centres[places]
                words = word_sets(self.corpus.texts(rows - 1))
                chosen = select_contexts(rows, self.chunks[places], words, size, excluded=barred)
                if len(chosen) == size or len(candidates) < tried:
                    break
                tried *= 4
            found.append(rows[chosen])
        return found, unknown

    def _ranked(self, sentences: Sentences) -> Iterator[tuple[Callable[[int], np.ndarray], bool]]:
        """Rank contexts for each sentence.

        Yields
        ------
        best : callable
            Maps a number n to the positions of the n best contexts, best first.
        is_known : bool
            Whether the corpus contains a word of the sentence.
        """
        fixed = self.place(self.fixed)
        for start in range(0, len(sentences.texts), SENTENCES_AT_ONCE):
            stop = min(start + SENTENCES_AT_ONCE, len(sentences.texts))
            block = sentences.take(np.arange(start, stop))
            logits = np.empty((len(block.texts), len(self.contexts)), dtype=np.float32)
            for first in range(0, len(self.contexts), 16_384):
                vectors = np.asarray(self.contexts[first : first + 16_384], dtype=np.float32)
                logits[:, first : first + 16_384] = block.vectors @ vectors.T
            queries = sp.csr_array(hashed_counts(block.texts)).multiply(self.idf[np.newaxis])
            nearest = nearest_rows(sp.csr_array(queries), self.points, N_RETRIEVED)
            for line, chunks, products in zip(logits, *nearest, strict=True):
                if not products.any():
                    yield (lambda n: fixed[:n]), False
                    continue
                allowed = np.zeros(self.corpus.n_chunks, dtype=bool)
                allowed[chunks[products > 0]] = True
                yield functools.partial(_best_first, line, allowed[self.chunks]), True


def _best_first(logits: np.ndarray, allowed: np.ndarray, size: int) -> np.ndarray:
    """Return the places of the greatest logits, those allowed before all others."""
    first, last = np.flatnonzero(allowed), np.flatnonzero(~allowed)
    first = first[largest_first(logits[first], size)]
    last = last[largest_first(logits[last], size - len(first))]
    return np.concatenate([first, last])

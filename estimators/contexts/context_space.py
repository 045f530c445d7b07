"""Choose contexts for sentences (retrieval, ranking, diversity), and score sentences in them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from estimators.contexts.parts.building import (
    CORPUS,
    digest_of,
    encoded,
    open_discriminator,
    open_generator,
    open_spelling,
    open_vocabulary,
)
from estimators.contexts.parts.discriminator_training import sentence_states
from estimators.contexts.parts.part_folder import open_array, part_path, read_part, read_weights
from estimators.contexts.parts.text_counts import hashed_counts
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
    ids: np.ndarray  # (n, L)
    lengths: np.ndarray  # (n,)
    vectors: np.ndarray  # (n, q) float32: the centre vectors of the discriminator

    def take(self, rows: Any) -> Sentences:
        """Return some of them."""
        texts = [self.texts[row] for row in rows]
        return Sentences(texts, self.ids[rows], self.lengths[rows], self.vectors[rows])


class ContextSpace:
    """The opened parts of a fitted `ContextModel`.

    Parameters
    ----------
    root : Path
        Folder of the model.
    parts : dict of str to str
        Names of the parts by kind.
    digest : str
        Result of `digest_of` at the fit.
    sides : int
        Sentences of a context on each side.
    encoder : transformer or None
        Fitted; None if states come from spelling or from the network alone.
    device : str
        Device of the networks.
    prior : {"corpus", "training"}
        As in `ContextModel`.

    Raises
    ------
    FileNotFoundError, ValueError
        If a part is missing, damaged, outside the folder, or from another fit.
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
        # A corpus that the user passed may be in another folder.
        at = {kind: root / name if kind == CORPUS else part_path(root, name)
              for kind, name in parts.items()}  # fmt: skip
        self.corpus = SentenceCorpus(at[CORPUS], verify=False)
        if digest_of(self.corpus, root, parts) != digest:
            raise ValueError(
                f"the corpus in {self.corpus.folder} or the networks in {root} are not those that "
                "were fitted: they were made again from other documents or settings; fit again"
            )
        self.sides, self.prior = sides, prior
        self.centres = self.corpus.centres(sides)
        self.chunks = np.asarray(self.corpus.chunks)[self.centres]
        self.table, self.tokenizer = open_vocabulary(at["vocabulary"])
        self.max_length = int(read_part(at["vocabulary"])["made_of"]["max_length"])
        self.network = open_discriminator(at["discriminator"], device)
        # The encoder of the fixed vectors, if there are any.
        self.encoder = open_spelling(at["spelling"]) if "spelling" in at else encoder
        # One network for all three tasks.
        generates = "generator" in at
        self.generators = [open_generator(at["generator"], device)] * 3 if generates else []
        self._encoded: Any = b"", None
        self.contexts = open_array(at["discriminator"] / "contexts.npy")
        found = read_weights(at["retrieval"])
        self.idf = found.pop("idf")
        shape = self.corpus.n_chunks, len(self.idf)
        points = sp.csr_array((found["data"], found["indices"], found["indptr"]), shape=shape)
        self.points = check_sparse(points).tocsc()

    def read(self, texts: list[str]) -> Sentences:
        """Return tokens and vectors of sentences."""
        import torch

        table = encode_texts(self.tokenizer, texts, self.max_length)
        ids, lengths = table.padded(np.arange(len(texts)))
        fixed = None
        if self.encoder is not None:
            # As the states of the corpus, which are kept in half of the precision.
            fixed = encoded(self.encoder, texts).astype(np.float16)
        tokens = (ids, lengths) if hasattr(self.network, "states") else None
        with torch.inference_mode():
            states = sentence_states(self.network, tokens, fixed)
            vectors = self.network.centre(states).float().cpu().numpy()
        return Sentences(texts, ids, lengths, vectors)

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
        n_false = len(self.centres) if self.prior == "corpus" else 1
        vectors = np.asarray(self.contexts[self.place(rows)], dtype=np.float64)
        logits = sentences.vectors @ vectors.T
        return -np.logaddexp(0, np.log(n_false) - logits).astype(np.float32)

    @functools.cached_property
    def reference(self) -> Sentences:
        """Fixed sentences of the corpus; their scores compare contexts."""
        n = min(N_REFERENCE, len(self.centres))
        rows = np.random.default_rng(0).choice(self.centres, n, replace=False)
        return self.read(self.corpus.texts(np.sort(rows)))

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
            sides = (self.table.padded(rows + step) for step in (-1, 1))
            contexts = encode_contexts(self.generators[0], *sides)
            self._encoded = rows.tobytes(), contexts
        given = sentences.ids, sentences.lengths
        return generation_terms(self.generators[0], given, contexts)

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

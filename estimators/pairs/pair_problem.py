"""Training pairs as numbers of unique texts, with folds, groups and triplets."""

from __future__ import annotations

import hashlib
import json
import warnings
from functools import cached_property
from typing import Any

import numpy as np

from estimators.inputs import (
    DisjointPairsKFold,
    Fold,
    TextIndex,
    check_choice,
    check_integer,
    check_pair_labels,
    check_pairs,
    check_texts,
    conflicting_pairs,
    encode_labels,
    place_pairs,
    question_folds,
)
from estimators.persistence import savable
from film.corpus import connected_groups, groups_for_folds
from film.metric import triplets_from_pairs
from film.text import token_text

COUNTS = ("texts", "questions")


def digest(*parts: Any) -> str:
    """Return the digest of a JSON value."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def checked_problem(
    pairs: Any,
    y: Any,
    similar: Any,
    corpus: Any,
    random_state: int,
    *,
    n_random: int = 5,
    count: str = "texts",
) -> tuple[np.ndarray, Any, PairProblem]:
    """Check the arguments of `fit`; return both classes, the duplicate class, and the problem."""
    pairs = check_pairs(pairs, fits=True)
    y = check_pair_labels(y, len(pairs))
    further = pairs[:0] if similar is None else check_pairs(similar, name="similar")
    known = [] if corpus is None else check_texts(corpus, "corpus")
    check_integer("random_state", random_state, 0)
    check_integer("n_random", n_random, 1)
    check_choice("count", count, COUNTS)
    classes, duplicate, labels = encode_labels(y)
    raw = pairs.copy(), labels, further, known
    return classes, duplicate, PairProblem(*raw, random_state, n_random, count)


def _part(name: str, position: int, doc: str) -> Any:
    """Make a property of one entry of an attribute."""
    return property(lambda self: getattr(self, name)[position], doc=doc)


@savable
class PairProblem:
    """Training pairs as numbers of unique texts.

    Caches identify it by its key. Numbering texts takes far longer than the key; if all results are
    cached, as for most candidates of a search over k, texts are never numbered.

    Texts that are equal after `film.text.token_text` have the same number. Groups, which keep folds
    apart, use the coarser `film.text.normalize_text`.
    """

    def __init__(
        self,
        pairs: np.ndarray,
        labels: np.ndarray,
        similar: np.ndarray,
        corpus: list[str],
        seed: int,
        n_random: int,
        count: str,
    ) -> None:
        self.labels = labels
        self.count = count
        self.n_random = n_random
        self.seed = seed
        self._raw = pairs, similar, corpus
        self.training_key = digest(
            [pairs.ravel().tolist(), similar.ravel().tolist(), labels.tolist()],
            [int(self.n_random), int(self.seed)],
        )
        self.key = digest(self.training_key, corpus, self.count)

    @cached_property
    def _numbered(self) -> tuple[list[str], int, np.ndarray, np.ndarray, np.ndarray | None]:
        pairs, similar, corpus = self._raw
        conflicts = conflicting_pairs(pairs, self.labels)
        if conflicts:
            warnings.warn(
                f"pairs with both labels: {len(conflicts)}, the first at rows "
                f"{conflicts[0].tolist()}; they count with both, and as similar in mining",
                UserWarning,
                stacklevel=2,
            )
        index = TextIndex("token_text")
        # Sorted, so that order within pairs changes neither numbers nor which spelling is kept.
        # A text without words has the zero vector, the zero point of one-sided negatives.
        null = int(index.add(sorted({"", *pairs.flat, *similar.flat}))[0])
        codes, more = index.add_pairs(pairs), index.add_pairs(similar)
        asked = np.unique(index.add(sorted(set(corpus)))) if corpus else None
        return index.texts, null, codes, more, asked

    pairs = _part("_raw", 0, "Texts of the pairs as they came, (n, 2).")
    further_pairs = _part("_raw", 1, "Texts of further similar pairs as they came, (m, 2).")
    corpus_texts = _part("_raw", 2, "Texts of the corpus as they came.")
    texts = _part("_numbered", 0, "Unique texts, one spelling each.")
    null = _part("_numbered", 1, "Number of the text without words.")
    codes = _part("_numbered", 2, "Numbers of the pairs' texts, (n, 2).")
    similar = _part("_numbered", 3, "Numbers of the texts of further similar pairs, (m, 2).")
    asked = _part("_numbered", 4, "In collection mode, numbers of the corpus texts.")

    @cached_property
    def corpus(self) -> np.ndarray | None:
        """Numbers of all known texts in collection mode."""
        if self.asked is None:
            return None
        return np.unique(np.concatenate([self.codes.ravel(), self.similar.ravel(), self.asked]))

    @cached_property
    def groups(self) -> np.ndarray:
        """Group of linked texts of each text."""
        sentences = self.sentences
        links = sentences[np.vstack([self.codes, self.similar])]
        return connected_groups(links, int(sentences.max()) + 1)[sentences]

    @cached_property
    def sentences(self) -> np.ndarray:
        """Number of each text's sentence, by the coarser `normalize_text`."""
        return TextIndex().add(self.texts)

    def placed(self, pairs: np.ndarray) -> tuple[list[str], np.ndarray]:
        """Return the new texts of other pairs, and the numbers of all, with new texts last."""
        return place_pairs([token_text(text) for text in self.texts], pairs)

    def or_same(self, before: PairProblem | None) -> PairProblem:
        """Return an earlier problem if it is equal, since its texts have numbers."""
        return before if before is not None and getattr(before, "key", "") == self.key else self

    @cached_property
    def groups_for_folds(self) -> np.ndarray:
        """Group of each pair whose pairs stay together (`film.corpus.groups_for_folds`)."""
        sentences = self.sentences
        return groups_for_folds(sentences[self.codes], self.labels, int(sentences.max()) + 1)

    def groups_among(self, rows: np.ndarray) -> np.ndarray:
        """Return the groups of some pairs by their own labels: linked texts, or duplicates."""
        groups = self.groups[self.codes[rows, 0]]
        if 2 * np.bincount(groups).max() <= len(rows):
            return groups
        linked = self.sentences[self.codes[rows]]
        return groups_for_folds(linked, self.labels[rows], int(self.sentences.max()) + 1)

    def most_folds(self) -> int:
        """Return the most folds that can each have pairs of both classes."""
        groups = self.groups_for_folds
        return min(len(np.unique(groups[self.labels == label])) for label in (0, 1))

    def folds(self, splitter: Any) -> list[Fold]:
        """Return training and test rows of each fold, which share no sentence.

        If common sentences link more than half of the pairs, our own folds share no duplicate.
        """
        sentences, groups = self.sentences, self.groups_for_folds
        if isinstance(splitter, DisjointPairsKFold):
            return list(splitter.split(self.codes, self.labels, groups))
        first = dict(zip(sentences[::-1].tolist(), self.texts[::-1], strict=True))
        return question_folds(
            splitter, sentences[self.codes], self.labels, first, int(sentences[self.null])
        )

    def supervision(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return some of the pairs, and the similar pairs that are linked to no other pair."""
        held_out = np.setdiff1d(np.arange(len(self.codes)), rows)
        foreign = self.groups[self.codes[held_out, 0]]
        # Folds are disjoint over the pairs, but further similar pairs may link two of them.
        free = ~np.isin(self.groups[self.similar[:, 0]], foreign)
        pairs = np.vstack([self.codes[rows], self.similar[free]])
        return pairs, np.append(self.labels[rows], np.ones(int(free.sum()), dtype=int))

    def triplets(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the texts of some pairs, and triplets of positions among them."""
        pairs, labels = self.supervision(rows)
        used, local = np.unique(np.append(pairs.ravel(), self.null), return_inverse=True)
        worded = self._has_words(pairs)
        triplets = triplets_from_pairs(
            local[:-1].reshape(-1, 2)[worded],
            labels[worded],
            len(used),
            n_random=self.n_random,
            null=int(local[-1]),
            random_state=self.seed,
        )
        if not labels[worded].any() or len(triplets) == 0:
            raise ValueError(
                f"no triplet can be mined from the {len(rows)} training pairs: they need at least "
                "one duplicate pair and a third text; give more pairs"
            )
        return used, triplets

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the texts that ranks count, given the known pairs."""
        pairs, labels = self.supervision(rows)
        texts = np.unique(pairs) if self.corpus is None else self.corpus
        if self.count == "texts":
            return texts
        links = pairs[(labels == 1) & self._has_words(pairs)]
        clusters = connected_groups(links, len(self.texts))[texts]
        return texts[np.unique(clusters, return_index=True)[1]]

    def _has_words(self, pairs: np.ndarray) -> np.ndarray:
        """Return which pairs have words in both texts; only these carry information."""
        return (pairs != self.null).all(axis=1)


def folds_of(key: str, splitter: Any, problem: PairProblem) -> list[Fold]:
    """Return the folds of a problem, for a cache that identifies it by its key."""
    return problem.folds(splitter)

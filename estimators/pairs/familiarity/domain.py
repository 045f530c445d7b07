"""How similar texts are to the training texts of a stack, and what it does where they are not."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from estimators.encoders import SentenceEncoder
from estimators.inputs import as_texts
from estimators.pairs.familiarity.statistics import Embed, Familiarity
from estimators.pairs.familiarity.untrained_similarity import (
    NAME,
    Reading,
    TrainingSimilarity,
    UntrainedSimilarity,
)
from estimators.pairs.lexical import LexicalFeatures
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.encodings import Encodings
from estimators.persistence import savable
from film.pairs import fallen_back, untrained_share
from film.text import token_text

MOST_TEXTS = 5_000
"""Texts of a collection that its familiarity is measured on."""

FEWEST_TEXTS = 30
"""Fewer do not show what they are like: their share falls in proportion."""

VECTORS = "vectors"
"""Name of the reading by an encoder's vectors."""


@savable
class Domain:
    """The kind of text that a stack was trained on, and its untrained similarity for other kinds.

    Parameters
    ----------
    problem : PairProblem
        Training pairs.
    readings : dict of str to callable
        From `readings_of`.
    adapts : bool
        Whether untrained similarity may count: the final model is a default one.
    """

    untrained: UntrainedSimilarity | None = None

    def __init__(self, problem: PairProblem, readings: Mapping[str, Reading], adapts: bool) -> None:
        used, codes = np.unique(problem.codes, return_inverse=True)
        self.familiarity = Familiarity(
            [problem.texts[code] for code in used],
            codes.reshape(problem.codes.shape),
            problem.groups[used],
            readings.get(VECTORS),
            problem.seed,
        )
        known = dict(readings) if adapts else {}
        self.training = TrainingSimilarity(problem.pairs, known, problem.seed)
        self.share = 0.0

    def adapted(
        self,
        texts: list[str],
        readings: Mapping[str, Reading],
        verdicts: list[int],
        inputs: np.ndarray,
        labels: np.ndarray,
        weights: Any,
    ) -> Domain:
        """Return a copy in which untrained similarity has its share for a collection of texts.

        ``verdicts`` are the columns of members that learn nothing among the final model's
        ``inputs`` out of fold, which have ``labels`` and ``weights``.
        """
        other = copy.copy(self)
        sample = as_texts([texts[row] for row in sampled_rows(len(texts))])
        reading = next(iter(readings), None)
        collection = None if reading is None else readings[reading](sample.tolist())
        other.untrained = UntrainedSimilarity(
            self.training, reading, collection, verdicts, inputs, labels, weights
        )
        embed, n_texts = readings.get(VECTORS), len(set(sample))
        familiarity = self.familiarity.of_pairs(np.column_stack([sample, sample]), embed)
        share = untrained_share(familiarity, self.familiarity.typical(embed))
        other.share = share * min(1.0, n_texts / FEWEST_TEXTS)
        if n_texts < FEWEST_TEXTS:
            warnings.warn(
                f"{n_texts} different texts are too few to show what a collection is like, so that "
                f"untrained similarity has {n_texts}/{FEWEST_TEXTS} of the share that it would "
                f"have: give {FEWEST_TEXTS} or more",
                UserWarning,
                stacklevel=3,
            )
        return other

    def unadapted(self) -> Domain:
        """Return a copy in which untrained similarity has no share."""
        other = copy.copy(self)
        other.share = 0.0
        return other

    @property
    def names(self) -> list[str]:
        """Names of the columns that `append_similarity` adds."""
        return [NAME] if self._typical else []

    @property
    def _typical(self) -> list[float]:
        return [] if self.share == 0 or self.untrained is None else self.untrained.typical

    def append_similarity(
        self, inputs: np.ndarray, pairs: np.ndarray, readings: Mapping[str, Reading]
    ) -> np.ndarray:
        """Append to the final model's inputs the similarity that an adapted model uses too."""
        if self.untrained is None or not self._typical:
            return inputs
        return self.untrained.beside(inputs, pairs, readings[str(self.untrained.reading)])

    def append_typical(self, typical: np.ndarray) -> np.ndarray:
        """Append the typical similarity to the typical inputs of the final model."""
        return np.append(typical, self._typical)

    def blend(self, p: np.ndarray, inputs: np.ndarray, n_learned: int) -> np.ndarray:
        """Give untrained similarity its share in the final model's probabilities.

        ``n_learned`` counts the inputs of the final model.
        """
        if self.share == 0 or self.untrained is None:
            return p
        wanted = n_learned + len(self._typical)
        if inputs.shape[1] != wanted:
            raise ValueError(
                f"inputs have {inputs.shape[1]} columns, this adapted model looks at {wanted}: "
                "give what its method inputs returns since adapt"
            )
        return fallen_back(p, self.untrained.log_odds(inputs), self.share)


def readings_of(
    members: list[tuple[str, Any]],
    collections: Mapping[str, Any],
    features: Any,
    encodings: Encodings,
) -> dict[str, Reading]:
    """Return the ways to read texts as vectors that no label trained, the best first.

    They are the vectors of the first member that is an encoder, and the character n-grams of
    lexical features.
    """
    readings: dict[str, Reading] = {}
    for name, member in members:
        if is_encoder(member) and name in collections:
            readings[VECTORS] = _vectors_of(member, collections[name], encodings)
            break
    if isinstance(features, LexicalFeatures):
        readings["characters"] = features.character_vectors
    return readings


def _vectors_of(member: Any, collection: Any, encodings: Encodings) -> Embed:
    """Embed texts; those of the collection are embedded already."""
    place = {text: row for row, text in enumerate(collection.texts)}

    def embed(texts: list[str]) -> np.ndarray:
        rows = np.array([place.get(token_text(text), -1) for text in texts])
        vectors = collection.points[rows]
        new = [text for text, row in zip(texts, rows, strict=True) if row < 0]
        if new:
            vectors[rows < 0] = encodings.embed(member, new)
        return vectors

    return embed


def sampled_rows(n_texts: int) -> np.ndarray:
    """Rows of a collection that `DuplicateClassifier.adapt` looks at, in their order."""
    return np.sort(np.random.default_rng(0).permutation(n_texts)[:MOST_TEXTS])


def is_encoder(member: Any) -> bool:
    """Whether a member's vectors are those of a `SentenceEncoder`, which learns nothing."""
    while isinstance(member, Pipeline | FrozenEstimator):
        member = member[-1] if isinstance(member, Pipeline) else member.estimator
    return isinstance(member, SentenceEncoder)

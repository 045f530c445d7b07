"""What a fitted stack knows of where it is: familiarity of pairs, and what it does without it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import SentenceEncoder
from estimators.inputs import as_texts, check_pairs, check_texts
from estimators.pairs.familiarity.statistics import Embed, Familiarity
from estimators.pairs.familiarity.unfamiliar import warn_of_unfamiliar
from estimators.pairs.familiarity.untrained_similarity import (
    NAME,
    TrainingSimilarity,
    UntrainedSimilarity,
)
from estimators.pairs.lexical import LexicalFeatures
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.encodings import Encodings
from estimators.pairs.stack.final_model import reaching_weights
from estimators.pairs.stack.members import PREDICTOR_COLUMNS
from estimators.pairs.stack.plans import learns_nothing
from film.pairs import fallen_back, untrained_share
from film.text import token_text

MOST_TEXTS = 5_000
"""Texts of a collection that its familiarity is measured on."""

FEWEST_TEXTS = 30
"""Fewer do not show what they are like: their share falls in proportion."""


class FamiliarTexts(BaseEstimator):
    """What `DuplicateClassifier` knows of the texts that it was fitted to."""

    members_: list[tuple[str, Any]]
    feature_names_out_: list[str]
    final_estimator: Any
    random_state: Any
    _collections: dict[str, Any]
    final_estimator_: Any
    out_of_fold_: np.ndarray
    typical_: np.ndarray
    untrained_share_: float
    _labels: np.ndarray
    _final_fit_params: dict[str, Any]
    features_: Any
    _untrained: UntrainedSimilarity
    _familiarity: Familiarity
    _training_similarity: TrainingSimilarity

    def familiarity(self, pairs: Any, encodings: Encodings | None = None) -> np.ndarray:
        """Tell how like the fitted texts those of pairs are.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        encodings : Encodings, default=None
            As in `DuplicateClassifier.inputs`.

        Returns
        -------
        familiarity : ndarray of float64, shape (n_pairs,)
            From 0, of another kind, to 1. It changes no probability. Where many pairs have
            `familiarity_limit_` or less, the texts are of a kind that the model does not know: see
            `adapt`.

        Notes
        -----
        Statistics of both texts: how rare their words, bigrams, words near each other and
        patterns of frequent words are, how long they are, how near the nearest fitted texts are by
        words and by parts of words; and how near by the vectors of a member that is a
        `SentenceEncoder`, where there is one. Labels play no part. A text of which no word is known
        makes it 0, as the empty text does.

        Examples
        --------
        >>> from estimators import fast_duplicates
        >>> from film.datasets import make_question_pairs
        >>> data = make_question_pairs(400, random_state=0)
        >>> model = fast_duplicates(d=20, rank=50, cv=2).fit(data.pairs[:300], data.y[:300])
        >>> model.familiarity([("Der Hund schläft.", ""), ("日本語", "テスト")])
        array([0., 0.])
        """
        check_is_fitted(self)
        embed = self._embed(encodings or Encodings())
        return self._familiarity.of_pairs(check_pairs(pairs), embed)

    @property
    def familiarity_limit_(self) -> float:
        """Familiarity that fewer than 5 % of pairs of the fitted kind have or fall below.

        Measured on training pairs whose texts were left out, with `film.pairs.familiarity_limit`;
        0, which pairs with an unknown or empty text alone have, where there are too few of them.
        """
        check_is_fitted(self)
        return self._familiarity.limit(self._embed(Encodings()))

    def warn_of_unfamiliar(
        self, familiarity: np.ndarray, what: str = "pairs", stacklevel: int = 3
    ) -> None:
        """Warn where more than a quarter are of another kind, unless the model is adapted.

        Parameters
        ----------
        familiarity : ndarray of float64, shape (n,)
            From `familiarity`.
        what : str, default="pairs"
            What has them, in the message.
        stacklevel : int, default=3
            Of the warning.

        Warns
        -----
        UnfamiliarTextsWarning
        """
        if self.untrained_share_ == 0:
            warn_of_unfamiliar(familiarity, self.familiarity_limit_, what, stacklevel + 1)

    def adapt(self, texts: Any, encodings: Encodings | None = None) -> Any:
        """Let untrained similarity judge the more, the less a collection is like the fitted texts.

        Log-odds become ``(1 − λ) · logit p + λ · u``, λ being `film.pairs.untrained_share` of the
        texts' familiarity. u is untrained similarity on the scale that the training labels gave
        it: the cosine of vectors drawn towards their neighbours in the collection
        (`film.pairs.drawn_to_neighbours`), those of a member that is a `SentenceEncoder`, else of
        characters; and the verdicts of members that learn nothing, where there are any. `inputs`
        and explanations have it as a column more; they still sum.

        Parameters
        ----------
        texts : iterable of str, or None
            An unlabelled collection, 30 different texts or more: of the kind that pairs will be
            judged of. Of n < 30 the share is n / 30 of what it would be. None goes back to the
            model as it was fitted.
        encodings : Encodings, default=None
            As in `DuplicateClassifier.inputs`.

        Returns
        -------
        self : DuplicateClassifier
            With `untrained_share_` set.

        Raises
        ------
        TypeError, ValueError
            If texts are missing, or the model has no untrained similarity: its final model is one
            of your own, or it has neither lexical features nor a member that learns nothing, such
            as a `SentenceEncoder`.

        Warns
        -----
        UserWarning
            If there are fewer than 30 different texts: a few may look unlike the fitted ones by
            chance, and untrained similarity would then judge what training judges better.

        Notes
        -----
        The prior stays: texts do not tell which pairs of them will be asked. A share learned on
        topics of the training texts that are left out is 0: there, trained members stay ahead of
        untrained similarity. So how fast it rises is a constant, chosen on CLINC150 for
        classifiers that were fitted to Quora, and how far texts are drawn on CLINC150 and on
        training pairs of Quora, STS-B and SICK. At most 5,000 texts, taken at random, are the
        collection; an encoder reads them once. `out_of_fold_probabilities` and thresholds are about
        the fitted texts and do not follow.

        Examples
        --------
        >>> from estimators import fast_duplicates
        >>> from film.datasets import make_question_pairs
        >>> data = make_question_pairs(400, random_state=0)
        >>> model = fast_duplicates(d=20, rank=50, cv=2).fit(data.pairs, data.y)
        >>> model.adapt([f"Es regnet am {day}. Mai." for day in range(1, 32)]).untrained_share_
        1.0
        >>> model.adapt(None).untrained_share_
        0.0
        """
        check_is_fitted(self)
        if texts is None:
            self.untrained_share_ = 0.0
            return self
        given = check_texts(texts, "texts")
        encodings = encodings or Encodings()
        reading = next(iter(self._readings(encodings)), None)
        verdicts = self._untrained_verdicts()
        if self.final_estimator is not None or (reading is None and not verdicts):
            raise ValueError(
                "this model has no untrained similarity to fall back to: fit it with "
                "final_estimator=None, and features='lexical' or a member such as SentenceEncoder()"
            )
        sample = as_texts([given[row] for row in sampled_rows(len(given))])
        weights = reaching_weights(self.final_estimator_, self._final_fit_params)
        collection = None
        if reading is not None:
            collection = self._readings(encodings)[reading](sample.tolist())
        self._untrained = UntrainedSimilarity(
            *(self._training_similarity, reading, collection, verdicts),
            *(self.out_of_fold_, self._labels, weights),
        )
        embed = self._embed(encodings)
        familiarity = self._familiarity.of_pairs(np.column_stack([sample, sample]), embed)
        n_texts = len(set(sample))
        share = untrained_share(familiarity, self._familiarity.typical(embed))
        self.untrained_share_ = share * min(1.0, n_texts / FEWEST_TEXTS)
        if n_texts < FEWEST_TEXTS:
            warnings.warn(
                f"{n_texts} different texts are too few to show what a collection is like, so that "
                f"untrained similarity has {n_texts}/{FEWEST_TEXTS} of the share that it would "
                f"have: give {FEWEST_TEXTS} or more",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _learn_texts(self, problem: PairProblem) -> None:
        """Count the words of the training texts, and compare some within their own collection."""
        used, codes = np.unique(problem.codes, return_inverse=True)
        encodings = Encodings()
        self._familiarity = Familiarity(
            [problem.texts[code] for code in used],
            codes.reshape(problem.codes.shape),
            problem.groups[used],
            self._embed(encodings),
            problem.seed,
        )
        readings = self._readings(encodings) if self.final_estimator is None else {}
        self._training_similarity = TrainingSimilarity(problem.pairs, readings, problem.seed)
        self.untrained_share_ = 0.0

    def _beside(self, inputs: np.ndarray, pairs: np.ndarray, encodings: Encodings) -> np.ndarray:
        """Add to the final model's inputs what an adapted model looks at too."""
        if self.untrained_share_ == 0 or self._untrained.reading is None:
            return inputs
        reading = self._readings(encodings)[self._untrained.reading]
        return self._untrained.beside(inputs, pairs, reading)

    def _fallen_back(self, p: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Give untrained similarity its share in the final model's probabilities."""
        share = self.untrained_share_
        if share == 0:
            return p
        wanted = len(self.feature_names_out_) + len(self._untrained.typical)
        if inputs.shape[1] != wanted:
            raise ValueError(
                f"inputs have {inputs.shape[1]} columns, this adapted model looks at {wanted}: "
                "give what its method inputs returns since adapt"
            )
        return fallen_back(p, self._untrained.log_odds(inputs), share)

    def _beside_names(self) -> list[str]:
        """Names of the columns that `_beside` adds."""
        share = self.untrained_share_
        return [] if share == 0 or not self._untrained.typical else [NAME]

    def _typical_inputs(self) -> np.ndarray:
        return np.append(self.typical_, self._untrained.typical if self._beside_names() else [])

    def _untrained_verdicts(self) -> list[int]:
        """Columns of the verdicts of members that learn nothing."""
        still = {name for name, member in self.members_ if learns_nothing(member)}
        names = {f"{name}: {end}" for name in still for end in PREDICTOR_COLUMNS}
        return [i for i, name in enumerate(self.feature_names_out_) if name in names]

    def _readings(self, encodings: Encodings) -> dict[str, Any]:
        """Read texts in ways that no label trained, the best first."""
        readings: dict[str, Any] = {}
        embed = self._embed(encodings)
        if embed is not None:
            readings["vectors"] = embed
        if isinstance(self.features_, LexicalFeatures):
            readings["characters"] = self.features_.character_vectors
        return readings

    def _embed(self, encodings: Encodings) -> Embed | None:
        """Vectors of texts by the first member that is an encoder, None if none is."""
        for name, member in self.members_:
            if is_encoder(member) and name in self._collections:
                return _vectors_of(member, self._collections[name], encodings)
        return None


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
    """Rows of a collection that `FamiliarTexts.adapt` looks at, in their order."""
    return np.sort(np.random.default_rng(0).permutation(n_texts)[:MOST_TEXTS])


def is_encoder(member: Any) -> bool:
    """Whether a member's vectors are those of a `SentenceEncoder`, which learns nothing."""
    while isinstance(member, Pipeline | FrozenEstimator):
        member = member[-1] if isinstance(member, Pipeline) else member.estimator
    return isinstance(member, SentenceEncoder)

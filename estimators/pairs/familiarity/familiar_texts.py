"""What a fitted stack knows of where it is: familiarity of pairs, and what it does without it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import SentenceEncoder
from estimators.inputs import READINGS, as_texts, check_pairs, check_texts
from estimators.pairs.familiarity.statistics import Embed, Familiarity
from estimators.pairs.lexical import COSINE_NAMES
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.final_model import reaching_weights
from estimators.pairs.stack.members import EMBEDDER_COLUMNS, PREDICTOR_COLUMNS
from estimators.pairs.stack.plans import learns_nothing
from estimators.persistence import savable
from film.pairs import fallen_back, untrained_share

MOST_TEXTS = 5_000
"""Texts of a collection that its familiarity is measured on."""


@savable
class UntrainedSimilarity:
    """Log-odds by similarities that no label trained, among the inputs of a final model.

    Labels give them a scale and no more: a logistic regression on their mean in standard
    deviations.
    """

    def __init__(
        self, columns: list[int], inputs: np.ndarray, labels: np.ndarray, weights: Any
    ) -> None:
        self.columns = columns
        self.means = inputs[:, columns].mean(axis=0)
        deviations = inputs[:, columns].std(axis=0)
        self.deviations = np.where(deviations > 0, deviations, 1.0)
        model = LogisticRegression().fit(self._similarity(inputs)[:, None], labels, weights)
        self.slope = max(0.0, float(model.coef_[0, 0]))
        self.intercept = float(model.intercept_[0])

    def log_odds(self, inputs: np.ndarray) -> np.ndarray:
        """Give the log-odds of pairs from the final model's inputs, (n,)."""
        return self.intercept + self.slope * self._similarity(inputs)

    def _similarity(self, inputs: np.ndarray) -> np.ndarray:
        return ((inputs[:, self.columns] - self.means) / self.deviations).mean(axis=1)


class FamiliarTexts(BaseEstimator):
    """What `DuplicateClassifier` knows of the texts that it was fitted to."""

    members_: list[tuple[str, Any]]
    feature_names_out_: list[str]
    final_estimator: Any
    random_state: Any
    _collections: dict[str, Any]
    final_estimator_: Any
    out_of_fold_: np.ndarray
    untrained_share_: float
    _labels: np.ndarray
    _final_fit_params: dict[str, Any]
    _untrained: UntrainedSimilarity

    @property
    def has_familiarity(self) -> bool:
        """Whether the fitted model counted its texts, as earlier versions did not."""
        check_is_fitted(self)
        return hasattr(self, "_familiarity")

    def familiarity(self, pairs: Any) -> np.ndarray:
        """Tell how like the fitted texts those of pairs are.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        familiarity : ndarray of float64, shape (n_pairs,)
            From 0, of another kind, to 1. It changes no probability. Where many pairs are below
            ½, the texts are of a kind that the model does not know: see `adapt`.

        Raises
        ------
        ValueError
            If the model was saved before it kept what this needs.

        Notes
        -----
        Statistics of both texts: how rare their words, bigrams and patterns of frequent words
        are, how long they are, how near the nearest fitted texts are; and how near by the vectors
        of a member that is a `SentenceEncoder`, where there is one. Labels play no part. A text
        of which no word is known makes it 0, as the empty text does.

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
        return self._known_texts().of_pairs(check_pairs(pairs), self._embed())

    def adapt(self, texts: Any) -> Any:
        """Let untrained similarity judge the more, the less a collection is like the fitted texts.

        Log-odds become ``(1 − λ) · logit p + λ · u``: u is untrained similarity, the mean of the
        cosine of characters and of the similarities of members that learn nothing, on the scale
        that the training labels gave it; λ is `film.pairs.untrained_share` of the texts'
        familiarity. Explanations follow, and still sum.

        Parameters
        ----------
        texts : iterable of str, or None
            An unlabelled collection, at least one text: of the kind that pairs will be judged of.
            None goes back to the model as it was fitted.

        Returns
        -------
        self : DuplicateClassifier
            With `untrained_share_` set.

        Raises
        ------
        TypeError, ValueError
            If texts are missing or none, the model was saved by an earlier version, or it has no
            untrained similarity: its final model is one of your own, or it has neither lexical
            features nor a member that learns nothing, such as a `SentenceEncoder`.

        Notes
        -----
        The prior stays: texts do not tell which pairs of them will be asked. A share learned on
        topics of the training texts that are left out is 0: there, trained members stay ahead of
        untrained similarity. So how fast it rises is a constant, chosen on CLINC150 for
        classifiers that were fitted to Quora. `out_of_fold_probabilities` and thresholds are about
        the fitted texts and do not follow.

        Examples
        --------
        >>> from estimators import fast_duplicates
        >>> from film.datasets import make_question_pairs
        >>> data = make_question_pairs(400, random_state=0)
        >>> model = fast_duplicates(d=20, rank=50, cv=2).fit(data.pairs, data.y)
        >>> model.adapt(["Der Hund schläft.", "Die Katze schläft."]).untrained_share_
        1.0
        >>> model.adapt(None).untrained_share_
        0.0
        """
        check_is_fitted(self)
        known = self._known_texts()
        if texts is None:
            self.untrained_share_ = 0.0
            return self
        given = check_texts(texts, "texts")
        columns = self._untrained_columns() if self.final_estimator is None else []
        if not columns:
            raise ValueError(
                "this model has no untrained similarity to fall back to: fit it with "
                "final_estimator=None, and features='lexical' or a member such as SentenceEncoder()"
            )
        rows = np.random.default_rng(0).permutation(len(given))[:MOST_TEXTS]
        sample = as_texts([given[row] for row in np.sort(rows)])
        weights = reaching_weights(self.final_estimator_, self._final_fit_params)
        self._untrained = UntrainedSimilarity(columns, self.out_of_fold_, self._labels, weights)
        embed = self._embed()
        familiarity = known.of_pairs(np.column_stack([sample, sample]), embed)
        self.untrained_share_ = untrained_share(familiarity, known.typical(embed))
        return self

    def _known_texts(self) -> Familiarity:
        known = getattr(self, "_familiarity", None)
        if known is None:
            raise ValueError(
                "this model was saved by an earlier version, which did not count the words of its "
                "training texts: fit it again"
            )
        return known

    def _learn_texts(self, problem: PairProblem) -> None:
        """Count the words of the training texts."""
        used, codes = np.unique(problem.codes, return_inverse=True)
        self._familiarity = Familiarity(
            [problem.texts[code] for code in used],
            codes.reshape(problem.codes.shape),
            problem.groups[used],
            self._embed(),
            problem.seed,
        )
        self.untrained_share_ = 0.0

    def _fallen_back(self, p: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Give untrained similarity its share in the final model's probabilities."""
        share = getattr(self, "untrained_share_", 0.0)
        return p if share == 0 else fallen_back(p, self._untrained.log_odds(inputs), share)

    def _untrained_columns(self) -> list[int]:
        """Give the columns of the similarities by members that learn nothing, and by characters."""
        still = {name for name, member in self.members_ if learns_nothing(member)}
        ends = (EMBEDDER_COLUMNS[0], *PREDICTOR_COLUMNS)
        names = {f"{name}: {end}" for name in still for end in ends} | {COSINE_NAMES[-1]}
        return [i for i, name in enumerate(self.feature_names_out_) if name in names]

    def _embed(self) -> Embed | None:
        """Give the vectors of texts by the first member that is an encoder, None if none is."""
        for name, member in self.members_:
            if is_encoder(member) and name in self._collections:
                return _vectors_of(member, self._collections[name])
        return None


def _vectors_of(member: Any, collection: Any) -> Embed:
    """Embed texts; those of the collection are embedded already."""
    read = READINGS[collection.reading]
    place = {text: row for row, text in enumerate(collection.texts)}

    def embed(texts: list[str]) -> np.ndarray:
        rows = np.array([place.get(read(text), -1) for text in texts])
        vectors = collection.points[rows]
        new = [text for text, row in zip(texts, rows, strict=True) if row < 0]
        if new:
            vectors[rows < 0] = member.transform(as_texts(new))
        return vectors

    return embed


def is_encoder(member: Any) -> bool:
    """Whether a member's vectors are those of a `SentenceEncoder`, which learns nothing."""
    while isinstance(member, Pipeline | FrozenEstimator):
        member = member[-1] if isinstance(member, Pipeline) else member.estimator
    return isinstance(member, SentenceEncoder)

"""The Pairwise kNN rule: two texts are duplicates if each is among the other's nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.memory import NotMemorizedResult
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import (
    TwoLabels,
    check_choice,
    check_integer,
    check_pair_labels,
    check_pairs,
    check_real,
    checked_memory,
    cloned,
    splitter_of,
    tags_of_texts,
)
from estimators.metric import FILM
from estimators.pairs.encoder_checks import check_encoders
from estimators.pairs.pair_problem import checked_problem, digest, folds_of
from estimators.pairs.pairwise_ranks import (
    counted_texts,
    out_of_fold_ranks,
    points_of,
    ranks_of,
)
from estimators.pairs.stack.members import fit_embedder
from estimators.persistence import savable
from film.pairs import Rates, effective_ranks, rates_over_k

MODES = ("both", "either")
COPIES = 0.7
"""Cosine of copies in the default space, chosen out of fold inside Quora's train file."""
# Ranks are counted up to a power of two past k, this one at least, so that many k share a search.
_LEAST_COUNT = 64
# Out-of-fold ranks are there to choose k by, and so are counted farther.
_OUT_OF_FOLD_COUNT = 1024


@savable
class PairwiseKNNClassifier(TwoLabels, ClassifierMixin, BaseEstimator):
    """Classify pairs of texts by their neighbour ranks in a learned space.

    rank(x → x′) counts the unique texts of a corpus that are strictly closer to x than x′ is. A
    pair is a duplicate when its rank is below ``k`` from both sides. One rank answers every k.

    Parameters
    ----------
    embedder : estimator, default=None
        Texts → dense vectors. It is fitted as ``embedder.fit(texts, triplets)`` on the unique
        texts of the pairs and triplets mined from their labels, so a pipeline that ends in `FILM`
        learns from them. None is FILM of 30 directions over TF-IDF of character trigrams.
    k : int, default=36
        Neighbourhood size; the paper's choice.
    mode : {"both", "either"}, default="both"
        Whether both ranks have to be below k, as in the paper, or one is enough.
    corpus : iterable of str, default=None
        None is *inductive* mode: ranks run over the fitted texts of one fold's training pairs,
        and a prediction depends on nothing but its own pair. With texts it is *collection* mode:
        these texts, the ones to be judged among them, are known though unlabelled, and belong to
        the corpus as all fitted texts do.
    cv : int or splitter, default=5
        Question-disjoint folds by which the two rates are measured out of fold; each pair is in
        one test fold. A splitter whose folds share questions is refused, unless it is an
        `AllowSharedQuestions`.
    count : {"texts", "questions"}, default="texts"
        What ranks count: unique texts, as in the paper, or questions, where the texts of a
        cluster of known duplicates count once, so that a question with many copies does not push
        a new copy out of its neighbourhood.
    copies : float, "auto" or None, default="auto"
        Cosine in the embedder's space, from 0 to 1, above which texts of the corpus are copies that
        count once (`film.corpus.leaders`). Nobody lists all copies of a question; uncounted, they
        push each other out of its neighbourhood. None counts every text, as in the paper. "auto" is
        0.7 in the default space and None in others, whose cosines mean something else.
    n_random : int, default=5
        Random dissimilar texts per anchor, in mining.
    memory : str or joblib.Memory, default=None
        Where to cache embeddings and ranks, by texts and parameters of the embedder but not by
        ``k`` or ``mode``: a search over k then costs one fit. It must be a folder of your own.
    random_state : int, default=0
        Seeds mining and folds. Fixed by default, so that the candidates of a search share fits.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, sorted.
    duplicate_class_ : label
        The one of duplicates.
    embedder_ : estimator
        Fitted embedder.
    out_of_fold_ranks_ : ndarray of int64, shape (n_pairs, 2)
        Ranks of the training pairs under embedders that saw none of their questions, counted up to
        1024, or a power of two past k where that is more: enough to choose among smaller k.
    inside_rate_, outside_rate_ : float
        Share of duplicates among out-of-fold pairs inside and outside k, smoothed by Laplace's
        rule: what `predict_proba` answers.

    See Also
    --------
    FILM : The metric.
    DisjointPairsKFold : Folds without shared questions.

    Notes
    -----
    A rank grows with the corpus that it counts, so the two rates hold for corpora of one size.
    They are measured over the training texts of folds, a share 1 - 1/cv of all, and predictions
    count as many: those of the first fold. Clusters of known duplicates (``count="questions"``)
    are likewise those of its pairs. With a ``corpus``, every text counts in both.

    References
    ----------
    FILM paper, section 3.3.

    Examples
    --------
    >>> from estimators import FILM, PairwiseKNNClassifier
    >>> from film.datasets import make_question_pairs
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> data = make_question_pairs(400, random_state=0)
    >>> embedder = make_pipeline(TfidfVectorizer(), FILM(d=20, rank=100, random_state=0))
    >>> knn = PairwiseKNNClassifier(embedder, k=5, cv=3).fit(data.pairs, data.y)
    >>> knn.predict_proba(data.pairs[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        embedder: Any = None,
        k: int = 36,
        *,
        mode: Any = "both",
        corpus: Any = None,
        cv: Any = 5,
        count: str = "texts",
        copies: Any = "auto",
        n_random: int = 5,
        memory: Any = None,
        random_state: int = 0,
    ) -> None:
        self.embedder = embedder
        self.k = k
        self.mode = mode
        self.corpus = corpus
        self.cv = cv
        self.count = count
        self.copies = copies
        self.n_random = n_random
        self.memory = memory
        self.random_state = random_state

    def fit(self, pairs: Any, y: Any, similar: Any = None) -> PairwiseKNNClassifier:
        """Fit the embedder and measure the rule's two rates out of fold.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; order within a pair does not matter.
        y : array-like of shape (n_pairs,)
            Two classes: numbers, of which the greater means duplicates, or words such as
            "match" and "nonmatch" (`estimators.inputs.duplicate_class`).
        similar : array-like of str, shape (n_similar, 2), default=None
            More pairs known to be duplicates. They train the embedder and nothing else: the two
            rates and their prior come from ``pairs``. Out of fold, those linked to a held-out
            question are left out; in a cross-validation around this estimator that is up to you.

        Returns
        -------
        self : PairwiseKNNClassifier
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y has one class only, a parameter is out of range, folds share
            questions, or no triplet can be mined; before any work.

        Notes
        -----
        Costs cv + 1 fits of the embedder, and O(n_pairs · corpus · d) for ranks at worst; see
        `film.pairs.neighbour_ranks` for what ``k_max`` spares. The fits are a map run by joblib:
        ``with joblib.parallel_config(n_jobs=2):`` makes two at a time.
        """
        labels, problem, embedder, (out_of_fold, counted), fitted = self._cross_fitted(
            pairs, y, similar, whole=True, n_folds=None
        )
        points = self._cache(points_of, ignore=["problem", "fitted"])
        self._points = points(embedder, problem.key, problem=problem, fitted=fitted)
        # A corpus as large, and as free of a new question's duplicates, as those that the rates are
        # measured over: all rows would make ranks 1 / (1 - 1/cv) times as high.
        count = self._cache(counted_texts, ignore=["problem", "points"])
        given = embedder, problem.key, counted, self._counted_copies()
        self._counted = count(*given, problem=problem, points=self._points)
        self._set_labels(*labels)
        self.out_of_fold_ranks_ = out_of_fold
        self._problem, self._unfitted, self._fitted = problem, embedder, fitted
        rates = rates_over_k(effective_ranks(out_of_fold, self.mode), problem.labels, [self.k])
        self.inside_rate_ = float(rates.inside_rate[0])
        self.outside_rate_ = float(rates.outside_rate[0])
        return self

    def fit_out_of_fold(
        self, pairs: Any, y: Any, similar: Any = None, *, n_folds: int | None = None
    ) -> np.ndarray:
        """Rank training pairs by embedders that saw none of their questions, and no more.

        These are the `out_of_fold_ranks_` of a `fit`, which costs one fit of the embedder more:
        enough to choose k, or parameters of the embedder. The estimator stays as it is.

        Parameters
        ----------
        pairs, y, similar : array-like
            As in `fit`.
        n_folds : int, default=None
            Fit only the first of the folds, so many or all: each costs a fit of the embedder.

        Returns
        -------
        ranks : ndarray of int64, shape (n_pairs, 2)
            rank(x → x′) and rank(x′ → x), counted as far as `out_of_fold_ranks_`; -1 for the
            pairs of folds that were not fitted.

        Raises
        ------
        TypeError, ValueError
            As in `fit`, and if ``n_folds`` is no integer from 1 on.
        """
        if n_folds is not None:
            check_integer("n_folds", n_folds, 1)
        return self._cross_fitted(pairs, y, similar, whole=False, n_folds=n_folds)[3][0]

    def __getstate__(self) -> dict[str, Any]:
        # What is saved must outlive the cache folder.
        inherited: Any = super().__getstate__()
        state = dict(inherited)
        if "_fitted" in state:
            state["_fitted"] = NotMemorizedResult(state["_fitted"].get())
        state.pop("_points", None)  # found again from the texts
        return state

    @property
    def embedder_(self) -> Any:
        """Fitted embedder, read from the cache where there is one."""
        check_is_fitted(self)
        return self._fitted.get()

    def rank(self, pairs: Any) -> np.ndarray:
        """Rank of each text among the other's neighbours.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        ranks : ndarray of int64, shape (n_pairs, 2)
            rank(x → x′) and rank(x′ → x). A text without any known word is no text's neighbour:
            `film.pairs.ranks.INFINITE_RANK`. Texts that read alike after normalisation have rank 0.
        """
        return self._ranks(pairs, None)

    def _ranks(self, pairs: Any, k_max: int | None) -> np.ndarray:
        check_is_fitted(self)
        pairs = check_pairs(pairs)
        ranks = self._cache(ranks_of, ignore=["problem", "pairs", "fitted", "points"])
        key = self._problem.key, digest(pairs.ravel().tolist())
        return ranks(
            self._unfitted,
            key,
            self._counted,
            k_max,
            problem=self._problem,
            pairs=pairs,
            fitted=self._fitted,
            points=getattr(self, "_points", None),
        )

    def _counted_copies(self) -> float | None:
        """Return the cosine from which on texts are copies, or None."""
        if isinstance(self.copies, str) and self.copies == "auto":
            return COPIES if self.embedder is None else None
        return None if self.copies is None else check_real("copies", self.copies, 0, 1)

    def _cache(self, function: Any, ignore: list[str]) -> Any:
        return checked_memory(self.memory).cache(function, ignore=ignore)

    def predict(self, pairs: Any) -> np.ndarray:
        """Apply the rule at k.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        labels : ndarray of shape (n_pairs,)
            `duplicate_class_` where the ranks are below k, else the other of `classes_`.
        """
        check_is_fitted(self)
        return self._label_where(self._inside(pairs))

    def predict_proba(self, pairs: Any) -> np.ndarray:
        """Share of duplicates that training showed inside or outside k.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        probabilities : ndarray of shape (n_pairs, 2)
            Columns as in `classes_`.
        """
        duplicate = np.where(self._inside(pairs), self.inside_rate_, self.outside_rate_)
        return self._columns(duplicate)

    def k_curve(self, pairs: Any, y: Any, ks: Any = range(1, 56)) -> Rates:
        """All rates of the rule for every k at once (paper, figure 4).

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : array-like of shape (n_pairs,)
            Their classes.
        ks : iterable of int, default=range(1, 56)
            Values of k.

        Returns
        -------
        rates : Rates
            Arrays over ks. Its inside and outside rates are those of the given pairs.
        """
        ks = list(ks)
        ranks = effective_ranks(self._ranks(pairs, _count_past(max(ks, default=1))), self.mode)
        labels = check_pair_labels(y, len(ranks)) == self.duplicate_class_
        return rates_over_k(ranks, labels, ks)

    def _cross_fitted(self, pairs: Any, y: Any, similar: Any, whole: bool, n_folds: Any) -> Any:
        """Check everything, rank pairs out of fold, and as a whole fit an embedder to all pairs."""
        k_max = max(_OUT_OF_FOLD_COUNT, _count_past(check_integer("k", self.k, 1)))
        check_choice("mode", self.mode, MODES)
        copies = self._counted_copies()
        given = pairs, y, similar, self.corpus, self.random_state
        *labels, problem = checked_problem(*given, n_random=self.n_random, count=self.count)
        splitter = splitter_of(self.cv, self.random_state)
        problem = problem.or_same(getattr(self, "_problem", None))
        words = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
        plain = make_pipeline(words, FILM(30, rank=200, random_state=self.random_state))
        embedder = plain if self.embedder is None else cloned("embedder", self.embedder)
        check_encoders([("embedder", embedder)], checked_memory(self.memory))
        # The corpus is no part of these keys: both modes share their folds and embedders.
        key = problem.training_key
        folds = self._cache(folds_of, ignore=["problem"])(key, splitter, problem=problem)
        parts = [train for train, _ in folds][:n_folds]
        fit = delayed(self._cache(fit_embedder, ignore=["problem"]).call_and_shelve)
        learned = [*parts, np.arange(len(problem.labels))] if whole else parts
        fitted: Any = Parallel()(fit(embedder, key, rows, problem=problem) for rows in learned)
        rank = self._cache(out_of_fold_ranks, ignore=["problem", "folds", "fitted"])
        found = rank(
            embedder, (problem.key, len(parts)), splitter, k_max, copies, problem, folds, fitted
        )
        return labels, problem, embedder, (found, parts[0]), fitted[-1]

    def _inside(self, pairs: Any) -> np.ndarray:
        """Which pairs the rule calls duplicates (FILM paper, section 3.3)."""
        k = check_integer("k", self.k, 1)
        return effective_ranks(self._ranks(pairs, _count_past(k)), self.mode) < k

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())


def _count_past(k: Any) -> int:
    """Give the power of two that ranks are counted up to where k is asked."""
    return max(_LEAST_COUNT, 1 << (int(k) - 1).bit_length() if k > 0 else 0)

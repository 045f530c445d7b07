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

from estimators.encoders import as_transformer
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
"""Cosine of copies in the default space, chosen out of fold on Quora's train file."""
# Ranks are counted up to a power of two past k, this one at least, so that many k share a search.
_LEAST_COUNT = 64
# Out-of-fold ranks are there to choose k by, and so are counted farther.
_OUT_OF_FOLD_COUNT = 1024


@savable
class PairwiseKNNClassifier(TwoLabels, ClassifierMixin, BaseEstimator):
    """Classify pairs of texts by their neighbour ranks in a learned space.

    rank(x → x′) counts the unique texts of a corpus that are strictly closer to x than x′ is. A
    pair is a duplicate if both ranks are below ``k``. The same ranks decide for every k.

    Parameters
    ----------
    embedder : estimator, object with ``encode`` or function, default=None
        Maps texts to dense vectors; see `AnyEncoder` for objects and functions. An estimator is
        fitted as ``embedder.fit(texts, triplets)`` on the unique texts of the pairs and triplets
        mined from their labels, so a pipeline that ends in `FILM` learns from them. None is `FILM`
        with 30 dimensions over TF-IDF of character trigrams.
    k : int, default=36
        Neighbourhood size; the paper's choice.
    mode : {"both", "either"}, default="both"
        Whether both ranks must be below k, as in the paper, or only one.
    corpus : iterable of str, default=None
        None is *inductive* mode: ranks count the fitted texts of one fold's training pairs, and a
        prediction depends only on its own pair. Texts are *collection* mode: ranks count these
        texts and all fitted texts; include the texts to be classified, without labels.
    cv : int or splitter, default=5
        Question-disjoint folds to measure the two rates out of fold; each pair is in one test fold.
        If common questions link more than half of the pairs, a number of folds keeps only
        duplicates together. A splitter whose folds share questions raises an error, unless it is an
        `AllowSharedQuestions`.
    count : {"texts", "questions"}, default="texts"
        What ranks count: unique texts, as in the paper, or questions. A question is a cluster of
        known duplicates, which counts once, so many copies of a question do not push a new copy out
        of its neighbourhood.
    copies : float, "auto" or None, default="auto"
        Cosine in the embedder's space, from 0 to 1, above which texts of the corpus are copies and
        count once (`film.corpus.leaders`). Otherwise, copies of a question that are not labelled
        push each other out of its neighbourhood. None counts every text, as in the paper. "auto" is
        0.7 in the default space, and None in other spaces, whose cosines have another meaning.
    n_random : int, default=5
        Random dissimilar texts per anchor, in mining.
    memory : str or joblib.Memory, default=None
        Folder to cache embeddings and ranks, to be used by nothing else. ``k`` and ``mode`` do not
        affect the cache, so a search over k costs one fit.
    random_state : int, default=0
        Seeds mining and folds. Fixed by default, so the candidates of a search share fits.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, sorted.
    duplicate_class_ : label
        Label of duplicates.
    embedder_ : estimator
        Fitted embedder.
    out_of_fold_ranks_ : ndarray of int64, shape (n_pairs, 2)
        Ranks of the training pairs by embedders that were not trained on their questions. They are
        counted up to 1024, or up to a power of two above k if that is larger; this is enough to
        choose a smaller k.
    inside_rate_, outside_rate_ : float
        Share of duplicates among out-of-fold pairs inside and outside k, smoothed by Laplace's
        rule. `predict_proba` returns these rates.

    See Also
    --------
    FILM : The metric.
    DisjointPairsKFold : Folds without shared questions.

    Notes
    -----
    Ranks grow with the corpus, so the two rates hold for one size of corpus. They are measured with
    the training texts of folds, a share 1 - 1/cv of all. So predictions count as many texts, those
    of the first fold, with the clusters of known duplicates in its pairs (``count="questions"``).
    With a ``corpus``, all texts count in both.

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
            Two classes: numbers, the larger for duplicates, or words such as "match" and
            "nonmatch" (`estimators.inputs.duplicate_class`).
        similar : array-like of str, shape (n_similar, 2), default=None
            Further known duplicates, which train only the embedder; the two rates and their prior
            come from ``pairs``. Out of fold, pairs linked to a held-out question are left out. If
            you cross-validate this estimator, leave them out yourself.

        Returns
        -------
        self : PairwiseKNNClassifier
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y has only one class, a parameter is out of range, folds share
            questions, or no triplet can be mined; raised before any work.

        Notes
        -----
        The embedder is fitted cv + 1 times. Ranks take at most O(n_pairs · corpus · d); see
        ``k_max`` in `film.pairs.neighbour_ranks`. joblib runs the fits:
        ``with joblib.parallel_config(n_jobs=2):`` runs two at a time.
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
        """Return only the out-of-fold ranks of training pairs, without the last fit.

        These are the `out_of_fold_ranks_` of `fit`, which fits the embedder once more. They suffice
        to choose k or parameters of the embedder. The estimator does not change.

        Parameters
        ----------
        pairs, y, similar : array-like
            As in `fit`.
        n_folds : int, default=None
            Number of folds to fit, from the first on; None: all. Each costs a fit of the embedder.

        Returns
        -------
        ranks : ndarray of int64, shape (n_pairs, 2)
            rank(x → x′) and rank(x′ → x), with the limit of `out_of_fold_ranks_`; -1 for pairs of
            folds that were not fitted.

        Raises
        ------
        TypeError, ValueError
            As in `fit`, and if ``n_folds`` is not a positive integer.
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
        """Fitted embedder, read from the cache if there is one."""
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
            rank(x → x′) and rank(x′ → x). A text without a known word is never a neighbour; its
            rank is `film.pairs.ranks.INFINITE_RANK`. Texts that are equal after normalisation have
            rank 0.
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
            `duplicate_class_` if the ranks are below k, otherwise the other class.
        """
        check_is_fitted(self)
        return self._label_where(self._inside(pairs))

    def predict_proba(self, pairs: Any) -> np.ndarray:
        """Return the share of duplicates inside or outside k, measured out of fold.

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
        """Return all rates of the rule for every k (paper, figure 4).

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
            Arrays over ks. Inside and outside rates are measured on the given pairs.
        """
        ks = list(ks)
        ranks = effective_ranks(self._ranks(pairs, _count_past(max(ks, default=1))), self.mode)
        labels = check_pair_labels(y, len(ranks)) == self.duplicate_class_
        return rates_over_k(ranks, labels, ks)

    def _cross_fitted(self, pairs: Any, y: Any, similar: Any, whole: bool, n_folds: Any) -> Any:
        """Check everything, rank pairs out of fold, and optionally fit an embedder on all pairs."""
        k_max = max(_OUT_OF_FOLD_COUNT, _count_past(check_integer("k", self.k, 1)))
        check_choice("mode", self.mode, MODES)
        copies = self._counted_copies()
        given = pairs, y, similar, self.corpus, self.random_state
        *labels, problem = checked_problem(*given, n_random=self.n_random, count=self.count)
        splitter = splitter_of(self.cv, self.random_state)
        problem = problem.or_same(getattr(self, "_problem", None))
        words = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
        plain = make_pipeline(words, FILM(30, rank=200, random_state=self.random_state))
        embedder = (
            plain if self.embedder is None else cloned("embedder", as_transformer(self.embedder))
        )
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
    """Return the power of two above k up to which ranks are counted."""
    return max(_LEAST_COUNT, 1 << (int(k) - 1).bit_length() if k > 0 else 0)

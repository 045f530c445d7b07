"""Calibrated probability that two texts mean the same, stacked from several members."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import (
    TwoLabels,
    check_pairs,
    check_verbose,
    checked_memory,
    duplicate_column,
    progress_bar,
    splitter_of,
    tags_of_texts,
)
from estimators.pairs.familiarity.unfamiliar import FEWEST_PAIRS, drawn_rows
from estimators.pairs.pair_problem import checked_problem
from estimators.pairs.stack.cross_fitting import count_steps, fit_members
from estimators.pairs.stack.encodings import Encodings
from estimators.pairs.stack.features import (
    checked_features,
    dense_features,
    names_of_features,
    with_corpus,
)
from estimators.pairs.stack.final_model import (
    check_weights,
    checked_final,
    checked_neighbourhood,
    fit_final,
    prior_of,
    reaching_weights,
)
from estimators.pairs.stack.judging import inputs_of
from estimators.pairs.stack.members import (
    checked_members,
    columns_of,
    take_rows,
    with_columns,
)
from estimators.pairs.stack.near_copies import (
    Sameness,
    near_copies,
    raised,
    samenesses,
)
from estimators.pairs.stack.plans import (
    check_devices,
    check_encoders,
    check_member_cv,
    make_plans,
)
from estimators.pairs.stack.routing import routed_metadata, weighted_rows
from estimators.pairs.stack.training_pairs import JudgedTraining
from estimators.persistence import savable

STEPS = {"features": 1, "near copies": 1, "final model": 3, "training texts": 4}
"""Steps of the bar beside those of members, by what they took beside them on 8,000 pairs."""


def _no_stage(*_: Any) -> None:
    """Take the place of what moves a bar."""


@savable
class DuplicateClassifier(TwoLabels, ClassifierMixin, JudgedTraining):
    """Judge pairs of texts by several members and lexical features, as one calibrated probability.

    Each member is fitted on question-disjoint folds and judges held-out pairs only; a final model
    learns from its judgements and from lexical features how likely a duplicate is.

    Parameters
    ----------
    members : list of (str, estimator)
        Named members. One that is a classifier or regressor is fitted as ``fit(pairs, y)`` and
        gives one number per pair: log-odds, or its prediction. Any other is an embedder, texts →
        dense vectors, fitted as ``fit(texts, triplets)`` on triplets mined from the labels; it
        gives the cosine of a pair and both neighbour ranks. One that learns nothing (a plain
        `SentenceEncoder`, untrained `RCMDRegressor`, `TokenMatchingRegressor`, `FrozenEstimator`)
        is fitted once, without labels. Members that begin with the same `SentenceEncoder` share its
        vectors.
    final_estimator : classifier, default=None
        Has `predict_proba`, and no ``class_weight`` or ``priors`` of its own. None is gradient
        boosting that minimises log loss from 2,000 pairs on, and below a logistic regression on
        standardised features.
    features : {"lexical"}, transformer or None, default="lexical"
        Pairs → dense features beside the members'. It sees no labels. "lexical" is
        `LexicalFeatures`.
    cv : int or splitter, default=5
        Question-disjoint folds; each pair is in one test fold. A splitter whose folds share
        questions is refused, unless it is an `AllowSharedQuestions`.
    member_cv : dict of str to int, default=None
        By the name of a member that is expensive to train, a number of folds of its own, from 2 on
        and the same for all: it is fitted that often, and once to all pairs, instead of ``cv + 1``
        times. Its folds are parts of two folds of ``cv`` or more, so still share no question.
    neighbourhood : int or "auto", default=None
        Adds to each embedder's columns `film.pairs.neighbourhood_features` of so many nearest texts
        of the corpus: how dense texts lie, and which both sides share. Ranks are then counted up
        to this number alone, by the same search. None adds none; "auto" adds those of 20 texts from
        2,000 pairs on.
    prior : float, default=None
        Share of duplicates where predictions are made: probabilities are shifted to it by Bayes'
        rule, from `train_prior_`. None keeps that.
    corpus : iterable of str, default=None
        What ranks run over. None is *inductive* mode: texts of the training pairs, so that a
        prediction depends on nothing but its own pair. With texts it is *collection* mode: these
        texts, the ones to be judged among them, are known though unlabelled, and belong to the
        corpus as those of the training pairs do.
    memory : str or joblib.Memory, default=None
        Where to cache fitted members and their judgements. It must be a folder of your own. After
        an interruption, a fit with the same folder continues from the last finished fold, and in a
        member that trains a network from the last ``eval_steps`` steps.
    random_state : int, default=0
        Seeds mining, folds and the default final model.
    verbose : int, default=0
        Whether to show progress, and that of members of this package below it.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, sorted.
    duplicate_class_ : label
        The one of duplicates.
    members_ : list of (str, estimator)
        Members fitted on all pairs.
    final_estimator_ : classifier
        Fitted final model.
    features_ : transformer or None
        Fitted lexical features.
    feature_names_out_ : list of str
        Names of the final model's inputs, "member: column" first.
    out_of_fold_ : ndarray of float64, shape (n_pairs, n_features)
        What the final model learned from.
    train_prior_ : float
        Share of duplicates that the final model's probabilities hold at: that of the training
        pairs, weighted by the ``sample_weight`` that it learned with.
    typical_ : ndarray of float64, shape (n_features,)
        Median of every input, which `explain` compares with.
    untrained_share_ : float
        Share of untrained similarity in the log-odds: 0, unless `adapt` set another.

    See Also
    --------
    fast_duplicates : A good choice of members that needs no GPU.
    DuplicateFinder : Duplicates of a whole corpus.

    Notes
    -----
    Costs ``cv + 1`` fits of every member that learns, with ``member_cv`` fewer. Texts meet an
    encoder that learns nothing once. A ``neighbourhood`` is sooner known than ranks without an end.

    A note on the error of a member that fails names it, what is finished and where that is kept.

    The default final models learn from near copies too: texts of the training pairs beside
    themselves with a typo or another punctuation mark, labelled as duplicates, a hundredth of the
    weight of the training pairs. The boosted trees never lower a probability when a member's
    similarity rises, nor raise it when one text more holds a number, a symbol or a negation that
    the other lacks.

    Examples
    --------
    >>> from estimators import fast_duplicates
    >>> from film.datasets import make_question_pairs
    >>> data = make_question_pairs(400, random_state=0)
    >>> model = fast_duplicates(d=20, rank=50, cv=2).fit(data.pairs[:300], data.y[:300])
    >>> model.predict_proba(data.pairs[300:]).shape
    (100, 2)
    """

    def __init__(
        self,
        members: Any,
        final_estimator: Any = None,
        *,
        features: Any = "lexical",
        cv: Any = 5,
        member_cv: Any = None,
        neighbourhood: int | str | None = None,
        prior: float | None = None,
        corpus: Any = None,
        memory: Any = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.members = members
        self.final_estimator = final_estimator
        self.features = features
        self.cv = cv
        self.member_cv = member_cv
        self.neighbourhood = neighbourhood
        self.prior = prior
        self.corpus = corpus
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, pairs: Any, y: Any, similar: Any = None, **fit_params: Any) -> Any:
        """Fit the members out of fold, then the final model on their judgements.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; order within a pair does not matter.
        y : array-like of shape (n_pairs,)
            Two classes: numbers, of which the greater means duplicates, or words such as
            "match" and "nonmatch" (`estimators.inputs.duplicate_class`).
        similar : array-like of str, shape (n_similar, 2), default=None
            More pairs known to be duplicates. They train embedders and nothing else. Out of fold,
            those linked to a held-out question are left out.
        **fit_params : dict
            With metadata routing on, what members and final model request. Without, only
            ``sample_weight``, which goes to the final model. A pair of weight 0 is left out, as if
            it were not given.

        Returns
        -------
        self : DuplicateClassifier
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y has one class only, a parameter is wrong, folds share
            questions, weights leave a class without any, no triplet can be mined, a member's
            transformers model takes fewer tokens than are to be read, or its files are not those of
            the fits that ``memory`` keeps; before any work.
        FileNotFoundError, ImportError
            If a member's transformers model is not there; before any work.
        """
        members = checked_members(self.members, set(super().get_params(deep=False)))
        own_folds = check_member_cv(self.member_cv, members)
        memory = checked_memory(self.memory)
        check_devices(members)
        check_encoders([(f"member {name!r}", member) for name, member in members], memory)
        classes, duplicate, problem = checked_problem(
            pairs, y, similar, self.corpus, self.random_state
        )
        pairs, labels = problem.pairs, problem.labels
        near = checked_neighbourhood(self.neighbourhood, len(pairs))
        final = checked_final(self.final_estimator, len(pairs), self.random_state)
        features = checked_features(self.features)
        self._check_prior()
        check_verbose(self.verbose)
        splitter = splitter_of(self.cv, self.random_state)
        names = [name for name, _ in members]
        routed = routed_metadata(self, names, final, fit_params, len(pairs))
        weights = reaching_weights(final, routed["final_estimator"])
        check_weights(weights, labels)
        rows = weighted_rows(fit_params, weights, len(pairs))
        if len(rows) < len(pairs):
            sliced = {
                name: take_rows(given, rows, len(pairs)) for name, given in fit_params.items()
            }
            return self.fit(pairs[rows], np.asarray(y)[rows], similar, **sliced)
        folds = problem.folds(splitter)
        plans = make_plans(members, own_folds, folds)
        n_steps = count_steps(plans) + sum(STEPS.values())
        with progress_bar(self.verbose, "DuplicateClassifier", n_steps) as advance:
            stage = advance or _no_stage
            stage("features", 0)
            if features is not None:
                features = features.fit(with_corpus(pairs, problem.corpus_texts))
            lexical = dense_features(features, pairs)
            stage("features", STEPS["features"])
            judged, fitted, collections = fit_members(
                plans, problem, near, routed, memory.cache, advance, int(self.verbose)
            )
            inputs = np.column_stack([judged, lexical])
            columns = [f"{name}: {each}" for name, of in members for each in columns_of(of, near)]
            columns += names_of_features(features, lexical.shape[1])
            copies = None
            stage("near copies", 0)
            if self.final_estimator is None:
                copies = near_copies(sorted(set(pairs.flat)), self.random_state)
                copies = inputs_of(fitted, collections, features, copies, near)
            stage("near copies", STEPS["near copies"])
            stage("final model", 0)
            final = fit_final(final, columns, inputs, labels, copies, routed["final_estimator"])
            stage("final model", STEPS["final model"])

            self._set_labels(classes, duplicate)
            self.members_ = fitted
            self.final_estimator_ = final
            self.features_ = features
            self.feature_names_out_ = columns
            self.out_of_fold_ = inputs
            self.train_prior_ = prior_of(labels, weights)
            self.typical_ = np.median(inputs, axis=0)
            self._collections, self._neighbourhood, self._copies = collections, near, copies
            self._final_fit_params = routed["final_estimator"]
            self._routing = bool(sklearn.get_config().get("enable_metadata_routing"))
            self._remember(problem, folds, own_folds, {name: routed[name] for name in names})
            stage("training texts", 0)
            self._learn_texts(problem)
            stage("training texts", STEPS["training texts"])
        return self

    def inputs(self, pairs: Any, encodings: Encodings | None = None) -> np.ndarray:
        """Columns of members and features: the final model's inputs.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        encodings : Encodings, default=None
            What encoders that learn nothing have given already, and where more of it is kept.

        Returns
        -------
        inputs : ndarray of float64, shape (n_pairs, n_features)
            Columns `feature_names_out_`; after `adapt` similarity within its collection too.
        """
        check_is_fitted(self)
        pairs, near = check_pairs(pairs), self._neighbourhood
        encodings = encodings or Encodings()
        found = inputs_of(self.members_, self._collections, self.features_, pairs, near, encodings)
        return self._beside(found, pairs, encodings)

    def predict_proba(self, pairs: Any) -> np.ndarray:
        """Probability that pairs are duplicates.

        Copies, texts that differ in case, white space and Unicode form alone
        (`film.text.copy_key`), have 1 − 10⁻⁶ at any prior. Texts of the same words, numbers and
        symbols (`film.text.token_text`) have 0.99 or more, and texts that differ by one slip of the
        pen (`film.pairs.spelled_alike`) 0.95 or more before the shift to the prior.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        probabilities : ndarray of float64, shape (n_pairs, 2)
            Columns as in `classes_`, at the prior `prior_`.

        Warns
        -----
        UnfamiliarTextsWarning
            If, of 20 pairs or more, over a quarter are of another kind than those of the fit
            (`familiarity`); 200 of them are looked at. Not where `adapt` gave it a share.
        """
        self._check_prior()
        pairs, encodings = check_pairs(pairs), Encodings()
        found = self.probabilities_of(self.inputs(pairs, encodings), pairs)
        if len(pairs) >= FEWEST_PAIRS:
            drawn = pairs[drawn_rows(len(pairs))]
            self.warn_of_unfamiliar(self.familiarity(drawn, encodings), "pairs looked at")
        return found

    def probabilities_of(self, inputs: np.ndarray, pairs: Any = None) -> np.ndarray:
        """Probability from the final model's inputs, at the prior `prior_`.

        Parameters
        ----------
        inputs : ndarray of shape (n_pairs, n_features)
            From `inputs`.
        pairs : array-like of str, shape (n_pairs, 2), default=None
            Their texts, which make copies certain. None leaves that to the final model.

        Returns
        -------
        probabilities : ndarray of float64, shape (n_pairs, 2)
            Columns as in `classes_`.
        """
        check_is_fitted(self)
        learned = inputs[:, : len(self.feature_names_out_)]
        p = self.final_estimator_.predict_proba(learned)[:, 1].astype(np.float64)
        p = self._fallen_back(p, inputs)
        same = [Sameness.OTHER] * len(p)
        if pairs is not None:
            same = samenesses(check_pairs(pairs))
        return self._columns(raised(p, same, self._shifted))

    def predict(self, pairs: Any) -> np.ndarray:
        """Call pairs duplicates whose probability, at the prior, is above one half.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        labels : ndarray of shape (n_pairs,)
            Values of `classes_`.
        """
        return self._label_where(duplicate_column(self.predict_proba(pairs), self) > 0.5)

    def explain(self, pairs: Any) -> list[Any]:
        """Explain by members and features, and word by word where a member can.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        explanations : list of Verdict
            One per pair.

        See Also
        --------
        estimators.inspection.Verdict : What an explanation holds.
        """
        # Slow to load, and not needed for scores.
        from estimators.inspection import explain_verdicts

        check_is_fitted(self)
        pairs, encodings = check_pairs(pairs), Encodings()
        members = with_columns(self.members_, self._neighbourhood)
        names = self.feature_names_out_ + self._beside_names()
        return explain_verdicts(
            pairs,
            lambda inputs, of=None: duplicate_column(self.probabilities_of(inputs, of), self),
            self.inputs(pairs, encodings),
            self.inputs(pairs[:, [0, 0]], encodings),
            [how.value for how in samenesses(pairs)],
            typical=self._typical_inputs(),
            members=members,
            feature_names=names[sum(len(of) for _, _, of in members) :],
            familiarities=self.familiarity(pairs, encodings),
            familiarity_limit=self.familiarity_limit_,
        )

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

"""What a stack knows of its members and measures on its training pairs, out of fold."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import check_pairs, checked_memory, fingerprints
from estimators.pairs.familiarity.familiar_texts import FamiliarTexts
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.cross_fitting import (
    cross_fitted_probabilities,
    nested_inputs,
)
from estimators.pairs.stack.final_model import fit_final, prior_of, reaching_weights
from estimators.pairs.stack.members import (
    member_diagram,
    members_replaced,
    named_members,
    params_of_members,
    with_columns,
)
from estimators.pairs.stack.near_copies import Sameness, raised, samenesses
from estimators.pairs.stack.plans import parts_of_folds
from estimators.pairs.stack.routing import metadata_router
from film.pairs import (
    ThresholdCurve,
    prior_weights,
    shift_prior,
    threshold_curve,
    threshold_for_precision,
)

SAMENESSES = tuple(Sameness)


class JudgedTraining(FamiliarTexts):
    """What `DuplicateClassifier` knows of its members, and of the pairs that it was trained on."""

    members: Any
    final_estimator: Any
    prior: Any
    corpus: Any
    memory: Any
    member_cv: Any
    feature_names_out_: list[str]
    typical_: np.ndarray
    _copies: np.ndarray | None
    _neighbourhood: int | None
    verbose: Any
    members_: list[tuple[str, Any]]
    final_estimator_: Any
    out_of_fold_: np.ndarray
    train_prior_: float
    _collections: dict[str, Any]
    _final_fit_params: dict[str, Any]
    _routing: bool
    _training: tuple[PairProblem, dict[str, Any]] | None

    def pruned(self, members: list[str]) -> Any:
        """Make a classifier of some of the members, without fitting them again.

        The final model is fitted anew to what these members gave out of fold. So a model that is
        cheap to predict with comes from one that is not, and the worth of each member shows.

        Parameters
        ----------
        members : list of str
            Names of the members to keep, at least one.

        Returns
        -------
        classifier : DuplicateClassifier
            Fitted, not adapted. It shares its members with this one, which stays as it is.

        Raises
        ------
        ValueError
            If there is no such member, or none is kept.

        Examples
        --------
        >>> from estimators import fast_duplicates
        >>> from film.datasets import make_question_pairs
        >>> data = make_question_pairs(400, random_state=0)
        >>> model = fast_duplicates(d=20, rank=50, cv=2).fit(data.pairs, data.y)
        >>> [name for name, _ in model.pruned(["words"]).members_]
        ['words']
        """
        check_is_fitted(self)
        names = [name for name, _ in self.members_]
        unknown = set(members) - set(names) if isinstance(members, list) else {repr(members)}
        if unknown or not members:
            raise ValueError(f"members={members!r} must list some of {', '.join(names)}")
        by_name = with_columns(self.members_, self._neighbourhood)
        n_columns = sum(len(columns) for _, _, columns in by_name)
        kept = [column for name, _, columns in by_name if name in members for column in columns]
        kept += range(n_columns, self.out_of_fold_.shape[1])
        less = copy.copy(self)
        less.members = [entry for entry in self.members if entry[0] in members]
        own = {name: n for name, n in (self.member_cv or {}).items() if name in members}
        less.member_cv = own or None
        less.members_ = [entry for entry in self.members_ if entry[0] in members]
        less._collections = {n: each for n, each in self._collections.items() if n in members}
        less.feature_names_out_ = [self.feature_names_out_[column] for column in kept]
        less.out_of_fold_, less.typical_ = self.out_of_fold_[:, kept], self.typical_[kept]
        less._own_folds = own
        less._part_of_fold = self._part_of_fold if own else None
        less._out_of_fold_probabilities = None
        less._copies = None if self._copies is None else self._copies[:, kept]
        final: Any = clone(self.final_estimator_)
        labels, params = self._labels.astype(int), self._final_fit_params
        with sklearn.config_context(enable_metadata_routing=self._routing):
            less.final_estimator_ = fit_final(
                final, less.feature_names_out_, less.out_of_fold_, labels, less._copies, params
            )
            weights = reaching_weights(final, params)
        less.train_prior_ = prior_of(labels, weights)
        less.untrained_share_ = 0.0
        return less

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, deep ones such as ``film__film__margin`` among them."""
        params = super().get_params(deep=deep)
        return params | params_of_members(self.members) if deep else params

    def set_params(self, **params: Any) -> Any:
        """Set parameters, a member by its name and nested ones as in a pipeline."""
        if "members" in params:
            self.members = params.pop("members")
        names = [name for name, _ in named_members(self.members)]
        replaced = {name: params.pop(name) for name in names if name in params}
        if replaced:
            self.members = members_replaced(self.members, replaced)
        super().set_params(**params)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Who asks for metadata in `fit`: members that judge pairs, and the final model."""
        return metadata_router(self, self.members, self.final_estimator)

    def _sk_visual_block_(self) -> Any:
        return member_diagram(self.members, self.final_estimator)

    def _remember(
        self,
        problem: PairProblem,
        folds: Any,
        own_folds: dict[str, int],
        fit_params: dict[str, Any],
    ) -> None:
        """Keep of the training pairs what the methods below need."""
        pairs, similar = problem.pairs, problem.further_pairs
        self._labels = problem.labels.astype(np.int8)
        self._same = np.array([SAMENESSES.index(how) for how in samenesses(pairs)], dtype=np.int8)
        self._fold_of_row = np.empty(len(pairs), dtype=np.int32)
        for number, (_, test) in enumerate(folds):
            self._fold_of_row[test] = number
        self._own_folds = own_folds
        n_parts = next(iter(own_folds.values()), None)
        self._part_of_fold = None if n_parts is None else parts_of_folds(len(folds), n_parts)
        self._linked = problem.groups[problem.codes[:, 0]].astype(np.int32)
        self._fingerprints = np.unique(fingerprints([*pairs.flat, *similar.flat]))
        self._training = problem, fit_params
        self._out_of_fold_probabilities = None

    @property
    def prior_(self) -> float:
        """Share of duplicates that the probabilities are made for."""
        check_is_fitted(self)
        return self.train_prior_ if self.prior is None else float(self.prior)

    def _check_prior(self) -> None:
        prior: Any = self.prior
        if prior is None:
            return
        if isinstance(prior, bool) or not isinstance(prior, (int, float, np.number)):
            raise TypeError(f"prior={prior!r} must be a number between 0 and 1, or None")
        if not 0 < float(prior) < 1:
            raise ValueError(
                f"prior={prior!r} must lie strictly between 0 and 1: it is the share of "
                "duplicates where predictions are made; None keeps that of training"
            )

    def _shifted(self, p: np.ndarray) -> np.ndarray:
        return p if self.prior is None else shift_prior(p, self.train_prior_, self.prior_)

    def trained_on(self, pairs: Any) -> np.ndarray:
        """Tell which pairs hold a question that the model was trained on.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        known : ndarray of bool, shape (n_pairs,)
            Whether either text stood in a training pair or in a further similar one, up to
            normalisation. Texts of `corpus` alone do not count: they came without labels.

        Notes
        -----
        The model keeps 8 bytes per distinct training text, whatever its length.
        """
        check_is_fitted(self)
        pairs = check_pairs(pairs)
        given = fingerprints(pairs.ravel().tolist()).reshape(-1, 2)
        return np.asarray(np.isin(given, self._fingerprints).any(axis=1))

    def out_of_fold_probabilities(self) -> np.ndarray:
        """Probabilities of the training pairs by models that did not see their labels.

        A final model judges each fold that was fitted to the others, and so were the members that
        it learned from; texts that are the same count as in `predict_proba`. They show what the
        fitted model does on new pairs.

        Returns
        -------
        probabilities : ndarray of float64, shape (n_pairs,)
            Of a duplicate, in the order of the training pairs, at the prior `prior_`.

        Raises
        ------
        ValueError
            If its folds hold too few pairs.

        Warns
        -----
        UserWarning
            If the folds are too small for members to be fitted without two of them: the final
            models then learn from `out_of_fold_`, which saw a little of the labels they judge.

        Notes
        -----
        The first call fits every member cv (cv − 1) / 2 times to what two folds leave, with the
        default about as long as `fit` took, and the final model once per fold. Until then the
        model keeps its training pairs, also when it is saved. Members that learn nothing, and
        those with a number of folds in ``member_cv``, are not fitted again: with the latter, a
        final model judges a fold by the other folds of its part alone, 1 / ``member_cv`` of the
        pairs, and so a little worse than the fitted one.
        """
        check_is_fitted(self)
        self._check_prior()
        if self._out_of_fold_probabilities is None:
            self._out_of_fold_probabilities = cross_fitted_probabilities(
                self.final_estimator_,
                self._nested_inputs(),
                self._labels,
                self._fold_of_row,
                self._part_of_fold,
                self._final_fit_params,
                self.train_prior_,
                self._routing,
            )
            self._training = None
        same = [SAMENESSES[code] for code in self._same]
        return raised(self._out_of_fold_probabilities, same, self._shifted)

    def _nested_inputs(self) -> np.ndarray:
        if self._training is not None:
            problem, fit_params = self._training
            try:
                with sklearn.config_context(enable_metadata_routing=self._routing):
                    return nested_inputs(
                        [(name, clone(member)) for name, member in self.members_],
                        set(self._own_folds),
                        problem,
                        self._neighbourhood,
                        fit_params,
                        self.out_of_fold_,
                        self._fold_of_row,
                        checked_memory(self.memory).cache,
                        int(self.verbose),
                    )
            except ValueError as error:
                told = ". ".join([str(error), *getattr(error, "__notes__", [])])
                warnings.warn(
                    "probabilities out of fold may flatter a little, since folds are too small to "
                    f"be nested, or a member refuses them: {told}. Train on more pairs",
                    UserWarning,
                    stacklevel=3,
                )
        return np.repeat(self.out_of_fold_[None], int(self._fold_of_row.max()) + 1, axis=0)

    def threshold_curve(
        self, *, prior: float | None = None, confidence: float = 0.95
    ) -> ThresholdCurve:
        """Precision, recall and F1 by threshold, on the training pairs out of fold.

        Parameters
        ----------
        prior : float, default=None
            Share of duplicates among the pairs that will be judged: probabilities are shifted and
            pairs weighted to it. None is `prior_`.
        confidence : float, default=0.95
            Of each interval.

        Returns
        -------
        curve : ThresholdCurve
            At every distinct probability. Pairs that shared questions link count as dependent.

        Raises
        ------
        TypeError, ValueError
            As in `out_of_fold_probabilities`, or if a parameter is no number or out of range.

        See Also
        --------
        film.pairs.threshold_curve : How the intervals are made.
        """
        p = self.out_of_fold_probabilities()
        share = self.prior_ if prior is None else prior
        return threshold_curve(
            self._labels,
            shift_prior(p, self.prior_, share),
            groups=self._linked,
            weights=prior_weights(self._labels, share),
            confidence=confidence,
        )

    def threshold_for(
        self, precision: float, *, prior: float | None = None, confidence: float = 0.95
    ) -> float:
        """Lowest probability from which on pairs are duplicates with a wanted precision.

        Parameters
        ----------
        precision : float in (0, 1)
            Least share of true duplicates among the pairs at or above the threshold.
        prior, confidence : float
            As in `threshold_curve`.

        Returns
        -------
        threshold : float
            For probabilities at the prior. The low end of its precision's interval, out of fold,
            is at least ``precision``.

        Raises
        ------
        TypeError, ValueError
            If no threshold is known to reach the precision, or as in `threshold_curve`.

        Notes
        -----
        It holds for pairs that are drawn as the training pairs were, up to their share of
        duplicates. Candidates of a search for duplicates are all near each other: where the
        training pairs are not, those that are no duplicates are harder than it knows.

        Examples
        --------
        >>> from estimators import fast_duplicates
        >>> from film.datasets import make_question_pairs
        >>> data = make_question_pairs(400, random_state=0)
        >>> model = fast_duplicates(d=20, rank=50, cv=2).fit(data.pairs, data.y)
        >>> 0 < model.threshold_for(0.6) < 1
        True
        """
        curve = self.threshold_curve(prior=prior, confidence=confidence)
        chosen = threshold_for_precision(curve, precision)
        if chosen is None:
            best = int(np.argmax(curve.precision_interval[:, 0]))
            raise ValueError(
                f"precision {precision:g}: no threshold is known to reach it with "
                f"{confidence:.0%} confidence, by {len(self._labels)} training pairs out of fold; "
                f"from {curve.thresholds[best]:.4f} on it is at least "
                f"{curve.precision_interval[best, 0]:.4f}: ask for less, or train on more pairs"
            )
        return float(curve.thresholds[chosen])

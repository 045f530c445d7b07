"""Calibrated probability that two texts mean the same, stacked from several members."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import column_or_1d
from sklearn.utils.metadata_routing import (
    MetadataRequest,
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import (
    as_texts,
    check_choice,
    check_integer,
    check_pair_labels,
    check_pairs,
    check_texts,
    check_verbose,
    checked_memory,
    progress_bar,
    splitter_of,
)
from estimators.inspection import explain_verdicts
from estimators.pairs.lexical import LexicalFeatures
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack import members as members_of
from estimators.pairs.stack.compat import visual_block
from estimators.pairs.stack.cross_fitting import (
    cross_fitted_probabilities,
    fold_numbers,
    nested_inputs,
)
from estimators.pairs.stack.final_prior import check_weights, prior_of, reaching_weights
from estimators.pairs.stack.fingerprints import fingerprints
from estimators.pairs.stack.near_copies import (
    Sameness,
    near_copies,
    raised,
    samenesses,
    with_near_copies,
)
from estimators.persistence import savable
from film.pairs import (
    ThresholdCurve,
    prior_weights,
    shift_prior,
    threshold_curve,
    threshold_for_precision,
)

SAMENESSES = tuple(Sameness)
BOOSTING_PAIRS = 2000
"""From this many labelled pairs on, the default final model is boosted trees."""


DIFFERENCES = frozenset(
    (
        "numbers unshared",
        "negation on one side",
        "different question words",
        "symbols unshared",
        "negated words unshared",
    )
)
"""Features of which more can only lower a probability of boosted trees."""


@savable
class DuplicateClassifier(ClassifierMixin, BaseEstimator):
    """Judge pairs of texts by several members and lexical features, as one calibrated probability.

    Each member is fitted on question-disjoint folds and speaks about held-out pairs only; a final
    model learns from what the members said and from lexical features how likely a duplicate is.

    Parameters
    ----------
    members : list of (str, estimator)
        Named members. One that is a classifier or regressor is fitted as ``fit(pairs, y)`` and
        says one number a pair: log-odds, or its prediction. Any other is an embedder, texts →
        dense vectors, fitted as ``fit(texts, triplets)`` on triplets mined from the labels; it
        says the cosine of a pair and both neighbour ranks.
    final_estimator : classifier, default=None
        Has `predict_proba`. None is gradient boosting that minimises log loss from
        `BOOSTING_PAIRS` pairs on, and below a logistic regression on standardised features.
    features : {"lexical"}, transformer or None, default="lexical"
        Pairs → dense features beside the members'. It sees no labels. "lexical" is
        `LexicalFeatures`.
    cv : int or splitter, default=5
        Question-disjoint folds; each pair is in one test fold. A splitter whose folds share
        questions is refused, unless it is an `AllowSharedQuestions`.
    prior : float, default=None
        Share of duplicates where predictions are made: probabilities are shifted to it by Bayes'
        rule, from `train_prior_`. None keeps that.
    corpus : iterable of str, default=None
        What ranks run over. None is *inductive* mode: texts of the training pairs, so that a
        prediction depends on nothing but its own pair. With texts it is *collection* mode: these
        texts, the ones to be judged among them, are known though unlabelled, and belong to the
        corpus as those of the training pairs do.
    memory : str or joblib.Memory, default=None
        Where to cache fitted members and what they said. It must be a folder of your own. After
        an interruption, a fit with the same folder goes on from the last finished fold.
    random_state : int, default=0
        Seeds mining, folds and the default final model.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, the second one is that of duplicates.
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
        pairs, weighted by the ``sample_weight`` and ``class_weight`` that it learned with.
    typical_ : ndarray of float64, shape (n_features,)
        Median of every input, which `explain` compares with.
    certain_copies_ : bool
        Whether copies are certain. Models that were saved without it leave them to the final model.

    See Also
    --------
    fast_duplicates : A good choice of members that needs no GPU.
    DuplicateFinder : Duplicates of a whole corpus.

    Notes
    -----
    Costs ``cv + 1`` fits of every member.

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
        self.prior = prior
        self.corpus = corpus
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, pairs: Any, y: Any, similar: Any = None, **fit_params: Any) -> Any:
        """Fit the members out of fold, then the final model on what they said.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; order within a pair does not matter.
        y : array-like of shape (n_pairs,)
            Two classes; the greater one is that of duplicates.
        similar : array-like of str, shape (n_similar, 2), default=None
            More pairs known to be duplicates. They train embedders and nothing else. Out of fold,
            those linked to a held-out question are left out.
        **fit_params : dict
            With metadata routing on, what members and final model request. Without, only
            ``sample_weight``, which goes to the final model.

        Returns
        -------
        self : DuplicateClassifier
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y has one class only, a parameter is wrong, folds share
            questions, weights leave a class without any, or no triplet can be mined; before any
            work.
        """
        pairs = check_pairs(pairs)
        y = check_pair_labels(y, len(pairs))
        more = pairs[:0] if similar is None else check_pairs(similar, name="similar")
        members = self._checked_members()
        final = self._final(len(pairs))
        features = self._features()
        self._check_prior()
        check_integer("random_state", self.random_state, 0)
        check_verbose(self.verbose)
        splitter = splitter_of(self.cv, self.random_state)
        corpus = [] if self.corpus is None else check_texts(self.corpus, "corpus")
        routed = self._routed(fit_params, final, len(pairs))
        settings = SimpleNamespace(count="texts", n_random=5, random_state=self.random_state)
        classes, labels = np.unique(y, return_inverse=True)
        weights = reaching_weights(final, routed["final_estimator"])
        check_weights(weights, labels)
        problem = PairProblem(pairs, labels, more, corpus, settings)
        folds = problem.folds(splitter)
        everything = np.arange(len(pairs))
        cache: Any = checked_memory(self.memory).cache
        fit_member = cache(members_of.fit_member, ignore=["problem", "pairs"])
        judge = cache(_fit_and_judge, ignore=["problem", "pairs", "fit_member"])
        seen = None
        if features is not None:
            seen = _dense(features.fit(_with_corpus(pairs, corpus)).transform(pairs))

        blocks, names, fitted, collections = [], [], [], {}
        with progress_bar(self.verbose, "DuplicateClassifier") as advance:
            for name, member in members:
                said = np.empty((len(pairs), len(members_of.columns(member))))
                for number, (train, test) in enumerate(folds):
                    said[test] = judge(
                        member,
                        problem.key,
                        train,
                        test,
                        problem=problem,
                        pairs=pairs,
                        fit_params=routed[name],
                        fit_member=fit_member,
                    )
                    if advance:
                        advance(f"{name}, fold {number + 1} of {len(folds)}")
                whole = fit_member(
                    member,
                    problem.training_key,
                    everything,
                    problem=problem,
                    pairs=pairs,
                    fit_params=routed[name],
                )
                if not members_of.is_predictor(member):
                    collections[name] = members_of.make_collection(whole, problem, folds[0][0])
                if advance:
                    advance(f"{name}, all pairs")
                blocks.append(said)
                names += [f"{name}: {column}" for column in members_of.columns(member)]
                fitted.append((name, whole))
            if seen is not None:
                blocks.append(seen)
                names += _names(features, seen.shape[1])
            inputs = np.column_stack(blocks)
            if self.final_estimator is None:
                near = near_copies(sorted(set(pairs.flat)), self.random_state)
                seen = _inputs(fitted, collections, features, near)
                _fit_default(final, names, *with_near_copies(inputs, labels, seen, weights))
            else:
                final.fit(inputs, labels, **routed["final_estimator"])
            if advance:
                advance("final model")

        self.classes_ = classes
        self.members_ = fitted
        self.final_estimator_ = final
        self.features_ = features
        self.feature_names_out_ = names
        self.certain_copies_ = True
        self.out_of_fold_ = inputs
        self.train_prior_ = prior_of(final, labels, inputs, weights)
        self.typical_ = np.median(inputs, axis=0)
        self._collections = collections
        self._labels = labels.astype(np.int8)
        self._same = np.array([SAMENESSES.index(how) for how in samenesses(pairs)], dtype=np.int8)
        self._fold_of_row = fold_numbers(folds, len(pairs))
        self._linked = problem.groups[problem.codes[:, 0]].astype(np.int32)
        self._final_fit_params = routed["final_estimator"]
        self._routing = bool(sklearn.get_config().get("enable_metadata_routing"))
        self._out_of_fold_probabilities = None
        self._training = problem, {name: routed[name] for name, _ in members}
        self._fingerprints = np.unique(
            fingerprints([*pairs.ravel().tolist(), *more.ravel().tolist()])
        )
        return self

    @property
    def prior_(self) -> float:
        """Share of duplicates that the probabilities are made for."""
        check_is_fitted(self)
        return self.train_prior_ if self.prior is None else float(self.prior)

    def inputs(self, pairs: Any) -> np.ndarray:
        """Give what members and features say about pairs: the final model's inputs.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        inputs : ndarray of float64, shape (n_pairs, n_features)
            Columns `feature_names_out_`.
        """
        check_is_fitted(self)
        return _inputs(self.members_, self._collections, self.features_, check_pairs(pairs))

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
        """
        self._check_prior()
        pairs = check_pairs(pairs)
        return self.probabilities_of(self.inputs(pairs), pairs)

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
        p = self.final_estimator_.predict_proba(inputs)[:, 1].astype(np.float64)
        same = self._samenesses(check_pairs(pairs)) if pairs is not None else None
        p = raised(p, same or [Sameness.OTHER] * len(p), self._shifted)
        return np.column_stack([1 - p, p])

    def _shifted(self, p: np.ndarray) -> np.ndarray:
        return p if self.prior is None else shift_prior(p, self.train_prior_, self.prior_)

    def _samenesses(self, pairs: np.ndarray) -> list[Sameness]:
        # Models that were saved without the attribute predict as they did.
        known = getattr(self, "certain_copies_", False)
        return samenesses(pairs) if known else [Sameness.OTHER] * len(pairs)

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
        duplicate = self.predict_proba(pairs)[:, 1] > 0.5
        return self.classes_[duplicate.astype(int)]

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
        The model keeps 8 bytes per distinct training text, whatever its length. One saved by an
        earlier version keeps a part of the texts only, and none in collection mode; what it does
        not recognise may be known all the same.
        """
        check_is_fitted(self)
        pairs = check_pairs(pairs)
        known = getattr(self, "_fingerprints", None)
        if known is None:
            collections = self._collections.values() if self.corpus is None else ()
            texts = {text for collection in collections for text in collection.texts}
            known = fingerprints(texts)
        said = fingerprints(pairs.ravel().tolist()).reshape(-1, 2)
        return np.asarray(np.isin(said, known).any(axis=1))

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
            If the model was saved before it kept what this needs, or its folds hold too few pairs.

        Warns
        -----
        UserWarning
            If the folds are too small for members to be fitted without two of them: the final
            models then learn from `out_of_fold_`, which saw a little of the labels they judge.
            So do, without a warning, models of earlier versions.

        Notes
        -----
        The first call fits every member cv (cv − 1) / 2 times to what two folds leave, with the
        default about as long as `fit` took, and the final model once per fold. Until then the
        model keeps its training pairs, also when it is saved.
        """
        check_is_fitted(self)
        self._check_prior()
        if not hasattr(self, "_fold_of_row"):
            raise ValueError(
                "this model was saved by an earlier version, which did not keep the labels of its "
                "training pairs: fit it again"
            )
        if self._out_of_fold_probabilities is None:
            self._out_of_fold_probabilities = cross_fitted_probabilities(
                self.final_estimator_,
                self._nested_inputs(),
                self._labels,
                self._fold_of_row,
                self._final_fit_params,
                self.train_prior_,
                self._routing,
            )
            self._training = None
        same = [SAMENESSES[code] for code in self._same]
        return raised(self._out_of_fold_probabilities, same, self._shifted)

    def _nested_inputs(self) -> np.ndarray:
        training = getattr(self, "_training", None)
        if training is not None:
            problem, fit_params = training
            cache: Any = checked_memory(self.memory).cache
            fit_member = cache(members_of.fit_member, ignore=["problem", "pairs"])
            try:
                with (
                    sklearn.config_context(enable_metadata_routing=self._routing),
                    progress_bar(self.verbose, "out of fold") as advance,
                ):
                    return nested_inputs(
                        [(name, clone(member)) for name, member in self.members_],
                        problem,
                        fit_params,
                        self.out_of_fold_,
                        self._fold_of_row,
                        fit_member,
                        advance,
                    )
            except ValueError as error:
                warnings.warn(
                    "probabilities out of fold may flatter a little, since folds are too small to "
                    f"be nested ({error}): train on more pairs",
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
        ValueError
            As in `out_of_fold_probabilities`, or if a parameter is out of range.

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
        ValueError
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

    def explain(self, pairs: Any) -> list[Any]:
        """Say why: what each member and feature said, and word by word where a member can.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        explanations : list of Verdict
            One a pair.

        See Also
        --------
        estimators.inspection.Verdict : What an explanation holds.
        """
        pairs = check_pairs(pairs)
        check_is_fitted(self)
        members = members_of.with_columns(self.members_)
        return explain_verdicts(
            pairs,
            lambda inputs, of=None: self.probabilities_of(inputs, of)[:, 1],
            self.inputs(pairs),
            self.inputs(pairs[:, [0, 0]]),
            [how.value for how in samenesses(pairs)],
            typical=self.typical_,
            members=members,
            feature_names=self.feature_names_out_[sum(len(of) for _, _, of in members) :],
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, those of the members under their names.

        Parameters
        ----------
        deep : bool, default=True
            Whether to give nested parameters, such as ``film__film__margin``.

        Returns
        -------
        params : dict
            By name.
        """
        params = super().get_params(deep=deep)
        if deep:
            for name, member in self._named_members():
                params[name] = member
                for key, value in member.get_params(deep=True).items():
                    params[f"{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters, a member by its name and nested ones as in a pipeline.

        Parameters
        ----------
        **params : dict
            By name.

        Returns
        -------
        self : DuplicateClassifier
            The same.
        """
        if "members" in params:
            self.members = params.pop("members")
        names = [name for name, _ in self._named_members()]
        replaced = {name: params.pop(name) for name in names if name in params}
        if replaced:
            self.members = [(name, replaced.get(name, member)) for name, member in self.members]
        super().set_params(**params)
        return self

    def _named_members(self) -> list[tuple[str, Any]]:
        """Members, none of them where the list is so wrong that `fit` has to say so."""
        found = self.members if isinstance(self.members, list) else []
        pairs = all(isinstance(entry, tuple) and len(entry) == 2 for entry in found)
        return found if pairs else []

    def get_metadata_routing(self) -> MetadataRouter:
        """Who asks for which metadata in `fit`.

        Returns
        -------
        routing : MetadataRouter
            Of the members that judge pairs, and the final model.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for name, member in self.members:
            if members_of.is_predictor(member):
                router.add(**{name: member}, method_mapping=mapping)
        final = self.final_estimator
        if final is None:
            # Both defaults take weights, and nobody could ask for them in their name.
            final = MetadataRequest(owner="final_estimator")
            final.fit.add_request(param="sample_weight", alias=True)
        return router.add(final_estimator=final, method_mapping=mapping)

    def _routed(self, fit_params: dict[str, Any], final: Any, n: int) -> dict[str, dict[str, Any]]:
        routed: dict[str, dict[str, Any]] = {name: {} for name, _ in self.members}
        routed["final_estimator"] = {}
        if sklearn.get_config().get("enable_metadata_routing"):
            if fit_params:
                found: Any = process_routing(self, "fit", **fit_params)
                routed |= {name: dict(found[name].fit) for name in routed if name in found}
            return routed
        unknown = set(fit_params) - {"sample_weight"}
        if unknown:
            raise TypeError(
                f"fit got {sorted(unknown)}; without metadata routing it takes sample_weight "
                "alone: sklearn.set_config(enable_metadata_routing=True), then set_fit_request "
                "on the members that want more"
            )
        weight = fit_params.get("sample_weight")
        if weight is not None:
            weight = column_or_1d(weight)
            if len(weight) != n:
                raise ValueError(
                    f"sample_weight has {len(weight)} entries for {n} pairs: give one a pair"
                )
            step = f"{final.steps[-1][0]}__" if isinstance(final, Pipeline) else ""
            routed["final_estimator"] = {f"{step}sample_weight": weight}
        return routed

    def _checked_members(self) -> list[tuple[str, Any]]:
        example = 'give a list such as [("film", make_pipeline(TfidfVectorizer(), FILM()))]'
        if not isinstance(self.members, list) or not self.members:
            raise TypeError(f"members={self.members!r} is no list of (name, estimator): {example}")
        taken = set(super().get_params(deep=False))
        for entry in self.members:
            if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)):
                raise TypeError(f"members holds {entry!r}, not a (name, estimator): {example}")
            name, member = entry
            if not name or "__" in name or name in taken:
                raise ValueError(
                    f"members: the name {name!r} is empty, holds '__', or is taken by a parameter "
                    "or another member; choose another"
                )
            taken.add(name)
            judges = hasattr(member, "fit") and members_of.is_predictor(member)
            if not (judges or hasattr(member, "transform")):
                raise TypeError(
                    f"member {name!r} is {type(member).__name__}, which neither judges pairs "
                    "(a classifier or regressor) nor embeds texts (has transform)"
                )
        return [(name, clone(member)) for name, member in self.members]

    def _final(self, n_pairs: int) -> Any:
        if self.final_estimator is not None:
            if not hasattr(self.final_estimator, "predict_proba") or not is_classifier(
                self.final_estimator
            ):
                raise TypeError(
                    f"final_estimator={self.final_estimator!r} has no predict_proba; give a "
                    "classifier of probabilities, or None"
                )
            return clone(self.final_estimator)
        if n_pairs < BOOSTING_PAIRS:
            return make_logistic()
        never: Any = False
        # Small leaves and steps: the inputs are few and strong, and probabilities are the aim.
        return HistGradientBoostingClassifier(
            learning_rate=0.05,
            max_iter=300,
            max_leaf_nodes=15,
            min_samples_leaf=60,
            l2_regularization=5.0,
            early_stopping=never,
            random_state=self.random_state,
        )

    def _features(self) -> Any:
        if self.features is None:
            return None
        if isinstance(self.features, str):
            check_choice("features", self.features, ("lexical",))
            return LexicalFeatures()
        if not hasattr(self.features, "transform"):
            raise TypeError(
                f"features={self.features!r} must be 'lexical', None, or a transformer of pairs"
            )
        return clone(self.features)

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

    def _sk_visual_block_(self) -> Any:
        names, members = zip(*self.members, strict=True)
        shown = self.final_estimator
        if shown is None:
            shown = "boosted trees or logistic regression"
        parts = visual_block("parallel", list(members), names=list(names), dash_wrapped=False)
        final = visual_block("parallel", [shown], names=["final_estimator"], dash_wrapped=False)
        return visual_block("serial", (parts, final), dash_wrapped=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        return tags


def make_logistic() -> Any:
    """Give the final model of few pairs: strongly regularised, on standardised inputs."""
    scaler, model = StandardScaler(), LogisticRegression(C=0.05, max_iter=1000)
    if sklearn.get_config().get("enable_metadata_routing"):
        scaler.set_fit_request(sample_weight=False)
        model.set_fit_request(sample_weight=True)
    return make_pipeline(scaler, model)


def _fit_and_judge(
    member: Any,
    key: str,
    train: np.ndarray,
    test: np.ndarray,
    problem: PairProblem,
    pairs: np.ndarray,
    fit_params: dict[str, Any],
    fit_member: Any,
) -> np.ndarray:
    fitted = fit_member(
        member, problem.training_key, train, problem=problem, pairs=pairs, fit_params=fit_params
    )
    return members_of.judge_fold(fitted, problem, pairs, train, test)


def _fit_default(
    final: Any, names: list[str], inputs: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> None:
    """Fit a default final model with weights of rows, boosted trees monotone where they should."""
    if isinstance(final, HistGradientBoostingClassifier):
        final.set_params(monotonic_cst=_monotonic(names))
    step = ""
    if isinstance(final, Pipeline) and not sklearn.get_config().get("enable_metadata_routing"):
        step = f"{final.steps[-1][0]}__"
    final.fit(inputs, labels, **{f"{step}sample_weight": weights})


def _inputs(
    members: list[tuple[str, Any]],
    collections: dict[str, members_of.Collection],
    features: Any,
    pairs: np.ndarray,
) -> np.ndarray:
    """Give the final model's inputs of pairs that no member was fitted on."""
    blocks = [
        collections[name].judge(member, pairs)
        if name in collections
        else members_of.judge_pairs(member, pairs)
        for name, member in members
    ]
    if features is not None:
        blocks.append(_dense(features.transform(pairs)))
    return np.column_stack(blocks)


def _monotonic(names: list[str]) -> list[int]:
    """Which inputs of the boosted trees can only raise (1) or only lower (-1) a probability.

    Similarities of members raise it. Of the lexical features, only those that name a difference
    in meaning lower it: inside training data, order on overlaps and edits as well costs accuracy.
    """
    ends = tuple(f": {column}" for column in (members_of.EMBEDDER_COLUMNS[0], "verdict"))
    return [
        1 if name == "spelled alike" or name.endswith(ends) else -1 if name in DIFFERENCES else 0
        for name in names
    ]


def _with_corpus(pairs: np.ndarray, corpus: list[str]) -> np.ndarray:
    """Add known texts to pairs, each as a pair with itself, so that features know rare words."""
    known = as_texts(corpus)
    return np.vstack([pairs, np.column_stack([known, known])])


def _dense(features: Any) -> np.ndarray:
    if hasattr(features, "toarray"):
        raise TypeError(
            "features gives a sparse matrix; give a transformer of a few dense features, and make "
            "a sparse one a member: make_pipeline(transformer, LogisticRegression())"
        )
    return np.asarray(features, dtype=np.float64)


def _names(features: Any, n: int) -> list[str]:
    try:
        return [str(name) for name in features.get_feature_names_out()]
    except AttributeError:  # also of a pipeline, when one of its steps names nothing
        return [f"feature {number}" for number in range(n)]

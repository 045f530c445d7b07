"""Calibrated probability that two texts mean the same, stacked from several members."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import (
    CELL_END,
    TwoLabels,
    as_records,
    as_texts,
    check_pairs,
    check_verbose,
    checked_memory,
    duplicate_column,
    progress_bar,
    splitter_of,
    tags_of_texts,
)
from estimators.pairs.encoder_checks import check_devices, check_encoders
from estimators.pairs.pair_problem import checked_problem
from estimators.pairs.record_features import RecordFeatures
from estimators.pairs.stack.augmentation import near_copies
from estimators.pairs.stack.cross_fitting import (
    count_steps,
    cross_fitted_probabilities,
    fit_members,
    nested_inputs,
    probabilities_without_each_fold,
    rows_to_learn_from,
)
from estimators.pairs.stack.encodings import Encodings
from estimators.pairs.stack.features import (
    checked_features,
    dense_features,
    names_of_features,
    with_corpus,
)
from estimators.pairs.stack.final_model import (
    BOOSTING_PAIRS,
    check_weights,
    checked_final,
    checked_neighbourhood,
    fit_final,
    prior_of,
    reaching_weights,
)
from estimators.pairs.stack.floors import Sameness, apply_floors, samenesses
from estimators.pairs.stack.general_formula import (
    FEW_LABELS,
    FEWEST_PAIRS,
    GENERAL,
    MANY_PAIRS,
    MOVED,
    NAMES,
    GeneralSide,
    OutOfFold,
    warn_of_unfamiliar,
)
from estimators.pairs.stack.member_columns import final_inputs
from estimators.pairs.stack.member_folds import (
    check_member_cv,
    make_plans,
)
from estimators.pairs.stack.members import (
    checked_members,
    columns_of,
    member_diagram,
    members_replaced,
    named_members,
    params_of_members,
    take_rows,
    with_columns,
)
from estimators.pairs.stack.routing import metadata_router, routed_metadata, weighted_rows
from estimators.pairs.stack.training_record import TrainingRecord
from estimators.persistence import savable
from film.pairs import ThresholdCurve, shift_prior, threshold_for_precision

USUAL_FOLDS = 5

FEATURE_STEPS, COPY_STEPS = 2, 1
"""Steps of the progress bar for features and near copies."""

LAST_STEPS = ((2_000, 1, 1), (20_000, 11, 1), (None, 8, 1))
"""Steps for the final model and for training texts, by an upper limit on the number of pairs.

They follow times relative to those of members, measured on 100 to 39,000 pairs."""


def _no_stage(*_: Any) -> None:
    """Replace the function that moves a progress bar."""


@savable
class DuplicateClassifier(TwoLabels, ClassifierMixin, BaseEstimator):
    """Predict the calibrated probability that two texts are duplicates, from stacked members.

    Each member is fitted on question-disjoint folds and scores only held-out pairs. A final model
    learns the probability of a duplicate from these scores and from lexical features.

    Parameters
    ----------
    members : list of (str, estimator, object with ``encode`` or function)
        Named members. A classifier or regressor is fitted as ``fit(pairs, y)`` and computes one
        number per pair: log-odds, or its prediction. Any other member is an embedder that maps
        texts to dense vectors; see `AnyEncoder` for objects and functions. It is fitted as
        ``fit(texts, triplets)`` on triplets mined from the labels, and its columns are the cosine
        of a pair and both neighbour ranks. A member that learns nothing (a plain
        `SentenceEncoder`, an object or function, untrained `RCMDRegressor`,
        `TokenMatchingRegressor`, `FrozenEstimator`) is fitted once, without labels. Members that
        begin with the same frozen encoder share its vectors.
    final_estimator : classifier, default=None
        Must have `predict_proba`, and neither ``class_weight`` nor ``priors``. None: gradient
        boosting that minimises log loss from 2,000 pairs on, and extremely randomised trees below
        and for records.
    features : {"lexical"}, transformer or None, default="lexical"
        Maps pairs to further dense features, without labels. "lexical" is `LexicalFeatures`, and
        `RecordFeatures` for pairs of records. With a transformer, ``members`` may be empty.
    cv : int or splitter, default=5
        Question-disjoint folds; each pair is in one test fold. If common questions link more than
        half of the pairs, a number of folds keeps only duplicates together
        (`film.corpus.groups_for_folds`). If a class has fewer than five pairs that share no
        question, there are as many folds as such pairs. A splitter whose folds share questions
        raises an error, unless it is an `AllowSharedQuestions`.
    member_cv : dict of str to int, default=None
        Number of folds, by name, for members that are expensive to train: at least 2, and the same
        for all. Such a member is fitted once per fold and once on all pairs, instead of ``cv + 1``
        times. Each of its folds is a union of at least two folds of ``cv``, so folds share no
        question.
    neighbourhood : int or "auto", default=None
        Adds `film.pairs.neighbourhood_features` of this number of nearest texts to each embedder's
        columns: how dense the neighbourhoods are, and how many neighbours the two texts share. The
        same search then counts ranks up to this number. None adds nothing; "auto" uses 20 texts
        from 2,000 pairs on.
    prior : float, default=None
        Share of duplicates among the pairs to be scored. Probabilities are shifted from
        `train_prior_` to this share by Bayes' rule. None: no shift.
    corpus : iterable of str, default=None
        Texts among which ranks are counted, in addition to the training texts. None is *inductive*
        mode: a prediction depends only on its own pair. Texts are *collection* mode: include the
        texts to be scored, without labels.
    memory : str or joblib.Memory, default=None
        Folder to cache fitted members and their scores, to be used by nothing else. After an
        interruption, a fit with the same folder continues after the last finished fold; a member
        that trains a network continues from its last ``eval_steps`` steps.
    random_state : int, default=0
        Seeds mining, folds and the default final model.
    verbose : int, default=0
        Whether to show progress, also of members from this package.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels, sorted.
    duplicate_class_ : label
        Label of duplicates.
    members_ : list of (str, estimator)
        Members fitted on all pairs.
    final_estimator_ : classifier
        Fitted final model.
    features_ : transformer or None
        Fitted lexical features.
    columns_ : tuple of str or None
        Names of the columns of records; None if the pairs are texts.
    feature_names_out_ : list of str
        Names of the final model's inputs, "member: column" first.
    out_of_fold_ : ndarray of float64, shape (n_pairs, n_features)
        Training inputs of the final model.
    train_prior_ : float
        Share of duplicates for which the final model's probabilities are calibrated: the share in
        the training pairs, weighted by the ``sample_weight`` of the final model.
    typical_ : ndarray of float64, shape (n_features,)
        Median of every input, the baseline of `explain`.
    prior_ : float
        Share of duplicates for which the probabilities are calibrated.

    See Also
    --------
    fast_duplicates : Good members that need no GPU.
    DuplicateFinder : Duplicates of a whole corpus.

    Notes
    -----
    Every member that learns is fitted ``cv + 1`` times, or fewer with ``member_cv``. A frozen
    encoder reads each text once. ``neighbourhood`` is faster than ranks without a limit.

    If a member fails, a note on its error names it, the finished parts, and their folder.

    For texts with lexical features, the last input of the default final models are the log-odds by
    the general formula (`film.judge.GeneralWeights`), which needs no labels. From 2,000 training
    pairs on, these models also learn from near copies: pairs of a training text and the same text
    with a typo or another punctuation mark, labelled as duplicates. Together they have a hundredth
    of the weight of the training pairs. If a member's similarity or the formula's log-odds rise,
    the trees never lower the probability; if one text has more numbers, symbols or negations that
    the other text lacks, the trees never raise it.

    Log-odds are a weighted mean of the log-odds by the final model and by the general formula, to
    which the labels only give an offset and a slope: ``(1 − λ) · stack + λ · general``. For pairs
    like the training pairs, λ is the mean of 0.1, 0.2, …, 1, each weighted by the likelihood of the
    training labels out of fold; from 20,000 training pairs on, it is 0.1. λ rises to 1 as
    `familiarity` falls to 0. From 1,000 to 20,000 training pairs, a line then calibrates the
    log-odds of such pairs (Platt, 1999), learned out of fold. If a class does not have two pairs
    without a common question, no member is fitted and λ is 1. If a member is an encoder that learns
    nothing, the formula also uses this encoder. If, in addition, the training texts are sentences
    and there is a ``neighbourhood``, λ also rises if the encoder finds few training texts near a
    pair: from the median density of the training pairs, to 1 at the 0.05 quantile.

    Examples
    --------
    >>> from estimators import fast_duplicates
    >>> from film.datasets import make_question_pairs
    >>> data = make_question_pairs(400, random_state=0)
    >>> model = fast_duplicates(d=20, rank=50, cv=2).fit(data.pairs[:300], data.y[:300])
    >>> model.predict_proba(data.pairs[300:]).shape
    (100, 2)
    """

    _general: GeneralSide | None = None

    def __init__(
        self,
        members: Any,
        final_estimator: Any = None,
        *,
        features: Any = "lexical",
        cv: Any = USUAL_FOLDS,
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
        """Fit the members out of fold, then the final model on their scores.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2), RecordPairs or wide frame
            Texts; order within a pair does not matter. Records (`RecordPairs`, or a frame that
            `estimators.inputs.record_pairs` reads) have several columns; first records may come
            from one table and second records from another. Members and the general formula read the
            joined cells of a record as one text.
        y : array-like of shape (n_pairs,)
            Two classes: numbers, the larger for duplicates, or words such as "match" and
            "nonmatch" (`estimators.inputs.duplicate_class`).
        similar : array-like of str, shape (n_similar, 2), default=None
            Further known duplicates, which train only embedders. Out of fold, pairs linked to a
            held-out question are left out.
        **fit_params : dict
            With metadata routing, the metadata that members and final model request. Otherwise only
            ``sample_weight``, for the final model. A pair with weight 0 is left out.

        Returns
        -------
        self : DuplicateClassifier
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y has only one class, a parameter is invalid, folds share
            questions, a class has no weight, no triplet can be mined, ``max_length`` is too large
            for a member's transformers model, or the model's files differ from those of the fits in
            ``memory``; raised before any work.
        FileNotFoundError, ImportError
            If a member's transformers model is missing; raised before any work.
        """
        records = as_records(pairs)
        columns = None if records is None else records.columns
        more = None if similar is None else as_records(similar)
        if more is not None:
            similar = more.texts(columns)
        features = checked_features(self.features, columns)
        alone = hasattr(self.features, "transform")
        members = checked_members(self.members, set(super().get_params(deep=False)), alone)
        own_folds = check_member_cv(self.member_cv, members)
        memory = checked_memory(self.memory)
        check_devices(members)
        check_encoders([(f"member {name!r}", member) for name, member in members], memory)
        classes, duplicate, problem = checked_problem(
            pairs, y, similar, self.corpus, self.random_state
        )
        pairs, labels = problem.pairs, problem.labels
        near = checked_neighbourhood(self.neighbourhood, len(pairs))
        final = checked_final(
            self.final_estimator, len(pairs), self.random_state, records is not None
        )
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
            some = pairs[rows] if records is None else records[rows]
            return self.fit(some, np.asarray(y)[rows], similar, **sliced)
        most = problem.most_folds()
        if most < 2 and features is not None:
            warnings.warn(
                f"too few pairs to fit members (duplicates: {labels.sum()}, others: "
                f"{(labels == 0).sum()}): the general formula decides; label at least two of each "
                "that share no question",
                UserWarning,
                stacklevel=2,
            )
            members, own_folds, names = [], {}, []
            everything = np.arange(len(pairs))
            folds = [(everything, everything)]
        else:
            if most < USUAL_FOLDS and not hasattr(self.cv, "split"):
                splitter = splitter_of(max(2, min(self.cv, most)), self.random_state)
            folds = problem.folds(splitter)
        plans = make_plans(members, own_folds, folds)
        final_steps, text_steps = next(
            steps for most, *steps in LAST_STEPS if most is None or len(pairs) < most
        )
        n_steps = count_steps(plans) + FEATURE_STEPS + COPY_STEPS + final_steps + text_steps
        with progress_bar(self.verbose, "DuplicateClassifier", n_steps) as advance:
            stage = advance or _no_stage
            stage("features", 0)
            if features is not None:
                features = features.fit(with_corpus(pairs, problem.corpus_texts))
            lexical = dense_features(features, pairs)
            stage("features", FEATURE_STEPS)
            judged, fitted, collections = fit_members(
                plans, problem, near, routed, memory.cache, advance, int(self.verbose)
            )
            inputs = np.column_stack([judged, lexical])
            inputs_of = [f"{name}: {each}" for name, of in members for each in columns_of(of, near)]
            inputs_of += names_of_features(features, lexical.shape[1])
            stage("training texts", 0)
            general = GeneralSide(problem, inputs_of, inputs, fitted, near)
            general = general.scaled(inputs, fitted, near, labels, weights)
            is_default = self.final_estimator is None and records is None
            if is_default and self.features == "lexical":
                inputs_of.append(GENERAL)
                inputs = np.column_stack([inputs, general.training[:, 0]])
            stage("training texts", text_steps)
            stage("near copies", 0)
            copies: Any = inputs[:0] if is_default else None
            if is_default and len(pairs) >= BOOSTING_PAIRS:
                edited = near_copies(sorted(set(pairs.flat)), self.random_state)
                copies = final_inputs(fitted, collections, features, edited, near)
                odds = general.columns(edited, inputs_of, copies)[:, :1]
                copies = np.hstack([copies, odds])[:, : len(inputs_of)]
            stage("near copies", COPY_STEPS)
            stage("final model", 0)
            final = fit_final(final, inputs_of, inputs, labels, copies, routed["final_estimator"])
            stage("final model", final_steps)

            self._set_labels(classes, duplicate)
            self.members_ = fitted
            self.final_estimator_ = final
            self.features_ = features
            self.columns_ = columns
            self.feature_names_out_ = inputs_of
            self.out_of_fold_ = inputs
            self.train_prior_ = prior_of(labels, weights)
            self.typical_ = np.median(inputs, axis=0)
            self._collections, self._neighbourhood, self._copies = collections, near, copies
            self._final_fit_params = routed["final_estimator"]
            self._routing = bool(sklearn.get_config().get("enable_metadata_routing"))
            given = {name: routed[name] for name in names}
            self._record = TrainingRecord(problem, folds, own_folds, given)
            self._general = self._calibrated(general)
        return self

    def _calibrated(self, general: GeneralSide) -> GeneralSide:
        """Choose the weight of the general formula, and calibrate the mixture."""
        record, inputs = self._record, self.out_of_fold_
        labels, weights = record.labels, self._weights()
        if len(labels) >= MANY_PAIRS:
            return general
        n_folds = int(record.fold_of_row.max()) + 1
        known = (
            labels[rows_to_learn_from(fold, record.fold_of_row, record.part_of_fold)]
            for fold in range(n_folds)
        )
        if any(len(np.unique(each)) < 2 for each in known):
            return general.alone()
        p = self._cross_fitted(np.repeat(inputs[None], n_folds, axis=0))
        return general.calibrated(OutOfFold(p, inputs, record.fold_of_row, labels, weights))

    def _weights(self) -> Any:
        """Return the weights of training pairs that reach the final model, or None."""
        with sklearn.config_context(enable_metadata_routing=self._routing):
            return reaching_weights(self.final_estimator_, self._final_fit_params)

    def _cross_fitted(self, inputs: np.ndarray, without_each_fold: bool = False) -> np.ndarray:
        """Return probabilities of each fold by the final model fitted to the other folds."""
        record = self._record
        given: dict[str, Any] = {
            "final": self.final_estimator_,
            "inputs": inputs,
            "labels": record.labels,
            "fold_of_row": record.fold_of_row,
            "part_of_fold": record.part_of_fold,
            "fit_params": self._final_fit_params,
            "prior": self.train_prior_,
            "routing": self._routing,
        }
        if without_each_fold:
            return probabilities_without_each_fold(**given, linked=record.linked)
        return cross_fitted_probabilities(**given)

    def _texts_of(self, pairs: Any) -> np.ndarray:
        """Return pairs of texts, those of records with the columns of `fit`."""
        records, columns = as_records(pairs), getattr(self, "columns_", None)
        if records is None:
            return check_pairs(pairs)
        if columns is None:
            raise ValueError(
                f"the model was fitted to pairs of texts, but these are records with the columns "
                f"{', '.join(records.columns)}: give two texts per pair, or fit it to records"
            )
        return records.texts(columns)

    def inputs(self, pairs: Any, encodings: Encodings | None = None) -> np.ndarray:
        """Columns of members and features: the final model's inputs.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        encodings : Encodings, default=None
            Cache of vectors by frozen encoders; new vectors are added.

        Returns
        -------
        inputs : ndarray of float64, shape (n_pairs, n_features)
            Columns `feature_names_out_`.
        """
        check_is_fitted(self)
        return self._all_inputs(self._texts_of(pairs), encodings)[:, : len(self.feature_names_out_)]

    def _all_inputs(
        self,
        pairs: np.ndarray,
        encodings: Encodings | None = None,
        general: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the inputs of members, features and the general formula, and familiarity."""
        fitted = self.members_, self._collections, self.features_
        given = final_inputs(*fitted, pairs, self._neighbourhood, encodings or Encodings())
        return self._with_general(given, pairs, general)

    def _checked_general(self, general: Any, n_pairs: int) -> np.ndarray | None:
        """Return the general scores of pairs of records, if given."""
        if general is None:
            return None
        if self._general is None or getattr(self, "columns_", None) is None:
            raise ValueError(
                "general is given, but the model compares texts; general scores are only for "
                "models of records: leave them out"
            )
        scores = np.asarray(general, dtype=np.float64)
        if scores.shape != (n_pairs,):
            raise ValueError(
                f"general has the shape {scores.shape} for {n_pairs} pairs; give one score per pair"
            )
        if not ((scores >= 0) & (scores <= 1)).all():
            raise ValueError("general has values outside 0 to 1; give DuplicateFinder.score_pairs")
        return scores

    @property
    def takes_general(self) -> bool:
        """Whether the model was fitted to few pairs of records, so that general scores help it."""
        is_of_records = getattr(self, "columns_", None) is not None
        return (
            self._general is not None
            and is_of_records
            and len(self._general.training) <= FEW_LABELS
        )

    def predict_proba(self, pairs: Any, general: Any = None) -> np.ndarray:
        """Probability that pairs are duplicates.

        Some probabilities are fixed. Copies, which differ only in case, white space and Unicode
        form (`film.text.copy_key`), have 1 − 10⁻⁶ at any prior. Texts with the same words, numbers
        and symbols (`film.text.token_text`) have at least 0.99. Texts that differ by one spelling
        mistake (`film.pairs.spelled_alike`) have at least 0.95 before the shift to the prior.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        general : array-like of float, shape (n_pairs,), default=None
            For records: scores of the pairs by `DuplicateFinder.score_pairs` without a classifier,
            which know the neighbours of a row in its table. They replace those of the general
            formula, which sees each pair alone. They help models of up to 2,000 labels.

        Returns
        -------
        probabilities : ndarray of float64, shape (n_pairs, 2)
            Columns as in `classes_`, at the prior `prior_`.

        Raises
        ------
        ValueError
            If ``general`` is given to a model of texts, or is not one score from 0 to 1 per pair.

        Warns
        -----
        UnfamiliarTextsWarning
            If there are 20 pairs or more, and over a quarter have a `familiarity` of 0.5 or less.
            The general formula decides about these pairs, so their results are scores rather than
            probabilities.
        """
        self._check_prior()
        check_is_fitted(self)
        pairs = self._texts_of(pairs)
        inputs = self._all_inputs(pairs, general=self._checked_general(general, len(pairs)))
        if self._general is not None and len(pairs) >= FEWEST_PAIRS:
            warn_of_unfamiliar(inputs[:, -1], "pairs")
        return self._mixed(inputs, pairs)

    def probabilities_of(self, inputs: np.ndarray, pairs: Any = None) -> np.ndarray:
        """Probability from the final model's inputs, at the prior `prior_`.

        Parameters
        ----------
        inputs : ndarray of shape (n_pairs, n_features)
            From `inputs`.
        pairs : array-like of str, shape (n_pairs, 2), default=None
            Their texts, for the general formula and the fixed probabilities of copies. None: the
            final model decides.

        Returns
        -------
        probabilities : ndarray of float64, shape (n_pairs, 2)
            Columns as in `classes_`.
        """
        check_is_fitted(self)
        if pairs is not None:
            pairs = self._texts_of(pairs)
            inputs = self._with_general(inputs, pairs)
        return self._mixed(inputs, pairs)

    def _with_general(
        self, inputs: np.ndarray, pairs: np.ndarray, general: np.ndarray | None = None
    ) -> np.ndarray:
        """Let inputs end with the columns of the general formula, if the model has it."""
        if self._general is None:
            return inputs
        more = self._general.columns(pairs, self.feature_names_out_, inputs, general)
        return np.column_stack([inputs[:, : self._n_own], more])

    @property
    def _n_own(self) -> int:
        """Number of the inputs of members and features."""
        return len(self.feature_names_out_) - self.feature_names_out_[-1:].count(GENERAL)

    def _mixed(self, inputs: np.ndarray, pairs: np.ndarray | None = None) -> np.ndarray:
        """Return probabilities from inputs with or without the columns of the formula."""
        n_learned = len(self.feature_names_out_)
        p = self.final_estimator_.predict_proba(inputs[:, :n_learned])[:, 1].astype(np.float64)
        if self._general is not None and inputs.shape[1] > n_learned:
            p = self._general.mixed(p, inputs)
        same = [Sameness.OTHER] * len(p)
        if pairs is not None:
            same = samenesses(pairs)
        return self._columns(apply_floors(p, same, self._at_prior))

    def predict(self, pairs: Any) -> np.ndarray:
        """Predict duplicates: pairs with a probability above one half at the prior.

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

    def explain(self, pairs: Any, general: Any = None) -> list[Any]:
        """Explain probabilities by members and features, and by words if possible.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        general : array-like of float, shape (n_pairs,), default=None
            As in `predict_proba`.

        Returns
        -------
        explanations : list of Verdict
            One per pair.

        See Also
        --------
        estimators.inspection.Verdict : Content of an explanation.
        """
        # Slow to load, and not needed for scores.
        from estimators.inspection import explain_verdicts

        check_is_fitted(self)
        pairs, encodings = self._texts_of(pairs), Encodings()
        members = with_columns(self.members_, self._neighbourhood)
        names, typical, known = self.feature_names_out_, self.typical_, {}
        scores = self._checked_general(general, len(pairs))
        inputs = self._all_inputs(pairs, encodings, scores)
        copies = self._all_inputs(pairs[:, [0, 0]], encodings)
        if self._general is not None:
            names = [*names[: self._n_own], *NAMES]
            medians = np.median(self._general.training, axis=0)
            typical = np.append(typical[: self._n_own], medians)
            known = {"familiarities": inputs[:, -1], "familiarity_limit": MOVED}
        feature_names = names[sum(len(of) for _, _, of in members) :]
        shown = pairs
        columns: Any = getattr(self, "columns_", None)
        if columns is None:
            known["predict"] = lambda given: duplicate_column(
                self._mixed(self._all_inputs(given, encodings), given), self
            )
        else:
            rows = [[text.split(CELL_END) for text in pair] for pair in pairs.tolist()]
            known["cells"] = [
                dict(zip(columns, zip(*pair, strict=True), strict=True)) for pair in rows
            ]
            if isinstance(self.features_, RecordFeatures):
                of_columns = self.features_.groups_of_features()
                known["columns_of_features"] = of_columns + feature_names[len(of_columns) :]
            texts = [" | ".join(cell for cell in cells if cell) for pair in rows for cells in pair]
            shown = as_texts(texts).reshape(-1, 2)
        return explain_verdicts(
            shown,
            lambda inputs, of=None: duplicate_column(
                self._mixed(inputs, None if of is None else pairs), self
            ),
            inputs,
            copies,
            [how.value for how in samenesses(pairs)],
            typical=typical,
            members=members,
            feature_names=feature_names,
            **known,
        )

    @property
    def prior_(self) -> float:
        """Share of duplicates for which the probabilities are calibrated."""
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

    def _at_prior(self, p: np.ndarray) -> np.ndarray:
        return p if self.prior is None else shift_prior(p, self.train_prior_, self.prior_)

    def trained_on(self, pairs: Any) -> np.ndarray:
        """Return which pairs contain a question that the model was trained on.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        known : ndarray of bool, shape (n_pairs,)
            Whether either text, after normalisation, occurs in a training pair or in `similar`.
            Texts that occur only in `corpus` do not count, because they have no labels.

        Notes
        -----
        The model keeps 8 bytes per distinct training text, whatever its length.
        """
        check_is_fitted(self)
        return self._record.knows(self._texts_of(pairs))

    def out_of_fold_probabilities(self) -> np.ndarray:
        """Return probabilities of the training pairs by models that did not see their labels.

        Each fold is scored by a final model fitted on the other folds, as are the members from
        which it learns. Copies are treated as in `predict_proba`. The probabilities show how good
        the fitted model is on new pairs.

        Returns
        -------
        probabilities : ndarray of float64, shape (n_pairs,)
            Probabilities of duplicates, in the order of the training pairs, at the prior `prior_`.

        Raises
        ------
        ValueError
            If its folds have too few pairs.

        Warns
        -----
        UserWarning
            If the folds are too small to fit members without two of them. The final models then
            learn from `out_of_fold_`, which depends a little on the labels of the scored fold.

        Notes
        -----
        The first call fits every member cv (cv − 1) / 2 times, each time without two folds, and the
        final model once per fold; below 20,000 pairs also once without each two folds, to learn
        what the general formula adds. With the default, this takes about as long as `fit`. Until
        then,
        the model keeps its training pairs, also when it is saved. Frozen members and members in
        ``member_cv`` are not fitted again. With ``member_cv``, the final model for a fold learns
        only from the other folds of the same union, 1 / ``member_cv`` of the pairs, so it is a
        little worse than the fitted model.
        """
        check_is_fitted(self)
        self._check_prior()
        record = self._record
        if not record.fold_of_row.any():
            raise ValueError(
                "probabilities out of fold need at least two duplicates and two other pairs that "
                "share no question: train on more pairs"
            )
        if record.probabilities is None:
            nested = self._nested_inputs()
            record.probabilities = self._cross_fitted(nested)
            if self._general is not None and len(record.labels) < MANY_PAIRS:
                record.without = self._cross_fitted(nested, without_each_fold=True)
            record.training = None
        p = record.probabilities
        if self._general is not None:
            inputs, labels, weights = self.out_of_fold_, record.labels, self._weights()
            p = self._general.mixed_out_of_fold(
                OutOfFold(p, inputs, record.fold_of_row, labels, weights), record.without
            )
        return apply_floors(p, record.samenesses(), self._at_prior)

    def _nested_inputs(self) -> np.ndarray:
        record = self._record
        if record.training is not None and self.members_:
            problem, fit_params = record.training
            try:
                with sklearn.config_context(enable_metadata_routing=self._routing):
                    return nested_inputs(
                        [(name, clone(member)) for name, member in self.members_],
                        set(record.own_folds),
                        problem,
                        self._neighbourhood,
                        fit_params,
                        self.out_of_fold_,
                        record.fold_of_row,
                        checked_memory(self.memory).cache,
                        int(self.verbose),
                    )
            except ValueError as error:
                told = ". ".join([str(error), *getattr(error, "__notes__", [])])
                warnings.warn(
                    "out-of-fold probabilities may be a little too good: folds are too small to "
                    f"be nested, or a member refuses them: {told}. Train on more pairs",
                    UserWarning,
                    stacklevel=3,
                )
        return np.repeat(self.out_of_fold_[None], int(record.fold_of_row.max()) + 1, axis=0)

    def threshold_curve(
        self, *, prior: float | None = None, confidence: float = 0.95
    ) -> ThresholdCurve:
        """Return precision, recall and F1 by threshold, on the training pairs out of fold.

        Parameters
        ----------
        prior : float, default=None
            Share of duplicates among the pairs to be scored: probabilities are shifted and pairs
            weighted to it. None is `prior_`.
        confidence : float, default=0.95
            Confidence of each interval.

        Returns
        -------
        curve : ThresholdCurve
            At every distinct probability. Pairs linked by shared questions count as dependent.

        Raises
        ------
        TypeError, ValueError
            As in `out_of_fold_probabilities`, or if a parameter is not a number or out of range.

        See Also
        --------
        film.pairs.threshold_curve : Definition of the intervals.
        """
        p = self.out_of_fold_probabilities()
        share = self.prior_ if prior is None else prior
        return self._record.threshold_curve(shift_prior(p, self.prior_, share), share, confidence)

    def threshold_for(
        self, precision: float, *, prior: float | None = None, confidence: float = 0.95
    ) -> float:
        """Return the lowest threshold that reaches a precision, with confidence.

        Parameters
        ----------
        precision : float in (0, 1)
            Least share of true duplicates among the pairs at or above the threshold.
        prior, confidence : float
            As in `threshold_curve`.

        Returns
        -------
        threshold : float
            Threshold for probabilities at the prior. The low end of its precision's interval, out
            of fold, is at least ``precision``.

        Raises
        ------
        TypeError, ValueError
            If no threshold reaches the precision with this confidence, or as in `threshold_curve`.

        Notes
        -----
        The threshold holds for pairs drawn like the training pairs, except for their share of
        duplicates. Candidates of a search for duplicates are all similar, so non-duplicates among
        them may be harder than those among the training pairs; the precision is then lower.

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
                f"{confidence:.0%} confidence, by {len(self._record.labels)} training pairs out of "
                f"fold; from {curve.thresholds[best]:.4f} on it is at least "
                f"{curve.precision_interval[best, 0]:.4f}: ask for less, or train on more pairs"
            )
        return float(curve.thresholds[chosen])

    def familiarity(self, pairs: Any) -> np.ndarray:
        """Measure how much the texts of pairs are like the training texts.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        familiarity : ndarray of float64, shape (n_pairs,)
            From 0 to 1. At 1 the stack decides, unless an encoder finds few training texts near. At
            0 the general formula alone decides. Fewer than 5 % of pairs that are like the training
            pairs have 0.5 or less.

        Notes
        -----
        Familiarity falls from 1 to 0 as the mean rarity of the adjacent words of both texts
        (`film.judge.AdjacentWords`) rises from the 0.97 to the 0.995 quantile of training pairs.
        For a training pair, texts that are linked to it are not counted. Labels have no effect. If
        a text is empty or has no known word, familiarity is 0. Models of versions without the
        formula return 1.

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
        pairs = self._texts_of(pairs)
        return np.ones(len(pairs)) if self._general is None else self._general.familiarity(pairs)

    def pruned(self, members: list[str]) -> Any:
        """Return a classifier with some of the members, without fitting them again.

        Only the final model is fitted again, on the out-of-fold columns of the kept members. Fewer
        members make predictions cheaper, and show what each member is worth.

        Parameters
        ----------
        members : list of str
            Names of the members to keep, at least one.

        Returns
        -------
        classifier : DuplicateClassifier
            Fitted. It shares its members with this classifier, which does not change.

        Raises
        ------
        ValueError
            If a member does not exist, or ``members`` is empty.

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
        less.out_of_fold_ = self.out_of_fold_[:, kept]
        less._record = self._record.pruned(own)
        less._copies = None if self._copies is None else self._copies[:, kept]
        final: Any = clone(self.final_estimator_)
        labels, params = self._record.labels.astype(int), self._final_fit_params
        if less._general is not None:
            given = less.out_of_fold_, less.members_, self._neighbourhood, labels
            less._general = less._general.scaled(*given, self._weights())
            less.out_of_fold_[:, less._n_own :] = less._general.training[:, :1]
        less.typical_ = np.median(less.out_of_fold_, axis=0)
        with sklearn.config_context(enable_metadata_routing=self._routing):
            less.final_estimator_ = fit_final(
                final, less.feature_names_out_, less.out_of_fold_, labels, less._copies, params
            )
            weights = reaching_weights(final, params)
        less.train_prior_ = prior_of(labels, weights)
        if less._general is not None:
            less._general = less._calibrated(less._general)
        return less

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name, including nested ones such as ``film__film__margin``."""
        params = super().get_params(deep=deep)
        return params | params_of_members(self.members) if deep else params

    def set_params(self, **params: Any) -> Any:
        """Set parameters; members by their names, and nested parameters as in a pipeline."""
        if "members" in params:
            self.members = params.pop("members")
        names = [name for name, _ in named_members(self.members)]
        replaced = {name: params.pop(name) for name in names if name in params}
        if replaced:
            self.members = members_replaced(self.members, replaced)
        super().set_params(**params)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the router of metadata of `fit`, for predictors of pairs and the final model."""
        return metadata_router(self, self.members, self.final_estimator)

    def _sk_visual_block_(self) -> Any:
        return member_diagram(self.members, self.final_estimator)

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

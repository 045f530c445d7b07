"""Similarity of sentences by the contexts that can hold them (Origin)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from estimators.contexts.origin.pair_terms import PairTerms, terms_of_pairs, whitened_terms
from estimators.contexts.origin.parameter_checks import (
    CENTRES,
    checked_model,
    checked_reference,
    checked_weights,
    is_fitted,
    shared_copy,
)
from estimators.inputs import (
    check_choice,
    check_integer,
    check_pair_scores,
    check_pairs,
    check_verbose,
    tags_of_texts,
)
from estimators.inspection import ContextExplanation
from estimators.persistence import savable
from estimators.training import units_of
from film.contexts import combine_terms, context_shares

KEPT_CONTEXTS = 50
"""Contexts kept per explanation by default."""


@savable
class ContextRegressor(RegressorMixin, BaseEstimator):
    """Judge pairs by how alike two sentences fit the same contexts, and explain why.

    A `ContextModel` has learned which sentence can stand between which others. It chooses contexts
    for each sentence; both sentences of a pair are scored in the contexts of both, and the cosine
    of the two vectors of scores is their similarity. Nothing is learned from labels. This is
    *Origin* of Sun et al., "Sentence similarity based on contexts" (2022), Eq. 4.

    Parameters
    ----------
    context_model : ContextModel, str or path-like
        Fitted, or the folder of one; it is used as it is, never fitted again: a clone of this
        regressor keeps it fitted, so that cross-validation trains nothing. It may stand in a
        `sklearn.frozen.FrozenEstimator`.
    n_contexts : int, default=None
        Contexts per sentence, |C_s|. None: that of the model.
    centre : {"raw", "contexts", "reference", "whitened"}, default="whitened"
        What is taken from the scores before the cosine. Log-probabilities are all negative, so that
        raw cosines crowd at 1. "raw": nothing, which is Eq. 4 as printed. "contexts": each
        sentence's mean over the contexts. "reference": the mean of the reference sentences in each
        context. "whitened": each sentence's mean over the fixed set, the mean of 500 sentences of
        the corpus in each context, and what the other contexts say already
        (`film.contexts.whiten_scores`); of what generators say "reference", then "contexts".
    reference : int or array-like of str, default=8
        For "reference", and for "whitened" where generators have a weight: sentences of the kind
        that will be judged, or how many to take from the corpus. Each is scored in the contexts of
        every text, beside the text and its partner, so that 8 of them cost some five times the
        time.
    weights : array-like of float, shape (4,), default=None
        λ of Eq. 3, by which contexts are chosen and sentences are scored in them. None: those of
        the model.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    context_model_ : ContextModel
        The model, read from its folder where that was given. Where ``weights`` are given, a copy
        that has them and shares the rest.
    weights_ : ndarray of float64, shape (4,)
        λ of Eq. 3.
    reference_ : list of str
        The reference sentences; empty where none are used.
    slope_, intercept_ : float
        Least squares line from similarity to the y of `fit`; 1 and 0 without y. Fitted on 10,000
        pairs, evenly by y, of more.

    See Also
    --------
    ContextModel : Learns from documents.
    harvest : Scores many pairs, for a model that is faster.

    Notes
    -----
    A pair costs 4 |C_s| scorings of a sentence in a context, by three generators and the
    discriminator, and the choice of contexts for each sentence; a sentence in many pairs is given
    contexts once. Pairs go through in blocks, and contexts of a sentence are kept for as long as a
    later pair needs them: some 24 bytes per context.

    A text without any letter or digit has the similarity 0 to all but itself. A sentence for which
    there is no context, such as one of unknown words, is judged in the contexts of the other alone.

    Examples
    --------
    >>> from estimators.contexts import ContextModel, ContextRegressor  # doctest: +SKIP
    >>> contexts = ContextModel().fit("books")  # doctest: +SKIP
    >>> model = ContextRegressor(contexts).fit(pairs)  # doctest: +SKIP
    >>> model.similarity(pairs)  # doctest: +SKIP
    array([0.83..., 0.12...])
    """

    def __init__(
        self,
        context_model: Any,
        *,
        n_contexts: Any = None,
        centre: str = "whitened",
        reference: Any = 8,
        weights: Any = None,
        verbose: int = 0,
    ) -> None:
        self.context_model = context_model
        self.n_contexts = n_contexts
        self.centre = centre
        self.reference = reference
        self.weights = weights
        self.verbose = verbose

    def fit(self, pairs: Any, y: Any = None) -> ContextRegressor:
        """Learn the units of y; the contexts need no labels.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; their order does not matter.
        y : array-like of float, shape (n_pairs,), default=None
            Similarity of each pair in any unit, or labels 0 and 1. None: `predict` gives
            `similarity`, and no pair is scored here.

        Returns
        -------
        self : ContextRegressor
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y does not fit the pairs, holds NaN or is constant, or a parameter
            is wrong; before any work.
        NotFittedError
            If ``context_model`` is not fitted.
        FileNotFoundError
            If there is no model in the folder.
        """
        pairs = check_pairs(pairs, encodable=True, fits=True)
        y = None if y is None else check_pair_scores(y, len(pairs))
        model = checked_model(self.context_model)
        if self.n_contexts is not None:
            check_integer("n_contexts", self.n_contexts, 1)
        check_choice("centre", self.centre, CENTRES)
        weights = checked_weights(model.weights if self.weights is None else self.weights)
        reference = checked_reference(self.reference, self.centre, model, weights)
        if self.weights is not None:
            model = shared_copy(model).set_params(weights=weights.tolist())
        check_verbose(self.verbose)
        line = 1.0, 0.0
        shown, fit_line = units_of("regression", (pairs, y), None)
        if shown is not None:
            line = fit_line(self._similarities(model, weights, reference, shown))
        self.context_model_, self.weights_, self.reference_ = model, weights, reference
        self.slope_, self.intercept_ = line
        return self

    def similarity(self, pairs: Any) -> NDArray[np.float64]:
        """Cosine of the score vectors of each pair, Eq. 4.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts, any number.

        Returns
        -------
        similarity : ndarray of float64, shape (n_pairs,)
            From -1 to 1, the greater, the closer; 1 for two equal texts, and 0 where a text has no
            words or there is no context for either.

        Raises
        ------
        TypeError, ValueError
            If a text is missing; before any work.

        Warns
        -----
        UserWarning
            Once where there is no context for either text of a pair, or the corpus has no word of
            a text.
        """
        check_is_fitted(self, "context_model_")
        pairs = check_pairs(pairs, encodable=True)
        return self._similarities(self.context_model_, self.weights_, self.reference_, pairs)

    def predict(self, pairs: Any) -> NDArray[np.float64]:
        """Similarity in the units of y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        predicted : ndarray of float64, shape (n_pairs,)
            ``intercept_ + slope_ * similarity(pairs)``.
        """
        check_is_fitted(self, "context_model_")
        return self.intercept_ + self.slope_ * self.similarity(pairs)

    def score(self, pairs: Any, y: Any, sample_weight: Any = None) -> float:
        """Spearman's rank correlation of `predict` and y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : array-like of float, shape (n_pairs,)
            Similarities in any unit, or labels.
        sample_weight : None
            Not taken: ranks have no weights.

        Returns
        -------
        score : float
            From -1 to 1, not times 100.

        Raises
        ------
        ValueError
            If y is missing or constant, or a sample_weight is given.
        """
        check_is_fitted(self, "context_model_")
        if sample_weight is not None:
            raise ValueError("sample_weight has no meaning for a rank correlation; leave it out")
        pairs = check_pairs(pairs, encodable=True)
        if y is None:
            raise ValueError("y of pairs is None; give one per pair")
        targets = check_pair_scores(y, len(pairs))
        found: Any = spearmanr(self.predict(pairs), targets)
        return float(found.statistic)

    def explain(self, pairs: Any, *, keep: int = KEPT_CONTEXTS) -> list[ContextExplanation]:
        """Say what every context contributes to the similarity, and which scores made that.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        keep : int, default=50
            Most contexts kept per pair, those that contribute most in absolute value;
            `ContextExplanation.rest` is the sum of the others.

        Returns
        -------
        explanations : list of ContextExplanation
            One per pair, with its texts in the order given.
        """
        check_is_fitted(self, "context_model_")
        pairs = check_pairs(pairs, encodable=True)
        check_integer("keep", keep, 1)
        model, weights = self.context_model_, self.weights_
        found = []
        streamed = self._streamed(model, self.reference_, pairs)
        for (text1, text2), terms in zip(pairs.tolist(), streamed, strict=True):
            found.append(self._explained(model, weights, text1, text2, terms, keep))
        return found

    def __sklearn_clone__(self) -> Any:
        twin: Any = super().__sklearn_clone__()  # type: ignore[misc]
        if is_fitted(self.context_model):
            # What it has learned is shared; parameters that are set on the copy stay with it.
            twin.context_model = shared_copy(self.context_model)
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = tags_of_texts(super().__sklearn_tags__())
        tags.target_tags.required = False
        return tags

    def _similarities(
        self,
        model: Any,
        weights: NDArray[np.float64],
        reference: list[str],
        pairs: NDArray[np.object_],
    ) -> NDArray[np.float64]:
        found = np.empty(len(pairs))
        n_bare = 0
        for row, terms in enumerate(self._streamed(model, reference, pairs)):
            is_copy = pairs[row, 0] == pairs[row, 1]
            found[row] = 1.0 if is_copy else self._shares(model, weights, terms).sum()
            n_bare += not len(terms.contexts) and not is_copy
        if n_bare:
            warnings.warn(
                f"{n_bare} of {len(pairs)} pairs have no context: the corpus has none of their "
                "words, so their similarity is 0 and says nothing; take a corpus that is nearer to "
                "these texts",
                UserWarning,
                stacklevel=3,
            )
        return np.clip(found, -1.0, 1.0)

    def _streamed(
        self, model: Any, reference: list[str], pairs: NDArray[np.object_]
    ) -> Iterator[PairTerms]:
        from tqdm.auto import tqdm

        shown = {"desc": type(self).__name__, "unit": " pairs", "disable": not self.verbose}
        with tqdm(total=len(pairs), **shown) as bar:
            yield from terms_of_pairs(model, pairs, self.n_contexts, reference, bar.update)

    def _shares(
        self, model: Any, weights: NDArray[np.float64], terms: PairTerms
    ) -> NDArray[np.float64]:
        """Shares of the contexts in the cosine, which they sum to."""
        if not terms.terms1.any() or not terms.terms2.any():
            return np.zeros(len(terms.contexts))
        if self.centre == "whitened":
            return context_shares(*combine_terms(whitened_terms(model, terms), weights))
        both = np.stack([terms.terms1, terms.terms2]).astype(np.float64)
        scores = combine_terms(both, weights)
        if terms.centre is not None:
            scores = scores - combine_terms(terms.centre, weights)
        if self.centre == "contexts":
            scores = scores - scores.mean(axis=1, keepdims=True)
        return context_shares(*scores)

    def _explained(
        self,
        model: Any,
        weights: NDArray[np.float64],
        text1: str,
        text2: str,
        terms: PairTerms,
        keep: int,
    ) -> ContextExplanation:
        shares = self._shares(model, weights, terms)
        rows, first, place = np.unique(terms.contexts, return_index=True, return_inverse=True)
        contributions = np.bincount(place, shares, len(rows))
        of_first = np.zeros((len(rows), 2), dtype=bool)
        of_first[place, (np.arange(len(place)) >= terms.n_first).astype(int)] = True
        kept = np.sort(np.argsort(-np.abs(contributions), kind="stable")[:keep])
        sides = [terms.terms1[first[kept]], terms.terms2[first[kept]]]
        chosen = of_first[kept]
        if text1 > text2:
            sides, chosen = sides[::-1], chosen[:, ::-1]
        similarity = 1.0 if text1 == text2 else float(np.clip(shares.sum(), -1, 1))
        return ContextExplanation(
            text1=text1,
            text2=text2,
            contexts=model.context_texts(rows[kept]),
            rows=rows[kept],
            chosen1=chosen[:, 0],
            chosen2=chosen[:, 1],
            terms1=sides[0],
            terms2=sides[1],
            weights=weights,
            contributions=contributions[kept],
            similarity=similarity,
            title="contexts",
            n_rest=len(rows) - len(kept),
            rest=similarity - float(contributions[kept].sum()),
        )

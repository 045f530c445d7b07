"""Similarity of sentences by the contexts that can hold them (Origin)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from estimators.contexts.context_model import ContextModel, check_weights
from estimators.contexts.origin.pair_terms import (
    PairTerms,
    has_words,
    shared_copy,
    terms_of_pairs,
    whitened_terms,
)
from estimators.inputs import (
    check_choice,
    check_integer,
    check_pair_scores,
    check_pairs,
    check_texts,
    check_verbose,
    tags_of_texts,
)
from estimators.inspection import ContextExplanation
from estimators.persistence import savable
from estimators.training import units_of
from film.contexts import combine_terms, context_shares

KEPT_CONTEXTS = 50
"""Contexts kept per explanation by default."""
CENTRES = ("raw", "contexts", "reference", "whitened")
METHODS = ("contexts_of", "terms", "levels", "reference_terms", "context_texts")
"""Methods that a model of contexts has."""
LEAST_WORDS = 5
"""Words of a reference sentence that is taken from the corpus."""


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
        model = _checked_model(self.context_model)
        if self.n_contexts is not None:
            check_integer("n_contexts", self.n_contexts, 1)
        check_choice("centre", self.centre, CENTRES)
        weights = check_weights(model.weights if self.weights is None else self.weights)
        reference = self._checked_reference(model, weights)
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
        streamed = self._streamed(self.context_model_, self.reference_, pairs)
        return [
            self._explained(text1, text2, terms, keep)
            for (text1, text2), terms in zip(pairs.tolist(), streamed, strict=True)
        ]

    def __sklearn_clone__(self) -> Any:
        twin: Any = super().__sklearn_clone__()  # type: ignore[misc]
        if _is_fitted(self.context_model):
            # What it has learned is shared; parameters that are set on the copy stay with it.
            twin.context_model = shared_copy(self.context_model)
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = tags_of_texts(super().__sklearn_tags__())
        tags.target_tags.required = False
        return tags

    def _checked_reference(self, model: Any, weights: NDArray[np.float64]) -> list[str]:
        """Return the reference sentences, none where the centre needs none."""
        generates = bool(weights[1:].any()) and getattr(model, "generators_", None) != []
        uses = self.centre == "reference" or (self.centre == "whitened" and generates)
        if self.reference is None or isinstance(self.reference, (Integral, Real)):
            n = check_integer("reference", self.reference, 1)
            return corpus_sentences(model.corpus_, n) if uses else []
        texts = check_texts(self.reference, "reference", encodable=True)
        for place, text in enumerate(texts):
            if not has_words(text):
                raise ValueError(f"reference[{place}] = {text!r} has no words; leave it out")
        if not uses:
            raise ValueError(
                f"reference holds {len(texts)} texts, but centre={self.centre!r} does not use "
                "them; give centre='reference', or leave them out"
            )
        return texts

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
        both = np.stack([terms.terms1, terms.terms2]).astype(np.float64)
        if not both.any(axis=(1, 2)).all():
            return np.zeros(len(terms.contexts))
        if self.centre == "whitened":
            both = whitened_terms(model, terms)
        elif terms.centre is not None:
            both = both - terms.centre
        scores = combine_terms(both, weights)
        if self.centre == "contexts":
            scores = scores - scores.mean(axis=1, keepdims=True)
        return context_shares(*scores)

    def _explained(self, text1: str, text2: str, terms: PairTerms, keep: int) -> ContextExplanation:
        model = self.context_model_
        shares = self._shares(model, self.weights_, terms)
        # A context that both texts have chosen counts once.
        rows, first, place = np.unique(terms.contexts, return_index=True, return_inverse=True)
        contributions = np.bincount(place, shares, len(rows))
        chosen = np.zeros((2, len(rows)), dtype=bool)
        chosen[(np.arange(len(place)) >= terms.n_first).astype(int), place] = True
        kept = np.sort(np.argsort(-np.abs(contributions), kind="stable")[:keep])
        of_texts = [terms.terms1[first[kept]], terms.terms2[first[kept]]]
        if text1 > text2:
            of_texts, chosen = of_texts[::-1], chosen[::-1]
        similarity = 1.0 if text1 == text2 else float(np.clip(shares.sum(), -1, 1))
        return ContextExplanation(
            text1=text1,
            text2=text2,
            contexts=model.context_texts(rows[kept]),
            rows=rows[kept],
            chosen1=chosen[0, kept],
            chosen2=chosen[1, kept],
            terms1=of_texts[0],
            terms2=of_texts[1],
            weights=self.weights_,
            contributions=contributions[kept],
            similarity=similarity,
            title="contexts",
            n_rest=len(rows) - len(kept),
            rest=similarity - float(contributions[kept].sum()),
        )


def corpus_sentences(corpus: Any, n: int) -> list[str]:
    """Choose sentences of some words, spread evenly over a corpus; fewer where it has fewer.

    Parameters
    ----------
    corpus : SentenceCorpus
        Sentences of documents.
    n : int
        How many.

    Returns
    -------
    sentences : list of str
        Different ones.
    """
    rows, found = corpus.centres(), {}
    for start in np.linspace(0, len(rows), n, endpoint=False).astype(int).tolist():
        for text in corpus.texts(rows[start : start + 20]):
            if len(text.split()) >= LEAST_WORDS and has_words(text) and text not in found:
                found[text] = None
                break
    return list(found) or corpus.texts(rows[:1])


def _is_fitted(model: Any) -> bool:
    """Whether an estimator is fitted; False for anything else, such as a path."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def _checked_model(model: Any) -> Any:
    """Return the fitted model of contexts, from its folder or its wrapper where it is in one."""
    if isinstance(model, (str, os.PathLike)):
        return ContextModel.load(model)
    found = model.estimator if isinstance(model, FrozenEstimator) else model
    if isinstance(found, type) or not all(hasattr(found, name) for name in METHODS):
        raise TypeError(
            f"context_model={model!r} must be a fitted ContextModel, or the folder of one: fit one "
            "to documents"
        )
    check_is_fitted(found)
    return found

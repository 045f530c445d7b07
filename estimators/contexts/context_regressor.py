"""Similarity of sentences by the contexts that they fit into (Origin)."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from estimators.contexts.context_model import ContextModel, check_weights
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
from estimators.training import check_judged, rank_correlation, units_of
from film.contexts import combine_terms, context_shares, whiten_scores

BLOCK = 64
"""Pairs of a block."""


class PairTerms(NamedTuple):
    """Terms of one pair, with its texts in alphabetical order."""

    contexts: NDArray[np.int64]
    """C_s1 + C_s2 as rows of the corpus, shape (m,)."""
    n_first: int
    """How many of them are those of the first text."""
    terms1: NDArray[np.float32]
    """Of the first text in all contexts, shape (m, 4)."""
    terms2: NDArray[np.float32]
    """Of the second."""
    centre: NDArray[np.float64] | None
    """Mean terms of the reference texts in all contexts, shape (m, 4), if there are any."""
    levels: NDArray[np.float64]
    """Mean first terms of both texts over the fixed set, shape (2,)."""


class _Known(NamedTuple):
    """Contexts of a text, its own terms in them, and the mean terms of the reference."""

    contexts: NDArray[np.int64]
    terms: NDArray[np.float32]
    centre: Any
    level: float


def terms_of_pairs(
    model: Any,
    pairs: NDArray[np.object_],
    n_contexts: int | None,
    reference: list[str],
    advance: Callable[[int], Any],
) -> Iterator[PairTerms]:
    """Yield the terms of each pair.

    Parameters
    ----------
    model : ContextModel
        Or any object with its ``contexts_of``, ``levels`` and ``terms``.
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    n_contexts : int or None
        Number of contexts of each text; None: the model's number.
    reference : list of str
        Texts whose mean terms are also computed; may be empty.
    advance : callable
        Called with 1 for each pair.

    Yields
    ------
    terms : PairTerms
        One per pair, in their order. For a text without words, terms of shape (m, 4) are 0.

    Notes
    -----
    The contexts of a text and its own terms in them are computed once, and kept as long as a pair
    needs them. Each block is scored in one call, in which each text comes with its contexts and all
    texts to be compared with it, so the model can share work.
    """
    # In alphabetical order, so that the order of a pair changes no sum, not even by its rounding.
    ordered = [tuple(sorted(map(str, pair))) for pair in pairs.tolist()]
    left = Counter(text for pair in ordered for text in pair)
    known: dict[str, _Known] = {}
    warned = False
    for start in range(0, len(ordered), BLOCK):
        block = ordered[start : start + BLOCK]
        texts = list(dict.fromkeys(text for pair in block for text in pair))
        new = [text for text in texts if text not in known]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            known |= _own_terms(model, new, n_contexts, reference)
        if caught and not warned:
            warnings.warn(caught[0].message, stacklevel=6)
            warned = True
        asked = sorted({each for pair in block for each in (pair, pair[::-1])})
        found = _terms(model, [(other, known[text].contexts) for text, other in asked])
        across = dict(zip(asked, found, strict=True))
        for one, other in block:
            mine, theirs = known[one], known[other]
            yield PairTerms(
                np.concatenate([mine.contexts, theirs.contexts]),
                len(mine.contexts),
                np.concatenate([mine.terms, across[other, one]]),
                np.concatenate([across[one, other], theirs.terms]),
                np.concatenate([mine.centre, theirs.centre]) if reference else None,
                np.array([mine.level, theirs.level], dtype=np.float64),
            )
            advance(1)
        left.subtract(text for pair in block for text in pair)
        for text in texts:
            if not left[text]:
                del known[text]


def whitened_terms(model: Any, terms: PairTerms) -> NDArray[np.float64]:
    """Return the centred and whitened terms of both texts of a pair.

    Parameters
    ----------
    model : ContextModel
        Or any object with its ``reference_terms``.
    terms : PairTerms
        Terms in m contexts.

    Returns
    -------
    whitened : ndarray of float64, shape (2, m, 4)
        To be weighted by λ, like terms. Contexts are compared by the first term of reference
        sentences. Terms of generators are 0 if they have no centre.
    """
    both = np.stack([terms.terms1, terms.terms2]).astype(np.float64)
    reference = np.asarray(model.reference_terms(terms.contexts), dtype=np.float64)
    means = reference.mean(axis=0)
    centred = np.zeros_like(both)
    centred[..., 0] = both[..., 0] - terms.levels[:, np.newaxis] - means
    if terms.centre is not None:
        generated = both[..., 1:] - terms.centre[:, 1:]
        centred[..., 1:] = generated - generated.mean(axis=1, keepdims=True)
    rows = centred.transpose(0, 2, 1).reshape(8, -1)
    found = whiten_scores(rows, reference - means)
    return found.reshape(2, 4, -1).transpose(0, 2, 1)


def has_words(text: str) -> bool:
    """Return whether a text has a letter or a number."""
    return any(character.isalnum() for character in text)


def shared_copy(model: Any) -> Any:
    """Copy a fitted estimator so that parameters can be set; learned and open objects are shared.

    `copy.copy` would copy the files of a model, like a pickle.
    """
    twin = object.__new__(type(model))
    vars(twin).update(vars(model))
    return twin


def _own_terms(
    model: Any, texts: list[str], n_contexts: int | None, reference: list[str]
) -> dict[str, _Known]:
    """Contexts of each text, and its terms and those of the reference in them."""
    asked = [text for text in texts if has_words(text)]
    found = zip(
        model.contexts_of(asked, n_contexts) if asked else [],
        model.levels(asked) if asked else [],
        strict=True,
    )
    none = np.empty(0, dtype=np.int64), 0.0
    chosen = {text: next(found) if has_words(text) else none for text in texts}
    contexts = {text: np.asarray(each[0], dtype=np.int64) for text, each in chosen.items()}
    terms = _terms(model, [(each, contexts[text]) for text in texts for each in (text, *reference)])
    known = {}
    for number, text in enumerate(texts):
        own, *others = terms[number * (1 + len(reference)) :][: 1 + len(reference)]
        centre = np.mean(others, axis=0, dtype=np.float64) if reference else None
        known[text] = _Known(contexts[text], own, centre, float(chosen[text][1]))
    return known


def _terms(model: Any, asked: list[tuple[str, NDArray[np.int64]]]) -> list[NDArray[np.float32]]:
    """Terms of each text in its contexts, (m, 4) each; 0 for a text without words."""
    scored = [(text, contexts) for text, contexts in asked if has_words(text) and len(contexts)]
    found = iter(model.terms(*map(list, zip(*scored, strict=True))) if scored else [])
    return [
        np.asarray(next(found), dtype=np.float32)
        if has_words(text) and len(contexts)
        else np.zeros((len(contexts), 4), dtype=np.float32)
        for text, contexts in asked
    ]


KEPT_CONTEXTS = 50
"""Contexts kept per explanation by default."""
CENTRES = ("raw", "contexts", "reference", "whitened")
METHODS = ("contexts_of", "terms", "levels", "reference_terms", "context_texts")
"""Methods that a model of contexts has."""
N_REFERENCE = 8
"""Sentences of the corpus whose mean terms centre scores."""
LEAST_WORDS = 5
"""Least number of words of a reference sentence from the corpus."""


@savable
@dataclass(eq=False, repr=False)
class ContextRegressor(RegressorMixin, BaseEstimator):
    """Compare two sentences by how well they fit the same contexts, and explain why.

    A `ContextModel` has learned which sentences fit between which others. It chooses contexts for
    each sentence and scores both sentences of a pair in the contexts of both. The cosine of the two
    vectors of scores is their similarity. Labels are not needed. This is *Origin* of Sun et al.,
    "Sentence similarity based on contexts" (2022), Eq. 4.

    Parameters
    ----------
    context_model : ContextModel, str or path-like
        A fitted model, or its folder. It is never fitted again, and a clone of this regressor keeps
        it fitted, so cross-validation trains nothing. You may pass it in a
        `sklearn.frozen.FrozenEstimator`.
    n_contexts : int, default=None
        Contexts per sentence, |C_s|. None: the model's number.
    centre : {"raw", "contexts", "reference", "whitened"}, default="whitened"
        What to subtract from the scores before the cosine. Log-probabilities are all negative, so
        all raw cosines are close to 1. "raw": nothing, as Eq. 4 is printed. "contexts": each
        sentence's mean over the contexts. "reference": the mean of 8 sentences of the corpus in
        each context. "whitened": for the discriminator's term, each sentence's mean over the fixed
        set and the mean of 500 sentences of the corpus in each context; the result is whitened
        (`film.contexts.whiten_scores`). For the generators' terms, as "reference", then "contexts".
    weights : array-like of float, shape (4,), default=None
        λ of Eq. 3, for choosing contexts and for scoring sentences. None: the model's weights.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    context_model_ : ContextModel
        The fitted model. With ``weights``, a copy that has these weights and shares the rest.
    weights_ : ndarray of float64, shape (4,)
        λ of Eq. 3.
    reference_ : list of str
        Sentences of the corpus for ``centre``; empty if none are used.
    slope_, intercept_ : float
        Least squares line from similarity to the y of `fit`; 1 and 0 without y. Of more than 10,000
        pairs, 10,000 are used, evenly by y.

    See Also
    --------
    ContextModel : Learns from documents.
    harvest : Scores many pairs, to train a faster model.

    Notes
    -----
    For a pair, sentences are scored 4 |C_s| times in a context, by the discriminator and three
    generators. Contexts are chosen once for each sentence, also if it is in many pairs. Pairs are
    scored in blocks, and the contexts of a sentence are kept as long as a later pair needs them,
    with some 24 bytes per context.

    A text without letters and digits has the similarity 0 to all other texts. If a sentence has no
    context, for example because its words are unknown, only the contexts of the other are used.

    Examples
    --------
    >>> from estimators.contexts import ContextModel, ContextRegressor  # doctest: +SKIP
    >>> contexts = ContextModel().fit("books")  # doctest: +SKIP
    >>> model = ContextRegressor(contexts).fit(pairs)  # doctest: +SKIP
    >>> model.similarity(pairs)  # doctest: +SKIP
    array([0.83..., 0.12...])
    """

    context_model: Any
    _: KW_ONLY
    n_contexts: Any = None
    centre: str = "whitened"
    weights: Any = None
    verbose: int = 0

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
            is invalid; raised before any work.
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
        generates = weights[1:].any() and getattr(model, "generators_", None) != []
        uses = self.centre == "reference" or (self.centre == "whitened" and generates)
        reference = corpus_sentences(model.corpus_, N_REFERENCE) if uses else []
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
            From -1 to 1, higher is closer; 1 for two equal texts, and 0 if a text has no words or
            neither text has a context.

        Raises
        ------
        TypeError, ValueError
            If a text is missing; before any work.

        Warns
        -----
        UserWarning
            Once if there is no context for either text of a pair, or the corpus contains no word
            of a text.
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
            Must be None: ranks have no weights.

        Returns
        -------
        score : float
            From -1 to 1.

        Raises
        ------
        ValueError
            If y is missing or constant, or a sample_weight is given.
        """
        check_is_fitted(self, "context_model_")
        if sample_weight is not None:
            raise ValueError("sample_weight has no meaning for a rank correlation; leave it out")
        rows, targets = check_judged("pairs", pairs, y, "regression")
        return rank_correlation(self.predict(rows), targets)

    def explain(self, pairs: Any, *, keep: int = KEPT_CONTEXTS) -> list[ContextExplanation]:
        """Return the contribution of each context to the similarity, and the scores behind it.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        keep : int, default=50
            Maximum number of contexts per pair. Those with the largest contributions in absolute
            value are kept; `ContextExplanation.rest` is the sum of the others.

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
            # The copy shares what was learned; parameters set on it do not change the original.
            twin.context_model = shared_copy(self.context_model)
        return twin

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__(), needs_y=False)

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
                "words, so their similarity is 0 and means nothing; use a corpus that is closer "
                "to these texts",
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
        """Return the shares of contexts, which sum to the cosine."""
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
    """Choose up to n sentences of several words, spread evenly over a corpus.

    Parameters
    ----------
    corpus : SentenceCorpus
        Sentences of documents.
    n : int
        Maximum number of sentences.

    Returns
    -------
    sentences : list of str
        Different sentences.
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
    """Return the fitted model of contexts, loaded from its folder or unwrapped if needed."""
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

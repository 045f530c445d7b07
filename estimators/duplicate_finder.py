"""Duplicates of a whole corpus, with or without a classifier."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from estimators._corpus_index import CorpusIndex
from estimators._found_duplicates import (
    DuplicateGroups,
    DuplicatePairs,
    Matches,
    describe_groups,
    merges_of_rows,
)
from estimators._pair_probabilities import PairProbabilities
from estimators._progress import progress_bar
from estimators._savable import savable
from estimators._texts import as_texts, check_texts
from estimators._validation import check_choice, check_integer, check_real
from film.clusters import link_scores


@savable
class DuplicateFinder(BaseEstimator):
    """Find the rows of a corpus that mean the same.

    Every unique text is compared with its nearest neighbours, and these candidate pairs are
    scored. Without a classifier a score is a similarity, and no probability is claimed.

    Parameters
    ----------
    classifier : fitted classifier, default=None
        ``predict_proba(pairs)`` of an object array (n, 2) of texts, for instance a
        `DuplicateClassifier`. What it says of a pair must not depend on the other pairs.
    embedder : fitted transformer or callable, default=None
        Texts → vectors, dense or sparse, that make candidates by their cosine, and scores where
        there is no classifier. None is the mean of two TF-IDF cosines, of words and of character
        trigrams, with neighbours looked up in the 256 leading dimensions of the trigrams.
    n_neighbors : int, default=10
        Candidates of each unique text. Groups of many more texts than that come in parts.
    prior : "estimate", float or None, default=None
        Share of duplicates among candidate pairs that the classifier's probabilities are shifted
        to: estimated from them (`film.priors.estimate_prior`), given, or None for no shift.
    classifier_prior : float, default=None
        Share of duplicates that the classifier's probabilities hold at; its attribute ``prior_``
        where it has one.
    index : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are searched. "approximate" needs faiss, the extra ``ann``; "auto" is exact
        up to 200,000 unique texts.
    random_state : int, default=0
        Seeds the decomposition, the approximate index, and the sample its recall is measured on.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    ids_ : ndarray of object, shape (n_rows,)
        Ids of the rows.
    texts_ : ndarray of object, shape (n_rows,)
        Their texts.
    n_unique_ : int
        Number of different texts after `film.text.normalize_text`.
    n_without_words_ : int
        Rows without a letter or number; nobody's duplicates.
    n_without_vector_ : int
        Unique texts whose vector is zero: they have exact copies, but no neighbours.
    index_ : str
        "exact" or "faiss".

    See Also
    --------
    DuplicateClassifier : Calibrated probabilities for pairs.

    Notes
    -----
    O(n_unique² · 256) for the exact search, done by the first `find`, `groups` or, where a prior is
    estimated, `query`. Ctrl-C keeps finished blocks, and the next call goes on from there.

    The default score was chosen on 100,000 Quora questions, 9 % of them edited copies of others.
    Of the pairs with an edited copy, 98.5 % were right where 60 % of the copies were found, and
    94.5 % at 80 %, against 94.0 % for words, 93.0 % for trigrams alone. Candidates hold 99 % of the
    copies. Duplicates in other words are another matter: of Quora's own, 65 % are among the 10
    nearest by trigrams.

    Average link was ahead of connected components there by more than 20 points of pairwise
    precision, at recalls of known duplicates from 0.2 to 0.3.

    ``prior=None``, no shift, is right where candidates differ from the training pairs in how they
    look and not in what a look means, as neighbours in a corpus do: most are easier negatives; the
    classifier says so itself. On labelled candidates of Quora, its mean probability was 0.446
    where 0.415 were duplicates. "estimate" assumes that both classes look as in training and only
    their shares differ; there it gave 0.97 % where at least 2.6 % of the candidates are known
    duplicates, which is too low. Give the share where you know it.

    `sklearn.base.clone` makes unfitted copies of a classifier and an embedder; wrap them in
    `sklearn.frozen.FrozenEstimator` where a finder is to be cloned.

    Examples
    --------
    >>> from estimators.duplicate_finder import DuplicateFinder
    >>> texts = ["How do I learn chess?", "how do i learn chess", "How can I learn chess?", "Why?"]
    >>> finder = DuplicateFinder().fit(texts)
    >>> found = finder.find(threshold=0.5)
    >>> found.pairs.tolist(), found.kind.tolist()
    ([[0, 1], [0, 2]], ['copy', 'similar'])
    >>> [group.members.tolist() for group in finder.groups(threshold=0.5)]
    [[0, 1, 2]]
    >>> finder.query("learning chess", k=1).texts.tolist()
    ['How do I learn chess?']
    """

    def __init__(
        self,
        classifier: Any = None,
        embedder: Any = None,
        n_neighbors: int = 10,
        *,
        prior: Any = None,
        classifier_prior: float | None = None,
        index: str = "auto",
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.classifier = classifier
        self.embedder = embedder
        self.n_neighbors = n_neighbors
        self.prior = prior
        self.classifier_prior = classifier_prior
        self.index = index
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, texts: Iterable[str], ids: Any = None) -> DuplicateFinder:
        """Take a corpus in.

        Parameters
        ----------
        texts : iterable of str
            One text a row.
        ids : iterable, default=None
            Name of each row, each hashable and unique; row positions when None.

        Returns
        -------
        self : DuplicateFinder
            Fitted; neighbours are searched by the first `find` or `groups`.

        Raises
        ------
        TypeError, ValueError
            If a text is no string, an id comes twice, or a parameter is wrong; before any work.
        ImportError
            If the index is to be approximate and faiss is not installed.
        """
        self._check_parameters()
        probabilities = None
        if self.classifier is not None:
            probabilities = PairProbabilities(self.classifier, self.prior, self.classifier_prior)
        rows = _checked_texts(texts)
        names = _checked_ids(ids, len(rows), [])
        index = CorpusIndex(self.embedder, self.n_neighbors, self.index, self.random_state)
        codes = index.grow(rows)
        self.ids_, self.texts_, self._codes = names, as_texts(rows), codes
        self._index, self._probabilities = index, probabilities
        return self

    def add(self, texts: Iterable[str], ids: Any = None) -> DuplicateFinder:
        """Take more rows in, after those that are there.

        The vocabulary and space of `fit` stay, and only what is new is compared and scored: the
        result is that of one search over all rows in that space, but for which of equally near
        texts are candidates. When unique texts have more than doubled since, the space is learned
        anew from all of them, as `fit` would.

        Parameters
        ----------
        texts : iterable of str
            One text a row.
        ids : iterable, default=None
            As in `fit`; none of them may be there already.

        Returns
        -------
        self : DuplicateFinder
            Grown.

        Raises
        ------
        TypeError, ValueError, ImportError
            As in `fit`; the finder is then as it was.
        """
        check_is_fitted(self)
        rows = _checked_texts(texts)
        names = _checked_ids(ids, len(rows), self.ids_.tolist())
        codes = self._index.grow(rows)
        self.ids_ = np.concatenate([self.ids_, names])
        self.texts_ = np.concatenate([self.texts_, as_texts(rows)])
        self._codes = np.concatenate([self._codes, codes])
        return self

    @property
    def n_unique_(self) -> int:
        """Number of different texts with words."""
        check_is_fitted(self)
        return len(self._index.texts)

    @property
    def n_without_words_(self) -> int:
        """Rows that nothing can be said of."""
        check_is_fitted(self)
        return int((self._codes < 0).sum())

    @property
    def n_without_vector_(self) -> int:
        """Unique texts that the embedder gives a zero vector."""
        check_is_fitted(self)
        return self._index.n_without_vector

    @property
    def index_(self) -> str:
        """How neighbours are searched."""
        check_is_fitted(self)
        return self._index.name

    def find(self, *, threshold: float | None = None, budget: int | None = None) -> DuplicatePairs:
        """Find the pairs of rows with the best scores.

        Parameters
        ----------
        threshold : float in [0, 1], optional
            Lowest score of a pair.
        budget : int, optional
            Number of pairs, fewer only where there are no more. One of the two is needed.

        Returns
        -------
        found : DuplicatePairs
            Exact copies first, at score 1: each row with the first row of its text, so that n rows
            of one text are n − 1 pairs. Then pairs of different texts, each by its first row.

        Raises
        ------
        ValueError
            If not exactly one of ``threshold`` and ``budget`` is given, or out of range.
        """
        check_is_fitted(self)
        if (threshold is None) == (budget is None):
            raise ValueError(
                f"find() takes either threshold or budget, got threshold={threshold!r} and "
                f"budget={budget!r}: give the lowest score, or the number of pairs"
            )
        lowest = 0.0 if threshold is None else check_real("threshold", threshold, 0, 1)
        most = None if budget is None else check_integer("budget", budget, 1)
        candidates, scores, prior = self._scored_candidates()
        first_rows, copies = self._first_rows_and_copies()
        pairs = np.concatenate(
            [np.column_stack([first_rows[self._codes[copies]], copies]), first_rows[candidates]]
        )
        scores = np.concatenate([np.ones(len(copies)), scores])
        similar = np.arange(len(pairs)) >= len(copies)
        order = np.lexsort((pairs[:, 1], pairs[:, 0], similar, -scores))
        kept = order[scores[order] >= lowest][:most]
        return DuplicatePairs(
            pairs=pairs[kept],
            scores=scores[kept],
            ids=self.ids_[pairs[kept]],
            texts=self.texts_[pairs[kept]],
            kind=_kind(similar[kept]),
            **self._provenance(prior),
        )

    def groups(self, threshold: float = 0.8, *, linkage: str = "average") -> DuplicateGroups:
        """Group the rows that mean the same, so that no false pair chains two groups.

        Parameters
        ----------
        threshold : float in (0, 1], default=0.8
            Lowest link of two parts of a group.
        linkage : {"average", "complete"}, default="average"
            Link of two sets of texts: the mean or the lowest score of their pairs, where a pair
            that is no candidate counts as 0. Copies of one text are one text.

        Returns
        -------
        groups : DuplicateGroups
            Groups of at least two rows.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        check_is_fitted(self)
        method: Any = check_choice("linkage", linkage, ("average", "complete"))
        if check_real("threshold", threshold, 0, 1) == 0:
            raise ValueError("threshold=0 would make one group of all rows; give more, such as 0.8")
        pairs, scores, prior = self._scored_candidates()
        first_rows, copies = self._first_rows_and_copies()
        n_texts = len(first_rows)
        links = np.empty((0, 3))
        if n_texts:
            links = link_scores(pairs, scores, n_texts, method=method, threshold=threshold)
        merges = merges_of_rows(links, self._codes, first_rows, copies)
        groups, labels = describe_groups(
            merges, pairs, scores, self._codes, first_rows, self.ids_, self.texts_
        )
        return DuplicateGroups(
            groups=groups,
            labels=labels,
            merges=merges,
            threshold=float(threshold),
            linkage=linkage,
            **self._provenance(prior),
        )

    def query(self, text: str, k: int = 5) -> Matches:
        """Find the rows nearest to a text.

        Parameters
        ----------
        text : str
            Any text; one without words has no matches.
        k : int, default=5
            Number of rows, copies of one text among them.

        Returns
        -------
        matches : Matches
            Best score first.

        Notes
        -----
        Where the classifier's prior is to be estimated, the first query searches and scores all
        candidate pairs, as `find` does.
        """
        check_is_fitted(self)
        (text,) = check_texts([text], "text")
        k = check_integer("k", k, 1)
        # Scores order texts otherwise than the lookup does, so more of them are looked up.
        near, scores, same = self._index.near(text, max(2 * k, self.n_neighbors))
        if self._probabilities is not None and len(near):
            pairs = np.empty((len(near), 2), dtype=object)
            pairs[:, 0], pairs[:, 1] = text, [self._index.texts[code] for code in near]
            scores = self._probabilities.of_pairs(pairs, self._scored_candidates()[2])
        scores = np.where(near == same, 1.0, scores)
        order = np.lexsort((near, near != same, -scores))[:k]
        holders = [np.flatnonzero(self._codes == code) for code in near[order].tolist()]
        members = np.concatenate([np.empty(0, dtype=np.intp), *holders])[:k]
        position = np.repeat(order, [len(rows) for rows in holders])[:k]
        return Matches(
            members=members,
            scores=scores[position],
            ids=self.ids_[members],
            texts=self.texts_[members],
            kind=_kind(near[position] != same),
            score_name=self._score_name,
        )

    @property
    def _score_name(self) -> str:
        return "similarity" if self._probabilities is None else "probability"

    def _scored_candidates(self) -> tuple[np.ndarray, np.ndarray, float | None]:
        """Give candidate pairs of unique texts, their scores, and the prior these hold at."""
        with progress_bar(self.verbose, "DuplicateFinder") as progress:
            pairs = self._index.candidates(progress)
            if self._probabilities is None:
                return pairs, self._index.similarities(pairs), None
            texts = as_texts(self._index.texts)
            scores, prior = self._probabilities.of_candidates(pairs, texts, progress)
        return pairs, scores, prior

    def _first_rows_and_copies(self) -> tuple[np.ndarray, np.ndarray]:
        """Give the first row of each unique text, and the rows that repeat one."""
        told = np.flatnonzero(self._codes >= 0)
        _, first = np.unique(self._codes[told], return_index=True)
        first_rows = told[first]
        return first_rows, np.setdiff1d(told, first_rows)

    def _provenance(self, prior: float | None) -> dict[str, Any]:
        return {
            "score_name": self._score_name,
            "index": self._index.name,
            "recall": self._index.recall(),
            "prior": prior,
        }

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_choice("index", self.index, ("auto", "exact", "approximate"))
        check_integer("random_state", self.random_state, 0)
        embed = getattr(self.embedder, "transform", self.embedder)
        if not (embed is None or callable(embed)):
            raise TypeError(
                f"embedder={self.embedder!r} must be a fitted transformer, a callable or None"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _checked_texts(texts: Any) -> list[str]:
    if isinstance(texts, str):
        return check_texts(texts, "texts")
    rows = list(texts)
    if not rows:
        raise ValueError("texts is empty; give at least one text")
    return check_texts(rows, "texts")


def _checked_ids(ids: Any, n_rows: int, known: list[Any]) -> np.ndarray:
    names = list(range(len(known), len(known) + n_rows)) if ids is None else list(ids)
    if len(names) != n_rows:
        raise ValueError(f"ids has {len(names)} entries for {n_rows} texts; give one a text")
    place = {name: row for row, name in enumerate(known)}
    for row, name in enumerate(names, start=len(known)):
        if place.setdefault(name, row) != row:
            raise ValueError(
                f"ids[{row - len(known)}] is {name!r}, the id of row {place[name]} already; ids "
                "must be unique"
            )
    array = np.empty(n_rows, dtype=object)
    array[:] = names
    return array


def _kind(similar: np.ndarray) -> np.ndarray:
    return np.where(similar, "similar", "copy").astype(object)

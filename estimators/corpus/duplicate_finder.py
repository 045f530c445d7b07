"""Duplicates of a whole corpus, with or without a classifier."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from estimators.corpus.answers import find_pairs, group_rows, match_rows, nearest_rows
from estimators.corpus.corpus_index import CorpusIndex
from estimators.corpus.corpus_rows import CorpusRows
from estimators.corpus.finder_inputs import (
    IdPairs,
    KnownPairs,
    check_settings,
    checked_blocks,
    checked_corpus,
    checked_ids,
    checked_limits,
)
from estimators.corpus.found_duplicates import DuplicateGroups, DuplicatePairs, Matches
from estimators.corpus.pair_probabilities import PairProbabilities
from estimators.corpus.pair_scores import PairScores
from estimators.inputs import check_choice, check_integer, check_real, check_texts, tags_of_texts
from estimators.persistence import savable


@savable
class DuplicateFinder(BaseEstimator):
    """Find the rows of a corpus that mean the same.

    Every unique text is compared with its nearest neighbours, and these candidate pairs are
    scored. Without a classifier a score is a similarity, and no probability is claimed. Texts are
    copies where they are equal but for case, white space and Unicode form; a similarity of two
    others is at most 0.999, and where it cannot tell them apart, the pair's kind states so.

    Parameters
    ----------
    classifier : fitted classifier, default=None
        ``predict_proba(pairs)`` of an object array (n, 2) of texts, for instance a
        `DuplicateClassifier`. A pair's probability must not depend on the other pairs.
    embedder : fitted transformer or callable, default=None
        Texts → vectors, dense or sparse, that make candidates by their cosine, and scores where
        there is no classifier. None is the mean of two TF-IDF cosines, of words and of character
        trigrams, with neighbours looked up in the 256 leading dimensions of the trigrams. It sees
        words and symbols (`film.text.words_and_symbols`). What is rare is learned from the corpus,
        in which near copies count once where they are ten or more, and one in a hundred texts.
    n_neighbors : int, default=10
        Candidates of each unique text; all others where there are fewer. For a threshold above 0
        or a budget a text gets twice as many while one of the last half of them has a score that
        the answer lists, or .05 less, until 200,000 were looked up besides the first
        (`DuplicatePairs.n_cut`). More than 100 million at first are refused.
    prior : "estimate", float or None, default=None
        Share of duplicates among candidate pairs that the classifier's probabilities are shifted
        to: estimated from them (`film.pairs.estimate_prior`), given, or None for no shift. It
        needs a classifier.
    classifier_prior : float, default=None
        Share of duplicates that the classifier's probabilities hold at; its attribute ``prior_``
        where it has one.
    index : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are searched: among all texts, or among those of the nearest cells
        (`film.corpus.NearestSearch`). "auto" is exact up to 20,000 different texts.
    device : str, default=None
        Device of torch that multiplies vectors to find neighbours, such as "cuda". None leaves that
        to NumPy. Neighbours are the same up to rounding. It may be set anew after `fit`.
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
        Number of different texts, by `film.text.copy_key`; the same text counts in each block.
    n_empty_ : int
        Rows without a text; duplicates of no row.
    codes_ : ndarray of int, shape (n_rows,)
        Number of the unique text of each row, −1 where it is empty.
    has_blocks_ : bool
        Whether `fit` had blocks.
    n_without_vector_ : int
        Unique texts whose vector is zero, since nothing in them is known: they have exact copies,
        but no neighbours.
    index_ : str
        "exact" or "cells".
    vectorizer_ : transformer
        ``embedder``, or what it is by default.

    See Also
    --------
    DuplicateClassifier : Calibrated probabilities for pairs.
    save_model : Keeps a fitted finder and its search, for `match` and `add` another day.

    Notes
    -----
    O(n_unique² · 256) for the exact search, done by the first `find`, `groups` or, where a prior is
    estimated, `query`; among nearest cells about O(n_unique^1.5 · 256): each text is compared with
    those of at most 100 of 4 √n_unique cells, which found 95 % of the 10 nearest of each of 100,000
    Quora questions. Ctrl-C keeps finished blocks, and the next call continues from there.

    The default score was chosen on 100,000 Quora questions, 9 % of them edited copies of others:
    the precision of pairs with a copy was 98.5 % at a recall of 60 %, and 94.5 % at 80 %, against
    94.0 % for words and 93.0 % for trigrams alone. Candidates hold 99 % of the copies. Of Quora's
    own duplicates, in other words, 65 % are among the 10 nearest by trigrams. Average link was
    ahead of connected components by 20 points of pairwise precision, at recalls from 0.2 to 0.3.

    ``prior=None`` is right where candidates differ from the training pairs in how they look and
    not in what a look means, as neighbours in a corpus do. On labelled candidates of Quora, the
    mean probability was 0.446 where 0.415 were duplicates. "estimate" assumes that both classes
    look as in training and only their shares differ; there it gave 0.97 % where at least 2.6 % are
    known duplicates, which is too low. Give the share where you know it.

    `sklearn.base.clone` makes unfitted copies of a classifier and an embedder; wrap them in
    `sklearn.frozen.FrozenEstimator` where a finder is to be cloned.

    Examples
    --------
    >>> from estimators import DuplicateFinder
    >>> texts = ["How do I learn chess?", "how do i learn chess?", "How can I learn chess?", "Why?"]
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
        device: Any = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.classifier = classifier
        self.embedder = embedder
        self.n_neighbors = n_neighbors
        self.prior = prior
        self.classifier_prior = classifier_prior
        self.index = index
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, texts: Any, ids: Any = None, blocks: Any = None, *, beside: Any = None
    ) -> DuplicateFinder:
        """Take a corpus in.

        Parameters
        ----------
        texts : iterable of str, or frame of one column
            One text per row.
        ids : iterable, default=None
            Name of each row, each hashable and unique; row positions when None.
        blocks : iterable of hashable, default=None
            Only rows of equal blocks are compared, copies among them; all rows when None. The
            neighbours of a text are its nearest in its block.
        beside : iterable of str, default=None
            Texts that are to be matched: what is rare is learned from them too, and `match` has
            the nearest of each row of the corpus among its candidates, so that the pairs and their
            scores are the same where the two corpora change places.

        Returns
        -------
        self : DuplicateFinder
            Fitted; neighbours are searched by the first `find` or `groups`.

        Raises
        ------
        TypeError, ValueError
            If a text is no string, an id comes twice, there are several columns, a block is NaN,
            or a parameter is wrong or too large; before any work.

        Warns
        -----
        UnfamiliarTextsWarning
            If the classifier is a `DuplicateClassifier` and over a quarter of the texts, of which
            500 are looked at, are of another kind than those of its fit.
        """
        check_settings(self.get_params(deep=False))
        probabilities = None
        if self.classifier is not None:
            probabilities = PairProbabilities(self.classifier, self.prior, self.classifier_prior)
        rows = checked_corpus(texts)
        others = [] if beside is None else checked_corpus(beside)
        names = checked_ids(ids, len(rows), [])
        inside = checked_blocks(blocks, len(rows))
        index = CorpusIndex(self.embedder, self.n_neighbors, self.index, self.random_state)
        self._rows = CorpusRows.empty(inside is not None).grown(names, rows, inside, index, others)
        self._scores = PairScores(index, probabilities)
        if probabilities is not None:
            probabilities.warn_of_unfamiliar(rows)
        return self

    def add(self, texts: Any, ids: Any = None, blocks: Any = None) -> DuplicateFinder:
        """Take more rows in, after those that are there.

        The weights and the space of `fit` stay, and only what is new is compared and scored: the
        result is that of one search over all rows in that space, but for which of equally near
        texts are candidates. A word that is new weighs what a word of no text weighs. When unique
        texts have more than doubled since, the space is learned anew from all of them, as `fit`
        would.

        Parameters
        ----------
        texts, ids, blocks
            As in `fit`; no id may be there already, and blocks are given or not as there.

        Returns
        -------
        self : DuplicateFinder
            Grown.

        Raises
        ------
        TypeError, ValueError
            As in `fit`; the finder is then as it was.
        """
        known, scores = self._corpus()
        rows = checked_corpus(texts)
        names = checked_ids(ids, len(rows), self.ids_.tolist())
        inside = checked_blocks(blocks, len(rows))
        self._rows = known.grown(names, rows, inside, scores.index, [])
        return self

    ids_ = property(lambda self: self._corpus()[0].ids, doc="Ids of the rows.")
    texts_ = property(lambda self: self._corpus()[0].texts, doc="Texts of the rows.")
    codes_ = property(lambda self: self._corpus()[0].codes, doc="Unique text of each row.")
    has_blocks_ = property(lambda self: self._corpus()[0].has_blocks, doc="Whether fit had blocks.")
    index_ = property(lambda self: self._corpus()[1].index.name, doc="How neighbours are searched.")
    vectorizer_ = property(
        lambda self: self._corpus()[1].index.space.vectorizer(), doc="What candidates are made by."
    )

    @property
    def n_unique_(self) -> int:
        """Number of different texts."""
        return len(self._corpus()[1].index.texts)

    @property
    def n_empty_(self) -> int:
        """Rows without a text."""
        return int((self.codes_ < 0).sum())

    @property
    def n_without_vector_(self) -> int:
        """Unique texts that the embedder gives a zero vector."""
        return int(self._corpus()[1].index.without_vector.sum())

    def find(
        self,
        *,
        threshold: float | None = None,
        budget: int | None = None,
        cannot_link: IdPairs | None = None,
    ) -> DuplicatePairs:
        """Find the pairs of rows with the best scores.

        Parameters
        ----------
        threshold : float in [0, 1], optional
            Lowest score of a pair.
        budget : int, optional
            Number of pairs, fewer only where there are no more. One of the two is needed.
        cannot_link : iterable of (id, id), optional
            Rows whose texts are known to differ in meaning; these pairs are left out.

        Returns
        -------
        pairs : DuplicatePairs
            Exact copies first, at score 1: each row with the first row of its text, so that n rows
            of one text are n − 1 pairs. Then pairs of different texts, each by its first row.

        Raises
        ------
        ValueError
            If not exactly one of ``threshold`` and ``budget`` is given, or out of range; if an id
            is unknown, or a pair of ``cannot_link`` are copies.
        """
        rows, scores = self._corpus()
        wanted = checked_limits("find", threshold, budget)
        known = self.known_pairs(None, cannot_link)
        return find_pairs(rows, scores, wanted, known.cannot, self.verbose)

    def match(
        self,
        texts: Any,
        ids: Any = None,
        *,
        blocks: Any = None,
        threshold: float | None = None,
        budget: int | None = None,
    ) -> DuplicatePairs:
        """Find the pairs of a new row with a row of the corpus, and no others.

        Each new text is compared with its nearest in the corpus, which does not change. Words that
        no text of the corpus has count as a difference.

        Parameters
        ----------
        texts, ids, blocks
            New rows, as in `fit`; their ids may be those of rows of the corpus.
        threshold, budget
            As in `find`.

        Returns
        -------
        pairs : DuplicatePairs
            First each new row, then a row of the corpus, each one that has the text. A copy has
            score 1.

        Raises
        ------
        TypeError, ValueError
            As in `fit` and `find`; and if there would be more than 100 million pairs, as of texts
            that are repeated thousands of times on either side.
        """
        rows, scores = self._corpus()
        wanted = checked_limits("match", threshold, budget)
        new = checked_corpus(texts)
        names = checked_ids(ids, len(new), [])
        numbers = rows.block_numbers(checked_blocks(blocks, len(new)), len(new))
        return match_rows(
            rows, scores, wanted, (new, names, numbers), self.n_neighbors, self.verbose
        )

    def groups(
        self,
        threshold: float = 0.8,
        *,
        linkage: str = "average",
        must_link: IdPairs | None = None,
        cannot_link: IdPairs | None = None,
    ) -> DuplicateGroups:
        """Group the rows that mean the same, so that no false pair chains two groups.

        Parameters
        ----------
        threshold : float in (0, 1], default=0.8
            Lowest link of two parts of a group.
        linkage : {"average", "complete"}, default="average"
            Link of two sets of texts: the mean or the lowest score of their pairs. Copies of one
            text are one text. Texts that a chain of good pairs connects are all compared with each
            other, so that ``n_neighbors`` parts no group; see `DuplicateGroups.n_incomplete`.
        must_link, cannot_link : iterable of (id, id), optional
            Rows that are known to belong together, whatever their score, and rows that no group
            may hold together; so for all copies of their texts. See `film.corpus.link_scores`.

        Returns
        -------
        groups : DuplicateGroups
            Groups of at least two rows.

        Raises
        ------
        ValueError
            If a parameter is out of range, an id is unknown, or the known pairs contradict each
            other, copies or blocks; the message names the rows.

        Warns
        -----
        UserWarning
            If texts could not be compared with all others that they are connected with.
        """
        rows, scores = self._corpus()
        check_choice("linkage", linkage, ("average", "complete"))
        if check_real("threshold", threshold, 0, 1) == 0:
            raise ValueError("threshold=0 would make one group of all rows; give more, such as 0.8")
        known = self.known_pairs(must_link, cannot_link)
        return group_rows(rows, scores, float(threshold), linkage, known, self.verbose)

    def query(self, text: str, k: int = 5) -> Matches:
        """Find the rows nearest to a text, in all blocks.

        Parameters
        ----------
        text : str
            Any text; an empty one has no matches.
        k : int, default=5
            Number of rows, copies of one text among them.

        Returns
        -------
        matches : Matches
            Best score first.

        Notes
        -----
        Where a prior is to be estimated, the first query scores all candidate pairs, as `find`.
        """
        rows, scores = self._corpus()
        (text,) = check_texts([text], "text")
        k = check_integer("k", k, 1)
        return nearest_rows(rows, scores, text, k, self.n_neighbors, self.verbose)

    def known_pairs(
        self, must_link: IdPairs | None = None, cannot_link: IdPairs | None = None
    ) -> KnownPairs:
        """Check pairs that are known, as `groups` and `find` do before any work; see there."""
        return KnownPairs(must_link, cannot_link, self.ids_, self._rows.codes, self._rows.blocks)

    def _corpus(self) -> tuple[CorpusRows, PairScores]:
        check_is_fitted(self)
        # A finder computes where it is told to now, wherever it was fitted.
        self._scores.index.device = self.device
        return self._rows, self._scores

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rows")

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

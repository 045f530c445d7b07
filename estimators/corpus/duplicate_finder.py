"""Duplicates of a whole corpus, with or without a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from estimators.corpus.corpus_index import CorpusIndex
from estimators.corpus.corpus_rows import CorpusRows
from estimators.corpus.finder_inputs import (
    IdPairs,
    KnownPairs,
    are_among,
    checked_blocks,
    checked_ids,
    checked_limits,
    checked_texts,
    distinct_texts,
    rows_of_pairs,
)
from estimators.corpus.found_duplicates import (
    DuplicateGroups,
    DuplicatePairs,
    Matches,
    describe_groups,
    kinds,
    merges_of_rows,
)
from estimators.corpus.pair_probabilities import PairProbabilities
from estimators.corpus.pair_scores import PairScores
from estimators.inputs import (
    as_texts,
    check_choice,
    check_integer,
    check_real,
    check_texts,
    check_verbose,
)
from estimators.persistence import savable
from film.corpus import link_scores
from film.text import copy_key


@savable
class DuplicateFinder(BaseEstimator):
    """Find the rows of a corpus that mean the same.

    Every unique text is compared with its nearest neighbours, and these candidate pairs are
    scored. Without a classifier a score is a similarity, and no probability is claimed. Texts are
    copies where they are equal but for case, white space and Unicode form; a similarity of two
    others is at most 0.999, and where it cannot tell them apart, the pair's kind says so.

    Parameters
    ----------
    classifier : fitted classifier, default=None
        ``predict_proba(pairs)`` of an object array (n, 2) of texts, for instance a
        `DuplicateClassifier`. What it says of a pair must not depend on the other pairs.
    embedder : fitted transformer or callable, default=None
        Texts → vectors, dense or sparse, that make candidates by their cosine, and scores where
        there is no classifier. None is the mean of two TF-IDF cosines, of words and of character
        trigrams, with neighbours looked up in the 256 leading dimensions of the trigrams. It sees
        words and symbols (`film.text.words_and_symbols`).
    n_neighbors : int, default=10
        Candidates of each unique text; all others where there are fewer. Groups of many more texts
        than that come in parts. More than 100 million in all are refused.
    prior : "estimate", float or None, default=None
        Share of duplicates among candidate pairs that the classifier's probabilities are shifted
        to: estimated from them (`film.pairs.estimate_prior`), given, or None for no shift. It
        needs a classifier.
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
        Number of different texts, by `film.text.copy_key`; the same text counts in each block.
    n_empty_ : int
        Rows without a text; nobody's duplicates.
    n_without_vector_ : int
        Unique texts whose vector is zero, since nothing in them is known: they have exact copies,
        but no neighbours.
    index_ : str
        "exact" or "faiss".

    See Also
    --------
    DuplicateClassifier : Calibrated probabilities for pairs.
    save_model : Keeps a fitted finder, its search among it, for `match` and `add` another day.

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
    >>> from estimators.corpus import DuplicateFinder
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

    def fit(self, texts: Any, ids: Any = None, blocks: Any = None) -> DuplicateFinder:
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

        Returns
        -------
        self : DuplicateFinder
            Fitted; neighbours are searched by the first `find` or `groups`.

        Raises
        ------
        TypeError, ValueError
            If a text is no string, an id comes twice, there are several columns, a block is NaN,
            or a parameter is wrong or too large; before any work.
        ImportError
            If the index is to be approximate and faiss is not installed.
        """
        self._check_parameters()
        probabilities = None
        if self.classifier is not None:
            probabilities = PairProbabilities(self.classifier, self.prior, self.classifier_prior)
        rows = checked_texts(texts)
        names = checked_ids(ids, len(rows), [])
        inside = checked_blocks(blocks, len(rows))
        index = CorpusIndex(self.embedder, self.n_neighbors, self.index, self.random_state)
        self._rows = CorpusRows.empty(inside is not None).grown(names, rows, inside, index)
        self._scores = PairScores(index, probabilities)
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
        texts : iterable of str, or frame of one column
            One text per row.
        ids : iterable, default=None
            As in `fit`; none of them may be there already.
        blocks : iterable of hashable, default=None
            As in `fit`, and given or not as there.

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
        rows = checked_texts(texts)
        names = checked_ids(ids, len(rows), self.ids_.tolist())
        inside = checked_blocks(blocks, len(rows))
        self._rows = self._rows.grown(names, rows, inside, self._scores.index)
        return self

    @property
    def ids_(self) -> np.ndarray:
        """Ids of the rows."""
        check_is_fitted(self)
        return self._rows.ids

    @property
    def texts_(self) -> np.ndarray:
        """Texts of the rows."""
        check_is_fitted(self)
        return self._rows.texts

    @property
    def n_unique_(self) -> int:
        """Number of different texts."""
        check_is_fitted(self)
        return len(self._scores.index.texts)

    @property
    def n_empty_(self) -> int:
        """Rows without a text."""
        check_is_fitted(self)
        return int((self._rows.codes < 0).sum())

    @property
    def n_without_vector_(self) -> int:
        """Unique texts that the embedder gives a zero vector."""
        check_is_fitted(self)
        return int(self._scores.index.without_vector.sum())

    @property
    def has_blocks_(self) -> bool:
        """Whether only rows of equal blocks are compared."""
        check_is_fitted(self)
        return self._rows.has_blocks

    @property
    def index_(self) -> str:
        """How neighbours are searched."""
        check_is_fitted(self)
        return self._scores.index.name

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
        found : DuplicatePairs
            Exact copies first, at score 1: each row with the first row of its text, so that n rows
            of one text are n − 1 pairs. Then pairs of different texts, each by its first row.

        Raises
        ------
        ValueError
            If not exactly one of ``threshold`` and ``budget`` is given, or out of range; if an id
            is unknown, or a pair of ``cannot_link`` are copies.
        """
        check_is_fitted(self)
        lowest, most = checked_limits("find", threshold, budget)
        known = self.known_pairs(None, cannot_link)
        candidates, scores, same_vector, prior = self._scores.of_candidates(self.verbose)
        apart = are_among(candidates, known.cannot)
        candidates, scores, same_vector = (
            each[~apart] for each in (candidates, scores, same_vector)
        )
        first_rows, copies = self._rows.first_and_copies()
        pairs = np.concatenate(
            [
                np.column_stack([first_rows[self._rows.codes[copies]], copies]),
                first_rows[candidates],
            ]
        )
        scores = np.concatenate([np.ones(len(copies)), scores])
        is_copy = np.arange(len(pairs)) < len(copies)
        kind = kinds(is_copy, np.concatenate([np.ones(len(copies), dtype=bool), same_vector]))
        order = np.lexsort((pairs[:, 1], pairs[:, 0], kind != "copy", -scores))
        kept = order[scores[order] >= lowest][:most]
        return DuplicatePairs(
            pairs=pairs[kept],
            scores=scores[kept],
            ids=self.ids_[pairs[kept]],
            texts=self.texts_[pairs[kept]],
            kind=kind[kept],
            **self._provenance(prior),
        )

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
        found : DuplicatePairs
            First each new row, then a row of the corpus: the first one of its text. A copy has
            score 1.

        Raises
        ------
        TypeError, ValueError
            As in `fit` and `find`.
        """
        check_is_fitted(self)
        lowest, most = checked_limits("match", threshold, budget)
        rows = checked_texts(texts)
        names = checked_ids(ids, len(rows), [])
        numbers = self._rows.block_numbers(checked_blocks(blocks, len(rows)), len(rows))
        spelt, inside, unit_of = distinct_texts(rows, numbers)
        pairs, scores, kind, prior = self._scores.of_matches(
            spelt, inside, self.n_neighbors, self.verbose
        )
        first_rows, _ = self._rows.first_and_copies()
        pair, new = rows_of_pairs(pairs[:, 0], unit_of, len(spelt))
        old = first_rows[pairs[pair, 1]]
        order = np.lexsort((old, new, kind[pair] != "copy", -scores[pair]))
        kept = order[scores[pair][order] >= lowest][:most]
        new, old = new[kept], old[kept]
        return DuplicatePairs(
            pairs=np.column_stack([new, old]),
            scores=scores[pair][kept],
            ids=np.column_stack([names[new], self.ids_[old]]),
            texts=np.column_stack([as_texts(rows)[new], self.texts_[old]]),
            kind=kind[pair][kept],
            **self._provenance(prior),
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
            Link of two sets of texts: the mean or the lowest score of their pairs, where a pair
            that is no candidate counts as 0. Copies of one text are one text.
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
        """
        check_is_fitted(self)
        method: Any = check_choice("linkage", linkage, ("average", "complete"))
        if check_real("threshold", threshold, 0, 1) == 0:
            raise ValueError("threshold=0 would make one group of all rows; give more, such as 0.8")
        known = self.known_pairs(must_link, cannot_link)
        pairs, scores, _, prior = self._scores.of_candidates(self.verbose)
        first_rows, copies = self._rows.first_and_copies()
        n_texts = len(first_rows)
        links = np.empty((0, 3))
        if n_texts:
            links = link_scores(
                pairs,
                scores,
                n_texts,
                method=method,
                threshold=threshold,
                must_link=known.must,
                cannot_link=known.cannot,
            )
        merges = merges_of_rows(links, self._rows.codes, first_rows, copies)
        unscored = known.must[~are_among(known.must, pairs)]
        groups, labels = describe_groups(
            merges,
            np.concatenate([pairs, unscored]),
            np.concatenate([scores, self._scores.of_pairs(unscored, prior)]),
            self._rows.codes,
            first_rows,
            self.ids_,
            self.texts_,
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
        Where the classifier's prior is to be estimated, the first query searches and scores all
        candidate pairs, as `find` does.
        """
        check_is_fitted(self)
        (text,) = check_texts([text], "text")
        k = check_integer("k", k, 1)
        near, scores, kind = np.empty(0, dtype=np.intp), np.empty(0), np.empty(0, dtype=object)
        if copy_key(text):
            # Scores order texts otherwise than the lookup does, so more of them are looked up.
            width = max(2 * k, self.n_neighbors)
            pairs, scores, kind, _ = self._scores.of_matches([text], None, width, self.verbose)
            near = pairs[:, 1]
        order = np.lexsort((near, kind != "copy", -scores))[:k]
        holders = [np.flatnonzero(self._rows.codes == code) for code in near[order].tolist()]
        members = np.concatenate([np.empty(0, dtype=np.intp), *holders])[:k]
        position = np.repeat(order, [len(rows) for rows in holders])[:k]
        return Matches(
            members=members,
            scores=scores[position],
            ids=self.ids_[members],
            texts=self.texts_[members],
            kind=kind[position],
            score_name=self._scores.name,
        )

    def known_pairs(
        self, must_link: IdPairs | None = None, cannot_link: IdPairs | None = None
    ) -> KnownPairs:
        """Check pairs that are known, as `groups` and `find` do before any work.

        Parameters
        ----------
        must_link, cannot_link : iterable of (id, id), optional
            As in `groups`.

        Returns
        -------
        known : KnownPairs
            The same by unique texts.

        Raises
        ------
        ValueError
            As in `groups`.
        """
        return KnownPairs(must_link, cannot_link, self.ids_, self._rows.codes, self._rows.blocks)

    def _provenance(self, prior: float | None) -> dict[str, Any]:
        return {
            "score_name": self._scores.name,
            "index": self._scores.index.name,
            "recall": self._scores.index.recall(),
            "prior": prior,
        }

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_choice("index", self.index, ("auto", "exact", "approximate"))
        check_integer("random_state", self.random_state, 0)
        check_verbose(self.verbose)
        embed = getattr(self.embedder, "transform", self.embedder)
        if not (embed is None or callable(embed)):
            raise TypeError(
                f"embedder={self.embedder!r} must be a fitted transformer, a callable or None"
            )
        for name in ("prior", "classifier_prior"):
            value = getattr(self, name)
            if self.classifier is None and value is not None:
                raise ValueError(
                    f"{name}={value!r} is about the probabilities of a classifier, and there is "
                    f"none; give classifier too, or {name}=None"
                )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rows")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

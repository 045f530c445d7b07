"""Find duplicates in a whole corpus, with or without a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from estimators.corpus.column_evidence import ColumnEvidence, cells_by_column, only_columns
from estimators.corpus.corpus_index import CorpusIndex
from estimators.corpus.corpus_rows import CorpusRows
from estimators.corpus.finder_inputs import (
    IdPairs,
    KnownPairs,
    check_settings,
    checked_blocks,
    checked_ids,
    checked_limits,
    checked_rows,
    distinct_texts,
    rows_of_ids,
)
from estimators.corpus.found_duplicates import (
    DuplicateGroups,
    DuplicatePairs,
    Matches,
    PairedRecords,
)
from estimators.corpus.growth import Wanted
from estimators.corpus.pair_probabilities import PairProbabilities
from estimators.corpus.pair_scores import PairScores
from estimators.corpus.results import find_pairs, group_rows, match_rows, nearest_rows
from estimators.encoders import AnyEncoder, resolve_encoder
from estimators.inputs import (
    CELL_END,
    as_texts,
    check_choice,
    check_integer,
    check_texts,
    checked_kinds,
    column_names,
    tags_of_texts,
)
from estimators.inspection import ScoreExplanation
from estimators.persistence import savable
from film.judge import EVIDENCE, describe_differences
from film.text import copy_key


@savable
class DuplicateFinder(BaseEstimator):
    """Find rows of a collection of texts that mean the same.

    Each unique text is compared with its nearest neighbours, and these candidate pairs are scored.
    Without a classifier, a general formula scores them (`film.judge.general_weights`), which was
    fitted on many public tables and needs no labels. It compares words one to one by spelling, and
    numbers, codes, units, negations, opposites and order. In tables of records it also uses the
    ranks of the two texts among each other's neighbours. Its scores are not probabilities, and the
    best threshold differs from table to table. So the threshold is estimated from each table,
    together with precision and recall (`DuplicatePairs.expected`). Texts are copies if they differ
    only in case, white space and Unicode form. The score of other pairs is at most 0.999.
    `DuplicatePairs.kind` says how the texts of a pair differ. With an ``encoder``, the formula also
    uses how close two texts are in meaning, and finds duplicates in other words.

    Parameters
    ----------
    classifier : fitted classifier, default=None
        Its ``predict_proba(pairs)`` takes an object array (n, 2) of texts, as that of a
        `DuplicateClassifier`. The probability of a pair must not depend on the other pairs.
    embedder : fitted transformer or callable, default=None
        Your own similarity in place of the comparison of words, such as a pipeline with `FILM`. It
        maps texts to vectors, dense or sparse. Their cosines determine the candidates and, without
        a classifier, are the scores. To add a model of meaning to the comparison of words, use
        ``encoder`` instead. None uses TF-IDF of words and of character trigrams of normalised texts
        (`film.text.words_and_symbols`), and the general formula. IDF weights come from the corpus.
        Large families of near copies, of at least ten texts and 1 % of the corpus, count as one
        text.
    n_neighbors : int, default=10
        Candidates per unique text; fewer if fewer texts share a word or trigram. With a threshold
        above 0 or a budget, the number is doubled for a text as long as one of the last half scores
        at most .05 below the listed pairs. This ends after 200,000 further candidates
        (`DuplicatePairs.n_cut`). More than 100 million initial candidates raise an error.
    prior : "estimate", float or None, default=None
        Share of duplicates among candidate pairs. The classifier's probabilities are shifted to
        this share. "estimate" estimates it from them (`film.pairs.estimate_prior`); None does not
        shift. Needs a classifier.
    classifier_prior : float, default=None
        Share of duplicates for which the classifier's probabilities are calibrated; by default its
        attribute ``prior_``, if it has one.
    index : {"auto", "exact", "approximate"}, default="auto"
        Whether to search neighbours among all texts, or only among those that share rare words
        and trigrams (`film.corpus.SparseSearch`); for dense vectors, in the nearest cells
        (`film.corpus.NearestSearch`). "auto" is exact for small tables: with an encoder up to
        20,000 unique texts, and without one up to some 9,000 short ones.
    encoder : "auto", "none", str, path-like or object, default=None
        Also compares meaning. The ``n_neighbors`` nearest texts by the encoder are candidates of
        each text too, and the formula includes the encoder's cosine, on a scale that is the same
        for all encoders (`film.judge.centred_cosines`). "auto" is the packaged all-MiniLM-L6-v2 if
        it is installed and encodes the texts in two minutes, otherwise none. Names and folders of
        models, objects with ``encode`` or ``transform``, and functions are allowed (`AnyEncoder`).
        Each text is encoded once.
    compare : list of str, or dict of str to str, default=None
        Columns of a frame to compare one by one, or a dict from column to kind
        (`film.compare.COLUMN_KINDS`; "" is recognised). None compares all columns of a frame that
        has several, except those that number the rows (`estimators.inputs.numbers_rows`). Columns
        that tell no duplicates from other pairs are left out, unless you give their kind
        (`film.judge.uninformative_columns`).
    random_state : int, default=0
        Seeds the cells of dense vectors, and the sample that estimates its recall.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    ids_ : ndarray of object, shape (n_rows,)
        Ids of the rows.
    texts_ : ndarray of object, shape (n_rows,)
        Texts of the rows.
    n_unique_ : int
        Number of unique texts, by `film.text.copy_key`; a text counts once per block.
    n_empty_ : int
        Number of rows without a text; they are not duplicates of any row.
    columns_ : tuple of str or None
        Columns of the records, in the order of ``compare`` or of the classifier; None for texts.
    kinds_ : dict of str to str
        Kind of each column that is compared without a classifier; empty for texts.
    left_out_ : tuple of str
        Columns that number the rows, or tell no duplicates from other pairs. They are neither
        compared nor among ``columns_``.
    cells_ : dict of str to list of str, or None
        Cells of each column of ``columns_``; None for texts.
    codes_ : ndarray of int, shape (n_rows,)
        Number of the unique text of each row, −1 for empty texts.
    has_blocks_ : bool
        Whether `fit` had blocks.
    blocks_ : ndarray of int, shape (n_rows,)
        Number of the block of each row.
    n_without_vector_ : int
        Number of unique texts whose vector is zero, because the vectors represent nothing in them.
        They can have copies, but no neighbours.
    index_ : str
        "exact", "rare terms" or "cells".
    vectorizer_ : transformer
        ``embedder``, or the default one.
    encoder_ : AnyEncoder or None
        Fitted encoder, if there is one.

    See Also
    --------
    DuplicateClassifier : Calibrated probabilities for pairs.
    save_model : Saves a fitted finder with its search, for a later `match` or `add`.

    Notes
    -----
    The search runs in the first `find`, `groups` or, if a prior is estimated, `query`, and for
    records in `fit`. Exact search
    takes O(n_unique²). Approximate search takes about O(n_unique^1.5): a text is compared with
    those that share its rare words and trigrams, for dense vectors with the texts of at most 100
    of 4 √n_unique cells. After Ctrl-C, the next call continues from the finished blocks.

    Candidates share words or character trigrams by default, so duplicates in other words can be
    missed; an ``encoder`` finds more of them.

    ``prior=None`` is right if candidate pairs are more similar than the training pairs, but equally
    similar pairs are duplicates equally often, as for neighbours in a corpus. "estimate" assumes
    that duplicates and other pairs are each distributed as in training, and only their shares
    differ; for neighbours it underestimates the share. Give the share if you know it.

    `sklearn.base.clone` makes unfitted copies of classifier and embedder; wrap them in
    `sklearn.frozen.FrozenEstimator` to clone a finder.

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
        encoder: Any = None,
        compare: Any = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.classifier = classifier
        self.embedder = embedder
        self.n_neighbors = n_neighbors
        self.prior = prior
        self.classifier_prior = classifier_prior
        self.index = index
        self.encoder = encoder
        self.compare = compare
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, texts: Any, ids: Any = None, blocks: Any = None, *, beside: Any = None
    ) -> DuplicateFinder:
        """Fit on a collection of texts or records.

        Parameters
        ----------
        texts : iterable of str, or frame
            One text per row, or a record with several columns. Cells of records are texts, numbers
            or dates.
        ids : iterable, default=None
            Unique, hashable id of each row; by default the row positions.
        blocks : iterable of hashable, default=None
            Only rows of equal blocks are compared; all rows if None. The neighbours of a text are
            the nearest texts of its block.
        beside : iterable of str, default=None
            Texts for a later `match`. IDF weights are learned from them too, and `match` also
            considers the nearest new texts of each corpus row, so that pairs and scores do not
            depend on which of the two tables is fitted. The larger table adds its most similar
            pairs, at most as many as the smaller.

        Returns
        -------
        self : DuplicateFinder
            Fitted; the first `find` or `groups` searches the neighbours.

        Raises
        ------
        TypeError, ValueError
            If a text is not a string, an id is repeated, a column of ``compare`` is missing or does
            not fit its kind, a block is NaN, or a parameter is invalid; raised before any work.

        Warns
        -----
        UnfamiliarTextsWarning
            If the classifier is a `DuplicateClassifier` and over a quarter of a sample of 500 texts
            are unlike its training texts.
        """
        check_settings(self.get_params(deep=False))
        probabilities = None
        if self.classifier is not None:
            probabilities = PairProbabilities(self.classifier, self.prior, self.classifier_prior)
        of_model = getattr(self.classifier, "columns_", None)
        rows, columns = checked_rows(texts, self.compare, of_model)
        others = [] if beside is None else checked_rows(beside, self.compare, columns)[0]
        evidence = self._column_evidence(columns, [*rows, *others])
        names = checked_ids(ids, len(rows), [])
        inside = checked_blocks(blocks, len(rows))
        encoder = self._chosen_encoder(rows, others)
        for some in filter(None, (rows, others)):
            check_texts(some, encodable=encoder is not None)
        settings = self.embedder, self.n_neighbors, self.index, self.random_state

        def start(encoder: AnyEncoder | None, inside: list[Any] | None) -> None:
            index = CorpusIndex(*settings, encoder)
            no_rows = CorpusRows.empty(inside is not None)
            self._rows = no_rows.grown(names, rows, inside, index, others)
            self._scores = PairScores(index, probabilities, evidence)
            self._columns = columns
            self._remembered = np.empty(0, dtype=np.intp), 0
            self._labelled = []

        self._left_out, silent = (), ()
        if columns is not None and self.compare is None and of_model is None:
            self._left_out = tuple(
                name for name in map(str, column_names(texts)) if name not in columns
            )
        # The blocks of the other table are unknown when columns are judged.
        ignores_blocks = bool(others) and inside is not None
        learns_columns = evidence is not None and probabilities is None
        if evidence is not None and columns is not None and learns_columns:
            start(None, None if ignores_blocks else inside)
            silent = self._uninformative(others)
            self._left_out += silent
            if silent:
                kept = tuple(name for name in columns if name not in silent)
                rows, others = (only_columns(some, columns, kept) for some in (rows, others))
                kinds = {name: evidence.kinds[name] for name in kept if name in evidence.kinds}
                columns, evidence = kept, ColumnEvidence(kept, kinds, [*rows, *others])
        if not learns_columns or encoder is not None or silent or ignores_blocks:
            start(encoder, inside)
        if probabilities is not None:
            probabilities.warn_of_unfamiliar(rows)
        return self

    def _uninformative(self, others: list[str]) -> tuple[str, ...]:
        """Return the columns without a given kind that tell no duplicates from other pairs."""
        given = self.compare if isinstance(self.compare, dict) else {}
        rows, scores = self._corpus()
        if all(given.get(name) for name in self._columns or ()):
            return ()
        if others:
            asked = distinct_texts(others, rows.block_numbers(None, len(others)))[:2]
            found = scores.of_matches(
                *asked, self.n_neighbors, Wanted(1.0), self.verbose, True, is_kept=True
            )[0]
        else:
            found = scores.of_wanted(Wanted(1.0), np.empty((0, 2), dtype=np.intp), self.verbose)
        silent = () if found.agreement is None else found.agreement.uninformative
        return tuple(name for name in silent if not given.get(name))

    def add(self, texts: Any, ids: Any = None, blocks: Any = None) -> DuplicateFinder:
        """Add rows after the existing ones.

        Only new texts are compared and scored, with the weights and the space of `fit`. The result
        equals a single search over all rows in that space, except for ties. New words get the
        maximum IDF. Once the number of unique texts has more than doubled, the space is learned
        again from all texts, as by `fit`.

        Parameters
        ----------
        texts, ids, blocks
            As in `fit`; ids must be new, and blocks are required if `fit` had them.

        Returns
        -------
        self : DuplicateFinder
            With the new rows.

        Raises
        ------
        TypeError, ValueError
            As in `fit`; the finder is then unchanged.
        """
        known, scores = self._corpus()
        rows = checked_rows(texts, None, self._columns, scores.index.encoder)[0]
        names = checked_ids(ids, len(rows), self.ids_.tolist())
        inside = checked_blocks(blocks, len(rows))
        self._rows = known.grown(names, rows, inside, scores.index, [])
        return self

    def remember_groups(self, groups: DuplicateGroups) -> DuplicateFinder:
        """Let groups keep their rows and numbers when rows are added.

        In later calls of `groups`, also of a saved finder, the rows of each group stay together. A
        new row joins a group by its mean (or lowest) score with all rows of the group, and gets its
        number. New groups get new numbers. If groups are merged, the lowest number stays
        (`DuplicateGroups.renumbered`). A group with a pair of ``cannot_link`` is grouped anew; the
        part with its first row keeps the number. `fit` forgets all groups.

        Parameters
        ----------
        groups : DuplicateGroups
            Groups of all rows, from `groups`.

        Returns
        -------
        self : DuplicateFinder
            With these groups.

        Raises
        ------
        ValueError
            If rows were added since.

        Examples
        --------
        >>> from estimators import DuplicateFinder
        >>> finder = DuplicateFinder().fit(["a red chair", "a red chair!", "a lamp"])
        >>> finder.remember_groups(finder.groups(0.5)).add(["a lamp.", "a red chair?"])
        DuplicateFinder()
        >>> groups = finder.groups(0.5)
        >>> groups.numbers.tolist(), [group.members.tolist() for group in groups]
        ([0, 1], [[0, 1, 4], [2, 3]])
        """
        n_rows = len(self.ids_)
        if len(groups.labels) != n_rows:
            raise ValueError(
                f"groups has {len(groups.labels)} rows, but the finder {n_rows}: give the "
                "result of groups() after the last add()"
            )
        n_used = max(self._remembered[1], int(groups.numbers.max(initial=-1)) + 1)
        self._remembered = np.append(groups.numbers, -1)[groups.labels], n_used
        return self

    def remember_pairs(
        self, must_link: IdPairs | None = None, cannot_link: IdPairs | None = None
    ) -> DuplicateFinder:
        """Let later calls of `find` and `groups` take pairs as known, also after `add` and saving.

        Pairs that are given to those calls come first, and pairs that are remembered later replace
        earlier ones of the same rows. `fit` forgets all pairs.

        Parameters
        ----------
        must_link, cannot_link : iterable of (id, id), optional
            As in `groups`.

        Returns
        -------
        self : DuplicateFinder
            With these pairs.

        Raises
        ------
        ValueError
            As in `groups`; nothing is then remembered.

        Examples
        --------
        >>> from estimators import DuplicateFinder
        >>> finder = DuplicateFinder().fit(["How do I learn chess?", "How can I learn chess?"])
        >>> len(finder.groups(0.5)), len(finder.remember_pairs([], [(0, 1)]).groups(0.5))
        (1, 0)
        """
        must, cannot = self._with_remembered(must_link, cannot_link)
        self.known_pairs(must, cannot)
        place = {name: row for row, name in enumerate(self.ids_.tolist())}
        self._labelled = [
            (place[a], place[b], same)
            for same, pairs in ((True, must), (False, cannot))
            for a, b in pairs
        ]
        return self

    def _with_remembered(
        self, must_link: IdPairs | None, cannot_link: IdPairs | None
    ) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
        """Return known pairs with the remembered ones, but those of the same rows."""
        must, cannot = list(must_link or ()), list(cannot_link or ())
        given, ids = {frozenset(pair) for pair in (*must, *cannot)}, self.ids_
        for a, b, same in self._labelled:
            if frozenset((ids[a], ids[b])) not in given:
                (must if same else cannot).append((ids[a], ids[b]))
        return must, cannot

    ids_ = property(lambda self: self._corpus()[0].ids, doc="Ids of the rows.")
    texts_ = property(lambda self: self._corpus()[0].texts, doc="Texts of the rows.")
    codes_ = property(lambda self: self._corpus()[0].codes, doc="Unique text of each row.")
    has_blocks_ = property(lambda self: self._corpus()[0].has_blocks, doc="Whether fit had blocks.")
    blocks_ = property(lambda self: self._corpus()[0].blocks, doc="Block of each row.")
    index_ = property(lambda self: self._corpus()[1].index.name, doc="How neighbours are searched.")
    vectorizer_ = property(
        lambda self: self._corpus()[1].index.space.vectorizer(), doc="Embedder of the candidates."
    )

    @property
    def left_out_(self) -> tuple[str, ...]:
        """Columns that number the rows, or tell no duplicates from other pairs."""
        self._corpus()
        return self._left_out

    encoder_ = property(lambda self: self._corpus()[1].index.encoder, doc="Fitted encoder.")

    @property
    def columns_(self) -> tuple[str, ...] | None:
        """Columns of the records; None for texts."""
        self._corpus()
        return self._columns

    @property
    def cells_(self) -> dict[str, list[str]] | None:
        """Cells of each column; None for texts."""
        rows = self._corpus()[0]
        if self._columns is None:
            return None
        cells = cells_by_column(rows.records.tolist()) or [[] for _ in self._columns]
        return dict(zip(self._columns, cells, strict=True))

    @property
    def kinds_(self) -> dict[str, str]:
        """Kind of each column that is compared without a classifier; empty for texts."""
        columns = self._corpus()[1].columns
        return {} if columns is None or self.classifier is not None else dict(columns.kinds)

    @property
    def n_unique_(self) -> int:
        """Number of unique texts."""
        return len(self._corpus()[1].index.texts)

    @property
    def n_empty_(self) -> int:
        """Number of rows without a text."""
        return int((self.codes_ < 0).sum())

    @property
    def n_without_vector_(self) -> int:
        """Number of unique texts with a zero vector."""
        return int(self._corpus()[1].index.without_vector.sum())

    def find(
        self,
        *,
        threshold: float | None = None,
        budget: int | None = None,
        cannot_link: IdPairs | None = None,
    ) -> DuplicatePairs:
        """Find the pairs of rows with the highest scores.

        Parameters
        ----------
        threshold : float in [0, 1], optional
            Lowest score to list. By default the threshold with the highest estimated F1 for general
            scores (`film.judge.expected_precision`), and 0.5 otherwise.
        budget : int, optional
            Number of pairs to list, or fewer if there are fewer, instead of a threshold.
        cannot_link : iterable of (id, id), optional
            Pairs of rows known to differ in meaning, which are left out.

        Returns
        -------
        pairs : DuplicatePairs
            First exact copies, with score 1: each row with the first row of its text, so n rows of
            one text are n − 1 pairs. Then pairs of different texts, each by its first row. Without
            ``threshold`` and ``budget``, records whose columns decide alone
            (`film.judge.separating_column_weights`) yield all pairs of rows of one group at the
            estimated threshold, whatever their own score, unless there are over 100 per row: a
            person may have many rows, which tell together who they are.

        Raises
        ------
        ValueError
            If both ``threshold`` and ``budget`` are given, or one is out of range; if an id is
            unknown, or the rows of a pair in ``cannot_link`` are copies.
        """
        rows, scores = self._corpus()
        wanted = checked_limits("find", threshold, budget)
        if self._labelled:
            cannot_link = self._with_remembered(None, cannot_link)[1]
        known = self.known_pairs(None, cannot_link)
        return find_pairs(rows, scores, wanted, known, self.verbose, self._columns)

    def match(
        self,
        texts: Any,
        ids: Any = None,
        *,
        blocks: Any = None,
        threshold: float | None = None,
        budget: int | None = None,
        one_to_one: bool = False,
    ) -> DuplicatePairs:
        """Find pairs of a new row and a row of the corpus.

        Each new text is compared with its nearest texts in the corpus, which does not change.
        Words that are not in the corpus lower the similarity.

        Parameters
        ----------
        texts, ids, blocks
            New rows, as in `fit`; they may have the ids of corpus rows.
        threshold, budget
            As in `find`.
        one_to_one : bool, default=False
            Whether each row has at most one partner. Of the pairs at or above the threshold, the
            choice with the highest total score is listed (`film.judge.one_to_one`).

        Returns
        -------
        pairs : DuplicatePairs
            The new row first, then a row of the corpus. Repeated texts yield all pairs of their
            rows. Copies have score 1.

        Raises
        ------
        TypeError, ValueError
            As in `fit` and `find`; also if there are more than 100 million pairs, because texts are
            repeated thousands of times in both tables.
        """
        rows, scores = self._corpus()
        wanted = checked_limits("match", threshold, budget)
        new = checked_rows(texts, None, self._columns, scores.index.encoder)[0]
        names = checked_ids(ids, len(new), [])
        numbers = rows.block_numbers(checked_blocks(blocks, len(new)), len(new))
        asked = new, names, numbers
        limits = self.n_neighbors, self.verbose, one_to_one
        return match_rows(rows, scores, wanted, asked, *limits, self._columns)

    def groups(
        self,
        threshold: float | None = None,
        *,
        linkage: str = "average",
        must_link: IdPairs | None = None,
        cannot_link: IdPairs | None = None,
        apart: str | None = None,
    ) -> DuplicateGroups:
        """Group rows that mean the same, without chaining groups through single wrong pairs.

        Parameters
        ----------
        threshold : float in (0, 1], optional
            Lowest link at which two parts of a group are merged. By default as in `find`.
        linkage : {"average", "complete"}, default="average"
            Link of two sets of texts: the mean or the lowest score of their pairs. Copies count as
            one text. All texts connected by candidate pairs at or above the threshold are compared
            with each other, so groups are not limited by ``n_neighbors``; for exceptions see
            `DuplicateGroups.n_incomplete`.
        must_link, cannot_link : iterable of (id, id), optional
            Rows that belong together whatever their score, and rows that must not share a group.
            This applies to all copies of their texts. See `film.corpus.link_scores`.
        apart : {"differing", "similar"}, optional
            Kinds of pairs at or above the threshold that never share a group, unless ``must_link``
            joins them: those that differ in a name, number or the like; or also similar ones, so
            that only copies and other spellings are merged. By default, scores alone decide.

        Returns
        -------
        groups : DuplicateGroups
            Groups of at least two rows.

        Raises
        ------
        ValueError
            If a parameter is out of range, an id is unknown, or the linked pairs contradict each
            other, copies or blocks; the message names the rows.

        Warns
        -----
        UserWarning
            If some connected texts were not all compared with each other.
        """
        rows, scores = self._corpus()
        check_choice("linkage", linkage, ("average", "complete"))
        if apart is not None:
            check_choice("apart", apart, ("differing", "similar"))
        wanted = checked_limits("groups", threshold, None)
        if wanted.lowest == 0:
            raise ValueError("threshold=0 would group all rows; give a higher one, such as 0.5")
        remembered, n_used = self._remembered
        if self._labelled:
            must_link, cannot_link = self._with_remembered(must_link, cannot_link)
        n_added = len(rows.codes) - len(remembered)
        before = np.pad(remembered, (0, n_added), constant_values=-1)
        known = KnownPairs(must_link, cannot_link, rows.ids, rows.codes, rows.blocks, before)
        how = linkage, apart, known
        return group_rows(rows, scores, wanted, how, self.verbose, (before, n_used))

    def query(self, text: str, k: int = 5) -> Matches:
        """Find the rows nearest to a text, in all blocks.

        Parameters
        ----------
        text : str
            A text; an empty one has no matches. It is compared with the joined cells of records.
        k : int, default=5
            Number of rows, including copies.

        Returns
        -------
        matches : Matches
            Highest score first.

        Notes
        -----
        If the prior is estimated, the first query scores all candidate pairs, as in `find`.
        """
        rows, scores = self._corpus()
        (text,) = check_texts([text], "text", encodable=scores.index.encoder is not None)
        k = check_integer("k", k, 1)
        return nearest_rows(rows, scores, text, k, self.n_neighbors, self.verbose)

    def explain(self, pairs: IdPairs) -> list[Any]:
        """Explain the scores of given pairs of rows, neighbours or not.

        Parameters
        ----------
        pairs : iterable of (id, id)
            Pairs of rows.

        Returns
        -------
        explanations : list of ScoreExplanation
            How the texts of each pair differ, and what wording, meaning, numbers and codes,
            negation and order, and the neighbours in the table add to its score. With a classifier,
            the result of its method ``explain``.

        Raises
        ------
        ValueError
            If an id is unknown, or if cosines of an embedder are the scores.

        Notes
        -----
        As `score_pairs`. The effects sum to the log-odds exactly (`film.judge.general_effects`).

        Examples
        --------
        >>> from estimators import DuplicateFinder
        >>> finder = DuplicateFinder().fit(["a phone of 128 GB", "a phone of 256 GB", "a radio"])
        >>> (explanation,) = finder.explain([(0, 1)])
        >>> explanation.difference
        'differs in number: 128 / 256'
        >>> explanation.score < explanation.without("numbers and codes")
        True
        """
        rows, scores = self._corpus()
        place = {name: row for row, name in enumerate(rows.ids.tolist())}
        asked = rows_of_ids("pairs", pairs, place)
        texts = rows.texts[asked]
        if self.classifier is not None:
            known = scores.general_of_rows(rows.codes[asked])
            given = rows.records[asked] if self._columns else texts
            return self.classifier.explain(given, **known)
        if self.embedder is not None:
            raise ValueError(
                "the cosines of embedder are the scores, and have no other evidence: leave it out "
                "to explain general scores"
            )
        values, kinds = self.score_pairs(pairs)
        codes = np.sort(rows.codes[asked], axis=1)
        differ = (codes[:, 0] >= 0) & (codes[:, 0] != codes[:, 1])
        start, some = scores.effects(codes[differ]) if differ.any() else (0.0, np.empty((0, 0)))
        effects = iter(some.tolist())
        cells: list[dict[str, tuple[str, str]]] = [{}] * len(asked)
        if self._columns:
            both = PairedRecords(self._columns, rows.records[asked]).cells()
            columns = both.transpose(0, 2, 1).tolist()
            cells = [dict(zip(self._columns, map(tuple, row), strict=True)) for row in columns]
        lines = describe_differences(*texts.T.tolist())
        reasons: list[dict[str, str]] = [{}] * len(asked)
        if scores.columns is not None:
            reasons = scores.columns.reasons(*rows.records[asked].T.tolist())
        groups = [*EVIDENCE, *(f"column {name}" for name in self.kinds_)]
        return [
            ScoreExplanation(
                text1,
                text2,
                score,
                float(expit(start)),
                dict(zip(groups, next(effects), strict=True)) if other else {},
                kind,
                "" if kind == "copy" else line,
                shown,
                {f"column {name}": reason for name, reason in why.items()},
            )
            for (text1, text2), score, kind, line, other, shown, why in zip(
                *(texts.tolist(), values.tolist(), kinds.tolist(), lines, differ, cells, reasons),
                strict=True,
            )
        ]

    def score_pairs(self, pairs: IdPairs) -> tuple[np.ndarray, np.ndarray]:
        """Score given pairs of rows, neighbours or not.

        Parameters
        ----------
        pairs : iterable of (id, id)
            Pairs of rows.

        Returns
        -------
        scores : ndarray of float64, shape (n_pairs,)
            1 for copies, 0 if a row has no text, and otherwise as `find` scores them.
        kind : ndarray of object, shape (n_pairs,)
            As in `DuplicatePairs`.

        Raises
        ------
        ValueError
            If an id is unknown.

        Notes
        -----
        Scores depend on the table: on the rarity of words, and on the neighbours of both texts, so
        all neighbours are searched first.

        Examples
        --------
        >>> from estimators import DuplicateFinder
        >>> finder = DuplicateFinder().fit(["a 128 GB phone", "a 256 GB phone", "a phone, 128 gb"])
        >>> scores, kind = finder.score_pairs([(0, 1), (0, 2)])
        >>> kind.tolist(), bool(scores[0] < scores[1])
        (['differs in number', 'spelling'], True)
        """
        rows, scores = self._corpus()
        place = {name: row for row, name in enumerate(rows.ids.tolist())}
        codes = np.sort(rows.codes[rows_of_ids("pairs", pairs, place)], axis=1)
        empty = codes[:, 0] < 0
        same = ~empty & (codes[:, 0] == codes[:, 1])
        values = same.astype(np.float64)
        kind = np.where(same, "copy", "similar").astype(object)
        others = np.flatnonzero(~empty & ~same)
        if len(others):
            is_model = scores.probabilities is not None
            prior = scores.of_candidates(self.verbose).prior if is_model else None
            values[others], kind[others] = scores.of_more(codes[others], prior, self.verbose)
        return values, kind

    def known_pairs(
        self, must_link: IdPairs | None = None, cannot_link: IdPairs | None = None
    ) -> KnownPairs:
        """Check pairs of ids, as `groups` and `find` do before any work."""
        return KnownPairs(must_link, cannot_link, self.ids_, self._rows.codes, self._rows.blocks)

    def _column_evidence(
        self, columns: tuple[str, ...] | None, records: list[str]
    ) -> ColumnEvidence | None:
        if columns is None:
            return None
        if self.embedder is not None:
            raise ValueError(
                "embedder compares whole texts, and compare columns: give one, or a single column"
            )
        values = dict(zip(columns, cells_by_column(records), strict=True))
        given = self.compare if isinstance(self.compare, dict) else {}
        kinds = checked_kinds(values, given, "compare")
        if self.classifier is not None and not getattr(self.classifier, "takes_general", False):
            return None
        return ColumnEvidence(tuple(columns), kinds, records)

    def _chosen_encoder(self, rows: list[str], others: list[str]) -> AnyEncoder | None:
        if self.encoder is None:
            return None
        if self.embedder is not None:
            raise ValueError(
                "encoder adds to the comparison of words, which embedder replaces; give one"
            )
        n_texts = len({copy_key(text) for text in (*rows, *others)})
        return resolve_encoder(self.encoder, n_texts).encoder

    _rows: CorpusRows
    _scores: PairScores
    _columns: tuple[str, ...] | None = None
    _left_out: tuple[str, ...] = ()
    _remembered: tuple[np.ndarray, int] = np.empty(0, dtype=np.intp), 0
    _labelled: Any = ()

    def check_state(self) -> None:
        """Take the cells of records from the index, if an earlier version kept them there alone."""
        n_ends = len(self._columns or ()) - 1
        if n_ends < 1:
            return
        rows, scores = self._corpus()
        if any(record.count(CELL_END) != n_ends for record in rows.records[:1]):
            rows.keep_cells(as_texts([CELL_END * n_ends, *scores.index.texts])[rows.codes + 1])

    def _corpus(self) -> tuple[CorpusRows, PairScores]:
        check_is_fitted(self)
        return self._rows, self._scores

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rows")

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

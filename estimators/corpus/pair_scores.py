"""Score pairs of texts by similarity, or by the probabilities of a classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from estimators.corpus.column_evidence import ColumnEvidence, role_of_texts
from estimators.corpus.corpus_index import CorpusIndex
from estimators.corpus.general_scores import AgreementScores, GeneralScores
from estimators.corpus.growth import Scored, Wanted, distinct_pairs
from estimators.corpus.pair_probabilities import General, PairProbabilities
from estimators.inputs import as_texts, progress_bar
from estimators.pairs import FEWEST_IN_TABLE
from estimators.persistence import savable
from film.compare import WordRarity
from film.judge import expected_precision

FAR_MORE = 1.5
"""Times the pairs of neighbours at the estimated threshold, from which the threshold is estimated
again, from all pairs."""


@savable
class PairScores:
    """Score the candidate pairs of a corpus index.

    Parameters
    ----------
    index : CorpusIndex
        Index of the corpus.
    probabilities : PairProbabilities or None
        Probabilities of a classifier; None scores by similarity.
    columns : ColumnEvidence, optional
        Of the columns, if the texts are records. Probabilities of a classifier then also use the
        general scores (`DuplicateClassifier.predict_proba`).
    """

    columns: ColumnEvidence | None = None

    # General scores for this number of unique texts, and the answers of all candidates. Saved
    # finders have none of them.
    _n_scored = -1
    _general: Any = None
    _answers: Any = None
    # A match that `fit` made already.
    _matched: Any = None

    def __init__(
        self,
        index: CorpusIndex,
        probabilities: PairProbabilities | None,
        columns: ColumnEvidence | None = None,
    ) -> None:
        self.index = index
        self.probabilities = probabilities
        self.columns = columns

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the next call computes again."""
        state = {"index": self.index, "probabilities": self.probabilities}
        return state if self.columns is None else state | {"columns": self.columns}

    @property
    def name(self) -> str:
        """Name of the score."""
        if self.probabilities is not None:
            return "probability"
        is_cosine = self.index.embedder is not None or (self._rarity is None and self.index.texts)
        return "similarity" if is_cosine else "score"

    @property
    def _rarity(self) -> WordRarity | None:
        """How rare words are, for the general score; None if cosines are the scores."""
        return None if self.index.space is None else self.index.space.rarity

    def of_candidates(self, verbose: int) -> Scored:
        """Score the candidate pairs of the corpus: each unique text with its nearest others."""
        with progress_bar(verbose, "DuplicateFinder") as progress:
            pairs = self.index.candidates(progress)
            if self.probabilities is None:
                return Scored(pairs, self._without_labels(pairs, progress))
            texts = as_texts(self.index.texts)
            scores, prior = self.probabilities.of_candidates(
                pairs, texts, progress, self._general_scores
            )
        return Scored(pairs, (scores, _all_similar(pairs)), prior=prior)

    def _without_labels(
        self, pairs: np.ndarray, progress: Callable[[str], None] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return score and kind of pairs of unique texts, by the general formula or by cosines."""
        if not len(pairs):
            return np.empty(0), _all_similar(pairs)
        cosines, same_vector = self.index.similarities(pairs)
        rarity = self._rarity
        if rarity is None:
            return cosines, np.where(same_vector, "indistinct", _all_similar(pairs))
        texts, near = self.index.texts, self.index.candidates(progress)
        same = np.array_equal(near, pairs)
        if self._n_scored != len(texts):
            near_cosines = cosines if same else self.index.similarities(near)[0]
            columns = self._agreement()
            self._n_scored = len(texts)
            of = {"columns": columns, "role": "" if columns else role_of_texts(texts)}
            self._general = GeneralScores(rarity, near, near_cosines, **of)
            self._answers = None
            if columns is not None:
                known = near, _spelt(near, texts, texts), near_cosines, self.index.meanings(near)
                self._answers = self._general.answers(*known)
        if same and self._answers is not None:
            return self._answers
        spelt, meanings = _spelt(pairs, texts, texts), self.index.meanings(pairs)
        answers = self._general.answers(pairs, spelt, cosines, meanings)
        if same:
            self._answers = answers
        return answers

    @property
    def _general_scores(self) -> General | None:
        """General scores of pairs in a large table, for a classifier of records; else None."""
        if self.columns is None or len(self.index.candidates()) < FEWEST_IN_TABLE:
            return None
        return lambda pairs: self._without_labels(pairs)[0]

    def general_of_rows(self, codes: np.ndarray) -> dict[str, np.ndarray]:
        """Return general scores of pairs of rows as an argument, if the classifier takes any.

        ``codes`` are the numbers of their unique texts, (n, 2), −1 for empty texts.
        """
        general = self._general_scores
        if general is None:
            return {}
        codes = np.sort(codes, axis=1)
        same = codes[:, 0] == codes[:, 1]
        scores = same.astype(np.float64)
        others = ~same & (codes[:, 0] >= 0)
        if others.any():
            scores[others] = general(codes[others])
        return {"general": scores}

    def _agreement(self, two_tables: bool = False) -> AgreementScores | None:
        """Return the scores of columns, which learn from the first pairs that they score."""
        if self.columns is None:
            return None
        known = None
        if two_tables and not self.index.both_ways:
            # The score of a new record must not depend on other new ones.
            self._without_labels(self.index.candidates())
            known = self._general.columns.weights if self._general is not None else None
        return AgreementScores(self.columns, self.index.space, known, two_tables)

    def effects(self, pairs: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what each kind of evidence adds to general scores of pairs of unique texts."""
        self._without_labels(pairs)
        texts = _spelt(pairs, self.index.texts, self.index.texts)
        cosines, meanings = self.index.similarities(pairs)[0], self.index.meanings(pairs)
        return self._general.effects(pairs, texts, cosines, meanings)

    def of_wanted(self, wanted: Wanted, left_out: np.ndarray, verbose: int) -> Scored:
        """Score candidate pairs, adding candidates for texts whose last ones are still wanted.

        Parameters
        ----------
        wanted : Wanted
            Which pairs to list.
        left_out : ndarray of int, shape (l, 2)
            Pairs to leave out.
        verbose : int
            Whether to show progress.
        """
        found = self.of_candidates(verbose)
        if self.probabilities is None:
            found.agreement = getattr(self._general, "columns", None)
        self._settle(found, wanted, found.pairs)
        # Pairs of groups need no more candidates, among which there are more and more chance pairs.
        if not (found.wanted.is_all or (wanted.is_estimated and found.columns_decide)):

            def ask(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                return self.of_more(pairs, found.prior, verbose)

            found.grow(self.index.others(), self.index.others, ask, left_out=left_out)
            self._settle_again(found, wanted)
        return found

    def _settle(self, found: Scored, wanted: Wanted, points: np.ndarray, **kinds: bool) -> None:
        """Note which pairs are wanted; estimate the lowest score if this is asked for."""
        found.wanted = wanted
        if wanted.is_estimated and self.name == "score":
            kinds |= {"by_column": self.columns is not None, "alone": found.columns_decide}
            one_table = not kinds.get("two_tables")
            differs: Any = None
            if self.columns is not None and one_table:
                differs = np.array([kind.startswith("differs") for kind in found.answers[1]], bool)

            def ask(pairs: np.ndarray) -> np.ndarray:
                return self.of_more(pairs, found.prior, 0)[0]

            found.expected = expected_precision(
                points, found.scores, differs=differs, ask=ask if one_table else None, **kinds
            )
            found.wanted = Wanted(found.expected.best_threshold, wanted.most)

    def _settle_again(self, found: Scored, wanted: Wanted) -> None:
        """Estimate the lowest score from all pairs, if far more than expected reach it."""
        before, lowest = found.expected, found.wanted.lowest
        if before is None:
            return
        n_pairs = np.count_nonzero((found.scores >= lowest) & (found.scores < 1))
        if n_pairs > FAR_MORE * before.at(lowest)["pairs"]:
            self._settle(found, wanted, found.pairs)
            # Below the first estimate, not all pairs are known.
            found.wanted = Wanted(max(lowest, found.wanted.lowest), wanted.most)

    def of_more(
        self, pairs: np.ndarray, prior: float | None, verbose: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score given pairs of unique texts, in the form of `Scored`."""
        if self.probabilities is None:
            with progress_bar(verbose, "DuplicateFinder") as progress:
                return self._without_labels(pairs, progress)
        with progress_bar(verbose, "DuplicateFinder") as progress:
            texts = as_texts(self.index.texts)
            scores = self.probabilities.of_more(pairs, texts, prior, progress, self._general_scores)
        return scores, _all_similar(pairs)

    def of_matches(
        self,
        texts: list[str],
        blocks: list[int] | None,
        k: int,
        wanted: Wanted,
        verbose: int,
        one_to_one: bool = False,
        by_column: bool = True,
        is_kept: bool = False,
    ) -> tuple[Scored, np.ndarray]:
        """Score non-empty texts against similar texts of the corpus.

        Candidates of a new text are its k nearest texts of the corpus and, if the index was fitted
        with ``beside``, the texts of the corpus that have it among their k nearest; see
        `AskedTexts.candidates`.

        Parameters
        ----------
        texts, blocks
            As in `CorpusIndex.asked`.
        k : int
            Initial number of candidates per text.
        wanted : Wanted
            Which pairs to list.
        verbose : int
            Whether to show progress.
        one_to_one : bool
            Whether each row has one partner at most: it is among the first candidates.
        by_column : bool
            Whether the texts are records, if those of the corpus are.
        is_kept : bool
            Whether the next call gets the same scores if it has the same texts.

        Returns
        -------
        found : Scored
            Pairs of a position in ``texts`` and the number of a unique text; copies are always
            included, with score 1. An estimated prior is that of the corpus, which requires all
            its candidates.
        kind : ndarray of object, shape (m,)
            As in `DuplicatePairs`.
        """
        if not self.index.texts or not texts:
            nothing = np.empty((0, 2), dtype=np.intp)
            empty = Scored(nothing, (np.empty(0), np.empty(0, bool)), wanted=wanted)
            return empty, np.empty(0, dtype=object)
        prior: Any = None
        if self.probabilities is not None:
            prior = self.probabilities.prior
            if prior == "estimate":
                prior = self.of_candidates(verbose).prior

        asked_for = texts, blocks, k, by_column
        key = len(self.index.texts), *asked_for
        known, self._matched = self._matched, None
        if known is None or known[0] != key:
            known = key, self._asked_scores(*asked_for, prior, verbose)
        if is_kept:
            self._matched = known
        asked, near, pairs, answers, ask, columns = known[1]
        found = Scored(pairs, answers, prior=prior)
        self._settle(found, wanted, pairs, two_tables=True, one_to_one=one_to_one)
        if not (found.wanted.is_all or one_to_one):
            nothing = np.empty((0, 2), dtype=np.intp)
            found.grow(near, asked.nearest, ask, left_out=nothing)
        found.pairs = found.pairs - [0, len(texts)]
        found.agreement = columns if self.probabilities is None else None
        return found, found.answers[1]

    def _asked_scores(
        self,
        texts: list[str],
        blocks: list[int] | None,
        k: int,
        by_column: bool,
        prior: float | None,
        verbose: int,
    ) -> tuple[Any, ...]:
        """Score the first candidates of texts.

        Returns the texts asked about, candidates of each, pairs, their answers, a function that
        answers further pairs, and the scores of columns. Unique texts are numbered after the texts.
        """
        asked = self.index.asked(texts, blocks)
        rarity = self._rarity
        near = asked.candidates(min(k, max(len(texts), len(self.index.texts))))
        copies = np.full((len(near), asked.copies.shape[1]), -1, dtype=np.intp)
        copies[: len(texts)] = np.where(asked.copies < 0, -1, asked.copies + len(texts))
        pairs = distinct_pairs(asked.points, np.concatenate([near, copies], axis=1))
        columns: AgreementScores | None = None
        known = pairs if self.index.both_ways else self.index.candidates()
        is_small = self.probabilities is not None and len(known) < FEWEST_IN_TABLE
        if by_column and rarity is not None and not is_small:
            columns = self._agreement(two_tables=True)
        general: GeneralScores | None = None

        def ask(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal general
            pairs = points - [0, len(texts)]
            spelt = _spelt(pairs, texts, self.index.texts)
            scores: Any = None
            kind = _all_similar(pairs)
            if self.probabilities is None or columns is not None:
                scores, same_vector = asked.similarities(pairs)
                if rarity is None:
                    kind = np.where(same_vector, "indistinct", kind)
                else:
                    if general is None:
                        one_sided = not self.index.both_ways
                        role = "" if columns else role_of_texts(self.index.texts)
                        of = {"one_sided": one_sided, "columns": columns, "role": role}
                        general = GeneralScores(rarity, points, scores, **of)
                    scores, kind = general.answers(points, spelt, scores, asked.meanings(pairs))
            if self.probabilities is not None:
                with progress_bar(verbose, "DuplicateFinder") as progress:
                    both = np.column_stack([as_texts(side) for side in spelt])
                    scores = self.probabilities.of_pairs(both, prior, progress, scores)
                kind = _all_similar(pairs)
            copies = asked.are_copies(pairs)
            return np.where(copies, 1.0, scores), np.where(copies, "copy", kind)

        return asked, near, pairs, ask(pairs), ask, columns


def _all_similar(pairs: np.ndarray) -> np.ndarray:
    return np.full(len(pairs), "similar", dtype=object)


def _spelt(pairs: np.ndarray, first: list[str], second: list[str]) -> tuple[list[str], list[str]]:
    return [first[i] for i in pairs[:, 0].tolist()], [second[i] for i in pairs[:, 1].tolist()]

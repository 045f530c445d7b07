"""Scores of similar pairs by a teacher model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

from estimators.encoders import as_transformer
from estimators.inputs import (
    as_texts,
    check_integer,
    check_pair_labels,
    check_pairs,
    check_seed,
    check_texts,
    check_verbose,
    cloned,
    encode_labels,
    finished_fits_only,
    progress_bar,
    showing_progress,
    splitter_of,
    tags_of_texts,
)
from estimators.persistence import savable
from estimators.training import CrossEncoderRegressor
from film.text import normalize_text


class FoldScores(NamedTuple):
    """Scores of one fold by a teacher fitted on the other folds."""

    pairs: np.ndarray
    scores: np.ndarray
    of_labelled: np.ndarray


@savable
@dataclass(eq=False, repr=False)
class PairTeacher(BaseEstimator):
    """Score pairs of similar texts with a teacher model, as extra training data.

    A model that reads both texts of a pair together predicts better than one that compares text
    vectors, but costs far more. Here it labels training data: the labelled pairs are split into
    question-disjoint folds; in each, texts are paired with their nearest neighbours in the same
    fold; and a model fitted on the other folds scores these pairs. So no teacher scores texts that
    it was fitted on. Pass the `PairTeacher` to `RCMDRegressor` as ``teacher`` to learn from labels
    and scores together: "Augmented SBERT" (Thakur et al., 2021).

    With a ``corpus`` of unlabelled texts, such as the collection that you want to search for
    duplicates, the similar pairs come from these texts instead. The student then learns about this
    collection, for example how dense it is.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier or regressor of pairs. None means
        ``CrossEncoderRegressor(objective="binary")``. It can also be one that learns few
        parameters, such as ``RCMDRegressor(folder, plan="avg", objective="binary")`` on a larger
        encoder, or a fitted one in scikit-learn's ``FrozenEstimator``, which must not have seen the
        pairs.
    embedder : estimator, object with ``encode`` or function, default=None
        Turns texts into vectors whose cosines define similar texts: `SentenceEncoder`, any other
        transformer of texts, or what `AnyEncoder` takes. None means TF-IDF. It is fitted on the
        texts of each fold alone.
    n_neighbors : int, default=3
        Number of nearest neighbours that each text is paired with.
    n_pairs : int, default=None
        Maximum number of similar pairs over all folds, drawn at random. None means all.
    cv : int or splitter, default=2
        Folds, as in `DisjointPairsKFold`; one teacher is fitted per fold. With a ``corpus`` there
        is a single teacher.
    corpus : array-like of str, default=None
        Texts whose similar pairs are scored by one teacher fitted on all labelled pairs. Texts in
        labelled pairs are left out, ignoring spelling variants.
    random_state : int, RandomState or None, default=None
        Seeds the folds and the draw of pairs; the estimator has its own.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    pairs_ : ndarray of str, shape (n_near, 2)
        Similar pairs, without labelled ones.
    scores_ : ndarray of float64, shape (n_near,)
        Probability that each is a duplicate, by a teacher that was fitted on neither text.
    folds_ : ndarray of int, shape (n_near,)
        Fold of each pair; 0 with a ``corpus``.
    out_of_fold_ : ndarray of float64, shape (n_pairs,), or None
        Out-of-fold probabilities of the labelled pairs, to measure the teacher. None with a
        ``corpus``, whose teacher is fitted on all of them.
    classes_ : ndarray of shape (2,)
        Labels.
    duplicate_class_ : label
        The label of duplicates.

    See Also
    --------
    RCMDRegressor : Learns from the scores.

    Notes
    -----
    Costs ``cv`` fits, each on all folds but one, and the scoring of labelled and similar pairs.
    Texts that differ only in spacing, case and punctuation count as one.

    Examples
    --------
    >>> from estimators import PairTeacher, RCMDRegressor
    >>> teacher = PairTeacher(n_pairs=20_000, random_state=0)
    >>> model = RCMDRegressor(objective="binary", epochs=3, teacher=teacher)
    >>> model.fit(pairs, is_duplicate)  # doctest: +SKIP
    """

    estimator: Any = None
    _: KW_ONLY
    embedder: Any = None
    n_neighbors: int = 3
    n_pairs: Any = None
    cv: Any = 2
    corpus: Any = None
    random_state: Any = None
    verbose: int = 0

    def fit(self, pairs: Any, y: Any) -> PairTeacher:
        """Fit one teacher per fold and score the similar pairs of that fold or of the corpus.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : array-like, shape (n_pairs,)
            Two labels.

        Returns
        -------
        self : PairTeacher
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, labels do not fit, a parameter is wrong, a fold lacks a label,
            or ``corpus`` has fewer than two texts outside labelled pairs.
        """
        estimator, embedder = self._checked()
        rows = check_pairs(pairs, encodable=True, fits=True)
        classes, duplicate, targets = encode_labels(check_pair_labels(y, len(rows)))
        seed = int(check_seed(self.random_state).randint(2**31 - 1))
        unlabelled = None if self.corpus is None else _unlabelled(self.corpus, rows)
        if unlabelled is None:
            folds = list(splitter_of(self.cv, seed).split(rows, targets))
        else:
            folds = [(np.arange(len(rows)), np.arange(0))]
        for train, _ in folds:
            if len(set(targets[train].tolist())) < 2:
                raise ValueError(
                    f"cv={self.cv!r} leaves a teacher pairs of one label only; give fewer folds, "
                    "or more pairs"
                )
        found: list[FoldScores] = []
        with progress_bar(self.verbose, "teacher", len(folds)) as show, finished_fits_only():
            for number, (train, test) in enumerate(folds):
                what = f"fold {number + 1} of {len(folds)}"
                if show is not None:
                    show(what, 0)
                texts = rows[test].ravel().tolist() if unlabelled is None else unlabelled
                near = self._near(embedder, texts, rows[test], number, len(folds), seed)
                learned = rows[train], targets[train]
                found.append(self._scored(estimator, *learned, rows[test], near))
                if show is not None:
                    show(what)
        self.out_of_fold_ = None
        if unlabelled is None:
            self.out_of_fold_ = np.empty(len(rows))
            for (_, test), fold in zip(folds, found, strict=True):
                self.out_of_fold_[test] = fold.of_labelled
        self.pairs_ = np.concatenate([fold.pairs for fold in found])
        self.scores_ = np.concatenate([fold.scores for fold in found])
        self.folds_ = np.repeat(np.arange(len(found)), [len(fold.pairs) for fold in found])
        self.classes_, self.duplicate_class_ = classes, duplicate
        return self

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__(), needs_y=True)

    def _checked(self) -> tuple[Any, Any]:
        """Return unfitted copies of estimator and embedder, or raise if a parameter is wrong."""
        estimator = self.estimator
        if estimator is None:
            estimator = CrossEncoderRegressor(objective="binary")
        if not hasattr(estimator, "fit") or not (
            is_classifier(estimator) or is_regressor(estimator)
        ):
            raise TypeError(
                f"estimator={estimator!r} must be a classifier or regressor of pairs, or None"
            )
        embedder = _tf_idf() if self.embedder is None else as_transformer(self.embedder)
        if not (hasattr(embedder, "fit") and hasattr(embedder, "transform")):
            raise TypeError(
                f"embedder={embedder!r} must turn texts into vectors, with fit and transform, "
                "or be None"
            )
        check_integer("n_neighbors", self.n_neighbors, 1)
        if self.n_pairs is not None:
            check_integer("n_pairs", self.n_pairs, 1)
        splitter_of(self.cv, 0)
        check_verbose(self.verbose)
        check_seed(self.random_state)
        return cloned("estimator", estimator), cloned("embedder", embedder)

    def _near(
        self, embedder: Any, texts: list[str], known: np.ndarray, number: int, n_folds: int,
        seed: int,
    ) -> np.ndarray:  # fmt: skip
        """Return the similar pairs of a fold to score, without known pairs."""
        near = _near(clone(embedder), texts, known, self.n_neighbors)
        if self.n_pairs is not None:
            room = self.n_pairs // n_folds + (number < self.n_pairs % n_folds)
            rng = np.random.default_rng([seed, number])
            near = near[np.sort(rng.permutation(len(near))[:room])]
        return near

    def _scored(
        self, estimator: Any, pairs: np.ndarray, targets: np.ndarray, held: np.ndarray,
        near: np.ndarray,
    ) -> FoldScores:  # fmt: skip
        """Fit the teacher of a fold and score pairs that it has not seen."""
        teacher: Any = clone(estimator)
        with showing_progress(teacher, self.verbose):
            teacher.fit(pairs, targets)
            verdicts = _verdicts(teacher, np.concatenate([held, near]))
        return FoldScores(near, verdicts[len(held) :], verdicts[: len(held)])


def _unlabelled(corpus: Any, pairs: np.ndarray) -> list[str]:
    """Return corpus texts that are in no labelled pair, one per spelling variant."""
    labelled = {normalize_text(text) for text in pairs.ravel().tolist()}
    spelt = _one_spelling(check_texts(corpus, "corpus", encodable=True))
    found = [text for reading, text in spelt.items() if reading not in labelled]
    if len(found) < 2:
        raise ValueError(
            f"corpus has {len(found)} texts that no labelled pair holds; give unlabelled texts "
            "to score, or corpus=None to pair those of the labelled pairs"
        )
    return found


def _tf_idf() -> Any:
    return TfidfVectorizer(preprocessor=normalize_text, token_pattern=r"\S+", sublinear_tf=True)


def _one_spelling(texts: list[str]) -> dict[str, str]:
    """Return the first spelling of each text that has words, by its normalised form."""
    spelt: dict[str, str] = {}
    for text in texts:
        spelt.setdefault(normalize_text(text), text)
    spelt.pop("", None)
    return spelt


def _near(embedder: Any, texts: list[str], pairs: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Return pairs of similar texts, shape (n, 2), without known pairs."""
    spelt = _one_spelling(texts)
    readings, each = list(spelt), as_texts(list(spelt.values()))
    if len(each) < 2:
        return np.empty((0, 2), dtype=object)
    partners: dict[str, set[str]] = {}
    for text1, text2 in pairs.tolist():
        one, other = normalize_text(text1), normalize_text(text2)
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    # So many that enough are left without the known ones.
    k = min(len(each) - 1, n_neighbors + max(map(len, partners.values()), default=0))
    search = NearestNeighbors(n_neighbors=k, metric="cosine")
    distances, places = search.fit(embedder.fit(each, None).transform(each)).kneighbors()
    near = set()
    for i, row in enumerate(places.tolist()):
        known = partners.get(readings[i], ())
        # Texts without anything in common have a distance of 1.
        new = [
            j for j, d in zip(row, distances[i], strict=True) if d < 1 and readings[j] not in known
        ]
        near |= {(min(i, j), max(i, j)) for j in new[:n_neighbors]}
    return each[np.array(sorted(near), dtype=np.intp).reshape(-1, 2)]


def _verdicts(teacher: Any, pairs: np.ndarray) -> np.ndarray:
    if is_classifier(teacher):
        found = teacher.predict_proba(pairs)[:, 1]
    else:
        found = np.clip(teacher.predict(pairs), 0, 1)
    found = np.asarray(found, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("estimator returns scores that are not finite")
    return found

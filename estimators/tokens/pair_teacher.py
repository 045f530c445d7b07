"""Scores of similar pairs by a teacher model."""

from __future__ import annotations

import hashlib
import json
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator

from estimators.encoders import as_transformer
from estimators.inputs import (
    as_texts,
    check_folder,
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
from film.corpus import near_pairs
from film.datasets import atomic_writer
from film.text import normalize_text

FORMAT = 1
PLACES = ("cache", "checkpoint", "device", "memory", "n_jobs", "verbose")
"""Parameters that do not affect a teacher's scores."""


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
    checkpoint : str or path-like, default=None
        Folder for the scores of each fold. If `fit` is interrupted, also by Ctrl-C, call it again
        to resume with the finished folds. An ``estimator`` with such a parameter keeps its training
        there too.
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
    checkpoint: Any = None
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
            ``corpus`` has fewer than two texts outside labelled pairs, or ``checkpoint`` belongs to
            other pairs or settings.
        """
        estimator, embedder = self._checked()
        rows = check_pairs(pairs, encodable=True, fits=True)
        classes, duplicate, targets = encode_labels(check_pair_labels(y, len(rows)))
        store = None if self.checkpoint is None else Path(self.checkpoint)
        seed = _seed(self.random_state, store)
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
        of_corpus = [] if unlabelled is None else [unlabelled]
        digest = ""
        if store is not None:
            digest = _digest(rows, targets, estimator, embedder, self._settings(), *of_corpus)
        found: list[FoldScores] = []
        with progress_bar(self.verbose, "teacher", len(folds)) as show, finished_fits_only():
            for number, (train, test) in enumerate(folds):
                kept = None if store is None else _read(store, number, digest, seed)
                what = f"fold {number + 1} of {len(folds)}"
                if kept is None:
                    if show is not None:
                        show(what, 0)
                    texts = rows[test].ravel().tolist() if unlabelled is None else unlabelled
                    near = self._near(embedder, texts, rows[test], number, len(folds), seed)
                    learned = rows[train], targets[train]
                    kept = self._scored(estimator, *learned, rows[test], near, number)
                    if store is not None:
                        _write(store, number, digest, seed, kept)
                found.append(kept)
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
        check_folder("checkpoint", self.checkpoint)
        check_verbose(self.verbose)
        check_seed(self.random_state)
        return cloned("estimator", estimator), cloned("embedder", embedder)

    def _settings(self) -> dict[str, Any]:
        return {name: repr(getattr(self, name)) for name in ("n_neighbors", "n_pairs", "cv")}

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
        near: np.ndarray, number: int,
    ) -> FoldScores:  # fmt: skip
        """Fit the teacher of a fold and score pairs that it has not seen."""
        teacher: Any = clone(estimator)
        if self.checkpoint is not None and teacher.get_params().get("checkpoint", "") is None:
            teacher.set_params(checkpoint=Path(self.checkpoint) / f"run-{number}")
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
    number = {reading: place for place, reading in enumerate(spelt)}
    each = as_texts(list(spelt.values()))
    if len(each) < 2:
        return np.empty((0, 2), dtype=object)
    known = [[number.get(normalize_text(text), -1) for text in pair] for pair in pairs.tolist()]
    known = np.array([pair for pair in known if min(pair) >= 0], dtype=np.intp).reshape(-1, 2)
    return each[near_pairs(embedder.fit(each, None).transform(each), n_neighbors, known)[0]]


def _verdicts(teacher: Any, pairs: np.ndarray) -> np.ndarray:
    if is_classifier(teacher):
        found = teacher.predict_proba(pairs)[:, 1]
    else:
        found = np.clip(teacher.predict(pairs), 0, 1)
    found = np.asarray(found, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("estimator returns scores that are not finite")
    return found


def _seed(random_state: Any, store: Path | None) -> int:
    """Return the seed of a run; if None is set, that of the run in the folder."""
    if random_state is None and store is not None:
        for path in sorted(store.glob("fold-*.json")):
            return int(json.loads(path.read_text(encoding="utf-8"))["seed"])
    return int(check_seed(random_state).randint(2**31 - 1))


def _digest(rows: np.ndarray, targets: np.ndarray, *what: Any) -> str:
    digest = hashlib.blake2b(repr(rows.tolist()).encode(), digest_size=16)
    digest.update(targets.tobytes())
    for each in what:
        if hasattr(each, "get_params"):
            params = each.get_params(deep=True)
            said = {k: _told(v) for k, v in params.items() if k.split("__")[-1] not in PLACES}
            parts = (each, *params.values())
            frozen = [_learned(v.estimator) for v in parts if isinstance(v, FrozenEstimator)]
            each = type(each).__name__, sorted(said.items()), *frozen
        digest.update(repr(each).encode())
    return digest.hexdigest()


def _learned(estimator: Any) -> str:
    """Describe the fitted state of an estimator and its parts, which parameters do not show."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    parts = [part for part in parts if hasattr(part, "get_params")]
    states: list[dict[str, Any]] = [part.__getstate__() or {} for part in parts]
    given = [part.get_params(deep=False) for part in parts]
    learned = [{k: own[k] for k in own if k not in p} for own, p in zip(states, given, strict=True)]
    return str(joblib.hash(learned))


def _told(value: Any) -> str:
    """Describe a parameter so that every process gives the same description."""
    if hasattr(value, "get_params"):
        return type(value).__name__  # its parameters are listed separately
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_told, value))}]"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def _read(store: Path, number: int, digest: str, seed: int) -> FoldScores | None:
    path = store / f"fold-{number}.json"
    if not path.is_file():
        return None
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        is_own = (said["format"], said["digest"], said["seed"]) == (FORMAT, digest, seed)
        pairs = np.empty((len(said["pairs"]), 2), dtype=object)
        pairs[:] = np.array(said["pairs"], dtype=object).reshape(-1, 2)
        fold = FoldScores(
            pairs, np.array(said["scores"], float), np.array(said["of_labelled"], float)
        )
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"checkpoint: {path} is damaged ({error!r}); delete it") from error
    if not is_own:
        raise ValueError(
            f"checkpoint={str(store)!r} belongs to other pairs, labels or settings; use another "
            "folder, or delete this one to start again"
        )
    return fold


def _write(store: Path, number: int, digest: str, seed: int, fold: FoldScores) -> None:
    store.mkdir(parents=True, exist_ok=True)
    said = {"format": FORMAT, "digest": digest, "seed": seed}
    said |= {name: values.tolist() for name, values in fold._asdict().items()}
    with atomic_writer(store / f"fold-{number}.json", "w") as handle:
        handle.write(json.dumps(said))

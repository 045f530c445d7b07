"""Fit and apply transformers on blocks of rows on disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from estimators.inputs.parameters import progress_bar
from estimators.inputs.texts import as_texts
from film.corpus import RowBlocks, map_blocks, sum_blocks


def fit_vectorizer(
    vectorizer: TfidfVectorizer,
    texts: RowBlocks,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> TfidfVectorizer:
    """Fit a TF-IDF vectorizer to texts in blocks on disk.

    Parameters
    ----------
    vectorizer : TfidfVectorizer
        With any parameters. The fitted vocabulary and weights equal those of `fit` on all texts
        at once.
    texts : RowBlocks
        Blocks of texts.
    n_jobs : int, default=None
        Number of processes, as in joblib; None takes that of `joblib.parallel_config`, else 1.
    verbose : int, default=0
        If above 0, show a progress bar.

    Returns
    -------
    vectorizer : TfidfVectorizer
        The same object, fitted.

    Raises
    ------
    TypeError, ValueError
        If it is not a TF-IDF vectorizer, the blocks hold no texts, or no term is left.

    Notes
    -----
    Memory: the counts of all distinct terms, before ``min_df`` drops any.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from estimators import fit_vectorizer
    >>> from film.corpus import write_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     texts = write_blocks(folder, [["tea or coffee"], ["more tea"]])
    ...     fit_vectorizer(TfidfVectorizer(), texts).get_feature_names_out().tolist()
    ['coffee', 'more', 'or', 'tea']
    """
    if not isinstance(vectorizer, TfidfVectorizer):
        raise TypeError(
            f"vectorizer={vectorizer!r} must be a TfidfVectorizer; any other transformer is fitted "
            "on a sample of the rows, texts.rows(...), or needs no fitting"
        )
    if not texts.has_texts:
        raise TypeError(f"texts holds blocks of {texts.dtype}, not of texts; give blocks of texts")
    with progress_bar(verbose, "vocabulary") as progress:

        def counted(once: bool) -> Counter[str]:
            work = partial(_term_counts, vectorizer.build_analyzer(), once)
            return sum_blocks(work, texts, n_jobs=n_jobs, progress=progress)

        n_texts_with = counted(True)
        given = vectorizer.vocabulary
        if given is None:
            limited = vectorizer.max_features is not None and not vectorizer.binary
            n_times = counted(False) if limited else n_texts_with
            vectorizer.vocabulary = _kept_terms(vectorizer, n_texts_with, n_times, texts.shape[0])
    try:
        # The terms are known now, so one text is enough to set everything except the weights.
        with np.errstate(divide="ignore"):
            vectorizer.fit(texts.rows([0]))
    finally:
        vectorizer.vocabulary = given
    if vectorizer.use_idf:
        vectorizer.idf_ = _idf(vectorizer, n_texts_with, texts.shape[0])
    return vectorizer


def transform_blocks(
    transformer: Any,
    blocks: RowBlocks,
    folder: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> RowBlocks:
    """Transform blocks of rows on disk into new blocks on disk.

    An interrupted call keeps its finished blocks; the next call continues from there.

    Parameters
    ----------
    transformer : fitted transformer or callable
        Maps texts or rows of a block to as many rows, sparse or dense: a vectorizer, an encoder,
        `FILM`, or a pipeline of them. It must be picklable, and each result row must depend on its
        input row only.
    blocks : RowBlocks
        Input rows.
    folder : path
        Folder for the results; created if missing, otherwise empty or with blocks of the same
        call.
    n_jobs, verbose
        As in `fit_vectorizer`.

    Returns
    -------
    blocks : RowBlocks
        The results, divided into the same blocks.

    Raises
    ------
    FileExistsError, BlockingIOError, OSError
        As in `film.corpus.write_blocks`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from estimators import transform_blocks
    >>> from film.corpus import write_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = write_blocks(f"{folder}/x", [np.eye(2), np.ones((1, 2))])
    ...     transform_blocks(np.negative, X, f"{folder}/y").block(1)
    array([[-1., -1.]])
    """
    making = {
        "stage": "transform",
        "transformer": getattr(transformer, "__name__", type(transformer).__name__),
        "state": joblib.hash(transformer),
    }
    with progress_bar(verbose, "transform", blocks.n_blocks) as progress:
        work = partial(_transformed, transformer)
        return map_blocks(work, blocks, folder, made_by=making, n_jobs=n_jobs, progress=progress)


def _transformed(transformer: Any, rows: Any, start: int) -> Any:
    transform = getattr(transformer, "transform", transformer)
    found = transform(as_texts(rows) if isinstance(rows, list) else rows)
    return found if sp.issparse(found) else np.asarray(found)


def _term_counts(
    analyze: Callable[[str], list[str]], once: bool, texts: list[str], start: int
) -> Counter[str]:
    """Count the texts that contain each term, or all its occurrences."""
    counts: Counter[str] = Counter()
    for text in texts:
        terms = analyze(text)
        counts.update(set(terms) if once else terms)
    return counts


def _idf(vectorizer: TfidfVectorizer, n_texts_with: Counter[str], n_texts: int) -> np.ndarray:
    names = vectorizer.get_feature_names_out()
    frequency = np.array([n_texts_with[term] for term in names], dtype=np.float64)
    idf = np.log((n_texts + vectorizer.smooth_idf) / (frequency + vectorizer.smooth_idf)) + 1
    is_float = np.dtype(vectorizer.dtype) in (np.float32, np.float64)
    return idf.astype(vectorizer.dtype if is_float else np.float64)


def _kept_terms(
    vectorizer: TfidfVectorizer, n_texts_with: Counter[str], n_times: Counter[str], n_texts: int
) -> list[str]:
    """Return the terms that `CountVectorizer` would keep, in its order."""
    terms = sorted(n_texts_with)
    frequency = np.array([n_texts_with[term] for term in terms], dtype=np.int64)
    low, high = (
        bound if isinstance(bound, Integral) else bound * n_texts
        for bound in (vectorizer.min_df, vectorizer.max_df)
    )
    if high < low:
        raise ValueError(
            f"max_df={vectorizer.max_df!r} is {high} texts, fewer than the {low} of "
            f"min_df={vectorizer.min_df!r}; raise max_df or lower min_df"
        )
    kept = np.flatnonzero((frequency >= low) & (frequency <= high))
    if vectorizer.max_features is not None and len(kept) > vectorizer.max_features:
        times = np.array([n_times[terms[place]] for place in kept])
        kept = np.sort(kept[(-times).argsort()[: vectorizer.max_features]])
    if not len(kept):
        raise ValueError(
            f"none of the {len(terms)} terms in the texts is left; lower min_df, raise max_df, or "
            "check the texts"
        )
    return [terms[place] for place in kept]

"""Duplicate classifiers with chosen members: for many labels, and for a few hundred."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from estimators.inputs import as_texts, check_integer, check_pairs
from estimators.metric import FILM
from estimators.pairs.duplicate_classifier import DuplicateClassifier
from estimators.pairs.lexical import LexicalFeatures
from estimators.pairs.record_features import RecordFeatures
from estimators.pairs.stack.final_model import few_label_trees
from estimators.pairs.word_differences import WordDifferences
from film.text import normalize_text, token_text


def fast_duplicates(
    *,
    d: int = 100,
    rank: int = 300,
    neighbourhood: int | str | None = "auto",
    random_state: int = 0,
    **params: Any,
) -> DuplicateClassifier:
    """Make a classifier from FILM, word differences and lexical features.

    Parameters
    ----------
    d, rank : int
        Parameters of `FILM` on the TF-IDF of words; ``d`` is at most ``rank``.
    neighbourhood : int, "auto" or None, default="auto"
        As in `DuplicateClassifier`. It helps most in collection mode, and not with few labels.
    random_state : int, default=0
        Seed.
    **params : dict
        Further parameters of `DuplicateClassifier`, such as ``corpus``, ``prior``, ``cv``,
        ``memory``, ``verbose``.

    Returns
    -------
    classifier : DuplicateClassifier
        Not fitted yet. Its members are "film" and "words".

    Examples
    --------
    >>> from estimators import fast_duplicates
    >>> [name for name, _ in fast_duplicates(prior=0.17).members]
    ['film', 'words']
    """
    rank, d = check_integer("rank", rank, 1), check_integer("d", d, 1)
    single: Any = np.float32
    vectorizer = TfidfVectorizer(
        preprocessor=token_text, token_pattern=r"\S+", sublinear_tf=True, dtype=single
    )
    metric = FILM(d=min(d, rank), rank=rank, tol=0.03, random_state=random_state)
    film = Pipeline([("tfidf", vectorizer), ("film", metric)])
    words = make_pipeline(WordDifferences(), LogisticRegression(C=0.1, solver="liblinear"))
    return DuplicateClassifier(
        [("film", film), ("words", words)],
        neighbourhood=neighbourhood,
        random_state=random_state,
        **params,
    )


def record_duplicates(
    *, kinds: dict[str, str] | None = None, random_state: int = 0, **params: Any
) -> DuplicateClassifier:
    """Make a classifier of pairs of records, which have several columns.

    Parameters
    ----------
    kinds : dict of str to str, default=None
        Kind of some columns, as in `RecordFeatures`; others are recognised.
    random_state : int, default=0
        Seed.
    **params : dict
        Further parameters of `DuplicateClassifier`, such as ``prior``, ``cv``, ``verbose``.

    Returns
    -------
    classifier : DuplicateClassifier
        Not fitted yet. It has no members: the default final model learns from
        `RecordFeatures`. It takes `RecordPairs`, or a frame with the columns of both records
        (`estimators.inputs.record_pairs`).

    See Also
    --------
    fast_duplicates : For pairs of texts.

    Examples
    --------
    >>> import pandas as pd
    >>> from estimators import record_duplicates
    >>> frame = pd.DataFrame({"name_l": ["Ann Lee", "Bo Li", "Cy Ho", "Di Ma"] * 5,
    ...     "age_l": [31, 40, 22, 57] * 5, "age_r": [31, 40, 60, 18] * 5,
    ...     "name_r": ["Lee, Ann", "B. Li", "Flo Po", "Gus Ito"] * 5})
    >>> model = record_duplicates(cv=2).fit(frame, [1, 1, 0, 0] * 5)
    >>> model.columns_
    ('name', 'age')
    >>> model.predict(frame[:4])
    array([1, 1, 0, 0])
    """
    return DuplicateClassifier(
        [], features=RecordFeatures(kinds), random_state=random_state, **params
    )


def few_label_duplicates(
    pairs: Any, *, rank: int = 300, random_state: int = 0, **params: Any
) -> DuplicateClassifier:
    """Make a classifier for few labels, which also learns from unlabelled pairs.

    The rarity of words and a latent semantic space are fitted here, on all pairs, and do not change
    later. The labels train only extremely randomised trees (Geurts, Ernst and Wehenkel, *Extremely
    randomized trees*, 2006), because a metric or word weights learned from 200 labels make
    predictions worse. Labels of pairs from `suggest_pairs` need no weights, because these pairs
    represent all pairs.

    Parameters
    ----------
    pairs : array-like of str, shape (n_pairs, 2)
        Pairs without labels, including the pairs to be labelled.
    rank : int, default=300
        Dimensions of the latent semantic space, at most one less than there are words.
    random_state : int, default=0
        Seeds everything.
    **params : dict
        Further parameters of `DuplicateClassifier`, such as ``corpus``, ``prior``, ``cv``.

    Returns
    -------
    classifier : DuplicateClassifier
        Not fitted to labels yet. Its member is "latent".

    Raises
    ------
    TypeError, ValueError
        If a text is missing, there are fewer than two words, or ``rank`` is not a positive integer.

    See Also
    --------
    suggest_pairs : Which pairs to label.
    fast_duplicates : Better from about 2,000 labels on.

    Notes
    -----
    Costs `LexicalFeatures` on all pairs and one truncated SVD of their texts; a fit to 200 labels
    takes about a second.

    Examples
    --------
    >>> from estimators.pairs import few_label_duplicates
    >>> from film.datasets import make_question_pairs
    >>> data = make_question_pairs(400, random_state=0)
    >>> model = few_label_duplicates(data.pairs, rank=50).fit(data.pairs[:60], data.y[:60])
    >>> model.predict_proba(data.pairs[60:]).shape
    (340, 2)
    """
    pairs = check_pairs(pairs)
    rank = check_integer("rank", rank, 1)
    texts = as_texts(sorted({normalize_text(text) for text in pairs.ravel()}))
    single: Any = np.float32
    vectorizer = TfidfVectorizer(
        preprocessor=normalize_text,
        token_pattern=r"\w+",
        sublinear_tf=True,
        min_df=2 if len(texts) > 1000 else 1,
        dtype=single,
    )
    n_words = len(vectorizer.fit(texts).vocabulary_)
    if n_words < 2:
        raise ValueError(f"pairs hold {n_words} word(s); give texts of at least two words")
    svd = TruncatedSVD(min(rank, n_words - 1), random_state=random_state)
    latent = Pipeline([("tfidf", vectorizer), ("svd", svd)]).fit(texts)
    # The fit of a frozen estimator requires y, and a pipeline passes one, even None.
    lexical = Pipeline([("lexical", FrozenEstimator(LexicalFeatures().fit(pairs)))])
    return DuplicateClassifier(
        [("latent", FrozenEstimator(latent))],
        few_label_trees(random_state),
        features=lexical,
        random_state=random_state,
        **params,
    )

"""The accurate duplicate classifier: every method of this package, each where it is worth it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from estimators.encoders import DTYPES, NO_ENCODER, SentenceEncoder
from estimators.inputs import check_choice, check_integer, check_real
from estimators.metric import FILM
from estimators.pairs.duplicate_classifier import DuplicateClassifier
from estimators.pairs.word_differences import WordDifferences
from estimators.tokens import RCMDRegressor
from film.text import token_text

LIGHT = ("film", "characters", "words")
"""Members that need no encoder, for `DuplicateClassifier.pruned`."""


def accurate_duplicates(
    *,
    encoder: Any = None,
    epochs: float = 1,
    d: int = 100,
    rank: int = 300,
    neighbourhood: int | str | None = "auto",
    max_length: int = 128,
    device: Any = None,
    dtype: Any = None,
    cache: Any = None,
    random_state: int = 0,
    **params: Any,
) -> DuplicateClassifier:
    """Make the classifier that judges best, at the price of training a transformers model.

    Parameters
    ----------
    encoder : str or path-like, default=None
        Name on the Hugging Face hub, or local folder, of the transformers model that members stand
        on; None is the packaged all-MiniLM-L6-v2, which saw Quora's duplicates in its training.
        "none" is no encoder: the members are those of words and characters alone, and ``epochs``
        and those below that are of the encoder have no effect.
    epochs : float, default=1
        Passes of training of the member "rcmd" over the pairs, by question-disjoint halves and then
        whole: ``2 * epochs`` passes in all. 0 leaves that member out, and nothing trains on a GPU.
    d, rank : int
        Of `FILM` on the TF-IDF of words and of characters; ``d`` is at most ``rank``.
    neighbourhood : int, "auto" or None, default="auto"
        As in `DuplicateClassifier`.
    max_length : int, default=128
        Most tokens of a text that the encoder reads, at most as many as it takes; in training it
        reads 32.
    device : str, default=None
        Of the encoder: "cpu", "cuda"; None chooses.
    dtype : {"float32", "float16", "bfloat16"}, default=None
        Precision inside the encoder, of members that it is trained for too. "bfloat16" is faster
        where the processor or GPU has instructions for it, for about the same judgement. None is
        float32.
    cache : path-like, default=None
        Folder of your own for encodings of texts, which another fit or prediction reads again.
    random_state : int, default=0
        Seeds everything.
    **params : dict
        Further parameters of `DuplicateClassifier`, such as ``corpus``, ``prior``, ``memory``,
        ``verbose``.

    Returns
    -------
    classifier : DuplicateClassifier
        Not fitted yet. Its members are

        - "film": `FILM` on the TF-IDF of words, "characters": on that of character n-grams,
        - "words": `WordDifferences`,
        - "cosine": plain cosine of the encoder's sentence vectors,
        - "rcmd": `RCMDRegressor` trained on the labels, with two folds of its own.

    Raises
    ------
    TypeError, ValueError
        If ``encoder`` is no name or path, ``epochs`` no number from 0 on, ``d``, ``rank`` or
        ``max_length`` no number from 1 on, or ``dtype`` none of those.

    See Also
    --------
    fast_duplicates : Some minutes, and no encoder.
    DuplicateClassifier.pruned : Of the fitted classifier, ``pruned(["film", "characters",
        "words"])`` judges 10,000 pairs in seconds.

    Notes
    -----
    Further members, such as `FILM` on the encoder's vectors, untrained token matching or untrained
    RCMD, add nothing in question-disjoint folds of Quora's training pairs. Give ``memory``: a
    fit that was interrupted goes on from the last finished fold, and within the training of
    "rcmd" from the last fifty steps.

    Examples
    --------
    >>> from estimators import accurate_duplicates
    >>> [name for name, _ in accurate_duplicates(encoder="none").members]
    ['film', 'characters', 'words']
    >>> [name for name, _ in accurate_duplicates().members][3:]
    ['cosine', 'rcmd']
    """
    check_real("epochs", epochs, 0)
    for name, value in (("d", d), ("rank", rank), ("max_length", max_length)):
        check_integer(name, value, 1)
    if dtype is not None:
        check_choice("dtype", dtype, DTYPES)
    if encoder is not None and not isinstance(encoder, (str, os.PathLike)):
        raise TypeError(
            f"encoder={encoder!r} must be the name of a model on the Hugging Face hub or a local "
            f"folder, {NO_ENCODER!r} for none, or None for the packaged all-MiniLM-L6-v2"
        )
    none = isinstance(encoder, str) and encoder == NO_ENCODER
    members = _without_encoder(min(d, rank), rank, random_state)
    folds: dict[str, int] = {}
    if not none:
        reads: dict[str, Any] = {"max_length": max_length, "device": device, "dtype": dtype}
        members.append(("cosine", SentenceEncoder(encoder, cache=cache, **reads)))
    if epochs and not none:
        trained = RCMDRegressor(
            encoder,
            objective="binary",
            epochs=epochs,
            learning_rate=2e-4,
            eval_steps=50,
            random_state=random_state,
            **reads,
        )
        members.append(("rcmd", trained))
        folds["rcmd"] = 2
    return DuplicateClassifier(
        members,
        neighbourhood=neighbourhood,
        random_state=random_state,
        **{"member_cv": folds or None, **params},
    )


def _without_encoder(d: int, rank: int, random_state: int) -> list[tuple[str, Any]]:
    single: Any = np.float32
    words = TfidfVectorizer(
        preprocessor=token_text, token_pattern=r"\S+", sublinear_tf=True, dtype=single
    )
    characters = TfidfVectorizer(
        preprocessor=token_text,
        analyzer="char_wb",
        ngram_range=(2, 4),
        min_df=2,
        sublinear_tf=True,
        dtype=single,
    )

    def metric() -> FILM:
        return FILM(d=d, rank=rank, tol=0.03, random_state=random_state)

    differences = make_pipeline(WordDifferences(), LogisticRegression(C=0.1, solver="liblinear"))
    return [
        ("film", Pipeline([("tfidf", words), ("film", metric())])),
        ("characters", Pipeline([("tfidf", characters), ("film", metric())])),
        ("words", differences),
    ]

"""The accurate duplicate classifier, which combines all methods of this package that help."""

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
    """Make the most accurate classifier, which trains a transformers model.

    Parameters
    ----------
    encoder : str or path-like, default=None
        Name on the Hugging Face hub, or local folder, of the members' transformers model; None is
        the packaged all-MiniLM-L6-v2, which was trained on Quora's duplicates. "none": no encoder,
        only the members on words and characters; ``epochs`` and the parameters of the encoder have
        no effect.
    epochs : float, default=1
        Passes over the pairs to train the member "rcmd", first on question-disjoint halves and then
        on all pairs: ``2 * epochs`` passes in total. 0 leaves this member out; then nothing trains
        on a GPU.
    d, rank : int
        Parameters of `FILM` on the TF-IDF of words and of characters; ``d`` is at most ``rank``.
    neighbourhood : int, "auto" or None, default="auto"
        As in `DuplicateClassifier`.
    max_length : int, default=128
        Maximum number of tokens that the encoder reads of a text, up to the encoder's own limit; in
        training it reads 32.
    device : str, default=None
        Device of the encoder: "cpu", "cuda"; None chooses.
    dtype : {"float32", "float16", "bfloat16"}, default=None
        Precision inside the encoder, also in training. "bfloat16" is faster if the processor or GPU
        has instructions for it, and about as accurate. None is float32.
    cache : path-like, default=None
        Folder to cache encodings of texts for later fits and predictions, to be used by nothing
        else.
    random_state : int, default=0
        Seed.
    **params : dict
        Further parameters of `DuplicateClassifier`, such as ``corpus``, ``prior``, ``memory``,
        ``verbose``.

    Returns
    -------
    classifier : DuplicateClassifier
        Not fitted yet. Its members are

        - "film": `FILM` on the TF-IDF of words,
        - "characters": `FILM` on the TF-IDF of character n-grams,
        - "words": `WordDifferences`,
        - "cosine": plain cosine of the encoder's sentence vectors,
        - "rcmd": `RCMDRegressor` trained on the labels, with only two folds.

    Raises
    ------
    TypeError, ValueError
        If ``encoder`` is not a name or path, ``epochs`` is below 0, ``d``, ``rank`` or
        ``max_length`` is below 1, or ``dtype`` is unknown.

    See Also
    --------
    fast_duplicates : Takes some minutes and needs no encoder.
    DuplicateClassifier.pruned : After the fit, ``pruned(["film", "characters", "words"])`` scores
        10,000 pairs in seconds.

    Notes
    -----
    Pass ``memory``: an interrupted fit then continues after the last finished fold, and the
    training of "rcmd" continues from the last fifty steps.

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

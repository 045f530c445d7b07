"""Scores for pairs of sentences of any corpus: the labels that a surrogate learns from."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from estimators.contexts.harvesting.pair_choice import FARTHEST, SPLITS, PairChoice
from estimators.contexts.harvesting.score_file import (
    HarvestedPairs,
    ScoreFile,
    read_harvest,
    read_note,
)
from estimators.contexts.origin.pair_terms import has_words, shared_copy
from estimators.inputs import (
    as_texts,
    check_integer,
    check_real,
    check_seed,
    check_texts,
    check_verbose,
)
from film.contexts import nearest_rows
from film.text import normalize_text, text_hash

_LEAST = 4
"""Sentences that a harvest needs: those of one group."""
_ENCODED_AT_ONCE = 1000
_TOLERANCE = 1e-3
"""Scores of one pair by one model differ by less, whatever computes them."""


class Harvest(NamedTuple):
    """Result of a call of `harvest`.

    Attributes
    ----------
    n_pairs : int
        Pairs in the file.
    n_new : int
        Pairs that this call has scored.
    stopped : {"done", "time", "no more pairs"}
        Why it ended.
    """

    n_pairs: int
    n_new: int
    stopped: str


def harvest(
    model: Any,
    sentences: Any,
    path: str | os.PathLike[str],
    *,
    n_pairs: int,
    seconds: float | None = None,
    near: float = 0.5,
    encoder: Any = "model",
    exclude: Collection[str] = (),
    random_state: Any = None,
    verbose: int = 0,
) -> Harvest:
    """Score pairs of sentences across the whole range of similarity, into a file.

    Random pairs alone are all far apart, and would teach a constant. So half of the pairs are of
    neighbours at several distances.

    Parameters
    ----------
    model : ContextRegressor
        Fitted, or any other regressor of pairs with a ``similarity``.
    sentences : array-like of str
        Sentences to pair. Those that read alike count once; those without words are left out.
    path : str or path-like
        CSV file with the columns text1, text2, score and split; a JSON file of that name and
        ".json" is written too. A file that an earlier call began is continued: a run that was
        stopped, by a full disk or otherwise, ends with the same rows as one that was not (on one
        machine).
    n_pairs : int
        Pairs wanted in the file; later calls may want more.
    seconds : float, default=None
        Time after which no further chunk of some 300 pairs is begun. None: no limit.
    near : float, default=0.5
        Share of the pairs that are neighbours, from 0 to 1; the others are random.
    encoder : "model", transformer or None, default="model"
        What gives vectors of sentences, whose neighbours by cosine take turns with those by TF-IDF
        of words and pairs of words. "model": the scores of the discriminator of a
        `ContextRegressor` in its model's fixed contexts; with any other model as None. A
        transformer: fitted, such as a surrogate of an earlier harvest. None: TF-IDF alone.
    exclude : collection of str, default=()
        Hashes (`film.text.text_hash`) of sentences that must not be used, such as those of test
        sets: `film.datasets.read_excluded`.
    random_state : int, RandomState or None, default=None
        Seeds the choice of pairs. None: that of the file, where there is one.
    verbose : int, default=0
        Whether to show progress.

    Returns
    -------
    harvest : Harvest
        Number of pairs, and why it stopped.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong, fewer than four sentences are left, or the file was begun with
        other sentences, settings, another encoder or model; before any work.
    FileExistsError
        If `path` is a file that no harvest has written.
    OSError
        If the file cannot be written, as on a full disk. What was finished is kept: the same call
        continues.

    Warns
    -----
    UserWarning
        If there are fewer pairs than ``n_pairs``.

    See Also
    --------
    read_harvest : Reads the file.
    SurrogateRegressor : Learns from it.

    Notes
    -----
    Of the pairs, 1 % each are dev and test, the others train. No sentence is in two of them, so
    that no pair, and no half of a pair, leaks from one to another: 1 % of the sentences, and of
    some hundred at least 24, belong to dev, and as many to test. Of fewer than 24 sentences none
    are held out.

    Sentences are drawn in groups: one, and three of its neighbours, of the ranks 1 to 3, 2 to 20
    and 20 to 300, uniform in the logarithm, and not beyond a tenth of all. A chunk is 24 groups;
    pairs of neighbours come from within them, random ones from between them, so that each
    sentence's contexts are chosen once for some six pairs. The plan depends on sentences and seed
    alone.

    Rows are written by chunk. Ctrl-C, or a kill, loses the current chunk and nothing else.

    Examples
    --------
    >>> from estimators.contexts import ContextRegressor, harvest
    >>> model = ContextRegressor(context_model).fit(pairs)  # doctest: +SKIP
    >>> harvest(model, sentences, "pairs.csv", n_pairs=20_000, seconds=3600)  # doctest: +SKIP
    Harvest(n_pairs=20000, n_new=20000, stopped='done')
    """
    if not callable(getattr(model, "similarity", None)) or isinstance(model, type):
        raise TypeError(
            f"model={model!r} must be a fitted ContextRegressor, or have a similarity of pairs"
        )
    check_integer("n_pairs", n_pairs, 1)
    limit = np.inf if seconds is None else check_real("seconds", seconds, 0)
    check_real("near", near, 0, 1)
    check_verbose(verbose)
    if encoder is not None and encoder != "model" and not hasattr(encoder, "transform"):
        raise TypeError(f"encoder={encoder!r} must be 'model', a fitted transformer or None")
    until = time.monotonic() + limit
    texts = _usable(sentences, exclude)
    note = read_note(path)
    seed = int(check_seed(random_state).randint(2**31 - 1))
    if note is not None and random_state is None:
        seed = note["settings"].get("seed")
    settings = {
        "seed": seed,
        "near": float(near),
        "sentences": hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16],
        "encoder": encoder if encoder is None or encoder == "model" else type(encoder).__name__,
    }
    with ScoreFile(path, settings) as file:
        done = read_harvest(path)
        _check_model(model, done)
        if isinstance(encoder, str):
            encoder = _own_encoder(model)
        choice = PairChoice(len(texts), _measures(texts, encoder), near, seed)
        stopped = _score(model, texts, choice, file, done, n_pairs, until, verbose)
        n_rows = file.n_rows
    if stopped == "no more pairs":
        warnings.warn(
            f"the {len(texts)} sentences gave {n_rows} pairs, not n_pairs={n_pairs}: give more "
            "sentences, or near=0 for more random pairs",
            UserWarning,
            stacklevel=2,
        )
    return Harvest(n_rows, n_rows - len(done.pairs), stopped)


def _score(
    model: Any,
    texts: list[str],
    choice: PairChoice,
    file: ScoreFile,
    done: HarvestedPairs,
    n_pairs: int,
    until: float,
    verbose: int,
) -> str:
    """Score chunk after chunk, past those that the file holds; returns why it stopped."""
    from tqdm.auto import tqdm

    kept = np.column_stack([done.pairs, done.splits])
    shown = {"desc": "harvest", "unit": " pairs", "disable": not verbose}
    with tqdm(total=n_pairs, initial=min(len(kept), n_pairs), **shown) as bar:
        for chunk in choice.chunks():
            rows = [(texts[one], texts[other], SPLITS[split]) for one, other, split in chunk]
            table = np.array(rows, dtype=object).reshape(-1, 3)
            n_here = min(len(kept), len(rows))
            if not np.array_equal(table[:n_here], kept[:n_here]):
                raise ValueError(
                    "path was begun with another encoder, which finds other neighbours; give that "
                    "encoder, or another path"
                )
            kept, table = kept[n_here:], table[n_here:]
            if not len(kept) and file.n_rows >= n_pairs:
                return "done"
            table = table[: n_pairs - file.n_rows]
            if not len(table):
                continue
            if time.monotonic() >= until:
                return "time"
            scores = np.asarray(model.similarity(table[:, :2]), dtype=np.float64)
            if not np.isfinite(scores).all():
                raise ValueError("model gave a similarity that is not finite; its chunk is dropped")
            file.append(zip(table[:, 0], table[:, 1], scores, table[:, 2], strict=True))
            bar.update(len(table))
            if file.n_rows >= n_pairs:
                return "done"
    return "no more pairs"


def _check_model(model: Any, done: HarvestedPairs) -> None:
    """Raise where another model has scored the rows of the file."""
    if not len(done.pairs):
        return
    again = np.asarray(model.similarity(done.pairs[:2]))
    if not np.allclose(again, done.scores[:2], atol=_TOLERANCE, rtol=0):
        raise ValueError(
            f"path holds scores of another model: its first pair has {done.scores[0]:.4f}, and "
            f"{again[0]:.4f} by this one; give that model, or another path"
        )


def _usable(sentences: Any, exclude: Collection[str]) -> list[str]:
    """Sentences that have words, read differently and are not excluded, in their order."""
    if isinstance(exclude, str) or not isinstance(exclude, Collection):
        raise TypeError(
            f"exclude is {type(exclude).__name__}; give a set of hashes, as read_excluded does"
        )
    hashes = frozenset(exclude)
    given = check_texts(sentences, "sentences", encodable=True)
    different: dict[str, str] = {}
    for text in given:
        if has_words(text) and not (hashes and text_hash(text) in hashes):
            different.setdefault(normalize_text(text), text)
    if len(different) < _LEAST:
        raise ValueError(
            f"sentences has {len(different)} different ones with words that are not excluded, of "
            f"{len(given)}; give at least {_LEAST}, and some thousand to learn from"
        )
    return list(different.values())


def _measures(
    texts: list[str], encoder: Any
) -> list[Callable[[NDArray[np.intp]], NDArray[np.intp]]]:
    """Nearest sentences by TF-IDF, and by the encoder where there is one."""
    tfidf: Any = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b")
    words = tfidf.fit_transform(as_texts(texts))
    by_word = words.tocsc()

    def by_words(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        return nearest_rows(words[rows], by_word, FARTHEST)[0]

    if encoder is None:
        return [by_words]
    vectors = _vectors(texts, encoder)

    def by_vectors(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        products = vectors[rows] @ vectors.T
        return np.argsort(-products, axis=1, kind="stable")[:, :FARTHEST]

    return [by_words, by_vectors]


def _own_encoder(model: Any) -> Any:
    """Give a model of contexts that scores by its discriminator alone, which is fast."""
    contexts: Any = getattr(model, "context_model_", None)
    if not hasattr(contexts, "transform"):
        return None
    return shared_copy(contexts).set_params(weights=(1, 0, 0, 0))


def _vectors(texts: list[str], encoder: Any) -> Any:
    """Vectors of length 1, less their mean: scores in contexts are all negative."""
    blocks = []
    for start in range(0, len(texts), _ENCODED_AT_ONCE):
        block = texts[start : start + _ENCODED_AT_ONCE]
        found = np.asarray(encoder.transform(block), dtype=np.float32)
        if found.ndim != 2 or len(found) != len(block):
            raise ValueError(
                f"encoder gives an array of shape {found.shape} for {len(block)} texts"
            )
        blocks.append(found)
    vectors = np.concatenate(blocks)
    return normalize(vectors - vectors.mean(axis=0))

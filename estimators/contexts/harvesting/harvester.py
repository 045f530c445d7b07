"""Score pairs of sentences of any corpus, as training data of a surrogate."""

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
"""Least number of sentences of a harvest: one group."""
_ENCODED_AT_ONCE = 1000
_TOLERANCE = 1e-3
"""Bound on differences between scores of one pair by one model on different machines."""


class Harvest(NamedTuple):
    """Result of a call of `harvest`.

    Attributes
    ----------
    n_pairs : int
        Pairs in the file.
    n_new : int
        Pairs that this call scored.
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
    """Score pairs of sentences over the whole range of similarity, and write them to a file.

    Random pairs alone are all far apart, so a model would only learn a constant. So half of the
    pairs are neighbours at several distances.

    Parameters
    ----------
    model : ContextRegressor
        Fitted, or any other regressor of pairs with a ``similarity``.
    sentences : array-like of str
        Sentences to pair. Sentences that are equal after normalisation count once; sentences
        without words are left out.
    path : str or path-like
        CSV file with the columns text1, text2, score and split. A JSON file with the same name and
        ".json" at its end is written too. If the file exists, it is continued. On one machine, an
        interrupted and continued run writes the same rows as an uninterrupted run.
    n_pairs : int
        Total pairs in the file; later calls may ask for more.
    seconds : float, default=None
        Time after which no new chunk of some 300 pairs starts. None: no limit.
    near : float, default=0.5
        Share of neighbours among the pairs, from 0 to 1; the others are random.
    encoder : "model", transformer or None, default="model"
        Source of vectors of sentences. Neighbours by their cosine alternate with neighbours by
        TF-IDF of words and bigrams. "model": for a `ContextRegressor`, its discriminator's scores
        in the fixed contexts; for any other model, as None. A fitted transformer, such as a
        surrogate of an earlier harvest. None: only TF-IDF.
    exclude : collection of str, default=()
        Hashes (`film.text.text_hash`) of sentences that must not be used, such as those of test
        sets (`film.datasets.read_excluded`).
    random_state : int, RandomState or None, default=None
        Seeds the choice of pairs. None: the seed of the file, if it exists.
    verbose : int, default=0
        Whether to show progress.

    Returns
    -------
    harvest : Harvest
        Number of pairs, and why it stopped.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, fewer than four sentences are left, or the file was begun with
        other sentences or settings, or with another encoder or model; raised before any work.
    FileExistsError
        If `path` is not a file of a harvest.
    OSError
        If the file cannot be written, for example on a full disk. Finished rows are kept, and the
        same call continues.

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
    1 % of the pairs are dev and 1 % test; the others are train. No sentence is in two splits, so
    nothing leaks between them. 1 % of the sentences belong to dev and 1 % to test, but of some
    hundred sentences at least 24 each. Below 24 sentences, no sentence is held out.

    Sentences are drawn in groups: one sentence and three of its neighbours, of ranks 1 to 3, 2 to
    20 and 20 to 300. Ranks are uniform in the logarithm, and at most a tenth of all sentences. A
    chunk has 24 groups. Pairs of neighbours come from one group, random pairs from two groups, so
    each sentence's contexts are chosen once for some six pairs. The plan depends only on the
    sentences and the seed.

    Rows are written chunk by chunk. Ctrl-C or a kill loses only the current chunk.

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
    """Score the chunks that are not in the file; return why it stopped."""
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
                    "path was begun with another encoder, which finds other neighbours; use that "
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
    """Raise an error if another model scored the rows of the file."""
    if not len(done.pairs):
        return
    again = np.asarray(model.similarity(done.pairs[:2]))
    if not np.allclose(again, done.scores[:2], atol=_TOLERANCE, rtol=0):
        raise ValueError(
            f"path holds scores of another model: its first pair has {done.scores[0]:.4f}, and "
            f"{again[0]:.4f} by this one; give that model, or another path"
        )


def _usable(sentences: Any, exclude: Collection[str]) -> list[str]:
    """Return the different sentences that have words and are not excluded, in order."""
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
            f"only {len(different)} of {len(given)} sentences are usable (different, with words, "
            f"not excluded); give at least {_LEAST}, and some thousand to learn from"
        )
    return list(different.values())


def _measures(
    texts: list[str], encoder: Any
) -> list[Callable[[NDArray[np.intp]], NDArray[np.intp]]]:
    """Return searches for nearest sentences by TF-IDF, and by the encoder if there is one."""
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
    """Return a model of contexts that scores only with its discriminator, which is fast."""
    contexts: Any = getattr(model, "context_model_", None)
    if not hasattr(contexts, "transform"):
        return None
    return shared_copy(contexts).set_params(weights=(1, 0, 0, 0))


def _vectors(texts: list[str], encoder: Any) -> Any:
    """Subtract the mean of vectors and scale them to length 1: scores are all negative."""
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

"""Score pairs of sentences of any corpus, as training data of a surrogate."""

from __future__ import annotations

import csv
import os
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from itertools import combinations, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from estimators.contexts.context_regressor import has_words, shared_copy
from estimators.inputs import (
    as_texts,
    check_integer,
    check_real,
    check_seed,
    check_texts,
    check_verbose,
)
from film.contexts import nearest_rows
from film.datasets import atomic_writer
from film.text import normalize_text, text_hash

SPLITS = ("train", "dev", "test")
FARTHEST = 300
"""Largest rank among an anchor's neighbours from which its partners are drawn."""
GROUP, GROUPS = 4, 24
"""Sentences per group, an anchor and its neighbours, and groups per chunk. The sentences of a chunk
form some 300 pairs, so each sentence is prepared once."""
HELD_OUT_EVERY = 8
"""Chunks between two chunks with pairs of one held-out split, which then has 1 % of all pairs."""
LEAST_HELD_OUT, LEAST_SENTENCES = 24, 24
"""Least number of sentences of dev and of test, and of all sentences per four of them."""
MOST_EMPTY = 50
"""Number of chunks without a new pair after which the search ends."""

Pair = tuple[int, int]
Nearest = Callable[[NDArray[np.intp]], NDArray[np.intp]]
"""Rows to the rows of their `FARTHEST` nearest sentences, nearest first."""


def planned_chunks(
    n_sentences: int, nearest: list[Nearest], seed: int
) -> Iterator[list[tuple[Pair, str]]]:
    """Yield chunks of different pairs with their splits, until no new pairs are found.

    Parameters
    ----------
    n_sentences : int
        Number of sentences, which are identified by their rows.
    nearest : list of callable
        Searches for nearest sentences, used in turn.
    seed : int
        Seed. The plan does not depend on scores.
    """
    split = np.zeros(n_sentences, dtype=np.int8)
    n_held_out = max(LEAST_HELD_OUT, round(0.01 * n_sentences))
    n_held_out = min(n_held_out, GROUP * (n_sentences // LEAST_SENTENCES))
    rows = np.random.default_rng([seed, 2**32]).permutation(n_sentences)
    split[rows[:n_held_out]], split[rows[n_held_out : 2 * n_held_out]] = 1, 2
    seen: set[Pair] = set()
    n_empty = 0
    for number in count():
        rng = np.random.default_rng([seed, number])
        chosen: dict[Pair, str] = {}
        for kind, name in enumerate(SPLITS):
            n_groups = GROUPS if kind == 0 else 2 * (number % HELD_OUT_EVERY == 0)
            groups = _groups(np.flatnonzero(split == kind), n_groups, nearest, rng)
            chosen |= dict.fromkeys(_new_pairs(groups, rng, seen), name)
        seen.update(chosen)
        n_empty = 0 if chosen else n_empty + 1
        if n_empty > MOST_EMPTY:
            return
        # The first pairs of a chunk are like the whole.
        pairs = list(chosen.items())
        yield [pairs[place] for place in rng.permutation(len(pairs)).tolist()]


def _groups(
    rows: NDArray[np.intp], n_groups: int, nearest: list[Nearest], rng: np.random.Generator
) -> list[list[int]]:
    """Draw groups of different rows: anchors, and neighbours of each at several distances."""
    anchors = rng.permutation(rows)[: min(n_groups, len(rows) // GROUP)]
    if not len(anchors):
        return []
    found = [search(anchors) for search in nearest]
    # Of few sentences, the farthest of all are not neighbours.
    farthest = max(1, min(FARTHEST, len(rows) // 10))
    free = np.zeros(rows.max() + 1, dtype=bool)
    free[rows], free[anchors] = True, False
    groups = []
    for place, anchor in enumerate(anchors.tolist()):
        group = [anchor]
        for member in range(1, GROUP):
            near = found[(place + member) % len(found)][place]
            near = near[near < len(free)]
            near = near[free[near]]
            # Uniform in the logarithm of the rank: the nearest are the rarest.
            near = near[int(farthest ** rng.random()) - 1 :]
            partner = int(near[0] if len(near) else rng.permutation(np.flatnonzero(free))[0])
            free[partner] = False
            group.append(partner)
        groups.append(group)
    return groups


def _new_pairs(groups: list[list[int]], rng: np.random.Generator, seen: set[Pair]) -> list[Pair]:
    """Draw new pairs of neighbours within groups, and as many of random sentences between them."""
    inside = [_ordered(*pair) for group in groups for pair in combinations(group, 2)]
    between = [_ordered(a, b) for one, other in combinations(groups, 2) for a in one for b in other]
    drawn = [between[place] for place in rng.permutation(len(between)).tolist()]
    drawn = [pair for pair in drawn if pair not in seen][: len(inside)]
    return [*(pair for pair in inside if pair not in seen), *drawn]


def _ordered(one: int, other: int) -> Pair:
    return (one, other) if one < other else (other, one)


COLUMNS = ["text1", "text2", "score", "split"]
SECONDS_BETWEEN = 60.0
"""Seconds between two writes of the file."""
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


class HarvestedPairs(NamedTuple):
    """Pairs with their scores, as `harvest` wrote them.

    Attributes
    ----------
    pairs : ndarray of str objects, shape (n, 2)
        Texts.
    scores : ndarray of float64, shape (n,)
        Similarities.
    splits : ndarray of str objects, shape (n,)
        "train", "dev" or "test".
    """

    pairs: NDArray[np.object_]
    scores: NDArray[np.float64]
    splits: NDArray[np.object_]


def harvest(
    model: Any,
    sentences: Any,
    path: str | os.PathLike[str],
    *,
    n_pairs: int,
    seconds: float | None = None,
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
        CSV file with the columns text1, text2, score and split. If the file exists, it is
        continued, with the same arguments. On one machine, an interrupted and continued run writes
        the same rows as an uninterrupted run.
    n_pairs : int
        Total pairs in the file; later calls may ask for more.
    seconds : float, default=None
        Time after which no new chunk of some 300 pairs starts. None: no limit.
    exclude : collection of str, default=()
        Hashes (`film.text.text_hash`) of sentences that must not be used, such as those of test
        sets (`film.datasets.read_excluded`).
    random_state : int, RandomState or None, default=None
        Seeds the choice of pairs; needed to continue a file.
    verbose : int, default=0
        Whether to show progress.

    Returns
    -------
    harvest : Harvest
        Number of pairs, and why it stopped.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, fewer than four sentences are left, or the file is not one of a
        harvest, or was begun with other sentences, another seed or another model; raised before any
        pair is scored.
    OSError
        If the file cannot be written, for example on a full disk. Its rows are kept, and the same
        call continues.

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
    About 1 % of the pairs are dev and 1 % test; the others are train. No sentence is in two splits,
    so nothing leaks between them. 1 % of the sentences belong to dev and 1 % to test, but of some
    hundred sentences at least 24 each. Below 24 sentences, no sentence is held out.

    Sentences are drawn in groups: one sentence and three of its neighbours, whose ranks, from 1 to
    300 and at most a tenth of all sentences, are uniform in the logarithm. Neighbours by TF-IDF of
    words and bigrams alternate with neighbours by the discriminator's scores, if the model has one.
    Half of the pairs come from one group, the others from two, so each sentence's contexts are
    chosen once for some six pairs. The plan depends only on the sentences and the seed.

    The whole file is written anew once a minute and at the end. Ctrl-C loses only the current
    chunk, and a kill at most a minute.

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
    check_verbose(verbose)
    until = time.monotonic() + limit
    texts = _usable(sentences, exclude)
    seed = int(check_seed(random_state).randint(2**31 - 1))
    place = Path(path).expanduser()
    if not place.parent.is_dir() or place.is_char_device():
        raise FileNotFoundError(f"path={str(place)!r} must be a file in an existing folder")
    rows = _rows_of(place) if place.exists() else []
    n_before = len(rows)
    _check_model(model, rows[:2])
    chunks = planned_chunks(len(texts), _searches(texts, model), seed)
    stopped = _score(model, texts, chunks, place, rows, n_pairs, until, verbose)
    n_rows = len(rows)
    if stopped == "no more pairs":
        warnings.warn(
            f"the {len(texts)} sentences gave {n_rows} pairs, not n_pairs={n_pairs}: give more "
            "sentences",
            UserWarning,
            stacklevel=2,
        )
    return Harvest(n_rows, n_rows - n_before, stopped)


def _score(
    model: Any,
    texts: list[str],
    chunks: Iterator[list[tuple[Pair, str]]],
    path: Path,
    rows: list[tuple[str, str, float, str]],
    n_pairs: int,
    until: float,
    verbose: int,
) -> str:
    """Add rows for the pairs that are not in the file, and write it; return why it stopped."""
    from tqdm.auto import tqdm

    place, n_written, written = 0, len(rows) if path.exists() else -1, time.monotonic()
    shown = {"desc": "harvest", "unit": " pairs", "disable": not verbose}
    try:
        with tqdm(total=n_pairs, initial=min(len(rows), n_pairs), **shown) as bar:
            for chunk in chunks:
                table = [(texts[one], texts[other], split) for (one, other), split in chunk]
                kept = [(*row[:2], row[3]) for row in rows[place : place + len(table)]]
                if table[: len(kept)] != kept:
                    raise ValueError(
                        f"{path} was begun with other sentences, settings or random_state; "
                        "continue it with the same, or give another path"
                    )
                place += len(kept)
                new = table[len(kept) :][: max(0, n_pairs - len(rows))]
                if new and time.monotonic() >= until:
                    return "time"
                if new:
                    pairs = np.array([pair for *pair, _ in new], dtype=object)
                    scores = np.asarray(model.similarity(pairs), dtype=np.float64)
                    if not np.isfinite(scores).all():
                        raise ValueError(
                            "model gave a similarity that is not finite; its chunk is dropped"
                        )
                    for (one, other, split), score in zip(new, scores.tolist(), strict=True):
                        rows.append((one, other, score, split))
                    place += len(new)
                    bar.update(len(new))
                if place >= len(rows) >= n_pairs:
                    return "done"
                if time.monotonic() - written > SECONDS_BETWEEN:
                    _write(path, rows, n_written)
                    n_written, written = len(rows), time.monotonic()
        return "no more pairs"
    finally:
        if len(rows) != n_written:
            _write(path, rows, n_written)


def _write(path: Path, rows: list[tuple[str, str, float, str]], n_kept: int) -> None:
    try:
        with atomic_writer(path, newline="") as handle:
            writer = csv.writer(handle, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows((*pair, f"{score:.6f}", split) for *pair, score, split in rows)
    except OSError as error:
        raise OSError(
            f"{error}. Its {max(n_kept, 0)} pairs are kept; make room and harvest again with the "
            "same arguments to continue"
        ) from error


def _rows_of(path: Path) -> list[tuple[str, str, float, str]]:
    """Return the rows of the file of a harvest."""
    try:
        with open(path, encoding="utf-8", newline="") as handle:
            reader = csv.reader(handle, strict=True)
            if next(reader, None) != COLUMNS:
                raise ValueError(f"its first line is not {','.join(COLUMNS)}")
            rows = [(one, other, float(score), split) for one, other, score, split in reader]
        if not all(np.isfinite(score) and split in SPLITS for *_, score, split in rows):
            raise ValueError("a score is not finite, or a split has another name")
    except (ValueError, csv.Error) as error:
        raise ValueError(
            f"{path} is not a file of harvested pairs, or is damaged: {error}; give another path, "
            "or harvest again"
        ) from error
    return rows


def read_harvest(path: str | os.PathLike[str]) -> HarvestedPairs:
    r"""Read the scored pairs of a finished or unfinished `harvest`.

    Parameters
    ----------
    path : str or path-like
        The CSV file.

    Returns
    -------
    harvested : HarvestedPairs
        ``pairs``, ``scores`` and ``splits``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not from `harvest`, or is damaged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from estimators.contexts import read_harvest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.csv"
    ...     _ = path.write_text("text1,text2,score,split\nHi,Hello,0.7,train\n")
    ...     harvested = read_harvest(path)
    >>> harvested.pairs.tolist(), harvested.scores, harvested.splits
    ([['Hi', 'Hello']], array([0.7]), array(['train'], dtype=object))
    """
    place = Path(path).expanduser()
    if not place.is_file():
        raise FileNotFoundError(f"path: there is no file {os.fspath(path)!r}; harvest writes one")
    table = np.array(_rows_of(place), dtype=object).reshape(-1, len(COLUMNS))
    return HarvestedPairs(table[:, :2], table[:, 2].astype(np.float64), table[:, 3])


def _check_model(model: Any, rows: list[tuple[str, str, float, str]]) -> None:
    """Raise an error if another model scored the first rows of the file."""
    if not rows:
        return
    again = np.asarray(model.similarity(np.array([row[:2] for row in rows], dtype=object)))
    if not np.allclose(again, [row[2] for row in rows], atol=_TOLERANCE, rtol=0):
        raise ValueError(
            f"path holds scores of another model: its first pair has {rows[0][2]:.4f}, and "
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


def _searches(texts: list[str], model: Any) -> list[Nearest]:
    """Return searches by TF-IDF, and by the scores of a model of contexts in its fixed contexts."""
    tfidf: Any = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b")
    words = tfidf.fit_transform(as_texts(texts))
    by_word = words.tocsc()

    def by_words(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        return nearest_rows(words[rows], by_word, FARTHEST)[0]

    contexts: Any = getattr(model, "context_model_", None)
    if not hasattr(contexts, "transform"):
        return [by_words]
    # The discriminator alone is fast. Its scores are all negative, so their mean is subtracted.
    encoder = shared_copy(contexts).set_params(weights=(1, 0, 0, 0))
    starts = range(0, len(texts), _ENCODED_AT_ONCE)
    blocks = [encoder.transform(texts[start : start + _ENCODED_AT_ONCE]) for start in starts]
    vectors: Any = np.concatenate(blocks).astype(np.float32)
    vectors = normalize(vectors - vectors.mean(axis=0))

    def by_vectors(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        products = vectors[rows] @ vectors.T
        return np.argsort(-products, axis=1, kind="stable")[:, :FARTHEST]

    return [by_words, by_vectors]

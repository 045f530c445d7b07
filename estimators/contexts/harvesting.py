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
from filelock import Timeout
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
from film.datasets import atomic_writer, lock_beside, unlock
from film.text import normalize_text, text_hash

SPLITS = ("train", "dev", "test")
SHARE = 0.01
"""Share of the pairs, and of the sentences, in each of dev and test."""
BANDS = ((1, 3), (2, 20), (20, 300))
"""Ranks among an anchor's neighbours from which its partners are drawn."""
FARTHEST = BANDS[-1][1]
_GROUP = 1 + len(BANDS)
_GROUPS = 24
"""Groups per chunk. Their sentences form some 300 pairs, so each sentence is prepared once."""
_GROUPS_HELD_OUT = 2
"""Groups of a chunk from dev or test."""
_LEAST_HELD_OUT = 6
"""Groups of dev and of test, if there are enough sentences."""
_LEAST_SENTENCES = 24
"""Sentences per held-out group."""
_MOST_EMPTY = 50
"""Number of chunks without a new pair after which the search ends."""

Nearest = Callable[[NDArray[np.intp]], NDArray[np.intp]]
"""Rows to the rows of their `FARTHEST` nearest sentences, nearest first, shape (q, FARTHEST)."""


class Chosen(NamedTuple):
    """A pair of sentences, by their rows, and the number of its split."""

    one: int
    other: int
    split: int


class PairChoice:
    """Plan of a harvest, which depends on sentences, seed and shares, but not on scores.

    Parameters
    ----------
    n_sentences : int
        Number of sentences, which are identified by their rows.
    nearest : list of callable
        Searches for nearest sentences, used in turn.
    near : float
        Share of pairs of neighbours.
    seed : int
        Seed.
    """

    def __init__(self, n_sentences: int, nearest: list[Nearest], near: float, seed: int) -> None:
        self.n_sentences, self.nearest, self.near, self.seed = n_sentences, nearest, near, seed
        self._split = np.zeros(n_sentences, dtype=np.int8)
        n_groups = max(_LEAST_HELD_OUT, round(SHARE * n_sentences / _GROUP))
        n_groups = min(n_groups, n_sentences // _LEAST_SENTENCES)
        rng = np.random.default_rng([seed, 2**32])
        self._held_out: dict[int, list[list[int]]] = {}
        for split in range(1, len(SPLITS)):
            self._held_out[split] = self._groups(rng, n_groups)
            for group in self._held_out[split]:
                self._split[group] = split

    def chunks(self) -> Iterator[list[Chosen]]:
        """Yield chunks of different pairs, until no new pairs are found."""
        seen: set[tuple[int, int]] = set()
        counts, n_empty = [0] * len(SPLITS), 0
        for number in count():
            rng = np.random.default_rng([self.seed, number])
            chosen: dict[tuple[int, int], int] = {}
            due = sum(counts) + _GROUPS * _GROUP * (_GROUP - 1) // 2
            for split, groups in self._held_out.items():
                if counts[split] < SHARE * due:
                    drawn = rng.permutation(len(groups))[:_GROUPS_HELD_OUT]
                    pairs = self._pairs([groups[place] for place in drawn], rng, seen)
                    if not pairs:  # these are done: any two that are held out, then
                        alone = [[row] for group in groups for row in group]
                        pairs = _random_pairs(alone, rng, 6, seen)
                    chosen |= dict.fromkeys(pairs, split)
            chosen |= dict.fromkeys(self._pairs(self._groups(rng), rng, seen), 0)
            pairs = [Chosen(*pair, split) for pair, split in chosen.items()]
            seen.update(chosen)
            for split in chosen.values():
                counts[split] += 1
            n_empty = 0 if pairs else n_empty + 1
            if n_empty > _MOST_EMPTY:
                return
            # The first pairs of a chunk are like the whole.
            yield [pairs[place] for place in rng.permutation(len(pairs)).tolist()]

    def _groups(self, rng: np.random.Generator, n_groups: int = _GROUPS) -> list[list[int]]:
        """Draw groups of different sentences that are not held out."""
        free = np.flatnonzero(self._split == 0)
        anchors = rng.permutation(free)[: min(n_groups, len(free) // _GROUP)]
        rows = [nearest(anchors) for nearest in self.nearest]
        # Of few sentences, the farthest of all are not neighbours.
        farthest = max(1, self.n_sentences // 10)
        taken = set(anchors.tolist())
        groups = []
        for place, anchor in enumerate(anchors.tolist()):
            group = [anchor]
            for band, (low, high) in enumerate(BANDS):
                low, high = min(low, farthest), min(high, farthest)
                near = rows[(place + band) % len(rows)][place]
                allowed = [row for row in near.tolist() if row != anchor and not self._split[row]]
                # Uniform in the logarithm of the rank: the nearest of a band are the rarest.
                rank = round(low * (high / low) ** rng.random())
                left = [row for row in allowed[rank - 1 :] if row not in taken]
                if not left:
                    left = [row for row in rng.permutation(free).tolist() if row not in taken]
                taken.add(left[0])
                group.append(left[0])
            groups.append(group)
        return groups

    def _pairs(
        self, groups: list[list[int]], rng: np.random.Generator, seen: set[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Draw new pairs of neighbours within groups, and of random sentences between them."""
        inside = [_ordered(*pair) for group in groups for pair in combinations(group, 2)]
        if not self.near:
            return _random_pairs(groups, rng, len(inside), seen)
        n_between = round(len(inside) * (1 - self.near) / self.near)
        inside = [pair for pair in inside if pair not in seen]
        return [*inside, *_random_pairs(groups, rng, n_between, seen)]


def _random_pairs(
    groups: list[list[int]], rng: np.random.Generator, n: int, seen: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    pairs = [_ordered(a, b) for one, other in combinations(groups, 2) for a in one for b in other]
    new = [pair for pair in pairs if pair not in seen]
    return [new[place] for place in rng.permutation(len(new))[:n].tolist()]


def _ordered(one: int, other: int) -> tuple[int, int]:
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
        CSV file with the columns text1, text2, score and split. If the file exists, it is
        continued, with the same arguments. On one machine, an interrupted and continued run writes
        the same rows as an uninterrupted run.
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
        harvest, or was begun with other sentences, settings, encoder or model; raised before any
        pair is scored.
    OSError
        If the file cannot be written, for example on a full disk, or another process writes it. Its
        rows are kept, and the same call continues.

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
    check_real("near", near, 0, 1)
    check_verbose(verbose)
    if encoder is not None and encoder != "model" and not hasattr(encoder, "transform"):
        raise TypeError(f"encoder={encoder!r} must be 'model', a fitted transformer or None")
    until = time.monotonic() + limit
    texts = _usable(sentences, exclude)
    seed = int(check_seed(random_state).randint(2**31 - 1))
    place = Path(path).expanduser()
    if not place.parent.is_dir() or place.is_char_device():
        raise FileNotFoundError(f"path={str(place)!r} must be a file in an existing folder")
    lock = lock_beside(place, timeout=0)
    try:
        lock.acquire()
        rows = _rows_of(place) if place.exists() else []
        n_before = len(rows)
        _check_model(model, rows[:2])
        if isinstance(encoder, str):
            encoder = _own_encoder(model)
        choice = PairChoice(len(texts), _measures(texts, encoder), near, seed)
        stopped = _score(model, texts, choice, place, rows, n_pairs, until, verbose)
    except Timeout:
        raise OSError(
            f"{place} is being written by another process; wait for it, or give another path"
        ) from None
    finally:
        unlock(lock)
    n_rows = len(rows)
    if stopped == "no more pairs":
        warnings.warn(
            f"the {len(texts)} sentences gave {n_rows} pairs, not n_pairs={n_pairs}: give more "
            "sentences, or near=0 for more random pairs",
            UserWarning,
            stacklevel=2,
        )
    return Harvest(n_rows, n_rows - n_before, stopped)


def _score(
    model: Any,
    texts: list[str],
    choice: PairChoice,
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
            for chunk in choice.chunks():
                table = [(texts[one], texts[other], SPLITS[split]) for one, other, split in chunk]
                kept = [(*row[:2], row[3]) for row in rows[place : place + len(table)]]
                if table[: len(kept)] != kept:
                    raise ValueError(
                        f"{path} was begun with other sentences, settings, random_state or "
                        "encoder; continue it with the same, or give another path"
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

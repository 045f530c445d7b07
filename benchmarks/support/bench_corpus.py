"""A corpus of any size, of real sentences, in which duplicates and near misses are known.

Sentences of books are cut to the length of questions. Families grow from each piece: copies by
edits that leave the meaning (`benchmarks.support.edits`), and near misses by one edit that
changes it. The shares of texts are those below.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.edits import edited
from benchmarks.support.folders import film_data
from film.contexts import plain_text
from film.datasets import make_documents
from film.text import normalize_text

TEXT_SHARES = (0.55, 0.25, 0.2)
"""Shares of pieces of books, of copies and of near misses among the texts."""
LENGTHS = (2.35, 0.47)
"""Mean and deviation of the logarithm of words in a question, measured on Quora's train file."""
FEWEST, MOST = 3, 40
"""Words of the shortest and of the longest piece."""

_FRAME = " \"“”‘’()[]_*,;:.!?-'"
_VERB = re.compile(r"\b(is|are|was|were|can|could|will|would|should|has|have|had|do|does|did)\b")
_CONTENT = re.compile(r"[A-Za-z]{5,}")


class BenchCorpus(NamedTuple):
    """Texts of which some are copies and some near misses of others.

    Parameters
    ----------
    texts : list of str
        All different, also as `film.text.normalize_text` reads them, in random order.
    meanings : ndarray of shape (n,)
        Rows with one number mean the same: a piece and its copies. A near miss stands alone.
    """

    texts: list[str]
    meanings: NDArray[np.int64]


def bench_corpus(
    n: int, *, books: str | os.PathLike[str] | None = None, seed: int = 0
) -> BenchCorpus:
    """Make a corpus of n texts, the same for the same books and seed.

    Parameters
    ----------
    n : int
        Texts, at least 20. Where the books have too few pieces, the first half of one and the
        second half of another make more.
    books : path or None, default=None
        Folder of Markdown files; None for ``$FILM_DATA/books``, or for documents by grammar
        where FILM_DATA is not set.
    seed : int, default=0
        Seed of all draws.

    Returns
    -------
    corpus : BenchCorpus
        Texts, and the meaning of each.

    Raises
    ------
    ValueError
        When n is below 20.
    FileNotFoundError
        When the folder holds no Markdown file.

    Notes
    -----
    Linear in n and in the size of the books: 8 s of one core for 48 MB of them, and 10 s more for a
    million texts.
    """
    if n < 20:
        raise ValueError(f"n must be at least 20, got {n!r}")
    rng = np.random.default_rng(seed)
    n_copies, n_misses = round(TEXT_SHARES[1] * n), round(TEXT_SHARES[2] * n)
    n_pieces = n - n_copies - n_misses
    texts = _pieces(_documents(books, n_pieces, seed), n_pieces, rng)
    known = set(map(normalize_text, texts))
    words = _content_words(texts)
    families = np.arange(n)
    families[n_pieces:] = rng.integers(n_pieces, size=n - n_pieces)
    for row in range(n_pieces, n):
        near = row >= n_pieces + n_copies
        text = texts[families[row]]
        made = _changed(text, words, rng) if near else edited(text, rng)
        while (key := normalize_text(made)) in known:
            made = _changed(made, words, rng) if near else _reworded(made, rng)
        known.add(key)
        texts.append(made)
    is_miss = np.arange(n) >= n_pieces + n_copies
    order = rng.permutation(n)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    meanings = np.where(is_miss, np.arange(n), families)
    return BenchCorpus([texts[row] for row in order], place[meanings[order]])


def _documents(books: str | os.PathLike[str] | None, n: int, seed: int) -> Iterable[str]:
    home = film_data()
    if books is None and home is None:
        # Six sentences make a scene; the grammar repeats itself, and crossings fill up.
        return make_documents(max(n // 12, 4), n_scenes=4, random_state=seed)
    folder = Path(books) if books is not None else home / "books"  # pyright: ignore
    files = sorted(folder.glob("*.md"))
    if not files:
        raise FileNotFoundError(f"books {folder} holds no file *.md; name a folder of Markdown")
    return (plain_text(file.read_text(encoding="utf-8")) for file in files)


def _pieces(documents: Iterable[str], n: int, rng: np.random.Generator) -> list[str]:
    """Cut documents into pieces as long as questions, all different, and draw n of them."""
    found: dict[str, str] = {}
    for document in documents:
        for piece in _cut(document, rng):
            found.setdefault(normalize_text(piece), piece)
    found.pop("", None)
    every = list(found.values())
    drawn = [every[i] for i in rng.permutation(len(every))[:n]]
    known = {normalize_text(piece) for piece in drawn}
    while len(drawn) < n:
        first, second = (every[i].split() for i in rng.integers(len(every), size=2))
        piece = " ".join(first[: (len(first) + 1) // 2] + second[len(second) // 2 :])
        if (key := normalize_text(piece)) in known:
            # Few pieces have few crossings: a word more makes another.
            piece += " " + every[rng.integers(len(every))].split()[0]
            key = normalize_text(piece)
        if key not in known:
            known.add(key)
            drawn.append(piece)
    return drawn


def _cut(document: str, rng: np.random.Generator) -> Iterator[str]:
    """Cut each paragraph at drawn lengths, or at the end of a sentence shortly before."""
    lengths = iter(())
    for paragraph in document.split("\n"):
        words = paragraph.split()
        while len(words) >= FEWEST:
            length = next(lengths, 0)
            if not length:
                drawn = np.exp(rng.normal(*LENGTHS, size=1024)).round().astype(int)
                lengths = iter(np.clip(drawn, FEWEST, MOST).tolist())
                continue
            ends = (i for i in range(min(length, len(words)), FEWEST, -1) if _ends(words[i - 1]))
            length = next((end for end in ends if 2 * end > length), length)
            piece = " ".join(words[:length]).strip(_FRAME)
            if piece.count(" ") >= FEWEST - 1:
                yield piece
            words = words[length:]


def _ends(word: str) -> bool:
    return word.rstrip("\"”’')")[-1:] in (".", "!", "?")


def _content_words(texts: Sequence[str]) -> list[str]:
    """Words to put in place of others, as frequent here as in the texts."""
    drawn = texts[: 1 + min(len(texts), 100_000)]
    return [word for text in drawn for word in _CONTENT.findall(text)] or ["other"]


def _changed(text: str, words: Sequence[str], rng: np.random.Generator) -> str:
    """Change the meaning: deny it, else put another word of the corpus in a word's place."""
    if rng.random() < 0.2 and (verb := _VERB.search(text)):
        return f"{text[: verb.end()]} not{text[verb.end() :]}"
    new = words[int(rng.integers(len(words)))]
    places = list(_CONTENT.finditer(text))
    if not places:
        return f"{text} {new}"
    place = places[rng.integers(len(places))]
    return text[: place.start()] + new + text[place.end() :]


def _reworded(text: str, rng: np.random.Generator) -> str:
    """Edit once more; a text that edits lead back to known ones gets another filler."""
    made = edited(text, rng)
    return made if rng.random() < 0.5 else f"{made} {('indeed', 'please', 'now')[rng.integers(3)]}"

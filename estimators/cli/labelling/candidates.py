"""Candidate pairs for a review."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from estimators.cli import reading
from estimators.cli.console import Failure, note, verbosity
from estimators.cli.labelling.answers import Key
from estimators.cli.options import NO_ENCODER, chosen_encoder
from estimators.cli.tables import Table
from estimators.corpus import DuplicateFinder
from film.text import normalize_text

POOL = 2000
"""Most pairs from which a model learns without labels, while someone waits."""

MOST_PAIRS = 20_000
"""Of a larger table of pairs, so many are drawn: more would not narrow an estimate."""


class Candidates(NamedTuple):
    """Distinct pairs of different texts.

    Attributes
    ----------
    texts : ndarray of object, shape (n, 2)
        The texts.
    ends : ndarray of int, shape (n, 2)
        Their numbers, the lower first, which differ where `film.text.normalize_text` does.
    scores : ndarray of float64, shape (n,)
        Their scores by the general formula.
    rows : dict of (str, str) to int
        Row of each pair, by `estimators.cli.labelling.answers.pair_key`.
    """

    texts: NDArray[np.object_]
    ends: NDArray[np.intp]
    scores: NDArray[np.float64]
    rows: dict[Key, int]

    def order(self, seed: int) -> NDArray[np.float64]:
        """Return a random number of each pair that depends on its texts and the seed alone."""
        salt = str(seed).encode()
        numbers = (
            int.from_bytes(blake2b("\0".join(key).encode(), digest_size=6, salt=salt).digest())
            for key in self.rows
        )
        return np.fromiter(numbers, dtype=np.float64, count=len(self.rows))

    def pool(self, seed: int) -> NDArray[np.object_]:
        """Draw at most `POOL` pairs, as many from every tenth of the scores as there are."""
        if len(self.texts) <= POOL:
            return self.texts
        height = np.minimum(self.scores * 10, 9).astype(np.intp)
        weights = 1 / np.bincount(height)[height]
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(self.texts), POOL, replace=False, p=weights / weights.sum())
        return self.texts[np.sort(drawn)]


def candidate_pairs(
    table: Table,
    text: str | None,
    text1: str | None,
    text2: str | None,
    seed: int,
    encoder: str = NO_ENCODER,
) -> Candidates:
    """Return the pairs of a table of pairs, or of a table of texts those of neighbours."""
    pairs_given = text1 is not None or text2 is not None
    if text is not None and pairs_given:
        raise click.UsageError(
            "give --text for a table of texts, or --text1 and --text2 for one of pairs"
        )
    if pairs_given or (text is None and reading.pair_columns_of(table)):
        if encoder != NO_ENCODER:
            raise click.UsageError("--encoder finds pairs of a table of texts; leave it out")
        pairs = _drawn(reading.pairs_of(table, text1, text2), table, seed)
        texts = list(dict.fromkeys(pairs.ravel().tolist()))
        place = {each: row for row, each in enumerate(texts)}
        ids = np.array([place[each] for each in pairs.ravel().tolist()]).reshape(-1, 2)
        finder = DuplicateFinder(verbose=verbosity()).fit(texts)
        scores, _ = finder.score_pairs([(a, b) for a, b in ids.tolist()])
    else:
        texts = reading.texts_of(table, text)
        name = chosen_encoder(encoder, len(set(texts)))
        finder = DuplicateFinder(encoder=name, verbose=verbosity()).fit(texts)
        found = finder.find(threshold=0)
        ids, scores = found.pairs, found.scores
    normal = [normalize_text(each) for each in texts]
    rows: dict[Key, int] = {}
    kept: list[int] = []
    for row, (a, b) in enumerate(ids.tolist()):
        key = (normal[a], normal[b]) if normal[a] <= normal[b] else (normal[b], normal[a])
        if key[0] and key[0] != key[1] and key not in rows:
            rows[key] = len(kept)
            kept.append(row)
    if not kept:
        raise Failure(f"{table.source} has no pair of two different texts to ask about")
    shown = np.array(texts, dtype=object)[ids[kept]]
    return Candidates(shown, _numbered(rows), scores[kept], rows)


def _drawn(pairs: NDArray[np.object_], table: Table, seed: int) -> NDArray[np.object_]:
    if len(pairs) <= MOST_PAIRS:
        return pairs
    note(f"{table.source}: of {len(pairs)} pairs, {MOST_PAIRS} are drawn at random")
    drawn = np.random.default_rng(seed).choice(len(pairs), MOST_PAIRS, replace=False)
    return pairs[np.sort(drawn)]


def _numbered(keys: Iterable[Key]) -> NDArray[np.intp]:
    number: dict[str, int] = {}
    ends = [number.setdefault(text, len(number)) for key in keys for text in key]
    return np.sort(np.array(ends, dtype=np.intp).reshape(-1, 2), axis=1)

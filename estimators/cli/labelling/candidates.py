"""Candidate pairs for a review."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from estimators.cli import models, reading
from estimators.cli.console import Failure, note, verbosity
from estimators.cli.duplicates.rows import compared_columns, rows_of
from estimators.cli.general import compared_pairs, finder_of_pairs, note_kinds
from estimators.cli.labelling.answers import Answers, Key
from estimators.cli.options import NO_ENCODER
from estimators.cli.tables import Table
from estimators.corpus import DuplicateFinder
from estimators.inputs import record_texts, split_columns
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
        The texts, or records whose cells are separated by U+001F.
    ends : ndarray of int, shape (n, 2)
        Their numbers, the lower first, which differ where `film.text.normalize_text` does.
    scores : ndarray of float64, shape (n,)
        Their scores by the general formula.
    rows : dict of (str, str) to int
        Row of each pair, by `estimators.cli.labelling.answers.pair_key`.
    kinds : dict of str to str, or None
        Kinds of the columns of records.
    """

    texts: NDArray[np.object_]
    ends: NDArray[np.intp]
    scores: NDArray[np.float64]
    rows: dict[Key, int]
    kinds: dict[str, str] | None = None

    def order(self, seed: int) -> NDArray[np.float64]:
        """Return a random number of each pair that depends on its texts and the seed alone."""
        salt = str(seed).encode()
        numbers = (
            int.from_bytes(blake2b("\0".join(key).encode(), digest_size=6, salt=salt).digest())
            for key in self.rows
        )
        return np.fromiter(numbers, dtype=np.float64, count=len(self.rows))

    def known(self, answers: Answers) -> dict[int, bool | None]:
        """Return the answers to candidates, by row."""
        return {
            self.rows[key]: None if answer is None else bool(answer)
            for key, answer in answers.by_key().items()
            if key in self.rows
        }

    def pool(self, seed: int) -> NDArray[np.object_]:
        """Draw at most `POOL` pairs, as many from every tenth of the scores as there are."""
        if len(self.texts) <= POOL:
            return self.texts
        height = np.minimum(self.scores * 10, 9).astype(np.intp)
        weights = 1 / np.bincount(height)[height]
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(self.texts), POOL, replace=False, p=weights / weights.sum())
        return self.texts[np.sort(drawn)]


class Asked(NamedTuple):
    """Given pairs, or rows whose pairs are to be found, and the kinds of the columns of records."""

    pairs: Any
    rows: Any
    kinds: dict[str, str] | None

    def texts(self) -> list[str]:
        """Return the texts or records; records keep the columns that a finder leaves out."""
        if self.rows is None:
            return self.pairs.ravel().tolist()
        cells = self.rows.cells
        return self.rows.texts if cells is None else record_texts(cells)[1]

    def note_on_unknown(self, answers: Answers, source: str) -> None:
        """Print how many answers are about texts or records that the table does not have."""
        pairs = answers.by_key()
        if not pairs:
            return
        known = {normalize_text(text) for text in set(self.texts())}
        n_unknown = sum(not known.issuperset(pair) for pair in pairs)
        if n_unknown:
            note(
                f"{n_unknown} of {len(pairs)} answers in {answers.path} are about rows that "
                f"{source} does not have: they are kept, but do not count in the estimates. If "
                "Excel changed dates or leading zeros there, restore the file from before"
            )


def asked_of(table: Table, given: Any) -> Asked:
    """Tell tables of pairs from tables of texts or records, by the options and usual names."""
    of_pairs = (given.text1, given.text2, given.left, given.right) != (None,) * 4
    if given.text is not None and of_pairs:
        raise click.UsageError(
            "give --text for a table of texts, or --text1 and --text2 for a table of pairs"
        )
    # Columns of other usual sides, such as address_1 and address_2, may be of one record.
    has_records = bool(split_columns(table.columns, "left_", "right_").paired)
    has_pairs = has_records or (not given.compare and reading.pair_columns_of(table))
    if of_pairs or (given.text is None and has_pairs):
        pairs, kinds = compared_pairs(table, given)
        return Asked(pairs, None, kinds)
    compared = compared_columns(given, None, table, None, ())
    rows = rows_of(table, given.text, compared and compared.ours)
    return Asked(None, rows, compared and compared.kinds)


def candidate_pairs(asked: Asked, table: Table, seed: int, encoder: str = NO_ENCODER) -> Candidates:
    """Return the given pairs, or those of neighbours among rows, with their scores."""
    if asked.rows is None:
        if encoder != NO_ENCODER:
            raise click.UsageError("--encoder finds pairs of a table of texts; leave it out")
        pairs = _drawn(asked.pairs, table, seed)
        finder = finder_of_pairs(pairs, encoder, asked.kinds)
        note_kinds(finder)
        scores, _ = finder.score_pairs(pairs.tolist())
    else:
        name = models.chosen_encoder(encoder, len(set(asked.rows.texts)))
        finder = DuplicateFinder(encoder=name, compare=asked.kinds, verbose=verbosity())
        found = finder.fit(asked.rows.given).find(threshold=0)
        note_kinds(finder)
        is_new = found.kind != "copy"
        pairs = np.array(asked.texts(), dtype=object)[found.pairs[is_new]]
        scores = found.scores[is_new]
    normal = {text: normalize_text(text) for text in set(pairs.ravel().tolist())}
    rows: dict[Key, int] = {}
    kept: list[int] = []
    for row, (a, b) in enumerate(pairs.tolist()):
        key = (normal[a], normal[b]) if normal[a] <= normal[b] else (normal[b], normal[a])
        if key[0] and key[0] != key[1] and key not in rows:
            rows[key] = len(kept)
            kept.append(row)
    if not kept:
        raise Failure(f"{table.source} has no pair of two different texts to ask about")
    return Candidates(pairs[kept], _numbered(rows), scores[kept], rows, asked.kinds)


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

"""Sequences of tokens as numbers; each sequence is read once, even if it is in many pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Tokens = Sequence[Sequence[str]]

_BLOCK_PAIRS = 2**16


@dataclass(frozen=True)
class CodedTokens:
    """Sequences of tokens as numbers of a vocabulary.

    Attributes
    ----------
    vocabulary : list of str
        Tokens by their number.
    codes : ndarray of int64, shape (n_tokens,)
        The tokens of all sequences, concatenated.
    edges : ndarray of int64, shape (n + 1,)
        Start of each sequence, and the end.
    """

    vocabulary: list[str]
    codes: Integers
    edges: Integers

    @property
    def sizes(self) -> Integers:
        """Number of tokens of each sequence, (n,)."""
        return np.diff(self.edges)

    def tokens(self, number: int) -> list[str]:
        """Return the tokens of a sequence."""
        return [
            self.vocabulary[code]
            for code in self.codes[self.edges[number] : self.edges[number + 1]]
        ]

    def marks(self, holds: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Return, for each token of the vocabulary, whether a condition holds."""
        return np.fromiter(map(holds, self.vocabulary), dtype=bool, count=len(self.vocabulary))

    def letters(self) -> Integers:
        """Total number of letters of each sequence, (n,)."""
        lengths = np.fromiter(map(len, self.vocabulary), np.int64, count=len(self.vocabulary))
        before = np.append(0, np.cumsum(lengths[self.codes]))
        return np.diff(before[self.edges])

    def counts(self, kept: NDArray[np.bool_], places: Any = None) -> sp.csr_array:
        """Count kept tokens, (n, n_vocabulary), at some or all positions of `codes`."""
        chosen = kept[self.codes] if places is None else kept[self.codes] & places
        rows = np.repeat(np.arange(len(self.edges) - 1), self.sizes)[chosen]
        shape = len(self.edges) - 1, len(self.vocabulary)
        entries = np.ones(len(rows)), (rows, self.codes[chosen])
        return sp.coo_array(entries, shape=shape).tocsr()

    def sets(self, kept: NDArray[np.bool_], places: Any = None) -> sp.csr_array:
        """Mark the kept tokens that occur with 1, (n, n_vocabulary)."""
        found = self.counts(kept, places)
        found.data[:] = 1.0
        return found

    def common_starts(self, left: Integers, right: Integers) -> Integers:
        """Count the tokens of the common start of pairs of sequences."""
        return self._alike(left, right, self.edges[:-1], 1)

    def common_ends(self, left: Integers, right: Integers) -> Integers:
        """Count the tokens of the common end of pairs of sequences."""
        return self._alike(left, right, self.edges[1:] - 1, -1)

    def _alike(self, left: Integers, right: Integers, begin: Integers, step: int) -> Integers:
        count = np.zeros(len(left), dtype=np.int64)
        shorter = np.minimum(self.sizes[left], self.sizes[right])
        at, of = begin[left], begin[right]
        going = np.arange(len(left))
        for done in range(int(shorter.max(initial=0))):
            going = going[shorter[going] > done]
            ahead = done * step
            going = going[self.codes[at[going] + ahead] == self.codes[of[going] + ahead]]
            if len(going) == 0:
                break
            count[going] += 1
        return count


def coded(first: Tokens, second: Tokens) -> tuple[CodedTokens, Integers, Integers]:
    """Code tokens and sequences as numbers: return the table with both numbers of each pair.

    A sequence object that occurs in many pairs is read once.
    """
    check_sides(first, second)
    both = [*first, *second]
    ids = np.fromiter(map(id, both), dtype=np.int64, count=len(both))
    _, at, which = np.unique(ids, return_index=True, return_inverse=True)
    # Sequences are numbered in the order of their first occurrence, not by address in memory.
    order = np.argsort(at)
    left, right = np.split(np.argsort(order)[which], [len(first)])
    sequences = [both[place] for place in at[order]]
    code: dict[str, int] = {}
    codes = [code.setdefault(token, len(code)) for tokens in sequences for token in tokens]
    sizes = np.fromiter(map(len, sequences), np.int64, count=len(sequences))
    table = CodedTokens(
        list(code), np.array(codes, dtype=np.int64), np.append(0, np.cumsum(sizes)).astype(np.int64)
    )
    return table, left, right


def shared(matrix: Any, left: Integers, right: Integers) -> NDArray[np.float64]:
    """Count what the two rows of each pair share: the sum of the smaller entries."""
    found = np.empty(len(left))
    for start in range(0, len(left), _BLOCK_PAIRS):
        block = slice(start, start + _BLOCK_PAIRS)
        rows = matrix[left[block]].minimum(matrix[right[block]])
        found[block] = rows.sum(axis=1)
    return found


def cut(sequences: Sequence[Any], size: int) -> list[Any]:
    """Cut each sequence to a number of tokens or letters."""
    if max(map(len, sequences), default=0) <= size:
        return list(sequences)
    return [sequence[:size] for sequence in sequences]


def check_sides(first: Sequence[Any], second: Sequence[Any]) -> None:
    """Raise ValueError unless both sides have the same number of texts."""
    if len(first) != len(second):
        shorter, longer = sorted([(len(first), "first"), (len(second), "second")])
        raise ValueError(
            f"{shorter[1]} is shorter than {longer[1]} ({shorter[0]} and {longer[0]} texts): give "
            "both texts of each pair"
        )

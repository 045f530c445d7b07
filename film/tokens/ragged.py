"""Token vectors of texts of different lengths in one flat array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLUMNS = ("ids", "spans", "is_special")


@dataclass(frozen=True, eq=False, repr=False)
class Ragged:
    """Token vectors of n texts, concatenated without padding.

    Index it like an array of n texts. An integer returns the vectors of one text. A slice, an
    array of indices, a mask, or ``(indices, ...)`` as scikit-learn uses it, returns a `Ragged`
    with all columns. Fields are converted to arrays.

    Parameters
    ----------
    values : ndarray of float, shape (N, h)
        Vectors of all tokens, text after text; float16, float32 or float64.
    starts : ndarray of int64, shape (n + 1,)
        Text i is ``values[starts[i]:starts[i + 1]]``; a text may have no token.
    ids : ndarray of int, shape (N,), optional
        Vocabulary index of each token.
    spans : ndarray of int, shape (N, 2), optional
        Start of each token in its text and the position after its end; (0, 0) for a token without
        characters.
    is_special : ndarray of bool, shape (N,), optional
        Marks the tokens that a tokenizer adds around a text, such as [CLS] and [SEP].

    Raises
    ------
    TypeError
        If values are not floating point, ids or spans are not integers, or is_special is not
        boolean.
    ValueError
        If a shape does not fit, or starts do not rise from 0 to N.

    Notes
    -----
    Integers, in O(1) time, and slices of step 1 return views, other indices copies. The arrays that
    you pass are not copied, so do not modify them.

    Examples
    --------
    >>> import numpy as np
    >>> from film.tokens import Ragged
    >>> texts = Ragged.from_rows([np.ones((2, 3)), np.zeros((1, 3))], ids=[[7, 8], [9]])
    >>> texts
    Ragged(n=2, tokens=3, width=3, columns=['ids'])
    >>> texts[0].shape, texts[[1, 0]].ids
    ((2, 3), array([9, 7, 8]))
    """

    values: NDArray[Any]
    starts: NDArray[np.int64]
    ids: NDArray[Any] | None = None
    spans: NDArray[Any] | None = None
    is_special: NDArray[np.bool_] | None = None

    def __post_init__(self):
        values, starts = np.asarray(self.values), np.asarray(self.starts)
        if values.ndim != 2:
            raise ValueError(
                f"values must have shape (N, h), one row per token, got shape {values.shape}."
            )
        if values.dtype.kind != "f":
            raise TypeError(f"values must be of a float type, got {values.dtype}.")
        if starts.dtype.kind not in "iu" or starts.ndim != 1 or not len(starts):
            raise ValueError(
                "starts must be integers of shape (n + 1,), got "
                f"{starts.dtype} of shape {starts.shape}."
            )
        starts = starts.astype(np.int64, copy=False)
        falls = np.diff(starts) < 0
        if starts[0] != 0 or starts[-1] != len(values) or falls.any():
            where = f"; it falls after entry {int(falls.argmax())}" if falls.any() else ""
            raise ValueError(
                f"starts must run from 0 to the {len(values)} rows of values without falling, "
                f"got {starts[0]} to {starts[-1]}{where}."
            )
        for name, shape, kinds in (
            ("ids", (len(values),), "iu"),
            ("spans", (len(values), 2), "iu"),
            ("is_special", (len(values),), "b"),
        ):
            if getattr(self, name) is None:
                continue
            column = np.asarray(getattr(self, name))
            if column.shape != shape:
                raise ValueError(
                    f"{name} must have shape {shape}, one row per token, got shape {column.shape}."
                )
            if column.dtype.kind not in kinds:
                wanted = "boolean" if kinds == "b" else "integers"
                raise TypeError(f"{name} must be {wanted}, got {column.dtype}.")
            object.__setattr__(self, name, column)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "starts", starts)

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Any],
        *,
        ids: Sequence[Any] | None = None,
        spans: Sequence[Any] | None = None,
        is_special: Sequence[Any] | None = None,
    ) -> Ragged:
        """Concatenate the arrays of single texts.

        Parameters
        ----------
        rows : sequence of array-like of float, shapes (L_i, h)
            Token vectors of each text.
        ids, spans, is_special : sequence of array-like, shapes (L_i,), (L_i, 2), (L_i,), optional
            The columns of each text.

        Returns
        -------
        texts : Ragged
            Its width is 0 if there are no texts.

        Raises
        ------
        ValueError
            If the texts differ in width, or a column does not have one entry per text.
        """
        arrays = [np.asarray(row) for row in rows]
        values = np.concatenate(arrays) if arrays else np.zeros((0, 0))
        lengths = [len(row) for row in arrays]
        columns = {}
        for name, given, empty in (
            ("ids", ids, np.zeros(0, dtype=np.int64)),
            ("spans", spans, np.zeros((0, 2), dtype=np.int64)),
            ("is_special", is_special, np.zeros(0, dtype=bool)),
        ):
            if given is None:
                continue
            # An empty list becomes a float array, which would turn all the others into floats.
            parts = [np.asarray(part) if len(part) else empty for part in given]
            if [len(part) for part in parts] != lengths:
                raise ValueError(f"{name} must have one entry per text, as rows has.")
            columns[name] = np.concatenate(parts) if parts else empty
        return cls(values, _starts(lengths), **columns)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int]:
        """Number of texts, (n,)."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """1: the axis of texts."""
        return 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each text, shape (n,)."""
        return np.diff(self.starts)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for start, stop in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            yield self.values[start:stop]

    def __repr__(self) -> str:
        return (
            f"Ragged(n={len(self)}, tokens={len(self.values)}, width={self.values.shape[1]}, "
            f"columns={list(self._columns())})"
        )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            if len(index) != 2 or index[1] is not Ellipsis:
                raise IndexError(
                    f"Ragged has one axis, got the index {index!r}: use one index, or "
                    "(index, Ellipsis)."
                )
            index = index[0]
        # NumPy names indices that are wrong.
        if not isinstance(index, slice):
            index = np.asarray(index) if np.size(index) else np.zeros(0, dtype=np.int64)
            if index.ndim == 0 and index.dtype.kind in "iu":
                return self.values[self.starts[:-1][index] : self.starts[1:][index]]
        elif index.step in (None, 1):
            start, stop, _ = index.indices(len(self))
            return self._between(start, max(start, stop))
        chosen = np.arange(len(self))[index]
        if chosen.ndim > 1:
            raise IndexError(f"Ragged has one axis, got the index {index!r}")
        return self._take(chosen)

    def without_special(self) -> Ragged:
        """Remove the special tokens.

        Returns
        -------
        texts : Ragged
            The same number of texts; a text of special tokens only becomes empty.

        Raises
        ------
        ValueError
            If is_special is None.
        """
        if self.is_special is None:
            raise ValueError("is_special is None: set it to say which tokens to remove.")
        kept = ~self.is_special
        # Number of tokens kept before each token, and in total.
        before = np.concatenate([[0], np.cumsum(kept)])
        columns = {name: column[kept] for name, column in self._columns().items()}
        return Ragged(self.values[kept], before[self.starts], **columns)

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = {name: getattr(self, name) for name in COLUMNS}
        return {name: column for name, column in columns.items() if column is not None}

    def _between(self, first: int, last: int) -> Ragged:
        tokens = slice(self.starts[first], self.starts[last])
        columns = {name: column[tokens] for name, column in self._columns().items()}
        starts = self.starts[first : last + 1] - self.starts[first]
        return Ragged(self.values[tokens], starts, **columns)

    def _take(self, index: NDArray[np.int64]) -> Ragged:
        lengths = self.lengths[index]
        starts = _starts(lengths)
        tokens = np.repeat(self.starts[index] - starts[:-1], lengths) + np.arange(starts[-1])
        columns = {name: column[tokens] for name, column in self._columns().items()}
        return Ragged(self.values[tokens], starts, **columns)


def _starts(lengths: Any) -> NDArray[np.int64]:
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts

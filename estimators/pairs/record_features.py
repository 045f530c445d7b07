"""Features of pairs of records, as a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from estimators.inputs import (
    CELL_END,
    as_records,
    as_texts,
    check_pairs,
    checked_kinds,
    distinct_texts,
    fingerprints,
    tags_of_texts,
)
from estimators.persistence import savable
from film.compare import (
    CROSSING_FEATURES,
    LEFTOVER_FEATURES,
    MEASURED,
    NUMBER_FEATURES,
    SPELLING_FEATURES,
    comparable_cell,
    crossing_features,
    is_day_first,
    kilometres,
    leftover_features,
    number_features,
    parsed,
    partner_features,
    spelling_features,
)
from film.pairs import pair_cosines
from film.text import normalize_text

WHOLE = "whole record"
PARTNER_FEATURES = ("rank, least", "rank, most", "margin, least", "margin, most")
COSINES = ("letters", "words")
MISSING = -1.0
"""Value of features of a missing value: trees split it off."""
MOST_KNOWN = 20_000
"""Number of known records of a side among which partners are sought."""

ONE_TABLE = 0.05
"""Share of the records of a side that the other side also has, from which on both are one table."""


@savable
class RecordFeatures(TransformerMixin, BaseEstimator):
    """Features of two records by column, across columns, and among all known records.

    Labels are not needed: `fit` recognises the kinds of columns and counts how rare words are.

    Parameters
    ----------
    kinds : dict of str to str, default=None
        Kind of some columns, one of `film.compare.COLUMN_KINDS`. Others are recognised from their
        values (`film.compare.column_kind`).
    columns : sequence of str, default=None
        Names of the columns if pairs come as texts whose cells are separated by U+001F. None: those
        of the records.

    Attributes
    ----------
    columns_ : tuple of str
        Names of the columns.
    kinds_ : dict of str to str
        Kind of each column that has a value.
    words_, letters_ : TfidfVectorizer
        Words, and character n-grams of two to four letters, of the known records.

    See Also
    --------
    record_duplicates : A classifier on these features.
    LexicalFeatures : Features of two sentences.

    Notes
    -----
    Features of a column are the number of missing sides; for numbers and dates `number_features`;
    for points the distance in km; for other kinds the cosines of character n-grams and of words,
    `spelling_features` and `crossing_features`. Features of the whole record are both cosines,
    `leftover_features`, and for both cosines the rank and the margin among the known records
    (`film.compare.partner_features`), which show whether each record is the best partner of the
    other. Known records are those of `fit`, at most 20,000 of each side, so the features of a pair
    do not depend on other pairs in the same call. Partners of a first record are sought among the
    second records, so pass two tables in the same order as in `fit`. If at least a twentieth of the
    records of one side are also on the other, all come from one table: then partners are sought
    among all records, and either record may be the first.

    O(n · k) similarities for n distinct records in pairs and k known records.

    Examples
    --------
    >>> import pandas as pd
    >>> from estimators import RecordFeatures, RecordPairs
    >>> left = pd.DataFrame({"name": ["Ann Lee", "Bo Li"], "price": [3.0, 4.0]})
    >>> right = pd.DataFrame({"name": ["Lee, Ann", "Ed Ng"], "price": [3.0, None]})
    >>> model = RecordFeatures().fit(RecordPairs(left, right))
    >>> model.kinds_
    {'name': 'text', 'price': 'number'}
    >>> found = model.transform(RecordPairs(left, right))
    >>> dict(zip(model.get_feature_names_out(), found[0].tolist()))["name: sorted words"]
    1.0
    """

    def __init__(self, kinds: dict[str, str] | None = None, columns: Any = None) -> None:
        self.kinds = kinds
        self.columns = columns

    def fit(self, pairs: Any, y: Any = None) -> RecordFeatures:
        """Recognise the kinds of columns, and count words.

        Parameters
        ----------
        pairs : RecordPairs, wide frame, or array of str of shape (n_pairs, 2)
            Records.
        y : object, default=None
            Not used.

        Returns
        -------
        self : RecordFeatures
            Fitted.

        Raises
        ------
        ValueError
            If ``kinds`` names an unknown column or kind, or fewer than half of the values of a
            column fit its kind.

        Warns
        -----
        UserWarning
            If a column has no value, which is then left out, or more than a tenth of its values do
            not fit the kind that was given.
        """
        if self.kinds is not None and not isinstance(self.kinds, dict):
            raise TypeError(f"kinds={self.kinds!r} must be a dict from column to kind, or None")
        columns = self.columns
        if columns is not None and not isinstance(columns, list | tuple):
            raise TypeError(f"columns={columns!r} must be a list of names, or None")
        records = as_records(pairs)
        columns = columns if records is None else records.columns
        texts = check_pairs(pairs, fits=True)
        if columns is None:
            n_cells = str(texts[0, 0]).count(CELL_END) + 1
            columns = [f"column {number + 1}" for number in range(n_cells)]
        columns = tuple(columns)
        cells = _cells(texts.ravel().tolist(), len(columns))
        values = {name: [row[place] for row in cells] for place, name in enumerate(columns)}
        kinds = checked_kinds(values, self.kinds or {}, "kinds")
        sides = [set(texts[:, side]) for side in (0, 1)]
        self._one_table = len(sides[0] & sides[1]) >= ONE_TABLE * min(map(len, sides))
        if self._one_table:
            sides = [sides[0] | sides[1]] * 2
        known = [_known(side) for side in sides]
        spoken = sorted({normalize_text(text) for side in known for text in side} - {""})
        if not spoken:
            raise ValueError("the records hold no word at all; give columns with values")
        single: Any = np.float32
        common: Any = {"sublinear_tf": True, "lowercase": False, "dtype": single}
        self.words_ = TfidfVectorizer(token_pattern=r"\S+", **common).fit(spoken)
        self.letters_ = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), **common).fit(
            spoken
        )
        self.columns_, self.kinds_ = columns, kinds
        self._n_known = len(spoken)
        self._day_first = {
            name: is_day_first(values[name]) for name, kind in kinds.items() if kind == "date"
        }
        self._known = [(fingerprints(side).astype(np.int64), *self._points(side)) for side in known]
        return self

    def transform(self, pairs: Any) -> np.ndarray:
        """Compute the features.

        Parameters
        ----------
        pairs : RecordPairs, wide frame, or array of str of shape (n_pairs, 2)
            Records with the columns of `fit`.

        Returns
        -------
        features : ndarray of float64, shape (n_pairs, n_features)
            Columns `get_feature_names_out`; −1 where a value is missing.

        Raises
        ------
        ValueError
            If columns differ from those of `fit`.
        """
        check_is_fitted(self)
        records = as_records(pairs)
        pairs = check_pairs(pairs) if records is None else records.texts(self.columns_)
        texts, codes = distinct_texts(pairs)
        cells = _cells(texts, len(self.columns_))
        first, second = codes.T
        spoken = [normalize_text(text) for text in texts]
        rarity = self._rarity()

        def of_pairs(values: Any) -> tuple[list[Any], list[Any]]:
            array = as_texts(list(values))
            return array[first].tolist(), array[second].tolist()

        blocks = []
        for name, kind in self.kinds_.items():
            column = [row[self.columns_.index(name)] for row in cells]
            if kind in MEASURED:
                numbers = parsed(column, kind, self._day_first.get(name, False))
                n_missing = np.isnan(numbers)[codes].sum(axis=1)
                measure = kilometres if kind == "point" else number_features
                blocks += [measure(numbers[first], numbers[second]), n_missing]
                continue
            written = [comparable_cell(value, kind) for value in column]
            empty = np.array([not value for value in written])[codes]
            words = [normalize_text(value) for value in column]
            cosines = np.column_stack([pair_cosines(rows, codes) for rows in self._points(words)])
            cosines[empty.any(axis=1)] = np.nan
            crossing = crossing_features(of_pairs(words), of_pairs(spoken), rarity)
            spelling = spelling_features(*of_pairs(written))
            blocks += [cosines, spelling, crossing, empty.sum(axis=1)]
        points = self._points(spoken)
        blocks += [pair_cosines(rows, codes) for rows in points]
        blocks.append(leftover_features(*of_pairs(spoken), rarity))
        names = fingerprints(texts).astype(np.int64)
        one_table = getattr(self, "_one_table", False)
        for number, rows in enumerate(points, start=1):
            sides = [
                partner_features(rows, asked, known[number], names, known[0], one_table=one_table)
                for asked, known in zip((codes, codes[:, ::-1]), self._known[::-1], strict=True)
            ]
            ranks, margins = (np.column_stack([side[:, of] for side in sides]) for of in (0, 1))
            blocks += [f(of, axis=1) for of in (ranks, margins) for f in (np.min, np.max)]
        return np.nan_to_num(np.column_stack(blocks).astype(np.float64), nan=MISSING)

    def _points(self, texts: list[str]) -> list[Any]:
        """Return unit vectors of letters and of words."""
        spoken = [normalize_text(text) for text in texts]
        return [sparse.csr_array(of.transform(spoken)) for of in (self.letters_, self.words_)]

    def _rarity(self) -> Any:
        """Return the function from a word to its rarity; unknown words are the rarest."""
        weights = dict(zip(self.words_.get_feature_names_out(), self.words_.idf_ - 1, strict=True))
        unknown = float(np.log(self._n_known + 1))
        return lambda word: float(weights.get(word, unknown))

    def groups_of_features(self) -> list[str]:
        """Column of each feature, or "whole record"."""
        return [name.rpartition(": ")[0] for name in self.get_feature_names_out()]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features, "column: feature", in order.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str, shape (n_features,)
            Names.
        """
        check_is_fitted(self)
        names = []
        for column, kind in self.kinds_.items():
            of = ("distance",) if kind == "point" else NUMBER_FEATURES
            if kind not in MEASURED:
                of = (*COSINES, *SPELLING_FEATURES, *CROSSING_FEATURES)
            names += [f"{column}: {feature}" for feature in (*of, "sides missing")]
        of = [*COSINES, *LEFTOVER_FEATURES]
        of += [f"{cosine}, {feature}" for cosine in COSINES for feature in PARTNER_FEATURES]
        return as_texts([*names, *(f"{WHOLE}: {feature}" for feature in of)])

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())


def _cells(texts: list[str], n_columns: int) -> list[list[str]]:
    """Split the texts of records into cells."""
    cells = [text.split(CELL_END) for text in texts]
    wrong = next((row for row, found in enumerate(cells) if len(found) != n_columns), None)
    if wrong is not None:
        raise ValueError(
            f"{texts[wrong]!r:.80} is no record of {n_columns} columns: give RecordPairs or a frame"
        )
    return cells


def _known(side: set[str]) -> list[str]:
    """Return the records of a side, evenly thinned out."""
    found = sorted(side)
    return found[:: -(-len(found) // MOST_KNOWN)]

"""Base of regressors on token vectors: similarities, units of y, scores and explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from inspect import signature
from reprlib import repr as shortened
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import TokenEncoder, warn_of_cuts, warn_of_unknown
from estimators.inputs import (
    bars_stay,
    check_bool,
    check_folder,
    check_pairs,
    check_real,
    check_verbose,
    cloned,
    tags_of_texts,
)
from estimators.inspection import ChunkAlignment, Explanation, find_chunks, token_side
from estimators.tokens.token_weights import (
    check_weights,
    vocabulary_weights,
    weights_of_tokens,
)
from estimators.training import check_judged, rank_correlation
from film.tokens import Ragged, chunk_cosines, joined_chunks, mutual_maxima, with_neighbours

BLOCK = 8192
"""Distinct texts whose tokens are in memory at a time: about 250 MB at 20 tokens of width 384."""


class Block(NamedTuple):
    """A block of pairs: their distinct texts, tokens, and optional token weights."""

    texts: list[str]
    tokens: Ragged
    weights: np.ndarray | None
    codes: np.ndarray  # (n, 2), each pair as text numbers
    advance: Callable[[int], Any]


def coded_blocks(
    pairs: np.ndarray, size: int | None = None
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield distinct texts and pairs as text numbers; the number of texts limits a block."""
    size = BLOCK if size is None else size
    numbers: dict[str, int] = {}
    codes: list[tuple[int, int]] = []
    for row, (text1, text2) in enumerate(pairs.tolist(), start=1):
        first = numbers.setdefault(str(text1), len(numbers))
        codes.append((first, numbers.setdefault(str(text2), len(numbers))))
        if len(numbers) >= size or row == len(pairs):
            yield list(numbers), np.array(codes, dtype=np.intp)
            numbers, codes = {}, []


def encoded_blocks(
    encoder: Any,
    table: np.ndarray | None,
    pairs: np.ndarray,
    *,
    special_tokens: bool,
    verbose: int,
    title: str,
) -> Iterator[Block]:
    """Yield all pairs, then warn once about truncated texts and unknown tokens.

    ``table`` has the weight of each vocabulary entry, or is None; ``title`` labels the progress
    bar.
    """
    from tqdm.auto import tqdm

    check_tokens(encoder, pairs, special_tokens)
    transformer = encoder.loaded()
    n_cut, unknown = 0, []
    with tqdm(total=len(pairs), desc=title, disable=not verbose, leave=bars_stay()) as bar:
        for texts, codes in coded_blocks(pairs):
            tokens, is_cut = encoder.encode(texts, warns=False)
            n_cut += int(is_cut[codes].sum())
            unknown.append(transformer.unknown_shares(tokens)[codes].ravel())
            if not special_tokens:
                tokens = tokens.without_special()
            weights = None
            if table is not None:
                weights = weights_of_tokens(table, np.asarray(tokens.ids), tokens.starts)
            yield Block(texts, tokens, weights, codes, bar.update)
    warn_of_cuts(n_cut, pairs.size, encoder.max_length, transformer.most_tokens, stacklevel=5)
    warn_of_unknown(np.concatenate(unknown), stacklevel=5)


def each_pair(blocks: Iterator[Block]) -> Iterator[tuple[Block, list[int]]]:
    """Yield each block with each of its pairs as text numbers, and advance the progress bar."""
    for block in blocks:
        for sides in block.codes.tolist():
            yield block, sides
            block.advance(1)


def check_tokens(encoder: Any, rows: np.ndarray, special_tokens: bool) -> None:
    """Raise if a text has no tokens, before any text is encoded."""
    transformer = encoder.loaded()
    has_special = transformer.tokenizer.num_special_tokens_to_add() > 0
    if special_tokens and has_special:
        return
    remedy = ", or give special_tokens=True" if has_special else ""
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        tokens = transformer.tokenize(block.ravel().tolist(), encoder.max_length)
        before = np.concatenate([[0], np.cumsum(~tokens.is_special)])
        empty = np.argwhere(np.diff(before[tokens.starts]).reshape(block.shape) == 0)
        if len(empty):
            row, column = empty[0]
            raise ValueError(
                f"pairs row {first + row}, column {column} is {shortened(block[row, column])}, "
                f"which has no tokens except special ones: drop the pair{remedy}."
            )


def vocabulary_table(encoder: Any, weights: Any, rows: np.ndarray) -> np.ndarray | None:
    """Return the weight of each vocabulary entry; "idf" counts distinct texts."""
    if weights is None:
        return None
    transformer = encoder.loaded()
    texts = sorted(set(rows.ravel().tolist()))

    def documents() -> Iterator[np.ndarray]:
        for first in range(0, len(texts), BLOCK):
            tokens = transformer.tokenize(texts[first : first + BLOCK], encoder.max_length)
            yield from np.split(tokens.ids, tokens.starts[1:-1])

    tokenizer = transformer.tokenizer
    return vocabulary_weights(
        weights, tokenizer.get_vocab(), tokenizer.convert_tokens_to_string, documents()
    )


ENCODER_PARAMETERS = ("max_length", "batch_size", "device", "dtype", "cache")


def learns_tokens(model: Any) -> bool:
    """Return whether ``model`` is a `TokenFILM`, possibly in a FrozenEstimator."""
    return hasattr(model, "standalone")


class TokenRegressor(RegressorMixin, BaseEstimator):
    """Shared base of `RCMDRegressor` and `TokenMatchingRegressor`.

    Subclasses define the similarity of texts, `_similarities`, the contribution of each token pair,
    `_contributions`, and a display name, `_title`.
    """

    objective = "regression"
    model: Any
    special_tokens: bool
    weights: Any
    max_length: int
    batch_size: int | None
    device: Any
    dtype: Any
    cache: Any
    verbose: int
    encoder_: Any
    token_weights_: np.ndarray | None
    slope_: float
    intercept_: float

    @property
    def _title(self) -> str:
        raise NotImplementedError

    def similarity(self, pairs: Any) -> np.ndarray:
        """Return the similarity of pairs, to which the contributions of `explain` sum.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Any number of pairs; they are processed in blocks of a few thousand distinct texts.

        Returns
        -------
        similarity : ndarray of float64, shape (n_pairs,)
            Higher is more similar. Always finite; if the model does not know the words of a text it
            carries little information, see `unknown_shares`.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, or has no tokens when special tokens are excluded. Raised before
            encoding.

        Warns
        -----
        UserWarning
            Once, with the number of texts that are truncated or have tokens that the model does not
            know.
        """
        check_is_fitted(self, "encoder_")
        pairs = check_pairs(pairs, encodable=True)
        return self._scores(self.encoder_, self.token_weights_, pairs)

    def predict(self, pairs: Any) -> np.ndarray:
        """Predict the similarity in the units of y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        predicted : ndarray of float64, shape (n_pairs,)
            ``intercept_ + slope_ * similarity(pairs)``; with ``classes_``, this is the log-odds of
            a duplicate and the probability is returned.
        """
        check_is_fitted(self, "encoder_")
        pairs = check_pairs(pairs, encodable=True)
        similarity = self._scores(self.encoder_, self.token_weights_, pairs)
        predicted = self.intercept_ + self.slope_ * similarity
        return expit(predicted) if hasattr(self, "classes_") else predicted

    def score(self, pairs: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return Spearman's rank correlation, or the fraction of triplets in the right order.

        Parameters
        ----------
        pairs : array-like of str, shape (n_rows, 2) or (n_rows, 3)
            Texts. Three columns only with ``objective="contrastive"``.
        y : array-like, shape (n_rows,), default=None
            Similarities in any unit, or labels; None for three columns.
        sample_weight : None
            Not supported, because ranks have no weights.

        Returns
        -------
        score : float
            From -1 to 1. For three columns, the fraction of rows whose first text is closer to the
            second than to the third.

        Raises
        ------
        ValueError
            If y is missing, constant or not expected, or a sample_weight is given.
        """
        check_is_fitted(self, "encoder_")
        if sample_weight is not None:
            raise ValueError("sample_weight has no meaning for a rank correlation; leave it out")
        rows, targets = check_judged("pairs", pairs, y, self.objective)
        if targets is None:
            return self._judged(self.encoder_, self.token_weights_, rows, None)
        return rank_correlation(self.predict(rows), targets)

    def unknown_shares(self, pairs: Any) -> np.ndarray:
        """Return the fraction of each text's tokens that the model does not know.

        All unknown tokens, such as words of another script or emoji, look the same to the model:
        two texts of unknown tokens only are as similar as copies. If both fractions are near 1, the
        similarity carries no information about the pair.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts. They are tokenised, not encoded.

        Returns
        -------
        shares : ndarray of float64, shape (n_pairs, 2)
            Unknown tokens of each text over all its tokens except special ones, from 0 to 1.
        """
        check_is_fitted(self, "encoder_")
        transformer = self.encoder_.loaded()
        found = []
        for texts, codes in coded_blocks(check_pairs(pairs, encodable=True)):
            tokens = transformer.tokenize(texts, self.encoder_.max_length)
            found.append(transformer.unknown_shares(tokens)[codes])
        return np.concatenate(found)

    def explain(self, pairs: Any) -> list[Explanation]:
        """Explain similarities by the contribution of every pair of tokens.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        explanations : list of Explanation
            One per pair; includes special tokens.
        """
        check_is_fitted(self, "encoder_")
        pairs = check_pairs(pairs, encodable=True)
        found = []
        blocks = self._blocks(self.encoder_, self.token_weights_, pairs)
        for block, (first, second) in each_pair(blocks):
            side1, x1, w1 = _described(self.encoder_, block, first, 1)
            side2, x2, w2 = _described(self.encoder_, block, second, 2)
            similarity, contributions = self._contributions(x1, w1, x2, w2)
            found.append(
                Explanation(
                    **side1,
                    **side2,
                    contributions=contributions,
                    similarity=float(similarity),
                    title=self._title,
                )
            )
        return found

    def align(
        self, pairs: Any, chunks: Any, above: float = 0.42, neighbours: float = 0.1
    ) -> list[ChunkAlignment]:
        """Align chunks of texts by the cosine of their summed token vectors.

        Each chunk's score includes a fraction of the scores of the chunks before and after it, and
        chunks that are each other's best match are aligned. An unaligned chunk joins the partner of
        another chunk if it covers part of it better (`film.tokens.joined_chunks`), so one chunk may
        align with two. On SemEval's iSTS this aligns better than pooling token contributions, which
        ``explain(pairs)[i].chunks(...)`` does and which sum to the similarity.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        chunks : list of (list, list), length n_pairs
            Chunks of both texts of each pair, as in `Explanation.chunks`, in text order; for any
            other order set ``neighbours=0``.
        above : float, default=0.42
            Only chunks with a higher score are aligned. This default and the next were chosen on
            answers-students of iSTS with all-MiniLM-L6-v2.
        neighbours : float, default=0.1
            Fraction of the mean cosine of the preceding and following chunks that is added to the
            cosine of two chunks, from 0 to 1. With 0, scores are cosines.

        Returns
        -------
        aligned : list of ChunkAlignment
            One per pair, with these scores. Without `joined`, its `pairs` are one to one.

        Raises
        ------
        TypeError, ValueError
            If chunks do not fit the pairs; see `Explanation.chunks`.

        Examples
        --------
        >>> from estimators import RCMDRegressor
        >>> pairs, chunks = [("A man sings", "A woman dances")], [(["A man"], ["A woman"])]
        >>> print(RCMDRegressor().fit(pairs).align(pairs, chunks)[0])  # doctest: +SKIP
        +0.5... A man ~ A woman
        """
        check_is_fitted(self, "encoder_")
        pairs = check_pairs(pairs, encodable=True)
        check_real("above", above, -1, 1)
        check_real("neighbours", neighbours, 0, 1)
        chunks = list(chunks)
        if len(chunks) != len(pairs) or any(len(sides) != 2 for sides in chunks):
            raise ValueError(
                f"chunks must hold two lists for each of the {len(pairs)} pairs, got {len(chunks)}"
            )
        found: list[ChunkAlignment] = []
        for block, sides in each_pair(self._blocks(self.encoder_, None, pairs)):
            row = len(found)
            (texts1, members1), (texts2, members2) = (
                find_chunks(
                    f"chunks[{row}][{side}]",
                    chunks[row][side],
                    block.texts[text],
                    np.asarray(block.tokens[[text]].spans),
                )
                for side, text in enumerate(sides)
            )
            x1, x2 = (block.tokens[text] for text in sides)
            cosines = chunk_cosines(x1, x2, members1, members2)
            scores = with_neighbours(cosines, neighbours)
            best = mutual_maxima(scores, above=above)
            joined = joined_chunks(x1, x2, members1, members2, scores, best, above=above)
            found.append(
                ChunkAlignment(
                    chunks1=texts1, chunks2=texts2, scores=scores, above=above, joined=joined
                )
            )
        return found

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__(), needs_y=False)

    def _fitted_encoder(self, rows: np.ndarray, y: Any) -> Any:
        """Return the encoder: the model, or a `TokenFILM` fitted on the rows."""
        if learns_tokens(self.model):
            return cloned("model", self.model).fit(rows, y)
        return self._encoder().fit(rows[0])

    def _encoder_to_train(self, rows: np.ndarray, y: Any) -> TokenEncoder:
        if not learns_tokens(self.model):
            return self._encoder().set_params(dtype="float32", cache=None).fit(rows[0])
        encoder = self._fitted_encoder(rows, y).standalone()
        encoder.loaded().set_dtype("float32")
        return encoder

    def _with_plain_model(self) -> Any:
        """Return a copy whose encoder is a transformers model, with a learned map as its head."""
        twin = copy(self)
        if learns_tokens(self.encoder_):
            twin.encoder_ = self.encoder_.standalone()
            for name in ENCODER_PARAMETERS:
                setattr(twin, name, getattr(twin.encoder_, name))
        return twin

    def _encoder(self) -> TokenEncoder:
        return TokenEncoder(
            self.model, **{name: getattr(self, name) for name in ENCODER_PARAMETERS}
        )

    def _check_parameters(self) -> None:
        if learns_tokens(self.model):
            self._check_left_to_encoder()
        check_weights(self.weights)
        check_bool("special_tokens", self.special_tokens)
        check_folder("cache", self.cache)
        check_verbose(self.verbose)

    def _check_left_to_encoder(self) -> None:
        """Raise if encoder parameters are set for a model that has its own encoder."""
        defaults = signature(type(self)).parameters
        for name in ENCODER_PARAMETERS:
            value = getattr(self, name)
            if value != defaults[name].default:
                raise ValueError(
                    f"{name}={value!r} is a parameter of the encoder, and model={self.model!r} has "
                    f"one of its own: give TokenFILM(TokenEncoder({name}=...))"
                )

    def _similarities(self, tokens: Ragged, weights: Any, codes: Any, advance: Any) -> np.ndarray:
        raise NotImplementedError

    def _contributions(self, x1: Any, w1: Any, x2: Any, w2: Any) -> tuple[Any, np.ndarray]:
        raise NotImplementedError

    def _scores(self, encoder: Any, table: Any, pairs: np.ndarray) -> np.ndarray:
        found = []
        for block in self._blocks(encoder, table, pairs):
            found.append(
                self._similarities(block.tokens, block.weights, block.codes, block.advance)
            )
        return np.concatenate(found)

    def _judged(self, encoder: Any, table: Any, rows: np.ndarray, targets: Any) -> float:
        if targets is None:
            near = self._scores(encoder, table, rows[:, [0, 1]])
            return float(np.mean(near > self._scores(encoder, table, rows[:, [0, 2]])))
        return rank_correlation(self._scores(encoder, table, rows), targets)

    def _blocks(self, encoder: Any, table: Any, pairs: np.ndarray) -> Iterator[Block]:
        return encoded_blocks(
            encoder,
            table,
            pairs,
            special_tokens=self.special_tokens,
            verbose=self.verbose,
            title=type(self).__name__,
        )


def _described(
    encoder: Any, block: Block, number: int, side: int
) -> tuple[dict[str, Any], Any, Any]:
    """Return the parts of an explanation for one text, its token vectors, and their weights."""
    tokens = block.tokens[[number]]
    start, end = block.tokens.starts[number : number + 2]
    weights = None if block.weights is None else block.weights[start:end]
    return token_side(side, block.texts[number], tokens, encoder), tokens.values, weights

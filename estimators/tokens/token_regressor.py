"""What regressors on token vectors share: pairs in blocks, units of y, scores, explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from reprlib import repr as shortened
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import TokenEncoder, check_cache_folder, warn_of_unknown
from estimators.inputs import check_bool, check_pair_scores, check_pairs, check_real, check_verbose
from estimators.inspection import ChunkAlignment, Explanation, find_chunks
from estimators.tokens.vocabulary import check_weights, vocabulary_weights, weights_of_tokens
from film.tokens import Ragged, chunk_cosines

BLOCK = 8192
"""Different texts whose tokens are held at once: some 250 MB at 20 tokens of width 384."""
ROUNDING = 1e-6
"""Similarities of float32 tokens that differ by less, of the largest, are taken for equal."""


class Block(NamedTuple):
    """Some of the pairs: their different texts, tokens, and weights of tokens if there are any."""

    texts: list[str]
    tokens: Ragged
    weights: np.ndarray | None
    codes: np.ndarray  # (n, 2) each pair as numbers of texts
    advance: Callable[[int], Any]


class TokenRegressor(RegressorMixin, BaseEstimator):
    """Base of `RCMDRegressor` and `TokenMatchingRegressor`."""

    model: Any
    special_tokens: bool
    weights: Any
    max_length: int
    batch_size: int
    device: Any
    dtype: Any
    cache: Any
    verbose: int

    @property
    def _title(self) -> str:
        raise NotImplementedError

    def fit(self, pairs: Any, y: Any = None) -> Any:
        """Load the model, count words where the weights ask for it, and learn the units of y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts; their order does not matter.
        y : array-like of float, shape (n_pairs,), default=None
            Similarity of each pair in any unit, or labels 0 and 1. None: `predict` gives
            `similarity`, and no pair is encoded here.

        Returns
        -------
        self : object
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, y does not fit the pairs, holds NaN or is constant, or a parameter
            is wrong; before any work.
        FileNotFoundError, ImportError
            If the model, or a package for it, is not there.
        """
        pairs = check_pairs(pairs, encodable=True)
        y = None if y is None else check_pair_scores(y, len(pairs))
        self._check_parameters()
        encoder = self._encoder().fit(pairs[0])
        self._check_encoder(encoder)
        table = self._vocabulary_weights(encoder, pairs)
        slope, intercept = 1.0, 0.0
        if y is not None:
            slope, intercept = fitted_line(self._scores(encoder, table, pairs), y)
        self.encoder_, self.token_weights_ = encoder, table
        self.slope_, self.intercept_ = slope, intercept
        return self

    def similarity(self, pairs: Any) -> np.ndarray:
        """Similarity of pairs, to which the contributions of `explain` sum.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts. Any number: they go through in blocks of some thousand different texts.

        Returns
        -------
        similarity : ndarray of float64, shape (n_pairs,)
            The greater, the closer. Always finite, and what the contributions sum to: where the
            model does not know the words of a text, it says little, and `unknown_shares` tells
            such pairs apart.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, or has no token where special tokens are left out; before any
            work.

        Warns
        -----
        UserWarning
            Once, with their number, where texts are cut, or have tokens that the model does not
            know.
        """
        check_is_fitted(self, "encoder_")
        return self._scores(self.encoder_, self.token_weights_, check_pairs(pairs, encodable=True))

    def predict(self, pairs: Any) -> np.ndarray:
        """Similarity in the units of y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        predicted : ndarray of float64, shape (n_pairs,)
            ``intercept_ + slope_ * similarity(pairs)``.
        """
        check_is_fitted(self, "encoder_")
        similarity = self._scores(
            self.encoder_, self.token_weights_, check_pairs(pairs, encodable=True)
        )
        return self.intercept_ + self.slope_ * similarity

    def score(self, pairs: Any, y: Any, sample_weight: Any = None) -> float:
        """Spearman's rank correlation of `predict` and y.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        y : array-like of float, shape (n_pairs,)
            Their similarities in any unit.
        sample_weight : None
            Not taken: ranks have no weights.

        Returns
        -------
        correlation : float
            From -1 to 1; not times 100.

        Raises
        ------
        ValueError
            If y is constant or a sample_weight is given.
        """
        if sample_weight is not None:
            raise ValueError("sample_weight has no meaning for a rank correlation; leave it out")
        pairs = check_pairs(pairs)
        y = check_pair_scores(y, len(pairs))
        found: Any = spearmanr(self.predict(pairs), y)
        return float(found.statistic)

    def unknown_shares(self, pairs: Any) -> np.ndarray:
        """Share of each text that the model cannot read.

        Tokens that are not in the vocabulary, such as words of another script or emoji, all read
        alike: two texts of nothing else have the similarity of copies, whatever they say. Where
        both shares are near 1, a similarity says nothing about the pair.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts. They are cut into tokens, not encoded.

        Returns
        -------
        shares : ndarray of float64, shape (n_pairs, 2)
            Unknown tokens of all but the special ones, from 0 to 1, of each text.
        """
        check_is_fitted(self, "encoder_")
        transformer = self.encoder_._loaded()
        found = []
        for texts, codes in _coded_blocks(check_pairs(pairs, encodable=True)):
            tokens = transformer.tokenize(texts, self.encoder_.max_length)
            found.append(transformer.unknown_shares(tokens)[codes])
        return np.concatenate(found)

    def explain(self, pairs: Any) -> list[Explanation]:
        """Say what every pair of tokens contributes to the similarity.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.

        Returns
        -------
        explanations : list of Explanation
            One a pair; special tokens are among the tokens.
        """
        check_is_fitted(self, "encoder_")
        return self._explanations(
            self.encoder_, self.token_weights_, check_pairs(pairs, encodable=True)
        )

    def align(self, pairs: Any, chunks: Any, above: float = 0.3) -> list[ChunkAlignment]:
        """Align chunks of texts by the cosine of their summed token vectors.

        Chunks are judged as wholes. On SemEval's iSTS this aligned better than pooling the
        contributions of their tokens, which is what ``explain(pairs)[i].chunks(...)`` does and
        what sums to the similarity.

        Parameters
        ----------
        pairs : array-like of str, shape (n_pairs, 2)
            Texts.
        chunks : list of (list, list), length n_pairs
            Chunks of both texts of each pair, as in `Explanation.chunks`.
        above : float, default=0.3
            Only chunks with a greater cosine align; the default was chosen on iSTS's train files
            with all-MiniLM-L6-v2.

        Returns
        -------
        aligned : list of ChunkAlignment
            One a pair, with cosines as scores.

        Raises
        ------
        TypeError, ValueError
            If chunks do not fit the pairs, or as in `Explanation.chunks`.

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
        chunks = list(chunks)
        if len(chunks) != len(pairs) or any(len(sides) != 2 for sides in chunks):
            raise ValueError(
                f"chunks must hold two lists for each of the {len(pairs)} pairs, got {len(chunks)}"
            )
        found: list[ChunkAlignment] = []
        for block in self._blocks(self.encoder_, None, pairs):
            for sides in block.codes.tolist():
                given = chunks[len(found)]
                named = [
                    find_chunks(
                        f"chunks[{len(found)}][{side}]",
                        given[side],
                        block.texts[text],
                        np.asarray(block.tokens[[text]].spans),
                    )
                    for side, text in enumerate(sides)
                ]
                (texts1, members1), (texts2, members2) = named
                x1, x2 = (block.tokens[text] for text in sides)
                scores = chunk_cosines(x1, x2, members1, members2)
                found.append(
                    ChunkAlignment(chunks1=texts1, chunks2=texts2, scores=scores, above=above)
                )
                block.advance(1)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def _encoder(self) -> TokenEncoder:
        return TokenEncoder(
            self.model,
            max_length=self.max_length,
            batch_size=self.batch_size,
            device=self.device,
            dtype=self.dtype,
            cache=self.cache,
        )

    def _check_parameters(self) -> None:
        check_weights(self.weights)
        check_bool("special_tokens", self.special_tokens)
        check_cache_folder(self.cache)
        check_verbose(self.verbose)

    def _check_encoder(self, encoder: TokenEncoder) -> None:
        """Raise where the model does not fit the parameters."""

    def _similarities(self, tokens: Ragged, weights: Any, codes: Any, advance: Any) -> np.ndarray:
        raise NotImplementedError

    def _contributions(self, x1: Any, w1: Any, x2: Any, w2: Any) -> tuple[Any, np.ndarray]:
        raise NotImplementedError

    def _scores(self, encoder: TokenEncoder, table: Any, pairs: np.ndarray) -> np.ndarray:
        found = []
        for block in self._blocks(encoder, table, pairs):
            found.append(
                self._similarities(block.tokens, block.weights, block.codes, block.advance)
            )
        return np.concatenate(found)

    def _explanations(
        self, encoder: TokenEncoder, table: Any, pairs: np.ndarray
    ) -> list[Explanation]:
        found = []
        for block in self._blocks(encoder, table, pairs):
            for first, second in block.codes.tolist():
                side1, side2 = _side(encoder, block, first), _side(encoder, block, second)
                similarity, contributions = self._contributions(
                    side1["values"], side1["weights"], side2["values"], side2["weights"]
                )
                found.append(
                    Explanation(
                        **{f"{name}1": side1[name] for name in DESCRIBED},
                        **{f"{name}2": side2[name] for name in DESCRIBED},
                        contributions=contributions,
                        similarity=float(similarity),
                        title=self._title,
                    )
                )
                block.advance(1)
        return found

    def _blocks(self, encoder: TokenEncoder, table: Any, pairs: np.ndarray) -> Iterator[Block]:
        from tqdm.auto import tqdm

        self._check_tokens(encoder, pairs)
        transformer = encoder._loaded()
        n_cut, unknown = 0, []
        with tqdm(total=len(pairs), desc=type(self).__name__, disable=not self.verbose) as bar:
            for texts, codes in _coded_blocks(pairs):
                tokens, is_cut = encoder._tokens(texts, warns=False)
                n_cut += int(is_cut[codes].sum())
                unknown.append(transformer.unknown_shares(tokens)[codes].ravel())
                if not self.special_tokens:
                    tokens = tokens.without_special()
                weights = None
                if table is not None:
                    weights = weights_of_tokens(table, np.asarray(tokens.ids), tokens.starts)
                yield Block(texts, tokens, weights, codes, bar.update)
        encoder._warn_of_cuts(n_cut, pairs.size, transformer.most_tokens, stacklevel=5)
        warn_of_unknown(np.concatenate(unknown), stacklevel=5)

    def _check_tokens(self, encoder: TokenEncoder, pairs: np.ndarray) -> None:
        """Raise where a text has no token, before any is encoded."""
        transformer = encoder._loaded()
        has_special = transformer.tokenizer.num_special_tokens_to_add() > 0
        if self.special_tokens and has_special:
            return
        remedy = ", or give special_tokens=True" if has_special else ""
        for first in range(0, len(pairs), BLOCK):
            block = pairs[first : first + BLOCK]
            tokens = transformer.tokenize(block.ravel().tolist(), encoder.max_length)
            before = np.concatenate([[0], np.cumsum(~tokens.is_special)])
            empty = np.argwhere(np.diff(before[tokens.starts]).reshape(block.shape) == 0)
            if len(empty):
                row, column = empty[0]
                raise ValueError(
                    f"pairs row {first + row}, column {column} is {shortened(block[row, column])}, "
                    f"which has no token but special ones: drop the pair{remedy}."
                )

    def _vocabulary_weights(self, encoder: TokenEncoder, pairs: np.ndarray) -> np.ndarray | None:
        if self.weights is None:
            return None
        transformer = encoder._loaded()
        tokenizer = transformer.tokenizer
        return vocabulary_weights(
            self.weights,
            tokenizer.get_vocab(),
            tokenizer.convert_tokens_to_string,
            _documents(transformer, sorted(set(pairs.ravel().tolist())), self.max_length),
        )


DESCRIBED = ("text", "tokens", "offsets", "special", "unknown")


def fitted_line(similarity: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and intercept of the least squares line; level where similarities are equal."""
    if np.ptp(similarity) <= ROUNDING * np.abs(similarity).max():
        return 0.0, float(y.mean())
    slope, intercept = np.polyfit(similarity, y, 1)
    return float(slope), float(intercept)


def _coded_blocks(pairs: np.ndarray) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield different texts and pairs as numbers of them; a block is full by its texts."""
    numbers: dict[str, int] = {}
    codes: list[tuple[int, int]] = []
    for row, (text1, text2) in enumerate(pairs.tolist(), start=1):
        first = numbers.setdefault(str(text1), len(numbers))
        codes.append((first, numbers.setdefault(str(text2), len(numbers))))
        if len(numbers) >= BLOCK or row == len(pairs):
            yield list(numbers), np.array(codes, dtype=np.intp)
            numbers, codes = {}, []


def _documents(transformer: Any, texts: list[str], max_length: int) -> Iterator[np.ndarray]:
    """Yield the entries of the vocabulary in each text."""
    for first in range(0, len(texts), BLOCK):
        tokens = transformer.tokenize(texts[first : first + BLOCK], max_length)
        yield from np.split(tokens.ids, tokens.starts[1:-1])


def _side(encoder: TokenEncoder, block: Block, number: int) -> dict[str, Any]:
    """Give what an explanation says of one text, with its vectors and weights."""
    text, found = block.texts[number], block.tokens[[number]]
    start, end = block.tokens.starts[number : number + 2]
    return {
        "text": text,
        "tokens": _token_names(encoder, text, found),
        "offsets": found.spans,
        "special": found.is_special,
        "unknown": encoder._loaded().is_unknown(found.ids),
        "values": found.values,
        "weights": None if block.weights is None else block.weights[start:end],
    }


def _token_names(encoder: TokenEncoder, text: str, tokens: Ragged) -> list[str]:
    """Name tokens as the text spells them, and those without characters as the model does."""
    names = encoder.token_names(tokens.ids)
    spans = np.asarray(tokens.spans).tolist()
    return [text[start:end] or name for (start, end), name in zip(spans, names, strict=True)]

"""Weights of tokens: given by name, counted in texts, or learned from texts without labels."""

from __future__ import annotations

import copy
import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from estimators.encoders import Tokens, Transformer
from estimators.inputs import (
    check_integer,
    check_real,
    check_seed,
    check_texts,
    check_verbose,
    keeps_unfinished,
    tags_of_texts,
)
from estimators.persistence import savable
from film.training import contrastive_loss, unit_rows, weighted_mean

TEXTS_AT_ONCE = 32
"""Texts of similar length that are encoded together, to limit padding."""


@savable
@dataclass(eq=False, repr=False)
class TokenWeights(BaseEstimator):
    """Learn how important each vocabulary token is, from unlabelled texts.

    Every text is encoded twice with dropout. Its two weighted token means should be closer to each
    other than to the means of other texts: unsupervised SimCSE (Gao et al., 2021) with one weight
    per vocabulary entry, as in Wang and Yu, "Going beyond sentence embeddings: a token-level
    matching algorithm" (2023). Use the weights in a `TokenMatchingRegressor` or `RCMDRegressor`
    whose model has the same vocabulary.

    Parameters
    ----------
    model : str or path-like, default=None
        Name of a model on the Hugging Face hub or a local folder; None is the packaged
        all-MiniLM-L6-v2 (extra ``minilm``). It must have dropout. Its own weights do not change.
    steps : int, default=200
        Number of batches. A few are enough; with many, the weights of rare tokens drift.
    batch_size : int, default=64
        Distinct texts per batch, at least 2; each is a negative of all others. A smaller corpus is
        one batch.
    learning_rate : float, default=0.1
        Initial learning rate of Adagrad, falling linearly to 0; roughly the change in the log
        weight of a token at its first occurrence.
    temperature : float, default=0.5
        Temperature of the contrastive loss. Lower values focus on texts that are almost confused.
    max_length : int, default=32
        Maximum number of tokens per text, including special ones; longer texts are truncated.
    random_state : int, RandomState instance or None, default=None
        Seeds order and dropout. With an int, a fit on CPU is exactly reproducible.
    device : str, default=None
        Torch device. None uses "cuda" if torch finds a GPU, else "cpu".
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    weights_ : dict of str to float
        Learned weight of each token that occurred, by its vocabulary spelling.
    token_weights_ : ndarray of float64, shape (n_vocabulary,)
        Weight of each vocabulary entry, all positive: 1 for tokens that did not occur in a batch
        and for special tokens such as [CLS], which are not learned.
    loss_curve_ : ndarray of float64, shape (n_steps,)
        Contrastive loss of each batch.

    See Also
    --------
    TokenMatchingRegressor : Uses these weights.

    Notes
    -----
    The paper also trains the model and the weights of special tokens. Here both stay fixed: learned
    special tokens lost weight, and matching became less accurate. At SimCSE's temperature of 0.05 a
    trained sentence encoder separates all texts of a batch, so there is little left to learn.

    Learned weights do not improve every model. The paper reports a gain for models that use [CLS];
    for all-MiniLM-L6-v2, which averages its tokens with equal weights, there was none. The corpus
    should resemble the texts to compare: weights learned from books made captions much worse.

    Takes the time to encode ``2 * steps * batch_size`` texts: a minute or two for MiniLM on two
    cores. `sklearn.base.clone` keeps the fitted state, as for FrozenEstimator, so that a regressor
    with weights can be cross-validated. Ctrl-C ends a fit with the current weights.

    Examples
    --------
    >>> from estimators import TokenMatchingRegressor, TokenWeights
    >>> corpus = ["A man is playing a guitar.", "Two dogs run.", "A cat sat on a mat."]
    >>> weights = TokenWeights(steps=20, random_state=0).fit(corpus)  # doctest: +SKIP
    >>> weights.weakest(2)  # doctest: +SKIP
    [('.', 0.7...), ('a', 0.8...)]
    >>> model = TokenMatchingRegressor(weights=weights)  # doctest: +SKIP
    """

    model: Any = None
    _: KW_ONLY
    steps: int = 200
    batch_size: int = 64
    learning_rate: float = 0.1
    temperature: float = 0.5
    max_length: int = 32
    random_state: Any = None
    device: Any = None
    verbose: int = 0

    def fit(self, corpus: Any, y: Any = None) -> TokenWeights:
        """Learn the weights.

        Parameters
        ----------
        corpus : iterable of str
            Texts, a few thousand to cover more than the most common words. Texts with the same
            tokens count once, and texts without tokens are left out.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : TokenWeights
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, not a string or contains a lone surrogate, fewer than two distinct
            texts are left, a parameter is out of range, or the model has no dropout.
        FileNotFoundError, ImportError
            If the model or a required package is missing.

        Warns
        -----
        UserWarning
            If Ctrl-C stops the fit before the last step.
        """
        check_integer("steps", self.steps, 1)
        batch_size = check_integer("batch_size", self.batch_size, 2)
        _check_above_0("learning_rate", self.learning_rate)
        _check_above_0("temperature", self.temperature)
        check_verbose(self.verbose)
        seed = int(check_seed(self.random_state).randint(2**31 - 1))
        texts = check_texts(corpus, "corpus", encodable=True)
        transformer = Transformer(self.model, self.device, None, self.verbose)
        transformer.check_max_length(self.max_length)
        _check_dropout(transformer)
        tokens = transformer.tokenize(texts, self.max_length)
        rows = _different(tokens)
        if len(rows) < 2:
            raise ValueError(
                f"corpus has {len(rows)} distinct texts with tokens among {len(texts)}; "
                "learning needs at least 2, and works well with a few thousand"
            )
        vocabulary = transformer.tokenizer.get_vocab()
        special = np.unique(tokens.ids[tokens.is_special])
        batches = _batches(rows, min(batch_size, len(rows)), np.random.default_rng(seed))
        logs, seen, losses = self._learn(
            transformer, tokens, batches, special, max(vocabulary.values()) + 1, seed
        )
        self.token_weights_ = np.exp(logs)
        self.weights_ = {
            token: float(self.token_weights_[entry])
            for token, entry in sorted(vocabulary.items(), key=lambda item: item[1])
            if seen[entry]
        }
        self.loss_curve_ = np.array(losses)
        self._vocabulary, self._params = _name(vocabulary), self._learned_by()
        return self

    def strongest(self, n: int = 10) -> list[tuple[str, float]]:
        """Return the learned tokens with the highest weights.

        Parameters
        ----------
        n : int, default=10
            Number of tokens.

        Returns
        -------
        tokens : list of (str, float)
            Tokens and weights, highest weight first.
        """
        return self._ranked(n, -1)

    def weakest(self, n: int = 10) -> list[tuple[str, float]]:
        """Return the learned tokens with the lowest weights.

        Parameters
        ----------
        n : int, default=10
            Number of tokens.

        Returns
        -------
        tokens : list of (str, float)
            Tokens and weights, lowest weight first.
        """
        return self._ranked(n, 1)

    def check_usable(self) -> None:
        """Raise unless fitted with the current parameters.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError
            If a parameter was changed after `fit`, for example by a grid search.
        """
        if not hasattr(self, "token_weights_"):
            raise NotFittedError(
                "weights is a TokenWeights that is not fitted: call its fit with a corpus of "
                "texts first"
            )
        for name, value in self._learned_by().items():
            if value != self._params[name]:
                raise ValueError(
                    f"weights is a TokenWeights fitted with {name}={self._params[name]!r}, and now "
                    f"{name}={value!r}: fit it again"
                )

    def table(self, vocabulary: Mapping[str, int]) -> np.ndarray:
        """Return the weights of a vocabulary, which must be that of `fit`.

        Parameters
        ----------
        vocabulary : mapping of str to int
            Entry of each token.

        Returns
        -------
        table : ndarray of float64, shape (n_vocabulary,)
            A copy of ``token_weights_``.

        Raises
        ------
        ValueError
            If the vocabulary differs.
        """
        check_is_fitted(self, "token_weights_")
        if _name(vocabulary) != self._vocabulary:
            raise ValueError(
                f"weights is a TokenWeights fitted with a vocabulary of {len(self.token_weights_)} "
                f"entries, which is not the vocabulary of the regressor's model, {len(vocabulary)} "
                "tokens; fit it with model= as in the regressor"
            )
        return self.token_weights_.copy()

    def __sklearn_clone__(self) -> Any:
        # Fitted arrays are never changed in place, so copies can share them.
        return copy.copy(self) if hasattr(self, "token_weights_") else super().__sklearn_clone__()

    def _learn(
        self,
        transformer: Transformer,
        tokens: Tokens,
        batches: Iterator[np.ndarray],
        special: np.ndarray,
        n_vocabulary: int,
        seed: int,
    ) -> tuple[np.ndarray, np.ndarray, list[float]]:
        """Return log weights, which entries were learned, and the losses."""
        import torch
        from tqdm.auto import tqdm

        device, steps = transformer.device, self.steps
        logs = torch.zeros(n_vocabulary, device=device, requires_grad=True)
        is_learned = torch.ones(n_vocabulary, device=device)
        is_learned[torch.from_numpy(special).to(device)] = 0.0
        seen, losses = np.zeros(n_vocabulary, dtype=bool), []
        optimizer = torch.optim.Adagrad([logs], lr=self.learning_rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
        kind = torch.device(device).type

        def means(part: np.ndarray) -> Any:
            with torch.no_grad():
                features, mask = transformer.forward(tokens, part)
            ids = torch.zeros(mask.shape, dtype=torch.long, device=device)
            ids[mask] = torch.from_numpy(_ids(tokens, part)).to(device)
            return unit_rows(weighted_mean(features, (logs * is_learned).exp()[ids], mask))

        transformer.module.train()
        try:
            # Do not disturb the caller's random state.
            with (
                torch.random.fork_rng(devices=[] if kind == "cpu" else [device]),
                tqdm(total=steps, desc=type(self).__name__, disable=not self.verbose) as progress,
            ):
                torch.manual_seed(seed)
                for _ in range(steps):
                    batch = next(batches)
                    batch = batch[np.argsort(tokens.lengths[batch], kind="stable")]
                    parts = np.array_split(batch, -(-len(batch) // TEXTS_AT_ONCE))
                    one, other = (torch.cat([means(part) for part in parts]) for _ in range(2))
                    loss = contrastive_loss(one @ other.T, self.temperature)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    schedule.step()
                    seen[_ids(tokens, batch)] = True
                    losses.append(float(loss.detach()))
                    progress.set_postfix_str(f"loss {losses[-1]:.4f}", refresh=False)
                    progress.update()
        except KeyboardInterrupt:
            if not losses or not keeps_unfinished():
                raise
            warnings.warn(
                f"stopped after {len(losses)} of {steps} steps; the weights learned so far "
                "are kept",
                UserWarning,
                stacklevel=3,
            )
        seen[special] = False
        found = (logs * is_learned).detach().cpu().numpy().astype(np.float64)
        return found, seen, losses

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

    def _learned_by(self) -> dict[str, Any]:
        """Return the parameters that affect the weights, with paths as strings."""
        return {
            name: os.fspath(value) if isinstance(value, os.PathLike) else value
            for name, value in self.get_params().items()
            if name not in ("device", "verbose")
        }

    def _ranked(self, n: int, sign: int) -> list[tuple[str, float]]:
        check_is_fitted(self, "token_weights_")
        check_integer("n", n, 1)
        return sorted(self.weights_.items(), key=lambda item: (sign * item[1], item[0]))[:n]


def _check_above_0(name: str, value: Any) -> None:
    if check_real(name, value, 0) == 0:
        raise ValueError(f"{name}={value!r} must be above 0")


def _check_dropout(transformer: Transformer) -> None:
    from torch.nn import Dropout

    rates = [part.p for part in transformer.module.modules() if isinstance(part, Dropout)]
    if not any(rates):
        raise ValueError(
            f"{type(transformer.module).__name__} has no dropout, which TokenWeights needs; "
            "set model to a copy whose config.json has dropout, such as hidden_dropout_prob 0.1"
        )


def _different(tokens: Tokens) -> np.ndarray:
    """Return rows with a non-special token, one per distinct token sequence."""
    found: dict[bytes, int] = {}
    for row, (first, last) in enumerate(zip(tokens.starts[:-1], tokens.starts[1:], strict=True)):
        if not tokens.is_special[first:last].all():
            found.setdefault(tokens.ids[first:last].tobytes(), row)
    return np.array(list(found.values()), dtype=np.intp)


def _batches(rows: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield batches endlessly, in random order in each pass; incomplete batches are dropped."""
    while True:
        order = rng.permutation(rows)
        for first in range(0, len(order) - size + 1, size):
            yield order[first : first + size]


def _ids(tokens: Tokens, rows: np.ndarray) -> np.ndarray:
    """Concatenate the vocabulary entries of the texts' tokens."""
    return np.concatenate([tokens.ids[tokens.starts[r] : tokens.starts[r + 1]] for r in rows])


def _name(vocabulary: Mapping[str, int]) -> str:
    """Return a hash of a vocabulary."""
    lines = (f"{entry}\t{token}" for token, entry in sorted(vocabulary.items()))
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


WEIGHTS = ("idf", "words")


def check_weights(weights: Any) -> None:
    """Raise unless ``weights`` is valid for `vocabulary_weights`."""
    if weights is None or (isinstance(weights, str) and weights in WEIGHTS):
        return
    if isinstance(weights, TokenWeights):
        weights.check_usable()
        return
    if not isinstance(weights, Mapping):
        raise ValueError(
            f"weights={weights!r} must be None, {', '.join(map(repr, WEIGHTS))}, a fitted "
            "TokenWeights or a mapping from tokens of the vocabulary to numbers"
        )
    for token, weight in weights.items():
        if not isinstance(token, str):
            raise TypeError(f"weights holds {token!r}; give names of tokens, such as '##ing'")
        check_real(f"weights[{token!r}]", weight, 0)


def vocabulary_weights(
    weights: Any,
    vocabulary: Mapping[str, int],
    spell: Callable[[list[str]], str],
    documents: Iterable[NDArray[Any]],
) -> NDArray[np.float64]:
    """Return the weight of every vocabulary entry.

    Parameters
    ----------
    weights : "idf", "words", TokenWeights or mapping
        Validated by `check_weights`.
    vocabulary : mapping of str to int
        Entry of each token; V is the largest entry plus one.
    spell : callable
        Turns tokens into text: some models write "Ġ" for a space, which would count as a letter.
    documents : iterable of ndarray of int
        Entries of each text, for "idf".

    Returns
    -------
    table : ndarray of float64, shape (V,)
        "idf" is ``ln((1 + n) / (1 + df)) + 1`` as in scikit-learn, which is never 0. "words" is 0
        for entries without a letter or digit, such as ",", and 1 for others, including "[CLS]".
        `TokenWeights` and mappings are 1 for entries that they lack.

    Raises
    ------
    ValueError
        If a mapping contains a token that is not in the vocabulary, or weights were learned with
        another vocabulary.
    """
    if isinstance(weights, TokenWeights):
        return weights.table(vocabulary)
    table = np.ones(max(vocabulary.values()) + 1)
    if isinstance(weights, Mapping):
        unknown = sorted(set(weights) - set(vocabulary))
        if unknown:
            raise ValueError(
                f"weights holds {unknown[0]!r}, which is not in the vocabulary of the model "
                f"({len(unknown)} such tokens); spell tokens as the model does, such as '##ing'"
            )
        for token, weight in weights.items():
            table[vocabulary[token]] = weight
    elif weights == "words":
        for token, entry in vocabulary.items():
            table[entry] = any(map(_is_of_word, spell([token])))
    else:
        n, counts = 0, np.zeros(len(table))
        for entries in documents:
            n += 1
            counts[np.unique(entries)] += 1
        table += np.log((1 + n) / (1 + counts))
    return table


def weights_of_tokens(
    table: NDArray[np.float64], ids: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the weight of each token; a text whose weights are all 0 gets equal weights."""
    weights = table[ids]
    lengths = np.diff(starts)
    text = np.repeat(np.arange(len(lengths)), lengths)
    total = np.bincount(text, weights, minlength=len(lengths))
    return np.where(total[text] > 0, weights, 1.0)


def training_weights(table: NDArray[np.float64], tokens: Tokens, special: bool) -> np.ndarray:
    """Return the weight of every token in training, 0 for excluded special tokens."""
    kept = np.full(len(tokens.ids), special) | ~tokens.is_special
    starts = np.concatenate([[0], np.cumsum(kept)])[tokens.starts]
    found = np.zeros(len(kept))
    found[kept] = weights_of_tokens(table, tokens.ids[kept], starts)
    return found


def _is_of_word(character: str) -> bool:
    # The replacement character is part of a multi-byte character, usually a letter.
    return character.isalnum() or character == "\ufffd"

"""A model of which sentences fit into which contexts, learned from documents without labels."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from estimators.contexts.building import (
    Spelling,
    adopt_arrays,
    build,
    discriminator_of,
    encoded,
    generator_of,
    hashed_counts,
)
from estimators.encoders import check_device
from estimators.inputs import (
    check_choice,
    check_documents,
    check_integer,
    check_real,
    check_seed,
    check_texts,
    check_verbose,
    cloned,
    numbered_texts,
    progress_bar,
    tags_of_texts,
)
from estimators.persistence import (
    CONTEXT_MODEL,
    read_arrays,
    read_fitted,
    savable,
    write_fitted,
)
from film.contexts import (
    Likeness,
    SentenceCorpus,
    combine_terms,
    encode_contexts,
    encode_texts,
    generation_terms,
    largest_first,
    make_corpus,
    nearest_rows,
    own_places,
    select_contexts,
    word_sets,
)
from film.threads import FIRST_USE
from film.unpacking import check_sparse

N_RETRIEVED = 20_000
"""Number of chunks that TF-IDF retrieves for the discriminator."""
SENTENCES_AT_ONCE = 32
"""Sentences whose logits in all contexts are in memory at once."""
N_REFERENCE = 500
"""Number of fixed sentences whose scores compare contexts."""


class Sentences(NamedTuple):
    """Sentences to be scored."""

    texts: list[str]
    vectors: np.ndarray  # (n, q) float32: the centre vectors of the discriminator

    def take(self, rows: Any) -> Sentences:
        """Return some of them."""
        return Sentences([self.texts[row] for row in rows], self.vectors[rows])


class ContextSpace:
    """The opened parts of a fitted `ContextModel`.

    Parameters
    ----------
    settings, arrays : dict
        As in `Parts`.
    fixed : ndarray of int
        Rows of the fixed set of contexts.
    encoder : transformer or None
        Fitted; None if states come from spelling.
    device : str
        Device of the networks.

    Raises
    ------
    KeyError, ValueError
        If a part is missing or damaged.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        arrays: dict[str, np.ndarray],
        *,
        fixed: np.ndarray,
        encoder: Any,
        device: str,
    ) -> None:
        self.corpus = SentenceCorpus(
            arrays["text"].tobytes().decode().split("\n"),
            arrays["documents"],
            settings["names"],
            chunk_length=settings["chunk_length"],
            codes=arrays["codes"],
        )
        self.fixed, self.centres = fixed, self.corpus.centres()
        self.chunks = self.corpus.chunks[self.centres]
        self.prior = "corpus"
        self.tokenizer, self.max_length = settings.get("tokenizer"), settings.get("max_length")
        self.discriminator = discriminator_of(arrays)
        spelling = arrays.get("spelling.weights")
        self.encoder = encoder if spelling is None else Spelling(spelling, settings["seed"])
        self.generators: list[Any] = []
        if "generator" in settings:
            generator = generator_of(settings["generator"], device)
            # One network for all three tasks.
            self.generators = [adopt_arrays(generator, arrays, "generator.")] * 3
        self._encoded: Any = b"", None
        self.contexts = arrays["contexts"]
        self.idf = arrays["retrieval.idf"]
        parts = (arrays[f"retrieval.{name}"] for name in ("data", "indices", "indptr"))
        shape = self.corpus.n_chunks, len(self.idf)
        self.points = check_sparse(sp.csr_array(tuple(parts), shape=shape)).tocsc()

    def read(self, texts: list[str]) -> Sentences:
        """Return vectors of sentences."""
        # As the states of the corpus, which are kept in half of the precision.
        states = encoded(self.encoder, texts).astype(np.float16).astype(np.float32)
        return Sentences(texts, self.discriminator.centre(states))

    def tokens(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return tokens of texts, padded, and their numbers."""
        table = encode_texts(str(self.tokenizer), texts, self.max_length)
        return table.padded(np.arange(len(texts)))

    def place(self, rows: Any) -> np.ndarray:
        """Return the positions of contexts, given the rows of their centres.

        Raises
        ------
        ValueError
            If a row is not the centre of a context.
        """
        rows = np.asarray(rows, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.centres, rows), len(self.centres) - 1)
        wrong = self.centres[found] != rows
        if wrong.any():
            raise ValueError(
                "contexts must be rows of sentences with a neighbour on each side, got "
                f"{rows[wrong][0]}"
            )
        return found

    def log_fit(self, sentences: Sentences, rows: np.ndarray) -> np.ndarray:
        """Return log p(y = 1 | s, c) of all sentences in all contexts, (n, m) float32.

        The prior says that one of all n contexts is true, -log(1 + n exp(-z)) for the logit z, or
        one of two, as in training (Eq. 1).
        """
        vectors = np.asarray(self.contexts[self.place(rows)], dtype=np.float64)
        logits = sentences.vectors @ vectors.T
        # The prior of training is for one false context.
        n_false = len(self.centres) if self.prior == "corpus" else 1
        return -np.logaddexp(0, np.log(n_false) - logits).astype(np.float32)

    @functools.cached_property
    def reference(self) -> Sentences:
        """Fixed sentences of the corpus; their scores compare contexts."""
        n = min(N_REFERENCE, len(self.centres))
        rows = np.random.default_rng(0).choice(self.centres, n, replace=False)
        return self.read(self.corpus.texts(np.sort(rows)))

    @functools.cached_property
    def reference_levels(self) -> np.ndarray:
        """Mean first terms of the reference sentences over the fixed set, (R, 1)."""
        return self.log_fit(self.reference, self.fixed).mean(axis=1)[:, np.newaxis]

    def terms(
        self, sentences: Sentences, rows: list[np.ndarray], *, generates: bool = True
    ) -> list[np.ndarray]:
        """Return the terms of Eq. 3 of each sentence in its contexts, (m, 4) float32 each.

        Parameters
        ----------
        sentences : Sentences
            n of them.
        rows : list of n ndarrays of int
            Contexts of each, by the rows of their centres.
        generates : bool, default=True
            Whether to compute the terms of generators; otherwise they are 0.
        """
        found: list[Any] = [None] * len(rows)
        sharing: dict[bytes, list[int]] = {}
        for number, each in enumerate(rows):
            sharing.setdefault(each.tobytes(), []).append(number)
        for same in sharing.values():
            group, contexts = sentences.take(same), rows[same[0]]
            terms = np.zeros((len(same), len(contexts), 4), dtype=np.float32)
            terms[..., 0] = self.log_fit(group, contexts)
            if generates and self.generators:
                terms[..., 1:] = self._generation_terms(group, contexts)
            for number, each in zip(same, terms, strict=True):
                found[number] = each
        return found

    def _generation_terms(self, sentences: Sentences, rows: np.ndarray) -> np.ndarray:
        # The fixed set is used many times.
        key, contexts = self._encoded
        if key != rows.tobytes():
            sides = (self.tokens(self.corpus.texts(rows + step)) for step in (-1, 1))
            contexts = encode_contexts(self.generators[0], *sides)
            self._encoded = rows.tobytes(), contexts
        return generation_terms(self.generators[0], self.tokens(sentences.texts), contexts)

    def candidates(
        self, sentences: Sentences
    ) -> Iterator[tuple[Callable[[int], np.ndarray], bool]]:
        """Rank contexts for each sentence: those of retrieved chunks first, by the discriminator.

        Parameters
        ----------
        sentences : Sentences
            n of them.

        Yields
        ------
        first : callable
            Maps a number n to the positions of the n best contexts, best first.
        is_known : bool
            Whether the corpus contains a word of the sentence.
        """
        for start in range(0, len(sentences.texts), SENTENCES_AT_ONCE):
            stop = min(start + SENTENCES_AT_ONCE, len(sentences.texts))
            block = sentences.take(np.arange(start, stop))
            logits = np.empty((len(block.texts), len(self.contexts)), dtype=np.float32)
            for first in range(0, len(self.contexts), 16_384):
                vectors = np.asarray(self.contexts[first : first + 16_384], dtype=np.float32)
                logits[:, first : first + 16_384] = block.vectors @ vectors.T
            for line, chunks in zip(logits, self._retrieved(block.texts), strict=True):
                allowed = np.zeros(self.corpus.n_chunks, dtype=bool)
                allowed[chunks] = True
                first_of = functools.partial(_best_first, line, allowed[self.chunks])
                yield first_of, len(chunks) > 0

    def _retrieved(self, texts: list[str]) -> list[np.ndarray]:
        """Return the chunks with the largest TF-IDF products with each text."""
        queries = sp.csr_array(sp.csr_array(hashed_counts(texts)).multiply(self.idf[np.newaxis]))
        chunks, products = nearest_rows(queries, self.points, N_RETRIEVED)
        return [row[values > 0] for row, values in zip(chunks, products, strict=True)]

    def by_score(
        self, sentence: Sentences, places: np.ndarray, excluded: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Sort the contexts of one sentence by Eq. 3, without excluded ones; return positions."""
        places = places[~np.isin(self.centres[places], excluded)]
        if not len(places):
            return places
        (terms,) = self.terms(sentence, [self.centres[places]])
        return places[np.lexsort((places, -combine_terms(terms, weights)))]

    def own_places(self, texts: list[str]) -> list[np.ndarray]:
        """Return the rows of the contexts that contain each text, as centre or on a side."""
        return [own_places(rows) for rows in self.corpus.rows_of(texts)]

    def select(self, places: np.ndarray, size: int, excluded: np.ndarray) -> np.ndarray:
        """Choose a diverse set from ranked contexts; return positions."""
        rows = self.centres[places]
        words = word_sets(self.corpus.texts(rows - 1))
        chosen = select_contexts(rows, self.chunks[places], words, size, excluded=excluded)
        return places[chosen]


def _best_first(logits: np.ndarray, allowed: np.ndarray, size: int) -> np.ndarray:
    """Return the places of the greatest logits, those allowed before all others."""
    first, last = np.flatnonzero(allowed), np.flatnonzero(~allowed)
    first = first[largest_first(logits[first], size)]
    last = last[largest_first(logits[last], size - len(first))]
    return np.concatenate([first, last])


FORMAT = 3
ARRAYS = "arrays.safetensors"
NOT_SAVED = {"device", "random_state", "encoder"}
"""Parameters that a folder does not store: they depend on machine or fit, or are models."""
SAVED = {
    "losses": "loss_curve_",
    "scores": "scores_",
    "generator_losses": "generator_loss_curve_",
    "generator_scores": "generator_scores_",
    "perplexities": "perplexities_",
    "is_complete": "is_complete_",
}
"""Names in the JSON of a folder, and the attributes they hold."""
PRIORS = ("corpus", "training")
CONTEXTS_TRIED = 8
"""Candidates per wanted context for a diverse set; more are tried if these do not suffice."""
RANKED_PER_WANTED = 3
"""Contexts that Eq. 3 ranks per wanted context."""


@savable
@dataclass(eq=False, repr=False)
class ContextModel(TransformerMixin, BaseEstimator):
    """Learn from documents which sentences fit into which contexts.

    Two sentences have a similar meaning if they fit into the same contexts. `fit` splits documents
    into sentences. From scratch and without labels, it fits a discriminator, which predicts
    whether a sentence belongs between two others (Section 3.2.1), and optionally a generator, which
    generates a sentence from its neighbours (Section 3.2.2). `transform` scores texts in one fixed
    set of contexts (Eq. 3); use these vectors with the cosine, in `FILM` or in a stack.
    `contexts_of` chooses contexts for each text (Section 3.3); `ContextRegressor` uses it.

    Parameters
    ----------
    encoder : transformer, default=None
        Maps texts to fixed vectors, such as `SentenceEncoder`. None: vectors of the spelling of
        words, weighted by TF-IDF (`film.contexts.spelling_states`), from scratch. The
        discriminator learns a weight and a bias for the similarity of a sentence to its neighbours.
    generator : {"tiny", "small", "base", "large"}, 5 ints or None, default=None
        Size of the Transformer that generates a sentence from its neighbours (Section 3.2.2): a
        name in `film.contexts.SIZES`, or numbers as in `film.contexts.Size`. One network learns all
        three tasks, from the nearest sentence on each side. None: only the discriminator scores,
        which is some thousand times as fast, and better if the corpus has only millions of words.
    generator_epochs : float, default=1
        Passes over the corpus.
    n_contexts : int, default=500
        Number of contexts of a sentence, and of the fixed set. A set has at most one context per
        chunk of 10 sentences, and left sentences that share less than half of their words.
    prior : {"corpus", "training"}, default="corpus"
        Prior probability in the first term of Eq. 3. "corpus": one of all n contexts is true,
        -log(1 + n exp(-z)) for the logit z. "training": one of two is true, as in training,
        -log(1 + exp(-z)), which is Eq. 1 in the paper. The order of contexts is the same.
    weights : sequence of 4 floats, default=(1, 1, 1, 1)
        λ of Eq. 3: discriminator, sentence given context, left and right given the rest. The
        weights of terms that the model does not have are ignored.
    device : str, default=None
        "cpu", "cuda", ...; None: a GPU if there is one.
    random_state : int, RandomState or None, default=None
        Seed.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    contexts_ : ndarray of int64, shape (n_contexts,)
        The fixed set: rows of centre sentences in the corpus.
    encoder_ : estimator or None
        The fitted ``encoder``.
    loss_curve_ : list of float
        Loss of the discriminator in each step.
    scores_ : list of (int, float)
        Steps and held-out loss of the discriminator; a model that learned nothing has log 2.
    generator_loss_curve_ : list of float
        Loss of the generator in each step, in nats per token; empty without a generator.
    generator_scores_ : list of (int, float)
        Steps and held-out loss of the generator.
    perplexities_ : dict of str to float
        Perplexities per token of held-out documents, which are 2 % of the corpus: "sentence",
        "left" and "right", each given the two others, and "unigram", of sentences by token
        frequencies alone. Empty without a generator or held-out documents.
    is_complete_ : bool
        False if Ctrl-C ended a training.
    corpus_ : SentenceCorpus
        Sentences, documents and chunks.
    vocabulary_ : str or None
        The tokenizer, as JSON of the package `tokenizers`; None without a generator.
    discriminator_ : film.contexts.Likeness
        Its weight and its bias.
    generators_ : list of torch.nn.Module
        `film.contexts.Generator` of sentences, left sides and right sides: the same network three
        times. Empty without a generator.

    See Also
    --------
    film.contexts.make_corpus : Makes a corpus with another language or length of chunks.
    SentenceEncoder : Vectors from a pretrained model.

    Notes
    -----
    A context is identified by the row of its centre sentence. Vectors of all contexts are held in
    half precision, so one product ranks them for a sentence. It takes 2 q n operations for n
    sentences of the corpus, with q = 514, or 2 more than the width of other vectors. The same seed
    gives the same training on one CPU.

    References
    ----------
    Sun et al., Sentence similarity based on contexts (2022).

    Examples
    --------
    >>> from estimators import ContextModel
    >>> model = ContextModel(n_contexts=200).fit("books")  # doctest: +SKIP
    >>> model.transform(["The sea was calm."]).shape  # doctest: +SKIP
    (1, 200)
    >>> model.save("model")  # doctest: +SKIP
    """

    contexts_: np.ndarray = field(init=False)
    encoder_: Any = field(init=False)
    _settings: dict[str, Any] = field(init=False)
    _arrays: dict[str, np.ndarray] = field(init=False)

    _: KW_ONLY
    encoder: Any = None
    generator: Any = None
    generator_epochs: float = 1
    n_contexts: int = 500
    prior: str = "corpus"
    weights: Any = (1, 1, 1, 1)
    device: Any = None
    random_state: Any = None
    verbose: int = 0

    def fit(self, documents: Any, y: Any = None) -> ContextModel:
        """Build the corpus, train, and choose the fixed set of contexts.

        Parameters
        ----------
        documents : list of str or of (str, str), folder, list of path-like, or SentenceCorpus
            Texts, pairs of name and text, a folder of Markdown and text files, such files, or a
            corpus from `film.contexts.make_corpus`.
        y : object, default=None
            Not used.

        Returns
        -------
        self : ContextModel
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If documents or a parameter are invalid (raised before any work), or if the corpus has
            fewer contexts than ``n_contexts`` (raised before training).

        Warns
        -----
        UserWarning
            If Ctrl-C ended a training; its best state is kept, and `fit` goes on to the next part.
        """
        import torch

        self._check_parameters()
        is_corpus = isinstance(documents, SentenceCorpus)
        read = None if is_corpus else check_documents(documents)
        device = check_device(torch, self.device)
        seed = int(check_seed(self.random_state).randint(2**31 - 1))
        if read is None:
            corpus = documents
        else:
            with progress_bar(self.verbose, "corpus") as advance:
                corpus = make_corpus(read(), advance=advance and (lambda n: advance("documents")))
        return self._set_fitted(*build(self, corpus, device, seed))

    def transform(self, texts: Any) -> np.ndarray:
        """Score texts in the contexts of ``contexts_`` (Eq. 3).

        Parameters
        ----------
        texts : iterable of str
            At least one; a text may be empty.

        Returns
        -------
        scores : ndarray of float32, shape (n, n_contexts)
            Weighted sums of log-probabilities, at most 0; the higher, the better the text fits.

        Raises
        ------
        TypeError, ValueError
            If a text is missing.
        """
        weights = self._weights(self._space())
        different, codes = numbered_texts(check_texts(texts, encodable=True))
        return combine_terms(self.terms(different, self.contexts_), weights)[codes]

    def contexts_of(self, texts: Any, n_contexts: Any = None) -> list[np.ndarray]:
        """Choose the contexts that each text fits best (C_s, Section 3.3).

        The discriminator ranks the contexts of 20,000 retrieved chunks, then all others; with a
        generator, Eq. 3 then ranks the first, three times as many as wanted.

        Parameters
        ----------
        texts : iterable of str
            Sentences.
        n_contexts : int, default=None
            Number of contexts per text; None: the parameter.

        Returns
        -------
        contexts : list of ndarray of int64
            Rows of centre sentences, best first, without contexts that contain the text itself.
            There are fewer than wanted if a small corpus has too few different contexts.

        Raises
        ------
        TypeError, ValueError
            If a text is missing or a parameter is wrong.

        Warns
        -----
        UserWarning
            Once, with the number of texts without any word of the corpus; they get the contexts of
            ``contexts_``.
        """
        space = self._space()
        different, codes = numbered_texts(check_texts(texts, encodable=True))
        size = check_integer("n_contexts", self.n_contexts if n_contexts is None else n_contexts, 1)
        sentences, own = space.read(different), space.own_places(different)
        weights = self._weights(space)
        found, unknown = [], []
        for number, (first, is_known) in enumerate(space.candidates(sentences)):
            head = np.empty(0, dtype=np.int64)
            if not is_known:
                unknown.append(different[number])
                first = partial(_first_of, space.place(self.contexts_))
            elif weights[1:].any():
                best = first(RANKED_PER_WANTED * size)
                head = space.by_score(sentences.take([number]), best, own[number], weights)
            tried = CONTEXTS_TRIED * size
            while True:
                candidates = first(tried)
                rest = candidates[~np.isin(candidates, head)]
                chosen = space.select(np.r_[head, rest], size, own[number])
                if len(chosen) == size or len(candidates) < tried:
                    break
                tried *= 4
            found.append(space.centres[chosen])
        if unknown:
            warnings.warn(
                f"the corpus has no word of {len(unknown)} of {len(different)} texts, such as "
                f"{unknown[0][:60]!r}: they get contexts of the fixed set, so their scores mean "
                "little; fit on documents of their language and subject",
                UserWarning,
                stacklevel=2,
            )
        return [found[code].copy() for code in codes]

    def terms(self, texts: Any, contexts: Any) -> Any:
        """Return the unweighted terms of Eq. 3 of texts in contexts.

        Parameters
        ----------
        texts : iterable of str
            Sentences.
        contexts : array-like of int, shape (n_contexts,), or list of n such
            One set of contexts for all texts, or one per text.

        Returns
        -------
        terms : ndarray of float32, shape (n, n_contexts, 4), or list of (n_contexts_i, 4)
            log p(y = 1 | s, c), and the mean log-probabilities per
            token of the sentence, its left side and its right side. Terms that the model does not
            have are 0, and so are the generators' terms if all their ``weights`` are 0. A list if
            texts have different numbers of contexts.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, or a row is not a context.
        """
        space = self._space()
        texts = check_texts(texts, encodable=True)
        rows = _checked_contexts(contexts, len(texts))
        different, codes = numbered_texts(texts)
        sentences = space.read(different).take(codes)
        found = space.terms(sentences, rows, generates=bool(self._weights(space)[1:].any()))
        same = len({len(each) for each in rows}) == 1
        return np.stack(found) if same else found

    def levels(self, texts: Any) -> np.ndarray:
        """Return the mean first term of each text over ``contexts_``: how well it fits in general.

        Parameters
        ----------
        texts : iterable of str
            Sentences.

        Returns
        -------
        levels : ndarray of float32, shape (n,)
            Means of log p(y = 1 | s, c).

        Raises
        ------
        TypeError, ValueError
            If a text is missing.
        """
        space = self._space()
        different, codes = numbered_texts(check_texts(texts, encodable=True))
        return space.log_fit(space.read(different), self.contexts_).mean(axis=1)[codes]

    def reference_terms(self, contexts: Any) -> np.ndarray:
        """Return how much better sentences of the corpus fit given contexts than others.

        Parameters
        ----------
        contexts : array-like of int, shape (n_contexts,)
            Rows of centre sentences.

        Returns
        -------
        terms : ndarray of float32, shape (R, n_contexts)
            log p(y = 1 | s, c) minus the level of s, for R = 500 fixed sentences (fewer if the
            corpus has fewer): the reference of `film.contexts.whiten_scores`.

        Raises
        ------
        ValueError
            If a row is not a context.
        """
        space = self._space()
        (rows,) = _checked_contexts(contexts, 1)
        return space.log_fit(space.reference, rows) - space.reference_levels

    def context_texts(self, rows: Any) -> list[tuple[str, str]]:
        """Return the sentences of contexts.

        Parameters
        ----------
        rows : array-like of int, shape (n,)
            Rows of the contexts' centres.

        Returns
        -------
        texts : list of (str, str)
            The sentences before and after each centre.
        """
        space = self._space()
        centres = space.centres[space.place(rows)]
        return list(zip(*(space.corpus.texts(centres + step) for step in (-1, 1)), strict=True))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of `transform`, which are the rows of their contexts.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str objects, shape (n_contexts,)
            Names such as "context1234".
        """
        check_is_fitted(self, "contexts_")
        return np.array([f"context{row}" for row in self.contexts_], dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a new folder, as safetensors and JSON without code.

        Parameters
        ----------
        path : str or path-like
            A folder that does not exist or is empty.

        Raises
        ------
        FileExistsError, ValueError, OSError
            If the folder holds other files, a parameter cannot be written as JSON, or the folder
            cannot be written; then nothing is left behind.
        """
        from safetensors.numpy import save_file

        check_is_fitted(self, "contexts_")
        fitted = {key: getattr(self, name) for key, name in SAVED.items()}
        fitted |= {"has_encoder": self.encoder_ is not None, "settings": self._settings}
        fitted["contexts"] = self.contexts_.tolist()
        arrays = {name: np.ascontiguousarray(each) for name, each in self._arrays.items()}
        write_fitted(
            path,
            CONTEXT_MODEL,
            self,
            fitted,
            write=lambda folder: save_file(arrays, folder / ARRAYS),
            left_out=NOT_SAVED,
            version=FORMAT,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], **params: Any) -> ContextModel:
        """Load a fitted model that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The folder.
        **params
            Parameters to change, such as ``device``, or ``encoder`` if the model has one.

        Returns
        -------
        model : ContextModel
            Fitted.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no saved model, it is damaged or has another class or version, or a
            parameter does not exist.
        """
        root = Path(path).expanduser()
        with read_fitted(cls, root, CONTEXT_MODEL, FORMAT) as said:
            if said["has_encoder"] and params.get("encoder") is None:
                raise ValueError("it was fitted with an encoder: load(path, encoder=...)")
            model = cls(**{**said["params"], **params})
            model._check_parameters()
            learned = {name: said[key] for key, name in SAVED.items()}
            for name in ("scores_", "generator_scores_"):
                learned[name] = [tuple(each) for each in learned[name]]
            learned["contexts_"] = np.asarray(said["contexts"], dtype=np.int64)
            arrays = read_arrays(root / ARRAYS)
            model._set_fitted(said["settings"], arrays, learned | {"encoder_": None})
            corpus = model.corpus_
        if model.encoder is not None:
            model.encoder_ = cloned("encoder", model.encoder).fit(corpus.sentences)
            del model._opened
        return model

    @property
    def corpus_(self) -> SentenceCorpus:
        """Sentences, documents and chunks."""
        return self._space().corpus

    @property
    def vocabulary_(self) -> str | None:
        """The tokenizer as JSON."""
        return self._space().tokenizer

    @property
    def discriminator_(self) -> Likeness:
        """Weight and bias of the discriminator."""
        return self._space().discriminator

    @property
    def generators_(self) -> list[Any]:
        """Generators of sentences, lefts and rights."""
        return self._space().generators

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_opened"}

    def _space(self) -> ContextSpace:
        check_is_fitted(self, "contexts_")
        with FIRST_USE:
            if "_opened" not in vars(self):
                import torch

                self._opened = ContextSpace(
                    self._settings,
                    self._arrays,
                    fixed=self.contexts_,
                    encoder=self.encoder_,
                    device=check_device(torch, self.device),
                )
            self._opened.prior = check_choice("prior", self.prior, PRIORS)
            return self._opened

    def _set_fitted(
        self, settings: dict[str, Any], arrays: dict[str, np.ndarray], learned: dict[str, Any]
    ) -> ContextModel:
        vars(self).pop("_opened", None)
        vars(self).update(learned, _settings=settings, _arrays=arrays)
        return self

    def _weights(self, space: ContextSpace | None) -> np.ndarray:
        """λ of Eq. 3, 0 for terms that the model does not have."""
        found = check_weights(self.weights)
        if not (self.generator is not None if space is None else space.generators):
            found[1:] = 0
        if not found.any():
            raise ValueError(
                f"weights={self.weights!r} give no weight to any term of the model: without a "
                "generator, it has only the first term"
            )
        return found

    def _check_parameters(self) -> None:
        check_integer("n_contexts", self.n_contexts, 1)
        check_choice("prior", self.prior, PRIORS)
        check_real("generator_epochs", self.generator_epochs, 0)
        if self.generator is not None:
            from film.contexts import size_of

            try:
                size_of(self.generator)
            except (TypeError, ValueError) as error:
                raise ValueError(f"generator={self.generator!r} is not a size: {error}") from None
        if self.encoder is not None:
            cloned("encoder", self.encoder)
            if not hasattr(self.encoder, "transform"):
                raise TypeError(f"encoder={self.encoder!r} must have transform; or give None")
        self._weights(None)
        check_seed(self.random_state)
        check_verbose(self.verbose)


def check_weights(weights: Any) -> np.ndarray:
    """Return λ of Eq. 3 as four numbers, at least 0 and not all 0."""
    try:
        found = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights={weights!r} must be 4 numbers, the λ of Eq. 3") from None
    if found.shape != (4,) or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise ValueError(
            f"weights={weights!r} must be 4 finite numbers, the λ of Eq. 3, at least 0 and not "
            "all 0"
        )
    return found


def _first_of(places: np.ndarray, size: int) -> np.ndarray:
    return places[:size]


def _checked_contexts(contexts: Any, n: int) -> list[np.ndarray]:
    try:
        given = [np.asarray(each) for each in contexts]
    except TypeError:
        raise TypeError(
            f"contexts is {contexts!r}; give rows of contexts, or a list of n such"
        ) from None
    if given and all(each.ndim == 0 for each in given):
        given = [np.asarray(contexts)] * n
    is_right = [each.ndim == 1 and each.size and each.dtype.kind in "iu" for each in given]
    if len(given) != n or not all(is_right):
        raise ValueError(
            f"contexts must be rows (integers) for all texts, or a list of {n} such, one for each, "
            "and none may be empty"
        )
    return [each.astype(np.int64) for each in given]

"""A model of which sentences fit into which contexts, learned from documents without labels."""

from __future__ import annotations

import copy
import json
import os
import shutil
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from estimators.contexts.context_space import ContextSpace
from estimators.contexts.parts.building import CORPUS, PartBuilder
from estimators.contexts.parts.part_folder import (
    ScratchFolder,
    packed_files,
    part_path,
    unpack_files,
)
from estimators.encoders import check_device
from estimators.inputs import (
    check_bool,
    check_choice,
    check_documents,
    check_folder,
    check_integer,
    check_real,
    check_seed,
    check_texts,
    check_verbose,
    cloned,
    tags_of_texts,
)
from estimators.persistence import (
    CONTEXT_MODEL,
    drop_parameters,
    now,
    savable,
    versions,
    write_folder,
)
from film.contexts import SentenceCorpus, combine_terms
from film.datasets import atomic_writer
from film.threads import FIRST_USE

FORMAT = 2
SEED = "seed.json"
NOT_SAVED = {"folder", "device", "random_state", "encoder"}
"""Parameters that a folder does not store: they depend on machine or fit, or are models."""
SAVED = {
    "digest": "_digest",
    "seed": "_seed",
    "sides": "_sides",
    "losses": "loss_curve_",
    "scores": "scores_",
    "generator_losses": "generator_loss_curve_",
    "generator_scores": "generator_scores_",
    "perplexities": "perplexities_",
    "is_complete": "is_complete_",
}
"""Names in the JSON of a folder, and the attributes they hold."""
CHOICES = {
    "reader": ("fixed", "maps", "lstm"),
    "interaction": ("bilinear", "concatenation"),
    "prior": ("corpus", "training"),
}
STRATEGIES = ("two-step", "discriminator", "random")
CONTEXTS_TRIED = 8
"""Candidates per wanted context for a diverse set; more are tried if these do not suffice."""
RANKED_PER_WANTED = 3
"""Contexts that Eq. 3 ranks per wanted context."""


@savable
class ContextModel(TransformerMixin, BaseEstimator):
    """Learn from documents which sentences fit into which contexts.

    Two sentences have a similar meaning if they fit into the same contexts. `fit` splits documents
    into sentences. From scratch and without labels, it trains a discriminator, which predicts
    whether a sentence belongs between two others (Section 3.2.1), and optionally a generator, which
    generates a sentence from its neighbours (Section 3.2.2). `transform` scores texts in one fixed
    set of contexts (Eq. 3); use these vectors with the cosine, in `FILM` or in a stack.
    `contexts_of` chooses contexts for each text (Section 3.3); `ContextRegressor` uses it.

    Parameters
    ----------
    folder : str or path-like, default=None
        Folder for the corpus, tables and networks, to be used by nothing else. Finished parts are
        not made again: `fit` continues after an interruption, and models that differ in some parts
        share the others. A folder has one corpus. None: a temporary folder that is removed with the
        model.
    sides : int, default=1
        Sentences of a context on each side.
    encoder : transformer, default=None
        Maps texts to fixed vectors, such as `SentenceEncoder`. None: vectors of the spelling of
        words, weighted by TF-IDF (`film.contexts.spelling_states`), from scratch.
    reader : {"fixed", "maps", "lstm"}, default="fixed"
        What the discriminator learns. "fixed": a weight and a bias for the similarity of a sentence
        to its neighbours in the fixed vectors. "maps": three matrices over the fixed vectors.
        "lstm": also a BiLSTM over tokens, as in the paper.
    lexical : bool, default=True
        Whether "lstm" also compares the fixed vectors. False: only tokens, as in the paper; this
        takes a far larger corpus.
    width : int, default=300
        Width of word vectors, of the BiLSTM in each direction, and of the interaction.
    interaction : {"bilinear", "concatenation"}, default="bilinear"
        How sentence and context are combined. "concatenation" is Eq. 1, which ranks contexts in the
        same order for every sentence.
    discriminator_epochs : float, default=2
        Passes over the corpus; "fixed" uses only some batches.
    discriminator_seconds : float, default=None
        Maximum seconds of training. The result then depends on the machine's speed.
    generator : {"tiny", "small", "base", "large"}, 5 ints or None, default=None
        Size of the Transformer that generates a sentence from its neighbours (Section 3.2.2): a
        name in `film.contexts.SIZES`, or numbers as in `film.contexts.Size`. One network learns all
        three tasks, from the nearest sentence on each side. None: only the discriminator scores,
        which is some thousand times as fast, and better if the corpus has only millions of words.
    generator_epochs : float, default=1
        Passes over the corpus.
    generator_seconds : float, default=None
        Maximum seconds of training, as for the discriminator.
    n_contexts : int, default=500
        Number of contexts of a sentence, and of the fixed set.
    prior : {"corpus", "training"}, default="corpus"
        Prior probability in the first term of Eq. 3. "corpus": one of all n contexts is true,
        -log(1 + n exp(-z)) for the logit z. "training": one of two is true, as in training,
        -log(1 + exp(-z)), which is Eq. 1 in the paper. The order of contexts is the same.
    weights : sequence of 4 floats, default=(1, 1, 1, 1)
        λ of Eq. 3: discriminator, sentence given context, left and right given the rest. The
        weights of terms that the model does not have are ignored.
    diverse : bool, default=True
        Whether a set contains at most one context per chunk of 10 sentences, and left sentences
        that share less than half of their words.
    device : str, default=None
        "cpu", "cuda", ...; None: a GPU if there is one.
    random_state : int, RandomState or None, default=None
        Seed. With None and a ``folder``, the seed of the first `fit` there.
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
    vocabulary_ : str
        The tokenizer, as JSON of the package `tokenizers`.
    discriminator_ : torch.nn.Module
        `film.contexts.Interaction` over fixed vectors, or `film.contexts.Discriminator`.
    generators_ : list of torch.nn.Module
        `film.contexts.Generator` of sentences, left sides and right sides: the same network three
        times. Empty without a generator.

    See Also
    --------
    film.contexts.write_corpus : Builds a corpus with another language or length of chunks.
    film.contexts.Discriminator : The network.
    SentenceEncoder : Vectors from a pretrained model.

    Notes
    -----
    A context is identified by the row of its centre sentence. Vectors of all contexts are on disk
    in half precision, so one product ranks them for a sentence. It takes 2 q n operations for n
    sentences of the corpus, with q = 514, or 2 more than the width of other vectors.

    The same seed gives the same training on one CPU. With ``folder=None``, a copy (pickle,
    `save_model`) contains all files; otherwise it refers to the folder, which must stay.

    References
    ----------
    Sun et al., Sentence similarity based on contexts (2022).

    Examples
    --------
    >>> from estimators import ContextModel
    >>> model = ContextModel("model", n_contexts=200).fit("books")  # doctest: +SKIP
    >>> model.transform(["The sea was calm."]).shape  # doctest: +SKIP
    (1, 200)
    """

    contexts_: np.ndarray
    encoder_: Any
    _parts: dict[str, str]
    _files: dict[str, np.ndarray]
    _digest: str
    _seed: int
    _sides: int
    _root: str

    def __init__(
        self,
        folder: Any = None,
        *,
        sides: int = 1,
        encoder: Any = None,
        reader: str = "fixed",
        lexical: bool = True,
        width: int = 300,
        interaction: str = "bilinear",
        discriminator_epochs: float = 2,
        discriminator_seconds: Any = None,
        generator: Any = None,
        generator_epochs: float = 1,
        generator_seconds: Any = None,
        n_contexts: int = 500,
        prior: str = "corpus",
        weights: Any = (1, 1, 1, 1),
        diverse: bool = True,
        device: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.folder = folder
        self.sides = sides
        self.encoder = encoder
        self.reader = reader
        self.lexical = lexical
        self.width = width
        self.interaction = interaction
        self.discriminator_epochs = discriminator_epochs
        self.discriminator_seconds = discriminator_seconds
        self.generator = generator
        self.generator_epochs = generator_epochs
        self.generator_seconds = generator_seconds
        self.n_contexts = n_contexts
        self.prior = prior
        self.weights = weights
        self.diverse = diverse
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, documents: Any, y: Any = None) -> ContextModel:
        """Build the corpus, train, and choose the fixed set of contexts.

        Parameters
        ----------
        documents : list of str or of (str, str), folder, list of path-like, or SentenceCorpus
            Texts, pairs of name and text, a folder of Markdown and text files, such files, or a
            corpus that `film.contexts.write_corpus` built, or its folder.
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
        FileExistsError
            If ``folder`` holds another corpus or other files.
        OSError
            If the folder cannot be written; finished parts stay, and another `fit` continues.

        Warns
        -----
        UserWarning
            If Ctrl-C ended a training; its best state is kept, and `fit` goes on to the next part.
        """
        import torch

        self._check_parameters()
        given = documents if _is_corpus(documents) else check_documents(documents)
        device = check_device(torch, self.device)
        scratch: Any = ScratchFolder() if self.folder is None else None
        place: Any = self.folder if scratch is None else scratch.name
        root = Path(place).expanduser().absolute()
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / ".lock"):
            builder = PartBuilder(self, given, root, device, self._seed_in(root))
            parts, learned = builder.build()
        return self._set_fitted(root, scratch, parts, learned)

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
        FileNotFoundError, ValueError
            If files of the model have moved or changed.
        """
        weights = self._weights(self._space())
        different, codes = _unique(check_texts(texts, encodable=True))
        return combine_terms(self.terms(different, self.contexts_), weights)[codes]

    def contexts_of(
        self, texts: Any, n_contexts: Any = None, *, strategy: str = "two-step"
    ) -> list[np.ndarray]:
        """Choose the contexts that each text fits best (C_s, Section 3.3).

        Parameters
        ----------
        texts : iterable of str
            Sentences.
        n_contexts : int, default=None
            Number of contexts per text; None: the parameter.
        strategy : {"two-step", "discriminator", "random"}, default="two-step"
            "two-step": the discriminator ranks the contexts of 20,000 retrieved chunks, then all
            others; with a generator, Eq. 3 then ranks the first, three times as many as wanted.
            "discriminator": the same over all chunks. "random": contexts drawn by text and seed.

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
            Once, with the number of texts of which the corpus has no word; they get the contexts
            of ``contexts_``.
        """
        space = self._space()
        different, codes = _unique(check_texts(texts, encodable=True))
        size = check_integer("n_contexts", self.n_contexts if n_contexts is None else n_contexts, 1)
        check_choice("strategy", strategy, STRATEGIES)
        sentences, own = space.read(different), space.own_places(different)
        weights = self._weights(space)
        found, unknown = [], []
        ranked = space.candidates(sentences, strategy, self._seed)
        for number, (first, is_known) in enumerate(ranked):
            head = np.empty(0, dtype=np.int64)
            if not is_known:
                unknown.append(different[number])
                first = partial(_first_of, space.place(self.contexts_))
            elif strategy != "random" and weights[1:].any():
                best = first(RANKED_PER_WANTED * size)
                head = space.by_score(sentences.take([number]), best, own[number], weights)
            tried = CONTEXTS_TRIED * size
            while True:
                candidates = first(tried)
                rest = candidates[~np.isin(candidates, head)]
                chosen = space.select(np.r_[head, rest], size, own[number], self.diverse)
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
            log p(y = 1 | s, c) with the parameter ``prior``, and the mean log-probabilities per
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
        different, codes = _unique(texts)
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
        different, codes = _unique(check_texts(texts, encodable=True))
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
        with FIRST_USE:
            if not hasattr(self, "_reference_levels") or self._reference_levels[0] is not space:
                levels = space.log_fit(space.reference, self.contexts_).mean(axis=1)
                self._reference_levels = space, levels[:, np.newaxis]
            levels = self._reference_levels[1]
        return space.log_fit(space.reference, rows) - levels

    def context_texts(self, rows: Any) -> list[tuple[str, str]]:
        """Return the sentences of contexts.

        Parameters
        ----------
        rows : array-like of int, shape (n,)
            Rows of the contexts' centres.

        Returns
        -------
        texts : list of (str, str)
            Left and right side of each; several sentences of a side are joined.
        """
        space = self._space()
        sides = np.arange(1, self._sides + 1)
        found = []
        for row in space.centres[space.place(rows)]:
            left, right = space.corpus.texts(row - sides[::-1]), space.corpus.texts(row + sides)
            found.append((" ".join(left), " ".join(right)))
        return found

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
        """Save the fitted model to a folder, as safetensors, arrays and JSON without code.

        Parameters
        ----------
        path : str or path-like
            A new folder, which gets copies of all parts; or ``folder`` itself.

        Raises
        ------
        FileExistsError, ValueError, OSError
            If the folder holds other files, a parameter cannot be written as JSON, or the folder
            cannot be written; then nothing is left behind.
        """
        self._space()
        root, target = self._place, Path(path).expanduser().absolute()
        said = {
            "format": FORMAT,
            "class": type(self).__name__,
            "date": now(),
            "versions": versions(),
            "params": {
                name: _plain(name, value)
                for name, value in self.get_params(deep=False).items()
                if name not in NOT_SAVED
            },
            "has_encoder": self.encoder_ is not None,
            "contexts": self.contexts_.tolist(),
            "parts": {kind: Path(name).name for kind, name in self._parts.items()}
            | {CORPUS: CORPUS},
        }
        said |= {key: getattr(self, name) for key, name in SAVED.items()}
        text = json.dumps(said, indent=1, allow_nan=False)
        if target == root and self._parts[CORPUS] == CORPUS:
            with atomic_writer(target / CONTEXT_MODEL) as handle:
                handle.write(text)
            return

        def write(folder: Path) -> None:
            for kind, name in self._parts.items():
                shutil.copytree(root / name, folder / said["parts"][kind])
            (folder / CONTEXT_MODEL).write_text(text, encoding="utf-8")

        write_folder(target, write)

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
            Fitted, with ``folder`` as its folder.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no saved model, it is damaged or has another class or version, or a
            parameter does not exist.
        """
        root = Path(path).expanduser().absolute()
        file = root / CONTEXT_MODEL
        if not file.is_file():
            raise FileNotFoundError(
                f"path={os.fspath(path)!r} has no {CONTEXT_MODEL}: no model was saved there; give "
                f"a folder that {cls.__name__}.save wrote"
            )
        try:
            said = json.loads(file.read_text(encoding="utf-8"))
            if said["format"] != FORMAT:
                raise ValueError(f"this version does not read its format, {said['format']!r}")
            if said["class"] != cls.__name__:
                raise ValueError(f"it is a {said['class']}, not a {cls.__name__}")
            if said["has_encoder"] and params.get("encoder") is None:
                raise ValueError("it was fitted with an encoder: load(path, encoder=...)")
            for name in said["parts"].values():
                part_path(root, name)
            drop_parameters(cls.__name__, said["params"])
            model = cls(**{**said["params"], **params, "folder": root})
            model._check_parameters()
            learned = {name: said[key] for key, name in SAVED.items()}
            for name in ("scores_", "generator_scores_"):
                learned[name] = [tuple(each) for each in learned[name]]
            learned["contexts_"] = np.asarray(said["contexts"], dtype=np.int64)
            model._set_fitted(root, None, dict(said["parts"]), learned | {"encoder_": None})
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file} cannot be used: {error}") from error
        if model.encoder is not None:
            corpus = SentenceCorpus(root / model._parts[CORPUS], verify=False)
            model.encoder_ = cloned("encoder", model.encoder).fit(list(corpus.iterate_texts()))
        model._space()
        return model

    @property
    def corpus_(self) -> SentenceCorpus:
        """Sentences, documents and chunks."""
        return self._space().corpus

    @property
    def vocabulary_(self) -> str:
        """The tokenizer as JSON."""
        return self._space().tokenizer

    @property
    def discriminator_(self) -> Any:
        """The trained network."""
        return self._space().network

    @property
    def generators_(self) -> list[Any]:
        """Generators of sentences, lefts and rights."""
        return self._space().generators

    def __sklearn_tags__(self) -> Any:
        return tags_of_texts(super().__sklearn_tags__())

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        left_out = {"_opened", "_scratch", "_reference_levels"}
        state = {name: value for name, value in state.items() if name not in left_out}
        if "_parts" in state and self.folder is None and "_files" not in state:
            # A temporary folder is removed with the model, so a copy carries its files.
            state["_parts"], state["_files"] = self._packed()
            del state["_root"]
        return state

    def carry_files(self) -> None:
        """Put the files of ``folder`` into the model itself, which then needs no folder.

        Raises
        ------
        FileNotFoundError
            If the folder is missing.
        """
        check_is_fitted(self, "contexts_")
        if "_files" not in vars(self):
            self._parts, self._files = self._packed()
        self.folder = None
        for name in ("_opened", "_reference_levels", "_root", "_scratch"):
            vars(self).pop(name, None)

    def _packed(self) -> tuple[dict[str, str], dict[str, np.ndarray]]:
        """Return the parts' names in a copy, an external corpus included, and their files."""
        names = self._parts | {CORPUS: CORPUS}
        folders = {names[kind]: folder for kind, folder in self._parts.items()}
        return names, packed_files(self._place, folders)

    @property
    def _place(self) -> Path:
        """Folder of the parts; on first use, the files of a copy are written to a new folder."""
        with FIRST_USE:
            if "_files" in vars(self) and "_scratch" not in vars(self):
                scratch = ScratchFolder()
                unpack_files(Path(scratch.name), self._files)
                self._root, self._scratch = scratch.name, scratch
        # A folder that was moved is found by the parameter.
        given = [] if self.folder is None else [Path(self.folder).expanduser().absolute()]
        for place in [*given, Path(self._root)]:
            if part_path(place, self._parts["discriminator"]).is_dir():
                return place
        raise FileNotFoundError(
            f"the folder {[*given, self._root][0]} of this ContextModel is missing or has no "
            f"{self._parts['discriminator']}; if you moved it, call set_params(folder=...), "
            "otherwise fit again"
        )

    def _space(self) -> ContextSpace:
        check_is_fitted(self, "contexts_")
        with FIRST_USE:
            if "_opened" not in vars(self):
                import torch

                self._opened = ContextSpace(
                    self._place,
                    self._parts,
                    digest=self._digest,
                    sides=self._sides,
                    encoder=self.encoder_,
                    device=check_device(torch, self.device),
                    prior=self.prior,
                )
            elif self._opened.prior != self.prior:
                # A copy of this model may share open files.
                self._opened = copy.copy(self._opened)
                self._opened.prior = check_choice("prior", self.prior, CHOICES["prior"])
            return self._opened

    def _set_fitted(
        self, root: Path, scratch: Any, parts: dict[str, str], learned: dict[str, Any]
    ) -> ContextModel:
        for name in ("_files", "_opened"):
            vars(self).pop(name, None)
        self._root, self._scratch, self._parts = os.fspath(root), scratch, parts
        vars(self).update(learned)
        return self

    def _seed_in(self, root: Path) -> int:
        """Seed of a fit; without ``random_state``, that of the first fit in the folder."""
        path = root / SEED
        if self.random_state is None and path.is_file():
            return int(json.loads(path.read_text(encoding="utf-8")))
        seed = int(check_seed(self.random_state).randint(2**31 - 1))
        if self.random_state is None:
            path.write_text(json.dumps(seed), encoding="utf-8")
        return seed

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
        check_folder("folder", self.folder)
        for name in ("sides", "width", "n_contexts"):
            check_integer(name, getattr(self, name), 1)
        for name in ("lexical", "diverse"):
            check_bool(name, getattr(self, name))
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        for network in ("discriminator", "generator"):
            check_real(f"{network}_epochs", getattr(self, f"{network}_epochs"), 0)
            if (seconds := getattr(self, f"{network}_seconds")) is not None:
                check_real(f"{network}_seconds", seconds, 1e-3)
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
            if self.reader == "lstm":
                raise ValueError(
                    "reader='lstm' reads tokens, but encoder gives the vectors; take "
                    "reader='fixed' or 'maps', or encoder=None"
                )
        if self.reader == "fixed" and self.interaction == "concatenation":
            raise ValueError(
                "interaction='concatenation' learns maps, but reader='fixed' has no maps; use "
                "reader='maps' or 'lstm'"
            )
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


def _is_corpus(documents: Any) -> bool:
    """Whether a corpus is given, or the folder of one."""
    if isinstance(documents, (str, os.PathLike)):
        return Path(documents).expanduser().joinpath("corpus.json").is_file()
    return isinstance(documents, SentenceCorpus)


def _first_of(places: np.ndarray, size: int) -> np.ndarray:
    return places[:size]


def _unique(texts: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the different texts in order, and the position of each text among them."""
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.intp)
    return list(numbers), codes


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


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as a JSON value, or raise ValueError if that is impossible."""
    value = np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}={value!r} cannot be saved as JSON; set it to a plain value before saving"
        ) from error

"""A model of which sentences fit into which contexts, learned from documents without labels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from filelock import FileLock
from sklearn.utils.validation import check_is_fitted

from estimators.contexts.context_files import read_model, write_model
from estimators.contexts.fitted_contexts import FittedContexts
from estimators.contexts.parts.fitting import Fitted, fit_parts
from estimators.contexts.parts.part_folder import ScratchFolder
from estimators.contexts.parts.recipe import check_parameters
from estimators.inputs import check_documents, cloned
from estimators.persistence import savable


@savable
class ContextModel(FittedContexts):
    """Learn from documents which sentences fit into which contexts.

    Two sentences mean the same where the same contexts can hold them. `fit` cuts documents into
    sentences and learns, from scratch and without labels, to tell whether a sentence stands between
    two others: the discriminator (Section 3.2.1). On request it also trains a generator of
    sentences from those around them (Section 3.2.2). `transform` scores texts in one fixed set of
    contexts (Eq. 3): vectors for a cosine, `FILM` or a stack. `contexts_of` chooses contexts for
    each text, as `ContextRegressor` needs them (Section 3.3).

    Parameters
    ----------
    folder : str or path-like, default=None
        Folder of your own for the corpus, tables and networks. What is there is not made again:
        `fit` goes on after an interruption, and models that differ in some parts share the others.
        It holds one corpus. None: a temporary folder that goes with the model.
    sides : int, default=1
        Sentences of a context on each side.
    chunk_length : int, default=10
        Consecutive sentences of a chunk, which is what is retrieved.
    language : str, default="en"
        Language of the rules by which documents are cut into sentences.
    vocabulary_size : int, default=8000
        Entries of the vocabulary, which is learned on the corpus.
    max_length : int, default=48
        Tokens of a sentence that are read.
    encoder : transformer, default=None
        Maps texts to vectors, such as `SentenceEncoder`, which stay as they are. None: fixed
        vectors of the spelling of words, weighed by TF-IDF (`film.contexts.spelling_states`), from
        scratch.
    reader : {"fixed", "maps", "bag", "lstm"}, default="fixed"
        What the discriminator learns. "fixed": how alike a sentence and its neighbours are in the
        fixed vectors, two numbers. "maps": three matrices, from fixed vectors of sentences to those
        that tell neighbours. "lstm": also to read tokens, by a BiLSTM, as in the paper; "bag": by a
        weighted sum of learned vectors, which is far faster.
    lexical : bool, default=True
        Whether "bag" and "lstm" have the fixed vectors beside what they read, to be compared as
        they are. False: what they read alone, as in the paper, which keeps words badly on a corpus
        of millions of them.
    word_vectors : bool, default=True
        Whether "bag" and "lstm" start from vectors that are counted on the corpus
        (`film.contexts.word_vectors`), or from random ones.
    width : int, default=300
        Of word vectors, of the BiLSTM in each direction, and of the interaction.
    interaction : {"bilinear", "concatenation"}, default="bilinear"
        How a sentence meets a context: "concatenation" is Eq. 1, which ranks contexts the same for
        every sentence.
    batch_size : int, default=192
        Sentences in their contexts that meet in a step, all with all.
    discriminator_epochs : float, default=2
        Passes over the corpus; "fixed" looks at some batches alone.
    discriminator_learning_rate : float, default=1e-3
        The highest; it falls linearly to 0.
    discriminator_seconds : float, default=None
        Most seconds of training. The result then depends on the machine's speed.
    generator : {"tiny", "small", "base", "large"}, 5 ints, path-like or None, default=None
        Size of the Transformer that generates a sentence from those around it (Section 3.2.2): a
        name in `film.contexts.SIZES`, or numbers as in `film.contexts.Size`. Or a pretrained
        sequence-to-sequence model of transformers, by its folder or hub name, which is trained
        further, or with ``generator_epochs=0`` used as it is. One network learns all three tasks,
        from the nearest sentence on each side. None: scores are the discriminator's alone, which is
        some thousand times as fast, and better where the corpus has only millions of words.
    generator_batch_size : int, default=48
        Contexts of a step.
    generator_epochs : float, default=1
        Passes over the corpus.
    generator_learning_rate : float, default=None
        The highest; None: 3e-3, or 5e-5 for a pretrained one.
    generator_seconds : float, default=None
        Most seconds of training, as those of the discriminator.
    validation_fraction : float, default=0.02
        Share of the corpus, as whole documents, on which training is judged; 0: none.
    n_retrieved : int, default=20000
        Chunks that retrieval by TF-IDF leaves to the discriminator.
    n_ranked : int, default=None
        Contexts that the discriminator ranks first and that Eq. 3 then puts in order; the
        discriminator's order goes on behind them. None: three times as many as are wanted. No part
        without a generator.
    n_contexts : int, default=500
        Size of the set of a sentence, and of the fixed set.
    prior : {"corpus", "training"}, default="corpus"
        What the first term of Eq. 3 takes for granted. "corpus": one context of all n is the true
        one, -log(1 + n exp(-z)) for the logit z. "training": as many are true as false, as in
        training, -log(1 + exp(-z)): Eq. 1, as in the paper. The order of contexts is the same.
    weights : sequence of 4 floats, default=(1, 1, 1, 1)
        λ of Eq. 3: discriminator, sentence given context, left and right given the rest. Those of
        terms that the model does not have count as 0.
    diverse : bool, default=True
        Whether a chunk gives at most one context to a set, and left sentences of a set share less
        than half of their words.
    device : str, default=None
        "cpu", "cuda", ...; None: a GPU where there is one.
    random_state : int, RandomState or None, default=None
        Seeds all that is random. With None and a ``folder``, the seed of the first `fit` there.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    contexts_ : ndarray of int64, shape (n_contexts,)
        The fixed set: rows of centre sentences in the corpus.
    encoder_ : estimator or None
        ``encoder``, fitted.
    loss_curve_ : list of float
        Loss of the discriminator in each step.
    scores_ : list of (int, float)
        Steps and held-out loss of the discriminator; nothing learned costs log 2.
    generator_loss_curve_ : list of float
        Loss of the generator in each step, in nats per token; empty without one.
    generator_scores_ : list of (int, float)
        Steps and held-out loss of the generator.
    perplexities_ : dict of str to float
        Per token of held-out documents: "sentence", "left" and "right", each given the two others,
        and "unigram", of sentences by the frequency of tokens alone. Empty where there is no
        generator or nothing is held out.
    is_complete_ : bool
        False where Ctrl-C ended a training.
    corpus_ : SentenceCorpus
        Sentences, documents and chunks.
    vocabulary_ : str
        The tokenizer, as JSON of the package tokenizers.
    discriminator_ : torch.nn.Module
        `film.contexts.Interaction` over fixed vectors, `BagDiscriminator` or `Discriminator`.
    generators_ : list of torch.nn.Module
        `film.contexts.Generator` or `PretrainedGenerator` of sentences, lefts and rights, one
        network thrice; empty without.

    See Also
    --------
    film.contexts.Discriminator : The network.
    SentenceEncoder : Vectors from a pretrained model.

    Notes
    -----
    A context is named by the row of its centre sentence. Vectors of all contexts lie on disk in
    half precision, so that ranking them for a sentence is one product: 2 q n operations for n
    sentences of the corpus and q = 514, or what readers and encoders make it.

    Training is the same for the same seed on one CPU. With ``folder=None`` a copy (pickle,
    `save_model`) carries all its files; with a folder it names the folder, which has to stay.

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

    def __init__(
        self,
        folder: Any = None,
        *,
        sides: int = 1,
        chunk_length: int = 10,
        language: str = "en",
        vocabulary_size: int = 8000,
        max_length: int = 48,
        encoder: Any = None,
        reader: str = "fixed",
        lexical: bool = True,
        word_vectors: bool = True,
        width: int = 300,
        interaction: str = "bilinear",
        batch_size: int = 192,
        discriminator_epochs: float = 2,
        discriminator_learning_rate: float = 1e-3,
        discriminator_seconds: Any = None,
        generator: Any = None,
        generator_batch_size: int = 48,
        generator_epochs: float = 1,
        generator_learning_rate: Any = None,
        generator_seconds: Any = None,
        validation_fraction: float = 0.02,
        n_retrieved: int = 20000,
        n_ranked: Any = None,
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
        self.chunk_length = chunk_length
        self.language = language
        self.vocabulary_size = vocabulary_size
        self.max_length = max_length
        self.encoder = encoder
        self.reader = reader
        self.lexical = lexical
        self.word_vectors = word_vectors
        self.width = width
        self.interaction = interaction
        self.batch_size = batch_size
        self.discriminator_epochs = discriminator_epochs
        self.discriminator_learning_rate = discriminator_learning_rate
        self.discriminator_seconds = discriminator_seconds
        self.generator: Any = generator
        self.generator_batch_size = generator_batch_size
        self.generator_epochs = generator_epochs
        self.generator_learning_rate = generator_learning_rate
        self.generator_seconds = generator_seconds
        self.validation_fraction = validation_fraction
        self.n_retrieved = n_retrieved
        self.n_ranked = n_ranked
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
            If documents or a parameter are wrong, before any work; if the corpus has fewer
            contexts than ``n_contexts``, before training.
        FileExistsError
            If ``folder`` holds another corpus or other files.
        OSError
            If the folder cannot be written; what is whole stays, and another `fit` goes on.

        Warns
        -----
        UserWarning
            If Ctrl-C ended a training; what it has learned is kept, and `fit` goes on.
        """
        check_parameters(self)
        given = documents if _is_corpus(documents) else check_documents(documents)
        scratch, place = None, self.folder
        if place is None:
            scratch = ScratchFolder()
            place = scratch.name
        root = Path(place).expanduser().absolute()
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / ".lock"):
            fitted = fit_parts(self, given, root)
        return self._set_fitted(fitted, root, scratch)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model into a folder: safetensors, arrays and JSON, no code.

        Parameters
        ----------
        path : str or path-like
            A new folder, which gets copies of all parts; or ``folder`` itself, where they lie.

        Raises
        ------
        FileExistsError, ValueError, OSError
            If something else is there, a parameter cannot be written as JSON, or the folder
            cannot be written; nothing stays then.
        """
        check_is_fitted(self, "contexts_")
        self._space()
        fitted = Fitted(
            parts=self._parts,
            digest=self._digest,
            seed=self._seed,
            sides=self._sides,
            encoder=self.encoder_,
            contexts=self.contexts_,
            losses=self.loss_curve_,
            scores=self.scores_,
            generator_losses=self.generator_loss_curve_,
            generator_scores=self.generator_scores_,
            perplexities=self.perplexities_,
            is_complete=self.is_complete_,
        )
        write_model(self, path, self._place, fitted)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **params: Any) -> ContextModel:
        """Load a fitted model that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The folder.
        **params
            Parameters to change, such as ``device``, or ``encoder`` where the model has one.

        Returns
        -------
        model : ContextModel
            Fitted, with ``folder=path``.

        Raises
        ------
        FileNotFoundError, ValueError
            If nothing was saved there, or a file is missing, damaged or was changed.
        """
        model, fitted, root = read_model(cls, path, params)
        check_parameters(model)
        model._set_fitted(fitted, root, None)
        if model.encoder is not None:
            texts = list(model.corpus_.iterate_texts())
            model.encoder_ = cloned("encoder", model.encoder).fit(texts)
            vars(model).pop("_opened")
        model._space()
        return model

    def _set_fitted(self, fitted: Fitted, root: Path, scratch: Any) -> ContextModel:
        for name in ("_files", "_opened"):
            vars(self).pop(name, None)
        self._root, self._scratch = os.fspath(root), scratch
        self._parts, self._digest, self._seed = fitted.parts, fitted.digest, fitted.seed
        self._sides = fitted.sides
        self.encoder_, self.contexts_ = fitted.encoder, fitted.contexts
        self.loss_curve_, self.scores_ = fitted.losses, fitted.scores
        self.generator_loss_curve_ = fitted.generator_losses
        self.generator_scores_ = fitted.generator_scores
        self.perplexities_ = fitted.perplexities
        self.is_complete_ = fitted.is_complete
        return self


def _is_corpus(documents: Any) -> bool:
    """Whether a corpus is given, or the folder of one."""
    if isinstance(documents, (str, os.PathLike)):
        return Path(documents).expanduser().joinpath("corpus.json").is_file()
    return hasattr(documents, "chunk_starts") and hasattr(documents, "folder")

"""Token vectors of texts from a frozen transformers model."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.encoders.frozen_encoder import FrozenEncoder
from estimators.encoders.sentence_encoder import POOLERS
from estimators.inputs import check_texts
from estimators.persistence import savable
from film.tokens import Ragged


@savable
class TokenEncoder(FrozenEncoder):
    """Turn texts into the vectors of their tokens by a frozen transformers model.

    The model is used as it is: nothing is trained. Special tokens such as [CLS] and [SEP] are
    among the tokens. Repeated texts are encoded once, batches hold texts of like length, and
    padding never reaches a result: a text alone has the same vectors, to 1e-5 in float32.

    Parameters
    ----------
    model : str or path-like, default=None
        Name of a model on the Hugging Face hub, or a local folder, for which the network is not
        touched. None is the packaged all-MiniLM-L6-v2 (extra ``minilm``). Weights are read from
        safetensors only; code of the model's own is never run.
    max_length : int, default=128
        Most tokens per text, special ones included. What is cut is counted in one warning.
    batch_size : int, default=None
        A batch has at most ``32 * batch_size`` tokens, so about ``batch_size`` short sentences
        and fewer long ones. None is 512 on a GPU and 32 elsewhere. Where a GPU has too little
        memory for it, batches are halved.
    device : str, default=None
        As torch names it, such as "cpu" or "cuda:1". None is "cuda" where torch sees a GPU, else
        "cpu".
    dtype : {"float32", "float16", "bfloat16"}, default=None
        Precision inside the model. None is float32 on every device, so that results agree
        across devices; half precision is faster on GPUs. Results are float32 in any case.
    cache : str or path-like, default=None
        Folder of your own where encodings are kept by model, ``max_length``, ``dtype`` and text.
        A text that is there is not encoded again. Interrupted work is kept. It takes 1.5 kB a
        token for a width of 384.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    n_features_out_ : int
        Width h of the vectors.
    model_digest_ : str
        Name of the model by the content of its files. A copy by pickle or deepcopy holds this and
        no weights: it reads them again when first used, and raises if they have changed.

    See Also
    --------
    SentenceEncoder : One vector per text.

    Notes
    -----
    Speed is that of the model, some hundreds of short sentences per second for MiniLM on two
    cores. Memory: 4 h bytes per token for the result.

    Examples
    --------
    >>> from estimators.encoders import TokenEncoder
    >>> texts = ["How old is Earth?", "Hi"]
    >>> tokens = TokenEncoder().fit_transform(texts)  # doctest: +SKIP
    >>> tokens.lengths, tokens.values.shape  # doctest: +SKIP
    (array([7, 3]), (10, 384))
    """

    def __init__(
        self,
        model: Any = None,
        *,
        max_length: int = 128,
        batch_size: int | None = None,
        device: Any = None,
        dtype: Any = None,
        cache: Any = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.max_length = max_length
        self.batch_size = batch_size
        self.device = device
        self.dtype = dtype
        self.cache = cache
        self.verbose = verbose

    def fit(self, texts: Any, y: Any = None) -> TokenEncoder:
        """Load the model; nothing is learned from the texts.

        Parameters
        ----------
        texts : iterable of str
            Checked, not encoded.
        y : object, default=None
            Not used.

        Returns
        -------
        self : TokenEncoder
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, not a string or holds a lone surrogate, a parameter is out of
            range, or the model's files are damaged, unsafe or of another kind.
        FileNotFoundError
            If the model or one of its files is not there.
        ImportError
            If torch, transformers or the packaged model is not installed.
        """
        check_texts(texts, encodable=True)
        transformer = self._load()
        self.n_features_out_ = transformer.width
        return self.set_transformer(transformer)

    def transform(self, texts: Any) -> Ragged:
        """Encode texts.

        Parameters
        ----------
        texts : iterable of str
            At least one; a text may be empty.

        Returns
        -------
        tokens : Ragged
            Float32 vectors of the n texts in their order, with vocabulary ids, character spans
            in the text as given ((0, 0) for special tokens) and which tokens are special.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, not a string or holds a lone surrogate.
        MemoryError
            If a single text is too much for the GPU.
        OSError
            If the cache cannot be read or written.
        """
        return self.encode(texts)[0]

    def token_names(self, ids: Any) -> list[str]:
        """Give entries of the vocabulary as the model spells them.

        Parameters
        ----------
        ids : array-like of int, shape (N,)
            Such as those of `transform`.

        Returns
        -------
        names : list of str
            Such as "[CLS]", "earth" and "##ing".
        """
        return self.loaded().tokenizer.convert_ids_to_tokens(np.asarray(ids).tolist())

    def encode(self, texts: Any, *, warns: bool = True) -> tuple[Ragged, np.ndarray]:
        """Encode texts, and say which of them ``max_length`` cut."""
        transformer = self.loaded()
        values, tokens, codes = self._encode(
            transformer,
            check_texts(texts, encodable=True),
            lambda features, mask: features[mask],
            "tokens",
            one_row=False,
            warns=warns,
        )
        found = Ragged(
            values,
            tokens.starts,
            ids=tokens.ids,
            spans=tokens.spans,
            is_special=tokens.is_special,
        )
        return found if len(found) == len(codes) else found[codes], tokens.is_cut[codes]

    def encode_means(self, texts: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Encode texts as the means of their token vectors, special tokens included.

        Parameters
        ----------
        texts : iterable of str
            As in `transform`. Nothing warns of those that are cut or not known.

        Returns
        -------
        vectors : ndarray of float32, shape (n, h)
            As `SentenceEncoder` gives with ``pooling="mean"``, whose cache they share.
        is_cut : ndarray of bool, shape (n,)
            Texts that ``max_length`` cut.
        unknown : ndarray of float64, shape (n,)
            Share of the tokens of each text that the model does not know.
        """
        transformer = self.loaded()
        values, tokens, codes = self._encode(
            transformer,
            check_texts(texts, encodable=True),
            POOLERS["mean"],
            "mean",
            one_row=True,
            warns=False,
        )
        unknown = transformer.unknown_shares(tokens)
        return values[codes], tokens.is_cut[codes], unknown[codes]

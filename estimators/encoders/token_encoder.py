"""Token vectors from a frozen transformers model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from estimators.encoders.frozen_encoder import FrozenEncoder
from estimators.encoders.sentence_encoder import POOLERS
from estimators.inputs import check_texts
from estimators.persistence import savable
from film.tokens import Ragged


@savable
@dataclass(eq=False, repr=False)
class TokenEncoder(FrozenEncoder):
    """Encode texts as one vector per token with a frozen transformers model.

    Nothing is trained. Tokens include special ones such as [CLS] and [SEP]. Repeated texts are
    encoded once, and batches hold texts of similar length. Padding does not affect results: a text
    alone has the same vectors up to 1e-5 in float32.

    Parameters
    ----------
    model : str or path-like, default=None
        Name of a model on the Hugging Face hub, or a local folder, which needs no network. None is
        the packaged all-MiniLM-L6-v2 (extra ``minilm``). Weights are read from safetensors only;
        the model's own code is never run.
    max_length : int, default=128
        Maximal number of tokens per text, including special tokens. A single warning counts the
        truncated texts.
    batch_size : int, default=None
        A batch has at most ``32 * batch_size`` tokens: about ``batch_size`` short sentences, or
        fewer long ones. None is 512 on a GPU and 32 elsewhere. Batches are halved if the GPU runs
        out of memory.
    device : str, default=None
        Torch device, such as "cpu" or "cuda:1". None is "cuda" if torch sees a GPU, else
        "cpu".
    dtype : {"float32", "float16", "bfloat16"}, default=None
        Precision inside the model. None is float32 on every device, so that results agree
        across devices; half precision is faster on GPUs. Results are always float32.
    cache : str or path-like, default=None
        Your own folder for encodings, stored by model, ``max_length``, ``dtype`` and text. Texts
        in the cache are not encoded again, even after an interrupt. It takes 4 bytes per token and
        dimension.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    n_features_out_ : int
        Width h of the vectors.
    model_digest_ : str
        Digest of the model files. Copies by pickle or deepcopy hold the digest but no weights:
        they read them again on first use, and raise an error if the files have changed.

    See Also
    --------
    SentenceEncoder : One vector per text.

    Notes
    -----
    The model dominates the running time: some hundreds of short sentences per second for MiniLM
    on two cores. The result takes 4 h bytes per token.

    Examples
    --------
    >>> from estimators.encoders import TokenEncoder
    >>> texts = ["How old is Earth?", "Hi"]
    >>> tokens = TokenEncoder().fit_transform(texts)  # doctest: +SKIP
    >>> tokens.lengths, tokens.values.shape  # doctest: +SKIP
    (array([7, 3]), (10, 384))
    """

    model: Any = None
    _: KW_ONLY
    max_length: int = 128
    batch_size: int | None = None
    device: Any = None
    dtype: Any = None
    cache: Any = None
    verbose: int = 0

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
            range, or the model's files are damaged, unsafe or not supported.
        FileNotFoundError
            If the model or one of its files is missing.
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
            Float32 vectors of the n texts in their order, with vocabulary ids, character spans in
            the original text ((0, 0) for special tokens), and a mask of the special tokens.

        Raises
        ------
        TypeError, ValueError
            If a text is missing, not a string or holds a lone surrogate.
        MemoryError
            If a single text exceeds the memory of the GPU.
        OSError
            If the cache cannot be read or written.
        """
        return self.encode(texts)[0]

    def token_names(self, ids: Any) -> list[str]:
        """Return vocabulary entries as the model spells them.

        Parameters
        ----------
        ids : array-like of int, shape (N,)
            Token ids, for instance from `transform`.

        Returns
        -------
        names : list of str
            Names such as "[CLS]", "earth" and "##ing".
        """
        return self.loaded().tokenizer.convert_ids_to_tokens(np.asarray(ids).tolist())

    def encode(self, texts: Any, *, warns: bool = True) -> tuple[Ragged, np.ndarray]:
        """Encode texts, and return a mask of the texts that ``max_length`` truncated."""
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
        """Encode texts as the means of their token vectors, including special tokens.

        Parameters
        ----------
        texts : iterable of str
            As in `transform`, but without warnings of truncated texts and unknown tokens.

        Returns
        -------
        vectors : ndarray of float32, shape (n, h)
            As from `SentenceEncoder` with ``pooling="mean"``; both share one cache.
        is_cut : ndarray of bool, shape (n,)
            Texts that ``max_length`` truncated.
        unknown : ndarray of float64, shape (n,)
            Share of unknown tokens in each text.
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

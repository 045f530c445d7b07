"""Models of this package for other libraries: sentence-transformers and MTEB."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from estimators.encoders.frozen_encoder import SentenceEncoder, TokenEncoder
from estimators.encoders.model_files import HEAD, POOLING_KEYS, write_folder
from estimators.encoders.transformer import Transformer
from estimators.inputs import as_texts, duplicate_column


def export_sentence_transformers(encoder: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted encoder into a new folder in the layout of sentence-transformers.

    ``SentenceTransformer(path).encode`` then returns the vectors of the encoder's ``transform``.
    For a token model, such as `RCMDRegressor`, it returns means of token vectors; their cosine
    approximates its similarity but does not equal it.

    Parameters
    ----------
    encoder : SentenceEncoder, TokenEncoder, RCMDRegressor, SurrogateRegressor or another that has \
`encoder_`
        Fitted.
    path : str or path-like
        A folder that does not exist or is empty.

    Raises
    ------
    TypeError
        If the encoder is not supported.
    ValueError
        If a learned layer cannot follow the pooling, as with ``pooling="max"``.
    FileExistsError, OSError
        If ``path`` is not empty or cannot be written.

    Notes
    -----
    A linear layer after the model and the whitening become one layer after the pooling: both are
    affine, and the mean of affine images is the affine image of the mean. Weights keep the
    precision of the encoder. Files are safetensors and JSON, without code.

    Examples
    --------
    >>> from estimators import SentenceEncoder
    >>> from estimators.encoders import export_sentence_transformers
    >>> encoder = SentenceEncoder().fit(["a text"])  # doctest: +SKIP
    >>> export_sentence_transformers(encoder, "minilm")  # doctest: +SKIP
    """
    found = getattr(encoder, "encoder_", encoder)
    if not isinstance(found, (SentenceEncoder, TokenEncoder)):
        raise TypeError(
            f"encoder is {type(encoder).__name__}, which has no transformers model: give a fitted "
            "SentenceEncoder, TokenEncoder, RCMDRegressor or SurrogateRegressor"
        )
    check_is_fitted(found, "model_digest_")
    transformer = found.loaded()
    pooling = getattr(found, "pooling_", "mean")
    dense = _layer(found, transformer)
    if transformer.head is not None and pooling == "max":
        raise ValueError(
            "pooling='max' takes the maximum after the model's learned layer, but the layout of "
            "sentence-transformers puts that layer last: fit with pooling='mean' or 'cls'"
        )

    def write(folder: Path) -> None:
        from safetensors.numpy import save_file

        transformer.save(folder)
        (folder / HEAD).unlink(missing_ok=True)
        parts = [("", "Transformer"), ("1_Pooling", "Pooling")]
        _write(folder / "sentence_bert_config.json", {"max_seq_length": found.max_length})
        versions = {"__version__": {}, "prompts": {}, "similarity_fn_name": "cosine"}
        _write(folder / "config_sentence_transformers.json", versions)
        modes = {key: name == pooling for name, key in POOLING_KEYS.items()}
        _write(
            folder / "1_Pooling" / "config.json",
            {"word_embedding_dimension": transformer.module.config.hidden_size, **modes},
        )
        if dense is not None:
            weight, bias = (np.ascontiguousarray(part, dtype=np.float32) for part in dense)
            said = {
                "in_features": weight.shape[1],
                "out_features": weight.shape[0],
                "bias": True,
                "activation_function": "torch.nn.modules.linear.Identity",
            }
            _write(folder / "2_Dense" / "config.json", said)
            layer = {"linear.weight": weight, "linear.bias": bias}
            save_file(layer, folder / "2_Dense" / "model.safetensors")
            parts.append(("2_Dense", "Dense"))
        _write(
            folder / "modules.json",
            [
                {
                    "idx": number,
                    "name": str(number),
                    "path": place,
                    "type": f"sentence_transformers.models.{kind}",
                }
                for number, (place, kind) in enumerate(parts)
            ],
        )

    write_folder(path, write)


def _layer(encoder: Any, transformer: Transformer) -> tuple[np.ndarray, np.ndarray] | None:
    """Return weight and bias of the linear map after the pooling, or None without one."""
    weight, bias = np.eye(transformer.width), np.zeros(transformer.width)
    components = getattr(encoder, "components_", None)
    if transformer.head is None and components is None:
        return None
    if transformer.head is not None:
        learned = transformer.head.state_dict()
        weight, bias = (learned[name].double().cpu().numpy() for name in ("weight", "bias"))
    if components is not None:
        weight, bias = components @ weight, components @ (bias - encoder.mean_)
    return weight, bias


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


NO_VECTOR_WIDTH = 16
"""Length of the placeholder vectors for similarities without vectors."""


class MTEBModel:
    """Wrap a fitted encoder, or a fitted similarity of pairs, for `mteb.evaluate`.

    Parameters
    ----------
    model : fitted estimator
        With ``similarity(pairs)``, such as `RCMDRegressor`, `TokenMatchingRegressor` or
        `ContextRegressor`, or ``predict_proba(pairs)``, such as `DuplicateClassifier`: this method
        scores the pairs. Or with ``transform(texts)`` only, such as `SentenceEncoder` or a
        pipeline that ends in `FILM`: the cosine of the vectors is the score.
    name : str
        Name in MTEB, "ORGANISATION/MODEL".
    revision : str, default="0"
        Revision of the name; MTEB stores its results by both.

    Raises
    ------
    TypeError
        If the model has none of these methods.

    Notes
    -----
    MTEB first asks for vectors of texts, then for similarities of pairs of vectors. This object
    therefore remembers the text of each vector. For a similarity, the vectors are means of token
    vectors if it has an encoder. Otherwise they are random, and metrics that a task computes from
    the vectors alone, such as "cosine_spearman", are meaningless; read "spearman", "pearson" or
    "similarity_ap", which use the model's own similarity. A matrix of similarities, as in
    retrieval, scores every pair.

    Examples
    --------
    >>> from estimators import SentenceEncoder
    >>> from estimators.encoders import MTEBModel
    >>> encoder = SentenceEncoder().fit(["a text"])  # doctest: +SKIP
    >>> model = MTEBModel(encoder, "film-metric/minilm")  # doctest: +SKIP
    >>> mteb.evaluate(model, mteb.get_tasks(tasks=["STSBenchmark"]))  # doctest: +SKIP
    """

    def __init__(self, model: Any, name: str = "film-metric/model", revision: str = "0") -> None:
        judges = [method for method in ("similarity", "predict_proba") if hasattr(model, method)]
        if not judges and not hasattr(model, "transform"):
            raise TypeError(
                f"model is {type(model).__name__}, which has none of similarity, predict_proba and "
                "transform: give a fitted encoder or a fitted similarity of pairs"
            )
        self.model, self.name, self.revision = model, name, revision
        self._judge = judges[0] if judges else None
        self._texts: dict[bytes, str] = {}

    def encode(self, inputs: Any, **kwargs: Any) -> np.ndarray:
        """Return the vectors of texts.

        Parameters
        ----------
        inputs : iterable of dict
            Batches with "text", a list of str.
        **kwargs : object
            Description of the task; not used.

        Returns
        -------
        vectors : ndarray of float32, shape (n, h)
            In the order of the texts.
        """
        texts = [text for batch in inputs for text in batch["text"]]
        vectors = np.ascontiguousarray(self._vectors(texts), dtype=np.float32)
        if self._judge:
            self._texts.update(zip(map(np.ndarray.tobytes, vectors), texts, strict=True))
        return vectors

    def similarity(self, embeddings1: Any, embeddings2: Any) -> np.ndarray:
        """Return the similarities of all pairs of vectors from both sides, (n1, n2)."""
        first, second = _array(embeddings1), _array(embeddings2)
        if self._judge is None:
            return _unit(first) @ _unit(second).T
        rows, columns = np.indices((len(first), len(second))).reshape(2, -1)
        found = self._similarities(first[rows], second[columns])
        return found.reshape(len(first), len(second))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> np.ndarray:
        """Return the similarity of each vector to its partner, (n,)."""
        first, second = _array(embeddings1), _array(embeddings2)
        if self._judge is None:
            return np.einsum("nd,nd->n", _unit(first), _unit(second))
        return self._similarities(first, second)

    @property
    def mteb_model_meta(self) -> Any:
        """Metadata that MTEB stores for a model."""
        from mteb.models import ModelMeta
        from mteb.models.model_meta import ScoringFunction

        return ModelMeta(
            loader=None,
            name=self.name,
            revision=self.revision,
            release_date=None,
            languages=None,
            n_parameters=None,
            memory_usage_mb=None,
            max_tokens=None,
            embed_dim=None,
            license=None,
            open_weights=None,
            public_training_code=None,
            public_training_data=None,
            framework=[],
            similarity_fn_name=ScoringFunction.CUSTOM if self._judge else ScoringFunction.COSINE,
            use_instructions=False,
            training_datasets=None,
        )

    def _vectors(self, texts: list[str]) -> np.ndarray:
        encoder: Any = getattr(self.model, "encoder_", None)
        if hasattr(encoder, "encode_means"):
            return encoder.encode_means(texts)[0]
        if hasattr(self.model, "transform") and not self._judge:
            return self.model.transform(as_texts(texts))
        return np.array([_stand_in(text) for text in texts]).reshape(-1, NO_VECTOR_WIDTH)

    def _similarities(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        sides = [[self._texts[row.tobytes()] for row in side] for side in (first, second)]
        pairs = np.column_stack([as_texts(side) for side in sides])
        judged = getattr(self.model, str(self._judge))(pairs)
        if self._judge == "predict_proba":
            return duplicate_column(judged, self.model)
        return np.asarray(judged)


def _array(vectors: Any) -> np.ndarray:
    return np.ascontiguousarray(np.atleast_2d(np.asarray(vectors, dtype=np.float32)))


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def _stand_in(text: str) -> np.ndarray:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "little"))
    return rng.standard_normal(NO_VECTOR_WIDTH)

"""Run encoders and similarities of this package in MTEB."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from estimators.inputs import as_texts, duplicate_column

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

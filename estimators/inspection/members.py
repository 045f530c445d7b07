"""Explain what each member of a stack predicts, by words, tokens or terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from estimators.encoders import SentenceEncoder, TokenEncoder
from estimators.inputs import as_texts, check_pairs
from estimators.inspection.explanation import Explanation, token_side
from estimators.inspection.words import explain_words
from estimators.metric import map_of

Members = list[tuple[str, Any, list[int]]]


def explain_members(
    members: Members, pairs: NDArray[np.object_], n_terms: int
) -> tuple[
    dict[str, list[Explanation]],
    dict[str, list[list[tuple[str, float]]]],
    dict[str, list[float]],
]:
    """Explain the prediction of each member that supports it.

    Parameters
    ----------
    members : list of (str, estimator, list of int)
        Name, fitted member and its columns; an embedder has several columns.
    pairs : ndarray of str, shape (n_pairs, 2)
        Texts.
    n_terms : int
        Maximal number of terms per linear member.

    Returns
    -------
    words : dict of str to list of Explanation
        Contributions that sum to the member's cosine or similarity, one explanation per pair.
    terms : dict of str to list of list of (str, float)
        Largest log-odds of the features of each linear member, for each pair.
    offsets : dict of str to list of float
        Log-odds of the same members that are not in `terms`, including the intercept.
    """
    words, terms, offsets = {}, {}, {}
    for name, member, columns in members:
        known = member.estimator if isinstance(member, FrozenEstimator) else member
        if len(columns) > 1:
            found = _of_embedder(known, pairs)
            if found is not None:
                words[name] = found
        elif hasattr(known, "explain"):
            found = known.explain(pairs)
            if all(isinstance(each, Explanation) for each in found):
                words[name] = found
        elif (names := _term_names(known)) is not None:
            terms[name], offsets[name] = _strongest_terms(known, names, pairs, n_terms)
    return words, terms, offsets


def explain_tokens(embedder: Any, pairs: Any) -> list[Explanation]:
    """Split the cosine of each pair over its pairs of tokens.

    Parameters
    ----------
    embedder : SentenceEncoder, or Pipeline that begins with one
        Fitted, with ``pooling="mean"`` and ``whiten=False``; then `FILM`, `MiniBatchFILM`,
        `TruncatedSVD` or a `Normalizer`, or nothing.
    pairs : array-like of str, shape (n_pairs, 2)
        Texts.

    Returns
    -------
    explanations : list of Explanation
        One per pair. A text's vector is L times the mean of its n token vectors x_i, so the terms
        (L x_i)ᵀ (L z_j) / (n m ‖L x̄‖ ‖L z̄‖) sum to the cosine; they are 0 if a norm is 0.

    Raises
    ------
    TypeError
        If the embedder is not supported.

    Notes
    -----
    The texts are encoded once.
    """
    steps = embedder.steps if isinstance(embedder, Pipeline) else [("encoder", embedder)]
    encoder, rest = steps[0][1], [step for _, step in steps[1:]]
    if not isinstance(encoder, SentenceEncoder):
        raise TypeError(f"embedder begins with {encoder!r}; give one that begins with an encoder")
    transformer = encoder.loaded()
    if encoder.pooling_ != "mean" or encoder.whiten is not False:
        raise TypeError(
            f"embedder begins with {encoder!r}, whose vectors are not means of token vectors; give "
            "pooling='mean' and whiten=False"
        )
    components = map_of(rest)
    checked = check_pairs(pairs, encodable=True)
    shape = {"max_length": encoder.max_length, "batch_size": encoder.batch_size}
    tokens = TokenEncoder(encoder.model, **shape).set_transformer(transformer)
    texts = list(dict.fromkeys(checked.ravel().tolist()))
    numbers = {text: number for number, text in enumerate(texts)}
    found, _ = tokens.encode(as_texts(texts), warns=False)
    codes = [[numbers[text] for text in pair] for pair in checked.tolist()]
    return [_of_tokens(tokens, found, texts, pair, components) for pair in codes]


def _of_tokens(
    encoder: TokenEncoder, found: Any, texts: list[str], pair: list[int], components: Any
) -> Explanation:
    given: dict[str, Any] = {}
    vectors = []
    for side, number in enumerate(pair, 1):
        tokens = found[[number]]
        values = np.asarray(tokens.values, dtype=np.float64)
        vectors.append(values if components is None else values @ components.T)
        given |= token_side(side, texts[number], tokens, encoder)
    scale = 1.0
    for points in vectors:
        scale *= float(np.linalg.norm(points.sum(axis=0))) if len(points) else 0.0
    contributions = vectors[0] @ vectors[1].T * (1 / scale if scale > 0 else 0.0)
    return Explanation(**given, contributions=contributions, similarity=float(contributions.sum()))


def _of_embedder(embedder: Any, pairs: NDArray[np.object_]) -> list[Explanation] | None:
    for explain in (explain_words, explain_tokens):
        try:
            return explain(embedder, pairs)
        except TypeError:  # unsupported embedder
            continue
    return None


def _term_names(member: Any) -> Any:
    """Names of the features of a linear member, else None."""
    if not (isinstance(member, Pipeline) and hasattr(member[-1], "coef_")):
        return None
    try:
        return member[:-1].get_feature_names_out()
    except AttributeError:  # a step has no feature names
        return None


def _strongest_terms(
    member: Any, names: Any, pairs: Any, n_terms: int
) -> tuple[list[list[tuple[str, float]]], list[float]]:
    features = sp.csr_array(member[:-1].transform(pairs))
    coefficients = member[-1].coef_
    weights = np.ravel(coefficients.toarray() if sp.issparse(coefficients) else coefficients)
    strongest, offsets = [], []
    intercept = float(np.ravel(member[-1].intercept_)[0])
    for row in range(len(pairs)):
        start, stop = features.indptr[row : row + 2]
        columns = features.indices[start:stop]
        products = features.data[start:stop] * weights[columns]
        order = np.argsort(-np.abs(products), kind="stable")[:n_terms]
        strongest.append([(str(names[columns[i]]), float(products[i])) for i in order])
        offsets.append(intercept + float(products.sum() - products[order].sum()))
    return strongest, offsets

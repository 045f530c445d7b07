"""Average of the weights of models trained from the same start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from estimators.encoders import Transformer, check_new_folder, write_folder


def average_models(
    models: Sequence[Any], path: str | os.PathLike[str], *, weights: Any = None
) -> None:
    """Average the weights of several models into a new model folder.

    Models trained on different rows from the same start are often better when averaged than each
    alone, especially on other kinds of texts, at the cost of one model: "Model soups" (Wortsman et
    al., 2022). The starting model may be included: a positive weight undoes part of the training,
    a negative one amplifies it, "Editing models with task arithmetic" (Ilharco et al., 2023).

    Parameters
    ----------
    models : sequence of str, path-like or None
        At least two names on the Hugging Face hub or folders, for example from
        `RCMDRegressor.save`; None is the packaged all-MiniLM-L6-v2. All must have the same shape
        and vocabulary.
    path : str or path-like
        A new or empty folder, for use as ``RCMDRegressor(path).fit(pairs, scores)``.
    weights : array-like of float, shape (n_models,), default=None
        Weight of each model, normalised to the sum 1; the sum must be positive. None means equal.

    Raises
    ------
    TypeError, ValueError
        If there are fewer than two models, models differ in shape or vocabulary, or weights are
        invalid.
    FileNotFoundError, ImportError
        If a model or a required package is missing.
    FileExistsError, OSError
        If the folder cannot be written; nothing is left behind.

    Notes
    -----
    Two models are in memory at a time.

    Examples
    --------
    >>> from estimators import RCMDRegressor, average_models
    >>> average_models(["questions", "captions"], "both")  # doctest: +SKIP
    >>> average_models(  # 0.7 of what each has learned since the packaged model, their start
    ...     [None, "questions", "captions"], "more", weights=[-0.4, 0.7, 0.7]
    ... )  # doctest: +SKIP
    >>> RCMDRegressor("both").fit(pairs, scores)  # doctest: +SKIP
    """
    if not isinstance(models, (list, tuple)) or len(models) < 2:
        raise ValueError(f"models={models!r} must be a list of at least two models")
    shares = _checked_shares(weights, len(models))
    check_new_folder(path)
    first = _read(models[0])
    start, vocabulary = first.arrays(), first.tokenizer.get_vocab()
    form = _form(start)
    total = {name: np.zeros(values.shape) for name, values in start.items()}
    for number, (model, share) in enumerate(zip(models, shares, strict=True)):
        other = first if number == 0 else _read(model)
        arrays = other.arrays()
        if _form(arrays) != form or other.tokenizer.get_vocab() != vocabulary:
            raise ValueError(
                f"models[{number}]={model!r} has another shape or vocabulary than models[0]="
                f"{models[0]!r}; only models trained from one start can be averaged"
            )
        for name, values in arrays.items():
            total[name] += share * values
    first.adopt(
        {
            # Integer arrays are constant tables; `_form` checked that they are equal.
            name: total[name].astype(np.float32) if values.dtype.kind == "f" else values
            for name, values in start.items()
        }
    )
    write_folder(path, first.save)


def _form(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return what models must share: shapes of weights, and constant tables."""
    return {
        name: values.shape if values.dtype.kind == "f" else values.tolist()
        for name, values in arrays.items()
    }


def _read(model: Any) -> Transformer:
    transformer = Transformer(model, "cpu", "float32", 0)
    # An untrained model has no head; the head added here is the identity.
    transformer.add_head()
    return transformer


def _checked_shares(weights: Any, n_models: int) -> np.ndarray:
    if weights is None:
        return np.full(n_models, 1 / n_models)
    try:
        shares = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights={weights!r} must be numbers, one per model") from error
    if shares.shape != (n_models,):
        raise ValueError(
            f"weights has shape {shares.shape}; give one for each of {n_models} models"
        )
    if not (np.isfinite(shares).all() and shares.sum() > 0):
        raise ValueError(f"weights={weights!r} must be finite, with a sum above 0")
    return shares / shares.sum()

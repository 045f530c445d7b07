"""Average of models that were trained from one start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from estimators.encoders import Transformer, check_new_folder, write_folder


def average_models(
    models: Sequence[Any], path: str | os.PathLike[str], *, weights: Any = None
) -> None:
    """Write the average of the weights of several models into a new folder, a model again.

    Models that were trained on different rows from one start often do better together than each
    alone, on texts of other kinds above all, and one model costs what it did: "Model soups"
    (Wortsman et al., 2022). The start itself may be among them: a share above 0 undoes a part of
    what was learned, and one below 0 adds up more of what each learned than their average does,
    "Editing models with task arithmetic" (Ilharco et al., 2023).

    Parameters
    ----------
    models : sequence of str, path-like or None
        At least two names on the Hugging Face hub or folders, such as `RCMDRegressor.save` wrote;
        None is the packaged all-MiniLM-L6-v2. All of one shape and one vocabulary.
    path : str or path-like
        A folder that is not there, or empty. ``RCMDRegressor(path).fit(pairs, scores)`` takes it.
    weights : array-like of float, shape (n_models,), default=None
        Share of each model; they are brought to the sum 1, so their sum must be above 0. None:
        alike.

    Raises
    ------
    TypeError, ValueError
        If there are fewer than two models, one does not fit the first, or weights are wrong.
    FileNotFoundError, ImportError
        If a model, or a package for it, is not there.
    FileExistsError, OSError
        If the folder cannot be written; nothing stays then.

    Notes
    -----
    Time and memory are those of reading two models at once.

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
            # Whole numbers are tables that training never changes; `_form` saw that they are equal.
            name: total[name].astype(np.float32) if values.dtype.kind == "f" else values
            for name, values in start.items()
        }
    )
    write_folder(path, first.save)


def _form(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Give what models must have in common: shapes of weights, and the tables beside them."""
    return {
        name: values.shape if values.dtype.kind == "f" else values.tolist()
        for name, values in arrays.items()
    }


def _read(model: Any) -> Transformer:
    transformer = Transformer(model, "cpu", "float32", 0)
    # A model that was never trained has no head, which is one that changes nothing.
    transformer.add_head()
    return transformer


def _checked_shares(weights: Any, n_models: int) -> np.ndarray:
    if weights is None:
        return np.full(n_models, 1 / n_models)
    try:
        shares = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights={weights!r} must be numbers, one a model") from error
    if shares.shape != (n_models,):
        raise ValueError(
            f"weights has shape {shares.shape}; give one for each of {n_models} models"
        )
    if not (np.isfinite(shares).all() and shares.sum() > 0):
        raise ValueError(f"weights={weights!r} must be finite, with a sum above 0")
    return shares / shares.sum()

"""Folds of each member of a stack: all folds, a few unions of folds, or a single fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from estimators.encoders import AnyEncoder, SentenceEncoder, StaticEncoder
from estimators.inputs import Fold, check_integer

LEAST_FOLDS = 2
"""Least number of folds per part, so that a final model can learn from one and score another."""


@dataclass(frozen=True)
class MemberPlan:
    """A member with its folds.

    Attributes
    ----------
    name : str
    member : estimator
        Unfitted.
    folds : list of (ndarray, ndarray)
        Rows of training and test.
    is_frozen : bool
        Whether it learns nothing, so that one fit serves all folds.
    has_own_folds : bool
        Whether each of its folds is a union of several folds of the stack.
    """

    name: str
    member: Any
    folds: list[Fold]
    is_frozen: bool
    has_own_folds: bool


def is_frozen(member: Any) -> bool:
    """Return whether a member's results depend neither on labels nor on its training texts.

    Frozen members are: a `sklearn.frozen.FrozenEstimator`; a `SentenceEncoder` without whitening; a
    `StaticEncoder`; an `AnyEncoder` of an encoder that learns nothing; token matching and an
    untrained `RCMDRegressor`, unless they count words or learn a map of tokens (`TokenFILM`); and
    pipelines of frozen steps.
    """
    # Imported here: token regressors import the explanations, which scoring does not need.
    from estimators.tokens import RCMDRegressor, TokenMatchingRegressor

    if isinstance(member, Pipeline):
        return all(is_frozen(step) for _, step in member.steps)
    if isinstance(member, FrozenEstimator | StaticEncoder):
        return True
    if isinstance(member, SentenceEncoder):
        return member.whiten is False
    if isinstance(member, AnyEncoder):
        return not hasattr(member.encoder, "transform") or is_frozen(member.encoder)
    if isinstance(member, RCMDRegressor) and member.epochs:
        return False
    if isinstance(member, (RCMDRegressor, TokenMatchingRegressor)):
        if hasattr(member.model, "fit") and not isinstance(member.model, FrozenEstimator):
            return False
        return not (isinstance(member.weights, str) and member.weights == "idf")
    return False


def check_member_cv(member_cv: Any, members: list[tuple[str, Any]]) -> dict[str, int]:
    """Return the checked number of folds of each member that has its own."""
    if member_cv is None:
        return {}
    if not isinstance(member_cv, Mapping):
        raise TypeError(
            f"member_cv={member_cv!r} must be a dict of the names of members and numbers of folds, "
            "such as {'rcmd': 2}, or None"
        )
    by_name = dict(members)
    for name, n_parts in member_cv.items():
        if name not in by_name:
            raise ValueError(f"member_cv names {name!r}; members are {', '.join(by_name)}")
        check_integer(f"member_cv[{name!r}]", n_parts, 2)
        if is_frozen(by_name[name]):
            raise ValueError(
                f"member_cv names {name!r}, which learns nothing and is fitted once; leave it out"
            )
    if len(set(member_cv.values())) > 1:
        raise ValueError(
            f"member_cv={dict(member_cv)!r} has different numbers; give all members the same "
            "number, otherwise their folds overlap and the stack cannot be measured out of fold"
        )
    return {name: int(n_parts) for name, n_parts in member_cv.items()}


def parts_of_folds(n_folds: int, n_parts: int) -> NDArray[np.intp]:
    """Return the union ("part") of each fold: consecutive folds, evenly divided.

    Raises ValueError unless each part has `LEAST_FOLDS` folds.
    """
    if n_folds < LEAST_FOLDS * n_parts:
        raise ValueError(
            f"member_cv={n_parts} needs cv={LEAST_FOLDS * n_parts} or more, as {LEAST_FOLDS} folds "
            f"of the stack or more make one of such a member, and cv gives {n_folds}"
        )
    return np.arange(n_folds) * n_parts // n_folds


def make_plans(
    members: list[tuple[str, Any]], parts: dict[str, int], folds: Sequence[Fold]
) -> list[MemberPlan]:
    """Return each member with its folds.

    For each of its parts, a member with its own folds is fitted on the folds outside and scores the
    folds inside, so no pair is scored by a model trained on its questions.
    """
    plans = []
    for name, member in members:
        own = list(folds)
        if name in parts:
            part = parts_of_folds(len(folds), parts[name])
            test = [
                np.sort(
                    np.concatenate(
                        [rows for (_, rows), of in zip(folds, part, strict=True) if of == number]
                    )
                )
                for number in range(parts[name])
            ]
            everything = np.sort(np.concatenate([rows for _, rows in folds]))
            own = [(np.setdiff1d(everything, rows), rows) for rows in test]
        plans.append(MemberPlan(name, member, own, is_frozen(member), name in parts))
    return plans

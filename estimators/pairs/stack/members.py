"""The members of a stack: text embedders and pair predictors, and their columns of inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from estimators.encoders import as_transformer
from estimators.inputs import cloned, finished_fits_only, showing_progress
from estimators.pairs.pair_problem import PairProblem
from estimators.pairs.stack.encodings import Encodings
from estimators.pairs.stack.member_folds import is_frozen
from film.pairs import NEIGHBOURHOOD_NAMES

EMBEDDER_COLUMNS = ("cosine", "rank from the nearer side", "rank from the farther side")
PREDICTOR_COLUMNS = ("verdict",)


def checked_members(
    members: Any, parameters: set[str], may_lack: bool = False
) -> list[tuple[str, Any]]:
    """Return unfitted copies of named members; names must differ from those of parameters.

    There must be one, unless they ``may_lack``.
    """
    example = 'give a list such as [("film", make_pipeline(TfidfVectorizer(), FILM()))]'
    if not isinstance(members, list) or not (members or may_lack):
        raise TypeError(f"members={members!r} is not a list of (name, estimator): {example}")
    names: set[str] = set()
    for entry in members:
        if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)):
            raise TypeError(f"members holds {entry!r}, not a (name, estimator): {example}")
        name, member = entry
        faults = {
            "is empty": not name,
            "holds '__'": "__" in name,
            "is that of a parameter": name in parameters,
            "is given to two members": name in names,
        }
        for fault in (fault for fault, there in faults.items() if there):
            raise ValueError(f"members: the name {name!r} {fault}; choose another")
        names.add(name)
        if isinstance(member, type):
            raise TypeError(f"member {name!r} is a class; give an instance: {member.__name__}()")
        judges = hasattr(member, "fit") and is_predictor(member)
        if not (judges or hasattr(as_transformer(member), "transform")):
            raise TypeError(
                f"member {name!r} is {type(member).__name__}, which neither predicts pairs "
                "(a classifier or regressor) nor embeds texts (has transform or encode)"
            )
    return [(name, cloned(f"member {name!r}", as_transformer(member))) for name, member in members]


def is_predictor(member: Any) -> bool:
    """Return whether a member predicts pairs; otherwise it embeds texts."""
    return hasattr(member, "get_params") and (is_classifier(member) or is_regressor(member))


def columns_of(member: Any, neighbourhood: int | None) -> tuple[str, ...]:
    """Return names of a member's columns, for an embedder with those of its neighbourhood."""
    if is_predictor(member):
        return PREDICTOR_COLUMNS
    return EMBEDDER_COLUMNS if neighbourhood is None else EMBEDDER_COLUMNS + NEIGHBOURHOOD_NAMES


def with_columns(
    members: list[tuple[str, Any]], neighbourhood: int | None
) -> list[tuple[str, Any, list[int]]]:
    """Return each named member with the numbers of its columns in the final model's inputs."""
    counts = [len(columns_of(member, neighbourhood)) for _, member in members]
    stops = np.cumsum(counts).tolist()
    return [
        (name, member, list(range(stop - count, stop)))
        for (name, member), stop, count in zip(members, stops, counts, strict=True)
    ]


def fit_embedder(
    embedder: Any,
    key: str,
    rows: np.ndarray,
    problem: PairProblem,
    encodings: Encodings | None = None,
    verbose: int = 0,
) -> Any:
    """Fit a clone on the texts of some pairs and triplets mined from their labels.

    ``key`` identifies the problem for a cache that ignores ``problem``, ``encodings`` and
    ``verbose``.
    """
    used, triplets = problem.triplets(rows)
    texts = [problem.texts[code] for code in used]
    fresh: Any = clone(embedder)
    with finished_fits_only(), showing_progress(fresh, verbose):
        return (encodings or Encodings()).fit(fresh, texts, triplets)


def embed(fitted: Any, texts: list[str]) -> np.ndarray:
    """Return dense vectors of texts by a fitted embedder, (n, d)."""
    return Encodings().embed(fitted, texts)


def fit_member(
    member: Any,
    key: str,
    rows: np.ndarray,
    problem: PairProblem,
    fit_params: dict[str, Any],
    encodings: Encodings | None = None,
    verbose: int = 0,
) -> Any:
    """Fit a clone on some of the pairs; a frozen member gets no labels.

    ``key`` identifies the problem for a cache that ignores ``problem``, ``encodings`` and
    ``verbose``.
    """
    if not is_predictor(member):
        return fit_embedder(member, key, rows, problem, encodings, verbose)
    fresh: Any = clone(member)
    if is_frozen(member):
        return fresh.fit(problem.pairs[rows], None)
    n = len(problem.pairs)
    sliced = {name: take_rows(value, rows, n) for name, value in fit_params.items()}
    with finished_fits_only(), showing_progress(fresh, verbose):
        fresh.fit(problem.pairs[rows], problem.labels[rows], **sliced)
    return fresh


def named_members(members: Any) -> list[tuple[str, Any]]:
    """Return members, or an empty list if the list is invalid, so that `fit` raises the error."""
    found = members if isinstance(members, list) else []
    pairs = all(isinstance(entry, tuple) and len(entry) == 2 for entry in found)
    return found if pairs else []


def params_of_members(members: Any) -> dict[str, Any]:
    """Return members by name, and their parameters as "name__parameter"."""
    params: dict[str, Any] = {}
    for name, member in named_members(members):
        params[name] = member
        if hasattr(member, "get_params"):
            for key, value in member.get_params(deep=True).items():
                params[f"{name}__{key}"] = value
    return params


def members_replaced(members: Any, by_name: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return a new list of members, with some of them replaced."""
    return [(name, by_name.get(name, member)) for name, member in members]


def take_rows(value: Any, rows: np.ndarray, n: int) -> Any:
    """Slice parameters with one entry per pair; return others unchanged."""
    if value is None or np.ndim(value) == 0 or len(value) != n:
        return value
    return np.asarray(value)[rows]


def member_diagram(members: list[tuple[str, Any]], final: Any) -> Any:
    """Describe members and final model to scikit-learn's HTML diagram.

    This is the only use of a private name of scikit-learn: the diagram has no public hook.
    """
    try:
        from sklearn.utils._repr_html.estimator import _VisualBlock
    except ImportError:  # scikit-learn 1.6
        from sklearn.utils._estimator_html_repr import (  # pyright: ignore[reportMissingImports]
            _VisualBlock,
        )
    names, parts = [name for name, _ in members], [member for _, member in members]
    shown = "boosted or extremely randomised trees" if final is None else final
    blocks = [_VisualBlock("parallel", [shown], names=["final_estimator"], dash_wrapped=False)]
    if members:
        blocks.insert(0, _VisualBlock("parallel", parts, names=names, dash_wrapped=False))
    return _VisualBlock("serial", blocks, dash_wrapped=False)

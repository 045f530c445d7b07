"""Metadata routing of `DuplicateClassifier.fit`."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.utils import column_or_1d
from sklearn.utils.metadata_routing import (
    MetadataRequest,
    MetadataRouter,
    MethodMapping,
    process_routing,
)

from estimators.pairs.stack.final_model import weight_parameter
from estimators.pairs.stack.members import is_predictor


def metadata_router(owner: Any, members: list[tuple[str, Any]], final: Any) -> MetadataRouter:
    """Return who may request metadata in `fit`: members that predict pairs, and the final model."""
    router = MetadataRouter(owner=owner).add_self_request(owner)
    mapping = MethodMapping().add(caller="fit", callee="fit")
    for name, member in members:
        if is_predictor(member):
            router.add(**{name: member}, method_mapping=mapping)
    if final is None:
        # Both default models take weights, but users cannot set a request on them.
        final = MetadataRequest(owner="final_estimator")
        final.fit.add_request(param="sample_weight", alias=True)
    return router.add(final_estimator=final, method_mapping=mapping)


def routed_metadata(
    owner: Any, names: list[str], final: Any, fit_params: dict[str, Any], n_pairs: int
) -> dict[str, dict[str, Any]]:
    """Return the metadata of each member and of "final_estimator"; raise if nobody requests it."""
    routed: dict[str, dict[str, Any]] = {name: {} for name in [*names, "final_estimator"]}
    if sklearn.get_config().get("enable_metadata_routing"):
        if fit_params:
            found: Any = process_routing(owner, "fit", **fit_params)
            routed |= {name: dict(found[name].fit) for name in routed if name in found}
        return routed
    unknown = set(fit_params) - {"sample_weight"}
    if unknown:
        raise TypeError(
            f"fit got {sorted(unknown)}; without metadata routing it takes sample_weight "
            "alone: sklearn.set_config(enable_metadata_routing=True), then set_fit_request "
            "on the members that want more"
        )
    weight = fit_params.get("sample_weight")
    if weight is not None:
        weight = column_or_1d(weight)
        if len(weight) != n_pairs:
            raise ValueError(
                f"sample_weight has {len(weight)} entries for {n_pairs} pairs: give one per pair"
            )
        routed["final_estimator"] = {weight_parameter(final): weight}
    return routed


def weighted_rows(fit_params: dict[str, Any], reaching: Any, n_pairs: int) -> np.ndarray:
    """Return the training rows: all rows except those with weight 0.

    ``reaching`` are the weights of the final model. If it has none, the weights in ``fit_params``,
    which members request, decide.
    """
    weights = fit_params.get("sample_weight") if reaching is None else reaching
    if weights is None:
        return np.arange(n_pairs)
    return np.flatnonzero(np.asarray(weights, dtype=np.float64))

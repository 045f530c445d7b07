"""Classes, functions and types that a file may name, by kind of entry."""

from __future__ import annotations

import functools
import importlib
from types import FunctionType
from typing import Any

import numpy as np
import scipy.sparse as sp

from estimators.persistence.registry import find_savable, savable
from film.text import normalize_text, printable_text, token_text

# A crafted file can call these with any text, so register only harmless functions.
savable(normalize_text)
savable(token_text)
_FUNCTIONS = frozenset({"scipy._lib.array_api_compat.numpy._aliases.asarray"})
_ESTIMATORS = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.ensemble": "ExtraTreesClassifier ExtraTreesRegressor HistGradientBoostingClassifier "
    "HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor "
    "StackingClassifier VotingClassifier",
    "sklearn.feature_extraction.text": "CountVectorizer HashingVectorizer TfidfTransformer "
    "TfidfVectorizer",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.impute": "SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.linear_model": "LinearRegression LogisticRegression LogisticRegressionCV Ridge "
    "RidgeClassifier RidgeCV",
    "sklearn.model_selection": "GroupKFold KFold StratifiedGroupKFold StratifiedKFold",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "FunctionTransformer LabelBinarizer LabelEncoder MaxAbsScaler "
    "MinMaxScaler Normalizer PowerTransformer QuantileTransformer RobustScaler "
    "SplineTransformer StandardScaler",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier "
    "ExtraTreeRegressor",
}
_LOSSES = (
    "AbsoluteError",
    "HalfBinomialLoss",
    "HalfGammaLoss",
    "HalfMultinomialLoss",
    "HalfPoissonLoss",
    "HalfSquaredError",
    "PinballLoss",
)
_PARTS_OF_ESTIMATORS = frozenset(
    {
        "joblib.memory.NotMemorizedResult",
        "scipy.interpolate._bsplines.BSpline",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    }
    | {f"sklearn._loss.loss.{loss}" for loss in _LOSSES}
    | {f"sklearn._loss.link.{n}Link" for n in ("HalfLogit", "Identity", "Log", "Logit")}
    | {"sklearn._loss.link.Interval", "sklearn._loss.link.MultinomialLogit"}
)
_SIMPLE = frozenset({"builtins.bool", "builtins.float", "builtins.int", "builtins.str"})
# Names allowed for each kind of entry of a skops file. All other kinds (bound methods, partial
# functions, operators, references) are refused.
_NAMES_OF_KIND = {
    "BytesNode": frozenset({"builtins.bytes"}),
    "ConstructorFromReduceNode": frozenset({"builtins.frozenset", "builtins.range"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "DictNode": frozenset(
        {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}
    ),
    "FunctionNode": _FUNCTIONS,
    "JsonNode": _SIMPLE,
    "ListNode": frozenset({"builtins.list"}),
    "NdArrayNode": frozenset({"numpy.ndarray"}),
    "LossNode": frozenset(f"sklearn._loss._loss.Cy{loss}" for loss in _LOSSES),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "SparseMatrixNode": frozenset(
        f"{kind.__module__}.{kind.__name__}"
        for kind in (sp.csc_array, sp.csc_matrix, sp.csr_array, sp.csr_matrix)
    ),
    "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": _SIMPLE,
}
_HINTS = {
    "joblib.memory.Memory": "give memory as the name of a folder, or None, before saving",
}


def audit(schema: dict[str, Any]) -> set[tuple[str, str]]:
    """Return kind and name of all entries of a skops file that must not be built.

    This includes entries that building would not reach.
    """
    refused: set[tuple[str, str]] = set()
    stack: list[Any] = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            stack.extend(node.values())
            if "__loader__" in node:
                kind = str(node["__loader__"])
                name = f"{node.get('__module__')}.{node.get('__class__')}"
                if _place(kind, name) is None:
                    refused.add((kind, name))
    return refused


def resolve(kind: str, name: str) -> Any:
    """Return the object that a trusted entry names, from its current module."""
    place = _place(kind, name)
    if place is None:
        raise ValueError(f"{name} is not trusted as {kind}")
    module, _, short = place.rpartition(".")
    return getattr(importlib.import_module(module), short)


def listed(refused: set[tuple[str, str]]) -> str:
    """List refused entries, with remedies where known."""
    lines = []
    for kind, name in sorted(refused, key=lambda entry: entry[::-1]):
        hint = f": {_HINTS[name]}" if name in _HINTS else ""
        lines.append(printable_text(f"{name} ({kind}{hint})", 300))
    return ", ".join(lines)


def _place(kind: str, name: str) -> str | None:
    """Return the current module path of a trusted name; None for all others."""
    type_of_kind = {"ObjectNode": type, "FunctionNode": FunctionType}.get(kind)
    if type_of_kind is not None:
        own = find_savable(name)
        if own is not None:
            is_kind = isinstance(own, type_of_kind)
            return f"{own.__module__}.{own.__qualname__}" if is_kind else None
    if kind == "LossNode" and name.startswith("_loss."):
        name = f"sklearn._loss.{name}"  # scikit-learn before 1.9 omits its own packages
    return name if _is_trusted(kind, name) else None


@functools.cache
def _is_trusted(kind: str, name: str) -> bool:
    if kind == "ObjectNode":
        return name in _PARTS_OF_ESTIMATORS or _is_known_estimator(name)
    if kind in ("NdArrayNode", "TypeNode"):
        package, _, short = name.rpartition(".")
        scalar = getattr(np, short, None) if package == "numpy" else None
        if isinstance(scalar, type) and issubclass(scalar, np.generic):
            return True
    return name in _NAMES_OF_KIND.get(kind, ())


def _is_known_estimator(name: str) -> bool:
    # Files name the defining modules, which are private and may change.
    short = name.rpartition(".")[2]
    for module, classes in _ESTIMATORS.items():
        if short in classes.split():
            kind = getattr(importlib.import_module(module), short)
            return name == f"{kind.__module__}.{kind.__name__}"
    return False

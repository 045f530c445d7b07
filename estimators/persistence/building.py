"""Rebuild the objects of a model file, of trusted types alone."""

from __future__ import annotations

import functools
import importlib
import io
import json
from types import FunctionType
from typing import Any

import numpy as np
import scipy.sparse as sp

from estimators.persistence.archive import OpenArchive
from estimators.persistence.model_checks import KEYS
from estimators.persistence.registry import find_savable, savable
from film.text import normalize_text, printable_text, token_text
from film.unpacking import json_size

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


MOST_DEPTH = 100
"""Maximal nesting of entries; models need about 20."""
_ENTRY_BYTES = 200
"""Size of an entry without its content: a container and its place in another container."""
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_MOST_SEEDS = 100
_POOL_SIZE = np.random.SeedSequence(0).pool_size


class Builder:
    """Build the object that a schema of trusted entries describes.

    Entries with the same id become one object, as when it was saved. It counts once per entry,
    because classes may copy their arguments.

    Parameters
    ----------
    archive : OpenArchive
        Provides the arrays and counts bytes.
    """

    def __init__(self, archive: OpenArchive) -> None:
        self.archive = archive
        self.depth = 0
        self.types: dict[tuple[str, str], Any] = {}
        self.built: dict[int, tuple[Any, int]] = {}
        """Object and its counted bytes, by id."""

    def build(self, entry: dict[str, Any]) -> Any:
        """Build the object of an entry.

        Raises
        ------
        TooLarge
            Before building anything that exceeds the limit.
        ValueError
            If entries are nested too deeply or are not allowed in a model. Damaged entries may
            raise other errors.
        """
        number = entry.get("__id__")
        if number in self.built:
            value, size = self.built[number]
            self.archive.spend(size)
            return value
        if self.depth > MOST_DEPTH:
            raise ValueError(f"its entries are nested more than {MOST_DEPTH} deep")
        before = self.archive.left
        self.archive.spend(_ENTRY_BYTES)
        kind, name = entry["__loader__"], f"{entry['__module__']}.{entry['__class__']}"
        if (kind, name) not in self.types:
            self.types[kind, name] = resolve(kind, name)
        self.depth += 1
        value = _KINDS[kind](self, self.types[kind, name], entry)
        self.depth -= 1
        if number:
            self.built[number] = value, before - self.archive.left
        return value

    def _named(self, named: Any, entry: dict[str, Any]) -> Any:
        return named

    def _bytes(self, named: Any, entry: dict[str, Any]) -> Any:
        return self.archive.take(entry["file"])

    def _json(self, named: Any, entry: dict[str, Any]) -> Any:
        self.archive.spend(json_size(entry["content"].encode("utf-8", "surrogatepass")))
        return json.loads(entry["content"])

    def _items(self, named: Any, entry: dict[str, Any]) -> Any:
        return named([self.build(item) for item in entry["content"]])

    def _dict(self, named: Any, entry: dict[str, Any]) -> Any:
        found = named()
        kinds = self.build(entry["key_types"])
        for kind, (key, value) in zip(kinds, entry["content"].items(), strict=True):
            if not issubclass(kind, KEYS) or kind is bool:
                raise ValueError(f"the key of a dict is a {kind.__name__}")
            found[kind(key)] = self.build(value)
        return found

    def _slice(self, named: Any, entry: dict[str, Any]) -> Any:
        return slice(*(entry["content"][end] for end in ("start", "stop", "step")))

    def _reduced(self, named: Any, entry: dict[str, Any]) -> Any:
        arguments = self.build(entry["content"])
        if named is frozenset and not isinstance(arguments[0], list):
            # A range could have any size.
            raise ValueError(f"a frozenset is made of a {type(arguments[0]).__name__}")
        return named(*arguments)

    def _array(self, named: Any, entry: dict[str, Any]) -> Any:
        if entry["type"] == "numpy":
            array = np.load(io.BytesIO(self.archive.take(entry["file"])), allow_pickle=False)
            return array if named is np.ndarray else array[()]
        shape = tuple(self.build(entry["shape"]))
        cells = [self.build(item) for item in entry["content"]]
        for length in shape[1:]:
            if any(not isinstance(row, list) or len(row) != length for row in cells):
                raise ValueError(f"an array of objects does not have shape {shape}")
            cells = [cell for row in cells for cell in row]
        array = np.empty(len(cells), dtype=object)
        for place, cell in enumerate(cells):
            array[place] = cell
        return array.reshape(shape)

    def _dtype(self, named: Any, entry: dict[str, Any]) -> Any:
        return self.build(entry["content"]).dtype

    def _sparse(self, named: Any, entry: dict[str, Any]) -> Any:
        return sp.load_npz(io.BytesIO(self.archive.take(entry["file"])))

    def _object(self, named: Any, entry: dict[str, Any]) -> Any:
        found = named.__new__(named)
        state = self.build(entry["content"]) if "content" in entry else None
        if state is not None and hasattr(named, "__setstate__"):
            found.__setstate__(state)
        elif state is not None:
            vars(found).update(state)
        return found

    def _loss(self, named: Any, entry: dict[str, Any]) -> Any:
        return named(*self.build(entry["__reduce__"]["args"]))

    def _tree(self, named: Any, entry: dict[str, Any]) -> Any:
        n_features, n_classes, n_outputs = self.build(entry["__reduce__"]["args"])
        # Compiled code reads one number of classes per output.
        if n_classes.shape != (n_outputs,) or n_classes.dtype != np.intp or (n_classes < 1).any():
            raise ValueError("a decision tree has a different number of outputs than it declares")
        state = self.build(entry["content"])
        if state["nodes"].ndim != 1 or state["values"].ndim != 3:
            raise ValueError("a decision tree has nodes of the wrong shape")
        found = named(n_features, n_classes, n_outputs)
        found.__setstate__(state)
        return found

    def _random_state(self, named: Any, entry: dict[str, Any]) -> Any:
        found = named()
        found.set_state(self.build(entry["content"]))
        return found

    def _generator(self, named: Any, entry: dict[str, Any]) -> Any:
        state = self.build(entry["content"]["bit_generator"])
        seeds = self.build(entry["content"]["seed_seq"])
        if state["bit_generator"] not in _BIT_GENERATORS or seeds["pool_size"] != _POOL_SIZE:
            raise ValueError(f"numpy.random.{state['bit_generator']} is not a bit generator")
        if max(np.size(seeds["entropy"]), np.size(seeds["spawn_key"])) > _MOST_SEEDS:
            # Mixing them takes quadratic time.
            raise ValueError("a bit generator has too many seeds")
        found = getattr(np.random, state["bit_generator"])(np.random.SeedSequence(**seeds))
        found.state = state
        return named(found)


_KINDS = {
    "BytesNode": Builder._bytes,
    "ConstructorFromReduceNode": Builder._reduced,
    "DTypeNode": Builder._dtype,
    "DictNode": Builder._dict,
    "FunctionNode": Builder._named,
    "JsonNode": Builder._json,
    "ListNode": Builder._items,
    "LossNode": Builder._loss,
    "NdArrayNode": Builder._array,
    "ObjectNode": Builder._object,
    "RandomGeneratorNode": Builder._generator,
    "RandomStateNode": Builder._random_state,
    "SetNode": Builder._items,
    "SliceNode": Builder._slice,
    "SparseMatrixNode": Builder._sparse,
    "TreeNode": Builder._tree,
    "TupleNode": Builder._items,
    "TypeNode": Builder._named,
}

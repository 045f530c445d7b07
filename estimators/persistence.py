"""Models in files that hold data and names of types, never code."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
import io
import json
import os
import pickle
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import CountVectorizer

from estimators._compact_schema import compact_schema
from film.datasets.writing import atomic_writer

__all__ = ["load_model", "save_model"]

_FORMAT = 1
_HEADER = "film-metric.json"
# Older protocols of skops name functions in other places than the ones checked here.
_OLDEST_PROTOCOL = 2

# A crafted file may hand any of these any text, so only harmless functions may stand here.
_FUNCTIONS = frozenset(
    {"film.text.normalize_text", "scipy._lib.array_api_compat.numpy._aliases.asarray"}
)
_OWN_CLASSES = frozenset(
    {
        "estimators._members.Collection",
        "estimators._pair_problem.PairProblem",
        "estimators._texts.TextIndex",
        "estimators.model_selection.AllowSharedQuestions",
        "estimators.model_selection.DisjointPairsKFold",
    }
)
_ESTIMATORS = {
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.ensemble": "HistGradientBoostingClassifier HistGradientBoostingRegressor "
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
}
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
    | {f"sklearn._loss.link.{n}Link" for n in ("HalfLogit", "Identity", "Log", "Logit")}
    | {"sklearn._loss.link.Interval", "sklearn._loss.link.MultinomialLogit"}
)
_LOSSES = (
    "AbsoluteError",
    "HalfBinomialLoss",
    "HalfGammaLoss",
    "HalfMultinomialLoss",
    "HalfPoissonLoss",
    "HalfSquaredError",
    "PinballLoss",
)
_SIMPLE = frozenset({"builtins.bool", "builtins.float", "builtins.int", "builtins.str"})
# What each kind of entry of a skops file may name. Kinds that are not here (bound methods,
# partial functions, operators, references) are refused whatever they name.
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
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": _SIMPLE,
}
_HINTS = {
    "joblib.memory.Memory": "give memory as the name of a folder, or None, before saving",
    "sklearn.tree._tree.Tree": "a crafted tree can read beyond its memory; use "
    "HistGradientBoostingClassifier",
}
_LEAVES = (str, bytes, int, float, type(None), np.generic)
_KEYS = (str, int, float, np.number)


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that `load_model` reads without running code from it.

    Parameters
    ----------
    model : estimator
        Fitted or not: estimators of ours, and pipelines and unions with those of
        scikit-learn that `load_model` trusts. Texts that it remembers go into the file.
    path : str or path-like
        The file to make or to replace, whole or not at all; its folder must exist.

    Raises
    ------
    ValueError
        When the model holds something that `load_model` would refuse or could not restore: a
        type or function it does not trust (a lambda, a random forest, categorical features in
        gradient boosting), a dict with keys other than str, int and float, metadata requests,
        an array of objects in two dimensions with cells other than texts and numbers.
    OSError
        When the file cannot be written, as in `film.datasets.atomic_writer`; a folder that is
        missing or not writable is found before work starts.

    See Also
    --------
    load_model : The way back.

    Notes
    -----
    The file is a zip archive as skops 0.16 writes it (JSON, and arrays in NumPy's format), with a
    header: format number and versions of film-metric, scikit-learn and NumPy. Time and
    memory grow with the size of the model: a vocabulary of 40,000 words takes about a second.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.linear_model import LogisticRegression
    >>> from estimators.persistence import load_model, save_model
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "model.skops"
    >>> save_model(LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"]), path)
    >>> load_model(path).predict([[2.0]]).tolist()
    ['yes']
    >>> folder.cleanup()
    """
    import skops.io

    with atomic_writer(path, "wb") as handle:
        buffer = io.BytesIO()
        try:
            parts = list(_parts(model))
            for part in parts:
                _check_restorable(part)
                _check_content(part)
            skops.io.dump(model, buffer)
        except (TypeError, RecursionError) as error:
            what = "it refers to itself" if isinstance(error, RecursionError) else str(error)
            raise ValueError(
                f"model: this {type(model).__name__} cannot be saved: {what}; take that part "
                "out first (metadata requests are set again after loading)"
            ) from error
        with (
            zipfile.ZipFile(buffer) as dumped,
            zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            schema = compact_schema(json.loads(dumped.read("schema.json")))
            refused = _audit(schema)[1]
            if refused:
                raise ValueError(
                    f"model: load_model would refuse {_listed(refused)}; replace them by "
                    "estimators of this package or common ones of scikit-learn"
                )
            header = {
                "format": _FORMAT,
                "versions": _versions(),
                "empty": [list(array.shape) for array in _empty_arrays(parts)],
            }
            for name in dumped.namelist():
                if name != "schema.json":
                    archive.writestr(name, dumped.read(name))
            archive.writestr("schema.json", json.dumps(schema))
            archive.writestr(_HEADER, json.dumps(header))


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save_model` wrote, without running code from the file.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : estimator
        As it was saved, except that every ``memory`` in it is None: a cache is a folder of
        pickles, and a model from someone else must not say which one to read.

    Raises
    ------
    FileNotFoundError
        When there is no file at `path`.
    ValueError
        When it is no such file (a pickle among them), is damaged, was written in a later format,
        or holds a type that is not trusted; the message names these. Nothing was built then.

    Warns
    -----
    UserWarning
        Once, when another minor version of scikit-learn wrote the file: results may differ.

    See Also
    --------
    save_model : The way there.

    Notes
    -----
    Trusted are the estimators and dataclasses of this package, a list of scikit-learn's estimators
    with their parts, plain containers and numbers, arrays, and `film.text.normalize_text`. Each
    kind of entry has its own list, so that an estimator's name is never called as a function. Then
    skops audits the file once more. Indices that compiled code would follow unchecked (trees of
    gradient boosting, sparse matrices, splines, vocabularies) are checked to lie in range.

    A trusted model may still be wrong on purpose, or large: this guards the machine, not the
    judgement, and not against archives made to fill the memory.

    Examples
    --------
    >>> from estimators.persistence import load_model
    >>> load_model("no-such-file.skops")
    Traceback (most recent call last):
    FileNotFoundError: path: there is no file 'no-such-file.skops'; give a file of save_model
    """
    import skops.io

    if not Path(path).exists():
        raise FileNotFoundError(
            f"path: there is no file {os.fspath(path)!r}; give a file of save_model"
        )
    data = Path(path).read_bytes()
    header, schema = _opened(path, data)
    trusted, refused = _audit(schema)
    if refused:
        raise ValueError(
            f"{path} was refused: it holds {_listed(refused)}, which load_model does not trust, "
            "since building things of unknown type can run code; nothing was loaded. Load only "
            "files of save_model, or ask for the data and fit the model yourself"
        )
    written = str(header["versions"].get("scikit-learn"))
    try:
        with warnings.catch_warnings():
            # One a part of the model; the one warning below says it all.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = skops.io.loads(data, trusted=sorted(trusted))
            parts = list(_parts(model))
            for part in parts:
                _check_content(part)
            _restore(parts, header["empty"])
    except Exception as error:
        raise ValueError(
            f"{path} was written with scikit-learn {written} and cannot be restored with "
            f"{sklearn.__version__} ({type(error).__name__}: {error}); it is damaged, or needs "
            "the versions it was written with: copy it again, or fit and save the model again"
        ) from error
    if written.split(".")[:2] != sklearn.__version__.split(".")[:2]:
        warnings.warn(
            f"{path} was written with scikit-learn {written}, this is {sklearn.__version__}: "
            "results may differ; fit and save the model again, or install that version",
            UserWarning,
            stacklevel=2,
        )
    return model


def _opened(path: str | os.PathLike[str], data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and schema of a file of ours."""
    if data[:1] == pickle.PROTO:
        raise ValueError(
            f"{path} is a pickle, which can run any code when loaded, so it was not read; save "
            "the model with save_model"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            header = json.loads(archive.read(_HEADER))
            number = header["format"]
            known = type(number) is int and number <= _FORMAT
            schema = json.loads(archive.read("schema.json")) if known else {}
            sound = isinstance(header["versions"], dict) and isinstance(header["empty"], list)
            if not sound or (known and not schema["protocol"] >= _OLDEST_PROTOCOL):
                raise ValueError("wrong header")
    except Exception as error:
        raise ValueError(
            f"{path} is no file of save_model, or was cut short ({type(error).__name__}: {error}); "
            "copy it again, or save the model with save_model"
        ) from error
    if not known:
        raise ValueError(
            f"{path} has format {number!r}, this version of film-metric reads up to {_FORMAT}; "
            "install a newer film-metric"
        )
    return header, schema


def _audit(schema: dict[str, Any]) -> tuple[set[str], set[tuple[str, str]]]:
    """Names that skops may trust, and (kind, name) of what must not be built.

    skops keeps one list of trusted names for all kinds of entries and trusts more by itself, so
    each entry is judged here, whether skops would reach it or not.
    """
    trusted: set[str] = set()
    refused: set[tuple[str, str]] = set()
    found: set[tuple[str, str]] = set()
    stack: list[Any] = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            stack.extend(node.values())
            if "__loader__" in node:
                name = f"{node.get('__module__')}.{node.get('__class__')}"
                found.add((str(node["__loader__"]), name))
    for kind, name in found:
        if _is_trusted(kind, name):
            trusted.add(name)
        else:
            refused.add((kind, name))
    return trusted, refused


def _is_trusted(kind: str, name: str) -> bool:
    if kind == "ObjectNode":
        return name in _known_classes() or _is_own_class(name)
    if kind in ("NdArrayNode", "TypeNode"):
        package, _, short = name.rpartition(".")
        scalar = getattr(np, short, None) if package == "numpy" else None
        if isinstance(scalar, type) and issubclass(scalar, np.generic):
            return True
    return name in _NAMES_OF_KIND.get(kind, ())


@functools.cache
def _known_classes() -> frozenset[str]:
    names = set(_PARTS_OF_ESTIMATORS) | {f"sklearn._loss.loss.{loss}" for loss in _LOSSES}
    for module, classes in _ESTIMATORS.items():
        for short in classes.split():
            kind = getattr(importlib.import_module(module), short)
            names.add(f"{kind.__module__}.{kind.__name__}")
    return frozenset(names)


def _is_own_class(name: str) -> bool:
    """Estimators and dataclasses, defined where they say, in a module that may be imported."""
    module, _, short = name.rpartition(".")
    if module.split(".")[0] not in ("film", "estimators") or "__" in module:
        return False
    try:
        kind = getattr(importlib.import_module(module), short, None)
    except ImportError:
        return False
    return (
        isinstance(kind, type)
        and f"{kind.__module__}.{kind.__qualname__}" == name
        and (
            issubclass(kind, BaseEstimator)
            or dataclasses.is_dataclass(kind)
            or name in _OWN_CLASSES
        )
    )


def _parts(model: Any) -> Iterator[Any]:
    """Every object of a model once, itself first."""
    # Holding them keeps an id from being given twice.
    seen: dict[int, Any] = {}
    stack = [model]
    while stack:
        part = stack.pop()
        if isinstance(part, _LEAVES) or id(part) in seen:
            continue
        seen[id(part)] = part
        yield part
        if isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            stack.extend(part)
        elif isinstance(part, np.ndarray):
            if part.dtype == object:
                stack.extend(part.ravel())
        elif not isinstance(part, type) and hasattr(part, "__getstate__"):
            stack.append(part.__getstate__())


def _check_restorable(part: Any) -> None:
    """Raise where skops would restore something else than what was saved."""
    if isinstance(part, dict):
        wrong = [key for key in part if isinstance(key, bool) or not isinstance(key, _KEYS)]
        if wrong or len({str(key) for key in part}) < len(part):
            raise ValueError(
                f"model: keys of a dict must be str, int or float and differ when written, got "
                f"{(wrong or list(part))[:5]!r}; use other keys"
            )
    if isinstance(part, np.ndarray) and part.dtype == object and part.ndim != 1:
        wrong = [cell for cell in part.flat if not isinstance(cell, _LEAVES)]
        if wrong or part.ndim == 0:
            raise ValueError(
                f"model: an object array of shape {part.shape} holds "
                f"{type(wrong[0] if wrong else part.item()).__name__}; more than one dimension "
                "may hold texts and numbers only: use a list, or one dimension"
            )


def _check_content(part: Any) -> None:
    """Raise where compiled code would follow an index out of range."""
    if sp.issparse(part):
        if part.format not in ("csc", "csr"):
            raise ValueError(f"sparse format {part.format!r} is not supported; use 'csr' or 'csc'")
        part.check_format(full_check=True)
    elif isinstance(part, CountVectorizer) and "vocabulary_" in vars(part):
        columns = set(part.vocabulary_.values())
        if columns != set(range(len(part.vocabulary_))):
            raise ValueError("vocabulary_ does not number its words from 0 on")
    elif hasattr(part, "_predictors") and hasattr(part, "_bin_mapper"):
        _check_trees(part)


def _check_trees(model: Any) -> None:
    if getattr(model, "_preprocessor", None) is not None or hasattr(model, "_in_fit"):
        raise ValueError(
            "gradient boosting with categorical features is not supported; encode them first, "
            "for instance with OneHotEncoder"
        )
    for tree in [tree for trees in model._predictors for tree in trees]:
        nodes = tree.nodes
        at = np.flatnonzero(nodes["is_leaf"] == 0)
        inner = nodes[at]
        later = np.minimum(inner["left"], inner["right"]) > at
        inside = np.maximum(inner["left"], inner["right"]) < len(nodes)
        feature = (inner["feature_idx"] >= 0) & (inner["feature_idx"] < model.n_features_in_)
        numeric = inner["is_categorical"] == 0
        if not len(nodes) or not np.all(later & inside & feature & numeric):
            raise ValueError("a tree of gradient boosting has nodes out of range")


def _restore(parts: list[Any], empty_shapes: list[Any]) -> None:
    """Give back what skops lost, and take away what must not come from a file."""
    for part in parts:
        state = getattr(part, "__dict__", {})
        if state.get("memory") is not None:
            part.memory = None
        if isinstance(part, BSpline):
            # The constructor checks knots against coefficients, which evaluation does not.
            sound = BSpline(state["_t"], state["_c"], state["k"], state["extrapolate"])
            state.update(vars(sound), axis=state["axis"])
    for array, shape in zip(_empty_arrays(parts), empty_shapes, strict=True):
        if 0 not in shape:
            raise ValueError(f"an empty array cannot have shape {shape}")
        array.resize(shape, refcheck=False)


def _empty_arrays(parts: list[Any]) -> list[np.ndarray]:
    # skops forgets the shape of empty arrays of objects.
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    return [array for array in arrays if array.dtype == object and not array.size]


def _versions() -> dict[str, str]:
    try:
        own = importlib.metadata.version("film-metric")
    except importlib.metadata.PackageNotFoundError:
        own = "not installed"
    return {"film-metric": own, "scikit-learn": sklearn.__version__, "numpy": np.__version__}


def _listed(refused: set[tuple[str, str]]) -> str:
    lines = []
    for kind, name in sorted(refused, key=lambda entry: entry[::-1]):
        hint = f": {_HINTS[name]}" if name in _HINTS else ""
        lines.append(f"{name} ({kind}{hint})")
    return ", ".join(lines)

"""Models come back to the bit, and hostile files are refused before anything is built."""

import inspect
import io
import json
import os
import pickle
import re
import sys
import types
import warnings
import zipfile
from importlib import metadata
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import skops.io
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

from estimators import (
    FILM,
    DisjointPairsKFold,
    DuplicateClassifier,
    PairwiseKNNClassifier,
    RCMDRegressor,
    load_model,
    save_model,
)
from estimators.persistence import registry
from estimators.persistence.building import Builder
from film.datasets import make_question_pairs
from film.text import normalize_text, printable_text
from tests.estimators.forged_models import (
    array_file,
    mapping,
    members_of,
    node,
    plain,
    reduced,
    row,
    write_members,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=200) > 1).astype(int)
PAIRS = make_question_pairs(200, random_state=0)
TEXTS = list(dict.fromkeys(PAIRS.pairs.ravel().tolist()))
GROUPS = np.arange(len(TEXTS)) % 20
WORDS = TfidfVectorizer(preprocessor=normalize_text)
CHARACTERS = TfidfVectorizer(
    analyzer="char_wb", ngram_range=(2, 4), preprocessor=normalize_text
).set_params(dtype=np.float32)

pytestmark = [
    pytest.mark.filterwarnings("ignore:rank=.* were reduced:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def film_model():
    return FILM(d=10, rank=50, random_state=0)


def round_trip(model, folder):
    save_model(model, folder / "model.skops")
    return load_model(folder / "model.skops")


def forge(path, edit=None, header=None, files=None):
    """Rewrite a saved model: `edit` changes its schema in place, `header` its header."""
    content = members_of(path)
    for name, change in (("schema.json", edit), ("film-metric.json", header)):
        tree = json.loads(content[name])
        if change:
            tree = change(tree) or tree
        content[name] = json.dumps(tree).encode()
    for name, data in list(content.items()):
        if files and name.endswith((".npy", ".npz")):
            content[name] = files(data)
    write_members(path, content)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.skops"
    save_model(LogisticRegression().fit(X, Y), path)
    return path


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(class_weight={0: 1, 1: 2.5}),
        HistGradientBoostingClassifier(max_iter=8),
        HistGradientBoostingClassifier(max_iter=8, early_stopping=True),  # type: ignore[arg-type]
        ExtraTreesClassifier(8, min_samples_leaf=3),
        RandomForestClassifier(4),
        CalibratedClassifierCV(LogisticRegression(), cv=3),
        CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=4), method="isotonic"),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(QuantileTransformer(n_quantiles=20), LogisticRegression()),
        make_pipeline(SplineTransformer(n_knots=4), LogisticRegression()),
        StackingClassifier([("a", LogisticRegression()), ("b", StandardScaler)][:1], cv=2),
        FrozenEstimator(LogisticRegression().fit(X, Y)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifiers_come_back_to_the_bit(model, tmp_path):
    model.fit(X, Y)
    again = round_trip(model, tmp_path)
    assert type(again) is type(model)
    new = np.vstack([X, np.random.default_rng(1).normal(size=(50, 4)) * 3])
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


def test_multiclass_and_regression_come_back(tmp_path):
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    np.testing.assert_array_equal(
        round_trip(model, tmp_path).predict_proba(X), model.predict_proba(X)
    )
    for loss in ("squared_error", "absolute_error", "poisson", "quantile"):
        model = HistGradientBoostingRegressor(max_iter=3, loss=loss, quantile=0.5)
        model.fit(X, np.abs(X[:, 1]))
        np.testing.assert_array_equal(round_trip(model, tmp_path).predict(X), model.predict(X))


@pytest.mark.parametrize(
    "vectoriser",
    [
        TfidfVectorizer(min_df=2, sublinear_tf=True),
        FeatureUnion([("words", WORDS), ("characters", CHARACTERS)]),
    ],
    ids=["words", "union"],
)
def test_pipelines_to_film_come_back_to_the_bit(vectoriser, tmp_path):
    model = make_pipeline(vectoriser, film_model()).fit(TEXTS, GROUPS)
    again = round_trip(model, tmp_path)
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    # A text with nothing known in it.
    np.testing.assert_array_equal(again.transform(["", "質問"]), model.transform(["", "質問"]))


def test_pair_rule_comes_back_without_its_cache(tmp_path):
    # Of the second fit all comes from the cache, and the model has numbered no text yet.
    model: Any = None
    for _ in range(2):
        model = PairwiseKNNClassifier(
            make_pipeline(TfidfVectorizer(), film_model()),
            k=5,
            cv=DisjointPairsKFold(2, random_state=0),
            memory=str(tmp_path / "cache"),
        ).fit(PAIRS.pairs, PAIRS.y)
    again = round_trip(model, tmp_path)
    assert again.memory is None and again.k == 5
    np.testing.assert_array_equal(again.rank(PAIRS.pairs), model.rank(PAIRS.pairs))
    np.testing.assert_array_equal(
        again.predict_proba(PAIRS.pairs[:20]), model.predict_proba(PAIRS.pairs[:20])
    )


@pytest.mark.parametrize(
    ("device", "read"),
    [("cuda", None), ("cuda:1", None), ("mps", None), ("cpu", "cpu"), (None, None)],
)
def test_a_model_that_was_saved_beside_a_gpu_is_read_without_one(tmp_path, device, read):
    save_model(make_pipeline(RCMDRegressor(device=device)), tmp_path / "model")
    [(_, again)] = load_model(tmp_path / "model").steps
    assert again.device == read


def test_no_cache_folder_comes_from_a_file(tmp_path):
    inner = make_pipeline(StandardScaler(), LogisticRegression(), memory=str(tmp_path / "theirs"))
    model = StackingClassifier([("a", inner)], cv=2).fit(X, Y)
    others = [make_pipeline(StandardScaler(), memory="theirs") for _ in range(3)]
    model.notes = [{others[0]}, frozenset(others[1:2]), objects(others[2:])]  # type: ignore[attr-defined]
    again = round_trip(model, tmp_path)
    assert [next(iter(held)).memory for held in again.notes] == [None, None, None]
    assert again.estimators[0][1].memory is None and again.estimators_[0].memory is None
    assert inner.memory == str(tmp_path / "theirs")


@pytest.fixture
def holder(monkeypatch):
    """Give an estimator of our own package that holds what it is given."""

    class Holder(BaseEstimator):
        def __init__(self, value=None):
            self.value = value

    module = types.ModuleType("estimators._held")
    Holder.__module__, Holder.__qualname__ = module.__name__, "Holder"
    module.Holder = Holder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry._NAMED, "Holder", Holder)
    return Holder


def objects(values, shape=None):
    array = np.empty(shape or len(values), dtype=object)
    if array.size:
        array[...] = values
    return array


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": {"c": [1.5, None, True]}, "": "x"},
        {1: "one", 2: "two"},
        {0.1: 1, 1e300: 2},
        {np.int64(3): 1, np.str_("é"): 2},
        [("name", 3), ("other", (4, "x"))],
        {"a", "b"},
        frozenset({"the", "a"}),
        range(1, 56, 2),
        slice(1, None),
        b"\x00\xff",
        [float("inf"), -0.0, 1e-320, 2**80],
        "\ud800 \x00 line\r\nbreak \u2028",
        np.float32(0.1),
        np.bool_(True),
        np.dtype("float32"),
        np.float64,
        str,
    ],
    ids=lambda value: repr(sorted(value) if isinstance(value, (set, frozenset)) else value),
)
def test_values_come_back(holder, value, tmp_path):
    again = round_trip(holder(value), tmp_path).value
    assert again == value and type(again) is type(value)
    assert repr(again) == repr(value) or isinstance(value, set | frozenset | dict)


@pytest.mark.parametrize(
    "array",
    [
        objects(["a", "é", None, "質"]),
        objects([["a", "b"], ["c", ""]], (2, 2)),
        objects([], (0, 2)),
        objects([], (3, 0, 2)),
        objects([], (0,)),
        np.empty((0, 2)),
        np.array([[1, 2], [3, 4]], dtype=np.int32),
        np.array(["a", "bcd"]),
        np.array(5.0),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_come_back(holder, array, tmp_path):
    again = round_trip(holder([array, objects([], (0,)), array]), tmp_path).value
    for found, expected in zip(again, [array, np.empty(0, object), array], strict=True):
        assert found.shape == expected.shape and found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert again[0] is again[2]


def test_random_states_come_back(holder, tmp_path):
    model = holder([np.random.RandomState(3), np.random.default_rng(3)])
    again = round_trip(model, tmp_path)
    assert again.value[0].randint(10**6) == model.value[0].randint(10**6)
    assert again.value[1].integers(10**6) == model.value[1].integers(10**6)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array])
def test_sparse_comes_back(holder, kind, tmp_path):
    matrix = kind(np.eye(3)[:, ::-1])
    again = round_trip(holder(matrix), tmp_path).value
    assert type(again) is kind
    np.testing.assert_array_equal(again.toarray(), matrix.toarray())


def find(tree, kind):
    """The first entry of a kind."""
    stack = [tree]
    while stack:
        found = stack.pop()
        if isinstance(found, dict) and found.get("__loader__") == kind:
            return found
        stack.extend(found.values() if isinstance(found, dict) else [])
        stack.extend(found if isinstance(found, list) else [])
    raise AssertionError(kind)


FILM_NAME, SPLIT = "estimators.metric.film.FILM", "film.datasets.writing"


def hostile_nodes(marker):
    """(name to be found in the message, node) of files that would run or build something."""
    system, path = node("Function", "os.system"), plain(str(marker))
    command = row(plain(f"touch {marker}"), kind="Tuple")
    partial = {"func": system, "args": command, "kwds": mapping(), "namespace": plain(None)}
    method = {"func": "fit", "obj": node("Object", FILM_NAME, content=mapping())}
    empty = {"type": "json", "content": [], "shape": row(kind="Tuple")}
    keys = mapping(**{str(marker): plain(1)})
    keys["key_types"]["content"] = [system]
    # Building does not look below an entry of JSON, but nothing unknown may stand there either.
    return [
        ("os.system", system),
        ("os.system", keys),
        ("os.system", {**plain(1), "hidden": [system]}),
        ("posix.system", node("Type", "posix.system")),
        ("posix.system", reduced("posix.system", plain(f"touch {marker}"))),
        ("builtins.eval", node("Function", "builtins.eval")),
        ("builtins.eval", node("Type", "builtins.eval")),
        ("subprocess.Popen", reduced("subprocess.Popen", command)),
        ("numpy.memmap", reduced("numpy.memmap", path, *map(plain, ("uint8", "w+", 0, 9)))),
        ("numpy.memmap", node("Object", "numpy.memmap", content=mapping())),
        ("numpy.memmap (TypeNode)", node("Type", "numpy.memmap")),
        ("numpy.memmap (NdArrayNode)", node("NdArray", "numpy.memmap", **empty)),
        ("numpy.seterr", node("Type", "numpy.seterr")),
        ("numpy.load", node("NdArray", "numpy.load", **empty)),
        ("joblib.memory.Memory", reduced("joblib.memory.Memory", path)),
        (f"{SPLIT}.atomic_writer", node("Function", f"{SPLIT}.atomic_writer")),
        (f"{SPLIT}.atomic_writer", reduced(f"{SPLIT}.atomic_writer", path)),
        # Names that are trusted, where they would be called or looked up another way.
        ("ConstructorFromReduceNode", reduced(FILM_NAME)),
        ("ListNode", row(name=FILM_NAME)),
        (f"{FILM_NAME} (TypeNode)", node("Type", FILM_NAME)),
        ("normalize_text (ObjectNode", node("Object", "film.text.normalize_text")),
        ("film.text.hashlib", node("Object", "film.text.hashlib")),
        ("film.threads", node("Object", "film.threads", content=mapping())),
        ("estimators.__main__.X", node("Object", "estimators.__main__.X")),
        ("estimators.nowhere.X", node("Object", "estimators.nowhere.X")),
        ("estimators.metric.film.\0", node("Object", "estimators.metric.film.\0.X")),
        ("filmy.X", node("Object", "filmy.X")),
        ("sklearn.svm._classes.SVC", node("Object", "sklearn.svm._classes.SVC")),
        ("PartialNode", node("Partial", "functools.partial", content=partial)),
        ("PartialNode", node("Partial", "builtins.list", content=partial)),
        ("MethodNode", node("Method", "estimators.film.FILM", content=method)),
        ("OperatorFuncNode", node("OperatorFunc", "operator.methodcaller", attrs=command)),
        ("CachedNode", node("Cached", "builtins.str")),
        ("NewNode", node("New", "builtins.str")),
    ]


CASES = list(hostile_nodes("MARKER"))


@pytest.mark.parametrize(
    "case", range(len(CASES)), ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)]
)
def test_hostile_entries_are_refused_and_named(saved, tmp_path, case, monkeypatch):
    marker = tmp_path / "marker"
    name, entry = list(hostile_nodes(marker))[case]

    def plant(schema):
        schema["content"]["content"]["C"] = entry

    forge(saved, plant)
    built = []
    monkeypatch.setattr(Builder, "build", lambda *args: built.append(args))
    with pytest.raises(ValueError, match=r"was refused: .*nothing was loaded") as info:
        load_model(saved)
    assert printable_text(name, 200) in str(info.value)
    assert not built and not marker.exists()


def test_no_module_outside_the_package_is_imported(saved):
    # "this" prints when it is imported.
    entry = node("Object", "this.Estimator")
    forge(saved, lambda schema: schema["content"]["content"].update(C=entry))
    with pytest.raises(ValueError, match=r"this\.Estimator \(ObjectNode\)"):
        load_model(saved)
    assert "this" not in sys.modules


def test_programs_of_the_package_are_not_imported(monkeypatch):
    program = types.ModuleType("estimators.__main__")
    program.Stranger = type("Stranger", (BaseEstimator,), {"__module__": program.__name__})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, program.__name__, program)
    assert registry.find_savable("estimators.__main__.Stranger") is None
    assert registry.find_savable("estimators.film.FILM") is FILM


def test_a_refused_entry_is_refused_at_the_root_too(saved):
    forge(saved, lambda schema: node("Function", "os.system", protocol=schema["protocol"]))
    with pytest.raises(ValueError, match=r"os\.system \(FunctionNode\)"):
        load_model(saved)


def test_a_bit_generator_is_one_of_numpys(saved):
    # Its name stands in plain data.
    state = mapping(bit_generator=plain("seed"))
    entry = node(
        "RandomGenerator",
        "numpy.random._generator.Generator",
        content={"bit_generator": state, "seed_seq": mapping()},
    )
    forge(saved, lambda schema: schema["content"]["content"].update(C=entry))
    with pytest.raises(ValueError, match=r"cannot be restored .*numpy\.random\.seed"):
        load_model(saved)


@pytest.mark.parametrize("protocol", [0, 1, "2", None, 10**6])
def test_other_protocols_of_skops_are_refused(saved, protocol):
    forge(saved, lambda schema: schema.update(protocol=protocol))
    with pytest.raises(ValueError, match=r"not a model file|cannot be restored"):
        load_model(saved)


class Bomb:
    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_never_read(tmp_path, protocol):
    path, marker = tmp_path / "model.skops", tmp_path / "marker"
    path.write_bytes(pickle.dumps(Bomb(marker), protocol))
    with pytest.raises(ValueError, match="is a pickle" if protocol >= 2 else "not a model file"):
        load_model(path)
    assert not marker.exists()
    joblib.dump(Bomb(marker), path, compress=3)
    with pytest.raises(ValueError, match="not a model file"):
        load_model(path)
    assert not marker.exists()


def test_pickled_arrays_are_never_read(saved, tmp_path):
    marker = tmp_path / "marker"
    bomb = array_file(np.array([Bomb(marker)], dtype=object), allow_pickle=True)
    forge(saved, files=lambda data: bomb)
    with pytest.raises(ValueError, match=r"not a model file.*holds pickled objects"):
        load_model(saved)
    assert not marker.exists()


def forge_arrays(path, change):
    """Change every array of a saved model."""
    forge(path, files=lambda data: array_file(change(np.load(io.BytesIO(data)))))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("left", 0), ("left", None), ("left", 10**6), ("right", None), ("right", 10**6)),
        *(("right", 0), ("feature_idx", 4), ("feature_idx", -1), ("is_categorical", 1)),
        ("no nodes", None),
    ],
)
def test_trees_out_of_range_are_refused(tmp_path, field, value):
    path = tmp_path / "model.skops"
    save_model(HistGradientBoostingClassifier(max_iter=2).fit(X, Y), path)

    def change(array):
        names = array.dtype.names or ()
        if names and field == "no nodes":
            return array[:0]
        if field in names:
            inner = np.flatnonzero(array["is_leaf"] == 0)
            array[field][inner[-1]] = len(array) if value is None else value
        return array

    forge_arrays(path, change)
    with pytest.raises(ValueError, match="nodes out of range"):
        load_model(path)


@pytest.mark.parametrize("key", ["_in_fit", "_preprocessor"])
def test_boosting_that_would_not_see_the_checked_features_is_refused(tmp_path, key):
    path = tmp_path / "model.skops"
    save_model(HistGradientBoostingClassifier(max_iter=2).fit(X, Y), path)

    def plant(schema):
        attributes = schema["content"]
        attributes["content"][key] = plain("x")
        attributes["key_types"]["content"].append(node("Type", "builtins.str"))

    forge(path, plant)
    with pytest.raises(ValueError, match="cannot be restored"):
        load_model(path)


def test_categorical_boosting_is_refused_when_saved(tmp_path):
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])  # type: ignore[arg-type]
    model.fit(np.column_stack([np.arange(200) % 3, X]), Y)
    with pytest.raises(ValueError, match="categorical features is not supported; encode"):
        save_model(model, tmp_path / "model.skops")


def test_sparse_indices_out_of_range_are_refused(holder, tmp_path):
    path = tmp_path / "model.skops"
    save_model(holder(sp.csr_matrix(np.eye(3))), path)

    def change(data):
        matrix = sp.load_npz(io.BytesIO(data))
        matrix.indices[1] = 7
        buffer = io.BytesIO()
        sp.save_npz(buffer, matrix)
        return buffer.getvalue()

    forge(path, files=change)
    with pytest.raises(ValueError, match=r"cannot be restored .*(indices|index)"):
        load_model(path)


def test_other_sparse_formats_are_refused(holder, tmp_path):
    path = tmp_path / "model.skops"
    with pytest.raises(ValueError, match="sparse format 'coo' is not supported; use 'csr'"):
        save_model(holder(sp.coo_matrix(np.eye(2))), path)
    save_model(holder(sp.csr_matrix(np.eye(2))), path)
    buffer = io.BytesIO()
    sp.save_npz(buffer, sp.dia_matrix(np.eye(2)))
    forge(path, files=lambda data: buffer.getvalue())
    with pytest.raises(ValueError, match=r"cannot be restored .*sparse format 'dia'"):
        load_model(path)


def test_vocabulary_out_of_range_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    save_model(TfidfVectorizer().fit(["a word", "one more"]), path)

    def change(schema):
        entry = schema["content"]["content"]["vocabulary_"]
        entry["content"] = json.dumps(json.loads(entry["content"]) | {"word": 1000})

    forge(path, change)
    with pytest.raises(ValueError, match="vocabulary_"):
        load_model(path)


def test_splines_without_their_coefficients_are_refused_and_of_another_type_made_sound(tmp_path):
    path = tmp_path / "model.skops"
    model = SplineTransformer(n_knots=4).fit(X)
    save_model(model, path)
    forge_arrays(path, lambda array: array.astype(np.float32))
    again = load_model(path)
    assert all(spline.c.dtype == np.float64 for spline in again.bsplines_)
    np.testing.assert_allclose(again.transform(X), model.transform(X), atol=1e-5)
    forge_arrays(path, lambda array: array[:2] if array.ndim == 2 else array)
    with pytest.raises(ValueError, match=r"cannot be restored .*inconsistent"):
        load_model(path)


def test_files_of_older_libraries_load(tmp_path):
    # scikit-learn before 1.9 names losses otherwise, scipy before 1.17 the parts of splines.
    path = tmp_path / "model.skops"
    model = make_pipeline(
        SplineTransformer(n_knots=4), HistGradientBoostingClassifier(max_iter=3, random_state=0)
    ).fit(X, Y)
    save_model(model, path)
    seen = set()

    def older(tree):
        for part in tree.values() if isinstance(tree, dict) else tree:
            if isinstance(part, dict | list):
                older(part)
        if isinstance(tree, dict) and tree.get("__loader__") == "LossNode":
            tree["__module__"] = "_loss"
            seen.add("loss")
        if isinstance(tree, dict) and {"_t", "_c"} <= tree.keys():
            tree["t"], tree["c"] = tree.pop("_t"), tree.pop("_c")
            seen.add("spline")

    forge(path, edit=older)
    assert "loss" in seen and ("spline" in seen or "t" in vars(model[0].bsplines_[0]))
    np.testing.assert_array_equal(load_model(path).predict_proba(X), model.predict_proba(X))


def renamed(tree, old):
    """Give a schema in which another name stands for one."""
    return json.loads(re.sub(rf"\b{old}\b", "renamed", json.dumps(tree)))


def of_version(version):
    return lambda header: header["versions"].update({"film-metric": version})


@pytest.mark.parametrize(
    ("model", "old", "kind"),
    [
        (DuplicateClassifier([("rcmd", RCMDRegressor(plan="cmd"))]), "plan", "RCMDRegressor"),
        (DuplicateClassifier([("film", make_pipeline(WORDS, FILM()))]), "margin", "FILM"),
        (PairwiseKNNClassifier(WORDS, cv=DisjointPairsKFold(3)), "n_splits", "DisjointPairsKFold"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_part_of_another_model_version_is_named_when_loaded(model, old, kind, tmp_path):
    path, ours = tmp_path / "model.film", metadata.version("film-metric")
    save_model(model, path)
    forge(path, lambda tree: renamed(tree, old), of_version("9.1.0"))
    with pytest.raises(ValueError) as caught:
        load_model(path)
    assert str(caught.value) == (
        f"{path} was written with film-metric 9.1.0, this is {ours}, and a {kind} in it lacks the "
        f"parameter {old!r} and has 'renamed', which is not a parameter here: its predictions "
        "would change; install film-metric 9.1.0, or fit and save the model again"
    )


@pytest.mark.parametrize(
    ("version", "warns"), [("9.1.0", True), ("0.0.9", False), ("not installed", False)]
)
def test_one_warning_where_a_newer_version_of_ours_wrote_the_file(version, warns, tmp_path):
    path = tmp_path / "model.film"
    save_model(make_pipeline(WORDS, FILM(), memory=None), path)
    forge(path, header=of_version(version))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_model(path)
    told = [f"film-metric {version}, this is {metadata.version('film-metric')}"] * warns
    assert len(caught) == len(told)
    assert all(part in str(one.message) for part, one in zip(told, caught, strict=True))
    assert all(one.filename == __file__ for one in caught)


def test_an_attribute_that_looks_like_a_parameter_is_not_saved(tmp_path):
    model = FILM()
    model.note = "mine"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"FILM has an attribute 'note' .* pass .* as metadata="):
        save_model(model, tmp_path / "model.film")
    assert not os.listdir(tmp_path)


def test_empty_arrays_cannot_be_blown_up(holder, tmp_path):
    path = tmp_path / "model.skops"
    save_model(holder(objects([], (0, 2))), path)
    for shape in ([3, 2], [], [2**62]):
        entry = row(*map(plain, shape), kind="Tuple")
        forge(path, lambda schema, entry=entry: find(schema, "NdArrayNode").update(shape=entry))
        with pytest.raises(ValueError, match="cannot be restored"):
            load_model(path)


def test_torn_files_are_named(saved):
    whole = saved.read_bytes()
    for length in [0, 1, 4, 100, len(whole) // 2, len(whole) - 100, len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"model\.skops is not a model file, or was truncated"):
            load_model(saved)


def test_flipped_bits_never_raise_anything_else(saved):
    whole = saved.read_bytes()
    expected = load_model(saved).predict_proba(X)
    failures = 0
    for at in range(0, len(whole), 41):
        saved.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            again = load_model(saved)
        except ValueError as error:
            failures += 1
            assert "model.skops" in str(error)
        else:
            np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert failures > 20


def test_other_files_are_named(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("id,text\n1,hello\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"notes\.txt is not a model file"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "hello")
    with pytest.raises(ValueError, match="not a model file"):
        load_model(path)
    skops.io.dump(LogisticRegression(), path)
    with pytest.raises(ValueError, match="not a model file"):
        load_model(path)
    with pytest.raises(FileNotFoundError, match=r"no file .*nothing"):
        load_model(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="folder without model"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "header",
    [
        [],
        {},
        {"format": 1},
        {"format": "1", "versions": {}},
        {"format": True, "versions": {}, "empty": []},
    ],
)
def test_wrong_headers_are_named(saved, header):
    forge(saved, header=lambda _: header or {"x": 1})
    with pytest.raises(ValueError, match=r"not a model file|has format"):
        load_model(saved)


def test_header_names_format_and_versions_and_later_ones_are_refused(saved):
    with zipfile.ZipFile(saved) as archive:
        header = json.loads(archive.read("film-metric.json"))
    assert header["format"] == 1
    assert header["versions"].keys() == {"python", "film-metric", "scikit-learn", "numpy"}
    assert header["versions"]["scikit-learn"] == sklearn.__version__
    assert header["versions"]["numpy"] == np.__version__
    forge(saved, header=lambda header: {**header, "format": 2})
    with pytest.raises(ValueError, match=r"format 2, .* reads up to 1; install a newer"):
        load_model(saved)


def test_another_scikit_learn_warns_once_with_both_versions(tmp_path):
    path = tmp_path / "model.skops"
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    save_model(model, path)

    def older(tree):
        for key, value in list(tree.items()) if isinstance(tree, dict) else enumerate(tree):
            if key == "_sklearn_version":
                value["content"] = '"0.99.1"'
            elif isinstance(value, dict | list):
                older(value)

    forge(path, older, lambda header: header["versions"].update({"scikit-learn": "0.99.1"}))
    with pytest.warns(UserWarning, match=r"0\.99\.1.*" + sklearn.__version__) as caught:
        again = load_model(path)
    assert len(caught) == 1 and caught[0].filename == __file__
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("patch", ["0", "99.post1"])
def test_another_patch_of_scikit_learn_does_not_warn(saved, patch):
    version = ".".join([*sklearn.__version__.split(".")[:2], patch])
    forge(saved, header=lambda header: header["versions"].update({"scikit-learn": version}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(saved)


class Stranger(BaseEstimator):
    pass


LISTS = np.empty((1, 2), dtype=object)
LISTS[0, 0], LISTS[0, 1] = ["a", "b"], ["c", "d"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (FunctionTransformer(lambda x: x), "<lambda>"),
        (FunctionTransformer(np.linalg.norm), "would refuse numpy.linalg"),
        (Stranger(), "Stranger"),
        (make_pipeline(StandardScaler(), memory=joblib.Memory(None)), "give memory as the name"),
        (FILM(d={True: 1}), "keys of a dict"),  # type: ignore[arg-type]
        (FILM(d={1: 1, "1": 2}), "keys of a dict"),  # type: ignore[arg-type]
        (FILM(d={None: 1}), "keys of a dict"),  # type: ignore[arg-type]
        (FILM(d={(1, 2): 1}), "keys of a dict"),  # type: ignore[arg-type]
        (FILM(d=np.array({"a"}, dtype=object)), "object array of shape"),  # type: ignore[arg-type]
        (FILM(d=np.array("a", dtype=object)), "object array of shape"),  # type: ignore[arg-type]
        (FILM(d=LISTS), r"object array of shape \(1, 2\) holds list"),  # type: ignore[arg-type]
        (LogisticRegression, "LogisticRegression"),
        (open, "load_model would refuse"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(tmp_path, model, message):
    path = tmp_path / "model.skops"
    path.write_text("earlier", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        save_model(model, path)
    assert path.read_text(encoding="utf-8") == "earlier"
    assert os.listdir(tmp_path) == ["model.skops"]


def test_open_files_are_not_saved(tmp_path):
    with open(tmp_path / "notes", "w", encoding="utf-8") as handle:
        with pytest.raises(ValueError, match=r"cannot be saved: .*TextIOWrapper"):
            save_model(FILM(d=handle), tmp_path / "model.skops")  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == ["notes"]


def test_models_that_hold_themselves_are_not_saved(tmp_path):
    model = LogisticRegression()
    model.me = model  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="refers to itself"):
        save_model(model, tmp_path / "model.skops")
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        with pytest.raises(ValueError, match="metadata requests are set again"):
            save_model(model, tmp_path / "model.skops")


def test_saving_changes_nothing_in_the_model(tmp_path):
    model = make_pipeline(TfidfVectorizer(), film_model(), memory="cache").fit(
        TEXTS[:50], GROUPS[:50]
    )
    before = pickle.dumps(model)
    save_model(model, tmp_path / "model.skops")
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_earlier_file_stays_when_saving_breaks_off(saved, monkeypatch, error):
    before = saved.read_bytes()

    def broken(model, file, **options):
        file.write(b"half")
        raise error

    monkeypatch.setattr(skops.io, "dump", broken)
    with pytest.raises(type(error)):
        save_model(LogisticRegression(), saved)
    assert saved.read_bytes() == before and os.listdir(saved.parent) == [saved.name]


def test_wrong_places_are_found_before_work(tmp_path, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("serialised first")

    monkeypatch.setattr(skops.io, "dump", never)
    with pytest.raises(FileNotFoundError, match=r"folder .*missing"):
        save_model(LogisticRegression(), tmp_path / "missing" / "model.skops")
    with pytest.raises(IsADirectoryError):
        save_model(LogisticRegression(), tmp_path)


def own_classes():
    registry._import_all()
    return {named for named in registry._NAMED.values() if inspect.isclass(named)}


def test_trusted_classes_do_nothing_when_made_restored_or_dropped():
    kinds = own_classes()
    assert {FILM, PairwiseKNNClassifier, DisjointPairsKFold} <= kinds
    for kind in kinds:
        for base in set(kind.__mro__) & kinds:
            assert not {"__new__", "__setstate__", "__del__"} & vars(base).keys(), kind

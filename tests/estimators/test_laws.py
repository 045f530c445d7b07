"""Laws that every public estimator keeps, whatever it is given; a new one joins `LAWS`."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any, NamedTuple

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import base
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks as checks
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import estimators
from estimators import (
    FILM,
    AnyEncoder,
    ContextModel,
    ContextRegressor,
    CrossEncoderRegressor,
    DuplicateClassifier,
    DuplicateFinder,
    LexicalFeatures,
    MiniBatchFILM,
    PairTeacher,
    PairwiseKNNClassifier,
    RCMDRegressor,
    RecordFeatures,
    RecordPairs,
    SentenceEncoder,
    StaticEncoder,
    SurrogateRegressor,
    TokenEncoder,
    TokenFILM,
    TokenMatchingRegressor,
    TokenWeights,
    TripletNetwork,
    Triplets,
    WordDifferences,
    load_model,
    record_duplicates,
    save_model,
)
from film.datasets import make_question_pairs
from film.metric import triplets_from_labels
from tests.estimators.encoders.static_models import make_static_model
from tests.estimators.tiny_documents import tiny_documents
from tests.estimators.tiny_model import PAIRS, SCORES

# Small problems are reduced and left unconverged, and tiny models know few words.
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
clone: Any = base.clone
TINY = str(Path(__file__).parents[1] / "golden" / "tiny")


class Kind(NamedTuple):
    """What estimators of one kind of input are given."""

    X: Any
    y: Any
    new: Any  # rows to ask a fitted one about
    bad_X: Any  # instead of X
    bad_y: tuple[Any, ...] = ()


class Law(NamedTuple):
    """An estimator, its input, and the methods and attributes that show what it learned."""

    model: Any
    kind: str
    shown: str

    @property
    def given(self) -> Kind:
        return KINDS[self.kind]


def objects(rows: Any) -> np.ndarray:
    array = np.empty(np.shape(rows), dtype=object)
    array[:] = rows
    return array


def _kinds() -> dict[str, Kind]:
    data: Any = make_question_pairs(50, random_state=0)
    asked = objects([*data.pairs[:3], ("Who?", "who"), ("", "a zebra"), ("Is it 5?", "Is it 6?")])
    bad = [("a", None)], [("a", "b", "c")], "a b", [], None
    short = objects([text for pair in PAIRS for text in pair])
    X = np.random.default_rng(0).normal(size=(40, 6))
    labels = np.arange(40) % 4
    holed = np.where(X > 2, np.nan, X)
    wrong = 1 - data.y[:-1], np.zeros(50), [None] * 50, np.arange(50), None
    bad_labels = [1, 0, 0], [1, 1, 1, 1], SCORES, None
    no_scores = SCORES[:-1], [1.0] * 4, [np.nan] * 4, "4321"
    records = RecordPairs(
        {"name": data.pairs[:, 0], "size": np.arange(50), "seen": ["2020-01-05"] * 50},
        {"name": data.pairs[:, 1], "size": np.arange(50) + data.y, "seen": ["5.1.2020", ""] * 25},
    )
    bad_records = {"left_a": ["a"], "right_a": ["b"], "right_c": ["c"]}, [("a", None)], "a b", None
    triplets = Triplets(X, triplets_from_labels(labels, n_random=2, random_state=0))
    return {
        "matrix": Kind(X, labels, X[:7] + 1, (holed, X[:0], None), (labels[:-1], None, X)),
        "triplets": Kind(triplets, None, X[:7] + 1, (Triplets(holed, triplets.triplets), None)),
        "pairs": Kind(data.pairs, None, asked, bad),
        "labelled": Kind(data.pairs, data.y, asked, bad, wrong),
        "record pairs": Kind(records, None, records[:7], bad_records),
        "labelled records": Kind(records, data.y, records[:7], bad_records, wrong),
        "scored": Kind(objects(PAIRS), np.array(SCORES), objects(PAIRS[::-1]), bad, no_scores),
        "labelled texts": Kind(
            objects(PAIRS), np.array([1, 0, 0, 1]), short[::-2], bad, bad_labels
        ),
        "texts": Kind(short, None, short[::-2], (["a", None], "a", [], None)),
        "grouped": Kind(
            short,
            np.repeat(np.arange(4), 2),
            short[::-2],
            (["a", None], "a", [], None),
            (np.arange(8), np.zeros(8), np.arange(7) % 3, [[0, 1, 8]], [[0, 1, 1]], None),
        ),
        "corpus": Kind(data.pairs.ravel(), None, short, (["a", None], "a", [], None)),
        "documents": Kind(
            objects(tiny_documents()), None, short[::-2], (["a", None], "a", [], None, ["A. B."])
        ),
    }


KINDS = _kinds()
TEXTS = ("pairs", "labelled", "scored", "labelled texts", "texts", "grouped", "corpus", "documents")
SPACE = make_pipeline(TfidfVectorizer(), FILM(d=10, rank=12, random_state=0))
CPU: dict[str, Any] = {"model": TINY, "device": "cpu", "max_length": 32}
TRAINS = CPU | {"epochs": 1, "train_batch_size": 2, "learning_rate": 1e-3, "random_state": 0}
CONTEXTS = {"n_contexts": 6, "device": "cpu", "random_state": 0}
GENERATES = CONTEXTS | {"generator": (8, 2, 1, 1, 16), "generator_epochs": 0.5}
CONVOLVES: dict[str, Any] = {"channels": (2, 3, 4), "width": 5, "max_triplets": 9}
CONVOLVES |= {"train_batch_size": 4, "device": "cpu", "random_state": 0}
SCRATCH = TemporaryDirectory()
"""Holds the model of contexts that a regressor reads, and a static model."""
LAWS = {
    "FILM": Law(FILM(random_state=0), "matrix", "transform components_"),
    "FILM cayley": Law(FILM(solver="cayley", random_state=0), "matrix", "transform"),
    "MiniBatchFILM": Law(MiniBatchFILM(random_state=0), "matrix", "transform components_"),
    "FILM triplets": Law(FILM(3, rank=5, random_state=0), "triplets", "transform"),
    "LexicalFeatures": Law(LexicalFeatures(), "pairs", "transform"),
    "WordDifferences": Law(WordDifferences(), "pairs", "transform"),
    "RecordFeatures": Law(RecordFeatures(), "record pairs", "transform"),
    "DuplicateClassifier of records": Law(
        record_duplicates(cv=2), "labelled records", "predict_proba predict inputs out_of_fold_"
    ),
    "PairwiseKNNClassifier": Law(
        PairwiseKNNClassifier(SPACE, 3, cv=2), "labelled", "predict_proba predict"
    ),
    "DuplicateClassifier": Law(
        DuplicateClassifier([("film", SPACE)], cv=2),
        "labelled",
        "predict_proba predict inputs trained_on out_of_fold_",
    ),
    "DuplicateFinder": Law(DuplicateFinder(n_neighbors=4), "corpus", "match texts_ find()"),
    "DuplicateFinder with StaticEncoder": Law(
        DuplicateFinder(n_neighbors=4, encoder=StaticEncoder(f"{SCRATCH.name}/static")),
        "corpus",
        "match texts_ find()",
    ),
    "SentenceEncoder": Law(SentenceEncoder(**CPU), "texts", "transform"),
    "SentenceEncoder whitened": Law(SentenceEncoder(whiten=3, **CPU), "texts", "transform"),
    "StaticEncoder": Law(StaticEncoder(f"{SCRATCH.name}/static"), "texts", "transform"),
    "AnyEncoder": Law(AnyEncoder(TINY), "texts", "transform"),
    "TokenEncoder": Law(TokenEncoder(**CPU), "texts", "transform"),
    "TokenFILM": Law(
        TokenFILM(TokenEncoder(**CPU), d=6, random_state=0),
        "labelled texts",
        "transform components_",
    ),
    "TokenWeights": Law(
        TokenWeights(steps=2, random_state=0, **CPU), "texts", "token_weights_ loss_curve_"
    ),
    "TokenMatchingRegressor": Law(
        TokenMatchingRegressor(**CPU), "scored", "predict similarity explain"
    ),
    "RCMDRegressor": Law(
        RCMDRegressor(**CPU), "scored", "predict similarity unknown_shares explain"
    ),
    "RCMDRegressor trained": Law(RCMDRegressor(**TRAINS), "scored", "predict loss_curve_"),
    "PairTeacher": Law(
        PairTeacher(
            make_pipeline(LexicalFeatures(), LogisticRegression()), n_pairs=20, random_state=0
        ),
        "labelled",
        "scores_ out_of_fold_",
    ),
    "SurrogateRegressor": Law(
        SurrogateRegressor(epochs=0, **CPU),
        "scored",
        "predict similarity unknown_shares explain",
    ),
    "SurrogateRegressor trained": Law(
        SurrogateRegressor(score_range=(0, 5), **TRAINS), "scored", "predict loss_curve_"
    ),
    "ContextRegressor": Law(
        ContextRegressor(f"{SCRATCH.name}/contexts"), "scored", "predict similarity explain"
    ),
    "ContextModel": Law(ContextModel(**CONTEXTS), "documents", "transform contexts_ loss_curve_"),
    "CrossEncoderRegressor": Law(
        CrossEncoderRegressor(train_max_length=32, **TRAINS),
        "scored",
        "predict similarity loss_curve_ explain",
    ),
    "TripletNetwork": Law(
        TripletNetwork(TokenEncoder(**CPU), **CONVOLVES), "grouped", "transform loss_curve_"
    ),
    "TripletNetwork length": Law(
        TripletNetwork(
            TokenEncoder(**CPU), axes="length", objective="n_pair", residual=True, **CONVOLVES
        ),
        "grouped",
        "transform",
    ),
    "ContextModel generator": Law(
        ContextModel(**GENERATES), "documents", "transform generator_loss_curve_"
    ),
}
# Values that every estimator with a parameter of that name refuses.
WRONG_VALUES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("d", "k", "rank", "max_iter", "n_neighbors", "n_jobs"), (0, 1.5)),
    **dict.fromkeys(("n_contexts", "micro_batch_size", "eval_steps", "max_triplets"), (0, 1.5)),
    **dict.fromkeys(("batch_size", "train_batch_size", "train_max_length", "steps"), (0, "8")),
    "n_random": (-1, 1.5),
    **dict.fromkeys(("epochs", "generator_epochs"), (-1, "1", np.nan)),
    "cache": (3,),
    **dict.fromkeys(("solver", "index", "mode", "count", "matching", "axes", "readout"), ("-", 3)),
    **dict.fromkeys(("pooling", "centre", "plan"), ("-", 3)),
    **dict.fromkeys(("objective", "dtype"), ("int8", 3)),
    **dict.fromkeys(("cosine", "special_tokens", "residual"), (1, None)),
    **{"margin": (-0.1, np.nan, np.inf, "large", True), "tol": (-1.0, "small")},
    **{"temperature": (0, -1), "learning_rate": (-1, np.inf, np.nan)},
    **{"whitening": (1.5,), "whiten": ("all", 0), "copies": (1.5, "most"), "cv": (1, "5")},
    **{"max_length": (2, "8"), "length": (7, 8.5), "width": (0, 1.5), "device": ("abacus",)},
    **{"prior": (0, 1.0, np.nan, "0.5", True), "random_state": ("x",), "features": ("words", 5)},
    **{"weights": ("all", 3), "reference": (0,), "score_range": (5,), "generator": ("huge",)},
}
NEEDS_TORCH = (
    "Any",
    "Sentence",
    "Token",
    "RCMD",
    "Surrogate",
    "CrossEncoder",
    "Context",
    "TripletN",
)
# What methods and attributes take beside the rows that they are asked about.
REST: dict[str, dict[str, Any]] = {"match": {"threshold": 0.0}, "find": {"threshold": 0.0}}
ARGUMENTS: dict[str, Any] = {
    "groups": None,
    "chunks": [],
    "contexts": [1],
    "digest": "0" * 16,
    "folder": "folder",
    "place": "folder",
    "ids": [0],
    "inputs": np.zeros((1, 3)),
    "members": ["film"],
    "n": 1,
    "path": "folder",
    "precision": 0.9,
    "repo_id": "user/name",
    "rows": [1],
    "text": "a",
    "vocabulary": {},
    "y": [0, 1, 2, 3],
}


def laws(*kinds: str, having: str = "") -> Any:
    """Parametrize a test over the estimators of some kinds of input, or with a parameter."""
    chosen = [
        pytest.param(
            law,
            id=name,
            marks=pytest.mark.skipif(
                name.startswith(NEEDS_TORCH) and not find_spec("transformers"),
                reason="needs the extra neural",
            ),
        )
        for name, law in LAWS.items()
        if (not kinds or law.kind in kinds)
        and (not having or having in law.model.get_params(deep=False))
    ]
    return pytest.mark.parametrize("law", chosen)


@pytest.fixture(autouse=True)
def _folders_of_models(request):
    if "ContextRegressor" in request.node.name:
        _fit_contexts()
    if "StaticEncoder" in request.node.name:
        _save_static_model()


@cache
def _fit_contexts() -> None:
    path = Path(SCRATCH.name, "contexts")
    ContextModel(**CONTEXTS).fit(tiny_documents()).save(path)


@cache
def _save_static_model() -> None:
    make_static_model(Path(SCRATCH.name, "static"))


@cache
def fitted_once(law: Law) -> Any:
    return fitted(law)


def fitted(law: Law, **params: Any) -> Any:
    return clone(law.model).set_params(**params).fit(law.given.X, law.given.y)


def as_array(found: Any, n_rows: int) -> np.ndarray:
    """Give any result as an array of its rows."""
    if sp.issparse(found):
        return found.toarray()
    if hasattr(found, "spans"):  # tokens of all texts
        return np.asarray(found.values)
    if hasattr(found, "kind"):  # pairs of a new row and one of the corpus
        dense = np.zeros((n_rows, 100))
        dense[tuple(found.pairs.T)] = found.scores
        return dense
    if isinstance(found, list) and hasattr(found[0], "contributions"):
        return np.array([each.similarity for each in found])
    return np.asarray(found)


def shown(law: Law, model: Any, new: Any = None) -> list[np.ndarray]:
    """What a fitted model says of new rows, and its attributes where these are not given."""
    rows = law.given.new if new is None else new
    found = []
    for name in law.shown.split():
        of_itself = name.endswith(("_", "()"))
        if of_itself and new is not None:
            continue
        value = getattr(model, name.removesuffix("()"))
        if not name.endswith("_"):
            value = value(*[rows][of_itself:], **REST.get(name.removesuffix("()"), {}))
        found.append(as_array(value, 100 if of_itself else len(rows)))
    return found


def assert_equal(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def assert_close(law: Law, found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Equal but for rounding: of sums of float64, or of float32 under a line through 4 points."""
    bound = 1e-4 if type(law.model).__name__.startswith(NEEDS_TORCH) else 1e-13
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=bound, atol=bound)


def params_of(model: Any) -> set[str]:
    return set(inspect.signature(type(model)).parameters)


def state(model: Any) -> dict[str, Any]:
    return {name: id(value) for name, value in vars(model).items()}


def test_every_public_estimator_is_here():
    public = {getattr(estimators, name) for name in vars(estimators)["__all__"]}
    classes = {
        each for each in public if isinstance(each, type) and issubclass(each, BaseEstimator)
    }
    assert classes == {type(law.model) for law in LAWS.values()}


@checks.parametrize_with_checks([law.model for law in LAWS.values() if law.kind == "matrix"])
def test_scikit_learns_checks_of_matrices(estimator, check):
    check(estimator)


WITHOUT_DATA: tuple[Any, ...] = (
    checks.check_do_not_raise_errors_in_init_or_set_params,
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_estimator_tags_renamed,
    checks.check_get_params_invariance,
    checks.check_mixin_order,
    checks.check_no_attributes_set_in_init,
    checks.check_set_params,
    checks.check_valid_tag_types,
)


@laws()
def test_scikit_learns_checks_without_data(law):
    for check in WITHOUT_DATA:
        check(type(law.model).__name__, clone(law.model))


@laws(*TEXTS)
def test_tags_say_that_it_takes_texts(law):
    tags = get_tags(law.model)
    assert tags.input_tags.string and not tags.input_tags.two_d_array
    assert tags.target_tags.required == law.kind.startswith(("labelled", "grouped"))


@laws()
def test_a_fit_changes_nothing_but_the_model_and_prints_nothing(law, capfd):
    """Parameters, input, which may be read-only, and global random numbers stay as they are."""
    expected = shown(law, fitted_once(law), law.given.new)
    X, y, new = copy.deepcopy((law.given.X, law.given.y, law.given.new))
    for array in (X, y, new):
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    given = law.model.get_params(deep=False)
    model = type(law.model)(**given)
    before = joblib.hash(model.get_params())
    assert all(model.get_params(deep=False)[name] is value for name, value in given.items())
    np.random.seed(20)  # noqa: NPY002
    torch = sys.modules.get("torch")
    torch_state = torch and torch.random.get_rng_state().tolist()
    capfd.readouterr()
    assert model.fit(X, y) is model
    assert_equal(shown(law, model, new), expected)
    assert capfd.readouterr() == ("", "")
    assert np.random.random() == np.random.RandomState(20).random()  # noqa: NPY002
    assert not torch or torch.random.get_rng_state().tolist() == torch_state
    assert all(model.get_params(deep=False)[name] is value for name, value in given.items())
    assert joblib.hash(model.get_params()) == before
    assert joblib.hash(new) == joblib.hash(law.given.new)


@laws()
def test_what_fit_learns_ends_with_an_underscore_and_is_documented(law):
    model = fitted_once(law)
    own = vars(model).keys() - params_of(model)
    assert all(name.startswith("_") or name.endswith("_") for name in own), own
    described = inspect.getdoc(type(model)) or ""
    for name in [*params_of(model), *(name for name in own if not name.startswith("_"))]:
        assert re.search(rf"\b{name}\b(, \w+)* :|^{name}, |, {name}(,|$)", described, re.M), name


@laws()
def test_parameters_go_in_and_out_and_a_clone_that_shows_progress_learns_the_same(law, capfd):
    model = fitted_once(law)
    twin = clone(model)
    if not isinstance(model, TokenWeights):  # a clone of these stays fitted, as a frozen one does
        assert vars(twin).keys() == params_of(twin)
    for name, value in model.get_params(deep=True).items():
        assert twin.set_params(**{name: value}) is twin
        assert twin.get_params(deep=True)[name] is value
    expected = shown(law, model)
    capfd.readouterr()
    if "verbose" in params_of(twin):
        twin.set_params(verbose=1)
    assert_equal(shown(law, twin.fit(law.given.X, law.given.y)), expected)
    out, err = capfd.readouterr()
    assert out == "" and bool(err) == ("verbose" in params_of(twin))


@laws(*TEXTS)
def test_lists_and_arrays_give_the_same(law):
    X, y, new = (None if part is None else part.tolist() for part in law.given[:3])
    assert_equal(shown(law, clone(law.model).fit(X, y)), shown(law, fitted_once(law)))
    assert_equal(shown(law, fitted_once(law), new), shown(law, fitted_once(law), law.given.new))


@laws(*TEXTS)
def test_half_of_a_surrogate_pair_is_read_or_named(law):
    """No tokenizer of compiled code takes it, and its error names no text."""

    def broken(rows):
        rows = rows.copy()
        place = (1,) * rows.ndim
        rows[place] = rows[place][:1] + "\ud800" + rows[place][1:]
        return rows

    for asked in (
        lambda: clone(law.model).fit(broken(law.given.X), law.given.y),
        lambda: shown(law, fitted_once(law), broken(law.given.new)),
    ):
        try:
            asked()
        except ValueError as error:
            named = r"(\[1\]|row 1, column 1) has half of a surrogate pair at character 1"
            assert re.search(named, str(error))


@laws()
def test_a_failed_refit_leaves_the_fitted_one_as_it_was(law):
    model = copy.copy(fitted_once(law))
    expected, kept = shown(law, model), state(model)
    wrong = [(X, law.given.y) for X in law.given.bad_X] + [
        (law.given.X, y) for y in law.given.bad_y
    ]
    for X, y in wrong:
        if (
            y is None
            and law.given.y is not None
            and not model.__sklearn_tags__().target_tags.required
        ):
            continue
        for name in ("fit", "partial_fit"):
            if hasattr(model, name):
                with pytest.raises((TypeError, ValueError)):
                    getattr(model, name)(X, y)
                assert state(model) == kept
    assert_equal(shown(law, model), expected)


@laws()
def test_a_wrong_parameter_is_named_and_leaves_the_fitted_one_as_it_was(law):
    model = copy.copy(fitted_once(law))
    expected, wrong = shown(law, model), object()
    for name, value in model.get_params(deep=False).items():
        kept = state(model)
        model.set_params(**{name: wrong})
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            model.fit(law.given.X, law.given.y)
        model.set_params(**{name: value})
        assert state(model) == kept, name
    assert_equal(shown(law, model), expected)


@laws()
def test_a_parameter_out_of_its_range_is_named_with_its_value(law):
    model = clone(law.model)
    before = vars(model).keys()
    for name, value in model.get_params(deep=False).items():
        for wrong in WRONG_VALUES.get(name, ()):
            model.set_params(**{name: wrong})
            for method in ("fit", "partial_fit"):
                if hasattr(model, method):
                    with pytest.raises((TypeError, ValueError), match=rf"\b{name}={wrong!r}"):
                        getattr(model, method)(law.given.X, law.given.y)
            assert vars(model).keys() == before
        model.set_params(**{name: value})


@laws()
def test_nothing_can_be_asked_before_fit(law):
    # A clone of fitted token weights stays fitted, as a frozen estimator does.
    model = type(law.model)(**law.model.get_params(deep=False))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    for name, member in inspect.getmembers(type(model)):
        is_own = name not in dir(BaseEstimator) and not re.match(
            "_|fit|partial_fit|take|set_|check_savable|check_state", name
        )
        if isinstance(model, LexicalFeatures) and name == "get_feature_names_out":
            continue  # these names are always the same
        if is_own and isinstance(member, property | FunctionType):
            with pytest.raises(NotFittedError):
                found = getattr(model, name)
                found(*arguments(found, law.given.new))
    check_is_fitted(fitted_once(law))


def arguments(method: Any, new: Any) -> list[Any]:
    needed = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.default is parameter.empty and parameter.kind != parameter.VAR_KEYWORD
    ]
    return [new if each in ("X", "pairs", "texts") else ARGUMENTS[each] for each in needed]


@laws(having="verbose")
def test_verbose_is_checked_alike(law):
    assert type(law.model)(**law.model.get_params(deep=False)).verbose == 0
    with pytest.raises(TypeError, match=r"verbose='yes' must be an integer, 0 or more"):
        fitted(law, verbose="yes")
    with pytest.raises(ValueError, match="verbose=-1 must be 0 or more"):
        fitted(law, verbose=-1)


@pytest.mark.parametrize("name", ["memory", "cache"])
def test_folders_that_keep_work_are_spelled_alike(name, tmp_path):
    for title, law in LAWS.items():
        if name not in params_of(law.model):
            continue
        assert inspect.signature(type(law.model)).parameters[name].default is None
        # What one leaves for another changes what that encodes at once, and so its last bits.
        folder = tmp_path / title
        expected = shown(law, fitted_once(law))
        for given in (str(folder), folder):
            assert_equal(shown(law, fitted(law, **{name: given})), expected)
        assert any(folder.iterdir())


@laws()
def test_it_is_shown_in_a_line_and_in_a_notebook(law):
    for model in (clone(law.model), fitted_once(law)):
        name = type(model).__name__
        assert repr(model).startswith(f"{name}(") and "object at 0x" not in repr(model)
        page = model._repr_html_()
        assert name in page
        changed = {k for k, v in model.get_params(deep=False).items() if isinstance(v, int | str)}
        assert all(parameter in page for parameter in changed)


@laws()
def test_copies_say_the_same(law, tmp_path):
    model = fitted_once(law)
    save_model(model, tmp_path / "model.film")
    for again in (
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        load_model(tmp_path / "model.film"),
    ):
        assert type(again) is type(model)
        assert joblib.hash(again.get_params(deep=False)) == joblib.hash(
            model.get_params(deep=False)
        )
        assert_equal(shown(law, again), shown(law, model))
    unfitted = clone(law.model)
    save_model(unfitted, tmp_path / "unfitted.film")
    loaded = load_model(tmp_path / "unfitted.film")
    assert joblib.hash(loaded.get_params(deep=False)) == joblib.hash(
        unfitted.get_params(deep=False)
    )


@laws("pairs", "labelled", "scored")
def test_the_order_of_a_pair_changes_nothing(law):
    model, X, new = fitted_once(law), law.given.X, law.given.new
    same = assert_close if law.kind == "scored" else lambda _, *found: assert_equal(*found)
    same(law, shown(law, model, new[:, ::-1]), shown(law, model, new))
    if not law.model.get_params().get("epochs"):  # steps of Adam make much of rounding
        turned = clone(law.model).fit(X[:, ::-1], law.given.y)
        same(law, shown(law, turned, new), shown(law, model, new))


@laws()
def test_one_row_is_judged_as_among_many(law):
    model, new = fitted_once(law), law.given.new
    alone = [shown(law, model, new[row : row + 1]) for row in range(len(new))]
    together = [np.concatenate(each) for each in zip(*alone, strict=True)]
    assert_close(law, together, shown(law, model, new))


@laws("pairs", "labelled", "scored", "labelled texts")
def test_pairs_of_empty_texts_alone_are_an_error_that_names_the_argument(law):
    blank = objects([("", " "), ("\t", "")] * (len(law.given.X) // 2))
    y = None if law.given.y is None else law.given.y[: len(blank)]
    with pytest.raises(ValueError, match="pairs holds no text: all 2 columns are empty in each"):
        clone(law.model).fit(blank, y)


@laws(*TEXTS)
def test_empty_input_is_an_error_that_names_the_argument(law):
    model = fitted_once(law)
    names = [name for name in law.shown.split() if not name.endswith(("_", "()"))]
    for name in names:
        argument = next(iter(inspect.signature(getattr(model, name)).parameters))
        for empty in ([], law.given.new[:0]):
            with pytest.raises(ValueError, match=f"^{argument} is empty"):
                getattr(model, name)(empty, **REST.get(name, {}))


@laws()
def test_columns_have_names(law):
    model = fitted_once(law)
    if "transform" not in law.shown or isinstance(model, TokenEncoder | TokenFILM):
        return
    n_columns = as_array(model.transform(law.given.new), 0).shape[1]
    names = model.get_feature_names_out()
    assert names.shape == (n_columns,) and names.dtype == object
    assert all(isinstance(name, str) for name in names)
    if law.kind in ("matrix", "triplets"):
        assert model.n_features_in_ == law.given.new.shape[1]

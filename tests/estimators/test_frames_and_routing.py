"""What scikit-learn's users set or hand in: frames, `set_output`, metadata routing, diagrams."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from estimators import (
    RecordPairs,
    SurrogateRegressor,
    TokenEncoder,
    TokenFILM,
    WordDifferences,
)
from tests.estimators.test_laws import (
    LAWS,
    TEXTS,
    _folders_of_models,  # noqa: F401
    assert_close,
    assert_equal,
    fitted_once,
    laws,
    shown,
)

pd = pytest.importorskip("pandas", reason="needs the extra files")
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
FRAMES = ["pandas", "pandas over pyarrow", "polars", "pyarrow"]
OUTPUTS = ["pandas", "polars"]


def framed(rows: Any, library: str) -> Any:
    """The same values in a table, or in a column, of a library."""
    columns = [f"column {number}" for number in range(np.ndim(rows) > 1 and np.shape(rows)[1])]
    if library.startswith("pandas"):
        # An index that is not 0, 1, ...: nothing may be looked up by it.
        index = np.arange(len(rows))[::-1] * 3 + 100
        made = pd.DataFrame(rows, index, columns) if columns else pd.Series(rows, index)
        return made if library == "pandas" else made.convert_dtypes(dtype_backend="pyarrow")
    module = pytest.importorskip(library, reason=f"needs {library}")
    if library == "polars":
        values = {name: rows[:, number].tolist() for number, name in enumerate(columns)}
        return module.DataFrame(values) if columns else module.Series(np.asarray(rows).tolist())
    arrays = [module.array(column) for column in np.asarray(rows).reshape(len(rows), -1).T.tolist()]
    return module.table(arrays, names=columns) if columns else arrays[0]


@laws("matrix", *TEXTS)
def test_frames_are_taken_like_arrays(law):
    X, y, new = law.given.X, law.given.y, law.given.new
    expected = shown(law, fitted_once(law))
    # Each estimator is fitted once, on frames of one library and labels of the next.
    at = list(LAWS.values()).index(law)
    first, second = FRAMES[at % len(FRAMES)], FRAMES[(at + 1) % len(FRAMES)]
    model = clone(law.model).fit(framed(X, first), y if y is None else framed(y, second))
    assert_equal(shown(law, model), expected)
    for library in FRAMES:
        with_names = law.kind == "matrix" and library != first
        asked = fitted_once(law) if with_names else model  # others have other names of columns
        assert_equal(shown(law, asked, framed(new, library)), shown(law, model, new))


@laws("matrix")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_of_columns_are_kept_and_compared(law, library):
    frame = framed(law.given.X, library)
    model = clone(law.model).fit(frame, law.given.y)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[list(frame.columns)[::-1]])


def gives_columns(law: Any) -> bool:
    """Whether it has `transform`, and gives one row per text or pair, not tokens of all texts."""
    return hasattr(law.model, "transform") and not isinstance(law.model, TokenEncoder | TokenFILM)


@laws()
@pytest.mark.parametrize("library", OUTPUTS)
def test_set_output_gives_frames_of_named_columns(law, library):
    if not gives_columns(law):
        return
    pytest.importorskip(library)
    model, rows = copy.deepcopy(fitted_once(law)), law.given.new
    rows = rows.ravel() if isinstance(model, SurrogateRegressor) else rows  # fitted to pairs
    expected = model.transform(rows)
    assert model.set_output(transform=library) is model
    if isinstance(model, WordDifferences):
        with pytest.raises(ValueError, match=r"sparse .*set_output\(transform='default'\)"):
            model.transform(rows)
        return
    given = rows if isinstance(rows, RecordPairs) else framed(rows, "pandas")
    frame = model.transform(given)
    assert type(frame).__module__.startswith(library)
    assert list(frame.columns) == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame.to_numpy(), expected)
    if library == "pandas" and given is not rows:
        assert frame.index.equals(given.index)
    np.testing.assert_array_equal(model.set_output(transform="default").transform(rows), expected)


@laws()
def test_frames_from_all_transformers_and_routing_change_no_result(law):
    output = "default" if isinstance(law.model, WordDifferences) else "pandas"
    with sklearn.config_context(transform_output=output, enable_metadata_routing=True):
        found = shown(law, clone(law.model).fit(law.given.X, law.given.y))
    assert_equal(found, shown(law, fitted_once(law)))


@laws("labelled")
def test_members_may_give_frames_of_polars(law):
    pytest.importorskip("polars")
    with sklearn.config_context(transform_output="polars"):
        found = shown(law, clone(law.model).fit(law.given.X, law.given.y))
    # Its frames hold columns one after another, over which BLAS sums in another order.
    assert_close(law, found, shown(law, fitted_once(law)))


@laws()
def test_whatever_fit_and_score_take_beside_rows_can_be_asked_for(law):
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(law.model)
        for method in ("fit", "partial_fit", "score"):
            given = inspect.signature(getattr(type(model), method, lambda self, X: X)).parameters
            rest = [each.name for each in given.values() if each.kind is not each.VAR_KEYWORD][2:]
            for name in {*rest} - {"y"}:
                getattr(model, f"set_{method}_request")(**{name: True})
                asked: Any = get_routing_for_object(model)
                asked = getattr(asked, "_self_request", asked)
                assert getattr(asked, method).requests[name] is True


@laws("labelled", "scored")
def test_weights_count_in_a_score_as_rows_given_twice_or_are_refused(law):
    model, X, y = fitted_once(law), law.given.X, law.given.y
    if not hasattr(model, "score"):
        return
    if law.kind == "scored":
        with pytest.raises(ValueError, match="no meaning for a rank correlation"):
            model.score(X, y, sample_weight=np.ones(len(y)))
        return
    weights = np.arange(len(y)) % 3
    twice = np.repeat(np.arange(len(y)), weights)
    weighted = model.score(X, y, sample_weight=weights)
    assert weighted == pytest.approx(model.score(X[twice], y[twice]), abs=1e-9)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = clone(law.model).set_score_request(sample_weight=True)
        assert get_routing_for_object(scorer).consumes("score", ["sample_weight"])


def _takes_weights(model: Any) -> bool:
    given = inspect.signature(type(model).fit).parameters.values()
    return any(each.name == "sample_weight" or each.kind is each.VAR_KEYWORD for each in given)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize(
    "law", [pytest.param(law, id=name) for name, law in LAWS.items() if _takes_weights(law.model)]
)
def test_a_row_of_weight_zero_is_as_if_it_were_not_there(law, routing):
    X, y = law.given.X, law.given.y
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    kept = np.flatnonzero(weights)
    with sklearn.config_context(enable_metadata_routing=routing):
        weighted = clone(law.model).fit(X, y, sample_weight=weights.tolist())
        without = clone(law.model).fit(X[kept], y[kept], sample_weight=weights[kept])
    assert_equal(shown(law, weighted), shown(law, without))


@laws()
def test_diagrams_escape_what_they_show_and_are_switched_off(law):
    model = fitted_once(law)
    assert type(model).__name__ in model._repr_mimebundle_()["text/html"]
    assert type(model).__name__ in make_pipeline(model)._repr_html_()
    with sklearn.config_context(display="text"):
        assert [*model._repr_mimebundle_()] == ["text/plain"]
    texts = [name for name, value in model.get_params(deep=False).items() if isinstance(value, str)]
    for name in texts[:1]:
        odd = clone(law.model).set_params(**{name: "<script>alert(1)</script>"})
        assert "<script>alert(1)" not in odd._repr_html_()

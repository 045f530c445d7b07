"""Saved models: those saved before load and predict the same, and all of today's come back."""

import json
from pathlib import Path

import numpy as np
import pytest

from estimators import RCMDRegressor, TokenMatchingRegressor, load_model
from tests.estimators.tiny_model import MAX_TOKENS, SCORES

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
ARCHIVES = [name for name in EXPECTED if (GOLDEN / f"{name}.film").exists()]
FOLDERS = [name for name in EXPECTED if (GOLDEN / name).is_dir()]
NEURAL = ("encoder", "token", "rcmd")
# Nothing is fitted here, only weights of a file applied. Sums of some hundred float64 or float32
# terms, and the few that a probability is made of, are good to 1e-6 on any CPU; two layers of a
# random BERT with large weights, and a line fitted to four similarities, stay below 1e-4 (5e-6
# between SSE and AVX-512). A rank wrong by one, a tree lost or a prior shifted twice changes
# results by 1e-3 and more.


def assert_same(name, result, expected):
    bound = 1e-4 if any(part in name for part in NEURAL) else 1e-6
    np.testing.assert_allclose(result, expected, rtol=bound, atol=bound)


def test_every_golden_file_is_tested():
    assert len(ARCHIVES) + len(FOLDERS) == len(EXPECTED) >= 21
    assert {path.stem for path in GOLDEN.glob("*.film")} == set(ARCHIVES)


@pytest.mark.parametrize("name", ARCHIVES)
def test_13_archives_saved_before_load_and_predict_the_same(name, monkeypatch):
    # The encoders' model is named as seen from there.
    monkeypatch.chdir(GOLDEN)
    expected = EXPECTED[name]
    if any(part in name for part in NEURAL):
        pytest.importorskip("transformers", reason="needs the extra neural")
    model = load_model(f"{name}.film")
    assert type(model).__name__ == expected["class"]
    if expected["method"] is not None:
        argument = expected["argument"]
        if isinstance(argument[0], list):
            argument = [tuple(pair) for pair in argument]
        result = np.asarray(getattr(model, expected["method"])(argument))
        assert_same(name, result, expected["result"])


def test_13_parameters_of_unfitted_models_saved_before_come_back():
    finder = load_model(GOLDEN / "unfitted_finder.film").get_params()
    assert (finder["n_neighbors"], finder["prior"]) == (7, 0.1)
    folds = load_model(GOLDEN / "folds.film")
    assert (folds.n_splits, folds.random_state) == (3, 1)
    rcmd = load_model(GOLDEN / "unfitted_rcmd.film").get_params()
    assert (rcmd["similarity"], rcmd["epochs"]) == ("avg", 2.0)


@pytest.mark.parametrize("name", FOLDERS)
def test_13_folders_saved_before_load_and_predict_the_same(name):
    pytest.importorskip("transformers", reason="needs the extra neural")
    expected = EXPECTED[name]
    pairs = [tuple(pair) for pair in expected["argument"]]
    model = RCMDRegressor.load(GOLDEN / name, device="cpu")
    assert_same(name, model.predict(pairs), expected["result"])
    matching = TokenMatchingRegressor(GOLDEN / name, max_length=MAX_TOKENS, device="cpu")
    assert_same(name, matching.fit(pairs, SCORES).predict(pairs), expected["matching"])

"""Models of contexts that earlier versions saved are read, or refused if they are damaged."""

import shutil

import numpy as np
import pytest

from estimators import ContextModel
from tests.estimators.contexts.earlier_models import model_files, write_model
from tests.estimators.tiny_documents import tiny_documents

pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("tokenizers", reason="needs the extra contexts")
pytest.importorskip("sentencex", reason="needs the extra contexts")

TEXTS = ["The cat sees the tree.", "A king follows the ship 5.", "Sailors", ""]
SMALL = {"width": 8, "n_contexts": 6, "device": "cpu", "random_state": 0}
CASES = {
    "fixed": {},
    "lstm": {"reader": "lstm"},
    "generator": {"generator": (8, 2, 1, 1, 16), "generator_epochs": 0.5},
}


@pytest.fixture(scope="module", params=CASES)
def model(request):
    return ContextModel(**SMALL | CASES[request.param]).fit(tiny_documents())


def test_a_folder_is_read(model, tmp_path):
    write_model(model, tmp_path)
    found = ContextModel.load(tmp_path)
    np.testing.assert_array_equal(found.transform(TEXTS), model.transform(TEXTS))
    assert found.contexts_of(TEXTS, 3, strategy="random")[0].tolist() == (
        model.contexts_of(TEXTS, 3, strategy="random")[0].tolist()
    )
    assert found.scores_ == model.scores_ and found.perplexities_ == model.perplexities_


def test_the_state_of_a_file_is_read(model):
    files, parts = model_files(model)
    state = {name: each for name, each in vars(model).items() if name not in HELD}
    state |= {"_parts": parts, "_sides": 1, "_seed": model._settings["seed"]}
    state["_files"] = {name: np.frombuffer(each, np.uint8) for name, each in files.items()}
    found = object.__new__(ContextModel)
    vars(found).update(state)
    found.check_state()
    np.testing.assert_array_equal(found.transform(TEXTS), model.transform(TEXTS))
    assert set(vars(found)) - {"_opened"} == set(vars(model)) - {"_opened"}


HELD = ("_opened", "_settings", "_arrays")


def test_sides_and_prior_of_a_model_stay(tmp_path):
    model = ContextModel(**SMALL).fit(tiny_documents())
    write_model(model, tmp_path, sides=2, contexts=[2, 30])
    wide = ContextModel.load(tmp_path)
    (left, right), _ = wide.context_texts([2, 30])
    assert (left, right) == tuple(" ".join(model.corpus_.texts(rows)) for rows in ([0, 1], [3, 4]))
    write_model(model, tmp_path, params=wide.get_params() | {"prior": "training", "device": None})
    by_corpus = model.transform(TEXTS).astype(float)
    logits = np.log(len(model.corpus_.centres())) - np.log(np.expm1(-by_corpus))
    # One false context for each true one, as Eq. 1 is printed.
    found = ContextModel.load(tmp_path).transform(TEXTS)
    np.testing.assert_allclose(found, -np.log1p(np.exp(-logits)), atol=1e-3)


def test_parts_outside_of_the_folder_are_refused(model, tmp_path):
    folder = tmp_path / "saved"
    parts = write_model(model, folder)
    outside = tmp_path / parts["retrieval"]
    shutil.copytree(folder / parts["retrieval"], outside)
    (folder / "link").symlink_to(outside)
    for name in ("link", "..", ".", "", "a/..", f"../{outside.name}", str(outside)):
        write_model(model, folder, parts=parts | {"retrieval": name})
        with pytest.raises(ValueError, match="lies outside of the folder"):
            ContextModel.load(folder)


def test_damaged_files_are_refused(model, tmp_path):
    files, _ = model_files(model)
    for name in files:
        write_model(model, tmp_path)
        (tmp_path / name).write_bytes(files[name][:-9])
        with pytest.raises(ValueError):
            ContextModel.load(tmp_path).transform(TEXTS)
        (tmp_path / name).unlink()
        with pytest.raises(FileNotFoundError):
            ContextModel.load(tmp_path)

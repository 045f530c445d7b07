"""Models in a folder that needs nothing else."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from estimators import (
    FILM,
    ContextModel,
    ContextRegressor,
    CrossEncoderRegressor,
    DuplicateClassifier,
    RCMDRegressor,
    SentenceEncoder,
    TokenMatchingRegressor,
    load_model,
    read_metadata,
    save_model,
)
from estimators.encoders import model_digest
from estimators.encoders.transformer import Transformer
from film.datasets import make_question_pairs
from tests.estimators.tiny_documents import tiny_documents
from tests.estimators.tiny_model import make_tiny_model

# Small problems are reduced and left unconverged, and tiny models know few words.
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
DATA = make_question_pairs(80, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object)[:40], np.asarray(DATA.y)[:40]
NEW = np.asarray(DATA.pairs, dtype=object)[40:60]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A fitted stack, the folder it was saved to, and the folder of the encoder it began with."""
    pytest.importorskip("transformers", reason="needs the extra neural")
    root = tmp_path_factory.mktemp("bundle")
    tiny = make_tiny_model(root / "tiny")
    cpu = {"model": str(tiny), "device": "cpu", "max_length": 32}
    trains = cpu | {"epochs": 0.2, "train_batch_size": 16, "random_state": 0}
    members = [
        ("cosine", SentenceEncoder(**cpu)),
        ("film", make_pipeline(SentenceEncoder(**cpu), FILM(12, rank=16, random_state=0))),
        ("rcmd", RCMDRegressor(objective="binary", **trains)),
        ("cross", CrossEncoderRegressor(objective="binary", train_max_length=32, **trains)),
        ("matching", TokenMatchingRegressor(**cpu)),
    ]
    model = DuplicateClassifier(members, cv=4, member_cv={"rcmd": 2, "cross": 2}, neighbourhood=3)
    model.fit(PAIRS, Y)
    save_model(model, root / "stack", metadata={"rows": 40}, self_contained=True)
    return model, root / "stack", tiny


def test_a_folder_predicts_the_same_where_nothing_else_is_left(saved, tmp_path, monkeypatch):
    model, folder, tiny = saved
    wanted = model.predict_proba(NEW), model.explain(NEW[:1])[0].to_dict()
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    hidden = tiny.rename(tmp_path / "hidden")
    try:
        # No network: asking the hub is an error here.
        monkeypatch.setattr("estimators.encoders.model_files._download", None)
        again = load_model(moved)
        # Encodings are those of the same weights, in batches of other texts.
        assert np.allclose(again.predict_proba(NEW), wanted[0], rtol=0, atol=1e-5)
        found = again.explain(NEW[:1])[0]
        assert found.probability == pytest.approx(wanted[1]["probability"], abs=1e-5)
    finally:
        hidden.rename(tiny)
    assert read_metadata(moved)["metadata"] == {"rows": 40}
    assert read_metadata(moved)["class"] == "DuplicateClassifier"


def arrays_of(path):
    """Bytes of all arrays in an archive."""
    with zipfile.ZipFile(path) as archive:
        return sum(info.file_size for info in archive.infolist() if info.filename[-4:] == ".npy")


def test_a_folder_holds_each_model_once_and_no_code(saved, tmp_path):
    model, folder, tiny = saved
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    # The frozen encoder of three members, and the two that were trained.
    assert [name for name in names if name.endswith("model.safetensors")] == [
        f"encoders/{number}/model.safetensors" for number in range(3)
    ]
    endings = {name.rpartition(".")[2] for name in names if "." in name}
    assert endings <= {"film", "json", "safetensors", "txt"}
    # Weights that were learned are in the folders, and not in the archive as they are in a file.
    save_model(model, tmp_path / "stack.film")
    in_file, in_folder = map(arrays_of, (tmp_path / "stack.film", folder / "model.film"))
    assert in_file - in_folder > 2 * 0.9 * (tiny / "model.safetensors").stat().st_size


def test_saving_leaves_the_model_as_it_is_and_a_loaded_one_can_be_saved(saved, tmp_path):
    model, folder, tiny = saved
    assert model.members_[0][1].model == str(tiny)
    again = load_model(folder)
    save_model(again, tmp_path / "again", self_contained=True)
    found = load_model(tmp_path / "again").predict_proba(NEW)
    assert np.allclose(found, model.predict_proba(NEW), rtol=0, atol=1e-5)


def test_a_folder_is_made_whole_or_not_at_all(saved, tmp_path, monkeypatch):
    model, folder, _ = saved
    with pytest.raises(FileExistsError, match="is already there"):
        save_model(model, folder, self_contained=True)

    def fail(self, place):
        raise OSError("disk full")

    place = "estimators.encoders.frozen_encoder.FrozenEncoder.write_model"
    monkeypatch.setattr(place, fail)
    with pytest.raises(OSError, match="disk full"):
        save_model(model, tmp_path / "new", self_contained=True)
    assert list(tmp_path.iterdir()) == []


def place_of(folder, member):
    """Folder of the transformers model of a member that was trained."""
    return Path(dict(load_model(folder).members_)[member].encoder_.model).relative_to(folder)


@pytest.mark.parametrize(
    ("how", "member", "named"),
    [
        ("other weights", "rcmd", "member 'rcmd' needs"),
        ("no config", "rcmd", "member 'rcmd' needs"),
        ("another config", "matching", "members 'cosine', 'film', 'matching' need"),
    ],
)
def test_a_model_that_changed_since_is_named_when_loaded(saved, tmp_path, how, member, named):
    _, folder, _ = saved
    moved = shutil.copytree(folder, tmp_path / "changed")
    place = place_of(moved, member)
    config, weights = (moved / place / name for name in ("config.json", "model.safetensors"))
    if how == "other weights":
        other = moved / place_of(moved, "cross") / weights.name
        weights.write_bytes(other.read_bytes())
    elif how == "another config":
        config.write_text(config.read_text() + " ", encoding="utf-8")
    else:
        config.unlink()
    told = rf"changed: {place.as_posix()}, which {named}, is not what was saved: "
    with pytest.raises(ValueError, match=told):
        load_model(moved)


def test_each_model_of_a_folder_is_read_once_to_see_whether_it_changed(saved, monkeypatch):
    _, folder, _ = saved
    place, read = "estimators.encoders.frozen_encoder.model_digest", []
    monkeypatch.setattr(place, lambda at, files: read.append(at) or model_digest(at, files))
    load_model(folder)
    assert sorted(at.name for at in read) == ["0", "1", "2"]


def test_what_is_missing_of_a_folder_is_named(saved, tmp_path):
    _, folder, _ = saved
    moved = shutil.copytree(folder, tmp_path / "less")
    place = place_of(moved, "rcmd").as_posix()
    shutil.rmtree(moved / place)
    with pytest.raises(ValueError) as caught:
        load_model(moved)
    assert str(caught.value) == (
        f"{moved} has no {place}, which member 'rcmd' needs; give load_model the whole folder that "
        "save_model wrote"
    )


def test_a_file_taken_out_of_its_folder_says_so(saved, tmp_path):
    _, folder, _ = saved
    alone = Path(shutil.copy(folder / "model.film", tmp_path / "alone.film"))
    for path in (alone, folder / "model.film"):
        told = rf"{path} belongs to a folder that holds encoders/0, which members? .* needs?; give "
        with pytest.raises(ValueError, match=f"{told}load_model the whole folder, not"):
            load_model(path)


def test_a_folder_of_a_later_version_or_of_another_kind_is_named(saved, tmp_path, tiny_model):
    _, folder, _ = saved
    moved = shutil.copytree(folder, tmp_path / "later")
    with zipfile.ZipFile(folder / "model.film") as old:
        parts = {name: old.read(name) for name in old.namelist()}
    header = json.loads(parts["film-metric.json"])
    parts["film-metric.json"] = json.dumps(header | {"format": 99}).encode()
    with zipfile.ZipFile(moved / "model.film", "w") as new:
        for name, content in parts.items():
            new.writestr(name, content)
    with pytest.raises(ValueError, match=r"has format 99, this version .* reads up to"):
        load_model(moved)
    with pytest.raises(FileNotFoundError, match=r"is a folder without model\.film"):
        load_model(tiny_model)


def test_all_members_compute_on_the_device_that_is_given(saved, monkeypatch):
    model, folder, _ = saved
    asked, load = set(), Transformer.__init__

    def seeing(self, model, device, *args):
        asked.add(device)
        load(self, model, device, *args)

    monkeypatch.setattr(Transformer, "__init__", seeing)
    again = load_model(folder, device="cpu:0")
    assert np.allclose(again.predict_proba(NEW), model.predict_proba(NEW), rtol=0, atol=1e-5)
    assert asked == {"cpu:0"}
    with pytest.raises(ValueError, match="device='gpu' must be a device of torch"):
        load_model(folder / "nowhere", device="gpu")


def test_a_place_outside_of_the_folder_is_not_followed(saved, tmp_path):
    """A crafted file may name any place: none but a folder of its own is taken for its model."""
    _, folder, _ = saved
    again = load_model(folder)
    again.members_[0][1].model = "encoders/../../outside"
    save_model(again, tmp_path / "crafted.film")
    assert load_model(tmp_path / "crafted.film").members_[0][1].model == "encoders/../../outside"


def test_a_folder_holds_what_a_model_of_contexts_reads(tmp_path):
    pytest.importorskip("sentencex", reason="needs the extra contexts")
    contexts = ContextModel(n_contexts=6, random_state=0, device="cpu").fit(tiny_documents())
    contexts.save(tmp_path / "contexts")
    members = [
        ("vectors", FrozenEstimator(contexts)),
        ("origin", ContextRegressor(str(tmp_path / "contexts"))),
    ]
    model = DuplicateClassifier(members, cv=2).fit(PAIRS, Y)
    expected = model.predict_proba(NEW)
    save_model(model, tmp_path / "stack", self_contained=True)
    assert np.array_equal(model.predict_proba(NEW), expected)
    shutil.rmtree(tmp_path / "contexts")
    shutil.move(tmp_path / "stack", tmp_path / "elsewhere")
    assert np.array_equal(load_model(tmp_path / "elsewhere").predict_proba(NEW), expected)

"""Saved models: those saved before load and predict the same, and all of today's come back."""

import io
import json
import struct
import sys
import zipfile
import zlib
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from estimators import (
    FILM,
    DisjointPairsKFold,
    RCMDRegressor,
    fast_duplicates,
    load_model,
    read_metadata,
    save_model,
)
from estimators.persistence.registry import find_savable, savable
from film.datasets import make_question_pairs
from tests.estimators.forged_models import members_of, write_members
from tests.golden.outcome import outcome
from tests.quick_fits import USUAL, fits_of

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text("utf-8"))
NEURAL = ("encoder", "token", "triplet", "mixed", "folder")


def test_every_golden_file_is_tested():
    saved = {path.stem for path in GOLDEN.glob("*.film")}
    assert saved == {name for name in EXPECTED if not name.startswith("folder")}


@pytest.mark.filterwarnings("ignore:max_length=8 cut 1 of 8 texts:UserWarning")
@pytest.mark.filterwarnings("ignore:the corpus has no word:UserWarning")
@pytest.mark.parametrize("name", EXPECTED)
def test_models_saved_before_load_and_predict_the_same(name, monkeypatch):
    is_neural = name.startswith(NEURAL)
    if is_neural:
        pytest.importorskip("transformers", reason="needs the extra neural")
    # The encoders' model is named as seen from there.
    monkeypatch.chdir(GOLDEN)
    if name.startswith("folder"):
        model = RCMDRegressor.load(name, device="cpu")
    else:
        model = load_model(f"{name}.film")
    assert type(model).__name__ == EXPECTED[name]["class"]
    # Nothing is fitted here, only weights of a file applied. Sums of some hundred float64 or
    # float32 terms, and the few that a probability is made of, are good to 1e-6 on any CPU; two
    # layers of a random BERT with large weights, and a line fitted to four similarities, stay below
    # 1e-4 (5e-6 between SSE and AVX-512). A rank wrong by one, a tree lost or a prior shifted twice
    # changes results by 1e-3 and more. Out-of-fold figures come from models that are fitted here:
    # rounding may change the last step of polishing, by 3e-6 between Nehalem and Haswell.
    for call in EXPECTED[name]["calls"]:
        is_fitted_here = call["name"] == "out_of_fold_probabilities"
        bound = 1e-4 if is_neural or is_fitted_here else 1e-6
        with fits_of(*USUAL):
            found = outcome(model, call["name"], call["argument"])
        np.testing.assert_allclose(found, call["result"], rtol=bound, atol=bound)


def test_a_collection_saved_before_remembers_groups(tmp_path):
    finder = load_model(GOLDEN / "finder.film")
    groups = finder.groups(0.3)
    assert groups.numbers.tolist() == [*range(len(groups))] and len(groups)
    save_model(finder.remember_groups(groups), tmp_path / "finder.film")
    again = load_model(tmp_path / "finder.film").groups(0.3)
    np.testing.assert_array_equal(np.append(again.numbers, -1)[again.labels], groups.labels)


DATA = make_question_pairs(80, random_state=0)
NEW = [("how do I learn chess", "what is the best way to learn chess?"), ("a cat", "the old dog")]
X = np.random.default_rng(0).normal(size=(60, 3))

quiet = pytest.mark.filterwarnings("ignore:rank=.* were reduced:UserWarning")


@quiet
def test_13_classes_are_found_by_name_where_modules_moved(tmp_path, monkeypatch):
    path = tmp_path / "model.film"
    model = fast_duplicates(d=12, rank=20, cv=2).fit(DATA.pairs, DATA.y)
    save_model(model, path)
    edit_schema(path, lambda text: text
                .replace(b"estimators.pairs.stack.members", b"estimators.gone")
                .replace(b"estimators.metric.film", b"estimators.film")
                .replace(b"film.text", b"film.words.text"))  # fmt: skip
    found = load_model(path)
    np.testing.assert_array_equal(found.predict_proba(NEW), model.predict_proba(NEW))


def test_13_a_name_is_savable_once():
    assert find_savable("estimators.gone.FILM") is FILM
    assert find_savable("estimators.persistence.save_model") is None
    with pytest.raises(ValueError, match=r"FILM cannot be savable: .*\.metric\.film\.FILM has"):
        savable(type("FILM", (), {"__module__": "estimators.other"}))
    assert savable(FILM) is FILM


def test_13_state_that_a_class_finds_wrong_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "model.film"
    save_model(DisjointPairsKFold(3), path)

    def check_state(self):
        raise ValueError("codes lead out of the texts")

    monkeypatch.setattr(DisjointPairsKFold, "check_state", check_state, raising=False)
    with pytest.raises(ValueError, match=r"cannot be restored .*codes lead out of the texts"):
        load_model(path)


def edit_schema(path, change):
    content = members_of(path)
    write_members(path, content | {"schema.json": change(content["schema.json"])})


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.film"
    save_model(LogisticRegression().fit(X, np.arange(60) % 2), path)
    write_members(path, members_of(path))
    return path


def add(path, name, data, **options):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data, **options)


def test_04_an_archive_that_would_fill_the_memory_is_refused_unread(saved, monkeypatch):
    add(saved, "big.bin", bytes(2**20))
    monkeypatch.setattr("film.unpacking.LEAST_LIMIT", 2**19)
    monkeypatch.setattr("film.unpacking.MOST_TIMES", 10)
    monkeypatch.setattr(zipfile.ZipFile, "read", None)
    with pytest.raises(ValueError, match=r"would unpack to 1,05\d,\d{3}; the limit of 524,288"):
        load_model(saved)
    monkeypatch.undo()
    assert load_model(saved, max_size=2**21).coef_.shape == (1, 3)
    with pytest.raises(ValueError, match=r"limit of 2,000.*give load_model a larger max_size"):
        load_model(saved, max_size=2000)
    with pytest.raises(ValueError, match=r"max_size=0"):
        load_model(saved, max_size=0)


def test_04_the_limit_is_as_documented(saved):
    from film.unpacking import LEAST_LIMIT

    # Six members of 48 MiB each, more than the 256 MiB that a small file may unpack to.
    for number in range(6):
        add(saved, f"{number}.bin", bytes(48 * 2**20))
    size = saved.stat().st_size
    assert 100 * size < LEAST_LIMIT == 2**28
    with pytest.raises(ValueError, match=r"the limit of 268,435,456"):
        load_model(saved)


def test_04_a_member_that_hides_its_size_is_refused(saved):
    """Readers of zip archives unpack a whole member before they cut it to its declared size."""
    real = bytes(30 * 2**20)
    add(saved, "lie.bin", real)
    data = bytearray(saved.read_bytes())
    told = struct.pack("<III", zlib.crc32(bytes(10)), len(zlib.compress(real)) - 6, 10)
    for signature, at in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):
        place = data.rfind(signature, 0, data.rfind(b"lie.bin" if at == 16 else b"PK\x01\x02"))
        if at == 14:
            place = data.rfind(signature, 0, data.find(b"lie.bin"))
        packed = data[place + at + 4 : place + at + 8]
        data[place + at : place + at + 12] = told[:4] + packed + told[8:]
    saved.write_bytes(data)
    with zipfile.ZipFile(saved) as archive:
        assert archive.read("lie.bin") == bytes(10)
    with pytest.raises(ValueError, match=r"'lie.bin' is not of the 10 bytes it declares"):
        load_model(saved)


def test_04_an_array_that_declares_more_than_is_there_is_refused(saved):
    def grown(data):
        head = np.load(io.BytesIO(data))
        buffer = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            buffer, {"descr": head.dtype.str, "fortran_order": False, "shape": (10**13,)}
        )
        return buffer.getvalue() + head.tobytes()

    content = members_of(saved)
    with zipfile.ZipFile(saved, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, grown(data) if name.endswith(".npy") else data)
    with pytest.raises(ValueError, match="is not of the size that its header says"):
        load_model(saved)


@pytest.mark.parametrize(
    "name", ["../escaped.npy", "/etc/escaped.npy", "a/b.npy", "model.pkl", "C:x"]
)
def test_04_archives_that_climb_out_are_refused(saved, name):
    add(saved, name, b"x")
    with pytest.raises(ValueError, match=r"which does not belong to a model"):
        load_model(saved)


def test_04_sparse_matrices_are_measured_inside(tmp_path):
    path = tmp_path / "model.film"
    model = LogisticRegression().fit(X, np.arange(60) % 2).sparsify()
    save_model(model, path)
    assert load_model(path).coef_.shape == (1, 3)
    content = members_of(path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as inner:
        inner.writestr("data.npy", bytes(300 * 2**20))
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, buffer.getvalue() if name.endswith(".npz") else data)
    with pytest.raises(ValueError, match=r"would unpack to 31\d,\d{3},\d{3}"):
        load_model(path)


def test_04_weights_that_are_not_numbers_are_an_error(saved, tmp_path):
    model = load_model(saved)
    model.coef_[0, 1] = np.nan
    path = tmp_path / "nan.film"
    with pytest.raises(ValueError, match=r"coef_ of LogisticRegression holds 1 of 3 numbers that"):
        save_model(model, path)
    assert not path.exists()

    def broken(data):
        array = np.load(io.BytesIO(data))
        buffer = io.BytesIO()
        np.save(buffer, np.full_like(array, np.nan) if array.dtype.kind == "f" else array)
        return buffer.getvalue()

    content = members_of(saved)
    with zipfile.ZipFile(saved, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, broken(data) if name.endswith(".npy") else data)
    with pytest.raises(ValueError, match=r"coef_ of LogisticRegression holds 3 of 3 numbers that"):
        load_model(saved)


def test_18_metadata_goes_with_a_model(tmp_path):
    path = tmp_path / "model.film"
    told = {
        "files": ["train.csv"],
        "rows": 80,
        "share": 0.4,
        "figures": {"log loss": 0.3, "n": None},
    }
    save_model(FILM(d=7), path, metadata=told)
    found = read_metadata(path)
    assert found["class"] == "FILM" and found["metadata"] == told
    assert found["versions"]["python"] == sys.version.split()[0]
    assert {"film-metric", "scikit-learn", "numpy"} < found["versions"].keys()
    age = datetime.now(UTC) - datetime.fromisoformat(found["date"])
    assert 0 <= age.total_seconds() < 600
    assert load_model(path).d == 7


def test_18_metadata_that_a_file_does_not_record_is_unknown(saved):
    content = members_of(saved)
    header = json.loads(content["film-metric.json"])
    del header["date"], header["metadata"]
    write_members(saved, content | {"film-metric.json": json.dumps(header).encode()})
    found = read_metadata(saved)
    assert found["class"] == "LogisticRegression"
    assert found["date"] is None and found["metadata"] == {}
    assert found["versions"]["scikit-learn"]


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ("trained", TypeError, "metadata='trained' must be a dict"),
        ({"share": float("nan")}, ValueError, "metadata cannot be written as JSON"),
        ({"rows": np.arange(2)}, ValueError, "metadata cannot be written as JSON"),
    ],
)
def test_18_metadata_that_json_cannot_hold_is_an_error(tmp_path, metadata, error, message):
    path = tmp_path / "model.film"
    with pytest.raises(error, match=message):
        save_model(FILM(), path, metadata=metadata)
    assert not path.exists()


def test_18_metadata_is_read_from_sound_files_alone(tmp_path):
    path = tmp_path / "notes.film"
    with pytest.raises(FileNotFoundError, match="no file"):
        read_metadata(path)
    path.write_text("notes", encoding="utf-8")
    with pytest.raises(ValueError, match="is not a model file"):
        read_metadata(path)
    with pytest.raises(FileNotFoundError, match="it is not a saved regressor"):
        read_metadata(tmp_path)


def test_17_a_member_whose_packed_data_goes_on_after_its_end_is_refused_and_does_not_hang(tmp_path):
    # A deflated stream that ends before the compressed size that the directory declares.
    path = tmp_path / "model.film"
    save_model(FILM(d=2), path)
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = packer.compress(bytes(300_000)) + packer.flush() + b"left over" * 9
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", packed)
    content = bytearray(buffer.getvalue())
    # Call the stored member deflated, in its own header and in the directory.
    directory = content.index(b"PK\x01\x02")
    content[8:10] = content[directory + 10 : directory + 12] = struct.pack("<H", 8)
    size = struct.pack("<I", 1_000_000)
    content[22:26] = content[directory + 24 : directory + 28] = size
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not of the 1000000 bytes it declares"):
        load_model(path)

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from estimators import FILM, AnyEncoder, SentenceEncoder, StaticEncoder, load_model, save_model
from estimators.encoders import export_sentence_transformers

pytest.importorskip("tokenizers")
load_file = pytest.importorskip("safetensors.numpy").load_file
save_file = pytest.importorskip("safetensors.numpy").save_file

from tests.estimators.encoders.static_models import WIDTH, WORDS, make_static_model  # noqa: E402

LAYOUTS = ("model2vec", "weighted", "sentence-transformers", "bare")
TEXTS = ["The cat sat", "a dog sat on the mat the mat", "", "old zebra", "zebra", "how old"]


@pytest.fixture(params=LAYOUTS)
def folder(request, tmp_path):
    return make_static_model(tmp_path / "model", request.param)


@pytest.fixture
def plain(tmp_path):
    return make_static_model(tmp_path / "model")


def one_by_one(folder):
    """The mean of weighted token vectors of each text, by loops over words."""
    [path] = folder.rglob("model.safetensors")
    tensors = load_file(path)
    table = tensors.get("embeddings", tensors.get("embedding.weight"))
    rows = tensors.get("mapping", range(len(WORDS)))
    weights = tensors.get("weights", np.ones(len(WORDS)))
    found = np.zeros((len(TEXTS), WIDTH))
    for number, text in enumerate(TEXTS):
        known = [WORDS.index(word) for word in text.lower().split() if word in WORDS]
        if known:
            mean = np.mean([weights[token] * table[rows[token]] for token in known], axis=0)
            found[number] = mean / np.linalg.norm(mean)
    return found


def test_vectors_are_the_means_of_those_of_the_words(folder):
    for encoder in (StaticEncoder(folder), StaticEncoder(str(folder)), AnyEncoder(folder)):
        found = encoder.fit_transform(TEXTS)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, one_by_one(folder), rtol=1e-5, atol=1e-6)
    assert isinstance(encoder.encoder_, StaticEncoder)


def test_vectors_are_those_of_model2vec(folder):
    model2vec = pytest.importorskip("model2vec", reason="needs the extra bridges")
    if not (folder / "config.json").exists():
        pytest.skip("model2vec reads its own layout")
    given = model2vec.StaticModel.from_pretrained(folder)
    texts = [*TEXTS, "the old cat " * 300]
    found = StaticEncoder(folder).fit_transform(texts)
    np.testing.assert_allclose(found, given.encode(texts), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(AnyEncoder(given).fit_transform(texts), found, rtol=1e-4, atol=1e-5)


def test_vectors_are_those_of_sentence_transformers(tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = make_static_model(tmp_path / "model", "sentence-transformers")
    given = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    known = ["The cat sat", "a dog sat on the mat the mat"]  # it averages unknown tokens too
    np.testing.assert_allclose(
        StaticEncoder(folder).fit_transform(known),
        AnyEncoder(given).fit_transform(known),
        rtol=1e-5,
        atol=1e-6,
    )


def test_tokens_after_the_declared_number_are_not_read(tmp_path):
    folder = make_static_model(tmp_path / "model", max_length=2)
    found = StaticEncoder(folder).fit_transform(["the cat", "the cat sat on a mat"])
    np.testing.assert_array_equal(found[0], found[1])


def test_half_precision_and_integers_are_read(plain):
    tensors = load_file(plain / "model.safetensors")
    expected = StaticEncoder(plain).fit_transform(TEXTS)
    for dtype, scale, error in ((np.float16, 1, 1e-3), (np.int8, 50, 0.05)):
        table = np.round(tensors["embeddings"] * scale, 0 if scale > 1 else 9).clip(-127, 127)
        save_file({"embeddings": table.astype(dtype)}, plain / "model.safetensors")
        np.testing.assert_allclose(StaticEncoder(plain).fit_transform(TEXTS), expected, atol=error)


def test_it_needs_no_torch(plain):
    program = (
        "import sys; from estimators import AnyEncoder;"
        f"print(AnyEncoder({str(plain)!r}).fit_transform(['the cat']).shape,"
        "[name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == f"(1, {WIDTH}) []", done.stderr


def test_it_is_saved_as_a_reference_or_with_its_files(folder, tmp_path):
    fitted = make_pipeline(AnyEncoder(folder), FILM(2, random_state=0))
    fitted.fit(TEXTS[:2] * 2, [0, 1, 0, 1])
    expected = fitted.transform(TEXTS)
    save_model(fitted, tmp_path / "model.film")
    np.testing.assert_array_equal(load_model(tmp_path / "model.film").transform(TEXTS), expected)
    save_model(fitted, tmp_path / "whole", self_contained=True)
    (path,) = folder.rglob("model.safetensors")
    tensors = load_file(path)
    save_file({name: value[::-1].copy() for name, value in tensors.items()}, path)
    moved = load_model(tmp_path / "whole", device="cpu")
    np.testing.assert_array_equal(moved.transform(TEXTS), expected)
    with pytest.raises(ValueError, match=r"the files of model=.* have changed since fitting"):
        load_model(tmp_path / "model.film").transform(TEXTS)


def edit(folder, **tensors):
    path = folder / "model.safetensors"
    save_file({**load_file(path), **tensors}, path)


def test_damage_is_named(plain):
    for change, text in (
        ({"mapping": np.arange(3)}, "does not fit the 13 tokens of tokenizer.json; use the model"),
        ({"mapping": np.full(13, 13)}, r"holds .*'mapping': \(13,\).*, which does not fit the 13"),
        ({"weights": np.ones(4, dtype=np.float32)}, "does not fit the 13 tokens"),
        ({"embeddings": np.full((13, 2), np.inf)}, "holds numbers that are NaN or infinite; fetch"),
        ({"embeddings": np.ones(13)}, "must hold one table of token vectors, but holds {'embeddin"),
    ):
        before = (plain / "model.safetensors").read_bytes()
        edit(plain, **change)
        with pytest.raises(ValueError, match=text):
            StaticEncoder(plain).fit(["a"])
        (plain / "model.safetensors").write_bytes(before)
    for name in ("model.safetensors", "tokenizer.json"):
        before = (plain / name).read_bytes()
        (plain / name).write_bytes(before[: len(before) // 2])
        with pytest.raises(ValueError, match=r"cannot be read \(.*fetch or save it again"):
            StaticEncoder(plain).fit(["a"])
        (plain / name).write_bytes(before)


def test_other_folders_are_no_static_models(plain, tiny_model, tmp_path):
    with pytest.raises(FileNotFoundError, match="has no static token vectors; give a folder with"):
        StaticEncoder(tiny_model).fit(["a"])
    assert isinstance(AnyEncoder(tiny_model).fit(["a"]).encoder_, SentenceEncoder)
    further = {"type": "sentence_transformers.models.Dense", "path": "1_Dense"}
    layers = [*json.loads((plain / "modules.json").read_text()), further]
    (plain / "modules.json").write_text(json.dumps(layers))
    with pytest.raises(FileNotFoundError, match="has no static token vectors"):
        StaticEncoder(plain).fit(["a"])


def test_it_is_no_transformers_model_to_export(plain, tmp_path):
    with pytest.raises(TypeError, match="encoder is StaticEncoder, which has no transformers"):
        export_sentence_transformers(StaticEncoder(plain).fit(["a"]), tmp_path / "new")

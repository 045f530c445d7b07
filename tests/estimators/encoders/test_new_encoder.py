"""make_encoder: an ordinary random model, whose vocabulary and vectors come from what is given."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from estimators import SentenceEncoder, SurrogateRegressor, make_encoder

torch = pytest.importorskip("torch", reason="needs the extra neural")
transformers = pytest.importorskip("transformers", reason="needs the extra neural")

ROOT = Path(__file__).parents[3]
TEXTS = [
    "The cat sat on the mat.",
    "A café is where cats sit!",
    "the dog and the cats running, run",
] * 3
SMALL = {"vocabulary_size": 60, "width": 8, "layers": 2, "heads": 2, "max_length": 16}


def arrays(folder) -> dict:
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def test_the_folder_is_an_ordinary_model_of_the_size_asked_for(tmp_path):
    folder = make_encoder(TEXTS, tmp_path / "new", random_state=0, **SMALL)
    model = transformers.AutoModel.from_pretrained(folder)
    assert (model.config.hidden_size, model.config.num_hidden_layers) == (8, 2)
    assert (model.config.num_attention_heads, model.config.max_position_embeddings) == (2, 16)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer.model_max_length == 16 and len(tokenizer) == model.config.vocab_size <= 60
    # transformers 4 also writes the special tokens into a file of their own.
    also = {"special_tokens_map.json", "vocab.txt"}
    assert {path.name for path in folder.iterdir()} - also == {
        "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip
    vectors = SentenceEncoder(folder, max_length=16, device="cpu").fit_transform(TEXTS)
    assert vectors.shape == (9, 8) and np.isfinite(vectors).all()


def test_every_piece_comes_from_the_texts(tmp_path):
    folder = make_encoder(TEXTS, tmp_path / "new", **SMALL)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    special = set(tokenizer.all_special_tokens)
    text = " ".join(TEXTS).lower().replace("é", "e")
    pieces = [piece.removeprefix("##") for piece in tokenizer.get_vocab() if piece not in special]
    assert all(piece in text for piece in pieces) and "cat" in pieces and "zebra" not in pieces
    # Words of the texts are read whole or in pieces, never as unknown.
    ids = tokenizer(TEXTS, add_special_tokens=False)["input_ids"]
    assert tokenizer.unk_token_id not in {token for row in ids for token in row}
    assert tokenizer.tokenize("zq")[-1] == tokenizer.unk_token
    pair = tokenizer("the cat", "a dog")
    assert pair["token_type_ids"] == [0] * 4 + [1] * (len(pair["input_ids"]) - 4)


def test_the_same_seed_makes_the_same_files_and_leaves_the_random_state_alone(tmp_path):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    folders = [
        make_encoder(TEXTS, tmp_path / str(n), random_state=seed, **SMALL)
        for n, seed in enumerate((0, 0, 1))
    ]
    assert torch.equal(torch.get_rng_state(), before)
    one, two, other = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders
    )
    assert one == two
    assert {name for name in one if one[name] != other[name]} == {"model.safetensors"}


@pytest.mark.slow
def test_the_vocabulary_does_not_depend_on_the_process(tmp_path):
    # Python and the trainer hash anew in every process.
    program = (
        "import sys; from estimators import make_encoder;"
        "from tests.estimators.encoders.test_new_encoder import SMALL, TEXTS;"
        "make_encoder(TEXTS, sys.argv[1], **SMALL)"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "there"], check=True, cwd=ROOT)
    make_encoder(TEXTS, tmp_path / "here", **SMALL)
    here, there = ((tmp_path / name / "vocab.txt").read_bytes() for name in ("here", "there"))
    assert here == there


def test_word_embeddings_start_from_given_vectors(tmp_path):
    rng = np.random.default_rng(0)
    words = {word: 7 * rng.normal(size=5) for word in ("cat", "the", "zebra")}
    folder = make_encoder(TEXTS, tmp_path / "new", vectors=words, random_state=0, **SMALL)
    vocabulary = transformers.AutoTokenizer.from_pretrained(folder).get_vocab()
    name = "embeddings.{}_embeddings.weight"
    table = arrays(folder)[name.format("word")]
    known = [vocabulary[word] for word in ("cat", "the")]
    given = np.stack([words[word] for word in ("cat", "the")])
    scale = 0.02 / np.sqrt(np.mean(given**2))
    np.testing.assert_allclose(table[known, :5], scale * given, rtol=1e-5)
    assert not table[known, 5:].any()
    assert not table[np.setdiff1d(np.arange(len(table)), known)].any()
    assert not any(arrays(folder)[name.format(kind)].any() for kind in ("position", "token_type"))


def test_a_text_starts_near_the_mean_of_its_words_vectors(tmp_path):
    rng = np.random.default_rng(0)
    words = {word: rng.normal(size=8) for word in ("cat", "the")}
    words["cat"] *= 3
    folder = make_encoder(TEXTS, tmp_path / "new", vectors=words, random_state=0, **SMALL)
    found = SentenceEncoder(folder, max_length=16, device="cpu").fit_transform(["the cat"])[0]
    mean = words["the"] + words["cat"]
    mean -= mean.mean()
    # The layer's random part is some 0.02 of what passes by it.
    assert found @ mean / np.linalg.norm(found) / np.linalg.norm(mean) > 0.98


def test_a_surrogate_learns_from_scratch(tmp_path):
    folder = make_encoder(TEXTS, tmp_path / "new", random_state=0, **SMALL)
    pairs = [("the cat", "cats sat"), ("the cat", "a dog running"), ("a dog", "the dog"),
             ("a café", "run")]  # fmt: skip
    y = [0.9, 0.0, 0.8, 0.1]
    model = SurrogateRegressor(
        folder, max_length=16, train_max_length=16, epochs=60, learning_rate=1e-2,
        random_state=0, device="cpu",
    ).fit(pairs, y)  # fmt: skip
    assert model.loss_curve_[-1] < 0.2 * model.loss_curve_[0]
    assert model.score(pairs, y) > 0.75


@pytest.mark.parametrize(
    ("texts", "parameters", "error", "message"),
    [
        ([], {}, ValueError, "texts is empty"),
        (["  ", "\t"], {}, ValueError, "texts have no word"),
        (["a", None], {}, TypeError, r"texts\[1\] = None"),
        (TEXTS, {"width": 9}, ValueError, "width=9 must be a multiple of heads=2"),
        (TEXTS, {"vocabulary_size": 3}, ValueError, "vocabulary_size=3 must be 10 or more"),
        (TEXTS, {"layers": 1.5}, TypeError, "layers=1.5"),
        (TEXTS, {"max_length": 2}, ValueError, "max_length=2"),
        (TEXTS, {"random_state": "x"}, ValueError, "random_state='x'"),
        (TEXTS, {"vectors": [1]}, TypeError, "vectors must be a mapping"),
        (TEXTS, {"vectors": {"cat": np.ones(9)}}, ValueError, r"vectors\['cat'\] has shape \(9,\)"),
        (TEXTS, {"vectors": {"cat": [np.nan]}}, ValueError, r"vectors\['cat'\]"),
        (TEXTS, {"vectors": {"a": [1.0], "cat": [1.0, 2.0]}}, ValueError, r"vectors\['cat'\]"),
    ],
)
def test_bad_arguments_are_named_and_nothing_is_written(
    tmp_path, texts, parameters, error, message
):
    with pytest.raises(error, match=message):
        make_encoder(texts, tmp_path / "new", **SMALL | parameters)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_there_is_left_alone(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({}), encoding="utf-8")
    with pytest.raises(FileExistsError, match="already there"):
        make_encoder(TEXTS, tmp_path, **SMALL)

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from film.contexts import PAD, IdTable, encode_texts, train_vocabulary, vocabulary_size
from film.datasets import make_documents

TEXTS = [text for document in make_documents(40, random_state=0) for text in document.split(". ")]


@pytest.fixture(scope="module")
def learned():
    return train_vocabulary(TEXTS, 700)


def test_a_vocabulary_is_made_of_the_texts_alone(learned):
    assert vocabulary_size(learned) == 700
    pieces = json.loads(learned)["model"]["vocab"]
    assert sorted(pieces.values()) == list(range(700))
    assert [pieces[name] for name in ("[PAD]", "[BEGIN]", "[END]", "[SEPARATOR]")] == [0, 1, 2, 3]
    seen = set(" ".join(TEXTS).lower().split())
    longer = [piece for piece, k in pieces.items() if k >= 260]
    for piece in longer:
        assert any(piece.removeprefix("Ġ") in word for word in seen)
    assert vocabulary_size(train_vocabulary(["ab ab"], 10_000)) < 300


def test_the_same_texts_give_the_same_vocabulary_in_any_process(learned):
    assert train_vocabulary(iter(TEXTS), 700) == learned
    program = (
        "from tests.film.contexts.test_vocabulary import TEXTS;"
        "from film.contexts import train_vocabulary;"
        "import sys; sys.stdout.write(train_vocabulary(TEXTS, 700))"
    )
    environment = {**os.environ, "RAYON_NUM_THREADS": "4", "PYTHONHASHSEED": "2"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    assert done.stdout.decode() == learned


def test_encoding_is_that_of_the_tokenizer_text_by_text(learned, monkeypatch):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_str(learned)
    texts = [" ".join(text.split()) for text in TEXTS]
    monkeypatch.setattr("film.contexts.vocabulary._BLOCK", 7)
    table = encode_texts(learned, iter(["[PAD] [END]", *texts]))
    # The name of a special id is a text like others.
    assert table.values[: table.starts[1]].min() > 3
    table = IdTable(table.values[table.starts[1] :], table.starts[1:] - table.starts[1])
    for k, encoding in enumerate(tokenizer.encode_batch(texts)):
        assert encoding.ids == table.values[table.starts[k] : table.starts[k + 1]].tolist()


def test_long_texts_are_cut_and_empty_ones_are_empty(learned):
    table = encode_texts(learned, ["word " * 50, "", " \n", "a"], 5)
    assert table.lengths.tolist() == [5, 0, 0, 1]
    assert table.values.dtype == np.int32 and table.starts.dtype == np.int64
    assert len(encode_texts(learned, [])) == 0


def test_padded_rows_are_the_rows_and_padding(learned):
    table = encode_texts(learned, ["one two three", "", "four"])
    ids, lengths = table.padded([2, 0, 1, 2])
    assert ids.dtype == lengths.dtype == np.int64
    assert lengths.tolist() == [table.lengths[k] for k in (2, 0, 1, 2)]
    for row, k, length in zip(ids, (2, 0, 1, 2), lengths, strict=True):
        np.testing.assert_array_equal(row[:length], table.values[table.starts[k] :][:length])
        assert (row[length:] == PAD).all()
    assert table.padded([])[0].shape == (0, 0)
    assert table.padded([1])[0].shape == (1, 0)
    for wrong in ([-1], [3], [0, 99]):
        with pytest.raises(IndexError, match="rows must be from 0 to 2"):
            table.padded(wrong)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda v: train_vocabulary(["a"], 259), "size must be at least 260"),
        (lambda v: train_vocabulary([]), "at least one character"),
        (lambda v: train_vocabulary(["", " \n"]), "at least one character"),
        (lambda v: encode_texts("{}", ["a"]), "must be the JSON of a tokenizer"),
    ],
)
def test_wrong_arguments_are_named(learned, call, named):
    with pytest.raises(ValueError, match=named):
        call(learned)

"""Vectors that sentence-transformers gives of an exported encoder, beside ours."""

import numpy as np
import pytest

from estimators import RCMDRegressor, SentenceEncoder, TokenEncoder
from estimators.encoders import export_sentence_transformers
from tests.estimators.tiny_model import PAIRS, SCORES

pytestmark = pytest.mark.filterwarnings("ignore:.*tokens that the model does not know")
TEXTS = [text for pair in PAIRS for text in pair] + ["run ! ? ."]
LIMIT = {"max_length": 16}


def read_there(folder):
    there = pytest.importorskip("sentence_transformers")
    model = there.SentenceTransformer(str(folder), device="cpu")
    return model.encode(TEXTS, convert_to_numpy=True, show_progress_bar=False)


@pytest.mark.parametrize("params", [{}, {"pooling": "cls"}, {"pooling": "max"}, {"whiten": 3}])
def test_the_vectors_there_are_ours(tiny_model, tmp_path, params):
    encoder = SentenceEncoder(tiny_model, **LIMIT, **params).fit(TEXTS)
    export_sentence_transformers(encoder, tmp_path / "out")
    ours = encoder.transform(TEXTS)
    # float32 through two layers of width 32, and through whitening's scales
    tolerance = 1e-4 * float(np.abs(ours).max())
    assert read_there(tmp_path / "out") == pytest.approx(ours, abs=tolerance)


def test_a_trained_regressor_goes_there_with_its_learned_layer(tiny_model, tmp_path):
    model = RCMDRegressor(tiny_model, **LIMIT, epochs=2, batch_size=4, learning_rate=1e-2)
    model.fit(PAIRS, SCORES)
    assert model.encoder_.loaded().head is not None
    export_sentence_transformers(model, tmp_path / "out")
    tokens = model.encoder_.transform(TEXTS)
    means = np.array([block.mean(axis=0) for block in np.split(tokens.values, tokens.starts[1:-1])])
    found = read_there(tmp_path / "out")
    assert found == pytest.approx(means, abs=1e-4 * float(np.abs(means).max()))
    untrained = SentenceEncoder(tiny_model, **LIMIT).fit(TEXTS).transform(TEXTS)
    assert np.abs(found - untrained).max() > 1e-3


def test_long_texts_are_cut_there_too(tiny_model, tmp_path):
    encoder = SentenceEncoder(tiny_model, max_length=8).fit(TEXTS)
    export_sentence_transformers(encoder, tmp_path / "out")
    with pytest.warns(UserWarning, match="max_length=8 cut 1 of 9 texts"):
        expected = encoder.transform(TEXTS)
    assert read_there(tmp_path / "out") == pytest.approx(expected, abs=1e-4)


def test_what_cannot_go_there_is_refused(tiny_model, tmp_path):
    with pytest.raises(TypeError, match="dict, which has no transformers model"):
        export_sentence_transformers({}, tmp_path / "out")
    encoder = TokenEncoder(tiny_model, **LIMIT)
    with pytest.raises(ValueError, match="not fitted"):
        export_sentence_transformers(encoder, tmp_path / "out")
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("kept")
    with pytest.raises(FileExistsError):
        export_sentence_transformers(encoder.fit(TEXTS), taken)
    assert (taken / "mine.txt").read_text() == "kept"
    assert not (tmp_path / "out").exists()


def test_a_maximum_after_a_learned_layer_is_refused(tiny_model, tmp_path):
    model = RCMDRegressor(tiny_model, **LIMIT, epochs=1, batch_size=4).fit(PAIRS, SCORES)
    model.save(tmp_path / "model")
    encoder = SentenceEncoder(tmp_path / "model", pooling="max", **LIMIT).fit(TEXTS)
    with pytest.raises(ValueError, match="pooling='max'"):
        export_sentence_transformers(encoder, tmp_path / "out")

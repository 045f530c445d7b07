"""Vectors that sentence-transformers gives of an exported encoder, beside ours."""

import json
from typing import Any

import numpy as np
import pytest

from estimators import CrossEncoderRegressor, RCMDRegressor, SentenceEncoder, TokenEncoder
from estimators.encoders import export_sentence_transformers
from tests.estimators.tiny_model import PAIRS, SCORES

pytestmark = pytest.mark.filterwarnings("ignore:.*tokens unknown to the model")
TEXTS = [text for pair in PAIRS for text in pair] + ["run ! ? ."]
LIMIT: dict[str, Any] = {"max_length": 16}


def read_there(folder):
    there = pytest.importorskip("sentence_transformers")
    model = there.SentenceTransformer(str(folder), device="cpu")
    return model.encode(TEXTS, convert_to_numpy=True, show_progress_bar=False)


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


def declare(folder, tmp_path, changes):
    """Copy a model's folder as an export of mean pooling, with keys of its JSON files changed."""
    copy = tmp_path / "declared"
    export_sentence_transformers(SentenceEncoder(folder, **LIMIT).fit(TEXTS), copy)
    for name, keys in changes.items():
        path = copy / name
        path.parent.mkdir(exist_ok=True)
        found = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(keys if isinstance(keys, list) else found | keys))
    return copy


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"pooling": "cls"},
        {"pooling": "max"},
        {"whiten": 3},
        {"whiten": 5, "pooling": "cls"},
    ],
    ids=str,
)
def test_an_export_reads_back_as_the_same_encoder(tiny_model, tmp_path, params):
    encoder = SentenceEncoder(tiny_model, **LIMIT | params).fit(TEXTS[:8])
    export_sentence_transformers(encoder, tmp_path / "out")
    again = SentenceEncoder(tmp_path / "out", max_length=encoder.max_length).fit(TEXTS[:8])
    assert again.pooling_ == encoder.pooling_
    expected = encoder.transform(TEXTS[:8])
    # float32 through whitening's scales.
    tolerance: dict[str, Any] = {"abs": 1e-5 * max(1.0, float(np.abs(expected).max()))}
    assert again.transform(TEXTS[:8]) == pytest.approx(expected, **tolerance)
    if not encoder.whiten:
        # What was learned does not hang on the folder: saved elsewhere, it is the same.
        again.move_to(tiny_model, again.digest_of(tiny_model))
        assert again.transform(TEXTS[:8]) == pytest.approx(expected, **tolerance)
    ours = encoder.transform(TEXTS)
    # float32 through two layers of width 32, and through whitening's scales
    assert read_there(tmp_path / "out") == pytest.approx(ours, abs=1e-4 * float(np.abs(ours).max()))


def test_the_export_of_a_trained_regressor_reads_back_with_its_learned_layer(tiny_model, tmp_path):
    model = RCMDRegressor(tiny_model, **LIMIT, epochs=2, batch_size=4, learning_rate=1e-2)
    model.fit(PAIRS, SCORES)
    export_sentence_transformers(model, tmp_path / "out")
    again = TokenEncoder(tmp_path / "out", **LIMIT).fit(TEXTS)
    tokens = model.encoder_.transform(TEXTS)
    assert again.transform(TEXTS).values == pytest.approx(tokens.values, abs=1e-5)
    means = np.array([block.mean(axis=0) for block in np.split(tokens.values, tokens.starts[1:-1])])
    found = read_there(tmp_path / "out")
    assert found == pytest.approx(means, abs=1e-4 * float(np.abs(means).max()))
    untrained = SentenceEncoder(tiny_model, **LIMIT).fit(TEXTS).transform(TEXTS)
    assert np.abs(found - untrained).max() > 1e-3
    # Exported once more, the layer goes along, whitened or not.
    for number, whiten in enumerate((False, 3)):
        encoder = SentenceEncoder(tmp_path / "out", whiten=whiten, **LIMIT).fit(TEXTS)
        export_sentence_transformers(encoder, tmp_path / str(number))
        ours = encoder.transform(TEXTS)
        tolerance = 1e-4 * float(np.abs(ours).max())
        assert read_there(tmp_path / str(number)) == pytest.approx(ours, abs=tolerance)


def test_another_dense_layer_is_another_model(tiny_model, tmp_path):
    digests = set()
    for whiten in (3, 4):
        encoder = SentenceEncoder(tiny_model, whiten=whiten, **LIMIT).fit(TEXTS)
        export_sentence_transformers(encoder, tmp_path / str(whiten))
        digests.add(encoder.digest_of(tmp_path / str(whiten)))
    assert len(digests) == 2
    weights = tmp_path / "3" / "2_Dense" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ValueError, match="damaged or truncated"):
        SentenceEncoder(tmp_path / "3", **LIMIT).fit(TEXTS)
    weights.unlink()
    with pytest.raises(FileNotFoundError, match="2_Dense"):
        SentenceEncoder(tmp_path / "3", **LIMIT).fit(TEXTS)


@pytest.mark.parametrize("asked", [None, "mean", "cls", "max"])
def test_a_declared_pooling_is_followed_unless_another_is_asked_for(tiny_model, tmp_path, asked):
    folder = declare(
        tiny_model,
        tmp_path,
        {
            "1_Pooling/config.json": {
                "pooling_mode_mean_tokens": False,
                "pooling_mode_cls_token": True,
            }
        },
    )
    encoder = SentenceEncoder(folder, pooling=asked, **LIMIT).fit(TEXTS)
    tokens = TokenEncoder(tiny_model, **LIMIT).fit_transform(TEXTS)
    by_hand = {"cls": lambda t: t[0], "mean": lambda t: t.mean(0), "max": lambda t: t.max(0)}
    blocks = np.split(tokens.values, tokens.starts[1:-1])
    expected = np.array([by_hand[asked or "cls"](block) for block in blocks])
    assert encoder.transform(TEXTS) == pytest.approx(expected, abs=1e-4)
    if asked is None:
        assert read_there(folder) == pytest.approx(expected, abs=1e-4)


LAYERS = ["Transformer", "Pooling", "Normalize"]


def layers(*kinds, package="sentence_transformers.models"):
    paths = {"Transformer": "", "Pooling": "1_Pooling"}
    return [
        {"name": kind, "type": f"{package}.{kind}", "path": paths.get(kind, f"2_{kind}")}
        for kind in kinds
    ]


NOT_SUPPORTED = {
    "Dense with the activation Tanh": {
        "modules.json": layers("Transformer", "Pooling", "Dense"),
        "2_Dense/config.json": {"in_features": 32, "out_features": 3},
    },
    "the folder '../2_Dense'": {
        "modules.json": [
            *layers("Transformer", "Pooling"),
            {"type": "sentence_transformers.models.Dense", "path": "../2_Dense"},
        ]
    },
    "WeightedLayerPooling": {"modules.json": layers("Transformer", "WeightedLayerPooling")},
    "custom_st": {"modules.json": layers("Transformer", package="custom_st")},
    "Normalize": {"modules.json": layers("Transformer", "Normalize", "Pooling")},
    "0_BERT": {"modules.json": [{"type": "sentence_transformers.x.Transformer", "path": "0_BERT"}]},
    "pooling weightedmean": {"1_Pooling/config.json": {"pooling_mode": "weightedmean"}},
    "pooling pooling_mode_mean_tokens|mean with cls": {
        "1_Pooling/config.json": {"pooling_mode": ["mean", "cls"]}
    },
    "pooling pooling_mode_lasttoken": {
        "1_Pooling/config.json": {
            "pooling_mode_mean_tokens": False,
            "pooling_mode_lasttoken": True,
        }
    },
    "default prompt 'q', 'query: '": {
        "config_sentence_transformers.json": {
            "prompts": {"q": "query: "},
            "default_prompt_name": "q",
        }
    },
    "do_lower_case": {
        "sentence_bert_config.json": {"do_lower_case": True},
        "tokenizer_config.json": {"do_lower_case": False},
    },
    "1_Pooling/config.json cannot be read": {"1_Pooling/config.json": []},
    "max_seq_length='8' is not a number": {"sentence_bert_config.json": {"max_seq_length": "8"}},
}


@pytest.mark.parametrize("what", NOT_SUPPORTED)
def test_what_is_not_supported_is_refused_by_all_that_read_a_folder(tiny_model, tmp_path, what):
    folder = declare(tiny_model, tmp_path, NOT_SUPPORTED[what])
    for reader in (
        SentenceEncoder(folder, **LIMIT),
        TokenEncoder(folder, **LIMIT),
    ):
        with pytest.raises(ValueError, match=what):
            reader.fit(TEXTS)
    for reader in (RCMDRegressor, CrossEncoderRegressor):
        with pytest.raises(ValueError, match=what):
            reader(folder, epochs=1, train_max_length=16, max_length=16).fit(PAIRS, SCORES)


def test_of_a_copy_without_modules_the_bare_transformer_is_read(tiny_model, tmp_path):
    folder = declare(tiny_model, tmp_path, NOT_SUPPORTED["Dense with the activation Tanh"])
    (folder / "modules.json").unlink()
    found = SentenceEncoder(folder, **LIMIT).fit_transform(TEXTS)
    assert (found == SentenceEncoder(tiny_model, **LIMIT).fit_transform(TEXTS)).all()


def test_a_scaling_to_length_one_changes_no_cosine_and_is_left_out(tiny_model, tmp_path):
    folder = declare(tiny_model, tmp_path, {"modules.json": layers(*LAYERS)})
    ours = SentenceEncoder(folder, **LIMIT).fit_transform(TEXTS)
    ours /= np.linalg.norm(ours, axis=1, keepdims=True)
    assert ours == pytest.approx(read_there(folder), abs=1e-5)


def test_a_declared_length_is_not_exceeded(tiny_model, tmp_path):
    folder = declare(tiny_model, tmp_path, {"sentence_bert_config.json": {"max_seq_length": 8}})
    with pytest.raises(ValueError, match=r"max_length=16 is more than the 8 .*max_seq_length"):
        SentenceEncoder(folder, **LIMIT).fit(TEXTS)
    with pytest.raises(ValueError, match="train_max_length=16 is more than the 8 tokens"):
        RCMDRegressor(folder, train_max_length=16, max_length=8, epochs=1).fit(PAIRS, SCORES)

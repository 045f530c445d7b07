from typing import Any

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from estimators import AnyEncoder
from estimators.encoders import any_encoder as resolve
from estimators.encoders import resolve_encoder


@pytest.fixture
def installed(monkeypatch):
    """Whether the packaged model counts as installed."""

    def choose(there):
        monkeypatch.setattr(resolve, "find_spec", lambda name: object() if there else None)

    return choose


@pytest.mark.parametrize("none", [None, "none"])
def test_none_is_no_encoder(none):
    assert resolve_encoder(none, 10) == (None, "none", "no encoder")


def test_auto_takes_the_packaged_model_where_it_is_fast_enough(installed):
    installed(True)
    for n_texts in (None, 0, 48_000):
        choice: Any = resolve_encoder("auto", n_texts)
        assert choice.encoder.encoder == choice.name == "all-MiniLM-L6-v2"
        assert choice.reason == "encoder all-MiniLM-L6-v2, because it is installed"
    choice = resolve_encoder("auto", 480_000)
    assert choice.encoder is None and choice.name == "none"
    assert choice.reason == (
        "no encoder, because 480,000 texts would take the packaged all-MiniLM-L6-v2 about 20 "
        "minutes on 2 cores, and auto takes at most 2; name all-MiniLM-L6-v2 to use it anyway"
    )


def test_auto_is_none_where_the_packaged_model_is_missing(installed):
    installed(False)
    choice = resolve_encoder("auto", 3)
    assert choice.encoder is None
    assert choice.reason.endswith("not installed (pip install 'film-metric[minilm]')")


@pytest.mark.parametrize("given", [TfidfVectorizer(), len, type("Model", (), {"encode": len})()])
def test_what_encodes_is_kept_unfitted(given):
    choice = resolve_encoder(given, 5)
    assert isinstance(choice.encoder, AnyEncoder) and choice.encoder.encoder is given
    assert choice.name in ("TfidfVectorizer", "len", "Model")
    assert choice.reason == f"encoder {choice.name}, as given"


def test_a_folder_is_named(tiny_model):
    choice: Any = resolve_encoder(tiny_model)
    assert choice.name == str(tiny_model)
    assert choice.encoder.fit_transform(["the cat"]).shape == (1, 32)


@pytest.mark.parametrize(
    ("encoder", "error", "text"),
    [
        (
            "/no/such/folder",
            FileNotFoundError,
            "^encoder='/no/such/folder': there is no such folder",
        ),
        ("", ValueError, "encoder='' is empty; give 'auto', 'none', a name or a folder"),
        (7, TypeError, "encoder=7 encodes no texts"),
        (TfidfVectorizer, TypeError, "encoder=TfidfVectorizer is a class; give an instance"),
    ],
)
def test_what_encodes_no_texts_is_named_before_any_work(encoder, error, text):
    pytest.importorskip("huggingface_hub")
    with pytest.raises(error, match=text):
        resolve_encoder(encoder)


def test_the_number_of_texts_is_checked():
    with pytest.raises(ValueError, match="n_texts=-1 must be 0 or more"):
        resolve_encoder("auto", -1)

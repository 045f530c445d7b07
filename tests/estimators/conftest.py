from pathlib import Path

import pytest

from tests.estimators.tiny_model import make_tiny_model
from tests.quick_fits import quick_fits as quick_fits


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random BERT; read it only, or copy it first."""
    pytest.importorskip("transformers", reason="needs the extra neural")
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def sober_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny model without dropout, whose gradients do not depend on chance."""
    pytest.importorskip("transformers", reason="needs the extra neural")
    folder = tmp_path_factory.mktemp("models") / "sober"
    return make_tiny_model(
        folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.1
    )

from pathlib import Path

import pytest

from tests.estimators.tiny_model import make_tiny_model


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random BERT; read it only, or copy it first."""
    pytest.importorskip("transformers", reason="needs the extra neural")
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")

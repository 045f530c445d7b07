import pytest

from tests.estimators import tiny_model as tiny


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """Folder of a random BERT that takes the 128 tokens of the benchmarks."""
    pytest.importorskip("transformers", reason="needs the extra neural")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny, "MAX_TOKENS", 128)
        return tiny.make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")

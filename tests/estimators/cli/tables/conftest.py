import pytest


@pytest.fixture
def small_limit(monkeypatch):
    """A million bytes where 256 MiB are the limit, so that bombs of these tests are small."""
    monkeypatch.setattr("film.unpacking.LEAST_LIMIT", 1_000_000)
    return 1_000_000


@pytest.fixture(autouse=True)
def loaded_once():
    """No model is read here, so none is trained."""

"""Smaller forests: the default ones take most of the time of a fit on few pairs."""

from contextlib import contextmanager

import pytest

from estimators.pairs.stack import final_model

USUAL = final_model.N_TREES, final_model.N_RECORD_TREES


@contextmanager
def forests_of(n_trees, n_record_trees):
    """Give the default final models so many trees."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(final_model, "N_TREES", n_trees)
        patch.setattr(final_model, "N_RECORD_TREES", n_record_trees)
        yield


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    """Fit smaller forests in all tests of a folder whose conftest imports this."""
    with forests_of(12, 12):
        yield

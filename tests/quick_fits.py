"""Quick fits: of few pairs, forests and the maps of FILM that have to agree take most time."""

from contextlib import contextmanager

import pytest

import film.metric.solver as solver
from estimators.pairs.stack import final_model

USUAL = final_model.N_TREES, final_model.N_RECORD_TREES, solver._AGREEING
QUICK = 12, 12, 2


@contextmanager
def fits_of(n_trees, n_record_trees, n_maps):
    """Give the default final models so many trees, and let so many polished maps agree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(final_model, "N_TREES", n_trees)
        patch.setattr(final_model, "N_RECORD_TREES", n_record_trees)
        patch.setattr(solver, "_AGREEING", n_maps)
        yield


@pytest.fixture(autouse=True, scope="module")
def quick_fits():
    """Fit quickly in all tests of a folder whose conftest imports this."""
    with fits_of(*QUICK):
        yield

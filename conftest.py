"""What holds for all tests."""

import pytest

from tests.quick_fits import QUICK, fits_of


@pytest.fixture(autouse=True)
def quick_examples(request):
    """Fit quickly in the examples of docstrings, as in the tests of estimators."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    with fits_of(*QUICK):
        yield

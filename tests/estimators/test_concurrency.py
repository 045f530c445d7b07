"""A fitted estimator is asked by many at once, and each gets what it would get alone.

The answers are compared to the bit: a thread asks for the rows of one batch by itself, so that the
same sums are made in the same order, unless somebody else's rows, or a cache half filled, come
between. Copies are asked that nobody has asked before, so that what is made at the first question
is made by several threads.
"""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed

from estimators import RecordPairs
from tests.estimators.test_laws import (
    LAWS,
    _folders_of_models,
    _save_static_model,
    assert_equal,
    fitted_once,
    laws,
    shown,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
__all__ = ["_folders_of_models"]
THREADS = 3


def batches(law):
    """Rows in another order for each thread."""
    new = law.given.new if isinstance(law.given.new, RecordPairs) else np.asarray(law.given.new)
    return [new[np.roll(np.arange(len(new)), turn)] for turn in range(THREADS)]


@laws()
def test_threads_get_what_each_would_get_alone(law):
    model = copy.deepcopy(fitted_once(law))
    alone = [shown(law, fitted_once(law), rows) for rows in batches(law)]
    start = threading.Barrier(THREADS)

    def ask(rows):
        start.wait(20)
        return [shown(law, model, rows) for _ in range(2)]

    with ThreadPoolExecutor(THREADS) as threads:
        for found, expected in zip(threads.map(ask, batches(law)), alone, strict=True):
            for each in found:
                assert_equal(each, expected)


def test_processes_get_what_each_would_get_alone():
    _save_static_model()
    asked = [law for law in LAWS.values() if law.kind in ("labelled", "corpus")]
    alone = [shown(law, fitted_once(law), batches(law)[0]) for law in asked]
    jobs = [delayed(shown)(law, fitted_once(law), batches(law)[0]) for law in asked]
    for found, expected in zip(Parallel(n_jobs=2)(jobs), alone, strict=True):
        assert_equal(found, expected)

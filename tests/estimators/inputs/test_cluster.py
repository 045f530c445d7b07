"""The same stages on two worker processes of Dask, each with one BLAS thread."""

import os
import signal
import time

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.feature_extraction.text import TfidfVectorizer

from estimators import FILM, fit_vectorizer, transform_blocks
from film.corpus import cut_rows, near_pairs, sum_blocks, write_blocks
from film.datasets import make_question_pairs
from film.metric import block_svd, triplets_from_pairs
from film.pairs import block_ranks

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")

QUESTIONS = make_question_pairs(150, random_state=0)
TEXTS = [text for pair in QUESTIONS.pairs for text in pair]
PAIRS = np.arange(len(TEXTS)).reshape(-1, 2)
TRIPLETS = triplets_from_pairs(PAIRS, QUESTIONS.y, len(TEXTS), n_random=3, random_state=0)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    import dask

    settings = {
        "distributed.nanny.pre-spawn-environ": dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), 1
        ),
        "distributed.worker.daemon": False,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=str(tmp_path_factory.mktemp("dask")),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def stages(folder):
    """Every stage from texts to ranks and near pairs."""
    texts = write_blocks(folder / "texts", cut_rows(TEXTS, 80))
    vectorizer = fit_vectorizer(TfidfVectorizer(dtype=np.float32), texts)
    X = transform_blocks(vectorizer, texts, folder / "x")
    right = block_svd(X, 20, random_state=0).right
    metric = FILM(d=5, rank=20, random_state=0).fit(X, TRIPLETS)
    Y = transform_blocks(metric, X, folder / "y")
    return right, metric.components_, block_ranks(Y, PAIRS), *near_pairs(Y, 3)


def test_two_workers_give_what_one_process_gives(client, tmp_path):
    alone = stages(tmp_path / "alone")
    with parallel_config("dask"):
        shared = stages(tmp_path / "shared")
    axes = np.abs(np.einsum("dr,dr->r", alone[0], shared[0]))
    np.testing.assert_allclose(axes, 1, atol=1e-5)
    np.testing.assert_allclose(shared[0], alone[0], atol=1e-5)
    np.testing.assert_allclose(shared[1], alone[1], atol=1e-5 * np.abs(alone[1]).max())
    for ours, theirs in zip(shared[2:4], alone[2:4], strict=True):
        assert np.array_equal(ours, theirs)
    np.testing.assert_allclose(shared[4], alone[4], atol=1e-6)


def killed_once(mark, texts, start):
    """Word counts of a block; the worker that first comes to the third block is killed."""
    from collections import Counter

    if start == 62:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
    return Counter(word for text in texts for word in text.split())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_worker_does_not_lose_the_job(client, tmp_path):
    from functools import partial

    texts = write_blocks(tmp_path / "texts", cut_rows(TEXTS, 31))
    mark = tmp_path / "killed"
    work = partial(killed_once, str(mark))
    with parallel_config("dask"):
        found = sum_blocks(work, texts)
    assert mark.exists()
    assert found == sum_blocks(work, texts)

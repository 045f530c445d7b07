"""The same seed and threads of BLAS give the same bits in every process; more threads, the same
ranks and nearly the same numbers.

Sets of texts are walked in an order that changes with ``PYTHONHASHSEED``, and memory is aligned in
another way in every process, so that only another process shows what depends on either.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = """
import json, warnings
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from estimators import (DuplicateFinder, FILM, MiniBatchFILM, PairwiseKNNClassifier,
                        WordDifferences, fast_duplicates)
from estimators.pairs.stack import final_model
from film.datasets import make_question_pairs
from film.pairs import neighbour_ranks

final_model.N_TREES = 12
warnings.simplefilter("ignore")
data = make_question_pairs(80, random_state=0)
texts = sorted({*data.pairs.flat})
groups = np.arange(len(texts)) % 12
X = TfidfVectorizer().fit_transform(texts)
eigen = FILM(d=30, rank=30, tol=1e-5, max_iter=500, random_state=0).fit(X, groups)
cayley = FILM(d=4, rank=20, solver="cayley", random_state=0).fit(X, groups)
numbers = {
    "eigen": (lambda seen: seen @ seen.T)(eigen.transform(X)[:60]),
    "objective of eigen": FILM(d=12, rank=20, random_state=0).fit(X, groups).objective_,
    "cayley": cayley.components_,
    "objective of cayley": cayley.objective_,
    "batches": MiniBatchFILM(d=4, rank=20, max_iter=3, random_state=0).fit(X, groups).components_,
    "stack": fast_duplicates(d=20, rank=30, cv=2).fit(data.pairs, data.y).predict_proba(data.pairs),
    "words": WordDifferences().fit_transform(data.pairs).toarray(),
}
space = make_pipeline(TfidfVectorizer(), FILM(d=30, rank=30, tol=1e-4, random_state=0))
found = DuplicateFinder().fit(texts).find(threshold=0.4)
pairs = np.random.default_rng(0).integers(0, len(texts), (300, 2))
counts = {
    "ranks": neighbour_ranks(np.random.default_rng(0).normal(size=(len(texts), 9)), pairs),
    "rule": PairwiseKNNClassifier(space, k=3, cv=2).fit(data.pairs, data.y).predict(data.pairs),
    "found": found.pairs,
}
print(json.dumps([{name: [float(n).hex() for n in np.ravel(value)] for name, value in part.items()}
                  for part in (numbers, counts)]))
"""
RUNS = (("1", "1"), ("2", "1"), ("3", "2"))
"""Seeds of hashes, and threads."""


@pytest.fixture(scope="module")
def runs():
    started = []
    for seed, threads in RUNS:
        settings = {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads}
        settings |= {"OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM],
                cwd=Path(__file__).parents[2],
                env=os.environ | settings,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    outputs = [process.communicate(timeout=300)[0] for process in started]
    assert not any(process.returncode for process in started)
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def test_another_process_gives_the_same_bits(runs):
    for first, second in zip(runs[0], runs[1], strict=True):
        assert first.keys() == second.keys()
        for name, value in first.items():
            assert value == second[name], name


def test_more_threads_give_the_same_counts_and_nearly_the_same_numbers(runs):
    (numbers, counts), (others, other_counts) = runs[0], runs[2]
    assert counts == other_counts
    # The descent of "cayley" branches on last digits, and may end in another map as good.
    for name, value in numbers.items():
        if name == "cayley":
            continue
        one, other = (np.array([float.fromhex(n) for n in part]) for part in (value, others[name]))
        # Maps are learned in float32, whose sums of a few hundred terms are good to 1e-5 of the
        # largest. With as many dimensions as coordinates there is one best map. With fewer, rounds
        # that the last digits part may end in another map: objectives agree to the 1e-2 at which
        # they stop. Stacks have ranks among their features: points as close as that may change
        # places, and a place is worth less than a hundredth.
        bound = 1e-2 if name in ("stack", "objective of eigen") else 1e-3
        np.testing.assert_allclose(one, other, rtol=0, atol=bound * np.abs(one).max(), err_msg=name)

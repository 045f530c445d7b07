"""TokenMatchingRegressor scores by the paper's matching over plain transformers vectors."""

from pathlib import Path

import numpy as np
import pytest

from estimators import TokenMatchingRegressor
from film.tokens.matching import MATCHING
from tests.estimators.tiny_model import MAX_TOKENS, WIDTH, plain_tokens

torch = pytest.importorskip("torch", reason="needs the extra neural")
transformers = pytest.importorskip("transformers", reason="needs the extra neural")

PAIRS = [
    ("How do I learn chess?", "what is the best way to learn chess"),
    ("the cat sat on the mat", "a dog sat on the mat."),
    ("a", "cat"),
    ("a", "the cat, running"),
    ("👩‍👩‍👧 running\u200d", "שלום a שלום"),
]
GIVEN = {"cat": 0.0, "##ning": 2.5, "the": 0.25, "[SEP]": 0.0}


def make(folder, **parameters) -> TokenMatchingRegressor:
    shape = {"max_length": MAX_TOKENS, "device": "cpu"}
    return TokenMatchingRegressor(folder, **shape | parameters)


def one_side(function, cosine, x1, w1, x2):
    total = 0.0
    for x, weight in zip(x1, w1, strict=True):
        products = [x @ y for y in x2]
        if cosine:
            products = [
                p / np.linalg.norm(x) / np.linalg.norm(y) for p, y in zip(products, x2, strict=True)
            ]
        best, *rest = sorted(products, reverse=True)
        second = rest[0] if rest else best
        score = {"significance": best, "uniqueness": best - second, "both": 2 * best - second}
        total += weight * score[function] / sum(w1)
    return total / 2


@pytest.mark.parametrize("weights", [None, GIVEN], ids=["alike", "given"])
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("cosine", [True, False])
@pytest.mark.parametrize("function", MATCHING)
def test_similarity_is_that_of_a_plain_loop(tiny_model: Path, function, cosine, special, weights):
    model = make(
        tiny_model, matching=function, cosine=cosine, special_tokens=special, weights=weights
    ).fit(PAIRS)
    expected = []
    for pair in PAIRS:
        sides = []
        for names, vectors, marks in plain_tokens(tiny_model, pair):
            kept = np.ones(len(marks), dtype=bool) if special else ~marks
            masses = np.array([(weights or {}).get(name, 1.0) for name in names])[kept]
            sides.append((vectors[kept], masses if masses.any() else np.ones_like(masses)))
        (x1, w1), (x2, w2) = sides
        expected.append(
            one_side(function, cosine, x1, w1, x2) + one_side(function, cosine, x2, w2, x1)
        )
    found = model.similarity(PAIRS)
    # Vectors of float32 are good to 1e-5 of their length, however a CPU sums. Cosines are of the
    # size of 1 and products of the size of WIDTH, the squared length that layer norms give; a
    # difference of two of them has their absolute error, not one of its own size.
    size = 1.0 if cosine else WIDTH
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * size)
    explained = model.explain(PAIRS)
    sums = [explanation.contributions.sum() for explanation in explained]
    np.testing.assert_allclose(sums, found, rtol=0, atol=1e-6 * size)
    assert {explanation.title for explanation in explained} == {"token matching"}


def test_runners_up_contribute_against(tiny_model):
    explained = make(tiny_model).fit(PAIRS).explain(PAIRS)
    assert all((explanation.contributions < 0).any() for explanation in explained)

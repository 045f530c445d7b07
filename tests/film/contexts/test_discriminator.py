"""The discriminator's products against a loop, and the weights of its loss."""

import numpy as np
import pytest

from film.contexts import Discriminator, fit_weights


def test_the_logit_is_one_product_of_vectors():
    left, centre, right = np.random.default_rng(0).normal(size=(3, 4, 6)).astype(np.float32)
    model = Discriminator(3.0, -2.0)
    found = model.contexts(left, right) @ model.centres(centre).T
    for i, j in np.ndindex(4, 4):
        expected = 3 * (left[i] + right[i]) @ centre[j] - 2
        assert found[i, j] == pytest.approx(expected, abs=1e-5)


def looped_weights(documents, texts, excluded):
    """By the definition, one row after the other."""
    B = len(documents)
    weights = np.zeros((B, B))
    rows = []
    for i in range(B):
        negatives = [j for j in range(B) if texts[j] != texts[i] and not excluded[i, j]]
        same = [j for j in negatives if documents[j] == documents[i]]
        others = [j for j in negatives if documents[j] != documents[i]]
        kinds = [kind for kind in (same, others) if kind]
        for kind in kinds:
            for j in kind:
                weights[i, j] = 1 / len(kinds) / len(kind)
        if kinds:
            weights[i, i] = 1
            rows.append(i)
    return weights / (2 * len(rows))


BATCHES = {
    "mixed": ([0, 0, 0, 1, 1, 2], [5, 6, 5, 7, 8, 6]),
    "one document": ([4, 4, 4], [1, 2, 3]),
    "documents of one triple": ([4, 5, 6], [1, 2, 3]),
    "a row without negatives": ([0, 0, 0], [1, 1, 2]),
}


@pytest.mark.parametrize("case", BATCHES)
@pytest.mark.parametrize("leaves_out", [False, True])
def test_weights_are_those_of_the_definition(case, leaves_out):
    documents, texts = BATCHES[case]
    excluded = (np.random.default_rng(3).random((len(texts),) * 2) < 0.3) & leaves_out
    found = fit_weights(documents, texts, excluded=excluded if leaves_out else None)
    np.testing.assert_allclose(found, looped_weights(documents, texts, excluded), rtol=1e-12)

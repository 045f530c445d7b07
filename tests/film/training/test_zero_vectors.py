"""Gradients where a cosine has none: finite for every finite token, zero where nothing changes."""

import itertools

import numpy as np
import pytest

from film.training.rowpairs import TRAINABLE

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.tokens import transport_plan  # noqa: E402
from film.training import allpairs as module  # noqa: E402
from film.training import allpairs_similarity, rowpairs_similarity, unit_rows  # noqa: E402
from tests.film.training.gradients import gradients  # noqa: E402

DTYPES = [torch.float32, torch.float64, torch.bfloat16]
SIMILARITIES = [allpairs_similarity, rowpairs_similarity]
GREATEST = {torch.float32: 3e38, torch.bfloat16: 3e38, torch.float64: 1e308}


def fuzzed(seed, dtype, texts, length, h=4):
    """Texts of random lengths with tokens that are zeros, cancel, are tiny or huge."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(texts, length, h, generator=g, dtype=torch.float64)
    mask = torch.rand(texts, length, generator=g) < 0.7
    mask[torch.arange(texts), torch.randint(length, (texts,), generator=g)] = True
    kinds = torch.randint(6, (texts, length), generator=g)
    x[kinds == 0] = 0
    x[kinds == 1] *= 1e-30
    x[kinds == 2] *= GREATEST[dtype] / 10
    x[torch.arange(texts) % 4 == 0] = 0
    cancel = torch.arange(texts) % 4 == 1
    x[cancel] = x[cancel, :1] * (-1.0) ** torch.arange(length)[:, None]
    x[~mask] = torch.nan
    return x.clamp(-GREATEST[dtype], GREATEST[dtype]).to(dtype), mask


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("method", TRAINABLE)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("short", [False, True])
def test_of_finite_tokens_all_gradients_are_finite(similarity, method, dtype, short, monkeypatch):
    if short and dtype == torch.bfloat16:
        # As on a GPU.
        monkeypatch.setattr(module, "_has_short_products", lambda _: True)
    for seed, (length1, length2) in enumerate(itertools.product((1, 2, 5), repeat=2)):
        x1, mask1 = fuzzed(seed, dtype, 8, length1)
        x2, mask2 = fuzzed(seed + 50, dtype, 8, length2)
        found, d1, d2 = gradients(similarity, x1, x2, mask1, mask2, method)
        assert found.isfinite().all() and (found.abs() <= 1 + 1e-5).all()
        for d, x, mask in ((d1, x1, mask1), (d2, x2, mask2)):
            assert d.isfinite().all() and not d[~mask].any()
            # Each row of zeros is a text of zeros: whatever its partners are, nothing moves.
            nothing = (x.nan_to_num() == 0).all(dim=2).all(dim=1)
            assert nothing.any() and not d[nothing].any()


@pytest.mark.parametrize("method", TRAINABLE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_similarities_are_the_definition_whatever_the_lengths(method, dtype):
    x1, mask1 = fuzzed(3, dtype, 8, 5)
    x2, mask2 = fuzzed(4, dtype, 8, 3)
    found = allpairs_similarity(x1, x2, mask1, mask2, method)
    torch.testing.assert_close(
        rowpairs_similarity(x1, x2, mask1, mask2, method), found.diagonal(), atol=1e-6, rtol=0
    )
    for b, c in itertools.product(range(8), repeat=2):
        sides = [x[mask].double().numpy() for x, mask in ((x1[b], mask1[b]), (x2[c], mask2[c]))]
        for x in sides:
            x[np.linalg.norm(x, axis=1) <= 1e-12] = 0
        expected = transport_plan(*sides, method).similarity
        assert float(found[b, c]) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("method", TRAINABLE)
def test_a_partner_of_zeros_gives_no_gradient(similarity, method):
    x1, zeros = torch.ones(1, 2, 3), torch.zeros(1, 4, 3)
    assert not any(part.any() for part in gradients(similarity, x1, zeros, method=method))


@pytest.mark.parametrize("scale", [1e-11, 1.0, 1e15, 1e30, 1e38])
def test_rows_of_any_length_become_units(scale):
    x = scale * torch.tensor([[0.6, -0.8, 0.0], [0.0, 0.0, 0.0], [0.2, 0.4, 0.4]])
    x.requires_grad_()
    found = unit_rows(x)
    expected = torch.tensor([[0.6, -0.8, 0.0], [0.0, 0.0, 0.0], [1 / 3, 2 / 3, 2 / 3]])
    torch.testing.assert_close(found, expected)
    found[:, 2].sum().backward()
    lengths = torch.tensor([1.0, 1.0, 0.6]) * scale
    slope = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [-2 / 9, -4 / 9, 5 / 9]])
    torch.testing.assert_close(x.grad * lengths[:, None], slope)

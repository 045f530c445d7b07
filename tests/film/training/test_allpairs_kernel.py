"""On a GPU, or on any machine with Triton by ``TRITON_INTERPRET=1 pytest tests/film``."""

import os

import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("triton", reason="no Triton")
CUDA = torch.cuda.is_available()
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not CUDA and not INTERPRETED:
    pytest.skip("needs a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

from film.training import allpairs_kernel as module  # noqa: E402
from film.training.allpairs import _function, allpairs_similarity, place_type  # noqa: E402
from tests.film.training.gradients import gradients  # noqa: E402

DEVICE = "cpu" if INTERPRETED else "cuda"
DTYPES = [
    torch.float16,
    pytest.param(
        torch.bfloat16,
        marks=pytest.mark.skipif(
            INTERPRETED, reason="Triton's interpreter multiplies the bits of bfloat16"
        ),
    ),
]
# Lengths that are and are not powers of 2; one, no and both sides longer than a block.
SIZES = [
    (3, 5, 4, 7, 10),
    (9, 16, 17, 16, 32),
    (1, 1, 1, 1, 1),
    (5, 33, 7, 20, 70),
    (2, 100, 3, 70, 16),
    (2, 150, 3, 20, 33),
    (3, 20, 2, 150, 33),
    (2, 130, 2, 260, 16),
]


@pytest.fixture(autouse=True)
def small_blocks(request, monkeypatch):
    """The interpreter is slow, so its blocks are small; those of a GPU are as they are."""
    if INTERPRETED:
        monkeypatch.setattr(module, "TOKENS", 64)


def sides(sizes, dtype, ragged):
    """Tokens, masks and masses of both sides; padding is of no use."""
    B, L1, C, L2, h = sizes
    g = torch.Generator().manual_seed(sum(sizes))
    found = []
    for texts, length in ((B, L1), (C, L2)):
        x = torch.randn(texts, length, h, generator=g).to(dtype)
        mask = torch.ones(texts, length, dtype=torch.bool)
        if ragged:
            mask = torch.rand(texts, length, generator=g) < 0.6
            mask[torch.arange(texts), torch.arange(texts) % length] = True
        x[~mask] = torch.nan
        mass = torch.rand(texts, length, generator=g) * mask
        found.append([part.to(DEVICE) for part in (x, mask, mass / mass.sum(1, keepdim=True))])
    (x1, mask1, mass1), (x2, mask2, mass2) = found
    return x1, x2, mask1, mask2, mass1, mass2


def fused(*arguments):
    return _function().apply(*arguments, 2**18, True)


def tiled(*arguments):
    return _function().apply(*arguments, 2**18, False)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ragged", [False, True])
def test_the_kernel_gives_what_torch_gives(sizes, dtype, ragged):
    arguments = sides(sizes, dtype, ragged)
    found, expected = gradients(fused, *arguments), gradients(tiled, *arguments)
    assert [part.dtype for part in found] == [torch.float32, dtype, dtype]
    torch.testing.assert_close(found[0], expected[0], atol=1e-6, rtol=0)
    # Short floats are rounded at the end, and the plan too on a GPU.
    relative = {torch.float16: 3e-3, torch.bfloat16: 2e-2}[dtype]
    for one, other in zip(found[1:], expected[1:], strict=True):
        size = float(other.abs().max())
        torch.testing.assert_close(one, other, atol=relative * size, rtol=0)
    for d, mask in zip(found[1:], arguments[2:4], strict=True):
        assert (d[~mask] == 0).all()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_places_are_those_of_the_maxima(sizes):
    x1, x2, mask1, mask2, mass1, mass2 = sides(sizes, torch.float16, ragged=True)
    kept = fused(x1.requires_grad_(), x2, mask1, mask2, mass1, mass2)
    best1, best2 = kept.grad_fn.saved_tensors[-2:]
    assert best1.shape == (sizes[0], sizes[1], sizes[2]) and best2.shape[:2] == best1.shape[::2]
    best1 = best1.transpose(1, 2)
    assert best1.dtype == place_type(sizes[3]) and best2.dtype == place_type(sizes[1])
    unit1, unit2 = (torch.nn.functional.normalize(x.detach().float(), dim=-1) for x in (x1, x2))
    S = torch.einsum("bih,cjh->bcij", unit1, unit2)
    S = S.masked_fill(~(mask1[:, None, :, None] & mask2[None, :, None]), -torch.inf)
    assert torch.equal(S.argmax(3)[mask1[:, None].expand_as(best1)], _real(best1, mask1[:, None]))
    assert torch.equal(S.argmax(2)[mask2[None].expand_as(best2)], _real(best2, mask2[None]))


def _real(best, mask):
    return best[mask.expand_as(best)].long()


def test_of_equal_cosines_the_first_counts():
    x1 = torch.ones(2, 3, 4, device=DEVICE, dtype=torch.float16)
    x2 = torch.ones(5, 150, 4, device=DEVICE, dtype=torch.float16)
    masks = [torch.ones(x.shape[:2], dtype=torch.bool, device=DEVICE) for x in (x1, x2)]
    similarity = fused(x1.requires_grad_(), x2, *masks, *(m.float() for m in masks))
    assert not any(best.any() for best in similarity.grad_fn.saved_tensors[-2:])


def test_padding_does_not_beat_a_negative_cosine():
    x1, x2, mask1, mask2, mass1, mass2 = sides(SIZES[3], torch.float16, ragged=True)
    x1, x2 = x1.abs() + 1, -x2.abs() - 1
    found = fused(x1, x2, mask1, mask2, mass1, mass2)
    assert (found < 0).all()
    expected = tiled(x1, x2, mask1, mask2, mass1, mass2)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_a_repeated_run_is_the_same_to_the_bit():
    arguments = sides((9, 20, 17, 33, 40), torch.float16, ragged=True)
    first = gradients(fused, *arguments)
    for _ in range(2):
        again = gradients(fused, *arguments)
        assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


@pytest.mark.skipif(not CUDA, reason="no GPU")
@pytest.mark.parametrize("method", ["rcmd", "rcmd1", "rcmd2", "rcmd+avg"])
def test_on_a_gpu_the_kernel_is_used_and_changes_nothing(method):
    x1, x2, mask1, mask2, _, _ = (
        part.to("cuda") for part in sides((64, 32, 128, 32, 384), torch.bfloat16, ragged=True)
    )
    assert (
        type(allpairs_similarity(x1.requires_grad_(), x2).grad_fn).__name__ == "TransportBackward"
    )
    results = [
        gradients(
            lambda a, b, used=used: allpairs_similarity(a, b, mask1, mask2, method, kernel=used),
            x1,
            x2,
        )
        for used in (True, False)
    ]
    (found, *gradients1), (expected, *gradients2) = results
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    # One of half a million maxima may be a near tie, which sums of other order decide otherwise.
    for one, other in zip(gradients1, gradients2, strict=True):
        assert (one.float() - other.float()).norm() < 2e-3 * other.float().norm()

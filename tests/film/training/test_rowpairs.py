import pytest

from film.tokens.transport import transport_plan

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.training.allpairs import allpairs_similarity  # noqa: E402
from film.training.rowpairs import TRAINABLE, rowpairs_similarity  # noqa: E402

KINDS = [pytest.param(kind, id=kind) for kind in TRAINABLE]


def batch(dtype=torch.float64, seed=0):
    """Texts of 1 to 4 and 1 to 3 tokens, some of them opposed; padding is huge."""
    generator = torch.Generator().manual_seed(seed)
    x1 = torch.randn(4, 4, 5, generator=generator, dtype=torch.float64)
    x2 = torch.randn(4, 3, 5, generator=generator, dtype=torch.float64)
    x2[3] = -x1[3, :3].abs()
    x1[3] = x1[3].abs()
    mask1 = torch.arange(4) < torch.tensor([4, 2, 1, 3])[:, None]
    mask2 = torch.arange(3) < torch.tensor([1, 3, 2, 2])[:, None]
    x1[~mask1], x2[~mask2] = 1e6, -1e6
    return x1.to(dtype), x2.to(dtype), mask1, mask2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_each_row_is_a_transport(kind, weighted):
    x1, x2, mask1, mask2 = batch()
    weights = {}
    if weighted and kind != "cls":
        weights = {"weights1": torch.arange(1.0, 17).view(4, 4), "weights2": torch.rand(4, 3) + 1}
    found = rowpairs_similarity(x1, x2, mask1, mask2, kind, **weights)
    for row in range(4):
        kept = mask1[row], mask2[row]
        given = {
            name: w[row][mask].numpy()
            for (name, w), mask in zip(weights.items(), kept, strict=False)
        }
        one = transport_plan(x1[row][kept[0]].numpy(), x2[row][kept[1]].numpy(), kind, **given)
        assert float(found[row]) == pytest.approx(float(one.similarity), abs=1e-7)
    assert float(found[3]) < 0
    every = allpairs_similarity(x1, x2, mask1, mask2, kind, **weights)
    torch.testing.assert_close(found, every.diagonal())


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    x1, x2, mask1, mask2 = batch()
    x1[~mask1], x2[~mask2] = 1.0, -1.0
    assert torch.autograd.gradcheck(
        lambda a, b: rowpairs_similarity(a, b, mask1, mask2, kind),
        (x1.requires_grad_(), x2.requires_grad_()),
    )


def test_padding_may_hold_nan_and_gets_no_gradient():
    x1, x2, mask1, mask2 = batch()
    plain = rowpairs_similarity(x1, x2, mask1, mask2)
    x1[~mask1] = torch.nan
    found = rowpairs_similarity(x1.requires_grad_(), x2, mask1, mask2)
    torch.testing.assert_close(found, plain)
    found.sum().backward()
    assert torch.isfinite(x1.grad).all() and (x1.grad[~mask1] == 0).all()


def test_half_precision_gives_float32_under_autocast_too():
    x1, x2, mask1, mask2 = batch(torch.bfloat16)
    exact = rowpairs_similarity(x1.float(), x2.float(), mask1, mask2)
    with torch.autocast("cpu", torch.bfloat16):
        found = rowpairs_similarity(x1, x2, mask1, mask2)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, exact)

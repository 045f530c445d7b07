"""The weighted mean against a loop, its gradient, and that padding never reaches it."""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.training.losses import weighted_mean  # noqa: E402

LENGTHS = (3, 1, 5)


def drawn(seed=0, width=4):
    """Texts of unequal length, padded; weights are positive."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randn(3, 5, width, generator=generator, dtype=torch.float64)
    weights = 0.1 + torch.rand(3, 5, generator=generator, dtype=torch.float64)
    return tokens, weights, torch.arange(5) < torch.tensor(LENGTHS)[:, None]


def test_the_mean_is_the_looped_definition():
    tokens, weights, mask = drawn()
    found = weighted_mean(tokens, weights, mask)
    assert found.shape == (3, 4)
    for text, length in enumerate(LENGTHS):
        w = weights[text, :length].tolist()
        for k in range(4):
            terms = [w[i] * float(tokens[text, i, k]) for i in range(length)]
            assert float(found[text, k]) == pytest.approx(math.fsum(terms) / math.fsum(w))


def test_equal_weights_of_any_scale_give_the_mean():
    tokens, _, mask = drawn()
    expected = torch.stack([x[:n].mean(dim=0) for x, n in zip(tokens, LENGTHS, strict=True)])
    for scale in (1.0, 1e-6, 1e6):
        weights = torch.full((3, 5), scale, dtype=torch.float64)
        torch.testing.assert_close(weighted_mean(tokens, weights, mask), expected)


@pytest.mark.parametrize("filling", [1e9, -1e9, math.inf, math.nan])
def test_padding_reaches_neither_the_mean_nor_its_gradient(filling):
    tokens, weights, mask = drawn()
    expected = weighted_mean(tokens, weights, mask)
    tokens[~mask], weights[~mask] = filling, filling
    tokens.requires_grad_()
    weights.requires_grad_()
    found = weighted_mean(tokens, weights, mask)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    for gradient in torch.autograd.grad(found.sum(), (tokens, weights)):
        assert gradient.isfinite().all() and (gradient[~mask] == 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_the_mean(seed):
    tokens, weights, mask = drawn(seed, width=2)
    arguments = tokens.requires_grad_(), weights.requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: weighted_mean(x, w, mask), arguments)


def test_no_argument_is_changed():
    given = drawn()
    before = [each.clone() for each in given]
    weighted_mean(*given)
    assert all(each.equal(copy) for each, copy in zip(given, before, strict=True))

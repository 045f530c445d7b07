"""Convolutions over tokens: loops, padding that never counts, gradients, and bad arguments."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.networks.layers import TokenConvolutions  # noqa: E402

LENGTHS = [1, 2, 3, 5, 8, 9, 13]
KINDS = [
    pytest.param({"axes": axes, "readout": readout}, id=f"{axes}-{readout}")
    for axes in ("both", "length")
    for readout in ("max", "mean")
]
KINDS += [pytest.param({"axes": "length", "residual": True}, id="length-residual")]


def network(seed=0, h=5, **params):
    torch.manual_seed(seed)
    found = TokenConvolutions(h, (2, 3, 4), 3, **params).double()
    for layer in found.layers:
        # Biases of both signs, so that what convolutions leave at padding is not 0.
        torch.nn.init.normal_(layer.bias)
    torch.nn.init.normal_(found.layers[3].weight)
    return found


def texts(seed=0, h=5, lengths=LENGTHS):
    rng = np.random.default_rng(seed)
    return [torch.from_numpy(rng.normal(size=(n, h)) - 0.5) for n in lengths]


def padded(rows, longest, fill):
    x = torch.full((len(rows), longest, rows[0].shape[1]), fill, dtype=torch.float64)
    for row, values in enumerate(rows):
        x[row, : len(values)] = values
    return x, torch.arange(longest) < torch.tensor([[len(row)] for row in rows])


def looped(net, tokens):
    """One text alone, cell by cell."""
    layers = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in net.layers]
    both = net.axes == "both"
    # (channels, tokens, across)
    x = tokens.numpy()[None] if both else tokens.numpy().T[..., None]
    for number, (weight, bias) in enumerate(layers):
        reach = weight.shape[2] // 2, weight.shape[3] // 2
        made = np.zeros((len(weight), *x.shape[1:]))
        for out, i, j in np.ndindex(*made.shape):
            total = bias[out]
            for di in range(-reach[0], reach[0] + 1):
                for dj in range(-reach[1], reach[1] + 1):
                    if 0 <= i + di < x.shape[1] and 0 <= j + dj < x.shape[2]:
                        kernel = weight[out, :, di + reach[0], dj + reach[1]]
                        total += kernel @ x[:, i + di, j + dj]
            made[out, i, j] = total
        x = made
        if number < 3:
            step = 2 if both else 1
            size = -(-x.shape[1] // 2), -(-x.shape[2] // step)
            pooled = np.zeros((len(x), *size))
            for c, i, j in np.ndindex(*pooled.shape):
                window = x[c, 2 * i : 2 * i + 2, step * j : step * j + step]
                pooled[c, i, j] = max(window.max(), 0.0)
            x = pooled
    flat = x.reshape(len(x), -1)
    found = flat.max(axis=1) if net.readout == "max" else flat.mean(axis=1)
    if net.line is not None:
        found = found + net.line.weight.detach().numpy() @ tokens.numpy().mean(axis=0)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_a_loop_over_texts_and_cells(kind):
    net, rows = network(**kind), texts()
    expected = np.array([looped(net, row) for row in rows])
    with torch.no_grad():
        found = net(*padded(rows, 13, 0.0))
    # Float64 sums of a few dozen products.
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)
    # Without a last ReLU vectors have both signs: a maximum with zeros of padding would show.
    assert (expected < 0).any() and (expected > 0).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill", [np.nan, 1e6, -1e6, np.inf])
@pytest.mark.parametrize("longest", [13, 14, 16, 32])
def test_padding_never_counts(kind, fill, longest):
    net, rows = network(**kind), texts()
    with torch.no_grad():
        expected = net(*padded(rows, 13, 0.0))
        found = net(*padded(rows, longest, fill))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_without_token_is_zero_and_has_no_gradient(kind):
    net = network(**kind)
    x, mask = padded(texts(lengths=[4, 6]), 8, np.nan)
    mask[1] = False
    x.requires_grad_()
    found = net(x, mask)
    assert found[1].eq(0).all() and found[0].ne(0).any()
    found.sum().backward()
    gradient = x.grad
    assert gradient is not None and gradient[mask].isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in net.parameters())
    assert gradient[~mask].eq(0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_gradients_are_right(kind, seed):
    net = network(seed, h=4, **kind)
    x, mask = padded(texts(seed, 4, [3, 9]), 9, 0.0)
    names, weights = zip(*net.named_parameters(), strict=True)

    def value(x, *weights):
        return torch.func.functional_call(net, dict(zip(names, weights, strict=True)), (x, mask))

    assert torch.autograd.gradcheck(value, (x.requires_grad_(), *weights), fast_mode=True)


def test_the_order_of_coordinates_counts_for_both_axes_alone():
    x, mask = padded(texts(lengths=[7]), 7, 0.0)
    turned = torch.arange(4, -1, -1)
    both, length = network(axes="both"), network(axes="length")
    with torch.no_grad():
        assert not torch.allclose(both(x, mask), both(x[..., turned], mask))
        expected = length(x, mask)
        length.layers[0].weight.copy_(length.layers[0].weight[:, turned])
        torch.testing.assert_close(length(x[..., turned], mask), expected)


@pytest.mark.parametrize("width", [5, 3, 8])
def test_a_residual_network_starts_at_the_means(width):
    torch.manual_seed(0)
    net = TokenConvolutions(5, (2, 3, 4), width, residual=True).double()
    rows = texts()
    with torch.no_grad():
        found = net(*padded(rows, 13, np.nan)).numpy()
    means = np.array([row.numpy().mean(axis=0) for row in rows])
    line = net.line.weight.detach().numpy()
    np.testing.assert_allclose(found, means @ line.T, rtol=1e-12, atol=1e-12)
    # Orthonormal on the shorter side, to the rounding of the float32 that it was drawn in.
    product = line @ line.T if width <= 5 else line.T @ line
    np.testing.assert_allclose(product, np.eye(min(width, 5)), atol=1e-6)
    if width == 5:
        np.testing.assert_array_equal(line, np.eye(5))


def test_an_argument_is_not_changed():
    x, mask = padded(texts(), 13, 2.0)
    before = x.clone(), mask.clone()
    network()(x, mask)
    assert x.equal(before[0]) and mask.equal(before[1])

import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.training.losses import cached_backward  # noqa: E402


def network(dropout):
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Dropout(dropout), torch.nn.Linear(8, 2)
    ).double()


def loss(found):
    """One that is no sum over chunks."""
    x = torch.cat(found)
    return torch.logsumexp((x @ x.T).ravel(), dim=0)


CHUNKS = list(torch.linspace(-1, 1, 21, dtype=torch.float64).view(7, 3).split([3, 3, 1]))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_gradient_is_that_of_one_pass_over_all_chunks(dropout):
    plain, cached = network(dropout), network(dropout)
    torch.manual_seed(2)
    value = loss([plain(chunk) for chunk in CHUNKS])
    value.backward()
    torch.manual_seed(2)
    assert cached_backward(cached, CHUNKS, loss) == pytest.approx(float(value.detach()))
    for mine, theirs in zip(cached.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)
    assert max(float(p.grad.abs().max()) for p in plain.parameters()) > 0.1


def test_gradients_are_added_to_those_that_are_there():
    once, twice = network(0.0), network(0.0)
    cached_backward(once, CHUNKS, loss)
    for _ in range(2):
        cached_backward(twice, CHUNKS, loss)
    for one, two in zip(once.parameters(), twice.parameters(), strict=True):
        torch.testing.assert_close(two.grad, 2 * one.grad)


def test_random_numbers_go_on_after_those_of_the_first_pass():
    model = network(0.5)
    torch.manual_seed(3)
    with torch.no_grad():
        for chunk in CHUNKS:
            model(chunk)
    expected = torch.rand(4)
    torch.manual_seed(3)
    cached_backward(model, CHUNKS, loss)
    assert torch.equal(torch.rand(4), expected)


def test_one_graph_is_held_at_a_time():
    graphs = []

    def encode(chunk):
        graphs.append(torch.is_grad_enabled())
        return (chunk * weight).sum(dim=1, keepdim=True)

    weight = torch.ones(3, dtype=torch.float64, requires_grad=True)
    cached_backward(encode, CHUNKS, loss)
    assert graphs == [False] * 3 + [True] * 3

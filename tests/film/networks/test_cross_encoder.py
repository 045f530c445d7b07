"""The network that scores a pair: its definition, gradient and dropout, and bad arguments."""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.networks.layers import ScoringHead  # noqa: E402


def test_a_score_is_its_definition():
    torch.manual_seed(0)
    head = ScoringHead(3).double().eval()
    x = torch.randn(4, 3, dtype=torch.float64)
    found = head(x)
    assert found.shape == (4,)
    weight, bias = head.dense.weight.tolist(), head.dense.bias.tolist()
    for row, score in zip(x.tolist(), found.tolist(), strict=True):
        hidden = [
            math.tanh(b + sum(w * value for w, value in zip(ws, row, strict=True)))
            for ws, b in zip(weight, bias, strict=True)
        ]
        last = head.score.weight.tolist()[0]
        expected = sum(v * h for v, h in zip(last, hidden, strict=True)) + head.score.bias.item()
        assert score == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_its_gradient_is_right(seed):
    torch.manual_seed(seed)
    head = ScoringHead(3).double().eval()
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(head, (x,))


def test_dropout_acts_in_training_alone():
    torch.manual_seed(0)
    head, x = ScoringHead(64, dropout=0.5), torch.randn(1, 64)
    assert len({float(head(x).detach()) for _ in range(5)}) > 1
    head.eval()
    assert len({float(head(x).detach()) for _ in range(5)}) == 1

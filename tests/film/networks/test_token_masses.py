"""Learned token weights: positive, 1 at the start and where nothing was learned."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.networks import TokenMasses  # noqa: E402


def test_weights_are_softplus_of_theta_and_start_at_one():
    masses = TokenMasses(5)
    assert masses.table().tolist() == [1.0] * 5
    ids = torch.tensor([[0, 4], [3, 0]])
    torch.testing.assert_close(masses(ids), torch.ones(2, 2))
    with torch.no_grad():
        masses.theta[4] = -2.0
    expected = np.log1p(np.exp(-2.0))
    assert float(masses(ids)[0, 1].detach()) == pytest.approx(expected, rel=1e-6)
    assert masses.table() == pytest.approx([1, 1, 1, 1, expected], rel=1e-6)


def test_only_entries_of_the_batch_learn_and_the_rest_stays_exactly_one():
    masses = TokenMasses(4)
    optimizer = torch.optim.Adam(masses.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        (masses(torch.tensor([1, 1, 2])) * torch.tensor([1.0, 1.0, -1.0])).sum().backward()
        optimizer.step()
    table = masses.table()
    assert table[0] == table[3] == 1.0 and 0 < table[1] < 1 < table[2]


def test_weights_stay_positive_however_far_theta_goes():
    masses = TokenMasses(2)
    with torch.no_grad():
        masses.theta[:] = torch.tensor([-80.0, 80.0])
    assert (masses(torch.tensor([0, 1])) > 0).all() and (masses.table() > 0).all()

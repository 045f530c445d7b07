"""The discriminator over bags of tokens, against sums in a loop."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.contexts import BagDiscriminator  # noqa: E402


def test_states_are_weighted_sums_of_one_length():
    rng = np.random.default_rng(0)
    vectors, weights = rng.normal(size=(9, 5)), rng.uniform(0.1, 3, size=9)
    model = BagDiscriminator(9, width=5, vectors=vectors, weights=weights)
    ids, lengths = rng.integers(9, size=(6, 7)), np.array([7, 3, 1, 0, 5, 2])
    found = model.states(ids, lengths).detach().numpy()
    for row, tokens, length in zip(found, ids, lengths, strict=True):
        total = sum((weights[token] * vectors[token] for token in tokens[:length]), np.zeros(5))
        expected = total * (2 / np.linalg.norm(total)) if length else total
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_it_starts_from_what_sentences_share():
    torch.manual_seed(0)
    model = BagDiscriminator(9, width=16)
    states = model.states(torch.tensor([[1, 2], [2, 1], [3, 4]]), torch.tensor([2, 2, 2]))
    logits = model.centre(states) @ (model.left(states[:1]) + model.right(states[:1])).T
    # Twice the product of equal states of length 2.
    np.testing.assert_allclose(logits[:2, 0].detach(), 8, rtol=1e-5)
    assert logits[2, 0] < 6


def test_entries_behind_the_states_are_compared_as_they_are():
    torch.manual_seed(0)
    model = BagDiscriminator(9, width=4, n_alike=3)
    plain = BagDiscriminator(9, width=4)
    plain.load_state_dict(model.state_dict(), strict=False)
    own = model.states(torch.tensor([[1, 2], [2, 1], [3, 4]]), torch.tensor([2, 1, 2])).detach()
    assert own.shape == (3, 4)
    fixed = torch.randn(3, 3)
    left, right, centre = torch.cat([own, fixed], dim=1).split(1)
    found = (model.left(left) + model.right(right)) @ model.centre(centre).T
    rest = (plain.left(own[:1]) + plain.right(own[1:2])) @ plain.centre(own[2:]).T
    torch.testing.assert_close(found, rest + 5 * (fixed[:1] + fixed[1:2]) @ fixed[2:].T)


@pytest.mark.parametrize("interaction", ["bilinear", "concatenation"])
def test_all_of_it_learns(interaction):
    torch.manual_seed(0)
    model = BagDiscriminator(9, width=4, interaction=interaction)
    with torch.no_grad():
        for part in model.interaction.parameters():
            part.add_(torch.randn(part.shape) * 0.1)
    states = model.states(torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 2]))
    (model.centre(states) @ (model.left(states) + model.right(states)).T)[0, 1].backward()
    # Lefts and rights meet other sentences than the centres do.
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_tokens": 0}, "n_tokens=0"),
        ({"vectors": np.ones((9, 3))}, r"vectors has shape \(9, 3\); it must be \(9, 4\)"),
        ({"weights": np.ones(8)}, "weights has shape"),
        ({"weights": -np.ones(9)}, "weights must be at least 0"),
    ],
)
def test_arguments_are_checked(given, message):
    with pytest.raises(ValueError, match=message):
        BagDiscriminator(**{"n_tokens": 9, "width": 4} | given)


def test_tokens_of_zeros_move_by_no_more_than_others():
    model = BagDiscriminator(3, width=2, vectors=[[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    model.states([[0, 0], [1, 2]], [2, 2]).sum().backward()
    assert not model.embedding.weight.grad.any() and not model.roots.grad.any()

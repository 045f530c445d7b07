"""Losses against loops and torch's own, their gradients, and that good examples cost less."""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.training.losses import (  # noqa: E402
    contrastive_loss,
    entailment_loss,
    l2_loss,
    n_pair_loss,
    pairwise_logistic_loss,
    triplet_loss,
)


def looped(similarity, temperature, excluded):
    """Mean over rows of minus the log-probability of the row's own column."""
    total = 0.0
    for i, row in enumerate(similarity.tolist()):
        kept = [
            math.exp(value / temperature)
            for j, value in enumerate(row)
            if excluded is None or not excluded[i, j]
        ]
        total -= math.log(math.exp(row[i] / temperature) / math.fsum(kept))
    return total / len(similarity)


def drawn(shape, seed=0):
    """Cosines between texts, and a mask of others that spares the diagonal."""
    generator = torch.Generator().manual_seed(seed)
    similarity = 2 * torch.rand(*shape, generator=generator, dtype=torch.float64) - 1
    excluded = torch.rand(*shape, generator=generator) < 0.4
    return similarity, excluded.fill_diagonal_(False)


SHAPES = [(1, 1), (1, 4), (5, 5), (4, 8), (3, 7)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("temperature", [0.05, 1.0, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_contrast_is_the_looped_definition(shape, temperature, masked):
    similarity, excluded = drawn(shape)
    excluded = excluded if masked else None
    found = contrastive_loss(similarity, temperature, excluded)
    assert found.shape == ()
    assert float(found) == pytest.approx(looped(similarity, temperature, excluded), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_contrast_is_the_cross_entropy_of_torch(dtype):
    similarity = drawn((6, 12))[0].to(dtype)
    expected = torch.nn.CrossEntropyLoss()(similarity / 0.05, torch.arange(6))
    found = contrastive_loss(similarity)
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("masked", [False, True])
def test_the_gradient_of_contrast(seed, masked):
    similarity, excluded = drawn((4, 7), seed)
    mask = excluded if masked else None
    assert torch.autograd.gradcheck(
        lambda s: contrastive_loss(s, 0.5, mask), similarity.requires_grad_()
    )
    (gradient,) = torch.autograd.grad(contrastive_loss(similarity, 0.5, mask), similarity)
    assert bool((gradient[excluded] == 0).all()) == masked
    assert (gradient.diagonal() < 0).all()


def test_what_is_excluded_never_beats_negative_similarities():
    # Multiplying by a mask would leave 0, which is more than any of these.
    similarity = -0.5 - torch.rand(4, 6, generator=torch.Generator().manual_seed(0))
    excluded = torch.zeros(4, 6, dtype=torch.bool)
    excluded[:, 4:] = True
    found = contrastive_loss(similarity, excluded=excluded)
    torch.testing.assert_close(found, contrastive_loss(similarity[:, :4]))


def test_contrast_takes_low_temperatures_without_overflow():
    found = contrastive_loss(torch.eye(2), temperature=1e-4)
    assert float(found) == 0.0
    assert float(contrastive_loss(1 - torch.eye(2), temperature=1e-4)) == pytest.approx(1e4)


def vectors(seed, n_more=2):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(n, 3, generator=generator, dtype=torch.float64).requires_grad_()
        for n in (4, 4 + n_more)
    ]


@pytest.mark.parametrize("n_more", [0, 2])
def test_n_pair_loss_is_its_definition(n_more):
    x, c = vectors(0, n_more)
    total = 0.0
    for i in range(4):
        others = [(x[i] @ c[j] - x[i] @ c[i]).item() for j in range(4 + n_more) if j != i]
        total += math.log1p(math.fsum(map(math.exp, others)))
    assert n_pair_loss(x, c).item() == pytest.approx(total / 4, rel=1e-12)
    unit = torch.nn.functional.normalize
    scaled = [unit(each, dim=1) / math.sqrt(0.05) for each in (x, c)]
    cosines = unit(x, dim=1) @ unit(c, dim=1).T
    torch.testing.assert_close(n_pair_loss(*scaled), contrastive_loss(cosines, 0.05))


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_n_pair_loss(seed):
    excluded = drawn((4, 6), seed)[1]
    for mask in (None, excluded):
        assert torch.autograd.gradcheck(lambda x, c, m=mask: n_pair_loss(x, c, m), vectors(seed))


def looped_pairwise_logistic(s, y, temperature):
    total = weight = 0.0
    for i in range(len(s)):
        for j in range(len(s)):
            if y[i] < y[j]:
                total += (y[j] - y[i]) * math.log1p(math.exp((s[i] - s[j]) / temperature))
                weight += y[j] - y[i]
    return total / weight


@pytest.mark.parametrize(
    "y", [[2.0, 2.0, 1.0, 7.0, 0.5], [0.2, 0.0, 1.0, 0.7, 0.5], [1, 0, 0, 1, 1]]
)
def test_pairwise_logistic_loss_is_its_definition(y):
    s = [0.3, -0.2, 0.9, 0.5, 0.5]
    scores = torch.tensor(y, dtype=torch.float64)
    found = pairwise_logistic_loss(torch.tensor(s, dtype=torch.float64), scores, 0.3)
    assert float(found) == pytest.approx(looped_pairwise_logistic(s, y, 0.3), rel=1e-12)


def test_pairwise_logistic_loss_minds_order_and_differences_alone():
    s = torch.tensor([0.3, -0.2, 0.9], dtype=torch.float64)
    y = torch.tensor([1.0, 2.0, 3.0])
    found = pairwise_logistic_loss(s, y)
    torch.testing.assert_close(pairwise_logistic_loss(s, 100 * y - 7), found)
    torch.testing.assert_close(pairwise_logistic_loss(s + 5, y), found)
    assert float(pairwise_logistic_loss(s, torch.ones(3))) == 0
    right, wrong = (
        pairwise_logistic_loss(x, y) for x in (s.sort().values, s.sort().values.flip(0))
    )
    assert float(right) < 1e-2 < float(wrong)


def test_one_wrong_label_does_not_outweigh_all_others():
    """Of what pushes pairs apart, no pair has more than its share; CoSENT gives it nearly all."""
    s = torch.cat([torch.linspace(0.5, 0.6, 20), torch.tensor([0.99])]).double().requires_grad_()
    labels = torch.tensor([0] * 10 + [1] * 10 + [0])

    def cosent():
        gaps = ((s[:, None] - s) / 0.05)[labels[:, None] < labels]
        return torch.logsumexp(torch.cat([gaps.new_zeros(1), gaps]), dim=0)

    shares = []
    for loss in (pairwise_logistic_loss(s, labels), cosent()):
        (found,) = torch.autograd.grad(loss, s)
        shares.append(float(found[-1] / found.clamp(min=0).sum()))
    assert shares[0] < 0.5 < 0.9 < shares[1]


@pytest.mark.parametrize("seed", range(3))
def test_pairwise_logistic_loss_has_the_right_gradient(seed):
    s, y = drawn((2, 6), seed)[0]
    y = y.round(decimals=1)
    s.requires_grad_()
    assert torch.autograd.gradcheck(lambda s: pairwise_logistic_loss(s, y, 0.3), (s,))


def test_l2_loss_is_the_mean_squared_distance():
    s, y = [0.3, -0.2, 0.9], [0.5, -1.0, 0.9]
    expected = sum((a - b) ** 2 for a, b in zip(s, y, strict=True)) / 3
    found = l2_loss(torch.tensor(s, dtype=torch.float64), torch.tensor(y, dtype=torch.float64))
    assert float(found) == pytest.approx(expected, rel=1e-12)
    exact = torch.nn.functional.mse_loss(torch.tensor(s), torch.tensor(y))
    torch.testing.assert_close(l2_loss(torch.tensor(s), torch.tensor(y)), exact)
    # Scores of another type are taken into that of the similarity.
    assert l2_loss(torch.tensor(s), torch.tensor([1, 0, 1])).dtype == torch.float32


@pytest.mark.parametrize("margin", [0.0, 0.2, 1.5])
def test_triplet_loss_is_the_hinge_on_distances(margin):
    near, far = drawn((2, 7))[0]
    hinges = [
        max(0.0, margin + (1 - a) - (1 - b))
        for a, b in zip(near.tolist(), far.tolist(), strict=True)
    ]
    expected = sum(hinges) / 7
    assert float(triplet_loss(near, far, margin)) == pytest.approx(expected, rel=1e-12)
    assert 0 < sum(hinge > 0 for hinge in hinges)


def linear(width, seed=0):
    torch.manual_seed(seed)
    return torch.nn.Linear(3 * width, 3).double()


def test_entailment_loss_is_the_softmax_of_sbert():
    u, v = drawn((4, 3))[0], drawn((4, 3), 1)[0]
    labels, head = torch.tensor([0, 2, 1, 2]), linear(3)
    total = 0.0
    for a, b, label in zip(u.tolist(), v.tolist(), labels.tolist(), strict=True):
        joined = [*a, *b, *(abs(x - y) for x, y in zip(a, b, strict=True))]
        logits = [
            bias + sum(w * x for w, x in zip(weights, joined, strict=True))
            for weights, bias in zip(head.weight.tolist(), head.bias.tolist(), strict=True)
        ]
        total += math.log(sum(map(math.exp, logits))) - logits[label]
    found = entailment_loss(u, v, labels, head).detach()
    assert float(found) == pytest.approx(total / 4, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_losses_on_rows(seed):
    s, y = drawn((2, 6), seed)[0].requires_grad_()
    assert torch.autograd.gradcheck(l2_loss, (s, y))
    # No gap is within the step of the differences of the hinge's corner.
    assert ((0.3 - s + y).abs() > 1e-4).all()
    assert torch.autograd.gradcheck(lambda a, b: triplet_loss(a, b, 0.3), (s, y))
    u, v = (drawn((4, 3), 10 * seed + i)[0].requires_grad_() for i in range(2))
    labels, head = torch.tensor([0, 2, 1, 1]), linear(3, seed)
    assert ((u - v).abs() > 1e-4).all()
    assert torch.autograd.gradcheck(lambda a, b: entailment_loss(a, b, labels, head), (u, v))
    entailment_loss(u, v, labels, head).backward()
    assert all(p.grad.abs().max() > 1e-3 for p in head.parameters())

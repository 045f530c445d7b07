"""The discriminator against loops over sentences, its loss against a loop over pairs."""

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.contexts.discriminator import (  # noqa: E402
    Discriminator,
    Interaction,
    Likeness,
    fit_loss,
    fit_weights,
)

KINDS = ["bilinear", "concatenation"]


def made(seed=0, n_tokens=20, **options):
    torch.manual_seed(seed)
    return Discriminator(n_tokens, hidden=5, width=4, **options).double().eval()


def sentences(n, longest=7, n_tokens=20, seed=0, shortest=1):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(shortest, longest + 1, (n,), generator=generator)
    return torch.randint(0, n_tokens, (n, longest), generator=generator), lengths


def test_states_of_a_batch_are_those_of_each_sentence_alone():
    model = made()
    ids, lengths = sentences(9)
    lengths[4] = 0
    padded = torch.where(torch.arange(7) < lengths[:, None], ids, 19 - ids)
    found = model.states(padded.numpy(), lengths.numpy())
    assert not found[4].any()
    for row, (tokens, length) in enumerate(zip(ids, lengths, strict=True)):
        if not length:
            continue
        outputs, _ = model.lstm(model.embedding(tokens[None, :length]))
        # The last state from left to right is at the end, the other at the beginning.
        expected = torch.cat([outputs[0, -1, :5], outputs[0, 0, 5:]])
        torch.testing.assert_close(found[row], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_logit_is_one_product_of_vectors(kind):
    torch.manual_seed(1)
    head = Interaction(6, kind, width=3).double()
    torch.nn.init.normal_(head.bias)
    left, centre, right = torch.randn(3, 4, 6, dtype=torch.float64)
    A, B, C = head.centres.weight, head.lefts.weight, head.rights.weight
    found = (head.left(left) + head.right(right)) @ head.centre(centre).T
    for i, j in itertools.product(range(4), range(4)):
        context = B[:-1] @ left[i] + C[:-1] @ right[i]
        linear = A[-1] @ centre[j] + B[-1] @ left[i] + C[-1] @ right[i] + head.bias
        torch.testing.assert_close(found[i, j], (A[:-1] @ centre[j]) @ context + linear)


def looped_weights(documents, texts, excluded):
    """By the definition, one row after the other."""
    B = len(documents)
    weights = np.zeros((B, B))
    rows = []
    for i in range(B):
        negatives = [j for j in range(B) if texts[j] != texts[i] and not excluded[i, j]]
        same = [j for j in negatives if documents[j] == documents[i]]
        others = [j for j in negatives if documents[j] != documents[i]]
        kinds = [kind for kind in (same, others) if kind]
        for kind in kinds:
            for j in kind:
                weights[i, j] = 1 / len(kinds) / len(kind)
        if kinds:
            weights[i, i] = 1
            rows.append(i)
    return weights / (2 * len(rows))


BATCHES = {
    "mixed": ([0, 0, 0, 1, 1, 2], [5, 6, 5, 7, 8, 6]),
    "one document": ([4, 4, 4], [1, 2, 3]),
    "documents of one triple": ([4, 5, 6], [1, 2, 3]),
    "a row without negatives": ([0, 0, 0], [1, 1, 2]),
}


@pytest.mark.parametrize("case", BATCHES)
@pytest.mark.parametrize("leaves_out", [False, True])
def test_weights_are_those_of_the_definition(case, leaves_out):
    documents, texts = map(torch.tensor, BATCHES[case])
    B = len(texts)
    excluded = torch.rand(B, B, generator=torch.Generator().manual_seed(3)) < 0.3
    excluded = excluded & leaves_out
    found = fit_weights(documents, texts, excluded=excluded if leaves_out else None)
    expected = looped_weights(documents.tolist(), texts.tolist(), excluded)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_the_loss_is_the_looped_cross_entropy():
    documents, texts = map(torch.tensor, BATCHES["mixed"])
    weights = fit_weights(documents, texts)
    logits = 3 * torch.randn(6, 6, generator=torch.Generator().manual_seed(1)).double()
    expected = 0.0
    for i, j in itertools.product(range(6), range(6)):
        fits = 1 / (1 + math.exp(-logits[i, j]))
        expected -= float(weights[i, j]) * math.log(fits if i == j else 1 - fits)
    assert float(fit_loss(logits, weights)) == pytest.approx(expected, rel=1e-9)


def test_what_has_no_weight_has_no_part_even_if_infinite():
    weights = fit_weights(torch.tensor([0, 0, 1]), torch.tensor([1, 1, 2]))
    logits = torch.zeros(3, 3)
    logits[0, 1] = math.inf
    logits.requires_grad_()
    loss = fit_loss(logits, weights)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(math.log(2), rel=1e-6)
    assert bool(torch.isfinite(logits.grad).all())


def test_gradients():
    model = made(n_tokens=6)
    ids, lengths = sentences(9, longest=4, n_tokens=6)
    weights = fit_weights(torch.tensor([0, 0, 1]), torch.tensor([1, 2, 3])).double()

    def loss(vectors):
        model.embedding.weight = torch.nn.Parameter(vectors)
        del model.embedding._parameters["weight"]
        model.embedding.weight = vectors
        left, centre, right = model.states(ids, lengths).split(3)
        return fit_loss((model.left(left) + model.right(right)) @ model.centre(centre).T, weights)

    start = model.embedding.weight.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(loss, (start,))


def test_bilinear_learns_what_concatenation_cannot():
    """Centre and left sentence fit where their first token is the same one of two."""
    generator = torch.Generator().manual_seed(0)
    losses = {}
    for kind in KINDS:
        torch.manual_seed(0)
        model = Discriminator(12, hidden=8, width=4, interaction=kind, dropout=0.0)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(60):
            ids = torch.randint(2, 12, (3, 16, 4), generator=generator)
            ids[0, :, 0] = ids[1, :, 0] = torch.arange(16) % 2
            lengths = torch.full((16,), 4)
            left, centre, right = (model.states(each, lengths) for each in ids)
            logits = (model.left(left) + model.right(right)) @ model.centre(centre).T
            # Only those of the other kind are negatives.
            loss = fit_loss(logits, fit_weights(torch.arange(16), torch.arange(16) % 2))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses[kind] = float(loss.detach())
    assert losses["bilinear"] < 0.1 and losses["concatenation"] > 0.6


def test_vectors_are_where_tokens_start_from_and_are_left_as_they_were():
    vectors = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    kept = vectors.copy()
    model = Discriminator(7, hidden=2, vectors=vectors)
    np.testing.assert_array_equal(model.embedding.weight.detach().numpy(), vectors)
    assert model.embedding.weight.requires_grad
    with torch.no_grad():
        model.embedding.weight.zero_()
    np.testing.assert_array_equal(vectors, kept)


def test_likeness_is_one_product():
    torch.manual_seed(0)
    head = Likeness().double()
    left, right, centre = torch.randn(3, 2, 7, dtype=torch.float64)
    assert float(head.root_gain.detach() ** 2) == pytest.approx(5, rel=1e-6)
    with torch.no_grad():
        head.root_gain.fill_(3.0)
        head.bias.fill_(-2.0)
    found = (head.left(left) + head.right(right)) @ head.centre(centre).T
    torch.testing.assert_close(found, 9 * (left + right) @ centre.T - 2)

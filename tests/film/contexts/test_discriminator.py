"""The discriminator against loops over sentences, its loss against a loop over pairs."""

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.contexts.discriminator import (  # noqa: E402
    Discriminator,
    Interaction,
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
    found = model.states(ids, lengths)
    for row, (tokens, length) in enumerate(zip(ids, lengths, strict=True)):
        outputs, _ = model.lstm(model.embedding(tokens[None, :length]))
        # The last state from left to right is at the end, the other at the beginning.
        expected = torch.cat([outputs[0, -1, :5], outputs[0, 0, 5:]])
        torch.testing.assert_close(found[row], expected)


def test_padding_has_no_part_in_states():
    model = made()
    ids, lengths = sentences(9)
    other = torch.where(torch.arange(7) < lengths[:, None], ids, 19 - ids)
    wider = torch.cat([other, torch.full((9, 3), 7)], dim=1)
    found = model.states(wider.numpy(), lengths.numpy())
    torch.testing.assert_close(found, model.states(ids, lengths))


def test_a_sentence_without_tokens_has_a_state_of_zeros():
    model = made()
    ids, lengths = sentences(3)
    lengths[1] = 0
    found = model.states(ids, lengths)
    assert not found[1].any() and found[0].all() and found[2].all()


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


@pytest.mark.parametrize("kind", KINDS)
def test_concatenation_ranks_contexts_the_same_for_every_sentence(kind):
    model = made(interaction=kind)
    states = model.states(*sentences(30))
    contexts = model.left(states[:10]) + model.right(states[10:20])
    ranked = (model.centre(states[20:]) @ contexts.T).argsort(dim=1)
    assert bool((ranked == ranked[0]).all()) == (kind == "concatenation")


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


def test_positives_and_negatives_weigh_alike_and_so_do_both_kinds():
    documents, texts = map(torch.tensor, BATCHES["mixed"])
    # Row 5 is the one triple of its document, so it is left out here.
    found = fit_weights(documents[:5], texts[:5])
    same = documents[:5, None] == documents[:5]
    diagonal = torch.eye(5, dtype=torch.bool)
    sums = [float(found[mask].sum()) for mask in (diagonal, same & ~diagonal, ~same)]
    assert sums == pytest.approx([0.5, 0.25, 0.25], rel=1e-6)


def test_a_centre_of_the_true_text_is_no_negative():
    documents, texts = map(torch.tensor, BATCHES["mixed"])
    found = fit_weights(documents, texts)
    assert found[0, 2] == found[2, 0] == found[1, 5] == 0


def test_drawn_negatives_are_one_per_row_and_all_of_them_on_average():
    documents, texts = map(torch.tensor, BATCHES["mixed"])
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack([fit_weights(documents, texts, generator=generator) for _ in range(4000)])
    assert bool(((draws > 0).sum(dim=2) == 2).all())
    torch.testing.assert_close(draws.sum(dim=(1, 2)), torch.ones(4000))
    # A share p of 4000 draws has a deviation of at most 0.008; a weight is a twelfth of it.
    expected = fit_weights(documents, texts)
    torch.testing.assert_close(draws.mean(dim=0), expected, atol=5 * 0.008 / 12, rtol=0)


def test_a_batch_without_negatives_is_refused():
    with pytest.raises(ValueError, match="several different centre"):
        fit_weights(torch.tensor([0, 1]), torch.tensor([3, 3]))
    with pytest.raises(ValueError, match="shapes"):
        fit_weights(torch.tensor([0, 1]), torch.tensor([3]))


def test_the_loss_is_the_looped_cross_entropy():
    documents, texts = map(torch.tensor, BATCHES["mixed"])
    weights = fit_weights(documents, texts)
    logits = 3 * torch.randn(6, 6, generator=torch.Generator().manual_seed(1)).double()
    expected = 0.0
    for i, j in itertools.product(range(6), range(6)):
        fits = 1 / (1 + math.exp(-logits[i, j]))
        expected -= float(weights[i, j]) * math.log(fits if i == j else 1 - fits)
    assert float(fit_loss(logits, weights)) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="both must be"):
        fit_loss(logits[:5], weights)


def test_a_good_discriminator_costs_less_and_one_without_knowledge_costs_log_2():
    weights = fit_weights(*map(torch.tensor, BATCHES["mixed"]))
    good = 4 * torch.eye(6) - 2
    assert fit_loss(good, weights) < 0.2 < 2 < fit_loss(-good, weights)
    assert float(fit_loss(torch.zeros(6, 6), weights)) == pytest.approx(math.log(2), rel=1e-6)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_tokens": 0}, "n_tokens=0"),
        ({"hidden": True}, "hidden=True"),
        ({"width": 0}, "width=0"),
        ({"interaction": "sum"}, "'sum' must be one of 'bilinear', 'concatenation'"),
        ({"dropout": 1.0}, "dropout=1.0"),
        ({"vectors": np.zeros((3, 2))}, r"vectors has shape \(3, 2\)"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Discriminator(**{"n_tokens": 9, **options})


def test_no_two_parameters_share_memory_so_that_safetensors_takes_them():
    state = made().state_dict()
    assert len({tensor.data_ptr() for tensor in state.values()}) == len(state)


def test_sentences_alike_fit_together():
    torch.manual_seed(0)
    head, plain = (Interaction(7 - k, width=4, n_alike=3 - k).double() for k in (0, 3))
    plain.load_state_dict(head.state_dict(), strict=False)
    left, right, centre = torch.randn(3, 2, 7, dtype=torch.float64)
    assert float(head.root_gain.detach() ** 2) == pytest.approx(5, rel=1e-6)
    with torch.no_grad():
        head.root_gain.fill_(3.0)
    found = (head.left(left) + head.right(right)) @ head.centre(centre).T
    rest = (plain.left(left[:, :4]) + plain.right(right[:, :4])) @ plain.centre(centre[:, :4]).T
    torch.testing.assert_close(found, rest + 9 * (left + right)[:, 4:] @ centre[:, 4:].T)


def test_concatenation_adds_no_product_of_what_is_alike():
    head = Interaction(7, "concatenation", n_alike=3)
    assert head.centre(torch.zeros(2, 7)).shape == (2, 2)
    assert head.centres.weight.shape == (1, 7)


def test_with_all_entries_alike_gain_and_bias_are_all_there_is():
    head = Interaction(7, width=4, n_alike=7).double()
    left, right, centre = torch.randn(3, 2, 7, dtype=torch.float64)

    def logits():
        return (head.left(left) + head.right(right)) @ head.centre(centre).T

    assert {name for name, _ in head.named_parameters()} == {"root_gain", "bias"}
    # A gain of 5, and as much is taken away.
    torch.testing.assert_close(logits(), 5 * (left + right) @ centre.T - 5)
    with torch.no_grad():
        head.root_gain.fill_(3.0)
        head.bias.fill_(-1.25)
    torch.testing.assert_close(logits(), 9 * (left + right) @ centre.T - 1.25)


@pytest.mark.parametrize("n_alike", [-1, 8])
def test_entries_that_are_alike_are_entries(n_alike):
    with pytest.raises(ValueError, match=f"n_alike={n_alike} must be from 0 to 7"):
        Interaction(7, n_alike=n_alike)


def test_entries_behind_the_states_are_compared_as_they_are():
    model, plain = made(n_alike=3), made()
    plain.load_state_dict(model.state_dict(), strict=False)
    own = model.states(*sentences(6))
    assert own.shape == (6, 10)
    fixed = torch.randn(6, 3, dtype=torch.float64)
    left, right, centre = torch.cat([own, fixed], dim=1).split(2)
    found = (model.left(left) + model.right(right)) @ model.centre(centre).T
    rest = (plain.left(own[:2]) + plain.right(own[2:4])) @ plain.centre(own[4:]).T
    torch.testing.assert_close(found, rest + 5 * (fixed[:2] + fixed[2:4]) @ fixed[4:].T)

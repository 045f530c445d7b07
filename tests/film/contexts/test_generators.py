"""The generator against itself one sentence at a time, and as a probability distribution."""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.contexts.generators import (  # noqa: E402  # noqa: E402
    CENTRE,
    LEFT,
    RIGHT,
    Generator,
    Size,
    TiedEmbedding,
)
from film.contexts.vocabulary import END  # noqa: E402

MINI = Size(width=8, heads=2, encoder_layers=2, decoder_layers=2, inner=12)


def made(n_tokens=11, seed=0, size=MINI, **options):
    torch.manual_seed(seed)
    model = Generator(n_tokens, size, max_length=9, **options).double().eval()
    with torch.no_grad():
        model.decoder_norm.weight.fill_(1.0)
        # Sharper than at the start, so that an error shows.
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def sentences(n, longest=7, n_tokens=11, seed=0):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, longest + 1, (n,), generator=generator)
    return torch.randint(0, n_tokens, (n, longest), generator=generator), lengths


def triples(n):
    return [sentences(n, seed=seed) for seed in range(3)]


def log_likelihood(model, batch, place):
    memories = [model.memory(*batch[at], at) for at in range(3) if at != place]
    return model.log_likelihood(memories, *batch[place], place)


def copied(pairs):
    """Modules of torch with the weights of ours."""
    for theirs, ours in pairs:
        theirs.weight.copy_(ours.weight)
        theirs.bias.copy_(ours.bias)


def encoder_of_torch(model):
    layers = []
    for ours in model.encoder:
        theirs = torch.nn.TransformerEncoderLayer(
            8, 2, 12, dropout=0.0, norm_first=True, batch_first=True, dtype=torch.float64
        )
        theirs.self_attn.in_proj_weight.copy_(ours.attention.projection.weight)
        theirs.self_attn.in_proj_bias.copy_(ours.attention.projection.bias)
        copied(
            [
                (theirs.self_attn.out_proj, ours.attention.output),
                (theirs.norm1, ours.attention.norm),
                (theirs.norm2, ours.feed[0]),
                (theirs.linear1, ours.feed[1]),
                (theirs.linear2, ours.feed[4]),
            ]
        )
        layers.append(theirs)
    return layers


def decoder_of_torch(model):
    layers = []
    remembered = zip(model.remember.weight.chunk(2), model.remember.bias.chunk(2), strict=True)
    for ours, (weight, bias) in zip(model.decoder, remembered, strict=True):
        theirs = torch.nn.TransformerDecoderLayer(
            8, 2, 12, dropout=0.0, norm_first=True, batch_first=True, dtype=torch.float64
        )
        theirs.self_attn.in_proj_weight.copy_(ours.attention.projection.weight)
        theirs.self_attn.in_proj_bias.copy_(ours.attention.projection.bias)
        theirs.multihead_attn.in_proj_weight.copy_(torch.cat([ours.query.weight, weight]))
        theirs.multihead_attn.in_proj_bias.copy_(torch.cat([ours.query.bias, bias]))
        copied(
            [
                (theirs.self_attn.out_proj, ours.attention.output),
                (theirs.multihead_attn.out_proj, ours.output),
                (theirs.norm1, ours.attention.norm),
                (theirs.norm2, ours.norm),
                (theirs.norm3, ours.feed[0]),
                (theirs.linear1, ours.feed[1]),
                (theirs.linear2, ours.feed[4]),
            ]
        )
        layers.append(theirs)
    return layers


@pytest.mark.parametrize("place", [LEFT, CENTRE, RIGHT])
@torch.no_grad()
def test_it_is_the_transformer_of_torch(place):
    model = made()
    scale, table = 8**0.5, model.vocabulary
    triple = [[4, 5, 6], [7, 8], [9, 10, 3, 1]]
    states = []
    for at in {LEFT, CENTRE, RIGHT} - {place}:
        tokens = [*triple[at], END]
        x = scale * table.weight[tokens] + model.positions.weight[: len(tokens)]
        x = (x + model.read.weight[at])[None]
        for layer in encoder_of_torch(model):
            x = layer(x)
        states.append(model.encoder_norm(x))
    before = [END, *triple[place]]
    x = scale * table.weight[before] + model.positions.weight[: len(before)]
    x = (x + model.written.weight[place])[None]
    causal = torch.nn.Transformer.generate_square_subsequent_mask(len(before), dtype=x.dtype)
    for layer in decoder_of_torch(model):
        x = layer(x, torch.cat(states, dim=1), tgt_mask=causal)
    logits = model.decoder_norm(x)[0] @ table.weight.T + table.bias
    following = [*triple[place], END]
    expected = logits.log_softmax(dim=1)[range(len(following)), following].mean()
    batch = [(torch.tensor([each]), [len(each)]) for each in triple]
    torch.testing.assert_close(log_likelihood(model, batch, place)[0], expected)


@pytest.mark.parametrize("place", [LEFT, CENTRE, RIGHT])
@torch.no_grad()
def test_a_batch_is_as_one_at_a_time_whatever_the_padding_holds(place):
    model = made()
    batch = triples(6)
    found = log_likelihood(model, batch, place)
    assert found.shape == (6,) and bool((found < 0).all())
    for row in range(6):
        alone = [(ids[row : row + 1, : n[row]], n[row : row + 1]) for ids, n in batch]
        torch.testing.assert_close(log_likelihood(model, alone, place)[0], found[row])
    other = []
    for ids, lengths in batch:
        changed = torch.where(torch.arange(7) < lengths[:, None], ids, 10 - ids)
        other.append((torch.cat([changed, torch.full((6, 4), 3)], dim=1), lengths))
    torch.testing.assert_close(log_likelihood(model, other, place), found)


@pytest.mark.parametrize("single", [{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1}])
@torch.no_grad()
def test_one_row_is_for_all(single):
    """Rows of left, right and centre sentences; those in ``single`` are one for all."""
    model = made()
    batch = triples(5)
    rows = [torch.zeros(5, dtype=int) if at in single else torch.arange(5) for at in range(3)]
    expected = log_likelihood(
        model, [(ids[row], n[row]) for (ids, n), row in zip(batch, rows, strict=True)], CENTRE
    )
    few = [(ids[:1], n[:1]) if at in single else (ids, n) for at, (ids, n) in enumerate(batch)]
    torch.testing.assert_close(log_likelihood(model, few, CENTRE), expected)


@pytest.mark.parametrize("place", [LEFT, CENTRE, RIGHT])
def test_the_loss_is_the_mean_over_all_tokens(place):
    model = made()
    batch = triples(6)
    lengths = batch[place][1] + 1
    expected = -(log_likelihood(model, batch, place) * lengths).sum() / lengths.sum()
    torch.testing.assert_close(model.loss(batch, place), expected)
    both = torch.stack([model.loss(batch, other) for other in {0, 1, 2} - {place}])
    torch.testing.assert_close(model.loss(batch, {0, 1, 2} - {place}), both.mean())


COUNTS = [5, 0, 9, 9, 1, 7, 3]


def looped_probabilities(table, state, group):
    """Of all tokens after one state, by the definition with the frequent first."""
    order = sorted(range(len(COUNTS)), key=lambda token: -COUNTS[token])
    frequent = order[: table.sizes[0]]
    rare = order[table.sizes[0] :]
    groups = [rare[start : start + group] for start in range(0, len(rare), group)]
    place = {token: rank for rank, token in enumerate(order)}

    def exponentials(tokens):
        return [
            math.exp(table.weight[place[token]] @ state + table.bias[place[token]])
            for token in tokens
        ]

    of_groups = [math.exp(value) for value in table.groups(state)]
    total = sum(exponentials(frequent)) + sum(of_groups)
    found = dict(zip(frequent, (value / total for value in exponentials(frequent)), strict=True))
    for members, of_group in zip(groups, of_groups, strict=True):
        inner = exponentials(members)
        for token, value in zip(members, inner, strict=True):
            found[token] = of_group / total * value / sum(inner)
    return [found[token] for token in range(len(COUNTS))]


@pytest.mark.parametrize("n_frequent", [1, 3, 6])
@pytest.mark.parametrize("group", [2, 3])
@torch.no_grad()
def test_probabilities_in_two_steps_are_those_of_the_definition(n_frequent, group, monkeypatch):
    monkeypatch.setattr("film.contexts.generators.GROUP", group)
    torch.manual_seed(0)
    table = TiedEmbedding(7, 4, n_frequent, COUNTS).double()
    torch.nn.init.normal_(table.bias)
    states = torch.randn(5, 4, dtype=torch.float64)
    expected = torch.tensor(
        [looped_probabilities(table, state, group) for state in states], dtype=torch.float64
    )
    torch.testing.assert_close(expected.sum(dim=1), torch.ones(5, dtype=torch.float64))
    rows, tokens = torch.arange(5).repeat_interleave(7), torch.arange(7).repeat(5)
    found = table.log_probabilities(states[rows], tokens)
    torch.testing.assert_close(found.exp().view(5, 7), expected)


@pytest.mark.parametrize("n_frequent", [None, 1, 3])
@torch.no_grad()
def test_counts_are_where_probabilities_start_from(n_frequent, monkeypatch):
    monkeypatch.setattr("film.contexts.generators.GROUP", 2)
    table = TiedEmbedding(7, 4, n_frequent, COUNTS)
    if n_frequent is not None:
        torch.nn.init.zeros_(table.groups.weight)
    found = table.log_probabilities(torch.zeros(7, 4), torch.arange(7)).exp()
    smoothed = torch.tensor(COUNTS) + 1.0
    torch.testing.assert_close(found, smoothed / smoothed.sum())


@torch.no_grad()
def test_the_order_of_frequency_is_kept_with_the_weights(monkeypatch):
    monkeypatch.setattr("film.contexts.generators.GROUP", 2)
    counts = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
    model = made(n_frequent=4, counts=counts)
    other = Generator(11, MINI, max_length=9, n_frequent=4).double().eval()
    other.load_state_dict(model.state_dict())
    batch = triples(4)
    torch.testing.assert_close(other.loss(batch), model.loss(batch), rtol=0, atol=0)
    # Frequent are 5, 7, then 4, 8 and 10, the first two of them.
    ranks = model.vocabulary.ranks
    assert ranks[[5, 7, 4, 8, 10]].tolist() == [0, 1, 2, 3, 4]


@torch.no_grad()
def test_half_precision_sums_in_single():
    torch.manual_seed(0)
    table = TiedEmbedding(3000, 8, None, None).bfloat16()
    found = table.log_probabilities(torch.randn(2, 8).bfloat16(), torch.tensor([5, 6]))
    assert found.dtype == torch.float32


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "'huge' must be one of tiny, small, base, large"),
        ({"size": (10, 3, 1, 1, 4)}, "heads divide"),
        ({"n_frequent": 3, "counts": [1, 2]}, r"counts has shape \(2,\)"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Generator(**{"n_tokens": 9, "size": MINI, **options})


def test_sentences_that_do_not_fit_are_refused():
    model = made()
    with pytest.raises(ValueError, match="10 tokens, more than max_length=9"):
        model.memory(torch.zeros(1, 12, dtype=int), [10], LEFT)

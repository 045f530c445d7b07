"""The generator against itself one sentence at a time, and as a probability distribution."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.contexts.generators import (  # noqa: E402
    CENTRE,
    LEFT,
    RIGHT,
    Generator,
    Size,
    generation_terms,
)
from film.contexts.vocabulary import END  # noqa: E402

MINI = Size(width=8, heads=2, encoder_layers=2, decoder_layers=2, inner=12)


def made(n_tokens=11, seed=0, size=MINI, **options):
    torch.manual_seed(seed)
    model = Generator(n_tokens, size, max_length=9, **options).double().eval()
    with torch.no_grad():
        # Sharper than at the start, so that an error shows.
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def sentences(n, longest=7, n_tokens=11, seed=0):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, longest + 1, (n,), generator=generator)
    return torch.randint(3, n_tokens, (n, longest), generator=generator), lengths


def triples(n):
    return [sentences(n, seed=seed) for seed in range(3)]


def log_likelihood(model, batch, place):
    memories = [model.memory(*batch[at], at) for at in range(3) if at != place]
    return model.log_likelihood(memories, *batch[place], place)


@pytest.mark.parametrize("place", [LEFT, CENTRE, RIGHT])
@torch.no_grad()
def test_tokens_are_predicted_from_those_before_and_the_other_sentences(place):
    """One token at a time, with the layers of the network, in a loop."""
    model = made()
    triple = [[4, 5, 6], [7, 8], [9, 10, 3, 1]]
    states = []
    for at in {LEFT, CENTRE, RIGHT} - {place}:
        tokens = [*triple[at], END]
        x = model.tokens.weight[tokens] + model.positions.weight[: len(tokens)]
        states.append(model.encoder((x + model.read.weight[at])[None]))
    logs = []
    before = [END, *triple[place]]
    for n, token in enumerate([*triple[place], END], start=1):
        x = model.tokens.weight[before[:n]] + model.positions.weight[:n]
        x = (x + model.written.weight[place])[None]
        causal = torch.nn.Transformer.generate_square_subsequent_mask(n, dtype=x.dtype)
        x = model.decoder(x, torch.cat(states, dim=1), tgt_mask=causal)
        logs.append(model.softmax.log_prob(x[0, -1:])[0, model.ranks[token]])
    batch = [(torch.tensor([each]), [len(each)]) for each in triple]
    torch.testing.assert_close(log_likelihood(model, batch, place)[0], torch.stack(logs).mean())


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
    torch.testing.assert_close(model.loss(batch, [place]), expected)
    others = [other for other in range(3) if other != place]
    both = torch.stack([model.loss(batch, [other]) for other in others])
    torch.testing.assert_close(model.loss(batch, others), both.mean())


@torch.no_grad()
def test_the_order_of_frequency_is_kept_with_the_weights():
    counts = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
    model = made(counts=counts)
    other = Generator(11, MINI, max_length=9).double().eval()
    other.load_state_dict(model.state_dict())
    batch = triples(4)
    torch.testing.assert_close(other.loss(batch), model.loss(batch), rtol=0, atol=0)
    # Frequent are 5, 7, then 4, 8 and 10.
    assert model.ranks[[5, 7, 4, 8, 10]].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("huge", "'huge' must be one of tiny, small, base, large"),
        ((10, 3, 1, 1, 4), "heads divide"),
    ],
)
def test_sizes_that_cannot_be_are_refused(size, message):
    with pytest.raises(ValueError, match=message):
        Generator(9, size)


@pytest.mark.parametrize("at_once", [3, 64])
@torch.no_grad()
def test_terms_are_those_of_one_sentence_in_one_context(at_once, monkeypatch):
    monkeypatch.setattr("film.contexts.generators.CONTEXTS_AT_ONCE", at_once)
    model = made()
    centres, lefts, rights = (
        tuple(part.numpy() for part in each)
        for each in (sentences(3, seed=0), sentences(8, seed=1), sentences(8, 5, seed=2))
    )
    found = generation_terms(model, centres, lefts, rights)
    assert found.dtype == np.float32 and found.shape == (3, 8, 3)
    for i, j, column in np.ndindex(3, 8, 3):
        place = (CENTRE, LEFT, RIGHT)[column]
        given = [
            (ids[row : row + 1, : n[row]], n[row : row + 1])
            for (ids, n), row in ((lefts, j), (centres, i), (rights, j))
        ]
        # Only the result is rounded to single precision.
        expected = float(log_likelihood(model, given, place))
        assert found[i, j, column] == pytest.approx(expected, rel=1e-6)

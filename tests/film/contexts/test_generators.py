"""The generator against itself one sentence at a time, and as a probability distribution."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")

from film.contexts.generators import (  # noqa: E402  # noqa: E402
    CENTRE,
    LEFT,
    RIGHT,
    Generator,
    Size,
)
from film.contexts.vocabulary import END  # noqa: E402

MINI = Size(width=8, heads=2, encoder_layers=2, decoder_layers=2, inner=12)


def made(n_tokens=11, seed=0, size=MINI, **options):
    torch.manual_seed(seed)
    model = Generator(n_tokens, size, max_length=9, **options).double().eval()
    with torch.no_grad():
        model.decoder.norm.weight.fill_(1.0)
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


@torch.no_grad()
def test_probabilities_of_the_first_token_sum_to_1_and_start_from_counts():
    """Given the tokens before, all tokens and the end share the probability of 1."""
    model = made()
    memories = [model.memory(*sentences(1, seed=at), at) for at in (LEFT, RIGHT)]
    # One token and the end of a sentence, and the end alone.
    alone = float(model.log_likelihood(memories, torch.zeros(1, 0, dtype=int), [0], CENTRE))
    total = 0.0
    for token in set(range(11)) - {END}:
        before = model._log_probabilities(memories, torch.tensor([[token]]), [1], CENTRE)[0][0]
        total += float(before.exp())
    assert total + np.exp(alone) == pytest.approx(1)
    counts = np.array([5, 0, 9, 9, 1, 7, 3])
    network = Generator(7, MINI, counts=counts)
    torch.nn.init.zeros_(network.tokens)
    first = network.log_likelihood(
        [network.memory([[4]], [1], LEFT)], torch.zeros(1, 0, dtype=int), [0], CENTRE
    )
    assert float(first.exp()) == pytest.approx((counts[END] + 1) / (counts + 1).sum(), rel=1e-5)


@torch.no_grad()
def test_layers_start_from_different_numbers():
    layers = Generator(7, MINI).decoder.layers
    assert not torch.equal(layers[0].linear1.weight, layers[1].linear1.weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "'huge' must be one of tiny, small, base, large"),
        ({"size": (10, 3, 1, 1, 4)}, "heads divide"),
        ({"counts": [1, 2]}, r"counts has shape \(2,\)"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Generator(**{"n_tokens": 9, "size": MINI, **options})


def test_sentences_that_do_not_fit_are_refused():
    model = made()
    with pytest.raises(ValueError, match="10 tokens, more than max_length=9"):
        model.memory(torch.zeros(1, 12, dtype=int), [10], LEFT)

"""Gradients of objectives on mean vectors against texts that go through the model alone."""

import numpy as np
import pytest

from tests.estimators.tokens.test_rcmd_training import (
    PAIRS,
    TRIPLETS,
    gradients,
    make_training,
)

torch = pytest.importorskip("torch", reason="needs the extra neural")
transformers = pytest.importorskip("transformers", reason="needs the extra neural")


def cosine(u, v):
    return torch.nn.functional.cosine_similarity(u, v, dim=0)


def squared(vectors, y, head):
    return torch.stack([(cosine(*row) - score) ** 2 for row, score in zip(vectors, y, strict=True)])


def hinges(vectors, y, head):
    return torch.stack([(0.3 - cosine(a, b) + cosine(a, c)).clamp(min=0) for a, b, c in vectors])


def relations(vectors, y, head):
    joined = torch.stack([torch.cat([u, v, (u - v).abs()]) for u, v in vectors])
    shares = torch.softmax(head(joined), dim=1)
    return -torch.log(torch.stack([row[int(label)] for row, label in zip(shares, y, strict=True)]))


CASES = {
    "l2": (PAIRS[:5], [0.9, -0.3, 0.1, 0.1, 1.0], squared),
    "triplet": (TRIPLETS[:5], None, hinges),
    "nli": (PAIRS[:5], [0.0, 2.0, 1.0, 1.0, 0.0], relations),
}


@pytest.mark.parametrize("micro", [None, 3])
@pytest.mark.parametrize("name", CASES)
def test_gradient_is_that_of_texts_alone(sober_model, name, micro):
    rows, y, losses = CASES[name]
    training = make_training(
        sober_model, rows, y, objective=name, method="avg", margin=0.3, micro_batch_size=micro
    )
    value = training.backward(np.arange(5))

    tokenizer = transformers.AutoTokenizer.from_pretrained(sober_model)
    model = transformers.AutoModel.from_pretrained(sober_model)
    layer = torch.nn.Linear(32, 32)
    torch.nn.init.eye_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    head, own = None, training.objective.module
    if own is not None:
        head = torch.nn.Linear(96, 3)
        head.load_state_dict(own.state_dict())

    def vector(text):
        output = model(**tokenizer(text, return_tensors="pt"))
        return layer(output.last_hidden_state[0]).mean(dim=0)

    expected = losses([[vector(text) for text in row] for row in rows], y, head).mean()
    expected.backward()
    assert value == pytest.approx(float(expected.detach()), rel=1e-5)
    parameters = [*model.parameters(), *layer.parameters(), *(head.parameters() if head else [])]
    by_hand = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    assert max(gradient.abs().max() for gradient in by_hand) > 1e-2
    for mine, theirs in zip(gradients(training), by_hand, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=2e-6)


def test_the_layer_of_relations_starts_by_the_seed_and_leaves_the_random_state_alone(sober_model):
    rows, y, _ = CASES["nli"]
    torch.manual_seed(4)
    before = torch.get_rng_state()
    weights = [
        make_training(sober_model, rows, y, objective="nli", seed=seed).objective.module.weight
        for seed in (0, 0, 1)
    ]
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])

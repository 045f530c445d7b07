"""Batches of the discriminator: every centre once, in runs of neighbours and documents."""

import numpy as np
import pytest

from estimators.contexts.parts.building import split_centres, token_rarity
from estimators.contexts.parts.discriminator_training import (
    RUN,
    RUNS_OF_DOCUMENT,
    DiscriminatorTask,
    SentenceStates,
    run_order,
)

torch = pytest.importorskip("torch", reason="needs the extra neural")

DOCUMENTS = np.repeat(np.arange(12), [100, 3, 1, 60, 80, 2, 41, 90, 33, 8, 7, 120])


def test_an_order_has_each_centre_once_and_neighbours_together():
    orders = [run_order(DOCUMENTS, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(orders[0], orders[1])
    assert orders[0].tolist() != orders[2].tolist()
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(len(DOCUMENTS)))
        is_next = (np.diff(order) == 1) & (np.diff(DOCUMENTS[order]) == 0)
        # One of RUN begins a run, and a few documents are shorter.
        assert is_next.mean() > 1 - 1.3 / RUN
        lengths = np.diff(np.flatnonzero(np.r_[True, np.diff(DOCUMENTS[order]) != 0, True]))
        assert lengths.max() >= RUN * (RUNS_OF_DOCUMENT - 1)
        # Documents are spread: no stretch of a few batches is of one alone.
        assert lengths.max() <= 3 * RUN * RUNS_OF_DOCUMENT


def task(network, documents, codes, **settings):
    states = SentenceStates(network, None, np.eye(len(documents), dtype=np.float32), "cpu")
    rows = np.flatnonzero(documents[2:] == documents[:-2]) + 1
    given = {"sides": 1, "batch_size": 32, "seed": 0} | settings
    return DiscriminatorTask(states, rows, documents, codes, **given)


def test_the_loss_is_that_of_a_loop_over_pairs():
    from film.contexts import Interaction

    torch.manual_seed(0)
    documents = np.repeat([0, 1, 2], [30, 14, 6])
    codes = np.arange(50)
    codes[[5, 25, 40]] = 5
    network = Interaction(50, width=3)
    given = task(network, documents, codes)
    rows = np.array([2, 3, 5, 14, 25, 28, 32, 40, 46, 48])
    left, right, centre = (
        part(torch.eye(50)).detach().numpy()
        for part in (network.left, network.right, network.centre)
    )
    total, n_rows = 0.0, 0
    for i in rows:
        logits = {j: float((left[i - 1] + right[i + 1]) @ centre[j]) for j in rows}
        kinds: dict[bool, list[float]] = {True: [], False: []}
        for j in rows:
            near = documents[i] == documents[j] and abs(i - j) < RUN
            if j != i and not near and codes[i] != codes[j]:
                kinds[documents[i] == documents[j]].append(np.log1p(np.exp(logits[j])))
        means = [np.mean(kind) for kind in kinds.values() if kind]
        total += (np.log1p(np.exp(-logits[i])) + np.mean(means)) / 2
        n_rows += 1
    np.testing.assert_allclose(float(given.loss(rows).detach()), total / n_rows, rtol=1e-5)


def test_a_batch_of_one_text_has_no_effect():
    from film.contexts import Interaction

    network = Interaction(50, width=3)
    loss = task(network, np.zeros(50, int), np.zeros(50, int)).loss(np.array([3, 20, 40]))
    loss.backward()
    assert float(loss.detach()) == 0 and not any(p.grad.any() for p in network.parameters())


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3])
def test_whole_documents_are_held_out(share):
    centres = np.flatnonzero(np.r_[False, DOCUMENTS[2:] == DOCUMENTS[:-2], False])
    learned, held = split_centres(centres, DOCUMENTS, share, seed=0)
    np.testing.assert_array_equal(np.sort(np.r_[learned, held]), centres)
    assert not set(DOCUMENTS[learned]) & set(DOCUMENTS[held])
    assert share * len(centres) <= len(held) <= share * len(centres) + 120 and len(learned)


def test_one_document_is_learned_from_whole():
    learned, held = split_centres(np.arange(5), np.zeros(5, int), 0.5, seed=0)
    assert len(learned) == 5 and not len(held)


def test_rare_tokens_weigh_more(monkeypatch):
    from film.contexts import IdTable

    table = IdTable(np.array([1, 1, 2, 2, 3, 2], np.int32), np.array([0, 3, 5, 6, 6]))
    expected = np.maximum(np.log(4 / (1 + np.array([0, 1, 3, 1, 0]))), 0)
    for rows in (8192, 2):
        monkeypatch.setattr("estimators.contexts.parts.building.ROWS_OF_BLOCK", rows)
        np.testing.assert_allclose(token_rarity(table, 5), expected)

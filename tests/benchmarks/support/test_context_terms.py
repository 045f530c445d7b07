from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import sqrtm

from benchmarks.support import context_terms
from benchmarks.support.context_terms import score_pairs, tuned_weights

PAIRS = np.array([["a", "b"], ["b", "c"], ["a", "long text"], ["none", "c"]], dtype=object)


class Model:
    """Contexts and terms that follow from the texts alone; "none" has no context."""

    def __init__(self):
        self.calls = 0

    def contexts_of(self, texts, n_contexts):
        numbers = [sum(map(ord, text)) for text in texts]
        some = [3 if text == "c" else n_contexts for text in texts]
        return [
            np.arange(n) + number if text != "none" else np.empty(0, np.int64)
            for text, number, n in zip(texts, numbers, some, strict=True)
        ]

    def terms(self, texts, contexts):
        self.calls += 1
        rows = [[one_term(text, c, t) for c in contexts for t in range(4)] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), len(contexts), 4)

    def levels(self, texts):
        return np.array([one_term(text, 0, 5) for text in texts])

    def reference_terms(self, contexts):
        """Two of these say almost the same of all contexts."""
        return np.array([[one_term(f"{r}", c, 6) for c in contexts] for r in (1, 2, 3, 3.0)])


def one_term(text, context, number):
    return -np.random.default_rng([*map(ord, text), int(context), number]).random()


def by_hand(one, other, weights, size, centre, reference=()):
    sets = [rows[:size] for rows in Model().contexts_of([one, other], 5)]
    contexts = np.concatenate(sets).tolist()
    v = []
    for text in (one, other):
        terms = table([text], contexts)[0]
        if centre in ("reference", "whitened") and reference:
            terms = terms - table(reference, contexts).mean(axis=0)
        if centre in ("contexts", "whitened"):
            terms = terms - terms.mean(axis=0)
        if centre == "whitened":
            spread = Model().reference_terms(contexts)
            first = table([text], contexts)[0, :, 0]
            terms[:, 0] = first - one_term(text, 0, 5) - spread.mean(axis=0)
            spread = spread - spread.mean(axis=0)
            covariance = spread.T @ spread / 4
            ridge = 0.1 * np.trace(covariance) / len(contexts) * np.eye(len(contexts))
            terms = np.linalg.solve(sqrtm(covariance + ridge), terms)
        v.append(terms @ weights)
    return v[0] @ v[1] / np.linalg.norm(v[0]) / np.linalg.norm(v[1])


def table(texts, contexts):
    return np.array(
        [[[one_term(text, c, t) for t in range(4)] for c in contexts] for text in texts]
    )


@pytest.mark.parametrize("centre", ["raw", "contexts", "reference", "whitened"])
@pytest.mark.parametrize("size", [None, 2, 5])
@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (0, 2, 0.5, 1)])
def test_recombined_terms_are_eq_4(tmp_path, centre, size, weights):
    reference = ["x", "y"]
    terms = score_pairs(Model(), PAIRS, 5, tmp_path, reference=reference)
    expected = [by_hand(*pair, weights, size or 5, centre, reference) for pair in PAIRS]
    # Terms are float32.
    assert terms.similarity(weights, centre=centre, size=size) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("centre", ["reference", "whitened"])
def test_terms_of_generators_need_those_of_reference_texts(tmp_path, centre):
    bare = score_pairs(Model(), PAIRS[:1], 4, tmp_path)
    with pytest.raises(ValueError, match=f"centre='{centre}' needs terms of reference texts"):
        bare.similarity(centre=centre)


def test_the_discriminator_alone_needs_no_reference_texts(tmp_path):
    class Discriminating(Model):
        def terms(self, texts, contexts):
            return super().terms(texts, contexts) * np.float32([1, 0, 0, 0])

    terms = score_pairs(Discriminating(), PAIRS, 4, tmp_path)
    weights = (1, 0, 0, 0)
    expected = [by_hand(*pair, weights, 4, "whitened") for pair in PAIRS]
    assert terms.similarity() == pytest.approx(expected, abs=1e-6)


def test_a_pair_without_contexts_has_similarity_0(tmp_path):
    pairs = np.array([["none", "none"], ["a", "b"]], dtype=object)
    found = score_pairs(Model(), pairs, 3, tmp_path).similarity(centre="contexts")
    assert found[0] == 0 and found[1] != 0


def test_what_is_scored_is_not_scored_again(tmp_path, monkeypatch):
    monkeypatch.setattr(context_terms, "BLOCK", 1)
    done = []

    class Interrupted(Model):
        def terms(self, texts, contexts):
            if self.calls == 2:
                raise KeyboardInterrupt
            return super().terms(texts, contexts)

    with pytest.raises(KeyboardInterrupt):
        score_pairs(Interrupted(), PAIRS, 5, tmp_path, advance=done.append)
    assert done == [1, 1]
    model = Model()
    resumed = score_pairs(model, PAIRS, 5, tmp_path)
    assert model.calls == 2
    whole = score_pairs(Model(), PAIRS, 5, tmp_path / "whole")
    assert np.array_equal(resumed.terms, whole.terms, equal_nan=True)
    assert resumed.centre is None and resumed.seconds > 0
    with pytest.raises(ValueError, match="holds terms of other pairs or sizes; remove it"):
        score_pairs(Model(), PAIRS, 6, tmp_path)


def test_contexts_may_be_chosen_otherwise(tmp_path):
    asked = []

    def choose(texts, size):
        asked.append((texts, size))
        return [np.arange(4)] * len(texts)

    terms = score_pairs(Model(), PAIRS[:1], 2, tmp_path, choose=choose)
    assert asked == [(["a", "b"], 2)]
    expected = Model().terms(["a"], np.array([0, 1, 0, 1]))
    assert np.array_equal(terms.terms[0, 0], expected[0])


def test_tuned_weights_leave_out_the_term_that_is_noise(tmp_path):
    terms = score_pairs(Model(), np.repeat(PAIRS[:3], 20, axis=0), 5, tmp_path)
    # Where nothing tells them apart, all stay 1.
    assert tuned_weights(terms, np.ones(60), centre="contexts") == (1.0, 1.0, 1.0, 1.0)
    rng = np.random.default_rng(0)
    good = rng.normal(size=(60, 2, 10))
    good[:30, 1] = good[:30, 0]
    noisy = np.stack([8 * rng.normal(size=(60, 2, 10)), good, good, good], axis=3)
    scores = np.repeat([1.0, 0.0], 30)
    noisy = replace(terms, terms=noisy.astype(np.float32))
    weights = tuned_weights(noisy, scores, centre="contexts")
    assert weights[:2] == (0.0, 1.0)

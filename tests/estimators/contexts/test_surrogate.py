"""SurrogateRegressor: losses on the vectors of texts, units of y, vectors, explanations, saving."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from estimators import RCMDRegressor, SentenceEncoder, SurrogateRegressor
from estimators.contexts import surrogate
from estimators.training.loop import Training
from tests.estimators.tiny_model import MAX_TOKENS
from tests.estimators.tokens.test_rcmd_training import LABELS, PAIRS, TRIPLETS

torch = pytest.importorskip("torch", reason="needs the extra neural")
transformers = pytest.importorskip("transformers", reason="needs the extra neural")

COSINES = [1 - 2 * (row % 8) / 8 for row in range(16)]
RELATIONS = [("entailment", "neutral", "contradiction")[row % 3] for row in range(16)]
TEXTS = [text for pair in PAIRS for text in pair]


def make(folder, **parameters) -> Any:
    settings = {
        "max_length": MAX_TOKENS,
        "device": "cpu",
        "epochs": 2,
        "train_batch_size": 6,
        "learning_rate": 1e-3,
        "random_state": 0,
    }
    return SurrogateRegressor(folder, **settings | parameters)


@pytest.fixture(scope="module")
def fitted(tiny_model) -> Any:
    return make(tiny_model).fit(PAIRS, COSINES)


def vectors_alone(folder, texts) -> np.ndarray:
    """Mean of the token vectors of each text, which goes through the model alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        found = [model(**tokenizer(text, return_tensors="pt")) for text in texts]
    return np.stack([each.last_hidden_state[0].mean(dim=0).numpy() for each in found])


def test_similarity_is_the_cosine_of_mean_vectors(tiny_model):
    model = make(tiny_model, epochs=0).fit(PAIRS)
    u, v = (vectors_alone(tiny_model, side) for side in zip(*PAIRS, strict=True))
    expected = (u * v).sum(axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    np.testing.assert_allclose(model.similarity(PAIRS), expected, rtol=0, atol=1e-5)
    means = RCMDRegressor(tiny_model, plan="avg", max_length=MAX_TOKENS, device="cpu").fit(PAIRS)
    np.testing.assert_allclose(model.similarity(PAIRS), means.similarity(PAIRS), rtol=0, atol=1e-6)


def test_encoding_in_order_of_length_gives_the_vectors_of_texts_alone(tiny_model):
    model = make(tiny_model, epochs=0, batch_size=2).fit(PAIRS)
    texts = [*TEXTS[::3], "", "a", TEXTS[0], " ".join(["chess"] * 40)]
    together = model.transform(texts)
    assert together.dtype == np.float32 and together.shape == (len(texts), 32)
    # Sums over another number of padded places round otherwise: some 1e-6 of entries of size 1.
    np.testing.assert_allclose(together, vectors_alone(tiny_model, texts), rtol=0, atol=1e-5)
    alone = np.concatenate([model.transform([text]) for text in texts])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)


def test_a_range_of_scores_is_learned_as_cosines_from_0_to_1(sober_model):
    # From -1 to 3, in steps that floats hold exactly.
    y = np.array([1.0 + 2 * each for each in COSINES])
    ranged = make(sober_model, score_range=(-1, 3)).fit(PAIRS, y)
    plain = make(sober_model).fit(PAIRS, (y + 1) / 4)
    np.testing.assert_array_equal(ranged.similarity(PAIRS), plain.similarity(PAIRS))
    np.testing.assert_allclose(ranged.predict(PAIRS), 4 * plain.predict(PAIRS) - 1, atol=1e-9)


def test_contributions_sum_to_the_similarity(fitted):
    explained = fitted.explain(PAIRS)
    sums = [explanation.contributions.sum() for explanation in explained]
    np.testing.assert_allclose(sums, [each.similarity for each in explained], atol=1e-12)
    np.testing.assert_allclose(sums, fitted.similarity(PAIRS), rtol=0, atol=1e-6)
    # The share of two tokens is their product over the lengths of texts and of means.
    tokens = fitted.encoder_.transform([text for pair in PAIRS for text in pair])
    x1, x2 = (tokens[row].astype(float) for row in range(2))
    shares = x1 @ x2.T / len(x1) / len(x2)
    shares /= np.linalg.norm(x1.mean(axis=0)) * np.linalg.norm(x2.mean(axis=0))
    np.testing.assert_allclose(explained[0].contributions, shares, rtol=0, atol=1e-9)


def test_fit_takes_pairs_and_transform_texts_so_that_both_at_once_are_refused(tiny_model):
    model = SurrogateRegressor(tiny_model, device="cpu")
    with pytest.raises(TypeError, match="fit with pairs of texts, then transform with texts"):
        model.fit_transform(PAIRS)
    assert not hasattr(model, "encoder_")


def test_the_saved_folder_is_an_ordinary_model(fitted, tmp_path):
    fitted.save(tmp_path / "saved")
    assert not (tmp_path / "saved" / "film_head.safetensors").exists()
    vectors = fitted.transform(TEXTS)
    encoder = SentenceEncoder(str(tmp_path / "saved"), max_length=MAX_TOKENS, device="cpu")
    np.testing.assert_array_equal(encoder.fit_transform(TEXTS), vectors)
    np.testing.assert_allclose(vectors_alone(tmp_path / "saved", TEXTS), vectors, rtol=0, atol=1e-5)


def masses(tokens) -> np.ndarray:
    return tokens / np.linalg.norm(tokens, axis=-1, keepdims=True)


def test_losses_of_the_first_step_are_those_of_single_texts(sober_model):
    """Every objective against its definition on vectors of texts that were encoded alone."""
    whole = {"epochs": 1, "train_batch_size": 16}
    a, b, c = (vectors_alone(sober_model, side) for side in zip(*TRIPLETS, strict=True))
    near, far = (masses(a) * masses(b)).sum(axis=1), (masses(a) * masses(c)).sum(axis=1)
    y = np.array(COSINES)
    weights = np.maximum(0, y - y[:, None])
    costs = weights * np.log1p(np.exp((near[:, None] - near) / 0.05))
    others = masses(a) @ masses(np.concatenate([b, c])).T / 0.05
    log_shares = others - np.log(np.exp(others).sum(axis=1, keepdims=True))
    expected = {
        "l2": np.mean((near - y) ** 2),
        "regression": costs.sum() / weights.sum(),
        "triplet": np.maximum(0, 0.2 + far - near).mean(),
        "contrastive": -np.diagonal(log_shares).mean(),
    }
    for objective, value in expected.items():
        rows, targets = (PAIRS, COSINES) if objective in ("l2", "regression") else (TRIPLETS, None)
        model = make(sober_model, objective=objective, **whole).fit(rows, targets)
        # Rows that share a text are no negatives of each other: there are none here.
        assert model.loss_curve_[0] == pytest.approx(value, rel=1e-4), objective


def first_head(model_folder, **parameters):
    """Weights of the layer of relations before the first step, and the loss of that step."""
    kept: dict = {}
    backward = Training.backward

    def keeping(self, rows):
        head = self.objective.module
        kept.setdefault("weight", head.weight.detach().numpy().copy())
        kept.setdefault("bias", head.bias.detach().numpy().copy())
        return backward(self, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "backward", keeping)
        model = make(model_folder, objective="nli", **parameters).fit(PAIRS, RELATIONS)
    return kept["weight"], kept["bias"], model


def test_relations_are_read_off_both_vectors_and_their_difference(sober_model):
    weight, bias, model = first_head(sober_model, epochs=1, train_batch_size=16)
    u, v = (vectors_alone(sober_model, side) for side in zip(*PAIRS, strict=True))
    logits = np.concatenate([u, v, np.abs(u - v)], axis=1) @ weight.T + bias
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    # entailment 0, neutral 1, contradiction 2.
    expected = -np.mean([logits[row, row % 3] for row in range(16)])
    assert model.loss_curve_[0] == pytest.approx(expected, rel=1e-4)
    numbers = make(sober_model, objective="nli", epochs=1, train_batch_size=16)
    assert numbers.fit(PAIRS, [row % 3 for row in range(16)]).loss_curve_ == model.loss_curve_
    assert (model.slope_, model.intercept_) == (1.0, 0.0)
    np.testing.assert_array_equal(model.predict(PAIRS), model.similarity(PAIRS))


def test_relations_can_be_learned_and_the_layer_is_dropped(sober_model, tmp_path):
    model = make(
        sober_model, objective="nli", epochs=60, train_batch_size=16, learning_rate=5e-3
    ).fit(PAIRS, ["entailment" if label == "same" else "contradiction" for label in LABELS])
    assert model.loss_curve_[-1] < 0.2 * model.loss_curve_[0]
    model.save(tmp_path / "saved")
    weights = [path.name for path in (tmp_path / "saved").glob("*.safetensors")]
    assert weights == ["model.safetensors"]
    # Entailment is the closest relation.
    found = spearmanr(model.similarity(PAIRS), [-(row % 3) for row in range(16)])[0]
    assert model.score(PAIRS, RELATIONS) == pytest.approx(found)


@pytest.mark.parametrize(
    ("parameters", "rows", "y", "message"),
    [
        ({}, PAIRS, [3.0, *COSINES[1:]], r"y row 0 is 3, .*score_range=.*objective='regression'"),
        ({"score_range": (0, 1)}, PAIRS, COSINES, r"y row 5 is -0.25, .*\(0, 1\): widen it"),
        ({"score_range": (1, 0)}, PAIRS, COSINES, "score_range=.* lower score first"),
        ({"score_range": 5}, PAIRS, COSINES, "score_range=5 must be a tuple"),
        ({}, PAIRS, None, "y is None, but objective='l2'"),
        ({}, TRIPLETS, COSINES, "pairs row 0 holds 3 entries"),
        ({"objective": "nli"}, PAIRS, [3, *RELATIONS[1:]], "y row 0 is 3; it must be one of"),
        ({"objective": "nli"}, PAIRS, ["-", *RELATIONS[1:]], "y row 0 is '-'.*drop rows"),
        ({"objective": "nli"}, PAIRS, RELATIONS[1:], r"y has shape \(15,\) for 16 pairs"),
        ({"objective": "nli"}, PAIRS, ["neutral"] * 16, "y is 'neutral' for all 16 pairs"),
        ({"objective": "nli"}, PAIRS, None, "y is None, but objective='nli'"),
        ({"objective": "triplet"}, PAIRS, None, "pairs row 0 holds 2 entries"),
        ({"objective": "triplet"}, TRIPLETS, COSINES, "y is given"),
        ({"objective": "rank"}, PAIRS, COSINES, "objective='rank'"),
    ],
)
def test_bad_input_is_named_before_any_step(tiny_model, monkeypatch, parameters, rows, y, message):
    monkeypatch.setattr(Training, "run", lambda self: pytest.fail("work began"))
    with pytest.raises((TypeError, ValueError), match=message):
        make(tiny_model, **parameters).fit(rows, y)


@pytest.mark.parametrize(
    ("call", "cut"),
    [
        (lambda model, pairs: model.similarity(pairs), "cut 5 of 10"),
        (lambda model, pairs: model.fit(pairs, range(5)), "cut 5 of 10"),
        (lambda model, pairs: model.transform([text for pair in pairs for text in pair]), "cut 5"),
    ],
)
def test_cut_texts_are_counted_in_one_warning(tiny_model, monkeypatch, call, cut):
    monkeypatch.setattr(surrogate, "TEXTS_AT_ONCE", 3)
    long = "a b a b a b"
    pairs = [(long, long), ("a", "b"), ("b", long), ("cat", "dog"), ("a b cat dog dog", long)]
    model = make(tiny_model, epochs=0, max_length=5).fit(pairs)
    with pytest.warns(UserWarning) as caught:
        call(model, pairs)
    [warning] = caught
    assert cut in str(warning.message) and warning.filename == __file__

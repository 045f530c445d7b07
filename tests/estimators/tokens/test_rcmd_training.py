"""RCMDRegressor learns: gradients, best weights, interruptions, objectives, bad input."""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn import base
from sklearn.model_selection import GridSearchCV

from estimators import RCMDRegressor
from estimators.encoders.transformer import Transformer
from estimators.training.loop import Training
from estimators.training.objectives import Examples
from estimators.training.settings import Settings
from tests.estimators.tiny_model import MAX_TOKENS

torch = pytest.importorskip("torch", reason="needs the extra neural")
transformers = pytest.importorskip("transformers", reason="needs the extra neural")

clone: Any = base.clone
NOUNS = ("chess", "cat", "dog", "mat", "age", "earth", "way", "run")
FRAMES = (
    ("how do i learn {}", "what is the best way to learn {}"),
    ("the {} sat", "old {} sat on"),
)
PAIRS = [(first.format(noun), second.format(noun)) for first, second in FRAMES for noun in NOUNS]
SCORES = [float(5 - 5 * (row % 8) / 8) for row in range(16)]
LABELS = ["same" if row % 8 < 4 else "other" for row in range(16)]
TRIPLETS = [(*pair, PAIRS[(row + 1) % 16][1] + " well") for row, pair in enumerate(PAIRS)]


def make(folder, **parameters) -> Any:
    settings = {
        "max_length": MAX_TOKENS,
        "device": "cpu",
        "epochs": 2,
        "train_batch_size": 6,
        "learning_rate": 1e-3,
        "random_state": 0,
    }
    return RCMDRegressor(folder, **settings | parameters)


def make_training(folder, columns, y=None, **settings) -> Training:
    transformer = Transformer(folder, "cpu", None, 0)
    transformer.add_head()
    rows = np.array(columns, dtype=object)
    texts, codes = np.unique(rows.ravel(), return_inverse=True)
    base = {
        "method": "rcmd",
        "objective": "contrastive" if y is None else "regression",
        "temperature": 0.1,
        "learning_rate": 1e-3,
        "epochs": 1.0,
        "batch_size": 8,
        "micro_batch_size": None,
        "eval_steps": 10,
        "special_tokens": True,
        "dtype": "float32",
        "seed": 0,
    }
    examples = Examples(
        transformer.tokenize(texts.tolist(), 32), codes.reshape(rows.shape),
        None if y is None else np.array(y), None,
    )  # fmt: skip
    return Training(
        transformer,
        examples,
        Settings(**base | settings),
        evaluate=None,
        verbose=0,
    )


def gradients(training: Training) -> list:
    found = [p.grad if p.grad is not None else torch.zeros_like(p) for p in training.parameters]
    return [gradient.clone() for gradient in found]


def plain_gradients(folder, rows, loss) -> tuple[float, list]:
    """Loss and gradients where every text goes through the model alone, and cosines are dense."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder)
    head = torch.nn.Linear(model.config.hidden_size, model.config.hidden_size)
    torch.nn.init.eye_(head.weight)
    torch.nn.init.zeros_(head.bias)

    def tokens(text):
        return head(model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0])

    def similarity(text1, text2):
        u, v = (torch.nn.functional.normalize(tokens(text), dim=1) for text in (text1, text2))
        S = u @ v.T
        return (S.max(dim=1).values.mean() + S.max(dim=0).values.mean()) / 2

    value = loss(rows, similarity)
    value.backward()
    parameters = [*model.parameters(), *head.parameters()]
    found = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    return float(value.detach()), found


def contrast(rows, similarity):
    others = [row[column] for column in range(1, len(rows[0])) for row in rows]
    table = torch.stack([torch.stack([similarity(row[0], o) for o in others]) for row in rows])
    return torch.nn.functional.cross_entropy(table / 0.1, torch.arange(len(rows)))


def ranking(y):
    def loss(rows, similarity):
        s = [similarity(*row) for row in rows]
        orders = [(i, j) for i in range(len(y)) for j in range(len(y)) if y[i] < y[j]]
        costs = [(y[j] - y[i]) * torch.log1p(torch.exp((s[i] - s[j]) / 0.1)) for i, j in orders]
        return sum(costs) / sum(y[j] - y[i] for i, j in orders)

    return loss


@pytest.mark.parametrize("micro", [None, 3])
@pytest.mark.parametrize(
    ("rows", "y"),
    [(PAIRS[:5], None), (TRIPLETS[:5], None), (PAIRS[:5], [0.0, 3.0, 1.0, 1.0, 5.0])],
    ids=["partners", "hard negatives", "scores"],
)
def test_gradient_is_that_of_single_texts_and_dense_cosines(sober_model, rows, y, micro):
    training = make_training(sober_model, rows, y, micro_batch_size=micro)
    value = training.backward(np.arange(5))
    loss = contrast if y is None else ranking(y)
    expected, by_hand = plain_gradients(sober_model, rows, loss)
    assert value == pytest.approx(expected, rel=1e-5)
    assert max(gradient.abs().max() for gradient in by_hand) > 1e-2
    for mine, theirs in zip(gradients(training), by_hand, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=2e-6)


def test_partners_of_a_batch_are_no_negatives_of_each_other(sober_model):
    rows = [(PAIRS[0][0], PAIRS[0][1]), (PAIRS[1][0], PAIRS[0][1]), (PAIRS[0][0], PAIRS[2][1])]

    def loss(rows, similarity):
        table = torch.stack([torch.stack([similarity(a, b) for _, b in rows]) for a, _ in rows])
        # Rows 0 and 1 share their partner, rows 0 and 2 their anchor.
        mask = torch.zeros(3, 3, dtype=torch.bool)
        for i, j in ((0, 1), (1, 0), (0, 2), (2, 0)):
            mask[i, j] = True
        return torch.nn.functional.cross_entropy(
            table.masked_fill(mask, -torch.inf) / 0.1, torch.arange(3)
        )

    value = make_training(sober_model, rows).backward(np.arange(3))
    assert value == pytest.approx(plain_gradients(sober_model, rows, loss)[0], rel=1e-5)


def test_a_rate_of_zero_changes_nothing_so_the_head_starts_as_the_identity(tiny_model):
    plain = make(tiny_model, epochs=0).fit(PAIRS)
    still = make(tiny_model, learning_rate=0).fit(PAIRS, SCORES)
    np.testing.assert_allclose(still.similarity(PAIRS), plain.similarity(PAIRS), rtol=0, atol=1e-6)


@pytest.mark.parametrize("special", [True, False])
def test_special_tokens_and_weights_count_in_training_as_in_scoring(sober_model, special):
    weights = {"cat": 3.0, "the": 0.0, "[SEP]": 0.5}
    model = make(
        sober_model, special_tokens=special, weights=weights, epochs=1, train_batch_size=16,
        temperature=0.1, train_max_length=MAX_TOKENS,
    ).fit(PAIRS, SCORES)  # fmt: skip
    before = make(
        sober_model, special_tokens=special, weights=weights, epochs=0, temperature=0.1
    ).fit(PAIRS)
    s, y = before.similarity(PAIRS), np.array(SCORES)
    weights = np.maximum(0, y - y[:, None])
    costs = weights * np.log1p(np.exp((s[:, None] - s) / 0.1))
    assert model.loss_curve_[0] == pytest.approx(costs.sum() / weights.sum(), rel=1e-5)


def test_the_weights_of_the_best_score_are_kept(tiny_model, monkeypatch):
    asked: list = []

    def judged(self, encoder, table, rows, targets):
        asked.append(encoder.loaded().arrays())
        return [0.1, 0.7, 0.3, 0.7][len(asked) - 1]

    monkeypatch.setattr(RCMDRegressor, "_judged", judged)
    model = make(tiny_model, epochs=4 / 3, eval_steps=1).fit(
        PAIRS, SCORES, eval_set=(PAIRS[:4], SCORES[:4])
    )
    assert model.scores_ == [(1, 0.1), (2, 0.7), (3, 0.3), (4, 0.7)]
    kept = model.encoder_.loaded().arrays()
    assert all(np.array_equal(kept[name], asked[1][name]) for name in kept)
    assert not all(np.array_equal(kept[name], asked[3][name]) for name in kept)


def test_lack_of_gpu_memory_says_what_may_fit(tiny_model, monkeypatch):
    def full(self, rows):
        raise torch.cuda.OutOfMemoryError("no memory")

    monkeypatch.setattr(Training, "backward", full)
    with pytest.raises(MemoryError, match="6 rows; give micro_batch_size=6"):
        make(tiny_model).fit(PAIRS, SCORES)
    with pytest.raises(MemoryError, match="micro_batch_size=2"):
        make(tiny_model, micro_batch_size=4).fit(PAIRS, SCORES)


def test_eval_set_through_metadata_routing(tiny_model):
    held = (PAIRS[:5], SCORES[:5])
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(tiny_model).set_fit_request(eval_set=True)
        search = GridSearchCV(model, {"epochs": [1, 2]}, cv=2).fit(PAIRS, SCORES, eval_set=held)
    assert len(search.best_estimator_.scores_) == 1


@pytest.mark.parametrize(
    ("parameters", "rows", "y", "message"),
    [
        ({}, TRIPLETS, SCORES, "pairs row 0 holds 3 entries"),
        ({}, PAIRS, None, "y is None, but objective='regression'"),
        ({"objective": "contrastive"}, PAIRS, SCORES, "y is given"),
        ({"objective": "contrastive"}, PAIRS[:1], None, "pairs has 1 row"),
        ({"objective": "contrastive"}, [("a", "b", "a")] * 2, None, "pairs row 0 holds one text"),
        ({"objective": "contrastive"}, [("a", "b", "c"), ("a", "b")], None, "pairs row 1 holds 2"),
        ({"objective": "contrastive", "train_batch_size": 1}, PAIRS, None, "train_batch_size=1"),
        ({"plan": "cmd"}, PAIRS, SCORES, "plan='cmd' cannot be trained"),
        ({"train_max_length": 500}, PAIRS, SCORES, "train_max_length=500"),
    ],
)
def test_bad_input_is_named_before_any_step(tiny_model, monkeypatch, parameters, rows, y, message):
    if parameters.get("plan") == "cmd":
        pytest.importorskip("ot", reason="needs the extra transport")
    monkeypatch.setattr(Training, "run", lambda self: pytest.fail("work began"))
    with pytest.raises((TypeError, ValueError), match=message):
        make(tiny_model, **parameters).fit(rows, y)


def test_bad_eval_sets_are_named(tiny_model):
    with pytest.raises(TypeError, match="eval_set must be a tuple"):
        make(tiny_model).fit(PAIRS, SCORES, eval_set=PAIRS)
    with pytest.raises(ValueError, match=r"y of eval_set\[0\] is None"):
        make(tiny_model).fit(PAIRS, SCORES, eval_set=(PAIRS, None))


def test_a_loss_that_is_not_finite_ends_the_run(tiny_model, monkeypatch):
    monkeypatch.setattr(Training, "backward", lambda self, rows: float("nan"))
    with pytest.raises(ValueError, match="the loss is nan at step 0: lower learning_rate"):
        make(tiny_model).fit(PAIRS, SCORES)

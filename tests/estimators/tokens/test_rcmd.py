"""RCMDRegressor scores by the papers' plans over plain transformers vectors."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from estimators import RCMDRegressor
from film.tokens.transport import METHODS
from tests.estimators.tiny_model import MAX_TOKENS, bare_model, plain_tokens

torch = pytest.importorskip("torch", reason="needs the extra neural")
transformers = pytest.importorskip("transformers", reason="needs the extra neural")

PAIRS = [
    ("How do I learn chess?", "what is the best way to learn chess"),
    ("the cat sat on the mat", "a dog sat on the mat."),
    ("", "a"),
    ("?!.", "the cat, running"),
    ("👩‍👩‍👧 running\u200d", "שלום a שלום"),
]
GIVEN = {"cat": 0.0, "##ning": 2.5, "the": 0.25, "[SEP]": 0.0}
KINDS = [pytest.param(kind, id=kind) for kind in METHODS]


def make(folder, **parameters) -> RCMDRegressor:
    if parameters.get("plan") == "cmd":
        pytest.importorskip("ot", reason="needs the extra transport")
    return RCMDRegressor(folder, **{"max_length": MAX_TOKENS, "device": "cpu"} | parameters)


def least_cost(S, a, b):
    """Exact transport as a linear programme."""
    rows = [np.kron(row, np.ones(len(b))) for row in np.eye(len(a))]
    columns = [np.tile(column, len(a)) for column in np.eye(len(b))]
    found = linprog(1 - S.ravel(), A_eq=rows + columns, b_eq=np.concatenate([a, b]))
    return 1 - found.fun


def by_hand(kind, x1, w1, x2, w2):
    a, b = w1 / w1.sum(), w2 / w2.sum()
    S = np.array([[u @ v / np.linalg.norm(u) / np.linalg.norm(v) for v in x2] for u in x1])
    rows = sum(a[i] * max(S[i]) for i in range(len(a)))
    columns = sum(b[j] * max(S[:, j]) for j in range(len(b)))
    s1, s2 = a @ x1, b @ x2
    means = s1 @ s2 / np.linalg.norm(s1) / np.linalg.norm(s2)
    if kind == "cmd":
        return least_cost(S, a, b)
    both = (rows + columns) / 2
    of_both = {"rcmd": both, "avg": means, "rcmd+avg": (both + means) / 2}
    return (of_both | {"rcmd1": rows, "rcmd2": columns, "cls": S[0, 0]})[kind]


@pytest.mark.parametrize("weights", [None, GIVEN], ids=["alike", "given"])
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_similarity_is_that_of_a_plain_loop(tiny_model: Path, kind, special, weights):
    if kind == "cls" and (weights or not special):
        pytest.skip("not allowed")
    pairs = [pair for pair in PAIRS if special or "" not in pair]
    model = make(tiny_model, plan=kind, special_tokens=special, weights=weights).fit(pairs)
    expected = []
    for pair in pairs:
        sides = []
        for names, vectors, marks in plain_tokens(tiny_model, pair):
            kept = np.ones(len(marks), dtype=bool) if special else ~marks
            masses = np.array([(weights or {}).get(name, 1.0) for name in names])[kept]
            sides += [vectors[kept], masses]
        expected.append(by_hand(kind, *sides))
    found, explained = model.similarity(pairs), model.explain(pairs)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    sums = [explanation.contributions.sum() for explanation in explained]
    np.testing.assert_allclose(sums, found, rtol=0, atol=1e-6)
    assert {explanation.title for explanation in explained} == {kind.upper()}


@pytest.mark.parametrize("weights", [None, "idf", "words", GIVEN])
def test_the_table_of_weights_is_of_the_vocabulary_and_is_kept(tiny_model, weights, tmp_path):
    model = make(tiny_model, weights=weights).fit(PAIRS)
    model.save(tmp_path / "saved")
    again = RCMDRegressor.load(tmp_path / "saved")
    if weights is None:
        assert model.token_weights_ is None and again.token_weights_ is None
        return
    entries = model.encoder_.loaded().tokenizer.get_vocab()
    table = {name: model.token_weights_[entry] for name, entry in entries.items()}
    assert len(table) == len(model.token_weights_) == len(again.token_weights_)
    np.testing.assert_array_equal(again.token_weights_, model.token_weights_)
    if weights == GIVEN:
        assert table == dict.fromkeys(entries, 1.0) | GIVEN
    elif weights == "words":
        assert table["cat"] == 1 and table["?"] == table["."] == 0
    else:
        assert table["the"] < table["chess"] < table["dog"] < table["b"]
        # Counted on the texts of fit alone, of which there are none here.
        unread = RCMDRegressor.load(tmp_path / "saved", weights="idf").token_weights_
        assert len(np.unique(unread)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_a_pair_matters_to_one_sided_plans_alone(tiny_model, kind):
    model = make(tiny_model, plan=kind).fit(PAIRS)
    there = model.similarity(PAIRS)
    back = model.similarity([pair[::-1] for pair in PAIRS])
    if kind in ("rcmd1", "rcmd2"):
        assert np.abs(there - back).max() > 1e-3
        other = make(tiny_model, plan={"rcmd1": "rcmd2", "rcmd2": "rcmd1"}[kind]).fit(PAIRS)
        there = other.similarity(PAIRS)
    np.testing.assert_allclose(there, back, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        ({"plan": None}, ValueError, "plan=None must be one of"),
        ({"epochs": 1}, ValueError, "y is None.*epochs=0 to train nothing"),
        ({"plan": "cls", "weights": "idf"}, ValueError, "one token per text.*weights=None"),
        ({"plan": "cls", "special_tokens": False}, ValueError, "give special_tokens=True"),
    ],
)
def test_bad_parameters_raise_before_the_model_is_read(parameters, error, text):
    with pytest.raises(error, match=text):
        RCMDRegressor("/no/such/folder", **parameters).fit(PAIRS)


def test_exact_transport_without_its_solver_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"film-metric\[transport\]"):
        RCMDRegressor("/no/such/folder", plan="cmd").fit(PAIRS)


def test_first_tokens_are_refused_where_a_model_has_none_for_the_text(tiny_model, tmp_path):
    folder = bare_model(tmp_path / "model")
    with pytest.raises(ValueError, match="plan='cls' needs a first token"):
        RCMDRegressor(folder, plan="cls", max_length=8).fit([("a", "b")])

"""Triplet networks: padding, batches, the null text, folders, and bad input."""

import pickle
import shutil
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("transformers", reason="needs the extra neural")

from estimators import (  # noqa: E402
    DuplicateClassifier,
    PairwiseKNNClassifier,
    TokenEncoder,
    TripletNetwork,
    load_model,
    read_metadata,
    save_model,
)
from estimators.training.loop import Training  # noqa: E402
from estimators.training.objectives import NPairs  # noqa: E402
from estimators.training.token_states import TextVectors, TokenStates  # noqa: E402
from estimators.training.triplet_network import checked, objective_of  # noqa: E402
from film.datasets import make_question_pairs  # noqa: E402
from film.metric import ordered_share, triplets_from_labels  # noqa: E402
from film.networks import TokenConvolutions  # noqa: E402
from film.tokens import Ragged  # noqa: E402
from tests.estimators.tiny_model import PAIRS, make_tiny_model  # noqa: E402

TEXTS = [text for pair in PAIRS for text in pair]
TRIPLETS = [[0, 1, 2], [1, 0, 4], [2, 3, 0], [4, 5, 3], [5, 4, 6]]
SMALL = {"channels": (3, 4, 5), "width": 6, "device": "cpu", "random_state": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def model(folder):
    encoder = TokenEncoder(str(folder), device="cpu", max_length=64)
    return TripletNetwork(encoder, train_batch_size=3, epochs=3, **SMALL)


def clusters(n_texts=60, seed=0, h=8):
    """Token vectors of texts of four topics: a topic is the order of the same three words."""
    rng = np.random.default_rng(seed)
    words = 2 * np.random.default_rng(99).normal(size=(3, h))
    orders = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]]
    topics = np.arange(n_texts) % 4
    rows = []
    for topic in topics:
        row = 0.3 * rng.normal(size=(rng.integers(3, 12), h))
        place = rng.integers(len(row) - 2)
        row[place : place + 3] += words[orders[topic]]
        rows.append(row)
    return Ragged.from_rows(rows), topics


@pytest.mark.parametrize(("axes", "objective"), [("both", "triplet"), ("length", "n_pair")])
def test_it_learns_what_a_topic_is(axes, objective):
    texts, topics = clusters(240)
    new, new_topics = clusters(seed=1)
    asked = triplets_from_labels(new_topics, n_random=3, random_state=0)
    before = ordered_share(np.array([row.mean(axis=0) for row in new]), asked)
    model = TripletNetwork(
        axes=axes, objective=objective, train_batch_size=16, max_triplets=2000,
        learning_rate=3e-3, **{**SMALL, "channels": (8, 16, 16), "width": 16},
    )  # fmt: skip
    found = model.fit(texts, topics).score(new, new_topics)
    assert found > 0.8 > 0.6 > before
    assert np.mean(model.loss_curve_[-20:]) < 0.5 * np.mean(model.loss_curve_[:5])
    assert model.n_triplets_ == 2000 and model.encoder_ is None and model.token_width_ == 8


def test_texts_and_their_token_vectors_give_the_same(model, folder):
    fitted = model.fit(TEXTS, TRIPLETS)
    tokens = TokenEncoder(str(folder), device="cpu", max_length=32).fit_transform(TEXTS)
    again = clone(model).set_params(encoder=None).fit(tokens, TRIPLETS)
    np.testing.assert_array_equal(again.transform(tokens), fitted.transform(TEXTS))
    np.testing.assert_array_equal(fitted.transform(tokens), fitted.transform(TEXTS))
    with pytest.raises(ValueError, match="X holds texts, and the network was fitted on token"):
        again.transform(TEXTS)
    with pytest.raises(ValueError, match="width 3, and the network was fitted on 32"):
        again.transform(Ragged.from_rows([np.ones((2, 3))]))


def test_a_text_without_words_is_zero_and_has_no_neighbour(model):
    vectors = model.fit([*TEXTS, ""], [*TRIPLETS, [0, 8, 2]]).transform(["", "cat", "   "])
    assert (vectors[[0, 2]] == 0).all() and (vectors[1] != 0).any()
    none = Ragged.from_rows([np.zeros((0, 32)), np.ones((1, 32))])
    assert (model.transform(none)[0] == 0).all()


def test_what_is_cut_is_counted_once(folder):
    long = " ".join(["cat dog"] * 10)
    model = TripletNetwork(TokenEncoder(str(folder), device="cpu"), length=8, **SMALL)
    with pytest.warns(UserWarning, match="max_length=8 cut 1 of 3 texts") as warned:
        model.fit([*TEXTS[2:4], long], [[0, 1, 2]])
    assert [each.filename for each in warned] == [__file__]
    with pytest.warns(UserWarning, match="max_length=8 cut 1 of 1 texts") as warned:
        cut = model.transform([long])
    assert [each.filename for each in warned] == [__file__]
    tokens = TokenEncoder(str(folder), device="cpu", max_length=64).fit_transform([long])
    np.testing.assert_array_equal(
        model.transform(tokens), model.transform(Ragged.from_rows([tokens[0][:8]]))
    )
    assert cut.shape == (1, 6)


def states_of(texts):
    return TokenStates(texts.values.astype(np.float32), texts.lengths)


def test_vectors_do_not_depend_on_who_is_beside(monkeypatch):
    texts, _ = clusters()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = TextVectors(TokenConvolutions(8, (3, 4, 5), 6), 6, "cpu", "float32")
    network.module.requires_grad_(False)
    together = network.vectors(states_of(texts))
    alone = np.vstack([network.vectors(states_of(texts[[row]])) for row in range(60)])
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-5)
    monkeypatch.setattr("estimators.training.token_states.TOKENS_PER_BATCH", 10)
    np.testing.assert_allclose(network.vectors(states_of(texts)), together, rtol=1e-5, atol=1e-5)


def looped_n_pairs(vectors, rows, groups, temperature):
    """Each row against partners, then negatives, of all rows that are not of its group."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    total = 0.0
    for i, (anchor, partner, _) in enumerate(rows):
        scores = [unit[anchor] @ unit[partner] / temperature]
        for j, (_, other, negative) in enumerate(rows):
            if j != i and groups[other] != groups[anchor]:
                scores.append(unit[anchor] @ unit[other] / temperature)
            if groups[negative] != groups[anchor]:
                scores.append(unit[anchor] @ unit[negative] / temperature)
        total += np.log(np.exp(np.array(scores) - scores[0]).sum())
    return total / len(rows)


def test_n_pairs_leaves_out_partners_of_its_own_group():
    texts, topics = clusters(12)
    given = checked(texts, topics)
    rows = triplets_from_labels(topics, n_random=1, random_state=0)[[0, 3, 9, 17]]
    from estimators.training.objectives import Examples

    states = states_of(texts)
    examples = Examples(states, rows, None, None)
    objective = NPairs(topics)
    model = TripletNetwork(objective="n_pair", **SMALL)
    model.temperature = 0.5
    from estimators.training.settings import training_settings
    from estimators.training.triplet_network import make_network

    network = make_network(model, 8, 0)
    training = Training(
        network, examples, training_settings(model), objective=objective,
        evaluate=None, verbose=0,
    )  # fmt: skip
    expected = looped_n_pairs(network.vectors(states).astype(float), rows, topics, 0.5)
    assert training.backward(np.arange(4)) == pytest.approx(expected, rel=1e-5)
    assert given.labels is not None
    # Groups that an estimator finds are those that its triplets link.
    linked = objective_of("n_pair", Examples(states, np.array([[0, 3, 1], [3, 6, 2]]), None, None))
    assert len(set(linked.groups[[0, 3, 6]])) == 1 and len(set(linked.groups)) == 10


def test_n_pairs_of_a_text_without_a_vector_move_it_nowhere():
    x = torch.tensor([[[[0.0, 0.0]], [[1.0, 0.0]]], [[[0.0, 1.0]], [[1.0, 0.0]]]])
    batch = SimpleNamespace(
        x=x.requires_grad_(),
        codes=np.array([[0, 1], [2, 3]]),
        settings=SimpleNamespace(temperature=0.05),
    )
    NPairs(np.arange(4)).loss(batch).backward()
    assert not x.grad[0, 0].any() and x.grad.abs().max() < 100


def test_the_null_text_links_no_groups(model):
    tokens = Ragged.from_rows([np.ones((2, 4)), np.ones((3, 4)), np.ones((1, 4)), np.zeros((0, 4))])
    from estimators.training.objectives import Examples

    rows = np.array([[0, 3, 1], [2, 3, 1]])
    found = objective_of("n_pair", Examples(states_of(tokens), rows, None, None))
    assert len(set(found.groups)) == 4
    fitted = model.set_params(encoder=None, objective="n_pair").fit(tokens, rows)
    assert np.isfinite(fitted.loss_curve_).all()


def test_labels_are_mined_as_film_does(model):
    labels = np.repeat(np.arange(4), 2)
    fitted = model.set_params(n_random=2).fit(TEXTS, labels)
    assert fitted.n_triplets_ > 8
    assert 0 <= fitted.score(TEXTS, labels) <= 1
    assert fitted.score(TEXTS, labels) == fitted.score(TEXTS, labels)
    assert fitted.score(TEXTS, TRIPLETS) in np.arange(6) / 5


def test_an_interrupt_while_a_copy_is_made_again_leaves_no_untrained_network(model, monkeypatch):
    from estimators.training.token_states import TextVectors

    model.fit(TEXTS, TRIPLETS)
    copy = pickle.loads(pickle.dumps(model))

    def interrupted(self, arrays):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TextVectors, "adopt", interrupted)
        with pytest.raises(KeyboardInterrupt):
            copy.transform(TEXTS)
    assert np.array_equal(copy.transform(TEXTS), model.transform(TEXTS))


def test_a_folder_holds_the_network_and_names_the_frozen_model(model, folder, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    model.set_params(encoder=TokenEncoder(str(moved), device="cpu"))
    expected = model.fit(TEXTS, TRIPLETS, eval_set=(TEXTS, TRIPLETS)).transform(TEXTS)
    model.save(tmp_path / "saved")
    files = {path.name for path in (tmp_path / "saved").iterdir()}
    assert files == {"film_regressor.json", "triplet_network.safetensors"}
    assert read_metadata(tmp_path / "saved")["class"] == "TripletNetwork"
    found = TripletNetwork.load(tmp_path / "saved", device="cpu")
    np.testing.assert_array_equal(found.transform(TEXTS), expected)
    assert found.scores_ == model.scores_ and found.loss_curve_ == model.loss_curve_
    assert found.channels == (3, 4, 5) and found.n_triplets_ == 5
    with pytest.raises(FileExistsError, match="already there"):
        model.save(tmp_path / "saved")
    # Saved as one file, the network reads the frozen model when it is first used.
    save_model(model, tmp_path / "model.film")
    np.testing.assert_array_equal(load_model(tmp_path / "model.film").transform(TEXTS), expected)

    make_tiny_model(moved, seed=1)
    with pytest.raises(ValueError, match=r"the files of model=.* are not those that the network"):
        TripletNetwork.load(tmp_path / "saved")
    with pytest.raises(ValueError, match="have changed since fitting"):
        load_model(tmp_path / "model.film").transform(TEXTS)
    again = TripletNetwork.load(tmp_path / "saved", encoder=TokenEncoder(str(folder), device="cpu"))
    np.testing.assert_array_equal(again.transform(TEXTS), expected)
    shutil.rmtree(moved)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        TripletNetwork.load(tmp_path / "saved")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "film_regressor.json").unlink(), "has no film_regressor.json"),
        (lambda f: (f / "film_regressor.json").write_text("{"), "cannot be used"),
        (lambda f: (f / "triplet_network.safetensors").unlink(), "cannot be used"),
        (lambda f: (f / "triplet_network.safetensors").write_bytes(b"1" * 99), "cannot be used"),
        (
            lambda f: (f / "film_regressor.json").write_text(
                (f / "film_regressor.json").read_text().replace('"width": 6', '"width": 7')
            ),
            "weights are those of another network",
        ),
        (
            lambda f: (f / "film_regressor.json").write_text(
                (f / "film_regressor.json").read_text().replace("TripletNetwork", "RCMDRegressor")
            ),
            "it is a RCMDRegressor, not a TripletNetwork",
        ),
    ],
)
def test_a_damaged_folder_is_an_error(tmp_path, damage, message):
    texts, topics = clusters()
    TripletNetwork(max_triplets=3, **SMALL).fit(texts, topics).save(tmp_path / "saved")
    damage(tmp_path / "saved")
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        TripletNetwork.load(tmp_path / "saved")


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"channels": (1, 2)}, TypeError, r"channels=\(1, 2\) must be three integers"),
        ({"channels": (1, 0, 2)}, ValueError, "channels=0 must be 1 or more"),
        ({"epochs": 0}, ValueError, "epochs=0 must be above 0"),
        ({"n_random": 0}, ValueError, "n_random=0 must be 1 or more"),
        ({"encoder": "a name"}, TypeError, "encoder='a name' must be a TokenEncoder, or None"),
        ({"device": "cuda:7"}, ValueError, "device='cuda:7'"),
        ({"train_batch_size": 1, "objective": "n_pair"}, ValueError, "train_batch_size=1"),
    ],
)
def test_bad_parameters_are_named_before_any_work(model, params, error, message):
    with pytest.raises(error, match=message):
        model.set_params(**params).fit(TEXTS, TRIPLETS)
    assert not hasattr(model, "weights_")


def test_bad_input_is_named(model):
    holed = Ragged.from_rows([np.full((2, 4), np.nan), np.ones((1, 4)), np.ones((1, 4))])
    for X, y, message in (
        (holed, [[0, 1, 2]], "X must hold finite floats"),
        (holed[:0], [[0, 1, 2]], "X is empty"),
        (TEXTS, None, "y is None; give group labels, or triplets"),
        (TEXTS, [[0, 1, 8]], r"triplets\[0\] = \[0, 1, 8\] points outside X"),
        (TEXTS, [0, 1], "y has 2 labels for 8 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    with pytest.raises(TypeError, match=r"eval_set must be a tuple \(X, y\)"):
        model.fit(TEXTS, TRIPLETS, eval_set=TEXTS)
    with pytest.raises(ValueError, match=r"eval_set\[0\] is empty"):
        model.fit(TEXTS, TRIPLETS, eval_set=([], TRIPLETS))
    with pytest.raises(ValueError, match="eval_set holds token vectors of another width"):
        model.fit(TEXTS, TRIPLETS, eval_set=(Ragged.from_rows([np.ones((1, 4))] * 3), [[0, 1, 2]]))


def test_it_embeds_for_the_rule_and_for_a_stack(model):
    data = make_question_pairs(24, random_state=0)
    model.set_params(max_triplets=6, epochs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rule = PairwiseKNNClassifier(model, 3, cv=2).fit(data.pairs, data.y)
        stack = DuplicateClassifier([("network", model)], cv=2).fit(data.pairs, data.y)
    assert rule.predict_proba(data.pairs[:3]).shape == (3, 2)
    assert stack.predict_proba(data.pairs[:3]).shape == (3, 2)

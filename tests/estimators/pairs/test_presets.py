import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from estimators.pairs.accurate import LIGHT, accurate_duplicates
from estimators.pairs.lexical import LexicalFeatures
from estimators.pairs.presets import fast_duplicates, few_label_duplicates
from film.datasets import make_question_pairs
from film.pairs import row_cosines


@pytest.fixture(scope="module")
def data():
    return make_question_pairs(500, random_state=0)


@pytest.fixture(scope="module")
def made(data):
    return few_label_duplicates(data.pairs, rank=30)


@pytest.fixture(scope="module")
def fitted(data, made):
    return clone(made).fit(data.pairs[:100], data.y[:100])


def test_features_and_latent_space_are_those_of_all_pairs(data, fitted):
    expected = LexicalFeatures().fit(data.pairs).transform(data.pairs[100:120])
    inputs = fitted.inputs(data.pairs[100:120])
    np.testing.assert_allclose(inputs[:, 3:], expected)
    (_, latent), *_ = fitted.members_
    assert latent.transform(["how old is it"]).shape == (1, 30)
    sides = [latent.transform(data.pairs[100:120, side]) for side in (0, 1)]
    np.testing.assert_allclose(inputs[:, 0], row_cosines(*sides), atol=1e-6)
    words = set(latent[0].vocabulary_)
    assert words == set(LexicalFeatures().fit(data.pairs).words_.vocabulary_)


def test_it_is_better_than_chance_and_symmetric(data, fitted):
    held = data.pairs[100:]
    p = fitted.predict_proba(held)
    assert fitted.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(fitted.predict_proba(held[:, ::-1]), p)
    assert roc_auc_score(data.y[100:], p[:, 1]) > 0.65


def test_parameters_reach_the_classifier(data):
    model = few_label_duplicates(data.pairs, rank=5, random_state=3, prior=0.2, cv=2)
    assert (model.prior, model.cv, model.random_state) == (0.2, 2, 3)
    assert model.final_estimator.random_state == 3
    other = few_label_duplicates(data.pairs, rank=5, random_state=4)
    ours = [dict(m.members)["latent"].estimator[-1].components_ for m in (model, other)]
    assert ours[0].shape == (5, ours[0].shape[1]) and not np.array_equal(*ours)


def test_a_rank_above_the_number_of_words_is_lowered():
    model = few_label_duplicates([("red car", "blue car"), ("red sky", "sky")], rank=300)
    assert dict(model.members)["latent"].estimator[-1].n_components == 3


def test_bad_input_is_named(data):
    with pytest.raises(ValueError, match="rank=0 must be 1 or more"):
        few_label_duplicates(data.pairs, rank=0)
    with pytest.raises(ValueError, match="pairs row 0, column 1 is missing"):
        few_label_duplicates([("a", None)])
    with pytest.raises(ValueError, match="at least two words"):
        few_label_duplicates([("word", "word")])


def test_the_accurate_one_has_every_member_and_passes_its_parameters_on():
    model = accurate_duplicates(
        encoder="a/model", epochs=3, d=5, rank=9, max_length=64, device="cpu",
        dtype="bfloat16", cache="kept", random_state=7, cv=6, corpus=["a"], neighbourhood=None,
    )  # fmt: skip
    members = dict(model.members)
    assert list(members) == [*LIGHT, "cosine", "rcmd"]
    assert (model.cv, model.corpus, model.neighbourhood, model.random_state) == (6, ["a"], None, 7)
    assert model.member_cv == {"rcmd": 2}
    params = model.get_params()
    for name in ("cosine", "rcmd"):
        assert (params[f"{name}__model"], params[f"{name}__max_length"]) == ("a/model", 64)
        assert (params[f"{name}__device"], params[f"{name}__dtype"]) == ("cpu", "bfloat16")
    assert params["cosine__cache"] == "kept"
    assert (params["rcmd__epochs"], params["rcmd__objective"]) == (3, "binary")
    assert (params["film__film__d"], params["characters__film__rank"]) == (5, 9)
    seeds = {value for name, value in params.items() if name.endswith("__film__random_state")}
    assert seeds == {params["rcmd__random_state"]} == {7}


def test_without_training_or_encoder_the_accurate_one_leaves_members_out():
    untrained = accurate_duplicates(epochs=0)
    assert [name for name, _ in untrained.members][-1] == "cosine"
    assert untrained.member_cv is None
    plain = accurate_duplicates(encoder="none", epochs=5)
    assert [name for name, _ in plain.members] == list(LIGHT)
    with pytest.raises(ValueError, match="epochs=-1 must be"):
        accurate_duplicates(epochs=-1)
    with pytest.raises(ValueError, match="dtype='half' must be one of 'float32'"):
        accurate_duplicates(dtype="half")
    with pytest.raises(TypeError, match="d='100' must be an integer, 1 or more"):
        accurate_duplicates(d="100")
    with pytest.raises(ValueError, match=r"^rank=0 must be 1 or more"):
        accurate_duplicates(rank=0)
    with pytest.raises(TypeError, match=r"^encoder=5 must be the name .* 'none' for none, or None"):
        accurate_duplicates(encoder=5)
    with pytest.raises(ValueError, match=r"^max_length=0 must be 1 or more"):
        accurate_duplicates(max_length=0)


@pytest.mark.parametrize("name", ["d", "rank"])
def test_what_a_preset_is_given_wrongly_has_its_name(name):
    with pytest.raises(ValueError, match=f"^{name}=0 must be 1 or more"):
        fast_duplicates(**{name: 0})
    with pytest.raises(TypeError, match=f"^{name}='a' must be an integer"):
        fast_duplicates(**{name: "a"})

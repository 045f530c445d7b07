from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_score

from estimators import (
    DisjointPairsKFold,
    RecordFeatures,
    RecordPairs,
    fast_duplicates,
    record_duplicates,
)
from estimators.inputs import record_pairs
from estimators.pairs import duplicate_probabilities
from film.datasets import make_question_pairs

BRANDS = "acme", "sony", "zenith", "orbit", "kumo", "tell"
THINGS = "lamp", "camera", "phone", "radio", "printer", "clock"
COLUMNS = "title", "model", "price", "seen"


def products(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Pairs of products: half the same with errors, half others of the same kind."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for number in range(n):
        brand, thing = rng.choice(BRANDS), rng.choice(THINGS)
        code, price = f"{brand[0]}{thing[0]}{rng.integers(100, 999)}", rng.integers(20, 400)
        left = f"{brand} {thing} {code}", code.upper(), f"{price}.00", "2020-01-05"
        same = number % 2
        other = code if same else f"{brand[0]}{thing[0]}{rng.integers(100, 999)}"
        near = price * (1 + 0.02 * same) if same else rng.integers(20, 400)
        hidden = rng.random() < 0.3
        right = (
            f"{thing} by {brand}" + (f" {other}" if hidden else ""),
            "" if hidden else f"{other[:2]}-{other[2:]}",
            "" if rng.random() < 0.2 else f"${near:.2f}",
            "05/01/2020" if same else "17/06/2020",
        )
        rows.append((*left, *right))
        labels.append(same)
    names = [f"{side}_{column}" for side in ("left", "right") for column in COLUMNS]
    return pd.DataFrame(rows, columns=names), np.array(labels)


TRAIN, Y = products(240)
TEST, TRUTH = products(160, seed=1)


@pytest.fixture(scope="module")
def model() -> Any:
    return record_duplicates(cv=3).fit(TRAIN, Y)


def test_features_have_a_name_and_a_column_each():
    features = RecordFeatures().fit(TRAIN)
    assert features.kinds_ == {"title": "text", "model": "code", "price": "number", "seen": "date"}
    names = features.get_feature_names_out()
    found = features.transform(TEST)
    assert found.shape == (160, len(names))
    assert len(set(names)) == len(names)
    assert np.isfinite(found).all()
    assert dict.fromkeys(features.groups_of_features()) == dict.fromkeys((*COLUMNS, "whole record"))
    by_name = dict(zip(names, found.T, strict=True))
    empty = (TEST.right_price == "").to_numpy()
    assert (by_name["price: sides missing"] == empty).all()
    assert (by_name["price: relative difference"][empty] == -1).all()
    same = TRUTH == 1
    assert (by_name["seen: equal"] == same).all()
    written = same & (TEST.right_model != "").to_numpy()
    assert (by_name["model: equal"][written] == 1).all()


def test_features_count_no_label_and_no_order_of_columns():
    first = RecordFeatures().fit(TRAIN).transform(TEST)
    shuffled = RecordFeatures().fit(TRAIN, 1 - Y).transform(TEST[TEST.columns[::-1]])
    np.testing.assert_array_equal(first, shuffled)


def test_swapping_both_tables_changes_nothing_but_the_names_of_sides():
    straight = RecordFeatures().fit(record_pairs(TRAIN)).transform(record_pairs(TEST))
    other = RecordFeatures().fit(record_pairs(TRAIN, "right_", "left_"))
    np.testing.assert_allclose(
        other.transform(record_pairs(TEST, "right_", "left_")), straight, atol=1e-6
    )


def test_either_record_of_one_table_may_be_the_first():
    both = record_pairs(TRAIN)
    table = pd.DataFrame(np.vstack([both.left, both.right]), columns=list(both.columns))
    rows = np.random.default_rng(0).integers(len(table), size=(2, 300))
    left, right = (table.iloc[of] for of in rows)
    features = RecordFeatures().fit(RecordPairs(left, right))
    np.testing.assert_allclose(
        features.transform(RecordPairs(right, left)),
        features.transform(RecordPairs(left, right)),
        atol=1e-6,
    )


def test_points_are_compared_by_km():
    ends = {"place": ["48.137, 11.575"] * 3}, {"place": ["48.401, 9.988", "", "48.137, 11.575"]}
    features = RecordFeatures().fit(RecordPairs(*ends))
    assert features.kinds_ == {"place": "point"}
    columns = features.transform(RecordPairs(*ends)).T
    found = dict(zip(features.get_feature_names_out(), columns, strict=True))
    np.testing.assert_allclose(found["place: distance"], [121.07, -1, 0], atol=0.1)
    assert found["place: sides missing"].tolist() == [0, 1, 0]


def test_kinds_can_be_given_and_must_fit():
    given = RecordFeatures(kinds={"model": "text"}).fit(TRAIN)
    assert given.kinds_["model"] == "text"
    with pytest.raises(ValueError, match="100% of the values of column 'title' are no number"):
        RecordFeatures(kinds={"title": "number"}).fit(TRAIN)
    with pytest.raises(ValueError, match=r"kinds\['price'\]"):
        RecordFeatures(kinds={"price": "money"}).fit(TRAIN)
    with pytest.raises(ValueError, match="names a column 'prize', which the records lack"):
        RecordFeatures(kinds={"prize": "number"}).fit(TRAIN)
    some = TRAIN.assign(left_price=["n/a", *["20"] * 239], right_price=["?", "so", *["20"] * 238])
    some = some.assign(right_price=["about 20"] * 80 + ["20"] * 160)
    with pytest.warns(UserWarning, match="17% of the values of column 'price' are no number"):
        RecordFeatures(kinds={"price": "number"}).fit(some)


def test_a_column_without_values_is_left_out_and_told():
    empty = TRAIN.assign(left_seen="", right_seen=" ")
    with pytest.warns(UserWarning, match="column 'seen' has no value in any record"):
        features = RecordFeatures().fit(empty)
    assert list(features.kinds_) == ["title", "model", "price"]
    assert features.transform(empty).shape[1] == len(features.get_feature_names_out())
    with pytest.raises(ValueError, match="no word at all"):
        RecordFeatures().fit(RecordPairs({"a": ["!"]}, {"a": ["?"]}))


def test_records_are_told_apart_by_columns(model: Any):
    assert model.columns_ == COLUMNS
    p = model.predict_proba(TEST)[:, 1]
    assert f1_score(TRUTH, p > 0.5) > 0.95
    joined = fast_duplicates(d=40, rank=50, cv=3)
    sides = [TRAIN[TRAIN.columns[4 * n : 4 * n + 4]].agg(" ".join, axis=1) for n in (0, 1)]
    test = [TEST[TEST.columns[4 * n : 4 * n + 4]].agg(" ".join, axis=1) for n in (0, 1)]
    joined.fit(list(zip(*sides, strict=True)), Y)
    assert f1_score(TRUTH, p > 0.5) >= f1_score(
        TRUTH, joined.predict(list(zip(*test, strict=True)))
    )


def test_every_form_of_records_gives_the_same_probabilities(model: Any):
    expected = model.predict_proba(TEST)
    for form in (record_pairs(TEST), TEST[TEST.columns[::-1]], record_pairs(TEST).texts()):
        np.testing.assert_array_equal(model.predict_proba(form), expected)
    reordered = record_pairs(TEST[TEST.columns[::-1]])
    assert reordered.columns != model.columns_
    np.testing.assert_array_equal(duplicate_probabilities(model, reordered), expected[:, 1])
    np.testing.assert_array_equal(model.familiarity(reordered), model.familiarity(TEST))
    assert model.trained_on(TRAIN).all()


def test_other_columns_raise_an_error(model: Any):
    with pytest.raises(ValueError, match="lack column 'seen'"):
        model.predict_proba(TEST.drop(columns=["left_seen", "right_seen"]))
    with pytest.raises(ValueError, match="is no record of 4 columns"):
        model.predict_proba([("a", "b")])
    texts = fast_duplicates(d=40, rank=50, cv=2)
    texts.fit(record_pairs(TRAIN).texts().tolist(), Y)
    with pytest.raises(ValueError, match="fitted to pairs of texts, but these are records"):
        texts.predict(TEST)


def test_probabilities_out_of_fold_are_honest(model: Any):
    p = model.out_of_fold_probabilities()
    assert p.shape == (240,)
    assert f1_score(Y, p > 0.5) > 0.9
    shuffled = np.random.default_rng(0).permutation(Y)
    noise = record_duplicates(cv=3).fit(TRAIN, shuffled).out_of_fold_probabilities()
    assert ((noise > 0.5) == shuffled).mean() < 0.65


def test_labels_of_rows_that_are_all_linked_are_learned():
    """All pairs shared rows with each other, so the general formula alone decided."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"name": [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqrst"]})
    table["shelf"] = rng.integers(0, 12, len(table)).astype(str)

    def drawn(n: int) -> tuple[RecordPairs, np.ndarray]:
        first, second = rng.integers(0, len(table), (2, n))
        left, right = (table.iloc[rows].reset_index(drop=True) for rows in (first, second))
        return RecordPairs(left, right), (left["shelf"] == right["shelf"]).astype(int).to_numpy()

    model = record_duplicates(cv=3).fit(*drawn(500))
    pairs, truth = drawn(200)
    assert f1_score(truth, model.predict(pairs)) > 0.95


def test_cross_validation_and_weights_take_records(model: Any):
    scores = cross_val_score(
        clone(model), record_pairs(TRAIN), Y, cv=DisjointPairsKFold(2, random_state=0)
    )
    assert scores.min() > 0.9
    weights = np.ones(240)
    weights[:20] = 0
    weighted = record_duplicates(cv=3).fit(TRAIN, Y, sample_weight=weights)
    fewer = record_duplicates(cv=3).fit(TRAIN[20:], Y[20:])
    assert weighted.columns_ == COLUMNS
    np.testing.assert_allclose(
        weighted.predict_proba(TEST), fewer.predict_proba(TEST), rtol=0, atol=1e-12
    )


def test_text_members_can_be_stacked_with_columns():
    stacked = fast_duplicates(d=40, rank=50, cv=2).fit(TRAIN, Y)
    assert isinstance(stacked.features_, RecordFeatures)
    assert f1_score(TRUTH, stacked.predict(TEST)) > 0.9


def test_known_records_are_thinned_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("estimators.pairs.record_features.MOST_KNOWN", 50)
    features = RecordFeatures().fit(TRAIN)
    assert all(len(names) <= 50 for names, *_ in features._known)
    assert np.isfinite(features.transform(TEST)).all()


def test_general_scores_of_a_table_replace_those_of_each_pair(model):
    scores = np.linspace(0.05, 0.95, len(TEST))
    side = model._general
    p = model.predict_proba(TEST, general=scores)[:, 1]
    final = model.final_estimator_.predict_proba(model.inputs(TEST))[:, 1]
    share = side.share + (1 - side.share) * (1 - model.familiarity(TEST))
    assert (share < 0.9).any()
    odds = (1 - share) * logit(np.clip(final, 1e-6, 1 - 1e-6))
    odds += share * (side.offset + side.slope * logit(scores))
    free = (p > 1e-5) & (p < 0.95)
    assert free.sum() > 20
    np.testing.assert_allclose(logit(p[free]), odds[free], rtol=1e-6)
    verdicts = model.explain(TEST[:4], general=scores[:4])
    np.testing.assert_allclose([verdict.probability for verdict in verdicts], p[:4])
    given = duplicate_probabilities(model, TEST, general=scores)
    np.testing.assert_array_equal(given, p)


@pytest.mark.parametrize(
    ("general", "words"),
    [([0.5], r"general has the shape \(1,\) for 2 pairs"), ([0.5, 1.5], "outside 0 to 1")],
)
def test_bad_general_scores_are_refused(model, general, words):
    with pytest.raises(ValueError, match=words):
        model.predict_proba(TEST[:2], general=general)


def test_general_scores_are_only_for_models_of_records():
    data = make_question_pairs(60, random_state=0)
    model = fast_duplicates(cv=2, rank=10, d=5).fit(data.pairs, data.y)
    with pytest.raises(ValueError, match="the model compares texts"):
        model.predict_proba(data.pairs[:1], general=[0.5])

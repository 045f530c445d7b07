"""What the duplicate classifier must say of copies, near copies and small differences."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators import LexicalFeatures, fast_duplicates
from estimators.pairs.presets import few_label_duplicates
from estimators.pairs.stack import final_model
from estimators.pairs.stack.augmentation import FEWEST, WEIGHT, near_copies, with_near_copies
from estimators.pairs.stack.floors import Sameness, samenesses
from film.datasets import make_question_pairs
from film.pairs.priors import shift_prior

pytestmark = pytest.mark.filterwarnings("ignore::estimators.UnfamiliarTextsWarning")

DATA = make_question_pairs(3000, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object), np.asarray(DATA.y)
SMALL = {"d": 40, "rank": 50, "cv": 2}
ODD_TEXTS = ["😀😡", "∑ → ∞", "zyx wvu tsr", "你好", "कीमत", "", "   ", "?!", "-5", "a" * 3000]


def fitted(n, **params):
    return fast_duplicates(**SMALL, **params).fit(PAIRS[:n], Y[:n])


def p_of(model, pairs):
    return model.predict_proba(np.asarray(pairs, dtype=object))[:, 1]


@pytest.fixture(scope="module")
def small_model():
    return fitted(200)


@pytest.fixture(scope="module")
def boosted_model():
    usual = final_model._boosted_trees
    with pytest.MonkeyPatch.context() as patch:
        # A tenth of the trees, each ten times as far, and coarser: most of the time of a fit.
        few = {"max_iter": 60, "learning_rate": 0.3, "max_bins": 32}
        patch.setattr(final_model, "_boosted_trees", lambda seed: usual(seed).set_params(**few))
        return fitted(2200)


def itself(texts):
    return [(text, text) for text in texts]


@pytest.mark.parametrize("n", [50, 2200])
def test_01_identical_texts_are_duplicates(n, boosted_model):
    model = copy.copy(boosted_model) if n == 2200 else fitted(n)
    texts = [*PAIRS[:, 0][-100:], *PAIRS[:50, 1], *ODD_TEXTS]
    for prior in (None, 0.5, 0.01):
        p = p_of(model.set_params(prior=prior), itself(texts))
        assert p.min() >= 0.95
        assert (model.predict(itself(texts)) == 1).all()


@pytest.mark.parametrize(
    "final",
    [
        KNeighborsClassifier(),
        GaussianNB(),
        ExtraTreesClassifier(20, random_state=0),
        HistGradientBoostingClassifier(max_iter=10),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda final: type(final).__name__,
)
def test_01_identical_texts_are_duplicates_with_any_final_model(final):
    texts = [*PAIRS[-50:, 0], *ODD_TEXTS]
    assert p_of(fitted(60, final_estimator=final, prior=0.05), itself(texts)).min() >= 0.95


def test_01_identical_texts_are_duplicates_with_few_labels():
    model = few_label_duplicates(PAIRS[:300], rank=20, cv=2).fit(PAIRS[:50], Y[:50])
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    for form in (model, model.set_params(final_estimator=logistic).fit(PAIRS[:50], Y[:50])):
        assert p_of(form, itself([*PAIRS[-50:, 0], *ODD_TEXTS])).min() >= 0.95


def test_01_near_copies_are_duplicates(small_model, boosted_model):
    texts = [text for text in dict.fromkeys(PAIRS[-300:, 0])][:100]
    for model in (small_model, boosted_model):
        # The same words, numbers and symbols: another end, white space, case.
        ends = [(text, f" {text.upper().rstrip('?')} ... ") for text in texts]
        assert p_of(model, ends).min() >= 0.99
        slips = near_copies(texts, 3)
        alike = [how is not Sameness.OTHER for how in samenesses(slips)]
        assert np.mean(alike) > 0.8
        p = p_of(model, slips)
        assert p[alike].min() >= 0.95
        assert (p > 0.5).mean() > 0.9


def test_01_slips_of_the_pen_follow_the_prior(small_model):
    pair = [("what is the best way to learn pyhton", "what is the best way to learn python")]
    assert samenesses(np.array(pair, dtype=object)) == [Sameness.SPELLED_ALIKE]
    p = p_of(small_model, pair)
    assert p[0] >= 0.95
    shifted = p_of(fitted(200, prior=0.1), pair)
    assert shifted == pytest.approx(shift_prior(p, small_model.train_prior_, 0.1))


def test_01_boosted_trees_learn_that_near_copies_are_duplicates(boosted_model):
    inputs = boosted_model.inputs(near_copies(list(dict.fromkeys(PAIRS[-400:, 0]))[:150], 7))
    trees = boosted_model.final_estimator_
    without = clone(trees).fit(boosted_model.out_of_fold_, Y[:2200])
    assert trees.predict_proba(inputs)[:, 1].mean() > without.predict_proba(inputs)[:, 1].mean()


def test_01_near_copies_do_not_move_other_probabilities(boosted_model):
    # Their weight is a hundredth, and they stand apart from the training pairs.
    rows = boosted_model.out_of_fold_
    p = boosted_model.probabilities_of(rows)[:, 1]
    assert p.mean() == pytest.approx(Y[:2200].mean(), abs=0.005)
    assert boosted_model.train_prior_ == Y[:2200].mean()
    assert len(rows) == 2200


def test_01_weights_of_pairs_stay_and_near_copies_have_a_hundredth():
    rng = np.random.default_rng(0)
    inputs, labels, near = rng.normal(size=(300, 3)), np.arange(300) % 2, rng.normal(size=(40, 3))
    for weights in (None, rng.uniform(1, 2, size=300)):
        rows, targets, given = with_near_copies(inputs, labels, near, weights)
        assert np.array_equal(rows, np.vstack([inputs, near]))
        assert np.array_equal(targets, np.append(labels, np.ones(40)))
        before = np.ones(300) if weights is None else weights
        assert np.array_equal(given[:300], before)
        assert given[300:].sum() == pytest.approx(WEIGHT * before.sum())


def test_01_boosted_trees_are_monotone_in_similarity_and_differences(boosted_model):
    names = boosted_model.feature_names_out_
    rows = boosted_model.out_of_fold_[::20]
    for name, direction in (
        ("film: cosine", 1),
        ("words: verdict", 1),
        ("spelled alike", 1),
        ("numbers unshared", -1),
        ("negation on one side", -1),
        ("symbols unshared", -1),
        ("negated words unshared", -1),
        ("different question words", -1),
    ):
        column = names.index(name)
        curves = []
        for value in np.quantile(boosted_model.out_of_fold_[:, column], np.linspace(0, 1, 9)):
            changed = rows.copy()
            changed[:, column] = value
            curves.append(boosted_model.probabilities_of(changed)[:, 1])
        assert (direction * np.diff(curves, axis=0) >= -1e-12).all(), name


def test_01_explanations_name_copies(small_model):
    text = PAIRS[0, 0]
    copy, same, other = small_model.explain(
        [(text, text.upper()), (text, f"{text.rstrip('?')} !!"), (text, PAIRS[1, 0])]
    )
    for shown in (copy.sameness.name, str(copy), copy._repr_html_()):
        assert "the texts are copies" in shown
    assert other.sameness is None
    assert copy.probability >= 0.999 and same.probability >= 0.99


DIFFERENT = [
    ("C++ developer", "C# developer"),
    ("C++ developer", "C developer"),
    ("Price is -5", "Price is 5%"),
    ("It costs $5", "It costs 5"),
    ("It costs 5.0", "It costs 50"),
    ("कीमत क्या है", "किमत क्या है"),
    ("I like cats, not dogs", "I like dogs, not cats"),
    ("I am not rich and happy", "I am rich and not happy"),
    ("that is 😀", "that is 😡"),
    ("What is x²?", "What is x2?"),
    ("שָׁלוֹם", "שלום"),
]


def test_02_texts_that_differ_in_signs_and_marks_are_no_copies(small_model, boosted_model):
    lexical = LexicalFeatures().fit(PAIRS[:50])
    same = lexical.transform(itself([first for first, _ in DIFFERENT]))
    assert (lexical.transform(DIFFERENT) != same).any(axis=1).all()
    for model in (small_model, boosted_model):
        assert p_of(model, DIFFERENT).max() < 0.99
        assert {verdict.unseen for verdict in model.explain(DIFFERENT)} == {""}


def test_02_members_see_texts_apart_that_differ_in_signs():
    # Both are training texts, of which one must not stand for the other.
    pairs = np.array([*PAIRS[:60], ("C++ developer", "C# developer")], dtype=object)
    model = fast_duplicates(**SMALL).fit(pairs, [*Y[:60], 0])
    columns = [i for i, name in enumerate(model.feature_names_out_) if name.startswith("film")]
    apart = model.inputs(pairs[-1:])[0, columns]
    same = model.inputs([("C++ developer", "C++ developer")])[0, columns]
    assert apart[0] < same[0]


def test_02_a_difference_that_no_input_sees_is_named(small_model):
    (verdict,) = small_model.explain([("let's eat, grandma", "let's eat grandma")])
    assert verdict.probability >= 0.99
    assert "no member or feature represents these differences: ',' / ''" in str(verdict)
    assert verdict.unseen == verdict.to_dict()["unseen"]
    assert "no member or feature represents" in verdict._repr_html_()
    (empty,) = small_model.explain([("?!", "...")])
    assert empty.unseen and empty.probability < 0.5


def test_01_there_are_near_copies_of_any_texts():
    assert len(near_copies(["a b"], 0)) == FEWEST
    assert len(near_copies(["", "?!"], 0)) == 0
    assert np.array_equal(near_copies(ODD_TEXTS, 1), near_copies(ODD_TEXTS, 1))

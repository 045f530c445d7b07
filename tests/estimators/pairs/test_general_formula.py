"""Where a pair is unlike the training pairs, the general formula decides."""

import copy
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline

from estimators import (
    FILM,
    AllowSharedQuestions,
    DuplicateClassifier,
    DuplicateFinder,
    UnfamiliarTextsWarning,
    disjoint_pairs_split,
    fast_duplicates,
    few_label_duplicates,
    load_model,
    save_model,
)
from estimators.pairs import duplicate_probabilities
from estimators.pairs.stack.general_formula import OutOfFold
from film.compare import WordRarity, comparable_tokens, pair_features
from film.datasets import make_documents, make_question_pairs
from film.judge import (
    UNRELATED_TEXTS,
    base_cosine,
    general_features,
    general_weights,
    meaning_features,
)

DATA = make_question_pairs(420, random_state=0)
N = 300
LABELS = np.asarray(DATA.y)
NEW = DATA.pairs[N:]
PROSE = [text for text in " ".join(make_documents(6, random_state=0)).split(". ") if text][:80]
GERMAN = ["Der Hund schläft im Garten.", "Es regnet heute sehr stark.", "Wo steht das alte Haus?"]
GERMAN += ["Im Garten schläft der Hund.", "Die Katze fängt keine Maus.", "Morgen regnet es stark."]
OTHER = np.array([*pairwise(GERMAN)] * 4, dtype=object)
ODD = [("", ""), ("", "How do I learn to bake?"), ("😀😀", "🚀"), ("日本語です", "テスト")]


@pytest.fixture(scope="module")
def model():
    return fast_duplicates(d=20, rank=50, cv=2).fit(DATA.pairs[:N], LABELS[:N])


def columns(model, pairs):
    """Inputs of the stack, the formula's log-odds and familiarity."""
    pairs = np.asarray(pairs, dtype=object)
    return model._with_general(model.inputs(pairs), pairs)


def general_by_hand(model, pairs):
    """The log-odds of the formula, from the texts of the fit alone."""
    texts = sorted(set(DATA.pairs[:N].flat))
    rarity = WordRarity(map(comparable_tokens, texts))
    cosines = model.inputs(pairs)[:, model.feature_names_out_.index("character cosine")]
    alone = pair_features(pairs[:, 0].tolist(), pairs[:, 1].tolist(), rarity)
    near = np.zeros((len(pairs), 2))
    return general_weights().log_odds(general_features(alone, cosines, near, rarity.number_share))


def odds_out_of_fold(model):
    """The formula's log-odds of training pairs, by slopes and offsets of the other folds."""
    score, fold_of_row = model._general.training[:, 0], model._record.fold_of_row
    odds = np.empty(N)
    for fold in np.unique(fold_of_row):
        held = fold_of_row == fold
        line = LogisticRegression().fit(score[~held, None], LABELS[:N][~held])
        odds[held] = line.decision_function(score[held, None])
    return odds


def share_by_hand(stack, odds, familiarity, labels, rows):
    """The mean of shares, weighted by the likelihood of the labels."""
    shares, likelihoods = np.linspace(0.1, 1, 10), []
    for share in shares:
        of_pair = share + (1 - share) * (1 - familiarity)
        of_stack = logit(np.clip(stack, 1e-6, 1 - 1e-6))  # all trees may agree
        p = expit((1 - of_pair) * of_stack + of_pair * odds)
        likelihoods.append(np.log(np.where(labels == 1, p, 1 - p))[rows].sum())
    weights = np.exp(np.array(likelihoods) - max(likelihoods))
    return shares @ weights / weights.sum()


def test_the_share_of_the_formula_for_familiar_pairs_is_the_mean_by_likelihood(model):
    fold_of_row, y = model._record.fold_of_row, LABELS[:N]
    rng = np.random.default_rng(0)
    for stack, lowest, highest in [
        (rng.uniform(0.05, 0.95, N), 0.9, 1),
        (np.where(y == 1, 0.999, 0.001), 0.1, 0.2),
        (np.clip(0.7 * y + rng.uniform(0, 0.3, N), 0.01, 0.99), 0.1, 0.5),
        (expit(odds_out_of_fold(model)), 0.5, 0.6),
    ]:
        training = OutOfFold(stack, model.out_of_fold_, fold_of_row, y, None)
        side = model._general.calibrated(training)
        familiarity = model._general.training[:, 1]
        everyone = np.ones(N, dtype=bool)
        by_hand = share_by_hand(stack, odds_out_of_fold(model), familiarity, y, everyone)
        assert side.share == pytest.approx(by_hand) and lowest <= side.share <= highest
    assert model._general.alone().share == 1


@pytest.mark.parametrize(("n", "slope"), [(900, 0.9), (4000, 2)])
def test_log_odds_of_familiar_pairs_are_calibrated_from_1000_labels_on(n, slope, model):
    rng = np.random.default_rng(0)
    odds = rng.normal(0, 2, n)
    y = (rng.random(n) < expit(odds)).astype(int)
    side = copy.copy(model._general)
    side.training = np.column_stack([rng.normal(0, 1, n), np.ones(n)])
    training = OutOfFold(expit(odds / 2), np.zeros((n, 0)), np.arange(n) % 2, y, None)
    side = side.calibrated(training)
    side.slope, side.offset = 0.0, 0.0
    for familiarity, expected in ((1, slope), (0, 0)):
        p = side.mixed(expit(np.array([1.0, -1])), np.array([[0, familiarity], [0, familiarity]]))
        assert np.diff(logit(p)).item() / -2 == pytest.approx(expected, abs=0.2)
    without = np.where(np.arange(n) % 2 == [[0], [1]], np.nan, training.stack)
    out_of_fold = logit(side.mixed_out_of_fold(training, without))
    assert np.polyfit(odds / 2, out_of_fold, 1)[0] == pytest.approx(slope, abs=0.2)


def test_a_handful_of_labels_is_fitted_and_without_members_the_formula_decides():
    pairs, y = DATA.pairs[:N], LABELS[:N]
    same, other = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    for rows in ([same[0], other[0]], [same[0], *other[:5]], [*same[:2], *other[:3]]):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            few = fast_duplicates(d=4, rank=10).fit(pairs[rows], y[rows])
        assert 0.1 <= few._general.share <= 0.9 if few.members_ else few._general.share == 1
        assert any("too few pairs to fit members" in str(each.message) for each in told) == (
            len(few.members_) == 0
        )
        assert (len(few.members_) == 0) == (rows[1] == other[0])
        with warnings.catch_warnings():
            # Of so few texts, the words of others are hardly known.
            warnings.simplefilter("ignore", UnfamiliarTextsWarning)
            found = few.predict_proba(NEW)[:, 1]
        if not few.members_:
            odds = few._with_general(few.inputs(NEW), NEW)[:, -2]
            plain = found < 0.95
            assert (np.diff(found[plain][np.argsort(odds[plain])]) >= 0).all()
            with pytest.raises(ValueError, match="at least two duplicates"):
                few.out_of_fold_probabilities()


def test_folds_that_leave_out_a_class_are_fitted_and_the_formula_decides():
    latent = make_pipeline(TfidfVectorizer(), TruncatedSVD(5, random_state=0))
    frozen = FrozenEstimator(latent.fit(DATA.pairs[:N].ravel()))
    order = np.argsort(LABELS[:N], kind="stable")
    pairs, y = DATA.pairs[:N][order], LABELS[:N][order]
    folds = PredefinedSplit((np.arange(N) < N - y.sum()).astype(int))
    by_class = DuplicateClassifier([("latent", frozen)], cv=AllowSharedQuestions(folds))
    assert by_class.fit(pairs, y)._general.share == 1


@pytest.mark.parametrize("familiarity", [0.0, 0.4, 1.0])
def test_log_odds_are_those_of_the_stack_and_of_the_formula(model, familiarity):
    inputs = columns(model, NEW)
    odds = general_by_hand(model, NEW)
    assert inputs[:, -2] == pytest.approx(odds, abs=1e-9)
    line = LogisticRegression().fit(general_by_hand(model, DATA.pairs[:N])[:, None], LABELS[:N])
    u = line.decision_function(odds[:, None])
    p = model.final_estimator_.predict_proba(inputs[:, :-1])[:, 1]
    stack = logit(np.clip(p, 1e-6, 1 - 1e-6))  # all trees may agree
    inputs[:, -1] = familiarity
    share = model._general.share
    share += (1 - share) * (1 - familiarity)
    found = logit(model._mixed(inputs)[:, 1])
    assert found == pytest.approx((1 - share) * stack + share * u, abs=1e-8)


def test_unknown_texts_are_sorted_by_the_formula(model):
    assert model.familiarity(OTHER).tolist() == [0.0] * len(OTHER)
    found = model._mixed(columns(model, OTHER))[:, 1]
    order = np.argsort(general_by_hand(model, OTHER))
    assert (np.diff(found[order]) >= -1e-12).all()


@pytest.mark.parametrize("n", [150, 800])
def test_fewer_than_a_twentieth_of_the_kind_of_the_fit_is_moved(n):
    data = make_question_pairs(n + 400, random_state=0)
    train, new, y, *_ = disjoint_pairs_split(
        data.pairs, data.y, test_size=400 / (n + 400), random_state=0
    )
    model = few_label_duplicates(train, rank=20, cv=2)
    model.set_params(final_estimator__n_estimators=10).fit(train, y)
    assert np.mean(model.familiarity(new) <= 0.5) < 0.05
    prose = model.familiarity([*pairwise(PROSE)])
    assert np.mean(prose <= 0.5) > 0.75
    assert model.familiarity(ODD).tolist() == [0.0] * 4


def test_a_prediction_depends_neither_on_order_nor_on_other_pairs(model):
    mixed = np.concatenate([NEW[:8], OTHER[:3], [*pairwise(PROSE[:4])]])
    together = model.predict_proba(mixed)
    assert model.predict_proba(mixed[:, ::-1]) == pytest.approx(together, abs=1e-12)
    alone = np.concatenate([model.predict_proba(mixed[row : row + 1]) for row in range(len(mixed))])
    assert alone == pytest.approx(together, abs=1e-12)
    apart = [model.familiarity(mixed[row : row + 1])[0] for row in range(len(mixed))]
    assert model.familiarity(mixed).tolist() == apart


def test_labels_play_no_part_in_familiarity(model):
    flipped = fast_duplicates(d=20, rank=50, cv=2).fit(DATA.pairs[:N], 1 - LABELS[:N])
    assert np.array_equal(flipped.familiarity(NEW), model.familiarity(NEW))
    # Similar texts are then the others, and no label makes the formula turn around.
    assert flipped._general.slope == 0


def test_warnings_come_once_with_the_share_of_pairs(model, monkeypatch):
    with pytest.warns(UnfamiliarTextsWarning, match="20 of 20 pairs are unlike") as caught:
        model.predict_proba(OTHER)
    assert [each.filename for each in caught] == [__file__]
    monkeypatch.setattr("estimators.pairs.submission.BLOCK", 7)
    with pytest.warns(UnfamiliarTextsWarning, match="20 of 20 pairs are unlike") as caught:
        duplicate_probabilities(model, OTHER)
    assert len(caught) == 1
    with pytest.warns(UnfamiliarTextsWarning, match="texts looked at are unlike") as caught:
        DuplicateFinder(model).fit(GERMAN).find(threshold=0.5)
    assert [each.filename for each in caught] == [__file__]
    model.predict_proba(OTHER[:19])  # too few to tell
    model.predict_proba(NEW)
    duplicate_probabilities(model, NEW)
    DuplicateFinder(model).fit(NEW.ravel()).find(threshold=0.5)


def test_probabilities_out_of_fold_are_moved_like_others(model):
    moved = model.out_of_fold_probabilities()
    general, model._general = model._general, None
    try:
        stack = model.out_of_fold_probabilities()
    finally:
        model._general = general
    inputs = np.column_stack([model.out_of_fold_, general.training])
    score, labels = inputs[:, -2], model._record.labels
    expected, without = np.empty(N), model._record.without
    for fold in range(model._record.fold_of_row.max() + 1):
        held = model._record.fold_of_row == fold
        line = LogisticRegression().fit(score[~held, None], labels[~held])
        other = copy.copy(general)
        other.slope, other.offset = line.coef_[0, 0], line.intercept_[0]
        assert np.array_equal(np.isnan(without[fold]), held)
        odds = other.offset + other.slope * score
        other.share = share_by_hand(without[fold], odds, inputs[:, -1], labels, ~held)
        expected[held] = other.mixed(stack, inputs)[held]
    ordinary = (stack < 0.95) & (moved < 0.95)
    assert moved[ordinary] == pytest.approx(expected[ordinary], abs=1e-12)
    assert not np.array_equal(moved, stack)


def test_saving_and_pruning_keep_the_formula(model, tmp_path):
    save_model(model, tmp_path / "model.film")
    loaded = load_model(tmp_path / "model.film")
    asked = np.concatenate([NEW[:20], OTHER[:3]])
    assert np.array_equal(loaded.predict_proba(asked), model.predict_proba(asked))
    less = model.pruned(["words"])
    assert np.array_equal(less.familiarity(asked), model.familiarity(asked))
    assert columns(less, asked)[:, -2] == pytest.approx(columns(model, asked)[:, -2], abs=1e-12)


def test_without_lexical_features_the_formula_counts_characters_itself(model):
    members = [("film", make_pipeline(TfidfVectorizer(), FILM(d=10, rank=30)))]
    plain = DuplicateClassifier(members, LogisticRegression(), features=None, cv=2)
    plain.fit(DATA.pairs[:N], LABELS[:N])
    assert columns(plain, NEW)[:, -2] == pytest.approx(columns(model, NEW)[:, -2], abs=1e-5)


def encode(texts):
    """Count letters, and digits as one more."""
    counts = [[text.lower().count(letter) for letter in "aeioustr"] for text in texts]
    return np.column_stack([counts, [sum(map(str.isdigit, text)) for text in texts]]) + 0.01


def units(texts):
    vectors = encode(texts)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def encoded():
    return DuplicateClassifier([("letters", encode)], cv=2, neighbourhood=3).fit(
        DATA.pairs[:N], LABELS[:N]
    )


SENTENCES = np.array([*pairwise(PROSE[:30])], dtype=object)
ROWS = np.array([("A-31 x 200 4 mm", "B-31 x 200 5 mm"), ("1998 2 10", "1998 2 11")], dtype=object)


@pytest.mark.parametrize(("pairs", "least"), [(SENTENCES, 0), (ROWS, 0.5)])
def test_the_cosine_of_an_encoder_counts_as_far_as_the_pair_is_of_sentences(encoded, pairs, least):
    inputs = columns(encoded, pairs)
    base = base_cosine(units(UNRELATED_TEXTS))
    cosines = (units(pairs[:, 0]) * units(pairs[:, 1])).sum(axis=1)
    texts = sorted(set(DATA.pairs[:N].flat))
    rarity = WordRarity(map(comparable_tokens, texts))
    alone = pair_features(pairs[:, 0].tolist(), pairs[:, 1].tolist(), rarity)
    characters = inputs[:, encoded.feature_names_out_.index("character cosine")]
    meanings = np.maximum(cosines - base, 0) / (1 - base)
    by_meaning = general_weights(True).log_odds(meaning_features(alone, characters, meanings))
    words = [[*comparable_tokens(a), *comparable_tokens(b)] for a, b in pairs]
    numbers = [sum(any(c.isdigit() for c in word) for word in of) for of in words]
    shares = [(n + 0.6) / (len(of) + 20) for n, of in zip(numbers, words, strict=True)]
    known = inputs[:, -1]
    shares = known * rarity.number_share + (1 - known) * np.array(shares)
    records = np.clip((shares - 0.03) / 0.1, 0, 1)
    assert (records >= least).all() and (least > 0 or records.max() < 0.5)
    odds = records * general_by_hand(encoded, pairs) + (1 - records) * by_meaning
    assert inputs[:, -2] == pytest.approx(odds, abs=1e-5)


def test_the_formula_counts_more_where_an_encoder_finds_few_training_texts_near(encoded):
    inputs, side = columns(encoded, NEW), copy.copy(encoded._general)
    side.number_share, side.share = 0.01, 0.1
    names = encoded.feature_names_out_
    density = names.index("letters: density on the sparser side")
    sparse, dense = np.quantile(encoded.out_of_fold_[:, density], [0.05, 0.5])
    inputs[:, -1] = 1
    p = np.clip(encoded.final_estimator_.predict_proba(inputs[:, :-1])[:, 1], 1e-6, 1 - 1e-6)
    stack = logit(p)
    u = side.offset + side.slope * inputs[:, -2]
    for value, share in [(dense, 0.1), ((sparse + dense) / 2, 0.55), (sparse, 1.0)]:
        inputs[:, density] = value
        found = logit(side.mixed(p, inputs))
        assert found == pytest.approx((1 - share) * stack + share * u, abs=1e-8)
    # Tables of records have rare texts too.
    side.number_share = 0.5
    assert logit(side.mixed(p, inputs)) == pytest.approx(0.9 * stack + 0.1 * u, abs=1e-8)


def test_without_its_encoder_a_pruned_classifier_has_the_formula_of_words():
    members = [("letters", encode), ("words", fast_duplicates().members[1][1])]
    whole = DuplicateClassifier(members, cv=2, neighbourhood=3).fit(DATA.pairs[:N], LABELS[:N])
    less, same = whole.pruned(["words"]), whole.pruned(["letters"])
    odds = general_by_hand(less, NEW)
    assert columns(less, NEW)[:, -2] == pytest.approx(odds, abs=1e-9)
    assert columns(same, NEW)[:, -2] == pytest.approx(columns(whole, NEW)[:, -2], abs=1e-12)
    assert np.abs(columns(whole, NEW)[:, -2] - odds).max() > 0.1
    p = less.out_of_fold_probabilities()
    assert np.isfinite(p).all() and less._general.density is None


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n_empty", [2, 20, N])
def test_pairs_with_an_empty_text_spoil_no_other(n_empty):
    pairs = DATA.pairs[:N].copy()
    pairs[:n_empty, 0] = ""
    model = fast_duplicates(d=16, rank=20, cv=2).fit(pairs, LABELS[:N])
    assert np.isfinite(model.predict_proba([*pairs[:30], *ODD])).all()
    assert not model.familiarity(pairs[:n_empty]).any()
    if n_empty < N:
        assert np.isfinite(model.out_of_fold_probabilities()).all()
        assert model.familiarity(pairs[n_empty:]).mean() > 0.5

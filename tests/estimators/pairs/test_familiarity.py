"""What a fitted stack says of texts that are, or are not, like those of its fit."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logit
from sklearn.feature_extraction.text import (
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.familiarity import counted
from estimators import (
    FILM,
    DuplicateClassifier,
    DuplicateFinder,
    SentenceEncoder,
    UnfamiliarTextsWarning,
    disjoint_pairs_split,
    fast_duplicates,
    load_model,
    save_model,
)
from estimators.pairs import probabilities_and_familiarities
from estimators.pairs.familiarity import domain
from estimators.pairs.familiarity.hashed_counts import hashed_families
from estimators.pairs.familiarity.latent_characters import LatentCharacters
from film.datasets import make_documents, make_question_pairs
from film.pairs import drawn_to_neighbours
from film.text import token_text

DATA = make_question_pairs(420, random_state=0)
N = 300
LABELS = np.asarray(DATA.y)
NEW = DATA.pairs[N:]
PROSE = [text for text in " ".join(make_documents(6, random_state=0)).split(". ") if text][:80]
GERMAN = ["Der Hund schläft im Garten.", "Es regnet heute sehr stark.", "Wo steht das alte Haus?"]
GERMAN += [
    "Im Garten schläft der Hund.",
    "Die Katze fängt keine Maus.",
    "Morgen scheint die Sonne.",
]
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
ODD = [("", ""), ("", "How do I learn to bake?"), ("😀😀", "🚀"), ("日本語です", "テスト")]


def fitted(**params):
    return fast_duplicates(d=20, rank=50, cv=2, **params).fit(DATA.pairs[:N], LABELS[:N])


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(autouse=True)
def _few_texts_are_enough(monkeypatch):
    monkeypatch.setattr(domain, "FEWEST_TEXTS", 1)


@pytest.fixture
def adapted(model):
    yield model.adapt(["Der Hund schläft.", "Es regnet heute sehr."])
    model.adapt(None)


def test_new_pairs_of_the_kind_of_the_fit_are_familiar_and_prose_is_not(model):
    own = model.familiarity(NEW)
    other = model.familiarity(list(zip(PROSE[::2], PROSE[1::2], strict=True)))
    assert own.shape == (120,) and own.dtype == np.float64
    assert ((own >= 0) & (own <= 1)).all()
    assert np.mean(own[:, None] > other) > 0.95


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [150, 400, 800])
def test_fewer_than_a_twentieth_of_the_kind_of_the_fit_is_flagged(n, seed):
    data = make_question_pairs(n + 400, random_state=seed)
    train, new, *_ = disjoint_pairs_split(
        data.pairs, data.y, test_size=400 / (n + 400), random_state=seed
    )
    known, _ = counted(train)
    assert np.mean(known.of_pairs(new) <= known.limit(None)) < 0.05
    prose = known.of_pairs(np.array([*zip(PROSE[::2], PROSE[1::2], strict=True)], dtype=object))
    assert n < 800 or np.mean(prose <= known.limit(None)) > 0.25
    odd = known.of_pairs(np.array(ODD, dtype=object))
    assert (odd <= known.limit(None)).all()


def test_readmes_own_example_is_familiar():
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    pair = re.search(r'--text-pair "(.+?)" "(.+?)"', readme)
    assert pair is not None
    data = make_question_pairs(800, random_state=0)
    train, *_ = disjoint_pairs_split(data.pairs, data.y, test_size=0.2, random_state=0)
    known, _ = counted(train)
    assert known.of_pairs(np.array([pair.groups()], dtype=object)) > 0.5


def test_the_limit_is_that_of_pairs_left_out_and_kept_by_saving(tmp_path):
    data = make_question_pairs(800, random_state=0)
    model = fast_duplicates(d=20, rank=50, cv=2).fit(data.pairs, data.y)
    known = model._domain.familiarity
    assert 0 < known.limit(None) == model.familiarity_limit_ < 0.5
    save_model(model, tmp_path / "model.film")
    assert load_model(tmp_path / "model.film").familiarity_limit_ == model.familiarity_limit_
    for value, doubts in ((model.familiarity_limit_, True), (0.5, False)):
        verdict = replace(model.explain(NEW[:1])[0], familiarity=value)
        assert ("rely less on this result" in verdict.familiarity_note) is doubts


def test_texts_of_another_kind_are_warned_of_in_python_too(model):
    other = np.array([*pairwise(GERMAN)] * 4, dtype=object)
    told = "20 of 20 pairs looked at have a familiarity of at most"
    with pytest.warns(UnfamiliarTextsWarning, match=told) as caught:
        model.predict_proba(other[:20])
    assert caught[0].filename == __file__
    with pytest.warns(UnfamiliarTextsWarning):
        model.score(other, np.arange(len(other)) % 2)
    with pytest.warns(UnfamiliarTextsWarning, match="3 of 3 pairs have"):
        probabilities_and_familiarities(model, other[:3])
    with pytest.warns(UnfamiliarTextsWarning, match="texts looked at have") as caught:
        DuplicateFinder(model).fit(GERMAN).find(threshold=0.5)
    assert [each.filename for each in caught] == [__file__]
    model.predict_proba(other[:19])  # too few to tell
    model.predict_proba(NEW)
    DuplicateFinder(model).fit(NEW.ravel()).find(threshold=0.5)
    probabilities_and_familiarities(model, NEW)
    try:
        model.adapt(GERMAN).predict_proba(other)
    finally:
        model.adapt(None)


def test_texts_of_no_known_word_and_empty_ones_are_not_familiar(model):
    assert model.familiarity(ODD).tolist() == [0.0] * 4
    assert np.isfinite(model.predict_proba(ODD)).all()
    german = model.familiarity([("Wie lerne ich am schnellsten backen?", "Wie backt man Brot?")])
    assert german < 0.1


def test_neither_order_nor_company_changes_familiarity(model):
    once = model.familiarity(NEW[:20])
    assert model.familiarity(NEW[:20, ::-1]) == pytest.approx(once, abs=1e-12)
    alone = [model.familiarity(NEW[row : row + 1])[0] for row in range(5)]
    assert alone == pytest.approx(once[:5], abs=1e-12)


def test_labels_play_no_part(model):
    flipped = fast_duplicates(d=20, rank=50, cv=2).fit(DATA.pairs[:N], 1 - LABELS[:N])
    assert np.array_equal(flipped.familiarity(NEW[:30]), model.familiarity(NEW[:30]))


def test_a_pruned_model_falls_back_to_what_it_keeps(model):
    less = model.pruned(["words"])
    assert np.array_equal(less.familiarity(NEW[:30]), model.familiarity(NEW[:30]))
    column = less.feature_names_out_.index("character cosine")
    assert less.adapt(["Der Hund schläft.", "日本語"]).untrained_share_ == pytest.approx(1)
    plain = less.predict_proba(NEW)[:, 1] < 0.9
    order = np.argsort(less.inputs(NEW)[plain, column])
    assert (np.diff(less.predict_proba(NEW)[plain, 1][order]) >= -1e-12).all()
    assert model.untrained_share_ == 0


def test_familiarity_changes_no_probability_and_texts_of_the_fit_none_either(model):
    before = model.predict_proba(NEW)
    share = model.adapt(DATA.pairs[:N].ravel()).untrained_share_
    assert share < 0.2
    model.adapt(None)
    assert model.untrained_share_ == 0
    assert np.array_equal(model.predict_proba(NEW), before)


def test_an_unfamiliar_collection_is_judged_by_untrained_similarity(model):
    before = logit(model.predict_proba(NEW)[:, 1])
    cosine = model.inputs(NEW)[:, model.feature_names_out_.index("character cosine")]
    assert model.adapt(["Der Hund schläft.", "日本語"]).untrained_share_ == pytest.approx(1)
    after = model.predict_proba(NEW)[:, 1]
    # Copies and near copies are certain whatever the model.
    plain = after < 0.9
    order = np.argsort(cosine[plain])
    assert (np.diff(after[plain][order]) >= -1e-12).all()
    model._domain.share = 0.5
    half = logit(model.predict_proba(NEW)[:, 1])
    assert half[plain] == pytest.approx((before[plain] + logit(after[plain])) / 2, abs=1e-9)
    model.adapt(None)


def test_few_texts_have_a_share_in_proportion_and_are_warned_of(model, monkeypatch):
    monkeypatch.undo()
    texts = [f"Es regnet am {day}. Mai." for day in range(1, 32)]
    try:
        assert model.adapt(texts).untrained_share_ == model.adapt(texts[:30]).untrained_share_ == 1
        for n, given in ((29, texts[:29]), (2, texts[:2] * 20)):
            with pytest.warns(UserWarning, match=f"^{n} different texts are too few") as caught:
                assert model.adapt(given).untrained_share_ == pytest.approx(n / 30)
            assert caught[0].filename == __file__
    finally:
        model.adapt(None)


def test_an_adapted_model_looks_at_similarity_within_its_collection(model):
    plain = model.inputs(NEW)
    asked = np.array([*NEW.ravel()[:30], *(f"Der Hund {n} schläft." for n in range(15))])
    model.adapt(asked)
    assert 0 < model.untrained_share_ < 1
    inputs = model.inputs(NEW)
    assert np.array_equal(inputs[:, :-1], plain)
    read = model.features_.character_vectors
    rows = {text: read([text]) for text in NEW.flat}
    near = read(asked.tolist())
    for row in range(5):
        first, second = (drawn_to_neighbours(rows[text], near) for text in NEW[row])
        # float32 sums of a few hundred products
        assert inputs[row, -1] == pytest.approx((first @ second.T).toarray()[0, 0], abs=1e-5)
    before = model.final_estimator_.predict_proba(plain)[:, 1]
    u = model._domain.untrained.log_odds(inputs)
    share = model.untrained_share_
    found = model.probabilities_of(inputs)[:, 1]
    assert logit(found) == pytest.approx((1 - share) * logit(before) + share * u, abs=1e-9)
    with pytest.raises(ValueError, match="since adapt"):
        model.probabilities_of(plain)
    model.adapt(None)
    assert np.array_equal(model.inputs(NEW), plain)


def test_the_scale_is_a_logistic_regression_on_training_pairs(adapted):
    known, untrained = adapted._domain.training, adapted._domain.untrained
    value = known.similarities["characters"]
    z = (value - value.mean()) / value.std()
    model = LogisticRegression().fit(z[:, None], LABELS[known.rows])
    assert untrained.slope == pytest.approx(model.coef_[0, 0], abs=1e-9)
    assert untrained.intercept == pytest.approx(model.intercept_[0], abs=1e-9)


@pytest.mark.filterwarnings("ignore:.*tokens unknown to the model")
def test_an_encoder_is_what_an_adapted_model_reads_by(tiny_model):
    members = [("cosine", SentenceEncoder(tiny_model, max_length=32))]
    model = DuplicateClassifier(members, cv=2).fit(DATA.pairs[:80], LABELS[:80])
    model.adapt([*NEW.ravel()[:20], "日本語"])
    vectors = SentenceEncoder(tiny_model, max_length=32).fit(["a"]).transform
    asked = np.array(sorted({*NEW.ravel()[:20], "日本語"}), dtype=object)
    near = vectors(asked)
    first, second = (drawn_to_neighbours(vectors(NEW[:9, side]), near) for side in (0, 1))
    cosines = (first * second).sum(axis=1)
    assert model.inputs(NEW[:9])[:, -1] == pytest.approx(cosines, abs=1e-3)


def test_explanations_of_an_adapted_model_sum(adapted):
    assert adapted.untrained_share_ > 0.9
    for verdict in adapted.explain(NEW[:3]):
        total = logit(verdict.baseline) + sum(
            one.effect for one in [*verdict.members, *verdict.features]
        )
        gain = verdict.sameness.effect if verdict.sameness else 0.0
        assert total + gain == pytest.approx(logit(verdict.probability), abs=1e-6)


def test_saving_keeps_familiarity_and_what_was_adapted_to(adapted, tmp_path):
    save_model(adapted, tmp_path / "model.zip")
    loaded = load_model(tmp_path / "model.zip")
    assert np.array_equal(loaded.familiarity(NEW[:20]), adapted.familiarity(NEW[:20]))
    assert loaded.untrained_share_ == adapted.untrained_share_
    assert np.array_equal(loaded.predict_proba(NEW[:20]), adapted.predict_proba(NEW[:20]))


def test_a_fit_forgets_what_was_adapted_to():
    model = fitted().adapt(["Der Hund schläft."])
    assert model.untrained_share_ > 0.9
    assert model.fit(DATA.pairs[:N], LABELS[:N]).untrained_share_ == 0


def test_without_untrained_similarity_nothing_is_adapted():
    members = [("film", make_pipeline(TfidfVectorizer(), FILM(d=10, rank=30)))]
    other: list[dict[str, Any]] = [{"features": None}, {"final_estimator": LOGISTIC}]
    for params in other:
        model = DuplicateClassifier(members, cv=2, **params).fit(DATA.pairs[:N], LABELS[:N])
        assert model.familiarity(NEW[:5]).shape == (5,)
        with pytest.raises(ValueError, match="no untrained similarity to fall back to"):
            model.adapt(["a text"])
        assert model.untrained_share_ == 0


@pytest.mark.parametrize("texts", [[], "one text", [None], 3])
def test_what_is_no_collection_is_refused(model, texts):
    with pytest.raises((TypeError, ValueError), match="texts"):
        model.adapt(texts)
    assert model.untrained_share_ == 0


def test_features_of_texts_are_counted_once_each():
    texts = ["the red car the red", "a bus", ""]
    assert hashed_families(["a b c d e f"], [])[5].indptr[1] == 5 + 4 + 3 + 2
    families = hashed_families(texts, ["the", "a"])
    sizes = [np.diff(family.indptr).tolist() for family in families]
    assert sizes == [
        [3, 2, 0],
        [5, 3, 1],  # START the, the red, red car, car the, red END
        [5, 2, 0],  # START the ?, the ? ?, ? ? the, ? the ?, the ? END
        [1, 1, 0],
        [1, 1, 0],
        [8, 1, 0],  # all ordered pairs of three words but "car car"
    ]
    assert all(set(family.data) == {1.0} for family in families)
    known, other = hashed_families(["the blue car", "the blue bus"], ["the"])[4].indices
    assert known == other  # the first three words, of which patterns keep one


@pytest.mark.parametrize("size", [3, 40])
def test_nearness_by_characters_is_that_of_exact_latent_vectors(size):
    texts = [token_text(text) for text in dict.fromkeys(DATA.pairs[:size].ravel())]
    asked = [token_text(text) for text in NEW[:20].ravel()] + ["", "日本語"]
    counter = HashingVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), n_features=2**14, alternate_sign=False, norm=None
    )
    weigh = TfidfTransformer(sublinear_tf=True).fit(counter.transform(texts))
    rows, new = (weigh.transform(counter.transform(part)).toarray() for part in (texts, asked))
    values, axes = np.linalg.svd(rows, full_matrices=False)[1:]
    axes = axes[(values > 1e-3)][:200].T
    points, near = (part @ axes for part in (rows, new))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    near /= np.maximum(np.linalg.norm(near, axis=1, keepdims=True), 1e-9)
    best = -np.sort(-(near @ points.T), axis=1)[:, :5].sum(axis=1) / 5
    found = LatentCharacters(texts, 0).nearness(asked)
    assert found == pytest.approx(best, abs=2e-3)  # axes and vectors have eleven bits
    assert found[-2] == 0
    near = LatentCharacters(texts, 0)
    assert [near.nearness([text])[0] for text in asked] == found.tolist()
    # Lengths are at most 4000 and what rounding adds: 200 axes, half a unit each.
    assert (4000 + 0.5 * 200**0.5) ** 2 < 2**24


def test_a_handful_of_pairs_is_enough():
    pairs = [(f"red {n} car", f"a red {n} car") for n in range(6)]
    pairs += [(f"red {n} car", f"blue bus {n}") for n in range(6)]
    model = fast_duplicates(d=2, rank=4, cv=2).fit(pairs, [1] * 6 + [0] * 6)
    assert np.isfinite(model.familiarity([*pairs, *ODD])).all()

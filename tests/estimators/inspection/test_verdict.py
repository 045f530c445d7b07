"""Explanations of a stack's probabilities: effects that sum, true to each member."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from estimators import DuplicateClassifier, LexicalFeatures, WordDifferences, fast_duplicates
from estimators.inspection import WordEffect, explanations_page, word_effects
from estimators.inspection.explanation import Explanation
from estimators.inspection.verdict import (
    NUMBERS,
    SHOWN_STEPS,
    SHOWN_WORDS,
    Evidence,
    Verdict,
    percent,
)
from film.datasets import make_question_pairs
from tests.estimators.inspection.documents import Document
from tests.estimators.inspection.test_page import one_word

DATA = make_question_pairs(260, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object)[:200], np.asarray(DATA.y)[:200]
NEW = np.asarray(DATA.pairs, dtype=object)[200:]
ODD = np.array(
    [("", "?!"), ("zyx wvu", "Zyx, wvu!"), ("", NEW[0, 0]), (NEW[1, 0], NEW[1, 0]), ("東京", "é")],
    dtype=object,
)
JUDGED = np.vstack([NEW[:8], PAIRS[:4], ODD])
HOSTILE = '<img src=x onerror="window.hacked=1">\x1b[2J\u202e\ud800'


class Pairs(ClassifierMixin, BaseEstimator):
    """A pair classifier that no one can take apart."""

    def fit(self, pairs, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, pairs):
        p = np.array([1 / (2 + abs(len(first) - len(second))) for first, second in pairs])
        return np.column_stack([1 - p, p])


class Lengths(TransformerMixin, BaseEstimator):
    """An embedder without words."""

    def fit(self, texts, triplets):
        self.fitted_ = True
        return self

    def transform(self, texts):
        return np.array([[len(text), text.count(" ") + 1.0] for text in texts])


def stack(*members, **params):
    members = [(f"m{number}", member) for number, member in enumerate(members)]
    return DuplicateClassifier(members, cv=2, **{"features": None} | params).fit(PAIRS, Y)


@pytest.fixture(scope="module")
def fitted():
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=1000))
    model = fast_duplicates(d=16, rank=25, cv=2, prior=0.2, final_estimator=linear)
    model.fit(PAIRS, Y)._general.share = 0.1
    return model


@pytest.fixture(scope="module")
def verdicts(fitted):
    return fitted.explain(JUDGED)


def log_odds(p):
    return np.log(p) - np.log1p(-p)


def test_every_member_and_feature_says_what_it_said(fitted, verdicts):
    inputs = fitted.inputs(JUDGED)
    probabilities = fitted.predict_proba(JUDGED)[:, 1]
    for row, verdict in enumerate(verdicts):
        assert (verdict.text1, verdict.text2) == tuple(JUDGED[row])
        assert verdict.probability == probabilities[row]
        said = {evidence.name: evidence.value for evidence in verdict.members}
        assert said == {"film": inputs[row, 0], "words": inputs[row, 3]}
        features = {evidence.name: evidence.value for evidence in verdict.features}
        assert features.pop("familiarity") == verdict.familiarity
        assert np.isfinite(features.pop("general formula"))
        names = LexicalFeatures().get_feature_names_out()
        assert features == dict(zip(names, inputs[row, 4:], strict=True))
    assert len(verdicts) == len(JUDGED)


def test_effects_lead_from_the_typical_pair_to_the_probability(fitted, verdicts):
    typical = np.median(fitted.out_of_fold_, axis=0)
    general = np.median(fitted._general.training, axis=0)
    baseline = fitted._mixed(np.append(typical, general)[None])[0, 1]
    for verdict in verdicts:
        assert verdict.baseline == pytest.approx(baseline, abs=1e-12)
        total = sum(evidence.effect for evidence in [*verdict.members, *verdict.features])
        total += verdict.sameness.effect if verdict.sameness else 0
        assert log_odds(baseline) + total == pytest.approx(log_odds(verdict.probability), abs=1e-9)
    values = {evidence.name: evidence.typical for evidence in verdicts[0].features}
    names = LexicalFeatures().get_feature_names_out()
    assert [values.pop("general formula"), values.pop("familiarity")] == general.tolist()
    assert values == dict(zip(names, typical[4:], strict=True))


def test_effects_of_a_linear_model_are_coefficients_times_differences(fitted, verdicts):
    """The small model is a logistic regression, whose Shapley values are known."""
    scaler, logistic = fitted.final_estimator_
    weights = logistic.coef_[0] / scaler.scale_
    shares = (1 - fitted._general.share) * (fitted.inputs(JUDGED) - fitted.typical_) * weights
    familiar = [(row, one) for row, one in enumerate(verdicts) if one.familiarity == 1]
    assert len(familiar) > len(verdicts) / 2
    for row, verdict in familiar:
        effects = {one.name: one.effect for one in [*verdict.members, *verdict.features]}
        assert effects["film"] == pytest.approx(shares[row, :3].sum(), abs=1e-9)
        for column, name in enumerate(LexicalFeatures().get_feature_names_out(), 4):
            assert effects[name] == pytest.approx(shares[row, column], abs=1e-9)


def test_steps_start_at_the_typical_pair_and_end_at_this_one(verdicts):
    for verdict in verdicts:
        for n in (1, SHOWN_STEPS, 1000):
            steps = verdict.steps(n)
            assert steps[-1].probability == pytest.approx(verdict.probability, abs=1e-12)
            rest = 43 - n
            inputs = min(n, 43) + (rest > 0)
            assert len(steps) == inputs + (verdict.sameness is not None)
            if rest > 0:
                assert steps[n].name == f"{rest} other inputs" and steps[n].value is None
            before = verdict.baseline
            for step in steps:
                change = log_odds(step.probability) - log_odds(before)
                assert change == pytest.approx(step.effect, abs=1e-9)
                before = step.probability
        sizes = [abs(step.effect) for step in verdict.steps(1000)[:41]]
        assert sizes == sorted(sizes, reverse=True)


def test_effects_of_groups_lead_to_the_probability_too(verdicts):
    names = {
        *("wording", "numbers and codes", "negation and order", "what labels taught"),
        "what holds for texts in general",
    }
    for verdict in verdicts:
        assert set(verdict.groups) == names
        total = sum(verdict.groups.values())
        total += verdict.sameness.effect if verdict.sameness else 0
        ends = log_odds(verdict.probability) - log_odds(verdict.baseline)
        assert total == pytest.approx(ends, abs=1e-9)
        steps = verdict.steps()
        assert [step.name for step in steps][: len(names)] == list(verdict.groups)
        assert all(step.value is None for step in steps[: len(names)])
        assert steps[-1].probability == pytest.approx(verdict.probability, abs=1e-12)
        sizes = [abs(effect) for effect in verdict.groups.values()]
        assert sizes == sorted(sizes, reverse=True)


def test_effects_of_groups_of_a_linear_model_are_sums_of_those_of_inputs(fitted, verdicts):
    for verdict in verdicts:
        if verdict.familiarity != 1:
            continue
        effects = {one.name: one.effect for one in [*verdict.members, *verdict.features]}
        labels = effects["film"] + effects["words"]
        numbers = sum(effects[f"{name}"] for name in NUMBERS)
        assert verdict.groups["what labels taught"] == pytest.approx(labels, abs=1e-9)
        assert verdict.groups["numbers and codes"] == pytest.approx(numbers, abs=1e-9)


def test_the_probability_without_the_differing_words_is_that_of_the_shorter_pair(fitted):
    pairs = np.array(
        [("a 128 GB phone", "a 256gb phone"), ("a b", "A b"), ("x", "y")], dtype=object
    )
    one, same, nothing = fitted.explain(pairs)
    assert one.without == {"128 / 256gb": fitted.predict_proba([("a GB phone", "a phone")])[0, 1]}
    assert f"{percent(one.without['128 / 256gb'])}  without 128 / 256gb" in str(one)
    assert "without 128 / 256gb" in one._repr_html_()
    assert same.without == nothing.without == {}


def test_what_words_add_is_measured_by_leaving_them_out(fitted):
    pair = ["a 128 GB phone!", "a 256gb phone"]
    (verdict,) = fitted.explain([pair])
    words = [(one.text, one.word, one.start, one.end) for one in verdict.by_word]
    assert words == [
        *((1, "a", 0, 1), (1, "128", 2, 5), (1, "GB", 6, 8), (1, "phone", 9, 14)),
        *((2, "a", 0, 1), (2, "256gb", 2, 7), (2, "phone", 8, 13)),
    ]

    def u(*texts):
        return log_odds(fitted.predict_proba([texts])[0, 1])

    number, phone = verdict.by_word[1].effect, verdict.by_word[6].effect
    whole, shared = u(*pair), u("a GB phone!", "a phone")
    from_whole, from_shared = whole - u("a GB phone!", pair[1]), u(pair[0], "a phone") - shared
    assert number == pytest.approx((from_whole + from_shared) / 2, abs=1e-9)
    from_whole, from_shared = whole - u(pair[0], "a 256gb"), shared - u("a GB phone!", "a")
    assert phone == pytest.approx((from_whole + from_shared) / 2, abs=1e-9)
    assert number < 0 < phone
    assert f"Words of text 2 add to the log-odds: 256gb {verdict.by_word[5].effect:+.2f}" in str(
        verdict
    )
    shown = explanations_page([verdict])
    added = [round(one.effect, 6) for one in verdict.by_word]
    assert f'"added1":{json.dumps(added[:4], separators=(",", ":"))}' in shown
    assert f'title="log-odds {number:+.2g}"' in verdict._repr_html_()


def test_pairs_without_common_words_have_effects_and_long_ones_do_not():
    def predict(pairs):
        return np.array([0.1 + 0.1 * len(b) for _, b in pairs])

    def ask(*pair):
        return word_effects(np.array([pair], dtype=object), predict)[0]

    (one, other) = ask("x", "yy")
    assert one.effect == 0
    assert other.effect == pytest.approx(log_odds(0.3) - log_odds(0.1))
    assert ask("", " ") == ask("a " * 201, "b") == []
    swapped = word_effects(
        np.array([["a b", "b c"], ["b", ""]], dtype=object), lambda p: 0.5 * np.ones(len(p))
    )
    assert [len(of) for of in swapped] == [4, 1]


def test_an_encoder_is_a_group_of_its_own():
    class Encoder(Lengths):
        def encode(self, texts):
            return self.transform(texts)

    verdict = stack(Encoder(), Lengths()).explain(NEW[:1])[0]
    assert set(verdict.groups) == {
        *("meaning", "what labels taught", "what holds for texts in general")
    }


def test_certain_probabilities_have_finite_effects():
    class Certain(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            p = (X[:, 0] > np.median(X[:, 0])).astype(float)
            return np.column_stack([1 - p, p])

    certain = stack(Pairs(), final_estimator=Certain())
    certain._general.share = 0.1
    for verdict in certain.explain(NEW[:10]):
        assert not 1e-4 < verdict.probability < 1 - 1e-4
        assert np.isfinite(verdict.members[0].effect)


def test_terms_are_coefficients_times_features(fitted, verdicts):
    member = dict(fitted.members_)["words"]
    differences, model = member[0], member[-1]
    names = differences.get_feature_names_out()
    features = differences.transform(JUDGED).toarray()
    for row, verdict in enumerate(verdicts):
        products = features[row] * model.coef_[0]
        wanted = {names[i]: products[i] for i in np.flatnonzero(features[row])}
        found = dict(verdict.terms["words"])
        assert len(found) == min(SHOWN_WORDS, len(wanted))
        assert found == pytest.approx({name: wanted[name] for name in found}, abs=1e-12)
        shown = [abs(value) for _, value in verdict.terms["words"]]
        assert shown == sorted(shown, reverse=True)
        assert sorted(map(abs, wanted.values()), reverse=True)[: len(shown)] == pytest.approx(shown)


@pytest.mark.parametrize(
    ("member", "has_terms"),
    [
        (make_pipeline(LexicalFeatures(), StandardScaler(), LogisticRegression()), True),
        (make_pipeline(WordDifferences(), SVC(kernel="linear")), True),
        (make_pipeline(WordDifferences(), SVC(kernel="rbf")), False),
        (
            make_pipeline(
                LexicalFeatures(), FunctionTransformer(lambda X: X[:, :5] + 0), LogisticRegression()
            ),
            False,
        ),
        (Pairs(), False),
    ],
    ids=["dense", "sparse coefficients", "no coefficients", "no names", "no pipeline"],
)
def test_terms_are_those_of_linear_members_with_names(member, has_terms):
    model = stack(member)
    verdict = model.explain(NEW[:1])[0]
    assert verdict.words == {}
    assert list(verdict.terms) == ["m0"] * has_terms
    if has_terms:
        assert 0 < len(verdict.terms["m0"]) <= SHOWN_WORDS
    assert [evidence.name for evidence in verdict.members] == ["m0"]
    assert verdict.members[0].value == model.inputs(NEW[:1])[0, 0]


def test_members_are_told_apart_however_they_are_named():
    members = [("a", Lengths()), ("a: b", Pairs()), ("words", Pairs())]
    features = FunctionTransformer(
        lambda pairs: np.array([[len(first), len(second)] for first, second in pairs]),
        feature_names_out=lambda self, names: ["a: x", "words: y"],
    )
    model = DuplicateClassifier(members, features=features, cv=2).fit(PAIRS, Y)
    inputs = model.inputs(NEW[:1])[0]
    verdict = model.explain(NEW[:1])[0]
    assert {e.name: e.value for e in verdict.members} == {
        "a": inputs[0],
        "a: b": inputs[3],
        "words": inputs[4],
    }
    found = {e.name: e.value for e in verdict.features if ":" in e.name}
    assert found == {"a: x": inputs[5], "words: y": inputs[6]}


def test_members_without_words_cannot_be_plotted():
    verdict = stack(Lengths()).explain(NEW[:1])[0]
    assert verdict.words == verdict.terms == {}
    assert [evidence.name for evidence in verdict.members] == ["m0"]
    for call in (verdict.plot, verdict.top):
        with pytest.raises(ValueError, match=r"no member .* explained by words: give it one"):
            call()


def test_the_first_member_with_words_is_plotted():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    svd = make_pipeline(TfidfVectorizer(), TruncatedSVD(5, random_state=0))
    counts = make_pipeline(CountVectorizer(), TruncatedSVD(3, random_state=0))
    verdict = stack(Lengths(), svd, counts).explain(NEW[:1])[0]
    assert list(verdict.words) == ["m1", "m2"]
    assert verdict.top(2) == verdict.words["m1"].top(2) != verdict.words["m2"].top(2)
    assert verdict.plot().images
    _, ax = pyplot.subplots()
    assert verdict.plot(ax=ax) is ax
    pyplot.close("all")


def test_json_holds_everything(verdicts):
    for verdict in verdicts:
        data = json.loads(json.dumps(verdict.to_dict()))
        again = Verdict(
            data["text1"],
            data["text2"],
            data["probability"],
            data["baseline"],
            [Evidence(**evidence) for evidence in data["members"]],
            [Evidence(**evidence) for evidence in data["features"]],
            {name: Explanation(**words) for name, words in data["words"].items()},
            {name: [tuple(term) for term in terms] for name, terms in data["terms"].items()},
            data["sameness"] and Evidence(**data["sameness"]),
            data["unseen"],
            data["offsets"],
            data["familiarity"],
            familiarity_limit=data["familiarity_limit"],
            difference=data["difference"],
            groups=data["groups"],
            without=data["without"],
            by_word=[WordEffect(**effect) for effect in data["by_word"]],
        )
        assert replace(again, words={}) == replace(verdict, words={})
        for name, words in verdict.words.items():
            assert np.array_equal(again.words[name].contributions, words.contributions)
        assert str(again) == str(verdict)


def test_text_says_the_strongest(verdicts):
    verdict = verdicts[0]
    lines = str(verdict).splitlines()
    assert lines[0] == f"{verdict.probability:.1%} duplicate"
    assert lines[1:3] == [f"  {verdict.text1}", f"  {verdict.text2}"]
    assert lines[3] == f"  {verdict.difference}" and "differs in" in verdict.difference
    assert lines[4].startswith(f"  {percent(verdict.baseline):>7}  for a typical pair; then")
    last = 5 + len(verdict.groups)
    assert lines[last] == f"  {percent(verdict.probability):>7}  for this pair"
    ((words, p),) = verdict.without.items()
    assert lines[last + 1] == f"  {percent(p):>7}  without {words}"
    for line, step in zip(lines[5:last], verdict.steps(), strict=True):
        sign = "+" if step.effect > 0 else "-" if step.effect < 0 else " "
        assert line == f"  {percent(step.probability):>7} {sign}  {step.name}"
    bare = str(replace(verdict, groups={})).splitlines()
    step = verdict.steps(1)[0]
    assert bare[5].endswith(f"{step.name} = {step.value:.3g} (typical {step.typical:.3g})")
    term, weight = verdict.terms["words"][0]
    assert f"{term} {weight:+.2f}" in str(verdict)
    assert f"its cosine of {verdict.words['film'].similarity:.3f}: " in str(verdict)
    for member, most in [("words", SHOWN_WORDS), ("film", 5)]:
        (line,) = (line for line in lines if line.startswith(f"  Words of {member},"))
        assert line.split(": ", 1)[1].count(", ") == most - 1


def hostile_verdict(words):
    evidence = [Evidence(HOSTILE, 0.5, 1.0, 0.0)]
    terms = {HOSTILE: [(HOSTILE, 0.25)]}
    return Verdict(
        HOSTILE, HOSTILE, 0.5, 0.5, evidence, evidence, words, terms, evidence[0], HOSTILE
    )


@pytest.mark.parametrize("words", [{}, {HOSTILE: one_word(HOSTILE)}], ids=["no words", "words"])
def test_hostile_texts_steer_neither_terminal_nor_page(words):
    verdict = hostile_verdict(words)
    shown = str(verdict)
    assert all(c.isprintable() or c == "\n" for c in shown)
    shown.encode("utf-8")
    # Texts, difference, member, feature, sameness, member of the terms, term; words of a member.
    assert shown.count("onerror") == 8 + 3 * bool(words)
    page = verdict._repr_html_()
    page.encode("utf-8")
    elements = Document(page).elements
    assert not any(e["tag"] == "img" or any(name.startswith("on") for name in e) for e in elements)
    text = elements[0]["text"]
    assert text.count("onerror") >= 8 and "50.0% duplicate" in text


@pytest.mark.parametrize(
    ("probability", "shown"),
    [
        (0, "0%"),
        (1e-9, "<0.1%"),
        (0.0768, "7.7%"),
        (0.5, "50.0%"),
        (1 - 1e-9, ">99.9%"),
        (1, "100%"),
    ],
)
def test_only_certainty_is_shown_as_certain(probability, shown):
    assert percent(probability) == shown


def test_long_texts_are_cut_in_a_terminal():
    verdict = Verdict("a" * 100_000, "b", 0.5, 0.5, [], [], {}, {}, None, "c" * 100_000)
    assert len(str(verdict)) < 600

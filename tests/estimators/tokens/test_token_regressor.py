"""What RCMDRegressor and TokenMatchingRegressor share: blocks, lines, explanations, errors."""

import warnings

import numpy as np
import pytest
from scipy.stats import linregress, spearmanr

from estimators import RCMDRegressor, TokenMatchingRegressor
from estimators.tokens import token_regressor as blocks
from estimators.tokens.token_regressor import TokenRegressor
from estimators.training import targets
from estimators.training.targets import fitted_line, rows_of_line
from film.tokens import chunk_membership, joined_chunks, mutual_maxima
from tests.estimators.tiny_model import MAX_TOKENS, bare_model

transformers = pytest.importorskip("transformers", reason="needs the extra neural")

PAIRS = [
    ("How do I learn chess?", "what is the best way to learn chess"),
    ("the cat sat on the mat", "a dog sat on the mat."),
    ("how old is earth", "what is the age of Earth, well?"),
    ("", "a"),
    ("?!.", "the cat, running"),
    ("👩‍👩‍👧 running\u200d", "שלום a שלום"),
    ("a cat", "a dog"),
    ("a dog", "a cat ran"),
]
Y = [4.0, 3.5, 3.0, 0.0, 1.0, 0.5, 2.0, 2.5]
KINDS = [RCMDRegressor, TokenMatchingRegressor]


@pytest.fixture(params=KINDS)
def make(request, tiny_model):
    def made(**parameters):
        shape = {"max_length": MAX_TOKENS, "device": "cpu"}
        return request.param(tiny_model, **shape | parameters)

    return made


def test_explanations_name_the_tokens_and_their_places(make):
    [explanation] = make().fit(PAIRS).explain([("Running שלום\u200d", "👩 x, a")])
    assert explanation.text1 == "Running שלום\u200d" and explanation.text2 == "👩 x, a"
    assert explanation.tokens1 == ["[CLS]", "Run", "ning", "שלום", "[SEP]"]
    assert explanation.offsets1.tolist() == [[0, 0], [0, 3], [3, 7], [8, 12], [0, 0]]
    assert explanation.special1.tolist() == [True, False, False, False, True]
    assert explanation.tokens2 == ["[CLS]", "👩", "x", ",", "a", "[SEP]"]
    assert explanation.offsets2.tolist() == [[0, 0], [0, 1], [2, 3], [3, 4], [5, 6], [0, 0]]
    assert explanation.special2.tolist() == [True, False, False, False, False, True]
    assert explanation.contributions.shape == (5, 6)


def test_without_special_tokens_they_are_in_no_explanation(make):
    [explanation] = make(special_tokens=False).fit(PAIRS).explain([("a cat", "the dog sat")])
    assert explanation.tokens1 == ["a", "cat"] and explanation.tokens2 == ["the", "dog", "sat"]
    assert not explanation.special1.any() and not explanation.special2.any()


def test_each_explanation_has_the_weights_of_its_own_texts(make):
    pairs = [("a a a", "b cat dog mat"), ("cat dog", "mat cat mat")]
    model = make(weights={"cat": 5, "dog": 0.5, "mat": 3}).fit(pairs)
    for pair, explanation in zip(pairs, model.explain(pairs), strict=True):
        [alone] = model.explain([pair])
        np.testing.assert_allclose(explanation.contributions, alone.contributions, atol=1e-5)
        assert explanation.to_dict().keys() == alone.to_dict().keys()


@pytest.mark.parametrize("weights", [None, "idf"])
def test_predict_is_the_least_squares_line(make, weights):
    model = make(weights=weights).fit(PAIRS, Y)
    similarity = model.similarity(PAIRS)
    line = linregress(similarity, Y)
    np.testing.assert_allclose([model.slope_, model.intercept_], [line.slope, line.intercept])
    assert isinstance(model.slope_, float) and isinstance(model.intercept_, float)
    expected = line.intercept + line.slope * similarity
    np.testing.assert_allclose(model.predict(PAIRS), expected, rtol=1e-6)


def test_of_many_pairs_some_show_the_line_and_no_others_are_encoded(make, monkeypatch):
    monkeypatch.setattr(targets, "LINE_ROWS", 4)
    chosen, scored = rows_of_line(np.array(Y)), TokenRegressor._scores
    n_scored = []

    def counted(self, encoder, table, pairs):
        n_scored.append(len(pairs))
        return scored(self, encoder, table, pairs)

    monkeypatch.setattr(TokenRegressor, "_scores", counted)
    model = make().fit(PAIRS, Y)
    assert n_scored == [4]
    # The same texts at once: a text's vector depends in its last bits on those that it is encoded
    # with.
    similarity = model.similarity([PAIRS[row] for row in chosen])
    line = linregress(similarity, np.array(Y)[chosen])
    np.testing.assert_allclose([model.slope_, model.intercept_], [line.slope, line.intercept])


def test_without_y_predict_is_the_similarity_and_nothing_is_encoded(make, monkeypatch):
    model = make()
    monkeypatch.setattr(TokenRegressor, "_scores", lambda *_: pytest.fail("encoded"))
    model.fit(PAIRS)
    monkeypatch.undo()
    assert (model.slope_, model.intercept_) == (1.0, 0.0)
    np.testing.assert_array_equal(model.predict(PAIRS), model.similarity(PAIRS))


def test_equal_similarities_give_a_level_line(make):
    pairs = [(text, text) for text in ("a cat", "the dog sat on the mat", "how old is earth", "?")]
    values = [1.0, 2.0, 3.0, 6.0]
    parameters = {"matching": "significance"} if "matching" in make().get_params() else {}
    model = make(**parameters).fit(pairs, values)
    assert model.slope_ == 0.0 and model.intercept_ == 3.0
    np.testing.assert_array_equal(model.predict(pairs), 3.0)


def test_nearly_equal_similarities_are_told_apart_from_rounding():
    assert fitted_line(np.array([1.0, 1 + 3e-7]), np.array([0.0, 1.0])) == (0.0, 0.5)
    assert fitted_line(np.array([-900.0, -900.0002]), np.array([0.0, 1.0])) == (0.0, 0.5)
    slope, intercept = fitted_line(np.array([0.5, 0.50001]), np.array([0.0, 1.0]))
    assert slope == pytest.approx(1e5) and intercept == pytest.approx(-5e4)


@pytest.mark.parametrize("sign", [1, -1])
def test_score_is_spearman_of_predict(make, sign):
    values = sign * np.array(Y)
    model = make().fit(PAIRS, values)
    expected = spearmanr(model.predict(PAIRS), values).statistic
    score = model.score(PAIRS, values)
    assert isinstance(score, float) and score == pytest.approx(expected)
    assert model.score(PAIRS, np.exp(values)) == pytest.approx(expected)
    with pytest.raises(ValueError, match="sample_weight has no meaning"):
        model.score(PAIRS, Y, sample_weight=np.ones(len(Y)))
    with pytest.raises(ValueError, match="for all 8 pairs"):
        model.score(PAIRS, np.ones(len(Y)))


@pytest.mark.parametrize(
    "call", [lambda m, p: m.similarity(p), lambda m, p: m.predict(p), lambda m, p: m.explain(p)]
)
def test_cut_texts_are_counted_in_one_warning(make, monkeypatch, call):
    monkeypatch.setattr(blocks, "BLOCK", 3)
    long = "a b a b a b"
    pairs = [(long, long), ("a", "b"), ("b", long), ("cat", "dog"), ("a b cat dog dog", long)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(max_length=5, weights="idf").fit(pairs)
        call(model, pairs[1:2])
    with pytest.warns(UserWarning) as caught:
        call(model, pairs)
    [warning] = caught
    assert "max_length=5 cut 5 of 10 texts" in str(warning.message)
    assert f"up to {MAX_TOKENS}" in str(warning.message)
    assert warning.filename == __file__
    with pytest.warns(UserWarning, match="cut 5 of 10 texts") as caught:
        model.fit(pairs, range(5))
    assert len(caught) == 1 and caught[0].filename == __file__


def test_a_text_without_tokens_is_named_before_any_is_encoded(make, monkeypatch):
    pairs = [*PAIRS[:3], ("a", " \u200d"), ("", "a")]
    model = make(special_tokens=False, weights="idf").fit(PAIRS[:3], Y[:3])
    kept = vars(model).copy()
    text = r"pairs row 3, column 1 is ' \\u200d', which.* no token.*or give special_tokens=True"
    for block in (2, 8192):
        monkeypatch.setattr(blocks, "BLOCK", block)
        with monkeypatch.context() as patch:
            patch.setattr(type(model.encoder_), "encode", None)
            for call in (model.similarity, model.predict, model.explain):
                with pytest.raises(ValueError, match=text):
                    call(pairs)
            with pytest.raises(ValueError, match=text):
                model.fit(pairs, [*Y[:3], 7.0, 8.0])
    assert vars(model) == kept
    assert np.isfinite(make().fit(pairs).similarity(pairs)).all()


def test_a_model_whose_tokenizer_adds_no_special_tokens(make, tiny_model, tmp_path):
    folder = bare_model(tmp_path / "model")
    model = make(max_length=8).set_params(model=folder).fit([("a", "b")])
    assert model.explain([("a b", "b")])[0].tokens1 == ["a", "b"]
    with pytest.raises(ValueError, match="row 1, column 1 is '', which has no token") as caught:
        model.similarity([("a", "b"), ("a", "")])
    assert "special_tokens=True" not in str(caught.value)


def test_parameters_reach_the_encoder(make, tmp_path):
    given = {"max_length": 9, "batch_size": 3, "dtype": "bfloat16", "cache": tmp_path / "cache"}
    encoder = make(**given).fit(PAIRS).encoder_
    assert {**encoder.get_params(), **given, "device": "cpu"} == encoder.get_params()


def test_chunks_align_by_the_cosine_of_their_summed_vectors(make, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 2)
    pairs = [PAIRS[0], PAIRS[1], PAIRS[1]]
    chunks = [
        (["How do I", "learn chess"], ["what is", "to learn chess"]),
        (["the cat", "on the mat"], [(0, 5), "mat"]),
        (["the cat"], [[(0, 5), "mat"]]),
    ]
    model = make().fit(pairs)
    aligned = model.align(pairs, chunks, above=-1.0, neighbours=0)
    assert aligned[0].chunks2 == ["what is", "to learn chess"]
    assert aligned[2].chunks2 == ["a dog … mat"]
    for found, pair, sides in zip(
        aligned, pairs, ([(0, 8), (9, 20)], [(0, 7), (12, 22)]), strict=False
    ):
        tokens = model.encoder_.transform([pair[0], pair[1]])
        spans = tokens.spans[: tokens.starts[1]]
        for row, (start, end) in enumerate(sides):
            inside = (spans[:, 0] < end) & (spans[:, 1] > start)
            whole = tokens[0][inside].sum(axis=0)
            texts2 = found.chunks2
            for column, text in enumerate(texts2):
                at = pair[1].index(text)
                spans2 = tokens.spans[tokens.starts[1] :]
                inside2 = (spans2[:, 0] < at + len(text)) & (spans2[:, 1] > at)
                other = tokens[1][inside2].sum(axis=0)
                cosine = whole @ other / np.linalg.norm(whole) / np.linalg.norm(other)
                assert found.scores[row, column] == pytest.approx(cosine, abs=1e-5)
    assert aligned[2].pairs == [(0, 0)]
    cosines = aligned[0].scores
    [supported] = model.align(pairs[:1], chunks[:1], neighbours=0.5)
    expected = cosines + 0.25 * np.diag(np.diag(cosines)[::-1])
    np.testing.assert_allclose(supported.scores, expected, atol=1e-5)
    assert model.align(pairs, chunks, above=1.0)[2].pairs == []


def test_one_chunk_stands_for_two_where_each_says_a_part(make):
    first, second = "learn chess play well", "old earth mat dog"
    whole = f"{first} {second}"
    model, chunks = make().fit([(whole, whole)]), [([whole], [first, second])]
    [aligned] = model.align([(whole, whole)], chunks, above=-1.0)
    tokens = model.encoder_.transform([whole])
    spans, x = np.asarray(tokens.spans), tokens[0]
    ends = [(0, len(first)), (len(first) + 1, len(whole))]
    members1 = chunk_membership([[0, 1]], ends, spans)
    members2 = chunk_membership([[0], [1]], ends, spans)
    best = mutual_maxima(aligned.scores)
    joined = joined_chunks(x, x, members1, members2, aligned.scores, best)
    assert aligned.joined == joined and aligned.pairs == [(0, 0), (0, 1)]
    # The limit holds for what joins too.
    between = aligned.scores.mean()
    [strict] = model.align([(whole, whole)], chunks, above=between)
    assert strict.joined == [] and len(strict.pairs) == 1


def test_chunks_that_do_not_fit_the_pairs(make):
    model = make().fit(PAIRS)
    with pytest.raises(ValueError, match="two lists for each of the 1 pairs, got 0"):
        model.align(PAIRS[:1], [])
    with pytest.raises(ValueError, match="two lists"):
        model.align(PAIRS[:1], [(["How"],)])
    with pytest.raises(ValueError, match=r"chunks\[0\]\[1\]\[0\] has 'nowhere'"):
        model.align(PAIRS[:1], [(["How"], ["nowhere"])])
    with pytest.raises(ValueError, match="above"):
        model.align(PAIRS[:1], [(["How"], ["what"])], above=2)
    with pytest.raises(ValueError, match="neighbours"):
        model.align(PAIRS[:1], [(["How"], ["what"])], neighbours=-0.1)

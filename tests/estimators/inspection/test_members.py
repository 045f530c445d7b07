"""From the stack to its members to their tokens: each level sums to the one above."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from estimators import (
    FILM,
    DuplicateClassifier,
    RCMDRegressor,
    SentenceEncoder,
    TokenMatchingRegressor,
    WordDifferences,
)
from estimators.inspection import explain_tokens
from film.datasets import make_question_pairs

# Small problems are reduced and left unconverged, and tiny models know few words.
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
DATA = make_question_pairs(80, random_state=0)
PAIRS, Y = np.asarray(DATA.pairs, dtype=object)[:60], np.asarray(DATA.y)[:60]
KNOWN = [
    ("how do i learn chess", "what is the best way to learn chess"),
    ("", "old age"),
    ("a", "a"),
]
NEW = np.array([*KNOWN, *DATA.pairs[60:64]], dtype=object)


def cosine(a, b):
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b) / norms if norms else 0.0


@pytest.fixture(scope="module")
def cpu(tiny_model):
    return {"model": str(tiny_model), "device": "cpu", "max_length": 32}


@pytest.mark.parametrize("rest", ["", "svd", "film", "normalizer"])
def test_tokens_share_the_cosine_out(cpu, rest):
    encoder = SentenceEncoder(**cpu)
    texts = sorted(set(PAIRS.flat))
    rng = np.random.default_rng(0)
    triplets = np.array([rng.permutation(len(texts))[:3] for _ in range(40)])
    steps = {
        "": [],
        "svd": [TruncatedSVD(5, random_state=0)],
        "film": [FILM(12, rank=16, random_state=0)],
        "normalizer": [Normalizer(), TruncatedSVD(5, random_state=0), Normalizer()],
    }[rest]
    embedder = make_pipeline(encoder, *steps).fit(texts, triplets if rest == "film" else None)
    found = explain_tokens(embedder, NEW)
    vectors = [embedder.transform(side) for side in NEW.T]
    for row, explanation in enumerate(found):
        # Encodings are of float32, in batches of other texts.
        wanted = cosine(vectors[0][row], vectors[1][row])
        assert explanation.similarity == pytest.approx(wanted, abs=1e-4)
        assert explanation.contributions.sum() == pytest.approx(explanation.similarity, abs=1e-9)
        for text, tokens, spans in [
            (explanation.text1, explanation.tokens1, explanation.offsets1),
            (explanation.text2, explanation.tokens2, explanation.offsets2),
        ]:
            assert tokens[0] == "[CLS]" and tokens[-1] == "[SEP]"
            assert [text[a:b] for a, b in spans[1:-1]] == tokens[1:-1]


def test_one_contribution_is_that_of_the_definition(cpu):
    encoder = SentenceEncoder(**cpu)
    svd = TruncatedSVD(5, random_state=0)
    embedder = make_pipeline(encoder, svd).fit(sorted(set(PAIRS.flat)))
    (found,) = explain_tokens(embedder, KNOWN[:1])
    tokens = RCMDRegressor(**cpu).fit(PAIRS).encoder_.transform(np.array(KNOWN[0], dtype=object))
    x, z = (tokens[[side]].values @ svd.components_.T for side in (0, 1))
    wanted = x[2] @ z[3] / (len(x) * len(z))
    wanted /= np.linalg.norm(x.mean(axis=0)) * np.linalg.norm(z.mean(axis=0))
    assert found.contributions[2, 3] == pytest.approx(wanted, abs=1e-5)


def test_who_is_no_mean_of_tokens_is_named(cpu):
    for encoder in (SentenceEncoder(pooling="cls", **cpu), SentenceEncoder(whiten=3, **cpu)):
        with pytest.raises(TypeError, match="whose vectors are not means of token vectors"):
            explain_tokens(encoder.fit(sorted(set(PAIRS.flat))), KNOWN)
    with pytest.raises(TypeError, match="give one that begins with an encoder"):
        explain_tokens(TfidfVectorizer().fit(["one word"]), KNOWN)


@pytest.fixture(scope="module")
def model(cpu):
    trained = RCMDRegressor(
        objective="binary", epochs=0.2, train_batch_size=16, random_state=0, **cpu
    )
    members = [
        ("words", make_pipeline(WordDifferences(), LogisticRegression())),
        ("tfidf", make_pipeline(TfidfVectorizer(), FILM(12, rank=16, random_state=0))),
        ("cosine", SentenceEncoder(**cpu)),
        ("film", make_pipeline(SentenceEncoder(**cpu), FILM(12, rank=16, random_state=0))),
        ("rcmd", trained),
        ("matching", FrozenEstimator(TokenMatchingRegressor(**cpu).fit(PAIRS))),
    ]
    return DuplicateClassifier(members, cv=4, member_cv={"rcmd": 2}, neighbourhood=3).fit(PAIRS, Y)


def test_each_level_sums_to_the_one_above(model):
    names = model.feature_names_out_
    inputs = model.inputs(NEW)
    by_name = dict(model.members_)
    for row, verdict in enumerate(model.explain(NEW)):
        effects = sum(each.effect for each in [*verdict.members, *verdict.features])
        gain = 0.0 if verdict.sameness is None else verdict.sameness.effect
        # From the typical pair to this one, in log-odds; those of near 0 and 1 are cut at 1e-9.
        wanted = logit(verdict.probability) - logit(verdict.baseline)
        assert effects + gain == pytest.approx(wanted, abs=1e-6)
        assert set(verdict.words) == {"tfidf", "cosine", "film", "rcmd", "matching"}
        for name, words in verdict.words.items():
            assert np.sum(words.contributions) == pytest.approx(words.similarity, abs=1e-6)
            if name in ("tfidf", "cosine", "film"):
                said = inputs[row, names.index(f"{name}: cosine")]
                assert words.similarity == pytest.approx(said, abs=1e-4)
        rcmd = by_name["rcmd"]
        line = rcmd.intercept_ + rcmd.slope_ * verdict.words["rcmd"].similarity
        assert line == pytest.approx(logit(inputs[row, names.index("rcmd: verdict")]), abs=1e-3)
        said = inputs[row, names.index("matching: verdict")]
        assert verdict.words["matching"].similarity == pytest.approx(said, abs=1e-4)
        total = sum(weight for _, weight in verdict.terms["words"]) + verdict.offsets["words"]
        assert total == pytest.approx(inputs[row, names.index("words: verdict")], abs=1e-6)

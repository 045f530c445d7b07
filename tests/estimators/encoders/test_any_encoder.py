import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from estimators import FILM, AnyEncoder, SentenceEncoder, load_model, save_model

TEXTS = ["the cat sat", "a dog sat on the mat", "", "old age", " \t", "the cat sat"]


def counts(texts):
    return np.array([[text.count(letter) for letter in "aoet"] for text in texts])


class Encoding:
    """An object with encode, as those of other packages, that counts the texts it is given."""

    def __init__(self):
        self.n_encoded = 0

    def __call__(self, texts):
        raise AssertionError("encode comes first")

    def encode(self, texts):
        assert isinstance(texts, list)
        self.n_encoded += len(texts)
        return counts(texts).astype(np.float32)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize(
    "encoder",
    [
        counts,
        Encoding(),
        lambda texts: counts(texts).tolist(),
        lambda texts: counts(texts) * 1e30,
        lambda texts: counts(texts).astype(np.float16),
        lambda texts: sp.coo_array(counts(texts)),
        lambda texts: sp.csr_matrix(counts(texts).astype(np.float32)),
    ],
)
def test_rows_have_unit_length_and_empty_texts_are_zero(encoder):
    found = AnyEncoder(encoder).fit_transform(TEXTS)
    assert found.dtype == np.float32 and found.shape == (6, 4)
    dense = found.toarray() if sp.issparse(found) else found
    filled = [0, 1, 3, 5]
    np.testing.assert_allclose(
        dense[filled], unit(counts([TEXTS[row] for row in filled])), rtol=1e-3
    )
    assert not dense[[2, 4]].any()


def test_a_tensor_that_needs_gradients_is_read():
    torch = pytest.importorskip("torch")
    given = AnyEncoder(lambda texts: torch.tensor(counts(texts) + 0.5, requires_grad=True))
    np.testing.assert_allclose(
        given.fit_transform(["a", "tee"]), unit(counts(["a", "tee"]) + 0.5), rtol=1e-6
    )


def test_equal_texts_are_encoded_once():
    given = Encoding()
    fitted = AnyEncoder(given).fit(TEXTS)
    given.n_encoded = 0
    fitted.transform(TEXTS)
    assert given.n_encoded == 3


def test_empty_texts_alone_give_rows_of_the_right_length():
    assert AnyEncoder(counts).fit_transform(["", " "]).tolist() == [[0.0] * 4] * 2


def test_a_name_or_folder_is_a_sentence_encoder(tiny_model):
    reads = SentenceEncoder(tiny_model, max_length=64)  # the most that this model takes
    expected = unit(reads.fit_transform(TEXTS[:2]))
    for given in (tiny_model, str(tiny_model), reads):
        fitted = AnyEncoder(given).fit(TEXTS)
        assert isinstance(fitted.encoder_, SentenceEncoder)
        np.testing.assert_allclose(fitted.transform(TEXTS)[:2], expected, rtol=1e-5, atol=1e-6)


def test_a_transformer_is_fitted_if_it_is_not():
    unfitted = TfidfVectorizer(analyzer="char")
    fitted = AnyEncoder(unfitted).fit(TEXTS)
    assert not hasattr(unfitted, "vocabulary_")
    given = TfidfVectorizer(analyzer="char").fit(TEXTS)
    assert AnyEncoder(given).fit(["zebra"]).encoder_ is given
    found = AnyEncoder(given).fit(["zebra"]).transform(TEXTS)
    np.testing.assert_allclose(fitted.transform(TEXTS).toarray(), found.toarray())
    expected = given.transform(TEXTS).toarray()
    np.testing.assert_allclose(found.toarray(), np.where(found.toarray(), expected, 0), rtol=1e-6)


def test_labels_reach_a_transformer_that_learns_from_them():
    labels = [0, 1, 2, 0, 1, 2]
    texts = ["a b c", "d e f", "g h i", "a b d", "d e g", "g h a"]
    pipeline = make_pipeline(TfidfVectorizer(token_pattern=r"\w"), FILM(2, random_state=0))
    expected = clone(pipeline).fit(texts, labels).transform(texts)
    found = AnyEncoder(pipeline).fit(texts, labels).transform(texts)
    np.testing.assert_allclose(found, unit(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("encoder", "error", "text"),
    [
        (3, TypeError, r"encoder=3 encodes no texts; give the name or folder of a model, an obj"),
        (Encoding, TypeError, r"encoder=Encoding is a class; give an instance, such as Encoding\("),
        (lambda texts: counts(texts)[:, 0], TypeError, r"returned int64 of shape \(1,\) for 1 te"),
        (lambda texts: counts(texts)[:0], TypeError, r"of shape \(0, 4\) for 1 texts; it must ret"),
        (lambda texts: [[t] for t in texts], TypeError, "must return one row of numbers per text"),
        (lambda texts: counts(texts) / 0.0, ValueError, "<lambda> returned NaN or infinity; its v"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_encodes_no_texts_is_named_in_fit(encoder, error, text):
    with pytest.raises(error, match=text):
        AnyEncoder(encoder).fit(["a text"])


def test_rows_of_several_lengths_are_an_error():
    fitted = AnyEncoder(lambda texts: [[1.0] * len(text) for text in texts]).fit(["ab"])
    with pytest.raises(TypeError, match="returned rows of several lengths; it must return one"):
        fitted.transform(["a", "ab"])
    with pytest.raises(ValueError, match="vectors of length 3, but of length 2 in fit"):
        fitted.transform(["abc"])


def test_clones_share_objects_and_copy_transformers():
    given = Encoding()
    assert clone(AnyEncoder(given)).encoder is given
    fitted = TfidfVectorizer().fit(TEXTS)
    assert clone(AnyEncoder(fitted)).encoder is not fitted
    frozen = FrozenEstimator(fitted)
    assert clone(AnyEncoder(frozen)).fit(["new words"]).transform(["new"]).shape[1] == 8


def test_a_name_is_saved_as_a_reference(tiny_model, tmp_path):
    fitted = AnyEncoder(str(tiny_model)).fit(TEXTS)
    save_model(fitted, tmp_path / "model.film")
    assert (tmp_path / "model.film").stat().st_size < 10_000
    np.testing.assert_array_equal(
        load_model(tmp_path / "model.film").transform(TEXTS), fitted.transform(TEXTS)
    )
    save_model(fitted, tmp_path / "folder", self_contained=True)
    moved = load_model(tmp_path / "folder")
    assert moved.encoder_.model == str(tmp_path / "folder" / "encoders" / "0")
    np.testing.assert_array_equal(moved.transform(TEXTS), fitted.transform(TEXTS))


def test_a_transformer_is_saved_with_its_content(tmp_path):
    fitted = AnyEncoder(TfidfVectorizer()).fit(TEXTS)
    save_model(fitted, tmp_path / "model.film")
    again = load_model(tmp_path / "model.film")
    assert (again.transform(TEXTS) != fitted.transform(TEXTS)).nnz == 0


@pytest.mark.parametrize("given", [counts, Encoding()])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_code_and_foreign_objects_are_refused_with_a_remedy(given, in_pipeline, tmp_path):
    model = AnyEncoder(given)
    if in_pipeline:
        model = make_pipeline(model, TruncatedSVD(2))
    remedy = r"encoder (counts|Encoding) is code or .* give encoder= its name or folder instead"
    for fitted in (model, model.fit(TEXTS)):
        with pytest.raises(ValueError, match=remedy):
            save_model(fitted, tmp_path / "model.film")
    assert not any(tmp_path.iterdir())


def test_a_sentence_transformer_gives_what_the_folder_gives(tiny_model):
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer

    given = SentenceTransformer(str(tiny_model), device="cpu")
    found = AnyEncoder(given).fit_transform(TEXTS)
    np.testing.assert_allclose(
        found, AnyEncoder(tiny_model).fit_transform(TEXTS), rtol=1e-4, atol=1e-5
    )

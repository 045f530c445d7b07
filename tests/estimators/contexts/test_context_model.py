"""A model of contexts: what it learns from, what it answers, and what it refuses."""

import copy
import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from estimators import ContextModel
from estimators.contexts import run_counts
from estimators.contexts.network_training import GeneratorTask
from film.contexts import (
    N_RUNS,
    make_corpus,
    run_vectors,
    run_weights,
    split_sentences,
)
from film.text import normalize_text
from tests.estimators.tiny_documents import tiny_documents

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("tokenizers", reason="needs the extra contexts")
pytest.importorskip("sentencex", reason="needs the extra contexts")

DOCUMENTS = tiny_documents()
TEXTS = ["The cat sees the tree.", "A king follows the ship 5.", "Sailors", ""]
SMALL = {"n_contexts": 6, "device": "cpu", "random_state": 0}


@pytest.fixture(scope="module")
def model() -> ContextModel:
    return ContextModel(**SMALL).fit(DOCUMENTS)


def encoder():
    return make_pipeline(TfidfVectorizer(), TruncatedSVD(5, random_state=0))


@cache
def spelled(text: str) -> np.ndarray:
    """What a text is spelled like: TF-IDF of all sentences of the corpus, of length 1."""
    weights, vectors = weighing()
    state = (run_counts([text]).toarray()[0] * weights) @ vectors
    return state / max(np.linalg.norm(state), 1e-30)


@cache
def weighing():
    sentences = [sentence for text in DOCUMENTS for sentence in split_sentences(text)]
    frequencies = np.zeros(N_RUNS)
    for sentence in sentences:
        frequencies[run_counts([sentence]).toarray()[0] > 0] += 1
    seed = np.random.RandomState(SMALL["random_state"]).randint(2**31 - 1)
    return run_weights(frequencies, len(sentences)), run_vectors(512, seed)


def log_fits(model: ContextModel, text: str, rows: np.ndarray) -> np.ndarray:
    """log p(y = 1) of a text between the neighbours of each row, by the definition."""
    head, corpus = model.discriminator_, model.corpus_

    @cache
    def state(sentence):
        vector = spelled(sentence)
        if model.encoder is not None:
            (vector,) = model.encoder_.transform([sentence])
        return vector / max(np.linalg.norm(vector), 1e-30)

    found = []
    for row in rows:
        left, right = corpus.texts([row - 1, row + 1])
        logit = head.gain * (state(left) + state(right)) @ state(text) + head.bias
        # One context of all is the true one.
        found.append(-np.log1p(len(corpus.centres()) * np.exp(-logit)))
    return np.array(found)


def test_scores_are_those_of_one_context_at_a_time(model):
    found = model.transform(TEXTS)
    assert found.shape == (len(TEXTS), 6) and found.dtype == np.float32
    for row, text in zip(found, TEXTS, strict=True):
        # Vectors are kept in half precision: 2^-11 of logits below 10.
        np.testing.assert_allclose(row, log_fits(model, text, model.contexts_), atol=1e-2)
    assert np.ptp(found, axis=0).max() > 0.05
    # Levels are means over the fixed set.
    np.testing.assert_allclose(model.levels(TEXTS), found.mean(axis=1), rtol=1e-5)


def test_the_prior_of_training_is_the_probability_of_eq_1(model):
    """One false context for each true one, in place of all that the corpus has."""
    by_corpus = model.transform(TEXTS).astype(float)
    logits = np.log(len(model.corpus_.centres())) - np.log(np.expm1(-by_corpus))
    plain = copy.copy(model).set_params(prior="training")
    np.testing.assert_allclose(plain.transform(TEXTS), -np.log1p(np.exp(-logits)), atol=1e-3)
    chosen = [each.contexts_of(["The cat sees the tree."], 5)[0] for each in (plain, model)]
    np.testing.assert_array_equal(*chosen)
    np.testing.assert_array_equal(model.transform(TEXTS), by_corpus.astype(np.float32))


def test_reference_terms_are_of_sentences_of_the_corpus_above_their_levels(model, monkeypatch):
    rows = model.contexts_of(TEXTS[:1], 3)[0]
    found = model.reference_terms(rows)
    # All sentences that have neighbours, since they are fewer than 500.
    centres = model.corpus_.centres()
    assert found.shape == (len(centres), 3) and found.dtype == np.float32
    for number in range(0, len(centres), 17):
        (text,) = model.corpus_.texts([centres[number]])
        expected = log_fits(model, text, rows) - np.mean(log_fits(model, text, model.contexts_))
        np.testing.assert_allclose(found[number], expected, atol=5e-3)
    # Sums of float32 in another order.
    np.testing.assert_allclose(model.reference_terms(rows[1:2]), found[:, 1:2], atol=1e-4)
    with pytest.raises(ValueError, match="contexts must be rows of sentences"):
        model.reference_terms([0])
    # Of more sentences, some are drawn, always the same.
    monkeypatch.setattr("estimators.contexts.context_model.N_REFERENCE", 5)
    drawn = [ContextModel(**SMALL).fit(DOCUMENTS).reference_terms(rows) for _ in range(2)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    nearest = np.abs(drawn[0][:, np.newaxis] - found).max(axis=2).min(axis=1)
    assert drawn[0].shape == (5, 3) and nearest.max() < 1e-4


def test_terms_are_weighed_and_have_zeros_where_the_model_has_none(model):
    terms = model.terms(TEXTS, model.contexts_)
    assert terms.shape == (len(TEXTS), 6, 4)
    np.testing.assert_array_equal(terms[..., 1:], 0)
    np.testing.assert_allclose(model.transform(TEXTS), terms[..., 0], rtol=1e-6)
    own = [model.contexts_[:2], model.contexts_[2:5], model.contexts_[:1], model.contexts_[3:]]
    for each, chosen in zip(model.terms(TEXTS, own), own, strict=True):
        assert each.shape == (len(chosen), 4)
    np.testing.assert_array_equal(model.terms(TEXTS, own)[1], terms[1, 2:5])


def test_contexts_are_the_best_of_the_retrieved_that_differ(model):
    corpus, size = model.corpus_, 5
    text = "The cat sees the tree."
    (found,) = model.contexts_of([text], size)
    centres = corpus.centres()
    words = set(normalize_text(text).split())
    shares = [bool(words & set(normalize_text(each).split())) for each in corpus.chunk_texts()]
    scores = log_fits(model, text, centres)
    chunks, chosen, lefts = np.asarray(corpus.chunks), [], []
    # The words "the" and "." are in all chunks, so that all are retrieved.
    assert all(shares)
    for row in centres[np.argsort(-scores, kind="stable")]:
        left = set(normalize_text(corpus.texts([row - 1])[0]).split())
        is_new = all(2 * len(left & other) < len(left | other) for other in lefts)
        if chunks[row] not in chunks[chosen] and is_new:
            chosen.append(int(row))
            lefts.append(left)
    # Half precision may exchange contexts of almost equal scores.
    of_found = log_fits(model, text, found)
    assert len(found) == len(set(chunks[found].tolist())) == min(size, len(chosen))
    np.testing.assert_allclose(of_found, log_fits(model, text, chosen[:size]), atol=0.02)
    assert (np.diff(of_found) < 5e-3).all()


def test_own_places_of_a_text_are_left_out(model):
    row = int(model.corpus_.centres()[4])
    text = model.corpus_.texts([row])[0]
    for spelling in (text, text.upper().replace(".", " !")):
        (found,) = model.contexts_of([spelling], 200)
        assert not {row - 1, row, row + 1} & set(found.tolist())
    rows = [int(row) for row in model.contexts_of([text], 6)[0]]
    for near in model.corpus_.texts(rows):
        here = {int(r) + step for r in model.corpus_.rows_of([near])[0] for step in (-1, 0, 1)}
        assert not here & set(model.contexts_of([near], 20)[0].tolist())


def test_a_text_without_a_known_word_gets_fixed_contexts_and_a_warning(model):
    with pytest.warns(UserWarning, match=r"no word of 2 of 3 texts, such as 'qqq zzz'"):
        found = model.contexts_of(["qqq zzz", "The cat", "!?"], 4)
    assert set(found[0].tolist()) <= set(model.contexts_.tolist())
    np.testing.assert_array_equal(found[0], found[2])
    assert np.isfinite(model.transform(["qqq zzz", "!?", "", "שלום"])).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.contexts_of(["The cat"], 4)


def test_texts_of_contexts_are_their_neighbours(model):
    rows = model.contexts_[:3]
    expected = [tuple(model.corpus_.texts([row - 1, row + 1])) for row in rows]
    assert model.context_texts(rows) == expected


def test_an_encoder_takes_the_place_of_spelling(tmp_path):
    model = ContextModel(**SMALL | {"encoder": encoder()}).fit(DOCUMENTS)
    found = model.transform(TEXTS)
    for row, text in zip(found, TEXTS, strict=True):
        np.testing.assert_allclose(row, log_fits(model, text, model.contexts_), atol=5e-3)
    assert np.ptp(found, axis=0).max() > 0.01
    assert set(vars(model.encoder_.steps[0][1])) > {"vocabulary_"}
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"load\(path, encoder=\.\.\.\)"):
        ContextModel.load(tmp_path / "model")
    again = ContextModel.load(tmp_path / "model", encoder=encoder())
    np.testing.assert_allclose(again.transform(TEXTS), found, atol=1e-6)


def test_documents_come_as_texts_files_folders_and_corpora(model, tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    for number, text in enumerate(DOCUMENTS):
        (folder / f"{number}.txt").write_text(text)
    paths = sorted(folder.glob("*.txt"))
    named = [(str(number), text) for number, text in enumerate(DOCUMENTS)]
    for given in (str(folder), paths, named, make_corpus(DOCUMENTS)):
        fitted = ContextModel(**SMALL).fit(given)
        assert fitted.corpus_.sentences == model.corpus_.sentences
        np.testing.assert_array_equal(fitted.transform(TEXTS), model.transform(TEXTS))


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (["One sentence alone."] * 9, "9 sentences in 9 documents, and 0 of the sentences"),
        (["One. Two. Three."], "1 of the sentences have a neighbour"),
        (["One. Two. Three. Four. Five."], "n_contexts=6 is more than there are .* 5 sentences"),
        ("no-such-folder", "documents='no-such-folder': no such file or folder"),
        ([("a", "b", "c")], r"documents\[0\] .* give texts, pairs"),
    ],
)
def test_documents_that_do_not_do_are_refused_with_what_they_have(documents, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ContextModel(**SMALL).fit(documents)


def test_a_saved_model_is_read_again(model, tmp_path):
    model.save(tmp_path / "saved")
    again = ContextModel.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    assert again.get_params()["n_contexts"] == 6 and again.scores_ == model.scores_
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "saved")
    with pytest.raises(FileNotFoundError, match=r"no context_model\.json"):
        ContextModel.load(tmp_path)
    file = tmp_path / "saved" / "context_model.json"
    text = file.read_text()
    file.write_text(text.replace('"format": 3', '"format": 2'))
    with pytest.raises(ValueError, match="does not read its format, 2"):
        ContextModel.load(tmp_path / "saved")
    # Parameters that are gone are left out.
    file.write_text(text.replace('"params": {', '"params": {"n_ranked": 30, "batch_size": 32,'))
    again = ContextModel.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    copied = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(copied.transform(TEXTS), model.transform(TEXTS))


def _with(name, place, value):
    def change(arrays):
        arrays[name][place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _with("retrieval.indices", 0, 2_000_000_000),
        _with("retrieval.indices", -1, -5),
        _with("retrieval.indptr", 1, -3),
        _with("retrieval.indptr", -1, 2**40),
        _with("documents", 0, -1),
        _with("documents", -1, 99),
        _with("documents", 5, 4),
        lambda arrays: arrays.update({"retrieval.data": arrays["retrieval.data"][:1]}),
        lambda arrays: arrays.update(text=arrays["text"][:50]),
        lambda arrays: arrays.pop("discriminator.bias"),
        lambda arrays: arrays.pop("contexts"),
        None,
    ],
)
def test_damaged_arrays_and_indices_that_lead_outside_are_refused(model, tmp_path, change):
    from safetensors.numpy import load_file, save_file

    model.save(tmp_path / "saved")
    path = tmp_path / "saved" / "arrays.safetensors"
    if change is None:
        path.write_bytes(path.read_bytes()[:-9])
    else:
        arrays = load_file(path)
        change(arrays)
        save_file(arrays, path)
    with pytest.raises(ValueError):
        ContextModel.load(tmp_path / "saved").transform(TEXTS)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        ContextModel.load(tmp_path / "saved")


def test_contexts_of_retrieved_chunks_come_first(model, monkeypatch):
    texts = model.corpus_.texts(range(20, 40))
    of_all = model.contexts_of(texts, 6)
    monkeypatch.setattr("estimators.contexts.context_model.N_RETRIEVED", 1)
    of_one = model.contexts_of(texts, 6)
    # The best context of the one chunk comes first, and the others in the order of the scores.
    moved = 0
    for text, first, others in zip(texts, of_one, of_all, strict=True):
        scores = log_fits(model, text, first)
        assert (np.diff(scores[1:]) < 5e-3).all()
        assert set(first[1:].tolist()) <= {*others.tolist(), *first.tolist()}
        moved += scores[0] < scores[1:].max() - 5e-3
    assert moved > 2


def test_an_interrupted_training_keeps_the_best_weights(monkeypatch):
    size = {"generator": (8, 2, 1, 1, 16), "generator_epochs": 2}
    batches, n_called = GeneratorTask.loss, []

    def stopping(self, rows, *places):
        n_called.append(self.network.training)
        if n_called[-1] and n_called.count(True) == 3:
            raise KeyboardInterrupt
        return batches(self, rows, *places)

    with monkeypatch.context() as patch:
        patch.setattr(GeneratorTask, "loss", stopping)
        with pytest.warns(UserWarning, match="generator was interrupted after step 2 of"):
            stopped = ContextModel(**SMALL | size).fit(DOCUMENTS)
    assert not stopped.is_complete_ and np.isfinite(stopped.transform(TEXTS)).all()
    whole = ContextModel(**SMALL | size).fit(DOCUMENTS)
    curves = [each.generator_loss_curve_ for each in (stopped, whole)]
    assert whole.is_complete_ and len(curves[0]) == 2 and curves[0] == curves[1][:2]


@pytest.mark.parametrize(
    "given",
    [
        {"generator": (8, 3, 1, 1, 16)},
        {"generator": (8, 2)},
        {"weights": (1, 1, 1)},
        {"weights": (0, 1, 1, 1)},
        {"weights": (-1, 0, 0, 0)},
    ],
)
def test_wrong_parameters_are_named_before_any_work(given, monkeypatch):
    monkeypatch.setattr("estimators.contexts.context_model.build", None)
    with pytest.raises((TypeError, ValueError), match=f"{next(iter(given))}="):
        ContextModel(**SMALL | given).fit(DOCUMENTS)


@pytest.mark.parametrize("contexts", [[0], [10**9], [0.5], [[3], [4]], [[]], [], 3])
def test_rows_that_are_no_contexts_are_refused(model, contexts):
    with pytest.raises((TypeError, ValueError), match="contexts"):
        model.terms(["The cat"], contexts)

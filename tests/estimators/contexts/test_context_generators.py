"""Generators of a model of contexts: their terms, their part in choosing contexts, training."""

import itertools

import numpy as np
import pytest

from estimators import ContextModel
from estimators.contexts.parts import network_training
from estimators.contexts.parts.generator_training import GeneratorTask, token_counts
from estimators.contexts.parts.recipe import recipe_of
from film.contexts import CENTRE, END, LEFT, RIGHT, IdTable, encode_texts
from tests.estimators.tiny_documents import tiny_documents

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("tokenizers", reason="needs the extra contexts")
pytest.importorskip("sentencex", reason="needs the extra contexts")

DOCUMENTS = tiny_documents()
TEXTS = ["The cat sees the tree.", "A king follows the ship 5.", ""]
SMALL = {
    "generator": (16, 2, 1, 2, 32), "generator_batch_size": 16, "generator_epochs": 12,
    "generator_learning_rate": 0.01, "width": 8, "n_contexts": 6, "n_ranked": 30,
    "vocabulary_size": 300, "discriminator_epochs": 4, "discriminator_learning_rate": 0.05,
    "batch_size": 32, "device": "cpu", "random_state": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def model() -> ContextModel:
    return ContextModel(**SMALL).fit(DOCUMENTS)


def term(model: ContextModel, place: int, texts: list[str]) -> float:
    """Mean log-probability per token of one of three sentences, given the others, alone."""
    network = model.generators_[0]
    ids = [encode_texts(model.vocabulary_, [text], model.max_length).values for text in texts]
    rows = [(each[np.newaxis].astype(int), [len(each)]) for each in ids]
    with torch.inference_mode():
        memories = [network.memory(*rows[at], at) for at in (LEFT, CENTRE, RIGHT) if at != place]
        return float(network.log_likelihood(memories, network.target(*rows[place], place)))


def test_terms_are_those_of_one_sentence_in_one_context(model):
    terms = model.terms(TEXTS, model.contexts_)
    for text, row in zip(TEXTS, terms, strict=True):
        for context, found in zip(model.contexts_, row, strict=True):
            left, right = model.corpus_.texts([context - 1, context + 1])
            expected = [term(model, at, [left, text, right]) for at in (CENTRE, LEFT, RIGHT)]
            # Sums of float32 in another order.
            np.testing.assert_allclose(found[1:], expected, rtol=1e-4)
    np.testing.assert_allclose(model.transform(TEXTS), terms.sum(axis=2), rtol=1e-6)


def test_contexts_of_each_text_are_scored_like_shared_ones(model, monkeypatch):
    rows = model.corpus_.centres()[:40]
    shared = model.terms(TEXTS, rows)
    own = [rows[3:9], rows[20:], rows[3:9]]
    for number, found in enumerate(model.terms(TEXTS, own)):
        where = np.searchsorted(rows, own[number])
        np.testing.assert_allclose(found, shared[number][where], rtol=1e-4)
    monkeypatch.setattr("estimators.contexts.context_space.ENCODED_AT_ONCE", 7)
    np.testing.assert_allclose(model.terms(TEXTS, rows), shared, rtol=1e-4)


def test_a_weight_of_0_leaves_a_term_out(model):
    terms = model.terms(TEXTS, model.contexts_)
    for weights in itertools.product((0, 2.5), (0, 1), (0, 0.5), (0, 3)):
        if any(weights):
            model.set_params(weights=weights)
            found = model.transform(TEXTS)
            np.testing.assert_allclose(found, terms @ np.float32(weights), rtol=1e-5)
    model.set_params(weights=(1, 1, 1, 1))


def test_generators_without_any_weight_are_not_asked(model, monkeypatch):
    terms = model.terms(TEXTS, model.contexts_)
    assert terms[..., 1:].all() and model.generators_[0].dropout.p == 0
    monkeypatch.setattr("estimators.contexts.context_space.generation_terms", None)
    try:
        model.set_params(weights=(0.5, 0, 0, 0))
        found = model.terms(TEXTS, model.contexts_)
    finally:
        model.set_params(weights=(1, 1, 1, 1))
    assert not found[..., 1:].any()
    np.testing.assert_array_equal(found[..., 0], terms[..., 0])


def test_a_pretrained_generator_learns_more_slowly_unless_told(tmp_path):
    t5 = pretrained(tmp_path / "t5")
    for start, given, expected in (
        ("tiny", None, 3e-3),
        (SMALL["generator"], None, 3e-3),
        (t5, None, 5e-5),
        (t5, 0.25, 0.25),
    ):
        model = ContextModel(generator=start, generator_learning_rate=given)
        assert recipe_of(model, 0, "cpu").generator_plan.learning_rate == expected


def test_the_first_contexts_of_the_discriminator_are_put_in_order_of_the_score():
    settings = SMALL | {"diverse": False, "generator_epochs": 0.2}
    model = ContextModel(**settings).fit(DOCUMENTS)
    text = "The cat sees the tree."
    by_discriminator = model.set_params(weights=(1, 0, 0, 0)).contexts_of([text], 80)[0]
    weights = (0, 1, 2, 0)
    found = model.set_params(weights=weights).contexts_of([text], 80)[0]
    n = SMALL["n_ranked"]
    assert set(found[:n].tolist()) == set(by_discriminator[:n].tolist())
    np.testing.assert_array_equal(found[n:], by_discriminator[n:])
    assert found[:n].tolist() != by_discriminator[:n].tolist()
    scores = model.terms([text], found[:n])[0] @ np.float32(weights)
    assert (np.diff(scores) < 1e-4).all()


def test_by_default_the_score_chooses_among_three_times_as_many_as_are_wanted():
    settings = SMALL | {"diverse": False, "generator_epochs": 0.2, "weights": (0, 1, 2, 0)}
    model = ContextModel(**settings).fit(DOCUMENTS)
    (ten_of_thirty,) = model.set_params(n_ranked=30).contexts_of(["The cat sees the tree."], 10)
    (found,) = model.set_params(n_ranked=None).contexts_of(["The cat sees the tree."], 10)
    np.testing.assert_array_equal(found, ten_of_thirty)
    (by_discriminator,) = model.set_params(weights=(1, 0, 0, 0)).contexts_of(
        ["The cat sees the tree."], 10
    )
    assert set(found.tolist()) != set(by_discriminator.tolist())


def test_diverse_contexts_of_the_score_differ(model):
    (found,) = model.contexts_of(["The cat sees the tree."], 5)
    chunks = np.asarray(model.corpus_.chunks)[found]
    assert len(set(chunks.tolist())) == len(found) == 5


def test_perplexity_is_that_of_a_loop_and_below_a_unigram_model(model):
    found = model.perplexities_
    assert set(found) == {"sentence", "left", "right", "unigram"}
    assert all(found[name] < 0.5 * found["unigram"] for name in ("sentence", "left", "right"))
    corpus = model.corpus_
    n_held = {
        document
        for document in range(6)
        if np.isclose(loop(model, document), found["sentence"], rtol=1e-4)
    }
    # One document is held out.
    assert len(n_held) == 1 and len(corpus.names) == 6


def loop(model: ContextModel, document: int) -> float:
    corpus = model.corpus_
    total, n_tokens = 0.0, 0
    for row in corpus.centres():
        if corpus.documents[row] == document:
            texts = corpus.texts([row - 1, row, row + 1])
            n = len(encode_texts(model.vocabulary_, [texts[1]], model.max_length).values) + 1
            total += n * term(model, CENTRE, texts)
            n_tokens += n
    return float(np.exp(-total / n_tokens))


def test_tokens_and_ends_of_sentences_are_counted():
    table = IdTable(np.array([5, 6, 6, 7, 7, 7], np.int32), np.array([0, 1, 3, 6]))
    expected = np.zeros(9)
    expected[[5, 7, END]] = 1, 3, 2
    np.testing.assert_array_equal(token_counts(table, np.array([0, 2]), 9), expected)


def test_batches_hold_each_centre_once_and_sentences_of_like_length():
    rng = np.random.default_rng(0)
    starts = np.r_[0, np.cumsum(rng.integers(1, 40, size=2000))]
    table = IdTable(np.zeros(starts[-1], np.int32), starts)
    task = GeneratorTask(None, table, np.arange(1, 1999), batch_size=16, seed=0)
    first, again, other = task.batches(0), task.batches(0), task.batches(1)
    assert len(first) == len(other) == 125
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    for batches in (first, other):
        np.testing.assert_array_equal(np.sort(np.concatenate(batches)), np.arange(1, 1999))
    lengths = np.diff(starts)
    longest = [np.max([lengths[rows + step] for step in (-1, 0, 1)], axis=0) for rows in first]
    assert np.mean([np.ptp(each) for each in longest]) < 0.15 * 40


def test_an_interrupted_training_of_the_generator_goes_on(tmp_path, monkeypatch):
    short = SMALL | {"generator_epochs": 2}
    model = ContextModel(**short).fit(DOCUMENTS)
    take = network_training._Run.take_step

    def take_step(self, loss, title):
        if title == "generator" and self.step == 5:
            raise KeyboardInterrupt
        take(self, loss, title)

    with monkeypatch.context() as patch:
        patch.setattr(network_training, "SECONDS_BETWEEN", 0.0)
        patch.setattr(network_training._Run, "take_step", take_step)
        with pytest.warns(UserWarning, match="training of the generator was interrupted"):
            stopped = ContextModel(tmp_path, **short).fit(DOCUMENTS)
    assert len(stopped.generator_loss_curve_) == 5 and not stopped.is_complete_
    assert np.isfinite(stopped.transform(TEXTS)).all()
    whole = ContextModel(tmp_path, **short).fit(DOCUMENTS)
    assert whole.is_complete_ and whole.generator_loss_curve_ == model.generator_loss_curve_
    np.testing.assert_array_equal(whole.transform(TEXTS), model.transform(TEXTS))
    whole.save(tmp_path)
    again = ContextModel.load(tmp_path)
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    assert again.perplexities_ == model.perplexities_


@pytest.mark.parametrize(
    "generator", ["no/such model", (8, 3, 1, 1, 16), (8, 2), 3, (8, 2, 1, 1, 0)]
)
def test_sizes_of_generators_are_checked(generator):
    with pytest.raises(ValueError, match="generator="):
        ContextModel(**SMALL | {"generator": generator}).fit(DOCUMENTS)


def pretrained(folder) -> str:
    """Save a tiny random T5 whose tokens are the words of the documents."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    words = sorted({word for text in DOCUMENTS for word in text.replace(".", "").split()})
    vocabulary = {w: i for i, w in enumerate(["<pad>", "</s>", "<unk>", "<extra_id_0>", *words])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = T5Config(
            vocab_size=len(vocabulary), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
            pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
        )  # fmt: skip
        T5ForConditionalGeneration(config).save_pretrained(folder)
    return str(folder)


def test_a_pretrained_model_generates_and_learns_further(tmp_path, capfd):
    start = pretrained(tmp_path / "t5")
    capfd.readouterr()
    short = SMALL | {"generator": start, "generator_epochs": 1, "reader": "bag"}
    learned = ContextModel(tmp_path / "model", **short).fit(DOCUMENTS)
    as_it_is = ContextModel(**short | {"generator_epochs": 0}).fit(DOCUMENTS)
    assert capfd.readouterr() == ("", "")
    assert as_it_is.generator_loss_curve_ == []
    for name in ("sentence", "left", "right"):
        assert learned.perplexities_[name] < as_it_is.perplexities_[name]
    network, corpus = learned.generators_[0], learned.corpus_
    row = int(learned.contexts_[0])
    terms = learned.terms(TEXTS[:1], [row])[0, 0]
    texts = [*corpus.texts([row - 1]), TEXTS[0], *corpus.texts([row + 1])]
    for column, place in enumerate((CENTRE, LEFT, RIGHT), start=1):
        memories = [
            network.memory(*network.encode([texts[at]]), at)
            for at in (LEFT, CENTRE, RIGHT)
            if at != place
        ]
        with torch.inference_mode():
            target = network.target(*network.encode([texts[place]]), place)
            expected = float(network.log_likelihood(memories, target))
        np.testing.assert_allclose(terms[column], expected, rtol=1e-4)
    found = learned.transform(TEXTS)
    learned.save(tmp_path / "saved")
    # It needs neither the folder of the start nor that of the fit.
    (tmp_path / "t5").rename(tmp_path / "gone")
    (tmp_path / "model").rename(tmp_path / "gone too")
    again = ContextModel.load(tmp_path / "saved")
    np.testing.assert_allclose(again.transform(TEXTS), found, rtol=1e-5)
    (weights,) = (tmp_path / "saved").glob("generator-*/pretrained/model.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    vars(again).pop("_opened")
    with pytest.raises(ValueError, match="damaged or was changed"):
        again.transform(TEXTS)


def test_a_model_that_does_not_generate_is_refused(tmp_path):
    from tests.estimators.tiny_model import make_tiny_model

    bert = make_tiny_model(tmp_path / "bert")
    with pytest.raises(ValueError, match=r"generator=.* has no encoder and decoder"):
        ContextModel(**SMALL | {"generator": bert}).fit(DOCUMENTS)

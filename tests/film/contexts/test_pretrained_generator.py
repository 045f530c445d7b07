"""Pretrained models behind the interface of generators, against what they give by themselves."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("transformers", reason="needs the extra neural")

from film.contexts.generation import encode_contexts, generation_terms  # noqa: E402
from film.contexts.generators import CENTRE, LEFT, RIGHT  # noqa: E402
from film.contexts.pretrained_generator import PretrainedGenerator  # noqa: E402

WORDS = [f"w{number}" for number in range(12)] + ["a"]
SPECIAL = ["<pad>", "<s>", "</s>", "<mask>", "<extra_id_0>", "<unk>"]


def tokenizer(with_begin, **options):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>" if with_begin else "$A </s>",
        special_tokens=[("<s>", 1), ("</s>", 2)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **{"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", **options},
    )


def bart(**options):
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=19, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=8, decoder_ffn_dim=8, dropout=0.0,
        max_position_embeddings=24, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=2, init_std=0.5, **options,
    )  # fmt: skip
    return BartForConditionalGeneration(config)


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=19, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, dropout_rate=0.0,
        pad_token_id=0, eos_token_id=2, decoder_start_token_id=0, initializer_factor=2.0,
    )  # fmt: skip
    return T5ForConditionalGeneration(config)


def made(kind, **options):
    torch.manual_seed(0)
    if kind == "bart":
        module, words = bart(), tokenizer(True, mask_token="<mask>")
    else:
        module, words = t5(), tokenizer(False)
    return PretrainedGenerator(module.double(), words, max_length=9, **options).eval()


def texts(n, seed, most=6):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size)) for size in rng.integers(0, most + 1, n)]


# What stands around a text, and in the place of the one that is written.
AROUND = {"bart": ("<s> ", "<mask>", [2, 1]), "t5": ("", "<extra_id_0>", [0])}


def alone(model, kind, triple, place):
    """Mean log-probability of one sentence by the module itself, without padding."""
    before, gap, start = AROUND[kind]
    joined = " ".join([*triple[:place], gap, *triple[place + 1 :]])
    words = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    read = [words[word] for word in f"{before}{joined} </s>".split()]
    target = [words[word] for word in f"{triple[place]} </s>".split()]
    logits = model.module(
        input_ids=torch.tensor([read]), decoder_input_ids=torch.tensor([start + target[:-1]])
    ).logits[0, len(start) - 1 :]
    return float(logits.log_softmax(1)[torch.arange(len(target)), target].mean())


@pytest.mark.parametrize("kind", ["bart", "t5"])
@pytest.mark.parametrize("place", [LEFT, CENTRE, RIGHT])
@torch.no_grad()
def test_a_batch_is_what_the_module_gives_one_at_a_time(kind, place):
    model = made(kind)
    triples = [texts(6, seed) for seed in range(3)]
    sides = [model.encode(side) for side in triples]
    memories = [model.memory(*sides[at], at) for at in range(3) if at != place]
    found = model.log_likelihood(memories, model.target(*sides[place], place))
    expected = [alone(model, kind, triple, place) for triple in zip(*triples, strict=True)]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["bart", "t5"])
@torch.no_grad()
def test_all_sentences_in_all_contexts(kind):
    model = made(kind)
    centres, lefts, rights = texts(2, 0), texts(5, 1), texts(5, 2)
    generators = [model] * 3
    contexts = encode_contexts(generators, model.encode(lefts), model.encode(rights))
    found = generation_terms(generators, model.encode(centres), contexts, tokens_at_once=20)
    for i, j, column in np.ndindex(2, 5, 3):
        triple = lefts[j], centres[i], rights[j]
        expected = alone(model, kind, triple, (CENTRE, LEFT, RIGHT)[column])
        # Only the result is rounded to single precision.
        assert found[i, j, column] == pytest.approx(expected, rel=1e-6)


@torch.no_grad()
def test_sentences_without_tokens_and_one_row_for_all():
    model = made("t5")
    none, some = model.encode([""]), model.encode(texts(4, 3))
    memories = [model.memory(*none, LEFT), model.memory(*none, RIGHT)]
    found = model.log_likelihood(memories, model.target(*some, CENTRE))
    expected = [alone(model, "t5", ("", text, ""), CENTRE) for text in texts(4, 3)]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)
    assert float(model.log_likelihood(memories, model.target(*none, CENTRE))) < 0


def test_it_learns():
    torch.manual_seed(0)
    model = made("t5").float().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    sides = [model.encode(texts(8, seed)) for seed in (0, 1, 0)]
    losses = []
    for _ in range(40):
        loss = model.loss(sides, CENTRE)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
    with torch.no_grad():
        each = [float(model.loss(sides, place)) for place in range(3)]
        assert float(model.loss(sides)) == pytest.approx(np.mean(each), rel=1e-5)


def test_texts_are_cut():
    ids, lengths = made("t5").encode([" ".join(["w1"] * 20), "", "w2 w3"])
    assert lengths.tolist() == [9, 0, 2] and ids.shape == (3, 9)
    assert not ids[1].any()


def test_the_gap_may_be_chosen():
    default, chosen = made("t5"), made("t5", gap="<s>")
    assert (default.gap, chosen.gap) == (4, 1)
    with pytest.raises(ValueError, match="gap='nothing' is no token"):
        made("t5", gap="nothing")


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="max_length=0"):
        PretrainedGenerator(t5(), tokenizer(False), max_length=0)
    with pytest.raises(ValueError, match="has no encoder and decoder"):
        PretrainedGenerator(bart(is_encoder_decoder=False), tokenizer(True))
    with pytest.raises(ValueError, match=r"max_length=11 needs 25 places .* has 24"):
        PretrainedGenerator(bart(), tokenizer(True), max_length=11)
    model = made("t5")
    with pytest.raises(ValueError, match="10 tokens, more than max_length=9"):
        model.memory(np.zeros((1, 10), dtype=int), [10], LEFT)

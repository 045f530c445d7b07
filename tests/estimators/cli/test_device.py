"""``--device``: where the networks of each command compute."""

import pytest

from estimators import (
    DuplicateClassifier,
    SentenceEncoder,
    load_model,
    save_model,
)
from estimators.cli import models
from estimators.encoders.transformer import Transformer
from tests.estimators.cli.commands import refused, run, write_csv
from tests.estimators.tiny_model import PAIRS, SCORES

MODEL = ["--model", "none.film"]
COMMANDS = {
    "score": ["none.csv", *MODEL],
    "explain": ["none.csv", *MODEL],
    "evaluate": ["none.csv", *MODEL],
    "submit": ["none.csv", *MODEL, "--out", "out.csv"],
    "duplicates": ["none.csv", *MODEL],
    "train": ["none.csv", *MODEL, "--accurate"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_one_that_is_not_there_is_refused_before_any_work(monkeypatch, command):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    # None of the files is there either: the device must be what is told.
    told = refused(command, *COMMANDS[command], "--device", "cuda")
    assert "--device 'cuda' is asked for, but torch sees no GPU: give 'cpu' or no --device" in told
    told = refused(command, *COMMANDS[command], "--device", "gpu")
    assert "--device 'gpu' must be a device of torch such as 'cuda' or 'cpu', or no" in told


@pytest.fixture
def devices(monkeypatch):
    """Devices that transformers models are asked to compute on."""
    asked, load = set(), Transformer.__init__

    def seeing(self, model, device, *args):
        asked.add(device)
        load(self, model, device, *args)

    monkeypatch.setattr(Transformer, "__init__", seeing)
    monkeypatch.setattr(models, "load_model", lambda path, to: load_model(path, device=to))
    return asked


@pytest.fixture(scope="module")
def stack(tiny_model, tmp_path_factory):
    """A folder with model.film, a stack on an encoder, and tables."""
    folder = tmp_path_factory.mktemp("stack")
    pairs = [(f"{a} {i}", f"{b} {i}") for i in range(8) for a, b in PAIRS]
    labels = [i % 2 for i in range(len(pairs))]
    encoder = SentenceEncoder(str(tiny_model), device="cpu", max_length=32)
    model = DuplicateClassifier([("cosine", encoder)], cv=2).fit(pairs, labels)
    save_model(model, folder / "model.film")
    columns = ["test_id", "question1", "question2", "score", "is_duplicate"]
    rows = [[i, *PAIRS[i], SCORES[i], i % 2] for i in range(len(PAIRS))]
    write_csv(folder / "pairs.csv", columns, rows)
    write_csv(folder / "texts.csv", ["text"], [[text] for pair in PAIRS for text in pair])
    return folder


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_saved_stack_computes_there(stack, devices, tmp_path):
    model = ["-m", stack / "model.film", "--device", "cpu:0"]
    out = ["-o", tmp_path / "out.csv"]
    for command in (
        ["score", stack / "pairs.csv", *model],
        ["explain", stack / "pairs.csv", *model],
        ["evaluate", stack / "pairs.csv", *model],
        ["submit", stack / "pairs.csv", *model, *out],
        ["duplicates", stack / "texts.csv", *model, "--save", tmp_path / "known.film"],
        ["duplicates", stack / "texts.csv", "--against", tmp_path / "known.film", *model[2:]],
    ):
        devices.clear()
        ran = run(*command)
        assert (ran.code, devices) == (0, {"cpu:0"}), (command, ran.err)
    for command, table in (("duplicates", "texts"), ("score", "pairs"), ("explain", "pairs")):
        told = refused(command, stack / f"{table}.csv", "--device", "cpu")
        assert "--device applies to the encoder of a model; give --model too" in told

"""Every way gives the vectors of the encoder, up to what it says."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("transformers", reason="needs the extra neural")

from benchmarks import encoder_backends  # noqa: E402
from benchmarks.encoder_backends import (  # noqa: E402
    REFERENCE,
    WAYS,
    batches_of,
    main,
    pooled_batches,
    rows,
)
from estimators import SentenceEncoder  # noqa: E402
from estimators.encoders import Transformer  # noqa: E402
from film.datasets import ScoredPairs  # noqa: E402

TEXTS = ["the cat sat", "a dog", "how well do i run on the mat?", "cat cat cat cat", "a"] * 9
LEAST = {"float32": 0.99999, "bfloat16": 0.99, "int8": 0.9}


@pytest.mark.parametrize("name", WAYS)
def test_a_way_gives_the_vectors_of_the_encoder_whatever_the_batch(name, tiny_model, tmp_path):
    for package in WAYS[name].packages:
        pytest.importorskip(package, reason="needs the extra backends")
    transformer = Transformer(str(tiny_model), "cpu", None, 0)
    run = WAYS[name].make(transformer, str(tiny_model), tmp_path, 1)
    batches = list(batches_of(transformer, TEXTS))
    found = pooled_batches(run, batches, len(TEXTS))
    expected = SentenceEncoder(str(tiny_model), device="cpu").fit_transform(TEXTS)
    cosines = np.einsum("nh,nh->n", found, expected)
    cosines /= np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    assert cosines.min() > LEAST[name.split(", ")[1]]


def test_rows_are_beside_those_of_the_reference(tiny_model):
    pairs = np.array([("a cat", "the cat"), ("a dog", "i run"), ("the mat", "a mat")], dtype=object)
    sets = {"some": ScoredPairs(pairs, np.array([3.0, 0.0, 5.0]), np.full(3, "", dtype=object))}
    name = "torch, bfloat16"
    given = list(rows(str(tiny_model), TEXTS[:5], sets, encoder_backends.QUICK, 1, [name]))
    found = {(way, metric): (value, rival) for way, metric, value, _, rival in given}
    assert {way for way, _ in found} == {REFERENCE, name}
    assert found[REFERENCE, "least_cosine"][0] > 0.999999
    assert found[REFERENCE, "times_as_fast"][0] == 1
    assert found[name, "some"][1] == found[REFERENCE, "some"][0]
    assert found[name, "sentences_a_second"][1] == found[REFERENCE, "sentences_a_second"][0]


def test_a_package_that_is_not_here_is_left_out(tiny_model, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(encoder_backends, "find_spec", lambda name: None)
    monkeypatch.setattr(encoder_backends, "film_data", lambda: None)
    # --quick records nothing, unless it is told where.
    monkeypatch.chdir(tmp_path)
    arguments = ["--quick", "--model", str(tiny_model), "--threads", "1"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert "openvino is not installed" in capsys.readouterr().out
    lines = (tmp_path / "encoder_backends.jsonl").read_text(encoding="utf-8").splitlines()
    cases = {json.loads(line)["case"].split(": ")[1] for line in lines}
    assert cases == {REFERENCE, "torch, bfloat16"}
    monkeypatch.setattr(encoder_backends, "record", lambda *_, **__: pytest.fail("recorded"))
    assert main(arguments) == 0


def test_a_folder_without_the_sets_is_refused(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    assert "train.csv" in capsys.readouterr().err

"""Two processes train as one on the joined batch."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.estimators.tiny_model import make_tiny_model
from tests.estimators.tokens.test_rcmd_training import (
    PAIRS,
    SCORES,
    TRIPLETS,
    gradients,
    make_training,
)

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("accelerate", reason="needs the extra distributed")
# Two processes load torch, and train.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
ROWS = {
    "partners": (PAIRS, None),
    "hard": (TRIPLETS, None),
    "scores": (PAIRS, SCORES),
    "cosines": (PAIRS, [score / 5 for score in SCORES]),
    "relations": (PAIRS, [float(row % 3) for row in range(16)]),
    "ordered": (TRIPLETS, None),
}
SETTINGS: dict = {
    "cosines": {"objective": "l2", "method": "avg"},
    "relations": {"objective": "nli", "method": "avg"},
    "ordered": {"objective": "triplet", "method": "avg", "margin": 0.5},
}
CASES = [
    *(("partners", 0), ("hard", 0), ("hard", 2), ("scores", 0)),
    *(("cosines", 0), ("relations", 2), ("ordered", 0)),
]
PROGRAM = """
import sys, numpy as np
from tests.estimators.tokens.test_rcmd_training import gradients, make_training
from tests.estimators.training.test_processes import CASES, ROWS, SETTINGS
folder, target = sys.argv[1:]
for kind, micro in CASES:
    training = make_training(
        folder, *ROWS[kind], micro_batch_size=micro or None, **SETTINGS.get(kind, {})
    )
    assert training.processes.size == 2
    value = training.backward(np.arange(9))
    training.processes.average_gradients(training.parameters)
    found = {str(i): g.numpy() for i, g in enumerate(gradients(training))}
    training.run()
    found |= {f"after{i}": p.detach().numpy() for i, p in enumerate(training.parameters)}
    rank = training.processes.rank
    np.savez(f"{target}/{kind}{micro}-{rank}", loss=value, losses=training.losses, **found)
"""


def in_two_processes(*arguments: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    base = os.environ | {
        "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=ROOT, env=base | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    for process in running:
        errors = process.communicate(timeout=300)[1]
        assert process.returncode == 0, errors


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """Folder of a model, and of what both processes made of it in every case."""
    folder = make_tiny_model(
        tmp_path_factory.mktemp("models") / "sober",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    # Started once: a start takes far longer than a case.
    in_two_processes(str(folder), str(folder.parent))
    return folder


@pytest.mark.parametrize(("kind", "micro"), CASES)
def test_two_processes_give_loss_and_gradient_of_one(trained, kind, micro):
    found = [np.load(trained.parent / f"{kind}{micro}-{rank}.npz") for rank in range(2)]
    single = make_training(trained, *ROWS[kind], **SETTINGS.get(kind, {}))
    # Nine rows are eight for two processes.
    value = single.backward(np.arange(8))
    for process in found:
        assert process["loss"] == pytest.approx(value, abs=1e-5)
        for number, gradient in enumerate(gradients(single)):
            np.testing.assert_allclose(process[str(number)], gradient, rtol=0, atol=1e-5)
    assert max(float(gradient.abs().max()) for gradient in gradients(single)) > 1e-2
    # After two steps both hold the same model.
    for number in range(len(gradients(single))):
        np.testing.assert_array_equal(found[0][f"after{number}"], found[1][f"after{number}"])

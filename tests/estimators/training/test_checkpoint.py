"""Checkpoints of two runs in one folder."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("safetensors")
from estimators.training.settings import Checkpoint

PROGRAM = """
import sys
import numpy as np
from estimators.training.settings import Checkpoint

checkpoint = Checkpoint(sys.argv[1], {"seed": 0})
checkpoint.load()
print("loaded", flush=True)
input()
checkpoint.save(2, {"a": np.full(3, 2.0)}, {})
"""


def test_a_run_does_not_replace_what_another_process_saved(tmp_path):
    ours = Checkpoint(tmp_path, {"seed": 0})
    assert ours.load() is None
    ours.save(1, {"a": np.ones(3)}, {"step": 1})
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "loaded\n"
    other.communicate("\n", timeout=60)
    assert other.returncode == 0
    with pytest.raises(OSError, match="another process has written step-000000002 there"):
        ours.save(3, {"a": np.ones(3)}, {})
    arrays, _ = Checkpoint(tmp_path, {"seed": 0}).load()
    np.testing.assert_array_equal(arrays["a"], [2, 2, 2])
    # Loaded anew, the run goes on from there.
    assert ours.load() is not None
    ours.save(3, {"a": np.ones(3)}, {})
    assert [path.name for path in tmp_path.glob("step-*")] == ["step-000000003"]

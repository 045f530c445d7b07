"""What a record says about the machine."""

import sys
from types import SimpleNamespace

import pytest

from benchmarks.support.records import hardware


@pytest.mark.parametrize("has_gpu", [True, False])
def test_a_gpu_that_torch_sees_is_named(monkeypatch, has_gpu):
    cuda = SimpleNamespace(is_available=lambda: has_gpu, get_device_name=lambda: "a GPU")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert hardware().endswith(", a GPU" if has_gpu else ", CPU only")


def test_without_torch_nothing_is_loaded(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert hardware().endswith(", CPU only")
    assert "torch" not in sys.modules

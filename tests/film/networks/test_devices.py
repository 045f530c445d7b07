"""Torch devices are checked before any work."""

import sys

import pytest

from film.networks import checked_device

torch = pytest.importorskip("torch", reason="needs the extra neural")


def test_a_device_that_is_not_there_is_named(monkeypatch):
    for device, said in (
        ("gpu", r"device='gpu' must be .*, or device=None"),
        (1.5, r"device=1\.5 must be a device of torch"),
        ("meta", "device='meta' does not compute here"),
    ):
        with pytest.raises(ValueError, match=said):
            checked_device(device)
    assert checked_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="torch sees no GPU"):
        checked_device("cuda")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"device='cuda' needs torch.*film-metric\[neural\]"):
        checked_device("cuda")

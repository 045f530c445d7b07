"""Append results as JSON lines, with the hardware and versions that gave them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "results"
PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "transformers", "metric-learn")


def record(
    bench: str,
    case: str,
    metric: str,
    value: float,
    unit: str = "",
    *,
    rival: str | None = None,
    rival_value: float | None = None,
    seed: int | None = None,
    folder: str | Path | None = None,
) -> None:
    """Append one result to ``<bench>.jsonl``."""
    path = Path(folder) if folder is not None else RESULTS
    path.mkdir(parents=True, exist_ok=True)
    row = {
        "bench": bench,
        "case": case,
        "metric": metric,
        "value": value,
        "unit": unit,
        "rival": rival,
        "rival_value": rival_value,
        "seed": seed,
        "hardware": hardware(),
        "versions": versions(),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    with open(path / f"{bench}.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(row, allow_nan=False) + "\n")


def hardware() -> str:
    """Processor, cores, memory, and the GPU that torch sees where it was used, in words."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    memory = ""
    if hasattr(os, "sysconf"):
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        memory = f", {size:.0f} GiB"
    return f"{model}, {os.cpu_count()} cores{memory}, {_gpu()}"


def _gpu() -> str:
    # Where no one asked for torch, no GPU was used, and to load it would take seconds.
    torch = sys.modules.get("torch")
    return torch.cuda.get_device_name() if torch and torch.cuda.is_available() else "CPU only"


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that are installed."""
    found: dict[str, str] = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Short hash of the commit measured, with + where the tree had changes, or "unknown"."""
    try:
        here = Path(__file__).parent
        name = _git("rev-parse", "--short", "HEAD", cwd=here)
        dirty = _git("status", "--porcelain", "--untracked-files=no", cwd=here)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + ("+" if dirty else "")


def _git(*arguments: Any, cwd: Path) -> str:
    done = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()

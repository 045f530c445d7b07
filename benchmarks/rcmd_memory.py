"""Memory and time of RCMD of all pairs in a batch, and of a training step with it.

``python -m benchmarks.rcmd_memory [--out DIR] [--quick] [--only PART] [--device cpu|cuda]
[--model NAME]``.

- The similarity of B x 2B texts, forward and backward, as Table 3 of CLRCMD and beyond: B from 16
  to 1,024, 32 random tokens of width 768 a text, float32 on a CPU and bfloat16 on a GPU. The dense
  form multiplies all token pairs into (B, 2B, L, L, h); the paper's sparse form finds the best
  partners without gradient and then gathers them into (B, 2B, L, h), once a direction. Both get
  tokens that are unit vectors already, which spares them copies. "avg" is mean pooling.
- A whole training step of MiniLM: 128 examples of 3 texts of 32 random tokens, contrastive loss at
  temperature 0.05 over B x 2B, AdamW. Steps with RCMD and with mean pooling take turns on one
  model; the ratio of time is the median over turns. Memory is that of the model, the optimiser
  and the steps. On a GPU the encoder runs under autocast in bfloat16.

Every case has a process of its own. Its peak memory is what the process grew by after it had made
its inputs, on a GPU by torch's count. A case that needs more memory than there is does not run:
what it needs is computed from its largest arrays and recorded as ``needed``. ``--quick`` takes
small sizes and records only where ``--out`` says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.records import record
from film.training import allpairs_similarity, contrastive_loss

TEMPERATURE = 0.05
RIVAL, POOLING, TILES = "sparse form of CLRCMD", "mean pooling", "ours without the kernel"
SPARE = 2**30
"""Bytes to be left free for others on the machine."""


class Sizes(NamedTuple):
    """How much is measured."""

    batches: tuple[int, ...]
    length: int
    width: int
    step_batch: int
    turns: int


FULL = Sizes((16, 32, 64, 128, 256, 512, 1024), 32, 768, 128, 5)
QUICK = Sizes((8,), 16, 64, 4, 1)


class Shape(NamedTuple):
    """B texts with C others, each of L tokens of width h."""

    B: int
    C: int
    L: int
    h: int


class Form(NamedTuple):
    """A way to the similarities, and the bytes it needs at its peak for numbers of some bytes."""

    similarities: Callable[[Any, Any], Any]
    needed: Callable[[Shape, int], int]


def main(arguments: list[str] | None = None) -> int:
    """Run all cases, or one of them where this is its process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rcmd_memory", description=__doc__)
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder")
    parser.add_argument("--only", action="append", choices=("similarity", "step"))
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case:
        print(json.dumps(measure(**json.loads(options.case))))
        return 0
    sizes = QUICK if options.quick else FULL
    place = place_of(options.device)
    parts = {
        "similarity": similarity_rows(sizes, options.device),
        "step": step_rows(sizes, options.device, options.model),
    }
    chosen = chain.from_iterable(parts[part] for part in options.only or parts)
    # Recorded as they come: an interrupted run keeps what it has.
    for case, metric, value, unit, rival, rival_value in chosen:
        if options.quick and not options.out:
            continue
        record(
            "rcmd_memory",
            f"{place}: {case}",
            metric,
            value,
            unit,
            rival=rival,
            rival_value=rival_value,
            seed=0,
            folder=options.out,
        )
    return 0


Rows = Iterator[tuple[str, str, float, str, str | None, float | None]]


def similarity_rows(sizes: Sizes, device: str, run_case: Any = None) -> Rows:
    """Measure each form at each batch; numbers of ours stand beside those of the sparse form.

    ``run_case`` measures a case; by default `run`.
    """
    run_one = run_case or run
    for batch in sizes.batches:
        shape = Shape(batch, 2 * batch, sizes.length, sizes.width)
        found = {
            name: run_one(
                part="similarity", form=name, shape=shape, device=device, turns=sizes.turns
            )
            for name in forms(device)
        }
        title = f"{batch} x {2 * batch} texts, {sizes.length} tokens, width {sizes.width}"
        for name, row in found.items():
            print(f"{title}, {name}: {row}", flush=True)
            other = found[RIVAL] if name != RIVAL else {}
            yield from _beside(f"{title}, {name}", row, RIVAL, other)
        if TILES in found:
            faster = _rounded(found[TILES]["seconds"] / found["ours"]["seconds"])
            yield f"{title}, ours", "kernel_times_as_fast", faster, "x", TILES, None


def _beside(case: str, row: dict[str, float], rival: str, other: dict[str, float]) -> Rows:
    units = {"peak": "MB", "seconds": "s", "needed": "MB, not run"}
    for metric, value in row.items():
        beside = other.get(metric)
        yield case, metric, value, units[metric], rival if beside else None, beside
    for metric, ratio in (("peak", "times_smaller"), ("seconds", "times_as_fast")):
        # What fits into memory that was there before has a peak of 0.
        if row.get(metric) and metric in other:
            value = _rounded(other[metric] / row[metric])
            yield case, ratio, value, "x", rival, None


def step_rows(sizes: Sizes, device: str, model: str | None, run_case: Any = None) -> Rows:
    """Measure a training step with RCMD beside one with mean pooling, as `similarity_rows` does."""
    run_one = run_case or run
    common: dict[str, Any] = {
        "model": model,
        "device": device,
        "batch": sizes.step_batch,
        "length": sizes.length,
        "turns": sizes.turns,
    }
    seconds = run_one(part="step_time", **common)
    peaks = {
        method: run_one(part="step_peak", method=method, **common) for method in ("rcmd", "avg")
    }
    label = "MiniLM" if model is None else Path(model).name
    case = f"step of {label}, {sizes.step_batch} x 3 texts, {sizes.length} tokens"
    print(f"{case}: {seconds}, {peaks}", flush=True)
    yield case, "seconds", seconds["rcmd"], "s", POOLING, seconds["avg"]
    yield case, "time_ratio", seconds["ratio"], "x", POOLING, None
    yield case, "peak", peaks["rcmd"]["peak"], "MB", POOLING, peaks["avg"]["peak"]
    if peaks["avg"]["peak"]:
        ratio = _rounded(peaks["rcmd"]["peak"] / peaks["avg"]["peak"])
        yield case, "peak_ratio", ratio, "x", POOLING, None


def run(**case: Any) -> dict[str, float]:
    """Measure one case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.rcmd_memory", "--case", json.dumps(case)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"case {case} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(part: str, device: str, **case: Any) -> dict[str, float]:
    """Measure one case here."""
    parts = {"similarity": similarity_part, "step_time": step_time, "step_peak": step_peak}
    return parts[part](device=device, **case)


def similarity_part(form: str, shape: list[int], device: str, turns: int) -> dict[str, float]:
    """Peak and seconds of one form, forward and backward; or what it needs and does not get."""
    import torch

    sizes, way = Shape(*shape), forms(device)[form]
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    needed = way.needed(sizes, dtype.itemsize)
    if needed + SPARE > free_memory(device):
        return {"needed": round(needed / 1e6)}
    torch.manual_seed(0)
    tokens = [
        torch.nn.functional.normalize(torch.randn(n, sizes.L, sizes.h, device=device), dim=-1).to(
            dtype
        )
        for n in (sizes.B, sizes.C)
    ]

    def forward_and_backward(x1: Any, x2: Any) -> None:
        x1, x2 = x1.detach().requires_grad_(), x2.detach().requires_grad_()
        (way.similarities(x1, x2).float() / TEMPERATURE).logsumexp(dim=1).sum().backward()

    # Libraries start their threads and buffers at the first call.
    forward_and_backward(*(x[:2, :, :8] for x in tokens))
    peak = peak_of(lambda: forward_and_backward(*tokens), device)
    seconds = [seconds_of(lambda: forward_and_backward(*tokens), device) for _ in range(turns)]
    return {"peak": peak, "seconds": _rounded(statistics.median(seconds))}


def step_time(
    model: str | None, device: str, batch: int, length: int, turns: int
) -> dict[str, float]:
    """Seconds of a step with each method, in turns, and the median of their ratios."""
    step = Step(model, device, batch, length)
    seconds: dict[str, list[float]] = {"rcmd": [], "avg": []}
    for turn in range(turns + 1):
        for method, spent in seconds.items():
            one = seconds_of(lambda method=method: step(method), device)
            # The first turn starts threads and compiles.
            if turn:
                spent.append(one)
    ratios = [one / other for one, other in zip(*seconds.values(), strict=True)]
    medians = {method: statistics.median(spent) for method, spent in seconds.items()}
    return {
        name: _rounded(value)
        for name, value in (medians | {"ratio": statistics.median(ratios)}).items()
    }


def step_peak(
    model: str | None, device: str, batch: int, length: int, turns: int, method: str
) -> dict[str, float]:
    """Peak of loading a model and some steps with one method."""
    import torch
    import transformers  # noqa: F401

    torch.zeros(1, device=device)

    def train() -> None:
        step = Step(model, device, batch, length)
        for _ in range(turns):
            step(method)

    return {"peak": peak_of(train, device)}


class Step:
    """A model with its optimiser and one batch; called with a method, it trains by one step."""

    def __init__(self, model: str | None, device: str, batch: int, length: int) -> None:
        import torch

        from estimators.encoders import Transformer

        torch.manual_seed(0)
        self.module = Transformer(model, device, None, 0).module.requires_grad_(True).train()
        self.optimiser = torch.optim.AdamW(self.module.parameters(), lr=5e-5)
        words = self.module.get_input_embeddings().num_embeddings
        self.ids = torch.randint(words, (3 * batch, length), device=device)
        self.device, self.batch = device, batch

    def __call__(self, method: Any) -> None:
        """Encode, compare, and train."""
        import torch

        self.optimiser.zero_grad()
        on_gpu = self.device == "cuda"
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=on_gpu):
            x = self.module(
                input_ids=self.ids, attention_mask=torch.ones_like(self.ids)
            ).last_hidden_state
        # Autocast ends in a layer whose result is float32.
        x = x.to(torch.bfloat16 if on_gpu else torch.float32)
        similarity = allpairs_similarity(x[: self.batch], x[self.batch :], method=method)
        contrastive_loss(similarity, TEMPERATURE).backward()
        self.optimiser.step()


def forms(device: str) -> dict[str, Form]:
    """Ways to the similarities of all pairs by their names."""
    ways = {
        "dense form": Form(dense_form, dense_need),
        RIVAL: Form(sparse_form, sparse_need),
        "ours": Form(allpairs_similarity, our_need),
        "avg": Form(lambda x1, x2: allpairs_similarity(x1, x2, method="avg"), our_need),
    }
    if device == "cuda":
        ways[TILES] = Form(lambda x1, x2: allpairs_similarity(x1, x2, kernel=False), our_need)
    return ways


def dense_form(x1: Any, x2: Any) -> Any:
    """All products of numbers at once."""
    S = (x1[:, None, :, None] * x2[None, :, None]).sum(dim=-1)
    return (S.amax(dim=3).mean(dim=2) + S.amax(dim=2).mean(dim=2)) / 2


def dense_need(shape: Shape, itemsize: int) -> int:
    """Count two products (B, C, L, L, h), which are the gradients of both factors."""
    return 2 * shape.B * shape.C * shape.L**2 * shape.h * itemsize


def sparse_form(x1: Any, x2: Any) -> Any:
    """Best partners first, then the cosines with them alone."""
    import torch

    (B, L, h), C = x1.shape, len(x2)
    rows1, rows2 = x1.reshape(-1, h), x2.reshape(-1, h)
    with torch.no_grad():
        place1, place2 = [], []
        for i in range(B):
            S = (x1[i] @ rows2.T).view(L, C, L)
            place1.append(S.argmax(dim=2).T + L * torch.arange(C, device=x1.device)[:, None])
            place2.append(S.argmax(dim=0) + L * i)
    partners = rows2.index_select(0, torch.cat(place1).flatten()).view(B, C, L, h)
    forth = (x1[:, None] * partners).sum(dim=-1).mean(dim=2)
    partners = rows1.index_select(0, torch.cat(place2).flatten()).view(B, C, L, h)
    back = (x2 * partners).sum(dim=-1).mean(dim=2)
    return (forth + back) / 2


def sparse_need(shape: Shape, itemsize: int) -> int:
    """Count the partners (B, C, L, h) both ways, and the gradients of both factors of one."""
    return 4 * shape.B * shape.C * shape.L * shape.h * itemsize


def our_need(shape: Shape, itemsize: int) -> int:
    """Count unit tokens and their gradients in float32, the gradients given, and the places."""
    tokens = (shape.B + shape.C) * shape.L * shape.h
    return tokens * (8 + itemsize) + 2 * shape.B * shape.C * shape.L


def peak_of(work: Callable[[], None], device: str) -> float:
    """Peak memory of a call in MB, beyond what was in use before."""
    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        torch.cuda.synchronize()
        return round((torch.cuda.max_memory_allocated() - before) / 1e6, 1)
    # Linux then counts the peak from here on.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _proc("/proc/self/status", "VmRSS")
    work()
    # Pages that the kernel took back meanwhile leave the peak below the start.
    return round(max(_proc("/proc/self/status", "VmHWM") - before, 0) / 1e6, 1)


def seconds_of(work: Callable[[], None], device: str) -> float:
    """Seconds of a call."""
    import torch

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    started = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - started


def free_memory(device: str) -> int:
    """Bytes that can still be had."""
    import torch

    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    return _proc("/proc/meminfo", "MemAvailable")


def _proc(path: str, name: str) -> int:
    """Bytes of a line of one of Linux's files, which counts in KiB."""
    lines = Path(path).read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return 1024 * int(line.split()[1])


def place_of(device: str) -> str:
    """Name a device in words."""
    import torch

    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"CPU, {torch.get_num_threads()} torch threads"


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


if __name__ == "__main__":
    sys.exit(main())

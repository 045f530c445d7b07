"""What this repository has for a GPU, measured on one, each against the same without it.

``python -m benchmarks.gpu [--quick] [--only CASE ...] [--out DIR]``. Nothing is downloaded: before,
``python -m benchmarks.gpu --prepare`` (``make gpu-weights``) writes MiniLM in half precision into
``out/gpu``, at most 50 MB. Cases:

- ``kernel``: RCMD of all pairs of two batches, forward and backward, with the fused kernel, by
  torch, and in the sparse form of CLRCMD: first whether kernel and torch give the same, then memory
  and time.
- ``step``: a training step of MiniLM with RCMD and one with mean pooling.

Each case has a process of its own and is cut after 100 seconds; what it has measured until then is
kept. The exit status is 1 where a case failed. ``--quick`` takes small sizes, needs no GPU and
records only where ``--out`` says so. All rows name the device.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.support.run import Results, parser_of
from estimators.encoders import Transformer, find_model
from film.training import allpairs_similarity, contrastive_loss

KIT = Path(__file__).parents[1] / "out" / "gpu" / "all-MiniLM-L6-v2"
"""Weights in half precision."""
SECONDS = 100
TEMPERATURE = 0.05
SPARSE, POOLING, WITHOUT = "sparse form of CLRCMD", "mean pooling", "without the kernel"
# Sums of other order: forwards to rounding, and a near tie may send a gradient elsewhere.
LARGEST_DIFFERENCE, LARGEST_ERROR = 1e-5, 3e-2


class Row(NamedTuple):
    """A case, its figures, and those of a rival."""

    case: str
    figures: dict[str, float]
    rival: str | None = None
    beside: dict[str, float] | None = None


Rows = Iterator[Row]


def main(arguments: list[str] | None = None) -> int:
    """Run all cases, or one of them where this is its process."""
    import torch

    parser = parser_of("gpu", __doc__, "not used")
    parser.add_argument("--only", action="append", choices=CASES, help="leave other cases out")
    parser.add_argument("--prepare", action="store_true", help="write what a run takes along")
    options = parser.parse_args(arguments)
    if options.prepare:
        KIT.parent.mkdir(parents=True, exist_ok=True)
        Transformer(None, "cpu", "float16", 0).save(KIT)
        return 0
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not options.quick:
        parser.error("torch sees no GPU; --quick tries the processor")
    names = options.only or list(CASES)
    if options.quick or len(names) == 1:
        place = torch.cuda.get_device_name() if device == "cuda" else "CPU"
        results = Results("gpu", options)
        for name in names:
            for row in CASES[name](device, options.quick):
                results.tell(
                    f"{place}: {row.case}", row.figures, rival=row.rival, beside=row.beside
                )
        return 0
    failed = []
    for name in names:
        command = [sys.executable, "-m", "benchmarks.gpu", "--only", name]
        command += ["--out", options.out] if options.out else []
        try:
            failed += [name] * bool(subprocess.run(command, timeout=SECONDS).returncode)
        except subprocess.TimeoutExpired:
            print(f"{name}: cut after {SECONDS} s; what it measured is kept", flush=True)
    print(f"failed: {', '.join(failed) or 'nothing'}", flush=True)
    return int(bool(failed))


def kernel(device: str, quick: bool) -> Rows:
    """Compare the fused kernel with torch: results, then memory and time."""
    import torch

    if device == "cuda":
        yield from agreement(device)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    length, width = (16, 64) if quick else (32, 768)
    for batch in (8,) if quick else (128, 512, 1024):
        torch.manual_seed(0)
        tokens = [
            torch.nn.functional.normalize(torch.randn(n, length, width, device=device), dim=-1)
            for n in (batch, 2 * batch)
        ]
        x1, x2 = (x.to(dtype).requires_grad_() for x in tokens)
        ways: dict[str, Callable[[], Any]] = {
            "ours": lambda x1=x1, x2=x2: allpairs_similarity(x1, x2),
            WITHOUT: lambda x1=x1, x2=x2: allpairs_similarity(x1, x2, kernel=False),
            "avg": lambda x1=x1, x2=x2: allpairs_similarity(x1, x2, method="avg"),
            SPARSE: lambda x1=x1, x2=x2: sparse_form(x1, x2),
        }
        found = {}
        for name, way in ways.items():
            work = lambda way=way: (way().float() / TEMPERATURE).logsumexp(1).sum().backward()  # noqa: E731
            try:
                found[name] = {"peak": peak_of(work, device), "seconds": seconds_of(work, device)}
            except torch.cuda.OutOfMemoryError:
                print(f"{name} at {batch} x {2 * batch} texts: more memory than there is")
        title = f"{batch} x {2 * batch} texts, {length} tokens, width {width}"
        for name, row in found.items():
            yield Row(f"{title}, {name}", row, SPARSE, found.get(SPARSE))


def agreement(device: str) -> Rows:
    """Largest difference of similarities from torch's in float64, and relative error of gradients.

    Raises
    ------
    ArithmeticError
        If they are not those of torch: there is nothing to be timed then.
    """
    import torch

    for dtype in (torch.float16, torch.bfloat16):
        difference, error = 0.0, 0.0
        for shape in ((64, 32, 128, 32, 384), (9, 20, 17, 33, 40), (3, 150, 5, 140, 64)):
            given = _ragged(shape, dtype, device)
            found = _gradients(given, kernel=True)
            exact = [part.double() if part.is_floating_point() else part for part in given]
            expected = _gradients(exact, kernel=False)
            gap = (found[0].double() - expected[0]).abs().max()
            # A number that is none is no small difference.
            difference = max(difference, float(gap.nan_to_num(torch.inf)))
            for one, other in zip(found[1:], expected[1:], strict=True):
                gap = (one.double() - other).norm() / other.norm()
                error = max(error, float(gap.nan_to_num(torch.inf)))
        name = str(dtype).removeprefix("torch.")
        if difference > LARGEST_DIFFERENCE or error > LARGEST_ERROR:
            raise ArithmeticError(
                f"in {name} similarities differ by up to {difference:.2g} (at most "
                f"{LARGEST_DIFFERENCE:g} is rounding) and gradients by {error:.2g} of their size "
                f"(at most {LARGEST_ERROR:g})"
            )
        figures = {"largest_difference": difference, "gradient_error": error}
        yield Row(f"kernel against torch in float64, tokens in {name}", figures, "torch")


def _ragged(shape: tuple[int, ...], dtype: Any, device: str) -> list[Any]:
    """Tokens and masks of both sides; padding is of no use."""
    import torch

    B, L1, C, L2, h = shape
    draws = torch.Generator().manual_seed(sum(shape))
    tokens, masks = [], []
    for texts, length in ((B, L1), (C, L2)):
        x = torch.randn(texts, length, h, generator=draws).to(dtype)
        mask = torch.rand(texts, length, generator=draws) < 0.7
        mask[:, 0] = True
        x[~mask] = torch.nan
        tokens.append(x.to(device))
        masks.append(mask.to(device))
    return [*tokens, *masks]


def _gradients(given: list[Any], *, kernel: bool) -> tuple[Any, Any, Any]:
    import torch

    x1, x2 = (x.clone().requires_grad_() for x in given[:2])
    similarity = allpairs_similarity(x1, x2, *given[2:], kernel=kernel)
    draws = torch.Generator().manual_seed(0)
    weight = torch.randn(similarity.shape, generator=draws).to(similarity)
    (similarity * weight).sum().backward()
    return similarity.detach(), x1.grad, x2.grad


def sparse_form(x1: Any, x2: Any) -> Any:
    """RCMD of unit tokens as CLRCMD has it: best partners first, then the cosines with them."""
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


def step(device: str, quick: bool) -> Rows:
    """Compare a training step with RCMD with one with mean pooling, on 3 texts an example."""
    import torch

    batch, length = (4, 16) if quick else (128, 32)
    torch.manual_seed(0)
    module = Transformer(weights(), device, None, 0).module.requires_grad_(True).train()
    optimiser = torch.optim.AdamW(module.parameters(), lr=5e-5)
    words = module.get_input_embeddings().num_embeddings
    ids = torch.randint(words, (3 * batch, length), device=device)
    on_gpu = device == "cuda"

    def train(method: Any) -> None:
        optimiser.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=on_gpu):
            x = module(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
        # Autocast ends in a layer whose result is float32.
        x = x.to(torch.bfloat16 if on_gpu else torch.float32)
        similarity = allpairs_similarity(x[:batch], x[batch:], method=method)
        contrastive_loss(similarity, TEMPERATURE).backward()
        optimiser.step()

    found: dict[str, dict[str, float]] = {}
    for method in ("avg", "rcmd"):
        train(method)
        work = lambda method=method: train(method)  # noqa: E731
        found[method] = {"peak": peak_of(work, device), "seconds": seconds_of(work, device)}
    case = f"step of MiniLM, {batch} x 3 texts, {length} tokens"
    yield Row(case, found["rcmd"], POOLING, found["avg"])


def weights() -> str | None:
    """Give the folder of the weights taken along, or None for the packaged ones."""
    if not KIT.is_dir():
        find_model(None)
        return None
    return str(KIT)


def peak_of(work: Callable[[], Any], device: str) -> float:
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
    before = _memory("VmRSS")
    work()
    return round(max(_memory("VmHWM") - before, 0) / 1e6, 1)


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def seconds_of(work: Callable[[], Any], device: str) -> float:
    """Seconds of a call."""
    import torch

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    started = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - started


CASES: dict[str, Callable[[str, bool], Rows]] = {each.__name__: each for each in (kernel, step)}
"""Cases by their names, in the order in which they run."""


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.exit(main())

"""All that this repository has for a GPU, measured on one in at most eight minutes.

``python -m benchmarks.gpu [--quick] [--only CASE ...] [--out DIR]``. Nothing is downloaded: before,
``python -m benchmarks.gpu --prepare`` (``make gpu-weights``) writes what a run takes along into
``out/gpu``, at most 50 MB: MiniLM in half precision and, where ``--data`` or FILM_DATA names the
public sets, the rows of the recipes. Without these, rows are generated. Cases:

- ``kernel``: RCMD of all pairs of two batches, forward and backward, with the fused kernel and by
  torch: first whether both give the same in float16 and bfloat16, then memory and time.
- ``step``: a training step with RCMD beside one with mean pooling, of MiniLM and at width 768.
- ``encoding``: questions a second, beside a loop over transformers.
- ``metric``: the matrix K of FILM and its products with a map, beside NumPy on the processor: first
  whether both give the same.
- ``ranks``: the ranks of listed pairs among all points, beside NumPy's: the same, or the run fails.
- ``finder``: the nearest points of some, as `DuplicateFinder` looks them up, among all points and
  in cells, beside NumPy: the same up to rounding, or the run fails.
- ``here``, ``quora``, ``sts``: each recipe of `benchmarks.rcmd_train` for at most a minute.

Every case has a process of its own and a number of seconds, after which it is cut; what it has
measured until then is kept. The exit status is 1 where a case failed. ``--quick`` takes small
sizes, needs no GPU and records only where ``--out`` says so. All rows name the device.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import rcmd_memory, token_speed
from benchmarks.support import gpu_kit
from benchmarks.support.folders import film_data
from benchmarks.support.recipes import SETTINGS
from benchmarks.support.records import record
from estimators import RCMDRegressor
from estimators.encoders import find_model
from film.corpus import NearestSearch, learn_centres
from film.metric import RowsOnDevice, pull_matrix
from film.pairs import neighbour_ranks
from film.training import allpairs_similarity

LIMIT, FEWEST = 470.0, 15.0
"""Seconds of a whole run, and the fewest that a case is started with."""
DTYPES = ("float32", "bfloat16")
WARM_STEPS = 10
ENCODED = 4_000
"""Questions that are encoded at once, so that a turn takes a few seconds."""
# Sums of other order: forwards to rounding, and a near tie may send a gradient elsewhere.
LARGEST_DIFFERENCE, LARGEST_ERROR = 1e-5, 3e-2
# Of products of float32, relative, or of unit rows; products in TF32 are off by some 5e-4.
LARGEST_GAP = 1e-5

Rows = Iterator[tuple[str, str, float, str, str | None, float | None]]
"""Case, metric, value, unit, rival, and its value."""


class Run(NamedTuple):
    """What a case is given."""

    device: str
    quick: bool
    until: float

    def left(self) -> float:
        """Seconds left to the case."""
        return self.until - time.monotonic()


class Case(NamedTuple):
    """Something that is measured, and the seconds it may take."""

    measure: Callable[[Run], Rows]
    seconds: float


def main(arguments: list[str] | None = None) -> int:
    """Run all cases, or one of them where this is its process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="small sizes, on a CPU too")
    parser.add_argument("--only", action="append", choices=CASES, help="leave other cases out")
    parser.add_argument("--prepare", action="store_true", help="write what a run takes along")
    parser.add_argument("--data", metavar="DIR", help="folder of the public sets, for --prepare")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        if options.prepare:
            gpu_kit.prepare(Path(options.data) if options.data else film_data())
            return 0
        device = _device()
        gpu_kit.weights()
    except (OSError, ValueError, ImportError) as error:
        return _refuse(str(error))
    if device == "cpu" and not options.quick:
        return _refuse("torch sees no GPU; --quick tries all cases on the processor")
    if options.case:
        _measure(options.case, options, Run(device, False, time.monotonic() + options.seconds))
        return 0
    if options.quick:
        # One process: to start others takes longer than small sizes do.
        for name in options.only or CASES:
            _measure(name, options, Run(device, True, time.monotonic() + CASES[name].seconds))
        return 0
    return _run_all(options)


def _run_all(options: argparse.Namespace) -> int:
    """Run each case in a process of its own within the time."""
    end, failed = time.monotonic() + LIMIT, []
    for name in options.only or CASES:
        seconds = min(CASES[name].seconds, end - time.monotonic())
        if seconds < FEWEST:
            print(f"{name}: not run, no time is left", flush=True)
            continue
        own = ["--case", name, "--seconds", f"{seconds:.1f}"]
        own += ["--out", options.out] if options.out else []
        try:
            done = subprocess.run([sys.executable, "-m", "benchmarks.gpu", *own], timeout=seconds)
        except subprocess.TimeoutExpired:
            print(f"{name}: cut after {seconds:.0f} s; what it measured is kept", flush=True)
            continue
        if done.returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", flush=True)
    return int(bool(failed))


def _measure(name: str, options: argparse.Namespace, run: Run) -> None:
    """Record the results of one case as they come: a cut run keeps what it has."""
    place = rcmd_memory.place_of(run.device)
    for case, metric, value, unit, rival, rival_value in CASES[name].measure(run):
        beside = "" if rival_value is None else f" ({rival}: {rival_value:.4g})"
        print(f"{place}: {case}: {metric} {value:.4g} {unit}{beside}", flush=True)
        if options.quick and not options.out:
            continue
        record(
            "gpu",
            f"{place}: {case}",
            metric,
            value,
            unit,
            rival=rival,
            rival_value=rival_value,
            seed=0,
            folder=options.out,
        )


def kernel(run: Run) -> Rows:
    """Compare the fused kernel with torch: results, then memory and time."""
    if run.device == "cuda":
        yield from agreement(True)
    else:
        print("the kernel needs a GPU: torch's path alone is measured", flush=True)
    widths = (384, 768)
    for width in widths[:1] if run.quick else widths:
        sizes = rcmd_memory.FULL._replace(batches=(128, 512, 1024), width=width)
        sizes = rcmd_memory.QUICK if run.quick else sizes
        yield from rcmd_memory.similarity_rows(sizes, run.device, rcmd_memory.measure)


def agreement(fused: bool, device: str = "cuda") -> Rows:
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
            found = _gradients(given, kernel=fused)
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
        case = f"kernel against torch in float64, tokens in {name}"
        yield case, "largest_difference", difference, "", "torch", None
        yield case, "gradient_error", error, "", "torch", None


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


def step(run: Run) -> Rows:
    """Compare a training step with RCMD with one with mean pooling."""
    sizes = rcmd_memory.QUICK if run.quick else rcmd_memory.FULL
    with tempfile.TemporaryDirectory() as scratch:
        for model in (gpu_kit.weights(), _wide_model(Path(scratch), run.quick)):
            yield from rcmd_memory.step_rows(sizes, run.device, model, rcmd_memory.measure)


def _wide_model(scratch: Path, quick: bool) -> str:
    """Write a model of BERT's size, or of one layer, with random weights, and give its folder."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    layers = 1 if quick else 12
    folder = scratch / f"random BERT of width 768, {layers} layers"
    tokenizer = AutoTokenizer.from_pretrained(find_model(gpu_kit.weights()))
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(tokenizer), num_hidden_layers=layers)
    BertModel(config).half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def encoding(run: Run) -> Rows:
    """Questions encoded a second, in both precisions and two sizes of batches.

    Each has its share of the time that is left, and a turn in any case.
    """
    pairs = gpu_kit.recipe_rows("quora").rows
    full = token_speed.FULL._replace(questions=ENCODED)
    sizes = token_speed.QUICK if run.quick else full
    ways = [(batch, dtype) for batch in (32, 512) for dtype in DTYPES]
    for done, (batch, dtype) in enumerate(ways[:1] if run.quick else ways):
        found = token_speed.encoding_rows(
            pairs, gpu_kit.weights(), sizes, run.device, dtype, batch,
            within=run.left() / (len(ways) - done),
        )  # fmt: skip
        for title, figures in found:
            case = f"{title}, {dtype}, batches of {batch}"
            yield from ((case, *figure) for figure in figures)


def metric(run: Run) -> Rows:
    """Compare K and the products of a round of FILM on a device with those of NumPy.

    Raises
    ------
    ArithmeticError
        If they are not the same to rounding.
    """
    m, r, d = (300, 20, 5) if run.quick else (50_000, 600, 100)
    draws = np.random.default_rng(0)
    pair = [draws.standard_normal((m, r), dtype=np.float32) for _ in range(2)]
    B = draws.standard_normal((r, d), dtype=np.float32)
    activity = (draws.random(m) < 0.3).astype(np.float64)
    moved = [RowsOnDevice(rows, run.device) for rows in pair]
    ways = {
        f"K of {m} anchors, rank {r}": lambda rows: pull_matrix(*rows, activity),
        f"images of {m} anchors, rank {r} to {d}": lambda rows: rows[0] @ B,
    }
    for case, product in ways.items():
        found, expected = product(moved), product(pair)
        gap = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
        if not gap < LARGEST_GAP:
            raise ArithmeticError(
                f"{case}: a relative difference of {gap:.2g} is no rounding (at most "
                f"{LARGEST_GAP:g} is)"
            )
        yield case, "largest_difference", gap, "", "NumPy", None
        seconds = {"here": [], "NumPy": []}
        for _ in range(3):
            for name, rows in (("here", moved), ("NumPy", pair)):
                started = time.perf_counter()
                product(rows)
                seconds[name].append(time.perf_counter() - started)
        own, rival = (float(np.median(seconds[name])) for name in ("here", "NumPy"))
        yield case, "seconds", _rounded(own), "s", "NumPy", _rounded(rival)


def ranks(run: Run) -> Rows:
    """Count the ranks of listed pairs on a device and by NumPy.

    Raises
    ------
    ArithmeticError
        If one rank is another.
    """
    n, m, d = (500, 100, 20) if run.quick else (50_000, 20_000, 100)
    draws = np.random.default_rng(0)
    points = draws.standard_normal((n, d), dtype=np.float32)
    pairs = draws.integers(0, n, (m, 2))
    seconds, found = {}, {}
    # The first call loads what a device needs.
    neighbour_ranks(points[:100], pairs[:0], device=run.device)
    for name, device in (("here", run.device), ("NumPy", None)):
        started = time.perf_counter()
        found[name] = neighbour_ranks(points, pairs, device=device)
        seconds[name] = _rounded(time.perf_counter() - started)
    case = f"ranks of {m} pairs among {n} points of {d} dimensions"
    different = int((found["here"] != found["NumPy"]).sum())
    if different:
        raise ArithmeticError(f"{case}: {different} are others than NumPy's")
    yield case, "different_ranks", 0.0, "", "NumPy", None
    yield case, "seconds", seconds["here"], "s", "NumPy", seconds["NumPy"]


def finder(run: Run) -> Rows:
    """Look up the nearest points of some on a device and by NumPy, as a duplicate finder does.

    Raises
    ------
    ArithmeticError
        If a cosine is another than NumPy's, or not that of the point which it is given for.
    """
    n, m, d, cells = (500, 100, 20, 10) if run.quick else (50_000, 5_000, 256, 900)
    k = 11
    points = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    centres = learn_centres(points, cells, seed=0)
    ways = {
        f"all of {n} points": NearestSearch(points),
        f"{cells // 10} of {cells} cells": NearestSearch(
            points, centres=centres, n_probe=cells // 10
        ),
    }
    # The first call loads what a device needs.
    ways[f"all of {n} points"](points[:m], k, run.device)
    for name, search in ways.items():
        seconds, found = {}, {}
        for place, device in (("here", run.device), ("NumPy", None)):
            started = time.perf_counter()
            found[place] = search(points[:m], k, device)
            seconds[place] = _rounded(time.perf_counter() - started)
        (positions, cosines), (_, expected) = found["here"], found["NumPy"]
        true = np.einsum("md,mkd->mk", points[:m], points[positions], dtype=np.float64)
        gap = max(float(np.abs(given - expected).max()) for given in (cosines, true))
        case = f"{k} nearest of {m} points of {d} dimensions among {name}"
        if not gap < LARGEST_GAP:
            raise ArithmeticError(
                f"{case}: cosines differ by {gap:.2g}, which is no rounding (at most "
                f"{LARGEST_GAP:g} is)"
            )
        yield case, "largest_difference", gap, "", "NumPy", None
        yield case, "seconds", seconds["here"], "s", "NumPy", seconds["NumPy"]


def train(name: str, run: Run) -> Rows:
    """Train by a recipe, as far as the time goes: speed, memory, loss, and the score that chooses.

    A few steps come first: their time says how many more there is time for. These are made twice,
    and the second time counts: the seed is the same, so that all shapes of batches have been met,
    for each of which a GPU may load or compile something.
    """
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    data = gpu_kit.recipe_rows(name)
    settings = SETTINGS[name] | {"eval_steps": 10**9, "random_state": 0}
    if run.quick:
        data, settings = data.first(24), settings | {"train_batch_size": 4, "epochs": 1}
    model = RCMDRegressor(gpu_kit.weights(), device=run.device)
    before = _rounded(100 * model.fit(data.held[:1]).score(data.held, data.y_held))
    model.set_params(**settings)
    batch = model.get_params()["train_batch_size"]
    steps_of_all = -(-len(data.rows) // batch)

    def times_of(steps: float) -> np.ndarray:
        """Train so many steps; gives when each ended."""
        ended: list[float] = []
        hook = register_optimizer_step_post_hook(lambda *_: ended.append(time.monotonic()))
        model.set_params(epochs=steps / steps_of_all)
        try:
            model.fit(data.rows, data.y, eval_set=(data.held, data.y_held))
        finally:
            hook.remove()
        return np.array(ended)

    dtypes = DTYPES[:1] if run.quick else DTYPES
    for done, dtype in enumerate(dtypes):
        model.set_params(dtype=dtype)
        started, share = time.monotonic(), run.left() / (len(dtypes) - done)
        warm = times_of(2 if run.quick else WARM_STEPS)
        spent = time.monotonic() - started
        # The first steps are the slowest, and loading and judging come twice more.
        most = int((share - 3 * spent) / (2 * np.diff(warm).mean()))
        steps = max(len(warm), min(most, round(settings["epochs"] * steps_of_all)))
        times_of(steps)
        if run.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        seconds = np.diff(times_of(steps))
        case = f"recipe {name}, {data.source}, {dtype}, {steps} steps of {batch}"
        yield case, "examples_a_second", _rounded(batch / np.median(seconds)), "1/s", None, None
        yield case, "training_seconds", _rounded(seconds.sum()), "s", None, None
        if run.device == "cuda":
            peak = torch.cuda.max_memory_allocated() / 1e6
            yield case, "peak", round(peak, 1), "MB", None, None
        for when, part in (("first", model.loss_curve_[:5]), ("last", model.loss_curve_[-5:])):
            yield case, f"{when}_loss", _rounded(float(np.mean(part))), "", None, None
        score = _rounded(100 * model.scores_[-1][1])
        yield case, "chosen_by", score, "", "untrained", before


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _refuse(reason: str) -> int:
    print(f"benchmarks.gpu: {reason}", file=sys.stderr)
    return 2


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


CASES = {
    "kernel": Case(kernel, 130),
    "step": Case(step, 80),
    "encoding": Case(encoding, 50),
    "here": Case(partial(train, "here"), 53),
    "quora": Case(partial(train, "quora"), 53),
    "sts": Case(partial(train, "sts"), 53),
    "metric": Case(metric, 15),
    "ranks": Case(ranks, 20),
    "finder": Case(finder, 15),
}
"""Cases by their names, in the order in which they run; a new one is one line more."""


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.exit(main())

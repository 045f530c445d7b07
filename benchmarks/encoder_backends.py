"""Questions a second of the packaged encoder by what runs it: torch, ONNX Runtime or OpenVINO.

``python -m benchmarks.encoder_backends [--data DIR] [--model NAME] [--threads N] [--only WAY ...]
[--out DIR] [--quick]``. DIR holds ``quora`` and ``sts``; by default it is $FILM_DATA, and where
there is none, questions are generated and STS is left out. All ways take the same batches, which
are those of `SentenceEncoder`, with the same number of threads, in turns; seconds are medians.
Beside the speed stand the cosine of the vectors to those of torch in float32, and the Spearman
correlation × 100 on the seven STS sets, at most 1,000 pairs of each. A way is shown as fast where
the processor is: bfloat16 and int8 need instructions of their own, which the first line names.
A package that is not here is left out, and said so. ``--quick`` records only where ``--out`` is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.sts import first_pairs, measured
from benchmarks.support.folders import film_data
from benchmarks.support.records import record
from benchmarks.token_speed import in_turns, read
from estimators.encoders import TOKENS_PER_TEXT, Transformer, find_model
from film.datasets import read_sts_sets
from film.pairs import row_cosines

REFERENCE = "torch, float32"
MAX_LENGTH, BATCH = 128, 32
INSTRUCTIONS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "avx512_bf16", "amx_bf16")

Model = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(b, L) numbers of tokens and mask, int64, to (b, L, h) vectors of tokens, float32."""


class Sizes(NamedTuple):
    """How much is measured."""

    questions: int
    turns: int
    pairs: int


FULL, QUICK = Sizes(2_000, 3, 1_000), Sizes(40, 1, 20)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; the exit status is 2 where the data cannot be read."""
    import torch

    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoder_backends")
    parser.description = __doc__
    parser.add_argument("--data", metavar="DIR", help="folder that holds quora and sts")
    parser.add_argument("--model", metavar="NAME", help="hub name or folder")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--only", action="append", choices=WAYS, help="leave other ways out")
    parser.add_argument("--out", metavar="DIR", help="write JSON lines here instead of the results")
    parser.add_argument("--quick", action="store_true", help="few questions and pairs")
    options = parser.parse_args(arguments)
    home = Path(options.data) if options.data else film_data()
    try:
        name, pairs = read(None if home is None else str(home / "quora"))
        sets = {} if home is None else read_sts_sets(home / "sts")
    except (OSError, ValueError) as error:
        print(f"benchmarks.encoder_backends: {error}", file=sys.stderr)
        return 2
    sizes = QUICK if options.quick else FULL
    sets = {each: first_pairs(data, sizes.pairs) for each, data in sets.items()}
    questions = list(dict.fromkeys(pairs.ravel().tolist()))[: sizes.questions]
    label = "all-MiniLM-L6-v2" if options.model is None else Path(options.model).name
    label = f"{label}, {name}, {options.threads} thread{'s' * (options.threads != 1)}"
    print(f"the processor has: {', '.join(instructions()) or 'nothing that is known'}", flush=True)
    before = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    try:
        for way, metric, value, unit, rival_value in rows(
            options.model, questions, sets, sizes, options.threads, options.only
        ):
            print(f"{label}: {way}: {metric} {value:.6g} {unit}", flush=True)
            if options.quick and not options.out:
                continue
            record(
                "encoder_backends",
                f"{label}: {way}",
                metric,
                value,
                unit,
                rival=None if rival_value is None else REFERENCE,
                rival_value=rival_value,
                folder=options.out,
            )
    finally:
        torch.set_num_threads(before)
    return 0


def rows(
    model: str | None,
    questions: list[str],
    sets: dict[str, Any],
    sizes: Sizes,
    threads: int,
    only: list[str] | None = None,
) -> Iterator[tuple[str, str, float, str, float | None]]:
    """Give way, metric, value, unit and what the reference has: speed first, STS after it."""
    transformer = Transformer(model, "cpu", "float32", 0)
    with tempfile.TemporaryDirectory() as scratch:
        ready: dict[str, Model] = {}
        for name, way in WAYS.items():
            missing = [package for package in way.packages if find_spec(package) is None]
            if name != REFERENCE and only and name not in only:
                continue
            if missing:
                print(f"{name}: left out, {' and '.join(missing)} is not installed", flush=True)
                continue
            ready[name] = way.make(transformer, model, Path(scratch), threads)
        batches = list(batches_of(transformer, questions))
        calls = {
            name: lambda run=run: pooled_batches(run, batches, len(questions))
            for name, run in ready.items()
        }
        in_turns(calls, 1)
        seconds, vectors = in_turns(calls, sizes.turns)
        whole = float(np.median(seconds[REFERENCE]))
        for name, spent in seconds.items():
            rate, rival = len(questions) / float(np.median(spent)), len(questions) / whole
            yield name, "sentences_a_second", rate, "1/s", rival
            ratio = float(np.median(seconds[REFERENCE] / spent))
            yield name, "times_as_fast", ratio, "x", None
            cosines = row_cosines(vectors[name], vectors[REFERENCE])
            yield name, "mean_cosine", float(cosines.mean()), "", None
            yield name, "least_cosine", float(cosines.min()), "", None
        reference: dict[str, float] = {}
        for name, run in ready.items() if sets else ():

            def similarity(pairs: np.ndarray, run: Model = run) -> np.ndarray:
                texts, codes = np.unique(pairs.ravel(), return_inverse=True)
                batches = list(batches_of(transformer, texts.tolist()))
                points = pooled_batches(run, batches, len(texts))
                first, second = codes.reshape(-1, 2).T
                return np.asarray(row_cosines(points[first], points[second]))

            found = measured(similarity, sets)
            reference = reference or found
            for each, value in found.items():
                yield name, each, value, "Spearman x 100", reference[each]


def batches_of(
    transformer: Transformer, texts: list[str]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Give rows, numbers of tokens and mask of batches, as `Transformer.encode` makes them."""
    tokens = transformer.tokenize(texts, MAX_LENGTH)
    lengths = tokens.lengths
    order, done = np.argsort(-lengths, kind="stable"), 0
    while done < len(order):
        longest = int(lengths[order[done]])
        batch = order[done : done + max(1, TOKENS_PER_TEXT * BATCH // longest)]
        mask = np.arange(longest) < lengths[batch, np.newaxis]
        ids = np.zeros(mask.shape, dtype=np.int64)
        ids[mask] = np.concatenate([tokens.ids[slice(*tokens.starts[[i, i + 1]])] for i in batch])
        yield batch, ids, mask.astype(np.int64)
        done += len(batch)


def pooled_batches(run: Model, batches: list[Any], n: int) -> np.ndarray:
    """Give the mean of the token vectors of each of n texts."""
    means = {}
    for batch, ids, mask in batches:
        features = run(ids, mask)
        weights = mask[:, :, np.newaxis].astype(np.float32)
        means |= dict(
            zip(batch.tolist(), (features * weights).sum(axis=1) / weights.sum(axis=1), strict=True)
        )
    return np.stack([means[row] for row in range(n)])


def instructions() -> list[str]:
    """Give what of `INSTRUCTIONS` the processor has, where the system tells."""
    place = Path("/proc/cpuinfo")
    words = place.read_text().split() if place.exists() else []
    return [name for name in INSTRUCTIONS if name in words]


def _by_torch(dtype: str) -> Callable[..., Model]:
    def make(transformer: Transformer, model: Any, scratch: Path, threads: int) -> Model:
        import torch

        module = Transformer(model, "cpu", dtype, 0).module

        def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
            with torch.inference_mode():
                output = module(
                    input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)
                )
                return output.last_hidden_state.float().numpy()

        return run

    return make


def _exported(model: Any, scratch: Path, *, int8: bool = False) -> Path:
    """Write the model as ONNX, with weights in 8 bits where asked for, and give the file."""
    import torch
    from transformers import AutoModel

    whole, small = scratch / "model.onnx", scratch / "model_int8.onnx"
    if not whole.is_file():
        # Attention as plain products: what torch fuses cannot be written down.
        module: Any = AutoModel.from_pretrained(find_model(model), attn_implementation="eager")

        class Features(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.module = module

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                types = torch.zeros_like(input_ids)
                more = {"token_type_ids": types} if _has_types(module) else {}
                return self.module(input_ids, attention_mask=attention_mask, **more)[0]

        axes = {0: "texts", 1: "tokens"}
        names = ["input_ids", "attention_mask"]
        example = torch.ones(2, 7, dtype=torch.long)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Features().float().eval(),
                (example, example),
                str(whole),
                input_names=names,
                output_names=["features"],
                dynamic_axes={name: axes for name in [*names, "features"]},
                opset_version=17,
                dynamo=False,
            )
    if int8 and not small.is_file():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(
            whole,
            small,
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul"],
        )
    return small if int8 else whole


def _has_types(module: Any) -> bool:
    return getattr(module.config, "type_vocab_size", 0) > 0


def _by_onnx(int8: bool) -> Callable[..., Model]:
    def make(transformer: Transformer, model: Any, scratch: Path, threads: int) -> Model:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        place = str(_exported(model, scratch, int8=int8))
        session: Any = onnxruntime.InferenceSession(
            place, options, providers=["CPUExecutionProvider"]
        )
        return lambda ids, mask: session.run(None, {"input_ids": ids, "attention_mask": mask})[0]

    return make


def _by_openvino(precision: str) -> Callable[..., Model]:
    def make(transformer: Transformer, model: Any, scratch: Path, threads: int) -> Model:
        import openvino

        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": precision,
        }
        core = openvino.Core()
        read = core.read_model(str(_exported(model, scratch)))
        compiled: Any = core.compile_model(read, "CPU", settings)
        return lambda ids, mask: compiled([ids, mask])[0]

    return make


class Way(NamedTuple):
    """How a model is made ready, and the packages that it takes beside torch."""

    make: Callable[..., Model]
    packages: tuple[str, ...] = ()


WAYS = {
    REFERENCE: Way(_by_torch("float32")),
    "torch, bfloat16": Way(_by_torch("bfloat16")),
    "ONNX Runtime, float32": Way(_by_onnx(False), ("onnx", "onnxruntime")),
    "ONNX Runtime, int8": Way(_by_onnx(True), ("onnx", "onnxruntime")),
    "OpenVINO, float32": Way(_by_openvino("f32"), ("onnx", "openvino")),
    "OpenVINO, bfloat16": Way(_by_openvino("bf16"), ("onnx", "openvino")),
}
"""What runs the model, by name; the first is what the others are compared with."""


if __name__ == "__main__":
    sys.exit(main())

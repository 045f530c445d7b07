import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import rcmd_memory
from benchmarks.rcmd_memory import (
    FULL,
    POOLING,
    QUICK,
    RIVAL,
    TILES,
    Shape,
    Sizes,
    dense_form,
    dense_need,
    forms,
    free_memory,
    main,
    our_need,
    run,
    seconds_of,
    similarity_part,
    sparse_form,
    sparse_need,
    step_peak,
    step_rows,
    step_time,
)
from benchmarks.support import records
from film.tokens.transport import transport_plan

torch = pytest.importorskip("torch", reason="needs the extra neural")

SMALL = Sizes((3,), 5, 8, 2, 1)


def unit_tokens(texts, length, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(texts, length, 8, generator=g, dtype=torch.float64)
    return torch.nn.functional.normalize(x, dim=-1)


@pytest.mark.parametrize("form", [dense_form, sparse_form])
def test_forms_of_the_paper_are_its_definition_with_a_gradient(form):
    x1, x2 = unit_tokens(3, 5), unit_tokens(4, 5, seed=1)
    expected = [[transport_plan(a.numpy(), b.numpy()).similarity for b in x2] for a in x1]
    np.testing.assert_allclose(form(x1, x2).numpy(), expected, atol=1e-14)
    assert torch.autograd.gradcheck(form, (x1.requires_grad_(), x2.requires_grad_()))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_all_forms_but_pooling_give_the_same_similarities(device):
    ways = forms(device)
    names = {"dense form", RIVAL, "ours", "avg"} | ({TILES} if device == "cuda" else set())
    assert set(ways) == names
    x1, x2 = unit_tokens(3, 5), unit_tokens(4, 5, seed=1)
    found = {name: way.similarities(x1, x2) for name, way in ways.items()}
    means = [torch.nn.functional.normalize(x.mean(1), dim=-1) for x in (x1, x2)]
    torch.testing.assert_close(found.pop("avg"), means[0] @ means[1].T)
    for similarities in found.values():
        torch.testing.assert_close(similarities, found["dense form"])


def test_needs_are_those_of_the_largest_arrays():
    shape = Shape(128, 256, 32, 768)
    assert sparse_need(shape, 4) == 4 * 4 * 128 * 256 * 32 * 768
    assert dense_need(shape, 2) == 2 * 2 * 128 * 256 * 32 * 32 * 768
    # Table 3 has 25.8 GB for 4 bytes and fewer: the whole of training in half precision.
    assert 6.4e9 < sparse_need(shape, 2) < 25.8e9
    tokens = 384 * 32 * 768
    assert our_need(shape, 4) == 12 * tokens + 2 * 128 * 256 * 32


@pytest.mark.parametrize("form", ["dense form", RIVAL])
def test_a_case_in_its_own_process_grows_by_what_it_needs(form):
    # Arrays of more than 32 MiB go back to the system as soon as they are freed.
    shape = Shape(8, 16, 32, 72) if form == "dense form" else Shape(16, 32, 32, 544)
    found = run(part="similarity", form=form, shape=shape, device="cpu", turns=1)
    need = forms("cpu")[form].needed(shape, 4) / 1e6
    assert need > 60
    assert 0.9 < found["peak"] / need < 1.5
    assert found["seconds"] > 0


def test_a_case_that_ends_badly_is_an_error_with_its_reason():
    with pytest.raises(RuntimeError, match=r"'part': 'nothing'.* ended with 1:(.|\n)*KeyError"):
        run(part="nothing", device="cpu")


def test_a_case_that_needs_more_than_there_is_does_not_run(monkeypatch):
    shape = [3, 6, 5, 8]
    need = sparse_need(Shape(*shape), 4)
    monkeypatch.setattr(rcmd_memory, "SPARE", 10)
    ran = []

    def peak_of(work, device):
        ran.append(work())
        return 7.0

    monkeypatch.setattr(rcmd_memory, "peak_of", peak_of)
    monkeypatch.setattr(rcmd_memory, "free_memory", lambda _: need + 9)
    found = similarity_part(RIVAL, shape, "cpu", 1)
    assert found == {"needed": round(need / 1e6)} and not ran
    monkeypatch.setattr(rcmd_memory, "free_memory", lambda _: need + 10)
    monkeypatch.setattr(rcmd_memory, "seconds_of", lambda *_: next(seconds))
    seconds = iter([5.0, 1.0, 2.0])
    assert similarity_part(RIVAL, shape, "cpu", 3) == {"peak": 7.0, "seconds": 2.0}
    assert len(ran) == 1


def test_a_form_is_run_forward_and_backward_on_unit_tokens(monkeypatch):
    asked, grown = [], []

    def similarities(x1, x2):
        asked.append((x1, x2))
        x1.register_hook(lambda d: grown.append(d.shape))
        return rcmd_memory.allpairs_similarity(x1, x2)

    stand_in = rcmd_memory.Form(similarities, lambda *_: 0)
    monkeypatch.setattr(rcmd_memory, "forms", lambda _: {"some": stand_in})
    similarity_part("some", [3, 6, 5, 20], "cpu", 1)
    # A small call first, which starts threads; then for memory, and once a turn.
    assert [tuple(x1.shape) for x1, _ in asked] == [(2, 5, 8), (3, 5, 20), (3, 5, 20)]
    assert [tuple(shape) for shape in grown] == [tuple(x1.shape) for x1, _ in asked]
    x1, x2 = asked[1]
    assert x2.shape == (6, 5, 20) and x1.dtype == x2.dtype == torch.float32
    for x in (x1, x2):
        torch.testing.assert_close(x.norm(dim=-1), torch.ones(x.shape[:2]))


PEAKS = """
import numpy as np
from benchmarks.rcmd_memory import peak_of

held = []

def grow(megabytes):
    held.append(np.ones(megabytes * 125_000).sum())

print(peak_of(lambda: grow(80), "cpu"), peak_of(lambda: grow(1), "cpu"))
"""


def test_peaks_are_of_the_call_alone():
    # In a process of its own: the system takes idle pages from one that has run other tests.
    done = subprocess.run(
        [sys.executable, "-c", PEAKS],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    large, small = map(float, done.stdout.split())
    # Some pages of it may be those of another array that is gone.
    assert 70 <= large < 90
    # The peak before does not count.
    assert small < 20


def test_a_peak_is_not_below_its_start(monkeypatch):
    found = {"VmRSS": 7_000_000, "VmHWM": 6_900_000}
    monkeypatch.setattr(rcmd_memory, "_proc", lambda path, name: found[name])
    assert rcmd_memory.peak_of(lambda: None, "cpu") == 0
    found["VmHWM"] = 9_500_000
    assert rcmd_memory.peak_of(lambda: None, "cpu") == 2.5


def test_free_memory_is_some_of_the_machines():
    free = free_memory("cpu")
    assert 0 < free <= rcmd_memory._proc("/proc/meminfo", "MemTotal")


def test_memory_is_in_bytes(tmp_path):
    path = tmp_path / "status"
    path.write_text("VmHWMore:\t7 kB\nVmHWM:\t  12 kB\nVmRSS:\t5 kB\n", encoding="ascii")
    assert rcmd_memory._proc(path, "VmHWM") == 12 * 1024


def test_seconds_are_those_of_the_call(monkeypatch):
    clock = iter([10.0, 12.5])
    monkeypatch.setattr(rcmd_memory.time, "perf_counter", lambda: next(clock))
    ran = []
    assert seconds_of(lambda: ran.append(1), "cpu") == 2.5 and ran == [1]


@pytest.mark.parametrize("method", ["rcmd", "avg"])
def test_a_step_trains_the_whole_model_on_the_batch(method, tiny_model, monkeypatch):
    losses, seen = [], []
    honest, compare = rcmd_memory.contrastive_loss, rcmd_memory.allpairs_similarity

    def loss_of(similarity, temperature):
        losses.append((tuple(similarity.shape), temperature, honest(similarity, temperature)))
        return losses[-1][-1]

    def all_pairs(x1, x2, method):
        assert x2.data_ptr() == x1.data_ptr() + 4 * x1.numel()
        seen.append((tuple(x1.shape), tuple(x2.shape), method))
        return compare(x1, x2, method=method)

    monkeypatch.setattr(rcmd_memory, "contrastive_loss", loss_of)
    monkeypatch.setattr(rcmd_memory, "allpairs_similarity", all_pairs)
    step = rcmd_memory.Step(str(tiny_model), "cpu", 4, 6)
    assert step.module.training and step.ids.shape == (12, 6)
    before = [p.detach().clone() for p in step.module.parameters()]
    for module in step.module.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for _ in range(5):
        step(method)
    assert seen == 5 * [((4, 6, 32), (8, 6, 32), method)]
    assert {loss[:2] for loss in losses} == {((4, 8), 0.05)}
    assert losses[-1][2] < losses[0][2]
    changed = [
        not torch.equal(p, old) for p, old in zip(step.module.parameters(), before, strict=True)
    ]
    # Not the pooler, which takes no part.
    assert sum(changed) >= len(changed) - 2
    # Gradients are those of one step.
    step.optimiser.param_groups[0]["lr"] = 0.0
    word = step.module.get_input_embeddings().weight
    step(method)
    first = word.grad.clone()
    step(method)
    torch.testing.assert_close(word.grad, first)


def test_steps_take_turns_and_the_first_does_not_count(monkeypatch):
    asked = []
    seconds = iter([100.0, 1.0, 3.0, 1.0, 2.0, 2.0, 8.0, 2.0])
    monkeypatch.setattr(rcmd_memory, "Step", lambda *given: asked.append)

    def seconds_of(work, device):
        work()
        return next(seconds)

    monkeypatch.setattr(rcmd_memory, "seconds_of", seconds_of)
    found = step_time(None, "cpu", 4, 6, 3)
    assert asked == 4 * ["rcmd", "avg"]
    # Of the ratios 3, 1 and 4 the median, which is not that of the medians.
    assert found == {"rcmd": 3.0, "avg": 2.0, "ratio": 3.0}


def test_the_peak_of_a_step_holds_the_model(monkeypatch):
    asked = []

    def peak_of(work, device):
        assert asked == []
        work()
        return 5.0

    monkeypatch.setattr(rcmd_memory, "peak_of", peak_of)
    made = SimpleNamespace(of=None)

    def step_of(*given):
        made.of = given
        return asked.append

    monkeypatch.setattr(rcmd_memory, "Step", step_of)
    assert step_peak("m", "cpu", 4, 6, 2, "avg") == {"peak": 5.0}
    assert made.of == ("m", "cpu", 4, 6) and asked == ["avg", "avg"]


def stand_in_of(found, asked):
    def run(part, **case):
        asked.append({"part": part} | case)
        return found[case.get("form") or case.get("method") or part]

    return run


MEASURED = {
    "dense form": {"needed": 90},
    RIVAL: {"peak": 60.0, "seconds": 3.0},
    "ours": {"peak": 2.0, "seconds": 0.5},
    "avg": {"peak": 1.0, "seconds": 0.1},
    TILES: {"peak": 4.0, "seconds": 3.5},
    "step_time": {"rcmd": 1.5, "avg": 1.0, "ratio": 1.25},
    "rcmd": {"peak": 300.0},
}


def rows_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    keys = ("value", "unit", "rival", "rival_value")
    return {(row["case"], row["metric"]): tuple(row[key] for key in keys) for row in rows}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_rows_stand_beside_the_sparse_form_and_mean_pooling(device, tmp_path, monkeypatch):
    asked = []
    honest = stand_in_of(MEASURED, asked)

    def run(part, **case):
        found = honest(part, **case)
        return {"peak": 200.0} if part == "step_peak" and case["method"] == "avg" else found

    monkeypatch.setattr(rcmd_memory, "run", run)
    monkeypatch.setattr(rcmd_memory, "FULL", SMALL)
    monkeypatch.setattr(rcmd_memory, "place_of", lambda device: f"a {device}")
    assert main(["--out", str(tmp_path), "--device", device, "--model", "some/model"]) == 0
    rows = rows_of(tmp_path / "rcmd_memory.jsonl")
    title = f"a {device}: 3 x 6 texts, 5 tokens, width 8, "
    step = f"a {device}: step of model, 2 x 3 texts, 5 tokens"
    expected = {
        (title + "dense form", "needed"): (90, "MB, not run", None, None),
        (title + RIVAL, "peak"): (60.0, "MB", None, None),
        (title + RIVAL, "seconds"): (3.0, "s", None, None),
        (title + "ours", "peak"): (2.0, "MB", RIVAL, 60.0),
        (title + "ours", "seconds"): (0.5, "s", RIVAL, 3.0),
        (title + "ours", "times_smaller"): (30.0, "x", RIVAL, None),
        (title + "ours", "times_as_fast"): (6.0, "x", RIVAL, None),
        (title + "avg", "peak"): (1.0, "MB", RIVAL, 60.0),
        (title + "avg", "seconds"): (0.1, "s", RIVAL, 3.0),
        (title + "avg", "times_smaller"): (60.0, "x", RIVAL, None),
        (title + "avg", "times_as_fast"): (30.0, "x", RIVAL, None),
        (step, "seconds"): (1.5, "s", POOLING, 1.0),
        (step, "time_ratio"): (1.25, "x", POOLING, None),
        (step, "peak"): (300.0, "MB", POOLING, 200.0),
        (step, "peak_ratio"): (1.5, "x", POOLING, None),
    }
    if device == "cuda":
        expected |= {
            (title + TILES, "peak"): (4.0, "MB", RIVAL, 60.0),
            (title + TILES, "seconds"): (3.5, "s", RIVAL, 3.0),
            (title + TILES, "times_smaller"): (15.0, "x", RIVAL, None),
            (title + TILES, "times_as_fast"): (0.8571, "x", RIVAL, None),
            (title + "ours", "kernel_times_as_fast"): (7.0, "x", TILES, None),
        }
    assert rows == expected
    assert {case["device"] for case in asked} == {device}
    parts = [case for case in asked if case["part"] == "similarity"]
    assert {(case["form"], case["shape"], case["turns"]) for case in parts} == {
        (name, (3, 6, 5, 8), 1) for name in forms(device)
    }
    steps = {case["part"] for case in asked if case.get("model") == "some/model"}
    assert steps == {"step_time", "step_peak"}


def test_a_rival_that_did_not_run_stands_beside_nothing(monkeypatch):
    found = MEASURED | {RIVAL: {"needed": 7}}
    monkeypatch.setattr(rcmd_memory, "run", stand_in_of(found, []))
    rows = list(rcmd_memory.similarity_rows(SMALL, "cpu"))
    ours = [row for row in rows if row[0].endswith(", ours")]
    assert [row[1:] for row in ours] == [
        ("peak", 2.0, "MB", None, None),
        ("seconds", 0.5, "s", None, None),
    ]


def test_the_packaged_model_is_minilm(monkeypatch):
    found = MEASURED | {"avg": {"peak": 1.0}}
    monkeypatch.setattr(rcmd_memory, "run", stand_in_of(found, []))
    assert {row[0] for row in step_rows(SMALL, "cpu", None)} == {
        "step of MiniLM, 2 x 3 texts, 5 tokens"
    }


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_run_is_small_and_records_only_where_out_says_so(quick, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    seen = []

    def part(sizes, *_):
        seen.append(sizes)
        return [("title", "seconds", 2.0, "s", "rival", 3.0)]

    monkeypatch.setattr(rcmd_memory, "similarity_rows", part)
    monkeypatch.setattr(rcmd_memory, "step_rows", part)
    assert main(["--quick"] if quick else []) == 0
    assert seen == 2 * [QUICK if quick else FULL]
    assert (tmp_path / "results").exists() is not quick


def test_the_full_run_is_that_of_the_issue():
    assert FULL[:4] == ((16, 32, 64, 128, 256, 512, 1024), 32, 768, 128)


def test_a_case_prints_what_it_measured(capsys, monkeypatch):
    monkeypatch.setattr(rcmd_memory, "measure", lambda **case: {"asked": case["part"]})
    assert main(["--case", '{"part": "some"}']) == 0
    assert json.loads(capsys.readouterr().out) == {"asked": "some"}


def test_parts_are_called_by_name(monkeypatch, tiny_model):
    case = {"model": str(tiny_model), "device": "cpu", "batch": 2, "length": 4, "turns": 1}
    found = rcmd_memory.measure(part="step_time", **case)
    assert set(found) == {"rcmd", "avg", "ratio"} and min(found.values()) > 0
    assert rcmd_memory.measure(part="step_peak", method="avg", **case)["peak"] >= 0
    shape = [2, 4, 3, 8]
    found = rcmd_memory.measure(part="similarity", form="ours", shape=shape, device="cpu", turns=1)
    assert set(found) == {"peak", "seconds"}

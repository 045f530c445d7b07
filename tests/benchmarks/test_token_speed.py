import json

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from benchmarks import token_speed
from benchmarks.support import records
from benchmarks.token_speed import (
    POT,
    TRANSFORMERS,
    PlainLoop,
    Sizes,
    encoding_rows,
    exact_rows,
    exact_tokens,
    in_turns,
    loop_over_pot,
    main,
    read,
    stage_rows,
    texts_of_words,
)
from estimators import TokenEncoder
from film.tokens.ragged import Ragged

SMALL = Sizes(3, (8, 16), (4,), 6, 70, 2)
PAIRS = np.array(
    [
        ["how do i learn chess?", "what is best way to learn chess"],
        ["what is age of earth", "how old is the earth?"],
        ["a cat sat on the mat", "the dog runs well"],
        ["how do i learn chess?", "a cat sat on the mat"],
        ["how do i play chess well?", "what is best way to play chess?"],
        ["is the cat old", "what is the age of the old dog?"],
        ["a dog sat on a mat, a cat sat on a mat!", "mat"],
    ],
    dtype=object,
)


@pytest.fixture
def one_process(monkeypatch):
    """Calls of CMD and of the end of workers, in order; no process is started."""
    calls = []
    honest = token_speed.ragged_similarities

    def spy(tokens1, tokens2, method, n_jobs=1, **rest):
        if method == "cmd":
            calls.append(n_jobs)
        return honest(tokens1, tokens2, method, **rest)

    monkeypatch.setattr(token_speed, "ragged_similarities", spy)
    monkeypatch.setattr(token_speed, "_stop_workers", lambda: calls.append("stop"))
    return calls


@pytest.fixture
def fixed_times(monkeypatch):
    """Runs every way once, and says that it took the seconds given by its name."""

    def fix(**seconds):
        def stand_in(ways, turns, before=None, within=np.inf):
            values = {name: way() for name, way in ways.items()}
            return {name: np.array(seconds[name.split(",")[0]]) for name in ways}, values

        monkeypatch.setattr(token_speed, "in_turns", stand_in)

    return fix


def rows_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return {(row["case"], row["metric"]): row for row in map(json.loads, lines)}


def values_of(rows):
    return {title: {figure.metric: figure for figure in figures} for title, figures in rows}


@pytest.mark.parametrize("given", [True, False])
def test_a_folder_without_the_file_exits_with_2(given, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FILM_DATA", str(tmp_path))
    assert main(["--data", str(tmp_path)] if given else []) == 2
    named = tmp_path if given else tmp_path / "quora"
    said = capsys.readouterr().err
    assert said.startswith(f"benchmarks.token_speed: {named} holds no train.csv; give --data")


def test_questions_are_the_folders_or_generated(tmp_path, monkeypatch):
    (tmp_path / "quora").mkdir()
    text = "question1,question2,is_duplicate\na b,c d,1\nc d,e f,0\n"
    (tmp_path / "quora" / "train.csv").write_text(text, encoding="utf-8")
    monkeypatch.setenv("FILM_DATA", str(tmp_path))
    for folder in (None, str(tmp_path / "quora")):
        name, pairs = read(folder)
        assert (name, pairs.tolist()) == ("quora", [["a b", "c d"], ["c d", "e f"]])
    monkeypatch.delenv("FILM_DATA")
    monkeypatch.setattr(token_speed, "GENERATED", 30)
    name, pairs = read(None)
    assert (name, pairs.shape) == ("generated", (30, 2))


def test_quick_run_records_each_part_beside_its_rival(
    tiny_model, one_process, tmp_path, monkeypatch
):
    import torch

    monkeypatch.delenv("FILM_DATA", raising=False)
    monkeypatch.setattr(token_speed, "GENERATED", 80)
    monkeypatch.setattr(token_speed, "QUICK", SMALL)
    assert main(["--quick", "--model", str(tiny_model), "--out", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["token_speed.jsonl"]
    found = rows_of(tmp_path / "token_speed.jsonl")
    name = f"tiny, generated, {torch.get_num_threads()} torch threads: "
    stage = ("encoding_seconds", "rcmd_seconds", "rcmd_percent")
    stage += ("matching_seconds", "matching_percent")
    expected = {
        (f"{name}3 pairs, {length} tokens, 4 texts a batch", metric): (
            "encoding" if metric in ("rcmd_seconds", "matching_seconds") else None
        )
        for length in (8, 16)
        for metric in stage
    }
    for way in ("n_jobs=1", "n_jobs=2, cold", "n_jobs=2, warm"):
        for metric in ("seconds", "times_as_fast", "largest_difference"):
            expected[f"{name}CMD of 6 pairs, {way}", metric] = POT
    for kind in ("different questions", "questions with repeats as in the file"):
        for metric in ("sentences_a_second", "times_as_fast", "largest_difference"):
            expected[f"{name}encoding 70 {kind}", metric] = TRANSFORMERS
    assert {key: row["rival"] for key, row in found.items()} == expected
    for (_, metric), row in found.items():
        assert np.isfinite(row["value"])
        if metric == "largest_difference":
            assert 0 <= row["value"] < 1e-5
        else:
            assert row["value"] > 0
        beside = metric in ("rcmd_seconds", "matching_seconds", "seconds", "sentences_a_second")
        assert (row["rival_value"] is not None) is beside
    assert one_process == [*(2 * ["stop", 1, 2, 2]), "stop"]


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_run_records_only_where_out_says_so(quick, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(token_speed, "read", lambda _: ("generated", PAIRS))
    seen = []

    def part(pairs, model, sizes):
        seen.append(sizes)
        yield "title", [token_speed.Figure("seconds", 2.0, "s", "rival", 3.0)]

    for name in token_speed.PARTS:
        monkeypatch.setitem(token_speed.PARTS, name, part)
    assert main(["--quick"] if quick else []) == 0
    assert seen == 3 * [token_speed.QUICK if quick else token_speed.FULL]
    shown = capsys.readouterr().out
    assert shown.startswith("all-MiniLM-L6-v2, generated, ")
    assert "title: seconds 2 s (rival: 3)" in shown
    assert (tmp_path / "results").exists() is not quick
    assert main(["--quick", "--only", "exact"]) == 0
    assert len(seen) == 4


def test_ways_take_turns(monkeypatch):
    clock = {"now": 0.0}
    ran = []

    def way(name, seconds):
        def run():
            clock["now"] += seconds
            ran.append(name)
            return len(ran)

        return run

    def before():
        # Not part of any way's time.
        clock["now"] += 100
        ran.append("before")

    monkeypatch.setattr(token_speed.time, "perf_counter", lambda: clock["now"])
    seconds, values = in_turns({"a": way("a", 1.0), "b": way("b", 2.0)}, 2, before)
    assert ran == ["before", "a", "b"] * 2
    assert {name: spent.tolist() for name, spent in seconds.items()} == {
        "a": [1.0, 1.0],
        "b": [2.0, 2.0],
    }
    assert values == {"a": 5, "b": 6}
    # A turn takes 3 seconds.
    for within, turns in ((0.0, 1), (5.9, 1), (6.0, 2), (30.0, 4)):
        seconds, _ = in_turns({"a": way("a", 1.0), "b": way("b", 2.0)}, 4, within=within)
        assert len(seconds["a"]) == len(seconds["b"]) == turns


def test_stages_are_in_percent_of_the_encoding_of_their_turn(tiny_model, fixed_times):
    fixed_times(encoding=[1.0, 10.0, 4.0], rcmd=[0.1, 0.1, 0.1], matching=[0.01, 0.05, 0.2])
    rows = values_of(stage_rows(PAIRS, str(tiny_model), SMALL._replace(lengths=(8,))))
    (figures,) = rows.values()
    assert {name: figure.value for name, figure in figures.items()} == {
        "encoding_seconds": 4.0,
        "rcmd_seconds": 0.1,
        "rcmd_percent": 2.5,
        "matching_seconds": 0.05,
        "matching_percent": 1.0,
    }
    assert figures["rcmd_seconds"].rival_value == figures["matching_seconds"].rival_value == 4.0


def test_stages_get_the_texts_that_are_encoded_and_batches_are_exact(tiny_model, monkeypatch):
    from transformers import BertModel

    shapes, asked = [], []
    forward = BertModel.forward

    def spy_on_model(self, input_ids=None, **rest):
        shapes.append(tuple(input_ids.shape))
        return forward(self, input_ids=input_ids, **rest)

    def spy_of(stage):
        return lambda *arguments: asked.append((stage, *arguments))

    monkeypatch.setattr(BertModel, "forward", spy_on_model)
    monkeypatch.setattr(token_speed, "ragged_similarities", spy_of("transport"))
    monkeypatch.setattr(token_speed, "ragged_matching", spy_of("matching"))
    sizes = SMALL._replace(lengths=(16,), batches=(2, 4), turns=1)
    titles = list(values_of(stage_rows(PAIRS, str(tiny_model), sizes)))
    assert titles == [f"3 pairs, 16 tokens, {batch} texts a batch" for batch in (2, 4)]
    # All texts at once, and then in the batches asked for.
    found = [shape for shape in shapes if shape[1] == 16]
    assert found == [(6, 16), (2, 16), (2, 16), (2, 16), (4, 16), (2, 16)]
    texts = texts_of_words(list(dict.fromkeys(PAIRS.ravel())), 16, 6)
    with pytest.warns(UserWarning, match="max_length=16 cut"):
        tokens = TokenEncoder(tiny_model, max_length=16).fit_transform(texts)
    # Once before the clock runs, and once a batch size.
    assert [(stage, *method) for stage, _, _, *method in asked] == 3 * [
        ("transport", "rcmd"),
        ("matching",),
    ]
    for _, first, second, *_ in asked:
        np.testing.assert_allclose(first.values, tokens[:3].values, atol=1e-5)
        np.testing.assert_allclose(second.values, tokens[3:].values, atol=1e-5)
        assert set(first.lengths) == set(second.lengths) == {16}


def test_a_batch_that_cannot_be_exact_is_an_error():
    assert token_speed._batch_size(4, 8) == 1 and token_speed._batch_size(128, 48) == 192
    with pytest.raises(ValueError, match="3 texts of 8 tokens are no multiple of 32"):
        token_speed._batch_size(3, 8)


def test_texts_are_different_starts_of_questions_that_follow_each_other():
    questions = ["a b c d", "e", "a b c x", "f g"]
    assert texts_of_words(questions, 3, 3) == ["a b c", "e a b", "f g a"]
    assert texts_of_words(questions, 6, 2) == ["a b c d e a", "e a b c x f"]
    with pytest.raises(ValueError, match="4 questions give 3 texts of 3 words, fewer than 4"):
        texts_of_words(questions, 3, 4)


def test_texts_that_stay_short_are_an_error(tiny_model):
    texts = ["a b the how do i learn chess", "a b"]
    assert set(exact_tokens(texts[:1], str(tiny_model), 8).lengths) == {8}
    with pytest.raises(ValueError, match="1 of 2 texts have fewer than 8 tokens"):
        exact_tokens(texts, str(tiny_model), 8)


def test_the_loop_over_pot_gives_optimal_transport():
    rng = np.random.default_rng(0)
    tokens = Ragged.from_rows([rng.normal(size=(4, 5)) for _ in range(6)])
    pairs = np.array([[0, 1], [2, 3], [5, 4], [1, 1]])
    expected = []
    for i, j in pairs:
        x1, x2 = (tokens[k] / np.linalg.norm(tokens[k], axis=1)[:, None] for k in (i, j))
        # Equal masses move whole.
        rows, columns = linear_sum_assignment(-(x1 @ x2.T))
        expected.append((x1 @ x2.T)[rows, columns].mean())
    np.testing.assert_allclose(loop_over_pot(tokens, pairs), expected, atol=1e-12)


def test_the_loop_over_pot_takes_texts_of_different_lengths():
    tokens = Ragged.from_rows([np.eye(2), np.array([[3.0, 0.0]])])
    assert loop_over_pot(tokens, np.array([[0, 1]])).tolist() == [0.5]


def test_exact_transport_is_compared_turn_by_turn(tiny_model, fixed_times, monkeypatch):
    fixed_times(**{POT: [2.0, 6.0, 3.0], "n_jobs=1": [1.0, 1.0, 3.0], "n_jobs=2": [4.0, 4.0, 4.0]})
    honest = token_speed.ragged_similarities

    looped = []
    loop = token_speed.loop_over_pot

    def counted(tokens, pairs):
        looped.append(len(pairs))
        return loop(tokens, pairs)

    def shifted(*tokens, pairs, n_jobs):
        # POT's values lie between, so that the greatest distance is that of a sign.
        found = honest(*tokens, pairs=pairs)
        found[[0, 1]] += (0.01, -0.25)
        return found

    monkeypatch.setattr(token_speed, "ragged_similarities", shifted)
    monkeypatch.setattr(token_speed, "loop_over_pot", counted)
    monkeypatch.setattr(token_speed, "_stop_workers", lambda: None)
    rows = values_of(exact_rows(PAIRS, str(tiny_model), SMALL))
    # POT is imported before the clock runs.
    assert looped == [1, 6]
    one = rows["CMD of 6 pairs, n_jobs=1"]
    assert one["seconds"][1:] == (1.0, "s", POT, 3.0)
    assert one["times_as_fast"].value == 2.0
    assert rows["CMD of 6 pairs, n_jobs=2, warm"]["times_as_fast"].value == 0.75
    assert one["largest_difference"].value == pytest.approx(0.25, abs=1e-5)


def test_the_plain_loop_gives_the_vectors_of_the_encoder(tiny_model):
    # More than two batches of ragged lengths, and one text past the limit.
    texts = [" ".join(["cat sat", "the"][i % 2] for _ in range(1 + i % 7)) for i in range(70)]
    texts[40] = "dog " * 200
    with pytest.warns(UserWarning, match="max_length=128 cut 1"):
        tokens = TokenEncoder(tiny_model).fit_transform(texts)
    np.testing.assert_allclose(PlainLoop(str(tiny_model))(texts), tokens.values, atol=1e-5)


def test_the_plain_loop_keeps_the_order_of_the_file_in_batches_of_32(tiny_model):
    plain, shapes = PlainLoop(str(tiny_model)), []

    def spy(module, _, keywords):
        shapes.append(tuple(keywords["input_ids"].shape))

    plain.module.register_forward_pre_hook(spy, with_kwargs=True)
    plain(["a"] * 31 + ["a cat sat on the mat"] + ["a"] * 3)
    assert shapes == [(32, 8), (3, 3)]


def test_encoders_get_different_questions_and_those_of_the_file(
    tiny_model, fixed_times, monkeypatch
):
    fixed_times(plain=[2.0, 4.0, 9.0], ours=[1.0, 1.0, 9.0])
    asked = []
    honest = PlainLoop.__call__

    def spy(self, texts):
        asked.append(texts)
        found = honest(self, texts)
        found[-1, -1] += 0.5
        return found

    monkeypatch.setattr(PlainLoop, "__call__", spy)
    sizes = SMALL._replace(questions=9)
    rows = values_of(encoding_rows(PAIRS, str(tiny_model), sizes))
    in_file = PAIRS.ravel().tolist()
    # Once before the clock runs, of all lengths, and once.
    assert len(set(map(len, asked[0]))) > 5
    assert asked[1] == [*in_file[:6], *in_file[8:11]] and asked[3] == in_file[:9]
    assert len(asked) == 4 and len(set(asked[1])) == 9 > len(set(asked[3]))
    assert list(rows) == [
        "encoding 9 different questions",
        "encoding 9 questions with repeats as in the file",
    ]
    for figures in rows.values():
        # 9 questions in 1 s, beside 9 in 4 s; of the ratios 2, 4 and 1 the median.
        assert figures["sentences_a_second"][1:] == (9.0, "1/s", TRANSFORMERS, 2.25)
        assert figures["times_as_fast"].value == 2.0
        assert figures["largest_difference"].value == pytest.approx(0.5, abs=1e-5)

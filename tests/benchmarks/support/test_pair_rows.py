"""What is kept per pair comes back, and takes the place of what was kept before."""

import json

import numpy as np
import pytest

from benchmarks.compare import main
from benchmarks.support.pair_rows import parts_of_rows, read_pair_rows, record_pairs

PAIRS = [(f"text {number}", f"other {number // 2 * 2}") for number in range(40)]
LABELS = np.tile([0, 1, 1, 0], 10)
RNG = np.random.default_rng(0)
P = np.clip(0.5 + 0.3 * (LABELS - 0.5) + RNG.normal(scale=0.2, size=40), 0.001, 0.999)


def test_probabilities_come_back_to_three_digits_of_their_odds(tmp_path):
    p = np.append(P[:-2], [0.0, 1.0])
    record_pairs("b", "row", PAIRS, LABELS, p, share=0.4, folder=tmp_path)
    row = read_pair_rows("b", tmp_path)["row"]
    assert row.share == 0.4 and row.on.binary and np.array_equal(row.on.labels, LABELS)
    found = row.values[None]
    odds = [np.log(values[:-2] / (1 - values[:-2])) for values in (found, p)]
    # float16 rounds by at most half a unit of the eleventh digit.
    assert np.allclose(*odds, rtol=2**-11, atol=1e-7)
    assert found[-2:] == pytest.approx([0, 1], abs=2e-7)
    assert row.on.groups.tolist() == np.repeat(np.arange(20), 2).tolist()


def test_ranks_of_scores_come_back_whole(tmp_path):
    scores = np.round(1e9 * RNG.normal(size=40), -8)
    record_pairs("b", "row", PAIRS, np.arange(40) / 8, scores, folder=tmp_path)
    row = read_pair_rows("b", tmp_path)["row"]
    assert row.share is None and not row.on.binary
    assert np.array_equal(row.on.labels, np.arange(40) / 8)
    assert np.array_equal(np.unique(scores)[row.values[None].astype(int)], scores)


def test_a_row_replaces_itself_and_seeds_stand_beside_each_other(tmp_path):
    for seed, values in ((0, P), (1, P**2), (0, P**3)):
        record_pairs("b", "row", PAIRS, LABELS, values, share=0.4, seed=seed, folder=tmp_path)
    record_pairs("b", "other", PAIRS, LABELS, P, folder=tmp_path)
    rows = read_pair_rows("b", tmp_path)
    assert list(rows) == ["row", "other"] and rows["row"].on.name == rows["other"].on.name
    assert set(rows["row"].values) == {0, 1}
    assert rows["row"].values[0] == pytest.approx(P**3, abs=1e-3)
    lines = (tmp_path / "pairs" / "b.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum("set" in json.loads(line) for line in lines) == 1 and len(lines) == 4
    # Two bytes a pair in base64, beside a few words.
    assert len(lines[-1]) < 4 / 3 * 2 * len(PAIRS) + 150


def test_what_cannot_be_kept_is_refused_and_nothing_written(tmp_path):
    with pytest.raises(ValueError, match=r"values\[3\] is nan"):
        record_pairs("b", "r", PAIRS, LABELS, np.where(np.arange(40) == 3, np.nan, P))
    with pytest.raises(ValueError, match="give one of each per pair"):
        record_pairs("b", "r", PAIRS, LABELS, P[:-1], folder=tmp_path)
    assert not list(tmp_path.iterdir()) and read_pair_rows("b", tmp_path) == {}


def test_the_command_says_whether_a_difference_stands(tmp_path, capsys):
    record_pairs("b", "quora: good row", PAIRS, LABELS, LABELS, folder=tmp_path)
    record_pairs("b", "quora: poor row", PAIRS, LABELS, -LABELS, folder=tmp_path)
    record_pairs("b", "quora: poorer row", PAIRS, LABELS, -LABELS, folder=tmp_path)
    where = ["--out", str(tmp_path), "--draws", "100"]
    assert main(["b", "good", "quora: poor row", *where]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == "roc_auc: A 1, B 0, A - B +1.00000 [+1.00000, +1.00000]: stands"
    assert "40 pairs in 20 groups" in told[-2]
    assert main(["b", "quora: poor row", "poorer", *where]) == 0
    assert "does not stand" in capsys.readouterr().out
    assert main(["b", *where]) == 0
    assert capsys.readouterr().out.count("40 pairs") == 3


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["good", "poor"], "'poor' is part of 2 rows"),
        (["good", "fine"], "'fine' is part of 0 rows"),
        (["good"], "name two"),
    ],
)
def test_rows_that_are_not_there_are_named(tmp_path, capsys, rows, said):
    for case in ("good", "my poor", "poorer"):
        record_pairs("b", case, PAIRS, LABELS, P, folder=tmp_path)
    assert main(["b", *rows, "--out", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_rows_on_several_sets_are_compared_on_each_and_by_the_mean(tmp_path, capsys):
    scores = np.arange(40) / 8
    for part, start in (("STS12", 0), ("SICK", 10)):
        told = {"part": part, "folder": tmp_path}
        record_pairs("b", "good row", PAIRS[start:], scores[start:], scores[start:], **told)
        record_pairs("b", "poor row", PAIRS[start:], scores[start:], -scores[start:], **told)
    record_pairs("b", "poor row", PAIRS, LABELS, P, part="Quora dev", folder=tmp_path)
    record_pairs("b", "elsewhere", PAIRS, LABELS, P, folder=tmp_path)
    rows = parts_of_rows(read_pair_rows("b", tmp_path))
    assert {case: set(parts) for case, parts in rows.items()} == {
        "good row": {"STS12", "SICK"},
        "poor row": {"STS12", "SICK", "Quora dev"},
        "elsewhere": {""},
    }
    where = ["--out", str(tmp_path), "--draws", "100"]
    assert main(["b", "good", "poor", *where]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["A: good row", "B: poor row"]
    assert [line.partition(" pairs")[0] for line in told[2::2]] == [
        "SICK: 30",
        "STS12: 40",
        "mean over 2 sets, of what several have",
    ]
    alike = "spearman: A 100, B -100, A - B +200.00000 [+200.00000, +200.00000]: stands"
    assert told[3::2] == [alike] * 3
    assert main(["b", *where]) == 0
    assert "good row  (70 pairs of 2 sets)" in capsys.readouterr().out
    assert main(["b", "good", "elsewhere", *where]) == 2
    assert "no set of pairs in common" in capsys.readouterr().err


def test_a_benchmark_that_kept_nothing_is_named(tmp_path, capsys):
    assert main(["nothing", "a", "b", "--out", str(tmp_path)]) == 2
    assert "no pairs of 'nothing' were kept" in capsys.readouterr().err

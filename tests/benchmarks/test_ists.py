import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from benchmarks import ists
from benchmarks.ists import RCMD, SOURCES, VECTORS, alignments, main
from benchmarks.support import records
from benchmarks.support.significance import F1_DIFFERENCE
from film.tokens import AlignedPair, Alignment
from film.tokens.alignment_score import link_weights, score_alignments
from film.tokens.ragged import Ragged
from tests.film.datasets.wa_files import write_wa

METHODS = ("AVG", "dense (all cosines)", RCMD, "RCMD + AVG", "CMD", "matching", *VECTORS)
GOLD = (
    AlignedPair(
        "1",
        ("the", "cat", "sat", "well"),
        ("a", "cat", "dog", "!"),
        ((0, 1), (2, 3)),
        ((0, 1), (2,), (3,)),
        (
            Alignment((0, 1), (0, 1), "EQUI", 5.0),
            Alignment((2, 3), (2,), "REL", 2.0),
        ),
    ),
    AlignedPair(
        "2",
        ("old", "earth"),
        ("the", "earth", "sat"),
        ((0,), (1,)),
        ((0, 1), (2,)),
        (Alignment((1,), (0, 1), "SPE2", 4.0), Alignment((0,), (), "NOALI", None)),
    ),
)


def put_sources(folder, n_pairs=2, sources=SOURCES):
    for source in sources:
        stem = folder / f"STSint.input.{source}"
        gold = [replace(GOLD[i % 2], id=str(i)) for i in range(n_pairs)]
        write_wa(f"{stem}.wa", gold)
        for side in (1, 2):
            lines = []
            for pair in gold:
                words, chunks = getattr(pair, f"words{side}"), getattr(pair, f"chunks{side}")
                lines.append(" ".join(f"[ {' '.join(words[i] for i in c)} ]" for c in chunks))
            (folder / f"STSint.input.{source}.sent{side}.chunk.txt").write_text("\n".join(lines))


def rows_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return {(row["case"], row["metric"]): row for row in map(json.loads, lines)}


@pytest.mark.parametrize("given", [True, False])
def test_a_folder_without_a_source_exits_with_2(given, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FILM_DATA", str(tmp_path))
    place = tmp_path if given else tmp_path / "ists" / "train"
    place.mkdir(parents=True, exist_ok=True)
    put_sources(place, sources=SOURCES[:2])
    assert main(["--data", str(tmp_path)] if given else []) == 2
    said = capsys.readouterr().err
    assert said.startswith("benchmarks.ists: source='answers-students': " + str(place))


def test_quick_run_records_each_method_beside_rcmd(tiny_model, tmp_path, capsys):
    put_sources(tmp_path)
    options = ["--quick", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main([*options, "--model", str(tiny_model)]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["ists.jsonl"]
    found = rows_of(tmp_path / "out" / "ists.jsonl")
    assert set(found) == {
        (f"tiny: {source}: {method}", metric)
        for source in SOURCES
        for method in METHODS
        for metric in ("f1_clrcmd", "f1_official", *(F1_DIFFERENCE if method != RCMD else ()))
    }
    for (case, metric), row in found.items():
        source = case.split(": ")[1]
        reference = f"tiny: {source}: {RCMD}"
        if metric in F1_DIFFERENCE:
            low, value, high = (found[case, F1_DIFFERENCE[i]]["value"] for i in (1, 0, 2))
            assert low <= value <= high and row["rival"] == reference
            gap = found[case, "f1_clrcmd"]["value"] - found[reference, "f1_clrcmd"]["value"]
            assert value == pytest.approx(gap, abs=2e-5)
            continue
        assert 0 <= row["value"] <= 1 and row["rival"] == RCMD
        assert row["rival_value"] == found[reference, metric]["value"]
    assert f"tiny: images: {RCMD} {{'f1_clrcmd': " in capsys.readouterr().out


def test_another_reference_is_told_and_leaves_the_table_alone(
    tiny_model, tmp_path, monkeypatch, capsys
):
    """One table has one reference."""
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    put_sources(tmp_path)
    options = ["--data", str(tmp_path), "--model", str(tiny_model), "--against", VECTORS[0]]
    assert main(options) == 0
    assert not (tmp_path / "results").exists()
    told = capsys.readouterr().out.splitlines()
    assert all(("f1_ahead" in line) == (f": {VECTORS[0]} {{" not in line) for line in told)
    assert main([*options, "--out", str(tmp_path / "out")]) == 0
    found = rows_of(tmp_path / "out" / "ists.jsonl")
    row = found[f"tiny: images: {RCMD}", "f1_ahead"]
    assert row["rival"] == f"tiny: images: {VECTORS[0]}"


def test_a_draw_of_pairs_has_the_f1_of_these_pairs():
    gold = [replace(GOLD[i % 2], id=str(i)) for i in range(6)]
    found = [replace(pair, alignments=pair.alignments[: i % 3]) for i, pair in enumerate(gold)]
    weights = link_weights(gold, found, "clrcmd")
    draws = np.array([[1] * 6, [2, 0, 1, 0, 1, 2], [0] * 6])
    expected = []
    for draw in draws:
        rows = np.repeat(np.arange(6), draw)
        picked = [[side[i] for i in rows] for side in (gold, found)]
        expected.append(score_alignments(*picked, "clrcmd").alignment.f1)
    assert ists.f1_of(weights, draws) == pytest.approx(expected)
    assert len({round(each, 3) for each in expected}) == 3


def test_a_difference_is_of_the_same_draws():
    # Sentences of their own, so that pairs are drawn one by one.
    gold = [
        AlignedPair(
            str(i), (f"a{i}",), (f"b{i}",), ((0,),), ((0,),), (Alignment((0,), (0,), "EQUI", 5.0),)
        )
        for i in range(40)
    ]
    half = [replace(pair, alignments=pair.alignments[: i % 2]) for i, pair in enumerate(gold)]
    methods = {RCMD: half, "same": half, "all": gold}
    found = ists.differences(gold, methods, RCMD, n_draws=500)
    assert set(found) == {"same", "all"}
    assert found["same"] == (0, 0, 0)
    # All of precision, half of the recall: F1 is 2/3.
    assert found["all"].value == pytest.approx(1 / 3)
    assert 0.15 < found["all"].low < 0.28 and 0.4 < found["all"].high < 0.6


def test_both_protocols_are_scored_against_the_gold(tiny_model, tmp_path, monkeypatch):
    put_sources(tmp_path)

    def perfect(gold, tokens):
        # Two sentences a pair, with [CLS] and [SEP], in order.
        assert tokens.lengths[::2].tolist() == [len(pair.words1) + 2 for pair in gold]
        assert tokens.lengths[1::2].tolist() == [len(pair.words2) + 2 for pair in gold]
        return {RCMD: gold}

    monkeypatch.setattr(ists, "alignments", perfect)
    options = ["--quick", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main([*options, "--model", str(tiny_model)]) == 0
    found = rows_of(tmp_path / "out" / "ists.jsonl")
    strict = score_alignments(GOLD, GOLD, "clrcmd").alignment.f1
    # The link scored 2 is no gold to CLRCMD.
    assert strict < 0.95
    for source in SOURCES:
        assert found[f"tiny: {source}: {RCMD}", "f1_official"]["value"] == 1
        value = found[f"tiny: {source}: {RCMD}", "f1_clrcmd"]["value"]
        assert value == pytest.approx(strict, abs=1e-5)


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_run_takes_some_pairs_and_records_only_where_out_says_so(
    quick, tiny_model, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    put_sources(tmp_path, n_pairs=45)
    seen = []

    def spy(gold, tokens):
        seen.append((len(gold), len(tokens)))
        return {RCMD: gold}

    monkeypatch.setattr(ists, "alignments", spy)
    options = ["--data", str(tmp_path), "--model", str(tiny_model)]
    assert main([*options, *(["--quick"] if quick else [])]) == 0
    assert seen == 3 * [(40, 80) if quick else (45, 90)]
    assert "answers-students: RCMD" in capsys.readouterr().out
    written = sorted(path.name for path in tmp_path.glob("results/*"))
    assert written == ([] if quick else ["ists.jsonl"])


def aligned_chunks(pair):
    """Chunks that stand for each other, by the words of each side."""
    return {
        (found.positions1, found.positions2)
        for found in pair.alignments
        if found.positions1 and found.positions2
    }


def put_words(words, vectors):
    """Token vectors and character spans of a sentence whose words are tokens, in [CLS] … [SEP]."""
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = ends - [len(word) for word in words]
    edge = np.ones((1, vectors.shape[1]))
    spans = np.vstack([[0, 0], np.column_stack([starts, ends]), [0, 0]])
    return np.vstack([edge, vectors, -edge]), spans


def test_alignments_by_hand():
    # "x y" and "u v": x is u and v is at a cosine of 0.2 from y, below the limit of chunk vectors.
    x, y, rest = np.eye(3) * 2
    v = 0.2 * y + np.sqrt(0.96) * rest
    first = AlignedPair("1", ("x", "y"), ("u", "v"), ((0,), (1,)), ((0,), (1,)))
    # "yy xx" and "u": one chunk has nothing to go to, and the order is turned.
    second = AlignedPair("2", ("yy", "xx"), ("u",), ((0,), (1,)), ((0,),))
    sides = [
        put_words(first.words1, np.vstack([x, y])),
        put_words(first.words2, np.vstack([x, v])),
        put_words(second.words1, np.vstack([-y, x])),
        put_words(second.words2, x[np.newaxis]),
    ]
    tokens = Ragged.from_rows([side[0] for side in sides], spans=[side[1] for side in sides])
    # [CLS] and [SEP] draw mass from no word here: they are further from it than its partner is.
    found = alignments([first, second], tokens)
    assert tuple(found) == METHODS
    both, one = {((0,), (0,)), ((1,), (1,))}, {((0,), (0,))}
    dense = [aligned_chunks(pair) for pair in found["dense (all cosines)"]]
    assert dense == [both, {((1,), (0,))}]
    vectors = [aligned_chunks(pair) for pair in found["chunk vectors"]]
    assert vectors == [one, {((1,), (0,))}]
    for pairs in found.values():
        assert [pair.id for pair in pairs] == ["1", "2"]
        # What is left over is said to be.
        assert sum(found.type == "NOALI" for found in pairs[1].alignments) >= 1


def contributions_of(x1, x2):
    """Contributions, or cosines, by the definition of each method, for texts of one length."""
    n = len(x1)
    S = np.array([[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in x2] for a in x1])
    rcmd, matched, exact = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for of, at in ((S[i], lambda j, i=i: (i, j)), (S[:, i], lambda j, i=i: (j, i))):
            second, best = np.argsort(of)[-2:]
            rcmd[at(best)] += of[best] / (2 * n)
            matched[at(best)] += of[best] / n
            matched[at(second)] -= of[second] / (2 * n)
    # Equal masses move whole, by an optimal assignment.
    rows, columns = linear_sum_assignment(-S)
    exact[rows, columns] = S[rows, columns] / n
    means = x1 @ x2.T / np.linalg.norm(x1.sum(axis=0)) / np.linalg.norm(x2.sum(axis=0))
    return dict(zip(METHODS, (means, S, rcmd, (rcmd + means) / 2, exact, matched), strict=False))


def joins(cosines, chunks1, chunks2, score, links):
    """Chunks of the second text left over, each with the aligned chunk that it joins."""
    found = set()
    for j, left in enumerate(chunks2):
        i = int(score[:, j].argmax())
        partner = [b for a, b in links if a == chunks1[i]]
        if any(b == left for _, b in links) or not partner or score[i, j] <= 0.42:
            continue
        better = [
            max(cosines[k, n] for n in left) - max(cosines[k, n] for n in partner[0])
            for k in chunks1[i]
        ]
        if sum(gain for gain in better if gain > 0) > 0.5:
            found.add((chunks1[i], left))
    return found


def test_alignments_agree_with_the_definitions_of_the_methods():
    rng = np.random.default_rng(0)
    words = tuple("abcdefgh")
    chunks1, chunks2 = ((0, 1), (2,), (3, 4, 5), (6, 7)), ((0,), (1, 2, 3), (4, 5), (6,), (7,))
    n_trials = 30
    rows, spans, expected = [], [], {name: [] for name in METHODS}
    for _ in range(n_trials):
        x1 = rng.normal(size=(8, 6)) * rng.uniform(0.5, 2, size=(8, 1))
        x2 = x1[rng.permutation(8)] + rng.normal(size=(8, 6))
        sides = [put_words(words, x) for x in (x1, x2)]
        rows += [side[0] for side in sides]
        spans += [side[1] for side in sides]
        tables = {
            name: np.array([[some[np.ix_(a, b)].mean() for b in chunks2] for a in chunks1])
            for name, table in contributions_of(rows[-2], rows[-1]).items()
            for some in [table[1:-1, 1:-1]]
        }
        sums = [
            np.array([x[list(c)].sum(axis=0) for c in of])
            for x, of in zip((x1, x2), (chunks1, chunks2), strict=True)
        ]
        sums = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in sums]
        cosines = sums[0] @ sums[1].T
        tables["chunk vectors"] = cosines
        tables["chunk vectors and neighbours"] = [
            [
                cosines[i, j]
                + 0.05 * (cosines[i - 1, j - 1] if i and j else 0)
                + 0.05 * (cosines[i + 1, j + 1] if i < 3 and j < 4 else 0)
                for j in range(5)
            ]
            for i in range(4)
        ]
        for name, scores in tables.items():
            table = np.array(scores)
            limit = dict(zip(VECTORS[:2], (0.3, 0.42), strict=True)).get(name, 0.0)
            expected[name].append(
                {
                    (chunks1[i], chunks2[j])
                    for i in range(len(chunks1))
                    for j in range(len(chunks2))
                    if limit < table[i, j] == table[i].max() == table[:, j].max()
                }
            )
        # The last method is the one before it and what joins.
        score = np.array(tables["chunk vectors and neighbours"])
        links = expected["chunk vectors and neighbours"][-1]
        unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (x1, x2)]
        more = joins(unit[0] @ unit[1].T, chunks1, chunks2, score, links)
        more |= {
            (b, a)
            for a, b in joins(
                unit[1] @ unit[0].T, chunks2, chunks1, score.T, {(b, a) for a, b in links}
            )
        }
        expected[VECTORS[-1]].append(links | more)
    pair = AlignedPair("1", words, words, chunks1, chunks2)
    found = alignments([pair] * n_trials, Ragged.from_rows(rows, spans=spans))
    for name, pairs in found.items():
        assert [aligned_chunks(pair) for pair in pairs] == expected[name], name
    # The methods differ on these texts, so that each is told from the others.
    assert len({str([sorted(links) for links in each]) for each in expected.values()}) == 9

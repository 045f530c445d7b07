import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from benchmarks.rcmd_train import main
from benchmarks.support import records
from benchmarks.support.bootstrap import spearman
from benchmarks.support.judges import DEV, Judges
from benchmarks.support.pair_rows import parts_of_rows, read_pair_rows
from benchmarks.support.quora_data import read_folder
from benchmarks.support.training_recipes import quora_folds
from benchmarks.support.training_rows import (
    caption_triplets,
    nearest_pairs,
    pairs_of_all_ranks,
    question_triplets,
    read_captions,
    read_choice,
    read_triplets,
)
from estimators import RCMDRegressor, SentenceEncoder, average_models, disjoint_pairs_split
from film.datasets import read_sts_benchmark, read_sts_sets
from film.text import text_hash
from tests.benchmarks.test_ists import put_sources
from tests.benchmarks.test_sts import folder as sts_folder  # noqa: F401
from tests.estimators import tiny_model as tiny

NOUNS = ("chess", "cat", "dog", "mat", "age", "earth", "way", "run")
ASKED = [(f"How do I learn {noun}?", f"what is the way to learn {noun}") for noun in NOUNS]
OTHERS = [(ASKED[i][0], f"Is the {noun} old?") for i, noun in enumerate(NOUNS)]
LISTED = "the old cat sat on the mat"


@pytest.fixture(scope="module")
def data(tmp_path_factory, request):
    """All that the recipes read, in small."""
    root = tmp_path_factory.mktemp("data")
    (root / "sts").symlink_to(request.getfixturevalue("sts_folder"))
    lines = [
        f"main-news\tMSRpar\t2012\t{i}\t{i % 5}\ta {noun} sat{' well' * (i % 2)}\tthe {noun} sat\n"
        for i, noun in enumerate(NOUNS)
    ]
    listed = f"main-news\tMSRpar\t2012\t9\t5\t{LISTED}\tcat\n"
    for part in ("train", "dev"):
        path = root / "sts" / "STSBenchmark" / f"sts-{part}.csv"
        text = "".join(lines)
        text = text if part == "train" else text.replace(" sat", " runs")
        path.write_text(text + listed, encoding="utf-8")
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    for name in ("SICK_train.txt", "SICK_trial.txt"):
        (root / "sts" / "SICK" / name).write_text(
            head + "1\ta dog runs\ta cat runs\t3.0\tNEUTRAL\n2\ta mat\tthe mat\t5.0\tNEUTRAL\n"
        )
    (root / "quora").mkdir()
    rows = [(*pair, 1) for pair in ASKED] + [(*pair, 0) for pair in OTHERS]
    for part in ("train", "dev"):
        text = "id,qid1,qid2,question1,question2,is_duplicate\n"
        mark = "" if part == "train" else " e"
        for i, (a, b, label) in enumerate(rows):
            text += f'{i},{2 * i},{2 * i + 1},"{a}{mark}","{b}{mark}",{label}\n'
        (root / "quora" / f"{part}.csv").write_text(text, encoding="utf-8")
    (root / "ists" / "train").mkdir(parents=True)
    put_sources(root / "ists" / "train")
    (root / "multi30k").mkdir()
    for number in range(1, 6):
        captions = [f"a {noun} sat {'well ' * number}" for noun in NOUNS]
        captions.append(LISTED if number == 3 else f"the cat {number}")
        with gzip.open(root / "multi30k" / f"train.{number}.en.gz", "wt") as file:
            file.write("".join(f"{caption}\n" for caption in captions))
    (root / "exclude.txt").write_text(text_hash(LISTED) + "\n")
    return root


def excluded():
    return frozenset([text_hash(LISTED)])


def test_listed_sentences_neither_train_nor_choose(data):
    captions = read_captions(data / "multi30k", excluded())
    assert captions.texts.shape == (8, 5) and captions.n_excluded == 1
    assert captions.texts[0, 1] == "a chess sat well well"
    choice = read_choice(data / "sts", excluded())
    assert len(choice) == 8 + 8 + 2 + 2 and LISTED not in choice.pairs
    # SICK's 3 of 1 to 5 is the middle, 2.5 of 0 to 5.
    assert choice.scores[-2:].tolist() == [2.5, 5.0]


def test_hard_negatives_are_labelled_ones_where_there_are_some(data, tiny_model):
    quora = read_folder(data / "quora", on_error="raise", limit=None, seed=0)
    rows = question_triplets(quora, 100, str(tiny_model), seed=0)
    assert len(rows) == 8
    for first, second, third in rows.tolist():
        noun = first.split()[-1]
        assert (first, second) == (f"how do i learn {noun}", f"what is the way to learn {noun}")
        assert third == f"is the {noun} old"


def test_near_negatives_are_of_other_images(data, tiny_model):
    captions = read_captions(data / "multi30k", excluded())
    rows = caption_triplets(captions, 20, str(tiny_model), seed=0)
    assert len(rows) == 20
    for first, second, third in rows.tolist():
        nouns = [text.split()[1] for text in (first, second, third)]
        assert nouns[0] == nouns[1] != nouns[2] and first != second
    again = caption_triplets(captions, 20, str(tiny_model), seed=0)
    np.testing.assert_array_equal(rows, again)


def test_triplets_of_simcse(tmp_path):
    path = tmp_path / "nli.csv"
    path.write_text('sent0,sent1,hard_neg\n"a, b",c,d\ne,e,f\n')
    assert read_triplets(path).tolist() == [["a, b", "c", "d"]]
    path.write_text("sent0,sent1\na,b\n")
    with pytest.raises(ValueError, match="no column 'hard_neg'"):
        read_triplets(path)


def test_every_recipe_from_end_to_end(data, tiny_model, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    nli = tmp_path / "nli.csv"
    nli.write_text(
        "sent0,sent1,hard_neg\n"
        + "".join(f"the {noun},a {noun} well,an old {noun}\n" for noun in NOUNS)
    )
    arguments = ["--quick", "--data", str(data), "--model", str(tiny_model), "--nli", str(nli)]
    for name in ("here", "quora", "sts", "paper"):
        arguments += ["--recipe", name]
    assert main([*arguments, "--out", str(tmp_path / "out"), "--save", str(tmp_path / "kept")]) == 0
    lines = (tmp_path / "out" / "rcmd_train.jsonl").read_text().splitlines()
    rows = {(row["case"], row["metric"]): row for row in map(json.loads, lines)}
    lines = (tmp_path / "out" / "rcmd_train_seeds.jsonl").read_text().splitlines()
    singles = {(row["case"], row["metric"]): row for row in map(json.loads, lines)}
    label = tiny_model.name
    for name in ("here", "quora", "sts", "paper"):
        for similarity in ("rcmd", "avg"):
            case = f"{label}: {name}: {similarity}, mean of 1 seeds"
            assert rows[case, "steps"]["value"] >= 1
            # One seed has no spread.
            assert (case, "spread") not in rows
            single = singles[case.replace("mean of 1 seeds", "seed 0"), "STS-B"]
            assert rows[case, "STS-B"]["value"] == single["value"]
            assert ((case, "mean") in rows) is (name != "sts")
            assert 0 <= rows[case, "f1_images"]["value"] <= 1
            assert 0 <= rows[case, "quora_auc"]["value"] <= 1
            before = rows[f"{label}: {similarity}: untrained", "STS-B"]["value"]
            assert rows[case, "STS-B"]["rival_value"] == pytest.approx(before, abs=1e-3)
            assert (tmp_path / "kept" / f"{name}-{similarity}-0" / "config.json").is_file()
    assert not (tmp_path / "results").exists()
    assert main([*arguments, "--plan", "rcmd"]) == 0
    assert not (tmp_path / "results").exists()
    assert "here: rcmd, seed 0" in capsys.readouterr().out
    pairs = parts_of_rows(read_pair_rows("rcmd_train", tmp_path / "out"))
    for case, metric in ((f"{label}: here: rcmd", "STS12"), (f"{label}: quora: avg", "SICK")):
        row = pairs[case][metric]
        value = singles[f"{case}, seed 0", metric]["value"]
        assert spearman(row.values[0], row.on.labels) == pytest.approx(value, abs=1e-3)
        assert set(pairs[case]) == {*read_sts_sets(data / "sts"), DEV}
    dev = pairs[f"{label}: rcmd: untrained"][DEV]
    auc = roc_auc_score(dev.on.labels, dev.values[None])
    assert rows[f"{label}: rcmd: untrained", "quora_auc"]["value"] == pytest.approx(auc, abs=1e-3)
    assert set(pairs[f"{label}: sts: rcmd"]) == {"STS-B", DEV}


def test_texts_meet_others_of_all_ranks(tiny_model):
    texts = np.array([f"the {noun} {i}" for i, noun in enumerate(NOUNS * 3)], dtype=object)
    pairs = pairs_of_all_ranks(texts, 400, str(tiny_model), seed=0)
    assert pairs.shape == (400, 2) and set(pairs.ravel()) == set(texts)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    np.testing.assert_array_equal(pairs, pairs_of_all_ranks(texts, 400, str(tiny_model), seed=0))
    points = SentenceEncoder(str(tiny_model), max_length=32).fit_transform(texts.tolist())
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    place = {text: row for row, text in enumerate(texts)}
    ranks = []
    for first, second in pairs.tolist():
        cosines = points @ points[place[first]]
        cosines[place[first]] = -2
        ranks.append(int((cosines > cosines[place[second]] + 1e-6).sum()))
    # As many at the nearest place as from the 3rd to the 6th: ranks are even by their logarithm.
    counts = np.bincount(ranks, minlength=23)
    assert counts[0] > 60 and counts[10:].sum() > 60 and max(ranks) >= 20


def test_near_pairs_are_new_and_near(tiny_model):
    texts = np.array([f"the {noun} {i}" for i, noun in enumerate(NOUNS * 3)], dtype=object)
    labelled = texts.reshape(-1, 2)
    pairs = nearest_pairs(labelled, 30, str(tiny_model), {texts[0]}, seed=0)
    assert pairs.shape == (30, 2) and texts[0] not in pairs
    assert not {*map(tuple, labelled), *map(tuple, labelled[:, ::-1])} & {*map(tuple, pairs)}
    points = SentenceEncoder(str(tiny_model), max_length=32).fit_transform(texts[1:].tolist())
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    place = {text: row for row, text in enumerate(texts[1:])}
    for pair in pairs.tolist():
        first, second = (place[text] for text in pair)
        cosines = points @ points[[first, second]].T
        # A labelled pair leaves its place among the nearest to the next.
        nearer = (cosines > cosines[first, 1] + 1e-6).sum(axis=0) - 1
        assert nearer.min() <= 5


def test_a_larger_model_scores_what_is_learned(data, tiny_model, tmp_path, capsys, monkeypatch):
    common = ["--quick", "--data", str(data), "--model", str(tiny_model), "--trained-only"]
    kept = tmp_path / "kept"
    fitted = [*common, "--recipe", "sts", "--plan", "avg", "--save", str(kept)]
    assert main([*fitted, "--out", str(tmp_path / "out")]) == 0
    judged = {LISTED, "cat"}
    train = read_sts_benchmark(data / "sts" / "STSBenchmark" / "sts-train.csv").pairs
    near = nearest_pairs(train, 64, str(tiny_model), judged, seed=0)
    assert 30 < len(near) <= 64
    learned_from = {}
    fit = RCMDRegressor.fit

    def spied(self, pairs, y=None, **others):
        if y is not None:
            learned_from[len(y)] = (np.asarray(pairs), np.asarray(y))
        return fit(self, pairs, y, **others)

    monkeypatch.setattr(RCMDRegressor, "fit", spied)
    for name, model, rows in (
        ("larger", tiny_model, 2 * 64),
        ("sts", kept / "sts-avg-0", 9 + len(near)),
    ):
        learned = [*common, "--recipe", name, "--plan", "rcmd", "--larger", str(model)]
        assert main([*learned, "--out", str(tmp_path / name)]) == 0
        lines = (tmp_path / name / "rcmd_train.jsonl").read_text().splitlines()
        found = {row["metric"]: row for row in map(json.loads, lines)}
        by = "near pairs by" if name == "sts" else "by"
        said = f"{tiny_model.name}: {name}, {by} {Path(model).name}: rcmd, mean of 1 seeds"
        assert {row["case"] for row in found.values()} == {said}
        assert found["steps"]["value"] == -(-rows // 16)
    # The larger model scores in the unit of the file, from 0 to 5, as it was fitted.
    pairs, scores = learned_from[9 + len(near)]
    assert np.array_equal(pairs[9:], near) and scores[:9].max() == 5
    said = RCMDRegressor.load(kept / "sts-avg-0", plan="avg").predict(near)
    assert scores[9:] == pytest.approx(said, abs=1e-6) and said.mean() > 1.5
    assert main([*common, "--recipe", "sts", "--larger", str(tiny_model)]) == 2
    assert "film_regressor.json" in capsys.readouterr().err
    assert main([*common, "--recipe", "larger"]) == 2
    assert "needs --larger FOLDER" in capsys.readouterr().err


def test_a_teacher_and_learned_weights(data, tiny_model, tmp_path, monkeypatch, capsys):
    arguments = ["--quick", "--data", str(data), "--model", str(tiny_model), "--plan", "rcmd"]
    arguments += ["--recipe", "labels", "--recipe", "teacher", "--weights", "learned"]
    arguments += ["--checkpoint", str(tmp_path / "runs"), "--trained-only"]
    kept = tmp_path / "kept"
    assert main([*arguments, "--save", str(kept), "--out", str(tmp_path / "out")]) == 0
    lines = (tmp_path / "out" / "rcmd_train.jsonl").read_text().splitlines()
    cases = {row["case"] for row in map(json.loads, lines)}
    assert cases == {
        f"{tiny_model.name}: {name}, learned weights: rcmd, mean of 1 seeds"
        for name in ("labels", "teacher")
    }
    plain, taught = (
        RCMDRegressor.load(kept / f"{name}-learned-rcmd-0") for name in ("labels", "teacher")
    )
    assert taught.token_weights_ is not None
    # Near pairs are more rows.
    assert len(taught.loss_curve_) > len(plain.loss_curve_)
    # Run again, it takes teacher and model from the folder.
    monkeypatch.setattr("estimators.training.loop.training.Training._take_step", None)
    assert main(arguments) == 0
    assert "teacher, learned weights: rcmd, seed 0" in capsys.readouterr().out


def test_a_collection_is_learned_without_its_labels(data, tiny_model, tmp_path):
    arguments = ["--quick", "--data", str(data), "--model", str(tiny_model), "--plan", "rcmd"]
    arguments += ["--recipe", "collection", "--trained-only", "--out", str(tmp_path / "out")]
    checkpoint = tmp_path / "runs"
    assert main([*arguments, "--checkpoint", str(checkpoint)]) == 0
    lines = (tmp_path / "out" / "rcmd_train.jsonl").read_text().splitlines()
    assert {row["case"] for row in map(json.loads, lines)} == {
        f"{tiny_model.name}: collection: rcmd, mean of 1 seeds"
    }
    told = json.loads((checkpoint / "collection" / "fold-0.json").read_text(encoding="utf-8"))
    train, held, _, _ = quora_folds(Judges(data, quick=True))
    known, learned = set(held.ravel()), set(train.ravel())
    assert told["pairs"] and not told["of_labelled"]
    assert {text for pair in told["pairs"] for text in pair} <= known - learned


def test_questions_of_further_duplicates_are_learned_without_what_is_held_out(
    data, tiny_model, tmp_path, capsys
):
    arguments = ["--quick", "--model", str(tiny_model), "--plan", "rcmd", "--recipe", "further"]
    arguments += ["--trained-only", "--checkpoint", str(tmp_path / "runs")]
    assert main([*arguments, "--data", str(data)]) == 2
    assert "needs extra_duplicates.csv" in capsys.readouterr().err
    folder = tmp_path / "data"
    (folder / "quora").mkdir(parents=True)
    for place in [*data.iterdir(), *(data / "quora").iterdir()]:
        if place.name != "quora":
            (folder / place.relative_to(data)).symlink_to(place)
    held = quora_folds(Judges(data, quick=True))[1].ravel()
    further = [(f"where is the {noun}", f"the {noun} is where") for noun in NOUNS]
    further += [(held[0], "a link"), ("a link", "a link of a link"), (LISTED, "listed")]
    lines = ["question1,question2", *(",".join(pair) for pair in further)]
    (folder / "quora" / "extra_duplicates.csv").write_text("\n".join(lines), encoding="utf-8")
    assert main([*arguments, "--data", str(folder)]) == 0
    told = json.loads((tmp_path / "runs" / "further" / "fold-0.json").read_text(encoding="utf-8"))
    used = {text for pair in told["pairs"] for text in pair}
    assert used and used <= {text for pair in further[:-3] for text in pair}
    # A larger model that learned from labels scores the same pairs.
    kept = str(tmp_path / "kept")
    labels = ["--recipe", "labels", "--rate", "0.01", "--plan", "avg", "--save", kept]
    common = ["--quick", "--data", str(folder), "--model", str(tiny_model), "--trained-only"]
    assert main([*common, *labels, "--out", kept]) == 0
    larger = Path(kept, "labels-rate-0.01-avg-0")
    assert main([*arguments, "--data", str(folder), "--larger", str(larger), "--save", kept]) == 0
    assert Path(kept, f"further-by-{larger.name}-rcmd-0").is_dir()
    place = tmp_path / "runs" / f"further-by-{larger.name}" / "fold-0.json"
    scored = json.loads(place.read_text(encoding="utf-8"))
    assert scored["pairs"] == told["pairs"]
    reader = RCMDRegressor.load(larger)
    assert reader.objective == "binary" and reader.learning_rate == 0.01
    said = reader.predict(np.array(scored["pairs"], dtype=object))
    assert scored["scores"] == pytest.approx(said.tolist(), abs=1e-6)
    few = ["--near", "3", "--larger", str(larger), "--out", kept]
    assert main([*arguments, "--data", str(folder), *few]) == 0
    place = tmp_path / "runs" / f"further-by-{larger.name}-3-near" / "fold-0.json"
    assert len(json.loads(place.read_text(encoding="utf-8"))["pairs"]) == 3 < len(told["pairs"])
    rows = [json.loads(line) for line in Path(kept, "rcmd_train.jsonl").read_text().splitlines()]
    assert {row["case"] for row in rows} == {
        f"{tiny_model.name}: labels, rate 0.01: avg, mean of 1 seeds",
        f"{tiny_model.name}: further, 3 near pairs, by {larger.name}: rcmd, mean of 1 seeds",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--recipe", "labels", "--near", "5"], "--near is of the recipes teacher"),
        (["--recipe", "quora", "--larger", "x"], "--larger is of the recipes larger"),
        (["--larger", "x"], "not of here, quora, sts"),
        (["--recipe", "further", "--near", "0"], "--near 0 must be at least 1"),
    ],
)
def test_options_that_a_recipe_does_not_read_are_refused(options, message, data, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--quick", "--data", str(data), *options])
    assert message in capsys.readouterr().err


def test_the_first_token_is_trained_and_aligns_nothing(data, tiny_model, tmp_path):
    arguments = ["--quick", "--data", str(data), "--model", str(tiny_model), "--recipe", "here"]
    kept = tmp_path / "kept"
    arguments += ["--plan", "cls", "--out", str(tmp_path), "--save", str(kept)]
    assert main(arguments) == 0
    rows = map(json.loads, (tmp_path / "rcmd_train.jsonl").read_text().splitlines())
    trained = {row["metric"]: row for row in rows if "here: cls" in row["case"]}
    assert trained["steps"]["value"] >= 1 and "mean" in trained
    assert "f1_images" not in trained and "f1_chunks_images" in trained
    model = RCMDRegressor.load(kept / "here-cls-0")
    assert model.plan == "cls"
    found = read_sts_sets(data / "sts")["SICK"]
    figure = 100 * spearmanr(model.similarity(found.pairs[:40]), found.scores[:40]).statistic
    assert trained["SICK"]["value"] == pytest.approx(figure, abs=1e-3)


def test_two_seeds_have_a_spread(data, tiny_model, tmp_path):
    arguments = ["--quick", "--data", str(data), "--model", str(tiny_model), "--recipe", "quora"]
    arguments += ["--plan", "rcmd", "--seeds", "2", "--out", str(tmp_path)]
    assert main(arguments) == 0
    singles = [
        row["value"]
        for row in map(json.loads, (tmp_path / "rcmd_train_seeds.jsonl").read_text().splitlines())
        if row["metric"] == "mean"
    ]
    (spread,) = (
        row["value"]
        for row in map(json.loads, (tmp_path / "rcmd_train.jsonl").read_text().splitlines())
        if row["metric"] == "spread"
    )
    assert len(singles) == 2
    assert main([*arguments[:-3], "1", "--first-seed", "1", "--out", str(tmp_path / "again")]) == 0
    again = [
        row["value"]
        for row in map(
            json.loads, (tmp_path / "again" / "rcmd_train_seeds.jsonl").read_text().splitlines()
        )
        if row["metric"] == "mean"
    ]
    assert again == singles[1:]
    # In the folder of the other seed, the mean is that of both.
    (tmp_path / "rcmd_train.jsonl").unlink()
    assert main([*arguments[:-3], "1", "--first-seed", "2", "--out", str(tmp_path)]) == 0
    lines = (tmp_path / "rcmd_train.jsonl").read_text().splitlines()
    pooled = {row["metric"]: row for row in map(json.loads, lines) if "seeds" in row["case"]}
    assert pooled["spread"]["case"].endswith("mean of 3 seeds")
    lines = (tmp_path / "rcmd_train_seeds.jsonl").read_text().splitlines()
    three = [row["value"] for row in map(json.loads, lines) if row["metric"] == "mean"]
    assert len(three) == 3
    assert pooled["mean"]["value"] == pytest.approx(np.mean(three), abs=2e-4)
    assert spread == pytest.approx(np.std(singles, ddof=1), abs=2e-4)


def test_a_kept_model_is_never_trained_again_in_vain(data, tiny_model, tmp_path, capsys):
    (tmp_path / "kept" / "sts-2-epochs-avg-1").mkdir(parents=True)
    (tmp_path / "kept" / "sts-2-epochs-avg-1" / "config.json").write_text("{}")
    arguments = ["--data", str(data), "--recipe", "sts", "--epochs", "2", "--quick"]
    arguments += ["--seeds", "2", "--save", str(tmp_path / "kept"), "--model", str(tiny_model)]
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert "already there" in told.err and "untrained" not in told.out


def test_the_average_of_models_is_judged(data, tiny_model, tmp_path, capsys):
    untrained = RCMDRegressor(str(tiny_model)).fit([("a cat", "a dog")])
    for name in ("one", "other"):
        untrained.save(tmp_path / name)
    arguments = ["--quick", "--data", str(data), "--plan", "rcmd", "--out", str(tmp_path)]
    for name in ("one", "other"):
        arguments += ["--average", str(tmp_path / name)]
    assert main(arguments) == 0
    lines = (tmp_path / "rcmd_train.jsonl").read_text().splitlines()
    rows = {row["metric"]: row for row in map(json.loads, lines)}
    assert {row["case"] for row in rows.values()} == {"average of one and other: rcmd"}
    sets = read_sts_sets(data / "sts")
    again = untrained.similarity(sets["SICK"].pairs[:40])
    expected = 100 * spearmanr(again, sets["SICK"].scores[:40]).statistic
    assert rows["SICK"]["value"] == pytest.approx(expected, abs=1e-3)
    choice = read_choice(data / "sts", excluded())
    quora = read_folder(data / "quora", on_error="raise", limit=None, seed=0)
    _, held, _, y_held = disjoint_pairs_split(
        quora.train, quora.y_train, test_size=0.1, random_state=0
    )
    kinds = [
        (choice.pairs[choice.genres == genre], choice.scores[choice.genres == genre])
        for genre in set(choice.genres)
    ]
    scores = [untrained.score(pairs, y) for pairs, y in [*kinds, (held, y_held)]]
    assert len(scores) == 3
    assert rows["chosen_by"]["value"] == pytest.approx(100 * np.mean(scores), abs=1e-3)
    arguments[arguments.index("--out") + 1] = str(tmp_path / "supervised")
    assert main([*arguments, "--recipe", "sts"]) == 0
    lines = (tmp_path / "supervised" / "rcmd_train.jsonl").read_text().splitlines()
    supervised = {row["metric"]: row["value"] for row in map(json.loads, lines)}
    assert supervised["STS-B"] == rows["STS-B"]["value"]
    assert "mean" not in supervised and "SICK" not in supervised
    assert main([*arguments, "--average", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err


def test_shares_lead_from_the_start(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tiny, "MAX_TOKENS", 128)
    start, *parts = (tiny.make_tiny_model(tmp_path / f"model{i}", seed=i) for i in range(3))
    average_models([str(start), *map(str, parts)], tmp_path / "sum", weights=[-0.5, 0.5, 1])
    sets = read_sts_sets(data / "sts")
    model = RCMDRegressor(str(tmp_path / "sum")).fit(sets["SICK"].pairs)
    expected = model.score(sets["SICK"].pairs[:40], sets["SICK"].scores[:40])
    arguments = ["--quick", "--data", str(data), "--plan", "rcmd", "--out", str(tmp_path)]
    arguments += ["--model", str(start), "--share", "0.5"]
    for part in parts:
        arguments += ["--average", str(part)]
    assert main(arguments) == 2
    assert "2 --average need as many --share, got 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--share", "1"])
    assert "--share is the share of an --average" in capsys.readouterr().err
    assert main([*arguments, "--share", "1", "--save", str(tmp_path / "kept")]) == 0
    kept = RCMDRegressor(str(tmp_path / "kept")).fit(sets["SICK"].pairs)
    np.testing.assert_array_equal(
        kept.similarity(sets["SICK"].pairs), model.similarity(sets["SICK"].pairs)
    )
    lines = (tmp_path / "rcmd_train.jsonl").read_text().splitlines()
    found = {row["metric"]: row for row in map(json.loads, lines)}
    assert found["SICK"]["case"] == "start + 0.5 model1 + 1 model2: rcmd"
    assert found["SICK"]["value"] == pytest.approx(100 * expected, abs=1e-3)


def test_an_average_may_be_judged_without_punctuation(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tiny, "MAX_TOKENS", 128)
    parts = [tiny.make_tiny_model(tmp_path / f"model{i}", seed=i) for i in range(2)]
    arguments = ["--quick", "--data", str(data), "--plan", "rcmd", "--out", str(tmp_path)]
    for part in parts:
        arguments += ["--average", str(part)]
    pairs = [("the cat sat!", "a dog , sat on the mat?")]
    judged = []

    def spied(self, model, said):
        judged.append(float(model.similarity(pairs)[0]))
        return {"SICK": judged[-1]}

    monkeypatch.setattr(Judges, "judged", spied)
    kept = str(tmp_path / "kept")
    assert main([*arguments, "--weights", "words", "--save", kept]) == 0
    assert main(arguments) == 0
    expected = [
        float(RCMDRegressor(kept, weights=weights).fit(pairs).similarity(pairs)[0])
        for weights in ("words", None)
    ]
    assert judged == pytest.approx(expected, abs=1e-6)
    assert abs(judged[0] - judged[1]) > 1e-3
    lines = (tmp_path / "rcmd_train.jsonl").read_text().splitlines()
    name = "average of model0 and model1"
    assert {
        row["case"]: row["value"] for row in map(json.loads, lines) if row["metric"] == "SICK"
    } == {
        f"{name}, weights of words: rcmd": round(judged[0], 4),
        f"{name}: rcmd": round(judged[1], 4),
    }
    with pytest.raises(SystemExit):
        main([*arguments, "--weights", "learned"])
    assert "give words" in capsys.readouterr().err


def test_missing_data_and_nli_are_named(data, tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 2
    assert "benchmarks.rcmd_train: " in capsys.readouterr().err
    assert main(["--data", str(data), "--recipe", "paper", "--quick"]) == 2
    assert "needs --nli FILE" in capsys.readouterr().err

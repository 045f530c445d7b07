import errno
import os
import signal
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from estimators.contexts import harvest, read_harvest
from estimators.contexts import harvesting as harvester
from film.datasets import make_question_pairs
from film.text import text_hash

ROOT = Path(__file__).parents[3]
SENTENCES = sorted({*make_question_pairs(400, random_state=0).pairs.ravel()})


class Cosine:
    """Scores pairs by the words that they share; counts what it is asked."""

    def __init__(self):
        self.asked = []

    def similarity(self, pairs):
        self.asked.append(len(pairs))
        words = [[{*text.lower().split()} for text in pair] for pair in np.asarray(pairs).tolist()]
        return np.array([len(a & b) / (len(a) * len(b)) ** 0.5 for a, b in words])


def run(path, n_pairs=700, model=None, **settings):
    settings = {"random_state": 3} | settings
    return harvest(model or Cosine(), SENTENCES, path, n_pairs=n_pairs, **settings)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "pairs.csv"
    assert run(path) == (700, 700, "done")
    return path


def test_the_rows_are_different_pairs_with_their_scores(whole):
    pairs, scores, splits = read_harvest(whole)
    assert pairs.shape == (700, 2) and set(splits) == {"train", "dev", "test"}
    assert len({frozenset(pair) for pair in pairs.tolist()}) == 700
    assert all(one != other for one, other in pairs.tolist())
    assert {*pairs.ravel()} <= set(SENTENCES)
    np.testing.assert_allclose(scores, Cosine().similarity(pairs), atol=5.1e-7)
    assert whole.read_text(encoding="utf-8").startswith("text1,text2,score,split\n")


def test_no_sentence_is_in_two_splits(whole):
    pairs, _, splits = read_harvest(whole)
    for one, other in combinations(("train", "dev", "test"), 2):
        assert not {*pairs[splits == one].ravel()} & {*pairs[splits == other].ravel()}


def test_a_hundredth_is_held_out_each(tmp_path):
    # Whole bunches of some 24 pairs are held out.
    path = tmp_path / "pairs.csv"
    run(path, 5000)
    splits = read_harvest(path).splits.tolist()
    for split in ("dev", "test"):
        assert 50 <= splits.count(split) <= 75


def test_half_of_the_pairs_are_neighbours(whole):
    scores = read_harvest(whole).scores
    random = np.random.default_rng(0).choice(np.array(SENTENCES, dtype=object), (2000, 2))
    high = np.mean(scores > np.quantile(Cosine().similarity(random), 0.9))
    assert 0.25 < high < 0.55


def test_a_full_disk_keeps_what_is_whole(whole, tmp_path, monkeypatch):
    path, calls = tmp_path / "pairs.csv", []

    def full(handle):
        calls.append(handle)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(harvester, "SECONDS_BETWEEN", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr("film.datasets.writing.os.fsync", full)
        with pytest.raises(OSError, match=r"No space left .* make room and harvest"):
            run(path)
    kept = read_harvest(path)
    assert 200 < len(kept.pairs) < 700
    assert run(path) == (700, 700 - len(kept.pairs), "done")
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("steps", [(100, 300, 700), (1, 288, 289, 577, 700)])
def test_a_harvest_in_parts_is_the_same(whole, tmp_path, steps):
    path, before = tmp_path / "pairs.csv", 0
    for n in steps:
        done = run(path, n)
        assert done == (n, n - before, "done")
        before = n
    assert path.read_bytes() == whole.read_bytes()
    run(tmp_path / "pairs.csv.other", random_state=4)
    assert (tmp_path / "pairs.csv.other").read_bytes() != whole.read_bytes()
    (tmp_path / "pairs.csv.other").unlink()
    assert run(path) == (700, 0, "done") and run(path, 5) == (700, 0, "done")
    # Nothing else is left there.
    assert [file.name for file in tmp_path.iterdir()] == ["pairs.csv"]


def test_a_killed_process_can_be_continued(whole, tmp_path):
    path = tmp_path / "pairs.csv"
    program = (
        "import sys, time\n"
        "from tests.estimators.contexts.test_harvesting import Cosine, harvester, run\n"
        "harvester.SECONDS_BETWEEN = 0.0\n"
        "class Slow(Cosine):\n"
        "    def similarity(self, pairs):\n"
        "        if len(self.asked) == 1: print('now', flush=True); time.sleep(60)\n"
        "        return super().similarity(pairs)\n"
        "run(sys.argv[1], model=Slow())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    assert process.stdout.readline() == b"now\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert 0 < len(read_harvest(path).pairs) < 700
    run(path)
    assert path.read_bytes() == whole.read_bytes()


def test_the_time_budget_ends_after_a_chunk(tmp_path, monkeypatch):
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(harvester, "time", clock)

    class Slow(Cosine):
        def similarity(self, pairs):
            clock.now += 0.2
            return super().similarity(pairs)

    path = tmp_path / "pairs.csv"
    assert run(path, seconds=0) == (0, 0, "time")
    done = run(path, seconds=0.1, model=Slow())
    assert done.stopped == "time" and 200 < done.n_pairs < 400
    assert len(read_harvest(path).pairs) == done.n_pairs


def test_excluded_sentences_are_left_out(whole, tmp_path):
    used = sorted({*read_harvest(whole).pairs.ravel()})[::2]
    path = tmp_path / "pairs.csv"
    run(path, exclude={text_hash(text.upper() + "!") for text in used})
    assert not {*read_harvest(path).pairs.ravel()} & set(used)


def test_scores_of_a_model_of_contexts_find_neighbours_too(tmp_path):
    class Contexts(BaseEstimator):
        weights = (1, 1, 1, 1)

        def __init__(self, weights=weights):
            self.weights = weights

        def transform(self, texts):
            assert self.weights == (1, 0, 0, 0)
            # All negative, as log-probabilities are; what differs is random.
            return -100 + np.array(
                [np.random.default_rng(crc32(t.encode())).normal(size=8) for t in texts]
            )

    model = Cosine()
    model.context_model_ = Contexts()
    run(tmp_path / "own", 288, model=model)
    run(tmp_path / "words", 288)
    assert model.context_model_.weights == (1, 1, 1, 1)
    own, words = (read_harvest(tmp_path / name).scores.mean() for name in ("own", "words"))
    # Neighbours of random vectors share few words.
    assert own < words - 0.01


@pytest.mark.parametrize("n", [4, 5, 23, 24, 60])
def test_few_sentences_give_all_their_pairs(tmp_path, n):
    path, model = tmp_path / "pairs.csv", Cosine()
    with pytest.warns(UserWarning, match=f"the {n} sentences gave"):
        done = harvest(model, SENTENCES[:n], path, n_pairs=10_000, random_state=0)
    splits = read_harvest(path).splits.tolist()
    assert done.stopped == "no more pairs" and done.n_pairs == len(splits)
    assert set(splits) == ({"train"} if n < 24 else {"train", "dev", "test"})
    n_train = n - 2 * 4 * (n // 24)
    most = n_train * (n_train - 1) // 2
    assert 0.8 * most <= splits.count("train") <= most


@pytest.mark.parametrize(
    "settings",
    [{"random_state": 4}, {"exclude": {text_hash(SENTENCES[0])}}],
)
def test_a_file_is_continued_with_the_same_settings(whole, settings):
    before = whole.read_bytes()
    with pytest.raises(ValueError, match=r"begun with other sentences, settings.* give another"):
        run(whole, **settings)
    assert whole.read_bytes() == before


def test_a_file_is_continued_by_the_same_model(whole):
    class Other(Cosine):
        def similarity(self, pairs):
            return super().similarity(pairs) - 0.1

    with pytest.raises(ValueError, match="holds scores of another model"):
        run(whole, 800, model=Other())
    assert len(read_harvest(whole).pairs) == 700


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": object()}, TypeError, "model=.* must be a fitted ContextRegressor"),
        ({"model": Cosine}, TypeError, "model=.* must be a fitted ContextRegressor"),
        ({"sentences": "text"}, TypeError, "sentences is one string"),
        ({"sentences": ["a", None]}, TypeError, r"sentences\[1\] = None"),
        ({"sentences": ["a", "A!", "?", "b", "c"]}, ValueError, "only 3 of 5 sentences"),
        ({"n_pairs": 0}, ValueError, "n_pairs=0"),
        ({"seconds": -1}, ValueError, "seconds=-1"),
        ({"exclude": "hash"}, TypeError, "exclude is str"),
        ({"random_state": "x"}, ValueError, "random_state='x'"),
        ({"verbose": -1}, ValueError, "verbose=-1"),
    ],
)
def test_wrong_arguments_raise_before_any_work(tmp_path, changes, error, message):
    path = tmp_path / "pairs.csv"
    given = {"model": Cosine(), "sentences": SENTENCES, "path": path, "n_pairs": 10} | changes
    with pytest.raises(error, match=message):
        harvest(given.pop("model"), given.pop("sentences"), given.pop("path"), **given)
    assert not path.exists()


def test_files_of_others_are_left_alone(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,b\n")
    for read in (run, read_harvest):
        with pytest.raises(ValueError, match=r"not a file of harvested pairs.* first line"):
            read(path)
    assert path.read_text() == "a,b\n"
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_harvest(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError):
        run(tmp_path / "no folder" / "pairs.csv")


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "pairs.csv"
    run(path, 20)
    rows = path.read_bytes()
    nan, infinite = rows.replace(b",0.", b",nan#", 1), rows.replace(b",0.", b",inf,", 1)
    for damaged in (nan, infinite, rows[:-3], rows.replace(b",train", b"", 1), b""):
        path.write_bytes(damaged)
        for read in (read_harvest, run):
            with pytest.raises(ValueError, match="is damaged"):
                read(path)
        assert path.read_bytes() == damaged


def test_texts_with_commas_quotes_and_lines_come_back(tmp_path):
    hard = [f'say "{i}", {word},\n\ttwo\r\nlines' for i, word in enumerate("abcdefgh")]
    path = tmp_path / "pairs.csv"
    harvest(Cosine(), hard, path, n_pairs=10, random_state=0)
    assert {*read_harvest(path).pairs.ravel()} <= set(hard)
    assert len(read_harvest(path).pairs) == 10

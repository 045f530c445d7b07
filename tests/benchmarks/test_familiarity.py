"""Weights of familiarity are fitted on what `benchmarks.intents` judges, and not on banking77."""

import gzip
import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks import familiarity
from benchmarks.familiarity import QUORA, SOURCES, aucs, main, sentence_pairs, shown, weights_of
from film.datasets import make_documents
from film.pairs import familiarities
from tests.benchmarks.test_intents import folder  # noqa: F401


@pytest.fixture
def data(folder, tmp_path):  # noqa: F811
    top = tmp_path / "data"
    top.mkdir()
    for name in ("quora", "clinc150", "banking77"):
        (top / name).symlink_to(folder / name)
    for name in ("books", "multi30k", "ists/train"):
        (top / name).mkdir(parents=True)
    for number, document in enumerate(make_documents(4, random_state=0)):
        (top / "books" / f"{number}.md").write_text(document, encoding="utf-8")
    for number in (1, 2):
        lines = [f"A man {n} rides a horse past {number} trees.\n" for n in range(60)]
        (top / "multi30k" / f"train.{number}.en.gz").write_bytes(
            gzip.compress("".join(lines).encode())
        )
        lines = [f"Minister {n} quits over vote\n" for n in range(40)]
        (top / "ists" / "train" / f"STSint.input.headlines.sent{number}.txt").write_text(
            "".join(lines)
        )
    return top


def test_each_statistic_is_left_out_once_and_recorded(data, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["--data", str(data), "--quick", "--out", str(out)]) == 0
    lines = (out / "familiarity_weights.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    cases = {row["case"] for row in rows}
    assert len(cases) == 1 + len(familiarity.WORD_STATISTICS)
    assert {row["metric"] for row in rows} == {
        "auc_seen",
        "auc_unseen",
        "auc_banking77",
        "auc_captions",
    }
    assert all(row["value"] > 0.9 for row in rows if row["metric"] == "auc_captions")
    assert "# other questions" in capsys.readouterr().out


def test_missing_parts_are_named(data, tmp_path, capsys):
    (data / "multi30k" / "train.1.en.gz").unlink()
    assert main(["--data", str(data), "--quick"]) == 2
    assert "lacks captions of multi30k" in capsys.readouterr().err
    assert main(["--data", str(tmp_path / "nothing")]) == 2
    with pytest.raises(FileNotFoundError, match="no file"):
        sentence_pairs(tmp_path)


def test_weights_are_relative_to_the_fitted_kind():
    rng = np.random.default_rng(0)
    names = (QUORA, *SOURCES, "Quora dev", "banking77", "captions of multi30k")
    centres = rng.normal(size=(len(names), 4))
    centres[4] = centres[0]
    rows = {name: rng.normal(size=(300, 4)) + 2 * c for name, c in zip(names, centres, strict=True)}
    weights, intercepts = weights_of(rows)
    assert weights.shape == (3, 4) and intercepts.shape == (3,)
    told = familiarities(rows["banking77"], 0, 1, weights, intercepts)
    own = familiarities(rows["Quora dev"], 0, 1, weights, intercepts)
    expected = roc_auc_score(np.repeat([1, 0], 300), np.append(own, told))
    found = aucs(rows)
    assert found["auc_banking77"] == pytest.approx(expected, abs=1e-12)
    # Weights that were never shown intents know less of them, and what is reported teaches nothing.
    assert found["auc_unseen"] < found["auc_seen"]
    del rows["banking77"], rows["captions of multi30k"]
    assert np.array_equal(weights_of(rows)[0], weights)
    assert shown(weights, intercepts).count("#") == 3

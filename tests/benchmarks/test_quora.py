import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

pytest.importorskip("matplotlib", reason="the figures need the extra plot")

from benchmarks import quora
from benchmarks.support.folders import data_folder, film_data
from benchmarks.support.quora_data import generated, read_folder
from estimators import FILM, DisjointPairsKFold, PairwiseKNNClassifier
from film.pairs import effective_ranks, rates_over_k


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("quora")
    assert quora.main(["--quick", "--out", str(out)]) == 0
    return out


def test_submission_has_kaggles_columns_and_one_probability_a_test_pair(finished: Path):
    metrics = json.loads((finished / "metrics.json").read_text())
    with open(finished / "submission.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["test_id", "is_duplicate"]
    assert len(rows) == metrics["n_test"]
    values = np.array([float(row["is_duplicate"]) for row in rows])
    assert ((values > 0) & (values < 1)).all()
    # Shifted from the data's prior to the lower one of the test set.
    assert values.mean() < metrics["data_prior"]


def test_metrics_hold_the_rates_for_every_k_of_the_paper(finished: Path):
    metrics = json.loads((finished / "metrics.json").read_text())
    curve = metrics["k_curve"]
    assert curve["k"] == list(range(1, 56))
    assert np.allclose(np.add(curve["tpr"], curve["fnr"]), 1)
    assert np.allclose(np.add(curve["tnr"], curve["fpr"]), 1)
    assert (np.diff(curve["tpr"]) >= 0).all()
    row = metrics["dev"]["Pairwise kNN, collection"]
    assert {"accuracy", "log_loss", "log_loss_at_prior", "roc_auc", "k"} <= set(row)


def test_learning_beats_the_baselines_on_the_generated_pairs(finished: Path):
    rows = json.loads((finished / "metrics.json").read_text())["dev"]
    assert rows["FILM cosine"]["roc_auc"] > rows["TF-IDF cosine"]["roc_auc"] + 0.02
    prior = json.loads((finished / "metrics.json").read_text())["submission_prior"]
    entropy = -(prior * np.log(prior) + (1 - prior) * np.log(1 - prior))
    assert rows["Pairwise kNN, collection"]["log_loss_at_prior"] < entropy
    stack = rows["fast_duplicates, collection"]
    assert stack["roc_auc"] > rows["FILM cosine"]["roc_auc"]
    assert stack["log_loss"] < rows["Pairwise kNN, collection"]["log_loss"]


def test_five_figures_are_drawn(finished: Path):
    drawn = sorted(path.name for path in finished.glob("figure_*.png"))
    assert [name[:8] for name in drawn] == [f"figure_{i}" for i in range(1, 6)]
    assert all((finished / name).stat().st_size > 2000 for name in drawn)


def test_a_folder_without_training_pairs_is_refused_with_the_remedy(tmp_path: Path, capsys):
    assert quora.main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "train.csv" in capsys.readouterr().err


def test_an_output_that_is_a_file_is_refused_before_the_work(tmp_path: Path, capsys):
    place = tmp_path / "taken"
    place.write_text("mine")
    assert quora.main(["--quick", "--out", str(place)]) == 2
    assert place.read_text() == "mine"
    assert str(place) in capsys.readouterr().err


def test_a_prior_outside_0_1_is_refused(capsys):
    with pytest.raises(SystemExit):
        quora.main(["--prior", "1.5"])
    assert "between 0 and 1" in capsys.readouterr().err


def test_ones_own_folder_with_train_alone_is_enough(tmp_path: Path):
    lines = ["question1,question2,is_duplicate"]
    lines += [f"what is thing {i},what be thing {i},{i % 2}" for i in range(40)]
    (tmp_path / "train.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = read_folder(tmp_path, on_error="raise", limit=None, seed=0)
    assert len(data.train) + len(data.dev) == 40
    assert set(data.train.ravel()).isdisjoint(data.dev.ravel())


@pytest.mark.skipif(film_data() is None, reason="FILM_DATA is not set")
def test_excluded_rows_are_dropped_from_training_and_counted():
    folder = data_folder(None, "quora")
    data = read_folder(folder, on_error="raise", limit=None, seed=0)
    assert data.n_excluded == 2
    assert len(data.train) == 38_725
    assert len(data.test) == 7_844


def test_what_margins_shared_is_not_left_behind(finished: Path):
    assert [path.name for path in (finished / "cache").glob("*") if path.is_dir()] == ["joblib"]


def test_margins_are_judged_on_the_pairs_of_the_first_fold(tmp_path: Path):
    made = generated(300, 0)
    given = ["--rank", "60", "--d", "20", "--folds", "2", "--out", str(tmp_path)]
    options = quora._parser().parse_args(given)
    known = [*made.train.ravel(), *made.dev.ravel()]
    tried = quora._margin_losses(made, known, options)
    assert [row["margin"] for row in tried] == list(quora.MARGINS)
    rule, ranked = quora._ranked(made, options, quora.MARGINS[2], known)
    _, test = next(DisjointPairsKFold(2, random_state=0).split(made.train, made.y_train))
    rates = rates_over_k(
        effective_ranks(rule.out_of_fold_ranks_[test], "both"), made.y_train[test], quora.WIDE_KS
    )
    assert tried[2]["log_loss"] == rates.log_loss.min()
    assert ranked.known.min() >= 0


@pytest.mark.parametrize("chosen", [quora.Choice(2, "both"), quora.Choice(5, "either")])
def test_a_row_judges_as_the_rule_itself(chosen: quora.Choice):
    made = generated(300, 0)
    embedder = make_pipeline(TfidfVectorizer(), FILM(d=20, rank=60, random_state=0))
    rule = PairwiseKNNClassifier(embedder, k=chosen.k, mode=chosen.mode, cv=2)
    rule.fit(made.train, made.y_train)
    ranked = quora.Ranked(rule.out_of_fold_ranks_, made.y_train, rule.rank(made.dev), made.y_dev)
    row = quora._rule_row(ranked, chosen, float(made.y_train.mean()), 0.2)
    p = rule.predict_proba(made.dev)[:, 1]
    assert row["accuracy"] == np.mean(rule.predict(made.dev) == made.y_dev)
    assert row["log_loss"] == pytest.approx(log_loss(made.y_dev, p))

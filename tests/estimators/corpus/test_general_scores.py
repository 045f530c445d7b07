"""Scores without labels, on changes that keep the meaning of a text and changes that do not."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from estimators import load_model, save_model
from estimators.corpus.duplicate_finder import DuplicateFinder
from film.datasets import make_question_pairs

CHANGES = Path(os.environ.get("FILM_DATA", "")) / "changes" / "changes.csv"


@pytest.mark.skipif(
    not os.environ.get("FILM_DATA") or not CHANGES.is_file(),
    reason="FILM_DATA names no folder with changes/changes.csv",
)
@pytest.mark.parametrize("encoder", ["none", "auto"])
def test_changes_of_meaning_score_lower(encoder):
    with open(CHANGES, encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    same = [int(row["same"]) for row in rows]
    questions = make_question_pairs(1500, random_state=0).pairs.ravel().tolist()
    texts = [row[side] for row in rows for side in ("text1", "text2")]
    others = [text for text in dict.fromkeys(questions) if text not in texts][:300]
    found = DuplicateFinder(encoder=encoder).fit([*texts, *others]).find(threshold=0.01)
    score = dict(zip(map(tuple, found.pairs.tolist()), found.scores.tolist(), strict=True))
    scores = [score.get((2 * i, 2 * i + 1), 0.0) for i in range(len(rows))]
    assert len(rows) == 50
    assert roc_auc_score(same, scores) >= 0.85


def test_given_pairs_score_as_in_a_search_of_all_rows():
    texts = make_question_pairs(120, random_state=0).pairs.ravel().tolist()
    texts = list(dict.fromkeys(texts))
    n = len(texts) // 2
    finder = DuplicateFinder(n_neighbors=5).fit(texts[:n])
    found = finder.find(threshold=0.05)
    scores, kind = finder.score_pairs(found.ids.tolist())
    np.testing.assert_allclose(scores, found.scores, rtol=1e-12)
    assert kind.tolist() == found.kind.tolist()
    # Neighbours of rows that came later count, too.
    finder.add(texts[n:])
    grown = finder.find(threshold=0.05)
    scores, _ = finder.score_pairs(grown.ids.tolist())
    np.testing.assert_allclose(scores, grown.scores, rtol=1e-12)


@pytest.mark.parametrize("wrong", [[-1, 1], [1, 9], [1]])
def test_impossible_word_counts_of_a_file_are_refused(tmp_path, wrong):
    finder = DuplicateFinder().fit(["tea", "tea milk"])
    space = finder._scores.index.space
    packed, _, n_texts = space._word_counts
    space._word_counts = packed, np.array(wrong), n_texts
    save_model(finder, tmp_path / "finder.film")
    with pytest.raises(ValueError, match="word counts"):
        load_model(tmp_path / "finder.film")

"""Scores without labels, on changes that keep the meaning of a text and changes that do not."""

import csv
import os
from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

from estimators.corpus.duplicate_finder import DuplicateFinder
from film.datasets import make_question_pairs

CHANGES = Path(os.environ.get("FILM_DATA", "")) / "changes" / "changes.csv"


@pytest.mark.skipif(
    not os.environ.get("FILM_DATA") or not CHANGES.is_file(),
    reason="FILM_DATA names no folder with changes/changes.csv",
)
def test_changes_of_meaning_score_lower():
    with open(CHANGES, encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    same = [int(row["same"]) for row in rows]
    questions = make_question_pairs(1500, random_state=0).pairs.ravel().tolist()
    texts = [row[side] for row in rows for side in ("text1", "text2")]
    others = [text for text in dict.fromkeys(questions) if text not in texts][:300]
    found = DuplicateFinder().fit([*texts, *others]).find(threshold=0.01)
    score = dict(zip(map(tuple, found.pairs.tolist()), found.scores.tolist(), strict=True))
    scores = [score.get((2 * i, 2 * i + 1), 0.0) for i in range(len(rows))]
    assert len(rows) == 50
    assert roc_auc_score(same, scores) >= 0.85

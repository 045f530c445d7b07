"""Scores without labels, on changes that keep the meaning of a text and changes that do not."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.feature_extraction.text import TfidfVectorizer
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


TABLE = [
    "the invoice for 20 lamps is paid",
    "the invoice for 30 lamps is paid",
    "the invoice for 20 lamps is not paid",
    "The invoice for 20  lamps is paid",
    "",
    "where is my parcel?",
    "my parcel, where is it",
]
PAIRS = [(0, 1), (0, 2), (0, 3), (0, 4), (5, 6), (0, 5)]


@pytest.mark.parametrize("encoder", [None, TfidfVectorizer(analyzer="char_wb")])
def test_explanations_sum_to_the_scores(encoder):
    finder = DuplicateFinder(encoder=encoder).fit(TABLE)
    scores, kinds = finder.score_pairs(PAIRS)
    told = finder.explain(PAIRS)
    assert [each.score for each in told] == scores.tolist()
    assert [each.kind for each in told] == kinds.tolist()
    assert [bool(each.effects) for each in told] == [True, True, False, False, True, True]
    for each in told:
        if each.effects and each.score:
            odds = logit(each.start) + sum(each.effects.values())
            assert expit(odds) == pytest.approx(each.score, abs=1e-9)
    number, negation, copy = told[:3]
    assert number.effects["numbers and codes"] < 0 == number.effects["negation and order"]
    assert negation.effects["negation and order"] < 0
    assert number.without("numbers and codes") > number.score
    assert (copy.difference, copy.kind) == ("", "copy")
    assert any(each.effects.get("meaning", 0) for each in told) == (encoder is not None)
    with pytest.raises(KeyError):
        number.without("colour")


def test_explanations_are_text_records_and_html():
    texts = ["a <b>phone</b> of 128 GB\n", "a <b>phone</b> of 256 GB"]
    (told,) = DuplicateFinder().fit([*texts, *TABLE]).explain([(0, 1)])
    lines = str(told).splitlines()
    assert lines[0] == f"score {told.score:.2f}" and len(lines) == 3 + len(told.lines())
    assert f"(without it: {told.without('numbers and codes'):.2f})" in str(told)
    assert told.to_dict()["effects"] == told.effects and told.to_dict()["text1"] == texts[0]
    html = told._repr_html_()
    assert "<b>phone" not in html and "&lt;b&gt;phone" in html and "128 / 256" in html


def test_explanations_of_other_scores():
    pairs = [("a", "b")]
    with pytest.raises(ValueError, match="embedder"):
        DuplicateFinder(embedder=TfidfVectorizer().fit(TABLE)).fit(TABLE).explain([(0, 1)])
    with pytest.raises(ValueError, match="pairs"):
        DuplicateFinder().fit(TABLE).explain(pairs)

"""The explanation page: bounded memory, a way from the typical pair to this one, safe texts."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from estimators import fast_duplicates, save_model
from estimators.inspection import Evidence, Explanation, explain_words
from estimators.inspection.pages.page import duplicates_page, explanations_page
from estimators.inspection.words import KEPT_CONTRIBUTIONS
from film.datasets import make_question_pairs
from tests.estimators.cli.commands import run, write_csv
from tests.estimators.inspection.conftest import browser, chromium, unchecked_browser

__all__ = ["browser", "chromium", "unchecked_browser"]

DATA = make_question_pairs(200, random_state=0)
N_WORDS = 1500
HOSTILE = [
    "</script><script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    "a\u2028b\u2029c",
    "nul\0here",
    "lone \ud800 surrogate",
    "\u202eexe.gnp",
    "next\x85line \x9b31m",
]


def long_texts(n=N_WORDS, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"word{i}" for i in range(400)]
    return [" ".join(rng.choice(words, n)) for _ in range(2)]


@pytest.fixture(scope="module")
def embedder():
    texts = [text for seed in range(8) for text in long_texts(60, seed)]
    return make_pipeline(TfidfVectorizer(), TruncatedSVD(8, random_state=0)).fit(texts)


@pytest.fixture(scope="module")
def classifier():
    return fast_duplicates(d=16, rank=25, cv=2).fit(DATA.pairs, DATA.y)


@pytest.fixture(scope="module")
def model(classifier, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.film"
    save_model(classifier, path)
    return path


def content(html):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    return json.loads(data)


def test_04_what_is_kept_of_long_texts_is_exact_and_stated(embedder):
    (short,) = explain_words(embedder, [long_texts(50)])
    assert isinstance(short.contributions, np.ndarray) and not short.n_rest
    assert short.truncation == "" and short.rest == 0
    (explanation,) = explain_words(embedder, [long_texts()])
    (all_kept,) = explain_words(embedder, [long_texts()], keep=N_WORDS**2)
    whole = all_kept.contributions
    assert explanation.similarity == pytest.approx(whole.sum(), abs=1e-9)
    kept = explanation.contributions
    assert kept.sum() + explanation.rest == pytest.approx(explanation.similarity, abs=1e-12)
    assert kept.nnz + explanation.n_rest == np.count_nonzero(whole)
    np.testing.assert_allclose(explanation.totals1, whole.sum(axis=1), atol=1e-9)
    total = f"{np.count_nonzero(whole):,}"
    share = f"{kept.sum() / explanation.similarity:.0%}"
    assert f"Only the {KEPT_CONTRIBUTIONS:,} largest of {total} word pairs" in str(explanation)
    assert f"({share})" in str(explanation)
    assert explanation.truncation in explanation._repr_html_()
    again = Explanation(**json.loads(json.dumps(explanation.to_dict())))
    assert again.to_dict() == explanation.to_dict()
    with pytest.raises(ValueError, match=r"contributions are left out.*keep="):
        explanation.chunks(["word1"], ["word1"])


def test_04_what_is_written_of_long_texts_is_small(embedder):
    (explanation,) = explain_words(embedder, [long_texts()])
    of_texts = sum(map(len, long_texts()))
    # Places, sums and shades of 3,000 words, and 5,000 contributions; the whole matrix has 2.25
    # million, of at least 5 characters each.
    assert len(json.dumps(explanation.to_dict())) < 25 * of_texts
    assert len(explanation._repr_html_()) < 40 * of_texts
    page = len(explanations_page([explanation])) - len(explanations_page([]))
    assert page < 15 * of_texts


def test_04_long_texts_are_plotted_by_their_strongest_words(embedder):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    (explanation,) = explain_words(embedder, [long_texts()])
    ax = explanation.plot()
    assert ax.images[0].get_array().shape == (60, 60)
    assert max(ax.figure.get_size_inches()) < 20
    assert "60 of 1,500 and 60 of 1,500 words" in ax.get_xlabel()
    pyplot.close("all")


def test_04_page_and_terminal_say_what_is_left_out(model, tmp_path):
    words = "how what learn best india quora".split()
    rng = np.random.default_rng(0)
    known = [" ".join(rng.choice(words, 300)) for _ in range(2)]
    table = write_csv(tmp_path / "long.csv", ["text1", "text2"], [known])
    page = tmp_path / "page.html"
    ran = run("explain", table, "--model", model, "--html", page, "--out", tmp_path / "out.txt")
    assert ran.code == 0, ran.err
    said = "Only the 5,000 largest of"
    assert said in (tmp_path / "out.txt").read_text(encoding="utf-8")
    (pair,) = content(page.read_text(encoding="utf-8"))["pairs"]
    assert said in pair["truncation"] and len(pair["links"]) <= 3 * KEPT_CONTRIBUTIONS


def test_20_sameness_is_the_last_step_and_unseen_differences_are_shown(classifier):
    (verdict,) = classifier.explain(DATA.pairs[:1])
    raised = 1 / (1 + (1 / verdict.probability - 1) * np.exp(-3.0))
    same = replace(
        verdict,
        probability=raised,
        sameness=Evidence("the texts are copies", 1.0, 3.0, 0.0),
        unseen="nothing sees that the texts differ in '+'",
    )
    for steps in (same.steps(), same.steps(1000)):
        assert steps[-1].name == "the texts are copies"
        assert steps[-1].probability == pytest.approx(raised, abs=1e-12)
    (pair,) = content(explanations_page([same]))["pairs"]
    assert pair["verdict"]["sameness"] == {"name": "the texts are copies", "effect": 3.0}
    assert pair["verdict"]["unseen"] == same.unseen
    for shown in (str(same), same._repr_html_()):
        assert "the texts are copies" in shown and "nothing sees that" in shown


FORMULAS = {
    '=HYPERLINK("x")': True,
    "+SUM(A1)": True,
    "-so what": True,
    "@cmd": True,
    "\tx": True,
    "＝1+1": True,
    "-5.2": False,
    "+49": False,
    "1=1": False,
    "plain": False,
}


def test_10_cells_that_start_like_a_formula_are_escaped_in_the_download(browser):
    texts = [{"id": text, "text": text, "copies": []} for text in FORMULAS]
    n = len(texts)
    merges = [(0, 1, 0.9), *((n + i, i + 2, 0.9) for i in range(n - 2))]
    page = {"score_name": "similarity", "threshold": 0.8, "lowest": 0.5, "texts": texts}
    browser.open(duplicates_page(page | {"merges": merges, "pairs": []}))
    for safe in (True, False):
        _, *rows = csv.reader(io.StringIO(browser.download_text(), newline=""))
        for row, (text, formula) in zip(rows, FORMULAS.items(), strict=True):
            expected = f"'{text}" if formula and safe else text
            assert row[1:3] == [expected, expected]
        browser.click("#escape")


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.xlsx"])
def test_10_explanations_are_not_written_as_a_table(model, tmp_path, name):
    ran = run("explain", "-p", "a", "b", "--model", model, "--out", tmp_path / name)
    assert ran.code == 2 and "end the name in .txt" in ran.err
    assert not (tmp_path / name).exists()


def test_10_the_name_of_the_result_says_its_form(model, tmp_path):
    out = tmp_path / "x.jsonl"
    assert run("explain", "-p", "a", "b", "--model", model, "--out", out).code == 0
    assert json.loads(out.read_text(encoding="utf-8"))["text1"] == "a"


def test_20_hostile_texts_in_every_field_run_nothing(browser, classifier):
    pairs = [(hostile, hostile) for hostile in HOSTILE]
    verdicts = [
        replace(
            verdict,
            members=[Evidence(text, 0.5, 1.0, 0.25)],
            features=[Evidence(text, 0.5, -1.0, 0.25)],
            words={text: replace(verdict.words["film"], title=text)},
            terms={text: [(text, 1.0)]},
            sameness=Evidence(text, 1.0, 1.0, 0.0),
            unseen=text,
        )
        for verdict, text in zip(classifier.explain(pairs), HOSTILE, strict=True)
    ]
    browser.open(explanations_page(verdicts, title=HOSTILE[0]))
    shown = [re.sub("[\ud800-\udfff\0\x80-\x9f]", "\ufffd", text) for text in HOSTILE]
    assert browser.texts(".sentence")[::2] == shown
    assert browser.texts(".note:not(.familiarity)") == shown
    for button in browser.all("button[aria-expanded]"):
        button.click()
    for word in browser.all(".word"):
        browser.point_at(word)
    assert browser.texts("main img, main a, main script, main iframe") == []
    # An override of the direction ends with the text it is in.
    assert browser.run(
        "return [...document.querySelectorAll('bdi, .sentence')].every("
        "(e) => getComputedStyle(e).unicodeBidi === 'isolate')"
    )
    fragments = "".join(verdict._repr_html_() for verdict in verdicts)
    browser.open(f"<!doctype html><meta charset=utf-8><link rel=icon href='data:,'>{fragments}")
    for word in browser.all(".film .word"):
        browser.point_at(word)
    assert browser.texts("img, a, iframe") == []

import numpy as np
import pytest

from benchmarks.support.bench_corpus import KINDS, PAIRS_PER_TEXT, bench_corpus
from film.datasets import make_documents
from film.text import normalize_text


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "books"
    folder.mkdir()
    for i, document in enumerate(make_documents(6, n_scenes=12, random_state=1)):
        (folder / f"book{i}.md").write_text(f"# Chapter\n\n{document}", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def corpus(books):
    return bench_corpus(400, books=books)


def test_texts_differ_and_are_as_many_as_asked_for(books, corpus):
    assert len(corpus.texts) == len(set(map(normalize_text, corpus.texts))) == 400
    # The books hold fewer than 1100 pieces; crossings of two make the rest.
    large = bench_corpus(2000, books=books)
    assert len(set(map(normalize_text, large.texts))) == len(large.texts) == 2000


def test_the_same_seed_makes_the_same_and_another_another(books, corpus):
    same, other = bench_corpus(400, books=books), bench_corpus(400, books=books, seed=1)
    assert same.texts == corpus.texts and other.texts != corpus.texts
    for left, right in zip(same[1:], corpus[1:], strict=True):
        np.testing.assert_array_equal(left, right)


def test_pairs_are_what_their_kinds_say(corpus):
    assert corpus.pairs.shape == (round(400 * PAIRS_PER_TEXT), 2)
    assert (corpus.pairs[:, 0] < corpus.pairs[:, 1]).all()
    assert len(np.unique(corpus.pairs, axis=0)) == len(corpus.pairs)
    assert set(corpus.kinds) == set(KINDS)
    same = corpus.meanings[corpus.pairs[:, 0]] == corpus.meanings[corpus.pairs[:, 1]]
    np.testing.assert_array_equal(same, corpus.kinds == "copy")
    share = {}
    for kind in KINDS:
        overlaps = []
        for left, right in corpus.pairs[corpus.kinds == kind]:
            words = [set(normalize_text(corpus.texts[row]).split()) for row in (left, right)]
            overlaps.append(len(words[0] & words[1]) / len(words[0] | words[1]))
        share[kind] = np.mean(overlaps)
    # A near miss shares all words but one or two with its origin or with a copy of it.
    assert min(share["copy"], share["near-miss"]) > 0.4 > 0.2 > share["random"]


def test_books_come_from_the_public_sets_else_from_a_grammar(books, monkeypatch):
    monkeypatch.setenv("FILM_DATA", str(books.parent))
    assert bench_corpus(60).texts == bench_corpus(60, books=books).texts
    monkeypatch.delenv("FILM_DATA")
    made = bench_corpus(60)
    assert len(made.texts) == 60 and made.texts != bench_corpus(60, books=books).texts


def test_too_few_texts_or_no_books_are_refused(tmp_path):
    with pytest.raises(ValueError, match="n must be at least 20, got 19"):
        bench_corpus(19)
    with pytest.raises(FileNotFoundError, match="holds no file"):
        bench_corpus(50, books=tmp_path)

import numpy as np
import pytest

from benchmarks.support.bench_corpus import bench_corpus
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


def test_copies_share_words_with_what_they_are_copies_of(corpus):
    words = [set(normalize_text(text).split()) for text in corpus.texts]
    copies = np.flatnonzero(corpus.meanings != np.arange(400))
    assert len(copies) == 100
    shares = [
        len(words[row] & words[origin]) / len(words[row] | words[origin])
        for row, origin in zip(copies, corpus.meanings[copies], strict=True)
    ]
    assert np.mean(shares) > 0.4


def test_too_few_texts_or_no_books_are_refused(tmp_path):
    with pytest.raises(ValueError, match="n must be at least 20, got 19"):
        bench_corpus(19)
    with pytest.raises(FileNotFoundError, match="holds no file"):
        bench_corpus(50, books=tmp_path)

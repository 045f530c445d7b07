import os

import pytest

from film.contexts import (
    SentenceCorpus,
    make_corpus,
    plain_text,
    read_documents,
    split_sentences,
)
from film.text import normalize_text

DOCUMENTS = [
    ("first.md", "# Title\n\n" + " ".join(f"Tale {k} was told by number {k}." for k in range(23))),
    ("empty.md", "# Only a title\n\n* * *\n"),
    ("one.md", "A single sentence stands here."),
    ("text.txt", "# 1 is a number. Tale 3 was told by number 3! And so it ended.\n\nAt last."),
    ("third.md", "\n\n".join(f"Paragraph {k} speaks. It *ends*." for k in range(9))),
]


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(DOCUMENTS, chunk_length=10)


def sentences_of(name, text):
    return split_sentences(plain_text(text, markdown=not name.endswith(".txt")))


def test_rows_are_the_sentences_of_the_documents_in_order(corpus):
    texts, documents, chunks = [], [], []
    n_chunks = 0
    for k, (name, text) in enumerate(DOCUMENTS):
        sentences = sentences_of(name, text)
        texts += sentences
        documents += [k] * len(sentences)
        chunks += [n_chunks + i // 10 for i in range(len(sentences))]
        n_chunks += -(-len(sentences) // 10)
    assert corpus.sentences == texts
    assert corpus.texts([5, 0, 5]) == [texts[5], texts[0], texts[5]]
    assert corpus.documents.tolist() == documents
    assert corpus.chunks.tolist() == chunks
    assert (corpus.n_sentences, corpus.n_documents, corpus.n_chunks) == (len(texts), 5, n_chunks)
    assert corpus.names == [name for name, _ in DOCUMENTS]
    joined = [
        " ".join(text for text, chunk in zip(texts, chunks, strict=True) if chunk == number)
        for number in range(n_chunks)
    ]
    assert list(corpus.chunk_texts()) == joined


def test_centres_have_their_sides_in_the_same_document(corpus):
    expected = [
        i
        for i in range(1, corpus.n_sentences - 1)
        if len(set(corpus.documents[i - 1 : i + 2].tolist())) == 1
    ]
    assert corpus.centres().tolist() == expected


def test_places_of_a_text_do_not_hang_on_case_and_punctuation(corpus):
    texts = corpus.texts(range(corpus.n_sentences))
    asked = ["TALE 3 -- was told by number 3", texts[30], "Nobody wrote this.", "", "?!"]
    found = corpus.rows_of(asked)
    for text, rows in zip(asked, found, strict=True):
        key = normalize_text(text)
        expected = [i for i, other in enumerate(texts) if key and normalize_text(other) == key]
        assert rows.tolist() == expected
    assert len(found[0]) == 2


@pytest.mark.parametrize("rows", [[-1], [10**6], [0, 57_000]])
def test_rows_outside_are_named(corpus, rows):
    with pytest.raises(IndexError, match="rows must be from 0 to"):
        corpus.texts(rows)
    assert "5 documents" in repr(corpus)


@pytest.mark.parametrize("documents", [[0, 0], [0, 1, 0], [0, 1, 3], [-1, 0, 0], [[0, 0, 0]]])
def test_documents_that_do_not_fit_the_sentences_are_named(documents):
    with pytest.raises(ValueError, match="documents must be 3 ascending numbers of 2 documents"):
        SentenceCorpus(["A.", "B.", "C."], documents, ["one", "two"])


@pytest.mark.parametrize(
    ("documents", "settings", "error", "named"),
    [
        ("a text", {}, TypeError, "give read_documents"),
        ([("a", "b", "c")], {}, TypeError, "place 1"),
        (["fine.", None], {}, TypeError, "place 2"),
        ([("name", b"bytes")], {}, TypeError, "place 1"),
        ([], {}, ValueError, "0 documents contain none"),
        (["", "***", "# Title"], {}, ValueError, "3 documents contain none"),
        (["A."], {"chunk_length": 0}, ValueError, "chunk_length must be"),
        (["A."], {"max_characters": 3}, ValueError, "max_characters must be"),
    ],
)
def test_wrong_documents_are_named(documents, settings, error, named):
    with pytest.raises(error, match=named):
        make_corpus(documents, **settings)


def test_documents_are_read_from_files_and_folders(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "b.md").write_text("B.")
    (tmp_path / "a.TXT").write_bytes(b"\xef\xbb\xbfA.\r\n")
    (tmp_path / "sub/c.markdown").write_text("C.")
    (tmp_path / "sub/d.txt").write_bytes("D \u00e9.".encode("utf-16"))
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden/e.md").write_text("E.")
    assert list(read_documents(tmp_path)) == [
        ("a.TXT", "A.\r\n"),
        ("b.md", "B."),
        ("sub/c.markdown", "C."),
        ("sub/d.txt", "D \u00e9."),
    ]
    (tmp_path / "LICENSE").write_text("L.")
    given = [tmp_path / "LICENSE", os.fspath(tmp_path / "b.md")]
    assert list(read_documents(given)) == [("LICENSE", "L."), ("b.md", "B.")]


def test_broken_encodings_name_the_file_and_a_remedy(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"First line.\nCaf\xe9 noir.")
    with pytest.raises(ValueError, match=r"latin\.txt, line 2: byte 16 is 0xe9.*errors='replace'"):
        list(read_documents(path))
    assert next(iter(read_documents(path, encoding="latin-1")))[1].endswith("Caf\u00e9 noir.")
    assert next(iter(read_documents(path, errors="replace")))[1].endswith("Caf\ufffd noir.")


@pytest.mark.parametrize(
    ("paths", "settings", "error", "named"),
    [
        ("nowhere", {}, FileNotFoundError, "no file or folder 'nowhere'"),
        ([], {}, ValueError, "no document in an empty list"),
        (".", {"encoding": "utf-99"}, ValueError, "encoding must be"),
    ],
)
def test_wrong_paths_are_named_at_once(paths, settings, error, named):
    with pytest.raises(error, match=named):
        read_documents(paths, **settings)

import gzip
import itertools
import json
import os
import pickle
import shutil

import pytest

from film.contexts import SentenceCorpus, plain_text, read_documents, split_sentences, write_corpus
from film.contexts.corpus.sentence_corpus import FILES, record_digest
from film.text import normalize_text

DOCUMENTS = [
    ("first.md", "# Title\n\n" + " ".join(f"Tale {k} was told by number {k}." for k in range(23))),
    ("empty.md", "# Only a title\n\n* * *\n"),
    ("one.md", "A single sentence stands here."),
    ("text.txt", "# 1 is a number. Tale 3 was told by number 3! And so it ended.\n\nAt last."),
    ("third.md", "\n\n".join(f"Paragraph {k} speaks. It *ends*." for k in range(9))),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus") / "built", DOCUMENTS, chunk_length=10)


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
    assert list(corpus.iterate_texts(block=7)) == texts
    assert corpus.texts(range(len(texts))) == texts
    assert corpus.texts([5, 0, 5]) == [texts[5], texts[0], texts[5]]
    assert corpus.documents.tolist() == documents
    assert corpus.chunks.tolist() == chunks
    assert (corpus.n_sentences, corpus.n_documents, corpus.n_chunks) == (len(texts), 5, n_chunks)
    assert corpus.names == [name for name, _ in DOCUMENTS]
    starts = corpus.chunk_starts().tolist()
    assert list(corpus.chunk_texts()) == [
        " ".join(texts[a:b]) for a, b in itertools.pairwise(starts)
    ]
    assert corpus.chunks[starts[:-1]].tolist() == list(range(n_chunks))
    assert starts[-1] == len(texts)


@pytest.mark.parametrize("sides", [1, 2, 5, 100])
def test_centres_have_their_sides_in_the_same_document(corpus, sides):
    expected = [
        i
        for i in range(sides, corpus.n_sentences - sides)
        if len(set(corpus.documents[i - sides : i + sides + 1].tolist())) == 1
    ]
    assert corpus.centres(sides).tolist() == expected


def test_places_of_a_text_do_not_hang_on_case_and_punctuation(corpus):
    texts = corpus.texts(range(corpus.n_sentences))
    asked = ["TALE 3 -- was told by number 3", texts[30], "Nobody wrote this.", "", "?!"]
    found = corpus.rows_of(asked)
    for text, rows in zip(asked, found, strict=True):
        key = normalize_text(text)
        expected = [i for i, other in enumerate(texts) if key and normalize_text(other) == key]
        assert rows.tolist() == expected
    assert len(found[0]) == 2


def test_a_corpus_is_pickled_as_its_path(corpus, tmp_path):
    copied = pickle.loads(pickle.dumps(corpus))
    assert len(pickle.dumps(corpus)) < 1000
    assert copied.digest == corpus.digest and copied.texts([3]) == corpus.texts([3])
    folder = tmp_path / "other"
    dumped = pickle.dumps(write_corpus(folder, DOCUMENTS[:1]))
    shutil.rmtree(folder)
    write_corpus(folder, DOCUMENTS[:2])
    with pytest.raises(ValueError, match="built again from other documents"):
        pickle.loads(dumped)


@pytest.mark.parametrize("rows", [[-1], [10**6], [0, 57_000]])
def test_rows_outside_are_named(corpus, rows):
    with pytest.raises(IndexError, match="rows must be from 0 to"):
        corpus.texts(rows)
    with pytest.raises(ValueError, match="rows must be a list of integers"):
        corpus.texts([rows])
    assert "5 documents" in repr(corpus)


def test_the_digest_names_documents_and_settings(corpus, tmp_path):
    same = write_corpus(tmp_path / "same", iter(DOCUMENTS))
    assert same.digest == corpus.digest
    others = [
        write_corpus(tmp_path / "a", DOCUMENTS, chunk_length=9),
        write_corpus(tmp_path / "b", DOCUMENTS[::-1]),
        write_corpus(tmp_path / "c", DOCUMENTS, markdown=False),
        write_corpus(tmp_path / "d", [("other", text) for _, text in DOCUMENTS]),
        write_corpus(tmp_path / "e", DOCUMENTS[:-1]),
    ]
    assert len({corpus.digest, *(other.digest for other in others)}) == 6


def test_an_interrupted_build_is_made_anew(corpus, tmp_path):
    def interrupted():
        yield from DOCUMENTS[:4]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_corpus(tmp_path, interrupted())
    with pytest.raises(FileNotFoundError, match="or an unfinished one"):
        SentenceCorpus(tmp_path)
    seen = []
    assert write_corpus(tmp_path, DOCUMENTS, advance=seen.append).digest == corpus.digest
    assert seen == [1] * 5
    # A finished corpus is compared and opened.
    assert write_corpus(tmp_path, DOCUMENTS, advance=seen.append).digest == corpus.digest
    assert seen == [1] * 10


@pytest.mark.parametrize(
    ("documents", "settings", "named"),
    [
        (DOCUMENTS[:3], {}, "a corpus of 5 documents, not 3"),
        ([*DOCUMENTS, ("more", "Text.")], {}, "other documents: 'more', number 6"),
        ([("first.md", "Other.")], {}, "other documents: 'first.md', number 1"),
        (DOCUMENTS, {"chunk_length": 4}, "chunk_length=10, not 4"),
    ],
)
def test_a_finished_corpus_of_others_is_not_overwritten(corpus, documents, settings, named):
    with pytest.raises(FileExistsError, match=f"{named}.*remove the folder"):
        write_corpus(corpus.folder, documents, **settings)
    SentenceCorpus(corpus.folder)


@pytest.fixture
def copied(corpus, tmp_path):
    return shutil.copytree(corpus.folder, tmp_path / "copied")


@pytest.mark.parametrize("name", FILES)
def test_changed_cut_and_missing_files_are_named(copied, name):
    path = copied / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ValueError, match=f"{name} was cut or changed"):
        SentenceCorpus(copied)
    SentenceCorpus(copied, verify=False)
    path.write_bytes(content[:-1])
    with pytest.raises(ValueError, match=f"{name} was cut or changed"):
        SentenceCorpus(copied, verify=False)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=name):
        SentenceCorpus(copied)


def test_a_changed_or_damaged_record_is_named(copied):
    path = copied / "corpus.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"chunk_length": 3}))
    with pytest.raises(ValueError, match=r"corpus\.json is damaged"):
        SentenceCorpus(copied)
    other = record | {"format": 99}
    path.write_text(json.dumps(other | {"digest": record_digest(other)}))
    with pytest.raises(ValueError, match="has format 99"):
        SentenceCorpus(copied)
    for damaged in ("{", "[]", "{}"):
        path.write_text(damaged)
        with pytest.raises(ValueError, match="is damaged"):
            SentenceCorpus(copied)


def test_places_that_hold_something_else_are_left_alone(tmp_path):
    (tmp_path / "diary.md").write_text("Mine.")
    with pytest.raises(FileExistsError, match=r"holds other files, such as 'diary\.md'"):
        write_corpus(tmp_path, DOCUMENTS)
    with pytest.raises(FileExistsError):
        write_corpus(tmp_path / "diary.md", DOCUMENTS)
    with pytest.raises(FileNotFoundError, match="holds no corpus"):
        SentenceCorpus(tmp_path)


@pytest.mark.parametrize(
    ("documents", "settings", "error", "named"),
    [
        ("a text", {}, TypeError, "give read_documents"),
        ([("a", "b", "c")], {}, TypeError, "place 1"),
        (["fine.", None], {}, TypeError, "place 2"),
        ([("name", b"bytes")], {}, TypeError, "place 1"),
        (["A \ud800 b."], {}, UnicodeEncodeError, "surrogates"),
        ([], {}, ValueError, "0 documents contain none"),
        (["", "***", "# Title"], {}, ValueError, "3 documents contain none"),
        (["A."], {"chunk_length": 0}, ValueError, "chunk_length must be"),
        (["A."], {"max_characters": 3}, ValueError, "max_characters must be"),
    ],
)
def test_wrong_documents_are_named(tmp_path, documents, settings, error, named):
    with pytest.raises(error, match=named):
        write_corpus(tmp_path / "corpus", documents, **settings)


def test_documents_are_read_from_files_and_folders(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "b.md").write_text("B.")
    (tmp_path / "a.TXT").write_bytes(b"\xef\xbb\xbfA.\r\n")
    (tmp_path / "sub/c.md.gz").write_bytes(gzip.compress(b"C."))
    (tmp_path / "sub/d.txt").write_bytes("D \u00e9.".encode("utf-16"))
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden/e.md").write_text("E.")
    assert list(read_documents(tmp_path)) == [
        ("a.TXT", "A.\r\n"),
        ("b.md", "B."),
        ("sub/c.md.gz", "C."),
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
    packed = tmp_path / "torn.txt.gz"
    packed.write_bytes(gzip.compress(b"A long text. " * 50)[:-9])
    with pytest.raises(ValueError, match="not a complete gzip file"):
        list(read_documents(packed))


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

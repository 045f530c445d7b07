"""The made documents are what they say, and their contexts carry meaning."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from film.contexts import make_corpus, plain_text, split_sentences
from film.datasets import make_documents
from film.datasets.generator.lexicon import PEOPLE, TOPICS


def test_documents_have_the_paragraphs_and_sentences_that_were_asked_for():
    for n_scenes in (1, 2, 6):
        documents = make_documents(100, n_scenes=n_scenes, random_state=n_scenes)
        assert len(documents) == 100
        for document in documents:
            scenes = document.split("\n\n")
            counts = [len(split_sentences(scene)) for scene in scenes]
            assert len(scenes) == n_scenes and min(counts) >= 5 and max(counts) <= 7


def test_sentences_are_whole():
    for document in make_documents(200, random_state=0):
        for sentence in split_sentences(plain_text(document)):
            assert sentence[0].isupper() or sentence[0] == '"'
            assert sentence[-1] in '.?"'
            assert "{" not in sentence and "  " not in sentence


def test_a_seed_names_the_documents_and_more_begin_with_fewer():
    one, two, other = (make_documents(5, random_state=seed) for seed in (3, 3, 4))
    assert one == two != other
    assert make_documents(9, random_state=3)[:5] == one
    assert make_documents(5, random_state=np.random.default_rng(3)) == one
    states = [make_documents(5, random_state=np.random.RandomState(3)) for _ in range(2)]
    assert states[0] == states[1]
    assert len(set(make_documents(300, random_state=0))) == 300


def test_neighbouring_sentences_speak_of_one_thing():
    documents = make_documents(100, random_state=0)
    rows = [split_sentences(plain_text(document)) for document in documents]
    texts = [text for sentences in rows for text in sentences]
    homes = np.repeat(np.arange(len(rows)), [len(sentences) for sentences in rows])
    names = {name.lower() for name in PEOPLE}
    tfidf = TfidfVectorizer(stop_words=list(names), sublinear_tf=True).fit_transform(texts)
    following = np.asarray(tfidf[:-1].multiply(tfidf[1:]).sum(axis=1)).ravel()
    same = homes[:-1] == homes[1:]
    others = np.random.default_rng(0).permutation(len(texts))
    random = np.asarray(tfidf.multiply(tfidf[others]).sum(axis=1)).ravel()
    assert following[same].mean() > 2 * random.mean()


def test_wordings_of_one_thing_share_contexts():
    """Words of the sentence before tell synonyms from other words of the topic."""
    corpus = make_corpus(make_documents(700, random_state=2))
    centres = corpus.centres()
    left = TfidfVectorizer(sublinear_tf=True).fit_transform(corpus.texts(centres - 1))
    texts = [f" {text.lower()[:-1]} " for text in corpus.texts(centres)]

    def profile(word):
        rows = [i for i, text in enumerate(texts) if f" {word} " in text]
        vector = np.asarray(left[rows].mean(axis=0) - left.mean(axis=0)).ravel()
        return vector / np.linalg.norm(vector)

    things = TOPICS["health"].things[:6]
    first, second = (np.array([profile(words[k]) for words in things]) for k in (0, 1))
    cosines = first @ second.T
    same, others = np.diag(cosines), cosines[~np.eye(6, dtype=bool)]
    # Measured with five seeds: 0.13 to 0.26 apart.
    assert same.mean() > others.mean() + 0.1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"n_documents": 0}, "n_documents must be an integer of at least 1, got 0"),
        ({"n_documents": 2.0}, "n_documents must be"),
        ({"n_scenes": True}, "n_scenes must be"),
        ({"n_scenes": 0}, "n_scenes must be"),
        ({"random_state": "seed"}, "random_state must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_wrong_arguments_are_named(settings, named):
    with pytest.raises(ValueError, match=named):
        make_documents(**settings)

from itertools import pairwise

import numpy as np
import pytest

from film.contexts import split_sentences
from film.datasets import make_documents
from film.text import normalize_text


def test_the_same_seed_gives_the_same_documents():
    first, second, other = (make_documents(4, random_state=seed) for seed in (0, 0, 1))
    assert first == second != other
    assert len(set(make_documents(200, random_state=0))) == 200


def test_documents_have_the_paragraphs_and_sentences_that_were_asked_for():
    documents = make_documents(20, n_scenes=3, random_state=0)
    assert len(documents) == 20
    for document in documents:
        scenes = document.split("\n\n")
        assert len(scenes) == 3
        for scene in scenes:
            assert 5 <= len(split_sentences(scene)) <= 7
            assert "{" not in scene and "  " not in scene


def test_neighbours_share_more_words_than_others_do():
    scenes = [d.split("\n\n") for d in make_documents(60, n_scenes=4, random_state=0)]
    words = [[set(normalize_text(s).split()) for s in split_sentences(" ".join(d))] for d in scenes]
    near = [a & b for d in words for a, b in pairwise(d)]
    far = [a & b for d, e in pairwise(words) for a, b in zip(d, e[1:], strict=False)]
    assert np.mean([len(both) for both in near]) > 1.3 * np.mean([len(both) for both in far])


@pytest.mark.parametrize("name", ["n_documents", "n_scenes"])
@pytest.mark.parametrize("value", [0, 1.5, True, "3"])
def test_wrong_numbers_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got"):
        make_documents(**{name: value})


def test_a_wrong_seed_is_refused():
    with pytest.raises(ValueError, match="random_state must be None, an integer"):
        make_documents(1, random_state="seed")  # pyright: ignore

from collections import Counter

import numpy as np
import pytest

from benchmarks.support.edits import CONTRACTIONS, DROPPABLE, EDITS, FILLERS, SYNONYMS, edited
from benchmarks.support.quora_data import generated

TYPO, SYNONYM, DROP, ADD, SWAP, STYLE = EDITS
TEXT: str = "What is the best way to learn a language for people?"


@pytest.fixture(scope="module")
def texts():
    return np.unique(generated(300, 0).train).tolist()


def copies(edit, text=TEXT):
    rng = np.random.default_rng(0)
    return [edit(text, rng) for _ in range(200)]


def test_copies_differ_from_their_originals(texts):
    rng = np.random.default_rng(0)
    same = [text for text in texts * 10 if edited(text, rng) == text]
    # A typo that swaps two equal letters changes nothing.
    assert len(same) <= 0.001 * len(texts) * 10


def test_a_text_that_no_edit_applies_to_still_differs():
    assert all(copy != "why" for copy in copies(edited, "why"))


def test_copies_are_seeded(texts):
    first, same, other = (
        [edited(text, rng) for text in texts] for rng in map(np.random.default_rng, (3, 3, 4))
    )
    assert first == same
    assert np.mean([a != b for a, b in zip(first, other, strict=True)]) > 0.8


def test_a_copy_has_up_to_three_edits_and_all_kinds_come(monkeypatch):
    used = []

    def counted(text, rng, *, kind):
        used[-1].append(kind)
        return text + "!"

    kinds = tuple(lambda text, rng, kind=i: counted(text, rng, kind=kind) for i in range(6))
    monkeypatch.setattr("benchmarks.support.edits.EDITS", kinds)
    rng = np.random.default_rng(0)
    for _ in range(200):
        used.append([])
        edited(TEXT, rng)
    assert Counter(map(len, used)).keys() == {1, 2, 3}
    assert {kind for kinds in used for kind in kinds} == set(range(6))


def test_a_typo_touches_one_long_word():
    for copy in copies(TYPO):
        changed = [(a, b) for a, b in zip(TEXT.split(), copy.split(), strict=True) if a != b]
        assert len(changed) <= 1
        for word, wrong in changed:
            assert len(word) > 4 and word[0] == wrong[0]
            assert len(wrong) - len(word) in (-1, 0, 1)
            assert len(word) != len(wrong) or sorted(word) == sorted(wrong)
    assert {len(copy) - len(TEXT) for copy in copies(TYPO)} == {-1, 0, 1}


def test_synonyms_stand_in_for_whole_words():
    said = "the best phone is easy to use, phones are best"
    rng = np.random.default_rng(0)
    assert SYNONYM(said, rng) == "the finest smartphone is simple to use, phones are finest"
    assert all(SYNONYMS.get(word) != word for word in SYNONYMS)


def test_only_small_words_are_dropped_one_at_a_time():
    dropped = set()
    for copy in copies(DROP):
        (word,) = (Counter(TEXT.split()) - Counter(copy.split())).elements()
        assert len(copy.split()) == len(TEXT.split()) - 1
        dropped.add(word)
    assert dropped == {"the", "to", "a", "for"} <= DROPPABLE
    assert copies(DROP, "nothing goes")[0] == "nothing goes"


def test_one_filler_is_added_anywhere():
    places = set()
    for copy in copies(ADD):
        (word,) = (Counter(copy.split()) - Counter(TEXT.split())).elements()
        assert word in FILLERS
        words = copy.split()
        places.add(words.index(word))
        words.remove(word)
        assert words == TEXT.split()
    assert places == set(range(len(TEXT.split()) + 1))


def test_two_neighbours_are_swapped_in_texts_of_three_words_and_more():
    for copy in copies(SWAP):
        changed = [
            i for i, (a, b) in enumerate(zip(TEXT.split(), copy.split(), strict=True)) if a != b
        ]
        assert len(changed) == 2 and changed[1] == changed[0] + 1
        assert sorted(copy.split()) == sorted(TEXT.split())
    assert set(copies(SWAP, "two words")) == {"two words"}


def test_style_is_lower_case_contracted_and_with_or_without_a_mark():
    assert set(copies(STYLE, "What is up? Do not ask.")) == {
        "what's up? don't ask",
        "what's up? don't ask ?",
    }
    assert all(
        short in STYLE(long, np.random.default_rng(0)) for long, short in CONTRACTIONS.items()
    )

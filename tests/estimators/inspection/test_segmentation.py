import unicodedata

import numpy as np
import pytest

from estimators.inspection.segmentation import split_words


def shown(text):
    return [text[word.start : word.end] for word in split_words(text)]


def whole(text):
    return [text[word.whole_start : word.whole_end] for word in split_words(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n\t\u3000", []),
        ("How do I learn?", ["How", "do", "I", "learn"]),
        ("Don't, O’Neil's rock'n'roll'", ["Don't", "O’Neil's", "rock'n'roll"]),
        ("'quoted' it''s", ["quoted", "it", "s"]),
        ("machine-learning/AI snake_case", ["machine", "learning", "AI", "snake_case"]),
        ("C++ (v2.0)", ["C", "v2", "0"]),
        ("a - b !!! 🎸", ["a", "-", "b", "!!!", "🎸"]),
        ("❤\ufe0f", ["❤\ufe0f"]),
        ("École E\u0301cole", ["École", "E\u0301cole"]),
        ("मैं गिटार", ["मैं", "गिटार"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("x\u200c東", ["x", "東"]),
        ("x'東'y a東b", ["x", "東", "y", "a", "東", "b"]),
        ("a.\u0301 b", ["a", "b"]),
        ("東京でhello買う。", ["東", "京", "で", "hello", "買", "う"]),
        ("か\u3099", ["か\u3099"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
    ],
)
def test_words_are_those_people_see(text, words):
    assert shown(text) == words


def test_punctuation_goes_to_the_word_before_it():
    assert whole("“(Hi)!” you—there: ...") == ["“(Hi)!”", "you—", "there:", "..."]


def test_words_cover_all_but_white_space():
    rng = np.random.default_rng(0)
    alphabet = list("aB1_-'’.,() \n\u3000é東か🎸\u0301\u200d\u093f\ufe0f\u202e")
    for _ in range(500):
        text = "".join(rng.choice(alphabet, size=rng.integers(0, 25)))
        words = split_words(text)
        ends = 0
        covered = ""
        for word in words:
            assert ends <= word.whole_start <= word.start < word.end <= word.whole_end
            assert not any(c.isspace() for c in text[word.whole_start : word.whole_end])
            # Neighbours' own characters are never part of this word's.
            ends = word.whole_end
            covered += text[word.whole_start : word.whole_end]
        assert covered == "".join(c for c in text if not c.isspace())
        letters = [i for i, c in enumerate(text) if c.isalnum()]
        assert all(any(word.start <= i < word.end for word in words) for i in letters)
        for word in words:
            first = text[word.start]
            if any(c.isalnum() for c in text[word.start : word.end]):
                assert first.isalnum() or first == "_"
                last = text[word.end - 1]
                assert last.isalnum() or last == "_" or unicodedata.category(last)[0] == "M"

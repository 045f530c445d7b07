"""Laws of text normalisation."""

import hashlib
import re
import sys
import unicodedata

import numpy as np
import pytest

from film.text import normalize_text, text_hash


def ascii_rule(text):
    return re.sub("[^a-z0-9]+", " ", text.lower()).strip()


def test_ascii_text_follows_the_ascii_rule():
    rng = np.random.default_rng(0)
    for _ in range(300):
        text = "".join(chr(c) for c in rng.integers(0, 128, size=40))
        assert normalize_text(text) == ascii_rule(text)


def test_underscore_parts_words():
    assert normalize_text("snake_case__name_") == "snake case name"


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("", ""),
        (" \t\r\n\u00a0\u2003", ""),
        ("?!… — “”", ""),
        ("Où est l\u2019École ?", "où est l école"),
        ("什么是人工智能\uff1f", "什么是人工智能"),
        ("ЧТО такое ИИ?", "что такое ии"),
        ("ﬁne ① \uff26\uff55\uff4c\uff4c", "fine 1 full"),
        ("cafe\u0301", "café"),
        ("Straße ΣΟΦΟΣ", "straße σοφος"),
        ("a\x00b\u200bc", "a b c"),
        ("😀 emoji 👩\u200d💻", "emoji"),
        ("lone \ud800 surrogate", "lone surrogate"),
    ],
)
def test_other_scripts_keep_their_letters(text, normalized):
    assert normalize_text(text) == normalized


def test_composed_and_decomposed_forms_agree():
    text = "Übung naïve Ångström 한국어 が"
    assert normalize_text(unicodedata.normalize("NFD", text)) == normalize_text(text)


def test_normalisation_twice_is_normalisation_once_for_every_character():
    for code in range(sys.maxunicode + 1):
        once = normalize_text("a" + chr(code))
        if normalize_text(once) != once:
            raise AssertionError(hex(code))


def test_hash_is_of_the_ascii_rule():
    expected = hashlib.sha1(b"what s the best way to learn c").hexdigest()[:16]
    assert text_hash("  What's the BEST way_to learn C++?") == expected
    assert re.fullmatch("[0-9a-f]{16}", text_hash("什么 \ud800"))
    assert text_hash("naïve") == text_hash("na ve") != text_hash("naive")


def test_long_text_is_whole():
    assert len(normalize_text("word, " * 20_000).split()) == 20_000


@pytest.mark.parametrize("function", [normalize_text, text_hash])
@pytest.mark.parametrize("value", [None, float("nan"), b"bytes", 3, ["a"]])
def test_what_is_no_text_is_refused(function, value):
    with pytest.raises(TypeError, match="text must be a str, got"):
        function(value)

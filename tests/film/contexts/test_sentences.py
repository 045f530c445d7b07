import os
import time
from pathlib import Path

import numpy as np
import pytest

from film.contexts import plain_text, read_documents, split_sentences
from film.text import normalize_text

MARKDOWN = [
    ("# Title\n## Part ##\n###### Deep\n#\nText.", "Text."),
    ("#hashtag stays\nhere.", "#hashtag stays here."),
    ("Title\n=====\n\nText.\n\nPart\n----\nMore.", "Text.\n\nMore."),
    ("Two lines\nof prose.\n---\nMore.", "Two lines of prose.\n\nMore."),
    ("A.\n\n* * *\n\nB.\n___\nC.\n-------\n- - -\nD.", "A.\n\nB.\n\nD."),
    ("A line.\n\n-----\nB line.\n\n  ***  \n\nC line.", "A line.\n\nB line.\n\nC line."),
    ("---\ntitle: A tale\ntags:\n  - one\n- two\n# note\n---\nText.", "Text."),
    ("+++\ntitle = 'A tale'\n+++\nText.", "Text."),
    ("---\nProse after a rule.\n---\nText.", "Text."),
    ("---\n\nname: is no metadata.\n\nText.", "name: is no metadata.\n\nText."),
    ("Hard  \nwrapped\\\nlines\tand  spaces.", "Hard wrapped lines and spaces."),
    ("*a* **b** ***c*** _d_ __e__ ~f~", "a b c d e ~f~"),
    (
        "**bold *and* slanted** _**both**_ mis**placed** snake_case_name",
        "bold and slanted both misplaced snake_case_name",
    ),
    ("5 * 3 * 2 is 30. A* search, 2*3. _open", "5 * 3 * 2 is 30. A* search, 2*3. _open"),
    ("in the year 18__ or _______ it was", "in the year 18__ or _______ it was"),
    (
        "[text](http://x.y/(z) 'title') and [ref][1] and [plain] and [^1].\n\n[1]: http://x.y",
        "text and ref and [plain] and .",
    ),
    ("![image](a.png) Seen.\n\n[1]: http://x.y\n\n[^1]: A note.", "Seen.\n\nA note."),
    ("> Quoted *text*\n> goes on.\n>\n> > Deeper.", "Quoted text goes on.\n\nDeeper."),
    (
        "- one.\n- two\n  goes on.\n* three.\n1. four.\n2) five.",
        "one.\n\ntwo goes on.\n\nthree.\n\nfour.\n\nfive.",
    ),
    ("It was in\n1692. The year ended.\n- New.", "It was in 1692. The year ended.\n\nNew."),
    ("Before.\n```python\nx = 1. Y = 2.\n\n# z\n```\nAfter.", "Before.\n\nAfter."),
    (
        "Before.\n~~~~\n```\n~~~\n~~~~\nAfter.\n```\nNever closed.",
        "Before.\n\nAfter.\n\nNever closed.",
    ),
    ("Code `a * b * c_d_e` stays *here*.", "Code a * b * c_d_e stays here."),
    ("| a | b |\n|---|:-:|\n| 1 | 2 |\n\nText | with a bar.", "Text | with a bar."),
    ("<!-- a\n\ncomment -->Text <b>bold</b><br/>and <https://x.y>.", "Text bold and ."),
    ("<style>p {a: b.}</style>Text.", "Text."),
    (
        "&amp;c. &#8212; &gt;x &lt;b&gt; \\*kept\\* 1\\. One \\# a\\_b\\_",
        "&c. — >x <b> *kept* 1. One # a_b_",
    ),
    ("    Indented verse\n        goes on.", "Indented verse goes on."),
    (
        "\ufeffA so\u00adft\u200b\x00 text.\r\nTwo.\r\rThree.\u2028Four.",
        "A soft text. Two.\n\nThree. Four.",
    ),
    ("", ""),
    ("\n \n\t\n", ""),
    ("***\n---\n...", ""),
]


@pytest.mark.parametrize(("text", "prose"), MARKDOWN)
def test_markdown_is_read(text, prose):
    assert plain_text(text) == prose


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("# 1 *is*\na _number_.\n \n- Two.", "# 1 *is* a _number_.\n\n- Two."),
        ("A.\n\n* * *\n\n-----\n\nB.", "A.\n\nB."),
        ("A.\r\n\r\nB.\rC.", "A.\n\nB. C."),
        ("&amp; <b>x</b>", "&amp; <b>x</b>"),
    ],
)
def test_plain_text_knows_blank_lines_alone(text, prose):
    assert plain_text(text, markdown=False) == prose


def test_prose_is_left_as_it_is():
    for text, _ in MARKDOWN:
        prose = plain_text(text)
        assert plain_text(prose, markdown=False) == prose


def test_marks_that_never_close_take_linear_time():
    for unit in "*a ;_a ;[a;`a ;<a ;![;**a* ;\\;> ;|;<!--;```\n;---\na: b\n".split(";"):
        start = time.process_time()
        plain_text("x " + unit * (20_000 // len(unit)))
        assert time.process_time() - start < 2, unit  # measured: at most 0.3 s


def test_text_of_one_endless_sentence_takes_linear_time():
    for unit in "word |letters|-- |1. |\" |'a. |?!|a.\n|. a|(a. |no; ".split("|"):
        start = time.process_time()
        split_sentences("x " + unit * (500_000 // len(unit)))
        assert time.process_time() - start < 3, unit  # measured: at most 0.3 s


SENTENCES = [
    (
        "It rained. He slept! Why? Nobody knew...",
        ["It rained.", "He slept!", "Why?", "Nobody knew..."],
    ),
    (
        "Mr. Poe met Dr. Grey at 5 p.m. in the U.S. of old.",
        ["Mr. Poe met Dr. Grey at 5 p.m. in the U.S. of old."],
    ),
    ('"Why?" she asked. "It rains."', ['"Why?" she asked.', '"It rains."']),
    ('"It is late. Go!" He went.', ['"It is late.', 'Go!"', "He went."]),
    ("“It is late. Go!” said he. “Now.”", ["“It is late.", "Go!” said he.", "“Now.”"]),
    ("'It is late. Go!' said he. 'Tis so.", ["'It is late.", "Go!' said he.", "'Tis so."]),
    ("The dogs' tails. It's late. O'Brien's.", ["The dogs' tails.", "It's late.", "O'Brien's."]),
    ("oh! how late? it ends", ["oh!", "how late?", "it ends"]),
    ("1. The first. 2. The second.", ["1. The first.", "2. The second."]),
    ("He said -- well. -- So it was.", ["He said -- well.", "-- So it was."]),
    ("It ended. * * *", ["It ended. * * *"]),
    ("A title\n\nand a paragraph", ["A title", "and a paragraph"]),
    ("...\n\n?!", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "sentences"), SENTENCES)
def test_sentences_end_where_a_reader_ends_them(text, sentences):
    assert split_sentences(text) == sentences


def test_languages_have_rules_of_their_own():
    assert split_sentences("今日は。元気ですか？はい。", "ja") == [
        "今日は。",
        "元気ですか？",
        "はい。",
    ]
    assert split_sentences("Es war am 3. Mai. Dann kam er.", "de") == [
        "Es war am 3. Mai.",
        "Dann kam er.",
    ]


@pytest.mark.parametrize("most", [20, 37, 100, 500])
def test_long_sentences_are_cut_and_nothing_is_lost(most):
    rng = np.random.default_rng(most)
    words = ["word", "a", "long-winded", "clause;", "comma,", "dash --", "x" * 90]
    text = "It " + " ".join(rng.choice(words, 400)) + " ended."
    sentences = split_sentences(text, max_characters=most)
    assert max(map(len, sentences)) <= most
    assert "".join("".join(sentences).split()) == "".join(text.split())
    if most >= 100:
        assert min(map(len, sentences[:-1])) >= most // 2 - 1


def test_a_cut_prefers_the_end_of_a_clause():
    text = "The first clause was, as said, long; the second, too, was long, and it went on."
    assert split_sentences(text, max_characters=50) == [
        "The first clause was, as said, long;",
        "the second, too, was long, and it went on.",
    ]
    assert split_sentences(text.replace(";", ""), max_characters=50)[0].endswith(",")


def test_no_letter_is_lost():
    rng = np.random.default_rng(0)
    pieces = np.array([*"abAB  ..?!,\"'“”‘’()-0\n", "Mr.", "\n\n", "I.e. ", "é", "…"])
    for _ in range(300):
        text = "".join(rng.choice(pieces, rng.integers(1, 80)))
        kept = "".join("".join(split_sentences(text)).split())
        paragraphs = [p for p in text.split("\n\n") if any(map(str.isalnum, p))]
        assert sum(map(str.isalnum, kept)) == sum(map(str.isalnum, text))
        assert normalize_text(" ".join(split_sentences(text))).replace(" ", "") == (
            normalize_text(" ".join(paragraphs)).replace(" ", "")
        )


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda: plain_text(b"text"), TypeError, "decode bytes"),
        (lambda: plain_text(None), TypeError, "text must be a str"),
        (lambda: split_sentences("a", max_characters=19), ValueError, "at least 20, got 19"),
    ],
)
def test_wrong_arguments_are_named(call, error, named):
    with pytest.raises(error, match=named):
        call()


@pytest.mark.skipif("FILM_DATA" not in os.environ, reason="FILM_DATA names no folder of data")
def test_real_books_are_read():
    folder = Path(os.environ["FILM_DATA"]) / "books"
    if not folder.exists():
        pytest.skip("FILM_DATA has no books")
    texts = dict(read_documents([folder / "Herland.md", folder / "Julius-Caesar.md"]))
    novel = split_sentences(plain_text(texts["Herland.md"]))
    assert novel[0].startswith("This is written from memory, unfortunately.")
    assert 2500 < len(novel) < 6000
    play = split_sentences(plain_text(texts["Julius-Caesar.md"]))
    assert "Et tu, Brute!" in " ".join(play)
    for text in novel + play:
        assert not text.startswith(("#", ">")) and "**" not in text and "---" not in text[:3]
        assert len(text) <= 500 and any(map(str.isalnum, text))

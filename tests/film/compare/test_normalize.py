"""Tokens that are equal where two texts write the same thing, and differ elsewhere."""

import random
import unicodedata

import pytest

from film.compare import comparable_tokens, each_comparable_tokens, normalize

SAME = [
    ("the café", "The cafe"),
    ("José Núñez, Málaga", "jose nunez malaga"),
    ("cafe\u0301", "caf\u00e9"),
    ("Łódź", "lodz"),
    ("Straße", "STRASSE"),
    ("full ＡＢＣ width", "full abc width"),
    ("it doesn't work", "it doesnt work"),
    ("it doesn’t work", "it doesn't work"),
    ("we can't", "we cannot"),
    ("we won't", "we will not"),
    ("without sugar", "with no sugar"),
    ("U.K. customers", "UK customers"),
    ("the U.S.A. market", "the USA market"),
    ("45,000 people", "45000 people"),
    ("1,234,567", "1234567"),
    ("3,5 kg", "3.5 kg"),
    ("twelve chairs", "12 chairs"),
    ("thirty days", "30 days"),
    ("the third floor", "the 3rd floor"),
    ("5.00", "5"),
    ("07", "7"),
    ("at 3 pm", "at 15:00"),
    ("at 3 p.m.", "at 3pm"),
    ("12 am", "0:00"),
    ("12:30 pm", "12:30"),
    ("09:15", "9:15 am"),
    ("5 March 2024", "5 Mar 2024"),
    ("5th of March", "5 March"),
    ("March 5th", "Mar. 5"),
    ("2 m cable", "2 meter cable"),
    ("2m cable", "2 metres cable"),
    ("a 500 g pack", "a 0.5 kg pack"),
    ("2 hours", "120 minutes"),
    ("1.5 million people", "1,500,000 people"),
    ("five thousand", "5000"),
    ("volume IV", "volume 4"),
    ("the women bought it", "the woman buy it"),
    ("Department of Health", "dept. of health"),
    ("10 hrs", "10 hours"),
    ("$5", "usd 5"),
    ("5%", "5 percent"),
    ("5 %", "5%"),
    ("Smith & Sons Ltd.", "Smith and Sons Limited"),
    ("grey", "gray"),
    ("follow\u2011up", "follow-up"),
    ("a - b", "a – b"),
    ("hello!!!", "HELLO"),
    ("日本語", "日 本 語"),
    ("plate 20x30 cm", "plate 20 × 30 cm"),
    ("plate 20x30cm", "plate 20 cm * 30 cm"),
    ("10x5x2 mm box", "1 cm x 5 mm x 2 mm box"),
    ("bolt M4x60", "bolt M4 × 60 mm"),
    ("2.5x4", "2.5 X 4"),
    ("2x500 ml", "2 x 0.5 l"),
]

DIFFERENT = [
    ("5", "6"),
    ("10234", "10243"),
    ("2.1", "2.4"),
    ("1,5", "15"),
    ("-5", "5"),
    ("1.234.567", "1.234.568"),
    ("7:15", "9:15"),
    ("3 am", "3 pm"),
    ("12 am", "12 pm"),
    ("5 March", "5 May"),
    ("2 m", "2 cm"),
    ("2 million", "2 billion"),
    ("1.2.3 kg", "1.2.4 kg"),
    ("2 kg", "2 lb"),
    ("20x30 cm", "20x30 mm"),
    ("20x30", "20x40"),
    ("M4x60", "M5x60"),
    ("M4x60", "M4x60 cm"),
    ("4x60", "M4x60"),
    ("1920x1080p", "1920x1080i"),
    ("$5", "€5"),
    ("m404dn", "m404dw"),
    ("E11", "E15"),
    ("5%", "5"),
    ("good 😀", "good 😡"),
    ("good 😀", "good"),
    ("C++", "C#"),
    ("C++", "C"),
    ("delivered", "not delivered"),
    ("with milk", "without milk"),
    ("can", "can't"),
    ("日本", "日中"),
    ("не работает", "работает"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_thing_in_two_ways(one, other):
    assert comparable_tokens(one) == comparable_tokens(other)
    assert comparable_tokens(one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_things_have_other_tokens(one, other):
    assert comparable_tokens(one) != comparable_tokens(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("?!., --", []),
        ("3 p.m.", ["@15:00"]),
        ("25:00", ["#25", "#0"]),
        ("2024-03-05", ["#2024", "#3", "#5"]),
        ("05.03.2024", ["#5", "#3", "#2024"]),
        ("1.2.3", ["#1.2.3"]),
        ("100 GB", ["#100", "%gb"]),
        ("v1.4.2", ["#1.4.2"]),
        ("v. 1.4.2", ["#1.4.2"]),
        ("v8 engine", ["v8", "engine"]),
        ("Roe v. 12", ["roe", "v", "#12"]),
        ("don't", ["do", "!not"]),
        ("can\u00b4t", ["can", "!not"]),
        ("a w/o b", ["a", "with", "!not", "b"]),
        ("aw/ob", ["aw", "ob"]),
        ("M404dn", ["m404dn"]),
        ("3d", ["3d"]),
        ("5 percent", ["#5%"]),
        ("I am", ["i", "am"]),
        ("the m file", ["the", "m", "file"]),
        ("one of them", ["one", "of", "them"]),
        ("-5", ["#-5"]),
        ("23:59", ["@23:59"]),
        ("24:00", ["#24", "#0"]),
        ("10:60", ["#10", "#60"]),
        ("a mile", ["a", "%mi"]),
        ("the min value", ["the", "min", "value"]),
        ("don`t", ["do", "!not"]),
        ("cr\u00e8me", ["creme"]),
        ("a\u036fb", ["ab"]),
        ("дом 5", ["дом", "#5"]),
    ],
)
def test_tokens(text, expected):
    assert comparable_tokens(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "No. 78-5204",
        "no 78-5204",
        "Nr. 78-5204",
        "nr 78-5204",
        "Nº 78-5204",
        "n.º 78-5204",
        "N° 78-5204",
        "№ 78-5204",
        "Nos. 78-5204",
        "No.78-5204",
        "#78-5204",
    ],
)
def test_the_abbreviation_of_number_is_left_out(text):
    assert comparable_tokens(f"docket {text}") == ["docket", "#78", "#5204"]


@pytest.mark.parametrize("text", ["No 12 red", "No. AB-123", "no ab123", "No 12a", "no. 2.5"])
def test_no_before_a_number_or_a_code_is_no_negation(text):
    assert comparable_tokens(text) == comparable_tokens(text.split(" ", 1)[1])


@pytest.mark.parametrize(
    "text",
    [
        "no wifi",
        "no 4g",
        "no mp3 player",
        "no covid-19",
        "no 30 day return",
        "no 24 hour service",
        "no 5% off",
        "no 13th floor",
        "no $5 fee",
        "no\x1f12",
    ],
)
def test_no_before_what_is_counted_or_named_denies_it(text):
    assert comparable_tokens(text)[0] == "!not"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("周一开放", "周一不开放"),
        ("他有钱", "他没有钱"),
        ("我去過", "我沒去過"),
        ("肉を食べます", "肉を食べません"),
        ("開いてい", "開いていない"),
        ("開いてい", "開いていなかった"),
        ("砂糖", "砂糖なし"),
        ("ฉันกินหมู", "ฉันไม่กินหมู"),
        ("아침 먹지", "아침 먹지 않습니다"),
        ("falo português", "não falo português"),
        ("ik rook", "ik rook niet"),
    ],
)
def test_negations_of_other_languages(text, other):
    found = comparable_tokens(other)
    assert "!not" not in comparable_tokens(text) and found.count("!not") == 1


@pytest.mark.parametrize(
    "text",
    "不锈钢锅 三井不動産 不但 沉没了 雨かもしれない 君しかない 行きませんか おとなしい".split(),
)
def test_words_that_deny_nothing(text):
    assert "!not" not in comparable_tokens(text)


def test_a_question_whether_or_not_denies_nothing():
    assert comparable_tokens("你是不是学生") == comparable_tokens("你是学生")


def test_letters_and_numbers_in_texts_without_spaces_are_words():
    tokens = comparable_tokens("耳机NR-652黑色")
    assert tokens == comparable_tokens("耳机 NR-652 黑色") == [*"耳机", "nr", "#652", *"黑色"]


def test_many_texts_have_the_tokens_of_each_alone(monkeypatch):
    texts = [text for pair in SAME + DIFFERENT for text in pair]
    letters = "aA bB'`.,-+#$%&/0129 \n\t\0\x1c_ é"
    rng = random.Random(0)
    texts += ["".join(rng.choices(letters, k=12)) for _ in range(2000)]
    words = "not don't without two hundred percent g oz mile miles women grey ltd tea".split()
    texts += [" ".join(rng.choices(words, k=5)) for _ in range(500)]
    monkeypatch.setattr(normalize, "_BLOCK_TEXTS", 1000)
    assert list(each_comparable_tokens(texts)) == [comparable_tokens(text) for text in texts]
    assert list(each_comparable_tokens([])) == []


NUMBERS = """
2 two ii/3 three third iii/4 four fourth iv/5 five fifth/6 six sixth/7 seven seventh vii
8 eight eighth viii/9 nine ninth ix/10 ten tenth/11 eleven/12 twelve/13 thirteen/14 fourteen
15 fifteen/16 sixteen/17 seventeen/18 eighteen/19 nineteen/20 twenty/30 thirty/40 forty
50 fifty/60 sixty/70 seventy/80 eighty/90 ninety/100 hundred/1000 thousand
"""
MONTHS = """
1 january jan/2 february feb/3 march mar/4 april apr/5 may/6 june jun/7 july jul/8 august aug
9 september sep sept/10 october oct/11 november nov/12 december dec
"""
QUANTITIES = """
3kg 3000 g/3g 3 g/3mg 0.003 g/3km 3000 m/3m 3 m/3cm 0.03 m/3mm 0.003 m/3l 3 l/3ml 0.003 l
3tb 3000 gb/3gb 3 gb/3mb 0.003 gb/3hz 3 hz/3mhz 3000000 hz/3ghz 3000000000 hz/3kw 3000 w/3w 3 w
3h 180 min/3min 3 min/3s 3 s/3hundred 300/3thousand 3000/3million 3000000/3billion 3000000000
"""
FORMS = (
    "child children childs/be been being/write wrote written/go went gone/ltd limited/"
    "ag aktiengesellschaft"
)


def rows(table):
    return [line.split() for line in table.strip().replace("\n", "/").split("/")]


@pytest.mark.parametrize(("number", "words"), [(row[0], row[1:]) for row in rows(NUMBERS)])
def test_words_of_numbers(number, words):
    for word in words:
        assert comparable_tokens(f"about {word} of them") == ["about", f"#{number}", "of", "them"]


@pytest.mark.parametrize(("number", "names"), [(row[0], row[1:]) for row in rows(MONTHS)])
def test_months(number, names):
    for name in names:
        assert comparable_tokens(f"5 {name} 2024") == ["#5", f"#{number}", "#2024"]
        assert comparable_tokens(f"{name} 5th") == [f"#{number}", "#5"]


@pytest.mark.parametrize("row", rows(QUANTITIES), ids=" ".join)
def test_quantities_are_in_base_units(row):
    written = row[0][0] + " " + row[0][1:]
    assert comparable_tokens(written) == [f"#{row[1]}", *(f"%{unit}" for unit in row[2:])]


@pytest.mark.parametrize("row", rows(FORMS), ids=" ".join)
def test_forms_of_a_word(row):
    for form in row:
        assert comparable_tokens(form) == row[:1]


def random_texts(n, seed=0):
    """Texts of any code points, of ASCII with many digits and marks, and of one script each."""
    draw = random.Random(seed)
    starts = [0x20, 0x80, 0x300, 0x370, 0x400, 0x590, 0x600, 0x900, 0xE00, 0x1200, 0x2000, 0x3000]
    starts += [0x4E00, 0xAC00, 0xD800, 0xE000, 0xFE00, 0xFF00, 0x1D400, 0x1F600, 0xE0000]
    ascii_marks = "0123456789.,:;-+%$#@&' apmthxyzCGBk"
    for number in range(n):
        length = draw.randrange(40)
        if number % 3 == 0:
            yield "".join(chr(draw.randrange(0x110000)) for _ in range(length))
        elif number % 3 == 1:
            yield "".join(draw.choice(ascii_marks) for _ in range(length))
        else:
            start = draw.choice(starts)
            yield "".join(
                draw.choice([chr(start + draw.randrange(0x100)), *" 1a"]) for _ in range(length)
            )


def test_any_unicode_has_tokens():
    for text in [*random_texts(900), "\ud800", "5\udfff", "İ", "٣:٣٠ pm", "²", "½", "፩ 1", "①"]:
        tokens = comparable_tokens(text)
        assert all(isinstance(token, str) and token for token in tokens), ascii(text)
        assert not any(map(str.isspace, "".join(tokens))), ascii(text)
        assert tokens == comparable_tokens(text)


def test_case_and_composition_do_not_matter():
    words = "Ångström Zürich CRÈME ﬁne Ελλάδα ЁЖИК ΣΊΣΥΦΟΣ naïve ｗｉｄｅ Việt".split()
    for word in words:
        tokens = {
            tuple(comparable_tokens(form(word)))
            for form in (
                str,
                str.upper,
                str.lower,
                lambda text: unicodedata.normalize("NFD", text),
                lambda text: unicodedata.normalize("NFC", text),
            )
        }
        assert len(tokens) == 1, word


def test_plain_words_stay_as_they_are():
    """Tokens without a sign are read again as themselves."""
    for text in random_texts(600, seed=1):
        words = [token for token in comparable_tokens(text) if token.isalpha()]
        assert comparable_tokens(" ".join(words)) == words, ascii(text)


@pytest.mark.parametrize("code", range(128))
def test_words_of_ascii_are_split_as_those_of_other_scripts(code):
    text = f"lamp{chr(code)}sofa{chr(code)}"
    assert comparable_tokens(text) == comparable_tokens(f"{text} é")[:-1]

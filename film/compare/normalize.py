"""Tokens that are equal where two texts write the same thing in different ways."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice

__all__ = ["comparable_tokens", "each_comparable_tokens"]

NEGATION = "!not"
"""Token of every negation."""

_NEGATIONS = frozenset(
    "not no none never neither nor nobody nothing nowhere non "
    "nicht kein keine keinen keiner keinem ohne nie niemals pas sans jamais nunca senza nao sem "
    "niet geen nooit zonder inte ikke aldrig bez nem degil yok tidak "
    "не нет без ни никогда немає δεν δε οχι ليس לא אין 안".split()
)
_VERBS = "do does did is are was were has have had ca can could wo would should must might need ai"
_NEGATED_VERBS = {verb + "nt": verb for verb in _VERBS.split()}
_SPLIT = {
    **{word: [verb, NEGATION] for word, verb in _NEGATED_VERBS.items()},
    **{key: [NEGATION] for key in _NEGATIONS},
    "cant": ["can", NEGATION],
    "cannot": ["can", NEGATION],
    "wont": ["will", NEGATION],
    "without": ["with", NEGATION],
}
_WORD_NUMBERS = {
    word: f"#{number}"
    for number, word in [
        *enumerate(
            "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen twenty".split(),
            start=2,
        ),
        *enumerate("third fourth fifth sixth seventh eighth ninth tenth".split(), start=3),
        *zip(
            range(30, 100, 10),
            "thirty forty fifty sixty seventy eighty ninety".split(),
            strict=True,
        ),
        (100, "hundred"),
        (1000, "thousand"),
        (2, "ii"),
        (3, "iii"),
        (4, "iv"),
        (7, "vii"),
        (8, "viii"),
        (9, "ix"),
    ]
}
_IRREGULAR = """
child children childs childrens/man men mens/woman women womens/foot feet/tooth teeth/mouse
mice/person people persons peoples/life lives/wife wives/knife knives/leaf leaves/shelf shelves/be
been being/become became/begin began begun/break broke broken/bring brought/build built/buy
bought/catch caught/choose chose chosen/come came/drive drove driven/eat ate eaten/fall fell
fallen/feel felt/find found/fly flew flown/forget forgot forgotten/get got gotten/give gave
given/go went gone/grow grew grown/hear heard/hold held/keep kept/know knew known/lend lent/lose
lost/make made/mean meant/meet met/pay paid/ride rode ridden/run ran/say said/see saw seen/sell
sold/send sent/sit sat/sleep slept/speak spoke spoken/spend spent/stand stood/steal stole
stolen/swim swam swum/take took taken/teach taught/tell told/think thought/throw threw
thrown/understand understood/wear wore worn/win won/write wrote written/
"""
_FORMS = {
    "limited": "ltd",
    "incorporated": "inc",
    "corporation": "corp",
    "company": "co",
    "aktiengesellschaft": "ag",
    "kommanditgesellschaft": "kg",
    "street": "st",
    "avenue": "ave",
    "road": "rd",
    "boulevard": "blvd",
    "versus": "vs",
    "grey": "gray",
    "whats": "what",
    "hows": "how",
    "whos": "who",
    "okay": "ok",
    "department": "dept",
    "doctor": "dr",
    "approximately": "approx",
    "professor": "prof",
    "apartment": "apt",
    "suite": "ste",
    "highway": "hwy",
    "international": "intl",
    "university": "univ",
    **{form: words.split()[0] for words in _IRREGULAR.split("/") for form in words.split()[1:]},
}
_UNITS = {
    spelling: f"%{spellings.split()[0]}"
    for spellings in [
        "m meter meters metre metres",
        "cm centimeter centimeters centimetre centimetres",
        "mm millimeter millimeters millimetre millimetres",
        "km kilometer kilometers kilometre kilometres",
        "mi mile miles",
        "ft foot feet",
        "inch inches",
        "kg kilo kilos kilogram kilograms",
        "g gram grams gramme grammes",
        "mg milligram milligrams",
        "lb lbs",
        "oz ounce ounces",
        "l liter liters litre litres",
        "ml milliliter milliliters millilitre millilitres",
        "kb kilobyte kilobytes",
        "mb megabyte megabytes",
        "gb gigabyte gigabytes",
        "tb terabyte terabytes",
        "hz hertz",
        "mhz megahertz",
        "ghz gigahertz",
        "w watt watts",
        "kw kilowatt kilowatts",
        "v volt volts",
        "mah",
        "ah",
        "h hr hrs hour hours",
        "min mins minute minutes",
        "s sec secs second seconds",
        "usd dollar dollars",
        "eur euro euros",
        "gbp",
    ]
    for spelling in spellings.split()
}
_LONG_UNITS = {spelling: unit for spelling, unit in _UNITS.items() if len(spelling) > 3}
"""Units without a number as well: shorter ones are letters or other words."""

_BASE_UNITS = {
    "%kg": ("%g", "1e3"),
    "%mg": ("%g", "1e-3"),
    "%km": ("%m", "1e3"),
    "%cm": ("%m", "1e-2"),
    "%mm": ("%m", "1e-3"),
    "%ml": ("%l", "1e-3"),
    "%tb": ("%gb", "1e3"),
    "%mb": ("%gb", "1e-3"),
    "%mhz": ("%hz", "1e6"),
    "%ghz": ("%hz", "1e9"),
    "%kw": ("%w", "1e3"),
    "%h": ("%min", "60"),
}
_POWERS = {"hundred": "1e2", "thousand": "1e3", "million": "1e6", "billion": "1e9"}
_SIGNS = {"$": " usd ", "€": " eur ", "£": " gbp ", "%": " percent ", "&": " and "}
MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|"
        "september sep sept|october oct|november nov|december dec".split("|"),
        start=1,
    )
    for name in names.split()
}
_OTHER_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)
_APOSTROPHES = str.maketrans(
    {mark: "" for mark in "'’‘ʼ`´"} | {mark: "-" for mark in "‐‑‒–—−"} | {"№": "no.", "º": "°"}
)

_DOTTED = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.){2,}")
_WITHOUT = re.compile(r"(?<![\w/])w/o(?![\w/])")
_NEGATED_INSIDE = re.compile(
    # Not 是不是 (whether), nor words such as 不锈钢 (stainless steel) and 沉没 (to sink).
    r"(?P<asked>[\u4e00-\u9fff])[不没沒](?P=asked)"
    r"|(?<![差对對])不(?![锈鏽銹動动但仅僅过過错錯断斷管久同])|(?<![沉淹埋出])[没沒](?![收落])"
    # Not しかない (only) and かもしれない (perhaps), nor ないか (shall we?).
    r"|(?<!しか)(?<!しれ)(?<![少危])(?:ません|ない|なかった)(?!か)"
    r"|(?<=[\u30a1-\u9fff])(?:なし|無し)(?![\u3041-\u309f])|ไม่|않[가-힣]*|없이"
)
"""Negations that are part of longer words, or of texts without spaces."""
_DIGIT = re.compile(r"\d")
_CLOCK = re.compile(
    r"(?<![\d:.,])(\d{1,2})(?:[:.](\d{2}))? ?([ap])\.?m\b\.?|(?<![\d:])(\d{1,2}):(\d{2})(?![\d:])"
)
_CLOCK_SIGNS = (":", "am", "pm", "a.m", "p.m")
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?({_MONTH})\b")
_MONTH_DAY = re.compile(rf"\b({_MONTH})\.? (\d{{1,4}})(?:st|nd|rd|th)?\b")
_DOTTED_DATE = re.compile(r"(?<![\d.])([0-3]?\d)\.([01]?\d)\.(\d{4})(?![\d.]*\d)")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3})((?:,\d{3})+)(?![\d,])")
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d+),(\d{1,2})(?![\d,])")
_COUNTED = "|".join(
    [unit for unit in _UNITS if len(unit) > 1]
    + "percent days? weeks? months? years? stars? persons? people".split()
)
_NUMBER_SIGN = re.compile(
    r"(?<![^\W_])(?:n[or]s?\.|n\.?°|nr(?= )) *(?=[a-z]{0,4}[-/ ]?\d)"
    rf"|(?<![^\W_])no +(?=\d+(?:[-/.]\d+)*(?![^\W_])(?! *(?:{_COUNTED})\b)|\d\d+[a-f]\b"
    r"|[a-z]{1,3}[-/]?\d{3})"
)
"""The abbreviation of "number" before a number or a code.

Without a point, "no" may deny what follows: "no 4g", "no 30 day return".
"""
_VERSION = re.compile(r"(?<![^\W_])v\.? ?(?=\d+\.\d)")
_TOKEN = re.compile(
    r"(?<![\w.-])-?\d+(?:\.\d+)*[^\W_]*|\d+(?:\.\d+)*[^\W_]*|@\d+:\d+|[^\W_]+(?:[+#]+(?![^\W_]))?"
    # Symbols such as emoji, but no punctuation.
    r"|[^\w\s\x00-\xbf\u0300-\u036f\u0900-\u0eff\u2000-\u206f\u3000-\u303f\ufe00-\ufe6f\uff00-\uffef]"
)
_LENGTH = "mm|cm|inch|inches"
_SIDE = rf"\d+(?:\.\d+)? ?(?:{_LENGTH})?"
_SIZES = re.compile(rf"(?<![^\W_])m?{_SIDE}(?: ?[x×*] ?{_SIDE})+(?![^\W_])")
"""Sizes such as 20x30 cm, M4 x 60 and 10 cm × 5 cm × 2 cm."""
_SIZE = re.compile(rf"(m?)(\d+(?:\.\d+)?) ?({_LENGTH})?")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)*")
_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]")
_BESIDE_LETTERS = re.compile(
    rf"(?<={_IDEOGRAPHS.pattern})(?=[a-z0-9])|(?<=[a-z0-9])(?={_IDEOGRAPHS.pattern})"
)
"""Where a word or a number begins or ends in a text without spaces."""

_LETTERS_ALONE = {code: " " for code in range(128) if not chr(code).isalnum()}

_CHANGED = {*_SPLIT, *_WORD_NUMBERS, *_LONG_UNITS, *_FORMS}
"""Words that become other tokens in a text without digits. Others do so after a number only."""
_NOT_KEPT = {*_CHANGED, *_UNITS, *_POWERS, "percent"}

_HARD = "\0"
"""Stands for a character that may be part of a token, but is no letter."""
_SIMPLE = {
    **_LETTERS_ALONE,
    **{ord(mark): None for mark in "'`"},
    **{ord(sign): _HARD for sign in "0123456789+#$%&./\0"},
    ord("\n"): "\n",
}
_BLOCK_TEXTS = 4096


def negated_words() -> list[tuple[str, str]]:
    """Return pairs of words such as "should" and "shouldnt", "with" and "without"."""
    return [(tokens[0], word) for word, tokens in _SPLIT.items() if len(tokens) == 2]


@functools.cache
def _all_spellings() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word, token in [
        *_FORMS.items(),
        *_LONG_UNITS.items(),
        *dict.fromkeys(_NEGATIONS, NEGATION).items(),
    ]:
        found.setdefault(token, [token]).append(word)
    return found


def spellings(token: str) -> Sequence[str]:
    """Return a token, and the words of letters that become it in `comparable_tokens`."""
    return _all_spellings().get(token, (token,))


def comparable_tokens(text: str) -> list[str]:
    """Split a text into tokens that do not depend on how it is written.

    Parameters
    ----------
    text : str
        Any text, also the empty one.

    Returns
    -------
    tokens : list of str
        Words in lower case, without accents and apostrophes. Tokens of other kinds start with a
        sign: ``#`` a number, ``@`` a time of day, ``%`` a unit or currency, ``!not`` a negation.
        Numbers are written in one way: thousands without commas, small number words, months in
        dates and ordinals as digits. "No." before a number or a code is left out. Characters of
        scripts without spaces are tokens.

    Notes
    -----
    Linear in the length of ``text``.

    Examples
    --------
    >>> from film.compare import comparable_tokens
    >>> comparable_tokens("The café doesn't open at 3 p.m.")
    ['the', 'cafe', 'does', '!not', 'open', 'at', '@15:00']
    >>> comparable_tokens("a 2m cable") == comparable_tokens("A 2 metre cable")
    True
    >>> comparable_tokens("delivered on 2024-03-05"), comparable_tokens("on 5 March 2024")
    (['delivered', 'on', '#2024', '#3', '#5'], ['on', '#5', '#3', '#2024'])
    """
    plain = text.lower()
    if not plain.isascii():
        # An acute accent alone would become a space and an accent.
        decomposed = (
            unicodedata.normalize("NFKD", text.translate(_APOSTROPHES))
            .casefold()
            .translate(_OTHER_LETTERS)
        )
        plain = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
        plain = unicodedata.normalize("NFC", plain)
        if _WITHOUT_SPACES.search(plain):
            plain = _NEGATED_INSIDE.sub(lambda match: match["asked"] or " not ", plain)
            plain = _BESIDE_LETTERS.sub(" ", plain)
    if not plain.isascii() or "'" in plain or "`" in plain:
        plain = plain.translate(_APOSTROPHES)
    if "." in plain:
        plain = _DOTTED.sub(lambda match: match.group().replace(".", "") + " ", plain)
    if "w/o" in plain:
        plain = _WITHOUT.sub("without", plain)
    for sign, name in _SIGNS.items():
        if sign in plain:
            plain = plain.replace(sign, name)
    has_digits = _DIGIT.search(plain) is not None
    if has_digits:
        plain = _plain_numbers(plain)
    is_plain = plain.isascii() and not has_digits
    if is_plain and "+" not in plain and "#" not in plain:
        # The same words as by the pattern, several times faster.
        found = plain.translate(_LETTERS_ALONE).split()
    else:
        found = _TOKEN.findall(plain)
    if is_plain and _CHANGED.isdisjoint(found):
        return found
    return _comparable(found, has_digits)


def each_comparable_tokens(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the result of `comparable_tokens` for each text, in less time if they are English."""
    stream = iter(texts)
    while block := list(islice(stream, _BLOCK_TEXTS)):
        lines = [text if text.isascii() and "\n" not in text else _HARD for text in block]
        lines = "\n".join(lines).lower().translate(_SIMPLE).split("\n")
        for text, line in zip(block, lines, strict=True):
            if _HARD in line:
                yield comparable_tokens(text)
                continue
            words = line.split()
            yield words if _CHANGED.isdisjoint(words) else _comparable(words, False)


def _comparable(found: list[str], has_digits: bool) -> list[str]:
    """Return the tokens of the words of a text."""
    tokens: list[str] = []
    for token in found:
        if has_digits and (token[0].isdigit() or (token[0] == "-" and len(token) > 1)):
            tokens += _number_tokens(token)
        elif token not in _NOT_KEPT and token.isascii():
            tokens.append(token)
        elif token == "percent" and tokens and tokens[-1][0] == "#":
            tokens[-1] += "%"
        elif token in _SPLIT:
            tokens += _SPLIT[token]
        elif token in _UNITS and tokens and tokens[-1][0] == "#":
            tokens[-1:] = _quantity(tokens[-1], _UNITS[token])
        elif token in _POWERS and tokens and tokens[-1][0] == "#":
            tokens[-1] = _times(tokens[-1], _POWERS[token])
        elif token in _WORD_NUMBERS:
            tokens.append(_WORD_NUMBERS[token])
        elif token in _LONG_UNITS:
            tokens.append(_LONG_UNITS[token])
        elif _IDEOGRAPHS.search(token) is None:
            tokens.append(_FORMS.get(token, token))
        else:
            tokens += list(token)
    return tokens


def _plain_numbers(text: str) -> str:
    if "n" in text:
        text = _NUMBER_SIGN.sub("", text)
    if "x" in text or "×" in text or "*" in text:
        text = _SIZES.sub(_size, text)
    if "v" in text:
        text = _VERSION.sub("", text)
    if "," in text:
        text = _THOUSANDS.sub(lambda match: match[1] + match[2].replace(",", ""), text)
        text = _DECIMAL_COMMA.sub(r"\1.\2", text)
    if "." in text:
        text = _DOTTED_DATE.sub(r"\1 \2 \3", text)
    if any(map(text.__contains__, _CLOCK_SIGNS)):
        text = _CLOCK.sub(_clock, text)
    text = _DAY_MONTH.sub(lambda match: f"{match[1]} {MONTHS[match[2]]}", text)
    return _MONTH_DAY.sub(lambda match: f"{MONTHS[match[1]]} {match[2]}", text)


def _size(match: re.Match[str]) -> str:
    """Write a size with spaces, and with its unit after each number; threads are in mm."""
    parts = _SIZE.findall(match.group())
    unit = next((unit for *_, unit in reversed(parts) if unit), "")
    if parts[0][0]:
        unit = unit or "mm"
    sizes = [f"{thread}{number}{'' if thread else own or unit}" for thread, number, own in parts]
    return " x ".join(sizes)


def _clock(match: re.Match[str]) -> str:
    hour, minute = int(match[1] or match[4]), match[2] or match[5] or "00"
    if match[3]:
        hour = hour % 12 + (12 if match[3] == "p" else 0)
    return f"@{hour}:{minute} " if hour < 24 and int(minute) < 60 else match.group()


def _number_tokens(token: str) -> list[str]:
    if token.isdecimal():
        return [f"#{token if len(token) > 2 else int(token)}"]
    number = _NUMBER.match(token)
    if number is None:
        return [token]
    after = token[number.end() :]
    if after and after not in _UNITS and after not in ("st", "nd", "rd", "th"):
        # Letters and digits together are a code.
        return [token]
    digits = re.sub(r"\.0+$", "", number.group())
    if len(digits.lstrip("-")) <= 2:
        digits = str(int(digits))
    return _quantity(f"#{digits}", _UNITS[after]) if after in _UNITS else [f"#{digits}"]


def _quantity(number: str, unit: str) -> list[str]:
    """Return a number and its unit, in the base unit if there is one."""
    base, factor = _BASE_UNITS.get(unit, (unit, ""))
    return [_times(number, factor) if factor else number, base]


def _times(number: str, factor: str) -> str:
    """Multiply a number that is not one of several parts, such as a version."""
    if re.fullmatch(r"#-?\d{1,15}(\.\d{1,15})?", number) is None:
        return number
    return f"#{(Decimal(number[1:]) * Decimal(factor)).normalize():f}"

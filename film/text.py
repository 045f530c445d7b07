"""Text normalisation: when two texts are copies, or the same sentence, and how one is shown."""

from __future__ import annotations

import functools
import re
import unicodedata

__all__ = [
    "copy_key",
    "normalize_text",
    "printable_text",
    "token_text",
    "words_and_symbols",
]

_JOINERS = "\u200c\u200d"

_UNICODE_WORD = re.compile(r"[^\W_]+")
_HYPHEN_AS_SIGN = re.compile(r"(?<![^\W_])-(?=\d)")
_NEITHER_WORD_NOR_SPACE = re.compile(r"[^\w\s]|_")
_PUNCTUATION_KEPT = frozenset("#%&*/@\\")
# Punctuation that is part of a meaning more often than of a sentence.
_ASCII_SYMBOLS = "$+<=>^|~#%@&"
# Most texts have none of these: their words are their runs of letters.
_MORE_THAN_LETTERS = re.compile(rf"[0-9{re.escape(_ASCII_SYMBOLS)}]")
_LETTERS_ALONE = {code: " " for code in range(128) if not chr(code).islower()}
# All marks and symbols but the variation selectors stand below it.
_LAST_MARK = 0x1FFFF


def copy_key(text: str) -> str:
    r"""Reduce a text to what its copies share: two texts are copies iff their keys are equal.

    Letter case is folded, canonically equivalent spellings are unified, and every run of
    white space becomes one space, stripped at both ends. Nothing else is dropped or
    replaced: punctuation, symbols, signs, accents and combining marks of every script
    stay, and so do compatibility forms, since x² is not x2.

    Parameters
    ----------
    text : str
        Any text, also the empty one.

    Returns
    -------
    key : str
        The text in lower case and canonically decomposed. Meant for comparison, not for
        reading.

    Raises
    ------
    TypeError
        When `text` is not a string.

    See Also
    --------
    normalize_text : a wider equality, which also drops punctuation and symbols.

    Notes
    -----
    The Unicode Standard's canonical caseless matching (section 3.13, D145):
    NFD(casefold(NFD(text))), then white space in the sense of `str.split`. The inner
    decomposition matters for the Greek iota subscript alone, whose folded form is no
    longer a combining mark. Cost: linear in the length of `text`.

    Examples
    --------
    >>> copy_key("  What\tis C++? ") == copy_key("what is c++?")
    True
    >>> copy_key("What is C++?") == copy_key("What is C#?")
    False
    >>> copy_key("caf\u00e9") == copy_key("CAFE\u0301")
    True
    """
    decomposed = unicodedata.normalize("NFD", _checked(text))
    return " ".join(unicodedata.normalize("NFD", decomposed.casefold()).split())


def normalize_text(text: str) -> str:
    """Reduce a sentence to its lower-case words, each one space from the next.

    Compatibility forms are unified (Unicode NFKC), letters are lowered, and every run
    of characters that are neither letters nor numbers becomes one space. On pure ASCII
    this is the rule of the public sentence-pair sets, "every run of characters outside
    a-z0-9 to one space, stripped"; on other scripts it keeps the letters, which that
    rule would erase.

    Parameters
    ----------
    text : str
        Any text, also the empty one.

    Returns
    -------
    normalized : str
        Words joined by one space; the empty string when `text` holds no letter or number.

    Raises
    ------
    TypeError
        When `text` is not a string.

    Notes
    -----
    "Letter or number" is `str.isalnum`. Combining marks without a composed form, such as
    the vowel signs of Devanagari, are neither, and part a word in two; equal sentences
    stay equal. Cost: linear in the length of `text`.

    Examples
    --------
    >>> normalize_text("  What's the BEST_way to  learn C++? ")
    'what s the best way to learn c'
    >>> normalize_text("Où est l'École № 5 ?")
    'où est l école no 5'
    """
    lowered = unicodedata.normalize("NFKC", _checked(text)).lower()
    return " ".join(_UNICODE_WORD.findall(lowered))


def token_text(text: str) -> str:
    """Spell out what a text holds as evidence: tokens, each one space from the next.

    Tokens are words with their combining marks, numbers with sign and decimals, and symbols
    such as emoji, currencies, % and operators. Signs at the end of a word stay with it (C++,
    C#). Punctuation of sentences parts tokens and is dropped, as are apostrophes.

    Parameters
    ----------
    text : str
        Any text, also the empty one.

    Returns
    -------
    tokens : str
        Tokens joined by one space, case folded; the empty string when there is none.

    Raises
    ------
    TypeError
        When `text` is not a string.

    See Also
    --------
    normalize_text : letters and numbers alone, the wider equality that groups questions.
    words_and_symbols : every symbol and sign by itself, the narrower equality of the search.
    copy_key : the narrower equality of copies.

    Notes
    -----
    Copies (`copy_key`) have the same tokens. Compatibility forms are unified (Unicode NFKC), but
    superscripts, subscripts and fractions stay as they are: x² is not x2. Commas between thousands
    are dropped. A hyphen is a sign if a number follows it and no letter or digit precedes it. Cost:
    linear in the length of `text`.

    Examples
    --------
    >>> token_text("Is C++ better than C#?")
    'is c++ better than c#'
    >>> token_text("It's -5 °C, or 5.0%: $1,000!")
    'it s -5 ° c or 5.0 % $ 1000'
    """
    key = copy_key(text)
    if key.isascii():
        if _MORE_THAN_LETTERS.search(key) is None:
            return " ".join(key.translate(_LETTERS_ALONE).split())
        return " ".join(_ASCII_TOKEN.findall(key)).replace(",", "")
    kept, token = _unicode_patterns()
    parts = kept.split(key)
    parts[::2] = [unicodedata.normalize("NFKC", part) for part in parts[::2]]
    # Unification gives capital letters back, and U+2212 is the minus that hyphens stand for.
    unified = unicodedata.normalize("NFC", "".join(parts).casefold()).replace("\u2212", "-")
    return " ".join(token.findall(unified)).replace(",", "")


def words_and_symbols(text: str) -> str:
    r"""Reduce a text to its lower-case words and its symbols, each one space from the next.

    As `normalize_text`, but symbols are kept, each by itself: those of Unicode's categories S
    (``+``, ``$``, emoji), ``# % & * / @ \``, and the sign of a negative number, as U+2212.
    Combining marks stay in their word. Punctuation between words and sentences is dropped, and so
    are hyphens.

    Parameters
    ----------
    text : str
        Any text, also the empty one.

    Returns
    -------
    normalized : str
        Words and symbols joined by one space; empty where `text` holds neither.

    Raises
    ------
    TypeError
        When `text` is not a string.

    Notes
    -----
    Linear in the length of `text`.

    Examples
    --------
    >>> words_and_symbols("C++ or C#: at -5%?")
    'c + + or c # at − 5 %'
    >>> words_and_symbols("A well-known (old) story...")
    'a well known old story'
    """
    lowered = unicodedata.normalize("NFKC", _checked(text)).lower()
    signed = _HYPHEN_AS_SIGN.sub("\u2212", lowered) if "-" in lowered else lowered
    if lowered.isascii():
        # The same words, several times faster.
        return " ".join(signed.translate(_SPACED).split())
    return " ".join(_NEITHER_WORD_NOR_SPACE.sub(_spaced_symbol, signed).split())


def _token_pattern(marks: str, symbols: str) -> re.Pattern[str]:
    letter = rf"(?:[^\W_]|[{marks}])" if marks else r"[^\W_]"
    symbol = rf"[{re.escape(_ASCII_SYMBOLS)}{symbols}]"
    number = r"(?:\d{1,3}(?:,\d{2,3})*,\d{3}(?!\d)|\d+|(?<![\w.])\.\d+)(?:\.\d+)*"
    sign = r"(?<![^\W_])-"
    return re.compile(
        rf"(?:{sign})?{number}{letter}*|{letter}+(?:[+#]++(?!{letter}))?|{symbol}", re.UNICODE
    )


@functools.cache
def _unicode_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Characters that NFKC must leave alone, and tokens of any script."""
    kept, marks, symbols = [], [], []
    for code in range(0x80, _LAST_MARK):
        letter = chr(code)
        category = unicodedata.category(letter)
        if unicodedata.decomposition(letter).startswith(("<super>", "<sub>", "<fraction>")):
            kept.append(letter)
        if category.startswith("M") and not 0xFE00 <= code <= 0xFE0F:
            marks.append(letter)
        # Modifier symbols are accents that stand alone, except the skin tones of emoji.
        elif category in ("Sc", "Sm", "So") or (category == "Sk" and code > 0xFFFF):
            symbols.append(letter)
    return re.compile(f"([{''.join(kept)}])"), _token_pattern("".join(marks), "".join(symbols))


_ASCII_TOKEN = _token_pattern("", "")


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(
            f"text must be a str, got {text!r} of type {type(text).__name__}; "
            "decode bytes, and replace missing values by an empty string or drop their rows"
        )
    return text


def _spaced_symbol(match: re.Match[str]) -> str:
    character = match.group()
    category = unicodedata.category(character)[0]
    if category == "M":
        return character
    return f" {character} " if category == "S" or character in _PUNCTUATION_KEPT else " "


_SPACED = {
    code: _NEITHER_WORD_NOR_SPACE.sub(_spaced_symbol, chr(code)) for code in (*range(128), 0x2212)
}
"""What `words_and_symbols` makes of ASCII characters and the minus."""


def printable_text(text: str, length: int) -> str:
    r"""Cut a text to a line of at most ``length`` characters that cannot steer a terminal.

    Examples
    --------
    >>> from film.text import printable_text
    >>> printable_text("two\nlines", 20), printable_text("incomprehensibilities", 10)
    ('two lines', 'incompreh…')
    >>> print(printable_text("\x1b[2J", 10))
    \x1b[2J
    """
    short = text if len(text) <= length else text[: length - 1] + "…"
    # Joiners are not "printable", yet some scripts cannot be written without them.
    return "".join(
        c if c.isprintable() or c in _JOINERS else (" " if c.isspace() else ascii(c)[1:-1])
        for c in short
    )

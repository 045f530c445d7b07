"""Words that exclude each other: antonyms, and members of small closed sets."""

from __future__ import annotations

import functools
import re

from film.compare.normalize import negated_words

ANTONYMS = [
    tuple(pair.split("/"))
    for pair in """
    accept/reject accepted/rejected activate/deactivate active/inactive add/delete add/remove
    exclude/include excluded/included excluding/including
    advantage/disadvantage advantages/disadvantages after/before allow/forbid allowed/forbidden
    always/never arrival/departure arrivals/departures arrive/depart attach/detach
    available/unavailable bad/good begin/end best/worst better/worse big/small black/white
    borrow/lend bottom/top boy/girl boys/girls brother/sister buy/sell cheap/expensive
    clean/dirty closed/open close/open closed/opened cold/hot complete/incomplete
    connect/disconnect cons/pros correct/incorrect correct/wrong credit/debit dark/light
    daughter/son dead/alive decrease/increase decreased/increased decreases/increases
    decreasing/increasing decrypt/encrypt deep/shallow deposit/withdraw deposit/withdrawal
    difficult/easy disable/enable disabled/enabled dislike/like down/up download/upload dry/wet
    early/late earlier/later east/west eastern/western empty/full end/start even/odd
    evening/morning export/import external/internal fall/rise false/true fast/slow fat/thin
    faster/slower father/mother female/male first/last front/back gain/lose gained/lost
    give/take happy/sad happy/unhappy hard/easy hard/soft hate/love heavy/light high/low
    higher/lower highest/lowest husband/wife illegal/legal impossible/possible in/out
    income/expense indoor/outdoor input/output inside/outside install/uninstall large/small
    larger/smaller largest/smallest left/right legal/illegal less/more lock/unlock
    locked/unlocked long/short longer/shorter lose/win loss/profit loud/quiet lower/raise
    lower/upper man/woman married/single max/min maximum/minimum narrow/wide negative/positive
    new/old newer/older night/day north/south northern/southern off/on older/younger old/young
    over/under poor/rich private/public pull/push raise/reduce receive/send received/sent
    right/wrong rough/smooth safe/dangerous start/stop strong/weak summer/winter tall/short
    thick/thin yes/no accurate/inaccurate agree/disagree agreed/disagreed
    appropriate/inappropriate approve/disapprove connected/disconnected consistent/inconsistent
    dead/living dependent/independent direct/indirect honest/dishonest ill/well
    literate/illiterate logical/illogical loyal/disloyal mature/immature moral/immoral
    obey/disobey patient/impatient perfect/imperfect personal/impersonal polite/impolite
    proper/improper rational/irrational regular/irregular relevant/irrelevant
    responsible/irresponsible satisfied/dissatisfied secure/insecure sick/well
    sufficient/insufficient valid/invalid visible/invisible
    """.split()
]
"""Pairs of words; either turns the meaning of a text that has the other."""

OTHER_OPPOSITES = [
    tuple(pair.split("/"))
    for pair in """
    con/sin med/utan med/uden med/uten cu/fara με/χωρισ مع/بدون 有/无 有/無 已/未
    있음/없음 있는/없는 있다/없다
    """.split()
]
"""With and without, and the like, in other languages, where one of both has another meaning too."""

NEGATING = re.compile(r"(?:un|non)(?!less$|til$|der)(?=[a-z]{3})|(?:ne|nie|не)(?=[^\W\d_]{4})")
"""Beginning of a word that is the opposite of its rest."""

_TURKISH_WITHOUT = re.compile(r"([^\W\d_]{3,})s([iu])z")

CLOSED_SETS = [
    line.split()
    for line in (
        "monday tuesday wednesday thursday friday saturday sunday weekday weekend",
        "january february march april june july august september october november december",
        "red blue green yellow black white silver gold pink purple orange brown gray beige navy",
        "small medium large xl xxl xs",
        *(f"{letter} xxs xs xl xxl xxxl" for letter in "sml"),
        "all some most half",
        "north south east west",
        "spring summer autumn winter",
        "morning afternoon evening night",
    )
]
"""Sets of words of which one thing has one."""

_PREFIXES = "un non in im il ir dis de mis".split()


def opposite_form(word: str) -> str:
    """Return the opposite that a word is formed of, as "skilled" of "unskilled"; or nothing."""
    if found := NEGATING.match(word):
        return word[found.end() :]
    found = _TURKISH_WITHOUT.fullmatch(word)
    return f"{found[1]}l{found[2]}" if found else ""


def opposites(word: str) -> set[str]:
    """Return words that a misspelling of them must not be taken for the word.

    They are its antonyms, the other words of its closed sets, and its negations.
    """
    return _listed_opposites().get(word, set()).union(f"{prefix}{word}" for prefix in _PREFIXES)


@functools.cache
def _listed_opposites() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for group in (*ANTONYMS, *CLOSED_SETS, *negated_words()):
        for word in group:
            found.setdefault(word, set()).update(other for other in group if other != word)
    return found

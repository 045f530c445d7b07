"""Words of names and addresses: which stand for each other, and which tell two things apart."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence

from rapidfuzz.distance import OSA

__all__ = ["are_names", "given_names_place", "name_difference", "with_usual_words"]

_CACHED = 2**16

MOST_WORDS = 6
"""Number of words up to which a text may be a name or an address."""

_FIRST_NAMES = """
abigail abby/albert al bert/alexander alex alec alejandro alexandre sandy sascha sasha/alfred alf
alfie alfredo/amanda mandy/andrew andy drew andreas andre andres/ann anne anna annie ana/anthony
tony anton antoine antonio toni/arthur art artie arturo/barbara barb babs barbie/benjamin ben benny
benji/bernard bernie bernd bernhard bernardo/bridget biddy bridie/caroline carrie karoline
carolina/catherine kate kathy katie kitty cathy katherine kathryn katharina katrin catalina/charles
charlie chas chuck carl karl carlos carlo/christina tina chrissie christine kristina cristina/
christopher chris christoph christophe cristobal/cynthia cindy/daniel dan danny dani/david dave
davy davey/deborah deb debbie debra/dennis denny denis/donald don donny/dorothy dot dottie dolly
dorothea/douglas doug/edward ed eddie ned ted eduard edouard eduardo/edith edie/eleanor ellie nell
nora/elizabeth beth betty bess bessie eliza elsie libby liz lizzie liesel elisabeth betsy/eugene
gene/evelyn evie/florence flo flossie/frances fran fanny francoise francisca/francis frank frankie
franz francois francisco paco pancho/frederick fred freddie freddy fritz friedrich frederic
federico/gabriel gabe/geoffrey geoff jeff jeffrey/george georgie georg georges jorge geo/gerald
gerry gerhard gerd/gregory greg gregor/harold hal/harriet hattie/henry harry hank hal heinrich
heinz henri enrique quique/ignacio nacho/isabella bella isabel isabelle/jacob jake jakob/james jim
jimmy jas jamie jaime/jennifer jen jenny/jessica jess jessie/joanna jo joanne johanna juana/john
jack johnny jon johann johannes hans juan/joseph joe joey josef jupp jose pepe/joshua josh/judith
judy/julia julie juliane/kenneth ken kenny/lawrence larry laurie lorenz laurent lorenzo/leonard len
lenny leo/louis lou louie ludwig luis/louise lulu luise luisa/lucy lucie lucia/manuel manolo/
margaret maggie marge margie meg peggy greta gretchen margarete margarita marguerite rita/maria
mary molly polly marie/martha marty/matthew matt matthias matthieu mateo/maximilian max/michael
mick mickey mike michel miguel/nancy nan/nathaniel nat nate nathan/nicholas nick nicky nico niklas
klaus claus nicolas/oliver ollie/pamela pam/patricia pat patsy patty tricia trish/patrick paddy/
paul paulo pablo/peter pete pierre pedro/philip phil philipp philippe felipe/raymond ray raimund/
rebecca becca becky/richard dick rich richie rick ricky ricardo/robert bob bobby rob robbie bert
roberto/roger rodge/ronald ron ronnie/rosemary rosie/rudolf rudi/samuel sam sammy/sarah sadie sally
sara/sebastian basti seb sebastien/stephen steve stevie steven stefan stephan etienne esteban/susan
sue susie suzy susanne suzanne susana/theodore theo theodor ted/theresa terry tess tessa therese
teresa/thomas tom tommy tomas/timothy tim timmy/ulrich uli/valerie val/victoria vicky vickie/
vincent vince vinnie vicente/virginia ginny/walter wally walt walther wat/wilhelmina mina minnie/
william bill billy will willie willy liam wilhelm guillaume guillermo/zachary zach zack/aaron/adam/
adele/adrian/agnes/ahmed/aisha/alan/alice/alicia/alina/alison/amber/amelie/amy/andrea/angela/
angelika/anita/anja/anke/annette/antje/april/ashley/audrey/axel/beate/beatrice/beverly/birgit/bjorn
bjoern/brandon/brenda/brian bryan/britta/bruce/bruno/camille/carla/carmen/carol/carolyn/celine/
cheryl/chloe/claire clara klara/claudia/cornelia/craig/dagmar/dario/dean/denise/diana/diane/diego/
dieter/dirk/dominic dominik/donna/doris/dylan/elena/elias/elke/ella/ellen/emil/emily emilie emilia/
emma/eric erik erich/erica erika/ernst/ethan/eva/fabian/fatima/felix/fiona/flora/frauke/gabriela/
gary/giovanni/giulia/glenn/gloria/gordon/grace/graham/guy/hannah hanna/harald/hassan/heather/heike/
helen helena helene/helga/herbert bert/herman/hugo/ian iain/imran/ines/ingrid/irene/iris/isaac/
ivan/jan/jane/janet/janice/jasmin/jason/jean/jens/jeremy/jerry/jill/joan/joaquin/jonas/jonathan/
jordan/jorg joerg/jurgen juergen/justin/karen/karin/karsten carsten/keith/kelly/kevin/kimberly kim/
kurt/kyle/lara/larissa/lars/lea/lena/leon/leonie/lily/linda/lisa/logan/lorraine/lucas lukas luca
luke/lydia/madison/maik/malte/marcel/marianne/marina/mario/marion/marjorie/mark marcus markus marco
marc/marlene/marta/martin/martina/mason/maurice/melanie/melissa/mercedes/mia/michelle/miriam/monica
monika/muhammad mohamed mohammed mohammad/nadia/naomi/natalie/neil/nicole/nils/nina/noah/noel/
norbert/norma/norman/olga/olivia/oscar oskar/otto/owen/paola/paula/petra/philippa pippa/phoebe/
pilar/priya/rachel/rainer/ralph ralf/ramon/raquel/regina/renate/rhonda/robin/rolf/rosa/rose/roy/
russell/ruth/ryan/sabine/sabrina/sandra/scott/sean/sergio/shannon/sharon/sheila/shirley/sigrid/
silke/silvia/simon/simone/sonia/sonja/sophia sofia sophie sofie/stacy/stella/stephanie stefanie
steffi/sven/sylvia/tamara/tanya tanja/terence/todd/torsten thorsten/travis/tyler/ursula/ute/uwe/
vanessa/vera/veronica/volker/wanda/wayne/wendy/werner/wolfgang/xavier/yvonne/zoe
"""
_COMPANIES = """
ltd limited/inc incorporated/corp corporation/co company cie compagnie/llc/llp/plc/gmbh mbh/
ag aktiengesellschaft/kg kommanditgesellschaft/ohg/sa/sas/sarl/srl/sl/spa/bv/nv/ab aktiebolag/
oy/and und et
"""
_ADDRESSES = """
street st str strasse saint sankt sainte/avenue ave av avda avenida/road rd/boulevard blvd bd/
lane ln/drive dr doctor doktor/court ct/square sq/place pl platz plaza/highway hwy/parkway pkwy/
terrace ter/crescent cres/apartment apt flat unit/suite ste/floor fl
"""

_STREETS = ("strasse", "weg", "gasse", "allee", "platz")
"""Ends of German names of streets."""

_FORMS = [words.split() for words in _FIRST_NAMES.split("/")]
_GIVEN_NAMES: dict[str, frozenset[str]] = {
    word: frozenset(forms[0] for forms in _FORMS if word in forms)
    for word in dict.fromkeys(word for forms in _FORMS for word in forms)
}
"""The usual forms of each known first name: Bert is Robert or Albert."""

_FORMS_BY_HEAD = {forms[0]: forms for forms in _FORMS}

_USUAL = {
    word: words[0]
    for words in [
        *reversed(_FORMS),
        *(words.split() for words in "/".join((_COMPANIES, _ADDRESSES)).split("/")),
    ]
    for word in words
}

_UMLAUT = re.compile(r"(?<![aeiouyq])(?:([aou])e|(a)a)")
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "ð": "d"})

_GENERATIONS = {"jr": "ii", "junior": "ii", "ii": "ii", "iii": "iii"}
_TITLES = frozenset("mr mrs ms miss dr prof herr frau sr senior".split())
"""Words that say little about who it is."""

_LEGAL_FORMS = {words.split()[0]: words.split()[0] for words in _COMPANIES.split("/")}
_LEGAL_FORMS |= {"corp": "inc", "co": "", "and": ""}
_BRANCHES = frozenset(
    "holding holdings verwaltung verwaltungs beteiligung beteiligungs immobilien finance capital "
    "services energy logistics logistik".split()
)
"""Words that tell companies of one owner apart."""

_GIVEN = {"all": slice(None), "first": slice(0, -1), "last": slice(1, None), "none": slice(0)}
"""Which words of a cell are given names, by their place."""


def are_names(texts: Sequence[str]) -> bool:
    """Whether texts are mostly names of people or companies, or addresses.

    Parameters
    ----------
    texts : sequence of str
        Distinct cells of a column, as `comparable_cell` writes them; empty ones are missing.

    Returns
    -------
    are_names : bool
        Whether over half of them have at most six words, and among them a known first name, legal
        form, or type of street. Elsewhere, as in titles of products, such words mean other things.

    Examples
    --------
    >>> from film.compare import are_names
    >>> are_names(["bob roe", "zora", "mike ho"]), are_names(["clip art", "office 97", "chess"])
    (True, False)
    """
    given = [words for text in texts if (words := with_usual_words(text).split())]
    found = sum(len(words) <= MOST_WORDS and any(map(_is_usual, words)) for words in given)
    return 2 * found > len(given)


def _is_usual(word: str) -> bool:
    return word in _USUAL or (len(word) > 5 and word.endswith(_STREETS))


@functools.lru_cache(maxsize=_CACHED)
def with_usual_words(text: str) -> str:
    """Write the words of a name or an address in their usual form.

    Nicknames, and German, French and Spanish forms of first names, become one first name; legal
    forms of companies and types of streets become one word each, and so do a saint (St.) and a
    doctor. Letters lose their accents, and ue, oe, ae and aa become u, o and a, so that Mueller is
    Müller.

    Parameters
    ----------
    text : str
        Lower-case words, as `comparable_cell` writes them. Over six words are no name or address
        and stay as they are.

    Examples
    --------
    >>> from film.compare import with_usual_words
    >>> [with_usual_words(text) for text in ("bob roe", "acme limited", "hauptstr 5")]
    ['robert roe', 'acme ltd', 'hauptstrasse 5']
    """
    if len(text.split()) > MOST_WORDS:
        return text
    words = _plain(text).split()
    for n_letters in (3, 2):
        joined = "".join(words[-n_letters:])
        if len(words) > n_letters == len(joined) and joined in _USUAL:
            words[-n_letters:] = [joined]
    return " ".join(
        f"{word}asse" if len(word) > 5 and word.endswith("str") else _USUAL.get(word, word)
        for word in words
    )


def _plain(text: str) -> str:
    """Leave out accents, and write umlauts and other letters without their second letter."""
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text.translate(_LETTERS))
        text = "".join(c for c in letters if not unicodedata.combining(c))
    return " ".join(word if word in _USUAL else _UMLAUT.sub(r"\1\2", word) for word in text.split())


def given_names_place(texts: Sequence[str]) -> str:
    """Return where the cells of a column have given names.

    Parameters
    ----------
    texts : sequence of str
        Distinct cells of a column, as `comparable_cell` writes them; empty ones are missing.

    Returns
    -------
    place : {"all", "first", "last", ""}
        "all" if most cells are one word, "first" or "last" if they begin or end with given names
        and the family name is at the other end; "" unless over half of the cells have a known
        first name in this place.

    Examples
    --------
    >>> from film.compare import given_names_place
    >>> given_names_place(["bob", "mia"]), given_names_place(["bob roe", "mike ho", "zora li"])
    ('all', 'first')
    """
    cells = [words for text in texts if (words := _words_of_name(text))]
    single = 2 * sum(len(words) == 1 for words in cells) > len(cells)
    places = {"all": 0} if single else {"first": 0, "last": -1}
    for place, end in places.items():
        if 2 * sum(words[end] in _GIVEN_NAMES for words in cells) > len(cells):
            return place
    return ""


@functools.lru_cache(maxsize=_CACHED)
def _words_of_name(text: str) -> list[str]:
    return [word for word in _plain(text).split() if word not in _TITLES]


def name_difference(
    first: str, second: str, place: str, elsewhere: tuple[Sequence[str], Sequence[str]] = ((), ())
) -> str:
    """Return in what two similar names or addresses differ that are not the same.

    Parameters
    ----------
    first, second : str
        Cells of a column, as `comparable_cell` writes them.
    place : str
        From `given_names_place`; "none" for a column of family names.
    elsewhere : pair of sequence of str
        Words of all cells of the first and the second record, in which a given name may be too.

    Returns
    -------
    difference : {"", "name", "number"}
        "name" if each has a given name that the other has not: in no form, as no initial,
        beginning or misspelling. Also if only one is a Jr, II or III. Without given names: "name"
        if the legal forms of companies differ, or only one is a holding or the like, and "number"
        if house numbers in one street differ. Over six words are not compared.

    Examples
    --------
    >>> from film.compare import name_difference
    >>> [name_difference("bob roe", other, "first") for other in ("mike roe", "r roe")]
    ['name', '']
    >>> name_difference("12 main st", "14 main street", "")
    'number'
    """
    if place:
        both = _words_of_name(first), _words_of_name(second)
        return "name" if all(both) and _are_two_people(both, _GIVEN[place], elsewhere) else ""
    a, b = with_usual_words(first).split(), with_usual_words(second).split()
    if not a or not b or max(len(a), len(b)) > MOST_WORDS:
        return ""
    only = set(a) - set(b), set(b) - set(a)
    forms = {form for words in (a, b) if (form := _legal_form(words))}
    if len(forms) == 2 or (not all(only) and _BRANCHES & (only[0] | only[1])):
        return "name"
    numbers = [{w.rstrip("abcdefgh") for w in words if w[0].isdigit()} for words in only]
    shared = (word for word in set(a) & set(b) if word.isalpha() and word not in _USUAL)
    return "number" if all(numbers) and numbers[0].isdisjoint(numbers[1]) and any(shared) else ""


def _legal_form(words: list[str]) -> str:
    return next((form for word in reversed(words) if (form := _LEGAL_FORMS.get(word))), "")


def _are_two_people(
    both: tuple[list[str], list[str]],
    given: slice,
    elsewhere: tuple[Sequence[str], Sequence[str]],
) -> bool:
    generations = [{_GENERATIONS[word] for word in words if word in _GENERATIONS} for words in both]
    if generations[0] != generations[1]:
        return True
    names = [[word for word in words if word not in _GENERATIONS][given] for words in both]
    return all(
        any(
            not any(word in words for words in anywhere)
            and not any(_may_be_same(word, name) for name in others)
            for word in of_one
        )
        for of_one, others, anywhere in (
            (names[0], names[1], (both[1], elsewhere[1])),
            (names[1], names[0], (both[0], elsewhere[0])),
        )
    )


@functools.lru_cache(maxsize=_CACHED)
def _may_be_same(word: str, other: str) -> bool:
    """Whether a given name is another form, an initial, the beginning or a misspelling of one."""
    shorter, longer = sorted((word, other), key=len)
    heads = [_GIVEN_NAMES.get(name, frozenset({name})) for name in (shorter, longer)]
    if heads[0] & heads[1]:
        return True
    forms = [
        {name} | {form for head in of for form in _FORMS_BY_HEAD.get(head, ())}
        for name, of in zip((shorter, longer), heads, strict=True)
    ]
    if len(shorter) == 1:
        return any(form.startswith(shorter) for form in forms[1])
    are_known = [name in _GIVEN_NAMES for name in (shorter, longer)]
    is_complete = all(are_known) and shorter in heads[0]
    if longer.startswith(shorter) and not is_complete:
        return True
    return not all(are_known) and any(
        OSA.distance(one, two) <= (min(len(one), len(two)) > 3) + (min(len(one), len(two)) > 5)
        for one in forms[0]
        for two in forms[1]
    )

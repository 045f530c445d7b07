"""Words of names and addresses: which stand for each other, and which tell two things apart."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence

from rapidfuzz.distance import OSA

__all__ = [
    "GIVEN_NAMES",
    "are_names",
    "name_difference",
    "name_reason",
    "natural_order",
    "role_of_names",
    "with_usual_words",
]

_CACHED = 2**16

MOST_WORDS = 6
"""Number of words up to which a text may be a name or an address."""

_FIRST_NAMES = """
abigail abby/albert al bert/alexander aleksandr oleksandr alex alec alejandro alexandre sandy sascha
sasha/alfred alf alfie alfredo/amanda mandy/andrew andy drew andreas andre andres/ann anne anna
annie ana/anthony tony anton antoine antonio toni/arthur art artie arturo/barbara barb babs barbie/
benjamin ben benny benji/bernard bernie bernd bernhard bernardo/bridget biddy bridie/caroline carrie
karoline carolina/catherine kate kathy katie kitty cathy katherine kathryn katharina katrin
catalina/charles charlie chas chuck carl karl carlos carlo/christina chris tina chrissie christine
kristina cristina/christopher chris christoph christophe cristobal/cynthia cindy/daniel dan danny
dani/david dave davy davey/deborah deb debbie debra/dennis denny denis/donald don donny/dorothy dot
dottie dolly dorothea/douglas doug/edward ed eddie ned ted eduard edouard eduardo/edith edie/eleanor
ellie nell nora/elizabeth elizaveta beth betty bess bessie eliza elsie libby liz lizzie liesel
elisabeth betsy/eugene gene/evelyn evie/florence flo flossie/frances fran fanny francoise francisca/
francis frank frankie franz francois francisco paco pancho/frederick fred freddie freddy fritz
friedrich frederic federico/gabriel gabe/geoffrey geoff jeff jeffrey/george georgii georgie georg
georges jorge geo/gerald gerry gerhard gerd/gregory greg gregor/harold hal/harriet hattie/henry
harry hank hal heinrich heinz henri enrique quique/ignacio nacho/isabella bella isabel isabelle/
jacob jake jakob/james jim jimmy jas jamie jaime/jennifer jen jenny/jessica jess jessie/joanna jo
joanne johanna juana/john jack johnny jon johann johannes hans juan/joseph joe joey josef jupp jose
pepe/joshua josh/judith judy/julia julie juliane/kenneth ken kenny/lawrence larry laurie lorenz
laurent lorenzo/leonard len lenny leo/louis lou louie ludwig luis/louise lulu luise luisa/lucy lucie
lucia/manuel manolo/margaret maggie marge margie meg peggy greta gretchen margarete margarita
marguerite rita/maria mariya mary molly polly marie/martha marty/matthew matt matthias matthieu
mateo/maximilian max/michael mihail misha mick mickey mike michel miguel/nancy nan/nathaniel nat
nate nathan/nicholas nick nicky nico niklas klaus claus nicolas/oliver ollie/pamela pam/patricia pat
patsy patty tricia trish/patrick paddy/paul paulo pablo/peter petr pete pierre pedro/philip phil
philipp philippe felipe/raymond ray raimund/rebecca becca becky/richard dick rich richie rick ricky
ricardo/robert bob bobby rob robbie bert roberto/roger rodge/ronald ron ronnie/rosemary rosie/rudolf
rudi/samuel sam sammy/sarah sadie sally sara/sebastian basti seb sebastien/stephen stepan steve
stevie steven stefan stephan etienne esteban/susan sue susie suzy susanne suzanne susana/theodore
theo theodor ted/theresa terry tess tessa therese teresa/thomas tom tommy tomas/timothy tim timmy/
ulrich uli/valerie val/victoria viktoriya vicky vickie/vincent vince vinnie vicente/virginia ginny/
walter wally walt walther wat/wilhelmina mina minnie/william bill billy will willie willy liam
wilhelm guillaume guillermo/zachary zach zack/aaron/alexandra aleksandra alex alexa sandy sasha/
amina/amira/daniela/julian jules/roberta/adam/adele/adrian/agnes/ahmed/aisha/alan/alice/alicia/
alina/alison/amber/amelie/amy/andrea/angela/angelika/anita/anja/anke/annette/antje/april/ashley/
audrey/axel/beate/beatrice/beverly/birgit/bjorn bjoern/brandon/brenda/brian bryan/britta/bruce/
bruno/camille/carla/carmen/carol/carolyn/celine/cheryl/chloe/claire clara klara/claudia/cornelia/
craig/dagmar/dario/dean/denise/diana/diane/diego/dieter/dirk/dominic dominik/donna/doris/dylan/
elena/elias/elke/ella/ellen/emil/emily emilie emilia/emma/eric erik erich/erica erika/ernst/ethan/
eva/fabian/fatima/felix/fiona/flora/frauke/gabriela/gary/giovanni/giulia/glenn/gloria/gordon/grace/
graham/guy/hannah hanna/harald/hassan/heather/heike/helen helena helene/helga/herbert bert/herman/
hugo/ian iain/imran/ines/ingrid/irene/iris/isaac/ivan/jan/jane/janet/janice/jasmin/jason/jean/jens/
jeremy/jerry/jill/joan/joaquin/jonas/jonathan/jordan/jorg joerg/jurgen juergen/justin/karen/karin/
karsten carsten/keith/kelly/kevin/kimberly kim/kurt/kyle/lara/larissa larisa/lars/lea/lena/leon/
leonie/lily/linda/lisa/logan/lorraine/lucas lukas luca luke/lydia/madison/maik/malte/marcel/
marianne/marina/mario/marion/marjorie/mark marcus markus marco marc/marlene/marta/martin/martina/
mason/maurice/melanie/melissa/mercedes/mia/michelle/miriam/monica monika/muhammad mohamed mohammed
mohammad/nadia/naomi/natalie/neil/nicole/nils/nina/noah/noel/norbert/norma/norman/olga/olivia/oscar
oskar/otto/owen/paola/paula/petra/philippa pippa/phoebe/pilar/priya/rachel/rainer/ralph ralf/ramon/
raquel/regina/renate/rhonda/robin/rolf/rosa/rose/roy/russell/ruth/ryan/sabine/sabrina/sandra/scott/
sean/sergio/shannon/sharon/sheila/shirley/sigrid/silke/silvia/simon/simone/sonia/sonja/sophia sofia
sofiya sophie sofie/stacy/stella/stephanie stefanie steffi/sven/sylvia/tamara/tanya tanja/terence/
todd/torsten thorsten/travis/tyler/ursula/ute/uwe/vanessa/vera/veronica/volker/wanda/wayne/wendy/
werner/wolfgang/xavier/yvonne/zoe/aarav/aditya/ajay/akash/amit/ananya/anil/anjali/arjun/arun/ashok/
deepak/deepika/divya/gaurav/geeta/harish/karthik/kavita/kiran/krishna/lakshmi/manish/meera/mohan/
mukesh/neha/nikhil/pooja/prakash/pradeep/rahul/raj/rajesh/rakesh/ramesh/ravi/rohit/sandeep/sanjay/
santosh/shreya/sneha/sunil/sunita/suresh/vijay/vikram/vinod/wei/ming/jing/fang/hui/jun/ying/hong/
mei/ling/xiao/akira/haruka/hiroshi/kenji/yuki/takashi/sakura/naoko/yoko/kazuki/minjun/jiwoo/seoyeon/
ahmet/ali/ayse/emre/fatma/hakan/hasan/huseyin/ibrahim/elif/kemal/mehmet/mustafa/murat/zeynep/yusuf/
osman/omar/abdullah/khalid/layla leila/youssef yousef/karim/hamza/mariam/noor nour/samira/tariq/
zainab/abdul/dmitri dmitry dimitri dmitrii/sergei sergey/vladimir/natalia natasha natalya/irina/
svetlana/tatiana tatyana/yulia yuliya/igor/oleg/boris/nikolai mikola/yuri yurii/anastasia
anastasiya/ekaterina/aleksei alexei alexey/andrei/anatolii anatoly/viktor victor/galina/evgenii
evgeny/evgeniya/ilya/kirill/ksenia kseniya/lyudmila ludmila/lyubov/maksim maxim/nadezhda/nikita/
polina/roman/ruslan/stanislav/fedor/valentin/vasilii vasily/vyacheslav/vitalii vitaly/yana/darya
daria/artem/timur/yaroslav/oksana/olena/
agnieszka/katarzyna/malgorzata/krzysztof/piotr/pawel/
tomasz/jakub/marek/zofia/wojciech/jiri/pavel/alessandro/francesca/francesco/giuseppe/luigi/matteo/
chiara/elisa/giorgio/paolo/stefano/valentina/vincenzo/joao/beatriz/gustavo/thiago/rafael/mariana/
rodrigo/fernanda/fernando/guilherme/leticia/bruna/anders/astrid/freja/gustav/henrik/kari/magnus/
mikkel/niels/signe/soren/daan/femke/jeroen/joost/maarten/pieter/sanne/thijs/willem/thanh/linh/
amara/chidi/kwame/kofi/adebayo/ngozi/chinedu/dimitris/giorgos/konstantinos konstantin/eleni/yannis/
moshe/yael/avi/noa/eitan/shira
"""
_COMPANIES = """
ltd limited/inc incorporated/corp corporation/co company cie compagnie/llc/llp/plc/gmbh mbh/
ag aktiengesellschaft/kg kommanditgesellschaft/ohg/sa/sas/sarl/srl/sl/spa/bv/nv/ab aktiebolag/
oy/ek/ug/gbr/vof/eurl/sasu/snc/sau/slu/lda/ltda/ооо/оао/зао/пао/ао/ип/and und et
"""
_ADDRESSES = """
street st str strasse saint sankt sainte/avenue ave av avda avenida/road rd/boulevard blvd bd/
lane ln/drive dr doctor doktor/court ct/square sq/place pl platz plaza/highway hwy/parkway pkwy/
terrace ter/crescent cres/apartment apt flat unit/suite ste/floor fl
"""

_LONG_FORMS = {
    "limited liability company": "llc",
    "limited liability partnership": "llp",
    "public limited company": "plc",
    "gesellschaft mit beschrankter haftung": "gmbh",
    "eingetragener kaufmann": "ek",
    "societe anonyme": "sa",
    "sociedad anonima": "sa",
    "sociedad limitada": "sl",
    "sp z o o": "spzoo",
    "s r o": "sro",
}

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

_UMLAUT = re.compile(r"(?<![aeiouyq])(?:([aou])e(?=[a-z])|(a)a)")
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "ð": "d"})

_CYRILLIC = str.maketrans(
    dict(zip("абвгдеёзийклмнопрстуфхыэіїєґј", "abvgdeeziiklmnoprstufhyeiiegj", strict=True))
    | {"ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sch", "ю": "yu", "я": "ya"}
    | {"ъ": "", "ь": ""}
)
"""Latin letters of Cyrillic ones, in which first names are listed."""
_IS_CYRILLIC = re.compile("[\u0400-\u04ff]")
_PATRONYMIC = re.compile(r"\w{3,}(?:ович|евич|овна|евна|ична)")
"""A name after that of the father."""

_FEMALE_ENDS = ("a", "ia", "ina", "ine", "ette", "elle", "le")
"""Ends of forms for women of the names of men."""

_GENERATIONS = {"jr": "ii", "junior": "ii", "ii": "ii", "iii": "iii"}
_TITLES = frozenset(
    "mr mrs ms miss dr prof herr frau sr senior sir rev reverend capt captain lt sgt col gen lord "
    "lady baron baroness baronet viscount viscountess earl count countess marquess duke duchess "
    "prince princess king queen bishop na none null unknown unbekannt baby tbd".split()
)
"""Words that say little about who it is, some of which stand for a missing name."""

_LEGAL_FORMS = {words.split()[0]: words.split()[0] for words in _COMPANIES.split("/")}
_LEGAL_FORMS |= {"corp": "inc", "co": "", "and": "", "spzoo": "spzoo", "sro": "sro"}
_BRANCHES = frozenset("holding holdings verwaltung verwaltungs beteiligung beteiligungs".split())
"""Words that tell companies of one owner apart."""

_STREET_TYPES = frozenset(words.split()[0] for words in _ADDRESSES.split("/"))
_ROOMS = frozenset(("apartment", "suite", "floor"))
_HOUSE = re.compile(r"0*([0-9]{1,4})(?:st|nd|rd|th|[a-h])?")
_DIGIT = re.compile(r"\d")
_IN_OTHER_TEXTS = frozenset(("and", "kg", "ug", "ao"))
"""Legal forms that are words or units elsewhere."""

_SAME = "", "", "", ""

GIVEN_NAMES = ("all", "first", "last")
"""Roles of columns with given names: the whole cell, or its first or last words."""


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
    return (word in _USUAL and word not in _IN_OTHER_TEXTS) or _is_street(word)


def _is_street(word: str) -> bool:
    return word in _STREET_TYPES or (len(word) > 5 and word.endswith(_STREETS))


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
    plain = _plain(text)
    for long, form in _LONG_FORMS.items():
        if plain.endswith(f" {long}"):
            plain = plain.removesuffix(long) + form
    words = plain.split()
    for n_letters in (4, 3, 2):
        joined = "".join(words[-n_letters:])
        if len(words) > n_letters == len(joined) and joined in _USUAL:
            words[-n_letters:] = [joined]
    return " ".join(
        f"{word}asse" if len(word) > 5 and word.endswith("str") else _USUAL.get(word, word)
        for word in words
    )


@functools.lru_cache(maxsize=_CACHED)
def _plain(text: str) -> str:
    """Leave out accents, and write umlauts and other letters without their second letter.

    Cyrillic words stay: й and ё are letters of their own, not accented ones.
    """
    if not text.isascii() and not _IS_CYRILLIC.search(text):
        letters = unicodedata.normalize("NFKD", text.translate(_LETTERS))
        text = "".join(c for c in letters if not unicodedata.combining(c))
    return " ".join(word if word in _USUAL else _UMLAUT.sub(r"\1\2", word) for word in text.split())


def natural_order(name: str) -> str:
    """Write a name with its family name before a comma, such as "Roe, Bob", without the comma.

    Parameters
    ----------
    name : str
        A cell as it is in the table. It stays as it is if it has no comma or several, digits, over
        three words before or after the comma, or a degree or Jr alone after it.

    Examples
    --------
    >>> from film.compare import natural_order
    >>> [natural_order(name) for name in ("Roe, Bob M.", "Bob Roe", "Bob Roe, PhD")]
    ['Bob M. Roe', 'Bob Roe', 'Bob Roe, PhD']
    """
    before, *after = (part.split() for part in name.split(","))
    if len(after) != 1 or not 0 < len(before) <= 3 or len(after[0]) > 3 or _DIGIT.search(name):
        return name
    plain = [_plain(word.strip(".").lower()) for word in after[0]]
    given = [word for word, key in zip(after[0], plain, strict=True) if key not in _GENERATIONS]
    ends = [word for word, key in zip(after[0], plain, strict=True) if key in _GENERATIONS]
    starts_with_given = len(before) > 1 and _plain(before[0].lower()) in _GIVEN_NAMES
    if not given or (starts_with_given and _GIVEN_NAMES.keys().isdisjoint(plain)):
        return name
    return " ".join([*given, *before, *ends])


def role_of_names(cells: Sequence[str]) -> str:
    """Return what kind of names a column has.

    Parameters
    ----------
    cells : sequence of str
        Cells of a column, as `comparable_cell` writes them; empty ones are missing.

    Returns
    -------
    role : {"all", "first", "last", "company", "address", ""}
        What over half of the cells have: "all" if they are one word, a known first name; "first" or
        "last" if they have one in this place and the family name at the other end; "company" if
        they have a legal form; "address" if they have a number and a type of street.

    Examples
    --------
    >>> from film.compare import role_of_names
    >>> role_of_names(["bob", "mia"]), role_of_names(["bob roe", "mike ho", "zora li"])
    ('all', 'first')
    >>> role_of_names(["acme ltd", "globex inc"]), role_of_names(["12 main st", "3 oak road"])
    ('company', 'address')
    """
    names = [words for cell in cells if (words := _words_of_name(cell))]
    usual = [words for cell in cells if (words := with_usual_words(cell).split())]

    def is_most(found: Iterable[bool], among: list[list[str]]) -> bool:
        return 2 * sum(found) > len(among)

    places = {"first": 0, "last": -1}
    if is_most((len(words) == 1 for words in names), names):
        places = {"all": 0}
    for role, end in places.items():
        known = (words[end] in _GIVEN_NAMES and not _is_street(words[-1]) for words in names)
        if is_most(known, names):
            return role
    if is_most((bool(_legal_form(words)) for words in usual), usual):
        return "company"
    are_addresses = (
        any(map(_is_street, words)) and any(word[0].isdigit() for word in words) for words in usual
    )
    return "address" if is_most(are_addresses, usual) else ""


@functools.lru_cache(maxsize=_CACHED)
def _words_of_name(text: str) -> list[str]:
    words = _plain(text).split()
    if len(words) == 3 and not text.isascii():
        # "Roe Bob Son-of-Ben" and "Bob Son-of-Ben Roe": the given name is at an end without it.
        words = [word for word in words if not _PATRONYMIC.fullmatch(word)] or words
    words = [word.translate(_CYRILLIC) for word in words]
    if words[:2] == ["n", "a"]:
        words = words[2:]
    return [word for word in words if word not in _TITLES]


def name_difference(
    first: str, second: str, role: str, elsewhere: tuple[str, str] = ("", "")
) -> str:
    """Return in what two similar names or addresses differ that are not the same.

    Parameters
    ----------
    first, second : str
        Cells of a column, as `comparable_cell` writes them.
    role : str
        From `role_of_names`; "family" for a column of family names.
    elsewhere : pair of str
        All cells of the first and the second record, in which a given name may be too.

    Returns
    -------
    difference : {"", "name", "company", "number"}
        "name" if the first given name of each is in no form in the other: no initial, beginning or
        misspelling of a name. If the family name of one is in the place of the given name of the
        other, the other one is read in reversed order. Also if only one is a Jr, II or III.
        "company" if legal forms differ, or only one is a holding or the like. "number" if house
        numbers in one street differ, "name" if streets with one house number do. Companies and
        addresses of over six words are not compared.

    Examples
    --------
    >>> from film.compare import name_difference
    >>> [name_difference("bob roe", other, "first") for other in ("mike roe", "r roe")]
    ['name', '']
    >>> name_difference("12 main st", "14 main street", "address")
    'number'
    """
    return _difference(first, second, role, elsewhere)[0]


def name_reason(first: str, second: str, role: str, elsewhere: tuple[str, str] = ("", "")) -> str:
    """Say in words what `name_difference` returns, which takes the same; empty if nothing differs.

    Examples
    --------
    >>> from film.compare import name_reason
    >>> name_reason("bob roe", "mike roe", "first")
    'other first names: Bob / Mike'
    """
    _, what, *words = _difference(first, second, role, elsewhere)
    return f"{what}: {' / '.join(word or 'none' for word in words)}" if what else ""


def _difference(first: str, second: str, role: str, elsewhere: tuple[str, str]) -> tuple[str, ...]:
    """Return what `name_difference` returns, its name, and the word of each side."""
    if role in (*GIVEN_NAMES, "family"):
        both = _words_of_name(first), _words_of_name(second)
        return _of_people(both, role, elsewhere) if all(both) else _SAME
    a, b = with_usual_words(first).split(), with_usual_words(second).split()
    if not a or not b or max(len(a), len(b)) > MOST_WORDS:
        return _SAME
    if role == "company":
        only = set(a) - set(b), set(b) - set(a)
        forms = _legal_form(a), _legal_form(b)
        if all(forms) and forms[0] != forms[1]:
            return "company", "other legal forms", *forms
        if not all(only) and not _BRANCHES.isdisjoint(only[0] | only[1]):
            branches = (" ".join(sorted(words & _BRANCHES)) for words in only)
            return "company", "only one is a holding or the like", *branches
        return _SAME
    if role != "address":
        return _SAME
    found = [{_house(word) for word in words} for words in (a, b)]
    only = found[0] - found[1], found[1] - found[0]
    shared = (word.isalpha() and word not in _STREET_TYPES for word in found[0] & found[1])
    numbers = [
        " ".join(sorted(word for word in words if len(word) < 5 and word.isdigit()))
        for words in only
    ]
    if all(numbers):
        return ("number", "other house numbers", *numbers) if any(shared) else _SAME
    streets = [_street(text.split()) for text in (first, second)]
    is_one_house = any(word.isdigit() for word in found[0] & found[1])
    if not is_one_house or not all(streets) or _is_spelt_alike(*streets):
        return _SAME
    return "name", "other streets", *map(str.capitalize, streets)


def _street(words: list[str]) -> str:
    """Return the word that names the street of an address: "main" of "12 main st"."""
    for before, word in zip(reversed(words[:-1]), reversed(words[1:]), strict=True):
        usual = _USUAL.get(word, word)
        if _is_street(usual) and usual not in _ROOMS:
            name = before if usual in _STREET_TYPES else word
            return name if name.isalpha() and len(name) > 2 else ""
    return ""


def _is_spelt_alike(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter) or 2 * OSA.distance(one, other) <= len(longer)


def _house(word: str) -> str:
    number = _HOUSE.fullmatch(word)
    return number[1] if number else word


def _legal_form(words: list[str]) -> str:
    return next((form for word in reversed(words) if (form := _LEGAL_FORMS.get(word))), "")


def _of_people(
    both: tuple[list[str], list[str]], role: str, elsewhere: tuple[str, str]
) -> tuple[str, ...]:
    one, other = (_GENERATIONS.get(words[-1], "") for words in both)
    if one != other:
        return "name", "Jr, II or III", one, other
    names = [[word for word in words if word not in _GENERATIONS] for words in both]
    if role == "family" or not all(names):
        return _SAME
    # A column with the family name first has the given name in the second place.
    place, end = (1, 0) if role == "last" else (0, -1)
    places = [place, place]
    if role != "all" and min(map(len, names)) > 1:
        # "Roe Bob" beside "Mia Roe" has the other order.
        turned = [
            one[place] == other[end] for one, other in zip(names, reversed(names), strict=True)
        ]
        if any(turned):
            places[turned.index(True)] = 1 - place
    given = [words[min(n, len(words) - 1)] for words, n in zip(names, places, strict=True)]
    are_two = all(
        not any(
            word == other or (other not in own and _may_be_same(word, other)) for other in others
        )
        and word not in _plain(more).translate(_CYRILLIC).split()
        for word, own, others, more in (
            (given[0], names[0], names[1], elsewhere[1]),
            (given[1], names[1], names[0], elsewhere[0]),
        )
    )
    return ("name", "other first names", *map(str.capitalize, given)) if are_two else _SAME


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
    if all(name in _GIVEN_NAMES for name in (shorter, longer)):
        return False
    if longer.startswith(shorter):
        is_female = longer[len(shorter) :] in _FEMALE_ENDS and shorter[-1] not in "ae"
        return shorter not in heads[0] or not is_female
    if len(shorter) == len(longer) == 3:
        return sorted(shorter) == sorted(longer)
    return any(
        OSA.distance(one, two) <= (min(len(one), len(two)) > 3) + (min(len(one), len(two)) > 5)
        for one in forms[0]
        for two in forms[1]
    )

"""Words of names and addresses that stand for each other, written in one way."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = ["are_names", "with_usual_words"]

MOST_WORDS = 6
"""Number of words up to which a text may be a name or an address."""

_FIRST_NAMES = """
abigail abby/albert al/alexander alex alec alejandro alexandre sandy sascha sasha/alfred alf alfie
alfredo/amanda mandy/andrew andy drew andreas andre andres/ann anne anna annie ana/anthony tony
anton antoine antonio toni/arthur art artie arturo/barbara barb babs barbie/benjamin ben benny
benji/bernard bernie bernd bernhard bernardo/bridget biddy bridie/caroline carrie karoline carolina/
catherine kate kathy katie kitty cathy katherine kathryn katharina katrin catalina/charles charlie
chas chuck carl karl carlos carlo/christina tina chrissie christine kristina cristina/christopher
chris christoph christophe cristobal/cynthia cindy/daniel dan danny dani/david dave davy davey/
deborah deb debbie debra/dennis denny denis/donald don donny/dorothy dot dottie dolly dorothea/
douglas doug/edward ed eddie ned ted eduard edouard eduardo/edith edie/eleanor ellie nell nora/
elizabeth beth betty bess bessie eliza elsie libby liz lizzie liesel elisabeth betsy/eugene
gene/evelyn evie/florence flo flossie/frances fran fanny francoise francisca/francis frank frankie
franz francois francisco paco pancho/frederick fred freddie freddy fritz friedrich frederic
federico/gabriel gabe/geoffrey geoff jeff jeffrey/george georgie georg georges jorge geo/gerald
gerry gerhard gerd/gregory greg gregor/harold hal/harriet hattie/henry harry hank heinrich heinz
henri enrique quique/ignacio nacho/isabella bella isabel isabelle/jacob jake jakob/james jim jimmy
jas jamie jaime/jennifer jen jenny/jessica jess jessie/joanna jo joanne johanna juana/
john jack johnny jon johann johannes hans juan/joseph joe joey josef jupp jose pepe/joshua
josh/judith judy/julia julie juliane/kenneth ken kenny/lawrence larry laurie lorenz laurent
lorenzo/leonard len lenny leo/louis lou louie ludwig luis/louise lulu luise luisa/lucy lucie lucia/
manuel manolo/margaret maggie marge margie meg peggy greta gretchen margarete margarita marguerite
rita/maria mary molly polly marie/martha marty/matthew matt matthias matthieu mateo/maximilian max/
michael mick mickey mike michel miguel/nancy nan/nathaniel nat nate nathan/nicholas nick nicky
nico niklas klaus claus nicolas/oliver ollie/pamela pam/patricia pat patsy patty tricia trish/
patrick paddy/paul paulo pablo/peter pete pierre pedro/philip phil philipp philippe felipe/raymond
ray raimund/rebecca becca becky/richard dick rich richie rick ricky ricardo/robert bob bobby rob
robbie bert roberto/roger rodge/ronald ron ronnie/rosemary rosie/rudolf rudi/samuel sam sammy/
sarah sadie sally sara/sebastian basti seb sebastien/stephen steve stevie steven stefan stephan
etienne esteban/susan sue susie suzy susanne suzanne susana/theodore theo theodor/theresa terry
tess tessa therese teresa/thomas tom tommy tomas/timothy tim timmy/ulrich uli/valerie val/victoria
vicky vickie/vincent vince vinnie vicente/virginia ginny/walter wally walt walther wat/wilhelmina
mina minnie/william bill billy will willie willy liam wilhelm guillaume guillermo/zachary zach zack
"""
_COMPANIES = """
ltd limited/inc incorporated/corp corporation/co company cie compagnie/llc/llp/plc/gmbh mbh/kg/ohg/
sa/sas/sarl/srl/sl/spa/bv/nv/and und et
"""
_ADDRESSES = """
street st str strasse/avenue ave av avda avenida/road rd/boulevard blvd bd/lane ln/drive dr/court
ct/square sq/place pl platz plaza/highway hwy/parkway pkwy/terrace ter/crescent cres/apartment apt
flat unit/suite ste/floor fl
"""

_STREETS = ("strasse", "weg", "gasse", "allee", "platz")
"""Ends of German names of streets."""

_USUAL = {
    word: words.split()[0]
    for words in "/".join((_FIRST_NAMES, _COMPANIES, _ADDRESSES)).split("/")
    for word in words.split()
}


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
    >>> are_names(["bob roe", "zoe", "mike ho"]), are_names(["clip art", "office 97", "chess"])
    (True, False)
    """
    given = [words for text in texts if (words := with_usual_words(text).split())]
    found = sum(len(words) <= MOST_WORDS and any(map(_is_usual, words)) for words in given)
    return 2 * found > len(given)


def _is_usual(word: str) -> bool:
    return word in _USUAL or (len(word) > 5 and word.endswith(_STREETS))


def with_usual_words(text: str) -> str:
    """Write the words of a name or an address in their usual form.

    Nicknames, and German, French and Spanish forms of first names, become one first name; legal
    forms of companies and types of streets become one word each; letters lose their accents.

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
    words = text.split()
    if len(words) > MOST_WORDS:
        return text
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
        words = "".join(c for c in letters if not unicodedata.combining(c)).split()
    for n_letters in (3, 2):
        joined = "".join(words[-n_letters:])
        if len(words) > n_letters == len(joined) and joined in _USUAL:
            words[-n_letters:] = [joined]
    return " ".join(
        f"{word}asse" if len(word) > 5 and word.endswith("str") else _USUAL.get(word, word)
        for word in words
    )

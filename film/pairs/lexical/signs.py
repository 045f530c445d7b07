"""What is small and decides: symbols, what a negation negates, slips of the pen."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from rapidfuzz import distance, process

from film.pairs.lexical.coded_tokens import CodedTokens, Integers, coded, cut, shared
from film.pairs.lexical.edits import EDIT_CHARACTERS
from film.threads import usable_cores

NEGATIONS = frozenset(
    "no not never none nothing nobody without cannot nor neither t isn aren wasn weren don doesn "
    "didn won wouldn couldn shouldn haven hasn hadn ain dont doesnt didnt isnt arent wont cant "
    "couldnt shouldnt wouldnt".split()
)
"""Words that turn a sentence round; "don t" is what normalisation leaves of "don't"."""

SPELLING_LETTERS = 5
"""Words as long may be one word misspelled; shorter ones a letter apart are other words."""

SIGN_NAMES = ("symbols unshared", "negated words unshared", "token edits", "spelled alike")


def sign_features(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> np.ndarray:
    """Compare what is small and decisive: symbols, what a negation negates, order of tokens.

    Parameters
    ----------
    first, second : sequence of n sequences of str
        Tokens of the two texts of each pair, in order, as `film.text.token_text` has them.

    Returns
    -------
    features : ndarray of float64, shape (n, 4)
        Columns `SIGN_NAMES`. Swapping the texts changes nothing.

        Unshared symbols are tokens of one text alone that hold a sign, such as "c++", "-5", "%"
        and emoji, with how often. Unshared negated words are those that follow a negation
        in one text only: "dogs" and "cats" in "cats, not dogs" and "dogs, not cats". Token edits
        are insertions and deletions that turn one sequence of tokens into the other. The last
        column is 1 for `spelled_alike`.

    Notes
    -----
    O(Σ L²/64) for texts of L tokens, of which the first `EDIT_CHARACTERS` are compared in order.

    Examples
    --------
    >>> from film.pairs import sign_features
    >>> sign_features(["is c++ hard".split()], ["is c# hard".split()])
    array([[2., 0., 2., 0.]])
    """
    table, left, right = coded(first, second)
    signs = table.counts(table.marks(_has_sign))
    after = _negated(table)
    unshared = [
        found.sum(axis=1)[left] + found.sum(axis=1)[right] - 2 * shared(found, left, right)
        for found in (signs, after)
    ]
    edits = process.cpdist(
        cut(first, EDIT_CHARACTERS),
        cut(second, EDIT_CHARACTERS),
        scorer=distance.Indel.distance,
        dtype=np.float64,
        workers=usable_cores(),
    )
    return np.column_stack([*unshared, edits, _alike(table, left, right)])


def are_spelled_alike(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]
) -> NDArray[np.bool_]:
    """Tell of many pairs at once whether they are `spelled_alike`.

    Parameters
    ----------
    first, second : sequence of n sequences of str
        Tokens of the two texts of each pair, in order.

    Returns
    -------
    alike : ndarray of bool, shape (n,)
        As `spelled_alike` says of each pair.

    Notes
    -----
    O(number of tokens); a sequence that is one object in many pairs is read once.

    Examples
    --------
    >>> from film.pairs import are_spelled_alike
    >>> are_spelled_alike([["python"], ["5"]], [["pyhton"], ["6"]])
    array([ True, False])
    """
    return _alike(*coded(first, second))


def spelled_alike(x: Sequence[str], z: Sequence[str]) -> bool:
    """Whether two sequences of tokens are most likely one, with a slip of the pen in one of them.

    So they are where one has another space between the same letters, or where all tokens are the
    same but one: a word of `SPELLING_LETTERS` letters or more that keeps its first letter and has
    one letter added, dropped, replaced or swapped with the next. Numbers and symbols are equal.

    Parameters
    ----------
    x, z : sequence of str
        Tokens of two texts, in order, as `film.text.token_text` has them.

    Returns
    -------
    alike : bool
        True for equal sequences; False where there is no token.

    Notes
    -----
    Names can differ so and mean another thing. O(L) for L tokens.

    Examples
    --------
    >>> from film.pairs import spelled_alike
    >>> spelled_alike(["learn", "python"], ["learn", "pyhton"])
    True
    >>> spelled_alike(["is", "it", "5"], ["is", "it", "6"])
    False
    """
    if not x or not z:
        return False
    if len(x) != len(z):
        joined = "".join(x)
        return joined.isalpha() and joined == "".join(z)
    changed = [(left, right) for left, right in zip(x, z, strict=True) if left != right]
    if len(changed) != 1:
        return not changed
    left, right = changed[0]
    return (
        min(len(left), len(right)) >= SPELLING_LETTERS
        and left[0] == right[0]
        and left.isalpha()
        and right.isalpha()
        and distance.OSA.distance(left, right, score_cutoff=1) == 1
    )


def _has_sign(token: str) -> bool:
    # Marks are no signs: they stand inside of words.
    return not token.isalnum() and any(unicodedata.category(letter)[0] in "SP" for letter in token)


def _negated(table: CodedTokens) -> sp.csr_array:
    """Words right after a negation; "t" is what "don't" leaves, and "not" may follow it."""
    negations = table.marks(NEGATIONS.__contains__)
    follows = np.zeros(len(table.codes), dtype=bool)
    follows[1:] = negations[table.codes[:-1]]
    follows[table.edges[:-1][table.sizes > 0]] = False
    return table.sets(~negations, follows)


def _alike(table: CodedTokens, left: Integers, right: Integers) -> NDArray[np.bool_]:
    """Ask `spelled_alike` where the counts of tokens and letters leave it open."""
    sizes, letters = table.sizes, table.letters()
    changed = sizes[left] - table.common_starts(left, right) - table.common_ends(left, right)
    one_word = (sizes[left] == sizes[right]) & (changed <= 1)
    spaces = (sizes[left] != sizes[right]) & (letters[left] == letters[right])
    alike = (one_word | spaces) & (sizes[left] > 0) & (sizes[right] > 0)
    for row in np.flatnonzero(alike):
        alike[row] = spelled_alike(*(table.tokens(each[row]) for each in (left, right)))
    return alike
